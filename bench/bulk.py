#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bulk.py - a list of a million names: POST /v1/domains and `lookup --names`, beside single requests.

    bench/bulk.py [--quick] [--write] [--json FILE] [--rounds 3] [--names 1000000] [--seconds 2] [--prepare] [FILE]

FILE: TSV of dataset, Unix time, URL; default
$DX_SHARED_DATA/lists/reddit-top-2.5-million/posts-A.tsv.zst. Half of the names are hosts of it, each as likely
as the other (a popular one is in a thousand datasets, an answer of 60 kB), half are strangers. domaindexd runs one event
loop on one core; curl, which throws the answer away, or dxload on the other. Rounds are interleaved:

    ndjson, csv, matrix   the list in one call; matrix: of ten datasets
    lookup                `domaindex lookup --names` on the server's core, to /dev/null
    loop                  single requests on one kept connection, one behind the other; and on 64 connections

and then single requests at a fixed rate, alone and beside a list, with memory of the server before, in the middle and after. The
index and the list stay in build/bench/bulk; --prepare only makes them. --quick: 20,000 names, one round.
DX_BIN_DIR (build/release): the programs.
"""
import argparse
import contextlib
import pathlib
import random
import subprocess
import sys
import threading
import time
from urllib.parse import quote

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "support"), str(HERE.parent / "tests" / "support")]
import dxtest       # noqa: E402
import machine      # noqa: E402
import serve        # noqa: E402
from result import Result   # noqa: E402

CORPUS = "lists/reddit-top-2.5-million/posts-A.tsv.zst"
FOLDER = machine.SOURCE / "build/bench/bulk"
FORMS = {"ndjson": "format=ndjson", "csv": "format=csv", "matrix": "format=matrix&datasets=1,2,3,4,5,6,7,8,9,10"}
LOOP, LOOPS, OFFLINE = "single requests, one behind the other", "single requests, 64 connections", "lookup --names"
SINGLES = 50_000  # of the list; each is asked once before, to know its answer
RATE = 500


def prepare(source, count):
    """The index, the list of names and the targets of single requests."""
    root, names = FOLDER / "root", FOLDER / f"names-{count}.txt"
    if not (root / "index" / "manifest.json").exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        dxtest.domaindex("ingest", "--root", root, "--format", "tsv", "--dataset-column", 1, "--ts-column", 2,
                         "--url-column", 3, "--no-header", source)
        dxtest.domaindex("publish", "--root", root)
    if not names.exists():
        rng = random.Random(1)
        cat = ["zstd", "-dc", source] if str(source).endswith(".zst") else ["cat", source]
        hosts = set()
        with subprocess.Popen(cat, stdout=subprocess.PIPE) as process:
            for line in process.stdout:
                url = line.split(b"\t")[2]
                if b"://" in url and b"%" not in url and url.isascii():
                    hosts.add(url.split(b"/")[2].decode())
        hosts = sorted(hosts)
        listed = [rng.choice(hosts) for _ in range(count // 2)]
        listed += [f"stranger{rng.randrange(10**9)}.com" for _ in range(count - count // 2)]
        rng.shuffle(listed)
        names.write_text("".join(f"{name}\n" for name in listed), encoding="utf-8")
    return root, names


class Bench:
    def __init__(self, options, root, names, tmp):
        self.options, self.root, self.names, self.tmp = options, root, names, tmp
        self.count = sum(1 for _ in open(names, encoding="utf-8"))
        self.core, load_core = machine.cores()
        self.load_core = load_core
        self.load = serve.Load(load_core, tmp)
        self.bytes = {}
        self.result = Result("bulk", f"{self.count:,} names, half of them there, over the index of "
                                     f"{pathlib.Path(options.file).name}")

    def post(self, server, form):
        """Names a second of one call."""
        with machine.pinned(self.load_core):
            done = subprocess.run(
                ["curl", "-sS", "-X", "POST", "-T", self.names, "-H", "Content-Type: text/plain", "-H", "Expect:", "-o",
                 "/dev/null", "-w", "%{http_code} %{time_total} %{size_download}",
                 f"http://127.0.0.1:{server.port}/v1/domains?{FORMS[form]}"], check=True, capture_output=True, text=True)
        status, seconds, size = done.stdout.split()
        if status != "200":
            sys.exit(f"POST of {form}: {status}")
        self.bytes[form] = int(size)
        return self.count / float(seconds)

    def lookup(self):
        begin = time.monotonic()
        with machine.pinned(self.core):
            dxtest.run("sh", "-c", f"exec {dxtest.DOMAINDEX} lookup --root {self.root} --names {self.names} > /dev/null")
        return self.count / (time.monotonic() - begin)

    def targets(self, server):
        asked = random.Random(2).sample(self.names.read_text(encoding="utf-8").split("\n")[:-1], min(SINGLES, self.count))
        return self.load.record(server.port, sorted({f"/v1/domain/{quote(name)}" for name in asked}), self.tmp / "singles.txt")

    def rates(self, server, singles):
        seen = {name: [] for name in (*FORMS, OFFLINE, LOOP, LOOPS)}
        for _ in range(self.options.rounds):
            for form in FORMS:
                seen[form].append(self.post(server, form))
            with serve.only(server, [server]):
                for name, connections in ((LOOP, 1), (LOOPS, 64)):
                    figures = self.load.run(server.port, [f"{singles}"], self.options.seconds, connections=connections)
                    seen[name].append(figures["rate"])
            seen[OFFLINE].append(self.lookup())
        group = "a list of names"
        for name, values in seen.items():
            self.result.add(group, name, "names/s", values, True)
        for name in (*FORMS, OFFLINE):
            self.result.ratio(group, name, LOOP)
            self.result.ratio(group, name, LOOPS)

    def beside(self, server, singles):
        """p50 and p99 of others at a fixed rate, with and without a list; memory meanwhile."""
        before, peak = server.resident_bytes(), 0
        seen = {"alone": [], "beside a list": []}
        for _ in range(self.options.rounds):
            for name in seen:
                stop = threading.Event()

                def lists(ends=stop):
                    while not ends.is_set():
                        self.post(server, "ndjson")

                listing = threading.Thread(target=lists)
                if name != "alone":
                    listing.start()
                    time.sleep(0.2)
                seen[name].append(self.load.run(server.port, [f"{singles}"], self.options.seconds, connections=16, rate=RATE))
                peak = max(peak, server.resident_bytes())
                stop.set()
                if listing.is_alive():
                    listing.join()
        for name, rounds in seen.items():
            for percentile in ("p50", "p99"):
                self.result.add("single requests at 500/s", name, f"us {percentile}", [f["latency_us"][percentile] for f in rounds], False)
        self.result.add("memory of the server", "before", "KiB", [before / 1024], False)
        self.result.add("memory of the server", "in the middle of a list", "KiB", [peak / 1024], False)
        self.result.add("memory of the server", "after", "KiB", [server.resident_bytes() / 1024], False)


def text(bench):
    r = bench.result
    yield "| a list of names | names/s, median (lowest) | to one connection | to 64 | answer |"
    yield "| --- | --: | --: | --: | --: |"
    for name in (*FORMS, OFFLINE, LOOP, LOOPS):
        row = r.row("a list of names", name)
        ratios = {x["to"]: x["median"] for x in r.figures["ratios"] if x["name"] == name}
        size = f"{bench.bytes[name] / 1e6:,.0f} MB" if name in bench.bytes else ""
        cells = [f"{ratios[to]:.1f}" if to in ratios else "" for to in (LOOP, LOOPS)]
        yield f"| {name} | {row['median']:,.0f} ({min(row['values']):,.0f}) | {' | '.join(cells)} | {size} |"
    yield ""
    yield "| single requests at 500/s, the load sharing its core with the list's client | p50 us | p99 us |"
    yield "| --- | --: | --: |"
    for name in ("alone", "beside a list"):
        cells = [f"{r.row('single requests at 500/s', name, f'us {p}')['median']:,.0f}" for p in ("p50", "p99")]
        yield f"| {name} | {' | '.join(cells)} |"
    yield ""
    kib = [r.row("memory of the server", name)["median"] for name in ("before", "in the middle of a list", "after")]
    yield "Anonymous memory of the server: {:,.0f} KiB before the lists, at most {:,.0f} KiB in their middle, {:,.0f} KiB after.".format(*kib)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--prepare", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--json")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--names", type=int, default=1_000_000)
    parser.add_argument("file", nargs="?", default=dxtest.shared_data(CORPUS))
    options = parser.parse_args()
    if options.file is None:
        dxtest.skip(f"{CORPUS} is not here (DX_SHARED_DATA)")
    if options.quick:
        options.names, options.rounds, options.seconds = 20_000, 1, 0.5
    root, names = prepare(options.file, options.names)
    if options.prepare:
        return
    with contextlib.ExitStack() as stack:
        bench = Bench(options, root, names, stack.enter_context(dxtest.tempdir()))
        server = stack.enter_context(serve.Ours("domaindexd", root, bench.core, "--threads", 1))
        singles = bench.targets(server)
        bench.rates(server, singles)
        bench.beside(server, singles)
        lines = list(text(bench))
        print("\n".join(lines))
        if bench.load.wrong:
            sys.exit(f"{bench.load.wrong} wrong answers")
        print(bench.result.save(options.json))
        if options.write:
            bench.result.keep("Lists of names", lines)


if __name__ == "__main__":
    main()
