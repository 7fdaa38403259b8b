#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`domaindex inspect`: each file of a new version and its lake, and every 31st file of the Parquet corpus (DX_WHOLE=1: all).

No file may crash it, hold it for 10 s or take 512 MiB; what the corpus' MANIFEST.tsv says must be
refused is refused with the file's name and a reason; what must be read has as many rows as pyarrow
and DuckDB find ($DX_PEERS_PYTHON, or the python that runs this; said where missing).
"""
import csv
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys

import dxtest

SECONDS = 10 * (5 if dxtest.SANITIZED else 1)
GROWTH = 512 << 20

# Rows of each file, by each library that can read it; run by the python that has them.
PEERS = """
import json, sys
try:
    import pyarrow.parquet as pq
except ImportError:
    pq = None
try:
    import duckdb
except ImportError:
    duckdb = None
if pq is None and duckdb is None:
    sys.exit(77)
for path in sys.stdin.read().split("\\n"):
    rows = {}
    if pq is not None:
        try:
            rows["pyarrow"] = pq.read_metadata(path).num_rows
        except Exception:
            pass
    if duckdb is not None:
        try:
            rows["duckdb"] = duckdb.execute("select count(*) from read_parquet(?)", [path]).fetchone()[0]
        except Exception:
            pass
    print(json.dumps([path, rows]), flush=True)
"""


def limits():
    if not dxtest.SANITIZED:  # sanitizers reserve terabytes of addresses
        resource.setrlimit(resource.RLIMIT_AS, (GROWTH, GROWTH))


def inspect(*arguments):
    """(exit code or what ended it, output, words)"""
    command = [str(dxtest.DOMAINDEX), "inspect", *map(str, arguments)]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=SECONDS,
                              preexec_fn=limits, check=False)
    except subprocess.TimeoutExpired:
        return f"still running after {SECONDS} s", b"", ""
    code = done.returncode
    if code < 0:
        code = signal.Signals(-code).name
    return code, done.stdout, done.stderr.decode("utf-8", "replace")


def refused(path, *arguments):
    code, out, words = inspect(*arguments, path)
    dxtest.equal(code, 1, f"{path}: exit")
    wanted = ["error"] if "--json" in arguments else []
    dxtest.equal([key for line in out.splitlines() for key in json.loads(line)], wanted, f"{path}: output of what is refused")
    dxtest.check(str(path) in words and len(words) > len(f"domaindex inspect: {path}: ") + 5,
                 f"{path}: no reason: {words!r}")


def shown(*paths):
    """The JSON of files that must be read, the same for people, and with --deep: a list of what is shown of each."""
    outputs = []
    for more in (("--json",), ("--json", "--deep"), ()):
        code, out, words = inspect(*more, *paths)
        if not dxtest.equal(code, 0, f"{paths} {more}: {words}"):
            return [{} for _ in paths]
        outputs.append(out.decode())
    out, deep, text = outputs[0].splitlines(), outputs[1].splitlines(), re.split(r"(?m)^(?=file: |root: )", outputs[2])[1:]
    if not dxtest.equal((len(out), len(deep), len(text)), (len(paths),) * 3, f"{paths}: what is shown of each"):
        return [{} for _ in paths]
    values = list(map(json.loads, out))
    for path, j, deeper, lines in zip(paths, values, deep, text):
        lines = lines.rstrip("\n").split("\n")
        for key, value in j.items():
            if isinstance(value, int):
                dxtest.check(f"{key}: {value}" in lines, f"{path}: the text has no line '{key}: {value}'")
        dxtest.check(all(lines), f"{path}: an empty line in the text")
        dxtest.check(len(json.loads(deeper)) >= len(j), f"{path}: --deep shows less")
    return values


def new_version(tmp):
    root = tmp / "root"
    rows = "".join(f"set{i % 3}\t{1300000000 + i}\thttp://www.name{i % 40}.com/p/{i}\n" for i in range(500))
    dxtest.domaindex("ingest", "--root", root, "--dataset-column", "1", "--ts-column", "2", "--url-column",
                     "3", "-", input=rows.encode())
    dxtest.domaindex("publish", "--root", root)
    return root


def check_pack(tmp, plain):
    """A pack is cut apart by the manifest of its root: each file is shown as it is where it lies alone."""
    packed = tmp / "packed"
    shutil.copytree(plain, packed, ignore=shutil.ignore_patterns("index", ".lock"))
    dxtest.domaindex("publish", "--root", packed, "--pack", "8M")
    path = next(packed.rglob("part.pack"))
    alone = {p.name: p for p in (plain / "index").glob("0*/*")}
    (j,) = shown(path)
    dxtest.equal(sorted(f["name"] for f in j["files"]), sorted(alone), "files of the pack")
    for file, as_shown in zip(j["files"], shown(*(alone[f["name"]] for f in j["files"]))):
        want = {key: value for key, value in as_shown.items() if key != "file"}
        dxtest.equal({key: value for key, value in file.items() if key not in ("name", "offset")}, want, f"{file['name']} of the pack")
    stray = tmp / "part.pack"
    stray.write_bytes(path.read_bytes())
    refused(stray)
    other = tmp / "other" / "index" / path.parent.name / "part.pack"
    other.parent.mkdir(parents=True)
    other.write_bytes(path.read_bytes()[:-1])
    (tmp / "other/index/manifest.json").write_bytes((packed / "index/manifest.json").read_bytes())
    refused(other)


def check_version(tmp, root):
    (j,) = shown(root)
    dxtest.equal((len(j["versions"]), j["versions"][0]["rows"], j["versions"][0]["domains"]), (1, 500, 40),
                 "versions, rows, domains of the root")
    kinds = {}
    paths = [path for path in sorted(root.rglob("*")) if path.is_file() and not path.name.startswith(".") and path.suffix != ".lock"]
    for path, j in zip(paths, shown(*paths)):
        kinds.setdefault(path.name.split("-")[0], []).append((path, j))
    for name, key, want in (("manifest.json", "sequence", 1), ("domains.dict", "domains", 40),
                            ("domains.mphf", "domains", 40), ("domain_to_datasets.roar", "pairs", 120),
                            ("domain_counts.dxc", "rows", 500), ("postings.dxp", "pairs", 120),
                            ("pages.dxp", "rows", 500), ("files.tsv.zst", "frames", 1)):
        dxtest.equal([j.get(key) for _, j in kinds.get(name, [])], [want], f"{name}: {key}")
    for name in ("datasets.json.zst", "registry.json"):
        dxtest.equal([[d["name"] for d in j["datasets"]] for _, j in kinds[name]], [["set0", "set1", "set2"]],
                     f"{name}: names")
    for name in ("psl.dat", "psl.dat.zst"):
        dxtest.equal([j["kind"] for _, j in kinds[name]], ["Public Suffix List"], name)
    dxtest.equal(sum(j["rows"] for _, j in kinds["part"]), 500, "rows of the lake's files")
    dxtest.equal([j["entries"] for _, j in kinds["postings.idx.zst"]], [120], "entries of the postings")

    for name, content in (("empty", b""), ("words", b"hello\n"), ("zeros", bytes(100)),
                          ("open.json", b"{"), ("other.json", b'{"a": 1}'), ("PAR1", b"PAR1PAR1")):
        (tmp / name).write_bytes(content)
        refused(tmp / name, "--json", "--deep")
    refused(tmp / "missing")
    refused(tmp)  # a folder without an index
    refused("/dev/null")
    manifest = root / "index" / "manifest.json"
    code, out, words = inspect("--json", tmp / "words", manifest)
    said = [json.loads(line) for line in out.splitlines()]
    dxtest.equal((code, [s["kind"] for s in said if "kind" in s], sum("error" in s for s in said)), (1, ["manifest"], 1),
                 "one bad file of two: exit, the good one, and the error")
    dxtest.equal(inspect()[0], 2, "no file named: exit")
    dxtest.equal(inspect("--nonsense", manifest)[0], 2, "unknown option: exit")


def peer_rows(paths):
    python = os.environ.get("DX_PEERS_PYTHON") or sys.executable
    done = subprocess.run([python, "-c", PEERS], input="\n".join(map(str, paths)).encode(),
                          stdout=subprocess.PIPE, check=False, timeout=600)
    if not done.stdout:
        print(f"SKIPPED in part: no pyarrow or DuckDB in {python}, row counts are not compared; "
              "set DX_PEERS_PYTHON")
        return {}
    return dict(map(json.loads, done.stdout.decode().splitlines()))


def check_corpus(folder):
    rows = {}
    outcomes = {}
    with open(folder / "MANIFEST.tsv", encoding="utf-8", newline="") as text:
        files = list(csv.DictReader(text, delimiter="\t"))[::1 if dxtest.WHOLE else 31]
    for entry in files:
        path, expect = folder / entry["file"], entry["expect"]
        code, out, words = inspect("--json", "--deep", path)
        outcomes[expect, code] = outcomes.get((expect, code), 0) + 1
        if not dxtest.check(code in (0, 1), f"{path}: {code}: {words}"):
            continue
        if code == 1:
            dxtest.check(str(path) in words and list(json.loads(out)) == ["error"], f"{path}: refused without naming the file in an error: {words!r}")
            no_peer_reads = next(v for k, v in entry.items() if k.startswith("oracles")) == "EEE"
            dxtest.check(expect != "READ" and (expect != "NESTED" or no_peer_reads), f"{path}: {words}")
            continue
        dxtest.check(not expect.startswith("REFUSE"), f"{path}: {expect}, but was read")
        j = json.loads(out)
        chunks = [c for g in j["row_groups"] for c in g["chunks"]]
        if expect == "READ":
            rows[str(path)] = j["rows"]
            for g in j["row_groups"]:
                for c in g["chunks"]:
                    dxtest.check("refused" in c or c["values_read"] == g["rows"],
                                 f"{path}: column {c['column']}: {c.get('values_read')} of {g['rows']} rows")
            dxtest.check(not any("refused" in c for c in chunks), f"{path}: a column is refused")
    for (expect, code), n in sorted(outcomes.items(), key=str):
        print(f"{expect}: exit {code}: {n}")
    compared = 0
    for path, theirs in peer_rows(sorted(rows)).items():
        for name, count in theirs.items():
            compared += 1
            dxtest.equal(rows[path], count, f"{path}: rows, {name} has")
    print(f"{len(files)} files; {compared} row counts compared with other readers")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    print(f"peak memory of a child: {peak >> 10} MiB")


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        root = new_version(tmp)
        check_version(tmp, root)
        check_pack(pathlib.Path(tmp) / "packs", root)
    folder = dxtest.shared_data("parquet/MANIFEST.tsv")
    if folder:
        check_corpus(pathlib.Path(folder).parent)
    else:
        print("SKIPPED in part: no shared Parquet corpus; set DX_SHARED_DATA")
    dxtest.finish()


main()
