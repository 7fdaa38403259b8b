#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: long peers slow
"""Very large values and groups as input of ingest: memory stays within --memory and what ingest.h names beside it, errors name file and reason.
The peak is what a run that ends well prints; of others it is sampled, and of a page that claims too much the message says that it was refused before anything was allocated.

Lines of JSON, CSV and lists of 16 MB and over; Parquet rows with 16 MB of text, read and not read; a page that claims 2 GB; a row of
more elements than memory has room for; pages of more nulls; a row group of 100 MB of URLs (1 GB with DX_WHOLE=1). $DX_PEERS_PYTHON names the python that has pyarrow. Exit 77: skipped.
In `long`; memory_bounds is in the gate.
"""
import json
import pathlib
import re
import sys
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dxtest  # noqa: E402
from peaks import peak  # noqa: E402

try:
    import lake
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError:
    print(f"SKIPPED: no pyarrow in {sys.executable}; set DX_PEERS_PYTHON")
    sys.exit(77)

MIB = 1 << 20
MEMORY = 128 * MIB
BESIDE = 64 * MIB       # Parquet writers of two threads, code and buffers of libraries
BIG = 16 * MIB


def ingest(root, *arguments):
    """(exit code, words) of a run whose peak is within its memory."""
    code, said = peak(("ingest", "--root", root, "--dataset", "d", "--memory", "128M", "--threads", "2", *arguments), (MEMORY + BESIDE) // MIB, root.name)
    found = re.search(r"peak memory +([\d.]+) MiB", said)     # of the whole run, and not what this python had when it started it
    dxtest.check(code != 0 or (found and float(found[1]) * MIB < MEMORY + BESIDE), f"{root.name}: {said}")
    return code, said


def url(i):
    return f"http://www.site{i % 7}.com/{i}"


def equal_rows(root, want, words):
    dxtest.equal(sorted(u for u, *_ in lake.stored(root, "d")), sorted(want), words)


def lines(tmp):
    """Records just below 16 MiB are read, those over it are counted, and the ones behind them are read."""
    fits, over = BIG - 4096, BIG + 4096
    texts = {
        "a.jsonl": (lambda i, n: '{"text": "' + "x" * n + f'", "url": "{url(i)}"}}\n', ""),
        "a.csv": (lambda i, n: f'"{"x," * (n // 2)}",{url(i)}\n', "text,url\n"),
    }
    for name, (line, header) in texts.items():
        sizes = [10, fits, 10, over, 10, *(fits,) * (2 if dxtest.WHOLE else 1), 10, 3 * over, 10]
        packing = zlib.compressobj(1, wbits=31)
        with open(tmp / f"{name}.gz", "wb") as out:
            for text in (header, *(line(i, n) for i, n in enumerate(sizes))):
                out.write(packing.compress(text.encode()))
            out.write(packing.flush())
        code, said = ingest(tmp / name, "--max-rejects", "50%", tmp / f"{name}.gz")
        dxtest.equal(code, 0, f"{name}: {said}")
        equal_rows(tmp / name, [url(i) for i, n in enumerate(sizes) if n <= fits], name)


def rows(tmp):
    """Rows with 16 MiB of text beside the URL: not read, or read as an extra that is too long."""
    schema, count = pa.schema([("url", pa.string()), ("text", pa.string())]), 8 if dxtest.WHOLE else 4
    with pq.ParquetWriter(tmp / "rows.parquet", schema, compression="zstd", use_dictionary=False, write_statistics=False) as out:
        for i in range(count):
            out.write_table(pa.table({"url": [url(i)], "text": [chr(97 + i) * BIG]}, schema))
    code, said = ingest(tmp / "rows", tmp / "rows.parquet")
    dxtest.equal(code, 0, f"text that is not read: {said}")
    equal_rows(tmp / "rows", [url(i) for i in range(count)], "text that is not read")
    code, said = ingest(tmp / "text", "--extra-column", "text", tmp / "rows.parquet")
    dxtest.check(code == 1 and "rows.parquet: row group 0, column text (a page may have an eighth of --memory, and the values" in said, f"text that is read: {code}, {said}")
    code, said = peak(("ingest", "--root", tmp / "urls", "--dataset", "d", "--memory", "512M", "--threads", "2", "--url-column", "text", "--max-rejects", "100%",
                       tmp / "rows.parquet"), 512 + BESIDE // MIB, "URLs of 16 MiB")
    dxtest.check(re.search(rf"rejected +{count}\n", said), f"text as a URL: {code}, {said}")


def varint(n):
    n <<= 1             # zigzag of a number over 0
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def claims(tmp):
    """A page whose header claims 2 GB: what the header grows by is cut off its data, so that all else stays true."""
    for codec in ("zstd", "snappy", "gzip", "brotli", "lz4"):
        path = tmp / f"{codec}.parquet"
        pq.write_table(pa.table({"url": [url(i * i) for i in range(500)]}), path, compression=codec, use_dictionary=False, write_statistics=False)
        column = pq.ParquetFile(path).metadata.row_group(0).column(0)
        at, data = column.data_page_offset, path.read_bytes()
        head = data[at:at + 40]
        fields, p = [], 0
        for _ in range(3):
            p += 1
            q = p
            while head[q] & 128:
                q += 1
            fields.append((p, q + 1))
            p = q + 1
        (_, _), (a, b), (c, d) = fields
        packed = sum((byte & 127) << 7 * i for i, byte in enumerate(head[c:d])) >> 1
        claim = varint((1 << 31) - 1)
        grown = len(claim) - (b - a)
        bad = data[:at] + head[:a] + claim + head[b:c] + varint(packed - grown) + data[at + d:]
        stop = at + d + grown + packed - grown
        bad = bad[:stop] + bad[stop + grown:]
        dxtest.equal(len(bad), len(data), f"{codec}: the file stays as long")
        path.write_bytes(bad)
        code, said = ingest(tmp / f"claims-{codec}", path)
        dxtest.check(code == 1 and f"{codec}.parquet" in said and "column url" in said and "2147483647 decompressed, limit 16777216" in said,
                     f"a page that claims 2 GB, {codec}: {code}, {said}")
        dxtest.check(not (tmp / f"claims-{codec}" / "urls").exists(), f"{codec}: nothing is stored")


def group(tmp):
    """One row group of URLs of 1 kB each; in the gate of 4 kB."""
    count, size = (1_000_000, 1000) if dxtest.WHOLE else (25_000, 4000)
    made = pa.array([f"http://www.site{i % 997}.com/{i}/" + "x" * size for i in range(count)])
    pq.write_table(pa.table({"url": made}), tmp / "group.parquet", compression="zstd", use_dictionary=False, write_statistics=False, row_group_size=count)
    meta = pq.ParquetFile(tmp / "group.parquet").metadata
    dxtest.check(meta.num_row_groups == 1 and meta.row_group(0).column(0).total_uncompressed_size > size * count, "one row group")
    code, said = ingest(tmp / "group", tmp / "group.parquet")
    dxtest.check(code == 0 and f"{count:,}" in said, f"a row group of {count} URLs of {size} bytes: {code}, {said}")


def elements(tmp):
    """A list of millions of nulls takes some bytes of its file: as many elements of a row are read as memory has room for."""
    most = MEMORY // 8 // 32
    for count, column, others in ((most, "url", ()), (most + 1, "url", ()), (most + 1, "more", ("--extra-column", "more"))):
        path, given = tmp / f"{count}-{column}.parquet", pa.ListArray.from_arrays([0, count], pa.nulls(count, pa.string()))
        pq.write_table(pa.table({column: given} if column == "url" else {"url": [url(0)], column: given}), path)
        code, said = ingest(tmp / f"elements-{column}-{count}", "--max-rejects", "100%", *others, path)
        if count == most:
            dxtest.check(code == 0 and re.search(rf"records read +{most:,}\n", said), f"{count} elements: {code}, {said}")
        elif column == "more":  # one text, which is too long before the elements are too many
            dxtest.check(code == 0 and "extra_too_long" in said, f"{count} elements: {code}, {said}")
        else:
            dxtest.check(code == 1 and f"column {column}.list.element" in said and f"a row of over {most} elements" in said, f"{count} elements: {code}, {said}")


def nulls(tmp):
    """A page of nulls takes some bytes of its file: as many values are decoded as memory has room for, over all columns together."""
    for count, columns in ((100_000, 3), (6_000_000, 1), (200_000, 8)):
        path, names = tmp / f"nulls-{count}.parquet", [f"x{i}" for i in range(columns)]
        row = pa.ListArray.from_arrays([0, count], pa.nulls(count, pa.string()))  # pages end between rows
        pq.write_table(pa.table({"url": [url(0)], **{name: row for name in names}}), path, write_batch_size=count)
        code, said = ingest(tmp / f"nulls-{count}", "--max-rejects", "100%", *(word for name in names for word in ("--extra-column", name)), path)
        if columns == 3:
            dxtest.check(code == 0 and re.search(r"records read +1\n", said), f"{count} nulls: {code}, {said}")
        else:
            dxtest.check(code == 1 and "row group 0, column x" in said and f"page: {count} values, limit" in said and "--memory" in said, f"{count} nulls in {columns} columns: {code}, {said}")


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        for part in (lines, rows, claims, elements, nulls, group):
            part(tmp)
    dxtest.finish()


if __name__ == "__main__":
    main()
