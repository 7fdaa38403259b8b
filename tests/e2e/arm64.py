#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: slow tree long
"""arm64: the cross build of scripts/arm64.sh, its unit tests under qemu-user, the bytes of an index beside those of this machine's programs, and a
server. Skips loudly where the cross compiler, qemu-user or Debian's arm64 packages cannot be had. What races or measures time is left to real
machines (LEFT_OUT). DX_ARM64_TESTS: only the unit tests that this regular expression names.
"""
import os
import re
import signal
import subprocess
import sys

import dxtest
from dxtest import check, equal

BUILD = dxtest.SOURCE / "build" / "arm64"
SYSROOT = dxtest.SOURCE / "build" / "arm64-sysroot"


def emulated(program):
    return ["qemu-aarch64", "-L", SYSROOT, BUILD / program]


def wrapper(folder):
    """A program that other tests can start."""
    folder.mkdir()
    path = folder / "domaindex"
    path.write_text(f'#!/bin/sh\nexec {" ".join(map(str, emulated("libexec/domaindex/domaindex")))} "$@"\n')
    path.chmod(0o755)
    return folder


# An emulated test takes some twenty times as long: there are samples, as in the gate, and fewer bits are damaged (docs/TESTING.md; primes).
FEWER = {"DX_FLIP_STEP": "1009", "DX_DAMAGE_STEP": "10007", "DX_BELIEVED_STEP": "1009", "DX_VERIFY_STEP": "49999", "DX_INSPECT_STEP": "1009"}


# qemu-user takes MADV_POPULATE_READ for advice (the first two); the others measure time, or what a request costs in CPU time.
LEFT_OUT = ("test_map", "test_self_test", "test_credentials", "test_fetch_loop", "test_ingest_claim", "test_charge")


def unit_tests():
    env = {**FEWER, **os.environ}
    env.pop("DX_WHOLE", None)
    done = subprocess.run(["nice", "ctest", "--test-dir", BUILD, "-L", "unit", "-E", f"^(fuzz_.*|{'|'.join(LEFT_OUT)})$", "-R", os.environ.get("DX_ARM64_TESTS", "."), "-j", str(os.cpu_count()), "--output-on-failure", "--no-tests=error"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=env, check=False)
    words = done.stdout.decode("utf-8", "replace")
    check(done.returncode == 0, f"unit tests under qemu: {words[-6000:]}")
    print(re.search(r".*tests passed.*", words).group(0) if "tests passed" in words else words[-500:], flush=True)


def same_bytes(tmp):
    done = dxtest.run(sys.executable, dxtest.SOURCE / "tests/e2e/determinism.py", env={"DX_OTHER_BIN_DIR": str(wrapper(tmp / "arm64"))}, timeout=3600)
    check(b"left out" not in done.stdout and b" 0 failed" in done.stdout, f"the bytes of an index: {done.stdout[-2000:]}")


def serve(tmp):
    (tmp / "urls").write_text("https://example.com/a\n")
    program = emulated("libexec/domaindex/domaindex")
    dxtest.run(*program, "ingest", "--root", tmp / "root", "--dataset", "d", "--format", "list", tmp / "urls")
    dxtest.run(*program, "publish", "--root", tmp / "root")
    path = tmp / "domaindexd"
    path.write_text(f'#!/bin/sh\nexec {" ".join(map(str, emulated("domaindexd")))} "$@"\n')
    path.chmod(0o755)
    with dxtest.Server(tmp / "root", "--sandbox", "no", "--threads", 2, program=path) as server:
        equal(server.get("/v1/domain/example.com").json["dataset_count"], 1, "an answer of the emulated server")
        check(b'"https://example.com/a"' in server.get("/v1/domain/example.com/datasets/1/urls").body, "and its page")
        server.process.send_signal(signal.SIGHUP)
        equal(server.get("/v1/domain/none.example").status, 404, "after a reload")


def main():
    dxtest.need_programs()
    done = subprocess.run([dxtest.SOURCE / "scripts/arm64.sh", "domaindex", "domaindex_all", "domaindexd", "unit_runners"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode == 77:
        dxtest.skip(done.stderr.decode().strip())
    equal(done.returncode, 0, f"cross build: {done.stdout[-3000:].decode('utf-8', 'replace')}{done.stderr[-2000:].decode('utf-8', 'replace')}")
    machine = dxtest.run("readelf", "-h", BUILD / "domaindexd").stdout.decode()
    check("AArch64" in machine, f"the program's machine: {machine}")
    with dxtest.tempdir() as tmp:
        serve(tmp)
        same_bytes(tmp)
    unit_tests()
    dxtest.finish()


if __name__ == "__main__":
    main()
