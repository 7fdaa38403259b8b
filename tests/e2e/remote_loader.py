# SPDX-License-Identifier: Apache-2.0
# labels: threads slow
"""A version of a remote root: its mirror, cold, warm, shared, broken off, and over a damaged store.

A small root is made and served by nginx and by an S3 server that is installed (DX_WHOLE=1: by each); `lookup` and
`versions` answer from it as from the directory, byte for byte, or say why they cannot.

With DX_WHOLE=1 each file of the store is damaged in five ways and each of a mirror in four, else every second of the store and all of a mirror in one
of them, each way of some files; and
40 lookups are killed, not 6; a mirror that is full is asked beside an empty one for each damage, not for every third file.
"""
import concurrent.futures
import json
import os
import random
import shutil
import signal
import subprocess
import time

import dxtest
import stores

NAMES = 400
KILLS, RESTS = (40, 10) if dxtest.WHOLE else (6, 3)    # lookups that are killed; behind so many of them one that is not
# Of a version: what the loader copies; of the others the lookups below read some by range.
COPIED = ("domains.dict", "domains.mphf", "domain_to_datasets.roar", "domain_counts.dxc",
          "postings.dxp", "pages.dxp", "dataset_domains.dxt", "cold.dxp", "tags.dxt", "datasets.json.zst", "psl.dat.zst")
POSTINGS = ("postings.idx.zst", "postings.dat.zst")
COLD = ("facts.dat.zst", "sketches.dat.zst", "url_ids.dat.zst")
TELLS = " files fetched ("


def ingest(root, dataset, names, paths):
    text = "url\ttags\n" + "".join(f'http://name{i}.com/{dataset}/{k}\t["t{k}"]\n' for i in names for k in range(paths))
    dxtest.domaindex("ingest", "--root", root, "--dataset", dataset, "--format", "tsv", "--header", "--url-column", "url", *dxtest.short_psl(root.parent, "com"),
                     "--extra-column", "tags", "-", input=text.encode())


def publish(root):
    dxtest.domaindex("publish", "--root", root, "--memory", "64M")
    return current(root)


def current(root):
    """Name and files of the current version."""
    manifest = json.loads((root / "index" / "manifest.json").read_text())
    version = next(v for v in manifest["versions"] if v["version"] == manifest["current_version"])
    return version["version"], version["files"]


def needed(root, more=()):
    """Names in the mirror of what the current version is opened from: of older parts all but registry and suffix list."""
    manifest = json.loads((root / "index" / "manifest.json").read_text())
    versions = {v["version"]: v for v in manifest["versions"]}
    own = versions[manifest["current_version"]]
    names = set()
    for part in (*own.get("parts", ()), own["version"]):
        files = versions[part]["files"]
        names |= {stored_name(files[name]) for name in (*COPIED, "dead.dxb", *more) if name in files
                  and (part == own["version"] or name not in ("datasets.json.zst", "psl.dat.zst"))}
    return names


# What is asked: domains, of which one is absent, and listings that read postings and lake.
ASKED = (tuple(f"name{i}.com" for i in range(0, NAMES, 37)) + ("absent.example",),
         ("--dataset", "1", "--limit", "7", "name3.com", "name36.com", "name399.com"),
         ("--dataset", "2", "--offset", "2", "name74.com", "name1.com"))


def ask(root, cache=None, *options, expect=(0, 1), questions=ASKED):
    """Exit codes, answers and words of each question."""
    place = ("--cache-dir", cache) if cache else ()
    all_of = []
    for asked in questions:
        done = dxtest.domaindex("lookup", "--root", root, *place, *options, *asked, expect=None,
                                timeout=120)
        dxtest.check(done.returncode in expect, f"{root} {asked}: exit {done.returncode} "
                     f"{done.stderr[-300:]!r}")
        all_of.append((done.returncode, done.stdout, done.stderr.decode()))
    return all_of


def ask_at_once(root, caches):
    """ask() of each cache, all at the same time: over a damaged store most of it is waiting."""
    with concurrent.futures.ThreadPoolExecutor(len(caches) * len(ASKED)) as pool:
        running = [[pool.submit(dxtest.domaindex, "lookup", "--root", root, "--cache-dir", cache,
                                *asked, expect=None, timeout=120) for asked in ASKED]
                   for cache in caches]
        return [[(r.returncode, r.stdout, r.stderr.decode()) for r in (f.result() for f in one)]
                for one in running]


def same(got, want, words):
    for g, w in zip(got, want):
        dxtest.equal(g[:2], w[:2], f"{words}: {g[2]!r:.300}")


def objects_of(cache):
    folder = cache / "objects"
    return {str(p.relative_to(folder).name): p for p in folder.rglob("*") if p.is_file()}


def stored_name(file):
    return f"{file['hash']}-{file['size']}"


def check_mirror(cache, want, words):
    """Exactly the files of the versions, whole, and nothing under way."""
    have = objects_of(cache)
    dxtest.equal(set(have), want, f"{words}: objects of the mirror")
    for name, path in have.items():
        dxtest.equal(path.stat().st_size, int(name.split("-")[1]), f"{words}: {name}")
    dxtest.equal(list((cache / "partial").iterdir()), [], f"{words}: partial files")


def cold_and_warm(url, tmp, words):
    root = tmp / "root"
    cache = tmp / f"cache-{words}"
    want = ask(root)
    cold = ask(url, cache)
    same(cold, want, f"{words}, cold")
    dxtest.check(TELLS in cold[0][2], f"{words}: words of a cold mirror: {cold[0][2]}")
    check_mirror(cache, needed(root), words)
    warm = ask(url, cache)
    same(warm, want, f"{words}, warm")
    for _, _, err in cold[1:] + warm:
        dxtest.check(TELLS not in err, f"{words}: a warm mirror, yet: {err}")
    same(ask(url, tmp / f"cache-{words}-all", "--mirror-postings"), want, f"{words}, postings too")
    dxtest.equal(len(objects_of(tmp / f"cache-{words}-all")),
                 len(needed(root, (*POSTINGS, *COLD[0::2]))), f"{words}: all postings")
    for option in ((), ("--json",)):
        dxtest.equal(dxtest.domaindex("versions", "--root", url, *option).stdout,
                     dxtest.domaindex("versions", "--root", root, *option).stdout,
                     f"{words}: versions {option}")
    done = dxtest.domaindex("lookup", "--root", url + "/nowhere", "--cache-dir", cache, "x.com",
                            expect=1)
    dxtest.check("no index here yet" in done.stderr.decode(), f"{words}: {done.stderr}")


def check_new_version(store, tmp):
    """A new version brings what it does not share with the one before."""
    root, cache = tmp / "root", tmp / "cache-nginx"
    before = set(objects_of(cache))
    ingest(root, "three", range(0, 30), 2)
    publish(root)
    new = needed(root) - before
    dxtest.check(0 < len(new) < len(COPIED) + 1, f"a new version shares some files: {len(new)}")
    same(ask(store.url, cache), ask(root), "the new version")
    dxtest.equal(set(objects_of(cache)) - before, new, "what a new version brings")
    # And the old one is still there for those who ask for it.
    manifest = json.loads((root / "index" / "manifest.json").read_text())
    old = manifest["versions"][0]["version"]
    same(ask(store.url, cache, "--version", old), ask(root, None, "--version", old), "the old one")


def check_together(store, tmp):
    """Several processes, one cold mirror: each file comes once."""
    cache = tmp / "cache-together"
    want = ask(tmp / "root")
    version, files = current(tmp / "root")
    before = {n: store.requests_of(f"/{version}/{n} ") for n in COPIED}
    several = 6 if dxtest.WHOLE else 3
    with concurrent.futures.ThreadPoolExecutor(several) as pool:
        for got in pool.map(lambda _: ask(store.url, cache), range(several)):
            same(got, want, "several at once")
    check_mirror(cache, needed(tmp / "root"), "several at once")
    for name in COPIED:
        dxtest.equal(store.requests_of(f"/{version}/{name} ") - before[name], 1,
                     f"several at once: requests for {name}")


def check_kill(store, tmp):
    """kill -9 at any moment: what is left is whole, or goes on."""
    clock = random.Random(7)
    cache = tmp / "cache-kill"
    want = ask(tmp / "root")
    killed = 0
    for i in range(KILLS):
        process = subprocess.Popen([str(dxtest.DOMAINDEX), "lookup", "--root", store.url,
                                    "--cache-dir", str(cache), *ASKED[0]],
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        time.sleep(clock.random() * 0.03)
        process.send_signal(signal.SIGKILL)
        out = process.stdout.read()
        killed += process.wait() == -signal.SIGKILL
        process.stdout.close()
        dxtest.check(want[0][1].startswith(out), f"killed: {out[:200]!r}")
        for name, path in objects_of(cache).items() if (cache / "objects").exists() else ():
            dxtest.equal(path.stat().st_size, int(name.split("-")[1]), f"killed: {name}")
        if i % RESTS == RESTS - 1:
            same(ask(store.url, cache), want, "after kills")
            shutil.rmtree(cache)
    dxtest.check(killed > 0, "at least one was killed")


def damages(path):
    """Ways to damage a file behind the server, each undone."""
    sound = path.read_bytes()
    rng = random.Random(len(sound))
    flipped = bytearray(sound)
    flipped[rng.randrange(len(sound))] ^= 1 << rng.randrange(8)
    for words, body in (("flipped", bytes(flipped)), ("cut", sound[:rng.randrange(len(sound))]),
                        ("longer", sound + b"x"), ("empty", b""), ("missing", None)):
        mode = path.stat().st_mode
        path.unlink()
        if body is not None:
            path.write_bytes(body)
            path.chmod(mode)
        yield words
        path.unlink(missing_ok=True)
        path.write_bytes(sound)
        path.chmod(mode)


def check_damage(store, tmp):
    root = tmp / "root"
    version, files = current(root)
    served = tmp / "served"
    warm, cold = tmp / "cache-warm", tmp / "cache-cold"
    want = ask(store.url + "/served", warm)
    same(want, ask(root), "the copy to be damaged")
    lake = sorted(p for p in (served / "urls").rglob("*.parquet"))
    # Cold files are not read for these questions: tests/unit/query/rows/test_cold_page.c damages them.
    picked = [served / "index" / version / n for n in files if n not in COLD]
    failed = 0
    for number, path in enumerate([*(picked + lake[:2])[::1 if dxtest.WHOLE else 2], served / "index" / "manifest.json"]):
        for way, words in enumerate(damages(path)):
            if not dxtest.WHOLE and (way - number) % 5:
                continue    # each file in one way, each way of some files
            shutil.rmtree(cold, ignore_errors=True)
            caches = (cold, warm) if dxtest.WHOLE or number % 3 == 0 else (cold,)
            all_of = ask_at_once(store.url + "/served", caches)
            for cache, answers in zip(caches, all_of):
                what = f"{path.relative_to(served)} {words}, {cache.name}"
                for got, right in zip(answers, want):
                    lines, sound = got[1].splitlines(), right[1].splitlines()
                    if got[:2] == right[:2]:
                        continue
                    failed += 1
                    dxtest.equal(got[0], 1, f"{what}: exit code")
                    dxtest.check(not lines or len(lines) == len(sound), f"{what}: {got!r:.300}")
                    for line, other in zip(lines, sound):
                        dxtest.check(line == other or "problem" in json.loads(line),
                                     f"{what}: {line[:300]!r}")
                    dxtest.check(lines or "domaindex lookup: " in got[2], f"{what}: {got[2]!r}")
                    dxtest.check(cache is cold or path.name not in COPIED,
                                 f"{what}: is in the mirror, yet {got[2]!r:.300}")
                for name, object_path in (objects_of(cache).items()
                                          if (cache / "objects").exists() else ()):
                    dxtest.equal(object_path.stat().st_size, int(name.split("-")[1]), what)
    same(ask(store.url + "/served", cold), want, "all put right again")
    print(f"damaged store: {number + 1} objects {'in five ways' if dxtest.WHOLE else 'in one of five ways'}, {failed} errors, "
          f"no wrong answer")
    dxtest.check(failed > 0, "damage was seen")


def check_damaged_mirror(store, tmp):
    """Copies that were changed on this disk: found, and fetched again."""
    cache, want = tmp / "cache-warm", ask(tmp / "root")
    _, files = current(tmp / "root")
    for number, name in enumerate(COPIED):
        path = objects_of(cache)[stored_name(files[name])]
        sound = path.read_bytes()
        for way, (words, body) in enumerate((("cut", sound[:-1]), ("gone", None),
                                             ("flipped", bytes([sound[0] ^ 1]) + sound[1:]),
                                             ("flipped at its end", sound[:-1] + bytes([sound[-1] ^ 1])))):
            if not dxtest.WHOLE and (way - number) % 4:
                continue
            path.unlink(missing_ok=True)
            if body is not None:
                path.write_bytes(body)
            one = (way + number) % len(ASKED)     # the first question mends the mirror
            same(ask(store.url, cache, "--verify", questions=ASKED[one:one + 1]), want[one:one + 1], f"mirror: {name} {words}")
            dxtest.equal(objects_of(cache)[path.name].read_bytes(), sound,
                         f"mirror: {name} {words}: fetched again")
    everything = tmp / "cache-all"
    same(ask(store.url, everything, "--mirror-postings"), want, "postings too")
    for name in POSTINGS:
        path = objects_of(everything)[stored_name(files[name])]
        sound = path.read_bytes()
        path.chmod(0o644)
        with open(path, "r+b") as changed:   # in place: the tree has it by another name
            changed.write(bytes([sound[0] ^ 1]))
        same(ask(store.url, everything, "--mirror-postings", "--verify"), want,
             f"mirror: {name} changed in place")


def check_full_disk(store):
    """A mirror that nothing can be written to: words, no answer."""
    done = dxtest.domaindex("lookup", "--root", store.url, "--cache-dir", "/proc/domaindex",
                            "name1.com", expect=1)
    dxtest.check("/proc/domaindex" in done.stderr.decode() and not done.stdout, done.stderr)
    done = dxtest.run(dxtest.DOMAINDEX, "lookup", "--root", store.url, "name1.com", expect=1,
                      env={"CACHE_DIRECTORY": "", "XDG_CACHE_HOME": "", "HOME": ""})
    dxtest.check("--cache-dir" in done.stderr.decode(), done.stderr)
    for name, value in (("DOMAINDEX_DEADLINE_MS", "soon"), ("DOMAINDEX_S3_ANONYMOUS", "yes")):
        done = dxtest.run(dxtest.DOMAINDEX, "lookup", "--root", store.url, "name1.com", expect=1,
                          env={name: value})
        dxtest.check(name in done.stderr.decode(), done.stderr)


def make_bucket(store):
    """A server that answers may still be setting itself up."""
    for _ in range(100):
        try:
            return store.bucket("bucket")
        except RuntimeError as error:
            if "503" not in str(error):
                raise
        time.sleep(0.1)
    raise AssertionError(f"{store.program} does not make a bucket")


def check_s3(server, tmp):
    with server as store:
        make_bucket(store)
        store.upload("bucket", "a/prefix", tmp / "root")
        with stores.environment(store.env):
            cold_and_warm(store.root("bucket", "a/prefix"), tmp, server.program)
        with stores.environment({**store.env, "AWS_SECRET_ACCESS_KEY": "another"}):
            done = dxtest.domaindex("lookup", "--root", store.root("bucket", "a/prefix"),
                                    "--cache-dir", tmp / "cache-no", "name1.com", expect=1)
            dxtest.check("403" in done.stderr.decode(), f"{server.program}: {done.stderr}")


def main():
    dxtest.need_programs()
    stores.need("nginx")
    with dxtest.tempdir() as tmp:
        root = tmp / "root"
        ingest(root, "one", range(NAMES), 9)
        ingest(root, "two", range(0, NAMES, 2), 4)
        publish(root)
        (tmp / "web").mkdir()
        os.symlink(tmp / "served", tmp / "web" / "served")
        for kind in stores.kinds():
            check_s3(kind(), tmp)
        if not stores.kinds():
            print("SKIPPED in part: no S3 server (scripts/storage_servers.sh gets them)")
        with stores.Nginx(root) as store:
            cold_and_warm(store.url, tmp, "nginx")
            check_together(store, tmp)
            check_kill(store, tmp)
            check_full_disk(store)
            check_new_version(store, tmp)
        with stores.Nginx(root, tls=True) as store:
            with stores.environment({"DOMAINDEX_CA_FILE": str(store.ca)}):
                cold_and_warm(store.url, tmp, "nginx-tls")
            done = dxtest.domaindex("lookup", "--root", store.url, "--cache-dir", tmp / "no-ca",
                                    "name1.com", expect=1)
            dxtest.check("certificate" in done.stderr.decode().lower(), done.stderr)
        shutil.copytree(root, tmp / "served")
        with stores.Nginx(tmp / "web") as store:
            check_damage(store, tmp)
        with stores.Nginx(root) as store:
            check_damaged_mirror(store, tmp)
    dxtest.finish()


main()
