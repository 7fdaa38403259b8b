#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cache.py - the block cache (cache/page_cache.h) under LRU and under SIEVE, side by side.

    bench/cache.py [--quick] [--json FILE] [--write]

Zipf traffic over a million objects, and real weights where they are (DX_SHARED_DATA: URLs a domain,
page views a host); caches of 0.1, 1 and 10 % of the objects; with scans mixed in, with one scan
through everything in the middle; one thread and two. Both policies see the same requests. Hit
ratios do not depend on the machine; the ns do. About two minutes; --quick: three rows, 10 s.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))
import machine                                                                    # noqa: E402
from result import Result                                                         # noqa: E402

PROGRAM = machine.BIN / "bench/bench_cache"
SHARED = pathlib.Path(os.environ.get("DX_SHARED_DATA", machine.SOURCE / "../shared/data"))
WEIGHTS = {"URLs a domain": "lists/derived/domain-url-counts-permissive.tsv.zst",
           "page views a host": "lists/gsa-federal-website-index/dap-hosts-pageviews.tsv.zst"}


def weights_file(name):
    source = SHARED / WEIGHTS[name]
    if not source.exists():
        return None
    path = machine.SOURCE / "build/bench" / f"{source.name.removesuffix('.zst')}"
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb") as out:
        subprocess.run(["zstd", "-dc", source], check=True, stdout=out)
    return path


def rows(quick):
    """(words, trace, share, scans, threads, weights)"""
    if quick:
        for scans in ("none", "mixed", "once"):
            yield f"Zipf 0.99, 1 %, {scans}", "zipf:0.99", 0.01, scans, 1, None
        return
    for alpha in (0.8, 0.9, 0.99, 1.1):
        for share in (0.001, 0.01, 0.1):
            yield f"Zipf {alpha}, {share:.1%}", f"zipf:{alpha}", share, "none", 1, None
        yield f"Zipf {alpha}, 1.0%, one of ten requests scans", f"zipf:{alpha}", 0.01, "mixed", 1, None
        yield f"Zipf {alpha}, 1.0%, one scan of all in the middle", f"zipf:{alpha}", 0.01, "once", 1, None
    yield "Zipf 0.99, 1.0%, two threads", "zipf:0.99", 0.01, "none", 2, None
    yield "Zipf 0.99, 10.0%, two threads", "zipf:0.99", 0.1, "none", 2, None
    for name in WEIGHTS:
        path = weights_file(name)
        if path is None:
            print(f"not asked: {name}: {SHARED / WEIGHTS[name]} is not there", file=sys.stderr)
            continue
        for share in (0.001, 0.01, 0.1):
            yield f"{name}, {share:.1%}", "weights", share, "none", 1, path
        yield f"{name}, 1.0%, one of ten requests scans", "weights", 0.01, "mixed", 1, path


def ask(trace, share, scans, threads, weights):
    command = [PROGRAM, trace, str(share), scans, str(threads), *([weights] if weights else [])]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    r = Result("cache", data="made-up and real weights; 256 B an object")
    lines = ["| requests, cache | hits LRU | hits SIEVE | ns LRU | ns SIEVE |", "| --- | --: | --: | --: | --: |"]
    better = worse = 0
    machine.prefer()
    for words, *what in rows(options.quick):
        seen = ask(*what)
        for policy in ("SIEVE", "LRU"):
            r.add(words, policy, "hits", [seen[policy]["hits"]], more=True)
            r.add(words, policy, "ns", [seen[policy]["ns"]], more=False)
        r.ratio(words, "SIEVE", "LRU", "hits")
        better += seen["SIEVE"]["hits"] > seen["LRU"]["hits"]
        worse += seen["SIEVE"]["hits"] < seen["LRU"]["hits"]
        lines.append(f"| {words} | {seen['LRU']['hits']:.3f} | {seen['SIEVE']['hits']:.3f} | "
                     f"{seen['LRU']['ns']:.0f} | {seen['SIEVE']['ns']:.0f} |")
        print(lines[-1], flush=True)
    r.expect("SIEVE, the default: more hits than LRU", "side by side", f"{better} rows of {better + worse}")
    print(r.save(options.json))
    if options.write:
        r.keep("Eviction", [*r.expectations(), "", *lines])


if __name__ == "__main__":
    main()
