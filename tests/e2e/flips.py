#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: threads
"""Flips under load: each reply is the whole answer of one version.

Some versions of one root; one after the other is made current, as `domaindex rollback` does it (each
hundredth time by that command, which takes longer than the server needs), while clients ask for
all kinds of answers, 64 at a time without waiting for replies. What each version answers to each question
was asked before, while nothing moved; a reply must be that of the version that its head names, byte for
byte. Half of the flips load the version each time (nothing stays open: --cursor-life 0), half go to
versions that are still open, with some questions that name one.

    DX_FLIPS=10000 tests/e2e/flips.py       in full; 60 without, 300 with DX_WHOLE=1, under sanitizers 12 (of three versions, 8 domains) and 30; DX_RATE requests a second, 2500 (under sanitizers 200 and 400)

In detail: flips (`DX_FLIPS`; 10,000 at 2,800 requests/s were run) under requests of all kinds: each reply
is, byte for byte, that of the version it names; p99 beside steady, descriptors, mappings and memory stay.
"""
import json
import multiprocessing
import os
import random
import time

import corpus
import dxtest
import manifests
import pipeline
import roots
from dxtest import check, equal

FLIPS = int(os.environ.get("DX_FLIPS") or ((300 if dxtest.WHOLE else 60) if not dxtest.SANITIZED else 30 if dxtest.WHOLE else 12))
RATE = int(os.environ.get("DX_RATE", "400" if dxtest.SANITIZED and dxtest.WHOLE else "200" if dxtest.SANITIZED else "2500"))
VERSIONS = 3 if dxtest.SANITIZED and not dxtest.WHOLE else 4
CLIENTS = 2         # processes; and one more that measures, one request at a time
BATCH = 16
SMALL = ("--cache-idx", "8M", "--cache-payload", "8M", "--cache-pages", "8M")


def current(root):
    return manifests.Manifest(root).current


def make_versions(tmp):
    """The root, and the names of its versions, which have more and more rows."""
    root = roots.make(tmp, seed=20, count=400)
    names = [current(root)]
    for n in range(1, VERSIONS):
        with open(tmp / "more.tsv", "w", encoding="utf-8") as out:
            for raw, _ in corpus.rows(seed=20 + n, count=150):
                print(*raw, sep="\t", file=out)
        dxtest.domaindex("ingest", "--root", root, "--format", "tsv", "--dataset-column", 1, "--ts-column", 2,
                         "--url-column", 3, "--extra-column", 4, "--no-header", tmp / "more.tsv")
        dxtest.domaindex("publish", "--root", root, "--parts", 1)
        names.append(current(root))
    return root, names


def questions(root, server):
    """Targets of all kinds. Listings end in their window: a cursor to go on with says when it was made."""
    rng = random.Random(1)
    names = roots.domains(root)
    asked = rng.sample(names, min(60 if dxtest.WHOLE else 8 if dxtest.SANITIZED else 20, len(names)))
    targets = ["/v1/datasets", "/v1/datasets?limit=2", "/v1/datasets/1", "/v1/datasets/4000000",
               "/v1/normalize?q=https://WWW.Example.COM/a%20b?z=1", "/v1/domain/nobody-has-this.example",
               "/v1/domain/..", "/nothing"]
    for name in asked:
        targets.append(f"/v1/domain/{name}")
        reply = server.get(f"/v1/domain/{name}").json
        for dataset in reply["datasets"][:3]:
            where = f"/v1/domain/{name}/datasets/{dataset['dataset_id']}/urls"
            targets += [f"{where}?limit=10000", f"{where}?limit=10000&offset={dataset['row_count'] // 2}"
                                                "&fields=url,ts,raw_url,extras"]
    return targets


def head_version(head):
    at = head.find(b"\r\nX-Domaindex-Version: ")
    return None if at < 0 else head[at + 23:at + 23 + 23].decode()


def flip(root, server, name, by_command=False):
    """Seconds until the server answers from it."""
    begin = time.monotonic()
    if by_command:
        dxtest.domaindex("rollback", "--root", root, name)
    else:
        manifest = manifests.Manifest(root)
        manifest.flip(name)
        manifest.put(root)
    put = time.monotonic()
    while server.get("/readyz").json["version"] != name:
        if not check(time.monotonic() < begin + 60, f"{name} does not come to be served"):
            dxtest.finish()
        time.sleep(0.001)
    return time.monotonic() - put


def answer_maps(root, server, names, targets):
    """{version: {target: (head, body)}}, asked twice."""
    maps = {}
    for name in names:
        flip(root, server, name)
        with pipeline.Client(server) as client:
            first = {t: (head, body) for t, head, body in client.ask(targets)}
            again = {t: (head, body) for t, head, body in client.ask(targets)}
        equal(first, again, f"{name} answers alike")
        check(all(head_version(head) in (name, None) for head, _ in first.values()), f"all are of {name}")
        maps[name] = first
    return maps


# ---- clients ----

class Judge:
    def __init__(self, maps):
        self.maps, self.count, self.wrong, self.seen = maps, 0, [], set()

    def __call__(self, target, head, body):
        self.count += 1
        version = head_version(head)
        if version is None:     # said before a version was needed: the same in all
            version = next(iter(self.maps))
        self.seen.add(version)
        if self.maps.get(version, {}).get(target) != (head, body):
            self.wrong.append((target, head, body[:300]))


def load(server, maps, named, rate, seed, stop, results):
    """Batches at an even pace; named: some questions name a version."""
    rng, judge = random.Random(seed), Judge(maps)
    targets = list(next(iter(maps.values())))
    versions = list(maps)
    late, due = [], time.monotonic()
    try:
        with pipeline.Client(server) as client:
            while not stop.is_set():
                group = [rng.choice(targets) for _ in range(BATCH)]
                if named and rng.random() < 0.2:
                    version = rng.choice(versions)
                    group = [with_version(t, version) for t in group]
                begin = time.monotonic()
                for target, head, body in client.ask(group):
                    asked = target.partition("version=")
                    if asked[1]:
                        if head_version(head) not in (asked[2], None):
                            judge.wrong.append((target, head, body[:300]))
                        target = asked[0][:-1]
                    judge(target, head, body)
                late.append(time.monotonic() - begin)
                due = max(due + BATCH / rate, time.monotonic() - 1)
                time.sleep(max(0, due - time.monotonic()))
    except (OSError, TypeError, ValueError) as error:
        judge.wrong.append(("connection", repr(error), b""))
    results.put((judge.count, judge.wrong[:5], len(judge.wrong), judge.seen, []))


def with_version(target, version):
    if not target.startswith(("/v1/domain/", "/v1/datasets")) or target.endswith("/.."):
        return target
    return f"{target}{'&' if '?' in target else '?'}version={version}"


def measure(server, maps, stop, results):
    """One request at a time: how late is a reply."""
    rng, judge, late = random.Random(7), Judge(maps), []
    targets = list(next(iter(maps.values())))
    try:
        with pipeline.Client(server) as client:
            while not stop.is_set():
                target = rng.choice(targets)
                begin = time.monotonic()
                for one in client.ask([target]):
                    judge(*one)
                late.append(time.monotonic() - begin)
                time.sleep(0.001)
    except (OSError, TypeError, ValueError) as error:
        judge.wrong.append(("connection", repr(error), b""))
    results.put((judge.count, judge.wrong[:5], len(judge.wrong), judge.seen, late))


def under_load(server, maps, named, work):
    """work() while clients ask; their judgement."""
    fork = multiprocessing.get_context("fork")
    stop, results = fork.Event(), fork.Queue()
    begin = time.monotonic()
    clients = [fork.Process(target=load, args=(server, maps, named, RATE / CLIENTS, i, stop, results), daemon=True)
               for i in range(CLIENTS)]
    clients.append(fork.Process(target=measure, args=(server, maps, stop, results), daemon=True))
    for client in clients:
        client.start()
    try:
        work()
    finally:
        stop.set()
        told = [results.get(timeout=120) for _ in clients]
        took = time.monotonic() - begin
        for client in clients:
            client.join()
    count = sum(t[0] for t in told)
    for wrong in [one for t in told for one in t[1]][:5]:
        print("wrong:", *wrong, flush=True)
    late = sorted(told_late for t in told for told_late in t[4])
    return {"count": count, "rate": count / took, "wrong": sum(t[2] for t in told),
            "seen": set().union(*(t[3] for t in told)), "p50": late[len(late) // 2], "p99": late[len(late) * 99 // 100],
            "max": late[-1]}


# ---- what the process holds ----

def held(server):
    """Open descriptors, mappings, resident kB."""
    pid = server.process.pid
    status = dict(line.split(":", 1) for line in open(f"/proc/{pid}/status", encoding="utf-8"))
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        mapped = sum("/index/" in line for line in maps)
    return len(os.listdir(f"/proc/{pid}/fd")), mapped, int(status["VmRSS"].split()[0])


def metric(server, name):
    for line in server.admin("/metrics").body.decode().splitlines():
        if line.startswith(name + " "):
            return float(line.split()[1])
    raise AssertionError(name)


def some_flips(root, server, names, count):
    rng, now, took = random.Random(3), current(root), []
    for i in range(count):
        now = rng.choice([n for n in names if n != now])
        took.append(flip(root, server, now, by_command=i % 100 == 0))
    return sorted(took)


def run(root, names, what, options, named):
    with dxtest.Server(root, *SMALL, "--server-name", "flips", *options) as server:
        maps = answer_maps(root, server, names, questions(root, server))
        check(len({json.dumps(sorted((t, b.hex()) for t, (_, b) in m.items())) for m in maps.values()}) == VERSIONS,
              "the versions answer differently")
        steady = under_load(server, maps, named, lambda: time.sleep(3 if dxtest.WHOLE else 0.5 if dxtest.SANITIZED else 1))
        some_flips(root, server, names, 20 if dxtest.WHOLE else 4 if dxtest.SANITIZED else 8)     # what is allocated once is
        server.close()
        time.sleep(1)
        before, took = held(server), []
        flipped = metric(server, 'domaindex_index_flips_total{result="ok"}')
        moved = under_load(server, maps, named, lambda: took.extend(some_flips(root, server, names, FLIPS // 2)))
        flipped = metric(server, 'domaindex_index_flips_total{result="ok"}') - flipped
        refused = server.words().count("kept the old")
        server.close()
        # Connections and versions that nobody asks go when the server gets to it.
        dxtest.wait_until(lambda: abs(held(server)[0] - before[0]) <= 2 and (held(server)[1] == before[1] or not named))
        after = held(server)
    print(f"{what}: {flipped:.0f} flips; {moved['count']} replies, {moved['rate']:.0f}/s, {moved['wrong']} wrong; "
          f"p99 {moved['p99'] * 1e3:.1f} ms (steady {steady['p99'] * 1e3:.1f}), p50 {moved['p50'] * 1e3:.2f} "
          f"({steady['p50'] * 1e3:.2f}), max {moved['max'] * 1e3:.0f} ({steady['max'] * 1e3:.0f}); "
          f"from the manifest to the first answer p50 {took[len(took) // 2] * 1e3:.0f} ms, "
          f"max {took[-1] * 1e3:.0f}; descriptors, mappings, resident kB {before} -> {after}", flush=True)
    equal((steady["wrong"], moved["wrong"]), (0, 0), "replies that are not of the version they name")
    equal(flipped, FLIPS // 2, "flips of the server")
    equal(refused, 0, "refused reloads")
    equal(moved["seen"], set(names), "all versions answered")
    if os.environ.get("DX_TIMED") and not dxtest.SANITIZED:
        check(moved["rate"] >= 2000, f"{moved['rate']:.0f} requests a second")
    check(abs(after[0] - before[0]) <= 2, f"descriptors stay: {before[0]} -> {after[0]}")
    equal(after[1], before[1], "mappings of files stay") if named else check(after[1] <= before[1] * 2, "mappings")
    if not dxtest.SANITIZED:
        check(after[2] < before[2] * 1.25 + 8192, f"memory stays: {before[2]} -> {after[2]} kB")


def main():
    with dxtest.tempdir() as tmp:
        root, names = make_versions(tmp)
        run(root, names, "loaded each time", ("--cursor-life", "0", "--cache-pages", "1M", "--cache-idx", "1M", "--cache-payload", "1M", "--cache-answers", "1M", "--cache-domains", "1M"), False)
        run(root, names, "still open", (), True)
    dxtest.finish()


if __name__ == "__main__":
    main()
