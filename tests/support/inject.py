# SPDX-License-Identifier: Apache-2.0
"""inject - a command is killed, or refused something, at every point where it touches the world.

    def check(root, words, done): ...               what must hold of the root now; returns a label
    inject.need()                                   skips the test where strace cannot trace
    inject.sweep("publish", template, work, lambda root: [..., "--root", root], check)

For each point the folder `template` is copied to work/root, the command runs on it under strace,
and the n-th call of one kind ends it (SIGKILL before the call is made), or fails with an error
once, or from the n-th on always. Then: exit 0 or 1 of a refused one, words on standard error with
1, and check(), which says with dxtest.check what is wrong, and usually runs the command again. Calls
are counted per thread, so a command should run with as few threads as it can.

    inject.requests("publish", store, reset, lambda: [...], check)

The same at HTTP requests to an S3 server (stores.Versitygw): the command is killed before the n-th
request reaches the store, or when the store has answered it and the command has not heard of it.
reset() brings the store to where it was; check(words, done).

How many points: all with DX_KILL_POINTS=0, else so many of each sweep, drawn at random; `points` of
the call is the default. Both return {label: count} and print a line.
"""
import collections
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import threading

import dxtest
import faultproxy

KILL = ["openat", "write", "pwrite64", "pread64", "read", "fsync", "syncfs", "rename", "link",
        "linkat", "mkdir", "unlink", "close", "mmap", "statfs", "newfstatat", "getdents64", "flock",
        "unlinkat", "rmdir", "ftruncate", "fallocate"]
REFUSE = [("write", "ENOSPC"), ("write", "EIO"), ("pwrite64", "ENOSPC"), ("fsync", "EIO"),
          ("syncfs", "EIO"), ("rename", "ENOSPC"), ("link", "EIO"), ("linkat", "EIO"),
          ("openat", "ENOSPC"), ("openat", "EMFILE"), ("mkdir", "ENOSPC"), ("flock", "EIO"),
          ("unlink", "EIO"), ("unlinkat", "EIO"), ("close", "EIO"), ("pread64", "EIO"),
          ("getdents64", "EIO"), ("newfstatat", "EIO"), ("mmap", "ENOMEM")]
# The dynamic linker makes these too, and a command whose linker fails does not begin.
OF_LINKER = {"mmap", "openat", "pread64", "read", "close", "newfstatat"}
FAILURES_MAX = 20
SECONDS_A_POINT = 120
IS_KILLED = (-signal.SIGKILL, 128 + signal.SIGKILL)


def can_trace():
    if not shutil.which("strace"):
        return False
    return subprocess.run(["strace", "-qq", "-o", "/dev/null", "true"], capture_output=True,
                          check=False).returncode == 0


def need():
    if not can_trace():
        dxtest.skip("no strace here, or no right to trace")


def wanted(points):
    """How many points of a sweep; None: all."""
    text = os.environ.get("DX_KILL_POINTS")
    count = points if text is None else int(text)
    return count or None


def is_sample(points):
    """Whether not all points are tried, so that an outcome that few of them have may not be seen."""
    return wanted(points) is not None


def draw(all_points, points):
    count = wanted(points)
    if count is None or count >= len(all_points):
        return all_points
    return random.Random(int.from_bytes(os.urandom(8), "little")).sample(all_points, count)


def strings(command):
    return [str(part) for part in command]


def occurrences(log, command, environment):
    """Call -> most occurrences in one thread of an undisturbed run."""
    done = subprocess.run(["strace", "-f", "-qq", "-o", str(log), *strings(command)],
                          capture_output=True, env=environment, check=False)
    dxtest.equal(done.returncode, 0, f"{command} under strace: {done.stderr[-300:]}")
    count = collections.Counter()
    for line in pathlib.Path(log).read_text(errors="replace").splitlines():
        match = re.match(r"(\d+) +(\w+)\(", line)
        if match:
            count[match.groups()] += 1
    most = {}
    for (_, call), n in count.items():
        most[call] = max(most.get(call, 0), n)
    return most


def points_of(command, work, environment):
    """[(call, "KILL" or an error, when)]: every one there is."""
    most = occurrences(work / "log", command, environment)
    start = occurrences(work / "log", [command[0], "--version"], environment)
    found = [(call, "KILL", str(n)) for call in KILL for n in range(1, most.get(call, 0) + 1)]
    for call, error in REFUSE:
        first = start.get(call, 0) if call in OF_LINKER else 0
        for n in range(first + 1, most.get(call, 0) + 1):
            found += [(call, error, str(n)), (call, error, f"{n}+")]
    return found


def check_exit(how, call, when, done, words):
    if how == "KILL":
        dxtest.check(done.returncode in (*IS_KILLED, 0), f"{words}: exit {done.returncode}")
        return
    dxtest.check(done.returncode in (0, 1), f"{words}: exit {done.returncode}: {done.stderr[-300:]}")
    mute = call == "write" and when.endswith("+")    # then standard error fails, too
    dxtest.check(done.returncode != 1 or mute or len(done.stderr) > 10,
                 f"{words}: exit 1 without words: {done.stderr[-300:]}")


def workplace():
    """A folder for templates and copies, in memory: the order of calls is what counts, not the disk."""
    return dxtest.tempdir("/dev/shm" if os.access("/dev/shm", os.W_OK) else None)


def fresh(template, root):
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(template, root, symlinks=True)


def sweep(name, template, work, command, check, points=60, environment=None):
    work = pathlib.Path(work)
    root = work / "root"
    environment = {**os.environ, **(environment or {})}
    fresh(template, root)
    every = points_of(strings(command(root)), work, environment)
    todo = draw(every, points)
    seen = collections.Counter()
    for call, how, when in todo:
        words = f"{name}, {how} at {call} {when}"
        what = "signal=KILL" if how == "KILL" else f"error={how}"
        fresh(template, root)
        done = subprocess.run(["strace", "-f", "-qq", "-o", "/dev/null", "-e",
                               f"inject={call}:{what}:when={when}", *strings(command(root))],
                              capture_output=True, env=environment, check=False,
                              timeout=SECONDS_A_POINT)
        check_exit(how, call, when, done, words)
        seen[check(root, words, done)] += 1
        if dxtest.failures() > FAILURES_MAX:
            break
    print(f"{name}: {sum(seen.values())} of {len(every)} points were hit; afterwards: {dict(seen)}",
          flush=True)
    return seen


def run_through(proxy, command, environment, number, side):
    """The command, killed at its request of that number; side: "before" or "after" the store."""
    begun, process = threading.Event(), None

    def tell(n, at):
        if (n, at) != (number, side):
            return False
        begun.wait(60)
        process.kill()
        return True
    proxy.watch(tell)
    process = subprocess.Popen(strings(command), env=environment, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    begun.set()
    try:
        out, words = process.communicate(timeout=SECONDS_A_POINT)
    finally:
        process.kill()
        proxy.watch(None)
    proxy.settle()
    return subprocess.CompletedProcess(command, process.returncode, out, words)


def requests(name, store, reset, command, check, points=40, environment=None):
    with faultproxy.Proxy(store.url) as proxy:
        through = {**os.environ, **store.env, "AWS_ENDPOINT_URL_S3": proxy.url,
                   **(environment or {})}
        reset()
        proxy.set()
        done = run_through(proxy, command(), through, 0, "")
        dxtest.equal(done.returncode, 0, f"{name}, undisturbed: {done.stderr[-300:]}")
        every = [(n, side) for n in range(1, proxy.count + 1) for side in ("before", "after")]
        seen = collections.Counter()
        for number, side in draw(every, points):
            words = f"{name}, killed at request {number}, {side} the store"
            reset()
            proxy.set()
            done = run_through(proxy, command(), through, number, side)
            dxtest.check(done.returncode in (*IS_KILLED, 0), f"{words}: exit {done.returncode}: "
                         f"{done.stderr[-300:]}")
            seen[check(words, done)] += 1
            if dxtest.failures() > FAILURES_MAX:
                break
    print(f"{name}: {sum(seen.values())} of {len(every)} requests; afterwards: {dict(seen)}",
          flush=True)
    return seen


if __name__ == "__main__":
    sys.exit(__doc__)
