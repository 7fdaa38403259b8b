#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lines of each room that the unit tests and the fuzz corpora reach.

    scripts/coverage.py             builds the preset `coverage`, runs the tests with the label `unit`, prints a table
    scripts/coverage.py --write     puts the table into docs/TESTING.md too, between its markers
    scripts/coverage.py --count     only counts what the last run left

Counted are lines with code of the .c files of the rooms in cmake/layers.cmake, by gcov. End-to-end tests are not run: they kill
their programs, which then write no counts. Tests that damage files take samples, as in `scripts/test.sh short`; threads and
time move a room by a few lines from run to run.
"""
import argparse
import collections
import concurrent.futures
import gzip
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent
BUILD = SOURCE / "build" / "coverage"
PAGE = SOURCE / "docs" / "TESTING.md"
BEGIN, END = "<!-- scripts/coverage.py -->\n", "<!-- end of scripts/coverage.py -->\n"
TIMEOUT_S = 300
STEPS = {"DX_DAMAGE_STEP": "1009", "DX_VERIFY_STEP": "4999", "DX_BELIEVED_STEP": "101", "DX_INSPECT_STEP": "101", "DX_FLIP_STEP": "31"}


def run(*command, check=True, **options):
    return subprocess.run([str(part) for part in command], cwd=SOURCE, check=check, **options)


def rooms():
    """In the order of layers.cmake."""
    return re.findall(r"^dx_room\((\S+)", (SOURCE / "cmake" / "layers.cmake").read_text(encoding="utf-8"), re.M)


def build_and_run():
    jobs = str(os.cpu_count() or 1)
    run("cmake", "--preset", "coverage", "-DDX_BENCH=OFF", stdout=subprocess.DEVNULL)
    targets = [*sorted(p.stem for p in (BUILD / "tests").glob("unit_*.c")), "fuzz_reruns"]  # one runner a room
    run("cmake", "--build", "--preset", "coverage", "-j", jobs, "--target", *targets)
    for old in BUILD.rglob("*.gcda"):
        old.unlink()
    env = {**STEPS, **os.environ}
    done = run("ctest", "--test-dir", BUILD, "-L", "^unit$", "-LE", "tree", "-j", jobs, "--timeout", TIMEOUT_S, "--progress", check=False, env=env)
    if done.returncode != 0:
        print("some tests failed: the figures are lower than they should be", file=sys.stderr)


def counts_of(gcno):
    """(file, lines, reached) of the .c files that the object was made of; no test may have linked it."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["gcov", "--json-format", str(gcno)], cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        found = []
        for path in pathlib.Path(folder).glob("*.json.gz"):
            for part in json.loads(gzip.decompress(path.read_bytes()))["files"]:
                name = os.path.relpath((BUILD / part["file"]).resolve(), SOURCE)
                if name.endswith(".c"):
                    found.append((name, {line["line_number"]: line["count"] > 0 for line in part["lines"]}))
        return found


def count():
    """file -> {line: reached}."""
    files = collections.defaultdict(dict)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for found in pool.map(counts_of, sorted(BUILD.glob("CMakeFiles/dx*.dir/**/*.gcno"))):
            for name, lines in found:
                for line, reached in lines.items():
                    files[name][line] = files[name].get(line, False) or reached
    return files


def table(files):
    rows, total = [], [0, 0]
    for room in rooms():
        lines = [reached for name, of in files.items() if os.path.dirname(name) == room for reached in of.values()]
        if lines:
            rows.append((room, len(lines), sum(lines)))
            total = [total[0] + len(lines), total[1] + sum(lines)]
    rows.append(("all", *total))
    head = "| room | lines | reached |\n| --- | --: | --: |\n"
    return head + "".join(f"| {room} | {n:,} | {100 * hit // max(n, 1)} % |\n" for room, n, hit in rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="put the table into docs/TESTING.md")
    parser.add_argument("--count", action="store_true", help="count what the last run left")
    args = parser.parse_args()
    if not args.count:
        build_and_run()
    text = table(count())
    print(text, end="")
    if args.write:
        page = PAGE.read_text(encoding="utf-8")
        begin, end = page.index(BEGIN) + len(BEGIN), page.index(END)
        PAGE.write_text(page[:begin] + text + page[end:], encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
