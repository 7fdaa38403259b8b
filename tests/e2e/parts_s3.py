# SPDX-License-Identifier: Apache-2.0
# labels: slow
"""Versions of several parts on object storage, against versitygw or MinIO.

Made-up rows (tests/support/corpus.py) come in five publishes, each smaller than the one before, so that a version stands
on up to five parts. After each publish a server whose cache folder holds the copies of the version before answers as
the model does: datasets, URLs and rows of each domain, and its listings. It fetches the new part alone. In the end:
verify finds the version sound and finds a damaged byte of an older part; gc keeps the parts of what it keeps; publish
--parts 1 makes one part, after which gc takes the others. A publish through a proxy that counts fetches no older part again.
A publish that a merge beside it is faster than runs again by itself, and has what both have.
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
import stores

BATCHES = (3000, 150, 30, 8, 2)
BUCKET, PREFIX = "lake", "a/root"
NO_WAIT = ("--keep", 1, "--keep-for", "0s", "--lease-ttl", "0s", "--cursor-life", "0s", "--max-share", 100, "--delete")


class World:
    def __init__(self, store, tmp):
        self.store, self.tmp, self.root = store, tmp, store.root(BUCKET, PREFIX)
        self.cache = tmp / "cache"
        self.rows = collections.defaultdict(lambda: collections.defaultdict(set))  # domain: dataset: rows

    def add(self, seed, count):
        path = self.tmp / "rows.tsv"
        with open(path, "w", encoding="utf-8") as out:
            for raw, want in corpus.rows(seed=seed, count=count):
                print(*raw, sep="\t", file=out)
                if want is not None:
                    domain, dataset, url, ts, extra = want
                    self.rows[domain][dataset].add((url, ts, extra))
        dxtest.domaindex("ingest", "--root", self.root, "--format", "tsv", "--dataset-column", 1, "--ts-column", 2,
                         "--url-column", 3, "--extra-column", 4, "--no-header", path)

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
        return {path: path.stat().st_size for path in pathlib.Path(self.cache).rglob("*") if path.is_file()}

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
        written = sum(file["size"] for name, file in entry["files"].items() if name != "psl.dat")
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
            for seed in (101, 102):
                world.add(seed, 2)
                proxy.set()
                dxtest.domaindex("publish", "--root", world.root, "--cache-dir", world.tmp / "copies")
        seen = [(method, urllib.parse.unquote(target)) for method, target, _ in proxy.seen]
    own = world.entry()["version"]
    older = [target for method, target in seen if method == "GET" and "/index/0" in target and f"/index/{own}/" not in target]
    mapped = ("files.tsv.zst", "domains.dict", "domains.mphf", "domain_to_datasets.roar", "domain_counts.dxc", "dataset_domains.dxt", "etags.tsv.zst")
    dxtest.equal([target for target in older if target.endswith(mapped)], [], "files of older parts that were fetched again")
    dxtest.equal(sum("list-type=2" in target and target.endswith(urllib.parse.quote("index/")) for _, target in seen) <= 1, True,
                 "listings of index/")
    puts = sum(method == "PUT" for method, _ in seen)
    dxtest.check(puts <= 21, f"{puts} objects put")
    print(f"a small publish: {len(seen)} requests, {puts} of them PUT", flush=True)


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
    name = f"{PREFIX}/index/{world.entry()['parts'][1]}/domain_counts.dxc"
    sound = world.store.get(BUCKET, name)
    world.store.put(BUCKET, name, sound[:-9] + bytes([sound[-9] ^ 4]) + sound[-8:])
    done = dxtest.domaindex("verify", "--root", world.root, expect=3)
    dxtest.check(world.entry()["parts"][1].encode() in done.stdout + done.stderr, f"the part is named: {done.stdout} {done.stderr}")
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
