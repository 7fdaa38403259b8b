#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: slow timed long
"""The latencies that the specification promises, under load that is drawn as people ask: a Zipf law over domains, arrivals at
random at a fixed rate (an open loop: what waits counts).

    /v1/domain/{d}, warm                     p95 < 30 ms
    first page of a listing, warm            p95 < 200 ms
    first page of a listing, cold            p95 < 1 s

Warm: each target was asked before. Cold: a server that has just come up on a store whose every reply takes 30 ms, no page of
lake or postings known to it, each page asked for once. One event loop, and the load on the same machine. Roots of made-up rows;
DX_SLO=real: of real posts (DX_SHARED_DATA), ten times the rates.
"""
import json
import os
import random
import subprocess

import dxtest
import faultproxy
import roots
from dxtest import check, equal

REAL = os.environ.get("DX_SLO") == "real"
DXLOAD = dxtest.BIN / "bench" / "dxload"
STORE_MS = 30


def load(tmp, port, name, targets, *arguments):
    """Figures of dxload, which must all be right answers."""
    file, out = tmp / "targets.txt", tmp / "figures.json"
    file.write_text("".join(f"{t}\n" for t in targets))
    done = subprocess.run([DXLOAD, "--json", out, "--timeout-ms", "60000", *map(str, arguments), f"127.0.0.1:{port}", file],
                          check=False, capture_output=True, text=True, timeout=120)
    if not equal(done.returncode, 0, f"{name}: dxload {done.stdout[-300:]}{done.stderr[-300:]}"):
        return None
    return json.loads(out.read_text())


def judge(name, once, limit_ms):
    """The best of five tries: others may have had the processor."""
    told = None
    for _ in range(5 if os.environ.get("DX_TIMED") else 1):
        if (figures := once()) is None:
            break
        told = {p: figures["latency_us"][p] / 1000 for p in ("p50", "p95", "p99")}
        if told["p95"] < limit_ms:
            break
    if not check(told is not None, f"{name}: figures"):
        return
    dxtest.in_time(told["p95"] / 1000, limit_ms / 1000, f"{name}: p95")
    print(f"{name}: {figures['requests']} requests, p50 {told['p50']:.2f} ms, p95 {told['p95']:.2f}, p99 {told['p99']:.2f} "
          f"(p95 below {limit_ms} is promised)", flush=True)


def real_root(tmp):
    path = dxtest.shared_data("lists/reddit-top-2.5-million/posts-A.tsv.zst")
    if path is None:
        dxtest.skip("no real posts here (DX_SHARED_DATA)")
    dxtest.domaindex("ingest", "--root", tmp / "root", "--format", "tsv", "--dataset-column", 1, "--ts-column", 2,
                     "--url-column", 3, "--extra-column", 4, "--no-header", path)
    dxtest.domaindex("publish", "--root", tmp / "root")
    return tmp / "root"


def listings(server, domains):
    """First pages of a dataset of each."""
    out = []
    for domain in domains:
        datasets = server.get(f"/v1/domain/{domain}").json["datasets"]
        out.append(f"/v1/domain/{domain}/datasets/{datasets[len(domain) % len(datasets)]['dataset_id']}/urls?limit=100")
    return out


def warm(tmp, root, domains):
    with dxtest.Server(root, "--threads", 1, "--workers", 2) as server:
        pages = listings(server, domains)
        rates = (5000, 2000) if REAL else (500, 200)
        for name, targets, rate, limit in (("/v1/domain, warm", [f"/v1/domain/{d}" for d in domains], rates[0], 30),
                                           ("first page, warm", pages, rates[1], 200)):
            for target in targets:
                server.get(target)
            judge(name, lambda n=name, t=targets, r=rate: load(
                tmp, server.port, n, t, "--law", "zipf=1", "--rate", r, "--poisson", "--connections", 32, "--seconds", 3), limit)
    return pages


def cold(tmp, root, pages):
    with faultproxy.Proxy(str(root.parent), delay_ms=STORE_MS) as proxy, \
            dxtest.Server(f"{proxy.url}/{root.name}", "--cache-dir", tmp / "mirror", "--threads", 1, "--workers", 2) as server:
        parts = iter((pages[:len(pages) // 2], pages[len(pages) // 2:]))    # a second try asks for others
        judge("first page, cold", lambda: (part := next(parts, None)) and load(
            tmp, server.port, "first page, cold", part, "--law", "order", "--warm", 0, "--requests", len(part),
            "--connections", 4, "--rate", 25, "--seconds", 60), 1000)
        check(proxy.count > len(pages) // 4, f"{proxy.count} requests reached the store: the pages were cold")


def main():
    dxtest.need_programs()
    if not DXLOAD.exists():
        dxtest.skip("dxload is not built (DX_BENCH)")
    with dxtest.tempdir() as tmp:
        root = real_root(tmp) if REAL else roots.make(tmp, seed=11, count=30_000)
        names = roots.domains(root)
        domains = random.Random(5).sample(names, min(len(names), 5000 if REAL else 1000))
        pages = warm(tmp, root, domains)
        cold(tmp, root, pages[:160])
    dxtest.finish()


if __name__ == "__main__":
    main()
