// SPDX-License-Identifier: Apache-2.0
// search_box.tsx - the search field: completion of domains, and what the server reduces a pasted URL to.
import { useEffect, useId, useRef, useState } from "preact/hooks";
import type { CompleteAnswer, NormalizeAnswer } from "../api/answers";
import { get, isBusy } from "../api/client";
import { path } from "../api/path";
import { address, go } from "../router";
import { t } from "../text/language";
import { Host } from "./names";

const PAUSE_MS = 100;
const MOST = 8000; // bytes of a target are at most 8448

function useCompletion(q: string, version: string | null): string[] {
  const [names, setNames] = useState<string[]>([]);
  useEffect(() => {
    const stop = new AbortController();
    if (q === "" || q.length > MOST / 3) return setNames([]);
    const ask = () => get<CompleteAnswer>(path("/v1/complete", { q, limit: 8, version }), stop.signal).then((a) => setNames(a.body?.domains ?? []), () => {});
    const timer = setTimeout(ask, PAUSE_MS);
    return () => { clearTimeout(timer); stop.abort(); };
  }, [q, version]);
  return names;
}

// The view that a text leads to, or why it leads nowhere.
async function targetOf(text: string, version: string | null): Promise<{ to: string } | { refused: string }> {
  const answer = await get<NormalizeAnswer>(path("/v1/normalize", { q: text.slice(0, MOST) }));
  if (isBusy(answer)) return { refused: t.busy };
  if (answer.status === 401) return { to: address("site", text, { v: version }) }; // it has the form for a token
  if (!answer.body) return { refused: answer.problem?.detail ?? t.unreachable };
  const { domain, url, path_query, rejected } = answer.body;
  if (!domain) return { refused: t.notAName(rejected ?? "") };
  const isUrl = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) && path_query !== "/" && url;
  return { to: address("site", domain, { v: version, u: isUrl ? url : null }) };
}

export function SearchBox({ version, large }: { version: string | null; large?: boolean }) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(-1);
  const [open, setOpen] = useState(false);
  const [refused, setRefused] = useState<string | null>(null);
  const field = useRef<HTMLInputElement>(null);
  const id = useId();
  const names = useCompletion(open ? text.trim() : "", version);
  const shown = open && names.length > 0;
  const visit = async (name: string) => {
    if (name.trim() === "") return field.current?.focus();
    const found = await targetOf(name.trim(), version);
    if ("refused" in found) return setRefused(found.refused);
    setOpen(false); setRefused(null); setText("");
    go(found.to);
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "Escape") { setOpen(false); setAt(-1); }
    if (!shown || (event.key !== "ArrowDown" && event.key !== "ArrowUp")) return;
    event.preventDefault();
    setAt((at + (event.key === "ArrowDown" ? 1 : names.length + 1) + 1) % (names.length + 1) - 1);
  };
  return (
    <form role="search" class={large ? "search large" : "search"} onSubmit={(event) => { event.preventDefault(); void visit(shown && at >= 0 ? names[at]! : text); }}>
      <input ref={field} type="text" inputMode="url" enterkeyhint="search" role="combobox" aria-label={t.searchLabel} aria-expanded={shown} aria-controls={`${id}list`} aria-autocomplete="list"
        aria-activedescendant={shown && at >= 0 ? `${id}${at}` : undefined} aria-describedby={refused ? `${id}refused` : undefined} aria-invalid={refused !== null} placeholder={t.searchLabel}
        value={text} autocomplete="off" autocapitalize="none" spellcheck={false} maxLength={MOST}
        onInput={(event) => { setText(event.currentTarget.value); setAt(-1); setOpen(true); setRefused(null); }} onKeyDown={onKey} onBlur={() => setTimeout(() => setOpen(false), 150)} />
      <button>{t.search}</button>
      <ul id={`${id}list`} role="listbox" aria-label={t.completions} hidden={!shown}>
        {names.map((name, i) => <li key={name} id={`${id}${i}`} role="option" aria-selected={i === at} onMouseDown={(event) => { event.preventDefault(); void visit(name); }}><Host name={name} /></li>)}
      </ul>
      <p id={`${id}refused`} class="refused" role="alert">{refused && <bdi>{refused}</bdi>}</p>
    </form>
  );
}
