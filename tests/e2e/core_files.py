#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: plain
"""Core files and lists of processes: passwords, keys and tokens of commands and servers are in neither. The same search finds a marker in the core of a
command without secrets.

In detail: commands that wait for a silent store, database, broker or server are killed by SIGABRT with core files allowed, and so is a server with
`--sandbox no`: secret keys, session tokens, passwords, derived signing keys, from the environment, files, arguments and a credentials service; with gdb,
what `gcore` writes too. Arguments that held a password are shown without it, and are used with it.
"""
import contextlib
import datetime
import hashlib
import hmac
import pathlib
import resource
import secrets
import shutil
import signal
import socket
import subprocess
import threading

import dxtest
from dxtest import check, domaindex, equal

REGION = "eu-test-1"


def secret(kind):
    return f"{kind}x{secrets.token_hex(12)}"


class Silent:
    """Takes connections, reads what comes and answers nothing, or `answer` once."""

    def __init__(self, answer=None):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.asked, self.answer, self.got, self.open = threading.Event(), answer, b"", []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.socket.accept()
                self.open.append(connection)
                threading.Thread(target=self._read, args=(connection,), daemon=True).start()

    def _read(self, connection):
        with contextlib.suppress(OSError):
            while data := connection.recv(65536):
                self.got += data
                self.asked.set()
                if self.answer:
                    connection.sendall(self.answer)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for each in (self.socket, *self.open):
            each.close()


def derived_keys(key):
    """Each step from the secret key to the one that signs, of today and of tomorrow."""
    for day in (0, 1):
        at = key = b"AWS4" + key.encode() if isinstance(key, str) else key
        date = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=day)).strftime("%Y%m%d")
        for part in (date, REGION, "s3", "aws4_request"):
            at = hmac.new(at, part.encode(), hashlib.sha256).digest()
            yield at


class Started:
    """A program that may leave core files in a folder of its own."""

    def __init__(self, tmp, *arguments, env=None, program=dxtest.DOMAINDEX):
        self.folder = tmp / f"core-{secrets.token_hex(4)}"
        self.folder.mkdir()
        most = resource.getrlimit(resource.RLIMIT_CORE)[1]
        clean = {"PATH": "/usr/bin:/bin", "HOME": str(tmp), "AWS_EC2_METADATA_DISABLED": "true", "AWS_REGION": REGION}
        self.words = open(self.folder / "words", "w+b")
        self.process = subprocess.Popen([str(program), *map(str, arguments)], cwd=self.folder, env={**clean, **(env or {})}, stdin=subprocess.PIPE,
                                        stdout=self.words, stderr=self.words,
                                        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (most, most)))

    def said(self):
        return (self.folder / "words").read_bytes().decode(errors="replace")

    def shown(self):
        """As ps prints it."""
        return pathlib.Path(f"/proc/{self.process.pid}/cmdline").read_bytes().decode(errors="replace").split("\0")

    def gcore(self):
        """What gdb writes of it; None: no gdb."""
        if not shutil.which("gdb"):
            return None
        to = self.folder / "by-gdb"
        subprocess.run(["gdb", "-nx", "-batch", "-iex", "set auto-solib-add off", "-iex", "set debuginfod enabled off", "-p", str(self.process.pid),
                        "-ex", f"gcore {to}"], capture_output=True, check=False, timeout=120)
        return to.read_bytes() if to.exists() else b""

    def abort(self):
        """The core file; None: the process left none."""
        self.process.send_signal(signal.SIGABRT)
        self.process.wait(60)
        self.words.close()
        cores = list(self.folder.glob("core*"))
        data = b"".join(path.read_bytes() for path in cores)
        for path in cores:
            path.unlink()
        return data if cores else None


def hidden(what, data, wanted):
    """Whether none of the secrets is in the bytes."""
    text = {name: value.encode() if isinstance(value, str) else value for name, value in wanted.items()}
    equal([name for name, value in text.items() if value in (data or b"")], [], f"{what}: secrets in its core file")


def search_finds(tmp):
    """A command that holds no secrets can be dumped, and a marker is found in what it leaves. False: no core files here."""
    marker = secret("marker")
    started = Started(tmp, "ingest", "--root", tmp / "plain", "--dataset", marker, "--format", "list", "-", env={"OTHER": marker})
    dxtest.wait_until((tmp / "plain").exists)
    written = started.gcore()
    if written is not None:
        check(marker.encode() in written, f"gcore of a command without secrets has the marker ({len(written)} bytes)")
    core = started.abort()
    if core is None:
        return False
    check(marker.encode() in core, "the core of a command without secrets has the marker")
    return True


def waits(tmp, what, silent, arguments, env, wanted, by_gdb=False, **more):
    """Runs it until the silent server is asked, and looks at what it leaves."""
    started = Started(tmp, *arguments, env=env, **more)
    dxtest.wait_until(lambda: silent.asked.is_set() or started.process.poll() is not None)
    if not check(silent.asked.is_set() and started.process.poll() is None, f"{what}: it asks: {started.said()}"):
        return []
    silent.asked.clear()
    shown = started.shown()
    equal([name for name, value in wanted.items() if isinstance(value, str) and any(value in word for word in shown)], [], f"{what}: in the list of processes")
    if by_gdb and (written := started.gcore()) is not None:
        check(b"CORE" in written or not written, f"{what}: gcore wrote something else")
        hidden(f"{what}, by gcore", written, wanted)
    core = started.abort()
    equal(core is None, True, f"{what}: no core file ({len(core or b'')} bytes)")
    hidden(what, core, wanted)
    equal([name for name, value in wanted.items() if isinstance(value, str) and value in started.said()], [], f"{what}: in its messages")
    return shown


def of_stores(tmp, root):
    key, token = secret("key"), secret("token")
    wanted = {"secret key": key, "session token": token, **{f"derived key {n}": part for n, part in enumerate(derived_keys(key))}}
    env = {"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": key, "AWS_SESSION_TOKEN": token}
    file = tmp / "aws"
    file.write_text(f"[default]\naws_access_key_id = id\naws_secret_access_key = {key}\naws_session_token = {token}\n")
    with Silent() as silent:
        at = {"AWS_ENDPOINT_URL_S3": silent.url}
        waits(tmp, "publish, environment", silent, ("publish", "--root", "s3://bucket/root"), {**env, **at}, wanted, by_gdb=True)
        check(b"AWS4-HMAC-SHA256" in silent.got and token.encode() in silent.got, "a request was signed")
        from_file = {"AWS_SHARED_CREDENTIALS_FILE": str(file), **at}
        for what, *arguments in (("publish", "--root", "s3://bucket/root"), ("lookup", "--root", "s3://bucket/root", "a.example"),
                                 ("ingest", "--root", root, "--dataset", "d", "s3://bucket/rows.txt")):
            waits(tmp, f"{what}, file", silent, (what, *arguments), from_file, wanted)
        waits(tmp, "domaindexd --sandbox no", silent, ("--root", "s3://bucket/root", "--listen", "127.0.0.1:0", "--sandbox", "no", "--cache-dir", tmp / "cache"),
              from_file, wanted, by_gdb=True, program=dxtest.DOMAINDEXD)
        body = f'{{"AccessKeyId":"id","SecretAccessKey":"{key}","Token":"{token}","Expiration":"2099-01-01T00:00:00Z"}}'
        with Silent(f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()) as service:
            of_container = {"AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{service.url}/x", **at}
            waits(tmp, "publish, container", silent, ("publish", "--root", "s3://bucket/root"), of_container, wanted)
        # A local root; the environment has the keys all the same.
        started = Started(tmp, "ingest", "--root", tmp / "local", "--dataset", "d", "--format", "list", "-", env=env)
        dxtest.wait_until((tmp / "local").exists)
        hidden("ingest to a directory", started.abort(), wanted)


def of_postgres(tmp, root):
    password = secret("password")
    with Silent() as silent:
        place = f"host=127.0.0.1 port={silent.port} dbname=d user=u"
        command = ("export", "--root", root, "--postgres")
        shown = waits(tmp, "PostgreSQL, a URI", silent, (*command, f"postgresql://u:{password}@127.0.0.1:{silent.port}/d"), {}, {"password": password})
        check(any(word.startswith("postgresql://u:xxx") and word.endswith(f"@127.0.0.1:{silent.port}/d") for word in shown), f"the rest is shown: {shown}")
        shown = waits(tmp, "PostgreSQL, a parameter", silent, (*command[:-1], f"--postgres={place} password={password}"), {}, {"password": password})
        check(any(word.startswith(f"--postgres={place} password=xxx") for word in shown), f"the rest is shown: {shown}")
        waits(tmp, "PostgreSQL, PGPASSWORD", silent, (*command, place), {"PGPASSWORD": password}, {"password": password})
        file = tmp / "pgpass"
        file.write_text(f"*:*:*:*:{password}\n")
        file.chmod(0o600)
        waits(tmp, "PostgreSQL, a password file", silent, (*command, place), {"PGPASSFILE": str(file)}, {"password": password})


def of_brokers(tmp):
    password = secret("password")
    (tmp / "token").write_text("rows\n")
    with Silent() as silent:
        place = f"127.0.0.1:{silent.port}/v?queue=q"
        for what, *arguments in (("ingest", "--root", tmp / "fed", "--from"), ("ship", "--dataset", "d", tmp / "token", "--to")):
            shown = waits(tmp, f"{what}, a URL", silent, (what, *arguments, f"amqp://crawl:{password}@{place}"), {}, {"password": password})
            check(any(word.startswith("amqp://crawl:xxx") and word.endswith(f"@{place}") for word in shown), f"the rest is shown: {shown}")
            waits(tmp, f"{what}, environment", silent, (what, *arguments, f"amqp://{place}"), {"DOMAINDEX_AMQP_PASSWORD": password}, {"password": password})


def of_tokens(tmp):
    token = secret("dxk_")
    file = tmp / "token"
    file.write_text(token + "\n")
    with Silent() as silent:
        waits(tmp, "bench", silent, ("bench", "--token-file", file, silent.url), {}, {"token": token})


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        root = tmp / "root"
        domaindex("ingest", "--root", root, "--dataset", "d", "--format", "list", "-", input=b"http://a.example/x\n")
        domaindex("publish", "--root", root)
        domaindex("domain64", "init", "--root", root)
        domaindex("domain64", "fill", "--root", root)
        dumps = search_finds(tmp)
        of_stores(tmp, root)
        of_postgres(tmp, root)
        of_brokers(tmp)
        of_tokens(tmp)
    dxtest.finish(skipped=None if dumps else "core files are not written into the working directory here: only lists of processes were looked at")


if __name__ == "__main__":
    main()
