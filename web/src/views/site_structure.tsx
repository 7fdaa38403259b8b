// SPDX-License-Identifier: Apache-2.0
// site_structure.tsx - hosts of a site, and below each its sections and paths with the most URLs, as a tree that opens.
import { useState } from "preact/hooks";
import type { Host as HostRow, HostsAnswer, Path, PathsAnswer, SiteDataset } from "../api/answers";
import { datasetPath, sitePath } from "../api/path";
import { useAnswer } from "../api/use_answer";
import { Choice } from "../parts/choice";
import { Command } from "../parts/command";
import { Host } from "../parts/names";
import { ProblemBox } from "../parts/problem";
import { Section, Waiting } from "../parts/section";
import { useLinks } from "../parts/version";
import { changed, replace, type Address } from "../router";
import { number, size } from "../text/format";
import { t } from "../text/language";

type Props = { domain: string; dataset: number };
const SHOWN = 100;

function Leaf({ domain, dataset, path }: Props & { path: Path }) {
  const { to } = useLinks();
  return <li><a class="url" href={to("urls", domain, { dataset, prefix: path.path })}><bdi>{path.path}</bdi></a> <span class="count">{number(path.url_count)}</span></li>;
}

function SectionNode({ domain, dataset, section, paths }: Props & { section: Path; paths: Path[] }) {
  const below = paths.filter((p) => p.host === section.host && (section.path === "/" ? p.path.indexOf("/", 1) < 0 : p.path.startsWith(section.path)));
  if (below.length === 0) return <Leaf domain={domain} dataset={dataset} path={section} />;
  return (
    <li>
      <details>
        <summary><bdi>{section.path}</bdi> <span class="count">{number(section.url_count)}</span></summary>
        <ul>{below.slice(0, SHOWN).map((p) => <Leaf key={p.path} domain={domain} dataset={dataset} path={p} />)}</ul>
      </details>
    </li>
  );
}

// Of one host; asked for when it is opened. The answers are the same for all hosts of the dataset, and the browser keeps them.
function HostBranches({ domain, dataset, host }: Props & { host: string }) {
  const { ask } = useLinks();
  const base = sitePath(domain, datasetPath(dataset, "/paths").slice(3));
  const paths = { section: ask(base, { by: "section", limit: 256 }), path: ask(base, { by: "path", limit: 256 }) };
  const sections = useAnswer<PathsAnswer>(paths.section);
  const leaves = useAnswer<PathsAnswer>(paths.path);
  const bad = [sections, leaves].find((one) => one.answer && one.answer.body === null);
  if (bad) return <ProblemBox answer={bad.answer!} again={bad.again} name={host} />;
  if (!sections.answer?.body || !leaves.answer?.body) return <Waiting />;
  const own = sections.answer.body.paths.filter((s) => s.host === host);
  const rest = sections.answer.body.rest;
  return (
    <>
      {own.length === 0 ? <p class="soft">{t.noneOfMost}</p> : <ul>{own.map((s) => <SectionNode key={s.path} domain={domain} dataset={dataset} section={s} paths={leaves.answer!.body!.paths} />)}</ul>}
      {rest.path_count > 0 && <p class="soft">{t.restSections(number(rest.path_count), number(rest.url_count))}</p>}
      <Command paths={[paths.section, paths.path]} />
    </>
  );
}

function HostNode({ domain, dataset, host, first }: Props & { host: HostRow; first: boolean }) {
  const [open, setOpen] = useState(first);
  return (
    <li>
      <details open={open} onToggle={(e) => setOpen(e.currentTarget.open)}>
        <summary><Host name={host.host} /> <span class="count">{number(host.url_count)}</span></summary>
        {open && <HostBranches key={dataset} domain={domain} dataset={dataset} host={host.host} />}
      </details>
    </li>
  );
}

export function SiteStructure({ domain, datasets, now }: { domain: string; datasets: SiteDataset[]; now: Address }) {
  const { ask } = useLinks();
  const [most, setMost] = useState(20);
  const sorted = datasets.filter((d) => !d.kind).sort((a, b) => size(b) - size(a)); // hosts of counts have no paths
  const dataset = Number(now.params.sd ?? sorted[0]?.dataset_id ?? 0);
  const aside = sorted.length > 1 && <Choice label={t.dataset} value={String(dataset)} options={sorted.map((d) => [String(d.dataset_id), d.name])} onChoose={(value) => replace(changed(now, { sd: value }))} />;
  return (
    <Section<HostsAnswer> title={t.structure} aside={aside} path={ask(sitePath(domain, "/hosts"), { dataset, limit: most })}>
      {(answer) => (
        <>
          <p class="soft">{t.structureHint(number(answer.host_count))}</p>
          <ul class="tree">{answer.hosts.map((host, i) => <HostNode key={`${dataset} ${host.host}`} domain={domain} dataset={dataset} host={host} first={i === 0} />)}</ul>
          {answer.next_offset !== null && most < 10000 && <p><button type="button" onClick={() => setMost(Math.min(10000, most * 5))}>{t.more}</button></p>}
        </>
      )}
    </Section>
  );
}
