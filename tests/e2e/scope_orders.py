#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: short plain
"""/v1/suffix/{s}/urls and /v1/range by URL, time and nearness, and /v1/range by offset, against a sort of the source.

In detail: suffixes, TLDs and ranges of numbers, in each order and its reverse, whole and by pages of every size, with the number of all rows on
each page; filtered; while rules hide rows, hosts and domains; of each principal; a cursor whose row was hidden since, and others; what is too
much, which is refused before a row is read: too many domains, too many rows. DX_WHOLE=1: each listing in all seven orders, else in one of them.
"""
import calendar
import functools
import random
import time
import zlib

import dxtest
from dxtest import check, equal

NAMES = ("a", "b", "c")
SITES = ("one.com", "two.com", "big.co.uk", "small.co.uk", "x.github.io", "lone.org")
LONG = "long.example"  # its URLs are too long to be in a cursor
SUFFIXES = ("com", "uk", "co.uk", "io", "org", "one.com", LONG, "nothing.com")
BASE = 1700000000
DOMAINS = 20000         # of a listing in another order
ROWS = 262144
WITHIN_S = 60


class Row:
    def __init__(self, dataset, part, url, ts):
        scheme, rest = url.split("://")
        self.host, path = rest.split("/", 1)
        self.path = "/" + path
        self.dataset, self.part, self.url, self.ts, self.scheme = dataset, part, url, ts, scheme
        self.digest = ("", "AA", "BB", "CC")[zlib.crc32(f"{dataset} {url} {ts}".encode()) % 4]

    def time(self):
        return (self.ts is not None, self.ts or 0)

    def place(self):
        """In the listing of a domain: files of a dataset one after the other, each as it is sorted."""
        return self.dataset, self.part, self.host, self.path, self.time(), self.scheme

    def shown(self):
        return self.dataset, self.url, self.ts


def make_rows(rng):
    rows = set()
    for dataset in range(1, 4):
        for part in range(2):
            for site in SITES:
                for _ in range(rng.randrange(5, 60)):
                    host = rng.choice(("", "www.", "m.")) + site + rng.choice(("", "", ":8080"))
                    ts = rng.choice((None, BASE, BASE + 1, BASE - 86400 * rng.randrange(900), BASE + rng.randrange(90)))
                    rows.add((dataset, part, f"{rng.choice(('http', 'https'))}://{host}/{rng.choice('pqr')}/{rng.randrange(40)}", ts))
    rows |= {(1, 0, f"https://{LONG}/{'a' * 1100}{n}", BASE + n) for n in range(4)}
    # A row is a distinct (URL, time) of its dataset.
    seen, kept = set(), []
    for row in sorted(rows, key=repr):
        if (row[0], row[2], row[3]) not in seen:
            seen.add((row[0], row[2], row[3]))
            kept.append(Row(*row))
    return kept


def by_url(r):
    return r.host, r.path, r.time(), r.place()


def by_time(r):
    return r.time(), r.host, r.path, r.place()


def by_nearness(to):
    return lambda r: (r.ts is None, abs((r.ts or 0) - to), (r.ts or 0) > to, r.host, r.path, r.place())


ORDERS = (("sort=url", by_url, False), ("sort=url&reverse=yes", by_url, True), ("reverse=yes", by_url, True),
          ("sort=time", by_time, False), ("sort=time&reverse=yes", by_time, True),
          ("closest=2023-11-14T22:13:21", by_nearness(BASE + 1), False), ("closest=2022", by_nearness(1640995200), False))

FILTERS = (("", "", lambda r: True), ("prefix=/q/", "prefix=/q/", lambda r: r.path.startswith("/q/")),
           ("from=2023-11-14T22:13:20&to=2023-11-14T22:13:21", "from_ts=2023-11-14T22:13:20&to_ts=2023-11-14T22:13:21", lambda r: r.ts in (BASE, BASE + 1)),
           ("from=2031", "from_ts=2031", lambda r: False), ("filter=~url:/p/.*1$", "filter=~url:/p/.*1$", lambda r: "/p/" in r.url and r.url.endswith("1")))


def is_below(row, suffix):
    host = row.host.split(":")[0]
    return host == suffix or host.endswith("." + suffix)


@functools.lru_cache(None)
def seconds(ts):
    return None if ts is None else calendar.timegm(time.strptime(ts, "%Y-%m-%dT%H:%M:%SZ"))


def items(reply):
    return [(i["dataset_id"], i["url"], seconds(i["ts"])) for i in reply.json["items"]]


def pages(server, path, query, headers=None):
    """Rows of all pages, and what each said of the total."""
    got, totals, target = [], set(), f"{path}?{query}".rstrip("?&")
    while target:
        reply = server.get(target, headers=headers)
        if not equal(reply.status, 200, f"{target}: {reply.body[:300]}"):
            break
        got += items(reply)
        totals.add(reply.json.get("total"))
        target = reply.json["next_cursor"] and f"{path}?cursor={reply.json['next_cursor']}"
    return got, totals


def wanted(rows, key, reverse):
    return [r.shown() for r in sorted(rows, key=key, reverse=reverse)]


def digits(ts, count):
    return None if ts is None else time.strftime("%Y%m%d%H%M%S", time.gmtime(ts))[:count]


COLLAPSES = (("", None), ("collapse=url", lambda r: (r.host, r.path)), ("collapse=host", lambda r: r.host), ("collapse=digest", lambda r: r.digest or None),
             ("collapse=time:6", lambda r: digits(r.ts, 6)), ("collapse=time:14", lambda r: digits(r.ts, 14)))


def collapsed(rows, value):
    """Of rows that follow each other with the same value the first one; a row without one is like no other."""
    out, last = [], None
    for row in rows:
        this = value(row)
        if this is None or this != last:
            out.append(row)
        last = this
    return out


def compare_collapsed(server, path, query, rows, rng, words, headers):
    """The same orders, of which rows that are like the one before are left out: no total, as of one domain."""
    for collapse, value in COLLAPSES[1:]:
        order, key, reverse = rng.choice(ORDERS + (("", by_url, False),))
        want = [r.shown() for r in collapsed(sorted(rows, key=key, reverse=reverse), value)]
        limit = rng.choice((10000, 1, 2)) if len(want) < 40 else rng.choice((10000, 13, 50, len(want) - 1, len(want)))
        got, totals = pages(server, path, "&".join(x for x in (query, order, collapse, f"limit={limit}") if x), headers)
        equal((got, totals), (want, {None}), f"{words}: {path} {query} {order} {collapse} by {limit}")


def compare(server, path, query, rows, rng, words, filters=0, headers=None):
    for order, key, reverse in ORDERS if dxtest.WHOLE else rng.sample(ORDERS, 1):
        narrow, takes = rng.choice([(f[filters], f[2]) for f in FILTERS])
        some = [r for r in rows if takes(r)]
        want = wanted(some, key, reverse)
        compare_collapsed(server, path, "&".join(x for x in (query, narrow) if x), some, rng, words, headers) if rng.random() < 0.3 else None
        for limit in (10000, rng.choice((1, 2)) if len(want) < 40 else rng.choice((13, 50, len(want) - 1, len(want)))):
            got, totals = pages(server, path, "&".join(x for x in (query, order, narrow, f"limit={limit}") if x), headers)
            equal((got, totals), (want, {len(want)}), f"{words}: {path} {query} {order} {narrow} by {limit}")


def suffixes(server, rows, rng, words, hides=lambda r: False, headers=None, sees=(1, 2, 3)):
    for suffix in SUFFIXES:
        shown = [r for r in rows if is_below(r, suffix) and not hides(r) and r.dataset in sees]
        compare(server, f"/v1/suffix/{suffix}/urls", "", shown, rng, words, 0, headers)
        one = rng.choice(sees)
        compare(server, f"/v1/suffix/{suffix}/urls", f"dataset={one}", [r for r in shown if r.dataset == one], rng, words, 0, headers)


def numbers_of(root, rows):
    urls = sorted({r.url for r in rows})
    done = dxtest.domaindex("key", "--scheme", "domain64", "--root", root, input="".join(u + "\n" for u in urls).encode(), expect=None)
    keys = [line.split("\t")[0] for line in done.stdout.decode().splitlines()]
    return {u: int(k) for u, k in zip(urls, keys) if not k.startswith("!")}


def ranges(server, rows, numbers, rng, words, hides=lambda r: False, headers=None):
    all_rows = [r for r in rows if r.url in numbers and not hides(r)]
    some = rng.sample(sorted(numbers.values()), 4)
    bounds = [(0, 2**64), *((n >> 32 << 32, (n >> 32 << 32) + 2**32) for n in some), tuple(sorted(some[:2])), (some[0], some[0] + 1)]
    for first, end in bounds:
        within = [r for r in all_rows if first <= numbers[r.url] < end]
        query = f"from={first}" + (f"&to={end}" if end < 2**64 else "")
        compare(server, "/v1/range", query, within, rng, words, 1, headers)
        plain = [r.shown() for r in sorted(within, key=lambda r: (numbers[r.url] >> 32, r.place()))]
        for offset in (1, len(plain) // 2, max(1, len(plain) - 1), len(plain) + 1):
            for limit in (3, 10000):
                reply = server.get(f"/v1/range?{query}&offset={max(1, offset)}&limit={limit}", headers=headers)
                if not equal(reply.status, 200, f"{words}, {query}, offset {offset}: {reply.body[:300]}"):
                    continue
                equal((items(reply), reply.json["total"], reply.json["offset"]), (plain[max(1, offset):][:limit], len(plain), max(1, offset)),
                      f"{words}, {query}, offset {offset} by {limit}")
                rest, cursor = items(reply), reply.json["next_cursor"]
                if cursor and offset > len(plain) - 30:
                    rest += pages(server, "/v1/range", f"cursor={cursor}", headers)[0]
                    equal(rest, plain[max(1, offset):], f"{words}, {query}: behind offset {offset}")
                equal(cursor is None, offset + limit >= len(plain), f"{words}, {query}, offset {offset} by {limit}: whether it goes on")


def refused(server, target, status, slug, headers=None):
    reply = server.get(target, headers=headers)
    equal((reply.status, reply.json["type"].rsplit(":", 1)[1]), (status, slug), f"{target}: {reply.body[:200]}")
    return reply.json


def refusals(server):
    for path, query in (("/v1/suffix/com/urls", ""), ("/v1/range", "from=0&")):
        for words in ("sort=host", "closest=x", "sort=time&closest=2020", "sort=url&offset=3", "sort=url&plan=2", "reverse=yes&closest=2020"):
            refused(server, f"{path}?{query}{words}", 400, "bad-parameter")
        for words in ("collapse=time", "collapse=time:3", "collapse=url&offset=3", "collapse=url&plan=2"):
            refused(server, f"{path}?{query}{words}", 400, "bad-parameter")
        folded = server.get(f"{path}?{query}collapse=host&limit=2").json["next_cursor"]
        for words in ("sort=time", "sort=url", "collapse=url", "sort=url&collapse=host&reverse=yes"):
            refused(server, f"{path}?cursor={folded}&{words}", 400, "cursor-mismatch")
        equal(server.get(f"{path}?cursor={folded}&collapse=host").status, 200, "the same collapse")
        cursor = server.get(f"{path}?{query}sort=time&limit=3").json["next_cursor"]
        plain = server.get(f"{path}?{query}limit=3").json["next_cursor"]
        for words in ("sort=url", "sort=time&reverse=yes", "closest=2020", "offset=1", "plan=2"):
            refused(server, f"{path}?cursor={cursor}&{words}", 400, "cursor-mismatch")
        refused(server, f"{path}?cursor={plain}&sort=time", 400, "cursor-mismatch")
        equal(server.get(f"{path}?cursor={cursor}&sort=time").status, 200, "the same order")
        equal(server.get(f"{path}?cursor={plain}").json.get("total"), None, "no total without an order")
    refused(server, f"/v1/range?cursor={server.get('/v1/suffix/com/urls?sort=url&limit=2').json['next_cursor']}", 400, "cursor-mismatch")
    cursor = server.get("/v1/suffix/com/urls?sort=time&limit=3").json["next_cursor"]
    refused(server, f"/v1/suffix/org/urls?cursor={cursor}", 400, "cursor-mismatch")
    refused(server, "/v1/range?from=0&offset=2&filter=a:b", 400, "bad-parameter")
    stream = server.get("/v1/suffix/com/urls?sort=time&format=urls&limit=7").body.decode().split()
    equal(stream, [i["url"] for i in server.get("/v1/suffix/com/urls?sort=time&limit=7").json["items"]], "as a stream")


def suppressed(root, server, rows, numbers, rng):
    """Rows that rules hide, and a page that would go on behind one of them."""
    first = server.get("/v1/suffix/one.com/urls?sort=url&limit=1")
    last, cursor = first.json["items"][0]["url"], first.json["next_cursor"]
    ranged = server.get("/v1/range?from=0&sort=url&prefix=/p/&limit=1").json["next_cursor"]
    other = server.get("/v1/suffix/com/urls?sort=time&limit=20").json["next_cursor"]
    long_one = server.get(f"/v1/suffix/{LONG}/urls?sort=url&limit=1").json["next_cursor"]
    rules = ((["--url", last, "--policy", "absent"], lambda r: r.url == last), (["--host", "m.big.co.uk", "--policy", "absent"], lambda r: r.host == "m.big.co.uk"),
             (["--prefix", "https://two.com/p/"], lambda r: r.host == "two.com" and r.path.startswith("/p/")), (["--domain", "lone.org"], lambda r: is_below(r, "lone.org")), (["--host", LONG, "--policy", "absent"], lambda r: is_below(r, LONG)))
    for words, _ in rules:
        dxtest.domaindex("suppress", "add", "--root", root, *words)

    def hides(r):
        return any(hidden(r) for _, hidden in rules)
    want = wanted([r for r in rows if is_below(r, "com") and not hides(r)], by_url, False)
    end = time.monotonic() + WITHIN_S
    while time.monotonic() < end:
        reply = server.get("/v1/suffix/com/urls?sort=url&limit=10000")
        if reply.status == 200 and items(reply) == want:
            break
        time.sleep(0.05)
    dxtest.wait_until(lambda: server.get("/v1/suffix/uk/urls?sort=url").status == 200 and server.get("/v1/domain/lone.org").status == 451
                      and not server.get(f"/v1/suffix/{LONG}/urls?sort=url").json.get("items", True))     # the last rule, too
    check("cost" not in server.get("/v1/suffix/com/urls?sort=url").json, "no cost while rules hold")
    suffixes(server, rows, rng, "while rules hold", hides)
    ranges(server, rows, numbers, rng, "while rules hold", hides)
    # Behind a row that is hidden since: as if it were there.
    behind = [r for r in sorted((r for r in rows if is_below(r, "one.com")), key=by_url)][1:]
    equal(pages(server, "/v1/suffix/one.com/urls", f"cursor={cursor}&limit=7")[0], [r.shown() for r in behind if not hides(r)], "behind a hidden row")
    first = sorted((r for r in rows if is_below(r, "com")), key=by_time)[20:]
    equal(pages(server, "/v1/suffix/com/urls", f"cursor={other}")[0], [r.shown() for r in first if not hides(r)], "of another order")
    check(server.get(f"/v1/range?cursor={ranged}").status == 200, "a range goes on")
    gone = refused(server, f"/v1/suffix/{LONG}/urls?cursor={long_one}", 410, "cursor-expired")
    equal(server.get(gone["restart"]).json["items"], [], "from its beginning")
    return hides


def restricted(root, rows, numbers, hides, rng):
    def access(*words):
        return dxtest.domaindex("access", *words, "--root", root).stdout.decode().strip()
    access("init")
    sees = {"auditor": (1, 2, 3), "one": (2,), "two": (1, 3)}
    for who, ids in sees.items():
        access("principal", "add", who, *(["--all"] if who == "auditor" else []))
        if who != "auditor":
            access("grant", *(f"name:{NAMES[n - 1]}" for n in ids), "--to", who)
    tokens = {who: {"Authorization": f"Bearer {access('token', 'new', who)}"} for who in sees}
    with dxtest.Server(root, "--poll-ms", 50) as server:
        dxtest.wait_until(lambda: all(server.get(f"/v1/suffix/{s}/urls?sort=url", headers=tokens["auditor"]).status == 200 for s in SUFFIXES))
        for who, ids in sees.items():
            suffixes(server, rows, rng, f"as {who} sees it", hides, tokens[who], ids)
        ranges(server, rows, numbers, rng, "as the auditor sees it", hides, tokens["auditor"])
        refused(server, "/v1/range?from=0&sort=time", 403, "restricted", tokens["one"])
        cursor = server.get("/v1/suffix/com/urls?sort=time&limit=1", headers=tokens["auditor"]).json["next_cursor"]
        refused(server, f"/v1/suffix/com/urls?cursor={cursor}", 400, "bad-cursor", tokens["one"])


def too_much(tmp):
    """One domain or row more than may be put in order; a narrower question is answered."""
    root = tmp / "much"
    for name, urls in (("many", (f"https://d{n}.com/" for n in range(DOMAINS + 1))), ("few", (f"https://d{n}.com/f" for n in range(50))),
                       ("rows", (f"https://s{n % 2}.net/{n}" for n in range(ROWS + 1)))):
        dxtest.domaindex("ingest", "--root", root, "--dataset", name, "--format", "list", "-", input="".join(u + "\n" for u in urls).encode())
    dxtest.domaindex("publish", "--root", root)
    with dxtest.Server(root) as server:
        ids = {d["name"]: d["dataset_id"] for d in server.get("/v1/datasets").json["datasets"]}
        detail = refused(server, "/v1/suffix/com/urls?sort=time", 422, "too-much")["detail"]
        check(f"over {DOMAINS} domains" in detail and "one dataset" in detail, detail)
        detail = refused(server, "/v1/suffix/net/urls?sort=url", 422, "too-much")["detail"]
        check(f"over {ROWS} rows" in detail, detail)
        reply = server.get(f"/v1/suffix/com/urls?sort=url&dataset={ids['few']}").json
        equal((reply["total"], [i["url"] for i in reply["items"]]), (50, sorted(f"https://d{n}.com/f" for n in range(50))), "of one dataset")
        reply = server.get("/v1/suffix/s1.net/urls?sort=url&reverse=yes&limit=3").json
        equal((reply["total"], [i["url"] for i in reply["items"]]),
              (ROWS // 2, [f"https://s1.net/{n}" for n in sorted((str(k) for k in range(1, ROWS + 1, 2)), reverse=True)[:3]]), "of a name below it")
        dxtest.domaindex("domain64", "init", "--root", root)
        dxtest.domaindex("domain64", "fill", "--root", root)
        dxtest.wait_until(lambda: server.get("/v1/range?from=0&limit=1").json.get("items"))
        for query in ("sort=url", "offset=1"):
            refused(server, f"/v1/range?from=0&{query}", 422, "too-much")
        # The last that may be asked for.
        dxtest.domaindex("suppress", "add", "--root", root, "--domain", "d7.com", "--policy", "absent")
        dxtest.wait_until(lambda: server.get("/v1/domain/d7.com").status == 404)
        reply = server.get("/v1/suffix/com/urls?sort=url&limit=1")
        equal((reply.status, reply.json.get("total")), (200, DOMAINS + 49), f"as many as may be: {reply.body[:200]}")


def main():
    dxtest.need_programs()
    rng = random.Random(4)
    rows = make_rows(rng)
    with dxtest.tempdir() as tmp:
        root = tmp / "root"
        for part in range(2):
            for dataset, name in enumerate(NAMES, 1):
                text = "url\tts\tdigest\n" + "".join(f"{r.url}\t{'' if r.ts is None else r.ts}\t{r.digest}\n" for r in rows if (r.dataset, r.part) == (dataset, part))
                dxtest.domaindex("ingest", "--root", root, "--format", "tsv", "--url-column", "url", "--ts-column", "ts", "--extra-column", "digest", "--dataset", name, "-", input=text.encode())
        dxtest.domaindex("publish", "--root", root)
        dxtest.domaindex("domain64", "init", "--root", root)
        dxtest.domaindex("domain64", "fill", "--root", root)
        numbers = numbers_of(root, rows)
        check(len(numbers) > 100, f"{len(numbers)} numbers")
        with dxtest.Server(root, "--poll-ms", 50) as server:
            suffixes(server, rows, rng, "all")
            ranges(server, rows, numbers, rng, "all")
            refusals(server)
            hides = suppressed(root, server, rows, numbers, rng)
        restricted(root, rows, numbers, hides, rng)
        too_much(tmp)
    dxtest.finish()


if __name__ == "__main__":
    main()
