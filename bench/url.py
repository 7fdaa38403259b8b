#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""url.py - /v1/url: single URLs that are there and URLs that are not, beside another revision's server.

    bench/url.py --beside PROGRAM [--rounds 5] [--seconds 2] [--urls 4000] [--root ROOT] [FILE]

FILE: TSV of dataset, Unix time, URL; default $DX_SHARED_DATA/lists/reddit-top-2.5-million/posts-A.tsv.zst, all rows of it in one dataset (a lake whose
decoded pages are more than 64 MiB), ingested and published into a temporary root unless ROOT has it. URLs are drawn by rows. Each server is asked each
list once before; then interleaved rounds, one server on the first core, 16 connections, the other servers stopped, default settings and, for single rows
that have to be decoded, the smallest cache of pages. Bodies are compared with those of PROGRAM. About two minutes.
"""
import argparse
import contextlib
import pathlib
import random
import subprocess
import sys
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "support"), str(HERE.parent / "tests" / "support")]
import dxtest       # noqa: E402
import machine      # noqa: E402
import rounds       # noqa: E402
import serve        # noqa: E402
from result import Result  # noqa: E402

CONNECTIONS = 16
SETTINGS = {"default settings": (), "one row of pages not kept": ("--cache-pages", "1M")}


def make_root(source, root, tmp):
    cat = ["zstd", "-dc"] if str(source).endswith(".zst") else ["cat"]
    with open(tmp / "rows.tsv", "wb") as out, subprocess.Popen([*cat, str(source)], stdout=subprocess.PIPE) as run:
        for line in run.stdout:
            out.write(b"all\t" + line.split(b"\t", 1)[1])
    dxtest.domaindex("ingest", "--root", root, "--format", "tsv", "--dataset-column", 1, "--ts-column", 2, "--url-column", 3, "--no-header", tmp / "rows.tsv")
    dxtest.domaindex("publish", "--root", root)


def lists(source, count):
    cat = ["zstd", "-dc"] if str(source).endswith(".zst") else ["cat"]
    urls = [line.split(b"\t")[2].decode() for line in subprocess.run([*cat, str(source)], check=True, stdout=subprocess.PIPE).stdout.splitlines() if line.isascii()]
    some = random.Random(5).sample(urls, count)
    return {"a URL that is there": some, "a URL that is not": [f"{url}zq9" for url in some]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("--beside", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--urls", type=int, default=4000)
    parser.add_argument("--root", type=pathlib.Path)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("file", nargs="?")
    options = parser.parse_args()
    source = options.file or dxtest.shared_data("lists/reddit-top-2.5-million/posts-A.tsv.zst")
    if source is None:
        sys.exit("no reddit corpus: name a FILE, or set DX_SHARED_DATA")
    r = Result("url", data=f"{pathlib.Path(source).name} in one dataset; {options.urls} URLs drawn by rows")
    with rounds.folder("dx-url-") as folder, contextlib.ExitStack() as stack:
        tmp = pathlib.Path(folder)
        server_core, load_core = machine.cores()
        root = options.root or tmp / "root"
        if options.root is None:
            make_root(source, root, tmp)
        load = serve.Load(load_core, tmp)
        servers = {}
        for setting, more in SETTINGS.items():
            for name, program in (("this revision", None), ("the one beside it", options.beside)):
                servers[setting, name] = stack.enter_context(serve.Ours(name, root, server_core, "--threads", 1, *more, program=program))
        known = {}
        for what, urls in lists(source, options.urls).items():
            targets = [f"/v1/url?u={urllib.parse.quote(url, safe='')}" for url in urls]
            known[what] = load.record(servers["default settings", "the one beside it"].port, targets, tmp / f"{len(known)}.txt")
        seen = {}
        for turn in range(options.rounds + 1):     # the first fills caches
            for what, path in known.items():
                for key, server in servers.items():
                    with serve.only(server, list(servers.values())):
                        cpu = server.cpu_s()
                        figures = load.run(server.port, [path], options.seconds, connections=CONNECTIONS)
                        cpu = server.cpu_s() - cpu
                    if turn > 0:
                        seen.setdefault((what, *key), []).append((figures["rate"], cpu / max(1, figures["requests"]) * 1e6))
        lines = ["| asked | settings | requests/s | beside | ratio | CPU a request, us | beside |", "| --- | --- | --: | --: | --: | --: | --: |"]
        for what in known:
            for setting in SETTINGS:
                group = f"{what}, {setting}"
                for name in ("this revision", "the one beside it"):
                    r.add(group, name, "requests/s", [v[0] for v in seen[what, setting, name]], more=True)
                    r.add(group, name, "CPU us", [v[1] for v in seen[what, setting, name]], more=False)
                r.ratio(group, "this revision", "the one beside it", "requests/s")
                rate = [r.row(group, name, "requests/s")["median"] for name in ("this revision", "the one beside it")]
                cpu = [r.row(group, name, "CPU us")["median"] for name in ("this revision", "the one beside it")]
                lines.append(f"| {what} | {setting} | {rate[0]:,.0f} | {rate[1]:,.0f} | {r.figures['ratios'][-1]['median']:.2f} | {cpu[0]:.1f} | {cpu[1]:.1f} |")
        print("\n".join(lines))
        if load.wrong:
            sys.exit(f"{load.wrong} replies differ from those beside")
    print(r.save(options.json))
    if options.write:
        r.keep("One URL", lines)


if __name__ == "__main__":
    main()
