#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: peers
"""Datasets of counts: what `ingest --profile host-index` makes of Common Crawl's host index, beside ordinary datasets.

The oracle is DuckDB over the same Parquet files, which have the real schema: pages by domain, by host, by TLD, rankings, what two datasets
share, before and after suppressions. Answers about URLs are those of a twin root that has no such datasets. format_reader.py reads the
bytes. Scopes, parts, merges (the same bytes as from the whole lake), removal, replacement, rollback, gc, backup, verify. Exit 77: skipped.
"""
import collections
import csv
import io
import json
import pathlib
import random
import sys
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dxtest  # noqa: E402
from dxtest import check, equal  # noqa: E402

try:
    import duckdb
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError as missing:
    print(f"SKIPPED: {missing} in {sys.executable}; set DX_PEERS_PYTHON")
    sys.exit(77)
import format_reader  # noqa: E402

CRAWLS = ("CC-MAIN-2023-50", "CC-MAIN-2024-10")
DOMAINS = 400 if dxtest.WHOLE else 70
# Columns of cc-host-index-schema.json; those that nothing here reads have the same number in each row.
DOUBLES = ("hcrank10", "prank10", "prank", "hcrank", "fetch_200_lote_pct", "fetch_3xx_pct")
INTS = ("warc_record_length_av", "warc_record_length_median", "fetch_200_lote", "fetch_3xx", "fetch_4xx", "fetch_5xx", "fetch_gone", "fetch_notModified", "fetch_other",
        "fetch_redirPerm", "fetch_redirTemp", "nutch_numRecords", "nutch_fetched", "robots_200", "robots_gone")


def surt(host):
    return ",".join(reversed(host.split(".")))


def host_index(folder, crawl, seed):
    """A partition in two files, sorted as the real ones; some hosts stand in both, some have no page."""
    rng, rows = random.Random(seed), []
    for i in range(DOMAINS):
        if rng.random() < 0.3:
            continue
        domain = f"site{i}." + ("com", "co.uk", "org", "de")[i % 4]
        for host in {"", "www.", f"h{rng.randrange(3)}.", "a.b."} if i % 5 else {"www."}:
            pages = rng.choice((0, 1, 2, 7, 40, 4_097, 70_000, 2_000_000, None))
            rows.append((surt(host + domain), domain, domain.rsplit(".", 1)[1], pages))
    rows += [(host, name, tld, 5) for host, name, tld, _ in rng.sample(rows, 10)]
    target = folder / f"crawl={crawl}"
    target.mkdir(parents=True)
    for k in range(2):
        some = sorted(rows[k::2], key=lambda row: row[0])
        columns = dict(zip(("surt_host_name", "url_host_registered_domain", "url_host_tld"), zip(*(row[:3] for row in some))))
        columns |= {name: pa.array([1.5] * len(some)) for name in DOUBLES} | {name: pa.array([3] * len(some), pa.int32()) for name in INTS}
        columns["fetch_200"] = pa.array([row[3] for row in some], pa.int32())
        pq.write_table(pa.table(columns), target / f"part-{k}.parquet", compression="gzip", row_group_size=100)
    return target


def host_of(name):
    return f"array_to_string(list_reverse(string_split({name}, ',')), '.')"


def asked(files, what, more=""):
    text = f"SELECT {what} FROM read_parquet({[str(f) for f in files]}, hive_partitioning=false) WHERE fetch_200 > 0 {more}"
    return duckdb.execute(text).fetchall()


class Oracle:
    """What DuckDB says of a crawl's files."""

    def __init__(self, folder, hidden="false"):
        files, but = sorted(folder.glob("*.parquet")), f"AND NOT ({hidden})"
        self.domains = dict(asked(files, "url_host_registered_domain, sum(fetch_200)::BIGINT", but + " GROUP BY 1"))
        self.hosts = collections.defaultdict(dict)
        for domain, host, pages in asked(files, f"url_host_registered_domain, {host_of('surt_host_name')}, sum(fetch_200)::BIGINT", but + " GROUP BY 1, 2"):
            self.hosts[domain][host] = pages
        self.tlds = {tld: (n, pages) for tld, n, pages in asked(
            files, "url_host_tld, count(DISTINCT url_host_registered_domain), sum(fetch_200)::BIGINT", but + " GROUP BY 1")}
        self.pages = sum(self.domains.values())

    def ranking(self):
        counts = sorted(self.domains.values(), reverse=True)
        return sorted(((1 + counts.index(n), name, n) for name, n in self.domains.items()), key=lambda one: (one[0], one[1].split(".")[::-1]))


def url_rows():
    rows = []
    for i in range(DOMAINS):
        domain = f"site{i}." + ("com", "co.uk", "org", "de")[i % 4]
        rows += [(f"set {k % 2}", str(1_700_000_000 + 86_400 * k + i), f"https://{('', 'www.')[k % 2]}{domain}/{'ab'[k % 2]}/{k}") for k in range(i % 4)]
    return rows + [("set 0", "", "https://urls.only.example.net/"), ("set 1", "", "http://www.site4.com/")]


def ingest_urls(root):
    text = "".join("\t".join(row) + "\n" for row in url_rows())
    dxtest.domaindex("ingest", "--root", root, "--format", "tsv", "--no-header", "--dataset-column", 1, "--ts-column", 2, "--url-column", 3, "-", input=text.encode())


def quoted(text):
    return urllib.parse.quote(text, safe="")


def answer(server, target, status=200, **headers):
    reply = server.get(target, headers=headers)
    equal(reply.status, status, target)
    return reply.json if reply.body[:1] in b"{[" else reply.body


# ------------------------------------------------------------------------------------- answers

def of_domain(server, name, crawls, has_urls):
    """/v1/domain, hosts and the 409 of listings, of one domain."""
    want = {d: o.domains[name] for d, o in crawls.items() if name in o.domains}
    body = answer(server, f"/v1/domain/{name}", 200 if want or has_urls else 404)
    if not want and not has_urls:
        return
    of_counts = [one for one in body["datasets"] if "kind" in one]
    equal({one["dataset_id"]: (one["kind"], one["page_count"], one["url_count"], one["row_count"], one["first_ts"]) for one in of_counts},
          {d: ("counts", pages, None, None, None) for d, pages in want.items()}, f"{name}: pages")
    equal(body.get("counts_only_datasets", 0), len(want), f"{name}: counts_only_datasets")
    rest = [one for one in body["datasets"] if "kind" not in one]
    equal((body["url_count"], body["row_count"], body["dataset_count"]),
          (sum(one["url_count"] for one in rest), sum(one["row_count"] for one in rest), len(rest) + len(want)), f"{name}: sums")
    for one in of_counts:
        oracle, d = crawls[one["dataset_id"]], one["dataset_id"]
        equal((one["share"], one["rank"]), (dxtest.fraction(want[d], oracle.pages), 1 + sum(n > want[d] for n in oracle.domains.values())), f"{name}: share, rank")
        hosts = answer(server, f"/v1/domain/{name}/hosts?dataset={d}&order=name")
        equal({h["host"]: (h["page_count"], h["url_count"], h["row_count"]) for h in hosts["hosts"]},
              {h: (n, None, None) for h, n in oracle.hosts[name].items()}, f"{name}: hosts in {d}")
    total = collections.Counter()
    for d in want:
        total.update(crawls[d].hosts[name])
    hosts = answer(server, f"/v1/domain/{name}/hosts")
    equal({h["host"]: h["page_count"] for h in hosts["hosts"] if "page_count" in h}, dict(total), f"{name}: hosts")
    icann = answer(server, f"/v1/domain/{name}?view=icann")
    equal(({x["dataset_id"]: x["page_count"] for x in icann["datasets"] if "kind" in x}, icann.get("page_count", 0), icann["row_count"]),
          (want, sum(want.values()), body["row_count"]), f"{name}: by the ICANN suffixes")
    keys = [(-(h["url_count"] or 0), -h.get("page_count", 0), h["host"]) for h in hosts["hosts"]]
    equal(keys, sorted(keys), f"{name}: order of hosts")
    if not has_urls:
        for target in ("urls", "timeline", "urls?plan=2", "urls?sort=time"):
            equal(answer(server, f"/v1/domain/{name}/{target}", 409)["type"].rsplit(":", 1)[-1], "counts-only", f"{name}: {target}")


def of_datasets(server, crawls, rows):
    """Lists, rankings, TLDs, suffixes, domains, what two share: of the crawls and of all together."""
    names = {one["dataset_id"]: one for one in answer(server, "/v1/datasets")["datasets"]}
    for d, oracle in crawls.items():
        one = names[d]
        equal((one["kind"], one["domain_count"], one["page_count"], one["url_count"], one["row_count"]), ("counts", len(oracle.domains), oracle.pages, None, None), f"dataset {d}")
        top = answer(server, f"/v1/datasets/{d}/top-domains")
        equal((top["kind"], top["page_count"], top["url_count"]), ("counts", oracle.pages, None), f"top-domains of {d}")
        want = oracle.ranking()
        equal([(r["rank"], r["domain"], r["page_count"], r["url_count"], r["share"]) for r in top["domains"]],
              [(rank, name, n, None, dxtest.fraction(n, oracle.pages)) for rank, name, n in want], f"ranking of {d}")
        table = list(csv.DictReader(io.StringIO(answer(server, f"/v1/datasets/{d}/top-domains?format=csv").decode())))
        equal([(int(r["rank"]), r["domain"], int(r["page_count"]), r["url_count"]) for r in table], [(*one, "") for one in want], f"ranking of {d} as CSV")
        tlds = answer(server, f"/v1/tlds?dataset={d}")
        equal({t["tld"]: (t["domain_count"], t["page_count"]) for t in tlds["tlds"]}, oracle.tlds, f"TLDs of {d}")
        equal({t["url_count"] for t in tlds["tlds"]}, {None}, f"TLDs of {d}: URLs")
        listed = answer(server, f"/v1/domains?dataset={d}&limit=10000")
        equal({x["domain"]: (x["page_count"], x["url_count"]) for x in listed["domains"]}, {k: (n, None) for k, n in oracle.domains.items()}, f"domains of {d}")
        one = answer(server, f"/v1/suffix/com?dataset={d}")["totals"]
        equal((one["domain_count"], one["page_count"], one["url_count"]), (*oracle.tlds["com"], None), f"suffix com of {d}")
        for target in (f"/v1/domain/site3.de/datasets/{d}/urls", f"/v1/domain/site3.de/datasets/{d}/paths", f"/v1/domain/site3.de/urls?dataset={d}",
                       f"/v1/domain/site3.de/timeline?dataset={d}", f"/v1/tags?dataset={d}"):
            equal(answer(server, target, 409)["type"].rsplit(":", 1)[-1], "counts-only", target)
        equal(answer(server, f"/cdx?url=site3.de/*&dataset={d}", 409)["type"].rsplit(":", 1)[-1], "counts-only", "CDX")
    a, b = sorted(crawls)
    both = crawls[a].domains.keys() & crawls[b].domains.keys()
    shared = answer(server, f"/v1/datasets/{a}/overlap/{b}")
    equal((shared["domains"]["shared"], shared["urls"], shared["a"]["page_count"]), (len(both), None, crawls[a].pages), "overlap of two crawls")
    mixed = answer(server, f"/v1/datasets/1/overlap/{b}")
    of_set = {row[2].split("/")[2].removeprefix("www.").removeprefix("urls.only.") for row in rows if row[0] == "set 0"}
    equal((mixed["domains"]["shared"], mixed["urls"]), (len(of_set & crawls[b].domains.keys()), None), "overlap with URLs")
    tlds = {t["tld"]: t for t in answer(server, "/v1/tlds")["tlds"]}
    equal({k: t.get("page_count", 0) for k, t in tlds.items()}, {k: sum(o.tlds.get(k, (0, 0))[1] for o in crawls.values()) for k in tlds}, "TLDs of all")
    equal(sum(t["url_count"] for t in tlds.values()), len({row[:3:2] for row in rows}), "TLDs of all: URLs of datasets of URLs")
    every = answer(server, "/v1/suffix/uk")
    equal((every["totals"]["page_count"], {x["dataset_id"]: x.get("page_count") for x in every["datasets"] if "kind" in x}),
          (sum(o.tlds["uk"][1] for o in crawls.values()), {d: o.tlds["uk"][1] for d, o in crawls.items()}), "suffix uk")
    version = next(v for v in answer(server, "/v1/versions")["versions"] if v["current"])
    equal((version["page_count"], version["row_count"]), (sum(o.pages for o in crawls.values()), len(rows)), "totals of the version")


def of_lists(server, crawls):
    """POST /v1/domains in its three formats."""
    names = [f"site{i}." + ("com", "co.uk", "org", "de")[i % 4] for i in range(0, DOMAINS, 7)] + ["urls.only.example.net", "nowhere.example"]
    body = "\n".join(names).encode()

    def post(query):
        reply = server.get("/v1/domains" + query, method="POST", headers={"Content-Type": "text/plain", "Content-Length": str(len(body))}, body=body)
        equal(reply.status, 200, query)
        return reply.body.decode()

    want = {name: {d: o.domains[name] for d, o in crawls.items() if name in o.domains} for name in names}
    for line in map(json.loads, post("").splitlines()[:-1]):
        pages = {x["dataset_id"]: x["page_count"] for x in line.get("datasets", ()) if x.get("kind") == "counts"}
        equal((pages, line.get("counts_only_datasets", 0)), (want[line["asked"]], len(pages)), f"list: {line['asked']}")
        equal(line.get("row_count", 0), sum(x["row_count"] or 0 for x in line.get("datasets", ())), f"list: rows of {line['asked']}")
    got = collections.defaultdict(dict)
    for row in csv.DictReader(io.StringIO(post("?format=csv"))):
        if row["page_count"]:
            got[row["asked"]][int(row["dataset_id"])] = int(row["page_count"])
            equal((row["url_count"], row["row_count"]), ("", ""), "CSV: a row of counts")
    equal(dict(got), {k: v for k, v in want.items() if v}, "list as CSV")
    some = ",".join(map(str, crawls))
    for row in csv.reader(io.StringIO(post(f"?format=matrix&datasets={some}")).readlines()[1:]):
        equal(row[3:], [str(want[row[0]].get(d, "")) for d in crawls], f"matrix: {row[0]}")


def without(value):
    """An answer about URLs, less what only the root with counts can say."""
    if isinstance(value, dict):
        return {k: without(v) for k, v in value.items() if k not in ("version", "counts_only_datasets", "next_cursor", "cost", "cursors")}
    return [without(v) for v in value] if isinstance(value, list) else value


def like_twin(server, twin, names):
    for name in names:
        for target in (f"/v1/domain/{name}/urls", f"/v1/host/www.{name}/urls", f"/v1/domain/{name}/timeline", f"/v1/domain/{name}/datasets/1/urls",
                       f"/v1/url?url={quoted(f'https://{name}/a/0')}", f"/v1/url?url={quoted(f'http://{name}/')}", f"/v1/url?url={quoted(f'http://www.{name}/')}",
                       f"/v1/url?url={quoted(f'http://{name}/?pages=1')}", f"/cdx?url={name}/*&output=json", f"/index?url={name}/*&output=json",
                       f"/v1/domain/{name}/urls?format=csv", f"/v1/domain/{name}/urls?sort=time"):
            got, want = server.get(target), twin.get(target)
            equal(got.status, want.status, f"twin: {target}")
            if got.status == 200:
                equal(*(without(one.json) if "json" not in target and "cdx" not in target and "csv" not in target else one.body for one in (got, want)), f"twin: {target}")
    equal(without(answer(server, "/collinfo.json")) != [], True, "collinfo")
    equal([x["name"] for x in answer(server, "/collinfo.json")], [x["name"] for x in answer(twin, "/collinfo.json")], "collinfo has no counts")


# ------------------------------------------------------------------------------------- what changes

def read_bytes(root, full=True):
    version = format_reader.Version(root)
    if full:
        format_reader.check_lake(version)
    for name in (wrong := format_reader.wrong_domains(version)):
        print(json.dumps(version.domain(name)), format_reader.jsonl("--root", root, input=name), sep="\n", flush=True)
    equal(wrong, [], "domains that lookup answers otherwise than the bytes")
    return version


def sound(root):
    dxtest.domaindex("verify", "--root", root, "--deep")


def content(root):
    """Build id, and sizes and hashes of the files of the current version."""
    manifest = json.loads((root / "index" / "manifest.json").read_text())
    entry = next(v for v in manifest["versions"] if v["version"] == manifest["current_version"])
    return entry["build_id"], entry["files"]


def publish(root, *more):
    return dxtest.domaindex("publish", "--root", root, *more).stdout.decode().split()[0]


def suppressions(root, folders, crawls):
    """A rule of a host takes its pages, one of a URL or a path none, in both policies; compaction takes the rows."""
    name = next(n for n in sorted(crawls[3].hosts) if len(crawls[3].hosts[n]) > 1 and len(crawls[4].hosts.get(n, ())) > 1)
    host, other = sorted(crawls[3].hosts[name])[:2]
    whole = next(n for n in sorted(crawls[3].domains) if n != name and n in crawls[4].domains)
    hidden = f"{host_of('surt_host_name')} = '{host}' OR url_host_registered_domain = '{whole}'"
    left = {d: Oracle(folder, hidden) for d, folder in folders.items()}
    for policy in ("withheld", "absent"):
        with dxtest.Server(root) as server:
            for kind, value in (("--url", f"http://{other}/"), ("--prefix", f"{other}/private/"), ("--host", host), ("--domain", whole)):
                dxtest.domaindex("suppress", "add", "--root", root, kind, value, "--policy", policy)
            dxtest.wait_until(lambda: server.get(f"/v1/domain/{whole}").status == (451 if policy == "withheld" else 404))
            dxtest.wait_until(lambda: server.get(f"/v1/domain/{name}").status == 200)
            body = answer(server, f"/v1/domain/{name}")
            equal({x["dataset_id"]: x["page_count"] for x in body["datasets"] if "kind" in x}, {d: o.domains[name] for d, o in left.items() if name in o.domains}, f"{policy}: pages left")
            gone = {d: crawls[d].hosts[name].get(host, 0) for d in crawls}
            equal({x["dataset_id"]: x.get("withheld_rows", 0) for x in body["datasets"] if "kind" in x},
                  {d: n if policy == "withheld" else 0 for d, n in gone.items() if name in left[d].domains}, f"{policy}: withheld")
            for d, oracle in left.items():
                equal({h["host"]: h["page_count"] for h in answer(server, f"/v1/domain/{name}/hosts?dataset={d}")["hosts"]}, oracle.hosts[name], f"{policy}: hosts left in {d}")
                top = answer(server, f"/v1/datasets/{d}/top-domains")
                equal([(r["rank"], r["domain"], r["page_count"]) for r in top["domains"]], oracle.ranking(), f"{policy}: ranking of what is left")
        if policy == "withheld":
            dxtest.domaindex("suppress", "lift", "--root", root, 1, 2, 3, 4)
    dxtest.domaindex("compact", "--root", root)
    sound(root)
    with dxtest.Server(root) as server:
        for d, oracle in left.items():
            equal(answer(server, f"/v1/datasets/{d}")["page_count"], oracle.pages, f"pages of {d} once the rows are gone")
    read_bytes(root)


def scopes(root, crawls):
    """Who may not see the crawls learns nothing of them; who sees one alone gets its counts."""
    names = sorted(crawls[3].domains.keys() & crawls[4].domains.keys())[:20]
    tokens = {}
    dxtest.domaindex("access", "init", "--root", root)
    for principal, datasets in (("urls", "1,2"), ("one", "1,3"), ("counts", "4")):
        dxtest.domaindex("access", "principal", "add", principal, "--root", root)
        dxtest.domaindex("access", "grant", *(f"id:{d}" for d in datasets.split(",")), "--root", root, "--to", principal)
        tokens[principal] = json.loads(dxtest.domaindex("access", "token", "new", principal, "--root", root, "--json").stdout)["token"]
    with dxtest.Server(root) as server:
        def of(principal, target):
            return server.get(target, headers={"Authorization": f"Bearer {tokens[principal]}"})
        for name in names:
            check(b"page" not in of("urls", f"/v1/domain/{name}").body and b"counts" not in of("urls", f"/v1/domain/{name}").body, f"{name}: pages without a right to them")
            check(b"counts" not in of("urls", f"/v1/domain/{name}/urls").body, f"{name}: counts_only_datasets without a right to them")
            body = of("one", f"/v1/domain/{name}").json
            equal((body.get("counts_only_datasets"), [x["page_count"] for x in body["datasets"] if "kind" in x]), (1, [crawls[3].domains[name]]), f"{name}: one crawl")
            body = of("counts", f"/v1/domain/{name}").json
            equal((body["dataset_count"], body["url_count"], body["datasets"][0]["page_count"]), (1, 0, crawls[4].domains[name]), f"{name}: counts alone")
            equal(of("counts", f"/v1/domain/{name}/urls").status, 409, f"{name}: URLs of who sees counts alone")
        equal(of("urls", "/v1/datasets/3").status, 404, "a hidden dataset of counts")
        equal(of("urls", f"/v1/domain/{names[0]}/datasets/3/urls").status, 404, "URLs of a hidden dataset of counts")
    dxtest.domaindex("access", "remove", "--yes", "--root", root)


def refusals(tmp, root, folder):
    for arguments, code, words in (
            (("--profile", "host-index", folder), 1, "has counts already"),
            (("--profile", "host-index", "--dataset", "twice", folder, folder), 1, "--counts would add up their pages twice: inputs "),
            (("--profile", "host-index", "--dataset", "set 0", folder), 1, "is of URLs, and this run has counts"),
            (("--dataset", f"{CRAWLS[0]}-hosts", "-"), 1, "is of counts, and this run has URLs"),
            (("--profile", "host-index", "--locators", folder), 2, "--counts and --locators exclude each other"),
            (("--profile", "host-index", "--journal", tmp / "j", folder), 2, "--counts and --journal exclude each other"),
            (("--dataset", "n", "--counts", "nothing", "--url-column", "surt_host_name", folder), 1, "nothing")):
        done = dxtest.domaindex("ingest", "--root", root, *arguments, expect=code, input=b"https://a.com/\n")
        check(words in done.stderr.decode(), f"{arguments}: {done.stderr.decode()}")
    done = dxtest.domaindex("export", "--root", root, "--file-store", tmp / "store", "--dataset", f"{CRAWLS[0]}-hosts", expect=1)
    check(b"no URLs to export" in done.stderr, f"export: {done.stderr}")


def other_inputs(tmp):
    """--counts of a TSV: names, URLs and SURT; numbers that are none; hosts without pages do not count against --max-rejects."""
    lines = ["host\tn", "www.a.com\t3", "https://www.a.com/x\t4", "com,a\t1", "com,a,www)/\t10", "org,b:8080\t2.0", "192.0.2.7\t6", "c.com\t0", "c.com\t", "com\t1", "d.com\t-1", "d.com\t1.5"]
    root = tmp / "other"
    done = dxtest.domaindex("ingest", "--root", root, "--dataset", "tsv", "--format", "tsv", "--url-column", "host", "--counts", "n", "--max-rejects", "40%", "--json", "-",
                            input="\n".join(lines).encode() + b"\n")
    rejected = json.loads(done.stdout)["rejected"]["reasons"]
    equal({one["reason"]: one["count"] for one in rejected}, {"public_suffix": 1, "count_invalid": 2, "no_pages": 2}, "rejects")
    publish(root)
    sound(root)
    got = {n: dxtest.domaindex("lookup", "--root", root, n, expect=None).stdout for n in ("a.com", "b.org", "192.0.2.7", "c.com", "d.com")}
    pages = {n: [x["page_count"] for x in json.loads(text).get("datasets", ())] for n, text in got.items()}
    equal(pages, {"a.com": [18], "b.org": [2], "192.0.2.7": [6], "c.com": [], "d.com": []}, "pages")
    with dxtest.Server(root) as server:
        equal({h["host"]: h["page_count"] for h in answer(server, "/v1/domain/a.com/hosts")["hosts"]}, {"www.a.com": 17, "a.com": 1}, "hosts of a.com")
        equal([h["host"] for h in answer(server, "/v1/domain/b.org/hosts")["hosts"]], ["b.org:8080"], "a host with its port")
    read_bytes(root)


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        root, twin = tmp / "root", tmp / "twin"
        folders = {3 + i: host_index(tmp / "in", crawl, i) for i, crawl in enumerate(CRAWLS)}
        crawls = {d: Oracle(folder) for d, folder in folders.items()}
        for one in (root, twin):
            ingest_urls(one)
        publish(root)
        publish(twin)
        done = dxtest.domaindex("ingest", "--root", root, "--profile", "host-index", "--dry-run", tmp / "in")
        check(b"pages=" in done.stderr + done.stdout, f"--dry-run: {done.stderr}")
        said = dxtest.domaindex("ingest", "--root", root, "--profile", "host-index", folders[3]).stderr
        check(b"WARNING" not in said, f"every record has a count: {said}")
        publish(root, "--parts", 8)
        dxtest.domaindex("ingest", "--root", root, "--profile", "host-index", folders[4])
        publish(root, "--parts", 8)
        sound(root)
        version = read_bytes(root)
        print(f"{len(version.parts)} parts, {len(version.domains)} domains, {sum(o.pages for o in crawls.values())} pages", flush=True)
        rows = sorted(set(url_rows()))
        urls = {row[2].split("/")[2].removeprefix("www.") for row in rows}
        with dxtest.Server(root) as server, dxtest.Server(twin) as beside:
            every = sorted({*crawls[3].domains, *crawls[4].domains, *urls} - {"urls.only.example.net"})
            for name in every[::1 if dxtest.WHOLE else 3]:
                of_domain(server, name, crawls, name in urls)
            of_datasets(server, crawls, rows)
            of_lists(server, crawls)
            like_twin(server, beside, [n for n in every if n in urls][::1 if dxtest.WHOLE else 8])
            changes = answer(server, f"/v1/domain/{sorted(crawls[4].domains)[0]}/changes")
            check(any(x.get("kind") == "counts" and x["after"]["page_count"] == crawls[4].domains[sorted(crawls[4].domains)[0]]
                      for c in changes["changes"] for x in c["datasets"]), f"changes: {changes}")
        refusals(tmp, root, folders[3])
        publish(root, "--parts", 1, "--force")
        merged = content(root)
        publish(root, "--full", "--force")
        equal(content(root), merged, "merged from parts, and made from the whole lake")
        read_bytes(root, full=False)
        dxtest.domaindex("domain64", "init", "--root", root)
        dxtest.domaindex("domain64", "fill", "--root", root)
        dxtest.domaindex("domain64", "init", "--root", twin)
        dxtest.domaindex("domain64", "fill", "--root", twin)
        trees = [dxtest.domaindex("domain64", "tree", "--root", one, expect=None).stdout for one in (root, twin)]
        equal(trees[0], trees[1], "numbers are given to names of URLs alone")
        scopes(root, crawls)
        suppressions(root, folders, crawls)
        dxtest.domaindex("suppress", "lift", "--root", root, 9, 10, 11, 12)
        # one is replaced by itself, one goes, and a rollback brings both back
        before, here = content(root)[0], json.loads((root / "index" / "manifest.json").read_text())["current_version"]
        dxtest.domaindex("ingest", "--root", root, "--profile", "host-index", "--replace", folders[4])
        dxtest.domaindex("remove", "--root", root, "--dataset", f"{CRAWLS[0]}-hosts")
        publish(root, "--parts", 8)
        sound(root)
        if dxtest.WHOLE:
            read_bytes(root)
        with dxtest.Server(root) as server:
            equal(answer(server, "/v1/datasets/3", 404)["status"], 404, "a removed dataset of counts")
        dxtest.domaindex("backup", "--root", root, "--to", tmp / "copy")
        sound(tmp / "copy")
        dxtest.domaindex("rollback", "--root", root, here)
        equal(content(root)[0], before, "rolled back")
        sound(root)
        other_inputs(tmp)
    dxtest.finish()


if __name__ == "__main__":
    main()
