#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: plain
"""docs/SCALE.md has the tables that bench/model.py computes now: from `domaindex capacity`, and from what bench/results has as measured. Text
between its marks that differs, and marks that are not there, are found.
"""
import subprocess
import sys

import dxtest
from dxtest import check, equal

MODEL = dxtest.SOURCE / "bench" / "model.py"


def main():
    dxtest.need_programs()
    done = subprocess.run([sys.executable, MODEL, "--fleets"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    equal((done.returncode, done.stderr), (0, ""), "docs/SCALE.md beside bench/model.py --fleets")
    check(done.stdout.count("\n|") > 12, f"tables: {done.stdout}")
    sys.path.insert(0, str(MODEL.parent))
    import model

    text = (dxtest.SOURCE / "docs" / "SCALE.md").read_text(encoding="utf-8")
    check(model.with_tables(text.replace("| 293 + 161 |", "| 170 |")) == text, "a figure that was changed by hand")
    try:
        model.with_tables(text.replace("<!-- end of flips -->", ""))
        check(False, "a mark that is not there")
    except ValueError as error:
        check("flips" in str(error), f"a mark that is not there: {error}")
    dxtest.finish()


main()
