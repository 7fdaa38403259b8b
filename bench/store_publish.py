#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""store_publish.py - what a small publish onto object storage asks of it.

    bench/store_publish.py [--domains 100000] [--adds 1000] [--times 5] [--delay-ms 20] [--json FILE] [--write]

A root of --domains made-up domains on versitygw, behind a proxy that counts requests and delays each reply. In each of --times rounds --adds new domains
are ingested and published in each of two roots, in turn: one whose publishes make packs, as they do by default, and one with --pack 0. Requests, objects
put, bytes put and seconds of each publish; copies of older parts stay on the machine from one publish to the next, and the first round is not counted.
"""
import argparse
import os
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "support"))
sys.path.insert(0, str(HERE.parent / "tests" / "support"))
import dxtest  # noqa: E402
import faultproxy  # noqa: E402
import remains  # noqa: E402
import stores  # noqa: E402
from result import Result, median  # noqa: E402

KINDS = {"one object": (), "files": ("--pack", 0)}
UNITS = ("requests", "objects put", "kB put", "s")


def ingest(root, begin, count, work):
    path = work / "urls.txt"
    path.write_text("".join(f"https://www.made-up-{i}.com/{i % 97}/index.html\n" for i in range(begin, begin + count)), encoding="utf-8")
    dxtest.domaindex("ingest", "--root", root, "--dataset", "made up", "--format", "list", path)


def sizes(store, prefix):
    """{object: bytes} below a prefix."""
    return remains.Bucket(store, "bench", prefix).names()


def publish(proxy, store, prefix, work, more):
    """Figures of one publish, by unit."""
    before = sizes(store, prefix)
    proxy.set()
    begin = time.monotonic()
    dxtest.domaindex("publish", "--root", store.root("bench", prefix), "--cache-dir", work / prefix, *more)
    seconds, seen = time.monotonic() - begin, list(proxy.seen)
    put = [size for name, size in sizes(store, prefix).items() if before.get(name) != size or name.endswith("manifest.json")]
    return dict(zip(UNITS, (len(seen), sum(method == "PUT" for method, _, _ in seen), sum(put) / 1000, seconds)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("--domains", type=int, default=100_000)
    parser.add_argument("--adds", type=int, default=1000)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--delay-ms", type=float, default=20)
    parser.add_argument("--json", metavar="FILE", help="where the figures go")
    parser.add_argument("--write", action="store_true", help="keep it in bench/RESULTS.md")
    options = parser.parse_args()
    stores.need("versitygw")
    result = Result("store-publish", data=f"{options.domains:,} made-up domains, then {options.times} times {options.adds:,} in each of two roots; {options.delay_ms:g} ms a reply")
    figures = {kind: {unit: [] for unit in UNITS} for kind in KINDS}
    with dxtest.tempdir() as work, stores.Versitygw() as store, faultproxy.Proxy(store.url, record=True, delay_ms=options.delay_ms) as proxy:
        os.environ.update({**store.env, "AWS_ENDPOINT_URL_S3": proxy.url})
        store.bucket("bench")
        for number in range(-1, options.times + 1):     # the base, one that is not counted, and the rounds
            for at, (kind, more) in enumerate(KINDS.items()):
                prefix = f"root{at}"
                count = options.domains if number < 0 else options.adds
                ingest(store.root("bench", prefix), 0 if number < 0 else options.domains + number * options.adds, count, work)
                seen = publish(proxy, store, prefix, work, more)
                if number > 0:
                    for unit, value in seen.items():
                        figures[kind][unit].append(value)
    lines = ["| a publish of " + f"{options.adds:,} | " + " | ".join(UNITS) + " |", "| --- |" + " --: |" * len(UNITS)]
    for kind, by_unit in figures.items():
        for unit, values in by_unit.items():
            result.add("publish", f"{kind}, {unit}", unit, values, more=False)
        lines.append(f"| {kind} | " + " | ".join(f"{median(v):.2f}" if u == "s" else f"{median(v):,.0f} (at most {max(v):,.0f})" for u, v in by_unit.items()) + " |")
    own = figures["one object"]
    for unit, asked, value in (("requests", 20, max(own["requests"])), ("objects put", 20, max(own["objects put"])), ("kB put", 5000, max(own["kB put"])), ("s", 0.5, median(own["s"]))):
        result.expect(f"a publish of {options.adds:,} domains onto object storage: {unit}", f"<= {asked}", value)
    print("\n" + "\n".join([*lines, "", *result.expectations()]))
    print(result.save(options.json))
    if options.write:
        result.keep("A small publish onto object storage", [*result.expectations(), "", *lines])


if __name__ == "__main__":
    main()
