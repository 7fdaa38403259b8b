#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""big.py - an index of many domains, from made-up rows to answers, within a memory budget.

    bench/big.py N [--memory 8G] [--work DIR] [--datasets 20] [--sample 12000] [--reference 1000000]
                 [--rounds 5] [--seconds 2] [--limit S] [--write] [--json FILE] [--keep]

N: domains; 1M, 10M, 50M, 100M. make_rows | domaindex ingest | publish | domaindexd; then: what each
step took and held, answers of a drawn sample against a recount of the rows, how soon a server
answers, what it holds, a newer version under load, and requests/s beside an index of --reference
domains. All below --work (default /var/tmp), deleted at the end. N of 100 M takes about 30 minutes
and 30 GB of disk on two cores, 10 M three minutes. After --limit seconds (default: 60, and 30 for
each million domains) it ends. Exit 1 if an answer is wrong, a request failed or a step held more than
--memory; what is slower than expected is said.
"""
import argparse
import collections
import concurrent.futures
import contextlib
import datetime
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "support"), str(HERE.parent / "tests" / "support")]
import dxtest      # noqa: E402
import machine     # noqa: E402
import result      # noqa: E402
import serve       # noqa: E402

MAKE_ROWS = machine.BIN / "bench" / "make_rows"
UNITS = {"K": 10**3, "M": 10**6, "G": 10**9}
DISK_PER_DOMAIN = 300    # bytes: lake, two versions of the index, sorts
ZIPF, ASKED = 0.99, 1_000_000
COLUMNS = ("--format", "tsv", "--dataset-column", 1, "--ts-column", 2, "--url-column", 3, "-")
PRIVATE_MAX = 200 << 20


def count_of(text):
    unit = UNITS.get(text[-1:].upper())
    return int(float(text[:-1]) * unit) if unit else int(text)


def size_of(text):
    return int(text[:-1]) << {"M": 20, "G": 30}[text[-1].upper()]


def inodes(folder):
    """{inode: bytes}: a file of two versions is there once."""
    return {f.stat().st_ino: f.stat().st_size for f in folder.rglob("*") if f.is_file()}


def disk_size(folder, ending=""):
    return sum(f.stat().st_size for f in folder.rglob(f"*{ending}") if f.is_file())


# ---- steps ----

class Step:
    """A program that was run: seconds, CPU seconds, the most memory of its own, words."""

    def __init__(self, name, command, end, make=None, quiet=False):
        self.name = name
        words = tempfile.TemporaryFile()
        begin = time.monotonic()
        source = subprocess.Popen(list(map(str, make)), stdout=subprocess.PIPE) if make else None
        process = subprocess.Popen(list(map(str, command)), stdin=source.stdout if source else None,
                                   stdout=words, stderr=subprocess.STDOUT)
        if source:
            source.stdout.close()
        self.anonymous = self.mapped = 0
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            self.look(process.pid)
            if time.monotonic() > end:
                process.kill()
            time.sleep(0.05)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.seconds = time.monotonic() - begin
        self.cpu = usage.ru_utime + usage.ru_stime
        self.peak = usage.ru_maxrss << 10
        self.source_cpu = 0
        if source:
            _, source_status, source_usage = os.wait4(source.pid, 0)
            source.returncode = os.waitstatus_to_exitcode(source_status)
            self.source_cpu = source_usage.ru_utime + source_usage.ru_stime
        words.seek(0)
        self.words = words.read().decode(errors="replace")
        if process.returncode != 0 or (source and source.returncode != 0):
            sys.exit(f"{name}: exit {process.returncode}{' (out of time)' if time.monotonic() > end else ''}\n"
                     f"{self.words[-3000:]}")
        if not quiet:
            print(f"{name}: {self.seconds:.1f} s, CPU {self.cpu:.1f} s, memory of its own "
                  f"{self.anonymous >> 20} MiB", flush=True)

    def look(self, pid):
        """ru_maxrss has pages of mapped files too, which are the page cache's: told apart here."""
        with contextlib.suppress(OSError, TypeError):
            text = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii")
            anonymous = int(re.search(r"RssAnon:\s+(\d+)", text)[1]) << 10
            files = int(re.search(r"RssFile:\s+(\d+)", text)[1]) << 10
            self.anonymous = max(self.anonymous, anonymous)
            self.mapped = max(self.mapped, files)

    def phases(self, what):
        """{"scan": 9.1, ..., "names": 6.9}: of publish's line."""
        line = re.search(rf"^{what}: (.*) \(index: (.*)\)$", self.words, re.M)
        return {which: dict(zip(part.split()[::2], map(float, part.split()[1::2])))
                for which, part in zip(("publish", "index"), line.groups())}


class Crawl:
    """Made-up rows of n domains, and a root that they went into."""

    def __init__(self, options, end, root, n, *arguments):
        self.options, self.end, self.root, self.n = options, end, root, n
        self.make = [MAKE_ROWS, "--domains", n, *arguments]
        self.totals = json.loads(self.lines("--totals")[0])

    def lines(self, *arguments):
        done = subprocess.run(list(map(str, [*self.make, *arguments])), check=True, text=True,
                              stdout=subprocess.PIPE)
        return done.stdout.splitlines()

    def ingest(self, quiet=False):
        return Step("ingest", [dxtest.DOMAINDEX, "ingest", "--root", self.root, "--memory",
                               self.options.memory, *COLUMNS], self.end, self.make, quiet)

    def publish(self, name="publish", quiet=False):
        return Step(name, [dxtest.DOMAINDEX, "publish", "--root", self.root, "--memory",
                           self.options.memory], self.end, quiet=quiet)

    def expected(self, count):
        """name -> {dataset: (urls, rows, first, last)}; {} for those that no row has."""
        out = {}
        for line in self.lines("--expect", count):
            name, *datasets = line.split("\t")
            out[name] = {d[0]: tuple(map(int, d[1:])) for d in (x.split(":") for x in datasets)}
        return out


def manifest(root):
    m = json.loads((root / "index/manifest.json").read_text(encoding="utf-8"))
    return next(v for v in m["versions"] if v["version"] == m["current_version"])


# ---- answers ----

def seconds_of(text):
    return int(datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp())


def compare(reply, status, name, want):
    if not want:
        return status == 404 and reply["type"].endswith(":domain-not-found")
    got = {d["name"]: (d["url_count"], d["row_count"], seconds_of(d["first_ts"]),
                       seconds_of(d["last_ts"])) for d in reply.get("datasets", [])}
    return status == 200 and reply["domain"] == name and reply["complete"] is True and got == want


def check_listing(connection, name, reply, want):
    """All URLs of one of its datasets: as many rows, and as many different URLs, as the crawl has."""
    d = min(reply["datasets"], key=lambda x: x["row_count"])
    if d["row_count"] > 1000:
        return True
    connection.request("GET", f"/v1/domain/{name}/datasets/{d['dataset_id']}/urls?limit=1000")
    page = json.loads(connection.getresponse().read())
    urls, rows = want[d["name"]][:2]
    return (page.get("complete") is True and len(page["items"]) == rows and
            len({row["url"] for row in page["items"]}) == urls)


def check_answers(port, expected, listings):
    """(asked, wrong, listings asked): every name of the sample over one connection."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    wrong, listed = [], 0
    for name, want in expected.items():
        connection.request("GET", f"/v1/domain/{name}")
        answer = connection.getresponse()
        reply = json.loads(answer.read())
        good = compare(reply, answer.status, name, want)
        if good and want and listed < listings:
            listed += 1
            good = check_listing(connection, name, reply, want)
        if not good:
            wrong.append(f"{name}: {answer.status} {json.dumps(reply)[:300]}, expected {want}")
    connection.close()
    for words in wrong[:5]:
        print(f"WRONG: {words}", flush=True)
    return len(expected), len(wrong), listed


# ---- servers ----

def resident(pid):
    """Bytes by kind. Private_Clean is page cache that nobody else has mapped just now."""
    text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    return {key: int(value) << 10 for key, value in re.findall(r"^(\w+):\s+(\d+) kB", text, re.M)}


def forget(folder):
    """The files leave the page cache, so that the next start reads the disk."""
    for path in folder.rglob("*"):
        if path.is_file():
            fd = os.open(path, os.O_RDONLY)
            with contextlib.suppress(OSError):
                os.fsync(fd)
                os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(fd)


def start_seconds(root, *options):
    begin = time.monotonic()
    with dxtest.Server(root, "--poll-ms", 0, *options, deadline_s=300):
        return time.monotonic() - begin


def metric(server, name):
    text = server.admin("/metrics").body.decode()
    return float(re.search(rf"^{re.escape(name)} (\S+)$", text, re.M)[1])


class Bench:
    def __init__(self, options, work):
        self.options, self.work = options, work
        self.begin = time.monotonic()
        self.end = self.begin + options.limit
        self.n = options.domains
        self.crawl = Crawl(options, self.end, work / "root", self.n, "--datasets", options.datasets)
        self.r = result.Result(f"big-{options.name}", f"{self.n:,} made-up domains, "
                               f"{self.crawl.totals['rows']:,} rows, {options.datasets} datasets; "
                               f"the largest domain has {self.crawl.totals['largest']:,} rows; "
                               f"--memory {options.memory}")
        self.lines = ["| | |", "| --- | --: |"]
        self.failed = 0

    def say(self, what, words):
        self.lines.append(f"| {what} | {words} |")
        print(f"{what}: {words}", flush=True)

    def expect(self, what, asked, seen, good, must=True):
        """must: not a matter of speed; the program then ends with 1."""
        self.failed += must and not good
        self.r.expect(what, asked, seen, "" if good else "**not reached**")

    def steps(self):
        c, memory = self.crawl, size_of(self.options.memory)
        ingest = c.ingest()
        publish = c.publish()
        rows = c.totals["rows"]
        self.say("ingest", f"{ingest.seconds:.1f} s, {rows / ingest.seconds:,.0f} rows/s; CPU "
                 f"{ingest.cpu:.1f} s (make_rows beside it {ingest.source_cpu:.1f} s)")
        self.say("publish", f"{publish.seconds:.1f} s; CPU {publish.cpu:.1f} s")
        self.r.add("build", "ingest", "rows/s", [rows / ingest.seconds], more=True)
        for step in (ingest, publish):
            self.r.add("build", step.name, "s", [step.seconds], more=False)
            self.r.add("build", step.name, "CPU s", [step.cpu], more=False)
            self.r.add("build", step.name, "MiB of its own at most", [step.anonymous / 2**20], more=False)
            self.say(f"{step.name}, memory at most", f"{step.anonymous >> 20:,} MiB of its own; with "
                     f"pages of mapped files {step.peak >> 20:,} MiB")
            self.expect(f"{step.name}: memory", f"<= {memory >> 20:,} MiB",
                        f"{step.anonymous >> 20:,} MiB", step.anonymous <= memory)
        self.stages(publish)
        self.sizes()

    def stages(self, publish):
        wall, cpu = publish.phases("seconds"), publish.phases("CPU seconds")
        us = 1e6 / self.n
        self.lines += ["", "| publish | s | CPU s | µs/domain | CPU µs/domain |",
                       "| --- | --: | --: | --: | --: |"]
        for which in ("publish", "index"):
            for stage, s in wall[which].items():
                c = cpu[which][stage]
                if s < 0.005 and c < 0.005:
                    continue
                name = stage if which == "publish" else f"index: {stage}"
                self.lines.append(f"| {name} | {s:.1f} | {c:.1f} | {s * us:.2f} | {c * us:.2f} |")
                self.r.add("stages", name, "µs/domain", [s * us], more=False)
                self.r.add("stages", name, "CPU µs/domain", [c * us], more=False)
        print("\n".join(self.lines[-12:]), flush=True)
        index = wall["publish"]["index"] * us
        whole = publish.seconds * us
        self.lines += ["", "| | |", "| --- | --: |"]
        self.expect("index build (of scanned pairs, all files), µs/domain", "<= 2", index, index <= 2,
                    must=False)
        self.expect("publish (scan of the lake, index, check), µs/domain", "<= 2", whole, whole <= 2,
                    must=False)

    def sizes(self):
        v = manifest(self.crawl.root)
        rows, urls, pairs = v["rows"], v["urls"], v["pairs"]
        # About one name in ten million is a public suffix, like github.io: no domains, and
        # the hosts below them are domains of their own.
        other = v["domains"] - self.n
        if abs(other) > self.n // 1_000_000:
            sys.exit(f"{v['domains']:,} domains are indexed, {self.n:,} were made")
        if other:
            self.say("domains more than names, as some of these are public suffixes", f"{other}")
        lake = disk_size(self.crawl.root / "urls", ".parquet")
        index = disk_size(self.crawl.root / "index")
        self.say("domains, pairs, URLs, rows", f"{self.n:,}, {pairs:,}, {urls:,}, {rows:,}")
        self.say("index", f"{index:,} B: {index / self.n:.1f} B/domain, {index / pairs:.1f} B/pair, "
                 f"{index / urls:.1f} B/URL")
        self.say("lake", f"{lake:,} B: {lake / urls:.1f} B/URL")
        for name, value in (("B/domain", index / self.n), ("B/pair", index / pairs),
                            ("B/URL", index / urls)):
            self.r.add("size", "index", name, [value], more=False)
        self.r.add("size", "lake", "B/URL", [lake / urls], more=False)

    # ---- the server ----

    def starts(self):
        root = self.crawl.root
        cases = [("every byte checked (--verify yes), page cache warm", (), False),
                 ("blocks checked as they are read (--verify no --warm no)",
                  ("--verify", "no", "--warm", "no"), False),
                 ("every byte checked, from the disk", (), True)]
        for words, options, cold in cases:
            if cold:
                forget(root / "index")
            s = start_seconds(root, *options)
            self.say(f"server start, {words}", f"{s:.2f} s")
            self.r.add("start", words, "s", [s], more=False)

    def answers(self, server):
        expected = self.crawl.expected(self.options.sample)
        asked, wrong, listed = check_answers(server.port, expected, self.options.listings)
        absent = sum(not want for want in expected.values())
        self.say("answers compared with a recount", f"{asked:,} ({absent:,} of domains that are not "
                 f"there), {listed:,} listings: {wrong} wrong")
        self.expect("answers that differ from a recount", "0", f"{wrong} of {asked:,}", wrong == 0)

    def names(self, server):
        """All names compared with a pattern, page by page: each page examines so many names that it stays within a second."""
        path = "/v1/domains?match=*qzx*&fields=domain&limit=10000"
        target, found, pages = path, 0, 0
        cpu, begin = serve.threads_cpu_s(server.process.pid), time.monotonic()
        while target and time.monotonic() < begin + 120:
            reply = server.get(target)
            if reply.status == 429:     # costs more than a second's share
                time.sleep(0.1)
                continue
            found, pages = found + len(reply.json["domains"]), pages + 1
            cursor = reply.json["next_cursor"]
            target = cursor and f"{path.split('?')[0]}?cursor={cursor}"
        cpu = serve.threads_cpu_s(server.process.pid) - cpu
        self.say("all names compared with *qzx*", f"{cpu:.2f} CPU s, {time.monotonic() - begin:.2f} s in {pages:,} requests, {found:,} domains found")
        self.r.add("names", "match of all names", "CPU s", [cpu], more=False)
        if self.n == 10**8:
            self.expect("all names compared with a pattern: s of one core", "<= 2", f"{cpu:.2f}", target is None and cpu <= 2, must=False)

    def memory(self, server):
        r = resident(server.process.pid)
        own, clean = r["Private_Dirty"] + r.get("Private_Hugetlb", 0), r["Private_Clean"]
        self.say("server, memory of its own", f"{own / 2**20:.1f} MiB (pages of mapped files that only "
                 f"it has, which the system may drop: {clean >> 20:,} MiB)")
        self.r.add("memory", "server", "MiB of its own", [own / 2**20], more=False)
        self.expect("server, memory of its own", "< 200 MiB", f"{own / 2**20:.1f} MiB", own < PRIVATE_MAX)

    def targets(self, crawl):
        path = self.work / f"asked-{crawl.n}.txt"
        count = min(ASKED, 4 * crawl.n)
        path.write_text("".join(f"/v1/domain/{name}\t-\t200\n" for name in
                                crawl.lines("--ask", count, "--zipf", ZIPF)), encoding="ascii")
        return f"{path}:1:order"

    def lookups(self):
        """One event loop on one core, dxload on the other; big and small in interleaved rounds."""
        small = Crawl(self.options, self.end, self.work / "small", self.options.reference,
                      "--datasets", self.options.datasets)
        small.ingest(quiet=True)
        small.publish(quiet=True)
        core, load_core = machine.cores()
        load = serve.Load(load_core, self.work)
        mixes = {c.n: [self.targets(c)] for c in (self.crawl, small)}
        names = {c.n: f"{c.n:,} domains" for c in (self.crawl, small)}
        seen = collections.defaultdict(list)
        with contextlib.ExitStack() as stack:
            servers = {c.n: stack.enter_context(serve.Ours(names[c.n], c.root, core, "--threads", 1,
                                                           "--verify", "no"))
                       for c in (self.crawl, small)}
            for i in range(self.options.rounds):
                for n in (list(servers) if i % 2 == 0 else list(servers)[::-1]):
                    with serve.only(servers[n], servers.values()):
                        figures = load.run(servers[n].port, mixes[n], self.options.seconds)
                    seen[n].append((figures["rate"], figures["latency_us"]["p99"]))
        group = "/v1/domain under Zipf"
        for n, values in seen.items():
            self.r.add(group, names[n], "requests/s", [v[0] for v in values], more=True)
            self.r.add(group, names[n], "p99 µs", [v[1] for v in values], more=False)
        rate = self.r.ratio(group, names[self.n], names[small.n], "requests/s")
        at = {n: self.r.row(group, names[n], "requests/s")["median"] for n in seen}
        self.say(f"/v1/domain, Zipf {ZIPF}, one core",
                 f"{at[self.n]:,.0f} requests/s; of {small.n:,} domains {at[small.n]:,.0f}; "
                 f"ratio {rate:.2f}; wrong {load.wrong}")
        self.expect(f"requests/s beside an index of {small.n:,} domains", ">= 0.67", rate, rate >= 0.67,
                    must=False)
        self.expect("requests that failed or had another status", "0", str(load.wrong), load.wrong == 0)
        shutil.rmtree(small.root)

    # ---- the next version ----

    def next_version(self, server):
        """A thousand new domains come; the server takes the version that has them while it is asked."""
        few, known = 1000, inodes(self.crawl.root)
        late = Crawl(self.options, self.end, self.crawl.root, few, "--begin", 3 * self.n,
                     "--prefix", "late", "--datasets", 1)
        late.ingest(quiet=True)
        step = late.publish("publish of the next version")
        written = sum(size for file, size in inodes(self.crawl.root).items() if file not in known)
        self.say(f"publish of the next version, {few:,} domains more",
                 f"{step.seconds:.2f} s, {step.cpu:.2f} CPU s; {written / 1e6:.2f} MB written, the ingest's file with it; memory at most "
                 f"{step.anonymous >> 20:,} MiB of its own, with mapped files {step.peak >> 20:,} MiB")
        self.r.add("build", f"publish of {few:,} more", "s", [step.seconds], more=False)
        self.r.add("build", f"publish of {few:,} more", "CPU s", [step.cpu], more=False)
        for at, cpu, size in ((10**7, 1, 5), (10**8, 2, 8)):
            if self.n == at:
                self.expect(f"publish of {few:,} more: CPU s", f"<= {cpu}", f"{step.cpu:.2f}", step.cpu <= cpu, must=False)
                self.expect(f"publish of {few:,} more: MB written", f"<= {size}", f"{written / 1e6:.2f}", written <= size * 1e6, must=False)
        self.expect(f"publish of {few:,} more: memory of its own", "<= 64 MiB", f"{step.anonymous >> 20:,} MiB",
                    step.anonymous <= 64 << 20, must=False)
        self.reload(server, late)
        asked, wrong, _ = check_answers(server.port, late.expected(400), 10)
        self.expect("answers of the next version that differ", "0", f"{wrong} of {asked}", wrong == 0)

    def reload(self, server, late):
        load = serve.Load(None, self.work)
        mix, rate = [self.targets(self.crawl)], 2000
        name = next(name for name, want in late.expected(8).items() if want)
        steady = load.run(server.port, mix, 3, rate=rate)["latency_us"]["p99"]
        wrong_before = load.wrong
        with concurrent.futures.ThreadPoolExecutor() as pool:
            seconds = 3 + self.n * 0.4e-6
            during = pool.submit(load.run, server.port, mix, seconds, rate=rate)
            time.sleep(1)
            begin = time.monotonic()
            server.process.send_signal(signal.SIGHUP)
            while server.get(f"/v1/domain/{name}").status != 200 and time.monotonic() < begin + 120:
                time.sleep(0.005)
            took = time.monotonic() - begin
            p99 = during.result()["latency_us"]["p99"]
        loaded = metric(server, 'domaindex_index_load_duration_seconds{phase="load"}')
        failed = load.wrong - wrong_before
        self.say("the next version serves", f"{took:.2f} s after it was asked for, of which {loaded:.2f} s "
                 f"checked every byte; requests that failed meanwhile: {failed}; p99 {p99:.0f} µs, before "
                 f"{steady:.0f} µs (server, load and loader share the cores)")
        self.r.add("reload", "server", "s", [took], more=False)
        self.r.add("reload", "p99 while it loads", "µs", [p99], more=False)
        self.r.add("reload", "p99 before", "µs", [steady], more=False)
        self.expect("requests that failed while a version is loaded", "0", str(failed), failed == 0)

    def run(self):
        self.steps()
        if not self.options.quick:
            self.starts()
            self.lookups()
        options = ("--poll-ms", 0, *(("--threads", 1) if self.options.quick else ()))
        with dxtest.Server(self.crawl.root, *options, deadline_s=300) as server:
            self.answers(server)
            self.memory(server)
            self.names(server)
            self.next_version(server)
        self.say("all of it", f"{time.monotonic() - self.begin:.0f} s")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("domains", type=count_of)
    parser.add_argument("--memory", default="8G")
    parser.add_argument("--work", default="/var/tmp")
    parser.add_argument("--datasets", type=int, default=20)
    parser.add_argument("--sample", type=int, default=12000)
    parser.add_argument("--listings", type=int, default=300)
    parser.add_argument("--reference", type=count_of, default=10**6)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--limit", type=float)
    parser.add_argument("--quick", action="store_true", help="only the build, answers and a flip")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--json")
    parser.add_argument("--keep", action="store_true", help="the root stays")
    options = parser.parse_args()
    options.limit = options.limit or 60 + options.domains * 30e-6
    n = options.domains
    options.name = f"{n // 10**6}M" if n % 10**6 == 0 else str(n)
    return options


def main():
    options = parse()
    dxtest.need_programs()
    room, need = shutil.disk_usage(options.work).free, DISK_PER_DOMAIN * (options.domains + 2 * 10**6)
    if room < need:
        sys.exit(f"{options.work}: {room >> 20:,} MiB are free, {options.domains:,} domains need about "
                 f"{need >> 20:,} MiB: name a folder with more room (--work)")
    work = pathlib.Path(tempfile.mkdtemp(prefix="domaindex-big-", dir=options.work))
    bench = Bench(options, work)
    try:
        bench.run()
    finally:
        bench.r.save(options.json)
        if options.keep:
            print(f"kept: {work}")
        else:
            shutil.rmtree(work, ignore_errors=True)
    lines = [*bench.lines, "", *bench.r.expectations()]
    print("\n" + "\n".join(lines))
    if options.write:
        bench.r.keep(f"{options.domains:,} domains", lines)
    return bench.failed > 0 or dxtest.failures() > 0


if __name__ == "__main__":
    sys.exit(main())
