#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: peers
"""`ingest --detect` and `ingest --dry-run`: each format, plain, gzip and zstd, with columns of usual and of other names.

--detect prints format, container, columns and a command; a shell runs that command, and the lake then has the
rows that were written to the file. The same command with --dry-run shows the first of them, the rejects by reason
with three examples each, and makes no root. What ingest does not read is refused by both with a way out.
$DX_PEERS_PYTHON names the python that has pyarrow. Exit 77: skipped.
"""
import datetime
import gzip
import json
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dxtest  # noqa: E402

try:
    import lake
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError:
    print(f"SKIPPED: no pyarrow in {sys.executable}; set DX_PEERS_PYTHON")
    sys.exit(77)

COUNT = 30
ROWS = [(f"https://www.site{i % 7}.com/{i}", f"2024-01-{i % 28 + 1:02}T03:04:05Z") for i in range(COUNT)]


def lines(*parts):
    return "".join(part + "\n" for part in parts).encode()


def table(sep, header, *columns):
    body = [sep.join(c.format(u=u, t=t, i=i) for c in columns) for i, (u, t) in enumerate(ROWS)]
    return lines(*([header] if header else []), *body)


def objects(make):
    return [json.dumps(make(u, t, i)) for i, (u, t) in enumerate(ROWS)]


def digits(t):
    return re.sub(r"\D", "", t)


# name: content, format that is printed, a column line that is printed, whether rows have times
TEXTS = {
    "usual.tsv": (table("\t", "url\tn\tdate", "{u}", "{i}", "{t}"), "tsv", "url  (URLs)", True),
    "other.csv": (table(",", "who,Where it is,on day", '"a, b"', "{u}", "{t}"), "csv", "Where it is  (URLs)", True),
    "bare-tabs": (table("\t", "", "x", "{u}", "{t}"), "tsv", "2  (URLs)", True),
    "bare-commas": (table(",", "", "{u}", "{t}"), "csv", "1  (URLs)", True),
    "usual.jsonl": (lines(*objects(lambda u, t, i: {"n": i, "url": u, "timestamp": t})), "jsonl", "timestamp  (times)", True),
    "other.jsonl": (lines(*objects(lambda u, t, i: {"a": {"its.link": u, "b": [1]}, "since": t, "n": None})), "jsonl", 'a."its.link"  (URLs)', True),
    "array.json": (("[" + ",\n ".join(objects(lambda u, t, i: {"link": u, "when": t})) + "]\n").encode(), "jsonl", "when  (times)", True),
    "urls": (table("", "", "{u}"), "list", "1  (URLs)", False),
    "nine.cdx": (lines(*(f"com,a)/ {digits(t)} {u} text/html 200 D - 1 f.gz" for u, t in ROWS)), "cdx", "original  (URLs)", True),
    "header.cdx": (lines(" CDX a b", *(f"{u} {digits(t)}" for u, t in ROWS)), "cdx", "original  (URLs)", True),
    "a.cdxj": (lines(*(f"com,a)/ {digits(t)} " + json.dumps({"url": u, "status": "200"}) for u, t in ROWS)), "cdxj", "url  (URLs)", True),
}
MOMENTS = [datetime.datetime.strptime(t, "%Y-%m-%dT%H:%M:%SZ") for _, t in ROWS]
PARQUETS = {
    "usual.parquet": ({"n": list(range(COUNT)), "url": [u for u, _ in ROWS], "date": [t for _, t in ROWS]}, "url", True),
    "other.parquet": ({"title": ["x"] * COUNT, "its place": [u for u, _ in ROWS], "seen first": pa.array(MOMENTS, pa.timestamp("us"))}, "timestamp (us)  seen first", True),
    "nested.parquet": ({"meta": [{"url": u, "n": 1} for u, _ in ROWS]}, "meta.url", False),
}


def detect(*arguments, expect=0):
    return dxtest.domaindex("ingest", "--detect", *arguments, expect=expect).stdout.decode()


def stored(root):
    names = [d["name"] for d in json.loads((root / "registry.json").read_text())["datasets"]]
    return sorted((row[0], row[1]) for name in names for row in lake.stored(root, name))


def follow(said, root, words, with_times):
    """Runs what --detect suggests: dry first."""
    command = said.strip().splitlines()[-1]
    dxtest.check(command.startswith("domaindex ingest --root "), f"{words}: {command}")
    command = f"'{dxtest.DOMAINDEX}'" + command[len("domaindex"):] + " --memory 64M --threads 2"
    dry = subprocess.run(["sh", "-c", command + " --dry-run"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    first = (ROWS[0][1] if with_times else "no time")
    dxtest.check(dry.returncode == 0 and f"  {first}  " in dry.stderr.decode() and ROWS[0][0] in dry.stderr.decode(), f"{words}: {command}: {dry.stderr.decode()}")
    dxtest.check(not root.exists(), f"{words}: a dry run made the root")
    done = subprocess.run(["sh", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if dxtest.equal(done.returncode, 0, f"{words}: {command}: {done.stderr.decode()}"):
        dxtest.equal(stored(root), sorted((u, t if with_times else None) for u, t in ROWS), f"{words}: {command}")


def formats(tmp):
    packers = {"": ("plain", bytes), ".gz": ("gzip", gzip.compress),
               ".zst": ("zstd", lambda data: subprocess.run(["zstd", "-q", "-c"], input=data, stdout=subprocess.PIPE, check=True).stdout)}
    for number, (name, (data, kind, column, with_times)) in enumerate(TEXTS.items()):
        for k, (ending, (container, pack)) in enumerate(packers.items()):
            # A space and a quote: the command is for a shell.
            path = tmp / "it's here" / (name + ending)
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(pack(data))
            root = tmp / f"root{number}{ending}"
            said = detect("--root", root, path)
            dxtest.check(f"format     {kind}, {container}\n" in said and column in said, f"{path.name}: {said}")
            dxtest.check(ROWS[0][0] in said and (not with_times or ROWS[0][1] in said), f"{path.name}: first rows: {said}")
            if k == number % 3:
                follow(said, root, path.name, with_times)
    for name, (columns, column, with_times) in PARQUETS.items():
        pq.write_table(pa.table(columns), tmp / name, compression="zstd")
        root = tmp / ("root" + name)
        said = detect("--root", root, tmp / name)
        dxtest.check("format     parquet, ZSTD\n" in said and column in said, f"{name}: {said}")
        follow(said, root, name, with_times)


def refusals(tmp):
    for name, data, words in (("a.txt", b"a;https://www.a.com/;1\nb;https://www.b.com/;2\n", "semicolons"), ("empty", b"", "has no record"),
                              ("a.jsonl", b'{"a": 1, "b": "x"}\n', "cannot tell which member is the URL"), ("a.zip", b"PK\x03\x04abcdefgh", "zip archive"),
                              ("a.wacz", b"PK\x03\x04abcdefgh", "does not end with a directory; fetch it again"),
                              ("u.csv", b"a,b\n1,2\n", "cannot tell which of 2 columns is the URL")):
        (tmp / name).write_bytes(data)
        said = detect(tmp / name, expect=1)
        dxtest.check("not read" in said and words in said and "domaindex ingest --root" not in said, f"{name}: {said}")
    pq.write_table(pa.table({"a": ["x"], "b": [1]}), tmp / "none.parquet")
    dxtest.check("cannot tell which column is the URL" in detect(tmp / "none.parquet", expect=1), "Parquet without a URL")
    dxtest.check(b"No such file" in dxtest.domaindex("ingest", "--detect", tmp / "missing", expect=1).stdout, "a file that is not there")
    dxtest.domaindex("ingest", "--detect", expect=2)
    dxtest.domaindex("ingest", "--detect", "--profile", "no-such", tmp / "a.txt", expect=2)
    said = detect("-", expect=1)
    dxtest.check("has no record" in said, f"standard input: {said}")


def dry_run(tmp):
    """First rows with dataset and extras, and three examples of each reason."""
    bad = {"scheme": ["mailto:x1@a.com", "mailto:x2@a.com", "mailto:x3@a.com", "mailto:x4@a.com"], "public_suffix": ["http://com/1", "http://com/2"]}
    data = [json.dumps({"url": u, "date": t, "kind": f"k{i % 2}", "n": i}) for i, (u, t) in enumerate(ROWS)]
    data += [json.dumps({"url": u, "date": "", "kind": "k"}) for us in bad.values() for u in us] + ["{broken", json.dumps({"date": "x"})]
    data += [json.dumps({"url": "https://www.late.com/", "date": "yesterday", "kind": "k"})]
    (tmp / "in.jsonl").write_bytes(lines(*data))
    done = dxtest.domaindex("ingest", "--root", tmp / "root", "--dataset-from", "all-{kind}", "--extra-column", "number=n", "--dry-run", "--max-rejects", "50%",
                            tmp / "in.jsonl")
    said = done.stderr.decode()
    for i, (u, t) in enumerate(ROWS[:5]):
        dxtest.check(f"\n  {t}  all-k{i % 2}  {u}  number={i}\n" in said, f"row {i}: {said}")
    for reason, count in (("scheme", 4), ("public_suffix", 2), ("record_malformed", 1), ("column_missing", 1)):
        part = re.search(rf"\n    {reason}\s+{count}\n((?:      \S.*\n)*)", said)
        shown = part.group(1).splitlines() if part else []
        dxtest.check(len(shown) == min(count, 3) and all("in.jsonl:" in line for line in shown), f"{reason}: examples {shown}: {said}")
    dxtest.check("invalid times dropped" in said and "yesterday" in said, f"an invalid time: {said}")
    dxtest.check(re.search(rf"records read\s+{len(data)}\n", said) and not (tmp / "root").exists(), f"dry run: {said}")


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        for part in (formats, refusals, dry_run):
            folder = tmp / part.__name__
            folder.mkdir()
            part(folder)
    dxtest.finish()


if __name__ == "__main__":
    main()
