// SPDX-License-Identifier: Apache-2.0
// problem.tsx - what a view shows in place of an answer: absent, withheld, not permitted, busy, gone, failed.
import { useEffect, useState } from "preact/hooks";
import { isBusy, slug, type Answer } from "../api/client";
import { changed, parseAddress } from "../router";
import { t } from "../text/language";
import { TokenForm } from "./token_form";

const ROUNDS = 5; // that a busy server is asked again without the reader

function titleOf(answer: Answer<unknown>): string {
  if (answer.status === 404) return slug(answer) === "domain-not-found" ? t.absent : slug(answer) === "dataset-not-found" ? t.noDataset : t.notThere;
  if (answer.status === 451) return t.withheld;
  if (answer.status === 403) return t.forbidden;
  if (answer.status === 410) return slug(answer) === "cursor-expired" ? t.expired : t.gone;
  if (answer.status === 400) return t.rejected;
  if (answer.status === 422) return t.tooMuch;
  return answer.status === 0 ? t.unreachable : t.failed;
}

function hintOf(answer: Answer<unknown>): string | null {
  if (answer.status === 451) return t.withheldHint;
  if (answer.status === 410) return slug(answer) === "cursor-expired" ? t.expiredHint : t.goneHint;
  return answer.status === 0 ? t.unreachableHint : null;
}

function Countdown({ seconds, again }: { seconds: number; again: () => void }) {
  const [left, setLeft] = useState(seconds);
  useEffect(() => {
    const timer = setTimeout(() => (left > 1 ? setLeft(left - 1) : again()), 1000);
    return () => clearTimeout(timer);
  }, [left]);
  return <p>{t.retryIn(left)}</p>;
}

const rounds = new Map<string, number>(); // of each address and section

type Props = { answer: Answer<unknown>; again: () => void; name: string; top?: boolean };

// name: of the section, to count tries; top: no heading stands above it but that of the page.
export function ProblemBox({ answer, again, name, top }: Props) {
  const Title = top ? "h2" : "h3";
  const busy = isBusy(answer);
  const key = `${location.hash} ${name}`;
  const round = rounds.get(key) ?? 0;
  const now = parseAddress(location.hash);
  const retry = () => { rounds.set(key, round + 1); again(); };
  if (answer.status === 401) return <TokenForm top={top} />;
  return (
    <div class={`problem ${busy ? "busy" : answer.status === 404 ? "absent" : "bad"}`} role={busy ? "status" : "alert"} data-status={answer.status}>
      <Title>{busy ? t.busy : titleOf(answer)}</Title>
      {hintOf(answer) && <p>{hintOf(answer)}</p>}
      {answer.problem?.detail && <p class="detail" lang="en"><bdi>{answer.problem.detail}</bdi></p>}
      {busy && round < ROUNDS && <Countdown key={round} seconds={Math.max(1, answer.retry_s)} again={retry} />}
      {(busy || answer.status === 0 || answer.status >= 500) && <button type="button" onClick={() => { rounds.delete(key); again(); }}>{t.retryNow}</button>}
      {answer.status === 410 && <p><a href={changed(now, slug(answer) === "cursor-expired" ? { c: null } : { v: null, c: null })}>{slug(answer) === "cursor-expired" ? t.restart : t.useCurrent}</a></p>}
    </div>
  );
}
