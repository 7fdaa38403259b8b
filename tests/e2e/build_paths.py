#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: tree long
"""The same sources built in two folders give the same bytes: the program domaindex with its debugging information, and the libraries in it.

In detail: the tracked files, copied to two paths of different length, are built there by CMake without ccache, as a package is, into build
folders of different names; the bytes of the program and of each archive are compared, and none of them names the folder.
"""
import hashlib
import subprocess

import dxtest
from dxtest import check, equal


def copy_tree(to):
    to.mkdir(parents=True)
    names = dxtest.run("git", "-C", dxtest.SOURCE, "ls-files", "-z").stdout
    with subprocess.Popen(["tar", "--directory", dxtest.SOURCE, "--null", "--files-from=-", "--create"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as tar:
        with subprocess.Popen(["tar", "--directory", to, "--extract"], stdin=tar.stdout) as out:
            tar.stdin.write(names)
            tar.stdin.close()
            equal((tar.wait(), out.wait()), (0, 0), "tar")


def build(source, folder):
    at = source / folder
    dxtest.run("cmake", "-S", source, "-B", at, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DDX_TESTS=OFF", "-DDX_BENCH=OFF", "-DDX_CCACHE=OFF")
    dxtest.run("nice", "cmake", "--build", at, "--target", "domaindex", timeout=7200)
    made = [at / "domaindex", *sorted(at.glob("*.a"))]
    for path in made:
        check(str(source).encode() not in path.read_bytes(), f"{path.name} names the folder that it was built in")
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in made}


def main():
    with dxtest.tempdir() as tmp:
        trees = [(tmp / "one", "build"), (tmp / "another" / "longer" / "path", "out")]
        made = []
        for source, folder in trees:
            copy_tree(source)
            made.append(build(source, folder))
        check(len(made[0]) > 5, f"archives: {sorted(made[0])}")
        equal(made[1], made[0], "bytes of what was built in two folders")
    dxtest.finish()


if __name__ == "__main__":
    main()
