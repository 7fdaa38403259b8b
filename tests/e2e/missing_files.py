# SPDX-License-Identifier: Apache-2.0
# labels: slow
"""A part of the lake that is not there while commands run (#16): in a directory, and on versitygw or MinIO
(DX_WHOLE=1: both; else on a store only what its listing lacks).

1. Files that are gone: publish and ingest into that dataset end with 1, name files and datasets, and change
   nothing; compact names them, too, and leaves the dataset as it is; ingest into and removal of others go on. With --allow-missing of just that dataset the version is
   published without its files; verify and a gauge of the server say so; gc takes nothing of them though all versions that
   listed them go, and when they are back the next publish takes them: each row is there once.
2. A listing of the store that is short or empty, while the objects are there: publish loses no row, verify finds no
   damage, gc takes nothing that is in a version.
3. What was taken out by removal, replacement or compaction is not missed, and goes with gc.

In detail: a part of the lake is gone, or a listing of the store is short or empty, during publish, ingest,
compact, gc and verify: refused by name, or published with `--allow-missing`; what is back is taken again,
each row once.
"""
import collections
import json
import os
import subprocess
import re

import dxtest
import faultproxy
import remains
import stores

PSL = []    # options, from dxtest.short_psl
GC = ("--keep", 1, "--keep-for", "0s", "--lease-ttl", "0s", "--cursor-life", "0s", "--max-share", 100, "--delete", "--quiet")


class Root:
    def __init__(self, there, env=None, words=""):
        self.there, self.env, self.words = there, env or {}, words

    def run(self, command, *arguments, expect=0, **more):
        done = dxtest.domaindex(command, "--root", self.there.root, *arguments, expect=expect, env=self.env, **more)
        return (done.stdout + done.stderr).decode()

    def ingest(self, dataset, *urls, options=(), expect=0):
        text = "".join(f"http://{dataset}.example.com/{url}\n" for url in urls)
        return self.run("ingest", "--dataset", dataset, "--format", "list", *PSL, *options, "-", input=text.encode(), expect=expect)

    def publish(self, *arguments, expect=0):
        return self.run("publish", "--memory", "64M", "--threads", 2, *arguments, expect=expect)

    def collect(self):
        for _ in range(3):
            self.run("gc", *GC)

    def state(self):
        return self.there.get("index/manifest.json")

    def lookup(self, *arguments):
        done = dxtest.domaindex("lookup", "--root", self.there.root, *arguments, "example.com", expect=None, env=self.env)
        return json.loads(done.stdout)

    def rows(self, dataset):
        """Its URLs as they are listed."""
        ids = {d["name"]: d["dataset_id"] for d in self.lookup().get("datasets", [])}
        if dataset not in ids:
            return []
        items = self.lookup("--dataset", ids[dataset])["items"]
        return sorted(item["url"].removeprefix(f"http://{dataset}.example.com/") for item in items)

    def listed(self):
        """The same of all datasets by one command: {dataset: URLs}; nothing where a file of the domain is missing."""
        answer, found = self.lookup("--all-urls", "--limit", 1000), collections.defaultdict(list)
        names = {d["dataset_id"]: d["dataset"] for d in answer.get("datasets", [])}
        for item in answer.get("items", []):
            name = names[item["dataset_id"]]
            found[name].append(item["url"].removeprefix(f"http://{name}.example.com/"))
        return found

    def lake(self, dataset):
        return {n: self.there.get(n) for n in self.there.names() if n.startswith(f"urls/dataset_id={dataset}/")}

    def check(self, want, words):
        found = self.listed()
        for dataset, urls in want.items():
            dxtest.equal(sorted(found[dataset] or self.rows(dataset)), sorted(urls), f"{self.words}: {words}: rows of {dataset}")


def refused(root, text, words, *names):
    for name in names:
        dxtest.check(name in text, f"{root.words}: {words}: names {name}: {text[-600:]}")


def gone(root):
    root.ingest("a", "1", "2")
    root.publish()
    root.ingest("a", "3")
    root.ingest("b", "1")
    root.ingest("c", "1")
    root.publish()
    root.check({"a": "123", "b": "1", "c": "1"}, "before")
    files = root.lake(1)
    before = root.state()
    for name in files:
        root.there.remove(name)
    text = root.publish(expect=1)
    refused(root, text, "publish", "'a' (2)", "--allow-missing", *files)
    refused(root, root.publish("--full", expect=1), "publish --full", "'a' (2)")
    refused(root, root.publish("--allow-missing", "b", expect=1), "another dataset is allowed", "'a' (2)")
    refused(root, root.publish("--allow-missing", "nobody", expect=1), "a name that is no dataset's", "nobody")
    refused(root, root.ingest("a", "1", "4", expect=1), "ingest into it", "urls/dataset_id=1/")
    root.ingest("b", "2")
    dxtest.equal(root.state(), before, f"{root.words}: the manifest after what was refused")
    refused(root, root.run("verify", expect=3), "verify", *files)
    refused(root, root.run("compact", expect=1), "compact", *files, "1 new file not published")
    root.check({"b": "1", "c": "1"}, "compacted without a dataset that lacks files")
    text = root.publish("--allow-missing", "a")
    refused(root, text, "allowed", "lacks 2 lake files")
    root.check({"a": "", "b": "12", "c": "1"}, "without them")
    refused(root, root.run("verify"), "verify afterwards", "note: the version lacks 2 lake files", min(files))
    if isinstance(root.there, remains.Folder):
        with dxtest.Server(root.there.root) as server:
            dxtest.equal(server.metrics().get("domaindex_index_missing_lake_files"), 2.0, "the gauge")
    root.ingest("c", "2")
    root.publish()      # they are still not there, and need no permission twice
    root.ingest("a", "5")
    root.publish()
    root.run("compact")
    root.collect()
    root.there.put(min(files), files[min(files)])
    root.collect()      # back, and named by no list of a version but as missing
    dxtest.equal(root.there.get(min(files)), files[min(files)], f"{root.words}: gc and a file that is back")
    root.publish()
    root.check({"a": "125", "b": "12", "c": "12"}, "one is back")
    for name in files:
        root.there.put(name, files[name])
    root.publish()
    root.check({"a": "1235", "b": "12", "c": "12"}, "all are back")
    root.run("verify", "--deep")
    dxtest.check("missing" not in str(root.there.manifest()["versions"][-1]), f"{root.words}: the version lacks none")


def twins(root):
    """Rows of a missing file that are ingested again: they stand twice when it is back, which that publish says."""
    root.ingest("a", "1", "2")
    root.publish()
    (name, body), = root.lake(1).items()
    root.there.remove(name)
    root.publish("--allow-missing", "a")
    root.ingest("a", "2", "3")
    root.publish()
    root.there.put(name, body)
    refused(root, root.publish(expect=1), "rows that were ingested again", "1 row twice", "http://a.example.com/2", "compact")
    root.check({"a": "1223"}, "back with a row that was ingested again")
    root.publish()      # as it was
    root.run("compact")
    root.check({"a": "123"}, "compacted")
    root.run("verify", "--deep")


def closed(tmp):
    """A folder that its owner closed: its dataset alone is concerned, for a user without special rights."""
    if os.geteuid() != 0:
        print("a closed folder is left out: only root can become another user")
        return
    root = tmp / "closed"
    tmp.chmod(0o755)
    root.mkdir()
    os.chown(root, 65534, 65534)

    def run(command, *arguments, expect=0, text=b""):
        done = subprocess.run([dxtest.DOMAINDEX, command, "--root", root, *arguments], input=text, capture_output=True, user=65534, group=65534, extra_groups=[],
                              cwd="/", timeout=120, check=False)
        dxtest.equal(done.returncode, expect, f"{command} {arguments}: {done.stderr[-400:]}")
        return done.stderr.decode()

    def ingest(dataset, url, **more):
        return run("ingest", "--dataset", dataset, "--format", "list", *PSL, "-", text=f"http://{dataset}.example.com/{url}\n".encode(), **more)

    for dataset in "ab":
        ingest(dataset, 1)
    run("publish")
    folder = root / "urls/dataset_id=1"
    folder.chmod(0)
    dxtest.check("'a' (1)" in run("publish", expect=1), "publish names the dataset")
    ingest("b", 2)
    said = run("publish", "--allow-missing", "a", expect=1)
    dxtest.check("lacks 1 lake file" in said and "permission denied" in said, f"published without it: {said}")
    ingest("b", 3)
    run("publish", expect=1)
    folder.chmod(0o755)
    run("publish")
    done = subprocess.run([dxtest.DOMAINDEX, "lookup", "--root", root, "example.com"], capture_output=True, check=True)
    dxtest.equal([d["row_count"] for d in json.loads(done.stdout)["datasets"]], [1, 3], "all rows are there")


def taken_out(root):
    """Removed, replaced or compacted is not missing; and what was removed while it was missing is not missed."""
    for name in ("d", "e", "f"):
        root.ingest(name, "1", "2")
    root.publish()
    root.run("remove", "--dataset", "d")
    root.ingest("e", "9", options=["--replace"])
    root.publish()
    root.run("compact")
    root.collect()
    root.check({"e": "9", "f": "12"}, "taken out")
    number = next(d for d in range(1, 20) if any(b"f.example" in body for body in root.lake(d).values()))
    for name in root.lake(number):
        root.there.remove(name)
    root.run("remove", "--dataset", "f")
    root.publish()
    root.run("verify", "--deep")
    root.check({"e": "9"}, "a dataset that is removed is not missed")


def short_listings(root, proxy, store):
    """root: behind the proxy."""
    direct = Root(root.there, store.env, root.words)
    direct.ingest("s", "1", "2")
    direct.publish()
    direct.ingest("s", "3")
    direct.publish()
    for hide, words in ((r"dataset_id=\d+/.*part-00000", "a short listing"), (r"/urls/.*\.parquet$", "an empty listing")):
        want = direct.rows("s")
        direct.ingest("s", f"{len(want) + 1}")
        proxy.hide = re.compile(hide)
        refused(root, root.run("verify"), f"{words}: verify", "the store's listing lacks")
        root.run("gc", *GC)
        text = root.publish("--force")
        refused(root, text, f"{words}: publish", "the listing of")
        dxtest.check(set(want) <= set(direct.rows("s")), f"{root.words}: {words}: rows: {direct.rows('s')}")
        root.run("gc", *GC)
        text = root.ingest("s", *want)
        proxy.hide = None
        direct.publish()
        direct.check({"s": [*want, f"{len(want) + 1}"]}, f"{words} is over")
        direct.run("verify", "--deep")


def main():
    dxtest.need_programs()
    kinds = stores.kinds()
    with dxtest.tempdir() as tmp:
        PSL[:] = dxtest.short_psl(tmp, "com")
        folder = Root(remains.Folder(tmp / "root"), words="a directory")
        gone(folder)
        taken_out(folder)
        closed(tmp)
        twins(Root(remains.Folder(tmp / "twins"), words="a directory"))
        for kind in kinds:
            with kind() as store:
                store.bucket("lake")
                root = Root(remains.Bucket(store, "lake", "p"), {**store.env, "TMPDIR": str(tmp)}, kind.program)
                if dxtest.WHOLE:
                    gone(root)
                    taken_out(root)
                    twins(Root(remains.Bucket(store, "lake", "twins"), {**store.env, "TMPDIR": str(tmp)}, kind.program))
                with faultproxy.Proxy(store.url) as proxy:
                    short_listings(Root(remains.Bucket(store, "lake", "q"),
                                        {**store.env, "AWS_ENDPOINT_URL_S3": proxy.url}, kind.program), proxy, store)
    dxtest.finish(None if kinds else "no S3 server is here: directories alone were tried")


if __name__ == "__main__":
    main()
