# SPDX-License-Identifier: Apache-2.0
# labels: slow
"""A server under mixed traffic keeps its anonymous memory (RssAnon) within what its caches hold and 64 MiB, does not grow
when the same traffic comes again, and does not hold what clients do not read.

Listings, facts and tables of thousands of names, on many connections at once, so that each thread makes large and small
answers in turn: three rounds of the same questions, of which the last two must not add 4 MiB (a leak of 3 KiB a request does),
beside what the caches took. Then clients that ask and never read: replies stay within --reply-memory and 96 KiB for each. Pages of mapped index
files are not counted: the system takes them back as it likes. A page of a listing that is made for each request uses memory that
the process has: new memory from the system costs more than the page. In the gate tables have a fifth of the names, 300 clients are deaf.
"""
import http.client
import contextlib
import random
import re
import socket
import sys
import threading
import time

import dxtest

ALLOWED = 64 << 20
GROWTH = 2 << 20         # of the last two rounds: the first ones fill the heap of each thread
REPLY_MEMORY = 16 << 20 if dxtest.WHOLE else 4 << 20     # and clients, each of whom would hold 150 KiB
CONNECTIONS, REQUESTS, ROUNDS, DEAF = 24, 40, 5, 900 if dxtest.WHOLE else 300
SECONDS = 4 if dxtest.WHOLE else 2
PAGES, FAULTS = 200, 4
CONNECTION = 96 << 10  # its buffers, and a reply of up to 16 KiB that goes on
DOMAINS, ROWS = 60, 160_000 if dxtest.WHOLE else 60_000  # at least 1,000 a domain
TABLE = 300 if dxtest.WHOLE else 60  # each name so often
CACHES = ("domaindex_cache_size_bytes", "domaindex_answer_cache_size_bytes", "domaindex_hot_replies_bytes",
          "domaindex_suppressions_rows_bytes")


def traffic(port, seed, wrong, refused):
    chance = random.Random(seed)
    names = "\n".join(f"example{i}.org" for i in range(DOMAINS)) + "\n"
    table = (names * TABLE).encode()
    connection = dxtest.Link("127.0.0.1", port)
    for _ in range(REQUESTS):
        name, kind = f"example{chance.randrange(DOMAINS)}.org", chance.random()
        path = (f"/v1/domain/{name}" if kind < 0.3 else f"/v1/domain/{name}/hosts?limit=1000" if kind < 0.5 else
                f"/v1/domain/{name}/datasets/1/urls?limit={chance.choice((10, 1000))}&fields=url,extras"
                if kind < 0.9 else "/v1/domains")
        post = path == "/v1/domains"
        reply = connection.get(path, "POST" if post else "GET", {"Content-Type": "text/plain"} if post else {}, table if post else None)
        if reply.status in (429, 503):
            refused.append(path)
        elif reply.status != 200:
            wrong.append((reply.status, path))
    connection.close()


def anonymous(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return int(re.search(r"RssAnon:\s+(\d+) kB", status.read()).group(1)) << 10


def held(metrics):
    return sum(value for name, value in metrics.items() if name.partition("{")[0] in CACHES)


def load(server, words):
    wrong, refused = [], []
    threads = [threading.Thread(target=traffic, args=(server.port, seed, wrong, refused)) for seed in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    dxtest.equal(wrong, [], f"{words}: replies")
    print(f"{words}: {len(refused)} refused", flush=True)
    dxtest.check(2 * len(refused) < CONNECTIONS * REQUESTS, f"{words}: {len(refused)} of {CONNECTIONS * REQUESTS} requests are refused for memory or places")
    return words


def settled(server, words):
    """Anonymous memory beside the caches, when it is within the bound."""
    now = {}

    def within():
        now["anonymous"], now["caches"] = anonymous(server.process.pid), int(held(server.metrics()))
        return now["anonymous"] <= now["caches"] + ALLOWED
    dxtest.wait_until(within)
    print(words, {name: f"{value >> 10} KiB" for name, value in now.items()}, flush=True)
    dxtest.check(within(), f"{words}: anonymous memory is within the caches and 64 MiB: {now}")
    metric = server.metrics()["domaindex_resident_anonymous_bytes"]
    dxtest.check(abs(metric - anonymous(server.process.pid)) < 32 << 20, f"the metric shows it: {metric}")
    return now["anonymous"] - now["caches"]


def deaf(server, before):
    """Clients that ask for listings of some 100 kB, again and again, and read nothing."""
    def ask(n):  # no two the same: a reply that is cached is held once
        return b"".join(f"GET /v1/domain/example{i}.org/datasets/1/urls?limit={1000 + n}&offset={n} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
                        for i in range(DOMAINS))
    most = 0
    with contextlib.ExitStack() as open_ones:
        for n in range(DEAF):
            s = open_ones.enter_context(socket.socket())
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            s.connect(("127.0.0.1", server.port))
            with contextlib.suppress(OSError):
                s.sendall(ask(n))
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            most = max(most, anonymous(server.process.pid) - int(held(server.metrics())))
            time.sleep(0.1)
    print(f"{DEAF} clients that do not read: {most >> 10} KiB at most", flush=True)
    dxtest.check(most < before + REPLY_MEMORY + DEAF * CONNECTION, f"{DEAF} clients that do not read take {most >> 20} MiB, before {before >> 20}")


def page_faults(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        return int(stat.read().rpartition(")")[2].split()[7])


def pages(root):
    """Page faults a listing of 1,000 URLs, once each was made."""
    with dxtest.Server(root, "--threads", 1, "--cache-answers", 0) as server:
        def ask(n):
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
            for i in range(n):
                connection.request("GET", f"/v1/domain/example{i % DOMAINS}.org/datasets/1/urls?limit=1000")
                size = len(connection.getresponse().read())
                dxtest.check(size > 128 << 10, f"a page has {size} bytes")
            connection.close()
        ask(2 * DOMAINS)
        before = page_faults(server.process.pid)
        ask(PAGES)
        each = (page_faults(server.process.pid) - before) / PAGES
    print(f"{each:.1f} page faults a listing", flush=True)
    dxtest.check(each < FAULTS, f"{each} page faults a listing of 1,000 URLs")


def main():
    dxtest.need_programs()
    if dxtest.SANITIZED:
        dxtest.skip("sanitizers have an allocator of their own")
    with dxtest.tempdir() as tmp:
        root = tmp / "root"
        urls = "".join(f"http://h{i % 97}.example{i % DOMAINS}.org/{'p' * (i % 150)}/{i}\n" for i in range(ROWS))
        dxtest.domaindex("ingest", "--root", root, "--dataset", "a", "--format", "list", "--memory", "64M", "-", input=urls.encode())
        dxtest.domaindex("publish", "--root", root, "--quiet", "--memory", "64M")
        pages(root)
        with dxtest.Server(root, "--threads", 4, "--workers", 8, "--reply-memory", REPLY_MEMORY) as server:
            after = [settled(server, load(server, f"round {n}")) for n in range(ROUNDS)]
            grown = after[-1] - max(after[:-2])     # one that dipped says nothing
            dxtest.check(grown < GROWTH, f"the same traffic again adds {grown >> 10} KiB: {[a >> 10 for a in after]}")
            deaf(server, after[-1])
    dxtest.finish()


if __name__ == "__main__":
    sys.exit(main())
