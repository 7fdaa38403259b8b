#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""table.py - what each fuzz target's inputs reach, and for how long it has run: the table of tests/fuzz/README.md.

    tests/fuzz/table.py [--add FOLDER]

The build `coverage` runs the inputs (tests/fuzz/corpus and seeds.tar.xz). Counted are lines and branches of the files whose headers the target includes,
without base/, which is everybody's. --add: FOLDER/NAME/log or FOLDER/NAME.log of libFuzzer runs (build/fuzz-run), whose seconds are added to those in the table.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
sys.path.insert(0, str(SOURCE / "scripts"))
import coverage   # noqa: E402

PAGE = HERE / "README.md"
BEGIN, END = "<!-- tests/fuzz/table.py -->\n", "<!-- end of tests/fuzz/table.py -->\n"
TESTS = coverage.BUILD / "tests"


def files_of(target):
    headers = re.findall(r'^#include "(?!base/|tests/)(.*)\.h"', target.read_text(encoding="utf-8"), re.M) or \
        re.findall(r'^#include "(?!tests/)(.*)\.h"', target.read_text(encoding="utf-8"), re.M)
    return [SOURCE / f"{name}.c" for name in headers if (SOURCE / f"{name}.c").exists()]


def reached(name, folders, files):
    """(lines, of them reached, branches, of them reached)"""
    with tempfile.TemporaryDirectory() as tmp:
        subprocess.run([TESTS / "fuzz_reruns", f"fuzz_{name}", *folders], env={**os.environ, "LLVM_PROFILE_FILE": f"{tmp}/%m.profraw"}, check=True,
                       stdout=subprocess.DEVNULL)
        found = coverage.count(pathlib.Path(tmp), [TESTS / "fuzz_reruns"], files).values()
    kinds = ([f.lines for f in found], [f.branches for f in found])
    kinds = [[hit for part in parts for hit in part.values()] for parts in kinds]
    return [n for hits in kinds for n in (len(hits), sum(hits))]


def seconds_in(folder, name):
    for path in (folder / name / "log", folder / f"{name}.log"):
        if path.exists():
            return sum(int(n) for n in re.findall(rb"Done \d+ runs in (\d+) second", path.read_bytes()))
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--add", type=pathlib.Path, metavar="FOLDER")
    options = parser.parse_args()
    page = PAGE.read_text(encoding="utf-8")
    begin, end = page.index(BEGIN) + len(BEGIN), page.index(END)
    seconds = {name: int(n.replace(",", "")) for name, n in re.findall(r"^\| (\w+) \|.*\| ([\d,]+) \|$", page[begin:end], re.M)}
    rows = ["| target | inputs | lines | reached | branches | reached | fuzzed, CPU s |", "| --- | --: | --: | --: | --: | --: | --: |"]
    for target in sorted(HERE.glob("fuzz_*.c")):
        name = target.stem.removeprefix("fuzz_")
        folders = [folder for folder in (HERE / "corpus" / name, TESTS / "seeds" / name) if folder.is_dir()]
        lines, hit_lines, branches, hit_branches = reached(name, folders, files_of(target))
        spent = seconds.get(name, 0) + (seconds_in(options.add, name) if options.add else 0)
        rows.append(f"| {name} | {sum(len(os.listdir(f)) for f in folders)} | {coverage.share(lines, hit_lines)} | {coverage.share(branches, hit_branches)} | {spent:,} |")
    PAGE.write_text(page[:begin] + "\n".join(rows) + "\n" + page[end:], encoding="utf-8")


if __name__ == "__main__":
    main()
