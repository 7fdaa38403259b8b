#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lines and branches of each room that the tests reach.

    scripts/coverage.py             builds the preset `coverage`, runs the unit tests and the fuzz corpora, prints a table
    scripts/coverage.py --gate      the scripts of the gate too (DX_PEERS_PYTHON and the variables of storage_servers.sh as for ctest)
    scripts/coverage.py --write     puts the table into docs/TESTING.md too, between its markers
    scripts/coverage.py --build     builds and forgets what was counted; tests/mutation/mutate.py --map runs the gate on it
    scripts/coverage.py --count     only counts what the last run left; more tests may have run since (ctest --test-dir build/coverage)
    scripts/coverage.py --unreached build/coverage/unreached.txt     a list too: functions, lines and branches that nothing reached

Counted are lines with code and both sides of each condition, in the .c files of the rooms in cmake/layers.cmake, by clang. Its counters
are shared mappings of files in build/coverage/profiles: programs that are killed count, and so do forked children. Without assertions.
Scripts of the gate run in one of its three builds; here all run in one, each as large as without sanitizers. Left out are those that
measure time (alone) or look at the tree. Tests that damage files take samples, as in `scripts/test.sh short`; threads and time move a
room by a few lines from run to run.
"""
import argparse
import collections
import datetime
import os
import pathlib
import re
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parent.parent
BUILD = SOURCE / "build" / "coverage"
PROFILES = BUILD / "profiles"
REVISION = BUILD / "revision.txt"  # of what was built
PAGE = SOURCE / "docs" / "TESTING.md"
BEGIN, END = "<!-- scripts/coverage.py -->\n", "<!-- end of scripts/coverage.py -->\n"
TIMEOUT_S = 900
JOBS = str(os.cpu_count() or 1)
STEPS = dict(re.findall(r"(?m)^(\w+)=(\d+)$", (SOURCE / "tests" / "support" / "few_steps.env").read_text(encoding="utf-8")))
UNIT_LABELS = ("-L", "^unit$", "-LE", "tree")
GATE_LABELS = ("-L", "^(unit|e2e)$", "-LE", "^(long|alone|tree)$")

File = collections.namedtuple("File", "lines branches functions")  # line -> reached; (line, of it) -> reached; name -> (line, reached)


def run(*command, check=True, **options):
    return subprocess.run([str(part) for part in command], cwd=SOURCE, check=check, **options)


def rooms():
    """In the order of layers.cmake."""
    return re.findall(r"^dx_room\((\S+)", (SOURCE / "cmake" / "layers.cmake").read_text(encoding="utf-8"), re.M)


def build():
    run("cmake", "--preset", "coverage", stdout=subprocess.DEVNULL)
    run("cmake", "--build", "--preset", "coverage", "-j", JOBS)
    REVISION.write_text(run("git", "describe", "--always", "--dirty", stdout=subprocess.PIPE, text=True).stdout, encoding="utf-8")
    PROFILES.mkdir(exist_ok=True)
    PROFILES.chmod(0o1777)  # some tests change their user
    for old in PROFILES.iterdir():
        old.unlink()


def run_tests(labels):
    done = run("ctest", "--test-dir", BUILD, *labels, "-j", JOBS, "--timeout", TIMEOUT_S, "--progress", check=False, env={**STEPS, **os.environ})
    if done.returncode != 0:
        print("some tests failed: the figures are lower than they should be", file=sys.stderr)


def programs():
    """Those with counters."""
    for path in sorted(BUILD.rglob("*")):
        if path.is_file() and not path.is_symlink() and os.access(path, os.X_OK) and "CMakeFiles" not in path.parts:
            with open(path, "rb") as file:
                if file.read(4) == b"\x7fELF" and b"__llvm_covmap" in path.read_bytes():
                    yield path


def count(profiles=PROFILES, objects=None, sources=()):
    """file -> File, of the rooms. objects: programs, else all; sources: these files alone."""
    merged = BUILD / "merged.profdata"
    run("llvm-profdata-14", "merge", "-sparse", *sorted(profiles.glob("*.prof*")), "-o", merged)
    first, *others = objects or programs()
    text = run("llvm-cov-14", "export", "-format=lcov", f"-instr-profile={merged}", first, *(f"-object={path}" for path in others), *sources,
               stdout=subprocess.PIPE, text=True).stdout
    files, names = {}, set(rooms())
    at = None
    for row in text.splitlines():
        key, _, value = row.partition(":")
        if key == "SF":
            name = os.path.relpath(value, SOURCE)
            at = files.setdefault(name, File({}, {}, {})) if os.path.dirname(name) in names and name.endswith(".c") else None
        elif at is None:
            continue
        elif key == "FN":
            line, name = value.split(",", 1)
            at.functions[name.rpartition(":")[2]] = (int(line), False)
        elif key == "FNDA":
            hits, name = value.split(",", 1)
            name = name.rpartition(":")[2]
            at.functions[name] = (at.functions[name][0], at.functions[name][1] or int(hits) > 0)
        elif key == "DA":
            line, hits = value.split(",")[:2]
            at.lines[int(line)] = at.lines.get(int(line), False) or int(hits) > 0
        elif key == "BRDA":
            line, block, branch, hits = value.split(",")
            place = (int(line), block, branch)
            at.branches[place] = at.branches.get(place, False) or hits not in ("-", "0")
    return files


def share(n, hit):
    return f"{n:,} | {1000 * hit // max(n, 1) / 10:.1f} %"


def table(files):
    rows, total = [], [0, 0, 0, 0]
    for room in rooms():
        own = [f for name, f in files.items() if os.path.dirname(name) == room]
        counts = [len(x) for x in ([v for f in own for v in f.lines.values()], [v for f in own for v in f.lines.values() if v],
                                   [v for f in own for v in f.branches.values()], [v for f in own for v in f.branches.values() if v])]
        if counts[0]:
            rows.append((room, *counts))
            total = [a + b for a, b in zip(total, counts)]
    rows.append(("all", *total))
    head = "| room | lines | reached | branches | reached |\n| --- | --: | --: | --: | --: |\n"
    return head + "".join(f"| {room} | {share(n, hit)} | {share(m, reached)} |\n" for room, n, hit, m, reached in rows)


def unreached(files):
    """FILE:LINE: what: text, functions first."""
    for name, file in sorted(files.items()):
        text = collections.defaultdict(str, enumerate((SOURCE / name).read_text(encoding="utf-8").splitlines(), 1))  # may be newer
        for function, (line, reached) in sorted(file.functions.items(), key=lambda item: item[1]):
            if not reached:
                yield f"{name}:{line}: function: {function}"
        for line, reached in sorted(file.lines.items()):
            if not reached:
                yield f"{name}:{line}: line: {text[line].strip()}"
        for line in sorted({place[0] for place, reached in file.branches.items() if not reached and file.lines.get(place[0])}):
            yield f"{name}:{line}: branch: {text[line].strip()}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gate", action="store_true", help="run the scripts of the gate too")
    parser.add_argument("--write", action="store_true", help="put the table into docs/TESTING.md")
    parser.add_argument("--build", action="store_true", help="only build")
    parser.add_argument("--count", action="store_true", help="count what the last run left")
    parser.add_argument("--unreached", type=pathlib.Path, metavar="FILE", help="write what nothing reached into a file")
    args = parser.parse_args()
    if not args.count:
        build()
    if args.build:
        return 0
    if not args.count:
        run_tests(GATE_LABELS if args.gate else UNIT_LABELS)
    files = count()
    text = table(files)
    print(text, end="")
    if args.unreached:
        args.unreached.write_text("".join(f"{row}\n" for row in unreached(files)), encoding="utf-8")
    if args.write:
        text = f"State of {datetime.date.today()}, revision {REVISION.read_text(encoding='utf-8').strip()}:\n\n{text}"
        page = PAGE.read_text(encoding="utf-8")
        begin, end = page.index(BEGIN) + len(BEGIN), page.index(END)
        PAGE.write_text(page[:begin] + text + page[end:], encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
