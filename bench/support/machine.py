# SPDX-License-Identifier: Apache-2.0
"""What a figure was measured on, and the cores that server and load get.

    server_core, load_core = machine.cores()      (None, None) where there is one core only
    with machine.pinned(server_core): process = subprocess.Popen(...)     it and its threads stay
    machine.words()       one line about the machine; machine.compiler(), machine.revision()
    machine.load()        runnable processes over the last minute: above 0.5 others were at work
    machine.prefer(pid)   schedules a process group before others' work, where that is allowed
"""
import contextlib
import os
import pathlib
import platform
import re
import subprocess

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("DX_BIN_DIR", SOURCE / "build/release"))


def cores():
    have = sorted(os.sched_getaffinity(0))
    return (have[0], have[1]) if len(have) > 1 else (None, None)


@contextlib.contextmanager
def pinned(core):
    before = os.sched_getaffinity(0)
    if core is not None:
        os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def prefer(pid="self"):
    with contextlib.suppress(OSError):
        pathlib.Path(f"/proc/{pid}/autogroup").write_text("-15", encoding="ascii")


def load():
    return os.getloadavg()[0]


def words():
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo", encoding="utf-8")
                if line.startswith("model name")), "?")
    ram = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 30
    return f"{os.cpu_count()} cores of {cpu}, {ram} GiB, {platform.system()} {platform.release()}"


def compiler():
    try:
        cache = (BIN / "CMakeCache.txt").read_text(encoding="utf-8")
        program = re.search(r"CMAKE_C_COMPILER:\w+=(.*)", cache)[1]
        said = subprocess.run([program, "--version"], check=False, capture_output=True, text=True)
        return f"{said.stdout.splitlines()[0]}, {re.search(r'CMAKE_BUILD_TYPE:[A-Z]+=(.*)', cache)[1]}"
    except (OSError, TypeError, IndexError):
        return "compiler not known"


def git(*arguments):
    done = subprocess.run(["git", *arguments], cwd=SOURCE, check=False, capture_output=True, text=True)
    return done.stdout.strip()


def revision():
    """Of the program: results that were just kept do not make it another one."""
    changed = git("status", "--porcelain", "--untracked-files=no", "--", ".",
                  *(f":!bench/{kept}" for kept in ("RESULTS.md", "results", "pictures")))
    return (git("describe", "--always") or "?") + ("-dirty" if changed else "")
