#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/e2e/NAME.lock of tests/e2e/NAME.txt: every package that pip takes for it, also those that others ask for, with its version and the
SHA-256 of the file, so that an install with --require-hashes gets these bytes or nothing.

    build/peers/bin/python scripts/lock_peers.py requirements requirements-gate requirements-cdx

The hashes are of the files for the Python and the machine that it runs with: CPython 3.11 on x86-64 (Debian 12) in the tree.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests" / "e2e"


def report(wanted):
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--dry-run", "--ignore-installed",
                        "--report", out.name, "--requirement", wanted], check=True)
        return json.load(out)["install"]


def main(names):
    for name in names or ["requirements"]:
        lines = sorted(f"{p['metadata']['name'].lower().replace('_', '-')}=={p['metadata']['version']} --hash=sha256:{p['download_info']['archive_info']['hashes']['sha256']}"
                       for p in report(FOLDER / f"{name}.txt"))
        (FOLDER / f"{name}.lock").write_text(f"# Of {name}.txt, by scripts/lock_peers.py: for CPython {sys.version_info[0]}.{sys.version_info[1]} on x86-64 Linux.\n" + "".join(f"{line}\n" for line in lines))


if __name__ == "__main__":
    main(sys.argv[1:])
