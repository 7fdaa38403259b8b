#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: short
"""The PROXY protocol: whose requests a proxy passes on, seen by the budget of each address. Headers of version 1 and 2 by hand, whole, byte by byte and
broken; HAProxy with send-proxy and send-proxy-v2; clients that are not a trusted proxy; a listener on a local socket.
"""
import http.client
import os
import shutil
import socket
import struct
import subprocess
import time

import dxtest
import stores
from dxtest import check, equal

HAPROXY = shutil.which("haproxy") or shutil.which("haproxy", path="/usr/sbin:/sbin")
SIGNATURE = b"\r\n\r\n\x00\r\nQUIT\n"
BUDGET = ("--address-cost-per-s", 1, "--address-burst", 240)
# Costs 120: an address may ask twice, or three times where a second goes by between; then it owes for a minute and more.
TARGET = "/v1/domains?match=*e*"
GET = f"GET {TARGET} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode()


def v1(address):
    return f"PROXY {'TCP6' if ':' in address else 'TCP4'} {address} {address} 40000 80\r\n".encode()


def v2(address, command=1, more=b""):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    body = socket.inet_pton(family, address) * 2 + struct.pack(">HH", 40000, 80) + more
    return SIGNATURE + bytes((0x20 | command, 0x21 if ":" in address else 0x11)) + struct.pack(">H", len(body)) + body


PROXY = "127.0.0.2"


def ask(port, data, source=PROXY, pieces=1):
    """Status of the reply, or None: closed without one."""
    with socket.create_connection(("127.0.0.1", port), 10, source_address=(source, 0)) as link:
        link.settimeout(10)
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        size = -(-len(data) // pieces)
        reply = b""
        try:
            for at in range(0, len(data), size):
                link.sendall(data[at:at + size])
                if pieces > 1:
                    time.sleep(0.001)
            while True:
                more = link.recv(65536)
                if not more:
                    break
                reply += more
        except (ConnectionResetError, BrokenPipeError):
            pass
    return int(reply.split()[1]) if reply else None


def spent(request, words):
    """Of one address: its requests are answered, and soon no more."""
    statuses = [request() for _ in range(4)]
    check(statuses[0] == 200 and statuses[-1] == 429, f"{words}: {statuses}")


def by_hand(port):
    number = 0
    for make in (v1, v2, lambda a: v2(a, more=b"\x04\x00\x03abc")):
        for address in ("203.0.113.%d", "2001:db8:0:%d::1"):
            number += 1
            head = make(address % number)
            equal(ask(port, head + GET, pieces=len(head + GET)), 200, f"{head!r}, byte by byte")
            spent(lambda head=head: ask(port, head + GET), f"{head!r}")
    equal(ask(port, v2("203.0.113.99") + GET), 200, "another one's is not")
    for head in (v2("203.0.113.1", command=0), SIGNATURE + b"\x20\x00\x00\x00"):
        for _ in range(6):
            equal(ask(port, head + GET), 200, f"{head[:40]!r}: the proxy itself, which has no budget")
    # Whoever is not named is not the proxy: one budget for all of them, and what they say of themselves is not believed.
    spent(lambda: ask(port, b"PROXY UNKNOWN\r\n" + GET), "a client that is not named")
    named = GET.replace(b"Host: x", b"Host: x\r\nX-Forwarded-For: 203.0.113.123")
    for head in (b"PROXY UNKNOWN ffff::1 ffff::1 1 2\r\n", SIGNATURE + b"\x21\x00\x00\x00", SIGNATURE + b"\x21\x31\x00\xd8" + bytes(216), SIGNATURE + b"\x21\x12\x00\x0c" + bytes(12)):
        equal(ask(port, head + GET), 429, f"{head[:40]!r}: not named either")
        equal(ask(port, head + named), 429, f"{head[:40]!r}: says that it is another one")
    equal(ask(port, v2("203.0.113.1", command=0) + named), 200, "the proxy says it")
    pair = v1("203.0.113.77") + GET.replace(b"Connection: close\r\n", b"") + GET
    equal(ask(port, pair), 200, "two requests behind a header")


def broken(port):
    good = v2("203.0.113.50")
    for head in (b"", b"PROXY\r\n", b"PROXY TCP4 203.0.113.5\r\n", b"PROXY TCP4 1.2.3.4 1.2.3.4 1 65536\r\n", b"PROXY TCP4 1.2.3.4 1.2.3.4 01 2\r\n", b"PROXY TCP4  1.2.3.4 1.2.3.4 1 2\r\n",
                 b"PROXY TCP4 ::1 ::1 1 2\r\n", b"PROXY TCP4 1.2.3.4 1.2.3.4 1 2 3\r\n", b"PROXY TCP5 1.2.3.4 1.2.3.4 1 2\r\n", b"PROXY TCP4 1.2.3.4 1.2.3.4 1 2" + b" " * 100 + b"\r\n",
                 b"proxy TCP4 1.2.3.4 1.2.3.4 1 2\r\n", SIGNATURE + b"\x11\x11" + good[14:], SIGNATURE + b"\x22\x11" + good[14:], SIGNATURE + b"\x21\x11\x00\x04abcd",
                 SIGNATURE + b"\x21\x11\xff\xff" + bytes(100), SIGNATURE[:-1] + b"X" + good[12:]):
        equal(ask(port, head + GET), None, f"{head[:60]!r}: closed without a reply")
    for size in (1, 5, 11, 13, 17, len(good) - 1):
        with socket.create_connection(("127.0.0.1", port), 10, source_address=(PROXY, 0)) as link:
            link.sendall(good[:size])
            link.shutdown(socket.SHUT_WR)
            link.settimeout(10)
            equal(link.recv(100), b"", f"{size} bytes of a header and no more")


def with_haproxy(tmp, server):
    if not HAPROXY:
        return print("SKIPPED: HAProxy is not here")
    first, second = stores.free_port(), stores.free_port()
    (tmp / "haproxy.cfg").write_text(f"""
defaults
    mode tcp
    timeout connect 5s
    timeout client 20s
    timeout server 20s
listen one
    bind 127.0.0.1:{first}
    server s 127.0.0.1:{server.port} source {PROXY} send-proxy
listen two
    bind 127.0.0.1:{second}
    server s 127.0.0.1:{server.port} source {PROXY} send-proxy-v2
""")
    process = subprocess.Popen([HAPROXY, "-db", "-f", tmp / "haproxy.cfg"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for port, source in ((first, "127.0.0.41"), (second, "127.0.0.42")):
            check(dxtest.wait_until(lambda port=port, source=source: up(port, source)), f"HAProxy on {port}")
            spent(lambda port=port, source=source: ask(port, GET, source.replace("0.4", "0.5")), f"{source} through HAProxy")
            equal(ask(port, GET, source.replace("0.4", "0.6")), 200, "another client through HAProxy")
    finally:
        process.terminate()
        process.wait(30)


def up(port, source):
    try:
        return ask(port, GET, source) is not None
    except OSError:
        return False


class Local(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("x")
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(str(self.path))


def connects(path):
    """The socket has its name before its server listens."""
    with socket.socket(socket.AF_UNIX) as s:
        return s.connect_ex(str(path)) == 0


def on_a_local_socket(tmp, root):
    """A listener that is a file: whoever may open it is a proxy, by --trusted-proxy unix."""
    path = tmp / "http.sock"
    process = subprocess.Popen([dxtest.DOMAINDEXD, "--root", root, "--listen", f"unix:{path}", "--trusted-proxy", "unix", "--address-header", "X-Forwarded-For",
                                *map(str, BUDGET)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        check(dxtest.wait_until(lambda: connects(path)), "the socket takes connections")

        def get(address):
            link = Local(path)
            link.request("GET", TARGET, headers={"X-Forwarded-For": address})
            return link.getresponse().status
        equal(oct(os.stat(path).st_mode & 0o777), "0o660", "mode of the socket")
        spent(lambda: get("203.0.113.1"), "an address behind a proxy on a local socket")
        equal(get("203.0.113.2"), 200, "another one")
    finally:
        process.terminate()
        equal(process.wait(60), 0, "exit after SIGTERM")
    check(not path.exists(), "the socket is removed at the end")


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        root = tmp / "root"
        dxtest.domaindex("ingest", "--root", root, "--dataset", "a", "--format", "list", "-", input=b"http://example.com/x\n")
        dxtest.domaindex("publish", "--root", root)
        done = dxtest.run(dxtest.DOMAINDEXD, "--root", root, "--listen", "127.0.0.1:0", "--proxy-protocol", "yes", expect=None, timeout=20)
        check(done.returncode != 0 and b"--trusted-proxy" in done.stderr, f"without trusted proxies: {done.stderr!r}")
        with dxtest.Server(root, "--proxy-protocol", "yes", "--trusted-proxy", PROXY, "--address-header", "X-Forwarded-For", *BUDGET) as server:
            by_hand(server.port)
            broken(server.port)
            with_haproxy(tmp, server)
            spent(lambda: ask(server.port, GET, "127.0.0.9"), "a client that is not a proxy")
            equal(ask(server.port, v1("203.0.113.200") + GET, "127.0.0.10"), 400, "and is not believed one")
        on_a_local_socket(tmp, root)
    dxtest.finish()


if __name__ == "__main__":
    main()
