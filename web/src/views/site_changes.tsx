// SPDX-License-Identifier: Apache-2.0
// site_changes.tsx - how two versions differ about a site.
import type { DatasetChange, DiffAnswer, VersionsAnswer } from "../api/answers";
import { path, sitePath } from "../api/path";
import { useAnswer } from "../api/use_answer";
import { Choice } from "../parts/choice";
import { DatasetLink } from "../parts/names";
import { Section } from "../parts/section";
import { Table } from "../parts/table";
import { useVersion } from "../parts/version";
import { changed, replace, type Address } from "../router";
import { number, published } from "../text/format";
import { t } from "../text/language";

const counts = (c: { url_count: number; row_count: number } | null) => (c ? number(c.url_count) : "–");
const gain = (r: DatasetChange): number => (r.after?.url_count ?? 0) - (r.before?.url_count ?? 0);

export function ChangeTable({ rows }: { rows: DatasetChange[] }) {
  return (
    <Table caption={t.changes} rows={rows} columns={[
      { name: t.dataset, sort: (r) => r.name, show: (r) => (r.after ? <DatasetLink id={r.dataset_id} name={r.name} /> : <bdi>{r.name}</bdi>) },
      { name: t.change, sort: (r) => r.change, show: (r) => t.kindOfChange[r.change] },
      { name: t.before, sort: (r) => r.before?.url_count ?? 0, kind: "number", show: (r) => counts(r.before) },
      { name: t.after, sort: (r) => r.after?.url_count ?? 0, kind: "number", show: (r) => counts(r.after) },
      { name: t.difference, sort: gain, kind: "number", show: (r) => (gain(r) > 0 ? "+" : "") + number(gain(r)) },
    ]} />
  );
}

export function SiteChanges({ domain, now }: { domain: string; now: Address }) {
  const version = useVersion();
  const versions = useAnswer<VersionsAnswer>(path("/v1/versions")).answer?.body?.versions ?? [];
  const at = versions.find((v) => v.version === version);
  const older = versions.filter((v) => at && v.sequence < at.sequence && v.state === "listed").sort((a, b) => b.sequence - a.sequence);
  const from = now.params.from ?? older[0]?.version;
  if (!from) return null;
  const aside = older.length > 1 && <Choice label={t.since} value={from} options={older.map((v) => [v.version, published(v.version)])} onChoose={(value) => replace(changed(now, { from: value }))} />;
  return (
    <Section<DiffAnswer> title={t.changesSince(published(from))} aside={aside} path={path(sitePath(domain, "/diff"), { from, to: version })}>
      {(diff) => (diff.datasets.length === 0 ? <p>{t.same}</p> : <ChangeTable rows={diff.datasets} />)}
    </Section>
  );
}
