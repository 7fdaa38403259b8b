# SPDX-License-Identifier: Apache-2.0
"""twins - roots of the same rows, of which one has datasets that the other never shows.

    rows = twins.made(count=400, seed=1)                  or twins.reddit(...); Rows: .first, .second, .urls
    twins.make_lake(tmp / "lake", rows)                   Parquet files for the datasets that are indexed in place; rows.lake
    begun = twins.Begun(tmp / "begun", rows)                     a root with the first rows, of which each other one begins as a copy
    whole = twins.Root(tmp / "a", rows, begun)                   all datasets
    less = twins.Root(tmp / "b", rows, begun, keep={1, 2, 3})    the others were removed; ids, versions' names and files as in whole

Each root has two versions: the first rows, then the second ones with them. In a root with fewer datasets all of them are ingested,
so that ids come out the same, published, and removed again; then everything is published from scratch, and the version that still
had them collected. Two datasets have counts of hosts in place of URLs; in the second version others. Two more are indexed in place, of some of the same
rows, with a file for each version. Names of versions hold a sequence and SOURCE_DATE_EPOCH, so they are equal too. Nothing is taken away from a
root with all datasets but by what is tested.
"""
import hashlib
import json
import random
import shutil
import subprocess
import urllib.parse

import dxtest

OF_URLS = 10
COUNTED = (11, 12)
IN_PLACE = (13, 14)
DATASETS = OF_URLS + len(COUNTED) + len(IN_PLACE)
EPOCH = 1795000000
HOSTS = ("", "", "www.", "m.", "a.b.")
PARTS = ("", "a", "b/c", "news/2024", "wiki/Main_Page", "q.html", "x_y/1")


def tags_of(dataset, url):
    """Of all datasets, of one alone, of some, of a few rows; none."""
    number = hashlib.sha256(url.encode()).digest()
    tags = ["every"] * (number[0] % 2) + [f"only d{dataset:02}"] * (number[1] % 3 == 0) + [f"some/{dataset % 4}"] * (number[2] % 3 == 0)
    tags += [f"few {number[3]}"] * (number[4] % 8 == 0)
    return json.dumps(tags) if tags else ""


def tags():
    """All that rows may have, and some that none has."""
    return ["every", *(f"only d{n:02}" for n in range(1, DATASETS + 2)), *(f"some/{n}" for n in range(5)),
            *(f"few {n}" for n in range(0, 256, 5)), "nobody's", "?", ""]


class Rows:
    def __init__(self):
        self.first, self.second, self.urls, self.absent = [], [], {}, []
        self.counts = {}    # dataset: {host: pages} of both versions
        self.lake = None    # folder of the files of IN_PLACE, named by dataset and version

    def add(self, part, dataset, ts, url, extra, canonical=""):
        part.append(f"d{dataset:02}\t{ts}\t{url}\t{extra}\t{tags_of(dataset, url)}\t{canonical}\n")

    def note(self, domain, url):
        """Up to three URLs of each domain, to ask for."""
        known = self.urls.setdefault(domain, [])
        if len(known) < 3 and url not in known:
            known.append(url)


def count_hosts(rows, rng):
    """Of most hosts that have URLs, and of some that have none."""
    hosts = sorted({urllib.parse.urlsplit(u).netloc for known in rows.urls.values() for u in known})
    for dataset in COUNTED:
        names = [*rng.sample(hosts, len(hosts) * 2 // 3), *(f"{h}only{n}-{dataset}.com" for n in range(5) for h in ("", "www."))]
        rows.counts[dataset] = [{name: rng.randint(1, 5000) for name in names if rng.random() < 0.8} for _ in range(2)]


def made(count, seed, datasets=OF_URLS):
    """Domains of every kind: in few or many datasets, in hidden ones alone, in both, in one version alone, nowhere."""
    rng, rows = random.Random(seed), Rows()
    hidden, shown = [datasets - 1, datasets], list(range(1, datasets - 1))

    before = [None]

    def some(kind, domain, parts, most=6):
        for dataset in kind:
            for _ in range(rng.randint(1, most)):
                number = rng.randint(1, 9)
                url = f"https://{rng.choice(HOSTS)}{domain}/{rng.choice(PARTS)}?n={number}"
                # Some say that they are another page: of the domain, of another dataset's, or of the domain before.
                known = [u for d in (domain, before[0]) for u in rows.urls.get(d, ())]
                canonical = rng.choice(known) if known and rng.random() < 0.15 else ""
                rows.add(rng.choice(parts), dataset, rng.choice(("", 1700000000 + rng.randint(0, 10**7))), url, f"e{number}",
                         canonical)
                rows.note(domain, url)

    both, domain = (rows.first, rows.second), None
    for i in range(count):
        before[0] = domain
        domain = f"{rng.choice(('site', 'my-blog', 'w'))}{i}.{rng.choice(('com', 'org', 'co.uk', 'de'))}"
        kind = i % 8
        if kind == 0:
            some(rng.sample(shown, rng.randint(1, 2)), domain, both)
        elif kind == 1:
            some(rng.sample(hidden, rng.randint(1, 2)), domain, both)
        elif kind == 2:
            some(rng.sample(hidden, 1) + rng.sample(shown, rng.randint(1, 3)), domain, both)
        elif kind == 3:
            some(range(1, datasets + 1), domain, both)
        elif kind == 4:
            rows.absent.append(domain)
        elif kind == 5:
            some(rng.sample(shown, 3), domain, (rows.second,))
        elif kind == 6:
            some(rng.sample(hidden, 1), domain, (rows.second,))
            some(rng.sample(shown, 1), domain, (rows.first,))
        else:
            some([rng.choice(shown)], domain, (rows.first,))
            some([hidden[0]], domain, (rows.second,))
    # Sketches of more URLs than are kept one by one, and paths that are stored.
    for n, (size, kinds) in enumerate(((700, (1, 3, 9)), (900, (2, 10)), (600, (9, 10)), (4500, (1, 9)))):
        domain = f"large{n}.com"
        for dataset in kinds:
            for k in range(size):
                url = f"http://{HOSTS[k % 5]}{domain}/{PARTS[k % 7]}?k={k + 100 * dataset}"
                rows.add(both[k % 2], dataset, 1700000000 + k, url, "")
                rows.note(domain, url)
    count_hosts(rows, rng)
    return rows


def reddit(path, lines, datasets=OF_URLS):
    """Posts, their subreddits thrown together into a few datasets."""
    rows = Rows()
    text = subprocess.Popen(["zstd", "-dc", str(path)], stdout=subprocess.PIPE)
    for n, line in enumerate(text.stdout):
        if n >= lines:
            break
        name, ts, url, extra = line.decode("utf-8", "replace").rstrip("\n").split("\t")
        dataset = 1 + hashlib.sha256(name.encode()).digest()[0] % datasets
        rows.add((rows.first, rows.second)[n % 3 == 2], dataset, ts, url, extra)
        if n % (lines // 2000) == 0:
            rows.note(n, url)
    text.stdout.close()
    text.wait()
    rows.absent = [f"nobody{n}.{s}" for n in range(1000) for s in ("com", "net")]
    count_hosts(rows, random.Random(lines))
    return rows


def make_lake(home, rows):
    """Files that others might have written: rows of a tag as a server streams them, of a root that has no other use."""
    rng, scratch = random.Random(len(rows.first)), home / "scratch"
    home.mkdir()
    lines = []
    for dataset in IN_PLACE:
        for version, part in enumerate((rows.first, rows.second)):
            for line in rng.sample(part, min(len(part) // 4, 3000)):
                _, ts, url, extra, _, _ = line.split("\t")
                lines.append(f"rows\t{ts}\t{url}\t{extra}-{dataset}\t{json.dumps([place_tag(dataset, version), 'placed'])}\n")
    (home / "rows.tsv").write_text("".join(["dataset\tts\turl\textra\ttags\n", *lines]), encoding="utf-8")
    dxtest.domaindex("ingest", "--root", scratch, "--max-rejects", "100%", "--format", "tsv", "--dataset-column", 1, "--ts-column", 2,
                     "--url-column", 3, "--extra-column", "extra", "--extra-column", "tags", home / "rows.tsv")
    dxtest.domaindex("publish", "--root", scratch, "--quiet")
    rows.lake = home / "lake"
    rows.lake.mkdir()
    with dxtest.Server(scratch) as server:
        for dataset in IN_PLACE:
            for version in range(2):
                reply = server.get(f"/v1/tags/{place_tag(dataset, version)}?of=urls&fields=url,ts,tags,extras&format=parquet")
                dxtest.check(reply.status == 200 and reply.body[-4:] == b"PAR1", f"a file of dataset {dataset}: {reply.status}")
                (rows.lake / f"d{dataset:02}-{version}.parquet").write_bytes(reply.body)


def place_tag(dataset, version):
    return f"placed-{dataset}-{version}"


class Commands:
    """Commands that work in a root."""

    def __init__(self, home):
        home.mkdir()
        self.path, self.step = home / "root", 0

    def command(self, name, *arguments, **options):
        return dxtest.domaindex(name, "--root", self.path, *arguments, env={"SOURCE_DATE_EPOCH": str(EPOCH + self.step)}, **options)

    def publish(self, *arguments):
        self.step += 3600
        self.command("publish", "--quiet", "--threads", 1, *arguments)

    def ingest(self, home, lines):
        (home / "rows.tsv").write_text("".join(["dataset\tts\turl\textra\ttags\tcanonical\n", *lines]), encoding="utf-8")
        self.command("ingest", "--max-rejects", "100%", "--format", "tsv", "--dataset-column", 1, "--ts-column", 2, "--url-column", 3,
                     "--extra-column", "extra", "--extra-column", "tags", "--canonical-column", "canonical", "--threads", 1,
                     home / "rows.tsv")

    def count(self, home, counts, *arguments):
        for dataset, hosts in sorted(counts.items()):
            (home / "counts.tsv").write_text("".join(["host\tpages\n", *(f"{h}\t{n}\n" for h, n in hosts.items())]), encoding="utf-8")
            self.command("ingest", "--dataset", f"d{dataset:02}", "--format", "tsv", "--url-column", "host", "--counts", "pages", "--threads", 1,
                         *arguments, home / "counts.tsv")

    def place(self, lake, version, datasets):
        for dataset in datasets:
            self.command("ingest", "--in-place", "--dataset", f"d{dataset:02}", "--ts-column", "ts", "--extra-column", "tags", "--threads", 1,
                         f"d{dataset:02}-{version}.parquet", cwd=lake)


class Begun(Commands):
    """All datasets, one version."""

    def __init__(self, home, rows, datasets=DATASETS):
        super().__init__(home)
        self.all = set(range(1, datasets + 1))
        # Ids are given in order of first appearance.
        begin = [f"d{n:02}\t\thttps://first{n}.com/\t\t\t\n" for n in sorted(self.all) if n not in COUNTED + IN_PLACE]
        self.ingest(home, begin + rows.first)
        self.count(home, {n: both[0] for n, both in rows.counts.items()})
        self.place(rows.lake, 0, IN_PLACE)
        self.publish()


class Root(Commands):
    def __init__(self, home, rows, begun, keep=None, rules=()):
        super().__init__(home)
        shutil.copytree(begun.path, self.path, symlinks=True)
        self.step, self.all = begun.step, begun.all
        self.keep = self.all if keep is None else set(keep)
        gone = self.all - self.keep
        if gone:
            self.command("remove", *[word for n in sorted(gone) for word in ("--dataset", f"d{n:02}")])
        self.publish("--full", "--force")
        self.ingest(home, [line for line in rows.second if int(line.split("\t")[0][1:]) in self.keep])
        self.count(home, {n: both[1] for n, both in rows.counts.items() if n in self.keep}, "--replace")
        self.place(rows.lake, 1, [n for n in IN_PLACE if n in self.keep])
        self.publish("--force")
        # The version that had everything goes, in three steps.
        for _ in range(4):
            self.command("gc", "--keep", 2, "--keep-for", "0s", "--lease-ttl", "0s", "--cursor-life", "0s",
                         "--max-share", 100, "--delete", "--quiet")
        # Numbers are given to what is there, so they differ where datasets do.
        for step in ("init", "fill"):
            dxtest.domaindex("domain64", step, "--root", self.path)
        for words in rules:
            self.command("suppress", "add", *words, "--reason", "test")
