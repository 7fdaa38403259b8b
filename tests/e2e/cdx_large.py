#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: slow long
"""Captures of a site with more rows than a CDX answer may look at: by pages all of them, of its hosts those that are asked for.

2,290,000 rows of one domain, 2,150,000 of them of one host, in two datasets. Pages of the domain with all below it, and of the large host: as many as
showNumPages says, each in order of keys, together every row once, in bounded memory; of the host three pages, with DX_WHOLE=1 all. Other hosts, prefixes
and URLs of them do not cost what the large one has; nor do its own URLs and prefixes, and the first rows of it, or those behind a resumeKey; with a rule
that hides some rows too. URLs whose escapes hide a segment "..", also after a second publish; with DX_WHOLE=1 after one that merges the parts, and
verify --deep recounts their lists. What cannot be is refused with what to ask.

Not in the gate: so many rows take a minute of CPU time to ingest, publish and sort. The same questions over 13,000 rows of a domain, where an answer
may look at 5,000, are those of test_cdx_large (unit); pages and keys of small hosts are in `cdx_server`.
"""
import bisect
import pathlib
import random

import dxtest
from dxtest import check, equal

DOMAIN = "large.example"
HOSTS = {"en.": 2_100_000, "www.en.": 50_000, "de.": 90_000, "": 30_000, "www.": 10_000, "www2.de.": 10_000}
PAGE = 150_000
# URLs whose escapes hide a segment "..": their paths stand elsewhere than their keys (each by hand). Those of "later" come with a second publish, those of
# "more" with a third that merges the parts.
ASTRAY = {
    "first": (("en.", "/a/..%2Fb0000002", "b0000002"), ("en.", "/b05/x/..%2f..%2Fzz", "zz"), ("www.en.", "/a00/%2e%2e%2fb1000002", "b1000002"),
              ("en.", "/zzz/..%252Faaa?x=1", "aaa?x=1"), ("en.", "/b0000003/..%2Fa0000000%20", "a0000000%20"), ("de.", "/q/..%2Fa1", "a1"),
              ("en.", "/a0000000/%2E%2E%2Fa0000001", "a0000001")),
    "later": (("en.", "/x/..%2Fa1000001", "a1000001"), ("en.", "/A00/%2e.%2Fb0500002", "b0500002")),
    "more": (("en.", "/a/b/c/..%2f..%2f..%2fb2000002", "b2000002"),),
}


def astray(when):
    return [(host, f"{key_of(f'https://{host}{DOMAIN}/')}{key}", f"https://{host}{DOMAIN}{path}") for host, path, key in ASTRAY[when]]


def urls():
    """Host, key and URL of each row."""
    for host, count in HOSTS.items():
        begin, key = f"https://{host}{DOMAIN}/", key_of(f"https://{host}{DOMAIN}/")
        for i in range(count):
            yield host, f"{key}{'aabb'[i % 4]}{i:07}", f"{begin}{'aAbB'[i % 4]}{i:07}"
    yield from astray("first")


def key_of(url):
    host, path = url.split("/", 3)[2:]
    labels = host.split(".")
    while labels[0].startswith("www") and (labels[0][3:] == "" or labels[0][3:].isdigit()):
        labels = labels[1:]
    return ",".join(reversed(labels)) + ")/" + path.lower()


def rss_mib(server):
    words = pathlib.Path(f"/proc/{server.process.pid}/status").read_text("ascii").split()
    return int(words[words.index("VmRSS:") + 1]) / 1024


def between(lines, low, high):
    """Of sorted lines."""
    return lines[bisect.bisect_left(lines, low):bisect.bisect_left(lines, high)]


def below(lines, key):
    """Of sorted lines those that begin so."""
    return between(lines, key, key + "~")


def pages_of(server, asked, want, most_mib, all_pages=True):
    """Pages; want: sorted lines of "key original"."""
    count = int(server.get(f"/cdx?{asked}&showNumPages=true").body)
    check(0 <= count * PAGE - len(want) < PAGE + sum(HOSTS.values()) // 100, f"{asked}: {count} pages for {len(want)} rows")
    got, before = [], rss_mib(server)
    for page in range(count) if all_pages else (0, count // 2, count - 1):
        reply = server.get(f"/cdx?{asked}&page={page}&showUntimed=true&fl=urlkey,original")
        if not equal(reply.status, 200, f"{asked}, page {page}: {reply.body[:300]}"):
            return
        lines = reply.body.decode().splitlines()
        equal((len(lines) <= PAGE, lines == sorted(lines)), (True, True), f"{asked}, page {page}")
        got += lines
    print(f"{asked}: {rss_mib(server) - before:.0f} MiB more after {count} pages", flush=True)
    check(rss_mib(server) - before < most_mib, f"{asked}: memory")
    got.sort()
    if all_pages:
        check(got == want, f"{asked}: {len(got)} rows, each once")
    else:
        places = [bisect.bisect_left(want, line) for line in got]
        check(all(at < len(want) and want[at] == line for at, line in zip(places, got)) and len(set(places)) == len(got), f"{asked}: {len(got)} of the rows, each once")
    reply = server.get(f"/cdx?{asked}&page={count}&showUntimed=true")
    check(reply.status == 400 and f"Last Page is {count - 1}" in reply.json["detail"], f"{asked}: behind the last page: {reply.body[:200]}")


def lines_of(server, asked):
    """No answer says that rows may be missing."""
    reply = server.get(f"/cdx?{asked}&showUntimed=true&fl=urlkey,original")
    check(reply.status == 200, f"{asked}: {reply.status} {reply.body[:300]}")
    equal(reply.headers.get("x-domaindex-by-paths"), None, f"{asked}: by paths")
    return reply.body.decode().splitlines()


def urls_of_large_host(server, want, rng):
    """URLs and prefixes of the host that has too many rows; want: sorted lines of it."""
    lines = [rng.choice(want) for _ in range(10)] + [f"{key} {url}" for when in ASTRAY for host, key, url in astray(when) if "en." in host]
    for key, url in (line.split() for line in lines):
        same = between(want, f"{key} ", f"{key}!")
        for text in (url, f"https://en.{DOMAIN}/{key.split(')/', 1)[1]}"):  # by its own text, and by the text of its key
            equal(lines_of(server, f"url={text.replace('%', '%25').replace('?', '%3F')}"), same, f"{text}, whose key is {key}")
    for prefix in ("/a1", "/B00", "/b20999", "/b05", "/z", "/aa", "/a0000000"):
        key = key_of(f"https://en.{DOMAIN}{prefix}")
        equal(lines_of(server, f"url=en.{DOMAIN}{prefix}*&limit=9999999") == below(want, key), True, f"{prefix}*")


def of_large_host(server, want, rng):
    """And stretches of it."""
    asked = f"url=en.{DOMAIN}"
    urls_of_large_host(server, want, rng)
    for limit in (1, 10, 150_000):
        equal(lines_of(server, f"{asked}&matchType=host&limit={limit}") == want[:limit], True, f"the first {limit}")
    got, key = [], ""
    for _ in range(5):
        lines = lines_of(server, f"{asked}&matchType=host&limit=60000&showResumeKey=true{key}")
        check(len(lines) > 2 and lines[-2] == "", f"a key behind {len(got)} rows")
        key = f"&resumeKey={lines[-1]}"
        got += lines[:-2]
    equal(got == want[:len(got)] and len(got) > 60000, True, f"{len(got)} rows by keys")


def published_again(root, server, of, when, *options):
    """A few rows more of the large host, in a part of their own or merged with all others."""
    text = "".join(f"{url}\n" for _, _, url in astray(when))
    for host, key, url in astray(when):
        of[host].append(f"{key} {url}")
    dxtest.domaindex("ingest", "--root", root, "--dataset", when, "--format", "list", "-", input=text.encode())
    version = dxtest.domaindex("publish", "--root", root, "--quiet", *options).stdout.decode().strip()
    check(dxtest.wait_until(lambda: server.get("/readyz").headers.get("x-domaindex-version") == version, 240), f"{version} serves")


def with_a_rule(root, server, want):
    """What a rule hides is in no answer, and rows before and behind it are."""
    hidden = f"https://en.{DOMAIN}/b05"
    dxtest.domaindex("suppress", "add", "--root", root, "--prefix", hidden, "--policy", "absent")
    # Not b0500002: a URL of "later" has that key too, and is not below the prefix.
    check(dxtest.wait_until(lambda: server.get(f"/cdx?url={hidden}00006&showUntimed=true").body == b"", 240), "the rule is followed")
    left = [line for line in want if f" {hidden}" not in line]
    for prefix in ("/b05", "/b04999", "/a1"):
        key = key_of(f"https://en.{DOMAIN}{prefix}")
        equal(lines_of(server, f"url=en.{DOMAIN}{prefix}*&limit=90000"), below(left, key)[:90000], f"{prefix}*, with a rule")


def main():
    dxtest.need_programs()
    rng = random.Random(3)
    with dxtest.tempdir() as tmp:
        root, of = tmp / "root", {host: [] for host in HOSTS}
        with open(tmp / "a", "w", encoding="ascii") as a, open(tmp / "b", "w", encoding="ascii") as b:
            for host, key, url in urls():
                of[host].append(f"{key} {url}")
                (a if rng.random() < 0.7 else b).write(f"{url}\n")
        for name in "ab":
            dxtest.domaindex("ingest", "--root", root, "--dataset", name, "--format", "list", tmp / name)
        dxtest.domaindex("publish", "--root", root)
        with dxtest.Server(root) as server:
            pages_of(server, f"url=*.{DOMAIN}", sorted(line for lines in of.values() for line in lines), 400)
            large = sorted(of["en."] + of["www.en."])
            pages_of(server, f"url=en.{DOMAIN}&matchType=host", large, 400, dxtest.WHOLE)
            for asked in (f"url=de.{DOMAIN}&matchType=host", f"url=www2.de.{DOMAIN}/*", f"url={DOMAIN}&matchType=host"):
                lines = lines_of(server, asked)
                equal(lines == sorted(of["de."] + of["www2.de."] if "de." in asked else of[""] + of["www."]), True, f"{asked}: {len(lines)} rows")
            for url in (f"https://de.{DOMAIN}/a0000004", f"https://www2.de.{DOMAIN}/A0000001"):
                lines = server.get(f"/cdx?url={url}&showUntimed=true&fl=original").body.decode().split()
                equal(lines, sorted(u.split()[1] for u in of["de."] + of["www2.de."] if u.split()[0] == key_of(url)), url)
            of_large_host(server, large, rng)
            for asked in (f"url=*.{DOMAIN}&limit=10", f"url=en.{DOMAIN}&matchType=host&sort=reverse&limit=3", f"url=*.{DOMAIN}&sort=reverse&limit=3"):
                reply = server.get(f"/cdx?{asked}&showUntimed=true")
                check(reply.status == 422 and "showNumPages" in reply.json["detail"], f"{asked}: {reply.status} {reply.body[:300]}")
            for when, options in (("later", ("--parts", "8")), ("more", ("--parts", "1")))[:2 if dxtest.WHOLE else 1]:
                published_again(root, server, of, when, *options)
                large = sorted(of["en."] + of["www.en."])
                urls_of_large_host(server, large, rng)
            if dxtest.WHOLE:
                dxtest.domaindex("verify", "--root", root, "--deep")
            with_a_rule(root, server, large)
    dxtest.finish()


main()
