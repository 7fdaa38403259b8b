#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: oracle threads plain
"""All answers over 5,000 made-up records (18,000 by programs with cut ids; with DX_WHOLE=1 50,000), whose truth is known by construction.

Needs nothing but the programs. tests/support/corpus.py says how the records are made, and
tests/support/oracle.py how answers are compared. The listing of every pair is read twice.

In detail: made-up records whose truth is known because they are made from it: every count, 500
listings (`DX_WHOLE=1`: all) read twice with different page sizes, 5,000 absent names (200,000); wrong
expectations are noticed.
"""
import collections
import re

import corpus
import dxtest
import oracle
from suffixes import Suffixes

CUT = dxtest.id_bits() < 64
PART = dxtest.SANITIZED or not dxtest.WHOLE
ROWS = 50_000 if not PART else 18_000 if CUT and not dxtest.SANITIZED else 5_000    # 18,000 have 50 collisions of 16 bits
ABSENT = 200_000 if not PART else 10_000 if dxtest.SANITIZED else 5_000


def main():
    dxtest.need_programs()
    clock, expected, refused = oracle.Clock(), oracle.Expected(), 0
    with dxtest.tempdir() as tmp:
        with open(tmp / "rows.tsv", "w", encoding="utf-8") as out:
            for raw, want in corpus.rows(seed=1, count=ROWS):
                print(*raw, sep="\t", file=out)
                if want is None:
                    refused += 1
                else:
                    expected.add(*want)
        clock(f"{ROWS} rows made: {expected.pair_count()} pairs, {refused} to be refused")
        root = tmp / "root"
        dxtest.domaindex("ingest", "--root", root, "--format", "tsv", "--dataset-column", 1,
                         "--ts-column", 2, "--url-column", 3, "--extra-column", 4, "--no-header",
                         tmp / "rows.tsv")
        said = dxtest.domaindex("publish", "--root", root).stderr.decode()
        collisions = int(re.search(r"domain_id collisions (\d+)", said).group(1))
        clock(f"ingested and published, {collisions} domains have another one's hash")
        dxtest.check(collisions > 50 if CUT and dxtest.id_bits() <= 16 else not collisions or CUT, f"{collisions} collisions")
        with dxtest.Server(root) as server:
            suffixes = Suffixes(dxtest.suffix_list())
            tally = collections.Counter()
            differences = oracle.compare_counts(server, expected)
            clock(f"{len(expected.pairs)} domains, {expected.pair_count()} counts compared")
            pairs = expected.by_heat()[:3000 if dxtest.SANITIZED else 500] if PART else expected.by_heat()
            differences += oracle.compare_listings(server, expected, pairs, tally=tally)
            clock(f"{len(pairs)} listings, {tally['rows']} rows compared")
            asked, hits = oracle.ask_absent(server, oracle.absent_names(expected, ABSENT, suffixes))
            clock(f"{asked} absent names asked, {len(hits)} hits")
            unnoticed = oracle.prove_it_can_fail(server, expected)
        for words in differences + hits:
            dxtest.check(False, words)
        for words in unnoticed:
            dxtest.check(False, f"self-test: unnoticed: {words}")
        dxtest.equal(len(differences), 0, "differences")
        dxtest.equal(asked, ABSENT, "absent names")
        rejects = oracle.rejects_in(root)
        dxtest.equal(sum(rejects.values()), refused, f"records refused, {dict(rejects)}")
    dxtest.finish()


if __name__ == "__main__":
    main()
