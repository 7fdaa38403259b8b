# SPDX-License-Identifier: Apache-2.0
# labels: slow long
"""`domaindex backup` killed at a system call or a request, or refused one, leaves the backup of before or the new one, sound;
a publish in what it left takes no file of the unfinished one; the next backup makes it whole.

DX_KILL_POINTS points of each sweep (30 and 20; 0: all there are); tests/support/inject.py.

In detail: `backup` killed or refused at every kind of system call, and at requests to versitygw: the copy of
before or the new one, sound; a publish in what is left takes no file of the unfinished one; the next backup
is whole.
"""
import json
import os
import shutil
import sys

import dxtest
import inject
import remains
import stores

SMALL = ["--memory", "64M", "--threads", "1"]
NAMES = [f"d{i}.com" for i in range(4)]


def ingest(root, number, *more):
    urls = "".join(f"http://{name}/{number}/{i}\n" for name in NAMES[number % 2::2] for i in range(3))
    dxtest.domaindex("ingest", "--root", root, "--dataset", f"set{number % 2}", "--format", "list", *more, "-", input=urls.encode())


def publish(root, env=None):
    return dxtest.domaindex("publish", "--root", root, *SMALL, env=env).stdout.decode().strip()


def answers(root, env=None):
    lines = dxtest.domaindex("lookup", "--root", root, *NAMES, expect=None, env=env).stdout.decode().splitlines()
    return [{k: v for k, v in json.loads(line).items() if k != "version"} for line in lines]


def make(template):
    """src, and dst as a backup of it, two publishes and a compaction ago."""
    src, dst = template / "src", template / "dst"
    for number in range(2):
        ingest(src, number)
        publish(src)
    dxtest.domaindex("backup", "--root", src, "--to", dst)
    said = {publish(src): answers(src)}
    for number in range(2, 4):
        ingest(src, number)
        publish(src)
    dxtest.domaindex("compact", "--root", src, *SMALL)
    dxtest.domaindex("suppress", "add", "--root", src, "--url", "http://d0.com/0/0")
    said[publish(src)] = answers(src)
    return said


def check_copy(dst, scratch, said, words, env=None):
    """Its version is one of the two, sound, and its answers are those of the version."""
    version = remains.Folder(dst).manifest()["current_version"] if not env else None
    done = dxtest.domaindex("verify", "--root", dst, "--deep", *SMALL, expect=None, env=env)
    dxtest.equal(done.returncode, 0, f"{words}: {done.stdout[-400:]}{done.stderr[-300:]}")
    if version not in said:
        dxtest.check(False, f"{words}: version {version}")
        return "strange"
    hidden = answers(dst)
    shutil.rmtree(scratch, ignore_errors=True)
    shutil.copytree(dst, scratch)
    dxtest.equal(publish(scratch), version, f"{words}: a publish in what is left")
    new = version == max(said)
    # Suppressions come before the manifest: those of the new one may hold for the old one too.
    for name in ("suppressions.floor", "suppressions.log"):
        (scratch / "index" / name).unlink(missing_ok=True)
    if not new:
        dxtest.equal(answers(scratch), said[version], f"{words}: answers")
    else:
        dxtest.equal(hidden, said[version], f"{words}: answers")
    return "new" if new else "old"


def local(template, work, said):
    def command(root):
        return [dxtest.DOMAINDEX, "backup", "--root", root / "src", "--to", root / "dst", "--force", "--threads", "1"]

    def check(root, words, done):
        seen = check_copy(root / "dst", root / "scratch", said, words)
        if done.returncode == 0:
            dxtest.equal(seen, "new", f"{words}: exit 0")
        again = dxtest.run(*command(root), expect=None)
        dxtest.equal(again.returncode, 0, f"{words}: again: {again.stderr[-300:]}")
        dxtest.equal(check_copy(root / "dst", root / "scratch", said, f"{words}, again"), "new", f"{words}: after another")
        return seen
    seen = inject.sweep("backup", template, work, command, check, 30)
    dxtest.check(inject.is_sample(30) or len(seen) == 2, f"each outcome is seen: {dict(seen)}")


def on_store(template, work, said):
    with stores.Versitygw() as store:
        store.bucket("bucket")
        there = remains.Bucket(store, "bucket", "dst")
        at_store = {**os.environ, **store.env}
        command = [dxtest.DOMAINDEX, "backup", "--root", template / "src", "--to", there.root, "--force", "--threads", "1"]

        def check(words, done):
            done = dxtest.domaindex("verify", "--root", there.root, "--deep", *SMALL, expect=None, env=at_store)
            dxtest.equal(done.returncode, 0, f"{words}: {done.stdout[-400:]}{done.stderr[-300:]}")
            version = there.manifest()["current_version"]
            dxtest.check(version in said, f"{words}: version {version}")
            again = dxtest.run(*command, expect=None, env=at_store)
            dxtest.equal(again.returncode, 0, f"{words}: again: {again.stderr[-300:]}")
            dxtest.equal(there.manifest()["current_version"], max(said), f"{words}: after another")
            dxtest.equal(answers(there.root, at_store), said[max(said)], f"{words}: answers")
            return "new" if version == max(said) else "old"
        inject.requests("backup to a store", store, lambda: there.fill(template / "dst"), lambda: command, check, 20)


def main():
    dxtest.need_programs()
    inject.need()
    with inject.workplace() as tmp:
        said = make(tmp / "template")
        local(tmp / "template", tmp / "work", said)
        if stores.find("versitygw"):
            on_store(tmp / "template", tmp / "work", said)
    dxtest.finish(None if stores.find("versitygw") else "no versitygw here: stores were not tried")


sys.exit(main())
