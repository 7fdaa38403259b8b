#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: plain
"""Filters, plans and formats of /v1/range and /v1/suffix/{suffix}/urls against the rows that were ingested.

What a filter takes is decided in Python from the rows of the source, in the order that `ranges` and `suffix` check: small domains, whose rows are all read, and
large ones, of which the index says where to look; ranges of everything, of a domain, of a part of one; pages of each size; parts of a plan one
after the other are the listing; NDJSON, CSV, CDXJ, Arrow; rules, which leave no trace in pages, plans and cost; a cursor over a publish and a filling of the registry;
offsets, bad values and mixed-up cursors are refused, with what to ask instead.

DX_WHOLE=1: both layouts of numbers, else one.
"""
import csv
import datetime
import io
import itertools
import json
import random
import urllib.parse

import dxtest
import roots
from dxtest import check, equal

END = 2**64
SMALL, LARGE, LARGE_ROWS = 25, ("huge.com", "vast.co.uk"), 5000
STATUS, LANG, KIND, TAGS = ("200", "301", ""), ("en", "de", ""), ("text/html", "TEXT/plain; charset=x", "image/png", ""), ("news", "a b", "rare")
BEGAN = 1700000000


def make_rows(rng):
    """{dataset: {(url, ts): row}}"""
    out = {"a": {}, "b": {}, "c": {}}

    def add(name, url):
        n = len(out[name])
        ts = BEGAN + n * 7 % 90000
        out[name][url, ts] = {"url": url, "ts": ts, "status": rng.choice(STATUS), "language": rng.choice(LANG), "content_type": rng.choice(KIND),
                              "tags": rng.choice(["", '["news"]', '["a b","news"]', '["rare"]' if rng.random() < 0.05 else ""]), "digest": f"D{n % 13}"}

    for name in out:
        for i in range(SMALL):
            domain = f"d{i}.{('com', 'org', 'co.uk', 'uk')[i % 4]}"
            for _ in range(rng.randrange(0, 40)):
                add(name, f"https://{rng.choice(('', 'www.', 's1.', 's2.'))}{domain}/{rng.choice(('a', 'b/c', 'p'))}{rng.randrange(30)}")
    for domain in LARGE:
        for i in range(LARGE_ROWS):
            add("ab"[i % 7 == 0], f"https://{rng.choice(('', 'www.', 'm.'))}{domain}/{rng.choice('abp')}{i:05}")
    return out


def ingest(root, rows):
    for name, of in rows.items():
        text = io.StringIO()
        writer = csv.DictWriter(text, ["url", "ts", "status", "language", "content_type", "tags", "digest"])
        writer.writeheader()
        writer.writerows(of.values())
        extras = [w for c in ("status", "language", "content_type", "tags", "digest") for w in ("--extra-column", c)]
        dxtest.domaindex("ingest", "--root", root, "--dataset", name, "--format", "csv", "--ts-column", "ts", *extras, "-", input=text.getvalue().encode())
    dxtest.domaindex("publish", "--root", root)


def stamp(ts):
    return datetime.datetime.fromtimestamp(ts, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def path_of(row):
    return "/" + row["url"].split("/", 3)[3]


# A query and what it takes; {from} and {to} are the names that times have.
FILTERS = (
    ("status=301", lambda r: r["status"] == "301"),
    ("lang=DE&status=200", lambda r: (r["language"], r["status"]) == ("de", "200")),
    ("mime=text/*", lambda r: r["content_type"].lower().startswith("text/")),
    ("tag=rare", lambda r: "rare" in r["tags"]),
    ("tag=news&mime=image/png", lambda r: "news" in r["tags"] and r["content_type"] == "image/png"),
    ("prefix=/b", lambda r: path_of(r).startswith("/b")),
    ("prefix=/p0", lambda r: path_of(r).startswith("/p0")),
    ("filter=digest:D5", lambda r: r["digest"] == "D5"),
    ("filter=!digest:D5&filter=~url:7$", lambda r: r["digest"] != "D5" and r["url"].endswith("7")),
    (f"{{from}}={stamp(BEGAN + 20000)}&{{to}}={stamp(BEGAN + 30000)}", lambda r: BEGAN + 20000 <= r["ts"] <= BEGAN + 30000),
    ("{from}=2031", lambda r: False),
    ("filter==host:www.huge.com", lambda r: r["url"].split("/")[2] == "www.huge.com"),
)


def named(query, numbers):
    return query.replace("{from}", "from_ts" if numbers else "from").replace("{to}", "to_ts" if numbers else "to")


def quoted(query):
    return urllib.parse.quote(query, safe="=&!~:/*$,")


def follow(server, target, cursor=None, headers=None, hiding=False, limit=None):
    """All items of a listing, or of what a cursor leaves; each page says what it cost but while rules are in force."""
    items, first = [], True
    path, _, query = target.partition("?")
    while first or cursor:
        at = f"{path}?cursor={cursor}" + (f"&limit={limit}" if limit else "") if cursor else f"{path}?{query}" + (f"&limit={limit}" if limit else "")
        reply = server.get(at, headers=headers)
        if not equal(reply.status, 200, f"{at}: {reply.body[:300]}"):
            return items
        page = reply.json
        costs = path == "/v1/range" or any(word in query for word in ("filter", "status", "tag", "prefix", "lang", "mime", "from", "to="))
        if not cursor:
            equal("cost" in page, costs and not hiding, f"{at}: cost")
        if not hiding and "cost" in page:
            check(page["cost"]["rows"] >= len(page["items"]) and page["cost"]["rows"] <= 140000, f"{at}: {page['cost']} for {len(page['items'])} rows")
        items, cursor, first = items + page["items"], page["next_cursor"], False
    return items


def whole(server, target, headers=None, hiding=False):
    return follow(server, target + "&fields=url,ts,extras,content_type,tags", headers=headers, hiding=hiding, limit=10000)


def source_of(item, rows):
    """The row of the source."""
    ts = int(datetime.datetime.fromisoformat(item["ts"].replace("Z", "+00:00")).timestamp())
    return rows["abc"[item["dataset_id"] - 1]][item["url"], ts]


def scopes(server, listed, rng):
    """Targets, of which the rows follow from those of all: a test of the number, or of the domain."""
    some = [int(i["domain64"], 16) for i in rng.sample(listed, 6)]
    yield "/v1/range?from=0", lambda i: True
    huge = next(int(i["domain64"], 16) for i in listed if i["domain"] == "huge.com")
    for first, end in [(n >> shift << shift, (n >> shift << shift) + 2**shift) for n, shift in zip(some, (56, 32, 24, 32, 24, 56))] + \
            [(huge >> 32 << 32, (huge >> 32 << 32) + 2**32), (huge, huge + 2**24), (huge - 2**32, huge + 1), (min(some), max(some)), (max(some), END)]:
        yield f"/v1/range?from=0x{first:x}" + (f"&to=0x{end:x}" if end < END else ""), lambda i, a=first, b=end: a <= int(i["domain64"], 16) < b
    for suffix in ("com", "co.uk", "uk", "huge.com", "d3.uk"):
        yield f"/v1/suffix/{suffix}/urls?limit=1000", lambda i, s=suffix: i["domain"] == s or i["domain"].endswith("." + s)


def row_keys(items):
    return [(i["url"], i["ts"], i["domain"], i["dataset_id"], i.get("domain64")) for i in items]


def without_numbers(keys):
    return sorted(k[:4] for k in keys)


def compare(server, rows, rng, words, hides=lambda url: False, asks=40):
    """Filtered listings of each scope, by pages, plans and streams."""
    hiding = hides("https://d1.org/")
    listed = whole(server, "/v1/range?from=0", hiding=hiding)
    equal(sorted((i["url"], i["ts"], i["dataset_id"]) for i in listed),
          sorted((u, stamp(t), "abc".index(n) + 1) for n, of in rows.items() for u, t in of if not hides(u)), f"{words}: all rows are there, and have numbers")
    asks, source, whole_of = asks if dxtest.WHOLE else asks // 4, [source_of(i, rows) for i in listed], {}
    for (target, within), (query, takes) in rng.sample(list(itertools.product(list(scopes(server, listed, rng)), FILTERS)), asks):
        numbers = target.startswith("/v1/range")
        asked = target.replace("limit=1000", "fields=url,ts") + ("&fields=url,ts" if numbers else "") + "&" + quoted(named(query, numbers))
        want = row_keys(i for i, row in zip(listed, source) if takes(row) and within(i))
        limit = rng.choice((1, 7, 100, 10000)) if len(want) < 60 else rng.choice((100, 1000))
        got = row_keys(follow(server, asked, hiding=hiding, limit=limit))
        if numbers:
            equal(got, want, f"{words}: {asked} by {limit}")
        else:
            if target not in whole_of:
                whole_of[target] = row_keys(follow(server, target.replace("limit=1000", "fields=url,ts"), hiding=hiding, limit=10000))
            some = set(got)
            equal(without_numbers(got), without_numbers(want), f"{words}: {asked} by {limit}")
            equal(got, [k for k in whole_of[target] if k in some], f"{words}: {asked}, in order")
        check_plan(server, asked, got, rng.choice((1, 2, 5, 64)), words, hiding)
        lines = [json.loads(line) for line in server.get(f"{asked}&format=ndjson").body.splitlines()]
        equal(row_keys(lines), got, f"{words}: {asked} as NDJSON")


def check_plan(server, asked, want, parts, words, hiding):
    """Disjoint parts, which are the whole listing one after the other, also as streams."""
    path, query = asked.split("?")
    reply = server.get(f"{asked}&plan={parts}")
    if not equal(reply.status, 200, f"{asked}, plan={parts}: {reply.body[:300]}"):
        return
    plan = reply.json
    equal((len(plan["cursors"]), "items" in plan, "next_cursor" in plan, "cost" in plan), (parts, False, False, False), f"{asked}: a plan")
    got = []
    for i, cursor in enumerate(plan["cursors"]):
        if i % 2:
            got += row_keys(json.loads(line) for line in server.get(f"{path}?cursor={cursor}&format=ndjson").body.splitlines())
        else:
            got += row_keys(follow(server, path, cursor, hiding=hiding, limit=1000))
    equal(got, want, f"{words}: {asked} in {parts} parts")


def check_formats(server):
    target = "/v1/range?from=0&status=301&fields=url,ts"
    items = follow(server, target)
    text = list(csv.DictReader(io.StringIO(server.get(f"{target}&format=csv").body.decode())))
    equal([(r["url"], r["domain64"], r["domain"], r["dataset_id"]) for r in text], [(i["url"], i["domain64"], i["domain"], str(i["dataset_id"])) for i in items], "CSV")
    urls = server.get("/v1/range?from=0&status=301&format=urls").body.decode().split()
    equal(urls, [i["url"] for i in items], "URLs")
    lines = server.get("/v1/range?from=0&status=301&format=cdxj").body.decode().splitlines()
    equal(([json.loads(line.split(" ", 2)[2])["url"] for line in lines], {json.loads(line.split(" ", 2)[2])["status"] for line in lines}), (urls, {"301"}), "CDXJ")
    try:
        import pyarrow.ipc
    except ImportError:
        print("pyarrow is not here: Arrow was not read", flush=True)
    else:
        table = pyarrow.ipc.open_stream(server.get(f"{target}&format=arrow").body).read_all().to_pylist()
        equal([(r["url"], r["domain64"], r["dataset_id"]) for r in table], [(i["url"], i["domain64"], i["dataset_id"]) for i in items], "Arrow")


def check_even(server):
    """Parts of everything have about as many domains each."""
    sizes = []
    for cursor in server.get("/v1/range?from=0&plan=4&fields=url").json["cursors"]:
        sizes.append(len({i["domain"] for i in follow(server, "/v1/range", cursor, limit=10000)}))
    check(max(sizes) - min(sizes) <= 1 and sum(sizes) == SMALL + len(LARGE), f"domains of parts: {sizes}")


def check_refused(server):
    for path in ("/v1/range?from=0", "/v1/suffix/com/urls?limit=5"):
        reply = server.get(f"{path}&offset=5&prefix=/")
        equal((reply.status, reply.json["type"].rsplit(":", 1)[1]), (400, "bad-parameter"), f"{path}&offset=5&prefix=/")
        check(all(word in reply.json["detail"] for word in ("takes no offset", "next_cursor")), reply.json["detail"])
        for more in ("plan=0", "plan=65", "plan=2&format=ndjson", "status=", "mime=x", "prefix=a", "filter=x", "tag=%00", "collapse=time:3"):
            equal(server.get(f"{path}&{more}").status, 400, f"{path}&{more}")
    for query, word in (("from_ts=2020-13", "from_ts"), ("to_ts=x", "to_ts"), ("from_ts=2021&to_ts=2020", "from_ts")):
        reply = server.get(f"/v1/range?from=0&{query}")
        check(reply.status == 400 and reply.json["detail"].startswith(word), f"{query}: {reply.body}")
    equal(server.get("/v1/range?from_ts=2020").json["type"].rsplit(":", 1)[1], "missing-parameter", "a time alone")
    cursor = server.get("/v1/range?from=0&status=200&limit=1").json["next_cursor"]
    for more, status in (("", 200), ("&status=200", 200), ("&status=301", 400), ("&plan=2", 400), ("&from_ts=2020", 400)):
        equal(server.get(f"/v1/range?cursor={cursor}{more}").status, status, f"a cursor and {more}")
    for path in ("/v1/suffix/com/urls", "/v1/domains", "/v1/domain/huge.com/urls"):
        equal(server.get(f"{path}?cursor={cursor}").json["type"].rsplit(":", 1)[1], "cursor-mismatch", f"a cursor of a range for {path}")
    plan = server.get("/v1/suffix/com/urls?plan=3").json["cursors"]
    equal(server.get(f"/v1/suffix/org/urls?cursor={plan[1]}").status, 400, "a part for another suffix")
    part = server.get("/v1/range?from=0&plan=3").json["cursors"][1]
    reply = server.get(f"/v1/range?cursor={part}&limit=1").json
    check(reply["from"] != "0x0000000000000000" and reply["to"] < "0xffff", f"a part says its range: {reply['from']} {reply['to']}")


def check_flip(server, root, rows):
    """Pages of one version and of one state of the registry, with the filter, whatever is published and numbered meanwhile."""
    target = "/v1/range?from=0&filter=digest:D5&fields=url,ts"
    want = row_keys(follow(server, target, limit=10000))
    page = server.get(f"{target}&limit=5").json
    parts = server.get(f"{target}&plan=3").json["cursors"]
    suffix = server.get("/v1/suffix/com/urls?filter=digest:D5&fields=url,ts&plan=2").json["cursors"]
    of_com = row_keys(follow(server, "/v1/suffix/com/urls?filter=digest:D5&fields=url,ts", limit=10000))
    late = {"a": {(f"https://late{i}.com/{i}", BEGAN + i): {"url": f"https://late{i}.com/{i}", "ts": BEGAN + i, "status": "200", "language": "", "content_type": "", "tags": "", "digest": "D5"}
                  for i in range(30)}}
    ingest(root, late)
    dxtest.domaindex("domain64", "fill", "--root", root)
    check(dxtest.wait_until(lambda: server.get("/v1/keys?url=https://late3.com/3").json["domain64"], 60), "the filling is seen")
    check(dxtest.wait_until(lambda: len(follow(server, target, limit=10000)) == len(want) + 30, 60), "new rows are there")
    equal(row_keys(page["items"] + follow(server, "/v1/range", page["next_cursor"], limit=5)), want, "a walk over a publish")
    equal([k for cursor in parts for k in row_keys(follow(server, "/v1/range", cursor, limit=50))], want, "a plan over a publish")
    equal([k for cursor in suffix for k in row_keys(follow(server, "/v1/suffix/com/urls", cursor, limit=50))], of_com, "a plan of a suffix over a publish")
    rows["a"].update(late["a"])


def check_gone(root):
    """The question to begin again with has its filter."""
    with dxtest.Server(root) as server:
        cursor = server.get("/v1/range?from=0&limit=5&status=200&from_ts=2020&to_ts=2030&prefix=/a&filter=!digest:D1").json["next_cursor"]
    ingest(root, {"b": {("https://quite.new.com/", BEGAN): {"url": "https://quite.new.com/", "ts": BEGAN}}})
    dxtest.domaindex("domain64", "fill", "--root", root)
    with dxtest.Server(root) as server:
        reply = server.get(f"/v1/range?cursor={cursor}")
        equal((reply.status, reply.json.get("restart")), (410, "/v1/range?from=0x0000000000000000&limit=5&prefix=/a&status=200&filter=%21digest%3AD1&from_ts=2020&to_ts=2030"), reply.body)
        equal(server.get(reply.json["restart"]).status, 200, "it has an answer")


def check_suppressed(server, root, rows, rng):
    rules = ((["--domain", "d1.org"], lambda u: "d1.org/" in u), (["--host", "www.huge.com", "--policy", "absent"], lambda u: "//www.huge.com/" in u),
             (["--url", "https://d2.co.uk/a1", "--policy", "absent"], lambda u: u == "https://d2.co.uk/a1"))
    for words, _ in rules:
        dxtest.domaindex("suppress", "add", "--root", root, *words)

    def hides(url):
        return any(hidden(url) for _, hidden in rules)

    count = sum(not hides(u) for of in rows.values() for u, _ in of)
    check(dxtest.wait_until(lambda: server.get("/v1/range?from=0&limit=1").status == 200 and
                            len(whole(server, "/v1/range?from=0", hiding=True)) == count, 60), "the rules are in force")
    compare(server, rows, rng, "suppressed", hides, asks=25)


def check_access(root):
    """Who sees a part only has no range at all, and of a suffix the filtered rows and plans of his datasets."""
    tokens = roots.principals(root, {"chief": None, "some": ["a", "c"]})
    with dxtest.Server(root) as server:
        for query in ("from=0&status=200", "from=0&plan=3", "from=0&from_ts=2020", "from=0&dataset=a&tag=news"):
            got = [server.get(f"/v1/range?{query}", headers=tokens[who]) for who in ("chief", "some")]
            equal([(r.status, r.json.get("type", "").rsplit(":", 1)[-1]) for r in got], [(200, ""), (403, "restricted")], query)
        of_chief = follow(server, "/v1/suffix/com/urls?status=200", headers=tokens["chief"], hiding=True, limit=10000)
        own = follow(server, "/v1/suffix/com/urls?status=200", headers=tokens["some"], hiding=True, limit=100)
        equal(own, [i for i in of_chief if i["dataset_id"] != 2], "rows that he sees")
        plan = server.get("/v1/suffix/com/urls?status=200&plan=5", headers=tokens["some"]).json["cursors"]
        equal([i for cursor in plan for i in follow(server, "/v1/suffix/com/urls", cursor, headers=tokens["some"], hiding=True)], own, "his plan")
        equal(server.get(f"/v1/suffix/com/urls?cursor={plan[0]}", headers=tokens["chief"]).status, 400, "his cursor for another one")


def main():
    dxtest.need_programs()
    for layout in ("8-24-8-24", "8-24-24-8") if dxtest.WHOLE else ("8-24-8-24",):
        rng = random.Random(11)
        with dxtest.tempdir() as tmp:
            root = tmp / "root"
            rows = make_rows(rng)
            ingest(root, rows)
            dxtest.domaindex("domain64", "init", "--root", root, "--layout", layout)
            dxtest.domaindex("domain64", "fill", "--root", root)
            with dxtest.Server(root, "--poll-ms", 50) as server:
                compare(server, rows, rng, layout)
                check_formats(server)
                check_even(server)
                check_refused(server)
                check_flip(server, root, rows)
                check_suppressed(server, root, rows, rng)
            check_gone(root)
            check_access(root)
    dxtest.finish()


main()
