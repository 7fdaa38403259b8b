// SPDX-License-Identifier: Apache-2.0
// home.tsx - the first view: a search field, and what the index holds.
import type { DatasetsAnswer, VersionsAnswer } from "../api/answers";
import { path } from "../api/path";
import { Figures } from "../parts/figures";
import { DatasetLink } from "../parts/names";
import { SearchBox } from "../parts/search_box";
import { Section } from "../parts/section";
import { Table } from "../parts/table";
import { useLinks, useVersion } from "../parts/version";
import { number, published, span } from "../text/format";
import { t } from "../text/language";

export function Home() {
  const version = useVersion();
  const { to, ask } = useLinks();
  const datasets = ( // below the figures when these are there, as they would move it
    <Section<DatasetsAnswer> path={ask("/v1/datasets", { limit: 10 })} title={t.datasets} aside={<a href={to("datasets")}>{t.all}</a>}>
      {({ datasets }) => <Table caption={t.datasets} rows={datasets} columns={[
        { name: t.dataset, sort: (r) => r.name, show: (r) => <DatasetLink id={r.dataset_id} name={r.name} /> },
        { name: t.domains, sort: (r) => r.domain_count, kind: "number" },
        { name: t.urls, sort: (r) => r.url_count, kind: "number" },
        { name: t.period, sort: (r) => r.first_ts, show: (r) => span(r.first_ts, r.last_ts) },
      ]} />}
    </Section>
  );
  return (
    <>
      <h1>{t.lead}</h1>
      <p class="soft">{t.leadMore}</p>
      <SearchBox version={version} large />
      <Section<VersionsAnswer> path={path("/v1/versions")} below={() => datasets}>
        {({ versions }) => {
          const v = versions.find((one) => one.version === version);
          return v?.domain_count === undefined ? <p>{t.version} {published(version)}</p> : <Figures items={[[t.domains, number(v.domain_count)], [t.datasets, number(v.dataset_count!)], [t.urls, number(v.url_count!)], [t.published, published(version)]]} />;
        }}
      </Section>
    </>
  );
}
