# SPDX-License-Identifier: Apache-2.0
"""A PostgreSQL of a test's own, in a folder of its own, on a free port of 127.0.0.1.

    with pgcluster.Cluster() as pg:                        skips where there is none
        pg.sql("SELECT 1, 'a'")                           [["1", "a"]]; NULL is None
        pg.many(["SELECT 1", "SELECT 2"])                 [[["1"]], [["2"]]]
        pg.dsn                                            for --postgres: no password is asked
        with pg.session() as s: s.send("BEGIN"); ...      one that stays open: locks
        pg.kill(); pg.start()                             its data stay

It runs as an unprivileged user (initdb refuses root), without durability; all of it ends with the block.
"""
import contextlib
import csv
import glob
import io
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import dxtest

NULL = "nothing, not even a text"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def programs():
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"), key=lambda p: int(p.split("/")[4]))
    if not found:
        dxtest.skip("there is no PostgreSQL (scripts/packages.txt, section test)")
    return pathlib.Path(found[-1]).parent


class Session:
    """psql at the end of a pipe."""

    def __init__(self, command, environment):
        self.process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True)

    def send(self, statement):
        """Returns when it is done."""
        self.process.stdin.write(statement + ";\n\\echo ready\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            if line.strip() == "ready":
                return
        raise AssertionError("psql ended")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        self.process.wait(60)
        self.process.stdout.close()


class Cluster:
    def __init__(self, settings=()):
        self.bin = programs()
        self.folder = pathlib.Path(tempfile.mkdtemp(
            prefix="domaindex-pg-", dir="/tmp" if os.geteuid() == 0 else None))  # where that user gets to
        self.data, self.process, self.as_user = self.folder / "data", None, {}
        self.port = free_port()
        self.settings = settings
        if os.geteuid() == 0:
            try:
                user = pwd.getpwnam("postgres")
            except KeyError:
                dxtest.skip("there is no user postgres to run a server as")
            os.chown(self.folder, user.pw_uid, user.pw_gid)
            self.as_user = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        self.environment = {"PATH": f"{self.bin}:{os.environ['PATH']}", "LANG": "C.UTF-8", "HOME": str(self.folder),
                            "PGCONNECT_TIMEOUT": "60", "PGCLIENTENCODING": "UTF8"}
        self.dsn = f"postgresql://dxtest@127.0.0.1:{self.port}/dxtest"

    def run(self, *command):
        done = subprocess.run([str(c) for c in command], env=self.environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, cwd=self.folder, timeout=120, check=False, **self.as_user)
        if done.returncode:
            raise RuntimeError(f"{command[0]}: {done.stdout.decode(errors='replace')[-1500:]}")

    def __enter__(self):
        try:
            self.run(self.bin / "initdb", "-D", self.data, "-U", "dxtest", "-E", "UTF8", "--locale=C", "-A", "trust",
                     "--no-sync")
            (self.data / "pg_hba.conf").write_text("host all locked 127.0.0.1/32 scram-sha-256\n"
                                                   "host all all 127.0.0.1/32 trust\nlocal all all trust\n")
            self.start()
            self.sql("CREATE DATABASE dxtest", database="postgres")
        except BaseException:
            self.__exit__()
            raise
        return self

    def launch(self):
        options = {"listen_addresses": "127.0.0.1", "port": self.port, "unix_socket_directories": self.folder, "fsync": "off",
                   "shared_buffers": "16MB", "max_wal_size": "128MB", "dynamic_shared_memory_type": "mmap",
                   "autovacuum": "off", **dict(self.settings)}
        log = open(self.folder / "log", "ab")
        with log:
            self.process = subprocess.Popen(
                [str(self.bin / "postgres"), "-D", str(self.data), *(f"--{k}={v}" for k, v in options.items())],
                env=self.environment, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True, **self.as_user)

    def start(self):
        log = self.folder / "log"
        before = log.stat().st_size if log.exists() else 0
        self.launch()
        end = time.monotonic() + 120
        while time.monotonic() < end:
            if self.process.poll() is not None:
                # After kill() what served connections ends when it sees that the server is gone, and holds memory until then.
                if b"pre-existing shared memory block" not in log.read_bytes()[before:]:
                    break
                before = log.stat().st_size
                time.sleep(0.1)
                self.launch()
            with contextlib.suppress(RuntimeError, subprocess.SubprocessError):
                self.sql("SELECT 1", database="postgres")
                return
            time.sleep(0.1)
        raise RuntimeError(f"postgres did not start: {(self.folder / 'log').read_text(errors='replace')[-1500:]}")

    def psql(self, database="dxtest"):
        return [str(self.bin / "psql"), "-X", "-q", "-v", "ON_ERROR_STOP=1", "-P", "null=" + NULL, "-h", "127.0.0.1", "-p",
                str(self.port), "-U", "dxtest", "-d", database]

    def sql(self, text, database="dxtest"):
        """Rows of the last statement, cells as text."""
        done = subprocess.run([*self.psql(database), "--csv", "-t"], input=text.encode(), env=self.environment,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300, check=False)
        if done.returncode:
            raise RuntimeError(f"{text[:300]}: {done.stderr.decode(errors='replace')[:1500]}")
        rows = csv.reader(io.StringIO(done.stdout.decode(), newline=""))
        return [[None if cell == NULL else cell for cell in row] for row in rows]

    def many(self, statements):
        """Rows of each, in one session."""
        mark = "and the next one"
        script = f"\n\\echo {mark}\n".join(statement + ";" for statement in statements)
        rows = [[]]
        for row in self.sql(script):
            if row == [mark]:
                rows.append([])
            else:
                rows[-1].append(row)
        return rows

    def session(self):
        return Session(self.psql(), self.environment)

    def wait_for(self, query, words, process=None, seconds=120):
        """Until the query's only cell is 't'. process: what should make it so, and lives until then."""
        end = time.monotonic() + seconds
        while self.sql(query) != [["t"]]:
            if time.monotonic() > end or (process is not None and process.poll() is not None):
                doing = self.sql("SELECT application_name, state, wait_event_type, query FROM pg_stat_activity")
                raise AssertionError(f"did not come: {words}: {doing}")
            time.sleep(0.05)

    def kill(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(60)

    def stop(self):
        self.process.send_signal(signal.SIGINT)  # fast: who is connected is told
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.kill()

    def __exit__(self, *_):
        if self.process is not None and self.process.poll() is None:
            self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
