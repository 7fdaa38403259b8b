// SPDX-License-Identifier: Apache-2.0
// compare_datasets.tsx - datasets beside each other: sizes, common domains, and each one's largest domains.
import { useMemo } from "preact/hooks";
import type { OverlapAnswer, TopAnswer } from "../api/answers";
import { datasetPath } from "../api/path";
import { HeatMap } from "../charts/heat_map";
import { Command } from "../parts/command";
import { DatasetLink, SiteLink } from "../parts/names";
import { ProblemBox } from "../parts/problem";
import { Section, Waiting } from "../parts/section";
import { Table } from "../parts/table";
import { useLinks, useVersion } from "../parts/version";
import { number, share, size, sizeText } from "../text/format";
import { t } from "../text/language";
import { jaccards, overlapPath, pairsOf, useOverlaps } from "./overlaps";

function Pairs({ rows }: { rows: OverlapAnswer[] }) {
  return (
    <Table caption={t.overlap} rows={rows} columns={[
      { name: "A", sort: (r) => r.a.name, show: (r) => <DatasetLink id={r.a.dataset_id} name={r.a.name} /> },
      { name: "B", sort: (r) => r.b.name, show: (r) => <DatasetLink id={r.b.dataset_id} name={r.b.name} /> },
      { name: t.sharedDomains, sort: (r) => r.domains.shared, kind: "number" },
      { name: t.only("A"), sort: (r) => r.domains.only_a, kind: "number" },
      { name: t.only("B"), sort: (r) => r.domains.only_b, kind: "number" },
      { name: "Jaccard", sort: (r) => r.domains.jaccard, kind: "number", show: (r) => share(r.domains.jaccard) },
      { name: t.jaccardUrls, sort: (r) => r.urls?.jaccard ?? null, kind: "number", show: (r) => (r.urls ? share(r.urls.jaccard) : "–") },
    ]} />
  );
}

export function CompareDatasets({ ids }: { ids: number[] }) {
  const version = useVersion();
  const { ask } = useLinks();
  const pairs = useMemo(() => pairsOf(ids), [ids.join()]);
  const { got, problem, done } = useOverlaps(pairs, version);
  const sides = new Map(got.flatMap((o) => [[o.a.dataset_id, o.a], [o.b.dataset_id, o.b]] as [number, OverlapAnswer["a"]][]));
  if (problem) return <ProblemBox answer={problem} again={() => location.reload()} name="pairs" />;
  if (!done) return <Waiting />;
  return (
    <>
      <Table caption={t.datasets} rows={ids.flatMap((id) => sides.get(id) ?? [])} columns={[
        { name: t.dataset, sort: (r) => r.name, show: (r) => <DatasetLink id={r.dataset_id} name={r.name} /> },
        { name: t.domains, sort: (r) => r.domain_count, kind: "number" },
        { name: t.urls, sort: size, kind: "number", show: sizeText },
      ]} />
      <h2>{t.overlap}</h2>
      <Pairs rows={got} />
      {ids.length > 2 && <HeatMap names={ids.map((id) => sides.get(id)?.name ?? String(id))} cells={jaccards(ids, got)} caption={t.heatMap} />}
      <Command paths={pairs.map((pair) => overlapPath(pair, version))} />
      <div class="columns">
        {ids.map((id) => (
          <Section<TopAnswer> key={id} title={`${t.top}: ${sides.get(id)?.name ?? id}`} path={ask(datasetPath(id, "/top-domains"), { limit: 10 })}>
            {(top) => <Table caption={`${t.top}: ${sides.get(id)?.name ?? id}, ${number(top.domain_count)}`} rows={top.domains} columns={[{ name: t.domain, sort: (r) => r.domain, show: (r) => <SiteLink domain={r.domain} /> }, { name: t.urls, sort: size, kind: "number", show: sizeText }, { name: t.share, sort: (r) => r.share, kind: "number", show: (r) => share(r.share) }]} />}
          </Section>
        ))}
      </div>
    </>
  );
}
