#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""lookup.py - domain -> ordinal without HTTP: bytes a domain, build, ns a lookup.

    bench/lookup.py [--names 1000000,10000000] [--rounds 5] [--json FILE] [--write]
    bench/lookup.py --names 1000000,10000000,50000000,100000000 --rounds 7 --write     all of the issue

Indexes of made-up names, and of the real registered domains where they are (DX_SHARED_DATA), stay in
build/bench/lookup and are built once: 2 µs a name, 44 B of memory. Rounds go over all sizes in
turn, each in a process of its own on the second core: a second a size and round. "one": each
question by itself; "one behind the other": asked when the one before is answered; "batch": 512 at once.
--other PROGRAM: a bench_lookup of another revision, asked in the same rounds; it must read the same files.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))
import machine                                                                    # noqa: E402
from result import Result                                                         # noqa: E402

PROGRAM = machine.BIN / "bench/bench_lookup"
SHARED = pathlib.Path(os.environ.get("DX_SHARED_DATA", machine.SOURCE / "../shared/data"))
REAL = SHARED / "lists/derived/registered-domains-permissive.txt.zst"
WORDS = {"loop": "one", "dependent": "one behind the other", "batch": "batch"}
KINDS = {"hit": "found", "miss": "stranger"}
ASKED = {10_000_000: {"hit loop": 500, "miss loop": 70}, 100_000_000: {"hit loop": 770, "miss loop": 115}}


def folder_of(name):
    return machine.SOURCE / "build/bench/lookup" / name


def build(name, what):
    """Built before: what it took then."""
    folder = folder_of(name)
    told = folder / "build.json"
    if not told.exists():
        folder.mkdir(parents=True, exist_ok=True)
        done = subprocess.run([PROGRAM, "build", folder, str(what)], check=True, capture_output=True, text=True)
        told.write_text(done.stdout, encoding="utf-8")
    return json.loads(told.read_text(encoding="utf-8"))


def build_real():
    if not REAL.exists():
        return None
    text = folder_of("real") / "names.txt"
    if not text.exists():
        text.parent.mkdir(parents=True, exist_ok=True)
        with open(text, "wb") as out:
            subprocess.run(["zstd", "-dc", REAL], check=True, stdout=out)
    return build("real", text)


def ask(program, name, core):
    """Sizes; what each block touched for the first time costs; ns of one pass."""
    with machine.pinned(core):
        done = subprocess.run([program, "ask", folder_of(name), "1"], check=True, capture_output=True, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def measure(r, sizes, programs, rounds):
    _, core = machine.cores()
    machine.prefer()
    seen = {(name, who): [] for name in sizes for who in programs}
    for _ in range(rounds):
        for name in sizes:
            for who, program in programs.items():
                seen[name, who].append(ask(program, name, core))
    for (name, who), passes in seen.items():
        for kind, said in KINDS.items():
            for how, words in WORDS.items():
                r.add(f"{name} domains, {said}", f"{words}{who}", "ns", [p[2][f"{kind} {how}"] for p in passes],
                      more=False)
            r.ratio(f"{name} domains, {said}", f"one{who}", f"batch{who}", judged=f"batch{who}")
        r.add(f"{name} domains, found", f"first touch{who}", "ns", [p[1]["first"] for p in passes], more=False)
        if "large" in passes[0][1]:
            r.add(f"{name} domains, files", f"in pages of 2 MiB{who}", "share", [p[1]["large"] for p in passes], more=True)
    return {name: seen[name, ""][0][0] for name in sizes}


def expectations(r, sizes, bytes_of):
    for name, n in sizes.items():
        for key, most in ASKED.get(n, {}).items():
            kind, how = key.split()
            group = f"{name} domains, {KINDS[kind]}"
            r.expect(group, f"<= {most} ns", r.row(group, WORDS[how])["median"])
            ratio = next(x for x in r.figures["ratios"] if x["group"] == group and x["name"] == "one")
            r.expect(f"{group}, batch faster than one by", ">= 3", ratio["median"])
        b = bytes_of[name]
        r.expect(f"{name} domains, bytes a domain", "<= 13", b["dict"] + b["mphf"])


def text(r, sizes, bytes_of, built):
    yield from r.expectations()
    yield ""
    yield "| domains | dictionary B | of that data, places | mphf B | of that pilots, slots | sum | build, ns a domain: dictionary, pilots, slots |"
    yield "| --- | --: | --: | --: | --: | --: | --: |"
    for name in sizes:
        b, t = bytes_of[name], built[name]
        yield (f"| {name} | {b['dict']:.2f} | {b['data']:.2f}, {b['places']:.2f} | {b['mphf']:.2f} | "
               f"{b['pilots']:.2f}, {b['slots']:.2f} | {b['dict'] + b['mphf']:.2f} | "
               f"{t['dictionary_ns']:.0f}, {t['pilots_ns']:.0f}, {t['slots_ns']:.0f} |")
    yield ""
    yield "| ns a lookup, median (lowest) | one | one behind the other | batch | of the files in pages of 2 MiB |"
    yield "| --- | --: | --: | --: | --: |"
    for name in sizes:
        large = r.row(f"{name} domains, files", "in pages of 2 MiB")["median"]
        for said in KINDS.values():
            cells = [r.row(f"{name} domains, {said}", w) for w in WORDS.values()]
            yield (f"| {name}, {said} | " +
                   " | ".join(f"{c['median']:.0f} ({min(c['values']):.0f})" for c in cells) + f" | {large:.2f} |")


def short(n):
    return f"{n // 1_000_000} M" if n % 1_000_000 == 0 else f"{n:,}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("--names", default="1000000,10000000")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--other", help="a bench_lookup of another revision")
    parser.add_argument("--json")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    sizes = {short(int(n)): int(n) for n in options.names.split(",")}
    built = {name: build(name, n) for name, n in sizes.items()}
    real = build_real()
    if real is not None:
        sizes["real"], built["real"] = real["n"], real
    programs = {"": PROGRAM} | ({", other": pathlib.Path(options.other)} if options.other else {})
    r = Result("lookup", data="made-up names (bench/names.h); real: registered domains of several lists, "
               f"{built.get('real', {}).get('n', 0):,}")
    bytes_of = measure(r, sizes, programs, options.rounds)
    expectations(r, sizes, bytes_of)
    lines = list(text(r, sizes, bytes_of, built))
    print("\n".join(lines))
    print(r.save(options.json))
    if options.write:
        r.keep("Lookup without HTTP", lines)


if __name__ == "__main__":
    main()
