# SPDX-License-Identifier: Apache-2.0
# labels: slow long
"""`suppress add` and `suppress lift` killed at a system call or a request, or refused one, leave the
old log or the new one, whole; the next one succeeds, nothing is in the log twice, and nothing else
is left in the folder.

DX_KILL_POINTS points of each sweep (20; 0: all there are); tests/support/inject.py.

In detail: `suppress add` and `lift` killed or refused at every kind of system call, and at requests to
versitygw: the old log or the new one, and the next one succeeds.
"""
import json
import os
import shutil
import sys

import dxtest
import inject
import remains
import stores

SUPPRESS = [dxtest.DOMAINDEX, "suppress"]
OLD = [(1, "add"), (2, "add")]


def make(root):
    dxtest.domaindex("ingest", "--root", root, "--dataset", "one", "--format", "list", "-",
                     input=b"http://a.example.com/\nhttp://b.example.org/x\n")
    dxtest.domaindex("publish", "--root", root, "--memory", "64M", "--threads", "1")
    dxtest.domaindex("suppress", "add", "--root", root, "--domain", "example.org", "--host",
                     "z.example.com")


CASES = {
    "first add": (["add", "--host", "a.example.com"], [], [(1, "add")]),
    "add": (["add", "--host", "a.example.com", "--url", "http://a.example.com/q"], OLD,
            OLD + [(3, "add"), (4, "add")]),
    "lift": (["lift", "1"], OLD, OLD + [(3, "lift")]),
}


def lines_of(root, words, env=None):
    done = dxtest.run(*SUPPRESS, "list", "--json", "--root", root, expect=None, env=env)
    if not dxtest.equal(done.returncode, 0, f"{words}: the log: {done.stderr[-300:]}"):
        return None
    return [(line["number"], line["action"]) for line in
            json.loads(done.stdout)["suppressions"]]


def check_log(root, case, words, done, env=None):
    """The log is the old or the new one; then the command again."""
    arguments, old, new = CASES[case]
    lines = lines_of(root, words, env)
    dxtest.check(lines in (old, new), f"{words}: {lines}")
    if done.returncode == 0:
        dxtest.equal(lines, new, f"{words}: exit 0")
    again = dxtest.run(*SUPPRESS, *arguments, "--root", root, expect=None, env=env)
    # What is lifted cannot be lifted again.
    wanted = 1 if arguments[0] == "lift" and lines == new else 0
    dxtest.equal(again.returncode, wanted, f"{words}: again: {again.stderr[-300:]}")
    dxtest.equal(lines_of(root, words, env), new, f"{words}: the log after another")
    return "new" if lines == new else "old"


def local(case, template, work):
    before = sorted(p.name for p in (template / "index").iterdir())

    def check(root, words, done):
        seen = check_log(root, case, words, done)
        names = sorted(p.name for p in (root / "index").iterdir() if p.name != ".lock")
        if case == "first add":     # it writes the manifest, too: the next publish removes what that left
            names = [name for name in names if not name.startswith(".tmp-")]
        want = sorted({*before, "suppressions.log", "suppressions.floor"} - {".lock"})
        dxtest.equal(names, want, f"{words}: left over")
        return seen
    seen = inject.sweep(case, template, work,
                        lambda root: [*SUPPRESS, *CASES[case][0], "--root", root], check, 20)
    dxtest.check(inject.is_sample(20) or len(seen) == 2, f"{case}: each outcome is seen: {dict(seen)}")


def on_store(template):
    with stores.Versitygw() as store:
        store.bucket("lake")
        there = remains.Bucket(store, "lake", "a/root")
        at_store = {**os.environ, **store.env}

        def check(words, done):
            return check_log(there.root, "add", words, done, at_store)
        seen = inject.requests("add on a store", store, lambda: there.fill(template),
                               lambda: [*SUPPRESS, *CASES["add"][0], "--root", there.root], check, 20)
        dxtest.check(inject.is_sample(20) or len(seen) == 2,
                     f"on a store: each outcome is seen: {dict(seen)}")


def main():
    dxtest.need_programs()
    inject.need()
    with inject.workplace() as base:
        template, bare = base / "template", base / "bare"
        make(template)
        shutil.copytree(template, bare)
        (bare / "index" / "suppressions.log").unlink()
        dxtest.domaindex("suppress", "accept", "--root", bare)      # the manifest says nothing of them then
        (bare / "index" / "suppressions.floor").unlink()
        for case in CASES:
            local(case, bare if case == "first add" else template, base)
        if stores.find("versitygw"):
            on_store(template)
        else:
            print("no versitygw here: the store was left out", flush=True)
    dxtest.finish()


if __name__ == "__main__":
    sys.exit(main())
