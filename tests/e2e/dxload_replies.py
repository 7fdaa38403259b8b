#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: slow
"""The load generator tells right replies from wrong ones, and does not hide a server that stalls.

Servers that lie, each in its own way: every lie is counted, named, and makes dxload exit 1. One that
stops for 300 ms while requests at a fixed rate go on being due: their latencies have the wait in them.

In detail: the load generator against servers that lie in twenty ways (status, length, body, framing, chunks,
closing, silence): each is counted and named; a server that stops for 300 ms shows in the latencies of the
open loop.
"""
import contextlib
import json
import pathlib
import socket
import subprocess
import sys
import threading
import time

import dxtest

sys.path.insert(1, str(dxtest.SOURCE / "bench"))
import latency_page  # noqa: E402

DXLOAD = dxtest.BIN / "bench" / "dxload"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


class Liar:
    """Answers each request with `reply`: bytes, or a function of (connection, requests so far)."""

    def __init__(self, reply):
        self.reply, self.count = reply, 0
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                link, _ = self.listener.accept()
                link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self.serve, args=(link,), daemon=True).start()

    def serve(self, link):
        with contextlib.suppress(OSError), link:
            buffer = b""
            while True:
                while b"\r\n\r\n" not in buffer:
                    more = link.recv(65536)
                    if not more:
                        return
                    buffer += more
                buffer = buffer.split(b"\r\n\r\n", 1)[1]
                self.count += 1
                if callable(self.reply):
                    if self.reply(link, self.count) is False:
                        return
                else:
                    link.sendall(self.reply)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.listener.close()


def in_single_bytes(link, _):
    for byte in OK:
        link.sendall(bytes([byte]))


def chunks_in_single_bytes(link, _):
    for byte in CHUNKED + b"2\r\nhe\r\n3\r\nllo\r\n0\r\nA: b\r\n\r\n":
        link.sendall(bytes([byte]))


def cut_short(link, _):
    link.sendall(OK[:-2])
    return False


def silent(_link, _count):
    time.sleep(0.5)
    return False


def last_one(link, _):
    link.sendall(OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
    return False


# name: (reply, exit, member of the figures that counts, words)
LIES = {
    "right": (OK, 0, None, None),
    "in single bytes": (in_single_bytes, 0, None, None),
    "a connection a reply": (last_one, 0, None, None),
    "another status": (OK.replace(b"200", b"404"), 1, "wrong", "status 404, not 200"),
    "another length": (OK.replace(b"5", b"6") + b"!", 1, "wrong", "6 bytes, not 5"),
    "another body": (OK.replace(b"hello", b"hallo"), 1, "wrong", "another body"),
    "chunked": (CHUNKED + b"2\r\nhe\r\n3;x\r\nllo\r\n0\r\n\r\n", 0, None, None),
    "chunked in single bytes": (chunks_in_single_bytes, 0, None, None),
    "chunked, another body": (CHUNKED + b"5\r\nhallo\r\n0\r\n\r\n", 1, "wrong", "another body"),
    "chunked, another length": (CHUNKED + b"4\r\nhell\r\n0\r\n\r\n", 1, "wrong", "4 bytes, not 5"),
    "chunked, no end": (lambda link, _: (link.sendall(CHUNKED + b"5\r\nhello\r\n"), False)[1], 1, "broken",
                        "closed before the end"),
    "chunked, no CRLF": (CHUNKED + b"5\r\nhello0\r\n\r\n", 1, "broken", "CR behind a chunk"),
    "chunked, more": (CHUNKED + b"5\r\nhello\r\n0\r\n\r\n!", 1, "broken", "behind the body"),
    "gzip": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", 1, "broken", "other than chunked"),
    "two lengths": (OK.replace(b"\r\n\r\n", b"\r\nContent-Length: 5\r\n\r\n"), 1, "broken", "twice"),
    "no HTTP": (b"220 mail\r\n\r\n", 1, "broken", "not a status line"),
    "more than the body": (OK + b"!", 1, "broken", "behind the body"),
    "less than the body": (cut_short, 1, "broken", "closed before the end"),
    "an endless head": (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 40000, 1, "broken", "no end of the head"),
    "nothing": (silent, 1, "timeout", "within 100 ms"),
}


def dxload(tmp, port, *arguments):
    out = tmp / "figures.json"
    out.unlink(missing_ok=True)
    done = subprocess.run([DXLOAD, "--json", out, *map(str, arguments[:-1]), f"127.0.0.1:{port}",
                           arguments[-1]], check=False, capture_output=True, text=True, timeout=60)
    figures = json.loads(out.read_text()) if out.exists() else None
    return done, figures


def check_lies(tmp):
    asked, known = tmp / "asked.txt", tmp / "known.txt"
    asked.write_text("/a\n/b?c\n")
    with Liar(OK) as right:
        done, _ = dxload(tmp, right.port, "--record", known, asked)
        dxtest.equal(done.returncode, 0, f"--record: {done.stderr}")
    lines = [line.split("\t") for line in known.read_text().splitlines()]
    dxtest.equal([line[:4] for line in lines], [["/a", "1", "200", "5"], ["/b?c", "1", "200", "5"]],
                 "what is known of the answers")
    for name, (reply, status, member, words) in LIES.items():
        with Liar(reply) as server:
            done, figures = dxload(tmp, server.port, "--requests", 40, "--connections", 2, "--warm", 0,
                                   "--seconds", 0.3 if words else 30, "--verify-every", 1, "--timeout-ms",
                                   100 if member == "timeout" else 3000, known)
        dxtest.equal(done.returncode, status, f"{name}: exit; {done.stdout}{done.stderr}")
        counts = {"wrong": figures["wrong"], **figures["errors"]}
        for what, count in counts.items():
            dxtest.check((count > 0) == (what == member), f"{name}: {count} {what}")
        if words:
            dxtest.check(any(words in said for said in figures["words"]),
                         f"{name}: {figures['words']}")
        else:
            dxtest.equal((figures["requests"], figures["parts"][0]["verified"]), (40, 40),
                         f"{name}: replies, and bodies compared")
    first, later = LIES["another status"], LIES["another body"]
    with Liar(lambda link, count: link.sendall(first[0] if count == 1 else later[0])) as server:
        done, figures = dxload(tmp, server.port, "--requests", 5, "--connections", 1, "--warm", 0,
                               "--verify-every", 1, known)
    dxtest.equal((done.returncode, figures["wrong"]), (1, 5), f"two lies: {done.stdout}{done.stderr}")
    dxtest.check(any(first[3] in said for said in figures["words"]) and
                 not any(later[3] in said for said in figures["words"]),
                 f"the first one is named: {figures['words']}")
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    done, _ = dxload(tmp, port, known)
    dxtest.equal(done.returncode, 1, f"nobody there: {done.stderr}")


def twice(link, _):
    link.sendall(OK)
    time.sleep(0.02)
    link.sendall(OK)


def check_unasked(tmp):
    """A second reply to one request, on a connection that waits for its next one."""
    with Liar(twice) as server:
        done, figures = dxload(tmp, server.port, "--rate", 10, "--connections", 2, "--warm", 0,
                               "--seconds", 0.4, tmp / "asked.txt")
    dxtest.equal(done.returncode, 1, f"bytes that nobody asked for: {done.stdout}{done.stderr}")
    dxtest.check(figures["errors"]["broken"] > 0, f"bytes that nobody asked for: {figures['errors']}")


def check_last_one(tmp):
    """Requests that wait for a connection are sent behind the end; the last has no reply in time."""
    with Liar(lambda link, _: (time.sleep(0.14), link.sendall(OK))) as server:
        done, figures = dxload(tmp, server.port, "--rate", 25, "--connections", 1, "--warm", 0,
                               "--seconds", 0.2, "--timeout-ms", 300, "--spin-us", 0,
                               tmp / "asked.txt")
    errors = figures["errors"]
    dxtest.equal(done.returncode, 1, f"a request without a reply: {done.stdout}{done.stderr}")
    dxtest.equal(figures["requests"] + errors["unsent"], 5, f"all that were due: {errors}")


class Stall:
    """Answers at once, but for the time from 0.5 s after the first request, 300 ms long."""

    def __init__(self):
        self.begin, self.lock = None, threading.Lock()

    def __call__(self, link, _count):
        with self.lock:
            now = time.monotonic()
            self.begin = self.begin or now
            end = self.begin + 0.8
            if self.begin + 0.5 <= now < end:
                time.sleep(end - now)
        link.sendall(OK)


def check_stall(tmp):
    """200 requests a second, one second: those of 300 ms are late, evenly by 0 to 300 ms."""
    asked = tmp / "asked.txt"
    with Liar(Stall()) as server:
        _, figures = dxload(tmp, server.port, "--rate", 200, "--connections", 4, "--warm", 0,
                            "--seconds", 1, "--spin-us", 0, asked)
    dxtest.equal(figures["requests"], 200, "all that were due count, sent or not")
    curve = dict(map(tuple, figures["latency_us"]["curve"]))
    dxtest.check(curve[80] > 70_000, f"a fifth waited 100 ms or more: {curve[80]} us")
    dxtest.check(curve[100] > 250_000, f"the longest waited 300 ms: {curve[100]} us")
    dxtest.check(curve[80] < 250_000, f"but not all: {curve[80]} us")
    page = latency_page.page([("stalls", figures), ("again", figures)])
    dxtest.equal((page.count("<svg"), page.count("<polyline"), page.count("<tr>")), (1, 2, 3),
                 "the page: pictures, curves, rows")
    dxtest.check("http://" not in page.replace("http://www.w3.org/", ""), "the page needs no other")


def main():
    dxtest.need_programs()
    if not DXLOAD.exists():
        dxtest.skip("dxload is not built (DX_BENCH)")
    with dxtest.tempdir() as tmp:
        check_lies(pathlib.Path(tmp))
        check_unasked(pathlib.Path(tmp))
        check_last_one(pathlib.Path(tmp))
        check_stall(pathlib.Path(tmp))
    dxtest.finish()


if __name__ == "__main__":
    sys.exit(main())
