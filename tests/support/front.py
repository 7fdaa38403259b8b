# SPDX-License-Identifier: Apache-2.0
"""front - the balancers of packaging/ in front of a server, as their example files have it.

    with front.Haproxy(tmp, port) as proxy:         skips the test where the program is missing
        link = proxy.connect()                      TLS, HTTP/1.1; a socket to write bytes to
        proxy.log()                                 [(forwarded, status, request line)], one a request; only grows

The files are taken as they are, but for addresses, ports, the certificate and the place of the log.
"""
import os
import pathlib
import re
import shutil
import socket
import ssl
import subprocess
import time

import dxtest
import stores


def find(name):
    return os.environ.get(f"DX_{name.upper()}") or shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")


class Front:
    def __init__(self, tmp, upstream_port):
        self.home = pathlib.Path(tmp) / self.program
        self.home.mkdir()
        self.upstream, self.port = upstream_port, stores.free_port()
        self.entries, self.read = [], 0
        stores.private_ca(self.home)
        pem = (self.home / "server.pem").read_text() + (self.home / "server.key").read_text()
        (self.home / "domaindex.pem").write_text(pem)
        self.tls = ssl.create_default_context(cafile=self.home / "ca.pem")
        self.tls.suppress_ragged_eofs = True

    def configuration(self, name, replace):
        """The example with each of its texts replaced; each must be there."""
        text = (dxtest.SOURCE / "packaging" / name).read_text(encoding="utf-8")
        for old, new in replace.items():
            dxtest.check(old in text, f"packaging/{name} has {old!r}")
            text = text.replace(old, str(new))
        return text

    def __enter__(self):
        self.output = open(self.home / "output", "wb")
        self.process = subprocess.Popen([find(self.program), *map(str, self.arguments())], stdout=self.output,
                                        stderr=subprocess.STDOUT)
        end = time.monotonic() + 60
        while time.monotonic() < end and self.process.poll() is None:
            try:
                with self.connect() as link:
                    link.sendall(b"GET /readyz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                    if link.recv(12) == b"HTTP/1.1 200":
                        return self
            except OSError:
                pass
            time.sleep(0.05)
        self.__exit__()
        dxtest.check(False, f"{self.program} does not answer: {(self.home / 'output').read_text()[-3000:]}")
        return dxtest.finish()

    def __exit__(self, *trace):
        self.process.terminate()
        self.process.wait(60)
        self.output.close()

    def connect(self):
        link = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self.tls.wrap_socket(link, server_hostname="127.0.0.1")

    def log(self):
        with open(self.log_file(), "rb") as file:
            file.seek(self.read)
            text = file.read()
        text = text[:text.rfind(b"\n") + 1]
        self.read += len(text)
        self.entries += [self.entry(match) for match in self.line.finditer(text.decode("latin-1"))]
        return self.entries


class Haproxy(Front):
    program = "haproxy"
    line = re.compile(r'^127\.0\.0\.1:\d+ (\S+) (-?\d+) \S+ \S+ (\S+) "(.*)"$', re.M)

    def arguments(self):
        text = self.configuration("haproxy.cfg", {
            "bind :443 ": f"bind 127.0.0.1:{self.port} ", "/etc/haproxy/domaindex.pem": self.home / "domaindex.pem",
            "127.0.0.1:8080\n": f"127.0.0.1:{self.upstream}\n", "maxconn 10000": "maxconn 400"})
        (self.home / "haproxy.cfg").write_text(text)
        return ["-db", "-f", self.home / "haproxy.cfg"]

    def log_file(self):
        return self.home / "output"

    def entry(self, match):
        line = re.sub(r"#([0-9A-F]{2})", lambda m: chr(int(m[1], 16)), match[4])
        return match[1] not in ("-", "<NOSRV>"), int(match[2]), line


class Nginx(Front):
    program = "nginx"
    line = re.compile(r'^127\.0\.0\.1:\d+ (\S+(?:, \S+)*) (\d+) \d+ \S+ "(.*)"$', re.M)

    def arguments(self):
        text = self.configuration("nginx.conf", {
            "listen 443 ": f"listen 127.0.0.1:{self.port} ", "/etc/nginx/domaindex.pem": self.home / "domaindex.pem",
            "server 127.0.0.1:8080 ": f"server 127.0.0.1:{self.upstream} ",
            "/var/log/nginx/domaindex.log": self.home / "access.log"})
        (self.home / "domaindex.conf").write_text(text)
        # As root its workers would be another user, who may not enter the folder.
        user = "user root;" if os.geteuid() == 0 else ""
        paths = " ".join(f"{kind}_temp_path {self.home}/{kind};" for kind in
                         ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        (self.home / "nginx.conf").write_text(
            f"{user} daemon off; pid {self.home}/pid; error_log stderr; worker_processes 1;\n"
            f"events {{ worker_connections 1024; }}\nhttp {{ {paths} include {self.home}/domaindex.conf; }}\n")
        return ["-p", self.home, "-c", self.home / "nginx.conf"]

    def log_file(self):
        return self.home / "access.log"

    def entry(self, match):
        line = re.sub(r"\\x([0-9A-F]{2})", lambda m: chr(int(m[1], 16)), match[3])
        return match[1] != "-", int(match[2]), line
