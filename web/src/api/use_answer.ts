// SPDX-License-Identifier: Apache-2.0
// use_answer.ts - the answer of a path as state of a component: null while it is on its way.
import { useEffect, useState } from "preact/hooks";
import { get, type Answer } from "./client";

export type Asked<T> = { answer: Answer<T> | null; again: () => void };

// A path of null asks nothing. Answers of an earlier path never show up under a later one.
export function useAnswer<T>(target: string | null): Asked<T> {
  const [turn, setTurn] = useState(0);
  const [got, setGot] = useState<{ key: string; answer: Answer<T> } | null>(null);
  const key = `${turn} ${target}`;
  useEffect(() => {
    if (target === null) return;
    const stop = new AbortController();
    get<T>(target, stop.signal).then(
      (answer) => stop.signal.aborted || setGot({ key, answer }),
      () => {},
    );
    return () => stop.abort();
  }, [key]);
  return { answer: got?.key === key ? got.answer : null, again: () => setTurn(turn + 1) };
}
