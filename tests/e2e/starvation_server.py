#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: slow
"""A server under requests of every kind, with one allocation, read, open or mapping that one leads to failing, once or from there on:
the same answer, or a problem with status 500 or 503, or a connection that ends before its reply does; never another answer, and the
server goes on. Then, without a fault, each request has its answer. The same of a server whose root is in an S3 store
(versitygw), with its connects, sends and receives failing too.

Calls with the same call chain count as one, as in `starvation`, and those of the first request to a server, whose caches are empty, are among them. In the gate
chains whose last four calls no request before has, each with one error: 1,290, which are all (at most DX_STARVE_POINTS, 0: with DX_WHOLE). DX_WHOLE=1: each
chain of each request with each error of its kind, once and from there on. What crashes in CRoaring 0.2, which does not
look at what malloc gives, is counted, and the server is started again.
"""
import contextlib
import os
import re
import socket
import sys
import time

import dxtest
import starve
import stores
from dxtest import check, equal

POINTS = int(os.environ.get("DX_STARVE_POINTS", 0 if dxtest.WHOLE else 1200))    # at most, of all requests to one root together
NEAR = 4                                                                        # frames of a chain that make it another one for the gate
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
    if reply is None or re.search(b'"next_cursor":"|"cursors":\\[', reply[1]) or target in ("/healthz", "/v1/versions"):
        return reply and reply[0]
    return reply


def fits(target, reply, want):
    """An answer, the same one; or no answer. A path that leads nowhere may lack the paths that are near."""
    if reply is None or stable(target, reply) == want or (target == "/v1/nowhere" and reply[0] == 404):
        return True
    return reply[0] in (500, 503) and (b"urn:domaindex:problem:" in reply[1] or not reply[1])


def has_crashed(server, words):
    """In a library of others, or else it is a failure."""
    if server.process.poll() is None:
        return False
    curl = any(re.search(starve.CURL_CHAIN, starve.words(point)) for point in server.points)
    return check(re.search(f"{starve.OTHERS}|{starve.CURL_CRASH}" if curl else starve.OTHERS, server.words()), f"{words}: the server ended: {server.words()[-1500:]}")


def may_fail(point):
    return point[0] in KINDS and not (point[0] == "read" and starve.lasts(point))   # of all reads: also those of sockets


def plan(root, control, targets, foreign):
    """{target: (points, the answer)}. Chains of the first request to a server, whose caches are empty, come before those of later ones."""
    counted, wants = [], {}
    for target in targets:
        with running(root, control, foreign) as server:
            chains = {chain.hash: chain for chain in control.count(lambda: ask(server.port, target)).chains}
            for _ in range(3):
                wants[target] = stable(target, ask(server.port, target))
            check(wants[target] is not None, f"{target}: undisturbed")
            for chain in control.count(lambda: ask(server.port, target)).chains:
                chains.setdefault(chain.hash, chain)
            counted.append((target, list(chains.values())))
    if POINTS == 0:
        chosen = [(target, point) for target, chains in counted for point in starve.points(chains) if may_fail(point)]
        whole = len(chosen)
    else:
        chosen, whole = starve.chosen(counted, POINTS, NEAR, may_fail)
    print(f"{len(chosen)} of {whole} points, of {sum(len(chains) for _, chains in counted)} chains", flush=True)
    order = {(target, f"{chain.hash:x}"): i for target, chains in counted for i, chain in enumerate(chains)}
    todo = {target: [] for target in targets}
    for target, point in sorted(chosen, key=lambda one: order[one[0], one[1][2].strip("@+")]):
        todo[target].append(point)
    return {target: (points, wants[target]) for target, points in todo.items() if points}


def try_request(server, control, target, want, todo, came):
    """Takes points from the begin of todo until it is empty or the server has ended; adds to `came` whether the call came. What fails is not kept, so that
    points of empty caches come one after the other. Where the reply did not fail, the caches may be full: a point whose call does not come then waits for the
    next server."""
    fresh = True
    while todo:
        point = todo.pop(0)
        words = f"{target}, {starve.words(point)}"
        control.fail(point)
        begin = time.monotonic()
        reply = ask(server.port, target)
        took = time.monotonic() - begin
        hit = control.hit()
        control.rest()
        if not hit and not fresh:
            todo.insert(0, point)
            return
        came.append(hit)
        server.points.append(point)
        fresh = False
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
    server.points = []      # that were tried on it
    return server.__enter__()


@contextlib.contextmanager
def running(root, control, foreign):
    server = start(root, control, foreign)
    try:
        yield server
        if server.process.poll() is None:
            equal(server.get("/readyz").status, 200, "ready at the end")
            server.__exit__(None, None, None)
    except ConnectionError:     # it ends just now
        server.process.wait(20)
        check(has_crashed(server, "at the end"), "no connection at the end")
    finally:
        if server.process.poll() is None:
            server.process.kill()
            server.process.wait()


def try_all(root, control, targets, foreign=()):
    """For each target a server on this root, and another one where it ends in a library of others."""
    crashes, came = 0, []
    for target, (points, want) in plan(root, control, targets, foreign).items():
        while points:
            with running(root, control, foreign) as server:
                try_request(server, control, target, want, points, came)
                crashes += server.process.poll() is not None
    print(f"{root}: {len(came)} points, {len(came) - sum(came)} whose call did not come, {crashes} crashes in libraries of others", flush=True)
    check(sum(came) >= 0.9 * len(came), "calls did not come")


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
