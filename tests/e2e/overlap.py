#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: plain
"""What two datasets share, against sets of URLs in memory: every pair of datasets, after a merge with a
base and a removal, under suppressions of each kind, from the server and from the command; strict
parameters, ETag and problems. Lists are of several steps, of one domain, and much shorter than the other.
Then many at once on a server with one worker, so that they give way to each other.

In detail: what each pair of 6 datasets of 600 domains shares (6,000 with DX_WHOLE=1), as sets of URLs in memory
have it: in a first version, in one merged with it after a removal, while rules of each kind come, and after
`compact`; by the server and by `domaindex overlap`. In the gate 8 domains are hidden host by host, with DX_WHOLE=1 40.
"""
import concurrent.futures
import http.client
import itertools
import json
import random
import time
from decimal import ROUND_HALF_UP, Decimal

import dxtest
from dxtest import check, equal

WITHIN_S = 60


def make_rows(seed, domains):
    """dataset -> domain -> URLs. Dataset 5 has one domain; of 6 all is removed later."""
    rng = random.Random(seed)
    rows = {name: {} for name in ("a", "b", "c", "d", "one", "gone")}
    for i in range(domains):
        domain = f"site{i:05}.{('com', 'org', 'co.uk', 'net')[i % 4]}"
        for name, part in (("a", 0.9), ("b", 0.5), ("c", 0.05), ("d", 0.01), ("gone", 0.02)):
            if rng.random() < part:
                count = rng.choice([1, 1, 1, 1, 2, 2, 3, 7])
                rows[name][domain] = {f"https://{rng.choice(['', 'www.'])}{domain}/{rng.choice('pq')}/{n}"
                                      for n in range(count)}
    rows["one"]["site00007.net"] = {f"https://site00007.net/p/{n}" for n in range(300)}
    for name, bucket in (("a", "x"), ("a", "y"), ("b", "y"), ("c", "x")):  # registered below a registered domain
        rows[name][f"{bucket}.s3.amazonaws.com"] = {f"https://{bucket}.s3.amazonaws.com/p/{name}"}
    for name in ("a", "b"):
        rows[name]["amazonaws.com"] = {"https://amazonaws.com/p/1", "https://www.amazonaws.com/p/2"}
    return rows


def ingest(tmp, root, rows):
    text = tmp / "rows.tsv"
    with open(text, "w", encoding="utf-8") as out:
        for name, domains in rows.items():
            for urls in domains.values():
                out.writelines(f"{name}\t{url}\n" for url in sorted(urls))
    dxtest.domaindex("ingest", "--root", root, "--format", "tsv", "--dataset-column", 1, "--url-column", 2,
                     "--no-header", text)
    dxtest.domaindex("publish", "--root", root)


def fraction(part, whole):
    if whole == 0:
        return 0
    return float((Decimal(part) / Decimal(whole)).quantize(Decimal("1e-9"), ROUND_HALF_UP))


def expected(rows, a, b):
    one, other = ({d: len(urls) for d, urls in rows[name].items() if urls} for name in (a, b))
    shared = one.keys() & other.keys()
    urls = [sum(one.values()), sum(other.values())]
    shared_urls = [sum(side[d] for d in shared) for side in (one, other)]
    least = sum(min(one[d], other[d]) for d in shared)
    most = sum(max(one.get(d, 0), other.get(d, 0)) for d in one.keys() | other.keys())
    return {
        "sides": [[a, len(one), urls[0]], [b, len(other), urls[1]]],
        "domains": {"shared": len(shared), "only_a": len(one) - len(shared), "only_b": len(other) - len(shared),
                    "jaccard": fraction(len(shared), len(one.keys() | other.keys()))},
        "urls": {"shared_a": shared_urls[0], "shared_b": shared_urls[1], "only_a": urls[0] - shared_urls[0],
                 "only_b": urls[1] - shared_urls[1], "min": least, "max": most, "jaccard": fraction(least, most)},
    }


def told(answer):
    return {"sides": [[answer[side]["name"], answer[side]["domain_count"], answer[side]["url_count"]]
                      for side in ("a", "b")],
            "domains": answer["domains"], "urls": answer["urls"]}


def ids_of(server):
    return {d["name"]: d["dataset_id"] for d in server.get("/v1/datasets").json["datasets"]}


def ask_all(server, rows, what):
    ids = ids_of(server)
    equal(set(ids), set(rows), f"{what}: datasets")
    for a, b in itertools.product(rows, rows):
        reply = server.get(f"/v1/datasets/{ids[a]}/overlap/{ids[b]}")
        equal((reply.status, told(reply.json)), (200, expected(rows, a, b)), f"{what}: {a} and {b}")
    return ids


def visible(rows, hidden):
    return {name: {domain: {url for url in urls if not hidden(url)} for domain, urls in domains.items()}
            for name, domains in rows.items()}


def settled(server, path, want):
    """The first answer that is not 503 and is as wanted, or the last one before the time is up."""
    end = time.monotonic() + WITHIN_S
    while True:
        reply = server.get(path)
        if time.monotonic() > end or (reply.status == 200 and told(reply.json) == want):
            return reply
        time.sleep(0.05)


def suppressions(root, rows, server):
    rules = [
        (["--domain", "amazonaws.com"], lambda u: "amazonaws.com/" in u),
        (["--domain", "site00007.net", "--policy", "absent"], lambda u: "site00007.net/" in u),
        (["--host", "www.site00009.org"], lambda u: u.startswith("https://www.site00009.org/")),
        (["--prefix", "https://site00012.com/p/"], lambda u: u.startswith("https://site00012.com/p/")),
        (["--url", "https://www.site00016.com/q/0", "--policy", "absent"], lambda u: u == "https://www.site00016.com/q/0"),
    ]
    for i in range(20, 60, 1 if dxtest.WHOLE else 5):  # all of it, host by host
        domain = f"site{i:05}.{('com', 'org', 'co.uk', 'net')[i % 4]}"
        rules.append((["--host", domain, "--host", "www." + domain],
                      lambda u, d=domain: u.split("/")[2] in (d, "www." + d)))
    hidden = []
    ids = ids_of(server)
    for i, (words, hides) in enumerate(rules):
        dxtest.domaindex("suppress", "add", "--root", root, *words)
        hidden.append(hides)
        if i < 6:
            seen = visible(rows, lambda u: any(h(u) for h in hidden))
            want = expected(seen, "a", "b")
            reply = settled(server, f"/v1/datasets/{ids['a']}/overlap/{ids['b']}", want)
            equal((reply.status, told(reply.json)), (200, want), f"suppressed: {words}")
    seen = visible(rows, lambda u: any(h(u) for h in hidden))
    for a, b in itertools.product(seen, seen):
        want = expected(seen, a, b)
        reply = settled(server, f"/v1/datasets/{ids[a]}/overlap/{ids[b]}", want)
        equal((reply.status, told(reply.json)), (200, want), f"suppressed: {a} and {b}")
    offline = json.loads(dxtest.domaindex("overlap", "--root", root, "a", ids["one"]).stdout)
    equal(told(offline), expected(seen, "a", "one"), "suppressed, by the command")
    before = server.get("/v1/datasets").json["version"]
    dxtest.domaindex("compact", "--root", root)
    dxtest.wait_until(lambda: server.get("/v1/datasets").json["version"] != before)
    check(server.get("/v1/datasets").json["version"] != before, "the compacted version is served")
    for a, b in itertools.product(seen, seen):
        reply = server.get(f"/v1/datasets/{ids[a]}/overlap/{ids[b]}")
        equal((reply.status, told(reply.json)), (200, expected(seen, a, b)), f"compacted: {a} and {b}")


def problems(server):
    for path, status, slug in (
            ("/v1/datasets/1/overlap/99", 404, "dataset-not-found"), ("/v1/datasets/99/overlap/1", 404, "dataset-not-found"),
            ("/v1/datasets/x/overlap/1", 404, "dataset-not-found"), ("/v1/datasets/1/overlap/-1", 404, "dataset-not-found"),
            ("/v1/datasets/1/overlap/4294967296", 400, "bad-dataset-id"), ("/v1/datasets/1/overlap", 404, "no-such-resource"),
            ("/v1/datasets/1/overlap/2/3", 404, "no-such-resource"), ("/v1/datasets/1/overlap/2?limit=1", 400, "unknown-parameter"),
            ("/v1/datasets/1/overlap/2?version=none", 400, "bad-version")):
        reply = server.get(path)
        equal((reply.status, reply.json["type"].rpartition("/")[2].rpartition(":")[2].rpartition("#")[2]), (status, slug), path)
    reply = server.get("/v1/datasets/1/overlap/2")
    again = server.get("/v1/datasets/1/overlap/2", headers={"If-None-Match": reply.headers["etag"]})
    equal((again.status, again.body), (304, b""), "unchanged")
    kept = server.get(f"/v1/datasets/1/overlap/2?version={reply.json['version']}")
    equal((kept.status, kept.body), (200, reply.body), "by the version's name")


def one_worker(root, rows):
    """Each answer is right, whoever else is asked for between its steps."""
    names = list(rows)
    with dxtest.Server(root, "--workers", 1, "--threads", 1, "--cache-answers", 0) as server:
        ids = ids_of(server)
        wants = {(a, b): expected(rows, a, b) for a, b in itertools.product(names, names)}

        def ask(i):
            a, b = names[i % len(names)], names[i // len(names) % len(names)]
            connection = http.client.HTTPConnection(server.host, server.port, timeout=60)
            connection.request("GET", f"/v1/datasets/{ids[a]}/overlap/{ids[b]}")
            reply = connection.getresponse()
            answer = json.loads(reply.read())
            connection.close()
            return reply.status == 200 and told(answer) == wants[a, b]

        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            equal(list(pool.map(ask, range(200))), [True] * 200, "200 answers by one worker")


def main():
    dxtest.need_programs()
    rows = make_rows(1, 6000 if dxtest.WHOLE and not dxtest.SANITIZED else 600)
    later = {"b": {f"new{i}.org": {f"https://new{i}.org/p/{n}" for n in range(i)} for i in range(1, 40)},
             "c": {"site00003.net": {f"https://site00003.net/more/{n}" for n in range(9)}},
             "new": {f"new{i}.org": {f"https://new{i}.org/p/0"} for i in range(5, 9)}}
    with dxtest.tempdir() as tmp:
        root = tmp / "root"
        ingest(tmp, root, rows)
        with dxtest.Server(root, "--poll-ms", 50) as server:
            ask_all(server, rows, "first version")
            problems(server)
            offline = dxtest.domaindex("overlap", "--root", root, "a", "2")
            equal(offline.stdout, server.get("/v1/datasets/1/overlap/2").body + b"\n", "the command")
        ingest(tmp, root, later)
        for name, domains in later.items():
            for domain, urls in domains.items():
                rows.setdefault(name, {}).setdefault(domain, set()).update(urls)
        dxtest.domaindex("remove", "--root", root, "--dataset", "gone")
        dxtest.domaindex("publish", "--root", root)
        del rows["gone"]
        with dxtest.Server(root, "--poll-ms", 50) as server:
            ask_all(server, rows, "merged")
            one_worker(root, rows)
            suppressions(root, rows, server)
    dxtest.finish()


if __name__ == "__main__":
    main()
