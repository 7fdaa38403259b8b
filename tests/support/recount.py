# SPDX-License-Identifier: Apache-2.0
"""recount - what a corpus says of its domains, hosts, paths and URLs, counted by DuckDB.

    truth = recount.Recount(records)        records: (dataset, ts or None, url, domain, extra, raw)
    truth.see("domain <> 'example.com'")    counts only rows for which this SQL holds; "true": all
    truth.see(visible, withheld, whole)     with SQL for rows that are told to be withheld, and {domain: policy} of whole ones
    truth.presence, truth.distinct, truth.datasets, truth.ranks, ...        plain dicts
    truth.top(dataset), truth.overlap(a, b), truth.hosts(), truth.paths(...), truth.url_rows(urls)

`url` and `domain` are canonical already (restated.py, or corpus.py's own). Hosts, paths and all numbers are SQL over
the rows as they were given; nothing here is code of the product. A row is a distinct (dataset, url, ts, extra).
"""
import bisect
import collections
import fractions
import math

import duckdb
import pyarrow as pa

COLUMNS = ("dataset", "ts", "url", "domain", "extra", "raw")


def key_of(domain):
    """The order of an index: labels reversed; an address is its own key."""
    labels = domain.split(".")
    if domain.startswith("[") or labels[-1].isdigit():
        return domain.encode()
    return " ".join(reversed(labels)).encode()


def fraction(part, whole):
    """At most 9 decimals, rounded half up, no zeros at the end: as the API writes it."""
    billionths = (2 * part * 10**9 + whole) // (2 * whole)
    text = f"{billionths // 10**9}.{billionths % 10**9:09}".rstrip("0")
    return text.rstrip(".")


def selected(share, count):
    """How many of `count` names a share like "10%" or "0.25" takes."""
    part = fractions.Fraction(share.rstrip("%")) / (100 if share.endswith("%") else 1)
    return math.ceil(part * count)


def best_first(counted):
    """(host, path, urls, rows) in the order of an answer about paths."""
    return sorted(counted, key=lambda c: (-c[2], -c[3], c[0].encode(), c[1].encode()))


class Recount:
    def __init__(self, records):
        self.sql = duckdb.connect()
        self.sql.execute("SET threads TO 2")
        columns = list(zip(*records))
        given = pa.table({name: pa.array(column, pa.int64() if name == "ts" else pa.string())
                          for name, column in zip(COLUMNS, columns)})
        self.sql.register("given_arrow", given)
        self.sql.execute("""CREATE TABLE given AS SELECT *,
            regexp_extract(url, '^[a-z]+://([^/]*)', 1) AS host,
            regexp_extract(url, '^[a-z]+://[^/]*([^?]*)', 1) AS path FROM given_arrow""")
        self.sql.execute("""CREATE TABLE every AS SELECT dataset, domain, url, ts, extra, host, path,
            CASE WHEN regexp_matches(path, '^/[^/]*/') THEN regexp_extract(path, '^/[^/]*/') ELSE '/' END AS section,
            list(DISTINCT raw) AS raws FROM given GROUP BY ALL ORDER BY domain, dataset, url""")
        self.sql.execute("DROP TABLE given")
        self.see("true")

    def all(self, query, *values):
        return self.sql.execute(query, values).fetchall()

    def see(self, where, withheld="false", whole=None):
        """`datasets` stays that of all rows, and `ranks` are among them; everything else is of what is seen."""
        self.whole = whole or {}
        self.withheld = {(domain, dataset): rows for domain, dataset, rows in self.all(
            f"SELECT domain, dataset, count(*) FROM every WHERE {withheld} GROUP BY domain, dataset")}
        self.hidden_urls = {url: "withheld" if said else "absent" for url, said in self.all(
            f"SELECT url, any_value({withheld}) FROM every WHERE NOT ({where}) GROUP BY url ORDER BY url")}
        self.touched = [domain for (domain,) in self.all(f"""SELECT domain FROM every GROUP BY domain
            HAVING bool_or({where}) AND NOT bool_and({where}) ORDER BY domain""")]
        self.withheld_of = collections.Counter()
        for (domain, _), rows in self.withheld.items():
            self.withheld_of[domain] += rows
        self.sql.execute(f"CREATE OR REPLACE TABLE seen AS SELECT * FROM every WHERE {where}")
        self.sql.execute("""CREATE OR REPLACE TABLE pairs AS SELECT domain, dataset, count(DISTINCT url) AS urls,
            count(*) AS rows, min(ts) AS first, max(ts) AS last FROM seen GROUP BY domain, dataset""")
        self.presence = collections.defaultdict(dict)
        for domain, dataset, *counts in self.all("SELECT * FROM pairs ORDER BY domain, dataset"):
            self.presence[domain][dataset] = tuple(counts)
        self.distinct = dict(self.all("SELECT domain, count(DISTINCT url) FROM seen GROUP BY domain"))
        self.datasets = {name: tuple(counts) for name, *counts in self.all(
            """SELECT dataset, count(DISTINCT domain), count(DISTINCT url), count(*) FROM every GROUP BY dataset""")}
        self.shown = {name: tuple(counts) for name, *counts in self.all(
            "SELECT dataset, count(*), sum(urls)::BIGINT FROM pairs GROUP BY dataset")}
        self.shown_ranks = {(domain, dataset): rank for domain, dataset, rank in self.all(
            "SELECT domain, dataset, rank() OVER (PARTITION BY dataset ORDER BY urls DESC) FROM pairs")}
        self.ranks = self.shown_ranks if where == "true" else self._ranks_in_all()
        self._tops = None

    def _ranks_in_all(self):
        """1 + other domains that have more URLs, hidden ones too, than are seen of this one."""
        whole, counts = {}, collections.defaultdict(list)
        for domain, dataset, urls in self.all("SELECT domain, dataset, count(DISTINCT url) FROM every GROUP BY ALL"):
            whole[domain, dataset] = urls
            counts[dataset].append(urls)
        for found in counts.values():
            found.sort()
        ranks = {}
        for pair in self.shown_ranks:
            seen = self.presence[pair[0]][pair[1]][0]
            more = len(counts[pair[1]]) - bisect.bisect_right(counts[pair[1]], seen)
            ranks[pair] = 1 + more - (whole[pair] > seen)
        return ranks

    def state(self, domain):
        """What a question about it gives: "found", "withheld" or "absent"."""
        if domain in self.whole:
            return self.whole[domain]
        return "found" if domain in self.presence else "withheld" if self.withheld_of[domain] else "absent"

    def top(self, dataset):
        """(domain, urls) of all domains of a dataset, first the ones with most URLs."""
        if self._tops is None:
            self._tops = collections.defaultdict(list)
            for domain, name, urls in self.all("SELECT domain, dataset, urls FROM pairs"):
                self._tops[name].append((domain, urls))
            for found in self._tops.values():
                found.sort(key=lambda d: (-d[1], key_of(d[0])))
        return self._tops[dataset]

    def overlap(self, a, b):
        (row,) = self.sql.execute("""
            WITH both_sides AS (SELECT coalesce(x.urls, 0) AS x, coalesce(y.urls, 0) AS y FROM
                (SELECT * FROM pairs WHERE dataset = $a) x FULL JOIN (SELECT * FROM pairs WHERE dataset = $b) y USING (domain))
            SELECT count(*) FILTER (x > 0 AND y > 0), count(*) FILTER (y = 0), count(*) FILTER (x = 0),
                sum(x) FILTER (y > 0), sum(y) FILTER (x > 0), sum(x) FILTER (y = 0), sum(y) FILTER (x = 0),
                sum(least(x, y)), sum(greatest(x, y)) FROM both_sides""", {"a": a, "b": b}).fetchall()
        shared, only_a, only_b, *urls = (int(n or 0) for n in row)
        shared_a, shared_b, urls_a, urls_b, least, most = urls
        return {"domains": {"shared": shared, "only_a": only_a, "only_b": only_b,
                            "jaccard": fraction(shared, shared + only_a + only_b)},
                "urls": {"shared_a": shared_a, "shared_b": shared_b, "only_a": urls_a, "only_b": urls_b,
                         "min": least, "max": most, "jaccard": fraction(least, most)}}

    def hosts(self):
        """{domain: {host: [datasets, urls, rows]}}; URLs are summed over the datasets, as everywhere."""
        out = collections.defaultdict(dict)
        for domain, host, *counts in self.all("""
                SELECT domain, host, count(*), sum(urls)::BIGINT, sum(rows)::BIGINT FROM (SELECT domain, host, dataset,
                count(DISTINCT url) AS urls, count(*) AS rows FROM seen GROUP BY ALL) GROUP BY ALL"""):
            out[domain][host] = counts
        return out

    def hosts_of(self, domain, dataset):
        return {host: counts for host, *counts in self.all("""
            SELECT host, 1, count(DISTINCT url), count(*) FROM seen WHERE domain = ? AND dataset = ? GROUP BY host""",
            domain, dataset)}

    def timeline(self, by):
        """{domain: {period: rows}}; None: rows without a time."""
        shape = {"year": "%Y", "month": "%Y-%m", "day": "%Y-%m-%d"}[by]
        out = collections.defaultdict(dict)
        for domain, period, rows in self.all(f"""SELECT domain, strftime(make_timestamp(ts * 1000000), '{shape}') AS period,
                count(*) FROM seen GROUP BY ALL ORDER BY period"""):
            out[domain][period] = rows
        return out

    def paths(self, domain, dataset, by):
        """(host, path, urls, rows), the best first."""
        return best_first(self.all(f"""SELECT host, {'section' if by == 'section' else 'path'} AS p, count(DISTINCT url),
            count(*) FROM seen WHERE domain = ? AND dataset = ? GROUP BY host, p""", domain, dataset))

    def url_rows(self, urls):
        """{url: {dataset: [(ts, extra, raws)]}} of what is there."""
        wanted = pa.table({"url": pa.array(sorted(set(urls)), pa.string())})
        self.sql.register("wanted", wanted)
        out = collections.defaultdict(lambda: collections.defaultdict(list))
        for url, dataset, ts, extra, raws in self.all(
                "SELECT url, dataset, ts, extra, raws FROM seen SEMI JOIN wanted USING (url)"):
            out[url][dataset].append((ts, extra, raws))
        self.sql.unregister("wanted")
        return out

    def urls(self):
        """Every URL with its domain and, of each dataset, its rows."""
        return self.all("SELECT url, any_value(domain), count(DISTINCT dataset), count(*) FROM seen GROUP BY url ORDER BY url")
