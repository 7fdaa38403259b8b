#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ingest_peer.py - sorts parsed rows and writes them as Parquet with DuckDB, Polars or pyarrow.

    ingest_peer.py prepare LAKE ROWS.parquet          our lake's rows, in an order of chance
    ingest_peer.py ENGINE THREADS ROWS.parquet OUT    prints {"wall", "cpu", "rows"} as JSON

Seconds are those of reading, sorting and writing alone, without the start of Python and imports. Same
order, compression and size of row groups as ours.
"""
import json
import os
import pathlib
import sys
import time

ORDER = ["dataset_id", "domain", "host", "path_query", "ts"]
LEVEL, GROUP = 6, 131072     # builder/lake/lake_file.h


def duckdb_session(threads):
    import duckdb
    session = duckdb.connect()
    session.execute(f"SET threads={threads}; SET memory_limit='4GB'; "
                    "SET preserve_insertion_order=true")
    return session


def prepare(lake, rows):
    duckdb_session(2).execute(
        f"COPY (SELECT * FROM read_parquet('{lake}/urls/*/*/*.parquet', hive_partitioning=true) "
        f"ORDER BY hash(url_id, ts)) TO '{rows}' (FORMAT parquet, COMPRESSION snappy)")


def with_duckdb(threads, rows, out):
    session = duckdb_session(threads)

    def work():
        session.execute(
            f"COPY (SELECT * FROM read_parquet('{rows}') ORDER BY {', '.join(ORDER)}) TO '{out}' "
            f"(FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL {LEVEL}, ROW_GROUP_SIZE {GROUP})")
    return work


def with_polars(threads, rows, out):
    os.environ["POLARS_MAX_THREADS"] = str(threads)
    import polars

    def work():
        polars.read_parquet(rows).sort(ORDER).write_parquet(
            out, compression="zstd", compression_level=LEVEL, row_group_size=GROUP)
    return work


def with_pyarrow(threads, rows, out):
    import pyarrow
    import pyarrow.parquet as parquet
    pyarrow.set_cpu_count(threads)

    def work():
        table = parquet.read_table(rows)
        parquet.write_table(table.sort_by([(name, "ascending") for name in ORDER]), out,
                            compression="zstd", compression_level=LEVEL, row_group_size=GROUP,
                            use_dictionary=False)
    return work


def main():
    if sys.argv[1] == "prepare":
        prepare(*sys.argv[2:])
        return
    engine, threads, rows, out = sys.argv[1:]
    work = {"duckdb": with_duckdb, "polars": with_polars,
            "pyarrow": with_pyarrow}[engine](int(threads), rows, out)
    wall, cpu = time.monotonic(), time.process_time()
    work()
    print(json.dumps({"wall": time.monotonic() - wall, "cpu": time.process_time() - cpu,
                      "bytes": pathlib.Path(out).stat().st_size}))


if __name__ == "__main__":
    main()
