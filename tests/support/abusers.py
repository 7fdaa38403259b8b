# SPDX-License-Identifier: Apache-2.0
"""abusers - hostile clients, each a process of its own.

    with abusers.Abuser("slow_heads", port, count=1000) as a:
        a.ready()                  when it has begun for good
        ...
    a.told                         what it did: {"opened": 1000, ...}

They run on the core of the load, and with DX_TIMED under SCHED_IDLE: what they take is the server's time, not that of the
client that is measured. Without it they run at nice 5: on a machine with other work SCHED_IDLE has no turn at all. Every one ends
with its pipe.
"""
import contextlib
import errno
import json
import os
import pathlib
import select
import socket
import subprocess
import sys
import time

HEAD = b"GET /v1/domain/%s HTTP/1.1\r\nHost: h\r\n\r\n"


class Abuser:
    def __init__(self, kind, port, core=None, **settings):
        self.told = {}
        self.command = [sys.executable, str(pathlib.Path(__file__).resolve()), kind, str(port),
                        json.dumps({"core": core, **settings})]

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        return self

    def ready(self):
        if self.process.stdout.readline() != b"ready\n":
            raise RuntimeError(f"{self.command}: did not begin")

    def __exit__(self, *error):
        self.process.stdin.close()
        try:
            last = self.process.stdout.read().strip()
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        self.told = json.loads(last.splitlines()[-1]) if last else {}


# ------------------------------------------------------------------------- in the abuser's process

class Crowd:
    """Sockets of one port; counts what became of them."""

    def __init__(self, port, source=None):
        self.port, self.source = port, source
        self.told = {"opened": 0, "refused": 0, "ended": 0, "sent": 0, "read": 0}
        self.poll = select.epoll()
        self.sockets = {}

    def open(self, small=False):
        s = socket.socket()
        if small:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        try:
            if self.source:
                s.bind((self.source, 0))
            s.settimeout(5)
            s.connect(("127.0.0.1", self.port))
        except OSError as e:
            s.close()
            self.told["refused"] += 1
            if e.errno in (errno.EMFILE, errno.EADDRNOTAVAIL):
                time.sleep(0.05)
            return None
        s.setblocking(False)
        self.told["opened"] += 1
        self.sockets[s.fileno()] = s
        return s

    def drop(self, s):
        self.sockets.pop(s.fileno(), None)
        s.close()
        self.told["ended"] += 1

    def send(self, s, data):
        try:
            n = s.send(data)
            self.told["sent"] += n
            return n
        except BlockingIOError:
            return 0
        except OSError:
            self.drop(s)
            return -1

    def read(self, s, size=65536):
        """Bytes; b"": nothing now; None: it has ended."""
        try:
            data = s.recv(size)
        except BlockingIOError:
            return b""
        except OSError:
            data = b""
        if not data:
            self.drop(s)
            return None
        self.told["read"] += len(data)
        return data


def statuses(told, data):
    for line in data.split(b"HTTP/1.1 ")[1:]:
        told[line[:3].decode("latin-1")] = told.get(line[:3].decode("latin-1"), 0) + 1


def goes_on():
    return not select.select([0], [], [], 0)[0]


def begin():
    print("ready", flush=True)


def idle(crowd, count=10000, **_):
    """One request each, then nothing."""
    done = False
    while goes_on():
        opened = 0
        while len(crowd.sockets) < count and opened < 200:
            s = crowd.open()
            if s is None:
                break
            crowd.send(s, HEAD % b"a.example")
            opened += 1
        for s in list(crowd.sockets.values()):
            crowd.read(s)
        if not done and (len(crowd.sockets) >= count * 0.9 or crowd.told["opened"] > count * 1.2):
            begin()
            done = True
        time.sleep(0.05 if opened else 0.2)
    return crowd.told


def drip(crowd, text, count, pause_s):
    """One byte of the text at a time over each of many connections."""
    at = {}
    begun = False
    while goes_on():
        while len(crowd.sockets) < count:
            s = crowd.open()
            if s is None:
                break
            at[s.fileno()] = 0
        for fd, s in list(crowd.sockets.items()):
            n = at.get(fd, 0)
            if crowd.read(s) is None:
                continue
            if crowd.send(s, text[n:n + 1] if n < len(text) else b"a") > 0:
                at[fd] = n + 1
        if not begun:
            begin()
            begun = True
        time.sleep(pause_s)
    return crowd.told


def slow_heads(crowd, count=1500, **_):
    return drip(crowd, b"GET /v1/domain/a.example HTTP/1.1\r\nHost: h\r\nX-Padding: ", count, 0.2)


def slow_bodies(crowd, count=300, **_):
    """The head at once, then a byte at a time of a body that never ends."""
    head = b"POST /v1/domains HTTP/1.1\r\nHost: h\r\nContent-Length: 100000000\r\n\r\n"
    begun = False
    while goes_on():
        while len(crowd.sockets) < count:
            s = crowd.open()
            if s is None:
                break
            crowd.send(s, head)
        for s in list(crowd.sockets.values()):
            data = crowd.read(s)
            if data:
                statuses(crowd.told, data)
            elif data is not None:
                crowd.send(s, b"a.example\n")
        if not begun:
            begin()
            begun = True
        time.sleep(0.2)
    return crowd.told


def slow_readers(crowd, target="/", count=300, **_):
    """Ask for much and read a little."""
    ask = f"GET {target} HTTP/1.1\r\nHost: h\r\n\r\n".encode()
    begun = False
    while goes_on():
        opened = 0
        while len(crowd.sockets) < count and opened < 20:
            s = crowd.open(small=True)
            if s is None:
                break
            crowd.send(s, ask)
            opened += 1
        for s in list(crowd.sockets.values()):
            crowd.read(s, 100)
        if not begun and len(crowd.sockets) >= count * 0.9:
            begin()
            begun = True
        time.sleep(0.05)
    return crowd.told


def huge_heads(crowd, count=100, **_):
    """Fields without end."""
    junk = b"X-Junk: " + b"j" * 8000 + b"\r\n"
    begun = False
    while goes_on():
        while len(crowd.sockets) < count:
            s = crowd.open()
            if s is None:
                break
            crowd.send(s, b"GET / HTTP/1.1\r\nHost: h\r\n")
        for s in list(crowd.sockets.values()):
            if crowd.send(s, junk * 8) >= 0:
                data = crowd.read(s)
                if data:
                    statuses(crowd.told, data)
        if not begun:
            begin()
            begun = True
        time.sleep(0.005)
    return crowd.told


def pipelined(crowd, count=4, requests=100000, target="/v1/domain/a.example", **_):
    """As many requests at once as go in; what comes is thrown away."""
    ask = f"GET {target} HTTP/1.1\r\nHost: h\r\n\r\n".encode()
    left = {}
    chunk = ask * 1000
    begun = False
    while goes_on():
        while len(crowd.sockets) < count:
            s = crowd.open()
            if s is None:
                break
            left[s.fileno()] = requests * len(ask)
        for fd, s in list(crowd.sockets.items()):
            at = -left[fd] % len(ask)
            n = crowd.send(s, chunk[at:at + min(left[fd], 60000)]) if left[fd] > 0 else 0
            if n < 0:
                continue
            left[fd] -= n
            if crowd.read(s, 1 << 18) == b"" and left[fd] <= 0:
                crowd.drop(s)
        if not begun:
            begin()
            begun = True
    crowd.told["requests"] = crowd.told["sent"] // len(ask)
    return crowd.told


def churn(crowd, per_s=4000, **_):
    """Connections that come and go: some with a request, some without a word, some by a reset."""
    begin()
    n = 0
    while goes_on():
        s = crowd.open()
        if s is None:
            continue
        n += 1
        if n % 3 == 0:
            crowd.send(s, HEAD % b"a.example")
        elif n % 3 == 1:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        crowd.drop(s)
        time.sleep(1 / per_s)
    return crowd.told


def flood(crowd, targets=("/v1/domain/a.example",), count=32, **_):
    """As fast as it goes: closed loops over many connections."""
    at = 0
    begun = False
    while goes_on():
        while len(crowd.sockets) < count:
            s = crowd.open()
            if s is None:
                break
            crowd.poll.register(s.fileno(), select.EPOLLIN)
            crowd.send(s, f"GET {targets[at % len(targets)]} HTTP/1.1\r\nHost: h\r\n\r\n".encode())
            at += 1
        for fd, _what in crowd.poll.poll(0.05):
            s = crowd.sockets.get(fd)
            data = crowd.read(s, 1 << 20) if s else None
            if not data:
                continue
            told = data.count(b"HTTP/1.1 ")
            statuses(crowd.told, data)
            for _ in range(told):
                crowd.send(s, f"GET {targets[at % len(targets)]} HTTP/1.1\r\nHost: h\r\n\r\n".encode())
                at += 1
        if not begun:
            begin()
            begun = True
    return crowd.told


def main():
    kind, port, settings = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3])
    core = settings.pop("core")
    with contextlib.suppress(OSError):
        if core is not None:
            os.sched_setaffinity(0, {core})
        if os.environ.get("DX_TIMED"):
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        else:
            os.nice(5)
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    crowd = Crowd(port, settings.pop("source", None))
    kinds = {f.__name__: f for f in (idle, slow_heads, slow_bodies, slow_readers, huge_heads, pipelined,
                                     churn, flood)}
    print(json.dumps(kinds[kind](crowd, **settings)), flush=True)


if __name__ == "__main__":
    main()
