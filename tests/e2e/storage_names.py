#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: slow timed
"""A store that is known by a name, and a resolver whose answers go wrong.

Runs in a network namespace of its own, where 127.0.0.1:53 is faultproxy.Names: skipped where no
such namespace can be made (it wants root, or user namespaces). For each fault of names:
a server that starts ends with words; one that has started gives 5xx with words within its
deadline, and right answers as soon as the name is found again.
"""
import fcntl
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time

import dxtest
import faultproxy
import pipeline
import roots
import stores

DEADLINE_MS = 4000
SLACK_MS = 1500 if not dxtest.SANITIZED else 3000
INSIDE = "DX_STORAGE_NAMES_INSIDE"
# Of another address nothing is known but that nobody answers there.
HOST = "lake.example"


def go_inside():
    """Runs this again where loopback is ours."""
    own = ["unshare", "--net", "--mount"]
    if os.geteuid() != 0:
        own = ["unshare", "--user", "--map-root-user", "--net", "--mount"]
    if not shutil.which("unshare") or subprocess.run([*own, "true"], capture_output=True).returncode:
        dxtest.skip("no network namespace can be made here (root or user namespaces)")
    os.environ[INSIDE] = "1"
    os.execvp(own[0], [*own, sys.executable, *sys.argv])


def loopback_up():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        request = struct.pack("16sh14x", b"lo", 0x1 | 0x40)      # up, running
        fcntl.ioctl(link, 0x8914, request)                        # SIOCSIFFLAGS


def resolve_here(tmp):
    (tmp / "resolv.conf").write_text("nameserver 127.0.0.1\noptions timeout:1 attempts:2\n")
    (tmp / "nsswitch.conf").write_text("hosts: files dns\n")
    for name in ("resolv.conf", "nsswitch.conf"):
        target = os.path.realpath(f"/etc/{name}")
        if not os.path.exists(target) or subprocess.run(
                ["mount", "--bind", str(tmp / name), target], capture_output=True).returncode:
            dxtest.skip(f"/etc/{name} cannot be replaced in a mount namespace")


def truth(root):
    names = roots.domains(root)
    with dxtest.Server(root, *dxtest.SAME_BYTES) as server, pipeline.Client(server) as client:
        targets = [f"/v1/domain/{answer['domain']}/datasets/{answer['datasets'][0]['dataset_id']}/urls"
                   for _, _, body in client.ask([f"/v1/domain/{d}" for d in names[:40]])
                   for answer in [json.loads(body)]]
        return [(target, body) for target, _, body in client.ask(targets)]


def check_start(url, fault):
    with tempfile.TemporaryDirectory(prefix="domaindex-test-") as cache, \
            stores.environment({"CACHE_DIRECTORY": cache}):
        begin = time.monotonic()
        done = dxtest.run(dxtest.DOMAINDEXD, "--root", url, "--listen", "127.0.0.1:0", expect=1,
                          timeout=120)
        words = done.stderr.decode("utf-8", "replace")
        dxtest.check(HOST in words, f"start, {fault}: {words}")
        print(f"start, {fault}: {time.monotonic() - begin:.1f} s: {words.strip().splitlines()[-1]}")


def check_running(url, names, fault, want, cache):
    with stores.environment({"CACHE_DIRECTORY": str(cache)}), \
            dxtest.Server(url, *dxtest.SAME_BYTES, "--job-timeout-ms", DEADLINE_MS) as server:
        names.fault = fault
        for target, _ in want[:3 if dxtest.WHOLE else 1]:
            begin = time.monotonic()
            reply = server.get(target)
            spent_s = time.monotonic() - begin
            dxtest.check(reply.status in (502, 503, 504) and len(reply.json["detail"]) > 10,
                         f"{fault}: {reply.status} {reply.body[:200]!r}")
            dxtest.in_time(spent_s, (DEADLINE_MS + SLACK_MS) / 1000, fault)
        names.fault = None
        dxtest.wait_until(lambda: server.get(want[0][0]).status == 200)
        for target, body in want:
            reply = server.get(target)
            dxtest.check(reply.status == 200 and reply.body == body,
                         f"{fault} is over: {reply.status} {reply.body[:200]!r}")


def main():
    dxtest.need_programs()
    if not os.environ.get(INSIDE):
        go_inside()
    loopback_up()
    with dxtest.tempdir() as tmp:
        resolve_here(tmp)
        root = roots.make(tmp, seed=4, count=2_000)
        want = truth(root)
        (tmp / "cache").mkdir()
        with faultproxy.Names() as names, faultproxy.Proxy(str(root)) as proxy:
            url = f"http://{HOST}:{proxy.port}"
            for fault in faultproxy.NAME_FAULTS:
                names.fault = fault
                check_start(url, fault)
                names.fault = None
                check_running(url, names, fault, want, tmp / "cache")
            dxtest.check(names.count > 10, f"the resolver was asked {names.count} times")
            print(f"{len(faultproxy.NAME_FAULTS)} faults of names, {names.count} questions")
    dxtest.finish()


if __name__ == "__main__":
    main()
