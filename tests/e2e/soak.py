#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: slow long
"""A day in small: everything that happens to servers, in fixed counts, and nothing that grows.

Two servers of one root: one reads the directory and holds a lease, the other has it over HTTP through a proxy that
damages one reply in a hundred. In each round: requests by Zipf and Pareto (bench/dxload), clients that come, break off
and stay silent, publishes, rollbacks, compactions, gc, grants, revokes, suppressions, lifts. Replies to the clients that judge (one
request in a hundred or more) are compared with a recount of the raw rows, as they were for that version, for who
asked, under the rules of that moment. After each round all is still, every answer is compared once, and memory,
descriptors, mappings and threads are counted: they must not grow with each round.

    DX_SOAK=10              rounds (4); DX_SOAK_REQUESTS, of each server in a round (4000); DX_SOAK_RATE a second (1200)
    DX_SOAK_MINUTES=120     run at least DX_SOAK rounds, and for this long
    DX_SOAK_SAMPLES=FILE    what was counted after each round, a line of JSON for each server, as it comes

In detail: a day in small: two servers of one root, one in its directory with a lease, one over HTTP with one
reply in a hundred damaged; requests by Zipf and Pareto, connections that are no good, publishes, rollbacks,
gc, grants, suppressions in fixed counts (4 rounds; `DX_SOAK=30` and more); more than one reply in a hundred
against a recount of the raw rows for that version, principal and rules, and all of them when all is still;
memory, files, other descriptors, sockets, threads and mappings do not grow with each round. A leak of 200
bytes a reply and of a descriptor in 2,000 was planted: it said so of both servers.
"""
import collections
import http.client
import json
import os
import pathlib
import random
import re
import socket
import statistics
import struct
import subprocess
import threading
import time

import dxtest
import faultproxy
from dxtest import check, equal
from median_slope import median_slope

ROUNDS = max(4, int(os.environ.get("DX_SOAK") or 4))
REQUESTS = int(os.environ.get("DX_SOAK_REQUESTS") or 4000)
MINUTES = float(os.environ.get("DX_SOAK_MINUTES") or 0)
SAMPLES = os.environ.get("DX_SOAK_SAMPLES")
RATE = int(os.environ.get("DX_SOAK_RATE") or 1200)
DXLOAD = dxtest.BIN / "bench" / "dxload"
DATASETS, DOMAINS = 5, 60
OPERATIONS = 20         # of each round
COMPACTED = 3           # each so many rounds the lake is, as an operator would
CHURN = 150             # connections of each round that are no good
FAULTS = ("connect_reset", "closed_unanswered", "status_500", "status_503", "range_other", "body_half", "cut_before_last",
          "bit_flip")
TIMES = ("--head-timeout-ms", 1000, "--job-timeout-ms", 2000, "--cursor-life", 2)
GC = ("--keep", 3, "--keep-for", "20s", "--lease-ttl", "12s", "--cursor-life", "2s", "--longest-request", "4s", "--skew",
      "0s", "--max-share", 100, "--delete")

# What a round may add, on average: of allocated memory 512 KiB, which is 110 bytes a request; the files that each publish
# adds to the lists of a version take 200 KiB of it. What caches hold is not counted. Of a long run the second half
# counts, for less: till then the table's history comes to its 256 changes. Resident memory has the allocator's
# corners in it, which fill for many rounds. The far one has a pool of handles for its store, each with an eventfd and two
# sockets: as many as were at work at once, which is some more now and some less then.
LONG = 8  # rounds
GROWTH = {"anonymous": 4 << 20, "files": 0.5, "events": 0.5, "sockets": 0.5, "threads": 0.5, "mappings": 4}


def is_in(path, folders):
    """A file of the version that is served: as many as it has parts, by chance of the last publishes."""
    return not path.endswith("(deleted)") and any(f"/{folder}/" in path for folder in folders)


def growth(rounds, pool):
    most = {"heap": (512 << 10 if rounds < LONG else 384 << 10) * max(1, REQUESTS / 4000), **GROWTH}
    return {**most, "events": 24 / (rounds - 1), "sockets": 48 / (rounds - 1)} if pool else most


ALLOCATOR = {"MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}


class World:
    """What is in force, and since when: the truth that replies are compared with."""

    def __init__(self, tmp):
        self.root, self.rng, self.batch = tmp / "root", random.Random(7), 0
        self.versions = {}                        # name -> {(domain, dataset): {url}}
        self.current = None
        self.rules = [(0.0, 0.0, frozenset())]    # (begun, known, what is suppressed)
        self.public = [(0.0, 0.0, frozenset(range(DATASETS)))]
        self.numbers, self.done = {}, collections.Counter()
        self.token = None

    def run(self, command, *arguments, **options):
        self.done[command] += 1
        return dxtest.domaindex(command, "--root", self.root, *arguments, **options)

    def publish(self):
        rows = collections.defaultdict(set)
        for pair, urls in self.versions.get(self.current, {}).items():
            rows[pair] = set(urls)
        self.batch += 1
        lines = []
        for dataset in range(DATASETS):
            for number in range(4000 if self.batch == 1 else 4):
                domain = f"s{min(int(self.rng.paretovariate(0.8)), DOMAINS)}.example"
                url = f"https://{domain}/{self.batch}/{number}/{self.rng.randbytes(40).hex()}"
                rows[domain, dataset].add(url)
                lines.append(f"set{dataset}\t{url}")
        self.run("ingest", "--format", "tsv", "--no-header", "--dataset-column", 1, "--url-column", 2, "-",
                 input="\n".join(lines).encode())
        name = self.run("publish", "--memory", "64M", "--threads", 1).stdout.decode().split()[0]
        self.versions[name], self.current = rows, name

    def compact(self):
        """Where no rule is in force: rows that one hits would be left out for good."""
        rows = self.versions[self.current]
        self.current = self.run("compact", "--memory", "64M", "--threads", 1).stdout.decode().split()[-1]
        self.versions[self.current] = rows

    def kept(self):
        listed = json.loads((self.root / "index" / "manifest.json").read_text())["versions"]
        return [v["version"] for v in listed if v["state"] not in ("dropped", "condemned")]

    def parts(self):
        """Of the current version, as names of folders."""
        listed = json.loads((self.root / "index" / "manifest.json").read_text())["versions"]
        return [self.current, *next(v for v in listed if v["version"] == self.current).get("parts", ())]

    def forget(self):
        """What no reply can name any more: replies were judged, and servers have the current version alone."""
        self.versions = {name: self.versions[name] for name in {*self.kept(), self.current}}

    def rollback(self):
        name = self.rng.choice(self.kept())
        self.run("rollback", name)
        self.current = name

    def change(self, timeline, to, *command):
        begun = time.monotonic()
        done = self.run(*command)
        timeline.append((begun, time.monotonic(), frozenset(to)))
        return done

    def access(self):
        """One dataset is shown to everybody, or no more; two are always."""
        dataset, public = self.rng.randrange(2, DATASETS), set(self.public[-1][2])
        if dataset in public:
            self.change(self.public, public - {dataset}, "access", "revoke", f"set{dataset}", "--from", "*")
        else:
            self.change(self.public, public | {dataset}, "access", "grant", f"set{dataset}", "--to", "*")

    def suppress(self):
        hidden = set(self.rules[-1][2])
        if len(hidden) > 3:
            value = self.rng.choice(sorted(hidden))
            self.change(self.rules, hidden - {value}, "suppress", "lift", self.numbers.pop(value))
            return
        value = f"s{self.rng.randrange(1, DOMAINS)}.example"
        if self.rng.random() < 0.5:
            value = self.rng.choice(sorted(self.versions[self.current]["s1.example", 0]))
        if value in hidden:
            return
        kind = "--url" if value.startswith("https:") else "--domain"
        self.change(self.rules, hidden | {value}, "suppress", "add", kind, value, "--policy", "absent")
        listed = json.loads(dxtest.domaindex("suppress", "list", "--root", self.root, "--json").stdout)
        entries = listed if isinstance(listed, list) else next(v for v in listed.values() if isinstance(v, list))
        self.numbers[value] = max(int(e.get("rule") or e.get("number") or e["id"]) for e in entries)

    def lift_all(self):
        """What a rule hides of a domain is held as long as it holds: rounds are compared without any."""
        for value in sorted(self.rules[-1][2]):
            self.change(self.rules, self.rules[-1][2] - {value}, "suppress", "lift", self.numbers.pop(value))

    def collect(self):
        self.run("gc", *GC)


# ---- the recount ----

def possible(timeline, from_s, to_s, late_s):
    """The states that may have been in force at some moment of a request, by servers that are late so much."""
    found = []
    for i, (begun, _, state) in enumerate(timeline):
        over = timeline[i + 1][1] + late_s if i + 1 < len(timeline) else float("inf")
        if begun <= to_s and over >= from_s:
            found.append(state)
    return found


def recount(rows, domain, public, hidden):
    """{dataset: URLs}, of what may be seen."""
    if domain in hidden:
        return {}
    seen = {i: rows.get((domain, i), set()) - hidden for i in public}
    return {i: urls for i, urls in seen.items() if urls}


def is_of(ask, reply, seen):
    """Whether a reply is what somebody has to be told who may see this."""
    if ask.dataset is None:
        if not seen:
            return reply.status == 404
        if reply.status != 200:
            return False
        got = {d["name"]: d["row_count"] for d in reply.json["datasets"]}
        return got == {f"set{i}": len(urls) for i, urls in seen.items()} and reply.json["row_count"] == sum(got.values())
    want = seen.get(ask.dataset)
    if not want:
        return reply.status == 404
    items = [item["url"] for item in reply.json["items"]] if reply.status == 200 else None
    return items is not None and len(items) == len(want) == reply.json["total"] and set(items) == want


Ask = collections.namedtuple("Ask", "target domain dataset known from_s to_s")


class Judge:
    def __init__(self, world, late_s):
        self.world, self.late_s, self.kept, self.statuses = world, late_s, [], collections.Counter()
        self.compared, self.busy = 0, collections.Counter()

    def keep(self, ask, reply):
        self.statuses[reply.status] += 1
        if reply.status == 503:
            self.busy[reply.json["type"].rpartition(":")[2]] += 1
            check("retry-after" in reply.headers, f"{ask.target}: 503 says when to come again: {reply.body[:200]}")
        else:
            self.kept.append((ask, reply))

    def decide(self, still=False):
        """All that was kept. A name is known when its publish has ended, so not before now."""
        for ask, reply in self.kept:
            rows = self.world.versions.get(reply.headers.get("x-domaindex-version"))
            if not check(rows is not None, f"{ask.target}: {reply.status} of version {reply.headers}"):
                continue
            late_s = 0 if still else self.late_s
            publics = [frozenset(range(DATASETS))] if ask.known else possible(self.world.public, ask.from_s, ask.to_s, late_s)
            self.compared += 1
            check(any(is_of(ask, reply, recount(rows, ask.domain, public, hidden)) for public in publics
                      for hidden in possible(self.world.rules, ask.from_s, ask.to_s, late_s)),
                  f"{ask}: {reply.status} {reply.body[:300]}")
        self.kept.clear()


# ---- clients ----

class Served:
    """One server, who judges it, and what its process has."""

    def __init__(self, name, server, world, admin, late_s, store_port=0):
        self.name, self.server, self.world, self.admin, self.store_port = name, server, world, admin, store_port
        self.judge, self.load = Judge(world, late_s), collections.Counter()
        self.ids, self.rng, self.samples, self.began = {}, random.Random(name), [], time.monotonic()

    def find_ids(self):
        reply = self.server.get("/v1/datasets", headers={"Authorization": f"Bearer {self.world.token}"})
        self.ids = {int(d["name"][3:]): d["dataset_id"] for d in reply.json["datasets"]}
        equal(len(self.ids), DATASETS, "datasets")

    def ask(self, connection, domain, dataset, known):
        target = f"/v1/domain/{domain}"
        if dataset is not None:
            target += f"/datasets/{self.ids[dataset]}/urls?limit=10000"
        from_s = time.monotonic()
        connection.request("GET", target, headers={"Authorization": f"Bearer {self.world.token}"} if known else {})
        reply = connection.getresponse()
        reply = dxtest.Reply(reply.status, {k.lower(): v for k, v in reply.getheaders()}, reply.read())
        self.judge.keep(Ask(target, domain, dataset, known, from_s, time.monotonic()), reply)
        return reply

    def client(self, stop):
        """Asks and keeps; a new connection for each ten requests, and where the server has closed one that was idle (a busy machine)."""
        connection, count = None, 0
        while not stop.is_set():
            if count % 10 == 0:
                if connection:
                    connection.close()
                connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=30)
            domain = f"s{min(int(self.rng.paretovariate(0.8)), DOMAINS)}.example"
            try:
                self.ask(connection, domain, self.rng.choice([None, None, *range(DATASETS)]), self.rng.random() < 0.3)
                count += 1
            except (http.client.RemoteDisconnected, ConnectionError):
                if count % 10 == 0:
                    raise
                count = 0
            time.sleep(0.02)
        if connection:
            connection.close()

    def nuisance(self):
        """Connections that say nothing, half of a head, or something else, and go at once, late or by a reset."""
        held = []
        for _ in range(CHURN):
            link = socket.create_connection(("127.0.0.1", self.server.port), timeout=30)
            link.sendall(self.rng.choice([b"", b"GET /v1/dom", b"GET /v1/domain/s1.example HTTP/1.1\r\nHost: h\r\n\r\n" * 8,
                                          b"\x16\x03\x01\x02\x00", b"POST /v1/domains HTTP/1.1\r\nHost: h\r\n"
                                          b"Content-Length: 1000\r\n\r\ns1.example\n"]))
            if self.rng.random() < 0.3:
                link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            held.append(link)
            if len(held) > 20:
                held.pop(self.rng.randrange(len(held))).close()
            time.sleep(0.02)
        for link in held:
            link.close()

    def offered(self, tmp, seed):
        out = tmp / f"load-{self.name}.json"
        done = subprocess.run([DXLOAD, "--connections", "16", "--seconds", "600", "--warm", "0", "--requests", str(REQUESTS),
                               "--rate", str(RATE), "--poisson", "--verify-every", "0", "--timeout-ms", "10000", "--spin-us",
                               "0", "--seed", str(seed), "--json", out, f"127.0.0.1:{self.server.port}",
                               f"{tmp}/domains:0.7:zipf=1.0", f"{tmp}/listings:0.3:pareto=1.2"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        report = json.loads(out.read_text())
        for part in report["parts"]:
            for status, count in part["status"].items():
                self.load[int(status)] += count
        for what in ("connect", "broken", "timeout"):
            equal(report["errors"][what], 0, f"{self.name}: {what}: {done.stdout.decode()[-500:]}")

    def compare_all(self):
        """Each answer once, while all is still."""
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=30)
        for number in range(1, DOMAINS + 1):
            for known in (False, True):
                end = time.monotonic() + 20
                while self.ask(connection, f"s{number}.example", None, known).status == 503 and time.monotonic() < end:
                    time.sleep(0.2)
        connection.close()
        self.judge.decide(still=True)

    def metrics(self, pattern):
        with socket.socket(socket.AF_UNIX) as link:
            link.settimeout(30)
            link.connect(self.admin)
            link.sendall(b"GET /metrics HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
            text = b""
            while piece := link.recv(1 << 16):
                text += piece
        return [float(value) for value in re.findall(rf"(?m)^(?:{pattern})(?:{{[^}}]*}})? (\S+)", text.decode())]

    def metric(self, name):
        return self.metrics(name)[0]

    def measure(self):
        self.server.close()
        time.sleep(0.5)
        proc = pathlib.Path(f"/proc/{self.server.process.pid}")
        status = (proc / "status").read_text()
        # Caches fill for many rounds, up to what they may have.
        cached = sum(self.metrics("domaindex_cache_size_bytes|domaindex_answer_cache_size_bytes|domaindex_hot_replies_bytes|"
                                  "domaindex_suppressions_rows_bytes"))
        # Those to the store come and go with its keep-alive.
        pool = {line.split()[9] for line in (proc / "net" / "tcp").read_text().splitlines()[1:]
                if int(line.split()[2].rpartition(":")[2], 16) == self.store_port}
        parts, kinds, store = self.world.parts(), [], 0
        for fd in (proc / "fd").iterdir():
            try:
                to = os.readlink(fd)
            except OSError:
                continue
            if to.startswith("socket:[") and to[8:-1] in pool:
                store += 1
            elif not is_in(to, parts):
                kinds.append("sockets" if to.startswith("socket:") else "files" if to.startswith("/") else "events")
        self.samples.append({"anonymous": int(re.search(r"RssAnon:\s*(\d+)", status).group(1)) * 1024 - int(cached), "cached": int(cached),
                             "heap": int(self.metric("domaindex_heap_used_bytes") - cached),
                             **{kind: kinds.count(kind) for kind in ("files", "events", "sockets")}, "store": store,
                             "threads": int(re.search(r"Threads:\s*(\d+)", status).group(1)),
                             "mappings": sum(not is_in(line, parts) for line in (proc / "maps").read_text().splitlines()),
                             "resident": int(re.search(r"VmRSS:\s*(\d+)", status).group(1)) * 1024})

        if SAMPLES:
            with open(SAMPLES, "a", encoding="utf-8") as out:
                out.write(json.dumps({"server": self.name, "s": round(time.monotonic() - self.began, 1), **self.samples[-1]}) + "\n")

    def judge_growth(self):
        rounds = len(self.samples)
        print(f"{self.name}: held by caches: {[s['cached'] for s in self.samples]}")
        for key, most in growth(rounds, self.store_port > 0).items():
            values = [sample[key] for sample in self.samples[0 if rounds < LONG else rounds // 2:]]
            added = median_slope(values) if rounds >= LONG else (values[-1] - values[0]) / (len(values) - 1)
            tenth = max(1, len(values) // 10)
            first, last = statistics.median(values[:tenth]), statistics.median(values[-tenth:])
            print(f"{self.name}: {key}: {[s[key] for s in self.samples]}, {added:+.1f} a round; the last tenth of what counts to its first "
                  f"{100 * (last / max(first, 1) - 1):+.2f} %", flush=True)
            check(added <= most, f"{self.name}: {key} grows by {added:.1f} a round, over {most}: {values}")


# ---- a round ----

def wait_for(words, true, seconds=40):
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.1)
    check(true(), words)


def operate(world):
    kinds = [world.publish] * 4 + [world.rollback] * 3 + [world.collect] * 3 + [world.access] * 5 + [world.suppress] * 5
    equal(len(kinds), OPERATIONS, "operations")
    world.rng.shuffle(kinds)
    for act in kinds:
        act()
        time.sleep(0.1)


def go_round(world, served, tmp, seed):
    stop, threads = threading.Event(), []
    clients = [threading.Thread(target=s.client, args=(stop,)) for s in served]
    for s in served:
        threads += [threading.Thread(target=s.offered, args=(tmp, seed)), threading.Thread(target=s.nuisance)]
    for thread in clients + threads:
        thread.start()
    operate(world)
    for thread in threads:
        thread.join()
    stop.set()
    for thread in clients:
        thread.join()


def be_still(world, served, proxy, number):
    """All have what is in force, and connections and old versions are over."""
    proxy.set((), 0)
    world.lift_all()
    if number % COMPACTED == 0:
        world.compact()
    for s in served:
        s.judge.decide()
        wait_for(f"{s.name} follows", lambda: s.server.get("/readyz").json["version"] == world.current)
    time.sleep(3)  # suppressions and grants
    for s in served:
        s.compare_all()
    for s in served:  # --cursor-life
        wait_for(f"{s.name} lets go of older versions", lambda: s.metric("domaindex_index_resident") == 1)
        s.measure()
    world.forget()
    proxy.set(FAULTS, 1)


def main():
    dxtest.need_programs()
    if not DXLOAD.exists():
        dxtest.skip("needs bench/dxload (cmake -DDX_BENCH=ON or -DDX_TESTS=ON)")
    begin = time.monotonic()
    os.environ.update(ALLOCATOR)
    with dxtest.tempdir() as tmp:
        world = World(tmp)
        world.publish()
        world.run("access", "init", "--public")
        world.run("access", "principal", "add", "all", "--all")
        world.token = world.run("access", "token", "new", "all").stdout.decode().strip()
        small = ("--cache-idx", "1M", "--cache-payload", "1M", "--cache-pages", "1M", "--cache-domains", "1M",
                 "--idle-timeout-ms", 1000, *TIMES)
        (tmp / "domains").write_text("".join(f"/v1/domain/s{n}.example\n" for n in range(1, DOMAINS + 20)))
        (tmp / "listings").write_text("".join(f"/v1/domain/s{n}.example/datasets/{i}/urls?limit=20\n"
                                              for n in range(1, DOMAINS + 1) for i in range(1, DATASETS + 1)))
        with faultproxy.Proxy(str(world.root)) as proxy, \
                dxtest.Server(world.root, "--server-name", "near", "--lease", "yes", "--lease-ttl", 12,
                              "--cache-answers", "1M", "--admin", f"unix:{tmp}/near", *small) as near, \
                dxtest.Server(proxy.url, "--cache-dir", tmp / "cache", "--poll-ms", 300, "--cache-answers", 0,
                              "--admin", f"unix:{tmp}/far", *small) as far:
            served = [Served("near", near, world, f"{tmp}/near", 5), Served("far", far, world, f"{tmp}/far", 15, proxy.port)]
            proxy.set(FAULTS, 1)
            stored = injected = 0
            for s in served:
                s.find_ids()
            rounds = 0
            while rounds < ROUNDS or time.monotonic() - begin < MINUTES * 60:
                go_round(world, served, tmp, rounds)
                stored, injected = stored + proxy.count, injected + sum(proxy.injected.values())
                rounds += 1
                be_still(world, served, proxy, rounds)
            for s, most_busy in zip(served, (100, 30)):
                s.judge_growth()
                asked = sum(s.load.values()) + sum(s.judge.statuses.values())
                equal(sum(s.load.values()), rounds * REQUESTS, f"{s.name}: replies to all requests")
                check(s.judge.compared * 100 >= asked, f"{s.name}: {s.judge.compared} compared of {asked}")
                others = {k for k in (*s.load, *s.judge.statuses) if k not in (200, 404, 503)}
                if not equal(others, set(), f"{s.name}: statuses {s.load} {s.judge.statuses}"):
                    print(*(line for line in s.server.words().splitlines() if "no answer" in line and ": data-unavailable:" not in line), sep="\n")
                busy = s.load[503] + s.judge.statuses[503]
                check(busy * most_busy <= asked, f"{s.name}: {busy} of {asked} were told 503")
                print(f"{s.name}: 503 of the clients that judge: {dict(s.judge.busy)}")
                print(f"{s.name}: {asked} requests, statuses {dict(s.load + s.judge.statuses)}, {s.judge.compared} compared")
            print(f"{rounds} rounds in {time.monotonic() - begin:.0f} s; {dict(world.done)}; {injected} faults in {stored} replies of storage; "
                  f"{rounds * CHURN * 2} nuisances; {world.batch} versions")
            check(injected > 0 and world.done["gc"] == 3 * rounds, "faults and collections")
    dxtest.finish()


if __name__ == "__main__":
    main()
