// SPDX-License-Identifier: Apache-2.0
// datasets.tsx - all datasets.
import type { DatasetsAnswer } from "../api/answers";
import { Bar } from "../charts/bar";
import { DatasetLink } from "../parts/names";
import { Section } from "../parts/section";
import { Table } from "../parts/table";
import { useLinks } from "../parts/version";
import { changed, type Address } from "../router";
import { day, sizeText } from "../text/format";
import { t } from "../text/language";

const PAGE = 10000;

export function Datasets({ now }: { now: Address }) {
  const { ask } = useLinks();
  return (
    <>
      <h1>{t.datasets}</h1>
      <Section<DatasetsAnswer> path={ask("/v1/datasets", { limit: PAGE, offset: now.params.o })}>
        {({ datasets, total, next_offset }) => {
          const most = datasets.reduce((m, r) => Math.max(m, r.url_count ?? 0), 1);
          return (
            <>
              <p class="soft">{t.countDatasets(total)}</p>
              <Table caption={t.datasets} rows={datasets} find={(r) => r.name} columns={[
                { name: t.dataset, sort: (r) => r.name.toLowerCase(), show: (r) => <DatasetLink id={r.dataset_id} name={r.name} /> },
                { name: t.domains, sort: (r) => r.domain_count, kind: "number" },
                { name: t.urls, sort: (r) => r.url_count, kind: "number", show: sizeText },
                { name: t.barOfUrls, kind: "chart", show: (r) => <Bar part={(r.url_count ?? 0) / most} /> },
                { name: t.first, sort: (r) => r.first_ts, show: (r) => <span class="nowrap">{day(r.first_ts)}</span> },
                { name: t.last, sort: (r) => r.last_ts, show: (r) => <span class="nowrap">{day(r.last_ts)}</span> },
              ]} />
              {next_offset !== null && next_offset < total && <p><a class="button" rel="next" href={changed(now, { o: next_offset })}>{t.next}</a></p>}
            </>
          );
        }}
      </Section>
    </>
  );
}
