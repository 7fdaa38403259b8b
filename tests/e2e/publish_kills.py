# SPDX-License-Identifier: Apache-2.0
# labels: slow
"""publish is all or nothing: killed at a system call or a request, or refused one, it leaves the
old version or the new one, whole and current, and the next publish succeeds.

The first publish of a root, one of the whole lake, and one that is merged with the version before;
each is hit at DX_KILL_POINTS points (60; 0: all there are; tests/support/inject.py). A version is
compared byte for byte with one that was published undisturbed, which is possible since the same
lake gives the same bytes; the lake must be as it was.
"""
import hashlib
import json
import os
import pathlib
import shutil
import sys
import tempfile

import dxtest
import inject

OLD, NEW = "000001-20240101T000000Z", "000002-20240102T000000Z"
EPOCHS = {OLD: "1704067200", NEW: "1704153600"}
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
            dxtest.equal({n: (index / f.get("in", name) / n).stat().st_size
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
        """The next publish makes the new version current and leaves nothing behind."""
        done = dxtest.run(*self.command(root), env=epoch(self.new), expect=None)
        dxtest.equal(done.returncode, 0, f"{words}: the next publish: {done.stderr[-300:]}")
        dxtest.equal(done.stdout.decode().strip(), self.new, f"{words}: the next publish prints")
        dxtest.equal(self.current(root, words + ", then again"), self.new, f"{words}: then current")
        left = [p.name for p in (root / "index").iterdir()
                if p.name not in (OLD, NEW, "manifest.json")]
        dxtest.equal(left, [], f"{words}: left over after the next publish")


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
    return found


def main():
    dxtest.need_programs()
    inject.need()
    memory = pathlib.Path("/dev/shm")  # the order of calls is what counts, not the disk
    base = pathlib.Path(tempfile.mkdtemp(prefix="domaindex-test-",
                                         dir=memory if os.access(memory, os.W_OK) else None))
    try:
        for case in cases_in(base):
            seen = inject.sweep(case.name, case.template, base, case.command, case.check, 60,
                                epoch(case.new))
            dxtest.check(len(seen) == 2, f"{case.name}: each outcome is seen: {dict(seen)}")
    finally:
        shutil.rmtree(base, ignore_errors=True)
    dxtest.finish()


if __name__ == "__main__":
    sys.exit(main())
