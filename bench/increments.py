#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""increments.py - what a publish of a little costs on top of much.

    bench/increments.py N [--adds 1000] [--times 20] [--rounds 5] [--memory 8G] [--work DIR] [--json FILE] [--write]
                        [--limit SECONDS]

N: made-up domains of the base: 100K, 1M, 10M... (bench/make_rows). It is published, and then --times runs of --adds new
domains each are ingested and published: seconds, CPU seconds, memory, bytes written and parts of each publish. Then the same
lake is built once from its beginning: the cost that all increments together are compared with. /v1/domain is asked of both,
the version of several parts and that of one, in interleaved rounds on one core, the load on the other. Then a dataset of ten times
--adds known domains is published, replaced and removed, and last one of five rows a domain over a fiftieth of the base's domains (1 M rows over
200,000 at 10M), beside one over as many new domains, and the same rows into an empty root: what the rows cost, the root, and the state of the
domains that are known. All below --work (default /var/tmp), deleted at the end. --write keeps the figures in RESULTS.md.
"""
import argparse
import contextlib
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "support"))
sys.path.insert(0, str(HERE.parent / "tests" / "support"))
import dxtest  # noqa: E402
import machine  # noqa: E402
import roots  # noqa: E402
import serve  # noqa: E402
from result import Result, median  # noqa: E402

MAKE_ROWS = machine.BIN / "bench" / "make_rows"
UNITS = {"K": 10**3, "M": 10**6, "G": 10**9}
COLUMNS = ("--format", "tsv", "--dataset-column", 1, "--ts-column", 2, "--url-column", 3, "-")


def count_of(text):
    unit = UNITS.get(text[-1:].upper())
    return int(float(text[:-1]) * unit) if unit else int(text)


def run(end, *command, source=None):
    """(seconds, CPU seconds, peak memory in bytes); ends the program if it fails."""
    begin = time.monotonic()
    rows = subprocess.Popen(list(map(str, source)), stdout=subprocess.PIPE) if source else None
    with tempfile.TemporaryFile() as words:
        process = subprocess.Popen(list(map(str, command)), stdin=rows.stdout if rows else subprocess.DEVNULL,
                                   stdout=words, stderr=subprocess.STDOUT)
        if rows:
            rows.stdout.close()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if rows:
            rows.wait()
        words.seek(0)
        if process.returncode != 0 or time.monotonic() > end:
            sys.exit(f"{' '.join(map(str, command))}: exit {process.returncode}\n{words.read().decode()[-2000:]}")
    return time.monotonic() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss << 10


class Root:
    def __init__(self, path, options, end):
        self.path, self.options, self.end = path, options, end

    def ingest(self, domains, begin, seed):
        return run(self.end, dxtest.DOMAINDEX, "ingest", "--root", self.path, "--memory", self.options.memory, *COLUMNS,
                   source=[MAKE_ROWS, "--domains", domains, "--begin", begin, "--seed", seed])

    def ingest_dataset(self, name, domains, seed, *more, begin=0):
        columns = [argument for argument in COLUMNS if argument not in ("--dataset-column", 1)]
        return run(self.end, dxtest.DOMAINDEX, "ingest", "--root", self.path, "--memory", self.options.memory, "--dataset", name, *more,
                   *columns, source=[MAKE_ROWS, "--domains", domains, "--begin", begin, "--seed", seed])

    def publish(self, *more):
        return run(self.end, dxtest.DOMAINDEX, "publish", "--root", self.path, "--memory", self.options.memory, *more)

    def version(self):
        manifest = json.loads((self.path / "index/manifest.json").read_text(encoding="utf-8"))
        return next(v for v in manifest["versions"] if v["version"] == manifest["current_version"])

    def written(self):
        """Bytes of the newest version's own files."""
        return sum(f["size"] for f in self.version()["files"].values())


def names(root, count):
    """Of each part about as many as its share of all, and a thousand at least."""
    rng, version, found = random.Random(1), root.version(), []
    for part in (*version.get("parts", ()), version["version"]):
        text = roots.names_of(root.path / "index" / part)
        share = max(1000, count * len(text) // version["domains"])
        found += rng.sample(text, min(len(text), share))
    rng.shuffle(found)
    return found


def lookups(result, roots, work, options, say):
    """roots: {name: Root}, the one of several parts first."""
    server_core, load_core = machine.cores()
    load = serve.Load(load_core, work)
    targets = {"hit": [f"/v1/domain/{name}\t1\t200" for name in names(next(iter(roots.values())), 200000)],
               "miss": [f"/v1/domain/{i:x}-nobody.invalid\t1\t404" for i in range(100000)]}
    for kind, lines in targets.items():
        (work / f"{kind}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    with contextlib.ExitStack() as stack:
        servers = {name: stack.enter_context(serve.Ours(name, root.path, server_core, "--threads", 1))
                   for name, root in roots.items()}
        for kind, law in (("hit", ":1:zipf=0.99"), ("miss", "")):
            seen = {name: [] for name in servers}
            for i in range(options.rounds + 1):     # the first warms
                for name, server in servers.items():
                    with serve.only(server, list(servers.values())):
                        figures = load.run(server.port, [f"{work / kind}.txt{law}"], 2)
                    if i > 0:
                        seen[name].append(figures["rate"])
            for name, rates in seen.items():
                result.add(f"/v1/domain {kind}", name, "requests/s", rates, more=True)
            several, one = seen
            ratio = result.ratio(f"/v1/domain {kind}", several, one)
            say(f"/v1/domain, {kind}: {several} {median(seen[several]):,.0f} requests/s, {one} {median(seen[one]):,.0f}; "
                f"median of the rounds' ratios {ratio:.2f}")
            if kind == "hit":
                result.expect("/v1/domain under Zipf traffic, several parts to one", ">= 0.9", ratio)
    if load.wrong:
        sys.exit(f"{load.wrong} replies were wrong")


def leave(result, root, options, say):
    """A dataset is published, replaced, and removed."""
    domains = 10 * options.adds
    for what, begin in (("added", lambda: root.ingest_dataset("leaves", domains, 7)),
                        ("replaced", lambda: root.ingest_dataset("leaves", domains, 8, "--replace")),
                        ("removed", lambda: run(root.end, dxtest.DOMAINDEX, "remove", "--root", root.path, "--dataset", "leaves"))):
        begin()
        seconds, cpu, memory = root.publish()
        parts = 1 + len(root.version().get("parts", []))
        result.add(f"a dataset is {what}", "publish", "CPU s", [cpu], more=False)
        say(f"a dataset of {domains:,} known domains is {what}: publish {seconds:.2f} s, CPU {cpu:.2f} s, {memory / 2**20:,.0f} MiB, "
            f"{root.written() / 1e6:,.2f} MB written, {parts} parts")


def linked(of, path):
    """The same root once more, without the bytes: a writer replaces files, and never writes into one that is there."""
    shutil.copytree(of.path, path, copy_function=os.link, ignore=shutil.ignore_patterns(".lock"))
    return Root(path, of.options, of.end)


def new_dataset(result, root, work, options, say):
    """A dataset of five rows a domain: over a fiftieth of the domains that are there, over as many new ones, and the first into an empty root."""
    domains = max(1, options.domains // 50)
    tries = {}
    for name, to, begin in (("known domains", linked(root, work / "known"), options.domains // 2),
                            ("new domains", linked(root, work / "fresh"), 4 * options.domains),
                            ("an empty root", Root(work / "alone", options, root.end), options.domains // 2)):
        for seed in (11, 12, 13):
            to.ingest_dataset("large", domains, seed, begin=begin)
        tries[name] = (to, [])
    for _ in range(options.rounds):
        for name, (to, cpu) in tries.items():
            once = linked(to, work / "once")
            cpu.append(once.publish("--no-merge")[1])
            written = once.written()
            shutil.rmtree(once.path)
            if len(cpu) == options.rounds:
                say(f"a new dataset of {domains:,} domains, five rows each, {name}: publish CPU {median(cpu):.2f} s ({min(cpu):.2f} to "
                    f"{max(cpu):.2f}), {written / 1e6:,.1f} MB written")
    for name, (_, cpu) in tries.items():
        result.add("a new dataset", name, "CPU s", cpu, more=False)
    known, fresh, alone = (median(cpu) for _, cpu in tries.values())
    say(f"of these {known:.2f} s: the rows {alone:.2f}, that there is a root of {options.domains:,} domains {fresh - alone:.2f}, "
        f"the state of {domains:,} known domains {known - fresh:.2f}")
    say(f"CPU of publishing a new dataset, to the same rows into an empty root: {known / alone:.2f}")
    what = "CPU of publishing a new dataset, less the state of known domains, to the same rows into an empty root"
    result.expect(what, "<= 2", fresh / alone)
    say(f"{what}: {fresh / alone:.2f}")


def main():
    parser = argparse.ArgumentParser(usage=__doc__, add_help=True)
    parser.add_argument("domains", type=count_of)
    parser.add_argument("--adds", type=count_of, default=1000)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--memory", default="8G")
    parser.add_argument("--work", default="/var/tmp")
    parser.add_argument("--json")
    parser.add_argument("--limit", type=float, default=3600)
    options = parser.parse_args()
    end = time.monotonic() + options.limit
    result = Result(f"increments-{options.domains}-{options.adds}", f"{options.domains:,} made-up domains, then {options.times} times "
                    f"{options.adds:,}; --memory {options.memory}")
    lines = []

    def say(text):
        print(text, flush=True)
        lines.append(f"* {text}")

    work = pathlib.Path(tempfile.mkdtemp(dir=options.work, prefix="domaindex-increments-"))
    try:
        root = Root(work / "root", options, end)
        root.ingest(options.domains, 0, 1)
        seconds, cpu, _ = root.publish()
        whole = root.written()
        say(f"base: publish {seconds:.2f} s, CPU {cpu:.2f} s, {whole / 1e6:,.1f} MB")
        steps = []
        for i in range(options.times):
            root.ingest(options.adds, options.domains + i * options.adds, i + 2)
            steps.append((*root.publish(), root.written(), 1 + len(root.version().get("parts", []))))
        for name, at, unit, scale in (("seconds", 0, "s", 1), ("CPU", 1, "CPU s", 1), ("peak memory", 2, "MiB", 2**20),
                                      ("written", 3, "MB", 1e6), ("parts", 4, "parts", 1)):
            values = [step[at] / scale for step in steps]
            result.add("increment", name, unit, values, more=False)
            say(f"each publish, {name}: median {median(values):.3f} {unit}, most {max(values):.3f}")
        increments = sum(step[1] for step in steps)
        shutil.copytree(root.path / "urls", work / "again/urls")
        shutil.copy(root.path / "registry.json", work / "again")
        shutil.copy(root.path / "psl.dat", work / "again")
        again = Root(work / "again", options, end)
        seconds, cpu, _ = again.publish()
        result.add("all", "increments", "CPU s", [increments], more=False)
        result.add("all", "one build of the result", "CPU s", [cpu], more=False)
        say(f"all increments: CPU {increments:.2f} s; one build of the result: {seconds:.2f} s, CPU {cpu:.2f} s; "
            f"ratio {increments / cpu:.2f}")
        result.expect(f"CPU of {options.times} publishes, to one build of the result", "<= 3", increments / cpu)
        lookups(result, {f"{steps[-1][4]} parts": root, "one part": again}, work, options, say)
        leave(result, root, options, say)
        new_dataset(result, root, work, options, say)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    result.save(options.json)
    if options.write:
        result.keep(f"{options.times} publishes of {options.adds:,} domains onto {options.domains:,}", [*lines, "", *result.expectations()])


if __name__ == "__main__":
    main()
