# SPDX-License-Identifier: Apache-2.0
# labels: slow
"""Peers that send without end do not take the memory: a message broker, a PostgreSQL server, a credentials service, a file whose
zstd frames want a huge window. Each run's peak of resident memory is measured.

In detail: a broker with huge frames, endless heartbeats, frames that nobody asked for before each reply, messages with
a huge body or endless pieces; a server with endless rows, notices, parameters, notifications, an error without end; a
service whose headers, body, chunks or trailers never end; windows of 2 GiB and 256 MiB in packed input. DX_PARTS runs only the parts of these names.
In the gate a peer sends for 1 s and may take half the memory, and a row has 256 MiB; with DX_WHOLE=1 10 s and 1 GiB.
"""
import contextlib
import os
import socketserver
import struct
import sys
import threading

import dxtest
from peaks import peak

SECONDS, BOUND_MIB = (10, 400) if dxtest.WHOLE else (1, 200)
HUGE_ROW = 1 << (30 if dxtest.WHOLE else 28)
PIECE = 1 << 16


@contextlib.contextmanager
def listening(handler):
    class Server(socketserver.ThreadingTCPServer):
        daemon_threads, allow_reuse_address, block_on_close = True, True, False

        def handle_error(self, *_):
            pass
    with Server(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


def forever(connection, block):
    block *= max(1, (1 << 18) // len(block))
    with contextlib.suppress(OSError):
        while True:
            connection.sendall(block)


# ---- AMQP ----

def frame(kind, channel, payload):
    return struct.pack(">BHI", kind, channel, len(payload)) + payload + b"\xce"


def method(channel, number, arguments=b""):
    return frame(1, channel, struct.pack(">HH", *number) + arguments)


def short(text):
    return bytes([len(text)]) + text


START = method(0, (10, 10), b"\0\x09" + struct.pack(">I", 0) + struct.pack(">I", 5) + b"PLAIN" + struct.pack(">I", 5) + b"en_US")
TUNE = method(0, (10, 30), struct.pack(">HIH", 1, 0, 60))  # frames of any size
OPEN_OK, CHANNEL_OK = method(0, (10, 41), b"\0"), method(1, (20, 11), struct.pack(">I", 0))
QUEUE_OK = method(1, (50, 11), short(b"q") + struct.pack(">II", 1, 0))
QOS_OK, CONSUME_OK = method(1, (60, 11)), method(1, (60, 21), short(b"domaindex"))
DELIVER = method(1, (60, 60), short(b"domaindex") + struct.pack(">QB", 1, 0) + short(b"") + short(b"q"))
HEARTBEAT = frame(8, 0, b"")


def header(size, properties=b"\0\0", kind=60):
    return frame(2, 1, struct.pack(">HHQ", kind, 0, size) + properties)


def body(size):
    return frame(3, 1, b"x" * size)


# What comes in answer to each thing that the client sends, and then without end.
LOGIN = [START, TUNE, OPEN_OK]  # header; start-ok; tune-ok and open
READY = [*LOGIN, CHANNEL_OK, QUEUE_OK, QOS_OK, CONSUME_OK]
UNASKED = DELIVER + header(60000) + body(60000)
BROKER = {
    "a frame of 2 GiB before the login": ([b"\x01\0\0\x7f\xff\xff\xff"], b"x" * PIECE),
    "a table of 2 GiB": ([frame(1, 0, struct.pack(">HH", 10, 10) + b"\0\x09\x7f\xff\xff\xff" + b"x" * 60000)], START),
    "heartbeats before the login": ([], HEARTBEAT),
    "heartbeats before a reply": (LOGIN, HEARTBEAT),
    "messages before channel.open-ok": (LOGIN, UNASKED),
    "messages before queue.declare-ok": ([*LOGIN, CHANNEL_OK], UNASKED),
    "messages before consume-ok": (READY[:-1], UNASKED),
    "frames of 2 GiB after the login": ([*READY[:-1], CONSUME_OK + DELIVER + header(1 << 40) + b"\x03\0\x01\x7f\xff\xff\xff"], b"x" * PIECE),
    "a message of 127 MiB": ([*READY[:-1], CONSUME_OK + DELIVER + header(127 << 20)], body(120000)),
    "headers without a message": (READY, header(0)),
    "deliveries without a header": (READY, DELIVER),
}


def broker(replies, endless):
    class Handler(socketserver.BaseRequestHandler):
        def handle(self):
            with contextlib.suppress(OSError):
                for reply in replies:
                    self.request.recv(PIECE)
                    self.request.sendall(reply)
                forever(self.request, endless)
    return Handler


# The same, and what a run says that is not ended from outside: in how many seconds.
SAID = {
    "a message of 2^63 bytes": ([*READY[:-1], CONSUME_OK + DELIVER + header(1 << 63)], body(120000), "message of 9223372036854775808 bytes", 20),
    "the header of another class": ([*READY[:-1], CONSUME_OK + DELIVER + header(3, kind=20) + body(3)], body(3), "a message without a header", 20),
}
if dxtest.WHOLE:
    SAID["a message in pieces of nothing"] = ([*READY[:-1], CONSUME_OK + DELIVER + header(1000)], body(0), "a message stops at byte 0 of 1000", 80)


def brokers(tmp):
    for words, (replies, endless, *said) in {**BROKER, **SAID}.items():
        with listening(broker(replies, endless)) as port:
            # A message may have 128 MiB, and is held once.
            _, found = peak(("ingest", "--root", tmp / "root", "--from", f"amqp://127.0.0.1:{port}/v?queue=q", "--dataset", "d", "--memory", "64M",
                             "--threads", "2", "--wait", "5"), BOUND_MIB, f"a broker with {words}",
                            {"DOMAINDEX_AMQP_USER": "u", "DOMAINDEX_AMQP_PASSWORD": "p"}, seconds=said[1] if said else SECONDS)
            if said:
                dxtest.check(said[0] in found, f"a broker with {words}: '{said[0]}' is said: {found}")


# ---- PostgreSQL ----

def message(kind, payload):
    return kind + struct.pack(">I", len(payload) + 4) + payload


AUTH_OK, IDLE = message(b"R", struct.pack(">I", 0)), message(b"Z", b"I")
VERSION = message(b"S", b"server_version\x0015.4\0") + message(b"S", b"client_encoding\0UTF8\0")
ROW = message(b"D", struct.pack(">HI", 1, 1000) + b"x" * 1000)
COLUMN = message(b"T", struct.pack(">H", 1) + b"c\0" + struct.pack(">IHIHIH", 0, 0, 25, 0xFFFF, 0, 0))
NOTICE = message(b"N", b"SNOTICE\0C00000\0M" + b"n" * 1000 + b"\0\0")
NOTIFY = message(b"A", struct.pack(">I", 7) + b"channel\0" + b"p" * 1000 + b"\0")


DATABASE = {
    "rows": (AUTH_OK + VERSION + IDLE, COLUMN, ROW),
    "notices": (AUTH_OK + VERSION + IDLE, b"", NOTICE),
    "notifications": (AUTH_OK + VERSION + IDLE, b"", NOTIFY),
    "parameters": (AUTH_OK + VERSION + IDLE, b"", None),
    "parameters at the start": (AUTH_OK + VERSION, None, None),
    "an error of 2 GiB": (AUTH_OK + VERSION + IDLE, b"E\x7f\xff\xff\xffSERROR\0M", b"e" * PIECE),
    "an error of 2 GiB at the start": (b"E\x7f\xff\xff\xffSFATAL\0M", None, b"e" * PIECE),
    "a huge row": (AUTH_OK + VERSION + IDLE, COLUMN + b"D" + struct.pack(">IHI", HUGE_ROW - 1, 1, HUGE_ROW - 16), b"x" * PIECE),
}


def database(start, first, endless):
    class Handler(socketserver.BaseRequestHandler):
        def flood(self):
            if endless is not None:
                forever(self.request, endless)
            number = 0
            with contextlib.suppress(OSError):
                while True:  # each name once
                    self.request.sendall(b"".join(message(b"S", b"p%d\0" % (number + i) + b"v" * 4000 + b"\0") for i in range(100)))
                    number += 100

        def handle(self):
            with contextlib.suppress(OSError):
                data = self.request.recv(PIECE)
                if data[4:8] in (b"\x04\xd2\x16\x2f", b"\x04\xd2\x16\x30"):  # SSL, GSS
                    self.request.sendall(b"N")
                    self.request.recv(PIECE)
                self.request.sendall(start)
                if first is not None:
                    self.request.recv(PIECE)
                    self.request.sendall(first)
                self.flood()
    return Handler


def databases(root):
    for words, (start, first, endless) in DATABASE.items():
        with listening(database(start, first, endless)) as port:
            # One message: libpq reads it whole, takes none over 1 GiB, and copies a row out of its buffer.
            bound = BOUND_MIB + 2 * (HUGE_ROW >> 20) if "huge row" in words else BOUND_MIB
            peak(("export", "--root", root, "--postgres", f"postgresql://u:p@127.0.0.1:{port}/d?sslmode=disable&gssencmode=disable"), bound,
                 f"a database with {words}", {"PGPASSFILE": "/nonexistent"}, seconds=SECONDS)


# ---- credentials ----

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
SERVICE = {
    "headers": (HEAD, b"X-A: " + b"b" * 90 + b"\r\n"),
    "body": (HEAD + b'\r\n{"AccessKeyId": "', b"x" * PIECE),
    "chunks": (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"10000\r\n" + b" " * 65536 + b"\r\n"),
    "trailers": (HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n", b"X-A: " + b"b" * 90 + b"\r\n"),
    "JSON in JSON": (HEAD + b"\r\n", b'{"a":[' * 1000),
}


def services():
    for words, (start, endless) in SERVICE.items():
        class Handler(socketserver.BaseRequestHandler):
            def handle(self):
                with contextlib.suppress(OSError):
                    self.request.recv(PIECE)
                    self.request.sendall(start)
                    forever(self.request, endless)
        with listening(Handler) as port:
            env = {"AWS_CONTAINER_CREDENTIALS_FULL_URI": f"http://127.0.0.1:{port}/c", "AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true",
                   "HOME": "/nonexistent", "NO_PROXY": "127.0.0.1"}
            for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
                env[name] = ""
            peak(("versions", "--root", "s3://bucket/r"), 60, f"a credentials service with endless {words}", env, seconds=SECONDS)


# ---- windows ----

def frame_of(log):
    """A zstd frame of 4 GiB in runs of one byte, with a window of 1 << log bytes."""
    def run(last):
        return struct.pack("<I", last | 1 << 1 | (128 << 10) << 3)[:3] + b"\n"
    return b"\x28\xb5\x2f\xfd\x00" + bytes([(log - 10) << 3]) + run(0) * (4 << 13) + run(1)


def windows(tmp):
    for log in (31, 28):
        path = tmp / f"window{log}.list.zst"
        path.write_bytes(frame_of(log))
        peak(("ingest", "--root", tmp / "root", "--dataset", "a", "--memory", "64M", "--threads", "1", path), 300, f"a zstd window of 1 << {log}", wants=b"window")


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        root = tmp / "sound"
        dxtest.domaindex("ingest", "--root", root, "--dataset", "d", "--format", "list", "-", input=b"http://a.com/\n")
        dxtest.domaindex("publish", "--root", root, "--quiet", "--memory", "64M")
        dxtest.domaindex("domain64", "init", "--root", root)
        dxtest.domaindex("domain64", "fill", "--root", root)
        parts = {"windows": lambda: windows(tmp), "services": services, "databases": lambda: databases(root), "brokers": lambda: brokers(tmp)}
        for name in os.environ.get("DX_PARTS", "").split() or parts:
            parts[name]()
    dxtest.finish()


if __name__ == "__main__":
    sys.exit(main())
