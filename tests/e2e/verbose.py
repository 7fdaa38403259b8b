#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: slow
"""`--verbose` of every command: its lines name each file that is read or written and each request to a store, as strace and a proxy in front of
the store count them; standard output stays as it is, nothing secret is printed, and bytes from outside do not reach the terminal.
"""
import re
import shutil
import subprocess

import dxtest
import faultproxy
import stores
from dxtest import check, equal

ROWS = b"http://a.example/x\nhttp://b.example/y\n"
LINE = re.compile(rb" *\d+\.\d{3} (reads|writes|maps|GET|PUT|POST|HEAD|DELETE|publish:) .+")


def call(*arguments, **options):
    return dxtest.run(dxtest.DOMAINDEX, *arguments, **options)


def lines_of(done, words):
    found = done.stderr.splitlines()
    for line in found:
        check(LINE.fullmatch(line), f"{words}: {line!r}")
    return found


def check_all_commands():
    """Each has it in its help, and says the same of wrong arguments."""
    text = call("help").stdout.decode()
    names = re.findall(r"^  (\S+) ", text.split("commands:")[1].split("\n'")[0], re.M)
    check(len(names) > 25, f"commands: {names}")
    for name in names:
        check(b"  --verbose " in call("help", name).stdout, f"help {name}")
        plain, verbose = (call(name, "--no-such-option", *more, expect=2) for more in ((), ("--verbose",)))
        equal(verbose.stderr, plain.stderr, f"{name}: a usage error")
    check(b"unknown option" not in call("normalize", "--", "--verbose", expect=None).stderr, "behind -- it is an operand")


def check_directory(tmp):
    root = tmp / "root"
    done = call("ingest", "--root", root, "--dataset", "d", "--format", "list", "--verbose", "--quiet", "-", input=ROWS)
    check(re.search(rb"writes \S+\.parquet|writes \S+/file-\d+", b"\n".join(lines_of(done, "ingest"))), f"ingest: {done.stderr}")
    lines_of(call("publish", "--root", root, "--verbose", "--quiet"), "publish")
    asked = ("lookup", "--root", root, "--all-urls", "a.example")
    plain, verbose = call(*asked), call(*asked, "--verbose")
    equal(verbose.stdout, plain.stdout, "lookup: its answer")
    equal(plain.stderr, b"", "lookup without --verbose")
    named = {m[1].decode() for m in re.finditer(rb"(?:reads|maps) (?:\S*/)?((?:index|urls)/\S+): ", verbose.stderr)}
    lines_of(verbose, "lookup")
    if not shutil.which("strace"):
        return
    trace = tmp / "trace"
    subprocess.run(["strace", "-f", "-qq", "-e", "trace=openat", "-o", trace, dxtest.DOMAINDEX, *map(str, asked)], check=True, stdout=subprocess.DEVNULL)
    opened = {m[1] for m in re.finditer(r'"[^"]*?((?:index|urls)/[^"]*)", O_RDONLY[^)]*\) = \d', trace.read_text()) if not m[1].endswith("/") and (root / m[1]).is_file()}
    equal(sorted(opened - named), [], "files that lookup opened and did not name")
    check(len(opened) > 8, f"strace saw {sorted(opened)}")


def check_names(tmp):
    """A file whose name has an escape sequence."""
    path = tmp / "evil\x1b[2J.txt"
    path.write_bytes(ROWS)
    done = call("ingest", "--root", tmp / "evil\x1bdir", "--dataset", "d", "--format", "list", "--verbose", path)
    check(b"\x1b" not in done.stderr and b"writes " in done.stderr, f"an escape sequence: {done.stderr[:500]!r}")


def check_store(tmp):
    with stores.Versitygw() as store, faultproxy.Proxy(store.url, record=True) as proxy:
        environment = {**store.env, "AWS_ENDPOINT_URL_S3": proxy.url, "XDG_CACHE_HOME": str(tmp / "cache")}
        store.bucket("lake")
        with stores.environment(environment):
            for words in (("ingest", "--dataset", "d", "--format", "list", "-"), ("publish",), ("lookup", "--all-urls", "a.example")):
                proxy.set()
                done = call(words[0], "--root", store.root("lake", "p"), *words[1:], "--verbose", *(() if words[0] == "lookup" else ("--quiet",)), input=ROWS)
                said = [line for line in lines_of(done, f"{words[0]} on a store") if re.match(rb" *\d+\.\d{3} [A-Z]+ ", line)]
                equal(len(said), len(proxy.seen), f"{words[0]}: lines of requests, and requests")
                check(stores.SECRET.encode() not in done.stderr and b"ignature" not in done.stderr and b"Credential" not in done.stderr, f"{words[0]}: a secret")


def main():
    dxtest.need_programs()
    check_all_commands()
    with dxtest.tempdir() as tmp:
        check_directory(tmp)
        check_names(tmp)
        if stores.find("versitygw"):
            check_store(tmp)
    dxtest.finish(None if stores.find("versitygw") else "versitygw is not here")


main()
