// SPDX-License-Identifier: Apache-2.0
// site_datasets.tsx - the datasets that contain a site: a table with a bar of their URLs and of their time.
import type { SiteAnswer, SiteDataset } from "../api/answers";
import { Bar, Period } from "../charts/bar";
import { DatasetLink } from "../parts/names";
import { Table, type Column } from "../parts/table";
import { useLinks } from "../parts/version";
import { day, number, share, sizeText } from "../text/format";
import { t } from "../text/language";

export function SiteDatasets({ site }: { site: SiteAnswer }) {
  const { to } = useLinks();
  const most = site.datasets.reduce((m, r) => Math.max(m, r.url_count ?? 0), 1);
  const all: [number, number] = [Date.parse(site.first_ts ?? ""), Date.parse(site.last_ts ?? "")];
  const columns: Column<SiteDataset>[] = [
    { name: t.dataset, sort: (r) => r.name.toLowerCase(), show: (r) => <DatasetLink id={r.dataset_id} name={r.name} /> },
    { name: t.urls, sort: (r) => r.url_count, kind: "number", show: (r) => (r.kind ? sizeText(r) : <a href={to("urls", site.domain, { dataset: r.dataset_id })}>{number(r.url_count)}</a>) },
    { name: t.barOfUrls, kind: "chart", show: (r) => <Bar part={(r.url_count ?? 0) / most} /> },
    { name: t.share, sort: (r) => r.share, kind: "number", show: (r) => share(r.share) },
    { name: t.rank, sort: (r) => r.rank, kind: "number" },
    { name: t.first, sort: (r) => r.first_ts, show: (r) => <span class="nowrap">{day(r.first_ts)}</span> },
    { name: t.last, sort: (r) => r.last_ts, show: (r) => <span class="nowrap">{day(r.last_ts)}</span> },
  ];
  if (site.first_ts && site.last_ts !== site.first_ts) columns.push({ name: t.barOfTime, kind: "chart", show: (r) => r.first_ts && r.last_ts && <Period first={Date.parse(r.first_ts)} last={Date.parse(r.last_ts)} all={all} /> });
  return (
    <section>
      <h2>{t.foundIn(site.dataset_count)}</h2>
      <Table caption={t.foundIn(site.dataset_count)} rows={[...site.datasets].sort((a, b) => (b.url_count ?? 0) - (a.url_count ?? 0))} columns={columns} find={(r) => r.name} />
    </section>
  );
}
