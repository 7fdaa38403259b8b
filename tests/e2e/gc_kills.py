# SPDX-License-Identifier: Apache-2.0
# labels: slow
"""gc killed at a system call or a request, or refused one, leaves every version that may be read
whole; the next gc finishes, and what is there then is, byte for byte, what an undisturbed one leaves.

The root has a version to go whose dataset was removed since (so lake files go with it), one that goes
and shares its lake with a kept one, what a publish that lost has left, the list of a compaction that
lost, with a file of it, and new data that no version has. DX_KILL_POINTS points of each sweep (60 and 40; 0: all); tests/support/inject.py.

In detail: gc killed or refused in the same way, and at requests to versitygw: what may be read is whole, and
the next gc leaves, byte for byte, what an undisturbed one does.
"""
import os
import shutil
import sys

import dxtest
import inject
import remains
import stores

GC = [dxtest.DOMAINDEX, "gc", "--keep", "1", "--keep-for", "0s", "--lease-ttl", "0s",
      "--cursor-life", "0s", "--max-share", "100", "--threads", "1", "--delete", "--root"]


def ingest(root, name, urls):
    dxtest.domaindex("ingest", "--root", root, "--dataset", name, "--format", "list", "-",
                     input="".join(f"http://{u}\n" for u in urls).encode())


def publish(root, day):
    done = dxtest.domaindex("publish", "--memory", "64M", "--threads", "1", "--root", root,
                            env={"SOURCE_DATE_EPOCH": str(1704067200 + 86400 * day)})
    return done.stdout.decode().strip()


def make(root):
    """The root as the docstring says; names of the new data and of what must go."""
    ingest(root, "goes", ["a.example.com/", "b.example.org/"])
    ingest(root, "stays", ["a.example.com/x", "c.example.net/"])
    publish(root, 0)
    dxtest.domaindex("remove", "--root", root, "--dataset", "goes")
    publish(root, 1)
    ingest(root, "stays", ["d.example.net/y"])
    publish(root, 2)
    ingest(root, "stays", ["e.example.net/z"])
    last = publish(root, 3)
    ingest(root, "new", ["f.example.com/"])
    there = remains.Folder(root)
    lost = "000002-20240101T000001Z"
    there.put(f"index/{lost}/domains.dict", b"left")
    there.put(f"index/{lost}/postings.idx.zst", b"left")
    there.put(f"index/claims/{lost}", b"")
    dead = "urls/dataset_id=2/domain_prefix=00-ff/part-00007.parquet"
    there.put(dead, b"of a compaction that lost")
    there.put(f"index/claims/{lost}.lake", dead.encode() + b"\n")
    dxtest.equal(there.manifest()["current_version"], last, "the last is current")
    return there


def gone(before, there):
    """What gc must have removed, and nothing else: by the lists, before and after."""
    manifest = before.manifest()
    kept = [e for e in manifest["versions"] if e["version"] == manifest["current_version"]]
    stays = remains.closure_of(manifest, kept[0]) | remains.lake_of(before, kept[0])
    goes = set()
    for entry in manifest["versions"]:
        goes |= (remains.objects_of(entry) | remains.lake_of(before, entry)) - stays
    goes |= {name for name in before.names() if name.startswith("index/000002-20240101T000001Z/")}
    goes.add("urls/dataset_id=2/domain_prefix=00-ff/part-00007.parquet")
    return set(before.names()) - set(there.names()), goes


def contents(there):
    """All but what differs from run to run: a lock, the URL of the store that was probed, and what a
    probe leaves that is killed."""
    return {name: there.get(name) for name in there.names()
            if name not in (".lock", "index/store.json") and not name.startswith("probe/")}


class Case:
    def __init__(self, template, reference):
        self.template, self.want = template, contents(remains.Folder(reference))
        self.new = [n for n in self.want if n.startswith("urls/dataset_id=3/")]
        dxtest.equal(len(self.new), 1, "new data")

    def check_there(self, there, words, again):
        manifest = remains.whole(there, words)
        dxtest.check(self.new[0] in there.names(), f"{words}: new data is gone")
        states = "+".join(sorted(e["state"] for e in manifest["versions"]))
        again()
        got = contents(there)
        dxtest.equal(sorted(set(got) ^ set(self.want)), [], f"{words}: names after another gc")
        for name, body in self.want.items():
            dxtest.check(got.get(name) == body, f"{words}: {name} after another gc")
        return states

    def check(self, root, words, done):
        def again():
            second = dxtest.run(*GC, root, expect=None)
            dxtest.equal(second.returncode, 0, f"{words}: the next gc: {second.stderr[-300:]}")
            empty = [p.name for p in (root / "index").iterdir()
                     if p.is_dir() and p.name != "claims" and not any(p.rglob("*.*"))]
            dxtest.equal(empty, [], f"{words}: folders left")
        return self.check_there(remains.Folder(root), words, again)


def on_store(case):
    with stores.Versitygw() as store:
        store.bucket("lake")
        there = remains.Bucket(store, "lake", "a/root")
        at_store = {**os.environ, **store.env}

        def again():
            done = dxtest.run(*GC, there.root, expect=None, env=at_store)
            dxtest.equal(done.returncode, 0, f"the next gc: {done.stderr[-300:]}")

        def check(words, done):
            return case.check_there(there, words, again)
        seen = inject.requests("gc on a store", store, lambda: there.fill(case.template),
                               lambda: [*GC, there.root], check, 20)
        dxtest.check(inject.is_sample(20) or len(seen) > 2, f"gc on a store: states in between are seen: {dict(seen)}")


def main():
    dxtest.need_programs()
    inject.need()
    with inject.workplace() as base:
        template, reference = base / "template", base / "reference"
        before = make(template)
        shutil.copytree(template, reference)
        dxtest.run(*GC, reference)
        removed, want = gone(before, remains.Folder(reference))
        dxtest.equal(sorted(removed ^ want), [], "removed is what goes, and nothing else")
        registry = remains.Folder(reference).get("registry.json").decode()
        dxtest.check('"next_part":8' in registry, f"a removed file's number is given again: {registry}")
        dxtest.domaindex("verify", "--root", reference)
        case = Case(template, reference)
        seen = inject.sweep("gc", template, base, lambda root: [*GC, root], case.check, 40)
        dxtest.check(inject.is_sample(40) or len(seen) > 2, f"gc: states in between are seen: {dict(seen)}")
        if stores.find("versitygw"):
            on_store(case)
        else:
            print("no versitygw here: the requests of a store are left out", flush=True)
    dxtest.finish()


if __name__ == "__main__":
    sys.exit(main())
