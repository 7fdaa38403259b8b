# SPDX-License-Identifier: Apache-2.0
# labels: slow
"""Datasets are removed and replaced, and rows that were taken out can be added again.

In a directory, and on object storage where a server program is there (stores.py):
* rows that a rollback took out are ingested again, and are there after the next publish;
* a replacement: the new rows with the next publish and not before, the old ones after a rollback,
  and after a publish on top of that still the old ones; what is ingested later comes on top;
* refused with the way out: a replacement of what is not published, one by nothing, a plain ingest
  while a replacement is unfinished;
* a removed dataset is gone with the next publish, its name begins a new dataset with a new id.

And `ingest --replace` is killed, or refused something, at DX_KILL_POINTS points (4; 24 with DX_WHOLE=1): afterwards a
publish has the old rows or the new ones and never both, and the same run again has the new ones.

In detail: replace, remove, rollback and ingest again, in a directory and on versitygw: what counts after each
step; `ingest --replace` killed or refused (`DX_KILL_POINTS`): the old rows or the new ones, never both.
"""
import json
import sys

import dxtest
import inject
import stores

DOMAIN = "example.com"
POINTS = 24 if dxtest.WHOLE else 4
OLD, NEW, MORE = ["/1", "/2", "/3"], ["/3", "/4"], ["/5"]


PSL = []    # options, from dxtest.short_psl


def ingest(root, paths, *arguments, dataset="set", expect=0, env=None):
    text = "".join(f"http://{DOMAIN}{path}\n" for path in paths)
    return dxtest.domaindex("ingest", "--root", root, "--dataset", dataset, "--format", "list",
                            "--threads", 1, "--memory", "64M", *PSL, *arguments, "-",
                            input=text.encode(), expect=expect, env=env)


def publish(root, env=None):
    done = dxtest.domaindex("publish", "--root", root, "--quiet", "--threads", 1, "--memory",
                            "64M", env=env)
    return done.stdout.decode().strip()


def rows(root, env=None):
    """{dataset: how many rows of DOMAIN} and its id, of the current version."""
    done = dxtest.domaindex("lookup", "--root", root, DOMAIN, env=env, expect=None)
    found = json.loads(done.stdout.splitlines()[0])
    return {one["name"]: one["row_count"] for one in found.get("datasets", [])}


def refused(done, words, of):
    dxtest.check(words.encode() in done.stderr, f"{of}: {done.stderr!r}")


def changes(root, env, of):
    def has(want, words):
        dxtest.equal(rows(root, env), want, f"{of}: {words}")

    ingest(root, OLD, env=env)
    refused(ingest(root, NEW, "--replace", expect=1, env=env), "publish first", of)
    first = publish(root, env)
    ingest(root, MORE, env=env)
    publish(root, env)
    has({"set": 4}, "two ingests")
    # What was taken out comes back if it is ingested again.
    dxtest.domaindex("rollback", "--root", root, first, env=env)
    publish(root, env)
    has({"set": 3}, "rolled back, and published on top")
    ingest(root, MORE, env=env)
    before = publish(root, env)
    has({"set": 4}, "ingested again")
    # A replacement.
    refused(ingest(root, [], "--replace", expect=1, env=env), "not replaced by nothing", of)
    ingest(root, NEW, "--replace", env=env)
    has({"set": 4}, "replaced, not published")
    ingest(root, ["/6", "/4"], env=env)
    publish(root, env)
    has({"set": 3}, "replaced, and a row on top")
    dxtest.domaindex("rollback", "--root", root, before, env=env)
    has({"set": 4}, "rolled back to before the replacement")
    ingest(root, ["/7"], env=env)
    publish(root, env)
    has({"set": 5}, "and a row on top of that")
    ingest(root, NEW, "--replace", env=env)
    publish(root, env)
    has({"set": 2}, "replaced once more")
    # Removal.
    ingest(root, OLD, dataset="other", env=env)
    done = dxtest.domaindex("remove", "--root", root, "--dataset", "other", "--dry-run", "--json", env=env)
    dxtest.equal(json.loads(done.stdout)["datasets"][0]["files_unpublished"], 1, f"{of}: a file that no version has: {done.stdout}")
    dxtest.check(b"that no version has" in done.stderr and b"first: urls/dataset_id=2/" in done.stderr, f"{of}: and its name: {done.stderr!r}")
    with_both = publish(root, env)
    refused(dxtest.domaindex("remove", "--root", root, "--dataset", "set", "--dataset", "none",
                             expect=1, env=env), "nothing was removed", of)
    dxtest.domaindex("remove", "--root", root, "--dataset", "set", env=env)
    has({"set": 2, "other": 3}, "removed, not published")
    publish(root, env)
    has({"other": 3}, "removed")
    ingest(root, MORE, env=env)
    said = dxtest.domaindex("publish", "--root", root, "--threads", 1, "--memory", "64M", env=env).stderr
    dxtest.check(b"whole lake" not in said, f"{of}: a domain that left and is back is merged as others are: {said!r}")
    has({"set": 1, "other": 3}, "the name again")
    dxtest.domaindex("rollback", "--root", root, with_both, env=env)
    has({"set": 2, "other": 3}, "rolled back to before the removal")
    publish(root, env)
    has({"other": 3}, "what was removed goes again")
    dxtest.domaindex("verify", "--root", root, env=env)


def take_down(tmp):
    """A file of a stranger that no publish can take does not keep a dataset in the lake."""
    root = tmp / "taken"
    ingest(root, OLD)
    publish(root)
    garbage = next((root / "urls/dataset_id=1").iterdir()) / "part-00009.parquet"
    garbage.write_bytes(b"garbage")
    dxtest.domaindex("publish", "--root", root, "--threads", 1, "--memory", "64M", expect=1)
    refused(ingest(root, NEW, "--replace", expect=1), "part-00009.parquet; publish first", "replacing names the file")
    done = dxtest.domaindex("remove", "--root", root, "--dataset", "set", "--quiet")
    dxtest.check(b"set: 1 file that no version has" in done.stderr and b"part-00009.parquet" in done.stderr, f"named: {done.stderr!r}")
    ingest(root, MORE, dataset="other")
    publish(root)
    dxtest.equal(rows(root, {}), {"other": 1}, "taken down")
    dxtest.check(garbage.exists(), "it stays")


def faulty(tmp):
    """A replacement counts as a whole: while one of its files is faulty the dataset stays, others are published, and what a version had of it is history."""
    root = tmp / "faulty"

    def has(want, words):
        dxtest.equal(rows(root), want, words)

    def left_out(words, *names):
        said = dxtest.domaindex("publish", "--root", root, "--threads", 1, "--memory", "64M", expect=1).stderr.decode()
        dxtest.check(all(name in said for name in names), f"{words}: {said[-600:]}")

    def damage(path, words):
        path.write_bytes(b"PAR1 no Parquet\n")
        left_out(words, path.name)

    ingest(root, OLD)
    publish(root)
    ingest(root, NEW, "--replace")
    (new,) = (p for p in root.glob("urls/dataset_id=1/*/*.parquet") if "part-00000" not in p.name)
    sound = new.read_bytes()
    ingest(root, MORE)
    ingest(root, MORE, dataset="other")
    damage(new, "a faulty replacement")
    has({"set": 3, "other": 1}, "the old rows stay, and another dataset is published")
    ingest(root, ["/9"], dataset="other")
    left_out("and again", new.name, "stays as the current version has it")
    has({"set": 3, "other": 2}, "the old rows stay with each publish")
    dxtest.domaindex("compact", "--root", root, "--threads", 1, "--memory", "64M", expect=1)
    has({"set": 3, "other": 2}, "and with a compaction")
    dxtest.domaindex("verify", "--root", root, "--deep")
    new.write_bytes(sound)
    publish(root)
    has({"set": 3, "other": 2}, "it is sound again: the new rows, and one on top")
    dxtest.equal(sorted(json.loads(line)["url"][-2:] for line in listed(root)), ["/3", "/4", "/5"], "its rows")
    # Published; then a stray file has one of its part numbers.
    stray = new.parent.parent / "domain_prefix=ff" / new.name
    stray.parent.mkdir()
    dxtest.domaindex("suppress", "add", "--root", root, "--url", f"http://{DOMAIN}/4")
    damage(stray, "a stray file")
    dxtest.domaindex("compact", "--root", root, "--threads", 1, "--memory", "64M", expect=None)
    ingest(root, ["/10"], dataset="other")
    left_out("behind a compaction", stray.name)
    has({"set": 2, "other": 3}, "a replacement that was published is history")


def listed(root):
    done = dxtest.domaindex("lookup", "--root", root, "--dataset", "set", DOMAIN)
    return [json.dumps(item) for item in json.loads(done.stdout)["items"]]


class Killed:
    def __init__(self, base):
        self.template = base / "template"
        ingest(self.template, OLD)
        publish(self.template)
        source = base / "new.txt"
        source.write_text("".join(f"http://{DOMAIN}{path}\n" for path in NEW))
        self.source = source

    def command(self, root):
        return [dxtest.DOMAINDEX, "ingest", "--root", root, "--dataset", "set", "--format", "list",
                "--threads", "1", "--memory", "64M", *PSL, "--replace", self.source]

    def check(self, root, words, done):
        registry = json.loads((root / "registry.json").read_text())
        unfinished = "replacing" in registry["datasets"][0]
        if unfinished:
            refused(ingest(root, MORE, expect=1), "--replace", words)
        publish(root)
        got = rows(root)["set"]
        want = (2,) if done.returncode == 0 else (2, 3)
        dxtest.check(got in want, f"{words}: {got} rows, none of {want}")
        dxtest.run(*self.command(root))
        publish(root)
        dxtest.equal(rows(root), {"set": 2}, f"{words}, then again")
        left = [p.name for p in root.iterdir() if p.name.startswith("tmp-")]
        dxtest.equal(left, [], f"{words}: left over")
        names = list((root / "urls").rglob("*.parquet"))
        dxtest.check(len(names) <= 3, f"{words}: what an attempt left is removed: {names}")
        return f"{got} rows{', unfinished' if unfinished else ''}"


def killed():
    with inject.workplace() as base:
        case = Killed(base)
        seen = inject.sweep("ingest --replace", case.template, base, case.command, case.check, POINTS)
        dxtest.check(inject.is_sample(POINTS) or len(seen) > 1, f"more than one outcome is seen: {dict(seen)}")


def all_of(tmp):
    changes(tmp / "root", None, "a directory")
    faulty(tmp)
    take_down(tmp)
    if stores.find("versitygw"):
        with stores.Versitygw() as store:
            store.bucket("bucket")
            changes(store.root("bucket", "changes"), store.env, "s3")
    else:
        print("object storage is left out: no server program")
    if inject.can_trace():
        killed()
    else:
        print("kills are left out: no strace, or no right to trace")


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        PSL[:] = dxtest.short_psl(tmp, "com")
        all_of(tmp)
    dxtest.finish()


if __name__ == "__main__":
    sys.exit(main())
