#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: plain
"""Listings by cursor are listings by offset, row for row, of the version of their first page.

Three versions, two servers with one cursor key. While all listings are walked by cursors, page by page
on either server with limits that are not round numbers, and in parts (plan=N), a third process
flips from version to version. Then what a cursor must not do: go on with another version, another
question, another key, another principal, one bit changed, too late. DX_LISTINGS=n walks n listings: 60 by default, 1,500 with DX_WHOLE=1
(150 under sanitizers). In the gate the rows are in 30 datasets instead of 300.

Also: suppressions that are added meanwhile; every bit of a cursor changed (in the gate every seventh), other keys, other principals (also from a
cache, and after a restart of the server), expired cursors, newer and removed versions.
"""
import json
import os
import random
import shutil
import threading
import time
from urllib.parse import quote, quote_from_bytes

import corpus
import dxtest
import manifests
import pipeline
import roots
from dxtest import check, equal

LISTINGS = int(os.environ.get("DX_LISTINGS") or (1500 if dxtest.WHOLE and not dxtest.SANITIZED else 150 if dxtest.WHOLE else 60))
ROWS = 600 if not dxtest.WHOLE else 1500 if dxtest.SANITIZED else 5000
TOGETHER = 64       # listings under way at a time


def ingest(tmp, root, seed):
    with open(tmp / "rows.tsv", "w", encoding="utf-8") as out:
        for (name, *raw), _ in corpus.rows(seed=seed, count=ROWS):
            print(name if dxtest.WHOLE or not name.startswith("set-") else f"set-{int(name[4:]) % 30:03d}", *raw, sep="\t", file=out)
        for i in range(0, ROWS, 2 + seed):  # a long listing, with more rows in each version
            print("set-000", 1600000000 + seed, f"https://long.example.com/{i}?seed={seed % 2}", "", sep="\t", file=out)
    dxtest.domaindex("ingest", *dxtest.short_psl(tmp, *corpus.SUFFIXES, "uk", "au"), "--root", root, "--format", "tsv", "--dataset-column", 1, "--ts-column", 2,
                     "--url-column", 3, "--extra-column", 4, "--no-header", tmp / "rows.tsv")


def publish(root):
    return dxtest.domaindex("publish", "--root", root).stdout.decode().split()[0]


def pairs_of(server, version, names):
    """(domain, dataset_id) of a version."""
    found = []
    with pipeline.Client(server) as client:
        targets = [f"/v1/domain/{quote(name, safe='')}?version={version}" for name in names]
        for _, head, body in client.ask(targets):
            if head.startswith(b"HTTP/1.1 200"):
                answer = json.loads(body)
                found += [(answer["domain"], d["dataset_id"]) for d in answer["datasets"]]
    return found


def path_of(pair):
    return f"/v1/domain/{quote(pair[0], safe='')}/datasets/{pair[1]}/urls"


def by_offset(server, version, pairs):
    listings = {}
    with pipeline.Client(server) as client:
        for pair, (_, head, body) in zip(pairs, client.ask(
                [f"{path_of(pair)}?limit=10000&version={version}" for pair in pairs])):
            equal(head[9:12], b"200", f"{pair} of {version} by offset")
            listings[pair] = json.loads(body)["items"]
    return listings


class Walk:
    """One listing, or one part of it: target is what to ask next, None at the end."""

    def __init__(self, rng, pair, cursor=None, version=None):
        self.rng, self.pair, self.items, self.version = rng, pair, [], version
        self.part = cursor is not None
        self.target = f"{path_of(pair)}?limit={rng.choice((1, 3, 7, 11, 97))}"
        if self.part:
            self.target = f"{path_of(pair)}?cursor={cursor}&limit=9999"

    def take(self, head, body):
        """True: a page; False: the other server may know more."""
        if head.startswith(b"HTTP/1.1 503") and b"version-newer" in body:
            check(b"\r\nRetry-After: 1\r\n" in head, "503 without Retry-After")
            return False
        if not check(head.startswith(b"HTTP/1.1 200"), f"{self.target}: {head[:12]} {body[:300]}"):
            self.target = None
            return True
        page = json.loads(body)
        self.version = self.version or page["version"]
        equal(page["version"], self.version, f"{self.target}: one version")
        check(self.part or page["offset"] == len(self.items), f"{self.target}: offset {page['offset']}")
        self.items += page["items"]
        cursor = page["next_cursor"]
        equal(cursor is None, page["next_offset"] is None, f"{self.target}: one end")
        limit = self.rng.choice(("", "&limit=1", "&limit=5", "&limit=13", "&limit=400"))
        self.target = cursor and f"{path_of(self.pair)}?cursor={cursor}{limit}"
        return True


def walk_all(servers, rng, walks, on_end):
    """All to their ends, TOGETHER at a time, each page on any of the servers."""
    clients = [pipeline.Client(server) for server in servers]
    waiting, active, refused = list(walks), [], 0
    while waiting or active:
        while waiting and len(active) < TOGETHER:
            active.append(waiting.pop())
        client = rng.choice(clients)
        for walk, (_, head, body) in zip(active, client.ask([w.target for w in active])):
            refused += not walk.take(head, body)
        for walk in active:
            if walk.target is None:
                on_end(walk)
        active = [walk for walk in active if walk.target is not None]
    for client in clients:
        client.link.close()
    return refused


class Flips:
    """Another version is current every now and then, until the end of the with block; then the newest one is, of all servers."""

    def __init__(self, root, versions, servers):
        self.root, self.versions, self.servers, self.count, self.over = root, versions, servers, 0, threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        while not self.over.wait(0.02):
            dxtest.domaindex("rollback", "--root", self.root, self.versions[self.count % len(self.versions)],
                             expect=None)
            self.count += 1

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, kind, value, trace):
        self.over.set()
        self.thread.join()
        self.settle()

    def settle(self):
        """What comes next wants a version before the current one, and cursors that each server knows."""
        manifest = manifests.Manifest(self.root)
        if manifest.current != self.versions[-1]:
            dxtest.domaindex("rollback", "--root", self.root, self.versions[-1])
        end = time.monotonic() + 60
        for server in self.servers:
            while server.get("/readyz").json["version"] != self.versions[-1]:
                if not check(time.monotonic() < end, f"{self.versions[-1]} does not come to be served"):
                    dxtest.finish()
                time.sleep(0.02)


def whole_listings(servers, root, versions, full):
    rng = random.Random(5)
    pairs = sorted(set.intersection(*(set(full[v]) for v in versions)), key=lambda p: -len(full[versions[0]][p]))
    hot = pairs[:500]
    rows, ended, seen, refused = 0, 0, set(), 0

    def on_end(walk):
        nonlocal rows, ended
        rows, ended = rows + len(walk.items), ended + 1
        seen.add(walk.version)
        check(walk.items == full[walk.version][walk.pair], f"{walk.pair} of {walk.version} by cursor: "
              f"{len(walk.items)} rows, by offset {len(full[walk.version][walk.pair])}")

    with Flips(root, versions, servers) as flips:
        end = time.monotonic() + 60
        while ended < LISTINGS or (len(seen) < 2 and time.monotonic() < end):  # flips take their time
            chosen = [hot[(ended + i) % len(hot)] for i in range(max(TOGETHER, LISTINGS // 4))]
            refused += walk_all(servers, rng, [Walk(rng, pair) for pair in chosen], on_end)
        parts = in_parts(servers, rng, pairs[:max(30, LISTINGS // 20)], full)
    print(f"{ended} listings, {rows} rows, {parts} parts, {flips.count} flips, {len(seen)} versions, "
          f"{refused} times 503")
    check(ended >= LISTINGS, f"{ended} listings walked")
    check(len(seen) > 1 and flips.count > 1, f"versions flip under the walks: {seen}")


def in_parts(servers, rng, pairs, full):
    """plan=N: N cursors, each walked to its null, together the listing in order."""
    walks, plans = [], []
    for pair in pairs:
        count = rng.choice((1, 2, 3, 8, 64))
        reply = rng.choice(servers).get(f"{path_of(pair)}?plan={count}")
        equal(reply.status, 200, f"plan of {pair}")
        plan = reply.json
        equal(len(plan["cursors"]), count, "parts of a plan")
        equal(len(set(plan["cursors"])), min(count, plan["total"] + (count > plan["total"])),
              "parts are different ones, but for empty ones")
        equal(plan["total"], len(full[plan["version"]][pair]), "total of a plan")
        parts = [Walk(rng, pair, cursor, plan["version"]) for cursor in plan["cursors"]]
        walks += parts
        plans.append((pair, plan["version"], parts))
    walk_all(servers, rng, walks, lambda walk: None)
    for pair, version, parts in plans:
        sizes = [len(part.items) for part in parts]
        check(max(sizes) - min(sizes) <= 1, f"parts of like sizes: {sizes}")
        check(sum((part.items for part in parts), []) == full[version][pair],
              f"{pair} of {version} in {len(parts)} parts: {sizes}")
    return len(walks)


def slug(reply):
    return (reply.status, reply.json["type"].rsplit(":", 1)[1])


def refusals(server, other_key, pair, cursor, version):
    path, kept = path_of(pair), cursor
    for words, target, want in (
            ("offset beside it", f"{path}?cursor={kept}&offset=1", "cursor-mismatch"),
            ("plan beside it", f"{path}?cursor={kept}&plan=2", "cursor-mismatch"),
            ("other fields", f"{path}?cursor={kept}&fields=url", "cursor-mismatch"),
            ("another version", f"{path}?cursor={kept}&version=000009-20261121T111712Z", "cursor-mismatch"),
            ("another dataset", f"{path.replace('/urls', '9/urls')}?cursor={kept}", "cursor-mismatch"),
            ("another domain", f"/v1/domain/absent.example.org/datasets/{pair[1]}/urls?cursor={kept}", None),
            ("another resource", f"/v1/changes?cursor={kept}", "cursor-mismatch"),
            ("nothing", f"{path}?cursor=", "bad-cursor"),
            ("a padding", f"{path}?cursor={kept}%3D", "bad-cursor"),
            ("a part of it", f"{path}?cursor={kept[:-4]}", "bad-cursor"),
            ("no version", f"{path}?version=1x", "bad-version"),
    ):
        reply = server.get(target)
        if want is None:
            check(reply.status in (400, 404), f"{words}: {reply.status}")
        else:
            equal(slug(reply), (400, want), words)
    equal(slug(other_key.get(f"{path}?cursor={kept}")), (400, "bad-cursor"), "a server with another key")
    same = f"{path}?cursor={kept}&version={version}&fields=ts,url,url_id&limit=2"
    equal(server.get(same).status, 200, "what agrees with the cursor may stand beside it")


def every_bit(server, pair, cursor):
    targets = []
    for i in range(0, len(cursor) * 8, 1 if dxtest.WHOLE else 7):
        changed = bytearray(cursor.encode())
        changed[i // 8] ^= 1 << i % 8
        targets.append(f"{path_of(pair)}?cursor={quote_from_bytes(bytes(changed), safe='')}")
    with pipeline.Client(server) as client:
        for target, head, body in client.ask(targets):
            check(head.startswith(b"HTTP/1.1 400") and b"bad-cursor" in body, f"{target}: {head[:12]}")
    return len(targets)


def first_cursor(server, pair, extra=""):
    page = server.get(f"{path_of(pair)}?limit=1{extra}").json
    return page["next_cursor"], page["version"]


def suppressed(tmp, root, pair):
    """Rules come while a listing is walked: what they hide is gone from there on, all else is there once."""
    copy = tmp / "suppressed"
    shutil.copytree(root, copy)
    shutil.rmtree(copy / "leases", ignore_errors=True)
    with dxtest.Server(copy, "--poll-ms", 50) as server:
        before = server.get(f"{path_of(pair)}?limit=10000").json
        urls = [item["url"] for item in before["items"]]
        page = server.get(f"{path_of(pair)}?limit=3").json
        plan = server.get(f"{path_of(pair)}?plan=4").json["cursors"]
        hidden = set(urls[4:len(urls):3]) - set(urls[:3])
        (tmp / "rules").write_text("".join(f"url {url}\n" for url in sorted(hidden)), encoding="utf-8")
        dxtest.domaindex("suppress", "add", "--root", copy, "--policy", "withheld", "--file", tmp / "rules")
        left = [item for item in before["items"] if item["url"] not in hidden]
        def is_hidden():
            reply = server.get(f"{path_of(pair)}?limit=10000")
            return reply.status == 200 and reply.json["total"] == len(left)

        dxtest.wait_until(is_hidden)
        now = server.get(f"{path_of(pair)}?limit=10000")
        equal((now.json["items"], now.json["withheld_rows"]), (left, len(urls) - len(left)), "by offset")
        items = page["items"]
        while page["next_cursor"]:
            page = server.get(f"{path_of(pair)}?cursor={page['next_cursor']}").json
            equal((page["offset"], page["total"]), (len(items), len(left)), "visible rows are counted")
            items += page["items"]
        equal(items, left, "a listing that rules came upon")
        for words, cursors in (("before", plan), ("after", server.get(f"{path_of(pair)}?plan=4").json["cursors"])):
            items = []
            for cursor in cursors:
                while cursor:
                    page = server.get(f"{path_of(pair)}?cursor={cursor}&limit=5").json
                    items, cursor = items + page["items"], page["next_cursor"]
            equal(items, left, f"a plan made {words} the rules")
    return len(hidden)


def too_late(root, pair):
    for life_s in (1, 5, 25):   # a longer one, where this process stood still for its life
        if in_its_life(root, pair, life_s):
            return
    check(False, "a cursor was not used within 25 s")


def in_its_life(root, pair, life_s):
    with dxtest.Server(root, "--cursor-life", life_s) as server:
        begin = time.monotonic()
        cursor, _ = first_cursor(server, pair, "&fields=url")
        reply = server.get(f"{path_of(pair)}?cursor={cursor}")
        if time.monotonic() - begin >= life_s:
            return False
        equal(reply.status, 200, "at once")
        second = reply.json["next_cursor"]
        time.sleep(life_s + 1.2)
        for old in (cursor, second):    # life counts from the first page
            reply = server.get(f"{path_of(pair)}?cursor={old}")
            equal(slug(reply), (410, "cursor-expired"), "after its life")
        again = server.get(reply.json["restart"]).json
        equal((again["offset"], len(again["items"]), list(again["items"][0])), (0, 1, ["url"]), "the restart")
    return True


def without_cursors(root, pair, cursor):
    with dxtest.Server(root, *dxtest.SAME_BYTES) as server:
        page = server.get(f"{path_of(pair)}?limit=1").json
        equal((page["next_offset"], "next_cursor" in page), (1, False), "a server that gives no cursors")
        equal(slug(server.get(f"{path_of(pair)}?cursor={cursor}")), (400, "bad-cursor"), "nor takes any")
        for target in (f"{path_of(pair)}?plan=2", "/v1/changes", f"{path_of(pair)}?prefix=/", f"/v1/domain/{pair[0]}/urls?sort=time", f"/v1/host/{pair[0]}/urls?subdomains=yes&limit=1",
                       "/v1/tlds?limit=1", "/v1/suffix/com/urls?limit=1", "/v1/domains?limit=1", "/v1/tags?limit=1", "/v1/range?from=0&limit=1"):
            equal(slug(server.get(target)), (400, "bad-parameter"), target)
        for target in (f"/v1/domain/{pair[0]}/urls?limit=1", f"/v1/host/www.{pair[0]}/urls?limit=1", f"/v1/host/{pair[0]}/urls?limit=1&offset=1", f"/cdx?url=*.{pair[0]}&limit=1",
                       f"/cdx?url={pair[0]}/*&limit=1&showResumeKey=true", f"/v1/domain/{pair[0]}/urls?format=ndjson", "/v1/domains?format=csv", "/v1/tlds?format=ndjson",
                       f"/v1/host/{pair[0]}/urls?subdomains=yes&format=ndjson", f"/v1/domain/{pair[0]}/urls?sort=time&format=csv"):
            check(server.get(target).status in (200, 400, 404), f"{target} of a server that gives no cursors")
        equal(server.get("/readyz").status, 200, "after all these")


def newer_and_gone(tmp, root, pair, key):
    """A server that has not seen the version yet, and one of a root where it is gone."""
    with dxtest.Server(root, "--cursor-key-file", key, "--poll-ms", 0) as behind:
        ingest(tmp, root, 77)
        name = publish(root)
        with dxtest.Server(root, "--cursor-key-file", key) as ahead:
            cursor, version = first_cursor(ahead, pair)
            equal(version, name, "the newest version")
            for target in (f"{path_of(pair)}?cursor={cursor}", f"/v1/domain/{pair[0]}?version={name}"):
                reply = behind.get(target)
                equal((slug(reply), reply.headers.get("retry-after")), ((503, "version-newer"), "1"), target)
            last = behind.get("/v1/versions").json["current_version"]
            older, _ = first_cursor(behind, pair)
            equal(ahead.get(f"{path_of(pair)}?cursor={older}").json["version"], last, "a cursor of an older version")
    copy = tmp / "copy"
    shutil.copytree(root, copy)
    shutil.rmtree(copy / "leases", ignore_errors=True)
    for _ in range(3):
        dxtest.domaindex("gc", "--root", copy, "--keep", 1, "--keep-for", "0s", "--lease-ttl", "0s", "--cursor-life",
                         "0s", "--max-share", 100, "--delete")
        time.sleep(1.1)
    with dxtest.Server(copy, "--cursor-key-file", key) as server:
        for target, restart in ((f"{path_of(pair)}?cursor={older}", f"{path_of(pair)}?limit=1"),
                                (f"/v1/domain/{pair[0]}?version={last}", f"/v1/domain/{pair[0]}"),
                                (f"/v1/changes?since={last}", "/v1/changes")):
            reply = server.get(target)
            equal((slug(reply), reply.json.get("restart")), ((410, "version-gone"), restart), target)
        equal(server.get(f"{path_of(pair)}?limit=1").json["version"], name, "the restart")


def world_readable(tmp, root):
    open_key = tmp / "open.key"
    open_key.write_bytes(os.urandom(32))
    open_key.chmod(0o644)
    with dxtest.Server(root, "--cursor-key-file", open_key) as server:
        check("can read the cursor key" in server.words(), "a warning about a key that all can read")
    short = tmp / "short.key"
    short.write_bytes(b"x" * 31)
    done = dxtest.run(dxtest.DOMAINDEXD, "--root", root, "--listen", "127.0.0.1:0", "--cursor-key-file", short,
                      expect=1)
    check(b"at least 32" in done.stderr, f"a key that is too short: {done.stderr}")


def as_whom(name):
    return {"X-Principal": name} if name else {}


def of_principals(tmp, root, pair, full, key):
    """A cursor is good for who got it, also from a cache, and says bad-cursor to all others, as to a made-up one."""
    names = ("team-a", "team-b", "auditor", None)   # None: who does not say who he is
    table = {"format": 1, "generation": 1, "updated": "2026-11-22T04:00:00Z",
             "dataset_acl": [{"dataset_id": pair[1], "principals": ["*"]}],
             "principals": [{"name": name, "all": name == "auditor", "tokens": []} for name in sorted(filter(None, names))]}
    (tmp / "access.json").write_text(json.dumps(table), encoding="utf-8")
    options = ("--access-file", tmp / "access.json", "--principal-header", "x-principal", "--trusted-proxy", "127.0.0.1",
               "--access", "require", "--cursor-life", 86400)    # what a cursor counts from changes each 5760 s
    path, cursors = path_of(pair), {}
    with dxtest.Server(root, *options) as server, dxtest.Server(root, *options, "--cursor-key-file", key) as with_key:
        for _ in range(3):      # the third time from a cache
            for name in names:
                page = server.get(f"{path}?limit=3", headers=as_whom(name)).json
                items = full[page["version"]][pair]
                equal(page["items"], items[:3], f"first page of {name}")
                equal(cursors.setdefault(name, page["next_cursor"]), page["next_cursor"],
                      f"the same question of {name} has the same cursor")
        equal((len(set(cursors.values())), len({len(c) for c in cursors.values()})), (4, 1), "each has his own")
        made_up = server.get(f"{path}?cursor={'A' * len(cursors['team-a'])}", headers=as_whom("team-a"))
        for _ in range(3):
            for name in names:
                for other, cursor in cursors.items():
                    reply = server.get(f"{path}?cursor={cursor}&limit=4", headers=as_whom(name))
                    if name == other:
                        equal(reply.json["items"], items[3:7], f"{name} goes on")
                    else:
                        equal((reply.status, reply.body), (made_up.status, made_up.body), f"{name} with the cursor of {other}")
        equal(slug(made_up), (400, "bad-cursor"), "a made-up cursor")
        own = with_key.get(f"{path}?limit=3", headers=as_whom("team-a")).json["next_cursor"]
        changes = {name: with_key.get("/v1/changes?limit=1", headers=as_whom(name)).json["next_cursor"] for name in names}
    with dxtest.Server(root, *options) as server, dxtest.Server(root, *options, "--cursor-key-file", key) as with_key:
        reply = server.get(f"{path}?cursor={cursors['team-a']}", headers=as_whom("team-a"))
        equal(slug(reply), (400, "bad-cursor"), "without a key file a server started anew takes no cursor")
        equal(with_key.get(f"{path}?cursor={own}", headers=as_whom("team-a")).json["items"], items[3:6], "with one it does")
        equal(slug(with_key.get(f"{path}?cursor={own}")), (400, "bad-cursor"), "but not of another one")
        for name in names:
            for other, cursor in changes.items():
                status = with_key.get(f"/v1/changes?cursor={cursor}", headers=as_whom(name)).status
                equal(status, 200 if name == other else 400, f"changes: {name} with the cursor of {other}")
    with dxtest.Server(root, "--cursor-key-file", key) as open_to_all:
        equal(slug(open_to_all.get(f"{path}?cursor={own}")), (400, "bad-cursor"), "nor where the table is gone")


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        root, versions = tmp / "root", []
        for seed in (1, 2, 3):
            ingest(tmp, root, seed)
            versions.append(publish(root))
        key = tmp / "cursor.key"
        key.write_bytes(os.urandom(48))
        key.chmod(0o600)
        with dxtest.Server(root, "--poll-ms", 0) as plain:
            pairs = pairs_of(plain, versions[0], roots.names_of(root / "index" / versions[0]))
            full = {version: by_offset(plain, version, pairs) for version in versions}
            shared = ("--cursor-key-file", key, "--poll-ms", 50)
            with dxtest.Server(root, *shared) as one, dxtest.Server(root, *shared) as two:
                whole_listings((one, two), root, versions, full)
                pair = max(pairs, key=lambda p: len(full[versions[0]][p]))
                cursor, version = first_cursor(one, pair)
                equal(two.get(f"{path_of(pair)}?cursor={cursor}&limit=1").json["items"],
                      full[version][pair][1:2], "the other server goes on")
                refusals(two, plain, pair, cursor, version)
                print(f"{every_bit(one, pair, cursor)} cursors with one bit changed")
        print(f"{suppressed(tmp, root, pair)} URLs suppressed under a walk")
        of_principals(tmp, root, pair, full, key)
        too_late(root, pair)
        without_cursors(root, pair, cursor)
        newer_and_gone(tmp, root, pair, key)
        world_readable(tmp, root)
    dxtest.finish()


if __name__ == "__main__":
    main()
