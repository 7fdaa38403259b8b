# SPDX-License-Identifier: Apache-2.0
# labels: plain
"""A page of a mapped file cannot be read, as on a disk with a bad sector (tests/starve/unreadable.c), or a lake file is closed to this user.

A lake file: a publish leaves it out, or its dataset stays as it is, and the news of the others are published; exit 1 and the file's name.
It is read once the disk can be read again. Compactions: compact_damaged. A file of the version: verify names it (exit 3). What maps a
file elsewhere ends by SIGBUS, as ever, and says first which file it was.
"""
import os
import signal
import subprocess

import dxtest

LIBRARY = dxtest.BIN / "tests/libunreadable.so"


def environment(unreadable):
    """In which a page of each file whose path has this text cannot be read; None: the usual one."""
    return None if unreadable is None else {**os.environ, "LD_PRELOAD": str(LIBRARY), "DX_UNREADABLE": unreadable}


def run(root, command, *arguments, expect=0, text="", unreadable=None):
    done = subprocess.run([dxtest.DOMAINDEX, *command.split(), "--root", root, *arguments], input=text.encode(), capture_output=True, env=environment(unreadable), timeout=120, check=False)
    said = (done.stdout + done.stderr).decode()
    dxtest.equal(done.returncode, expect, f"{command}: {said[-400:]}")
    return said


def ingest(root, dataset, *names):
    run(root, "ingest", "--dataset", dataset, "--format", "list", "-", text="".join(f"http://{dataset}.com/{name}/{i}\n" for name in names for i in range(400)))


def rows(root):
    """{dataset: rows of its domain}"""
    found = {}
    for dataset in "abc":
        done = subprocess.run([dxtest.DOMAINDEX, "lookup", "--root", root, f"{dataset}.com"], capture_output=True, check=False)
        found[dataset] = sum(d["row_count"] for d in dxtest.json.loads(done.stdout)["datasets"]) if done.returncode == 0 else 0
    return found


def lake_files(root, dataset):
    return sorted(root.glob(f"urls/dataset_id={dataset}/**/*.parquet"))


def name_of(root, file):
    return str(file.relative_to(root / "urls"))


def of_lake(tmp):
    root = tmp / "lake"
    for dataset in "ab":
        ingest(root, dataset, "one")
    run(root, "publish")
    known = lake_files(root, 1)
    old = name_of(root, known[0])
    for dataset in "abc":
        ingest(root, dataset, "two")
    new = name_of(root, next(f for f in lake_files(root, 1) if f not in known))
    said = run(root, "publish", unreadable=new, expect=1)
    dxtest.check(new in said and "a page of this file cannot be read" in said and "1 file of the lake left out" in said, f"a new file: {said}")
    dxtest.equal(rows(root), {"a": 400, "b": 800, "c": 400}, "a new file: the others")
    said = run(root, "verify --deep", unreadable=old, expect=3)
    dxtest.check(old in said and "a page of this file cannot be read" in said, f"verify: {said}")
    run(root, "publish")
    dxtest.equal(rows(root), {"a": 800, "b": 800, "c": 400}, "a new file: read at last")
    ingest(root, "b", "three")
    said = run(root, "publish --full", unreadable=old, expect=1)
    dxtest.check(old in said, f"a file of the version, and the whole lake is read: {said}")
    run(root, "publish")
    dxtest.equal(rows(root), {"a": 800, "b": 1200, "c": 400}, "all is there")
    run(root, "verify --deep")


def of_version(tmp):
    root = tmp / "lake"
    version = next(v for v in (root / "index").glob("*") if v.is_dir())
    large = max((f for f in version.rglob("*") if f.is_file()), key=lambda f: f.stat().st_size)
    said = run(root, "verify", unreadable=large.name, expect=3)
    dxtest.check(f"{large.name}: a page of this file cannot be read" in said, f"verify: {said}")
    said = subprocess.run([dxtest.DOMAINDEX, "inspect", large], capture_output=True, check=False, env=environment(large.name))
    # The name is that of what stands for the bad sector; tests/unit/base/command/test_lost_page.c has a file's.
    dxtest.equal(said.returncode, -signal.SIGBUS, "inspect")
    dxtest.check(said.stderr.decode().endswith(": a page of this file cannot be read: it was cut short while it was read, or the disk fails\n"), f"inspect: {said.stderr}")


def closed(tmp):
    """By rights of files: for a user without special ones."""
    if os.geteuid() != 0:
        print("a closed file is left out: only root can become another user")
        return
    root = tmp / "lake"
    subprocess.run(["chown", "-R", "65534:65534", root], check=True)
    tmp.chmod(0o755)

    def publish(expect=0):
        done = subprocess.run([dxtest.DOMAINDEX, "publish", "--root", root], capture_output=True, user=65534, group=65534, extra_groups=[], cwd="/", check=False)
        dxtest.equal(done.returncode, expect, f"publish: {done.stderr[-400:]}")
        return done.stderr.decode()

    known = lake_files(root, 1)
    for dataset in "ab":
        ingest(root, dataset, "four")
    new = next(f for f in lake_files(root, 1) if f not in known)
    subprocess.run(["chown", "-R", "65534:65534", root], check=True)
    new.chmod(0)
    said = publish(expect=1)
    dxtest.check(name_of(root, new) in said and "Permission denied" in said, f"a closed file: {said}")
    dxtest.equal(rows(root), {"a": 800, "b": 1600, "c": 400}, "a closed file: the others")
    records = "".join(f"http://{dataset}.com/five/{i}\t{dataset}\n" for dataset in "ab" for i in range(400)).encode()
    done = subprocess.run([dxtest.DOMAINDEX, "ingest", "--root", root, "--url-column", "1", "--dataset-column", "2", "--format", "tsv", "-"], input=records,
                          capture_output=True, user=65534, group=65534, extra_groups=[], cwd="/", check=False)
    dxtest.equal(done.returncode, 1, f"ingest: {done.stderr[-400:]}")
    dxtest.check(name_of(root, new) in done.stderr.decode() and "rows not stored: 400, of dataset 'a'" in done.stderr.decode(), f"ingest: {done.stderr[-400:]}")
    publish(expect=1)
    dxtest.equal(rows(root), {"a": 800, "b": 2000, "c": 400}, "a closed file: an ingest stores the rows of the others")
    new.chmod(0o644)
    publish()
    dxtest.equal(rows(root), {"a": 1200, "b": 2000, "c": 400}, "a closed file: open again")


def main():
    dxtest.need_programs()
    if not LIBRARY.exists():
        dxtest.skip("libunreadable.so is not built here")
    with dxtest.tempdir() as tmp:
        dxtest.short_psl(tmp, "com")
        of_lake(tmp)
        of_version(tmp)
        closed(tmp)
    dxtest.finish(None)


if __name__ == "__main__":
    main()
