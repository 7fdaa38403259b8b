#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: plain
"""A listener that is a file: its mode from the first moment on, sockets that dead servers left, sockets of servers that live, nginx and curl over it."""
import http.client
import os
import pathlib
import shutil
import signal
import socket
import stat
import subprocess

import dxtest
import front
import stores
from dxtest import check, equal

DOMAIN = "/v1/domain/example.com"


class Local:
    """domaindexd on a local socket."""

    def __init__(self, root, path, *options):
        self.path = path
        self.command = [dxtest.DOMAINDEXD, "--root", root, "--listen", f"unix:{path}", *map(str, options)]

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        dxtest.wait_until(lambda: self.status() == 200 or self.process.poll() is not None)
        equal(self.process.poll(), None, "the server runs")
        return self

    def status(self, target=DOMAIN):
        link = http.client.HTTPConnection("x")
        link.sock = socket.socket(socket.AF_UNIX)
        link.sock.settimeout(60)
        try:
            link.sock.connect(str(self.path))
            link.request("GET", target)
            return link.getresponse().status
        except OSError:
            return None
        finally:
            link.close()

    def kill(self):
        self.process.kill()
        self.process.wait(60)

    def __exit__(self, *trace):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            equal(self.process.wait(60), 0, "exit after SIGTERM")
        self.process.stderr.close()


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


def modes(root, path):
    for option, want in ((None, 0o660), ("0600", 0o600), ("666", 0o666), ("0777", 0o777)):
        before = os.umask(0)  # the umask of the server's parent widens nothing and narrows nothing
        try:
            with Local(root, path, *(("--socket-mode", option) if option else ())) as server:
                equal((server.status(), oct(mode_of(path))), (200, oct(want)), f"--socket-mode {option}")
        finally:
            os.umask(before)
        check(not path.exists(), "the socket is removed at the end")
    before = os.umask(0o077)
    try:
        with Local(root, path) as server:
            equal(oct(mode_of(path)), oct(0o660), "an umask of 077 does not narrow it")
    finally:
        os.umask(before)
    for wrong in ("0880", "660x", "60", "01777", "0060", "0400", "", "rw"):
        done = dxtest.run(dxtest.DOMAINDEXD, "--root", root, "--socket-mode", wrong, "--check", expect=2)
        check(b"socket-mode" in done.stderr, f"--socket-mode '{wrong}': {done.stderr}")


def dead_and_alive(root, path):
    with Local(root, path) as server:
        served = path.stat().st_ino
        done = dxtest.run(*server.command, expect=1)
        check(b"another process listens there" in done.stderr, f"a live one is refused: {done.stderr}")
        equal((server.status(), path.stat().st_ino), (200, served), "and serves on, by the same file")
        server.process.send_signal(signal.SIGSTOP)  # alive, but answers nothing
        done = dxtest.run(*server.command, expect=1)
        server.process.send_signal(signal.SIGCONT)
        check(b"another process listens there" in done.stderr, f"one that is stopped is alive too: {done.stderr}")
        server.kill()
        check(path.exists(), "a killed server leaves its socket")
    with Local(root, path) as server:
        equal(server.status(), 200, "a dead server's socket is replaced")
        os.rename(path, f"{path}.moved")  # another server's may stand there by now
        path.write_text("not ours")
    check(path.exists(), "what is not its own socket is not removed at the end")
    done = dxtest.run(dxtest.DOMAINDEXD, "--root", root, "--listen", f"unix:{path}", expect=1)
    check(b"is not a socket" in done.stderr and path.read_text() == "not ours", f"another kind of file stays: {done.stderr}")
    path.unlink()
    os.symlink("/nowhere", path)
    dxtest.run(dxtest.DOMAINDEXD, "--root", root, "--listen", f"unix:{path}", expect=1)
    check(path.is_symlink(), "a link stays")
    path.unlink()


def by_curl(path):
    done = dxtest.run(shutil.which("curl"), "-sS", "--fail", "--unix-socket", path, *(f"http://x{DOMAIN}" for _ in range(5)))
    equal(done.stdout.count(b'"complete":true}'), 5, "curl over the socket")


def by_nginx(tmp, root, path):
    nginx = front.find("nginx")
    if not nginx:
        return print("SKIPPED: nginx is not here")
    port = stores.free_port()
    home = tmp / "nginx"
    home.mkdir()
    os.chmod(tmp, 0o755)
    (home / "nginx.conf").write_text(f"""
daemon off;
pid {home}/pid;
error_log {home}/error.log;
events {{}}
http {{
    access_log off;
    client_body_temp_path {home}/body;
    proxy_temp_path {home}/proxy;
    fastcgi_temp_path {home}/a;
    uwsgi_temp_path {home}/b;
    scgi_temp_path {home}/c;
    upstream domaindexd {{
        server unix:{path} max_fails=0;
        keepalive 8;
    }}
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://domaindexd;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header X-Forwarded-For $remote_addr;
        }}
    }}
}}
""")

    def ask(source):
        link = http.client.HTTPConnection("127.0.0.1", port, timeout=60, source_address=(source, 0))
        try:
            link.request("GET", DOMAIN)
            return link.getresponse().status
        except OSError:
            return None
        finally:
            link.close()
    # nginx's workers are another user where it is started by root.
    limits = ("--trusted-proxy", "unix", "--address-header", "X-Forwarded-For", "--address-cost-per-s", 1, "--address-burst", 20, "--socket-mode", "0666")
    with Local(root, path, *limits) as server:
        process = subprocess.Popen([nginx, "-c", home / "nginx.conf", "-p", home], stderr=subprocess.DEVNULL)
        try:
            check(dxtest.wait_until(lambda: ask("127.0.0.2") == 200), "nginx over the socket")
            statuses = [ask("127.0.0.3") for _ in range(30)]
            check(statuses[0] == 200 and statuses[-1] == 429, f"a client behind nginx has a budget of its own: {statuses}")
            equal(ask("127.0.0.4"), 200, "another client has another one")
            server.kill()
            check(dxtest.wait_until(lambda: ask("127.0.0.5") in (502, 504)), "no server behind it")
            with Local(root, path, *limits):
                check(dxtest.wait_until(lambda: ask("127.0.0.5") == 200), "nginx finds the server that took the dead one's place")
        finally:
            process.terminate()
            process.wait(60)


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        (tmp / "urls").write_text("https://example.com/a\n")
        root = tmp / "root"
        dxtest.domaindex("ingest", "--root", root, "--dataset", "d", "--format", "list", tmp / "urls")
        dxtest.domaindex("publish", "--root", root)
        path = pathlib.Path(tmp) / "run" / "http.sock"
        path.parent.mkdir()
        modes(root, path)
        dead_and_alive(root, path)
        with Local(root, path):
            by_curl(path)
        by_nginx(tmp, root, path)
    dxtest.finish()


if __name__ == "__main__":
    main()
