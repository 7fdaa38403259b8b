// SPDX-License-Identifier: Apache-2.0
// dataset_top.tsx - the domains of a dataset with the most URLs; also only the first 10 %, the table of the EU's template.
import type { Dataset, Ranked, TopAnswer } from "../api/answers";
import { datasetPath } from "../api/path";
import { Bar } from "../charts/bar";
import { Choice } from "../parts/choice";
import { Download } from "../parts/download";
import { SiteLink } from "../parts/names";
import { Section } from "../parts/section";
import { Table, type Column } from "../parts/table";
import { useLinks } from "../parts/version";
import { changed, replace, type Address } from "../router";
import { number, share, size, sizeText } from "../text/format";
import { t } from "../text/language";

const PAGE = 50;

const columnsOf = (most: number): Column<Ranked>[] => [
  { name: t.rank, sort: (r) => r.rank, kind: "number" },
  { name: t.domain, sort: (r) => r.domain, show: (r) => <SiteLink domain={r.domain} /> },
  { name: t.urls, sort: size, kind: "number", show: sizeText },
  { name: t.barOfUrls, kind: "chart", show: (r) => <Bar part={size(r) / most} /> },
  { name: t.share, sort: (r) => r.share, kind: "number", show: (r) => share(r.share) },
];

export function DatasetTop({ dataset, now }: { dataset: Dataset; now: Address }) {
  const { ask } = useLinks();
  const base = datasetPath(dataset.dataset_id, "/top-domains");
  const part = now.params.share ?? "";
  const offset = Number(now.params.o ?? 0) || 0;
  const aside = <Choice label={t.shown} value={part} options={[["", t.allDomains], ["10%", t.tenPercent]]} onChoose={(value) => replace(changed(now, { share: value || null, o: null }))} />;
  return (
    <Section<TopAnswer> title={t.top} aside={aside} path={ask(base, { share: part, limit: PAGE, offset: offset || null })}>
      {(top) => (
        <>
          {part && <p class="note">{t.tenPercentHint(number(top.selected), number(top.domain_count))}</p>}
          <Table all caption={t.top} rows={top.domains} columns={columnsOf(top.domains[0] ? size(top.domains[0]) : 1)} />
          <nav class="pager" aria-label={t.pages}>
            {offset > 0 && <a class="button" rel="prev" href={changed(now, { o: Math.max(0, offset - PAGE) || null })}>{t.previous}</a>}
            <span>{t.rowsFromTo(number(offset + Math.min(1, top.domains.length)), number(offset + top.domains.length), number(top.selected))}</span>
            {top.next_offset !== null && top.next_offset < top.selected && <a class="button" rel="next" href={changed(now, { o: top.next_offset })}>{t.next}</a>}
            <Download name={`${dataset.name}-top-domains.csv`} text={t.saveCsv} target={ask(base, { share: part, format: "csv" })} />
          </nav>
        </>
      )}
    </Section>
  );
}
