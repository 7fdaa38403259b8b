#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: slow
"""Seeds of the simulation (tests/simulation): every invariant holds, a seed gives the same run twice, planted defects are found.

In the gate 500 seeds; with DX_WHOLE=1 as many as DX_SEEDS says (20,000). Each planted defect is looked for from a seed that
found it (FOUND_AT; with DX_WHOLE=1 from 1): where the code has changed since, by this one or another of the
2,000 from there, and the line that it prints says by which.
"""
import os
import re
import subprocess

import dxtest
from dxtest import check, equal

SIMULATE = dxtest.BIN / "tests" / "simulate"
FOUND_AT = {1: 37, 2: 4, 3: 14, 4: 30, 5: 415, 6: 5, 7: 6, 8: 1}
PLANTS = dict.fromkeys(FOUND_AT, 1) if dxtest.WHOLE else FOUND_AT


def simulate(*arguments):
    done = subprocess.run([SIMULATE, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return done.returncode, done.stdout.decode()


def main():
    if not SIMULATE.exists():
        dxtest.skip("this build has no tests/simulate")
    seeds = int(os.environ.get("DX_SEEDS", 20000 if dxtest.WHOLE else 500))
    twice = min(seeds, 200 if dxtest.WHOLE else 8)
    code, words = simulate("--seeds", seeds, "--trace")
    equal(code, 0, f"{seeds} seeds: {words[-600:]}")
    done = re.search(r"(\d+) seeds, (\d+) commands and answers", words)
    check(done and int(done.group(2)) > 20 * seeds, f"much was done in them: {words}")
    first = re.findall(r"(?m)^seed (\d+): trace (\w+)", words)
    again = simulate("--seeds", twice, "--trace")
    equal((again[0], re.findall(r"(?m)^seed (\d+): trace (\w+)", again[1])), (0, first[:twice]), "the same seeds give the same runs")
    check(len(first) == seeds and len(set(first[:12])) == len({trace for _, trace in first[:12]}) > 2, f"and other seeds other ones: {words[:600]}")
    for plant, first in PLANTS.items():
        code, words = simulate("--seeds", 2000, "--seed", first, "--plant", plant)
        check(code == 0 and f"planted defect {plant}: found" in words, f"planted defect {plant}: {words[-300:]}")
        if f"seed {first}: " not in words:
            print(f"planted defect {plant} is not found by seed {first} any more: {words[:100]}", flush=True)
    for wrong in (("--seeds",), ("--seeds", "x"), ("--plant", 99, "--seeds", 1), ()):
        equal(simulate(*wrong)[0], 2, f"usage: {wrong}")
    dxtest.finish()


if __name__ == "__main__":
    main()
