// SPDX-License-Identifier: Apache-2.0
// words.ts - the texts of the page, in English and German.
const en = {
  search: "Search", ask: "Domain, host or URL", datasets: "Datasets", status: "Status", dataset: "Dataset", urls: "URLs", rows: "Rows", share: "Share", rank: "Rank",
  first: "First", last: "Last", hosts: "Hosts", host: "Host", domains: "Domains", domain: "Domain", top: "Top domains", tlds: "Top-level domains", more: "More", list: "Browse",
  data: "Get this data", version: "Version", versions: "Versions", loading: "Loading …", absent: "Not in any dataset", withheld: "Withheld", denied: "Access needs a token",
  token: "Token (kept for this browser session)", use: "Use token", busy: "The server is busy. It is asked again in", seconds: "s", gone: "This version is no longer there", current: "Use the current version",
  failed: "The request failed", found: "Datasets that contain it", lead: "Which datasets contain a web site? Type its domain, or paste a URL.", overlap: "Overlap with", common: "Domains in both", published: "Published", time: "Time",
};
const de: typeof en = {
  search: "Suchen", ask: "Domain, Host oder URL", datasets: "Datensätze", status: "Status", dataset: "Datensatz", urls: "URLs", rows: "Zeilen", share: "Anteil", rank: "Rang",
  first: "Erste", last: "Letzte", hosts: "Hosts", host: "Host", domains: "Domains", domain: "Domain", top: "Größte Domains", tlds: "Top-Level-Domains", more: "Mehr", list: "Ansehen",
  data: "Diese Daten abrufen", version: "Version", versions: "Versionen", loading: "Lädt …", absent: "In keinem Datensatz", withheld: "Zurückgehalten", denied: "Zugriff nur mit Token",
  token: "Token (nur für diese Browser-Sitzung)", use: "Token verwenden", busy: "Der Server ist ausgelastet. Neue Anfrage in", seconds: "s", gone: "Diese Version gibt es nicht mehr", current: "Aktuelle Version",
  failed: "Die Anfrage ist gescheitert", found: "Datensätze, die sie enthalten", lead: "Welche Datensätze enthalten eine Website? Domain eingeben oder URL einfügen.", overlap: "Gemeinsam mit", common: "Domains in beiden", published: "Veröffentlicht", time: "Zeit",
};
export const german = navigator.language.startsWith("de");
export const t = german ? de : en;
