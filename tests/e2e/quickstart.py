#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: slow
"""README's first command on this machine's package lists, twice, and what it says when it cannot. In the gate
both times have the begin of these lists, as apt-cache writes it; with DX_WHOLE=1 they have them whole, behind one time more.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import urllib.request

import dxtest
from dxtest import check, equal

SCRIPT = dxtest.SOURCE / "scripts" / "quickstart.sh"
ENOUGH = 3000      # home pages


def environment(**more):
    # DX_BIN_DIR: the programs are built already; packages and build are tried by
    # scripts/fresh_debian.sh.
    return {"DX_BIN_DIR": str(dxtest.BIN), **more}


def no_serve(root, lists):
    done = dxtest.run("bash", SCRIPT, "--no-serve", env=environment(DX_ROOT=str(root), **lists), timeout=300)
    text = done.stdout.decode()
    equal(len(re.findall(r"(?m)^\$ curl '?http://127\.0\.0\.1:\d+/v1/", text)), 3, "three requests")
    check('"domain":"github.com"' in text, "github.com is answered")
    datasets = re.search(r'"dataset_count":(\d+)', text)
    check(datasets and int(datasets.group(1)) >= 20, f"dozens of datasets: {datasets and datasets.group()}")
    check("https://github.com/" in text, "its URLs are listed")
    check("domain-not-found" in text and "no-such-site.example" in text, "a 404 in words")
    if dxtest.failures():
        print(text)
    return text


def begin_of_lists():
    """The first records of the package lists, with ENOUGH home pages if there are as many."""
    records, found = [], 0
    with subprocess.Popen(["apt-cache", "dumpavail"], stdout=subprocess.PIPE) as process:
        for line in process.stdout:
            records.append(line)
            found += line.startswith(b"Homepage: ")
            if found >= ENOUGH and line == b"\n":
                break
        process.kill()
    return b"".join(records), found


def shorter_lists(folder, lists):
    """A PATH with an apt-cache that has these package lists."""
    folder.mkdir()
    (folder / "lists").write_bytes(lists)
    (folder / "apt-cache").write_text(f"#!/bin/sh\nexec cat '{folder}/lists'\n")
    (folder / "apt-cache").chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}"}


def is_there(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def serve(root, lists):
    """The server in the foreground: it answers, a second one is told why not, Ctrl-C ends it."""
    env = {**os.environ, **environment(DX_ROOT=str(root), DX_LISTEN="127.0.0.1:0"), **lists}
    process = subprocess.Popen(["bash", SCRIPT], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               env=env, start_new_session=True)
    text = b""
    while b"serving on" not in text:
        line = process.stdout.readline()
        if not line:
            break
        text += line
    said = re.search(rb"serving on http://(127\.0\.0\.1:(\d+)) ", text)
    if not check(said, "the foreground server starts"):
        print(text.decode())
        return
    listen = said[1].decode()
    with urllib.request.urlopen(f"http://{listen}/v1/domain/github.com") as reply:
        equal(json.load(reply)["domain"], "github.com", "the foreground server answers")
    second = dxtest.run("bash", SCRIPT, expect=1, env=environment(DX_ROOT=str(root), DX_LISTEN=listen))
    check(b"is taken" in second.stderr and b"DX_LISTEN=" in second.stderr, "a taken port is said")
    equal(second.stdout, b"", "and said before any work")
    os.killpg(process.pid, signal.SIGINT)
    try:
        process.communicate(timeout=120)
        check(True, "Ctrl-C ends it")
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        check(False, "Ctrl-C did not end it within 120 s")
    check(dxtest.wait_until(lambda: not is_there(process.pid)), "no server is left behind")


def main():
    dxtest.need_programs()
    if not shutil.which("apt-cache"):
        dxtest.skip("no apt-cache: this is no Debian, and its package lists are the input")
    lists, homepages = begin_of_lists()
    if homepages < 1000 and os.getuid() != 0:
        dxtest.skip("this machine has no package lists (apt-get update)")
    with dxtest.tempdir() as tmp:
        shorter = {} if dxtest.WHOLE or homepages < ENOUGH else shorter_lists(tmp / "shorter", lists)
        text = no_serve(tmp / "root", shorter)
        again = no_serve(tmp / "root", shorter) if dxtest.WHOLE else text    # serve() runs the script a second time too
        strip = re.compile(r"127\.0\.0\.1:\d+|\"version\":\"[^\"]*\"|\d{4}-\d\d-\d\dT[0-9:.Z]+|[0-9.,]+ ?(s|ms|MB/s|/s|rows/s)")
        equal(strip.sub("", again).count("\n"), strip.sub("", text).count("\n"), "a second run says as much")
        serve(tmp / "root", shorter)
        (tmp / "mine").mkdir()
        (tmp / "mine" / "file").write_text("keep me")
        done = dxtest.run("bash", SCRIPT, "--no-serve", expect=1, env=environment(DX_ROOT=str(tmp / "mine"), **shorter))
        check(b"not from this script" in done.stderr, "a folder of somebody else is refused")
        equal((tmp / "mine" / "file").read_text(), "keep me", "and kept")
    dxtest.finish()


if __name__ == "__main__":
    main()
