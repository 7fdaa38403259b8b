#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: peers slow long
"""Files of the lake writer, value by value, in DuckDB, pyarrow, Polars and ClickHouse (chdb).

    parquet_peers.py [PROGRAM]        PROGRAM: test_lake_file, default $DX_BIN_DIR/tests/test_lake_file

The packages are looked for in $DX_PEERS_PYTHON or the python that runs this. Exit 77: skipped.
Of the real URLs every 240th is written, with DX_WHOLE=1 each, and of made rows five times as many.
"""
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

SKIP = 77
ROOT = Path(__file__).resolve().parents[2]
WHOLE = bool(os.environ.get("DX_WHOLE"))
SHARED = Path(os.environ.get("DX_SHARED_DATA", ROOT.parent / "shared" / "data"))

wanted = os.environ.get("DX_PEERS_PYTHON")
if wanted and os.path.realpath(sys.executable) != os.path.realpath(wanted) and not os.environ.get("DX_PEERS_RUN"):
    os.execve(wanted, [wanted, *sys.argv], {**os.environ, "DX_PEERS_RUN": "1"})
try:
    import chdb
    import duckdb
    import polars
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError as e:
    print(f"SKIPPED: no {e.name} in {sys.executable}; set DX_PEERS_PYTHON")
    sys.exit(SKIP)

warnings.simplefilter("ignore")  # DuckDB's, about a copy
FIXED = ["domain", "domain_id", "scheme", "host", "path_query", "raw_url", "ts"]
INTS = {"domain_id", "url_id", "ts"}
failures = []


def check(ok, text):
    if not ok:
        failures.append(text)
        print("FAIL", text)


def read_rows(path, names):
    """Columns of the text file: ints, bytes, None."""
    columns = {n: [] for n in names}
    with open(path) as f:
        for line in f:
            for name, field in zip(names, line.rstrip("\n").split("\t"), strict=True):
                value = None if field == "N" else int(field) if name in INTS else bytes.fromhex(field[1:])
                columns[name].append(value)
    return columns


def as_plain(table, names, unit):
    """A pyarrow table of any peer as lists of ints, bytes and None."""
    out = {}
    for name in names:
        column = table.column(name)
        if isinstance(column, pa.ChunkedArray):
            column = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
        if pa.types.is_timestamp(column.type):
            column = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())
        elif name not in INTS:
            if pa.types.is_large_string(column.type) or pa.types.is_string_view(column.type):
                column = column.cast(pa.string())
            column = column.cast(pa.binary())
        out[name] = column.to_pylist()
    return out


def compare(peer, what, got, want):
    for name in want:
        if got[name] == want[name]:
            continue
        at = next((i for i, (a, b) in enumerate(zip(got[name], want[name])) if a != b), None)
        check(False, f"{what}: {peer}: {name} differs at row {at} of {len(got[name])}: "
                     f"{got[name][at] if at is not None else '-'!r}, want {want[name][at] if at is not None else len(want[name])!r}")


def with_duckdb(path, names, unit):
    c = duckdb.connect()
    c.execute("set timezone='UTC'")
    types = dict((r[0], r[1]) for r in c.execute(f"describe select * from read_parquet('{path}')").fetchall())
    check(types["domain_id"] == "UBIGINT" and "dataset_id" not in types, f"DuckDB types {types}")
    check(types["ts"] == "TIMESTAMP WITH TIME ZONE", f"DuckDB ts is {types['ts']}")
    fields = ", ".join("epoch_us(ts) ts" if n == "ts" else f'"{n}"' for n in names)
    table = c.execute(f"select {fields} from read_parquet('{path}', file_row_number=true) order by file_row_number").to_arrow_table()
    return as_plain(table, names, unit)


def with_pyarrow(path, names, unit):
    table = pq.read_table(path, page_checksum_verification=True)
    check(table.schema.field("ts").type == pa.timestamp(unit, "UTC"), f"pyarrow ts is {table.schema.field('ts').type}")
    check(table.schema.field("domain_id").type == pa.uint64(), "pyarrow domain_id")
    check(not table.schema.field("domain").nullable and table.schema.field("raw_url").nullable, "pyarrow nullable")
    return as_plain(table, names, unit)


def with_polars(path, names, unit):
    frame = polars.read_parquet(path)
    check(frame.schema["ts"] == polars.Datetime(unit, "UTC"), f"Polars ts is {frame.schema['ts']}")
    check(frame.schema["domain_id"] == polars.UInt64, "Polars domain_id")
    return as_plain(frame.to_arrow(), names, unit)


def with_chdb(path, names, unit):
    # times as integers: the Arrow output of DateTime64 has a range of its own
    digits = 3 if unit == "ms" else 6
    fields = ", ".join("toUnixTimestamp64Micro(cast(ts as Nullable(DateTime64(6,'UTC')))) as ts" if n == "ts"
                       else f"`{n}`" for n in names)
    kinds = str(chdb.query(f"describe table file('{path}', Parquet)", "TSVRaw"))
    check(f"ts\tNullable(DateTime64({digits}, 'UTC'))" in kinds, f"chdb: {kinds}")
    check("domain_id\tUInt64" in kinds and "domain\tString" in kinds, f"chdb: {kinds}")
    data = chdb.query(f"select {fields} from file('{path}', Parquet) settings max_threads=1, "
                      "output_format_arrow_string_as_string=0, "
                      "input_format_parquet_preserve_order=1", "Arrow")
    table = pa.ipc.open_file(pa.py_buffer(data.bytes())).read_all()
    return as_plain(table, names, unit)


def check_metadata(path, what, names):
    meta = pq.ParquetFile(path).metadata
    check(meta.created_by.startswith("domaindex version "), f"{what}: created_by {meta.created_by}")
    check([meta.schema.column(i).name for i in range(meta.num_columns)] == names, f"{what}: order of columns")
    for g in range(meta.num_row_groups):
        group = meta.row_group(g)
        check([s.column_index for s in group.sorting_columns] == [0, 3, 4, 6], f"{what}: sorting columns")
        for i in range(meta.num_columns):
            chunk = group.column(i)
            check(chunk.has_offset_index and chunk.has_column_index, f"{what}: no page index of {chunk.path_in_schema}")
            check(not chunk.has_dictionary_page and chunk.compression == "ZSTD", f"{what}: {chunk.path_in_schema}")
            check(chunk.is_stats_set, f"{what}: no statistics of {chunk.path_in_schema}")


def check_pruning(path, want, what):
    """Conditions make ClickHouse use statistics and page index, others their statistics."""
    some = 40 if WHOLE else 5
    step = max(1, len(want["path_query"]) // some)
    for column in ("path_query", "host", "domain"):
        for value in want[column][::step][:some]:
            if value is None or not value.isascii():
                continue
            text = value.decode().replace("\\", "\\\\").replace("'", "\\'")
            number = want[column].count(value)
            got = int(str(chdb.query(f"select count() from file('{path}', Parquet) where {column} = '{text}'", "TSV")))
            check(got == number, f"{what}: chdb finds {got} of {number} rows with {column} = {value!r}")
            got = polars.scan_parquet(path).filter(polars.col(column) == value.decode()).select(polars.len()).collect().item()
            check(got == number, f"{what}: Polars finds {got} of {number} rows with {column} = {value!r}")
    for value in want["domain_id"][::step][:some]:
        got = int(str(chdb.query(f"select count() from file('{path}', Parquet) where domain_id = {value}", "TSV")))
        check(got == want["domain_id"].count(value), f"{what}: chdb with domain_id = {value}")


def check_crc(path, what):
    """A damaged byte of a page must be seen by those who look at the CRC."""
    meta = pq.ParquetFile(path).metadata.row_group(0).column(5)
    data = bytearray(Path(path).read_bytes())
    data[meta.data_page_offset + meta.total_compressed_size - 1] ^= 1
    bad = Path(path).with_suffix(".bad")
    bad.write_bytes(data)
    try:
        pq.read_table(bad, page_checksum_verification=True)
        check(False, f"{what}: pyarrow did not see a wrong CRC")
    except OSError as e:
        check("CRC" in str(e) or "checksum" in str(e), f"{what}: {e}")


def check_file(path, rows, what, extras, unit, pruning):
    names = FIXED + extras + ["url_id"]
    want = read_rows(rows, names)
    count = len(want["domain"])
    check_metadata(path, what, names)
    for peer, function in (("DuckDB", with_duckdb), ("pyarrow", with_pyarrow), ("Polars", with_polars), ("chdb", with_chdb)):
        got = function(str(path), names, unit)
        compare(peer, what, got, want)
    if count > 0:
        check_crc(path, what)
    if pruning:
        check_pruning(str(path), want, what)
    print(f"{what}: {count} rows in {pq.ParquetFile(path).metadata.num_row_groups} row groups compared in 4 readers")


def write_urls(lines):
    """Sorted rows from the reddit list: a plain split is enough for a test of the writer."""
    import re
    source = next((SHARED / "lists").glob("reddit*/posts-A.tsv.zst"), None) if (SHARED / "lists").is_dir() else None
    if source is None:
        return 0
    shape = re.compile(r"^(https?)://([a-z0-9.-]+)(/[^\t#]*)$")
    rows = []
    text = subprocess.run(["sh", "-c", "zstd -dc \"$0\" | sed -n \"1~$1p\"", source, "1" if WHOLE else "240"], stdout=subprocess.PIPE, check=True).stdout
    for line in text.decode(errors="replace").splitlines():
        fields = line.split("\t")
        match = shape.match(fields[2]) if len(fields) > 2 else None
        if match is None or not fields[1].isdigit():
            continue
        scheme, host, path = match.groups()
        domain = ".".join(host.split(".")[-2:])
        raw = f"{fields[2]}#top" if len(rows) % 10 == 0 else ""
        rows.append((domain, host, path, scheme, fields[1] if len(rows) % 50 else "", raw))
    rows.sort(key=lambda r: ([x.encode() for x in r[:3]], r[4] != "", int(r[4] or 0), r[3], r[5]))
    with open(lines, "w") as f:
        f.writelines("\t".join(r) + "\n" for r in rows)
    return len(rows)


def main():
    program = sys.argv[1] if len(sys.argv) > 1 else str(Path(os.environ.get("DX_BIN_DIR", ROOT / "build" / "release")) / "tests" / "test_lake_file")
    if not os.access(program, os.X_OK):
        print(f"SKIPPED: no program {program}")
        sys.exit(SKIP)
    with tempfile.TemporaryDirectory() as folder:
        path, rows, lines = (Path(folder) / n for n in ("a.parquet", "a.tsv", "urls.tsv"))
        # even seeds: milliseconds; seeds 3, 6, …: bytes that are no UTF-8 in some columns
        for seed, count in (2, 0), (2, 1), *(((2, 20000), (1, 20000), (3, 9000), (4, 150000)) if WHOLE else ((2, 5000), (1, 5000), (3, 3000), (4, 20000))):
            path.unlink(missing_ok=True)
            subprocess.run([program, "--write", path, rows, str(seed), str(count)], check=True)
            check_file(path, rows, f"seed {seed}", ["title", "lang", "mixed"], "us" if seed % 2 else "ms", seed == 4)
        if write_urls(lines) > 0:
            path.unlink(missing_ok=True)
            subprocess.run([program, "--urls", lines, path, rows], check=True)
            check_file(path, rows, "real URLs", [], "ms", True)
        else:
            print("SKIPPED in part: no shared lists, real URLs not compared")
    print(f"{len(failures)} failures")
    sys.exit(1 if failures else 0)


main()
