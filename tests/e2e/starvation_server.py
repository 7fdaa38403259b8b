#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: slow
"""A server under requests of every kind, with the n-th allocation, read, open or mapping that one leads to failing, once or from there on:
the same answer, or a problem with status 500 or 503, or a connection that ends before its reply does; never another answer, and the
server goes on. Then, without a fault, each request has its answer. Caches are too small to keep anything. The same of a server whose root is in an S3 store
(versitygw), of which each answer reads, with its connects, sends and receives failing too.

In the gate up to twenty points of each request (DX_STARVE_POINTS, 0: all), with DX_WHOLE=1 all of them. What crashes in CRoaring 0.2, which does not
look at what malloc gives, is counted, and the server is started again.
"""
import contextlib
import os
import random
import re
import socket
import sys
import time

import dxtest
import starve
import stores
from dxtest import check, equal

POINTS = int(os.environ.get("DX_STARVE_POINTS", 0 if dxtest.WHOLE else 20))
KINDS = ("alloc", "read", "open", "map", "stat", "connect", "lock", "mkdir", "send", "receive")
D = "/v1/domain/example.com"
TARGETS = [D, f"{D}?fields=dataset_id,name", f"{D}/urls?limit=3", f"{D}/urls?sort=url", f"{D}/urls?sort=time&reverse=yes", f"{D}/urls?filter=~url:a.*",
           f"{D}/urls?tag=t1", f"{D}/urls?plan=2", *(f"{D}/urls?format={f}" for f in ("ndjson", "csv", "cdx", "cdxj", "urls", "arrow", "parquet")),
           f"{D}/hosts", f"{D}/timeline?by=year", f"{D}/diff", f"{D}/changes", f"{D}/changes?format=atom", f"{D}/datasets/1/urls?prefix=/a",
           f"{D}/datasets/1/paths", f"{D}/datasets/3/rows?limit=5", "/v1/host/www.example.com/urls", "/v1/url?u=http://example.com/a1", "/v1/url?u=http://example.com/nowhere",
           "/v1/urlid/0x0000000000000001", "/v1/keys?url=http://example.com/a1", "/v1/normalize?q=example.com", "/v1/complete?q=exam", "/v1/domains?limit=5",
           "/v1/domains?match=*e*", "/v1/domains?regex=e.a", "/v1/tlds", "/v1/tags", "/v1/tags/t1?of=urls", "/v1/datasets", "/v1/datasets/1", "/v1/datasets/1/top-domains",
           "/v1/datasets/1/overlap/2", "/v1/versions", "/v1/changes", "/cdx?url=*.example.com&showUntimed=true", "/index?url=example.com&matchType=domain", "/collinfo.json",
           "/v1/domain/absent.org", "/v1/domain/withheld.org", "/openapi.json", "/healthz", "/v1/nowhere", "POST"]
OF_STORE = [D, f"{D}/urls?limit=3", f"{D}/urls?sort=time&reverse=yes", f"{D}/urls?format=ndjson", f"{D}/urls?format=parquet", f"{D}/hosts", f"{D}/timeline?by=year",
            f"{D}/datasets/1/urls?prefix=/a", f"{D}/datasets/1/paths", "/v1/url?u=http://example.com/a1", "/v1/tags/t1?of=urls", "/cdx?url=*.example.com&showUntimed=true", "POST"]
NAMES = b"example.com\nexample.org\nabsent.org\n"


def make(tmp):
    root = tmp / "root"
    for name, count in (("one", 40), ("two", 7)):
        lines = "url\tts\ttags\ttitle\n" + "".join(f"http://{h}example.{t}/a{i}\t{1600000000 + 10**6 * i}\t{tag}\tx\n" for i in range(count)
                                                   for h, t, tag in (("", "com", '["t1"]'), ("www.", "com", ""), ("", "org", '["t2"]')))
        dxtest.domaindex("ingest", "--root", root, "--dataset", name, "--format", "tsv", "--url-column", "url", "--ts-column", "ts", "-",
                         input=lines.encode())
        dxtest.domaindex("publish", "--root", root)
    with dxtest.Server(root) as server:
        (tmp / "rows.parquet").write_bytes(server.get(f"{D}/urls?format=parquet").body)
    dxtest.domaindex("ingest", "--root", root, "--dataset", "three", "--in-place", "rows.parquet", cwd=tmp)
    dxtest.domaindex("publish", "--root", root)
    dxtest.domaindex("suppress", "add", "--root", root, "--domain", "withheld.org", "--policy", "withheld")
    return root


def ask(port, target):
    """(status, body), or None: the connection ended before the reply did."""
    if target == "POST":
        head = f"POST /v1/domains?format=ndjson HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nContent-Length: {len(NAMES)}\r\nConnection: close\r\n\r\n"
        data = head.encode() + NAMES
    else:
        data = f"GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode()
    reply = b""
    with contextlib.suppress(ConnectionError, TimeoutError):
        with socket.create_connection(("127.0.0.1", port), 20) as link:
            link.sendall(data)
            while piece := link.recv(1 << 16):
                reply += piece
    head, end, body = reply.partition(b"\r\n\r\n")
    if not end:
        return None
    if b"Transfer-Encoding: chunked" in head:
        return (int(head.split()[1]), body) if body.endswith(b"0\r\n\r\n") else None
    size = int(head.split(b"Content-Length: ")[1].split(b"\r\n")[0]) if b"Content-Length: " in head else 0
    return (int(head.split()[1]), body) if len(body) == size else None


def stable(target, reply):
    """What may differ from one reply to the next."""
    if reply is None or b'"next_cursor":"' in reply[1] or target in ("/healthz", "/v1/versions"):
        return reply and reply[0]
    return reply


def fits(target, reply, want):
    """An answer, the same one; or no answer. A path that leads nowhere may lack the paths that are near."""
    if reply is None or stable(target, reply) == want or (target == "/v1/nowhere" and reply[0] == 404):
        return True
    return reply[0] in (500, 503) and (b"urn:domaindex:problem:" in reply[1] or not reply[1])


def sample(points, rng):
    return points if POINTS == 0 or len(points) <= POINTS else rng.sample(points, POINTS)


def has_crashed(server, words):
    """In a library of others, or else it is a failure."""
    if server.process.poll() is None:
        return False
    return check(re.search(starve.OTHERS, server.words()), f"{words}: the server ended: {server.words()[-1500:]}")


def points_of(server, control, target, rng):
    calls = control.count(lambda: ask(server.port, target))
    points = [(kind, error, n) for kind in KINDS for error in starve.ERRORS[kind] for k in range(1, calls[kind] + 1)
              for n in ((k,) if error in starve.TRANSPARENT or kind == "read" else (k, f"{k}+"))]     # of all reads: also those of sockets
    return sample(points, rng), len(points)


def try_request(server, control, target, todo):
    """Takes points from todo until it is empty or the server has ended."""
    for _ in range(3):
        want = stable(target, ask(server.port, target))
    check(want is not None, f"{target}: undisturbed")
    while todo:
        point = todo.pop()
        words = f"{target}, {point[0]} {point[2]} {point[1]}"
        control.fail(point)
        begin = time.monotonic()
        reply = ask(server.port, target)
        took = time.monotonic() - begin
        control.rest()
        check(took < 15, f"{words}: no reply and no end")
        check(fits(target, reply, want), f"{words}: {str(reply)[:300]}")
        if has_crashed(server, words):
            return
    same = dxtest.wait_until(lambda: server.process.poll() is not None or stable(target, ask(server.port, target)) == want, 10)
    check(same or has_crashed(server, target), f"{target}: afterwards: {str(ask(server.port, target))[:300]}")


def start(root, control, foreign):
    before = dict(os.environ)
    control.rest()
    os.environ.update(control.environment())
    server = dxtest.Server(root, "--cache-idx", "1M", "--cache-payload", "1M", "--cache-pages", "1M", "--cache-answers", 0, "--cache-domains", 0,
                           "--lease", "no", "--threads", 1, "--workers", 1, *foreign)
    os.environ.clear()
    os.environ.update(before)
    return server.__enter__()


def try_all(root, control, targets, foreign=()):
    """Servers on this root, one after another as they end, until each target has had its points."""
    rng = random.Random(int(os.environ.get("DX_SEED", "1")))
    tried = whole = crashes = 0
    todo = None
    while targets:
        server = start(root, control, foreign)
        try:
            while targets and server.process.poll() is None:
                if todo is None:
                    todo, count = points_of(server, control, targets[0], rng)
                    tried, whole = tried + len(todo), whole + count
                try_request(server, control, targets[0], todo)
                if not todo:
                    targets, todo = targets[1:], None
            if server.process.poll() is None:
                equal(server.get("/readyz").status, 200, "ready at the end")
                server.__exit__(None, None, None)
            else:
                crashes += 1
        finally:
            if server.process.poll() is None:
                server.process.kill()
                server.process.wait()
    print(f"{root}: {tried} of {whole} points, {crashes} crashes in libraries of others", flush=True)


def main():
    dxtest.need_programs()
    starve.need()
    with dxtest.tempdir() as tmp:
        root, control = make(tmp), starve.Control(tmp / "control")
        if sys.argv[1:2] != ["s3"]:
            try_all(root, control, sys.argv[1:] or TARGETS, ("--foreign", root.parent))
        if stores.find("versitygw") and sys.argv[1:] in ([], ["s3"]):
            with stores.Versitygw() as store:
                store.bucket("lake")
                store.upload("lake", "root", root)
                with stores.environment(store.env):
                    try_all(store.root("lake", "root"), control, OF_STORE)
    dxtest.finish()


if __name__ == "__main__":
    main()
