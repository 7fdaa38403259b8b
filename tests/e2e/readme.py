#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: slow
"""README, GUIDE and docs: their commands exist and run, their requests are answered, their links lead somewhere.

In README and docs/GUIDE.md a console block (```console) is a session: lines with `$ ` are run in order in a new folder,
with the programs in PATH and quickstart's server where 127.0.0.1:8080 stands; what stands below a
command must be its output, where `…` stands for anything. Blocks marked ```sh are checked only
for the existence of what they call.
"""
import pathlib
import re
import subprocess

import dxtest
from dxtest import check

README = dxtest.SOURCE / "README.md"
GUIDE = dxtest.SOURCE / "docs/GUIDE.md"


def blocks(text, kind):
    return re.findall(rf"(?ms)^```{kind}\n(.*?)^```$", text)


def sessions(text):
    """[(command, expected output)] of each console block."""
    for block in blocks(text, "console"):
        yield [(m.group(1), m.group(2)) for m in re.finditer(r"(?m)^\$ (.*)\n((?:(?!\$ ).*\n)*)", block)]


def matches(want, got):
    """White space is ignored (the README wraps lines), numbers depend on the package archive."""
    parts = (re.escape(part) for part in re.sub(r"\s+", "", want).split("…"))
    pattern = ".*".join(re.sub(r"\d+", r"\\d+", part) for part in parts)
    return re.fullmatch(pattern, re.sub(r"\s+", "", got), re.S) is not None


def run_sessions(text, tmp, address):
    count = 0
    env = {"PATH": f"{dxtest.BIN}:/usr/local/bin:/usr/bin:/bin"}
    for session in sessions(text):
        for command, want in session:
            count += 1
            real = command.replace("127.0.0.1:8080", address)
            done = subprocess.run(["bash", "-c", real], cwd=tmp, env=env, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, timeout=120, check=False)
            got = done.stdout.decode("utf-8", "replace")
            check(done.returncode == 0, f"README: {command}: exit {done.returncode}: {done.stderr[-500:]}")
            if want.strip():
                check(matches(want, got), f"README: {command}\n--- says\n{want}--- gives\n{got[:1500]}")
    return count


def links(path):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
        if "://" not in target and not target.startswith("mailto:"):
            check((path.parent / target).exists(), f"{path.name}: the link {target} leads nowhere")


def calls(text):
    """Programs and scripts that shell blocks call."""
    for block in blocks(text, "sh"):
        for word in re.findall(r"(?m)(?:^|&& |; )((?:scripts|bench|build|tests)/[\w./-]+)", block):
            check((dxtest.SOURCE / word).exists() or word.startswith("build/"), f"README calls {word}")


def main():
    dxtest.need_programs()
    text = README.read_text(encoding="utf-8") + GUIDE.read_text(encoding="utf-8")
    for path in [README, *sorted((dxtest.SOURCE / "docs").glob("*.md")), dxtest.SOURCE / "bench/README.md"]:
        links(path)
    calls(text)
    with dxtest.tempdir() as tmp:
        root = quickstart_root(tmp)
        with dxtest.Server(root) as server:
            count = run_sessions(text, tmp, f"127.0.0.1:{server.port}")
        check(count >= 3, f"README has requests to try: {count}")
    dxtest.finish()


def quickstart_root(tmp):
    """As scripts/quickstart.sh makes it; from a stand-in where there are no package lists."""
    done = dxtest.run("bash", dxtest.SOURCE / "scripts/quickstart.sh", "--no-serve", expect=None,
                      env={"DX_BIN_DIR": str(dxtest.BIN), "DX_ROOT": str(tmp / "quickstart-root")}, timeout=300)
    if done.returncode != 0:
        dxtest.skip("the quickstart does not run here: " + done.stderr.decode()[-200:].strip())
    return pathlib.Path(tmp / "quickstart-root")


if __name__ == "__main__":
    main()
