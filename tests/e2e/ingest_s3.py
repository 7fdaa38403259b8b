# SPDX-License-Identifier: Apache-2.0
# labels: slow peers threads
"""ingest into object storage: the files of a local run, whoever else writes and whenever it dies.

Against versitygw or MinIO, and with DX_WHOLE=1 both, where they are installed (tests/support/stores.py):

1. The same Parquet names and bytes as a run into a directory, also of a second, overlapping input; a
   third time nothing is added.
2. Two runs at once with datasets of their own: both succeed, no id is given twice. 2 rounds (10 with DX_WHOLE=1).
3. Two runs at once into the same new dataset: no row is there twice. 1 round (5).
4. SIGKILL at DX_INGEST_KILLS moments (2; 6 with DX_WHOLE=1), most of them while files are put: what is left publishes; the same run
   again makes it whole, no row twice.
5. Inputs that are objects of the store, or behind nginx if it is there: what a file gives, at sizes
   around those of the ranges they are read by; in the gate behind nginx every third.
6. Through a proxy: a store that does not keep conditions is refused before anything is in it; where
   replies to puts are lost, a run that says it succeeded has, and one that gave up is run again.
7. What is rejected, with its message.

DX_PARTS runs only the parts of these names (functions below). Rows are read by pyarrow if it is there (the python of tests/e2e/requirements.txt), else from the
totals that a publish of the downloaded lake counts.
"""
import collections
import contextlib
import gzip
import json
import os
import pathlib
import random
import re
import subprocess
import time
import urllib.parse

import dxtest
import faultproxy
import no_pandas  # noqa: F401
import remains
import roots
import stores

try:
    import pyarrow.parquet
except ImportError:
    pyarrow = None

BUCKET = "lake"
CHUNK = 4 << 20     # of inputs that are read by ranges
KILLS = int(os.environ.get("DX_INGEST_KILLS") or (6 if dxtest.WHOLE else 2))
ROUNDS, SAME_ROUNDS, FAULT_ROUNDS = (10, 5, 4) if dxtest.WHOLE else (2, 1, 1)
COLUMNS = ("--format", "tsv", "--dataset-column", "1", "--ts-column", "2", "--url-column", "3",
           "--extra-column", "4", "--no-header")


def lines(rng, count, datasets):
    """Few rows of each of many datasets, so that there are many files; some twice."""
    rows = [f"{rng.choice(datasets)}\t{1300000000 + rng.randrange(40)}\t"
            f"http://{rng.choice(('www.', ''))}site{rng.randrange(200)}.{rng.choice(('com', 'co.uk'))}"
            f"/{rng.randrange(30)}?q={rng.randrange(3)}\t{rng.choice(('', 'x', 'y'))}"
            for _ in range(count)]
    return rows + rng.sample(rows, count // 10)


def write(path, rows):
    path.write_text("".join(row + "\n" for row in rows))
    return path


PSL = []    # options, from dxtest.short_psl


def command(root, *inputs, dataset=None):
    columns = COLUMNS
    if dataset:
        columns = ("--dataset", dataset, "--format", "tsv", "--ts-column", "2", "--url-column",
                   "3", "--extra-column", "4", "--no-header")
    return [str(part) for part in (dxtest.DOMAINDEX, "ingest", "--root", root, *PSL, *columns,
                                   "--threads", "2", *inputs)]


def ingest(root, *inputs, expect=0, **options):
    return dxtest.run(*command(root, *inputs, **options), expect=expect).stderr.decode()


def number(words, label):
    """A figure of the summary."""
    found = re.search(rf"(?m)^ +{label} +([\d,]+)", words)
    return int(found[1].replace(",", "")) if found else None


class Lake:
    """A root in a store, seen past the program under test."""

    def __init__(self, store, prefix):
        self.store, self.prefix = store, prefix
        self.root = store.root(BUCKET, prefix)

    def names(self):
        found, token = [], None
        while True:
            query = [("list-type", "2"), ("prefix", self.prefix + "/")]
            if token:
                query.append(("continuation-token", token))
            query = "&".join(f"{k}={urllib.parse.quote(v, safe='')}" for k, v in sorted(query))
            text = self.store.demand("GET", f"/{BUCKET}?{query}")[1].decode()
            found += [key[len(self.prefix) + 1:].replace("&amp;", "&")
                      for key in re.findall(r"<Key>(.*?)</Key>", text)]
            more = re.search(r"<NextContinuationToken>(.*?)</NextContinuationToken>", text)
            if not more or "<IsTruncated>true" not in text:
                return sorted(found)
            token = more[1]

    def read(self, name):
        return self.store.get(BUCKET, f"{self.prefix}/{name}")

    def parquet_names(self):
        return [name for name in self.names() if name.endswith(".parquet")]

    def parquet(self):
        return {name: self.read(name) for name in self.parquet_names()}

    def registry(self):
        return json.loads(self.read("registry.json"))

    def download(self, folder):
        for name in self.names():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(self.read(name))
        return folder


def local_parquet(root):
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*.parquet")}


def rows_of(root):
    """How often each row is there, by names of datasets; or the totals of a publish."""
    names = {d["dataset_id"]: d["name"]
             for d in json.loads((root / "registry.json").read_text())["datasets"]}
    if pyarrow:
        count = collections.Counter()
        for path in root.rglob("*.parquet"):
            table = pyarrow.parquet.ParquetFile(path).read()
            columns = [table.column(name).to_pylist() for name in
                       ("scheme", "host", "path_query", "raw_url", "ts", "extra")]
            count.update((names[roots.dataset_of(path)], *row) for row in zip(*columns))
        return count
    dxtest.domaindex("publish", "--root", root)
    version = json.loads((root / "index/manifest.json").read_text())["current_version"]
    text = remains.plain_of((root / "index" / version / "datasets.json.zst").read_bytes())
    return collections.Counter({(d["name"], d["urls"]): d["rows"]
                                for d in json.loads(text)["datasets"] if d["rows"]})


def same(got, want, words):
    """Files object for object, or rows: what differs is named."""
    differ = sorted(map(str, (key for key in {*got, *want} if got.get(key) != want.get(key))))
    dxtest.check(not differ, f"{words}: {len(differ)} differ, {differ[:3]}")


def same_files(store, folder, rng):
    """1. Returns nothing; the lake is a local one's twin after each run."""
    lake = Lake(store, "same")
    datasets = [f"set {i}" for i in range(30 if dxtest.WHOLE else 10)] + ["big"] * 30
    rows = lines(rng, 6000, datasets)
    inputs = [write(folder / "first.tsv", rows[:4000]), write(folder / "second.tsv", rows[3000:])]
    for i, path in enumerate(inputs):
        ingest(folder / "local", path)
        words = ingest(lake.root, path)
        dxtest.check(number(words, "rows stored") > 0, f"run {i} stored rows: {words}")
        same(lake.parquet(), local_parquet(folder / "local"), f"{store.program}: run {i}: files")
        dxtest.equal(lake.read("registry.json"),
                     (folder / "local/registry.json").read_bytes(), f"run {i}: registry")
        dxtest.equal(lake.read("psl.dat"), (folder / "local/psl.dat").read_bytes(),
                     f"run {i}: suffix list")
    before = lake.names()
    words = ingest(lake.root, *inputs)
    dxtest.equal(number(words, "rows stored"), 0, "rows stored by a repeated run")
    dxtest.equal(lake.names(), before, "objects after a repeated run")
    dxtest.equal([n for n in before if not n.startswith("urls/")], ["index/store.json", "psl.dat", "registry.json", "writers"],
                 "objects outside of urls/")
    dxtest.equal(lake.read("writers"), b"domaindex-writers 1\n", "nobody is writing")
    dxtest.equal(list(folder.glob("tmp/domaindex-ingest-*")), [], "work folders that are left")


def at_once(commands):
    running = [subprocess.Popen(c, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
               for c in commands]
    for process in running:
        try:
            words = process.communicate(timeout=300)[1].decode()
        except subprocess.TimeoutExpired:
            process.kill()
            words = process.communicate()[1].decode() + "\n(ended by the test after 300 s)"
        dxtest.equal(process.returncode, 0, f"one of {len(running)} at once: {words[-500:]}")


def others_at_once(store, folder, rng):
    """2. The first rounds also race for an empty root."""
    names, lake = [], None
    for i in range(ROUNDS):
        if i in ((0, 1, 2) if dxtest.WHOLE else (0,)):
            lake, names = Lake(store, f"others-{i}"), []
        mine = [f"round {i} {side}" for side in ("left", "right")]
        names += mine
        at_once([command(lake.root, write(folder / f"{side}.tsv", lines(rng, 200, [name])))
                 for side, name in zip("lr", mine)])
        registry = lake.registry()
        ids = [d["dataset_id"] for d in registry["datasets"]]
        dxtest.equal(sorted(d["name"] for d in registry["datasets"]), sorted(names),
                     f"{store.program}: round {i}: names")
        dxtest.equal(ids, list(range(1, len(names) + 1)), f"round {i}: ids")
        dxtest.equal(registry["next_dataset_id"], len(names) + 1, f"round {i}: the next id")
        dxtest.equal(sorted({int(re.search(r"dataset_id=(\d+)/", n)[1]) for n in lake.parquet_names()}),
                     ids, f"round {i}: datasets with files")


def same_at_once(store, folder, rng):
    """3. Two overlapping inputs; whoever is second sees what the first has stored."""
    lake = Lake(store, "same-at-once")
    for i in range(SAME_ROUNDS):
        rows = lines(rng, 600, [f"round {i}"])
        left, right = write(folder / "l.tsv", rows[:500]), write(folder / "r.tsv", rows[200:])
        at_once([command(lake.root, left), command(lake.root, right)])
        ingest(folder / "local-at-once", left, right)
    got = rows_of(lake.download(folder / "same-at-once"))
    # Of several raw spellings each run keeps its own smallest; these inputs have one of each.
    same(got, rows_of(folder / "local-at-once"), f"{store.program}: one dataset at once: rows")


def kill_when(lake, path, files=None, seconds=None):
    """Starts a run and kills it when so many files are there, or after so long. True: before its
    end."""
    process = subprocess.Popen(command(lake.root, path), stderr=subprocess.DEVNULL)
    if files is None:
        time.sleep(seconds)
    else:
        while process.poll() is None and len(lake.parquet_names()) < files:
            time.sleep(0.002)
    process.kill()
    return process.wait() != 0


def killed(store, folder, rng):
    """4. A third of the kills by the clock, the others by what is there: the end is where it is
    dangerous."""
    path = write(folder / "kill.tsv", lines(rng, *((5000, [f"set {i}" for i in range(80)]) if dxtest.WHOLE else (2000, [f"set {i}" for i in range(40)]))))
    ingest(folder / "kill-local", path)
    want_files = len(local_parquet(folder / "kill-local"))
    want = rows_of(folder / "kill-local")
    begun = time.monotonic()
    ingest(Lake(store, "timed").root, path)
    whole = time.monotonic() - begun
    cut, partial, published = 0, 0, 0
    kills = 0
    least = 2 if dxtest.WHOLE else 1
    while kills < KILLS or (partial < least and kills < 20):
        i = kills
        kills += 1
        lake = Lake(store, f"kill-{i}")
        if i % 3 == (0 if dxtest.WHOLE else 1):
            cut += kill_when(lake, path, seconds=rng.uniform(0, whole))
        else:
            cut += kill_when(lake, path, files=rng.randrange(1, want_files * 3 // 4))
        there = lake.parquet_names()
        partial += 0 < len(there) < want_files
        if there:
            published += 1
            dxtest.domaindex("publish", "--root", lake.download(folder / f"left-{i}"))
        ingest(lake.root, path)
        same(rows_of(lake.download(folder / f"whole-{i}")), want,
             f"{store.program}: kill {i}, {len(there)} of {want_files} files were there: rows")
        dxtest.equal(lake.read("writers"), b"domaindex-writers 1\n", f"kill {i}: the entry")
    print(f"{store.program}: {kills} kills, {cut} in time, {partial} between files, {published} "
          f"published as they were left; a whole run takes {whole:.2f} s", flush=True)
    dxtest.check(partial >= least, f"{partial} of {kills} runs were killed between files")


def sized(path, size, rng):
    """A list of URLs of exactly so many bytes; the last one has no line end."""
    text = bytearray()
    while len(text) < size:
        text += b"http://site%d.com/%s\n" % (rng.randrange(300), b"x" * rng.randrange(2000))
    path.write_bytes(bytes(text[:size]).rstrip(b"\n").ljust(size, b"y"))
    return path


def stores_something(path):
    """The exit code: a run that stores nothing fails."""
    return 1 if path.name == "empty" else 0


def from_addresses(store, folder, rng):
    """5."""
    inputs = [sized(folder / f"in+put%{size}.txt", size, rng) for size in
              (100, CHUNK - 1, CHUNK, CHUNK + 1, *((5 * CHUNK, 5 * CHUNK + 777) if dxtest.WHOLE else (3 * CHUNK + 777,)))]
    (folder / "packed").write_bytes(gzip.compress(inputs[-1].read_bytes(), 1))
    inputs.append(folder / "packed")
    (folder / "empty").write_bytes(b"")
    inputs.append(folder / "empty")
    options = ("--dataset", "a", "--threads", "2", *PSL)
    want = {}
    for path in inputs:
        store.put(BUCKET, f"inputs/{path.name}", path.read_bytes())
        local = folder / "local" / path.name
        dxtest.domaindex("ingest", "--root", local, *options, path, expect=stores_something(path))
        want[path.name] = local_parquet(local)
    nginx = stores.Nginx(folder) if stores.find("nginx") else None
    if not nginx:
        print("SKIP inputs behind nginx: it is not here", flush=True)
    with nginx or contextlib.nullcontext():
        kinds = [("s3", lambda name: f"s3://{BUCKET}/inputs/{name}")]
        if nginx:
            kinds.append(("http", lambda name: f"{nginx.url}/{urllib.parse.quote(name)}"))
        for kind, address in kinds:
            for path in inputs[::1 if dxtest.WHOLE or kind == "s3" else 3]:
                root = folder / kind / path.name
                dxtest.domaindex("ingest", "--root", root, *options, address(path.name), expect=stores_something(path))
                same(local_parquet(root), want[path.name], f"{store.program}: {kind}: {path.name}")
            said = dxtest.domaindex("ingest", "--root", folder / "none", *options,
                                    address("not-there"), expect=1).stderr.decode()
            dxtest.check("not-there" in said, f"{kind}: an input that is not there: {said}")
    said = dxtest.domaindex("ingest", "--root", folder / "none", *options, "https://x/y?z=1",
                            expect=1).stderr.decode()
    dxtest.check("curl" in said, f"an address with a query: {said}")


LOST = ["put_applied_dropped", "put_applied_500", "put_200_error", "status_503", "status_500"]


def behind_faults(store, folder, rng):
    """6."""
    path = write(folder / "in.tsv", lines(rng, 600, [f"set {i}" for i in range(20)]))
    ingest(folder / "local", path)
    want = rows_of(folder / "local")
    with faultproxy.Proxy(store.url, percent=100, credentials=store.credentials) as proxy, \
            stores.environment({**store.env, "TMPDIR": os.environ["TMPDIR"],
                                "AWS_ENDPOINT_URL_S3": proxy.url}):
        for fault in ("put_inm_ignored", "put_inm_inverted", "put_im_on_missing"):
            proxy.set([fault], 100)
            lake = Lake(store, fault)
            said = ingest(lake.root, path, expect=1)
            proxy.set([], 0)
            dxtest.check(lake.names() == [] and len(said) > 60, f"{fault}: {lake.names()}: {said}")
        runs, injected = [], collections.Counter()
        for i in range(FAULT_ROUNDS):
            lake = Lake(store, f"faults-{i}")
            for n in range(1, 9):
                proxy.set(LOST, 10)
                done = subprocess.run(command(lake.root, path), stderr=subprocess.PIPE,
                                      check=False, timeout=300)
                injected.update(proxy.injected)
                proxy.set([], 0)
                if done.returncode == 0:
                    break
                print(f"{store.program}: gave up: {done.stderr.decode()[-300:].strip()}", flush=True)
                dxtest.check(done.returncode == 1 and done.stderr, f"faults, run {n}: exit "
                             f"{done.returncode}: {done.stderr.decode()[-300:]}")
            runs.append(n)
            dxtest.equal(done.returncode, 0, f"faults, round {i}: {done.stderr.decode()[-300:]}")
            same(rows_of(lake.download(folder / f"whole-{i}")), want, f"faults, round {i}: rows")
            ids = [d["dataset_id"] for d in lake.registry()["datasets"]]
            dxtest.equal(ids, list(range(1, 21)), f"faults, round {i}: ids")
        print(f"{store.program}: {dict(injected)}, runs that were needed: "
              f"{runs}", flush=True)


def refused(store, folder):
    """7."""
    path = write(folder / "one.tsv", ["a\t1\thttp://example.com/\t"])
    for root, words in ((f"http://127.0.0.1:{store.port}/{BUCKET}", "read"),
                        ("s3://no-such-bucket-here/x", "no-such-bucket-here"),
                        ("gopher://x/y", "gopher")):
        said = ingest(root, path, expect=1)
        dxtest.check(words in said, f"{root}: {said}")
    said = dxtest.domaindex("ingest", "--root", folder / "x", "--work-dir", folder, "--dataset", "a",
                            path, expect=2).stderr.decode()
    dxtest.check("--work-dir" in said, said)
    lake = Lake(store, "refused")
    ingest(lake.root, path)
    store.remove(BUCKET, "refused/registry.json")
    said = ingest(lake.root, path, expect=1)
    dxtest.check("registry.json" in said, f"a registry that was lost: {said}")
    store.put(BUCKET, "refused/registry.json", b"{}")
    said = ingest(lake.root, path, expect=1)
    dxtest.check("registry.json" in said, f"a registry of another kind: {said}")
    bad = ingest(Lake(store, "rejects").root, write(folder / "bad.tsv", ["a\t1\tmailto:x\t"]), expect=1)
    where = re.search(r"rejects are in +(\S+)", bad)
    dxtest.check(where and pathlib.Path(where[1]).read_text().count("\n") == 1,
                 f"where the rejects are: {bad}")


def make_bucket(store):
    """MinIO says that it is ready some time before it is."""
    end = time.monotonic() + 60
    while True:
        try:
            return store.bucket(BUCKET)
        except RuntimeError as words:
            if "NotInitialized" not in str(words) or time.monotonic() > end:
                raise
            time.sleep(0.2)


def main():
    dxtest.need_programs()
    there = stores.kinds()
    if not there:
        dxtest.skip("no S3 server here (scripts/storage_servers.sh gets them)")
    if not pyarrow:
        print("SKIP rows by pyarrow: it is not here; totals are compared", flush=True)
    for kind in there:
        seed = int(os.environ.get("DX_SEED") or 11)
        with dxtest.tempdir() as folder, kind() as store, contextlib.ExitStack() as stack:
            (folder / "tmp").mkdir()
            PSL[:] = dxtest.short_psl(folder, "com", "co.uk", "uk")
            stack.enter_context(stores.environment({**store.env, "TMPDIR": str(folder / "tmp")}))
            make_bucket(store)
            rng = random.Random(seed)
            only = os.environ.get("DX_PARTS", "").split()
            for part in (same_files, others_at_once, same_at_once, killed,
                         from_addresses, behind_faults):
                if only and part.__name__ not in only:
                    continue
                below = folder / part.__name__
                below.mkdir()
                begun = time.monotonic()
                part(store, below, rng)
                print(f"{store.program}: {part.__name__}: {time.monotonic() - begun:.1f} s",
                      flush=True)
            refused(store, folder)
    dxtest.finish()


if __name__ == "__main__":
    main()
