#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: plain
"""Random histories of ingest, replace, remove, suppress, lift, publish, compact, rollback and gc, and of datasets whose
files are not there for a while.

After every step that changes what is served, domains and listings of a server are compared with a naive
model (sets of rows, below), and after a publish these and the other answers also, byte for byte, with a full publish of
a copy of the same lake: what is merged from the version before must be what is made from the whole lake.

Each version is verified against its rows; three of four datasets have tags. One more has counts of hosts in place of URLs.

DX_HISTORIES=200 DX_SEED=1: how many, and from which seed on. By default 2; with DX_WHOLE=1 12 (3 under sanitizers);
200 were run.
"""
import collections
import datetime
import json
import os
import random
import re
import shutil
import sys
import time
import zlib
from urllib.parse import parse_qs, quote, urlsplit

import dxtest

HISTORIES = int(os.environ.get("DX_HISTORIES") or (12 if dxtest.WHOLE and not dxtest.SANITIZED else 3 if dxtest.WHOLE else 2))
SEED = int(os.environ.get("DX_SEED") or 17)
STEPS, LOSSES = (12, 3) if dxtest.WHOLE else (6, 1)    # of a history; how often a dataset loses files
NAMES = ("alpha", "beta", "gamma", "delta")
COUNTED = "counted"     # a dataset of counts: its rows are pages://HOST/PAGES here, which rules of domains and hosts hit and others do not
DOMAINS = [f"site{i}.{tld}" for i, tld in zip(range(24), ("com", "org", "co.uk", "de") * 6)]
URL = re.compile(r"^([a-z]+)://([^/]*)(/.*)$")
HOST = re.compile(r"^(?:www\.|m\.)?(.*)$")


def domain_of(url):
    return HOST.match(URL.match(url)[2])[1]


def iso(seconds):
    when = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=seconds)
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")


def batch(rng):
    rows = set()
    for _ in range(rng.choice((1, 5, 40, 120))):
        domain = DOMAINS[min(int(rng.expovariate(0.15)), len(DOMAINS) - 1)]
        host = rng.choice(("", "www.", "m.")) + domain
        path = f"/{rng.choice('abc')}/{rng.randrange(8)}"
        url = f"{rng.choice(('http', 'https'))}://{host}{path}"
        rows.add((url, rng.choice((None, 1_700_000_000 + rng.randrange(5)))))
    return rows


def counted_batch(rng):
    hosts = {rng.choice(("", "www.", "m.")) + rng.choice(DOMAINS) for _ in range(rng.choice((1, 5, 40)))}
    return {(f"pages://{host}/{rng.choice((1, 7, 300, 2_000_000))}", None) for host in hosts}


def pages_of(url):
    return int(URL.match(url)[3][1:])


def is_counted(rows):
    return any(url.startswith("pages:") for url, _ in rows)


def tags_of(url, ts):
    """Always the same of a row: it is the same row when it comes again."""
    return ("", '["news"]', '["news","a b"]', '["site"]', "no list", '["","rare %d"]' % (ts or 0))[zlib.crc32(f"{url} {ts}".encode()) % 6]


class Rule:
    def __init__(self, kind, value, policy):
        self.kind, self.value, self.policy, self.active = kind, value, policy, True

    def hits(self, url):
        _, host, path = URL.match(url).groups()
        if self.kind == "domain":
            return domain_of(url) == self.value
        if self.kind == "host":
            return host == self.value
        if self.kind == "prefix":
            return (host + path).startswith(self.value)
        return url == self.value


class Model:
    """What is there, in plain sets. A dataset is known by its id; names can be given again."""

    def __init__(self):
        self.names = {}              # id: name, of the registry
        self.next_id = 1
        self.current = {}            # id: set of rows
        self.new = collections.defaultdict(set)
        self.replaced = set()        # ids of which only what is new stays, at the next publish
        self.lacked = {}             # id: rows that the current version lacks, of files that are there again
        self.versions = {}           # version: (rows by id, names by id)
        self.served_names = {}
        self.rules = []

    def id_of(self, name):
        for number, known in self.names.items():
            if known == name:
                return number
        self.names[self.next_id] = name
        self.next_id += 1
        return self.next_id - 1

    def known(self, number):
        """What a new row of the dataset is compared with, beside other new ones."""
        return set() if number in self.replaced else self.current.get(number, set()) | self.lacked.get(number, set())

    def publish(self, lost=None, rows=None):
        """lost: a dataset whose files are not there, or those of some of its rows."""
        ids = set(self.current) | set(self.new) | set(self.lacked)
        lacked = {lost: self.known(lost) if rows is None else rows} if lost else {}
        self.current = {i: frozenset(self.known(i) - lacked.get(i, set()) | self.new.get(i, set()))
                        for i in ids if i in self.names}
        self.lacked = lacked
        self.new.clear()
        self.replaced.clear()
        self.served_names = dict(self.names)

    def hidden(self, url):
        return [r for r in self.rules if r.active and r.hits(url)]

    def cleanse(self):
        self.current = {i: frozenset(row for row in rows if not self.hidden(row[0]))
                        for i, rows in self.current.items()}

    def remember(self, version):
        self.versions[version] = (dict(self.current), dict(self.served_names), dict(self.lacked))

    def pairs(self):
        """{domain: {name: rows}}"""
        out = collections.defaultdict(lambda: collections.defaultdict(set))
        for number, rows in self.current.items():
            for row in rows:
                out[domain_of(row[0])][self.served_names[number]].add(row)
        return out


class History:
    def __init__(self, tmp, seed):
        self.rng, self.tmp, self.root = random.Random(seed), tmp, tmp / f"root-{seed}"
        # of a version, at most; with an odd seed none is merged before it must be, so removals and replacements leave older parts; then
        # with every other one of these parts are merged behind each publish
        more = {1: ("--merge-max", 1, "--no-merge"), 3: ("--merge-max", 1)}.get(seed % 4, ())
        # some with parts in one object (11.6), all of them or the small ones
        self.publishing = ("publish", "--parts", (1, 8, 2, 3)[seed % 4], "--pack", ("0", "100M", "255K")[seed % 3], *more)
        self.files = {}                      # lake files, as far as it is known which rows they have
        self.left = 0                        # versions of whose older parts files left
        self.spoilt = set()                  # versions with rows twice
        self.model, self.told, self.steps = Model(), [], collections.Counter()

    def run(self, *arguments, **options):
        self.told.append(" ".join(map(str, arguments)))
        return dxtest.domaindex(arguments[0], "--root", self.root, *arguments[1:], **options)

    def manifest(self):
        return json.loads((self.root / "index" / "manifest.json").read_text(encoding="utf-8"))

    def rows_file(self, rows):
        path = self.tmp / "rows.tsv"
        with open(path, "w", encoding="utf-8") as out:
            print("url", "ts", "tags", sep="\t", file=out)
            for url, ts in sorted(rows, key=str):
                print(url, "" if ts is None else ts, tags_of(url, ts), sep="\t", file=out)
        return path

    def lake_files(self):
        return {str(path.relative_to(self.root)) for path in (self.root / "urls").rglob("*.parquet")}

    def take(self, name, rows, *options):
        tags = () if name == "gamma" else ("--extra-column", "tags")  # a dataset without the column
        self.run("ingest", "--dataset", name, "--format", "tsv", "--url-column", 1, "--ts-column", 2,
                 "--header", *tags, *options, self.rows_file(rows))

    # ---- steps: each tells whether what is served has changed ----

    def ingest(self):
        name, rows = self.rng.choice(NAMES), batch(self.rng)
        before = self.lake_files()
        self.take(name, rows)
        number = self.model.id_of(name)
        came = self.lake_files() - before
        if len(came) == 1:
            self.files[came.pop()] = rows - self.model.known(number) - self.model.new.get(number, set())
        # What the dataset has already is not taken again, though a rollback may take that away.
        self.model.new[number] |= rows - self.model.known(number)
        return False

    def count(self):
        """The dataset of counts, and other counts in place of those that it has."""
        number = next((n for n, name in self.model.names.items() if name == COUNTED), None)
        if number is not None and (number not in self.model.current or self.model.new.get(number)):
            return None
        rows, path = counted_batch(self.rng), self.tmp / "counts.tsv"
        lines = sorted(f"{URL.match(url)[2]}\t{pages_of(url)}\n" for url, _ in rows)
        path.write_text("".join(["host\tpages\n", *lines]), encoding="utf-8")
        self.run("ingest", "--dataset", COUNTED, "--format", "tsv", "--url-column", "host", "--counts", "pages",
                 *(() if number is None else ("--replace",)), path)
        if number is not None:
            self.model.replaced.add(number)
        self.model.new[self.model.id_of(COUNTED)] = set(rows)
        return False

    def replace(self):
        number = self.rng.choice(sorted(self.model.names) or [0])
        if number not in self.model.current or self.model.new.get(number):
            return None
        if self.model.names[number] == COUNTED:
            return self.count()
        rows = batch(self.rng)
        self.take(self.model.names[number], rows, "--replace")
        self.model.replaced.add(number)
        self.model.new[number] = set(rows)
        return False

    def remove(self):
        number = self.rng.choice(sorted(self.model.names) or [0])
        if number not in self.model.current or self.model.new.get(number) or \
                len(self.model.current) < 2:
            return None
        self.run("remove", "--dataset", self.model.names[number])
        del self.model.names[number]
        return False

    def remember(self):
        """Of a publish, and of a merge behind it."""
        for v in self.manifest()["versions"]:
            if v["version"] not in self.model.versions:
                self.model.remember(v["version"])
                self.left += "gone_files" in v

    def publish(self):
        if not self.model.new and not (set(self.model.current) - set(self.model.names)) and not self.model.lacked:
            return None
        done = self.run(*self.publishing, expect=None if self.model.lacked else 0)
        self.model.publish()
        if done.returncode:     # a gc forgot files that compact had replaced while they were away, and they are back
            dxtest.check(done.returncode == 1 and b"'domaindex compact' leaves the second one out" in done.stderr, f"{self.told}: {done.stderr}")
            self.spoilt.add(self.manifest()["current_version"])
            self.run("compact")
        self.remember()
        self.run("verify", "--deep")  # tags.dxt among all: as it would be made of the rows
        return True

    def compact(self):
        if not self.model.versions:
            return None
        self.run("compact")
        m = self.manifest()
        self.model.publish()
        for v in m["versions"]:     # what was new was published first
            if v["version"] not in self.model.versions:
                self.model.remember(v["version"])
        self.model.cleanse()
        self.model.remember(m["current_version"])
        return True

    def rollback(self):
        m = self.manifest() if self.model.versions else {"versions": []}
        kept = [v["version"] for v in m["versions"]
                if v["state"] != "dropped" and v["version"] not in {m["current_version"], *self.spoilt}]
        if not kept:
            return None
        version = self.rng.choice(kept)
        done = self.run("rollback", version, expect=None)
        if done.returncode:     # what was ingested since was not compared with that version
            dxtest.check(self.model.new and b"has lake files that no version has" in done.stderr, f"{self.told}: {done.stderr}")
            self.run(*self.publishing)
            self.model.publish()
            self.remember()
            self.run("rollback", version)
        self.model.current, self.model.served_names, self.model.lacked = map(dict, self.model.versions[version])
        return True

    def hide(self):
        """All files of a dataset are away during a publish, and back later."""
        number = self.rng.choice(sorted(self.model.names) or [0])
        if not self.model.current.get(number) or self.model.new.get(number) or number in self.model.replaced:
            return None
        folder, away, before = self.root / "urls" / f"dataset_id={number}", self.tmp / "away", self.manifest()
        folder.rename(away)
        self.run("publish", expect=1)
        dxtest.equal(self.manifest(), before, f"{self.told[-8:]}: the manifest after a publish that was refused")
        if not self.model.rules:    # it merges files of the others; without rules their rows stay
            self.run("compact", expect=1)
            self.model.remember(self.manifest()["current_version"])
        if self.rng.random() < 0.7:
            self.run(*self.publishing, "--allow-missing", self.model.names[number])
            self.model.publish(lost=number)
            self.model.remember(self.manifest()["current_version"])
            with dxtest.Server(self.root) as server:
                self.compare(server)
            if self.rng.random() < 0.5:
                self.collect()
        away.rename(folder)
        if self.rng.random() < 0.5:
            self.collect()
        if self.model.lacked:
            self.publish()
        return True

    def lose(self):
        """Some files of a dataset are away during a publish, and back later; others of it stay."""
        whole = []
        for number in sorted(self.model.names):
            done = dxtest.domaindex("files", "--root", self.root, "--dataset", self.model.names[number], expect=None)
            listed = [path[path.index("urls/"):] for path in done.stdout.decode().split()] if done.returncode == 0 else []
            rows = [self.files.get(path) for path in listed]
            if len(listed) > 1 and None not in rows and frozenset().union(*rows) == self.model.current.get(number) and \
                    not self.model.new.get(number) and number not in self.model.replaced:
                whole.append((number, listed))
        if not whole or self.model.lacked:
            return None
        number, listed = self.rng.choice(whole)
        goes = self.rng.sample(listed, self.rng.randrange(1, len(listed)))
        for path in goes:
            (self.root / path).rename(self.root / (path + ".away"))
        self.run(*self.publishing, "--allow-missing", self.model.names[number])
        self.model.publish(lost=number, rows=set().union(*(self.files[path] for path in goes)))
        self.remember()
        self.run("verify", "--deep")
        with dxtest.Server(self.root) as server:
            self.compare(server)
        self.compare_full("--allow-missing", self.model.names[number])
        for path in goes:
            (self.root / (path + ".away")).rename(self.root / path)
        self.publish()
        self.compare_full()
        return True

    def urls(self):
        return sorted({row[0] for rows in self.model.current.values() if not is_counted(rows) for row in rows})

    def suppress(self):
        urls = self.urls()
        if not urls:
            return None
        url = self.rng.choice(urls)
        _, host, path = URL.match(url).groups()
        kind = self.rng.choice(("domain", "host", "prefix", "url"))
        value = {"domain": domain_of(url), "host": host, "prefix": host + path[:3], "url": url}[kind]
        policy = "withheld" if DOMAINS.index(domain_of(url)) % 2 else "absent"
        if any(r.active and (r.kind, r.value, r.policy) == (kind, value, policy)
               for r in self.model.rules):
            return None         # it is there, and is not added again
        given = f"http://{value}" if kind == "prefix" else value
        self.run("suppress", "add", f"--{kind}", given, "--policy", policy, "--reason", "test")
        self.model.rules.append(Rule(kind, value, policy))
        return True

    def lift(self):
        active = [i for i, rule in enumerate(self.model.rules, 1) if rule.active]
        if not active:
            return None
        listed = json.loads(self.run("suppress", "list", "--json").stdout)["suppressions"]
        number = self.rng.choice(active)
        adds = [line["number"] for line in listed if line["action"] == "add"]
        self.run("suppress", "lift", adds[number - 1])
        self.model.rules[number - 1].active = False
        return True

    def collect(self):
        if len(self.model.versions) < 3:
            return None
        for _ in range(3):
            self.run("gc", "--keep", 2, "--keep-for", "0s", "--lease-ttl", "0s", "--cursor-life",
                     "0s", "--max-share", 100, "--delete")
        return True

    # ---- answers ----

    def compare(self, server):
        pairs = self.model.pairs()
        for domain in DOMAINS:
            self.compare_domain(server, domain, pairs.get(domain, {}))

    def words(self, domain):
        return f"{domain} after {' | '.join(self.told[-8:])}"

    def compare_domain(self, server, domain, sets):
        rules = [r for r in self.model.rules if r.active and r.kind == "domain" and r.value == domain]
        visible = {name: {row for row in rows if not self.model.hidden(row[0])}
                   for name, rows in sets.items()}
        visible = {name: rows for name, rows in visible.items() if rows}
        reply = server.get(f"/v1/domain/{domain}")
        if not visible:
            some = rules or sets
            withheld = some and DOMAINS.index(domain) % 2
            want = (404,) if not withheld else (451,) if sets else (404, 451)
            dxtest.check(reply.status in want, f"{self.words(domain)}: {reply.status}, want {want}")
            return
        if not dxtest.equal(reply.status, 200, f"{self.words(domain)}: {reply.body[:200]!r}"):
            return
        got = {d["name"]: d for d in reply.json["datasets"]}
        dxtest.equal(sorted(got), sorted(visible), f"{self.words(domain)}: datasets")
        for name in got.keys() & visible.keys():
            rows = visible[name]
            if is_counted(rows):
                self.compare_counts(server, domain, got[name], rows)
                continue
            times = [row[1] for row in rows if row[1] is not None]
            want = {"url_count": len({row[0] for row in rows}), "row_count": len(rows),
                    "first_ts": iso(min(times)) if times else None,
                    "last_ts": iso(max(times)) if times else None}
            dxtest.equal({k: got[name][k] for k in want}, want, f"{self.words(domain)}: {name}")
            self.compare_listing(server, domain, got[name]["dataset_id"], rows)

    def compare_counts(self, server, domain, got, rows):
        want = {"kind": "counts", "page_count": sum(pages_of(url) for url, _ in rows), "url_count": None, "row_count": None}
        dxtest.equal({k: got.get(k) for k in want}, want, f"{self.words(domain)}: counts")
        path = f"/v1/domain/{domain}/datasets/{got['dataset_id']}/urls"
        dxtest.equal(server.get(path).status, 409, f"{self.words(domain)}: URLs of counts")
        hosts = server.get(f"/v1/domain/{domain}/hosts?dataset={got['dataset_id']}")
        dxtest.equal({h["host"]: h["page_count"] for h in hosts.json.get("hosts", ())},
                     {URL.match(url)[2]: pages_of(url) for url, _ in rows}, f"{self.words(domain)}: hosts of counts")

    def compare_listing(self, server, domain, number, rows):
        offset, seen = 0, []
        while offset is not None:
            reply = server.get(f"/v1/domain/{domain}/datasets/{number}/urls?offset={offset}&limit=50"
                               "&fields=url,ts")
            if not dxtest.equal(reply.status, 200, f"{self.words(domain)}: listing of {number}"):
                return
            answer = reply.json
            dxtest.equal(answer["total"], len(rows), f"{self.words(domain)}: total of {number}")
            seen += [(item["url"], item["ts"]) for item in answer["items"]]
            offset = answer["next_offset"]
        want = sorted((url, None if ts is None else iso(ts)) for url, ts in rows) \
            if all(ts is not None for _, ts in rows) else \
            sorted(((url, None if ts is None else iso(ts)) for url, ts in rows), key=str)
        key = None if all(ts is not None for _, ts in rows) else str
        dxtest.equal(sorted(seen, key=key), want, f"{self.words(domain)}: rows of {number}")

    def texts(self, root):
        """Answers of all kinds, without the names of versions."""
        out = {}
        with dxtest.Server(root) as server:
            for domain in DOMAINS:
                reply = server.get(f"/v1/domain/{domain}")
                out[domain] = reply.status, self.plain(reply.body)
                if reply.status != 200:
                    continue
                for d in reply.json["datasets"]:
                    path = (f"/v1/domain/{quote(domain)}/datasets/{d['dataset_id']}/urls"
                            "?limit=10000&fields=url_id,url,ts,raw_url,extras")
                    reply = server.get(path)
                    out[path] = reply.status, self.plain(reply.body)
            reply = server.get("/v1/datasets")
            out["datasets"] = reply.status, self.plain(reply.body)
            self.more_texts(server, out, sorted(d["dataset_id"] for d in reply.json["datasets"]))
        return out

    def more_texts(self, server, out, ids):
        """Of each dataset its ranking and overlaps, of each domain hosts and paths, and some URLs: in `out`."""
        paths = [f"/v1/datasets/{a}/overlap/{b}" for a in ids for b in ids]
        paths += [f"/v1/datasets/{i}/top-domains" for i in ids]
        for domain in DOMAINS:
            paths += [f"/v1/domain/{domain}/hosts", *(f"/v1/domain/{domain}/datasets/{i}/paths" for i in ids)]
        urls = self.urls()
        for url in urls[::max(1, len(urls) // 40)]:
            paths.append(f"/v1/url?u={quote(url, safe='')}&limit=1000")
        for path in paths:
            while True:
                reply = server.get(path)
                if reply.status != 503: # what rules hide of counts is being looked for
                    break
                time.sleep(0.01)
            out[path] = reply.status, self.plain(reply.body)

    @staticmethod
    def plain(body):
        return re.sub(rb"\d{6}-\d{8}T\d{6}Z", b"VERSION", body)

    def compare_full(self, *more):
        copy = self.tmp / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(self.root, copy)
        dxtest.domaindex("publish", "--root", copy, "--full", "--force", *more)
        merged, full = self.texts(self.root), self.texts(copy)
        dxtest.equal(sorted(merged), sorted(full), f"questions after {' | '.join(self.told[-8:])}")
        for path in merged.keys() & full.keys():
            dxtest.equal(merged[path], full[path], self.words(path))
            self.compare_url(path, merged[path])

    def compare_url(self, path, reply):
        """Where a URL stands, by the rows of the model."""
        if not path.startswith("/v1/url?"):
            return
        url = parse_qs(urlsplit(path).query)["u"][0]
        if not dxtest.check(reply[0] in ((404, 451) if self.model.hidden(url) else (200,)), f"{self.words(path)}: {reply[0]}"):
            return
        if reply[0] != 200:
            return
        answer = json.loads(reply[1])
        want = {self.model.served_names[number]: sorted(str(ts and iso(ts)) for u, ts in rows if u == url)
                for number, rows in self.model.current.items()}
        got = {d["name"]: sorted(str(row["ts"]) for row in d["rows"]) for d in answer["datasets"]}
        dxtest.equal(got, {name: rows for name, rows in want.items() if rows}, self.words(path))

    def go(self):
        steps = (self.ingest, self.ingest, self.ingest, self.publish, self.publish, self.replace,
                 self.remove, self.suppress, self.lift, self.compact, self.rollback, self.rollback, self.collect, self.hide, self.lose,
                 self.count, self.count)
        self.ingest()
        self.count()
        self.publish()
        while sum(self.steps.values()) < STEPS:
            step = self.rng.choice(steps)
            changed = step()
            if changed is None:
                continue
            self.steps[step.__name__] += 1
            if changed:
                with dxtest.Server(self.root) as server:
                    self.compare(server)
            if step.__name__ == "publish":
                self.compare_full()
        self.run("verify", "--deep")
        return self.steps


def losses(tmp, seed):
    """Files come and go: what is served beside a version of the whole lake, and the parts that stay. More rounds where chance loses none."""
    history, lost, rounds = History(tmp, seed), 0, 0
    while rounds < LOSSES or rounds < 12 and (lost == 0 or seed % 4 == 1 and history.left == 0):
        rounds += 1
        for _ in range(3):
            history.ingest()
            history.publish()
        lost += bool(history.lose())
    shutil.rmtree(history.root)
    dxtest.check(lost > 0, f"no file was lost with seed {seed}")
    dxtest.check(seed % 4 != 1 or history.left > 0, f"seed {seed}: older parts stay where a dataset loses some of its files")


def main():
    dxtest.need_programs()
    total = collections.Counter()
    with dxtest.tempdir() as tmp:
        for seed in range(SEED, SEED + (HISTORIES + 1) // 2):
            losses(tmp, seed)
        for seed in range(SEED, SEED + HISTORIES):
            history = History(tmp, seed)
            before = dxtest.failures()
            total += history.go()
            total["versions of whose older parts files left"] += history.left
            shutil.rmtree(history.root)
            if dxtest.failures() > before:
                print(f"seed {seed}: {' | '.join(history.told)}", flush=True)
    print(f"{HISTORIES} histories: {dict(total)}", file=sys.stderr)
    dxtest.finish()


if __name__ == "__main__":
    main()
