# SPDX-License-Identifier: Apache-2.0
# labels: slow
"""What comes from outside without end does not take the memory: replies of a store with headers,
interim replies, trailers, error bodies or a listing that never end; records of an ingest that never
end. Each run's peak of resident memory is measured (VmHWM, as wait4 gives it); a run
is killed after 1 s or 4 s (10 s with DX_WHOLE=1), its peak counts all the same. A listing is for DX_WHOLE=1: what it may have is more than the gate
has time for (in the gate tests/e2e/store_s3.py has a page that is too long, and pages without end).

In detail: a store whose headers, interim replies, trailers, error bodies, chunk extensions or listing never
end, and packed records of each format that never end: peaks of resident memory.
"""
import gzip
import http.server
import sys
import threading
import time

import dxtest
from peaks import peak

MIB = 1 << 20
# A run that has not ended by then is killed: its peak counts all the same. Of bodies and extensions none ends by itself.
SECONDS = {mode: 10 if dxtest.WHOLE else 1 if mode in ("body", "extensions") else 4
           for mode in ("trailers", "headers", "interim", "error", "body", "extensions")}


PAGE = (b"<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>#</NextContinuationToken>" +
        b"".join(b"<Contents><Key>@%04d%s.parquet</Key><ETag>&quot;e&quot;</ETag><Size>1</Size></Contents>" % (i, b"/".join([b"k" * 200] * 4))
                 for i in range(1000)) + b"</ListBucketResult>")


class Store(http.server.BaseHTTPRequestHandler):
    """Just enough of S3 for a publisher to come to its listing; GETs of `endless` never end."""

    protocol_version = "HTTP/1.1"
    objects, mode, asked = {}, "", 0

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", **fields):
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def key(self):
        return self.path.partition("?")[0]

    def do_PUT(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        have = self.objects.get(self.key())
        wants = self.headers.get("If-Match")
        if (self.headers.get("If-None-Match") and have) or (wants and (not have or have[0] != wants)):
            return self.answer(412)
        etag = f'"{len(self.objects)}-{time.monotonic_ns()}"'
        self.objects[self.key()] = (etag, body)
        return self.answer(200, ETag=etag)

    def do_DELETE(self):
        self.objects.pop(self.key(), None)
        self.answer(204)

    def do_GET(self):
        Store.asked += 1
        try:
            if self.mode != "listing":
                self.flood()
            elif "list-type=2" in self.path:
                self.page()
            elif self.key() in self.objects:
                etag, body = self.objects[self.key()]
                self.answer(200, body, ETag=etag)
            else:
                self.answer(404)
        except OSError:
            self.close_connection = True

    def page(self):
        """Of the lake: names of 900 bytes that only grow."""
        number = int(self.path.partition("token=")[2].partition("&")[0] or 0)
        prefix = self.path.partition("prefix=")[2].partition("&")[0].replace("%2F", "/")
        if "urls" not in prefix:
            return self.answer(200, b"<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>")
        return self.answer(200, PAGE.replace(b"@", f"{prefix}dataset_id=1/{number:012d}".encode()).replace(b"#", str(number + 1).encode()))

    def flood(self):
        heads = {"headers": b"HTTP/1.1 200 OK\r\n", "interim": b"",
                 "trailers": b'HTTP/1.1 200 OK\r\nETag: "e"\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n',
                 "error": b"HTTP/1.1 500 No\r\nTransfer-Encoding: chunked\r\n\r\n",
                 "body": b'HTTP/1.1 200 OK\r\nETag: "e"\r\nTransfer-Encoding: chunked\r\n\r\n',
                 "extensions": b'HTTP/1.1 200 OK\r\nETag: "e"\r\nTransfer-Encoding: chunked\r\n\r\n2;'}
        lines = {"headers": b"X-A: " + b"b" * 90 + b"\r\n", "interim": b"HTTP/1.1 100 Continue\r\nX-A: b\r\n\r\n",
                 "trailers": b"X-A: " + b"b" * 90 + b"\r\n", "error": b"5\r\n12345\r\n", "body": b"5\r\n     \r\n",
                 "extensions": b"a=b;" * 20}
        self.wfile.write(heads[self.mode])
        if self.mode == "body" and not dxtest.WHOLE:    # so large that a second is enough for more than may be
            lines["body"] = b"10000\r\n" + b" " * 65536 + b"\r\n"
        block = lines[self.mode] * max(1, 65536 // len(lines[self.mode]))
        for _ in range(1 << 16):
            self.wfile.write(block)


def replies():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Store)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    env = {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "s", "AWS_REGION": "us-east-1",
           "AWS_ENDPOINT_URL_S3": f"http://127.0.0.1:{server.server_port}", "NO_PROXY": "127.0.0.1"}
    try:
        for Store.mode in SECONDS:
            for command in (("versions", "--root", "s3://bucket/r"), ("publish", "--root", "s3://bucket/r", "--memory", "64M")):
                Store.asked = 0
                peak(command, 250 if dxtest.WHOLE or Store.mode == "body" else 100, f"{command[0]} from a store with endless {Store.mode}", env, seconds=SECONDS[Store.mode])
                dxtest.check(Store.asked > 0, f"{command[0]} has asked the store")
        if dxtest.WHOLE:    # its names may have 512 MiB: a minute on a slow machine
            Store.mode, Store.asked = "listing", 0
            peak(("compact", "--root", "s3://bucket/r", "--dry-run"), 1300, "a listing without end", env, b"the listing of", 200)
            dxtest.check(Store.asked > 1, "compact has asked for pages of the listing")
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def records(tmp):
    """Records without end, of each format, packed a thousand to one."""
    records = {     # what begins it, what follows, how many MiB of that
        "quote.csv": (b'url\n"http://a.example.com/', b"x" * 31 + b"\n", 60),
        "quotes.csv": (b"url\n" + b'"\n' * 3, b"x" * 31 + b"\n", 60),
        "line.jsonl": (b'{"url": "', b"x", 200),
        "array.json": (b'[{"url":"', b"y", 200),
        "nul.list": (b"", b"\0", 200),
        "list.list": (b"http://a.example.com/", b"z", 200),
        "tabs.tsv": (b"url\tts\n", b"\t", 200),
        "short.list": (b"", b"x\n", 120 if dxtest.WHOLE else 10),
    }
    for name, (head, piece, count) in records.items():
        count = count if dxtest.WHOLE else count // 4 if name.startswith("quote") else count * 2 // 5
        path = tmp / (name + ".gz")     # of one member for each MiB
        path.write_bytes(gzip.compress(head) + gzip.compress(piece * (MIB // len(piece))) * count)
        peak(("ingest", "--root", tmp / "root", "--dataset", "a", "--memory", "256M", "--threads", "2", path),
             600 if dxtest.WHOLE else 110, name)     # 30 bytes a record would be seen, and a record that is kept whole


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        records(tmp)
    replies()
    dxtest.finish()


if __name__ == "__main__":
    sys.exit(main())
