#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ingest_cdxj.py - a CDXJ index as Common Crawl publishes it into a lake: lines a core and second.

    bench/ingest_cdxj.py [--quick] [--write] [--json FILE] [--rounds 5] [--lines 1000000]
                         [--beside PROGRAM]

The file is made once: sorted lines "key time {json}" with the members that Common Crawl writes (url,
mime, mime-detected, status, digest, length, offset, filename, charset, languages), in gzip members of
3,000 lines. `domaindex ingest --profile cdxj` reads it compressed and plain, with one thread and with
two, in a memory file system; rounds are interleaved. What counts is CPU seconds of all threads. Beside
it stands gunzip of Python's zlib, which is what reading the file costs at least.

About a minute and a half; --quick 10 s.
"""
import gzip
import json
import pathlib
import random
import shutil
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "support"), str(HERE / "peers")]
import machine      # noqa: E402
import rounds       # noqa: E402
from result import Result, median   # noqa: E402

OURS, BESIDE, UNPACK = "domaindex ingest", "domaindex ingest, the other revision", "decompression alone"
MEMBER_LINES = 3000
BUDGET_S = 90


def lines(count):
    """As CC-MAIN has them: some captures a host, keys in order, digests and offsets of chance."""
    rng = random.Random(19)
    hosts = sorted(f"{rng.choice(('com', 'org', 'de', 'net'))},{rng.randrange(1 << 40):x}"
                   for _ in range(count // 20 + 1))
    for i in range(count):
        key = hosts[i // 20]
        tld, name = key.split(",")
        path = f"/{rng.choice(('news', 'a/b', 'products', '2023/05/07'))}/{i:x}?id={i % 97}"
        seen = {"url": f"https://www.{name}.{tld}{path}", "mime": "text/html",
                "mime-detected": "text/html", "status": "200",
                "digest": "".join(rng.choices("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", k=32)),
                "length": str(rng.randrange(900, 90_000)), "offset": str(rng.randrange(1 << 30)),
                "filename": f"crawl-data/CC-MAIN-2024-10/segments/1707947473347.0/warc/"
                            f"CC-MAIN-20240220211055-20240221001055-{i % 900:05}.warc.gz",
                "charset": "UTF-8", "languages": "eng"}
        yield f"{key}){path} 202402{1 + i % 28:02}{i % 24:02}{i % 60:02}{i % 59:02} {json.dumps(seen)}\n"


def make(packed, plain, count):
    with packed.open("wb") as gz, plain.open("wb") as out:
        held = []
        for line in lines(count):
            held.append(line)
            if len(held) == MEMBER_LINES:
                write_member(gz, out, held)
        write_member(gz, out, held)


def write_member(gz, out, held):
    text = "".join(held).encode()
    held.clear()
    out.write(text)
    if text:
        gz.write(gzip.compress(text, 6))


def ours(program, work, source, threads, count):
    """CPU seconds of a run."""
    root = work / "root"
    shutil.rmtree(root, ignore_errors=True)
    seen = rounds.timed([program, "ingest", "--root", root, "--memory", "1G", "--threads", threads,
                         "--profile", "cdxj", "--dataset", "crawl", source])
    if f" {count:,}\n" not in seen["said"].partition("rows stored")[2]:
        sys.exit(seen["said"])
    return seen["cpu"]


def plan(options, work, packed, plain, count):
    programs = {OURS: machine.BIN / "domaindex", **({BESIDE: options.beside} if options.beside else {})}
    for group, source, threads in (("gzip, 1 thread", packed, 1), ("plain, 1 thread", plain, 1),
                                   ("gzip, 2 threads", packed, 2)):
        for name, program in programs.items():
            yield (group, name), lambda p=program, s=source, t=threads: ours(
                    p, work, s, t, count)
    yield ("gzip, 1 thread", UNPACK), lambda: rounds.inflate(packed)


def report(result, count, seen):
    table = ["| | | lines a core and second |", "| --- | --- | --: |"]
    for (group, name), values in seen.items():
        speed = [count / v for v in values]
        result.add(group, name, "lines/CPU s", speed, more=True)
        table.append(f"| {group} | {name} | {median(speed):,.0f} |")
        if name == OURS:
            result.expect(f"CDXJ, {group}, lines a core and second", ">= 400,000",
                          f"{median(speed):,.0f}")
    return table


def main():
    options = rounds.options(__doc__, lines=1_000_000, quick=100_000)
    count = options.lines
    with rounds.folder("dx-cdxj-") as folder:
        work = pathlib.Path(folder)
        packed, plain = work / "cdx-00000.gz", work / "cdx-00000.cdxj"
        make(packed, plain, count)
        result = Result("ingest_cdxj", f"{count:,} made-up lines of CDXJ as Common Crawl writes them: "
                        f"{packed.stat().st_size / 1e6:,.0f} MB of gzip, "
                        f"{plain.stat().st_size / 1e6:,.0f} MB plain")
        seen = rounds.run(lambda: plan(options, work, packed, plain, count), options, BUDGET_S, result)
    table = report(result, count, seen)
    table = [*result.expectations(), "", *table]
    print("\n".join(table))
    print(result.save(options.json))
    if options.write:
        result.keep("CDXJ to a lake", table)


if __name__ == "__main__":
    main()
