#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: slow timed
"""200 requests (DX_WHOLE=1: 10,000) at once for one listing that is in no cache: each range is read once.

A proxy that answers late and writes down what it is asked stands between domaindexd and nginx.
1. All connections ask for the same listing: one request for each range, as many right answers.
2. The one that asked first is killed while the ranges are on their way: the others are answered,
   and a range is asked for once more at most.
3. All that asked go but one: it is answered.
4. The store fails, says nothing, or sends wrong bytes: all are told so, by their deadline, after
   no more requests for a range than 5 % of theirs; then, with the store back, all get the right answer.

In detail: 200 requests (`DX_WHOLE=1`: 10,000) at once for one cold listing: each range read once; the first
client killed, all but one killed, the store failing: every other one is answered.
"""
import asyncio
import collections
import json
import os
import re
import resource
import socket
import struct
import time
from urllib.parse import quote

import dxtest
import faultproxy
import pipeline
import roots
import stores

WANTED = 500 if dxtest.SANITIZED else 10_000 if dxtest.WHOLE else 200
DELAY_MS = 1500 if dxtest.WHOLE else 800
DEADLINE_MS = 10_000
SLACK_S = 20     # thousands of replies at one moment, read by a Python program
LENGTH = re.compile(rb"\r\nContent-Length: (\d+)", re.I)


def truth(root):
    """Listings that share neither a lake file nor a page of postings, with their bodies."""
    names = roots.domains(root)
    chosen, prefixes, datasets = [], set(), set()
    with dxtest.Server(root, *dxtest.SAME_BYTES) as server, pipeline.Client(server) as client:
        for _, _, body in client.ask([f"/v1/domain/{quote(d)}" for d in names]):
            answer = json.loads(body)
            prefix = int(answer["domain_id"], 16) >> 60    # far apart: a page is a hundredth of all
            free = [d["dataset_id"] for d in answer["datasets"]
                    if d["dataset_id"] not in datasets and d["row_count"] > 2]
            if prefix in prefixes or not free:
                continue
            prefixes.add(prefix)
            datasets.add(free[0])
            chosen.append(f"/v1/domain/{answer['domain']}/datasets/{free[0]}/urls?limit=5")
        return [(target, body) for target, _, body in client.ask(chosen[:12])]


class Link(asyncio.Protocol):
    """One connection that asks once."""

    def __init__(self):
        self.reply, self.buffer = asyncio.get_running_loop().create_future(), bytearray()

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        self.buffer += data
        end = self.buffer.find(b"\r\n\r\n")
        if end >= 0 and not self.reply.done():
            size = int(LENGTH.search(self.buffer)[1])
            if len(self.buffer) >= end + 4 + size:
                self.reply.set_result((int(self.buffer[9:12]), bytes(self.buffer[end + 4:]),
                                       time.monotonic()))

    def connection_lost(self, error):
        if not self.reply.done():
            self.reply.set_result((0, b"closed", time.monotonic()))

    def kill(self):
        link = self.transport.get_extra_info("socket")
        link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()

    def ask(self, target):
        self.begin = time.monotonic()
        self.transport.write(f"GET {target} HTTP/1.1\r\nHost: x\r\n\r\n".encode())


class Crowd:
    def __init__(self, server, proxy, count):
        self.server, self.proxy, self.count = server, proxy, count

    def ask(self, target, leader_s=0.0, killed=()):
        """All ask; the first so many seconds before the others. Then those in `killed` (indices)
        go. Replies of the others as (status, body, seconds)."""
        return asyncio.run(self.work(target, leader_s, set(killed)))

    async def work(self, target, leader_s, killed):
        loop = asyncio.get_running_loop()
        links = []
        for begin in range(0, self.count, 200):     # the server's queue of connections is no topic
            made = await asyncio.gather(*(
                loop.create_connection(Link, self.server.host, self.server.port)
                for _ in range(min(200, self.count - begin))))
            links += [link for _, link in made]
        links[0].ask(target)
        if leader_s:
            await asyncio.sleep(leader_s)
        for link in links[1:]:
            link.ask(target)
        if killed:
            await asyncio.sleep(0.5)
            for i in killed:
                links[i].kill()
        waiting = [link for i, link in enumerate(links) if i not in killed]
        await asyncio.wait([link.reply for link in waiting], timeout=DEADLINE_MS / 1000 + 120)
        out = [(*link.reply.result()[:2], link.reply.result()[2] - link.begin)
               if link.reply.done() else (0, b"no reply", 1e9) for link in waiting]
        for link in waiting:
            link.transport.abort()
        return out


def ranges_of(proxy):
    """How often each range was asked for; whole objects, as the manifest now and then, are no topic."""
    return collections.Counter(request for request in proxy.seen if request[2])


def check_asked(proxy, times, words):
    asked = ranges_of(proxy)
    more = {key: n for key, n in asked.items() if n > times}
    dxtest.check(asked, f"{words}: nothing was asked of the store")
    dxtest.equal(more, {}, f"{words}: ranges that were asked for more than {times} times")
    return len(asked), max(asked.values(), default=0)


def check_right(replies, want, words):
    statuses = collections.Counter(status for status, _, _ in replies)
    dxtest.equal(dict(statuses), {200: len(replies)}, f"{words}: statuses")
    wrong = sum(status == 200 and body != want for status, body, _ in replies)
    dxtest.equal(wrong, 0, f"{words}: wrong answers")
    return max(seconds for _, _, seconds in replies)


def check_errors(crowd, fault, target, want, words):
    crowd.proxy.set([fault], 100)
    replies = crowd.ask(target)
    statuses = collections.Counter(status for status, _, _ in replies)
    dxtest.check(set(statuses) <= {500, 502, 503, 504}, f"{words}: statuses {statuses}")
    worst = max(seconds for _, _, seconds in replies)
    dxtest.in_time(worst, DEADLINE_MS / 1000 + SLACK_S, f"{words}: the last reply")
    asked = ranges_of(crowd.proxy)
    check_asked(crowd.proxy, crowd.count // 20, words)
    print(f"{words}: {len(replies)} told so ({dict(statuses)}) within {worst:.1f} s, "
          f"{sum(asked.values())} requests for {len(asked)} ranges")
    crowd.proxy.set()
    time.sleep(1)
    check_right(crowd.ask(target), want, f"{words}, the store is back")


def main():
    dxtest.need_programs()
    stores.need("nginx")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    count = min(WANTED, hard - 1000)
    if count < WANTED:
        print(f"SKIPPED in part: {count} connections, not {WANTED}: ulimit -Hn is {hard}")
    with dxtest.tempdir() as tmp:
        root = roots.make(tmp, seed=8, count=20_000 if dxtest.WHOLE else 6_000)
        listings = truth(root)
        (tmp / "mirror").mkdir()
        with stores.Nginx(root) as store, \
                faultproxy.Proxy(store.url, delay_ms=0, record=True) as proxy, \
                stores.environment({"CACHE_DIRECTORY": str(tmp / "mirror")}), \
                dxtest.Server(proxy.url, *dxtest.SAME_BYTES, "--connections", count + 100, "--queue", count + 100,
                              "--head-timeout-ms", 60000, "--job-timeout-ms",
                              DEADLINE_MS) as server:
            proxy.delay_ms = DELAY_MS
            crowd = Crowd(server, proxy, count)
            for target, want in listings[:2]:
                proxy.set()
                worst = check_right(crowd.ask(target), want, "all at once")
                ranges, _ = check_asked(proxy, 1, "all at once")
                print(f"{count} at once: {ranges} ranges, each asked for once; worst {worst:.2f} s")
            for target, want in listings[2:3]:
                proxy.set()
                check_right(crowd.ask(target, leader_s=0.3, killed=[0]), want, "the first killed")
                _, times = check_asked(proxy, 2, "the first killed")
                print(f"the first killed: the others were answered, no range asked for more than "
                      f"{times} times")
            for target, want in listings[3:4]:
                proxy.set()
                last = crowd.ask(target, killed=range(count - 1))
                check_right(last, want, "all but the last killed")
                check_asked(proxy, 2, "all but the last killed")
            print("all but the last killed: it was answered")
            proxy.delay_ms = 0
            for fault, (target, want) in zip(("status_503", "closed_unanswered", "stall_at_half",
                                              "bit_flips"), listings[4:]):
                check_errors(crowd, fault, target, want, fault)
            dxtest.check(server.process.poll() is None, "the server is alive")

            def fds():
                return len(os.listdir(f"/proc/{server.process.pid}/fd"))
            dxtest.check(dxtest.wait_until(lambda: fds() < 300), f"{fds()} descriptors are open when all have gone")
    dxtest.finish()


if __name__ == "__main__":
    main()
