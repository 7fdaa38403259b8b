#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: peers
"""Back to the source: the record at a row's locator is the one that another program finds.

WARC files (gzip and zstd record by record, plain) that warcio wrote, found through CDXJ and CDX with offsets that
warcio found; Parquet rows against pyarrow's; lines of plain and compressed text. Locators that are hostile, files
that have changed, rows that differ only in their locator, suppressions, one request to a web server. $DX_PEERS_PYTHON
names the python that has warcio and pyarrow. Exit 77: skipped.
"""
import datetime
import decimal
import gzip
import io
import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dxtest  # noqa: E402
import stores  # noqa: E402

try:
    import pyarrow as pa
    import pyarrow.parquet as pq
    import warcio
    import warcio.archiveiterator
    import warcio.statusandheaders
    import warcio.warcwriter
    import zstandard
except ImportError as missing:
    print(f"SKIPPED: {missing} in {sys.executable}; set DX_PEERS_PYTHON")
    sys.exit(77)

RECORDS = 8


def url_of(kind, i):
    return f"http://{kind}{i}.example.com/p?i={i}"


def ingest(root, *arguments, **options):
    return dxtest.domaindex("ingest", "--root", root, "--locators", *arguments, **options)


def fetch(*arguments, **options):
    return dxtest.domaindex("fetch-record", *arguments, **options)


def refused(words, *arguments):
    done = fetch(*arguments, expect=1)
    dxtest.check(words in done.stderr.decode(), f"{arguments}: {done.stderr.decode()!r} lacks {words!r}")
    dxtest.equal(done.stdout, b"", f"{arguments}: standard output")


def locators(root, dataset, **where):
    """{URL: locator} of a listing."""
    answer = dxtest.domaindex("lookup", "--root", root, "--dataset", dataset, "--fields", "url,locator", "example.com", **where)
    return {item["url"]: item["locator"] for item in json.loads(answer.stdout)["items"]}


# ------------------------------------------------------------------------------------- WARC

def write_warc(path, kind, gzipped):
    with path.open("wb") as out:
        writer = warcio.warcwriter.WARCWriter(out, gzip=gzipped)
        writer.write_record(writer.create_warcinfo_record(path.name, {"software": "a test"}))
        for i in range(RECORDS):
            head = warcio.statusandheaders.StatusAndHeaders("200 OK", [("Content-Type", "text/html")], protocol="HTTP/1.1")
            writer.write_record(writer.create_warc_record(url_of(kind, i), "response", payload=io.BytesIO(b"page %d\n" % i * (1 + i * 3000)),
                                                          http_headers=head, warc_headers_dict={"WARC-Date": f"2024-01-0{i + 1}T00:00:00Z"}))


def as_zstd(plain, path):
    """The records of a plain file as frames; {URL: (offset, length)}."""
    places, data = {}, plain.read_bytes()
    with path.open("wb") as out:
        for url, (offset, length) in find(plain).items():
            places[url] = (out.tell(), out.write(zstandard.compress(data[offset:offset + length])))
    return places


def find(path):
    """{URL: (offset, length)} by warcio."""
    found = {}
    with path.open("rb") as stream:
        records = warcio.archiveiterator.ArchiveIterator(stream)
        for record in records:
            record.content_stream().read()
            if record.rec_type == "response":
                found[record.rec_headers.get_header("WARC-Target-URI")] = (records.get_record_offset(), records.get_record_length())
    return found


def index_lines(name, places):
    for url, (offset, length) in places.items():
        host = url.split("/")[2]
        yield f"com,example,{host.split('.')[0]})/p 20240101000000 " + json.dumps(
            {"url": url, "status": "200", "filename": name, "offset": str(offset), "length": str(length)}) + "\n"


def check_warc(root, base, path, places, behind=b""):
    """Each row leads to the bytes that warcio found, and what is there is the page. behind: the line ends that warcio
    does not count in a plain file."""
    data = path.read_bytes()
    for url, (offset, length) in places.items():
        raw = fetch("--root", root, "--base", base, url).stdout
        dxtest.check(raw == data[offset:offset + length] + behind, f"{path.name}: {url}: {len(raw)} bytes, not the {length} at {offset}")
        plain = fetch("--root", root, "--base", base, "--decompress", url).stdout
        record = next(iter(warcio.archiveiterator.ArchiveIterator(io.BytesIO(plain))))
        dxtest.equal(record.rec_headers.get_header("WARC-Target-URI"), url, f"{path.name}: {url}: decompressed")
        i = int(url.split("=")[1])
        dxtest.equal(len(record.content_stream().read()), len(b"page 0\n") * (1 + i * 3000), f"{path.name}: {url}: bytes of the page")


def warc(tmp):
    files, root = tmp / "warc", tmp / "warc-root"
    (files / "crawl").mkdir(parents=True)
    gz, plain, zst = (files / "crawl" / name for name in ("a.warc.gz", "b.warc", "c.warc.zst"))
    write_warc(gz, "gz", True)
    write_warc(plain, "plain", False)
    places = {gz: find(gz), plain: find(plain)}
    write_warc(tmp / "z.warc", "zst", False)
    places[zst] = as_zstd(tmp / "z.warc", zst)
    for path, found in places.items():
        dxtest.equal(len(found), RECORDS, f"{path}: records that warcio finds")
        with (tmp / "index.cdxj").open("a") as out:
            out.writelines(index_lines(f"crawl/{path.name}", found))
    ingest(root, "--dataset", "d", tmp / "index.cdxj")
    dxtest.domaindex("publish", "--root", root)
    said = locators(root, 1)
    for path, found in places.items():
        for url, (offset, length) in found.items():
            dxtest.equal(said[url], f"crawl/{path.name}#warc={offset}+{length}", f"locator of {url}")
        check_warc(root, files, path, dict(list(found.items())[::3]))
    # CDX of nine fields does not say how long a record is.
    nine = "".join(f"com,example)/ 20240101000000 {url} text/html 200 X - {offset} crawl/{path.name}\n"
                   for path, found in places.items() for url, (offset, _) in found.items())
    (tmp / "nine.cdx").write_text(nine)
    ingest(tmp / "nine-root", "--dataset", "d", tmp / "nine.cdx")
    dxtest.domaindex("publish", "--root", tmp / "nine-root")
    for path, found in places.items():
        for i in (0, RECORDS - 1):     # the rest of the file is read with the first one
            url = url_of({gz: "gz", plain: "plain", zst: "zst"}[path], i)
            dxtest.equal(locators(tmp / "nine-root", 1)[url], f"crawl/{path.name}#warc={found[url][0]}", "a locator without a length")
            check_warc(tmp / "nine-root", files, path, {url: found[url]}, b"\r\n\r\n" if path == plain else b"")
    one_request(tmp, root, files, gz, places[gz])
    changed(root, files, gz, places[gz])
    line_ends(tmp)


def line_ends(tmp):
    """Writers that end lines of the head, or the record, in LF alone: what ingest takes fetch-record finds; other bytes it refuses."""
    folder, root = tmp / "ends", tmp / "ends-root"
    folder.mkdir()
    records = [f"WARC/1.0{eol}WARC-Type: resource{eol}WARC-Target-URI: http://end{i}.com/{eol}WARC-Date: 2024-01-01T00:00:00Z{eol}"
               f"Content-Length: 2{eol}{eol}hi{end}".encode()
               for i, (eol, end) in enumerate((("\n", "\n\n"), ("\r\n", "\n\n"), ("\n", "\r\n\r\n"), ("\r\n", ""), ("\r\n", "\r\n")))]
    (folder / "a.warc.gz").write_bytes(b"".join(map(gzip.compress, records)))
    ingest(root, "--dataset", "d", "--format", "warc", "--locators", folder / "a.warc.gz")
    dxtest.domaindex("publish", "--root", root)
    for i, record in enumerate(records):
        dxtest.equal(fetch("--root", root, "--base", "/", "--decompress", f"http://end{i}.com/").stdout, record, f"a record with the line ends {record!r}")
    for behind in (b"xx", b"\n\n\n\n\n"):
        data = gzip.compress(records[0] + behind)
        (folder / "b.warc.gz").write_bytes(data)
        refused("calls for", "--base", folder, f"b.warc.gz#warc=0+{len(data)}")


def one_request(tmp, root, files, path, places):
    if not stores.find("nginx"):
        print("SKIPPED in part: no nginx")
        return
    url, (offset, length) = next(iter(places.items()))
    with stores.Nginx(files) as server:
        before = server.requests_of("a.warc.gz")
        raw = fetch("--root", root, "--base", f"http://127.0.0.1:{server.port}/", url).stdout
        dxtest.wait_until(lambda: server.requests_of("a.warc.gz") > before)  # nginx logs when it has answered
        asked = server.requests_of("a.warc.gz") - before
    dxtest.check(raw == path.read_bytes()[offset:offset + length], "the record over HTTP")
    dxtest.equal(asked, 1, "requests for a record")


def changed(root, files, path, places):
    """Another record, half a record, none: an error, and nothing on standard output."""
    data = path.read_bytes()
    (first, (at, length)), (second, (other, size)) = list(places.items())[:2]
    locator = f"crawl/a.warc.gz#warc={at}+{length}"
    base = ["--base", files]
    dxtest.equal(fetch(*base, "--url", first, locator).stdout, data[at:at + length], "a locator with its URL")
    refused("not of", *base, "--url", second, locator)
    refused("does not end", *base, f"crawl/a.warc.gz#warc={at}+{length - 9}")
    refused("ends after", *base, f"crawl/a.warc.gz#warc={at}+{length + size}")
    refused("no WARC record", *base, f"crawl/a.warc.gz#warc={at + 1}+{length}")
    refused("bytes at offset", *base, f"crawl/a.warc.gz#warc={len(data)}+1")
    refused("--max-bytes", *base, "--max-bytes", "4096", f"crawl/a.warc.gz#warc=0+{len(data) + 5000}")
    path.write_bytes(data[:at] + data[other:other + size] + data[at:])
    refused("changed", *base, "--root", root, "--dataset", "d", first) if size == length else refused(
        "crawl/a.warc.gz", *base, "--root", root, "--dataset", "d", first)
    path.write_bytes(data)


# ------------------------------------------------------------------------------------- Parquet

def normal(value):
    """A value of pyarrow as JSON has it."""
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, decimal.Decimal):
        return str(value)
    if isinstance(value, datetime.datetime):
        return value.strftime("%Y-%m-%dT%H:%M:%S") + "Z"
    if isinstance(value, dict):
        return {k: normal(v) for k, v in value.items()}
    if isinstance(value, list):
        return [{"key": normal(v[0]), "value": normal(v[1])} if isinstance(v, tuple) else normal(v) for v in value]
    return value


def parquet(tmp):
    count = 300
    rows = [{"url": f"http://p{i}.example.com/", "n": i if i % 5 else None, "x": i / 7, "ok": i % 2 == 0, "blob": b"bytes %d" % i,
             "price": decimal.Decimal(f"{i}.25"), "when": datetime.datetime(2024, 1, 1) + datetime.timedelta(seconds=i),
             "list": None if i % 11 == 0 else [f"e{k}" if k % 2 else None for k in range(i % 4)],
             "deep": {"a": i, "b": None if i % 3 == 0 else {"c": f"c{i}"}} if i % 7 else None,
             "many": [{"k": k, "t": [k, k + 1]} for k in range(i % 3)], "map": [(f"k{k}", k) for k in range(i % 3)]} for i in range(count)]
    kinds = pa.schema([("url", pa.string()), ("n", pa.int64()), ("x", pa.float64()), ("ok", pa.bool_()), ("blob", pa.binary()),
                       ("price", pa.decimal128(9, 2)), ("when", pa.timestamp("us", "UTC")), ("list", pa.list_(pa.string())),
                       ("deep", pa.struct([("a", pa.int32()), ("b", pa.struct([("c", pa.string())]))])),
                       ("many", pa.list_(pa.struct([("k", pa.int32()), ("t", pa.list_(pa.int32()))]))), ("map", pa.map_(pa.string(), pa.int32()))])
    folder, root = tmp / "parquet", tmp / "parquet-root"
    folder.mkdir()
    pq.write_table(pa.Table.from_pylist(rows, schema=kinds), folder / "t.parquet", row_group_size=70, data_page_size=512)
    ingest(root, "--dataset", "d", "--no-ts", "t.parquet", cwd=folder)
    dxtest.domaindex("publish", "--root", root)
    said = locators(root, 1)
    dxtest.equal(said, {r["url"]: f"t.parquet#row={i // 70}:{i % 70}" for i, r in enumerate(rows)}, "locators of Parquet rows")
    table = pq.ParquetFile(folder / "t.parquet")
    for i in (0, 1, 6, 22, 69, 70, 141, 299):
        want = table.read_row_group(i // 70).slice(i % 70, 1).to_pylist()[0]
        got = json.loads(fetch("--root", root, "--base", folder, rows[i]["url"]).stdout)
        dxtest.equal(got, {k: normal(v) for k, v in want.items()}, f"row {i}")
    refused("not of", "--base", folder, "--url", rows[1]["url"], "t.parquet#row=0:0")
    refused("there is no row", "--base", folder, "t.parquet#row=0:70")
    refused("there is no row", "--base", folder, "t.parquet#row=5:0")


# ------------------------------------------------------------------------------------- text

def text(tmp):
    folder, root = tmp / "text", tmp / "text-root"
    folder.mkdir()
    lines = [f"2024-01-01T00:00:00Z\thttp://t{i}.example.com/{'x' * i}" for i in range(30)]
    (folder / "a.tsv").write_bytes(b"\xef\xbb\xbf" + "\r\n".join(lines).encode())
    with gzip.open(folder / "b.tsv.gz", "wt") as out:
        out.write("\n\n" + "\n".join(line.replace("//t", "//g") for line in lines))
    (folder / "c.csv").write_text('url,note\n"http://c1.example.com/","two\nlines"\nhttp://c2.example.com/,x\n')
    (folder / "d.jsonl").write_text(r'{"url":"http:\/\/j1.example.com\/a"}' + "\n")
    (folder / "e.json").write_text('[{"url":"http://j2.example.com/"}]')
    for names in (("--ts-column", "1", "--url-column", "2", "a.tsv", "b.tsv.gz"), ("c.csv", "d.jsonl", "e.json")):
        done = ingest(root, "--dataset", "d", *names, cwd=folder)
    dxtest.check("records not located" in done.stderr.decode(), "elements of an array have no locator")
    dxtest.domaindex("publish", "--root", root)
    said = locators(root, 1)
    for url, want in {**{f"http://t{i}.example.com/{'x' * i}": lines[i] for i in (0, 1, 29)},
                      **{f"http://g{i}.example.com/{'x' * i}": lines[i].replace("//t", "//g") for i in (0, 1, 29)},
                      "http://c1.example.com/": '"http://c1.example.com/","two\nlines"', "http://j1.example.com/a": r'{"url":"http:\/\/j1.example.com\/a"}'}.items():
        dxtest.equal(fetch("--root", root, "--base", folder, url).stdout.decode(), want + "\n", f"{url} at {said[url]}")
    dxtest.equal(said["http://j2.example.com/"], None, "an element of an array")
    dxtest.equal(said["http://g1.example.com/x"], "b.tsv.gz#line=4", "a line of compressed text")
    refused("has no line 99", "--base", folder, "b.tsv.gz#line=99")
    refused("not of", "--base", folder, "--url", "http://t1.example.com/", said["http://t1.example.com/x"])
    refused("none of its 1 rows has a locator", "--root", root, "--base", folder, "http://j2.example.com/")


# ------------------------------------------------------------------------------------- what is refused

def hostile(tmp):
    folder, outside = tmp / "hostile", tmp / "outside"
    folder.mkdir()
    outside.mkdir()
    (outside / "secret").write_text("secret\n")
    (folder / "link").symlink_to(outside / "secret")
    (folder / "inside").write_text("inside\n")
    (folder / "alias").symlink_to(folder / "inside")
    os.mkfifo(folder / "fifo")
    base = ["--base", folder]
    dxtest.equal(fetch(*base, "alias#text=0+6").stdout, b"inside\n", "a link that stays")
    dxtest.equal(fetch(*base, f"{folder}/inside#text=0+6").stdout, b"inside\n", "an absolute path below the base")
    for name in ("../outside/secret", f"{outside}/secret", "./inside", "a/../../outside/secret", f"{folder}/../outside/secret", "link", "http://127.0.0.1:1/x",
                 "s3://b/x", "inside/", "//inside"):
        refused("below" if name == f"{outside}/secret" or "link" in name or "://" in name else "'..'", *base, f"{name}#text=0+6")
    for name in ("http://127.0.0.1:1/b/x", "http://127.0.0.1:1/abc", "http://127.0.0.1:1/a/../x", "http://127.0.0.1:1/a/%2e%2e/x", "/etc/passwd", "s3://b/x",
                 "http://user@127.0.0.1:1/a/x"):
        done = fetch("--base", "http://127.0.0.1:1/a/", f"{name}#warc=0+6", expect=1)
        dxtest.check("--base" in done.stderr.decode(), f"{name}: {done.stderr.decode()!r}")
    refused("not a regular file", *base, "fifo#text=0+6")
    refused("not a regular file", *base, "fifo#line=1")
    bomb = gzip.compress(b"WARC/1.0\r\nContent-Length: 99999999\r\n\r\n" + bytes(50_000_000))
    (folder / "bomb").write_bytes(bomb)
    refused("--max-bytes", *base, "--max-bytes", "1M", f"bomb#warc=0+{len(bomb)}")
    refused("--max-bytes", *base, "--max-bytes", "1M", "bomb#line=4")
    for bad in ("inside#text=0+0", "inside#text=00+6", "inside#text=9223372036854775807+1"):
        dxtest.check(b"is not a locator" in fetch(*base, bad, expect=2).stderr, f"{bad} is none")


# ------------------------------------------------------------------------------------- rows

def same_rows(tmp):
    """Rows that differ only in the locator are one: the least one stays, whatever the order."""
    folder = tmp / "same"
    folder.mkdir()
    for name in ("a.txt", "b.txt"):
        (folder / name).write_text("http://s.example.com/\n" if name == "b.txt" else "http://x.example.com/\nhttp://s.example.com/\n")
    for order in (("a.txt", "b.txt"), ("b.txt", "a.txt")):
        root = folder / order[0][0]
        done = ingest(root, "--dataset", "d", *order, cwd=folder)
        dxtest.check("rows stored                         2" in done.stderr.decode(), "two rows")
        for _ in range(2):
            again = dxtest.domaindex("ingest", "--root", root, "--dataset", "d", *order, cwd=folder)
            dxtest.check("rows stored                         0" in again.stderr.decode(), "a row without a locator is the same row")
        ingest(root, "--dataset", "d", "b.txt", cwd=folder)
        (folder / "more.txt").write_text("http://more.example.com/\n")
        dxtest.domaindex("ingest", "--root", root, "--dataset", "d", "more.txt", cwd=folder)
        dxtest.domaindex("publish", "--root", root)
        want = {"http://s.example.com/": "a.txt#text=22+21", "http://x.example.com/": "a.txt#text=0+21", "http://more.example.com/": None}
        dxtest.equal(locators(root, 1), want, f"{order}: locators")
        dxtest.domaindex("compact", "--root", root)
        dxtest.equal(locators(root, 1), want, f"{order}: locators after compact")
        dxtest.domaindex("verify", "--root", root, "--deep")


def served(tmp):
    """A listing, a single URL, and what suppressions hide: the page that was requested."""
    root = tmp / "served-root"
    (tmp / "led.tsv").write_text("url\tcanonical\nhttp://old.example.com/\thttp://new.example.org/\nhttp://plain.example.com/\t\n")
    ingest(root, "--dataset", "d", "--canonical-column", "canonical", "led.tsv", cwd=tmp)
    dxtest.domaindex("publish", "--root", root)
    with dxtest.Server(root) as server:
        def ask(target):
            """A busy machine's server may say 503: it is asked again."""
            replies = []
            dxtest.wait_until(lambda: replies.append(server.get(target)) or replies[-1].status != 503)
            dxtest.equal(replies[-1].status, 200, f"{target}: {replies[-1].body}")
            return replies[-1].json

        def row(domain):
            item = ask(f"/v1/domain/{domain}/datasets/1/urls?fields=locator")["items"][0]
            extras = ask(f"/v1/domain/{domain}/datasets/1/urls?fields=extras")["items"][0]["extras"]
            single = ask(f"/v1/url?u={'http://plain.example.com/' if domain == 'example.com' else 'http://new.example.org/'}")
            return item["locator"], extras.get("locator"), single["datasets"][0]["rows"][0]["extras"].get("locator")

        dxtest.equal(row("example.com"), ("led.tsv#text=62+26",) * 3, "a locator in listing, extras and single URL")
        dxtest.equal(row("example.org"), ("led.tsv#text=14+47",) * 3, "of a row that was led to its URL")
        dxtest.domaindex("suppress", "add", "--root", root, "--url", "http://old.example.com/")
        dxtest.wait_until(lambda: row("example.org") == (None,) * 3)
        dxtest.equal(row("example.org"), (None,) * 3, "the page that was requested is hidden, and what leads to it")
        dxtest.equal(row("example.com"), ("led.tsv#text=62+26",) * 3, "other rows keep theirs")
        dxtest.equal(server.get("/v1/domain/example.com/datasets/1/urls?fields=locators").status, 400, "no such field")


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        for part in (warc, parquet, text, hostile, same_rows, served):
            part(tmp)
    dxtest.finish()


if __name__ == "__main__":
    main()
