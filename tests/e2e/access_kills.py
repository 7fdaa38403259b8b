# SPDX-License-Identifier: Apache-2.0
# labels: slow long
"""`access` killed at a system call or a request, or refused one, leaves the old table or the new one,
whole; the next one succeeds, and nothing else is left in the folder.

DX_KILL_POINTS points of each sweep (8; 0: all there are); tests/support/inject.py.

In detail: `access init`, `grant` and `token revoke` killed or refused at every kind of system call, and at
requests to versitygw: the old table or the new one, and the next one succeeds (`DX_KILL_POINTS`).
"""
import json
import os
import shutil
import sys

import dxtest
import inject
import remains
import stores

ACCESS = [dxtest.DOMAINDEX, "access"]
POINTS = 8


def access(*words, root, env=None, expect=0):
    return dxtest.run(*ACCESS, *words, "--root", root, env=env, expect=expect)


def make(root):
    dxtest.domaindex("ingest", "--root", root, "--dataset", "one", "--format", "list", "-",
                     input=b"http://a.example.com/\nhttp://b.example.org/x\n")
    dxtest.domaindex("publish", "--root", root, "--memory", "64M", "--threads", "1")
    access("init", root=root)
    access("principal", "add", "team", root=root)
    token = access("token", "new", "team", root=root).stdout
    return token


# Arguments, what is there before and after: the grants of dataset 1, tokens.
CASES = {
    "init": (["init", "--public"], None, (["*"], 0)),
    "grant": (["grant", "one", "--to", "team"], ([], 1), (["team"], 1)),
    "revoke a token": (["token", "revoke", "--principal", "team"], ([], 1), ([], 0)),
}


def state_of(root, words, env=None):
    done = access("status", "--json", root=root, env=env, expect=None)
    if not dxtest.equal(done.returncode, 0, f"{words}: the table: {done.stderr[-300:]}"):
        return "?"
    status = json.loads(done.stdout)
    if not status["enforced"]:
        return None
    datasets = json.loads(access("list", "--json", root=root, env=env).stdout)["datasets"]
    return (datasets[0]["principals"] if datasets else [], status["tokens"])


def check_table(root, case, words, done, env=None):
    """It is the old one or the new one; then the command again."""
    arguments, old, new = CASES[case]
    state = state_of(root, words, env)
    dxtest.check(state in (old, new), f"{words}: {state}")
    if done.returncode == 0:
        dxtest.equal(state, new, f"{words}: exit 0")
    again = access(*arguments, root=root, env=env, expect=None)
    gone = case == "revoke a token" and state == new     # what is revoked cannot be revoked again
    dxtest.equal(again.returncode, 1 if gone else 0, f"{words}: again: {again.stderr[-300:]}")
    dxtest.equal(state_of(root, words, env), new, f"{words}: after another")
    return "new" if state == new else "old"


def local(case, template, work):
    before = {p.name for p in (template / "index").iterdir()}

    def check(root, words, done):
        seen = check_table(root, case, words, done)
        # It writes the manifest, too: the next publish removes what that left.
        names = {p.name for p in (root / "index").iterdir() if not p.name.startswith(".tmp-")}
        dxtest.equal(sorted(names - {".lock"}), sorted((before | {"access.json"}) - {".lock"}), f"{words}: left over")
        return seen
    seen = inject.sweep(case, template, work, lambda root: [*ACCESS, *CASES[case][0], "--root", root], check, POINTS)
    dxtest.check(inject.is_sample(POINTS) or len(seen) == 2, f"{case}: each outcome is seen: {dict(seen)}")


def on_store(case, template):
    with stores.Versitygw() as store:
        store.bucket("lake")
        there = remains.Bucket(store, "lake", "a/root")
        env = {**os.environ, **store.env}
        seen = inject.requests(f"{case} on a store", store, lambda: there.fill(template),
                               lambda: [*ACCESS, *CASES[case][0], "--root", there.root],
                               lambda words, done: check_table(there.root, case, words, done, env), POINTS)
        dxtest.check(inject.is_sample(POINTS) or len(seen) == 2, f"{case} on a store: {dict(seen)}")


def main():
    dxtest.need_programs()
    inject.need()
    with inject.workplace() as base:
        template, bare = base / "template", base / "bare"
        make(template)
        shutil.copytree(template, bare)
        (bare / "index" / "access.json").unlink()
        access("accept", "--yes", root=bare)    # the manifest says nothing of one then
        for case in CASES:
            local(case, bare if case == "init" else template, base)
        if stores.find("versitygw"):
            on_store("grant", template)
            on_store("revoke a token", template)
        else:
            print("no versitygw here: the store was left out", flush=True)
    dxtest.finish()


if __name__ == "__main__":
    sys.exit(main())
