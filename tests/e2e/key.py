#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: peers
"""`domaindex key`: each scheme against a recount in Python, refusals, formats, decoding, and how it streams."""
import random
import subprocess

import dxtest

try:
    import xxhash
except ImportError:
    dxtest.skip("no module xxhash (tests/e2e/requirements.txt)")

MASK = 2**64 - 1
ID_MASK = MASK << 64 - dxtest.id_bits() & MASK  # programs built for tests keep some bits of an id


def key(scheme, urls, *arguments, expect=0):
    done = dxtest.domaindex("key", "--scheme", scheme, *arguments, input="".join(u + "\n" for u in urls).encode(),
                            expect=expect)
    answers = [line.split("\t", 1) for line in done.stdout.decode().splitlines()]
    dxtest.equal([a[1] for a in answers], [u.rstrip("\r") for u in urls], f"{scheme}: the lines, in order")
    return [a[0] for a in answers]


def store_key(host, text):
    h = 0xCBF29CE484222325
    for byte in text.encode():
        h = ((h ^ byte) * 0x100000001B3) & MASK
    return (sum(host.encode()) % 128) << 56 | ((h >> 56) ^ (h & (2**56 - 1)))


def made(seed, count):
    r = random.Random(seed)
    for _ in range(count):
        host = r.choice(["example.com", "WWW.Example.co.uk", "a.b.c.org", "x-1.net", "127.0.0.1"])
        path = "".join(r.choice(["/", "a", "B", "0", "-", "_", ".", "%41", "~"]) for _ in range(r.randrange(12)))
        pairs = [(r.choice(["a", "b", "utm_source", "utm_term", "z"]), r.choice(["", "1", "x"]))
                 for _ in range(r.randrange(4))]
        port = r.choice(["", ":8080"])
        yield host, f"https://{host}{port}/{path.lstrip('/')}", pairs, r.choice(["", "#top"])


def check_store_key():
    dxtest.equal(key("store_key", ["https://example.com/", "http://example.com:8080/a?b=c#f"]),
                 ["6452323252155173144", "6443113064819196588"], "known keys")
    rows = list(made(5, 2000))
    plain = [f"{base}{'?' if q else ''}{'&'.join(f'{k}={v}' for k, v in q)}{f}" for _, base, q, f in rows]
    want = [str(store_key(host, url)) for (host, *_), url in zip(rows, plain)]
    dxtest.equal(key("store_key", plain), want, "keys of URLs as given")
    clean = []
    for host, base, q, _ in rows:
        q = sorted(((k, v) for k, v in q if not k.startswith("utm_")), key=lambda pair: pair[0])
        clean.append(str(store_key(host, f"{base}{'?' if q else ''}{'&'.join(f'{k}={v}' for k, v in q)}")))
    dxtest.equal(key("store_key", plain, "--clean"), clean, "keys of cleaned URLs")
    dxtest.equal(key("store_key", ["", "http://a b/", "/a\x01"], expect=1), ["!empty", "!host_invalid", "!control"],
                 "reasons")


def check_ids():
    urls = ["HTTP://WWW.Example.COM:80/a/../b?z=1&a=2#top", "https://x.co.uk/", "com", "ftp://a.org/\r"]
    canonical = ["http://www.example.com/b?a=2&z=1", "https://x.co.uk/", None, "ftp://a.org/"]
    domains = ["example.com", "x.co.uk", None, "a.org"]
    for scheme, texts in (("url_id", canonical), ("domain_id", domains)):
        want = ["!public_suffix" if t is None else str(xxhash.xxh3_64_intdigest(t.encode()) & ID_MASK) for t in texts]
        dxtest.equal(key(scheme, urls, expect=1), want, scheme)
    number = xxhash.xxh3_64_intdigest(b"example.com") & ID_MASK
    dxtest.equal(key("domain_id", ["example.com"], "--format", "hex"), [f"0x{number:016x}"], "hex")
    signed = number - 2**64 if number >= 2**63 else number
    dxtest.equal(key("domain_id", ["example.com"], "--format", "bigint"), [str(signed)], "bigint")


def check_fields():
    numbers = ["0x0100000102000001", "72057598349672448", "-1", "0", "x", "0x1ffffffffffffffff", "--1",
               "18446744073709551616", "MAXVALUE", "0xFFffFFff00000000"]
    dxtest.equal(key("domain64", numbers, "--decode", expect=1),
                 ["01:000001:02:000001", "01:000001:01:000000", "ff:ffffff:ff:ffffff", "!fields", "!number", "!number",
                  "!number", "!number", "!number", "ff:ffffff:00:000000"], "fields")
    dxtest.equal(key("domain64", ["0x0100000100000200", "0x0100000100000201"], "--decode", "--layout", "8-24-24-8",
                     expect=1), ["01:000001:000002:00", "!fields"], "fields of the other layout")


def check_stream():
    """A line is answered before the next one is written."""
    with subprocess.Popen([dxtest.BIN / "domaindex", "key", "--scheme", "store_key"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as p:
        for url in ("https://example.com/", "https://example.com/2"):
            p.stdin.write(url.encode() + b"\n")
            p.stdin.flush()
            dxtest.equal(p.stdout.readline().split(b"\t")[0].decode(), str(store_key("example.com", url)), url)
        p.stdin.close()
        dxtest.equal(p.wait(60), 0, "exit")


def check_usage():
    for arguments in ([], ["--scheme", "md5"], ["--scheme", "url_id", "--decode"], ["--scheme", "url_id", "--clean"],
                      ["--scheme", "store_key", "--format", "oct"], ["--scheme", "store_key", "url"],
                      ["--scheme", "domain64", "--decode", "--layout", "8-8"]):
        dxtest.domaindex("key", *arguments, input=b"", expect=2)


dxtest.need_programs()
check_store_key()
check_ids()
check_fields()
check_stream()
check_usage()
dxtest.finish()
