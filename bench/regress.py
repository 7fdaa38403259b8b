#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""regress.py - this build beside another one: instructions, requests, CPU of ingest and publish, bytes; bench/regress.sh builds the other one and calls it.

    bench/regress.py --base REVISION --beside FOLDER [--quick] [--write] [--json FILE] [FILE]
    bench/regress.py --page                 bench/pictures/regress.svg from what is kept
    bench/regress.py --newest               the revision that was kept last

FILE: TSV of dataset, Unix time, URL, extra; default $DX_SHARED_DATA/lists/reddit-top-2.5-million/posts-A.tsv.zst. The base publishes the root that both serve.
Instructions are counted under valgrind; rates and CPU seconds are of interleaved rounds, and what counts is the median of the rounds' ratios. Each figure has
a band, and exit 1 says that one is outside of its band on the wrong side. --write keeps the figures of this revision in bench/results/regress/ and draws the
curves. Ten minutes; --quick: fewer rounds of 100,000 rows, two minutes.
"""
import argparse
import contextlib
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "support"), str(HERE / "peers"), str(HERE.parent / "tests" / "support")]
import chart        # noqa: E402
import dxtest       # noqa: E402
import instructions  # noqa: E402
import machine      # noqa: E402
import rounds       # noqa: E402
import serve        # noqa: E402
import where        # noqa: E402
from result import Result  # noqa: E402

KEPT = HERE / "results" / "regress"
# By how much a figure may be worse than the base's. Counts and bytes hardly depend on the machine's other load; times do, even in ratios (up to 2.2 for one
# program beside itself at load 20), so above LOAD_MAX they are shown and not judged.
BANDS = {"instructions": 0.05, "bytes": 0.01, "CPU us": 0.10, "CPU s": 0.10}
LOAD_MAX = 1.5
NEW, BASE = "this revision", "the base"


def kept():
    results = [json.loads(path.read_text()) for path in KEPT.glob("*.json")]
    return sorted(results, key=lambda r: r["when"])


def page():
    results = kept()
    names = sorted({row["group"] for r in results for row in r["rows"] if row["unit"] == "instructions"})
    curves = []
    for name in names:
        points = [(i, row["median"]) for i, r in enumerate(results) for row in r["rows"]
                  if row["group"] == name and row["unit"] == "instructions" and row["name"] == NEW]
        if points:
            curves.append((name, [(x, y / points[0][1]) for x, y in points], name == "a domain, not kept"))
    chart.lines(HERE / "pictures" / "regress.svg", "Instructions by revision, the first one kept = 1", "bench/regress.sh --write",
                "revision", "", curves, x_label=lambda i: results[int(i)]["revision"][:8] if i == int(i) and 0 <= i < len(results) else "")


class Rounds:
    """Values of both builds, a pair a round."""

    def __init__(self, result, builds):
        self.result, self.builds = result, builds

    def measure(self, group, unit, count, ask):
        """ask(name): a figure of one build; the one that goes first changes from round to round."""
        values = {name: [] for name in self.builds}
        for turn in range(count):
            for name in list(self.builds)[::1 if turn % 2 == 0 else -1]:
                values[name].append(ask(name))
        for name in self.builds:
            self.result.add(group, name, unit, values[name], more=False)
        self.result.ratio(group, NEW, BASE, unit)


def cpu_s(*command):
    process = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"{command}: {status}")
    return usage.ru_utime + usage.ru_stime


def bytes_of(folder, pattern):
    return sum(path.stat().st_size for path in folder.rglob(pattern) if path.is_file())


def writing(turns, builds, rows, tmp, count):
    """Ingest and publish by each build into roots of its own, and what they weigh."""
    made = {}

    def ingest(name):
        made[name] = tmp / f"root-{len(list(tmp.glob('root-*')))}"
        return cpu_s(builds[name] / "domaindex", "ingest", "--root", made[name], *where.COLUMNS, rows)

    def publish(name):
        root = tmp / f"published-{len(list(tmp.glob('published-*')))}"
        dxtest.run("cp", "-al", made[name], root)
        seconds = cpu_s(builds[name] / "domaindex", "publish", "--root", root)
        made[name, "published"] = root
        return seconds
    turns.measure("ingest", "CPU s", count, ingest)
    turns.measure("publish", "CPU s", count, publish)
    turns.measure("lake", "bytes", 1, lambda name: bytes_of(made[name] / "urls", "*.parquet"))
    turns.measure("index", "bytes", 1, lambda name: bytes_of(made[name, "published"] / "index", "*"))
    return made[BASE, "published"]


def serving(turns, builds, root, asked, tmp, count, seconds):
    core, load_core = machine.cores()
    load = serve.Load(load_core, tmp)
    with contextlib.ExitStack() as stack:
        servers = {name: {more: stack.enter_context(serve.Ours(name, root, core, "--threads", 1, *more, program=build / "domaindexd"))
                          for more in {more for more, _ in asked.values()}} for name, build in builds.items()}
        for i, (what, (more, targets)) in enumerate(asked.items()):
            known = tmp / f"known-{i}.txt"
            if "URLs" in what:  # a page that does not end holds a cursor, which is another one each minute
                known.write_text("".join(f"{target}\n" for target in targets))
            else:
                load.record(servers[BASE][more].port, targets, known)

            def ask(name):
                server = servers[name][more]
                with serve.only(server, [s for of in servers.values() for s in of.values()]):
                    before = server.cpu_s()
                    figures = load.run(server.port, [known], seconds)
                    return (server.cpu_s() - before) / max(1, figures["requests"]) * 1e6
            turns.measure(what, "CPU us", count, ask)
    return load.wrong


def verdicts(result):
    for r in result.figures["ratios"]:
        band = BANDS[r["unit"]]
        judged = not r["unit"].startswith("CPU") or result.figures["load_before"] <= LOAD_MAX
        yield r, band, judged and r["median"] > 1 + band, "" if judged else "not judged"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("--base")
    parser.add_argument("--beside", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--newest", action="store_true")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("file", nargs="?")
    options = parser.parse_args()
    if options.newest:
        print(kept()[-1]["revision"])
        return
    if options.page:
        page()
        return
    dxtest.need_programs()
    source = options.file or dxtest.shared_data(where.CORPUS)
    if source is None:
        dxtest.skip("the corpus is not here (see bench/README.md)")
    builds = {NEW: machine.BIN, BASE: options.beside}
    result = Result("regress", data=pathlib.Path(source).name + (", 100,000 rows" if options.quick else ""))
    turns = Rounds(result, builds)
    with rounds.folder("dx-regress-") as folder:
        tmp = pathlib.Path(folder)
        rows = tmp / "rows.tsv"
        dxtest.run("sh", "-c", f"{{ zstd -dcq '{source}' 2>/dev/null || cat '{source}'; }} >'{rows}'")
        if options.quick:
            lines = rows.read_bytes().splitlines(keepends=True)
            rows.write_bytes(b"".join(random.Random(3).sample(lines, min(len(lines), 100000))))
        root = writing(turns, builds, rows, tmp, 3 if options.quick else 5)
        asked = instructions.questions(root)
        wrong = serving(turns, builds, root, asked, tmp, 3 if options.quick else 9, 0.3 if options.quick else 1)
        counting = argparse.Namespace(only="", requests=300 if options.quick else 1000)
        counted = {name: instructions.measure(build, root, asked, counting, tmp / f"counted-{i}") for i, (name, build) in enumerate(builds.items())}
    for what in counted[NEW]:
        turns.measure(what, "instructions", 1, lambda name: counted[name][what])
    lines = ["| | unit | this revision | base | ratio | band | |", "| --- | --- | --: | --: | --: | --: | --- |"]
    worse = 0
    for r, band, bad, words in verdicts(result):
        worse += bad
        mine, theirs = (statistics.median(result.row(r["group"], name, r["unit"])["values"]) for name in (NEW, BASE))
        lines.append(f"| {r['group']} | {r['unit']} | {mine:,.4g} | {theirs:,.4g} | {r['median']:.3f} | {1 + band:.2f} | {'**worse**' if bad else words} |")
    print("\n".join(lines))
    if wrong:
        print(f"{wrong} answers differ from those of the base")
    result.figures["base"] = options.base
    result.figures["when"] = int(dxtest.run("git", "-C", HERE, "log", "-1", "--format=%ct").stdout)
    print(result.save(options.json))
    if options.write:
        KEPT.mkdir(exist_ok=True)
        (KEPT / f"{result.figures['revision']}.json").write_text(json.dumps(result.figures, indent=1) + "\n")
        result.keep(f"This revision beside {options.base}", lines)
        page()
    sys.exit(1 if worse or wrong or dxtest.failures() else 0)


if __name__ == "__main__":
    main()
