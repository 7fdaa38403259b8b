#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: slow
"""A log of suppressions that was lost, or is an older copy, shows nothing again: servers and commands refuse it, verify calls it
damage, and `suppress accept` is the way out. In a directory and on an S3 server; beside commands that race, and after a rollback.

In detail: a log that was lost, an older copy, another log: refused by servers, commands and `verify`, in a
directory and on versitygw; commands that race, a rollback, `suppress accept`. In the gate a third of the commands meets each
kind of loss, all of them some.
"""
import concurrent.futures
import itertools
import json
import os
import subprocess

import dxtest
import remains
import stores
from dxtest import check, wait_until, equal


RACES = 8 if dxtest.WHOLE else 4


def make(root, tmp):
    (tmp / "rows.tsv").write_text("".join(f"d\thttps://www.site{n}.com/{n}\n" for n in range(8)))
    for _ in range(2):
        dxtest.domaindex("ingest", "--root", root, "--format", "tsv", "--dataset-column", 1, "--url-column", 2, tmp / "rows.tsv")
        dxtest.domaindex("publish", "--root", root)
        (tmp / "rows.tsv").write_text("d\thttps://www.site9.com/\n")


def starts(root, env):
    """What a server that is started on the root says, if it does not start."""
    try:
        done = subprocess.run([dxtest.DOMAINDEXD, "--root", str(root), "--listen", "127.0.0.1:0", "--lease", "no"],
                              capture_output=True, timeout=60, env={**os.environ, **env}, check=False)
    except subprocess.TimeoutExpired:
        return None
    return done.stderr.decode()


turns = itertools.count()


def refused(root, env, words, damage):
    said = starts(root, env)
    check(said is not None and damage in said and "suppress accept" in said, f"{words}: a server does not start: {said}")
    commands = (("lookup", "--root", root, "site1.com"), ("suppress", "list", "--root", root),
                ("suppress", "add", "--root", root, "--host", "x.site1.com"), ("domain64", "fill", "--root", root),
                ("compact", "--root", root))
    for command in commands if dxtest.WHOLE else commands[next(turns) % 3::3]:
        done = dxtest.domaindex(*command, env=env, expect=None)
        check(done.returncode == 1 and damage in done.stderr.decode(), f"{words}: {command[:2]}: {done.returncode} {done.stderr}")
    done = dxtest.domaindex("verify", "--root", root, env=env, expect=3)
    check(damage in done.stdout.decode() + done.stderr.decode(), f"{words}: verify: {done.stdout}")


def hidden(root, env):
    out = dxtest.domaindex("lookup", "--root", root, "site1.com", "site2.com", "site3.com", env=env, expect=None).stdout
    return [json.loads(line).get("problem") for line in out.splitlines()]


def cases(root, there, env):
    """there: the log and its floor can be taken away and put back."""
    dxtest.domaindex("domain64", "init", "--root", root, env=env)

    def add(domain):
        dxtest.domaindex("suppress", "add", "--root", root, "--domain", domain, env=env)

    add("site1.com")
    older = there.get("index/suppressions.log")
    add("site2.com")
    whole = there.get("index/suppressions.log")
    equal(hidden(root, env), ["withheld", "withheld", None], "two rules")

    there.remove("index/suppressions.log")
    refused(root, env, "lost", "the log was lost")
    there.put("index/suppressions.log", older)
    refused(root, env, "older", "1 line, but 2 were in force")
    there.put("index/suppressions.log", whole)
    equal(hidden(root, env), ["withheld", "withheld", None], "the whole log again")

    floor = there.get("index/suppressions.floor")
    for name in ("log", "floor"):
        there.remove(f"index/suppressions.{name}")
    refused(root, env, "log and floor lost: the first rule wrote the manifest", "0 lines, but 1 were in force (index/manifest.json)")
    there.put("index/suppressions.log", whole)
    there.put("index/suppressions.floor", floor)
    dxtest.domaindex("publish", "--root", root, "--force", env=env)
    for name in ("log", "floor"):
        there.remove(f"index/suppressions.{name}")
    there.put("index/suppressions.log", older)
    refused(root, env, "the floor lost and an older log", "1 line, but 2 were in force (index/manifest.json)")
    there.put("index/suppressions.log", whole)
    there.put("index/suppressions.floor", floor)

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(add, [f"race{n}.com" for n in range(RACES)]))
    floor = there.get("index/suppressions.floor").decode()
    check(f"lines\t{2 + RACES}\n" in floor, f"after {RACES} that raced: {floor}")

    dxtest.domaindex("rollback", "--root", root, "1", env=env)
    equal(hidden(root, env), ["withheld", "withheld", None], "after a rollback")
    newest = there.get("index/suppressions.log")
    there.put("index/suppressions.log", older)
    refused(root, env, "older, after a rollback", f"1 line, but {2 + RACES} were in force")
    dxtest.domaindex("suppress", "accept", "--root", root, env=env)
    equal(hidden(root, env), ["withheld", None, None], "accepted")
    dxtest.domaindex("verify", "--root", root, env=env)
    for name in ("log", "floor"):
        there.remove(f"index/suppressions.{name}")
    dxtest.domaindex("suppress", "accept", "--root", root, env=env)
    equal(hidden(root, env), [None, None, None], "none accepted")
    there.put("index/suppressions.log", older)
    dxtest.domaindex("suppress", "accept", "--root", root, env=env)
    add("site3.com")
    there.put("index/suppressions.log", newest)
    refused(root, env, "another log", "it is another log")


def in_force_at_once(root):
    """On a server that runs: within a second or so, and the rule outlives a log that goes away at once."""
    with dxtest.Server(root, "--poll-ms", 50) as server:
        equal(server.get("/v1/domain/site4.com").status, 200, "before")
        dxtest.domaindex("suppress", "add", "--root", root, "--domain", "site4.com")
        check(wait_until(lambda: server.get("/v1/domain/site4.com").status == 451), "hidden")
        (root / "index" / "suppressions.log").rename(root / "log")
        check(wait_until(lambda: server.get("/readyz").json["state"] == "degraded"), "a log that is gone")
        equal(server.get("/v1/domain/site4.com").status, 451, "still hidden")
        (root / "log").rename(root / "index" / "suppressions.log")


def main():
    dxtest.need_programs()
    skipped = None
    with dxtest.tempdir() as tmp:
        root = tmp / "root"
        make(root, tmp)
        in_force_at_once(root)
        for name in ("suppressions.log", "suppressions.floor"):
            (root / "index" / name).unlink()
        dxtest.domaindex("suppress", "accept", "--root", root)
        (root / "index" / "suppressions.floor").unlink()
        check("suppressions" not in (root / "index" / "manifest.json").read_text(), "a log without lines is accepted")
        if stores.find("versitygw"):
            with stores.Versitygw() as store:
                store.bucket("bucket")
                store.upload("bucket", "r", root)
                env = {**store.env, "XDG_CACHE_HOME": str(tmp / "cache")}
                cases(store.root("bucket", "r"), remains.Bucket(store, "bucket", "r"), env)
        else:
            skipped = "an S3 server (versitygw)"
        cases(root, remains.Folder(root), {})
    dxtest.finish(skipped)


if __name__ == "__main__":
    main()
