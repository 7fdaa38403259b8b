#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""overlap.py - what two datasets share: GET /v1/datasets/{a}/overlap/{b} beside DuckDB on a table of pairs.

    bench/overlap.py [--rounds 7] [--checks 300] [--json FILE] ROOT...

DuckDB has the table (dataset_id, domain as a number, urls) in memory, in that order, made from the rows of the
lake with count(DISTINCT) of its own; so each answer is also a recount. Of each root the two datasets with the
most domains are timed, a connection that stays, no kept answers, rounds interleaved; --checks pairs drawn at random
are compared, and any difference ends the run. Needs Python with duckdb (scripts/peers.sh).
"""
import argparse
import json
import pathlib
import random
import sys
import time

import duckdb

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "support"))
sys.path.insert(0, str(HERE.parent / "tests" / "support"))
import dxtest  # noqa: E402
from result import Result, median  # noqa: E402

BOTH = """
    SELECT count(*) FILTER (x > 0), count(*) FILTER (y > 0), coalesce(sum(x), 0), coalesce(sum(y), 0),
           count(*) FILTER (x > 0 AND y > 0), coalesce(sum(x) FILTER (y > 0), 0), coalesce(sum(y) FILTER (x > 0), 0),
           coalesce(sum(least(x, y)), 0)
    FROM (SELECT coalesce(a.urls, 0) AS x, coalesce(b.urls, 0) AS y
          FROM (SELECT domain, urls FROM pairs WHERE dataset_id = ?) a
          FULL JOIN (SELECT domain, urls FROM pairs WHERE dataset_id = ?) b USING (domain))"""


def pairs_of(root):
    db = duckdb.connect()
    db.execute(f"""
        CREATE TABLE pairs AS
        WITH counted AS (SELECT dataset_id, domain, count(DISTINCT (scheme, host, path_query)) AS urls
                         FROM read_parquet('{root}/urls/**/*.parquet') GROUP BY ALL)
        SELECT dataset_id::INTEGER AS dataset_id, (dense_rank() OVER (ORDER BY domain))::INTEGER AS domain,
               urls::BIGINT AS urls
        FROM counted ORDER BY 1, 2""")
    return db


def numbers(answer):
    a, b, urls = answer["a"], answer["b"], answer["urls"]
    return (a["domain_count"], b["domain_count"], a["url_count"], b["url_count"], answer["domains"]["shared"],
            urls["shared_a"], urls["shared_b"], urls["min"])


def timed(call):
    begin = time.perf_counter()
    got = call()
    return (time.perf_counter() - begin) * 1000, got


def measure(root, options, result):
    db = pairs_of(root)
    datasets = [row[0] for row in
                db.execute("SELECT dataset_id FROM pairs GROUP BY 1 ORDER BY count(*) DESC, 1").fetchall()]
    group = f"{pathlib.Path(root).name}: the two largest of {len(datasets)} datasets"
    a, b = datasets[0], datasets[1]
    with dxtest.Server(root, "--cache-answers", 0) as server:
        def ours(x, y):
            return numbers(server.get(f"/v1/datasets/{x}/overlap/{y}").json)

        def theirs(x, y):
            return tuple(int(v) for v in db.execute(BOTH, [x, y]).fetchone())
        ms = {"domaindexd": [], "DuckDB, 1 thread": [], "DuckDB, all threads": []}
        for round_ in range(options.rounds + 1):
            for name, call in (("domaindexd", ours), ("DuckDB, 1 thread", theirs), ("DuckDB, all threads", theirs)):
                if name != "domaindexd":
                    db.execute("SET threads = 1" if "1 thread" in name else "RESET threads")
                took, got = timed(lambda c=call: c(a, b))
                if round_ > 0:
                    ms[name].append(took)
                if got != theirs(a, b):
                    sys.exit(f"{group}: {name} has {got}")
        for name, values in ms.items():
            result.add(group, name, "ms", values, more=False)
            print(f"{group}: {name}: {median(values):.2f} ms ({min(values):.2f} to {max(values):.2f})", flush=True)
        result.ratio(group, "domaindexd", "DuckDB, 1 thread")
        print(group, dict(zip(("domains a", "domains b", "URLs a", "URLs b", "shared"), ours(a, b))))
        rng = random.Random(1)
        for _ in range(options.checks):
            x, y = rng.choice(datasets), rng.choice(datasets)
            if ours(x, y) != theirs(x, y):
                sys.exit(f"{group}: datasets {x} and {y}: {ours(x, y)}, recounted {theirs(x, y)}")
        result.note(f"{group}: {options.checks} pairs of datasets recounted, no difference")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("roots", nargs="+", metavar="ROOT")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--checks", type=int, default=300)
    parser.add_argument("--json")
    options = parser.parse_args()
    result = Result("overlap", data=", ".join(pathlib.Path(r).name for r in options.roots))
    for root in options.roots:
        measure(root, options, result)
    print(json.dumps(result.figures["ratios"], indent=1))
    result.save(options.json)


if __name__ == "__main__":
    main()
