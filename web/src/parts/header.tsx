// SPDX-License-Identifier: Apache-2.0
// header.tsx - the line above all views, and the one below.
import { useState } from "preact/hooks";
import { setToken, token } from "../api/token";
import { address, type Address } from "../router";
import { published } from "../text/format";
import { language, setLanguage, t } from "../text/language";
import { SearchBox } from "./search_box";
import { TokenForm } from "./token_form";

const VIEWS = ["datasets", "compare", "lists", "changes", "status"];

export function Header({ now }: { now: Address }) {
  const v = now.params.v ?? null;
  return (
    <header>
      <div class="bar-of-views">
        <a class="brand" href={address("", "", { v })}>domaindex</a>
        <nav aria-label={t.views}>{VIEWS.map((view) => <a key={view} href={address(view, "", { v })} aria-current={now.view === view ? "page" : undefined}>{t.titles[view]}</a>)}</nav>
      </div>
      {now.view !== "" && <SearchBox version={v} />}
    </header>
  );
}

export function Footer({ now }: { now: Address }) {
  const [open, setOpen] = useState(false);
  const other = language === "de" ? "en" : "de";
  return (
    <footer>
      <span>{now.params.v && <>{t.version} <span title={now.params.v}>{published(now.params.v)}</span></>}</span>
      <a href="/docs">API</a>
      {token() ? <button type="button" class="quiet" onClick={() => setToken(null)}>{t.forgetToken}</button> : <button type="button" class="quiet" aria-expanded={open} onClick={() => setOpen(!open)}>{t.token}</button>}
      <button type="button" class="quiet" lang={other} onClick={() => setLanguage(other)}>{other === "de" ? "Deutsch" : "English"}</button>
      {open && <TokenForm top needed={false} />}
    </footer>
  );
}
