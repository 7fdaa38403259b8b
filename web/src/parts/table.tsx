// SPDX-License-Identifier: Apache-2.0
// table.tsx - a table that can be sorted by each column, with the first rows shown.
import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { number } from "../text/format";
import { t } from "../text/language";

export type Column<R> = {
  name: string;
  sort?: (row: R) => string | number | null; // what it is sorted by; without it the column cannot be
  show?: (row: R) => ComponentChildren; // default: what it is sorted by
  kind?: "text" | "number" | "chart"; // default: text
};
type Order = { column: number; up: boolean };

const FIRST = 25;

function compare(a: string | number | null, b: string | number | null): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? -1 : 1;
  return a < b ? -1 : a > b ? 1 : 0;
}

function Head<R>({ columns, order, setOrder }: { columns: Column<R>[]; order: Order | null; setOrder: (order: Order) => void }) {
  return (
    <thead>
      <tr>
        {columns.map((c, i) => (
          <th key={i} scope="col" class={c.kind ?? "text"} aria-sort={!c.sort ? undefined : order?.column !== i ? "none" : order.up ? "ascending" : "descending"}>
            {c.kind === "chart" ? <span class="unseen">{c.name}</span> : c.sort ? <button type="button" onClick={() => setOrder({ column: i, up: order?.column === i ? !order.up : c.kind !== "number" })}>{c.name}</button> : c.name}
          </th>
        ))}
      </tr>
    </thead>
  );
}

const cellOf = <R,>(c: Column<R>, row: R): ComponentChildren => {
  if (c.show) return c.show(row);
  const value = c.sort?.(row) ?? "–";
  return typeof value === "number" ? number(value) : value;
};

type Props<R> = { caption: string; rows: R[]; columns: Column<R>[]; find?: (row: R) => string; all?: boolean };

// The rows come in the server's order. find: text that the search field above the table looks in; all: not only the first rows.
export function Table<R>({ caption, rows, columns, find, all }: Props<R>) {
  const [order, setOrder] = useState<Order | null>(null);
  const [whole, setWhole] = useState(all ?? false);
  const [text, setText] = useState("");
  const chosen = useMemo(() => {
    const found = find && text ? rows.filter((row) => find(row).toLowerCase().includes(text.toLowerCase())) : rows;
    const by = order && columns[order.column]?.sort;
    return by ? [...found].sort((a, b) => compare(by(a), by(b)) * (order.up ? 1 : -1)) : found;
  }, [rows, columns.length, order, text]);
  const shown = whole ? chosen : chosen.slice(0, FIRST);
  return (
    <>
      {find && rows.length > FIRST && <p class="tools"><label>{t.filterRows} <input type="search" value={text} onInput={(e) => setText(e.currentTarget.value)} /></label> <span role="status">{t.rowsOf(chosen.length, rows.length)}</span></p>}
      <div class="wide" tabIndex={0} role="region" aria-label={caption}>
        <table>
          <caption class="unseen">{caption}</caption>
          <Head columns={columns} order={order} setOrder={setOrder} />
          <tbody>{shown.map((row, i) => <tr key={i}>{columns.map((c, k) => <td key={k} class={c.kind ?? "text"}>{cellOf(c, row)}</td>)}</tr>)}</tbody>
        </table>
      </div>
      {chosen.length > shown.length && <p><button type="button" onClick={() => setWhole(true)}>{t.showAll(chosen.length)}</button></p>}
    </>
  );
}
