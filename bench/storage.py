#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""storage.py - listings read from object storage that answers late: batches, GETs, bytes, time.

    bench/storage.py [--quick] [--write] [--json FILE] [--delay-ms 20] [--no-peers] [FILE]

FILE: TSV of dataset, Unix time, URL, extra; default
$DX_SHARED_DATA/lists/reddit-top-2.5-million/posts-A.tsv.zst. It is ingested twice: into its own
datasets, and all of it into one, so that there are small files and large ones. nginx serves the
root; before it stands tests/support/faultproxy.py, which holds each reply for 20 ms and counts.

domaindexd runs on one core; proxy, nginx and clients on another. Every answer is compared with
what a server on the directory says. --quick: one client, few requests, no peers: what a test runs.
--write keeps the result in bench/RESULTS.md, and the picture beside it. The peers
(bench/storage_peer.py) run in the python of DX_PEERS_PYTHON (this one), DuckDB in that of
DX_DUCKDB_PYTHON (DX_PEERS_PYTHON), MinIO or versitygw as tests/support/stores.py finds them.
DX_BIN_DIR (build/release): the programs. Counts and seconds are bounded: below five minutes.
"""
import argparse
import contextlib
import hashlib
import http.client
import json
import multiprocessing
import os
import pathlib
import random
import re
import signal
import statistics
import subprocess
import sys
import time
from urllib.parse import quote

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "support"), str(HERE.parent / "tests" / "support")]
import chart        # noqa: E402
import dxtest       # noqa: E402
import faultproxy   # noqa: E402
import machine      # noqa: E402
import pipeline     # noqa: E402
import roots        # noqa: E402
import stores       # noqa: E402
from result import Result   # noqa: E402

CORPUS = "lists/reddit-top-2.5-million/posts-A.tsv.zst"
EVERYTHING = "everything"
LARGE_CACHES = ("--cache-idx", "256M", "--cache-payload", "256M", "--cache-pages", "1M")
NO_CACHES = ("--cache-idx", "1M", "--cache-payload", "1M", "--cache-pages", "1M")
STATES = {     # options of the server, and whether the postings are read before
    "nothing cached": (NO_CACHES, False),
    "warm index": (LARGE_CACHES, True),
    "mirrored postings": ((*NO_CACHES, "--mirror-postings", "yes"), False),
}
CROWD = 32
PEER_S = 5          # a peer has for one kind of question
LATE_PERCENTS, LATE_MS = (0, 1, 2), 500


# ---------------------------------------------------------------------- the store and its delay

class Late(faultproxy.Proxy):
    """The proxy, with a count of bytes, and some replies that are later than the others."""

    bytes, late = 0, (0, 0)

    async def answer(self, request):
        if self.late[0] and self.random.random() * 100 < self.late[0]:
            await faultproxy.asyncio.sleep(self.late[1] / 1000)
        reply = await super().answer(request)
        self.bytes += len(reply.body)
        return reply


def serve_proxy(link, upstream, core):
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    pin(core)
    with Late(upstream) as proxy:
        link.send(proxy.url)
        while True:
            try:
                what, value = link.recv()
            except (EOFError, KeyboardInterrupt):
                return
            if what == "set":
                for name in value:
                    setattr(proxy, name, value[name])
            link.send((proxy.count, proxy.bytes))


class Proxy:
    """Late in a process of its own, so that clients and peers do not wait for its interpreter."""

    def __init__(self, upstream, core):
        fork = multiprocessing.get_context("fork")
        self.link, far = fork.Pipe()
        self.process = fork.Process(target=serve_proxy, args=(far, upstream, core), daemon=True)

    def __enter__(self):
        self.process.start()
        self.url = self.link.recv()
        return self

    def __exit__(self, kind, value, trace):
        self.process.terminate()
        self.process.join(10)

    def ask(self, what, value=None):
        self.link.send((what, value))
        return self.link.recv()

    def set(self, **values):
        self.ask("set", values)

    def counts(self):
        return self.ask("counts")


def pin(core):
    if core is not None:
        os.sched_setaffinity(0, {core})


# ------------------------------------------------------------------------------------- the data

def made_up(path, datasets=40, domains=400):
    """For where the corpus is not: paths of words, about 100 rows a pair, and 20 large domains."""
    rng = random.Random(7)
    words = ["".join(rng.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(rng.randrange(3, 10)))
             for _ in range(3000)]
    with open(path, "w", encoding="utf-8") as out:
        for d in range(domains):
            host = f"www.{rng.choice(words)}{d}.com"
            for _ in range(rng.randrange(80, 120) if d >= 20 else 3000):
                url = f"http://{host}/{rng.choice(words)}/{'-'.join(rng.choices(words, k=4))}"
                print(f"d{d % datasets}", rng.randrange(1_300_000_000, 1_400_000_000),
                      url, rng.choice(words), sep="\t", file=out)
    return path


def make_root(root, source):
    columns = ("--memory", "1G", "--format", "tsv", "--ts-column", 2, "--url-column", 3,
               "--extra-column", 4, "--no-header")
    dxtest.domaindex("ingest", "--root", root, "--dataset-column", 1, *columns, source)
    dxtest.domaindex("ingest", "--root", root, "--dataset", EVERYTHING, *columns, source)
    dxtest.domaindex("publish", "--root", root, "--memory", "1G")


def read_pairs(root, client):
    """[(rows, domain, dataset_id, name, domain_id)], the largest first, as a server on the
    directory says."""
    pairs = []
    for _, _, body in client.ask([f"/v1/domain/{quote(name)}" for name in roots.domains(root)]):
        answer = json.loads(body)
        pairs += [(d["row_count"], answer["domain"], d["dataset_id"], d["name"],
                   int(answer["domain_id"], 16)) for d in answer["datasets"]]
    return sorted(pairs, reverse=True)


def data_of(pairs):
    small = len({p[2] for p in pairs}) - 1
    rows = sum(p[0] for p in pairs if p[3] == EVERYTHING)
    return (f"ingested twice: into its {small:,} datasets, and all {rows:,} rows into one; "
            f"{len(pairs):,} (domain, dataset) pairs")


def target(pair, offset=0):
    base = f"/v1/domain/{quote(pair[1])}/datasets/{pair[2]}/urls"
    return f"{base}?offset={offset}" if offset else base


PLACE = 54    # bits of an id below those that say where its page is: a thousandth of all pairs


def one_a_page(pairs, count):
    """Far from each other by id, so that hardly two share a page of postings: each is cold though another was read."""
    chosen, places = [], set()
    for pair in pairs:
        if pair[4] >> PLACE not in places and len(chosen) < count:
            places.add(pair[4] >> PLACE)
            chosen.append(pair)
    return chosen


class Question:
    """Targets of one kind."""

    def __init__(self, name, pairs, offsets=None):
        self.name, self.pairs = name, pairs
        self.offsets = offsets or [0] * len(pairs)
        self.targets = [target(p, o) for p, o in zip(pairs, self.offsets)]

    def rounds(self):
        """The targets in groups, no two of one place in a group."""
        groups = []
        for pair, asked in zip(self.pairs, self.targets):
            place = pair[4] >> PLACE
            group = next((g for g in groups if place not in g), None)
            if group is None:
                groups.append(group := {})
            group[place] = asked
        return [list(group.values()) for group in groups]


def questions(pairs, count):
    rng = random.Random(3)
    some = [p for p in pairs if 80 <= p[0] <= 120]
    rng.shuffle(some)
    small = one_a_page([p for p in some if p[3] != EVERYTHING], count)
    large = one_a_page([p for p in some if p[3] == EVERYTHING], count)
    hot = one_a_page([p for p in pairs if p[3] == EVERYTHING][:4 * count], count // 2)
    long = [p for p in pairs if p[0] > 2000]
    deep = [rng.choice(long) for _ in range(count // 2)]
    def extent(group):
        return f"{min(p[0] for p in group):,} to {max(p[0] for p in group):,} rows"
    return [
        Question("~100 URLs, small dataset", small),
        Question("~100 URLs, large dataset", large),
        Question(f"hot: first page of {extent(hot)}", hot),
        Question(f"deep: random offsets of {extent(deep)}", deep,
                 [rng.randrange(1000, p[0] - 1000) for p in deep]),
    ]


# -------------------------------------------------------------------------------- our own server

def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")


def spread(seconds):
    return {f"p{int(100 * s)}": 1000 * percentile(seconds, s) for s in (0.5, 0.95, 0.99)}


class Server(dxtest.Server):
    """On a core of its own, with figures of what it did."""

    def __init__(self, core, root, *options):
        with machine.pinned(core):
            # No looks for newer versions: what is counted is the listing's.
            super().__init__(root, "--threads", 1, "--workers", 2,
                             "--poll-ms", 0, *dxtest.SAME_BYTES, *options)

    def metrics(self):
        text = self.admin("/metrics").body.decode()
        return {k: float(v) for k, v in re.findall(r"^(domaindex_\S+) (\S+)$", text, re.M)}

    def cpu_s(self):
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Bench:
    def __init__(self, root, proxy, tmp, truth, data):
        self.root, self.proxy, self.tmp, self.truth, self.data = root, proxy, tmp, truth, data
        self.core, self.load_core = machine.cores()
        self.mirror = tmp / "mirror"
        self.rows, self.wrong = [], 0
        self.link = http.client.HTTPConnection("127.0.0.1", int(proxy.url.rsplit(":", 1)[1]))
        self.floors, self.floor_name = [], None

    def server(self, options):
        return Server(self.core, f"{self.proxy.url}/", "--cache-dir", self.mirror, *options)

    def right(self, asked, status, body):
        if status != 200 or body != self.truth[asked]:
            self.wrong += 1
            if self.wrong <= 3:
                print(f"WRONG: {asked}: {status} {body[:300]!r}", flush=True)

    def one(self, server, targets):
        """A closed loop of one client; per request what the server and the proxy counted."""
        requests, seconds = [], []
        with pipeline.Client(server) as client:
            for asked in targets:
                self.floor()
                before, there = server.metrics(), self.proxy.counts()
                begin = time.perf_counter()
                (_, head, body), = client.ask([asked])
                seconds.append(time.perf_counter() - begin)
                self.right(asked, int(head[9:12]), body)
                after, now = server.metrics(), self.proxy.counts()
                delta = {name: after[f"domaindex_fetch_{name}_total"] -
                         before[f"domaindex_fetch_{name}_total"] for name in
                         ("batches", "requests", "received_bytes", "reads", "retries")}
                requests.append({**delta, "proxy_gets": now[0] - there[0],
                                 "proxy_bytes": now[1] - there[1], "reply_bytes": len(body)})
        return requests, seconds

    def crowd(self, server, targets, clients):
        seconds, left = [], list(reversed(targets))

        def told(asked, status, body, late_s):
            seconds.append(late_s)
            self.right(asked, status, body)
        cpu, begin, before = server.cpu_s(), time.monotonic(), server.metrics()
        pipeline.Swarm(server, clients, lambda: left.pop() if left else None, told).run(60)
        spent = time.monotonic() - begin
        cpu, after = server.cpu_s() - cpu, server.metrics()
        return {**spread(seconds), "count": len(seconds), "rate": len(seconds) / spent,
                "cpu_ms": 1000 * cpu / len(seconds),
                **{name: after[f"domaindex_fetch_{name}_total"] -
                   before[f"domaindex_fetch_{name}_total"]
                   for name in ("batches", "requests", "hedges", "hedges_won")}}

    def warm(self, server, question, fill):
        """Fills the caches of postings; the page that came with them is driven out by the next."""
        if fill:
            with pipeline.Client(server) as client:
                for _ in client.ask([f"{target(p)}?limit=1" for p in question.pairs]):
                    pass

    def measure(self, state, question, crowd=True):
        options, fill = STATES[state]
        requests, seconds = [], []
        for group in [question.targets] if fill else question.rounds():
            with self.server(options) as server:
                self.warm(server, question, fill)
                for to, more in zip((requests, seconds), self.one(server, group)):
                    to += more
        row = {"state": state, "question": question.name, "count": len(seconds), **spread(seconds)}
        for name in requests[0]:
            values = [r[name] for r in requests]
            row[name] = statistics.median(values)
            row[f"{name}_mean"] = statistics.mean(values)
            row[f"{name}_max"] = max(values)
        if crowd:
            with self.server(options) as server:
                self.warm(server, question, fill)
                row["crowd"] = self.crowd(server, question.targets * (4 if fill else 1), CROWD)
        self.rows.append(row)
        print(f"{state:18} {question.name:52} {row['count']:4} {row['batches']:2.0f} batches "
              f"(max {row['batches_max']:.0f}) {row['requests']:3.0f} GETs "
              f"{row['received_bytes'] / 1000:7.1f} kB  p50 {row['p50']:5.1f} "
              f"p95 {row['p95']:5.1f} p99 {row['p99']:5.1f} ms" + (
                  f"  {CROWD} clients: {row['crowd']['rate']:6.0f}/s "
                  f"p50 {row['crowd']['p50']:5.1f} p95 {row['crowd']['p95']:5.1f} "
                  f"p99 {row['crowd']['p99']:5.1f} ms, "
                  f"{row['crowd']['cpu_ms']:.2f} ms CPU" if crowd else ""), flush=True)
        return row

    def hedging(self, question):
        """With a few replies that are late, without hedging and with it."""
        if b"--hedge" not in dxtest.run(dxtest.DOMAINDEXD, "--help").stdout:
            return None
        out = []
        for percent in LATE_PERCENTS:
            for words in ("no", "yes"):
                with self.server((*LARGE_CACHES, "--hedge", words)) as server:
                    self.warm(server, question, True)
                    self.proxy.set(late=(percent, LATE_MS))
                    row = self.crowd(server, question.targets * 6, 4)
                    self.proxy.set(late=(0, 0))
                out.append({"percent": percent, "hedge": words, **row})
                print(f"{percent} % late, hedge {words}: p95 {row['p95']:.1f} p99 {row['p99']:.1f} "
                      f"ms, {row['requests']:.0f} GETs, {row['hedges']:.0f} of them hedges",
                      flush=True)
        return out

    def floor(self):
        """One GET of 30 kB by this program: what no batch can be faster than, at this time."""
        begin = time.perf_counter()
        self.link.request("GET", self.floor_name, headers={"Range": "bytes=0-29999"})
        self.link.getresponse().read()
        self.floors.append(time.perf_counter() - begin)


# -------------------------------------------------------------------------------------- the peers

PEERS = {   # engine: (its words, whether it reads S3)
    "duckdb": ("DuckDB httpfs", False),
    "duckdb-footers": ("DuckDB httpfs, footers known", False),
    "clickhouse": ("ClickHouse url()", False),
    "clickhouse-s3": ("ClickHouse s3(), files known", True),
    "polars": ("Polars scan_parquet, http", False),
    "polars-s3": ("Polars scan_parquet, s3", True),
    "pyarrow-s3": ("pyarrow dataset, s3", True),
}


KEEP_FOOTERS = ("duckdb-footers", "clickhouse-s3")


class Peer:
    """One engine in a process of its own, on the core that the server had."""

    def __init__(self, engine, store, core):
        python = os.environ.get("DX_PEERS_PYTHON") or sys.executable
        if engine.startswith("duckdb"):
            python = os.environ.get("DX_DUCKDB_PYTHON") or python
        self.process = subprocess.Popen(
            [python, str(HERE / "storage_peer.py"), engine], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            preexec_fn=lambda: pin(core))
        self.hello = self.say(store)

    def say(self, what):
        try:
            self.process.stdin.write(json.dumps(what) + "\n")
            self.process.stdin.flush()
            return json.loads(self.process.stdout.readline() or '{"missing": "it ended"}')
        except BrokenPipeError:
            return {"missing": "it ended"}

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def lake_file(root, pair):
    """The file of the dataset that has the domain: its prefix is in the name."""
    folder = root / "urls" / f"dataset_id={pair[2]}"
    prefix = pair[4] >> 56
    for each in folder.glob("domain_prefix=*"):
        low, _, high = each.name.split("=")[1].partition("-")
        if int(low, 16) <= prefix <= int(high or low, 16):
            return str(next(each.glob("*.parquet")).relative_to(root))
    raise LookupError(f"no file of {pair}")


def digest_of(body):
    urls = "\n".join(item["url"] for item in json.loads(body)["items"])
    return hashlib.sha256(urls.encode()).hexdigest()


def measure_peer(bench, engine, store, proxy, asked):
    words = PEERS[engine][0]
    peer = Peer(engine, store, bench.core)
    rows = []
    try:
        if "missing" in peer.hello:
            print(f"{words}: cannot be asked: {peer.hello['missing']}", flush=True)
            return [{"engine": words, "missing": peer.hello["missing"]}]
        for question in asked:
            jobs = [{"file": lake_file(bench.root, p), "domain": p[1], "limit": 1000}
                    for p in question.pairs]
            for job in jobs if engine in KEEP_FOOTERS else jobs[:1]:
                peer.say({**job, "domain": "-", "limit": 1})    # which no file has
            peer.say(jobs[0])       # imported, connected, compiled
            seconds, gets, sizes, wrong = [], [], [], 0
            end = time.monotonic() + PEER_S
            for job, want in zip(jobs[1:], question.targets[1:]):
                if time.monotonic() > end:
                    break
                before = proxy.counts()
                reply = peer.say(job)
                after = proxy.counts()
                if "seconds" not in reply:
                    print(f"{words}: {reply}", flush=True)
                    wrong += 1
                    break
                wrong += reply["digest"] != digest_of(bench.truth[want])
                seconds.append(reply["seconds"])
                gets.append(after[0] - before[0])
                sizes.append(after[1] - before[1])
            if not seconds:
                rows.append({"engine": words, "missing": str(reply)})
                continue
            row = {"engine": f"{words}, {peer.hello['version']}", "question": question.name,
                   "count": len(seconds), **spread(seconds), "gets": statistics.median(gets),
                   "bytes": statistics.median(sizes), "differ": wrong}
            rows.append(row)
            print(f"{row['engine']:42} {question.name:40} {row['count']:4} {row['gets']:3.0f} "
                  f"requests {row['bytes'] / 1000:8.1f} kB p50 {row['p50']:6.1f} "
                  f"p95 {row['p95']:6.1f} p99 {row['p99']:6.1f} ms, {wrong} differ", flush=True)
    finally:
        peer.close()
    return rows


def peers(bench, asked, delay_ms):
    store = {"url": bench.proxy.url}
    rows = []
    for engine in [e for e in PEERS if not PEERS[e][1]]:
        rows += measure_peer(bench, engine, store, bench.proxy, asked)
    kind = next((k for k in (stores.Minio, stores.Versitygw) if stores.find(k.program)), None)
    if not kind:
        print("no minio and no versitygw: peers that read S3 are not asked", flush=True)
        return rows
    with kind() as objects:
        objects.bucket("lake")
        objects.upload("lake", "urls", bench.root / "urls")
        with Proxy(objects.url, bench.load_core) as proxy:
            proxy.set(delay_ms=delay_ms)
            store = {"url": proxy.url, "bucket": "lake", "key_id": stores.KEY_ID,
                     "secret": stores.SECRET, "region": stores.REGION}
            for engine in [e for e in PEERS if PEERS[e][1]]:
                rows += measure_peer(bench, engine, store, proxy, asked)
    return rows


# ------------------------------------------------------------------------------------ the program

@contextlib.contextmanager
def bench_of(source, delay_ms, count, domains=400):
    """(Bench, questions) over a root made of source, None: made up, of so many domains."""
    load_core = machine.cores()[1]
    with dxtest.tempdir() as tmp, stores.environment({}):
        root = tmp / "root"
        make_root(root, source or made_up(tmp / "rows.tsv", domains=domains))
        with dxtest.Server(root, *dxtest.SAME_BYTES) as server, pipeline.Client(server) as client:
            pairs = read_pairs(root, client)
            asked = questions(pairs, count)
            truth = {t: body for t, _, body in client.ask([t for q in asked for t in q.targets])}
        pin(load_core)
        with stores.Nginx(root, keepalive_requests=1_000_000) as store, \
                Proxy(store.url, load_core) as proxy:
            (tmp / "mirror").mkdir()
            proxy.set(delay_ms=delay_ms)
            yield Bench(root, proxy, tmp, truth, data_of(pairs)), asked


def our_table(rows):
    yield ("| state of the server | question | n | batches, median (max) | GETs | "
           "kB from the store | p50 ms | p95 ms | p99 ms |")
    yield "| --- | --- | --: | --: | --: | --: | --: | --: | --: |"
    for r in rows:
        yield (f"| {r['state']} | {r['question']} | {r['count']} | {r['batches']:.0f} "
               f"({r['batches_max']:.0f}) | {r['requests']:.0f} | {r['received_bytes'] / 1000:.1f} | "
               f"{r['p50']:.1f} | {r['p95']:.1f} | {r['p99']:.1f} |")


def crowd_table(rows):
    yield ("| state of the server | question | batches a request | requests/s | p50 ms | p95 ms | "
           "p99 ms | ms of CPU a request |")
    yield "| --- | --- | --: | --: | --: | --: | --: | --: |"
    for r in rows:
        c = r.get("crowd")
        if c:
            yield (f"| {r['state']} | {r['question']} | {c['batches'] / c['count']:.2f} | "
                   f"{c['rate']:.0f} | {c['p50']:.1f} | "
                   f"{c['p95']:.1f} | {c['p99']:.1f} | {c['cpu_ms']:.2f} |")


def peer_table(rows, ours):
    yield "| engine | question | n | requests | kB from the store | p50 ms | p95 ms | p99 ms |"
    yield "| --- | --- | --: | --: | --: | --: | --: | --: |"
    for r in [r for r in ours if any(r["question"] == p.get("question") for p in rows)]:
        yield (f"| **domaindexd, {r['state']}** | {r['question']} | {r['count']} | "
               f"{r['proxy_gets']:.0f} | {r['proxy_bytes'] / 1000:.1f} | {r['p50']:.1f} | "
               f"{r['p95']:.1f} | {r['p99']:.1f} |")
    for r in rows:
        if "missing" in r:
            yield f"| {r['engine']} | not asked: {r['missing'][:80]} | | | | | | |"
        else:
            yield (f"| {r['engine']} | {r['question']} | {r['count']} | {r['gets']:.0f} | "
                   f"{r['bytes'] / 1000:.1f} | {r['p50']:.1f} | {r['p95']:.1f} | {r['p99']:.1f} |")


def expectations(rows, result):
    """What was promised, with the figures for it; whoever reads judges."""
    def of(warm, about_100=False):
        return [r for r in rows if (r["state"] != "nothing cached") == warm and
                (not about_100 or r["question"].startswith("~100"))]
    largest = max(r["received_bytes_max"] for r in of(True, True)) / 1000
    cold = max(r["received_bytes"] for r in of(False, True)) / 1000
    result.expect("batches with a warm index", "1", max(r["batches_max"] for r in of(True)))
    result.expect("batches with nothing cached", "<= 3", max(r["batches_max"] for r in of(False)))
    result.expect("kB for ~100 URLs, largest of the medians", "<= 100",
                  max(r["received_bytes"] for r in of(True, True)) / 1000,
                  f"with nothing cached {cold:.0f}; the largest single one {largest:.0f}")
    result.expect("p95 with a warm index, ms", "< 50", max(r["p95"] for r in of(True)),
                  f"with nothing cached {min(r['p95'] for r in of(False)):.0f} to "
                  f"{max(r['p95'] for r in of(False)):.0f}")


def picture(path, rows, peer_rows):
    """Bars of the p50 for the large dataset, with the bytes beside them."""
    name = next((r["question"] for r in rows if "large" in r["question"]), None)
    bars = [(f"domaindexd, {r['state']}", r["p50"], r["proxy_bytes"], True) for r in rows
            if r["question"] == name]
    bars += [(r["engine"], r["p50"], r["bytes"], False) for r in peer_rows
             if r.get("question") == name and "p50" in r]
    if bars:
        chart.bars(path, "The URLs of one domain (about 100) in a large dataset, each reply of the store late",
                   "median of one client, and the bytes that left the store",
                   [(words, ms, f"{ms:.0f} ms, {size / 1000:,.0f} kB", own)
                    for words, ms, size, own in bars])


def figures(seen, result):
    """The rows of support/result.py: what two revisions are compared by."""
    for r in seen["ours"]:
        name = f"domaindexd, {r['state']}"
        for unit in ("p50", "p95", "p99"):
            result.add(r["question"], name, f"{unit} ms", [r[unit]], more=False)
        result.add(r["question"], name, "batches", [r["batches_mean"]], more=False)
        result.add(r["question"], name, "kB from the store", [r["received_bytes"] / 1000], more=False)
        if "crowd" in r:
            result.add(f"{r['question']}, {CROWD} clients", name, "requests/s", [r["crowd"]["rate"]],
                       more=True)
            result.add(f"{r['question']}, {CROWD} clients", name, "ms of CPU a request",
                       [r["crowd"]["cpu_ms"]], more=False)
    for r in seen.get("peers", []):
        if "missing" in r:
            result.note(f"Not measured: {r['engine']}: {r['missing'][:200]}.")
            continue
        for unit in ("p50", "p95", "p99"):
            result.add(r["question"], r["engine"], f"{unit} ms", [r[unit]], more=False)
        result.add(r["question"], r["engine"], "kB from the store", [r["bytes"] / 1000], more=False)
    for h in seen.get("hedging") or []:
        result.add(f"{h['percent']} % of replies late", f"--hedge {h['hedge']}", "p99 ms", [h["p99"]],
                   more=False)
    expectations(seen["ours"], result)


def report(result):
    rows = result["ours"]
    text = [
        "nginx serves the root; the proxy before it adds the delay and counts. Server on one core, "
        "one event loop; proxy, nginx and client share the other. One GET of 30 kB through the "
        f"proxy takes this program's client {result['floor']['p50']:.1f} ms (p95 "
        f"{result['floor']['p95']:.1f}, p99 {result['floor']['p99']:.1f}; asked before each "
        "request of one client): nothing that waits for a batch can be faster. "
        f"{result['answers']:,} answers were compared with those of a server on the directory: "
        f"{result['wrong']} differ.", "",
        "One client, one request after the other, no (domain, dataset) pair twice, decoded pages "
        "not cached. *nothing cached*: postings by range, no two pairs near each other; "
        "*warm index*: postings cached; *mirrored postings*: `--mirror-postings yes`.", "",
        *our_table(rows)]
    if any("crowd" in r for r in rows):
        text += ["", f"{CROWD} clients at once, the same requests (with a warm index four times "
                 "over). Proxy, nginx and clients need 0.2 ms of their core for each GET and 0.1 ms "
                 "for each request, so these are figures of the whole arrangement:", "", *crowd_table(rows)]
    if result.get("peers"):
        text += ["", "The same question (rows of one domain in one dataset, in order, the first "
                 "1,000) asked of others: on the server's core, four threads where that can be "
                 "set, given exactly the one file that has the domain, warmed by a query. *known*: "
                 "each file was queried before, and what the engine keeps of it by then is kept; "
                 "blocks of data are not. Requests and bytes as the proxy counted them; answers "
                 "compared with ours.", "",
                 *peer_table(result["peers"], rows), "", "![medians](pictures/storage.svg)"]
    if result.get("hedging"):
        text += ["", f"Hedging, some replies {LATE_MS} ms late, 4 clients, {rows[1]['question']}, "
                 "warm index:", "",
                 "| late | --hedge | n | p50 ms | p95 ms | p99 ms | GETs | hedges | came first |",
                 "| --: | --- | --: | --: | --: | --: | --: | --: | --: |"]
        text += [f"| {h['percent']:g} % | {h['hedge']} | {h['count']} | {h['p50']:.1f} | "
                 f"{h['p95']:.1f} | {h['p99']:.1f} | {h['requests']:.0f} | {h['hedges']:.0f} | "
                 f"{h['hedges_won']:.0f} |" for h in result["hedging"]]
    return text


def measure(source, quick, delay_ms, with_peers):
    begin = time.monotonic()
    with bench_of(source, delay_ms, *((30, 250) if quick else (100, 400))) as (bench, asked):
        asked = [q for q in asked if q.targets]
        bench.floor_name = "/" + lake_file(bench.root, asked[-1].pairs[0])
        for state in STATES:
            for question in asked:
                bench.measure(state, question, crowd=not quick)
        result = {"delay_ms": delay_ms, "data": bench.data,
                  "floor": spread(bench.floors), "ours": bench.rows, "wrong": bench.wrong,
                  "answers": sum(r["count"] + r.get("crowd", {}).get("count", 0)
                                 for r in bench.rows)}
        if not quick:
            result["hedging"] = bench.hedging(asked[1])
        if with_peers and not quick:
            result["peers"] = peers(bench, asked[:3], delay_ms)
    result["seconds"] = time.monotonic() - begin
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("--quick", action="store_true", help="one client, fewer requests, no peers")
    parser.add_argument("--write", action="store_true", help="keep it in bench/RESULTS.md")
    parser.add_argument("--json", metavar="FILE", help="figures for a program")
    parser.add_argument("--delay-ms", type=float, default=20, help="of the store, for each reply")
    parser.add_argument("--no-peers", action="store_true", help="domaindexd alone")
    parser.add_argument("file", nargs="?", help="TSV of dataset, Unix time, URL, extra")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))   # ends the servers first
    dxtest.need_programs()
    stores.need("nginx")
    source = options.file or dxtest.shared_data(CORPUS)
    if not source:
        dxtest.skip("the corpus is not here (see bench/README.md)")
    result = Result("storage", data=pathlib.Path(source).name)
    seen = measure(source, options.quick, options.delay_ms, not options.no_peers)
    result.figures["data"] += f", {seen['data']}"
    figures(seen, result)
    lines = [*result.expectations(), "", *report(seen)]
    print("\n" + "\n".join(lines) + f"\n\n{seen['seconds']:.0f} s\n{result.save(options.json)}")
    if options.write:
        result.keep(f"Listings from object storage, each reply {options.delay_ms:g} ms late", lines)
        picture(HERE / "pictures" / "storage.svg", seen["ours"], seen.get("peers", []))
    return 1 if seen["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
