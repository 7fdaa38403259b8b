#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: peers threads
"""Row groups of a Parquet file are read by all threads: the lake is that of one thread, byte by byte, and so are the rejects and the summary.

Files of many small row groups, of few large ones, with rejects in every part (some files with more than a buffer of them), with a URL of
a megabyte, with a footer that says that a column is smaller than it is, behind http; several files in a run; little memory. A file
that is damaged in one part ends the run with its name. In the gate files of 20,000 rows instead of 100,000, and each kind of file by 2 or by 7 threads
beside one; with DX_WHOLE=1 by both. $DX_PEERS_PYTHON names the python that has
pyarrow. Exit 77: skipped.
"""
import hashlib
import itertools
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dxtest   # noqa: E402
import stores   # noqa: E402

try:
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError:
    print(f"SKIPPED: no pyarrow in {sys.executable}; set DX_PEERS_PYTHON")
    sys.exit(77)

ROWS = 100_000 if dxtest.WHOLE else 8_000
SOME = 20_000 if dxtest.WHOLE else 5_000       # rows of a large group
few_or_many = itertools.cycle(((2, 7),) if dxtest.WHOLE else ((7,), (2,)))


def table(count, name, bad=101):
    url = [f"https://www.{name}{i * 7919 % 4001}.com/path/{i}?q={i % 13}" if i % bad else f"no url {i}" for i in range(count)]
    return pa.table({"url": url, "text": ["x" * (i % 50) for i in range(count)], "date": [f"2024-01-{1 + i % 28:02}T00:00:{i % 60:02}Z" for i in range(count)],
                     "set": [f"d{i % 3}" for i in range(count)], "more": [None if i % 4 else str(i) for i in range(count)]})


def run(tmp, name, threads, *arguments, memory="256M", expect=0):
    """{file: hash} of lake and rejects, and the summary but its times."""
    root = tmp / f"{name}-{threads}"
    done = dxtest.domaindex("ingest", "--root", root, "--dataset-column", "set", "--extra-column", "more", "--locators", "--memory", memory, "--threads", threads,
                            "--rejects", tmp / f"{name}-{threads}.tsv", "--json", "--max-rejects", "100%", *arguments, expect=expect)
    said = json.loads(done.stdout)
    for key in ("root", "seconds", "spilled_bytes"):
        said.pop(key)
    said["rejected"].pop("file")
    files = {str(p.relative_to(root)): hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted((root / "urls").rglob("*.parquet"))}
    rejects, last = [], b""
    path = tmp / f"{name}-{threads}.tsv"
    for line in path.read_bytes().splitlines() if path.exists() else []:
        first, rest = line.split(b"\t", 1)
        last = first or last        # an empty name: that of the line above
        rejects.append(last + b"\t" + rest)
    return files, hashlib.sha256(b"\n".join(rejects)).hexdigest(), said


def same(tmp, name, *arguments, memory="256M"):
    want = run(tmp, name, 1, *arguments, memory=memory)
    dxtest.check(want[0], f"{name}: rows are stored")
    for threads in next(few_or_many):
        got = run(tmp, name, threads, *arguments, memory=memory)
        for k, words in enumerate(("lake", "rejects", "summary")):
            dxtest.equal(got[k], want[k], f"{name}, {threads} threads: {words}")
    return want


def say_smaller(path, to):
    """The footer says of the URL's first chunk that it has fewer bytes, in a number of as many digits."""
    size = pq.ParquetFile(path).metadata.row_group(0).column(0).total_uncompressed_size
    data = path.read_bytes()

    def varint(n, width=None):
        out, n = b"", n << 1
        while n > 0x7f or (width is not None and len(out) + 1 < width):
            out, n = out + bytes([n & 0x7f | 0x80]), n >> 7
        return out + bytes([n])

    at = data.rindex(varint(size))
    width = len(varint(size))
    changed = data[:at] + varint(to, width) + data[at + width:]
    path.write_bytes(changed)
    dxtest.equal(pq.ParquetFile(path).metadata.row_group(0).column(0).total_uncompressed_size, to, "the footer was changed")


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        small, large, wrong, single = tmp / "small.parquet", tmp / "large.parquet", tmp / "wrong.parquet", tmp / "single.parquet"
        pq.write_table(table(ROWS, "a"), small, row_group_size=700)
        pq.write_table(table(ROWS, "b", bad=3), large, row_group_size=ROWS // 3, compression="zstd", use_dictionary=False)
        pq.write_table(table(ROWS // 5, "c"), single)
        _, _, said = same(tmp, "small", small)
        dxtest.equal((said["records"], said["rejected"]["total"]), (ROWS, len(range(0, ROWS, 101))), "records and rejects")
        same(tmp, "large", large)
        same(tmp, "several", small, single, large, memory="64M")
        long = table(2 * SOME, "d").set_column(0, "url", [[f"https://www.d{i}.com/" + "y" * (1_000_000 if i % SOME == 11 else 20) for i in range(2 * SOME)]])
        pq.write_table(long, tmp / "long.parquet", row_group_size=SOME)
        same(tmp, "long", tmp / "long.parquet")
        many = pa.table({"url": [f"{'z' * 600} {i}" if i % 40 else f"https://e{i}.com/" for i in range(3 * SOME)], "set": ["d"] * 3 * SOME, "more": ["m"] * 3 * SOME})
        pq.write_table(many, tmp / "many.parquet", row_group_size=SOME)
        same(tmp, "many", tmp / "many.parquet")
        # Pages of a megabyte and more behind small ones, in the one group whose size is wrong: its first rows were read when the page is found too large.
        pq.write_table(pa.table({"url": [f"https://www.f{i}.com/{'p' * (1500 if 15_000 <= i < 20_000 else 10)}" for i in range(60_000)],
                                 "set": ["d"] * 60_000, "more": ["m"] * 60_000}), wrong,
                       row_group_size=20_000, use_dictionary=False, data_page_size=1 << 18, write_batch_size=1000, compression="zstd")
        dxtest.check(pq.ParquetFile(wrong).metadata.row_group(0).column(0).total_uncompressed_size > 7 << 20, "long URLs")
        say_smaller(wrong, 300_000)
        for g in range(1, 3):
            dxtest.check(pq.ParquetFile(wrong).metadata.row_group(g).column(0).total_uncompressed_size < 1 << 20, "no other group has such a page")
        _, _, said = same(tmp, "wrong", wrong)
        dxtest.equal(said["records"], 60_000, "each row once, where the footer is wrong")
        if stores.find("nginx"):
            with stores.Nginx(tmp) as server:
                same(tmp, "http", f"{server.url}/small.parquet", f"{server.url}/large.parquet")
        bent = bytearray(large.read_bytes())
        chunk = pq.ParquetFile(large).metadata.row_group(1).column(0)
        for i in range(chunk.data_page_offset + 100, chunk.data_page_offset + 3000):
            bent[i] ^= 0x55
        (tmp / "bent.parquet").write_bytes(bent)
        for threads in (1, 2, 7):
            _, _, said = run(tmp, "bent", threads, tmp / "bent.parquet", expect=1)
            dxtest.check("bent.parquet: row group 1, column url" in said["error"], f"damage in one part, {threads} threads: {said}")
            dxtest.check(not list((tmp / f"bent-{threads}").glob("urls/dataset_id=*/*")), "rows of a file with a damaged part")
    dxtest.finish()


if __name__ == "__main__":
    main()
