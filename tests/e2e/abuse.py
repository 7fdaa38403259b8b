#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: threads alone
"""Clients that mean no good, one kind after the other, beside one whose latencies are measured.

Rounds are interleaved: quiet, under abuse, quiet, ... of one server; what counts is the median over the
rounds of p99 under abuse, beside that of the quiet rounds. Asked for is twice; a machine that does other things is given
DX_ABUSE_SLACK_MS (20) on top. DX_ABUSE_ROUNDS (2), DX_ABUSE_SECONDS (0.8) of each round, DX_ABUSE_ONLY=kind,....

"""
import contextlib
import json
import os
import resource
import signal
import statistics
import subprocess
import time

import abusers
import dxtest
from dxtest import check

ROUNDS = int(os.environ.get("DX_ABUSE_ROUNDS", "2"))
SECONDS = float(os.environ.get("DX_ABUSE_SECONDS", "0.8"))
SLACK_US = 1000 * float(os.environ.get("DX_ABUSE_SLACK_MS", "20"))
ONLY = os.environ.get("DX_ABUSE_ONLY")
DXLOAD = dxtest.BIN / "bench" / "dxload"
CORES = sorted(os.sched_getaffinity(0))
SERVER_CORE, CLIENT_CORE = (CORES[0], CORES[1]) if len(CORES) > 1 else (None, None)
RATE, BIG_ROWS, DEEP = 1000, 30000, 10000
MEMORY_MAX = 192 << 20  # beyond what the server has before: connections, lists, replies that wait


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
                   "--timeout-ms", 5000, "--json", "-", f"127.0.0.1:{self.port}", f"{self.lookups}:0.9",
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
    "idle": {"count": 9900},
    "slow_heads": {"count": 1500},
    "slow_bodies": {"count": 300},
    "slow_readers": {"count": 300, "target": BIG},
    "huge_heads": {"count": 100},
    "pipelined": {"count": 4, "target": "/v1/domain/site1.example"},
    "churn": {},
    "flood": {"count": 64, "targets": [f"{BIG}&offset={o}" for o in range(0, 20000, 37)]},
}


def middle(rounds, what):
    return statistics.median(told[what] for told in rounds)


def beside(server, load, kind, settings):
    """Quiet rounds and rounds beside the abuser, in turns."""
    quiet, abused, did = [], [], []
    for _ in range(ROUNDS):
        quiet.append(load.round())
        with abusers.Abuser(kind, server.port, CLIENT_CORE, **settings) as abuser:
            abuser.ready()
            time.sleep(0.2)
            began, cpu = time.monotonic(), server.cpu_s()
            abused.append(load.round())
            cpu = (server.cpu_s() - cpu) / (time.monotonic() - began)
        did.append({**abuser.told, "server's cpu": round(cpu, 2)})
        time.sleep(0.1)
    print(f"{kind:14} p50 {middle(quiet, 'p50'):7.0f} -> {middle(abused, 'p50'):7.0f}   "
          f"p99 {middle(quiet, 'p99'):7.0f} -> {middle(abused, 'p99'):7.0f}   "
          f"listing p99 {middle(quiet, 'listing p99'):7.0f} -> {middle(abused, 'listing p99'):7.0f} us   "
          f"memory {server.memory() >> 20} MiB", flush=True)
    print(f"{'':14} {did[-1]}  {abused[-1]['errors']} {abused[-1]['status']}", flush=True)


def main():
    dxtest.need_programs()
    if not DXLOAD.exists():
        dxtest.skip("dxload is not built (DX_BENCH)")
    before_all_else()
    with dxtest.tempdir() as tmp:
        root = make_root(tmp)
        with Server(root) as server:
            load = Load(tmp, server.port)
            load.round()
            for kind, settings in KINDS.items():
                if not ONLY or kind in ONLY.split(","):
                    beside(server, load, kind, settings)
            told = server.metrics()
            print({k: v for k, v in told.items() if "rejected" in k or "pauses" in k})
    dxtest.finish()


if __name__ == "__main__":
    main()
