# SPDX-License-Identifier: Apache-2.0
# labels: threads
"""POST /v1/domains and `domaindex lookup --names`: what they say, and how they behave.

Every name in every format beside GET /v1/domain of it; both programs byte for byte; lists cut into chunks of every size; what stands
behind a body on the connection; framing that is refused; a long list that is not read for a while, and what the server holds
then; other requests meanwhile; a body that stops; a version published, a suppression added and a file damaged in the middle.

In detail: lists of names: every format of list and answer beside single requests and beside `lookup --names`,
framing that is refused, clients that do not read or stop, another version, suppressions and damage in the
middle. Without DX_WHOLE the lists of the formats have 1,200 names (300 of 200 domains under sanitizers), not 3,000, and `lookup` is asked for each list and each answer, not for
each pair of them.
"""
import contextlib
import csv
import gzip
import io
import json
import os
import pathlib
import random
import shutil
import socket
import threading
import time

import dxtest
from dxtest import check, equal

DATASETS, DOMAINS = 30, 200 if dxtest.SANITIZED and not dxtest.WHOLE else 600
LISTED = 3000 if dxtest.WHOLE else 300 if dxtest.SANITIZED else 1200
LONG = 20_000 if dxtest.SANITIZED else 200_000
CHUNKED = "Transfer-Encoding: chunked"


def rows(rng):
    for i in range(DOMAINS):
        for d in rng.sample(range(DATASETS), 1 + int(DATASETS * rng.random() ** 6)):
            for k in range(1 + int(8 * rng.random() ** 3)):
                day = f"2024-01-{1 + (i + k) % 28:02}" if k % 3 else ""
                yield f'set "{d}", all\thttp://h{k % 2}.name{i}.com/p/{k}\t{day}\n'


def build(root):
    """In three parts: most domains are in several, and dead in all but one of them."""
    rng = random.Random(6)
    shares = [[], [], []]
    for row in rows(rng):
        rng.choice(shares).append(row)
    for share in shares:
        dxtest.domaindex("ingest", "--root", root, "--format", "tsv", "--dataset-column", 1, "--url-column", 2,
                         "--ts-column", 3, "-", input="".join(share).encode())
        dxtest.domaindex("publish", "--root", root, "--merge-max", 1, "--no-merge")
    manifest = json.loads((pathlib.Path(root) / "index" / "manifest.json").read_bytes())
    current = next(v for v in manifest["versions"] if v["version"] == manifest["current_version"])
    equal(len(current.get("parts", ())), 2, "parts of the version beside its own")


def names(rng, count):
    """What people put into lists; no line ends in them."""
    odd = ["co.uk", "com", "mailto:x@y.z", "a b.com", "münchen.de", "http://[::1]/x", 'a"b.com', "a,b.com", "  name1.com ",
           "xn--nobody.com", "name2.com.", "." * 300, "\\", "'", "=1+1", "name3.com:8080", "https://h0.name4.com/p?q=1#f"]
    for _ in range(count):
        what = rng.random()
        if what < 0.6:
            yield rng.choice(("", "www.", "https://", "HTTP://U:P@")) + f"name{rng.randrange(DOMAINS)}.com"
        elif what < 0.9:
            yield f"stranger{rng.randrange(10**9)}.com"
        else:
            yield rng.choice(odd)


# ---- lists and what is to be said of them ----

def text_list(listed):
    return "".join(name + "\n" for name in listed).encode()


def csv_list(listed):
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(["id", "URL", "Host"])
    for i, name in enumerate(listed):
        writer.writerow([i, "http://not.this.one/\n", name])
    return b"\xef\xbb\xbf" + out.getvalue().encode()


def ndjson_list(listed):
    return "".join(json.dumps(name if i % 2 else {"x": [1], "host": name}, ensure_ascii=i % 3 == 0) + "\n"
                   for i, name in enumerate(listed)).encode()


def json_list(listed):
    elements = [name if i % 2 else {"x": [1, ']"}'], "host": name} for i, name in enumerate(listed)]
    return json.dumps({"domains": elements} if len(listed) % 2 else elements, ensure_ascii=False, indent=len(listed) % 3 or None).encode()


LISTS = {"text/plain": (text_list, "text"), "text/csv; header=present": (csv_list, "csv"),
         "application/x-ndjson": (ndjson_list, "ndjson"), "application/json": (json_list, "json")}


class Truth:
    """Of single requests, which other tests compare with the rows."""

    def __init__(self, server):
        self.server, self.known = server, {}
        self.datasets = server.get("/v1/datasets").json["datasets"]

    def of(self, name):
        if name not in self.known:
            quoted = "".join(f"%{b:02X}" for b in name.encode())
            self.known[name] = self.server.get(f"/v1/domain/{quoted}").json
        return self.known[name]

    def ndjson(self, name, line):
        said = self.of(name)
        if "datasets" in said:
            pairs = [{k: d[k] for k in ("dataset_id", "url_count", "row_count")} for d in said["datasets"]]
            return {"line": line, "asked": name, "domain": said["domain"], **self.unicode(said["domain"]), "found": True,
                    "dataset_count": said["dataset_count"], "url_count": said["url_count"],
                    "row_count": said["row_count"], "datasets": pairs}
        slug = said["type"].rsplit(":", 1)[1]
        if slug == "not-a-domain":
            reason, domain = said["detail"].rsplit("(", 1)[1].split(")")[0], None
        else:
            reason, domain = "absent", said["detail"].split(" is in none")[0]
        return {"line": line, "asked": name, "domain": domain, **self.unicode(domain), "found": False, "reason": reason}

    def unicode(self, domain):
        if "xn--" not in (domain or ""):
            return {}
        said = self.server.get(f"/v1/normalize?q={domain}").json
        return {k: said[k] for k in ("domain_unicode",) if k in said}

    def csv(self, name):
        said = self.ndjson(name, 0)
        head = [name, said["domain"] or "", said.get("reason", "")]
        if not said["found"]:
            return [head + [""] * 6]
        return [head + [str(d["dataset_id"]), d["name"], str(d["url_count"]), str(d["row_count"]), d["first_ts"] or "",
                        d["last_ts"] or ""] for d in self.of(name)["datasets"]]

    def matrix(self, name, ids):
        said = self.ndjson(name, 0)
        urls = {d["dataset_id"]: str(d["url_count"]) for d in said.get("datasets", [])}
        return [name, said["domain"] or "", said.get("reason", "")] + [urls.get(i, "") for i in ids]


def check_said(truth, listed, lines_at, form, body, ids):
    if form == "ndjson":
        lines = [json.loads(line) for line in body.decode().splitlines()]
        equal(lines[:-1], [truth.ndjson(n, lines_at(i)) for i, n in enumerate(listed)], "NDJSON")
        found = sum(line["found"] for line in lines[:-1])
        rejected = sum(line["domain"] is None for line in lines[:-1])
        equal(lines[-1]["summary"], {"names": len(listed), "found": found, "absent": len(listed) - found - rejected,
                                     "withheld": 0, "rejected": rejected}, "summary")
        equal(lines[-1]["complete"], True, "complete")
        return
    check(body.endswith(b"\r\n") and body.count(b"\n") == body.count(b"\r\n"), "lines end with CRLF")
    table = list(csv.reader(io.StringIO(body.decode(), newline=""), strict=True))
    if form == "csv":
        equal(table[0], "asked,domain,reason,dataset_id,dataset,url_count,row_count,first_ts,last_ts".split(","), "header")
        equal(table[1:], [row for n in listed for row in truth.csv(n)], "CSV")
    else:
        by_id = {d["dataset_id"]: d["name"] for d in truth.datasets}
        equal(table[0], ["asked", "domain", "reason"] + [by_id[i] for i in ids], "header of the matrix")
        equal(table[1:], [truth.matrix(n, ids) for n in listed], "matrix")


def check_formats(root, server, truth, tmp):
    listed = list(names(random.Random(1), LISTED))
    some = [17, 3, 30]
    every = [d["dataset_id"] for d in truth.datasets]
    for turn, (kind, (make, word)) in enumerate(LISTS.items()):
        body = make(listed)
        (tmp / word).write_bytes(body)
        for number, (form, ids) in enumerate((("ndjson", None), ("csv", None), ("matrix", every), ("matrix", some))):
            chosen = ids == some
            query = f"format={form}" + ("&datasets=" + ",".join(map(str, some)) if chosen else "")
            reply = server.get(f"/v1/domains?{query}", method="POST", body=body, headers={"Content-Type": kind})
            equal((reply.status, reply.headers["content-type"].split(";")[0], reply.headers.get("etag")),
                  (200, "application/x-ndjson" if form == "ndjson" else "text/csv", None), f"{kind} as {form}")
            # a quoted line end in each record of the CSV: two lines a record, and one for the header
            lines_at = (lambda i: 2 + 2 * i) if word == "csv" else (lambda i: 1 + i)
            check_said(truth, listed, lines_at, form, reply.body, ids)
            more = ["--datasets", ",".join(map(str, some))] if chosen else []
            if not dxtest.WHOLE and (turn + number) % 4:
                continue
            done = dxtest.domaindex("lookup", "--root", root, "--names", tmp / word, "--input", word, "--format", form, *more)
            equal(done.stdout, reply.body, f"lookup and POST, {kind} as {form}")
            check(f"{LISTED:,} names in ".encode() in done.stderr, done.stderr[-200:])
            if word != "text":      # a list says by its name what it is; --input wins
                named = tmp / f"list.{word}.gz"
                named.write_bytes(gzip.compress(body))
                equal(dxtest.domaindex("lookup", "--root", root, "--names", named, "--format", form, *more).stdout, reply.body, f"by its name, {named.name} as {form}")
    (tmp / "lines.csv").write_text("example.com\nexample.org\n")
    done = dxtest.domaindex("lookup", "--root", root, "--names", tmp / "lines.csv", "--input", "text")
    check(b'"asked":"example.org"' in done.stdout, done.stdout[:200])
    (tmp / "objects").write_text('{"url":"http://example.com/"}\n' * 3)
    done = dxtest.domaindex("lookup", "--root", root, "--names", tmp / "objects", expect=1)
    check(b"nothing in the list is a domain, host or URL; --input" in done.stderr and b'"rejected":3}' in done.stdout, f"a list of something else: {done}")
    done = dxtest.domaindex("lookup", "--root", root, "--names", "-", input=text_list(listed))
    equal(done.stdout, server.get("/v1/domains", method="POST", body=text_list(listed)).body, "standard input")
    done = dxtest.domaindex("lookup", "--root", root, "--format", "csv", *listed[:9])
    equal(done.stdout, server.get("/v1/domains?format=csv", method="POST", body=text_list(listed[:9])).body, "operands")


def check_odd_lists(server):
    def said(body, kind="text/plain", query=""):
        reply = server.get(f"/v1/domains{query}", method="POST", body=body, headers={"Content-Type": kind})
        equal(reply.status, 200, body[:60])
        lines = [json.loads(line) for line in reply.body.splitlines()]
        return [(j["line"], j.get("domain"), j.get("reason")) for j in lines[:-1]]

    long = b"x" * 9000
    equal(said(b""), [], "nothing")
    equal(said(b"\xef\xbb\xbf"), [], "a mark and nothing")
    equal(said(b"\n\r\n\nname1.com"), [(4, "name1.com", None)], "empty lines, no line end")
    equal(said(b"\xef\xbb\xbfname1.com\r\n \nname2.com\n"),
          [(1, "name1.com", None), (2, None, "empty"), (3, "name2.com", None)], "mark, CRLF, a line of spaces")
    equal(said(long + b"\nname1.com\n" + long), [(1, None, "too_long"), (2, "name1.com", None), (3, None, "too_long")],
          "long lines")
    equal(said(b"name1.com/" + b"a" * (8192 - 11) + b"\n"), [(1, "name1.com", None)], "a line of 8192 bytes with its end")
    equal(said(b"\xff.com\na\0b.com\n"), [(1, None, "utf8_invalid"), (2, None, "host_invalid")], "no text")
    equal(said(b"name1.com,x\nname2.com\n", "text/csv"), [(1, "name1.com", None), (2, "name2.com", None)], "CSV, no header")
    equal(said(b'domain\n"name1.com"x\nname2.com\n"name3.com\n', "text/csv"),
          [(2, None, "malformed"), (3, "name2.com", None), (4, None, "malformed")], "CSV, stray quotes")
    equal(said(b'"x\n\ny",url,host\r\n1,name1.com\r\n\r\n2\r\n', "text/csv"), [(4, None, "empty"), (6, None, "empty")],
          "CSV, header over lines, short records")
    equal(said(b'{"url":"name1.com"}\n[1]\n"a\n{"host":1}\nnull\n"\\u0000"\n{"a":1,"a":2,"url":"x"}\n' + b"[" * 5000 + b"\n",
               "application/x-ndjson"), [(1, "name1.com", None)] + [(i, None, "malformed") for i in range(2, 9)], "NDJSON")
    for body, want in ((b"[]", []), (b' {"domains" : [ ] } \n', []), (b'["name1.com"]', [(1, "name1.com", None)]),
                       (b'\xef\xbb\xbf["name1.com", 7, {"url": "name2.com"}, [], "name\\u0033.com"]',
                        [(1, "name1.com", None), (2, None, "malformed"), (3, "name2.com", None), (4, None, "malformed"),
                         (5, "name3.com", None)]),
                       (b'["' + long + b'","name1.com"]', [(1, None, "too_long"), (2, "name1.com", None)])):
        equal(said(body, "application/json"), want, f"JSON: {body[:40]}")
    for body in (b"", b"[", b"{}", b'{"names":["name1.com"]}', b'"name1.com"', b"name1.com", b"]", b'{"domains":"name1.com"}'):
        equal(said(body, "application/json"), [(1, None, "malformed")], f"no array: {body[:40]}")
    for body in (b'["name1.com"', b'["name1.com",', b'["name1.com"]]', b'["name1.com"] "name2.com"', b'["name1.com" "name2.com"]',
                 b'["name1.com",]', b'{"domains":["name1.com"]', b'{"domains":["name1.com"],"more":1}'):
        equal(said(body, "application/json"), [(1, "name1.com", None), (2, None, "malformed")], f"an array that is not whole: {body}")


# ---- on the connection ----

def connect(server):
    return socket.create_connection((server.host, server.port), 30)


def connect_narrow(server):
    """Of which the kernel keeps little: else it may take a whole list, and all of its answer."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 16)
    connection.settimeout(60)
    connection.connect((server.host, server.port))
    return connection


def head(*fields, target="/v1/domains"):
    return "".join(f"{line}\r\n" for line in (f"POST {target} HTTP/1.1", "Host: h", *fields, "")).encode()


def chunks(body, size):
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part)
                    for part in (body[i:i + size] for i in range(0, len(body), size))) + b"0\r\n\r\n"


def read_head(stream):
    status = int(stream.readline().split()[1])
    fields = {}
    for line in iter(stream.readline, b"\r\n"):
        if not line:
            break
        name, _, value = line.decode().partition(":")
        fields[name.lower()] = value.strip()
    return status, fields


def read_reply(stream):
    """(status, body, whole): whole is False where the connection ended before the body did."""
    status, fields = read_head(stream)
    if "content-length" in fields:
        return status, stream.read(int(fields["content-length"])), True
    parts = []
    while True:
        line = stream.readline()
        if not line.endswith(b"\r\n"):
            return status, b"".join(parts), False
        size = int(line, 16)
        parts.append(stream.read(size))
        if len(parts[-1]) < size or stream.read(2) != b"\r\n":
            return status, b"".join(parts), False
        if size == 0:
            return status, b"".join(parts), True


def check_cuts(server):
    body = text_list(names(random.Random(2), 40))
    want = server.get("/v1/domains", method="POST", body=body).body
    sent = head(CHUNKED) + chunks(body, 7) + b"GET /v1/domain/name1.com HTTP/1.1\r\nHost: h\r\n\r\n"
    sent += head(f"Content-Length: {len(body)}", "Connection: close", target="/domains") + body
    single = server.get("/v1/domain/name1.com").body
    for size in (1, 2, 3, 11, 100, len(sent)):
        with connect(server) as connection:
            stream = connection.makefile("rb")
            for i in range(0, len(sent), size):
                connection.sendall(sent[i:i + size])
            for of in (want, single, want):
                equal(read_reply(stream), (200, of, True), f"pieces of {size}")
            equal(stream.read(), b"", "closed as it was asked to be")
    with connect(server) as connection:  # waits for leave to send
        stream = connection.makefile("rb")
        connection.sendall(head(f"Content-Length: {len(body)}", "Expect: 100-continue"))
        equal(read_head(stream), (100, {}), "leave")
        connection.sendall(body)
        equal(read_reply(stream), (200, want, True), "behind the leave")
    with connect(server) as connection:  # a line at a time, each answered before the next one is sent
        stream = connection.makefile("rb")
        connection.sendall(head(CHUNKED))
        for i in range(3):
            connection.sendall(b"a\r\nname%d.com\n\r\n" % i)
            if i == 0:
                equal(read_head(stream)[0], 200, "the reply begins before the body has ended")
            line = stream.read(int(stream.readline(), 16) + 2)
            equal(json.loads(line)["domain"], f"name{i}.com", "an answer at once")


def check_refused(server):
    smuggled = b"GET /v1/domain/name1.com HTTP/1.1\r\nHost: h\r\n\r\n"
    body = b"name1.com\n"
    for fields, status, sent in (
            (["Content-Length: 10", CHUNKED], 400, chunks(body, 3)), (["Content-Length: 10", "Content-Length: 10"], 400, body),
            (["Content-Length: 10, 10"], 400, body), (["Content-Length: +10"], 400, body), (["Content-Length: 010"], 400, body),
            (["Transfer-Encoding: gzip, chunked"], 400, chunks(body, 3)), (["Transfer-Encoding: Chunked"], 400, chunks(body, 3)),
            ([], 411, body), (["Content-Length: 99999999999999"], 413, body), ([CHUNKED, "Expect: x"], 417, chunks(body, 3)),
            ([CHUNKED, "Content-Encoding: gzip"], 415, chunks(body, 3)),
            ([CHUNKED, "Content-Type: application/xml"], 415, chunks(body, 3)),
            ([CHUNKED], 400, b"3;a\r\nabc\r\n0\r\n\r\n"), ([CHUNKED], 400, b"3\nabc\n0\n\n"),
            ([CHUNKED], 400, b"0\r\nA: b\r\n\r\n"), ([CHUNKED], 400, b"fffffffffff\r\n"), ([CHUNKED], 413, b"ffffffffff\r\n")):
        if status == 413 and sent.startswith(b"ff"):
            continue  # its bytes would have to come first
        with connect(server) as connection:
            stream = connection.makefile("rb")
            connection.sendall(head(*fields) + sent + smuggled)
            got = read_reply(stream)
            equal(got[0], status, f"{fields} {sent[:20]}")
            check(b"urn:domaindex:problem:" in got[1] and stream.read() == b"", f"{fields}: closed, nothing else answered")
    with connect(server) as connection:  # answers are out already
        stream = connection.makefile("rb")
        connection.sendall(head(CHUNKED) + b"a\r\nname1.com\n\r\n")
        equal(read_head(stream)[0], 200, "begun")
        first = stream.read(int(stream.readline(), 16) + 2)
        check(json.loads(first)["found"], first)
        connection.sendall(b"x\r\n")
        rest = stream.read()
        check(b'{"error":' in rest and b"bad-request" in rest and not rest.endswith(b"0\r\n\r\n"), f"broken off: {rest!r}")
    for target, words in (("?format=xml", "format"), ("?datasets=1", "matrix"), ("?format=matrix&datasets=1,1", "twice"),
                          ("?format=matrix&datasets=", "empty"), ("?format=matrix&datasets=1,", "commas"),
                          ("?format=matrix&datasets=99", "not in version"), ("?limit=1", "limit"),
                          ("?version=000099-20260101T000000Z", "version")):
        reply = server.get(f"/v1/domains{target}", method="POST", body=body)
        check(reply.status in (400, 404, 503) and words in reply.json["detail"], f"{target}: {reply.status} {reply.body!r}")
    for method, status in (("PUT", 405), ("DELETE", 405), ("GET", 200), ("HEAD", 200)):
        reply = server.get("/v1/domains", method=method)
        equal(reply.status, status, method)


# ---- long lists ----

def resident(server):
    return int(next(line.split()[1] for line in
                    pathlib.Path(f"/proc/{server.process.pid}/status").read_text(encoding="ascii").splitlines()
                    if line.startswith("RssAnon:"))) * 1024


class Sender(threading.Thread):
    def __init__(self, connection, body):
        super().__init__()
        self.connection, self.body, self.sent, self.error = connection, body, 0, None
        self.start()

    def run(self):
        try:
            while self.sent < len(self.body):
                self.sent += self.connection.send(self.body[self.sent:self.sent + 65536])
        except OSError as error:
            self.error = error


def check_long(server):
    listed = list(names(random.Random(3), LONG))
    body = text_list(listed)
    want = server.get("/v1/domain/name1.com").body
    before = resident(server)
    with connect_narrow(server) as connection:
        stream = connection.makefile("rb")
        sender = Sender(connection, head(f"Content-Length: {len(body)}") + body)
        def stands():  # nothing is read: the server must stop too
            stood = sender.sent
            time.sleep(0.5)
            return stood if sender.sent == stood > 0 else None

        stood = dxtest.wait_until(stands)
        check(stood and stood < len(body), f"a client that does not read: {sender.sent} of {len(body)} bytes were taken")
        slowest, asked, peak = 0.0, 0, resident(server)
        done = threading.Event()
        replies = []

        def ask():
            nonlocal slowest, asked
            while not done.is_set():
                begin = time.monotonic()
                equal(server.get("/v1/domain/name1.com").body, want, "another request meanwhile")
                slowest = max(slowest, time.monotonic() - begin)
                asked += 1

        other = threading.Thread(target=ask)
        other.start()
        replies.append(read_reply(stream))
        done.set()
        other.join()
        peak = max(peak, resident(server))
        sender.join()
    status, got, whole = replies[0]
    equal((status, whole, got.count(b"\n")), (200, True, LONG + 1), "the whole answer of a long list")
    equal(json.loads(got.splitlines()[-1])["summary"]["names"], LONG, "names")
    check(asked > 2, f"{asked} other requests were answered meanwhile, the slowest in {slowest * 1000:.1f} ms")
    check(dxtest.SANITIZED or peak - before < 8 << 20, f"a list of {len(body)} bytes raised the memory by {peak - before}")
    print(f"{LONG} names beside {asked} requests, the slowest {slowest * 1000:.1f} ms; memory +{(peak - before) >> 10} KiB")


def check_stops(root):
    with dxtest.Server(root, "--write-timeout-ms", 500) as server:
        with connect(server) as connection:
            stream = connection.makefile("rb")
            connection.sendall(head("Content-Length: 100") + b"name1.com\n")
            status, got, whole = read_reply(stream)
            check(status == 200 and not whole and b"request-timeout" in got.splitlines()[-1], f"a body that stops: {got!r}")
        with connect(server) as connection:
            stream = connection.makefile("rb")
            connection.sendall(head("Content-Length: 100", target="/v1/domains?format=csv") + b"name1")
            status, got, whole = read_reply(stream)
            check(status == 200 and not whole and b"error" not in got, f"CSV that is not whole has no last chunk: {got!r}")
        with connect(server) as connection:  # cut by its client
            stream = connection.makefile("rb")
            connection.sendall(head("Content-Length: 100") + b"name1.com\n")
            connection.shutdown(socket.SHUT_WR)
            status, got, whole = read_reply(stream)
            check(not whole and b"bad-request" in got.splitlines()[-1], f"a body that is cut: {got!r}")
        with connect(server) as connection:  # does not read
            Sender(connection, head(CHUNKED) + chunks(text_list(names(random.Random(4), LONG)), 50000)).join()
        equal(server.get("/v1/domain/name1.com").status, 200, "and the server goes on")


def check_many(root):
    """Lists that wait take no more than half of what replies may hold: others are answered beside them."""
    with dxtest.Server(root, "--reply-memory", "4M") as server, contextlib.ExitStack() as stack:
        waiting = [stack.enter_context(connect(server)) for _ in range(30)]
        for connection in waiting:
            connection.sendall(head("Content-Length: 100", "Expect: 100-continue"))
        replies = [connection.makefile("rb").readline().split()[1] for connection in waiting]
        equal((replies.count(b"100"), replies.count(b"503")), (3, 27), "lists of names at once")
        equal(server.get("/v1/domain/name1.com").status, 200, "a single name beside them")
        for connection in waiting:
            connection.close()
        dxtest.wait_until(lambda: server.get("/v1/domains", method="POST", body=b"name1.com").status != 503)
        for _ in range(20):  # each gives back what it had
            equal(server.get("/v1/domains", method="POST", body=b"name1.com").status, 200, "a list when they are gone")


# ---- what changes in the middle ----

def line_by_line(connection, stream):
    """Sends one name at a time and reads its answer; a problem's line ends it."""
    connection.sendall(head(CHUNKED))
    first = True

    def ask(name):
        nonlocal first
        connection.sendall(chunks(name.encode() + b"\n", 1 << 20)[:-5])
        if first:
            equal(read_head(stream)[0], 200, "begun")
        first = False
        size = stream.readline()
        return json.loads(stream.read(int(size, 16) + 2))

    return ask


def check_changes(root):
    with dxtest.Server(root, "--poll-ms", 50) as server, connect(server) as connection:
        stream = connection.makefile("rb")
        ask = line_by_line(connection, stream)
        old = server.get("/v1/domain/name1.com").json
        equal(ask("name1.com")["url_count"], old["url_count"], "before")
        equal(ask("brand-new.com")["found"], False, "before")
        dxtest.domaindex("ingest", "--root", root, "--dataset", "more", "--format", "list", "-",
                         input=b"http://brand-new.com/\nhttp://name1.com/brand-new\n")
        dxtest.domaindex("publish", "--root", root)
        dxtest.wait_until(lambda: server.get("/v1/domain/brand-new.com").status == 200)
        equal(server.get("/v1/domain/brand-new.com").status, 200, "another version is served")
        equal(ask("brand-new.com")["found"], False, "a list stays on its version")
        equal(ask("name1.com")["url_count"], old["url_count"], "a list stays on its version")
        fresh = server.get("/v1/domains", method="POST", body=b"brand-new.com\n").body.splitlines()
        equal(json.loads(fresh[0])["found"], True, "a new list is of the new one")
        past = server.get(f"/v1/domains?version={old['version']}", method="POST", body=b"brand-new.com\n").body.splitlines()
        equal((json.loads(past[0])["found"], json.loads(past[1])["version"]), (False, old["version"]), "and of the one named")
        hide(server, root, ask, old["version"])
        connection.sendall(b"0\r\n\r\n")
        summary = json.loads(stream.read(int(stream.readline(), 16) + 2))
        equal((summary["version"], summary["complete"], stream.readline()), (old["version"], True, b"0\r\n"), "whole")


def hide(server, root, ask, version):
    """Suppressions hold for what is written behind them."""
    before = ask("name5.com")
    check(before["found"] and ask("name6.com")["found"], "found before it is suppressed")
    for kind, what, policy in (("domain", "name5.com", "withheld"), ("domain", "name6.com", "absent"),
                               ("host", "h0.name7.com", "withheld")):
        dxtest.domaindex("suppress", "add", "--root", root, f"--{kind}", what, "--policy", policy, "--reason", "test")
    hidden = [451, 404]  # rules come one by one: the server may know the first of them alone for a while
    dxtest.wait_until(lambda: [server.get(f"/v1/domain/{name}").status for name in ("name5.com", "name6.com")] == hidden)
    equal((ask("name5.com")["found"], ask("name5.com")["reason"]), (False, "withheld"), "withheld")
    equal(ask("name6.com")["reason"], "absent", "made absent")
    for form in ("csv", "matrix"):
        table = server.get(f"/v1/domains?format={form}", method="POST", body=b"name5.com\nname6.com\n\xffa,b\n").body.decode()
        equal([row[:3] for row in csv.reader(io.StringIO(table, newline=""), strict=True)][1:],
              [["name5.com", "name5.com", "withheld"], ["name6.com", "name6.com", "absent"], ["\ufffda,b", "", "utf8_invalid"]],
              f"withheld, absent and rejected are three answers: {form}")
    dxtest.wait_until(lambda: "withheld_rows" in ask("name7.com"))  # waits while the rows are looked at, once the rule is there
    said = ask("name7.com")
    single = server.get(f"/v1/domain/name7.com?version={version}").json
    equal((said["row_count"], said.get("withheld_rows", 0)), (single.get("row_count"), single.get("withheld_rows")), "a part is hidden")
    equal([d.get("withheld_rows") for d in said["datasets"]], [d.get("withheld_rows") for d in single["datasets"]],
          "of each dataset")


def check_damage(root):
    with dxtest.Server(root) as server:
        with connect(server) as connection, connect(server) as table:
            stream, other = connection.makefile("rb"), table.makefile("rb")
            ask = line_by_line(connection, stream)
            check(ask("name1.com")["found"], "before")
            table.sendall(head(CHUNKED, target="/v1/domains?format=csv") + b"a\r\nname1.com\n\r\n")
            equal(read_head(other)[0], 200, "before")
            other.read(int(other.readline(), 16) + 2)
            counts = next(root.rglob("domain_counts.dxc"))
            size = counts.stat().st_size
            os.truncate(counts, size // 2)
            dxtest.wait_until(lambda: server.get("/v1/domain/name1.com").status != 200)
            said = ask("name2.com")
            equal(said.get("error", {}).get("type"), "urn:domaindex:problem:index-changed", "the list is broken off")
            equal(stream.read(), b"", "without a last chunk")
            table.sendall(b"a\r\nname2.com\n\r\n")
            equal(other.read(), b"", "a table is, too, without a word")
        equal(server.get("/v1/domains", method="POST", body=b"name1.com").status, 503, "no list begins")


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        root = tmp / "root"
        build(root)
        changing, damaged = (shutil.copytree(root, tmp / name) for name in ("changing", "damaged"))
        with dxtest.Server(root) as server:
            truth = Truth(server)
            check_formats(root, server, truth, tmp)
            check_odd_lists(server)
            check_cuts(server)
            check_refused(server)
            check_long(server)
        check_stops(root)
        check_many(root)
        check_changes(changing)
        check_damage(damaged)
    dxtest.finish()


main()
