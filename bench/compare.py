#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare.py - two results of one benchmark, figure by figure.

    bench/compare.py BEFORE.json AFTER.json        files that a benchmark wrote
    bench/compare.py [NAME…]                       build/bench/NAME.json beside bench/results/NAME.json

For each figure of both: medians, AFTER / BEFORE, and a word where the two sets of rounds do not
overlap: better or worse. Where each ratio to a peer was measured in its own run, ratios say more
than rates: they come last. Exit 1 when a figure is worse, 2 when nothing can be compared.
"""
import argparse
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
FRESH = HERE.parent / "build" / "bench"


def verdict(before, after, more):
    a, b = before["values"], after["values"]
    if not a or not b or (min(a) <= max(b) and min(b) <= max(a)):
        return ""
    return "better" if (min(b) > max(a)) == more else "worse"


def figures(result, kind):
    return {(r["group"], r["name"], r["unit"], r.get("to", "")): r for r in result[kind]}


def compare(before, after):
    worse = 0
    print(f"{before['bench']}: {before['revision']} ({before['date']}) -> "
          f"{after['revision']} ({after['date']})")
    if before["machine"] != after["machine"]:
        print(f"  two machines: {before['machine']} -> {after['machine']}")
    if before["data"] != after["data"]:
        print(f"  two sets of data: {before['data']} -> {after['data']}")
    for kind in ("rows", "ratios"):
        old, new = figures(before, kind), figures(after, kind)
        for key in [k for k in old if k in new]:
            a, b = old[key], new[key]
            words = verdict(a, b, b["better"] == "more") if "better" in b else ""
            worse += words == "worse" and kind == "rows"
            name = f"{key[0]}: {key[1]}" + (f" to {key[3]}" if kind == "ratios" else f", {key[2]}")
            share = b["median"] / a["median"] if a["median"] else float("nan")
            print(f"  {name:<70} {a['median']:>14,.4g} {b['median']:>14,.4g} {share:>7.3f} {words}")
        for key in [k for k in (*old, *new) if (k in old) != (k in new)]:
            print(f"  {key[0]}: {key[1]}, {key[2]}: only {'before' if key in old else 'after'}")
    return worse


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("what", nargs="*", help="two files, or names of benchmarks")
    what = parser.parse_args().what
    if len(what) == 2 and all(pathlib.Path(w).is_file() for w in what):
        pairs = [what]
    else:
        names = what or sorted(p.stem for p in FRESH.glob("*.json"))
        pairs = [(HERE / "results" / f"{n}.json", FRESH / f"{n}.json") for n in names]
    worse = compared = 0
    for paths in pairs:
        missing = [str(p) for p in paths if not pathlib.Path(p).is_file()]
        if missing:
            print(f"not there: {', '.join(missing)}", file=sys.stderr)
            continue
        results = [json.loads(pathlib.Path(p).read_text(encoding="utf-8")) for p in paths]
        if results[0]["bench"] != results[1]["bench"]:
            print(f"two benchmarks: {results[0]['bench']} and {results[1]['bench']}", file=sys.stderr)
            continue
        worse += compare(*results)
        compared += 1
    return 2 if compared == 0 else 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
