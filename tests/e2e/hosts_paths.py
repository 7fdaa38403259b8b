#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: plain
"""/v1/domain/{d}/hosts and …/paths against a count of the raw rows: domains with few rows, whose paths are counted when
asked for, and with many, whose paths are stored; nested paths, ports, schemes, rows of one URL at several times; after an
incremental publish, under suppressions, after a compaction, and on a root behind HTTP.

In detail: hosts by both orders, over all datasets and in each, page by page; paths and sections with what is
left of them; of domains whose paths are stored and of those whose rows are read: against a count of the raw
rows. After a merged publish, under rules for a host and a prefix, after a compaction, behind nginx.
"""
import collections
import functools
import random
import time
import urllib.parse

import dxtest
import stores

LIMIT = 256
DOMAINS = ["big.org", "mid.co.uk", "small.net", "one.com", "10.0.0.7"]
LABELS = ["", "www.", "en.", "m.", "a.b."]


def make_rows(seed, datasets, many):
    """(dataset, url, ts), each once."""
    rng = random.Random(seed)
    rows = set()
    for dataset in datasets:
        for domain, count in (("big.org", many), ("mid.co.uk", 900), ("small.net", 40), ("10.0.0.7", 9)):
            if domain == "small.net" and dataset % 2:
                continue
            for _ in range(count):
                host = (rng.choice(LABELS) if domain[0] != "1" else "") + domain + rng.choice(["", "", ":8080"])
                segments = [rng.choice(["a", "b", "a-b", "a.x", "~", "a!"]) for _ in range(rng.randint(0, 4))]
                path = "/" + "/".join(segments) + rng.choice(["", "", "/"] if segments else [""])
                query = rng.choice(["", f"?q={rng.randint(1, 30)}", f"?q=/{rng.randint(1, 9)}/"])
                ts = rng.choice(["", "2024-01-02T00:00:00Z", f"2024-02-{rng.randint(1, 28):02}T00:00:00Z"])
                rows.add((dataset, rng.choice(["http", "https"]) + "://" + host + path + query, ts))
    rows.add((datasets[0], "https://one.com/", ""))
    return sorted(rows)


def ingest(root, rows):
    for dataset in sorted({row[0] for row in rows}):
        text = "url\tts\n" + "".join(f"{url}\t{ts}\n" for d, url, ts in rows if d == dataset)
        dxtest.domaindex("ingest", "--root", root, "--dataset", f"set{dataset}", "--format", "tsv",
                         "--url-column", "url", "--ts-column", "ts", "-", input=text.encode())


def get(server, target):
    """A suppression is known at once, what it hides a little later."""
    end = time.monotonic() + 60
    while True:
        reply = server.get(target)
        if reply.status != 503 or time.monotonic() > end:
            return reply
        time.sleep(0.01)


def domain_of(host):
    return next(d for d in DOMAINS if host.split(":")[0].endswith(d))


@functools.cache
def parts_of(url):
    parts = urllib.parse.urlsplit(url)
    return parts.netloc, parts.path, domain_of(parts.netloc)


class Model:
    """Counts by brute force: of (domain, dataset), of its hosts, paths and sections."""

    def __init__(self, rows):
        self.pairs, self.known = collections.defaultdict(list), {}
        for dataset, url, _ in rows:
            netloc, path, domain = parts_of(url)
            self.pairs[domain, dataset].append((url, netloc, path))

    def datasets(self, domain):
        return sorted(dataset for d, dataset in self.pairs if d == domain)

    @staticmethod
    def count(rows, key):
        urls = collections.defaultdict(set)
        counts = collections.Counter()
        for row in rows:
            urls[key(row)].add(row[0])
            counts[key(row)] += 1
        return {k: (len(urls[k]), counts[k]) for k in counts}

    def hosts(self, domain, dataset=None):
        total = collections.defaultdict(lambda: [0, 0, 0])
        for d in [dataset] if dataset else self.datasets(domain):
            if (domain, d) not in self.known:
                self.known[domain, d] = self.count(self.pairs[domain, d], lambda r: r[1])
            for host, (urls, rows) in self.known[domain, d].items():
                total[host] = [total[host][0] + 1, total[host][1] + urls, total[host][2] + rows]
        return [{"host": h, "dataset_count": n, "url_count": u, "row_count": r} for h, (n, u, r) in total.items()]

    def paths(self, domain, dataset, by):
        def key(row):
            cut = row[2].find("/", 1)
            return row[1], row[2] if by == "path" else row[2][:cut + 1] if cut > 0 else "/"

        counted = self.count(self.pairs[domain, dataset], key)
        best = sorted(counted.items(), key=lambda e: (-e[1][0], -e[1][1], e[0]))
        return [{"host": h, "path": p, "url_count": u, "row_count": r} for (h, p), (u, r) in best]


def check_hosts(server, model, domain, ids):
    for order in "urls", "name":
        by_name = order == "name"
        for dataset in [None] + model.datasets(domain):
            want = sorted(model.hosts(domain, dataset), key=lambda h: (0 if by_name else -h["url_count"], h["host"]))
            what = f"hosts of {domain} by {order} in {dataset}"
            target = f"/v1/domain/{domain}/hosts?order={order}" + (f"&dataset={ids[dataset]}" if dataset else "")
            got = get(server, target).json
            dxtest.equal(got["hosts"], want, what)
            dxtest.equal((got["host_count"], got["next_offset"], got["complete"], got["domain"]),
                         (len(want), None, True, domain), what)
            paged, offset = [], 0
            while offset is not None and len(paged) <= len(want):
                page = get(server, f"{target}&limit=3&offset={offset}").json
                paged += page["hosts"]
                offset = page["next_offset"]
            dxtest.equal(paged, want, what + ", in pages")
            dxtest.equal(get(server, f"{target}&offset=9223372036854775807").json["hosts"], [], what + ", behind the end")


def check_paths(server, model, domain, ids):
    for dataset in model.datasets(domain):
        rows = model.pairs[domain, dataset]
        for by in "path", "section":
            want = model.paths(domain, dataset, by)
            for limit in 1, 100, LIMIT:
                got = get(server, f"/v1/domain/{domain}/datasets/{ids[dataset]}/paths?by={by}&limit={limit}").json
                what = f"{by}s of {domain} in {dataset}, {limit} of {len(want)}"
                dxtest.equal(got["paths"], want[:limit], what)
                dxtest.equal((got["url_count"], got["row_count"], got["path_count"], got["max_error"], got["by"]),
                             (len({r[0] for r in rows}), len(rows), len(want), 0, by), what)
                dxtest.equal(got["rest"], {"path_count": max(0, len(want) - limit),
                                           "url_count": sum(p["url_count"] for p in want[limit:]),
                                           "row_count": sum(p["row_count"] for p in want[limit:])}, what)


def check_all(server, rows, domains=DOMAINS):
    model = Model(rows)
    ids = {int(d["name"][3:]): d["dataset_id"] for d in server.get("/v1/datasets").json["datasets"]}
    for domain in domains:
        if model.datasets(domain):
            check_hosts(server, model, domain, ids)
            check_paths(server, model, domain, ids)
    return ids


def check_refused(server):
    for target, slug in (("/v1/domain/nobody.com/hosts", "domain-not-found"),
                         ("/v1/domain/big.org/hosts?dataset=99", "dataset-not-found"),
                         ("/v1/domain/one.com/hosts?dataset=2", None),
                         ("/v1/domain/big.org/hosts?order=rows", "bad-parameter"),
                         ("/v1/domain/big.org/hosts?limit=10001", "limit-too-large"),
                         ("/v1/domain/big.org/hosts?by=path", "unknown-parameter"),
                         ("/v1/domain/big.org/hosts?dataset=x", "dataset-not-found"),
                         ("/v1/domain/big.org/hosts?dataset=99999999999", "bad-dataset-id"),
                         ("/v1/domain/big.org/datasets/1/paths?limit=257", "limit-too-large"),
                         ("/v1/domain/big.org/datasets/1/paths?by=host", "bad-parameter"),
                         ("/v1/domain/big.org/datasets/99/paths", "dataset-not-found"),
                         ("/v1/domain/one.com/datasets/2/paths", None)):
        reply = server.get(target)
        dxtest.check(400 <= reply.status < 500, f"{target}: {reply.status}")
        if slug:
            dxtest.check(reply.json["type"].endswith(":" + slug), f"{target}: {reply.body}")


def check_etag(server):
    for target in "/v1/domain/big.org/hosts", "/v1/domain/big.org/datasets/1/paths":
        first = server.get(target)
        again = server.get(target, headers={"If-None-Match": first.headers["etag"]})
        dxtest.equal((first.status, again.status), (200, 304), f"{target}: not modified")


RULES = [("--host", "en.big.org", lambda url: urllib.parse.urlsplit(url).netloc != "en.big.org"),
         ("--prefix", "https://mid.co.uk/a/", lambda url: not url.split("://")[1].startswith("mid.co.uk/a/"))]


def check_suppressed(root, server, rows):
    for option, value, _ in RULES:
        dxtest.domaindex("suppress", "add", "--root", root, option, value, "--policy", "absent")
    left = [r for r in rows if all(keep(r[1]) for _, _, keep in RULES)]
    dxtest.check(len(left) < len(rows), "something is hidden")
    hidden = '"en.big.org"'
    dxtest.wait_until(lambda: hidden not in get(server, "/v1/domain/big.org/hosts").body.decode())
    return left


def main():
    dxtest.need_programs()
    many = 9000 if dxtest.WHOLE and not dxtest.SANITIZED else 5200
    rows = make_rows(1, [1, 2, 3], many)
    with dxtest.tempdir() as tmp:
        root = tmp / "root"
        ingest(root, rows)
        dxtest.domaindex("publish", "--root", root)
        with dxtest.Server(root, "--poll-ms", "100") as server:
            check_all(server, rows)
            check_refused(server)
            check_etag(server)
        more = make_rows(2, [2, 4], 3000)
        ingest(root, more)
        rows = sorted(set(rows) | set(more))
        dxtest.domaindex("publish", "--root", root)
        with dxtest.Server(root, "--poll-ms", "100") as server:
            check_all(server, rows)
            left = check_suppressed(root, server, rows)
            check_all(server, left)
        dxtest.domaindex("compact", "--root", root)
        with dxtest.Server(root) as server:
            check_all(server, left, ["big.org", "mid.co.uk"])
        if stores.find("nginx") is None:
            print("no nginx: nothing was asked of a root behind HTTP")
        else:
            with stores.Nginx(tmp) as nginx, dxtest.Server(f"{nginx.url}/root", "--cache-dir", tmp / "m") as server:
                check_all(server, left, ["mid.co.uk", "small.net"])
    dxtest.finish()


if __name__ == "__main__":
    main()
