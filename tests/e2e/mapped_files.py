# SPDX-License-Identifier: Apache-2.0
# labels: plain
"""Mapped files that are cut, overwritten, replaced and removed while the server answers from them.

Under load each file of the version is damaged in turn, in every way; each reply must be the true one, byte for byte, or
a problem document. Damage is noticed within seconds, harmless changes cost no refusal, and when the file was put
right (or a store's copy was fetched again) all answers are right again, in the same process. Once as the files' owner
(leases), once as a stranger to them (times; needs root), once on copies of a remote root.

Kinds of damage: cut, extended again, overwritten (random bytes, zeros, another version's, through a mapping, with the
times set back), replaced, removed.

DX_MAPPED_ROUNDS=n: damages of each server: 3, 24 with DX_WHOLE=1 (8 under sanitizers).
"""
import collections
import json
import mmap
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import threading
import time

import dxtest
import roots
import stores
from dxtest import check, equal

ROUNDS = int(os.environ.get("DX_MAPPED_ROUNDS", "24" if dxtest.WHOLE and not dxtest.SANITIZED else "8" if dxtest.WHOLE else "3"))
MAPPED = ("domains.dict", "domains.mphf", "domain_to_datasets.roar", "domain_counts.dxc", "postings.dxp", "pages.dxp",
          "dataset_domains.dxt", "cold.dxp")
ASKERS, BATCH = 3, 16
STRANGER = 65534


# ---- the load ----

class Load:
    """Asks everything over and over, on raw connections, and compares. Counts by status; keeps what is wrong."""

    def __init__(self, server, truth):
        self.server, self.truth = server, truth
        self.targets = list(truth)
        self.counts = collections.Counter()
        self.wrong, self.stop, self.lock = [], threading.Event(), threading.Lock()
        self.threads = [threading.Thread(target=self.ask, args=(n,)) for n in range(ASKERS)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *trace):
        self.stop.set()
        for thread in self.threads:
            thread.join()

    def take(self, target, status, body):
        with self.lock:
            self.counts[status] += 1
            if status in (500, 503):
                if b"urn:domaindex:problem:" not in body:
                    self.wrong.append((target, status, body[:300]))
                slug = body.split(b"urn:domaindex:problem:")[-1].split(b'"')[0]
                self.counts[slug.decode()] += 1
            elif (status, body) != self.truth[target]:
                self.wrong.append((target, status, body[:300], self.truth[target][1][:300]))

    def ask(self, seed):
        rng = random.Random(seed)
        try:
            while not self.stop.is_set():
                with socket.create_connection((self.server.host, self.server.port), 30) as connection:
                    stream = connection.makefile("rb")
                    for _ in range(50):
                        if self.stop.is_set():
                            break
                        batch = rng.choices(self.targets, k=BATCH)
                        time.sleep(0.005)
                        connection.sendall(b"".join(f"GET {t} HTTP/1.1\r\nHost: h\r\n\r\n".encode() for t in batch))
                        for target in batch:
                            self.take(target, *read_reply(stream))
        except (OSError, ValueError, IndexError, KeyError) as error:
            self.wrong.append(("connection", repr(error)))


def read_reply(stream):
    status = int(stream.readline().split()[1])
    length = 0
    while (line := stream.readline().strip()):
        name, value = line.split(b": ", 1)
        if name == b"Content-Length":
            length = int(value)
    return status, stream.read(length)


def learn(root, extra=()):
    """Every answer about every third domain, some listings, lists, and names that are not there."""
    truth = {}
    with dxtest.Server(root, *extra) as server:
        def take(target):
            reply = server.get(target)
            truth[target] = (reply.status, reply.body)
            return reply

        for n, domain in enumerate(roots.domains(root)[::3]):
            reply = take(f"/v1/domain/{domain}")
            if n % 4 == 0:
                for row in reply.json["datasets"][:2]:
                    take(f"/v1/domain/{domain}/datasets/{row['dataset_id']}/urls?limit=10000")
        for n in range(200):
            equal(take(f"/v1/domain/absent{n}.example").status, 404, "absent")
        take("/v1/datasets")
    return truth


# ---- what is done to a file ----

def in_place(path, offset, data):
    os.chmod(path, 0o644)
    with open(path, "r+b") as file:
        file.seek(offset)
        file.write(data)


def block_of(path, rng):
    """Of one that is not zeros already: a write that changes nothing may be over before the file is looked at again."""
    data = path.read_bytes()
    return rng.choice([n for n in range(0, len(data), 4096) if any(data[n:n + 4096])])


def cut(path, rng, other):
    size = path.stat().st_size
    os.truncate(path, rng.choice((0, 1, size // 2, size // 2 // 4096 * 4096, max(0, size - 4096), size - 1)))


def cut_and_extend(path, rng, other):
    size = path.stat().st_size
    os.truncate(path, rng.choice((0, size // 2, size - 1)))
    os.truncate(path, size)


def extend(path, rng, other):
    os.truncate(path, path.stat().st_size + rng.choice((1, 4096)))


def overwrite_block(path, rng, other):
    offset = block_of(path, rng)
    in_place(path, offset, rng.randbytes(min(4096, path.stat().st_size - offset)))


def zero_block(path, rng, other):
    offset = block_of(path, rng)
    in_place(path, offset, bytes(min(4096, path.stat().st_size - offset)))


def flip_byte(path, rng, other):
    offset = rng.randrange(path.stat().st_size)
    in_place(path, offset, bytes([path.read_bytes()[offset] ^ 1 << rng.randrange(8)]))


def of_another_version(path, rng, other):
    """As rsync --inplace and cp do it, the times of the source included."""
    data = other.read_bytes()
    in_place(path, 0, data)
    os.truncate(path, len(data))
    shutil.copystat(other, path)


def times_set_back(path, rng, other):
    before = path.stat()
    flip_byte(path, rng, other)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def store(path, rng, other):
    os.chmod(path, 0o644)
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        for offset in range(0, len(memory), 512):
            memory[offset] ^= 0xff


def rename_away(path, rng, other):
    path.rename(path.with_suffix(".away"))


def replace(path, rng, other):
    beside = path.with_suffix(".beside")
    beside.write_bytes(rng.choice((path.read_bytes(), other.read_bytes(), b"")))
    beside.rename(path)


def unlink(path, rng, other):
    path.unlink()


def another_name(path, rng, other):
    os.link(path, path.with_suffix(".link"))


def rights(path, rng, other):
    os.chmod(path, rng.choice((0o444, 0o644)))


HARMFUL = (cut, cut_and_extend, extend, overwrite_block, zero_block, flip_byte, of_another_version, times_set_back, store)
HARMLESS = (rename_away, replace, unlink, another_name, rights)


def put_right(path, good):
    """The file as it was, by rename, as publish would put it there. If it is that already (zeros over zeros), the
    server has it open again, and another file in its place would not be the one that is mapped."""
    if path.read_bytes() == good:
        return
    beside = path.with_suffix(".good")
    beside.write_bytes(good)
    beside.chmod(0o644)
    beside.rename(path)


def put_back(path, kept):
    """The very file that the server has mapped, under its name again."""
    kept.rename(path)
    for suffix in (".away", ".link", ".kept"):
        path.with_suffix(suffix).unlink(missing_ok=True)


# ---- rounds ----

def is_sound(server):
    if server.process.poll() is not None:
        dxtest.check(False, f"the server died: {server.process.returncode}: {server.words()[-600:]}")
        dxtest.finish()
    reply = server.get("/readyz")
    return reply.status == 200 and reply.json["state"] == "sound"


def changed(server, load, path):
    return re.search(f"a file was changed: .*/{path.name}: ", server.words()[load.said:])


def harm(server, load, act, path, rng, other):
    begin = time.monotonic()
    act(path, rng, other)
    check(time.monotonic() - begin < 30, f"{act.__name__} of {path.name}: the writer was held back for long")
    check(dxtest.wait_until(lambda: changed(server, load, path) or not is_sound(server), 60),
          f"{act.__name__} of {path.name}: unnoticed: {server.words()[load.said:]}")


def no_harm(server, load, act, path, rng, other):
    act(path, rng, other)
    time.sleep(0.05)
    check(not changed(server, load, path) and is_sound(server),
          f"{act.__name__} of {path.name} did harm: {server.words()[load.said:]}")


def one_round(server, load, act, path, rng, other, heals):
    good = path.read_bytes()
    load.said = len(server.words())
    if act in HARMLESS:
        kept = path.with_suffix(".kept")
        os.link(path, kept)
        no_harm(server, load, act, path, rng, other)
        put_back(path, kept)
    else:
        harm(server, load, act, path, rng, other)
        if rng.random() < 0.5:
            time.sleep(rng.random() * 0.3)
        if not heals:
            put_right(path, good)
        if rng.random() < 0.5:
            server.process.send_signal(signal.SIGHUP)
    check(dxtest.wait_until(lambda: is_sound(server), 60), f"{act.__name__} of {path.name}: not well again: {server.words()[-600:]}")


def rounds(server, truth, paths, others, seed, heals=False):
    """paths: {name: path}; others: {name: the same file of another version}."""
    rng = random.Random(seed)
    plan = [(act, name) for act in HARMFUL + HARMLESS for name in MAPPED]
    rng.shuffle(plan)
    plan = (plan * (ROUNDS // len(plan) + 1))[:ROUNDS]
    with Load(server, truth) as load:
        time.sleep(0.2)
        for act, name in plan:
            if server.process.poll() is not None:
                break
            one_round(server, load, act, paths(name), rng, others[name], heals)
    equal(server.process.poll(), None, "the server lives")
    equal(load.wrong[:3], [], f"wrong answers, {len(load.wrong)} in all")
    for target, (status, body) in truth.items():
        reply = server.get(target)
        equal((reply.status, reply.body), (status, body), f"at the end: {target}")
    check(load.counts["index-changed"] > 0, "some answers were refused")
    return load.counts


def metric(server, name, label=""):
    for line in server.admin("/metrics").body.decode().splitlines():
        if line.startswith(f"{name}{label} "):
            return int(line.rsplit(" ", 1)[1])
    check(False, f"no metric {name}{label}")
    return 0


def report(what, server, counts, seconds):
    print(f"{what}: {ROUNDS} damages in {seconds:.0f} s; 200: {counts[200]}, 404: {counts[404]}, refused 503: {counts[503]}, "
          f"500: {counts[500]}; signals {metric(server, 'domaindex_sigbus_total')}; poisoned by "
          + ", ".join(f"{by} {metric(server, 'domaindex_versions_poisoned_total', '{by=' + chr(34) + by + chr(34) + '}')}"
                      for by in ("sigbus", "lease", "times")), flush=True)


def descriptors(server):
    return len(os.listdir(f"/proc/{server.process.pid}/fd"))


def on_directory(tmp, root, truth, others, leased):
    version = json.loads((root / "index" / "manifest.json").read_text())["current_version"]
    program = None
    if not leased:
        program = tmp / "as_stranger"
        program.write_text(f"#!/bin/sh\nexec setpriv --reuid={STRANGER} --regid={STRANGER} --clear-groups "
                           f"{tmp}/domaindexd \"$@\"\n")
        program.chmod(0o755)
        shutil.copy(dxtest.DOMAINDEXD, tmp / "domaindexd")
    begin = time.monotonic()
    with dxtest.Server(root, "--poll-ms", 100, "--threads", 2, program=program) as server:
        equal([metric(server, "domaindex_mapped_files", f'{{by="{by}"}}') for by in ("lease", "times")],
              [len(MAPPED), 0] if leased else [0, len(MAPPED)], "files by how they are watched")
        before = descriptors(server)
        counts = rounds(server, truth, lambda name: root / "index" / version / name, others, seed=1 + leased)
        check(dxtest.wait_until(lambda: descriptors(server) <= before + ASKERS, 60), f"descriptors: {before}, {descriptors(server)} later")
        if not leased and ROUNDS >= 100:  # of a few none may be cut while it is read
            check(metric(server, "domaindex_sigbus_total") > 0, "pages were lost")
        report("leases" if leased else "times", server, counts, time.monotonic() - begin)


def without_polls(root):
    """Who looks for new versions on demand alone looks by himself while he can answer nobody."""
    version = json.loads((root / "index" / "manifest.json").read_text())["current_version"]
    path = root / "index" / version / MAPPED[0]
    data = path.read_bytes()
    with dxtest.Server(root, "--poll-ms", 0) as server:
        os.chmod(path, 0o644)
        os.truncate(path, 10)
        check(dxtest.wait_until(lambda: server.get("/readyz").status == 503, 60), "a cut file is unnoticed")
        time.sleep(0.5)
        whole = path.with_name("whole")
        whole.write_bytes(data)
        whole.replace(path)
        check(dxtest.wait_until(lambda: is_sound(server), 60), f"not opened anew: {server.words()}")


def on_copies(tmp, root, truth, others):
    if not stores.find("nginx"):
        print("copies of a remote root: left out, no nginx here", flush=True)
        return
    cache = tmp / "cache"
    version = json.loads((root / "index" / "manifest.json").read_text())["current_version"]
    begin = time.monotonic()
    with stores.Nginx(root) as store, dxtest.Server(store.url, "--poll-ms", 100, "--threads", 2,
                                                    "--cache-dir", cache, "--mirror-postings", "yes") as server:
        def copy_of(name):
            want = (root / "index" / version / name).read_bytes()
            for path in cache.glob("objects/*/*"):
                if path.stat().st_size == len(want) and path.read_bytes() == want:
                    return path
            raise AssertionError(f"no copy of {name}")

        counts = rounds(server, truth, copy_of, others, seed=7, heals=True)
        report("copies", server, counts, time.monotonic() - begin)


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        tmp.chmod(0o755)
        root = roots.make(tmp, seed=5, count=8_000 if dxtest.WHOLE else 3_000)
        older = json.loads((root / "index" / "manifest.json").read_text())["current_version"]
        more = "".join(f"https://site{n}.com/more/{n}/{k}\n" for n in range(300) for k in range(3))
        dxtest.domaindex("ingest", "--root", root, "--dataset", "more", "--format", "list", "-", input=more.encode())
        dxtest.domaindex("publish", "--root", root, "--parts", 1)
        others = {name: root / "index" / older / name for name in MAPPED}
        truth = learn(root)
        on_directory(tmp, root, truth, others, leased=True)
        if os.getuid() == 0 and shutil.which("setpriv"):
            on_directory(tmp, root, truth, others, leased=False)
        else:
            print("as a stranger to the files: left out, needs root and setpriv", flush=True)
        on_copies(tmp, root, truth, others)
        without_polls(root)
    dxtest.finish()


if __name__ == "__main__":
    main()
