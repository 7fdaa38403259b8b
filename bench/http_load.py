#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""http_load.py - /v1/domain and /urls over HTTP, beside nginx with the same bytes as files.

    bench/http_load.py [--quick] [--write] [--json FILE] [--only GROUP,…] [--rounds 5] [--seconds 2]
                       [--server-option=--OPTION=VALUE]… [--beside PROGRAM]… [FILE]

FILE: TSV of dataset, Unix time, URL, extra; default
$DX_SHARED_DATA/lists/reddit-top-2.5-million/posts-A.tsv.zst. domaindexd runs one event loop on one
core, the load (dxload, builder/load) on the other; only the server under load runs, the others are
stopped meanwhile; rounds are interleaved. Groups, all of them unless --only says which:

    hit        Zipf 0.99 over domains with answers of up to 1 kB, popular ones anywhere among them
    large      Zipf 0.99 over all domains, those with the most rows first: answers of up to 200 kB
    weights    real traffic: hosts of dap-hosts-pageviews by their page views, most of them not there
    miss       domains that are not there
    many       hit, over 2,000 connections
    open       hit, open loop: at half of each server's saturation, and at 20,000/s for all
    threads    hit, two event loops on both cores beside one: CPU a request, for the load shares them
    urls       first pages of 1000 rows, and beside them deep ones
    mix        one server: 70 % hits, 10 % misses, 15 % first pages, 5 % deep ones, open loop

--beside: domaindexd of another revision, in the same rounds. --server-option: for every domaindexd.
--quick: short rounds on made-up rows, what a test runs. --write keeps the result in
bench/RESULTS.md with bench/pictures/http.svg. Each answer is compared with what the command
line says before the load, and a sample of bodies under load. Seconds: about --rounds times 75.
DX_BIN_DIR (build/release): the programs.
"""
import argparse
import contextlib
import json
import pathlib
import random
import subprocess
import sys
from urllib.parse import quote

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "support"), str(HERE.parent / "tests" / "support")]
import chart       # noqa: E402
import dxtest      # noqa: E402
import machine     # noqa: E402
import pipeline    # noqa: E402
import result      # noqa: E402
import roots       # noqa: E402
import serve       # noqa: E402

CORPUS = "lists/reddit-top-2.5-million/posts-A.tsv.zst"
PAGEVIEWS = "lists/gsa-federal-website-index/dap-hosts-pageviews.tsv.zst"
OURS, SAME, CONSTANT, RETURN = ("domaindexd", "nginx, the same answers as files",
                                "nginx, constant file", "nginx, return")
DECODED, HOT, DEEP = "domaindexd, made per request", "domaindexd", "domaindexd, deep page"
GROUPS = ("hit", "large", "weights", "miss", "many", "open", "threads", "urls", "mix")
LAW, SMALL, EVERYTHING, ROWS = "zipf=0.99", 1000, "everything", 1000
FIXED_RATE, MIX_RATE, MANY = 20000, 2000, 2000


# ------------------------------------------------------------------------------------- the data

def made_up(path):
    """For where the corpus is not wanted: 400 domains, 8 of them large."""
    rng = random.Random(7)
    with open(path, "w", encoding="utf-8") as out:
        for d in range(400):
            for i in range(2500 if d < 8 else 4):
                print(f"d{(d + i) % 7}", rng.randrange(1_300_000_000, 1_400_000_000),
                      f"http://site{d}.com/{rng.randrange(10**9)}/a-title-of-words", i, sep="\t", file=out)
    return path


def make_root(root, source, *dataset):
    columns = ("--memory", "1G", "--format", "tsv", "--ts-column", 2, "--url-column", 3,
               "--extra-column", 4, "--no-header")
    dxtest.domaindex("ingest", "--root", root, *dataset, *columns, source)
    dxtest.domaindex("publish", "--root", root, "--memory", "1G")
    return root


class Domain:
    def __init__(self, line):
        answer = json.loads(line)
        self.name, self.rows, self.body = answer["domain"], answer["row_count"], line
        self.dataset = answer["datasets"][0]["dataset_id"]
        self.target = f"/v1/domain/{quote(self.name)}"

    def urls(self, offset=0):
        base = f"{self.target}/datasets/{self.dataset}/urls"
        return f"{base}?offset={offset}" if offset else base


def domains_of(root):
    """Each domain with its answer, as the command line says; the most rows first."""
    names = "".join(f"{name}\n" for name in roots.domains(root)).encode()
    lines = dxtest.domaindex("lookup", "--root", root, "-", input=names).stdout.split(b"\n")
    return sorted((Domain(line) for line in lines if line), key=lambda d: (-d.rows, d.name))


def anywhere(domains):
    """The same in an order that says nothing of their size; each run the same."""
    chosen = list(domains)
    random.Random(1).shuffle(chosen)
    return chosen


def knows(program, options):
    """Whether domaindexd, perhaps of another revision, has these options."""
    said = dxtest.run(program or dxtest.DOMAINDEXD, "--help").stdout.decode()
    return all(f" {option} " in said for option in options)


def mean_size(known, law):
    """Bytes of a body, weighted as the law picks the lines of a target file."""
    lines = [line.split("\t") for line in known.read_text(encoding="utf-8").splitlines()]
    if law == "weights":
        weights = [float(line[1]) for line in lines]
    else:
        weights = [(i + 1) ** -float(law.split("=")[1]) for i in range(len(lines))]
    return round(sum(w * int(line[3]) for w, line in zip(weights, lines)) / sum(weights))


# ---------------------------------------------------------------------------------- the measuring

class Bench:
    def __init__(self, options, tmp):
        self.options, self.tmp, self.stack = options, tmp, None
        self.core, load_core = machine.cores()
        self.load = serve.Load(load_core, tmp)
        self.servers, self.curves = [], {}
        self.source = made_up(tmp / "made-up.tsv") if options.quick else (
            options.file or dxtest.shared_data(CORPUS))
        if self.source is None:
            dxtest.skip(f"{CORPUS} is not here (DX_SHARED_DATA)")
        if not serve.NGINX:
            dxtest.skip("nginx is not installed")
        self.root = make_root(tmp / "root", self.source, "--dataset-column", 1)
        self.domains = domains_of(self.root)
        self.small = anywhere(d for d in self.domains if len(d.body) <= SMALL)
        self.everything = None
        self.result = result.Result(
            "http", f"{pathlib.Path(self.source).name}: {len(self.domains):,} domains, "
                    f"{sum(d.rows for d in self.domains):,} rows; {serve.nginx_words()}")

    # ---- servers

    def add(self, server):
        self.servers.append(self.stack.enter_context(server))
        return self.servers[-1]

    def server(self, name, root, *options, program=None, core=True):
        return self.add(serve.Ours(name, root, self.core if core else None, "--threads",
                                   1 if core else 2, *options, *self.options.server_option,
                                   program=program))

    def ours(self, root, *options, name=OURS):
        """domaindexd of this tree, then those it is put beside."""
        programs = [(name, None), *((f"{name} of {p}", p) for p in self.options.beside)]
        return [self.server(name, root, *(options if knows(program, options[:1]) else ()),
                            program=program) for name, program in programs]

    def nginx(self, name, **places):
        return self.add(serve.Nginx("nginx", self.tmp / f"nginx-{name}", self.core, places))

    @contextlib.contextmanager
    def apart(self):
        """Servers that are begun in here end with it."""
        outer = self.stack, self.servers
        with contextlib.ExitStack() as self.stack:
            self.servers = []
            yield
        self.stack, self.servers = outer

    # ---- rounds

    def one(self, server, port, mix, connections, rate=0):
        with serve.only(server, self.servers):
            cpu = server.cpu_s()
            figures = self.load.run(port, mix, self.options.seconds, warm=0.05 if
                                    self.options.quick else 0.2, connections=connections, rate=rate)
            figures["cpu_us"] = 1e6 * (server.cpu_s() - cpu) / max(1, figures["requests_total"])
        return figures

    def rounds(self, contenders, connections=64, rates=None):
        """contenders: [(name, server, port, mix)]. {name: [figures of a round]}"""
        seen = {name: [] for name, *_ in contenders}
        for _ in range(self.options.rounds):
            for name, server, port, mix in contenders:
                seen[name].append(self.one(server, port, mix, connections,
                                           rates[name] if rates else 0))
        return seen

    def keep(self, group, seen, connections, percentiles=("p50", "p99")):
        for name, rounds in seen.items():
            open_loop = rounds[0]["loop"] == "open"
            about = {"connections": connections,
                     "load_share": round(result.median([f["cpu_share"] for f in rounds]), 3),
                     "unsent": sum(f["errors"]["unsent"] for f in rounds)}
            if open_loop:
                about["due_rate"] = rounds[0]["due_rate"]
            self.result.add(group, name, "requests/s", [f["rate"] for f in rounds], True, **about)
            self.result.add(group, name, "CPU us/request", [f["cpu_us"] for f in rounds], False)
            for p in percentiles:
                self.result.add(group, name, f"{p} us", [f["latency_us"][p] for f in rounds], False)
            middle = sorted(rounds, key=lambda f: f["latency_us"]["p99"])[len(rounds) // 2]
            self.curves[group, name] = middle["latency_us"]["curve"]
            print(f"{group:30.30} {name:34.34} " + "  ".join(
                f"{unit} {self.median(group, name, unit):,.{1 if unit[0] == 'C' else 0}f}" for unit in
                ("requests/s", "CPU us/request", *(f"{p} us" for p in percentiles))) +
                f"  load {about['load_share']:.2f}", flush=True)
        names = list(seen)
        for name in names[1:]:
            for unit in ("requests/s", "CPU us/request", *(f"{p} us" for p in percentiles)):
                self.result.ratio(group, names[0], name, unit)
            print(f"{'':30} {'to ' + name:34.34} " + "  ".join(
                f"{r['unit']} {r['median']:.3f}" for r in self.result.figures["ratios"]
                if (r["group"], r["to"]) == (group, name)), flush=True)

    def closed(self, group, contenders, connections=64):
        self.keep(group, self.rounds(contenders, connections), connections)

    def opened(self, group, contenders, rates, connections=64):
        self.keep(group, self.rounds(contenders, connections, rates), connections,
                  ("p50", "p95", "p99", "p99.9"))

    def median(self, group, name, unit):
        return self.result.row(group, name, unit)["median"]

    def ratio_of(self, group, name, to, unit="requests/s"):
        return next(r["median"] for r in self.result.figures["ratios"] if
                    (r["group"], r["name"], r["to"], r["unit"]) == (group, name, to, unit))

    # ---- what is asked, and what the answers are to be

    def compare(self, server, wanted):
        """wanted: [(target, body)] as the command line says."""
        with pipeline.Client(server) as client:
            replies = client.ask([target for target, _ in wanted])
            for (target, body), (_, _, got) in zip(wanted, replies):
                if got != body:
                    self.load.wrong += 1
                    print(f"WRONG: {target}: {got[:200]}, the command line: {body[:200]}")

    def known(self, server, name, lines):
        return self.load.record(server.port, lines, self.tmp / f"{name}.txt")

    def write(self, name, lines):
        path = self.tmp / f"{name}.txt"
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return path

    def folder(self, name, bodies):
        """Files at the paths that are asked: [(target, body)]."""
        folder = self.tmp / name
        for target, body in bodies:
            path = folder / target.lstrip("/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(body)
        return folder

    def beside_files(self, group, domains):
        """(contenders for these domains by Zipf's law, their mix)"""
        ours = self.ours(self.root)
        for server in ours:
            self.compare(server, [(d.target, d.body) for d in domains])
        known = self.known(ours[0], group, [d.target for d in domains])
        size = mean_size(known, LAW)
        folder = self.folder(group, [*((d.target, d.body) for d in domains),
                                     ("/constant", b"x" * size)])
        nginx = self.nginx(group, files=folder, plain=(200, "x" * min(size, 2000)))
        constant = self.write(f"{group}-constant", ["/constant"])
        mix = [f"{known}:1:{LAW}"]
        self.result.note(f"{group}: {len(domains):,} domains, a mean answer of {size:,} bytes.")
        return [*((s.name, s, s.port, mix) for s in ours),
                (CONSTANT, nginx, nginx.ports["files"], [constant]),
                (SAME, nginx, nginx.ports["files"], mix),
                (RETURN, nginx, nginx.ports["plain"], [constant])]

    # ---- the groups

    def hit(self):
        contenders = self.beside_files("hit", self.small)
        self.closed("/v1/domain hit", contenders)
        ratio = self.ratio_of("/v1/domain hit", OURS, CONSTANT)
        self.result.expect("/v1/domain hit under Zipf, to nginx with a constant file of that size",
                           ">= 1.2", ratio, "requests/s")
        self.result.expect("its p99, to that of nginx", "<= 1",
                           self.ratio_of("/v1/domain hit", OURS, CONSTANT, "p99 us"))
        if serve.WRK and not self.options.quick:      # it counts whole seconds only
            self.wrk(contenders)

    def wrk(self, contenders):
        """A second opinion, of one domain: wrk asks no list."""
        targets = {OURS: self.small[0].target, CONSTANT: "/constant"}
        seen = {name: [] for name in targets}
        for _ in range(self.options.rounds):
            for name, server, port, _ in contenders:
                if name in targets:
                    with serve.only(server, self.servers):
                        seen[name].append(self.load.wrk(port, targets[name], self.options.seconds))
        for name, rates in seen.items():
            self.result.add("one domain, by wrk", name, "requests/s", rates, True)
        ratio = self.result.ratio("one domain, by wrk", OURS, CONSTANT, "requests/s")
        print(f"{'one domain, by wrk':30} to {CONSTANT}: {ratio:.3f}", flush=True)

    def large(self):
        self.closed("/v1/domain large", self.beside_files("large", self.domains))

    def miss(self):
        ours = self.ours(self.root)
        lines = [f"/v1/domain/not-there-{i}.com" for i in range(20000)]
        known = self.known(ours[0], "miss", lines)
        size = mean_size(known, "zipf=0")
        nginx = self.nginx("miss", plain=(404, "x" * size))
        plain = self.write("miss-plain", [f"{line}\t1\t404\t{size}" for line in lines])
        hit = self.known(ours[0], "hit-beside", [d.target for d in self.small])
        self.closed("/v1/domain miss", [
            *((s.name, s, s.port, [known]) for s in ours),
            ("nginx, return 404", nginx, nginx.ports["plain"], [plain]),
            ("domaindexd, hit", ours[0], ours[0].port, [f"{hit}:1:{LAW}"])])
        self.result.expect("404, to a hit", ">= 1",
                           self.ratio_of("/v1/domain miss", OURS, "domaindexd, hit"), "requests/s")

    def weights(self):
        path = dxtest.shared_data(PAGEVIEWS)
        if path is None:
            self.result.note(f"weights: {PAGEVIEWS} is not here.")
            return
        text = subprocess.run(["zstd", "-dc", path], stdout=subprocess.PIPE, check=True).stdout
        rows = [line.split("\t") for line in text.decode("utf-8", "replace").splitlines()]
        lines = [f"/v1/domain/{quote(row[0], safe='')}\t{row[1]}" for row in rows
                 if len(row) > 1 and row[1].isdigit() and row[0]][:2000 if self.options.quick else None]
        ours = self.ours(self.root)
        known = self.known(ours[0], "weights", lines)
        size = mean_size(known, "weights")
        nginx = self.nginx("weights", files=self.folder("weights", [("/constant", b"x" * size)]))
        constant = self.write("weights-constant", ["/constant"])
        self.result.note(f"weights: {len(lines):,} hosts, a mean answer of {size:,} bytes.")
        self.closed("real page views", [
            *((s.name, s, s.port, [f"{known}:1:weights"]) for s in ours),
            (CONSTANT, nginx, nginx.ports["files"], [constant])])

    def many(self):
        connections = 200 if self.options.quick else MANY
        contenders = self.beside_files("many", self.small)[:-2]
        self.closed(f"/v1/domain hit, {connections} connections", contenders, connections)

    def open(self):
        contenders = self.beside_files("open", self.small)[:-2]
        most = self.rounds(contenders)
        half = {name: result.median([f["rate"] for f in figures]) / 2
                for name, figures in most.items()}
        self.opened("hit, half of its own saturation", contenders, half)
        fixed = min(FIXED_RATE, *half.values()) if self.options.quick else FIXED_RATE
        self.opened(f"hit, {FIXED_RATE:,}/s", contenders, dict.fromkeys(half, fixed))

    def threads(self):
        one = self.server("one event loop, its core", self.root)
        two = self.server("two event loops, both cores", self.root, core=False)
        known = self.known(one, "threads", [d.target for d in self.small])
        group, mix = "two event loops", [f"{known}:1:{LAW}"]
        self.closed(group, [(s.name, s, s.port, mix) for s in (two, one)])
        cpu = self.ratio_of(group, two.name, one.name, "CPU us/request")
        self.result.expect("the second core doubles it", ">= 1.9", 2 / cpu,
                           "2 / ratio of CPU a request: the load shares the two cores")

    def listing_root(self):
        if not self.everything:
            self.everything = make_root(self.tmp / "everything", self.source, "--dataset", EVERYTHING)
        return self.everything, [d for d in domains_of(self.everything) if d.rows >= 2 * ROWS]

    def pages_of(self, domains):
        """(first, deep): one page of each domain."""
        rng = random.Random(3)
        return ([(d, 0) for d in domains],
                [(d, rng.randrange(ROWS, d.rows - ROWS + 1)) for d in domains])

    def truth(self, root, pages):
        """[(target, body)] by the command line, which gives no cursors."""
        return [(d.urls(offset), dxtest.domaindex(
            "lookup", "--root", root, "--dataset", d.dataset, "--offset", offset, d.name)
            .stdout.rstrip(b"\n")) for d, offset in pages]

    def verify_listings(self, root, pages):
        """Without cursors, which have a time in them, every body is known."""
        wanted = self.truth(root, pages)
        with self.apart():
            for server in self.ours(root, *dxtest.SAME_BYTES):
                self.compare(server, wanted)
                known = self.known(server, "listings", [target for target, _ in wanted])
                self.load.run(server.port, [known], min(1, self.options.seconds), 0.2, 16, 0, None,
                              "--verify-every", 1)

    def sizes_only(self, server, name, pages):
        """A target file that knows status and length: the hash changes with the minute."""
        known = self.known(server, name, [d.urls(offset) for d, offset in pages])
        lines = [line.rsplit("\t", 1)[0] for line in known.read_text("utf-8").splitlines()]
        return self.write(name, lines)

    def urls(self):
        root, domains = self.listing_root()
        first, deep = self.pages_of(domains)
        self.verify_listings(root, [*first, *deep])
        made = self.made_per_request(root)
        hot = [] if made[0].name == HOT else self.ours(root)
        lists = {name: self.sizes_only(made[0], name, pages)
                 for name, pages in (("first", first), ("deep", deep))}
        with pipeline.Client(made[0]) as client:
            bodies = [(t, body) for t, _, body in client.ask([d.urls() for d, _ in first])]
        nginx = self.nginx("urls", files=self.folder("urls", bodies))
        size = mean_size(lists["first"], LAW)
        self.result.note(f"urls: {len(domains)} domains of at least {2 * ROWS:,} rows in one dataset, "
                         f"Zipf 0.99 by rows, a mean page of {size:,} bytes.")
        mix, deep_mix = [f"{lists['first']}:1:{LAW}"], [f"{lists['deep']}:1:{LAW}"]
        group = "/urls, first page of 1000 rows"
        contenders = [*((s.name, s, s.port, mix) for s in (*made, *hot)),
                      (SAME, nginx, nginx.ports["files"], mix),
                      (DEEP, made[0], made[0].port, deep_mix)]
        self.closed(group, contenders, 16)
        self.expect_urls(group, made[0].name, hot, contenders)

    def made_per_request(self, root):
        """Servers that keep no ready answers, where that is an option."""
        if knows(None, ["--cache-answers"]):
            return self.ours(root, "--cache-answers", 0, name=DECODED)
        return self.ours(root, name=HOT)

    def expect_urls(self, group, made, hot, contenders):
        to_nginx = self.ratio_of(group, made, SAME)
        self.result.expect("/urls first page, decoded and formatted per request, to nginx with the same "
                           "bytes as files", ">= 0.3", to_nginx, "requests/s")
        if hot:
            self.result.expect("the same when hot", ">= 0.8",
                               self.result.ratio(group, hot[0].name, SAME, "requests/s"), "requests/s")
        self.result.expect("a deep page's CPU, to that of the first", "<= 1.2",
                           1 / self.ratio_of(group, made, DEEP, "CPU us/request"))
        chosen = [c for c in contenders if c[0] in (made, SAME)]
        half = {name: self.median(group, name, "requests/s") / 2 for name, *_ in chosen}
        self.opened("/urls at half of its own saturation", chosen, half, 16)
        p95 = self.median("/urls at half of its own saturation", made, "p95 us") / 1000
        self.result.expect("/urls first page, p95 at half saturation", "< 5 ms", p95, "ms")

    def mix(self):
        root, domains = self.listing_root()
        first, deep = self.pages_of(domains)
        ours = self.server(OURS, root)
        lists = [f"{self.known(ours, 'hits', [d.target for d in self.small])}:70:{LAW}",
                 f"{self.known(ours, 'misses', [f'/v1/domain/no-{i}.net' for i in range(5000)])}:10",
                 f"{self.sizes_only(ours, 'first pages', first)}:15:{LAW}",
                 f"{self.sizes_only(ours, 'deep pages', deep)}:5:pareto=1"]
        seen = [self.one(ours, ours.port, lists, 64, MIX_RATE) for _ in range(self.options.rounds)]
        for i, part in enumerate(p["name"] for p in seen[0]["parts"]):
            for p in ("p50", "p95", "p99"):
                self.result.add(f"mix at {MIX_RATE:,}/s", part, f"{p} us",
                                [f["parts"][i]["latency_us"][p] for f in seen], False)
            print(f"{f'mix at {MIX_RATE:,}/s':30} {part:34} " + "  ".join(
                f"{p} {self.median(f'mix at {MIX_RATE:,}/s', part, f'{p} us'):,.0f} us"
                for p in ("p50", "p95", "p99")), flush=True)

    # ---- what is kept

    def picture(self, path):
        group = f"hit, {FIXED_RATE:,}/s"
        chart.percentiles(path, f"/v1/domain hit at {FIXED_RATE:,} requests/s",
                          "open loop, Poisson; from the time a request was due",
                          [(name, curve, name == OURS) for (g, name), curve in self.curves.items()
                           if g == group])

    def lines(self):
        """Markdown: what was asked, then a table of all rows."""
        yield from self.result.expectations()
        yield ""
        yield "| group | server | requests/s | CPU us/request | p50 us | p95 us | p99 us | p99.9 us |"
        yield "| --- | --- | --: | --: | --: | --: | --: | --: |"
        rows = {}
        for r in self.result.figures["rows"]:
            rows.setdefault((r["group"], r["name"]), {})[r["unit"]] = r["median"]
        units = ("requests/s", "CPU us/request", "p50 us", "p95 us", "p99 us", "p99.9 us")
        for (group, name), seen in rows.items():
            figures = [f"{seen[u]:,.{1 if u[0] == 'C' else 0}f}" if u in seen else "" for u in units]
            yield f"| {group} | {name} | {' | '.join(figures)} |"
        yield ""
        yield "| ratio, median of the rounds | requests/s | CPU | p50 | p99 |"
        yield "| --- | --: | --: | --: | --: |"
        ratios = {}
        for r in self.result.figures["ratios"]:
            ratios.setdefault((r["group"], r["name"], r["to"]), {})[r["unit"]] = r["median"]
        for (group, name, to), seen in ratios.items():
            figures = [f"{seen[u]:.2f}" if u in seen else "" for u in
                       ("requests/s", "CPU us/request", "p50 us", "p99 us")]
            yield f"| {group}: {name} to {to} | {' | '.join(figures)} |"


def measure(options):
    with dxtest.tempdir() as tmp:
        machine.prefer()
        bench = Bench(options, tmp)
        for group in options.only.split(",") if options.only else GROUPS:
            with bench.apart():
                getattr(bench, group)()
        bench.result.note(f"{bench.load.verified:,} bodies compared under load, "
                          f"{bench.load.wrong} wrong.")
        print("\n".join(bench.result.expectations()))
        print(bench.result.figures["notes"][-1])
        print(bench.result.save(options.json))
        if options.write:
            bench.picture(HERE / "pictures" / "http.svg")
            bench.result.keep("/v1/domain and /urls over HTTP", [
                "Server on one core, load on the other, the other servers stopped; interleaved "
                "rounds; medians.", "", "![latencies](pictures/http.svg)", "", *bench.lines()])
        return bench


def parsed(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("file", nargs="?")
    parser.add_argument("--only", help=f"of {', '.join(GROUPS)}")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--server-option", action="append", default=[])
    parser.add_argument("--beside", action="append", default=[])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--json")
    options = parser.parse_args(arguments)
    options.rounds = options.rounds or (1 if options.quick else 5)
    options.seconds = options.seconds or (0.1 if options.quick else 2)
    if options.only and not set(options.only.split(",")) <= set(GROUPS):
        parser.error(f"--only: of {', '.join(GROUPS)}")
    return options


def main():
    bench = measure(parsed())
    return 1 if bench.load.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
