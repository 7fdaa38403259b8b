#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""soak.py - what two servers hold over hours of traffic, publishes, collections, rules and faults.

    bench/soak.py [--minutes 120] [--rate 400] [--requests 3000] [--samples FILE] [--json FILE] [--write]

Runs tests/e2e/soak.py, which compares the answers with a recount, for so long, and keeps what it counted after each round: anonymous memory beside
what caches hold, allocated memory, descriptors, sockets, threads, mappings. At most 1 % more at the end of the second half than at its begin is asked for, by the
median slope. --samples FILE: of a run that was made before (DX_SOAK_SAMPLES=FILE). DX_BIN_DIR (build/release): the programs.
"""
import argparse
import collections
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "support"), str(HERE.parent / "tests" / "support")]
import chart                  # noqa: E402
from median_slope import median_slope   # noqa: E402
from result import Result     # noqa: E402

COUNTED = (("anonymous", "anonymous memory, bytes"), ("heap", "allocated memory, bytes"), ("resident", "resident memory, bytes"), ("files", "open files"),
           ("events", "other descriptors"), ("sockets", "sockets"), ("store", "connections to the store"), ("threads", "threads"), ("mappings", "mappings"))
SERVERS = {"near": "in its directory, with a lease", "far": "over HTTP, one reply of the store in a hundred damaged"}
PERIOD = 3      # rounds from one compaction to the next (tests/e2e/soak.py)
JUDGED = ("anonymous", "heap", "files", "sockets", "mappings")


def run(options, path):
    environment = {**os.environ, "DX_SOAK_MINUTES": str(options.minutes), "DX_SOAK_RATE": str(options.rate),
                   "DX_SOAK_REQUESTS": str(options.requests), "DX_SOAK_SAMPLES": str(path)}
    environment["PYTHONPATH"] = str(HERE.parent / "tests" / "support")
    done = subprocess.run([sys.executable, HERE.parent / "tests" / "e2e" / "soak.py"], env=environment, capture_output=True, text=True, check=False)
    print(done.stdout[-3000:], done.stderr[-2000:])
    if done.returncode != 0:
        sys.exit("the soak failed")


def samples_of(path):
    found = collections.defaultdict(list)
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        sample = json.loads(line)
        found[sample["server"]].append(sample)
    return found


def change(values):
    """How much the second half rises from its begin to its end, in percent: the median slope (Theil and Sen) between the means of PERIOD rounds, since
    files and mappings go up and down with each compaction."""
    half = values[len(values) // 2:]
    means = [statistics.mean(half[i:i + PERIOD]) for i in range(0, len(half) - PERIOD + 1, PERIOD)]
    middle = statistics.median(means) if means else 0
    return 100 * median_slope(means) * (len(means) - 1) / middle if middle else 0.0


def keep(result, found):
    rows = ["| server | counted | after a tenth | at half | at the end | second half, % |", "| --- | --- | --: | --: | --: | --: |"]
    for server, samples in found.items():
        for key, words in COUNTED:
            values = [s[key] for s in samples]
            result.add(f"{server}, {SERVERS[server]}", words, words, values, False)
            rows.append(f"| {server} | {words} | {values[len(values) // 10]:,} | {values[len(values) // 2]:,} | {values[-1]:,} | {change(values):+.2f} |")
            if key in JUDGED:
                result.expect(f"{server}: {words}, rise over the second half, %", "<= 1", change(values))
    curves = [(f"{server}: {name}", [(s["s"] / 60, s[key] / (1 << 20)) for s in samples], key == "anonymous")
              for server, samples in found.items() for key, name in (("anonymous", "anonymous"), ("heap", "allocated"))]
    chart.lines(HERE / "pictures" / "soak.svg", "Two servers: memory beside what caches hold",
                "after each round of traffic, publishes, collections, rules and faults", "minutes", "MiB", curves)
    result.keep("Hours of everything", [*result.expectations(), "", *rows, "", "![memory by time](pictures/soak.svg)"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=120)
    parser.add_argument("--rate", type=int, default=400)
    parser.add_argument("--requests", type=int, default=3000)
    parser.add_argument("--samples", type=pathlib.Path)
    parser.add_argument("--json")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as tmp:
        path = options.samples or pathlib.Path(tmp) / "samples.jsonl"
        if not options.samples:
            run(options, path)
        found = samples_of(path)
        last = max(s[-1]["s"] for s in found.values())
        result = Result("soak", f"{len(next(iter(found.values())))} rounds of tests/e2e/soak.py in {last / 60:.0f} minutes")
        for server, samples in found.items():
            print(server, {key: f"{change([s[key] for s in samples]):+.2f} %" for key, _ in COUNTED})
        result.save(options.json)
        if options.write:
            keep(result, found)


if __name__ == "__main__":
    main()
