#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: slow
"""bench/stores.py and bench/report.py in small: all stores that are built give the same answers.

Ours holds each of 20,000 made-up names with its datasets and counts; LMDB, RocksDB and sparkey, where
they are, the same. Times are not judged.
"""
import sys

import dxtest

sys.path[:0] = [str(dxtest.SOURCE / "bench"), str(dxtest.SOURCE / "bench" / "support")]
import report               # noqa: E402
import stores               # noqa: E402
from result import Result   # noqa: E402

NAMES = 20_000
REACHED = (     # asked, seen: what report.py says of it
    (">= 1.2", 1.2, True), (">= 1.2", 1.19, False), ("<= 13", "12.4 B", True), ("< 5 ms", 5, False),
    ("> 1", 0.8, False), ("< 2,000", "1,999 ms", True), ("as fast", 1, None), (">= 1", float("nan"), None))


def main():
    if not stores.program("records") or not stores.program("store_ours"):
        dxtest.skip("bench_records is not built (DX_BENCH)")
    result = Result("stores", data="made-up names")
    with dxtest.tempdir() as tmp:
        data = tmp / "data"
        data.mkdir()
        told = stores.run(None, stores.program("records"), data, NAMES)
        dxtest.equal(told["count"], NAMES, "records")
        stores.measure("names", data, tmp, 1, result)
    row = result.row("names", stores.OURS, stores.BYTES)
    dxtest.check(15 < row["median"] < 60, f"bytes a name: {row}")
    stores.expectations(result)
    measured = [r for r in result.figures["rows"] if r["unit"] == stores.BYTES]
    dxtest.equal(len(result.figures["expected"]), len(measured) - 1, "an expectation of each other store")
    text = "\n".join(stores.report(result))
    for each in measured:
        dxtest.check(each["name"] in text and f"{each['bytes']:,}" in text, f"the table: {each['name']}")
    for asked, seen, want in REACHED:
        dxtest.equal(report.reached({"asked": asked, "seen": seen}), want, f"{seen} of {asked}")
    dxtest.finish()


if __name__ == "__main__":
    main()
