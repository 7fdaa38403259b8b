#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: plain
"""1,000 secrets and names that nobody may read afterwards, through all that a request can meet: in targets, fields,
bodies and malformed heads, as tokens, keys and credentials of the server; answered, refused, failed by damaged
files, by a store behind faults, too late, overloaded, suppressed, while tables and rules cannot be read, and at a
server's violent death. None of them is in standard error, the log of requests, metrics, healthz, readyz, version, or a
reply to somebody else. With --log-targets those in targets are found, so the search does find.

In detail: 1,400 secrets and names (1,065 in the gate) in targets, fields, bodies, malformed heads, tokens, keys, credentials and
damaged tables, through answers, refusals, damaged files, suppressions, a store behind faults, overload,
timeouts and violent deaths: none of them is in standard error, the log of requests, metrics, health routes or
replies to others; with `--log-targets` they are found.
"""
import concurrent.futures
import contextlib
import http.client
import os
import random
import re
import resource
import shutil
import signal
import socket
import subprocess
import time

import dxtest
import faultproxy
import stores
from dxtest import check, equal

PRESENT = 120      # domains of the lake that are canaries themselves
CANARY = re.compile(rb"cny[0-9]{4}z[0-9a-z]{12}", re.I)
chance = random.Random(11)
made = []


def canary():
    """Fit for a domain, a field's value, a token, a path: letters and digits, the number first."""
    made.append(f"cny{len(made):04d}z" + "".join(chance.choices("bdfghjkmnpqrstvwxz0123456789", k=12)))
    return made[-1]


def found(data, but=()):
    return sorted({m.decode().lower() for m in CANARY.findall(data)} - set(but))


class Watched(dxtest.Server):
    """A server with all that it writes, and the words of its admin listener, held against the canaries at the end."""

    def __init__(self, name, root, work, *options, allowed=(), **more):
        self.name, self.requests, self.allowed = name, work / f"{name}.requests", allowed
        super().__init__(root, "--log-requests", self.requests, "--server-name", name, *options, **more)

    def artefacts(self):
        yield "standard error", self.words().encode()
        yield "the log of requests", self.requests.read_bytes() if self.requests.exists() else b""

    def look(self):
        for target in ("/metrics", "/healthz", "/readyz", "/version"):
            reply = self.admin(target)
            equal(found(reply.body + repr(reply.headers).encode()), [], f"{self.name}: {target} of the admin listener")
        for target in ("/healthz", "/readyz"):
            with contextlib.suppress(OSError, http.client.HTTPException):
                equal(found(self.get(target).body), [], f"{self.name}: {target}")

    def __exit__(self, kind, value, trace):
        if kind is None and self.process.poll() is None:
            self.look()
        time.sleep(0.1)
        for what, data in self.artefacts():
            equal(found(data, self.allowed), [], f"{self.name}: {what}")
        self.lines = self.requests.read_bytes().count(b"\n") if self.requests.exists() else 0
        super().__exit__(kind, value, trace)


def raw(server, data, seconds=10):
    """What comes back for these bytes, until the end or for some time."""
    with contextlib.suppress(OSError), socket.create_connection((server.host, server.port)) as s:
        s.settimeout(seconds)
        s.sendall(data)
        s.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: s.recv(65536), b""))
    return b""


def ask(server, own, target, method="GET", headers=None, body=None):
    """The status; a reply has no canary but those of its own request."""
    reply = server.get(target, method, headers, body)
    others = found(reply.body + repr(reply.headers).encode(), own)
    equal(others, [], f"{server.name}: others in the reply to a request of {own[0] if own else target}")
    return reply.status


def requests(present):
    """(canaries, target, headers) by kind."""
    for name in present:
        yield [name], f"/v1/domain/{name}.com", {}
    for name in present[:40]:
        for target in (f"/v1/domain/{name}.com/datasets/1/urls", f"/v1/domain/{name}.com/hosts", f"/v1/domain/{name}.com/diff",
                       f"/v1/domain/{name}.com/datasets/1/paths", f"/v1/url?u=https://{name}.com/{name}",
                       f"/v1/domain/{name}.com/datasets/1/urls?limit=1", f"/v1/domain/{name}.com/urls", f"/v1/domain/{name}.com/urls?filter=x:{name}"):
            yield [name], target, {}
    targets = ("/v1/domain/{}.com", "/v1/domain/a.{}.co.uk/hosts", "/v1/domain/{}", "/{}", "/v1/{}/domain", "/v1/domain/x.com?{}=1",
               "/v1/domain/x.com/datasets/{}/urls", "/v1/domain/x.com/datasets/1/urls?cursor={}",
               "/v1/domain/x.com/datasets/1/urls?limit={}", "/v1/domain/x.com?fields={}", "/v1/domain/x.com?version={}",
               "/v1/url?u=https://{}.com/x", "/v1/url?u={}", "/v1/urlid/{}", "/v1/normalize?q=https://{}.org/", "/v1/changes?since={}",
               "/v1/changes?cursor={}", "/v1/datasets?limit={}", "/v1/datasets/1/top-domains?share={}",
               "/v1/datasets/1/overlap/{}", "/healthz?{}", "/readyz?token={}", "/metrics?{}", "/v1/domain/%zz{}",
               "/v1/domains?format={}", "/v1/domains?prefix={}", "/v1/domains?suffix={}.com", "/v1/domain/{}.com/urls", "/v1/domain/x.com/urls?dataset={}",
               "/v1/domain/x.com/urls?filter={}:{}", "/v1/domain/x.com/urls?from={}", "/v1/domain/x.com?access_token={}")
    for target in targets:
        for _ in range(9 if dxtest.WHOLE else 4):
            name = canary()
            yield [name], target.replace("{}", name), {}
    fields = ("Authorization: Bearer {}", "Authorization: Bearer dxk_{}{}", "Authorization: Basic {}", "Authorization: {}",
              "X-User: {}", "X-Forwarded-For: {}", "X-Forwarded-For: 10.0.0.1, {}", "Cookie: session={}", "Referer: https://{}.com/",
              "User-Agent: {}", "X-{}: 1", "X-Api-Key: {}", "traceparent: {}", "traceparent: 00-{}-{}-01", "If-None-Match: \"{}\"",
              "Accept: {}", "Host: {}.example", "Proxy-Authorization: {}", "Forwarded: for={}", "X-Request-Id: {}")
    for field in fields:
        for n in range(8 if dxtest.WHOLE else 4):
            name = canary()
            key, value = field.split(": ", 1)
            yield [name], ("/v1/domain/x.com", "/v1/domain/absent.com", "/nothing", "/v1/datasets/1/overlap/1")[n % 4], \
                {key.replace("{}", name): value.replace("{}", name)}


def malformed():
    """(canaries, bytes) of what is no request."""
    forms = ("{c} / HTTP/1.1\r\nHost: x\r\n\r\n", "GET /{c} {c}\r\n\r\n", "GET /{c} HTTP/1.1\r\n{c}\r\n\r\n",
             "GET /{c}\r\n\r\n", "GET / HTTP/1.1\r\nHost: {c} {c}\r\n\r\n", "GET / HTTP/1.1\r\nHost: x\r\nHost: {c}\r\n\r\n",
             "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: {c}\r\n\r\n", "GET /{c} HTTP/1.1\nHost: x\n\n",
             "POST /{c} HTTP/1.1\r\nHost: x\r\nContent-Length: 18\r\n\r\n{c}", "GET /{c} HTTP/1.1\r\nHost: x\r\n A: {c}\r\n\r\n",
             "GET http://{c}.com/{c} HTTP/1.1\r\nHost: {c}.com\r\n\r\n", "GET http://u:{c}@x/ HTTP/1.1\r\nHost: x\r\n\r\n",
             "GET /{c}", "GET / HTTP/1.1\r\nCookie: {c}", "\x16\x03\x01{c}", "GET /\x00{c} HTTP/1.1\r\nHost: x\r\n\r\n",
             "PUT /v1/domain/{c}.com HTTP/1.1\r\nHost: x\r\n\r\n",
             "POST /v1/domains HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: {c}\r\n\r\n",
             "POST /v1/domains HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n{c}\r\n",
             "POST /v1/domains HTTP/1.1\r\nHost: x\r\nContent-Type: application/{c}\r\nContent-Length: 17\r\n\r\n{c}",
             "POST /v1/domains HTTP/1.1\r\nHost: x\r\nExpect: {c}\r\nContent-Length: 20\r\n\r\n{c}",
             "GET /" + "{c}" * 500 + " HTTP/1.1\r\nHost: x\r\n\r\n", "GET / HTTP/1.1\r\nHost: x\r\nX: " + "{c}" * 1200 + "\r\n\r\n")
    for form in forms:
        for _ in range(8):
            name = canary()
            yield [name], form.replace("{c}", name).encode()


def bodies(present):
    """(canaries, body, type) of lists of names."""
    for n in range(24):
        names = [canary() for _ in range(5)] + present[n:n + 2]
        text = "".join(f"{name}.com\n" for name in names)
        yield names, (text, "[" + ",".join(f'"{name}.com"' for name in names) + "]", f"{{\"{names[0]}\": 1",
                      f"https://{names[0]}.com/{names[1]}\n" + text)[n % 4].encode(), \
            ("text/plain", "application/json", "application/json", "text/plain")[n % 4]


def all_of_it(server, present, lines=True):
    """Every kind; the statuses that came."""
    statuses = {}
    for own, target, headers in requests(present):
        status = ask(server, own, target, "GET", headers)
        statuses[status] = statuses.get(status, 0) + 1
    for own, body, kind in bodies(present):
        for form in ("ndjson", "csv"):
            status = ask(server, own, f"/v1/domains?format={form}", "POST", {"Content-Type": kind}, body)
            statuses[status] = statuses.get(status, 0) + 1
    server.close()
    for own, data in malformed():
        reply = raw(server, data)
        equal(found(reply, own), [], f"others in the reply to {data[:60]}")
        status = int(reply.split()[1]) if reply else 0
        statuses[status] = statuses.get(status, 0) + 1
    return statuses


def make_root(work, present):
    root = work / "root"
    for dataset in ("one", "two"):
        rows = "".join(f"https://{name}.com/{name}\nhttps://www.{name}.com/{dataset}/{name}?k={name}\n" for name in present)
        dxtest.domaindex("ingest", "--root", root, "--dataset", dataset, "-", input=(rows + "https://x.com/\n").encode())
        dxtest.domaindex("publish", "--root", root)
    return root


def served(root, work, present):
    """Answers and refusals; a settings file and a key with secrets; good tokens and bad ones."""
    key, conf = work / "cursor.key", work / "conf"
    key.write_text(canary() * 3)
    key.chmod(0o600)
    conf.write_text(f"# {canary()}\ncursor-key-file = {key}\n")
    with Watched("served", root, work, "--config", conf, "--principal-header", "X-User", "--address-header", "X-Forwarded-For",
                 "--trusted-proxy", "127.0.0.1") as server:
        statuses = all_of_it(server, present)
        print(f"served: {dict(sorted(statuses.items()))}", flush=True)
        check({200, 400, 404, 405, 431} <= set(statuses), f"kinds of replies: {statuses}")
    check(server.lines > (900 if dxtest.WHOLE else 600), f"{server.lines} lines of requests")


def with_table(root, work, present):
    tokens = []
    dxtest.domaindex("access", "init", "--root", root)
    for name in ("team", "auditor"):
        dxtest.domaindex("access", "principal", "add", name, "--root", root)
        dxtest.domaindex("access", "grant", "one", "--to", name, "--root", root)
        tokens += [dxtest.domaindex("access", "token", "new", name, "--root", root).stdout.decode().strip() for _ in range(2)]
    table = root / "index" / "access.json"
    good = table.read_text(encoding="utf-8")
    with Watched("table", root, work, "--principal-header", "X-User", "--trusted-proxy", "127.0.0.1") as server:
        for n, name in enumerate(present[:40]):
            for token in (tokens[n % 4], tokens[n % 4][:-1] + "x", "dxk_" + canary() + "0" * 32):
                ask(server, [name, *found(token.encode())], f"/v1/domain/{name}.com", "GET", {"Authorization": f"Bearer {token}"})
        for _ in range(20):
            name = canary()
            ask(server, [name], "/v1/domain/x.com", "GET", {"X-User": name})
        for damage in (good[:-20] + canary(), good.replace('"team"', f'"{canary()}', 1), f'{{"format":1,"generation":99,"{canary()}":0}}',
                       canary()):
            table.write_text(damage, encoding="utf-8")
            server.process.send_signal(signal.SIGHUP)
            time.sleep(0.3)
            ask(server, [], "/v1/datasets", "GET", {"Authorization": f"Bearer {tokens[0]}"})
        check(server.admin("/readyz").status in (200, 503), "readyz")
        text = b"".join(data for _, data in server.artefacts()) + server.admin("/metrics").body
        for token in tokens:
            check(token.encode() not in text and token[4:30].encode() not in text, "a good token is in a log")
    table.write_text(good, encoding="utf-8")
    dxtest.domaindex("access", "remove", "--yes", "--root", root)


def damaged(root, work, present):
    """Files that lie: 500s, 503s, and lists that break off; then what is mapped changes under the server."""
    copy = work / "damaged"
    shutil.copytree(root, copy)
    shutil.rmtree(copy / "leases", ignore_errors=True)
    options = ("--verify", "no", "--warm", "no", "--poll-ms", "0", "--cache-pages", "1M", "--cache-answers", "0")
    with Watched("damaged", copy, work, *options) as server:
        damage_what_is_read(copy)
        statuses = {}
        for own, target, headers in requests(present):
            if "com/" in target or "?u=" in target:
                status = ask(server, own, target, "GET", headers)
                statuses[status] = statuses.get(status, 0) + 1
        print(f"damaged: {dict(sorted(statuses.items()))}", flush=True)
        check(statuses.get(500, 0) + statuses.get(503, 0) > 20, f"failures: {statuses}")
        for path in copy.glob("index/*/*.d[xo]*"):
            with contextlib.suppress(OSError), open(path, "r+b") as f:
                f.write(canary().encode())
        for name in present[:20]:
            ask(server, [name], f"/v1/domain/{name}.com", "GET")
        for own, body, kind in bodies(present):
            ask(server, own, "/v1/domains?format=ndjson", "POST", {"Content-Type": kind}, body)


def damage_what_is_read(copy):
    chance_ = random.Random(3)
    for path in [*copy.glob("urls/**/*.parquet"), *copy.glob("index/*/postings.dat.zst"), *copy.glob("index/*/facts*"),
                 *copy.glob("index/*/url_ids*"), *copy.glob("index/*/sketches*")]:
        data = bytearray(path.read_bytes())
        for _ in range(max(4, len(data) // 40)):
            data[chance_.randrange(len(data))] ^= 0x55
        path.write_bytes(data)


def suppressed(root, work, present):
    with Watched("suppressed", root, work, "--poll-ms", "100") as server:
        for name in present[:3]:
            dxtest.domaindex("suppress", "add", "--root", root, "--domain", f"{name}.com", "--reason", canary())
        time.sleep(0.7)
        for name in present[:6]:
            ask(server, [name], f"/v1/domain/{name}.com")
            ask(server, [name], f"/v1/domain/{name}.com/datasets/1/urls")
        log = root / "index" / "suppressions.log"
        good = log.read_bytes()
        for tail in (canary().encode() + b"\n", f'{{"{canary()}": "{canary()}"}}\n'.encode()):
            log.write_bytes(good + tail)
            server.process.send_signal(signal.SIGHUP)
            time.sleep(0.3)
            ask(server, [], "/readyz")
        log.write_bytes(good)


def suppressed_unread(root, work, present):
    """A part of a domain is suppressed, and which of its rows that are cannot be found out."""
    copy, name = work / "unread", present[7]
    shutil.copytree(root, copy)
    with Watched("unread", copy, work, "--poll-ms", "100") as server:
        for path in copy.glob("urls/**/*.parquet"):
            size = path.stat().st_size
            with path.open("r+b") as f:
                f.seek(4)
                f.write(bytes(size * 3 // 4))
        dxtest.domaindex("suppress", "add", "--root", copy, "--url", f"https://www.{name}.com/never", "--reason", canary())
        dxtest.wait_until(lambda: ask(server, [name], f"/v1/domain/{name}.com") == 503)
        equal(ask(server, [name], f"/v1/domain/{name}.com"), 503, "what is suppressed is not known")
        ask(server, [name], f"/v1/domain/{name}.com/hosts")
        ask(server, [name], "/v1/domains", "POST", {"Content-Type": "text/plain"}, f"{name}.com\n".encode())


def behind_faults(root, work, present):
    """A store that fails, is late, is overrun, and refuses; its credentials are secrets."""
    with stores.Versitygw() as store:
        store.bucket("lake")
        store.upload("lake", "root", root)
        with faultproxy.Proxy(store.url, delay_ms=5) as proxy:
            proxy.set()
            secret = {**store.env, "AWS_ENDPOINT_URL_S3": proxy.url, "OTHER_SECRET": canary(), "CACHE_DIRECTORY":
                      str(work / "mirror")}
            options = ("--job-timeout-ms", "700", "--head-timeout-ms", "500", "--workers", "1", "--queue", "4", "--cache-idx", "1M",
                       "--cache-payload", "1M", "--cache-pages", "1M", "--cache-answers", "0", "--poll-ms", "300")
            with stores.environment(secret), Watched("store", store.root("lake", "root"), work, *options, deadline_s=90) as server:
                statuses = {}
                for faults, percent in (("status_503", 100), ("status_403_expired", 100), ("cut_at_zero", 100), ("etag_changed", 50),
                                        ("stall_at_half", 100)):
                    proxy.set([faults], percent)
                    with concurrent.futures.ThreadPoolExecutor(16) as pool:
                        def one(name):
                            reply = raw(server, f"GET /v1/domain/{name}.com/datasets/1/urls HTTP/1.1\r\nHost: x\r\n"
                                                f"Authorization: Bearer {name}\r\nConnection: close\r\n\r\n".encode(), 20)
                            equal(found(reply, [name]), [], "others in a reply")
                            return int(reply.split()[1]) if reply else 0
                        for status in pool.map(one, present[:24]):
                            statuses[status] = statuses.get(status, 0) + 1
                print(f"behind faults: {dict(sorted(statuses.items()))}", flush=True)
                check(statuses.get(503, 0) > 10, f"failures: {statuses}")
                proxy.set()
                text = b"".join(data for _, data in server.artefacts()) + server.admin("/metrics").body
                for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
                    check(store.env[name].encode() not in text, f"{name} is in a log")
        secret = {**store.env, "AWS_SECRET_ACCESS_KEY": canary(), "AWS_ACCESS_KEY_ID": canary(), "AWS_SESSION_TOKEN": canary()}
        with stores.environment(secret):
            done = dxtest.run(dxtest.DOMAINDEXD, "--root", store.root("lake", "root"), "--listen", "127.0.0.1:0", "--cache-dir",
                              work / "none", expect=1)
            equal(found(done.stderr + done.stdout), [], "a start that the store refuses")


def killed(root, work, present):
    """What is left of a server that dies violently: no core, and no words of anybody."""
    # A core may be as long as is allowed here, and goes to this folder.
    most = resource.getrlimit(resource.RLIMIT_CORE)[1]
    for how in (signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS):
        words = open(work / "killed", "w+b")
        process = subprocess.Popen([str(dxtest.DOMAINDEXD), "--root", str(root), "--listen", "127.0.0.1:0", "--log-requests",
                                    str(work / "killed.requests")], stdout=words, stderr=words, cwd=work,
                                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (most, most)))
        port, end = None, time.monotonic() + 60
        while port is None and time.monotonic() < end:
            match = re.search(rb"http://127.0.0.1:(\d+)", (work / "killed").read_bytes())
            port = int(match[1]) if match else time.sleep(0.05)
        server = type("At", (), {"host": "127.0.0.1", "port": port})
        for name in present[:5]:
            raw(server, f"GET /v1/domain/{name}.com HTTP/1.1\r\nHost: x\r\nCookie: {canary()}\r\n\r\n".encode())
        process.send_signal(how)
        process.wait(60)
        words.close()
        equal(found((work / "killed").read_bytes() + (work / "killed.requests").read_bytes()), [], f"{how.name}")
        equal([p.name for p in work.glob("core*")], [], "no core")


def finds(root, work, present):
    """The same search where the words are, so it can be believed where they are not."""
    own = [canary() for _ in range(3)]
    with dxtest.Server(root, "--log-requests", work / "told", "--log-targets", "yes") as server:
        for name in own:
            server.get(f"/v1/domain/{name}.com")
        server.close()
        dxtest.wait_until(lambda: len(found((work / "told").read_bytes())) >= 3)
        equal(found((work / "told").read_bytes()), sorted(own), "with --log-targets they are found")
    equal(found(f"2026 error {own[0].upper()}: x".encode()), [own[0]], "a planted one")


def main():
    dxtest.need_programs()
    present = [canary() for _ in range(PRESENT)]
    with dxtest.tempdir() as work:
        root = make_root(work, present)
        served(root, work, present)
        suppressed(root, work, present)
        suppressed_unread(root, work, present)
        with_table(root, work, present)
        damaged(root, work, present)
        killed(root, work, present)
        finds(root, work, present)
        if stores.find("versitygw"):
            behind_faults(root, work, present)
        print(f"{len(made)} canaries", flush=True)
        check(len(made) >= 1000, f"only {len(made)} canaries")
    dxtest.finish(skipped=None if stores.find("versitygw") else "no versitygw here: all but the store was tried")


if __name__ == "__main__":
    main()
