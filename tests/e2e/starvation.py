# SPDX-License-Identifier: Apache-2.0
# labels: slow
"""Every command with one allocation, read, write, sync, rename, open, mapping and so on failing: it ends well with the same result, or with an error that
names the cause; never by a signal, never with exit 0 and something lost. Or with that call and all later ones of the kind failing.

Then, without a fault: the command works, `verify --deep` is sound, the answers are those of the model, temporary files are gone, and
after gc the root has the files of a root to which nothing happened.

Calls with the same call chain (tests/starve/starve.c: the innermost ten return addresses in the program) count as one: after the thousandth allocation of a
loop the program takes the same way back as after the first. The gate fails chains whose last four calls no command before has, each with one error, once or from there on in
turn: 2,700, which are all (at most DX_STARVE_POINTS, 0: with DX_WHOLE). DX_WHOLE=1: each chain of each command
with each error of its kind, once and from there on, and for each command 20 calls by their number: 24,000 points of 9,000 chains, of 20,000 calls. A point
takes 0.07 s of CPU, so all take some 15 minutes of two cores.
"""
import collections
import concurrent.futures
import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import zlib

import dxtest
import remains
import starve

PSL = "com\norg\nnet\n"  # small: the system's list would be 18,000 allocations of each command
FIXED = {"SOURCE_DATE_EPOCH": "1704067200"}
ONE = ("--threads", "1")
SMALL = ("--memory", "64M", *ONE)
GC = ("gc", "--keep", "1", "--keep-for", "0s", "--lease-ttl", "0s", "--cursor-life", "0s", "--max-share", "100", *ONE, "--delete")
DOMAINS = ("example.com", "example.org", "example.net")
FIRST = {"alpha": ["example.com/", "example.com/a", "www.example.org/b"], "beta": ["example.com/c", "example.net/"]}
MORE = {"alpha": ["example.com/new", "example.net/new"]}
POINTS = int(os.environ.get("DX_STARVE_POINTS", 0 if dxtest.WHOLE else 3000))     # at most, of all commands together; 0: all
CALLS = 20                                                                     # by their number, of each command, when all points are taken
NEAR = 4                                                                       # frames that make a chain another one for the gate


def rows(*sources, without=()):
    return {(d, "http://" + url) for source in sources for d, urls in source.items() for url in urls if d not in without}


def call(*arguments, **options):
    return dxtest.domaindex(*arguments, env=FIXED, **options)


def ingest_words(source, dataset, folder):
    path = folder / f"{dataset}-{len(source[dataset])}.txt"
    path.write_text("".join(f"http://{url}\n" for url in source[dataset]))
    return ["ingest", *SMALL, "--psl", folder / "psl", "--dataset", dataset, "--format", "list", path]


def answers(root):
    """{(dataset, url)} of the current version."""
    found = set()
    done = call("lookup", "--root", root, "--all-urls", "--limit", 1000, *DOMAINS, expect=None)
    for line in done.stdout.decode().splitlines():
        answer = json.loads(line)
        if "problem" in answer:
            if not dxtest.check(answer["problem"] in ("domain-not-found", "withheld"), f"{root}: {line[:300]}"):
                return None
            continue
        names = {d["dataset_id"]: d["dataset"] for d in answer["datasets"]}
        for item in answer["items"]:
            row = (names[item["dataset_id"]], item["url"])
            dxtest.check(row not in found, f"{root}: a row stands twice: {row}")
            found.add(row)
    dxtest.check(done.returncode in (0, 1), f"{root}: lookup: {done.stderr[-300:]}")
    return found


def shape(root):
    """How many files of each kind: numbers of versions, parts and leases left out."""
    found = collections.Counter()
    for folder, _, files in os.walk(root):
        for name in files:
            path = os.path.relpath(os.path.join(folder, name), root)
            # Of a backup that failed: it ends by its time. Of numbers: the next commit of them removes it.
            if path.startswith(("leases/", "index/domain64/.tmp-")):
                continue
            path = re.sub(r"\d{6}-\d{8}T\d{6}Z", "VERSION", path)
            found[re.sub(r"part-\d+|rejects-[^/]*", "FILE", path)] += 1
    return found


class Case:
    """One command: on which root, what it makes of the answers, what is called behind it."""

    def __init__(self, name, template, command, before, after=None, finish=(), outputs=(), again=0, spool=None):
        """spool: a folder of the root that the command empties; it is there again before a second try."""
        self.spool = spool
        self.name, self.template, self.command = name, template, command
        self.before, self.after = before, before if after is None else after
        self.finish, self.outputs, self.again = finish, outputs, again
        self.changes = bool(finish) or after is not None

    def words(self, root):
        return [dxtest.DOMAINDEX, *(str(word).replace("ROOT", str(root)) for word in self.command)]


class Workplace:
    def __init__(self, base, case):
        self.folder = base / f"{case.name.replace(' ', '-')}-{threading.get_ident()}"
        self.root, self.tmp = self.folder / "root", self.folder / "tmp"
        self.env = {**FIXED, "TMPDIR": str(self.tmp), "XDG_CACHE_HOME": str(self.folder / "cache")}
        shutil.rmtree(self.folder, ignore_errors=True)
        self.tmp.mkdir(parents=True)
        if case.template:
            shutil.copytree(case.template, self.root)

    def out(self):
        return {str(p.relative_to(self.folder / "out")): p.read_bytes()
                for p in (self.folder / "out").rglob("*") if p.is_file()}

    def written(self, point):
        """Names. What could not be removed goes with a gc of the copy (left_by_puts)."""
        return sorted(name for name in self.out() if point[0] != "remove" or not re.search(r"/\.tmp-[0-9a-f]{32}$", name))


def finish(case, place, words):
    """What is called behind the command; what remains then."""
    for more in case.finish:
        done = dxtest.run(dxtest.DOMAINDEX, *(str(w).replace("ROOT", str(place.root)) for w in more), expect=None, env=place.env)
        dxtest.equal(done.returncode, 0, f"{words}: then {more[0]}: {done.stderr[-300:]}")
    for _ in range(3):  # condemned, dropped, removed
        done = dxtest.run(dxtest.DOMAINDEX, *GC, "--root", place.root, expect=None, env=place.env)
        dxtest.equal(done.returncode, 0, f"{words}: then gc: {done.stderr[-300:]}")
    done = dxtest.run(dxtest.DOMAINDEX, "verify", "--deep", *SMALL, "--root", place.root, expect=None, env=place.env)
    dxtest.equal(done.returncode, 0, f"{words}: then verify --deep: {done.stdout[-300:]} {done.stderr[-300:]}")
    dxtest.equal(answers(place.root), case.after, f"{words}: answers at the end")
    return shape(place.root)


def strip(out):
    """Numbers that differ from run to run, and what verify says it could not find out."""
    out = re.sub(rb"(?m)^note: .*cannot be found out.*\n", b"", out)
    return re.sub(rb"[0-9.]+ (s|ms|MiB|KiB|GiB|kB|MB)\b|\d+/s|/dev/shm/\S+|\d{6}-\d{8}T\d{6}Z|\d{4}-\d\d-\d\dT[0-9:.]+Z|[0-9.]+ (CPU|peak)", b"N", out)


def try_point(base, case, point, reference, run=starve.run):
    """Whether the call came that was to fail."""
    words = f"{case.name}, {starve.words(point)}"
    place = Workplace(base, case)
    command = case.words(place.root)
    try:
        done, hit = run(command, point, place.env, place.folder, place.folder)
    except subprocess.TimeoutExpired:
        dxtest.check(False, f"{words}: did not end")
        return True
    starve.check_exit(done, point, words, (0, 1))
    kept = [str(p) for p in place.tmp.rglob("*")]
    # What crashes in a library (starve.OTHERS) cannot clean up. A work folder that could not be removed goes with the next run (work_folder.h).
    cleans = done.returncode >= 0 and point[0] != "remove" and not starve.lasts(point)
    if cleans:
        left = [path for path in kept if "dx_dir_remove" not in words or not re.search(r"/tmp/domaindex-[a-z0-9]+-\w{6}(/|$)", path)]
        dxtest.equal(left[:3], [], f"{words}: temporary files are left ({done.returncode})")
    shutil.rmtree(place.tmp)
    place.tmp.mkdir()
    if not case.changes:
        if done.returncode == 0 and case.name != "doctor":  # whose findings such a failure is among
            dxtest.equal(strip(done.stdout)[-2000:], strip(reference["stdout"])[-2000:], f"{words}: output with exit 0")
        if cleans:
            dxtest.equal(shape(place.root), reference["shape"], f"{words}: files of the root")
        if case.outputs and done.returncode == 0:
            dxtest.equal(place.written(point), sorted(reference["out"]), f"{words}: what it wrote")
        if case.outputs:
            if done.returncode == 0:
                shutil.rmtree(place.folder / "out", ignore_errors=True)
            again = dxtest.run(*command, expect=None, env=place.env)
            dxtest.check(again.returncode in (0, case.again), f"{words}: once more: {again.returncode}: {again.stderr[-300:]}")
            dxtest.equal(place.written(point), sorted(reference["out"]), f"{words}: what it wrote then")
        shutil.rmtree(place.folder)
        return hit
    if case.template and case.before is not None and (place.root / "index/manifest.json").exists():
        got = answers(place.root)
        states = [case.before, case.after]
        if done.returncode == 0 and not case.finish:
            states = [case.after]
        dxtest.check(got in states, f"{words}: answers after exit {done.returncode}: {sorted(got or [])}")
    if done.returncode != 0:
        if case.spool:
            shutil.copytree(case.template / case.spool, place.root / case.spool, dirs_exist_ok=True)
        again = dxtest.run(*command, expect=None, env=place.env, cwd=place.folder)
        dxtest.check(again.returncode in (0, case.again), f"{words}: once more: {again.returncode}: {again.stderr[-300:]}")
        if case.spool and again.returncode != 0:    # what failed had done its work: gc removes the second hand-over
            dxtest.check(b"'gamma' has rows" in again.stderr and (b"may count already" in done.stderr or b"adopted: files 1" in done.stderr),
                         f"{words}: {done.stderr[-300:]}, then {again.stderr[-300:]}")
            for file in (place.root / case.spool).rglob("*.parquet"):
                file.unlink()
    got = finish(case, place, words)
    if point[0] == "remove" and starve.lasts(point):    # the list names files that could not be taken back: it stays (gc_leftovers.h)
        got["index/claims/VERSION.lake"] = reference["shape"]["index/claims/VERSION.lake"]
    if point[0] == "remove":    # of index/ the next publish removes it; gc does not, for access and suppress write there under locks of their own
        got = collections.Counter({name: count for name, count in got.items() if not re.fullmatch(r"index/(claims/)?\.tmp-[0-9a-f]{32}", name)})
    if cleans or point[0] == "remove":  # gc finds what could not be removed
        dxtest.equal(sorted((got - reference["shape"]).items()), [], f"{words}: files too many ({done.returncode})")
    dxtest.equal(sorted((reference["shape"] - got).items()), [], f"{words}: files too few ({done.returncode})")
    shutil.rmtree(place.folder)
    return hit


def undisturbed(base, case):
    place = Workplace(base, case)
    done, counts = starve.count(case.words(place.root), place.env, place.folder, place.folder)
    dxtest.equal(done.returncode, 0, f"{case.name}, undisturbed: {done.stderr[-500:]}")
    reference = {"stdout": done.stdout, "out": place.out()}
    reference["shape"] = finish(case, place, case.name) if case.changes else shape(place.root)
    shutil.rmtree(place.folder)
    return counts, reference


def sample(case, points, count):
    """A stride through all points, which are in order of kinds; where it begins depends on the command."""
    if count == 0 or count >= len(points):
        return points
    first = zlib.crc32(case.name.encode()) % len(points)
    return [points[(first + i * len(points) // count) % len(points)] for i in range(count)]


def all_points(case, counts):
    return starve.points(counts.chains) + sample(case, starve.points(calls=counts.calls), CALLS)


def full_output(base, case):
    """Standard output is full: a command that says something there fails."""
    place = Workplace(base, case)
    with open("/dev/full", "wb") as full:
        done = subprocess.run(case.words(place.root), stdout=full, stderr=subprocess.PIPE, env={**os.environ, **place.env}, check=False)
    dxtest.check(done.returncode == 1 and b"standard output" in done.stderr,
                 f"{case.name} > /dev/full: exit {done.returncode}: {done.stderr[-300:]}")
    shutil.rmtree(place.folder)


def left_by_puts(base):
    """A file on its way that its writer could not remove goes with the next gc, but while another writer is at work; names of others stay."""
    root = base / "left"
    (base / "psl").write_text(PSL)
    call(*ingest_words(FIRST, "beta", base), "--root", root)
    call("publish", *SMALL, "--psl", base / "psl", "--root", root)
    folder = next((root / "urls").rglob("*.parquet")).parent
    ours, others = folder / f".tmp-{'0a' * 16}", folder / ".tmp-spark"
    for file in (ours, others):
        file.write_bytes(b"half")
    with open(root / ".lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        call(*GC, "--root", root)
        dxtest.check(ours.exists(), "gc beside a writer leaves its files alone")
    call(*[word for word in GC if word != "--delete"], "--root", root)
    dxtest.check(ours.exists(), "gc without --delete removes nothing")
    call(*GC, "--root", root)
    dxtest.check(not ours.exists() and others.exists(), "gc removes files on their way, and no others")


def make_cases(base):
    (base / "psl").write_text(PSL)
    empty, one, two = base / "empty", base / "one", base / "two"
    new = ["ROOT" if w is None else w for w in ingest_words(MORE, "alpha", base)]
    for dataset in FIRST:
        call(*ingest_words(FIRST, dataset, base), "--root", empty)
    shutil.copytree(empty, one)
    call("publish", *SMALL, "--psl", base / "psl", "--root", one)
    call(*new, "--root", one)
    shutil.copytree(one, two)
    call("publish", *SMALL, "--psl", base / "psl", "--root", two)
    first, both, root = rows(FIRST), rows(FIRST, MORE), ("--root", "ROOT")
    numbered, ruled, table = base / "numbered", base / "ruled", base / "table"
    shutil.copytree(two, numbered)
    call("domain64", "init", "--root", numbered)
    shutil.copytree(two, ruled)
    call("suppress", "add", "--root", ruled, "--host", "www.example.org")
    shutil.copytree(two, table)
    call("access", "init", "--root", table)
    hidden = {(d, u) for d, u in both if "example.net" not in u}
    unhosted = {(d, u) for d, u in both if "www.example.org" not in u}
    publish = ("publish", *SMALL, "--psl", base / "psl", *root)
    yield Case("ingest", one, ["ingest", *SMALL, "--psl", base / "psl", *root, "--dataset", "gamma", "--format", "list", base / "gamma.txt"], first,
               both | {("gamma", "http://example.com/g")}, (publish,))
    yield Case("ingest anew", None, [*ingest_words(FIRST, "beta", base), *root], None, rows({"beta": FIRST["beta"]}), (publish,))
    yield Case("publish", one, publish, first, both)
    yield Case("publish first", empty, publish, None, first)
    yield Case("publish full", one, [*publish, "--full"], first, both)
    yield Case("compact", two, ["compact", *SMALL, *root], both, both)
    yield Case("compact rules", ruled, ["compact", *SMALL, *root], unhosted, unhosted)
    yield Case("gc", two, [*GC, *root], both, both)
    yield Case("suppress", two, ["suppress", "add", *root, "--domain", "example.net"], both, hidden)
    yield Case("suppress lift", ruled, ["suppress", "lift", *root, "1"], unhosted, both, again=1)
    yield Case("remove", two, ["remove", *root, "--dataset", "beta"], both, rows(FIRST, MORE, without=("beta",)), (publish,), again=1)
    yield Case("rollback", two, ["rollback", *root, "1"], both, first)
    yield Case("access init", two, ["access", "init", *root], both, both, again=1)
    yield Case("access grant", table, ["access", "grant", *root, "alpha", "--to", "*"], both, both)
    yield Case("domain64 init", two, ["domain64", "init", *root], both, both, again=1)
    yield Case("domain64 fill", numbered, ["domain64", "fill", *root], both, both)
    yield Case("backup", two, ["backup", *ONE, *root, "--to", "ROOT/../out"], both, outputs=("out",))
    # Where only its summary could not be printed the folder is complete, and not empty for a second run.
    yield Case("export", two, ["export", *root, "--file-store", "ROOT/../out"], both, outputs=("out",), again=1)
    for name, words in (("verify", ["verify", "--deep", *SMALL]), ("lookup", ["lookup", "example.com", "example.net"]),
                        ("lookup urls", ["lookup", "--all-urls", "example.com"]), ("lookup url", ["lookup", "--url", "http://example.com/a"]),
                        ("lookup names", ["lookup", "--names", base / "names.txt", "--format", "csv"]),
                        ("top-domains", ["top-domains", "--dataset", "alpha"]), ("overlap", ["overlap", "alpha", "beta"]),
                        ("versions", ["versions"]), ("files", ["files"]), ("datasets", ["datasets"]), ("diff", ["diff", "1", "2"]),
                        ("suppress list", ["suppress", "list"]), ("inspect", ["inspect", "--deep", "ROOT"])):
        yield Case(name, two, words if "ROOT" in words else [words[0], *words[1:], *root], both)
    locators = base / "locators"
    call("ingest", *SMALL, "--psl", base / "psl", "--root", locators, "--locators", "--dataset", "alpha", "--format", "list", base / "alpha-3.txt")
    call("publish", *SMALL, "--psl", base / "psl", "--root", locators)
    for name, words in (("fetch-record", ["fetch-record", *root, "--base", base, "http://example.com/a"]), ("fetch-record list", ["fetch-record", *root, "--list", "http://example.com/a"])):
        yield Case(name, locators, words, rows({"alpha": FIRST["alpha"]}))
    yield Case("doctor", two, ["doctor", *root], both)
    spooled = base / "spooled"
    shutil.copytree(two, spooled)
    call("ingest", *SMALL, "--psl", base / "psl", "--root", spooled / "spool", "--dataset", "gamma", "--format", "list", base / "gamma.txt")
    (base / "adopt.tsv").write_text("".join(f"{p.stat().st_size}\t00-ff\tgamma\troot/{p.relative_to(spooled)}\n" for p in (spooled / "spool").rglob("*.parquet")))
    yield Case("adopt", spooled, ["adopt", *root, "--list", base / "adopt.tsv", "--psl", base / "psl"], both, both | {("gamma", "http://example.com/g")}, (publish,), again=1, spool="spool")
    yield Case("access list", table, ["access", "list", *root], both)
    yield Case("domain64 tree", numbered, ["domain64", "tree", *root], both)


def main():
    dxtest.need_programs()
    starve.need()
    wanted = sys.argv[1:]
    with dxtest.tempdir("/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as base, \
            concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        (base / "gamma.txt").write_text("http://example.com/g\n")
        (base / "names.txt").write_text("example.com\nexample.net\nabsent.org\n")
        left_by_puts(base)
        cases = [case for case in make_cases(base) if not wanted or case.name in wanted]
        counted = [(case, *undisturbed(base, case)) for case in cases]
        references = {case: reference for case, _, reference in counted}
        if POINTS == 0:
            todo = [(case, point) for case, counts, _ in counted for point in all_points(case, counts)]
            whole = len(todo)
        else:
            todo, whole = starve.chosen([(case, counts.chains) for case, counts, _ in counted], POINTS, NEAR)
        hits = list(pool.map(lambda one: try_point(base, *one, references[one[0]]), todo))
        for case, _, reference in counted:
            if reference["stdout"]:
                full_output(base, case)
        print(f"{len(todo)} of {whole} points, {len(todo) - sum(hits)} whose call did not come; of {sum(len(counts.chains) for _, counts, _ in counted)} chains", flush=True)
        dxtest.check(sum(hits) >= 0.98 * len(todo), f"calls that did not come: {[starve.words(p) for (_, p), hit in zip(todo, hits) if not hit][:20]}")
    dxtest.finish()


if __name__ == "__main__":
    main()
