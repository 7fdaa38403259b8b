// SPDX-License-Identifier: Apache-2.0
// lists.tsx - a list of names, pasted or dropped as a file: which datasets contain each.
import { useEffect, useRef, useState } from "preact/hooks";
import type { DatasetsAnswer } from "../api/answers";
import type { Answer } from "../api/client";
import { MOST_NAMES, partsOf, present } from "../api/presence";
import { useAnswer } from "../api/use_answer";
import { Command } from "../parts/command";
import { ProblemBox } from "../parts/problem";
import { useLinks, useVersion } from "../parts/version";
import { number } from "../text/format";
import { t } from "../text/language";
import { PresenceResult } from "./lists_result";
import { MOST_PAIRS, PresenceMatrix } from "./presence_matrix";

type State = { matrix: PresenceMatrix; size: number; sent: number; going: boolean; problem: Answer<unknown> | null; words: string | null };
const DRAW_MS = 250;

function Input({ run }: { run: (source: Blob) => void }) {
  const [over, setOver] = useState(false);
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    const file = event.dataTransfer?.files[0];
    if (file) run(file);
  };
  const use = (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const file = form.get("file");
    const text = String(form.get("names") ?? "");
    if (file instanceof File && file.size > 0) run(file);
    else if (text.trim()) run(new Blob([text]));
  };
  return (
    <form class={over ? "drop over" : "drop"} onSubmit={use} onDragOver={(e) => { e.preventDefault(); setOver(true); }} onDragLeave={() => setOver(false)} onDrop={drop}>
      <label>{t.namesLabel}<textarea name="names" rows={8} spellcheck={false} autocapitalize="none" placeholder={"example.com\nwww.example.org\nhttps://example.net/page"} /></label>
      <p class="tools"><label>{t.orFile} <input type="file" name="file" accept=".txt,.csv,.tsv,text/*" /></label> <button class="primary">{t.lookUp}</button></p>
    </form>
  );
}

function Progress({ state, stop }: { state: State; stop: () => void }) {
  const { matrix, size, sent, going } = state;
  return (
    <div class="tools">
      <progress max={size || 1} value={going ? sent : size || 1} aria-label={t.progress} />
      <span role="status">{going ? t.namesSoFar(number(matrix.rows.length)) : t.namesDone(number(matrix.rows.length))}</span>
      {going && <button type="button" onClick={stop}>{t.cancel}</button>}
    </div>
  );
}

export function Lists() {
  const { ask } = useLinks();
  const version = useVersion();
  const [state, setState] = useState<State | null>(null);
  const stop = useRef<AbortController | null>(null);
  useEffect(() => () => stop.current?.abort(), []);
  const names = useAnswer<DatasetsAnswer>(state ? ask("/v1/datasets", { limit: 100000 }) : null).answer?.body?.datasets;
  const run = async (source: Blob) => {
    stop.current?.abort();
    const mine = (stop.current = new AbortController());
    const now: State = { matrix: new PresenceMatrix(), size: source.size, sent: 0, going: true, problem: null, words: null };
    let drawn = 0;
    setState({ ...now });
    try {
      for await (const part of partsOf(source)) {
        const got = await present(part, version, mine.signal);
        if (!Array.isArray(got)) { now.problem = got; break; }
        now.matrix.add(got);
        now.sent += part.reduce((s, name) => s + name.length + 1, 0);
        if (now.matrix.pairs > MOST_PAIRS) { now.words = t.tooManyPairs; break; }
        if (Date.now() - drawn > DRAW_MS) { drawn = Date.now(); setState({ ...now }); }
      }
    } catch (failure) {
      if (failure instanceof RangeError) now.words = t.tooManyNames(number(MOST_NAMES));
      else if (!mine.signal.aborted) now.words = t.failed;
    }
    if (stop.current === mine) setState({ ...now, going: false, words: mine.signal.aborted ? t.stopped : now.words });
  };
  return (
    <>
      <h1>{t.lists}</h1>
      <p class="soft">{t.listsHint(number(MOST_NAMES))}</p>
      <Input run={(source) => void run(source)} />
      {state && <Progress state={state} stop={() => stop.current?.abort()} />}
      {state?.words && <p class="problem bad" role="alert">{state.words} {t.partial}</p>}
      {state?.problem && <ProblemBox answer={state.problem} again={() => setState(null)} name="list" />}
      {state && state.matrix.rows.length > 0 && <PresenceResult matrix={state.matrix} whole={!state.going && !state.problem && !state.words} names={new Map(names?.map((d) => [d.dataset_id, d.name]))} turn={state.matrix.rows.length} />}
      <Command paths={[ask("/v1/domains", { format: "matrix" })]} options="-T names.txt -X POST -H 'Content-Type: text/plain' " />
    </>
  );
}
