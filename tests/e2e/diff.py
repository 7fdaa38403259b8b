#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: slow
"""diff and changes against sets: what two versions have, worked out here from the raw rows.

Three versions: rows, more rows, then two datasets less. All pairs of versions are compared, by the
command and by the API, forwards and backwards. DX_WHOLE: seven times the rows, the command's text and its
summary of every pair, every command with every number.
"""
import json
import os
import re
import subprocess
import sys
import uuid
from xml.etree import ElementTree
from urllib.parse import quote

import corpus
import dxtest
import oracle
from dxtest import check, equal

sys.path.insert(0, str(dxtest.SOURCE / "python" / "src"))
os.environ["DOMAINDEX_LIBRARY"] = str(dxtest.BIN / "libdomaindex.so.1")
ROWS = 1000 if dxtest.SANITIZED else 6000 if dxtest.WHOLE else 800


def publish(root):
    return dxtest.domaindex("publish", "--root", root).stdout.decode().split()[0]


def ingest(tmp, root, seed, expected):
    with open(tmp / "rows.tsv", "w", encoding="utf-8") as out:
        for raw, want in corpus.rows(seed=seed, count=ROWS):
            print(*raw, sep="\t", file=out)
            if want is not None:
                expected.add(*want)
    dxtest.domaindex("ingest", "--root", root, "--format", "tsv", "--dataset-column", 1, "--ts-column", 2,
                     "--url-column", 3, "--extra-column", 4, "--no-header", tmp / "rows.tsv")


def counts(expected):
    """{domain: {dataset name: (urls, rows)}}"""
    return {domain: {name: (len({row[0] for row in rows}), len(rows)) for name, rows in sets.items() if rows}
            for domain, sets in expected.pairs.items() if any(sets.values())}


def diff_of(old, new):
    """{domain: (change, {dataset: (before, after)})} of what differs."""
    found = {}
    for domain in old.keys() | new.keys():
        a, b = old.get(domain, {}), new.get(domain, {})
        sets = {name: (a.get(name), b.get(name)) for name in a.keys() | b.keys() if a.get(name) != b.get(name)}
        if sets:
            found[domain] = ("removed" if not b else "changed" if a else "added", sets)
    return found


def as_sets(item):
    """An item of the API, in the form of diff_of."""
    def side(c):
        return c and (c["url_count"], c["row_count"])
    for d in item["datasets"]:
        equal(d["change"], "added" if d["before"] is None else "removed" if d["after"] is None else "changed",
              f"{item['domain']}: change of {d['name']}")
    ids = [d["dataset_id"] for d in item["datasets"]]
    equal(ids, sorted(set(ids)), f"{item['domain']}: order of datasets")
    return item["change"], {d["name"]: (side(d["before"]), side(d["after"])) for d in item["datasets"]}


def key_of(domain):
    """The order of the index; IP literals are their own keys."""
    if domain.startswith("[") or domain.rsplit(".", 1)[-1].isdigit():
        return domain.encode()
    return " ".join(reversed(domain.split("."))).encode()


def same(words, items, want):
    got = {item["domain"]: as_sets(item) for item in items}
    equal(len(got), len(items), f"{words}: each domain once")
    equal([item["domain"] for item in items], sorted(got, key=key_of), f"{words}: order")
    for domain in sorted(got.keys() | want.keys()):
        if got.get(domain) != want.get(domain):
            check(False, f"{words}: {domain}: {got.get(domain)}, not {want.get(domain)}")
    equal(len(got), len(want), f"{words}: domains that differ")


def three(changes):
    changes = list(changes)
    return {c: sum(1 for x in changes if x == c) for c in ("added", "removed", "changed")}


def by_command(root, versions, states):
    for i, old in enumerate(states):
        for k, new in enumerate(states):
            want = diff_of(old, new)
            words = f"diff {i + 1} {k + 1}"
            lines = dxtest.domaindex("diff", "--root", root, "--json", versions[i], k + 1).stdout.splitlines()
            items = [json.loads(line) for line in lines]
            totals = items.pop()
            same(words, items, want)
            pairs = ["added" if b is None else "removed" if a is None else "changed"
                     for _, sets in want.values() for b, a in sets.values()]
            equal(totals["domains"], three(change for change, _ in want.values()), f"{words}: domains")
            equal(totals["pairs"], three(pairs), f"{words}: pairs")
            equal((totals["from"], totals["to"]), (versions[i], versions[k]), f"{words}: versions")
            sets = [{name for d in s.values() for name in d} for s in (old, new)]
            equal((totals["datasets"]["added"], totals["datasets"]["removed"]),
                  (len(sets[1] - sets[0]), len(sets[0] - sets[1])), f"{words}: datasets")
            if not dxtest.WHOLE and i != k and (i + 2 * k) % 3 != 2:  # of each version one before it or behind it
                continue
            only = dxtest.domaindex("diff", "--root", root, "--json", "--summary", i + 1, k + 1)
            equal(json.loads(only.stdout), totals, f"{words}: --summary")
            text = dxtest.domaindex("diff", "--root", root, i + 1, k + 1).stdout.decode().splitlines()
            equal(len(text), len(pairs), f"{words}: lines")
            equal(sorted({line.split("\t")[1] for line in text}), sorted(want), f"{words}: domains of lines")


def refused_commands(root):
    for arguments in ((), ("1",), ("1", "2", "3")):
        dxtest.domaindex("diff", "--root", root, *arguments, expect=2)
    for arguments in (("1", "9"), ("x", "1"), ("", "1"), ("1", "2", "--domain", "co.uk"),
                      ("1", "2", "--domain", "absent.example.org")):
        dxtest.domaindex("diff", "--root", root, *arguments, expect=1)
    full = subprocess.run([str(dxtest.DOMAINDEX), "diff", "--root", str(root), "1", "2"],
                          stdout=open("/dev/full", "wb"), stderr=subprocess.PIPE, check=False)
    equal(full.returncode, 1, "a full disk")


def changes_since(server, since, limit):
    items, cursor, pages, version = [], "", 0, None
    while cursor is not None:
        reply = server.get(f"/v1/changes?since={since}&limit={limit}" + (f"&cursor={cursor}" if cursor else ""))
        equal(reply.status, 200, f"changes since {since}: {reply.body[:300]}")
        page = reply.json
        version = version or page["version"]
        equal(page["version"], version, "one version for all pages")
        check(len(page["changes"]) <= limit, "a page of at most limit domains")
        items += page["changes"]
        cursor, pages = page["next_cursor"], pages + 1
    return items, pages


def by_api(server, versions, states):
    for i, state in enumerate(states):
        want = diff_of(state, states[-1])
        for since, limit in ((versions[i], 10000), (i + 1, 37), (f"{i + 1:06d}", 1000)):
            items, pages = changes_since(server, since, limit)
            same(f"changes since {since}", items, want)
            check(pages >= len(want) / limit, f"{pages} pages")
    equal(server.get("/v1/changes").json["since"], versions[-2], "the one before, if nothing is said")
    for i, old in enumerate(states):
        for k, new in enumerate(states):
            want = diff_of(old, new)
            names = sorted(want)[::max(1, len(want) // 40)]
            for name in names:
                reply = server.get(f"/v1/domain/{quote(name, safe='')}/diff?from={versions[i]}&to={versions[k]}")
                equal(reply.status, 200, f"diff of {name}")
                answer = reply.json
                equal(as_sets(answer), want[name], f"diff of {name} from {i + 1} to {k + 1}")
                equal((answer["from"], answer["to"]), (versions[i], versions[k]), "versions of a diff")
            still = [d for d in old if old[d] == new.get(d)][:3]
            for name in still:
                answer = server.get(f"/v1/domain/{quote(name, safe='')}/diff?from={versions[i]}&to={versions[k]}").json
                equal((answer["change"], answer["datasets"]), ("same", []), f"diff of {name}, which is the same")


ATOM = "{http://www.w3.org/2005/Atom}"


def history(server, name, limit=None):
    """[(version, change, datasets)] of /v1/domain/NAME/changes, page by page."""
    items, to, pages = [], None, 0
    while to is not None or pages == 0:
        parameters = "&".join(f"{key}={value}" for key, value in (("limit", limit), ("to", to)) if value)
        reply = server.get(f"/v1/domain/{quote(name, safe='')}/changes?{parameters}")
        equal(reply.status, 200, f"changes of {name}: {reply.body[:300]}")
        page = reply.json
        check(page["compared"] <= (limit or 10), "at most limit versions are compared")
        items += [(c["version"], *as_sets({**c, "domain": name})) for c in page["changes"]]
        to, pages = page["next_to"], pages + 1
        check(pages <= 10, "the last page")
    return items, pages


def feed_of(server, name):
    reply = server.get(f"/v1/domain/{quote(name, safe='')}/changes?format=atom")
    equal((reply.status, reply.headers["content-type"].split(";")[0]), (200, "application/atom+xml"), f"feed of {name}")
    again = server.get(f"/v1/domain/{quote(name, safe='')}/changes?format=atom", headers={"If-None-Match": reply.headers["etag"]})
    equal(again.status, 304, "a feed that has not changed")
    feed = ElementTree.fromstring(reply.body)
    equal(feed.tag, f"{ATOM}feed", "the root of a feed")
    for element in (feed, *feed.iter(f"{ATOM}entry")):     # what RFC 4287 demands, each once
        for child in ("id", "title", "updated"):
            equal(len(element.findall(f"{ATOM}{child}")), 1, f"{child} in {element.tag}")
        check(element.find(f"{ATOM}id").text.startswith("urn:uuid:"), "an id that is a URI")
        uuid.UUID(element.find(f"{ATOM}id").text[9:])
    check(feed.find(f"{ATOM}author/{ATOM}name") is not None, "an author")
    ids = [e.text for e in feed.iter(f"{ATOM}id")]
    equal(len(ids), len(set(ids)), "ids are different ones")
    return feed


def lines_of(sets):
    marks = {name: "+" if b is None else "-" if a is None else "~" for name, (b, a) in sets.items()}
    return {f"{marks[name]} {name}: {(a or b)[0]} URLs, {(a or b)[1]} rows" +
            (f" (before: {b[0]} URLs, {b[1]} rows)" if a and b else "") for name, (b, a) in sets.items()}


def by_domain(server, versions, states):
    """What each version changed for a domain, against the sets; and the feed of it."""
    steps = [(versions[i + 1], diff_of(states[i], states[i + 1])) for i in reversed(range(len(states) - 1))]
    names = sorted(set().union(*states))
    for name in [*names[::max(1, len(names) // 60)], "absent.example.org"]:
        want = [(version, *changed[name]) for version, changed in steps if name in changed]
        for limit in (None, 1):
            items, pages = history(server, name, limit)
            equal(items, want, f"changes of {name}, limit {limit}")
            equal(pages, 1 if limit is None else len(steps), "pages")
        feed = feed_of(server, name)
        entries = feed.findall(f"{ATOM}entry")
        equal([set(e.find(f"{ATOM}content").text.splitlines()) for e in entries], [lines_of(sets) for _, _, sets in want], f"feed of {name}")
        for entry, (version, _, sets) in zip(entries, want):
            answer = server.get(entry.find(f"{ATOM}link").get("href")).json
            equal((answer["to"], as_sets(answer)[1]), (version, sets), "the link of an entry")
        older = {e.find(f"{ATOM}id").text for e in feed_of(server, name).iter(f"{ATOM}entry")}
        equal(older, {e.find(f"{ATOM}id").text for e in entries}, "ids stay")
    equal(server.get("/v1/domain/co.uk/changes").status, 400, "changes of what cannot be a domain")
    equal(server.get(f"/v1/domain/{quote(names[0])}/changes?to={versions[0]}").json["since"], None, "before the first version")


def refused(server):
    for target, status, slug in (
            ("/v1/domain/absent.example.org/diff", 404, "domain-not-found"),
            ("/v1/domain/co.uk/diff", 400, "not-a-domain"),
            ("/v1/domain/example.com/diff?from=1", 404, "domain-not-found"),
            ("/v1/domain/example.com/diff?from=x", 400, "bad-version"),
            ("/v1/domain/example.com/diff?from=9", 503, "version-newer"),
            ("/v1/domain/example.com/diff?to=000009-20261121T111712Z", 503, "version-newer"),
            ("/v1/domain/example.com/diff?from=000001-20201121T111712Z", 410, "version-gone"),
            ("/v1/changes?since=", 400, "bad-version"),
            ("/v1/changes?since=0", 400, "bad-version"),
            ("/v1/changes?since=4", 503, "version-newer"),
            ("/v1/changes?cursor=x", 400, "bad-cursor"),
    ):
        reply = server.get(target)
        equal((reply.status, reply.json.get("type", "").rsplit(":", 1)[-1]), (status, slug), target)
    cursor = server.get("/v1/changes?since=1&limit=1").json["next_cursor"]
    reply = server.get(f"/v1/changes?since=2&cursor={cursor}")
    equal(reply.status, 400, "a cursor of changes since another version")
    listed = server.get("/v1/versions").json["versions"]
    equal([v["state"] for v in listed], ["listed"] * len(listed), "states")
    equal([v["resident"] for v in listed], [True] * len(listed), "all were asked for by now")
    equal([v["superseded"] is None for v in listed], [False, False, True], "superseded")


def suppressed(server, root, versions, states):
    """A domain that is hidden whole does not show in changes, nor has it a diff."""
    want = diff_of(states[0], states[-1])
    name = sorted(want)[len(want) // 2]
    dxtest.domaindex("suppress", "add", "--root", root, "--policy", "absent", "--domain", name)
    check(dxtest.wait_until(lambda: server.get(f"/v1/domain/{name}/diff?from={versions[0]}").status == 404), "the rule is followed")
    equal(history(server, name)[0], [], "changes of a domain that is suppressed")
    equal(feed_of(server, name).findall(f"{ATOM}entry"), [], "feed of a domain that is suppressed")
    for more in ("", "limit=1", f"version={versions[1]}", "format=atom"):
        got, never = (server.get(f"/v1/domain/{d}/changes?{more}".rstrip("?")) for d in (name, "never-was-there.org"))
        known = [re.sub(rb"urn:uuid:[^<]*", b"", body) for body in (got.body, never.body.replace(b"never-was-there.org", name.encode()))]
        equal((got.status, known[0]), (never.status, known[1]), f"changes?{more} of a domain that is absent by a rule, and of one that never was")
    del want[name]
    items, _ = changes_since(server, 1, 10000)
    same("changes without a suppressed domain", items, want)
    hidden_from_the_command(server, root, versions, name, want)


def hidden_from_the_command(server, root, versions, name, want):
    """`domaindex diff` hides what answers hide: a domain of either policy, and single URLs of one."""
    *lines, totals = [json.loads(line) for line in dxtest.domaindex("diff", "--root", root, "--json", 1, 3).stdout.splitlines()]
    same("diff without a suppressed domain", lines, want)
    equal(sum(totals["domains"].values()), len(want), "domains of the totals")
    text = dxtest.domaindex("diff", "--root", root, 1, 3).stdout.decode()
    check(f"\t{name}\t" not in text and len(text.splitlines()) == sum(len(sets) for _, sets in want.values()), "lines without a suppressed domain")
    withheld, part = [domain for domain in sorted(want) if len(want[domain][1]) > 1][:2]
    url = server.get(f"/v1/domain/{quote(part, safe='')}/urls?limit=1").json["items"][0]["url"]
    dxtest.domaindex("suppress", "add", "--root", root, "--domain", withheld)
    dxtest.domaindex("suppress", "add", "--root", root, "--url", url)
    check(dxtest.wait_until(lambda: server.get(f"/v1/domain/{quote(withheld, safe='')}").status == 451 and
                            server.get(f"/v1/url?u={quote(url, safe='')}").status in (404, 451)), "the rules are followed")
    check(dxtest.wait_until(lambda: server.get("/v1/changes?since=1&limit=10000").status == 200), "the rows that the rule hides are known")
    items, _ = changes_since(server, 1, 10000)
    lines = [json.loads(line) for line in dxtest.domaindex("diff", "--root", root, "--json", 1, 3).stdout.splitlines()[:-1]]
    equal(lines, items, "items of the command and of the API, with a URL suppressed")
    one = dxtest.domaindex("diff", "--root", root, 1, 3, "--domain", part).stdout
    equal(json.loads(one)["datasets"], server.get(f"/v1/domain/{quote(part, safe='')}/diff?from=1&to=3").json["datasets"], "--domain with a URL suppressed")
    for domain in (name, withheld):
        refused_one = dxtest.domaindex("diff", "--root", root, 1, 3, "--domain", domain, expect=1)
        equal(refused_one.stdout, b"", f"--domain {domain}, which is suppressed")


def by_number(root, tmp, server, versions):
    """A version may be said by its number wherever it may be said by its name; the answer has the name."""
    name = server.get("/v1/domains?limit=1&version=1").json["domains"][0]["domain"]
    asked = quote(name, safe="")
    commands = (("datasets", "--json"), ("lookup", name), ("files",), ("verify",), ("top-domains", "--json", "--dataset", 1))
    for at, (number, version) in enumerate(((1, versions[0]), ("000002", versions[1]), (3, versions[2]))):
        for target in ("/v1/datasets?", f"/v1/domain/{asked}?", f"/v1/domain/{asked}/urls?limit=3&", "/v1/domains?limit=2&", f"/v1/domain/{asked}/changes?"):
            reply, same_by_name = (server.get(f"{target}version={said}") for said in (number, version))
            equal((reply.status, reply.headers.get("x-domaindex-version")), (same_by_name.status, same_by_name.headers.get("x-domaindex-version")), f"{target}version={number}")
            equal(reply.body, same_by_name.body, f"{target}version={number}")
        page = server.get(f"/v1/domains?limit=1&version={number}").json
        for said in (number, version):
            equal(server.get(f"/v1/domains?limit=1&version={said}&cursor={page['next_cursor']}").status, 200, f"a cursor beside version={said}")
        wrong = server.get(f"/v1/domains?limit=1&version={1 if number != 1 else 2}&cursor={page['next_cursor']}")
        equal(wrong.json["type"].rsplit(":", 1)[-1], "cursor-mismatch", "a cursor beside another number")
        listed = server.get(f"/v1/domains?version={number}", method="POST", body=f"{name}\n".encode())
        equal(json.loads(listed.body.splitlines()[-1]).get("version"), version, "POST /v1/domains")
        for command in commands if dxtest.WHOLE else commands[at::3]:
            said, named = (dxtest.domaindex(command[0], "--root", root, "--version", text, *command[1:], expect=None) for text in (number, version))
            equal((said.returncode, said.stdout), (named.returncode, named.stdout), f"{command[0]} --version {number}")
    for to, status, slug in ((2, 200, None), (9, 503, "version-newer"), (0, 400, "bad-version"), ("1x", 400, "bad-version"), (1000000, 400, "bad-version")):
        reply = server.get(f"/v1/domain/{asked}/diff?from=1&to={to}")
        equal(reply.status, status, f"diff to={to}: {reply.body[:200]}")
        equal(reply.json.get("type", ":None").rsplit(":", 1)[-1], str(slug), f"diff to={to}")
        if status == 200:
            equal((reply.json["from"], reply.json["to"]), (versions[0], versions[1]), "names of versions that were said by number")
    import domaindex

    for number, version in (("1", versions[0]), ("000003", versions[2])):
        for index in (domaindex.open(root, version=number), domaindex.connect(f"http://127.0.0.1:{server.port}", version=number)):
            with index:
                equal((index.version, index.domain(name).version), (version, version), f"version={number} in Python")
    copy, backup = tmp / "copy", ("backup", "--root", root, "--version", 2, "--json", "--to")
    equal(json.loads(dxtest.domaindex(*backup, copy, "--dry-run").stdout)["version"], versions[1], "backup --version 2 --dry-run")
    if dxtest.WHOLE:
        dxtest.domaindex(*backup, copy)
        check(versions[1].encode() in dxtest.domaindex("versions", "--root", copy).stdout, "backup --version 2")


def main():
    dxtest.need_programs()
    expected, states, versions = oracle.Expected(), [], []
    with dxtest.tempdir() as tmp:
        root = tmp / "root"
        for seed in (1, 2):
            ingest(tmp, root, seed, expected)
            versions.append(publish(root))
            states.append(counts(expected))
        names = sorted({name for sets in states[-1].values() for name in sets})
        gone = [names[3], names[-1]]
        dxtest.domaindex("remove", "--root", root, *(part for name in gone for part in ("--dataset", name)))
        versions.append(publish(root))
        for sets in expected.pairs.values():
            for name in gone:
                sets.pop(name, None)
        states.append(counts(expected))
        by_command(root, versions, states)
        refused_commands(root)
        with dxtest.Server(root, "--poll-ms", 50) as server:
            by_api(server, versions, states)
            by_domain(server, versions, states)
            refused(server)
            by_number(root, tmp, server, versions)
            suppressed(server, root, versions, states)
        print(f"{len(versions)} versions, {[len(s) for s in states]} domains, "
              f"{[len(diff_of(s, states[-1])) for s in states]} differ from the last")
    dxtest.finish()


if __name__ == "__main__":
    main()
