# SPDX-License-Identifier: Apache-2.0
# labels: slow long
"""publish and rollback are all or nothing: killed at a system call or a request, or refused one,
they leave the old version or the new one, whole and current, and the same command then succeeds.

In a directory the first publish of a root, one of the whole lake, one that is merged with the
version before, a merge of parts behind it, and a rollback; on versitygw a merged publish and a rollback. Each is hit at
DX_KILL_POINTS points (default 40; 0: all there are; tests/support/inject.py). In a directory a version is
compared byte for byte with one that was published undisturbed, which is possible since the same
lake gives the same bytes; on a store it is verified. The lake must be as it was.

In detail: first, full and merged publish, and rollback, killed at each kind of system call (strace) or
refused one, and at requests to versitygw (`tests/support/inject.py`): the old version or the new one, whole,
and the same command then succeeds.
"""
import hashlib
import json
import shutil
import sys

import dxtest
import inject
import stores

OLD, NEW, MERGED = "000001-20240101T000000Z", "000002-20240102T000000Z", "000003-20240103T000000Z"
EPOCHS = {OLD: "1704067200", NEW: "1704153600", MERGED: "1704240000"}
PUBLISH = [dxtest.DOMAINDEX, "publish", "--memory", "64M", "--threads", "1"]


def ingest(root, name, urls):
    dxtest.domaindex("ingest", "--root", root, "--dataset", name, "--format", "list", "-",
                     input="".join(f"http://{u}\n" for u in urls).encode())


def files_of(folder):
    return {str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest()
            for p in sorted(folder.rglob("*")) if p.is_file()}


def epoch(version):
    return {"SOURCE_DATE_EPOCH": EPOCHS[version]}


class Case:
    """A root as it is before, the command, and what may be there afterwards."""

    def __init__(self, name, template, reference, *arguments):
        self.name, self.template, self.reference = name, template, reference
        self.arguments = arguments
        self.old = OLD if (template / "index" / "manifest.json").exists() else None
        self.new = NEW if self.old else OLD
        self.lake = files_of(template / "urls")

    def command(self, root):
        return [*PUBLISH, *self.arguments, "--root", root]

    def current(self, root, words):
        """Checks the lake, and all that the manifest names; returns what is current."""
        dxtest.equal(files_of(root / "urls"), self.lake, f"{words}: the lake")
        path = root / "index" / "manifest.json"
        if not path.exists():
            dxtest.check(self.old is None, f"{words}: the manifest is gone")
            return None
        try:
            manifest = json.loads(path.read_text())
        except ValueError as error:
            dxtest.check(False, f"{words}: manifest.json does not parse: {error}")
            return "broken"
        current = manifest["current_version"]
        if not dxtest.check(current in (self.old, self.new), f"{words}: {current} is current"):
            return current
        for version in manifest["versions"]:
            name = version["version"]
            index = root / "index"
            dxtest.equal(files_of(index / name), self.reference[name], f"{words}: files of {name}")
            dxtest.equal({n: (index / name / n).stat().st_size
                          for n, f in version["files"].items()},
                         {n: f["size"] for n, f in version["files"].items()},
                         f"{words}: sizes of {name} in the manifest")
        return current

    def check(self, root, words, done):
        current = self.current(root, words)
        if done.returncode == 0:
            dxtest.equal(current, self.new, f"{words}: exit 0, so it is published")
        self.after(root, words)
        return current

    def after(self, root, words):
        """The next publish makes the new version current and leaves nothing behind. Where not even the manifest could be read again, it was not known
        whether the new version is current: then its folder stays, and the next one has another number."""
        kept = words.endswith("+") and (root / "index" / self.new).is_dir() and self.current(root, words) != self.new
        done = dxtest.run(*self.command(root), env=epoch(self.new), expect=None)
        dxtest.equal(done.returncode, 0, f"{words}: the next publish: {done.stderr[-300:]}")
        if kept and done.stdout.decode().strip() == f"{int(self.new[:6]) + 1:06d}{self.new[6:]}":
            dxtest.domaindex("verify", "--root", root, "--deep")
            return
        dxtest.equal(done.stdout.decode().strip(), self.new, f"{words}: the next publish prints")
        dxtest.equal(self.current(root, words + ", then again"), self.new, f"{words}: then current")
        self.no_leftovers(root, words)

    def no_leftovers(self, root, words):
        left = [p.name for p in (root / "index").iterdir() if not p.name.startswith("00000")]
        dxtest.equal(left, ["manifest.json"], f"{words}: left over after the next publish")


def publish_in(root, version, *arguments):
    dxtest.run(*PUBLISH, *arguments, "--root", root, env=epoch(version))
    return files_of(root / "index" / version)


def cases_in(base):
    """A root that was never published, and one with a version and news in the lake."""
    first, old, done = base / "first", base / "old", base / "done"
    ingest(first, "one", ["example.com/", "example.com/a", "www.example.co.uk/b?c=d", "a.de/"])
    shutil.copytree(first, old)
    reference = {OLD: publish_in(old, OLD)}
    ingest(old, "two", ["example.com/a", "b.org/1", "b.org/2"])
    found = [Case("first publish", first, reference)]
    for name, arguments in (("publish --full", ["--full"]), ("incremental publish", [])):
        shutil.copytree(old, done)
        files = publish_in(done, NEW, *arguments)
        shutil.rmtree(done)
        dxtest.check(len(files) > 12, f"{name}: a version has its files")
        found.append(Case(name, old, {**reference, NEW: files}, *arguments))
    publish_in(two := shutil.copytree(old, base / "two"), NEW)
    parts = {OLD: reference[OLD], NEW: publish_in(due := shutil.copytree(old, base / "due"), NEW, "--merge-max", 1, "--no-merge")}
    dxtest.run(*PUBLISH, "--merge-max", 1, "--root", shutil.copytree(due, done), env=epoch(MERGED))
    parts[MERGED] = files_of(done / "index" / MERGED)
    shutil.rmtree(done)
    return [*found, Merge(due, parts), Back(two, found[-1].reference)]


class Back(Case):
    """rollback from the new version to the old one."""

    def __init__(self, template, reference):
        super().__init__("rollback", template, reference)
        self.old, self.new = NEW, OLD

    def command(self, root):
        return [dxtest.DOMAINDEX, "rollback", "--root", root, OLD]

    def no_leftovers(self, root, words):
        done = dxtest.run(*PUBLISH, "--force", "--root", root, env={"SOURCE_DATE_EPOCH": "1704240000"},
                          expect=None)
        dxtest.equal(done.returncode, 0, f"{words}: a publish after it: {done.stderr[-300:]}")
        super().no_leftovers(root, words)


class Merge(Case):
    """Nothing is new, and parts are merged: whatever becomes of that, the command says what it published."""

    def __init__(self, template, reference):
        super().__init__("merge", template, reference, "--merge-max", 1)
        self.old, self.new = NEW, MERGED

    def check(self, root, words, done):
        current = self.current(root, words)
        if done.returncode == 0:
            dxtest.equal(done.stdout.decode().strip() in (self.old, self.new), True, f"{words}: what it printed: {done.stdout}")
        self.after(root, words)
        return current

    def after(self, root, words):
        done = dxtest.run(*self.command(root), env=epoch(self.new), expect=None)
        dxtest.equal(done.returncode, 0, f"{words}: the next publish: {done.stderr[-300:]}")
        current = json.loads((root / "index" / "manifest.json").read_text())
        if current["current_version"] in (self.old, self.new):
            dxtest.equal(self.current(root, words + ", then again"), self.new, f"{words}: then current")
        else:   # a folder stayed, as it was not known whether it is current: the next number
            dxtest.equal(current["current_version"], f"{int(self.new[:6]) + 1:06d}{self.new[6:]}", f"{words}: then current")
            dxtest.domaindex("verify", "--root", root, "--deep")
        self.no_leftovers(root, words)


class Store:
    """A root on versitygw, which keeps objects as files: so it is copied, and put back, as one."""

    BUCKET, POINTS = "lake", 12

    def __init__(self, store, base):
        self.store, self.base = store, base
        self.objects = store.home / "objects" / self.BUCKET
        self.root = store.root(self.BUCKET, "root")
        self.saved = base / "saved"

    def save(self):
        dxtest.run("cp", "-a", self.objects, self.saved)
        self.lake = files_of(self.objects / "root" / "urls")

    def reset(self):
        shutil.rmtree(self.objects / "root")
        dxtest.run("cp", "-a", self.saved / "root", self.objects)

    def manifest(self):
        return json.loads(self.store.get(self.BUCKET, "root/index/manifest.json"))

    def check(self, may, command):
        def look(words, done):
            dxtest.equal(files_of(self.objects / "root" / "urls"), self.lake, f"{words}: the lake")
            current = self.manifest()["current_version"][:6]
            dxtest.check(current in may, f"{words}: {current} is current")
            dxtest.check(done.returncode != 0 or current == may[1], f"{words}: exit 0, and {current}")
            dxtest.domaindex("verify", "--root", self.root)
            again = dxtest.run(*command, expect=None)
            dxtest.equal(again.returncode, 0, f"{words}: again: {again.stderr[-300:]}")
            dxtest.domaindex("verify", "--root", self.root, "--deep")
            return current
        return look


def on_a_store(base):
    with stores.Versitygw() as store, stores.environment({**store.env, "TMPDIR": str(base)}):
        store.bucket(Store.BUCKET)
        one = Store(store, base)
        ingest(one.root, "one", ["example.com/", "a.de/", "www.example.co.uk/b?c=d"])
        dxtest.run(*PUBLISH, "--root", one.root)
        ingest(one.root, "two", ["example.com/a", "b.org/1"])
        one.save()
        publish = [*PUBLISH, "--root", one.root]
        # A dead one's number is not given again.
        inject.requests("merged publish on a store", store, one.reset, lambda: publish,
                        one.check(("000001", "000002"), publish), Store.POINTS)
        one.reset()
        dxtest.run(*publish)
        shutil.rmtree(one.saved)
        one.save()
        back = [dxtest.DOMAINDEX, "rollback", "--root", one.root, "1"]
        inject.requests("rollback on a store", store, one.reset, lambda: back,
                        one.check(("000002", "000001"), back), Store.POINTS)


def unknown(base):
    """The new manifest is there, and then the disk fails: whether it is durable is not known, so the publish fails and its folder stays.
    The next publish stands on whichever manifest there is; where that is the old one, it takes another number, gc removes the folder, and
    rows are there once."""
    seen = set()
    for old in (False, True):
        root = base / f"unknown-{old}"
        ingest(root, "one", ["example.com/", "a.de/"])
        dxtest.run(*PUBLISH, "--root", root, env=epoch(OLD))
        before = (root / "index/manifest.json").read_bytes()
        ingest(root, "two", ["example.com/a", "b.org/1", "b.org/2"])
        shutil.copytree(root, again := base / "again")
        trace = base / "trace"
        dxtest.run("strace", "-f", "-qq", "-e", "trace=fsync", "-o", trace, *PUBLISH, "--root", again, env=epoch(NEW))
        count = len(trace.read_text().splitlines())
        for nth in range(count, 0, -1):
            shutil.rmtree(again)
            shutil.copytree(root, again)
            done = dxtest.run("strace", "-f", "-qq", "-e", "trace=fsync", "-e", f"inject=fsync:error=EIO:when={nth}+", "-o", trace,
                              *PUBLISH, "--root", again, env=epoch(NEW), expect=None)
            if done.returncode == 1 and b"its files stay" in done.stderr:
                break
        else:
            dxtest.check(False, f"none of {count} calls of fsync leaves the outcome open")
            return
        dxtest.check((again / "index" / NEW).is_dir(), "the folder stays")
        if old:     # the rename was not durable
            (again / "index/manifest.json").write_bytes(before)
        version = dxtest.run(*PUBLISH, "--root", again, env={"SOURCE_DATE_EPOCH": EPOCHS[MERGED]}).stdout.decode().strip()
        seen.add(version)
        ingest(again, "three", ["c.org/1"])
        dxtest.run(*PUBLISH, "--root", again, env={"SOURCE_DATE_EPOCH": "1704326400"})
        dxtest.domaindex("gc", "--root", again, "--delete")
        current = json.loads((again / "index/manifest.json").read_text())
        dxtest.equal([v["rows"] for v in current["versions"]], [2, 5, 6], f"rows of the versions, {old}")
        names = {v["version"] for v in current["versions"]}
        dxtest.equal({p.name for p in (again / "index").iterdir()} - {"manifest.json"}, names, "what is left below index/")
        dxtest.domaindex("verify", "--root", again, "--deep")
        shutil.rmtree(again)
    dxtest.equal(seen, {NEW, MERGED}, "the version of the second publish")


def main():
    dxtest.need_programs()
    inject.need()
    with inject.workplace() as base:
        unknown(base)
        for case in cases_in(base):
            inject.sweep(case.name, case.template, base, case.command, case.check, 24,
                         epoch(case.new))
        if stores.find("versitygw"):
            on_a_store(base)
        else:
            print("SKIP versitygw: not here")
    dxtest.finish()


if __name__ == "__main__":
    sys.exit(main())
