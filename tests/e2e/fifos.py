#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: slow
"""A FIFO in the place of a file never makes a command or a server wait, and a look that hangs is seen.

Each file of a root is replaced by a FIFO in turn, and each command runs on it; so are the files that options name. A server
whose followed files become FIFOs keeps what it knew, says degraded, and follows again when they are back. A look that the
kernel does not finish (strace delays the open) makes it degraded too, and the age of the last look grows.

In detail: a FIFO in the place of each file of a root under each command, of files that options name and of
those a running server follows; an open that hangs (strace); inputs whose writer comes late. What has to be waited for is waited for
at once.
"""
import collections
import concurrent.futures
import os
import shutil
import signal
import subprocess
import time

import dxtest
import inject
from dxtest import check, wait_until, equal

HANG_S = 600


def make(tmp):
    root = tmp / "root"
    rows = "".join(f"d{n % 3 + 1}\thttps://{'ab'[n % 2]}.example{n % 5}.com/{n}\n" for n in range(60))
    (tmp / "rows.tsv").write_text(rows)
    ingest = ["ingest", "--root", root, "--format", "tsv", "--dataset-column", 1, "--url-column", 2]
    dxtest.domaindex(*ingest, tmp / "rows.tsv")
    dxtest.domaindex("publish", "--root", root)
    (tmp / "more.tsv").write_text("d1\thttps://b.example1.com/more\n")
    dxtest.domaindex(*ingest, tmp / "more.tsv")
    dxtest.domaindex("publish", "--root", root)
    dxtest.domaindex("suppress", "add", "--root", root, "--host", "a.example1.com")
    dxtest.domaindex("access", "init", "--public", "--root", root)
    dxtest.domaindex("domain64", "assign", "--root", root, expect=None)
    return root


def ends(what, *command, env=None, within_s=120):
    """Runs it; whether it came to an end by itself, and did not crash."""
    return ended_well(what, command, run(command, env, within_s))


def run(command, env=None, within_s=120):
    try:
        return subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=within_s, env={**os.environ, **(env or {})}, check=False)
    except subprocess.TimeoutExpired:
        return None


def ended_well(what, command, done):
    if done is None:
        check(False, f"{what}: {command[1]} hangs")
        return None
    check(done.returncode in (0, 1, 2, 3), f"{what}: {command[1]}: exit {done.returncode}")
    return done


def readers(root):
    at = ("--root", root)
    return [("verify", "--deep", *at), ("versions", *at), ("lookup", *at, "a.example1.com"), ("suppress", "status", *at),
            ("access", "list", *at), ("gc", *at, "--dry-run"), ("domain64", "status", *at)]


def writers(root):
    at = ("--root", root)
    return [("publish", *at), ("publish", "--full", *at), ("suppress", "add", *at, "--host", "b.example2.com"),
            ("compact", *at), ("rollback", *at, "1")]


def each_file(template, work):
    """Each file of the root, one at a time, under each command; in the gate under two, one of which writes, other ones each time."""
    files = sorted(p.relative_to(template) for p in template.rglob("*") if p.is_file())
    said, runs = 0, collections.Counter()
    for number, file in enumerate(files):
        reading, writing = readers(work), writers(work)
        groups = [reading, *([command] for command in writing)]
        if not dxtest.WHOLE:
            groups = [[reading[number % len(reading)], writing[number % len(writing)]]]
        for group in groups:
            shutil.rmtree(work, ignore_errors=True)
            shutil.copytree(template, work)
            (work / file).unlink()
            os.mkfifo(work / file)
            for command in group:
                done = ends(f"{file}", dxtest.DOMAINDEX, *command)
                said += done is not None and b"FIFO" in done.stderr + done.stdout
                runs[command[:2]] += 1
    equal(len(runs), len(readers(work)) + len(writers(work)), f"commands that were run: {runs}")
    check(said * 6 > runs.total(), f"{said} of {runs.total()} runs over {len(files)} files say that it is a FIFO")
    print(f"{len(files)} files, {said} of {runs.total()} runs say FIFO")


def options(root, tmp):
    """Files that options and the environment name."""
    fifo = tmp / "fifo"
    os.mkfifo(fifo)
    server = [dxtest.DOMAINDEXD, "--root", root, "--listen", "127.0.0.1:0"]
    for option in ("--config", "--cursor-key-file", "--access-file"):
        done = ends(option, *server, option, fifo)
        check(done and done.returncode != 0 and b"FIFO" in done.stderr, f"{option}: {done and done.stderr}")
    done = ends("a suffix list", dxtest.DOMAINDEX, "ingest", "--root", tmp / "new", "--psl", fifo, "--dataset", "d", tmp / "rows.tsv")
    check(done and done.returncode != 0 and b"FIFO" in done.stderr, f"{done and done.stderr}")
    done = ends("credentials", dxtest.DOMAINDEX, "versions", "--root", "s3://bucket/x",
                env={"AWS_SHARED_CREDENTIALS_FILE": str(fifo), "AWS_ACCESS_KEY_ID": "", "AWS_EC2_METADATA_DISABLED": "true"})
    check(done and done.returncode != 0, "credentials")


def no_writer(fifo):
    """The FIFO stays without a writer."""


def write_late(fifo):
    time.sleep(0.5)
    fifo.write_text("host late.example.com\n")


def write_slowly(fifo):
    with open(fifo, "w", encoding="ascii") as out:
        time.sleep(11)  # longer than a writer is waited for: it is there
        out.write("host slow.example.com\n")


INPUTS = (("an input without a writer", no_writer, ["ingest", "--dataset", "d9"], [], 1, b"no process has opened for writing"),
          ("a file of rules without a writer", no_writer, ["suppress", "add"], ["--file"], 2, b"no process has opened for writing"),
          ("an input with a writer who comes late", write_late, ["suppress", "add"], ["--file"], 0, b"late.example.com"),
          ("an input with a slow writer", write_slowly, ["suppress", "add"], ["--file"], 0, b"slow.example.com"))


def begin_inputs(pool, root, tmp):
    """Inputs get a writer's time, and are read when one comes: each in a root of its own."""
    begun = []
    for number, (what, writer, words, last, code, said) in enumerate(INPUTS):
        fifo, own = tmp / f"input{number}", tmp / f"root{number}"
        os.mkfifo(fifo)
        shutil.copytree(root, own)
        command = [dxtest.DOMAINDEX, *words, "--root", own, *last, fifo]
        begun.append((what, command, pool.submit(run, command), pool.submit(writer, fifo), code, said))
    return begun


def end_inputs(begun):
    for what, command, running, writing, code, said in begun:
        done = ended_well(what, command, running.result())
        writing.result(120)
        check(done and done.returncode == code and said in done.stdout + done.stderr, f"{what}: {done}")


def state(server):
    return server.admin("/readyz").json


def followed(root):
    """What a server follows, when it becomes a FIFO and comes back."""
    with dxtest.Server(root, "--poll-ms", 50) as server:
        equal(state(server)["state"], "sound", "before")
        for file, word in (("suppressions.log", "suppressions"), ("manifest.json", "manifest.json"), ("access.json", "access")):
            path = root / "index" / file
            aside = path.with_name("aside")
            path.rename(aside)
            os.mkfifo(path)
            check(wait_until(lambda: state(server)["state"] == "degraded"), f"{file} is a FIFO: {state(server)}")
            check(wait_until(lambda: word in state(server).get("detail", "") or word == "access"), f"{file}: {state(server)}")
            aside.rename(path)
            check(wait_until(lambda: state(server)["state"] == "sound"), f"{file} is back: {state(server)}")
        equal(server.get("/v1/domain/example3.com").status, 200, "before a rule")
        dxtest.domaindex("suppress", "add", "--root", root, "--domain", "example3.com")
        check(wait_until(lambda: server.get("/v1/domain/example3.com").status == 451), "a rule that came after the FIFO")


def hangs(root, tmp, meanwhile):
    """An open of the log that does not end: the rest of the server goes on, and says so. meanwhile(): what is done until then."""
    if not inject.can_trace():
        meanwhile()
        return "a look that hangs (strace)"
    log = root / "index" / "suppressions.log"
    wrapped = tmp / "traced"
    wrapped.write_text(f'#!/bin/sh\nexec strace -f --seccomp-bpf -qq -o /dev/null -e trace=openat -P "{log}" '
                       f'-e inject=openat:delay_enter={HANG_S}s:when=10+ "{dxtest.DOMAINDEXD}" "$@"\n')
    wrapped.chmod(0o755)
    with dxtest.Server(root, "--poll-ms", 50, "--sandbox", "no", program=wrapped) as server:
        meanwhile()
        check(wait_until(lambda: "has not ended" in state(server).get("detail", "") or time.sleep(0.3)), f"a look that hangs: {state(server)}")
        equal(server.get("/v1/domain/example2.com").status, 200, "answers go on")
        metrics = server.metrics()
        ages = {name: time.time() - metrics[f"domaindex_{name}_last_look_timestamp_seconds"] for name in ("suppressions", "manifest")}
        check(ages["suppressions"] >= 10 and metrics["domaindex_suppressions_last_look_successful"] == 0
              and ages["manifest"] < ages["suppressions"] and metrics["domaindex_sound"] == 0, f"the metrics: {ages}")
        # The delay holds the thread even at the end of the process: strace goes first, which sets it free.
        children = [int(pid) for pid in (f"/proc/{server.process.pid}/task/{server.process.pid}/children",)
                    for pid in open(pid, encoding="ascii").read().split()]
        server.process.kill()
        server.process.wait(60)
        for pid in children:
            os.kill(pid, signal.SIGKILL)
        server.process = ended()
    return None


def ended():
    done = subprocess.Popen(["true"])
    done.wait(10)
    return done


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        root = make(tmp)
        hung = tmp / "hung"
        shutil.copytree(root, hung)
        with concurrent.futures.ThreadPoolExecutor(2 * len(INPUTS)) as pool:
            begun = begin_inputs(pool, root, tmp)
            skipped = hangs(hung, tmp, lambda: (followed(root), each_file(root, tmp / "work"), options(root, tmp)))
            end_inputs(begun)
    dxtest.finish(skipped)


if __name__ == "__main__":
    main()
