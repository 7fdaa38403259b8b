# SPDX-License-Identifier: Apache-2.0
"""starve - a command of which one allocation or one call of the system fails (tests/starve/starve.c).

    starve.need()                                      skips the test where this build has no libstarve.so
    done, counts = starve.count(command, env, work)    undisturbed; counts.calls is {kind: calls}, counts.chains a list of Chain
    starve.points(counts.chains, counts.calls)         [(kind, error, n)]: each call chain, or each call that is counted, with each error
    starve.chosen(counted, at_most, depth)             those of them that a gate has time for
    done, hit = starve.run(command, point, env, work)  the command with that call failing; hit: whether the call came
    starve.check_exit(done, point, words)              0 or an error that names a cause, never a signal
    control = starve.Control(file)                     of a server that runs with control.environment(): each request may have its point
    counts = control.count(act)                        what act() led to
    control.fail(point); ...; control.rest()

n of a point is the number of a call ("3+": the third and all later ones), or the hash of a call chain ("@1f2e": the first call of that
chain, "@1f2e+": and all later calls of the kind). starve.words(point) also says which functions a chain has.
"""
import bisect
import collections
import errno
import functools
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
    "ENOMEM": "memory|address space|Resource temporarily unavailable",  # a thread cannot begin
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
# libcurl 7.88: when its own allocation failed while it worked on sockets (the hash of a connection's transfers), that hash is destroyed and used again, and it
# crashes there (also by a division by its zero slots) or in the next such call, or calls our function for a socket with an event that was freed.
CURL_CHAIN = r"^alloc .* in library \d+ < (on_curl_timer|on_socket)\b"
CURL_CRASH = r"curl_multi_socket_action"


def need():
    if not LIBRARY.exists():
        dxtest.skip("this build has no tests/libstarve.so")


def environment(env, **more):
    return {**os.environ, **(env or {}), "LD_PRELOAD": str(LIBRARY), **more}


Counts = collections.namedtuple("Counts", "calls chains")
# frames: (function, offset in it), the innermost first; of a library (its number, offset).
Chain = collections.namedtuple("Chain", "kind hash frames")
PLACES = {}  # of each chain that was counted: its functions, for words


@functools.lru_cache(None)
def symbols(program):
    """([address], [name]) of a program's functions, in order."""
    rows = sorted((int(address, 16), name.split(".")[0]) for address, kind, name in
                  (line.rsplit(None, 2) for line in subprocess.check_output(["nm", "--defined-only", program], text=True).splitlines()) if kind in "tTwW")
    return [row[0] for row in rows], [row[1] for row in rows]


def frame_of(program, module, offset):
    if module != 0:
        return f"library {module}", offset
    addresses, names = symbols(program)
    at = bisect.bisect_right(addresses, offset - 1) - 1
    return names[at], offset - addresses[at]


def points(chains=(), calls=()):
    """Each with each error of its kind, once and from there on."""
    places = [(chain.kind, f"@{chain.hash:x}") for chain in chains]
    places += [(kind, n) for kind in calls for n in range(1, calls[kind] + 1)]
    return [(kind, error, f"{n}{more}") for kind, n in places for error in ERRORS[kind] for more in (("",) if error in TRANSPARENT else ("", "+"))]


def chosen(counted, at_most, depth, may=lambda point: True):
    """[(key, point)] and how many there are: of counted, [(key, chains)], those chains whose innermost `depth` frames no one before has, or in which
    a call is that no chain taken before has (so that each of them sees a failure), each with one error, once or from there on in turn. If they are too many (at_most, 0: all),
    first those whose last call is another one, then those with a new call, then those whose last two are others, and so on. may(point): whether it can be tried."""
    turns, points_of, seen, calls, whole = collections.Counter(), {}, set(), set(), set()

    def take(key, chain, fails=False):
        ways = [point for point in points([chain]) if may(point) and not (fails and point[1] in TRANSPARENT)]
        if ways and (key, chain.hash) not in whole:
            whole.add((key, chain.hash))
            point = ways[turns[chain.kind] % len(ways)]
            turns[chain.kind] += 1
            if point[1] not in TRANSPARENT:
                calls.update(chain.frames)
            if len(points_of) < at_most or at_most == 0:
                points_of[key, chain.hash] = point

    every = [(key, chain) for key, chains in counted for chain in chains]
    for near in range(1, depth + 1):
        for key, chain in every:
            if (chain.kind, chain.frames[:near]) not in seen:
                seen.add((chain.kind, chain.frames[:near]))
                take(key, chain)
        if near == 1:
            for key, chain in every:
                if not calls.issuperset(chain.frames):
                    take(key, chain, True)
    return [(key, point) for (key, _), point in points_of.items()], len(whole)


def lasts(point):
    """Not once: what has been done can then often not be taken back either."""
    return str(point[2]).endswith("+")


def words(point):
    kind, error, n = point
    where = PLACES.get(str(n).strip("@+"))
    return f"{kind} {n} {error}" + (f" in {where}" if where else "")


def run_under(control, command, env, cwd, **more):
    return subprocess.run([*map(str, command)], env=environment(env, **control.environment(), **more), stdin=subprocess.DEVNULL,
                          capture_output=True, check=False, timeout=SECONDS_A_POINT, cwd=cwd)


def count(command, env, work, cwd=None):
    control, done = Control(work / "control"), []
    counts = control.count(lambda: done.append(run_under(control, command, env, cwd)))
    control.close()
    return done[0], counts


def run(command, point, env, work, cwd=None):
    control = Control(work / "control")
    try:
        control.fail(point)
        done = run_under(control, command, env, cwd)
        return done, control.hit()
    finally:
        control.close()


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
    """struct control of starve.c, in a file that the process has mapped."""

    KINDS = list(ERRORS)    # in the order of `kinds`
    HEAD = struct.Struct("<IiQQQQQQQ")  # kind, error, call, for_ever, hash, hit, records, program_count, chain_count
    HIT, RECORDS, PROGRAM_COUNT, CHAIN_COUNT = 32, 40, 48, 56
    PROGRAMS, PROGRAM, CHAINS = 4, 256, 16384
    CHAIN = struct.Struct("<15Q")       # hash, kind, program, count, 11 frames
    MODULE_SHIFT = 48
    CALLS = HEAD.size + PROGRAMS * PROGRAM
    SLOTS = CALLS + 8 * len(KINDS)
    FIRST_CHAIN = SLOTS + 8 * CHAINS

    def __init__(self, path):
        self.path = path
        with open(path, "w+b") as file:
            file.truncate(self.FIRST_CHAIN + self.CHAINS * self.CHAIN.size)
            self.map = mmap.mmap(file.fileno(), 0)
        self.rest()

    def close(self):
        self.map.close()
        self.path.unlink()

    def environment(self):
        return {"LD_PRELOAD": str(LIBRARY), "DX_STARVE_CONTROL": str(self.path)}

    def get(self, at):
        return struct.unpack_from("<Q", self.map, at)[0]

    def put(self, at, value):
        struct.pack_into("<Q", self.map, at, value)

    def kind(self, number):
        struct.pack_into("<I", self.map, 0, number)

    def hit(self):
        return self.get(self.HIT) != 0

    def rest(self):
        self.kind(len(self.KINDS))

    def clear(self):
        self.rest()
        self.put(self.HIT, 0)
        self.map[self.CALLS:self.SLOTS] = bytes(self.SLOTS - self.CALLS)

    def count(self, act):
        self.clear()
        self.put(self.CHAIN_COUNT, 0)
        self.map[self.SLOTS:self.FIRST_CHAIN] = bytes(self.FIRST_CHAIN - self.SLOTS)
        self.put(self.RECORDS, 1)
        act()
        self.put(self.RECORDS, 0)
        return Counts(dict(zip(self.KINDS, struct.unpack_from(f"<{len(self.KINDS)}Q", self.map, self.CALLS))),
                      [self.chain(i) for i in range(self.get(self.CHAIN_COUNT))])

    def chain(self, i):
        number, kind, program, count, *frames = self.CHAIN.unpack_from(self.map, self.FIRST_CHAIN + i * self.CHAIN.size)
        at = self.HEAD.size + program * self.PROGRAM
        program = self.map[at:at + self.PROGRAM].rstrip(b"\0").decode()
        frames = tuple(frame_of(program, frame >> self.MODULE_SHIFT, frame & ((1 << self.MODULE_SHIFT) - 1)) for frame in frames[:count])
        PLACES[f"{number:x}"] = " < ".join(name for name, _ in frames[:5])
        return Chain(self.KINDS[kind], number, frames)

    def fail(self, point):
        kind, error, n = point
        self.clear()
        number = 0 if error == "short" else getattr(errno, error)
        n = str(n).rstrip("+")
        call, chain = (0, int(n[1:], 16)) if n.startswith("@") else (int(n), 0)
        self.HEAD.pack_into(self.map, 0, len(self.KINDS), number, call, lasts(point), chain, 0, 0, self.get(self.PROGRAM_COUNT), 0)
        self.kind(self.KINDS.index(kind))
