// SPDX-License-Identifier: Apache-2.0
// changes.tsx - domains that differ between an older version and the current one.
import type { ChangesAnswer, VersionsAnswer } from "../api/answers";
import { path } from "../api/path";
import { useAnswer } from "../api/use_answer";
import { Choice } from "../parts/choice";
import { SiteLink } from "../parts/names";
import { Section } from "../parts/section";
import { Table } from "../parts/table";
import { changed, go, type Address } from "../router";
import { number, published } from "../text/format";
import { t } from "../text/language";

const PAGE = 200;
const sum = (rows: ChangesAnswer["changes"][0]["datasets"]): number => rows.reduce((s, r) => s + (r.after?.url_count ?? 0) - (r.before?.url_count ?? 0), 0);

export function Changes({ now }: { now: Address }) {
  const versions = useAnswer<VersionsAnswer>(path("/v1/versions")).answer?.body?.versions ?? [];
  const older = versions.filter((v) => !v.current && v.state === "listed").sort((a, b) => b.sequence - a.sequence);
  const { since, c } = now.params;
  return (
    <>
      <h1>{t.changes}</h1>
      {older.length > 0 && <p class="tools"><Choice label={t.since} value={since ?? older[0]!.version} options={older.map((v) => [v.version, published(v.version)])} onChoose={(value) => go(changed(now, { since: value, c: null }))} /></p>}
      <Section<ChangesAnswer> path={path("/v1/changes", c ? { cursor: c, limit: PAGE } : { since, limit: PAGE })}>
        {(answer) => (
          <>
            {answer.changes.length === 0 ? <p>{answer.next_cursor ? t.noneHere : t.same}</p> : <Table key={c} caption={t.changes} rows={answer.changes} find={(r) => r.domain} columns={[
              { name: t.domain, sort: (r) => r.domain, show: (r) => <SiteLink domain={r.domain} /> },
              { name: t.change, sort: (r) => r.change, show: (r) => t.kindOfChange[r.change] },
              { name: t.datasets, sort: (r) => r.datasets.length, kind: "number" },
              { name: t.difference, sort: (r) => sum(r.datasets), kind: "number", show: (r) => (sum(r.datasets) > 0 ? "+" : "") + number(sum(r.datasets)) },
            ]} />}
            <nav class="pager" aria-label={t.pages}>{c && <a class="button" href={changed(now, { c: null })}>{t.firstPage}</a>}{answer.next_cursor ? <a class="button" rel="next" href={changed(now, { c: answer.next_cursor })}>{t.next}</a> : <span>{t.end}</span>}</nav>
          </>
        )}
      </Section>
    </>
  );
}
