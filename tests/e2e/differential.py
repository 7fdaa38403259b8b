#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: peers
"""Random inputs to our parsers and to independent ones: what both accept must mean the same, and what one accepts alone must have a reason.

    differential.py [KIND …]        url head json row zseek parquet regex; default: all

| kind | ours | compared with |
| --- | --- | --- |
| url | `canon/` | ada, and the rules of docs/CANON.md (tests/support/restated.py) |
| head | `server/http/request_head.h` | llhttp (node); what we accept, also nginx |
| json | `base/json_tree.h` | Python's `json`, with what the header says that is refused beside it |
| row | `builder/input/records/input_json.h` | Python's `json` |
| zseek | `format/core/zseek.h` | the seek table read here by the seekable format's specification, zstandard, xxhash |
| parquet | `parquet/` | pyarrow |
| regex | `query/view/regex.h` | Python's `re`, for the syntax that both have |

`tests/differential/verdicts.c` says what ours make of an input. Inputs are changes of the corpora of tests/fuzz/ and of some lines below; regular
expressions are made by a grammar. The seed is fixed. DX_DIFFERENTIAL=N: N rounds, each with other inputs, DX_WHOLE=1: 20; then the corpora in
build/fuzz-run are used as well. A difference is printed with its input in hexadecimal.

A difference that is meant is a rule of RULES, with its reason and a condition on the input; each rule's number of inputs is printed. Each kind was
seen to fail when our parser was broken: "%%34%31" decoded to an escape, a second Host accepted, "01" as a number of a document, half a surrogate pair
in a row, the sum in a seek table not compared, unsigned INT32 of delta pages with a sign, a caseless expression compiled without that option.

Of nested columns of Parquet the values are compared and not the shape of the lists. Possessive groups of expressions are left out.
"""
import collections
import contextlib
import json
import os
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
import unicodedata

import dxtest
import front
import mutations
from dxtest import check

ROUNDS = int(os.environ.get("DX_DIFFERENTIAL") or (20 if dxtest.WHOLE else 1))
LARGE = ROUNDS > 1
VERDICTS = dxtest.BIN / "tests" / "verdicts"
PSL = "/usr/share/publicsuffix/public_suffix_list.dat"
BATCH = 2000

# name: (kind, reason, and of Parquet what our words match). Each stands beside the code that checks its condition; nothing else is passed over.
RULES = {}


class Tally:
    def __init__(self, kind):
        self.kind, self.rules, self.seen, self.reports = kind, collections.Counter(), collections.Counter(), 0

    def excuse(self, name):
        assert RULES[name][0] == self.kind, name
        self.rules[name] += 1

    def differ(self, data, words):
        self.reports += 1
        check(False, f"{self.kind}: {words}\n    input {data.hex() if len(data) <= 4000 else data[:4000].hex() + '…'}")

    def report(self):
        print(f"{self.kind}: {sum(self.seen.values())} inputs, {dict(sorted(self.seen.items()))}, {self.reports} differ")
        for name, count in sorted(self.rules.items()):
            print(f"    {count} by the rule {name}: {RULES[name][1]}")


def framed(inputs):
    return b"".join(struct.pack("<I", len(data)) + data for data in inputs)


def ask_ours(kind, inputs, *arguments):
    """A verdict for each input; an input that crashes the program is a failed check, and has None."""
    verdicts = []
    while len(verdicts) < len(inputs):
        done = subprocess.run([VERDICTS, kind, *arguments], input=framed(inputs[len(verdicts):]), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, check=False)
        at = 0
        while at < len(done.stdout):
            size = struct.unpack_from("<I", done.stdout, at)[0]
            verdicts.append(done.stdout[at + 4:at + 4 + size])
            at += 4 + size
        if len(verdicts) < len(inputs):
            check(False, f"{kind}: verdicts ended with {done.returncode} {done.stderr[-2000:].decode('utf-8', 'replace')}\n"
                         f"    input {inputs[len(verdicts)].hex()}")
            verdicts.append(None)
    return verdicts


# ---- URLs ----

# What ada calls invalid, and reasons of ours that it stands for.
INVALID = {"host_invalid", "port_invalid", "utf8_invalid", "host_missing"}
URL_SEEDS = [b"http://www.example.com:8080/a/../b//c?z=1&a=2#top", b"https://user:pw@foo.co.uk/", b"example.com/a", b"http:\\\\a.b\\c?d\\e",
             b"http://[1:0:0::0:0:8]:81/", b"http://0x7f.1/", "http://münchen.de/ä?ö".encode(), "http://faß.ＧＯ。com/".encode(),
             b"http://a.com/%7Euser/%2fa%2D%zz%%34%31?%61=e&b", b"http://xn--mnchen-3ya.de/", b"ftp://a.github.io:21/x", "http://אב.com/".encode(),
             "http://a\u200db.com/".encode(), b"//a.b/c", b"a.b:80/x", "http://क्\u200dष.com/".encode()]
URL_TOKENS = ["http://", "https:", "ftp://", "//", "\\", "/../", "/./", "%2e%2e", "%2F", "%41", "%", "?", "#", "@", ":", ":80", ":443", ":65536", "[::1]",
              "xn--", "xn--a", ".", "..", "0x", "0377", "256", "1.2.3.4", "co.uk", "github.io", "&", "=", "+", "ß".encode(), "。".encode(),
              "\u200d".encode(), "\u00ad".encode(), "İ".encode(), "ς".encode(), "א".encode(), "\u0301".encode(), b"\xff", b"\xed\xa0\x80", "\t", " ", "'",
              "^", "|", "`", "{", "\"", "<", "%00", "%FF", "ｅ".encode(), "٣".encode(), "xn--80ak6aa92e", "😀".encode()]


class Kind:
    """Inputs of one kind: pool makes them, judge_all compares [(input, our verdict)]."""

    def arguments(self):
        """More words for our program."""
        return ()

    def for_ours(self, data):
        """What our program gets of it."""
        return data


class Urls(Kind):
    kind, count = "url", 20000

    def __init__(self, tally, seed):
        from restated import Restated
        self.tally, self.canon = tally, Restated(dxtest.suffix_list())
        seeds = URL_SEEDS + [d for name in ("url", "urlkey") for d in mutations.corpus(name, LARGE)]
        self.pool = mutations.Pool([d for d in seeds if len(d) < 400 or LARGE], URL_TOKENS, seed)

    def arguments(self):
        return (PSL,)

    def judge_all(self, pairs):
        for data, verdict in pairs:
            self.judge(data, verdict.decode())
            if verdict.startswith(b"ok "):
                self.pool.keep(data)

    def judge(self, data, verdict):
        url, domain = self.canon.url(data.decode("utf-8", "surrogateescape"))
        ours = verdict.split(" ")
        self.tally.seen[ours[0] if ours[0] == "ok" else ours[1]] += 1
        want = f"ok {url} {domain}" if url else f"no {domain}"
        if verdict == want or (url is None and domain == "host_invalid" and ours[0] == "no" and ours[1] in INVALID):
            return
        if verdict == "no too_long" and domain == "host_invalid" and len(data) > 512:
            return      # rule 5: at most 512 code points, else it is not looked at
        host = self.canon.host
        if verdict == "no host_invalid" and host and breaks_bidi(host):
            self.tally.excuse("bidi")
        elif verdict == "no host_invalid" and host and re.search(r"(^|\.)xn---[^-.]*(\.|$)", host):
            self.tally.excuse("delimiter")
        else:
            self.tally.differ(data, f"ours {verdict}, ada {want}")


def breaks_bidi(host):
    """Whether it has a character from right to left, and a label that such a host must not have (RFC 5893, section 2)."""
    labels = []
    for label in filter(None, host.split(".")):
        with contextlib.suppress(UnicodeError):
            text = label[4:].encode().decode("punycode") if label.startswith("xn--") else label
            labels.append([unicodedata.bidirectional(c) for c in text])
    if not any(kind in ("R", "AL", "AN") for label in labels for kind in label):
        return False
    return any(not keeps_bidi(label) for label in labels)


def keeps_bidi(label):
    end = [kind for kind in label if kind != "NSM"][-1:]
    both = {"EN", "ES", "CS", "ET", "ON", "BN", "NSM"}
    if label[0] in ("R", "AL"):
        return not set(label) - both - {"R", "AL", "AN"} and end[0] in ("R", "AL", "EN", "AN") and not {"EN", "AN"} <= set(label)
    return label[0] == "L" and not set(label) - both - {"L"} and end[0] in ("L", "EN")


RULES |= {
    "bidi": ("url", "rule 5, CheckBidi: in a host with a character from right to left each label must keep RFC 5893's rule; ada does not look at all labels"),
    "delimiter": ("url", "rule 5, no invalid Punycode: a delimiter without a character before it is not one (RFC 3492, 6.2); ada passes over it"),
}


# ---- heads of requests ----

HEAD_TOKENS = ["GET ", "HEAD ", "POST ", "PUT ", "/v1/domains", "http://a.b:1/", "https://", " HTTP/1.1\r\n", " HTTP/1.0\r\n", "HTTP/1.2", "\r\n", "\r\n\r\n", "\n",
               "\r", "Host: a.b\r\n", "Host: [::1]:80\r\n", "Content-Length: 0\r\n", "Content-Length: 3\r\n", "Content-Length: +1\r\n",
               "Transfer-Encoding: chunked\r\n", "Transfer-Encoding: gzip, chunked\r\n", "Connection: close\r\n", "Connection: keep-alive, close\r\n",
               "Connection: upgrade\r\nUpgrade: h2c\r\n", "Expect: 100-continue\r\n", "Content-Type: text/csv\r\n", "Content-Encoding: gzip\r\n",
               "If-None-Match: \"a\"\r\n", "Accept: a/b\r\n", "Accept:\r\n", "Accept-Encoding: zstd\r\n", "Authorization: Bearer x\r\n", "X-Principal: p\r\n",
               "X-Address: 1.2.3.4\r\n", "X-Address: \r\n", "Traceparent: 00-\r\n", " : ", ": ", ":", "\t", " ", "\0", "%00", "%2e%2e/", "?", "#", "@", "*", "chunked",
               "CONNECT ", "OPTIONS ", "x\r\n y: z\r\n"]
TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
# Names and addresses, and what HTTP clients send for them: a part of RFC 3986's reg-name.
AUTHORITY = re.compile(r"(?:\[[0-9A-Za-z:.%]+\]|[A-Za-z0-9._%-]+)(?::[0-9]{0,5})?")
LINE = re.compile(r"(?:\r\n)?[!-~]+ [^ \r\n]+ HTTP/[0-9]\.[0-9]\r\n")
HTTP_URL = re.compile(r"https?://([^/?]*)(.*)", re.I | re.S)
# A Host without a label or with an empty one, or in the target one with other characters than nginx takes there.
NGINX_NO_NAME = re.compile(rb"(?i)\r\nhost: *(?:\.?(?::[0-9]*)?|[^\r\n]*\.\.[^\r\n]*) *\r\n|^(?:\r\n)?[A-Z]+ https?://[^/? ]*(?:\.\.|[%_~])")
TAB = re.compile(rb"(?i)\r\n(?:host|content-length|transfer-encoding):(?:[ \t]*\t[ \t]*[^ \t\r\n]+[ \t]*|[ \t]*[^ \t\r\n]+[ \t]*\t[ \t]*)\r\n")
BODY_MAX = 1 << 40


class Nginx:
    """It answers each request with what it saw. On a socket in the file system."""

    def __init__(self, home):
        self.path = home / "nginx.sock"
        # As root its workers would be another user, that may not enter the folder.
        user = "user root;" if os.geteuid() == 0 else ""
        paths = " ".join(f"{kind}_temp_path {home}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        (home / "nginx.conf").write_text(
            f"{user} daemon off; pid {home}/pid; error_log {home}/error.log crit; worker_processes 1; events {{ worker_connections 64; }}\n"
            f"http {{ {paths} access_log off; large_client_header_buffers 8 32k; client_header_buffer_size 32k; merge_slashes off;\n"
            f" client_max_body_size 0; keepalive_requests 1000000; keepalive_timeout 60; default_type text/plain;\n"
            f" server {{ listen unix:{self.path}; location / {{ return 200 \"$request_method\\t$request_uri\\t$http_host\\t$content_length\"; }} }} }}\n")
        self.process = subprocess.Popen([front.find("nginx"), "-p", home, "-c", home / "nginx.conf"], stderr=subprocess.DEVNULL)
        check(dxtest.wait_until(self.listens), f"nginx listens: {(home / 'error.log').read_text()}")

    def listens(self):
        with socket.socket(socket.AF_UNIX) as link:
            try:
                link.connect(str(self.path))
            except OSError:
                return False
        return True

    def end(self):
        self.process.terminate()
        self.process.wait(60)

    def ask(self, data):
        """All replies until the connection is closed or the marker is answered: [(status, method, target, host, length)]."""
        got = b""
        with socket.socket(socket.AF_UNIX) as link, contextlib.suppress(ConnectionError):
            link.settimeout(20)
            link.connect(str(self.path))
            link.sendall(data + b"GET /the-marker HTTP/1.1\r\nHost: marker\r\nConnection: close\r\n\r\n")
            link.shutdown(socket.SHUT_WR)
            while piece := link.recv(1 << 16):
                got += piece
        return self.replies(got)

    @staticmethod
    def replies(got):
        out = []
        while match := re.match(rb"HTTP/1\.[01] (\d{3}) [^\r]*((?:\r\n[^\r]+)*)\r\n\r\n", got):
            length = re.search(rb"(?i)^content-length: (\d+)", match[2], re.M)
            size = int(length[1]) if length else 0
            if match[1] == b"100":
                size = 0
            body = got[match.end():match.end() + size]
            if body.startswith(b"HTTP/1."):     # of HEAD: another reply follows at once
                size = 0
            echo = body.split(b"\t") if match[1] == b"200" and body.count(b"\t") == 3 and size else [b""] * 4
            out.append((int(match[1]), *echo))
            got = got[match.end() + size:]
        return out


class Heads(Kind):
    kind, count = "head", 6000

    def __init__(self, tally, seed):
        import smuggling
        self.tally, self.node = tally, shutil.which("node")
        self.nginx = None
        seeds = mutations.corpus("request_head", LARGE) + [c.data for c in smuggling.own_cases()]
        seeds += [b"GET / HTTP/1.1\r\nHost: a\r\n" + b"".join(b"%s: %s\r\n" % (name, value) for value in (b"a", b"", b"b")) + b"\r\n"
                  for name in (b"Accept", b"Accept-Encoding")]
        self.pool = mutations.Pool([d for d in seeds if len(d) < 1000 or LARGE], HEAD_TOKENS, seed)

    def judge_all(self, pairs):
        out = subprocess.run([self.node, "--no-deprecation", dxtest.SOURCE / "tests/support/llhttp.js"], input=framed(d for d, _ in pairs),
                             stdout=subprocess.PIPE, check=True).stdout
        lines = out.decode("utf-8", "surrogatepass").rstrip("\n").split("\n")
        check(len(lines) == len(pairs), f"llhttp has {len(lines)} verdicts on {len(pairs)} inputs")
        with dxtest.tempdir() as home:
            self.nginx = Nginx(home)
            try:
                for (data, verdict), line in zip(pairs, lines):
                    self.judge(data, verdict.decode("latin-1"), json.loads(line))
                    if not verdict.startswith(b"no 4"):
                        self.pool.keep(data)
            finally:
                self.nginx.end()

    def judge(self, data, verdict, theirs):
        words = verdict.split(" ")
        self.tally.seen[words[0] if words[0] != "no" else words[1]] += 1
        if words[0] == "ok":
            ours = dict(word.split("=") for word in words[3:])
            self.judge_accepted(data, int(words[1]), words[2], ours, theirs)
            self.ask_nginx(data[:int(words[1])], words[2], ours)
        elif theirs["head"] >= 0 and not theirs["body_error"]:
            why = refusals(data[:theirs["head"]].decode("latin-1"), theirs)
            if words[0] == "more" or int(words[1]) not in why:
                self.tally.differ(data, f"ours {verdict}, llhttp accepts {theirs}; reasons {sorted(why)}")

    def judge_accepted(self, data, size, method, ours, theirs):
        fields = list(zip(theirs["fields"][::2], theirs["fields"][1::2]))
        wrong = []

        def equal(name, got, want):
            if got != want:
                wrong.append(f"{name}: ours {got!r}, llhttp {want!r}")

        equal("size", size, theirs["head"])
        if (theirs["error"] or theirs.get("body_error")) in ("HPE_INVALID_CONTENT_LENGTH", "HPE_INVALID_TRANSFER_ENCODING") and TAB.search(data[:size]):
            self.tally.excuse("a tab")
            return
        if theirs["head"] < 0:
            self.tally.differ(data, f"ours accepts, llhttp: {theirs['error'] or 'more'}")
            return
        equal("method", method, theirs["method"])
        equal("version", ours["http_1_0"], str(int(theirs["minor"] == 0)))
        equal("fields", ours["fields"], str(len(fields)))
        equal("error of the body", "", theirs["body_error"])
        equal("ends with its head", ours["body"] == "0" and ours["chunked"] == "0", theirs["ends"])
        target = unhex(ours["target"])
        absolute = HTTP_URL.fullmatch(theirs["target"])
        equal("target", target, absolute[2] if absolute else theirs["target"])
        equal("bare", ours["bare"], str(int(bool(absolute) and not absolute[2].startswith("/"))))
        closes = any(option.strip(" \t").lower() == "close" for name, value in fields if name.lower() == "connection"
                     for option in value.split(","))
        equal("close", ours["close"], str(int(closes or theirs["minor"] == 0)))
        if ours["close"] == "0":
            equal("kept", True, theirs["keep"])
        values = collections.defaultdict(list)
        for name, value in fields:
            values[name.lower()].append(value)
        for name, count in (("host", "hosts"), ("authorization", "authorizations"), ("x-principal", "principals"),
                            ("traceparent", "traceparents"), ("x-address", "addresses")):
            equal(count, ours[count], str(len(values[name])))
            if values[name]:
                equal(name, unhex(ours[name]), values[name][-1])
        for i, name in enumerate(("if-none-match", "accept-encoding", "accept")):
            there = [value for value in values[name] if value]
            if method != "POST" or name == "accept":
                equal(name, unhex(ours[name]), (values[name] or [""])[-1])
                if len(there) > 1:
                    equal(f"{name} twice", ours["twice"][i], "1")
        if method == "POST":
            equal("content-type", unhex(ours["content-type"]), next((v for v in values["content-type"] if v), ""))
            equal("length", ours["body"], str(int((values["content-length"] or ["0"])[0])))
            equal("chunked", ours["chunked"], str(int(bool(values["transfer-encoding"]))))
            equal("expects", ours["expects"], str(int("expect" in values)))
        if wrong:
            self.tally.differ(data, "; ".join(wrong))

    def ask_nginx(self, head, method, ours):
        """The same request, and the next one begins where we say."""
        size = int(ours["body"])
        if size > 1 << 16:
            return
        body = b"0\r\n\r\n" if ours["chunked"] == "1" else b"x" * size
        replies = [reply for reply in self.nginx.ask(head + body) if reply[0] != 100]
        target = unhex(ours["target"]).encode("latin-1")
        if not target.startswith(b"/"):
            target = b"/" + target
        host = unhex(ours["host"]).encode("latin-1")
        if replies and replies[0][0] == 200 and method != "HEAD" and (
                replies[0][1], b"/" * (not replies[0][2].startswith(b"/")) + replies[0][2], replies[0][3]) != (method.encode(), target, host):
            self.tally.differ(head, f"ours {method} {target} {host}, nginx {replies[0]}")
        fields = re.findall(rb"(?i)\r\n([^:\r\n]+):[ \t]*([^\r\n]*)", head)
        if not replies or (replies[0][0] != 200 and len(replies) == 1):
            once = collections.Counter(name.lower() for name, _ in fields)
            if re.search(rb"%(?![0-9A-Fa-f]{2})|%00", target.split(b"?")[0]):
                self.tally.excuse("nginx: escapes")
            elif climbs(target.split(b"?")[0]):
                self.tally.excuse("nginx: dots")
            elif any(once[name] > 1 for name in ONCE):
                self.tally.excuse("nginx: twice")
            elif TAB.search(head):
                self.tally.excuse("a tab")
            elif NGINX_NO_NAME.search(head):
                self.tally.excuse("nginx: name")
            else:
                self.tally.differ(head, f"ours accepts, nginx: {replies}")
        elif len(replies) == 1 + (ours["close"] == "0"):
            self.tally.seen["nginx agrees"] += 1
        elif len(replies) == 2 and ours["http_1_0"] == "1" and any(n.lower() == b"connection" and b"keep-alive" in v.lower() for n, v in fields):
            self.tally.excuse("nginx: 1.0 is kept")
        elif len(replies) == 1 and any(n.lower() == b"connection" and b"close" in v.lower() for n, v in fields):
            self.tally.excuse("nginx: closes")
        else:
            self.tally.differ(head, f"nginx has {len(replies)} replies: {replies}")


ONCE = (b"if-none-match", b"if-match", b"if-modified-since", b"if-unmodified-since", b"authorization", b"content-type", b"range", b"if-range",
        b"user-agent", b"referer", b"expect", b"upgrade", b"te", b"keep-alive", b"accept-encoding")


def climbs(path):
    """Above the root, by segments ".."."""
    depth = 0
    for part in re.split(rb"/+", re.sub(rb"%2[fF]", b"/", re.sub(rb"%2[eE]", b".", path)))[1:]:
        depth += {b"..": -1, b".": 0, b"": 0}.get(part, 1)
        if depth < 0:
            return True
    return False


RULES |= {
    "a tab": ("head", "RFC 9110 has tabs as blanks around a value; llhttp and nginx refuse some around Host, Content-Length and Transfer-Encoding"),
    "nginx: escapes": ("head", "nginx refuses a path with % and not two digits, or with %00; the target is read by server/routes/target.h, which refuses them as well"),
    "nginx: dots": ("head", "nginx refuses a path that leads above the root; the server has no route of that name"),
    "nginx: twice": ("head", "nginx refuses fields that stand twice; ours counts those that matter (request_head.h: *_twice, *_count)"),
    "nginx: name": ("head", "nginx refuses a Host of dots alone or with an empty label, and '%', '_' and '~' in the authority of a target; ours looks at neither host"),
    "nginx: 1.0 is kept": ("head", "keep-alive of HTTP/1.0 is an extension that proxies disagree on: ours closes"),
    "nginx: closes": ("head", "nginx closes where 'close' stands anywhere in the value of Connection, ours where it is an option"),
}


def unhex(text):
    return bytes.fromhex(text).decode("latin-1")


def refusals(head, theirs):
    """Statuses that request_head.h has for a head that llhttp reads: each is a reason of our own, checked here on llhttp's parts of it."""
    fields = [(n.lower(), v) for n, v in zip(theirs["fields"][::2], theirs["fields"][1::2])]
    all_of = lambda name: [v for n, v in fields if n == name]   # noqa: E731
    method, target, minor = theirs["method"], theirs["target"], theirs["minor"]
    statuses, post = set(), method == "POST"
    absolute = HTTP_URL.fullmatch(target)
    path = (absolute[2] if absolute else target).split("?")[0]
    if method not in ("GET", "HEAD") and not (post and path.removesuffix("/") in ("/v1/domains", "/domains")):
        statuses.add(405)
    if theirs["major"] != 1 or minor > 1 or (post and minor == 0):
        statuses.add(505)
    if not LINE.match(head):     # HTTP/0.9, RTSP/1.0, two blanks
        statuses.add(400)
    if len(target) > 8448:
        statuses.add(414)
    if len(fields) > 100 or len(head) - head.find("\n") > 16384:
        statuses.add(431)
    if len(method) > 24:
        statuses.add(501)
    if not target.startswith("/") and not absolute or re.search(r"[^\x21-\x7e]|#", target):
        statuses.add(400)
    if absolute and not is_authority(absolute[1]):
        statuses.add(400)
    hosts, lengths, codings = all_of("host"), all_of("content-length"), all_of("transfer-encoding")
    if len(hosts) > 1 or (not hosts and minor == 1) or any(not is_authority(v) for v in hosts):
        statuses.add(400)
    if re.search("[\0-\x08\x0b\x0c\x0e-\x1f\x7f]", head) or re.search(r"(?<!\r)\n|\r(?!\n)", head):
        statuses.add(400)
    if any(not TOKEN.fullmatch(n) for n, _ in fields):
        statuses.add(400)
    if head.startswith("\r\n\r\n"):      # more than one empty line before the request
        statuses.add(400)
    if not post and (codings or (lengths and lengths != ["0"])):
        statuses.add(400)
    if post:
        if len(lengths) > 1 or any(not re.fullmatch("0|[1-9][0-9]*", v) for v in lengths) or (codings and codings != ["chunked"]) or (lengths and codings) \
                or len([v for v in all_of("content-type") if v]) > 1:
            statuses.add(400)
        if not lengths and not codings:
            statuses.add(411)
        if any(re.fullmatch("[0-9]+", v) and int(v) > BODY_MAX for v in lengths):
            statuses.add(413)
        if any(v.lower() != "identity" for v in all_of("content-encoding")):
            statuses.add(415)
        if any(v.lower() != "100-continue" for v in all_of("expect")):
            statuses.add(417)
    return statuses


def is_authority(text):
    return AUTHORITY.fullmatch(text) is not None


# ---- JSON ----

JSON_SEEDS = [b'{"url":"http://a.b/","a":{"b":{"c":[1,-2.5e3]},"b.c":true},"":null}', b'{"a":"{\\"b\\":{\\"c\\":\\"d\\"}}"}', b'[0,-0,9223372036854775807,-1e9]',
              '{"a":"é\\u00e9\\ud83d\\ude00😀\\n"}'.encode(), b'{"a":[{"b":1},{"b":2}]}', b'{"url":null,"a":{"url":"x"}}', b' {"a" : [ ] , "b" : { } }\r\n']
JSON_TOKENS = ['{', '}', '[', ']', ',', ':', '"', '""', '"a":', '"b":', '"url":', '"b.c":', '"c":', 'null', 'true', 'false', 'NaN', '-', '-0', '0', '01',
               '1.0', '1e5', '1E+', '.5', '9223372036854775807', '9223372036854775808', '-9223372036854775808', '-9223372036854775809',
               '\\u0000', '\\u00e9', '\\ud800', '\\udc00', '\\ud83d\\ude00', '\\n', '\\/', '\\x', '\t', ' ', '\n', '\r', '\f', '//', b'\xff', b'\xed\xa0\x80', b'\xc0\x80',
               b'\xf4\x90\x80\x80', b'\xef\xbb\xbf', b'\xe2\x82\xac', '[[[[[[[[[[', '{"a":{"a":', ']]]]]]',
               '"{\\"b\\":1}"', '\\"']
TREE_DEPTH, ROW_DEPTH = 64, 2048


class Refused(Exception):
    pass


def no_constant(text):
    raise Refused(text)


def load(data, pairs_hook):
    """By Python's json, with numbers as written (Number), and without what it takes beyond RFC 8259."""
    try:
        text = data.decode("utf-8")
        return json.loads(text, object_pairs_hook=pairs_hook, parse_int=Number, parse_float=Number, parse_constant=no_constant)
    except (ValueError, RecursionError) as error:
        raise Refused(str(error)) from error


class Number(str):
    __slots__ = ()


def depth_of(value):
    if isinstance(value, dict):
        return 1 + max(map(depth_of, value.values()), default=0)
    return 1 + max(map(depth_of, value), default=0) if isinstance(value, list) else 0


def no_surrogates(text):
    if any("\ud800" <= c <= "\udfff" for c in text):
        raise Refused("half a surrogate pair")
    return text


class Json(Kind):
    kind, count = "json", 30000

    def __init__(self, tally, seed):
        self.tally = tally
        seeds = JSON_SEEDS + [d for name in ("json_in", "manifest", "access_table", "lease") for d in mutations.corpus(name, LARGE)]
        self.pool = mutations.Pool([d for d in seeds if len(d) < 1000 or LARGE], JSON_TOKENS, seed)

    def judge_all(self, pairs):
        for data, verdict in pairs:
            try:
                want = b"ok " + self.form(load(data, self.unique), 0).encode()
            except Refused as refused:
                want = b"no " + str(refused).encode("utf-8", "replace")
            self.tally.seen[verdict[:2].decode()] += 1
            if verdict[:2] != want[:2] or (verdict[:2] == b"ok" and verdict != want):
                self.tally.differ(data, f"ours {verdict[:300]!r}, Python {want[:300]!r}")
            if verdict[:2] == b"ok":
                self.pool.keep(data)

    @staticmethod
    def unique(pairs):
        if len({key for key, _ in pairs}) < len(pairs):
            raise Refused("a member that stands twice")
        return dict(pairs)

    def form(self, value, depth):
        """As verdict_json.c writes it."""
        if isinstance(value, Number):
            number = int(value) if re.fullmatch("-?[0-9]{1,30}", value) else None
            return f"i{number}" if number is not None and -2 ** 63 <= number < 2 ** 63 else "#"
        if isinstance(value, str):
            if "\0" in no_surrogates(value):
                raise Refused("NUL")
            return f'"{value.encode().hex()}"'
        if isinstance(value, (list, dict)):
            if depth == TREE_DEPTH:
                raise Refused("too many levels")
            if isinstance(value, list):
                return f"[{','.join(self.form(v, depth + 1) for v in value)}]"
            return "{%s}" % ",".join(f"{self.form(k, depth)}:{self.form(v, depth + 1)}" for k, v in value.items())
        return {None: "n", True: "t", False: "f"}[value]


class Rows(Kind):
    """Of equal keys the last counts. A string that is the text of an object is looked into where a path leads on, once."""
    kind, count = "row", 25000
    PATHS = (["url"], ["a"], ["a", "b"], ["a", "b", "c"], ["a", "b.c"], [""], ["a", "url"])

    def __init__(self, tally, seed):
        self.tally = tally
        seeds = JSON_SEEDS + [d for name in ("json_in", "records") for d in mutations.corpus(name, LARGE)]
        self.pool = mutations.Pool([d for d in seeds if len(d) < 1000 or LARGE], JSON_TOKENS, seed)

    def judge_all(self, pairs):
        for data, verdict in pairs:
            self.tally.seen[verdict[:2].decode()] += 1
            try:
                value = self.checked(load(data, self.pairs))
            except Refused as refused:
                if verdict != b"no":
                    self.tally.differ(data, f"ours {verdict!r}, Python: {refused}")
                continue
            if verdict == b"no":
                self.tally.differ(data, "ours refuses, Python accepts")
                continue
            self.pool.keep(data)
            for path, line in zip(self.PATHS, verdict.decode().split("\n")[1:], strict=True):
                self.judge(data, path, line, self.pick(value, path))

    @staticmethod
    def pairs(pairs):
        """The keys and values that lose are checked as well, so they stay until then."""
        for key, value in pairs:
            no_surrogates(key)
            Rows.checked_text(value)
        return dict(pairs)

    @staticmethod
    def checked_text(value):
        if isinstance(value, str):
            no_surrogates(value)
        elif isinstance(value, list):
            for element in value:
                Rows.checked_text(element)

    def checked(self, value):
        if not isinstance(value, dict):
            raise Refused("not an object")
        if depth_of(value) > ROW_DEPTH:
            raise Refused("too deep")
        return value

    def pick(self, value, path):
        """(kind, value)"""
        inside = False
        for key in path:
            if isinstance(value, str) and not isinstance(value, Number) and not inside and value.lstrip(" ").startswith("{"):
                try:
                    value, inside = self.checked(load(value.encode(), self.pairs)), True
                except Refused:
                    return "-", None
            if isinstance(value, list):
                return "l", None
            if not isinstance(value, dict) or key not in value:
                return "-", None
            value = value[key]
        kinds = ((Number, "d"), (str, "s"), (bool, "b"), (type(None), "n"), ((list, dict), "j"))
        return next(kind for of, kind in kinds if isinstance(value, of)), value

    def judge(self, data, path, line, want):
        kind, value = want
        same = line[:1] == kind
        if same and kind in "dbjs":
            text = bytes.fromhex(line[1:])
            same = text == value.encode() if kind == "s" else load(text, self.pairs) == value
        if not same:
            self.tally.differ(data, f"path {path}: ours {line}, Python {want}")


# ---- files in the zstd seekable format ----

SEEK_MAGIC, SKIPPABLE = 0x8F92EAB1, 0x184D2A5E


class Zseek(Kind):
    kind, count = "zseek", 8000

    def __init__(self, tally, seed):
        import xxhash
        import zstandard
        self.tally, self.zstd, self.xxh64 = tally, zstandard, xxhash.xxh64_intdigest
        r = random.Random(seed)
        seeds = mutations.corpus("zseek", LARGE) + [self.write(r) for _ in range(20)]
        self.pool = mutations.Pool([d for d in seeds if len(d) < 5000], [struct.pack("<I", n) for n in (0, 1, 9, 12, 21, SEEK_MAGIC, SKIPPABLE, 1 << 20)] +
                                   [b"\x80", b"\0", b"\x28\xb5\x2f\xfd", b"\x28\xb5\x2f\xfd\x24\x01\x09\0\0a"], seed)
        self.pool_make, self.pool.make = self.pool.make, self.make

    def make(self):
        r = self.pool.random
        return self.pool_make() if r.random() < 0.4 else self.write(r, r.random() < 0.7)

    def write(self, r, faults=False):
        """A file by the specification alone; frames of our form and of others, and a fault in one of eight numbers."""
        def fault(value, bits=32):
            if not faults or r.randrange(25):
                return value
            return r.choice((value ^ 1 << r.randrange(bits), value + 1, value - 1, 0)) % (1 << bits)

        data, table = b"", b""
        for _ in range(r.randrange(4)):
            plain = bytes(r.choice(b"ab\n") for _ in range(r.choice((0, 1, 5, 100, 3000))))
            write = self.zstd.ZstdCompressor(level=r.choice((1, 9)), write_checksum=r.random() < 0.9, write_content_size=r.random() < 0.9)
            frame = bytearray(write.compress(plain))
            if faults and not r.randrange(8):
                at = r.randrange(len(frame))
                frame[at] = fault(frame[at], 8)
            data += frame
            table += struct.pack("<III", fault(len(frame)), fault(len(plain)), fault(self.xxh64(plain) & 0xffffffff))
        return data + struct.pack("<II", fault(SKIPPABLE), fault(len(table) + 9)) + table + struct.pack(
            "<IBI", fault(len(table) // 12), fault(0x80, 8), fault(SEEK_MAGIC))

    def judge_all(self, pairs):
        for data, verdict in pairs:
            self.tally.seen[verdict[:2].decode()] += 1
            try:
                plain, frames, narrow = self.read(data)
            except (Refused, struct.error, self.zstd.ZstdError) as refused:
                if verdict[:2] == b"ok" and isinstance(refused, self.zstd.ZstdError) and self.sums_hold(data, verdict):
                    self.tally.excuse("libzstd")
                elif verdict[:2] == b"ok":
                    self.tally.differ(data, f"ours accepts, the reader here: {refused}")
                continue
            if verdict[:2] == b"no":
                for rule in narrow:
                    self.tally.excuse(rule)
                if not narrow:
                    self.tally.differ(data, f"ours refuses: {verdict}")
            elif verdict != b"ok %d\n" % frames + plain:
                self.tally.differ(data, f"other bytes: {verdict[:100]} and {plain[:100]}")
            elif narrow:
                self.tally.differ(data, f"ours accepts what it must refuse: {narrow}")
            if verdict[:2] == b"ok":
                self.pool.keep(data)

    def sums_hold(self, data, verdict):
        """Whether our plain bytes have the sizes and sums of the table (of 12 bytes an entry, as ours must be)."""
        count, at = struct.unpack("<I", data[-9:-5])[0], verdict.index(b"\n") + 1
        for i in range(count):
            _, size, total = struct.unpack_from("<III", data, len(data) - 9 - 12 * (count - i))
            if self.xxh64(verdict[at:at + size]) & 0xffffffff != total:
                return False
            at += size
        return at == len(verdict)

    def read(self, data):
        """(plain bytes, frames, rules of ours that refuse it)"""
        if len(data) < 17:
            raise Refused("no room for a seek table")
        count, descriptor, magic = struct.unpack("<IBI", data[-9:])
        entry = 12 if descriptor & 0x80 else 8
        begin = len(data) - 9 - count * entry - 8
        if magic != SEEK_MAGIC or begin < 0 or descriptor & 0x7c or struct.unpack_from("<II", data, begin) != (SKIPPABLE, count * entry + 9):
            raise Refused("no seek table")
        narrow = set() if descriptor == 0x80 else {"descriptor"}
        plain, at = b"", 0
        for i in range(count):
            size, plain_size, *total = struct.unpack_from("<III" if entry == 12 else "<II", data, begin + 8 + i * entry)
            frame = data[at:at + size]
            if at + size > begin:
                raise Refused("frames behind the table")
            at += size
            if plain_size > 1 << 20 or plain_size == 0:
                narrow.add("size of a frame")
                if plain_size > 64 << 20:
                    raise Refused("too large for this test")
            one = self.zstd.ZstdDecompressor().decompressobj() if size else None
            text = one.decompress(frame) if one else b""
            if one and (not one.eof or one.unused_data):
                raise Refused("not one frame")
            if len(text) != plain_size or (total and self.xxh64(text) & 0xffffffff != total[0]):
                raise Refused("other bytes than the table says")
            if len(frame) < 5 or frame[:4] != b"\x28\xb5\x2f\xfd" or frame[4] & 0x3f != 0x24:
                narrow.add("form of a frame")
            plain += text
        if at != begin:
            raise Refused("bytes between frames and table")
        return plain, count, narrow


RULES |= {
    "libzstd": ("zseek", "a flipped bit that changes no byte of the content: libzstd 1.5.7 (Python's) refuses some that 1.5.4 (Debian 12) does not look at"),
    "descriptor": ("zseek", "a seek table without checksums, or with bits that mean nothing yet (docs/FORMAT.md 2.1)"),
    "size of a frame": ("zseek", "a frame that is empty, or over 1 MiB plain (docs/FORMAT.md 2.1)"),
    "form of a frame": ("zseek", "a frame without a content size or checksum, with a window or a dictionary (docs/FORMAT.md 2.1)"),
}


# ---- Parquet ----

# What we accept has pyarrow's values, or pyarrow refuses it. Where pyarrow accepts what we refuse, the file is damaged in one of these ways, by
# our words: pyarrow passes over bytes that it does not need. The third member is what those words match.
RULES |= {
    "no magic": ("parquet", "the file does not begin with PAR1, at which pyarrow does not look", r"no PAR1 at the start$"),
    "broken footer": ("parquet", "Thrift that ends early, or has types that do not exist: pyarrow stops reading before it, or reads on behind the footer's end",
                      r"footer: broken (metadata|column metadata|column chunk|row group|schema element|sorting column|key-value metadata), at byte"),
    "number in footer": ("parquet", "enumerations out of range, and fields that the format requires and pyarrow can do without",
                         r"footer: (unknown (repetition|encoding|codec|physical type)|a column chunk (without (a codec|metadata)|lacks its count, size or offset)"
                         r"|a row group without chunks or row count|a row group has not one chunk for each column|no schema|negative number)"),
    "other column's chunk": ("parquet", "a chunk whose type is not that of its column: pyarrow believes the schema", r"footer: a column chunk is of another type than its column"),
    "rows of the file": ("parquet", "row groups that do not add up to the file: pyarrow believes the row groups", r"footer: -?\d+ rows in the file, \d+ in its row groups"),
    "chunk's place": ("parquet", "a chunk that reaches into the footer, by a size that pyarrow does not use", r"reach over the data's end at|is encrypted"),
    "rows of the chunk": ("parquet", "a chunk with more or fewer rows than its row group: pyarrow stops at either's end",
                          r"rows behind all \d+ of the row group|\d+ rows, the row group has \d+ left|\d+ bytes, \d+ are left of its column chunk"
                          r"|column chunk ends at \d+ with \d+ of \d+ rows|\d+ values in row group \d+ of \d+ rows"),
    "second dictionary": ("parquet", "a dictionary page behind data pages, which pyarrow reads", r"a dictionary behind the first page of its chunk"),
    "head of a page": ("parquet", "a page header that contradicts itself or the page: pyarrow uses one of the two numbers, or passes over a page it does not know",
                       r"page header: (unknown page type|not the fields of page type|levels of|broken at byte|-?\d+ nulls of)|bytes decompressed, header says"),
    "levels": ("parquet", "an element behind a list that is null or empty: pages give levels as they are, and each reader makes another list of them",
               r"levels that contradict each other$"),
    "bytes left over": ("parquet", "a page with more bytes than its values: pyarrow stops at the last value, or, with split bytes, takes other values",
                        r"bytes behind the last value|DELTA_BINARY_PACKED: \d+ values, the page has|(brotli|gzip|zstd|snappy|lz4): broken data"),
}


VALUES = {"bool": (False, True), "int8": (-128, 127, 0), "uint16": (0, 65535, 7), "int32": (-2**31, 2**31 - 1, 0, 5), "uint32": (0, 2**32 - 1, 2**31, 9),
          "int64": (-2**63, 2**63 - 1, 0, -1), "uint64": (0, 2**64 - 1, 2**63), "float32": (0.5, -0.0, 1e38), "float64": (0.5, -0.0, 1e300),
          "string": ("", "a", "ab", "é", "abc" * 9), "binary": (b"", b"\0", b"\xff\xfe")}


class Parquet(Kind):
    kind, count = "parquet", 2500

    def __init__(self, tally, seed):
        self.tally = tally
        seeds = [d for name in ("parquet_footer", "parquet_rows", "row_json") for d in mutations.corpus(name, LARGE)]
        seeds = [d for d in seeds + [self.write(random.Random(seed + i)) for i in range(12)] if d.endswith(b"PAR1") and len(d) < 8000]
        seeds = [d for d, v in zip(seeds, ask_ours(self.kind, seeds)) if v and v.startswith(b"ok") and b"\nE\t" not in v]
        check(len(seeds) > 20, "files to begin with")
        self.pool = mutations.Pool(seeds, [struct.pack("<I", n) for n in (0, 1, 0x7fffffff)] + [
            b"\x15\x02", b"\x15\x00", b"\x16\x28", b"\x19\x1c", b"PAR1", b"\x80\x01"], seed)

    @staticmethod
    def write(r):
        """Some columns of pyarrow's, with the ends of each type, in one of its layouts."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        def column(of, nulls):
            return pa.array([None if nulls and not r.randrange(4) else r.choice(VALUES[of]) for _ in range(12)], of)

        kinds = r.sample(list(VALUES), 3)
        table = pa.table({f"c{i}": column(of, r.random() < 0.5) for i, of in enumerate(kinds)})
        split = [f"c{i}" for i, of in enumerate(kinds) if of in ("int32", "int64", "float32", "float64")]
        delta = {f"c{i}": "DELTA_BINARY_PACKED" if "int" in of else "DELTA_BYTE_ARRAY" for i, of in enumerate(kinds)
                 if of in ("int32", "uint32", "int64", "uint64", "string")}
        layout = r.choice(({"use_dictionary": True}, {"use_dictionary": False}, {"use_dictionary": False, "use_byte_stream_split": split},
                           {"use_dictionary": False, "column_encoding": delta}))
        out = pa.BufferOutputStream()
        pq.write_table(table, out, row_group_size=r.choice((5, 100)), data_page_version=r.choice(("1.0", "2.0")), write_page_checksum=r.random() < 0.2,
                       compression=r.choice(("none", "none", "snappy", "zstd")), write_statistics=r.random() < 0.5, store_schema=False, **layout)
        return out.getvalue().to_pybytes()

    def judge_all(self, pairs):
        from arrow_child import ArrowChild
        with ArrowChild() as arrow:
            for data, verdict in pairs:
                self.judge(data, verdict.decode("utf-8", "replace"), arrow.ask(data))
                if verdict[:2] == b"ok":
                    self.pool.keep(data)

    def judge(self, data, verdict, theirs):
        if verdict.startswith("no "):
            self.tally.seen["file: both refuse" if "refused" in theirs else "file: we refuse"] += 1
            if "refused" not in theirs:
                self.excuse(data, "the file", verdict)
            return
        rows, *columns = verdict.split("\nC\t")
        if "refused" in theirs:
            self.tally.seen["file: pyarrow refuses"] += 1
            return
        self.tally.seen["file: both accept"] += 1
        if rows.split(" ")[1].strip() != str(theirs["rows"]) or len(columns) != len(theirs["columns"]):
            self.tally.differ(data, f"ours {rows.strip()} rows, {len(columns)} columns, pyarrow {theirs['rows']}, {len(theirs['columns'])}")
            return
        for text, (what, want) in zip(columns, theirs["columns"]):
            self.judge_column(data, text, what, want)

    def excuse(self, data, what, words):
        rule = next((rule for rule, (kind, _, *pattern) in RULES.items() if kind == self.kind and re.search(pattern[0], words)), None)
        if rule:
            self.tally.excuse(rule)
        else:
            self.tally.differ(data, f"{what}: ours refuses: {words}")

    def judge_column(self, data, text, what, want):
        head, *lines = text.split("\n")
        if lines and not lines[-1]:
            lines.pop()
        physical, logical, bits, _, path = head.split("\t")
        name = f"column {bytes.fromhex(path)!r} ({physical} {logical})"
        if lines and lines[-1].startswith("E\t"):
            self.tally.seen["column: both refuse" if what == "refused" else "column: we refuse"] += 1
            if what != "refused":
                self.excuse(data, name, lines[-1])
            return
        self.tally.seen[f"column: {'pyarrow ' if what == 'refused' else ''}{what if what != 'refused' else 'refuses'}"] += 1
        if what != "values":
            return
        got = [None if v == "N" else bytes.fromhex(v[1:]) if v[0] == "x" else int(v) if v != "overflow" else v for v in lines]
        if isinstance(want, tuple):
            want = want[1]
            got = [v if not isinstance(v, bytes) else int.from_bytes(v, "big", signed=True) for v in got]
        if bits in ("i8", "i16", "u8", "u16"):      # as parquet/value_text.h cuts them, where the file has a larger number
            size = int(bits[1:])
            got = [v if v is None else (v & (1 << size) - 1) - (bits[0] == "i" and v >> size - 1 & 1) * (1 << size) for v in got]
        if got != want:
            at = next((i for i, (a, b) in enumerate(zip(got, want)) if a != b), min(len(got), len(want)))
            self.tally.differ(data, f"{name}: {len(got)} values, pyarrow {len(want)}; value {at}: {got[at:at + 1]}, pyarrow {want[at:at + 1]}")


# ---- regular expressions ----

class Expressions(Kind):
    """Made by a grammar, in two forms: one for each side, where the same thing is written otherwise. (Before Python 3.14, `\\B` did not match an
    empty text.)"""
    kind, count = "regex", 15000
    ITEMS = [(c, c) for c in "aabbcABC01 "] + [
        (e, e) for e in (".", ".", "\\x61", "\\.", "\\d", "\\D", "\\w", "\\W", "\\s", "\\S", "\\-", "\\\\", "\\n", "\\t",
                         "[ab]", "[^ab]", "[a-c]", "[\\d_]", "[^\\w]", "[.^$]", "[a\\-z]", "[]a]", "[^]a]", "[A-Z]", "[\\x00-\\x20]", "[\\x80-\\xff]", "\\xc3")] + [("\xe9", "\xe9")]
    ANCHORS = [("^", "^"), ("$", "\\Z"), ("\\b", "\\b"), ("\\B", "(?!\\b)"), ("\\A", "\\A"), ("\\z", "\\Z"), ("\\Z", "(?=\\n?\\Z)")]
    COUNTS = ["*", "+", "?", "{2}", "{1,}", "{0,2}", "{1,3}", "*?", "+?", "??", "{1,2}?"]
    TEXT = b"aaabbbcABC01 -_.\n\t\\z\x00\x7f\x80\xe9\xc3"

    def __init__(self, tally, seed):
        self.tally, self.random = tally, random.Random(seed)
        self.pool = self

    def make(self):
        r = self.random
        ours, theirs = self.alternatives(r.choice((1, 2, 2, 3)))
        text = bytes(r.choice(self.TEXT) for _ in range(r.choice((0, 1, 2, 3, 5, 8, 12))))
        flags = r.randrange(8)
        return bytes([flags]) + ours.encode("latin-1") + b"\n" + text + b"\n" + theirs.encode("latin-1")

    @staticmethod
    def for_ours(data):
        return data[:data.rindex(b"\n")]

    def alternatives(self, depth):
        parts = [self.sequence(depth) for _ in range(self.random.choice((1, 1, 1, 2, 3)))]
        return "|".join(p[0] for p in parts), "|".join(p[1] for p in parts)

    def sequence(self, depth):
        parts = [self.item(depth) for _ in range(self.random.choice((0, 1, 1, 2, 3, 4)))]
        return "".join(p[0] for p in parts), "".join(p[1] for p in parts)

    def item(self, depth):
        r = self.random
        if r.random() < 0.1:
            return r.choice(self.ANCHORS)
        group = depth > 0 and r.random() < 0.35
        if group:
            opening = r.choice(("(", "(?:", "(?i:", "(?s:", "(?-i:"))
            ours, theirs = self.alternatives(depth - 1)
            ours, theirs = f"{opening}{ours})", f"{opening}{theirs})"
        else:
            ours, theirs = r.choice(self.ITEMS)
        if r.random() < 0.4:
            # Possessive ones only of a single byte: of a group the DFA matcher keeps the longest match, Python the first.
            count = r.choice(self.COUNTS if group else self.COUNTS + ["*+", "++", "?+"])
            ours, theirs = ours + count, theirs + count
        return ours, theirs

    def judge_all(self, pairs):
        for data, verdict in pairs:
            theirs = data[data.rindex(b"\n") + 1:]
            verdict = verdict.decode("latin-1")
            self.tally.seen[verdict.split(" ")[0]] += 1
            end = data.index(b"\n")
            flags, text = data[0], data[end + 1:data.rindex(b"\n")]
            expression = b"(?:" + theirs + b")" + (b"\\Z" if flags & 2 else b"")
            try:
                compiled = re.compile(expression, re.I if flags & 4 else 0)
            except re.error as error:
                self.tally.differ(data, f"ours {verdict}, re: {error}")
                continue
            want = timed(lambda: compiled.match(text) if flags & 1 else compiled.search(text))
            if want == "time":
                self.tally.seen["re takes too long"] += 1
            elif verdict.startswith("limit ") and "PCRE2: -43" in verdict and b"{" in data[:end]:
                self.tally.excuse("workspace")
            elif verdict.startswith("refused ") and (end > 500 or "{" in verdict) and verdict.endswith((
                    "it has over 500 bytes", "it takes too much, or has items that are not supported")):
                self.tally.excuse("large")
            elif verdict not in ("yes", "no"):
                self.tally.differ(data, f"ours {verdict}, re {bool(want)}")
            elif (verdict == "yes") != bool(want):
                self.tally.differ(data, f"{data[1:end]!r} flags {flags} on {text!r}: ours {verdict}, re ({expression!r}) {want}")


RULES |= {
    "workspace": ("regex", "repeated groups that follow more states at once than there is room for are refused with a limit (regex.c: WORKSPACE)"),
    "large": ("regex", "an expression of over 500 bytes, or one whose repeats take the workspace on an empty text, is refused (regex.h)"),
}


class TooLong(Exception):
    pass


def too_long(*_):
    raise TooLong


def timed(call):
    """re goes back over what it has read, and may take for ever: the signal is seen while it does."""
    signal.signal(signal.SIGALRM, too_long)
    signal.setitimer(signal.ITIMER_REAL, 1)
    try:
        return call()
    except TooLong:
        return "time"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


KINDS = (Urls, Heads, Json, Rows, Zseek, Parquet, Expressions)


def run(kind, tally, round_):
    one = kind(tally, 1000 * round_ + 7)
    count = kind.count if not dxtest.SANITIZED else kind.count // 4
    while count > 0:
        inputs = [one.pool.make() for _ in range(min(BATCH, count))]
        count -= len(inputs)
        verdicts = ask_ours(kind.kind, [one.for_ours(d) for d in inputs], *one.arguments())
        one.judge_all([(d, v) for d, v in zip(inputs, verdicts) if v is not None])


def main():
    if not VERDICTS.exists():
        print(f"{VERDICTS} is not built", flush=True)
        sys.exit(1)
    for module in ("ada_url", "pyarrow", "zstandard", "xxhash"):
        try:
            __import__(module)
        except ImportError:
            dxtest.skip(f"{sys.executable} has no {module} (DX_PEERS_PYTHON; scripts/peers.sh makes one)")
    sys.setrecursionlimit(20000)
    wanted, skipped = sys.argv[1:] or [kind.kind for kind in KINDS], None
    for kind in KINDS:
        if kind.kind not in wanted:
            continue
        if kind is Heads and not (shutil.which("node") and front.find("nginx")):
            skipped = "no heads of requests: node or nginx is not installed"
            continue
        tally, began, cpu = Tally(kind.kind), time.monotonic(), os.times()
        for round_ in range(ROUNDS):
            run(kind, tally, round_)
        tally.report()
        spent = sum(os.times()[:4]) - sum(cpu[:4])
        print(f"    {time.monotonic() - began:.1f} s, {spent:.1f} s of CPU", flush=True)
        check(sum(tally.seen.values()) > 0, f"{kind.kind}: inputs")
    dxtest.finish(skipped)


if __name__ == "__main__":
    main()
