#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: tree
"""web/dist is what web/src builds: types check, a build with the locked packages gives the same files, and their gzip unpacks to them."""
import gzip
import os
import shutil
import subprocess

import dxtest
from dxtest import equal

WEB = dxtest.SOURCE / "web"


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def main():
    done = subprocess.run([dxtest.SOURCE / "scripts" / "web_tools.sh"], stdout=subprocess.PIPE, check=False)
    if done.returncode == 77:
        dxtest.skip("the packages of web/package-lock.json cannot be had here (npm)")
    with dxtest.tempdir() as tmp:
        copy = tmp / "web"
        shutil.copytree(WEB, copy, ignore=shutil.ignore_patterns("node_modules", "dist"))
        os.symlink(done.stdout.decode().strip() + "/node_modules", copy / "node_modules")
        dxtest.run("node_modules/.bin/tsc", "--noEmit", cwd=copy)
        dxtest.run("node", "build.mjs", cwd=copy)
        built, kept = contents(copy / "dist"), contents(WEB / "dist")
        equal(sorted(built), sorted(kept), "files of web/dist (npm ci && npm run build in web/ makes them)")
        for name, data in kept.items():  # another zlib may pack otherwise: what it unpacks to counts
            unpack = gzip.decompress if name.endswith(".gz") else bytes
            equal(unpack(data) == unpack(built.get(name, b"") or gzip.compress(b"")), True, f"web/dist/{name}")
    dxtest.finish()


if __name__ == "__main__":
    main()
