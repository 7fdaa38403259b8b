#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: oracle peers slow
"""All counts and 120 listings over 3,500 real posts, one in 320 of those there are, in 80 of 1,247 datasets, against an independent recount.

The corpus (reddit top posts, ODC PDDL) is found by DX_SHARED_DATA. URLs are reduced by
tests/support/restated.py: ada for the URL Standard, our own rules restated in Python. Skipped
without the corpus or without the Python peers. DX_WHOLE=1: all 1.13 million.

Then the same posts in order of time, in steps (2, or 5 with DX_WHOLE=1), each published: all counts again, and
after a compaction counts and listings.

Compared: every count of each (domain, dataset) pair, 120 whole listings, 3,125 absent names. With DX_WHOLE=1: 2,020 listings,
1,132,475 posts, 126,561 pairs, 1,000,000 absent names.
"""
import collections
import os
import sys
import zlib

import dxtest
import oracle
import posts

CORPUS = posts.NAME
ONE_OF = 1 if dxtest.WHOLE else 320
ABSENT = 1_000_000 // ONE_OF
INCREMENTS = 5 if dxtest.WHOLE else 2


def with_peers():
    """Runs this again in the environment that has ada-url."""
    try:
        import ada_url  # noqa: F401
    except ImportError:
        python = os.environ.get("DX_PEERS_PYTHON") or dxtest.SOURCE / "build/peers/bin/python"
        if os.environ.get("DX_ORACLE_AGAIN") or not os.path.exists(python):
            dxtest.skip("no Python with ada-url (scripts/peers.sh makes one)")
        os.environ["DX_ORACLE_AGAIN"] = "1"
        os.execv(python, [str(python), *sys.argv])


def sample(tmp):
    """Of all datasets in the whole run, else of one in 16: a root of all takes a minute of writing files."""
    path = posts.some(tmp, ONE_OF // 16 or 1)
    if dxtest.WHOLE:
        return path
    some = [line for line in posts.lines(path) if zlib.crc32(line[:line.index(b"\t")]) % 16 == 5]
    (tmp / "sample.tsv").write_bytes(b"".join(some))
    return tmp / "sample.tsv"


def expect(path, clock):
    from restated import Restated
    canon = Restated(dxtest.suffix_list())
    expected, refused, rows = oracle.Expected(), collections.Counter(), 0
    for line in posts.lines(path):
        rows += 1
        fields = line.rstrip(b"\n").decode("utf-8", "surrogateescape").split("\t")
        dataset, ts, raw, extra = fields[:4]
        url, domain = canon.url(raw)
        if url is None:
            refused[domain] += 1
        else:
            expected.add(domain, dataset, url, int(ts) if ts else None, extra)
    clock(f"{rows} rows recounted in Python: {len(expected.pairs)} domains, "
          f"{expected.pair_count()} pairs, {expected.url_count()} URLs, "
          f"{expected.row_count()} distinct rows, refused {dict(refused)}")
    return expected, canon.suffixes, sum(refused.values())


def take(root, *inputs):
    dxtest.domaindex("ingest", "--root", root, "--format", "tsv", "--no-header", "--dataset-column",
                     1, "--ts-column", 2, "--url-column", 3, "--extra-column", 4, *inputs)


def grow(tmp, path, clock):
    """A root that grew by time: datasets get new rows of old URLs each time."""
    lines = sorted(posts.lines(path), key=lambda line: int(line.split(b"\t")[1] or 0))
    root, step = tmp / "grown", -(-len(lines) // INCREMENTS)
    for at in range(0, len(lines), step):
        (tmp / "some.tsv").write_bytes(b"".join(lines[at:at + step]))
        take(root, tmp / "some.tsv")
        done = dxtest.domaindex("publish", "--root", root)
        how = b"merged with version" if dxtest.id_bits() == 64 else b"domains that share a hash"
        dxtest.check(at == 0 or how in done.stderr, f"merged: {done.stderr[:200]}")
    clock(f"ingested and published in {INCREMENTS} steps")
    return root


def compare_grown(tmp, path, expected, clock):
    root = grow(tmp, path, clock)
    with dxtest.Server(root) as server:
        differences = oracle.compare_counts(server, expected)
    clock(f"merged: {expected.pair_count()} counts compared")
    dxtest.domaindex("compact", "--root", root)
    clock("compacted")
    with dxtest.Server(root) as server:
        differences += oracle.compare_counts(server, expected)
        differences += oracle.compare_listings(server, expected, expected.sample(500 if dxtest.WHOLE else 50, hottest=5))
    clock("compacted: counts and listings compared")
    return differences


def main():
    dxtest.need_programs()
    if dxtest.shared_data(CORPUS) is None:
        dxtest.skip(f"{CORPUS} is not here (DX_SHARED_DATA names the folder of real data)")
    with_peers()
    clock = oracle.Clock()
    with dxtest.tempdir() as tmp:
        root, path = tmp / "root", sample(tmp)
        take(root, path)
        clock("ingested")
        dxtest.domaindex("publish", "--root", root)
        clock("published")
        expected, suffixes, refused = expect(path, clock)
        with dxtest.Server(root) as server:
            tally = collections.Counter()
            differences = oracle.compare_counts(server, expected)
            clock(f"{len(expected.pairs)} domains, {expected.pair_count()} counts compared")
            pairs = expected.sample(2000 if dxtest.WHOLE else 100, hottest=20)
            differences += oracle.compare_listings(server, expected, pairs, tally=tally)
            clock(f"{len(pairs)} listings read twice, {tally['rows']} rows compared")
            asked, hits = oracle.ask_absent(server, oracle.absent_names(expected, ABSENT, suffixes))
            clock(f"{asked} absent names asked, {len(hits)} hits")
            unnoticed = oracle.prove_it_can_fail(server, expected)
            total = server.get("/v1/versions").json["versions"][-1]
        differences += compare_grown(tmp, path, expected, clock)
        for words in differences + hits:
            dxtest.check(False, words)
        for words in unnoticed:
            dxtest.check(False, f"self-test: unnoticed: {words}")
        dxtest.equal(len(differences), 0, "differences")
        dxtest.equal(asked, ABSENT, "absent names")
        for key, want in (("domain_count", len(expected.pairs)), ("row_count", expected.row_count()),
                          ("pair_count", expected.pair_count()), ("url_count", expected.url_count())):
            dxtest.equal(total[key], want, f"/v1/versions {key}")
        rejects = oracle.rejects_in(root)
        dxtest.equal(sum(rejects.values()), refused, f"records refused, {dict(rejects)}")
    dxtest.finish()


if __name__ == "__main__":
    main()
