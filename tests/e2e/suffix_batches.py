#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: plain
"""How many rounds of reads rows of a suffix cost where its domains are small, on a store that answers late.

400 domains in three datasets, of which a page of the lake has a few; nothing is cached. A page of a listing, one that a filter finds little in, captures
of the suffix: as many rounds as a few domains take, not as many as there are domains. Answers are those of a server on the directory.
"""
import random

import dxtest
import faultproxy
from dxtest import check, equal

DOMAINS, ROWS, DELAY_MS = 400, 30, 5
COLD = ("--cache-idx", "1M", "--cache-payload", "1M", "--cache-pages", "1M", "--cache-answers", 0, "--cache-domains", 0)
# Requests, and rounds of reads at most. When the server read one domain after another: 15, 263, 262, 45, 410, 38.
ASKED = (("/v1/suffix/org/urls?limit=1000", 4), ("/v1/suffix/org/urls?limit=5000&prefix=/1/3", 16), ("/v1/suffix/org/urls?limit=50&filter=~path:77$", 16),
         ("/cdx?url=*.org&limit=1000", 10), ("/cdx?url=*.org&limit=100&filter=original:.*7f7.*", 24), ("/v1/suffix/org/urls?limit=300&from=2023-11-14T22:13:30Z&to=2023-11-14T22:13:32Z", 16))


def make_root(tmp):
    rng = random.Random(1)
    with open(tmp / "rows.tsv", "w", encoding="ascii") as out:
        for i in range(DOMAINS):
            for d in range(3):
                for k in range(ROWS if (i * 7 + d * 3) % 4 else 0):
                    print(f"set{d}", f"https://site{i:05}.org/{d}/{k}{rng.randbytes(60).hex()}", 1700000000 + i + k, sep="\t", file=out)
    root = tmp / "root"
    dxtest.domaindex("ingest", "--root", root, "--format", "tsv", "--no-header", "--dataset-column", 1, "--url-column", 2, "--ts-column", 3, tmp / "rows.tsv")
    dxtest.domaindex("publish", "--root", root)
    return root


def without_cursor(reply):
    return {k: v for k, v in reply.json.items() if k != "next_cursor"} if reply.body.startswith(b"{") else reply.body


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        root = make_root(tmp)
        with dxtest.Server(root) as near:
            for target, most in ASKED:
                with faultproxy.Proxy(str(root), delay_ms=DELAY_MS) as proxy, dxtest.Server(proxy.url, *COLD, "--cache-dir", tmp / "mirror") as far:
                    before = far.metrics()["domaindex_fetch_batches_total"]
                    reply = far.get(target)
                    rounds = far.metrics()["domaindex_fetch_batches_total"] - before
                    want = near.get(target)
                    print(f"{target:100} {len(reply.body):8} bytes {rounds:4.0f} rounds")
                    equal((reply.status, want.status), (200, 200), f"{target}: {reply.body[:300]}")
                    equal(without_cursor(reply), without_cursor(want), target)
                    check(0 < rounds <= most, f"{target}: {rounds:.0f} rounds of reads")
    dxtest.finish()


if __name__ == "__main__":
    main()
