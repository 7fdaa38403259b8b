#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: short plain
"""Every list that has other formats than JSON, of the whole route table: a stream has as many rows as the pages of JSON together, in the same order,
or is refused; limit=N gives the first N. Lists are longer than their largest page where the route has one."""
import csv
import io
import json

import dxtest
from dxtest import check, equal

COUNT = 10_050
PATHS = "/v1/domain/example.com/datasets/1/paths"

# By path in openapi.json: the request, the array of its answer.
LISTS = {
    "/v1/domain/{domain}": ("/v1/domain/example.com", "datasets"),
    "/v1/domain/{domain}/datasets/{dataset}/urls": ("/v1/domain/example.com/datasets/1/urls", "items"),
    "/v1/domain/{domain}/dataset/{dataset}/urls": ("/v1/domain/example.com/dataset/1/urls", "items"),
    "/v1/domain/{domain}/urls": ("/v1/domain/example.com/urls", "items"),
    "/v1/host/{host}/urls": ("/v1/host/example.com/urls?subdomains=yes", "items"),
    "/v1/domain/{domain}/datasets/{dataset}/paths": None,    # below,
    "/v1/domain/{domain}/hosts": ("/v1/domain/example.com/hosts", "hosts"),
    "/v1/domain/{domain}/timeline": ("/v1/domain/example.com/timeline?by=day", "periods"),
    "/v1/domains": ("/v1/domains", "domains"),
    "/v1/datasets": ("/v1/datasets", "datasets"),
    "/v1/datasets/{dataset}/top-domains": ("/v1/datasets/2/top-domains", "domains"),
    "/v1/datasets/{a}/overlap/{b}": None,    # an object in JSON, two rows in all else
    "/v1/range": None,    # which needs a registry of numbers: tests/e2e/ranges.py
    "/v1/tags": ("/v1/tags", "tags"),
    "/v1/tags/{tag}": ("/v1/tags/all", "items"),
    "/v1/tlds": ("/v1/tlds", "tlds"),
    "/v1/suffix/{suffix}": ("/v1/suffix/com", "datasets"),
    "/v1/suffix/{suffix}/urls": ("/v1/suffix/com/urls", "items"),
    "/v1/changes": ("/v1/changes", "changes"),
}


def make_root(tmp):
    root = tmp / "root"
    with open(tmp / "a.jsonl", "w", encoding="utf-8") as out:
        for i in range(COUNT):
            out.write(json.dumps({"url": f"https://h{i}.example.com/p{i}", "tags": ["all", f"t{i}"], "ts": f"20{i % 40 + 10}-01-{i % 28 + 1:02}"}) + "\n")
        for i in range(300):
            out.write(json.dumps({"url": f"https://few.org/s{i % 200}/p{i}"}) + "\n")
    others = "".join(f"https://site.tld{i}/\n" for i in range(COUNT))
    dxtest.domaindex("ingest", "--root", root, "--dataset", "a", "--extra-column", "tags", tmp / "a.jsonl")
    dxtest.domaindex("publish", "--root", root)
    dxtest.domaindex("ingest", "--root", root, "--dataset", "b", "--format", "list", "-", input=others.encode())
    dxtest.domaindex("publish", "--root", root)
    return root


def with_param(target, text):
    return target + ("&" if "?" in target else "?") + text


def pages(server, target, member):
    rows, at = [], target
    while at:
        reply = server.get(at)
        equal(reply.status, 200, f"{at}: {reply.body[:300]}")
        rows += reply.json[member]
        cursor, offset = reply.json.get("next_cursor"), reply.json.get("next_offset")
        at = with_param(target, f"cursor={cursor}") if cursor else with_param(target, f"offset={offset}") if offset else None
    return rows


def compare(server, target, member):
    """Rows of JSON; the streams have the same."""
    rows = pages(server, target, member)
    lines = server.get(with_param(target, "format=ndjson")).body.decode().splitlines()
    equal(len(lines), len(rows), f"{target}: lines of NDJSON")
    check(json.loads(f"[{','.join(lines)}]") == rows, f"{target}: NDJSON has the rows of JSON")
    table = list(csv.reader(io.StringIO(server.get(with_param(target, "format=csv")).body.decode(), newline="")))
    equal(len(table) - 1, len(rows), f"{target}: lines of CSV")
    for limit in (1, len(rows) // 2 or 1, len(rows) + 1):
        some = server.get(with_param(target, f"format=ndjson&limit={limit}"))
        if some.status == 400 and b"not a parameter" in some.body:
            break
        equal(some.body.decode().splitlines(), lines[:limit], f"{target}: the first {limit}")
    return len(rows)


def paths(server):
    """The index keeps 256 paths of a domain with many rows: all of more are refused, not cut."""
    equal(server.get(PATHS).json["path_count"], COUNT, "paths")
    for word in ("ndjson", "csv", "arrow", "parquet"):
        for more in ("", "&limit=257", "&limit=100000"):
            reply = server.get(f"{PATHS}?format={word}{more}")
            equal((reply.status, reply.json["type"].rsplit(":", 1)[-1]), (422, "too-much"), f"all paths as {word} {more}")
            check(f"{COUNT} paths" in reply.json["detail"] and "limit=256" in reply.json["detail"], reply.json["detail"])
    few = "/v1/domain/few.org/datasets/1/paths"
    equal(server.get(f"{few}?format=csv").status, 422, "300 paths of few rows")
    lines = server.get(f"{few}?format=ndjson&by=section").body.decode().splitlines()
    equal([json.loads(line) for line in lines], server.get(f"{few}?limit=256&by=section").json["paths"], "200 sections")
    equal(len(lines), 200, "200 sections")
    lines = server.get(f"{PATHS}?format=ndjson&limit=256").body.decode().splitlines()
    equal([json.loads(line) for line in lines], server.get(f"{PATHS}?limit=256").json["paths"], "the first 256 paths")


def main():
    dxtest.need_programs()
    api = json.loads((dxtest.SOURCE / "docs/openapi.json").read_text(encoding="utf-8"))
    have = {path for path, methods in api["paths"].items()
            for p in methods.get("get", {}).get("parameters", ()) if p.get("name") == "format" and "ndjson" in json.dumps(p)}
    equal(sorted(have - set(LISTS)), [], "lists that this test does not know")
    equal(sorted(set(LISTS) - have), [], "lists that have no formats")
    with dxtest.tempdir() as tmp:
        with dxtest.Server(make_root(tmp)) as server:
            for name, (target, member) in filter(lambda item: item[1], LISTS.items()):
                print(f"{name}: {compare(server, target, member)} rows")
            paths(server)
    dxtest.finish()


main()
