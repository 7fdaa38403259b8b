// SPDX-License-Identifier: Apache-2.0
// download.tsx - a file that the server streams, in one of its formats.
import { useEffect, useRef, useState } from "preact/hooks";
import { isBusy, problemOf, sleep, type Answer } from "../api/client";
import { save } from "../api/listing";
import { authorization, token } from "../api/token";
import { t } from "../text/language";
import { ProblemBox } from "./problem";

type Props = { name: string; text: string; target: string };
const ROUNDS = 8;

async function fetchFile(target: string, signal: AbortSignal): Promise<Response | Answer<unknown>> {
  for (let round = 1; ; round++) {
    const reply = await fetch(target, { signal, headers: authorization(), credentials: "omit" });
    if (reply.ok) return reply;
    const answer = await problemOf<unknown>(reply);
    if (!isBusy(answer) || round === ROUNDS) return answer;
    await sleep(1000 * Math.max(1, answer.retry_s), signal);
  }
}

// The bytes stay with the browser, which puts large ones on disk. A stream that is cut off gives no file.
function SaveButton({ name, text, target }: Props) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Answer<unknown> | null>(null);
  const stop = useRef<AbortController | null>(null);
  useEffect(() => () => stop.current?.abort(), [target]);
  const run = async () => {
    stop.current = new AbortController();
    setBusy(true);
    setProblem(null);
    try {
      const got = await fetchFile(target, stop.current.signal);
      if (got instanceof Response) save(name, [await got.blob()]);
      else setProblem(got);
    } catch {
      if (!stop.current.signal.aborted) setProblem({ status: 0, body: null, problem: null, retry_s: 0 });
    }
    setBusy(false);
  };
  return <><button type="button" disabled={busy} onClick={run}>{busy ? t.loading : text}</button>{problem && <ProblemBox answer={problem} again={run} name={name} />}</>;
}

// target: a stream of all rows. A link, which the browser follows by itself; it could not send a token.
export const Download = (props: Props) => (token() ? <SaveButton {...props} /> : <a class="button" download={props.name} href={props.target}>{props.text}</a>);
