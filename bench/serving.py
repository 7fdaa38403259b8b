#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""serving.py - a domain's answer over a socket: domaindexd, nginx, redis, PostgreSQL.

    bench/serving.py [--quick] [--write] [--json FILE] [--root ROOT] [--rounds 5] [--seconds 2]

Data: the reddit corpus of bench/README.md. Every domain is asked of domaindexd, and the bodies that
it gave are what the others hold: redis as strings, PostgreSQL as rows with a primary key. nginx
gives one file of the mean size, or the same bytes from its configuration: the price of HTTP alone.
domaindexd is asked by name; the keys of redis and PostgreSQL are numbers, which are shorter and
need no canonicalising, since that is what their own load generators can draw.

Each server on the first core, its load on the second, CONNECTIONS kept connections, one request
under way on each, keys drawn evenly; one server runs at a time, in interleaved rounds. Load:
bench/dxload for HTTP; redis-benchmark without pipelining; pgbench with prepared
statements. About two minutes; --quick below 30 s. A peer that is missing is named
(scripts/bench_peers.sh gets them).
"""
import argparse
import csv
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
from urllib.parse import quote

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "support"), str(HERE / "peers")]
import where        # noqa: E402
import chart        # noqa: E402
import dxtest       # noqa: E402
import machine      # noqa: E402
import pipeline     # noqa: E402
import serve        # noqa: E402
import stores       # noqa: E402
from result import Result   # noqa: E402

CONNECTIONS = 32
SAMPLE = 200        # answers of each store that are compared before it is measured
OURS = "domaindexd"
GROUP = "one domain's answer, evenly drawn"
OPEN = "one domain's answer, at half of its saturation"


class Run:
    """What one run of a load generator measured."""

    def __init__(self, rate, **percentiles):
        self.rate, self.percentiles = rate, percentiles


def run(core, command, timeout=60):
    with machine.pinned(core):
        done = subprocess.run([str(c) for c in command], check=False, capture_output=True,
                              text=True, timeout=timeout)
    if done.returncode:
        raise OSError(f"{command[0]}: exit {done.returncode}: {(done.stderr or done.stdout)[-600:]}")
    return done.stdout


# ----------------------------------------------------------------------------- load generators

def load_http(bench, port, seconds, rate=0):
    figures = bench.load.run(port, [bench.targets], seconds, connections=CONNECTIONS, rate=rate)
    return Run(figures["rate"], **{p: figures["latency_us"][p] for p in ("p50", "p99", "p99.9")})


def load_redis(bench, port, seconds, asked):
    text = run(bench.load_core, [
        "redis-benchmark", "-h", "127.0.0.1", "-p", port, "-c", CONNECTIONS, "-P", 1, "-n",
        max(1000, int(asked * seconds)), "-r", len(bench.bodies), "--csv", "GET",
        "k:__rand_int__"], seconds * 10 + 30)
    row = list(csv.DictReader(text.splitlines()))[-1]
    return Run(float(row["rps"]), p50=1000 * float(row["p50_latency_ms"]),
                p99=1000 * float(row["p99_latency_ms"]))


def load_postgres(bench, host, port, seconds, rate=0):
    """rate: transactions a second by a schedule, timed from when they were due."""
    log = bench.tmp / "pgbench"
    command = [where.program("pgbench"), "-n", "-M", "prepared", "-c", CONNECTIONS, "-j", 1,
               "-T", seconds, "-h", host, "-p", port, "-U", "bench", "-f", bench.tmp / "get.sql"]
    text = run(bench.load_core, [*command, *(["-R", f"{rate:.0f}", "-l", f"--log-prefix={log}"]
                                             if rate else []), "postgres"], seconds + 30)
    late = []
    for each in bench.tmp.glob("pgbench.*"):
        late += [int(line.split()[2]) for line in each.read_text(encoding="ascii").splitlines()]
        each.unlink()
    late.sort()
    percentiles = {f"p{p:g}": late[min(len(late) - 1, int(len(late) * p / 100))]
                   for p in (50, 99, 99.9)} if late else {}
    return Run(float(re.search(r"^tps = ([\d.]+)", text, re.M)[1]), **percentiles)


# ------------------------------------------------------------------------------------- servers

class Server:
    """words: for tables; missing(): why it cannot be measured, or None; prepare(): once;
    __enter__: up, pinned; load(seconds); kind: the load generator."""

    kind = "dxload"
    memory = None

    def __init__(self, bench):
        self.bench, self.child = bench, None

    def __exit__(self, *why):
        self.child.__exit__(*why)

    def prepare(self):
        pass

    def missing(self):
        return None if serve.DXLOAD.exists() else "dxload is not built"


class Ours(Server):
    words = OURS

    def __enter__(self):
        with machine.pinned(self.bench.core):
            self.child = dxtest.Server(self.bench.root, "--threads", 1, "--poll-ms", 0,
                                       *self.bench.server_options)
        self.child.__enter__()
        return self

    def version(self):
        return where.said(dxtest.DOMAINDEXD, "--version")

    def load(self, seconds, rate=0):
        return load_http(self.bench, self.child.port, seconds, rate)


class Nginx(Server):
    words, how = "nginx, constant file", ""

    def missing(self):
        return super().missing() or (None if where.program("nginx") else "no nginx")

    def version(self):
        return where.said(where.program("nginx"), "-v")

    def location(self, home):
        (home / "answer.json").write_bytes(self.bench.typical)
        return f"root {home}; try_files /answer.json =404;"

    def prepare(self):
        home = self.home = self.bench.tmp / type(self).__name__.lower()
        home.mkdir()
        self.port = stores.free_port()
        user = "user root;" if os.geteuid() == 0 else ""
        paths = " ".join(f"{kind}_temp_path {home}/{kind};" for kind in
                         ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        (home / "nginx.conf").write_text(
            f"{user} daemon off; master_process off; pid {home}/pid; error_log stderr crit;\n"
            "worker_processes 1; events { worker_connections 4096; }\n"
            f"http {{ access_log off; {paths} keepalive_requests 100000000; sendfile off;\n"
            "tcp_nodelay on; open_file_cache max=100; open_file_cache_valid 600s;\n"
            "default_type application/json;\n"
            f"server {{ listen 127.0.0.1:{self.port}; location / {{ {self.location(home)} }} }} }}\n",
            encoding="utf-8")

    def __enter__(self):
        self.child = where.Child(self.bench.core,
                                 [where.program("nginx"), "-p", self.home, "-c",
                                  self.home / "nginx.conf"], self.port, folder=self.home)
        self.child.__enter__()
        return self

    def load(self, seconds, rate=0):
        return load_http(self.bench, self.port, seconds, rate)


class NginxReturn(Nginx):
    words = "nginx, return"

    def location(self, home):
        text = self.bench.typical.decode().replace("\\", "\\\\").replace("'", "\\'")
        return f"return 200 '{text}';"


class Redis(Server):
    words, kind = "redis, GET", "redis-benchmark"

    def missing(self):
        return None if where.program("redis-server") and shutil.which("redis-benchmark") \
            else "no redis (scripts/bench_peers.sh)"

    def version(self):
        return where.said(where.program("redis-server"), "--version")

    def ask(self, *words, stdin=None):
        return subprocess.run(["redis-cli", "-p", str(self.port), *map(str, words)], input=stdin,
                              stdout=subprocess.PIPE, check=True).stdout

    def prepare(self):
        self.home, self.port, self.asked = self.bench.tmp / "redis", stores.free_port(), 50000
        self.home.mkdir()
        with self:
            text = b"".join(b"*3\r\n$3\r\nSET\r\n$14\r\nk:%012d\r\n$%d\r\n%b\r\n" % (i, len(v), v)
                            for i, v in enumerate(self.bench.bodies))
            self.ask("--pipe", stdin=text)
            for i in self.bench.sample:
                dxtest.equal(self.ask("--raw", "GET", f"k:{i:012d}")[:-1], self.bench.bodies[i],
                             f"redis, key {i}")
            used = re.search(rb"used_memory_dataset:(\d+)", self.ask("INFO", "memory"))
            keys = re.search(rb"overhead\.hashtable\.main\s+(\d+)",
                             self.ask("MEMORY", "STATS").replace(b"\n", b" "))
            self.memory = int(used[1]) + (int(keys[1]) if keys else 0)
            self.ask("SAVE")

    def __enter__(self):
        self.child = where.Child(self.bench.core, [
            where.program("redis-server"), "--port", self.port, "--bind", "127.0.0.1", "--dir",
            self.home, "--save", "", "--appendonly", "no", "--io-threads", 1], self.port,
            folder=self.home)
        self.child.__enter__()
        while b"PONG" not in self.ask("PING"):     # while it reads its file it says LOADING
            pass
        return self

    def load(self, seconds):
        done = load_redis(self.bench, self.port, seconds, self.asked)
        self.asked = done.rate
        return done


class Postgres(Server):
    words, kind = "PostgreSQL, prepared, tcp", "pgbench"
    cluster = {}        # shared by both ways to connect

    def missing(self):
        return None if where.postgres() else "no PostgreSQL (scripts/bench_peers.sh)"

    def version(self):
        return where.said(where.program("postgres"), "--version")

    def host(self):
        return "127.0.0.1"

    def prepare(self):
        self.home = self.bench.tmp / "postgres"
        if self.cluster:
            self.port = self.cluster["port"]
            return
        self.port = self.cluster["port"] = stores.free_port()
        self.home.mkdir()
        user = where.server_user()
        if user:
            for each in (self.bench.tmp, self.home):
                os.chmod(each, 0o755)
            shutil.chown(self.home, user)
        subprocess.run([where.program("initdb"), "-D", self.home / "data", "-U", "bench", "-A",
                        "trust", "-E", "UTF8", "--locale=C", "-N"], check=True, user=user,
                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        (self.bench.tmp / "get.sql").write_text(
            f"\\set i random(0, {len(self.bench.bodies) - 1})\n"
            "SELECT body FROM answers WHERE key = :i::text;\n", encoding="ascii")
        rows = "".join(f"{i}\t{v.decode()}\n".replace("\\", "\\\\")
                       for i, v in enumerate(b.rstrip(b"\n") for b in self.bench.bodies))
        with self:
            self.sql("CREATE TABLE answers (key text PRIMARY KEY, body text NOT NULL)")
            self.sql("COPY answers FROM STDIN", rows)
            self.sql("VACUUM (ANALYZE, FREEZE) answers")
            wanted = ",".join(f"'{i}'" for i in self.bench.sample)
            got = dict(line.split("|", 1) for line in self.sql(
                f"SELECT key, body FROM answers WHERE key IN ({wanted})").splitlines())
            for i in self.bench.sample:
                dxtest.equal(got[str(i)], self.bench.bodies[i].decode().rstrip("\n"),
                             f"PostgreSQL, key {i}")
            self.cluster["memory"] = int(self.sql("SELECT pg_total_relation_size('answers')"))
        self.memory = self.cluster["memory"]

    def sql(self, text, stdin=""):
        return subprocess.run(
            [where.program("psql"), "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h",
             self.home, "-p", str(self.port), "-U", "bench", "-c", text, "postgres"], input=stdin,
            stdout=subprocess.PIPE, check=True, text=True).stdout

    def __enter__(self):
        self.child = where.Child(self.bench.core, [
            where.program("postgres"), "-D", self.home / "data", "-p", self.port, "-k", self.home,
            "-c", "listen_addresses=127.0.0.1", "-c", "shared_buffers=512MB", "-c", "jit=off",
            "-c", "autovacuum=off", "-c", "fsync=off"], self.home / f".s.PGSQL.{self.port}",
            user=where.server_user(), last_signal=signal.SIGINT)
        self.child.__enter__()
        subprocess.run(f"until {where.program('psql')} -X -q -h {self.home} -p {self.port} -U bench "
                       "-c 'SELECT' postgres >/dev/null 2>&1; do sleep 0.05; done", shell=True,
                       check=True, timeout=60)
        return self

    def load(self, seconds, rate=0):
        return load_postgres(self.bench, self.host(), self.port, seconds, rate)


class PostgresLocal(Postgres):
    words = "PostgreSQL, prepared, unix socket"

    def host(self):
        return self.home


SERVERS = (Ours, Nginx, NginxReturn, Redis, Postgres, PostgresLocal)


# ------------------------------------------------------------------------------------ the bench

class Bench:
    def __init__(self, root, tmp, server_options):
        self.root, self.tmp, self.server_options = root, tmp, server_options
        self.core, self.load_core = machine.cores()
        self.load = serve.Load(self.load_core, tmp)
        targets = [f"/v1/domain/{quote(name)}" for name in where.domains(root)]
        with dxtest.Server(root) as server, pipeline.Client(server) as client:
            self.bodies = [body for _, _, body in client.ask(targets)]
        mean = statistics.mean(map(len, self.bodies))
        self.typical = min(self.bodies, key=lambda body: abs(len(body) - mean))
        step = max(1, len(self.bodies) // SAMPLE)
        self.sample = range(0, len(self.bodies), step)
        self.targets = tmp / "targets.txt"
        self.targets.write_text("".join(f"{t}\t1\t200\n" for t in targets), encoding="ascii")

    def servers(self, result):
        """Those that can be measured; the others are named."""
        able = []
        for kind in SERVERS:
            server = kind(self)
            why = server.missing()
            try:
                if not why:
                    server.prepare()
                    able.append(server)
            except (OSError, subprocess.CalledProcessError) as error:
                why = f"{error} {getattr(error, 'stderr', b'') or b''}"[:300]
            if why:
                print(f"{server.words}: not measured: {why}", flush=True)
                result.note(f"Not measured: {server.words}: {why}.")
        return able

    def one(self, server, seconds, **how):
        with server:
            before = where.busy(self.core)
            done = server.load(seconds, **how)
            after = where.busy(self.core)
        done.busy = (after[0] - before[0]) / max(1, after[1] - before[1])
        print(f"{server.words:36} {done.rate:9,.0f}/s  core {100 * done.busy:3.0f} %  " +
              "  ".join(f"{k} {v:.0f} µs" for k, v in done.percentiles.items()), flush=True)
        return done


def measure(bench, result, rounds, seconds):
    servers = bench.servers(result)
    runs = {server: [] for server in servers}
    for _ in range(rounds):
        for server in servers:
            runs[server].append(bench.one(server, seconds))
    for server, done in runs.items():
        result.add(GROUP, server.words, "requests/s", [d.rate for d in done], more=True,
                   busy=statistics.median(d.busy for d in done), load=server.kind,
                   version=server.version(), memory=server.memory)
        for p in ("p50", "p99"):
            if p in done[0].percentiles:
                result.add(GROUP, server.words, f"{p} µs", [d.percentiles[p] for d in done],
                           more=False)
    for server in servers:
        if server.words != OURS:
            result.ratio(GROUP, OURS, server.words, "requests/s")
    for server in servers:
        if not isinstance(server, Redis):
            rate = result.row(GROUP, server.words, "requests/s")["median"] / 2
            done = bench.one(server, seconds, rate=rate)
            for p, value in done.percentiles.items():
                result.add(OPEN, server.words, f"{p} µs", [value], more=False)


def report(bench, result):
    figures = result.figures
    yield (f"{len(bench.bodies):,} domains, bodies of {statistics.mean(map(len, bench.bodies)):.0f} B on "
           f"average; {CONNECTIONS} connections, closed loop. *domaindexd / it*: what domaindexd gave, divided by what "
           "this one gave, median of the rounds' ratios. *Core*: how busy the server's core was, the start "
           "of the load generator included; far below the others, the generator was the limit.")
    yield ""
    yield "| server | load | requests/s | domaindexd / it | p50 µs | p99 µs | core |"
    yield "| --- | --- | --: | --: | --: | --: | --: |"
    ratios = {r["to"]: r["median"] for r in figures["ratios"]}
    for row in [r for r in figures["rows"] if r["group"] == GROUP and r["unit"] == "requests/s"]:
        late = {r["unit"]: f"{r['median']:,.0f}" for r in figures["rows"]
                if (r["group"], r["name"]) == (GROUP, row["name"])}
        bold = "**" if row["name"] == OURS else ""
        share = f"{ratios[row['name']]:.2f}" if row["name"] in ratios else "1"
        yield (f"| {bold}{row['name']}{bold} | {row['load']} | {row['median']:,.0f} | {share} | "
               f"{late.get('p50 µs', '')} | {late.get('p99 µs', '')} | {100 * row['busy']:.0f} % |")
    late = {(r["name"], r["unit"]): r["median"] for r in figures["rows"] if r["group"] == OPEN}
    if late:
        yield from ("", "Open loop, one run at half of what each gave above, from when a request was due "
                    "(redis-benchmark has none):", "",
                    "| server | p50 µs | p99 µs | p99.9 µs |", "| --- | --: | --: | --: |")
        for name in dict.fromkeys(name for name, _ in late):
            yield f"| {name} | " + " | ".join(
                f"{late[(name, f'{p} µs')]:,.0f}" for p in ("p50", "p99", "p99.9")) + " |"
    yield ""
    yield "Versions: " + "; ".join(dict.fromkeys(
        r["version"] for r in figures["rows"] if "version" in r)) + "."
    kept = [r for r in figures["rows"] if r.get("memory")]
    if kept:
        yield ""
        yield "For these bodies " + "; ".join(
            f"{r['name'].split(',')[0]} holds {r['memory'] / len(bench.bodies):.0f} B a domain"
            for r in kept) + ". domaindexd makes them from its index, whose bytes are counted in stores.py."


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("--quick", action="store_true", help="one short round")
    parser.add_argument("--write", action="store_true", help="keep it in bench/RESULTS.md")
    parser.add_argument("--json", metavar="FILE", help="where the figures go")
    parser.add_argument("--root", help="that is published already")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=2)
    parser.add_argument("--server-option", action="append", default=[], metavar="WORD",
                        help="of domaindexd, for example --server-option=--log-requests=stderr")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))   # ends the servers first
    dxtest.need_programs()
    with dxtest.tempdir() as tmp, where.root(options.root, None) as root:
        bench = Bench(root, tmp, options.server_option)
        result = Result("serving", data=f"{'--root' if options.root else pathlib.Path(where.CORPUS).name}"
                        f": the answers for {len(bench.bodies):,} domains")
        measure(bench, result, 1 if options.quick else options.rounds,
                1 if options.quick else options.seconds)
        lines = list(report(bench, result))
    print("\n" + "\n".join(lines))
    print(result.save(options.json))
    if options.write:
        result.keep("One domain's answer over a socket", lines + ["", "![rates](pictures/serving.svg)"])
        chart.bars(HERE / "pictures" / "serving.svg", "Answers for a domain, one server core",
                   f"requests/s, {CONNECTIONS} connections, closed loop, median of rounds",
                   [(r["name"], r["median"], f"{r['median']:,.0f}/s", r["name"] == OURS)
                    for r in result.figures["rows"] if r["unit"] == "requests/s"])
    return 1 if dxtest.failures() or bench.load.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
