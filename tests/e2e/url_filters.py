#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: plain
"""tag=, mime=, prefix=, from=, to=, status=, lang= and filter= of URL listings against a recount of the source: every page by its cursor, parts of a plan,
suppressions, versions; values that are none; a large listing in which nothing matches.

In detail: `tag=`, `mime=`, `prefix=` of listings, alone and together, page by page against a recount: many
hosts, many files, without the columns, suppressed, older versions, parts of a plan; values that are none;
150,000 rows in which nothing is found.
"""
import csv
import datetime
import functools
import json
import os
import random
import urllib.parse

import dxtest

ASKS = int(os.environ.get("DX_FILTER_ASKS") or (260 if dxtest.WHOLE else 20))
MIMES = ["text/html", "TEXT/HTML; charset=utf-8", "text/plain", "image/png", "application/xhtml+xml", "text", "", "text/ html"]
TAGS = ["news", "c\"d", "e\\f", "с тегом", "a/b&c=d", "new", "news "]
FORMS = ["%Y", "%Y-%m", "%Y-%m-%d", "%Y-%m-%dT%H", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S", "%Y%m", "%Y%m%d", "%Y%m%d%H", "%Y%m%d%H%M", "%Y%m%d%H%M%S"]
PREFIXES = ["/", "/a", "/a/", "/b/1", "/b/19", "/b?", "/c%20d/", "/zzz", "/a/~", "/\u0001", "/b/1?q=2"]


def tags_text(rng):
    tags = rng.sample(TAGS, rng.randrange(4))
    return rng.choice(["", json.dumps(tags), json.dumps(tags, ensure_ascii=False), json.dumps(tags, indent=1),
                       "news", '["news"', '["news", 1]', '{"news": 1}', ',"news"]'][:rng.choice([4, 9])])


def make(rng, domain, hosts, paths, count):
    rows = {}
    for i in range(count):
        url = f"https://{rng.choice(hosts)}{domain}/{rng.choice(paths)}{rng.randrange(300)}{rng.choice(['', '?q=2', '/x'])}"
        rows[url] = (1700000000 + i, rng.choice(["", "A title", "Ü \"x\"\n"]), rng.choice(MIMES), tags_text(rng))
    return rows


PATHS = ["a", "a/", "b/", "b", "c%20d/", "", "zz"]


def datasets(rng):
    """{dataset: [files of rows]}: one file; many small files; without the columns."""
    some = [("site.example", ["", "www.", "m."], 900), ("one.example", ["www."], 5), ("co.example", ["a.", "b.c.", ""], 300)]
    first = {}
    for domain, hosts, count in some:
        first.update(make(rng, domain, hosts, PATHS, count))
    first.update(make(rng, "hosts.example", [f"h{i}." for i in range(1500)], PATHS, 6000))
    small = [make(rng, "site.example", ["", "www."], PATHS, 40) for _ in range(6)]
    return {"crawl": [first], "pieces": small, "bare": [make(rng, "site.example", ["www."], PATHS, 200)]}


def large():
    """Rows of two hosts, most of them of the first."""
    for i in range(150000):
        yield f"https://h{i % 15 == 0:d}.large.example/p/{i:06}/index.html", (1600000000 + i, "t" if i % 2 else "u", "text/html", '["seldom"]' if i % 6007 else '["seldom", "rare"]')


def status_of(ts):
    return ("200", "301", "404", "", "200 ")[ts % 5]


def languages_of(ts):
    """`language` and `languages`."""
    return ("en", "DE", "", "")[ts % 4], ("eng,deu", "", "deu", "eng, fra")[ts % 7 % 4]


def ingest(root, tmp, name, rows, columns=True):
    path = tmp / "rows.csv"
    with path.open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out)
        writer.writerow(["url", "ts", "title", "content_type", "tags", "status", "language", "languages"])
        writer.writerows([url, *rest, status_of(rest[0]), *languages_of(rest[0])] for url, rest in rows)
    more = [w for c in ("title", "content_type", "tags", "status", "language", "languages") for w in ("--extra-column", c)] if columns else []
    dxtest.domaindex("ingest", "--root", root, "--dataset", name, *more, path)


# ---- what is asked, in words as plain as they come ----

@functools.cache
def parsed_tags(text):
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, list) and all(isinstance(t, str) for t in found) else None


def is_of(mime, kind):
    kind = kind.split(";")[0].strip(" \t").lower()
    mime = mime.lower()
    return kind.startswith(mime[:-1]) and len(kind) > len(mime) - 1 if mime.endswith("/*") else kind == mime


@functools.cache
def stretch(text):
    """What a time names, counted with datetime: seconds [first, end)."""
    form = next(f for f in FORMS if len(datetime.datetime(2000, 10, 10).strftime(f)) == len(text) and ("-" in f) == ("-" in text))
    first = datetime.datetime.strptime(text, form).replace(tzinfo=datetime.timezone.utc)
    if "%m" not in form:
        end = first.replace(year=first.year + 1)
    elif "%d" not in form:
        end = first.replace(year=first.year + first.month // 12, month=first.month % 12 + 1)
    else:
        end = first + datetime.timedelta(**{"seconds" if "%S" in form else "minutes" if "%M" in form else "hours" if "%H" in form else "days": 1})
    return first.timestamp(), end.timestamp()


def takes_more(ask, ts, title, columns):
    """Times, status, languages and an extra."""
    one, several = languages_of(ts) if columns else ("", "")
    languages = [one] if one else [w.strip() for w in several.split(",") if w.strip()]
    name, _, value = ask.get("filter", "").lstrip("!").partition(":")
    found = {"title": title, "status": status_of(ts)}.get(name, "") if columns else ""
    return (("from" not in ask or ts >= stretch(ask["from"])[0]) and ("to" not in ask or ts < stretch(ask["to"])[1]) and
            ("status" not in ask or (columns and status_of(ts) == ask["status"])) and
            ("lang" not in ask or ask["lang"].lower() in [w.lower() for w in languages]) and
            ("filter" not in ask or (found != "" and found == value) != ask["filter"].startswith("!")))


def takes(ask, row, columns=True):
    url, (ts, title, kind, tags) = row
    if not takes_more(ask, ts, title, columns):
        return False
    path = "/" + url.split("/", 3)[3]
    return (("tag" not in ask or ask["tag"] in (parsed_tags(tags) or [])) and ("mime" not in ask or (kind and is_of(ask["mime"], kind)))
            and ("prefix" not in ask or path.startswith(ask["prefix"])))


def some_ask(rng):
    ask = {}
    while not ask:
        if rng.random() < 0.5:
            ask["tag"] = rng.choice(TAGS + ["none"])
        if rng.random() < 0.4:
            ask["mime"] = rng.choice(["text/html", "Text/*", "image/*", "image/png", "application/*", "text/none"])
        if rng.random() < 0.6:
            ask["prefix"] = rng.choice(PREFIXES + [f"/a/{rng.randrange(300)}"])
        for name in ("from", "to"):
            if rng.random() < 0.2:
                moment = datetime.datetime.fromtimestamp(1700000000 + rng.randrange(-100, 7000), datetime.timezone.utc)
                ask[name] = moment.strftime(rng.choice(FORMS))
        if "from" in ask and "to" in ask and stretch(ask["from"])[0] >= stretch(ask["to"])[1]:
            ask["from"], ask["to"] = ask["to"], ask["from"]
        if rng.random() < 0.15:
            ask["status"] = rng.choice(["200", "301", "404", "20", "500"])
        if rng.random() < 0.15:
            ask["lang"] = rng.choice(["en", "de", "DEU", "eng", "fra", "e", "xx"])
        if rng.random() < 0.15:
            ask["filter"] = rng.choice(["title:A title", "!title:A title", "title:A", "status:200", "!status:404", "none:x", "!none:x", "title:"])
    return ask


def query(**parameters):
    return "?" + urllib.parse.urlencode(parameters, quote_via=urllib.parse.quote)


def walk(server, path, words, **parameters):
    """All items of the pages, and how many pages."""
    items, pages = [], 0
    target = path + query(**parameters)
    while True:
        reply = server.get(target)
        if not dxtest.equal(reply.status, 200, f"{words} {target[:200]}: {reply.body[:300]!r}"):
            return items, pages
        got, pages = reply.json, pages + 1
        limit = int(parameters.get("limit", 1000))
        dxtest.check(len(got["items"]) <= limit and pages < 5000, f"{words}: {len(got['items'])} items, page {pages}")
        dxtest.check(got["complete"] and "total" not in got and "next_offset" not in got, f"{words}: {reply.body[:200]!r}")
        items += got["items"]
        if got["next_cursor"] is None:
            return items, pages
        target = path + "?cursor=" + got["next_cursor"]


def item_of(row, columns):
    url, (_, title, kind, tags) = row
    title, kind, tags = (title, kind, tags) if columns else ("", "", "")
    return {"url": url, "title": title or None, "content_type": kind or None, "tags": parsed_tags(tags) if tags else None}


def whole(server, path):
    items, target = [], path + query(fields="url", limit=10000)
    while target:
        got = server.get(target).json
        items += [i["url"] for i in got["items"]]
        target = got["next_cursor"] and path + "?cursor=" + got["next_cursor"]
    return items


def check_recount(server, files, columns, dataset, rng, count, hidden=lambda url: False):
    rows = {}
    for part in files:
        rows.update(part)
    domains = sorted({".".join(u.split("/")[2].split(".")[-2:]) for u in rows})
    for domain in domains:
        path = f"/v1/domain/{domain}/datasets/{dataset}/urls"
        order = {url: i for i, url in enumerate(whole(server, path))}
        for _ in range(count if domain != "hosts.example" else count // 4):
            ask = some_ask(rng)
            limit = rng.choice([1, 7, 100, 1000, 10000]) if len(order) < 500 else rng.choice([300, 1000, 10000])
            items, _ = walk(server, path, f"{domain} {dataset}", fields="url,title,content_type,tags", limit=limit, **ask)
            want = [r for r in rows.items() if f".{domain}/" in "." + r[0] .split("/", 2)[2] and not hidden(r[0]) and
                    takes(ask, r if columns else (r[0], (r[1][0], "", "", "")), columns)]
            want = [item_of(r, columns) for r in sorted(want, key=lambda r: order.get(r[0], -1))]
            dxtest.equal(len(items), len(want), f"{domain} {dataset} {ask}: rows")
            dxtest.check(items == want, f"{domain} {dataset} {ask}: {next((x for x in zip(items, want) if x[0] != x[1]), None)}")


def code(reply):
    return reply.json.get("type", "").removeprefix("urn:domaindex:problem:")


def check_refused(server):
    path = "/v1/domain/site.example/datasets/1/urls"
    bad = [("tag", ""), ("tag", "%FF"), ("mime", ""), ("mime", "text"), ("mime", "*/*"), ("mime", "text/html;q=1"), ("mime", "text/*x"),
           ("mime", "te xt/html"), ("mime", "/html"), ("mime", "text/"), ("prefix", ""), ("prefix", "a"), ("prefix", "https://x/"),
           ("prefix", "/" + "x" * 600), ("tag", "t" * 511), ("status", ""), ("lang", ""), ("lang", "x" * 501), ("filter", ""), ("filter", "title"),
           ("filter", ":x"), ("filter", "!:x"), ("filter", "locator:x"), ("filter", "!requested_url:x"),
           *((name, text) for name in ("from", "to") for text in ("", "201", "20191", "2019-1", "2019-13", "201913", "2019-02-30", "2019-07-04T", "2019-07-04T24",
                                                                    "20190704102060", "201907041020301", "2019-0704", "x", "2019-07-04T10Z0", "2019-07-04T10:20:30.1234567"))]
    for name, value in bad:
        reply = server.get(f"{path}?{name}={value if value == '%FF' else urllib.parse.quote(value)}")
        dxtest.equal((reply.status, code(reply)), (400, "bad-parameter"), f"{name}={value[:40]}: {reply.body[:200]!r}")
    for times, status in (("from=2024&to=2023", 400), ("from=2024-01-02&to=2024-01-01T23:59:59", 400), ("from=2024-01-02&to=2024-01-02", 200), ("from=2024-06&to=2024", 200)):
        dxtest.equal(server.get(f"{path}?{times}").status, status, times)
    dxtest.equal(server.get(f"{path}?tag=news&offset=1").status, 400, "offset and a filter")
    dxtest.equal(code(server.get(f"{path}?tag=news&tag=new")), "duplicate-parameter", "a filter twice")
    dxtest.equal(code(server.get("/v1/datasets?tag=news")), "unknown-parameter", "a filter elsewhere")
    for value in ("/\0", "/%", "/" + "é" * 200, "/" + "x" * 480):
        reply = server.get(path + query(prefix=value))
        dxtest.equal((reply.status, reply.json.get("items"), reply.json.get("next_cursor")), (200, [], None), f"prefix {value[:9]!r}")
    first = server.get(path + query(limit=3, tag="news", mime="text/*")).json
    go_on = f"{path}?cursor={first['next_cursor']}"
    same = server.get(go_on).body
    dxtest.equal(server.get(go_on + "&tag=news&mime=text/*").body, same, "a cursor with its own filter")
    for other in ("&tag=news", "&tag=new&mime=text/*", "&tag=news&mime=text/*&prefix=/", "&prefix=/"):
        dxtest.equal(code(server.get(go_on + other)), "cursor-mismatch", f"a cursor with {other}")
    plain = server.get(path + "?limit=3").json["next_cursor"]
    dxtest.equal(code(server.get(f"{path}?cursor={plain}&tag=news")), "cursor-mismatch", "a filter beside a plain cursor")
    dxtest.equal(code(server.get(f"/v1/domain/co.example/datasets/1/urls?cursor={first['next_cursor']}")), "cursor-mismatch",
                 "a filtered cursor of another domain")


def check_cost(server):
    """A page says what was read for it: nothing where the dataset has no row of that time."""
    path = "/v1/domain/site.example/datasets/1/urls"
    for ask, some in (("from=2019&to=2022", False), ("from=2024", False), ("to=2023-11-14T22:13:19", False), ("from=2023", True), ("tag=news", True)):
        got = server.get(f"{path}?{ask}").json
        dxtest.equal((set(got["cost"]), all(got["cost"].values()), any(got["cost"].values()), bool(got["items"])),
                     ({"rows", "pages", "bytes"}, some, some, some), f"cost of {ask}: {got['cost']}")


def check_plan(server):
    path = "/v1/domain/hosts.example/datasets/1/urls"
    want, _ = walk(server, path, "whole", tag="news", mime="text/*", fields="url")
    plan = server.get(path + query(tag="news", mime="text/*", fields="url", plan=5)).json
    dxtest.equal((len(plan["cursors"]), "total" in plan), (5, False), "a plan of a filtered listing")
    items = []
    for cursor in plan["cursors"]:
        items += walk(server, path, "part", cursor=cursor)[0]
    dxtest.check(items == want and len(want) > 300, f"parts of a plan: {len(items)} and {len(want)} rows")


def misses(server):
    return server.metrics()['domaindex_cache_misses_total{cache="pages"}']


DEAR = "[a-z]*[0-9]*" * 9      # matches nothing, in as many ways as there can be


def check_dear(server):
    """An expression that takes much ends pages early, or the answer in words; none is short, and none takes long."""
    path, want = "/v1/domain/large.example/datasets/4/urls", f"url:{DEAR}/0333[0-9]+/[h-j]"
    plain, _ = walk(server, path, "plain", prefix="/p/03", filter="~url:/0333[0-9]+/[h-j]", fields="url")
    items, pages = walk(server, path, "dear", prefix="/p/03", filter=f"~{want}", fields="url")
    dxtest.check(items == plain and len(items) == 100 and pages > 3, f"a dear expression: {len(items)} rows, {pages} pages")
    print(f"a dear expression: {pages} pages", flush=True)
    whole = urllib.parse.quote(f".*{DEAR * 2}[XY]")
    targets = [f"/v1/domain/large.example/urls?sort=time&prefix=/p/0&filter=~{urllib.parse.quote(want)}", f"/cdx?url=*.large.example{3 * f'&filter=!original:{whole}'}"]
    for target in targets if dxtest.WHOLE else targets[:1]:     # the second takes as long as a request may
        begin = server.metrics()["process_cpu_seconds_total"]
        reply = server.get(target)
        took = server.metrics()["process_cpu_seconds_total"] - begin
        dxtest.check((reply.status, code(reply)) == (422, "too-much") and (b"steps of the matcher" in reply.body or b"longer than a request may" in reply.body), f"{target}: {reply.status} {reply.body[:300]}")
        dxtest.check(took < 60, f"{target}: {took} s of CPU")
        print(f"refused after {took:.1f} s of CPU: {target[:60]}", flush=True)


def check_large(server, root):
    path = "/v1/domain/large.example/datasets/4/urls"
    items, pages = walk(server, path, "a tag that nothing has", tag="never")
    dxtest.equal((items, pages, server.get(f"{path}?tag=never").json["cost"]), ([], 1, {"rows": 0, "pages": 0, "bytes": 0}), "a tag that nothing has")
    rare = [i for i in range(150000) if i % 6007 == 0]
    urls = {i: f"https://h{i % 15 == 0:d}.large.example/p/{i:06}/index.html" for i in rare}
    for more, has in (("", lambda i: True), ("&mime=text/html&filter=title:u", lambda i: i % 2 == 0), ("&prefix=/p/0", lambda i: i < 100000), ("&mime=image/*", lambda i: False)):
        answer = server.get(f"{path}?tag=rare{more}&fields=url").json
        want = sorted((urls[i] for i in rare if has(i)), key=lambda u: u.encode())
        dxtest.equal(([i["url"] for i in answer["items"]], answer["next_cursor"]), (want, None), f"tag=rare{more}")
        dxtest.check(answer["cost"]["rows"] <= 3 * len(rare) and answer["cost"]["pages"] <= 8 * len(rare), f"tag=rare{more} looks at few rows: {answer['cost']}")
    items, pages = walk(server, path, "nothing there", mime="image/png")
    dxtest.equal(items, [], "a type that nothing has")
    dxtest.check(2 <= pages <= 40, f"a listing of 150000 rows in which nothing is found takes {pages} pages")
    items, pages = walk(server, path, "all", tag="seldom", limit=10000, fields="url")
    dxtest.check(len(items) == 150000 and pages <= 40, f"{len(items)} rows on {pages} pages")
    check_dear(server)
    with dxtest.Server(root, "--cache-answers", 0) as fresh:
        cold = misses(fresh)
        items, pages = walk(fresh, path, "prefix", prefix="/p/0333", fields="url")
        few = misses(fresh) - cold
        dxtest.equal([len(items), pages], [100, 1], "rows and pages of a prefix")
        dxtest.equal({i["url"].split("/p/")[0] for i in items}, {f"https://h{h}.large.example" for h in range(2)}, "its hosts")
        walk(fresh, path, "all", prefix="/", fields="url", limit=10000)
        every = misses(fresh) - cold
        print(f"a prefix: {few:.0f} pages read, all rows: {every:.0f}", flush=True)
        dxtest.check(few * 2 < every, f"a prefix reads {few} pages, all rows are {every}")


def check_suppressed(server, root, files, rng):
    """Whole hosts and prefixes are hidden; the recount leaves them out."""
    dxtest.domaindex("suppress", "add", "--root", root, "--prefix", "www.site.example/a/", "--reason", "asked", "--policy", "withheld")
    dxtest.domaindex("suppress", "add", "--root", root, "--host", "m.site.example", "--reason", "asked", "--policy", "absent")
    hidden = lambda url: url.startswith(("https://www.site.example/a/", "https://m.site.example/"))  # noqa: E731
    with dxtest.Server(root) as fresh:
        check_recount(fresh, files, True, 1, rng, 12 if dxtest.WHOLE else 4, hidden)
        got = fresh.get("/v1/domain/site.example/datasets/1/urls?mime=text/*").json
        dxtest.check(got["withheld_rows"] > 0, "withheld rows are told")


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        root, rng = tmp / "root", random.Random(8)
        made = datasets(rng)
        for name, files in made.items():
            for rows in files:
                ingest(root, tmp, name, rows.items(), name != "bare")
        ingest(root, tmp, "large", large())
        dxtest.domaindex("publish", "--root", root)
        with dxtest.Server(root) as server:
            check_cost(server)
            old = server.get("/v1/versions").json["version"]
            check_recount(server, made["crawl"], True, 1, rng, ASKS // 5)
            check_recount(server, made["pieces"], True, 2, rng, ASKS // 5)
            check_recount(server, made["bare"], False, 3, rng, ASKS // 20)
            check_refused(server)
            check_plan(server)
            check_large(server, root)
        check_suppressed(None, root, made["crawl"], rng)
        before = made["pieces"][0]
        ingest(root, tmp, "pieces", [("https://www.site.example/a/new", (1, "t", "text/html", '["news"]'))])
        dxtest.domaindex("publish", "--root", root)
        with dxtest.Server(root) as server:
            path = "/v1/domain/co.example/datasets/1/urls"
            now, then = (walk(server, path, "version", tag="news", limit=50, **v)[0] for v in ({}, {"version": old}))
            dxtest.check(now == then and before and len(now) > 10, "an older version")
    dxtest.finish()


main()
