#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: threads plain
"""Replies that are kept are the replies that would be made: a server that keeps them beside one that
keeps none, over repeated questions, all kinds of requests, suppressions that come and go, and flips.

In detail: a server that keeps replies about domains beside one that keeps none: each question three times,
HEAD, If-None-Match, the last of its connection, odd spellings and strangers, while domains and hosts are
suppressed and lifted and versions flip; slow clients that still take a reply whose version has gone; memory
within `--cache-domains`. In the gate each question before rules and flips, and every third one after each of these, beside those that rules
are about; the large site in 500 datasets, 20 others. With DX_WHOLE=1 each question every time; 4,000 datasets and 40 sites, 2,000 and 20 under
sanitizers.
"""
import http.client
import itertools
import json
import re
import socket
import time

import dxtest
import manifests
from dxtest import check, equal

SITES = 20 if dxtest.SANITIZED or not dxtest.WHOLE else 40
BIG = "big.com"  # in so many datasets that a socket does not take its answer at once
BIG_DATASETS = 500 if not dxtest.WHOLE else 2000 if dxtest.SANITIZED else 4000


def publish(root, tmp, more):
    rows = [f"d{d}\thttps://www.{BIG}/{d}\n" for d in range(BIG_DATASETS)]
    for site in range(SITES):
        rows += [f"d{d * 7 % 50}\thttps://h{d % 2}.site{site}.com/{d}/{more}\n" for d in range(site % 9 + 1)]
    (tmp / "rows.tsv").write_text("".join(rows), encoding="ascii")
    dxtest.domaindex("ingest", "--root", root, "--format", "tsv", "--dataset-column", 1, "--url-column", 2,
                     tmp / "rows.tsv")
    dxtest.domaindex("publish", "--root", root)
    return manifests.Manifest(root).current


class Asker:
    def __init__(self, server):
        self.link = http.client.HTTPConnection(server.host, server.port, timeout=60)

    def ask(self, target, method="GET", **headers):
        self.link.request(method, target, headers={k.replace("_", "-"): v for k, v in headers.items()})
        reply = self.link.getresponse()
        body = reply.read()
        said = [(k, v) for k, v in reply.getheaders() if k != "Date"]
        return reply.status, said, body, re.match(r"\w{3}, \d\d \w{3} \d{4} [\d:]{8} GMT$",
                                                   reply.getheader("Date")) is not None


TARGETS = [f"/v1/domain/site{n}.com" for n in range(SITES)] + \
    [f"/v1/domain/none{n}.com" for n in range(5)] + \
    [f"/v1/domain/{BIG}", "/domain/site3.com", "/v1/domain/WWW.Site3.COM.", "/v1/domain/%73ite3.com",
     "/v1/domain/co.uk", "/v1/domain/https%3A%2F%2Fsite4.com%2Fx", "/v1/domain/site3.com?", "/v1/domain/x%zz"]


ALWAYS = [f"/v1/domain/site{n}.com" for n in (3, 8, 17)] + [f"/v1/domain/{BIG}"]    # rules are about these; and the long one
turns = itertools.count()


def compare(hot, cold, words, versions=()):
    """Thrice: made, kept, and sent again. Then what is neither a plain GET nor of the current version."""
    turn = next(turns)
    targets = TARGETS if dxtest.WHOLE or turn == 0 else ALWAYS + [t for t in TARGETS[turn % 3::3] if t not in ALWAYS]
    targets = targets + [f"/v1/domain/site5.com?version={v}" for v in versions]
    for target in targets:
        want = cold.ask(target)
        for number in range(3):
            equal(hot.ask(target), want, f"{words}: {target}, turn {number}")
        equal(hot.ask(target, "HEAD"), cold.ask(target, "HEAD"), f"{words}: HEAD {target}")
        etag = dict(want[1]).get("ETag", '"none"')
        for match in (etag, "*", '"another"', f'"a", W/{etag}'):
            equal(hot.ask(target, If_None_Match=match), cold.ask(target, If_None_Match=match),
                  f"{words}: {target} if not {match}")
        equal(hot.ask(target, Connection="close"), cold.ask(target, Connection="close"),
              f"{words}: {target}, the last one")


def metric(server, name):
    for line in server.admin("/metrics").body.decode().splitlines():
        if line.startswith(name + " "):
            return float(line.split()[1])
    return None


def in_force(hot, cold, target, changed):
    """Once both servers know: the one that keeps replies must come to it as well."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if changed(cold.ask(target)) and hot.ask(target) == cold.ask(target):
            return True
        time.sleep(0.02)
    return False


def suppressions(root, hot, cold):
    was = {t: cold.ask(t) for t in TARGETS}
    rules = [("--domain", "site3.com", "absent", "/v1/domain/site3.com"),
             ("--domain", "site8.com", "withheld", "/v1/domain/site8.com"),
             ("--host", "h1.site17.com", "withheld", "/v1/domain/site17.com")]
    for kind, said, policy, target in rules:
        dxtest.domaindex("suppress", "add", "--root", root, kind, said, "--policy", policy, "--reason", "test")
        check(in_force(hot, cold, target, lambda r, t=target: r != was[t] and r[0] != 503),
              f"suppressed, and told so: {said}")
        compare(hot, cold, f"without {said}")
    listed = json.loads(dxtest.domaindex("suppress", "list", "--root", root, "--json").stdout)["suppressions"]
    for rule in listed:
        dxtest.domaindex("suppress", "lift", "--root", root, rule["number"])
    for _, said, _, target in rules:
        check(in_force(hot, cold, target, lambda r, t=target: r == was[t]), f"lifted: {said}")
    compare(hot, cold, "all lifted")


def flips(root, hot, cold, names):
    for name in (names[0], names[1], names[0], names[1]):
        manifest = manifests.Manifest(root)
        manifest.flip(name)
        manifest.put(root)
        check(in_force(hot, cold, "/v1/domain/site5.com",
                       lambda r, v=name: json.loads(r[2])["version"] == v), f"flipped to {name}")
        compare(hot, cold, f"at {name}", names)


def slow_clients(root, server, cold, names):
    """The answer of a popular site waits in many sockets while its version goes and others ask for it."""
    want = {}
    head = f"GET /v1/domain/{BIG} HTTP/1.1\r\nHost: h\r\n\r\n".encode()
    for name in (names[1], names[0]):
        manifest = manifests.Manifest(root)
        manifest.flip(name)
        manifest.put(root)
        hot = Asker(server)
        check(in_force(hot, cold, f"/v1/domain/{BIG}", lambda r, v=name: json.loads(r[2])["version"] == v),
              f"flipped to {name}")
        want[name] = cold.ask(f"/v1/domain/{BIG}")[2]
        for _ in range(3):
            hot.ask(f"/v1/domain/{BIG}")
        if name == names[0]:
            break
        links = []
        for _ in range(6):
            link = socket.socket()
            link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
            link.settimeout(60)
            link.connect((server.host, server.port))
            link.sendall(head * 20)
            links.append(link)
        time.sleep(1.2)  # and the second of their Date is over
        for _ in range(3):
            equal(hot.ask(f"/v1/domain/{BIG}")[2], want[name], "asked while others wait for it")
    for link in links:
        data = link.makefile("rb")
        for turn in range(20):
            status = data.readline()
            fields = dict(iter(lambda: tuple(data.readline().decode().rstrip("\r\n").split(": ", 1)), ("",)))
            body = data.read(int(fields["Content-Length"]))
            version = fields["X-Domaindex-Version"]
            if not check(status == b"HTTP/1.1 200 OK\r\n" and body == want.get(version),
                         f"a slow client's answer {turn}, of {version}"):
                break
        link.close()


def budget(root):
    """What is kept stays below what may be, whatever is asked."""
    with dxtest.Server(root, "--threads", "1", "--cache-domains", "64k") as server:
        asker = Asker(server)
        for turn in range(4):
            for target in TARGETS:
                asker.ask(target)
        kept = metric(server, "domaindex_hot_replies_bytes")
        check(8 << 10 < kept <= 64 << 10, f"{kept} bytes are kept of 65536")


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        root = tmp / "root"
        names = [publish(root, tmp, "a"), publish(root, tmp, "b")]
        with dxtest.Server(root, "--threads", "2", "--poll-ms", "100") as server, \
                dxtest.Server(root, "--threads", "1", "--poll-ms", "100", "--cache-domains", "0",
                              "--server-name", "cold", "--cache-answers", "0") as plain:
            hot, cold = Asker(server), Asker(plain)
            compare(hot, cold, "fresh")
            check(metric(server, "domaindex_hot_replies_total") > 3 * SITES, "replies were kept, and found")
            equal(metric(plain, "domaindex_hot_replies_total"), 0, "none without memory for them")
            equal(metric(plain, "domaindex_hot_replies_bytes"), 0, "nor a byte")
            suppressions(root, hot, cold)
            flips(root, hot, cold, names)
            slow_clients(root, server, cold, names)
        budget(root)
    dxtest.finish()


if __name__ == "__main__":
    main()
