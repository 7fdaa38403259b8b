# SPDX-License-Identifier: Apache-2.0
"""faultproxy - an HTTP origin behind which things go wrong on purpose.

    python3 tests/support/faultproxy.py --upstream http://127.0.0.1:9000|FOLDER [--listen 127.0.0.1:0]
        [--faults status_503,body_cut,... | reads | writes | connections | all] [--percent 10]
        [--pairs] [--bursts 50/1000] [--delay-ms 20] [--bytes-per-s 1000000] [--seed 1]
prints "listening on 127.0.0.1:PORT", then serves until SIGTERM or Ctrl-C and prints what it did;
--list names every fault. In a test:

    with faultproxy.Proxy("http://127.0.0.1:9000", faults=["body_cut"], percent=100) as proxy:
        ... proxy.url ...        proxy.count requests, proxy.injected {fault: count}
        proxy.set(["status_503"], 5)            other faults from the next request on

A request is sent on unchanged, with all its headers (Host too: signatures stay true), and its
reply damaged with the chance given by one fault of the list, or by two with pairs=True. `proxy.hide = re.compile(...)` leaves out keys that match from listings: empty or short ones, as
stores give them that are eventually consistent. With
bursts only the first 50 of each 1000 requests take that chance. One thread; deterministic for its
seed and the order of requests. Three kinds of faults:

    FAULTS             of replies to reads. To a write, a status or a broken connection comes
                       before the store sees it; the others come after it was applied.
    WRITE_FAULTS       of PUT and POST. Those that undo a condition must sign the request anew if
                       the store checks signatures: credentials=(key id, secret, region).
    CONNECTION_FAULTS  drawn once a connection, when it is made. Those of TLS need tls=(certificate
                       file, key file): then the proxy is https://.

Below all this: Unanswered() is an address where nobody answers, Names() a resolver whose answers
go wrong (both are for tests that have a network of their own or a port 53).
"""
import argparse
import asyncio
import contextlib
import datetime
import fcntl
import hashlib
import hmac
import os
import random
import re
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import termios
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
        body = error_text(code or reason)
        self.__init__(status, reason, [("Content-Length", str(len(body))),
                                       ("Content-Type", "application/xml")], body)
        for name, value in headers.items():
            self.headers.append((name.replace("_", "-"), value))


def error_text(code):
    return f"<?xml version=\"1.0\"?>\n<Error><Code>{code}</Code></Error>".encode()


def content_range(reply):
    """(first, last, total) of the reply, or a made-up one."""
    text = (reply.get("Content-Range") or "bytes 0-0/1").split(" ", 1)[1]
    span, total = text.split("/")
    first, last = map(int, span.split("-"))
    return first, last, int(total) if total.isdigit() else last + 1


def status(code, reason, s3_code="", **headers):
    return lambda reply, context: reply.error(code, reason, s3_code, **headers)


def full(reply, context):
    reply.status, reply.reason = 200, "OK"
    reply.drop("Content-Range")
    reply.set_body(context.whole)


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


def shortened(listing, hide):
    """A listing without the keys that match; its count is that of what is left."""
    def kept(match):
        key = urllib.parse.unquote(re.search(rb"<Key>([^<]*)</Key>", match[0])[1].decode())
        return b"" if hide.search(key) else match[0]
    listing = re.sub(rb"<Contents>.*?</Contents>", kept, listing, flags=re.S)
    left = listing.count(b"<Contents>")
    return re.sub(rb"<KeyCount>\d+</KeyCount>", b"<KeyCount>%d</KeyCount>" % left, listing)


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


def flips(body, context):
    """One bit in every 16 bytes: whatever the reader uses of a range, some of it is wrong."""
    out = bytearray(body)
    for at in range(0, len(out), 16):
        out[at] ^= 1 << context.random.randrange(8)
    return bytes(out)


def swapped(reply, context):
    """The body of another range of the same object, of the same length."""
    size = len(reply.body)
    at = context.random.randrange(max(1, len(context.whole) - size + 1))
    reply.set_body((context.whole[at:at + size] + b"\0" * size)[:size])


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
    "bit_flips": body_of(flips),
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
NEEDS_CHECKSUM = ("bit_flip", "bit_flips", "body_swapped", "body_stale")
# The bytes are right.
HARMLESS = ("pause_then_on", "reset_after_body")
# What stays an error however often it is asked.
FINAL = ("status_403_expired", "status_403_skewed", "status_404", "status_410", "status_412",
         "status_416", "status_301", "status_307", "status_503_retry_far")
# Made from the whole object, which is fetched for them.
NEEDS_WHOLE = ("status_200_full", "body_swapped")

WRITE_FAULTS = {
    "put_applied_dropped": "the store has it, the connection ends without a reply",
    "put_applied_500": "the store has it, the reply is 500",
    "put_200_error": "the store does not have it, the reply is 200 with <Error> in its body",
    "put_inm_ignored": "If-None-Match: * overwrites what is there",
    "put_inm_inverted": "If-None-Match: * overwrites what is there, and is refused where nothing is",
    "put_im_on_missing": "If-Match is taken though there is no such object",
}
CONNECTION_FAULTS = {
    "connection_refused": "nobody listens for a fifth of a second",
    "connection_unanswered": "for a second and a half nobody answers who knocks",
    "connection_reset": "reset as soon as it is made",
    "connection_closed": "closed as soon as it is made",
    "connection_silent": "made, and then nothing",
    "tls_bad_certificate": "a certificate that nobody has signed",
    "tls_truncated": "the handshake ends within the server's first words",
    "tls_not": "an HTTP reply where a handshake should be",
}
NAME_FAULTS = {
    "name_unknown": "NXDOMAIN",
    "name_slow": "the answer comes after five seconds",
    "name_wrong": "the address of somebody else",
    "name_failing": "SERVFAIL",
    "name_unanswered": "no answer",
}
GROUPS = {"reads": FAULTS, "writes": WRITE_FAULTS, "connections": CONNECTION_FAULTS,
          "all": {**FAULTS, **WRITE_FAULTS, **CONNECTION_FAULTS}}
REFUSED_S, UNANSWERED_S, SILENT_S = 0.2, 1.5, 30
# A write that meets one of these does not come as far as the store.
BEFORE_WRITES = ("connect_reset", "closed_unanswered", "not_http")


# --------------------------------------------------------------------------------- requests

class Request:
    def __init__(self, method, target, fields, body):
        self.method, self.target, self.fields, self.body = method, target, fields, body

    def get(self, name):
        return next((v for k, v in self.fields if k.lower() == name), None)

    def without(self, *names):
        return Request(self.method, self.target,
                       [(k, v) for k, v in self.fields if k.lower() not in names], self.body)

    def encode(self):
        head = "".join([f"{self.method} {self.target} HTTP/1.1\r\n",
                        *(f"{k}: {v}\r\n" for k, v in self.fields), "\r\n"])
        return head.encode("latin-1") + self.body


def signed(request, credentials, token=None):
    """The request with a signature of its own: AWS Signature Version 4, payload not signed."""
    key_id, secret, region = credentials
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    request = request.without("authorization", "x-amz-date", "x-amz-content-sha256",
                              "x-amz-security-token")
    request.fields += [("x-amz-date", now), ("x-amz-content-sha256", "UNSIGNED-PAYLOAD")]
    if token:
        request.fields.append(("x-amz-security-token", token))
    covered = sorted((k.lower(), " ".join(v.split())) for k, v in request.fields
                     if k.lower() == "host" or k.lower().startswith("x-amz-"))
    names = ";".join(k for k, _ in covered)
    path, _, query = request.target.partition("?")
    query = "&".join("=".join(pair) for pair in sorted(
        part.partition("=")[::2] for part in query.split("&"))) if query else ""
    canonical = "\n".join([request.method, path, query, *(f"{k}:{v}" for k, v in covered), "",
                           names, "UNSIGNED-PAYLOAD"])
    scope = f"{now[:8]}/{region}/s3/aws4_request"
    text = "\n".join(["AWS4-HMAC-SHA256", now, scope,
                      hashlib.sha256(canonical.encode()).hexdigest()])
    key = b"AWS4" + secret.encode()
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    value = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
    request.fields.append(("Authorization", f"AWS4-HMAC-SHA256 Credential={key_id}/{scope}, "
                           f"SignedHeaders={names}, Signature={value}"))
    return request


class Incoming:
    """Cuts what arrives into messages: feed() bytes, take() (first line, fields, body) or None."""

    def __init__(self, replies=False):
        self.buffer, self.replies, self.head, self.ended = bytearray(), replies, None, False
        self.bodiless = False     # of a reply: to a HEAD

    def feed(self, data):
        self.buffer += data

    def _take_head(self):
        end = self.buffer.find(b"\r\n\r\n")
        if end < 0:
            if len(self.buffer) > 1 << 20:
                raise ValueError("a head of more than a megabyte")
            return None
        lines = bytes(self.buffer[:end]).decode("latin-1").split("\r\n")
        del self.buffer[:end + 4]
        fields = []
        for line in lines[1:]:
            name, _, value = line.partition(":")
            fields.append((name, value.strip()))
        return lines[0], fields

    def _chunks(self):
        """The body of a chunked message if all of it is there, else None."""
        at, body = 0, []
        while True:
            end = self.buffer.find(b"\r\n", at)
            if end < 0:
                return None
            size = int(bytes(self.buffer[at:end]).split(b";")[0], 16)
            if size == 0:
                end = self.buffer.find(b"\r\n", end + 2)
                if end < 0:
                    return None
                del self.buffer[:end + 2]
                return b"".join(body)
            if len(self.buffer) < end + 4 + size:
                return None
            body.append(bytes(self.buffer[end + 2:end + 2 + size]))
            at = end + 4 + size

    def _body(self, line, fields):
        size = chunked = None
        for name, value in fields:
            if len(name) == 14 and name.lower() == "content-length":
                size = int(value)
            elif len(name) == 17 and name.lower() == "transfer-encoding":
                chunked = value.lower() == "chunked"
        if self.replies and (self.bodiless or line[9:12] in ("204", "304")):
            return b""
        if chunked:
            return self._chunks()
        if size is None and self.replies:     # to the end of the connection
            return bytes(self.buffer) if self.ended else None
        if len(self.buffer) < (size or 0):
            return None
        body = bytes(self.buffer[:size or 0])
        del self.buffer[:size or 0]
        return body

    def take(self):
        while True:
            if self.head is None:
                self.head = self._take_head()
                if self.head is None:
                    return None
            if self.replies and self.head[0][9:10] == "1":    # 100 Continue
                self.head = None
                continue
            body = self._body(*self.head)
            if body is None:
                return None
            line, fields = self.head
            self.head = None
            return line, fields, body


# ------------------------------------------------------------------------------- the origin

class Origin(asyncio.Protocol):
    """One connection to the upstream, one request at a time."""

    def __init__(self):
        self.incoming, self.waiting, self.lost, self.idle_ok = Incoming(True), None, False, True

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        self.incoming.feed(data)
        self.finish()

    def finish(self):
        if not self.waiting or self.waiting.done():
            self.idle_ok = False      # bytes that nobody asked for
            return
        try:
            taken = self.incoming.take()
        except ValueError as error:
            self.waiting.set_exception(OSError(str(error)))
            return
        if taken:
            self.waiting.set_result(taken)
        elif self.lost:
            self.waiting.set_exception(OSError("the upstream hung up"))

    def connection_lost(self, error):
        self.lost = self.incoming.ended = True
        if self.waiting and not self.waiting.done():
            self.finish()

    async def ask(self, request):
        self.waiting = asyncio.get_running_loop().create_future()
        self.incoming.bodiless = request.method == "HEAD"
        self.transport.write(request.encode())
        line, fields, body = await asyncio.wait_for(self.waiting, 120)
        self.waiting = None
        if any(k.lower() == "connection" and v.lower() == "close" for k, v in fields):
            self.idle_ok = False
        code, _, reason = line[9:].partition(" ")
        return int(code), reason, fields, body


class Folder:
    """A folder of files as an upstream: ranges, ETags and preconditions; read-only."""

    def __init__(self, path):
        self.path, self.idle = os.path.realpath(path), []

    async def fetch(self, request):
        name = urllib.parse.unquote(request.target.partition("?")[0]).lstrip("/")
        path = os.path.realpath(os.path.join(self.path, name))
        if request.method not in ("GET", "HEAD"):
            return self.error(405, "Method Not Allowed")
        if not path.startswith(self.path + os.sep) or not os.path.isfile(path):
            return self.error(404, "Not Found")
        with open(path, "rb") as file:
            about = os.fstat(file.fileno())
            tag = f'"{about.st_mtime_ns:x}-{about.st_size:x}"'
            headers = [("ETag", tag), ("Accept-Ranges", "bytes")]
            if request.get("if-match") not in (None, "*", tag):
                return self.error(412, "Precondition Failed")
            if request.get("if-none-match") in ("*", tag):
                return 304, "Not Modified", headers, b""
            first, last, status = 0, about.st_size - 1, (200, "OK")
            asked = re.fullmatch(r"bytes=(\d+)-(\d*)", request.get("range") or "")
            if asked:
                first = int(asked[1])
                last = min(last, int(asked[2] or last))
                if first > last:
                    return self.error(416, "Range Not Satisfiable",
                                      ("Content-Range", f"bytes */{about.st_size}"))
                status = (206, "Partial Content")
                headers.append(("Content-Range", f"bytes {first}-{last}/{about.st_size}"))
            file.seek(first)
            body = file.read(last - first + 1)
        return *status, [*headers, ("Content-Length", str(len(body)))], body

    @staticmethod
    def error(code, reason, *headers):
        return code, reason, [("Content-Length", "0"), *headers], b""


class Upstream:
    def __init__(self, url, verify):
        parts = urllib.parse.urlsplit(url)
        self.tls = None
        if parts.scheme == "https":
            self.tls = ssl.create_default_context(cafile=verify)
        self.address = (parts.hostname, parts.port or (443 if self.tls else 80))
        self.idle = []

    async def connect(self):
        loop = asyncio.get_running_loop()
        _, origin = await asyncio.wait_for(loop.create_connection(
            Origin, *self.address, ssl=self.tls,
            server_hostname=self.address[0] if self.tls else None), 10)
        return origin

    async def fetch(self, request):
        """(status, reason, headers, body); 502 where there is none. A write is sent once."""
        repeatable = request.method in ("GET", "HEAD")
        while True:
            kept = None
            while self.idle and repeatable and not kept:
                kept = self.idle.pop()
                if kept.lost or not kept.idle_ok:
                    kept = None
            try:
                origin = kept or await self.connect()
                code, reason, fields, body = await origin.ask(request)
                break
            except (OSError, asyncio.TimeoutError):
                if kept:     # an idle connection may have been closed
                    continue
                return 502, "Bad Gateway", [("Content-Length", "0")], b""
        if origin.idle_ok and not origin.lost and len(self.idle) < 256:
            self.idle.append(origin)
        else:
            origin.transport.close()
        headers = [(k, v) for k, v in fields
                   if k.lower() not in ("connection", "transfer-encoding", "keep-alive")]
        if code not in (204, 304) and not any(k.lower() == "content-length" for k, _ in headers):
            headers.append(("Content-Length", str(len(body))))
        return code, reason, headers, body


# ------------------------------------------------------------------------------- the client

class Context:
    def __init__(self, chance, whole=b""):
        self.random, self.whole = chance, whole


class Client(asyncio.Protocol):
    """One connection of a client, one request at a time in their order."""

    def __init__(self, proxy):
        self.proxy, self.incoming, self.busy, self.told = proxy, Incoming(), False, False
        self.lost = asyncio.Event()

    def connection_made(self, transport):
        self.transport = transport
        self.proxy.clients.add(self)

    def connection_lost(self, error):
        self.lost.set()
        self.proxy.clients.discard(self)

    def data_received(self, data):
        self.incoming.feed(data)
        if not self.busy:
            self.pump()

    def pump(self):
        try:
            taken = self.incoming.take()
            if taken:
                line, fields, body = taken
                method, target, _ = line.split(" ", 2)
        except ValueError:
            self.transport.close()
            return
        if taken:
            self.busy, self.told = True, False
            fields = [(k, v) for k, v in fields if k.lower() not in ("expect", "transfer-encoding")]
            if body and not any(k.lower() == "content-length" for k, _ in fields):
                fields.append(("Content-Length", str(len(body))))
            self.proxy.run(self.serve(Request(method, target, fields, body)))
        elif self.incoming.head and not self.told and any(
                k.lower() == "expect" for k, _ in self.incoming.head[1]):
            self.told = True
            self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    async def serve(self, request):
        try:
            reply = await self.proxy.answer(request)
        except BaseException:
            self.transport.abort()     # a client is not to wait for what went wrong here
            raise
        if self.lost.is_set():
            return
        await self.write(reply, request.method == "HEAD")
        if reply.end == "keep" and (request.get("connection") or "").lower() != "close":
            self.busy = False
            if not self.lost.is_set():
                self.pump()
        elif reply.end == "reset":
            await self.flushed()
            reset_now(self.transport)
        else:
            self.transport.close()

    async def write(self, reply, bodiless):
        head = "".join([f"HTTP/1.1 {reply.status} {reply.reason}\r\n",
                        *(f"{k}: {v}\r\n" for k, v in reply.headers), "\r\n"])
        head = head.encode("latin-1") if reply.raw_head is None else reply.raw_head
        body = reply.body if reply.cut_at is None else reply.body[:max(0, reply.cut_at)]
        if bodiless:
            body = b""
        if reply.pause_at and reply.pause_at[0] < 0:
            await self.pause(reply.pause_at[1])
        if reply.drip:
            self.transport.write(head)
            for at in range(len(body)):
                if self.lost.is_set():
                    return
                self.transport.write(body[at:at + 1])
                await self.pause(reply.drip)
        elif reply.pause_at and reply.pause_at[0] >= 0:
            self.transport.write(head + body[:reply.pause_at[0]])
            await self.pause(reply.pause_at[1])
            if not self.lost.is_set():
                self.transport.write(body[reply.pause_at[0]:])
        elif self.proxy.bytes_per_s:
            await self.write_slowly(head + body)
        else:
            self.transport.write(head + body)

    async def write_slowly(self, data):
        """All connections share the line."""
        for at in range(0, len(data), 16384):
            part = data[at:at + 16384]
            now = time.monotonic()
            self.proxy.line_free = max(now, self.proxy.line_free) + \
                len(part) / self.proxy.bytes_per_s
            await self.pause(self.proxy.line_free - now)
            if self.lost.is_set():
                return
            self.transport.write(part)

    async def pause(self, seconds):
        """As a sleep, but ends when the client goes."""
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self.lost.wait(), seconds)

    async def flushed(self):
        """Until the client's side has all that was written; for what is to be cut after it."""
        end = time.monotonic() + 2
        link = self.transport.get_extra_info("socket")
        while link and time.monotonic() < end and not self.lost.is_set():
            unsent = struct.unpack("i", fcntl.ioctl(link.fileno(), termios.TIOCOUTQ, b"\0" * 4))[0]
            if unsent == 0 and self.transport.get_write_buffer_size() == 0:
                return
            await asyncio.sleep(0.001)


def reset_now(transport):
    link = transport.get_extra_info("socket")
    with contextlib.suppress(OSError, AttributeError):     # it may be gone
        link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()


class Gate(asyncio.Protocol):
    """A connection that has just been made: goes wrong, or goes on as a Client, within TLS or not."""

    def __init__(self, proxy):
        self.proxy = proxy

    def connection_made(self, transport):
        self.transport = transport
        fault = self.proxy.draw_connection()
        if fault or self.proxy.tls:
            transport.pause_reading()
            self.proxy.run(self.damaged(fault) if fault else self.handshake(self.proxy.tls))
        else:
            client = Client(self.proxy)
            transport.set_protocol(client)
            client.connection_made(transport)

    async def damaged(self, fault):
        if fault == "tls_bad_certificate":
            await self.handshake(self.proxy.bad_tls())
            return
        if fault == "connection_silent":
            await asyncio.sleep(SILENT_S)
        elif fault == "tls_truncated":     # 40 of the 122 bytes of a record of the handshake
            self.transport.write(b"\x16\x03\x03\x00\x7a\x02\x00\x00\x76\x03\x03" + bytes(34))
        elif fault == "tls_not":
            self.transport.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        elif fault == "connection_refused":
            self.proxy.run(self.proxy.deaf(REFUSED_S, False))
        elif fault == "connection_unanswered":
            self.proxy.run(self.proxy.deaf(UNANSWERED_S, True))
        if fault in ("tls_truncated", "tls_not", "connection_closed"):
            self.transport.close()
        else:
            reset_now(self.transport)

    async def handshake(self, context):
        client = Client(self.proxy)
        with contextlib.suppress(OSError, asyncio.TimeoutError):
            transport = await asyncio.get_running_loop().start_tls(
                self.transport, client, context, server_side=True, ssl_handshake_timeout=10)
            if transport:
                client.connection_made(transport)


# -------------------------------------------------------------------------------- the proxy

def check_names(faults):
    unknown = [name for name in faults if name not in GROUPS["all"]]
    if unknown:
        raise ValueError(f"no such fault: {', '.join(unknown)}")


def server_context(certificate, key):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    context.set_alpn_protocols(["http/1.1"])
    return context


def strangers_context():
    """A certificate that was made just now and signed by itself."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                        "/CN=stranger", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost",
                        "-keyout", f"{folder}/key", "-out", f"{folder}/certificate"],
                       check=True, capture_output=True)
        return server_context(f"{folder}/certificate", f"{folder}/key")


class Proxy:
    def __init__(self, upstream, faults=(), percent=100.0, pairs=False, seed=1,
                 listen=("127.0.0.1", 0), delay_ms=0, bursts=None, bytes_per_s=0, tls=None,
                 credentials=None, verify=None, record=False):
        """bursts: (50, 1000); tls: (certificate file, key file) to be https://; credentials: see
        above; verify: a file of certificates for an https:// upstream; record: keep (method,
        target, Range) of each request in `seen`."""
        check_names(faults)
        self.upstream = Folder(upstream) if "://" not in upstream else Upstream(upstream, verify)
        self.random = random.Random(seed)
        self.lock = threading.Lock()
        self.clients, self.tasks = set(), set()
        self.delay_ms, self.bursts, self.bytes_per_s = delay_ms, bursts, bytes_per_s
        self.tls = server_context(*tls) if tls else None
        self.strangers = None
        self.credentials, self.record, self.seen, self.line_free = credentials, record, [], 0.0
        self.watching = self.hide = None
        self.set(faults, percent, pairs)
        self.socket = self.listening(listen)
        self.address = self.socket.getsockname()[:2]
        self.port = self.address[1]
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"
        self.server = None
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.serve, daemon=True)

    def set(self, faults=(), percent=100.0, pairs=False, limit=None, bursts=None):
        """Another set of faults from the next request on; counts begin at 0. limit: no more than
        so many replies are damaged."""
        check_names(faults)
        with self.lock:
            names = list(faults)
            self.faults = [name for name in names if name in FAULTS]
            self.write_faults = [name for name in names if name in WRITE_FAULTS]
            self.connection_faults = [name for name in names if name in CONNECTION_FAULTS
                                      and (self.tls or not name.startswith("tls_"))]
            self.percent, self.pairs, self.limit = percent, pairs, limit
            self.bursts = bursts or self.bursts
            self.count, self.injected, self.seen = 0, {}, []

    def watch(self, tell):
        """tell(number, "before") is called when a request is here and not yet sent on, and
        tell(number, "after") when the store has answered it. What tell says is true before: the
        request goes no further. None: nobody wants to know."""
        self.watching = tell

    def told(self, number, when):
        return self.watching(number, when) if self.watching else None

    @property
    def connections(self):
        return len(self.clients)

    def settle(self, seconds=60):
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
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)

    @staticmethod
    def listening(address):
        link = socket.socket()
        link.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        link.bind(tuple(address))
        link.listen(4096)
        return link

    def serve(self):
        asyncio.set_event_loop(self.loop)
        self.loop.run_until_complete(self.listen())
        self.loop.run_forever()
        if self.server:
            self.server.close()
        for task in list(self.tasks):
            task.cancel()
        for one in [*self.clients, *self.upstream.idle]:
            one.transport.abort()
        self.loop.run_until_complete(asyncio.gather(*self.tasks, return_exceptions=True))
        self.loop.run_until_complete(asyncio.sleep(0))
        self.loop.close()

    async def listen(self):
        self.server = await self.loop.create_server(lambda: Gate(self), sock=self.socket,
                                                    backlog=4096)

    async def deaf(self, seconds, unanswered):
        """Nobody listens, or nobody answers, for a while."""
        if not self.server:
            return
        self.server.close()
        self.server = None
        hole = Unanswered(self.address) if unanswered else None
        await asyncio.sleep(seconds)
        if hole:
            hole.close()
        self.socket = self.listening(self.address)
        await self.listen()

    def run(self, work):
        task = self.loop.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.ended)

    def ended(self, task):
        self.tasks.discard(task)
        if not task.cancelled() and task.exception() and \
                not isinstance(task.exception(), (OSError, ssl.SSLError)):
            print(f"faultproxy: {task.exception()!r}", file=sys.stderr)

    def bad_tls(self):
        if not self.strangers:
            self.strangers = strangers_context()
        return self.strangers

    def drawn(self, faults):
        """Names of faults for this time, counted; the lock is held."""
        quiet = self.bursts and (self.count - 1) % self.bursts[1] >= self.bursts[0]
        if not faults or quiet or self.random.random() * 100 >= self.percent or \
                (self.limit is not None and sum(self.injected.values()) >= self.limit):
            return []
        names = self.random.sample(faults, min(len(faults), 1 + self.pairs))
        for name in names:
            self.injected[name] = self.injected.get(name, 0) + 1
        return names

    def draw_connection(self):
        with self.lock:
            return next(iter(self.drawn(self.connection_faults)), None)

    async def answer(self, request):
        write = request.method not in ("GET", "HEAD")
        with self.lock:
            self.count += 1
            number = self.count
            if self.record:
                self.seen.append((request.method, request.target, request.get("range")))
            names = self.drawn(self.faults + self.write_faults if write else self.faults)
        if self.told(number, "before"):
            raise ConnectionAbortedError("the client was ended")
        if self.delay_ms:
            await asyncio.sleep(self.delay_ms / 1000)
        if write and any(name in BEFORE_WRITES or name.startswith("status_") for name in names):
            reply = Reply(200, "OK", [("Content-Length", "0")], b"")
        elif write and any(name in WRITE_FAULTS for name in names):
            reply = await self.write_wrongly(request, names)
        else:
            reply = Reply(*await self.upstream.fetch(request))
        self.told(number, "after")
        if self.hide and request.method == "GET" and "list-type=2" in request.target:
            reply.set_body(shortened(reply.body, self.hide))
        whole = b""
        if any(name in NEEDS_WHOLE for name in names):
            # A signed store may refuse this; then the reply is what it is.
            whole = (await self.upstream.fetch(request.without("range", "if-match")))[3]
        context = Context(self.random, whole)
        for name in names:
            if name in FAULTS:
                FAULTS[name](reply, context)
        return reply

    def again(self, request):
        return signed(request, self.credentials) if self.credentials else request

    async def exists(self, request):
        host = request.get("host") or "localhost"
        asked = Request("HEAD", request.target.partition("?")[0], [("Host", host)], b"")
        return (await self.upstream.fetch(self.again(asked)))[0] == 200

    async def write_wrongly(self, request, names):
        name = next(name for name in names if name in WRITE_FAULTS)
        condition = {"put_inm_ignored": "if-none-match", "put_inm_inverted": "if-none-match",
                     "put_im_on_missing": "if-match"}.get(name)
        if name == "put_200_error":
            text = error_text("InternalError")
            return Reply(200, "OK", [("Content-Type", "application/xml"),
                                     ("Content-Length", str(len(text)))], text)
        if condition and request.get(condition):
            there = await self.exists(request)
            if name == "put_inm_inverted" and not there:
                reply = Reply(0, "", [], b"")
                reply.error(412, "Precondition Failed", "PreconditionFailed")
                return reply
            if name != "put_im_on_missing" or not there:
                request = self.again(request.without(condition))
        reply = Reply(*await self.upstream.fetch(request))
        if name == "put_applied_dropped":
            no_reply(reply, None)
        elif name == "put_applied_500":
            reply.error(500, "Internal Server Error", "InternalError")
        return reply


class Unanswered:
    """An address at which no connection is ever made: its queue is full and stays so."""

    def __init__(self, address=("127.0.0.1", 0)):
        self.links = [socket.socket()]
        self.links[0].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.links[0].bind(tuple(address))
        self.links[0].listen(0)
        self.port = self.links[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        for _ in range(4):
            link = socket.socket()
            link.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                link.connect(self.links[0].getsockname())
            self.links.append(link)

    def close(self):
        for link in reversed(self.links):
            link.close()

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.close()


class Names:
    """A resolver for A records: every name is at `address`, unless `fault` is one of NAME_FAULTS.
    Listens on 127.0.0.1:53 unless told otherwise, so it is for a network namespace of its own."""

    def __init__(self, address="127.0.0.1", listen=("127.0.0.1", 53)):
        self.address, self.fault, self.count = address, None, 0
        self.link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.link.bind(listen)
        self.port = self.link.getsockname()[1]
        self.stopping = False
        self.thread = threading.Thread(target=self.serve, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, kind, value, trace):
        self.stopping = True
        with contextlib.suppress(OSError):
            self.link.shutdown(socket.SHUT_RDWR)
        self.link.close()

    def serve(self):
        while not self.stopping:
            try:
                asked, client = self.link.recvfrom(4096)
            except OSError:
                return
            self.count += 1
            seconds = 5 if self.fault == "name_slow" else 0
            if self.fault != "name_unanswered" and len(asked) > 12:
                threading.Timer(seconds, self.reply, (self.answer(asked), client)).start()

    def reply(self, answer, client):
        with contextlib.suppress(OSError):
            self.link.sendto(answer, client)

    def answer(self, asked):
        end = asked.index(b"\0", 12) + 5
        kind = struct.unpack(">H", asked[end - 4:end - 2])[0]
        code = {"name_unknown": 3, "name_failing": 2}.get(self.fault, 0)
        found = 1 if kind == 1 and code == 0 else 0
        head = asked[:2] + struct.pack(">HHHHH", 0x8180 | code, 1, found, 0, 0)
        address = "127.255.255.254" if self.fault == "name_wrong" else self.address
        record = b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 0, 4) + socket.inet_aton(address)
        return head + asked[12:end] + (record if found else b"")


# ------------------------------------------------------------------------------ the program

def list_faults():
    for words, kinds in (("of replies", FAULTS), ("of writes", WRITE_FAULTS),
                         ("of connections", CONNECTION_FAULTS), ("of names", NAME_FAULTS)):
        print(f"{words}: {len(kinds)}")
        for name, what in kinds.items():
            print(f"  {name}" + (f"  {what}" if isinstance(what, str) else ""))
    print(f"{len(GROUPS['all']) + len(NAME_FAULTS)} kinds; those of names are for tests "
          f"(class Names), the others for --faults")


def arguments():
    parser = argparse.ArgumentParser(
        description="An HTTP proxy in front of a store, that damages replies on purpose.",
        epilog="Give your client the address that it prints in place of the store's. With S3, "
        "sign for that address: most stores take the Host header as it comes.")
    parser.add_argument("--list", action="store_true", help="the name of every fault, and exit")
    parser.add_argument("--upstream", help="http(s)://host:port of the store, "
                        "or a folder to serve")
    parser.add_argument("--listen", default="127.0.0.1:0", help="host:port, 0 is any free one")
    parser.add_argument("--faults", default="reads", help="names (--list) and groups joined by "
                        "commas: reads (default), writes, connections, all; '' is none")
    parser.add_argument("--percent", type=float, default=10, help="of replies that are damaged")
    parser.add_argument("--pairs", action="store_true", help="two faults in each damaged reply")
    parser.add_argument("--bursts", help="N/M: only the first N of each M requests are damaged")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--delay-ms", type=float, default=0, help="before each reply")
    parser.add_argument("--bytes-per-s", type=float, default=0, help="of all replies together")
    parser.add_argument("--tls", metavar="CERTIFICATE,KEY", help="files; makes the proxy https://")
    parser.add_argument("--ca", help="file of certificates for an https:// upstream")
    parser.add_argument("--sign", action="store_true", help="sign what had to be changed, with "
                        "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION")
    options = parser.parse_args()
    if not options.list and not options.upstream:
        parser.error("--upstream is needed")
    return parser, options


def main():
    parser, options = arguments()
    if options.list:
        return list_faults()
    host, port = options.listen.rsplit(":", 1)
    faults = [name for word in options.faults.split(",") if word
              for name in GROUPS.get(word, [word])]
    credentials = (os.environ["AWS_ACCESS_KEY_ID"], os.environ["AWS_SECRET_ACCESS_KEY"],
                   os.environ.get("AWS_REGION", "us-east-1")) if options.sign else None
    bursts = tuple(map(int, options.bursts.split("/"))) if options.bursts else None
    try:
        proxy = Proxy(options.upstream, faults, options.percent, options.pairs, options.seed,
                      (host, int(port)), options.delay_ms, bursts, options.bytes_per_s,
                      options.tls.split(",") if options.tls else None, credentials, options.ca)
    except ValueError as error:
        parser.error(str(error))
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    with proxy:
        print(f"listening on {host}:{proxy.port}", flush=True)
        while not stop.wait(3600):
            pass
    print(f"{proxy.count} requests, {sum(proxy.injected.values())} damaged")
    for name, count in sorted(proxy.injected.items()):
        print(f"  {name} {count}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
