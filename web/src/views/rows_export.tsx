// SPDX-License-Identifier: Apache-2.0
// rows_export.tsx - all rows of a listing as a file, page by page, on one version.
import { useEffect, useRef, useState } from "preact/hooks";
import type { RowsAnswer } from "../api/answers";
import type { Answer } from "../api/client";
import { csvLine, eachPage, save } from "../api/listing";
import { path, sitePath } from "../api/path";
import { ProblemBox } from "../parts/problem";
import { number } from "../text/format";
import { t } from "../text/language";

type Form = "csv" | "ndjson";
type Line = (answer: RowsAnswer) => string;

const csv: Line = (a) => {
  const names = new Map(a.datasets.map((d) => [d.dataset_id, d.dataset]));
  return a.items.map((r) => csvLine([r.url, r.ts, r.dataset_id, names.get(r.dataset_id), JSON.stringify(r.extras)])).join("");
};
const ndjson: Line = (a) => a.items.map((r) => JSON.stringify(r) + "\n").join("");
const HEADER = csvLine(["url", "ts", "dataset_id", "dataset", "extras"]);

export function Export({ domain, first }: { domain: string; first: string }) {
  const [done, setDone] = useState<number | null>(null);
  const [problem, setProblem] = useState<Answer<RowsAnswer> | null>(null);
  const stop = useRef<AbortController | null>(null);
  useEffect(() => () => stop.current?.abort(), [first]);
  const run = async (form: Form) => {
    stop.current = new AbortController();
    const parts: string[] = form === "csv" ? [HEADER] : [];
    let rows = 0;
    setProblem(null);
    setDone(0);
    const next = (a: RowsAnswer) => (a.next_cursor ? path(sitePath(domain, "/urls"), { cursor: a.next_cursor }) : null);
    const take = (a: RowsAnswer) => { parts.push((form === "csv" ? csv : ndjson)(a)); setDone((rows += a.items.length)); };
    try {
      const failed = await eachPage<RowsAnswer>(first, stop.current.signal, next, take);
      if (failed) setProblem(failed); // and no file: it would be too short
      else save(`${domain}.${form}`, parts, form === "csv" ? "text/csv" : "application/x-ndjson");
    } catch { /* stopped */ }
    setDone(null);
  };
  return (
    <section>
      <h2>{t.exportTitle}</h2>
      {done === null ? <p><button type="button" onClick={() => run("csv")}>CSV</button> <button type="button" onClick={() => run("ndjson")}>NDJSON</button> <span class="soft">{t.exportHint}</span></p>
        : <p role="status">{t.exported(number(done))} <button type="button" onClick={() => stop.current?.abort()}>{t.cancel}</button></p>}
      {problem && <ProblemBox answer={problem} again={() => setProblem(null)} name="export" />}
    </section>
  );
}
