#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: plain
"""What commands print for people carries no control character of a file name, a column, a row or an argument.

Each command runs on files, folders, columns and values that set the terminal's title, clear it and begin new lines; its
standard output and error must be UTF-8 of printable characters, tabs and its own line ends. JSON stays valid, and `files` and a rejects
file keep or escape names as they document it.
"""
import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dxtest  # noqa: E402

EVIL = b"e\x1b]0;t\x07\x1b[2J\x7f\xc2\x9b31m\xff"
FORGED = EVIL + b"\nforged: line"


def fault(text):
    """The first byte or character that a terminal must not have, or None."""
    try:
        shown = text.decode()
    except UnicodeDecodeError as e:
        return f"not UTF-8 at {e.start}"
    for i, c in enumerate(shown):
        if c not in "\t\n" and (ord(c) < 0x20 or 0x7f <= ord(c) < 0xa0):
            return f"U+{ord(c):04X} at {i}"
    return "a line of its own" if "\nforged" in shown else None


class Tried:
    def __init__(self):
        self.count, self.names = 0, set()

    def __call__(self, *args, want=None, stdin=b"", output=True):
        args = [a if isinstance(a, bytes) else os.fsencode(str(a)) for a in args]
        r = subprocess.run([os.fsencode(dxtest.DOMAINDEX), *args], input=stdin, capture_output=True, timeout=60)
        for name, text in (("stdout", r.stdout), ("stderr", r.stderr)):
            if name == "stdout" and not output:
                continue
            dxtest.check(fault(text) is None, f"{args}: {name}: {fault(text)}: {text[:300]!r}")
        if want is not None:
            dxtest.check(r.returncode == want, f"{args}: exit {r.returncode}, not {want}: {r.stderr[:300]!r}")
        self.count += 1
        self.names |= {line for line in (r.stdout + r.stderr).splitlines() if b"\\x1b]0;t\\x07" in line}
        return r


def main():
    dxtest.need_programs()
    tried = Tried()
    with dxtest.tempdir() as scratch:
        folder = os.fsencode(str(scratch))
        root = folder + b"/root" + FORGED
        tsv = folder + b"/in" + FORGED + b".tsv"
        with open(tsv, "wb") as f:
            f.write(b"url\t" + EVIL + b"\tdate\nhttp://a.example/" + EVIL + b"\tx\t2024-01-01\n"
                    b"no" + EVIL + b"\tx\t2024-01-01\nhttp://b.example/\tx\t" + EVIL + b"\n")
        absent = folder + b"/absent" + FORGED
        common = ("--root", root, "--dataset", "d", "--max-rejects", "100%")
        r = tried("ingest", "--detect", tsv, want=0)
        shown = r.stdout.splitlines()[-1].split(b" ", 2)[2].replace(b"ROOT", b"copy")
        dxtest.check(b"--dataset NAME" in shown, f"an invalid name is suggested: {shown!r}")
        r = subprocess.run([b"bash", b"-c", b'"$0" ingest --dry-run --max-rejects 100% ' + shown, os.fsencode(dxtest.DOMAINDEX)],
                           capture_output=True, cwd=folder, timeout=60)
        dxtest.check(r.returncode == 0, f"the suggested command: {shown!r}: {r.stderr[:300]!r}")
        tried("ingest", *common, "--dry-run", tsv, want=0)
        tried("ingest", *common, tsv, want=0)
        tried("ingest", "--root", root, "--dataset", EVIL, tsv)
        tried("ingest", "--root", root, "--dataset", "d", "--url-column", EVIL, tsv, want=1)
        tried("ingest", "--root", root, "--dataset", "d", absent, want=1)
        tried("ingest", "--root", root, "--dataset", "d", "--profile", FORGED, tsv, want=2)
        tried("ingest", "--" + FORGED.decode("latin-1"), want=2)
        journal = folder + b"/journal" + FORGED
        tried("ingest", "--root", root, "--dataset", "d", "--max-rejects", "100%", "--journal", journal, tsv)
        tried("publish", "--root", root, want=0)
        tried("publish", "--root", absent, want=1)
        tried("publish", "--root", root, "--dry-run")
        for url in (b"a.example", EVIL, FORGED, b"http://a.example/" + EVIL):
            tried("lookup", "--root", root, url)
        tried("lookup", "--root", absent, "a.example", want=1)
        for command in ("verify", "inspect", "datasets", "versions", "gc", "compact", "doctor", "capacity", "overlap", "diff",
                        "rollback", "remove", "backup", "export", "suppress", "access", "key", "domain64", "receipt",
                        "top-domains", "fetch-record", "adopt", "ship", "bench", "commit-table", "normalize"):
            for operands in ((), (FORGED,), (FORGED, EVIL)):
                tried(command, "--root", root, *operands)
            tried(command, "--root", absent)
            tried(command, FORGED)
        tried("inspect", root, want=0)
        tried("inspect", tsv)
        tried("inspect", absent, want=1)
        tried("verify", "--root", root, want=0)
        tried("suppress", "add", "--root", root, "--reason", FORGED, "url", "http://a.example/x")
        tried("suppress", "list", "--root", root)
        tried("access", "init", "--root", root)
        tried("access", "log", "--root", root)
        tried(FORGED, want=2)
        tried("help", FORGED)
        r = tried("ingest", *common, "--json", "--replace", tsv, want=0, output=False)
        dxtest.check(isinstance(json.loads(r.stdout), dict), f"--json: {r.stdout[:200]!r}")
        r = tried("files", "--root", root, want=0, output=False)
        dxtest.check(root in r.stdout, f"files: names are not exact: {r.stdout[:200]!r}")
        dxtest.check(len(tried.names) > 20, f"few messages name what they are about: {len(tried.names)}")
    print(f"{tried.count} runs, {len(tried.names)} lines with an escaped name")
    dxtest.finish()


main()
