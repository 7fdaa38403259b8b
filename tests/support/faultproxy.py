# SPDX-License-Identifier: Apache-2.0
"""faultproxy - an HTTP origin behind which things go wrong on purpose.

    python3 tests/support/faultproxy.py --upstream http://127.0.0.1:9000 [--listen 127.0.0.1:0]
        [--faults status_503,body_cut,... | all] [--percent 10] [--pairs] [--seed 1]
prints "listening on 127.0.0.1:PORT", then serves until SIGTERM; by hand it is a tool to try a
client with. In a test:

    with faultproxy.Proxy("http://127.0.0.1:9000", faults=["body_cut"], percent=100) as proxy:
        ... proxy.url ...        proxy.count requests, proxy.injected {fault: count}

Each GET is sent on unchanged, with all its headers (Host too: signatures stay true), and its
reply damaged with the chance given by one fault of the list, or by two with pairs=True. A proxy is
deterministic for its seed and the order of requests. FAULTS names every kind; a kind with a dash
in its comment keeps the promise of the reply, that is, a client may accept it.

Not here, because they are below HTTP or need a resolver: DNS faults, connection refused (stop the
proxy), TLS faults (point an https:// client at it), and the faults of writes.
"""
import argparse
import http.client
import random
import socket
import socketserver
import struct
import sys
import threading
import time
import urllib.parse


class Reply:
    """What will be written: a list of headers so that duplicates can be made, and how it ends."""

    def __init__(self, status, reason, headers, body):
        self.status, self.reason, self.headers, self.body = status, reason, headers, body
        self.pause_at = None      # (byte, seconds): sleep before this byte
        self.drip = None          # seconds between single bytes
        self.end = "keep"         # keep, close, or reset
        self.raw_head = None      # sent in place of the head
        self.cut_at = None        # of the body, in bytes; the connection ends there

    def get(self, name):
        return next((v for k, v in self.headers if k.lower() == name.lower()), None)

    def drop(self, name):
        self.headers = [(k, v) for k, v in self.headers if k.lower() != name.lower()]

    def put(self, name, value):
        self.drop(name)
        self.headers.append((name, value))

    def set_body(self, body):
        self.body = body
        if self.get("Content-Length") is not None:
            self.put("Content-Length", str(len(body)))

    def error(self, status, reason, code="", **headers):
        body = f"<?xml version=\"1.0\"?>\n<Error><Code>{code or reason}</Code></Error>".encode()
        self.__init__(status, reason, [("Content-Length", str(len(body))),
                                       ("Content-Type", "application/xml")], body)
        for name, value in headers.items():
            self.headers.append((name.replace("_", "-"), value))


def content_range(reply):
    """(first, last, total) of the reply, or a made-up one."""
    text = (reply.get("Content-Range") or "bytes 0-0/1").split(" ", 1)[1]
    span, total = text.split("/")
    first, last = span.split("-")
    return int(first), int(last), int(total)


def status(code, reason, s3_code="", **headers):
    return lambda reply, context: reply.error(code, reason, s3_code, **headers)


def full(reply, context):
    whole = context.whole()
    reply.status, reply.reason = 200, "OK"
    reply.drop("Content-Range")
    reply.set_body(whole)


def short_200(reply, context):
    reply.status, reply.reason = 200, "OK"
    reply.drop("Content-Range")


def portal(reply, context):
    size = len(reply.body)
    reply.status, reply.reason = 200, "OK"
    reply.drop("Content-Range")
    reply.put("Content-Type", "text/html")
    reply.set_body((b"<html>Welcome! Please log in.</html>" * (size // 30 + 1))[:size])


def multipart(reply, context):
    value = reply.get("Content-Range") or "bytes 0-0/1"
    body = (f"--xyz\r\nContent-Type: x/y\r\nContent-Range: {value}\r\n\r\n").encode() + reply.body \
        + b"\r\n--xyz--\r\n"
    reply.drop("Content-Range")
    reply.put("Content-Type", "multipart/byteranges; boundary=xyz")
    reply.set_body(body)


def no_content(reply, context):
    reply.__init__(204, "No Content", [], b"")


def range_of(make):
    def change(reply, context):
        if reply.status == 206:
            reply.put("Content-Range", make(*content_range(reply)))
    return change


def range_twice(reply, context):
    if reply.status == 206:
        first, last, total = content_range(reply)
        reply.headers.append(("Content-Range", f"bytes {first + 1}-{last + 1}/{total + 1}"))


def header_gone(name):
    return lambda reply, context: reply.drop(name)


def length_twice(reply, context):
    reply.headers.append(("Content-Length", str(max(0, len(reply.body) - 1))))


def length_less(reply, context):
    reply.put("Content-Length", str(max(0, len(reply.body) - 1)))
    reply.body = reply.body[:-1]


def etag(make):
    def change(reply, context):
        reply.put("ETag", make(reply.get("ETag") or '"none"'))
    return change


def gzip_said(reply, context):
    reply.put("Content-Encoding", "gzip")


def body_of(make):
    def change(reply, context):
        reply.set_body(make(reply.body, context))
    return change


def cut_of(where):
    """Fewer bytes than Content-Length says, then the connection ends."""
    def change(reply, context):
        reply.cut_at = where(len(reply.body))
        reply.end = "close"
    return change


def close_delimited_cut(reply, context):
    reply.drop("Content-Length")
    reply.body = reply.body[:len(reply.body) // 2]
    reply.end = "close"
    reply.headers.append(("Connection", "close"))


def chunked_cut(reply, context):
    reply.drop("Content-Length")
    reply.headers.append(("Transfer-Encoding", "chunked"))
    half = reply.body[:len(reply.body) // 2]
    reply.body = f"{len(reply.body):x}\r\n".encode() + half
    reply.end = "close"


def longer_close_delimited(reply, context):
    reply.drop("Content-Length")
    reply.body += b"and more"
    reply.end = "close"
    reply.headers.append(("Connection", "close"))


def flip(body, context):
    if not body:
        return body
    at = context.random.randrange(len(body))
    return body[:at] + bytes([body[at] ^ 1 << context.random.randrange(8)]) + body[at + 1:]


def swapped(reply, context):
    """The body of another range of the same object, of the same length."""
    whole = context.whole()
    size = len(reply.body)
    at = context.random.randrange(max(1, len(whole) - size + 1))
    reply.set_body((whole[at:at + size] + b"\0" * size)[:size])


def stall(where, seconds):
    def change(reply, context):
        reply.pause_at = (where(len(reply.body)), seconds)
    return change


def drip(reply, context):
    reply.drip = 0.25


def reset(where):
    def change(reply, context):
        reply.cut_at = where(len(reply.body))
        reply.end = "reset"
    return change


def no_reply(reply, context):
    reply.raw_head = b""
    reply.body = b""
    reply.end = "close"


def no_reply_reset(reply, context):
    no_reply(reply, context)
    reply.end = "reset"


def garbage(reply, context):
    reply.raw_head = b"SSH-2.0-OpenSSH_9.2\r\n"
    reply.body = b""
    reply.end = "close"


def late(reply, context):
    reply.pause_at = (-1, 30)


TIME_IN_A_WHILE = "Fri, 31 Dec 2100 23:59:59 GMT"
FAULTS = {
    "connect_reset": no_reply_reset,
    "closed_unanswered": no_reply,
    "not_http": garbage,
    "first_byte_late": late,
    "status_500": status(500, "Internal Server Error", "InternalError"),
    "status_502": status(502, "Bad Gateway"),
    "status_503": status(503, "Slow Down", "SlowDown"),
    "status_504": status(504, "Gateway Timeout"),
    "status_429": status(429, "Too Many Requests", "TooManyRequests"),
    "status_429_retry_after": status(429, "Too Many Requests", Retry_After="1"),
    "status_503_retry_far": status(503, "Slow Down", Retry_After=TIME_IN_A_WHILE),
    "status_403_expired": status(403, "Forbidden", "ExpiredToken"),
    "status_403_skewed": status(403, "Forbidden", "RequestTimeTooSkewed"),
    "status_404": status(404, "Not Found", "NoSuchKey"),
    "status_410": status(410, "Gone"),
    "status_412": status(412, "Precondition Failed", "PreconditionFailed"),
    "status_416": status(416, "Range Not Satisfiable", "InvalidRange", Content_Range="bytes */1"),
    "status_301": status(301, "Moved Permanently", "PermanentRedirect",
                         Location="http://169.254.169.254/latest/meta-data/"),
    "status_307": status(307, "Temporary Redirect", Location="file:///etc/passwd"),
    "status_200_full": full,
    "status_200_short": short_200,
    "status_200_html": portal,
    "status_204": no_content,
    "status_206_multipart": multipart,
    "range_missing": header_gone("Content-Range"),
    "range_other": range_of(lambda a, b, n: f"bytes {a + 1}-{b + 1}/{max(n, b + 2)}"),
    "range_from_zero": range_of(lambda a, b, n: f"bytes {0 if a else 1}-{b - a}/{n}"),
    "range_twice": range_twice,
    "range_overflow": range_of(lambda a, b, n: f"bytes {a + 2 ** 64}-{b + 2 ** 64}/{2 ** 65}"),
    "range_total_unknown": range_of(lambda a, b, n: f"bytes {a}-{b}/*"),
    "range_total_other": range_of(lambda a, b, n: f"bytes {a}-{b}/{n + 1}"),
    "length_twice": length_twice,
    "length_less": length_less,
    "etag_missing": header_gone("ETag"),
    "etag_weak": etag(lambda tag: "W/" + tag),
    "etag_changed": etag(lambda tag: '"changed"'),
    "encoding_gzip": gzip_said,
    "body_empty": body_of(lambda body, context: b""),
    "body_half": body_of(lambda body, context: body[:len(body) // 2]),
    "body_longer": body_of(lambda body, context: body + b"k"),
    "body_longer_close_delimited": longer_close_delimited,
    "cut_at_zero": cut_of(lambda n: 0),
    "cut_before_last": cut_of(lambda n: n - 1),
    "cut_close_delimited": close_delimited_cut,
    "cut_chunked": chunked_cut,
    "bit_flip": body_of(flip),
    "body_swapped": swapped,
    "body_stale": body_of(lambda body, context: bytes(len(body))),
    "drip": drip,
    "stall_at_zero": stall(lambda n: 0, 30),
    "stall_at_half": stall(lambda n: n // 2, 30),
    "stall_before_last": stall(lambda n: n - 1, 30),
    "pause_then_on": stall(lambda n: n // 2, 0.2),          # - a client may wait for it
    "reset_at_half": reset(lambda n: n // 2),
    "reset_after_body": reset(lambda n: n),                 # - all bytes have come
}
# A reply as it should be but for bytes that only a checksum can tell from the right ones.
NEEDS_CHECKSUM = ("bit_flip", "body_swapped", "body_stale")
# The bytes are right.
HARMLESS = ("pause_then_on", "reset_after_body")


class Context:
    def __init__(self, proxy, handler):
        self.proxy, self.handler, self.random = proxy, handler, proxy.random

    def whole(self):
        """The object without Range; a signed store may refuse, then the reply is what it is."""
        return self.proxy.fetch(self.handler.target, self.handler.fields, whole=True)[3]


class Handler(socketserver.StreamRequestHandler):
    timeout = 60

    def handle(self):
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.server.proxy.connected(1)
        try:
            while self.one():
                pass
        except (OSError, ValueError):
            pass
        finally:
            self.server.proxy.connected(-1)

    def one(self):
        line = self.rfile.readline(65536).split()
        if len(line) < 3:
            return False
        self.target = line[1].decode("latin-1")
        self.fields = []
        while True:
            field = self.rfile.readline(65536).rstrip(b"\r\n").decode("latin-1")
            if not field:
                break
            name, _, value = field.partition(":")
            self.fields.append((name, value.strip()))
        reply = Reply(*self.server.proxy.fetch(self.target, self.fields))
        self.server.proxy.damage(reply, Context(self.server.proxy, self))
        return self.write(reply)

    def write(self, reply):
        head = f"HTTP/1.1 {reply.status} {reply.reason}\r\n" + \
            "".join(f"{k}: {v}\r\n" for k, v in reply.headers) + "\r\n"
        head = head.encode("latin-1") if reply.raw_head is None else reply.raw_head
        body = reply.body if reply.cut_at is None else reply.body[:max(0, reply.cut_at)]
        if reply.pause_at and reply.pause_at[0] < 0:
            self.pause(reply.pause_at[1])
        self.connection.sendall(head)
        if reply.drip:
            for at in range(len(body)):
                self.connection.sendall(body[at:at + 1])
                self.pause(reply.drip)
        elif reply.pause_at and reply.pause_at[0] >= 0:
            self.connection.sendall(body[:reply.pause_at[0]])
            self.pause(reply.pause_at[1])
            self.connection.sendall(body[reply.pause_at[0]:])
        else:
            self.connection.sendall(body)
        if reply.end == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                       struct.pack("ii", 1, 0))
        if reply.end != "keep":
            self.connection.close()
        return reply.end == "keep"

    def pause(self, seconds):
        """As time.sleep, but ends when the client goes or the proxy stops."""
        end = time.monotonic() + seconds
        self.connection.settimeout(0.02)
        while time.monotonic() < end and not self.server.proxy.stopping:
            try:
                if not self.connection.recv(1, socket.MSG_PEEK):
                    raise OSError("the client went")
            except TimeoutError:
                continue
            time.sleep(0.02)
        self.connection.settimeout(self.timeout)


class Listener(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 256

    def handle_error(self, request, client_address):
        pass


class Proxy:
    def __init__(self, upstream, faults=(), percent=100.0, pairs=False, seed=1,
                 listen=("127.0.0.1", 0), delay_ms=0):
        unknown = [name for name in faults if name not in FAULTS]
        if unknown:
            raise ValueError(f"no such fault: {', '.join(unknown)}")
        parts = urllib.parse.urlsplit(upstream)
        self.upstream = (parts.hostname, parts.port or 80)
        self.random = random.Random(seed)
        self.lock = threading.Lock()
        self.local = threading.local()
        self.stopping = False
        self.connections = 0
        self.delay_ms = delay_ms
        self.set(faults, percent, pairs)
        self.listener = Listener(listen, Handler)
        self.listener.proxy = self
        self.port = self.listener.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.thread = threading.Thread(target=self.listener.serve_forever, args=(0.05,),
                                       daemon=True)

    def set(self, faults=(), percent=100.0, pairs=False, limit=None):
        """Another set of faults from the next request on; counts begin at 0. limit: no more than
        so many replies are damaged."""
        with self.lock:
            self.faults, self.percent, self.pairs = list(faults), percent, pairs
            self.limit = limit
            self.count, self.injected = 0, {}

    def connected(self, change):
        with self.lock:
            self.connections += change

    def settle(self, seconds=10):
        """Waits until no client is connected, so that late requests of one that has gone do not
        meet the next faults."""
        end = time.monotonic() + seconds
        quiet = 0
        while quiet < 3 and time.monotonic() < end:
            quiet = quiet + 1 if self.connections == 0 else 0
            time.sleep(0.01)
        return quiet == 3

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, kind, value, trace):
        self.stopping = True
        self.listener.shutdown()
        self.listener.server_close()

    def fetch(self, target, fields, whole=False):
        """status, reason, headers, body of the origin; one kept connection a thread."""
        for again in (True, False):
            origin = getattr(self.local, "origin", None)
            if origin is None:
                origin = self.local.origin = http.client.HTTPConnection(*self.upstream, timeout=30)
            try:
                origin.putrequest("GET", target, skip_host=True, skip_accept_encoding=True)
                for name, value in fields:
                    if not (whole and name.lower() in ("range", "if-match")):
                        origin.putheader(name, value)
                origin.endheaders()
                reply = origin.getresponse()
                body = reply.read()
                break
            except (http.client.HTTPException, OSError):
                origin.close()
                self.local.origin = None
                if not again:
                    return 502, "Bad Gateway", [("Content-Length", "0")], b""
        headers = [(k, v) for k, v in reply.getheaders()
                   if k.lower() not in ("connection", "transfer-encoding", "keep-alive")]
        if reply.status not in (204, 304) and not any(k.lower() == "content-length"
                                                      for k, _ in headers):
            headers.append(("Content-Length", str(len(body))))
        return reply.status, reply.reason, headers, body

    def damage(self, reply, context):
        with self.lock:
            self.count += 1
            names = []
            if self.faults and self.random.random() * 100 < self.percent and \
                    (self.limit is None or sum(self.injected.values()) < self.limit):
                names = self.random.sample(self.faults, min(len(self.faults), 1 + self.pairs))
            for name in names:
                self.injected[name] = self.injected.get(name, 0) + 1
        if self.delay_ms:
            time.sleep(self.delay_ms / 1000)
        for name in names:
            FAULTS[name](reply, context)


def main():
    parser = argparse.ArgumentParser(description="An HTTP proxy that damages replies on purpose.")
    parser.add_argument("--upstream", required=True, help="http://host:port of the origin")
    parser.add_argument("--listen", default="127.0.0.1:0")
    parser.add_argument("--faults", default="all", help="names, joined by commas: "
                        + ", ".join(FAULTS))
    parser.add_argument("--percent", type=float, default=10)
    parser.add_argument("--pairs", action="store_true", help="two faults in each damaged reply")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--delay-ms", type=float, default=0, help="before each reply")
    options = parser.parse_args()
    host, port = options.listen.rsplit(":", 1)
    faults = list(FAULTS) if options.faults == "all" else \
        [name for name in options.faults.split(",") if name]
    with Proxy(options.upstream, faults, options.percent, options.pairs, options.seed,
               (host, int(port)), options.delay_ms) as proxy:
        print(f"listening on {host}:{proxy.port}", flush=True)
        try:
            proxy.thread.join()
        except KeyboardInterrupt:
            pass


if __name__ == "__main__":
    sys.exit(main())
