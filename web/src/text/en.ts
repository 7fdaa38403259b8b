// SPDX-License-Identifier: Apache-2.0
// en.ts - the texts of the page in English. de.ts has the same ones in German.

const plural = (n: number, one: string, many: string): string => `${n.toLocaleString("en")} ${n === 1 ? one : many}`;

export const en = {
  lead: "Which datasets contain your site?",
  leadMore: "Type a domain, or paste a URL. The index says which datasets contain it, and which of its pages.",
  search: "Search", searchLabel: "Domain, host or URL", completions: "Domains that begin so", skip: "Skip to content", views: "Views", actions: "Actions",
  titles: { site: "Site", urls: "URLs", url: "URL", report: "Report", dataset: "Dataset", datasets: "Datasets", compare: "Compare", lists: "Lists", status: "Status", changes: "Changes" } as Record<string, string>,
  dataset: "Dataset", datasets: "Datasets", domain: "Domain", domains: "Domains", urls: "URLs", urlsDistinct: "Distinct URLs", rows: "Rows", host: "Host", hosts: "Hosts", names: "Names", name: "Name",
  pageCount: (n: string) => `${n} pages`,
  share: "Share", rank: "Rank", position: "Position by size", first: "First", last: "Last", period: "Period", time: "Time", undated: "no dates", version: "Version", versions: "Versions", published: "Published",
  barOfUrls: "URLs, chart", barOfDomains: "Domains, chart", barOfNames: "Names, chart", barOfTime: "Period, chart",
  all: "Show all", more: "More", show: "Show", shown: "Shown", filterRows: "Filter", showAll: (n: number) => `Show all ${n.toLocaleString("en")}`,
  rowsOf: (n: number, all: number) => `${n.toLocaleString("en")} of ${all.toLocaleString("en")}`,
  loading: "Loading …", slow: "The server is slow to answer. Still waiting …",
  getData: "Get this data", copy: "Copy", copied: "Copied", saveCsv: "Save as CSV", cancel: "Cancel",
  // states
  absent: "Not in any dataset", noDataset: "No such dataset in this version", notThere: "Not there", withheld: "Withheld", withheldHint: "A rule of the operator withholds everything that datasets may contain of it.",
  forbidden: "Your access does not include this", denied: "This server needs an access token", tokenInvalid: "The server does not accept this token", tokenHint: "The token is kept for this browser session only, and is sent to this server alone.",
  token: "Access token", useToken: "Use token", forgetToken: "Forget token",
  busy: "The server is busy", retryIn: (s: number) => `Next try in ${s} s.`, retryNow: "Try again",
  gone: "This version is no longer kept", goneHint: "The address names a version that was removed. Newer versions may have other numbers.", useCurrent: "Go to the current version",
  expired: "This listing was begun too long ago", expiredHint: "Pages of a filtered listing can be followed for some minutes.", restart: "Begin again",
  rejected: "The server rejects this request", tooMuch: "This is more than one request may read", failed: "The server failed", unreachable: "No answer from the server", unreachableHint: "The connection failed, or the answer was cut off.",
  notAName: (reason: string) => `This names no registered domain${reason ? ` (${reason})` : ""}.`,
  noView: "There is no such page", toStart: "To the start",
  olderVersion: (when: string) => `You see the version of ${when}, which is not the current one.`,
  // a site
  browse: "Browse URLs", compare: "Compare", report: "Report", reducedTo: "Registered domain:", exactUrl: "You gave a URL. Look up exactly this one:", withheldRows: "Withheld rows",
  foundIn: (n: number) => `Found in ${plural(n, "dataset", "datasets")}`,
  timeline: "Over time", per: "Per", year: "year", month: "month", dayWord: "day", allDatasets: "All datasets", asTable: "As a table",
  timelineLabel: (n: number) => `Bar chart: rows in ${plural(n, "period", "periods")}. The table below has the numbers.`, timelineOf: (names: string) => `Bar chart: rows per year of ${names}`,
  untimed: (n: string) => `${n} rows have no time.`,
  structure: "Hosts, sections and paths", structureHint: (n: string) => `Hosts in this dataset: ${n}. Those with the most URLs come first, with the number of their URLs.`,
  noneOfMost: "No section of this host is among the largest of the domain.", restSections: (n: string, urls: string) => `Smaller sections of the domain: ${n}, with ${urls} URLs.`,
  changes: "Changes", changesSince: (when: string) => `Changes since ${when}`, since: "Since", change: "Change", before: "URLs before", after: "URLs after", difference: "Difference", same: "Nothing changed.", changesOf: (when: string) => `Changes of the version of ${when}`,
  comparedWith: "Compared with", eachBefore: "each version with the one before", feed: "Atom feed", noOlderVersion: "No older version is kept.", newestVersions: "Newest versions", olderVersions: "Older versions",
  compared: (n: number, since: string) => `${plural(n, "version", "versions")} compared, back to that of ${since}.`,
  kindOfChange: { added: "added", removed: "removed", changed: "changed", same: "same" },
  // URLs
  urlsOf: "URLs of", filters: { dataset: "Datasets", prefix: "Path begins with", from: "From", to: "To", status: "Status", mime: "Media type", lang: "Language", tag: "Tag", filter: "Other field" },
  apply: "Filter", reset: "Reset", fields: (n: number) => plural(n, "field", "fields"), page: "Page", pages: "Pages", pagesBelow: "Pages, below the table", goTo: "Go", next: "Next", previous: "Previous", firstPage: "First page", end: "End of the listing",
  rowsFromTo: (a: string, b: string, all: string) => `${a} – ${b} of ${all}`, noRows: "No rows.", noneHere: "No rows on this page; the listing goes on.",
  exportTitle: "Save all rows", exportHint: "All rows of this listing, of this version, with these filters, as the server streams them.",
  // a dataset
  countDatasets: (n: number) => plural(n, "dataset", "datasets"), metadata: "Metadata", top: "Largest domains", allDomains: "All domains", tenPercent: "Top 10 %", tlds: "Top-level domains", noTld: "(addresses)",
  tenPercentHint: (n: string, all: string) => `The top 10 % of domain names by size, as the EU's template for the public summary of training content asks: ${n} of ${all} domains.`,
  sizes: "Sizes of domains", sizesHint: "URLs of each domain by its position, largest first; both axes are logarithmic.", sizesLabel: (most: string, least: string, n: string) => `Line chart: from ${most} URLs of the largest domain to ${least} of the smallest, of ${n} domains.`,
  overlap: "Common domains with other datasets", overlapWith: (n: string, all: string) => `Compared with ${n} of ${all} other datasets, the largest first.`, comparing: (n: string, all: string) => `Comparing: ${n} of ${all} …`,
  compareAll: (n: string) => `Compare with all ${n}`, sharedDomains: "Common domains", partOfThis: "Of this one", partOfThat: "Of the other", jaccardUrls: "Jaccard by URLs", heatMap: "Common domains of each pair (Jaccard)", onlyDataset: "There is no other dataset.",
  // compare
  compareSitesLabel: "Sites (two to five)", compareDatasetsLabel: "Datasets by id (two to five)", compareMore: "Add at least one more.", inAllOfThem: (n: string) => `Datasets that contain all of them: ${n}.`, urlsInDatasets: "URLs in each dataset", only: (name: string) => `Only in ${name}`,
  // lists
  lists: "Look up a list", listsHint: (n: string) => `Up to ${n} domains, hosts or URLs, one per line. The page sends them in parts and keeps nothing.`, namesLabel: "Names", orFile: "or a file", lookUp: "Look up", progress: "Progress",
  namesSoFar: (n: string) => `${n} names so far …`, namesDone: (n: string) => `${n} names.`, stopped: "Stopped.", partial: "What is shown below is only a part.", tooManyNames: (n: string) => `The list has more than ${n} names.`, tooManyPairs: "The matrix is too large for a browser. Use the command below.",
  result: "Result", kinds: { found: "found", absent: "absent", withheld: "withheld", rejected: "not a name" }, allNames: "All names", matrix: "Presence matrix", datasetsOfList: "Datasets with the most of these names",
  saveMatrix: "Save matrix (CSV)", saveList: "Save pairs (CSV)", firstColumns: (n: number, all: number) => `The table has columns for the first ${n} of ${all.toLocaleString("en")} datasets; the file has all.`,
  // status
  status: "Status", server: "Server", state: "State", serves: "Serves", current: "current", superseded: "Superseded", suppressions: "Suppressions in force", states: { sound: "sound", degraded: "degraded", listed: "kept", condemned: "will be removed", dropped: "being removed" } as Record<string, string>,
  // report
  back: "Back to the site", print: "Print", reportOf: "Report:", madeOn: (when: string) => `Made on ${when} from`, versionOf: (version: string, when: string) => `Version ${version}, published ${when}.`, cite: "How to cite",
  onlyLargest: (n: string, all: string) => `Only the ${n} largest of ${all}.`,
  citation: (domain: string, version: string, when: string, url: string, today: string) => `domaindex: datasets that contain ${domain}. Version ${version}, published ${when}. ${url} (retrieved ${today}).`,
};
export type Words = typeof en;
