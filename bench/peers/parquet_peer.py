#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""parquet_peer.py - makes a Parquet file of pages, and copies two of its columns sorted with DuckDB.

    parquet_peer.py make DOMAINS PATHS ROWS OUT      FineWeb's schema, 3 kB of text a row
    parquet_peer.py site scattered|sorted FILE OUT   the same with 400 rows of one site, where they are or sorted by reversed host
    parquet_peer.py copy CODEC FILE OUT              prints {"cpu", "bytes", "version"} as JSON

Seconds are those of reading, sorting and writing alone, without the start of Python and imports.
"""
import json
import pathlib
import random
import sys
import time

GROUP_ROWS = 1000
TEXTS, TEXT_BYTES = 4096, 3000
SPREAD = 2      # how uneven pages are over domains: the lowest tenth of them has a third


def some_texts(chance, words):
    for _ in range(TEXTS):
        text = " ".join(chance.choices(words, k=TEXT_BYTES // 7))
        yield (text * 2)[:TEXT_BYTES]


def make(domains, paths, rows, out):
    import numpy
    import pyarrow
    import pyarrow.parquet
    chance = random.Random(19)
    seeded = numpy.random.default_rng(19)
    domains = pathlib.Path(domains).read_text("utf-8").split("\n")
    domains = [d for d in domains if d and not d.startswith(".")]
    paths = pathlib.Path(paths).read_text("utf-8").split("\n")
    chance.shuffle(domains)
    words = ["".join(chance.choices("etaoinshrdlu", k=chance.randint(2, 9))) for _ in range(20_000)]
    texts = list(some_texts(chance, words))
    prefix = ["", "www.", "www.", "www.", "blog.", "m."]

    def group(count):
        which = (len(domains) * seeded.random(count) ** SPREAD).astype(int)
        seconds = seeded.integers(1_577_836_800, 1_704_067_200, count)
        url = [f"https://{chance.choice(prefix)}{domains[d]}/{chance.choice(paths)}" for d in which]
        return pyarrow.table({
            "text": [chance.choice(texts) for _ in range(count)],
            "id": [f"<urn:uuid:{chance.getrandbits(128):032x}>" for _ in range(count)],
            "dump": ["CC-MAIN-2024-10"] * count,
            "url": url,
            "date": [str(t) + "Z" for t in seconds.astype("datetime64[s]")],
            "file_path": ["s3://commoncrawl/crawl-data/CC-MAIN-2024-10/segments/1707947473347.0/warc/"
                          "CC-MAIN-20240220211055-20240221001055-00000.warc.gz"] * count,
            "language": ["en"] * count,
            "language_score": seeded.random(count),
            "token_count": seeded.integers(50, 2000, count)})

    first = group(min(rows, GROUP_ROWS))
    with pyarrow.parquet.ParquetWriter(out, first.schema, compression="snappy") as writer:
        writer.write_table(first)
        for done in range(GROUP_ROWS, rows, GROUP_ROWS):
            writer.write_table(group(min(rows - done, GROUP_ROWS)))


def copy(codec, source, out):
    import duckdb
    session = duckdb.connect()
    session.execute("SET threads=1; SET memory_limit='4GB'; SET preserve_insertion_order=true")
    begin = time.process_time()
    session.execute(f"COPY (SELECT url, date FROM read_parquet('{source}') ORDER BY url, date) "
                    f"TO '{out}' (FORMAT parquet, COMPRESSION {codec})")
    print(json.dumps({"cpu": time.process_time() - begin, "bytes": pathlib.Path(out).stat().st_size, "version": duckdb.__version__}))


def site(order, source, out):
    import pyarrow
    import pyarrow.compute
    import pyarrow.parquet
    table = pyarrow.parquet.read_table(source)
    url = table.column("url").to_pylist()
    for n, i in enumerate(random.Random(1).sample(range(len(url)), 400)):
        url[i] = f"https://www.bigsite.org/p/{n:04}"
    table = table.set_column(table.schema.get_field_index("url"), "url", pyarrow.array(url))
    if order == "sorted":
        key = pyarrow.array([".".join(reversed(u.split("/")[2].split("."))) + "/" + u for u in url])
        table = table.take(pyarrow.compute.sort_indices(key))
    pyarrow.parquet.write_table(table, out, row_group_size=GROUP_ROWS, compression="snappy")


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(*sys.argv[2:4], int(sys.argv[4]), sys.argv[5])
    elif sys.argv[1] == "site":
        site(*sys.argv[2:])
    else:
        copy(*sys.argv[2:])
