#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: short plain
"""/v1/suffix/{suffix} against a recount of the source: domains, URLs, rows and times below any name, of all datasets and of one;
/v1/domain/{domain}?view=icann the same, of domains as ICANN's part of the suffix list has them. /v1/suffix/{suffix}/urls: the rows themselves.

In detail: TLDs, public suffixes of one and of several labels, private ones, domains, names that no domain is below; in two parts
of the index, with domains that both have; by pages; of each principal that sees some of the datasets; while rules of each kind and
policy hold; an older version; what is no name is refused, and so are cursors of other suffixes. By ICANN's rules: names of private
suffixes, a suffix as a domain, a name with a rule of ICANN below it; absent and withheld are different answers. Rows: by domain, dataset and listing; by pages of one
and of three rows; with filters; as NDJSON; what is hidden makes no page longer or shorter.
"""
import csv
import datetime
import functools
import io
import json
import random
import time
import urllib.parse
from fractions import Fraction

import dxtest
import roots
from dxtest import check, equal

SUFFIXES = ("com", "co.uk", "uk", "net", "com.au", "xn--p1ai", "github.io", "io")
# As they are asked for, what the answer says of the name, and its registered domain.
ASKED = (("com", "com", None), ("CO.uk", "co.uk", None), ("uk.", "uk", None), ("*.uk", "uk", None), (".io", "io", None), ("github.io", "github.io", None), ("рф", "xn--p1ai", None),
         ("com.au", "com.au", None), ("site001.co.uk", "site001.co.uk", "site001.co.uk"), ("www.site001.co.uk", "www.site001.co.uk", "site001.co.uk"),
         ("e001.co.uk", "e001.co.uk", "e001.co.uk"), ("net", "net", None), ("nowhere", "nowhere", None), ("info", "info", None))
# As it is asked for, and the domain by ICANN's rules: what is below it is its own, but what they register below another suffix.
ICANN = (("site004.github.io", "github.io"), ("github.io", "github.io"), ("https://a.b.github.io/x", "github.io"), ("nordland.no", "nordland.no"),
         ("x.bo.nordland.no", "x.bo.nordland.no"), ("u.q.r.appspot.com", "appspot.com"), ("appspot.com", "appspot.com"), ("site000.com", "site000.com"),
         ("192.0.2.11", "192.0.2.11"), ("all.blogspot.com", "blogspot.com"))
ODD = ("https://nordland.no/1", "https://x.bo.nordland.no/1", "https://y.bo.nordland.no/2", "https://u.q.r.appspot.com/", "https://w.appspot.com/1", "https://all.blogspot.com/1")
WITHIN_S = 60
RULES = (
    (["--domain", "site003.net"], lambda u: domain_of(u) == "site003.net"),
    (["--domain", "site008.com", "--policy", "absent"], lambda u: domain_of(u) == "site008.com"),
    (["--host", "www.site009.co.uk", "--policy", "absent"], lambda u: "//www.site009.co.uk/" in u),
    (["--host", "site001.co.uk", "--host", "www.site001.co.uk"], lambda u: domain_of(u) == "site001.co.uk"),
    (["--domain", "site004.github.io"], lambda u: domain_of(u) == "site004.github.io"),
    (["--url", "https://all.blogspot.com/1"], lambda u: domain_of(u) == "all.blogspot.com"),
    (["--host", "w.appspot.com", "--domain", "u.q.r.appspot.com", "--policy", "absent"], lambda u: domain_of(u).endswith(".appspot.com")),
    (["--url", "https://only.info/1"], lambda u: u == "https://only.info/1"),
    (["--domain", "only.info", "--policy", "absent"], lambda u: domain_of(u) == "only.info"),
)


@functools.cache
def domain_of(url):
    host = url.split("/")[2]
    return host[4:] if host.startswith("www.") else host


def make_rows(rng, names):
    """(url, ts) of each dataset; a URL has rows at several times, and is in several datasets; some rows have no time."""
    rows = {}
    for name in names:
        rows[name] = set()
        for i in range(120):
            domain = f"site{i:03}.{SUFFIXES[i % len(SUFFIXES)]}" if i % 11 else f"192.0.2.{i % 250}"
            if rng.random() < 0.6:
                for n in range(rng.randrange(1, 5)):
                    url = f"https://{domain if i % 11 == 0 else rng.choice(('', 'www.')) + domain}/{rng.choice('pq')}/{n}"
                    rows[name] |= {(url, rng.choice(("", 1700000000 + rng.randrange(9)))) for _ in range(rng.randrange(1, 3))}
    return rows


def when(ts):
    return datetime.datetime.fromtimestamp(ts, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def recount(rows, names, suffix, hides):
    """(domains, URLs, rows, first, last) of each dataset that has something, and of all."""
    out, domains = {}, set()
    for name in sorted(names):
        left = [row for row in rows[name] if not hides(row[0]) and (domain_of(row[0]) == suffix or domain_of(row[0]).endswith("." + suffix))]
        if left:
            times = [ts for _, ts in left if ts != ""]
            out[name] = (len({domain_of(url) for url, _ in left}), len({url for url, _ in left}), len(left), when(min(times)) if times else None, when(max(times)) if times else None)
            domains |= {domain_of(url) for url, _ in left}
    times = [t for of in out.values() for t in of[3:] if t]
    return out, (len(domains), sum(o[1] for o in out.values()), sum(o[2] for o in out.values()), min(times, default=None), max(times, default=None))


def values(item):
    return tuple(item[m] for m in ("domain_count", "url_count", "row_count", "first_ts", "last_ts"))


def ask(server, target, headers):
    end = time.monotonic() + WITHIN_S
    reply = server.get(target, headers=headers)
    while reply.status == 503 and time.monotonic() < end:
        time.sleep(0.05)
        reply = server.get(target, headers=headers)
    return reply


def compare(server, asked, query, want, words, headers=None, wait=False):
    target = f"/v1/suffix/{urllib.parse.quote(asked)}{query}"
    each, total = want
    end = time.monotonic() + WITHIN_S
    reply = ask(server, target, headers)
    while wait and reply.status == 200 and values(reply.json["totals"]) != total and time.monotonic() < end:
        time.sleep(0.05)
        reply = ask(server, target, headers)
    if not equal(reply.status, 200, f"{words}, {asked}: {reply.body[:300]}"):
        return
    answer = reply.json
    equal(({d["name"]: values(d) for d in answer["datasets"]}, values(answer["totals"]), answer["next_cursor"], answer["complete"]), (each, total, None, True), f"{words}, {asked}")
    got, cursor, pages = {}, None, 0
    while cursor is not None or pages == 0:
        more = f"cursor={cursor}" if cursor else "limit=1"
        reply = ask(server, f"{target}{'&' if query else '?'}{more}", headers)
        if wait and reply.status == 410 and time.monotonic() < end:     # the rule came into force between two pages
            got, cursor, pages = {}, None, 0
            continue
        if not equal(reply.status, 200, f"{words}, {asked}, page {pages}"):
            return
        equal(values(reply.json["totals"]), total, f"{words}, {asked}, totals of page {pages}")
        got |= {d["name"]: values(d) for d in reply.json["datasets"]}
        cursor, pages = reply.json["next_cursor"], pages + 1
    equal((got, pages), (each, max(1, len(each))), f"{words}, {asked}, by 1")


def listed(server, target, headers, limit, words):
    """Items of all pages, which have at most `limit`; of a page that is followed by another one at least one where nothing is filtered."""
    items, cursor, pages = [], None, 0
    while cursor is not None or pages == 0:
        reply = ask(server, f"{target}{'&' if '?' in target else '?'}{f'cursor={cursor}&limit={limit}' if cursor else f'limit={limit}'}", headers)
        if not equal(reply.status, 200, f"{words}, page {pages}: {reply.body[:200]}"):
            break
        equal((reply.json["complete"], len(reply.json["items"]) <= limit, "cost" in reply.json), (True, True, "filter" in words and not HIDING), f"{words}, page {pages}")
        check("filter" in words or cursor is None or reply.json["items"], f"{words}: page {pages} is empty")
        items += reply.json["items"]
        cursor, pages = reply.json["next_cursor"], pages + 1
    return items, pages


def listing(server, asked, names, ids, headers, version):
    """Rows of a suffix as the listings of its domains have them, one after the other."""
    out = []
    for item in server.get(f"/v1/domains?suffix={asked}&limit=10000{version}", headers=headers).json["domains"]:
        for name in names:
            reply = ask(server, f"/v1/domain/{item['domain']}/datasets/{ids[name]}/urls?limit=10000{version}", headers)
            if reply.status == 200:
                out += [{**row, "domain": item["domain"], "dataset_id": ids[name]} for row in reply.json["items"]]
    return out


def check_offsets(server, target, version, want, headers, words):
    """Rows from each of some places on, to the end; want: all."""
    target += ("&" if "?" in target else "?") + (version + "&" if version else "")
    for offset in {1, 2, 3, len(want) // 2, len(want) - 1, len(want), len(want) + 1, 10**18} - {0, -1}:
        reply = ask(server, f"{target}offset={offset}&limit=2", headers)
        if not equal(reply.status, 200, f"{words}, offset {offset}: {reply.body[:200]}"):
            return
        equal((reply.json["total"], reply.json["offset"]), (len(want), offset), f"{words}, {target}offset={offset}")
        rows, cursor = reply.json["items"], reply.json["next_cursor"]
        while cursor is not None:
            reply = ask(server, f"{target}cursor={cursor}&limit=1000", headers)
            equal((reply.status, "offset" in reply.json), (200, False), f"{words}, behind offset {offset}")
            rows, cursor = rows + reply.json["items"], reply.json["next_cursor"]
        equal(rows, want[offset:], f"{words}, {target}offset={offset}: {len(rows)} rows of {len(want)}")
    lines = ask(server, f"{target}offset=2&format=ndjson", headers).body.splitlines()
    equal(len(lines), max(0, len(want) - 2), f"{words}, offset of a stream")


def compare_urls(server, rows, ids, hides, words, headers=None, names=None, version=""):
    """Behind compare_all: the rules are in force."""
    names = sorted(rows, key=lambda n: ids.get(n, 0)) if names is None else sorted(names, key=lambda n: ids[n])
    turn = len(HIDING) + len(names)      # in the gate, under rules, one of each kind in turn
    few = HIDING and not dxtest.WHOLE
    for asked, suffix, _ in ASKED[2 + turn % 4:3 + turn % 4] if few else (ASKED if words in ("all", "as two sees it") else ASKED[2:6]) if dxtest.WHOLE else ASKED[::2] if words == "all" else ASKED[3::4]:
        target = f"/v1/suffix/{urllib.parse.quote(asked)}/urls{version and '?' + version}"
        want = sorted((url, ids[name], when(ts) if ts != "" else "") for name in names for url, ts in rows[name]
                      if not hides(url) and (domain_of(url) == suffix or domain_of(url).endswith("." + suffix)))
        got, _ = listed(server, target, headers, 10000, f"{words}, rows of {asked}")
        equal(sorted((r["url"], r["dataset_id"], r["ts"] or "") for r in got), want, f"{words}, rows of {asked}")
        equal(got, listing(server, suffix, names, ids, headers, version and "&" + version), f"{words}, rows of {asked} in order")
        for limit in ((1, 3) if words == "all" else (3,)) if dxtest.WHOLE else (1 if len(got) < 40 else 3 if len(got) < 160 else 17,):
            equal(listed(server, target, headers, limit, f"{words}, rows of {asked} by {limit}"), (got, max(1, -(-len(got) // limit))), f"{words}, rows of {asked} by {limit}")
    got, _ = listed(server, f"/v1/suffix/uk/urls{version and '?' + version}", headers, 10000, "rows of uk")
    join = "&" + version if version else ""
    filters = (("prefix=/p/", lambda r: "/p/" in r["url"]), ("from=2023-11-14T22:13:25Z", lambda r: r["ts"] and r["ts"] >= "2023-11-14T22:13:25Z"), ("filter=~url:.*/q/[12]", lambda r: r["url"][-4:] in ("/q/1", "/q/2")))
    for query, takes in filters[turn % 3:turn % 3 + 1] if few else filters:
        equal(listed(server, f"/v1/suffix/uk/urls?{query}{join}", headers, 2, f"{words}, filter {query}")[0], [r for r in got if takes(r)], f"{words}, {query}")
    for dataset in (None, *([ids[names[-1]]] if names else []))[turn % 2 if few and names else 0:][:1 if few else 2]:
        check_offsets(server, f"/v1/suffix/uk/urls{f'?dataset={dataset}' if dataset else ''}", version, [r for r in got if dataset in (None, r["dataset_id"])], headers, words)
    if names:
        one = f"/v1/suffix/uk/urls?dataset={ids[names[-1]]}{join}"
        equal(listed(server, one, headers, 2, f"{words}, of one")[0], [r for r in got if r["dataset_id"] == ids[names[-1]]], f"{words}, rows of one dataset")
    lines = [json.loads(line) for line in server.get(f"/v1/suffix/uk/urls?format=ndjson{join}", headers=headers).body.splitlines()]
    equal([{k: r[k] for k in ("url", "domain", "dataset_id")} for r in lines], [{k: r[k] for k in ("url", "domain", "dataset_id")} for r in got], f"{words}, NDJSON")


def compare_all(server, rows, ids, hides, words, headers=None, names=None, wait=False, version=""):
    names = sorted(rows) if names is None else names
    few, turn = HIDING and not dxtest.WHOLE, len(HIDING) + len(names)
    hides = functools.cache(hides)
    for asked, suffix, _ in ASKED[turn % 3::3] if few else ASKED:
        compare(server, asked, version and f"?{version}", recount(rows, names, suffix, hides), words, headers, wait)
    for name, number in ids.items():
        target = f"?dataset={number}{version and '&' + version}"
        if name in names:
            for asked, suffix, _ in ASKED[1 + (turn + number) % 3:][:1] if few else ASKED[1:4]:
                compare(server, asked, target, recount(rows, [name], suffix, hides), f"{words}, {name}", headers, wait)
        else:
            equal(server.get(f"/v1/suffix/com{target}", headers=headers).status, 404, f"{words}, {name} is hidden")
    compare_urls(server, rows, ids, hides, words, headers, names, version)


def heads_and_refusals(server):
    for asked, suffix, domain in ASKED:
        answer = server.get(f"/v1/suffix/{urllib.parse.quote(asked)}").json
        equal((answer["suffix"], answer["domain"], answer.get("suffix_unicode")), (suffix, domain, "рф" if suffix == "xn--p1ai" else None), asked)
    cursor = server.get("/v1/suffix/com?limit=1").json["next_cursor"]
    for target, status, slug in ((f"/v1/suffix/io?cursor={cursor}", 400, "cursor-mismatch"), (f"/v1/suffix/com?cursor={cursor}&dataset=1", 400, "cursor-mismatch"),
                                 (f"/v1/tlds?cursor={cursor}", 400, "cursor-mismatch"), ("/v1/suffix/com?cursor=AAAA", 400, "bad-cursor"), ("/v1/suffix/com?limit=10001", 400, "limit-too-large"),
                                 ("/v1/suffix/com?offset=1", 400, "unknown-parameter"), ("/v1/suffix/com?dataset=99", 404, "dataset-not-found"), ("/v1/suffix/192.0.2.1", 400, "not-a-name"), ("/v1/suffix/a*.com", 400, "not-a-name"), ("/v1/suffix/*", 400, "not-a-name"), ("/v1/suffix/a.*.com/urls", 400, "not-a-name"),
                                 ("/v1/suffix/.", 400, "not-a-name"), ("/v1/suffix/a%20b", 400, "not-a-name"), (f"/v1/suffix/{'a' * 60}.{'b' * 200}", 400, "not-a-name"), ("/v1/suffix", 404, "no-such-resource")):
        reply = server.get(target)
        equal((reply.status, reply.json["type"].rsplit(":", 1)[1]), (status, slug), target)
    cursor = server.get("/v1/suffix/com/urls?limit=1").json["next_cursor"]
    for target, status, slug in ((f"/v1/suffix/io/urls?cursor={cursor}", 400, "cursor-mismatch"), (f"/v1/suffix/com/urls?cursor={cursor}&dataset=1", 400, "cursor-mismatch"),
                                 (f"/v1/suffix/com/urls?cursor={cursor}&fields=url", 400, "cursor-mismatch"), (f"/v1/suffix/com/urls?cursor={cursor}&prefix=/a", 400, "cursor-mismatch"),
                                 (f"/v1/suffix/com?cursor={cursor}", 400, "cursor-mismatch"), ("/v1/suffix/com/urls?offset=1&plan=2", 400, "bad-parameter"), ("/v1/suffix/com/urls?offset=1&prefix=/", 400, "bad-parameter"), (f"/v1/suffix/com/urls?offset=9223372036854775808", 400, "bad-parameter"),
                                 ("/v1/suffix/com/urls?dataset=99", 404, "dataset-not-found"), ("/v1/suffix/192.0.2.1/urls", 400, "not-a-name")):
        reply = server.get(target)
        equal((reply.status, reply.json["type"].rsplit(":", 1)[1]), (status, slug), target)
    lines = server.get("/v1/suffix/com?format=csv").body.decode().split()
    equal(lines[0], "dataset_id,name,domain_count,url_count,row_count,first_ts,last_ts,kind,page_count", "CSV")
    equal(len(lines), 1 + len(server.get("/v1/suffix/com").json["datasets"]), "lines of CSV")


def icann_domain(domain):
    """Of the domains here."""
    for name in ("github.io", "appspot.com", "blogspot.com"):
        if domain.endswith("." + name):
            return name
    return domain


def in_order(server, target, answer, headers, members):
    """Orders and pages of the items of an answer by ICANN's rules."""
    urls = {d["dataset_id"]: d["url_count"] for d in server.get("/v1/datasets?limit=1000", headers=headers).json["datasets"]}
    items = answer["datasets"]
    equal([round(d["share"], 6) for d in items], [round(d["url_count"] / urls[d["dataset_id"]], 6) for d in items], f"{target}: share")
    for member in members:
        want = sorted(items, key=lambda d: (d[member] if member != "share" else Fraction(d["url_count"], urls[d["dataset_id"]])), reverse=True)
        got, offset = [], 0
        while offset is not None:
            reply = server.get(f"{target}&sort={member}&reverse=yes&limit=1&offset={offset}", headers=headers).json
            equal((reply["offset"], {**reply, "datasets": 0, "offset": 0, "next_offset": 0}), (offset, {**answer, "datasets": 0, "offset": 0, "next_offset": 0}), f"{target}: {member}, {offset}")
            got, offset = got + reply["datasets"], reply["next_offset"]
        equal(got, want, f"{target} by {member}")


def in_formats(server, target, answer, headers):
    """The same items with some of their members, and in other formats; what a sum has not is null."""
    items = answer["datasets"]
    equal(([d["rank"] for d in items], answer["distinct_url_count"], answer["distinct_error"]), ([None] * len(items), None, None), f"{target}: what is not there")
    some = server.get(f"{target}&fields=share,first_ts,rank", headers=headers).json["datasets"]
    equal(some, [{m: d[m] for m in ("dataset_id", "domain_count", "first_ts", "share", "rank")} for d in items], f"{target}: fields")
    text = server.get(f"{target}&format=csv&sort=share&reverse=yes", headers=headers).body.decode()
    want = server.get(f"{target}&sort=share&reverse=yes", headers=headers).json["datasets"]
    got = list(csv.DictReader(io.StringIO(text)))
    equal([{m: r[m] for m in d} for r, d in zip(got, want)], [{m: "" if v is None else str(v) for m, v in d.items()} for d in want], f"{target}: CSV")
    equal(len(got), len(want), f"{target}: lines of CSV")
    lines = server.get(f"{target}&format=ndjson&limit=2&fields=url_count", headers=headers).body.decode().splitlines()
    equal([json.loads(line) for line in lines], [{m: d[m] for m in ("dataset_id", "domain_count", "url_count")} for d in items[:2]], f"{target}: NDJSON")
    for kind, magic in (("arrow", b"\xff\xff\xff\xff"), ("parquet", b"PAR1")):
        equal(server.get(f"{target}&format={kind}", headers=headers).body[:4], magic, f"{target}: {kind}")


def compare_icann(server, rows, names, hides, words, headers=None, wait=False):
    for asked, domain in ICANN:
        target = f"/v1/domain/{urllib.parse.quote(asked, safe='')}?view=icann"
        own = {name: {row for row in rows[name] if icann_domain(domain_of(row[0])) == domain} for name in names}
        each, total = recount(own, names, domain, hides)
        want = 200 if each else 404 if not any(own.values()) or domain != "blogspot.com" else 451
        end = time.monotonic() + WITHIN_S
        reply = ask(server, target, headers)
        while wait and (reply.status != want or (want == 200 and values(reply.json) != total)) and time.monotonic() < end:
            time.sleep(0.05)
            reply = ask(server, target, headers)
        answer = reply.json
        if not equal(reply.status, want, f"{words}, {asked}: {reply.body[:200]}") or want != 200:
            check(want == 200 or domain in answer["detail"], f"{asked}: {answer}")
            continue
        equal(({d["name"]: values(d) for d in answer["datasets"]}, values(answer), answer["domain"], answer["view"], answer["dataset_count"], answer["complete"]),
              (each, total, domain, "icann", len(each), True), f"{words}, {asked} by ICANN's rules")
        some = dxtest.WHOLE or words == "all"
        in_order(server, target, answer, headers, ORDERS if some else ORDERS[len(words + asked) % 4::4])
        if some or len(words + asked) % 3 == 0:
            in_formats(server, target, answer, headers)
        whole = server.get(f"/v1/domain/{domain}", headers=headers)
        if whole.status == 200 and answer["domain_count"] == 1:     # of a domain that is one by all rules, both answers are the same
            equal([values({"domain_count": 1, **d}) for d in whole.json["datasets"]], [values(d) for d in answer["datasets"]], f"{words}, {asked} by both")
            equal(whole.json["domain_id"], answer["domain_id"], f"{asked}: id")
    for bad in ("fields=nope", "sort=rank", "limit=0", "format=cdx", "view=x"):
        equal(server.get(f"/v1/domain/github.io?{'' if 'view' in bad else 'view=icann&'}{bad}", headers=headers).status, 400, bad)
    equal(server.get("/v1/domain/github.io?view=icann&sort=dataset_id&reverse=no&offset=0&format=json", headers=headers).status in (200, 404), True, "what is so by default")
    equal([server.get(f"/v1/domain/{d}?view={view}", headers=headers).status for d, view in (("io", "icann"), ("co.uk", "icann"), ("github.io", "private"))], [400] * 3, "suffixes")


ORDERS = ("url_count", "name", "share", "dataset_id")     # all of them of the first answers, else one
HIDING = []    # rules in force: no answer has a cost then


def suppressed(root, server, rows, ids):
    hidden = HIDING
    for number, (words, hides) in enumerate(RULES):
        dxtest.domaindex("suppress", "add", "--root", root, *words)
        hidden.append(hides)
        if number % 2 and not dxtest.WHOLE:     # the last one is compared
            continue
        compare_all(server, rows, ids, lambda u: any(h(u) for h in hidden), f"suppressed: {words}", wait=True)
        compare_icann(server, rows, sorted(rows), lambda u: any(h(u) for h in hidden), f"suppressed: {words}", wait=True)
    return lambda u: any(h(u) for h in hidden)


def restricted(root, rows, ids, hides):
    """What a principal does not see is not counted, whatever of it is suppressed."""
    sees = {"auditor": sorted(rows), "one": ["b"], "two": ["a", "d"], "nobody": []}
    tokens = roots.principals(root, {**sees, "auditor": None})
    with dxtest.Server(root, "--poll-ms", 50) as server:
        for who, names in sees.items():
            compare_all(server, rows, ids, hides, f"as {who} sees it", tokens[who], names, wait=True)
            if names:
                compare_icann(server, rows, names, hides, f"as {who} sees it", tokens[who], wait=True)
        cursor = server.get("/v1/suffix/com?limit=1", headers=tokens["auditor"]).json["next_cursor"]
        equal(server.get(f"/v1/suffix/com?cursor={cursor}", headers=tokens["two"]).status, 400, "another one's cursor")


def ingest(root, rows):
    for name, of in rows.items():
        text = "".join(f"{url}\t{ts}\n" for url, ts in sorted(of, key=str))
        dxtest.domaindex("ingest", "--root", root, "--format", "tsv", "--url-column", 1, "--ts-column", 2, "--no-header", "--dataset", name, "-", input=text.encode())
    dxtest.domaindex("publish", "--root", root)


def dear_expression(tmp):
    """A page ends where the expression has taken its steps, and the next one goes on behind it, in the same domain or another one."""
    root = tmp / "dear"
    urls = [f"http://s{i}.co.uk/{'a' * 400}{n}" for i in range(4) for n in range(2)] + ["http://s2.co.uk/!"]
    dxtest.domaindex("ingest", "--root", root, "--dataset", "a", "-", input="".join(f"{url}\n" for url in urls).encode())
    dxtest.domaindex("publish", "--root", root)
    with dxtest.Server(root) as server:
        expression = urllib.parse.quote("~url:" + "[a-z]*[a-z0-9]*" * 15 + "[!?]")
        began = time.monotonic()
        items, pages = listed(server, f"/v1/suffix/co.uk/urls?filter={expression}", None, 1000, "a dear filter")
        check(time.monotonic() - began < 10 * (pages - 1), f"{pages} pages, of which none waits until half of its 30 s are over, in {time.monotonic() - began} s")
        print(f"a dear expression: {pages} pages", flush=True)
        check([r["url"] for r in items] == ["http://s2.co.uk/!"] and 2 < pages < 10, f"{pages} pages: {items}")


def main():
    dxtest.need_programs()
    rng = random.Random(5)
    first = make_rows(rng, "abc")
    second = {"b": {(url, 1800000000) for url, _ in rng.sample(sorted(first["b"], key=str), 20)}, **make_rows(rng, "d")}
    first["b"] |= {(url, 1600000000 + n) for n, url in enumerate(ODD)}
    second["d"] |= {(ODD[n], 1600000000 + n) for n in (0, 2, 4)}
    second["d"] |= {(f"https://only.info/{n}", 1700000000) for n in (1, 2)}
    rows = {name: first.get(name, set()) | second.get(name, set()) for name in "abcd"}
    with dxtest.tempdir() as tmp:
        root = tmp / "root"
        ingest(root, first)
        ingest(root, second)
        with dxtest.Server(root, "--poll-ms", 50) as server:
            ids = {d["name"]: d["dataset_id"] for d in server.get("/v1/datasets").json["datasets"]}
            old = server.get("/v1/versions").json["versions"][0]["version"]
            check(old != server.get("/v1/datasets").json["version"], "an older version")
            dear_expression(tmp)
            compare_all(server, rows, ids, lambda u: False, "all")
            compare_all(server, first, {n: i for n, i in ids.items() if n != "d"}, lambda u: False, "the older version", version=f"version={old}")
            compare_icann(server, rows, sorted(rows), lambda u: False, "all")
            heads_and_refusals(server)
            hides = suppressed(root, server, rows, ids)
        restricted(root, rows, ids, hides)
    dxtest.finish()


if __name__ == "__main__":
    main()
