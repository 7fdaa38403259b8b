// SPDX-License-Identifier: Apache-2.0
// compare_sites.tsx - sites beside each other: datasets of each, and their time.
import type { SiteAnswer, TimelineAnswer } from "../api/answers";
import { sitePath } from "../api/path";
import { useAnswer, type Asked } from "../api/use_answer";
import { Timeline } from "../charts/timeline";
import { Command } from "../parts/command";
import { DatasetLink, SiteLink } from "../parts/names";
import { ProblemBox } from "../parts/problem";
import { Waiting } from "../parts/section";
import { Table, type Column } from "../parts/table";
import { useLinks } from "../parts/version";
import { number, size, span } from "../text/format";
import { t } from "../text/language";

const MOST = 5; // hooks must not change in number

// Always the same number of requests; those of names that are missing ask nothing.
function useEach<T>(paths: string[]): Asked<T>[] {
  return Array.from({ length: MOST }, (_, i) => useAnswer<T>(paths[i] ?? null)).slice(0, paths.length);
}

type Row = { id: number; name: string; counts: (number | undefined)[] };

function rowsOf(sites: SiteAnswer[]): Row[] {
  const rows = new Map<number, Row>();
  sites.forEach((site, i) => site.datasets.forEach((d) => {
    const row = rows.get(d.dataset_id) ?? { id: d.dataset_id, name: d.name, counts: sites.map(() => undefined) };
    row.counts[i] = size(d);
    rows.set(d.dataset_id, row);
  }));
  const found = (row: Row) => row.counts.filter((c) => c !== undefined).length;
  const sum = (row: Row) => row.counts.reduce<number>((s, c) => s + (c ?? 0), 0);
  return [...rows.values()].sort((a, b) => found(b) - found(a) || sum(b) - sum(a));
}

export function Legend({ names }: { names: string[] }) {
  return <ul class="legend">{names.map((name, i) => <li key={name}><svg viewBox="0 0 10 10" aria-hidden="true" class={`series s${i}`}><rect width="10" height="10" /></svg> <bdi>{name}</bdi></li>)}</ul>;
}

function Summary({ sites }: { sites: SiteAnswer[] }) {
  const inAll = rowsOf(sites).filter((r) => r.counts.every((c) => c !== undefined)).length;
  return (
    <>
      <Table caption={t.compare} rows={sites} columns={[
        { name: t.domain, sort: (r) => r.domain, show: (r) => <SiteLink domain={r.domain} /> },
        { name: t.datasets, sort: (r) => r.dataset_count, kind: "number" },
        { name: t.urlsDistinct, sort: (r) => r.distinct_url_count, kind: "number" },
        { name: t.rows, sort: (r) => r.row_count, kind: "number" },
        { name: t.period, sort: (r) => r.first_ts, show: (r) => <span class="nowrap">{span(r.first_ts, r.last_ts)}</span> },
      ]} />
      <p>{t.inAllOfThem(number(inAll))}</p>
    </>
  );
}

function Times({ sites }: { sites: SiteAnswer[] }) {
  const { ask } = useLinks();
  const asked = useEach<TimelineAnswer>(sites.map((s) => ask(sitePath(s.domain, "/timeline"), { by: "year" })));
  const series = asked.map((a, i) => ({ name: sites[i]!.domain, periods: a.answer?.body?.periods ?? [] }));
  if (asked.some((a) => a.answer === null)) return <Waiting />;
  const bad = asked.find((a) => a.answer!.body === null);
  return (
    <section>
      <h2>{t.timeline}</h2>
      {bad ? <ProblemBox answer={bad.answer!} again={bad.again} name="times" /> : <><Legend names={series.map((s) => s.name)} /><Timeline series={series} label={t.timelineOf(series.map((s) => s.name).join(", "))} /></>}
    </section>
  );
}

export function CompareSites({ sites }: { sites: string[] }) {
  const { ask } = useLinks();
  const paths = sites.map((name) => ask(sitePath(name)));
  const asked = useEach<SiteAnswer>(paths);
  const bodies = asked.flatMap((a) => a.answer?.body ?? []);
  const columns: Column<Row>[] = [
    { name: t.dataset, sort: (r) => r.name.toLowerCase(), show: (r) => <DatasetLink id={r.id} name={r.name} /> },
    ...bodies.map((site, i): Column<Row> => ({ name: site.domain, sort: (r) => r.counts[i] ?? null, kind: "number" })),
  ];
  return (
    <>
      {asked.map((a, i) => a.answer && a.answer.body === null && <section key={sites[i]}><h2 class="name"><bdi>{sites[i]}</bdi></h2><ProblemBox answer={a.answer} again={a.again} name={sites[i]!} /></section>)}
      {asked.some((a) => a.answer === null) && <Waiting />}
      {bodies.length > 0 && <><Summary sites={bodies} /><Times key={bodies.map((b) => b.domain).join()} sites={bodies} /><h2>{t.urlsInDatasets}</h2><Table key={bodies.length} caption={t.urlsInDatasets} rows={rowsOf(bodies)} columns={columns} find={(r) => r.name} /></>}
      <Command paths={paths} />
    </>
  );
}
