#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""analyse.py [FILE…] - gcc's -fanalyzer over the program's files (without tests and bench), with the compile commands of build/dev.

Prints findings by kind; without FILE all 700 files: half an hour of CPU. docs/TESTING.md (Analysers) has the answer to each.
"""
import collections
import json
import pathlib
import re
import resource
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
LIMIT_S = 60  # of CPU, for a file


def commands():
    for entry in json.loads((ROOT / "build/dev/compile_commands.json").read_text()):
        name = pathlib.Path(entry["file"]).relative_to(ROOT)
        if name.parts[0] not in ("tests", "bench", "build"):
            yield str(name), entry


def analyse(entry):
    """Lines of findings; None: not done in time."""
    words = shlex.split(entry["command"])
    out = words.index("-o")
    words[out:out + 2] = ["-o", "/dev/null"]
    # As the code says: hardening sets local variables, and then none is found that is not set.
    words = [word for word in words if word not in ("-Werror", "-g", "-ftrivial-auto-var-init=zero")]
    words += ["-O1", "-fanalyzer", "-fdiagnostics-plain-output", "-fdiagnostics-path-format=none"]
    done = subprocess.run(words, cwd=entry["directory"], capture_output=True, text=True, check=False,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (LIMIT_S, LIMIT_S)))
    if done.returncode != 0:
        return None
    return re.findall(r"^(\S+?):(\d+):\d+: (?:warning|error): (.*) \[(-W[^\]]+)\]$", done.stderr, re.M)


def main():
    wanted = set(sys.argv[1:])
    kinds, seen, files = collections.Counter(), set(), 0
    for name, entry in commands():
        if (wanted and name not in wanted) or name in seen:
            continue
        seen.add(name)
        files += 1
        found = analyse(entry)
        if found is None:
            print(f"{name}: not analysed in {LIMIT_S} s of CPU", flush=True)
        for path, line, words, kind in dict.fromkeys(found or ()):
            kinds[kind] += 1
            print(f"{path.removeprefix(f'{ROOT}/')}:{line}: {words} [{kind}]", flush=True)
    print(f"{files} files; " + (", ".join(f"{kind} {n}" for kind, n in kinds.most_common()) or "no findings"))


if __name__ == "__main__":
    main()
