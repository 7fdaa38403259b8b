#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: peers
"""An ingest of many inputs that is interrupted (SIGINT, SIGTERM) adds nothing and leaves nothing; the same run again adds all.

The last input is a stream that goes on until the run has ended, so the signal comes while files before it are read. A lake that had
rows keeps its bytes. $DX_PEERS_PYTHON names the python that has pyarrow. Exit 77: skipped.
"""
import contextlib
import pathlib
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dxtest  # noqa: E402

try:
    import lake
except ImportError:
    print(f"SKIPPED: no pyarrow in {sys.executable}; set DX_PEERS_PYTHON")
    sys.exit(77)

FILES, LINES = 20, 500
BEFORE_SIGNAL = 4 << 20         # far more than a pipe holds: the run is at its last input


def files_of(root):
    """Everything below the root but locks, with its bytes."""
    return {str(p.relative_to(root)): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file() and not p.name.endswith("lock")}


def interrupted(root, inputs, number):
    """Exit code and words of a run that gets the signal while it reads its last input."""
    command = [dxtest.DOMAINDEX, "ingest", "--root", root, "--dataset", "d", "--format", "list", "--memory", "64M", *inputs, "-"]
    with subprocess.Popen([str(c) for c in command], stdin=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        block = b"".join(b"http://www.stream.com/%d\n" % i for i in range(4000))
        sent = 0
        with contextlib.suppress(BrokenPipeError):
            while sent < BEFORE_SIGNAL:
                sent += run.stdin.write(block)
            run.send_signal(number)
            while run.poll() is None:       # the read that waits gets something
                run.stdin.write(block)
        with contextlib.suppress(BrokenPipeError):
            run.stdin.close()
        return run.wait(), run.stderr.read().decode()


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        inputs, want = [], []
        for i in range(FILES):
            urls = [f"http://www.site{i}.com/{k}" for k in range(LINES)]
            (tmp / f"{i}.txt").write_text("\n".join(urls) + "\n")
            inputs.append(tmp / f"{i}.txt")
            want += urls
        root = tmp / "root"
        dxtest.domaindex("ingest", "--root", root, "--dataset", "d", "--format", "list", inputs[0])
        before = files_of(root)
        for number in (signal.SIGINT, signal.SIGTERM):
            code, said = interrupted(root, inputs, number)
            dxtest.check(code != 0 and "interrupted; nothing was added to the lake" in said, f"{number.name}: {code}, {said[-400:]}")
            dxtest.equal(files_of(root).keys(), before.keys(), f"{number.name}: files of the root")
            dxtest.check(files_of(root) == before, f"{number.name}: bytes of the root")
        dxtest.domaindex("ingest", "--root", root, "--dataset", "d", "--format", "list", *inputs)
        dxtest.equal(sorted(u for u, *_ in lake.stored(root, "d")), sorted(want), "rows of the run that was not interrupted")
        after = files_of(root)
        dxtest.domaindex("ingest", "--root", root, "--dataset", "d", "--format", "list", *inputs)
        dxtest.equal(files_of(root).keys(), after.keys(), "the same run again adds no file")
    dxtest.finish()


if __name__ == "__main__":
    main()
