// SPDX-License-Identifier: Apache-2.0
// report.tsx - one site on paper: with version, date and a citation.
import type { HostsAnswer, SiteAnswer, TimelineAnswer } from "../api/answers";
import { sitePath } from "../api/path";
import { Copy } from "../parts/command";
import { Host } from "../parts/names";
import { Section } from "../parts/section";
import { Table } from "../parts/table";
import { useLinks, useVersion } from "../parts/version";
import type { Address } from "../router";
import { day, number, published, share, size, sizeText, today } from "../text/format";
import { t } from "../text/language";
import { SiteFigures } from "./site";
import { TimelineChart } from "./site_timeline";

const MOST = 100;

export function Report({ now }: { now: Address }) {
  const { to, ask } = useLinks();
  const version = useVersion();
  const base = sitePath(now.what);
  const cite = (domain: string) => t.citation(domain, version, published(version), `${location.origin}/${to("report", domain)}`, today());
  return (
    <article class="report">
      <p class="screen tools"><a href={to("site", now.what)}>{t.back}</a> <button type="button" onClick={() => print()}>{t.print}</button></p>
      <h1 class="name">{t.reportOf} <Host name={now.what} /></h1>
      <p>{t.versionOf(version, published(version))}<br />{t.madeOn(today())} {location.host}</p>
      <Section<SiteAnswer> path={ask(base)} below={(site) => (
          <>
            <h2>{t.foundIn(site.dataset_count)}</h2>
            <Table all caption={t.datasets} rows={[...site.datasets].sort((a, b) => size(b) - size(a)).slice(0, MOST)} columns={[
              { name: t.dataset, sort: (r) => r.name, show: (r) => <bdi>{r.name}</bdi> },
              { name: t.urls, sort: size, kind: "number", show: sizeText },
              { name: t.share, sort: (r) => r.share, kind: "number", show: (r) => share(r.share) },
              { name: t.rank, sort: (r) => r.rank, kind: "number" },
              { name: t.first, sort: (r) => r.first_ts, show: (r) => day(r.first_ts) },
              { name: t.last, sort: (r) => r.last_ts, show: (r) => day(r.last_ts) },
            ]} />
            {site.dataset_count > MOST && <p class="soft">{t.onlyLargest(number(MOST), number(site.dataset_count))}</p>}
            <Section<TimelineAnswer> title={t.timeline} path={ask(sitePath(site.domain, "/timeline"), { by: "month" })}>{(answer) => <TimelineChart answer={answer} />}</Section>
            <Section<HostsAnswer> title={t.hosts} path={ask(sitePath(site.domain, "/hosts"), { limit: 20 })}>
              {(answer) => <><Table all caption={t.hosts} rows={answer.hosts} columns={[{ name: t.host, sort: (r) => r.host, show: (r) => <Host name={r.host} /> }, { name: t.datasets, sort: (r) => r.dataset_count, kind: "number" }, { name: t.urls, sort: (r) => r.url_count, kind: "number" }]} />{answer.host_count > answer.hosts.length && <p class="soft">{t.onlyLargest(number(answer.hosts.length), number(answer.host_count))}</p>}</>}
            </Section>
            <h2>{t.cite}</h2>
            <p class="citation">{cite(site.domain)}</p>
            <p class="screen"><Copy text={cite(site.domain)} /></p>
          </>
        )}>
        {(site) => <SiteFigures site={site} />}
      </Section>
    </article>
  );
}
