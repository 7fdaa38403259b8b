# SPDX-License-Identifier: Apache-2.0
# labels: plain
"""Parts that are merged after a publish, into another version of the same content.

1. A publish that may merge little (`--merge-max`) makes its version current first and then merges: the version that it printed
   and the merged one have the same answers, `diff` finds nothing between them, verify --deep finds both sound, and the version
   that is merged further (`--parts 1`) has the bytes of one that was. `--no-merge` leaves it; the next publish does it, also with
   nothing new. Levels stay at most --parts, with a publish that finds one free.
2. A merge that is stopped (SIGSTOP) does not keep others from the root: publish, ingest and gc run, and the merge then gives up.
3. SIGTERM ends a merge in order: exit 0, the published version is current; SIGKILL leaves it current too. The next publish merges,
   and nothing of the dead one is left.
4. A merge goes by steps: where one is killed after the first, its version is current, and the next publish does the rest.
5. Memory (with DX_WHOLE=1): a merge of many pairs keeps to --memory.
6. Where more of the parts is dead than lives, because datasets were removed, all are merged after a publish, and gc deletes the files of these.
"""
import json
import os
import random
import shutil
import signal
import subprocess
import time

import dxtest
from peaks import peak

MEMORY_REST_MIB = 16    # beside --memory
STEPS = 14 if dxtest.WHOLE else 7   # publishes under the policy
PUBLISH = ("publish", "--memory", "64M", "--threads", 1)


def manifest(root):
    return json.loads((root / "index/manifest.json").read_text(encoding="utf-8"))


def entry(root, name=None):
    m = manifest(root)
    return next(v for v in m["versions"] if v["version"] == (name or m["current_version"]))


def parts(root):
    return 1 + len(entry(root).get("parts", ()))


def add(root, urls, name="crawl"):
    dxtest.domaindex("ingest", *dxtest.short_psl(root.parent, "com"), "--root", root, "--dataset", name, "--format", "list", "-", input="".join(f"https://{u}\n" for u in urls).encode())


def publish(root, *more):
    """(the version printed, the one merged from it or None)"""
    done = json.loads(dxtest.domaindex(*PUBLISH, "--root", root, "--json", *more).stdout)
    return done["version"], done["merged"]


def steps_from(root, name):
    """The version that a merge began with: each step has fewer parts than the one before, and the same pairs."""
    step = entry(root, name)
    while step["base"] and len(step.get("parts", ())) < len((before := entry(root, step["base"])).get("parts", ())) and step["pairs"] == before["pairs"]:
        step = before
    return step["version"]


def answers(server, version, names):
    """Of a version: what the server says of each name, and of all."""
    def get(path):
        got = server.get(path)
        dxtest.equal(got.status, 200, path)
        return {key: value for key, value in got.json.items() if key != "version"}
    return [get(f"/v1/domain/{name}?version={version}") for name in names] + [get(f"/v1/datasets?version={version}")]


def same(root, a, b, names):
    with dxtest.Server(root, "--lease", "no") as server:
        dxtest.equal(answers(server, a, names), answers(server, b, names), f"answers of {a} and of {b}")
    done = dxtest.domaindex("diff", "--root", root, "--json", a, b)
    dxtest.equal([line for line in done.stdout.splitlines() if b'"domain"' in line], [], f"diff of {a} and {b}")
    for member in ("domains", "datasets", "pairs", "rows", "urls", "lake_files", "file_ids"):
        dxtest.equal(entry(root, b)[member], entry(root, a)[member], f"{member} of {a} and of {b}")
    dxtest.domaindex("verify", "--root", root, "--deep")


def files_of(root, version):
    return {p.name: p.read_bytes() for p in (root / "index" / version).iterdir()}


def policy(tmp):
    root, plain = tmp / "root", tmp / "plain"
    names, chance, full = [], random.Random(7), 0
    for step in range(STEPS):
        count = 300 if step == 0 else chance.choice((20, 60, 150))
        urls = [f"site{step}-{i}.com/{k}" for i in range(count) for k in range(1 + i % 3)]
        urls += [f"{chance.choice(names)}/again{step}" for _ in range(10) if names]
        names += [f"site{step}-{i}.com" for i in range(count)]
        for to in (root, plain):
            add(to, urls, ("crawl", "news")[step % 2])
        limit = 100 if step % 3 else 10
        version, merged = publish(root, "--parts", 4, "--merge-max", limit, *(("--no-merge",) if step % 4 == 1 else ()))
        publish(plain)
        dxtest.check(parts(root) <= 4, f"step {step}: {parts(root)} parts")
        if step % 4 == 1:
            dxtest.equal(merged, None, "with --no-merge")
        if merged:
            full += 1
            dxtest.equal(manifest(root)["current_version"], merged, "the merged version is current")
            dxtest.equal(steps_from(root, merged), version, "and made from the one before, by its steps")
            dxtest.check(len(entry(root, merged).get("parts", ())) < len(entry(root, version)["parts"]), "it has fewer parts")
            if full % 2:
                same(root, version, merged, random.Random(step).sample(names, min(len(names), 60)))
    dxtest.check(full >= 2 + 2 * dxtest.WHOLE, f"{full} merges: the test tests little")
    add(root, ["late.com/"])
    add(plain, ["late.com/"])
    publish(root, "--parts", 8, "--merge-max", 1, "--no-merge")
    before = manifest(root)["current_version"]
    version, merged = publish(root, "--merge-max", 0)
    dxtest.equal(version, before, "nothing new is published")
    publish(plain)
    a, b = (publish(to, "--parts", 1, "--force")[0] for to in (root, plain))
    mine, other = files_of(root, a), files_of(plain, b)
    dxtest.equal(sorted(mine), sorted(other), "files of one part")
    for name in sorted(mine):   # all say the build id, which says the numbers of files: these are the same here
        dxtest.check(mine[name] == other[name], f"{name} has other bytes after merges beside publishes")


def make_due(tmp, name, size=20000):
    """A root whose next publish merges two parts of about `size` domains; a copy of one that is made once."""
    root, made = tmp / name, tmp / "due"
    if not made.exists():
        make_parts(made, size)
    shutil.copytree(made, root)
    return root


def make_parts(root, size):
    add(root, [f"base{i}.com/" for i in range(size)])
    publish(root)
    add(root, [f"more{i}.com/" for i in range(size)])
    publish(root, "--merge-max", 1, "--no-merge")
    add(root, ["new.com/"])


def merging(root):
    """publish, stopped while it merges; None: it was too fast."""
    process = subprocess.Popen([dxtest.DOMAINDEX, *map(str, PUBLISH), "--root", root, "--merge-max", "1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while process.poll() is None and not list((root / "index").glob("domaindex-merge-*/version")):
        time.sleep(0.001)
    process.send_signal(signal.SIGSTOP)
    return process


def end(process, *signals):
    for number in signals:
        process.send_signal(number)
    out, words = process.communicate(timeout=120)
    return process.returncode, out.decode().strip(), words.decode()


def left(root):
    return [p.name for p in (root / "index").iterdir() if not p.name.startswith("0") and p.name not in ("manifest.json", "claims")]


def beside(tmp):
    root = make_due(tmp, "beside")
    process = merging(root)
    dxtest.equal(entry(root)["domains"], 40001, "the published version is current while the merge works")
    published = manifest(root)["current_version"]
    add(root, ["beside.com/"])
    begin = time.monotonic()
    version, _ = publish(root, "--no-merge")
    print(f"publish beside a merge: {time.monotonic() - begin:.2f} s", flush=True)
    dxtest.domaindex("gc", "--root", root)
    code, out, words = end(process, signal.SIGCONT)
    dxtest.equal((code, out), (0, published), f"the publish whose merge was overtaken: {words}")
    dxtest.check("a publish was faster" in words, f"it says so: {words}")
    dxtest.equal(manifest(root)["current_version"], version, "the later publish is current")
    dxtest.equal(left(root), [], "left over")
    dxtest.domaindex("verify", "--root", root)


def ended(tmp):
    for number, want in ((signal.SIGTERM, 0), (signal.SIGKILL, -signal.SIGKILL)):
        root = make_due(tmp, f"ended-{number}")
        process = merging(root)
        code, out, words = end(process, number, signal.SIGCONT)
        dxtest.equal(code, want, f"{number}: {words}")
        dxtest.equal(out, manifest(root)["current_version"], f"{number}: the version that it printed is current")
        dxtest.equal(parts(root), 3, f"{number}: parts")
        version, merged = publish(root, "--merge-max", 1)
        dxtest.equal(version, out, f"{number}: nothing new")
        dxtest.check(merged is not None and parts(root) < 3, f"{number}: the next publish merges")
        dxtest.equal(left(root), [], f"{number}: left over")
        dxtest.domaindex("verify", "--root", root)


def steps(tmp):
    """Parts of 4,000, 3,000, 2,000 and 1,500 domains: the newest two are due at first, then all."""
    root = tmp / "steps"
    for i, size in enumerate((4000, 3000, 2000, 1500)):
        add(root, [f"step{i}-{k}.com/" for k in range(size)])
        publish(root, "--merge-max", 1, "--no-merge")
    before = manifest(root)["current_version"]
    dxtest.equal(parts(root), 4, "parts before")
    process = subprocess.Popen([dxtest.DOMAINDEX, *map(str, PUBLISH), "--root", root, "--merge-max", "1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while process.poll() is None and manifest(root)["current_version"] == before:
        time.sleep(0.001)
    code, out, words = end(process, signal.SIGKILL)
    dxtest.equal((code, out), (-signal.SIGKILL, before), f"killed behind the first step: {words}")
    first = manifest(root)["current_version"]
    dxtest.equal((steps_from(root, first), parts(root)), (before, 3), "the first step stays")
    version, merged = publish(root, "--merge-max", 1)
    dxtest.equal((version, parts(root)), (first, 1), "the rest is merged")
    dxtest.equal(entry(root, merged)["base"], first, "from the first step")
    same(root, before, merged, [f"step{i}-{k}.com" for i in range(4) for k in range(0, 1500, 300)])
    dxtest.equal(left(root), [], "left over")


def memory(tmp):
    """Two parts of half a million domains in two datasets each: with 2G of memory this merge takes 104 MiB."""
    root, half = tmp / "memory", 500000
    for i in range(2):
        for name in ("crawl", "news"):
            add(root, [f"h{i}-{k:x}.com/{k}" for k in range(half)], name)
        publish(root, "--merge-max", 1, "--no-merge")
    dxtest.equal((parts(root), entry(root)["pairs"]), (2, 4 * half), "before")
    peak((*PUBLISH, "--root", root, "--merge-max", 1), 64 + MEMORY_REST_MIB, f"a merge of {4 * half:,} pairs with --memory 64M")
    dxtest.equal((parts(root), entry(root)["pairs"]), (1, 4 * half), "merged")


def dead(tmp):
    root = tmp / "dead"
    add(root, [f"gone{i}.com/" for i in range(400)], "gone")
    add(root, [f"stays{i}.com/" for i in range(300)], "stays")
    publish(root)
    add(root, [f"new{i}.com/" for i in range(20)], "new")
    publish(root, "--merge-max", 1, "--no-merge")
    dxtest.equal(publish(root, "--merge-max", 1), (manifest(root)["current_version"], None), "nothing is dead, nothing merged")
    dxtest.domaindex("remove", "--root", root, "--dataset", "gone")
    before, _ = publish(root, "--merge-max", 1, "--no-merge")
    dxtest.equal((parts(root), entry(root)["pairs"]), (3, 320), "parts and pairs before")
    version, merged = publish(root, "--merge-max", 1)
    dxtest.equal((version, parts(root), entry(root)["pairs"]), (before, 1, 320), "of 720 pairs 400 are dead")
    same(root, before, merged, [f"stays{i}.com" for i in range(0, 300, 30)] + ["new7.com"])
    dxtest.domaindex("gc", "--root", root, "--keep", 1, "--keep-for", "0s", "--lease-ttl", "0s", "--cursor-life", "0s", "--max-share", 100, "--delete")
    dxtest.equal(sorted({p.parts[-3] for p in (root / "urls").rglob("*.parquet")}), ["dataset_id=2", "dataset_id=3"], "files that are left")
    for name in ("stays", "new"):
        dxtest.domaindex("remove", "--root", root, "--dataset", name)
    publish(root, "--merge-max", 1)
    dxtest.equal((parts(root), entry(root)["pairs"]), (1, 0), "nothing is left")
    dxtest.domaindex("verify", "--root", root)


def main():
    dxtest.need_programs()
    os.environ.pop("SOURCE_DATE_EPOCH", None)
    with dxtest.tempdir() as tmp:
        policy(tmp)
        beside(tmp)
        ended(tmp)
        steps(tmp)
        if dxtest.WHOLE and not dxtest.SANITIZED: # their memory is not the program's; fewer pairs than these keep to any --memory
            memory(tmp)
        dead(tmp)
    dxtest.finish()


if __name__ == "__main__":
    main()
