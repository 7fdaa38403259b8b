#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""lake.py - the URLs of a domain from local files: ours, DuckDB, ClickHouse, Polars, pywb.

    bench/lake.py [--quick] [--write] [--json FILE] [--rounds 3] [FILE]

FILE: TSV of dataset, Unix time, URL, extra; default the reddit corpus. It is ingested twice: into
its own datasets (a file each), and all of it into one (a file a prefix). Asked are the first 1,000
rows of a domain in the one dataset, by (host, path_query, ts), and all rows of a domain in all
datasets. domaindexd is asked over HTTP (for all datasets: which ones, then a page of each, on one
connection); `domaindex lookup` is a process a question. DuckDB, ClickHouse (chdb) and Polars get
the same Parquet files: the one that has the domain, or the pattern of all. pywb's CDX server gets
CDXJ lines of the same rows: one index of all, and the hundred largest datasets as collections that
are asked one by one.

Everything is warm; an engine runs on the first core, a client of a server on the second, and is
stopped while others are measured. Rounds are interleaved. Every answer is compared by its sorted
URLs (pywb's first 1,000 of more are others, in another order: by their number). Below five
minutes; --quick below 30 s, on made-up rows.
"""
import argparse
import contextlib
import hashlib
import json
import pathlib
import random
import signal
import subprocess
import sys
import time
from urllib.parse import quote, urlsplit

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "support"), str(HERE / "peers")]
import where        # noqa: E402
import chart        # noqa: E402
import dxtest       # noqa: E402
import machine      # noqa: E402
import pipeline     # noqa: E402
import stores       # noqa: E402
from result import Result, median   # noqa: E402

EVERYTHING = "everything"
OURS, LOOKUP = "domaindexd, HTTP", "domaindex lookup, a process each"
ENGINES = {"duckdb": "DuckDB", "duckdb-footers": "DuckDB, footers kept",
           "clickhouse": "ClickHouse (chdb)", "polars": "Polars"}
GIVEN = {"one": "given the file", "all": "given all files"}
PYWB, PYWB_MANY = "pywb CDX, one index", "pywb CDX, a hundred indexes"
CRAWLS, LIMIT = 100, 1000
ENGINE_S = 1.2      # that an engine has for one question in one round


def digest_of(urls):
    return hashlib.sha256("\n".join(sorted(urls)).encode()).hexdigest()


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


class Question:
    """domains: of one kind. truth: domain -> (rows, digest). everywhere: over all datasets."""

    def __init__(self, name, domains, everywhere):
        self.name, self.domains, self.everywhere, self.truth = name, domains, everywhere, {}


# ------------------------------------------------------------------------------------- the data

def ingest(root, source, *dataset):
    columns = [w for w in where.COLUMNS]
    if dataset:
        at = columns.index("--dataset-column")
        columns[at:at + 2] = dataset
    dxtest.domaindex("ingest", "--root", root, *columns, source)
    dxtest.domaindex("publish", "--root", root, "--memory", "1G")


def surt(url):
    parts = urlsplit(url)
    path = parts.path + (f"?{parts.query}" if parts.query else "")
    return ",".join(reversed((parts.hostname or "").split("."))) + ")" + path.lower()


def cdxj(rows, path):
    """rows: (url, time as 14 digits). Sorted by bytes, as LC_ALL=C sort makes it."""
    lines = sorted(f"{surt(url)} {stamp} " + json.dumps(
        {"url": url, "mime": "text/html", "status": "200", "digest": "-", "length": "0",
         "offset": "0", "filename": "-"}) for url, stamp in rows)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def rows_of(root):
    """dataset -> [(url, stamp)], as our own export has them."""
    text = subprocess.run([where.program("python"), "-c", """
import glob, json, sys, pyarrow.parquet as p
for file in sorted(glob.glob(sys.argv[1] + "/urls/*/*/*.parquet")):
    t = p.ParquetFile(file).read(columns=["scheme", "host", "path_query", "ts"])
    dataset = file.split("/dataset_id=")[1].split("/")[0]
    for scheme, host, path, ts in zip(*(t[c].to_pylist() for c in t.column_names)):
        stamp = ts.strftime("%Y%m%d%H%M%S") if ts else "19700101000000"
        print(dataset, stamp, scheme + "://" + host + path, sep="\\t")
""", root], stdout=subprocess.PIPE, check=True).stdout.decode()
    datasets = {}
    for line in text.splitlines():
        dataset, stamp, url = line.split("\t", 2)
        datasets.setdefault(dataset, []).append((url, stamp))
    return datasets


# -------------------------------------------------------------------------------------- who asks

class Ours:
    """One kept connection; seconds end when all rows are values of Python."""

    words, version = OURS, None

    def __init__(self, bench):
        self.bench = bench

    def able(self, question):
        return True

    def wake(self):
        """A connection that says nothing for some seconds is closed: a new one each round."""
        self.one, self.many = pipeline.Client(self.bench.one), pipeline.Client(self.bench.many)

    def rest(self):
        self.one.link.close()
        self.many.link.close()

    def page(self, client, targets):
        return [json.loads(body) for _, _, body in client.ask(targets)]

    def ask(self, question, domain):
        begin = time.perf_counter()
        base = f"/v1/domain/{quote(domain)}"
        if not question.everywhere:
            found = self.page(self.one, [f"{base}/datasets/{self.bench.everything}/urls"])
            urls = [item["url"] for item in found[0]["items"]]
        else:
            answer, = self.page(self.many, [base])
            targets = [f"{base}/datasets/{d['dataset_id']}/urls?offset={at}"
                       for d in answer["datasets"] for at in range(0, d["row_count"], LIMIT)]
            urls = [item["url"] for page in self.page(self.many, targets)
                    for item in page["items"]]
        return time.perf_counter() - begin, len(urls), digest_of(urls)


class Lookup(Ours):
    words = LOOKUP

    def wake(self):
        pass

    rest = wake

    def able(self, question):
        return not question.everywhere

    def ask(self, question, domain):
        begin = time.perf_counter()
        done = subprocess.run([dxtest.DOMAINDEX, "lookup", "--root", self.bench.one_root, "--dataset",
                               str(self.bench.everything), domain], stdout=subprocess.PIPE, check=True)
        urls = [item["url"] for item in json.loads(done.stdout)["items"]]
        return time.perf_counter() - begin, len(urls), digest_of(urls)


class Engine:
    """A process of the peers' python, stopped while others are measured."""

    def __init__(self, bench, engine):
        self.bench, self.engine, self.words = bench, engine, ENGINES[engine]
        with machine.pinned(bench.core):
            self.process = subprocess.Popen(
                [where.program("python"), HERE / "peers" / "lake_peer.py", engine],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        hello = json.loads(self.process.stdout.readline() or '{"missing": "it ended"}')
        self.missing, self.version = hello.get("missing"), hello.get("version")
        self.given = "one"

    def of(self, given):
        other = Engine.__new__(Engine)
        other.__dict__ = {**self.__dict__, "given": given, "words": f"{self.words}, {GIVEN[given]}"}
        return other

    def able(self, question):
        # All datasets is all files; for the one file there is one dataset.
        return self.given == "all" or not question.everywhere

    def wake(self):
        self.process.send_signal(signal.SIGCONT)

    def rest(self):
        self.process.send_signal(signal.SIGSTOP)

    def ask(self, question, domain):
        files = (self.bench.file_of[domain] if self.given == "one" else
                 f"{self.bench.many_root if question.everywhere else self.bench.one_root}/urls/*/*/*.parquet")
        self.process.stdin.write(json.dumps({"files": str(files), "domain": domain, "limit":
                                             None if question.everywhere else LIMIT}) + "\n")
        self.process.stdin.flush()
        reply = json.loads(self.process.stdout.readline())
        if "error" in reply:
            raise OSError(reply["error"])
        return reply["seconds"], reply["rows"], reply["digest"]

    def close(self):
        self.wake()
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


class Pywb:
    """`wayback` on a port; collections: the names that are asked one after the other."""

    def __init__(self, bench, words, collections, child, version):
        self.bench, self.words, self.collections = bench, words, collections
        self.child, self.version = child, version

    def able(self, question):
        return self.words == PYWB or question.everywhere

    def wake(self):
        self.child.process.send_signal(signal.SIGCONT)

    def rest(self):
        self.child.process.send_signal(signal.SIGSTOP)

    def ask(self, question, domain):
        import http.client
        begin = time.perf_counter()
        urls = []
        limit = "" if question.everywhere else f"&limit={LIMIT}"
        link = http.client.HTTPConnection("127.0.0.1", self.child.address, timeout=60)
        for name in self.collections:
            link.request("GET", f"/{name}/cdx?url={quote(domain)}&matchType=domain&fl=url{limit}")
            reply = link.getresponse()
            body = reply.read()
            if reply.status not in (200, 404):
                raise OSError(f"pywb: {reply.status} {body[:200]!r}")
            # Keys stand before the object where there are any, and may have braces of their own.
            urls += [json.loads(line[line.index('{"url"'):])["url"]
                     for line in body.decode().splitlines() if '{"url"' in line]
        link.close()
        return time.perf_counter() - begin, len(urls), digest_of(urls)


# ------------------------------------------------------------------------------------- the bench

class Bench:
    def __init__(self, tmp, source):
        self.tmp, self.core = tmp, machine.cores()[0]
        self.one_root, self.many_root = tmp / "one", tmp / "many"
        ingest(self.one_root, source, "--dataset", EVERYTHING)
        ingest(self.many_root, source)

    def server(self, root):
        with machine.pinned(self.core):
            return dxtest.Server(root, "--threads", 1, "--workers", 1, "--poll-ms", 0,
                                 "--cache-pages", "256M")

    @contextlib.contextmanager
    def up(self):
        with self.server(self.one_root) as self.one, self.server(self.many_root) as self.many:
            self.everything = next(iter(self.one.get("/v1/datasets").json["datasets"]))["dataset_id"]
            yield self

    def read(self):
        """[(rows, datasets, domain)], and where the rows of each domain lie in the one dataset."""
        names = where.domains(self.many_root)
        nested = {name.split(".", 1)[1] for name in names if "." in name}
        found, self.file_of = [], {}
        files = {p.parent.name.split("=")[1]: p for p in
                 self.one_root.glob("urls/*/domain_prefix=*/*.parquet")}
        with pipeline.Client(self.many) as client:
            bodies = [body for _, _, body in client.ask([f"/v1/domain/{quote(n)}" for n in names])]
        for body, name in zip(bodies, names):
            answer = json.loads(body)
            prefix = int(answer["domain_id"], 16) >> 56
            for words, path in files.items():
                low, _, high = words.partition("-")
                if int(low, 16) <= prefix <= int(high or low, 16):
                    self.file_of[name] = path
            # pywb's match of a domain takes those of other registrable domains below it too.
            if name not in nested:
                found.append((sum(d["row_count"] for d in answer["datasets"]),
                              len(answer["datasets"]), name))
        return sorted(found, reverse=True), len(files)

    def questions(self, count):
        found, self.files = self.read()
        rng = random.Random(5)

        def some(low, high, datasets=1):
            names = [name for rows, n, name in found if low <= rows <= high and n >= datasets]
            return rng.sample(names, min(count, len(names)))
        asked = [Question("first page, 80 to 120 rows", some(80, 120), False),
                 Question("first page, 600 to 1,000 rows", some(600, 1000), False),
                 Question("first page of more than 2,000 rows", some(2001, 1 << 40), False),
                 Question("all rows in all datasets, 80 to 120 rows", some(80, 120, 5), True)]
        ours = Ours(self)
        ours.wake()
        for question in asked:
            for domain in question.domains:
                question.truth[domain] = ours.ask(question, domain)[1:]
        ours.rest()
        return [q for q in asked if q.domains]

    def engines(self, stack, result):
        for engine, words in ENGINES.items():
            if not where.program("python"):
                result.note(f"Not measured: {words}: no python with it (scripts/bench_peers.sh).")
                continue
            peer = Engine(self, engine)
            stack.callback(peer.close)
            if peer.missing:
                result.note(f"Not measured: {words}: {peer.missing}.")
                continue
            peer.rest()
            yield from (peer.of("one"), peer.of("all"))

    def pywb(self, stack, result):
        program = where.program("wayback")
        if not program or not where.program("python"):
            result.note("Not measured: pywb: not there, or no python with pyarrow "
                        "(scripts/bench_peers.sh).")
            return
        folder = self.tmp / "pywb"
        folder.mkdir()
        rows = rows_of(self.many_root)
        largest = sorted(rows, key=lambda d: -len(rows[d]))[:CRAWLS]
        collections = {"all": [row for each in rows.values() for row in each],
                       **{f"c{d}": rows[d] for d in largest}}
        config = ["collections:"]
        for name, each in collections.items():
            cdxj(each, folder / f"{name}.cdxj")
            config += [f"  {name}:", f"    index_paths: {folder}/{name}.cdxj",
                       f"    archive_paths: {folder}"]
        (folder / "config.yaml").write_text("\n".join(config) + "\n", encoding="utf-8")
        port = stores.free_port()
        child = stack.enter_context(where.Child(
            self.core, [program, "-p", port, "-b", "127.0.0.1", "-t", 1], port, folder=folder,
            last_signal=signal.SIGKILL))     # it may be stopped
        version = where.said(program, "--version").replace("wayback", "pywb")
        child.process.send_signal(signal.SIGSTOP)
        self.share = sum(len(rows[d]) for d in largest) / sum(len(r) for r in rows.values())
        yield Pywb(self, PYWB, ["all"], child, version)
        yield Pywb(self, PYWB_MANY, [name for name in collections if name != "all"], child, version)


def one_round(asker, question, at, count, differ):
    """Seconds of each question that fits in; the first one, which compiles and opens, is not."""
    seconds = []
    asker.wake()
    try:
        domains = question.domains[at:] + question.domains[:at]
        asker.ask(question, domains[-1])
        end = time.monotonic() + ENGINE_S
        for domain in domains[:count]:
            spent, rows, digest = asker.ask(question, domain)
            seconds.append(spent)
            want = question.truth[domain]
            same = (rows == want[0] if rows >= LIMIT and isinstance(asker, Pywb)
                    else (rows, digest) == want)
            differ[asker.words] = differ.get(asker.words, 0) + (not same)
            if time.monotonic() > end:
                break
    finally:
        asker.rest()
    return seconds


def measure(bench, result, rounds, count):
    with bench.up(), contextlib.ExitStack() as stack:
        asked = bench.questions(count)
        askers = [Ours(bench), Lookup(bench), *bench.engines(stack, result), *bench.pywb(stack, result)]
        differ = {}
        for question in asked:
            seen = {asker: [] for asker in askers if asker.able(question)}
            failed = set()
            for n in range(rounds):
                for asker in seen:
                    if asker in failed:
                        continue
                    try:
                        seen[asker].append(one_round(asker, question, n * len(question.domains) // rounds,
                                                     count, differ))
                    except (OSError, ValueError) as error:
                        failed.add(asker)
                        result.note(f"Not measured: {asker.words}, {question.name}: {str(error)[:200]}.")
            for asker, done in seen.items():
                if asker in failed:
                    continue
                every = [ms for each in done for ms in each]
                result.add(question.name, asker.words, "p50 ms", [1e3 * median(each) for each in done],
                           more=False, version=asker.version, count=len(every))
                for share in (0.95, 0.99):
                    result.add(question.name, asker.words, f"p{100 * share:.0f} ms",
                               [1e3 * percentile(every, share)], more=False)
                if asker.words != OURS:
                    result.ratio(question.name, asker.words, OURS, "p50 ms", judged=OURS)
                print(f"{question.name:42} {asker.words:36} n {len(every):4}  p50 "
                      f"{1e3 * median(every):8.2f} ms  p99 {1e3 * percentile(every, 0.99):8.2f} ms",
                      flush=True)
    # A hundred indexes do not have the rows of the others; the rest is to be the same.
    differ.pop(PYWB_MANY, None)
    for words, times in differ.items():
        dxtest.equal(times, 0, f"{words}: answers that are not ours")


def report(bench, result):
    rows = result.figures["rows"]
    yield (f"Local files, warm. One dataset of all rows: {bench.files} Parquet files, sorted by domain; and "
           f"{len(list(bench.many_root.glob('urls/*/*/*.parquet'))):,} datasets of a file each. Times end when the "
           "rows are values of Python, for all of them. Engines have one core and one thread; the client of a "
           "server has the other core.")
    ratios = {(r["group"], r["name"]): r["median"] for r in result.figures["ratios"]}
    late = {(r["group"], r["name"], r["unit"]): r["median"] for r in rows}
    for group in dict.fromkeys(r["group"] for r in rows):
        yield from ("", f"**{group}**", "", "| engine | n | p50 ms | p95 ms | p99 ms | it / domaindexd |",
                    "| --- | --: | --: | --: | --: | --: |")
        for row in [r for r in rows if (r["group"], r["unit"]) == (group, "p50 ms")]:
            name, bold = row["name"], "**" if row["name"] == OURS else ""
            yield (f"| {bold}{name}{bold} | {row['count']} | {row['median']:.2f} | "
                   f"{late[(group, name, 'p95 ms')]:.2f} | {late[(group, name, 'p99 ms')]:.2f} | "
                   f"{ratios.get((group, name), 1):,.1f} |")
    if hasattr(bench, "share"):
        yield from ("", f"The hundred largest datasets have {100 * bench.share:.0f} % of the rows: a hundred "
                    "indexes asked one by one is what it costs to ask crawl by crawl, without the rest.")
    yield from ("", "Versions: " + "; ".join(dict.fromkeys(
        f"{r['name'].split(',')[0]} {r['version']}" for r in rows if r.get("version"))) + ".")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("--quick", action="store_true", help="one round of few questions")
    parser.add_argument("--write", action="store_true", help="keep it in bench/RESULTS.md")
    parser.add_argument("--json", metavar="FILE", help="where the figures go")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("file", nargs="?", help="TSV of dataset, Unix time, URL, extra")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    dxtest.need_programs()
    source = options.file or (None if options.quick else dxtest.shared_data(where.CORPUS))
    with dxtest.tempdir() as tmp:
        if not source and not options.quick:
            dxtest.skip("the corpus is not here (see bench/README.md)")
        name = pathlib.Path(source).name if source else "made-up rows"
        result = Result("lake", data=f"{name}, ingested into its datasets, and all of it into one")
        bench = Bench(tmp, source or where.made_up(tmp / "rows.tsv"))
        with machine.pinned(machine.cores()[1]):
            measure(bench, result, 1 if options.quick else options.rounds, 3 if options.quick else 40)
        lines = list(report(bench, result))
    print("\n" + "\n".join(lines))
    print(result.save(options.json))
    if options.write:
        group = result.figures["rows"][0]["group"]
        chart.bars(HERE / "pictures" / "lake.svg", "The URLs of one domain from local files", f"{group}; median, warm",
                   [(r["name"], r["median"], f"{r['median']:.2f} ms", r["name"] in (OURS, LOOKUP))
                    for r in result.figures["rows"] if (r["group"], r["unit"]) == (group, "p50 ms")])
        result.keep("The URLs of a domain from local files", [*lines, "", "![medians](pictures/lake.svg)"])
    return 1 if dxtest.failures() else 0


if __name__ == "__main__":
    sys.exit(main())
