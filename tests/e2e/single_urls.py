#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: short plain
"""/v1/url and /v1/urlid against a model that goes over raw rows: one URL in several datasets, at several
times, beside its twin of another scheme; ids that collide, if the programs were built so; after an
incremental publish, after a compaction, under suppressions, and on a root behind HTTP, where an absent
URL costs one request at most.
"""
import collections
import random
import sys
import time
import urllib.parse

import dxtest
import stores

Row = collections.namedtuple("Row", "dataset url ts extra")
PATHS = ["/", "/a", "/a-b", "/a?x=1", "/a?x=2", "/a/b", "/b", "/%C3%A4", "/c,d"]


def make_rows(seed, datasets):
    rng = random.Random(seed)
    rows = set()
    for site in range(12):
        for dataset in rng.sample(datasets, rng.randint(1, len(datasets))):
            for _ in range(rng.randint(1, 40)):
                host = rng.choice(["", "www.", "a.b."]) + f"site{site}.com" + rng.choice(["", ":81"])
                ts = rng.choice(["", f"2024-02-{rng.randint(1, 28):02}T0{rng.randint(0, 9)}:00:00Z"])
                rows.add(Row(dataset, rng.choice(["http", "https"]) + "://" + host + rng.choice(PATHS),
                             ts, rng.choice(["", "e1", "e2"])))
    # One page at many times, its twins among them: more rows than a limit shows.
    for i in range(300):
        rows.add(Row(datasets[0], ("http", "https")[i % 3 == 0] + "://busy.com/x",
                     f"2023-01-{i % 28 + 1:02}T{i % 24:02}:{i % 60:02}:00Z", f"{i}"))
    return sorted(rows)


def ingest(root, rows, datasets):
    for dataset in datasets:
        text = "url\tts\tnote\n" + "".join(f"{r.url}\t{r.ts}\t{r.extra}\n"
                                           for r in rows if r.dataset == dataset)
        dxtest.domaindex("ingest", "--root", root, "--dataset", f"set{dataset}", "--format", "tsv",
                         "--url-column", "url", "--ts-column", "ts", "--extra-column", "note", "-", input=text.encode())


def get(server, target):
    end = time.monotonic() + 60
    while True:
        reply = server.get(target)
        if reply.status != 503 or time.monotonic() > end:
            return reply
        time.sleep(0.01)


def ask(server, url, more=""):
    return get(server, "/v1/url?u=" + urllib.parse.quote(url, safe="") + more)


def times_of(rows):
    times = sorted(r.ts for r in rows if r.ts)
    return (times[0], times[-1]) if times else (None, None)


class Model:
    def __init__(self, rows):
        self.of = collections.defaultdict(lambda: collections.defaultdict(list))
        for row in rows:
            self.of[row.url][row.dataset].append(row)


def names_of(server):
    return {d["name"]: d["dataset_id"] for d in server.get("/v1/datasets").json["datasets"]}


def listed(server, ids):
    """What listings say: url -> dataset_id -> [(ts, extras)] in their order; url -> url_id."""
    rows = collections.defaultdict(lambda: collections.defaultdict(list))
    url_ids = {}
    for domain in [f"site{i}.com" for i in range(12)] + ["busy.com"]:
        for dataset in ids.values():
            reply = get(server, f"/v1/domain/{domain}/datasets/{dataset}/urls?limit=10000"
                                "&fields=url_id,url,ts,extras")
            for item in reply.json["items"] if reply.status == 200 else []:
                rows[item["url"]][dataset].append((item["ts"], item["extras"]))
                url_ids[item["url"]] = item["url_id"]
    return rows, url_ids


def check_url(server, url, model, ids, rows, limit, words):
    reply = ask(server, url, f"&limit={limit}" if limit else "")
    if not dxtest.equal(reply.status, 200, f"{words}: {url}: {reply.body[:200]}"):
        return
    got, want = reply.json, model.of[url]
    everything = [row for of in want.values() for row in of]
    first, last = times_of(everything)
    dxtest.equal((got["asked"], got["url"], got["dataset_count"], got["row_count"], got["first_ts"],
                  got["last_ts"], got["complete"]),
                 (url, url, len(want), len(everything), first, last, True), f"{words}: {url}: head")
    dxtest.equal([d["dataset_id"] for d in got["datasets"]],
                 sorted(ids[f"set{d}"] for d in want), f"{words}: {url}: datasets")
    for d in got["datasets"]:
        of = want[int(d["name"][3:])]
        dxtest.equal((d["row_count"], d["first_ts"], d["last_ts"]), (len(of), *times_of(of)),
                     f"{words}: {url} in {d['name']}")
        shown = [(r["ts"], r["extras"]) for r in d["rows"]]
        if len(of) == len(shown):
            dxtest.equal(sorted((ts or "", e.get("note", "")) for ts, e in shown),
                         sorted((r.ts, r.extra) for r in of), f"{words}: {url} in {d['name']}: rows")
        dxtest.equal(shown, rows[url][d["dataset_id"]][:limit or 100],
                     f"{words}: {url} in {d['name']}: rows in order of the listing")


def check_id(server, url_id, urls, model, ids, words):
    reply = get(server, f"/v1/urlid/{url_id}")
    if not dxtest.equal(reply.status, 200, f"{words}: {url_id}: {reply.body[:200]}"):
        return
    got = reply.json
    dxtest.equal((got["url_id"], got["url_count"], got["complete"]), (url_id, len(urls), True),
                 f"{words}: {url_id}")
    want = [{"url": url, "domain": ".".join(urllib.parse.urlsplit(url).hostname.split(".")[-2:]),
             "dataset_count": len(model.of[url]), "row_count": sum(map(len, model.of[url].values())),
             "datasets": [{"dataset_id": ids[f"set{d}"], "name": f"set{d}", "row_count": len(of)}
                          for d, of in sorted(model.of[url].items(),
                                              key=lambda p: ids[f"set{p[0]}"])]}
            for url in sorted(urls)]
    dxtest.equal(got["urls"], want, f"{words}: {url_id}: URLs")


def check_all(server, model, words):
    ids = names_of(server)
    rows, url_ids = listed(server, ids)
    dxtest.equal(set(rows), set(model.of), f"{words}: URLs of the listings")
    for i, url in enumerate(model.of):
        check_url(server, url, model, ids, rows, (0, 1, 1000)[i % 3], words)
    same = collections.defaultdict(set)
    for url, url_id in url_ids.items():
        same[url_id].add(url)
    for url_id, urls in same.items():
        check_id(server, url_id, urls, model, ids, words)
    for url in ("https://nowhere.com/", "http://site1.com/none", "ftp://busy.com/x",
                "https://busy.com/x/"):
        reply = ask(server, url)
        dxtest.equal((reply.status, reply.json["type"]),
                     (404, "urn:domaindex:problem:url-not-found"), f"{words}: {url}")
    return rows, url_ids


def check_words(server):
    """What is refused, and how it is spelled otherwise."""
    for target, status, slug in (
            ("/v1/url", 400, "missing-parameter"),
            ("/v1/url?u=", 400, "not-a-url"),
            ("/v1/url?u=mailto:a@b.com", 400, "not-a-url"),
            ("/v1/url?u=http://co.uk/", 400, "not-a-url"),
            ("/v1/url?u=http://busy.com/x&limit=0", 400, "bad-parameter"),
            ("/v1/url?u=http://busy.com/x&limit=1001", 400, "limit-too-large"),
            ("/v1/url?u=http://busy.com/x&y=1", 400, "unknown-parameter"),
            ("/v1/url?u=a&u=b", 400, "duplicate-parameter"),
            ("/v1/urlid/12", 400, "bad-url-id"),
            ("/v1/urlid/0x123456789012345g", 400, "bad-url-id"),
            ("/v1/urlid/0x1234567890123456?limit=1", 400, "unknown-parameter"),
            ("/v1/urlid/0x0123456789abcdef", 404, "url-not-found")): # cut ids end with zeros
        reply = server.get(target)
        dxtest.equal((reply.status, reply.json["type"].rsplit(":", 1)[-1]), (status, slug), target)
    for spelled in ("HTTP://BUSY.com:80/x#f", "http://user:word@busy.com/./x", "busy.com/y/../x"):
        got = ask(server, spelled).json
        dxtest.equal((got.get("asked"), got.get("url")), (spelled, "http://busy.com/x"), spelled)


def check_command(root, server, model):
    """`lookup --url` has the server's answers, a line each, and problems for what has none."""
    urls = list(model.of)[::5] + ["https://nowhere.com/", "mailto:x"]
    lines = dxtest.domaindex("lookup", "--root", root, "--url", "-", expect=1,
                             input="\n".join(urls).encode()).stdout.splitlines()
    for url, line in zip(urls, lines, strict=True):
        reply = ask(server, url)
        if reply.status == 200:
            dxtest.equal(line, reply.body.strip(), f"lookup --url {url}")
        else:
            dxtest.check(b'"problem":"url-not-found"' in line or b'"problem":"not-a-url"' in line, line)
    dxtest.domaindex("lookup", "--root", root, "--url", "--limit", 1001, urls[0], expect=2)
    dxtest.domaindex("lookup", "--root", root, "--url", "--dataset", 1, urls[0], expect=2)


def check_suppressed(root, model, rows, url_ids):
    """Each kind and policy: hidden ones 451 or 404, others as before."""
    busy = "http://busy.com/x"
    cases = [("url", "withheld", busy, lambda u: u == busy),
             ("url", "absent", busy, lambda u: u == busy),
             ("prefix", "withheld", "http://site1.com/a", lambda u: u.split("://")[1].startswith("site1.com/a")),
             ("host", "absent", "www.site2.com", lambda u: u.split("/")[2] == "www.site2.com"),
             ("domain", "withheld", "site3.com", lambda u: ".".join(
                 urllib.parse.urlsplit(u).hostname.split(".")[-2:]) == "site3.com")]
    for kind, policy, value, hit in cases:
        line = dxtest.domaindex("suppress", "add", f"--{kind}", value, "--policy", policy,
                                "--reason", "test", "--root", root).stdout
        with dxtest.Server(root) as server:
            hidden = [url for url in model.of if hit(url)]
            dxtest.check(hidden, f"{value} hits nothing")
            for url in model.of:
                want = 200 if not hit(url) else 451 if policy == "withheld" else 404
                if hit(url) or hash(url) % 9 == 0:
                    dxtest.equal(ask(server, url).status, want, f"{kind} {value} {policy}: {url}")
            for url_id in {url_ids[url] for url in hidden}:
                reply = get(server, f"/v1/urlid/{url_id}")
                shown = [u["url"] for u in reply.json["urls"]] if reply.status == 200 else []
                left = sorted(u for u in model.of if url_ids[u] == url_id and not hit(u))
                dxtest.equal(shown, left, f"{kind} {value} {policy}: {url_id}")
                if not left:
                    dxtest.equal(reply.status, 451 if policy == "withheld" else 404, url_id)
            if policy == "absent": # the words are those of a URL that never was there
                a, b = ask(server, hidden[0]).json, ask(server, "https://nowhere.com/").json
                dxtest.equal((a["title"], a["detail"].split(" is in none")[1]),
                             (b["title"], b["detail"].split(" is in none")[1]), "words of absent")
        dxtest.domaindex("suppress", "lift", line.split()[0].decode(), "--root", root)


def check_remote(tmp, root, model):
    """Behind nginx: the same answers; and how many requests they cost with nothing cached."""
    if stores.find("nginx") is None:
        print("no nginx: not checked on a remote root", flush=True)
        return
    with stores.Nginx(tmp) as nginx:
        with dxtest.Server(f"{nginx.url}/root", "--cache-dir", tmp / "mirror") as server:
            ids = names_of(server)
            rows, _ = listed(server, ids)
            for url in list(model.of)[::7]:
                check_url(server, url, model, ids, rows, 0, "remote")
        with dxtest.Server(f"{nginx.url}/root", "--cache-dir", tmp / "mirror") as server:
            before = nginx.requests_of("GET")
            dxtest.equal(ask(server, "https://nowhere.com/").status, 404, "remote: absent")
            absent = nginx.requests_of("GET") - before
            dxtest.check(absent <= 1, f"remote: {absent} requests for an absent URL")


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        root = tmp / "root"
        rows = make_rows(1, [1, 2, 3])
        ingest(root, rows, [1, 2, 3])
        dxtest.domaindex("publish", "--root", root)
        with dxtest.Server(root) as server:
            check_all(server, Model(rows), "first")
            check_words(server)
            check_command(root, server, Model(rows))
        more = sorted(set(make_rows(2, [2, 4])) - set(rows))
        ingest(root, more, [2, 4])
        dxtest.domaindex("publish", "--root", root)
        model = Model(rows + more)
        with dxtest.Server(root) as server:
            check_all(server, model, "after an incremental publish")
        dxtest.domaindex("compact", "--root", root)
        with dxtest.Server(root) as server:
            listings, url_ids = check_all(server, model, "after a compaction")
        check_suppressed(root, model, listings, url_ids)
        check_remote(tmp, root, model)
    dxtest.finish()


if __name__ == "__main__":
    sys.exit(main())
