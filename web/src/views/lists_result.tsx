// SPDX-License-Identifier: Apache-2.0
// lists_result.tsx - what came of a list: sums, datasets with the most names, the matrix page by page, files.
import { useState } from "preact/hooks";
import type { Presence } from "../api/answers";
import { save } from "../api/listing";
import { Bar } from "../charts/bar";
import { Choice } from "../parts/choice";
import { Figures } from "../parts/figures";
import { DatasetLink, Host, SiteLink } from "../parts/names";
import { Table, type Column } from "../parts/table";
import { number, size } from "../text/format";
import { t } from "../text/language";
import { kindOf, type Kind, type PresenceMatrix } from "./presence_matrix";

const PAGE = 100;
const COLUMNS = 8;

function Downloads({ matrix, names }: { matrix: PresenceMatrix; names: Map<number, string> }) {
  const [busy, setBusy] = useState(false);
  const run = async (make: () => Promise<Blob[]>, name: string) => {
    setBusy(true);
    save(name, await make(), "text/csv");
    setBusy(false);
  };
  return (
    <p class="tools">
      <button type="button" disabled={busy} onClick={() => run(() => matrix.matrix(names), "presence-matrix.csv")}>{t.saveMatrix}</button>
      <button type="button" disabled={busy} onClick={() => run(() => matrix.list(names), "presence.csv")}>{t.saveList}</button>
    </p>
  );
}

function MatrixPage({ rows, ids, names }: { rows: Presence[]; ids: number[]; names: Map<number, string> }) {
  const columns: Column<Presence>[] = [
    { name: t.name, show: (r) => <bdi class="url">{r.asked}</bdi> },
    { name: t.domain, show: (r) => (r.found ? <SiteLink domain={r.domain!} /> : r.domain ? <Host name={r.domain} /> : "–") },
    { name: t.result, show: (r) => t.kinds[kindOf(r)] + (kindOf(r) === "rejected" ? ` (${r.reason})` : "") },
    { name: t.datasets, kind: "number", sort: (r) => r.datasets?.length ?? 0 },
    ...ids.map((id): Column<Presence> => ({ name: names.get(id) ?? String(id), kind: "number", sort: (r) => { const d = r.datasets?.find((one) => one.dataset_id === id); return d ? size(d) : null; } })),
  ];
  return <Table all caption={t.matrix} rows={rows} columns={columns} />;
}

export function PresenceResult({ matrix, whole, names }: { matrix: PresenceMatrix; whole: boolean; names: Map<number, string>; turn: number }) {
  const [kind, setKind] = useState<Kind | "">("");
  const [page, setPage] = useState(0);
  const ids = matrix.columns();
  const { found, absent, withheld, rejected } = matrix.counts;
  const chosen = kind ? matrix.rows.filter((row) => kindOf(row) === kind) : matrix.rows;
  const pages = Math.max(1, Math.ceil(chosen.length / PAGE));
  const at = Math.min(page, pages - 1);
  return (
    <>
      <Figures items={[[t.kinds.found, number(found)], [t.kinds.absent, number(absent)], withheld > 0 && [t.kinds.withheld, number(withheld)], [t.kinds.rejected, number(rejected)], [t.datasets, number(ids.length)]]} />
      {whole && <Downloads matrix={matrix} names={names} />}
      {ids.length > 0 && (
        <section>
          <h2>{t.datasetsOfList}</h2>
          <Table caption={t.datasetsOfList} rows={ids} find={(id) => names.get(id) ?? String(id)} columns={[
            { name: t.dataset, sort: (id) => names.get(id) ?? String(id), show: (id) => <DatasetLink id={id} name={names.get(id) ?? String(id)} /> },
            { name: t.names, sort: (id) => matrix.hits.get(id)!, kind: "number" },
            { name: t.barOfNames, kind: "chart", show: (id) => <Bar part={matrix.hits.get(id)! / Math.max(1, matrix.hits.get(ids[0]!)!)} /> },
          ]} />
        </section>
      )}
      <section>
        <div class="heading"><h2>{t.matrix}</h2><span class="tools"><Choice label={t.shown} value={kind} options={[["", t.allNames], ...(["found", "absent", "withheld", "rejected"] as Kind[]).map((k): [string, string] => [k, t.kinds[k]])]} onChoose={(value) => { setKind(value as Kind | ""); setPage(0); }} /></span></div>
        {ids.length > COLUMNS && <p class="soft">{t.firstColumns(COLUMNS, ids.length)}</p>}
        <MatrixPage key={`${kind} ${at} ${matrix.rows.length}`} rows={chosen.slice(at * PAGE, (at + 1) * PAGE)} ids={ids.slice(0, COLUMNS)} names={names} />
        <nav class="pager" aria-label={t.pages}>
          <button type="button" disabled={at === 0} onClick={() => setPage(at - 1)}>{t.previous}</button>
          <span>{t.rowsFromTo(number(Math.min(chosen.length, at * PAGE + 1)), number(Math.min(chosen.length, (at + 1) * PAGE)), number(chosen.length))}</span>
          <button type="button" disabled={at + 1 >= pages} onClick={() => setPage(at + 1)}>{t.next}</button>
        </nav>
      </section>
    </>
  );
}
