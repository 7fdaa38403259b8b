#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: slow
"""The server's sandbox: what it refuses, what still works in it, and as what it may be found from outside.

In detail: `--selftest-sandbox`: some 90 things that work without the sandbox are refused in it, and it fails
if one is not; a life in the sandbox with flips and a lease; no new privileges and a filter in all threads; an
index by links; as a user without rights. The other tests of the server run in it too.
"""
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess

import dxtest
from dxtest import check, equal


def publish(root, tmp, number):
    rows = "".join(f"d{n}\thttps://example.com/{n}\n" for n in range(1, number + 1))
    (tmp / "rows.tsv").write_text(rows)
    dxtest.domaindex("ingest", "--root", root, "--format", "tsv", "--dataset-column", 1, "--url-column", 2,
                     tmp / "rows.tsv")
    return dxtest.domaindex("publish", "--root", root).stdout.decode().split()[0]


def tree(folder):
    return {str(p.relative_to(folder)): p.stat().st_mtime_ns for p in folder.rglob("*") if "leases" not in p.parts}


def trials(root, tmp):
    """--selftest-sandbox: as for this root, and as for one over a network, which may reach for more."""
    before = tree(root)
    done = dxtest.run(dxtest.DOMAINDEXD, "--selftest-sandbox", "--root", root, expect=None)
    words = done.stdout.decode()
    if "landlock 0" in words or "no sandbox" in words:
        dxtest.skip(words.splitlines()[-1])
    equal(done.returncode, 0, words)
    refused = re.findall(r"(?m)^refused: (.*) \(", words)
    # Each is refused inside and works outside; the rest of a hundred fails outside too, for want of rights or of a kernel that has it.
    check(len(refused) >= 70 and len(set(refused)) == len(refused), f"{len(refused)} kinds refused")
    for deed in ("connect by sending (MSG_FASTOPEN)", "the same with sendmsg", "send a datagram", "listen without a port", "touch it",
                 "connect to a unix socket", "send to a unix socket", "connect an accepted connection elsewhere", "listen",
                 "send to it from the supervisor's socket", "connect the supervisor's socket elsewhere"):
        check(deed in refused, f"{deed}: refused, and works without the sandbox")
    check("NOT" not in words and words.count("\nallowed: ") == 3, words)
    equal(tree(root), before, "the root after the trial")
    done = dxtest.run(dxtest.DOMAINDEXD, "--selftest-sandbox", "--root", "http://127.0.0.1:1/", "--cache-dir", tmp / "cache",
                      env={"TMPDIR": str(tmp)})
    words = done.stdout.decode()
    check(len(re.findall(r"(?m)^refused: ", words)) >= 60 and "NOT" not in words, words)
    left = [p.name for p in tmp.iterdir() if "trial" in p.name]
    equal(left, [], "nothing of the trial is left")
    # It can fail: a file within what may be read, and no sandbox at all.
    (tmp / "key").write_bytes(b"k" * 32)
    done = dxtest.run(dxtest.DOMAINDEXD, "--selftest-sandbox", "--root", root, "--cursor-key-file", tmp / "key", expect=1,
                      env={"TMPDIR": str(tmp)})
    check(b"NOT REFUSED: read another's file" in done.stdout, done.stdout)
    done = dxtest.run(dxtest.DOMAINDEXD, "--selftest-sandbox", "--root", root, "--sandbox", "no", expect=1)
    check(b"no sandbox: --sandbox no" in done.stdout, done.stdout)


def status_of(pid):
    """Of each thread: (NoNewPrivs, Seccomp)."""
    return {tuple(re.search(rf"(?m)^{name}:\s*(\d)", (task / "status").read_text()).group(1)
                  for name in ("NoNewPrivs", "Seccomp"))
            for task in pathlib.Path(f"/proc/{pid}/task").iterdir()}


def serves(root, tmp):
    """All of a life in it: answers, a lease, flips, a lost and found lease, an end."""
    with dxtest.Server(root, "--sandbox", "yes", "--lease", "yes", "--server-name", "boxed", "--poll-ms", 50) as server:
        equal(status_of(server.process.pid), {("1", "2")}, "no new privileges, a filter: in all threads")
        owner = pathlib.Path(f"/proc/{server.process.pid}/environ").stat().st_uid
        equal(owner, 0, "it cannot be dumped or traced: /proc says root's")
        check("sandbox: landlock" in server.words(), server.words())
        equal(server.get("/v1/domain/example.com").status, 200, "an answer")
        equal(server.get("/v1/domain/example.com/datasets/1/urls").status, 200, "a listing")
        check((root / "leases" / "boxed.json").exists(), "the lease")
        version = publish(root, tmp, 3)
        dxtest.wait_until(lambda: server.get("/readyz").json["version"] == version)
        equal(server.get("/readyz").json["version"], version, "a flip")
        equal(server.get("/v1/domain/example.com/datasets/3/urls").status, 200, "the new version")
    surroundings(root, tmp)
    with dxtest.Server(root, "--sandbox", "no") as server:
        equal({seccomp for _, seccomp in status_of(server.process.pid)}, {"0"}, "--sandbox no")
        check("no sandbox: --sandbox no" in server.words(), server.words())


def admin_get(path, target):
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(60)
        connection.connect(str(path))
        connection.sendall(f"GET {target} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n".encode())
        reply = b""
        while part := connection.recv(65536):
            reply += part
    return int(reply.split()[1])


def surroundings(root, tmp):
    """What settings name beside the root: a socket that is a file, a log that is moved, a table that is replaced."""
    folder = tmp / "beside"
    folder.mkdir()
    log, table = folder / "requests.log", folder / "access.json"
    text = '{"format": 1, "generation": %d, "updated": "2026-11-22T04:00:00Z", "dataset_acl": [{"dataset_id": %d, ' \
           '"principals": ["*"]}], "principals": []}'
    table.write_text(text % (1, 1))
    with dxtest.Server(root, "--sandbox", "yes", "--admin", f"unix:{folder}/admin", "--log-requests", log, "--access-file",
                       table, "--poll-ms", 50) as server:
        equal(admin_get(folder / "admin", "/metrics"), 200, "the admin listener")
        (folder / "new").write_text(text % (2, 2))
        (folder / "new").rename(table)
        dxtest.wait_until(lambda: "table of generation 2" in server.words())
        check("table of generation 2" in server.words(), f"the table that replaced it: {server.words()}")
        log.rename(folder / "moved.log")
        server.process.send_signal(signal.SIGUSR1)
        check(dxtest.wait_until(log.exists), f"the log anew: {server.words()}")
    check(not (folder / "admin").exists(), "the admin socket is removed at the end")


def links(root, tmp):
    """An index, a lake and a log that lie elsewhere, by links."""
    linked = tmp / "linked"
    linked.mkdir()
    for name in ("index", "urls"):
        (linked / name).symlink_to(root / name)
    (tmp / "disk").mkdir()
    (tmp / "disk" / "real.log").write_text("")
    (linked / "log").symlink_to(tmp / "disk" / "real.log")
    with dxtest.Server(linked, "--sandbox", "yes", "--log-requests", linked / "log") as server:
        equal(server.get("/v1/domain/example.com/datasets/1/urls").status, 200, "by links")
    check("/urls" not in (linked / "log").read_text() and '"route":"urls"' in (tmp / "disk" / "real.log").read_text(), "the log")


def other_user(root, tmp):
    """As a user who may read the root and write nothing."""
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        print("not shown here: another user (needs root and setpriv)")
        return
    program = tmp / "as-nobody"
    program.write_text(f'#!/bin/sh\nexec setpriv --reuid 65534 --regid 65534 --clear-groups "{dxtest.DOMAINDEXD}" "$@"\n')
    program.chmod(0o755)
    for folder in (tmp, root):
        folder.chmod(0o755)
    done = subprocess.run([program, "--version"], capture_output=True, check=False)
    if done.returncode != 0:
        print("not shown here: another user (cannot reach the program)")
        return
    with dxtest.Server(root, "--sandbox", "yes", program=program) as server:
        equal(server.get("/v1/domain/example.com/datasets/1/urls").status, 200, "as nobody")
        equal(server.get("/readyz").status, 200, "as nobody, ready")
        check("no lease" in server.words(), "and without a lease, which it may not write")


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        root = tmp / "root"
        publish(root, tmp, 2)
        trials(root, tmp)
        serves(root, tmp)
        links(root, tmp)
        other_user(root, tmp)
    dxtest.finish()


if __name__ == "__main__":
    main()
