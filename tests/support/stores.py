# SPDX-License-Identifier: Apache-2.0
"""stores - real servers for objects, started for a test on free ports of 127.0.0.1.

    with stores.Nginx(folder) as store:             what is in folder, at store.url
    with stores.Nginx(folder, tls=True) as store:   https:// with HTTP/2; store.ca: whom to trust
    with stores.Versitygw() as store:               an empty S3 store
    with stores.Minio() as store:                   another
        store.bucket("bucket")
        store.upload("bucket", "prefix", folder)    every file below folder; {name: etag}
        store.root("bucket", "prefix")              s3://bucket/prefix
        with stores.environment(store.env): ...     the programs started here find it

    stores.find("minio")                            its path, or None where it is missing
    stores.need("nginx", "minio")                   skips the test where one is missing

A program is found by DX_NGINX, DX_VERSITYGW, DX_MINIO, in the PATH, or in
build/storage-servers/bin, where scripts/storage_servers.sh puts it. Each server has a temporary
folder of its own, has to answer within a minute, and is ended by its process id. Only the
standard library.
"""
import concurrent.futures
import contextlib
import fcntl
import http.client
import os
import pathlib
import random
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import urllib.parse

import dxtest
import faultproxy

KEY_ID, SECRET, REGION = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "us-east-1"
UP_WITHIN_S = 120


def find(name):
    for path in (os.environ.get(f"DX_{name.upper()}"), shutil.which(name),
                 shutil.which(name, path="/usr/sbin:/sbin"),
                 dxtest.SOURCE / "build" / "storage-servers" / "bin" / name):
        if path and os.access(path, os.X_OK):
            return pathlib.Path(path)
    return None


def need(*names):
    missing = [name for name in names if not find(name)]
    if missing:
        dxtest.skip(f"no {' and no '.join(missing)} here (scripts/storage_servers.sh gets them)")


_ports = []     # locks of those that this process was given


def free_port():
    """Below the ports that the system gives away, and given to no other test: a lock on its file, until this process ends."""
    folder = pathlib.Path(f"/tmp/domaindex-ports-{os.getuid()}")      # the same one whatever TMPDIR says
    folder.mkdir(exist_ok=True)
    for _ in range(200):
        port = random.SystemRandom().randrange(12000, 32000)
        held = open(folder / str(port), "w", encoding="ascii")
        with contextlib.suppress(OSError), socket.socket() as link:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            link.bind(("127.0.0.1", port))
            _ports.append(held)
            return port
        held.close()
    raise OSError("no free port on 127.0.0.1")


@contextlib.contextmanager
def environment(values):
    """The environment of programs started within; no other AWS_ variable is seen by them."""
    before = dict(os.environ)
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        del os.environ[name]
    os.environ.update({"NO_PROXY": "127.0.0.1,localhost", **values})
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


class Server:
    """A process in a temporary folder, from `with` to its end; subclasses say what it is."""

    env = {}

    def __enter__(self):
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="domaindex-test-store-"))
        try:
            for _ in range(3):     # somebody may have taken the port
                self.port = free_port()
                if self.start():
                    return self
                self.end()
            raise RuntimeError(f"{self.program} does not come up:\n{self.words()[-3000:]}")
        except BaseException:
            self.__exit__(None, None, None)
            raise

    def start(self):
        with open(self.home / "log", "ab") as log:
            self.process = subprocess.Popen(
                [str(part) for part in self.command()], stdin=subprocess.DEVNULL, stdout=log,
                stderr=subprocess.STDOUT, cwd=self.home, env={**os.environ, **self.own_env()})
        end = time.monotonic() + UP_WITHIN_S
        while self.process.poll() is None and time.monotonic() < end:
            with contextlib.suppress(OSError, http.client.HTTPException):
                if self.up():
                    return True
            time.sleep(0.05)
        return False

    def own_env(self):
        return {}

    def up(self):
        socket.create_connection(("127.0.0.1", self.port), 1).close()
        return True

    def words(self):
        with contextlib.suppress(OSError):
            return (self.home / "log").read_text("utf-8", "replace")
        return ""

    def end(self):
        process, self.process = getattr(self, "process", None), None
        if process and process.poll() is None:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def __exit__(self, kind, value, trace):
        self.end()
        shutil.rmtree(self.home, ignore_errors=True)


def openssl(*arguments):
    dxtest.run("openssl", *arguments)


def private_ca(folder):
    """ca.pem, which nobody trusts unless told to, and server.pem, server.key signed by it, for
    127.0.0.1 alone."""
    folder = pathlib.Path(folder)
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    openssl("req", "-x509", *key, "-days", "2", "-subj", "/CN=domaindex test CA", "-addext",
            "keyUsage=critical,keyCertSign", "-keyout", folder / "ca.key", "-out",
            folder / "ca.pem")
    openssl("req", *key, "-subj", "/CN=store", "-keyout", folder / "server.key", "-out",
            folder / "server.csr")
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1\n")
    openssl("x509", "-req", "-days", "2", "-in", folder / "server.csr", "-CA", folder / "ca.pem",
            "-CAkey", folder / "ca.key", "-CAcreateserial", "-extfile", folder / "names", "-out",
            folder / "server.pem")
    return folder / "ca.pem"


class Nginx(Server):
    program = "nginx"

    def __init__(self, folder, tls=False, keepalive_requests=1000):
        """keepalive_requests: nginx ends a connection after so many (1,000 by default)."""
        self.folder, self.tls, self.requests = pathlib.Path(folder), tls, keepalive_requests

    def command(self):
        home = self.home
        secure = ""
        if self.tls:
            if not (home / "ca.pem").exists():
                self.ca = private_ca(home)
            secure = f"ssl_certificate {home}/server.pem; ssl_certificate_key {home}/server.key;"
        # As root its workers would be another user, who may not enter the folder.
        user = "user root;" if os.geteuid() == 0 else ""
        paths = " ".join(f"{kind}_temp_path {home}/{kind};" for kind in
                         ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        (home / "nginx.conf").write_text(f"""
{user} daemon off; pid {home}/pid; error_log stderr; worker_processes 1;
events {{ worker_connections 4096; }}
http {{
    access_log {home}/access.log; {paths}
    keepalive_requests {self.requests}; default_type application/octet-stream;
    server {{
        listen 127.0.0.1:{self.port} {"ssl http2" if self.tls else ""}; {secure}
        root "{self.folder}";
    }}
}}
""")
        self.url = f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"
        return [find("nginx"), "-p", home, "-c", home / "nginx.conf"]

    def requests_of(self, words=""):
        """How many lines of the access log have these words, for example "HTTP/2.0"."""
        return (self.home / "access.log").read_text("utf-8", "replace").count(words or "\n")


class S3(Server):
    """What S3 servers share: signed requests, on one connection a thread."""

    def start(self):
        self.url = f"http://127.0.0.1:{self.port}"
        self.links = threading.local()
        self.credentials = (KEY_ID, SECRET, REGION)
        self.env = {"AWS_ACCESS_KEY_ID": KEY_ID, "AWS_SECRET_ACCESS_KEY": SECRET,
                    "AWS_REGION": REGION, "AWS_ENDPOINT_URL_S3": self.url}
        return super().start()

    def up(self):
        """MinIO takes connections, and calls itself ready, before it serves."""
        return self.ask("GET", "/")[0] == 200

    @staticmethod
    def root(bucket, prefix=""):
        return f"s3://{bucket}/{prefix}" if prefix else f"s3://{bucket}"

    def ask(self, method, target, body=b"", headers=()):
        """status, headers (lower case), body."""
        request = faultproxy.signed(faultproxy.Request(
            method, target, [("Host", f"127.0.0.1:{self.port}"), *headers], body), self.credentials)
        for again in (True, False):
            link = getattr(self.links, "link", None)
            if not link:
                link = self.links.link = http.client.HTTPConnection("127.0.0.1", self.port,
                                                                    timeout=60)
            try:
                link.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
                for name, value in request.fields:
                    link.putheader(name, value)
                link.putheader("Content-Length", str(len(body)))
                link.endheaders(body)
                reply = link.getresponse()
                return (reply.status, {k.lower(): v for k, v in reply.getheaders()}, reply.read())
            except (http.client.HTTPException, OSError):
                link.close()
                self.links.link = None
                if not again:
                    raise
        raise AssertionError("not reached")

    def demand(self, method, target, body=b"", headers=()):
        status, fields, text = self.ask(method, target, body, headers)
        if status // 100 != 2:
            raise RuntimeError(f"{self.program}: {method} {target}: {status} {text[:300]!r}")
        return fields, text

    def bucket(self, name):
        self.demand("PUT", f"/{name}")

    @staticmethod
    def target(bucket, name):
        return "/" + urllib.parse.quote(f"{bucket}/{name}", safe="/-_.~")

    def put(self, bucket, name, body):
        return self.demand("PUT", self.target(bucket, name), body)[0].get("etag")

    def get(self, bucket, name):
        return self.demand("GET", self.target(bucket, name))[1]

    def remove(self, bucket, name):
        self.demand("DELETE", self.target(bucket, name))

    def upload(self, bucket, prefix, folder, threads=4):
        folder = pathlib.Path(folder)
        names = sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())

        def one(name):
            return self.put(bucket, f"{prefix}/{name}" if prefix else name,
                            (folder / name).read_bytes())
        with concurrent.futures.ThreadPoolExecutor(threads) as pool:
            return dict(zip(names, pool.map(one, names)))


class Versitygw(S3):
    program = "versitygw"

    def command(self):
        (self.home / "objects").mkdir(exist_ok=True)
        return [find("versitygw"), "--port", f"127.0.0.1:{self.port}", "--access", KEY_ID,
                "--secret", SECRET, "--region", REGION, "posix", self.home / "objects"]


class Minio(S3):
    program = "minio"

    def command(self):
        (self.home / "objects").mkdir(exist_ok=True)
        return [find("minio"), "server", "--quiet", "--anonymous", "--config-dir",
                self.home / "config", "--address", f"127.0.0.1:{self.port}",
                self.home / "objects"]

    def own_env(self):
        return {"MINIO_ROOT_USER": KEY_ID, "MINIO_ROOT_PASSWORD": SECRET, "MINIO_BROWSER": "off",
                "MINIO_UPDATE": "off", "MINIO_REGION": REGION, "HOME": str(self.home),
                "MINIO_CI_CD": "1"}     # one folder of any file system will do


def kinds():
    """Classes of the S3 servers to try: those that are here; the first of them alone unless DX_WHOLE is set."""
    here = [kind for kind in (Versitygw, Minio) if find(kind.program)]
    return here if dxtest.WHOLE else here[:1]


def all_of(folder):
    """Each kind of store, not started, with the words for it: for loops over all of them. MinIO with DX_WHOLE=1."""
    return [("nginx", Nginx(folder)), ("nginx, TLS, HTTP/2", Nginx(folder, tls=True)),
            ("versitygw", Versitygw())] + ([("MinIO", Minio())] if dxtest.WHOLE else [])
