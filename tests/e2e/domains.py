#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: short plain
"""GET /v1/domains against a recount of the source: names in order with their counts, of all datasets and of one, of TLDs, suffixes, prefixes, wildcards
and regular expressions, of a version of two parts.

In detail: by pages of each size, in parts, some members alone, names in Unicode; while rules of each kind hold; of each principal; refused values; cursors of another question and principal; POST of the
same path still looks names up.
"""
import collections
import fnmatch
import json
import random
import re
import time
import urllib.parse

import dxtest
import roots
from dxtest import check, equal

SUFFIXES = ("com", "co.uk", "uk", "net", "com.au", "xn--p1ai", "github.io", "io")
ASKS = ({}, {"tld": "uk"}, {"tld": "com"}, {"suffix": "co.uk"}, {"suffix": "site003.net"}, {"suffix": "io"}, {"suffix": "o.uk"}, {"prefix": "site00"},
        {"prefix": "only"}, {"prefix": "site01", "tld": "io"}, {"prefix": "zz"}, {"tld": "none"}, {"suffix": "uk", "prefix": "site0"},
        {"match": "*te00*"}, {"match": "site0?3.*"}, {"match": "*.uk"}, {"match": "*1*.com", "prefix": "site"}, {"match": "*8.co.uk"}, {"match": "*"}, {"match": "*.2.1?"},
        {"match": "????.info"}, {"match": "site003.net"}, {"match": "*none*"}, {"match": "*0*1*.*", "suffix": "uk"}, {"match": "*--*"}, {"match": "*.1*"},
        {"regex": "^site0[0-3]"}, {"regex": r"1\.(com|net)$", "match": "s*"}, {"regex": "^[0-9.]+$"}, {"regex": "."}, {"regex": "zz|yy"}, {"regex": "7.*u", "suffix": "co.uk", "prefix": "s"})
MEMBERS = ("domain", "domain_unicode", "domain_id", "dataset_count", "url_count", "row_count")
WITHIN_S = 60
FIRST = "all, in even parts"    # in the gate each question is asked only there, of all datasets
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
    rows["e"] = {(f"https://{domain}/e", 1700000000) for domain in ("site001.co.uk", "site013.xn--p1ai", "new.com", "only.info", "xn--bcher-kva.example")}
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
    return [w for w in want if w[0].startswith(ask.get("prefix", "")) and (end is None or w[0] == end or w[0].endswith("." + end)) and
            fnmatch.fnmatchcase(w[0], ask.get("match", "*")) and re.search(ask.get("regex", ""), w[0])]


def query_of(ask):
    return [f"{key}={urllib.parse.quote(value, safe='')}" for key, value in ask.items()]


def follow(server, more, words, headers):
    """All pages from this one on: items, and how many pages."""
    got, pages = [], 0
    while more is not None:
        reply = server.get(f"/v1/domains?{more}", headers=headers)
        if not equal(reply.status, 200, f"{words}: {reply.body[:200]}"):
            break
        got += page(reply)
        more, pages = reply.json["next_cursor"] and f"cursor={reply.json['next_cursor']}", pages + 1
    return got, pages


def compare_plans(server, want, words, query, headers, even):
    for ask in ASKS[::3] if dxtest.WHOLE else ASKS[::7] if words == FIRST else ASKS[len(words) % 11::11]:
        for parts in (1, 3, 64) if dxtest.WHOLE or words == FIRST else (5,):
            plan = server.get("/v1/domains?" + "&".join([f"plan={parts}", *query_of(ask)]) + query, headers=headers)
            if not equal(plan.status, 200, f"{words}, {ask} in {parts}: {plan.body[:200]}"):
                return
            got = [follow(server, f"cursor={c}", words, headers)[0] for c in plan.json["cursors"]]
            equal((len(got), sum(got, [])), (parts, some_of(want, ask)), f"{words}, {ask} in {parts} parts")
            if even and not ask:
                sizes = [len(g) for g in got]
                check(max(sizes) - min(sizes) <= 6, f"{words}: parts of {sizes}")  # names that are dead in one part count too


def members(server, want):
    """Of each set of members the items have these, in one order; A-labels are shown in Unicode where there are any."""
    whole = server.get("/v1/domains?limit=10000").json["domains"]
    equal([(d["domain"], d.get("domain_unicode")) for d in whole],
          [(w[0], w[0].encode().decode("idna") if "xn--" in w[0] else None) for w in want], "names in Unicode")
    check(any("domain_unicode" in d for d in whole), "some name has A-labels")
    for some in (("domain",), ("domain_id",), ("row_count", "domain_unicode"), ("url_count", "dataset_count"), MEMBERS):
        got = server.get(f"/v1/domains?limit=7&fields={','.join(some)}").json
        cursor = got["next_cursor"]
        rest = server.get(f"/v1/domains?cursor={cursor}&limit=10000").json["domains"]
        equal(got["domains"] + rest, [{k: d[k] for k in MEMBERS if k in d and (k in some or k == "domain")} for d in whole], f"fields={some}")
        equal(server.get(f"/v1/domains?cursor={cursor}&fields={','.join(some)}").status, 200, "the same fields")
        if len(some) < 4:
            equal(server.get(f"/v1/domains?cursor={cursor}&fields=dataset_count").status, 400, "other fields")


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
    for ask in ASKS if dxtest.WHOLE or words == FIRST else ASKS[len(words) % 11::11]:
        for limit in (1, 7, 10000) if dxtest.WHOLE else (1, 10000) if len(some_of(want, ask)) < 20 else (7, 10000):
            some = some_of(want, ask)
            got, pages = follow(server, "&".join([f"limit={limit}", *query_of(ask)]) + query, f"{words}, {ask} by {limit}", headers)
            equal((got, pages), (some, max(1, -(-len(some) // limit))), f"{words}, {ask} by {limit}")
    compare_plans(server, want, words, query, headers, "even" in words)


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
                                ("suffix=", 400, "bad-parameter"), ("suffix=..uk", 400, "bad-parameter"), ("suffix=%C3%A9*", 400, "bad-parameter"), ("prefix=%C3%A9", 400, "bad-parameter"),
                                ("prefix=a%20b", 400, "bad-parameter"), ("prefix=%00", 400, "bad-parameter"), ("prefix=" + "a" * 254, 400, "bad-parameter"),
                                ("limit=10001", 400, "limit-too-large"), ("offset=1", 400, "unknown-parameter"), ("format=cdx", 400, "bad-parameter"),
                                ("dataset=99", 404, "dataset-not-found"), ("cursor=AAAA", 400, "bad-cursor"),
                                ("match=", 400, "bad-parameter"), ("match=paypal", 400, "bad-parameter"), ("match=%C3%A9*", 400, "bad-parameter"), ("match=a%20b", 400, "bad-parameter"), ("match=" + "a" * 254, 400, "bad-parameter"),
                                ("regex=", 400, "bad-parameter"), ("regex=(", 400, "bad-parameter"), ("regex=(a)%5C1", 400, "bad-parameter"), ("regex=" + "a" * 501, 400, "bad-parameter"),
                                ("fields=name", 400, "bad-parameter"), ("plan=0", 400, "bad-parameter"), ("plan=65", 400, "bad-parameter"),
                                (f"cursor={cursor}&match=a*", 400, "cursor-mismatch"), (f"cursor={cursor}&regex=a", 400, "cursor-mismatch"), (f"cursor={cursor}&plan=2", 400, "cursor-mismatch"),
                                (f"cursor={cursor}&suffix=com", 400, "cursor-mismatch"),
                                (f"cursor={cursor}&prefix=a", 400, "cursor-mismatch"), (f"cursor={cursor}&dataset=1", 400, "cursor-mismatch")):
        reply = server.get(f"/v1/domains?{query}")
        equal((reply.status, reply.json["type"].rsplit(":", 1)[1]), (status, slug), query)
    equal(server.get("/v1/domains?tld=co%E3%80%82uk").status, 400, "a dot of another script")
    for said, name in (("suffix=.Uk.", "suffix=uk"), ("suffix=*.CO.uk", "suffix=co.uk"), ("tld=UK", "tld=uk"), ("tld=%EF%BD%95k", "tld=uk"), ("prefix=ONLY", "prefix=only"), ("match=*ONLY*", "match=*only*"),
                       ("regex=^ONLY", "regex=^only"), ("suffix=%D1%80%D1%84", "suffix=xn--p1ai")):
        equal(server.get(f"/v1/domains?{said}").body, server.get(f"/v1/domains?{name}").body, f"{said} is {name}")
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
    sees = {"auditor": sorted(rows), "one": ["b"], "two": ["a", "e"]}
    tokens = roots.principals(root, {**sees, "auditor": None})
    with dxtest.Server(root, "--poll-ms", 50) as server:
        for who, names in sees.items():
            compare_all(server, rows, ids, hides, f"as {who} sees it", tokens[who], names)
        cursor = server.get("/v1/domains?limit=1", headers=tokens["auditor"]).json["next_cursor"]
        equal(server.get(f"/v1/domains?cursor={cursor}", headers=tokens["two"]).status, 400, "another one's cursor")
        equal(server.get("/v1/domains").status, 401, "without a token")


def dear(tmp):
    """An expression that takes much: pages end early, in each part behind what was searched, and together they are whole."""
    root = tmp / "dear"
    for part in range(2):
        text = "".join(f"https://name{n:05}.{'net' if n % 3 else 'org'}/\n" for n in range(part, 24000, 2 + part))
        dxtest.domaindex("ingest", "--root", root, "--dataset", f"d{part}", "--format", "list", "-", input=text.encode())
        dxtest.domaindex("publish", "--root", root)
    with dxtest.Server(root) as server:
        for more in ("", "&dataset=d0"):
            found = {}
            for words in ("[.]n", "[a-z]*[0-9]*" * 30 + "[.]n"):
                found[words], pages, cursor = [], 0, ""
                while cursor is not None:
                    reply = server.get(f"/v1/domains?limit=10000&fields=domain&regex={urllib.parse.quote(words)}{more}{cursor and '&cursor=' + cursor}").json
                    found[words] += [d["domain"] for d in reply["domains"]]
                    cursor, pages = reply["next_cursor"], pages + 1
            plain, slow = found.values()
            check(plain == slow and len(plain) > 2000 and pages > 2, f"a dear expression{more}: {len(slow)} names on {pages} pages, not {len(plain)}")


def main():
    dxtest.need_programs()
    rows = make_rows(random.Random(6))
    with dxtest.tempdir() as tmp:
        root = tmp / "root"
        for name, of in rows.items():
            text = "".join(f"{url}\t{ts}\n" for url, ts in sorted(of))
            dxtest.domaindex("ingest", "--root", root, "--format", "tsv", "--url-column", 1, "--ts-column", 2, "--no-header", "--dataset", name, "-", input=text.encode())
            if name in ("d", "e"):     # two parts; domains of both are dead in the older one
                dxtest.domaindex("publish", "--root", root)
        equal(len(json.loads((root / "index/manifest.json").read_text())["versions"][-1].get("parts", ())) + 1, 2, "parts of the version")
        with dxtest.Server(root, "--poll-ms", 50) as server:
            ids = {d["name"]: d["dataset_id"] for d in server.get("/v1/datasets").json["datasets"]}
            compare_all(server, rows, ids, lambda u: False, FIRST)
            members(server, recount(rows, sorted(rows), lambda u: False))
            refusals(server)
            hides = suppressed(root, server, rows, ids)
        restricted(root, rows, ids, hides)
        dear(tmp)
    dxtest.finish()


if __name__ == "__main__":
    main()
