// SPDX-License-Identifier: Apache-2.0
// overlaps.ts - what pairs of datasets share, requested one after the other: each costs the server a pass over both.
import { useEffect, useState } from "preact/hooks";
import type { OverlapAnswer } from "../api/answers";
import { getPatiently, type Answer } from "../api/client";
import { datasetPath, path } from "../api/path";

export type Pair = [number, number];
export type Overlaps = { got: OverlapAnswer[]; problem: Answer<unknown> | null; done: boolean };

export const overlapPath = ([a, b]: Pair, version: string): string => path(datasetPath(a, `/overlap/${b}`), { version });

const SHOW_MS = 200; // between two states that are drawn

export function useOverlaps(pairs: Pair[], version: string): Overlaps {
  const [state, setState] = useState<Overlaps>({ got: [], problem: null, done: false });
  useEffect(() => {
    const stop = new AbortController();
    const got: OverlapAnswer[] = [];
    const run = async () => {
      let drawn = Date.now();
      for (const pair of pairs) {
        const answer = await getPatiently<OverlapAnswer>(overlapPath(pair, version), stop.signal);
        if (answer.body === null) return setState({ got: [...got], problem: answer, done: true });
        got.push(answer.body);
        if (Date.now() - drawn > SHOW_MS) { drawn = Date.now(); setState({ got: [...got], problem: null, done: false }); }
      }
      setState({ got, problem: null, done: true });
    };
    setState({ got: [], problem: null, done: pairs.length === 0 });
    run().catch(() => {});
    return () => stop.abort();
  }, [JSON.stringify(pairs), version]);
  return state;
}

// The share of common domains of each pair, as a table that is its own mirror image.
export function jaccards(ids: number[], got: OverlapAnswer[]): (number | null)[][] {
  const of = new Map(got.flatMap((o) => [[`${o.a.dataset_id} ${o.b.dataset_id}`, o.domains.jaccard], [`${o.b.dataset_id} ${o.a.dataset_id}`, o.domains.jaccard]] as [string, number][]));
  return ids.map((a) => ids.map((b) => (a === b ? null : (of.get(`${a} ${b}`) ?? null))));
}

export const pairsOf = (ids: number[]): Pair[] => ids.flatMap((a, i) => ids.slice(i + 1).map((b): Pair => [a, b]));
