#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: short
"""`domaindex doctor`: a sound root has no fault; each kind of trouble that it knows is named, with what to do."""
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


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        root = tmp / "root"
        urls = tmp / "urls"
        urls.write_text("https://example.com/a\nhttps://example.org/\n")
        dxtest.domaindex("ingest", "--root", root, "--dataset", "d", "--format", "list", urls)
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
        level(found, "clock", "ok")
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
