#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: plain
"""/cdx, /index and /{dataset}-index against pywb's own index code over the same rows, and against a model.

Rows of real posts and made ones (letters of both cases, www and ports, escapes, sessions, several times, revisits, rows without mime, status or
digest) go in as CDXJ with the keys that pywb's canonicaliser makes, so each answer also says that keys are the same. Of pywb's dialect each answer is the
bytes of pywb: matchType x from/to x filter x collapseTime x sort x limit x fl x output. Of Wayback's a few lines of Python say what is right:
expressions of whole values, collapse, negative limits, JSON in arrays. All answers again in pieces by resumeKey and by pages. Errors, unknown
parameters, rows without a time, suppressions. pywb is asked DX_CDX_QUESTIONS of 30,400 combinations (40; 5,000 with DX_WHOLE=1; 0: all, 90 minutes).
Exit 77: pywb cannot be had from PyPI.
"""
import itertools
import json
import os
import random
import re
import subprocess
import time
import urllib.parse

import dxtest
from dxtest import check, equal

SITE = "example.com"
FIELDS = ("urlkey", "timestamp", "original", "mimetype", "statuscode", "digest", "length")
NAMES = {"url": "original", "mime": "mimetype", "status": "statuscode"}
BLOCK = 3000
QUESTIONS = int(os.environ.get("DX_CDX_QUESTIONS") or (5000 if dxtest.WHOLE else 40))


class Oracle:
    def __init__(self, python):
        self.process = subprocess.Popen([python, dxtest.SOURCE / "tests/support/pywb_oracle.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, question):
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait(60)


def made_urls(rng):
    """Paths of which several have one key, and neighbours that differ in the bytes that orders stumble over."""
    hosts = (SITE, f"www.{SITE}", f"www2.{SITE}", f"a.{SITE}", f"b-a.{SITE}", f"x.a.{SITE}", f"{SITE}:8080", f"a.{SITE}:81", f"{SITE}.", f"www.{SITE}.", f"a.{SITE}.:81")
    paths = ("/", "/A/B", "/a/b", "/a/b/", "/a/B.html", "/a-b", "/a.b", "/a/b?x=1", "/a/b?x=1&a=2", "/a/b?a=2&x=1", "/a/b?X=1", "/a%20b", "/a/%C3%A9", "/a!", "/a/b%3Fx",
             "/~u/(abcdefghijklmnopqrstuvwx)/p.aspx", "/q?sid=0123456789abcdef0123456789abcdef&z=1", "/q?z=1", "/b/%2541", "/zz", "/zz?", "/index.php?id=3&Id=2")
    return [f"{rng.choice(('http', 'https'))}://{host}{path}" for host in hosts for path in paths]


# Of domains whose keys are not in the order of their names: below another domain, a name of "www", ports; none of them is example.com's.
OTHERS = ("http://s3bucket.s3.amazonaws.com/a", "http://x.s3.amazonaws.com:81/b", "http://amazonaws.com/", "http://z.amazonaws.com/c", "http://a.amazonaws.com/", "http://www.co.uk/x", "http://www2.co.uk/",
          "http://x.www.co.uk/", "http://aa.co.uk/", "http://www.aa.co.uk:8080/p", "http://aa-b.co.uk/", "http://aa1.co.uk/", "http://aab.co.uk/", "http://zz.co.uk/", "http://b.uk/", "http://www.b.uk/q",
          "http://b.org.uk/", "http://www.org.uk/", "http://www.www.uk/", "http://www3.org.uk:81/a", "http://y.www3.org.uk/", "http://www-a.co.uk/", "http://www24h.co.uk/", "http://www24h.co.uk:8080/b",
          "http://zed.com/", "http://zed.com:8080/z", "http://a.zed.com:9/", "http://zed-a.com/", "http://zed-a.com:81/", "http://zed1.com/", "http://zed1-a.com/", "http://zeda.com/", "http://www-x.com/",
          "http://www7.co.uk/b", "http://x.www7.co.uk:99/c",  "http://user.github.io/r", "http://www.user.github.io:99/r", "http://github.io.example.net/")


def real_urls():
    path = dxtest.shared_data("lists/reddit-top-2.5-million/posts-A.tsv.zst")
    if path is None:
        print("SKIPPED in part: no posts-A.tsv.zst in DX_SHARED_DATA")
        return []
    some = "" if dxtest.WHOLE else " | head -n 7000"  # as many as are needed for two pages
    text = subprocess.run(["sh", "-c", 'zstd -dcq "$0" | grep -a -F -e flickr.com -e wikipedia.org' + some, path], stdout=subprocess.PIPE, check=True).stdout.decode("utf-8", "replace")
    urls = (line.split("\t")[2] for line in text.splitlines())
    return [u for u in urls if re.fullmatch(r"https?://(?:[a-z0-9-]+\.)*(?:flickr\.com|wikipedia\.org)/[!$-~]*", u) and "#" not in u][:None if dxtest.WHOLE else 4600]


def make_rows(rng, oracle):
    """{dataset: [members]} in no order; each has a digest of its own, so that none is another's double."""
    urls = made_urls(rng) * (3 if dxtest.WHOLE else 2) + [u for u in OTHERS for _ in range(3)] + real_urls()
    keys = oracle.ask({"surt": urls})
    rows = {"crawl-a": [], "crawl-b": []}
    originals = []
    for n, (url, key) in enumerate(zip(urls, keys)):
        row = {"urlkey": key, "timestamp": time.strftime("%Y%m%d%H%M%S", time.gmtime(1400000000 + rng.randrange(40) * 86400 * 30 + rng.randrange(3))), "url": url,
               "mime": rng.choice(("text/html", "text/html", "image/png", "application/pdf")), "status": rng.choice(("200", "200", "301", "404")), "digest": f"{n:032d}",
               "length": str(rng.randrange(100, 9999)), "offset": str(n * 10000), "filename": f"part-{n % 3}.warc.gz"}
        if originals and rng.random() < 0.15:
            row |= {"mime": "warc/revisit", "digest": rng.choice(originals), "offset": str(n * 10000 + 1)}
            del row["status"]
        else:
            originals.append(row["digest"])
        if rng.random() < 0.05:
            del row["mime"]
        rows[rng.choice(tuple(rows))].append(row)
    return rows


MEMBERS = ("url", "mime", "status", "digest", "length", "offset", "filename")


def ordered(rows, ids):
    """In the order of answers: by key and time, then by the other columns, then by dataset."""
    return sorted(rows, key=lambda r: (r["urlkey"].encode(), r["timestamp"], *(r.get(m, "").encode() for m in MEMBERS), ids.get(r.get("dataset"), 0)))


def cdxj(rows):
    return "".join(f"{r['urlkey']} {r['timestamp']} " + json.dumps({k: r[k] for k in MEMBERS if k in r}) + "\n" for r in rows)


def first_difference(got, want):
    pairs = enumerate(itertools.zip_longest(str(got).splitlines(), str(want).splitlines()))
    return next((f"line {n}: {a}, not {b}" for n, (a, b) in pairs if a != b), "the same lines")


def query(params):
    return urllib.parse.urlencode([(k, v) for k, vs in params.items() for v in (vs if isinstance(vs, list) else [vs])])


def ask(server, path, params, expect=200):
    reply = server.get(f"{path}?{query(params)}")
    equal(reply.status, expect, f"{path} {params}: {reply.body[:300]}")
    return reply


URLS = (("exact", f"http://{SITE}/a/b"), ("exact", f"www.{SITE}"), ("prefix", f"{SITE}/a"), ("prefix", f"http://{SITE}/a/"), ("prefix", f"{SITE}/a/b?"), ("host", SITE), ("host", f"a.{SITE}"),
        ("domain", SITE), ("domain", f"a.{SITE}"), (None, f"*.{SITE}"), (None, f"{SITE}/*"), (None, f"{SITE}/q*"), (None, f"*.{SITE}."), ("exact", f"http://www.{SITE}./a/b"), ("host", f"{SITE}."), ("exact", f"http://{SITE}:8080/a/b"), ("domain", "flickr.com"), ("host", "en.wikipedia.org"),
        (None, "flickr.com/photos/2*"),
        ("domain", "uk"), (None, "*.co.uk"), ("domain", "www.co.uk"), (None, "*.amazonaws.com"), ("domain", "s3.amazonaws.com"), (None, "*.io"), (None, "*.github.io"), ("domain", "http://AmazonAWS.com/x"),
        (None, "*.com"), ("domain", "z.amazonaws.com"), (None, "*.nothing"), ("exact", "http://www2.co.uk/"), ("host", "aa.co.uk"))
TIMES = ({}, {"from": "2015"}, {"to": "201502"}, {"from": "201501", "to": "2016"}, {"from": "2"})
FILTERS = ({}, {"filter": "=status:200"}, {"filter": "!=status:200"}, {"filter": "mime:html"}, {"filter": ["~mime:te.*l", "!~url:.*B"]}, {"filter": "~digest:0+1.3"}, {"filter": "part-1"},
           {"filter": "status:"}, {"filter": ["=mime:warc/revisit"]}, {"filter": "~s:[1-4]"})
REST = ({}, {"limit": 5}, {"sort": "reverse"}, {"sort": "reverse", "limit": 3}, {"collapseTime": 6}, {"collapseTime": 4, "limit": 9}, {"fl": "url,timestamp,nope"}, {"output": "json"},
        {"output": "json", "fields": "urlkey,mime,length,nope"}, {"output": "cdxj", "fl": "status,url"}, {"resolveRevisits": "true", "output": "json"}, {"resolveRevisits": "true"},
        {"resolveRevisits": "1", "filter": "=mime:text/html", "limit": 20, "output": "json"}, {"closest": "20150601", "sort": "closest"}, {"closest": "2016", "limit": 4}, {"output": "link"},
        {"output": "link", "sort": "reverse", "limit": 3}, {"output": "link", "closest": "2016", "limit": 40}, {"output": "link", "limit": 1})


def compare_pywb(server, oracle, rng, paths):
    """Each answer has pywb's bytes; None where pywb has nothing and we, as Common Crawl, say 404."""
    grid = list(itertools.product(URLS, TIMES, FILTERS, REST))
    rng.shuffle(grid)
    empty = full = 0
    asked = grid[:QUESTIONS or len(grid)]
    for (match, url), times, filters, rest in asked:
        params = {"url": url, **({"matchType": match} if match else {}), **times, **filters, **rest}
        for path, file in rng.sample(sorted(paths.items()), 1):
            want = oracle.ask({"cdxj": str(file), "params": params})
            reply = server.get(f"{path}?{query(params)}")
            got = reply.body.decode() if reply.status == 200 else "" if reply.status == 404 else f"{reply.status} {reply.body}"
            check(got == want, f"{path} {params}: {first_difference(got, want)}")
            empty += want == ""
            full += want != ""
    check(full * 3 > len(asked) and empty * 22 > len(asked), f"{full} answers with rows, {empty} without")


def wayback_values(row):
    return [row.get({v: k for k, v in NAMES.items()}.get(f, f), "-") for f in FIELDS]


def model(rows, match, url, filters=(), collapse=(), limit=150000, first="0", last="9" * 14):
    """Of Wayback's dialect; rows are those of the scope, in order."""
    kept = []
    tokens = [None] * len(collapse)
    for row in rows:
        values = dict(zip(FIELDS, wayback_values(row)))
        if not first <= values["timestamp"] <= last:
            continue
        if not all(test(values) for test in filters):
            continue
        for i, (field, size) in enumerate(collapse):
            token = values[field][:size]
            if token == tokens[i]:
                break
            tokens[i] = token
        else:
            kept.append(list(values.values()))
    return kept[:limit] if limit >= 0 else kept[limit:]


def texts(rows):
    return "".join(" ".join(r) + "\n" for r in rows)


def compare_wayback(server, everything):
    rows = [r for r in everything if r["urlkey"].startswith("com,example")  and not r["urlkey"].startswith("com,example:")]

    def expression(field, pattern, inverted=False):
        return lambda v: (re.fullmatch(pattern, v[field]) is None) == inverted
    cases = (({}, {}), ({"filter": "statuscode:200"}, {"filters": [expression("statuscode", "200")]}), ({"filter": "statuscode:2"}, {"filters": [expression("statuscode", "2")]}),
             ({"filter": ["!statuscode:[23]..", "mimetype:text/.*"]}, {"filters": [expression("statuscode", "[23]..", True), expression("mimetype", "text/.*")]}),
             ({"filter": "~original:/a/"}, {"filters": [lambda v: "/a/" in v["original"]]}), ({"filter": "~!original:/a/"}, {"filters": [lambda v: "/a/" not in v["original"]]}),
             ({"filter": "4:-"}, {"filters": [lambda v: v["statuscode"] == "-"]}), ({"collapse": "urlkey"}, {"collapse": [("urlkey", None)]}),
             ({"collapse": "timestamp:4"}, {"collapse": [("timestamp", 4)]}), ({"collapse": ["urlkey", "digest"], "limit": 30}, {"collapse": [("urlkey", None), ("digest", None)], "limit": 30}),
             ({"limit": -7}, {"limit": -7}), ({"from": "2015", "to": "2015"}, {"first": "20150101000000", "last": "20151231235959"}), ({"limit": 3, "junk": "1", "gzip": "false"}, {"limit": 3}),
             ({"filter": "digest:0*12", "matchType": "domain"}, {"filters": [expression("digest", "0*12")]}))
    for params, wants in cases:
        want = model(rows, None, None, **wants)
        params = {"url": f"*.{SITE}" if "matchType" not in params else SITE, **params}
        for path in ("/cdx", "/cdx/search/cdx"):
            equal(ask(server, path, params).body.decode(), texts(want), f"{path} {params}")
        got = json.loads(ask(server, "/cdx", {**params, "output": "json"}).body)
        equal(got, [list(FIELDS), *want] if want else [], f"JSON of {params}")
        if "limit" in params:
            continue
        for size in (1 if len(want) < 100 else 17, 113) if dxtest.WHOLE else (7 if len(want) < 100 else 61, 230):
            equal(in_pieces(server, {**params, "limit": size}), texts(want), f"in pieces of {size}: {params}")
    got = json.loads(ask(server, "/cdx", {"url": f"*.{SITE}", "output": "json", "limit": 2, "showResumeKey": "true"}).body)
    equal((len(got), got[3]), (5, []), "resumeKey in JSON")
    equal(ask(server, "/cdx", {"url": f"*.{SITE}", "fl": "original,timestamp", "limit": 2}).body.decode(), texts([[r["url"], r["timestamp"]] for r in rows[:2]]), "fl")
    equal(ask(server, "/cdx", {"url": "nothing.example.org"}).body, b"", "nothing, as text")
    equal(ask(server, "/cdx", {"url": "nothing.example.org", "output": "json"}).body, b"[]\n", "nothing, as JSON")


def in_pieces(server, params):
    got, key, pieces = "", None, 0
    while True:
        reply = ask(server, "/cdx", {**params, "showResumeKey": "true", **({"resumeKey": key} if key else {})})
        text, gap, rest = reply.body.decode().partition("\n\n")
        got += text + ("\n" if gap else "")
        pieces += 1
        equal("x-domaindex-more-rows" in reply.headers, bool(gap), "a field says that there is more")
        if not gap or pieces > 5000:
            return got
        key = rest.strip()
        check(re.fullmatch("[A-Za-z0-9_-]+", key), f"a resumeKey without anything to escape: {key}")


def by_pages(server, everything):
    rows = [r for r in everything if r["urlkey"].startswith("com,flickr")]
    if not rows:
        return
    blocks = -(-len(rows) // BLOCK)
    pages = [int(ask(server, "/cdx", {"url": "*.flickr.com", "showNumPages": "true", "pageSize": size}).body) for size in (1, 2)]
    equal(pages, [blocks, -(-blocks // 2)], "showNumPages")
    below = [r for r in everything if r["urlkey"].startswith(("uk)", "uk,"))]
    equal(ask(server, "/cdx", {"url": "*.uk", "showNumPages": "true", "pageSize": 1}).body, b"1\n", "showNumPages of a suffix")
    for size in (1, 4, 1000):
        equal(in_pieces(server, {"url": "*.uk", "limit": size}), texts(model(below, None, None)), f"a suffix in pieces of {size}")
    equal(ask(server, "/index", {"url": "*.flickr.com", "showNumPages": "true"}).json, {"pages": -(-blocks // 5), "pageSize": 5, "blocks": blocks}, "showNumPages of pywb")
    for filters, test in (({}, lambda v: True), ({"filter": "statuscode:200"}, lambda v: v["statuscode"] == "200")):
        got = "".join(ask(server, "/cdx", {"url": "*.flickr.com", "page": page, "pageSize": 1, **filters}).body.decode() for page in range(blocks))
        equal(got, texts(model(rows, None, None, filters=[test])), f"all pages, {filters}")
    for suffix in ("com", "uk"):    # by pages: all rows, in order of domains
        below = [r for r in everything if r["urlkey"].startswith((f"{suffix})", f"{suffix},"))]
        pages = int(ask(server, "/cdx", {"url": f"*.{suffix}", "showNumPages": "true", "pageSize": 1}).body)
        equal(pages, -(-len(below) // BLOCK), f"showNumPages of {suffix}")
        got = [ask(server, "/cdx", {"url": f"*.{suffix}", "page": page, "pageSize": 1}).body.decode().splitlines() for page in range(pages)]
        equal([len(page) for page in got[:-1]], [BLOCK] * (pages - 1), f"rows of the pages of {suffix}")
        equal("\n".join(sorted(sum(got, []))), "\n".join(sorted(texts(model(below, None, None)).splitlines())), f"rows of all pages of {suffix}")
        equal(in_pieces(server, {"url": f"*.{suffix}", "limit": 700}), texts(model(below, None, None, limit=10 ** 9)), f"{suffix} in pieces")
    for path in ("/cdx", "/index"):
        reply = ask(server, path, {"url": "*.flickr.com", "page": blocks, "pageSize": 1}, 400)
        check("Last Page is" in reply.json["message"], f"a page behind the last one: {reply.body}")


def errors(server):
    for path, params, status, words in (
            ("/cdx", {}, 400, "url"), ("/cdx", {"url": "*"}, 400, "names no site"), ("/index", {"matchType": "exact"}, 400, "url"), ("/cdx", {"url": "com"}, 400, "public suffix"), ("/cdx", {"url": "http://co.uk/x", "matchType": "host"}, 400, "public suffix"),
            ("/cdx", {"url": SITE, "matchType": "range"}, 400, "matchType"), ("/cdx", {"url": SITE, "filter": "statuscode"}, 400, "':'"), ("/cdx", {"url": SITE, "filter": "nope:1"}, 400, "names no field"),
            ("/cdx", {"url": SITE, "filter": "original:(?=a)"}, 400, "look around"), ("/cdx", {"url": SITE, "filter": r"original:(a)\1"}, 400, "back references"),
            ("/cdx", {"url": "*.kobe.jp", "matchType": "exact"}, 400, "without matchType"), ("/index", {"url": SITE, "filter": "~url:(a"}, 400, "regular expression"), ("/cdx", {"url": SITE, "fl": "nope"}, 400, "not a field"),
            ("/cdx", {"url": SITE, "from": "2015-01"}, 400, "timestamp"), ("/cdx", {"url": SITE, "limit": "x"}, 400, "limit"), ("/cdx", {"url": SITE, "output": "xml"}, 400, "output"),
            ("/cdx", {"url": SITE, "resumeKey": "AAAA"}, 400, "resumeKey"), ("/cdx", {"url": SITE, "showPagedIndex": "true"}, 400, "secondary index"), ("/cdx", {"url": SITE, "page": "-1"}, 400, "page"),
            ("/cdx", {"url": SITE, "collapse": "nope"}, 400, "collapse"), ("/nope-index", {"url": SITE}, 404, "nope"), ("/nope-index", {"url": SITE, "dataset": "crawl-a"}, 404, "nope"),
            ("/crawl-b-index", {"url": SITE, "dataset": "crawl-a"}, 400, "does not name"), ("/crawl-b-index", {"url": SITE, "dataset": "nope,crawl-b"}, 404, "nope"), ("/cdx", {"url": SITE, "dataset": "nope"}, 404, "nope"),
            ("/index", {"url": "nothing.example.org/*"}, 404, "No Captures found for: nothing.example.org/*")):
        message = ask(server, path, params, status).json["message"]
        check(words in message, f"{path} {params}: {message}")


def collinfo(server, names):
    reply = server.get("/collinfo.json", headers={"Host": "cdx.example.net:81"})
    got = reply.json
    equal([(c["id"], c["cdx-api"]) for c in got], [(n, f"http://cdx.example.net:81/{urllib.parse.quote(n)}-index") for n in names], "collinfo.json")
    check(all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", c[w]) for c in got[:2] for w in ("from", "to")), f"times: {got[:2]}")
    check("from" not in got[3], "no times, no members")


def untimed(server):
    params = {"url": "untimed.org/*", "fl": "timestamp,original"}
    reply = ask(server, "/cdx", params)
    equal((reply.body.decode(), reply.headers.get("x-domaindex-untimed-rows")), ("20240102030405 https://untimed.org/b\n", "2"), "rows without a time")
    reply = ask(server, "/cdx", {**params, "showUntimed": "true"})
    equal((reply.body.decode(), reply.headers.get("x-domaindex-untimed-rows")), ("- https://untimed.org/a\n20240102030405 https://untimed.org/b\n- https://untimed.org/c\n", None), "with them")
    equal(ask(server, "/cdx", {**params, "showUntimed": "true", "to": "2030"}).body.decode(), "20240102030405 https://untimed.org/b\n", "no time is no time before 2030")
    reply = ask(server, "/my%20set-index", {"url": "untimed.org/b"})
    equal(reply.body.decode().split(" ", 2)[:2], ["org,untimed)/b", "20240102030405"], "a dataset whose name needs escapes")
    equal(ask(server, "/my%20set-index", {"url": "untimed.org/b", "dataset": "never,my set", "fl": "dataset"}).body, b"my%20set\n", "the dataset of the path alone")
    reply = ask(server, "/index", {"url": "revisits.org", "matchType": "domain", "resolveRevisits": "1", "fl": "timestamp,mime,status"})
    equal(reply.body.decode().splitlines(), ["20240101000000 text/html 200", "20240102000000 text/html 200"], "a row without a time is no original")
    reply = ask(server, "/index", {"url": "revisits.org", "matchType": "domain", "resolveRevisits": "1", "showUntimed": "1", "fl": "timestamp,mime,status"})
    equal(reply.body.decode().splitlines()[2], "20240102000000 image/png 404", "with showUntimed it is one")


def suppressed(tmp, root, server):
    params = {"url": f"*.{SITE}", "fl": "original"}
    before = ask(server, "/cdx", params).body.decode().splitlines()
    dxtest.domaindex("suppress", "add", "--root", root, "--prefix", f"http://a.{SITE}/", "--policy", "absent")
    want = [u for u in before if not re.match(rf"https?://a\.{re.escape(SITE)}/", u)]
    check(len(want) < len(before), "the rule hides rows")
    dxtest.wait_until(lambda: server.get(f"/cdx?{query(params)}").body.decode().splitlines() == want)
    equal(ask(server, "/cdx", params).body.decode().splitlines(), want, "without what a rule hides")
    equal(ask(server, "/cdx", {"url": f"http://a.{SITE}/*"}).body, b"", "nothing of it")
    dxtest.domaindex("suppress", "add", "--root", root, "--domain", SITE, "--policy", "withheld")
    dxtest.wait_until(lambda: server.get(f"/cdx?{query(params)}").status == 451)
    check("message" in server.get(f"/index?{query(params)}").json, "451 of a site that is withheld")


def main():
    dxtest.need_programs()
    done = dxtest.run(dxtest.SOURCE / "scripts/cdx_clients.sh", expect=None)
    if done.returncode == 77:
        dxtest.skip("pywb cannot be had: " + done.stderr.decode().strip().splitlines()[-1])
    oracle = Oracle(done.stdout.decode().strip().splitlines()[-1])
    rng = random.Random(20)
    with dxtest.tempdir() as tmp:
        root, paths, everything = tmp / "root", {}, []
        made = make_rows(rng, oracle)
        for name, rows in made.items():
            file = tmp / f"{name}.cdxj"
            file.write_text(cdxj(ordered(rows, {})))
            dxtest.domaindex("ingest", "--root", root, "--dataset", name, "--profile", "cdxj", "--locators", file)
            paths[f"/{name}-index"] = file
            everything += [{**r, "dataset": name} for r in rows]
        everything = ordered(everything, {name: i for i, name in enumerate(made)})
        (tmp / "all.cdxj").write_text(cdxj(everything))
        paths["/index"] = tmp / "all.cdxj"
        (tmp / "untimed.csv").write_text("url,ts\nhttps://untimed.org/a,\nhttps://untimed.org/b,2024-01-02T03:04:05Z\nhttps://untimed.org/c,\n")
        (tmp / "revisits.csv").write_text("url,ts,content_type,status,digest\nhttps://revisits.org/a,,image/png,404,D\nhttps://revisits.org/b,2024-01-01,text/html,200,D\n"
                                          "https://revisits.org/c,2024-01-02,warc/revisit,-,D\n")
        dxtest.domaindex("ingest", "--root", root, "--dataset", "revisits", "--format", "csv", *(w for n in ("content_type", "status", "digest") for w in ("--extra-column", n)), tmp / "revisits.csv")
        (tmp / "never.csv").write_text("url\nhttps://never.org/a\n")
        dxtest.domaindex("ingest", "--root", root, "--dataset", "never", "--format", "csv", "--no-ts", tmp / "never.csv")
        dxtest.domaindex("ingest", "--root", root, "--dataset", "my set", "--format", "csv", tmp / "untimed.csv")
        dxtest.domaindex("publish", "--root", root)
        with dxtest.Server(root) as server:
            compare_pywb(server, oracle, rng, paths)
            compare_wayback(server, everything)
            by_pages(server, everything)
            errors(server)
            collinfo(server, [*made, "revisits", "never", "my set"])
            untimed(server)
            suppressed(tmp, root, server)
        oracle.close()
    dxtest.finish()


main()
