#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: slow short
"""Help, manual and installation: every option of every command is told wherever it should be.

In detail: every option of every command is in its `--help` and in its manual page; pages pass `mandoc
-Tlint`; `cmake --install` puts everything in place; the example of settings is taken.
"""
import os
import re
import shutil
import subprocess

import dxtest
from dxtest import check, equal

COMMANDS = ("ingest", "profiles", "ship", "publish", "verify", "inspect", "normalize", "lookup", "top-domains", "versions", "gc", "backup", "files", "fetch-record", "key", "domain64", "export",
            "remove", "rollback", "diff", "suppress", "compact", "overlap",
            "access", "capacity", "receipt", "doctor", "completion", "datasets", "adopt", "bench", "commit-table")


def options_of(help_text):
    return re.findall(r"(?m)^  --([a-z0-9-]+)", help_text)


def rendered(page):
    text = subprocess.run(["mandoc", "-T", "utf8", page], stdout=subprocess.PIPE, check=True).stdout
    return re.sub(r".\x08", "", text.decode())


def lint(page):
    done = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", page], stdout=subprocess.PIPE, check=False)
    # Where a line of the source ends is nothing a reader sees, and these sources are generated.
    words = [w for w in done.stdout.decode().splitlines() if not w.endswith("new sentence, new line")]
    equal(words, [], f"mandoc -Tlint {page.name}")


def domaindex_help(pages):
    top = dxtest.domaindex("--help").stdout.decode()
    equal(dxtest.domaindex("help").stdout.decode(), top, "`help` and --help")
    for name in COMMANDS:
        check(re.search(rf"(?m)^ +{name}\b", top), f"--help lists {name}")
        text = dxtest.domaindex(name, "--help").stdout.decode()
        equal(dxtest.domaindex("help", name).stdout.decode(), text, f"`help {name}` and `{name} --help`")
        check(f"domaindex {name}" in text.splitlines()[0], f"{name} --help begins with its usage")
        options = options_of(text)
        check(options or name in ("versions", "completion"), f"{name} has options")
        page = rendered(pages / f"domaindex-{name}.1")
        for option in options:
            check(f"--{option}" in page, f"--{option} of {name} is in its manual page")
        told = set(re.findall(r"(?m)^ +--([a-z0-9-]+)", page))
        check(told <= set(options), f"{name}: only in the manual page: {told - set(options)}")
    dxtest.domaindex("no-such-command", expect=2)
    wrong = dxtest.domaindex("publish", "--no-such-option", expect=2)
    check(b"no-such-option" in wrong.stderr, "an unknown option is named")
    dxtest.domaindex("publish", expect=2)
    dxtest.domaindex("lookup", "--root", "/nonexistent", "example.com", expect=1)
    check(b"domaindex" in dxtest.domaindex("--version").stdout, "--version")


def domaindexd_help(page):
    text = dxtest.run(dxtest.DOMAINDEXD, "--help").stdout.decode()
    options = options_of(text)
    check(len(options) > 5, "domaindexd has options")
    example = (dxtest.SOURCE / "config" / "domaindexd.conf.example").read_text()
    told = dict(re.findall(r"(?m)^(?:# )?([a-z0-9-]+) = (.*?)(?: +# .*)?$", example))
    bounds = dict(re.findall(r"(?m)^(?:# )?([a-z0-9-]+) = .*? +# (.*)$", example))
    for option in options:
        check(f"--{option}" in page, f"--{option} of domaindexd is in the manual page")
        if option in ("help", "version", "man", "config", "selftest-sandbox", "check", "print-config", "completion"):
            continue
        fallback = re.search(rf"(?ms)^  --{option} .*?(?=^  --|\Z)", text).group()
        of = re.search(r" \(([^()]*?)(?:; )?(?:default: [^()]*)?\)\n", fallback)
        equal(bounds.get(option, ""), of.group(1) if of else "", f"bounds of {option} in the example")
        fallback = re.search(r"default: (.*?)\)", fallback)
        check(option in told, f"{option} is in config/domaindexd.conf.example")
        if fallback:
            equal(told.get(option), fallback.group(1), f"default of {option} in the example")
    check(set(told) <= set(options), f"keys of the example that are no options: {set(told) - set(options)}")
    dxtest.run(dxtest.DOMAINDEXD, "--no-such-option", expect=2)
    dxtest.run(dxtest.DOMAINDEXD, expect=2)
    done = dxtest.run(dxtest.DOMAINDEXD, "--root", "/nonexistent", expect=1)
    check(b"/nonexistent" in done.stderr + done.stdout, "a root that is not there is named")


def main():
    dxtest.need_programs()
    if not shutil.which("mandoc") or not shutil.which("cmake"):
        dxtest.skip("needs mandoc and cmake (scripts/install_packages.sh build test)")
    with dxtest.tempdir() as tmp:
        prefix = tmp / "usr"
        dxtest.run("cmake", "--install", dxtest.BIN, "--prefix", prefix)
        there = {str(p.relative_to(prefix)) for p in prefix.rglob("*") if p.is_file()}
        for want in ("bin/domaindex", "bin/domaindexd", "share/man/man1/domaindex.1",
                     "share/man/man8/domaindexd.8", "share/doc/domaindex/README.md",
                     "share/doc/domaindex/docs/FORMAT.md", "share/doc/domaindex/docs/API.md",
                     "share/doc/domaindex/docs/openapi.json", "share/doc/domaindex/domaindexd.conf.example"):
            check(want in there, f"cmake --install puts {want} in place")
        check(os.access(prefix / "bin/domaindex", os.X_OK), "the installed program can run")
        dxtest.run(prefix / "bin/domaindex", "--help")
        dxtest.run(prefix / "bin/domaindexd", "--help")
        pages = sorted((prefix / "share/man").rglob("*.[18]"))
        equal(len(pages), len(COMMANDS) + 2, "manual pages")
        for page in pages:
            lint(page)
        domaindex_help(prefix / "share/man/man1")
        domaindexd_help(rendered(prefix / "share/man/man8/domaindexd.8"))
        # The example of settings is one that works.
        conf = tmp / "conf"
        example = (prefix / "share/doc/domaindex/domaindexd.conf.example").read_text()
        conf.write_text(re.sub(r"(?m)^# ([a-z0-9-]+ = )", r"\1", example))
        done = dxtest.run(dxtest.DOMAINDEXD, "--config", conf, "--root", "/nonexistent", expect=1)
        check(b"conf" not in done.stderr.replace(b"/nonexistent", b""), f"every key of the example is taken: {done.stderr!r}")
    dxtest.finish()


if __name__ == "__main__":
    main()
