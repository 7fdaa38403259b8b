#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tls_cost.py [--connections 2000] - what HTTPS costs domaindexd beside plain HTTP.

CPU of the server (/proc) for a connection with one request: full handshakes with a P-256 and an RSA key of 2048 bits, resumed ones; for a request on a
connection that stays; and memory of its own for an open connection. The client is another process, so its handshakes do not count.

Exit: 0. Needs DX_BIN_DIR and PYTHONPATH=tests/support.
"""
import argparse
import os
import socket

import authority
import dxtest

GET = b"GET /v1/domain/example.com HTTP/1.1\r\nHost: x\r\n\r\n"


def cpu_us(pid):
    fields = open(f"/proc/{pid}/stat", encoding="ascii").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") * 1e6


def own_kib(pid):
    return next(int(line.split()[1]) for line in open(f"/proc/{pid}/status", encoding="ascii") if line.startswith("RssAnon"))


def ask(link):
    link.sendall(GET)
    reply = b""
    while b'"complete":true}' not in reply:
        reply += link.recv(65536)


def measure(server, context, count):
    pid = server.process.pid

    def connect(session=None):
        link = socket.create_connection(("127.0.0.1", server.port))
        return context.wrap_socket(link, server_hostname="localhost", session=session) if context else link

    def of_connections(session=None):
        before = cpu_us(pid)
        for _ in range(count):
            with connect(session) as link:
                ask(link)
        return (cpu_us(pid) - before) / count
    of_connections()
    yield "CPU, us a connection with one request", of_connections()
    link = connect()
    ask(link)
    if context:
        yield "CPU, us a resumed connection with one request", of_connections(link.session)
    before = cpu_us(pid)
    for _ in range(count * 10):
        ask(link)
    yield "CPU, us a request on one connection", (cpu_us(pid) - before) / count / 10
    before = own_kib(pid)
    links = [connect() for _ in range(500)]
    for link in links:
        ask(link)
    yield "memory, KiB an open connection", (own_kib(pid) - before) / 500


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--connections", type=int, default=2000)
    count = parser.parse_args().connections
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        (tmp / "urls").write_text("https://example.com/a\n")
        dxtest.domaindex("ingest", "--root", tmp / "root", "--dataset", "d", "--format", "list", tmp / "urls")
        dxtest.domaindex("publish", "--root", tmp / "root")
        ca = authority.Authority(tmp)
        for name, files in (("plain", None), ("P-256", ca.issue("ec")), ("RSA 2048", ca.issue("rsa", rsa=True))):
            options = () if files is None else ("--tls-certificate", files[0], "--tls-key", files[1])
            context = ca.context() if files else None
            with dxtest.Server(tmp / "root", "--threads", 1, *options, tls=context) as server:
                for what, number in measure(server, context, count):
                    print(f"{name:9} {what:48} {number:9.1f}", flush=True)


if __name__ == "__main__":
    main()
