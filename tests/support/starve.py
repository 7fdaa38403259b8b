# SPDX-License-Identifier: Apache-2.0
"""starve - a command whose n-th allocation or n-th call of the system fails (tests/starve/starve.c).

    starve.need()                                      skips the test where this build has no libstarve.so
    done, points = starve.points(command, env, work)   undisturbed; [(kind, error, n)]: every one there is
    done = starve.run(command, point, env)             the command with that call failing
    starve.check_exit(done, point, words)              0 or an error that names a cause, never a signal
"""
import os
import re
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
}
# What must stand in the words of a command that such a call has ended.
CAUSES = {
    "ENOMEM": "memory|Resource temporarily unavailable",  # a thread cannot begin
    "ENOSPC": "No space left on device",
    "EIO": "Input/output error",
    "EMFILE": "Too many open files",
    "EFBIG": "File too large",
    "ECONNREFUSED": "refused|connect",
    "EINTR": "Interrupted system call",
    "short": ".",
}
TRANSPARENT = {"EINTR", "short"}  # of reads and writes: the rest is asked for again, and the command goes on

# Crashes without memory in libraries of others: getpwuid of glibc (a NULL or an assertion), and the first use of OpenSSL 3, whose lock is NULL then.
OTHERS = r"getpwuid|nss_database|CRYPTO_THREAD_read_lock"


def need():
    if not LIBRARY.exists():
        dxtest.skip("this build has no tests/libstarve.so")


def environment(env, **more):
    return {**os.environ, **(env or {}), "LD_PRELOAD": str(LIBRARY), **more}


def points(command, env, work):
    counts = work / "counts"
    done = subprocess.run([*map(str, command)], env=environment(env, DX_STARVE_COUNTS=str(counts)), stdin=subprocess.DEVNULL,
                          capture_output=True, check=False, timeout=SECONDS_A_POINT)
    found = []
    for line in counts.read_text().splitlines():
        kind, count = line.split()
        found += [(kind, error, n) for error in ERRORS[kind] for n in range(1, int(count) + 1)]
    return done, found


def run(command, point, env):
    kind, error, n = point
    return subprocess.run([*map(str, command)], env=environment(env, DX_STARVE=f"{kind}:{error}:{n}"), stdin=subprocess.DEVNULL,
                          capture_output=True, check=False, timeout=SECONDS_A_POINT)


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
    dxtest.check(error not in TRANSPARENT or kind not in ("read", "write"), f"{words}: should go on: {text[-300:]!r}")
