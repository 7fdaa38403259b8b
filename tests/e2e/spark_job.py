#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: peers slow long
"""What tasks and driver of the Spark data source do, without Spark: processes with ranges of domains write lake files, some attempts die, some
run twice, and one commit makes all rows visible: answers are those of one ingest. A commit that is killed, and one of files that changed, of
overlapping ranges or of too many rejects leaves the old rows; two jobs for one new dataset: one of them is refused; a job that adds to rows that
are there goes through ingest. e2e_spark does the same with Spark.
"""
import collections
import concurrent.futures
import dataclasses
import importlib
import importlib.abc
import importlib.machinery
import json
import multiprocessing
import os
import pathlib
import random
import shutil
import signal
import sys
import tempfile
import time
import tracemalloc
import zlib

import corpus
import dxtest
import no_pandas  # noqa: F401
import stores
from dxtest import check, equal

TASKS = 5 if dxtest.WHOLE else 3
ROWS = 6000 if dxtest.WHOLE else 1500
KILLS = 40 if dxtest.WHOLE else 1
sys.path.insert(0, str(dxtest.SOURCE / "python" / "src"))
os.environ["DOMAINDEX_PROGRAM"] = str(dxtest.DOMAINDEX)
os.environ["DOMAINDEX_LIBRARY"] = str(dxtest.BIN / "libdomaindex.so.1")


def made(seed):
    """Rows as people write them, and one domain with a third of them."""
    rows = [raw for raw, _ in corpus.rows(seed=seed, count=ROWS)]
    return [(dataset[:5], ts, f"http://www.Skew.example/{i % 400}/{i}?{url[-3:]}" if i % 3 == 0 else url, extra) for i, (dataset, ts, url, extra) in enumerate(rows)]


def single(root, rows, *more):
    """The same by the program alone."""
    text = "dataset\tts\turl\tnote\n" + "".join("\t".join(row) + "\n" for row in rows)
    dxtest.domaindex("ingest", "--root", root, "--dataset-column", "dataset", "--extra-column", "note", "--format", "tsv", *more, "-", input=text.encode())
    dxtest.domaindex("publish", "--root", root)
    return answers(root)


def answers(root):
    """Presence of all domains and all rows of each, without what names the version."""
    listed = dxtest.domaindex("lookup", "--root", root, *domains(root)).stdout.splitlines()
    listed += dxtest.domaindex("lookup", "--root", root, "--all-urls", "--fields", "url,ts,extras,raw_url,url_id", "--limit", 10000, *domains(root)).stdout.splitlines()
    objects = [json.loads(line) for line in listed]
    for answer in objects:
        for member in ("version", "next_cursor"):
            answer.pop(member, None)
    return objects


def in_any_order(objects):
    """Listings follow the files of the lake, and these are others after an addition."""
    for answer in objects:
        answer.get("items", []).sort(key=lambda item: json.dumps(item, sort_keys=True))
    return objects


def domains(root):
    domaindex = importlib.import_module("domaindex")
    with domaindex.open(root) as index:
        return [d["domain"] for d in index.get("/v1/domains", limit=10000)["domains"]]


def job_of(job_module, root, replace=False, **changes):
    columns = job_module.Columns(url=2, dataset=0, ts=1, extras=(("note", 3),))
    job = job_module.Job(name=f"{random.randrange(1 << 48):012x}", root=str(root), spool=f"{root}/spool", dataset=None, columns=columns, replace=replace,
                         adopts=True, arranged=True, memory="64M", driver_memory="64M", wait_s=60, max_rejects=0.1, publish=True, verify=True,
                         suffix_list=zlib.compress(job_module.lake_of(str(root)).suffix_list))
    return dataclasses.replace(job, **changes)


def arranged(rows):
    """Batches of the tasks: ranges of (domain id, host, path), as domaindex.spark.arrange makes them."""
    import pyarrow
    from domaindex.canonical import Canonicaliser

    form = Canonicaliser(suffix_list=pathlib.Path("/usr/share/publicsuffix/public_suffix_list.dat")).batch(pyarrow.array([row[2] for row in rows]))
    keys = list(zip((k or 0 for k in form.column("domain_id").to_pylist()), (h or "" for h in form.column("host").to_pylist()),
                    (p or "" for p in form.column("path_query").to_pylist())))
    order = sorted(range(len(rows)), key=keys.__getitem__)
    cuts = [0]
    for task in range(1, TASKS):
        at = len(rows) * task // TASKS
        while at < len(rows) and keys[order[at]] == keys[order[at - 1]]:
            at += 1
        cuts.append(at)
    return [[rows[i] for i in order[a:b]] for a, b in zip(cuts, [*cuts[1:], len(rows)])]


def batches(rows):
    import pyarrow

    for begin in range(0, len(rows), 1000):
        part = rows[begin:begin + 1000]
        yield pyarrow.record_batch([pyarrow.array(column) for column in zip(*part)], names=["dataset", "when seen", "the url", "n.o.t.e"])


def attempt(job, rows):
    return importlib.import_module("domaindex._spark_job").run_task(job, batches(rows))


def run_tasks(job, parts, die=()):
    """As executors do: in processes; attempts of `die` are killed and begun again, one runs twice and only one of both is committed (in the gate where some die)."""
    context = multiprocessing.get_context("fork")
    for number in die:
        process = context.Process(target=attempt, args=(job, parts[number]))
        process.start()
        time.sleep(random.random() * 0.3)
        process.kill()
        process.join()
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        speculative = [pool.submit(attempt, job, part) for part in parts[:1 if dxtest.WHOLE or die else 0]]
        results = [task.result() for task in [pool.submit(attempt, job, part) for part in parts]]
        for task in speculative:
            task.result()
    return results


def refused(words, module, function, *arguments):
    try:
        function(*arguments)
        check(False, f"{words}: it was not refused")
    except module.JobError as error:
        check(words in str(error), f"{words}: {error}")


def check_refusals(tmp, module, root, rows, old):
    parts = arranged(rows)
    job = job_of(module, root)
    module.begin(job)
    results = run_tasks(job, parts)
    refused("has rows", module, module.commit, job, results)
    job = dataclasses.replace(job, replace=True)
    swapped = [dataclasses.replace(results[0], files=tuple(dataclasses.replace(f, last=(2**64 - 1, "z", "z")) for f in results[0].files)), *results[1:]]
    refused("same range", module, module.commit, job, swapped)
    path = pathlib.Path(results[1].files[0].path)
    bytes_of = path.read_bytes()
    path.write_bytes(bytes_of[:-1] + bytes([bytes_of[-1] ^ 1]))
    refused("not what its task wrote", module, module.commit, job, results)
    path.write_bytes(bytes_of)
    refused("were rejected", module, module.commit, dataclasses.replace(job, max_rejects=0.0001), results)
    dxtest.domaindex("publish", "--root", root)
    check(answers(root) == old, "refused jobs leave the old rows")
    module.abort(job)
    check(not list((root / "spool").iterdir()), "abort leaves nothing in the spool")


class Pretended(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """pyspark.sql.datasource where there is no Spark: classes without content."""

    def find_spec(self, name, path, target=None):
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if name.split(".")[0] == "pyspark" else None

    def exec_module(self, module):
        for name in ("DataSource", "DataSourceArrowWriter", "DataSourceReader", "InputPartition", "WriterCommitMessage"):
            setattr(module, name, type(name, (), {}))


def equal_to(column, value):
    return type("EqualTo", (), {"attribute": (column,), "value": value})()


def one_of(column, *values):
    return type("In", (), {"attribute": (column,), "value": values})()


def rows_of(source, root, *filters, **options):
    reader = source.DomaindexReader({"root": str(root), **options})
    equal(list(reader.pushFilters(list(filters))), list(filters), "Spark compares again")
    return [row for partition in reader.partitions() for row in reader.read(partition)]


def check_source(tmp, module):
    """The data source without a session: what a domain is asked for by, and what a session gives the reader, and roots as Spark spells them."""
    sys.meta_path.append(Pretended())
    source = importlib.import_module("domaindex.spark")
    root = tmp / "read"
    dxtest.domaindex("ingest", "--root", root, "--dataset", "d", "--format", "tsv", "-",
                     input=b"url\tts\nhttp://www.one.example/\t2024-01-02\nhttp://a.one.example/b\t\nhttp://two.example/\t\n")
    dxtest.domaindex("publish", "--root", root)
    for table, one, two in (("rows", 2, 1), ("presence", 1, 1)):
        for what, count, filters, options in (
                ("two spellings in an option", one, (), {"domain": "one.example,WWW.One.example"}),
                ("two spellings in a filter", one + two, (one_of("domain", "one.example", "a.one.example", "two.example"),), {}),
                ("an option and a filter, spelled otherwise", one, (equal_to("domain", "one.example"),), {"domain": "www.one.example,two.example"}),
                ("filters that exclude each other", 0, (equal_to("domain", "one.example"), equal_to("domain", "two.example")), {}),
                ("a filter by what has no domain", 0, (one_of("domain", "co.uk", ""),), {})):
            rows = rows_of(source, root, *filters, table=table, **options)
            equal((len(rows), len(set(rows))), (count, count), f"{table}: {what}")
        reader = source.DomaindexReader({"root": str(root), "table": table, "domain": "one.example"})
        equal([list(reader.read(partition)) for partition in (None, source.InputPartition.__new__(source.InputPartition))], [[], []], f"{table}: no partition")
        try:
            check(not rows_of(source, root, table=table, domain="co.uk"), "an option without a domain")
            check(False, f"{table}: an option without a domain is refused")
        except ValueError as error:
            check("co.uk" in str(error), f"{table}: {error}")
    check_times(source, tmp / "times")
    check_pushed(source, tmp / "pushed")
    check_columns(source)
    check_places(module, source, root)


def check_times(source, root):
    dxtest.domaindex("ingest", "--root", root, "--dataset", "d", "--format", "tsv", "-", input=b"url\tts\nhttp://old.example/\t0000-01-02\nhttp://old.example/b\t2024-01-02\n")
    dxtest.domaindex("publish", "--root", root)
    times = {row[3]: row[5] and row[5].isoformat() for row in rows_of(source, f"file:{root}", domain="old.example")}
    equal(times, {"http://old.example/": None, "http://old.example/b": "2024-01-02T00:00:00+00:00"}, "a time of the year 0, as Python lacks it")


class Frame:
    """As much of a DataFrame and its writer as domaindex.spark.ingest asks for."""

    def __init__(self):
        self.columns, self.write, self.options = ["url"], self, {}

    def option(self, name, value):
        self.options[name] = value
        return self

    def format(self, _):
        return self

    def mode(self, _):
        return self

    def save(self):
        pass


def check_pushed(source, root):
    """Conditions on times and datasets reach the index: it gives what Spark would keep, and not much more."""
    import datetime

    moments = [None, "0000-01-02", "1969-12-31T23:59:59.999999Z", "2024-01-02T03:04:05.000001Z", "2024-01-02T03:04:05.000002Z", "2024-01-02T03:04:06Z", "9999-12-31T23:59:59.999999Z"]
    for dataset in ("a", "b", "c"):
        dxtest.domaindex("ingest", "--root", root, "--dataset", dataset, "--format", "tsv", "-",
                         input="".join(["url\tts\n", *(f"http://pushed.example/{i}\t{ts or ''}\n" for i, ts in enumerate(moments))]).encode())
    dxtest.domaindex("publish", "--root", root)
    every = rows_of(source, root, domain="pushed.example")
    equal(len(every), 3 * len(moments), "rows without a filter")
    utc = datetime.timezone.utc
    at = [datetime.datetime(2024, 1, 2, 3, 4, 5, 1, utc), datetime.datetime(2024, 1, 2, 3, 4, 5, 2, utc), datetime.datetime(2024, 1, 2, 3, 4, 6, 0, utc),
          datetime.datetime(1969, 12, 31, 23, 59, 59, 999999, utc), datetime.datetime(2024, 1, 2, 5, 4, 5, 1, datetime.timezone(datetime.timedelta(hours=2)))]
    compared = {"EqualTo": lambda a, b: a == b, "GreaterThan": lambda a, b: a > b, "GreaterThanOrEqual": lambda a, b: a >= b, "LessThan": lambda a, b: a < b,
                "LessThanOrEqual": lambda a, b: a <= b}
    conditions = [(type(kind, (), {"attribute": ("ts",), "value": value})(), lambda row, kind=kind, value=value: row[5] is not None and compared[kind](row[5], value))
                  for kind in compared for value in at]
    conditions += [(one_of("ts", at[0], at[2]), lambda row: row[5] in (at[0], at[2])), (equal_to("dataset", "a"), lambda row: row[2] == "a"),
                   (one_of("dataset", "b", "c"), lambda row: row[2] in ("b", "c")), (one_of("dataset_id", every[0][1]), lambda row: row[1] == every[0][1])]
    for i, (one, keeps) in enumerate(conditions):
        for other, also in (conditions[(i * 7 + 3) % len(conditions)], conditions[-1 - i % 4]):
            want = [row for row in every if keeps(row) and also(row)]
            got = rows_of(source, root, one, other, domain="pushed.example")
            words = f"{type(one).__name__} {one.attribute[0]} {one.value}, {type(other).__name__} {other.attribute[0]} {other.value}"
            equal([row for row in got if keeps(row) and also(row)], want, words)
            check(len(got) <= len(want) + 3 or "In" in words, f"{words}: {len(got)} rows were read for {len(want)}")
    for kind, value in (("GreaterThan", datetime.datetime.max.replace(tzinfo=utc)), ("LessThan", datetime.datetime.min.replace(tzinfo=utc)), ("EqualTo", at[0].replace(tzinfo=None)),
                        ("LessThan", "2024"), ("EqualTo", None)):
        equal(rows_of(source, root, type(kind, (), {"attribute": ("ts",), "value": value})(), domain="pushed.example"), every, f"{kind} {value} is left to Spark")


def check_columns(source):
    """The usual names are those of `domaindex ingest`, so both take the same column; and an option that a writer cannot serve is not passed over."""
    text = (dxtest.SOURCE / "builder" / "input" / "records" / "column_names.c").read_text(encoding="utf-8")
    for usual, array in ((source.URL_NAMES, "dx_column_url_names"), (source.TS_NAMES, "dx_column_ts_names")):
        names = [line.strip().rstrip(",")[1:-1].replace('\\"', "") for line in text.split(f"{array}[] = {{")[1].split("NULL")[0].strip().splitlines()]
        equal(list(usual[:len(names)]), names, f"usual names, {array}")
    columns = source._columns(["ts", "Date", "link", "Warc-Target-URI"], {})
    equal((columns.url, columns.ts), (3, 1), "columns of a DataFrame")
    try:
        source._job_of(["url"], {"root": "x", "dataset": "d", "profile": "fineweb"}, False)
        check(False, "option profile of a writer")
    except ValueError as error:
        check("domaindex.spark.ingest" in str(error), f"option profile of a writer: {error}")


def check_file_edges(tmp, module):
    """First and last key of a file whose ids do not ascend, where one domain has most of the rows; a row group is in memory at a time."""
    import pyarrow
    import pyarrow.compute  # noqa: F401: not in the memory that is measured
    import pyarrow.parquet

    for seed in range(3):
        draw, rows = random.Random(seed), []
        for domain in range(40):
            number, count = draw.randrange(1 << 64), (60000 if dxtest.WHOLE else 6000) if domain == 7 * seed else draw.randrange(1, 500)
            rows += sorted((number, f"h{draw.randrange(3)}.com", f"/a/long/path/{draw.randrange(10**9)}") for _ in range(count))
        if seed == 2:
            rows = [(2**64 - 1, *row[1:]) for row in rows[:1]] + [(0, *row[1:]) for row in rows if row[0] == rows[0][0]][1:]
        path = tmp / f"edges{seed}.parquet"
        pyarrow.parquet.write_table(pyarrow.table([pyarrow.array([row[0] for row in rows], pyarrow.uint64()), [row[1] for row in rows], [row[2] for row in rows]],
                                                  names=["domain_id", "host", "path_query"]), path, row_group_size=1000)
        tracemalloc.start()
        found = module._edges(path)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        equal(found, (min(rows), max(rows)), f"edges of file {seed}")
        check(peak < 2 << 20, f"edges of file {seed}: {peak} bytes of Python")


def check_places(module, source, root):
    for root_of, place in (("/a/b", "/a/b"), ("file:/a/b/", "/a/b"), ("file:///a/b", "/a/b"), ("x", os.path.abspath("x")), ("s3://b/p", "s3://b/p"),
                           ("file://host/a", "file://host/a")):
        equal(module.place_of(root_of), place, f"the place of {root_of}")
    source._arrange.arrange = lambda df, *_: df
    for prefix in ("", "file:", "file://"):
        frame = Frame()
        source.ingest(frame, f"{prefix}{root}", dataset="d")
        lake = module.Lake.of_text(frame.options["lake"])
        equal((lake.datasets, frame.options["root"]), (("d",), str(root)), f"what ingest knows of {prefix}ROOT")


def check_clean(tmp, module):
    names = ("spark-0123456789ab", "spark-5e1f2d3c-0f4e-4f43-8a4b-1c2d3e4f5a6b", "spark-local", "spark-0123456789abc")
    for name in names:
        (tmp / "scratch" / name).mkdir(parents=True)
    equal(module.clean(str(tmp / "scratch"), -1), [names[0]], "what clean removes")
    equal({path.name for path in (tmp / "scratch").iterdir()}, set(names[1:]), "what clean leaves")


def check_unpublished(tmp, module, rows, want):
    """What fails when the rows are in the lake does not read as if they were not."""
    root = tmp / "unpublished"
    job = job_of(module, root)
    module.begin(job)
    refused("in the lake", module, module.commit, dataclasses.replace(job, driver_memory="none"), run_tasks(job, arranged(rows)))
    dxtest.domaindex("publish", "--root", root)
    check(answers(root) == want, "answers after a publish that failed was run again")


def kill_commit(module, job, results, within_s):
    driver = os.fork()
    if driver == 0:
        os.setsid()
        module.commit(job, results)
        os._exit(0)
    time.sleep(random.random() * within_s)
    try:
        os.killpg(driver, signal.SIGKILL)
    except ProcessLookupError:
        os.kill(driver, signal.SIGKILL)
    os.waitpid(driver, 0)


def check_kills(tmp, module, old, new, old_rows, new_rows):
    """The driver is killed at random moments of its commit: old rows, or new ones; and then the job again."""
    parts = arranged(new_rows)
    seen = {"old": 0, "new": 0}
    for number in range(KILLS):
        root = tmp / f"kill{number}"
        shutil.copytree(tmp / "killed", root)
        job = job_of(module, root, replace=True)
        module.begin(job)
        results = run_tasks(job, parts)
        kill_commit(module, job, results, 0.2)
        dxtest.domaindex("publish", "--root", root, "--wait", 60)
        found = answers(root)
        check(found in (old, new), f"kill {number}: neither the old rows nor the new ones")
        seen["new" if found == new else "old"] += 1
        again = job_of(module, root, replace=True)
        module.begin(again)
        module.commit(again, run_tasks(again, parts))
        check(answers(root) == new, f"kill {number}: the job run again")
        dxtest.domaindex("verify", "--root", root, "--deep")
        module.clean(str(root / "spool"), 0)
        check(not list((root / "spool").iterdir()), f"kill {number}: clean removes what the killed job left")
        shutil.rmtree(root)
    print(f"killed drivers: {seen}")


def check_store(module, old, new, old_rows, new_rows):
    """A root on object storage: tasks share no directory with the driver, which dies at random moments of its commit."""
    old_parts, new_parts = arranged(old_rows), arranged(new_rows)
    with stores.Versitygw() as store, dxtest.tempdir() as work, stores.environment({**store.env, "TMPDIR": str(work), "CACHE_DIRECTORY": str(work)}):
        tempfile.tempdir = None
        store.bucket("lake")
        root = store.root("lake", "p")
        job = job_of(module, root)
        module.begin(job)
        module.commit(job, run_tasks(job, old_parts, die=(2,)))
        check(answers(root) == old, "a store: answers after a job with a task that died and one that ran twice")
        refused("has rows", module, module.commit, job, run_tasks(job, old_parts))
        for number in range(KILLS // 10 + 1):
            before, parts = (old, new_parts) if answers(root) == old else (new, old_parts)
            after = new if parts is new_parts else old
            job = job_of(module, root, replace=True)
            module.begin(job)
            results = run_tasks(job, parts)
            kill_commit(module, job, results, 1.5)
            dxtest.domaindex("publish", "--root", root)
            check(answers(root) in (before, after), f"a store, kill {number}: neither the old rows nor the new ones")
            again = job_of(module, root, replace=True)
            module.begin(again)
            module.commit(again, run_tasks(again, parts))
            check(answers(root) == after, f"a store, kill {number}: the job run again")
        dxtest.domaindex("verify", "--root", root, "--deep")
    tempfile.tempdir = None


def check_ranges():
    """The part of a row is that of a search among all bounds, whatever values keys have; parts are about even, and a sample is."""
    import pyarrow

    ranges = importlib.import_module("domaindex._ranges")

    def key():
        return random.choice(["", "a", "b", "a\0", "\u4e2d"]), random.choice([0, 7, 1 << 63, 2**64 - 1, random.randrange(2**64)]), random.choice(["h", "www.h"]), f"/{random.randrange(50)}"

    for parts in (1, 2, 5, 40):
        bounds = ranges.Ranges.of_sample([(key(), 0.5 + random.random()) for _ in range(4000)], parts)
        rows = [key() for _ in range(4000)]
        columns = [pyarrow.array([row[i] for row in rows], kind) for i, kind in enumerate((pyarrow.string(), pyarrow.uint64(), pyarrow.string(), pyarrow.string()))]
        found = bounds.numbers(*columns).to_pylist()
        equal(found, [sum(bound <= row for bound in bounds.bounds) for row in rows], f"{parts} parts: numbers of rows")
        sizes = collections.Counter(found)
        check(len(sizes) == parts and max(sizes.values()) < 2 * len(rows) / parts, f"{parts} parts: {sizes}")
    hot = ranges.Ranges.of_sample([(("", 5, "h", f"/{i:04}"), 1.0) for i in range(900)] + [(("", 9, "h", "/"), 1.0)] * 100, 4)
    equal(len(hot.bounds), 3, "one domain is spread over several parts")
    nothing = pyarrow.array([None] * 3, pyarrow.uint64())
    equal(hot.numbers(None, nothing, nothing, nothing).to_pylist(), [0, 0, 0], "rows that are rejected")
    equal(ranges.Ranges.of_sample([], 4).bounds, (), "no rows")
    pool = ranges.Pool(200, 1)
    equal(pool.rows(), [], "a pool without rows")
    for begin in range(0, 50000, 1000):
        pool.add(pyarrow.record_batch([pyarrow.array(range(begin, begin + 1000))], names=["a"]))
    values = [value for batch in pool.rows() for value in batch.column(0).to_pylist()]
    check(len(set(values)) == 200 and pool.seen == 50000 and abs(sum(values) / 200 - 25000) < 6000, f"a sample: {len(values)}, {sum(values) / 200}")


def main():
    dxtest.need_programs()
    try:
        importlib.import_module("pyarrow")
    except ImportError:
        dxtest.skip("there is no pyarrow (tests/e2e/requirements.txt)")
    seed = int(os.environ.get("DX_SEED", "0")) or random.randrange(1, 10**6)
    print(f"DX_SEED={seed}")
    random.seed(seed)
    module = importlib.import_module("domaindex._spark_job")
    old_rows, new_rows = made(1), made(2)
    check_ranges()
    with dxtest.tempdir() as tmp:
        check_source(tmp, module)
        check_clean(tmp, module)
        check_file_edges(tmp, module)
        old, new = single(tmp / "old", old_rows), single(tmp / "new", new_rows)
        root = tmp / "root"
        job = job_of(module, root)
        module.begin(job)
        parts = arranged(old_rows)
        results = run_tasks(job, parts, die=(1, TASKS - 1))
        module.commit(job, results)
        check(answers(root) == old, "answers after a job with tasks that died and ran twice")
        skew = [f for r in results for f in r.files if f.first[0] == f.last[0] or f.first[1].endswith("skew.example") or f.last[1].endswith("skew.example")]
        check(len({f.path.split("/lake/")[0] for f in skew}) > 1, f"one domain is in several tasks: {len(skew)} files")
        equal(sum(r.records for r in results), len(old_rows), "records of the tasks")
        check((root / "rejects" / f"spark-{job.name}.tsv").exists(), "rejected rows are kept")
        dxtest.domaindex("verify", "--root", root, "--deep")
        check_refusals(tmp, module, root, new_rows, old)
        check_unpublished(tmp, module, old_rows, old)
        lake = module.lake_of(str(root))
        equal(module.Lake.of_text(lake.text()), lake, "what a root has, as an option")
        check(module.can_adopt(lake, "unheard", False, True) and not module.can_adopt(lake, None, False, True) and module.can_adopt(lake, None, True, True) and
              not module.can_adopt(lake, lake.datasets[0], False, True) and not module.can_adopt(lake, None, True, False), "what can be adopted")
        # Added to rows that are there: the driver compares.
        job = job_of(module, root, adopts=False, arranged=False)
        module.begin(job)
        module.commit(job, run_tasks(job, [new_rows[::2], new_rows[1::2], old_rows[:500]]))
        both = single(tmp / "old", new_rows)
        check(in_any_order(answers(root)) == in_any_order(both), "answers after rows were added to those that are there")
        single(tmp / "killed", old_rows)
        check_kills(tmp, module, old, new, old_rows, new_rows)
        if stores.find("versitygw"):
            check_store(module, old, new, old_rows, new_rows)
    dxtest.finish(None if stores.find("versitygw") else "versitygw is not here")


main()
