#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: slow long
"""The Spark data source, with Spark in local-cluster mode: two workers as processes of their own. Rows of a made-up corpus
through domaindex.spark.ingest, through format("domaindex") as they lie, added, and in place of others: every answer is that of the
program alone. Tasks that fail once, an executor that is killed, a driver that is killed at a random moment and run again; two jobs at once;
rows and presence read back with filters; the command line. It needs scripts/spark_peers.sh (500 MB); two to ten minutes.
"""
import contextlib
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time

import dxtest
import spark_env
import stores
from dxtest import check, equal

KILLS = int(os.environ.get("DX_SPARK_KILLS") or (4 if dxtest.WHOLE else 2))
ROWS = 20000


def begin(tmp):
    """Runs this script again in Spark's environment, with the package installed in front."""
    if not spark_env.PYTHON.exists():
        dxtest.skip("there is no Spark: scripts/spark_peers.sh makes build/spark-peers")
    # Half of the CPU time of such short jobs is that of the compiler of the JVM.
    environment = {**spark_env.install(tmp), "DX_SPARK_WORK": str(tmp), "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
    return subprocess.run([spark_env.PYTHON, __file__], env=environment, check=False).returncode


def single(root, rows, *more):
    text = "dataset\tts\turl\tnote\n" + "".join("\t".join(row) + "\n" for row in rows)
    dxtest.domaindex("ingest", "--root", root, "--dataset-column", "dataset", "--extra-column", "note", "--format", "tsv", *more, "-", input=text.encode())
    dxtest.domaindex("publish", "--root", root)
    return answers(root)


def answers(root, in_order=True):
    import domaindex

    with domaindex.open(root) as index:
        names = [d["domain"] for d in index.get("/v1/domains", limit=10000)["domains"]]
    lines = dxtest.domaindex("lookup", "--root", root, "-", input="\n".join(names).encode()).stdout.splitlines()
    lines += dxtest.domaindex("lookup", "--root", root, "--all-urls", "--fields", "url,ts,extras,raw_url", "--limit", 10000, "-", input="\n".join(names).encode()).stdout.splitlines()
    objects = [json.loads(line) for line in lines]
    for answer in objects:
        for member in ("version", "next_cursor"):
            answer.pop(member, None)
        if not in_order:
            answer.get("items", []).sort(key=lambda item: json.dumps(item, sort_keys=True))
    return objects


def made(seed):
    import corpus

    rows = [raw for raw, _ in corpus.rows(seed=seed, count=ROWS)]
    return [(dataset[:5], ts, f"http://www.skew.example/{i % 400}/{i}" if i % 3 == 0 else url, extra) for i, (dataset, ts, url, extra) in enumerate(rows)]


def frame(spark, rows, parts=3):
    return spark.createDataFrame(rows, "dataset string, ts string, url string, note string").repartition(parts)


def check_writes(spark, tmp, old, new, old_rows, new_rows):
    import domaindex.spark

    root = tmp / "root"
    options = {"dataset_column": "dataset", "extra_columns": ["note"]}
    domaindex.spark.ingest(frame(spark, old_rows), root, partitions=5, **options)
    equal(sum("--prepare" in line for line in (tmp / "calls").read_text().splitlines()), 1, "how often a job asks the root for its suffix list")
    check(answers(root) == old, "answers after domaindex.spark.ingest")
    check(not list((root / "spool").iterdir()), "nothing is left in the spool")
    dxtest.domaindex("verify", "--root", root, "--deep")
    domaindex.spark.ingest(frame(spark, new_rows), root, partitions=5, mode="overwrite", **options)
    replaced = tmp / "replaced"
    single(replaced, old_rows)
    check(answers(root) == single(replaced, new_rows, "--replace"), "answers after an overwrite")
    (frame(spark, new_rows).write.format("domaindex").option("root", str(tmp / "plain")).option("dataset_column", "dataset")
     .option("extra_columns", "note").mode("append").save())
    check(answers(tmp / "plain") == new, "answers after format(\"domaindex\") of rows as they lie")
    domaindex.spark.ingest(frame(spark, old_rows), tmp / "plain", **options)
    both = tmp / "both"
    single(both, new_rows)
    single(both, old_rows)
    check(answers(tmp / "plain", False) == answers(both, False), "answers after rows were added")
    try:
        domaindex.spark.ingest(frame(spark, [("a", "", "mailto:x", "")] * 9 + old_rows[:10]), tmp / "rejects", **options)
        check(False, "too many rejects")
    except Exception as error:  # noqa: BLE001
        check("were rejected" in str(error), f"too many rejects: {str(error)[:300]}")
    check(not (tmp / "rejects" / "registry.json").exists(), "too many rejects: nothing is there")


def check_failing_tasks(spark, tmp, old, old_rows):
    """Each task fails at its first attempt; and an executor is killed under another job."""
    import domaindex.spark

    marks = tmp / "marks"
    marks.mkdir()

    def fail_once(batches):
        from pyspark import TaskContext

        context = TaskContext.get()
        mark = marks / f"{context.stageId()}-{context.partitionId()}"
        first = not mark.exists()
        mark.touch()
        for batch in batches:
            yield batch
            if first:
                raise RuntimeError("the first attempt")

    df = frame(spark, old_rows)
    domaindex.spark.ingest(df.mapInArrow(fail_once, df.schema), tmp / "failing", dataset_column="dataset", extra_columns=["note"], partitions=4)
    check(len(list(marks.iterdir())) > 0 and answers(tmp / "failing") == old, "answers after tasks that failed once")
    def kill_executor(batches):
        mark = marks / "executor"
        for batch in batches:
            yield batch
            if not mark.exists():
                mark.touch()
                os.kill(os.getppid(), signal.SIGKILL)  # the daemon of Python workers
                os.kill(os.getpid(), signal.SIGKILL)

    domaindex.spark.ingest(df.mapInArrow(kill_executor, df.schema), tmp / "executor", dataset_column="dataset", extra_columns=["note"], partitions=4)
    check((marks / "executor").exists() and answers(tmp / "executor") == old, "answers after Python workers that were killed")


def executors(spark):
    """Processes of the executors, which are children of this session's workers."""
    found = []
    for folder in pathlib.Path("/proc").iterdir():
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"org.apache.spark.executor.CoarseGrainedExecutorBackend" in words and any(spark.sparkContext.applicationId.encode() == w for w in words):
            found.append(int(folder.name))
    return found


def check_killed_executor(spark, root, spool, old, old_rows):
    """spool: the folder in which attempts appear; of a root on a store, that of its objects."""
    import threading

    import domaindex.spark

    failure = []

    def write():
        try:
            domaindex.spark.ingest(frame(spark, old_rows, 8), root, dataset_column="dataset", extra_columns=["note"], partitions=8)
        except Exception as error:  # noqa: BLE001
            failure.append(error)

    thread = threading.Thread(target=write)
    thread.start()
    dxtest.wait_until(lambda: list(spool.glob("spark-*/*/")) or not thread.is_alive(), 180)
    victims = executors(spark)
    check(victims, "there are executors")
    if victims:
        os.kill(victims[0], signal.SIGKILL)
    thread.join()
    check(not failure and answers(root) == old, f"{root}: answers after an executor was killed: {str(failure)[:500]}")
    dxtest.domaindex("verify", "--root", root, "--deep")


def check_reads(spark, tmp, rows):
    root = str(tmp / "old")
    lookup = json.loads(dxtest.domaindex("lookup", "--root", root, "--all-urls", "--limit", 10000, "skew.example").stdout)
    read = spark.read.format("domaindex").option("root", root)
    got = read.load().where("domain = 'skew.example'").collect()
    equal(sorted((r.dataset_id, r.url, r.url_id) for r in got), sorted((i["dataset_id"], i["url"], i["url_id"]) for i in lookup["items"]), "rows of a domain")
    one = lookup["datasets"][0]
    some = read.load().where(f"domain IN ('skew.example', 'nobody.example') AND dataset = '{one['dataset']}'").count()
    equal(some, sum(i["dataset_id"] == one["dataset_id"] for i in lookup["items"]), "rows of a domain in a dataset")
    presence = read.option("table", "presence").load().collect()
    want = [(a["domain"], d["dataset_id"], d["url_count"], d["row_count"]) for a in answers(root) if "url_count" in a for d in a["datasets"]]
    equal(sorted((r.domain, r.dataset_id, r.url_count, r.row_count) for r in presence), sorted(want), "presence of all domains")
    for option, value, want in (("table", "rows", "read by domain"), ("dataset", f"{one['dataset']},typo", "no dataset is called typo")):
        try:
            spark.read.format("domaindex").option("root", root).option(option, value).load().count()
            check(False, f"{option} {value}")
        except Exception as error:  # noqa: BLE001
            check(want in str(error), f"{option} {value}: {str(error)[:300]}")


def command(tmp, root, *more):
    return [sys.executable, "-m", "domaindex.spark", "ingest", str(tmp / "input.parquet"), "--root", str(root), "--dataset-column", "dataset",
            "--extra-column", "note", "--partitions", "4", *more]


def check_killed_drivers(tmp, root_of, kills, old, new_rows, old_rows):
    """spark-submit's process is killed at a random moment, with its executors, and run again: old rows or new ones, then new ones."""
    import pyarrow
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.table([pyarrow.array(column) for column in zip(*new_rows)], names=["dataset", "ts", "url", "note"]), tmp / "input.parquet")
    reference = tmp / "reference"
    single(reference, old_rows)
    single(reference, new_rows, "--replace")
    new = answers(reference)
    took = None
    seen = {"old": 0, "new": 0}
    for number in range(kills + 1):
        root = root_of(f"driver{number}")
        single(root, old_rows)
        began = time.monotonic()
        job = subprocess.Popen(command(tmp, root, "--overwrite"), start_new_session=True, stderr=subprocess.DEVNULL)
        if took is None:  # the first one is whole, and says how long one takes
            equal(job.wait(), 0, "the command")
            took = time.monotonic() - began
            check(answers(root) == new, "answers after the command")
            continue
        time.sleep(took * (0.3 + 0.7 * random.random()))
        os.killpg(job.pid, signal.SIGKILL)
        job.wait()
        dxtest.domaindex("publish", "--root", root, *(("--wait", 60) if isinstance(root, pathlib.Path) else ()))
        found = answers(root)
        check(found in (old, new), f"{root}: neither the old rows nor the new ones")
        seen["new" if found == new else "old"] += 1
        dxtest.run(*command(tmp, root, "--overwrite"))
        check(answers(root) == new, f"{root}: the job run again")
        dxtest.domaindex("verify", "--root", root, "--deep")
    print(f"killed drivers, {root_of('*')}: {seen}", flush=True)


def check_conflict(spark, tmp, rows):
    """Two jobs for the same new datasets at once: one commits, the other is refused, and nothing is doubled."""
    import threading

    import domaindex.spark

    outcome = []

    def write():
        try:
            domaindex.spark.ingest(frame(spark, rows), tmp / "twice", dataset_column="dataset", extra_columns=["note"], partitions=2)
            outcome.append("done")
        except Exception as error:  # noqa: BLE001
            outcome.append("refused" if "has rows" in str(error) else str(error)[:500])

    threads = [threading.Thread(target=write) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    equal(sorted(outcome), ["done", "refused"], "two jobs at once")
    return answers(tmp / "twice")


def check_profile(spark, tmp):
    """A corpus as it is published: names of datasets by path and by column, files that its profile leaves out."""
    import pyarrow
    import pyarrow.parquet

    import domaindex.spark

    def write(path, columns):
        path.parent.mkdir(parents=True, exist_ok=True)
        pyarrow.parquet.write_table(pyarrow.table(columns), path)

    index, web = tmp / "cc index", tmp / "fineweb"
    for crawl, subset in (("CC-MAIN-2024-10", "warc"), ("CC-MAIN-2024-18", "warc"), ("CC-MAIN-2024-18", "robotstxt")):
        write(index / f"crawl={crawl}" / f"subset={subset}" / "part-0.parquet",
              {"url": [f"http://site{i}.com/{crawl}/{subset}" for i in range(9)], "fetch_time": pyarrow.array([1_700_000_000_000 + i for i in range(9)], pyarrow.timestamp("ms", "UTC")),
               "fetch_status": pyarrow.array([200] * 9, pyarrow.int16()), "content_mime_detected": ["text/html"] * 9, "content_digest": ["D"] * 9, "content_languages": ["eng"] * 9})
    write(web / "000.parquet", {"text": ["t"] * 6, "url": [f"https://blog{i}.org/p" for i in range(6)], "date": ["2020-02-0%dT00:00:00Z" % (i + 1) for i in range(6)],
                                         "dump": ["CC-MAIN-2020-05", "CC-MAIN-2019-51"] * 3, "language": ["en"] * 6})
    for profile, folder in (("cc-index", index), ("fineweb", web)):
        ours, other = tmp / f"{profile}-spark", tmp / f"{profile}-alone"
        domaindex.spark.ingest(spark.read.parquet(str(folder)), ours, profile=profile, partitions=3)
        dxtest.domaindex("ingest", "--root", other, "--profile", profile, folder)
        dxtest.domaindex("publish", "--root", other)
        names = [sorted(d["name"] for d in json.loads(dxtest.domaindex("datasets", "--root", root, "--json").stdout)["datasets"]) for root in (ours, other)]
        equal(names[0], names[1], f"datasets by profile {profile}")
        equal(plain(answers(ours)), plain(answers(other)), f"answers by profile {profile}")


def plain(found):
    """Without numbers of datasets, which follow the order of the input."""
    text = json.dumps(found)
    return sorted(part for part in text.replace("{", "\n{").split("\n") if "dataset_id" not in part)


def check_store(spark, store, old, new, old_rows, new_rows):
    """A root on object storage: executors put their files into the store."""
    import domaindex.spark

    root, options = store.root("lake", "p"), {"dataset_column": "dataset", "extra_columns": ["note"], "partitions": 4}
    domaindex.spark.ingest(frame(spark, old_rows), root, **options)
    check(answers(root) == old, "a store: answers after domaindex.spark.ingest")
    try:
        domaindex.spark.ingest(frame(spark, new_rows), root, **options)
        check(False, "a store: rows to be compared")
    except Exception as error:  # noqa: BLE001
        check("option spool" in str(error), f"a store: rows to be compared: {error}")
    domaindex.spark.ingest(frame(spark, new_rows), root, mode="overwrite", **options)
    found = answers(root)
    check([a.get("domain") for a in found if "url_count" in a] and found == answers_of_overwrite(old_rows, new_rows), "a store: answers after an overwrite")
    dxtest.domaindex("verify", "--root", root, "--deep")


def answers_of_overwrite(old_rows, new_rows):
    with dxtest.tempdir() as tmp:
        single(tmp / "root", old_rows)
        return single(tmp / "root", new_rows, "--replace")


def note_calls(tmp):
    """The program of driver and executors is one that writes down what it is called with."""
    from domaindex import _native

    wrapper = tmp / "noting"
    wrapper.write_text(f'#!/bin/sh\necho "$*" >>{tmp / "calls"}\nexec {_native.program()} "$@"\n')
    wrapper.chmod(0o755)
    os.environ["DOMAINDEX_PROGRAM"] = str(wrapper)


def main():
    if "DX_SPARK_WORK" not in os.environ:
        dxtest.need_programs()
        with dxtest.tempdir() as tmp:
            sys.exit(begin(tmp))
    tmp = pathlib.Path(os.environ["DX_SPARK_WORK"])
    note_calls(tmp)
    seed = int(os.environ.get("DX_SEED", "0")) or random.randrange(1, 10**6)
    random.seed(seed)
    print(f"DX_SEED={seed}", flush=True)
    old_rows, new_rows = made(1), made(2)
    old, new = single(tmp / "old", old_rows), single(tmp / "new", new_rows)
    with contextlib.ExitStack() as stack:
        store = None
        if stores.find("versitygw"):
            store = stack.enter_context(stores.Versitygw())
            store.bucket("lake")
            stack.enter_context(stores.environment({**store.env, "CACHE_DIRECTORY": str(tmp / "cache")}))
        with_spark(tmp, store, old, new, old_rows, new_rows)
        check_killed_drivers(tmp, lambda name: tmp / name, KILLS, old, new_rows, old_rows)
        if store:
            check_killed_drivers(tmp, lambda name: store.root("lake", name), KILLS // 2, old, new_rows, old_rows)
    dxtest.finish(None if store else "versitygw is not here")


def with_spark(tmp, store, old, new, old_rows, new_rows):
    spark = spark_env.session()
    try:
        check_writes(spark, tmp, old, new, old_rows, new_rows)
        check_failing_tasks(spark, tmp, old, old_rows)
        check(check_conflict(spark, tmp, old_rows) == old, "answers after two jobs at once")
        check_profile(spark, tmp)
        check_reads(spark, tmp, old_rows)
        check_killed_executor(spark, tmp / "lost", tmp / "lost" / "spool", old, old_rows)
        if store:
            check_killed_executor(spark, store.root("lake", "lost"), store.home / "objects" / "lake" / "lost" / "spool", old, old_rows)
            check_store(spark, store, old, new, old_rows, new_rows)
    finally:
        spark.stop()


main()
