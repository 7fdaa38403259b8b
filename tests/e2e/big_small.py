#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: slow long
"""bench/big.py with few domains: made-up rows through the builder with little memory, answers of 10,000
domains (a quarter of them not there) against a recount of the rows, memory held to the budget, a
newer version taken under load without a failed request."""
import json
import sys

import dxtest

DOMAINS, MEMORY, SAMPLE = 200_000, "64M", 11_000


def main():
    dxtest.need_programs()
    if not (dxtest.BIN / "bench" / "make_rows").exists() or dxtest.SANITIZED:
        dxtest.skip("bench/make_rows is not built, or slowed down by sanitizers")
    with dxtest.tempdir() as tmp:
        figures = tmp / "big.json"
        done = dxtest.run(sys.executable, dxtest.SOURCE / "bench" / "big.py", DOMAINS, "--quick",
                          "--memory", MEMORY, "--sample", SAMPLE, "--listings", 200, "--work", tmp,
                          "--json", figures, expect=None, timeout=300,
                          env={"DX_BIN_DIR": str(dxtest.BIN)})
        dxtest.equal(done.returncode, 0, done.stdout.decode()[-3000:] + done.stderr.decode()[-3000:])
        expected = {e["what"]: e for e in json.loads(figures.read_text())["expected"]}
        for what in ("ingest: memory", "publish: memory", "answers that differ from a recount",
                     "publish of 1,000 more: memory of its own", "requests that failed while a version is loaded",
                     "answers of the next version that differ"):
            dxtest.equal(expected[what]["words"], "", f"{what}: {expected[what]}")
        asked = expected["answers that differ from a recount"]["seen"]
        dxtest.check(int(asked.split()[2].replace(",", "")) >= 10_000, f"so many were asked: {asked}")
    dxtest.finish()


if __name__ == "__main__":
    main()
