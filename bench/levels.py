#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""levels.py - what answers cost by the number of parts that a version has.

    bench/levels.py N [--levels 1,2,4,8] [--rounds 3] [--seconds 1] [--names 200000] [--memory 2G] [--work DIR] [--json FILE] [--write]
                    [--limit SECONDS]

The same lake of N made-up domains (100K, 1M, 10M...; bench/make_rows) is published for each number of levels: the oldest part
has half of the domains and those above it the rest in equal shares, so that the load asks for domains of all levels; parts are kept apart by
--merge-max 1 --no-merge. Rows are ingested once and the oldest part is published once: the roots have them by hard links. Then, in interleaved
rounds, one server on one core and the load on the other, the others stopped:

    /v1/domain hit      names of all parts by Zipf's law (0.99)
    /v1/domain miss     names that are not there
    bulk                POST /v1/domains with all --names, half of them strangers, by curl: names/s
    overlap             of the two largest datasets, one connection, no kept answers: answers/s
                        of all these also how many the server answers in a second on a core: what a busy machine can be asked
    lookup              nanoseconds of a lookup of the loader, hit and miss, one by one and in batches (bench_levels)

and the ratio of each number of levels to one. After --limit seconds (1200) no round begins but the first: fewer rounds are measured then, and it says how
many. While the roots are made it ends with an error after that time. All below --work (default /var/tmp), deleted at the end.
"""
import argparse
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "support"), str(HERE.parent / "tests" / "support")]
import increments  # noqa: E402
import machine  # noqa: E402
import serve  # noqa: E402
from result import Result, median  # noqa: E402

BENCH_LEVELS = machine.BIN / "bench" / "bench_levels"

def add_lake(to, lake):
    """What was ingested into the lake since, and what a publish must know of it."""
    for file in sorted((lake.path / "urls").rglob("*.parquet")):
        at = to.path / file.relative_to(lake.path)
        if not at.exists():
            at.parent.mkdir(parents=True, exist_ok=True)
            os.link(file, at)
    (to.path / "registry.json").unlink()
    shutil.copy(lake.path / "registry.json", to.path)


def make(work, levels, options, end):
    """The roots with so many parts each. Each row is ingested once, and the oldest part published once."""
    lake = increments.Root(work / "lake", options, end)
    upper = options.domains // 2
    cuts = [upper * i // 7 for i in range(8)]   # seven batches, joined to as many parts as there are to be
    lake.ingest(options.domains - upper, 0, 1)
    roots = {}
    if max(levels) > 1:
        base = increments.linked(lake, work / "root-base")
        base.publish()
        roots = {level: increments.linked(base, work / f"root-{level}") for level in levels if level > 1}
    for batch in range(7):
        lake.ingest(cuts[batch + 1] - cuts[batch], options.domains - upper + cuts[batch], batch + 2)
        for level, root in roots.items():
            if (batch + 1) * (level - 1) // 7 > batch * (level - 1) // 7:
                add_lake(root, lake)
                root.publish("--merge-max", 1, "--no-merge")
    if 1 in levels:
        roots[1] = lake
        lake.publish()
    for level, root in roots.items():
        parts = 1 + len(root.version().get("parts", ()))
        if parts != level:
            sys.exit(f"{parts} parts, wanted {level}")
    return {level: roots[level] for level in levels}


def post(server, names, count, core):
    with machine.pinned(core):
        done = subprocess.run(["curl", "-sS", "-X", "POST", "-T", names, "-H", "Content-Type: text/plain", "-H", "Expect:", "-o", "/dev/null", "-w",
                               "%{http_code} %{time_total}", f"http://127.0.0.1:{server.port}/v1/domains?format=ndjson"],
                              check=True, capture_output=True, text=True)
    status, seconds = done.stdout.split()
    if status != "200":
        sys.exit(f"POST /v1/domains: {status}")
    return count, float(seconds)


def overlaps(server, pair, seconds):
    answers, begin = 0, time.monotonic()
    while time.monotonic() < begin + seconds:
        answer = server.get(f"/v1/datasets/{pair[0]}/overlap/{pair[1]}")
        if answer.status != 200:
            sys.exit(f"overlap: {answer.status}")
        answers += 1
    return answers, time.monotonic() - begin


def asked(load, server, mix, seconds):
    figures = load.run(server.port, [mix], seconds, warm=0)
    return figures["requests"], figures["requests"] / figures["rate"]


def largest(server):
    datasets = sorted(server.get("/v1/datasets").json["datasets"], key=lambda d: -d["domain_count"])
    return datasets[0]["dataset_id"], datasets[1]["dataset_id"]


def nanoseconds(roots, known, core, rounds, end):
    """{kind: {levels: [ns]}}"""
    found = {}
    for i in range(rounds):
        if i > 0 and time.monotonic() > end:
            break
        for levels, root in roots.items():
            with machine.pinned(core):
                done = subprocess.run([BENCH_LEVELS, root.path, known, "2"], check=True, capture_output=True, text=True)
            for kind, ns in json.loads(done.stdout.splitlines()[-1]).items():
                if kind not in ("parts", "names"):
                    found.setdefault(kind, {}).setdefault(levels, []).append(ns)
    return found


def measure(roots, work, options, end, result, say):
    server_core, load_core = machine.cores()
    load = serve.Load(load_core, work)
    known = increments.names(roots[max(roots)], options.names)
    strangers = [f"{i:x}-absent.invalid" for i in range(len(known))]
    for name, lines in (("known", known), ("bulk", [name for both in zip(known, strangers) for name in both]),
                        ("hit", [f"/v1/domain/{name}\t1\t200" for name in known]), ("miss", [f"/v1/domain/{name}\t1\t404" for name in strangers])):
        (work / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    seen = {}
    with contextlib.ExitStack() as stack:
        servers = {levels: stack.enter_context(serve.Ours(f"{levels}", root.path, server_core, "--threads", 1, "--cache-answers", 0))
                   for levels, root in roots.items()}
        pair = largest(servers[min(roots)])
        for i in range(options.rounds + 1):     # the first warms
            if time.monotonic() > end and i > 1:
                say(f"{i - 1} of {options.rounds} rounds in {options.limit:.0f} s\n")
                break
            for levels, server in servers.items():
                with serve.only(server, list(servers.values())):
                    for what, unit, ask in (
                            ("/v1/domain hit", "requests", lambda s=server: asked(load, s, f"{work / 'hit.txt'}:1:zipf=0.99", options.seconds)),
                            ("/v1/domain miss", "requests", lambda s=server: asked(load, s, f"{work / 'miss.txt'}", options.seconds)),
                            ("bulk", "names", lambda s=server: post(s, work / "bulk.txt", 2 * len(known), load_core)),
                            ("overlap", "answers", lambda s=server: overlaps(s, pair, options.seconds))):
                        begin = server.cpu_s()
                        count, seconds = ask()
                        cpu = server.cpu_s() - begin
                        if i > 0:
                            seen.setdefault(f"{what}, {unit}/s", {}).setdefault(levels, []).append(count / seconds)
                            seen.setdefault(f"{what}, {unit}/CPU s", {}).setdefault(levels, []).append(count / cpu)
    if load.wrong:
        sys.exit(f"{load.wrong} replies were wrong")
    for kind, values in nanoseconds(roots, work / "known.txt", server_core, options.rounds, end).items():
        seen[f"lookup, {kind}, ns"] = values
    report(seen, result, say)


def report(seen, result, say):
    say("| | " + " | ".join(f"{levels}" for levels in next(iter(seen.values()))) + " | the most to one |")
    say("| --- | " + " | ".join("--:" for _ in next(iter(seen.values()))) + " | --: |")
    for what, by_levels in seen.items():
        group, unit = what.rsplit(", ", 1)
        for levels, values in by_levels.items():
            result.add(group, f"{levels}", unit, values, more=unit != "ns")
        least, most = f"{min(by_levels)}", f"{max(by_levels)}"
        ratio = result.ratio(group, most, least, unit)
        say(f"| {what} | " + " | ".join(f"{median(values):,.0f}" for values in by_levels.values()) + f" | {ratio:.2f} |")
        if group == "/v1/domain hit":
            result.expect(f"/v1/domain under Zipf traffic, {most} levels to {least}, {unit}", ">= 0.9", ratio)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("domains", type=increments.count_of)
    parser.add_argument("--levels", default="1,2,4,8")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--names", type=increments.count_of, default=200000)
    parser.add_argument("--memory", default="2G")
    parser.add_argument("--work", default="/var/tmp")
    parser.add_argument("--limit", type=float, default=1200)
    parser.add_argument("--json")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    levels = [int(level) for level in options.levels.split(",")]
    result = Result(f"levels-{options.domains}", f"{options.domains:,} made-up domains in {options.levels} parts")
    lines = []

    def say(text):
        print(text, flush=True)
        lines.append(text)

    work = pathlib.Path(tempfile.mkdtemp(dir=options.work, prefix="domaindex-levels-"))
    try:
        end = time.monotonic() + options.limit
        measure(make(work, levels, options, end), work, options, end, result, say)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    result.save(options.json)
    if options.write:
        result.keep(f"Answers by the number of parts, {options.domains:,} domains", [*lines, "", *result.expectations()])


if __name__ == "__main__":
    main()
