// SPDX-License-Identifier: Apache-2.0
// site_changes.tsx - what changed for a site: each version against the one before it, or this one against an older one.
import type { ComponentChildren } from "preact";
import type { DatasetChange, OwnCounts, DiffAnswer, SiteChange, SiteChangesAnswer, VersionsAnswer } from "../api/answers";
import { path, sitePath } from "../api/path";
import { token } from "../api/token";
import { useAnswer } from "../api/use_answer";
import { Choice } from "../parts/choice";
import { DatasetLink } from "../parts/names";
import { Section } from "../parts/section";
import { Table } from "../parts/table";
import { useVersion } from "../parts/version";
import { changed, replace, type Address } from "../router";
import { number, published, size, sizeText } from "../text/format";
import { t } from "../text/language";

const counts = (c: OwnCounts | null) => (c ? sizeText(c) : "–");
const gain = (r: DatasetChange): number => (r.after ? size(r.after) : 0) - (r.before ? size(r.before) : 0);
const signed = (n: number): string => (n > 0 ? "+" : "") + number(n);

function ChangeTable({ caption, rows }: { caption: string; rows: DatasetChange[] }) {
  return (
    <Table caption={caption} rows={rows} columns={[
      { name: t.dataset, sort: (r) => r.name, show: (r) => (r.after ? <DatasetLink id={r.dataset_id} name={r.name} /> : <bdi>{r.name}</bdi>) },
      { name: t.change, sort: (r) => r.change, show: (r) => t.kindOfChange[r.change] },
      { name: t.before, sort: (r) => r.before?.url_count ?? 0, kind: "number", show: (r) => counts(r.before) },
      { name: t.after, sort: (r) => r.after?.url_count ?? 0, kind: "number", show: (r) => counts(r.after) },
      { name: t.difference, sort: gain, kind: "number", show: (r) => signed(gain(r)) },
    ]} />
  );
}

function OneVersion({ change, open }: { change: SiteChange; open: boolean }) {
  const urls = change.datasets.reduce((sum, r) => sum + gain(r), 0);
  return (
    <li>
      <details open={open}>
        <summary>
          <span title={change.version}>{published(change.version)}</span>: {t.kindOfChange[change.change]} <span class="count">{t.countDatasets(change.datasets.length)}, {signed(urls)} URLs</span>
        </summary>
        <ChangeTable caption={t.changesOf(published(change.version))} rows={change.datasets} />
      </details>
    </li>
  );
}

// A link could not send the token, and neither could a feed reader.
function Feed({ domain }: { domain: string }) {
  return token() ? null : <a class="button" rel="alternate" type="application/atom+xml" href={path(sitePath(domain, "/changes"), { format: "atom" })}>{t.feed}</a>;
}

function History({ answer, now }: { answer: SiteChangesAnswer; now: Address }) {
  return (
    <>
      {answer.changes.length > 0 ? <ul class="tree">{answer.changes.map((c, i) => <OneVersion key={c.version} change={c} open={i === 0} />)}</ul> : <p>{answer.compared === 0 ? t.noOlderVersion : t.same}</p>}
      {answer.compared > 0 && <p class="soft">{t.compared(answer.compared, published(answer.since))}</p>}
      {(answer.next_to || now.params.to) && (
        <nav class="pager" aria-label={t.changes}>
          {now.params.to && <a class="button" href={changed(now, { to: null })}>{t.newestVersions}</a>}
          {answer.next_to && <a class="button" rel="next" href={changed(now, { to: answer.next_to })}>{t.olderVersions}</a>}
        </nav>
      )}
    </>
  );
}

export function SiteChanges({ domain, now }: { domain: string; now: Address }) {
  const version = useVersion();
  const versions = useAnswer<VersionsAnswer>(path("/v1/versions")).answer?.body?.versions ?? [];
  const at = versions.find((v) => v.version === version);
  const older = versions.filter((v) => at && v.sequence < at.sequence && v.state === "listed").sort((a, b) => b.sequence - a.sequence);
  const from = now.params.from;
  const choice: ComponentChildren = older.length > 0 && (
    <Choice label={t.comparedWith} value={from ?? ""} options={[["", t.eachBefore], ...older.map((v): [string, string] => [v.version, published(v.version)])]} onChoose={(value) => replace(changed(now, { from: value || null, to: null }))} />
  );
  const aside = <span class="tools">{choice} <Feed domain={domain} /></span>;
  if (from)
    return (
      <Section<DiffAnswer> title={t.changesSince(published(from))} aside={aside} path={path(sitePath(domain, "/diff"), { from, to: version })}>
        {(diff) => (diff.datasets.length === 0 ? <p>{t.same}</p> : <ChangeTable caption={t.changes} rows={diff.datasets} />)}
      </Section>
    );
  return (
    <Section<SiteChangesAnswer> title={t.changes} aside={aside} path={path(sitePath(domain, "/changes"), { to: now.params.to ?? version })}>
      {(answer) => <History answer={answer} now={now} />}
    </Section>
  );
}
