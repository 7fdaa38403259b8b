# SPDX-License-Identifier: Apache-2.0
# labels: slow long
"""Commands on a root in an S3 store (versitygw) with one allocation, connect, send, receive, read, write, open and so on failing, once or (but for
the network) from there on: the same result, or an error that names the cause; never a signal, and after exit 0 nothing is lost. Then, without a fault, the
same command works, `verify --deep` is sound, and answers are those of the model.

DX_WHOLE=1: all call chains whose last four calls no command before has, each with one error (see `starvation`); else 30 of them (DX_STARVE_POINTS, 0: all).
How the store itself fails is in `storage_faults` and `publish_s3`.
"""
import json
import os
import shutil
import subprocess
import sys

import dxtest
import remains
import starvation
import starve
import stores
from starvation import FIRST, GC, MORE, SMALL, rows

POINTS = int(os.environ.get("DX_STARVE_POINTS", 0 if dxtest.WHOLE else 30))     # at most, of all commands together; 0: all
# From there on: a store that is gone. A request that writes waits for it 12 times as long as DOMAINDEX_DEADLINE_MS (10 s), and a command whose store does
# not come back has up to four such waits one behind the other: what it could not do, whether it was done, and what it takes back. So `ingest` with `receive`
# failing from the second call on ends after 8 minutes; with a deadline of 500 ms it took 24.4 s, from the twelfth on 26.5 s (`storage_faults`, `publish_s3`).
ENDLESS = ("connect", "send", "receive")


def answers(root, env):
    """{(dataset, url)} of the current version."""
    done = dxtest.domaindex("lookup", "--root", root, "--all-urls", "--limit", 1000, *starvation.DOMAINS, expect=None, env=env)
    dxtest.check(done.returncode in (0, 1), f"lookup: {done.stderr[-300:]}")
    found = []
    for line in done.stdout.decode().splitlines():
        answer = json.loads(line)
        names = {d["dataset_id"]: d["dataset"] for d in answer.get("datasets", ())}
        found += [(names[item["dataset_id"]], item["url"]) for item in answer.get("items", ())]
        dxtest.check("problem" not in answer or answer["problem"] in ("domain-not-found", "withheld"), f"lookup: {line[:300]}")
    dxtest.equal(len(found), len(set(found)), "a row stands twice")
    return set(found)


def make_cases(base):
    """(name, template, command, answers before, answers after, what comes then)"""
    (base / "psl").write_text(starvation.PSL)
    (base / "gamma.txt").write_text("http://example.com/g\n")
    one, two = base / "one", base / "two"
    for dataset in FIRST:
        starvation.call(*starvation.ingest_words(FIRST, dataset, base), "--root", one)
    starvation.call("publish", *SMALL, "--psl", base / "psl", "--root", one)
    starvation.call(*starvation.ingest_words(MORE, "alpha", base), "--root", one)
    shutil.copytree(one, two)
    starvation.call("publish", *SMALL, "--psl", base / "psl", "--root", two)
    first, both = rows(FIRST), rows(FIRST, MORE)
    publish = ("publish", *SMALL, "--psl", base / "psl")
    yield ("ingest", one, ("ingest", *SMALL, "--psl", base / "psl", "--dataset", "gamma", "--format", "list", base / "gamma.txt"), first,
           both | {("gamma", "http://example.com/g")}, (publish,))
    yield "publish", one, publish, first, both, ()
    yield "compact", two, ("compact", *SMALL), both, both, ()
    yield "gc", two, GC, both, both, ()
    yield "suppress", two, ("suppress", "add", "--domain", "example.net"), both, {(d, u) for d, u in both if "example.net" not in u}, ()
    yield "remove", two, ("remove", "--dataset", "beta"), both, rows(FIRST, MORE, without=("beta",)), (publish,)
    yield "rollback", two, ("rollback", "1"), both, first, ()
    yield "access init", two, ("access", "init"), both, both, ()
    yield "verify", two, ("verify", "--deep", *SMALL), both, None, ()
    yield "lookup urls", two, ("lookup", "--all-urls", "example.com"), both, None, ()
    yield "lookup url", two, ("lookup", "--url", "http://example.com/a"), both, None, ()
    yield "files", two, ("files",), both, None, ()
    yield "backup", two, ("backup", "--threads", "1", "--to", base / "out"), both, None, ()


class Trial:
    def __init__(self, base, store, case):
        self.base, self.there = base, remains.Bucket(store, "lake", "a/root")
        self.name, self.template, command, self.before, self.after, self.then = case
        self.tmp = base / "tmp"
        self.env = {**starvation.FIXED, **store.env, "TMPDIR": str(self.tmp), "XDG_CACHE_HOME": str(base / "cache")}
        self.command = [dxtest.DOMAINDEX, *command, "--root", self.there.root]

    def begin(self):
        for folder in (self.tmp, self.base / "cache", self.base / "out"):
            shutil.rmtree(folder, ignore_errors=True)
        self.tmp.mkdir()
        self.there.fill(self.template)

    def run(self, words, what):
        done = dxtest.run(*words, expect=None, env=self.env)
        dxtest.equal(done.returncode, 0, f"{what}: {done.stderr[-300:]}")

    def undisturbed(self):
        self.begin()
        done, counts = starve.count(self.command, self.env, self.base, self.base)
        dxtest.equal(done.returncode, 0, f"{self.name}, undisturbed: {done.stderr[-500:]}")
        self.stdout = starvation.strip(done.stdout)
        return counts

    def try_point(self, point):
        """Whether the call came that was to fail."""
        words = f"{self.name}, {starve.words(point)}"
        self.begin()
        try:
            done, hit = starve.run(self.command, point, self.env, self.base)
        except subprocess.TimeoutExpired:
            dxtest.check(False, f"{words}: did not end")
            return True
        starve.check_exit(done, point, words, (0, 1))
        if self.after is None:
            if done.returncode == 0:
                dxtest.equal(starvation.strip(done.stdout)[-2000:], self.stdout[-2000:], f"{words}: output with exit 0")
            return hit
        states = [self.after] if done.returncode == 0 and not self.then else [self.before, self.after]
        got = answers(self.there.root, self.env)
        dxtest.check(got in states, f"{words}: answers after exit {done.returncode}: {sorted(got)}")
        if done.returncode != 0:
            again = dxtest.run(*self.command, expect=None, env=self.env)
            dxtest.check(again.returncode in (0, 1), f"{words}: once more: {again.returncode}: {again.stderr[-300:]}")
        for more in self.then:
            self.run([dxtest.DOMAINDEX, *more, "--root", self.there.root], f"{words}: then {more[0]}")
        dxtest.equal(answers(self.there.root, self.env), self.after, f"{words}: answers at the end")
        self.run([dxtest.DOMAINDEX, "verify", "--deep", *SMALL, "--root", self.there.root], f"{words}: then verify --deep")
        return hit


def may_fail(point):
    return not (point[0] in ENDLESS and starve.lasts(point))


def main():
    dxtest.need_programs()
    starve.need()
    stores.need("versitygw")
    with dxtest.tempdir() as base, stores.Versitygw() as store:
        store.bucket("lake")
        trials = [Trial(base, store, case) for case in make_cases(base) if case[0] in sys.argv[1:] or not sys.argv[1:]]
        counted = [(trial, trial.undisturbed().chains) for trial in trials]
        todo, whole = starve.chosen(counted, POINTS, starvation.NEAR, may_fail)
        print(f"{len(todo)} of {whole} points, of {sum(len(chains) for _, chains in counted)} chains", flush=True)
        hits = [trial.try_point(point) for trial, point in todo]
        print(f"{len(hits) - sum(hits)} calls did not come", flush=True)
        dxtest.check(sum(hits) >= 0.9 * len(todo), "calls did not come")
    dxtest.finish()


if __name__ == "__main__":
    main()
