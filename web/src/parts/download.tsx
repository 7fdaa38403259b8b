// SPDX-License-Identifier: Apache-2.0
// download.tsx - a button that requests CSV of the server (a link could not send the token) and saves it.
import { useEffect, useRef, useState } from "preact/hooks";
import { isBusy, problemOf, sleep, type Answer } from "../api/client";
import { save } from "../api/listing";
import { authorization } from "../api/token";
import { t } from "../text/language";
import { ProblemBox } from "./problem";

const ROUNDS = 8;

async function fetchText(target: string, signal: AbortSignal): Promise<string | Answer<unknown>> {
  for (let round = 1; ; round++) {
    const reply = await fetch(target, { signal, headers: authorization(), credentials: "omit" });
    if (reply.ok) return await reply.text();
    const answer = await problemOf<unknown>(reply);
    if (!isBusy(answer) || round === ROUNDS) return answer;
    await sleep(1000 * Math.max(1, answer.retry_s), signal);
  }
}

// targets: the pages of one table; the header of all but the first is left out.
export function CsvButton({ name, text, targets }: { name: string; text: string; targets: string[] }) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Answer<unknown> | null>(null);
  const stop = useRef<AbortController | null>(null);
  useEffect(() => () => stop.current?.abort(), []);
  const run = async () => {
    stop.current = new AbortController();
    setBusy(true);
    setProblem(null);
    const parts: string[] = [];
    try {
      for (const target of targets) {
        const got = await fetchText(target, stop.current.signal);
        if (typeof got !== "string") { setProblem(got); break; }
        parts.push(parts.length === 0 ? got : got.slice(got.indexOf("\n") + 1));
      }
      if (parts.length === targets.length) save(name, parts, "text/csv");
    } catch {
      if (!stop.current.signal.aborted) setProblem({ status: 0, body: null, problem: null, retry_s: 0 });
    }
    setBusy(false);
  };
  return <><button type="button" disabled={busy} onClick={run}>{busy ? t.loading : text}</button>{problem && <ProblemBox answer={problem} again={run} name={name} />}</>;
}
