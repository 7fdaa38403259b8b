# SPDX-License-Identifier: Apache-2.0
# labels: plain
"""Roots behind HTTP and S3: right bytes or an error, whatever the origin does.

1. Signatures: a second signer, itself checked by the AWS test suite, recomputes what libcurl signs.
2. nginx (Debian: nginx-light), if it is installed: batches, pins, conditional GETs.
3. S3 servers, those that are there: versitygw ($DX_VERSITYGW or in the PATH) and moto (a python
   with moto[server]: $DX_MOTO_PYTHON). Each is started on a free port and ended by its id.
4. The fault proxy: every kind of fault once, always, and mixed with good replies.

All of it by an event loop, with DX_WHOLE also by a thread that waits. DX_FAULT_BATCHES is
the number of read batches of the mixed runs, in each way: 20, 12 under sanitizers, 400 with DX_WHOLE=1. In the gate a quarter of the other reads.
"""
import contextlib
import datetime
import hashlib
import hmac
import http.client
import http.server
import json
import os
import random
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import time

import dxtest
import faultproxy
import stores

DRIVER = dxtest.BIN / "tests" / "test_source_http"
KEY_ID, SECRET, TOKEN = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "to/ken+=="
BATCHES = int(os.environ.get("DX_FAULT_BATCHES") or (400 if dxtest.WHOLE else 20 if not dxtest.SANITIZED else 12))
# Other tests run beside this one; on a quiet machine it is below 10.
SLACK_MS = 1000 if not dxtest.SANITIZED else 2000
ROUNDS = 4 if dxtest.WHOLE else 1    # of the reads from sound stores
WAYS = (("thread", ()), ("loop", ("loop=1",)))[0 if dxtest.WHOLE else 1:]
NAMES = ["plain.bin", "urls/dataset_id=7/domain_prefix=9b/part-00000.parquet", "a+b.bin",
         "tilde~_-.bin", "per%cent.bin", "k,e;y:(1)!*'@$&.bin", "index/000001-20261121T103000Z/x.zst"]


class Driver:
    """test_source_http on one root."""

    def __init__(self, root, *options, env=None):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("AWS_")}
        environment.update({"NO_PROXY": "127.0.0.1", **(env or {})})
        self.process = subprocess.Popen([str(DRIVER), root, *options], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, env=environment, text=True)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.process.stdin.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.process.stdout.close()
        dxtest.check(self.process.returncode == 0, f"driver: exit {self.process.returncode}")

    def ask(self, *fields):
        try:
            self.process.stdin.write("\t".join(map(str, fields)) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass
        line = self.process.stdout.readline().rstrip("\n")
        if not line:
            return ["error", "0", "died", "the driver has ended"]
        return line.split("\t")

    def batch(self, reads, deadline_ms=0):
        """reads: (object, offset, size, total, etag); [bytes] or an error as (code, text, ms)."""
        answer = self.ask("batch", deadline_ms, *(part for read in reads for part in read))
        self.ms = int(answer[1])
        if answer[0] == "ok":
            return [bytes.fromhex(text) for text in answer[2:]]
        return answer[2], answer[3]

    def get(self, name, cap=1 << 20, if_none_match="-", deadline_ms=0):
        answer = self.ask("get", deadline_ms, name, cap, if_none_match)
        self.ms = int(answer[1])
        if answer[0] == "ok":
            return bytes.fromhex(answer[2]), answer[3] if len(answer) > 3 else ""
        return (None, answer[2]) if answer[0] == "same" else (answer[2], answer[3])


# 1 ------------------------------------------------------------------------------- signatures

def canonical_request(method, target, headers, signed, payload):
    path, _, query = target.partition("?")
    query = "&".join("=".join(pair) for pair in sorted(
        part.partition("=")[::2] for part in query.split("&"))) if query else ""
    lines = "".join(f"{name}:{','.join(' '.join(v.split()) for k, v in headers if k.lower() == name)}\n"
                    for name in signed.split(";"))
    return "\n".join([method, path, query, lines, signed, payload])


def signature(secret, canonical, date, scope):
    text = "\n".join(["AWS4-HMAC-SHA256", date, scope,
                      hashlib.sha256(canonical.encode()).hexdigest()])
    key = b"AWS4" + secret.encode()
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def sign(method, host, target, region="us-east-1", payload="UNSIGNED-PAYLOAD"):
    date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    headers = [("Host", host), ("X-Amz-Content-Sha256", payload), ("X-Amz-Date", date)]
    signed = "host;x-amz-content-sha256;x-amz-date"
    scope = f"{date[:8]}/{region}/s3/aws4_request"
    value = signature(SECRET, canonical_request(method, target, headers, signed, payload), date,
                      scope)
    return dict(headers, Authorization=f"AWS4-HMAC-SHA256 Credential={KEY_ID}/{scope}, "
                f"SignedHeaders={signed}, Signature={value}")


def check_signer():
    """The second signer against the AWS suite: the GETs that need no normalisation of their path."""
    suite = dxtest.shared_data("conformance/sigv4/tests/aws-signing-test-suite/v4")
    if suite is None:
        print("SKIPPED in part: the AWS signing suite is not there (DX_SHARED_DATA)")
        return
    count = 0
    for case in sorted(suite.iterdir()):
        context = json.loads((case / "context.json").read_text())
        canonical = (case / "header-canonical-request.txt").read_text()
        date = re.sub(r"[-:]", "", context["timestamp"])
        scope = f"{date[:8]}/{context['region']}/{context['service']}/aws4_request"
        want = (case / "header-signature.txt").read_text().strip()
        dxtest.equal(signature(context["credentials"]["secret_access_key"], canonical, date, scope),
                     want, f"signature of {case.name}")
        lines = canonical.split("\n")
        method, path, query, signed, payload = lines[0], lines[1], lines[2], lines[-2], lines[-1]
        headers = [tuple(line.split(":", 1)) for line in lines[3:-3]]
        dxtest.equal(canonical_request(method, path + ("?" + query if query else ""), headers,
                                       signed, payload), canonical, f"canonical of {case.name}")
        count += 1
    print(f"second signer: {count} cases of the AWS suite")


class Origin(http.server.BaseHTTPRequestHandler):
    """A dictionary of objects with ranges and preconditions; checks signatures if told to."""
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_GET(self):
        server = self.server
        with server.lock:
            server.count += 1
            server.seen.append((self.path, dict(self.headers)))
        if server.signed and not self.clock_ok():
            return self.answer(403, b"<Error><Code>RequestTimeTooSkewed</Code></Error>")
        if server.signed and not self.signature_ok():
            return self.answer(403, b"<Error><Code>SignatureDoesNotMatch</Code></Error>")
        found = server.objects.get(self.path)
        if found is None:
            return self.answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
        body, etag = found
        if self.headers["If-Match"] not in (None, etag):
            return self.answer(412, b"<Error><Code>PreconditionFailed</Code></Error>")
        if self.headers["If-None-Match"] == etag:
            return self.answer(304, b"", ETag=etag)
        wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers["Range"] or "")
        if not wanted:
            return self.answer(200, body, ETag=etag)
        first, last = int(wanted[1]), min(int(wanted[2]), len(body) - 1)
        if first >= len(body):
            return self.answer(416, b"", Content_Range=f"bytes */{len(body)}")
        return self.answer(206, body[first:last + 1], ETag=etag,
                           Content_Range=f"bytes {first}-{last}/{len(body)}")

    def do_HEAD(self):
        dxtest.check(False, "a HEAD was sent")
        self.answer(405, b"")

    def answer(self, status, body, **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if status != 304:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def date_time_string(self, timestamp=None):
        return super().date_time_string(time.time() + self.server.ahead)

    def clock_ok(self):
        date = datetime.datetime.strptime(self.headers["x-amz-date"] or "", "%Y%m%dT%H%M%SZ")
        date = date.replace(tzinfo=datetime.timezone.utc).timestamp()
        return abs(date - time.time() - self.server.ahead) < 900

    def signature_ok(self):
        words = self.headers["Authorization"] or ""
        parts = dict(part.strip().split("=", 1) for part in
                     words.replace("AWS4-HMAC-SHA256 ", "").split(","))
        if not parts.get("Signature"):
            return False
        signed = parts["SignedHeaders"]
        canonical = canonical_request("GET", self.path, list(self.headers.items()), signed,
                                      self.headers["x-amz-content-sha256"])
        demanded = {"host", "x-amz-date", "x-amz-content-sha256"} | {
            name for name in ("if-match", "if-none-match", "x-amz-security-token")
            if self.headers[name]}
        return demanded <= set(signed.split(";")) and parts["Signature"] == signature(
            SECRET, canonical, self.headers["x-amz-date"], parts["Credential"].split("/", 1)[1])

    def log_message(self, *arguments):
        pass


class Quiet(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, request, client_address):
        pass


@contextlib.contextmanager
def origin_of(objects, signed=False):
    server = Quiet(("127.0.0.1", 0), Origin)
    server.objects, server.signed, server.lock = objects, signed, threading.Lock()
    server.count, server.seen, server.ahead = 0, [], 0
    server.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def encoded(name):
    return "".join(c if re.match(r"[A-Za-z0-9_.~/-]", c) else
                   "".join(f"%{b:02X}" for b in c.encode()) for c in name)


def some_objects(prefix, seed=5):
    chance = random.Random(seed)
    return {prefix + encoded(name): (chance.randbytes(chance.randrange(300000, 500000)),
                                     f'"e{i}"') for i, name in enumerate(NAMES)}


def check_reads(driver, body_of, etag_of, words, rounds=8, pinned=True):
    """Batches of random ranges of all objects, pinned and not; then what must be refused."""
    chance = random.Random(words)
    for _ in range(rounds * ROUNDS):
        reads, want = [], []
        for _ in range(chance.randrange(1, 9)):
            name = chance.choice(NAMES)
            body = body_of(name)
            size = chance.choice([1, 2, 100, 4096, 4096, 20000, len(body)])
            at = chance.choice([0, len(body) - size, chance.randrange(len(body) - size + 1)])
            pin = chance.random() < 0.5
            reads.append((name, at, size, len(body) if pin else 0,
                          etag_of(name) if pin and pinned else "-"))
            want.append(body[at:at + size])
        dxtest.check(driver.batch(reads) == want, f"{words}: a batch {reads}")
    name = NAMES[0]
    body = body_of(name)
    refusals = [
        ((name, len(body) - 5, 6, 0, "-"), "truncated", "past the end"),
        ((name, len(body) + 5, 6, 0, "-"), "truncated", "behind the end"),
        ((name, 0, 6, len(body) + 1, "-"), "conflict", "another total"),
        ((name, 0, 6, 0, '"other"'), "conflict", "another etag"),
        (("no/such.bin", 0, 6, 0, "-"), "not-found", "no such object"),
    ]
    for read, code, what in refusals:
        answer = driver.batch([(NAMES[1], 0, 4, 0, "-"), read])
        dxtest.check(isinstance(answer, tuple) and answer[0] == code and
                     encoded(read[0]) in answer[1], f"{words}: {what}: {answer}")
    whole, etag = driver.get(name)
    dxtest.check(whole == body, f"{words}: the whole object: {etag}")
    dxtest.equal(driver.get(name, if_none_match=etag), (None, etag), f"{words}: not modified")
    dxtest.equal(driver.get(name, if_none_match='"other"')[0], body, f"{words}: modified")
    dxtest.equal(driver.get(name, cap=len(body) - 1)[0], "limit", f"{words}: over the cap")
    dxtest.equal(driver.get(name, cap=len(body))[0], body, f"{words}: as large as the cap")
    dxtest.equal(driver.get("no/such.bin")[0], "not-found", f"{words}: a whole that is not")


def check_signatures():
    objects = some_objects("/bucket/pre%3Dfix/")
    with origin_of(objects, signed=True) as origin:
        for env, options in (({}, ()), ({"AWS_SESSION_TOKEN": TOKEN}, ("loop=1",))):
            env = {"AWS_ACCESS_KEY_ID": KEY_ID, "AWS_SECRET_ACCESS_KEY": SECRET,
                   "AWS_ENDPOINT_URL_S3": origin.url, **env}
            with Driver("s3://bucket/pre=fix/", *options, env=env) as driver:
                check_reads(driver, lambda name: objects["/bucket/pre%3Dfix/" + encoded(name)][0],
                            lambda name: objects["/bucket/pre%3Dfix/" + encoded(name)][1],
                            f"signed, {len(env)}")
        dxtest.check(any(h.get("x-amz-security-token") == TOKEN for _, h in origin.seen),
                     "a session token was sent")
        print(f"signatures: {origin.count} requests recomputed")
        env["AWS_SECRET_ACCESS_KEY"] = "another"
        with Driver("s3://bucket/pre=fix/", env=env) as driver:
            answer = driver.batch([(NAMES[0], 0, 4, 0, "-")])
            dxtest.check(answer[0] == "io" and "SignatureDoesNotMatch" in answer[1],
                         f"another secret: {answer}")
            dxtest.check("another" not in answer[1], "the secret is not printed")
        env["AWS_SECRET_ACCESS_KEY"] = SECRET
        for way, options in WAYS:
            check_clock(origin, objects, env, way, options)


def check_clock(origin, objects, env, way, options):
    """The store's clock is an hour ahead: learnt from its refusal, with one more request each."""
    origin.ahead = 3600
    name = NAMES[0]
    body = objects["/bucket/pre%3Dfix/" + encoded(name)][0]
    with Driver("s3://bucket/pre=fix/", "attempts=1", *options, env=env) as driver:
        for requests in (2, 1):
            before = origin.count
            answer = driver.batch([(name, 7, 9, len(body), "-")])
            dxtest.check(answer == [body[7:16]], f"{way}, clock: {answer}")
            dxtest.equal(origin.count - before, requests, f"{way}, clock: requests")
    origin.ahead = 0


# 2, 3 --------------------------------------------------------------------------- real servers

@contextlib.contextmanager
def started(command, port, env=None, seconds=60):
    """A server of ours until the end of the block; None if it does not come up."""
    log = tempfile.TemporaryFile()
    process = subprocess.Popen(list(map(str, command)), stdout=log, stderr=subprocess.STDOUT,
                               env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL)
    end = time.monotonic() + seconds
    up = False
    while not up and process.poll() is None and time.monotonic() < end:
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port), 1).close()
            up = True
        time.sleep(0.05)
    if not up:
        dxtest.check(False, f"{command[0]} does not come up:\n" + dxtest.written(log)[-3000:])
    try:
        yield up
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        log.close()


def check_nginx(tmp):
    nginx = shutil.which("nginx") or shutil.which("/usr/sbin/nginx")
    if not nginx:
        print("SKIPPED in part: nginx is not installed (Debian: nginx-light)")
        return
    objects = some_objects("")
    root = tmp / "nginx" / "root"
    for name in NAMES:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(objects[encoded(name)][0])
    port = stores.free_port()
    tls = private_ca(tmp)
    tls_port = stores.free_port()
    tls_lines = "" if not tls else f"""
    server {{ listen 127.0.0.1:{tls_port} ssl http2; root {tmp}/nginx;
              ssl_certificate {tmp}/server.pem; ssl_certificate_key {tmp}/server.key; }}"""
    (tmp / "nginx.conf").write_text(f"""
daemon off; pid {tmp}/nginx.pid; error_log stderr; worker_processes 1;
events {{ worker_connections 256; }}
http {{
    log_format connections '$connection $server_protocol $status $request_uri';
    access_log {tmp}/access.log connections;
    client_body_temp_path {tmp}/t1; proxy_temp_path {tmp}/t2; fastcgi_temp_path {tmp}/t3;
    uwsgi_temp_path {tmp}/t4; scgi_temp_path {tmp}/t5;
    server {{ listen 127.0.0.1:{port}; root {tmp}/nginx; }}{tls_lines}
}}
""")
    # An upper directory that only its owner may enter is no place for nginx's worker.
    for folder in (tmp, root, *(p for p in root.rglob("*"))):
        folder.chmod(0o755 if folder.is_dir() else 0o644)
    with started([nginx, "-p", tmp, "-c", tmp / "nginx.conf"], port) as up:
        if not up:
            return
        etags = {}
        for name in NAMES:
            link = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            link.request("GET", "/root/" + encoded(name))
            etags[name] = link.getresponse().getheader("ETag")
            link.close()
        for way, options in WAYS:
            with Driver(f"http://127.0.0.1:{port}/root", *options) as driver:
                check_reads(driver, lambda name: objects[encoded(name)][0], etags.get,
                            f"nginx, {way}", 25)
        if tls:
            check_tls(f"https://127.0.0.1:{tls_port}/root", tmp, objects, etags)
        lines = (tmp / "access.log").read_text()
        print(f"nginx: {lines.count(chr(10))} requests, {lines.count('HTTP/2.0')} over HTTP/2")


def private_ca(tmp):
    """A certificate for 127.0.0.1 that nobody else trusts; False where there is no openssl."""
    if not shutil.which("openssl"):
        print("SKIPPED in part: no openssl to make a certificate with, so no TLS")
        return False
    dxtest.run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
               "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=test",
               "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", tmp / "server.key", "-out",
               tmp / "server.pem")
    return True


def check_one_connection(root, tmp, objects, options, way):
    """Once the store is known to speak HTTP/2 a batch shares a connection, all of it."""
    with Driver(root, *options) as driver:
        reads = [(name, at, 100, 0, "-") for name in NAMES for at in range(0, 280000, 70000)]
        want = [objects[encoded(name)][0][at:at + 100] for name, at, *_ in reads]
        dxtest.check(driver.batch(reads[:1]) == want[:1], f"{way}, HTTP/2: the first range")
        before = len((tmp / "access.log").read_text().splitlines())
        dxtest.check(driver.batch(reads) == want, f"{way}, HTTP/2: {len(reads)} ranges")
    time.sleep(0.1)
    lines = [line.split() for line in (tmp / "access.log").read_text().splitlines()[before:]]
    lines = [line for line in lines if line[2] == "206"][-len(reads):]
    dxtest.equal({line[1] for line in lines}, {"HTTP/2.0"}, f"{way}: the protocol")
    dxtest.equal(len({line[0] for line in lines}), 1, f"{way}: connections of {len(lines)} ranges")


def check_tls(root, tmp, objects, etags):
    for way, options in WAYS:
        with Driver(root, f"ca_file={tmp}/server.pem", *options) as driver:
            check_reads(driver, lambda name: objects[encoded(name)][0], etags.get,
                        f"nginx, TLS, {way}")
    for way, options in WAYS:
        check_one_connection(root, tmp, objects, (f"ca_file={tmp}/server.pem", *options), way)
    for words, url, options in (("unknown CA", root, ()),
                                ("another name", root.replace("127.0.0.1", "localhost"),
                                 (f"ca_file={tmp}/server.pem",))):
        with Driver(url, *options) as driver:
            answer = driver.batch([(NAMES[0], 0, 4, 0, "-")])
            dxtest.check(answer[0] == "io" and "not retried" in answer[1], f"{words}: {answer}")


def s3_put(host, target, body=b""):
    link = http.client.HTTPConnection(host, timeout=60)
    link.request("PUT", target, body=body, headers=sign("PUT", host, target))
    reply = link.getresponse()
    words = reply.read()
    link.close()
    dxtest.check(reply.status == 200, f"PUT {target}: {reply.status} {words[:300]!r}")
    return reply.getheader("ETag")


def check_s3(server, port, rounds):
    host = f"127.0.0.1:{port}"
    objects = some_objects("/bucket/pre%3Dfix/")
    s3_put(host, "/bucket")
    etags = {target: s3_put(host, target, body) for target, (body, _) in objects.items()}
    env = {"AWS_ACCESS_KEY_ID": KEY_ID, "AWS_SECRET_ACCESS_KEY": SECRET}
    slow = ("endpoint=http://" + host, "first_byte_ms=10000")
    with Driver("s3://bucket/pre=fix", *slow, "loop=1", env=env) as driver:
        check_reads(driver, lambda name: objects["/bucket/pre%3Dfix/" + encoded(name)][0],
                    lambda name: etags["/bucket/pre%3Dfix/" + encoded(name)], server, rounds)
    with Driver("s3://bucket/pre=fix", *slow, env=env) as driver:
        check_reads(driver, lambda name: objects["/bucket/pre%3Dfix/" + encoded(name)][0],
                    lambda name: etags["/bucket/pre%3Dfix/" + encoded(name)], server, rounds)
        # An object that is replaced is no longer the pinned one.
        target = "/bucket/pre%3Dfix/" + encoded(NAMES[0])
        body = objects[target][0]
        s3_put(host, target, bytes(reversed(body)))
        answer = driver.batch([(NAMES[0], 0, 9, len(body), etags[target])])
        dxtest.check(answer[0] == "conflict" and "HTTP 412" in answer[1],
                     f"{server}: replaced: {answer}")
    if server == "moto":
        return  # it checks no signatures
    env["AWS_SECRET_ACCESS_KEY"] = "another"
    with Driver("s3://bucket/pre=fix", f"endpoint=http://{host}", env=env) as driver:
        answer = driver.batch([(NAMES[1], 0, 9, 0, "-")])
        dxtest.check(answer[0] == "io" and "HTTP 403" in answer[1],
                     f"{server}: another secret: {answer}")


def check_s3_servers(tmp):
    versitygw = os.environ.get("DX_VERSITYGW") or shutil.which("versitygw")
    moto = os.environ.get("DX_MOTO_PYTHON")
    if versitygw:
        port = stores.free_port()
        (tmp / "gateway").mkdir()
        with started([versitygw, "--port", f"127.0.0.1:{port}", "--access", KEY_ID, "--secret",
                      SECRET, "posix", tmp / "gateway"], port) as up:
            if up:
                check_s3("versitygw", port, 15)
                print("versitygw: done")
    else:
        print("SKIPPED in part: no versitygw (go install github.com/versity/versitygw/cmd/"
              "versitygw@latest; then DX_VERSITYGW=its path)")
    if moto:
        port = stores.free_port()
        with started([moto, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)], port) as up:
            if up:
                check_s3("moto", port, 5)
                print("moto: done")
    else:
        print("SKIPPED in part: no moto (a python with moto[server] in DX_MOTO_PYTHON)")


# 4 ----------------------------------------------------------------------------- fault proxy

DEADLINE_MS = 4000
FAST = ("connect_ms=300", "first_byte_ms=500", "stall_ms=500")

HEDGED = 400 if dxtest.WHOLE else 150


class Faults:
    def __init__(self, objects, way, options):
        self.way, self.options = way, (*FAST, *options)
        self.objects, self.chance = objects, random.Random(11)
        self.wrong = self.hung = self.batches = self.good = 0

    def batch(self, driver, words, checksum=True):
        """One batch through the proxy. checksum: wrong bytes are wrong answers; else they are what
        a checksum of a block would find, and count as refused."""
        reads, want = [], []
        for _ in range(4):
            name = self.chance.choice(NAMES)
            body, etag = self.objects["/r/" + encoded(name)]
            size = self.chance.randrange(2, 3000)
            at = self.chance.randrange(1, len(body) - size)
            reads.append((name, at, size, len(body), etag))
            want.append(body[at:at + size])
        words = f"{self.way}, {words}"
        answer = driver.batch(reads, DEADLINE_MS)
        self.batches += 1
        if driver.ms > DEADLINE_MS + SLACK_MS:
            self.hung += 1
            dxtest.check(False, f"{words}: {driver.ms} ms, deadline {DEADLINE_MS} ms")
        if isinstance(answer, tuple):
            dxtest.check("http://127.0.0.1:" in answer[1] or answer[0] == "conflict",
                         f"{words}: the error names the URL: {answer}")
            return answer
        if answer != want:
            if not checksum:
                return "corrupt", "found by a checksum"
            self.wrong += 1
            dxtest.check(False, f"{words}: WRONG BYTES")
            return "wrong", ""
        self.good += 1
        return None


def check_once(proxy, faults, driver, name):
    checksum = name not in faultproxy.NEEDS_CHECKSUM
    proxy.set([name], 100, limit=1)
    answer = faults.batch(driver, f"{name} once", checksum)
    if not checksum:
        pass
    elif name in faultproxy.FINAL:
        dxtest.check(answer is not None, f"{name} once: no error")
    else:
        dxtest.check(answer is None, f"{name} once is to be retried: {answer}")
    dxtest.check(sum(proxy.injected.values()) == 1, f"{name}: the fault was there")
    dxtest.check(name != "status_429_retry_after" or driver.ms >= 1000,
                 f"{name}: tried again after {driver.ms} ms")


def check_each_fault(proxy, faults):
    """Each kind once, in the gate seven of those that are retried by one driver; and always, in the gate every sixth of them."""
    names = list(faultproxy.FAULTS)
    retried, together = [name for name in names if name not in faultproxy.FINAL], 1 if dxtest.WHOLE else 7
    groups = [[name] for name in names if name in faultproxy.FINAL] + [retried[at:at + together] for at in range(0, len(retried), together)]
    for group in groups:
        proxy.settle()
        with Driver(proxy.url + "/r", *faults.options) as driver:
            for name in group:
                check_once(proxy, faults, driver, name)
    for name in names if dxtest.WHOLE else names[1::6]:
        checksum = name not in faultproxy.NEEDS_CHECKSUM
        proxy.settle()
        with Driver(proxy.url + "/r", *faults.options) as driver:
            proxy.set([name], 100)
            answer = faults.batch(driver, f"{name} always", checksum)
            if name not in faultproxy.HARMLESS and checksum:
                dxtest.check(answer is not None, f"{name} always: no error")
            dxtest.check(proxy.count <= 12, f"{name}: {proxy.count} requests for 4 ranges")


def check_mixed(proxy, faults, batches):
    kinds = [name for name in faultproxy.FAULTS if name not in faultproxy.NEEDS_CHECKSUM]
    transient = [name for name in kinds if name not in faultproxy.FINAL]
    for words, names, percent, pairs, share in (
            ("0.1 % of any fault", kinds, 0.1, False, 0.97),
            ("5 % of transient faults", transient, 5, False, 0.95),
            ("10 % of any fault", kinds, 10, False, 0),
            ("10 % of two faults", kinds, 10, True, 0),
            ("50 % of any fault", kinds, 50, False, 0),
            ("100 % of two faults", kinds, 100, True, 0)):
        before = faults.good
        proxy.settle()
        count = batches if percent < 10 else max(1, batches // 4 if percent < 50 else batches // 20)
        with Driver(proxy.url + "/r", *faults.options) as driver:
            proxy.set(names, percent, pairs)
            for _ in range(count):
                faults.batch(driver, words)
        good = faults.good - before
        print(f"{words}: {good} of {count} batches of 4 ranges, {proxy.count} requests, "
              f"{sum(proxy.injected.values())} damaged")
        dxtest.check(good >= share * count, f"{words}: only {good} of {count}")


def check_amplification(proxy, faults):
    offered = 400
    proxy.settle()
    with Driver(proxy.url + "/r", *faults.options) as driver:
        proxy.set(["status_503"], 100)
        for _ in range(offered):
            name = NAMES[0]
            body, etag = faults.objects["/r/" + name]
            answer = driver.batch([(name, 0, 10, len(body), etag)], DEADLINE_MS)
            dxtest.check(answer[0] in ("busy", "timeout"), f"503: {answer}")
    print(f"100 % 503: {proxy.count} requests for {offered}")
    dxtest.check(proxy.count <= 1.1 * offered, f"amplification: {proxy.count} for {offered}")


def late_batches(proxy, objects, hedge):
    """Of HEDGED batches where one reply in a hundred never begins: how many are late, how many replies were held back, requests."""
    faults = Faults(objects, f"hedge={hedge}", ("loop=1", f"hedge={hedge}"))
    proxy.settle()
    late = 0
    with Driver(proxy.url + "/r", *faults.options) as driver:
        proxy.set()
        for _ in range(60):
            faults.batch(driver, "before")
        proxy.set(["first_byte_late"], 1)
        for _ in range(HEDGED):
            faults.batch(driver, "late ones")
            late += driver.ms >= 500
    dxtest.check(faults.wrong == 0 and faults.good == faults.batches, f"hedge={hedge}: all right")
    return late, sum(proxy.injected.values()), proxy.count


def check_hedges(proxy, objects):
    """Without hedges a batch with such a reply waits until it is given up; with them most do not, for 2 % more GETs. On a busy machine a hedge can be as
    late, so they have three trials; hedges that are not sent fail in each."""
    late, held, sent = late_batches(proxy, objects, 0)
    print(f"hedging: {late} of {HEDGED} batches are late without, {held} replies held back, {sent} requests")
    dxtest.check(late * 2 > held, f"without hedges: {late} late, {held} held back")
    for _ in range(3):
        late, held, sent = late_batches(proxy, objects, 1)
        print(f"hedging: {late} of {HEDGED} batches are late with it, {held} replies held back, {sent} requests")
        dxtest.check(sent <= 1.03 * 4 * HEDGED + 10, f"hedges: {sent} requests for {4 * HEDGED}")
        if late * 2 <= held:
            return
    dxtest.check(False, f"hedges do not pay: {late} late, {held} held back")


def check_faults():
    objects = some_objects("/r/")
    with origin_of(objects) as origin, faultproxy.Proxy(origin.url) as proxy:
        for way, options in WAYS:
            faults = Faults(objects, way, options)
            with Driver(proxy.url + "/r", *options) as driver:
                proxy.set()
                check_reads(driver, lambda name: objects["/r/" + encoded(name)][0],
                            lambda name: objects["/r/" + encoded(name)][1],
                            f"proxy without faults, {way}")
            check_each_fault(proxy, faults)
            check_mixed(proxy, faults, BATCHES)
            check_amplification(proxy, faults)
            print(f"{way}: {len(faultproxy.FAULTS)} kinds of faults, {faults.batches} batches: "
                  f"{faults.good} right, {faults.wrong} wrong, {faults.hung} past the deadline")
        check_hedges(proxy, objects)
    with Driver(proxy.url + "/r") as driver:
        answer = driver.batch([(NAMES[0], 0, 10, 0, "-")])
        dxtest.check(answer[0] == "io", f"connection refused: {answer}")


def main():
    if not DRIVER.exists():
        dxtest.skip(f"{DRIVER} is not built")
    with dxtest.tempdir() as tmp:
        check_signer()
        check_signatures()
        check_nginx(tmp)
        check_s3_servers(tmp)
        check_faults()
    dxtest.finish()


main()
