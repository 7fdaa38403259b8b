// SPDX-License-Identifier: Apache-2.0
// app.tsx - the frame of all views. An address without a version gets that of the server first, so that all parts of a view are of one.
import { render } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { VersionsAnswer } from "./api/answers";
import { path } from "./api/path";
import { useAnswer } from "./api/use_answer";
import { Guard } from "./parts/guard";
import { Footer, Header } from "./parts/header";
import { Host } from "./parts/names";
import { ProblemBox } from "./parts/problem";
import { Waiting } from "./parts/section";
import { VersionContext } from "./parts/version";
import { VersionNote } from "./parts/version_note";
import { changed, replace, useAddress, type Address } from "./router";
import { language, t } from "./text/language";
import { viewOf } from "./views/views";

function Pinned({ now }: { now: Address }) {
  const { answer, again } = useAnswer<VersionsAnswer>(now.params.v ? null : path("/v1/versions"));
  const version = now.params.v;
  useEffect(() => {
    if (answer?.body && !version) replace(changed(now, { v: answer.body.version }));
  }, [answer]);
  if (version) return <VersionContext.Provider value={version}><Guard><VersionNote now={now} /></Guard><Guard key={`${now.view}/${now.what}`}>{viewOf(now)}</Guard></VersionContext.Provider>;
  return <><h1 class="name">{now.what ? <Host name={now.what} /> : (t.titles[now.view] ?? t.lead)}</h1>{answer && !answer.body ? <ProblemBox answer={answer} again={again} name="" top /> : <Waiting />}</>;
}

// Counts up when the token changes: then every part is made again.
function useTurns(): number {
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const next = () => setTurn((last) => last + 1);
    addEventListener("domaindex-token", next);
    return () => removeEventListener("domaindex-token", next);
  }, []);
  return turn;
}

function App() {
  const now = useAddress();
  const turn = useTurns();
  useEffect(() => {
    document.title = [now.what, t.titles[now.view], "domaindex"].filter(Boolean).join(" · ");
  }, [now.view, now.what]);
  const first = useRef(true);
  useEffect(() => { // a screen reader goes on where the new view begins
    if (!first.current) document.getElementById("main")!.focus({ preventScroll: true });
    first.current = false;
  }, [now.view, now.what]);
  useEffect(() => {
    scrollTo(0, 0);
  }, [now.view, now.what, now.params.o, now.params.c]);
  return (
    <div key={turn}>
      <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); document.getElementById("main")!.focus(); }}>{t.skip}</a>
      <Header now={now} />
      <main id="main" tabIndex={-1}><Pinned now={now} /></main>
      <Guard><Footer now={now} /></Guard>
    </div>
  );
}

document.documentElement.lang = language;
const place = document.getElementById("app")!;
place.textContent = "";
render(<App />, place);
