#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: slow
"""An access table that was lost, or is an older copy, shows no dataset that it hides: servers do not start with it, one that runs
keeps the table that it knows, commands of the table, backup, verify, doctor and `domaindexd --check` refuse it, and `access accept` is
the way out. In a directory and on an S3 server; after publishes, a rollback and a restore.

In detail: a table that was lost or is an older copy, with the server stopped and running, in a directory and on
versitygw: nothing is shown again; `access init`, `accept`, `remove`; publish, rollback, backup and restore. In the gate every third command
of the table is tried with an older copy, and in the directory all with one that was lost; publish, rollback and restore in the directory alone.
"""
import concurrent.futures
import fcntl
import json
import os
import subprocess

import dxtest
import remains
import stores
from dxtest import check, wait_until, equal

TABLE = "index/access.json"
ALL = ["open", "secret"]
PORT = ("--listen", "127.0.0.1:0", "--lease", "no")


def make(root, tmp):
    psl = dxtest.short_psl(tmp, "com")
    for name in ALL:
        (tmp / name).write_text(f"https://www.{name}.com/1\n")
        dxtest.domaindex("ingest", *psl, "--root", root, "--dataset", name, "--format", "list", tmp / name)
    for _ in range(2):
        dxtest.domaindex("publish", "--root", root, "--force")


def names_of(server):
    """What a caller without a token sees; or the status."""
    reply = server.get("/v1/datasets")
    return sorted(d["name"] for d in reply.json["datasets"]) if reply.status == 200 else reply.status


def sees(root, env, *options):
    with stores.environment(env), dxtest.Server(root, "--lease", "no", *options) as server:
        return names_of(server)


def said_at_start(root, env, *options):
    """What a server that is started on the root says, if it does not start."""
    try:
        done = subprocess.run([dxtest.DOMAINDEXD, "--root", str(root), *PORT, *map(str, options)], capture_output=True, timeout=60,
                              env={**os.environ, **env}, check=False)
    except subprocess.TimeoutExpired:
        return None
    return done.stderr.decode()


class Root:
    def __init__(self, there, env, tmp):
        self.there, self.root, self.env, self.tmp = there, there.root, env, tmp

    def access(self, *words, expect=0):
        return dxtest.domaindex("access", *words, "--root", self.root, env=self.env, expect=expect)

    def generation(self):
        return json.loads(self.there.get(TABLE))["generation"]

    def bound(self):
        return self.there.manifest().get("access")

    def refused(self, words, damage):
        """By what would show or change something; and nothing was changed."""
        bound, table = self.bound(), self.there.get(TABLE) if TABLE in self.there.names() else None
        said = said_at_start(self.root, self.env)
        check(said is not None and damage in said and "index/access.json" in said and "access accept" in said, f"{words}: a server does not start: {said}")
        commands = (("list",), ("status",), ("log",), ("token", "list"), ("grant", "open", "--to", "x"), ("principal", "add", "x"),
                    ("init", "--public"), ("remove", "--yes"), ("init", "--public", "--dry-run"))
        for command in commands[::1 if dxtest.WHOLE or (words == "lost" and "://" not in self.root) else 3]:
            done = self.access(*command, expect=None)
            check(done.returncode == 1 and damage in done.stderr.decode(), f"{words}: access {command}: {done.returncode} {done.stderr}")
        done = dxtest.domaindex("verify", "--root", self.root, env=self.env, expect=3)
        check(damage in done.stdout.decode() + done.stderr.decode(), f"{words}: verify: {done.stdout}")
        done = json.loads(dxtest.domaindex("doctor", "--json", "--root", self.root, env=self.env, expect=1).stdout)
        found = next(f for f in done["findings"] if f["check"] == "access")
        check(found["level"] == "fault" and damage in found["found"], f"{words}: doctor: {found}")
        done = dxtest.domaindex("backup", "--root", self.root, "--to", self.tmp / "no-copy", env=self.env, expect=1)
        check(damage in done.stderr.decode() and not (self.tmp / "no-copy" / "index" / "manifest.json").exists(), f"{words}: backup: {done.stderr}")
        if "://" not in self.root:
            done = dxtest.run(dxtest.DOMAINDEXD, "--root", self.root, "--check", expect=1)
            check(damage in done.stderr.decode(), f"{words}: --check: {done.stderr}")
        equal((self.bound(), self.there.get(TABLE) if TABLE in self.there.names() else None), (bound, table), f"{words}: nothing was changed")
        equal(dxtest.domaindex("lookup", "--root", self.root, "secret.com", env=self.env).returncode, 0, f"{words}: commands do not obey a table")


def stopped(r):
    equal(r.bound(), None, "a root that never had a table")
    equal(sees(r.root, r.env), ALL, "nor hides anything")
    r.access("init")
    equal((r.bound(), sees(r.root, r.env)), (r.generation(), 401), "the first change of a table")
    r.access("grant", "open", "--to", "*")
    older = r.there.get(TABLE)
    r.access("grant", "open", "--to", "team")
    newest = r.there.get(TABLE)
    equal((r.bound(), sees(r.root, r.env)), (r.generation(), ["open"]), "the manifest says more with each change")

    r.there.remove(TABLE)
    r.refused("lost", "the table was lost")
    r.there.put(TABLE, older)
    r.refused("older", "it is an older copy")
    own = r.tmp / "own.json"
    own.write_bytes(older)
    equal(sees(r.root, r.env, "--access-file", own), ["open"], "a server with a table of its own")
    r.there.put(TABLE, newest)
    equal(sees(r.root, r.env), ["open"], "the newest again")
    return older, newest


def kept(r, older, newest):
    """A publish and a rollback keep what the manifest says, and a publish raises it."""
    bound = r.bound()
    r.there.remove(TABLE)
    dxtest.domaindex("publish", "--root", r.root, "--force", env=r.env)
    equal(r.bound(), bound, "a publish without the table does not lower it")
    dxtest.domaindex("rollback", "--root", r.root, "1", env=r.env)
    equal(r.bound(), bound, "nor does a rollback")
    said = said_at_start(r.root, r.env)
    check(said is not None and "the table was lost" in said, f"lost, after a rollback: {said}")
    r.there.put(TABLE, older)
    dxtest.domaindex("publish", "--root", r.root, "--force", env=r.env)
    equal(r.bound(), bound, "nor does a publish with an older copy")
    r.there.put(TABLE, newest)


def running(r, older, newest):
    with stores.environment(r.env), dxtest.Server(r.root, "--lease", "no", "--poll-ms", 100) as server:
        def health():
            return server.get("/readyz").json["state"], server.metrics()["domaindex_access_last_look_successful"]
        for words, text in (("lost", None), ("older", older)):
            r.there.remove(TABLE) if text is None else r.there.put(TABLE, text)
            check(wait_until(lambda: health() == ("degraded", 0)), f"{words} while a server runs: {health()}")
            equal(names_of(server), ["open"], f"{words}: it keeps what it knows")
            dxtest.domaindex("publish", "--root", r.root, "--force", env=r.env)
            version = r.there.manifest()["current_version"]
            check(wait_until(lambda: server.get("/v1/datasets").headers["x-domaindex-version"] == version), f"{words}: the next version")
            equal((names_of(server), health()), (["open"], ("degraded", 0)), f"{words}: with the next version, too")
            r.there.put(TABLE, newest)
            check(wait_until(lambda: health() == ("sound", 1)), f"{words}: it is back: {health()}")


def comes_later(r):
    """One that runs without a table, and sees a manifest that names one: it says so, and goes on for ten minutes (test_access)."""
    with stores.environment(r.env), dxtest.Server(r.root, "--lease", "no", "--poll-ms", 100) as server:
        equal(names_of(server), ALL, "no table")
        r.access("init")
        check(wait_until(lambda: names_of(server) == 401), "a table that comes")
    table = r.there.get(TABLE)
    manifest = r.there.get("index/manifest.json")
    r.access("remove", "--yes")
    r.there.remove(TABLE)
    with stores.environment(r.env), dxtest.Server(r.root, "--lease", "no", "--poll-ms", 100) as server:
        equal(names_of(server), ALL, "no table, nor a manifest that names one")
        r.there.put("index/manifest.json", manifest)
        check(wait_until(lambda: server.metrics()["domaindex_access_last_look_successful"] == 0), "a manifest that names one")
        check("the table was lost" in server.words(), f"the log: {server.words()}")
        r.there.put(TABLE, table)
        check(wait_until(lambda: names_of(server) == 401), "the table")


def given_up(r, older, newest):
    r.there.put(TABLE, older)
    equal(json.loads(r.access("accept", "--json", "--dry-run").stdout)["changed"], True, "accept --dry-run")
    said = said_at_start(r.root, r.env)
    check(said is not None and "older copy" in said, f"a dry run changes nothing: {said}")
    equal(json.loads(r.access("accept", "--json").stdout),
          {"action": "accept", "changed": True, "generation": json.loads(older)["generation"], "dry_run": False}, "accept")
    equal((r.bound(), sees(r.root, r.env)), (r.generation(), ["open"]), "an older copy is accepted")
    dxtest.domaindex("verify", "--root", r.root, env=r.env)
    r.there.put(TABLE, newest)
    equal(sees(r.root, r.env), ["open"], "a newer table is accepted")

    r.there.remove(TABLE)
    r.access("init")
    equal((r.bound(), sees(r.root, r.env)), (r.generation(), 401), "in place of one that was lost: one that grants nothing")
    r.access("grant", "open", "--to", "*")
    r.there.remove(TABLE)
    said = r.access("accept", expect=2).stderr.decode()
    check("--yes" in said and "every dataset" in said, f"accept a root without a table: {said}")
    r.access("accept", "--yes")
    equal((r.bound(), sees(r.root, r.env)), (None, ALL), "given up")

    r.access("init")
    check(r.bound() is not None, "a new one")
    r.access("remove", "--yes")
    equal((r.bound(), sees(r.root, r.env)), (None, ALL), "a table out of force may be missing")
    dxtest.domaindex("publish", "--root", r.root, "--force", env=r.env)
    r.there.remove(TABLE)
    equal((r.bound(), sees(r.root, r.env)), (None, ALL), "nor is the file of it")
    dxtest.domaindex("verify", "--root", r.root, env=r.env)


def at_once(r):
    """Changes of the table and a publish at once: no more is said than the table has, and on a store, where no lock is held, no less."""
    r.access("init")
    with concurrent.futures.ThreadPoolExecutor(5) as pool:
        done = [pool.submit(r.access, "grant", "open", "--to", f"w{n}") for n in range(8 if dxtest.WHOLE else 4)]
        done.append(pool.submit(dxtest.domaindex, "publish", "--root", r.root, "--force", "--wait", 60, env=r.env))
        for one in done:
            one.result()
    check(r.bound() == r.generation() or ("://" not in r.root and r.bound() < r.generation()), f"at once: {r.bound()} of {r.generation()}")
    r.access("grant", "open", "--to", "w9")
    equal(r.bound(), r.generation(), "and one more")
    r.access("remove", "--yes")


def restored(r, tmp):
    """A copy says it, too, and what is restored from the copy."""
    copy, back = remains.Folder(tmp / "copy"), remains.Folder(tmp / "back")
    dxtest.domaindex("backup", "--root", r.root, "--to", copy.root, env=r.env)
    r.access("init")
    r.access("grant", "open", "--to", "*")
    dxtest.domaindex("backup", "--root", r.root, "--to", copy.root, env=r.env)
    equal((copy.manifest().get("access"), sees(copy.root, {})), (r.bound(), ["open"]), "a copy, though no version is new")
    dxtest.domaindex("backup", "--root", copy.root, "--to", back.root, "--all")
    equal((back.manifest().get("access"), sees(back.root, {})), (r.bound(), ["open"]), "restored")
    back.remove(TABLE)
    said = said_at_start(back.root, {})
    check(said is not None and "the table was lost" in said, f"lost after a restore: {said}")
    r.access("grant", "open", "--to", "team")
    dxtest.domaindex("backup", "--root", r.root, "--to", copy.root, env=r.env)
    copy.remove(TABLE)
    dxtest.domaindex("backup", "--root", r.root, "--to", copy.root, env=r.env)
    equal(copy.get(TABLE), r.there.get(TABLE), "a copy that has lost it gets it again")


def beside_others(root, tmp):
    """While another command holds the lock of the root the table is changed all the same; the next change or publish says it."""
    r = Root(remains.Folder(root), {}, tmp)
    r.access("remove", "--yes", expect=None)
    with open(root / ".lock", "r+b") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        r.access("init")
    equal(r.bound(), None, "the lock was held")
    dxtest.domaindex("publish", "--root", root, "--force")
    equal(r.bound(), r.generation(), "a publish says it")
    with open(root / ".lock", "r+b") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        r.access("grant", "open", "--to", "*")
    check(r.bound() < r.generation(), "the lock was held")
    r.access("grant", "open", "--to", "*")
    equal(r.bound(), r.generation(), "the same change again says it")


def cases(there, env, tmp, every=True):
    r = Root(there, env, tmp)
    older, newest = stopped(r)
    if every:
        kept(r, older, newest)
    running(r, older, newest)
    given_up(r, older, newest)
    if every:
        comes_later(r)
        r.access("remove", "--yes")
    at_once(r)
    if every:
        restored(r, tmp)


def main():
    dxtest.need_programs()
    skipped = None
    with dxtest.tempdir() as tmp:
        root = tmp / "root"
        make(root, tmp)
        if stores.find("versitygw"):
            with stores.Versitygw() as store:
                store.bucket("bucket")
                store.upload("bucket", "r", root)
                (tmp / "far").mkdir()
                cases(remains.Bucket(store, "bucket", "r"), {**store.env, "XDG_CACHE_HOME": str(tmp / "cache")}, tmp / "far", dxtest.WHOLE)
        else:
            skipped = "an S3 server (versitygw)"
        (tmp / "near").mkdir()
        cases(remains.Folder(root), {}, tmp / "near")
        beside_others(root, tmp)
    dxtest.finish(skipped)


if __name__ == "__main__":
    main()
