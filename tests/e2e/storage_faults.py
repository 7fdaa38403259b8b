#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: slow timed long
"""domaindexd on object storage behind which things go wrong: right bytes, or a problem document.

A root of made-up records lies behind nginx or versitygw; between it and the server stands
tests/support/faultproxy.py; the caches are so small that nearly every listing is read from the
store. The truth is what a server on the directory says, asked before. Shown:

1. kinds of faults alone (every seventh; source_http has each; with DX_WHOLE=1 all of them), 0.1 to 100 % of replies, pairs, bursts, broken connections, TLS: a 200
   is the right bytes, anything else is a 5xx problem, and no reply comes later than its deadline;
2. 5 % of transient faults: 99.9 % of the answers are right ones; 100 % 503: at most 1.1 requests
   for each that would have been sent anyway;
3. with the faults gone every answer is right, without a restart: what the caches kept is good;
4. memory and descriptors stay as they are; a server that starts under faults starts or says why.

DX_FAULT_REQUESTS: how many requests the store gets while things go wrong (3,000; 40,000 with DX_WHOLE=1).
"""
import collections
import json
import os
import pathlib
import random
import re
import subprocess
import tempfile
import time
from urllib.parse import quote

import corpus
import dxtest
import faultproxy
import oracle
import pipeline
import roots
import stores

REQUESTS = int(os.environ.get("DX_FAULT_REQUESTS") or (40_000 if dxtest.WHOLE else 3_000))
SCALE = REQUESTS / 100_000
DEADLINE_MS = 4000
PATIENT_MS = 15_000     # for more than one stalled read, or one that drips, and another after it
SLACK_MS = 1000 if not dxtest.SANITIZED else 2000     # of a machine that does other things
CONNECTIONS = 48
CACHES = ("--cache-idx", "1M", "--cache-payload", "1M", "--cache-pages", "1M", "--cache-answers", "0",
          *dxtest.SAME_BYTES)
OPTIONS = (*CACHES, "--job-timeout-ms", DEADLINE_MS, "--queue", "4096")
KINDS = list(faultproxy.FAULTS)
TRANSIENT = [name for name in KINDS if name not in faultproxy.FINAL]
PLAIN_CONNECTIONS = [n for n in faultproxy.CONNECTION_FAULTS if not n.startswith("tls_")]


def make(tmp, count):
    """A root of so many rows. Made-up ones are dear to make: each is in five of the 300 datasets."""
    with open(tmp / "rows.tsv", "w", encoding="utf-8") as out:
        for (dataset, *rest), _ in corpus.rows(seed=3, count=count // 5):
            for turn in range(5):
                print(f"set-{(int(dataset[4:]) + 60 * turn) % 300:03d}", *rest, sep="\t", file=out)
    dxtest.domaindex("ingest", "--root", tmp / "root", "--format", "tsv", "--dataset-column", 1, "--ts-column", 2, "--url-column", 3,
                     "--extra-column", 4, "--no-header", tmp / "rows.tsv")
    dxtest.domaindex("publish", "--root", tmp / "root")
    return tmp / "root"


def truth(root):
    """{target: body} for listings of all kinds, as a server on the directory gives them."""
    names = roots.domains(root)
    rng, targets = random.Random(9), []
    with dxtest.Server(root, *dxtest.SAME_BYTES) as server:
        with pipeline.Client(server) as client:
            for _, _, body in client.ask([f"/v1/domain/{quote(d)}" for d in names]):
                answer = json.loads(body)
                for each in answer["datasets"]:
                    base = f"/v1/domain/{answer['domain']}/datasets/{each['dataset_id']}/urls"
                    targets += [f"{base}?limit=10000", base,
                                f"{base}?offset={rng.randrange(each['row_count'])}&limit=3"]
            rng.shuffle(targets)
            return {target: body for target, head, body in client.ask(targets[:8_000 if dxtest.WHOLE else 800])
                    if dxtest.check(head[9:12] == b"200", f"{target}: {head!r}")}


class Tally:
    """Replies of one phase, judged."""

    def __init__(self, want):
        self.want, self.good, self.statuses = want, 0, {}
        self.wrong, self.mute, self.worst_ms, self.worst = [], [], 0.0, ""
        self.reasons = collections.Counter()
        self.shared = collections.Counter()     # failed replies by the read that failed: many may have waited on one

    def reply(self, target, status, body, late_s):
        self.statuses[status] = self.statuses.get(status, 0) + 1
        if late_s * 1000 > self.worst_ms:
            self.worst_ms, self.worst = late_s * 1000, target
        if status == 200:
            self.good += 1
            if body != self.want[target]:
                self.wrong.append(target)
        elif not says_why(status, body):
            self.mute.append(f"{status} {body[:200]!r}")
        else:
            self.reasons[reason(body)] += 1
            self.shared[json.loads(body)["detail"]] += 1

    @property
    def count(self):
        return sum(self.statuses.values())


def says_why(status, body):
    try:
        return status in (500, 502, 503, 504) and len(json.loads(body)["detail"]) > 10
    except (ValueError, KeyError, TypeError):
        return False


def prove_it_can_fail(want):
    """A byte too many and an error without words are noticed."""
    tally, target = Tally(want), next(iter(want))
    for status, body in ((200, want[target]), (200, want[target] + b" "), (200, b""),
                         (503, b'{"detail": ""}'), (503, b"<html>"), (404, want[target])):
        tally.reply(target, status, body, 0)
    dxtest.equal((tally.good, len(tally.wrong), len(tally.mute)), (3, 2, 3), "self-test")


def reason(body):
    """The words of an error without what is of this one alone."""
    words = re.sub(r"\S*/\S+", "…", json.loads(body)["detail"])
    return re.sub(r"\d+", "N", words)[-220:]


class Trial:
    """One server behind one proxy."""

    def __init__(self, want, proxy, server, deadline_ms=DEADLINE_MS):
        self.want, self.proxy, self.server, self.deadline_ms = want, proxy, server, deadline_ms
        self.targets = list(want)
        self.rng = random.Random(4)
        self.upstream = 0     # requests while there were faults

    def phase(self, words, faults, percent, requests, seconds, pairs=False, bursts=None,
              success=None, quiet=False):
        """Until the store has had so many requests, or for so many seconds."""
        self.proxy.set(faults, percent, pairs, bursts=bursts)
        self.proxy.bursts = bursts
        tally = Tally(self.want)
        swarm = pipeline.Swarm(
            self.server, CONNECTIONS,
            lambda: self.rng.choice(self.targets) if self.proxy.count < requests else None,
            tally.reply)
        begin = time.monotonic()
        try:
            swarm.run(seconds)
        except ConnectionError as error:
            dxtest.check(False, f"{words}: {error}")
        spent = time.monotonic() - begin
        count, injected = self.proxy.count, sum(self.proxy.injected.values())
        tally.damaged = injected
        self.proxy.set()
        self.proxy.bursts = None
        self.upstream += count
        limit = self.deadline_ms + SLACK_MS + swarm.lag_s * 1000
        dxtest.equal(tally.wrong[:3], [], f"{words}: {len(tally.wrong)} WRONG ANSWERS")
        dxtest.equal(tally.mute[:3], [], f"{words}: {len(tally.mute)} replies without words")
        dxtest.in_time(tally.worst_ms / 1000, limit / 1000, f"{words}: {tally.worst}")
        dxtest.check(tally.count > 0, f"{words}: no replies")
        if success is not None:
            # Faults are drawn, for a read and all who wait on it: three deviations beyond what may fail are no news.
            may_fail = (1 - success) * tally.count
            together = max(tally.shared.values(), default=1)
            dxtest.check(tally.count - tally.good <= may_fail + 3 * (may_fail * together) ** 0.5,
                         f"{words}: only {tally.good} of {tally.count} were answered: "
                         f"{tally.reasons.most_common(6)}")
        if not quiet:
            print(f"{words:38} {tally.count:7} asked, {100 * tally.good / max(1, tally.count):7.3f} "
                  f"% answered; {count:7} to the store, {injected:6} damaged; "
                  f"worst {tally.worst_ms:5.0f} ms; {spent:4.1f} s", flush=True)
        for why, times in tally.reasons.most_common(4) if success else ():
            print(f"  {times:5} times: {why}")
        return tally

    def all_is_well(self, words, count=None):
        """Without faults every answer is the right one. An ETag that a damaged reply made up may
        have been learnt: what contradicts it is refused once, and forgotten."""
        self.proxy.set()
        if count is not None and not dxtest.WHOLE:
            count //= 4
        chosen = self.targets if count is None else self.rng.sample(self.targets, count)
        wrong, again = [], []
        with pipeline.Client(self.server) as client:
            for target, head, body in client.ask(chosen):
                if head[9:12] == b"500" and b"problem:data-replaced" in body:
                    again.append(target)
                elif head[9:12] != b"200" or body != self.want[target]:
                    wrong.append(f"{target}: {head[9:12]!r} {body[:300]!r}")
            for target, head, body in client.ask(again * 2):
                if head[9:12] != b"200" or body != self.want[target]:
                    wrong.append(f"{target}, again: {head[9:12]!r} {body[:300]!r}")
        dxtest.equal(wrong[:3], [], f"{words}, then no faults: {len(wrong)} of {len(chosen)} wrong")

    def resident(self):
        """Kilobytes of memory and number of descriptors of the server."""
        process = self.server.process.pid
        text = pathlib.Path(f"/proc/{process}/status").read_text("ascii", "replace")
        return int(re.search(r"VmRSS:\s+(\d+)", text)[1]), len(os.listdir(f"/proc/{process}/fd"))


def mixed(trial):
    """Rates and pairs; most of the requests are here."""
    for percent, requests, seconds in ((0.1, 28_000, 40), (1, 20_000, 30), (10, 8_000, 15),
                                       (50, 1_500, 8), (100, 800, 8)):
        requests, seconds = requests * SCALE, max(8, seconds * SCALE)
        trial.phase(f"{percent} % of any fault", KINDS, percent, requests, seconds,
                    success=0.97 if percent < 1 else None)
        trial.phase(f"{percent} % of two faults", KINDS, percent, requests / 4, seconds / 2,
                    pairs=True)
        trial.all_is_well(f"{percent} %", 300)
    trial.phase("bursts: all of 50 in 1,000", KINDS, 100, 8_000 * SCALE, 20 * SCALE + 4,
                bursts=(50, 1000))
    trial.phase("broken connections", PLAIN_CONNECTIONS + ["connect_reset", "closed_unanswered"],
                30, 3_000 * SCALE, 6 * SCALE + 2)
    time.sleep(2)     # until somebody listens again
    trial.all_is_well("broken connections", 300)


def each_kind(trial):
    """Kinds alone, always: every seventh, since source_http has each of them. DX_WHOLE=1: every one, and sometimes too."""
    kinds = KINDS if dxtest.WHOLE else KINDS[::7]
    for name in kinds:
        for percent, seconds in ((10, 0.5), (100, 0.3)) if dxtest.WHOLE else ((100, 0.3),):
            tally = trial.phase(f"{name} {percent} %", [name], percent, 150 * max(1, SCALE),
                                seconds * max(1, SCALE), quiet=True)
            dxtest.check(tally.damaged > 0 or percent < 100, f"{name} {percent} %: nothing was damaged")
        trial.all_is_well(name, 60)
    print(f"{len(kinds)} kinds alone", flush=True)


def promises(trial):
    trial.all_is_well("before the promises")     # the budget is full, the ETags are known
    trial.phase("5 % of transient faults", TRANSIENT, 5, 20_000 * SCALE, 40 * SCALE + 10,
                success=0.999)
    amplification(trial)


def amplification(trial):
    """One request at a time, so that what was sent for it is known: the ranges that it began with
    are what it would have sent anyway, the rest are retries."""
    offered = sent = 0
    trial.proxy.set(["status_503"], 100)
    trial.proxy.record = True
    with pipeline.Client(trial.server) as client:
        for _ in range(1000 if dxtest.WHOLE else 700):
            target = trial.rng.choice(trial.targets)
            trial.proxy.seen = []
            _, head, body = next(client.ask([target]))
            if head[9:12] == b"200":     # all of it was in the caches
                dxtest.equal(body, trial.want[target], f"100 % 503: {target}")
            ranges = [request for request in trial.proxy.seen if request[2]]
            sent += len(ranges)
            offered += len(set(ranges))
    trial.proxy.record = False
    trial.upstream += sent
    trial.proxy.set()
    print(f"100 % 503: {sent} requests for {offered} ranges")
    dxtest.check(offered > 100 and sent <= 1.1 * offered, f"amplification: {sent} for {offered}")
    time.sleep(1)     # what was refused is not asked for again at once
    trial.all_is_well("100 % 503", 300)


def under_faults(want, proxy):
    """A server that starts while things go wrong: it serves what is right, or ends with words."""
    started, turns = 0, 12 if dxtest.WHOLE else 4
    with tempfile.TemporaryDirectory(prefix="domaindex-test-") as cache, \
            stores.environment({"CACHE_DIRECTORY": cache}):
        for turn in range(turns):
            proxy.set(KINDS, 10 if turn < turns * 3 // 4 else 30)
            log = tempfile.TemporaryFile()
            process = subprocess.Popen(
                [str(dxtest.DOMAINDEXD), "--root", proxy.url, "--listen", "127.0.0.1:0",
                 *map(str, OPTIONS)], stdout=log, stderr=subprocess.STDOUT)
            end = time.monotonic() + 60
            port = None
            while process.poll() is None and time.monotonic() < end and not port:
                text = dxtest.written(log)
                port = re.search(r"serving version .*127\.0\.0\.1:(\d+)", text)
                time.sleep(0.02)
            proxy.set()
            if port:
                started += 1
                address = type("Address", (), {"host": "127.0.0.1", "port": int(port[1])})
                with pipeline.Client(address) as client:
                    for target, head, body in client.ask(random.Random(turn).sample(list(want), 50)):
                        dxtest.check(head[9:12] == b"200" and body == want[target],
                                     f"started under faults: {target}: {head[:80]!r} {body[:200]!r}")
            process.terminate()
            try:
                code = process.wait(120)
            except subprocess.TimeoutExpired:
                process.kill()
                code = process.wait()
            text = dxtest.written(log)
            dxtest.check(code == (0 if port else 1) and len(text) > 20,
                         f"a start under faults: exit {code}: {text[-500:]}")
            log.close()
    print(f"{turns} starts under faults: {started} served, the others said why")


def flat(trial, before, words):
    after = trial.resident()
    print(f"memory {before[0]} kB, then {after[0]} kB; descriptors {before[1]}, then {after[1]}")
    dxtest.check(trial.server.process.poll() is None, f"{words}: the server is alive")
    if not dxtest.SANITIZED:
        dxtest.check(after[0] <= before[0] * 1.15 + 8192, f"{words}: memory {before} to {after}")
    dxtest.check(after[1] <= before[1] + 16, f"{words}: descriptors {before} to {after}")


def over_http(root, want, tmp):
    with stores.Nginx(root, keepalive_requests=100_000) as store, \
            faultproxy.Proxy(store.url, seed=5) as proxy:
        under_faults(want, proxy)
        (tmp / "m1").mkdir()
        with stores.environment({"CACHE_DIRECTORY": str(tmp / "m1")}), \
                dxtest.Server(proxy.url, *OPTIONS) as server:
            trial = Trial(want, proxy, server)
            # Before any object was seen as it is: what a faulty reply says of it is not believed.
            trial.phase("never seen before, 10 %", KINDS, 10, 2_000 if dxtest.WHOLE else 1_000, 5)
            trial.all_is_well("never seen before", 2000)
            trial.phase("to begin with", KINDS, 10, 2_000 if dxtest.WHOLE else 1_000, 5)
            time.sleep(0.2)
            before = trial.resident()
            mixed(trial)
            each_kind(trial)
            trial.all_is_well("at the end")
            flat(trial, before, "http")
        with stores.environment({"CACHE_DIRECTORY": str(tmp / "m1")}), \
                dxtest.Server(proxy.url, *CACHES, "--job-timeout-ms", PATIENT_MS, "--queue",
                              4096) as server:
            patient = Trial(want, proxy, server, PATIENT_MS)
            promises(patient)
    return trial.upstream + patient.upstream


def over_s3(root, want, tmp):
    with stores.Versitygw() as store:
        store.bucket("lake")
        store.upload("lake", "root", root)
        with faultproxy.Proxy(store.url, seed=6) as proxy, stores.environment(
                {**store.env, "AWS_ENDPOINT_URL_S3": proxy.url,
                 "CACHE_DIRECTORY": str(tmp / "m1")}), \
                dxtest.Server(store.root("lake", "root"), *OPTIONS) as server:
            trial = Trial(want, proxy, server)
            trial.phase("s3, 1 % of any fault", KINDS, 1, 6_000 * SCALE, 20 * SCALE + 4)
            trial.phase("s3, 10 % of two faults", KINDS, 10, 3_000 * SCALE, 10 * SCALE + 4,
                        pairs=True)
            trial.all_is_well("s3", 2000)
    return trial.upstream


def over_tls(root, want, tmp):
    (tmp / "tls").mkdir()
    ca = stores.private_ca(tmp / "tls")
    kinds = list(faultproxy.CONNECTION_FAULTS) + ["connect_reset", "closed_unanswered"]
    with stores.Nginx(root, keepalive_requests=100_000) as store, \
            faultproxy.Proxy(store.url, seed=7, tls=(tmp / "tls" / "server.pem",
                                                     tmp / "tls" / "server.key")) as proxy, \
            stores.environment({"CACHE_DIRECTORY": str(tmp / "m1"),
                                "DOMAINDEX_CA_FILE": str(ca)}), \
            dxtest.Server(proxy.url, *OPTIONS) as server:
        trial = Trial(want, proxy, server)
        trial.phase("TLS, 20 % of broken connections", kinds, 20, 2_000 * SCALE, 6 * SCALE + 2)
        trial.phase("TLS, all connections broken", kinds, 100, 500, 4)
        time.sleep(2)
        trial.all_is_well("TLS", 1000)
    return trial.upstream


def main():
    dxtest.need_programs()
    stores.need("nginx", "versitygw")
    clock = oracle.Clock()
    with dxtest.tempdir() as tmp:
        root = make(tmp, 300_000 if dxtest.WHOLE else 40_000)
        want = truth(root)
        clock(f"{len(want)} listings are known")
        prove_it_can_fail(want)
        upstream = 0
        for way in (over_http, over_s3, over_tls):
            upstream += way(root, want, tmp)
            clock(f"{way.__name__}: {upstream} requests to a store with faults by now")
        # A phase ends by time too, so how many there were says how fast the machine is.
        dxtest.check(upstream >= REQUESTS / 4, f"only {upstream} requests to the store")
    dxtest.finish()


if __name__ == "__main__":
    main()
