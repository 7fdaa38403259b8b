# SPDX-License-Identifier: Apache-2.0
# labels: slow
"""compact is all or nothing: killed at a system call or a request, or refused one, it leaves the old
version or the new one, and after the next publish no row is there twice and none is lost.

DX_KILL_POINTS points (30; 0: all; tests/support/inject.py) in a directory, and so many requests to an
S3 server where one is there. A compaction that died is followed by an ingest and a publish, which
must not take its files for new rows, and by another compaction. And compactions beside ingests into
the same root on S3: no row twice, none lost.
"""
import json
import os
import subprocess
import sys

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


def beside(store):
    """Batches come in while compactions run; each compaction may lose against a publish."""
    root = store.root("bucket", "beside")
    make(root, store.env)
    environment = {**os.environ, **store.env}
    want = ALL
    for i in range(4):
        process = subprocess.Popen([str(part) for part in command(root)], env=environment,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        ingest(root, BATCHES[i] + [f"a.example.com/beside{i}"], store.env)
        want += 1
        words = process.communicate()[1]
        dxtest.equal(process.returncode, 0, f"compact beside an ingest: {words[-300:]}")
        publish(root, store.env)
        dxtest.equal(rows(root, store.env), (want, want), f"round {i} of compact beside ingest")


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
            make(tmp / "template")
            case = OnStore(store, tmp / "template")
            inject.requests("compact", store, case.reset, case.command, case.check, 8)
    else:
        print("object storage is left out: no server program")
    dxtest.finish()


if __name__ == "__main__":
    sys.exit(main())
