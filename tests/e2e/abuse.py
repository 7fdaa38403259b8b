#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: slow alone timed
"""Clients that mean no good, one kind after the other, beside one whose latencies are measured.

Rounds are interleaved: quiet, under abuse, quiet, ... of one server; what counts is the median over the
rounds of p99 under abuse, beside that of the quiet rounds. It is judged with DX_TIMED alone: asked for is twice; a machine that
does other things is given DX_ABUSE_SLACK_MS (20) on top, and TRIES: what the machine does beside goes away, what an abuser can
do does not.
DX_ABUSE_ROUNDS (1), DX_ABUSE_SECONDS (0.6) of each round, DX_ABUSE_ONLY=kind,....

In detail: clients that mean no good beside one whose p99 is measured, in turns with quiet rounds: 10,500 idle
connections, 1,500 heads byte by byte, 300 bodies that trickle, 300 that read 1 MB slowly, heads without end,
400,000 pipelined requests, connections that come and go, floods of long listings without and with buckets;
then lists that trickle or cannot pay in all places there are, beside a good one; a cap of connections, no
descriptors, heads and bodies that stop. p99 at most twice that of quiet and 20 ms (`DX_ABUSE_SLACK_MS`), at
one of four tries; memory; each limit seen in metrics. `DX_ABUSE_ROUNDS=9` for figures.
"""
import contextlib
import http.client
import json
import os
import resource
import select
import socket
import statistics
import subprocess
import time

import abusers
import dxtest
from dxtest import check

ROUNDS = int(os.environ.get("DX_ABUSE_ROUNDS") or (2 if dxtest.WHOLE else 1))
SECONDS = float(os.environ.get("DX_ABUSE_SECONDS", "0.6"))
SLACK_US = 1000 * float(os.environ.get("DX_ABUSE_SLACK_MS", "20"))
ONLY = os.environ.get("DX_ABUSE_ONLY")
DXLOAD = dxtest.BIN / "bench" / "dxload"
CORES = sorted(os.sched_getaffinity(0))
SERVER_CORE, CLIENT_CORE = (CORES[0], CORES[1]) if len(CORES) > 1 else (None, None)
RATE, BIG_ROWS = 1000, 30000
TIMED = bool(os.environ.get("DX_TIMED"))
TRIES = 4 if TIMED else 1
DEBTORS_BYTES = 10000  # in a second: the budget of a second answers eight names
MEMORY_MAX = 384 << 20  # beyond what the server has before: caches, and --reply-memory


def rows(path):
    with open(path, "w", encoding="utf-8") as out:
        for i in range(BIG_ROWS):
            print("big", f"https://www.big.example/{i * 7919 % BIG_ROWS:06d}/{'x' * (i % 90)}", 1400000000 + i, sep="\t", file=out)
        for d in range(400):
            for i in range(5):
                print(f"d{(d + i) % 7}", f"https://site{d}.example/{i}", 1400000000 + i, sep="\t", file=out)
    return path


def make_root(tmp):
    root = tmp / "root"
    dxtest.domaindex("ingest", "--root", root, "--format", "tsv", "--no-header", "--dataset-column", 1,
                     "--url-column", 2, "--ts-column", 3, rows(tmp / "rows.tsv"))
    dxtest.domaindex("publish", "--root", root)
    return root


def before_all_else():
    """Where that is allowed, this test's processes come before what else runs on the machine."""
    with contextlib.suppress(OSError):
        os.setsid()
    with contextlib.suppress(OSError):
        with open("/proc/self/autogroup", "w", encoding="ascii") as group:
            group.write("-19")


def be_first(core, pids=(0,)):
    """Before what else the machine does, where that is allowed; abusers come after all."""
    for pid in pids:
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, pid, -15)
        if core is not None:
            os.sched_setaffinity(pid, {core})


class Server(dxtest.Server):
    """On a core of its own, if there are two."""

    patience = {}

    def __init__(self, root, *arguments, **more):
        super().__init__(root, "--threads", 1, "--workers", 2, *arguments, **more)

    def __enter__(self):
        super().__enter__()
        be_first(SERVER_CORE, [int(task) for task in os.listdir(f"/proc/{self.process.pid}/task")])
        return self

    def cpu_s(self):
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as stat:
            words = stat.read().rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
            return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmRSS"))


class Load:
    """The good client: lookups at a fixed rate over kept connections, one listing in ten."""

    def __init__(self, tmp, port):
        self.port = port
        self.lookups, self.listings = tmp / "lookups", tmp / "listings"
        self.lookups.write_text("".join(f"/v1/domain/site{d}.example\n" for d in range(400)))
        self.listings.write_text("".join(f"/v1/domain/big.example/datasets/1/urls?limit=20&offset={o * 50}\n"
                                         for o in range(400)))

    def round(self):
        command = [DXLOAD, "--rate", RATE, "--connections", 16, "--seconds", SECONDS, "--warm", 0.1, "--spin-us", 0,
                   "--timeout-ms", 5000 if TIMED else 60000, "--json", "-", f"127.0.0.1:{self.port}", f"{self.lookups}:0.9",
                   f"{self.listings}:0.1"]
        done = subprocess.run([*map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                              preexec_fn=lambda: be_first(CLIENT_CORE))
        told = json.loads(done.stdout)
        parts = {part["name"]: part for part in told["parts"]}
        return {
            "p50": parts["lookups"]["latency_us"]["p50"], "p99": parts["lookups"]["latency_us"]["p99"],
            "listing p99": parts["listings"]["latency_us"]["p99"],
            "requests": told["requests"], "errors": told["errors"],
            "status": {name: part["status"] for name, part in parts.items()},
        }


BIG = "/v1/domain/big.example/datasets/1/urls?limit=10000"
KINDS = {
    "idle": {"count": 10500},  # more than the cap: there is room for the good one all the same
    "slow_heads": {"count": 1500},
    "slow_bodies": {"count": 300},  # more than there are places for lists
    "slow_readers": {"count": 300, "target": BIG},  # more than the memory of replies
    "huge_heads": {"count": 100},
    "pipelined": {"count": 4, "target": "/v1/domain/site1.example"},
    "churn": {},
    "flood": {"count": 64, "targets": [f"{BIG}&offset={o}" for o in range(0, 20000, 37)]},
    "paid_flood": {"count": 64, "source": "127.0.0.2",
                   "targets": [f"{BIG}&offset={o}" for o in range(0, 20000, 37)]},
}


def middle(rounds, what):
    return statistics.median(told[what] for told in rounds)


def post_once(server):
    """The lines that a short list of names gets; 0: it was refused."""
    with contextlib.suppress(OSError, http.client.HTTPException):
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        connection.request("POST", "/v1/domains", "site1.example\nsite2.example\n", {"Content-Type": "text/plain"})
        reply = connection.getresponse()
        lines = reply.read().count(b"\n") if reply.status == 200 else 0
        connection.close()
        return lines
    return 0


def tell(kind, quiet, abused, did, server):
    print(f"{kind:13} p50 {middle(quiet, 'p50'):6.0f} -> {middle(abused, 'p50'):6.0f}   p99 {middle(quiet, 'p99'):6.0f} -> "
          f"{middle(abused, 'p99'):6.0f}   "
          f"listings p99 {middle(quiet, 'listing p99'):6.0f} -> {middle(abused, 'listing p99'):6.0f} us   "
          f"server {did[-1].pop('cpu'):.2f} of a core, {server.memory() >> 20} MiB   {did[-1]}", flush=True)


def is_soon(quiet, abused):
    return middle(abused, "p99") <= 2 * middle(quiet, "p99") + SLACK_US


def some_rounds(server, load, kind, settings):
    """Quiet rounds and rounds beside the abuser, in turns."""
    quiet, abused, did = [], [], []
    for _ in range(1 if kind == "idle" else ROUNDS):  # to open so many takes longer than all else
        quiet.append(load.round())
        with abusers.Abuser(kind.replace("paid_", ""), server.port, CLIENT_CORE, **settings) as abuser:
            abuser.ready()
            time.sleep(0.2)
            began, cpu = time.monotonic(), server.cpu_s()
            abused.append(load.round())
            cpu = (server.cpu_s() - cpu) / (time.monotonic() - began)
        check(abuser.told.get("opened"), f"{kind}: the abuser did nothing: {abuser.told}")
        did.append({**abuser.told, "cpu": cpu})
        time.sleep(0.1)
    tell(kind, quiet, abused, did, server)
    for told in abused:
        check(not any(told["errors"].values()), f"{kind}: requests of the good one failed: {told['errors']}")
        check(all(list(status) == ["200"] for status in told["status"].values()),
              f"{kind}: the good one was refused: {told['status']}")
    return quiet, abused, did


def beside(server, load, kind, settings):
    for _ in range(TRIES):
        quiet, abused, did = some_rounds(server, load, kind, settings)
        if is_soon(quiet, abused):
            break
    check(is_soon(quiet, abused) or not TIMED,
          f"{kind}: p99 of the good one goes from {middle(quiet, 'p99'):.0f} to {middle(abused, 'p99'):.0f} us, {TRIES} times")
    return did


def check_kinds(tmp, root):
    with Server(root, "--address-streams", 0) as server:  # lists in all places
        load = Load(tmp, server.port)
        load.round()
        before = server.memory()
        for kind, settings in KINDS.items():
            if not kind.startswith("paid_") and wanted(kind):
                beside(server, load, kind, settings)
        grown = server.memory() - before
        check(grown < MEMORY_MAX, f"memory has grown by {grown >> 20} MiB")
        told = server.metrics()
        moved = {reason: told[f'domaindex_http_rejected_total{{reason="{reason}"}}']
                 for reason in ("framing", "overload", "shed")}
        print(f"memory +{grown >> 20} MiB, refused {moved}, {told['domaindex_accept_pauses_total']:.0f} pauses", flush=True)
        check(ONLY or all(moved.values()), f"a limit that is not seen in metrics: {moved}")


def check_paid(tmp, root):
    """Buckets on: who floods is refused; another address is not."""
    with Server(root, "--address-cost-per-s", 4000, "--address-burst", 8000) as server:
        load = Load(tmp, server.port)
        did = beside(server, load, "paid_flood", KINDS["paid_flood"])
        paid, refused = did[-1].get("200", 0), did[-1].get("429", 0)
        # Of a few replies, as on a machine with other work, the burst pays for many.
        check(refused > (10 * paid if TIMED or paid + refused > 1000 else 0), f"refusals: {did[-1]}")
        told = server.metrics()
        check(told['domaindex_http_rejected_total{reason="address_cost"}'] > 0, "refusals are counted")


def talk_until_still(lists, text):
    """Sends the text on each, takes the answers, until hardly anything comes in a second: they wait for their budget."""
    left = {s: text for s in lists}
    taken = moved = DEBTORS_BYTES
    while moved >= DEBTORS_BYTES:
        moved, end = 0, time.monotonic() + 1
        while (rest := end - time.monotonic()) > 0:
            ready, writable, _ = select.select(lists, [s for s in lists if left[s]], [], rest)
            for s in writable:
                left[s] = left[s][s.send(left[s][:65536]):]
            moved += sum(len(s.recv(1 << 20)) for s in ready)
        taken += moved
    return taken


def check_debtors(root):
    """Lists whose client has spent its budget wait for it; they do not keep others from theirs meanwhile, however
    fast they were before."""
    text = "".join(f"site{n % 400}.example\n" for n in range(20000)).encode()
    head = f"POST /v1/domains HTTP/1.1\r\nHost: h\r\nContent-Length: {len(text)}\r\n\r\n".encode()
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(Server(root, "--reply-memory", "4M", "--address-cost-per-s", 1, "--address-burst", 4000))
        lists = [stack.enter_context(socket.create_connection(("127.0.0.1", server.port), 10, ("127.0.0.2", 0)))
                 for _ in range(3)]  # all places that there are
        for s in lists:
            s.sendall(head)
            s.setblocking(False)
        taken = talk_until_still(lists, text)
        check(taken > 3 << 20, f"debtors: {taken} bytes came before their budget ended")
        check(dxtest.wait_until(lambda: post_once(server) == 3), "debtors: a list of two names is answered beside them")


def check_slow_lists(root):
    """All places are held by lists that trickle, on and on: they give way to one who comes."""
    head = b"POST /v1/domains HTTP/1.1\r\nHost: h\r\nContent-Length: 100000000\r\n\r\n"
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(Server(root, "--reply-memory", "4M"))
        lists = [stack.enter_context(socket.create_connection(("127.0.0.1", server.port), 10)) for _ in range(3)]
        for s in lists:
            s.sendall(head)
            s.setblocking(False)
        for _ in range(15):     # a second and a half at least: later they are but slower
            for s in lists:
                s.send(b"a.example\n")
            time.sleep(0.1)
        lines = post_once(server)   # at the first time: nobody comes before it to what they leave
        told = server.metrics()
        shed, overload = (told[f'domaindex_http_rejected_total{{reason="{reason}"}}'] for reason in ("shed", "overload"))
        check(lines == 3, f"slow lists: a list of two names is answered beside them: {lines} lines, {shed:.0f} shed")
        check(1 <= shed <= 3 and overload == 0, f"slow lists: {shed:.0f} gave way, {overload:.0f} were refused")


def check_connections(root):
    """A cap of connections for each address: one address cannot take them all."""
    with Server(root, "--address-connections", 50) as server:
        with abusers.Abuser("idle", server.port, CLIENT_CORE, count=200, source="127.0.0.2") as abuser:
            abuser.ready()
            open_now = dxtest.wait_until(lambda: (n := server.metrics()["domaindex_connections"]) >= 50 and n)
            check(50 <= open_now <= 55, f"{open_now:.0f} connections are open")
            check(server.get("/v1/domain/site1.example").status == 200, "another address is served")
        check(dxtest.wait_until(lambda: server.metrics()['domaindex_http_rejected_total{reason="address_connections"}'] > 100),
              "refused ones are counted")


def check_descriptors(root):
    """Out of descriptors: no spinning, those who are in are served, and it is over when they go."""
    with Server(root) as server:
        check(server.get("/v1/domain/site1.example").status == 200, "before")
        used = len(os.listdir(f"/proc/{server.process.pid}/fd"))
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (used + 20, used + 20))
        with abusers.Abuser("idle", server.port, CLIENT_CORE, count=100) as abuser:
            abuser.ready()
            time.sleep(0.3)
            began, cpu = time.monotonic(), server.cpu_s()
            for _ in range(10):
                check(server.get("/v1/domain/site1.example").status == 200, "who is in is served")
                time.sleep(0.2)
            share = (server.cpu_s() - cpu) / (time.monotonic() - began)
            check(share < (0.05 if TIMED else 0.3), f"out of descriptors the server takes {share:.3f} of a core")
        time.sleep(0.5)
        told = server.metrics()
        check(told["domaindex_accept_pauses_total"] > 0, "pauses are counted")
        print(f"descriptors: {share:.3f} of a core, {told['domaindex_accept_pauses_total']:.0f} pauses", flush=True)


def check_silent(root):
    """Heads and bodies that stop: the limits of time hold, and are counted."""
    with Server(root, "--head-timeout-ms", 300, "--write-timeout-ms", 300) as server:
        for text in (b"GET /v1/do", b"POST /v1/domains HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\na"):
            with socket.create_connection(("127.0.0.1", server.port), 60) as s:
                s.sendall(text)
                began = time.monotonic()
                data = b"".join(iter(lambda: s.recv(65536), b""))
                check(b" 408 " in data or b"request-timeout" in data, f"{text[:9]}: {data[:80]}")
                dxtest.in_time(time.monotonic() - began, 5, f"{text[:9]}: closed")
        told = server.metrics()
        check(told['domaindex_http_rejected_total{reason="timeout"}'] >= 2, "limits of time are counted")


def wanted(kind):
    return not ONLY or kind in ONLY.split(",")


def main():
    dxtest.need_programs()
    if not DXLOAD.exists():
        dxtest.skip("dxload is not built (DX_BENCH)")
    before_all_else()
    with dxtest.tempdir() as tmp:
        root = make_root(tmp)
        check_kinds(tmp, root)
        for name, part in (("paid_flood", lambda: check_paid(tmp, root)), ("debtors", lambda: check_debtors(root)),
                           ("slow_lists", lambda: check_slow_lists(root)),
                           ("connections", lambda: check_connections(root)),
                           ("descriptors", lambda: check_descriptors(root)), ("silent", lambda: check_silent(root))):
            if wanted(name):
                part()
    dxtest.finish()


if __name__ == "__main__":
    main()
