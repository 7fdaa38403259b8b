# SPDX-License-Identifier: Apache-2.0
"""restated - docs/CANON.md once more, without our code, for tests that recount real input.

    canon = Restated(psl_text)
    canon.url(raw)      (canonical URL, domain), or (None, reason)
    canon.host          of the URL before, where ada has one

The URL Standard is left to ada (PyPI ada-url, the parser of Node.js); domains to suffixes.py.
Only what CANON.md adds to the standard is written here, as plainly as it goes.
"""
import re

import ada_url

from suffixes import Suffixes

MAX = 8192
DOMAIN_MAX = 253
PORTS = {"http:": "80", "https:": "443", "ftp:": "21"}
SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*):")
PORT_FOLLOWS = re.compile(r"^[0-9]+($|[/\\?#])")
ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}")
LONE = re.compile(r"%[0-9A-Fa-f]?$")
UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
HEX = frozenset("0123456789ABCDEFabcdef")
LONE_BYTE = re.compile("[\udc80-\udcff]")     # of surrogateescape
AROUND = "".join(map(chr, range(33)))


def escapes(text):
    """Unreserved characters decoded, the digits of other escapes in upper case."""
    if "%" not in text:
        return text
    out, at = "", 0
    for match in ESCAPE.finditer(text):
        out += text[at:match.start()]
        character = chr(int(match.group()[1:], 16))
        # Decoding must not make a new escape of a '%' that stood alone.
        joins = character in HEX and LONE.search(out) and not ESCAPE.search(out[-3:])
        out += character if character in UNRESERVED and not joins else match.group().upper()
        at = match.end()
    return out + text[at:]


def sorted_query(query):
    """Stable, by the bytes of what stands before the first '='."""
    return "&".join(sorted(query.split("&"), key=lambda pair: pair.split("=", 1)[0].encode()))


class Restated:
    def __init__(self, psl_text):
        self.suffixes, self.host = Suffixes(psl_text), None

    def url(self, raw):
        self.host = None
        if len(raw.encode("utf-8", "surrogateescape")) > MAX:
            return None, "too_long"
        # Rule 7: bytes that are not UTF-8 are encoded one by one. In a host they are refused in either form.
        raw = LONE_BYTE.sub(lambda match: f"%{ord(match.group()) - 0xdc00:02X}", raw)
        text = re.sub(r"[\t\r\n]", "", raw.strip(AROUND))
        if not text:
            return None, "empty"
        match = SCHEME.match(text)
        if match and match.group(1).lower() + ":" not in PORTS:
            if not PORT_FOLLOWS.match(text[match.end():]):
                return None, "scheme"
            match = None  # "example.com:8080/a"
        if not match:
            if text[0] in "/\\" and text[1:2] not in ("/", "\\"):
                return None, "host_missing"
            text = "http://" + text.lstrip("/\\")
        try:
            parsed = ada_url.URL(text)
        except (ValueError, UnicodeEncodeError):
            return None, "host_invalid"
        scheme, hostname = parsed.protocol, parsed.hostname
        self.host = hostname
        if not hostname:
            return None, "host_missing"
        path = re.sub("/+", "/", escapes(parsed.pathname))
        query = escapes(parsed.search[1:])
        url = (f"{scheme}//{hostname}{':' + parsed.port if parsed.port else ''}{path}"
               f"{'?' + sorted_query(query) if query else ''}")
        if len(url) > MAX:
            return None, "too_long"
        domain = self.domain(hostname)
        return (url, domain) if domain else (None, "public_suffix")

    def domain(self, host):
        """Rule 12: one trailing dot is not part of the domain."""
        name = host[:-1] if host.endswith(".") else host
        if name.startswith("[") or name.rsplit(".", 1)[-1].isdigit():
            return name
        domain = None if name.startswith(".") else self.suffixes.domain(name)
        return None if domain and len(domain) > DOMAIN_MAX else domain
