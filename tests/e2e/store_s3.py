# SPDX-License-Identifier: Apache-2.0
# labels: threads slow timed
"""Writing to S3: conditions, parts, listings, and writes whose reply is lost.

1. versitygw or MinIO, and with DX_WHOLE=1 both, where they are installed ($DX_VERSITYGW, $DX_MINIO or in the PATH): puts and
   their conditions, two writers at once, 100 MiB in parts, a listing of several pages, removal,
   the probe; then the same store behind a proxy that loses or turns replies of writes.
2. A small store in this test that breaks each rule on its own: conditions that are ignored or
   inverted, a clock that is ahead, a race (409), parts that fail, listings out of order.

What is there afterwards is asked of the store itself, never of the program under test.
DX_STORE_ROUNDS is the number of races: 3, 30 with DX_WHOLE=1. Without DX_WHOLE one file is so large that it goes in parts by
itself, and the others are put in parts because the test asks for it; for a store that is away a put waits, with DX_WHOLE=1 listings,
removals and many parts too.
"""
import concurrent.futures
import contextlib
import datetime
import email.utils
import hashlib
import http.server
import os
import random
import re
import subprocess
import threading
import time
import urllib.parse
import xml.sax.saxutils

import dxtest
import faultproxy
import stores

DRIVER = dxtest.BIN / "tests" / "test_store"
ROUNDS = int(os.environ.get("DX_STORE_ROUNDS") or (30 if dxtest.WHOLE else 3))
PREFIX = "pre=fix"
UNKNOWN = "unknown-outcome"
MIB = 1 << 20
PART = 16 * MIB     # what is larger than 64 MiB goes in parts of it
# A put is tried for 12 times deadline_ms.
FAST = ("connect_ms=500", "first_byte_ms=400", "stall_ms=1000", "deadline_ms=500")
BRIEF = ("connect_ms=500", "first_byte_ms=400", "stall_ms=1000", "deadline_ms=150")


def made(seed, size):
    """So many bytes, of which no two MiB are the same. Random bytes all the way are dear."""
    block = random.Random(seed).randbytes(MIB + size // MIB + 1)
    return b"".join(block[i:i + MIB] for i in range(size // MIB + 1))[:size]


class Store:
    """test_store on one root."""

    def __init__(self, root, env, *options, expect=True):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("AWS_")}
        environment.update({"NO_PROXY": "127.0.0.1", "AWS_EC2_METADATA_DISABLED": "true", **env})
        self.process = subprocess.Popen([str(DRIVER), root, *options], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, env=environment, text=True)
        self.opened = self.line()
        if expect:
            dxtest.equal(self.opened[0], "ok", f"{root} opens: {self.opened}")

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.process.stdin.close()
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        dxtest.check(self.process.returncode == 0, f"driver: exit {self.process.returncode}")

    def line(self):
        line = self.process.stdout.readline().rstrip("\n")
        return line.split("\t") if line else ["error", "0", "died", "the driver has ended"]

    def send(self, *fields):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write("\t".join(fields) + "\n")
            self.process.stdin.flush()

    def answer(self):
        """("ok", etag or count) or (code, words)."""
        line = self.line()
        if line[0] == "ok":
            return "ok", line[2] if len(line) > 2 else ""
        return line[2], line[3] if len(line) > 3 else ""

    def put(self, name, body, condition="any", flags=""):
        self.send("put", name, condition,
                  f"@{body}" if isinstance(body, os.PathLike) else body.hex(), flags)
        return self.answer()

    def list(self, prefix=""):
        self.send("list", prefix)
        items = []
        while True:
            line = self.line()
            if line[0] != "item":
                break
            items.append((line[1], int(line[2]), line[3]))
        return ("ok" if line[0] == "ok" else line[2]), (items if line[0] == "ok" else line[3])

    def remove(self, name):
        self.send("remove", name)
        return self.answer()

    def probe(self):
        self.send("probe")
        return self.answer()


def there(server, name):
    """The bytes of an object, None if there is none, asked directly."""
    status, _, body = server.ask("GET", server.target("bucket", f"{PREFIX}/{name}"))
    return body if status == 200 else None


def uploads_of(server):
    status, _, body = server.ask("GET", "/bucket?uploads=")
    dxtest.equal(status, 200, "uploads are listed")
    return re.findall(rb"<UploadId>([^<]+)", body)


@contextlib.contextmanager
def takes(least_s, most_s, words):
    began = time.monotonic()
    yield
    took = time.monotonic() - began
    dxtest.check(took >= least_s, f"{words}: {took:.2f} s, at least {least_s}")
    dxtest.in_time(took, most_s, words)


# 1 ------------------------------------------------------------------------------ real servers

def check_conditions(server, store, words):
    name = "index/manifest.json"
    code, first = store.put(name, b"one", "absent")
    dxtest.equal(code, "ok", f"{words}: a new object: {first}")
    dxtest.equal(there(server, name), b"one", f"{words}: it is there")
    dxtest.equal(store.put(name, b"two", "absent")[0], "exists", f"{words}: it is taken")
    code, second = store.put(name, b"two", first)
    dxtest.equal((code, there(server, name)), ("ok", b"two"), f"{words}: it matches: {second}")
    dxtest.equal(store.put(name, b"six", first)[0], "conflict", f"{words}: the old ETag")
    dxtest.equal(store.put("index/none", b"six", first)[0], "conflict", f"{words}: nothing there")
    dxtest.equal(there(server, name), b"two", f"{words}: refused puts leave it")
    dxtest.equal(store.put(name, b"", "any")[0], "ok", f"{words}: an empty object")
    dxtest.equal(there(server, name), b"", f"{words}: empty it is")
    for odd in ("a+b.bin", "per%cent", "k,e;y:(1)!*'@$&", "tilde~_-", "üñí/日本",
                "d=7/domain_prefix=9b/part-00000.parquet", "x" * 200 + "/" + "y" * 200):
        code, etag = store.put("odd/" + odd, odd.encode(), "absent")
        dxtest.equal((code, there(server, "odd/" + odd)), ("ok", odd.encode()),
                     f"{words}: {odd}: {etag}")
    for bad in ("../x", "/x", "x//y", "x y", ""):
        dxtest.equal(store.put(bad, b"", "any")[0], "invalid", f"{words}: the name {bad!r}")
    code, why = store.put("x", b"x", "unquoted")
    dxtest.equal(code, "invalid", f"{words}: {why}")


def check_races(server, env, words):
    """Two processes, the same condition at the same moment: one wins, and its bytes are there."""
    with Store(f"s3://bucket/{PREFIX}", env) as a, Store(f"s3://bucket/{PREFIX}", env) as b:
        etag, bad = None, 0
        for i in range(ROUNDS):
            for name, condition in ((f"race/{i}", "absent"), ("race/chain", etag or "absent")):
                a.send("put", name, condition, f"a{i}".encode().hex())
                b.send("put", name, condition, f"b{i}".encode().hex())
                answers = [a.answer(), b.answer()]
                won = [k for k in (0, 1) if answers[k][0] == "ok"]
                lost = [code for code, _ in answers if code != "ok"]
                ok = len(won) == 1 and lost == ["exists" if condition == "absent" else "conflict"]
                ok = ok and there(server, name) == f"{'ab'[won[0]]}{i}".encode()
                bad += not ok
                if not ok and bad < 5:
                    print(f"{words}: {name} {condition}: {answers} {there(server, name)}")
                if name == "race/chain" and ok:
                    etag = answers[won[0]][1]
            if bad >= 5:
                break
        dxtest.equal(bad, 0, f"{words}: rounds of two writers that did not end with one winner")
        print(f"{words}: {2 * ROUNDS} races of two writers")


def check_parts(server, store, tmp, words):
    size = 100 * MIB if dxtest.WHOLE else 65 * MIB
    body = made(3, size)
    path = tmp / "large"
    path.write_bytes(body)
    code, etag = store.put("large", path, "absent")
    dxtest.equal(code, "ok", f"{words}: {size} bytes: {etag}")
    dxtest.check(f"-{-(-size // PART)}" in etag, f"{words}: it came in parts: {etag}")
    dxtest.check(there(server, "large") == body, f"{words}: {size} bytes are read back")
    flags = "" if dxtest.WHOLE else "parts"
    if flags:
        path.write_bytes(body[:PART + 1])
    dxtest.equal(store.put("large", path, "absent", flags)[0], "exists", f"{words}: parts, taken")
    dxtest.equal(store.put("large", path, '"other"', flags)[0], "conflict", f"{words}: parts, no match")
    dxtest.equal(store.put("none", path, '"other"', flags)[0], "conflict", f"{words}: parts, nothing")
    code, again = store.put("large", path, etag, flags)
    dxtest.equal(code, "ok", f"{words}: parts, it matches: {again}")
    dxtest.check(there(server, "large") == path.read_bytes(), f"{words}: parts, it matches: the bytes")
    dxtest.equal(there(server, "none"), None, f"{words}: refused parts make nothing")
    dxtest.equal(uploads_of(server), [], f"{words}: no upload is left over")
    path.write_bytes(body[:20 * MIB])
    dxtest.equal(store.put("medium", path, "absent")[0], "ok", f"{words}: a file in one piece")
    dxtest.check(there(server, "medium") == body[:20 * MIB], f"{words}: and whole")
    dxtest.equal(store.put("medium", tmp / "missing", "any")[0], "not-found", f"{words}: no file")
    path.unlink()


def check_list(server, store, words):
    chance = random.Random(9)
    names = sorted({f"list/{chance.choice(['a', 'a-', 'a.', 'b=1', 'ü', '日', 'p%41', 'c+d', 'e&f'])}/"
                    f"{chance.randrange(10 ** 6):06}{chance.choice(['', '.x', '+y', '%zz', 'é'])}"
                    for _ in range(2600 if dxtest.WHOLE else 1150)}, key=str.encode)[:2500 if dxtest.WHOLE else 1050]
    dxtest.check(len(names) > 1000, f"{words}: {len(names)} names, more than a page has")
    if dxtest.WHOLE or server.program != "versitygw":
        mine = names
    else:       # some are put, and the others are links to the first: a thousand requests would take two seconds
        mine = names[::20]
    etags, sizes = dict.fromkeys(names), {name: len(mine[0].encode()) for name in names}
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        etags.update(zip(mine, pool.map(lambda name: server.put("bucket", f"{PREFIX}/{name}", name.encode()), mine)))
    sizes.update((name, len(name.encode())) for name in mine)
    for name in set(names).difference(mine):
        path, etags[name] = server.home / "objects" / "bucket" / PREFIX / name, etags[mine[0]]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.hardlink_to(server.home / "objects" / "bucket" / PREFIX / mine[0])
    code, items = store.list("list/")
    dxtest.equal(code, "ok", f"{words}: a listing of {len(names)}: {items if code != 'ok' else ''}")
    if code == "ok":
        dxtest.equal([name for name, _, _ in items], names, f"{words}: every name, in byte order")
        dxtest.check(all(size == sizes[name] and etag == etags[name]
                         for name, size, etag in items), f"{words}: their sizes and ETags")
    code, items = store.list("list/b=1/")
    dxtest.equal([name for name, _, _ in items], [n for n in names if n.startswith("list/b=1/")],
                 f"{words}: a folder")
    dxtest.equal(store.list("nothing/"), ("ok", []), f"{words}: an empty folder")
    dxtest.equal(store.list("list")[0], "invalid", f"{words}: no folder")
    for name in names[:20]:
        dxtest.equal(store.remove(name)[0], "ok", f"{words}: removed")
    dxtest.equal(store.remove(names[0])[0], "ok", f"{words}: removed twice")
    dxtest.equal([n for n, _, _ in store.list("list/")[1]], names[20:], f"{words}: the others stay")
    server.put("bucket", f"{PREFIX}/list/a b", b"")
    code, why = store.list("list/")
    dxtest.check(code == "invalid" and "a b" in why, f"{words}: a name of somebody else: {code} {why}")
    server.remove("bucket", f"{PREFIX}/list/a b")


def check_refused(server, env, words):
    with Store(f"s3://bucket/{PREFIX}", {**env, "AWS_SECRET_ACCESS_KEY": "another"}) as store:
        code, why = store.put("x", b"x")
        dxtest.check(code == "denied" and "403" in why and "another" not in why,
                     f"{words}: another secret: {code} {why}")
    with Store("s3://nobucket/x", env) as store:
        code, why = store.put("x", b"x")
        dxtest.check(code == "not-found" and "NoSuchBucket" in why, f"{words}: no bucket: {why}")
        code, why = store.list("")
        dxtest.check(code == "not-found" and "NoSuchBucket" in why, f"{words}: no bucket: {why}")


def check_lost_replies(server, proxy, tmp, words):
    """One lost or turned reply, then all of them: the truth, and what is there agrees."""
    env = {**server.env, "AWS_ENDPOINT_URL_S3": proxy.url}
    large = tmp / "large"
    size, flags = (65 * MIB, "") if dxtest.WHOLE else (PART + 1, "parts")
    large.write_bytes(made(4, size))
    for fault in ("put_applied_dropped", "put_applied_500", "put_200_error"):
        for limit in (1, 2, None):
            proxy.set([])
            name = f"lost/{fault}-{limit}"
            with Store(f"s3://bucket/{PREFIX}", env, *(FAST if dxtest.WHOLE or limit else BRIEF)) as store:
                proxy.set([fault], 100, limit=limit)
                code, etag = store.put(name, b"first", "absent")
                proxy.set([])
                body = there(server, name)
                if limit is None and fault == "put_200_error":
                    dxtest.check(code == UNKNOWN and body is None, f"{words}: {name}: {code} {etag}")
                    continue
                dxtest.equal((code, body), ("ok", b"first"), f"{words}: {name}: {etag}")
                proxy.set([fault], 100, limit=limit)
                code, second = store.put(name, b"second", etag)
                dxtest.equal((code, there(server, name)), ("ok", b"second"),
                             f"{words}: {name}, replaced: {second}")
                code, why = store.put(name, b"third", etag)
                dxtest.check(code in ("conflict", UNKNOWN) and there(server, name) == b"second",
                             f"{words}: {name}, an old ETag: {code} {why}")
        proxy.set([])
        with Store(f"s3://bucket/{PREFIX}", env, *FAST) as store:
            proxy.set([fault], 25)
            code, etag = store.put(f"lost/parts-{fault}", large, "absent", flags)
            proxy.set([])
            body = there(server, f"lost/parts-{fault}")
            whole = body == large.read_bytes()
            dxtest.check(whole if code == "ok" else body is None or (code == UNKNOWN and whole),
                         f"{words}: parts and {fault}: {code} {etag}")
            print(f"{words}: {size} bytes in parts with 25 % {fault}: {code}")
    large.unlink()


def check_mixed(server, proxy, words, rounds=150 if dxtest.WHOLE else 60):
    """A chain of versions of one object by one writer, and new objects, with 30 % faults: what was
    answered is what is there."""
    kinds = ["put_applied_dropped", "put_applied_500", "put_200_error", "status_500", "status_503",
             "reset_after_body", "cut_at_zero"]
    kinds = [kind for kind in kinds
             if kind in faultproxy.FAULTS or kind in faultproxy.WRITE_FAULTS]
    env = {**server.env, "AWS_ENDPOINT_URL_S3": proxy.url}
    counts, damaged = {}, 0
    etag, body = None, None
    with Store(f"s3://bucket/{PREFIX}", env, *FAST, "attempts_max=4") as store:
        for i in range(rounds):
            proxy.set(kinds, 30)
            new = f"version {i}".encode()
            code, words_or_etag = store.put("mixed/chain", new, etag or "absent")
            damaged += sum(proxy.injected.values())
            proxy.set([])
            now = there(server, "mixed/chain")
            counts[code] = counts.get(code, 0) + 1
            if code == "ok":
                dxtest.equal(now, new, f"{words}: a put that succeeded is there")
            elif code in (UNKNOWN, "busy", "io", "timeout"):
                dxtest.check(now in ((body, new) if code == UNKNOWN else (body,)),
                             f"{words}: {code} {words_or_etag}: {now} is neither {body} nor {new}")
            else:
                dxtest.check(False, f"{words}: one writer and {code} {words_or_etag}")
            if now is not None:
                etag = server.ask("GET", server.target("bucket", f"{PREFIX}/mixed/chain"))[1]["etag"]
            body = now
    print(f"{words}: {rounds} versions, {damaged} replies lost or turned: {counts}")
    dxtest.check(damaged > rounds // 5, f"{words}: {damaged} faults")
    dxtest.check(counts.get("ok", 0) > rounds // 2, f"{words}: most succeed: {counts}")


def check_probe_behind(server, words):
    for fault, want in (("put_inm_ignored", "name that is taken is ignored"),
                        ("put_inm_inverted", "name that is free is refused"),
                        ("put_im_on_missing", "object that is gone is ignored")):
        with faultproxy.Proxy(server.url, [fault], credentials=server.credentials) as proxy, \
                Store("s3://bucket/probing", {**server.env, "AWS_ENDPOINT_URL_S3": proxy.url}) as store:
            code, why = store.probe()
            dxtest.check(code == "unsupported" and want in why, f"{words}: {fault}: {code} {why}")


def make_bucket(server):
    """MinIO says that it is up before it is."""
    dxtest.wait_until(lambda: server.ask("PUT", "/bucket")[0] != 503)
    dxtest.equal(server.ask("GET", "/bucket?list-type=2")[0], 200, "the bucket is there")


def check_server(name, server, tmp):
    make_bucket(server)
    with Store(f"s3://bucket/{PREFIX}", server.env) as store:
        check_conditions(server, store, name)
        dxtest.equal(store.probe(), ("ok", ""), f"{name}: the probe")
        dxtest.equal(store.list("probe/"), ("ok", []), f"{name}: the probe leaves nothing")
        dxtest.equal(uploads_of(server), [], f"{name}: the probe leaves no upload")
        check_parts(server, store, tmp, name)
        check_list(server, store, name)
    check_refused(server, server.env, name)
    check_races(server, server.env, name)
    with faultproxy.Proxy(server.url, [], credentials=server.credentials) as proxy:
        check_lost_replies(server, proxy, tmp, name)
        check_mixed(server, proxy, name)
    check_probe_behind(server, name)


# 2 ------------------------------------------------------------------------------ a small store

def error_of(code):
    return f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>said so</Message></Error>".encode()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *arguments):
        pass

    def reply(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def date_time_string(self, timestamp=None):
        return email.utils.formatdate(time.time() + self.server.ahead_s, usegmt=True)

    def handle_one(self):
        self.body = self.rfile.read(int(self.headers["Content-Length"] or 0))
        path, _, query = self.path.partition("?")
        self.key = urllib.parse.unquote(path).removeprefix("/bucket").lstrip("/")
        self.query = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        server = self.server
        with server.lock:
            server.seen.append((self.command, self.path))
            if time.monotonic() < server.away_until:
                return self.reply(503, error_of(server.away_code), **server.away_fields)
            if server.busy_parts > 0 and "partNumber" in self.query:
                server.busy_parts -= 1
                return self.reply(503, error_of("SlowDown"))
            sent = datetime.datetime.strptime(self.headers["x-amz-date"], "%Y%m%dT%H%M%SZ").replace(
                tzinfo=datetime.timezone.utc).timestamp()
            if abs(sent - time.time() - server.ahead_s) > 900:
                return self.reply(403, error_of("RequestTimeTooSkewed"))
            if server.token is not None and self.headers["x-amz-security-token"] != server.token:
                return self.reply(403 if server.token_403 else 400, error_of("ExpiredToken"))
            return getattr(self, "on_" + self.command.lower())()

    do_GET = do_PUT = do_POST = do_DELETE = handle_one

    def condition_fails(self):
        rules, objects = self.server.rules, self.server.objects
        missing = self.key not in objects
        none_match, match = self.headers["If-None-Match"], self.headers["If-Match"]
        if none_match and self.command == "POST" and "parts_inm_ignored" in rules:
            return False
        if none_match and self.command == "POST" and "parts_inm_refused" in rules:
            return 412
        if none_match:
            return (missing if "inm_inverted" in rules else
                    not missing and "inm_ignored" not in rules) and 412
        if match and missing:
            return "im_missing_taken" not in rules and (404 if "im_404" in rules else 412)
        if match:
            same = objects[self.key][1] == match
            return (same if "im_inverted" in rules else
                    not same and "im_ignored" not in rules) and 412
        return False

    def write(self, body):
        status = self.condition_fails()
        if status:
            self.reply(status, error_of("NoSuchKey" if status == 404 else "PreconditionFailed"))
            return None
        etag = f'"{hashlib.md5(body).hexdigest()}"'
        self.server.objects[self.key] = (body, etag, self.nonce())
        return etag

    def nonce(self):
        return self.headers["x-amz-meta-dx-nonce"] or ""

    def on_put(self):
        server = self.server
        if hashlib.sha256(self.body).hexdigest() != self.headers["x-amz-content-sha256"]:
            return self.reply(400, error_of("XAmzContentSHA256Mismatch"))
        if "uploadId" in self.query:
            if self.query["partNumber"] == "3" and "part_fails" in server.rules:
                return self.reply(400, error_of("InvalidPart"))
            server.parts[int(self.query["partNumber"])] = self.body
            return self.reply(200, ETag=f'"p{self.query["partNumber"]}"')
        if server.races > 0:
            server.races -= 1
            return self.reply(409, error_of(("ConditionalRequestConflict", "ExistingObjectIsDirectory")[server.races % 2]),
                              **(server.race_fields.pop(0) if server.race_fields else {}))
        if "portal" in server.rules:
            return self.reply(200, b"<html>Welcome</html>")
        etag = self.write(self.body)
        if etag and "applied_500" in server.rules:
            return self.reply(500, error_of("InternalError"))
        return etag and self.reply(200, ETag=etag)

    def on_post(self):
        server = self.server
        if "uploads" in self.query:
            server.parts, server.upload, server.upload_nonce = {}, "u/1+2=", self.nonce()
            return self.reply(200, b"<InitiateMultipartUploadResult><UploadId>u/1+2=</UploadId>"
                                   b"</InitiateMultipartUploadResult>")
        if server.upload is None or self.query.get("uploadId") != server.upload:
            return self.reply(404, error_of("NoSuchUpload"))
        if "complete_error" in server.rules:
            return self.reply(200, b" \n" + error_of("InternalError"))
        numbers = [int(n) for n in re.findall(rb"<PartNumber>(\d+)", self.body)]
        etag = self.write(b"".join(server.parts[n] for n in numbers))
        if etag is None:
            return None
        body, _, _ = server.objects[self.key]
        server.objects[self.key] = (body, etag, server.upload_nonce)
        server.upload = None
        if "complete_applied_error" in server.rules:
            return self.reply(200, error_of("InternalError"))
        return self.reply(200, f"<?xml version='1.0'?>\n<CompleteMultipartUploadResult><ETag>"
                          f"{xml.sax.saxutils.escape(etag)}</ETag></CompleteMultipartUploadResult>"
                          .encode())

    def on_delete(self):
        if "uploadId" in self.query:
            self.server.upload = None
        else:
            self.server.objects.pop(self.key, None)
        self.reply(204)

    def on_get(self):
        if "list-type" in self.query:
            return self.reply(200, self.server.listing(self.query))
        if "blind" in self.server.rules and self.server.blind > 0:
            self.server.blind -= 1
            return self.reply(403, error_of("AccessDenied"))
        if self.key not in self.server.objects:
            return self.reply(404, error_of("NoSuchKey"))
        body, etag, nonce = self.server.objects[self.key]
        fields = {"ETag": etag, "x-amz-meta-dx-nonce": nonce}
        if self.headers["Range"] and body:
            return self.reply(206, body[:1], Content_Range=f"bytes 0-0/{len(body)}", **fields)
        return self.reply(416 if self.headers["Range"] else 200, body, **fields)


class Small(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, *rules, port=0):
        super().__init__(("127.0.0.1", port), Handler)
        self.rules, self.objects, self.lock = set(rules), {}, threading.Lock()
        self.parts, self.upload, self.upload_nonce, self.seen = {}, None, "", []
        self.blind = 1   # with that rule: read backs that are refused
        self.race_fields = []    # of one race after the other
        self.races, self.ahead_s, self.token, self.token_403 = 0, 0, None, True
        self.away_until, self.away_code, self.away_fields, self.busy_parts = 0, "SlowDown", {}, 0
        self.listing = lambda query: error_of("NotImplemented")
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.env = {"AWS_ACCESS_KEY_ID": "A", "AWS_SECRET_ACCESS_KEY": "S",
                    "AWS_ENDPOINT_URL_S3": self.url}

    def handle_error(self, request, client_address):
        """Clients of these tests go away when they like."""

    def __enter__(self):
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, kind, value, trace):
        self.shutdown()
        self.server_close()


def check_probe():
    for rule, want in (("inm_ignored", "name that is taken is ignored"),
                       ("inm_inverted", "name that is free is refused"),
                       ("im_ignored", "another ETag is ignored"),
                       ("im_inverted", "another ETag is ignored"),
                       ("im_missing_taken", "object that is gone is ignored"),
                       ("parts_inm_ignored", "parts (CompleteMultipartUpload) is ignored"),
                       ("parts_inm_refused", "parts (CompleteMultipartUpload) is refused"),
                       ("im_404", None), (None, None)):
        with Small(rule) as server, Store("s3://bucket", server.env) as store:
            code, why = store.probe()
            dxtest.check(code == "ok" if want is None else code == "unsupported" and want in why,
                         f"probe, {rule}: {code} {why}")
            dxtest.equal(server.objects, {}, f"probe, {rule}: nothing is left")
            dxtest.equal(server.upload, None, f"probe, {rule}: no upload is left over")


def check_small_puts(tmp):
    with Small() as server, Store("s3://bucket/p", server.env) as store:
        server.races = 2
        dxtest.equal(store.put("x", b"1", "absent")[0], "ok", "two races, then none")
        # Who is asked to wait for longer than a put is tried gives up between two attempts. However long it is tried: an attempt
        # that begins just before the end is cut off by it, and then the outcome is unknown indeed.
        server.races, server.race_fields = 10 ** 6, [{}, {}, {"Retry_After": "86400"}]
        asked = len(server.seen)
        dxtest.equal(store.put("y", b"1", "absent")[0], "conflict", "races without end")
        dxtest.equal([m for m, _ in server.seen[asked:]].count("PUT"), 3, "races without end: as many attempts")
        server.races = 0
        dxtest.check("p/y" not in server.objects, "it was not written")
    with Small("portal") as server, Store("s3://bucket/p", server.env, *BRIEF) as store:
        code, why = store.put("x", b"1", "absent")
        dxtest.check(code == UNKNOWN and "ETag" in why, f"a 200 of a captive portal: {code} {why}")
    large = tmp / "parts"
    size, flags = (66 * MIB, "") if dxtest.WHOLE else (2 * PART + 1, "parts")     # three parts at least: the third one fails
    sound = made(5, size)
    for rule, want, is_there in ((None, ("ok",), True), ("part_fails", ("io",), False),
                                 ("complete_error", (UNKNOWN,), False),
                                 ("complete_applied_error", ("ok",), True)):
        large.write_bytes(sound if dxtest.WHOLE or rule == "part_fails" else sound[:PART + 1])
        with Small(rule) as server, Store("s3://bucket/p", server.env, *BRIEF) as store:
            code, why = store.put("x", large, "absent", flags)
            dxtest.check(code in want and ("p/x" in server.objects) == is_there,
                         f"parts, {rule}: {code} {why}")
            dxtest.check(not is_there or server.objects["p/x"][0] == large.read_bytes(),
                         f"parts, {rule}: the bytes")
            dxtest.equal(server.upload, None, f"parts, {rule}: no upload is left over")
    large.unlink()


AWAY_S = 3   # longer than all retries of a read last


def check_away(tmp):
    """A store that restarts, or sheds load: who writes waits for it."""
    for code, kept in (("SlowDown", {}), ("ServiceUnavailable", {}),
                       ("SlowDown", {"Retry_After": str(AWAY_S)}))[0 if dxtest.WHOLE else 1:]:
        words = f"away with {code}, {kept}"
        with Small() as server, Store("s3://bucket/p", server.env) as store:
            server.away_code, server.away_fields = code, kept
            server.away_until = time.monotonic() + AWAY_S
            with takes(AWAY_S, 30, words):
                dxtest.equal(store.put("x", b"1", "absent")[0], "ok", words)
            dxtest.equal(server.objects["p/x"][0], b"1", words)
            asked = len(server.seen)
            # By jitter waits may be short, but those that a store asks for are not.
            dxtest.check(asked <= (2 if kept else 20), f"{words}: asked {asked} times")
            if code == "SlowDown" or not dxtest.WHOLE:
                continue
            server.away_until = time.monotonic() + AWAY_S
            server.listing = lambda query: page_of(["p/x"])
            dxtest.equal(store.list("")[0], "ok", f"{words}: a listing")
            server.away_until = time.monotonic() + AWAY_S
            dxtest.equal(store.remove("x")[0], "ok", f"{words}: a removal")
    port = stores.free_port()
    env = {"AWS_ACCESS_KEY_ID": "A", "AWS_SECRET_ACCESS_KEY": "S",
           "AWS_ENDPOINT_URL_S3": f"http://127.0.0.1:{port}"}
    with Store("s3://bucket/p", env) as store:
        store.send("put", "x", "absent", b"1".hex())
        time.sleep(AWAY_S)
        with Small(port=port) as server:
            dxtest.equal(store.answer()[0], "ok", "a store that refuses connections")
            dxtest.equal(server.objects["p/x"][0], b"1", "a store that refuses connections")
    with Store("s3://bucket/p", env, *BRIEF) as store, takes(0, 30, "a store that is gone"):
        dxtest.equal(store.put("x", b"1", "absent")[0], "io", "a store that is gone")
    if not dxtest.WHOLE:
        return
    # More retries than a process has for reads: 35, and a success gives back a 14th.
    body = made(6, 66 * MIB)
    large = tmp / "away"
    large.write_bytes(body)
    with Small() as server, Store("s3://bucket/p", server.env) as store:
        server.busy_parts = 40
        dxtest.equal(store.put("x", large, "absent")[0], "ok", "parts of a store that is busy")
        dxtest.check(server.objects["p/x"][0] == body, "parts of a store that is busy: the bytes")
        dxtest.equal(server.busy_parts, 0, "it was asked as often")
    large.unlink()


def check_may():
    """Who has lost the right to write: no attempt more, and what was written is known."""
    for flags in ("", "parts "):
        with Small() as server, Store("s3://bucket/p", server.env) as store:
            dxtest.equal(store.put("x", b"1", "absent", flags + "may=1")[0], "ok", "may once")
            code, why = store.put("y", b"1", "absent", flags + "may=0")
            dxtest.equal((code, why), ("busy", "the claim is lost"), f"{flags}may not")
            dxtest.check("p/y" not in server.objects, f"{flags}may not: nothing is there")
            dxtest.equal(server.upload, None, f"{flags}may not: no upload is left over")
    with Small() as server, Store("s3://bucket/p", server.env) as store:
        server.away_until = time.monotonic() + 1000
        code, why = store.put("x", b"1", "absent", "may=2")
        dxtest.equal((code, why), ("busy", "the claim is lost"), "may twice, SlowDown")
        dxtest.equal(len(server.seen), 2, "may twice: two attempts")
    for rules, flags in ((("applied_500",), ""), (("complete_applied_error",), "parts ")):
        with Small(*rules, "blind") as server, Store("s3://bucket/p", server.env, *BRIEF) as store:
            code, why = store.put("x", b"1", "absent", flags + "may=1")
            dxtest.equal(code, "ok", f"{rules}: it was written when the claim was lost: {why}")
            dxtest.equal(server.objects["p/x"][0], b"1", f"{rules}: it is there")
            dxtest.equal(sum(m in ("PUT", "POST") and ("uploads" not in p) for m, p in server.seen),
                         2 if flags else 1, f"{rules}: one attempt")


def check_clock():
    for ahead_s in (3600, -3600):
        with Small() as server, Store("s3://bucket/p", server.env) as store:
            server.ahead_s = ahead_s
            dxtest.equal(store.put("x", b"1", "absent")[0], "ok", f"a clock {ahead_s} s ahead")
            dxtest.equal(len(server.seen), 2, f"{ahead_s} s: signed once more, once")
            dxtest.equal(store.put("y", b"1", "absent")[0], "ok", f"{ahead_s} s: learnt")
            dxtest.equal(len(server.seen), 3, f"{ahead_s} s: at once")


def page_of(keys, token="", encoding=True, tail="</ListBucketResult>"):
    rows = "".join(f"<Contents><Key>{xml.sax.saxutils.escape(key)}</Key><Size>1</Size>"
                   f"<ETag>&quot;e&quot;</ETag></Contents>" for key in keys)
    more = f"<NextContinuationToken>{token}</NextContinuationToken>" if token else ""
    return (f"<?xml version='1.0'?><ListBucketResult xmlns='x'>{rows}"
            f"<IsTruncated>{'true' if token else 'false'}</IsTruncated>{more}"
            f"{'<EncodingType>url</EncodingType>' if encoding else ''}{tail}").encode()


def check_listings():
    rows = (
        ("two pages", [page_of(["p/a%2Bb", "p/b"], "t/1+&amp;="), page_of(["p/c"])], "ok",
         ["a+b", "b", "c"]),
        ("keys as they are", [page_of(["p/a%2Bb"], encoding=False)], "ok", ["a%2Bb"]),
        ("a mark for a folder", [page_of(["p/", "p/a/", "p/a/b"])], "ok", ["a/b"]),
        ("nothing", [page_of([])], "ok", []),
        ("empty pages", [page_of([], "t"), page_of([], "t"), page_of(["p/a"])], "ok", ["a"]),
        ("empty pages without end", [page_of([], "t")] * 200, "corrupt", None),
        ("empty pages between keys",
         [p for k in range(3) for p in [page_of([], "t")] * 60 + [page_of([f"p/{k}"], "t")]] +
         [page_of([])], "ok", ["0", "1", "2"]),
        ("no word on whether it goes on",
         [re.sub(rb"<IsTruncated>\w+</IsTruncated>", b"", page_of(["p/a"]))], "corrupt", None),
        ("two words on whether it goes on",
         [page_of(["p/a"]).replace(b"<IsT", b"<IsTruncated>true</IsTruncated><IsT")], "corrupt",
         None),
        ("goes on: True", [page_of(["p/a"], "t").replace(b"true", b"True")], "corrupt", None),
        ("out of order", [page_of(["p/b", "p/a"])], "unsupported", None),
        ("twice", [page_of(["p/a"], "t"), page_of(["p/a"])], "unsupported", None),
        ("of another prefix", [page_of(["q/a"])], "corrupt", None),
        ("up", [page_of(["p/../a"])], "invalid", None),
        ("a blank", [page_of(["p/a+b"])], "invalid", None),
        ("a NUL", [page_of(["p/a%00b"])], "corrupt", None),
        ("cut", [page_of(["p/a"], tail="")], "corrupt", None),
        ("truncated without token", [page_of(["p/a"]).replace(b"false", b"true")], "corrupt", None),
        ("HTML", [b"<html><body>Welcome</body></html>"], "corrupt", None),
        ("empty", [b""], "corrupt", None),
        ("a document type", [b"<!DOCTYPE x [<!ENTITY a 'b'>]>" + page_of(["p/a"])], "corrupt", None),
        ("an error", [error_of("InternalError")] * 99, "io", None),
        ("too long", [b"<ListBucketResult>" + b" " * (17 << 20)] * 3, "limit", None),
    )
    def judge(server, store, words, pages, want, names):
        left = list(pages)
        server.listing = lambda query: left.pop(0)
        code, items = store.list("")
        dxtest.equal(code, want, f"listing, {words}: {items}")
        if names is not None and code == "ok":
            dxtest.equal([name for name, _, _ in items], names, f"listing, {words}")
            dxtest.equal(left, [], f"listing, {words}: every page was asked for")

    alone = [row for row in rows if row[2] in ("io", "limit")]     # these are asked for again: that uses up a process' patience
    for some in ([row for row in rows if row not in alone], *([row] for row in alone)):
        with Small() as server, Store("s3://bucket/p", server.env, *BRIEF) as store:
            for row in some:
                judge(server, store, *row)


def timed(check, *arguments):
    began = time.monotonic()
    check(*arguments)
    print(f"{check.__name__}: {time.monotonic() - began:.0f} s", flush=True)


# main -----------------------------------------------------------------------------------------

def main():
    if not DRIVER.exists():
        dxtest.skip(f"{DRIVER} is not built")
    with dxtest.tempdir() as tmp:
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            waiting = [pool.submit(timed, check_away, tmp), pool.submit(timed, check_listings)]     # most of their time
            for check in (check_probe, check_may, check_clock):
                timed(check)
            timed(check_small_puts, tmp)
            for check in waiting:
                check.result()
        if not stores.kinds():
            print("SKIPPED in part: no S3 server (scripts/storage_servers.sh gets them)")
        for kind in stores.kinds():
            name = kind.program
            began = time.monotonic()
            with kind() as server:
                check_server(name, server, tmp)
            print(f"{name}: {time.monotonic() - began:.0f} s")
    dxtest.finish()


main()
