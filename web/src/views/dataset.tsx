// SPDX-License-Identifier: Apache-2.0
// dataset.tsx - a dataset: its largest domains, TLDs, sizes, and what it shares with others.
import type { Dataset as DatasetAnswer, TldsAnswer } from "../api/answers";
import { datasetPath } from "../api/path";
import { Bar } from "../charts/bar";
import { Figures } from "../parts/figures";
import { Section } from "../parts/section";
import { Table } from "../parts/table";
import { useLinks } from "../parts/version";
import { changed, type Address } from "../router";
import { number, size, sizeText, span } from "../text/format";
import { t } from "../text/language";
import { DatasetOverlap } from "./dataset_overlap";
import { DatasetSizes } from "./dataset_sizes";
import { DatasetTop } from "./dataset_top";

function Tlds({ id, now }: { id: string; now: Address }) {
  const { ask } = useLinks();
  return (
    <Section<TldsAnswer> title={t.tlds} path={ask("/v1/tlds", { dataset: id, cursor: now.params.tc })}>
      {({ tlds, next_cursor }) => {
        const most = tlds.reduce((m, r) => Math.max(m, r.domain_count), 1);
        return (
          <>
            <Table caption={t.tlds} rows={[...tlds].sort((a, b) => b.domain_count - a.domain_count)} columns={[
              { name: "TLD", sort: (r) => r.tld, show: (r) => (r.tld === null ? t.noTld : <bdi>{r.tld}</bdi>) },
              { name: t.domains, sort: (r) => r.domain_count, kind: "number" },
              { name: t.barOfDomains, kind: "chart", show: (r) => <Bar part={r.domain_count / most} /> },
              { name: t.urls, sort: size, kind: "number", show: sizeText },
            ]} />
            {next_cursor && <p><a class="button" href={changed(now, { tc: next_cursor })}>{t.next}</a></p>}
          </>
        );
      }}
    </Section>
  );
}

function Metadata({ metadata }: { metadata: Record<string, string> }) {
  const names = Object.keys(metadata);
  return names.length === 0 ? null : <details><summary>{t.metadata}</summary><dl class="extras">{names.map((name) => <div key={name}><dt><bdi>{name}</bdi></dt><dd><bdi>{String(metadata[name])}</bdi></dd></div>)}</dl></details>;
}

function Head({ dataset }: { dataset: DatasetAnswer }) {
  const { to } = useLinks();
  return (
    <>
      <h1 class="name"><bdi>{dataset.name}</bdi></h1>
      <Figures items={[[t.domains, number(dataset.domain_count)], [t.urls, sizeText(dataset)], [t.rows, number(dataset.row_count)], [t.period, span(dataset.first_ts, dataset.last_ts)]]} />
      <Metadata metadata={dataset.metadata} />
      <nav class="actions" aria-label={t.actions}><a class="button" href={to("compare", "", { datasets: dataset.dataset_id })}>{t.compare}</a></nav>
    </>
  );
}

function Body({ dataset, now }: { dataset: DatasetAnswer; now: Address }) {
  return (
    <>
      <DatasetTop dataset={dataset} now={now} />
      <DatasetSizes dataset={dataset} />
      <Tlds id={now.what} now={now} />
      <DatasetOverlap dataset={dataset} />
    </>
  );
}

export function Dataset({ now }: { now: Address }) {
  const { ask } = useLinks();
  return <Section<DatasetAnswer> path={ask(datasetPath(now.what))} below={(dataset) => <Body dataset={dataset} now={now} />}>{(dataset) => <Head dataset={dataset} />}</Section>;
}
