#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: plain
"""Top domains of datasets, by the API as JSON and CSV and by the command, against a count of the rows:
shares, pages, equal numbers, what suppressions hide, and how a reply says what it is."""
import csv
import io
import json
import math
import random
import time
from urllib.parse import quote

import dxtest
from dxtest import check, equal

SEED = 20261122


def make_rows():
    rng = random.Random(SEED)
    rows = {"crawl": [], "news, \"daily\"": [], "7": []}
    for dataset, few in (("crawl", 900), ("news, \"daily\"", 40), ("7", 3)):
        for i in range(few):
            name = f"{rng.choice('abcdefgh')}{i}.{rng.choice(['com', 'org', 'co.uk', 'github.io'])}"
            for k in range(min(200, int(rng.paretovariate(0.9)))):
                rows[dataset].append(f"https://{name}/{k}")
    return rows


def domain_of(url):
    return url.split("/")[2]


def ranking(urls):
    """(rank, domain, URLs) of all, in the order of the answer."""
    counts = {}
    for url in set(urls):
        counts[domain_of(url)] = counts.get(domain_of(url), 0) + 1
    order = sorted(counts, key=lambda d: (-counts[d], [label.encode() for label in reversed(d.split("."))]))
    ranks = {}
    for place, domain in enumerate(order, 1):
        ranks.setdefault(counts[domain], place)
    return [(ranks[counts[d]], d, counts[d]) for d in order]


def items(part, total):
    return [{"rank": r, "domain": d, "url_count": n, "share": dxtest.fraction(n, total)} for r, d, n in part]


def check_json(server, dataset_id, name, rows, asks):
    want = ranking(rows)
    total = sum(n for _, _, n in want)
    for share, numerator in asks:
        selected = math.ceil(len(want) * numerator / 1000000)
        for offset, limit in ((0, 1000), (0, 1), (selected // 2, 7), (max(selected - 1, 0), 10), (selected, 5), (10**9, 5)):
            target = f"/v1/datasets/{dataset_id}/top-domains?limit={limit}&offset={offset}"
            reply = server.get(target + (f"&share={quote(share)}" if share else ""))
            end = min(offset + limit, selected)
            answer = {"dataset_id": dataset_id, "name": name, "domain_count": len(want), "url_count": total, "share": share,
                      "selected": selected, "domains": items(want[offset:end], total), "offset": offset,
                      "next_offset": end if offset < end < selected else None, "version": reply.json["version"], "complete": True}
            equal(list(reply.json.items()), list(answer.items()), f"{name}: {target} {share}")


def check_csv(server, root, dataset_id, name, rows, share, numerator):
    want = ranking(rows)
    total = sum(n for _, _, n in want)
    lines = [["rank", "domain", "url_count", "share", "page_count"]] + [
        [str(i["rank"]), i["domain"], str(i["url_count"]), f"{i['share']:.9f}".rstrip("0").rstrip("."), ""]
        for i in items(want[:math.ceil(len(want) * numerator / 1000000)], total)]
    reply = server.get(f"/v1/datasets/{dataset_id}/top-domains?format=csv&share={share}")
    equal(reply.headers["content-type"], "text/csv; charset=utf-8; header=present", "type of CSV")
    equal(reply.headers["content-disposition"], 'attachment; filename="top_domains.csv"', "its name")
    equal(list(csv.reader(io.StringIO(reply.body.decode(), newline=""))), lines, f"{name}: CSV")
    check(reply.body.endswith(b"\r\n") and reply.body.count(b"\r\n") == len(lines) == reply.body.count(b"\n"), "lines end with CRLF")
    for dataset in (str(dataset_id), name):
        done = dxtest.domaindex("top-domains", "--root", root, "--dataset", dataset, "--share", share, "--csv", expect=None)
        if name == "7" or dataset == "7":
            continue  # the name of one and the number of none, or the like: see below
        equal((done.returncode, done.stdout if isinstance(done.stdout, bytes) else done.stdout.encode()), (0, reply.body),
              f"top-domains --dataset {dataset}")


def check_command(root, ids, rows):
    done = dxtest.domaindex("top-domains", "--root", root, "--dataset", "crawl", "--limit", 5)
    want = ranking(rows["crawl"])
    equal([json.loads(line) for line in done.stdout.splitlines()],
          items(want[:5], sum(n for _, _, n in want)), "five lines of JSON")
    for wrong, code in ((["--dataset", "nothing"], 1), (["--dataset", "crawl", "--share", "0%"], 2), (["--share", "10%"], 2),
                        (["--dataset", "crawl", "--limit", "0"], 2), (["--dataset", "crawl", "more"], 2)):
        equal(dxtest.domaindex("top-domains", "--root", root, *wrong, expect=None).returncode, code, f"top-domains {wrong}")
    done = dxtest.domaindex("top-domains", "--root", root, "--dataset", "7")
    equal(len(done.stdout.splitlines()), len(ranking(rows["7"])), f"a name of digits, {ids}")


def refused(server, dataset_id):
    for query in ("share=0", "share=", "share=101%25", "share=ten", "share=0.0000001", "limit=0", "limit=10001", "offset=-1",
                  "format=xml", "fields=rank", "share=1%25&share=1%25", "order=name"):
        equal(server.get(f"/v1/datasets/{dataset_id}/top-domains?{query}").status, 400, query)
    equal(server.get("/v1/datasets/99/top-domains").status, 404, "no such dataset")
    equal(server.get("/v1/datasets/99/top-domains?format=csv").headers["content-type"], "application/problem+json", "a problem")
    as_typed = server.get(f"/v1/datasets/{dataset_id}/top-domains?share=10%")
    equal((as_typed.status, as_typed.json["share"]), (200, "10%"), "a lone percent sign")


def check_all(server, root, ids, rows):
    for name, urls in rows.items():
        check_json(server, ids[name], name, urls, ((None, 1000000), ("10%", 100000), ("12.5%", 125000), ("0.333333", 333333),
                                                   ("0.0001%", 1), ("100%", 1000000), ("1", 1000000)))
        check_csv(server, root, ids[name], name, urls, "0.25", 250000)


def suppressed(server, root, ids, rows):
    """Whole domains, and URLs of the largest one."""
    first = ranking(rows["crawl"])[0][1]
    second = ranking(rows["crawl"])[1][1]
    gone = {url for url in rows["crawl"] if domain_of(url) == first and int(url.rsplit("/", 1)[1]) >= 3}
    small = {d for _, d, n in ranking(rows["crawl"]) if n == 2 and d.startswith("a")}
    rules = {"absent": [f"url {url}" for url in sorted(gone)], "withheld": [f"domain {d}" for d in sorted(small | {second})]}
    for policy, lines in rules.items():
        dxtest.domaindex("suppress", "add", "--root", root, "--policy", policy, "--file", "-", input="\n".join(lines).encode())
    left = {name: [u for u in urls if u not in gone and domain_of(u) not in small | {second}] for name, urls in rows.items()}
    want = len(ranking(left["crawl"]))
    end = time.monotonic() + 60
    while server.get(f"/v1/datasets/{ids['crawl']}/top-domains?limit=1").json.get("domain_count") != want:
        if not check(time.monotonic() < end, "the rules hold"):
            return
        time.sleep(0.05)
    check_all(server, root, ids, left)
    equal([d for _, d, _ in ranking(left["crawl"])].index(first) > 0, True, "the largest one fell")


def main():
    dxtest.need_programs()
    rows = make_rows()
    with dxtest.tempdir() as tmp:
        text = io.StringIO()
        for name, urls in rows.items():
            for url in urls:
                text.write(json.dumps({"dataset": name, "url": url}) + "\n")
        root = tmp / "root"
        dxtest.domaindex("ingest", "--root", root, "--format", "jsonl", "--dataset-column", "dataset", "--url-column", "url",
                         "-", input=text.getvalue().encode())
        dxtest.domaindex("publish", "--root", root)
        with dxtest.Server(root, "--poll-ms", 100) as server:
            ids = {d["name"]: d["dataset_id"] for d in server.get("/v1/datasets").json["datasets"]}
            check_all(server, root, ids, rows)
            check_command(root, ids, rows)
            refused(server, ids["crawl"])
            suppressed(server, root, ids, rows)
    dxtest.finish()


if __name__ == "__main__":
    main()
