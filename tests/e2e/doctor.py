#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: short plain
"""`domaindex doctor`: a sound root has no fault; each kind of trouble that it knows is named, with what to do.
In the gate every third file of a root is missing once, with DX_WHOLE=1 each.
"""
import json
import os
import resource
import shutil

import dxtest
from dxtest import check, equal


def findings(*options, expect=0, limits=None):
    done = dxtest.run("sh", "-c", f"{limits or ''} exec \"$@\"", "sh", dxtest.DOMAINDEX, "doctor", "--json", *options, expect=expect)
    told = json.loads(done.stdout)
    equal(told["faults"], sum(f["level"] == "fault" for f in told["findings"]), "the number of faults")
    equal(told["warnings"], sum(f["level"] == "warning" for f in told["findings"]), "the number of warnings")
    for f in told["findings"]:
        check((f["level"] == "ok") == (f["advice"] is None), f"advice where there is trouble, else none: {f}")
    return {f["check"]: f for f in told["findings"]}


def level(found, name, want, words=""):
    f = found.get(name, {"level": "missing", "found": ""})
    check(f["level"] == want and words in f["found"], f"{name}: {f}, expected {want} with '{words}'")


def beside(tmp, root):
    """Of each file of a root that a server, a publish or verify does not do without, doctor says that it is missing."""
    dxtest.domaindex("suppress", "add", "--root", root, "--host", "hidden.example")
    dxtest.domaindex("access", "init", "--root", root)
    level(findings("--root", root), "suppressions", "ok")
    shutil.move(root / "index/access.json", tmp / "away")
    found = findings("--root", root, expect=1)
    level(found, "access", "fault", "the table was lost")
    check("access accept" in found["access"]["advice"], f"what to do: {found['access']}")
    shutil.move(tmp / "away", root / "index/access.json")
    level(findings("--root", root), "access", "ok")
    level(findings("--root", root), "clock", "ok", "was not published in its future")
    needed_by = []
    for path in sorted(p for p in root.rglob("*") if p.is_file() and p.name != ".lock")[::1 if dxtest.WHOLE else 3]:
        shutil.move(path, tmp / "away")
        faults = findings("--root", root, expect=None)
        verify = dxtest.domaindex("verify", "--root", root, expect=None).returncode
        server = dxtest.run("timeout", "2", dxtest.DOMAINDEXD, "--root", root, "--listen", "127.0.0.1:0", "--lease", "no", expect=None).returncode
        publish = dxtest.domaindex("publish", "--root", root, "--dry-run", expect=None).returncode
        needed = verify != 0 or publish != 0 or server == 1
        needed_by.append(needed)
        check(needed == any(f["level"] == "fault" for f in faults.values()),
              f"without {path.relative_to(root)}: verify {verify}, publish {publish}, server {server}, {[f for f in faults.values() if f['level'] == 'fault']}")
        shutil.move(tmp / "away", path)
    check(len(set(needed_by)) == 2, f"files that are needed and others: {needed_by}")
    lake = next((root / "urls").rglob("*.parquet"))
    saved = lake.read_bytes()
    lake.write_bytes(saved + b"x")
    level(findings("--root", root, expect=1), "lake files", "fault", "has another size")
    lake.unlink()
    found = findings("--root", root, expect=1)
    level(found, "lake files", "fault", "is not there")
    check(str(lake.relative_to(root)) in found["lake files"]["found"], f"it is named: {found['lake files']}")
    lake.write_bytes(saved)
    (root / "index" / "900000-20260101T000000Z").mkdir()
    dxtest.domaindex("publish", "--root", root, "--force")
    level(findings("--root", root), "numbers", "warning", "900001 of 999999")
    (root / "index" / "999999-20260101T000000Z").mkdir()
    said = dxtest.domaindex("publish", "--root", root, "--force", expect=1).stderr
    check(b"version numbers end at 999999" in said, f"the end of the numbers: {said}")


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        root = tmp / "root"
        urls = tmp / "urls"
        urls.write_text("https://example.com/a\nhttps://example.org/\n")
        dxtest.domaindex("ingest", *dxtest.short_psl(tmp, "com", "org"), "--root", root, "--dataset", "d", "--format", "list", urls)
        found = findings("--root", root, expect=1)
        level(found, "manifest", "fault")
        check("publish" in found["manifest"]["advice"], "a root that was never published: run publish")
        dxtest.domaindex("publish", "--root", root)

        found = findings("--root", root, "--write", "--cache-dir", tmp)
        for name in ("root", "manifest"):
            check(name not in found, f"a sound root has no finding {name}")
        level(found, "version", "ok", "2 domains in 1 dataset, ")
        level(found, "index files", "ok")
        level(found, "store", "ok")
        level(found, "clock", "ok", "s from the store's")
        level(found, "numbers", "ok", "of 999999")
        level(found, "lake files", "ok", "1 file, all there")
        for name in ("suppressions", "access", "suffix list"):
            level(found, name, "ok")
        level(found, "registry", "ok", "1 dataset")
        check("cache" in found and "disk" in found, "disks")
        equal(list((root / "probe").rglob("*")), [], "--write leaves no object behind")
        text = dxtest.domaindex("doctor", "--root", root).stdout.decode()
        check(text.endswith((" warnings\n", " 1 warning\n")) and "0 faults" in text, f"lines: {text}")

        soft = min(100, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        level(findings(limits=f"ulimit -n {soft};"), "descriptors", "warning", "100 file descriptors")
        level(findings(limits="ulimit -f 1000;"), "file size", "warning")

        part = next(p for p in (root / "index").rglob("domains.mphf"))
        saved = part.read_bytes()
        part.write_bytes(saved[:-1])
        level(findings("--root", root, expect=1), "index files", "fault", "domains.mphf")
        part.unlink()
        level(findings("--root", root, expect=1), "index files", "fault", "cannot be asked for: No such file")
        part.write_bytes(saved)
        shutil.move(root / "registry.json", tmp / "registry.json")
        level(findings("--root", root, expect=1), "registry", "fault")
        (root / "registry.json").write_text("{")
        level(findings("--root", root, expect=1), "registry", "fault")
        shutil.move(tmp / "registry.json", root / "registry.json")
        beside(tmp, root)
        level(findings("--root", tmp / "none", expect=1), "root", "fault", "none")
        level(findings("--cache-dir", tmp / "none", expect=1), "cache", "fault", "none")
        fifo = root / "index" / "manifest.json"
        fifo.unlink()
        os.mkfifo(fifo)
        level(findings("--root", root, expect=1), "manifest", "fault")
        dxtest.domaindex("doctor", "--write", expect=2)
        dxtest.domaindex("doctor", "x", expect=2)
    dxtest.finish()


if __name__ == "__main__":
    main()
