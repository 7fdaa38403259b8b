// SPDX-License-Identifier: Apache-2.0
// answers.ts - members of answers that the page reads. docs/API.md has all of them.

export type Counts = { url_count: number; row_count: number };
// Of a dataset of counts, which has pages of hosts and no URLs, both are null.
export type OwnCounts = { url_count: number | null; row_count: number | null; kind?: "counts"; page_count?: number };
export type Times = { first_ts: string | null; last_ts: string | null };

export type SiteDataset = OwnCounts & Times & { dataset_id: number; name: string; share: number; rank: number; withheld_rows?: number };
export type SiteAnswer = Counts & Times & {
  domain: string; domain_id: string; dataset_count: number; distinct_url_count: number; distinct_error: number; withheld_rows?: number; datasets: SiteDataset[]; version: string;
};

export type Host = OwnCounts & { host: string; dataset_count: number };
export type HostsAnswer = { host_count: number; hosts: Host[]; next_offset: number | null };

export type Path = Counts & { host: string; path: string };
export type PathsAnswer = Counts & { path_count: number; paths: Path[]; rest: Counts & { path_count: number } };

export type Period = { period: string; row_count: number };
export type TimelineAnswer = { by: string; row_count: number; untimed_row_count: number; periods: Period[] };

export type Row = { url: string; ts: string | null; dataset_id: number; extras: Record<string, string> };
export type RowsAnswer = {
  domain: string; dataset_count: number; total?: number; datasets: { dataset_id: number; dataset: string }[]; offset?: number; items: Row[]; next_offset?: number | null; next_cursor: string | null; version: string;
};

export type Change = "added" | "removed" | "changed" | "same";
export type DatasetChange = { dataset_id: number; name: string; change: Change; before: OwnCounts | null; after: OwnCounts | null };
export type DiffAnswer = { domain: string; change: Change; datasets: DatasetChange[]; from: string; to: string };
export type SiteChange = { version: string; published: string; since: string; change: Change; datasets: DatasetChange[] };
export type SiteChangesAnswer = { domain: string; changes: SiteChange[]; compared: number; since: string; next_to: string | null };
export type ChangesAnswer = { since: string; changes: { domain: string; change: Change; datasets: DatasetChange[] }[]; next_cursor: string | null };

export type Dataset = OwnCounts & Times & { dataset_id: number; name: string; domain_count: number; metadata: Record<string, string> };
export type DatasetsAnswer = { datasets: Dataset[]; total: number; next_offset: number | null };

export type Ranked = { rank: number; domain: string; url_count: number | null; share: number; page_count?: number };
export type TopAnswer = { domain_count: number; url_count: number | null; selected: number; domains: Ranked[]; next_offset: number | null };

export type Tld = OwnCounts & { tld: string | null; domain_count: number };
export type TldsAnswer = { tlds: Tld[]; next_cursor: string | null };

type Side = { dataset_id: number; name: string; domain_count: number; url_count: number | null; page_count?: number };
export type OverlapAnswer = {
  a: Side; b: Side;
  domains: { shared: number; only_a: number; only_b: number; jaccard: number };
  urls: { shared_a: number; shared_b: number; jaccard: number } | null;
};

export type Version = {
  version: string; sequence: number; published: string; current: boolean; state: string; resident: boolean; base: string | null; superseded: string | null;
  domain_count?: number; dataset_count?: number; pair_count?: number; url_count?: number; row_count?: number;
};
export type VersionsAnswer = { current_version: string; versions: Version[]; suppression_count?: number; version: string };

export type NormalizeAnswer = { domain: string | null; url: string | null; path_query: string | null; rejected: string | null };
export type CompleteAnswer = { domains: string[]; more: boolean };
export type UrlAnswer = Times & {
  url: string; domain: string; dataset_count: number; row_count: number;
  datasets: (Times & { dataset_id: number; name: string; row_count: number; rows: { ts: string | null; raw_url: string | null; extras: Record<string, string> }[] })[];
};

export type Presence = { line: number; asked: string; domain: string | null; found: boolean; reason?: string; datasets?: (OwnCounts & { dataset_id: number })[] };
export type PresenceSummary = { summary: { names: number; found: number; absent: number; withheld: number; rejected: number } };
