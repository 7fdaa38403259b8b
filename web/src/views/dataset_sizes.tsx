// SPDX-License-Identifier: Apache-2.0
// dataset_sizes.tsx - sizes of the domains of a dataset by their position: the first ones all, then some of each decade.
import { useEffect, useState } from "preact/hooks";
import type { Dataset, TopAnswer } from "../api/answers";
import { getPatiently, type Answer } from "../api/client";
import { datasetPath } from "../api/path";
import { RankSize, type Point } from "../charts/rank_size";
import { Command } from "../parts/command";
import { ProblemBox } from "../parts/problem";
import { Waiting } from "../parts/section";
import { useLinks } from "../parts/version";
import { number, size } from "../text/format";
import { t } from "../text/language";

const FIRST = 200;

// 0-based offsets behind the first page: 2, 5 and 10 of each decade, and the last domain.
function sampled(count: number): number[] {
  const offsets: number[] = [];
  for (let decade = 100; decade < count; decade *= 10) for (const step of [2, 3, 5, 7, 10]) if (decade * step > FIRST && decade * step < count) offsets.push(decade * step - 1);
  return count > FIRST ? [...offsets, count - 1] : offsets;
}

export function DatasetSizes({ dataset }: { dataset: Dataset }) {
  const { ask } = useLinks();
  const base = datasetPath(dataset.dataset_id, "/top-domains");
  const first = ask(base, { limit: FIRST });
  const [points, setPoints] = useState<Point[] | null>(null);
  const [problem, setProblem] = useState<Answer<TopAnswer> | null>(null);
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const stop = new AbortController();
    const read = async (target: string, at: number): Promise<Point[] | null> => {
      const answer = await getPatiently<TopAnswer>(target, stop.signal);
      if (answer.body === null) setProblem(answer);
      return answer.body?.domains.map((d, i) => ({ position: at + i + 1, url_count: size(d) })) ?? null;
    };
    const run = async () => {
      let all = await read(first, 0);
      for (const offset of sampled(dataset.domain_count)) {
        const more: Point[] | null = all && (await read(ask(base, { limit: 1, offset }), offset));
        if (!more) return;
        all = [...all!, ...more];
      }
      setPoints(all);
    };
    setProblem(null);
    run().catch(() => {});
    return () => stop.abort();
  }, [first, turn]);
  return (
    <section aria-busy={!points && !problem}>
      <h2>{t.sizes}</h2>
      <p class="soft">{t.sizesHint}</p>
      {problem ? <ProblemBox answer={problem} again={() => setTurn(turn + 1)} name="sizes" />
        : !points ? <Waiting />
        : points.length === 0 ? null
        : <RankSize points={points} label={t.sizesLabel(number(points[0]!.url_count), number(points[points.length - 1]!.url_count), number(dataset.domain_count))} />}
      <Command paths={[first]} />
    </section>
  );
}
