#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: short plain
"""/v1/host/{h}/urls, and sort=, reverse=, closest=, collapse= of listings over all datasets, against a model of the source.

In detail: hosts with ports, below others, with path prefixes; in orders by URL, time and nearness, alone and with filters; page by page, by cursors,
offsets and plans; while rules hide rows and pairs; for principals who see some datasets; parameters that contradict each other; a site in many datasets.
With DX_WHOLE=1 320 questions of the model, else 102.
"""
import calendar
import functools
import json
import random
import re
import time
import urllib.parse

import dxtest
from dxtest import check, equal

NAMES = ("a", "b", "c", "d")
HOSTS = ("one.com", "www.one.com", "m.one.com", "x.m.one.com", "m.one.com:8080", "am.one.com", "zm.one.com", "two.org")
T0 = 1600000000
WITHIN_S = 60


def make_rows(rng):
    """[(url, ts or None, status, digest)] of each dataset and ingest."""
    rows = {}
    for name in NAMES:
        for part in range(2 if name != "d" else 1):
            some = {}
            for _ in range(rng.randrange(80, 200)):
                url = f"http{rng.choice(('', 's'))}://{rng.choice(HOSTS)}/{rng.choice(('p/', 'p', 'q/'))}{rng.randrange(12)}"
                ts = rng.choice((None, T0 + rng.randrange(5), T0 + rng.randrange(10**7)))
                some[url, ts] = (rng.choice(("200", "404", "")), rng.choice(("AA", "BB", "CC", "")))
            # A row of both ingests would be one of the later.
            rows[name, part] = [(u, t, *more) for (u, t), more in some.items() if (u, t) not in {r[:2] for r in rows.get((name, 0), ())}]
    return rows


@functools.cache
def split(url):
    scheme, rest = url.split("://")
    host, _, path = rest.partition("/")
    return scheme, host, "/" + path


def listing(rows, ids, names, hides):
    """Rows of one.com as the listings of datasets have them: (dataset_id, place, url, ts, status, digest)."""
    out = []
    for name in sorted(names, key=ids.get):
        place = 0
        for part in range(2):
            def key(row):
                scheme, host, path = split(row[0])
                return host, path, -1 if row[1] is None else row[1], scheme
            for url, ts, status, digest in sorted((r for r in rows.get((name, part), ()) if "one.com" in r[0]), key=key):
                if not hides(url):
                    out.append((ids[name], place, url, ts, status, digest))
                place += 1
    return out


def null_first(ts):
    return (0, 0) if ts is None else (1, ts)


ORDERS = {
    "": lambda r: (r[0], r[1]),
    "sort=url": lambda r: (*split(r[2])[1:], null_first(r[3]), r[0], r[1]),
    "sort=time": lambda r: (null_first(r[3]), r[0], r[1]),
    "closest=20200915": lambda r: ((1, 0, 0) if r[3] is None else (0, abs(r[3] - 1600128000), r[3] > 1600128000), r[0], r[1]),
}


def digits(ts, n):
    return None if ts is None else time.strftime("%Y%m%d%H%M%S", time.gmtime(ts))[:n]


def term(text, row):
    """A term of filter= by Python's re."""
    negated, text = text.startswith("!"), text.lstrip("!")
    field, _, value = text[1:].partition(":")
    ts = row[3] and time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(row[3]))
    has = {"url": row[2], "host": split(row[2])[1], "path": split(row[2])[2], "ts": ts, "status": row[4] or None, "digest": row[5] or None}[field]
    return (has is not None and (has == value if text[0] == "=" else re.search(value, has) is not None)) != negated


COLLAPSES = {
    "": None,
    "collapse=url": lambda r: split(r[2])[1:],
    "collapse=host": lambda r: split(r[2])[1],
    "collapse=digest": lambda r: r[5] or None,
    "collapse=time:8": lambda r: digits(r[3], 8),
    "collapse=time:14": lambda r: digits(r[3], 14),
}
FILTERS = {
    "": lambda r: True, "status=200": lambda r: r[4] == "200", "from=20200914&to=2020-10": lambda r: r[3] is not None and 1600041600 <= r[3] < 1604188800,
    "filter=status:404&filter=!digest:AA": lambda r: r[4] == "404" and r[5] != "AA",
    **{"&".join(f"filter={urllib.parse.quote(t)}" for t in terms): lambda r, terms=terms: all(term(t, r) for t in terms) for terms in (
        ["~url:/p/?1[01]?$"], ["!~url:^https://(m|x)[.]"], ["=host:one.com"], ["~host:^(www|x[.]m)[.]one", "~path:[02468]$"], ["~ts:^2020-(09|1[012])"], ["!~ts:2020"],
        ["~digest:^[AB]+$", "!=status:200"], ["!~digest:^[AB]+$"], ["=ts:2020-09-13T12:26:40Z"], ["~status:", "~digest:(A|C){2}", "!=path:/p/3", "~path:^/p"], ["~url:a{1,40}b", "=path:/q"])},
    "prefix=/p/": lambda r: split(r[2])[2].startswith("/p/"), "dataset=c,a": None,
}
SCOPES = {
    "/v1/domain/one.com/urls": lambda host: True,
    "/v1/host/WWW.one.com/urls": lambda host: host == "www.one.com",
    "/v1/host/m.one.com:8080/urls": lambda host: host == "m.one.com:8080",
    "/v1/host/m.one.com/urls?subdomains=yes": lambda host: host in ("m.one.com", "m.one.com:8080", "x.m.one.com"),
    "/v1/host/one.com/urls?subdomains=yes": lambda host: True,
    "/v1/host/one.com/urls": lambda host: host == "one.com",
}


def collapsed(rows, value):
    out, last = [], None
    for row in rows:
        this = value(row)
        if this is None or this != last:
            out.append(row)
        last = this
    return out


def expect(rows, scope, order, reverse, collapse, taken):
    some = sorted((r for r in rows if SCOPES[scope](split(r[2])[1]) and taken(r)), key=ORDERS[order], reverse=reverse)
    return [(r[0], r[2], r[3]) for r in (collapsed(some, COLLAPSES[collapse]) if collapse else some)]


def items(reply):
    def seconds(ts):
        return None if ts is None else calendar.timegm(time.strptime(ts, "%Y-%m-%dT%H:%M:%SZ"))
    equal(sorted({i["dataset_id"] for i in reply["items"]}), [d["dataset_id"] for d in reply["datasets"]], "datasets of a page")
    return [(i["dataset_id"], i["url"], seconds(i["ts"])) for i in reply["items"]]


def follow(server, target, headers):
    """All pages by their cursors, and the first one."""
    path, got, first = target.split("?")[0], [], None
    while target is not None:
        reply = server.get(target, headers=headers)
        if not equal(reply.status, 200, f"{target}: {reply.body[:300]}"):
            return got, first
        first = first or reply.json
        got += items(reply.json)
        target = reply.json["next_cursor"] and f"{path}?cursor={reply.json['next_cursor']}"
    return got, first


def compare(server, rng, rows, ids, names, words, headers=None, hides=lambda u: False, tries=40 if dxtest.WHOLE else 14):
    known = listing(rows, ids, names, hides)
    for _ in range(tries):
        scope, order, collapse, text = (rng.choice(list(of)) for of in (SCOPES, ORDERS, COLLAPSES, FILTERS))
        reverse = order not in ("", "closest=20200915") and rng.random() < 0.5
        collapse = "" if order == "" else collapse
        if text.startswith("dataset="):
            if not {"a", "c"} <= set(names):
                continue
            taken = lambda r: r[0] in (ids["a"], ids["c"])
        else:
            taken = FILTERS[text]
        want = expect(known, scope, order, reverse, collapse, taken)
        limit = rng.choice((3, 17, 10000)) if len(want) < 60 else rng.choice((97, 10000))
        query = "&".join(w for w in (scope.partition("?")[2], order, "reverse=yes" * reverse, collapse, text, f"limit={limit}") if w)
        target = f"{scope.partition('?')[0]}?{query}"
        got, first = follow(server, target, headers)
        if not equal(got, want, f"{words}: {target}"):
            continue
        exact = not collapse and "subdomains" not in scope and (text in ("", "dataset=c,a") or (text == "prefix=/p/" and "/host/" in scope))
        equal(first.get("total"), len(want) if exact else None, f"{words}: {target}, total")
        check(("cost" in first) == (not HIDING) or order == "", f"{target}: cost")
        if exact:
            equal(first["dataset_count"], len({w[0] for w in want}) or first["dataset_count"], f"{target}: dataset_count")
    offsets(server, known, words, headers)


def offsets(server, known, words, headers):
    for target, scope, taken in (("/v1/host/www.one.com/urls?", "/v1/host/WWW.one.com/urls", lambda r: True),
                                 ("/v1/host/one.com/urls?prefix=/q/&", "/v1/host/one.com/urls", lambda r: "/q/" in r[2])):
        want = expect(known, scope, "", False, "", taken)
        for offset in (0, 1, len(want) // 2, len(want), len(want) + 9, 2**63 - 1):
            reply = server.get(f"{target}offset={offset}&limit=5", headers=headers).json
            equal((items(reply), reply["total"], reply["next_offset"]), (want[offset:offset + 5], len(want), offset + 5 if offset + 5 < len(want) else None), f"{words}: {target} {offset}")
        for parts in (1, 5, 64):
            plan = server.get(f"{target}plan={parts}", headers=headers).json["cursors"]
            got = [row for c in plan for row in follow(server, f"{target.split('?')[0]}?cursor={c}", headers)[0]]
            equal(got, want, f"{words}: {target} in {parts} parts")


def refusals(server):
    for target, status, slug in (
            ("domain/one.com/urls?sort=up", 400, "bad-parameter"), ("domain/one.com/urls?reverse=1", 400, "bad-parameter"),
            ("domain/one.com/urls?closest=x", 400, "bad-parameter"), ("domain/one.com/urls?closest=2020&sort=time", 400, "bad-parameter"),
            ("domain/one.com/urls?closest=2020&reverse=yes", 400, "bad-parameter"), ("domain/one.com/urls?collapse=time", 400, "bad-parameter"),
            ("domain/one.com/urls?collapse=time:3", 400, "bad-parameter"), ("domain/one.com/urls?collapse=time:15", 400, "bad-parameter"),
            ("domain/one.com/urls?sort=url&offset=2", 400, "bad-parameter"), ("domain/one.com/urls?collapse=url&plan=2", 400, "bad-parameter"),
            ("host/one.com/urls?subdomains=yes&offset=1", 400, "bad-parameter"), ("host/none.one.com/urls", 404, "host-not-found"),
            ("host/none.com/urls", 404, "domain-not-found"), ("host/com/urls", 400, "not-a-domain"), ("host/one.com:99999/urls", 400, "not-a-domain"),
            ("domain/one.com/urls?filter=~url:(", 400, "bad-parameter"), ("domain/one.com/urls?filter=~url", 400, "bad-parameter"), ("domain/one.com/urls?filter=~locator:x", 400, "bad-parameter"),
            ("domain/one.com/urls?filter=a:b&filter=a:b&filter=a:b&filter=a:b&filter=a:b", 400, "bad-parameter"), ("host/one.com/urls?filter=%3Durl:x&offset=1", 400, "bad-parameter"),
            ("domain/one.com/datasets/1/urls?filter=~url:(a)%5C1", 400, "bad-parameter"), ("host/one.com/urls?dataset=zz", 404, "dataset-not-found"), ("host/one.com/urls?sort=url&sort=url", 400, "duplicate-parameter")):
        reply = server.get(f"/v1/{target}")
        equal((reply.status, reply.json["type"].rsplit(":", 1)[1]), (status, slug), target)
    path = "/v1/domain/one.com/urls"
    cursor = server.get(f"{path}?sort=url&limit=3&collapse=host").json["next_cursor"]
    host = server.get("/v1/host/one.com/urls?limit=1").json["next_cursor"]
    plain = server.get(f"{path}?limit=1").json["next_cursor"]
    for target in (f"{path}?cursor={cursor}&sort=time", f"{path}?cursor={cursor}&sort=url&reverse=yes", f"{path}?cursor={cursor}&sort=url", f"{path}?cursor={cursor}&offset=1",
                   f"/v1/host/one.com/urls?cursor={cursor}", f"/v1/host/www.one.com/urls?cursor={host}", f"{path}?cursor={host}", f"{path}?cursor={plain}&sort=url",
                   f"/v1/host/one.com/urls?cursor={host}&subdomains=yes"):
        reply = server.get(target)
        equal((reply.status, reply.json["type"].rsplit(":", 1)[1]), (400, "cursor-mismatch"), target)
    equal(server.get(f"{path}?cursor={cursor}&sort=url&collapse=host&limit=2").status, 200, "the same order")


RULES = ((["--host", "m.one.com", "--policy", "absent"], lambda u: split(u)[1] == "m.one.com"),
         (["--prefix", "https://one.com/p/"], lambda u: split(u)[1] == "one.com" and split(u)[2].startswith("/p/")))


HIDING = []    # rules in force: no answer has a cost then


def suppressed(root, server, rng, rows, ids):
    hidden = HIDING
    for words, hides in RULES:
        dxtest.domaindex("suppress", "add", "--root", root, *words)
        hidden.append(hides)
        want = len(listing(rows, ids, NAMES, lambda u: any(h(u) for h in hidden)))
        dxtest.wait_until(lambda: server.get("/v1/domain/one.com/urls?limit=1").json.get("total") == want, WITHIN_S)
        compare(server, rng, rows, ids, NAMES, f"while {words}", hides=lambda u: any(h(u) for h in hidden))
    return lambda u: any(h(u) for h in hidden)


def restricted(root, rng, rows, ids, hides):
    def access(*words):
        return dxtest.domaindex("access", *words, "--root", root).stdout.decode().strip()
    access("init")
    access("principal", "add", "some")
    access("grant", "name:a", "name:c", "--to", "some")
    token = {"Authorization": f"Bearer {access('token', 'new', 'some')}"}
    with dxtest.Server(root, "--poll-ms", 50) as server:
        dxtest.wait_until(lambda: server.get("/v1/domain/one.com/urls?limit=1", headers=token).status == 200, WITHIN_S)
        compare(server, rng, rows, ids, ("a", "c"), "of some datasets", token, hides)


def in_many(tmp):
    """A site that many datasets have, of which one has most rows: pages by URL are short where files have to be read again."""
    root = tmp / "many"
    rows = [(f"set{d:03}", f"https://{'ab'[n % 2]}.hot.com/{n * 7 % 13}/{d}/{n}") for d in range(300) for n in range(3 if d != 77 else 9000)]
    quoted = {name_url: json.dumps(tags_of(*name_url)).replace('"', '""') for name_url in rows}
    text = "dataset,url,tags\n" + "".join(f'{name},{url},"{quoted[name, url]}"\n' for name, url in rows)
    dxtest.domaindex("ingest", "--root", root, "--format", "csv", "--dataset-column", "dataset", "--url-column", "url", "--extra-column", "tags", "-",
                     input=text.encode())
    dxtest.domaindex("publish", "--root", root)
    with dxtest.Server(root) as server:
        ids = {d["name"]: d["dataset_id"] for d in server.get("/v1/datasets?limit=300").json["datasets"]}
        for target, taken in (("/v1/domain/hot.com/urls?sort=url", ""), ("/v1/host/b.hot.com/urls?sort=url&reverse=yes", "//b."),
                              ("/v1/domain/hot.com/urls?sort=url&prefix=/3/", "m/3/"), ("/v1/host/a.hot.com/urls?prefix=/12/&sort=url", "//a.hot.com/12/"),
                              ("/v1/domain/hot.com/urls?sort=time", None)):
            want = sorted(((ids[name], url, None) for name, url in rows if (taken or "") in url),
                          key=lambda r: (r[0] if taken is None else "", *split(r[1])[1:], r[0]), reverse="reverse" in target)
            for limit in (10000, 977) if dxtest.WHOLE or taken else (977,):
                equal(follow(server, f"{target}&limit={limit}", None)[0], want, f"{target} by {limit}")
        for words in ("sort=url", "sort=url&reverse=yes"):
            want, _ = follow(server, f"/v1/domain/hot.com/urls?{words}&limit=10000", None)
            equal(by_limits(server, words, (1001, 5, 300, 1500, 999, 1, 2000, 1000)), want, f"{words} by limits that change: where a page begins, no stretch may")
        tagged(server, ids, rows)
        kept = costs(server)
        check(all(c["rows"] < 5000 for c in kept), f"a page of 1000 rows of {len(rows)} has looked at {kept} of them")
    with dxtest.Server(root, "--cache-pages", "1M") as server:
        equal(costs(server), kept, "what was read is counted in the same way whether it is kept or not")


@functools.cache
def tags_of(name, url):
    number, path = int(url.rsplit("/", 1)[1]), split(url)[2]
    return [tag for tag, has in (("far", number % 500 == 3), ("near", path.startswith("/3/")), ("small", name.endswith("50")), ("other", number % 3 == 0)) if has]


def tagged(server, ids, rows):
    """In orders too tags are of tags.dxt: rows far from one that has the tag are not looked at."""
    for tag, most in (("far", 1500), ("near", 1500), ("small", 200), ("none", 0)):
        for order in ("sort=url", "sort=time", "sort=url&reverse=yes", "sort=url&filter=~path:5", "sort=time&reverse=yes&filter=~path:5"):
            want = sorted(((ids[name], url, None) for name, url in rows if tag in tags_of(name, url) and ("filter" not in order or "5" in split(url)[2])),
                          key=lambda r: (*(split(r[1])[1:] if "url" in order else ("", "")), r[0], *split(r[1])[1:]), reverse="reverse" in order)
            for limit in (10000, 7 if dxtest.WHOLE or len(want) < 100 else 70):
                equal(follow(server, f"/v1/domain/hot.com/urls?{order}&tag={tag}&limit={limit}", None)[0], want, f"{order}, tag {tag} by {limit}")
            cost = server.get(f"/v1/domain/hot.com/urls?{order}&tag={tag}&limit=10000").json["cost"]
            if order != "sort=url&reverse=yes":
                check(cost["rows"] <= most, f"{order}, tag {tag}: {cost} for {len(want)} rows")


def by_limits(server, words, limits):
    path, out, turn, query = "/v1/domain/hot.com/urls", [], 0, words
    while query:
        reply = server.get(f"{path}?{query}&limit={limits[turn % len(limits)]}").json
        check(len(reply["items"]) == limits[turn % len(limits)] or reply["next_cursor"] is None, f"{path}?{query}: {len(reply['items'])} rows")
        out += items(reply)
        turn += 1
        query = reply["next_cursor"] and f"cursor={reply['next_cursor']}"
    return out


def costs(server):
    """Of the first pages by URL, each asked twice."""
    path, out, query = "/v1/domain/hot.com/urls", [], "sort=url&limit=1000"
    for _ in range(4):
        twice = [server.get(f"{path}?{query}").json for _ in range(2)]
        equal(twice[0]["cost"], twice[1]["cost"], f"{path}?{query}: the second time")
        out.append(twice[0]["cost"])
        query = f"cursor={twice[0]['next_cursor']}"
    return out


def main():
    dxtest.need_programs()
    rng = random.Random(2020)
    rows = make_rows(rng)
    with dxtest.tempdir() as tmp:
        root = tmp / "root"
        for (name, _), some in rows.items():
            text = "url,ts,status,digest\n" + "".join(f"{u},{'' if t is None else t},{s},{d}\n" for u, t, s, d in some)
            dxtest.domaindex("ingest", "--root", root, "--format", "csv", "--dataset", name, "--extra-column", "status", "--extra-column", "digest", "-", input=text.encode())
        dxtest.domaindex("publish", "--root", root)
        with dxtest.Server(root, "--poll-ms", 50) as server:
            ids = {d["name"]: d["dataset_id"] for d in server.get("/v1/datasets").json["datasets"]}
            compare(server, rng, rows, ids, NAMES, "all", tries=200 if dxtest.WHOLE else 60)
            refusals(server)
            hides = suppressed(root, server, rng, rows, ids)
        restricted(root, rng, rows, ids, hides)
        in_many(tmp)
    dxtest.finish()


if __name__ == "__main__":
    main()
