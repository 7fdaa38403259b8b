#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: plain
"""How many rounds of reads a listing from object storage costs, and how many bytes.

bench/storage.py in small, on made-up rows, behind a store that answers 5 ms late: one batch with a
warm index or mirrored postings, at most three with nothing cached, at most 100 kB for a domain of
about 100 URLs, and a page deep in a listing costs what its first page does. Times are not judged.
"""
import sys

import dxtest
import stores

sys.path.insert(0, str(dxtest.SOURCE / "bench"))
import storage  # noqa: E402

BYTES = 100_000


def main():
    dxtest.need_programs()
    stores.need("nginx")
    result = storage.measure(None, True, 5, False)
    dxtest.equal(result["wrong"], 0, "answers that are not those of a server on the directory")
    seen = set()
    for row in result["ours"]:
        words = f"{row['state']}, {row['question']}"
        seen.add((row["state"], row["question"].split(":")[0]))
        dxtest.check(row["count"] >= 15, f"{words}: {row['count']} requests only")
        most = 3 if row["state"] == "nothing cached" else 1
        dxtest.check(1 <= row["batches_max"] <= most, f"{words}: up to {row['batches_max']:.0f} batches")
        dxtest.check(1 <= row["batches"] <= most, f"{words}: {row['batches']:.0f} batches")
        dxtest.equal(row["retries_max"], 0, f"{words}: retries")
        dxtest.equal((row["requests_max"], row["received_bytes_max"]),
                     (row["proxy_gets_max"], row["proxy_bytes_max"]),
                     f"{words}: GETs and bytes as counted by the server, and by the proxy")
        if row["question"].startswith("~100"):
            dxtest.check(row["received_bytes"] <= BYTES,
                         f"{words}: {row['received_bytes']:.0f} bytes")
    dxtest.equal(len(seen), 12, "states and questions")
    for state in storage.STATES:
        size = {row["question"].split(":")[0]: row["received_bytes"] for row in result["ours"]
                if row["state"] == state}
        dxtest.check(size["deep"] <= 1.5 * size["hot"] + 20_000,
                     f"{state}: {size['deep']:.0f} bytes for a deep page, {size['hot']:.0f} for "
                     "a first one")
    dxtest.finish()


if __name__ == "__main__":
    main()
