#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scopes.py - questions over all datasets beside OutbackCDX, pywb and nginx.

    bench/scopes.py [--only domain,order,dates,url,stream,gzip] [--outbackcdx JAR] [--quick] [--rounds 3] [--seconds 3]
                    [--rows 1000000] [--write] [--json FILE] [FILE]

    domain   100 rows of a site over all datasets, 500 sites of 46 to 217 rows: /v1/domain/{d}/urls; matchType=domain of the others
    order    the same rows by URL, as the others give them: sort=url
    dates    the same sites, rows of one year: from= and to= (of OutbackCDX, which has those for one URL alone: filter=timestamp:2012.*)
    url      one URL in all datasets, one that is there and one that is not: /v1/url beside an exact query
    stream   all rows of one site as NDJSON, --rows of them in 100 datasets: rows/s, CPU, memory of the server before and meanwhile
    gzip     the datasets of a site as gzip, kept and made for each request, beside nginx, which compresses files of the same bytes at the same level

FILE: TSV of dataset, Unix time, URL; default $DX_SHARED_DATA/lists/reddit-top-2.5-million/posts-A.tsv.zst. domaindexd keeps pages of the lake and no
answers (--cache-answers 0 --cache-domains 0), but where it is said. OutbackCDX: a jar (--outbackcdx, or DX_OUTBACKCDX) that `mvn package` made of its source; it gets the rows by
POST as CDX 11, the dataset as file name. pywb (scripts/bench_peers.sh, or scripts/cdx_clients.sh) gets them as one sorted CDXJ index. One that is not there is named. Servers run on the
first core and the load on the second, in interleaved rounds, the others stopped; the counts of rows of some answers are compared before.
Some minutes, of which half are for loading the others; --quick: fewer sites, a round of a second.
"""
import argparse
import contextlib
import http.client
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import time
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "support"), str(HERE / "peers"), str(HERE.parent / "tests" / "support")]
import dxtest       # noqa: E402
import machine      # noqa: E402
import rounds       # noqa: E402
import serve        # noqa: E402
import where        # noqa: E402
from result import Result  # noqa: E402

GROUPS = ("domain", "order", "dates", "url", "stream", "gzip")
CONNECTIONS = 16
OURS, KEPT, OUTBACK, PYWB, NGINX = "domaindexd", "domaindexd, answers kept", "OutbackCDX", "pywb", "nginx"
ASKED = {("domain", OUTBACK): 8, ("dates", OUTBACK): 5, ("url that is there", OUTBACK): 4, ("url that is not", OUTBACK): 10}
UNITS = ("requests/s", "CPU us")
STREAM_ASKED = 3e6
GZIP_LEVEL = 1          # of server/http/coding.c
GZIP_BYTES = 2048       # smaller ones are not compressed
POST_LINES = 20000
YEAR = 2012
NOT_KEPT = ("--cache-answers", 0, "--cache-domains", 0)


# ------------------------------------------------------------------------------------- the data

def rows_of(source):
    """(dataset, Unix time or None, URL): as they are in the file, those with a host, in ASCII and without spaces (one peer keeps no others)."""
    cat = ["zstd", "-dc"] if str(source).endswith(".zst") else ["cat"]
    with subprocess.Popen([*cat, str(source)], stdout=subprocess.PIPE) as run:
        for line in run.stdout:
            f = line.rstrip(b"\n").split(b"\t")
            if len(f) > 2 and f[2].isascii() and b" " not in f[2] and f[2].startswith(b"http") and has_host(f[2].decode()):
                yield f[0].decode(), int(f[1]) if f[1] else None, f[2].decode()


def has_host(url):
    """Not http://[Imgur](http://imgur.com/a), of Markdown: Python raises an error at brackets without an address, from which no key of an index can be made."""
    try:
        return bool(urllib.parse.urlsplit(url).hostname)
    except ValueError:
        return False


def stamp(seconds):
    return time.strftime("%Y%m%d%H%M%S", time.gmtime(seconds or 0))


def ingest(root, path):
    dxtest.domaindex("ingest", "--root", root, "--format", "tsv", "--dataset-column", 1, "--ts-column", 2, "--url-column", 3, "--no-header", path)
    dxtest.domaindex("publish", "--root", root)


def write_tsv(path, rows):
    with open(path, "w", encoding="utf-8") as out:
        for dataset, seconds, url in rows:
            out.write(f"{dataset}\t{'' if seconds is None else seconds}\t{url}\n")
    return path


def made_up(count):
    """Rows of one site in a hundred datasets."""
    for n in range(count):
        yield f"set{n % 100:02}", 1_300_000_000 + n * 97 % 10**8, f"https://{'www.' * (n % 3 == 0)}streamed.com/{n * 7919 % 1000:03}/page-{n}.html"


# ------------------------------------------------------------------------------------ the others

class Peer:
    """A process of its own on a port."""

    def start(self, command, core, log, cwd):
        self.port = serve.free_port()
        with machine.pinned(core):
            self.process = subprocess.Popen([*command, "-b", "127.0.0.1", "-p", str(self.port)], cwd=cwd, stdout=open(log, "wb"), stderr=subprocess.STDOUT)
        serve.wait_for(self.port, self.process, 5000)

    def pids(self):
        return [self.process.pid]

    def cpu_s(self):
        return serve.threads_cpu_s(self.process.pid)

    def close(self):
        self.process.kill()
        self.process.wait(30)


class Outback(Peer):
    """The jar on a port. Rows are numbered by offset, so that none takes the place of another."""

    name = OUTBACK

    def __init__(self, jar, tmp, core, rows):
        (tmp / "outback").mkdir()
        self.start(["java", "-Xmx3g", "-jar", os.path.abspath(jar), "-d", str(tmp / "outback")], core, tmp / "outback.log", tmp)
        try:
            self.load(rows)
        except BaseException:
            self.close()
            raise

    def load(self, rows):
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        lines = []
        for n, (dataset, seconds, url) in enumerate(rows):
            lines.append(f"- {stamp(seconds)} {url} text/html 200 {'A' * 32} - - 100 {n} {dataset}\n")
            if len(lines) == POST_LINES:
                self.post(link, lines)
                lines = []
        self.post(link, lines)
        link.request("POST", "/all/compact")
        link.getresponse().read()

    def post(self, link, lines):
        link.request("POST", "/all?badLines=skip", body="".join([" CDX N b a m s k r M S V g\n", *lines]).encode())
        reply = link.getresponse()
        said = reply.read()
        if reply.status != 200:
            sys.exit(f"OutbackCDX: {reply.status} {said[:300]}")

    def target(self, group, what):
        if group.startswith("url"):
            return f"/all?url={quote(what)}"
        dates = f"&filter=timestamp:{YEAR}.*" if group == "dates" else ""     # it has no from= and to= but for one URL
        return f"/all?url={quote(what)}&matchType=domain&limit=100&fl=timestamp,original{dates}"


def index(program, rows, path):
    """Sorted by bytes, with the keys that pywb makes of URLs itself: it looks for them without www."""
    keys = subprocess.run([pathlib.Path(program).parent / "python", "-c", """
import sys
from pywb.utils.canonicalize import canonicalize
for line in sys.stdin:
    print(canonicalize(line[:-1]))
"""], input="".join(f"{url}\n" for _, _, url in rows), stdout=subprocess.PIPE, check=True, encoding="ascii").stdout.split("\n")
    lines = sorted(f"{key} {stamp(seconds)} " + json.dumps(
        {"url": url, "mime": "text/html", "status": "200", "digest": "-", "length": "0", "offset": "0", "filename": "-"})
        for key, (_, seconds, url) in zip(keys, rows))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


class Pywb(Peer):
    name = PYWB

    def __init__(self, program, tmp, core, rows):
        folder = tmp / "pywb"
        (folder / "collections" / "all" / "indexes").mkdir(parents=True)
        index(program, rows, folder / "collections" / "all" / "indexes" / "index.cdxj")
        self.start([str(program)], core, tmp / "pywb.log", folder)

    def target(self, group, what):
        if group.startswith("url"):
            return f"/all/cdx?url={quote(what)}"
        dates = f"&from={YEAR}&to={YEAR}" if group == "dates" else ""
        return f"/all/cdx?url={quote(what)}&matchType=domain&limit=100&fl=timestamp,url{dates}"


def quote(text):
    return urllib.parse.quote(text, safe="")


def target_of_ours(group, what):
    if group.startswith("url"):
        return f"/v1/url?u={quote(what)}"
    order = "&sort=url" if group == "order" else ""
    dates = f"&from={YEAR}&to={YEAR}" if group == "dates" else ""
    return f"/v1/domain/{quote(what)}/urls?limit=100&fields=url,ts{order}{dates}"


# -------------------------------------------------------------------------------------- the bench

def ask(port, target, **headers):
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    link.request("GET", target, headers=headers)
    reply = link.getresponse()
    body = reply.read()
    link.close()
    return reply.status, body


def count_rows(name, body, group):
    if name != OURS:
        return len(body.splitlines())
    reply = json.loads(body)
    return sum(d["row_count"] for d in reply["datasets"]) if group.startswith("url") else len(reply["items"])


class Bench:
    def __init__(self, options, result, stack, tmp):
        self.options, self.result, self.stack, self.tmp = options, result, stack, tmp
        self.server_core, self.load_core = machine.cores()
        self.load = serve.Load(self.load_core, tmp)
        self.lines = ["| asked | beside | requests/s | theirs | ratio | asked for | CPU us a request | theirs | ratio |",
                      "| --- | --- | --: | --: | --: | --: | --: | --: | --: |"]

    def ours(self, root, *more, name=OURS):
        return self.stack.enter_context(serve.Ours(name, root, self.server_core, "--threads", 1, "--workers", 1, "--cache-pages", "1G", *more))

    def corpus(self):
        rows = list(rows_of(self.options.source))
        root = self.tmp / "root"
        ingest(root, write_tsv(self.tmp / "rows.tsv", rows))
        self.servers = [self.ours(root, *NOT_KEPT)]
        if self.options.only != "gzip":
            self.others(rows)
        rng = random.Random(7)
        sites = {}
        for _, _, url in rows:
            host = url.split("/", 3)[2].lower() if url.count("/") > 2 else ""
            site = ".".join(host.rsplit(".", 2)[-2:]) if host.endswith((".com", ".org", ".net")) else None
            sites[site] = sites.get(site, 0) + 1
        some = sorted(s for s, n in sites.items() if s and 46 <= n <= 217)
        self.sites = [site for site in rng.sample(some, min(len(some), 60 if self.options.quick else 500)) if self.is_domain(site)]
        self.urls = [r[2] for r in rng.sample(rows, 400 if self.options.quick else 4000)]

    def is_domain(self, site):
        """Not akamaihd.net, which is a public suffix."""
        return ask(self.servers[0].port, f"/v1/domain/{quote(site)}")[0] == 200

    def others(self, rows):
        jar, wayback = self.options.outbackcdx, where.program("wayback")
        if jar and shutil.which("java"):
            self.servers.append(Outback(jar, self.tmp, self.server_core, rows))
            self.stack.callback(self.servers[-1].close)
        else:
            self.result.note("Not measured: OutbackCDX: no jar (--outbackcdx), or no java")
        if wayback and not self.options.quick:
            self.servers.append(Pywb(wayback, self.tmp, self.server_core, rows))
            self.stack.callback(self.servers[-1].close)
        else:
            self.result.note("Not measured: pywb: not there (scripts/bench_peers.sh), or --quick")

    def questions(self, group):
        if group == "url that is there":
            return self.urls
        return [f"{url}zq9" for url in self.urls] if group == "url that is not" else self.sites

    def targets(self, server, group):
        path = self.tmp / f"{server.name}-{group.replace(' ', '-')}.txt"
        make = target_of_ours if server.name == OURS else server.target
        path.write_text("".join(f"{make(group, what)}\n" for what in self.questions(group)), encoding="utf-8")
        return path

    def compare(self, group):
        """Rows of 30 answers, added up: those of a peer may differ a little, by its own rules of what is equal."""
        sums = {}
        for server in self.servers:
            make = target_of_ours if server.name == OURS else server.target
            with serve.only(server, self.servers):
                for what in self.questions(group)[:30]:
                    status, body = ask(server.port, make(group, what))
                    if status not in (200, 404):
                        sys.exit(f"{server.name}: {make(group, what)}: {status} {body[:200]}")
                    sums[server.name] = sums.get(server.name, 0) + (count_rows(server.name, body, group) if status == 200 else 0)
        self.result.note(f"{group}: rows of 30 answers: " + ", ".join(f"{n} {name}" for name, n in sums.items()))

    def interleave(self, group, servers):
        seen = {(s.name, unit): [] for s in servers for unit in UNITS}
        paths = {s.name: self.targets(s, group) for s in servers}
        for turn in range(self.options.rounds + 1):     # the first fills caches
            for server in servers:
                with serve.only(server, servers):
                    cpu = server.cpu_s()
                    figures = self.load.run(server.port, [paths[server.name]], self.options.seconds, 0, CONNECTIONS, 0, None, "--verify-every", 0)
                    cpu = server.cpu_s() - cpu
                if turn > 0:
                    seen[server.name, "requests/s"].append(figures["rate"])
                    seen[server.name, "CPU us"].append(cpu / max(1, figures["requests"]) * 1e6)
        self.report(group, seen)

    def report(self, group, seen):
        for (name, unit), values in seen.items():
            self.result.add(group, name, unit, values, more=unit == "requests/s")
        for name in dict.fromkeys(name for name, _ in seen if name != OURS):
            rate = self.result.ratio(group, OURS, name, "requests/s")
            cpu = self.result.ratio(group, name, OURS, "CPU us")
            ours, theirs = ([self.result.row(group, n, unit)["median"] for unit in UNITS] for n in (OURS, name))
            asked = ASKED.get((group, name))
            if asked:
                self.result.expect(f"{group}, to {name}", f">= {asked}", rate)
            self.lines.append(f"| {group} | {name} | {ours[0]:,.0f} | {theirs[0]:,.0f} | {rate:.2f} | {asked or ''} | {ours[1]:,.0f} | {theirs[1]:,.0f} | {cpu:.2f} |")
            print(self.lines[-1], flush=True)

    def peers(self, groups):
        self.corpus()
        for group in groups:
            for one in (("url that is there", "url that is not") if group == "url" else (group,)):
                if one != "url that is not":
                    self.compare(one)
                self.interleave(one, self.servers)

    # ---- the stream, from kept pages

    def stream(self):
        root = self.tmp / "stream"
        ingest(root, write_tsv(self.tmp / "stream.tsv", made_up(self.options.rows)))
        server = self.ours(root, *NOT_KEPT)
        target = "/v1/domain/streamed.com/urls?format=ndjson&fields=url,ts"
        rates, cpus, peak = [], [], 0
        for turn in range(self.options.rounds + 1):
            before, cpu, begin = server.resident_bytes(), server.cpu_s(), time.perf_counter()
            rows, most = self.drain(server, target)
            seconds, cpu = time.perf_counter() - begin, server.cpu_s() - cpu
            if rows != self.options.rows:
                sys.exit(f"stream: {rows} rows of {self.options.rows}")
            if turn > 0:
                rates.append(rows / seconds)
                cpus.append(rows / cpu)
                peak = max(peak, most - before)
        self.result.add("stream", OURS, "rows/s", rates, more=True)
        self.result.add("stream", OURS, "rows a CPU second", cpus, more=True)
        self.result.add("stream", OURS, "MiB more while it lasts", [peak / 2**20], more=False)
        for unit in ("rows/s", "rows a CPU second"):
            self.result.expect(f"stream, {unit}", f">= {STREAM_ASKED:,.0f}", self.result.row("stream", OURS, unit)["median"])
        self.lines.append(f"| stream of {self.options.rows:,} rows | | {self.result.row('stream', OURS, 'rows/s')['median']:,.0f} rows/s "
                          f"({self.result.row('stream', OURS, 'rows a CPU second')['median']:,.0f} a CPU second), {peak / 2**20:.1f} MiB more | | | {STREAM_ASKED:,.0f} | | | |")
        print(self.lines[-1], flush=True)

    def drain(self, server, target):
        """By curl, which unpacks chunks and counts nothing; wc counts the lines."""
        with machine.pinned(self.load_core):
            curl = subprocess.Popen(["curl", "-sS", "--fail", "--max-time", "300", f"http://127.0.0.1:{server.port}{target}"], stdout=subprocess.PIPE)
            wc = subprocess.Popen(["wc", "-l"], stdin=curl.stdout, stdout=subprocess.PIPE)
            curl.stdout.close()
            most = 0
            while wc.poll() is None:
                most = max(most, server.resident_bytes())
                time.sleep(0.01)
        if curl.wait(60) != 0:
            sys.exit(f"curl: {curl.returncode}")
        return int(wc.stdout.read()), most

    # ---- gzip

    def gzip(self):
        """Datasets of a site. nginx compresses the bytes of a file at each request; ours are kept as gzip (by default), or made and compressed
        each time, as listings of all datasets are."""
        made, folder = self.servers[0], self.tmp / "files"
        folder.mkdir(exist_ok=True)
        bodies = {t: ask(made.port, t)[1] for t in (f"/v1/domain/{quote(site)}" for site in self.sites[:200])}
        targets = [t for t, body in bodies.items() if len(body) >= GZIP_BYTES]
        for n, target in enumerate(targets):
            (folder / f"{n}.json").write_bytes(bodies[target])
        extra = f"gzip on; gzip_comp_level {GZIP_LEVEL}; gzip_types application/json;"
        peer = self.stack.enter_context(serve.Nginx(NGINX, self.tmp / "nginx", self.server_core, {"files": folder}, more=extra))
        kept = self.ours(self.tmp / "root", name=KEPT)
        asked = {OURS: (made, made.port, targets), KEPT: (kept, kept.port, targets),
                 NGINX: (peer, peer.ports["files"], [f"/{n}.json" for n in range(len(targets))])}
        seen, size = {name: [] for name in asked}, {}
        for turn in range(self.options.rounds + 2):
            for name, (server, port, words) in asked.items():
                with serve.only(server, [*self.servers, kept, peer]):
                    cpu, size[name] = server.cpu_s(), self.ask_packed(port, words)
                    cpu = server.cpu_s() - cpu
                if turn > 1:
                    seen[name].append(cpu / len(targets) * 1e6)
        for name, values in seen.items():
            self.result.add("gzip", name, "CPU us", values, more=False)
        for name in (KEPT, OURS):
            ratio = self.result.ratio("gzip", NGINX, name, "CPU us")
            self.result.expect(f"gzip, CPU of nginx / {name}", ">= 1", ratio)
            self.lines.append(f"| gzip of {name} ({size[name]:,} bytes of all; {size[NGINX]:,}) | {NGINX} | | | | 1 | "
                              f"{self.result.row('gzip', name)['median']:.0f} | {self.result.row('gzip', NGINX)['median']:.0f} | {ratio:.2f} |")
            print(self.lines[-1], flush=True)

    def ask_packed(self, port, targets):
        """One connection; bytes of all bodies, which must be gzip."""
        size = 0
        with machine.pinned(self.load_core):
            link = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            for target in targets:
                link.request("GET", target, headers={"Accept-Encoding": "gzip"})
                reply = link.getresponse()
                size += len(reply.read())
                if reply.status != 200 or reply.headers["Content-Encoding"] != "gzip":
                    sys.exit(f"{port}{target}: {reply.status}, {reply.headers['Content-Encoding']}")
            link.close()
        return size


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("--only", default=",".join(GROUPS))
    parser.add_argument("--outbackcdx", default=os.environ.get("DX_OUTBACKCDX"))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("file", nargs="?")
    options = parser.parse_args()
    groups = options.only.split(",")
    if not set(groups) <= set(GROUPS):
        sys.exit(f"--only: {', '.join(GROUPS)}")
    options.source = options.file or dxtest.shared_data("lists/reddit-top-2.5-million/posts-A.tsv.zst")
    if options.source is None:
        sys.exit("no reddit corpus: name a FILE, or set DX_SHARED_DATA")
    if options.quick:
        options.rounds, options.seconds, options.rows = 1, 1, min(options.rows, 200_000)
    result = Result("scopes", data=f"{pathlib.Path(options.source).name}; {options.rows:,} made-up rows of one site for the stream")
    with rounds.folder("dx-scopes-") as folder, contextlib.ExitStack() as stack:
        bench = Bench(options, result, stack, pathlib.Path(folder))
        if groups != ["stream"]:
            bench.peers([g for g in groups if g not in ("stream", "gzip")])
        if "gzip" in groups:
            bench.gzip()
        stack.close()
        if "stream" in groups:
            bench.stream()
            stack.close()
        if bench.load.wrong:
            sys.exit(f"{bench.load.wrong} replies failed")
    print("\n".join([*bench.lines, *result.figures["notes"]]))
    print(result.save(options.json))
    if options.write:
        result.keep("All datasets", bench.lines)


if __name__ == "__main__":
    main()
