#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: peers
"""Rows in other formats than JSON, as streams: pyarrow, csv and the CDX columns say what the JSON pages say; Accept chooses; what
fails midway is seen; a stream stays on its version, and in its memory.

In the gate 60,000 rows, of most streams compared one row in 31, of one one in three; DX_WHOLE: a million, every row.
"""
import csv
import gzip
import http.client
import io
import json
import pathlib
import re
import socket
import subprocess
import time

import pyarrow
import pyarrow.ipc
import pyarrow.parquet
import zstandard

import dxtest
from dxtest import check, equal

ROWS = 1_000_000 if dxtest.WHOLE else 60_000
COMPARED = 7000 if dxtest.WHOLE else 5100    # rows of a stream come 5,000 at a time
STEP = 1 if dxtest.WHOLE else 31             # of the rows of most streams one in so many is compared
LISTING = "/v1/domain/example.com/datasets/1/urls"
ALL = "/v1/domain/example.com/urls"
FIELDS = "fields=url_id,url,ts,raw_url,extras,title,content_type,tags,locator"
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
CDX = ["urlkey", "timestamp", "original", "mimetype", "statuscode", "digest", "redirect", "robotflags", "length", "offset", "filename"]


def make_root(tmp):
    with open(tmp / "a.jsonl", "w", encoding="utf-8") as out:
        for i in range(COMPARED):
            row = {"dataset": "a", "url": f'http://Example.com/p/{i}?q="x",{i}&Z', "ts": f"2024-0{i % 9 + 1}-02T03:04:05.5Z" if i % 3 else None,
                   "note": f"é\\{i}\n\t😀" if i % 7 else None, "tags": json.dumps(["news", f'a"{i % 5}']) if i % 2 else None,
                   "content_type": "text/html", "status": "200", "digest": "sha1:ABC"}
            out.write(json.dumps(row) + "\n")
        for i in range(300):
            out.write(json.dumps({"dataset": "b", "url": f"https://www.example.com/b/{i}", "ts": "2020-01-01", "status": "404"}) + "\n")
        for i in range(40):
            out.write(json.dumps({"dataset": "c", "url": f"https://www.example.com/c/{i}/"}) + "\n")
            out.write(json.dumps({"dataset": "c", "url": f"https://site{i}.org/"}) + "\n")
    dxtest.domaindex("ingest", "--root", tmp / "root", "--dataset-column", "dataset", "--locators",
                     *(word for name in ("note", "tags", "content_type", "status", "digest") for word in ("--extra-column", name)), tmp / "a.jsonl")
    dxtest.domaindex("publish", "--root", tmp / "root")
    return tmp / "root"


def pages(server, target, member="items", headers=None):
    """All rows of a listing, by its JSON pages."""
    rows, at = [], target
    while at:
        answer = server.get(at, headers=headers).json
        rows += answer[member]
        more = answer.get("next_cursor")
        at = more and f"{target.split('?')[0]}?cursor={more}"
    return rows


def as_text(value):
    return "" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def same_text(cell, value):
    """Of lists and objects the values, of all else the text."""
    return json.loads(cell) == value if isinstance(value, (dict, list)) else \
        float(cell) == value if isinstance(value, float) else cell == as_text(value)


def in_format(server, target, word, headers=None):
    reply = server.get(target + ("&" if "?" in target else "?") + f"format={word}", headers=headers)
    equal(reply.status, 200, f"{target} as {word}: {reply.body[:200]}")
    return reply.body


def arrow_value(value):
    """A row's value as pyarrow gives it, from that of JSON."""
    if isinstance(value, str) and re.fullmatch("0x[0-9a-f]{16}", value):
        return int(value, 16)
    return json.dumps(value, sort_keys=True) if isinstance(value, (dict, list)) else value


def plain(row):
    """The same of a row of a table: times as JSON has them, JSON texts in one order of their members."""
    def one(name, value):
        if hasattr(value, "isoformat"):
            return value.isoformat(timespec="milliseconds" if value.microsecond else "seconds").replace("+00:00", "Z")
        if name in ("extras", "tags", "metadata", "datasets") and value is not None:
            return json.dumps(json.loads(value), sort_keys=True)
        return value
    return {name: one(name, value) for name, value in row.items()}


def compare(server, target, want, headers=None, step=STEP):
    """Each format has so many rows, and one in `step` of them and the last are these, in this order."""
    whole, places = want, [*range(0, len(want), step if len(want) > 100 else 1)]
    if want and places[-1] != len(want) - 1:
        places.append(len(want) - 1)
    want = [whole[n] for n in places]
    lines = in_format(server, target, "ndjson", headers).decode().splitlines()
    if not equal(len(lines), len(whole), f"{target}: lines of NDJSON"):
        return
    equal([json.loads(lines[n]) for n in places], want, f"{target}: NDJSON")
    text = in_format(server, target, "csv", headers).decode()
    names, *cells = csv.reader(io.StringIO(text, newline=""), strict=True)
    check({len(row) for row in cells} <= {len(names)} and text.endswith("\r\n"), f"{target}: cells of a line of CSV")
    if not equal(len(cells), len(whole), f"{target}: lines of CSV"):
        return
    table = [dict(zip(names, cells[n])) for n in places]
    wrong = [(got, row) for got, row in zip(table, want) if any(not same_text(got[name], row[name]) for name in row if row[name] is not None)
             or any(got[name] for name in got if row.get(name) is None)]
    equal(wrong[:1], [], f"{target}: CSV")
    arrow = pyarrow.ipc.open_stream(in_format(server, target, "arrow", headers)).read_all()
    arrow.validate(full=True)
    wanted = [{name: arrow_value(value) for name, value in row.items()} for row in want]
    if not equal(arrow.num_rows, len(whole), f"{target}: rows of Arrow"):
        return
    got = [plain(row) for row in arrow.take(pyarrow.array(places, pyarrow.int64())).to_pylist()]
    equal([row for row in zip(got, wanted) if {k: v for k, v in row[0].items() if v is not None} != {k: v for k, v in row[1].items() if v is not None}][:1],
          [], f"{target}: Arrow")
    parquet = pyarrow.parquet.read_table(io.BytesIO(in_format(server, target, "parquet", headers)))
    check(parquet.equals(arrow), f"{target}: Parquet is not as Arrow has it: {parquet.schema}")


def compare_urls(server, target, want):
    """The formats of URLs: want has all fields."""
    equal(in_format(server, target, "urls").decode().splitlines(), [row["url"] for row in want], "plain URLs")
    lines = in_format(server, target, "cdx").decode().splitlines()
    equal(lines[0], " CDX N b a m s k r M S V g", "header of CDX")
    equal(len(lines) - 1, len(want), "lines of CDX")
    objects = in_format(server, target, "cdxj").decode().splitlines()
    for line, text, row in zip(lines[1:], objects, want):
        got = dict(zip(CDX, line.split(" "), strict=True))
        key, time, rest = text.split(" ", 2)
        original = row["raw_url"] or row["url"]
        stamp = re.sub(r"\D", "", row["ts"])[:14] if row["ts"] else "-"
        expected = {"original": original, "timestamp": stamp, "mimetype": row["content_type"] or "-", "statuscode": row["extras"].get("status", "-"),
                    "digest": row["extras"].get("digest", "-"), "filename": "-"}
        if {name: got[name] for name in expected} != expected or (key, time) != (got["urlkey"], stamp):
            equal(({name: got[name] for name in expected}, key, time), (expected, got["urlkey"], stamp), f"CDX of {row['url']}")
            break
        object_ = json.loads(rest)
        if (object_["url"], object_.get("status")) != (original, row["extras"].get("status")) or not key.startswith("com,example)/"):
            equal(object_, row, f"CDXJ of {row['url']}")
            break
    check(True, "CDX and CDXJ")


def values(server):
    full = pages(server, f"{LISTING}?limit=3000&{FIELDS}")
    equal(len(full), COMPARED, "rows")
    compare(server, f"{LISTING}?{FIELDS}", full, step=1 if dxtest.WHOLE else 3)
    compare(server, LISTING, pages(server, f"{LISTING}?limit=3000"))
    compare(server, ALL, pages(server, f"{ALL}?limit=3000"))
    compare(server, f"{LISTING}?tag=news&{FIELDS}", pages(server, f"{LISTING}?tag=news&limit=3000&{FIELDS}"))
    compare(server, f"{LISTING}?tag=none", [])
    for target in (f"{ALL}?sort=time", f"{ALL}?sort=url&reverse=yes", "/v1/host/www.example.com/urls", "/v1/host/example.com/urls?subdomains=yes&sort=time"):
        compare(server, target, pages(server, target + ("&" if "?" in target else "?") + "limit=3000"))
    compare_urls(server, LISTING, full)
    for limit in (1, 4999, 5000, 5001, 10_001, 1 << 62):
        equal(in_format(server, f"{LISTING}?limit={limit}", "urls").decode().splitlines(), [row["url"] for row in full[:limit]], f"limit={limit}")
    equal(in_format(server, f"{LISTING}?offset={COMPARED - 2}", "urls").decode().splitlines(), [row["url"] for row in full[-2:]], "offset")
    parts = server.get(f"{LISTING}?plan=3").json["cursors"]
    equal(sum((in_format(server, f"{LISTING}?cursor={part}", "urls").decode().splitlines() for part in parts), []), [row["url"] for row in full], "plan")


def tables(server):
    for target, member in (("/v1/domain/example.com", "datasets"), ("/v1/domain/example.com?fields=rank,name", "datasets"), ("/v1/datasets", "datasets"),
                           ("/v1/domain/example.com/hosts", "hosts"), ("/v1/domain/example.com/datasets/1/paths?limit=256", "paths"),
                           ("/v1/tlds", "tlds"), ("/v1/suffix/com", "datasets"), ("/v1/domains", "domains"), ("/v1/datasets/3/top-domains", "domains"), ("/v1/tags", "tags"),
                           ("/v1/domain/example.com/timeline", "periods"), ("/v1/domain/example.com/timeline?by=day&dataset=3", "periods"), ("/v1/tags/news", "items"),
                           ("/v1/tags/news?of=urls", "items"), ("/v1/tags/news?of=urls&fields=url,extras,locator", "items")):
        compare(server, target, pages(server, target, member))
    for path in ("/v1/datasets/1/overlap/3", "/v1/datasets/2/overlap/2"):
        compare(server, path, overlap_rows(server.get(path).json))
    equal(in_format(server, "/v1/tags/news?of=urls", "urls").decode().splitlines(), [row["url"] for row in pages(server, "/v1/tags/news?of=urls", "items")], "plain URLs of a tag")
    cursor = server.get("/v1/tags/news?of=urls&limit=7").json["next_cursor"]
    equal([json.loads(line) for line in in_format(server, f"/v1/tags/news?cursor={cursor}", "ndjson").splitlines()], pages(server, "/v1/tags/news?of=urls", "items")[7:], "from a cursor on")
    for query in ("format=urls", "of=domains&format=cdx", "format=cdxj&of=urls&fields=url"):
        equal(server.get(f"/v1/tags/news?{query}").status, 400, query)


def overlap_rows(answer):
    """The two measures of an overlap, each with the same members."""
    a, b, domains, urls = (answer[name] for name in ("a", "b", "domains", "urls"))
    shared = domains["shared"]
    return [{"measure": "domains", "a": a["domain_count"], "b": b["domain_count"], "shared_a": shared, "shared_b": shared, "only_a": domains["only_a"], "only_b": domains["only_b"],
             "min": shared, "max": shared + domains["only_a"] + domains["only_b"], "jaccard": domains["jaccard"]},
            {"measure": "urls", "a": a["url_count"], "b": b["url_count"], "shared_a": urls["shared_a"], "shared_b": urls["shared_b"], "only_a": urls["only_a"], "only_b": urls["only_b"],
             "min": urls["min"], "max": urls["max"], "jaccard": urls["jaccard"]}]


def negotiation(server, web):
    """Accept, and what comes of it."""
    for accept, want in (("text/csv", "text/csv"), ("application/x-ndjson", "application/x-ndjson"), ("text/plain", "text/plain"),
                         ("application/vnd.apache.arrow.stream", "application/vnd.apache.arrow.stream"), ("APPLICATION/vnd.apache.PARQUET", "application/vnd.apache.parquet"),
                         ("text/csv;q=0.5, application/x-ndjson;q=0.8", "application/x-ndjson"), ("text/csv;header=present;q=0.9,application/json;q=0.8", "text/csv"),
                         ("application/json, text/plain, */*", "application/json"), ("*/*", "application/json"), ("text/*", "text/csv"), ("image/png", "application/json"),
                         ("text/csv;q=0", "application/json"), ("text/csv;q=2", "application/json"), (",;,q", "application/json"), ("", "application/json")):
        for target in (LISTING, ALL):
            reply = server.get(f"{target}?limit=2", headers={"Accept": accept})
            equal((reply.status, reply.headers["content-type"].split(";")[0], reply.headers["vary"]), (200, want, "Accept, Accept-Encoding"), f"Accept: {accept}")
            equal(server.get(f"{target}?limit=2&format=json", headers={"Accept": accept}).json["items"], server.get(f"{target}?limit=2").json["items"],
                  f"format before Accept: {accept}")
    # The same target is kept as JSON: that must not be what another Accept gets.
    for _ in range(4):
        check(server.get("/v1/domain/example.com").json["dataset_count"] == 3, "JSON is kept")
        check(server.get("/v1/domain/example.com", headers={"Accept": "text/csv"}).body.startswith(b"dataset_id,name,"), "CSV beside it")
    reply = server.get(LISTING, headers={"Accept": BROWSER})
    if web:
        equal((reply.status, reply.headers["location"]), (303, "/#/urls/example.com/1"), "a browser")
    else:
        equal((reply.status, reply.headers["content-type"]), (200, "application/json"), "a browser")
    for query, status, slug in (("format=xml", 400, "bad-parameter"), ("format=csv&plan=2", 400, "bad-parameter"), ("format=cdx&fields=url", 400, "bad-parameter"),
                                ("limit=10001", 400, "limit-too-large"), ("format=json&limit=10001", 400, "limit-too-large"), ("format=csv&limit=0", 400, "bad-parameter"),
                                ("format=csv&cursor=x", 400, "bad-cursor")):
        reply = server.get(f"{LISTING}?{query}")
        equal((reply.status, reply.headers["content-type"], reply.json["type"].split(":")[-1]), (status, "application/problem+json", slug), query)
    equal(server.get("/v1/tlds?format=cdx").status, 400, "TLDs are no URLs")
    equal(server.get("/v1/domain/nobody.example/urls?format=csv").status, 404, "an error is a problem")


def framing(server):
    """HEAD, content codings, HTTP/1.0, and several requests on one connection."""
    want = server.get(f"{LISTING}?format=ndjson").body
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    for coding, decode in ((None, bytes), ("gzip", gzip.decompress), ("zstd", lambda b: zstandard.ZstdDecompressor().decompressobj().decompress(b))):
        for method in ("GET", "HEAD"):
            connection.request(method, f"{LISTING}?format=ndjson", headers={"Accept-Encoding": coding or "identity"})
            reply = connection.getresponse()
            body = reply.read()
            equal((reply.status, reply.headers["Content-Encoding"], reply.headers["ETag"], reply.headers["Cache-Control"]), (200, coding, None, "no-store"), f"{method} {coding}")
            check(body == b"" if method == "HEAD" else decode(body) == want and (coding is None or len(body) < len(want) / 2), f"{method} in {coding}")
    connection.request("GET", f"{LISTING}?format=parquet", headers={"Accept-Encoding": "gzip"})
    reply = connection.getresponse()
    check(reply.headers["Content-Encoding"] is None and reply.read()[:4] == b"PAR1", "Parquet is compressed already")
    done = subprocess.run(["curl", "-sS", "-0", f"http://127.0.0.1:{server.port}{LISTING}?format=ndjson"], capture_output=True, check=True)
    check(done.stdout == want, "HTTP/1.0")
    done = subprocess.run(["curl", "-sS", "--compressed", f"http://127.0.0.1:{server.port}{LISTING}?format=ndjson"], capture_output=True, check=True)
    check(done.stdout == want, "curl --compressed")


class Reader:
    """A client that reads when it is told to."""

    def __init__(self, server, target, version="1.1", source="127.0.0.1", fields=""):
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        self.socket.settimeout(60)
        self.socket.bind((source, 0))
        self.socket.connect(("127.0.0.1", server.port))
        self.socket.sendall(f"GET {target} HTTP/{version}\r\nHost: a\r\n{fields}\r\n".encode())
        self.bytes = bytearray()

    def some(self):
        self.bytes += self.socket.recv(4096)

    def rest(self):
        """(body, whole): whole if the last chunk came."""
        while not self.bytes.endswith(b"\r\n0\r\n\r\n") and (more := self.socket.recv(1 << 20)):
            self.bytes += more
        pieces, at = [], len(self.bytes.partition(b"\r\n\r\n")[0]) + 4
        while (end := self.bytes.find(b"\r\n", at)) >= 0:
            size = int(self.bytes[at:end], 16)
            if size == 0:
                return b"".join(pieces), True
            pieces.append(self.bytes[end + 2:end + 2 + size])
            at = end + 2 + size + 2
        return b"".join(pieces), False


def large_root(tmp):
    with open(tmp / "large.txt", "w", encoding="utf-8") as out:
        out.writelines(f"https://large.example/some/longer/path/{i:07d}\n" for i in range(ROWS))
    dxtest.domaindex("ingest", "--root", tmp / "large", "--dataset", "a", tmp / "large.txt")
    dxtest.domaindex("publish", "--root", tmp / "large")
    return tmp / "large"


LARGE = "/v1/domain/large.example/datasets/1/urls?format="


def rss(server):
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{server.process.pid}/status").read_text()).group(1)) << 10


def streams(tmp, root):
    with dxtest.Server(root, "--poll-ms", 200) as server:
        before = server.get("/v1/versions").json["current_version"]
        equal(len(in_format(server, "/v1/domain/large.example/datasets/1/urls", "urls").splitlines()), ROWS, "all rows")
        used = rss(server)
        readers = [Reader(server, LARGE + "ndjson") for _ in range(8)]
        for reader in readers:
            reader.some()
        # A version comes while they wait: they stay on theirs.
        (tmp / "more.txt").write_text("https://large.example/another\n")
        dxtest.domaindex("ingest", "--root", root, "--dataset", "a", tmp / "more.txt")
        dxtest.domaindex("publish", "--root", root)
        dxtest.wait_until(lambda: server.get("/v1/versions").json["current_version"] != before)
        check(rss(server) < used + (48 << 20) or dxtest.SANITIZED, f"memory with 8 slow readers: {used >> 20} MiB before, {rss(server) >> 20} MiB")
        for reader in readers[2:]:
            reader.socket.close()
        for reader in readers[:2]:
            body, whole = reader.rest()
            check(whole and before.encode() in reader.bytes[:600], "the whole stream, of the version that it began with")
            rows = body.splitlines()
            equal((len(rows), b"another" in body), (ROWS, False), "rows of the version it began with")
        equal(len(in_format(server, "/v1/domain/large.example/datasets/1/urls", "urls").splitlines()), ROWS + 1, "the new version")
        check(rss(server) < used + (64 << 20) or dxtest.SANITIZED, f"memory after: {used >> 20} MiB, {rss(server) >> 20} MiB")


def changed_rules(tmp):
    """Pages by offset count what is visible, so a rule that comes between them would leave a row out: the stream breaks off instead."""
    root, count = tmp / "hosts", 60_000
    with open(tmp / "hosts.txt", "w", encoding="utf-8") as out:
        out.writelines(f"https://h{i:06d}{'y' * 40}.hosts.example/\n" for i in range(count))
    dxtest.domaindex("ingest", "--root", root, "--dataset", "a", "--format", "list", tmp / "hosts.txt")
    dxtest.domaindex("publish", "--root", root)
    target = "/v1/domain/hosts.example/hosts?format=ndjson"
    with dxtest.Server(root, "--poll-ms", 50) as server:
        reader = Reader(server, target)
        reader.some()
        first = f"h000005{'y' * 40}.hosts.example"    # its row is out
        dxtest.domaindex("suppress", "add", "--root", root, "--host", first, "--policy", "absent")
        dxtest.wait_until(lambda: server.get(f"/v1/host/{first}/urls").status == 404)
        body, whole = reader.rest()
        rows = body.splitlines()
        check(not whole and b"suppressions-not-applied" in rows[-1], f"a stream by offsets beside a new rule: whole: {whole}, {len(rows)} rows, {rows[-1][:200]}")
        equal(len(server.get(target).body.splitlines()), count - 1, "asked again")


def rules_meanwhile(root):
    """Each new rule has to be looked up before more of its domain may be shown. Streams wait for that; they broke off, and whoever added rules ended those of others."""
    last = [f"https://large.example/some/longer/path/{i:07d}" for i in range(ROWS - 60, ROWS)]
    with dxtest.Server(root, "--poll-ms", 20) as server:
        readers = [Reader(server, target) for target in (LARGE + "ndjson", "/v1/domain/large.example/urls?format=urls", "/v1/suffix/example/urls?format=csv&fields=url") for _ in range(4 if dxtest.WHOLE else 1)]
        for reader in readers:
            reader.some()
        for n, reader in enumerate(readers):
            dxtest.domaindex("suppress", "add", "--root", root, *(word for url in last[n::len(readers)] for word in ("--url", url)), "--policy", "absent", "--quiet")
            time.sleep(0.05)
            body, whole = reader.rest()
            check(whole, f"stream {n} beside new rules ended early: {body[-200:]}")
            end = b"%07d" % (ROWS - 60)
            equal(len({number for number in re.findall(rb"longer/path/(\d{7})", body) if number < end}), ROWS - 60,
                  f"stream {n}: rows that no rule hides")
        dxtest.domaindex("suppress", "lift", "--root", root, *range(1, 61), "--quiet")


def status_of(reader):
    reader.some()
    return int(reader.bytes.split()[1])


def refused(reader, what):
    equal(status_of(reader), 429, what)
    check(b"\r\nRetry-After: 5\r\n" in reader.bytes and b"too-many-streams" in reader.bytes, f"{what}: {reader.bytes[:600]}")
    reader.socket.close()


def own_streams(root):
    """One address, and one principal, may have so many streams and lists at once; others have theirs beside them."""
    with dxtest.Server(root, "--address-streams", 3) as server:
        def count():
            return server.metrics()['domaindex_http_rejected_total{reason="address_streams"}']

        readers = [Reader(server, LARGE + "ndjson", source="127.0.0.2") for _ in range(3)]
        equal([status_of(reader) for reader in readers], [200] * 3, "three streams")
        refused(Reader(server, LARGE + "csv", source="127.0.0.2"), "a fourth of the same address")
        names = Reader(server, "/v1/domains", source="127.0.0.2")
        names.some()    # GET of no parameters is not a stream
        check(b"too-many-streams" not in names.bytes, f"a question that is answered at once: {names.bytes[:200]}")
        names.socket.sendall(b"POST /v1/domains HTTP/1.1\r\nHost: a\r\nContent-Length: 14\r\n\r\nlarge.example\n")
        check(dxtest.wait_until(lambda: names.some() or b"too-many-streams" in names.bytes), "a list of names counts as well")
        other = Reader(server, LARGE + "ndjson")
        equal(status_of(other), 200, "another address")
        equal(count(), 2, "refusals are counted")
        readers[0].socket.close()
        for _ in range(5):      # each place is given back
            reader = dxtest.wait_until(lambda: (one := Reader(server, LARGE + "ndjson", source="127.0.0.2")) and status_of(one) == 200 and one)
            check(reader, "a place that was given back")
            reader.socket.close()
        for reader in (names, other, *readers[1:]):
            reader.socket.close()
    dxtest.domaindex("access", "init", "--root", root)
    for name in ("one", "other"):
        dxtest.domaindex("access", "principal", "add", name, "--root", root)
        dxtest.domaindex("access", "grant", "a", "--to", name, "--root", root)
    dxtest.domaindex("access", "grant", "a", "--to", "*", "--root", root)
    with dxtest.Server(root, "--principal-streams", 2, "--principal-header", "X-User", "--trusted-proxy", "127.0.0.1") as server:
        readers = [Reader(server, LARGE + "ndjson", fields="X-User: one\r\n") for _ in range(2)]
        equal([status_of(reader) for reader in readers], [200] * 2, "two streams of a principal")
        refused(Reader(server, LARGE + "ndjson", fields="X-User: one\r\n"), "a third of the principal")
        others = [Reader(server, LARGE + "ndjson", fields=fields) for fields in ("X-User: other\r\n", "", "", "")]
        equal([status_of(reader) for reader in others], [200] * 4, "another principal, and those without one")
        equal(server.metrics()['domaindex_http_rejected_total{reason="principal_streams"}'], 1, "counted")
        for reader in readers + others:
            reader.socket.close()


def damaged(root):
    """Pages near the end of a file are damaged: what comes is a beginning, and is seen not to be the whole."""
    lake = max(root.glob("urls/dataset_id=1/*/*.parquet"), key=lambda path: path.stat().st_size)
    groups = pyarrow.parquet.ParquetFile(lake).metadata
    group = groups.row_group(groups.num_row_groups - 1)
    path = next(group.column(i) for i in range(group.num_columns) if group.column(i).path_in_schema == "path_query")
    with open(lake, "r+b") as file:
        file.seek(path.data_page_offset + path.total_compressed_size // 2)
        file.write(b"\xa5" * (path.total_compressed_size // 4))
    with dxtest.Server(root) as server:
        for word in ("ndjson", "csv", "arrow", "parquet", "urls"):
            body, whole = Reader(server, LARGE + word).rest()
            check(not whole, f"{word} of a damaged file ends without its last chunk")
            if word == "ndjson":
                last = json.loads(body.splitlines()[-1])
                check(last["error"]["status"] in (500, 503) and len(body.splitlines()) > 1000, f"the last line says why: {last}")
        reader = Reader(server, LARGE + "ndjson", "1.0")
        try:
            while reader.socket.recv(1 << 20):
                pass
            check(False, "to a client of HTTP/1.0 a broken stream looks whole")
        except ConnectionResetError:
            check(True, "reset")


def hidden(root):
    """Streams have the rows of the caller's JSON pages, under rules and access control."""
    dxtest.domaindex("suppress", "add", "--root", root, "--prefix", "example.com/p/11", "--policy", "absent", "--reason", "test")
    dxtest.domaindex("access", "init", "--root", root)
    dxtest.domaindex("access", "grant", "a", "--to", "*", "--root", root)
    with dxtest.Server(root) as server:
        dxtest.wait_until(lambda: server.get("/readyz").status == 200)
        rows = pages(server, f"{ALL}?limit=3000")
        check(0 < len(rows) < COMPARED and {row["dataset_id"] for row in rows} == {1}, f"{len(rows)} rows are visible")
        compare(server, ALL, rows)
        equal(in_format(server, ALL, "urls").decode().splitlines(), [row["url"] for row in rows], "URLs")
        compare(server, "/v1/domain/example.com", pages(server, "/v1/domain/example.com", "datasets"))
        equal(server.get("/v1/domain/example.com/datasets/2/urls?format=csv").body, server.get("/v1/domain/example.com/datasets/99/urls?format=csv").body.replace(b"99", b"2"),
              "a hidden dataset")


def other_media(root):
    """What has other media than rows: lists of names and feeds, by Accept where the parameter does not say; addresses of --public-url in feeds and redirects."""
    changes, public = "/v1/domain/example.com/changes", "https://example.net/some/index"
    with dxtest.Server(root, "--web", "yes", "--public-url", public) as server:
        for accept, query, kind in (("text/csv", "", "text/csv"), ("text/csv", "?format=ndjson", "application/x-ndjson"), ("*/*", "", "application/x-ndjson"),
                                    ("application/x-ndjson, text/csv;q=0.9", "", "application/x-ndjson"), (None, "", "application/x-ndjson")):
            reply = server.get("/v1/domains" + query, "POST", body=b"example.com\n", headers={"Content-Type": "text/plain", **({"Accept": accept} if accept else {})})
            equal((reply.status, reply.headers["content-type"].split(";")[0], reply.headers["vary"]), (200, kind, "Accept"), f"names, {accept} {query}")
        for accept, query, kind in (("application/atom+xml", "", "application/atom+xml"), ("application/atom+xml", "?format=json", "application/json"), ("*/*", "", "application/json"),
                                    ("application/json", "?format=atom", "application/atom+xml"), ("application/json, application/atom+xml;q=0.5", "", "application/json")):
            reply = server.get(changes + query, headers={"Accept": accept})
            equal((reply.status, reply.headers["content-type"], reply.headers["vary"].split(", ")[0]), (200, kind, "Accept"), f"changes, {accept} {query}")
        links = re.findall('href="([^"]*)"', server.get(changes + "?format=atom").body.decode())
        check(links and all(link.startswith(public + "/v1/domain/example.com/") for link in links), f"links of a feed: {links}")
        equal(server.get(LISTING, headers={"Accept": BROWSER}).headers["location"], public + "/#/urls/example.com/1", "a browser")


def in_unicode(tmp):
    """Names in A-labels have the characters that they stand for beside them, in each answer that names a domain."""
    root, name, shown = tmp / "unicode", "xn--bcher-kva.xn--p1ai", "bücher.рф"
    for dataset in ("a", "b"):
        dxtest.domaindex("ingest", "--root", root, "--dataset", dataset, "--format", "list", "-", input=f"http://{name}/{dataset}\nhttp://ascii.example/\n".encode())
        dxtest.domaindex("publish", "--root", root)
    one = f"/v1/domain/{name}"
    with dxtest.Server(root) as server:
        for target in (one, f"{one}?view=icann", f"{one}/urls", f"{one}/datasets/1/urls", f"{one}/datasets/1/paths", f"{one}/hosts", f"{one}/timeline", f"{one}/diff", f"{one}/changes",
                       f"/v1/host/{name}/urls", f"/v1/normalize?q={name}", f"/v1/keys?url=http://{name}/", f"/v1/url?u=http://{name}/a"):
            equal(server.get(target).json.get("domain_unicode"), shown, target)
            check("unicode" not in server.get(target.replace(name, "ascii.example")).body.decode(), f"{target}: of ASCII")
        for target, member, key in (("/v1/domains", "domains", "domain"), ("/v1/changes", "changes", "domain"), ("/v1/tlds", "tlds", "tld")):
            rows = server.get(target).json[member]
            equal([row.get(key + "_unicode") for row in rows if row[key].startswith("xn--")], [shown if key == "domain" else "рф"], target)
            compare(server, target, rows)
        lines = server.get("/v1/domains", "POST", body=name.encode(), headers={"Content-Type": "text/plain"}).body.decode().splitlines()
        equal(json.loads(lines[0])["domain_unicode"], shown, "a list of names")
        titles = re.findall("<title>([^<]*)</title>", server.get(f"{one}/changes?format=atom").body.decode())
        check(titles and all(f"{shown} ({name})" in title for title in titles), f"titles of a feed: {titles}")


def original(tmp):
    """One row has one text in `format=cdxj` and on the CDX server, whatever was ingested."""
    root, rows = tmp / "original", []
    for n, url in enumerate(("http://Example.com/a b", "http://example.com/é?x=\u4e2d", 'http://example.com/"q"', "http://bücher.example.com/", "http://EXAMPLE.com:80/x")):
        rows.append({"url": url, "ts": f"2024-01-0{n + 1}", "content_type": "text/html; charset=utf-8", "redirect": "https://example.com/r é", "status": "2 0", "type": "revisit" if n == 2 else None})
    (tmp / "o.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    dxtest.domaindex("ingest", "--root", root, "--dataset", "o", *(w for n in ("content_type", "redirect", "status", "type") for w in ("--extra-column", n)), tmp / "o.jsonl")
    dxtest.domaindex("publish", "--root", root)
    with dxtest.Server(root) as server:
        def objects(target):
            return sorted((key, time, sorted(json.loads(rest).items())) for key, time, rest in (line.split(" ", 2) for line in server.get(target).body.decode().splitlines()))
        equal(objects(LISTING + "?format=cdxj"), objects("/index?url=*.example.com&output=cdxj"), "CDXJ of a listing and of /index")
        equal(len(objects(LISTING + "?format=cdxj")), len(rows), "rows")
        first = server.get("/cdx?url=*.example.com&fl=urlkey,timestamp,original,mimetype,statuscode,redirect").body.decode().splitlines()
        lines = server.get(LISTING + "?format=cdx").body.decode().splitlines()[1:]
        equal(sorted(" ".join(line.split(" ")[i] for i in (0, 1, 2, 3, 4, 6)) for line in lines), sorted(first), "CDX of a listing and of /cdx")


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        root = make_root(tmp)
        with dxtest.Server(root) as server:
            values(server)
            tables(server)
            negotiation(server, False)
            framing(server)
        with dxtest.Server(root, "--web", "yes") as server:
            negotiation(server, True)
        with dxtest.Server(root, *dxtest.SAME_BYTES) as server:
            equal(len(in_format(server, ALL, "urls").splitlines()), COMPARED + 340, "without cursors, by offsets")
        other_media(root)
        original(tmp)
        in_unicode(tmp)
        hidden(root)
        large = large_root(tmp)
        streams(tmp, large)
        own_streams(large)
        rules_meanwhile(large)
        changed_rules(tmp)
        damaged(large)
    dxtest.finish()


if __name__ == "__main__":
    main()
