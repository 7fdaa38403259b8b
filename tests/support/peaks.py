# SPDX-License-Identifier: Apache-2.0
"""peaks - the peak of resident memory of a run of domaindex, compared with a bound.

    peaks.peak(("publish", "--root", root), 250, "publish of ...", env, wants=b"limit", seconds=5)

Returns its exit code and what it said. A run that has not ended after `seconds` is killed: its peak counts all the same. What wait4 says would not do: it counts the
memory of the process that forked.
"""
import contextlib
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time

import dxtest


def resident(process):
    """The highest so far, in KiB; 0 when the process has ended."""
    with contextlib.suppress(OSError):
        found = re.search(r"^VmHWM:\s+(\d+) kB", pathlib.Path(f"/proc/{process.pid}/status").read_text("ascii"), re.M)
        return int(found.group(1)) if found else 0
    return 0


def peak(arguments, bound_mib, words, env=None, wants=b"", seconds=300):
    with tempfile.TemporaryFile() as stderr, subprocess.Popen(
            [str(dxtest.DOMAINDEX), *map(str, arguments)], env=dict(os.environ, **(env or {})),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=stderr) as process:
        end = time.monotonic() + seconds
        highest = 0
        while process.poll() is None and time.monotonic() < end and highest < bound_mib * 1024:
            highest = max(highest, resident(process))
            time.sleep(0.02)
        if process.poll() is None:
            process.kill()
        process.wait()
        stderr.seek(0)
        said = stderr.read()
    print(f"{words}: {highest >> 10} MiB, ends with {process.returncode}: {said[-160:].decode(errors='replace').strip()}", flush=True)
    if not dxtest.SANITIZED:
        dxtest.check(highest < bound_mib * 1024, f"{words}: {highest >> 10} MiB, at most {bound_mib}")
    if process.returncode != -signal.SIGKILL:
        dxtest.check(wants in said, f"{words} says '{wants.decode()}': {said[-400:]}")
        dxtest.check(process.returncode in (0, 1), f"{words} ends with {process.returncode}: {said[-400:]}")
    return process.returncode, said.decode(errors="replace")
