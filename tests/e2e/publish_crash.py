# SPDX-License-Identifier: Apache-2.0
# labels: slow
"""publish is all or nothing: killed at a system call, or refused one, it leaves the old version
or the new one, whole and current, and the next publish succeeds.

With strace each kind of call is hit at its first, second, third… occurrence (all of them with
DX_CRASH_ALL=1, else as many as fit into DX_CRASH_SECONDS, 30); without strace or the right to
trace, publish is killed after random times. A version is compared byte for byte with one
that was published undisturbed, which is possible since the same lake gives the same bytes.
"""
import hashlib
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import dxtest

SECONDS = float(os.environ.get("DX_CRASH_SECONDS", "30"))
ALL = bool(os.environ.get("DX_CRASH_ALL"))
OLD, NEW = "000001-20240101T000000Z", "000002-20240102T000000Z"
EPOCHS = {OLD: "1704067200", NEW: "1704153600"}
PUBLISH = [str(dxtest.DOMAINDEX), "publish", "--memory", "64M", "--threads", "1", "--root"]

KILL = ["openat", "write", "pread64", "fsync", "rename", "mkdir", "unlink", "close", "mmap",
        "statfs", "newfstatat", "getdents64", "flock", "unlinkat", "rmdir"]
REFUSE = [("write", "ENOSPC"), ("write", "EIO"), ("fsync", "EIO"), ("rename", "ENOSPC"),
          ("openat", "ENOSPC"), ("openat", "EMFILE"), ("mkdir", "ENOSPC"), ("flock", "EIO"),
          ("unlink", "EIO"), ("close", "EIO"), ("pread64", "EIO"), ("mmap", "ENOMEM")]


def ingest(root, name, urls):
    dxtest.domaindex("ingest", "--root", root, "--dataset", name, "--format", "list", "-",
                     input="".join(f"http://{u}\n" for u in urls).encode())


def environment(version):
    return {**os.environ, "SOURCE_DATE_EPOCH": EPOCHS[version]}


def files_of(folder):
    return {str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest()
            for p in sorted(folder.rglob("*")) if p.is_file()}


class State:
    """What may be in a root: an old version or none, and the new one."""

    def __init__(self, template, reference):
        self.template = template
        self.reference = reference  # version -> files
        self.old = OLD if (template / "index" / "manifest.json").exists() else None
        self.new = NEW if self.old else OLD
        self.may = {self.old, self.new}

    def current(self, root, words):
        """Checks all that the manifest names; returns what is current."""
        path = root / "index" / "manifest.json"
        if not path.exists():
            dxtest.check(self.old is None, f"{words}: the manifest is gone")
            return None
        try:
            manifest = json.loads(path.read_text())
        except ValueError as error:
            dxtest.check(False, f"{words}: manifest.json does not parse: {error}")
            return "broken"
        current = manifest["current_version"]
        if not dxtest.check(current in self.may, f"{words}: {current} is current"):
            return current
        for version in manifest["versions"]:
            name = version["version"]
            folder = root / "index" / name
            dxtest.equal(files_of(folder), self.reference[name], f"{words}: files of {name}")
            dxtest.equal({n: (folder / n).stat().st_size for n in version["files"]},
                         {n: f["size"] for n, f in version["files"].items()},
                         f"{words}: sizes of {name} in the manifest")
        return current

    def after(self, root, words):
        """The next publish makes the new version current and leaves nothing behind."""
        done = subprocess.run([*PUBLISH, str(root)], capture_output=True, env=environment(self.new),
                              check=False)
        dxtest.equal(done.returncode, 0, f"{words}: the next publish: {done.stderr[-300:]}")
        dxtest.equal(done.stdout.decode().strip(), self.new, f"{words}: the next publish prints")
        dxtest.equal(self.current(root, words + ", then again"), self.new, f"{words}: then current")
        left = [p.name for p in (root / "index").iterdir()
                if p.name not in (OLD, NEW, "manifest.json")]
        dxtest.equal(left, [], f"{words}: left over after the next publish")


def strace(*arguments):
    return ["strace", "-f", "-qq", "-o", "/dev/null", *arguments, *PUBLISH]


def can_trace():
    if not shutil.which("strace"):
        return False
    return subprocess.run(["strace", "-qq", "-o", "/dev/null", "true"], capture_output=True,
                          check=False).returncode == 0


def occurrences(work, command, env):
    """Call -> most occurrences in one thread of an undisturbed run."""
    log = work / "log"
    done = subprocess.run(["strace", "-f", "-qq", "-o", str(log), *command], capture_output=True,
                          env=env, check=False)
    dxtest.equal(done.returncode, 0, f"{command} under strace")
    count = {}
    for line in log.read_text(errors="replace").splitlines():
        match = re.match(r"(\d+) +(\w+)\(", line)
        if match:
            count[match.groups()] = count.get(match.groups(), 0) + 1
    most = {}
    for (_, call), n in count.items():
        most[call] = max(most.get(call, 0), n)
    return most


def one(state, work, call, how, when):
    words = f"{how} at {call} {when}" + ("" if state.old else ", first publish")
    root = work / "root"
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(state.template, root)
    what = "signal=KILL" if how == "KILL" else f"error={how}"
    done = subprocess.run([*strace("-e", f"inject={call}:{what}:when={when}"), str(root)],
                          capture_output=True, env=environment(state.new), check=False, timeout=120)
    current = state.current(root, words)
    if how == "KILL":
        dxtest.check(done.returncode in (-signal.SIGKILL, 137, 0), f"{words}: exit {done.returncode}")
    else:
        dxtest.check(done.returncode in (0, 1),
                     f"{words}: exit {done.returncode}: {done.stderr[-300:]}")
        mute = call == "write" and when.endswith("+")  # then standard error fails, too
        dxtest.check(done.returncode != 1 or mute or b"publish: " in done.stderr,
                     f"{words}: exit 1 without words: {done.stderr[-300:]}")
        if done.returncode == 0:
            dxtest.equal(current, state.new, f"{words}: exit 0, so it is published")
    state.after(root, words)
    return current


def points(state, work):
    root = work / "count"
    shutil.copytree(state.template, root)
    most = occurrences(work, [*PUBLISH, str(root)], environment(state.new))
    shutil.rmtree(root)
    # A refused call of the dynamic linker ends the program before any of it runs.
    start = occurrences(work, [str(dxtest.DOMAINDEX), "publish", "--help"], None)
    for call in KILL:
        for when in range(1, most.get(call, 0) + 1):
            yield call, "KILL", str(when)
    for call, error in REFUSE:
        first = start.get(call, 0) if call in ("mmap", "openat", "pread64", "close") else 0
        for when in range(first + 1, most.get(call, 0) + 1):
            yield call, error, str(when)
            yield call, error, f"{when}+"


def with_strace(states, work):
    end = time.monotonic() + SECONDS
    todo = [(state, *point) for state in states for point in points(state, work)]
    total = len(todo)
    if not ALL:
        random.Random(int.from_bytes(os.urandom(4), "little")).shuffle(todo)
    seen = {}
    hit = 0
    for state, call, how, when in todo:
        if not ALL and time.monotonic() > end:
            break
        current = one(state, work, call, how, when)
        seen[current] = seen.get(current, 0) + 1
        hit += 1
        if dxtest.failures() > 20:
            break
    print(f"{hit} of {total} points were hit; current afterwards: {seen}")
    dxtest.check(len(seen) == 3, f"each outcome is seen: {seen}")


def with_sleeps(states, work):
    end = time.monotonic() + min(SECONDS, 20)
    killed = 0
    while time.monotonic() < end and dxtest.failures() <= 20:
        state = random.choice(states)
        root = work / "root"
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(state.template, root)
        process = subprocess.Popen([*PUBLISH, str(root)], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, env=environment(state.new))
        time.sleep(random.random() * 0.05)
        process.kill()
        killed += process.wait() != 0
        state.current(root, "killed after a random time")
        state.after(root, "killed after a random time")
    print(f"no strace here: {killed} publishes were killed at random times")
    dxtest.check(killed > 0, "some publish was killed")


def publish_in(root, version):
    subprocess.run([*PUBLISH, str(root)], check=True, capture_output=True, env=environment(version))
    return files_of(root / "index" / version)


def states_in(base):
    """A root that was never published, and one with a version and news in the lake."""
    fresh, old, done = base / "fresh", base / "old", base / "done"
    ingest(fresh, "one", ["example.com/", "example.com/a", "www.example.co.uk/b?c=d", "a.de/"])
    shutil.copytree(fresh, old)
    reference = {OLD: publish_in(old, OLD)}
    ingest(old, "two", ["example.com/a", "b.org/1", "b.org/2"])
    shutil.copytree(old, done)
    reference[NEW] = publish_in(done, NEW)
    shutil.rmtree(done)
    dxtest.check(len(reference[NEW]) > 12, "a version has its files")
    return [State(old, reference), State(fresh, reference)]


def main():
    dxtest.need_programs()
    memory = pathlib.Path("/dev/shm")  # the order of calls is what counts, not the disk
    base = pathlib.Path(tempfile.mkdtemp(prefix="domaindex-test-",
                                         dir=memory if os.access(memory, os.W_OK) else None))
    try:
        states = states_in(base)
        if can_trace():
            with_strace(states, base)
        else:
            with_sleeps(states, base)
    finally:
        shutil.rmtree(base, ignore_errors=True)
    dxtest.finish()


if __name__ == "__main__":
    sys.exit(main())
