#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""increments.py - what a publish of a little costs on top of much.

    bench/increments.py N [--adds 1000] [--times 20] [--memory 8G] [--work DIR] [--json FILE]
                        [--limit SECONDS]

N: made-up domains of the base: 100K, 1M, 10M... (bench/make_rows). It is published, and then --times runs of --adds new
domains each are ingested and published: seconds, CPU seconds, memory, bytes written and parts of each publish. Then the same
lake is built once from its beginning: the cost that all increments together are compared with. All below --work (default /var/tmp), deleted at the end.
"""
import argparse
import json
import os
import pathlib
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

    def publish(self, *more):
        return run(self.end, dxtest.DOMAINDEX, "publish", "--root", self.path, "--memory", self.options.memory, *more)

    def version(self):
        manifest = json.loads((self.path / "index/manifest.json").read_text(encoding="utf-8"))
        return next(v for v in manifest["versions"] if v["version"] == manifest["current_version"])

    def written(self):
        """Bytes of the newest version's own files."""
        return sum(f["size"] for f in self.version()["files"].values())


def main():
    parser = argparse.ArgumentParser(usage=__doc__, add_help=True)
    parser.add_argument("domains", type=count_of)
    parser.add_argument("--adds", type=count_of, default=1000)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--memory", default="8G")
    parser.add_argument("--work", default="/var/tmp")
    parser.add_argument("--json")
    parser.add_argument("--limit", type=float, default=3600)
    options = parser.parse_args()
    end = time.monotonic() + options.limit
    result = Result(f"increments-{options.domains}", f"{options.domains:,} made-up domains, then {options.times} times "
                    f"{options.adds:,}; --memory {options.memory}")
    work = pathlib.Path(tempfile.mkdtemp(dir=options.work, prefix="domaindex-increments-"))
    try:
        root = Root(work / "root", options, end)
        root.ingest(options.domains, 0, 1)
        seconds, cpu, _ = root.publish()
        whole = root.written()
        print(f"base: publish {seconds:.2f} s, CPU {cpu:.2f} s, {whole / 1e6:,.1f} MB", flush=True)
        steps = []
        for i in range(options.times):
            root.ingest(options.adds, options.domains + i * options.adds, i + 2)
            steps.append((*root.publish(), root.written(), 1 + len(root.version().get("parts", []))))
        for name, at, unit, scale in (("seconds", 0, "s", 1), ("CPU", 1, "CPU s", 1), ("peak memory", 2, "MiB", 2**20),
                                      ("written", 3, "MB", 1e6), ("parts", 4, "parts", 1)):
            values = [step[at] / scale for step in steps]
            result.add("increment", name, unit, values, more=False)
            print(f"{name}: median {median(values):.3f} {unit}, most {max(values):.3f}", flush=True)
        increments = sum(step[1] for step in steps)
        shutil.copytree(root.path / "urls", work / "again/urls")
        shutil.copy(root.path / "registry.json", work / "again")
        shutil.copy(root.path / "psl.dat", work / "again")
        again = Root(work / "again", options, end)
        seconds, cpu, _ = again.publish()
        result.add("all", "increments", "CPU s", [increments], more=False)
        result.add("all", "one build of the result", "CPU s", [cpu], more=False)
        print(f"all increments: CPU {increments:.2f} s; one build of the result: {seconds:.2f} s, CPU {cpu:.2f} s; "
              f"ratio {increments / cpu:.2f}", flush=True)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    result.save(options.json)


if __name__ == "__main__":
    main()
