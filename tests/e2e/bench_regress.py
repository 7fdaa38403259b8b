# SPDX-License-Identifier: Apache-2.0
# labels: long
"""bench/regress.py in small: a build beside itself has every figure, the same bytes and no wrong answer; a figure outside of its band is found."""
import json
import pathlib
import shutil
import subprocess
import sys

import dxtest
from dxtest import check, equal

BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"
sys.path[:0] = [str(BENCH), str(BENCH / "support")]
import regress  # noqa: E402


def rows():
    return "".join(f"set{i % 7}\t{1_300_000_000 + i}\thttps://site{i * i % 211}.example/{i % 900}\textra\n" for i in range(4000))


def check_verdicts():
    result = regress.Result("regress", data="made up")
    result.figures["load_before"] = 0
    for unit, ratio, bad in (("instructions", 1.04, False), ("instructions", 1.06, True), ("bytes", 1.02, True), ("CPU us", 1.09, False), ("CPU us", 1.2, True),
                             ("CPU s", 0.5, False)):
        result.figures["ratios"] = [{"group": "g", "unit": unit, "median": ratio}]
        equal([worse for _, _, worse, _ in regress.verdicts(result)], [bad], f"{unit} {ratio}")
    result.figures["load_before"] = 9
    result.figures["ratios"] = [{"group": "g", "unit": "CPU us", "median": 2}]
    equal([(worse, words) for _, _, worse, words in regress.verdicts(result)], [(False, "not judged")], "times of a busy machine")


def main():
    dxtest.need_programs()
    check_verdicts()
    if dxtest.SANITIZED:
        dxtest.finish(skipped="valgrind runs no program of a sanitizer")
    if not shutil.which("callgrind_control"):
        dxtest.finish(skipped="no valgrind")
    with dxtest.tempdir() as tmp:
        (tmp / "rows.tsv").write_text(rows())
        done = subprocess.run([sys.executable, BENCH / "regress.py", "--quick", "--base", "itself", "--beside", dxtest.BIN, "--json", tmp / "r.json", tmp / "rows.tsv"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=900, check=False)
        words = done.stdout.decode()
        check("answers differ" not in words and "Traceback" not in words, words[-3000:])
        figures = json.loads((tmp / "r.json").read_text())
        units = {}
        for ratio in figures["ratios"]:
            units.setdefault(ratio["unit"], []).append(ratio)
        equal({unit: len(of) for unit, of in units.items()}, {"CPU s": 2, "bytes": 2, "CPU us": 6, "instructions": 7}, "figures")
        check(all(abs(r["median"] - 1) < 0.01 for r in units["bytes"]), f"bytes: {units['bytes']}")
        check(all(0.8 < r["median"] < 1.25 for r in units["instructions"]), f"instructions: {units['instructions']}")
    dxtest.finish()


if __name__ == "__main__":
    main()
