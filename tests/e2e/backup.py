# SPDX-License-Identifier: Apache-2.0
# labels: slow
"""`domaindex backup`: copies made in a loop while publishes, suppressions and `gc --keep 1` run beside them are sound, and
answer as the source did when their version was current; what is there is not copied again; what is damaged at either end is
found; another root is refused; from directory to store and back.

Beside merges of parts: a copy is made before, while a merge is stopped at work, between its steps, and after it, of a root that a dataset was removed
from, with collectors at both ends; each is restored into an empty place, where a publish finds nothing new, and onto the root, which refuses what is older.

In detail: `backup` in a loop beside publishes, replacements and `gc --keep 1`: every copy passes `verify
--deep` and answers as the source did at its version; what is copied again and what is not, damage at either
end, roots that are refused, restore, large objects, versitygw and MinIO both ways.

DX_BACKUPS is the number of rounds beside publishes, 1, or 5 with DX_WHOLE=1; stores with it alone.
"""
import json
import os
import shutil
import signal
import subprocess
import threading
import time

import dxtest
import faultproxy
import manifests
import remains
import stores

ROUNDS = int(os.environ.get("DX_BACKUPS", "5" if dxtest.WHOLE else "1"))
SMALL = ["--memory", "64M", "--threads", "1"]
DOMAINS = [f"d{i}.com" for i in range(8)]
GC = ["gc", "--keep", "1", "--keep-for", "0s", "--max-share", "100", "--lease-ttl", "1s", "--cursor-life", "0s",
      "--longest-request", "0s", "--skew", "1s", "--delete"]


def suffixes(root):
    """Of a root in a directory that does not exist yet."""
    return () if str(root).startswith("s3:") or (root / "psl.dat").exists() else dxtest.short_psl(root.parent, "com")


def ingest(root, number, dataset, *more, env=None):
    urls = "".join(f"http://{name}/{number}/{i}\n" for name in DOMAINS[number % 3::3] for i in range(5))
    unlocked("ingest", "--root", root, *suffixes(root), "--dataset", dataset, "--format", "list", *more, "-", input=urls.encode(), env=env)


def unlocked(*arguments, **options):
    """The command, again while another writes in the root."""
    while b"another domaindex" in (done := dxtest.domaindex(*arguments, expect=None, **options)).stderr:
        time.sleep(0.05)
    dxtest.equal(done.returncode, 0, f"{arguments[0]}: {done.stderr[-500:]}")
    return done.stdout.decode().strip()


def publish(root, *more, env=None):
    return unlocked("publish", "--root", root, *SMALL, *more, env=env)


def backup(root, to, *more, expect=0, env=None):
    done = dxtest.domaindex("backup", "--root", root, "--to", to, "--json", *more, expect=expect, env=env)
    return json.loads(done.stdout) if expect == 0 else done.stderr.decode()


def answers(root, env=None):
    """What the current version says, with rules and without the version's name."""
    lines = dxtest.domaindex("lookup", "--root", root, *DOMAINS, expect=None, env=env).stdout.decode().splitlines()
    return [{k: v for k, v in json.loads(line).items() if k != "version"} for line in lines]


def verify(root, words, env=None):
    done = dxtest.domaindex("verify", "--root", root, "--deep", *SMALL, expect=None, env=env)
    return dxtest.equal(done.returncode, 0, f"{words}: {done.stdout[-600:]} {done.stderr[-300:]}")


def beside(tmp):
    """Each backup into an earlier one, into an empty folder, or of all versions."""
    root, said, stop = tmp / "busy", {}, threading.Event()    # said: by number of the version
    counts = {"publish": 0, "gc": 0}

    def writer():
        for number in range(10000):
            if stop.is_set():
                return
            ingest(root, number, f"set{number % 2}", *(["--replace"] if number % 5 == 4 else []))
            version = publish(root, *(["--merge-max", 1] if number % 3 == 2 else []))
            merged = remains.Folder(root).manifest()["current_version"]
            same = answers(root)    # what was merged has the same, and so have the steps between
            said.update({step: same for step in range(int(version[:6]), int(merged[:6]) + 1)})
            counts["publish"] += 1
            stop.wait(0 if dxtest.WHOLE else 0.3)

    def collector():
        while not stop.is_set():
            done = dxtest.domaindex(*GC, "--root", root, expect=None)
            counts["gc"] += b" remove: " in done.stdout
            stop.wait(0 if dxtest.WHOLE else 0.3)

    ingest(root, 0, "set0")
    said[int(publish(root)[:6])] = answers(root)
    threads = [threading.Thread(target=job) for job in (writer, collector)]
    for thread in threads:
        thread.start()
    made = []
    for number in range(20 * ROUNDS): # at least ROUNDS, and until enough happened beside them
        if number >= ROUNDS and counts["publish"] > ROUNDS / 2 and counts["gc"] > 0:
            break
        to = tmp / ("kept" if number % 2 else f"copy{number}")
        more = ["--all"] if number % 4 == 2 else []
        got = backup(root, to, "--lease-ttl", "1", "--threads", "2", *more)
        made.append((to, got["version"]))
        verify(to, f"backup {number} of {counts}")
        if number % 2 == 0 or not dxtest.WHOLE:
            time.sleep(0.5)
    stop.set()
    for thread in threads:
        thread.join()
    dxtest.check(counts["publish"] > ROUNDS / 2 and counts["gc"] > 0, f"little went on beside the backups: {counts}")
    last = {to: version for to, version in made}
    for to, version in last.items():
        dxtest.equal(answers(to), said[int(version[:6])], f"answers of {to.name} at {version}")
        for entry in remains.whole(remains.Folder(to), to.name)["versions"]:
            dxtest.check(int(entry["version"][:6]) in said, f"{entry['version']} was never published")
    print(f"{len(made)} backups beside {counts}", flush=True)


def increments(tmp):
    root, to = tmp / "root", tmp / "copy"
    for number in range(3):
        ingest(root, number, f"set{number}")
        publish(root)
    dxtest.domaindex("suppress", "add", "--root", root, "--domain", "d1.com")
    dxtest.domaindex("access", "init", "--public", "--root", root)
    for what in ("init", "fill"):
        dxtest.domaindex("domain64", what, "--root", root)
    dry = backup(root, to, "--dry-run")
    dxtest.check(not to.exists() and dry["objects_copied"] == dry["objects"] >= 19, f"a dry run: {dry}")
    first = backup(root, to)
    dxtest.equal((first["objects_copied"], first["versions_new"]), (first["objects"], 1), "the first")
    again = backup(root, to)
    dxtest.equal((again["objects_copied"], again["bytes_copied"], again["versions_new"]), (0, 0, 0), "nothing is new")
    every = backup(root, to, "--all")
    dxtest.check(every["versions_new"] == 2 and 0 < every["objects_copied"] < every["objects"], f"--all: {every}")
    ingest(root, 4, "set1")
    version = publish(root)
    dry = backup(root, to, "--dry-run")
    more = backup(root, to)
    dxtest.equal((dry["objects_copied"], dry["bytes_copied"]), (more["objects_copied"], more["bytes_copied"]), "as the dry run said")
    entry = remains.Folder(root).manifest()["versions"][-1]
    own = sum(f["size"] for f in entry["files"].values())
    dxtest.check(own <= more["bytes_copied"] < own + 20000, f"what is new: {more}, {own}")
    dxtest.equal(more["version"], version, "its version")
    verify(to, "the copy")
    dxtest.equal(answers(to), answers(root), "the copy's answers, suppressions too")
    mine, its = remains.Folder(root).names(), remains.Folder(to).names()
    missing = {n for n in mine if not n.startswith(("leases/", "index/claims/")) and not n.endswith(".lock")} - its.keys()
    dxtest.equal(sorted(missing), [], "what the copy lacks")
    dxtest.equal(publish(to), version, "a publish in the copy has nothing to do")
    old = remains.Folder(root).manifest()["versions"][1]["version"]
    dxtest.equal(backup(root, to, "--version", old)["version"], old, "an older version becomes current")
    dxtest.equal(backup(root, to)["version"], version, "and the newest again")
    return root, to


def end(process, number):
    process.send_signal(number)
    process.communicate(timeout=120)


def merging(root, until):
    """A publish that merges step by step, stopped when until() holds."""
    process = subprocess.Popen([dxtest.DOMAINDEX, "publish", "--root", root, *SMALL, "--merge-max", "1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while process.poll() is None and not until():
        time.sleep(0.001)
    process.send_signal(signal.SIGSTOP)
    return process


def merges(tmp):
    """Stages of a merge, and what was removed before: files of the parts that are merged go, and do not come back."""
    root, to = tmp / "merging", tmp / "merging-copy"

    def add(dataset, name, count):
        urls = "".join(f"http://{name}{i}.com/{dataset}\n" for i in range(count)) + "".join(f"http://{d}/{dataset}\n" for d in DOMAINS)
        dxtest.domaindex("ingest", "--root", root, *suffixes(root), "--dataset", dataset, "--format", "list", "-", input=urls.encode())

    def publish_part():
        dxtest.domaindex("publish", "--root", root, *SMALL, "--merge-max", 1, "--no-merge")

    def current(of):
        return remains.Folder(of).manifest()["current_version"]

    def parts(of):
        m = remains.Folder(of).manifest()
        return 1 + len(next(v for v in m["versions"] if v["version"] == m["current_version"]).get("parts", ()))

    for dataset, name, count in (("gone", "g", 3000), ("a", "a", 4000), ("b", "b", 3500), ("c", "c", 2500)):
        add(dataset, name, count if dxtest.WHOLE else count // 2)
        publish_part()
    dxtest.domaindex("remove", "--root", root, "--dataset", "gone")
    publish_part()
    begin, said = current(root), answers(root)
    dxtest.check(parts(root) > 3, f"{parts(root)} parts are to be merged")
    seen = {}

    def stage(words, *more):
        """The copy goes on by what is new; an empty place gets the same, and gives it back."""
        got = backup(root, to, *more)
        names = (tmp / f"{words}-empty", tmp / f"{words}-back")
        for number, name in enumerate(names if dxtest.WHOLE or words in ("before", "collected") else names[:1]):
            backup(root if number == 0 else to, name, *more)
            verify(name, f"{words}: {name.name}")
            dxtest.equal(answers(name), said, f"{words}: answers of {name.name}")
            dxtest.equal(publish(name), got["version"], f"{words}: {name.name} has nothing new to publish")
        verify(to, f"{words}: the copy")
        seen[words] = (got["version"], parts(to))

    stage("before")
    process = merging(root, lambda: list((root / "index").glob("domaindex-merge-*/version/*")))
    stage("at-work")
    end(process, signal.SIGCONT)
    dxtest.check(current(root) != begin, "it was merged")
    stage("merged", "--all")
    for there in (root, to):    # the copy's collector too: its older versions and what they alone have go
        latest = time.monotonic() + 120
        while len(remains.Folder(there).manifest()["versions"]) > 1 or len(list((there / "urls").rglob("*.parquet"))) > 3:
            if not dxtest.check(time.monotonic() < latest, f"{there.name}: older versions, or files of what was removed, are not collected"):
                break
            time.sleep(0.3)
            dxtest.domaindex(*GC, "--root", there)
    stage("collected")
    dxtest.equal(seen["before"], seen["at-work"], "a merge at work is not in a copy")
    dxtest.check(seen["merged"][1] < seen["before"][1] and seen["collected"] == seen["merged"], f"versions and parts: {seen}")
    for there in (root, to, tmp / "collected-empty", tmp / "collected-back"):
        dxtest.equal(len(list((there / "urls").rglob("*.parquet"))), 3, f"{there.name}: lake files")
    dxtest.check("published there" in backup(tmp / "before-back", root, "--force", expect=1), "a backup of before a merge onto the root after it")
    backup(tmp / "collected-back", root, "--force")
    verify(root, "restored onto itself")
    dxtest.equal(answers(root), said, "answers of the root at last")


def damage(root, to, tmp):
    version = remains.Folder(to).manifest()["current_version"]
    for name in sorted(remains.lake_of(remains.Folder(to), remains.Folder(to).manifest()["versions"][-1]))[:1]:
        path = to / name
        whole = path.read_bytes()
        path.write_bytes(whole[:-1])
        dxtest.equal(backup(root, to)["objects_copied"], 1, "a file that was cut is copied again")
        path.write_bytes(whole[:99] + bytes([whole[99] ^ 1]) + whole[100:])
        dxtest.equal(backup(root, to)["objects_copied"], 0, "what has its size is believed")
        dxtest.equal(backup(root, to, "--recheck")["objects_copied"], 1, "--recheck reads it")
        path.unlink()
        backup(root, to)
        dxtest.equal(path.read_bytes(), whole, "as it was")
        bad = tmp / "bad"
        shutil.copytree(root, bad)
        (bad / name).write_bytes(whole[:99] + bytes([whole[99] ^ 1]) + whole[100:])
        words = backup(bad, tmp / "of_bad", expect=1)
        dxtest.check(name in words and not (tmp / "of_bad" / "index" / "manifest.json").exists(), words)
    verify(to, f"{version} after all that")


def refusals(root, to, tmp):
    other = tmp / "other"
    ingest(other, 1, "x")
    publish(other)
    dxtest.check("is a backup of" in backup(other, to, expect=1), "a backup of another root")
    dxtest.check("root of its own" in backup(root, other, expect=1), "another root")
    dxtest.check("other" in backup(root, other, "--force", expect=1), "another root, whatever is said")
    foreign = tmp / "foreign"
    for name in ("photo.jpg", "deep/er/photo.jpg"):
        path = foreign / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
        said = backup(root, foreign, expect=1)
        dxtest.check(f"'{name}' is there" in said and "neither empty nor a backup" in said, f"a folder with files of others: {said}")
        dxtest.equal(sorted(p.name for p in foreign.iterdir() if not p.name.startswith(".")), [name.split("/")[0]], "nothing was written there")
        shutil.rmtree(foreign)
    (foreign / "lost+found").mkdir(parents=True)
    backup(root, foreign)  # a file system of its own
    shutil.rmtree(foreign)
    dxtest.check("is in, the other" in backup(root, root / "in", expect=1), "into itself")
    dxtest.check("cannot open" in backup(tmp / "none", tmp / "n", expect=1), "no root")
    moved = tmp / "moved"
    shutil.copytree(root, moved)
    dxtest.check("--force" in backup(moved, to, expect=1), "a root under another name")
    backup(moved, to, "--force")
    backup(root, to, "--force")
    log = root / "index" / "suppressions.log"
    text = log.read_bytes()
    log.unlink()
    dxtest.check("lost" in backup(root, to, expect=1), "a log that was lost")
    dxtest.check("lost" in backup(root, tmp / "fresh", expect=1), "and into an empty place")
    log.write_bytes(text)
    ingest(to, 5, "set1")
    publish(to)
    dxtest.check("published there" in backup(root, to, expect=1), "a copy that went its own way")


def restore(root, tmp):
    """What was lost comes back by a backup of the backup, and goes on from there."""
    to, back = tmp / "second", tmp / "back"
    backup(root, to, "--all")
    backup(to, back, "--all")
    dxtest.equal(answers(back), answers(root), "answers after a restore")
    dxtest.equal([v["version"] for v in remains.Folder(back).manifest()["versions"]],
                 [v["version"] for v in remains.Folder(root).manifest()["versions"]], "versions after a restore")
    for there in (root, back):
        ingest(there, 7, "set2")
        publish(there)
        dxtest.domaindex("suppress", "add", "--root", there, "--domain", "d2.com")
    dxtest.equal(answers(back), answers(root), "after the next publish")
    verify(back, "after the next publish")


def older_log(root, tmp):
    """A log that DEST has lost is not replaced by an older one."""
    to, back = tmp / "older", tmp / "newer"
    backup(root, to)
    backup(to, back)
    dxtest.domaindex("suppress", "add", "--root", back, "--domain", "d3.com")
    log = back / "index" / "suppressions.log"
    log.unlink()
    said = backup(to, back, expect=1)
    dxtest.check("were in force" in said and "suppress accept" in said, f"an older log: {said}")
    dxtest.check(not log.exists(), "it was not written")
    dxtest.domaindex("suppress", "accept", "--root", back)
    backup(to, back)
    dxtest.equal(log.read_bytes(), (to / "index" / "suppressions.log").read_bytes(), "after suppress accept")


def on_stores(root, tmp):
    found = stores.kinds()
    for kind in found:
        with kind() as store:
            env = {**{k: v for k, v in os.environ.items() if not k.startswith("AWS_")}, **store.env}
            store.bucket("bucket")
            far, other = store.root("bucket", "one"), store.root("bucket", "two/deep")
            words = store.program
            first = backup(root, far, "--all", env=env)
            dxtest.equal(backup(root, far, "--all", env=env)["objects_copied"], 0, f"{words}: again")
            verify(far, words, env)
            dxtest.equal(answers(far, env), answers(root), f"{words}: answers")
            dxtest.equal(backup(far, other, "--all", env=env)["objects_copied"], first["objects"], f"{words}: store to store")
            ingest(other, 8, "set1", env=env)
            version = publish(other, env=env)
            home = tmp / f"home-{words}"
            got = backup(other, home, env=env)
            dxtest.equal(got["version"], version, f"{words}: what was published in the copy")
            verify(home, f"{words}, back home")
            dxtest.equal(answers(home), answers(other, env), f"{words}: back home")
            leases = [n for n in remains.Bucket(store, "bucket", "two/deep").names() if n.startswith("leases/")]
            dxtest.equal(len(leases), 1, f"{words}: leases left")
    return found


class Overwritten(faultproxy.Proxy):
    """The manifest is written, by us or not at all, then by another writer; the reply to our write is lost."""

    other = None     # from ours to what the other writes in its place; None: ours again

    async def answer(self, request):
        if request.method != "PUT" or not request.target.endswith("/index/manifest.json") or self.injected:
            return await super().answer(request)
        reply = faultproxy.Reply(200, "OK", [], b"") if self.other else await super().answer(request)
        self.wrote = self.other(request.body) if self.other else request.body
        self.store.put("bucket", "far/index/manifest.json", self.wrote)
        faultproxy.no_reply(reply, None)
        self.injected["overwritten"] = 1
        return reply


def manifest_of(body):
    m = manifests.Manifest.__new__(manifests.Manifest)
    m.json = json.loads(body)
    del m.json["checksum"]
    return m


def later(body):
    """Our version is current, under the sequence of another flip."""
    m = manifest_of(body)
    m.json["sequence"] += 1
    return m.text()


def flipped(body):
    """Under our sequence another version is current."""
    m = manifest_of(body)
    m.flip(m.names()[0])
    m.json["sequence"] -= 1
    return m.text()


def unknown_outcomes(root, tmp):
    """Of a write of the manifest that the store does not know to be ours, what is there decides: the copy is current, or it is not."""
    if not stores.find("versitygw"):
        return
    with stores.Versitygw() as store, Overwritten(store.url) as proxy:
        env = {**os.environ, **store.env}
        proxied = {**env, "AWS_ENDPOINT_URL_S3": proxy.url}
        proxy.store = store
        store.bucket("bucket")
        far = store.root("bucket", "far")
        written = []
        for number in range(2):
            proxy.set()
            said = backup(root, far, env=proxied)
            written.append(store.get("bucket", "far/index/manifest.json"))
            dxtest.equal((proxy.injected, json.loads(written[-1])["current_version"]), ({"overwritten": 1}, said["version"]), "ours is there: done")
            dxtest.equal(answers(far, env), answers(root), "ours is there: answers")
            ingest(root, 40 + number, "set1")
            publish(root)
        for number, other in enumerate((lambda _: written[0], later, flipped)):
            proxy.set()
            proxy.other = other
            said = backup(root, far, expect=1, env=proxied)
            dxtest.check("outcome unknown" in said, f"another is there, {number}: {said}")
            dxtest.equal((proxy.injected, store.get("bucket", "far/index/manifest.json")), ({"overwritten": 1}, proxy.wrote), f"another is there, {number}")
            backup(root, far, env=env)
            dxtest.equal(answers(far, env), answers(root), f"another was there, {number}, and again: answers")
            ingest(root, 5 + number, "set1")
            publish(root)


def large(tmp):
    """Objects over 4 MiB take another way: through a file, and in parts."""
    root, text = tmp / "large", tmp / "large.txt"
    count, size = (300000, 16) if dxtest.WHOLE else (20000, 300)
    text.write_bytes(b"".join(b"http://l%d.com/%s\n" % (i % 1000, os.urandom(size).hex().encode()) for i in range(count)))
    dxtest.domaindex("ingest", "--root", root, *suffixes(root), "--dataset", "l", "--format", "list", text)
    publish(root)
    dxtest.check(max(p.stat().st_size for p in root.rglob("*")) > 5 << 20, "no object is large")
    backup(root, tmp / "large2")
    verify(tmp / "large2", "large objects")
    if dxtest.WHOLE and stores.find("versitygw"):
        with stores.Versitygw() as store:
            env = {**os.environ, **store.env}
            store.bucket("bucket")
            backup(root, store.root("bucket", "x"), env=env)
            backup(store.root("bucket", "x"), tmp / "large3", env=env)
            verify(tmp / "large3", "large objects, through a store")


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        beside(tmp)
        merges(tmp)
        root, to = increments(tmp)
        damage(root, to, tmp)
        refusals(root, to, tmp)
        restore(root, tmp)
        older_log(root, tmp)
        large(tmp)
        if dxtest.WHOLE:
            unknown_outcomes(root, tmp)
        found = not dxtest.WHOLE or on_stores(root, tmp)
    dxtest.finish(None if found else "no versitygw and no minio here: stores were not tried")


main()
