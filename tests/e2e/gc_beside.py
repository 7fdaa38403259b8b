# SPDX-License-Identifier: Apache-2.0
# labels: slow threads long
"""Two collectors at once, beside publishes, rollbacks and readers with leases, in a directory and on
versitygw, DX_BESIDE_S seconds each (3; 6 with DX_WHOLE=1) or until each of them has done something, with waits of seconds.

Readers are tests/unit/loader/test_lease.c's driver: they follow the current version, keep older ones at
random, at times sleep longer than their lease, and one begins anew under its old name. As long as the
lease says, every object and lake file of what they hold must be there. Every version that may be
read must be whole at any time. Afterwards, when all have ended, gc leaves exactly what the versions
with an entry have, and verify finds them sound.

Then what gc refuses: a wrong root, more than half, servers with longer times, a lease that is none, a
list that is missing; and a lease holds a dropped version until it runs out.

In detail: two collectors beside publishes, rollbacks and readers with leases, in a directory and on versitygw
(`DX_BESIDE_S` seconds each): what is held or may be read is whole at any time; then what gc refuses.
"""
import contextlib
import json
import os
import random
import subprocess
import threading
import time
import traceback

import dxtest
import remains
import stores
from leases import Driver

SECONDS = float(os.environ.get("DX_BESIDE_S") or (6 if dxtest.WHOLE else 3))
WAITS = ["--lease-ttl", "1s", "--cursor-life", "0s", "--longest-request", "0s", "--skew", "1s"]
NO_WAIT = ["--lease-ttl", "0s", "--cursor-life", "0s"]
TTL_S = 5  # of a lease that is renewed beside commands, however slow the machine is
PUBLISH = ["--memory", "64M", "--threads", "1"]


# By chance every rollback may name a version that was collected just then: the command says so, and that counts.
HAPPENS = (("gc",), ("publish",), ("rollback", "rollback told"), ("holds",), ("held, looked at",), ("whole",))


class World:
    """Threads that go round until the time is over; the first trouble of each is kept."""

    def __init__(self, there, env, scratch):
        self.there, self.env, self.scratch = there, env, scratch
        self.until = time.monotonic() + SECONDS
        self.counts, self.lock, self.batch = {}, threading.Lock(), 0

    def happened(self, names):
        return sum(self.counts.get(name, 0) for name in names) > 0

    def over(self):
        """On a machine that is busy some have done nothing yet."""
        late = time.monotonic() - self.until
        return late >= 0 and (late > 60 or all(map(self.happened, HAPPENS)))

    def count(self, name):
        with self.lock:
            self.counts[name] = self.counts.get(name, 0) + 1

    def run(self, command, *arguments, refusals=()):
        """Exit 0, or 1 with one of these words: who comes second is told."""
        done = dxtest.domaindex(command, "--root", self.there.root, *arguments, expect=None,
                                env=self.env)
        words = done.stderr.decode()
        if done.returncode == 0:
            self.count(command)
        elif any(part in words for part in refusals):
            self.count(command + " told")
        else:
            dxtest.check(False, f"{command} {arguments}: exit {done.returncode}: {words[-500:]}")
        return done

    def job(self, job):
        try:
            job()
        except Exception:  # or nobody would hear of it
            dxtest.check(False, traceback.format_exc())

    def publisher(self, number):
        chance = random.Random(number)
        while not self.over():
            self.batch += 1
            urls = "".join(f"http://p{number}.example.com/{self.batch}/{i}\n" for i in range(9))
            done = dxtest.domaindex("ingest", "--root", self.there.root, "--dataset",
                                    f"set{chance.randrange(3)}", "--format", "list", "-",
                                    input=urls.encode(), expect=None, env=self.env)
            self.count("ingest" if done.returncode == 0 else "ingest told")
            # One that has lost may hear of it by its objects, which are a collector's by then.
            self.run("publish", *PUBLISH,
                     refusals=("another", "first", "meanwhile", "does not read back"))

    def roller(self):
        chance = random.Random(5)
        while not self.over():
            time.sleep(0.3)
            names = [v["version"] for v in self.there.manifest()["versions"]
                     if v["state"] != "dropped"]
            self.run("rollback", chance.choice(names),
                     refusals=("another", "already", "current", "dropped", "no version", "first"))

    def collector(self):
        while not self.over():
            self.run("gc", "--keep", "1", "--keep-for", "0s", "--max-share", "100", *WAITS,
                     "--delete", refusals=("another domaindex is writing",))
            time.sleep(0.1)

    def watcher(self):
        """What may be read is whole: looked at between two looks at the same manifest."""
        while not self.over():
            before = self.there.get("index/manifest.json")
            names = self.there.names()
            if self.there.get("index/manifest.json") != before:
                continue
            for entry in json.loads(before)["versions"]:
                if entry["state"] != "dropped":
                    missing = remains.objects_of(entry) - names.keys()
                    dxtest.equal(sorted(missing)[:3], [], f"{entry['version']} may be read, but")
            self.count("whole")

    def held_is_there(self, known, held):
        """Only what was looked at before the lease ran out can have been missed wrongly."""
        names = self.there.names()
        now = time.monotonic()
        for version, until in held.items():
            if now < until:
                missing = known[version] - names.keys()
                dxtest.equal(sorted(missing)[:3], [], f"{version} is held, but without")
                self.count("held, looked at")

    def learn(self, known):
        manifest = self.there.manifest()
        for entry in manifest["versions"]:
            if entry["version"] not in known and entry["state"] != "dropped":
                try:
                    lake = remains.lake_of(self.there, entry)
                except (OSError, subprocess.CalledProcessError, AssertionError, SystemExit):
                    continue  # it went between the two
                known[entry["version"]] = remains.closure_of(manifest, entry) | lake
        return manifest["current_version"]

    def reader(self, number):
        chance = random.Random(number)
        settings = [f"server=reader-{number}", "ttl=1", "life=0", "request=0"]
        driver, known, held = Driver(self.there.root, *settings, env=self.env), {}, {}
        while not self.over():
            wanted = {self.learn(known)} | {v for v in held if chance.random() < 0.9}
            held = driver.hold(sorted(v for v in wanted if v in known)) or {}
            self.count("holds")
            self.held_is_there(known, held)
            time.sleep(chance.choice([0.1, 0.2, 0.3, 0.9, 1.6]))
            self.held_is_there(known, held)
            if number == 0 and chance.random() < 0.2:
                driver.end(kill=True)
                driver, held = Driver(self.there.root, *settings, env=self.env), {}
                self.count("readers killed")
        driver.end()


def settle(world, words):
    there = world.there
    time.sleep(3.2)  # a lease of 1 s, in times of whole seconds
    world.run("gc", "--keep", "1", "--keep-for", "0s", "--max-share", "100", *NO_WAIT, "--delete")
    manifest = remains.whole(there, words)
    want = set().union(*(remains.objects_of(e) | remains.lake_of(there, e)
                         for e in manifest["versions"]))
    newest = max(e["version"] for e in manifest["versions"])
    kept = {newest, manifest["current_version"]}
    parts = {part for e in manifest["versions"] if e["version"] in kept for part in e.get("parts", ())}
    dxtest.equal({e["version"] for e in manifest["versions"]}, kept | parts, f"{words}: what stays")
    index = {n for n in there.names() if n.count("/") > 1 and n.startswith("index/0")}
    dxtest.equal(sorted(index ^ {n for n in want if n.startswith("index/")})[:5], [],
                 f"{words}: objects")
    world.run("verify", "--deep")


def together(there, env, scratch, words):
    for name in ("one", "two"):
        dxtest.domaindex("ingest", "--root", there.root, "--dataset", name, "--format", "list", "-",
                         input=f"http://{name}.example.com/\n".encode(), env=env)
        dxtest.domaindex("publish", "--root", there.root, *PUBLISH, env=env)
    world = World(there, env, scratch)
    jobs = [lambda: world.publisher(0), world.roller, world.collector, world.collector,
            world.watcher, lambda: world.reader(0), lambda: world.reader(1)]
    if not isinstance(there, remains.Folder):
        jobs.append(lambda: world.publisher(1))
    threads = [threading.Thread(target=world.job, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    settle(world, words)
    print(f"{words}: {dict(sorted(world.counts.items()))}", flush=True)
    for names in HAPPENS:
        dxtest.check(world.happened(names), f"{words}: {names[0]} happened: {world.counts}")


# ---- what is refused, what is waited for

def gc(root, *arguments, expect=0, says="", env=None):
    done = dxtest.domaindex("gc", "--root", root, "--keep-for", "0s", *arguments, expect=None,
                            env=env)
    text = done.stdout.decode() + done.stderr.decode()
    dxtest.equal(done.returncode, expect, f"gc {arguments}: {text[-400:]}")
    dxtest.check(says in text, f"gc {arguments} says '{says}': {text[-400:]}")
    return text


def versions_of(there):
    return {e["version"]: e["state"] for e in there.manifest()["versions"]}


def refusals(tmp):
    there = remains.Folder(tmp / "refusals")
    gc(tmp / "nowhere", "--delete", expect=1, says="not a domaindex root")
    dxtest.check(not (tmp / "nowhere").exists(), "a wrong root is not made")
    gc("http://127.0.0.1:9/x", "--delete", expect=1, says="can only be read")
    for number in range(4):
        urls = "".join(f"http://s{i}.example.com/{number}\n" for i in range(50))
        dxtest.domaindex("ingest", "--root", there.root, "--dataset", f"d{number}", "--format",
                         "list", "-", input=urls.encode())
        dxtest.domaindex("publish", "--full", "--root", there.root, *PUBLISH)
    before = there.names()
    gc(there.root, "--keep", "1", "--delete", *NO_WAIT, expect=1, says="--max-share")
    gc(there.root, "--keep", "1", "--max-share", "100", says="condemned 3, dropped 0")
    gc(there.root, "--keep", "3", "--keep-for", "1h", "--delete", *NO_WAIT, says="removed 0")
    dxtest.equal(there.names(), before, "refused, dry and kept: nothing is gone")
    oldest = min(versions_of(there))
    files = f"index/{oldest}/files.tsv.zst"
    list_of_files = there.get(files)
    for words, change in (("missing", lambda: there.remove(files)),
                          ("damaged", lambda: there.put(files, b"x" * len(list_of_files)))):
        change()
        gc(there.root, "--keep", "3", "--delete", *NO_WAIT, expect=1, says="nothing is removed")
        there.put(files, list_of_files)
        dxtest.equal(there.names(), before, f"list {words}: nothing is gone")
    there.put("leases/odd.json", b"{}")
    gc(there.root, "--keep", "3", "--delete", *NO_WAIT, expect=1, says="leases/odd.json")
    there.remove("leases/odd.json")
    leased(there, oldest)


@contextlib.contextmanager
def held_on(driver, version):
    """Asks for it again and again meanwhile, as a server does."""
    over = threading.Event()

    def hold():
        while not over.wait(0.2):
            dxtest.check(version in (driver.hold([version]) or {}), "held")

    holder = threading.Thread(target=hold)
    holder.start()
    try:
        yield
    finally:
        over.set()
        holder.join()


def leased(there, oldest):
    """Held over the drop; then it runs out."""
    driver = Driver(there.root, "server=web", f"ttl={TTL_S}", "life=0", "request=0")
    dxtest.check(oldest in (driver.hold([oldest]) or {}), "held")
    with held_on(driver, oldest):
        gc(there.root, "--keep", "3", "--delete", *NO_WAIT, expect=1, says="server web reckons with")
        waits = ["--lease-ttl", f"{TTL_S}s", "--cursor-life", "0s", "--longest-request", "0s", "--skew", "0s"]
        gc(there.root, "--keep", "3", "--delete", *waits, says="condemned 1, dropped 0")
        gc(there.root, "--keep", "3", "--delete", *waits, says="waiting 1")
        time.sleep(TTL_S + 1.2)
        objects = {n for n in there.names() if n.startswith(f"index/{oldest}/")}
        gc(there.root, "--keep", "3", "--delete", *waits, says="server web reads it")
        dxtest.equal(versions_of(there)[oldest], "dropped", "dropped while it is held")
        dxtest.check(objects <= there.names().keys(), "held: nothing is gone")
    dxtest.check(oldest in (driver.hold([oldest]) or {}), "held on, though it is dropped")
    driver.end(kill=True)
    gc(there.root, "--keep", "3", "--delete", *waits, says="waiting 1")
    time.sleep(TTL_S + 0.2)
    gc(there.root, "--keep", "3", "--delete", *waits, says="removed 1")
    dxtest.check(oldest not in versions_of(there), "gone")
    dxtest.check(not any(n.startswith(f"index/{oldest}/") for n in there.names()), "all of it")
    remains.whole(there, "after a lease ran out")
    dxtest.domaindex("verify", "--deep", "--root", there.root)


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        refusals(tmp)
        together(remains.Folder(tmp / "root"), {}, tmp, "in a directory")
        if not stores.find("versitygw"):
            print("no versitygw here: a store is left out", flush=True)
            dxtest.finish()
        with stores.Versitygw() as store:
            store.bucket("lake")
            together(remains.Bucket(store, "lake", "a/root"), store.env, tmp, "on versitygw")
    dxtest.finish()


if __name__ == "__main__":
    main()
