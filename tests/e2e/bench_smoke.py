#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: long slow
"""bench/http_load.py in small, on made-up rows: it measures what it says, and no answer is wrong.

Rates and times are not judged. In `long`, as bench_command shows the loads of `domaindex bench` in the gate.

In detail: `bench/http_load.py --quick`: the HTTP benchmark in small, on made-up rows, with nginx beside: all
figures are there, no answer is wrong. Rates are not judged.
"""
import json
import math
import sys

import dxtest

sys.path.insert(1, str(dxtest.SOURCE / "bench" / "support"))
sys.path.insert(1, str(dxtest.SOURCE / "bench"))
import http_load  # noqa: E402
import serve      # noqa: E402


def main():
    dxtest.need_programs()
    if not serve.DXLOAD.exists():
        dxtest.skip("dxload is not built (DX_BENCH)")
    with dxtest.tempdir() as tmp:
        out = tmp / "http.json"
        options = http_load.parsed(["--quick", *(() if dxtest.WHOLE else ("--seconds", "0.03")), "--json", str(out)])
        bench = http_load.measure(options)
        dxtest.equal(bench.load.wrong, 0, "answers that are wrong, or none")
        dxtest.check(bench.load.verified > 500, f"{bench.load.verified} bodies compared")
        figures = json.loads(out.read_text())
        for row in figures["rows"]:
            words = f"{row['group']}, {row['name']}: {row['unit']}"
            dxtest.equal(len(row["values"]), 1, f"{words}: rounds")
            # The kernel counts CPU time in ticks of 10 ms: a program may use less than one in so small a run.
            least = 0 if row["unit"] == "CPU us/request" else sys.float_info.min
            dxtest.check(all(math.isfinite(v) and v >= least for v in row["values"]), f"{words}: {row}")
        groups = {row["group"] for row in figures["rows"]}
        dxtest.check(len(groups) >= 9, f"groups: {groups}")
        dxtest.check(len(figures["expected"]) >= 7, f"{len(figures['expected'])} expectations")
        dxtest.check("| hit, 20,000/s | domaindexd |" in "\n".join(bench.lines()), "a table of all rows")
        bench.picture(tmp / "http.svg")
        dxtest.check((tmp / "http.svg").read_text().count("<polyline") >= 2, "a curve each")
    dxtest.finish()


if __name__ == "__main__":
    main()
