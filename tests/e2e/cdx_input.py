#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: peers
"""CDX and CDXJ as input of ingest: the indexes of a real archive, ZipNum shards, and lines of each layout.

The rows of each sample of pywb (conformance/cdx-pywb) are those that a few lines of Python read. Made files: 7, 9, 10, 11
and 14 fields with and without a header, letters as columns, "-" as null (in CDXJ too), @alias and !meta lines, a header that changes,
damaged lines; the array of arrays of a CDX server. $DX_PEERS_PYTHON names the python that has pyarrow. Exit 77: skipped.
"""
import gzip
import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dxtest  # noqa: E402

try:
    import lake
except ImportError:
    print(f"SKIPPED: no pyarrow in {sys.executable}; set DX_PEERS_PYTHON")
    sys.exit(77)

SAMPLES = pathlib.Path(os.environ.get("DX_SHARED_DATA", dxtest.SOURCE.parent / "shared" / "data")) / "conformance/cdx-pywb/sample_archive"
NAMES = ["urlkey", "timestamp", "original", "mimetype", "statuscode", "digest", "redirect", "robotflags", "length", "offset", "filename"]


def time_of(digits):
    return f"{digits[:4]}-{digits[4:6]}-{digits[6:8]}T{digits[8:10]}:{digits[10:12]}:{digits[12:14]}Z"


def expected(text):
    """(number of records, times of those that have a URL with a registered domain) by lines of Python."""
    records = []
    for line in text.splitlines():
        if line[:1] in (" ", "!", "@") or not line:
            continue
        key, stamp, rest = line.split(" ", 2)
        url = json.loads(rest)["url"] if rest.startswith("{") else rest.split(" ")[0]
        if "httpbin.org" not in url:     # a public suffix, by its own rule
            records.append((url, time_of(stamp)))
    return records


def ingest(root, *arguments, expect=0, **options):
    return dxtest.domaindex("ingest", "--root", root, *arguments, expect=expect, **options)


def samples(tmp):
    paths = sorted(p for p in SAMPLES.rglob("*.cdx*")) if SAMPLES.exists() else []
    if not paths:
        print("SKIPPED in part: no CDX samples in DX_SHARED_DATA")
        return
    compared = 0
    for path in paths:
        data = path.read_bytes()
        text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
        want = expected(text)
        root = tmp / "samples" / path.parent.name / path.name
        done = ingest(root, "--dataset", "d", "--max-rejects", "100%", path)
        if not want:
            continue
        rows = lake.stored(root, "d")
        said = int(done.stderr.decode().split("records read")[1].split()[0].replace(",", ""))
        dxtest.equal(said, sum(1 for line in text.splitlines() if line and line[0] not in " !@"), f"{path.name}: records")
        dxtest.equal(sorted({t for _, t in rows}), sorted({t for _, t in want}), f"{path.name}: times")
        dxtest.check(len(rows) <= len(want), f"{path.name}: {len(rows)} rows of {len(want)} records")
        hosts = {u.split("/")[2].rpartition("@")[2].lower().split("?")[0] for u, _ in want}
        dxtest.equal({u.split("/")[2] for u, _ in rows}, hosts, f"{path.name}: hosts")
        compared += len(rows)
    dxtest.check(compared > 500, f"only {compared} rows were compared")


def line(i, fields):
    values = {"urlkey": f"com,site{i})/p", "timestamp": f"202401{i % 28 + 1:02}030405", "original": f"http://www.site{i}.com/p", "mimetype": "text/html",
              "statuscode": "200" if i % 2 else "-", "digest": f"SHA{i}", "redirect": "-", "robotflags": "-", "length": str(100 + i), "offset": str(i * 7),
              "filename": "a.warc.gz"}
    return " ".join(values.get(f, "-") for f in fields) + "\n"


def layouts(tmp):
    nine = [n for n in NAMES if n not in ("robotflags", "length")]
    ten = [n for n in NAMES if n != "length"]
    seven = [*NAMES[:6], "length"]   # as the Wayback Machine's CDX server answers
    fourteen = [*NAMES, "orig_length", "orig_offset", "orig_filename"]
    letters = dict(zip(NAMES, "NbamskrMSVg"))
    want = [(f"http://www.site{i}.com/p", time_of(f"202401{i % 28 + 1:02}030405"), "200" if i % 2 else None) for i in range(100)]
    for fields in (seven, nine, ten, NAMES, fourteen):
        body = "".join(line(i, fields) for i in range(100))
        header = " CDX " + " ".join(letters.get(f, "?") for f in fields) + "\n"
        for words, text, column in (("bare", body, "statuscode"), ("header", header + body, "statuscode"), ("letter", header + body, "s"),
                                    ("alias", "!meta 0 {}\n@alias x y\n" + header.lstrip() + body[:500] + body[500:], "statuscode"),
                                    ("again", header + body + header + body, "statuscode")):
            root = tmp / f"{len(fields)}-{words}"
            (tmp / "in.cdx.gz").write_bytes(b"".join(gzip.compress(part.encode()) for part in (text[:3000], text[3000:])))
            ingest(root, "--dataset", "d", "--extra-column", column, tmp / "in.cdx.gz")
            dxtest.equal(sorted(lake.stored(root, "d"), key=str), sorted(want, key=str), f"{len(fields)} fields, {words}")
    other = " CDX N b a\n" + line(1, NAMES[:3]) + " CDX a b N\n" + line(2, NAMES[:3])
    done = ingest(tmp / "none", "--dataset", "d", "-", input=other.encode(), expect=1)
    dxtest.check(b"line 3 is a CDX header that differs from the first one" in done.stderr, f"another header: {done.stderr}")
    done = ingest(tmp / "none", "--dataset", "d", "--extra-column", "nothing", "-", input=(" CDX N b a\n" + line(1, NAMES[:3])).encode(), expect=1)
    dxtest.check(b"no field 'nothing'; they have 3: urlkey, timestamp, original" in done.stderr, f"a field that is not there: {done.stderr}")
    done = ingest(tmp / "none", "--dataset", "d", "-", input=line(1, NAMES[:8]).encode(), expect=1)
    dxtest.check(b"7, 9, 10, 11, 14" in done.stderr, f"eight fields: {done.stderr}")


def first_lines(tmp):
    """What stands first must not hide what the file is: look-ups of names, a URL with a space, times with a fraction."""
    good = "".join(line(i, NAMES) for i in range(30))
    want = sorted((f"http://www.site{i}.com/p", time_of(f"202401{i % 28 + 1:02}030405")) for i in range(30))
    spaced = "com,a)/b%20c 20240102030405 http://a.com/b c text/html 200 AAAA - - 123 456 f.warc.gz\n"
    for name, first, why in (("dns", "dns:a.com 20240102030405 dns:a.com text/dns - AAAA - - 1 4 f.warc.gz\n", b"scheme "), ("space", spaced, b"record_malformed "),
                             ("space-late", good + spaced, b"record_malformed ")):
        for head in ("", " CDX N b a m s k r M S V g\n"):
            root = tmp / f"first-{name}-{len(head)}"
            done = ingest(root, "--dataset", "d", tmp_file(tmp, "first.cdx", head + first + (good if name != "space-late" else "")))
            dxtest.equal(sorted(lake.stored(root, "d")), want, f"{name} first: rows")
            dxtest.check(why in done.stderr and b"rejected                            1\n" in done.stderr, f"{name} first: {done.stderr}")
    ingest(tmp / "space-file", "--dataset", "d", "--extra-column", "statuscode", tmp_file(tmp, "f.cdx", " CDX N b a m s k r M S V g\n" + good.replace("a.warc.gz", "a b.warc.gz")))
    dxtest.equal(sorted(row[:2] for row in lake.stored(tmp / "space-file", "d")), want, "a space in the name of the WARC shifts nothing before it")
    ingest(tmp / "fraction", "--dataset", "d", tmp_file(tmp, "fraction.cdxj", 'com,a)/ 20240102030405678 {"url": "http://a.com/"}\n'))
    dxtest.equal(lake.stored(tmp / "fraction", "d"), [("http://a.com/", "2024-01-02T03:04:05Z")], "seventeen digits")


def server_answers(tmp):
    """The Internet Archive's JSON: rows as json of Python reads them; "-" and null are null; the key to go on with is not a record."""
    rows = [[f"com,site{i})/p", f"202401{i % 28 + 1:02}030405", f"http://www.site{i}.com/p?q=\"é, {i}", "text/html", "200" if i % 2 else "-", f"SHA{i}", 100 + i if i % 3 else None]
            for i in range(3000 if dxtest.WHOLE else 1000)]
    head = ["urlkey", "timestamp", "original", "mimetype", "statuscode", "digest", "length"]
    texts = {"lines": "[" + ",\n".join(json.dumps(r) for r in [head, *rows]) + "]\n", "one-line": json.dumps([head, *rows]), "indented": json.dumps([head, *rows], indent=1),
             "utf8": json.dumps([head, *rows], ensure_ascii=False), "resume": json.dumps([head, *rows, [], ["com%2Csite9%29%2F+20240101"]])}
    for name, text in texts.items():
        given = json.loads(text)
        want = sorted(((u.replace('"', "%22").replace("é", "%C3%A9").replace(" ", "%20"), time_of(t), None if s == "-" else s, None if n is None else str(n))
                       for _, t, u, _, s, _, n in given[1:1 + len(rows)]), key=str)
        for path, data in ((tmp / f"{name}.json", text.encode()), (tmp / f"{name}.gz", gzip.compress(text.encode()))):
            path.write_bytes(data)
            root = tmp / f"api-{path.name}"
            said = ingest(root, "--dataset", "d", "--extra-column", "statuscode", "--extra-column", "length", path).stderr.decode()
            dxtest.check("cdx-json with a header; url column: original; time column: timestamp" in said, f"{path.name}: {said}")
            dxtest.equal(sorted(lake.stored(root, "d"), key=str), want, path.name)
    said = dxtest.domaindex("ingest", "--detect", tmp / "lines.json").stdout.decode()
    dxtest.check("cdx-json" in said and "original" in said, f"--detect: {said}")
    bad = json.dumps([head, *rows[:10], ["x", ["nested"], "http://a.com/"], {"url": "http://a.com/"}, *rows[10:20]])
    done = ingest(tmp / "bad-rows", "--dataset", "d", "--max-rejects", "50%", "-", input=bad.encode())
    dxtest.check(b"rejected                            2" in done.stderr and len(lake.stored(tmp / "bad-rows", "d")) == 20, f"damaged rows are counted: {done.stderr}")
    joined = json.dumps([head, *rows[:10], [], ["key"], head, *rows[10:20], [], ["key"]])  # as jq -s add makes of two answers
    done = ingest(tmp / "none", "--dataset", "d", "-", input=joined.encode(), expect=1)
    dxtest.check(b"has rows behind the key to go on with" in done.stderr, f"two answers in one array: {done.stderr}")
    done = ingest(tmp / "none", "--dataset", "d", "-", input=texts["lines"][:5000].encode(), expect=1)
    dxtest.check(b"ends at offset 5000 before it is closed" in done.stderr, f"an answer cut short: {done.stderr}")


def same_nulls(tmp):
    """A field that is "-" is null in CDX and in CDXJ; in JSON lines it is a text."""
    extras = ("mime", "status", "digest", "length")
    values = {"original": "http://www.site1.com/p", "mimetype": "-", "statuscode": "-", "digest": "-", "length": "-", "redirect": "-", "robotflags": "-", "offset": "-",
              "filename": "-", "urlkey": "com,site1)/p", "timestamp": "20240102030405"}
    given = {"url": values["original"], **{name: "-" for name in (*extras, "offset", "filename")}}
    cdx = ("mimetype", "statuscode", "digest", "length")
    for name, names, text in (("cdx", cdx, " ".join(values[f] for f in NAMES) + "\n"),
                              ("cdxj", extras, f"{values['urlkey']} {values['timestamp']} {json.dumps(given)}\n")):
        more = [word for column in names for word in ("--extra-column", column)]
        ingest(tmp / f"dash-{name}", "--dataset", "d", "--locators", *more, tmp_file(tmp, f"dash.{name}", text))
        row, = lake.stored(tmp / f"dash-{name}", "d")
        dxtest.equal(row[:6], (values["original"], "2024-01-02T03:04:05Z", None, None, None, None), f"{name}: fields that are '-'")
    ingest(tmp / "dash-jsonl", "--dataset", "d", "--extra-column", "status", tmp_file(tmp, "dash.jsonl", json.dumps(given) + "\n"))
    dxtest.equal([row[-1] for row in lake.stored(tmp / "dash-jsonl", "d")], ["-"], "JSON lines: a text is a text")


def tmp_file(tmp, name, text):
    (tmp / name).write_text(text)
    return tmp / name


def damaged(tmp):
    good = [f'com,site{i})/ 20240101000000 {{"url": "http://site{i}.com/", "status": "200"}}\n' for i in range(20)]
    bad = ["com,a)/ 20240101000000 {broken\n", "com,a)/ yesterday {\"url\": \"http://a.com/\"}\n", "one-word\n",
           'com,a)/ 20240101000000 {"status": "200"}\n']
    done = ingest(tmp / "bad", "--dataset", "d", "--extra-column", "status", "--max-rejects", "50%", "-", input="".join(good[:10] + bad + good[10:]).encode())
    dxtest.equal(sorted(lake.stored(tmp / "bad", "d")), sorted((f"http://site{i}.com/", "2024-01-01T00:00:00Z", "200") for i in range(20)), "rows beside damage")
    dxtest.check(b"rejected                            4" in done.stderr, f"damaged lines are counted: {done.stderr}")


def precisions(tmp):
    """Digits are a date at any precision in CDX, CDXJ and WARC, never Unix time; so are WARC-Date's shorter forms."""
    want = {"20140127171238": "2014-01-27T17:12:38Z", "2014": "2014-01-01T00:00:00Z", "201405": "2014-05-01T00:00:00Z",
            "20140506": "2014-05-06T00:00:00Z", "2014050607": "2014-05-06T07:00:00Z", "201405060708": "2014-05-06T07:08:00Z",
            "20140506070809123": "2014-05-06T07:08:09Z", "201405060708090000": "2014-05-06T07:08:09Z", "1400000000": None, "20141": None}
    dated = {"2014": "2014-01-01T00:00:00Z", "2014-05": "2014-05-01T00:00:00Z", "2014-05-06": "2014-05-06T00:00:00Z",
             "2014-05-06T07:08Z": "2014-05-06T07:08:00Z", "2014-05-06T07:08:09.5Z": "2014-05-06T07:08:09Z"}
    texts = {"p.cdx": "".join(f"com,a)/{t} {t} http://a.com/{t} text/html 200 AAA - - 1 2 f.warc.gz\n" for t in want),
             "p.cdxj": "".join(f'com,a)/{t} {t} {{"url": "http://a.com/{t}"}}\n' for t in want),
             "p.json": json.dumps([["timestamp", "original"], *([t, f"http://a.com/{t}"] for t in want)]),
             "p.warc": "".join(f"WARC/1.1\r\nWARC-Type: resource\r\nWARC-Target-URI: http://a.com/{t}\r\nWARC-Date: {t}\r\nContent-Length: 0\r\n\r\n\r\n\r\n"
                               for t in dated)}
    for name, text in texts.items():
        ingest(tmp / f"root-{name}", "--dataset", "d", tmp_file(tmp, name, text))
        got = {row[0].rsplit("/", 1)[1]: row[1] for row in lake.stored(tmp / f"root-{name}", "d")}
        dxtest.equal(got, dated if name == "p.warc" else want, f"{name}: times")


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        samples(tmp)
        layouts(tmp)
        first_lines(tmp)
        server_answers(tmp)
        same_nulls(tmp)
        damaged(tmp)
        precisions(tmp)
    dxtest.finish()


if __name__ == "__main__":
    main()
