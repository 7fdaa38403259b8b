# SPDX-License-Identifier: Apache-2.0
"""starve - a command whose n-th allocation or n-th call of the system fails (tests/starve/starve.c).

    starve.need()                                      skips the test where this build has no libstarve.so
    done, points = starve.points(command, env, work)   undisturbed; [(kind, error, n)]: every one there is; n of "3+": the third and all later ones
    done = starve.run(command, point, env)             the command with that call failing
    starve.check_exit(done, point, words)              0 or an error that names a cause, never a signal
    control = starve.Control(file)                     of a server that runs with control.environment(): each request may have its point
    calls = control.count(act)                         {kind: calls} that act() led to
    control.fail(point); ...; control.rest()
"""
import errno
import mmap
import os
import re
import struct
import subprocess

import dxtest

LIBRARY = dxtest.BIN / "tests" / "libstarve.so"
SECONDS_A_POINT = 60
ERRORS = {
    "alloc": ("ENOMEM",),
    "read": ("EIO", "EINTR", "short"),
    "write": ("ENOSPC", "EIO", "EINTR", "EFBIG", "short"),
    "sync": ("EIO", "ENOSPC"),
    "rename": ("EIO", "ENOSPC"),
    "open": ("EMFILE", "EIO", "ENOSPC"),
    "map": ("ENOMEM",),
    "connect": ("ECONNREFUSED", "EINTR", "EIO"),
    "size": ("ENOSPC", "EFBIG"),
    "mkdir": ("ENOSPC",),
    "remove": ("EIO",),
    "lock": ("EIO", "EINTR"),
    "stat": ("EIO",),
    "stream": ("EIO", "ENOSPC"),
    "send": ("ECONNRESET", "short"),
    "receive": ("ECONNRESET", "short"),
}
# What must stand in the words of a command that such a call has ended.
CAUSES = {
    "ENOMEM": "memory|Resource temporarily unavailable",  # a thread cannot begin
    "ENOSPC": "No space left on device|(MiB|inodes) are free",
    "EIO": "Input/output error",
    "EMFILE": "Too many open files",
    "EFBIG": "File too large",
    "ECONNREFUSED": "refused|connect",
    "ECONNRESET": "reset|send|recv|receiv|connect",
    "EINTR": "Interrupted system call",
    "short": ".",
}
TRANSPARENT = {"EINTR", "short"}  # of reads and writes: the rest is asked for again, and the command goes on

# Crashes without memory in libraries of others: getpwuid of glibc (a NULL or an assertion), the first use of OpenSSL 3, whose lock is NULL then, and
# CRoaring 0.2, which does not look at what malloc gives.
OTHERS = r"getpwuid|nss_database|CRYPTO_THREAD_read_lock|libroaring"


def need():
    if not LIBRARY.exists():
        dxtest.skip("this build has no tests/libstarve.so")


def environment(env, **more):
    return {**os.environ, **(env or {}), "LD_PRELOAD": str(LIBRARY), **more}


def points(command, env, work, cwd=None):
    counts = work / "counts"
    done = subprocess.run([*map(str, command)], env=environment(env, DX_STARVE_COUNTS=str(counts)), stdin=subprocess.DEVNULL,
                          capture_output=True, check=False, timeout=SECONDS_A_POINT, cwd=cwd)
    found = []
    for line in counts.read_text().splitlines():
        kind, count = line.split()
        for error in ERRORS[kind]:
            calls = range(1, int(count) + 1)
            found += [(kind, error, n) for n in calls] + ([] if error in TRANSPARENT else [(kind, error, f"{n}+") for n in calls])
    return done, found


def lasts(point):
    """Not once: what has been done can then often not be taken back either."""
    return str(point[2]).endswith("+")


def run(command, point, env, cwd=None):
    kind, error, n = point
    return subprocess.run([*map(str, command)], env=environment(env, DX_STARVE=f"{kind}:{error}:{n}"), stdin=subprocess.DEVNULL,
                          capture_output=True, check=False, timeout=SECONDS_A_POINT, cwd=cwd)


def check_exit(done, point, words, codes=(0, 1)):
    kind, error, _ = point
    text = (done.stderr + done.stdout[-2000:]).decode("utf-8", "replace")  # lookup answers a problem as JSON
    if done.returncode < 0 and re.search(OTHERS, text):
        return
    dxtest.check(done.returncode in codes, f"{words}: exit {done.returncode}: {text[-300:]}")
    if done.returncode == 0:
        return
    cause = "standard output|" + CAUSES[error] if kind == "stream" else CAUSES[error]
    dxtest.check(re.search(cause, text, re.I), f"{words}: its words do not name the cause: {text[-300:]!r}")
    dxtest.check(error not in TRANSPARENT or kind not in ("read", "write", "send", "receive"), f"{words}: should go on: {text[-300:]!r}")


class Control:
    """struct control of starve.c, in a file that the server has mapped."""

    KINDS = list(ERRORS)    # in the order of `kinds`
    HEAD = struct.Struct("<IiQQ")

    def __init__(self, path):
        size = self.HEAD.size + 8 * len(self.KINDS)
        path.write_bytes(bytes(size))
        self.path = path
        with open(path, "r+b") as file:
            self.map = mmap.mmap(file.fileno(), size)
        self.rest()

    def environment(self):
        return {"LD_PRELOAD": str(LIBRARY), "DX_STARVE_CONTROL": str(self.path)}

    def kind(self, number):
        struct.pack_into("<I", self.map, 0, number)

    def rest(self):
        self.kind(len(self.KINDS))

    def clear(self):
        self.rest()
        self.map[self.HEAD.size:] = bytes(8 * len(self.KINDS))

    def count(self, act):
        self.clear()
        act()
        return dict(zip(self.KINDS, struct.unpack_from(f"<{len(self.KINDS)}Q", self.map, self.HEAD.size)))

    def fail(self, point):
        kind, error, n = point
        self.clear()
        number = 0 if error == "short" else getattr(errno, error)
        self.HEAD.pack_into(self.map, 0, len(self.KINDS), number, int(str(n).rstrip("+")), lasts(point))
        self.kind(self.KINDS.index(kind))
