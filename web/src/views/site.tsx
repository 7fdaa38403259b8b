// SPDX-License-Identifier: Apache-2.0
// site.tsx - a site: its datasets, its time, its hosts and paths, what changed.
import type { SiteAnswer } from "../api/answers";
import { sitePath } from "../api/path";
import { Figures } from "../parts/figures";
import { Host } from "../parts/names";
import { Section } from "../parts/section";
import { useLinks } from "../parts/version";
import type { Address } from "../router";
import { number, span } from "../text/format";
import { t } from "../text/language";
import { SiteChanges } from "./site_changes";
import { SiteDatasets } from "./site_datasets";
import { SiteStructure } from "./site_structure";
import { SiteTimeline } from "./site_timeline";

export function SiteFigures({ site }: { site: SiteAnswer }) {
  return (
    <Figures items={[
      [t.datasets, number(site.dataset_count)],
      [t.urlsDistinct, (site.distinct_error > 0 ? "≈ " : "") + number(site.distinct_url_count)],
      [t.rows, number(site.row_count)],
      [t.period, span(site.first_ts, site.last_ts)],
      !!site.withheld_rows && [t.withheldRows, number(site.withheld_rows)],
    ]} />
  );
}

function Head({ site, now }: { site: SiteAnswer; now: Address }) {
  const { to } = useLinks();
  const d = site.domain;
  return (
    <>
      {site.domain !== now.what && <p class="note">{t.reducedTo} <strong><Host name={site.domain} /></strong></p>}
      <SiteFigures site={site} />
      <nav class="actions" aria-label={t.actions}>
        <a class="button" href={to("urls", d)}>{t.browse}</a> <a class="button" href={to("compare", "", { sites: d })}>{t.compare}</a> <a class="button" href={to("report", d)}>{t.report}</a>
      </nav>
      {now.params.u && <p class="note">{t.exactUrl} <a class="url" href={to("url", now.params.u)}><bdi>{now.params.u}</bdi></a></p>}
    </>
  );
}

function Body({ site, now }: { site: SiteAnswer; now: Address }) {
  const d = site.domain;
  return (
    <>
      <SiteDatasets site={site} />
      {site.row_count > 0 && <SiteTimeline domain={d} datasets={site.datasets} now={now} />}
      {site.row_count > 0 && <SiteStructure domain={d} datasets={site.datasets} now={now} />}
      <SiteChanges domain={d} now={now} />
    </>
  );
}

export function Site({ now }: { now: Address }) {
  const { ask } = useLinks();
  return (
    <>
      <h1 class="name"><Host name={now.what} /></h1>
      <Section<SiteAnswer> path={ask(sitePath(now.what))} below={(site) => <Body site={site} now={now} />}>{(site) => <Head site={site} now={now} />}</Section>
    </>
  );
}
