#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: slow
"""No request is seen differently by a proxy and by domaindexd, and no reply is given to another request.

Each request of smuggling.requests, and each request vector of llhttp's tests (DX_SHARED_DATA), is sent on a fresh connection,
with one more request behind it (the marker): to the server itself, through HAProxy and through nginx, as packaging/ sets them
up. Both share connections to the server among all clients, so that one byte too many or too few would show in the next
request. Between proxy and server is a relay that keeps all bytes. For each request then:

    what the proxy logged that it sent on  =  what a strict reader finds in the bytes  =  what the server logged
    there are as many replies, and each that says what was asked says what its own request asked
    the client gets no reply that holds another one's marker; a marker on a connection of its own gets its own

    nobody gets through a proxy under the name that he gives himself

and directly, what smuggling.requests says. The table in the end: how many were refused by the proxy, by us behind it, and
how many were the same request to both. With DX_WHOLE=1 each request takes all three ways, else one of them in turn, and those with a name of a
principal all. DX_CASES=text: only requests with the text in their name; each result is printed whole.

In detail: 485 requests of our own (`smuggling.requests`: one line of escapes each) and 166 vectors of llhttp,
directly, through HAProxy and through nginx as `packaging/` sets them up, with connections that all clients
share: what the proxy logged, the bytes that it sent, and what the server saw are the same requests; as many
replies, each to its own request; a refusal for whatever a strict reader does not take. Fields of each reply
(nosniff, CSP, no program named); a list of 60,000 names answered while it comes through both; nobody is
through a proxy whom he calls himself. `DX_CASES=text`: some of them, told in full.
"""
import collections
import json
import os
import pathlib
import re
import socket
import threading
import time

import dxtest
import front
import relay
import roots
import strict_http
from dxtest import check, equal

CASES = os.environ.get("DX_CASES", "")
QUIET_S, WAIT_S = 60, 0.3    # for an answer that is to come; to see that none does
LOGGED_MAX = 3000           # bytes of a target that the server's log has room for
# Everybody may see something; whom a proxy calls root, all.
TABLE = json.dumps({"format": 1, "generation": 1, "updated": "2026-11-22T04:00:00Z",
                    "dataset_acl": [{"dataset_id": 1, "principals": ["*"]}],
                    "principals": [{"name": "root", "all": True, "tokens": []}], "history": []})
ECHO = re.compile(r"^(?:https?://[^/?]*)?(?:/v1)?/normalize\?q=([A-Za-z0-9-]+)$")


# ---- what is sent ----

class Case:
    def __init__(self, name, data, want):
        self.name, self.data, self.want = name, data, want


def unescape(text):
    """Runs first; what is in them may be escaped as well."""
    text = re.sub(r"\\\{(\d+)\*([^}]*)\}", lambda m: m[2] * int(m[1]), text)
    return re.sub(r"\\(x[0-9a-f]{2}|.)", lambda m: {"r": "\r", "n": "\n", "t": "\t", "\\": "\\"}.get(m[1]) or
                  chr(int(m[1][1:], 16)), text).encode("latin-1")


def own_cases():
    cases, name, lines = [], None, []
    path = pathlib.Path(__file__).with_name("smuggling.requests")
    for line in path.read_text(encoding="ascii").split("\n"):
        if name is None:
            if line.startswith("["):
                name, lines = line[1:-1], []
        elif line.startswith("= "):
            cases.append(Case(name, b"".join(lines), line[2:]))
            name = None
        else:
            open_end = re.search(r"(?<!\\)(\\\\)*\\$", line)
            lines.append(unescape(line[:-1]) if open_end else unescape(line) + b"\r\n")
    equal(name, None, "smuggling.requests ends with a whole request")
    equal(len({c.name for c in cases}), len(cases), "names of requests are different ones")
    return cases


def llhttp_cases():
    """The inputs of its tests of requests: a block is written with plain line ends and escapes."""
    folder = dxtest.shared_data("conformance/http-llhttp/test")
    if folder is None:
        print("no llhttp vectors here: only our own requests are sent")
        return []
    cases = []
    for path in sorted((folder / "request").glob("*.md")):
        text, title = path.read_text(encoding="utf-8"), ""
        for match in re.finditer(r"^#+ ([^\n]*)$|^```http\n(.*?)^```\n(?:\s*```log\n(.*?)^```)?", text, re.M | re.S):
            if match[1]:
                title = match[1]
                continue
            block = re.sub(r"\\\n", "", match[2].removesuffix("\n")).replace("\n", "\r\n")
            block = re.sub(r"\\(r|n|t|f|x[0-9a-fA-F]+)", lambda m: {"r": "\r", "n": "\n", "t": "\t", "f": "\f"}.get(m[1]) or
                           chr(int(m[1][1:], 16)), block)
            heads = (match[3] or "").count("headers complete")
            cases.append(Case(f"llhttp {path.stem}: {title} ({len(cases)})", block.encode("utf-8"), heads))
    return cases


# ---- one way to the server ----

class Exchange:
    """Sends bytes and a marker, and reads until the marker is answered, the end, or nothing more comes."""

    def __init__(self, link, data, marker, patience_s, keep=False):
        self.got, self.closed, self.answered = b"", False, False
        deadline = time.monotonic() + patience_s
        link.settimeout(patience_s)
        try:
            link.sendall(data + marker_request(marker))
        except OSError:
            pass
        token = f'"q":"{marker}"'.encode()
        while not self.answered and time.monotonic() < deadline:
            link.settimeout(max(0.01, deadline - time.monotonic()))
            try:
                piece = link.recv(1 << 16)
            except TimeoutError:
                break
            except OSError:
                piece = b""
            if not piece:
                self.closed = True
                break
            self.got += piece
            self.answered = token in self.got and self.got.endswith(b"}")
        if not (keep and self.answered):
            link.close()


def marker_request(marker):
    return f"GET /v1/normalize?q={marker} HTTP/1.1\r\nHost: marker\r\n\r\n".encode()


class Way:
    """A lane: server, relay and perhaps a proxy of its own; requests one after the other."""

    def __init__(self, name, server, between, proxy):
        self.name, self.server, self.between, self.proxy = name, server, between, proxy
        self.taken = collections.defaultdict(lambda: [0, 0])    # bytes of each link that were judged
        self.left = set()       # links on which a proxy waits on for what its client will not send
        self.logged = self.n = 0
        self.other = None       # another client's, that is kept
        self.answered, self.maybe = collections.Counter(), collections.Counter()     # (method, target)
        self.table, self.wrong, self.fields = collections.Counter(), [], set()

    def connect(self):
        if self.proxy:
            return self.proxy.connect()
        link = socket.create_connection(("127.0.0.1", self.between.port), timeout=60)
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return link

    def fail(self, case, words):
        self.wrong.append(f"{self.name}: [{case.name}] {words}")

    # what passed since the last look

    def settle(self, marker, patience_s):
        """Until the second marker is in every log, and each connection is closed or between two requests."""
        end = time.monotonic() + patience_s
        while time.monotonic() < end:
            if self.at_rest() and self.is_logged(marker):
                return True
            time.sleep(0.002)
        return False

    def at_rest(self):
        for n, link in enumerate(self.between.links):
            up, down = self.taken[n]
            if link.closed or n in self.left:
                continue
            to_client, to_server = bytes(link.down[down:]), bytes(link.up[up:])
            s = strict_http.requests(to_server)
            if is_check(s):
                continue
            r = strict_http.replies(to_client, [m.method for m in s.whole])
            if s.size != len(to_server) or len(finals(r.whole)) != len(s.whole) or r.size != len(to_client):
                return False
        return True

    def is_logged(self, marker):
        if self.proxy and not any(marker in line for _, _, line in self.proxy.log()[self.logged:]):
            return False
        return True

    def passed(self):
        """[(link, requests, replies)] of the bytes since the last call."""
        out = []
        for n, link in enumerate(self.between.links):
            up, down = self.taken[n]
            if n in self.left or (len(link.up) == up and len(link.down) == down):
                continue
            # Replies first: a proxy's look at the server may come at any moment.
            to_client = bytes(link.down[down:])
            to_server = bytes(link.up[up:])
            sent = strict_http.requests(to_server)
            got = strict_http.replies(to_client, [m.method for m in sent.whole + [sent.begun] if m])
            if is_check(sent) and len(finals(got.whole)) < len(sent.whole) and not link.closed:
                continue    # its reply is under way: both are for the next time
            self.taken[n] = [up + len(to_server), down + len(to_client)]
            if sent.begun and got.begun and not link.closed:
                self.left.add(n)
            if not is_check(sent):
                out.append((link, sent, got))
        return out

    def judge_server_log(self):
        """All that was answered, and nothing that was not sent. Its lines come some time behind the replies."""
        wanted = collections.Counter({k: n for k, n in self.answered.items() if k[1] != "/" and len(k[1]) < LOGGED_MAX})
        end, seen = time.monotonic() + 60, self.server.seen()
        while time.monotonic() < end and wanted - seen:
            time.sleep(0.05)
            seen = self.server.seen()
        check(not wanted - seen, f"{self.name}: answered and not in the server's log: {wanted - seen!r:.400}")
        strange = seen - self.answered - self.maybe
        check(not strange, f"{self.name}: in the server's log and not in the bytes: {strange!r:.400}")
        return sum(seen.values())

    # one request

    def run(self, case):
        self.n += 1
        marker, second = f"marker-{self.name}-{self.n}-a", f"marker-{self.name}-{self.n}-b"
        patient = not self.proxy and isinstance(case.want, str) and not case.want.endswith("wait")
        exchange = Exchange(self.connect(), case.data, marker, QUIET_S if patient else WAIT_S)
        self.other = self.other or self.connect()
        alone = Exchange(self.other, b"", second, QUIET_S, keep=True)
        if not alone.answered:
            self.fail(case, f"the marker of another connection had {alone.got[-300:]!r}")
            self.other = None
        waits = self.proxy and not exchange.closed and not exchange.answered
        if not self.settle(second, 1.5 if waits else QUIET_S) and not waits:
            self.fail(case, "its connections do not come to rest, or a log does not")
        passed = self.passed()
        if CASES:
            self.tell(case, exchange, passed)
        self.judge_client(case, exchange, (marker, second))
        self.judge_bytes(case, passed)
        if not self.proxy:
            self.judge_direct(case, exchange)
        self.judge_views(case, exchange, passed)

    def tell(self, case, exchange, passed):
        print(f"--- {self.name} [{case.name}] want {case.want}\n  client: {exchange.got!r:.1500} closed {exchange.closed}")
        for link, sent, got in passed:
            print(f"  relay: {[m.line for m in sent.whole]} begun {sent.begun and sent.begun.line} bad {sent.bad!r}; "
                  f"replies {[m.status for m in got.whole]} begun {got.begun and got.begun.status} bad {got.bad!r} "
                  f"closed {link.closed}")
        print(f"  proxy: {self.proxy.log()[self.logged:] if self.proxy else None}", flush=True)

    def judge_client(self, case, exchange, markers):
        """Nothing of another connection's, and a marker's answer only at the end."""
        for found in re.findall(rb'"q":"(marker-[^"]*)"', exchange.got):
            if found.decode() != markers[0]:
                self.fail(case, f"the client was given the answer for {found.decode()}")
        if exchange.got.count(b'"q":"marker-') > 1:
            self.fail(case, "the marker was answered twice")

    def judge_bytes(self, case, passed):
        """As many replies as requests, and each its own."""
        for link, sent, got in passed:
            answers = finals(got.whole)
            extra = len(answers) + bool(got.begun) - len(sent.whole)
            if got.bad or extra > 1 or (extra and not link.closed and not sent.begun):
                self.fail(case, f"{len(sent.whole)} requests ({sent.bad}), {len(answers)} replies ({got.bad}), closed {link.closed}")
            for reply in answers[len(sent.whole):]:
                if reply.status < 400 or "close" not in reply.all("connection"):
                    self.fail(case, f"{reply.status} to what is no whole request: {sent.bad or 'it is not at its end'}")
            for request, reply in zip(sent.whole, answers):
                asked = ECHO.match(request.target)
                if asked and reply.status == 200 and request.method == "GET" and \
                        json.loads(reply.body)["q"] != asked[1]:
                    self.fail(case, f"{request.target} was answered with {reply.body[:100]!r}")
            for reply in answers:
                self.judge_fields(case, reply)

    def judge_fields(self, case, reply):
        wrong = [name for name, value in (("X-Content-Type-Options", "nosniff"), (
            "Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")) if reply.all(name) != [value]]
        wrong += [name for name in ("Server", "X-Powered-By", "Via") if reply.all(name)]
        if wrong and (words := f"fields of the reply {reply.status}: {wrong}") not in self.fields:
            self.fields.add(words)
            self.fail(case, words)

    def judge_direct(self, case, exchange):
        s = strict_http.replies(exchange.got, methods_of(case))
        statuses = [m.status for m in s.whole] + ([s.begun.status] if s.begun else [])
        if exchange.answered:
            statuses.pop()
        if isinstance(case.want, int):      # llhttp's: it is the less strict of both
            kept = [m for m in s.whole if m.status < 400 or "close" not in m.all("connection")]
            if len(kept) - exchange.answered > case.want:
                self.fail(case, f"{statuses} answered, where llhttp sees {case.want} heads")
            return
        words = case.want.split()
        end = words.pop() if words[-1] in ("close", "any", "wait") else "marker"
        pattern = "".join(f"(?:(?:{w.rstrip('*')}) ){'?' if w.endswith('*') else ''}" for w in words)
        ended = "marker" if exchange.answered else "close" if exchange.closed else "wait"
        if not re.fullmatch(pattern, "".join(f"{n} " for n in statuses)) or s.bad or (end != "any" and end != ended):
            self.fail(case, f"directly {statuses} {ended} {s.bad}, expected {case.want}: {exchange.got[:300]!r}")

    def judge_views(self, case, exchange, passed):
        """The three views of what went from proxy to server."""
        seen = [m for _, sent, _ in passed for m in sent.whole + ([sent.begun] if sent.begun else [])]
        inside = [(m.method, path_of(m.target)) for m in seen if not m.target.startswith("/v1/normalize?q=marker-")]
        if self.proxy:
            # A proxy writes its line when it has done with a request, which may be after the bytes.
            dxtest.wait_until(lambda: len(self.sent_on()) >= len(inside))
            sent_on = self.sent_on()
            self.logged = self.new_entries()[1]
            if sorted(sent_on) != sorted(inside) and not any(sent.bad for _, sent, _ in passed):
                self.fail(case, f"the proxy logged {sent_on!r:.300}, the bytes are {inside!r:.300}")
        for link, sent, got in passed:
            for n, request in enumerate(sent.whole + ([sent.begun] if sent.begun else [])):
                reply = (finals(got.whole) + [None])[min(n, len(finals(got.whole)))]
                taken = reply and not (reply.status >= 400 and "close" in reply.all("connection"))
                (self.answered if taken else self.maybe)[request.method, path_of(request.target)] += 1
        self.count(exchange, passed, inside)

    def new_entries(self):
        entries = self.proxy.log()
        return [e for e in entries[self.logged:] if "GET /readyz HTTP/1.1" != e[2]], len(entries)

    def sent_on(self):
        """The requests that the proxy has logged since the case before, without markers."""
        return [line_of(line) for forwarded, _, line in self.new_entries()[0] if forwarded and "q=marker-" not in line]

    def refused(self, passed):
        return any(m.status >= 400 and "close" in m.all("connection") for _, _, got in passed for m in finals(got.whole))

    def count(self, exchange, passed, inside):
        if self.refused(passed):
            self.table["refused by us"] += 1
        elif inside:
            self.table["the same request"] += 1
        elif self.proxy:
            self.table["refused by the proxy" if exchange.got else "closed, or waits"] += 1
        else:
            self.table["closed, or waits"] += 1


def finals(replies):
    return [m for m in replies if m.status >= 200]


def is_check(sent):
    """A proxy's own look at the server."""
    return sent.whole and all(m.target == "/readyz" for m in sent.whole)


def path_of(target):
    """Origin form: what a proxy makes of an absolute one, or a server."""
    rest = re.sub(r"^[a-z]+://[^/?]*", "", target, flags=re.I)
    return rest if rest.startswith("/") or (rest == target and not rest.startswith("?")) else "/" + rest


def line_of(line):
    """nginx takes more than one space."""
    words = re.fullmatch(r"(\S+) +(.*?)( +HTTP/[0-9.]+ *)?", line)
    return (words[1], path_of(words[2])) if words else (line, "")


def methods_of(case):
    return [m.method for m in strict_http.requests(case.data).whole] or (["HEAD"] if case.data.startswith(b"HEAD ") else [])


# ---- all of them ----

class Logged(dxtest.Server):
    """A server that writes down what it was asked."""

    def __init__(self, root, tmp, name, *arguments):
        self.file, self.principals = tmp / f"{name}.requests", set()
        table = tmp / f"{name}.access.json"
        table.write_text(TABLE)
        super().__init__(root, *arguments, "--log-requests", self.file, "--log-targets", "yes", "--access-file", table,
                         "--principal-header", "X-Domaindex-Principal", "--address-header", "X-Forwarded-For",
                         "--trusted-proxy", "127.0.0.1")

    def seen(self):
        """Counts of (method, target); a target that was cut is not compared."""
        out = collections.Counter()
        for line in self.file.read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            self.principals.add(entry.get("principal", ""))
            if "target" in entry and "target_bytes" not in entry and entry["target"] != "/readyz":
                out[entry["method"], path_of(entry["target"])] += 1
        return out


def walk(way, cases, failures):
    try:
        for case in cases:
            way.run(case)
    except Exception as error:   # a thread's own would only be printed
        failures.append(f"{way.name}: [{case.name}] {error!r}")
        raise


LISTED = 60_000 if dxtest.WHOLE else 15_000


def judge_lists(tmp, ways):
    """A long list of names is answered while it comes, through each of them and by each path: the same bytes."""
    names, got = tmp / "names.txt", {}
    names.write_text("".join(f"absent{n}.example\n" for n in range(LISTED)))
    for way in ways:
        url = f"https://127.0.0.1:{way.proxy.port}" if way.proxy else f"http://127.0.0.1:{way.server.port}"
        trust = ["--cacert", way.proxy.home / "ca.pem"] if way.proxy else []
        for path in ("/v1/domains", "/domains"):
            done = dxtest.run("curl", "-sS", "--max-time", 60, *trust, "-T", names, "-X", "POST", "-H", "Content-Type: text/plain",
                              f"{url}{path}")
            got.setdefault(path, done.stdout)
            check(done.stdout == got[path] and done.stdout.endswith(b'"complete":true}\n'),
                  f"{way.name}{path}: a list of {LISTED} names: {len(done.stdout)} bytes, {done.stdout[-200:]!r}")


def start(tmp, root, stack, name, kind):
    server = stack.enter_context(Logged(root, tmp, name, *dxtest.SAME_BYTES, "--threads", 1, "--workers", 1))
    server.close()
    between = stack.enter_context(relay.Relay(server.port))
    proxy = stack.enter_context(kind(tmp, between.port)) if kind else None
    return Way(name, server, between, proxy)


def main():
    dxtest.need_programs()
    kinds = {"direct": None}
    for name, kind in (("haproxy", front.Haproxy), ("nginx", front.Nginx)):
        if front.find(name):
            kinds[name] = kind
    own, theirs = own_cases(), llhttp_cases()[::1 if dxtest.WHOLE or CASES else 3]
    cases = [c for c in own + theirs if CASES in c.name]
    check(len(own) >= 200, f"{len(own)} requests of our own")
    with dxtest.tempdir() as tmp, dxtest.contextlib.ExitStack() as stack:
        root = roots.make(tmp, seed=5, count=200)
        ways = [start(tmp, root, stack, name, kind) for name, kind in kinds.items()]
        for number, way in enumerate(ways):
            way.cases = [c for n, c in enumerate(cases) if dxtest.WHOLE or CASES or n % len(ways) == number or b"principal" in c.data.lower()]
            way.passed()
            way.logged = len(way.proxy.log()) if way.proxy else 0
        failures, begin = [], time.monotonic()
        threads = [threading.Thread(target=walk, args=(way, way.cases, failures)) for way in ways]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        equal(failures, [], "each way was gone to its end")
        equal({c.name for way in ways for c in way.cases}, {c.name for c in cases}, "each request took a way")
        for way in ways:
            equal(way.n, len(way.cases), f"{way.name}: requests sent")
            for words in way.wrong:
                check(False, words)
            seen = way.judge_server_log()
            check(seen > len(way.cases), f"{way.name}: {seen} targets in the server's log")
            # Who comes through a balancer cannot call himself anything; who is one, can.
            equal("root" in way.server.principals, way.proxy is None and not CASES, f"{way.name}: {way.server.principals}")
        judge_lists(tmp, ways)
        print(f"{len(own)} requests of our own, {len(theirs)} of llhttp, {time.monotonic() - begin:.1f} s")
        for way in ways:
            print(f"  {way.name:8} " + ", ".join(f"{k}: {v}" for k, v in sorted(way.table.items())))
    if len(kinds) < 3:
        dxtest.skip("only " + ", ".join(kinds) + " (apt-get install haproxy nginx)") if not dxtest.failures() else None
    dxtest.finish()


if __name__ == "__main__":
    main()
