#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: slow
"""Roots of earlier releases, and the steps of docs/OPERATIONS.md, "Upgrades", in their order.

    tests/e2e/upgrade.py --write FOLDER       a root by the programs in FOLDER, for tests/roots/RELEASE-DATE.tar.xz: once a release

In detail: each root of tests/roots, which a release wrote with its answers: this program answers the same, publishes onto it, rolls back, takes datasets out, backs it
up and restores it. Whole (DX_WHOLE): the programs of the release candidate of 2026-11-25 are built from the history, and a server of theirs goes on while the new one
publishes; a version of a layout that they do not know is refused by name and they stay on theirs, beside new servers; back by `rollback`, and by the backup.
"""
import contextlib
import http.client
import json
import lzma
import pathlib
import subprocess
import sys
import tarfile
import time

import dxtest
from dxtest import check, equal

ROOTS = dxtest.SOURCE / "tests" / "roots"
BEFORE = "ab2f2044"  # the first 1.0.0-rc1: with cold.dxp of version 1 and without gone_files
SUFFIXES = "// ===BEGIN ICANN DOMAINS===\ncom\norg\nuk\nco.uk\n// ===END ICANN DOMAINS===\n"
HIDDEN = "hidden.org"
TARGETS = ("/v1/datasets", "/v1/domains", "/v1/tlds", "/v1/domain/s1.com", "/v1/domain/s1.com/datasets/1/urls", "/v1/domain/s2.co.uk/urls",
           "/v1/domain/s3.com/hosts", "/v1/domain/s1.com/timeline", "/v1/url?u=https://a.s1.com/1", "/v1/datasets/1/overlap/2",
           "/v1/datasets/1/top-domains", f"/v1/domain/{HIDDEN}", "/v1/domain/nobody.com", "/v1/normalize?q=HTTPS://A.s1.com:443/x")


class Programs:
    """domaindex and domaindexd of a folder."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.server_program = self.folder / "domaindexd"

    def run(self, *arguments, expect=0):
        return dxtest.run(self.folder / "domaindex", *arguments, expect=expect)

    def publish(self, root, *arguments):
        wait_a_second(root)
        return self.run("publish", "--root", root, "--quiet", *arguments).stdout.decode().strip()

    def serve(self, root, *arguments):
        return dxtest.Server(root, "--lease", "no", "--poll-ms", 200, *arguments, program=self.server_program)


def wait_a_second(root):
    """Names of versions have whole seconds."""
    manifest = root / "index" / "manifest.json"
    if manifest.exists():
        time.sleep(max(0, 1.1 - (time.time() - manifest.stat().st_mtime)))


def rows(dataset, domains):
    for i in domains:
        name = f"s{i}.com" if i % 2 else f"s{i}.co.uk"
        for page in range(3):
            yield f"{dataset}\thttps://{'a.' * (page % 2)}{name}/{page}\t2024-0{1 + i % 9}-01T00:00:0{page}Z\ttitle {i}\n"


def ingest(programs, root, dataset, lines):
    path = root.parent / f"{dataset}.tsv"
    path.write_text("dataset\turl\tts\ttitle\n" + "".join(lines))
    (root.parent / "suffixes").write_text(SUFFIXES)
    new = () if (root / "psl.dat").exists() else ("--psl", root.parent / "suffixes")
    programs.run("ingest", "--root", root, *new, "--dataset-column", "dataset", "--url-column", "url", "--ts-column", "ts", "--extra-column", "title", path)


def make(programs, root):
    """Two parts, of which the newer has taken over domains of the older; a suppression; numbers."""
    ingest(programs, root, "crawl", [*rows("crawl", range(40)), f"crawl\thttps://{HIDDEN}/x\t\tx\n", *rows("links", range(3))])
    first = programs.publish(root)
    ingest(programs, root, "links", rows("links", range(2, 5)))
    programs.run("suppress", "add", "--root", root, "--domain", HIDDEN, "--reason", "a test")
    programs.publish(root)
    programs.run("domain64", "init", "--root", root)
    programs.run("domain64", "fill", "--root", root)
    return first


def answers(server):
    got = {}
    for target in TARGETS:
        reply = server.get(target)
        got[target] = [reply.status, reply.json]
    return got


def differences(old, new, where=""):
    """What of old is not in new; new members are none. Names of versions, texts and cursors differ, and an answer has no cost while a suppression is in force,
    as one is here; releases up to 1.0.0-rc1 had it."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key, value in old.items():
            if key == "cost":
                continue
            if key in new:
                if key not in ("version", "detail", "instance", "next_cursor", "psl_hash"):
                    yield from differences(value, new[key], f"{where}.{key}")
            else:
                yield f"{where}.{key} is gone"
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for i, (a, b) in enumerate(zip(old, new)):
            yield from differences(a, b, f"{where}[{i}]")
    elif old != new:
        yield f"{where}: {old!r:.100}, now {new!r:.100}"


def same(want, got, what):
    for target, answer in want.items():
        found = list(differences(answer, got[target], target))
        check(not found, f"{what}: {found[:3]}")


def served(programs, root, want, what):
    with programs.serve(root) as server:
        same(want, answers(server), what)


def nobodys(info):
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    return info


def write(folder):
    programs = Programs(folder)
    release = programs.run("--version").stdout.decode().split()[1]
    day = time.strftime("%Y%m%d", time.gmtime())
    with dxtest.tempdir() as tmp:
        make(programs, tmp / "root")
        with programs.serve(tmp / "root") as server:
            (tmp / "answers.json").write_text(json.dumps(answers(server)))
        (tmp / "root" / ".lock").unlink(missing_ok=True)
        ROOTS.mkdir(exist_ok=True)
        with lzma.open(ROOTS / f"{release}-{day}.tar.xz", "wb", preset=9) as out, tarfile.open(fileobj=out, mode="w") as archive:
            for name in ("root", "answers.json"):
                archive.add(tmp / name, name, filter=nobodys)
    dxtest.check(True, "written")


def root_of_a_release(archive, tmp):
    """Read, served, published onto, taken back; then as a restored copy."""
    new = Programs(dxtest.BIN)
    tmp.mkdir()
    with tarfile.open(archive) as content:
        content.extractall(tmp, filter="data") if hasattr(tarfile, "data_filter") else content.extractall(tmp)
    root, want = tmp / "root", json.loads((tmp / "answers.json").read_text())
    current = json.loads((root / "index" / "manifest.json").read_text())["current_version"]
    new.run("verify", "--root", root, "--deep")
    new.run("doctor", "--root", root)
    served(new, root, want, f"{archive.name}, as it is")
    new.run("backup", "--root", root, "--to", tmp / "copy", "--all")
    ingest(new, root, "more", rows("more", range(50, 53)))
    new.publish(root)
    new.run("verify", "--root", root, "--deep")
    check(json.loads(new.run("lookup", "--root", root, "s51.com").stdout)["datasets"][0]["name"] == "more", "a publish onto it")
    new.run("rollback", "--root", root, current)
    served(new, root, want, f"{archive.name}, rolled back")
    new.publish(root, "--force")
    kept = {target: answer for target, answer in want.items() if target != "/v1/datasets"}  # which has the name of the dataset that was taken back
    served(new, root, kept, f"{archive.name}, published again")
    new.run("domain64", "fill", "--root", root)
    new.run("domain64", "status", "--root", root)
    new.run("remove", "--root", root, "--dataset", "links")
    new.publish(root)
    new.run("compact", "--root", root)
    new.run("verify", "--root", root, "--deep")
    equal([d["name"] for d in json.loads(new.run("lookup", "--root", root, "s1.com").stdout)["datasets"]], ["crawl"], "a dataset of it is removed")
    new.run("backup", "--root", tmp / "copy", "--to", tmp / "restored", "--all")
    new.run("verify", "--root", tmp / "restored", "--deep")
    served(new, tmp / "restored", want, f"{archive.name}, restored")


# ---- with the programs of before

def build_before(tmp):
    """The programs of BEFORE, or None; kept in build/older."""
    tree = dxtest.SOURCE / "build" / "older" / BEFORE
    if not (tree / "build" / "domaindexd").exists():
        archive = subprocess.run(["git", "-C", dxtest.SOURCE, "archive", BEFORE], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
        if archive.returncode != 0:
            return None
        tree.mkdir(parents=True, exist_ok=True)
        subprocess.run(["tar", "-x", "-C", tree], input=archive.stdout, check=True)
        dxtest.run("cmake", "-S", tree, "-B", tree / "build", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DDX_TESTS=OFF", "-DDX_BENCH=OFF")
        dxtest.run("cmake", "--build", tree / "build", "--target", "domaindex", "domaindexd", timeout=1800)
    return Programs(tree / "build")


def version_of(server):
    with contextlib.suppress(OSError, http.client.HTTPException):
        return json.loads(server.admin("/readyz").body)
    return {}


def steps(before, new, tmp):
    """1 to 5, with a server of before that is there all the time. Returns its answers and its version."""
    root = tmp / "root"
    make(before, root)
    (tmp / "domaindexd.conf").write_text(f"root = {root}\nlisten = 127.0.0.1:0\nlease = no\n")
    dxtest.run(before.server_program, "--check", "--config", tmp / "domaindexd.conf")
    with before.serve(root) as old_server:
        want, old = answers(old_server), version_of(old_server)["version"]
        before.run("backup", "--root", root, "--to", tmp / "backup", "--all")                 # 1.
        dxtest.run(new.server_program, "--check", "--config", tmp / "domaindexd.conf")        # 2.
        new.publish(root, "--force")                                                          # 3.
        check(dxtest.wait_until(lambda: version_of(old_server).get("state") == "degraded"), "a server of before says that it cannot follow")
        same(want, answers(old_server), "and answers from the version that it has")
        refused = before.run("lookup", "--root", root, "s1.com", expect=1).stderr
        check(b"manifest.json" in refused and b"format_version is 2" in refused, f"programs of before refuse the root by name: {refused}")
        with new.serve(root) as new_server:                                                   # 4.
            same(want, answers(new_server), "a new server beside it")
            new.run("verify", "--root", root, "--deep")                                       # 5.
            unknown_layout(before, new, root, old_server, new_server, want)
    return want, old


def unknown_layout(before, new, root, old_server, new_server, want):
    """A dataset taken out of an older part: a manifest that programs of before cannot read."""
    new.run("remove", "--root", root, "--dataset", "links")
    version = new.publish(root)
    check("gone_files" in (root / "index" / "manifest.json").read_text(), "a version of the newer layout")
    check(dxtest.wait_until(lambda: version_of(new_server).get("version") == version), "new servers follow")
    same(want, answers(old_server), "servers of before answer from the version that they have")
    refused = before.run("lookup", "--root", root, "s1.com", expect=1).stderr
    check(b"manifest.json" in refused, f"programs of before refuse the root by name: {refused}")


def back(before, new, tmp, want, old):
    """By the backup of step 1. A rollback alone is not the way: the manifest lists what programs of before do not know."""
    before.run("backup", "--root", tmp / "backup", "--to", tmp / "restored", "--all")
    served(before, tmp / "restored", want, "programs of before, with the backup")
    ingest(before, tmp / "restored", "more", rows("more", range(50, 53)))
    before.publish(tmp / "restored")
    new.publish(tmp / "restored", "--force")
    new.run("rollback", "--root", tmp / "restored", old)
    refused = before.run("lookup", "--root", tmp / "restored", "s1.com", expect=1).stderr
    check(b"format_version is 2" in refused, f"programs of before refuse the root after a rollback: {refused}")


def main():
    dxtest.need_programs()
    if sys.argv[1:2] == ["--write"]:
        write(sys.argv[2])
        return dxtest.finish()
    skipped = None
    with dxtest.tempdir() as tmp:
        archives = sorted(ROOTS.glob("*.tar.xz"))
        check(archives, "roots of releases are here")
        for archive in archives:
            root_of_a_release(archive, tmp / archive.stem)
        if dxtest.WHOLE:
            before, new = build_before(tmp), Programs(dxtest.BIN)
            if before:
                back(before, new, tmp, *steps(before, new, tmp))
            else:
                skipped = f"no history here: the programs of {BEFORE} were not built"
    return dxtest.finish(skipped)


if __name__ == "__main__":
    main()
