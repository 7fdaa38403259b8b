// SPDX-License-Identifier: Apache-2.0
// compare.tsx - two to five sites or datasets beside each other.
import { changed, go, type Address } from "../router";
import { t } from "../text/language";
import { CompareDatasets } from "./compare_datasets";
import { CompareSites } from "./compare_sites";

const MOST = 5;
const listOf = (text: string | undefined): string[] => [...new Set((text ?? "").split(/[\s,]+/).filter(Boolean))].slice(0, MOST);

function Picker({ now, kind, names }: { now: Address; kind: "sites" | "datasets"; names: string[] }) {
  const use = (event: SubmitEvent) => {
    event.preventDefault();
    const text = String(new FormData(event.currentTarget as HTMLFormElement).get("names"));
    go(changed(now, { sites: null, datasets: null, [kind]: listOf(text).join(",") }));
  };
  return <form class="filters" onSubmit={use}><label class="broad">{kind === "sites" ? t.compareSitesLabel : t.compareDatasetsLabel}<input name="names" key={names.join()} defaultValue={names.join(", ")} placeholder={kind === "sites" ? "example.com, example.org" : "1, 2, 3"} spellcheck={false} autocapitalize="none" /></label><span class="buttons"><button>{t.compare}</button></span></form>;
}

export function Compare({ now }: { now: Address }) {
  const sites = listOf(now.params.sites);
  const datasets = listOf(now.params.datasets).filter((id) => /^\d{1,10}$/.test(id));
  return (
    <>
      <h1>{t.compare}</h1>
      <Picker now={now} kind="sites" names={sites} />
      <Picker now={now} kind="datasets" names={datasets} />
      {sites.length > 1 && <CompareSites sites={sites} />}
      {datasets.length > 1 && <CompareDatasets ids={datasets.map(Number)} />}
      {(sites.length === 1 || datasets.length === 1) && <p class="note">{t.compareMore}</p>}
    </>
  );
}
