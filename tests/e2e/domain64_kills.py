#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: slow long
"""`domain64 init` and `fill` (which merges, too) killed at a system call or a request, or refused one, leave the registry
as it was or filled, sound; the next one fills it. Several that fill at once all succeed, and no number is given twice.

DX_KILL_POINTS points of each sweep (15; 0: all there are); tests/support/inject.py.

In detail: `domain64 init` and `fill` killed and refused at calls and requests (`DX_KILL_POINTS`), in a
directory and on versitygw; four at once; one overtaken by a newer version.
"""
import os
import subprocess
import sys
import time

import dxtest
import inject
import remains
import stores

DOMAIN64 = [dxtest.DOMAINDEX, "domain64"]
POINTS = 15


def ingest(root, name, urls):
    dxtest.domaindex("ingest", "--root", root, "--dataset", name, "--format", "list", "-",
                     input="".join(u + "\n" for u in urls).encode())
    dxtest.domaindex("publish", "--root", root, "--memory", "64M", "--threads", "1")


def urls_of(step):
    return [f"http://h{i % 3}.d{i % (7 + step)}.com/{step}/{i}" for i in range(40)]


def make(root, fillings):
    for step in range(fillings + 1):
        ingest(root, f"set{step}", urls_of(step))
        if step < fillings:
            if step == 0:
                run("init", root)
            run("fill", root)


def run(what, root, *arguments, env=None, expect=0):
    return dxtest.run(*DOMAIN64, what, "--root", root, *arguments, env=env, expect=expect)


def keys_of(root, fillings, env=None):
    """What the registry says of all URLs: numbers of some, reasons of the others."""
    text = "".join(u + "\n" for step in range(fillings + 1) for u in urls_of(step))
    done = dxtest.run(dxtest.DOMAINDEX, "key", "--scheme", "domain64", "--root", root, input=text.encode(), env=env,
                      expect=None)
    return [line.split(b"\t")[0].decode() for line in done.stdout.splitlines()]


def check_root(root, words, done, states, merge, env=None):
    old, new = states
    sound = run("status", root, env=env, expect=None)
    dxtest.equal(sound.returncode, 0, f"{words}: status: {sound.stderr[-300:]}")
    now = keys_of(root, 2, env)
    dxtest.check(now in (old, new), f"{words}: the registry is neither the old nor the new one")
    if done.returncode == 0:
        dxtest.check(now == new, f"{words}: exit 0, but it is the old one")
    again = run("fill", root, "--merge-above", merge, env=env, expect=None)
    dxtest.equal(again.returncode, 0, f"{words}: again: {again.stderr[-300:]}")
    dxtest.check(keys_of(root, 2, env) == new, f"{words}: after another it is not the new one")
    run("status", root, env=env)
    return "new" if now == new else "old"


def local(base, template, merge):
    root = base / "whole"
    inject.fresh(template, root)
    old = keys_of(root, 2)
    run("fill", root, "--merge-above", merge)
    new = keys_of(root, 2)
    dxtest.check(old != new and not any(k.startswith("!") for k in new), "the filling fills")
    seen = inject.sweep(f"fill, merging above {merge}", template, base,
                        lambda r: [*DOMAIN64, "fill", "--root", r, "--work-dir", base, "--merge-above", merge],
                        lambda r, words, done: check_root(r, words, done, (old, new), merge), POINTS)
    dxtest.check(inject.is_sample(POINTS) or len(seen) == 2, f"each outcome is seen: {dict(seen)}")
    return old, new


def init(base, bare):
    def check(root, words, done):
        del done
        run("init", root)
        run("status", root)
        dxtest.check(run("init", root, "--layout", "8-24-24-8", expect=1).stderr != b"", f"{words}: the layout")
        return "made"
    inject.sweep("init", bare, base, lambda r: [*DOMAIN64, "init", "--root", r], check, POINTS)


def at_once(root, states, words, env=None):
    crowd = [subprocess.Popen([str(w) for w in (*DOMAIN64, "fill", "--root", root, "--merge-above", 1)], env=env,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(4)]
    for process in crowd:
        _, said = process.communicate(timeout=120)
        dxtest.equal(process.returncode, 0, f"{words}: {said[-300:]}")
    dxtest.check(keys_of(root, 2, env) == states[1], f"{words}: other numbers than from one alone")
    run("status", root, env=env)


def overtaken(base, template):
    """One is held up before its commit, until another has filled from a newer version."""
    root, alone = base / "late", base / "alone"
    for r in (root, alone):
        inject.fresh(template, r)
    late = subprocess.Popen(["strace", "-f", "-qq", "-o", "/dev/null", "-e", "inject=flock:delay_enter=3s:when=2+",
                             *[str(w) for w in (*DOMAIN64, "fill", "--root", root, "--work-dir", base)]],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(1)
    for r in (root, alone):
        ingest(r, "newer", ["http://a.newer.com/", "http://b.d1.com/x"])
        run("fill", r)
    out, said = late.communicate(timeout=120)
    dxtest.equal(late.returncode, 0, f"overtaken: {said[-300:]}")
    dxtest.check(b"added: TLDs 0, domains 0, subdomains 0, paths 0" in out, f"overtaken: it was not: {out!r}")
    trees = [run("tree", r).stdout for r in (root, alone)]
    dxtest.check(trees[0] == trees[1] and keys_of(root, 2) == keys_of(alone, 2), "overtaken: other numbers")
    run("status", root)


def on_store(template, states):
    with stores.Versitygw() as store:
        store.bucket("lake")
        there = remains.Bucket(store, "lake", "a/root")
        at_store = {**os.environ, **store.env}

        def check(words, done):
            return check_root(there.root, words, done, states, 1, at_store)
        inject.requests("fill on a store", store, lambda: there.fill(template),
                        lambda: [*DOMAIN64, "fill", "--root", there.root, "--merge-above", 1], check, POINTS)
        there.fill(template)
        at_once(there.root, states, "at once on a store", at_store)


def main():
    dxtest.need_programs()
    inject.need()
    with inject.workplace() as base:
        bare, template = base / "bare", base / "template"
        ingest(bare, "one", urls_of(0))
        init(base, bare)
        make(template, 2)
        states = local(base, template, 8)
        local(base, template, 1)
        for _ in range(3):
            inject.fresh(template, base / "crowd")
            at_once(base / "crowd", states, "at once")
        overtaken(base, template)
        if stores.find("versitygw"):
            on_store(template, states)
        else:
            print("no versitygw here: the store was left out", flush=True)
    dxtest.finish()


if __name__ == "__main__":
    sys.exit(main())
