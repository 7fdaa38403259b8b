#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ingest_warc.py - a WARC file as crawlers write them into a lake, beside its decompression alone.

    bench/ingest_warc.py [--quick] [--write] [--json FILE] [--rounds 5] [--records 20000]
                         [--beside PROGRAM]

The file is made once: for each capture a request and a response record, a gzip member each, pages of
made-up text of 5 to 100 kB. `domaindex ingest --profile warc` reads it with one thread into a memory file
system; beside it zlib decompresses the same members and throws the bytes away. Rounds are
interleaved; what counts is CPU seconds of all threads. Below one minute; --quick 10 s.
"""
import gzip
import pathlib
import random
import shutil
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "support")]
import machine      # noqa: E402
import rounds       # noqa: E402
from result import Result, median   # noqa: E402

OURS, BESIDE, UNPACK = "domaindex ingest", "domaindex ingest, the other revision", "decompression alone"
GROUP = "WARC, gzip members, 1 thread"
BUDGET_S = 50


def record(kind, url, when, content_type, content):
    head = (f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <urn:uuid:{when}-{len(content)}>\r\nWARC-Date: {when}\r\n"
            f"WARC-Target-URI: {url}\r\nContent-Type: application/http; msgtype={content_type}\r\n"
            f"WARC-Payload-Digest: sha1:{'A' * 32}\r\nContent-Length: {len(content)}\r\n\r\n").encode()
    return gzip.compress(head + content + b"\r\n\r\n", 6)


def make(path, count):
    rng = random.Random(19)
    words = ["".join(rng.choices("etaoinshrdlu", k=rng.randint(2, 9))) for _ in range(20_000)]
    pages = [" ".join(rng.choices(words, k=rng.randint(800, 16_000))).encode() for _ in range(200)]
    with path.open("wb") as out:
        for i in range(count):
            url, when = f"https://www.site{rng.randrange(count // 5 + 1)}.com/p/{i:x}", f"2024-02-{1 + i % 28:02}T{i % 24:02}:{i % 60:02}:00Z"
            out.write(record("request", url, when, "request", f"GET /p/{i:x} HTTP/1.1\r\nHost: www.site.com\r\n\r\n".encode()))
            body = pages[i % len(pages)]
            out.write(record("response", url, when, "response", b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: "
                             + str(len(body)).encode() + b"\r\n\r\n" + body))


def ours(program, work, source, count):
    root = work / "root"
    shutil.rmtree(root, ignore_errors=True)
    seen = rounds.timed([program, "ingest", "--root", root, "--memory", "256M", "--threads", 1, "--profile", "warc",
                         "--dataset", "crawl", source])
    if f" {count:,}\n" not in seen["said"].partition("rows stored")[2]:
        sys.exit(seen["said"])
    return seen["cpu"]


def main():
    options = rounds.options(__doc__, records=20_000, quick=3_000)
    count = options.records
    with rounds.folder("dx-warc-") as folder:
        work = pathlib.Path(folder)
        source = work / "a.warc.gz"
        make(source, count)
        programs = {OURS: machine.BIN / "domaindex", **({BESIDE: options.beside} if options.beside else {})}
        result = Result("ingest_warc", f"{count:,} made-up captures, a request and a response each: {source.stat().st_size / 1e6:,.0f} MB of gzip")

        def plan():
            for name, program in programs.items():
                yield name, lambda p=program: ours(p, work, source, count)
            yield UNPACK, lambda: rounds.inflate(source)

        seen = rounds.run(plan, options, BUDGET_S, result)
        size = source.stat().st_size
    table = ["| | MB of gzip a core and second |", "| --- | --: |"]
    for name, values in seen.items():
        result.add(GROUP, name, "MB/CPU s", [size / 1e6 / v for v in values], more=True)
        table.append(f"| {name} | {median([size / 1e6 / v for v in values]):,.1f} |")
    share = result.ratio(GROUP, OURS, UNPACK, "MB/CPU s")
    result.expect("WARC to a lake, to decompression alone", ">= 0.9", f"{share:.2f}")
    table = [*result.expectations(), "", *table]
    print("\n".join(table))
    print(result.save(options.json))
    if options.write:
        result.keep("WARC to a lake", table)


if __name__ == "__main__":
    main()
