# SPDX-License-Identifier: Apache-2.0
"""strict_http - HTTP/1.1 read to the letter, for judging what a proxy sent and what a server answered.

    s = strict_http.requests(data)       s.whole: requests that are all there; s.begun: a head whose body is not;
                                         s.size: bytes of s.whole; s.bad: why what follows is no request, or ""
    s = strict_http.replies(data, methods)
                                         s.whole: replies, methods: of the requests that they answer, in order;
                                         s.begun: a reply that is not at its end; s.size; s.bad

Written from RFC 9112 alone and stricter than it: no folded lines, no bare CR or LF, one length, "chunked" and nothing else.
It shares nothing with the parsers that are tested.
"""
import dataclasses
import re

TOKEN = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
REQUEST = re.compile(rb"(%s) ([\x21-\x7e\x80-\xff]+) HTTP/1\.([01])" % TOKEN)
STATUS = re.compile(rb"HTTP/1\.[01] ([1-5][0-9][0-9]) [\t\x20-\x7e\x80-\xff]*")
FIELD = re.compile(rb"(%s):[ \t]*([\t\x20-\x7e\x80-\xff]*?)[ \t]*" % TOKEN)
SIZE = re.compile(rb"[0-9A-Fa-f]{1,15}")


class Bad(Exception):
    pass


@dataclasses.dataclass
class Message:
    line: bytes
    fields: list
    body: bytes = b""
    method: str = ""
    target: str = ""
    status: int = 0

    def all(self, name):
        return [value for key, value in self.fields if key.lower() == name.lower()]


@dataclasses.dataclass
class Stream:
    whole: list = dataclasses.field(default_factory=list)
    begun: Message = None
    size: int = 0
    bad: str = ""


def head(data, at, first):
    """(message, offset behind the head), or None: it is not all there."""
    end = data.find(b"\r\n\r\n", at)
    if end < 0:
        text = data[at:]        # what is wrong already is said at once
        if text and (b"\0" in text or re.search(rb"[^\r]\n", text)):
            raise Bad("NUL or bare LF in a head")
        return None
    lines = data[at:end].split(b"\r\n")
    if not (match := first.fullmatch(lines[0])):
        raise Bad(f"first line {lines[0][:80]!r}")
    fields = []
    for line in lines[1:]:
        if not (field := FIELD.fullmatch(line)):
            raise Bad(f"field {line[:80]!r}")
        fields.append((field[1].decode("latin-1"), field[2].decode("latin-1")))
    return Message(lines[0], fields), match, end + 4


def framing(message):
    """Bytes of the body, or "chunked", or None: nothing says."""
    lengths, codings = message.all("content-length"), message.all("transfer-encoding")
    if len(lengths) > 1 or len(codings) > 1 or (lengths and codings):
        raise Bad("framed twice")
    if codings:
        if codings[0].lower() != "chunked":
            raise Bad(f"coding {codings[0][:40]!r}")
        return "chunked"
    if lengths:
        if not re.fullmatch("[0-9]{1,18}", lengths[0]):
            raise Bad(f"length {lengths[0][:40]!r}")
        return int(lengths[0])
    return None


def chunks(data, at):
    """(body, offset behind it), or None: not all there."""
    parts = []
    while True:
        end = data.find(b"\r\n", at)
        if end < 0:
            if len(data) - at > 20:
                raise Bad("a chunk's size without an end")
            return None
        if not SIZE.fullmatch(data[at:end]):
            raise Bad(f"size of a chunk {data[at:end][:40]!r}")
        size, at = int(data[at:end], 16), end + 2
        if len(data) < at + size + 2:
            return None
        if data[at + size:at + size + 2] != b"\r\n":
            raise Bad("a chunk without CRLF" if size else "trailers")
        parts.append(data[at:at + size])
        at += size + 2
        if size == 0:
            return b"".join(parts), at


def body(data, at, message, size):
    """Offset behind the body, which the message gets; None: not all there."""
    if size == "chunked":
        if (done := chunks(data, at)) is None:
            return None
        message.body = done[0]
        return done[1]
    if len(data) < at + (size or 0):
        return None
    message.body = data[at:at + (size or 0)]
    return at + (size or 0)


def requests(data):
    data, out = bytes(data), Stream()
    try:
        while out.size < len(data):
            out.begun = None
            at = out.size + 2 * data.startswith(b"\r\n", out.size)     # RFC 9112 2.2: one empty line
            found = head(data, at, REQUEST)
            if found is None:
                break
            out.begun, match, at = found
            out.begun.method, out.begun.target = match[1].decode(), match[2].decode("latin-1")
            if len(out.begun.all("host")) != 1 and not (match[3] == b"0" and not out.begun.all("host")):
                raise Bad("not one Host")
            at = body(data, at, out.begun, framing(out.begun))
            if at is None:
                break
            out.whole.append(out.begun)
            out.begun, out.size = None, at
    except Bad as bad:
        out.bad = str(bad)
    return out


def replies(data, methods):
    """Replies behind the last of the methods are read as those of a GET. 1xx are left in, and answer nothing."""
    data, out, final = bytes(data), Stream(), 0
    try:
        while out.size < len(data):
            out.begun = None
            found = head(data, out.size, STATUS)
            if found is None:
                break
            out.begun, match, at = found
            out.begun.status = int(match[1])
            bare = out.begun.status < 200 or out.begun.status in (204, 304)
            if not bare:
                out.begun.method = methods[final] if final < len(methods) else ""
                size = framing(out.begun)
                if size is None:
                    raise Bad("a reply that nothing ends")
                if out.begun.method != "HEAD":
                    at = body(data, at, out.begun, size)
            if at is None:
                break
            final += out.begun.status >= 200
            out.whole.append(out.begun)
            out.begun, out.size = None, at
    except Bad as bad:
        out.bad = str(bad)
    return out
