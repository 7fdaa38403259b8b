# SPDX-License-Identifier: Apache-2.0
# labels: plain
"""Limits that the system sets on a process: a size of files, a small stack; and a flood of rejects.

Over RLIMIT_FSIZE a command ends with an error that names the file, not by SIGXFSZ, and leaves the
root as it was; a server goes on. Each command and a server run with a stack of 64 KiB. A file of
rejects is bounded, says that it is cut, and goes with a run that fails.

In detail: RLIMIT_FSIZE: commands end with an error and change nothing, a server goes on; every command with a
stack of 64 KiB; a million rejects: bounded file, exact counts, gone after a failed run.
"""
import gzip
import re
import resource
import subprocess
import sys

import dxtest

STACK = 64 << 10
SMALL = ("--memory", "64M", "--threads", "2")


def limited(which, size):
    def before():
        resource.setrlimit(which, (size, size))
    return before


def command(*arguments, limit=None, input=b""):
    return subprocess.run([str(dxtest.DOMAINDEX), *map(str, arguments)], input=input, capture_output=True,
                          timeout=300, check=False, preexec_fn=limit and limited(*limit))


def urls(name, count, start=0):
    return "".join(f"http://h{i % 7}.{name}{i % 300}.org/p/{i}?x={i * 7919}\n"
                   for i in range(start, start + count)).encode()


def file_sizes(tmp):
    """8 KiB a file: no run comes to its end, none by a signal, and none leaves anything that counts."""
    root, limit = tmp / "sizes", (resource.RLIMIT_FSIZE, 8192)
    dxtest.domaindex("ingest", "--root", root, "--dataset", "a", "--format", "list", *SMALL, "-", input=urls("a", 3000))
    version = dxtest.domaindex("publish", "--root", root, "--quiet", *SMALL).stdout
    dxtest.domaindex("ingest", "--root", root, "--dataset", "a", "--format", "list", *SMALL, "-", input=urls("b", 3000))
    many = urls("c", 30000)
    for words in (("ingest", "--root", root, "--dataset", "a", "--format", "list", *SMALL, "-"),
                  ("publish", "--root", root, *SMALL), ("compact", "--root", root, *SMALL)):
        done = command(*words, limit=limit, input=many if words[-1] == "-" else b"")
        dxtest.equal(done.returncode, 1, f"{words[0]} over the limit of file size: {done.stderr[-300:]}")
        dxtest.check(b"File too large" in done.stderr, f"{words[0]} says so: {done.stderr[-300:]}")
    dxtest.check(version.strip() in dxtest.domaindex("versions", "--root", root).stdout, "the version stays")
    with dxtest.Server(root, "--log-requests", tmp / "requests.log", preexec=limited(*limit)) as server:
        for _ in range(200):                                   # its log is over the limit
            dxtest.equal(server.get("/v1/domain/a1.org").status, 200, "a server over the limit")
    dxtest.domaindex("publish", "--root", root, "--quiet", *SMALL)


def stacks(tmp):
    limit = (resource.RLIMIT_STACK, STACK)
    root = tmp / "stack"
    ingest = ("ingest", "--root", root, "--dataset", "a", "--format", "list", *SMALL, "-")
    store = tmp / "export"
    steps = [
        (ingest, 0), (("publish", "--root", root, *SMALL), 0), (ingest, 0),
        (("suppress", "add", "--root", root, "--host", "h1.a1.org", "--reason", "x"), 0),
        (("compact", "--root", root, *SMALL), 0), (("verify", "--deep", "--root", root), 0),
        (("versions", "--root", root), 0), (("lookup", "--root", root, "a1.org"), 0),
        (("inspect", root), 0), (("normalize", "--to", "url"), None), (("key", "xn--nxasmq6b.example"), None),
        (("top-domains", "--root", root), None), (("overlap", "--root", root, "a", "a"), None),
        (("domain64", "--help"), 0), (("diff", "--root", root, "a", "b"), None),
        (("export", "--root", root, "--to", store), None), (("access", "--help"), 0),
        (("rollback", "--root", root), None), (("gc", "--root", root), None),
        (("remove", "--root", root, "--dataset", "nothing"), None),
        (("ingest", "--root", root, "--from", "amqp://127.0.0.1:1/%2f?queue=q", "--wait", 1), 1),
    ]
    many = urls("a", 20000)
    for words, want in steps:
        done = command(*words, limit=limit, input=many if words[0] in ("ingest", "normalize") else b"")
        dxtest.check(done.returncode >= 0, f"{words[0]} with a stack of 64 KiB: signal {-done.returncode}")
        dxtest.check(want is None or done.returncode == want, f"{words[0]}: {done.returncode} {done.stderr[-300:]}")
    with dxtest.Server(root, preexec=limited(*limit)) as server:
        for path in ("/v1/domain/a1.org", "/v1/domain/a1.org/datasets/1/urls", "/metrics"):
            dxtest.check(server.get(path).status < 500, f"a server with a stack of 64 KiB: {path}")


def rejects(tmp):
    root = tmp / "rejects"
    name = tmp / ("n" * 200 + ".tsv.gz")
    count = 1_500_000 if dxtest.WHOLE else 300_000
    name.write_bytes(gzip.compress(b"x\n" * count, 9))
    run = ("ingest", "--root", root, "--dataset", "a", "--format", "list", *SMALL)
    done = command(*run, "--rejects-size", "1M", name)
    counts = dict(re.findall(rb"^ +(\w+) +([\d,]+)$", done.stderr, re.M))
    files = list((root / "rejects").iterdir())
    dxtest.equal(len(files), 1, "one file of rejects")
    dxtest.check(files[0].stat().st_size <= (1 << 20) + 200, f"its bound: {files[0].stat().st_size}")
    lines = files[0].read_text().splitlines()
    dxtest.equal(lines[-1].split("\t"), ["", "0", "not_listed", f"{count - len(lines) + 1} more rejected records are not listed"],
                 "its last line says how many are left out")
    dxtest.equal(lines[0].split("\t")[:2], [str(name), "1"], "the first line has the input's name")
    dxtest.check(sum(line.startswith(str(name)) for line in lines) < len(lines) / 100, "others do not repeat it")
    dxtest.check(b"WARNING" in done.stderr and b"--rejects-size" in done.stderr, f"and the summary: {done.stderr[-600:]}")
    dxtest.equal(counts.get(b"rejected", b"").replace(b",", b"").decode(), str(count), "the count is of all")
    done = command(*run, "--rejects-size", "1M", name, tmp / "missing.tsv")
    dxtest.equal(done.returncode, 1, "a run that fails")
    dxtest.equal(list((root / "rejects").iterdir()), files, "leaves no file of rejects")


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        rejects(tmp)
        file_sizes(tmp)
        if dxtest.SANITIZED:
            print("small stacks are left out: the frames of sanitizers are others")
        else:
            stacks(tmp)
    dxtest.finish()


if __name__ == "__main__":
    sys.exit(main())
