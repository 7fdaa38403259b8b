#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: short plain
"""The settings file of domaindexd as operators write it: comments and quotes, --check, --print-config, and what SIGHUP says of it.

In detail: comments and quotes of the settings file, `--check`, `--print-config` (its output sets the same),
what SIGHUP logs of a changed file, `--resident-max` against the first version.
"""
import os
import signal

import dxtest
from dxtest import check, wait_until, equal

ROWS = "http://example.com/x\n"


def daemon(*arguments, expect=0):
    return dxtest.run(dxtest.DOMAINDEXD, *arguments, expect=expect)


def checked(tmp, root):
    """What --check takes, and what it says of the rest: file, line, key and value."""
    conf = tmp / "check.conf"
    key = tmp / "cursor.key"
    key.write_bytes(b"k" * 32)
    key.chmod(0o600)
    fifo = tmp / "fifo"
    os.mkfifo(fifo)
    sound = (f"root = {root} # my root\n", f"root = \"{root}\"\n", f"root = '{root}'  ; mine\nthreads = 2\t# two\n",
             f"root = {root}\ncursor-key-file = \"{key}\"\n")
    for text in sound:
        conf.write_text(text)
        equal(daemon("--check", "--config", conf).stdout.decode(), f"{conf}: the settings are sound; the root was not opened\n", text)
    for text, code, words in (
            ("root = x\nthreads = many\n", 2, ("check.conf:2:", "threads", "'many'")),
            ("root = x\n\nrot = y\n", 2, ("check.conf:3:", "unknown key 'rot'")),
            ("root = \"x\n", 2, ("check.conf:1:", "quote", "'\"x'")),
            ("root = x\nlisten = 8080\n", 2, ("check.conf:2:", "listen", "'8080'", "127.0.0.1:8080")),
            ("root = x\nadmin = unix:a\n", 2, ("check.conf:2:", "admin", "'unix:a'")),
            ("root = x\nprincipal-header = X-User\n", 2, ("check.conf:2:", "principal-header", "X-User")),
            ("root = x\ncache-answers = 1K\n", 2, ("check.conf:2:", "cache-answers", "1K")),
            ("threads = 1\n", 2, ("--root is needed",)),
            (f"root = x\ncursor-key-file = {tmp}/none\n", 1, ("cursor-key-file", "/none")),
            (f"root = x\naccess-file = {tmp}/none\n", 1, ("access-file", "/none")),
            (f"root = x\nca-file = {tmp}/none\n", 1, ("ca-file", "/none")),
            (f"root = x\nca-file = {conf}\n", 1, ("ca-file", "no certificates", str(conf))),
            (f"root = x\nca-file = {fifo}\n", 1, ("ca-file", "FIFO")),
            (f"root = x\nlog-requests = {tmp}/none/log\n", 1, ("log-requests", "/none/log", "No such file")),
            (f"root = x\nlog-requests = {fifo}\n", 1, ("log-requests", str(fifo))),
            (f"root = x\nlog-requests = {tmp}\n", 1, ("log-requests", str(tmp))),
            (f"root = x\nforeign = {tmp}/none\n", 1, ("foreign", "/none")),
            (f"root = x\nlisten = unix:{tmp}/none/s\n", 1, ("listen", "/none/s", "No such file")),
            (f"root = x\nadmin = unix:{conf}\n", 1, ("admin", "not a socket")),
            ("root = x\nlisten = 192.0.2.1:8080\n", 1, ("listen", "192.0.2.1", "Cannot assign")),
            ("root = x\nlisten = no-such-name.invalid:8080\n", 1, ("listen", "no-such-name.invalid")),
            ("root = http://127.0.0.1:1/\ncache-dir = /proc/x\n", 1, ("cache-dir", "/proc/x")),
            (f"root = http://127.0.0.1:1/\ncache-dir = {conf}\n", 1, ("cache-dir", "Not a directory"))):
        conf.write_text(text)
        said = daemon("--check", "--config", conf, expect=code).stderr.decode()
        check(all(word in said for word in words), f"{text!r}: {said}")
    conf.write_text(f"root = http://127.0.0.1:1/\ncache-dir = {tmp}/made/deep\nlog-requests = {tmp}/new.log\nlisten = unix:{tmp}/s\n"
                    "access = require\nresident-max = 1\n")
    said = daemon("--check", "--config", conf).stdout.decode()
    check("--access require" in said and "--resident-max" in said, f"what only a start shows: {said}")
    equal([name for name in ("made", "new.log", "s") if (tmp / name).exists()], [], "a check leaves nothing behind")
    with dxtest.Server(root) as server:
        daemon("--check", "--root", root, "--listen", f"127.0.0.1:{server.port}")  # a server there is no fault of the settings
    said = daemon("--root", root, "--listen", "8080", expect=2).stderr.decode()
    check("--listen" in said and "127.0.0.1:8080" in said and "0.0.0.0:8080" in said, f"--listen 8080: {said}")


def nowhere(root):
    """What cannot be written is not done."""
    for words in (("--help",), ("--version",), ("--man",), ("--completion", "bash"), ("--print-config", "--root", root), ("--check", "--root", root),
                  ("--selftest-sandbox", "--root", root)):
        done = dxtest.run("sh", "-c", "exec \"$@\" > /dev/full", "sh", dxtest.DOMAINDEXD, *words, expect=1)
        check(b"standard output: No space left" in done.stderr, f"{words}, nowhere to write: {done.stderr}")


def printed(tmp, root):
    """What is printed sets the same again, and says where each comes from."""
    conf = tmp / "print.conf"
    conf.write_text(f"root = \"{root}\"\npoll-ms = 300 # often\naddress-header = X-Forwarded-For\nserver-name = 'a #1'\n")
    options = ("--threads", 2, "--trusted-proxy", "10.0.0.0/8", "--trusted-proxy", "unix")
    text = daemon("--config", conf, "--print-config", *options).stdout.decode()
    lines = {line.split(" = ")[0]: line for line in text.splitlines() if not line.startswith("#")}
    for name, value, origin in (("root", root, f"{conf}:1"), ("poll-ms", 300, f"{conf}:2"), ("threads", 2, "command line"),
                                ("trusted-proxy", "10.0.0.0/8, unix", "command line"), ("server-name", '"a #1"', f"{conf}:4"),
                                ("grace-ms", 10000, "default")):
        got = lines.get(name, "")
        check(got.startswith(f"{name} = {value} ") and got.endswith(f"# {origin}"), f"{name}: {got}")
    again = tmp / "again.conf"
    again.write_text(text)
    daemon("--check", "--config", again)
    second = daemon("--config", again, "--print-config").stdout.decode()
    def values(words):
        return [line.rsplit("  # ", 1)[0].rstrip() for line in words.splitlines() if not line.startswith("#")]
    equal(values(second), values(text), "what is printed, read and printed again")


def reloaded(tmp, root):
    """SIGHUP says which keys changed, and that they take a restart."""
    conf = tmp / "reload.conf"
    conf.write_text("poll-ms = 300\ngrace-ms = 5000\nthreads = 2\n")
    with dxtest.Server(root, "--config", conf, "--threads", 1) as server:
        def hup(text, *words):
            fresh = tmp / "fresh.conf"  # exchanged, as editors do it
            fresh.write_text(text)
            os.rename(fresh, conf)
            before = len(server.words())
            server.process.send_signal(signal.SIGHUP)
            for word in words:
                check(wait_until(lambda: word in server.words()[before:]), f"SIGHUP: {word}: {server.words()[before:]}")
            return server.words()[before:]
        said = hup("# new\npoll-ms = 700\nthreads = 4\nwarm = no\n", f"{conf}:2: poll-ms = 700, at the start 300: this takes effect after a restart",
                   "grace-ms = 5000 is gone: this takes effect after a restart", f"{conf}:4: warm = no, at the start yes: this takes",
                   f"{conf}:3: threads = 4, at the start 2: the command line gives it")
        check("queue" not in said, f"only what changed: {said}")
        hup("poll-ms = soon\n", f"{conf}:1: --poll-ms: 'soon'", "would not start")
        hup("poll-ms = 300\ngrace-ms = 5000\nthreads = 2\n", "says what it said at the start")
        equal(server.get("/v1/domain/example.com").status, 200, "and it serves on")


def capped(root):
    """The first version is held against --resident-max too."""
    said = daemon("--root", root, "--listen", "127.0.0.1:0", "--resident-max", "1K", expect=1).stderr.decode()
    check("resident-max is 1024" in said, f"--resident-max 1K: {said}")


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        (tmp / "rows.txt").write_text(ROWS, encoding="utf-8")
        root = tmp / "root"
        dxtest.domaindex("ingest", "--root", root, "--dataset", "d", tmp / "rows.txt")
        dxtest.domaindex("publish", "--root", root)
        checked(tmp, root)
        nowhere(root)
        printed(tmp, root)
        reloaded(tmp, root)
        capped(root)
    dxtest.finish()


if __name__ == "__main__":
    main()
