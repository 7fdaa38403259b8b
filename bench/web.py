#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""web.py - what the page costs those who ask the API: domaindexd with --web yes beside --web no.

    bench/web.py [--quick] [--write] [--json FILE] [--rounds 9] [--seconds 2]

Two servers of one program over one index of 20,000 made-up domains, on one core in turn; the load, 64 kept connections
and domains by Zipf's law, on the other. Each answer is compared with what --web no gave first. Before each round the
server with the page sends its files once, as to a reader. Below a minute; --quick 5 s.
"""
import argparse
import contextlib
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "support"), str(HERE.parent / "tests" / "support")]
import dxtest       # noqa: E402
import machine      # noqa: E402
import serve        # noqa: E402
from result import Result   # noqa: E402

DOMAINS = 20_000
WITH, WITHOUT = "--web yes", "--web no"
GROUP = "/v1/domain, Zipf"


def make_root(root):
    rows = "".join(f"set {i % 7}\thttps://site{i}.com/\nset {i % 5}\thttps://site{i // 3}.com/{i}\n" for i in range(DOMAINS))
    dxtest.domaindex("ingest", "--root", root, "--format", "tsv", "--dataset-column", 1, "--url-column", 2, "--no-header", "-", input=rows.encode())
    dxtest.domaindex("publish", "--root", root)
    return root


def read_page(server):
    """The page and all it names, as a browser asks for them."""
    page = server.get("/").body.decode()
    names = re.findall(r'(?:src|href)="(/?assets/[^"]+)"', page)
    for name in names:
        server.get("/" + name.lstrip("/"))
    if not names:
        sys.exit("the page names no files")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--json")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=2)
    options = parser.parse_args()
    if options.quick:
        options.rounds, options.seconds = 3, 0.5
    result = Result("web", f"{DOMAINS:,} made-up domains in 7 datasets")
    core, load_core = machine.cores()
    with contextlib.ExitStack() as stack:
        tmp = stack.enter_context(dxtest.tempdir())
        root = make_root(tmp / "root")
        load = serve.Load(load_core, tmp)
        servers = {name: stack.enter_context(serve.Ours(name, root, core, "--threads", 1, *name.split())) for name in (WITHOUT, WITH)}
        known = load.record(servers[WITHOUT].port, [f"/v1/domain/site{i}.com" for i in range(DOMAINS)], tmp / "known.txt")
        rates, costs = {name: [] for name in servers}, {name: [] for name in servers}
        for turn in range(options.rounds):
            for name in sorted(servers, reverse=turn % 2 == 1):
                server = servers[name]
                with serve.only(server, servers.values()):
                    if name == WITH:
                        read_page(server)
                    before = server.cpu_s()
                    figures = load.run(server.port, [f"{known}:1:zipf=0.99"], options.seconds, warm=0)
                    rates[name].append(figures["rate"])
                    costs[name].append(1e6 * (server.cpu_s() - before) / (figures["rate"] * options.seconds))
        if load.wrong:
            sys.exit(f"{load.wrong} wrong answers")
    for name in servers:
        result.add(GROUP, name, "requests/s", rates[name], True)
        result.add(GROUP, name, "CPU us a request", costs[name], False)
    rate, cost = result.ratio(GROUP, WITH, WITHOUT, "requests/s"), result.ratio(GROUP, WITH, WITHOUT, "CPU us a request")
    result.expect("requests/s with the page, to those without", ">= 0.98", rate)
    lines = ["| /v1/domain, Zipf | requests/s, median (lowest) | CPU us a request |", "| --- | --: | --: |"]
    for name in servers:
        row = result.row(GROUP, name, "requests/s")
        lines.append(f"| {name} | {row['median']:,.0f} ({min(row['values']):,.0f}) | {result.row(GROUP, name, 'CPU us a request')['median']:.2f} |")
    lines += ["", f"With the page to without, median of the rounds: {rate:.3f} of the requests/s, {cost:.3f} of the CPU a request."]
    print("\n".join(lines))
    print(result.save(options.json))
    if options.write:
        result.keep("The page beside the API", lines)


if __name__ == "__main__":
    main()
