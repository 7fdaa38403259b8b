# SPDX-License-Identifier: Apache-2.0
# labels: slow
"""Versions of several parts on object storage, against versitygw or MinIO.

Made-up rows (tests/support/corpus.py) come in five publishes, each smaller than the one before, so that a version stands
on up to five parts. After each publish a server whose cache folder holds the copies of the version before answers as
the model does: datasets, URLs and rows of each domain, and its listings. It fetches the new part alone. In the end:
verify finds the version sound and finds a damaged byte of an older part's pack; gc keeps the parts of what it keeps; publish
--parts 1 makes one part, after which gc takes the others. A publish of 1,000 new domains through a proxy that counts makes at most
20 requests, puts its claim, one object and the manifest, and fetches no older part again; a server fetches one object for it.
A publish that a merge beside it is faster than runs again by itself, and has what both have. DX_WHOLE: rows of 300 datasets, in the gate of 30:
a dataset is an object of each publish.
"""
import collections
import json
import os
import pathlib
import re
import signal
import subprocess
import time
import urllib.parse

import corpus
import dxtest
import faultproxy
import manifests
import stores

BATCHES = (3000, 150, 30, 8, 2)
BUCKET, PREFIX = "lake", "a/root"
NO_WAIT = ("--keep", 1, "--keep-for", "0s", "--lease-ttl", "0s", "--cursor-life", "0s", "--max-share", 100, "--delete")


def name_of(dataset):
    """Of a dataset of the corpus, set-000 to set-299."""
    return dataset if dxtest.WHOLE or not dataset else f"{dataset[:-1]}0"


class World:
    def __init__(self, store, tmp):
        self.store, self.tmp, self.root = store, tmp, store.root(BUCKET, PREFIX)
        self.cache = tmp / "cache"
        self.rows = collections.defaultdict(lambda: collections.defaultdict(set))  # domain: dataset: rows

    def add(self, seed, count):
        path = self.tmp / "rows.tsv"
        with open(path, "w", encoding="utf-8") as out:
            for raw, want in corpus.rows(seed=seed, count=count):
                print(name_of(raw[0]), *raw[1:], sep="\t", file=out)
                if want is not None:
                    domain, dataset, url, ts, extra = want
                    dataset = name_of(dataset)
                    self.rows[domain][dataset].add((url, ts, extra))
        dxtest.domaindex("ingest", "--root", self.root, "--format", "tsv", "--dataset-column", 1, "--ts-column", 2,
                         "--url-column", 3, "--extra-column", 4, "--no-header", path)

    def add_list(self, dataset, urls, domain_of):
        for i, url in enumerate(urls):
            self.rows[domain_of(i)][dataset].add((url, None, None))
        dxtest.domaindex("ingest", "--root", self.root, "--dataset", dataset, "--format", "list", "-", input="".join(f"{u}\n" for u in urls).encode())

    def pack_size(self):
        at = 0
        for file in self.entry()["files"].values():
            at += -at % 64 + file["size"]
        return at

    def manifest(self):
        return json.loads(self.store.get(BUCKET, f"{PREFIX}/index/manifest.json"))

    def entry(self):
        manifest = self.manifest()
        return next(v for v in manifest["versions"] if v["version"] == manifest["current_version"])

    def claims(self):
        """Names of versions that were taken."""
        _, body = self.store.demand("GET", f"/{BUCKET}?list-type=2&prefix={urllib.parse.quote(PREFIX + '/index/claims/', safe='')}")
        return re.findall(r"<Key>([^<]*)</Key>", body.decode())

    def copies(self):
        """What of the mapped files lies in the cache folder."""
        return {path: path.stat().st_size for path in pathlib.Path(self.cache, "objects").rglob("*") if path.is_file()}

    def ask(self, server, domain):
        sets = self.rows[domain]
        reply = server.get(f"/v1/domain/{urllib.parse.quote(domain)}")
        if not dxtest.equal(reply.status, 200, f"{domain}: {reply.body[:200]!r}"):
            return
        got = {d["name"]: (d["url_count"], d["row_count"]) for d in reply.json["datasets"]}
        dxtest.equal(got, {name: (len({row[0] for row in rows}), len(rows)) for name, rows in sets.items()}, domain)
        for d in reply.json["datasets"][:2]:
            listing = server.get(f"/v1/domain/{urllib.parse.quote(domain)}/datasets/{d['dataset_id']}/urls?limit=10000&fields=url")
            if dxtest.equal(listing.status, 200, f"{domain} in {d['name']}: {listing.body[:200]!r}"):
                dxtest.equal(sorted(row["url"] for row in listing.json["items"]), sorted(row[0] for row in sets[d["name"]]),
                             f"{domain} in {d['name']}")

    def compare(self, step):
        names = sorted(self.rows)
        with dxtest.Server(self.root, "--cache-dir", self.cache, "--lease", "no") as server:
            for domain in names[step::max(1, len(names) // 60)]:
                self.ask(server, domain)


def grow(world):
    first = None
    for step, count in enumerate(BATCHES):
        before = world.copies()
        world.add(step + 1, count)
        dxtest.domaindex("publish", "--root", world.root)
        entry = world.entry()
        dxtest.equal(len(entry.get("parts", ())), step, "older parts")
        written = sum(file["size"] for name, file in entry["files"].items() if name != "psl.dat.zst")
        first = first or written
        dxtest.check(step == 0 or written < first / 2, f"publish {step}: {written} bytes, the first {first}")
        world.compare(step)
        come = sum(size for path, size in world.copies().items() if path not in before)
        own = sum(file["size"] for file in entry["files"].values())
        dxtest.check(come <= own + (1 << 16), f"publish {step}: {come} bytes fetched, of a part of {own}")
        print(f"publish {step}: {count} rows, {written} bytes, {come} bytes fetched by the server", flush=True)


def requests(world):
    """The second publish from a machine fetches nothing of older parts that it has copies of, and reads back its own."""
    with faultproxy.Proxy(world.store.url, record=True) as proxy:
        with stores.environment({**world.store.env, "AWS_ENDPOINT_URL_S3": proxy.url}):
            world.add(101, 2)
            dxtest.domaindex("publish", "--root", world.root, "--cache-dir", world.tmp / "copies")
            world.add_list("fresh", [f"http://www.fresh{i}.com/{i}" for i in range(1000)], lambda i: f"fresh{i}.com")
            proxy.set()
            dxtest.domaindex("publish", "--root", world.root, "--cache-dir", world.tmp / "copies")
        seen = [(method, urllib.parse.unquote(target)) for method, target, _ in proxy.seen]
    own = world.entry()["version"]
    older = [target for method, target in seen if method == "GET" and "/index/0" in target and f"/index/{own}/" not in target]
    dxtest.equal(older, [], "objects of older parts that were fetched again")
    dxtest.equal(sum("list-type=2" in target and target.endswith(urllib.parse.quote("index/")) for _, target in seen) <= 1, True,
                 "listings of index/")
    puts = [target for method, target in seen if method == "PUT"]
    dxtest.equal(sorted(t.rsplit("/", 1)[-1] for t in puts), sorted([own, "part.pack", "manifest.json"]), "objects put")
    dxtest.check(len(seen) <= 20, f"{len(seen)} requests: {seen}")
    print(f"a publish of 1,000 new domains: {len(seen)} requests, {len(puts)} of them PUT", flush=True)
    before = world.copies()
    world.compare(1)
    new = [path for path in world.copies() if path not in before]
    dxtest.equal(len([path for path in new if path.stat().st_size == world.pack_size()]), 1, f"its pack came to a server: {new}")


def heal(world):
    """A copy of a pack that a disk damaged: seen when it is opened, fetched again, and read for listings too."""
    entry, at, ends = world.entry(), 0, {}
    for name, file in entry["files"].items():
        at += -at % 64 + file["size"]
        ends[name] = at
    path = next(path for path, size in world.copies().items() if size == world.pack_size())
    data = bytearray(path.read_bytes())
    for name in ("pages.dxp", "postings.dat.zst"):      # a trailer, and what is read by the page
        data[ends[name] - (20 if name == "pages.dxp" else entry["files"][name]["size"] // 2)] ^= 8
    path.chmod(0o600)
    with open(path, "r+b") as file:                     # the same file: trees have other names of it
        file.write(data)
    world.compare(0)
    dxtest.equal(manifests.hash128(path.read_bytes()), entry["pack"], "the copy was fetched again")


def stopped(world, *arguments):
    """A publish that has taken its number, and waits."""
    known = set(world.claims())
    process = subprocess.Popen([dxtest.DOMAINDEX, "publish", "--root", world.root, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while process.poll() is None and set(world.claims()) == known:
        time.sleep(0.001)
    process.send_signal(signal.SIGSTOP)
    dxtest.equal(process.poll(), None, f"{arguments}: it is at work")
    return process


def end(process):
    process.send_signal(signal.SIGCONT)
    out, words = process.communicate(timeout=60)
    dxtest.equal(process.returncode, 0, f"{words.decode()}")
    return out.decode().strip(), words.decode()


def overtaken(world):
    for seed, count in ((201, 500), (202, 400)):
        world.add(seed, count)
        dxtest.domaindex("publish", "--root", world.root, "--merge-max", 1, "--no-merge")
    before = world.entry()
    merge = stopped(world, "--merge-max", 1)
    world.add(203, 30)
    publish = stopped(world, "--merge-max", 1, "--no-merge")
    _, words = end(merge)
    merged = world.entry()
    dxtest.equal(merged["base"], before["version"], f"the merge is current: {words}")
    dxtest.check(len(merged.get("parts", ())) < len(before["parts"]), f"it has fewer parts than {before['parts']}: {merged}")
    name, words = end(publish)
    dxtest.equal((world.entry()["version"], world.entry()["base"]), (name, merged["version"]), f"the publish came after it: {words}")
    world.compare(3)


def damage(world):
    name = f"{PREFIX}/index/{world.entry()['parts'][0]}/part.pack"
    sound = world.store.get(BUCKET, name)
    for place in (9, len(sound) // 2, len(sound) - 9):
        world.store.put(BUCKET, name, sound[:place] + bytes([sound[place] ^ 4]) + sound[place + 1:])
        done = dxtest.domaindex("verify", "--root", world.root, expect=3)
        dxtest.check(name[len(PREFIX) + 1:].encode() in done.stdout + done.stderr, f"the pack is named: {done.stdout} {done.stderr}")
        with dxtest.tempdir() as empty:
            done = dxtest.domaindex("lookup", "--root", world.root, "--cache-dir", empty, "x.com", expect=None)
            dxtest.check(done.returncode not in (0, 3) and b"part.pack" in done.stderr, f"a lookup: {done.returncode} {done.stderr}")
    world.store.put(BUCKET, name, sound)


def main():
    dxtest.need_programs()
    for kind in stores.kinds():
        with dxtest.tempdir() as tmp, kind() as store:
            os.environ.update(store.env)
            store.bucket(BUCKET)
            world = World(store, tmp)
            grow(world)
            requests(world)
            heal(world)
            world.add(103, 2)
            dxtest.domaindex("publish", "--root", world.root)
            damage(world)
            dxtest.domaindex("verify", "--root", world.root, "--deep")
            dxtest.domaindex("gc", "--root", world.root, *NO_WAIT)
            entry = world.entry()
            dxtest.equal(len(world.manifest()["versions"]), 1 + len(entry["parts"]), "versions that are parts stay")
            world.compare(1)
            dxtest.domaindex("publish", "--root", world.root, "--parts", 1)
            dxtest.equal(world.entry().get("parts"), None, "one part")
            world.compare(2)
            dxtest.domaindex("gc", "--root", world.root, *NO_WAIT)
            dxtest.equal(len(world.manifest()["versions"]), 1, "versions after a merge of all")
            overtaken(world)
            dxtest.domaindex("verify", "--root", world.root, "--deep")
    dxtest.finish()


if __name__ == "__main__":
    main()
