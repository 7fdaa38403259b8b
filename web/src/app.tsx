// SPDX-License-Identifier: Apache-2.0
// app.tsx - the views. Each is an address "#/…" that names its version: ?v=VERSION.
import { render, type ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { curl, get, setToken, useData, withParam, type Answer } from "./api";
import { german, t } from "./words";

const number = new Intl.NumberFormat(german ? "de" : "en");
const percent = new Intl.NumberFormat(german ? "de" : "en", { style: "percent", maximumSignificantDigits: 3 });
const day = (ts: string | null) => (ts ? ts.slice(0, 10) : "–");
const enc = encodeURIComponent;
const link = (path: string, version: string | null) => withParam(`#/${path}`, "v", version);

function Problem({ answer }: { answer: Answer }) {
  const detail = answer.json?.detail as string | undefined;
  const slug = String(answer.json?.type ?? "").split(":").pop();
  if (answer.status === 401 || answer.status === 403)
    return (
      <form onSubmit={(e) => { e.preventDefault(); setToken(new FormData(e.currentTarget).get("token") as string); location.reload(); }}>
        <label>{t.denied}. {t.token} <input name="token" type="password" autocomplete="off" required /></label>
        <button>{t.use}</button>
      </form>
    );
  const title = answer.status === 404 ? t.absent : answer.status === 451 ? t.withheld : slug === "version-gone" || answer.status === 410 ? t.gone : t.failed;
  return (
    <div role="alert">
      <h2 class="bad">{answer.retry > 0 ? `${t.busy} ${answer.retry} ${t.seconds}` : `${title}${answer.status ? ` (${answer.status})` : ""}`}</h2>
      {detail && <p>{detail}</p>}
      {answer.status === 410 && <p><a href={location.hash.split("?")[0]}>{t.current}</a></p>}
    </div>
  );
}

// What a path answers, with the command for it; pins the address to the version that answered.
function Data({ path, version, children }: { path: string; version: string | null; children: (json: any) => ComponentChildren }) {
  const whole = withParam(path, "version", version);
  const answer = useData(whole);
  useEffect(() => {
    const of = answer?.status === 200 && answer.json?.version;
    if (of && !version && !location.hash.includes("v=")) history.replaceState(null, "", withParam(location.hash || "#/", "v", of));
  }, [answer]);
  return (
    <section aria-busy={answer === null}>
      {answer === null ? <p>{t.loading}</p> : answer.status === 200 ? children(answer.json) : <Problem answer={answer} />}
      <details><summary>{t.data}</summary><pre>{curl(whole)}</pre></details>
    </section>
  );
}

type Column = { name: string; key: string; show?: (row: any) => ComponentChildren; text?: boolean };

function Bar({ part }: { part: number }) {
  return <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect class="bar" width={Math.max(0.5, part * 100)} height="10" /></svg>;
}

function Table({ rows, columns, bar }: { rows: any[]; columns: Column[]; bar?: string }) {
  const [by, setBy] = useState<{ key: string; up: boolean } | null>(null);
  const most = bar ? rows.reduce((m, r) => Math.max(m, r[bar]), 1) : 1;
  const compare = (a: any, b: any) => (a[by!.key] < b[by!.key] ? -1 : a[by!.key] > b[by!.key] ? 1 : 0) * (by!.up ? 1 : -1);
  const sorted = by ? [...rows].sort(compare) : rows;
  return (
    <div class="wide" tabIndex={0}>
      <table>
        <thead><tr>
          {columns.map((c) => (
            <th class={c.text ? "" : "n"} aria-sort={by?.key === c.key ? (by.up ? "ascending" : "descending") : "none"}>
              <button onClick={() => setBy({ key: c.key, up: by?.key === c.key ? !by.up : !!c.text })}>{c.name}</button>
            </th>
          ))}
          {bar && <td />}
        </tr></thead>
        <tbody>
          {sorted.map((r) => (
            <tr>
              {columns.map((c) => <td class={c.text ? "" : "n"}>{c.show ? c.show(r) : c.text ? r[c.key] : number.format(r[c.key])}</td>)}
              {bar && <td><Bar part={r[bar] / most} /></td>}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const times: Column[] = [
  { name: t.first, key: "first_ts", text: true, show: (r) => day(r.first_ts) },
  { name: t.last, key: "last_ts", text: true, show: (r) => day(r.last_ts) },
];

function Site({ name, version }: { name: string; version: string | null }) {
  const d = `/v1/domain/${enc(name)}`;
  return (
    <>
      <h1><bdi>{name}</bdi></h1>
      <Data path={d} version={version}>
        {(j) => (
          <>
            <p>{j.domain !== name && <><bdi><strong>{j.domain}</strong></bdi> · </>}{number.format(j.dataset_count)} {t.datasets} · {number.format(j.url_count)} {t.urls} · {j.first_ts && `${day(j.first_ts)} – ${day(j.last_ts)} · `}{t.version} {j.version}</p>
            <h2>{t.found}</h2>
            <Table bar="url_count" rows={j.datasets} columns={[
              { name: t.dataset, key: "name", text: true, show: (r) => <a href={link(`dataset/${r.dataset_id}`, version)}>{r.name}</a> },
              { name: t.urls, key: "url_count", show: (r) => <a href={link(`urls/${enc(j.domain)}/${r.dataset_id}`, version)}>{number.format(r.url_count)}</a> },
              { name: t.share, key: "share", show: (r) => percent.format(r.share) },
              { name: t.rank, key: "rank" },
              ...times,
            ]} />
          </>
        )}
      </Data>
      <h2>{t.hosts}</h2>
      <Data path={`${d}/hosts?limit=50`} version={version}>
        {(j) => <Table bar="url_count" rows={j.hosts} columns={[{ name: t.host, key: "host", text: true }, { name: t.datasets, key: "dataset_count" }, { name: t.urls, key: "url_count" }]} />}
      </Data>
    </>
  );
}

function Urls({ name, id, version }: { name: string; id: string; version: string | null }) {
  const first = withParam(`/v1/domain/${enc(name)}/datasets/${enc(id)}/urls?limit=100`, "version", version);
  const [rows, setRows] = useState<any[]>([]);
  const [next, setNext] = useState<string | null>(first);
  const [problem, setProblem] = useState<Answer | null>(null);
  const more = async () => {
    const a = await get(next!);
    if (a.status !== 200) return setProblem(a);
    setProblem(null);
    setRows([...rows, ...a.json.items]);
    setNext(a.json.next_cursor ? `/v1/domain/${enc(name)}/datasets/${enc(id)}/urls?cursor=${enc(a.json.next_cursor)}` : null);
  };
  useEffect(() => void more(), []);
  return (
    <>
      <h1><a href={link(`site/${enc(name)}`, version)}><bdi>{name}</bdi></a></h1>
      <Table rows={rows} columns={[{ name: "URL", key: "url", text: true }, { name: t.time, key: "ts", text: true, show: (r) => day(r.ts) }]} />
      {problem && <Problem answer={problem} />}
      {next && rows.length > 0 && <button onClick={more}>{t.more}</button>}
      <details><summary>{t.data}</summary><pre>{curl(first)}</pre></details>
    </>
  );
}

function Dataset({ id, version }: { id: string; version: string | null }) {
  const d = `/v1/datasets/${enc(id)}`;
  return (
    <>
      <Data path={d} version={version}>
        {(j) => <><h1><bdi>{j.name}</bdi></h1><p>{number.format(j.domain_count)} {t.domains} · {number.format(j.url_count)} {t.urls}{j.first_ts && ` · ${day(j.first_ts)} – ${day(j.last_ts)}`}</p></>}
      </Data>
      <h2>{t.top}</h2>
      <Data path={`${d}/top-domains?limit=50`} version={version}>
        {(j) => <Table bar="url_count" rows={j.domains} columns={[{ name: t.rank, key: "rank" }, { name: t.domain, key: "domain", text: true, show: (r) => <a href={link(`site/${enc(r.domain)}`, version)}>{r.domain}</a> }, { name: t.urls, key: "url_count" }, { name: t.share, key: "share", show: (r) => percent.format(r.share) }]} />}
      </Data>
      <h2>{t.tlds}</h2>
      <Data path={`/v1/tlds?dataset=${enc(id)}`} version={version}>
        {(j) => <Table bar="url_count" rows={j.tlds} columns={[{ name: "TLD", key: "tld", text: true, show: (r) => r.tld ?? "–" }, { name: t.domains, key: "domain_count" }, { name: t.urls, key: "url_count" }]} />}
      </Data>
    </>
  );
}

function Datasets({ version }: { version: string | null }) {
  return (
    <>
      <h1>{t.datasets}</h1>
      <Data path="/v1/datasets?limit=1000" version={version}>
        {(j) => <Table bar="url_count" rows={j.datasets} columns={[{ name: t.dataset, key: "name", text: true, show: (r) => <a href={link(`dataset/${r.dataset_id}`, version)}>{r.name}</a> }, { name: t.domains, key: "domain_count" }, { name: t.urls, key: "url_count" }, ...times]} />}
      </Data>
    </>
  );
}

function Status() {
  return (
    <>
      <h1>{t.versions}</h1>
      <Data path="/v1/versions" version={null}>
        {(j) => <Table rows={j.versions} columns={[{ name: t.version, key: "version", text: true, show: (r) => <a href={link("datasets", r.version)}>{r.version}</a> }, { name: t.published, key: "published", text: true }, { name: t.status, key: "state", text: true, show: (r) => (r.current ? "current" : r.state) }]} />}
      </Data>
    </>
  );
}

function Search({ version }: { version: string | null }) {
  const [q, setQ] = useState("");
  const [names, setNames] = useState<string[]>([]);
  useEffect(() => {
    const stop = new AbortController();
    const timer = setTimeout(() => {
      if (q.trim())
        get(withParam(`/v1/complete?q=${enc(q)}`, "version", version), stop.signal).then((a) => setNames(a.status === 200 ? a.json.domains : []), () => {});
    }, 120);
    return () => { clearTimeout(timer); stop.abort(); };
  }, [q]);
  return (
    <form role="search" onSubmit={(e) => { e.preventDefault(); if (q.trim()) location.hash = link(`site/${enc(q.trim())}`, version); }}>
      <input type="search" list="names" aria-label={t.ask} placeholder={t.ask} value={q} autocomplete="off" spellcheck={false} onInput={(e) => setQ(e.currentTarget.value)} />
      <datalist id="names">{names.map((n) => <option value={n} />)}</datalist>
      <button>{t.search}</button>
    </form>
  );
}

function read() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  try {
    return { parts: path.split("/").map(decodeURIComponent), version: new URLSearchParams(query).get("v") };
  } catch {
    return { parts: [""], version: null };
  }
}

function App() {
  const [at, setAt] = useState(read());
  useEffect(() => {
    const turn = () => setAt(read());
    addEventListener("hashchange", turn);
    return () => removeEventListener("hashchange", turn);
  }, []);
  const { parts: [view, a, b], version } = at;
  document.documentElement.lang = german ? "de" : "en";
  document.title = a ? `${a} – domaindex` : "domaindex";
  return (
    <>
      <header>
        <a href={link("", version)}>domaindex</a><a href={link("datasets", version)}>{t.datasets}</a><a href={link("status", version)}>{t.versions}</a>
        <Search version={version} />
      </header>
      <main key={JSON.stringify(at)}>
        {view === "site" && a ? <Site name={a} version={version} />
          : view === "urls" && a && b ? <Urls name={a} id={b} version={version} />
          : view === "dataset" && a ? <Dataset id={a} version={version} />
          : view === "datasets" ? <Datasets version={version} />
          : view === "status" ? <Status />
          : <><h1>domaindex</h1><p>{t.lead}</p></>}
      </main>
      <footer class="soft"><a href="/docs">API</a></footer>
    </>
  );
}

render(<App />, document.getElementById("app")!);
