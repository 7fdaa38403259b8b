#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: peers
"""Tags: /v1/tags and /v1/tags/{tag} against a recount of the source, and the source against DuckDB's reading of the lake.

Two file stores and a list, three datasets, tags of every kind: with slashes, quotes, spaces, other scripts, percent signs, the same one twice in a row, in
one row alone, in all. Every tag, its domains and its rows are asked for, with and without dataset=, by pages of several sizes followed by
cursor; tags by prefix. Then the same of what a principal may see, of what rules leave, after a merging publish, of the version before it, and
after a dataset was removed.

DX_TAGS_PAGES=n: pages of the first store (CI: 700).

In detail: `/v1/tags`, `/v1/tags/{tag}` and `lookup --tag`: every tag, its domains and its rows against a
recount of two file stores and lists, walked by cursors of several sizes, with `dataset=` and `prefix=`; what
each of three principals sees; while rules of each kind hold; after a merging publish, of the version before
it, after a dataset was removed; DuckDB's reading of the lake. `DX_TAGS_PAGES` pages (700).
"""
import collections
import gzip
import hashlib
import json
import os
import random
import time
import urllib.parse

import dxtest
from dxtest import check, equal

try:
    import duckdb
except ImportError:
    dxtest.skip("no module duckdb (tests/e2e/requirements.txt)")

PAGES = int(os.environ.get("DX_TAGS_PAGES", "700" if dxtest.WHOLE else "300"))
HEADER = "X-Principal"
SUFFIXES = ("com", "org", "co.uk", "de")
# Of which a row has some; the last ones few rows, or one.
TAGS = ["news", "sport", "a/b", "a b", "a%2Fb", "?q=1&x", "#", "с тегом", "日本", "é", "e\u0301", "c\"d", "e\\f", "Ünï", "..", ".", "'", "a,b",
        "x" * 200, "😀", "news ", "newsletter", "NEWS", "~", "\u2028line"]

Row = collections.namedtuple("Row", "dataset domain host url ts title tags")


# ---- rows ----

def make_rows(rng, dataset, count, of=TAGS):
    rows, seen = [], set()
    for i in range(count):
        domain = f"site{rng.randrange(90)}.{rng.choice(SUFFIXES)}"
        host = rng.choice(("", "www.", "a.b.")) + domain
        url = f"{rng.choice(('http', 'https'))}://{host}/{rng.choice('xyz')}/{i}"
        tags = set(rng.sample(of, rng.randrange(3))) | ({"all"} if rng.random() < 0.5 else set())
        if i % 10 == 0:
            tags |= {"tenth"}
        if i == 7:
            tags |= {f"only of {dataset}"}
        if url not in seen:
            seen.add(url)
            rows.append(Row(dataset, domain, host, url, 1700000000 + i if i % 3 else None, f"Title {i}", frozenset(tags)))
    return rows


def write_store(store, rows):
    sep, by_tag = ",!,", collections.defaultdict(list)
    store.mkdir()
    with open(store / "index", "w", encoding="utf-8", newline="\n") as out:
        for row in rows:
            digest = hashlib.sha256(row.url.encode()).hexdigest()
            out.write(sep.join((row.url, digest, "text/html", row.title)) + "\n")
            path = store / "store" / digest[:2] / digest[2:4] / digest
            path.parent.mkdir(parents=True, exist_ok=True)
            head = f"KEY:{row.url}\nHASH:{digest}\nDOMAIN:{row.host}\nPATH:/x\nFILE:x\nCONTENTTYPE:text/html\nTITLE:{row.title}\n\n"
            path.write_bytes(gzip.compress(head.encode() + b"{}", 1))
            for tag in row.tags:
                by_tag[tag].append(row.url)
    text = "".join(f"{tag}!#!{json.dumps(keys)}\n" for tag, keys in by_tag.items())
    (store / "tags").write_bytes(gzip.compress(text.encode()))


def write_list(path, rows, rng):
    """Tags as a column of a list; some rows have one twice, some have none in other words."""
    with open(path, "w", encoding="utf-8", newline="\n") as out:
        for row in rows:
            tags = [t for t in sorted(row.tags) for _ in range(rng.randint(1, 2))]
            record = {"dataset": row.dataset, "url": row.url, "title": row.title, "tags": json.dumps(tags, ensure_ascii=rng.random() < 0.5)}
            if row.ts:
                record["ts"] = row.ts
            if not tags and rng.random() < 0.5:
                del record["tags"]
            out.write(json.dumps(record) + "\n")


class Root:
    def __init__(self, path):
        self.path, self.rows = path, []

    def command(self, *words):
        return dxtest.domaindex(words[0], "--root", self.path, *words[1:])

    def store(self, folder, rows):
        write_store(folder, rows)
        self.command("ingest", "--dataset", rows[0].dataset, "--from", "file-store", folder)
        self.rows += [row._replace(ts=None) for row in rows]

    def list(self, path, rows, rng):
        write_list(path, rows, rng)
        self.command("ingest", "--format", "jsonl", "--dataset-column", "dataset", "--url-column", "url", "--ts-column", "ts",
                     "--extra-column", "title", "--extra-column", "tags", path)
        self.rows += rows

    def publish(self, *words):
        return self.command("publish", "--quiet", *words).stdout.decode().split()[-1]


def lake(root):
    """(dataset, url, tag) to rows, as DuckDB reads the lake."""
    found = collections.Counter()
    query = ("select filename, scheme || '://' || host || path_query, tags from "
             f"read_parquet('{root}/urls/*/*/*.parquet', filename=true, hive_partitioning=false, union_by_name=true) where tags is not null")
    for name, url, tags in duckdb.sql(query).fetchall():
        dataset = int(name.split("dataset_id=")[1].split("/")[0])
        for tag in set(json.loads(tags)):
            found[dataset, url, tag] += 1
    return found


# ---- what is expected ----

class Want:
    """By tag: rows and domains, of those rows that may be seen."""

    def __init__(self, rows, ids, shows=lambda row: True):
        self.rows = collections.defaultdict(list)
        for row in rows:
            if shows(row):
                for tag in row.tags:
                    self.rows[tag].append((ids[row.dataset], row))

    def of(self, tag, dataset=None):
        return [(d, row) for d, row in self.rows.get(tag, ()) if dataset in (None, d)]

    def tags(self, dataset=None, prefix=""):
        found = {}
        for tag in self.rows:
            rows = self.of(tag, dataset)
            if rows and tag.encode().startswith(prefix.encode()):
                found[tag] = summary(rows)
        return dict(sorted(found.items(), key=lambda item: item[0].encode()))

    def domains(self, tag, dataset=None):
        found = collections.defaultdict(collections.Counter)
        for d, row in self.of(tag, dataset):
            found[row.domain][d] += 1
        return {domain: dict(sorted(by.items())) for domain, by in found.items()}


def summary(rows):
    by = collections.defaultdict(list)
    for d, row in rows:
        by[d].append(row)
    return (len(rows), len({row.domain for _, row in rows}),
            {d: (len(part), len({row.domain for row in part})) for d, part in sorted(by.items())})


# ---- asking ----

class Asker:
    def __init__(self, server, who=None, version=None):
        self.server, self.who, self.version = server, who, version

    def get(self, path, **parameters):
        if self.version:
            parameters["version"] = self.version
        target = path + ("?" + urllib.parse.urlencode(parameters, quote_via=urllib.parse.quote) if parameters else "")
        end = time.monotonic() + 60
        while True:     # what rules hide may have to be found out first
            reply = self.server.get(target, headers={HEADER: self.who} if self.who else {})
            if reply.status != 503 or time.monotonic() > end:
                return reply
            time.sleep(0.05)

    def pages(self, path, member, limit, **parameters):
        """All items, by cursor; the first page's answer."""
        items, first, cursor = [], None, {}
        for n in range(100000):
            reply = self.get(path, limit=limit, **(parameters if not cursor or n % 2 else {}), **cursor)
            if not check(reply.status == 200, f"{path} {parameters} {cursor}: {reply.status} {reply.body[:200]}"):
                return items, first or {}
            answer = reply.json
            first = first or answer
            check(len(answer[member]) == limit or not answer["next_cursor"], f"{path} {parameters}: a page of {len(answer[member])}")
            items += answer[member]
            if not answer["next_cursor"]:
                return items, first
            cursor = {"cursor": answer["next_cursor"]}
        return items, first


def quoted(tag):
    return "/v1/tags/" + urllib.parse.quote(tag, safe="")


def compare_tags(ask, want, words, limit, **parameters):
    items, _ = ask.pages("/v1/tags", "tags", limit, **parameters)
    got = {i["tag"]: (i["row_count"], i["domain_count"], {d["dataset_id"]: (d["row_count"], d["domain_count"]) for d in i["datasets"]})
           for i in items}
    equal([i["tag"] for i in items], list(want), f"{words}: tags {parameters}")
    wrong = [(t, got.get(t), want[t]) for t in want if got.get(t) != want[t]]
    equal(wrong[:2], [], f"{words}: counts of tags {parameters}")


def compare_tag(ask, want, tag, words, limit, dataset=None):
    parameters = {} if dataset is None else {"dataset": dataset}
    rows = want.of(tag, dataset)
    if not rows:
        reply = ask.get(quoted(tag), **parameters)
        equal((reply.status, reply.json["type"].rsplit(":", 1)[1]), (404, "tag-not-found"), f"{words}: {tag!r} {parameters}")
        return
    items, first = ask.pages(quoted(tag), "items", limit, **parameters)
    got = {i["domain"]: {d["dataset_id"]: d["row_count"] for d in i["datasets"]} for i in items}
    equal(got, want.domains(tag, dataset), f"{words}: domains of {tag!r} {parameters}")
    keys = [i["domain"].split(".")[::-1] for i in items]
    equal(keys, sorted(keys), f"{words}: order of domains of {tag!r}")
    check(all(i["row_count"] == sum(d["row_count"] for d in i["datasets"]) for i in items), f"{words}: sums of {tag!r}")
    count, domains, _ = summary(rows)
    equal((first.get("tag"), first.get("row_count"), first.get("domain_count")), (tag, count, domains), f"{words}: counts of {tag!r} {parameters}")
    items, first = ask.pages(quoted(tag), "items", limit, of="urls", **parameters)
    got = sorted((i["dataset_id"], i["url"], i["domain"], i["title"], frozenset(i["tags"])) for i in items)
    equal(got, sorted((d, r.url, r.domain, r.title, r.tags) for d, r in rows), f"{words}: rows of {tag!r} {parameters}")
    equal([i["dataset_id"] for i in items], sorted(i["dataset_id"] for i in items), f"{words}: order of rows of {tag!r}")
    equal((first.get("row_count"), first.get("domain_count")), (count, domains), f"{words}: counts with of=urls of {tag!r}")


def compare(ask, want, ids, words, rng, tags, whole):
    """whole: every tag, else some."""
    compare_tags(ask, want.tags(), words, 7)
    compare_tags(ask, want.tags(), words, 1000)
    for prefix in ("news", "a", "é", "N", "zz", "x" * 199) if whole else ("a",):
        compare_tags(ask, want.tags(prefix=prefix), words, 2, prefix=prefix)
    for d in ids.values():
        compare_tags(ask, want.tags(d), words, 5, dataset=d)
    some = min(ids.values())
    compare_tags(ask, want.tags(some, "a"), words, 1, dataset=some, prefix="a")
    for tag in tags if whole else ["all", "tenth", *rng.sample(tags, 5)]:
        compare_tag(ask, want, tag, words, rng.choice((100, 1000, 37)))
        compare_tag(ask, want, tag, words, 50, dataset=rng.choice(list(ids.values())))


# ---- what is refused ----

def refusals(ask, ids):
    def slug(path, **parameters):
        reply = ask.get(path, **parameters)
        return reply.status, reply.json.get("type", "").rsplit(":", 1)[-1]

    cursor = ask.get("/v1/tags", limit=1).json["next_cursor"]
    of_tag = ask.get(quoted("all"), limit=1).json["next_cursor"]
    of_prefix = ask.get("/v1/tags", limit=1, prefix="news").json["next_cursor"]
    of_rows = ask.get(quoted("all"), limit=1, of="urls", dataset=1).json["next_cursor"]
    listing = "/v1/tags"
    for want, path, parameters in (
            ((400, "bad-parameter"), quoted("all"), {"of": "rows"}),
            ((400, "bad-parameter"), quoted("all"), {"fields": "url"}),
            ((400, "bad-parameter"), quoted("all"), {"fields": "nobody", "of": "urls"}),
            ((400, "limit-too-large"), listing, {"limit": 1001}),
            ((404, "dataset-not-found"), listing, {"dataset": "x"}),
            ((400, "bad-dataset-id"), listing, {"dataset": "99999999999"}),
            ((404, "dataset-not-found"), listing, {"dataset": 99}),
            ((404, "dataset-not-found"), quoted("all"), {"dataset": 99}),
            ((404, "tag-not-found"), quoted("al"), {}),
            ((404, "tag-not-found"), quoted("x" * 4000), {}),
            ((200, ""), "/v1/tags/", {}),  # as without the slash
            ((404, "tag-not-found"), "/v1/tags/%00", {}),
            ((404, "tag-not-found"), "/v1/tags/%ff%fe", {}),
            ((400, "bad-percent-encoding"), "/v1/tags/%zz", {}),
            ((400, "bad-cursor"), listing, {"cursor": "AAAA"}),
            ((400, "cursor-mismatch"), listing, {"cursor": of_tag}),
            ((400, "cursor-mismatch"), quoted("all"), {"cursor": cursor}),
            ((400, "cursor-mismatch"), quoted("tenth"), {"cursor": of_tag}),
            ((400, "cursor-mismatch"), quoted("all"), {"cursor": of_tag, "of": "urls"}),
            ((400, "cursor-mismatch"), quoted("all"), {"cursor": of_tag, "dataset": 1}),
            ((400, "cursor-mismatch"), quoted("all"), {"cursor": of_rows, "dataset": 2}),
            ((400, "cursor-mismatch"), listing, {"cursor": cursor, "prefix": "a"}),
            ((400, "cursor-mismatch"), listing, {"cursor": of_prefix, "prefix": "new"}),    # the same tags, but not all need be seen
            ((400, "cursor-mismatch"), listing, {"cursor": of_prefix, "prefix": "news "}),
            ((200, ""), listing, {"cursor": of_prefix, "prefix": "news"}),
            ((200, ""), quoted("all"), {"cursor": of_rows, "dataset": 1, "of": "urls"}),
            ((200, ""), "/v1/tags", {"prefix": "\u00ff"}),
            ((200, ""), "/tags", {})):
        equal(slug(path, **parameters), want, f"{path} {parameters}")
    first = ask.get(quoted("all"), of="urls", fields="ts,extras", limit=3).json["items"]
    equal(set(first[0]), {"domain", "dataset_id", "dataset", "ts", "extras"}, "members of fields=ts,extras")
    page = ask.get(quoted("all"), of="urls", fields="url", limit=1).json
    after = ask.get(quoted("all"), cursor=page["next_cursor"]).json["items"][0]
    equal(set(after), {"domain", "dataset_id", "dataset", "url"}, "members of a page that a cursor asked for")
    check(ids, "datasets")


# ---- rules ----

def suppressed(root, rules):
    for words in rules:
        root.command("suppress", "add", *words, "--reason", "test")


def rule_hits(words, row):
    name, value = row.host, words[1]
    if words[0] == "--domain":
        return name == value or name.endswith("." + value)
    if words[0] == "--host":
        return name == value
    if words[0] == "--prefix":
        return row.url.split("://", 1)[1].startswith(value.split("://", 1)[1])
    return row.url == value


def some_rules(rows, rng):
    """Whole domains, hosts, prefixes, URLs; all rows of one tag, one by one."""
    only = [r for r in rows if any(t.startswith("only of") for t in r.tags)][0]
    few = rng.sample(rows, 12)
    return ([("--domain", r.domain) for r in few[:3]] + [("--host", r.host, "--policy", "absent") for r in few[3:6]] +
            [("--prefix", r.url.rsplit("/", 1)[0] + "/") for r in few[6:9]] + [("--url", r.url) for r in few[9:]] +
            [("--url", only.url, "--policy", "absent")])


def settle(ask, want):
    """Until the server has taken the rules, which come one after the other."""
    tags, end = want.tags(), time.monotonic() + 60
    while time.monotonic() < end:
        reply = ask.get("/v1/tags", limit=1000)
        if reply.status == 200 and {t["tag"]: t["row_count"] for t in reply.json["tags"]} == {t: c[0] for t, c in tags.items()}:
            return
        time.sleep(0.1)
    check(False, "the rules were not taken within a minute")


def main():
    dxtest.need_programs()
    rng = random.Random(8)
    with dxtest.tempdir() as tmp:
        root = Root(tmp / "root")
        root.store(tmp / "one", make_rows(rng, "one", PAGES))
        root.list(tmp / "two.jsonl", make_rows(rng, "two", PAGES // 2) + make_rows(rng, "three", PAGES // 5, TAGS[:6]), rng)
        before = root.publish()
        rows_before = list(root.rows)
        root.list(tmp / "more.jsonl", [r._replace(url=r.url + "/more") for r in make_rows(rng, "two", PAGES // 4, [*TAGS, "later"])] +
                  make_rows(rng, "four", PAGES // 10), rng)
        root.publish()
        ids = {d["name"]: d["dataset_id"] for d in json.loads((root.path / "registry.json").read_text())["datasets"]}
        tags = sorted({t for row in root.rows for t in row.tags})
        equal(lake(root.path), collections.Counter((ids[r.dataset], r.url, t) for r in root.rows for t in r.tags), "tags of the lake, by DuckDB")

        want = Want(root.rows, ids)
        with dxtest.Server(root.path) as server:
            ask = Asker(server)
            compare(ask, want, ids, "all", rng, tags, True)
            refusals(ask, ids)
            compare(Asker(server, version=before), Want(rows_before, ids), {n: ids[n] for n in ("one", "two", "three")}, "the version before", rng, tags, False)
        check_offline(root, want, ids)
        check_scopes_and_rules(root, ids, tags, rng)
        check_removal(root, ids, tags, rng)
        check_many_rules(tmp)
        check_long_member(tmp)
    dxtest.finish()


def check_scopes_and_rules(root, ids, tags, rng):
    for words in (("init",), ("grant", "two", "four", "--to", "*"), ("grant", "one", "--to", "team"), ("principal", "add", "auditor", "--all")):
        root.command("access", *words)
    sees = {None: {"two", "four"}, "team": {"one", "two", "four"}, "auditor": set(ids)}
    arguments = ("--principal-header", HEADER, "--trusted-proxy", "127.0.0.0/8")
    with dxtest.Server(root.path, *arguments) as server:
        for who, datasets in sees.items():
            seen = {n: ids[n] for n in datasets}
            compare(Asker(server, who), Want(root.rows, ids, lambda r: r.dataset in datasets), seen, f"{who}", rng, tags, False)
            for name in set(ids) - datasets:
                compare_tag(Asker(server, who), Want([], ids), f"only of {name}", f"{who}", 100)
                equal(Asker(server, who).get("/v1/tags", dataset=ids[name]).status, 404, f"{who}: dataset {name}")
        theirs = Asker(server, "team").get("/v1/tags", limit=1).json["next_cursor"]
        reply = Asker(server, "auditor").get("/v1/tags", cursor=theirs)
        equal((reply.status, reply.json["type"].rsplit(":", 1)[-1]), (400, "bad-cursor"), "a cursor of somebody else")
        rules = some_rules(root.rows, rng)
        suppressed(root, rules)
        for who, datasets in sees.items():
            want = Want(root.rows, ids, lambda r: r.dataset in datasets and not any(rule_hits(w, r) for w in rules))
            ask = Asker(server, who)
            settle(ask, want)
            compare(ask, want, {n: ids[n] for n in datasets}, f"{who}, with rules", rng, tags, False)
        equal(Asker(server, "auditor").get(quoted("only of one")).status, 404, "a tag of hidden rows alone")
    root.command("access", "remove", "--yes")
    root.command("suppress", "lift", *[str(n + 1) for n in range(len(rules))])


def check_offline(root, want, ids):
    """`lookup --tag`: a line a page; with those that are not there."""
    def lines(*words, expect=0):
        return [json.loads(line) for line in dxtest.domaindex("lookup", "--root", root.path, "--tag", *words, expect=expect).stdout.splitlines()]

    some = min(ids.values())
    for tag in ("all", "a/b", "e\u0301", "only of one"):
        pages = lines("--limit", 100, tag)
        got = {i["domain"]: {d["dataset_id"]: d["row_count"] for d in i["datasets"]} for page in pages for i in page["items"]}
        equal(got, want.domains(tag), f"lookup --tag {tag}")
        check(all(len(page["items"]) == 100 for page in pages[:-1]) and "next_cursor" not in pages[0], f"lookup --tag {tag}: pages")
        pages = lines("--of", "urls", "--dataset", some, "--limit", 37, tag) if want.of(tag, some) else []
        equal(sorted(i["url"] for page in pages for i in page["items"]), sorted(r.url for _, r in want.of(tag, some)), f"rows of lookup --tag {tag}")
    answers = lines("nobody's", "tenth", expect=1)
    equal(("problem" in answers[0] and answers[0]["problem"], answers[1]["tag"]), ("tag-not-found", "tenth"), "a tag that is not there")
    lines("--url", "x", expect=2)
    lines("--of", "rows", "x", expect=2)
    lines("--limit", 1001, "x", expect=2)


def check_many_rules(tmp):
    """Rules that concern many domains of a tag, and many tags of which nothing is left, each by a round of its own if rounds were small."""
    root = Root(tmp / "many")
    rows = [Row("d", f"s{i:05}.com", f"s{i:05}.com", f"https://s{i:05}.com/", 1, "t", frozenset(["wide", f"hidden {i % 300:03}"])) for i in range(9000)]
    rows += [Row("d", f"{n}.org", f"{n}.org", f"https://{n}.org/", 1, "t", frozenset(["wide", "zz"])) for n in "abc"]
    root.list(tmp / "many.jsonl", rows, random.Random(1))
    root.publish()
    (tmp / "rules").write_text("".join(f"domain {r.domain}\n" for r in rows if r.domain.endswith(".com")))
    root.command("suppress", "add", "--file", tmp / "rules")
    want = Want(rows, {"d": 1}, lambda r: r.domain.endswith(".org"))
    with dxtest.Server(root.path) as server:
        ask = Asker(server)
        for limit in (1, 2, 1000):
            compare_tags(ask, want.tags(), "many rules", limit)
        compare_tag(ask, want, "wide", "many rules", 2)
        compare_tag(ask, want, "hidden 007", "many rules", 2)


def check_long_member(tmp):
    """A lake of others may have a string in `tags` that is longer than a row of ours: the row's other tags are found all the same."""
    root = Root(tmp / "long")
    root.list(tmp / "long.jsonl", [Row("d", "a.com", "a.com", f"https://a.com/{i}", 1, "t", frozenset(["short"])) for i in range(3)], random.Random(1))
    file, = (root.path / "urls").rglob("*.parquet")
    duckdb.sql(f"""copy (select * replace ('["short", "' || repeat('y', 70000) || '"]' as tags)
                   from read_parquet('{file}', hive_partitioning=false) order by host, path_query) to '{tmp}/long.parquet' (format parquet)""")
    os.replace(tmp / "long.parquet", file)
    root.publish()
    with dxtest.Server(root.path) as server:
        ask = Asker(server)
        equal([t["tag"] for t in ask.get("/v1/tags").json["tags"]], ["short"], "a long member is no tag")
        equal(len(ask.get(quoted("short"), of="urls").json["items"]), 3, "rows with a long member, by the index")
        equal(len(ask.get("/v1/domain/a.com/datasets/1/urls", tag="short").json["items"]), 3, "rows with a long member, by tag=")


def check_removal(root, ids, tags, rng):
    root.command("remove", "--dataset", "two")
    root.publish()
    rows = [r for r in root.rows if r.dataset != "two"]
    with dxtest.Server(root.path) as server:
        compare(Asker(server), Want(rows, ids), {n: ids[n] for n in ids if n != "two"}, "a dataset is gone", rng, tags, False)
        equal(Asker(server).get("/v1/tags", dataset=ids["two"]).status, 404, "the dataset that is gone")


if __name__ == "__main__":
    main()
