#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""instructions.py - instructions of one lookup and of one request, which other load of the machine does not change.

    bench/instructions.py [--beside FOLDER] [--requests 1000] [--only WORD] [--json FILE] [--write] [--root ROOT] [FILE]

FILE: TSV of dataset, Unix time, URL, extra; default $DX_SHARED_DATA/lists/reddit-top-2.5-million/posts-A.tsv.zst, ingested and published unless ROOT has it.
`domaindex lookup` and domaindexd run under valgrind's callgrind, on the same root and the same names, which are drawn evenly over all domains; a request
counts once its like has come three times. --beside: the programs of another build (a build folder), counted in the same run. User space
alone: instructions of the kernel are not counted. A minute a build.
"""
import argparse
import http.client
import pathlib
import random
import re
import shutil
import subprocess
import sys
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "support"), str(HERE / "peers"), str(HERE.parent / "tests" / "support")]
import dxtest       # noqa: E402
import machine      # noqa: E402
import roots        # noqa: E402
import rounds       # noqa: E402
import where        # noqa: E402
from result import Result  # noqa: E402

NAMES = 50
ASKED = {"a domain, kept": 3800, "a domain, not kept": 15000}
NOT_KEPT = ("--cache-domains", 0, "--cache-answers", 0)


def callgrind(out, *command):
    return ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", *map(str, command)]


def totals(path):
    return int(re.findall(r"(?m)^(?:totals|summary): (\d+)", path.read_text(errors="replace"))[-1])


class Counted(dxtest.Server):
    def __init__(self, root, folder, program, *options):
        self.out, self.dumps = folder / "callgrind.out", 0
        (folder / "valgrind").write_text(f"#!/bin/sh\nexec valgrind --tool=callgrind --callgrind-out-file={self.out} {program} \"$@\"\n")
        (folder / "valgrind").chmod(0o755)
        super().__init__(root, "--poll-ms", 0, "--threads", 1, "--sandbox", "no", "--verify", "no", "--warm", "no", *options, program=folder / "valgrind")

    def count(self, targets, requests):
        """Instructions a request."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=300)

        def ask(target):
            connection.request("GET", target)
            reply = connection.getresponse()
            reply.read()
            return reply.status
        seen = {ask(target) for _ in range(3) for target in targets}
        dxtest.run("callgrind_control", "-d", self.process.pid)  # a dump begins at zero again
        for i in range(requests):
            ask(targets[i % len(targets)])
        dxtest.run("callgrind_control", "-d", self.process.pid)
        connection.close()
        self.dumps += 2
        dxtest.check(len(seen) == 1, f"{targets[0]}: {seen}")
        return totals(pathlib.Path(f"{self.out}.{self.dumps}")) / requests


def questions(root):
    """The cases: name, options of the server, targets."""
    domains = sorted(roots.domains(root))
    some = random.Random(11).sample(domains, NAMES)
    domain = [f"/v1/domain/{name}" for name in some]
    urls = [f"/v1/domain/{name}/urls?limit=100" for name in some]
    single = []
    for name in some:
        line = dxtest.domaindex("lookup", "--root", root, "--all-urls", "--limit", 1, name).stdout.decode()
        single += re.findall(r'"url":"([^"\\]+)"', line)[:1]
    one = [f"/v1/url?u={urllib.parse.quote(url, safe='')}" for url in single]
    return {"a domain, kept": ((), domain), "a domain, not kept": (NOT_KEPT, domain), "an absent domain, not kept": (NOT_KEPT, [t + "zq9.example" for t in domain]),
            "a domain's URLs, 100 at most, not kept": (NOT_KEPT, urls), "a URL, pages cached": (NOT_KEPT, one), "an absent URL": (NOT_KEPT, [t + "zq9" for t in one])}


def measure(build, root, asked, options, folder):
    found = {}
    folder.mkdir()
    name = asked["a domain, kept"][1][0].rsplit("/", 1)[1]
    if options.only in "domaindex lookup, a process":
        out = folder / "lookup.out"
        dxtest.run(*callgrind(out, build / "domaindex", "lookup", "--root", root, name))
        found["domaindex lookup, a process"] = totals(out)
    for more in dict.fromkeys(options_of for options_of, _ in asked.values()):
        mine = {what: targets for what, (options_of, targets) in asked.items() if options_of == more and options.only in what}
        if not mine:
            continue
        here = folder / f"server-{len(found)}"
        here.mkdir(parents=True)
        with Counted(root, here, build / "domaindexd", *more) as server:
            for what, targets in mine.items():
                found[what] = server.count(targets, options.requests)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("--beside", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--only", default="", metavar="WORD")
    parser.add_argument("--root", type=pathlib.Path)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("file", nargs="?")
    options = parser.parse_args()
    dxtest.need_programs()
    if not shutil.which("callgrind_control"):
        dxtest.skip("no valgrind")
    r = Result("instructions", data=f"{options.root or options.file or pathlib.Path(where.CORPUS).name}; {NAMES} names evenly over all domains")
    with rounds.folder("dx-instructions-") as folder, where.root(options.root, options.file) as root:
        tmp = pathlib.Path(folder)
        asked = questions(root)
        builds = {"this revision": machine.BIN, **({"the one beside it": options.beside} if options.beside else {})}
        found = {name: measure(build, root, asked, options, tmp / name.replace(" ", "-")) for name, build in builds.items()}
    lines = ["| | instructions | asked | beside | ratio |", "| --- | --: | --: | --: | --: |"]
    for what, count in found["this revision"].items():
        other = found.get("the one beside it", {}).get(what)
        r.add(what, "this revision", "instructions", [count], more=False)
        if other:
            r.add(what, "the one beside it", "instructions", [other], more=False)
            r.ratio(what, "this revision", "the one beside it", "instructions")
        if what in ASKED:
            r.expect(f"{what}, instructions", f"<= {ASKED[what]:,}", round(count))
        lines.append(f"| {what} | {count:,.0f} | {f'<= {ASKED[what]:,}' if what in ASKED else ''} | "
                     f"{f'{other:,.0f} | {count / other:.3f}' if other else '|'} |")
    print("\n".join(lines))
    print(r.save(options.json))
    if options.write:
        r.keep("Instructions", lines)
    sys.exit(1 if dxtest.failures() else 0)


if __name__ == "__main__":
    main()
