# SPDX-License-Identifier: Apache-2.0
# labels: slow
"""What ingest makes of inputs that people bring: it stores the right rows, or says in words what to do.

Each input is given as a file, on standard input and compressed. What is stored is read from the lake by the
server-less lookup of the published version. And the other commands' first minutes: mistyped words, dry runs,
waiting for another run, a root of an older layout.

With DX_WHOLE=1 each good input comes in six ways and each that is refused in three, else in one, each way of some inputs.

In detail: inputs that people bring, as file, on stdin and compressed: the right rows, or a refusal that names
the format, and the pipe it names leads to the same rows; rejects and times, columns, dry runs, mistyped
words, `--wait`.
"""
import fcntl
import bz2
import gzip
import io
import json
import lzma
import pathlib
import sqlite3
import subprocess
import tarfile
import threading
import zipfile

import dxtest
import stores
from dxtest import check, equal

COUNT, MANY = 60, 10000 if dxtest.WHOLE else 1500
PAGES = [f"http://site{i % 7}.example.com/{i:03}.html" for i in range(COUNT)]
TIME = "2024-01-02T03:04:05Z"


def table(header, line, pages=PAGES):
    return (header + "".join(line.format(u=u, t=TIME) + "\n" for u in pages)).encode()


def ingest(root, *arguments, expect=0, **more):
    done = dxtest.domaindex("ingest", "--root", root, "--memory", "64M", *arguments, expect=expect, **more)
    return done.stderr.decode()


def rows(root, dataset=1):
    """[(url, time)] of the domain that all pages are of, once published."""
    dxtest.domaindex("publish", "--root", root, "--memory", "64M", "--quiet")
    return published_rows(root, dataset)


def published_rows(root, dataset):
    done = dxtest.domaindex("lookup", "--root", root, "--dataset", dataset, "--limit", 10000, "example.com")
    return sorted((item["url"], item["ts"]) for item in dxtest.json.loads(done.stdout)["items"])


GOOD = {
    # name of the file, bytes, columns that ingest prints, with time
    "header.csv": (table("url,date\n", "{u},{t}"), "url column: url; time column: date", True),
    "any-case.csv": (table("Title,Url,WHEN\n", '"a, b",{u},{t}'), "url column: Url; time column: WHEN", True),
    "link.tsv": (table("link\tn\n", "{u}\t7"), "url column: link; time column: none", False),
    "crlf.csv": (table("original,timestamp\n", "{u},{t}").replace(b"\n", b"\r\n"), "url column: original", True),
    "bom.csv": (b"\xef\xbb\xbf" + table("page_url,ts\n", "{u},{t}"), "url column: page_url", True),
    "blanks.csv": (table("title, url,\tdate \n", "x, {u}, {t}"), "url column: url; time column: date", True),
    "permalink.csv": (table("title,Permalink,ts\n", "a,{u},{t}"), "url column: Permalink", True),
    "list.txt": (table("", "{u}"), "each line is a URL", False),
    "names.list": (table("", "{u}").replace(b"http://", b""), "each line is a URL", False),
    "rpj.jsonl": (table("", '{{"text": "x", "meta": {{"url": "{u}", "timestamp": "{t}"}}}}'),
                  "url column: meta.url; time column: meta.timestamp", True),
    "oscar.jsonl": (table("", '{{"headers": {{"warc-target-uri": "{u}", "warc-date": "{t}"}}}}'),
                    'time column: headers."warc-date"', True),
    "glotcc.jsonl": (table("", '{{"warc-target-uri": "{u}", "warc-date": "{t}"}}'), 'time column: "warc-date"', True),
    "array.json": (json.dumps(PAGES, indent=1).encode(), "url column: the strings; time column: none", False),
    "objects.json": (json.dumps([{"url": u, "ts": TIME} for u in PAGES], indent=1).encode(), "url column: url; time column: ts", True),
    "offsets.csv": (table("url,when\n", "{u},2024-01-02 03:04:05+00"), "time column: when", True),
    "one-column.csv": (table("url\n", "{u}"), "url column: url; time column: none", False),
}


def good(tmp):
    want = {True: sorted((u, TIME) for u in PAGES), False: sorted((u, None) for u in PAGES)}
    root, taken = tmp / "root", []
    for number, (name, (data, words, timed)) in enumerate(GOOD.items()):
        path = tmp / name
        path.write_bytes(data)
        packed = tmp / (name + ".gz")
        packed.write_bytes(gzip.compress(data))
        ways = (("file", [path], None), ("stdin", ["-"], data),
                ("gzip on stdin", ["-"], gzip.compress(data)), ("gzip", [packed], None),
                ("bzip2 on stdin", ["-"], bz2.compress(data)), ("xz on stdin", ["-"], lzma.compress(data)))
        if not dxtest.WHOLE:    # each input in one way, each way of some inputs
            ways = ways[number % 6::6]
        for way, arguments, stdin in ways:
            said = ingest(root, "--dataset", f"{name}, {way}", *arguments, input=stdin)
            check(words in said, f"{name}, {way}: {words!r} in {said}")
            taken.append((f"{name}, {way}", timed))
    dxtest.domaindex("publish", "--root", root, "--memory", "64M", "--quiet")
    for dataset, (words, timed) in enumerate(taken, 1):
        equal(published_rows(root, dataset), want[timed], f"{words}: rows")


def binaries(tmp):
    """name: bytes, of formats that ingest recognises."""
    made = {}
    base = sqlite3.connect(tmp / "made.db")
    base.execute("create table t (url text)")
    base.executemany("insert into t values (?)", [(u,) for u in PAGES])
    base.commit()
    base.close()
    made["an SQLite database"] = (tmp / "made.db").read_bytes()
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        info = tarfile.TarInfo("urls.txt")
        info.size = 10
        tar.addfile(info, io.BytesIO(b"http://a/x"))
    made["a tar archive"] = out.getvalue()
    for kind, member in (("a zip archive", "urls.txt"), ("an Excel workbook", "[Content_Types].xml")):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            archive.writestr(member, "x")
        made[kind] = out.getvalue()
    made["UTF-16 text"] = table("url,date\n", "{u},{t}").decode().encode("utf-16")
    made["a Parquet file"] = b"PAR1\x15\x04\x15\x10" * 8 + b"PAR1"
    made["a Feather (Arrow IPC) file"] = b"ARROW1\0\0\xff\xff\xff\xff" + bytes(64) + b"ARROW1"
    made["a PDF document"] = b"%PDF-1.7\n%\xe2\xe3\n" + bytes(40)
    made["lz4"] = b"\x04\x22\x4d\x18" + bytes(40)
    return made


def refused(tmp):
    """Nothing is stored, exit code 1, and the words say what it is and what to do."""
    texts = {
        "semicolons": table("Address;Status;Seen\n", "{u};200;{t}"),
        "commas": table("", "{u},{t}"),
        "spaces": table("", "{u} {t}"),
        "bars": table("", "{u}|x"),
        "CR alone": table("url,date\n", "{u},{t}").replace(b"\n", b"\r"),
        "a WARC file": b"WARC/2.0\r\nWARC-Type: warcinfo\r\n\r\n",
        "the cluster index of a ZipNum CDX": b"com,example)/ 20240102030405\tcdx-00000\t0\t275\t1\n",
        "XML": table('<?xml version="1.0"?>\n<urlset>\n', "<url><loc>{u}</loc></url>"),
        "array of arrays": b'[["urlkey", "timestamp", "place"],\n["com,example)/", "20240102030405", "http://example.com/"]]\n',
        "first record has: web, meta.b": table("", '{{"web": "{u}", "meta": {{"b": 1}}}}'),
        "no input has a record": b"\n\n",
        "jq -c . FILE": json.dumps({"url": PAGES[0]}, indent=1).encode(),
    }
    inputs = {**texts, **binaries(tmp)}
    for number, (words, data) in enumerate(inputs.items()):
        root = tmp / "refused"
        path = tmp / "in"
        path.write_bytes(data)
        packed = tmp / "in.gz"
        packed.write_bytes(gzip.compress(data))
        ways = (("file", [path], None), ("stdin", ["-"], data), ("gzip", [packed], None))
        for way, arguments, stdin in ways if dxtest.WHOLE else ways[number % 3::3]:
            said = ingest(root, "--dataset", "d", *arguments, input=stdin, expect=1)
            wanted = "in: parquet" if (words, way) == ("a Parquet file", "file") else words     # which is read, but damaged
            check(wanted in said, f"{words}, {way}: {said}")
            check(not (root / "urls").exists(), f"{words}, {way}: something is in the lake")
    # Under the name of a table the delimiter is looked at all the same; a list is the user's word.
    path = tmp / "crawl.csv"
    path.write_bytes(texts["semicolons"])
    for more in ([], ["--format", "csv"]):
        check("semicolons" in ingest(tmp / "refused", "--dataset", "d", *more, path, expect=1), f"crawl.csv {more}")
    # Also there columns never become part of a URL.
    for words in ("commas", "spaces"):
        said = ingest(tmp / "asked", "--dataset", "d", "--format", "list", "-", input=texts[words], expect=1)
        check("each line is a URL" in said and f"not_one_url {COUNT:>23}" in said, f"--format list of {words}: {said}")


def streams(tmp):
    """bzip2 and xz as bz2 and lzma of Python write them: many streams, padding (which lzma.decompress takes for the end, xz does not); damage and
    bombs are errors with file and offset."""
    data = table("url,date\n", "{u},{t}")
    many = b"url\n" + b"".join(b"http://site%d.example.com/%d\n" % (i % 100, i) for i in range(MANY))
    parts = [many[i:i + 7777] for i in range(0, len(many), 7777)]
    packed = {"many.csv.bz2": b"".join(bz2.compress(p) for p in parts), "many.csv.xz": bytes(4).join(lzma.compress(p, preset=0) for p in parts),
              "crc32.csv.xz": lzma.compress(many, check=lzma.CHECK_CRC32), "sha.csv.xz": lzma.compress(many, check=lzma.CHECK_SHA256)}
    for name, stored in packed.items():
        (tmp / name).write_bytes(stored)
        ingest(tmp / f"root-{name}", "--dataset", "d", tmp / name)
        equal(rows(tmp / f"root-{name}"), sorted((u.decode(), None) for u in many.split()[1:]), f"{name}: rows")
    for name in ("many.csv.bz2", "many.csv.xz"):
        stored, at = packed[name], len(packed[name]) // 2
        for words, bad in (("damaged at offset", stored[:at] + bytes(40) + stored[at + 40:]), ("inside a", stored[:-9]), ("damaged at offset", stored + b"junk...")):
            path = tmp / f"bad-{name}"
            path.write_bytes(bad)
            said = ingest(tmp / "bad", "--dataset", "d", path, expect=1)
            check(f"{path}: " in said and words in said, f"{name}, {words}: {said}")
            check(not (tmp / "bad" / "urls").exists(), f"{name}, {words}: something is in the lake")
    if stores.find("nginx"):
        with stores.Nginx(tmp) as server:
            for name in ("many.csv.bz2", "many.csv.xz"):
                ingest(tmp / f"http-{name}", "--dataset", "d", f"{server.url}/{name}")
                equal(len(rows(tmp / f"http-{name}")), MANY, f"{name} over http: rows")
            said = ingest(tmp / "http-bad", "--dataset", "d", f"{server.url}/bad-many.csv.xz", expect=1)
            check(f"{server.url}/bad-many.csv.xz: damaged at offset" in said, f"damage over http: {said}")
    some = b"x" * (8 << 20)
    for name, compress in (("bomb.bz2", bz2.compress), ("bomb.xz", lambda data: lzma.compress(data, preset=0))):
        (tmp / name).write_bytes(compress(b"http://a.com/") + 4 * compress(some))     # a record of 32 MB in some kB
        said = ingest(tmp / "bomb", "--dataset", "d", "--format", "list", "--memory", "64M", tmp / name, expect=1)
        check("reject" in said, f"{name}: {said}")
    (tmp / "window.xz").write_bytes(lzma.compress(data, preset=9))
    said = ingest(tmp / "window", "--dataset", "d", "--memory", "64M", tmp / "window.xz", expect=1)
    check("window.xz: " in said and "give --memory" in said, f"a window of 64 MB: {said}")
    equal("xz" in dxtest.domaindex("ingest", "--detect", tmp / "many.csv.xz").stdout.decode(), True, "--detect says xz")


def pipes(tmp):
    """The way out that a message names leads to the same rows."""
    want = sorted((u, TIME) for u in PAGES)
    for name, data, pipe, more in (("utf16", table("url,ts\n", "{u},{t}").decode().encode("utf-16"),
                                    "iconv -f UTF-16 -t UTF-8 FILE", []),
                                   ("mac", table("url,ts\n", "{u},{t}").replace(b"\n", b"\r"),
                                    r"tr '\r' '\n' < FILE", [])):
        (tmp / name).write_bytes(data)
        said = ingest(tmp / "pipes", "--dataset", "d", tmp / name, expect=1)
        check(pipe in said, f"{name}: the message has the pipe: {said}")
        made = subprocess.run(["sh", "-c", pipe.replace("FILE", str(tmp / name))], capture_output=True, check=True)
        ingest(tmp / f"pipe-{name}", "--dataset", "d", *more, "-", input=made.stdout)
        equal(rows(tmp / f"pipe-{name}"), want, f"{name}: rows behind the pipe")


def rejects(tmp):
    mixed = ("".join(u + "\n" for u in PAGES) + "".join(f"mailto:a{i}@b\n" for i in range(10))).encode()
    root = tmp / "rejects"
    said = ingest(root, "--dataset", "d", "-", input=mixed, expect=1)
    check("10 of 70 records (14.3 %)" in said and "nothing was added" in said, f"too many rejects: {said}")
    for i in range(3):
        check(f"stdin:{COUNT + 1 + i}: mailto:a{i}@b" in said, f"reject {i} is shown: {said}")
    check("mailto:a3@b" not in said, "three of each reason")
    check(not (root / "urls").exists(), "too many rejects: something is in the lake")
    for share in ("20%", "0.2"):
        ingest(tmp / share, "--dataset", "d", "--max-rejects", share, "-", input=mixed)
        equal(len(rows(tmp / share)), COUNT, f"--max-rejects {share}")
    ingest(tmp / "none", "--dataset", "d", "--max-rejects", "100%", "-", input=b"")
    for wrong in ("11", "x", "-1", "101%"):
        ingest(root, "--dataset", "d", "--max-rejects", wrong, "-", input=mixed, expect=2)
    # What the lake has already is no reject.
    ingest(tmp / "20%", "--dataset", "d", "--max-rejects", "20%", "-", input=mixed)
    ingest(tmp / "20%", "--dataset", "d", "-", input="".join(u + "\n" for u in PAGES).encode())


def lists(tmp):
    """A line of a list that has columns is rejected wherever it stands, and what is stored is what stands on a line of its own."""
    odd = ["b1.example.net\t17", "http://site1.example.com/x\t2024-01-02", "http://site1.example.com/x,2024-01-02,title", "http://site1.example.com/x 2024-01-02",
           "http://site1.example.com/x # note", "http://site1.example.com/x http://site2.example.com/y", "b2.example.net,17", "http://site1.example.com/x\x01y"]
    blank = "http://site1.example.com/x y"
    more = [f"http://site9.example.com/{i}" for i in range(len(odd) * 20)]
    lines = more + [blank] + odd + PAGES
    data = "".join(line + "\n" for line in lines).encode()
    for way, arguments in (("auto", []), ("given", ["--format", "list"])):
        root = tmp / f"lists-{way}"
        found = dxtest.json.loads(dxtest.domaindex("ingest", "--root", root, "--dataset", "d", "--dry-run", "--json", "--memory", "64M", *arguments, "-", input=data).stdout)
        equal((found["accepted"], found["lines_with_blanks"]), (len(lines) - len(odd), 1), f"{way}: dry run")
        reason, = found["rejected"]["reasons"]
        equal((reason["reason"], reason["count"], reason["examples"][0]["line"]), ("not_one_url", len(odd), len(more) + 2), f"{way}: dry run")
        said = ingest(root, "--dataset", "d", "--rejects", tmp / f"{way}.tsv", *arguments, "-", input=data)
        check("blanks within 1 line of a list" in said, f"{way}: {said}")
        listed = [line.split("\t") for line in (tmp / f"{way}.tsv").read_text().splitlines()]
        equal([(int(r[1]), r[2]) for r in listed], [(len(more) + 2 + i, "not_one_url") for i in range(len(odd))], f"{way}: the rejects file")
        equal(rows(root), sorted((u, None) for u in [*more, *PAGES, blank.replace(" ", "%20")]), f"{way}: rows")
    # The first lines tell a mixed file.
    mixed = "".join(f"{u}\n" for u in PAGES) + "".join(f"b{i}.example.net\t17\n" for i in range(4000))
    for more in ([], ["--dry-run"]):
        said = ingest(tmp / "mixed", "--dataset", "d", *more, "-", input=mixed.encode(), expect=1)
        check(f"line {COUNT + 1}, and of 40 of the first 100" in said and "--format tsv" in said and "--format list" in said, f"mixed: {said}")
    (tmp / "mixed.txt").write_text(mixed)
    done = dxtest.domaindex("ingest", "--detect", tmp / "mixed.txt", expect=None)
    check(f"line {COUNT + 1}".encode() in done.stdout + done.stderr, f"--detect: {done.stdout} {done.stderr}")
    # CSV with a line end within a field, as tables have cells of two URLs; TSV with an old line end.
    for name, text in (("csv", 'url,n\n"http://a.com/\nhttp://b.com/",1\n'), ("tsv", "url\tn\nhttp://a.com/\rhttp://b.com/\t1\n")):
        said = ingest(tmp / "cell", "--dataset", "d", "--format", name, "-", input=text.encode(), expect=1)
        check("not_one_url" in said, f"a cell of {name}: {said}")


def left_out(tmp):
    """A file that cannot be read stops its dataset, and no other; the same run again stores the rest, and nothing twice."""
    root = tmp / "left"
    lines = [f"{u}\t{name}" for name in ("alpha", "beta", "gamma") for u in PAGES]
    data = "".join(line + "\n" for line in lines).encode()
    arguments = ("--format", "tsv", "--url-column", "1", "--dataset-column", "2", "-")
    ingest(root, "--dataset", "beta", "--format", "list", "-", input=b"http://site0.example.com/first\n")
    garbage = root / "urls" / "dataset_id=1" / "domain_prefix=00-ff" / "part-00007.parquet"
    garbage.write_bytes(b"PAR1 garbage PAR1")
    said = ingest(root, *arguments, input=data, expect=1)
    check(f"rows not stored: {COUNT}, of dataset 'beta'; those of all other datasets are in the lake" in said and garbage.name in said, f"left out: {said}")
    check(f"{'rows stored':22} {2 * COUNT:>14}" in said and f"{'rows not stored':22} {COUNT:>14}" in said, f"the summary: {said}")
    done = dxtest.domaindex("ingest", "--root", root, "--json", "--memory", "64M", *arguments, input=data, expect=1)
    found = dxtest.json.loads(done.stdout)
    equal((found["rows_stored"], found["duplicates"], found["rows_left_out"]), (0, 2 * COUNT, COUNT), "again")
    check(garbage.name in found["error"], f"the file is named: {found}")
    # Alone it is an error as it was, and nothing is stored.
    said = ingest(root, "--dataset", "beta", "--format", "list", "-", input=b"http://site0.example.com/second\n", expect=1)
    check(garbage.name in said and "rows not stored" not in said, f"alone: {said}")
    # Of a journal the inputs are not in the lake.
    (tmp / "in.tsv").write_bytes(data)
    for _ in range(2):
        said = ingest(root, *arguments[:-1], "--journal", tmp / "journal", tmp / "in.tsv", expect=1)
        check("0 of 1 inputs were in the lake, 0 were added" in said, f"a journal: {said}")
    garbage.unlink()
    said = ingest(root, *arguments, input=data)
    check(f"{'rows stored':22} {COUNT:>14}" in said, f"the file is gone: {said}")
    equal([len(rows(root, n)) for n in (1, 2, 3)], [COUNT + 1, COUNT, COUNT], "rows")


def times(tmp):
    """A bad time costs the time, not the record."""
    bad = ["02/01/2024", "20241302030405", "99991231235959", "yesterday"]
    data = "url,ts\n" + "".join(f"{u},{bad[i % 4] if i % 2 else TIME}\n" for i, u in enumerate(PAGES))
    said = ingest(tmp / "times", "--dataset", "d", "-", input=data.encode())
    check("invalid times dropped" in said and "stdin:3: " in said, f"invalid times: {said}")
    equal(rows(tmp / "times"), sorted((u, None if i % 2 else TIME) for i, u in enumerate(PAGES)), "rows with bad times")
    said = ingest(tmp / "strict", "--dataset", "d", "--require-ts", "-", input=data.encode(), expect=1)
    check("ts_invalid" in said and "30 of 60" in said, f"--require-ts: {said}")
    said = ingest(tmp / "strict", "--dataset", "d", "--require-ts", "-", input=table("url\n", "{u}"), expect=1)
    check("ts_missing" in said, f"--require-ts without times: {said}")


def columns(tmp):
    data = table("link2,title,seen\n", "{u},x,{t}")
    said = ingest(tmp / "columns", "--dataset", "d", "--format", "csv", "-", input=data, expect=1)
    check("the first line has: link2, title, seen" in said, f"unknown names: {said}")
    said = ingest(tmp / "columns", "--dataset", "d", "--url-column", "9", "--format", "csv", "-", input=data, expect=1)
    check("there is no column 9; the first line has 3: link2, title, seen" in said, f"column 9: {said}")
    said = ingest(tmp / "columns", "--dataset", "d", "--url-column", "link", "--format", "csv", "-", input=data, expect=1)
    check("has no column 'link'; it has: link2, title, seen" in said, f"column link: {said}")
    # The header is no record, whatever it is called.
    said = ingest(tmp / "columns", "--dataset", "d", "--url-column", "1", "--ts-column", "3", "--max-rejects", "0",
                  "--format", "csv", "-", input=data)
    check("url column: link2; time column: seen" in said, f"by number: {said}")
    equal(rows(tmp / "columns"), sorted((u, TIME) for u in PAGES), "by number: rows")

    # Blanks before quotes: the column is found, and the summary counts its values as invalid times.
    said = ingest(tmp / "quotes", "--dataset", "d", "--format", "csv", "-", input=table('"url", "date"\n', '"{u}", "{t}"'))
    check("time column: date" in said and f"invalid times dropped              {COUNT}" in said, f"blanks before quotes: {said}")

    # Which of two columns of one name is meant cannot be known.
    data = table("url,ts,URL,ts\n", "{u},{t},https://b.com/,{t}")
    said = ingest(tmp / "twins", "--dataset", "d", "--format", "csv", "-", input=data, expect=1)
    check("columns 1 and 3 of the header are both called 'url': give one by its number, as in --url-column 1" in said, f"two of a name: {said}")
    said = ingest(tmp / "twins", "--dataset", "d", "--format", "csv", "--url-column", "url", "-", input=data, expect=1)
    check("columns 2 and 4 of the header are both called 'ts'" in said, f"two times of a name: {said}")
    ingest(tmp / "twins", "--dataset", "d", "--format", "csv", "--url-column", "url", "--ts-column", "2", "-", input=data)
    equal(rows(tmp / "twins"), sorted((u, TIME) for u in PAGES), "by name and by number: rows")


def absent_members(tmp):
    """JSON lines may have a member later, so what is there is said where the records are rejected."""
    data = table("", '{{"link2": "{u}", "meta": {{"seen": "{t}"}}}}')
    has = "has a value of 'link'; the first has: link2, meta.seen"
    for arguments in (["--dataset", "d", "--url-column", "link"], ["--dataset-column", "link", "--url-column", "link2"],
                      ["--dataset", "d", "--url-column", "link2", "--ts-column", "link", "--require-ts"]):
        said = ingest(tmp / "members", *arguments, "--format", "jsonl", "-", input=data, expect=1)
        check(f"nothing was added to the lake; standard input: no record of the first {COUNT} {has}" in said, f"{arguments}: {said}")
    many = (json.dumps({f"{i:050}\a": PAGES[0] for i in range(300)}) + "\n").encode() * 2
    said = ingest(tmp / "members", "--dataset", "d", "--url-column", "link", "--format", "jsonl", "-", input=many, expect=1)
    check("has a value of 'link'; the first has: 000000" in said and len(said.splitlines()[-1]) < 600, f"many members: {said}")
    late = b'{"text": 1}\n' * 200 + table("", '{{"link": "{u}", "when": "{t}"}}')
    ingest(tmp / "late", "--dataset", "d", "--url-column", "link", "--ts-column", "when", "--max-rejects", "100%", "--format", "jsonl", "-", input=late)
    equal(rows(tmp / "late"), sorted((u, TIME) for u in PAGES), "a member that only later records have: rows")


def untimed(tmp):
    """Rows without a time are counted where others have one, with the input that has the first; an extra that is renamed is said."""
    for name, data in (("1.csv", "url,date\nhttp://a.com/1,2024-01-01\nhttp://a.com/4,\n"), ("2.csv", "url,n\nhttp://a.com/2,3\n"), ("3.csv", "url,seen\nhttp://a.com/3,2024-01-01\n")):
        (tmp / name).write_text(data)
    files = [tmp / f"{i}.csv" for i in (1, 2, 3)]
    said = ingest(tmp / "untimed", "--dataset", "d", *files)
    check(f"  without a time: 3 records, the first in {files[0]}\n" in said, f"rows without a time: {said}")
    said = ingest(tmp / "untimed", "--dataset", "e", files[1])
    check("without a time" not in said, f"no row has a time: {said}")
    done = dxtest.domaindex("ingest", "--root", tmp / "untimed", "--memory", "64M", "--dataset", "f", "--json", *files)
    got = dxtest.json.loads(done.stdout)
    equal((got["without_time"], got["first_without_time"]), (3, str(files[0])), "--json")
    (tmp / "names.csv").write_text("url,ts,Domain\nhttp://a.com/1,2024-01-01,x\n")
    said = ingest(tmp / "untimed", "--dataset", "g", "--extra-column", "Domain", "--extra-column", "ts", tmp / "names.csv")
    for name in ("Domain", "ts"):
        check(f"column '{name}' is stored as 'extra_{name}', as the lake has a column '{name}' itself" in said, f"an extra that is renamed: {said}")
    said = ingest(tmp / "untimed", "--dataset", "h", "--extra-column", "extra_ts=Domain", tmp / "names.csv")
    check("is stored as" not in said, f"an extra that is not renamed: {said}")


def lacking(tmp):
    """An extra column that some inputs are without is null there, and said; a name that none has is refused."""
    half = PAGES[:COUNT // 2], PAGES[COUNT // 2:]
    kinds = {
        "csv": (table("url,title\n", "{u},x", half[0]), table("lang,url\n", "en,{u}", half[1])),
        "tsv": (table("url\ttitle\n", "{u}\tx", half[0]), table("url\tlang\n", "{u}\ten", half[1])),
        # the field is there, by its letter; then a layout of seven fields
        "cdx": ((" CDX N b a m s k r M S V g\n" + "".join(f"com,example)/ 20240102030405 {u} text/html 200 AAAA - - 9 7 f.gz\n" for u in half[0])).encode(),
                "".join(f"com,example)/ 20240102030405 {u} text/html 200 AAAA 77\n" for u in half[1]).encode()),
    }
    for kind, (with_it, without) in kinds.items():
        column, name = ("g", "filename") if kind == "cdx" else ("title", "title")
        value = "f.gz" if kind == "cdx" else "x"
        for number, (data, other) in enumerate(((with_it, without), (without, with_it))):
            if not dxtest.WHOLE and number == {"tsv": 1, "cdx": 0}.get(kind):
                continue    # in the gate one of them in both orders
            first, second = tmp / f"{kind}{number}-1.{kind}", tmp / f"{kind}{number}-2.{kind}"
            first.write_bytes(data)
            second.write_bytes(other)
            root = tmp / f"{kind}{number}"
            done = dxtest.domaindex("ingest", "--root", root, "--memory", "64M", "--dataset", "d", "--extra-column", column, first, second, first)
            said = done.stderr.decode()
            lines = [line for line in said.splitlines() if f"no column: {column} (null)" in line]
            equal([line.partition(":")[0] for line in lines], [str(first)] * 2 if number else [str(second)], f"{kind}: the inputs that are said to lack it: {said}")
            check(f"column '{column}' is null in {COUNT // 2 * (2 if number else 1)} records: inputs without it: {2 if number else 1} of 3" in said, f"{kind}: the summary: {said}")
            dxtest.domaindex("publish", "--root", root, "--memory", "64M", "--quiet")
            done = dxtest.domaindex("lookup", "--root", root, "--dataset", 1, "--limit", 1000, "--fields", "url,ts,extras", "example.com")
            got = sorted((item["url"], item["ts"], (item.get("extras") or {}).get(name)) for item in dxtest.json.loads(done.stdout)["items"])
            equal(got, [(u, TIME if kind == "cdx" else None, value if u in half[0] else None) for u in sorted(PAGES)], f"{kind}: rows")
            said = ingest(tmp / "none", "--dataset", "d", "--extra-column", "titel", first, second, expect=1)
            check("none of 2 inputs has a column 'titel'; nothing was added" in said, f"{kind}: a column that none has: {said}")
            check(not list((tmp / "none").glob("urls/dataset_id=*")), "a refused run left rows")
    # One input must have it at once; a line without a header is never taken for one on account of an extra alone.
    said = ingest(tmp / "none", "--dataset", "d", "--extra-column", "lang", tmp / "csv0-1.csv", expect=1)
    check("the header has no column 'lang'; it has: url, title" in said, f"one input: {said}")
    (tmp / "bare.tsv").write_bytes(table("", "{u}\tx"))
    (tmp / "some.tsv").write_bytes(table("address\tlang\n", "{u}\ten"))
    said = ingest(tmp / "none", "--dataset", "d", "--url-column", "1", "--extra-column", "lang", tmp / "some.tsv", tmp / "bare.tsv", expect=1)
    check("bare.tsv: the header has no column 'lang'" in said, f"a file without a header: {said}")
    # What a record has is seen at the end; a step of a journal is not all of the inputs.
    (tmp / "a.jsonl").write_bytes(table("", '{{"url": "{u}", "lang": ""}}'))
    said = ingest(tmp / "json", "--dataset", "d", "--extra-column", "lang", "--extra-column", "url", tmp / "a.jsonl")
    check("WARNING: no record has a value of the column 'lang'" in said and "column 'url'" not in said, f"JSON lines: {said}")
    done = dxtest.domaindex("ingest", "--root", tmp / "json", "--memory", "64M", "--dataset", "e", "--extra-column", "lang", "--json", tmp / "a.jsonl", tmp / "csv0-1.csv", tmp / "csv0-2.csv")
    equal(dxtest.json.loads(done.stdout)["extras_lacking"], [{"column": "lang", "inputs": 2, "first": str(tmp / "a.jsonl"), "records": COUNT + COUNT // 2, "has_value": True}], "--json")
    said = ingest(tmp / "steps", "--dataset", "d", "--extra-column", "lang", "--journal", tmp / "journal", "--journal-step", "1", tmp / "csv0-1.csv", tmp / "csv0-2.csv")
    check("inputs without it: 1 of 1" in said and "2 were added" in said, f"a step without the column: {said}")


def capture(url, more=""):
    body = f"HTTP/1.1 200 OK\r\nServer: x\r\n{more}\r\n"
    return (f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\nWARC-Date: {TIME}\r\nContent-Type: application/http; msgtype=response\r\n"
            f"Content-Length: {len(body)}\r\n\r\n{body}\r\n\r\n").encode()


def named_by_records(tmp):
    """Where each record has columns of its own, a time column that is named and that none has is refused, as an absent column of a header is."""
    inputs = {
        "jsonl": table("", '{{"url": "{u}", "when": "{t}"}}'),
        "cdxj": table("", 'com,example)/ 20240102030405 {{"url": "{u}", "when": "{t}"}}'),
        "warc": b"".join(capture(u, f"when: {TIME}\r\n") for u in PAGES),
    }
    for kind, data in inputs.items():
        before, file = "http." if kind == "warc" else "", tmp / f"a.{kind}"
        file.write_bytes(data)
        at = ("--dataset", "d", "--format", kind, "--ts-column")
        said = ingest(tmp / kind, *at, f"{before}wen", file, expect=1)
        check(f"no record has the time column '{before}wen'; nothing was added to the lake" in said, f"{kind}: {said}")
        check(kind != "jsonl" or f"; {file}: no record of the first {COUNT} has a value of 'wen'; the first has: url, when" in said, f"{kind}: what there is: {said}")
        check(not list((tmp / kind).glob("urls/dataset_id=*")), f"{kind}: a refused run left rows")
        said = ingest(tmp / kind, *at, f"{before}wen", "--journal", tmp / f"{kind}.journal", file, expect=1)
        check("no record has the time column" in said and "0 were added" in said, f"{kind}: a step: {said}")
        done = dxtest.domaindex("ingest", "--root", tmp / kind, "--memory", "64M", *at, f"{before}wen", "--max-rejects", "100%", "--json", file)
        want = {"column": f"{before}wen", "inputs": 1, "first": str(file), "records": COUNT, "has_value": False}
        equal(dxtest.json.loads(done.stdout)["time_lacking"], want, f"{kind}: whatever it is: --json")
        done = dxtest.domaindex("ingest", "--root", tmp / f"{kind}2", "--memory", "64M", *at, f"{before}when", "--json", file)
        equal(dxtest.json.loads(done.stdout)["time_lacking"], None, f"{kind}: its name: --json")
        equal(rows(tmp / f"{kind}2"), sorted((u, TIME) for u in PAGES), f"{kind}: rows")


def lacking_values(tmp):
    """A column that is there without a value, and one that some inputs are without: warnings, which --quiet prints too."""
    half = PAGES[:COUNT // 2], PAGES[COUNT // 2:]
    files = [tmp / name for name in ("1.jsonl", "2.jsonl", "3.jsonl")]
    files[0].write_bytes(table("", '{{"url": "{u}", "when": "{t}", "lang": "en"}}', half[0]))
    files[1].write_bytes(table("", '{{"url": "{u}"}}', half[1]) + table("", '{{"link": "{u}"}}', half[1][:1]))
    files[2].write_bytes(table("", '{{"link": "{u}", "when": 3}}', half[1][:1]))  # no row: what it would have is not known
    at = ("--dataset", "d", "--url-column", "url", "--ts-column", "when", "--extra-column", "lang", "--max-rejects", "20%")
    for more in ((), ("--quiet",)):
        said = ingest(tmp / "some", *at, *files, *more)
        for column in ("when", "lang"):
            check(f"  WARNING: column '{column}' is null in {COUNT // 2 + 1} records: inputs without it: 1 of 3, the first {files[1]}\n" in said, f"{column}: {said}")
        check(not more or len(said.splitlines()) == 2, f"--quiet: the warnings alone: {said}")
    said = ingest(tmp / "some", *at, files[0], "--quiet")
    equal(said, "", "a run without a warning")
    nulls = (tmp / "null.jsonl", table("", '{{"url": "{u}", "when": null}}')), (tmp / "list.jsonl", table("", '{{"pages": [{{"url": "{u}", "when": ""}}]}}')), \
        (tmp / "empty.csv", table("url,when\n", "{u},"))
    for file, data in nulls:
        file.write_bytes(data)
        before = "pages." if file.name == "list.jsonl" else ""
        said = ingest(tmp / f"{file.name}-root", "--dataset", "d", "--url-column", f"{before}url", "--ts-column", f"{before}when", "--quiet", file)
        check(f"  WARNING: no record has a value of the time column '{before}when'\n" in said, f"{file.name}: {said}")
        equal(rows(tmp / f"{file.name}-root"), sorted((u, None) for u in PAGES), f"{file.name}: rows")
    said = ingest(tmp / "members", "--dataset", "d", "--url-column", "pages.url", "--ts-column", "pages.wen", tmp / "list.jsonl", expect=1)
    check("no record has the time column 'pages.wen'" in said, f"in a list: {said}")


def snapshot(root):
    return {str(p.relative_to(root)): p.read_bytes() for p in sorted(pathlib.Path(root).rglob("*"))
            if p.is_file() and p.name != ".lock"}


def same_files(root, before, words):
    now = snapshot(root)
    equal(sorted(n for n in {*now, *before} if now.get(n) != before.get(n)), [], words)


def dry_runs(tmp):
    root = tmp / "dry"
    data = table("url,ts\n", "{u},{t}") + b"mailto:x,\n"
    said = ingest(root, "--dataset", "d", "--dry-run", "-", input=data)
    check("nothing was written" in said and f"{TIME}  {PAGES[0]}" in said and "mailto:x" in said, f"ingest: {said}")
    check(not root.exists(), "a dry run made the root")
    ingest(root, "--dataset", "d", "--dry-run", "-", input=b"mailto:x\n", expect=1)
    for i in range(2):
        ingest(root, "--dataset", f"d{i}", "-", input=table("url,ts\n", "{u},{t}", PAGES[:30 * (i + 1)]))
        if i == 0:
            dxtest.domaindex("publish", "--root", root, "--memory", "64M")
    before = snapshot(root)
    current = dxtest.domaindex("rollback", "--root", root, "--dry-run", "1")
    check(b"is current already" in current.stderr, "rollback to the current version")
    done = dxtest.domaindex("publish", "--root", root, "--dry-run")
    check(b"new: 1," in done.stderr and done.stdout == b"", f"publish: {done.stderr}")
    done = dxtest.domaindex("remove", "--root", root, "--dataset", "d0", "--dry-run")
    check(b"would be removed: d0" in done.stderr, f"remove: {done.stderr}")
    dxtest.domaindex("remove", "--root", root, "--dataset", "none", "--dry-run", expect=1)
    done = dxtest.domaindex("suppress", "add", "--root", root, "--domain", "example.com", "--dry-run")
    check(b"domain withheld example.com" in done.stdout and b"nothing is written" in done.stderr, f"suppress: {done}")
    same_files(root, before, "dry runs changed the root")
    dxtest.domaindex("publish", "--root", root, "--memory", "64M")
    before = snapshot(root)
    done = dxtest.domaindex("rollback", "--root", root, "--dry-run", "1")
    check(b"would become current" in done.stderr, f"rollback: {done.stderr}")
    same_files(root, before, "a dry rollback changed the root")


def words(tmp):
    for arguments, want in ((["ingst"], "did you mean 'ingest'?"), (["--root", "x", "ingest"], "options follow the command"),
                            (["help", "publsh"], "did you mean 'publish'?"),
                            (["ingest", "--url_column", "x"], "did you mean '--url-column'?"),
                            (["ingest", "--colum", "x"], "did you mean '--"),
                            (["publish", "--root", tmp, "--memory", "10"], "10 is too small; give 64M to 64T"),
                            (["publish", "--root", tmp, "--threads", "x"], "'x' is not a whole number"),
                            (["publish", "--root", tmp, "example.org"], "unexpected argument 'example.org'"),
                            (["ingest", "--root", tmp, "--dataset", "a", "x.txt", "--dataset", "b", "y.txt"], "--dataset is given twice, as 'a' and 'b'"),
                            (["lookup", "--root", tmp, "--root", "other", "example.org"], "--root is given twice"),
                            (["suppress", "--root", tmp, "add", "example.org"], "--domain")):
        said = dxtest.domaindex(*arguments, expect=2).stderr.decode()
        check(want in said, f"{arguments}: {want!r} in {said}")
    for address in ("file:///tmp/x.txt", "gs://bucket/x.parquet"):
        said = dxtest.domaindex("ingest", "--root", tmp / "none", "--dataset", "d", address, expect=1).stderr.decode()
        check("such an address is not read; name a path" in said, f"{address}: {said}")
    for program in (dxtest.DOMAINDEX, dxtest.DOMAINDEXD):
        said = dxtest.run(program, "--version").stdout.decode().splitlines()
        check(said[0].startswith(f"{program.name} ") and "manifest" in said[1] and "zstd" in said[2], f"--version: {said}")


def waiting(tmp):
    """A command with --wait ends when the other writer has; without it, it is refused at once."""
    root = tmp / "waiting"
    ingest(root, "--dataset", "d", "-", input=table("", "{u}"))
    with open(root / ".lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        said = dxtest.domaindex("publish", "--root", root, "--memory", "64M", expect=1).stderr
        check(b"--wait SECONDS" in said, f"a locked root: {said}")
        free = threading.Timer(1, lambda: fcntl.flock(lock, fcntl.LOCK_UN))
        free.start()
        dxtest.domaindex("publish", "--root", root, "--memory", "64M", "--wait", "300")
        free.join()


def json_summary(tmp):
    """--json: one line, the same counts as the text, and where nothing is stored the reason."""
    mixed = ("".join(u + "\n" for u in PAGES) + "".join(f"mailto:a{i}@b\n" for i in range(10))).encode()
    for share, stored in (("20%", COUNT), ("1%", 0)):
        done = dxtest.domaindex("ingest", "--root", tmp / "root", "--memory", "64M", "--dataset", share, "--json",
                                "--max-rejects", share, "-", input=mixed, expect=0 if stored else 1)
        said = dxtest.json.loads(done.stdout)
        equal(done.stdout.count(b"\n"), 1, "one line")
        equal((said["records"], said["accepted"], said["rows_stored"]), (COUNT + 10, COUNT, stored), "counts")
        reason, = said["rejected"]["reasons"]
        equal((reason["count"], said["rejected"]["total"]), (10, 10), "rejects")
        equal([(e["input"], e["line"], e["text"]) for e in reason["examples"]],
              [("-", COUNT + 1 + i, f"mailto:a{i}@b") for i in range(3)], "the first three")
        equal("nothing was added" in said.get("error", ""), stored == 0, "the error")
    done = dxtest.domaindex("ingest", "--root", tmp / "root", "--memory", "64M", "--dataset", "d", "--json",
                            "--dry-run", "-", input=mixed[:1000])
    equal((dxtest.json.loads(done.stdout)["dry_run"], dxtest.json.loads(done.stdout)["rows_stored"]), (True, 0), "dry run")


def main():
    dxtest.need_programs()
    for part in (good, refused, streams, pipes, rejects, lists, left_out, json_summary, times, columns, absent_members, untimed, lacking, named_by_records, lacking_values, dry_runs, words, waiting):
        with dxtest.tempdir() as tmp:
            part(tmp)
    dxtest.finish()


if __name__ == "__main__":
    main()
