#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: slow
"""Listings by cursor through HAProxy, over three servers of which each learns late and at another time what is current.

Each request of a listing comes to another server (round robin, or at random). Meanwhile versions are published and rolled
back to; no server looks for itself, each is told by SIGHUP up to half a second late. So servers are asked to go on with
versions that they have not seen yet (503, asked again: by the client, or by HAProxy's retry-on), or that they do not have
open. A listing must be that of one version, row for row; what rows a version has is known from what was ingested.
410 would be a restart, and is counted.

DX_CURSOR_LISTINGS=n: complete listings (300; 10,000 in full).

In detail: three servers behind HAProxy, in turn and at random, each told of a flip up to half a second late,
while versions are published and rolled back to: 300 complete listings by cursor (`DX_CURSOR_LISTINGS`;
10,000: 62,160 pages, 451 flips, 148 s, none wrong), each the rows of one version as they were ingested; a 503
of a server that has not seen the version is asked again, by the client or by `retry-on 503`.
"""
import collections
import http.client
import json
import os
import pathlib
import random
import secrets
import shutil
import signal
import subprocess
import threading
import time

import dxtest
import manifests
import stores
from dxtest import check, equal

LISTINGS = int(os.environ.get("DX_CURSOR_LISTINGS", "300" if dxtest.WHOLE and not dxtest.SANITIZED else "100"))
SERVERS, WALKERS, DOMAINS = 3, 8, 24
VERSIONS = 7            # that there are in the end
LATE_S = 0.5            # that a server hears of a flip, at most
FLIP_EVERY_S = 0.3
HAPROXY = shutil.which("haproxy") or shutil.which("haproxy", path="/usr/sbin:/sbin")

CONFIG = """
global
    maxconn 400
defaults
    mode http
    timeout connect 5s
    timeout client 60s
    timeout server 60s
    option http-keep-alive
frontend plain
    bind 127.0.0.1:{plain}
    default_backend in_turn
frontend patient
    bind 127.0.0.1:{patient}
    default_backend at_random
backend in_turn
    balance roundrobin
{servers}
backend at_random
    balance random
    option redispatch 1
    retries 3
    retry-on conn-failure empty-response 503
{servers}
"""


class Haproxy:
    """Two ports: in turn, and a 503 is the client's; at random, and a 503 is asked of others first."""

    def __init__(self, tmp, servers):
        self.plain, self.patient = stores.free_port(), stores.free_port()
        lines = "\n".join(f"    server s{n} 127.0.0.1:{s.port}" for n, s in enumerate(servers))
        config = tmp / "haproxy.cfg"
        config.write_text(CONFIG.format(plain=self.plain, patient=self.patient, servers=lines))
        self.log = open(tmp / "haproxy.log", "wb")
        self.process = subprocess.Popen([HAPROXY, "-db", "-f", config], stdout=self.log, stderr=self.log)

    def __enter__(self):
        end = time.monotonic() + 60
        while time.monotonic() < end:
            try:
                if Client(self.plain).get("/readyz")[0] == 200 and Client(self.patient).get("/readyz")[0] == 200:
                    return self
            except OSError:
                time.sleep(0.05)
        self.__exit__()
        check(False, f"HAProxy does not answer: {pathlib.Path(self.log.name).read_text()[-2000:]}")
        return dxtest.finish()

    def __exit__(self, *trace):
        self.process.terminate()
        self.process.wait(60)
        self.log.close()


class Client:
    """Kept connections; as with any of them, one that was closed meanwhile is made anew."""

    def __init__(self, port):
        self.port, self.link = port, None

    def get(self, target):
        for again in (True, False):
            self.link = self.link or http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
            try:
                self.link.request("GET", target)
                reply = self.link.getresponse()
                return reply.status, json.loads(reply.read())
            except (http.client.HTTPException, ConnectionError):
                self.link.close()
                self.link = None
                if not again:
                    raise
        raise AssertionError("not reached")


# ---- versions ----

class Versions:
    """Publishes and flips, and knows each version's rows."""

    def __init__(self, tmp, root):
        self.tmp, self.root, self.rows, self.names = tmp, root, {}, []
        self.last = {k: [] for k in range(DOMAINS)}
        self.publish()

    def publish(self):
        """The newest version, and more rows: they are a file of their own, which comes behind the others."""
        if self.names:
            self.flip(self.names[-1])
        step = len(self.names)
        new = {k: {f"/{(step * 331 + m * 97 + k * 13) % 1000:04d}-{step}" for m in range(12)} for k in range(DOMAINS)}
        text = "".join(f"https://walk{k}.com{path}\n" for k, paths in new.items() for path in sorted(paths))
        dxtest.domaindex("ingest", "--root", self.root, "--dataset", "walk", "--format", "list", "-", input=text.encode())
        dxtest.domaindex("publish", "--root", self.root)
        name = manifests.Manifest(self.root).current
        self.last = {k: self.last[k] + [f"https://walk{k}.com{path}" for path in sorted(new[k])] for k in range(DOMAINS)}
        self.names.append(name)
        self.rows[name] = self.last

    def flip(self, name):
        manifest = manifests.Manifest(self.root)
        if manifest.current != name:
            manifest.flip(name)
            manifest.put(self.root)


class Mover:
    """Publishes or flips, and tells each server later, until all listings are done."""

    def __init__(self, versions, servers, walks):
        self.versions, self.servers, self.walks = versions, servers, walks
        self.rng, self.flips = random.Random(3), 0

    def move(self):
        due = 1 + len(self.walks.done) * (VERSIONS - 1) // max(1, LISTINGS * 3 // 4)
        if len(self.versions.names) < min(due, VERSIONS):
            self.versions.publish()
        else:
            self.versions.flip(self.rng.choice(self.versions.names))
        self.flips += 1

    def run(self):
        told = []
        while self.walks.running():
            self.move()
            now = time.monotonic()
            told += [(now + self.rng.random() * LATE_S, server) for server in self.servers]
            next_move = now + FLIP_EVERY_S
            while time.monotonic() < next_move:
                for at, server in [t for t in told if t[0] <= time.monotonic()]:
                    server.process.send_signal(signal.SIGHUP)
                told = [t for t in told if t[0] > time.monotonic()]
                time.sleep(0.01)


# ---- listings ----

class Walks:
    def __init__(self, proxy, versions):
        self.versions = versions
        self.done, self.counts, self.wrong = [], collections.Counter(), []
        self.begun, self.lock = 0, threading.Lock()
        self.threads = [threading.Thread(target=self.walk_all, args=(n, proxy.plain if n % 2 else proxy.patient))
                        for n in range(WALKERS)]

    def running(self):
        return any(thread.is_alive() for thread in self.threads)

    def take(self):
        with self.lock:
            self.begun += 1
            return self.begun <= LISTINGS or len(self.versions.names) < VERSIONS

    def walk_all(self, seed, port):
        rng, client = random.Random(seed), Client(port)
        try:
            while self.take():
                domain = rng.randrange(DOMAINS)
                while (listing := self.walk(client, rng, domain)) is None:
                    pass
                self.done.append((domain, *listing))
        except Exception as error:   # a thread's own would only be printed
            self.wrong.append(repr(error))

    def page(self, client, target):
        """(200 or 410, body), however long a server does not know the version yet."""
        end = time.monotonic() + 60
        while time.monotonic() < end:
            status, body = client.get(target)
            with self.lock:
                self.counts[status] += 1
                if status != 200:
                    self.counts[body["type"].rsplit(":", 1)[1]] += 1
            if status in (200, 410):
                return status, body
            if status != 503:
                raise AssertionError(f"{target}: {status} {body}")
            time.sleep(0.02)
        raise AssertionError(f"{target}: 503 for 60 s: {body}")

    def walk(self, client, rng, domain):
        """(version, items), or None: to be begun again."""
        path = f"/v1/domain/walk{domain}.com/datasets/1/urls"
        target, version, items, servers = f"{path}?limit={rng.choice((3, 5, 7))}", None, [], 0
        while target:
            status, body = self.page(client, target)
            if status == 410:
                return None
            if version not in (None, body["version"]):
                raise AssertionError(f"{target}: of {body['version']}, begun in {version}")
            version = body["version"]
            items += [item["url"] for item in body["items"]]
            cursor = body["next_cursor"]
            target = f"{path}?cursor={cursor}" if cursor else None
            if rng.random() < 0.3:
                time.sleep(rng.random() * 0.1)
        return version, items


def judge(walks, versions):
    for domain, version, items in walks.done:
        want = versions.rows.get(version, {}).get(domain)
        if items != want:
            twice = [url for url, n in collections.Counter(items).items() if n > 1]
            walks.wrong.append(f"walk{domain} of {version}: {len(items)} rows, {len(want or ())} expected; twice {twice[:3]}; "
                               f"gone {[u for u in want or () if u not in items][:3]}; "
                               f"strange {[u for u in items if u not in (want or ())][:3]}")
    equal(walks.wrong[:5], [], f"wrong listings: {len(walks.wrong)}")
    check(len(walks.done) >= LISTINGS, f"{len(walks.done)} complete listings")


def start(root, tmp, n):
    key = tmp / "cursor.key"
    return dxtest.Server(root, "--poll-ms", 0, "--threads", 1, "--workers", 2, "--cursor-key-file", key,
                         "--server-name", f"s{n}", "--cache-pages", "8M")


def main():
    dxtest.need_programs()
    if not HAPROXY:
        dxtest.skip("no haproxy here (apt-get install haproxy)")
    with dxtest.tempdir() as tmp:
        root = tmp / "root"
        (tmp / "cursor.key").write_bytes(secrets.token_bytes(32))
        versions = Versions(tmp, root)
        begin = time.monotonic()
        with start(root, tmp, 0) as a, start(root, tmp, 1) as b, start(root, tmp, 2) as c, \
                Haproxy(tmp, (a, b, c)) as proxy:
            walks = Walks(proxy, versions)
            for thread in walks.threads:
                thread.start()
            mover = Mover(versions, (a, b, c), walks)
            mover.run()
            equal([s.process.poll() for s in (a, b, c)], [None] * SERVERS, "the servers live")
        judge(walks, versions)
        check(len({version for _, version, _ in walks.done}) > 1, "listings of several versions")
        print(f"{len(walks.done)} listings of {len(versions.names)} versions, {mover.flips} flips in "
              f"{time.monotonic() - begin:.0f} s; pages {walks.counts[200]}, 503 {walks.counts[503]} "
              f"(version-newer {walks.counts['version-newer']}), restarts by 410 {walks.counts[410]}", flush=True)
    dxtest.finish()


if __name__ == "__main__":
    main()
