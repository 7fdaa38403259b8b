# SPDX-License-Identifier: Apache-2.0
# labels: peers
"""A timeline whose times lie on more pages than one listing may read: files that pyarrow wrote, three rows a page, against DuckDB.

In detail: 5,000 pages of two datasets, with and without rows without a time and rows of other domains between; by year, month and day, of
one dataset and of both; `cost` counts the pages.
"""
import json
import random

import dxtest

try:
    import duckdb
    import pyarrow as pa
    import pyarrow.parquet as pq
    import xxhash
except ImportError:
    dxtest.skip("duckdb, pyarrow and xxhash are not here (tests/e2e/requirements.txt)")

PAGE_ROWS = 3
FORMATS = {"year": "%Y", "month": "%Y-%m", "day": "%Y-%m-%d"}


def table(rng, domains, rows_each):
    rows = []
    for domain, count in zip(domains, rows_each):
        urls = sorted(f"/{rng.randrange(10 ** 6):06}" for _ in range(count))
        times = [None if rng.random() < 0.1 else rng.randrange(10 ** 15, 2 * 10 ** 15) // 1000 * 1000 for _ in urls]
        rows += sorted(zip([domain] * count, urls, times), key=lambda r: (r[1], r[2] is not None, r[2] or 0))
    return pa.table({"domain": pa.array([r[0] for r in rows]), "domain_id": pa.array([xxhash.xxh3_64_intdigest(r[0].encode()) for r in rows], pa.uint64()),
                     "scheme": pa.array(["https"] * len(rows)), "host": pa.array([r[0] for r in rows]), "path_query": pa.array([r[1] for r in rows]),
                     "ts": pa.array([r[2] for r in rows], pa.timestamp("us", "UTC"))})


def main():
    dxtest.need_programs()
    rng = random.Random(3)
    with dxtest.tempdir() as tmp:
        root, files = tmp / "root", {}
        for name in ("one", "two"):
            dxtest.domaindex("ingest", "--root", root, "--dataset", name, "--format", "list", "-", input=b"https://own.org/\n")
        for dataset, counts in ((1, (9, 9000, 5)), (2, (40, 6000, 40))):
            at = files[dataset] = root / "urls" / f"dataset_id={dataset}" / "others" / "part.parquet"
            at.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(table(rng, ("a.com", "many.com", "z.com"), counts), at, data_page_size=1, write_batch_size=PAGE_ROWS, use_dictionary=False, compression="zstd")
        dxtest.domaindex("publish", "--root", root)
        with dxtest.Server(root) as server, duckdb.connect() as db:
            for query, of in (("", "1,2"), ("&dataset=1", "1"), ("&dataset=2", "2")):
                source = "[" + ",".join(f"'{files[int(n)]}'" for n in of.split(",")) + "]"
                for by, form in FORMATS.items():
                    reply = server.get(f"/v1/domain/many.com/timeline?by={by}{query}")
                    if not dxtest.equal(reply.status, 200, f"{by} of {of}: {reply.body[:200]}"):
                        continue
                    want = db.sql(f"select strftime(ts at time zone 'UTC', '{form}') as p, count(*) from read_parquet({source}, hive_partitioning=false) "
                                  "where domain = 'many.com' and ts is not null group by p order by p").fetchall()
                    none = db.sql(f"select count(*) from read_parquet({source}, hive_partitioning=false) where domain = 'many.com' and ts is null").fetchall()[0][0]
                    dxtest.equal([(p["period"], p["row_count"]) for p in reply.json["periods"]], want, f"{by} of {of}")
                    dxtest.equal((reply.json["untimed_row_count"], none > 0), (none, True), f"{by} of {of}: without a time")
                    rows = reply.json["row_count"]
                    dxtest.check(reply.json["cost"]["pages"] >= rows // PAGE_ROWS - 9, f"{by} of {of}: {rows} rows, {reply.json['cost']}")
            dxtest.check(server.get("/v1/domain/many.com/timeline").json["cost"]["pages"] > 4096, "more pages than a listing may read")
            dxtest.equal(json.loads(server.get("/v1/domain/a.com/timeline").body)["row_count"], 49, "beside it")
    dxtest.finish()


if __name__ == "__main__":
    main()
