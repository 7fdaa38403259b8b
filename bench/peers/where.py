# SPDX-License-Identifier: Apache-2.0
"""Where the programs are that the benchmarks stand beside, and a process while it is measured.

    where.program("redis-server")     path or None; scripts/bench_peers.sh gets what is missing
    where.versions(["redis", …])      [words] for the result: what answered, in which version
    with where.Child(core, command, port=6390, user=…) as child: …
        pinned to a core, up when it takes connections, ended by its process id
    with where.root(options.root, source) as root:        the corpus, ingested and published
    where.busy(core)                  jiffies (at work, all) of a core so far
"""
import contextlib
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import time

BENCH = pathlib.Path(__file__).resolve().parents[1]
SOURCE = BENCH.parent
sys.path[:0] = [str(BENCH / "support"), str(SOURCE / "tests" / "support")]
import dxtest       # noqa: E402
import machine      # noqa: E402
import roots        # noqa: E402
import stores       # noqa: E402

HOME = SOURCE / "build" / "bench-peers"
CORPUS = "lists/reddit-top-2.5-million/posts-A.tsv.zst"
COLUMNS = ("--memory", "1G", "--format", "tsv", "--dataset-column", 1, "--ts-column", 2,
           "--url-column", 3, "--extra-column", 4, "--no-header")


def postgres():
    """The folder of the server's programs, the newest."""
    folders = [*pathlib.Path("/usr/lib/postgresql").glob("*/bin"),
               *(HOME / "postgresql/usr/lib/postgresql").glob("*/bin")]
    able = [f for f in folders if (f / "initdb").exists() and (f / "pgbench").exists()]
    return max(able, key=lambda f: int(f.parent.name), default=None)


def program(name):
    if name == "nginx":
        return stores.find("nginx")
    if name == "wayback":
        paths = [HOME / "pywb" / "bin" / "wayback", SOURCE / "build" / "cdx-clients" / "bin" / "wayback"]     # of scripts/cdx_clients.sh
        return next((path for path in paths if path.exists()), None)
    if name in ("initdb", "postgres", "pgbench", "psql"):
        return postgres() and postgres() / name
    if name == "python":
        path = os.environ.get("DX_PEERS_PYTHON") or SOURCE / "build" / "peers" / "bin" / "python"
        return path if os.access(path, os.X_OK) else None
    found = shutil.which(name) or shutil.which(str(HOME / name))
    return pathlib.Path(found) if found else None


def said(*command):
    done = subprocess.run([str(c) for c in command], check=False, capture_output=True, text=True)
    return (done.stdout + done.stderr).strip().splitlines()[0] if done.returncode == 0 else "?"


def server_user():
    """Whom to be for a server that will not run as root; None: stay who we are."""
    return pwd.getpwnam("nobody").pw_name if os.geteuid() == 0 else None


@contextlib.contextmanager
def root(given, source):
    if given:
        yield pathlib.Path(given)
        return
    source = source or dxtest.shared_data(CORPUS)
    if not source:
        dxtest.skip("the corpus is not here (see bench/README.md)")
    with dxtest.tempdir() as tmp:
        dxtest.domaindex("ingest", "--root", tmp / "root", *COLUMNS, source)
        dxtest.domaindex("publish", "--root", tmp / "root", "--memory", "1G")
        yield tmp / "root"


def domains(made):
    return roots.domains(made)


def made_up(path, datasets=20, count=500):
    """Rows for a smoke test where the corpus is not: pages of some hundred domains."""
    with open(path, "w", encoding="utf-8") as out:
        for d in range(count):
            for page in range(1 + 3000 // (d + 1)):
                print(f"d{(d + page) % datasets}", 1_300_000_000 + 977 * page,
                      f"http://www.site{d}.com/{page % 7}/page-{page}", "x", sep="\t", file=out)
    return path


def busy(core):
    with open("/proc/stat", encoding="ascii") as stat:
        for line in stat:
            name, *ticks = line.split()
            if name == (f"cpu{core}" if core is not None else "cpu"):
                ticks = [int(t) for t in ticks[:8]]
                return sum(ticks) - ticks[3] - ticks[4], sum(ticks)
    return 0, 1


class Child:
    """A server while it is measured."""

    UP_WITHIN_S = 60

    def __init__(self, core, command, address=None, user=None, folder=None, last_signal=None):
        """address: a port of 127.0.0.1 or the path of a socket that it takes connections at."""
        self.address, self.signal = address, last_signal or signal.SIGTERM
        self.words = open(pathlib.Path(folder or "/tmp") / "words", "w+b") if folder else None
        with machine.pinned(core):
            self.process = subprocess.Popen(
                [str(c) for c in command], stdout=self.words or subprocess.DEVNULL,
                stderr=self.words or subprocess.DEVNULL, stdin=subprocess.DEVNULL, user=user,
                cwd=folder)

    def answers(self):
        local = isinstance(self.address, (str, pathlib.Path))
        with socket.socket(socket.AF_UNIX if local else socket.AF_INET) as link:
            link.settimeout(1)
            return link.connect_ex(str(self.address) if local else
                                   ("127.0.0.1", self.address)) == 0

    def __enter__(self):
        end = time.monotonic() + self.UP_WITHIN_S
        while time.monotonic() < end and self.process.poll() is None:
            if self.address is None or self.answers():
                return self
            time.sleep(0.02)
        words = ""
        if self.words:
            self.words.seek(0)
            words = self.words.read().decode("utf-8", "replace")[-1500:]
        self.__exit__(None, None, None)
        raise OSError(f"{self.process.args[0]} did not get up: {words}")

    def __exit__(self, kind, value, trace):
        self.process.send_signal(self.signal)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.words:
            self.words.close()
