# SPDX-License-Identifier: Apache-2.0
# labels: slow
"""ingest names no file in urls/ whose bytes may still be lost, and no error of a sync is lost.

The system calls of a run, read from strace: each file is fsynced after its last write and before
it is renamed into the lake; with many files the file system is flushed first, and once more
behind the last rename. A sync that fails ends the run with nothing added.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import dxtest

CALLS = "write,pwrite64,fsync,syncfs,rename,renameat,renameat2"
FEW, MANY = 3, 40  # datasets, a file each: below and above the limit for single syncs


def traced(root, datasets, *inject):
    log = root.parent / "log"
    rows = "".join(f"set{i % datasets}\thttp://host{i}.example/{i}\n" for i in range(4 * datasets))
    done = subprocess.run(
        ["strace", "-f", "-qq", "-y", "-s", "0", "-o", str(log), "-e", f"trace={CALLS}", *inject,
         str(dxtest.DOMAINDEX), "ingest", "--root", str(root), "--format", "tsv",
         "--dataset-column", "1", "--url-column", "2", "-"],
        input=rows.encode(), capture_output=True, check=False)
    return done, log.read_text(errors="replace").splitlines()


def lake(root):
    return sorted((root / "urls").rglob("*.parquet"))


def order(root, datasets):
    """Where each temporary file was written, synced and renamed, as line numbers."""
    done, lines = traced(root, datasets)
    dxtest.equal(done.returncode, 0, f"{datasets} datasets: {done.stderr[-300:]}")
    dxtest.equal(len(lake(root)), datasets, "files in the lake")
    wrote, synced, renamed, flushed = {}, {}, {}, []
    for at, line in enumerate(lines):
        call = re.match(r"\d+ +(\w+)\((?:\d+<(.*?)>)?", line)
        path = call and call[2] and pathlib.Path(call[2]).name
        if not call:
            continue
        if call[1] in ("write", "pwrite64"):
            wrote[path] = at
        elif call[1] == "fsync" and line.endswith("= 0"):
            synced[path] = at
        elif call[1] == "syncfs" and line.endswith("= 0"):
            flushed.append(at)
        elif call[1].startswith("rename"):
            names = re.findall(r'"([^"]*)"', line)
            if names[-1].endswith(".parquet"):
                renamed[pathlib.Path(names[0]).name] = at
    dxtest.equal(len(renamed), datasets, "renames into the lake")
    first, last = min(renamed.values()), max(renamed.values())
    for name in renamed:
        dxtest.check(wrote[name] < synced.get(name, -1) < first,
                     f"{datasets} datasets: {name}: written at {wrote[name]}, synced at "
                     f"{synced.get(name)}, first rename at {first}")
    if datasets == MANY:
        dxtest.check(any(max(wrote[n] for n in renamed) < at < first for at in flushed) and
                     any(at > last for at in flushed), f"flushes at {flushed}, renames {first}..{last}")
    else:
        dxtest.equal(flushed, [], "a few files do not wait for what others wrote")


def refused(root, datasets, call, when):
    done, _ = traced(root, datasets, "-e", f"inject={call}:error=EIO:when={when}")
    words = f"{datasets} datasets, {call} {when} fails"
    dxtest.equal(done.returncode, 1, f"{words}: exit; {done.stderr[-300:]}")
    dxtest.check(b"cannot sync" in done.stderr, f"{words}: says {done.stderr[-300:]}")
    dxtest.equal(lake(root), [], f"{words}: in the lake")
    dxtest.equal(list(root.glob("tmp-*")), [], f"{words}: left over")


def main():
    if not shutil.which("strace") or subprocess.run(["strace", "-qq", "-o", "/dev/null", "true"],
                                                    capture_output=True, check=False).returncode:
        dxtest.skip("strace is missing or may not trace")
    cases = [(FEW, None, 0), (MANY, None, 0), (FEW, "fsync", 1), (FEW, "fsync", 3),
             (MANY, "syncfs", 1), (MANY, "fsync", 1), (MANY, "fsync", MANY)]
    with tempfile.TemporaryDirectory(prefix="domaindex-test-") as work:
        for i, (datasets, call, when) in enumerate(cases):
            root = pathlib.Path(work) / str(i) / "root"
            root.mkdir(parents=True)
            if call:
                refused(root, datasets, call, when)
            else:
                order(root, datasets)
    dxtest.finish()


if __name__ == "__main__":
    sys.exit(main())
