#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: peers slow
"""Values that our reader gives for the public Parquet corpus, against pyarrow's.

    parquet_corpus.py [PROGRAM]       PROGRAM: test_parquet_corpus, default $DX_BIN_DIR/tests/…

Files of class READ; in the gate every third, and each of OPT. Columns whose values pyarrow gives in another form than the physical one
are turned back (decimals, times) or, if that is not possible, counted and named as not compared.
$DX_PEERS_PYTHON names the python that has pyarrow. Exit 77: skipped.
"""
import os
import subprocess
import sys
from pathlib import Path

SKIP = 77
ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("DX_SHARED_DATA", ROOT.parent / "shared" / "data"))

wanted = os.environ.get("DX_PEERS_PYTHON")
if wanted and os.path.realpath(sys.executable) != os.path.realpath(wanted) and not os.environ.get("DX_PEERS_RUN"):
    os.execve(wanted, [wanted, *sys.argv], {**os.environ, "DX_PEERS_RUN": "1"})
try:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq
    from physical import as_physical
except ImportError:
    print(f"SKIPPED: no pyarrow in {sys.executable}; set DX_PEERS_PYTHON")
    sys.exit(SKIP)


def dump(program, path):
    """[(name, physical, logical, values)], and the refusal."""
    columns, refusal = [], None
    text = subprocess.run([program, "--dump", path], stdout=subprocess.PIPE, check=True).stdout
    for line in text.decode(errors="surrogateescape").split("\n"):
        if line.startswith("C\t"):
            fields = line.split("\t")
            columns.append((fields[1], fields[2], fields[3], []))
        elif line.startswith("E\t"):
            refusal = line.split("\t")[1:]
        elif line:
            value = None if line == "N" else bytes.fromhex(line[1:]) if line[0] == "x" else int(line) if line != "overflow" else line
            columns[-1][3].append(value)
    return columns, refusal


def main():
    program = sys.argv[1] if len(sys.argv) > 1 else str(Path(os.environ.get("DX_BIN_DIR", ROOT / "build" / "release")) / "tests" / "test_parquet_corpus")
    manifest = SHARED / "parquet" / "MANIFEST.tsv"
    if not manifest.is_file() or not os.access(program, os.X_OK):
        print(f"SKIPPED: no {manifest if not manifest.is_file() else program}")
        sys.exit(SKIP)
    files = columns_same = values = 0
    failures, apart = [], []
    whole = os.environ.get("DX_WHOLE")
    for number, line in enumerate(manifest.read_text().splitlines()[1:]):
        name, expect = line.split("\t")[:2]
        if not whole and number % 3 != 1 and not expect.startswith("OPT"):
            continue
        if expect not in ("READ", "OPT-BSS", "OPT-LZ4", "NESTED"):
            continue
        path = SHARED / "parquet" / name
        columns, _ = dump(program, path)
        try:
            source = pq.ParquetFile(path, arrow_extensions_enabled=False)
        except (OSError, NotImplementedError, pa.ArrowException) as e:
            apart.append(f"{name}: pyarrow: {e}")
            continue
        files += 1
        for column, physical, logical, got in columns:
            try:
                table = source.read(columns=[column])
                if table.num_columns != 1:
                    apart.append(f"{name}: {column}: a name that pyarrow does not find alone")
                    continue
                values_of = table.column(0)
                for part in column.split(".")[1:]:  # a leaf of structs that are never null
                    if pa.types.is_struct(values_of.type):
                        values_of = pc.struct_field(values_of, part)
                want = as_physical(values_of, physical)
            except (OSError, NotImplementedError, ValueError, pa.ArrowException) as e:
                apart.append(f"{name}: {column}: pyarrow: {str(e)[:100]}")
                continue
            if isinstance(want, tuple):  # a decimal in bytes, big-endian
                want = want[1]
                got = [None if v is None else int.from_bytes(v, "big", signed=True) for v in got]
            if want is None:
                apart.append(f"{name}: {column}: {physical} {logical} has another form in pyarrow")
            elif want == got:
                columns_same += 1
                values += len(got)
            else:
                at = next((i for i, (a, b) in enumerate(zip(got, want)) if a != b), min(len(got), len(want)))
                failures.append(f"{name}: {column} ({physical} {logical}): {len(got)} values, pyarrow {len(want)}; row {at}: "
                                f"{got[at:at + 1]} pyarrow {want[at:at + 1]}")
    for text in apart:
        print("not compared:", text)
    for text in failures:
        print("FAIL", text)
    print(f"{files} files, {columns_same} columns, {values} values the same, {len(apart)} not compared, {len(failures)} differ")
    sys.exit(1 if failures or columns_same < (1000 if whole else 200) else 0)


main()
