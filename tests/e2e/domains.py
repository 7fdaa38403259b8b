#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: short
"""GET /v1/domains against a recount of the source: names in order with their counts, of all datasets and of one, of TLDs, suffixes and prefixes.

In detail: by pages of each size; while rules of each kind hold; of each principal; refused values; cursors of another question and principal; POST of the
same path still looks names up.
"""
import collections
import random
import time

import dxtest
from dxtest import check, equal

SUFFIXES = ("com", "co.uk", "uk", "net", "com.au", "xn--p1ai", "github.io", "io")
ASKS = ({}, {"tld": "uk"}, {"tld": "com"}, {"suffix": "co.uk"}, {"suffix": "site003.net"}, {"suffix": "io"}, {"suffix": "o.uk"}, {"prefix": "site00"},
        {"prefix": "only"}, {"prefix": "site01", "tld": "io"}, {"prefix": "zz"}, {"tld": "none"}, {"suffix": "uk", "prefix": "site0"})
WITHIN_S = 60
RULES = (
    (["--domain", "site003.net"], lambda u: domain_of(u) == "site003.net"),
    (["--domain", "site008.com", "--policy", "absent"], lambda u: domain_of(u) == "site008.com"),
    (["--host", "www.site009.co.uk", "--policy", "absent"], lambda u: "//www.site009.co.uk/" in u),
    (["--host", "site001.co.uk", "--host", "www.site001.co.uk"], lambda u: domain_of(u) == "site001.co.uk"),
    (["--prefix", "https://192.0.2.11/p/"], lambda u: u.startswith("https://192.0.2.11/p/")),
)


def domain_of(url):
    host = url.split("/")[2]
    return host[4:] if host.startswith("www.") else host


def make_rows(rng):
    rows = {}
    for name in ("a", "b", "c", "d"):
        rows[name] = set()
        for i in range(120):
            domain = f"site{i:03}.{SUFFIXES[i % len(SUFFIXES)]}" if i % 11 else f"192.0.2.{i % 250}"
            if rng.random() < 0.5:
                for n in range(rng.randrange(1, 7)):
                    host = domain if i % 11 == 0 else rng.choice(("", "www.")) + domain
                    url = f"https://{host}/{rng.choice('pq')}/{n}"
                    rows[name] |= {(url, 1700000000 + rng.randrange(3)) for _ in range(rng.randrange(1, 3))}
    rows["d"] |= {(f"https://only.info/{n}", 1700000000) for n in (1, 2)}
    return rows


def key_of(domain):
    """Addresses as they are, else label by label from the end."""
    return [domain] if domain.split(".")[-1].isdigit() else domain.split(".")[::-1]


def recount(rows, names, hides):
    """(domain, datasets, URLs, rows)."""
    datasets, urls, count = collections.Counter(), collections.Counter(), collections.Counter()
    for name in names:
        left = {row for row in rows[name] if not hides(row[0])}
        datasets.update({domain_of(url) for url, _ in left})
        urls.update(domain_of(url) for url in {url for url, _ in left})
        count.update(domain_of(url) for url, _ in left)
    return [(d, datasets[d], urls[d], count[d]) for d in sorted(datasets, key=key_of)]


def some_of(want, ask):
    end = ask.get("suffix", ask.get("tld"))
    return [w for w in want if w[0].startswith(ask.get("prefix", "")) and (end is None or w[0] == end or w[0].endswith("." + end))]


def page(reply):
    return [(d["domain"], d["dataset_count"], d["url_count"], d["row_count"]) for d in reply.json["domains"]]


def compare(server, want, words, query="", headers=None):
    """All of them, which may have to wait for what rules hide; then each question by pages."""
    end = time.monotonic() + WITHIN_S
    target = "/v1/domains?limit=10000" + query
    reply = server.get(target, headers=headers)
    while (reply.status == 503 or (reply.status == 200 and page(reply) != want)) and time.monotonic() < end:
        time.sleep(0.05)
        reply = server.get(target, headers=headers)
    if not equal(reply.status, 200, f"{words}: {reply.body[:300]}"):
        return
    for ask in ASKS:
        for limit in (1, 7, 10000):
            got, cursor, pages, some = [], None, 0, some_of(want, ask)
            while cursor is not None or pages == 0:
                more = f"cursor={cursor}" if cursor else "&".join([f"limit={limit}", *(f"{k}={v}" for k, v in ask.items())]) + query
                reply = server.get(f"/v1/domains?{more}", headers=headers)
                if not equal((reply.status, len(reply.json.get("domains", ())) <= limit), (200, True), f"{words}, {ask} by {limit}: {reply.body[:200]}"):
                    return
                got += page(reply)
                cursor, pages = reply.json["next_cursor"], pages + 1
            equal((got, pages), (some, max(1, -(-len(some) // limit))), f"{words}, {ask} by {limit}")


def compare_all(server, rows, ids, hides, words, headers=None, names=None):
    names = sorted(rows) if names is None else names
    compare(server, recount(rows, names, hides), words, headers=headers)
    for name, number in ids.items():
        if name in names:
            compare(server, recount(rows, [name], hides), f"{words}, {name}", f"&dataset={number}", headers)
        else:
            equal(server.get(f"/v1/domains?dataset={number}", headers=headers).status, 404, f"{words}, {name} is hidden")


def refusals(server):
    cursor = server.get("/v1/domains?limit=2&suffix=uk").json["next_cursor"]
    for query, status, slug in (("tld=co.uk", 400, "bad-parameter"), ("tld=uk&suffix=co.uk", 400, "bad-parameter"), ("suffix=co.uk&tld=uk", 400, "bad-parameter"),
                                ("suffix=", 400, "bad-parameter"), ("suffix=.uk", 400, "bad-parameter"), ("suffix=UK", 400, "bad-parameter"),
                                ("prefix=a%20b", 400, "bad-parameter"), ("prefix=%00", 400, "bad-parameter"), ("prefix=" + "a" * 254, 400, "bad-parameter"),
                                ("limit=10001", 400, "limit-too-large"), ("offset=1", 400, "unknown-parameter"), ("format=csv", 400, "unknown-parameter"),
                                ("dataset=99", 404, "dataset-not-found"), ("cursor=AAAA", 400, "bad-cursor"), (f"cursor={cursor}&suffix=com", 400, "cursor-mismatch"),
                                (f"cursor={cursor}&prefix=a", 400, "cursor-mismatch"), (f"cursor={cursor}&dataset=1", 400, "cursor-mismatch")):
        reply = server.get(f"/v1/domains?{query}")
        equal((reply.status, reply.json["type"].rsplit(":", 1)[1]), (status, slug), query)
    for path in ("/v1/tlds", "/v1/tags", "/v1/changes"):
        equal(server.get(f"{path}?cursor={cursor}").status, 400, f"its cursor at {path}")
    equal(server.get(f"/v1/domains?cursor={cursor}&suffix=uk&limit=1").status, 200, "the same question")
    reply = server.get("/v1/domains", method="POST", body=b"only.info\n")
    check(reply.status == 200 and b'"found":true' in reply.body, "POST of the same path")
    equal(server.get("/v1/domains", method="PUT").headers["allow"], "GET, HEAD, POST", "methods")


def suppressed(root, server, rows, ids):
    hidden = []
    for words, hides in RULES:
        dxtest.domaindex("suppress", "add", "--root", root, *words)
        hidden.append(hides)
        compare_all(server, rows, ids, lambda u: any(h(u) for h in hidden), f"suppressed: {words}")
    return lambda u: any(h(u) for h in hidden)


def restricted(root, rows, ids, hides):
    def access(*words):
        return dxtest.domaindex("access", *words, "--root", root).stdout.decode().strip()
    access("init")
    sees = {"auditor": sorted(rows), "one": ["b"], "two": ["a", "d"]}
    for who, names in sees.items():
        access("principal", "add", who, *(["--all"] if who == "auditor" else []))
        if who != "auditor":
            access("grant", *names, "--to", who)
    tokens = {who: {"Authorization": f"Bearer {access('token', 'new', who)}"} for who in sees}
    with dxtest.Server(root, "--poll-ms", 50) as server:
        for who, names in sees.items():
            compare_all(server, rows, ids, hides, f"as {who} sees it", tokens[who], names)
        cursor = server.get("/v1/domains?limit=1", headers=tokens["auditor"]).json["next_cursor"]
        equal(server.get(f"/v1/domains?cursor={cursor}", headers=tokens["two"]).status, 400, "another one's cursor")
        equal(server.get("/v1/domains").status, 401, "without a token")


def main():
    dxtest.need_programs()
    rows = make_rows(random.Random(6))
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
