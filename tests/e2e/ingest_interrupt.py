#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: peers
"""An ingest of many inputs that is interrupted (SIGINT, SIGTERM) adds nothing and leaves nothing; the same run again adds all.

The last input is a stream that goes on until the run has ended, so the signal comes while files before it are read. A lake that had
rows keeps its bytes. With --journal the steps that ended before are in the lake, and the next run goes on behind them. $DX_PEERS_PYTHON names the python that has pyarrow. Exit 77: skipped.
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


def rejects(tmp):
    """The rejected records of all steps of a run are in the file that --rejects names, up to --rejects-size; those of the run before are not."""
    command = ["ingest", "--root", tmp / "rejects", "--dataset", "d", "--format", "list", "--memory", "64M", "--max-rejects", "100%",
               "--journal", tmp / "rejects.journal", "--journal-step", "1", "--rejects-size", "4K", "--rejects", tmp / "rejects.tsv"]
    for i in range(4):
        (tmp / f"some{i}.txt").write_text(f"http://www.some.com/{i}\nno url {i}\n" + "no url either\n" * (i == 2) * 300 + "http://www.some.com/\n" * 40)
    for inputs, wanted, full in ((range(2), "01", False), (range(4), "2", True)):
        dxtest.domaindex(*command, *(tmp / f"some{i}.txt" for i in inputs))
        text = (tmp / "rejects.tsv").read_text()
        dxtest.equal([i for i in "0123" if f"no url {i}\n" in text], list(wanted), f"rejected records of steps: {text}")
        dxtest.equal((full, full), (len(text) > 4000, "more rejected records are not listed" in text), f"a full file: {text}")
        dxtest.check(len(text) < 4096 + 200, f"{len(text)} bytes")


def left_out_of_journal(tmp):
    """A dataset whose lake file is faulty stops no other one, in no step; its rows come when the file is back."""
    root, file = tmp / "two", tmp / "two.journal"
    command = ["ingest", "--root", root, "--url-column", "1", "--dataset-column", "2"]
    rows = {"one": "ab", "both": "ab", "faulty": "a", "other": "b"}
    for name, datasets in rows.items():
        (tmp / f"{name}.tsv").write_text("".join(f"https://{d}.com/{name}\t{d}\n" for d in datasets))
    dxtest.domaindex(*command, tmp / "one.tsv")
    dxtest.domaindex("publish", "--root", root)
    [lost] = (root / "urls" / "dataset_id=1").rglob("*.parquet")
    whole = lost.read_bytes()
    lost.write_bytes(b"bad")
    steps = [*command, "--journal", file, "--journal-step", "1", *(tmp / f"{name}.tsv" for name in list(rows)[1:])]
    for were, added in ((0, 1), (1, 0)):
        done = dxtest.domaindex(*steps, expect=1).stderr.decode()
        dxtest.check(f"{were} of 3 inputs were in the lake, {added} were added, 2 have rows that were not stored; the same command again" in done and lost.name in done, done)
    dxtest.equal(len(lake.stored(root, "b")), 3, "rows of the other dataset")
    lost.write_bytes(whole)
    done = dxtest.domaindex(*steps).stderr.decode()
    dxtest.check("1 of 3 inputs were in the lake, 2 were added" in done and "not stored" not in done, done)
    dxtest.equal((len(lake.stored(root, "a")), len(lake.stored(root, "b"))), (3, 3), "rows of both, when the file is back")
    lost.write_bytes(b"bad")
    done = dxtest.domaindex("ingest", "--root", root, "--dataset", "a", "--format", "list", "--journal", tmp / "one.journal", "--journal-step", "1",
                            tmp / "one.tsv", tmp / "both.tsv", expect=1).stderr.decode()
    dxtest.check("0 of 2 inputs were in the lake, 0 were added; the same" in done, f"of one dataset no step could be stored: {done}")


def journal(tmp, inputs, want):
    """Steps of one input each: what ended before a failure, an interruption or a kill is in the lake and is not read again."""
    root, file = tmp / "steps", tmp / "steps.journal"
    command = ["ingest", "--root", root, "--dataset", "d", "--format", "list", "--memory", "64M", "--journal", file, "--journal-step", "1"]

    def said(done):
        return [line for line in done.stderr.decode().splitlines() if line.startswith("journal ")][-1]

    (tmp / "bad.txt").write_text("no url\n" * 10)
    some = [*inputs[:4], tmp / "bad.txt", *inputs[4:8]]
    done = dxtest.domaindex(*command, *some, expect=1)
    dxtest.check("0 of 9 inputs were in the lake, 4 were added; the same command again goes on behind them" in said(done), said(done))
    dxtest.equal(len(lake.stored(root, "d")), 4 * LINES, "rows of the steps before the failure")
    (tmp / "bad.txt").write_text("http://www.late.com/\n")
    done = dxtest.domaindex(*command, "--threads", "1", *some)
    dxtest.check(said(done).endswith(": 4 of 9 inputs were in the lake, 5 were added"), said(done))
    dxtest.check(done.stderr.decode().count("rows stored") == 5, "a summary a step")
    with subprocess.Popen([str(c) for c in [dxtest.DOMAINDEX, *command, *inputs[:12]]], stderr=subprocess.PIPE) as run:
        dxtest.wait_until(lambda: len(file.read_bytes().splitlines()) >= 11 or run.poll() is not None)
        run.kill()
        run.stderr.read()
    with file.open("ab") as out:        # as a crash leaves it
        out.write(b"0123456789abcdef0123456789abcdef /half")
    done = dxtest.domaindex(*command, *inputs[:12])
    dxtest.equal({u for u, *_ in lake.stored(root, "d")}, set(want[:12 * LINES]) | {"http://www.late.com/"}, "rows after a kill and another run")
    dxtest.equal(len(lake.stored(root, "d")), 12 * LINES + 1, "no row is there twice")
    done = dxtest.domaindex(*command, *inputs[:12])
    dxtest.check("12 of 12 inputs were in the lake, 0 were added" in said(done), said(done))
    left_out_of_journal(tmp)
    (tmp / "none.list").write_text("")
    for how in ([], ["--journal", tmp / "none.journal"]):
        done = dxtest.domaindex("ingest", "--root", root, "--dataset", "d", *how, f"@{tmp / 'none.list'}", expect=1)
        dxtest.check(b"no input has a record" in done.stderr, f"a list without inputs: {done.stderr}")
    inputs[3].write_text("http://www.changed.com/\n")
    done = dxtest.domaindex(*command, *inputs[:12])
    dxtest.check("11 of 12 inputs were in the lake, 1 were added" in said(done), said(done))
    (tmp / "steps").rename(tmp / "moved")
    for words, arguments in ((b"with other options", [*command, "--no-ts"]), (b"is not a journal", [*command[:-3], tmp / "bad.txt", *command[-2:]]),
                             (b"and there is none at", command)):
        dxtest.check(words in dxtest.domaindex(*arguments, inputs[0], expect=1).stderr, f"{words} is not said")
    for extra in (["--replace"], ["--dry-run"]):
        dxtest.check(b"exclude each other" in dxtest.domaindex(*command, *extra, inputs[0], expect=2).stderr, f"{extra}")


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
        journal(tmp, inputs, want)
        rejects(tmp)
    dxtest.finish()


if __name__ == "__main__":
    main()
