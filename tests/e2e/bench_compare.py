#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/compare.py says better and worse the right way round: rates, times, and ratios of both."""
import contextlib
import io
import sys

import dxtest

sys.path[1:1] = [str(dxtest.SOURCE / "bench" / "support"), str(dxtest.SOURCE / "bench")]
import compare    # noqa: E402
import result     # noqa: E402


def measured(rate, time):
    """Ours beside a peer that stays as it is."""
    r = result.Result("made-up", "none")
    r.add("g", "ours", "requests/s", [rate, rate + 1], more=True)
    r.add("g", "peer", "requests/s", [100, 100], more=True)
    r.add("g", "ours", "us", [time, time + 1], more=False)
    r.add("g", "peer", "us", [100, 100], more=False)
    for unit in ("requests/s", "us"):
        r.ratio("g", "ours", "peer", unit)
        r.ratio("g", "peer", "ours", unit, judged="ours")
    return r.figures


def said(before, after):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        worse = compare.compare(before, after)
    words = [line.split()[-1] for line in out.getvalue().splitlines() if " ours" in line]
    return worse, words


def main():
    low, high = measured(100, 50), measured(200, 20)
    dxtest.equal(said(low, high), (0, ["better"] * 6), "more requests in less time")
    dxtest.equal(said(high, low), (2, ["worse"] * 6), "fewer requests in more time")
    dxtest.finish()


if __name__ == "__main__":
    main()
