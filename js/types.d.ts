// Made from docs/openapi.json by make_types.mjs.

export type DatasetOfDomain = {
  dataset_id: DatasetId;
  name?: string;
  /** With view=icann: domains of the whole list that are part of this one. */
  domain_count?: number;
  /** Distinct canonical URLs, exact. */
  url_count?: number | null;
  /** Equal to url_count. */
  url_count_est?: number | null;
  row_count?: number | null;
  first_ts?: string | null;
  last_ts?: string | null;
  /** url_count divided by that of the dataset: at most nine decimals, rounded half up. */
  share?: number;
  /** 1 + domains of the dataset that have more URLs. With view=icann: null. */
  rank?: number | null;
  /** Withheld rows; the other counts do not include them. Missing if there are none. */
  withheld_rows?: number;
  /** Of a dataset of counts, which has hosts and their pages, but no URLs. Missing: it is of URLs. */
  kind?: "counts";
  /** Of datasets of counts alone: pages. Missing: there are none. */
  page_count?: number;
};

export type DatasetId = number;

export type DomainAnswer = {
  /** The registered domain of the given name. */
  domain: string;
  /** The same with its A-labels as the characters that they stand for. Missing where there are none. */
  domain_unicode?: string;
  domain_id: string;
  /** With view=icann: "icann". */
  view?: string;
  /** With view=icann: domains of the whole list that are part of this one. */
  domain_count?: number;
  dataset_count: number;
  url_count: number;
  row_count: number;
  /** Distinct URLs over all datasets: one in two datasets counts once. With view=icann: null. */
  distinct_url_count?: number | null;
  /** With view=icann: null. 0: distinct_url_count is exact. Otherwise its relative standard error, 0.01625. */
  distinct_error?: number | null;
  first_ts: string | null;
  last_ts: string | null;
  /** With `limit` or `offset`: that of the first item. */
  offset?: number;
  /** With `limit` or `offset`: where the next page begins; null: there is none. */
  next_offset?: number | null;
  datasets: Array<DatasetOfDomain>;
  version: string;
  /** Always true: nothing was left out. */
  complete: boolean;
  /** Withheld rows; the other counts do not include them. Missing if there are none. */
  withheld_rows?: number;
  /** Datasets of counts that have the domain, and that URLs and sums are without. Missing: there are none. */
  counts_only_datasets?: number;
  /** Of datasets of counts alone: pages. Missing: there are none. */
  page_count?: number;
};

/** A page has domains and next_cursor, a plan has cursors. */
export type DomainsAnswer = {
  dataset_id?: DatasetId;
  /** Name of the dataset. */
  dataset?: string;
  /** Missing with plan=N. */
  domains?: Array<{
    domain: string;
    /** The same with its A-labels as the characters that they stand for. Missing where there are none. */
    domain_unicode?: string;
    domain_id?: string;
    dataset_count?: number;
    /** Sum over the datasets of its distinct URLs. */
    url_count?: number | null;
    row_count?: number | null;
    /** Of datasets of counts alone: pages. Missing: there are none. */
    page_count?: number;
  }>;
  next_cursor?: string | null;
  /** With plan=N: that many cursors of disjoint parts, together the whole listing. */
  cursors?: Array<string>;
  version: string;
  /** Always true: nothing was left out. */
  complete: boolean;
  /** Of a dataset of counts, which has hosts and their pages, but no URLs. Missing: it is of URLs. */
  kind?: "counts";
};

/** Members are those named by `fields`. */
export type Item = {
  url_id?: string;
  url?: string;
  ts?: string | null;
  /** The URL as ingested; null if it was canonical. */
  raw_url?: string | null;
  extras?: { [name: string]: string };
  /** The extra of that name, or null. Likewise content_type and tags. */
  title?: string | null;
  content_type?: string | null;
  /** null also if the text is not a JSON array of strings. */
  tags?: Array<string> | null;
  /** Where the row came from: a file and the place in it. */
  locator?: string | null;
};

export type ForeignRowsAnswer = {
  domain: string;
  /** The same with its A-labels as the characters that they stand for. Missing where there are none. */
  domain_unicode?: string;
  dataset_id: DatasetId;
  /** Name of the dataset. */
  dataset: string;
  /** Rows of the listing, exact. Missing if it is filtered. */
  total?: number;
  withheld_rows?: number;
  offset?: number;
  items: Array<{
    url: string;
    ts: string | null;
    locator: string | null;
    /** The row of the file that the locator leads to, with the columns that were asked for; null if the locator is not of a file that was indexed in place. */
    row: { [name: string]: unknown } | null;
  }>;
  /** For ?offset=; null at the end. */
  next_offset?: number | null;
  /** For ?cursor=; null at the end and only there: a filtered page may have fewer rows than limit, or none. Missing if the server issues no cursors. */
  next_cursor?: string | null;
  /** Rows of foreign files, column chunks of these that they lie in, and bytes of the chunks as stored. */
  cost: {
    rows: number;
    chunks: number;
    bytes: number;
  };
  version: string;
  /** Always true: nothing was left out. */
  complete: boolean;
};

/** A page has items and next_cursor; if the listing is not filtered (tag, mime, prefix, from, to, status, lang, filter) also total, total_est, offset and next_offset. With plan=N it has cursors instead of items. */
export type UrlsAnswer = {
  domain: string;
  /** The same with its A-labels as the characters that they stand for. Missing where there are none. */
  domain_unicode?: string;
  domain_id: string;
  dataset_id: DatasetId;
  /** Name of the dataset. */
  dataset: string;
  /** Rows, exact. Missing if the listing is filtered. */
  total?: number;
  /** Equal to total. */
  total_est?: number;
  offset?: number;
  /** Missing with plan=N. */
  items?: Array<Item>;
  /** For ?offset=; null at the end. */
  next_offset?: number | null;
  /** For ?cursor=; null at the end and only there: a filtered page may have fewer rows than limit, or none. Missing if the server issues no cursors. */
  next_cursor?: string | null;
  /** With plan=N: that many cursors of disjoint parts, together the whole listing. */
  cursors?: Array<string>;
  version: string;
  /** Always true: nothing was left out. */
  complete: boolean;
  /** Withheld rows; the other counts do not include them. Missing if there are none. */
  withheld_rows?: number;
  /** Of a filtered page: rows examined, pages of the lake that they lie on, and bytes of these as stored. Missing while a suppression is in force. */
  cost?: {
    rows: number;
    pages: number;
    bytes: number;
  };
};

/** Members are those named by `fields`, and dataset_id. */
export type AllUrlsItem = {
  url_id?: string;
  url?: string;
  ts?: string | null;
  /** The URL as ingested; null if it was canonical. */
  raw_url?: string | null;
  extras?: { [name: string]: string };
  /** The extra of that name, or null. Likewise content_type and tags. */
  title?: string | null;
  content_type?: string | null;
  /** null also if the text is not a JSON array of strings. */
  tags?: Array<string> | null;
  /** Where the row came from: a file and the place in it. */
  locator?: string | null;
  dataset_id: DatasetId;
};

/** A page has datasets, items and next_cursor; if the listing is not filtered also total, total_est, offset and next_offset; in another order cost, and no offset and next_offset. With plan=N it has cursors instead of items. */
export type AllUrlsAnswer = {
  domain: string;
  /** The same with its A-labels as the characters that they stand for. Missing where there are none. */
  domain_unicode?: string;
  domain_id: string;
  /** Datasets that the listing is of. */
  dataset_count: number;
  /** Rows, exact. Missing if the listing is filtered, collapsed or with subdomains. */
  total?: number;
  /** Equal to total. */
  total_est?: number;
  offset?: number;
  /** Names of the datasets that the items of this page are of. Missing with plan=N. */
  datasets?: Array<{
    dataset_id: DatasetId;
    /** Name of the dataset. */
    dataset: string;
  }>;
  /** Missing with plan=N. */
  items?: Array<AllUrlsItem>;
  /** For ?offset=; null at the end. */
  next_offset?: number | null;
  /** For ?cursor=; null at the end and only there: a page may have fewer rows than limit. Missing if the server issues no cursors. */
  next_cursor?: string | null;
  /** With plan=N: that many cursors of disjoint parts, together the whole listing. */
  cursors?: Array<string>;
  version: string;
  /** Always true: nothing was left out. */
  complete: boolean;
  /** Withheld rows; the other counts do not include them. Missing if there are none. */
  withheld_rows?: number;
  /** Of a page that is filtered, or in another order: rows examined, pages of the lake that they lie on, and bytes of these as stored. Missing while a suppression is in force. */
  cost?: {
    rows: number;
    pages: number;
    bytes: number;
  };
  /** Datasets of counts that have the domain, and that URLs and sums are without. Missing: there are none. */
  counts_only_datasets?: number;
};

/** A page has datasets, items and next_cursor; if the listing is not filtered also total, total_est, offset and next_offset; in another order cost, and no offset and next_offset. With plan=N it has cursors instead of items. */
export type HostUrlsAnswer = {
  /** As rows have it: in canonical form, with a port that is not the usual one. */
  host: string;
  subdomains: boolean;
  domain: string;
  /** The same with its A-labels as the characters that they stand for. Missing where there are none. */
  domain_unicode?: string;
  domain_id: string;
  /** Datasets that the listing is of. */
  dataset_count: number;
  /** Rows, exact. Missing if the listing is filtered, collapsed or with subdomains. */
  total?: number;
  /** Equal to total. */
  total_est?: number;
  offset?: number;
  /** Names of the datasets that the items of this page are of. Missing with plan=N. */
  datasets?: Array<{
    dataset_id: DatasetId;
    /** Name of the dataset. */
    dataset: string;
  }>;
  /** Missing with plan=N. */
  items?: Array<AllUrlsItem>;
  /** For ?offset=; null at the end. */
  next_offset?: number | null;
  /** For ?cursor=; null at the end and only there: a page may have fewer rows than limit. Missing if the server issues no cursors. */
  next_cursor?: string | null;
  /** With plan=N: that many cursors of disjoint parts, together the whole listing. */
  cursors?: Array<string>;
  version: string;
  /** Always true: nothing was left out. */
  complete: boolean;
  /** Withheld rows; the other counts do not include them. Missing if there are none. */
  withheld_rows?: number;
  /** Of a page that is filtered, or in another order: rows examined, pages of the lake that they lie on, and bytes of these as stored. Missing while a suppression is in force. */
  cost?: {
    rows: number;
    pages: number;
    bytes: number;
  };
  /** Datasets of counts that have the domain, and that URLs and sums are without. Missing: there are none. */
  counts_only_datasets?: number;
};

export type HostsAnswer = {
  domain: string;
  /** The same with its A-labels as the characters that they stand for. Missing where there are none. */
  domain_unicode?: string;
  domain_id: string;
  /** Distinct hosts, all of them. */
  host_count: number;
  hosts: Array<{
    host: string;
    dataset_count: number;
    /** Sum over the datasets of its distinct URLs. */
    url_count: number | null;
    row_count: number | null;
    /** Of datasets of counts alone: pages. Missing: there are none. */
    page_count?: number;
  }>;
  offset: number;
  next_offset: number | null;
  version: string;
  /** Always true: nothing was left out. */
  complete: boolean;
};

export type PathsAnswer = {
  domain: string;
  /** The same with its A-labels as the characters that they stand for. Missing where there are none. */
  domain_unicode?: string;
  domain_id: string;
  dataset_id: DatasetId;
  /** Name of the dataset. */
  dataset: string;
  by: "path" | "section";
  /** Distinct URLs of the domain in the dataset. */
  url_count: number;
  row_count: number;
  /** Distinct (host, path), or (host, section). */
  path_count: number;
  paths: Array<{
    host: string;
    /** Without the query. */
    path: string;
    /** Distinct URLs with this path. */
    url_count: number;
    row_count: number;
  }>;
  rest: {
    /** Sums over the paths that are not listed. */
    path_count: number;
    url_count: number;
    row_count: number;
  };
  /** All counts are exact. */
  max_error: number;
  version: string;
  /** Always true: nothing was left out. */
  complete: boolean;
};

export type TimelineAnswer = {
  domain: string;
  /** The same with its A-labels as the characters that they stand for. Missing where there are none. */
  domain_unicode?: string;
  domain_id: string;
  by: "year" | "month" | "day";
  dataset_count: number;
  /** Rows in these datasets, with a time or without. */
  row_count: number;
  /** Rows without a time. */
  untimed_row_count: number;
  /** Withheld rows; the other counts do not include them. Missing if there are none. */
  withheld_rows?: number;
  first_ts: string | null;
  last_ts: string | null;
  /** Only those with rows, ascending. */
  periods: Array<{
    period: string;
    row_count: number;
  }>;
  /** Missing while a suppression is in force. */
  cost?: {
    rows: number;
    pages: number;
    bytes: number;
  };
  version: string;
  /** Always true: nothing was left out. */
  complete: boolean;
  /** Datasets of counts that have the domain, and that URLs and sums are without. Missing: there are none. */
  counts_only_datasets?: number;
};

export type DatasetChange = {
  dataset_id: DatasetId;
  name: string;
  change: "added" | "removed" | "changed";
  /** Null: not in that version. */
  before: {
    url_count: number | null;
    row_count: number | null;
    /** Of datasets of counts alone: pages. Missing: there are none. */
    page_count?: number;
  } | null;
  /** Null: not in that version. */
  after: {
    url_count: number | null;
    row_count: number | null;
    /** Of datasets of counts alone: pages. Missing: there are none. */
    page_count?: number;
  } | null;
  /** Of a dataset of counts, which has hosts and their pages, but no URLs. Missing: it is of URLs. */
  kind?: "counts";
};

export type Change = {
  domain: string;
  /** The same with its A-labels as the characters that they stand for. Missing where there are none. */
  domain_unicode?: string;
  domain_id: string;
  change: "added" | "removed" | "changed";
  datasets: Array<DatasetChange>;
};

/** Datasets of a domain that differ between two versions. */
export type DiffAnswer = {
  domain: string;
  /** The same with its A-labels as the characters that they stand for. Missing where there are none. */
  domain_unicode?: string;
  domain_id: string;
  change: "added" | "removed" | "changed" | "same";
  datasets: Array<DatasetChange>;
  from: string;
  to: string;
  version: string;
  /** Always true: nothing was left out. */
  complete: boolean;
};

/** Domains that differ, in order of their keys. A page may be short, even empty, and still not be the last. */
export type ChangesAnswer = {
  since: string;
  changes: Array<Change>;
  next_cursor: string | null;
  version: string;
  /** Always true: nothing was left out. */
  complete: boolean;
};

/** What versions changed for a domain, the newest first. Versions that changed nothing are left out. */
export type DomainChangesAnswer = {
  domain: string;
  /** The same with its A-labels as the characters that they stand for. Missing where there are none. */
  domain_unicode?: string;
  changes: Array<DomainChange>;
  /** Versions that were compared with the one before them. */
  compared: number;
  /** The oldest version that was looked at; null: no version before `to` is kept. */
  since: string | null;
  /** `to` of the next request, for what came before; null: no older version is kept. */
  next_to: string | null;
  version: string;
  /** Always true: nothing was left out. */
  complete: boolean;
};

export type DomainChange = {
  version: string;
  published: string;
  /** The version that it is compared with: the one before it. */
  since: string;
  change: "added" | "removed" | "changed";
  datasets: Array<DatasetChange>;
};

export type Dataset = {
  dataset_id: DatasetId;
  name: string;
  domain_count: number;
  url_count: number | null;
  row_count: number | null;
  first_ts: string | null;
  last_ts: string | null;
  metadata: { [name: string]: string };
  /** Of a dataset of counts, which has hosts and their pages, but no URLs. Missing: it is of URLs. */
  kind?: "counts";
  /** Of datasets of counts alone: pages. Missing: there are none. */
  page_count?: number;
};

export type DatasetAnswer = {
  dataset_id: DatasetId;
  name: string;
  domain_count: number;
  url_count: number | null;
  row_count: number | null;
  first_ts: string | null;
  last_ts: string | null;
  metadata: { [name: string]: string };
  version: string;
  /** Always true: nothing was left out. */
  complete: boolean;
  /** Of a dataset of counts, which has hosts and their pages, but no URLs. Missing: it is of URLs. */
  kind?: "counts";
  /** Of datasets of counts alone: pages. Missing: there are none. */
  page_count?: number;
};

export type DatasetsAnswer = {
  datasets: Array<Dataset>;
  total: number;
  offset: number;
  next_offset: number | null;
  version: string;
  /** Always true: nothing was left out. */
  complete: boolean;
};

export type TopDomain = {
  /** 1 + domains with more URLs. */
  rank: number;
  domain: string;
  url_count: number | null;
  /** url_count divided by that of the answer: at most nine decimals, rounded half up. */
  share: number;
  /** Of datasets of counts alone: pages. Missing: there are none. */
  page_count?: number;
};

export type TopDomainsAnswer = {
  dataset_id: number;
  name: string;
  /** Visible domains. */
  domain_count: number;
  /** Their URLs. */
  url_count: number | null;
  /** As given. */
  share: string | null;
  /** How many domains the share selects; without a share, all. */
  selected: number;
  domains: Array<TopDomain>;
  offset: number;
  /** Of the next page; null at the end. */
  next_offset: number | null;
  version: string;
  /** Always true: nothing was left out. */
  complete: boolean;
  /** Of a dataset of counts, which has hosts and their pages, but no URLs. Missing: it is of URLs. */
  kind?: "counts";
  /** Of datasets of counts alone: pages. Missing: there are none. */
  page_count?: number;
};

export type OverlapSide = {
  dataset_id: DatasetId;
  name: string;
  domain_count: number;
  url_count: number | null;
  /** Of a dataset of counts, which has hosts and their pages, but no URLs. Missing: it is of URLs. */
  kind?: "counts";
  /** Of datasets of counts alone: pages. Missing: there are none. */
  page_count?: number;
};

export type OverlapAnswer = {
  a: OverlapSide;
  b: OverlapSide;
  domains: {
    shared: number;
    only_a: number;
    only_b: number;
    /** At most nine decimals, rounded half up; 0 for two empty datasets. */
    jaccard: number;
  };
  urls: {
    /** URLs in a of domains that both have. */
    shared_a: number;
    shared_b: number;
    /** URLs in a of domains that b does not have. */
    only_a: number;
    only_b: number;
    /** Sum over all domains of the smaller of the two URL counts. */
    min: number;
    max: number;
    /** min / max. */
    jaccard: number;
  } | null;
  version: string;
  /** Always true: nothing was left out. */
  complete: boolean;
};

export type UrlAnswer = {
  asked: string;
  url: string;
  /** Only if rows lead from the given URL to another one: its canonical form. */
  requested_url?: string;
  /** With requested_url: the URL as given. */
  original_url?: string;
  /** With requested_url: the steps from it to url. */
  chain?: Array<string>;
  /** With requested_url: why the chain ends there. */
  chain_end?: "canonical" | "loop" | "limit";
  url_id: string;
  domain: string;
  /** The same with its A-labels as the characters that they stand for. Missing where there are none. */
  domain_unicode?: string;
  domain_id: string;
  dataset_count: number;
  row_count: number;
  first_ts: string | null;
  last_ts: string | null;
  datasets: Array<{
    dataset_id: DatasetId;
    name: string;
    row_count: number;
    first_ts: string | null;
    last_ts: string | null;
    rows: Array<{
      ts: string | null;
      /** The URL as ingested; null if it was canonical. */
      raw_url: string | null;
      extras: { [name: string]: string };
    }>;
  }>;
  version: string;
  /** Always true: nothing was left out. */
  complete: boolean;
};

export type UrlIdAnswer = {
  url_id: string;
  url_count: number;
  urls: Array<{
    url: string;
    domain: string;
    dataset_count: number;
    row_count: number;
    datasets: Array<{
      dataset_id: DatasetId;
      name: string;
      row_count: number;
    }>;
  }>;
  version: string;
  /** Always true: nothing was left out. */
  complete: boolean;
};

export type KeysAnswer = {
  asked: string;
  url: string;
  url_id: string;
  domain: string;
  /** The same with its A-labels as the characters that they stand for. Missing where there are none. */
  domain_unicode?: string;
  domain_id: string;
  store_key: string | null;
  store_key_decimal?: string;
  store_key_reason?: string;
  store_key_clean: string | null;
  store_key_clean_decimal?: string;
  store_key_clean_reason?: string;
  domain64: string | null;
  domain64_bigint?: string;
  domain64_reason?: "no_registry" | "not_numbered" | "field_full" | "withheld" | "restricted" | "registry_unreadable";
  domain64_layout?: "8-24-8-24" | "8-24-24-8";
  version: string;
  /** Always true: nothing was left out. */
  complete: boolean;
};

export type RangeItem = {
  url_id?: string;
  url?: string;
  ts?: string | null;
  /** The URL as ingested; null if it was canonical. */
  raw_url?: string | null;
  extras?: { [name: string]: string };
  /** The extra of that name, or null. Likewise content_type and tags. */
  title?: string | null;
  content_type?: string | null;
  /** null also if the text is not a JSON array of strings. */
  tags?: Array<string> | null;
  /** Where the row came from: a file and the place in it. */
  locator?: string | null;
  domain64: string;
  domain: string;
  dataset_id: DatasetId;
};

/** A page has items and next_cursor. With plan=N it has cursors instead. */
export type RangeAnswer = {
  dataset_id?: DatasetId;
  dataset?: string;
  from: string;
  to: string;
  layout: "8-24-8-24" | "8-24-24-8";
  /** Rows of the range, exact; with a filter those that it takes. With sort, closest or offset. */
  total?: number;
  /** That of the question, if it was given. */
  offset?: number;
  items?: Array<RangeItem>;
  /** With plan=N: that many cursors of disjoint parts, together the whole listing. */
  cursors?: Array<string>;
  /** Rows examined, pages of the lake that they lie on, and bytes of these as stored. Missing while a suppression is in force, and of a plan. */
  cost?: {
    rows: number;
    pages: number;
    bytes: number;
  };
  next_cursor?: string | null;
  version: string;
  /** Always true: nothing was left out. */
  complete: boolean;
};

export type NormalizeAnswer = {
  q: string;
  domain: string | null;
  /** The same with its A-labels as the characters that they stand for. Missing where there are none. */
  domain_unicode?: string;
  domain_hash: string | null;
  /** The domain by ICANN's section of the Public Suffix List alone. */
  icann_domain: string | null;
  url?: string;
  url_id?: string;
  scheme?: string;
  host?: string;
  path_query?: string;
  rejected: null | "empty" | "too_long" | "scheme" | "host_missing" | "host_invalid" | "port_invalid" | "utf8_invalid" | "public_suffix";
  canon_version: number;
  version: string;
};

export type Tag = {
  tag: string;
  row_count: number;
  domain_count: number;
  datasets: Array<{
    dataset_id: DatasetId;
    name: string;
    row_count: number;
    domain_count: number;
  }>;
};

export type TagsAnswer = {
  dataset_id?: DatasetId;
  dataset?: string;
  tags: Array<Tag>;
  next_cursor: string | null;
  version: string;
  /** Always true: nothing was left out. */
  complete: boolean;
};

export type Tld = {
  /** The last label; null: addresses, and names whose last label does not begin with a letter. */
  tld: string | null;
  /** The same with its A-labels as the characters that they stand for. Missing where there are none. */
  tld_unicode?: string;
  domain_count: number;
  /** A URL counts once in each dataset. */
  url_count: number | null;
  row_count: number | null;
  /** Of datasets of counts alone: pages. Missing: there are none. */
  page_count?: number;
};

export type SuffixTotals = {
  domain_count: number;
  /** A URL counts once in each dataset. */
  url_count: number | null;
  row_count: number | null;
  first_ts: string | null;
  last_ts: string | null;
  /** Of datasets of counts alone: pages. Missing: there are none. */
  page_count?: number;
} | null;

export type SuffixDataset = {
  dataset_id: DatasetId;
  name: string;
  domain_count: number;
  /** A URL counts once in each dataset. */
  url_count: number | null;
  row_count: number | null;
  first_ts: string | null;
  last_ts: string | null;
  /** Of a dataset of counts, which has hosts and their pages, but no URLs. Missing: it is of URLs. */
  kind?: "counts";
  /** Of datasets of counts alone: pages. Missing: there are none. */
  page_count?: number;
};

/** A page has items and next_cursor. With plan=N it has cursors instead. */
export type SuffixUrlsAnswer = {
  /** The name in lower case and A-labels. */
  suffix: string;
  /** The same with the characters that its A-labels stand for; missing where it has none. */
  suffix_unicode?: string;
  /** The registered domain that the name is of; null: it is a public suffix. */
  domain: string | null;
  dataset_id?: DatasetId;
  dataset?: string;
  /** Rows of all domains of the suffix, with offset; with sort or closest those that the filter takes. */
  total?: number;
  /** That of the question, if it was given. */
  offset?: number;
  items?: Array<SuffixUrlsItem>;
  /** With plan=N: that many cursors of disjoint parts, together the whole listing. */
  cursors?: Array<string>;
  /** Of a page that is filtered, or in another order: rows examined, pages of the lake that they lie on, and bytes of these as stored. Missing while a suppression is in force. */
  cost?: {
    rows: number;
    pages: number;
    bytes: number;
  };
  next_cursor?: string | null;
  version: string;
  /** Always true: nothing was left out. */
  complete: boolean;
};

export type SuffixUrlsItem = {
  url_id?: string;
  url?: string;
  ts?: string | null;
  /** The URL as ingested; null if it was canonical. */
  raw_url?: string | null;
  extras?: { [name: string]: string };
  /** The extra of that name, or null. Likewise content_type and tags. */
  title?: string | null;
  content_type?: string | null;
  /** null also if the text is not a JSON array of strings. */
  tags?: Array<string> | null;
  /** Where the row came from: a file and the place in it. */
  locator?: string | null;
  domain: string;
  dataset_id: DatasetId;
};

export type SuffixAnswer = {
  /** The name in lower case and A-labels. */
  suffix: string;
  /** The same with the characters that its A-labels stand for; missing where it has none. */
  suffix_unicode?: string;
  /** The registered domain that the name is of; null: it is a public suffix. */
  domain: string | null;
  dataset_id?: DatasetId;
  dataset?: string;
  /** Of all domains; null: they are not added up yet. */
  totals: SuffixTotals;
  datasets: Array<SuffixDataset>;
  next_cursor: string | null;
  version: string;
  /** Always true: nothing was left out. */
  complete: boolean;
  /** Of a dataset of counts, which has hosts and their pages, but no URLs. Missing: it is of URLs. */
  kind?: "counts";
};

/** The array alone is taken too, and objects with domain, host or url in place of its texts. */
export type NamesList = {
  domains: Array<string>;
};

export type CompleteAnswer = {
  q: string;
  /** The text that was completed: the host of a URL, in lower case and A-labels, without www.; null: nothing to complete. */
  completed: string | null;
  domains: Array<string>;
  /** Of those of `domains` that have A-labels, the name in Unicode; missing if none has. */
  domains_unicode?: { [name: string]: string };
  /** Whether there are more than `limit`. */
  more: boolean;
  version: string;
  /** Always true: nothing was left out. */
  complete: boolean;
};

export type TldsAnswer = {
  dataset_id?: DatasetId;
  dataset?: string;
  tlds: Array<Tld>;
  next_cursor: string | null;
  version: string;
  /** Always true: nothing was left out. */
  complete: boolean;
  /** Of a dataset of counts, which has hosts and their pages, but no URLs. Missing: it is of URLs. */
  kind?: "counts";
};

export type TagDomain = {
  domain: string;
  domain_id: string;
  row_count: number;
  datasets: Array<{
    dataset_id: DatasetId;
    name: string;
    row_count: number;
  }>;
};

export type TagRow = {
  domain: string;
  dataset_id: DatasetId;
  dataset: string;
  url_id?: string;
  url?: string;
  ts?: string | null;
  /** The URL as ingested; null if it was canonical. */
  raw_url?: string | null;
  extras?: { [name: string]: string };
  /** The extra of that name, or null. Likewise content_type and tags. */
  title?: string | null;
  content_type?: string | null;
  /** null also if the text is not a JSON array of strings. */
  tags?: Array<string> | null;
  /** Where the row came from: a file and the place in it. */
  locator?: string | null;
};

export type TagDomainsAnswer = {
  tag: string;
  dataset_id?: DatasetId;
  dataset?: string;
  domain_count: number;
  row_count: number;
  of: string;
  items: Array<TagDomain>;
  next_cursor: string | null;
  version: string;
  /** Always true: nothing was left out. */
  complete: boolean;
};

export type TagRowsAnswer = {
  tag: string;
  dataset_id?: DatasetId;
  dataset?: string;
  domain_count: number;
  row_count: number;
  of: string;
  items: Array<TagRow>;
  next_cursor: string | null;
  version: string;
  /** Always true: nothing was left out. */
  complete: boolean;
};

export type TagAnswer = TagDomainsAnswer | TagRowsAnswer;

/** The five sums are over all datasets; they are missing if the caller may not see all. */
export type Version = {
  version: string;
  sequence: number;
  published: string;
  current: boolean;
  /** condemned: to be removed; dropped: being removed. */
  state: "listed" | "condemned" | "dropped";
  /** Open on this server. */
  resident: boolean;
  /** The version that it was merged with; null: built from the whole lake. */
  base: string | null;
  /** When it stopped being the current one. */
  superseded: string | null;
  domain_count?: number;
  dataset_count?: number;
  pair_count?: number;
  url_count?: number;
  row_count?: number;
  /** Of datasets of counts alone: pages. Missing: there are none. */
  page_count?: number;
};

export type VersionsAnswer = {
  current_version: string;
  sequence: number;
  versions: Array<Version>;
  /** Suppressions in force; missing if the caller may not see all datasets. */
  suppression_count?: number;
  version: string;
  /** Always true: nothing was left out. */
  complete: boolean;
};

/** RFC 9457. */
export type Problem = {
  type: string;
  title: string;
  status: number;
  detail?: string;
  /** With 410: path and query of the same request from its beginning, for the current version. */
  restart?: string;
  /** Of failures: the number of the request, under which the server's log has details. */
  instance?: string;
};

export type NameFound = {
  /** Line of the name in the body. */
  line: number;
  asked: string;
  domain: string;
  /** The same with its A-labels as the characters that they stand for. Missing where there are none. */
  domain_unicode?: string;
  /** Always true: nothing was left out. */
  found: boolean;
  dataset_count: number;
  url_count: number;
  row_count: number;
  withheld_rows?: number;
  datasets: Array<{
    dataset_id: number;
    url_count: number | null;
    row_count: number | null;
    withheld_rows?: number;
    /** Of a dataset of counts, which has hosts and their pages, but no URLs. Missing: it is of URLs. */
    kind?: "counts";
    /** Of datasets of counts alone: pages. Missing: there are none. */
    page_count?: number;
  }>;
  /** Datasets of counts that have the domain, and that URLs and sums are without. Missing: there are none. */
  counts_only_datasets?: number;
};

export type NameNotFound = {
  /** Line of the name in the body. */
  line: number;
  asked: string;
  domain: string | null;
  /** The same with its A-labels as the characters that they stand for. Missing where there are none. */
  domain_unicode?: string;
  found: boolean;
  /** absent, withheld, malformed, or a reason of CANON.md. */
  reason: string;
};

export type NamesSummary = {
  summary: {
    names: number;
    found: number;
    absent: number;
    withheld: number;
    rejected: number;
  };
  version: string;
  /** Always true: nothing was left out. */
  complete: boolean;
};

/** The last line of an answer that could not be finished; no last chunk follows. */
export type NamesError = {
  error: Problem;
};

export type Health = {
  status: string;
};

export type Ready = {
  /** Always true. */
  ready: boolean;
  version: string;
  state: "sound" | "degraded";
  detail?: string;
};

/** This document. */
export type OpenApi = { [name: string]: unknown };

export type Page = string;

export type Collinfo = Array<{
  id: string;
  name: string;
  "cdx-api": string;
  from?: string;
  to?: string;
}>;
