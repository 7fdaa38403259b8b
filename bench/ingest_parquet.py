#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ingest_parquet.py - a Parquet file of pages with their text into a lake, beside DuckDB's sorted copy.

    bench/ingest_parquet.py [--quick] [--write] [--json FILE] [--rounds 5] [--rows 300000]
                            [--beside PROGRAM]

The file has the schema of FineWeb (text, id, dump, url, date, file_path, language, language_score,
token_count), row groups of 1,000 rows, 3 kB of text a row. Its URLs are made up of registered domains
and paths of the shared lists, in an order of chance. `domaindex ingest` takes URL and date; DuckDB
(python of DX_PEERS_PYTHON) does COPY (SELECT url, date ORDER BY url, date) TO Parquet, with zstd and
with its own default, snappy. Both have one thread and a memory file system; rounds are interleaved. What
counts is CPU seconds of all threads, DuckDB's without the start of Python.

Bytes read: those that a dry run asks of the kernel, less those of a dry run over a file of one row.
Below one minute.
"""
import json
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "support"), str(HERE / "peers")]
import where        # noqa: E402
import dxtest       # noqa: E402
import machine      # noqa: E402
import rounds       # noqa: E402
from result import Result, median   # noqa: E402

OURS, BESIDE = "domaindex ingest", "domaindex ingest, the other revision"
ENGINES = {"zstd": "DuckDB, zstd", "snappy": "DuckDB, snappy"}
GROUP = "FineWeb's schema, 1 thread"
BUDGET_S = 45


def ours(program, work, source, *options):
    root = work / "root"
    shutil.rmtree(root, ignore_errors=True)
    seen = rounds.timed([program, "ingest", "--root", root, "--memory", "1G", "--threads", 1,
                         "--dataset", "pages", *options, source])
    seen["bytes"] = sum(f.stat().st_size for f in (root / "urls").rglob("*.parquet")) \
        if root.exists() else 0
    return seen


def engine(python, work, source, codec):
    out = work / "sorted.parquet"
    out.unlink(missing_ok=True)
    seen = rounds.timed([python, HERE / "peers" / "parquet_peer.py", "copy", codec, source, out])
    return seen | json.loads(seen["said"].splitlines()[-1])


def lines_of(name, count=None):
    given = dxtest.shared_data(name)
    if given is None:
        dxtest.skip(f"{name} is not here")
    with subprocess.Popen(["zstd", "-dcq", given], stdout=subprocess.PIPE, text=True) as process:
        for i, line in enumerate(process.stdout):
            if i == count:
                process.stdout.close()
                return
            yield line.rstrip("\n")


def make_lists(work):
    (work / "domains").write_text(
        "\n".join(lines_of("lists/derived/registered-domains-permissive.txt.zst")), "utf-8")
    paths = []
    for line in lines_of(where.CORPUS, 400_000):
        rest = line.split("\t")[2].split("://", 1)[-1].partition("/")[2]
        paths.append(rest)
    (work / "paths").write_text("\n".join(paths), "utf-8")


def plan(options, python, work, source):
    yield OURS, lambda: ours(machine.BIN / "domaindex", work, source)
    if options.beside:
        yield BESIDE, lambda: ours(options.beside, work, source)
    for codec, name in ENGINES.items():
        yield name, lambda c=codec: engine(python, work, source, c)


def report(result, rows, seen):
    lines = ["| | rows a CPU second | bytes a row | peak MiB |", "| --- | --: | --: | --: |"]
    for name, values in seen.items():
        cpu = [rows / v["cpu"] for v in values]
        result.add(GROUP, name, "rows/CPU s", cpu, more=True)
        result.add(GROUP, name, "bytes/row", [v["bytes"] / rows for v in values], more=False)
        result.add(GROUP, name, "peak bytes", [v["peak"] for v in values], more=False)
        lines.append(f"| {name} | {median(cpu):,.0f} | "
                     f"{median([v['bytes'] / rows for v in values]):.1f} | "
                     f"{median([v['peak'] for v in values]) / (1 << 20):,.0f} |")
    lines.append("")
    for other in [name for name in seen if name != OURS]:
        share = result.ratio(GROUP, OURS, other, "rows/CPU s")
        lines.append(f"* {OURS} to {other}, rows a CPU second: {share:.2f}")
        if other in ENGINES.values():
            result.expect(f"FineWeb's schema, rows a CPU second, to {other}", ">= 1.0",
                          f"{share:.2f}")
    return lines


def main():
    options = rounds.options(__doc__, rows=300_000, quick=100_000)
    rows = options.rows
    python = where.program("python")
    if python is None:
        dxtest.skip("DX_PEERS_PYTHON names no python with duckdb and pyarrow")
    with rounds.folder("dx-parquet-") as folder:
        work = pathlib.Path(folder)
        source, small = work / "pages.parquet", work / "one.parquet"
        make_lists(work)
        for to, count in ((source, rows), (small, 1)):
            subprocess.run([python, HERE / "peers" / "parquet_peer.py", "make", work / "domains",
                            work / "paths", str(count), to], check=True)
        size = source.stat().st_size
        result = Result("ingest_parquet", f"{rows:,} rows of FineWeb's schema, made up of registered "
                        f"domains and paths of the shared lists: {size / 1e6:,.0f} MB")
        wanted = ours(machine.BIN / "domaindex", work, source, "--dry-run")["read"] - \
            ours(machine.BIN / "domaindex", work, small, "--dry-run")["read"]
        seen = rounds.run(lambda: plan(options, python, work, source), options, BUDGET_S, result)
    lines = report(result, rows, seen)
    result.add(GROUP, OURS, "share of the file read", [wanted / size], more=False)
    result.expect("FineWeb's schema, bytes read of the file's", "<= 3 %", f"{wanted / size:.2%}")
    result.note(f"DuckDB {json.loads(seen[ENGINES['zstd']][0]['said'].splitlines()[-1])['version']}.")
    lines = [*result.expectations(), "", *lines]
    print("\n".join(lines))
    print(result.save(options.json))
    if options.write:
        result.keep("Parquet of pages to a lake", lines)


if __name__ == "__main__":
    main()
