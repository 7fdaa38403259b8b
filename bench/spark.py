#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""spark.py - CPU time of a lake and index that Spark builds, beside the program alone and beside Spark alone.

    bench/spark.py [--domains 1000000] [--rounds 1] [--partitions 8] [--work DIR] [--write] [--json FILE]

One Parquet file of made-up rows (bench/make_rows, in no order, row groups of 131,072 rows) is read by

    domaindex        `domaindex ingest` and `publish`, two threads
    Spark            sorted Parquet: repartitionByRange and sortWithinPartitions by URL and time, zstd
    domaindex.spark  `domaindex.spark.ingest`: rows arranged, lake files written by tasks, one publish

in interleaved rounds; Spark in local-cluster mode, two workers of one core as processes of their own. CPU seconds are those of all processes, the
start of the JVMs included, counted by a control group (cpuacct) or else of the children that ended. The datasets of both roots are compared.
It needs scripts/spark_peers.sh.
"""
import argparse
import contextlib
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "support"), str(HERE.parent / "tests" / "support")]
import dxtest                           # noqa: E402
import machine                          # noqa: E402
import spark_env                        # noqa: E402
from result import Result, median       # noqa: E402

ALONE, SPARK, OURS = "domaindex ingest and publish", "Spark, sorted Parquet", "domaindex.spark.ingest"
GROUPS = pathlib.Path("/sys/fs/cgroup/cpuacct")
EXECUTOR_MB = 2048


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


def to_parquet(domains, path):
    """make_rows as Parquet; returns its rows. Runs in Spark's Python, which has pyarrow."""
    import pyarrow
    import pyarrow.csv
    import pyarrow.parquet

    options = {"read_options": pyarrow.csv.ReadOptions(column_names=["dataset", "ts", "url"], block_size=8 << 20),
               "parse_options": pyarrow.csv.ParseOptions(delimiter="\t", quote_char=False)}
    with subprocess.Popen([machine.BIN / "bench" / "make_rows", "--domains", str(domains)], stdout=subprocess.PIPE) as made:
        rows, writer = 0, None
        for batch in pyarrow.csv.open_csv(made.stdout, **options):
            writer = writer or pyarrow.parquet.ParquetWriter(path, batch.schema, compression="zstd")
            writer.write_batch(batch, row_group_size=131072)
            rows += batch.num_rows
        writer.close()
    return rows


def role(name, work, partitions):
    """In a process of Spark's environment."""
    work = pathlib.Path(work)
    if name == "rows":
        print(to_parquet(partitions, work / "input.parquet"))
        return
    spark = spark_env.session(partitions, EXECUTOR_MB)
    df = spark.read.parquet(str(work / "input.parquet"))
    if name == "spark":
        df.repartitionByRange(partitions, "url", "ts").sortWithinPartitions("url", "ts").write.mode("overwrite").option("compression", "zstd").parquet(str(work / "sorted"))
    else:
        import domaindex.spark

        domaindex.spark.ingest(df, work / "ours", dataset_column="dataset", url_column="url", ts_column="ts", partitions=partitions)
    spark.stop()


class Bench:
    def __init__(self, options, work):
        self.options, self.work = options, work
        self.environment = spark_env.install(work)
        self.group = Group()
        self.rows = int(self.in_spark("rows", options.domains))

    def in_spark(self, name, number):
        return self.run([spark_env.PYTHON, __file__, "--role", name, self.work, number], self.environment)

    def run(self, command, environment=None):
        done = subprocess.run([str(c) for c in command], env=environment, preexec_fn=self.group.enter, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{' '.join(str(c) for c in command)}:\n{done.stdout}{done.stderr[-3000:]}")
        return done.stdout

    def alone(self):
        shutil.rmtree(self.work / "alone", ignore_errors=True)
        root = ("--root", self.work / "alone", "--memory", "1G", "--threads", 2)
        self.run([dxtest.DOMAINDEX, "ingest", *root, "--dataset-column", "dataset", "--ts-column", "ts", "--url-column", "url", self.work / "input.parquet"])
        self.run([dxtest.DOMAINDEX, "publish", *root])

    def spark(self):
        self.in_spark("spark", self.options.partitions)

    def ours(self):
        shutil.rmtree(self.work / "ours", ignore_errors=True)
        self.in_spark("ours", self.options.partitions)

    def datasets(self, root):
        found = json.loads(self.run([dxtest.DOMAINDEX, "datasets", "--root", self.work / root, "--json"]))
        return sorted((d["name"], d["domain_count"], d["url_count"], d["row_count"]) for d in found["datasets"])

    def measure(self):
        seen = {}
        for _ in range(self.options.rounds):
            for name, function in ((ALONE, self.alone), (SPARK, self.spark), (OURS, self.ours)):
                before, begin = self.group.seconds(), time.monotonic()
                function()
                seen.setdefault(name, []).append((self.group.seconds() - before, time.monotonic() - begin))
                print(f"{name:30} {seen[name][-1][0]:8.1f} CPU s, {seen[name][-1][1]:7.1f} s", flush=True)
        same = self.datasets("alone") == self.datasets("ours")
        print("both roots have the same datasets, domains, URLs and rows" if same else "THE ROOTS DIFFER", flush=True)
        return seen, same


def judge(options, bench, seen):
    result = Result("spark", f"{bench.rows:,} made-up rows of {options.domains:,} domains in one Parquet file, {options.partitions} partitions")
    group = "Parquet to a lake"
    for name, values in seen.items():
        result.add(group, name, "CPU us/row", [cpu * 1e6 / bench.rows for cpu, _ in values], False)
        result.add(group, name, "s", [wall for _, wall in values], False)
    result.expect("domaindex.spark.ingest, CPU to that of domaindex ingest and publish", "<= 3", result.ratio(group, OURS, ALONE, "CPU us/row"))
    result.expect("domaindex.spark.ingest, CPU to that of Spark writing sorted Parquet", "<= 1.5", result.ratio(group, OURS, SPARK, "CPU us/row"))
    result.save(options.json)
    lines = ["| | CPU us/row | s |", "| --- | --: | --: |",
             *(f"| {name} | {median([c * 1e6 / bench.rows for c, _ in v]):.2f} | {median([w for _, w in v]):.1f} |" for name, v in seen.items())]
    lines = [*result.expectations(), "", *lines]
    print("\n".join(lines))
    if options.write:
        result.keep("A lake by Spark", lines)


def main():
    if sys.argv[1:2] == ["--role"]:
        return role(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--domains", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--partitions", type=int, default=8)
    parser.add_argument("--work", default="/var/tmp")
    parser.add_argument("--json")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    dxtest.need_programs()
    if not spark_env.PYTHON.exists():
        sys.exit("Spark is missing: run scripts/spark_peers.sh, which installs it into build/spark-peers")
    with tempfile.TemporaryDirectory(dir=options.work, prefix="dx-spark-") as work:
        bench = Bench(options, pathlib.Path(work))
        try:
            seen, same = bench.measure()
        finally:
            bench.group.close()
        judge(options, bench, seen)
    return not same


if __name__ == "__main__":
    sys.exit(main())
