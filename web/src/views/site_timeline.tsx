// SPDX-License-Identifier: Apache-2.0
// site_timeline.tsx - rows of a site in each year, month or day.
import type { SiteDataset, TimelineAnswer } from "../api/answers";
import { sitePath } from "../api/path";
import { Timeline } from "../charts/timeline";
import { Choice } from "../parts/choice";
import { Section } from "../parts/section";
import { Table } from "../parts/table";
import { useLinks } from "../parts/version";
import { changed, replace, type Address } from "../router";
import { number } from "../text/format";
import { t } from "../text/language";

export function PeriodTable({ answer }: { answer: TimelineAnswer }) {
  return <Table caption={t.timeline} rows={answer.periods} columns={[{ name: t.period, sort: (r) => r.period }, { name: t.rows, sort: (r) => r.row_count, kind: "number" }]} />;
}

export function TimelineChart({ answer }: { answer: TimelineAnswer }) {
  return (
    <>
      <Timeline series={[{ name: t.rows, periods: answer.periods }]} label={t.timelineLabel(answer.periods.length)} />
      {answer.untimed_row_count > 0 && <p class="soft">{t.untimed(number(answer.untimed_row_count))}</p>}
    </>
  );
}

export function SiteTimeline({ domain, datasets, now }: { domain: string; datasets: SiteDataset[]; now: Address }) {
  const { ask } = useLinks();
  const by = now.params.by ?? "month";
  const options: [string, string][] = [["", t.allDatasets], ...datasets.filter((d) => !d.kind).map((d): [string, string] => [String(d.dataset_id), d.name])];
  const aside = (
    <span class="tools">
      <Choice label={t.per} value={by} options={[["year", t.year], ["month", t.month], ["day", t.dayWord]]} onChoose={(value) => replace(changed(now, { by: value }))} />
      {datasets.length > 1 && <Choice label={t.dataset} value={now.params.td ?? ""} options={options} onChoose={(value) => replace(changed(now, { td: value }))} />}
    </span>
  );
  return (
    <Section<TimelineAnswer> title={t.timeline} aside={aside} path={ask(sitePath(domain, "/timeline"), { by, dataset: now.params.td ? `id:${now.params.td}` : null })}>
      {(answer) => <><TimelineChart answer={answer} />{answer.periods.length > 0 && <details><summary>{t.asTable}</summary><PeriodTable answer={answer} /></details>}</>}
    </Section>
  );
}
