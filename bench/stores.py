#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stores.py - name to datasets, counts and times, in process: ours, LMDB, RocksDB, sparkey.

    bench/stores.py [--quick] [--write] [--json FILE] [--root ROOT] [--counts 1000000,10000000]

Content: the domains of the reddit corpus with what the index says of them, and made-up names
(bench/names.h) with made-up datasets. Ours is the four files of a version that answer this
(dictionary, hash, sets, counts), made by the writers that publish uses; the others hold the name
and the datasets, URLs, rows and times as varints (bench/peers/records.h). Each answer ends as an
array of datasets with counts, in every store; sums over all answers are compared.

Bytes of the files, CPU seconds to build from sorted records, CPU ns a question (half a million in
random order, warm, one thread), for names that are there and for strangers; stores are asked in
interleaved rounds. About four minutes; --quick (the corpus or 50,000 names) below 30 s. A store
whose library is not there is named (scripts/bench_peers.sh; then configure and build again).
"""
import argparse
import json
import pathlib
import signal
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "support"), str(HERE / "peers")]
import where        # noqa: E402
import chart        # noqa: E402
import dxtest       # noqa: E402
import machine      # noqa: E402
from result import Result   # noqa: E402

OURS = "domaindex"
STORES = {      # words: (program, kind)
    OURS: ("ours", ""),
    "LMDB": ("lmdb", ""),
    "RocksDB, not compressed": ("rocksdb", ""),
    "RocksDB, zstd": ("rocksdb", "zstd"),
    "sparkey": ("sparkey", ""),
}
BYTES, BUILD, HIT, MISS = "B/name", "s to build", "ns, there", "ns, stranger"


def program(name):
    path = dxtest.BIN / "bench" / "peers" / f"bench_{name}"
    return path if path.exists() else None


def run(core, *command):
    with machine.pinned(core):
        done = subprocess.run([str(c) for c in command], check=False, capture_output=True,
                              text=True, timeout=280)
    if done.returncode:
        raise OSError(f"{command[0]}: exit {done.returncode}: {done.stderr.strip()[-400:]}")
    return json.loads(done.stdout)


def size_of(folder):
    return sum(f.stat().st_size for f in folder.iterdir() if f.is_file())


def build(group, data, tmp, core, result):
    """{words: folder} of the stores that could be made."""
    made = {}
    for words, (name, kind) in STORES.items():
        folder = tmp / f"{name}{kind}"
        folder.mkdir(exist_ok=True)
        path = program(f"store_{name}")
        if not path:
            why = f"Not measured: {words}: bench_store_{name} is not built, its library is missing."
            if why not in result.figures["notes"]:
                result.note(why)
            continue
        told = run(core, path, "build", folder, kind, data)
        size = size_of(folder)
        made[words] = folder
        result.add(group, words, BYTES, [size / told["count"]], more=False, bytes=size,
                   pairs=told["pairs"], count=told["count"], version=told["version"])
        result.add(group, words, BUILD, [told["seconds"]], more=False)
        print(f"{group}: {words:24} {size:14,} B  {size / told['count']:6.2f} B/name  "
              f"built in {told['seconds']:.2f} s", flush=True)
    return made


def ask(group, made, data, core, rounds, result):
    figures, sums = {words: [] for words in made}, {}
    for _ in range(rounds):
        for words, folder in made.items():
            name, kind = STORES[words]
            told = run(core, program(f"store_{name}"), "ask", folder, kind, data)
            figures[words].append(told)
            sums[words] = [(t["found"], t["sum"]) for t in (told["hits"], told["misses"])]
            print(f"{group}: {words:24} there {told['hits']['ns']:7.1f} ns   "
                  f"stranger {told['misses']['ns']:7.1f} ns", flush=True)
    dxtest.equal(sums[OURS][0][0], figures[OURS][0]["hits"]["asked"], f"{group}: names that ours has")
    for words, told in figures.items():
        dxtest.equal(sums[words], sums[OURS], f"{group}: what {words} found, beside ours")
        result.add(group, words, HIT, [t["hits"]["ns"] for t in told], more=False)
        result.add(group, words, MISS, [t["misses"]["ns"] for t in told], more=False)
    for words in figures:
        if words != OURS:
            for unit in (BYTES, HIT, MISS):
                result.ratio(group, words, OURS, unit, judged=OURS)


def measure(group, data, tmp, rounds, result):
    core = machine.cores()[0]
    made = build(group, data, tmp, core, result)
    ask(group, made, data, core, rounds, result)
    for folder in made.values():
        for each in folder.iterdir():
            each.unlink()


def report(result):
    rows = result.figures["rows"]
    yield ("Bytes of all files; a pair is a (name, dataset) with its URLs, rows, first and last time. *There*: ns "
           "to the datasets and counts of a name in an array, *stranger*: ns to know that there is none. Ours "
           "checks each 4 KiB block when it is first touched; the others check nothing here (RocksDB's checksums "
           "are off, in its favour).")
    for group in dict.fromkeys(r["group"] for r in rows):
        mine = {(r["name"], r["unit"]): r for r in rows if r["group"] == group}
        first = mine[(OURS, BYTES)]
        yield from ("", f"**{group}**: {first['count']:,} names, {first['pairs']:,} pairs.", "",
                    "| store | bytes | B/name | B/pair | to ours | build, s | there, ns | stranger, ns |",
                    "| --- | --: | --: | --: | --: | --: | --: | --: |")
        for words in [w for w in STORES if (w, BYTES) in mine]:
            size = mine[(words, BYTES)]
            late = [f"{mine[(words, unit)]['median']:,.0f}" if (words, unit) in mine else ""
                    for unit in (HIT, MISS)]
            bold = "**" if words == OURS else ""
            yield (f"| {bold}{words}{bold} | {size['bytes']:,} | {size['median']:.2f} | "
                   f"{size['bytes'] / size['pairs']:.2f} | {size['bytes'] / first['bytes']:.2f} | "
                   f"{mine[(words, BUILD)]['median']:.2f} | {' | '.join(late)} |")
    yield ""
    yield "Versions: " + "; ".join(dict.fromkeys(
        r["version"] for r in rows if "version" in r and r["name"] != OURS)) + "."


def expectations(result):
    rows = [r for r in result.figures["rows"] if r["unit"] == BYTES]
    ours = {r["group"]: r["bytes"] for r in rows if r["name"] == OURS}
    for row in [r for r in rows if r["name"] != OURS]:
        result.expect(f"bytes of {row['name']} to ours, {row['group']}", "> 1",
                      row["bytes"] / ours[row["group"]])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("--quick", action="store_true", help="the smallest data, one round")
    parser.add_argument("--write", action="store_true", help="keep it in bench/RESULTS.md")
    parser.add_argument("--json", metavar="FILE", help="where the figures go")
    parser.add_argument("--root", help="that is published already; else the corpus is ingested")
    parser.add_argument("--counts", default="1000000,10000000", help="of made-up names")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    if not program("records") or not program("store_ours"):
        sys.exit("bench_records is not built: cmake --preset release && cmake --build --preset release")
    result = Result("stores", data="the reddit corpus, and made-up names")
    rounds = 1 if options.quick else options.rounds
    counts = [int(n) for n in options.counts.split(",") if n]
    with dxtest.tempdir() as tmp:
        data = tmp / "data"
        data.mkdir()
        if options.root or dxtest.shared_data(where.CORPUS):
            with where.root(options.root, None) as root:
                run(None, program("records"), data, "--root", root)
            measure("reddit", data, tmp, rounds, result)
        for count in ([] if options.quick and result.figures["rows"] else
                      [50000] if options.quick else counts):
            run(None, program("records"), data, count)
            measure(f"{count:,} made-up names", data, tmp, rounds, result)
    expectations(result)
    lines = list(report(result))
    print("\n" + "\n".join([*lines, "", *result.expectations()]))
    print(result.save(options.json))
    if options.write:
        last = result.figures["rows"][-1]["group"]
        chart.bars(HERE / "pictures" / "stores.svg", "Bytes a name, with its datasets and counts", last,
                   [(r["name"], r["median"], f"{r['median']:.1f} B", r["name"] == OURS)
                    for r in result.figures["rows"] if (r["group"], r["unit"]) == (last, BYTES)])
        result.keep("Name to datasets and counts, in process", [
            *result.expectations(), "", *lines, "", "![bytes](pictures/stores.svg)"])
    return 1 if dxtest.failures() else 0


if __name__ == "__main__":
    sys.exit(main())
