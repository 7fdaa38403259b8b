#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: slow compilers
"""The same records give the same bytes: any number of threads, any order, any compiler, any memory.

DX_OTHER_BIN_DIR names programs built by another compiler (scripts/test.sh: those of the stage asan, by clang); without it
build/asan is taken, and where that is missing the comparison of compilers is reported as left out.
"""
import hashlib
import os
import pathlib
import random

import corpus
import dxtest

ROWS = 20_000


def build(binaries, tmp, name, source, threads, memory):
    """Makes a root and returns {relative path: hash} of its lake and of its index version."""
    root = tmp / name
    program = pathlib.Path(binaries) / "domaindex"
    options = ["--memory", memory]
    dxtest.run(program, "ingest", "--root", root, "--format", "tsv", "--dataset-column", 1,
               "--ts-column", 2, "--url-column", 3, "--extra-column", 4, "--extra-column", "tags", "--header", *options, *threads,
               source)
    dxtest.run(program, "publish", "--root", root, *options, *threads)
    hashes = {}
    for part in ("urls", "index"):
        for path in sorted((root / part).rglob("*")):
            relative = path.relative_to(root / part)
            if not path.is_file() or relative.name == "manifest.json" or "reject" in relative.name:
                continue
            # The version's directory is named for the time of publishing.
            key = pathlib.Path(part, *relative.parts[1:]) if part == "index" else path.relative_to(root)
            hashes[str(key)] = hashlib.sha256(path.read_bytes()).hexdigest()
    return hashes


def compare(want, got, words):
    dxtest.equal(sorted(got), sorted(want), f"{words}: files")
    for path in want:
        dxtest.equal(got.get(path), want[path], f"{words}: bytes of {path}")


def main():
    dxtest.need_programs()
    other = os.environ.get("DX_OTHER_BIN_DIR") or dxtest.SOURCE / "build" / "asan"
    rng = random.Random(5)
    tags = ("", '["news"]', '["b","a","news"]', "none", '["\u00fc"]')
    lines = ["\t".join((*raw, f'["{i % 300}"]' if i % 5 == 0 else rng.choice(tags))) + "\n"
             for i, (raw, _) in enumerate(corpus.rows(seed=2, count=ROWS))]
    head = "dataset\tts\turl\tnote\ttags\n"
    help_text = dxtest.domaindex("ingest", "--help").stdout
    one, two = ((), ()) if b"--threads" not in help_text else (("--threads", 1), ("--threads", 2))
    with dxtest.tempdir() as tmp:
        plain, shuffled = tmp / "plain.tsv", tmp / "shuffled.tsv"
        plain.write_text(head + "".join(lines), encoding="utf-8")
        # Ids go to datasets in the order of their first record: the first of each stays in front.
        seen, front, rest = set(), [], []
        for line in lines:
            name = line.split("\t", 1)[0]
            (rest if name in seen else front).append(line)
            seen.add(name)
        random.Random(4).shuffle(rest)
        shuffled.write_text(head + "".join(front + rest), encoding="utf-8")
        want = build(dxtest.BIN, tmp, "first", plain, one, "256M")
        index = sum(path.startswith("index") for path in want)
        dxtest.check("index/tags.dxt" in want, f"no tags.dxt: {sorted(want)[:40]}")
        dxtest.check(index > 10 and len(want) - index > 10, f"files: {index} of the index, {len(want)} in all")
        compare(want, build(dxtest.BIN, tmp, "again", plain, one, "256M"), "the same once more")
        compare(want, build(dxtest.BIN, tmp, "threads", plain, two, "256M"), "two threads")
        compare(want, build(dxtest.BIN, tmp, "small", plain, two, "64M"), "less memory")
        compare(want, build(dxtest.BIN, tmp, "shuffled", shuffled, two, "256M"), "shuffled input")
        if (pathlib.Path(other) / "domaindex").exists():
            compare(want, build(other, tmp, "compiler", plain, two, "256M"), "the other compiler")
        else:
            print(f"left out: no programs of another compiler in {other}")
        changed = tmp / "changed.tsv"
        changed.write_text(head + "".join(lines[:-1]), encoding="utf-8")
        dxtest.check(build(dxtest.BIN, tmp, "changed", changed, one, "256M") != want,
                     "self-test: a record less must change the bytes")
    dxtest.finish()


if __name__ == "__main__":
    main()
