#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ingest.py - raw URLs into sorted Parquet, beside engines that sort and write parsed rows.

    bench/ingest.py [--quick] [--write] [--json FILE] [--rounds 5] [--beside PROGRAM] [FILE]

FILE: TSV of dataset, Unix time, URL, extra; default the reddit corpus. `domaindex ingest` reads it as
text: cuts records, canonicalises URLs, finds domains, hashes, sorts, drops duplicates, writes. DuckDB,
Polars and pyarrow (python of DX_PEERS_PYTHON) are given the rows that come out, parsed already and in
an order of chance, as Parquet; they sort and write them (level of zstd and row groups as ours). All read and
write the same memory file system. Ours twice: into the datasets of the corpus (1,247 files) and into
one. With one thread a program is pinned to the first core.

Rounds are interleaved. CPU seconds are of all threads; the engines' are without the start of Python.
--beside: domaindex of another revision in the same rounds. Below four minutes; --quick 25 s.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "support"), str(HERE / "peers")]
import where        # noqa: E402
import dxtest       # noqa: E402
import machine      # noqa: E402
from result import Result, median   # noqa: E402

OURS, BESIDE = "domaindex ingest", "domaindex ingest, the other revision"
ENGINES = {"duckdb": "DuckDB", "polars": "Polars", "pyarrow": "pyarrow"}
ASKED = 500_000     # URLs a second and core
QUICK_LINES = 150_000
BUDGET_S = 200


def measured(command, threads):
    """Wall and CPU seconds, peak resident bytes and output of one program."""
    core = machine.cores()[0] if threads == 1 else None
    with tempfile.TemporaryFile() as out:
        with machine.pinned(core):
            begin = time.monotonic()
            process = subprocess.Popen([str(c) for c in command], stdout=out, stderr=out)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.monotonic() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        said = out.read().decode(errors="replace")
    if process.returncode != 0:
        sys.exit(f"{' '.join(str(c) for c in command)}:\n{said}")
    return {"wall": wall, "cpu": usage.ru_utime + usage.ru_stime, "peak": usage.ru_maxrss << 10,
            "said": said}


def ours(program, work, source, group, threads):
    root = work / "root"
    shutil.rmtree(root, ignore_errors=True)
    columns = ["--format", "tsv", "--ts-column", 2, "--url-column", 3, "--extra-column", 4,
               "--no-header"]
    into = ["--dataset", "everything"] if group == "one dataset" else ["--dataset-column", 1]
    seen = measured([program, "ingest", "--root", root, "--memory", "1G", "--threads", threads,
                     *columns, *into, source], threads)
    seen["bytes"] = sum(f.stat().st_size for f in (root / "urls").rglob("*.parquet"))
    return seen


def engine(name, python, work, rows, threads):
    out = work / f"{name}.parquet"
    out.unlink(missing_ok=True)
    seen = measured([python, HERE / "ingest_peer.py", name, threads, rows, out], threads)
    out.unlink()
    return seen | json.loads(seen["said"].splitlines()[-1])


def available(python):
    if python is None:
        return [], ["no engines: DX_PEERS_PYTHON names no python"]
    able, notes = [], []
    for name in ENGINES:
        done = subprocess.run([python, "-c", f"import {name}; print({name}.__version__)"],
                              check=False, capture_output=True, text=True)
        if done.returncode == 0:
            able.append(name)
            notes.append(f"{ENGINES[name]} {done.stdout.strip()}")
        else:
            notes.append(f"{ENGINES[name]} was not asked: not installed")
    return able, notes


def decompressed(given, work, quick):
    plain = work / "input.tsv"
    command = ["zstd", "-dcq", given] if str(given).endswith(".zst") else ["cat", given]
    with open(plain, "wb") as out:
        if quick:
            with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
                for _, line in zip(range(QUICK_LINES), process.stdout):
                    out.write(line)
                process.stdout.close()
        else:
            subprocess.run(command, stdout=out, check=True)
    with open(plain, "rb") as lines:
        return plain, sum(chunk.count(b"\n") for chunk in iter(lambda: lines.read(1 << 20), b""))


def plan(options, able, work, source, rows, python):
    """[(group, name, run)]"""
    programs = [(OURS, machine.BIN / "domaindex")]
    if options.beside:
        programs.append((BESIDE, options.beside))
    steps = []
    for threads in (1, 2):
        words = f"{threads} thread{'s' if threads > 1 else ''}"
        for sort in ("the corpus' datasets", "one dataset"):
            for name, program in programs:
                steps.append((f"{words}", f"{name}, {sort}",
                              lambda p=program, s=sort, t=threads: ours(p, work, source, s, t)))
        for name in able:
            steps.append((f"{words}", f"{ENGINES[name]}, parsed rows",
                          lambda n=name, t=threads: engine(n, python, work, rows, t)))
    return steps


def report(result, rows, seen):
    lines = ["| | | records a CPU second | records/s | bytes a row | peak MiB |",
             "| --- | --- | --: | --: | --: | --: |"]
    for (group, name), values in seen.items():
        cpu = [rows / v["cpu"] for v in values]
        wall = [rows / v["wall"] for v in values]
        result.add(group, name, "records/CPU s", cpu, more=True)
        result.add(group, name, "records/s", wall, more=True)
        result.add(group, name, "bytes/row", [v["bytes"] / rows for v in values], more=False)
        result.add(group, name, "peak bytes", [v["peak"] for v in values], more=False)
        lines.append(f"| {group} | {name} | {median(cpu):,.0f} | {median(wall):,.0f} | "
                     f"{median([v['bytes'] / rows for v in values]):.1f} | "
                     f"{median([v['peak'] for v in values]) / (1 << 20):,.0f} |")
    lines.append("")
    for group in dict.fromkeys(group for group, _ in seen):
        mine = f"{OURS}, the corpus' datasets"
        for other in [name for g, name in seen if g == group and name != mine]:
            for unit in ("records/CPU s", "records/s"):
                share = result.ratio(group, mine, other, unit)
                lines.append(f"* {group}, {mine} to {other}, {unit}: {share:.2f}")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("file", nargs="?", type=pathlib.Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--beside", type=pathlib.Path)
    options = parser.parse_args()
    given = options.file or dxtest.shared_data(where.CORPUS)
    if given is None:
        dxtest.skip(f"{where.CORPUS} is not here")
    python = where.program("python")
    able, notes = available(python)
    rounds = options.rounds or (1 if options.quick else 5)
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="dx-ingest-", dir=place) as folder:
        work = pathlib.Path(folder)
        source, count = decompressed(given, work, options.quick)
        result = Result("ingest", f"{pathlib.Path(given).name}: {count:,} records"
                        + (", its first" if options.quick else ""))
        rows = work / "rows.parquet"
        if able:
            ours(machine.BIN / "domaindex", work, source, "", 2)
            subprocess.run([python, HERE / "ingest_peer.py", "prepare", work / "root", rows],
                           check=True)
        seen = {}
        for done in range(rounds):
            if done > 0 and (time.monotonic() - begin) * (done + 1) / done > BUDGET_S:
                notes.append(f"{done} rounds of {rounds}: the time was over")
                break
            for group, name, run in plan(options, able, work, source, rows, python):
                seen.setdefault((group, name), []).append(run())
    lines = report(result, count, seen)
    rate = result.row("1 thread", f"{OURS}, the corpus' datasets", "records/CPU s")["median"]
    result.expect("TSV to sorted Parquet, URLs a second and core", f">= {ASKED:,}", f"{rate:,.0f}",
                  "CPU seconds of all threads")
    for words in notes:
        result.note(words)
    lines = [*result.expectations(), "", *lines]
    print("\n".join([*lines, *notes]))
    print(result.save(options.json))
    if options.write:
        result.keep("TSV to sorted Parquet", lines)


if __name__ == "__main__":
    main()
