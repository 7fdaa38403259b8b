#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: short plain
"""/v1/tlds against a recount of the source: domains, URLs and rows of each TLD, of all datasets and of one.

In detail: public suffixes of several labels, addresses, names that end in no TLD; by pages of each size; of each principal that sees
some of the datasets; while rules of each kind and policy hold; the cursor of another principal, version and resource is refused.
"""
import collections
import random
import time

import dxtest
import roots
from dxtest import check, equal

SUFFIXES = ("com", "co.uk", "uk", "net", "com.au", "xn--p1ai", "github.io", "io")
WITHIN_S = 60
RULES = (
    (["--domain", "site003.net"], lambda u: domain_of(u) == "site003.net"),
    (["--domain", "site008.com", "--policy", "absent"], lambda u: domain_of(u) == "site008.com"),
    (["--host", "www.site009.co.uk", "--policy", "absent"], lambda u: "//www.site009.co.uk/" in u),
    (["--host", "site001.co.uk", "--host", "www.site001.co.uk"], lambda u: domain_of(u) == "site001.co.uk"),
    (["--prefix", "https://192.0.2.11/p/"], lambda u: u.startswith("https://192.0.2.11/p/")),
    (["--url", "https://only.info/1"], lambda u: u == "https://only.info/1"),
    (["--domain", "only.info", "--policy", "absent"], lambda u: domain_of(u) == "only.info"),
)


def domain_of(url):
    host = url.split("/")[2]
    return host[4:] if host.startswith("www.") else host


def tld_of(domain):
    last = domain.split(".")[-1]
    return last if last[0].isalpha() else None


def make_rows(rng):
    """(url, ts) of each dataset; a URL has rows at several times, and is in several datasets."""
    rows = {}
    for name in ("a", "b", "c", "d"):
        rows[name] = set()
        for i in range(120):
            domain = f"site{i:03}.{SUFFIXES[i % len(SUFFIXES)]}" if i % 11 else f"192.0.2.{i % 250}"
            if rng.random() < 0.6:
                for n in range(rng.randrange(1, 7)):
                    host = domain if i % 11 == 0 else rng.choice(("", "www.")) + domain
                    url = f"https://{host}/{rng.choice('pq')}/{n}"
                    rows[name] |= {(url, 1700000000 + rng.randrange(3)) for _ in range(rng.randrange(1, 3))}
    rows["d"] |= {(f"https://only.info/{n}", 1700000000) for n in (1, 2)}
    return rows


def recount(rows, names, hides):
    """tld -> (domains, URLs, rows); a URL counts once in each dataset."""
    domains, urls, count = collections.defaultdict(set), collections.Counter(), collections.Counter()
    for name in names:
        left = {row for row in rows[name] if not hides(row[0])}
        for url in {url for url, _ in left}:
            domains[tld_of(domain_of(url))].add(domain_of(url))
            urls[tld_of(domain_of(url))] += 1
        for url, _ in left:
            count[tld_of(domain_of(url))] += 1
    return [(tld, len(domains[tld]), urls[tld], count[tld]) for tld in sorted(domains, key=lambda t: t or "")]


def page(reply):
    return [(t["tld"], t["domain_count"], t["url_count"], t["row_count"]) for t in reply.json["tlds"]]


def compare(server, query, want, words, headers=None):
    """The whole answer, which may have to wait for what rules hide, and the same by pages."""
    target = "/v1/tlds" + query
    end = time.monotonic() + WITHIN_S
    reply = server.get(target, headers=headers)
    while (reply.status == 503 or (reply.status == 200 and page(reply) != want)) and time.monotonic() < end:
        time.sleep(0.05)
        reply = server.get(target, headers=headers)
    if not equal(reply.status, 200, f"{words}: {reply.body[:300]}"):
        return
    equal((reply.status, page(reply), reply.json["next_cursor"], reply.json["complete"]), (200, want, None, True), words)
    for limit in (1, 3):
        got, cursor, pages = [], None, 0
        while cursor is not None or pages == 0:
            more = f"cursor={cursor}" if cursor else f"limit={limit}"
            reply = server.get(f"{target}{'&' if query else '?'}{more}", headers=headers)
            equal((reply.status, len(reply.json["tlds"]) <= limit), (200, True), f"{words}, by {limit}")
            got += page(reply)
            cursor, pages = reply.json["next_cursor"], pages + 1
        equal((got, pages), (want, max(1, -(-len(want) // limit))), f"{words}, by {limit}")


def compare_all(server, rows, ids, hides, words, headers=None, names=None):
    names = sorted(rows) if names is None else names
    compare(server, "", recount(rows, names, hides), words, headers)
    for name, number in ids.items():
        if name in names:
            compare(server, f"?dataset={number}", recount(rows, [name], hides), f"{words}, {name}", headers)
        else:
            equal(server.get(f"/v1/tlds?dataset={number}", headers=headers).status, 404, f"{words}, {name} is hidden")


def refusals(server):
    cursor = server.get("/v1/tlds?limit=2").json["next_cursor"]
    for target, status, slug in ((f"/v1/tags?cursor={cursor}", 400, "cursor-mismatch"), (f"/v1/tlds?cursor={cursor}&dataset=1", 400, "cursor-mismatch"),
                                 ("/v1/tlds?cursor=AAAA", 400, "bad-cursor"), ("/v1/tlds?limit=10001", 400, "limit-too-large"),
                                 ("/v1/tlds?offset=1", 400, "unknown-parameter"), ("/v1/tlds?dataset=99", 404, "dataset-not-found"),
                                 ("/v1/tld", 404, "no-such-resource")):
        reply = server.get(target)
        equal((reply.status, reply.json["type"].rsplit(":", 1)[1]), (status, slug), target)
    check("/v1/tlds" in server.get("/v1/tld").json["detail"], "the nearest path")
    check("/v1/host/{host}/urls" in server.get("/v1/host/example.com").json["detail"], "the nearest path, which has a segment more")


def suppressed(root, server, rows, ids):
    hidden = []
    for words, hides in RULES:
        dxtest.domaindex("suppress", "add", "--root", root, *words)
        hidden.append(hides)
        compare_all(server, rows, ids, lambda u: any(h(u) for h in hidden), f"suppressed: {words}")
    return lambda u: any(h(u) for h in hidden)


def restricted(root, rows, ids, hides):
    """What a principal does not see is not counted, whatever of it is suppressed."""
    sees = {"auditor": sorted(rows), "one": ["b"], "two": ["a", "d"], "nobody": []}
    tokens = roots.principals(root, {**sees, "auditor": None})
    with dxtest.Server(root, "--poll-ms", 50) as server:
        for who, names in sees.items():
            compare_all(server, rows, ids, hides, f"as {who} sees it", tokens[who], names)
        cursor = server.get("/v1/tlds?limit=1", headers=tokens["auditor"]).json["next_cursor"]
        equal(server.get(f"/v1/tlds?cursor={cursor}", headers=tokens["two"]).status, 400, "another one's cursor")
        equal(server.get("/v1/tlds").status, 401, "without a token")


def main():
    dxtest.need_programs()
    rows = make_rows(random.Random(5))
    with dxtest.tempdir() as tmp:
        root = tmp / "root"
        for name, of in rows.items():
            text = "".join(f"{url}\t{ts}\n" for url, ts in sorted(of))
            dxtest.domaindex("ingest", "--root", root, "--format", "tsv", "--url-column", 1, "--ts-column", 2, "--no-header", "--dataset", name, "-", input=text.encode())
        dxtest.domaindex("publish", "--root", root)
        with dxtest.Server(root, "--poll-ms", 50) as server:
            ids = {d["name"]: d["dataset_id"] for d in server.get("/v1/datasets").json["datasets"]}
            compare_all(server, rows, ids, lambda u: False, "all")
            refusals(server)
            hides = suppressed(root, server, rows, ids)
        restricted(root, rows, ids, hides)
    dxtest.finish()


if __name__ == "__main__":
    main()
