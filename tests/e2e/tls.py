#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: threads short plain
"""HTTPS of domaindexd: what curl, openssl s_client and Python's ssl get; answers of the same bytes as without TLS; certificates exchanged under
load, broken, expired; clients that misbehave, from TLS 1.0 to a handshake without an end; what a handshake costs its address; PROXY headers in front.
Under sanitizers, without DX_WHOLE, what threads share: sessions, answers, slow readers, certificates exchanged under load.
"""
import http.client
import json
import os
import re
import select
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import time

import authority
import dxtest
from dxtest import check, equal

PAGES = 3000
SHARED_ALONE = dxtest.SANITIZED and not dxtest.WHOLE
DOMAIN = "/v1/domain/example.com"
LISTING = f"/v1/domain/example.com/urls?dataset=d&limit={PAGES}"
HOUR = 3600


def make_root(tmp):
    urls = tmp / "urls"
    urls.write_text("".join(f"https://example.com/{n:05d}/{'x' * 200}\n" for n in range(PAGES)) + "https://example.org/\n")
    dxtest.domaindex("ingest", "--root", tmp / "root", "--dataset", "d", "--format", "list", urls)
    dxtest.domaindex("publish", "--root", tmp / "root")
    return tmp / "root"


class Plain:
    """A connection under test, before TLS or without it."""

    def __init__(self, server, first=b"", source="127.0.0.1", pieces=65536, receive=0):
        self.socket = socket.socket()
        self.socket.settimeout(60)
        if receive:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
        self.socket.bind((source, 0))
        self.socket.connect(("127.0.0.1", server.port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for at in range(0, len(first), pieces):
            self.socket.sendall(first[at:at + pieces])

    def secure(self, context, session=None):
        self.socket = context.wrap_socket(self.socket, server_hostname="localhost", session=session)
        return self.socket


def secured(server, context, session=None, **how):
    return Plain(server, **how).secure(context, session)


def get(link, target=DOMAIN, more=""):
    """Status and body over one connection that stays."""
    link.sendall(f"GET {target} HTTP/1.1\r\nHost: localhost\r\n{more}\r\n".encode())
    reply = http.client.HTTPResponse(link)
    reply.begin()
    return reply.status, reply.read()


def end_of(plain):
    """The bytes until the server's end, of a socket that is not to stay open."""
    told = b""
    try:
        while more := plain.recv(65536):
            told += more
    except ConnectionResetError:
        pass
    return told


def s_client(server, ca, *options, lines=b"", expect=None):
    return subprocess.run([authority.OPENSSL, "s_client", "-connect", f"127.0.0.1:{server.port}", "-CAfile", ca, *options], input=lines, capture_output=True, timeout=60, check=False)


def handshakes(server):
    told = server.metrics()
    return {kind: told[f'domaindex_tls_handshakes_total{{result="{kind}"}}'] for kind in ("full", "resumed", "failed")}


# ---- what is spoken ----

def versions(server, ca):
    for option, version in (("-tls1_2", "TLSv1.2"), ("-tls1_3", "TLSv1.3")):
        done = s_client(server, ca.file, option, "-alpn", "h2,http/1.1")
        check(f"Protocol  : {version}".encode() in done.stdout or f"New, {version}".encode() in done.stdout, f"{version} is spoken: {done.stdout[-600:]}")
        check(b"ALPN protocol: http/1.1" in done.stdout and b"Verify return code: 0" in done.stdout, f"{version}: http/1.1 and a certificate that holds")
    for option in ("-tls1", "-tls1_1"):
        done = s_client(server, ca.file, option, "-cipher", "DEFAULT@SECLEVEL=0")
        check(b"alert protocol version" in done.stderr, f"{option} is refused by an alert: {done.stderr[-300:]}")
    for cipher in ("AES128-SHA", "AES256-GCM-SHA384", "ECDHE-ECDSA-AES256-SHA"):
        done = s_client(server, ca.file, "-tls1_2", "-cipher", f"{cipher}@SECLEVEL=0")
        check(b"alert handshake failure" in done.stderr, f"{cipher} is refused: {done.stderr[-300:]}")
    try:
        secured(server, ca.context(alpn=["h2"]))
        check(False, "a client that speaks HTTP/2 alone is refused")
    except ssl.SSLError as error:
        check("no application protocol" in str(error).lower().replace("_", " "), f"no protocol in common: {error}")
    equal(secured(server, ca.context(alpn=[])).selected_alpn_protocol(), None, "a client without ALPN")


def renegotiation(server, ca):
    done = s_client(server, ca.file, "-tls1_2", lines=b"R\n")
    check(b"no renegotiation" in done.stderr.lower() + done.stdout.lower(), f"renegotiation is refused: {done.stderr[-400:]}")
    with subprocess.Popen([authority.OPENSSL, "s_client", "-connect", f"127.0.0.1:{server.port}", "-CAfile", ca.file, "-tls1_3", "-quiet"],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as client:
        client.stdin.write(f"GET {DOMAIN} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        client.stdin.flush()
        check(client.stdout.read().startswith(b"HTTP/1.1 200"), "a request by s_client")


def key_updates(server, ca):
    """Keys that change in the middle of a connection (TLS 1.3), which s_client asks for by K."""
    with subprocess.Popen([authority.OPENSSL, "s_client", "-connect", f"127.0.0.1:{server.port}", "-CAfile", ca.file, "-tls1_3"],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as client:
        told = b""
        for number in range(1, 6):
            client.stdin.write(b"K\n")
            client.stdin.flush()
            while (line := client.stderr.readline()) and b"KEYUPDATE" not in line:
                pass
            client.stdin.write(f"GET {DOMAIN} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            client.stdin.flush()
            while told.count(b'"complete":true}') < number and select.select([client.stdout], [], [], 30)[0]:
                more = os.read(client.stdout.fileno(), 65536)
                if not more:
                    break
                told += more
        client.stdin.close()
        told += client.stdout.read()
    equal(told.count(b"HTTP/1.1 200"), 5, "answers between changes of keys")


def sessions(server, ca):
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        context = ca.context()
        context.minimum_version = context.maximum_version = version
        before = handshakes(server)
        first = secured(server, context)
        get(first)
        session = first.session
        first.close()
        again = secured(server, context, session)
        get(again)
        check(again.session_reused, f"{version!r}: a session goes on by its ticket")
        after = handshakes(server)
        equal([after[k] - before[k] for k in ("full", "resumed", "failed")], [1, 1, 0], f"{version!r}: counts of handshakes")


# ---- what is answered ----

def same_bytes(root, server, plain, ca):
    for target in (DOMAIN, LISTING, "/v1/datasets", "/v1/domains?limit=10", "/nothing"):
        equal(server.get(target).body, plain.get(target).body, f"{target}: as without TLS")
    lines = "/v1/domain/example.com/urls?dataset=d&format=ndjson"
    equal(server.get(lines).body, plain.get(lines).body, "a stream of rows")
    names = b"example.com\nexample.org\nnone.example\n" * 2000
    head = {"Content-Type": "text/plain", "Expect": "100-continue"}
    equal(server.get("/v1/domains", "POST", head, names).body, plain.get("/v1/domains", "POST", head, names).body, "a list of names")
    served = json.loads(server.get("/collinfo.json").body)
    check(served and all(c["cdx-api"].startswith("https://") for c in served), f"addresses in answers: {served}")
    link = secured(server, ca.context())
    link.sendall(f"GET {DOMAIN} HTTP/1.1\r\nHost: x\r\n\r\n".encode() * 100)
    told = b""
    while told.count(b'"complete":true}') < 100:
        more = link.recv(65536)
        if not more:
            break
        told += more
    equal(told.count(b"HTTP/1.1 200"), 100, "requests one behind another")


def slow_readers(server, plain, ca):
    """Replies that the socket does not take at once: the rest of a record goes before anything else is read or written."""
    want = plain.get(LISTING).body
    check(len(want) > 600000, f"a long answer: {len(want)} bytes")
    links = [secured(server, ca.context(), receive=4096) for _ in range(8)]
    for link in links:
        link.sendall(f"GET {LISTING} HTTP/1.1\r\nHost: x\r\n\r\nGET {DOMAIN} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
    for link in links:
        reply = http.client.HTTPResponse(link)
        reply.begin()
        equal((reply.status, reply.read() == want), (200, True), "a long answer, read slowly")
        rest = b""
        while more := link.recv(4096):
            rest += more
        check(b'"complete":true}' in rest, "the answer behind it, and the end of TLS: recv gave no error")


def by_curl(server, ca):
    done = dxtest.run(shutil.which("curl"), "-sS", "--fail", "--cacert", ca.file, *(f"https://localhost:{server.port}{DOMAIN}" for _ in range(20)))
    equal(done.stdout.count(b'"complete":true}'), 20, "curl: 20 answers")
    dxtest.run(shutil.which("curl"), "-sS", f"https://localhost:{server.port}{DOMAIN}", expect=60)
    plain = dxtest.run(shutil.which("curl"), "-sS", "-i", f"http://127.0.0.1:{server.port}{DOMAIN}").stdout
    check(plain.startswith(b"HTTP/1.1 400") and b"https://" in plain, f"plain HTTP gets an answer that says so: {plain[:300]}")


# ---- clients that misbehave ----

def misbehaving(root, files, ca):
    with dxtest.Server(root, *files, "--head-timeout-ms", 1000, "--idle-timeout-ms", 1000, "--threads", 1, tls=ca.context()) as server:
        hello = hello_bytes()
        before = server.metrics()
        begun = time.monotonic()
        stuck = [Plain(server, hello[:size]).socket for size in (0, 1, 5, 20, len(hello) - 1)]
        waits = [Plain(server, hello).socket for _ in range(3)]  # for the client's answer
        drip = Plain(server)
        for byte in hello[:40]:
            try:
                drip.socket.sendall(bytes((byte,)))
                equal(server.get(DOMAIN).status, 200, "others are answered beside a drip")
            except OSError:
                break
            time.sleep(0.05)
        for link in (*stuck, *waits, drip.socket):
            end_of(link)
        check(time.monotonic() - begun < 30, "a handshake without an end is ended by the time of a head")
        equal(server.metrics()['domaindex_http_rejected_total{reason="timeout"}'] - before['domaindex_http_rejected_total{reason="timeout"}'], 9, "and counted as a timeout")

        for first in (bytes(range(256)) * 8, b"\x16\x03\x01\xff\xff" + bytes(70000), b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00", b"\x17\x03\x03\x00\x05hello", b"\x80\x2e\x01\x00\x02" + bytes(60)):
            link = Plain(server)
            try:
                link.socket.sendall(first)
                end_of(link.socket)
            except (BrokenPipeError, ConnectionResetError):
                pass
            equal(server.get(DOMAIN).status, 200, f"{first[:10]!r}: others are answered")
        for method in (b"GET / HTTP/1.1\r\n\r\n", b"POST /v1/domains HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello", b"HEAD / HTTP/1.0\r\n\r\n"):
            check(end_of(Plain(server, method).socket).startswith(b"HTTP/1.1 400"), f"{method!r} without TLS")

        link = secured(server, ca.context())  # cut in the middle of a head: no request
        link.sendall(b"GET " + DOMAIN.encode())
        os.close(link.detach())
        link = secured(server, ca.context())  # the end of a body that never comes
        link.sendall(b"POST /v1/domains HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nexample.com\n")
        os.close(link.detach())
        damaged = Plain(server)
        kept = socket.socket(fileno=os.dup(damaged.socket.fileno()))
        kept.settimeout(60)
        damaged.secure(ca.context())
        kept.sendall(b"\x17\x03\x03\x00\x20" + bytes(32))
        end_of(kept)
        link = secured(server, ca.context())
        get(link)
        equal(link.recv(10), b"", "an idle connection ends by the end of TLS, not by a cut")
        equal(server.get(DOMAIN).status, 200, "the server serves on")
        dxtest.wait_until(lambda: server.metrics()["domaindex_connections"] <= 2)


def hello_bytes():
    """A ClientHello."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.create_default_context()
    try:
        context.wrap_bio(incoming, outgoing, server_hostname="localhost").do_handshake()
    except ssl.SSLWantReadError:
        pass
    return outgoing.read()


def limits(root, files, ca):
    """A handshake costs its address, whatever comes of it; others are served on."""
    with dxtest.Server(root, *files, "--address-cost-per-s", 1, "--address-burst", 400, "--address-connections", 20, tls=ca.context()) as server:
        done = 0
        for _ in range(60):
            try:
                secured(server, ca.context(), source="127.0.0.9").close()
                done += 1
            except (OSError, ssl.SSLError):
                break
        check(12 <= done <= 20, f"{done} handshakes, then its budget is spent")
        told = server.metrics()
        check(told['domaindex_http_rejected_total{reason="address_cost"}'] >= 1, "which is counted")
        secured(server, ca.context(), source="127.0.0.8").close()
        links = [Plain(server, source="127.0.0.7") for _ in range(25)]
        dxtest.wait_until(lambda: server.metrics()['domaindex_http_rejected_total{reason="address_connections"}'] >= 5)
        for link in links:
            link.socket.close()


# ---- a proxy in front that passes connections on ----

def behind_proxy(root, files, ca):
    v1 = b"PROXY TCP4 203.0.113.%d 203.0.113.1 40000 443\r\n"
    v2 = b"\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x0c\xcb\x00\x71%c\xcb\x00\x71\x01\x9c\x40\x01\xbb"
    with dxtest.Server(root, *files, "--proxy-protocol", "yes", "--trusted-proxy", "127.0.0.2", "--address-cost-per-s", 1, "--address-burst", 400, tls=ca.context()) as server:
        for number, (head, pieces) in enumerate(((v1, 999), (v1, 1), (v2, 999), (v2, 1)), 10):
            link = secured(server, ca.context(), first=head % number, source="127.0.0.2", pieces=pieces)
            equal(get(link)[0], 200, f"{head!r} in pieces of {pieces} before TLS")
        statuses = []
        for _ in range(60):
            try:
                statuses.append(get(secured(server, ca.context(), first=v2 % 99, source="127.0.0.2"))[0])
            except (OSError, ssl.SSLError, http.client.HTTPException):
                statuses.append(None)
        check(statuses[0] == 200 and statuses[-1] != 200, f"handshakes of a client behind a proxy cost the client: {statuses}")
        equal(get(secured(server, ca.context(), first=v2 % 98, source="127.0.0.2"))[0], 200, "and no other one")
        equal(end_of(Plain(server, b"\x16\x03\x01" + bytes(60), source="127.0.0.2").socket), b"", "no header: closed")
        equal(get(secured(server, ca.context()))[0], 200, "who is no proxy sends none")


# ---- certificates ----

def put(tmp, pem, key):
    """As a renewal does: each file replaced by a rename."""
    for source, name in ((key, "server.key"), (pem, "server.pem")):
        shutil.copy(source, tmp / "new")
        os.chmod(tmp / "new", 0o600)
        os.rename(tmp / "new", tmp / name)


def name_of(server, ca):
    with secured(server, ca.context()) as link:
        return dict(pair[0] for pair in link.getpeercert()["subject"])["commonName"]


def exchange(root, tmp, ca):
    pairs = [ca.issue("one", days=30), ca.issue("two", days=60, rsa=True)]
    put(tmp, *pairs[0])
    files = ("--tls-certificate", tmp / "server.pem", "--tls-key", tmp / "server.key")
    with dxtest.Server(root, *files, "--poll-ms", 200, tls=ca.context()) as server:
        equal(name_of(server, ca), "one", "the first certificate")
        early = secured(server, ca.context())
        get(early)
        put(tmp, *pairs[1])
        dxtest.wait_until(lambda: name_of(server, ca) == "two")
        check(abs(server.metrics()["domaindex_tls_certificate_expiry_timestamp_seconds"] - time.time() - 60 * 24 * HOUR) < HOUR, "the metric says when it ends")
        equal(get(early)[0], 200, "a connection goes on under the certificate that it began with")

        failed, done, over = [], [0] * 4, threading.Event()

        def ask(worker):
            while not over.is_set():
                try:
                    link = secured(server, ca.context())
                    for _ in range(5):
                        if get(link)[0] != 200:
                            failed.append("status")
                    link.close()
                    done[worker] += 1
                except (OSError, ssl.SSLError, http.client.HTTPException) as error:
                    failed.append(repr(error))
        workers = [threading.Thread(target=ask, args=(n,)) for n in range(len(done))]
        for worker in workers:
            worker.start()
        for number in range(8):
            put(tmp, *pairs[number % 2])
            server.process.send_signal(signal.SIGHUP)
            dxtest.wait_until(lambda number=number: name_of(server, ca) == ("one", "two")[number % 2])
        over.set()
        for worker in workers:
            worker.join()
        check(not failed and min(done) > 0, f"while certificates are exchanged: {done} connections, failed: {failed[:3]}")

        def refused(words, act):
            act()
            server.process.send_signal(signal.SIGHUP)
            dxtest.wait_until(lambda: words in server.words())
            dxtest.wait_until(lambda: server.metrics()["domaindex_tls_certificate_last_look_successful"] == 0)
            equal(name_of(server, ca), "two", f"{words}: the old one stays")
            put(tmp, *pairs[1])
            dxtest.wait_until(lambda: server.metrics()["domaindex_tls_certificate_last_look_successful"] == 1)
        refused("not the key of the certificate", lambda: shutil.copy(pairs[0][0], tmp / "server.pem"))
        refused("no certificate in PEM begins it", lambda: (tmp / "server.pem").write_text("hello\n"))
        refused("certificate 2 is damaged", lambda: (tmp / "server.pem").write_bytes(pairs[1][0].read_bytes() + pairs[0][0].read_bytes()[:-80] + b"-----END CERTIFICATE-----\n"))
        refused("no private key in PEM", lambda: (tmp / "server.key").write_text(""))
        refused("No such file", lambda: (tmp / "server.key").unlink())
        refused("has expired", lambda: put(tmp, *ca.issue("old", days=-1)))
        check(re.search(r"certificate: the one in use stays, until \d{4}-\d\d-\d\d: ", server.words()), "the log says until when")
        equal(get(early)[0], 200, "the connection of the beginning lives yet")

        server.process.send_signal(signal.SIGTERM)  # stops accepting; its reply is the last one, and TLS ends in order
        equal(early.recv(10), b"", "at a stop an idle connection ends by the end of TLS")
        equal(server.process.wait(60), 0, "exit after SIGTERM")  # before a second signal, which would end it at once


def links(root, tmp, ca):
    """As certbot has it: links into a folder of all certificates so far, which the sandbox allows too."""
    archive, live = tmp / "archive", tmp / "live"
    archive.mkdir()
    live.mkdir()

    def renew(number):
        for source, kind in zip(ca.issue(f"renewed-{number}"), ("pem", "key")):
            shutil.move(source, archive / f"{number}.{kind}")
            os.symlink(archive / f"{number}.{kind}", live / "new")
            os.rename(live / "new", live / f"server.{kind}")
    renew(1)
    with dxtest.Server(root, "--tls-certificate", live / "server.pem", "--tls-key", live / "server.key", "--poll-ms", 200, tls=ca.context()) as server:
        renew(2)
        dxtest.wait_until(lambda: name_of(server, ca) == "renewed-2")


def start_and_check(root, tmp, ca):
    good, key = ca.issue("good")
    other_key = ca.issue("other")[1]
    daemon = (dxtest.DOMAINDEXD, "--root", root, "--listen", "127.0.0.1:0")

    def said(words, *options, expect=1, how=("--check",)):
        done = dxtest.run(*daemon, *options, *how, expect=expect)
        check(words in done.stderr.decode() + done.stdout.decode(), f"{options}: {done.stderr!r}")
    said("sound", "--tls-certificate", good, "--tls-key", key, expect=0)
    said("not the key", "--tls-certificate", good, "--tls-key", other_key)
    said("not the key", "--tls-certificate", good, "--tls-key", other_key, how=())
    said("no private key", "--tls-certificate", good)
    said("No such file", "--tls-certificate", tmp / "none.pem")
    said("has expired", "--tls-certificate", ca.issue("past", days=-1)[0], "--tls-key", tmp / "past.key")
    said("no certificates of authorities", "--tls-certificate", good, "--tls-key", key, "--tls-client-ca", key)
    said("plain HTTP", "--tls-key", key, expect=2)
    said("plain HTTP", "--tls-client-ca", ca.file, expect=2)
    (tmp / "both.pem").write_bytes(good.read_bytes() + key.read_bytes())
    os.chmod(tmp / "both.pem", 0o600)
    said("sound", "--tls-certificate", tmp / "both.pem", expect=0)
    os.chmod(key, 0o644)
    said("chmod 600", "--tls-certificate", good, "--tls-key", key)
    os.chmod(key, 0o600)
    locked = tmp / "locked.key"
    dxtest.run(authority.OPENSSL, "pkey", "-in", key, "-aes128", "-passout", "pass:secret", "-out", locked)
    said("passphrase", "--tls-certificate", good, "--tls-key", locked)
    doctor(tmp, ca, good, key)
    with dxtest.Server(root, "--tls-certificate", tmp / "both.pem", tls=ca.context()) as server:
        equal(server.get(DOMAIN).status, 200, "a certificate and its key in one file")


def doctor(tmp, ca, good, key):
    def finds(certificate, key, level, words, expect=0, check_name="certificate"):
        done = dxtest.domaindex("doctor", "--json", "--tls-certificate", certificate, *(("--tls-key", key) if key else ()), expect=expect)
        found = [f for f in json.loads(done.stdout)["findings"] if f["check"] == check_name]
        check(len(found) == 1 and found[0]["level"] == level and words in found[0]["found"], f"doctor: {words}: {found}")
    finds(good, key, "ok", "expires in")
    finds(tmp / "both.pem", None, "ok", "expires in")
    finds(*ca.issue("soon", days=10), "warning", "expires in")
    finds(*ca.issue("late", days=-1), "fault", "has expired", expect=1)
    finds(*ca.issue("early", days=9, start=5), "fault", "not valid yet", expect=1)
    finds(good, tmp / "other.key", "fault", "not the key", expect=1)
    os.chmod(key, 0o644)
    finds(good, key, "fault", "everybody on this machine", expect=1, check_name="key")
    os.chmod(key, 0o600)
    dxtest.domaindex("doctor", "--tls-key", key, expect=2)


def clients_of_ours(root, tmp, files, ca):
    strangers = tmp / "strangers"
    strangers.mkdir()
    with dxtest.Server(root, *files, "--tls-client-ca", ca.file, "--head-timeout-ms", 2000, tls=ca.context(client=ca.issue("client"))) as server:
        equal(server.get(DOMAIN).status, 200, "a client with a certificate")
        for client in (None, authority.Authority(strangers).issue("stranger")):
            try:
                status = get(secured(server, ca.context(client=client)))[0]
            except (OSError, ssl.SSLError, http.client.HTTPException):
                status = None
            equal(status, None, f"a client with {client}")
        check(handshakes(server)["failed"] >= 2, "and that is counted")


def main():
    dxtest.need_programs()
    if not authority.OPENSSL:
        dxtest.skip("openssl is not here")
    with dxtest.tempdir() as tmp:
        root = make_root(tmp)
        ca = authority.Authority(tmp)
        pem, key = ca.issue("server")
        files = ("--tls-certificate", pem, "--tls-key", key)
        with dxtest.Server(root, *files, *dxtest.SAME_BYTES, tls=ca.context()) as server, dxtest.Server(root, *dxtest.SAME_BYTES) as plain:
            sessions(server, ca)
            same_bytes(root, server, plain, ca)
            slow_readers(server, plain, ca)
            if not SHARED_ALONE:
                versions(server, ca)
                renegotiation(server, ca)
                key_updates(server, ca)
                by_curl(server, ca)
        exchange(root, tmp, ca)
        if not SHARED_ALONE:
            misbehaving(root, files, ca)
            limits(root, files, ca)
            behind_proxy(root, files, ca)
            links(root, tmp, ca)
            start_and_check(root, tmp, ca)
            clients_of_ours(root, tmp, files, ca)
    dxtest.finish()


if __name__ == "__main__":
    main()
