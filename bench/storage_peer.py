#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""storage_peer.py ENGINE - another engine asked the same question, for bench/storage.py.

ENGINE: duckdb, duckdb-footers (which keeps footers), clickhouse, clickhouse-s3, polars, polars-s3,
pyarrow-s3.
First line of stdin: {"url": "http://host:port", "bucket": ..., "key_id": ..., "secret": ...,
"region": ...}; says {"version": ...} or {"missing": why}. Then a line for each question:
{"file": path below the root, "domain": ..., "limit": n}, answered by {"seconds": ..., "rows": n,
"digest": of the URLs in their order}. The question: the first n rows of the domain in this file,
by (host, path_query, ts).
"""
import hashlib
import json
import sys
import time

COLUMNS = ["scheme", "host", "path_query", "ts"]
ORDER = ["host", "path_query", "ts"]
THREADS = 4     # more than it has cores: those of an engine that waits for a store mostly wait


def with_duckdb(store, footers):
    import duckdb
    link = duckdb.connect()
    try:
        link.execute("LOAD httpfs")
    except duckdb.Error:
        from duckdb_extensions import import_extension
        import_extension("httpfs")
        link.execute("LOAD httpfs")
    link.execute(f"SET threads = {THREADS}")
    # The data of a question come from the store each time, as they do for us.
    link.execute("SET enable_external_file_cache = false")
    if footers:
        link.execute("SET parquet_metadata_cache = true")
        link.execute("SET enable_http_metadata_cache = true")

    def ask(file, domain, limit):
        return link.execute(
            f"SELECT scheme, host, path_query FROM read_parquet(?, hive_partitioning = false) "
            f"WHERE domain = ? ORDER BY host, path_query, ts LIMIT {limit}",
            [f"{store['url']}/{file}", domain]).fetchall()
    return duckdb.__version__, ask


def with_clickhouse(store, s3):
    from chdb import session
    link = session.Session()

    def quoted(text):
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"

    def ask(file, domain, limit):
        if s3:
            table = (f"s3({quoted(store['url'] + '/' + store['bucket'] + '/' + file)}, "
                     f"{quoted(store['key_id'])}, {quoted(store['secret'])}, 'Parquet')")
        else:
            table = f"url({quoted(store['url'] + '/' + file)}, 'Parquet')"
        text = link.query(
            f"SELECT scheme, host, path_query FROM {table} WHERE domain = {quoted(domain)} "
            f"ORDER BY host, path_query, ts LIMIT {limit} SETTINGS max_threads = {THREADS}",
            "JSONCompactEachRow")
        return [json.loads(line) for line in text.bytes().decode().splitlines()]
    return link.query("SELECT version()", "TSV").bytes().decode().strip(), ask


def with_polars(store, s3):
    import polars
    options = {"aws_endpoint_url": store["url"], "aws_access_key_id": store.get("key_id"),
               "aws_secret_access_key": store.get("secret"), "aws_region": store.get("region"),
               "aws_allow_http": "true", "aws_virtual_hosted_style_request": "false"} if s3 else \
        {"allow_http": "true"}

    def ask(file, domain, limit):
        url = f"s3://{store['bucket']}/{file}" if s3 else f"{store['url']}/{file}"
        frame = polars.scan_parquet(url, storage_options=options, hive_partitioning=False)
        return frame.filter(polars.col("domain") == domain).select(COLUMNS).sort(ORDER) \
            .head(limit).select(COLUMNS[:3]).collect().rows()
    return polars.__version__, ask


def with_pyarrow(store):
    import pyarrow
    import pyarrow.dataset
    import pyarrow.fs
    host = store["url"].split("//")[1]
    files = pyarrow.fs.S3FileSystem(access_key=store["key_id"], secret_key=store["secret"],
                                    region=store["region"], endpoint_override=host, scheme="http")

    def ask(file, domain, limit):
        table = pyarrow.dataset.dataset(f"{store['bucket']}/{file}", filesystem=files,
                                        format="parquet") \
            .to_table(columns=COLUMNS, filter=pyarrow.dataset.field("domain") == domain)
        table = table.sort_by([(name, "ascending") for name in ORDER]).slice(0, limit)
        return list(zip(*(table[name].to_pylist() for name in COLUMNS[:3])))
    return pyarrow.__version__, ask


def main():
    engine, _, kind = sys.argv[1].partition("-")
    store = json.loads(sys.stdin.readline())
    out = sys.stdout
    try:
        make = {"duckdb": lambda: with_duckdb(store, kind == "footers"),
                "clickhouse": lambda: with_clickhouse(store, kind == "s3"),
                "polars": lambda: with_polars(store, kind == "s3"),
                "pyarrow": lambda: with_pyarrow(store)}[engine]
        version, ask = make()
    except Exception as error:  # whatever is missing is told, not guessed
        print(json.dumps({"missing": f"{type(error).__name__}: {str(error)[:200]}"}), file=out,
              flush=True)
        return
    print(json.dumps({"version": version}), file=out, flush=True)
    for line in sys.stdin:
        job = json.loads(line)
        begin = time.perf_counter()
        try:
            rows = ask(job["file"], job["domain"], job["limit"])
        except Exception as error:
            print(json.dumps({"error": f"{type(error).__name__}: {str(error)[:300]}"}), file=out,
                  flush=True)
            continue
        seconds = time.perf_counter() - begin
        urls = "\n".join(f"{scheme}://{host}{path}" for scheme, host, path in rows)
        print(json.dumps({"seconds": seconds, "rows": len(rows), "digest":
                          hashlib.sha256(urls.encode()).hexdigest()}), file=out, flush=True)


if __name__ == "__main__":
    main()
