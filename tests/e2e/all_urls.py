#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: short plain
"""/v1/domain/{d}/urls against a model of the source: the rows of all datasets, of some, and of a site in over a thousand of them.

In detail: by pages of every kind (offset, cursor, plan), over rows that lie in files of several ingests; `dataset=` by id and name; while rules
hide rows, pairs and the site; of each principal; forged, foreign and outdated cursors; the same by `domaindex lookup --all-urls`.
In the gate a third of the rows, each principal's answers under every second filter, 40 damaged cursors.
"""
import collections
import functools
import json
import random
import time

import dxtest
from dxtest import check, equal

NAMES = ("a", "b", "c,d", "7", "e")
MANY = 1100
PAGE_PAIRS = 1024       # datasets of a page at most
WITHIN_S = 60
ROWS = (30, 90) if dxtest.WHOLE else (10, 30)   # of a site in a dataset, by each ingest


def make_rows(rng):
    """(url, ts) of each dataset, in two ingests."""
    rows = {}
    for name in NAMES:
        for part in range(2):
            rows[name, part] = {(f"https://{rng.choice(('', 'www.', 'm.'))}{site}/{rng.choice('pqr')}/{rng.randrange(400)}", 1700000000 + part * 1000 + rng.randrange(3))
                                for site in ("one.com", "two.org") for _ in range(rng.randrange(*ROWS)) if (name, site) != ("7", "two.org")}
    rows["e", 0] |= {(f"https://hidden.net/{n}", 1700000000) for n in range(5)}
    rows["a", 0] |= {("https://hidden.net/x", 1700000000)}
    return rows


def domain_of(url):
    return ".".join(url.split("/")[2].split(".")[-2:])


def key_of(row):
    host, path = row[0].split("://")[1].split("/", 1)
    return host, "/" + path, row[1]


def model(rows, ids, domain, names, hides=lambda u: False):
    """(dataset_id, url, ts) in order: by dataset, then by file, then as files are sorted."""
    return [(ids[name], url, ts) for name in sorted(names, key=ids.get) for part in range(2)
            for url, ts in sorted((r for r in rows[name, part] if domain_of(r[0]) == domain), key=key_of) if not hides(url)]


@functools.cache
def seconds(ts):
    return int(time.mktime(time.strptime(ts, "%Y-%m-%dT%H:%M:%SZ")) - time.timezone)


def items(reply):
    got = [(i["dataset_id"], i["url"], seconds(i["ts"])) for i in reply.json["items"]]
    named = [d["dataset_id"] for d in reply.json["datasets"]]
    equal(list(dict.fromkeys(i[0] for i in got)), named, "datasets of a page")
    return got


def follow(server, target, headers=None, by="cursor"):
    """All pages: their rows, and how many pages."""
    got, path, pages = [], target, 0
    base = target.split("?")[0]
    rest = "&".join(p for p in target.partition("?")[2].split("&") if p and not p.startswith(("cursor=", "offset=")))
    while path is not None:
        reply = server.get(path, headers=headers)
        if not equal(reply.status, 200, f"{path}: {reply.body[:200]}"):
            return got, pages
        got += items(reply)
        pages += 1
        more = reply.json["next_cursor"]
        equal(more is None, reply.json["next_offset"] is None, "both ends")
        path = None if more is None else f"{base}?cursor={more}" if by == "cursor" else f"{base}?{rest}&offset={reply.json['next_offset']}"
    return got, pages


def compare(server, domain, want, words, query="", headers=None):
    """The whole listing, which may have to wait for what rules hide; then the same by pages of every kind."""
    target = f"/v1/domain/{domain}/urls"
    end = time.monotonic() + WITHIN_S
    while True:
        reply = server.get(f"{target}?limit=10000&{query}".rstrip("&"), headers=headers)
        done = reply.status == 200 and items(reply) == want
        if done or time.monotonic() > end or reply.status not in (200, 503):
            break
        time.sleep(0.05)
    if not equal(reply.status, 200, f"{words}: {reply.body[:300]}"):
        return
    equal((items(reply), reply.json["total"], reply.json["total_est"], reply.json["next_cursor"], reply.json["complete"]),
          (want, len(want), len(want), None, True), words)
    equal(reply.json["dataset_count"], len({row[0] for row in want}), f"{words}, dataset_count")
    for limit in (1 if len(want) < 60 else 13, 97, len(want)):
        for by in ("cursor", "offset") if dxtest.WHOLE or limit == 97 else ("cursor",) if len(words) % 2 else ("offset",):
            got, pages = follow(server, f"{target}?limit={limit}&{query}".rstrip("&"), headers, by)
            equal((got, pages), (want, -(-len(want) // limit)), f"{words}, by {limit} and {by}")
    for offset in (1, len(want) // 2, len(want) - 1, len(want), len(want) + 5, 2**63 - 1):
        reply = server.get(f"{target}?limit=7&offset={offset}&{query}".rstrip("&"), headers=headers)
        equal((reply.status, items(reply), reply.json["offset"]), (200, want[offset:offset + 7], offset), f"{words}, offset {offset}")
    for parts in (1, 3, 64):
        plan = server.get(f"{target}?plan={parts}&{query}".rstrip("&"), headers=headers).json
        equal(len(plan["cursors"]), parts, f"{words}, plan")
        got = [follow(server, f"{target}?cursor={c}", headers)[0] for c in plan["cursors"]]
        equal(sum(got, []), want, f"{words}, {parts} parts")
        sizes = [len(g) for g in got]
        check(max(sizes) - min(sizes) <= 1, f"{words}: parts of {sizes}")


FILTERS = (
    ("from=2023-11-14T22:13:21", lambda u, ts: ts >= 1700000001), ("to=20231114221321", lambda u, ts: ts <= 1700000001),
    ("from=2023-11-14T22:29:59&to=2023-11-14T22:30:00", lambda u, ts: ts == 1700001000), ("from=2024", lambda u, ts: False),
    ("prefix=/q/", lambda u, ts: "/q/" in u), ("prefix=/r/1&to=2023-11-14T22:20", lambda u, ts: "/r/1" in u and ts < 1700000460),
    ("filter=!none:x", lambda u, ts: True), ("filter=none:x", lambda u, ts: False),
)


def compare_filtered(server, domain, want, words, query="", headers=None, filters=FILTERS):
    """Filters take the rows of the listing that match, in its order; whole, by pages, and in parts."""
    path = f"/v1/domain/{domain}/urls"
    for text, takes in filters:
        some = [row for row in want if takes(row[1], row[2])]
        for limit in (7, 10000):
            for targets in ([f"{path}?{text}&limit={limit}&{query}".rstrip("&")],
                            [f"{path}?cursor={c}" for c in server.get(f"{path}?{text}&plan=4&limit={limit}&{query}".rstrip("&"), headers=headers).json["cursors"]]):
                got = []
                for target in targets:
                    while target:
                        reply = server.get(target, headers=headers)
                        if not equal(reply.status, 200, f"{words} {target}: {reply.body[:200]}"):
                            return
                        check(len(reply.json["items"]) <= limit and "total" not in reply.json and "offset" not in reply.json and ("cost" in reply.json) == (not HIDING), target)
                        got += items(reply)
                        target = reply.json["next_cursor"] and f"{path}?cursor={reply.json['next_cursor']}"
                equal(got, some, f"{words}, {text} by {limit}, {len(targets)} parts")
    cost = server.get(f"{path}?from=2024&{query}".rstrip("&"), headers=headers).json.get("cost")
    equal(cost, None if HIDING else {"rows": 0, "pages": 0, "bytes": 0}, f"{words}: nothing is read for a time that no dataset has")


def refused(server, target, status, slug, headers=None):
    reply = server.get(target, headers=headers)
    equal((reply.status, reply.json["type"].rsplit(":", 1)[1]), (status, slug), target)


def refusals(server, ids, rng):
    path = "/v1/domain/one.com/urls"
    for query, status, slug in (("limit=0", 400, "bad-parameter"), ("limit=10001", 400, "limit-too-large"), ("dataset=99", 404, "dataset-not-found"),
                                ("dataset=zz", 404, "dataset-not-found"), ("dataset=", 400, "bad-parameter"), ("dataset=1,,2", 400, "bad-parameter"),
                                ("plan=2&offset=3", 400, "bad-parameter"), ("plan=65", 400, "bad-parameter"), ("fields=nothing", 400, "bad-parameter"),
                                ("tags=x", 400, "unknown-parameter"), ("from=x", 400, "bad-parameter"), ("from=2019&offset=1", 400, "bad-parameter"), ("cursor=AAAA", 400, "bad-cursor"), ("dataset=1&dataset=2", 400, "duplicate-parameter"),
                                ("dataset=id:99", 404, "dataset-not-found"), ("dataset=name:1", 404, "dataset-not-found")):
        refused(server, f"{path}?{query}", status, slug)
    refused(server, f"/v1/domain/two.org/urls?dataset={ids['7']}", 404, "domain-not-in-dataset")
    refused(server, "/v1/domain/none.com/urls", 404, "domain-not-found")
    refused(server, "/v1/domain/com/urls", 400, "not-a-domain")
    cursor = server.get(f"{path}?limit=5&dataset=1,2").json["next_cursor"]
    single = server.get("/v1/domain/one.com/datasets/1/urls?limit=5").json["next_cursor"]
    for target in (f"{path}?cursor={single}", f"/v1/domain/one.com/datasets/1/urls?cursor={cursor}", f"/v1/domain/two.org/urls?cursor={cursor}",
                   f"{path}?cursor={cursor}&dataset=1", f"{path}?cursor={cursor}&offset=3", f"{path}?cursor={cursor}&plan=3", f"{path}?cursor={cursor}&fields=url", f"{path}?cursor={cursor}&from=2020"):
        refused(server, target, 400, "cursor-mismatch")
    equal(server.get(f"{path}?cursor={cursor}&dataset=2,1&limit=3").status, 200, "the same datasets")
    digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    for _ in range(300 if dxtest.WHOLE else 40):
        i = rng.randrange(len(cursor))
        other = rng.choice((cursor[:i] + rng.choice(digits.replace(cursor[i], "")) + cursor[i + 1:], cursor[:i], cursor + cursor[i]))
        reply = server.get(f"{path}?cursor={other}")
        # The version of a cursor stands in front where there is no key, so a changed one may be of a version that is not there.
        check(reply.status in (400, 404, 410) and reply.json["type"].rsplit(":", 1)[1] == "bad-cursor", f"{other}: {reply.status} {reply.body[:100]}")


RULES = (
    (["--host", "m.one.com", "--policy", "absent"], lambda u: "//m.one.com/" in u),
    (["--prefix", "https://one.com/p/"], lambda u: u.startswith("https://one.com/p/")),
    (["--url", "https://hidden.net/x"], lambda u: u == "https://hidden.net/x"),
)


HIDING = []    # rules in force: no answer has a cost then


def suppressed(root, server, rows, ids):
    hidden = HIDING
    for words, hides in RULES:
        dxtest.domaindex("suppress", "add", "--root", root, *words)
        hidden.append(hides)
        for domain in ("one.com", "two.org"):
            compare(server, domain, model(rows, ids, domain, NAMES, lambda u: any(h(u) for h in hidden)), f"{domain} suppressed: {words}")
    compare_filtered(server, "one.com", model(rows, ids, "one.com", NAMES, lambda u: any(h(u) for h in hidden)), "while rules hold")
    # All rows of one pair are hidden.
    compare(server, "hidden.net", model(rows, ids, "hidden.net", ("e",)), "a pair without rows")
    refused(server, "/v1/domain/hidden.net/urls?dataset=a", 451, "withheld")
    dxtest.domaindex("suppress", "add", "--root", root, "--domain", "hidden.net", "--policy", "absent")
    dxtest.wait_until(lambda: server.get("/v1/domain/hidden.net/urls").status == 404)
    return lambda u: any(h(u) for h in hidden)


def restricted(root, rows, ids, hides):
    def access(*words):
        return dxtest.domaindex("access", *words, "--root", root).stdout.decode().strip()
    access("init")
    sees = {"auditor": NAMES, "one": ("b", "7"), "two": ("a", "e")}
    for who, names in sees.items():
        access("principal", "add", who, *(["--all"] if who == "auditor" else []))
        if who != "auditor":
            access("grant", *(f"name:{n}" for n in names), "--to", who)
    tokens = {who: {"Authorization": f"Bearer {access('token', 'new', who)}"} for who in sees}
    with dxtest.Server(root, "--poll-ms", 50) as server:
        for n, (who, names) in enumerate(sees.items()):
            compare(server, "one.com", model(rows, ids, "one.com", names, hides), f"as {who} sees it", headers=tokens[who])
            compare_filtered(server, "one.com", model(rows, ids, "one.com", names, hides), f"as {who} sees it", headers=tokens[who],
                             filters=FILTERS if dxtest.WHOLE else FILTERS[n % 2::2])
        refused(server, "/v1/domain/one.com/urls?dataset=a", 404, "dataset-not-found", tokens["one"])
        refused(server, f"/v1/domain/one.com/urls?dataset={ids['a']}", 404, "dataset-not-found", tokens["one"])
        cursor = server.get("/v1/domain/one.com/urls?limit=1", headers=tokens["auditor"]).json["next_cursor"]
        refused(server, f"/v1/domain/one.com/urls?cursor={cursor}", 400, "bad-cursor", tokens["one"])
        equal(server.get("/v1/domain/one.com/urls").status, 401, "without a token")


def command(root, want):
    """The same without a server."""
    out = dxtest.domaindex("lookup", "--root", root, "--all-urls", "--limit", 50, "--offset", 20, "one.com").stdout
    reply = dxtest.Reply(200, {}, out)
    equal((items(reply), reply.json["total"], reply.json["next_offset"], "next_cursor" in reply.json), (want[20:70], len(want), 70, False), "lookup --all-urls")


def in_many(tmp):
    """A site that over a thousand datasets have: pages end behind so many of them, and go on."""
    root = tmp / "many"
    rows = [(f"set{d:04}", f"https://hot.com/{d}/{n}") for d in range(MANY) for n in range(2 if d != 77 else 3000)]
    text = "".join(f"{name}\t{url}\n" for name, url in rows)
    dxtest.domaindex("ingest", "--root", root, "--format", "tsv", "--dataset-column", 1, "--url-column", 2, "--no-header", "-", input=text.encode())
    dxtest.domaindex("publish", "--root", root)
    with dxtest.Server(root) as server:
        ids = {d["name"]: d["dataset_id"] for d in server.get(f"/v1/datasets?limit={MANY}").json["datasets"]}
        want = sorted((ids[name], url) for name, url in rows)
        for by, limit in (("cursor", 10000), ("offset", 1000), ("cursor", 777)):
            got, pages = follow_bare(server, "/v1/domain/hot.com/urls", limit, by)
            equal(collections.Counter(got), collections.Counter(want), f"all rows, by {by} and {limit}")
            equal([g[0] for g in got], [w[0] for w in want], f"in order of datasets, by {by} and {limit}")
            check(pages >= max(-(-MANY // PAGE_PAIRS), -(-len(want) // limit)), f"{pages} pages")
        got, pages = follow_bare(server, "/v1/domain/hot.com/urls", 10000, "cursor", "&prefix=/9")
        some = [w for w in want if w[1].startswith("https://hot.com/9")]
        equal((collections.Counter(got), pages >= MANY // 256), (collections.Counter(some), True), "a filter over many datasets")
        reply = server.get(f"/v1/domain/hot.com/urls?offset={len(want) - 3}&limit=10").json
        equal(([i["dataset_id"] for i in reply["items"]], reply["total"], reply["dataset_count"], reply["next_offset"]),
              ([w[0] for w in want[-3:]], len(want), MANY, None), "the last rows")


def follow_bare(server, path, limit, by, query=""):
    got, target, pages = [], f"{path}?limit={limit}{query}", 0
    while target is not None:
        reply = server.get(target)
        if not equal(reply.status, 200, f"{target}: {reply.body[:200]}"):
            break
        got += [(i["dataset_id"], i["url"]) for i in reply.json["items"]]
        pages += 1
        more = reply.json["next_cursor"]
        target = None if more is None else f"{path}?cursor={more}" if by == "cursor" else f"{path}?limit={limit}&offset={reply.json['next_offset']}"
    return got, pages


def main():
    dxtest.need_programs()
    rng = random.Random(20)
    rows = make_rows(rng)
    with dxtest.tempdir() as tmp:
        root = tmp / "root"
        for part in range(2):
            for name in NAMES:
                text = "".join(f"{url}\t{ts}\n" for url, ts in sorted(rows[name, part]))
                dxtest.domaindex("ingest", "--root", root, "--format", "tsv", "--url-column", 1, "--ts-column", 2, "--no-header", "--dataset", name, "-", input=text.encode())
        dxtest.domaindex("publish", "--root", root)
        with dxtest.Server(root, "--poll-ms", 50) as server:
            ids = {d["name"]: d["dataset_id"] for d in server.get("/v1/datasets").json["datasets"]}
            for domain in ("one.com", "two.org"):
                compare(server, domain, model(rows, ids, domain, NAMES), domain)
                compare_filtered(server, domain, model(rows, ids, domain, NAMES), domain)
                compare_filtered(server, domain, model(rows, ids, domain, ("a", "e")), f"{domain} by name", "dataset=a,e")
                compare(server, domain, model(rows, ids, domain, ("a", "e")), f"{domain} by name", f"dataset=name:e,{ids['a']},a")
            compare(server, "one.com", model(rows, ids, "one.com", ("7", "c,d")), "by id", f"dataset=name:7,id:{ids['c,d']}")
            refusals(server, ids, rng)
            command(root, model(rows, ids, "one.com", NAMES))
            hides = suppressed(root, server, rows, ids)
        restricted(root, rows, ids, hides)
        in_many(tmp)
    dxtest.finish()


if __name__ == "__main__":
    main()
