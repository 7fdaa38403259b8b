#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: slow
"""Suppressions that come and are lifted between the pages of a listing, in every order, scope and plan: a row that is visible all the
time is there exactly once, none is there twice, none that is hidden is shown, and a listing that rules leave rows of can be read to its
end. Answers are those of libdomaindex, which takes rules at a call: thousands of pages in the time in which a server looks for rules once.

DX_RULE_WALKS (8; 60 with DX_WHOLE=1): random listings.
"""
import collections
import json
import os
import random
import sys

import dxtest
from dxtest import check, equal

os.environ["DOMAINDEX_LIBRARY"] = os.environ.get("DX_LIBRARY", str(dxtest.BIN / "libdomaindex.so"))
sys.path.insert(0, str(dxtest.SOURCE / "python" / "src"))
from domaindex import _native  # noqa: E402  (after the path to it)

WALKS = int(os.environ.get("DX_RULE_WALKS") or (60 if dxtest.WHOLE else 8))
SEED = int(os.environ.get("DX_RULE_SEED", "1"))
HOSTS = ["a.site.com", "b.site.com", "c.site.com", "site.com"]
HOSTS_OF = {1: [0, 1, 3], 2: [0, 1, 3], 3: [2], 4: [0, 1, 2, 3], 5: [0]}  # of each dataset: some have one alone
TIMES = ["", "2023-05-05T05:05:05Z", "2024-01-01T00:00:00Z", "2024-02-02T00:00:00Z"]

Row = collections.namedtuple("Row", "dataset url ts")


def host_of(row):
    return row.url.split("/")[2]


def path_of(row):
    return "/" + row.url.split("/", 3)[3]


def ingest(root, dataset, rows):
    """rows: in order of their URLs, or a set."""
    text = "url\tts\n" + "".join(f"{row.url}\t{row.ts}\n" for row in (sorted(rows) if isinstance(rows, set) else rows))
    dxtest.domaindex("ingest", "--root", root, "--dataset", f"set{dataset}", "--format", "tsv", "--url-column", "url",
                     "--ts-column", "ts", *dxtest.short_psl(root.parent, "com", "net"), "-", input=text.encode())


def make_root(root, rng):
    """Five datasets; the first one has a second file, whose row stands behind those of the first."""
    rows = {d: {Row(d, f"https://{HOSTS[h]}/p{rng.randint(0, 12):02}/{rng.choice('ab')}", rng.choice(TIMES))
                for h in hosts for _ in range(rng.randint(4, 9))} for d, hosts in HOSTS_OF.items()}
    for dataset in rows:
        ingest(root, dataset, rows[dataset])
    dxtest.domaindex("publish", "--root", root, "--quiet")
    late = Row(1, "https://a.site.com/p05/z", "2024-01-09T00:00:00Z")
    ingest(root, 1, {late})
    dxtest.domaindex("publish", "--root", root, "--quiet")
    return set().union(*rows.values()) | {late}


class Rules:
    def __init__(self, root, index):
        self.root, self.index, self.active, self.lines = root, index, {}, 0

    def run(self, *words):
        dxtest.domaindex("suppress", *words, "--root", self.root, "--quiet")
        self.lines += 1
        self.index.refresh()

    def add(self, kind, value, policy="withheld"):
        if (kind, value) not in self.active.values():
            self.run("add", f"--{kind}", value, "--policy", policy)
            self.active[self.lines] = (kind, value)

    def lift(self, number):
        del self.active[number]
        self.run("lift", number)

    def lift_all(self):
        for number in list(self.active):
            self.lift(number)

    def hides(self, row):
        plain = row.url.split("://")[1]
        return any({"host": host_of(row) == value, "prefix": plain.startswith(value.split("://")[-1]), "url": row.url == value}[kind]
                   for kind, value in self.active.values())


class Walk:
    """One listing: targets that are followed, each to its end."""

    def __init__(self, rules, path, query, rows):
        self.rules, self.path, self.rows = rules, path, rows
        self.always = {row for row in rows if not rules.hides(row)}
        self.got, self.open, self.said = [], [f"{path}?{query}"], [f"{path}?{query}"]
        self.one = int(path.split("/")[5]) if "/datasets/" in path else None
        self.limit = query.split("limit=")[1].split("&")[0] if "limit=" in query else "3"

    def ask(self, target):
        status, _, body = self.rules.index.ask(target, None)
        return status, json.loads(body)

    def plan(self, parts):
        status, answer = self.ask(f"{self.open.pop()}&plan={parts}")
        if status == 200:
            self.open = [self.after(c) for c in answer["cursors"]]
        return status

    def after(self, cursor):
        return f"{self.path}?limit={self.limit}&cursor={cursor}"

    def changed(self):
        self.always -= {row for row in self.rows if self.rules.hides(row)}

    def page(self, at=0):
        """The next page of one of the targets; False: an error."""
        status, answer = self.ask(self.open[at])
        visible = {row for row in self.rows if not self.rules.hides(row)}
        self.said.append((status, sorted(self.rules.active.values())))
        if status in (404, 451) and not visible:
            return False
        if not equal(status, 200, f"{self.said}: {answer}"):
            return False
        page = [Row(i.get("dataset_id", self.one), i["url"], (i["ts"] or "").replace(".000000Z", "Z")) for i in answer["items"]]
        self.said[-1] += (page,)
        check(set(page) <= visible, f"{self.said}: hidden rows, or of another listing")
        self.got += page
        if answer["next_cursor"]:
            self.open[at] = self.after(answer["next_cursor"])
        else:
            self.open.pop(at)
        return True

    def check_whole(self, collapsed):
        equal([row for row, n in collections.Counter(self.got).items() if n > 1], [], f"{self.said}: rows that are there twice")
        if not collapsed:
            equal(sorted(self.always - set(self.got)), [], f"{self.said}: rows that are missing")


# ---- what went wrong once ----


def border_of_parts(rules, rows):
    """A rule that hides the row at which a part ends moved that end behind what it hid: once lifted, two parts had these rows."""
    for query in ("limit=1", "limit=1&filter=~url:site"):
        walk = Walk(rules, "/v1/domain/site.com/urls", query, rows)
        walk.plan(2)
        ordered = Walk(rules, "/v1/domain/site.com/urls", "limit=1000", rows)
        ordered.page()
        second = ordered.got[(len(rows) + 1) // 2]
        rules.add("url", second.url)
        walk.changed()
        walk.page(0)
        rules.lift_all()
        while walk.open and walk.page(0):
            pass
        walk.check_whole(False)


def last_dataset(rules, rows):
    """While the last dataset was hidden as a whole, a page let the listing end before it."""
    mine = {row for row in rows if row.dataset in (1, 3)}
    walk = Walk(rules, "/v1/domain/site.com/urls", "dataset=id:1,id:3&limit=2", mine)
    walk.page()
    rules.add("host", "c.site.com")
    walk.page()
    rules.lift_all()
    while walk.open and walk.page():
        pass
    walk.check_whole(False)
    equal(set(walk.got), mine, "the rows of a dataset that was hidden while others were listed")


def gone_behind(rules, rows):
    """An order goes on behind a row of a dataset that is hidden as a whole meanwhile; it was an error for good."""
    for path, order in ((p, o) for p in ("/v1/domain/site.com/urls", "/v1/suffix/com/urls") for o in ("sort=url", "sort=time", "reverse=yes", "closest=2024", "collapse=time:4")):
        walk = Walk(rules, path, f"{order}&limit=1", rows)
        while walk.open and walk.page() and walk.got[-1].dataset != 5:
            pass
        equal(walk.got[-1].dataset, 5, f"{order}: a row of the dataset of one host")
        rules.add("host", "a.site.com", "absent")
        walk.changed()
        while walk.open and walk.page():
            pass
        walk.check_whole("collapse" in order)
        status, answer = walk.ask(f"/v1/domain/site.com/urls?{order}&limit=1")
        equal((status, answer.get("dataset_count", 4)), (200, 4), "datasets that have a visible row")
        rules.lift_all()


def hidden_stretches(root):
    """Pages by URL that a filter ends early, where most of what they looked at is hidden: 65,536 rows that are shown, and more, lie between."""
    rows = [Row(1, f"https://far.net/{n:06}", TIMES[1]) for n in range(200000)]
    ingest(root, 1, rows)
    dxtest.domaindex("publish", "--root", root, "--quiet")
    index = _native.Root(str(root), None, None, False)
    rules = Rules(root, index)
    for n in ("00", "013", "05", "06", "1999"):
        rules.add("prefix", f"https://far.net/{n}")
    mine = {row for row in rows if row.url.endswith("9999")}
    for order in ("sort=url", "reverse=yes", "sort=time"):
        walk, pages = Walk(rules, "/v1/domain/far.net/urls", f"{order}&filter=~url:9999$&limit=100", mine), 0
        while walk.open and walk.page():
            pages += 1
        walk.check_whole(False)
        check(pages > 1 or order == "sort=time", f"{order}: {pages} pages")
    index.close()


# ---- captures ----


def capture_pages(index, key=None):
    """A page of one capture: its row, and the key behind it."""
    query = "url=*.site.com&fl=original,dataset&limit=1&showResumeKey=true" + (f"&resumeKey={key}" if key else "")
    status, _, body = index.ask(f"/cdx?{query}", None)
    lines = body.decode().split("\n")
    if equal(status, 200, f"/cdx?{query}: {body}") and lines[0]:
        return tuple(lines[0].split(" ")), lines[2] if lines[1:2] == [""] and len(lines) > 2 else None
    return None, None


def captures(root, rng):
    """A resumeKey counted rows of its urlkey and timestamp, of which rules hide some and not others."""
    urls = [f"{scheme}://{www}site.com/{path}" for scheme in ("http", "https") for www in ("", "www.") for path in "ab"]
    for dataset in (1, 2):
        ingest(root, dataset, {Row(dataset, url, TIMES[1]) for url in urls})
    dxtest.domaindex("publish", "--root", root, "--quiet")
    index = _native.Root(str(root), None, None, False)
    rules = Rules(root, index)
    whole = {(url, f"set{dataset}") for url in urls for dataset in (1, 2)}
    for walk in range(max(WALKS // 4, 4)):
        always, got, key, said = set(whole), [], None, []
        while True:
            hidden = {value for _, value in rules.active.values()}
            always -= {row for row in whole if row[0] in hidden}
            row, key = capture_pages(index, key)
            said.append((sorted(hidden), row))
            if row is not None:
                check(row[0] not in hidden, f"{said}: a hidden capture")
                got.append(row)
            if key is None:
                break
            if rules.active and rng.random() < 0.4:
                rules.lift(rng.choice(list(rules.active)))
            elif len(rules.active) < 3 and rng.random() < 0.4:
                rules.add("url", rng.choice(urls))
        equal([row for row, n in collections.Counter(got).items() if n > 1], [], f"{walk}: {said}: captures that are there twice")
        equal(sorted(always - set(got)), [], f"{walk}: {said}: captures that are missing")
    index.close()


# ---- all of it, at random ----


def change(rng, rules, rows):
    if rules.active and rng.random() < 0.5:
        rules.lift(rng.choice(list(rules.active)))
    elif len(rules.active) < 4:
        kind = rng.choice(["host", "prefix", "url"])
        value = {"host": rng.choice(HOSTS), "prefix": f"https://{rng.choice(HOSTS)}/p{rng.choice(['0', '1', '05'])}",
                 "url": rng.choice(sorted(rows)).url}[kind]
        rules.add(kind, value, rng.choice(["withheld", "absent"]))


def choose(rng, rows):
    """A path, a query, its rows, whether it may have a plan, whether it leaves rows out by itself."""
    path, more, mine = rng.choice([
        ("/v1/domain/site.com/urls", "", rows), ("/v1/domain/site.com/urls", "", rows),
        ("/v1/host/a.site.com/urls", "", {r for r in rows if host_of(r) == "a.site.com"}),
        ("/v1/host/c.site.com/urls", "", {r for r in rows if host_of(r) == "c.site.com"}),
        ("/v1/host/site.com/urls", "subdomains=yes", rows),
        ("/v1/suffix/com/urls", "", rows), ("/v1/suffix/site.com/urls", "", rows),
        ("/v1/host/a.site.com/urls", "prefix=/p0", {r for r in rows if host_of(r) == "a.site.com" and path_of(r).startswith("/p0")}),
        *((f"/v1/domain/site.com/datasets/{d}/urls", "", {r for r in rows if r.dataset == d}) for d in (1, 3))])
    one = "/datasets/" in path
    order = "" if one else rng.choice(["", "", "sort=url", "sort=time", "reverse=yes", "closest=2024", "sort=time&reverse=yes"])
    collapse = "" if one else rng.choice(["", "", "", "collapse=url"])
    query = [word for word in (more, order, collapse) if word]
    if rng.random() < 0.2:
        query.append("filter=~url:p0")
        mine = {row for row in mine if "p0" in row.url}
    if not one and "/suffix/" not in path and rng.random() < 0.2:
        some = sorted(rng.sample(sorted(HOSTS_OF), 2))
        query.append("dataset=" + ",".join(f"id:{d}" for d in some))
        mine = {row for row in mine if row.dataset in some}
    query.append(f"limit={rng.choice([1, 2, 3, 5, 8])}")
    return path, "&".join(query), mine, not order and not collapse and "subdomains" not in more, bool(collapse)


def walk_at_random(rng, rules, rows):
    path, query, mine, may_plan, collapsed = choose(rng, rows)
    walk = Walk(rules, path, query, mine)
    parts = rng.choice([0, 0, 2, 3]) if may_plan else 0
    if parts and walk.plan(parts) != 200:
        return
    while walk.open and walk.page(rng.randrange(len(walk.open))):
        if walk.open and rng.random() < 0.45:
            change(rng, rules, rows)
            walk.changed()
    if not walk.open:
        walk.check_whole(collapsed)
    while len(rules.active) > 2 or (rules.active and rng.random() < 0.3):
        rules.lift(rng.choice(list(rules.active)))


def main():
    rng = random.Random(SEED)
    with dxtest.tempdir() as tmp:
        rows = make_root(tmp / "root", rng)
        index = _native.Root(str(tmp / "root"), None, None, False)
        rules = Rules(tmp / "root", index)
        border_of_parts(rules, rows)
        last_dataset(rules, rows)
        gone_behind(rules, rows)
        for _ in range(WALKS):
            walk_at_random(rng, rules, rows)
        index.close()
        captures(tmp / "captures", rng)
        hidden_stretches(tmp / "stretches")
    dxtest.finish()


main()
