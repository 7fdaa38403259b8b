#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: short tree
"""What tests install from registries is pinned with hashes: each package of tests/e2e/requirements*.lock, which have all that the lists beside them
ask for in the versions that these ask for, and each package of the npm locks. A hash that does not fit ends an install.
"""
import json
import os
import re
import sys

import dxtest
from dxtest import SOURCE, check, equal

FOLDER = SOURCE / "tests" / "e2e"
LOCKED = re.compile(r"([a-z0-9.-]+)==([^ ]+) --hash=sha256:[0-9a-f]{64}")


def name_of(text):
    return re.sub(r"[-_.]+", "-", text.split("[")[0]).lower()


def lines_of(wanted):
    """Of a list, and of the lists that it takes in by -r."""
    for line in wanted.read_text().splitlines():
        if line.startswith("-r "):
            yield from lines_of(wanted.parent / line[3:])
        elif line and not line.startswith("#"):
            yield line


def python_lists():
    scripts = "".join(p.read_text() for p in (SOURCE / "scripts").glob("*.sh"))
    for lock in sorted(FOLDER.glob("*.lock")):
        lines = [line for line in lock.read_text().splitlines() if not line.startswith("#")]
        found = [LOCKED.fullmatch(line) for line in lines]
        check(all(found), f"{lock.name}: each line is a package, its version and a hash: {[line for line, match in zip(lines, found) if not match][:2]}")
        known = {name_of(match[1]): match[2] for match in found if match}
        equal(len(known), len(lines), f"{lock.name}: a package once")
        for line in lines_of(lock.with_suffix(".txt")):
            name, version = line.split(";")[0].strip().split("==")
            equal(known.get(name_of(name)), version, f"{lock.name}: {name} as in {lock.stem}.txt; scripts/lock_peers.py writes it")
        check(re.search(rf"(?m)(lists=\"?|python_env\.sh [a-z-]+ ){lock.stem}\b", scripts), f"{lock.name} is used")
    check('--require-hashes --requirement tests/e2e/$list.lock' in scripts, "scripts/python_env.sh takes the hashes")
    check(len(list(FOLDER.glob("*.lock"))) >= 2, "there are locks")


def npm_locks():
    locks = [p for p in SOURCE.glob("*/package-lock.json") if "build" not in p.parts]
    for lock in locks:
        packages = json.loads(lock.read_text())["packages"]
        bare = [name for name, p in packages.items() if name and not p.get("link") and not p.get("integrity", "").startswith("sha512-")]
        check(not bare, f"{lock}: without a hash: {bare[:3]}")
    check(locks, "there is an npm lock")


def a_wrong_hash(tmp):
    """By pip itself, from a file of this machine: nothing is asked of a registry."""
    (tmp / "thing").mkdir()
    (tmp / "thing" / "pyproject.toml").write_text('[project]\nname = "thing"\nversion = "1"\n')
    archive = tmp / "thing-1.tar.gz"
    dxtest.run("tar", "-C", tmp, "-czf", archive, "thing")
    (tmp / "wrong.lock").write_text(f"thing @ file://{archive} --hash=sha256:{'0' * 64}\n")
    done = dxtest.run(sys.executable, "-m", "pip", "download", "--no-index", "--no-deps", "--no-build-isolation", "--require-hashes", "-r", tmp / "wrong.lock", "-d", tmp / "out",
                      expect=None, env={"PIP_DISABLE_PIP_VERSION_CHECK": "1", "HOME": str(tmp)})
    check(done.returncode != 0 and b"HASH" in done.stderr.upper(), f"a file with another hash is refused: {done.stderr[-300:]}")


def main():
    python_lists()
    npm_locks()
    if os.access(sys.executable, os.X_OK) and dxtest.run(sys.executable, "-m", "pip", "--version", expect=None).returncode == 0:
        with dxtest.tempdir() as tmp:
            a_wrong_hash(tmp)
    dxtest.finish()


if __name__ == "__main__":
    main()
