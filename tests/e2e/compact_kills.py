# SPDX-License-Identifier: Apache-2.0
# labels: slow long
"""compact is all or nothing: killed at a system call or a request, or refused one, it leaves the old
version or the new one, and after the next publish no row is there twice and none is lost.

DX_KILL_POINTS points (30; 0: all; tests/support/inject.py) in a directory, and so many requests to an
S3 server where one is there. A compaction that died is followed by an ingest and a publish, which
must not take its files for new rows, and by another compaction. And compactions beside ingests into
the same root on S3: no row twice, none lost.

In detail: compact killed or refused, in a directory and at requests to versitygw, then an ingest and a
publish: no row twice, none lost; compactions beside ingests; a compaction waits neither for the line of a run
in `writers` nor for loops of ingests.
"""
import json
import os
import resource
import subprocess
import sys
import threading

import dxtest
import inject
import stores

BATCHES = [[f"a.example.com/{i}" for i in range(1, 9)], ["b.example.org/1", "a.example.com/1"],
           ["a.example.com/20", "www.example.org/"], ["b.example.org/7"]]
ALL = len({url for batch in BATCHES for url in batch})
SMALL = ("--memory", "64M", "--threads", "1")


def ingest(root, urls, env=None):
    dxtest.domaindex("ingest", "--root", root, "--dataset", "set", "--format", "list", *SMALL, "-",
                     input="".join(f"http://{url}\n" for url in urls).encode(), env=env)


def publish(root, env=None):
    return dxtest.domaindex("publish", "--root", root, "--quiet", *SMALL,
                            env=env).stdout.decode().strip()


def rows(root, env=None):
    done = dxtest.domaindex("lookup", "--root", root, "example.com", "example.org", env=env)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    return (sum(one["row_count"] for one in found), sum(one["url_count"] for one in found))


def make(root, env=None):
    for batch in BATCHES:
        ingest(root, batch, env)
    publish(root, env)


def command(root):
    return [dxtest.DOMAINDEX, "compact", "--root", root, *SMALL]


def versions(root, env=None):
    done = dxtest.domaindex("versions", "--root", root, "--json", env=env)
    return len(json.loads(done.stdout)["versions"])


def check(root, words, done, env=None):
    """What is current now; then rows on top, and a compaction that comes to its end."""
    count = versions(root, env)
    if done.returncode == 0:
        dxtest.equal(count, 2, f"{words}: exit 0, so there is a new version")
    dxtest.equal(rows(root, env), (ALL, ALL), f"{words}: rows and URLs")
    ingest(root, BATCHES[0] + ["b.example.org/new"], env)
    publish(root, env)
    dxtest.equal(rows(root, env), (ALL + 1, ALL + 1), f"{words}, then a publish")
    dxtest.run(*command(root), env=env)
    dxtest.equal(rows(root, env), (ALL + 1, ALL + 1), f"{words}, then compact")
    dxtest.domaindex("verify", "--root", root, env=env)
    return "compacted" if count == 2 else "as before"


def killed():
    with inject.workplace() as base:
        make(base / "template")
        seen = inject.sweep("compact", base / "template", base, command, check, 30)
        dxtest.check(seen["as before"] > 0, f"a compaction dies before its end: {dict(seen)}")


class OnStore:
    """A bucket that is filled anew for each point."""

    def __init__(self, store, template):
        self.store, self.template, self.round = store, template, 0

    def reset(self):
        self.round += 1
        self.prefix = f"root{self.round}"
        self.store.upload("bucket", self.prefix, self.template)

    def command(self):
        return command(self.store.root("bucket", self.prefix))

    def check(self, words, done):
        return check(self.store.root("bucket", self.prefix), words, done, self.store.env)


def small_stack():
    resource.setrlimit(resource.RLIMIT_STACK, (64 << 10, 64 << 10))


def beside(store):
    """Batches come in while compactions run, with a stack of 64 KiB; each compaction may lose against a publish."""
    root = store.root("bucket", "beside")
    make(root, store.env)
    environment = {**os.environ, **store.env}
    want = ALL
    for i in range(4):
        process = subprocess.Popen([str(part) for part in command(root)], env=environment,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   preexec_fn=None if dxtest.SANITIZED else small_stack)
        ingest(root, BATCHES[i] + [f"a.example.com/beside{i}"], store.env)
        want += 1
        words = process.communicate()[1]
        dxtest.equal(process.returncode, 0, f"compact beside an ingest: {words[-300:]}")
        publish(root, store.env)
        dxtest.equal(rows(root, store.env), (want, want), f"round {i} of compact beside ingest")


def behind_writers(store):
    """Runs that add to the same datasets, however many follow each other, do not hold a compaction up:
    one whose line stays while it lasts, and ingests into other datasets one after another."""
    root = store.root("bucket", "behind")
    make(root, store.env)
    for name in ("other", "third"):
        for i in range(3):
            dxtest.domaindex("ingest", "--root", root, "--dataset", name, "--format", "list", *SMALL,
                             "-", input=f"http://c.example.net/{name}{i}\n".encode(), env=store.env)
    line = "9f3c00d2a1b2c3d4 7 elsewhere farm3 1 88 1-3\n"
    store.put("bucket", "behind/writers", f"domaindex-writers 1\n{line}".encode())
    done = dxtest.run(*command(root), env=store.env)
    dxtest.check(line in store.get("bucket", "behind/writers").decode(),
                 "the line of another machine's run stays: it was silent for less than a lease")
    dxtest.check(b"waiting" not in done.stderr, f"compact waits for no ingest: {done.stderr[-300:]}")
    store.remove("bucket", "behind/writers")
    ended = threading.Event()
    counts = [0, 0]

    def loop(which):
        while not ended.is_set() and counts[which] < 500:
            dxtest.domaindex("ingest", "--root", root, "--dataset", ("other", "third")[which],
                             "--format", "list", *SMALL, "-", env=store.env,
                             input=f"http://d.example.net/{which}/{counts[which]}\n".encode())
            counts[which] += 1
    threads = [threading.Thread(target=loop, args=(which,)) for which in (0, 1)]
    for thread in threads:
        thread.start()
    dxtest.wait_until(lambda: min(counts) > 0)
    dxtest.run(*command(root), env=store.env)
    ended.set()
    for thread in threads:
        thread.join()
    dxtest.check(max(counts) < 500, f"the compaction ended before the ingests did: {counts}")
    publish(root, store.env)
    dxtest.equal(rows(root, store.env), (ALL, ALL), "rows of the dataset that was left alone")
    done = dxtest.domaindex("lookup", "--root", root, "example.net", env=store.env)
    dxtest.equal(json.loads(done.stdout)["row_count"], 6 + sum(counts), "rows of the loops")
    dxtest.domaindex("verify", "--root", root, env=store.env)


def main():
    dxtest.need_programs()
    if inject.can_trace():
        killed()
    else:
        print("system calls are left out: no strace, or no right to trace")
    if stores.find("versitygw"):
        with dxtest.tempdir() as tmp, stores.Versitygw() as store:
            store.bucket("bucket")
            beside(store)
            behind_writers(store)
            make(tmp / "template")
            case = OnStore(store, tmp / "template")
            inject.requests("compact", store, case.reset, case.command, case.check, 8)
    else:
        print("object storage is left out: no server program")
    dxtest.finish()


if __name__ == "__main__":
    sys.exit(main())
