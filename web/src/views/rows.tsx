// SPDX-License-Identifier: Apache-2.0
// rows.tsx - the URLs of a site: filters, pages, export. Pages of the whole listing have offsets, which stay valid; filtered ones have cursors.
import type { Row, RowsAnswer } from "../api/answers";
import { path, sitePath } from "../api/path";
import { DatasetLink, Host, UrlText } from "../parts/names";
import { Section } from "../parts/section";
import { Table, type Column } from "../parts/table";
import { useLinks, useVersion } from "../parts/version";
import { changed, go, type Address } from "../router";
import { day, number } from "../text/format";
import { t } from "../text/language";
import { Export } from "./rows_export";

const PAGE = 100;
const FILTERS = ["dataset", "prefix", "from", "to", "status", "mime", "lang", "tag", "filter"] as const;
type Filter = (typeof FILTERS)[number];

const HINTS: Record<Filter, string> = { dataset: "12, name", prefix: "/wiki/", from: "2019-07", to: "2020", status: "200", mime: "text/html", lang: "de", tag: "", filter: "name:value" };
const filtersOf = (now: Address) => Object.fromEntries(FILTERS.map((name) => [name, now.params[name] ?? null]));
const isFiltered = (now: Address): boolean => FILTERS.some((name) => name !== "dataset" && now.params[name]);

function Filters({ now }: { now: Address }) {
  const use = (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    go(changed(now, { ...Object.fromEntries(FILTERS.map((name) => [name, String(form.get(name) ?? "").trim() || null])), o: null, c: null }));
  };
  return (
    <form class="filters" onSubmit={use} key={JSON.stringify(filtersOf(now))}>
      {FILTERS.map((name) => <label key={name}>{t.filters[name]}<input name={name} defaultValue={now.params[name] ?? ""} placeholder={HINTS[name]} autocomplete="off" spellcheck={false} /></label>)}
      <span class="buttons"><button>{t.apply}</button> <a class="button" href={changed(now, Object.fromEntries([...FILTERS, "o", "c"].map((name) => [name, null])))}>{t.reset}</a></span>
    </form>
  );
}

function Extras({ extras }: { extras: Record<string, string> }) {
  const names = Object.keys(extras);
  if (names.length === 0) return null;
  return <details><summary>{t.fields(names.length)}</summary><dl class="extras">{names.map((name) => <div key={name}><dt><bdi>{name}</bdi></dt><dd><bdi>{extras[name]}</bdi></dd></div>)}</dl></details>;
}

function columnsOf(answer: RowsAnswer): Column<Row>[] {
  const names = new Map(answer.datasets.map((d) => [d.dataset_id, d.dataset]));
  const columns: Column<Row>[] = [
    { name: "URL", show: (r) => <UrlText url={r.url} /> },
    { name: t.time, show: (r) => <span class="nowrap" title={r.ts ?? ""}>{day(r.ts)}</span> },
    { name: t.dataset, show: (r) => <DatasetLink id={r.dataset_id} name={names.get(r.dataset_id) ?? String(r.dataset_id)} /> },
  ];
  if (answer.items.some((r) => Object.keys(r.extras).length > 0)) columns.push({ name: t.more, show: (r) => <Extras extras={r.extras} /> });
  return columns;
}

function Pager({ now, answer, label }: { now: Address; answer: RowsAnswer; label: string }) {
  const { total, offset } = answer;
  const jump = (event: SubmitEvent) => {
    event.preventDefault();
    const page = Math.max(1, Math.floor(Number(new FormData(event.currentTarget as HTMLFormElement).get("page"))) || 1);
    go(changed(now, { o: (page - 1) * PAGE || null }));
  };
  if (total === undefined || offset === undefined)
    return (
      <nav class="pager" aria-label={label}>
        {now.params.c && <a class="button" rel="first" href={changed(now, { c: null })}>{t.firstPage}</a>}
        {answer.next_cursor ? <a class="button" rel="next" href={changed(now, { c: answer.next_cursor })}>{t.next}</a> : <span>{t.end}</span>}
      </nav>
    );
  return (
    <nav class="pager" aria-label={label}>
      {offset > 0 && <a class="button" rel="prev" href={changed(now, { o: Math.max(0, offset - PAGE) || null })}>{t.previous}</a>}
      <span>{answer.items.length === 0 ? t.end : t.rowsFromTo(number(offset + 1), number(offset + answer.items.length), number(total))}</span>
      {answer.next_offset != null && <a class="button" rel="next" href={changed(now, { o: answer.next_offset })}>{t.next}</a>}
      {total > PAGE && <form onSubmit={jump} key={offset}><label>{t.page} <input name="page" inputMode="numeric" size={6} defaultValue={String(Math.floor(offset / PAGE) + 1)} /></label> <button>{t.goTo}</button></form>}
    </nav>
  );
}

export function Rows({ now }: { now: Address }) {
  const { to, ask } = useLinks();
  const version = useVersion();
  const base = sitePath(now.what, "/urls");
  const asked = { ...filtersOf(now), fields: "url,ts,extras", limit: PAGE };
  const target = now.params.c ? path(base, { ...asked, cursor: now.params.c, version }) : ask(base, { ...asked, offset: isFiltered(now) ? null : now.params.o });
  return (
    <>
      <h1 class="name">{t.urlsOf} <a href={to("site", now.what)}><Host name={now.what} /></a></h1>
      <Filters now={now} />
      <Section<RowsAnswer> path={target}>
        {(answer) => (
          <>
            <Pager now={now} answer={answer} label={t.pages} />
            {answer.items.length === 0 ? <p>{answer.next_cursor ? t.noneHere : t.noRows}</p> : <Table all key={target} caption={t.urls} rows={answer.items} columns={columnsOf(answer)} />}
            {answer.items.length > 10 && <Pager now={now} answer={answer} label={t.pagesBelow} />}
          </>
        )}
      </Section>
      <Export domain={now.what} base={base} params={{ ...filtersOf(now), version }} />
    </>
  );
}
