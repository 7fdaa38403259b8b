#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""http_load.py - /v1/domain over HTTP, beside nginx serving the same bytes as files.

    bench/http_load.py [--quick] [--write] [--json FILE] [--only GROUP,…] [--rounds 5] [--seconds 2]
                  [--server-option OPTION]… [--beside PROGRAM]… [--root ROOT] [FILE]

FILE: TSV of dataset, Unix time, URL, extra; default
$DX_SHARED_DATA/lists/reddit-top-2.5-million/posts-A.tsv.zst. --root: a root that has it already.
The server is pinned to one core and runs one event loop, the load (dxload, bench/load) to the other;
only the server under load runs, the others are stopped. Rounds are interleaved. --beside: domaindexd
of another revision, asked in the same rounds. --server-option: for domaindexd, as "--cache-pages=1M".
"""
import argparse
import contextlib
import json
import pathlib
import subprocess
import sys
import tempfile
from urllib.parse import quote

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "support"), str(HERE.parent / "tests" / "support")]
import dxtest      # noqa: E402
import machine     # noqa: E402
import pipeline    # noqa: E402
import result      # noqa: E402
import serve       # noqa: E402

CORPUS = "lists/reddit-top-2.5-million/posts-A.tsv.zst"
OURS, SAME, CONSTANT, RETURN = ("domaindexd", "nginx, the same answers as files",
                                "nginx, constant file", "nginx, return")
GROUPS = ("hit", "large", "miss")


def make_root(root, source):
    dxtest.domaindex("ingest", "--root", root, "--memory", "1G", "--format", "tsv",
                     "--dataset-column", 1, "--ts-column", 2, "--url-column", 3, "--extra-column", 4,
                     "--no-header", source)
    dxtest.domaindex("publish", "--root", root, "--memory", "1G")


def domains_of(root):
    """[(rows, domain, body)] as the command line says, the most rows first."""
    names = subprocess.run(["zstd", "-dc", *map(str, root.glob("index/*/domains.txt.zst"))],
                           stdout=subprocess.PIPE, check=True).stdout
    lines = dxtest.domaindex("lookup", "--root", root, "-", input=names).stdout.split(b"\n")
    answers = [(json.loads(line), line) for line in lines if line]
    return sorted(((a["row_count"], a["domain"], line) for a, line in answers), reverse=True)


class Bench:
    def __init__(self, options, tmp, stack):
        self.options, self.tmp, self.stack = options, tmp, stack
        self.core, load_core = machine.cores()
        self.load = serve.Load(load_core, tmp)
        self.servers = []
        source = options.file or dxtest.shared_data(CORPUS)
        self.root = options.root or tmp / "root"
        if not options.root:
            make_root(self.root, source)
        self.domains = domains_of(self.root)
        self.result = result.Result(
            "http", f"{pathlib.Path(source or self.root).name}: {len(self.domains):,} domains")

    # ---- servers

    def add(self, server):
        self.servers.append(self.stack.enter_context(server))
        return self.servers[-1]

    def ours(self, *options):
        """domaindexd of this tree, and of others: [(name, server, port)]."""
        programs = [(OURS, None), *((f"domaindexd of {p}", p) for p in self.options.beside)]
        options = (*dxtest.SAME_BYTES, *options, *self.options.server_option)
        return [(name, server, server.port) for name, server in
                ((name, self.add(serve.Ours(name, self.root, self.core, "--threads", 1, *options,
                                            program=program))) for name, program in programs)]

    # ---- rounds

    def closed(self, group, contenders, connections=64):
        """contenders: [(name, server, port, mix)]. Saturation: replies/s, CPU, latencies."""
        seen = {name: [] for name, *_ in contenders}
        for _ in range(self.options.rounds):
            for name, server, port, mix in contenders:
                with serve.only(server, self.servers):
                    cpu = server.cpu_s()
                    figures = self.load.run(port, mix, self.options.seconds,
                                            connections=connections)
                    cpu = server.cpu_s() - cpu
                seen[name].append((figures["rate"], 1e6 * cpu / figures["requests_total"],
                                   figures["latency_us"]["p50"], figures["latency_us"]["p99"],
                                   figures["cpu_share"]))
        for name, rows in seen.items():
            rate, cpu, p50, p99, share = zip(*rows)
            self.result.add(group, name, "requests/s", rate, more=True,
                            load_share=result.median(share))
            self.result.add(group, name, "CPU us/request", cpu, more=False)
            self.result.add(group, name, "p50 us", p50, more=False)
            self.result.add(group, name, "p99 us", p99, more=False)
            print(f"{group:34} {name:34} {result.median(rate):9,.0f}/s  CPU "
                  f"{result.median(cpu):6.2f} us  p50 {result.median(p50):7.0f}  p99 "
                  f"{result.median(p99):7.0f} us  load {result.median(share):.2f}", flush=True)
        for name, *_ in contenders[1:]:
            ratio = self.result.ratio(group, contenders[0][0], name, "requests/s")
            cpu = self.result.ratio(group, contenders[0][0], name, "CPU us/request")
            p99 = self.result.ratio(group, contenders[0][0], name, "p99 us")
            print(f"{'':34} to {name:31} {ratio:9.3f}    CPU {cpu:6.3f}     "
                  f"p99 {p99:.3f}", flush=True)

    # ---- what is asked

    def shuffled(self, most):
        """Domains with answers of up to `most` bytes, popular ones anywhere among them."""
        chosen = [d for d in self.domains if len(d[2]) <= most]
        return sorted(chosen, key=lambda d: hash_of(d[1]))

    def files(self, name, domains):
        """Their answers as files, each at the path that the domain is asked at."""
        folder = self.tmp / name
        (folder / "v1" / "domain").mkdir(parents=True)
        for _, domain, body in domains:
            (folder / "v1" / "domain" / domain).write_bytes(body)
        return folder

    def compare_bodies(self, port, domains):
        """Every body is what the command line says; then what dxload is told to expect."""
        server = type("Server", (), {"host": "127.0.0.1", "port": port})
        with pipeline.Client(server) as client:
            for (_, domain, body), (_, _, got) in zip(domains, client.ask(map_targets(domains))):
                if got.rstrip(b"\n") != body:
                    sys.exit(f"{domain}: the server says {got[:200]}, the command {body[:200]}")

    def hits(self, group, domains, law):
        ours = self.ours()
        targets = map_targets(domains)
        self.compare_bodies(ours[0][2], domains)
        known = self.load.record(ours[0][2], targets, self.tmp / f"{group}.txt")
        mix = [f"{known}:1:{law}"]
        folder = self.files(group, domains)
        (folder / "constant").write_bytes(b"x" * mean_size(known, law))
        nginx = self.add(serve.Nginx("nginx", self.tmp / f"nginx-{group}", self.core,
                                     {"files": folder, "return": (200, "x" * 200)}))
        constant = self.tmp / f"{group}-constant.txt"
        constant.write_text("/constant\n", encoding="ascii")
        self.closed(f"/v1/domain {group}",
                    [*((*o, mix) for o in ours),
                     (CONSTANT, nginx, nginx.ports["files"], [constant]),
                     (SAME, nginx, nginx.ports["files"], [f"{known}:1:{law}"]),
                     (RETURN, nginx, nginx.ports["return"], [constant])])

    def misses(self):
        ours = self.ours()
        targets = [f"/v1/domain/not-there-{i}.com" for i in range(20000)]
        known = self.load.record(ours[0][2], targets, self.tmp / "miss.txt")
        nginx = self.add(serve.Nginx("nginx", self.tmp / "nginx-miss", self.core,
                                     {"return": (404, "x" * 200)}))
        plain = self.tmp / "miss-plain.txt"
        plain.write_text("".join(f"{t}\t1\t404\n" for t in targets), encoding="ascii")
        self.closed("/v1/domain miss", [*((*o, [known]) for o in ours),
                                        (RETURN, nginx, nginx.ports["return"], [plain])])

    def close_servers(self):
        self.stack.close()
        self.servers.clear()


def hash_of(name):
    value = 0
    for c in name.encode():
        value = (value * 1000003 ^ c) & 0xFFFFFFFF
    return value * 2654435761 & 0xFFFFFFFF


def mean_size(known, law):
    """Bytes of a body, weighted as the law picks the lines of a target file."""
    sizes = [int(line.split("\t")[3]) for line in known.read_text(encoding="utf-8").splitlines()]
    exponent = float(law.split("=")[1])
    weights = [(i + 1) ** -exponent for i in range(len(sizes))]
    return round(sum(s * w for s, w in zip(sizes, weights)) / sum(weights))


def map_targets(domains):
    return [f"/v1/domain/{quote(domain)}" for _, domain, _ in domains]


def measure(options):
    with dxtest.tempdir() as tmp, contextlib.ExitStack() as stack:
        bench = Bench(options, tmp, stack)
        for group in options.only.split(",") if options.only else GROUPS:
            if group == "hit":
                bench.hits("hit", bench.shuffled(1000), "zipf=0.99")
            elif group == "large":
                bench.hits("large", bench.domains, "zipf=0.99")
            elif group == "miss":
                bench.misses()
            bench.close_servers()
        print(f"{bench.load.wrong} wrong; {bench.load.verified:,} bodies compared", flush=True)
        print(bench.result.save(options.json))
        return bench


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("file", nargs="?")
    parser.add_argument("--root", type=pathlib.Path)
    parser.add_argument("--only", help=f"of {', '.join(GROUPS)}")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--server-option", action="append", default=[])
    parser.add_argument("--beside", action="append", default=[])
    parser.add_argument("--json")
    bench = measure(parser.parse_args())
    return 1 if bench.load.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
