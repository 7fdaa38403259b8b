#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: slow
"""`domaindex adopt` into a root on object storage (versitygw, MinIO): files of several writers are put below its spool/, and one adopt lets the
store copy them into the lake. They answer as one ingest of all records does; what it must refuse it refuses; replies to copies that get lost, and
a run that is killed at its writes (at 2; DX_KILL_POINTS, 0: all), leave each dataset with its old rows or the new ones, and the next run puts
that right.
"""
import asyncio
import json
import os
import signal
import subprocess
import time

import adopt as local
import dxtest
import faultproxy
import inject
import stores
from dxtest import check, equal


class Writes(faultproxy.Proxy):
    """Counts the writes of the program behind it. At number `at` it kills the program, before the store has the request or after;
    with `lost` every reply to a copy is cut off once."""

    def __init__(self, upstream, at=None, after=False, lost=False):
        super().__init__(upstream)
        self.at, self.after, self.lost, self.count, self.copies, self.process, self.cut = at, after, lost, 0, 0, None, set()

    async def answer(self, request):
        wrote = request.method in ("PUT", "POST", "DELETE")
        copies = request.get("x-amz-copy-source") is not None
        self.count += wrote
        self.copies += copies
        kills = wrote and self.count == self.at
        if kills and not self.after:
            self.process.kill()
            await asyncio.sleep(0)
        reply = await super().answer(request)
        if kills and self.after:
            self.process.kill()
        if self.lost and copies and request.target not in self.cut:
            self.cut.add(request.target)
            reply.end, reply.cut_at = "reset", 0
        return reply


class Root:
    def __init__(self, store, bucket, prefix, tmp):
        store.bucket(bucket)
        self.tmp, self.root, self.staged = tmp, store.root(bucket, prefix), {}
        self.env = {**store.env, "TMPDIR": str(tmp), "CACHE_DIRECTORY": str(tmp / "cache")}

    def run(self, command, *arguments, **more):
        return dxtest.domaindex(command, "--root", self.root, *arguments, env=more.pop("env", self.env), **more)

    def files(self, version):
        """Lines of the files that tasks wrote: of each version they are made once, and stay where they are."""
        if version not in self.staged:
            self.staged[version] = local.stage(self.tmp / f"staged-{version}", version)
        return self.staged[version]

    def stage(self, version, job):
        """Each task puts its files below the spool; lines of the list of all."""
        staged, lines = [], self.files(version)
        for number in range(local.TASKS):
            mine = lines[number * len(lines) // local.TASKS:(number + 1) * len(lines) // local.TASKS]
            (self.tmp / "task.tsv").write_text("\n".join(mine) + "\n")
            place = f"{self.root}/spool/spark-{job}/{number}"
            done = json.loads(dxtest.domaindex("adopt", "--root", place, "--list", self.tmp / "task.tsv", "--json", env=self.env).stdout)
            equal(len(done["placed"]), len(mine), f"files of task {number} of {job}")
            staged += [f"{line.rsplit(chr(9), 1)[0]}\t{place}/{path}" for line, path in zip(mine, done["placed"])]
        return staged

    def adopt(self, lines, *more, **options):
        (self.tmp / "list.tsv").write_text("\n".join(lines) + "\n")
        return self.run("adopt", "--list", self.tmp / "list.tsv", *more, **options)

    def answers(self):
        self.run("publish")
        with stores.environment(self.env):
            return local.answers(self.root)


def refuse(root, lines):
    size, prefixes, dataset, path = lines[0].split("\t")
    for words, changed, more in (
            ("has rows", lines, ()),
            ("below", [f"{size}\t{prefixes}\t{dataset}\t{root.root}/registry.json"], ("--replace",)),
            ("below", [f"{size}\t{prefixes}\t{dataset}\t{root.root}/spool/../registry.json"], ("--replace",)),
            ("are expected", [f"{int(size) + 1}\t{prefixes}\t{dataset}\t{path}"], ("--replace",)),
            ("are expected", [f"{size}\t{prefixes}\t{dataset}\t{path}x"], ("--replace",)),
            ("No such file", [f"{size}\t{prefixes}\t{dataset}\ts3://other/spool/x.parquet"], ("--replace",))):
        said = root.adopt(changed, *more, expect=1).stderr.decode()
        check(words in said, f"{words}: {said[-300:]}")


def refuse_twice(root, lines):
    """The same rows under other names: the files are fetched and compared."""
    again = root.stage("new", "again")
    said = root.adopt([*lines, again[-1]], "--replace", expect=1).stderr.decode()
    check("both have a row of http://" in said and again[-1].split("\t")[3] in said, f"rows of two objects: {said}")
    said = root.adopt([*lines, f"{lines[0].rsplit(chr(9), 1)[0]}\t{root.files('new')[0].rsplit(chr(9), 1)[1]}"], "--replace", expect=1).stderr.decode()
    check("both have a row of http://" in said, f"rows of an object and a file: {said}")


def collect(root):
    """What a job leaves that does not end: gc keeps it for a week, unless told otherwise, and removes nothing else."""
    lines = root.stage("new", "left")
    root.run("gc", "--delete")
    root.adopt(lines, "--replace", "--dry-run")

    def is_gone():  # the clock of a store has seconds: what is of this one is not older than nothing
        root.run("gc", "--delete", "--keep-spool", "0")
        return root.adopt(lines[-1:], "--replace", "--dry-run", expect=None).returncode == 1
    time.sleep(1.1)
    check(dxtest.wait_until(is_gone), "the youngest attempt goes")
    said = root.adopt(lines, "--replace", "--dry-run", expect=1).stderr.decode()
    check("are expected" in said, f"the spool is empty: {said}")
    root.run("verify", "--deep")


def lose_replies(root, new):
    lines = root.stage("new", "lost")
    with Writes(root.env["AWS_ENDPOINT_URL_S3"], lost=True) as proxy:
        root.adopt(lines, "--replace", env={**root.env, "AWS_ENDPOINT_URL_S3": proxy.url})
    equal(len(proxy.cut), len(lines), "copies whose reply was lost")
    check(root.answers() == new, "replies to copies were lost: each was looked for")


def kill(root, old, new):
    """At writes of a run that replaces (DX_KILL_POINTS)."""
    lines = root.stage("new", "count")
    with Writes(root.env["AWS_ENDPOINT_URL_S3"]) as proxy:
        root.adopt(lines, "--replace", env={**root.env, "AWS_ENDPOINT_URL_S3": proxy.url})
    check(proxy.copies == len(lines), f"{proxy.copies} copies of {len(lines)} files")
    check(root.answers() == new, "before the kills")
    want = {"new": new, "old": old}
    points = inject.draw([(point, after) for point in range(1, proxy.count + 1) for after in (False, True)], 2)
    print(f"killed at {len(points)} of {2 * proxy.count} points", flush=True)
    for point, after in points:
        before, version = (new, "old") if root.answers() == new else (old, "new")
        (root.tmp / "list.tsv").write_text("\n".join(root.stage(version, f"{point}{after}")) + "\n")
        with Writes(root.env["AWS_ENDPOINT_URL_S3"], at=point, after=after) as proxy:
            env = {**os.environ, **root.env, "AWS_ENDPOINT_URL_S3": proxy.url}
            proxy.process = subprocess.Popen([dxtest.DOMAINDEX, "adopt", "--root", root.root, "--replace", "--list", root.tmp / "list.tsv"], env=env, stderr=subprocess.PIPE)
            proxy.process.communicate()
        check(proxy.process.returncode in (-signal.SIGKILL, 0), f"killed at write {point}: exit {proxy.process.returncode}")
        found = root.answers()
        check(found in (before, want[version]), f"killed at write {point}, {'after' if after else 'before'} it: neither the old rows nor the new ones")
        root.adopt(root.stage(version, f"{point}{after}again"), "--replace")
        check(root.answers() == want[version], f"killed at write {point}: the next run does not lead to the new rows")


def check_store(store, tmp, old, new):
    root = Root(store, "lake", "p", tmp)
    lines = root.stage("old", "one")
    equal(json.loads(root.adopt(lines, "--dry-run", "--json").stdout)["placed"], [], "a dry run")
    placed = json.loads(root.adopt(lines, "--json").stdout)["placed"]
    equal(len(set(placed)), len(lines), "paths in the lake")
    check(root.answers() == old, "files that were copied answer as one ingest of all records")
    root.run("verify", "--deep")
    more = root.stage("new", "two")
    refuse(root, more)
    refuse_twice(root, more)
    root.adopt(more, "--replace")
    check(root.answers() == new, "files that replace")
    said = root.adopt(more, "--replace", expect=1).stderr.decode()
    check("are expected" in said, f"what was adopted is gone from the spool: {said}")
    said = root.adopt([more[1], more[1]], "--replace", expect=1).stderr.decode()
    check("are expected" in said or "twice" in said, said)
    collect(root)
    lose_replies(root, new)
    kill(root, old, new)
    root.run("verify", "--deep")


def main():
    dxtest.need_programs()
    stores.need("versitygw")
    with dxtest.tempdir() as tmp:
        old, new = local.whole(tmp / "whole-old", "old"), local.whole(tmp / "whole-new", "new")
        for kind in (stores.Versitygw, stores.Minio) if dxtest.WHOLE and stores.find("minio") else (stores.Versitygw,):
            with kind() as store, dxtest.tempdir() as work:
                check_store(store, work, old, new)
    dxtest.finish()


if __name__ == "__main__":
    main()
