#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: slow long
"""Every command, and a server, where the system has little to give: an address space that is a bit too small (RLIMIT_AS), 32 descriptors
and fewer, a file system of 20 MB with no room or little, or without inodes.

A command ends with the same result, or with an error that names the cause; never by a signal. When there is room again it
works, `verify --deep` is sound, the answers are those of the model, and after gc the files of the root are as they should be: what
`starvation` asks for where single calls fail. A server answers as before or not at all, and goes on.

File systems are mounted: as root, else that part is left out. With DX_WHOLE=1 five times as many points.
"""
import contextlib
import http.client
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import tempfile

import dxtest
import starvation
import starve

MIB = 1 << 20
FILE_SYSTEM = 20 * MIB
LITTLE = (0, 40) if not dxtest.WHOLE else (0, 4, 16, 40, 64, 100, 200, 300, 400, 600)        # KiB that are left
INODES = (2,) if not dxtest.WHOLE else (0, 1, 2, 3, 4, 5, 6, 8, 12, 16)                        # that are left
DESCRIPTORS = (32, 9) if not dxtest.WHOLE else (32, 24, 16, 12, 10, 9, 8, 7, 6, 5)
SPACES = 2 if not dxtest.WHOLE else 10                                                         # sizes of an address space that is too small


def limited(limit):
    """A command under one limit of prlimit."""
    def run(command, point, env, work, cwd=None):
        del point, work
        return subprocess.run(["prlimit", limit, *map(str, command)], env={**os.environ, **env}, stdin=subprocess.DEVNULL, capture_output=True,
                              check=False, timeout=starve.SECONDS_A_POINT, cwd=cwd), True
    return run


# ---- address space ----

def least(base, case, fits):
    """The least MiB of address space with whose exit that is so."""
    low, high = 8, 2048
    while high - low > 1:
        middle = (low + high) // 2
        place = starvation.Workplace(base, case)
        done, _ = limited(f"--as={middle * MIB}")(case.words(place.root), None, place.env, place.folder, place.folder)
        low, high = (low, middle) if fits(done.returncode) else (middle, high)
    return high


def address_space(base, case, reference):
    """From where the system can load the program to where it has enough."""
    loads, enough = least(base, case, lambda code: code != 127), least(base, case, lambda code: code == 0)
    dxtest.check(enough < 1500, f"{case.name} takes {enough} MiB of address space")
    for mib in sorted({loads + (enough - loads) * i // SPACES for i in range(SPACES)} - {enough}):
        starvation.try_point(base, case, ("map", "ENOMEM", f"{mib} MiB+"), reference, limited(f"--as={mib * MIB}"))


# ---- descriptors ----

def descriptors(base, case, reference):
    for count in DESCRIPTORS:
        starvation.try_point(base, case, ("open", "EMFILE", f"{count} descriptors+"), reference, limited(f"--nofile={count}"))


# ---- file systems ----

@contextlib.contextmanager
def mounted(base):
    folder = base / "mnt"
    folder.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={FILE_SYSTEM},nr_inodes=4096", "tmpfs", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def can_mount(base):
    try:
        with mounted(base):
            return True
    except (subprocess.CalledProcessError, FileNotFoundError):
        return False


def fill(folder, left):
    """All but so many bytes."""
    with open(folder / "filler", "wb", buffering=0) as out:
        for piece in (MIB, 4096):
            with contextlib.suppress(OSError):
                while True:
                    out.write(bytes(piece))
        out.truncate(max(out.tell() - left, 0))


def empty_inodes(folder, left):
    (folder / "names").mkdir()
    for i in range(max(os.statvfs(folder).f_favail - left, 0)):
        (folder / "names" / str(i)).touch()


def clear(folder):
    subprocess.run(["rm", "-rf", folder / "filler", folder / "names"], check=True)


def in_full(folder, take, left):
    def run(command, point, env, work, cwd=None):
        take(folder, left)
        try:
            return limited("--nofile=1024")(command, point, env, work, cwd)
        finally:
            clear(folder)
    return run


def file_systems(base, case, reference):
    with mounted(base) as folder:
        for take, choices, unit in ((fill, LITTLE, "KiB"), (empty_inodes, INODES, "inodes")):
            for left in choices:
                point = ("write", "ENOSPC", f"{left} {unit} left+")
                starvation.try_point(folder, case, point, reference, in_full(folder, take, left * 1024 if take is fill else left))


# ---- a server ----

PATHS = ("/v1/domain/example.com", "/v1/domain/example.com/urls?limit=3", "/v1/domains?limit=5", "/v1/datasets")


def expect_answers(server, want, words):
    got = {path: (reply.status, reply.body) for path in PATHS for reply in (server.get(path),)}
    dxtest.equal(got, want, words)


def undisturbed_answers(root):
    with dxtest.Server(root, *dxtest.SAME_BYTES) as server:
        return {path: (reply.status, reply.body) for path in PATHS for reply in (server.get(path),)}


def under(limit):
    """For Server: the limit holds from before its first statement on."""
    which, count = limit
    return lambda: resource.setrlimit(which, (count, count))


def few_descriptors(root, want):
    with dxtest.Server(root, *dxtest.SAME_BYTES, "--threads", 1, "--workers", 1, preexec=under((resource.RLIMIT_NOFILE, 48))) as server:
        expect_answers(server, want, "a server with 48 descriptors")
        links = []
        for _ in range(60):
            with contextlib.suppress(OSError):
                links.append(socket.create_connection((server.host, server.port), timeout=5))
        for link in links:
            link.close()

        def answers():
            with contextlib.suppress(OSError, http.client.HTTPException):
                server.close()
                return server.get(PATHS[0]).status == 200
            return False
        dxtest.wait_until(answers, 60)
        expect_answers(server, want, "after 60 connections")


def start(root, preexec=None):
    """(exit, words) of a server, which is ended once it listens."""
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen([dxtest.DOMAINDEXD, "--root", root, "--listen", "127.0.0.1:0", "--threads", "1", "--workers", "1"],
                                   preexec_fn=preexec, stdout=log, stderr=subprocess.STDOUT)
        dxtest.wait_until(lambda: process.poll() is not None or re.search(r" on https?://127", dxtest.written(log)))
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        return process.wait(60), dxtest.written(log)


def check_start(code, text, error, words):
    if code != 127:     # the system could not load the program
        dxtest.check(code in (0, 1) and (code == 0 or re.search(starve.CAUSES[error], text, re.I)), f"{words}: exit {code}: {text[-300:]}")


def server_space(root, want):
    """However little address space: it does not start and says why, or answers."""
    for mib in (16, 32, 48, 64, 80, 96, 128, 160, 192, 256, 384, 512):
        check_start(*start(root, under((resource.RLIMIT_AS, mib * MIB))), "ENOMEM", f"a server in {mib} MiB of address space")
    with dxtest.Server(root, *dxtest.SAME_BYTES, "--threads", 1, "--workers", 1, preexec=under((resource.RLIMIT_AS, 1024 * MIB))) as server:
        expect_answers(server, want, "a server in 1 GiB of address space")


def full_disk(base, root):
    with mounted(base) as folder:
        subprocess.run(["cp", "-r", root, folder / "root"], check=True)
        want = undisturbed_answers(folder / "root")
        for take in (fill, empty_inodes):
            with dxtest.Server(folder / "root", *dxtest.SAME_BYTES, "--log-requests", folder / "requests.log") as server:
                take(folder, 0)
                expect_answers(server, want, "a server on a full disk")
                for _ in range(100):
                    dxtest.equal(server.get(PATHS[0]).status, 200, "a server on a full disk")
                clear(folder)
            take(folder, 0)     # its lease has no room
            check_start(*start(folder / "root"), "ENOSPC", "a server that begins on a full disk")
            clear(folder)


def main():
    dxtest.need_programs()
    starve.need()
    wanted = sys.argv[1:]
    with dxtest.tempdir("/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as base:
        mounts = can_mount(base)
        (base / "gamma.txt").write_text("http://example.com/g\n")
        (base / "names.txt").write_text("example.com\nexample.net\nabsent.org\n")
        count = 0
        for case in starvation.make_cases(base):
            if wanted and case.name not in wanted:
                continue
            _, reference = starvation.undisturbed(base, case)
            address_space(base, case, reference)
            descriptors(base, case, reference)
            if mounts:
                file_systems(base, case, reference)
            count += 1
            print(f"{case.name}: done", flush=True)
        if not wanted or "server" in wanted:
            want = undisturbed_answers(base / "two")
            few_descriptors(base / "two", want)
            server_space(base / "two", want)
            if mounts:
                full_disk(base, base / "two")
        print(f"{count} commands" + ("" if mounts else "; no file systems: this user cannot mount"), flush=True)
    dxtest.finish()


if __name__ == "__main__":
    main()
