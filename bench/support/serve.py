# SPDX-License-Identifier: Apache-2.0
"""Servers that are measured: on a core of their own, stopped while another one is asked.

    with contextlib.ExitStack() as stack:
        ours = stack.enter_context(serve.Ours("domaindexd", root, core, "--threads", 1))
        peer = stack.enter_context(serve.Nginx("nginx", tmp, core, {"files": folder, "return": (200, text)}))
        with serve.only(ours, [ours, peer]):       the others get SIGSTOP, then SIGCONT
            …ask ours.port; peer.ports["files"]…
        ours.cpu_s()                               CPU seconds of all its threads, to the nanosecond

    load = serve.Load(core, folder)                dxload on the other core
    figures = load.run(port, ["hit.txt:70:zipf=0.99", "miss.txt:30"], seconds=2, rate=0)
    load.record(port, targets, "known.txt")        asks each once: what a right answer is from then on

A server with core None runs where the system puts it.
"""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

import machine

sys.path.insert(0, str(machine.SOURCE / "tests" / "support"))
import dxtest  # noqa: E402

DXLOAD = machine.BIN / "bench" / "dxload"
WRK = shutil.which("wrk")
NGINX = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin:/usr/local/sbin")


def threads_cpu_s(pid):
    """Nanoseconds on a core, of each thread; those of /proc/PID/stat are whole ticks of 10 ms."""
    total = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):
            total += int((task / "schedstat").read_text(encoding="ascii").split()[0])
    return total * 1e-9


def children(pid):
    text = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    return [int(word) for word in text.split()]


class Ours(dxtest.Server):
    """domaindexd; `program` may be that of another revision."""

    def __init__(self, name, root, core, *options, program=None):
        self.name = name
        with machine.pinned(core):
            super().__init__(root, "--poll-ms", 0, *options, program=program)

    def pids(self):
        return [self.process.pid]

    def cpu_s(self):
        return threads_cpu_s(self.process.pid)

    def resident_bytes(self):
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        return 1024 * int(re.search(r"RssAnon:\s+(\d+)", text)[1])

    def __exit__(self, kind, value, trace):
        self.process.send_signal(signal.SIGCONT)
        super().__exit__(kind, value, trace)


NGINX_CONF = """\
{user}
daemon off;
worker_processes {workers};
worker_rlimit_nofile 20000;
pid {tmp}/nginx.pid;
error_log {tmp}/nginx.log;
events {{ worker_connections 11000; }}
http {{
    access_log off;
    sendfile off;
    tcp_nodelay on;
    keepalive_requests 1000000000;
    keepalive_timeout 600;
    open_file_cache max=15000 inactive=600s;
    open_file_cache_valid 600s;
    open_file_cache_min_uses 1;
    default_type application/json;
    types {{ }}
    add_header Cache-Control no-cache;
    add_header X-Domaindex-Version 000001-20260101T000000Z;
    {more}
    {blocks}
}}
"""


class Nginx:
    """A port for each place: a folder of files that are served, or (status, text) for `return`. more: directives of http."""

    def __init__(self, name, tmp, core, places, workers=1, more=""):
        self.name, self.tmp, self.ports = name, pathlib.Path(tmp), {}
        self.tmp.mkdir(parents=True, exist_ok=True)
        blocks = []
        for place, what in places.items():
            self.ports[place] = free_port()
            serves = (f"root {what};" if isinstance(what, (str, pathlib.Path)) else
                      f"location / {{ return {what[0]} '{what[1]}'; }}")
            blocks.append(f"server {{ listen 127.0.0.1:{self.ports[place]} backlog=11000; {serves} }}")
        conf = self.tmp / "nginx.conf"
        # Files of a folder that only we may read: as nobody it would answer 403.
        user = "user root;" if os.geteuid() == 0 else ""
        conf.write_text(NGINX_CONF.format(user=user, tmp=self.tmp, workers=workers, more=more,
                                          blocks="\n    ".join(blocks)), encoding="utf-8")
        with machine.pinned(core):
            self.process = subprocess.Popen([NGINX, "-c", conf, "-e", self.tmp / "nginx.log"])

    def __enter__(self):
        for port in self.ports.values():
            wait_for(port, self.process)
        self.workers = children(self.process.pid)
        return self

    def __exit__(self, kind, value, trace):
        for pid in self.pids():
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGCONT)
        self.process.terminate()
        self.process.wait(30)

    def pids(self):
        return [self.process.pid, *self.workers]

    def cpu_s(self):
        return sum(threads_cpu_s(pid) for pid in self.pids())


def nginx_words():
    done = subprocess.run([NGINX, "-v"], check=False, capture_output=True, text=True)
    return done.stderr.strip().replace("nginx version: ", "")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_for(port, process, tries=500):
    for _ in range(tries):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        if process.poll() is not None:
            break
        time.sleep(0.02)
    sys.exit(f"{process.args[0]} does not serve on port {port}")


@contextlib.contextmanager
def only(server, servers):
    """No other server of the run takes a cycle of the core."""
    stopped = [pid for s in servers if s is not server for pid in s.pids()]
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    for pid in server.pids():
        os.kill(pid, signal.SIGCONT)
    try:
        yield server
    finally:
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)


class Load:
    """dxload on its core. What it finds wrong is counted here, and said."""

    def __init__(self, core, tmp):
        self.core, self.tmp, self.wrong, self.verified = core, pathlib.Path(tmp), 0, 0
        self.seed = 0

    def program(self, *arguments):
        with machine.pinned(self.core):
            return subprocess.run(list(map(str, arguments)), check=False, capture_output=True,
                                  text=True, timeout=660)

    def record(self, port, targets, path, connections=8):
        """targets: lines of a target file. Returns path, which has what each answer is to be."""
        asked = pathlib.Path(f"{path}.asked")
        asked.write_text("".join(f"{line}\n" for line in targets), encoding="utf-8")
        done = self.program(DXLOAD, "--record", path, "--connections", connections, "--seconds",
                            300, f"127.0.0.1:{port}", asked)
        if done.returncode != 0:
            sys.exit(f"dxload --record: {done.stdout}{done.stderr}")
        return pathlib.Path(path)

    def run(self, port, mix, seconds, warm=0.2, connections=64, rate=0, seed=None, *options):
        out = self.tmp / "load.json"
        out.unlink(missing_ok=True)
        self.seed += 1
        done = self.program(DXLOAD, "--connections", connections, "--seconds", seconds, "--warm",
                            warm, "--rate", rate, *(["--poisson"] if rate else []), "--seed",
                            seed or self.seed, "--json", out, *options, f"127.0.0.1:{port}", *mix)
        if not out.exists():
            sys.exit(f"dxload: {done.stdout}{done.stderr}")
        figures = json.loads(out.read_text(encoding="utf-8"))
        bad = figures["wrong"] + sum(v for k, v in figures["errors"].items() if k != "unsent")
        if bad:
            print(f"WRONG: {bad}: {figures['words']}", flush=True)
        self.wrong += bad
        self.verified += sum(part["verified"] for part in figures["parts"])
        return figures

    def wrk(self, port, target, seconds, connections=64):
        """requests/s by wrk, for one target."""
        done = self.program(WRK, "-t1", f"-c{connections}", f"-d{max(1, round(seconds))}s",
                            f"http://127.0.0.1:{port}{target}")
        return float(re.search(r"Requests/sec:\s*([\d.]+)", done.stdout)[1])
