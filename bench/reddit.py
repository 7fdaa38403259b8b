#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""reddit.py - ingest, publish, and what it costs, for the reddit corpus.

    bench/reddit.py [--quick] [--write] [--json FILE] [--runs 3] [--memory 1G] [FILE]

FILE: TSV of dataset, Unix time, URL, extra, plain or compressed; default
$DX_SHARED_DATA/lists/reddit-top-2.5-million/posts-A.tsv.zst. Seconds and peak memory of both steps
(medians of the runs), bytes of the lake, and of the index by file. Half a minute; --quick: one run.
DX_BIN_DIR (build/release): the programs.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "support"), str(HERE / "peers")]
import where        # noqa: E402
import dxtest       # noqa: E402
from result import Result   # noqa: E402

INGEST, PUBLISH, SIZE = "ingest", "publish", "size"


def measured(*command):
    """Seconds and peak resident bytes of one program."""
    begin = time.monotonic()
    process = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE)
    words = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"{' '.join(map(str, command))}:\n{words.decode(errors='replace')}")
    return time.monotonic() - begin, usage.ru_maxrss * 1024


def count_lines(source):
    head = open(source, "rb").read(4)
    unpack = {b"(\xb5/\xfd": "zstd -dc", b"\x1f\x8b": "gzip -dc"}
    cat = unpack.get(head) or unpack.get(head[:2]) or "cat"
    done = subprocess.run(f"{cat} '{source}' | wc -l", shell=True, check=True, stdout=subprocess.PIPE)
    return int(done.stdout)


def parts_of(version):
    """Bytes of the index by file."""
    return {f.name: f.stat().st_size for f in version.iterdir() if f.is_file()}


def sizes(root, result):
    name = json.loads((root / "index/manifest.json").read_text())["current_version"]
    version = next(p for p in (root / "index").iterdir()
                   if p.is_dir() and p.name in (name, name.replace(":", "-")))
    with dxtest.Server(root) as server:
        totals = server.get("/v1/versions").json["versions"][-1]
    parts = parts_of(version)
    lake = sum(f.stat().st_size for f in (root / "urls").rglob("*.parquet"))
    index = sum(parts.values())
    result.add(SIZE, "lake", "B/URL", [lake / totals["url_count"]], more=False, bytes=lake)
    result.add(SIZE, "index", "B/domain", [index / totals["domain_count"]], more=False, bytes=index)
    for part, size in sorted(parts.items(), key=lambda p: -p[1]):
        result.add(SIZE, part, "B/pair", [size / totals["pair_count"]], more=False, bytes=size)
    return totals


def measure(source, runs, memory, result):
    records = count_lines(source)
    with dxtest.tempdir() as tmp:
        ingest, publish = [], []
        for run in range(runs):
            root = tmp / f"root-{run}"
            columns = [memory if w == "1G" else w for w in where.COLUMNS]
            ingest.append(measured(dxtest.DOMAINDEX, "ingest", "--root", root, *columns, source))
            publish.append(measured(dxtest.DOMAINDEX, "publish", "--root", root, "--memory", memory))
        result.add(INGEST, "domaindex", "records/s", [records / s for s, _ in ingest], more=True)
        for name, runs_of in ((INGEST, ingest), (PUBLISH, publish)):
            result.add(name, "domaindex", "s", [s for s, _ in runs_of], more=False)
            result.add(name, "domaindex", "MiB", [b / 2**20 for _, b in runs_of], more=False)
        return records, sizes(root, result)


def report(result, totals):
    def row(group, unit, name="domaindex"):
        r = result.row(group, name, unit)
        return r["median"], f"{min(r['values']):.2f} to {max(r['values']):.2f}"
    domains, pairs = totals["domain_count"], totals["pair_count"]
    seconds, rate = row(INGEST, "s"), row(INGEST, "records/s")[0]
    build = row(PUBLISH, "s")
    lake, index = result.row(SIZE, "lake"), result.row(SIZE, "index")
    yield from ("| | |", "| --- | --: |",
                f"| ingest | {seconds[0]:.2f} s ({seconds[1]}), **{rate:,.0f} records/s** |",
                f"| ingest, peak memory | {row(INGEST, 'MiB')[0]:.0f} MiB |",
                f"| publish (index build) | {build[0]:.2f} s ({build[1]}) |",
                f"| publish, peak memory | {row(PUBLISH, 'MiB')[0]:.0f} MiB |",
                f"| domains, (domain, dataset) pairs | {domains:,}, {pairs:,} |",
                f"| distinct URLs in their datasets, rows | {totals['url_count']:,}, {totals['row_count']:,} |",
                f"| lake | {lake['bytes']:,} B, **{lake['median']:.1f} B/URL** |",
                f"| index | {index['bytes']:,} B, **{index['median']:.1f} B/domain, "
                f"{index['bytes'] / pairs:.1f} B/pair** |",
                "", "| file of the index | bytes | B/domain | B/pair |", "| --- | --: | --: | --: |")
    for r in result.figures["rows"]:
        if r["group"] == SIZE and r["unit"] == "B/pair":
            yield f"| {r['name']} | {r['bytes']:,} | {r['bytes'] / domains:.2f} | {r['median']:.2f} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("--quick", action="store_true", help="one run")
    parser.add_argument("--write", action="store_true", help="keep it in bench/RESULTS.md")
    parser.add_argument("--json", metavar="FILE", help="where the figures go")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--memory", default="1G", help="of --memory, for both steps")
    parser.add_argument("file", nargs="?", help="TSV of dataset, Unix time, URL, extra")
    options = parser.parse_args()
    dxtest.need_programs()
    source = options.file or dxtest.shared_data(where.CORPUS)
    if not source:
        dxtest.skip("the corpus is not here (see bench/README.md)")
    result = Result("reddit", data=pathlib.Path(source).name)
    records, totals = measure(source, 1 if options.quick else options.runs, options.memory, result)
    title = f"{pathlib.Path(source).name}: {records:,} records, {totals['dataset_count']:,} datasets"
    lines = list(report(result, totals))
    print("\n".join([f"## {title}", "", *lines]))
    print(result.save(options.json))
    if options.write:
        result.keep(title, lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
