#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""spark.py - a lake and index that Spark builds: CPU time and answers, beside the program alone and beside Spark alone.

    bench/spark.py [--domains 1000000 | --input posts-A.tsv.zst] [--large ROWS] [--store] [--no-spark] [--rounds 1] [--partitions 8] [--work DIR] [--write] [--json FILE]

One Parquet file of made-up rows (bench/make_rows, in no order, row groups of 131,072 rows), or of the lines dataset, time, URL of a TSV file, is read by

    domaindex        `domaindex ingest` and `publish`, two threads
    Spark            sorted Parquet: repartitionByRange and sortWithinPartitions by URL and time, zstd
    domaindex.spark  `domaindex.spark.ingest`: rows arranged, lake files written by tasks, one publish

in interleaved rounds; Spark in local-cluster mode, two workers of one core as processes of their own. CPU seconds are those of all processes, the
start of the JVMs included, counted by a control group (cpuacct) or else of the children that ended. Memory is the largest sum of what an executor
and the processes below it have resident, looked at four times a second.

--large ROWS: so many rows more, all of one domain. --store: the root of domaindex.spark is on versitygw, a backup of it is compared. --no-spark: without
Spark alone.

Behind the rounds both roots are compared: their datasets; all rows of their lakes, by DuckDB; counts and times of every domain in each of its datasets;
and the bytes of the index that the job published with those that a publish of its whole lake makes. It needs scripts/spark_peers.sh, and DuckDB for the comparison.
"""
import argparse
import contextlib
import hashlib
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "support"), str(HERE.parent / "tests" / "support")]
import dxtest                           # noqa: E402
import machine                          # noqa: E402
import spark_env                        # noqa: E402
import stores                           # noqa: E402
from result import Result, median       # noqa: E402

ALONE, SPARK, OURS = "domaindex ingest and publish", "Spark, sorted Parquet", "domaindex.spark.ingest"
GROUPS = pathlib.Path("/sys/fs/cgroup/cpuacct")
EXECUTOR_MB = 1024      # of the JVM; its tasks' other processes come to that


class Group:
    """CPU time of a process and all that it starts, however these end."""

    def __init__(self):
        self.folder = GROUPS / f"domaindex-bench-{os.getpid()}"
        try:
            self.folder.mkdir()
        except OSError:
            self.folder = None

    def enter(self):
        if self.folder:
            (self.folder / "tasks").write_text(str(os.getpid()))

    def seconds(self):
        if self.folder:
            return int((self.folder / "cpuacct.usage").read_text()) / 1e9
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    def close(self):
        if self.folder:
            with contextlib.suppress(OSError):
                self.folder.rmdir()


class Executors:
    """Largest resident memory of an executor with the processes below it, while it runs."""

    def __init__(self):
        self.most_mib, self.ends = 0, threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ends.set()
        self.thread.join()

    def watch(self):
        while not self.ends.wait(0.25):
            for folder in pathlib.Path("/proc").glob("[0-9]*"):
                with contextlib.suppress(OSError):
                    if b"CoarseGrainedExecutorBackend" in (folder / "cmdline").read_bytes():
                        self.most_mib = max(self.most_mib, sum(map(resident_mib, below(int(folder.name)))))


def below(pid):
    yield pid
    with contextlib.suppress(OSError):
        for thread in pathlib.Path(f"/proc/{pid}/task").iterdir():
            for child in (thread / "children").read_text(encoding="ascii").split():
                yield from below(int(child))


def resident_mib(pid):
    with contextlib.suppress(OSError):
        return int(pathlib.Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE") / (1 << 20)
    return 0


def to_parquet(command, large, path):
    """Lines of a command as Parquet; returns its rows. Runs in Spark's Python, which has pyarrow."""
    import pyarrow
    import pyarrow.csv
    import pyarrow.parquet

    columns = ["dataset", "ts", "url"]
    options = {"read_options": pyarrow.csv.ReadOptions(column_names=columns, block_size=8 << 20),
               "parse_options": pyarrow.csv.ParseOptions(delimiter="\t", quote_char=False, invalid_row_handler=lambda row: "skip"),
               "convert_options": pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(columns, pyarrow.string()), strings_can_be_null=False)}
    with subprocess.Popen(command, stdout=subprocess.PIPE) as made:
        rows, writer = 0, None
        for batch in pyarrow.csv.open_csv(made.stdout, **options):
            writer = writer or pyarrow.parquet.ParquetWriter(path, batch.schema, compression="zstd")
            writer.write_batch(batch, row_group_size=131072)
            rows += batch.num_rows
    for begin in range(0, large, 131072):
        urls = [f"http://www{i % 89}.large-site.example/{i * 7919 % 1000003}/{i}" for i in range(begin, min(begin + 131072, large))]
        texts = [[f"crawl{i % 3}" for i in range(len(urls))], [str(1577836800 + begin + i) for i in range(len(urls))], urls]
        writer.write_batch(pyarrow.record_batch([pyarrow.array(t, pyarrow.string()) for t in texts], names=columns), row_group_size=131072)
    writer.close()
    return rows + large


def role(name, work, options):
    """In a process of Spark's environment."""
    if name == "rows":
        command = ["sh", "-c", "zstd -dc \"$0\" | cut -f 1-3", options.input] if options.input else [machine.BIN / "bench" / "make_rows", "--domains", str(options.domains)]
        print(to_parquet(command, options.large, work / "input.parquet"))
        return
    spark = spark_env.session(options.partitions, EXECUTOR_MB)
    df = spark.read.parquet(str(work / "input.parquet"))
    if name == "spark":
        df.repartitionByRange(options.partitions, "url", "ts").sortWithinPartitions("url", "ts").write.mode("overwrite").option("compression", "zstd").parquet(str(work / "sorted"))
    else:
        import domaindex.spark

        domaindex.spark.ingest(df, options.root, dataset_column="dataset", url_column="url", ts_column="ts", partitions=options.partitions)
    spark.stop()


class Bench:
    def __init__(self, options, work, store):
        self.options, self.work, self.store = options, work, store
        self.environment = spark_env.install(work)
        self.group = Group()
        self.rows = int(self.in_spark("rows"))
        self.memory_mib = 0

    def in_spark(self, name, root=""):
        return self.run([spark_env.PYTHON, __file__, *sys.argv[1:], "--role", name, "--at", self.work, "--root", root], self.environment)

    def run(self, command, environment=None):
        done = subprocess.run([str(c) for c in command], env=environment, preexec_fn=self.group.enter, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            words = [line for line in done.stderr.splitlines() if not line.startswith(("\tat ", "java.", "org."))]     # of Python
            sys.exit(f"{' '.join(str(c) for c in command)}:\n{done.stdout}" + "\n".join(words)[-3000:])
        return done.stdout

    def alone(self):
        shutil.rmtree(self.work / "alone", ignore_errors=True)
        root = ("--root", self.work / "alone", "--memory", "1G", "--threads", 2)
        self.run([dxtest.DOMAINDEX, "ingest", *root, "--dataset-column", "dataset", "--ts-column", "ts", "--url-column", "url", self.work / "input.parquet"])
        self.run([dxtest.DOMAINDEX, "publish", *root])

    def spark(self):
        shutil.rmtree(self.work / "sorted", ignore_errors=True)
        self.in_spark("spark")

    def ours(self, number):
        shutil.rmtree(self.work / "ours", ignore_errors=True)
        self.root = self.store.root("bench", f"root{number}") if self.store else self.work / "ours"
        with Executors() as executors:
            self.in_spark("ours", self.root)
        self.memory_mib = max(self.memory_mib, executors.most_mib)

    def measure(self):
        seen = {}
        for number in range(self.options.rounds):
            for name, function in ((ALONE, self.alone), (SPARK, self.spark), (OURS, lambda: self.ours(number))):
                if name == SPARK and self.options.no_spark:
                    continue
                before, begin = self.group.seconds(), time.monotonic()
                function()
                seen.setdefault(name, []).append((self.group.seconds() - before, time.monotonic() - begin))
                print(f"{name:30} {seen[name][-1][0]:8.1f} CPU s, {seen[name][-1][1]:7.1f} s", flush=True)
        return seen

    def compare(self):
        """[(question, whether the roots agree)]"""
        shutil.rmtree(self.work / "sorted", ignore_errors=True)
        (self.work / "input.parquet").unlink()
        alone, ours = (self.work / name for name in ("alone", "ours"))
        if self.store:
            self.run([dxtest.DOMAINDEX, "backup", "--quiet", "--root", self.root, "--to", ours])
        found = [(words, question(alone) == question(ours)) for words, question in (
            ("datasets, domains, URLs, rows", self.datasets), ("all rows of the lake, by DuckDB", self.lake), ("answers of all domains", self.answers))]
        published = self.index(ours)
        self.run([dxtest.DOMAINDEX, "publish", "--root", ours, "--full", "--force", "--memory", "1G", "--pack", "8M" if self.store else "0"])     # as is the default on each
        return [*found, ("bytes of all index files, to those of a build of the whole lake", published == self.index(ours))]

    def datasets(self, root):
        found = json.loads(self.run([dxtest.DOMAINDEX, "datasets", "--root", root, "--json"]))
        return sorted((d["name"], d["dataset_id"], d["domain_count"], d["url_count"], d["row_count"]) for d in found["datasets"])

    def of_lake(self, root, query):
        """What DuckDB says; the parameter of the query is the list of lake files."""
        import duckdb

        files = self.run([dxtest.DOMAINDEX, "files", "--root", root]).splitlines()
        with duckdb.connect() as db:
            db.sql("SET memory_limit = '4GB'")
            return db.execute(query, [files]).fetchall()

    def lake(self, root):
        """Rows and two sums of hashes over them, for each dataset: equal for equal multisets of rows in whatever order."""
        row = "domain, domain_id, scheme, host, path_query, raw_url, ts, url_id"
        return self.of_lake(root, f"SELECT dataset_id, count(*), sum(hash({row})::HUGEINT), sum(hash(1, {row})::HUGEINT) FROM read_parquet(?) GROUP BY 1 ORDER BY 1")

    def answers(self, root):
        """A hash of the counts and times of every domain in each of its datasets, as `lookup` gives them."""
        names = self.work / "names"
        self.of_lake(root, f"COPY (SELECT DISTINCT domain FROM read_parquet(?) ORDER BY 1) TO '{names}' (HEADER false, QUOTE '', DELIMITER '\t')")
        sums = hashlib.sha256()
        with subprocess.Popen([dxtest.DOMAINDEX, "lookup", "--quiet", "--root", root, "--names", names, "--format", "csv"], stdout=subprocess.PIPE) as asked:
            for block in iter(lambda: asked.stdout.read(1 << 20), b""):
                sums.update(block)
        return asked.returncode, sums.hexdigest()

    def index(self, root):
        """{file: hash} of the current version."""
        version = json.loads(self.run([dxtest.DOMAINDEX, "versions", "--root", root, "--json"]))["current"]
        return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in (root / "index" / version).iterdir()}


def judge(options, bench, seen, found):
    what = f"made-up rows of {options.domains:,} domains" if not options.input else f"rows of {pathlib.Path(options.input).name}"
    large = f", {options.large:,} of one domain" if options.large else ""
    result = Result("spark", f"{bench.rows:,} {what}{large} in one Parquet file, {options.partitions} partitions; root of domaindex.spark {'on versitygw' if options.store else 'in a directory'}")
    group = "Parquet to a lake"
    for name, values in seen.items():
        result.add(group, name, "CPU us/row", [cpu * 1e6 / bench.rows for cpu, _ in values], False)
        result.add(group, name, "s", [wall for _, wall in values], False)
    result.expect("domaindex.spark.ingest, CPU to that of domaindex ingest and publish", "<= 3", result.ratio(group, OURS, ALONE, "CPU us/row"))
    if SPARK in seen:
        result.expect("domaindex.spark.ingest, CPU to that of Spark writing sorted Parquet", "<= 1.5", result.ratio(group, OURS, SPARK, "CPU us/row"))
    result.expect("an executor and its processes, memory", "<= 2048", bench.memory_mib, "MiB")
    for question, agrees in found:
        result.expect(f"roots that differ: {question}", "0", int(not agrees))
    result.save(options.json)
    lines = ["| | CPU us/row | s |", "| --- | --: | --: |",
             *(f"| {name} | {median([c * 1e6 / bench.rows for c, _ in v]):.2f} | {median([w for _, w in v]):.1f} |" for name, v in seen.items())]
    lines = [*result.expectations(), "", *lines]
    print("\n".join(lines))
    if options.write:
        result.keep("A lake by Spark", lines)
    return all(agrees for _, agrees in found)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--domains", type=int, default=1_000_000)
    parser.add_argument("--input", metavar="FILE", help="lines of dataset, time and URL, compressed by zstd, in place of made-up rows")
    parser.add_argument("--large", type=int, default=0, metavar="ROWS", help="so many rows more, of one domain")
    parser.add_argument("--store", action="store_true", help="the root of domaindex.spark is on versitygw")
    parser.add_argument("--no-spark", action="store_true", help="without Spark alone")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--partitions", type=int, default=8)
    parser.add_argument("--work", default="/var/tmp")
    parser.add_argument("--json")
    parser.add_argument("--write", action="store_true")
    for name in ("role", "at", "root"):     # of the processes in Spark's environment
        parser.add_argument(f"--{name}", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.role:
        role(options.role, pathlib.Path(options.at), options)
        return 0
    dxtest.need_programs()
    if not spark_env.PYTHON.exists():
        sys.exit("Spark is missing: run scripts/spark_peers.sh, which installs it into build/spark-peers")
    with contextlib.ExitStack() as stack:
        work = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(dir=options.work, prefix="dx-spark-")))
        store = None
        if options.store:
            stores.need("versitygw")
            os.environ["TMPDIR"] = str(work)
            store = stack.enter_context(stores.Versitygw())
            store.bucket("bench")
            stack.enter_context(stores.environment({**store.env, "CACHE_DIRECTORY": str(work / "cache")}))
        bench = Bench(options, work, store)
        stack.callback(bench.group.close)
        return not judge(options, bench, bench.measure(), bench.compare())


if __name__ == "__main__":
    sys.exit(main())
