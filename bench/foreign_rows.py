#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""foreign_rows.py - rows of a site in a Parquet file that is indexed in place: scattered over the file, and together.

    bench/foreign_rows.py [--quick] [--write] [--json FILE] [--rounds 5] [--rows 100000]

The file of bench/ingest_parquet.py (FineWeb's schema, row groups of 1,000 rows, 3 kB of text a row), in which 400 rows at random
places are of one site; and the same rows sorted by reversed host. `domaindex ingest --in-place`; then one connection asks for the
listing of the site, and for its rows with one small column, with the text, and with all columns. What is read is the answer's
`cost`. Milliseconds are the median of 15 requests, with the file in the page cache. Below one minute.
"""
import pathlib
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "support"), str(HERE / "peers")]
import where        # noqa: E402
import dxtest       # noqa: E402
import ingest_parquet   # noqa: E402
import rounds       # noqa: E402
from result import Result, median   # noqa: E402

ASKED = 15
BUDGET_S = 30
ORDERS = ("scattered", "sorted")
TARGETS = {"listing": "urls?limit=20", "language": "rows?limit=20&columns=language", "text": "rows?limit=20&columns=text", "all columns": "rows?limit=20"}


def lakes(python, work, rows):
    ingest_parquet.make_lists(work)
    peer = HERE / "peers" / "parquet_peer.py"
    subprocess.run([python, peer, "make", work / "domains", work / "paths", str(rows), work / "pages.parquet"], check=True)
    for order in ORDERS:
        (work / order).mkdir()
        subprocess.run([python, peer, "site", order, work / "pages.parquet", work / order / "pages.parquet"], check=True)
        dxtest.domaindex("ingest", "--root", work / f"{order}-root", "--in-place", "--dataset", "d", ".", cwd=work / order)
        dxtest.domaindex("publish", "--root", work / f"{order}-root")


def ask(server, target):
    took = []
    for _ in range(ASKED):
        begin = time.perf_counter()
        reply = server.get(f"/v1/domain/bigsite.org/datasets/1/{target}")
        took.append((time.perf_counter() - begin) * 1000)
    if reply.status != 200:
        sys.exit(f"{target}: {reply.status} {reply.body[:300]}")
    return {"ms": statistics.median(took), **reply.json.get("cost", {"chunks": 0, "bytes": 0})}


def plan(work):
    for order in ORDERS:
        for name, target in TARGETS.items():
            def asked(order=order, target=target):
                with dxtest.Server(work / f"{order}-root", "--foreign", work / order) as server:
                    return ask(server, target)
            yield (order, name), asked


def report(result, seen):
    lines = ["| 20 rows of one site | file | ms | column chunks read | KiB of them |", "| --- | --- | --: | --: | --: |"]
    for (order, name), values in seen.items():
        took = [v["ms"] for v in values]
        result.add(order, name, "ms", took, more=False)
        result.add(order, name, "bytes", [v["bytes"] for v in values], more=False)
        lines.append(f"| {name} | {order} | {median(took):.2f} | {values[0]['chunks']} | {values[0]['bytes'] / 1024:,.0f} |")
    return lines


def main():
    options = rounds.options(__doc__, rows=100_000, quick=20_000)
    python = where.program("python")
    if python is None:
        dxtest.skip("DX_PEERS_PYTHON names no python with pyarrow")
    with rounds.folder("dx-foreign-") as folder:
        work = pathlib.Path(folder)
        lakes(python, work, options.rows)
        size = (work / "scattered" / "pages.parquet").stat().st_size
        result = Result("foreign_rows", f"{options.rows:,} rows of FineWeb's schema, {size / 1e6:,.0f} MB, 400 of them of one site")
        seen = rounds.run(lambda: plan(work), options, BUDGET_S, result)
    lines = report(result, seen)
    print("\n".join(lines))
    print(result.save(options.json))
    if options.write:
        result.keep("Rows of a foreign file", lines)


if __name__ == "__main__":
    main()
