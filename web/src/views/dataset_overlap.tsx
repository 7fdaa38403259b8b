// SPDX-License-Identifier: Apache-2.0
// dataset_overlap.tsx - which domains a dataset shares with the largest others, or with all: a list and a heat map.
import { useMemo, useState } from "preact/hooks";
import type { Dataset, DatasetsAnswer, OverlapAnswer } from "../api/answers";
import { HeatMap } from "../charts/heat_map";
import { Command } from "../parts/command";
import { DatasetLink } from "../parts/names";
import { ProblemBox } from "../parts/problem";
import { Section } from "../parts/section";
import { Table } from "../parts/table";
import { useLinks, useVersion } from "../parts/version";
import { number, share } from "../text/format";
import { t } from "../text/language";
import { jaccards, overlapPath, pairsOf, useOverlaps, type Pair } from "./overlaps";

const FEW = 12;
const MAPPED = 8; // datasets of the heat map

function OverlapList({ rows }: { rows: OverlapAnswer[] }) {
  return (
    <Table caption={t.overlap} rows={rows} find={(r) => r.b.name} columns={[
      { name: t.dataset, sort: (r) => r.b.name.toLowerCase(), show: (r) => <DatasetLink id={r.b.dataset_id} name={r.b.name} /> },
      { name: t.sharedDomains, sort: (r) => r.domains.shared, kind: "number" },
      { name: t.partOfThis, sort: (r) => r.domains.shared / Math.max(1, r.a.domain_count), kind: "number", show: (r) => share(r.domains.shared / Math.max(1, r.a.domain_count)) },
      { name: t.partOfThat, sort: (r) => r.domains.shared / Math.max(1, r.b.domain_count), kind: "number", show: (r) => share(r.domains.shared / Math.max(1, r.b.domain_count)) },
      { name: "Jaccard", sort: (r) => r.domains.jaccard, kind: "number", show: (r) => share(r.domains.jaccard) },
      { name: t.jaccardUrls, sort: (r) => r.urls?.jaccard ?? null, kind: "number", show: (r) => (r.urls ? share(r.urls.jaccard) : "–") },
    ]} />
  );
}

function Map({ ids, names }: { ids: number[]; names: string[] }) {
  const version = useVersion();
  const { got, problem, done } = useOverlaps(useMemo(() => pairsOf(ids), [ids.join()]), version);
  return problem ? <ProblemBox answer={problem} again={() => location.reload()} name="map" /> : <div aria-busy={!done}><HeatMap names={names} cells={jaccards(ids, got)} caption={t.heatMap} /></div>;
}

function Body({ dataset, others }: { dataset: Dataset; others: Dataset[] }) {
  const version = useVersion();
  const [all, setAll] = useState(false);
  const asked = all ? others : others.slice(0, FEW);
  const pairs = asked.map((o): Pair => [dataset.dataset_id, o.dataset_id]);
  const { got, problem, done } = useOverlaps(pairs, version);
  const rows = [...got].sort((a, b) => b.domains.jaccard - a.domains.jaccard);
  const near = done ? rows.slice(0, MAPPED - 1).map((r) => r.b) : [];
  return (
    <div aria-busy={!done}>
      <p class="tools"><span role="status" class="soft">{done ? t.overlapWith(number(got.length), number(others.length)) : t.comparing(number(got.length), number(asked.length))}</span>
        {!all && others.length > FEW && <button type="button" onClick={() => setAll(true)}>{t.compareAll(number(others.length))}</button>}</p>
      {problem && <ProblemBox answer={problem} again={() => setAll(all)} name="overlap" />}
      {rows.length > 0 && <OverlapList rows={rows} />}
      {near.length > 1 && <><h3>{t.heatMap}</h3><Map ids={[dataset.dataset_id, ...near.map((d) => d.dataset_id)]} names={[dataset.name, ...near.map((d) => d.name)]} /></>}
      {pairs[0] && <Command paths={[overlapPath(pairs[0], version)]} />}
    </div>
  );
}

export function DatasetOverlap({ dataset }: { dataset: Dataset }) {
  const { ask } = useLinks();
  return (
    <Section<DatasetsAnswer> title={t.overlap} path={ask("/v1/datasets", { limit: 10000 })}>
      {({ datasets }) => {
        const others = datasets.filter((d) => d.dataset_id !== dataset.dataset_id).sort((a, b) => b.domain_count - a.domain_count);
        return others.length === 0 ? <p>{t.onlyDataset}</p> : <Body dataset={dataset} others={others} />;
      }}
    </Section>
  );
}
