#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: slow
"""A double of systemd: what domaindexd tells it, the watchdog, sockets that outlive the program.

DX_RESTARTS (15; 100 with DX_WHOLE=1): restarts under load, on one listening socket that stays open.

In detail: a double of systemd: READY, RELOADING, STOPPING; WATCHDOG while all loops turn, and not while the
process, or one loop of two, is stopped; sockets by name, and what is refused; restarts under load on a
socket that stays open (`DX_RESTARTS`): no request fails.
"""
import contextlib
import ctypes
import itertools
import os
import re
import signal
import socket
import subprocess
import tempfile
import threading
import time

import dxtest
from dxtest import check, equal

numbers = itertools.count()


class Supervised:
    """domaindexd with a notify socket, a watchdog, and listening sockets by name."""

    def __init__(self, root, tmp, *arguments, sockets=(), names=None, watchdog_ms=0, abstract=False, pid="$$",
                 watchdog_pid=None, stderr=subprocess.STDOUT):
        self.tells = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        address = f"\0dx-notify-{os.getpid()}-{next(numbers)}" if abstract else str(tmp / f"notify-{next(numbers)}")
        self.tells.bind(address)
        env = {**os.environ, "NOTIFY_SOCKET": address.replace("\0", "@")}
        if watchdog_ms:
            env["WATCHDOG_USEC"] = str(watchdog_ms * 1000)
        if watchdog_pid:
            env["WATCHDOG_PID"] = str(watchdog_pid)
        words = ""
        if sockets:
            env["LISTEN_FDS"] = str(len(sockets))
            if names:
                env["LISTEN_FDNAMES"] = ":".join(names)
            words = f"export LISTEN_PID={pid}; "
        moves = "".join(f" {3 + i}<&{s.fileno()}" for i, s in enumerate(sockets))
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            ["bash", "-c", f'{words}exec "$@"{moves}', "domaindexd", str(dxtest.DOMAINDEXD), "--root", str(root), "--listen",
             "127.0.0.1:0", "--lease", "no", *map(str, arguments)],
            env=env, pass_fds=[s.fileno() for s in sockets], stdout=self.log, stderr=stderr)
        self.told = []

    def words(self):
        return dxtest.written(self.log)

    def wait_for(self, part, timeout_s=60, fresh=False):
        """The first message with this part, None if none comes. fresh: those before do not count."""
        seen = len(self.told) if fresh else 0
        end = time.monotonic() + timeout_s
        while True:
            for message in self.told[seen:]:
                if part in message:
                    return message
            seen = len(self.told)
            self.tells.settimeout(max(0.001, end - time.monotonic()))
            try:
                self.told.append(self.tells.recv(4096).decode())
            except OSError:
                return None

    def count_for(self, part, seconds):
        before = len(self.told)
        self.wait_for("\1", seconds)
        return sum(part in message for message in self.told[before:])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.terminate()
            try:
                equal(self.process.wait(60), 0, "exit after SIGTERM")
            except subprocess.TimeoutExpired:
                self.process.kill()
                check(False, f"no end after SIGTERM: {self.words()}")
        self.tells.close()
        self.log.close()


def publish(root, tmp, number):
    rows = "".join(f"d{n}\thttps://example.com/{n}\n" for n in range(1, number + 1))
    (tmp / "rows.tsv").write_text(rows)
    dxtest.domaindex("ingest", "--root", root, "--format", "tsv", "--dataset-column", 1, "--url-column", 2,
                     tmp / "rows.tsv")
    return dxtest.domaindex("publish", "--root", root).stdout.decode().split()[0]


def listener(address="127.0.0.1"):
    sock = socket.create_server((address, 0), backlog=1024)
    return sock, sock.getsockname()[1]


def ask(port, target="/v1/domain/example.com", deadline_s=60):
    """Status of one request on a connection of its own; a text if there is none."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=deadline_s) as connection:
            connection.sendall(f"GET {target} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n".encode())
            reply = b""
            while part := connection.recv(65536):
                reply += part
            return int(reply.split()[1]) if reply else "closed without a reply"
    except OSError as error:
        return repr(error)


def told(root, tmp):
    """READY after the version is there, RELOADING and READY around a reload, STOPPING."""
    for abstract in (False, True):
        with Supervised(root, tmp, abstract=abstract) as s:
            ready = s.wait_for("READY=1")
            check(ready and re.search(r"STATUS=serving version \S+ on 127\.0\.0\.1:\d+", ready), f"ready: {ready}")
            port = int(ready.rsplit(":", 1)[1])
            equal(ask(port), 200, "ready means that it answers")
            version = publish(root, tmp, 2 + abstract)
            now = time.clock_gettime(time.CLOCK_MONOTONIC)
            s.process.send_signal(signal.SIGHUP)
            begun = s.wait_for("RELOADING=1")
            equal(s.told.index(begun) > s.told.index(ready), True, "order")
            at = int(re.search(r"MONOTONIC_USEC=(\d+)", begun).group(1)) / 1e6
            check(now - 0.01 <= at <= now + 60, f"MONOTONIC_USEC {at}, sent after {now}")
            check(s.wait_for(f"READY=1\nSTATUS=serving version {version}", fresh=True), f"after the reload: {s.told}")
            s.process.terminate()
            stopping = s.wait_for("STOPPING=1")
            check(stopping and "EXTEND_TIMEOUT_USEC=" in stopping, f"at SIGTERM: {stopping}")
            equal(s.process.wait(60), 0, "exit")
    # A watchdog that is another process's is not fed; one that is gone does not matter.
    with Supervised(root, tmp, watchdog_ms=200, watchdog_pid=1) as s:
        s.wait_for("READY=1")
        equal(s.count_for("WATCHDOG", 0.6), 0, "WATCHDOG_PID of another")
        s.tells.close()
        s.process.send_signal(signal.SIGHUP)
        time.sleep(0.2)
        equal(s.process.poll(), None, "the supervisor has gone")
        s.tells = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)


def failing_start(tmp):
    with Supervised(tmp / "nothing", tmp) as s:
        equal(s.process.wait(60), 1, "exit without a root")
        equal(s.count_for("READY", 0.1), 0, "never ready")


def stopped_while_it_loads(tmp):
    """A store that takes the request and says nothing: who wants to stop does not wait for it."""
    for kind in (signal.SIGTERM, signal.SIGINT):
        with socket.create_server(("127.0.0.1", 0)) as silent, \
                Supervised(f"http://127.0.0.1:{silent.getsockname()[1]}/", tmp, "--cache-dir", tmp / "cache") as s:
            silent.settimeout(60)
            connection, _ = silent.accept()
            s.process.send_signal(kind)
            equal(s.process.wait(60), 0, f"exit after {kind.name}")
            check("before anything was served" in s.words(), s.words())
            connection.close()


def full_log(root, tmp):
    """Standard error is a pipe that nobody reads, from the start."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writer, b"x" * 4096)
    os.set_blocking(writer, True)
    with Supervised(root, tmp, stderr=writer) as s:
        ready = s.wait_for("READY=1")
        if check(ready, "ready though nobody reads its log"):
            equal(ask(int(ready.rsplit(":", 1)[1])), 200, "an answer")
        else:
            s.process.kill()
    os.close(reader)
    os.close(writer)


class Held:
    """Threads of a process whose name is this, each stopped by itself, as one that hangs is."""
    SEIZE, INTERRUPT, DETACH, WALL = 0x4206, 0x4207, 17, 0x40000000

    def __init__(self, pid, name):
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.libc.ptrace.argtypes = [ctypes.c_long] + [ctypes.c_long] * 3
        tasks = [int(t) for t in os.listdir(f"/proc/{pid}/task")]
        self.tids = [t for t in tasks if open(f"/proc/{pid}/task/{t}/comm").read().strip() == name]

    def hold(self):
        for tid in self.tids:
            if self.libc.ptrace(self.SEIZE, tid, 0, 0) < 0:
                return False
            self.libc.ptrace(self.INTERRUPT, tid, 0, 0)
            os.waitpid(tid, self.WALL)
        return bool(self.tids)

    def let_go(self):
        for tid in self.tids:
            self.libc.ptrace(self.DETACH, tid, 0, 0)


def is_stopped(pid):
    """Every thread of it."""
    return all(open(f"/proc/{pid}/task/{task}/stat", encoding="ascii").read().rpartition(")")[2].split()[0] == "T"
               for task in os.listdir(f"/proc/{pid}/task"))


def watchdog(root, tmp):
    with Supervised(root, tmp, "--threads", 2, "--drain-delay-ms", 1500, watchdog_ms=600) as s:
        check(s.wait_for("READY=1"), s.words())
        check(all(s.wait_for("WATCHDOG=1", fresh=True) for _ in range(3)), "fed again and again")
        well = s.count_for("WATCHDOG=1", 1.5)
        check(well <= 7, f"{well} times WATCHDOG=1 in 1.5 s, asked for each 0.3 s")
        s.process.send_signal(signal.SIGSTOP)
        check(dxtest.wait_until(lambda: is_stopped(s.process.pid)), "it is stopped")
        s.count_for("WATCHDOG=1", 0.1)
        equal(s.count_for("WATCHDOG=1", 1.2), 0, "while it is stopped")
        s.process.send_signal(signal.SIGCONT)
        check(s.wait_for("WATCHDOG=1", fresh=True), "and goes on")
        loops = Held(s.process.pid, "dx-loop")
        equal(len(loops.tids), 2, "loops by name")
        loops.tids = loops.tids[-1:]
        if loops.hold():
            s.count_for("WATCHDOG=1", 0.7)
            equal(s.count_for("WATCHDOG=1", 1.2), 0, "while one loop of two hangs")
            check(dxtest.wait_until(lambda: "has not turned for" in s.words()), f"the log says which: {s.words()}")
            loops.let_go()
            check(s.wait_for("WATCHDOG=1", fresh=True), "the loop turns again")
        else:
            print("not shown here: a single loop that hangs (no right to ptrace)")
        s.process.terminate()
        check(s.wait_for("STOPPING=1"), "STOPPING")
        check(s.wait_for("WATCHDOG=1", fresh=True), "fed while it drains")
        equal(s.process.wait(60), 0, "exit")


def handed_over(root, tmp):
    http, port = listener()
    with Supervised(root, tmp, sockets=[http], names=["http"]) as s:
        ready = s.wait_for("READY=1")
        check(ready and ready.endswith(f"127.0.0.1:{port}"), f"{ready}, want port {port}: {s.words()}")
        equal(ask(port), 200, "by the socket")
    for names, pid, want in ((None, "$$", True), (["http"], "1", False)):
        with Supervised(root, tmp, sockets=[http], names=names, pid=pid) as s:
            ready = s.wait_for("READY=1")
            equal(ready and ready.endswith(f":{port}"), want, f"names {names}, LISTEN_PID {pid}")
    datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    deaf = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    for sockets, names, want in (([http], ["web"], "neither http nor admin"), ([http, http], ["http", "http"], "two sockets"),
                                 ([datagrams], ["http"], "not a stream socket"), ([deaf], ["http"], "does not listen"),
                                 ([http] * 3, ["http"] * 3, "3 sockets")):
        with Supervised(root, tmp, sockets=sockets, names=names) as s:
            equal(s.process.wait(60), 1, f"exit with {names}")
            check(want in s.words(), f"{want!r} in {s.words()!r}")
    for sock in (http, datagrams, deaf):
        sock.close()


def restarts(root, tmp, count):
    """Clients that connect anew for each request see none of the restarts."""
    http, port = listener()
    stop, answers, lock = threading.Event(), {}, threading.Lock()

    def go_on():
        while not stop.is_set():
            status = ask(port)
            with lock:
                answers[status] = answers.get(status, 0) + 1

    askers = [threading.Thread(target=go_on) for _ in range(4)]
    for asker in askers:
        asker.start()
    for _ in range(count):
        with Supervised(root, tmp, "--verify", "no", sockets=[http], names=["http"]) as s:
            check(s.wait_for("READY=1"), s.words())
            time.sleep(0.02)
    with Supervised(root, tmp, sockets=[http], names=["http"]) as s:  # answers who waits still
        s.wait_for("READY=1")
        stop.set()
        for asker in askers:
            asker.join()
    http.close()
    print(f"{count} restarts under load: {answers}")
    equal(set(answers), {200}, "statuses over the restarts")
    check(sum(answers.values()) > 2 * count, "there was load")


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        root = tmp / "root"
        publish(root, tmp, 1)
        told(root, tmp)
        failing_start(tmp)
        stopped_while_it_loads(tmp)
        full_log(root, tmp)
        watchdog(root, tmp)
        handed_over(root, tmp)
        restarts(root, tmp, int(os.environ.get("DX_RESTARTS") or (100 if dxtest.WHOLE else 15)))
    dxtest.finish()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
