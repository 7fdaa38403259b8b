#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: slow
"""Datasets that a principal may not see change nothing in the replies to that principal, byte for byte.

One server has all datasets and a table of who may see which. For each set of datasets that some principal may see there is a
server of a root without the others, made from the same rows (tests/support/twins.py), with the same table. Each question is
put to both by each principal, and status, fields (but Date) and body must be the same bytes: of names that are in visible datasets, in
hidden ones, in both and in none, in datasets of counts that are seen or hidden, rows of files that were indexed in place; every endpoint and parameter, lists of names in each format, older versions, differences and
changes between two of them, while suppressions are in force. Then again, and again in other orders, so that what was kept of
one principal's answer would be given to the next one; several connections at once, each with requests of all principals.

What cannot be the same bytes are cursors: they are compared in length, and by following them. A cursor of one principal is to
another a bad one, in the same words.

Of those who may see everything the other server has all datasets too, and is asked by them alone.

DX_NONINTERFERENCE=whole: 10^4 domains of real posts where there are any (DX_SHARED_DATA), everything of a tenth of them,
some of the others. DX_NONINTERFERENCE=n: of so many made
ones: 52, 160 with DX_WHOLE=1. DX_NONINTERFERENCE_TIMES=n: n pairs of requests about hidden and absent names are timed (20,000 of the whole).

In detail: who may not see a dataset gets, byte for byte, the answers of an index made without it: 12 (8 in the gate) and 10
principals (by token, by header, nobody, one that sees nothing, overlapping lists) of two tables, each beside
servers of roots without what they may not see (in the gate each question is put by two of them, and of those about no
site every fourth one); every endpoint and parameter, lists of names in each format,
two versions, changes and diffs, suppressions, costs without suppressions; three times in different orders, so that what is kept of one is
asked for by another; entity tags, cursors followed and cursors of others. `DX_NONINTERFERENCE=whole`: 10,000
domains of real posts.
"""
import base64
import collections
import concurrent.futures
import contextlib
import hashlib
import json
import os
import random
import re
import secrets
import socket
import threading
import time
import urllib.parse

import dxtest
import roots
import twins
from dxtest import check, equal

SIZE = os.environ.get("DX_NONINTERFERENCE") or ("160" if dxtest.WHOLE else "52")
WHOLE = SIZE == "whole"
LINKS, BATCH, ROUNDS = 3, 24, 2
TIMES = int(os.environ.get("DX_NONINTERFERENCE_TIMES", "20000" if WHOLE else "0"))
HEADER = "X-Who"
CURSOR = re.compile(rb'("(?:next_cursor|cursor)":"|"cursors":\[")([^"\]]*(?:","[^"\]]*)*)"')

STREAMS = ("ndjson", "csv", "cdx", "cdxj", "urls", "arrow", "parquet")
RECEIPT = b"Domaindex-Receipt: "

NUMBER = re.compile(rb"(?<=urn:domaindex:request:)[0-9a-f]{16}")    # of the request, where the server fails


# ---- who asks ----

class Who:
    """A principal and how it says who it is."""

    def __init__(self, name, sees, by=None, token=None):
        self.name, self.sees, self.by, self.token = name, frozenset(sees) if sees is not None else None, by, token

    def fields(self):
        if self.token:
            return f"Authorization: Bearer {self.token}\r\n"
        return f"{HEADER}: {self.by}\r\n" if self.by else ""


def crc62(text):
    import zlib
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    value, out = zlib.crc32(text.encode()), ""
    for _ in range(6):
        value, digit = divmod(value, 62)
        out = digits[digit] + out
    return out


def new_token(rng):
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    text = "dxk_" + "".join(rng.choice(digits) for _ in range(43))
    return text + crc62(text)


class Table:
    """The text of access.json, and its principals."""

    def __init__(self, rng, everybody, grants, alls):
        """grants: {name: datasets}; alls: names that may see all."""
        acl, principals, self.who = collections.defaultdict(list), [], []
        for dataset in everybody:
            acl[dataset].append("*")
        for name, datasets in grants.items():
            for dataset in datasets:
                acl[dataset].append(name)
        for n, name in enumerate([*grants, *alls]):
            tokens = [new_token(rng) for _ in range(2)]
            principals.append({"name": name, "all": name in alls, "tokens": [
                {"sha256": hashlib.sha256(t.encode()).hexdigest(), "created": "2026-01-01T00:00:00Z",
                 "expires": "2099-01-01T00:00:00Z"} for t in tokens]})
            sees = None if name in alls else {*everybody, *grants[name]}
            self.who += [Who(f"{name} by token", sees, token=tokens[n % 2]), Who(f"{name} by header", sees, by=name)]
        self.who += [Who("anonymous", everybody), Who("a stranger by header", everybody, by="nobody-knows")]
        self.text = json.dumps({"format": 1, "generation": 1795000001, "updated": "2026-11-22T04:00:00Z",
                                "dataset_acl": [{"dataset_id": d, "principals": sorted(p)} for d, p in sorted(acl.items())],
                                "principals": sorted(principals, key=lambda p: p["name"]), "history": []})

    def scopes(self):
        return sorted({w.sees for w in self.who if w.sees is not None}, key=sorted)


def tables(rng):
    grants = {"plain": set(), "team-a": {3, 4, 11, 13}}
    if dxtest.WHOLE or WHOLE:
        grants.update({"most": {3, 4, 5, 6, 7, 8, 12, 14}, "team-b": {4, 5, 6}})
    many = Table(rng, {1, 2}, grants, ["auditor"])
    # A list of all there is is another thing than all.
    none = Table(rng, set(), {"nobody": set(), "solo": {8, 11, 13}, "each": set(range(1, twins.DATASETS + 1))}, ["auditor"])
    return [many, none]


# ---- what is asked ----

class Ask:
    def __init__(self, target, method="GET", fields="", body=None):
        self.target, self.method, self.fields, self.body = target, method, fields, body

    def data(self, who):
        length = f"Content-Length: {len(self.body)}\r\n" if self.body is not None else ""
        return (f"{self.method} {self.target} HTTP/1.1\r\nHost: x\r\n{who.fields()}{self.fields}{length}\r\n".encode() +
                (self.body or b""))

    def __str__(self):
        return f"{self.method} {self.target} {self.fields!r} {(self.body or b'')[:80]!r}"


def quote(text):
    return urllib.parse.quote(text, safe="")


def of_domain(domain, rng, old):
    """Everything that can be asked about a name; datasets that exist, that are hidden, and that never were."""
    ids = [rng.choice((1, 2)), *rng.sample(range(3, twins.DATASETS + 1), 2), 99]
    d = f"/v1/domain/{domain}"
    yield Ask(d)
    yield Ask(f"{d}?fields=dataset_id,url_count,share,rank,last_ts")
    yield Ask(d, "HEAD")
    yield Ask(d, fields="If-None-Match: *\r\n")
    yield Ask(f"{d}?version={old}")
    yield Ask(f"{d}/urls?limit={rng.choice((1, 3, 1000))}")
    yield Ask(f"{d}/urls?fields=url,extras,tags&offset={rng.randint(0, 4)}&limit=2&version={old}")
    yield Ask(f"{d}/urls?{rng.choice(('from=2020', 'to=2019-06', 'tag=every', 'filter=!extra:x', 'filter=~url:a.*1&filter=!=host:x', 'prefix=/a', 'mime=text/*&dataset=1,4', 'prefix=/&plan=2', 'prefix=/n&offset=1', 'from=x'))}&limit={rng.choice((2, 1000))}")
    order = ('sort=url', 'sort=time', 'sort=time&reverse=yes', 'reverse=yes&collapse=host', 'collapse=url', 'collapse=time:6&sort=time', 'closest=2019-06', 'sort=url&from=2020&fields=url,ts,extras',
             'sort=url&dataset=1,4', 'closest=2019&sort=url', 'sort=url&offset=1')
    yield Ask(f"{d}/urls?{rng.choice(order)}&limit={rng.choice((2, 1000))}", rng.choice(("GET", "GET", "HEAD")))
    yield Ask(f"/v1/host/{rng.choice(('', 'www.', 'm.'))}{domain}/urls?{rng.choice((*order, 'prefix=/a', 'plan=2', 'offset=1', 'subdomains=yes', 'subdomains=yes&sort=time', 'dataset=1'))}&limit={rng.choice((2, 1000))}&version={old}")
    yield Ask(f"/v1/host/www.{domain}/urls?limit=3")
    yield Ask(f"{d}/urls?plan=3", rng.choice(("GET", "HEAD")))
    for form in STREAMS:
        yield Ask(f"{d}/{rng.choice(('urls?', 'urls?sort=url&', f'urls?version={old}&', f'datasets/{rng.choice(ids)}/urls?'))}format={form}")
    yield Ask(f"{d}/urls?limit=3", fields="Accept: application/vnd.apache.arrow.stream\r\n")
    yield Ask(f"{d}{rng.choice(('?', '/urls?limit=3&', '/timeline?', '/changes?', f'/datasets/{rng.choice(ids)}/urls?', f'?version={old}&'))}receipt=1", rng.choice(("GET", "HEAD")))
    yield Ask(f"{d}/urls?dataset={rng.choice(ids)},{rng.choice(ids)}")
    yield Ask(f"{d}/urls?dataset=d{rng.randint(1, twins.DATASETS + 1):02}&limit=2")
    yield Ask(f"{d}/hosts")
    yield Ask(f"{d}/hosts?order=name&limit=2&offset={rng.randint(0, 2)}")
    yield Ask(f"{d}/timeline?by={rng.choice(('year', 'month', 'day'))}", rng.choice(("GET", "HEAD")))
    yield Ask(f"{d}/timeline?dataset={rng.choice(ids)},{rng.choice(ids)}&by=day&version={old}")
    yield Ask(f"{d}/timeline?format={rng.choice(('csv', 'ndjson', 'arrow'))}&by=day")
    yield Ask(f"{d}/timeline?dataset=d{rng.randint(1, twins.DATASETS + 1):02}")
    yield Ask(f"/cdx?url=*.{domain}&fl=timestamp,original,dataset&showUntimed=true")
    yield Ask(f"/cdx?url={domain}/*&{rng.choice(('limit=2&showResumeKey=true', 'limit=-3&output=json', 'showNumPages=true', 'collapse=urlkey&from=2023', 'page=1&pageSize=1', 'filter=!original:.*a.*'))}",
              rng.choice(("GET", "HEAD")))
    yield Ask(f"/index?url={domain}&matchType=domain&{rng.choice(('output=json', 'sort=reverse&limit=2', 'closest=2023', 'showNumPages=1', 'resolveRevisits=1'))}&version={old}")
    yield Ask(f"/cdx?url=*.{domain}&dataset=d{rng.randint(1, twins.DATASETS + 1):02},{rng.choice(ids)}&showUntimed=true")
    yield Ask(f"/d{rng.randint(1, twins.DATASETS + 1):02}-index?url=*.{domain}&showUntimed=1")
    yield Ask(f"{d}?sort={rng.choice(('rank', 'share', 'name', 'last_ts', 'url_count'))}&reverse={rng.choice(('yes', 'no'))}&limit={rng.randint(1, 4)}&offset={rng.randint(0, 3)}")
    yield Ask(f"/v1/suffix/{domain}", rng.choice(("GET", "HEAD")))
    yield Ask(f"{d}?view=icann{rng.choice(('', f'&version={old}', '&sort=share&reverse=yes&limit=2', '&offset=1', '&sort=url_count', '&format=csv', '&fields=rank,share&format=ndjson'))}", rng.choice(("GET", "HEAD")))
    yield Ask(f"{d}/diff")
    yield Ask(f"{d}/diff?from={old}")
    yield Ask(f"{d}/changes?{rng.choice(('limit=1', 'limit=3', 'format=atom'))}", rng.choice(("GET", "HEAD")))
    yield Ask(f"/v1/complete?q={quote(domain[:rng.randint(1, len(domain))])}&limit={rng.choice((1, 10, 100))}")
    yield Ask(f"/v1/complete?q={quote(domain)}&version={old}", rng.choice(("GET", "HEAD")))
    for n in ids:
        yield Ask(f"{d}/datasets/{n}/urls?limit={rng.choice((1, 3, 1000))}")
        yield Ask(f"{d}/hosts?dataset={n}")
        yield Ask(f"{d}/datasets/{n}/paths")
    n = rng.choice(ids)
    yield Ask(f"{d}/datasets/{n}/urls?fields=url_id,raw_url,extras&offset={rng.randint(0, 3)}")
    yield Ask(f"{d}/datasets/{n}/urls?plan=2&version={old}")
    for k in (n, *twins.IN_PLACE):
        rows = f"{d}/datasets/{k}/rows?limit={rng.choice((1, 3, 100))}"
        yield Ask(f"{rows}&offset={rng.randint(0, 3)}{rng.choice(('', '&columns=none', '&columns=url', '&columns=ts,extras'))}")
        yield Ask(f"{rows}&{rng.choice(('tag=placed', f'tag={twins.place_tag(13, 0)}', 'prefix=/a', 'from=2020', 'to=2019-06', 'filter=!extra:x', 'filter=~path:[0-4]$&columns=url', 'mime=text/*', 'lang=en&status=200', 'tag=placed&offset=1', 'from=x'))}&version={old}", rng.choice(("GET", "GET", "HEAD")))
        yield Ask(f"{rows}&{rng.choice(('receipt=1', 'cursor=AAAA', 'plan=2', 'columns='))}")
    yield Ask(f"{d}/datasets/{n}/urls?prefix=/{rng.choice(('', 'a', 'wiki/', 'zz'))}&fields=url,extras,title,tags&limit={rng.choice((1, 1000))}")
    yield Ask(f"{d}/datasets/{n}/urls?{rng.choice(('tag=none', 'tag=every', 'tag=only%20d09', f'tag=only%20d{n:02}&prefix=/a', 'mime=text/*', 'prefix=/&plan=2', 'prefix=/n&offset=1', 'mime=', 'from=2020', 'to=2019-06', 'from=2001&to=2024-03&tag=every', 'filter=!extra:x', 'filter=~path:[0-4]$', 'filter=extra:x&status=200', 'lang=en', 'from=x'))}&version={old}")
    yield Ask(f"{d}/datasets/{n}/urls?limit=2&version={old}", "HEAD")
    yield Ask(f"{d}/datasets/{n}/paths?by=section&limit=2")
    yield Ask(f"/domain/{domain}/dataset/{n}/urls?limit=2")


def of_url(url, url_id, old):
    yield Ask(f"/v1/url?u={quote(url)}")
    yield Ask(f"/v1/url?u={quote(url)}&limit=1&version={old}")
    yield Ask(f"/v1/urlid/{url_id}")
    yield Ask(f"/v1/urlid/{url_id}?version={old}", "HEAD")
    yield Ask(f"/v1/normalize?q={quote(url)}")
    yield Ask(f"/v1/keys?url={quote(url)}")
    yield Ask(f"/v1/keys?url={quote(url)}&version={old}", "HEAD")
    yield Ask(f"/v1/domain/{quote(url)}")


def of_tags(old, rng):
    """Lists of tags, and what has each of them: hidden ones, and those that are nowhere."""
    for v in ("", f"version={old}"):
        for query in ("", "limit=3", "limit=7&prefix=few", "prefix=only", "prefix=zz", f"dataset={rng.randint(1, twins.DATASETS + 1)}", "limit=1000", "dataset=99"):
            yield Ask(f"/v1/tags?{'&'.join(x for x in (query, v) if x)}".rstrip("?"))
        for tag in twins.tags():
            yield Ask(f"/v1/tags/{quote(tag)}?{v}".rstrip("?"), rng.choice(("GET", "GET", "HEAD")))
            yield Ask(f"/v1/tags/{quote(tag)}?format={rng.choice(('csv', 'ndjson'))}&of={rng.choice(('urls', 'domains'))}&{v}".rstrip("&"))
            yield Ask(f"/v1/tags/{quote(tag)}?of=urls&limit={rng.choice((1, 2, 5, 1000))}&{v}".rstrip("&"))
            yield Ask(f"/v1/tags/{quote(tag)}?dataset={rng.randint(1, twins.DATASETS + 1)}&of={rng.choice(('urls', 'domains'))}&{v}".rstrip("&"))
    for v in ("", f"version={old}"):
        for query in ("", "limit=1", "limit=3", f"dataset={rng.randint(1, twins.DATASETS + 1)}", "dataset=99"):
            yield Ask(f"/v1/tlds?{'&'.join(x for x in (query, v) if x)}".rstrip("?"))
            for suffix in ("com", "co.uk", "nobody", "192.0.2.1"):
                yield Ask(f"/v1/suffix/{suffix}?{'&'.join(x for x in (query, v) if x)}".rstrip("?"))
                yield Ask(f"/v1/suffix/{suffix}/urls?{'&'.join(x for x in (query, v) if x)}".rstrip("?"))
                yield Ask(f"/v1/suffix/{suffix}/urls?{'&'.join(x for x in ('plan=3', query, v) if x)}")
                yield Ask(f"/v1/suffix/{suffix}/urls?{'&'.join(x for x in (f'offset={rng.choice((1, 5, 40, 10**6))}', query, v) if x)}")
                yield Ask(f"/v1/suffix/{suffix}/urls?{'&'.join(x for x in (rng.choice(('sort=url', 'sort=time&reverse=yes', 'closest=2024', 'sort=url&reverse=yes', 'collapse=host', 'sort=time&collapse=time:6', 'collapse=url&reverse=yes&limit=3')), query, v) if x)}")
    for v in ("", f"version={old}"):
        for query in ("", "limit=3", "tld=com&limit=7", "suffix=co.uk", "prefix=a", "prefix=only&tld=net", "match=*1*&limit=5", "match=s*.co.uk", "regex=%5E[ms].*[02468]&limit=9", "plan=3", "plan=2&tld=com&match=*1*", "fields=domain&limit=6", f"match=*&fields=url_count&dataset={rng.randint(1, twins.DATASETS + 1)}&plan=2", f"dataset={rng.randint(1, twins.DATASETS + 1)}&limit=20", "dataset=99"):
            yield Ask(f"/v1/domains?{'&'.join(x for x in (query, v) if x)}".rstrip("?"))
    for target in ("/v1/domains?cursor=AAAA", "/v1/domains?tld=x.y", "/v1/tags?cursor=AAAA", "/v1/tags/every?cursor=AAAA", "/v1/tags/every?of=x", "/v1/tags/%zz"):
        yield Ask(target)


def of_all(old, domains, rng, lasting):
    """Datasets, versions, changes, lists of names, and what is refused."""
    n = twins.DATASETS
    for v in ("", f"version={old}"):
        for query in ("", "limit=3", "limit=2&offset=1", "offset=7", "limit=100000"):
            yield Ask(f"/v1/datasets?{'&'.join(x for x in (query, v) if x)}".rstrip("?"))
        for a in (*range(1, n + 2), 99):
            yield Ask(f"/v1/datasets/{a}?{v}".rstrip("?"))
            for query in ("limit=5", "share=10%25", "share=0.5&limit=3&offset=2", "format=csv", "limit=10000"):
                yield Ask(f"/v1/datasets/{a}/top-domains?{query}&{v}".rstrip("&"))
            for b in (1, 4, 8, 9, 11, 12, 99):
                yield Ask(f"/v1/datasets/{a}/overlap/{b}?{v}".rstrip("?"))
            yield Ask(f"/v1/datasets/{a}/overlap/4?format=csv&{v}".rstrip("&"))
        yield Ask(f"/collinfo.json?{v}".rstrip("?"))
    for dataset in twins.IN_PLACE:
        for query in ("limit=20", "limit=7&tag=placed", "limit=40&prefix=/a&columns=url,ts", f"limit=3&offset=2&version={old}", f"tag={twins.place_tag(dataset, 1)}"):
            yield Ask(f"/v1/domain/large{rng.choice((0, 3))}.com/datasets/{dataset}/rows?{query}")
    if lasting:     # which versions are open depends on who asked for them
        yield Ask("/v1/versions")
        yield Ask("/v1/versions", "HEAD")
    for query in ("from=0", "from=0x0100000000000000&to=0x0100000a00000000&limit=3", "from=0&dataset=9", "from=0&dataset=99",
                  "from=0&dataset=1&limit=10000", f"from=0&limit=7&version={old}", "from=2&to=1", "cursor=AAAA", "from=0&plan=3", "from=0&prefix=/a&limit=9",
                  "from=0&tag=every&from_ts=2020", "from=0&filter=~url:1&dataset=2", "from=0&offset=3", "from=0&status=200&format=ndjson"):
        yield Ask(f"/v1/range?{query}")
    yield Ask(f"/v1/changes?since={old}")
    yield Ask("/v1/changes?since=2&limit=3")
    yield Ask("/v1/changes?limit=10000")
    for target in ("/", "/v1/nowhere", "/v1/datasets/x", "/v1/datasets?limit=0", "/v1/domain/co.uk", "/v1/domain/a%zz",
                   "/v1/domain/site.com?version=000009-20261118T130640Z", "/v1/changes?since=77", "/v1/url?u=x:", "/v1/urlid/0x0",
                   "/v1/changes?cursor=AAAA", "/v1/domain/large0.com/datasets/1/urls?cursor=AAAA"):
        yield Ask(target)
    names = domains if len(domains) <= 300 else rng.sample(domains, 300)
    lines = "".join(f"{d}\n" for d in names).encode()
    records = "".join(json.dumps({"domain": d}) + "\n" for d in names).encode()
    for kind, body in (("text/plain", lines), ("application/x-ndjson", records), ("text/csv", b"domain\r\n" + lines)):
        for answer in ("ndjson", "csv", "matrix", "matrix&datasets=2,4", "matrix&datasets=4,9", f"ndjson&version={old}"):
            yield Ask(f"/v1/domains?format={answer}", "POST", f"Content-Type: {kind}\r\n", body[:60000])
    yield Ask("/v1/domains", "POST", "Content-Encoding: gzip\r\n", b"x")


# ---- asking ----

class Link:
    """A kept connection that requests of anybody go over, many at once."""

    def __init__(self, port):
        self.port, self.link, self.buffer = port, None, bytearray()
        self.piece = memoryview(bytearray(1 << 17))

    def close(self):
        if self.link:
            self.link.close()
        self.link, self.buffer = None, bytearray()

    def more(self):
        size = self.link.recv_into(self.piece)
        if not size:
            raise ConnectionError("the connection ended")
        self.buffer += self.piece[:size]

    def until(self, mark):
        seen = 0
        while (at := self.buffer.find(mark, seen)) < 0:
            seen = max(0, len(self.buffer) - len(mark))
            self.more()
        out = self.take(at)
        del self.buffer[:len(mark)]
        return out

    def take(self, size):
        while len(self.buffer) < size:
            self.more()
        with memoryview(self.buffer) as view:
            out = bytes(view[:size])
        del self.buffer[:size]
        return out

    def reply(self, method):
        lines = self.until(b"\r\n\r\n").split(b"\r\n")
        fields = sorted(line for line in lines[1:] if not line.startswith(b"Date: "))
        status, body = int(lines[0].split(b" ")[1]), b""
        if method != "HEAD" and status != 304:
            if b"Transfer-Encoding: chunked" in fields:
                while size := int(self.until(b"\r\n"), 16):
                    body += self.take(size)
                    self.take(2)
                self.take(2)
            else:
                length = next(f for f in fields if f.startswith(b"Content-Length: "))
                body = self.take(int(length[16:]))
        if b"Connection: close" in fields:
            self.close()
        return status, fields, body

    def ask(self, questions):
        """[(who, ask)] to replies; what closes a connection is asked alone."""
        out = []
        for at in range(0, len(questions), BATCH):
            group = questions[at:at + BATCH]
            large = any(ask.body for _, ask in group)
            for part in ([[q] for q in group] if large else [group]):
                out += self.batch(part)
        return out

    def batch(self, part):
        out = []
        while len(out) < len(part):     # a reply that closes the connection leaves the rest to be asked anew
            if not self.link:
                self.link = socket.create_connection(("127.0.0.1", self.port), timeout=120)
            self.link.sendall(b"".join(ask.data(who) for who, ask in part[len(out):]))
            while self.link and len(out) < len(part):
                out.append(self.reply(part[len(out)][1].method))
        return out


def said(field, has_cursor):
    """Of a receipt what it says; when, and so its signature, may differ, and the sum of a body with a cursor."""
    if not field.startswith(RECEIPT):
        return field
    text = field.split(b".")[1]
    payload = json.loads(base64.urlsafe_b64decode(text + b"=" * (-len(text) % 4)))
    return RECEIPT + json.dumps({**payload, "iat": 0, **({"sha256": 0} if has_cursor else {})}).encode()


def shown(ask, reply):
    """What is compared: cursors are told by their length alone, and so is the tag of a body with one."""
    status, fields, body = reply
    masked, count = CURSOR.subn(lambda m: m[1] + b"x" * len(m[2]) + b'"', body)
    masked = NUMBER.sub(b"", masked)
    has_cursor = count > 0 or (ask.method == "HEAD" and any(word in ask.target for word in ("/urls", "/tags", "/rows")))
    fields = [said(f, has_cursor) for f in fields]
    if has_cursor:
        fields = [f for f in fields if not f.startswith(b"ETag: ")]
    return status, fields, masked


class Pair:
    """The server with all datasets that everybody asks, and for each scope one that only who has it asks: it has no other
    datasets. Of those who may see everything (None) it has all."""

    def __init__(self, whole, less):
        self.whole, self.less = whole, less
        self.wrong, self.asked, self.statuses = [], 0, collections.Counter()
        self.placed = 0     # rows of files in place
        self.lock = threading.Lock()

    def links(self):
        return {"whole": Link(self.whole.port), **{scope: Link(server.port) for scope, server in self.less.items()}}

    def compare(self, questions, links):
        """questions: of all principals, in the order in which the whole server gets them."""
        got = links["whole"].ask(questions)
        by_scope = collections.defaultdict(list)
        for n, (who, _) in enumerate(questions):
            by_scope[who.sees].append(n)
        for scope, numbers in by_scope.items():
            want = links[scope].ask([questions[n] for n in numbers])
            for n, reply in zip(numbers, want):
                self.judge(*questions[n], got[n], reply)

    def judge(self, who, ask, got, want):
        with self.lock:
            self.asked += 1
            self.statuses[got[0]] += 1
            self.placed += got[2].count(b'"row":{')
            if (got != want and shown(ask, got) != shown(ask, want)) or (got[0] >= 500 and b"version-newer" not in got[2]):
                self.wrong.append(f"{who.name} sees {'all' if who.sees is None else sorted(who.sees)}: {ask}\n    all:  {got}\n    less: {want}"[:1500])


def spread(pair, principals, asks, rng):
    """Each question by each principal (in the gate by two of them, others each time), in another order each time, over some
    connections at once."""
    for n in range(ROUNDS):
        rng.shuffle(asks)
        many = len(principals) if dxtest.WHOLE or WHOLE else 2
        questions = [(who, ask) for ask in asks for who in rng.sample(principals, many)]
        if n == ROUNDS - 1:     # questions far apart, rather than one by all at once
            rng.shuffle(questions)
        with concurrent.futures.ThreadPoolExecutor(LINKS) as pool:
            list(pool.map(lambda part: walk(pair, part), [questions[k::LINKS] for k in range(LINKS)]))


def walk(pair, questions):
    links = pair.links()
    try:
        for at in range(0, len(questions), 600):
            pair.compare(questions[at:at + 600], links)
    finally:
        for link in links.values():
            link.close()


# ---- tags and cursors ----

def judge_tags(pair, table, domains):
    """A tag of one principal's answer is another's only where the answer is the same."""
    link, restricted = Link(pair.whole.port), [w for w in table.who if w.sees]
    for domain in domains:
        ask = Ask(f"/v1/domain/{domain}")
        replies = link.ask([(who, ask) for who in restricted])
        for who, (status, fields, body) in zip(restricted, replies):
            tag = next((f[6:].decode() for f in fields if f.startswith(b"ETag: ")), None)
            if status != 200:
                continue
            for other, (_, _, theirs) in zip(restricted, replies):
                again = link.ask([(other, Ask(ask.target, fields=f"If-None-Match: {tag}\r\n"))])[0]
                check((again[0] == 304) == (theirs == body), f"{domain}: the tag of {who.name}, from {other.name}: {again[0]}")
    link.close()


def follow(link, who, target, member):
    """All items behind a target, and the first cursor."""
    items, first, path = [], None, target.split("?")[0]
    while target:
        status, _, body = link.ask([(who, Ask(target))])[0]
        if status != 200:
            return (status, body), first
        page = json.loads(body)
        items += page[member]
        cursor = page["next_cursor"]
        first = first or cursor
        target = f"{path}?cursor={quote(cursor)}" if cursor else None
    return items, first


def judge_cursors(pair, table, rng, old):
    """Listings of both are the same rows; a cursor of another principal is a bad one, as any text is."""
    links, seen = pair.links(), 0
    listings = [("/v1/domain/large0.com/datasets/1/urls?limit=200", "items"),
                ("/v1/domain/large0.com/urls?limit=300", "items"), ("/v1/domain/large0.com/urls?limit=300&sort=url", "items"), ("/v1/domain/large1.com/urls?limit=250&closest=2019", "items"), ("/v1/domain/large2.com/urls?limit=170&dataset=1,2", "items"),
                ("/v1/domain/large1.com/datasets/2/urls?limit=300", "items"),
                ("/v1/domain/large3.com/datasets/1/urls?limit=900", "items"), (f"/v1/changes?since={old}&limit=5", "changes"),
                ("/v1/tlds?limit=1", "tlds"), ("/v1/suffix/com?limit=1", "datasets"), ("/v1/suffix/com/urls?limit=2000", "items"), ("/v1/suffix/uk/urls?limit=60&prefix=/a", "items"), ("/v1/domains?limit=40", "domains"), ("/v1/tags?limit=3", "tags"), (f"/v1/tags/every?limit=9&version={old}", "items"),
                *((f"/v1/domain/large{k}.com/datasets/{n}/rows?limit={20 * k + 7}{more}", "items")
                  for k, (n, more) in enumerate(((13, ""), (14, "&tag=placed&columns=url"), (13, "&from=2000&prefix=/a"), (14, f"&version={old}")))), ("/v1/tags/some%2F1?of=urls&limit=100", "items")]
    for target, member in listings:
        cursors = []
        for who in table.who if dxtest.WHOLE or WHOLE else rng.sample(table.who, 3):
            got, cursor = follow(links["whole"], who, target, member)
            want, _ = follow(links[who.sees], who, target, member)
            check(got == want, got != want and f"{who.name} follows {target}: {str(got)[:300]} and {str(want)[:300]}")
            if cursor:
                cursors.append((who, cursor))
        path = target.split("?")[0]
        for who, cursor in cursors:
            other = rng.choice([w for w in table.who if w.name.split(" ")[0] != who.name.split(" ")[0] and
                                (w.sees is None or w.sees) and principal(w) != principal(who)])
            answers = [links["whole"].ask([(other, Ask(f"{path}?cursor={text}"))])[0]
                       for text in (quote(cursor), "A" * len(cursor), secrets.token_urlsafe(60))]
            seen += 1
            check(answers[0][0] == 400 and answers[0] == answers[1] == answers[2],
                  f"a cursor of {who.name} from {other.name} at {path}: {answers}")
    for link in links.values():
        link.close()
    check(seen >= len(listings), f"{seen} cursors of {len(listings)} listings")
    return seen


def principal(who):
    """Strangers by header are what nobody in particular is."""
    return "anonymous" if who.name.startswith(("anonymous", "a stranger")) else who.name.split(" ")[0]


# ---- time ----

def welch(a, b):
    """Of two samples: the difference of means, and its t by Welch."""
    def moments(x):
        mean = sum(x) / len(x)
        return mean, sum((v - mean) ** 2 for v in x) / (len(x) - 1) / len(x)
    (ma, va), (mb, vb) = moments(a), moments(b)
    return ma - mb, (ma - mb) / ((va + vb) ** 0.5 or 1)


def times(server, who, names, words):
    """How long hidden and absent names take: pairs, asked in turn on one connection; the longest tenth of each is left out.
    Nothing is judged: it is a figure for docs/notes/access.md."""
    link, took = Link(server.port), ([], [])
    for n, pair in enumerate(names):
        for kind in (0, 1) if n % 2 else (1, 0):
            ask = Ask(f"/v1/domain/{pair[kind]}")
            begin = time.perf_counter_ns()
            reply = link.ask([(who, ask)])[0]
            took[kind].append((time.perf_counter_ns() - begin) / 1000)
            if reply[0] != 404:
                check(False, f"{who.name}: {ask}: {reply[0]}")
    link.close()
    kept = [sorted(x)[:len(x) - len(x) // 10] for x in took]
    difference, t = welch(*kept)
    middle = [x[len(x) // 2] for x in kept]
    print(f"hidden and absent names, {words}, {len(names)} pairs: medians {middle[0]:.2f} and {middle[1]:.2f} us, means differ by "
          f"{difference:+.3f} us, Welch's t {t:+.1f}", flush=True)


def judge_times(server, whole, table, domains, rng):
    """By a principal who sees little, of a server that was asked nothing yet: many names once, then again and again, then one."""
    who = min((w for w in table.who if w.sees), key=lambda w: len(w.sees))
    auditor = next(w for w in table.who if w.sees is None)
    link = Link(whole.port)

    def statuses(names, asks):
        return [r[0] for r in link.ask([(asks, Ask(f"/v1/domain/{d}")) for d in names])]
    there = [d for d, s in zip(domains, statuses(domains, auditor)) if s == 200]
    hidden = [d for d, s in zip(there, statuses(there, who)) if s == 404]
    other = [f"{chr(97 + (ord(h[0]) - 96) % 26)}{h[1:]}" for h in hidden]
    names = [(h, o) for h, o, s in zip(hidden, other, statuses(other, auditor)) if s == 404]
    link.close()
    if len(names) > 3:
        rng.shuffle(names)
        times(server, who, names, "each asked for the first time")
        times(server, who, [rng.choice(names) for _ in range(TIMES)], "known ones")
        times(server, who, names[:1] * TIMES, "one of each")


# ---- the whole of it ----

RULES = [("--policy", "withheld", "--host"), ("--policy", "absent", "--host"), ("--policy", "withheld", "--domain"),
         ("--policy", "absent", "--domain"), ("--policy", "absent", "--prefix"), ("--policy", "withheld", "--url")]


def rules_for(rows, rng):
    """Of each kind some, about domains of every sort."""
    out, domains = [], sorted(d for d in rows.urls if isinstance(d, str) and not d.startswith("large"))
    for *policy, kind in RULES:
        values = []
        for domain in rng.sample(domains, min(len(domains), 5)):
            url = rows.urls[domain][0]
            values += [kind, {"--host": url.split("/")[2], "--domain": domain, "--prefix": url.split("?")[0], "--url": url}[kind]]
        out.append((*policy, *values))
    return out


def make_roots(tmp, rows, scopes, rules):
    """{None: all datasets, scope: those alone}; made two at a time."""
    jobs, begun = {None: None, **{scope: scope for scope in scopes}}, twins.Begun(tmp / "begun", rows)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        made = {scope: pool.submit(twins.Root, tmp / f"root{n}", rows, begun, keep, rules)
                for n, (scope, keep) in enumerate(jobs.items())}
        return {scope: job.result() for scope, job in made.items()}


def serve(stack, root, table, tmp, *arguments):
    file = tmp / f"access-{secrets.token_hex(4)}.json"
    file.write_text(table.text)
    return stack.enter_context(dxtest.Server(
        root.path, "--access-file", file, "--access", "require", "--principal-header", HEADER, "--trusted-proxy", "127.0.0.1",
        "--threads", 1, "--workers", 2, "--lease", "no", "--cursor-key-file", tmp / "cursor.key",
        "--receipt-key-file", tmp / "receipt.pem", "--foreign", tmp / "in-place" / "lake",
        "--queue-timeout-ms", 20000,    # what is refused because others are being answered is another matter
        *arguments))


def url_ids(server, who, urls):
    link = Link(server.port)
    replies = link.ask([(who, Ask(f"/v1/normalize?q={quote(url)}")) for url in urls])
    link.close()
    return [(url, json.loads(body).get("url_id")) for url, (_, _, body) in zip(urls, replies)]


def one_table(tmp, table, made, rows, domains, rng, arguments=()):
    begin = time.monotonic()
    with contextlib.ExitStack() as stack:
        whole = serve(stack, made[None], table, tmp, *arguments)
        less = {s: serve(stack, made.get(s, made[None]), table, tmp, *arguments) for s in [None, *table.scopes()]}
        pair = Pair(whole, less)
        auditor = next(w for w in table.who if w.sees is None)
        old = json.loads(Link(whole.port).ask([(auditor, Ask("/v1/versions"))])[0][2])["versions"][0]["version"]
        await_rules([whole, *less.values()], auditor, domains, old)
        urls = [u for known in rows.urls.values() for u in known[:1]]
        urls = url_ids(whole, auditor, rng.sample(urls, min(len(urls), max(40 if dxtest.WHOLE or WHOLE else 15, len(domains) // 10))))
        asks = []
        for domain in domains:
            every = list(of_domain(domain, rng, old))
            asks += every if WHOLE and rng.random() < 0.1 else [every[0]] + rng.sample(every[1:], 6 if WHOLE else 8 if dxtest.WHOLE else 5)
        asks += [ask for url, url_id in urls if url_id for ask in of_url(url, url_id, old)]
        others = [*of_all(old, domains, rng, not arguments), *of_tags(old, rng)]
        if not (dxtest.WHOLE or WHOLE):
            placed = [ask for ask in others if "/rows?" in ask.target]     # rows of files in place, of which few questions are
            others = placed + rng.sample(others, len(others) // 4)
        asks += others
        spread(pair, table.who, asks, rng)
        judge_tags(pair, table, rng.sample(domains, 8))
        cursors = 0 if arguments else judge_cursors(pair, table, rng, old)
        if TIMES:
            judge_times(serve(stack, made[None], table, tmp, *arguments), whole, table, domains, rng)
    for words in pair.wrong[:10]:
        check(False, words)
    equal(len(pair.wrong), 0, f"answers that differ, of {pair.asked}")
    check(pair.statuses[200] > 100 and pair.statuses[404] > 100 or len(domains) < 50, f"answers of all sorts: {pair.statuses}")
    check(pair.placed > 50, f"rows of files in place: {pair.placed}")
    print(f"{len(table.who)} principals, {len(less)} scopes, {len(domains)} domains, {len(asks)} questions: {pair.asked} pairs "
          f"of replies, {dict(sorted(pair.statuses.items()))}, {len(pair.wrong)} differ; {pair.placed} rows of files in place; {cursors} strange cursors; "
          f"{time.monotonic() - begin:.0f} s", flush=True)


def lift_all(root):
    """Suppressions out of the way: while there are any no answer has a cost."""
    numbers = [s["number"] for s in json.loads(root.command("suppress", "list", "--json").stdout)["suppressions"] if s["lifted_by"] is None]
    if numbers:
        root.command("suppress", "lift", *numbers)


COSTLY = ("filter=", "sort=", "closest=", "collapse=", "prefix=", "from=", "to=", "tag=", "subdomains=yes", "/timeline", "/rows?")


def judge_costs(tmp, table, made, domains, rng):
    """What an answer says that it has read is of what is visible, and does not depend on what is kept of answers to others."""
    with contextlib.ExitStack() as stack:
        whole = serve(stack, made[None], table, tmp)
        less = {s: serve(stack, made.get(s, made[None]), table, tmp) for s in [None, *table.scopes()]}
        pair, links = Pair(whole, less), None
        asks = [ask for d in domains for ask in of_domain(d, rng, "1") if any(w in ask.target for w in COSTLY) and "version=" not in ask.target]
        rng.shuffle(asks)
        links = pair.links()
        before, costs = pair.asked, 0
        for at in range(0, len(asks), 50):
            questions = [(who, ask) for ask in asks[at:at + 50] for who in rng.sample(table.who, 4)]
            pair.compare(questions, links)
            costs += sum(b'"cost":' in body for _, _, body in links["whole"].ask(questions[:80]))
        for link in links.values():
            link.close()
    for words in pair.wrong[:10]:
        check(False, words)
    equal(len(pair.wrong), 0, f"answers with a cost that differ, of {pair.asked}")
    check(costs > 20, f"of some that were asked again {costs} have a cost")
    print(f"costs: {pair.asked - before} pairs of replies, {len(pair.wrong)} differ", flush=True)


def await_rules(servers, who, domains, old):
    """Until the rows of every rule are known: 503 before; and the older version is open."""
    for server in servers:
        link, end = Link(server.port), time.monotonic() + 120
        while time.monotonic() < end:
            if all(r[0] < 500 for r in link.ask([(who, Ask(f"/v1/domain/{d}")) for d in domains[:2000]] +
                                                 [(who, Ask(f"/v1/datasets?version={old}"))])):
                break
            time.sleep(0.05)
        link.close()


def main():
    dxtest.need_programs()
    rng = random.Random(int(os.environ.get("DX_SEED", "7")))
    posts = dxtest.shared_data("lists/reddit-top-2.5-million/posts-A.tsv.zst") if WHOLE else None
    with dxtest.tempdir() as tmp:
        (tmp / "cursor.key").touch(mode=0o600)
        (tmp / "cursor.key").write_bytes(secrets.token_bytes(32))
        dxtest.run("openssl", "genpkey", "-algorithm", "ed25519", "-out", tmp / "receipt.pem")
        rows = twins.reddit(posts, 400_000) if posts else twins.made(10_000 if WHOLE else int(SIZE), seed=rng.randint(0, 99))
        twins.make_lake(tmp / "in-place", rows)
        wanted = tables(rng)
        scopes = sorted({s for t in wanted for s in t.scopes() if len(s) < twins.DATASETS}, key=sorted)
        begin = time.monotonic()
        made = make_roots(tmp, rows, scopes, [] if posts else rules_for(rows, rng))
        names = roots.domains(made[None].path)
        total = 10_000 if WHOLE else int(SIZE)
        domains = rng.sample(names, min(len(names), total - min(len(rows.absent), total // 8)))
        domains += rng.sample(rows.absent, min(len(rows.absent), total // 8))
        print(f"{len(made)} roots of {len(names)} domains in {time.monotonic() - begin:.0f} s", flush=True)
        one_table(tmp, wanted[0], made, rows, domains, rng)
        # Without cursors, listings are kept for all who may see the same, and their bytes are compared too.
        one_table(tmp, wanted[1], made, rows, domains, rng, dxtest.SAME_BYTES)
        for root in made.values():
            lift_all(root)
        judge_costs(tmp, wanted[0], made, [*rng.sample(domains, min(len(domains), 30 if dxtest.WHOLE or WHOLE else 5)), *(f"large{n}.com" for n in range(4))], rng)
    dxtest.finish()


if __name__ == "__main__":
    main()
