#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""lake_peer.py ENGINE - another engine asked for the URLs of a domain, for bench/lake.py.

ENGINE: duckdb, duckdb-footers (which keeps footers), clickhouse, polars. Says {"version": ...} or
{"missing": why}; then a line for each question on stdin, {"files": a path, or a pattern of paths,
"domain": ..., "limit": n or null}, is answered by {"seconds": ..., "rows": n, "digest": of the
sorted URLs}. With a limit: the first rows by (host, path_query, ts). Seconds end when all rows are
values of Python. One thread: the process has one core.
"""
import hashlib
import json
import sys
import time

COLUMNS = ["scheme", "host", "path_query", "ts"]
ORDER = ["host", "path_query", "ts"]


def with_duckdb(footers):
    import duckdb
    link = duckdb.connect()
    link.execute("SET threads = 1")
    if footers:
        link.execute("SET parquet_metadata_cache = true")

    def ask(files, domain, limit):
        order = f" ORDER BY host, path_query, ts LIMIT {limit}" if limit else ""
        return link.execute(
            "SELECT scheme, host, path_query, epoch_us(ts) FROM read_parquet(?, hive_partitioning = false) "
            f"WHERE domain = ?{order}", [files, domain]).fetchall()
    return duckdb.__version__, ask


def with_clickhouse():
    from chdb import session
    link = session.Session()

    def quoted(text):
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"

    def ask(files, domain, limit):
        order = f" ORDER BY host, path_query, ts LIMIT {limit}" if limit else ""
        text = link.query(
            f"SELECT scheme, host, path_query, ts FROM file({quoted(files)}, 'Parquet') "
            f"WHERE domain = {quoted(domain)}{order} SETTINGS max_threads = 1", "JSONCompactEachRow")
        return [json.loads(line) for line in text.bytes().decode().splitlines()]
    return link.query("SELECT version()", "TSV").bytes().decode().strip(), ask


def with_polars():
    import polars

    def ask(files, domain, limit):
        frame = polars.scan_parquet(files, hive_partitioning=False) \
            .filter(polars.col("domain") == domain).select(COLUMNS)
        return (frame.sort(ORDER).head(limit) if limit else frame).collect().rows()
    return polars.__version__, ask


def main():
    engine, _, kind = sys.argv[1].partition("-")
    try:
        version, ask = {"duckdb": lambda: with_duckdb(kind == "footers"),
                        "clickhouse": with_clickhouse, "polars": with_polars}[engine]()
    except Exception as error:  # whatever is missing is told, not guessed
        print(json.dumps({"missing": f"{type(error).__name__}: {str(error)[:200]}"}), flush=True)
        return
    print(json.dumps({"version": version}), flush=True)
    for line in sys.stdin:
        job = json.loads(line)
        begin = time.perf_counter()
        try:
            rows = ask(job["files"], job["domain"], job["limit"])
        except Exception as error:
            print(json.dumps({"error": f"{type(error).__name__}: {str(error)[:300]}"}), flush=True)
            continue
        seconds = time.perf_counter() - begin
        urls = "\n".join(sorted(f"{row[0]}://{row[1]}{row[2]}" for row in rows))
        print(json.dumps({"seconds": seconds, "rows": len(rows),
                          "digest": hashlib.sha256(urls.encode()).hexdigest()}), flush=True)


if __name__ == "__main__":
    main()
