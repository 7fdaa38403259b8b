# SPDX-License-Identifier: Apache-2.0
"""dxtest - what the end-to-end tests share: the programs, a server, a client, a verdict.

    import dxtest
    with dxtest.tempdir() as tmp:
        root = tmp / "root"
        dxtest.domaindex("ingest", "--root", root, ...)      fails the test unless it exits 0
        with dxtest.Server(root) as server:
            reply = server.get("/v1/domain/example.com")     reply.status, .headers, .body, .json
            dxtest.equal(reply.status, 200, "a domain that is there")
    dxtest.finish()                                          exit 0, or 1 if a check failed

Only the standard library. ctest sets DX_BIN_DIR (the build folder) and DX_SOURCE_DIR; by hand
`DX_BIN_DIR=build/release python3 tests/e2e/<name>.py` does, with PYTHONPATH=tests/support.
"""
import contextlib
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

SOURCE = pathlib.Path(os.environ.get("DX_SOURCE_DIR") or pathlib.Path(__file__).parents[2]).resolve()
BIN = pathlib.Path(os.environ.get("DX_BIN_DIR") or SOURCE / "build" / "release").resolve()
DOMAINDEX = BIN / "domaindex"
DOMAINDEXD = BIN / "domaindexd"
SANITIZED = bool(os.environ.get("DX_SANITIZE"))
# What CI has no time for: more of the same, from tests that say so.
WHOLE = bool(os.environ.get("DX_WHOLE") or os.environ.get("DX_ORACLE_WHOLE"))

# For servers whose replies are compared byte for byte: a cursor says when it was made.
SAME_BYTES = ("--cursor-life", 0)

_failures = 0
_checks = 0


def shared_data(relative):
    """A file of the shared real data, or None where it is missing."""
    folder = os.environ.get("DX_SHARED_DATA") or SOURCE.parent / "shared" / "data"
    path = pathlib.Path(folder) / relative
    return path if path.exists() else None


def suffix_list():
    """The Public Suffix List that ingest takes unless told otherwise (Debian: publicsuffix)."""
    with open("/usr/share/publicsuffix/public_suffix_list.dat", encoding="utf-8") as text:
        return text.read()


def skip(reason):
    print(f"SKIPPED: {reason}", flush=True)
    sys.exit(77)


def need_programs():
    for program in (DOMAINDEX, DOMAINDEXD):
        if not program.exists():
            print(f"{program} is not built", flush=True)
            sys.exit(1)


def id_bits():
    """How many bits of their hash ids have: 64, fewer in programs built to collide."""
    words = run(DOMAINDEX, "--version").stdout.decode()
    cut = re.search(r"ids of (\d+) bits", words)
    return int(cut.group(1)) if cut else 64


def check(true, words):
    """Counts a check; a failed one is printed and makes finish() exit 1."""
    global _failures, _checks
    _checks += 1
    if not true:
        _failures += 1
        if _failures <= 50:
            print(f"FAILED: {words}", flush=True)
    return bool(true)


def _thread_ended(end):
    """An exception that ends a thread is a failed check: what the thread looked at was not looked at to the end."""
    threading.__excepthook__(end)
    check(False, f"thread {end.thread.name if end.thread else '?'}: {end.exc_type.__name__}: {end.exc_value}")


threading.excepthook = _thread_ended


def equal(got, want, words):
    return check(got == want, f"{words}: got {got!r:.400}, want {want!r:.400}")


def wait_until(condition, seconds=60):
    """Calls condition() until it is true or the time is over; returns what it returned last. Use it for what other
    threads and processes do when they get to it: a time that a loaded machine cannot break, not an expectation of speed."""
    end = time.monotonic() + seconds
    while not (result := condition()) and time.monotonic() < end:
        time.sleep(0.02)
    return result


def in_time(seconds, limit_s, words):
    """A promise of time. It is judged on a machine that does nothing else (DX_TIMED: scripts/test.sh long)."""
    if os.environ.get("DX_TIMED"):
        check(seconds < limit_s, f"{words}: {seconds:.2f} s, at most {limit_s}")


def fraction(part, whole):
    """As answers write shares: nine decimals, half up."""
    return (2 * part * 10**9 + whole) // (2 * whole) / 1e9 if whole else 0


def failures():
    return _failures


def finish(skipped=None):
    """skipped: what of the test could not be tried here."""
    print(f"{_checks} checks, {_failures} failed", flush=True)
    if skipped and not _failures:
        skip(skipped)
    sys.exit(1 if _failures or not _checks else 0)


@contextlib.contextmanager
def tempdir(parent=None):
    """A folder that is gone afterwards; DX_KEEP=1 keeps it and names it."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="domaindex-test-", dir=parent))
    try:
        yield path
    finally:
        if os.environ.get("DX_KEEP"):
            print(f"kept: {path}")
        else:
            shutil.rmtree(path, ignore_errors=True)


def short_psl(folder, *suffixes):
    """Options of an ingest that makes a root: a short list of suffixes, written into folder. To read the system's list takes half of the time
    of each command on a small root."""
    path = pathlib.Path(folder) / "suffixes"
    path.write_text("".join(f"{suffix}\n" for suffix in suffixes))
    return "--psl", path


def run(*command, input=None, expect=0, timeout=3600 if WHOLE else 600, env=None, cwd=None):
    """Runs a program; any exit code but `expect` ends the test with its words."""
    command = [str(part) for part in command]
    done = subprocess.run(command, input=input, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=timeout, env={**os.environ, **(env or {})}, cwd=cwd, check=False)
    if expect is not None and done.returncode != expect:
        print(f"FAILED: {' '.join(command)}\n  exit {done.returncode}, expected {expect}")
        print(done.stdout.decode("utf-8", "replace")[-4000:])
        print(done.stderr.decode("utf-8", "replace")[-4000:], flush=True)
        sys.exit(1)
    return done


def domaindex(*arguments, **options):
    return run(DOMAINDEX, *arguments, **options)


def written(log):
    """What a program has written to a file of ours so far. By pread: the program shares the file's offset, and a
    seek would let a line that it writes at that moment overwrite the first one."""
    return os.pread(log.fileno(), os.fstat(log.fileno()).st_size, 0).decode("utf-8", "replace")


class Reply:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)


def _request(host, port, method, target, headers, body):
    """Head of a request, with the fields that http.client would send."""
    names = {name.lower() for name in headers}
    if re.search("[^!-~]", target):
        raise http.client.InvalidURL(f"{target!r} is not ASCII without spaces")
    lines = [f"{method} {target} HTTP/1.1"]
    if "host" not in names:
        lines.append(f"Host: {host}:{port}")
    if "accept-encoding" not in names:
        lines.append("Accept-Encoding: identity")
    if "content-length" not in names and (body is not None or method in ("POST", "PUT", "PATCH")):
        lines.append(f"Content-Length: {len(body or b'')}")
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "\r\n"]).encode("latin-1")


class Link:
    """A kept connection to a server. One thread at a time. Not http.client, which takes twice the CPU time for a request: the tests
    send some hundred thousand."""

    def __init__(self, host, port, tls=None):
        """tls: the ssl.SSLContext of an HTTPS server."""
        self.host, self.port, self.tls, self._socket, self._buffer = host, port, tls, None, bytearray()

    def close(self):
        if self._socket:
            self._socket.close()
        self._socket, self._buffer = None, bytearray()

    def get(self, target, method="GET", headers=None, body=None):
        """One request on a kept connection. body: bytes; they and the reply must fit the sockets."""
        head = _request(self.host, self.port, method, target, headers or {}, body)
        for again in (True, False):
            try:
                if not self._socket:
                    self._connect()
                self._socket.sendall(head)
                if body:
                    self._socket.sendall(body)
                return self._reply(method)
            except (http.client.HTTPException, ConnectionError):
                self.close()  # an idle connection may have been closed: once more on a new one
                if not again:
                    raise
            except BaseException:
                self.close()  # what is left of the reply is of no use
                raise
        raise AssertionError("not reached")

    def _connect(self):
        self._socket = socket.create_connection((self.host, self.port), 120)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.tls:
            self._socket = self.tls.wrap_socket(self._socket, server_hostname=self.host)

    def _more(self):
        piece = self._socket.recv(1 << 18)
        if not piece:
            raise http.client.IncompleteRead(bytes(self._buffer)) if self._buffer else http.client.RemoteDisconnected("closed without a reply")
        self._buffer += piece

    def _until(self, mark):
        begin = 0
        while (at := self._buffer.find(mark, begin)) < 0:
            begin = max(0, len(self._buffer) - len(mark))
            self._more()
        return self._take(at + len(mark))[:at]

    def _take(self, size):
        while len(self._buffer) < size:
            self._more()
        out = bytes(self._buffer[:size])
        del self._buffer[:size]
        return out

    def _reply(self, method):
        status = 100
        while status == 100:
            first, *lines = self._until(b"\r\n\r\n").decode("latin-1").split("\r\n")
            if not re.match(r"HTTP/1\.[01] [1-9]\d\d( |$)", first):
                raise http.client.BadStatusLine(first)
            status = int(first[9:12])
        fields = (line.partition(":") for line in lines)
        headers = {name.lower(): value.strip() for name, _, value in fields}
        body = b"" if method == "HEAD" or status < 200 or status in (204, 304) else self._body(headers)
        if headers.get("connection", "").lower() == "close" or first.startswith("HTTP/1.0"):
            self.close()
        return Reply(status, headers, body)

    def _body(self, headers):
        if headers.get("transfer-encoding", "").lower() == "chunked":
            pieces = []
            while size := int(self._until(b"\r\n").split(b";")[0], 16):
                pieces.append(self._take(size + 2)[:size])
            while self._until(b"\r\n"):
                pass  # a trailer
            return b"".join(pieces)
        if "content-length" in headers:
            return self._take(int(headers["content-length"]))
        with contextlib.suppress(http.client.HTTPException):
            while True:
                self._more()
        body = bytes(self._buffer)
        self.close()
        return body


class Server(Link):
    """domaindexd on a free port of 127.0.0.1, until the end of the with block."""

    # Unless the test says so itself: machines are slow at times, and a test may read late what it asked for early.
    patience = {"--queue-timeout-ms": 60000, "--write-timeout-ms": 300000}

    def __init__(self, root, *arguments, program=None, deadline_s=180, preexec=None, tls=None):
        """tls: the ssl.SSLContext that get() asks with, if the arguments make it an HTTPS server."""
        super().__init__("127.0.0.1", None, tls)
        self.deadline_s = deadline_s
        self.log = tempfile.TemporaryFile()
        patience = [word for item in self.patience.items() if item[0] not in arguments for word in item]
        self.process = subprocess.Popen(
            [str(program or DOMAINDEXD), "--root", str(root), "--listen", "127.0.0.1:0",
             "--admin", "127.0.0.1:0", *map(str, (*patience, *arguments))],
            stdout=self.log, stderr=subprocess.STDOUT, preexec_fn=preexec)
        self.admin_port = None

    def words(self):
        return written(self.log)

    def __enter__(self):
        end = time.monotonic() + self.deadline_s
        while time.monotonic() < end:
            if self.process.poll() is not None:
                break
            match = re.search(r" on https?://127\.0\.0\.1:(\d+)", self.words())
            if match and int(match.group(1)) > 0:
                self.port = int(match.group(1))
                admin = re.search(r"admin listener on http://127\.0\.0\.1:(\d+)\n", self.words())
                self.admin_port = int(admin.group(1)) if admin else None
                with contextlib.suppress(OSError, http.client.HTTPException):
                    if self.get("/readyz").status == 200:
                        return self
            time.sleep(0.02)
        print(f"FAILED: domaindexd did not get ready:\n{self.words()}", flush=True)
        self.process.kill()
        sys.exit(1)

    def __exit__(self, kind, value, trace):
        self.close()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(120)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = "did not end within 120 s of SIGTERM"
        if not check(status == 0, f"domaindexd's exit after SIGTERM: {status}"):
            print(self.words()[-6000:], flush=True)
        self.log.close()

    def admin(self, target):
        """One request of the admin listener, on a connection of its own."""
        link = Link(self.host, self.admin_port)
        try:
            return link.get(target)
        finally:
            link.close()

    def metrics(self):
        """{"name" or 'name{label="value"}': number}"""
        lines = self.admin("/metrics").body.decode().splitlines()
        return {name: float(value) for name, value in
                (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))}
