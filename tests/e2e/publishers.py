# SPDX-License-Identifier: Apache-2.0
# labels: slow
"""Eight publishers at once: one wins each sequence, the others fail with a conflict, no batch is lost.

DX_ROUNDS rounds in a directory (2; 12 with DX_WHOLE=1), DX_ROUNDS_STORE on versitygw (1; 3); a root lasts for 10 of them.
In a round each of the eight adds a batch of its own and publishes, all at the same time. A publish
ends with 0 and has its batch in the version that it names, or with 1 and says why; nothing else.
From version to version no dataset loses a row; numbers of versions are given once; in the end all
batches are there, and `verify` finds the root sound.
"""
import collections
import concurrent.futures
import json
import os
import subprocess
import sys
import time

import dxtest
import remains
import stores

PUBLISHERS = 8
ROUNDS_A_ROOT = 10
BUCKET = "lake"
TOLD = ("another domaindex is writing there", "unless another first publish is at work", "another publish or rollback was first",
        "another ingest is adding to", "was replaced or removed meanwhile")


class Local:
    """A root in a directory."""

    def __init__(self, folder, number):
        self.root = folder / f"root{number}"

    def read(self, name):
        path = self.root / name
        return path.read_bytes() if path.exists() else None


class Remote:
    """A root on a store."""

    def __init__(self, store, number):
        self.store, self.prefix = store, f"root{number}"
        self.root = store.root(BUCKET, self.prefix)

    def read(self, name):
        status, _, body = self.store.ask("GET", self.store.target(BUCKET, f"{self.prefix}/{name}"))
        return body if status == 200 else None


def run(*arguments, **options):
    return subprocess.run([str(dxtest.DOMAINDEX), *map(str, arguments)], capture_output=True,
                          check=False, timeout=300, **options)


class Publisher:
    def __init__(self, place, number):
        self.place, self.number, self.batches = place, number, 0

    def ingest(self):
        """One row more; somebody else may be writing, then once more."""
        text = f"http://p{self.number}.example/{self.batches}\nhttp://common.example/{self.batches}\n"
        end = time.monotonic() + 120
        while True:
            done = run("ingest", "--root", self.place.root, "--dataset", f"p{self.number}",
                       "--format", "list", "-", input=text.encode())
            if done.returncode == 0:
                break
            words = done.stderr.decode()
            if not any(told in words for told in TOLD) or time.monotonic() > end:
                dxtest.check(False, f"ingest of p{self.number}: {done.returncode} {words[-300:]}")
                return
            time.sleep(0.03 * (1 + self.number))
        self.batches += 1

    def publish(self):
        done = run("publish", "--root", self.place.root, "--memory", "64M", "--threads", "1", "--no-merge",
                   "--quiet")
        return done.returncode, done.stdout.decode().strip(), done.stderr.decode()


class Rounds:
    """Those of one root."""

    def __init__(self, place, seen):
        self.place, self.seen = place, seen
        self.publishers = [Publisher(place, i) for i in range(PUBLISHERS)]
        self.rows = {}      # of the current version, by dataset
        self.known = set()  # versions

    def rows_of(self, version):
        entry = next(v for v in json.loads(self.place.read("index/manifest.json"))["versions"] if v["version"] == version)
        packed = remains.file_of(self.place.read, entry, "datasets.json.zst")
        if not dxtest.check(packed is not None, f"{version}: has no datasets.json.zst"):
            return {}
        return {d["name"]: d["rows"] for d in json.loads(remains.plain_of(packed))["datasets"]}

    def turn(self, publisher):
        publisher.ingest()
        return publisher, *publisher.publish()

    def check_one(self, publisher, code, version, words, current):
        if code == 1:
            self.seen["told"] += 1
            dxtest.check(any(told in words for told in TOLD), f"a loser's words: {words[-300:]}")
            return
        if not dxtest.equal(code, 0, f"exit: {words[-300:]}"):
            return
        self.seen["unchanged" if "nothing new" in words else "won"] += 1
        if "nothing new" not in words:
            dxtest.check(version not in self.known, f"{version}: was given before")
            self.known.add(version)
        dxtest.check(version in current, f"{version}: is in no manifest")
        dxtest.equal(self.rows_of(version).get(f"p{publisher.number}"), 2 * publisher.batches,
                     f"{version}: rows of p{publisher.number}, which published it")

    def round(self, pool):
        ends = list(pool.map(self.turn, self.publishers))
        manifest = json.loads(self.place.read("index/manifest.json"))
        listed = [v["version"] for v in manifest["versions"]]
        numbers = [v["sequence"] for v in manifest["versions"]]
        dxtest.equal(len(set(numbers)), len(numbers), f"numbers are given once: {numbers}")
        for end in ends:
            self.check_one(*end, listed)
        dxtest.check(any(code == 0 for _, code, _, _ in ends), f"somebody wins: {ends}")
        dxtest.equal(set(listed), self.known, "versions: those that were won")
        rows = self.rows_of(manifest["current_version"])
        for name, count in self.rows.items():
            dxtest.check(rows.get(name, 0) >= count, f"{name}: {rows.get(name)} rows, then {count}")
        self.rows = rows

    def end(self):
        """One publish more has all batches."""
        last = self.publishers[0].publish()
        dxtest.equal(last[0], 0, f"the last publish: {last[2][-300:]}")
        dxtest.equal(self.rows_of(last[1]), {f"p{p.number}": 2 * p.batches for p in self.publishers},
                     "rows in the end")
        done = run("verify", "--root", self.place.root)
        dxtest.equal(done.returncode, 0, f"verify: {done.stdout[-300:]} {done.stderr[-300:]}")


def all_rounds(words, place_of, rounds):
    seen = collections.Counter()
    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(PUBLISHERS) as pool:
        for first in range(0, rounds, ROUNDS_A_ROOT):
            one = Rounds(place_of(first // ROUNDS_A_ROOT), seen)
            for _ in range(min(ROUNDS_A_ROOT, rounds - first)):
                one.round(pool)
                if dxtest.failures() > 20:
                    return
            one.end()
    print(f"{words}: {rounds} rounds of {PUBLISHERS} publishers: {dict(seen)}; "
          f"{time.monotonic() - begin:.0f} s", flush=True)
    dxtest.equal(sum(seen.values()), rounds * PUBLISHERS, f"{words}: each has an end")
    # In a directory each waits for half a second, and the first may have published what the others added.
    dxtest.check(seen["told"] + seen["unchanged"] > 0 and seen["won"] >= rounds, f"{words}: {dict(seen)}")


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        all_rounds("a directory", lambda n: Local(tmp, n), int(os.environ.get("DX_ROUNDS") or (12 if dxtest.WHOLE else 2)))
    if not stores.find("versitygw"):
        print("SKIP versitygw: not here")
        dxtest.finish()
    with dxtest.tempdir() as tmp, stores.Versitygw() as store, stores.environment(
            {**store.env, "TMPDIR": str(tmp)}):
        store.bucket(BUCKET)
        all_rounds("versitygw", lambda n: Remote(store, n),
                   int(os.environ.get("DX_ROUNDS_STORE") or (3 if dxtest.WHOLE else 1)))
    dxtest.finish()


if __name__ == "__main__":
    sys.exit(main())
