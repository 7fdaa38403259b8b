// SPDX-License-Identifier: Apache-2.0
// status.tsx - what the server serves: version, recent flips, whether it is ready.
import type { VersionsAnswer } from "../api/answers";
import { path } from "../api/path";
import { Figures } from "../parts/figures";
import { Section } from "../parts/section";
import { Table } from "../parts/table";
import { address } from "../router";
import { moment, number, published } from "../text/format";
import { t } from "../text/language";

type Ready = { ready: boolean; state: string; detail?: string; version: string };

export function Status() {
  return (
    <>
      <h1>{t.status}</h1>
      <Section<Ready> title={t.server} path="/readyz">
        {(r) => <><Figures items={[[t.state, t.states[r.state] ?? r.state], [t.serves, published(r.version)]]} />{r.detail && <p class="note" lang="en">{r.detail}</p>}</>}
      </Section>
      <Section<VersionsAnswer> title={t.versions} path={path("/v1/versions")}>
        {({ versions, suppression_count }) => {
          const sums = versions.some((v) => v.domain_count !== undefined);
          return (
            <>{suppression_count !== undefined && <Figures items={[[t.suppressions, number(suppression_count)]]} />}<Table caption={t.versions} rows={[...versions].sort((a, b) => b.sequence - a.sequence)} columns={[
              { name: t.version, sort: (r) => r.sequence, show: (r) => <a class="nowrap" href={address("", "", { v: r.version })}>{r.version}</a> },
              { name: t.published, sort: (r) => r.published, show: (r) => <span class="nowrap">{moment(r.published)}</span> },
              { name: t.state, sort: (r) => r.state, show: (r) => (r.current ? t.current : (t.states[r.state] ?? r.state)) },
              { name: t.superseded, sort: (r) => r.superseded, show: (r) => <span class="nowrap">{r.superseded ? moment(r.superseded) : "–"}</span> },
              ...(sums ? [
                { name: t.domains, sort: (r: (typeof versions)[0]) => r.domain_count ?? 0, kind: "number" as const, show: (r: (typeof versions)[0]) => number(r.domain_count ?? 0) },
                { name: t.datasets, sort: (r: (typeof versions)[0]) => r.dataset_count ?? 0, kind: "number" as const, show: (r: (typeof versions)[0]) => number(r.dataset_count ?? 0) },
                { name: t.urls, sort: (r: (typeof versions)[0]) => r.url_count ?? 0, kind: "number" as const, show: (r: (typeof versions)[0]) => number(r.url_count ?? 0) },
              ] : []),
              { name: t.changes, show: (r) => (r.current && versions.length > 1 ? <a href={address("changes", "", { v: r.version })}>{t.show}</a> : null) },
            ]} /></>
          );
        }}
      </Section>
    </>
  );
}
