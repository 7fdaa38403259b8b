// SPDX-License-Identifier: Apache-2.0
// one_url.tsx - one URL in all datasets.
import type { UrlAnswer } from "../api/answers";
import { Figures } from "../parts/figures";
import { DatasetLink, SiteLink } from "../parts/names";
import { Section } from "../parts/section";
import { Table } from "../parts/table";
import { useLinks } from "../parts/version";
import type { Address } from "../router";
import { day, number, span } from "../text/format";
import { t } from "../text/language";

export function OneUrl({ now }: { now: Address }) {
  const { ask } = useLinks();
  return (
    <>
      <h1 class="name">URL</h1>
      <p class="url"><bdi>{now.what}</bdi></p>
      <Section<UrlAnswer> path={ask("/v1/url", { u: now.what })}>
        {(answer) => (
          <>
            {answer.url !== now.what && <p class="note">{t.reducedTo} <bdi class="url">{answer.url}</bdi></p>}
            <Figures items={[[t.domain, <SiteLink domain={answer.domain} />], [t.datasets, number(answer.dataset_count)], [t.rows, number(answer.row_count)], [t.period, span(answer.first_ts, answer.last_ts)]]} />
            <Table caption={t.foundIn(answer.dataset_count)} rows={answer.datasets} columns={[
              { name: t.dataset, sort: (r) => r.name, show: (r) => <DatasetLink id={r.dataset_id} name={r.name} /> },
              { name: t.rows, sort: (r) => r.row_count, kind: "number" },
              { name: t.first, sort: (r) => r.first_ts, show: (r) => day(r.first_ts) },
              { name: t.last, sort: (r) => r.last_ts, show: (r) => day(r.last_ts) },
            ]} />
          </>
        )}
      </Section>
    </>
  );
}
