# SPDX-License-Identifier: Apache-2.0
"""A write of domaindex.spark: what its tasks do, and what the driver commits. It knows nothing of Spark.

Rows that were arranged (domaindex.spark.arrange) are written as lake files by the tasks: each runs `domaindex ingest` into a folder of its
own, and the driver makes the files of all a part of the lake by `domaindex adopt`: they are moved from SPOOL, or, where the root is on object
storage, copied by the store from below ROOT/spool, where each task has put its own. Other rows, and those that are added to a dataset that has
rows, are put aside by the tasks in a shared directory and ingested by the driver, which compares them with what is there.
"""
from __future__ import annotations

import base64
import contextlib
import dataclasses
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time
import uuid
import zlib
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple

from . import _native, iceberg

Key = Tuple[int, str, str]
PREFIX = "spark-"
REJECTS_MAX = 1 << 20  # bytes of a task that the driver keeps


class JobError(RuntimeError):
    """A write that failed; the message says why, and whether its rows are in the lake."""


@dataclasses.dataclass(frozen=True)
class Columns:
    """Which columns of the rows are what. Files of tasks call them c0, c1, ...: names of strangers need quoting."""

    url: int
    dataset: Optional[int]
    ts: Optional[int]
    extras: Tuple[Tuple[str, int], ...]

    def arguments(self) -> List[str]:
        words = ["--format", "parquet", "--url-column", f"c{self.url}"]
        words += ["--dataset-column", f"c{self.dataset}"] if self.dataset is not None else []
        words += ["--ts-column", f"c{self.ts}"] if self.ts is not None else ["--no-ts"]
        for name, number in self.extras:
            words += ["--extra-column", f"{name}=c{number}"]
        return words


@dataclasses.dataclass(frozen=True)
class Job:
    """What tasks need to know; it travels with the plan."""

    name: str
    root: str
    spool: str
    dataset: Optional[str]
    columns: Columns
    replace: bool
    adopts: bool  # tasks write lake files; else rows for the driver's ingest
    arranged: bool
    memory: str  # of a task's ingest
    driver_memory: str
    wait_s: int
    max_rejects: float
    publish: bool
    verify: bool
    iceberg: bool = False
    suffix_list: bytes = b""  # compressed

    @property
    def place(self) -> str:
        """Where tasks put what they have written: a directory that driver and executors share, or an address below the root."""
        return f"{self.spool}/{PREFIX}{self.name}"

    @property
    def is_shared(self) -> bool:
        return is_directory(self.spool)


@dataclasses.dataclass(frozen=True)
class File:
    path: str
    size: int
    sha256: str
    dataset: str = ""
    first: Key = (0, "", "")
    last: Key = (0, "", "")


@dataclasses.dataclass(frozen=True)
class Result:
    """Of one task."""

    files: Tuple[File, ...]
    records: int = 0
    rejected: Mapping[str, int] = dataclasses.field(default_factory=dict)
    rejects: bytes = b""  # the first of them


def run(arguments: Sequence[str]) -> str:
    """The program; its standard output. JobError: it refused, with its own words."""
    done = subprocess.run([_native.program(), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        raise JobError(f"domaindex {arguments[0]}: exit {done.returncode}: {done.stderr.decode('utf-8', 'replace').strip()[-2000:]}")
    return done.stdout.decode("utf-8")


def is_directory(root: str) -> bool:
    return "://" not in root


def place_of(root: str) -> str:
    """A directory by its whole path, also of file:/a and file:///a; any other root as it is."""
    root = re.sub("^file:(//(?=/)|(?!//))", "", root)
    return os.path.abspath(root) if root and is_directory(root) else root


@dataclasses.dataclass(frozen=True)
class Lake:
    """Of a root, before a job: its datasets, those of them with rows, and the suffix list that its rows need."""

    datasets: Tuple[str, ...]
    with_rows: Tuple[str, ...]
    suffix_list: bytes


    def text(self) -> str:
        """For an option of a data source: who arranged the rows has asked the root, and the writer, in another process, need not."""
        content = json.dumps({"datasets": self.datasets, "with_rows": self.with_rows, "suffix_list": self.suffix_list.decode("latin-1")})
        return base64.b64encode(zlib.compress(content.encode())).decode()

    @classmethod
    def of_text(cls, text: str) -> "Lake":
        content = json.loads(zlib.decompress(base64.b64decode(text)))
        return cls(tuple(content["datasets"]), tuple(content["with_rows"]), content["suffix_list"].encode("latin-1"))


def lake_of(root: str) -> Lake:
    with tempfile.TemporaryDirectory(prefix="domaindex-") as folder:
        path = pathlib.Path(folder) / "psl.dat"
        datasets = json.loads(run(["adopt", "--root", root, "--prepare", str(path), "--json"]))["datasets"]
        return Lake(tuple(d["name"] for d in datasets), tuple(d["name"] for d in datasets if d["has_rows"]), path.read_bytes())


def can_adopt(lake: Lake, dataset: Optional[str], replace: bool, arranged: bool) -> bool:
    """Whether tasks may write lake files: nothing compares them with rows that are there."""
    if not arranged:
        return False
    return replace or not lake.datasets or (dataset is not None and dataset not in lake.with_rows)


def clean(spool: str, older_than_s: float) -> List[str]:
    """Removes what jobs left whose driver was killed; its names. A job that is under way changes its folder with each task. Spark's own folders
    (spark-UUID) stay."""
    removed = []
    for folder in sorted(path for path in pathlib.Path(place_of(spool)).glob(PREFIX + "*") if re.fullmatch("[0-9a-f]{12}", path.name[len(PREFIX):])):
        newest = max((p.stat().st_mtime for p in [folder, *folder.glob("*")] if p.exists()), default=0.0)
        if time.time() - newest > older_than_s:
            shutil.rmtree(folder, ignore_errors=True)
            removed.append(folder.name)
    return removed


# ---- tasks ----


def _sha256(path: pathlib.Path) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _sync(path: pathlib.Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _write_rows(path: pathlib.Path, batches: Iterable[Any]) -> int:
    """Rows as one Parquet file; how many."""
    import pyarrow.parquet

    writer, count = None, 0
    for batch in batches:
        batch = batch.rename_columns([f"c{i}" for i in range(batch.num_columns)])
        if writer is None:
            writer = pyarrow.parquet.ParquetWriter(path, batch.schema, compression="snappy", use_dictionary=False, write_statistics=False)     # read once, and soon
        writer.write_batch(batch)
        count += batch.num_rows
    if writer is not None:
        writer.close()
    return count


def _edges(path: pathlib.Path) -> Tuple[Key, Key]:
    """Least and largest (domain_id, host, path_query) of a lake file. Rows of a domain lie together and ascend, so they are those of the first row of
    the one with the least id, and of the last row of the other. A row group is in memory at a time."""
    import pyarrow
    import pyarrow.compute
    import pyarrow.parquet

    def rows_of(ids: Any, number: int) -> Any:
        return pyarrow.compute.indices_nonzero(pyarrow.compute.equal(ids, pyarrow.scalar(number, pyarrow.uint64())))

    with pyarrow.parquet.ParquetFile(path) as file:
        first = last = None
        for group in range(file.num_row_groups):
            ids = file.read_row_group(group, columns=["domain_id"]).column(0)
            edge = pyarrow.compute.min_max(ids).as_py()
            if first is None or edge["min"] < first[0]:
                first = (edge["min"], group, rows_of(ids, edge["min"])[0].as_py())
            if last is None or edge["max"] >= last[0]:
                last = (edge["max"], group, rows_of(ids, edge["max"])[-1].as_py())

        def key_at(at: Any) -> Key:
            row = file.read_row_group(at[1], columns=["host", "path_query"]).slice(at[2], 1)
            return at[0], row.column("host")[0].as_py(), row.column("path_query")[0].as_py()

        return key_at(first), key_at(last)


@contextlib.contextmanager
def _attempt(job: Job) -> Iterator[pathlib.Path]:
    """A folder that no other attempt has: names of attempts that fail are never in a commit. Without a shared directory it is the executor's own."""
    if job.is_shared:
        folder = pathlib.Path(job.place) / uuid.uuid4().hex
        folder.mkdir(parents=True)
        yield folder
    else:
        with tempfile.TemporaryDirectory(prefix="domaindex-") as name:
            yield pathlib.Path(name)


def run_task(job: Job, batches: Iterator[Any]) -> Result:
    """What a task does."""
    with _attempt(job) as folder:
        rows = folder / "rows.parquet"
        count = _write_rows(rows, batches)
        if count == 0:
            shutil.rmtree(folder, ignore_errors=True)
            return Result(())
        if not job.adopts:
            _sync(rows)
            _sync(folder)
            return Result((File(str(rows), rows.stat().st_size, _sha256(rows)),), count)
        return _write_lake(job, folder, rows)


def _write_lake(job: Job, folder: pathlib.Path, rows: pathlib.Path) -> Result:
    lake, psl, rejects = folder / "lake", folder / "psl.dat", folder / "rejects.tsv"
    psl.write_bytes(zlib.decompress(job.suffix_list))
    arguments = ["ingest", "--root", str(lake), "--psl", str(psl), "--memory", job.memory, "--threads", "1", "--max-rejects", "100%",
                 "--split-edges", "--rejects", str(rejects), "--json", *job.columns.arguments()]
    arguments += ["--dataset", job.dataset] if job.dataset is not None else []
    summary = json.loads(run([*arguments, str(rows)]))
    rows.unlink()
    names = _names_of(lake)
    files = []
    for path in sorted(lake.rglob("*.parquet")):
        first, last = _edges(path)
        files.append(File(str(path), path.stat().st_size, _sha256(path), names[int(path.parent.parent.name.split("=")[1])], first, last))
    rejected = {reason["reason"]: int(reason["count"]) for reason in summary["rejected"]["reasons"]}
    if not job.is_shared:
        files = _put(job, files, folder, psl)
    text = _head(rejects, REJECTS_MAX) if rejected and rejects.exists() else b""
    return Result(tuple(files), int(summary["records"]), rejected, text)


def _head(path: pathlib.Path, size: int) -> bytes:
    with open(path, "rb") as file:
        return file.read(size)


def _names_of(lake: pathlib.Path) -> Dict[int, str]:
    path = lake / "registry.json"
    return {d["dataset_id"]: d["name"] for d in json.loads(path.read_text(encoding="utf-8"))["datasets"]} if path.exists() else {}


def _list(path: pathlib.Path, files: Iterable[Tuple[File, int, int]]) -> pathlib.Path:
    """The text that `domaindex adopt` reads."""
    path.write_text("".join(f"{f.size}\t{first:02x}{'' if first == last else f'-{last:02x}'}\t{f.dataset}\t{f.path}\n" for f, first, last in files),
                    encoding="utf-8")
    return path


def _put(job: Job, files: Sequence[File], folder: pathlib.Path, psl: pathlib.Path) -> List[File]:
    """The files of an attempt into a root of its own below the spool of the root, from where the store copies them if the job is committed."""
    if not files:
        return []
    place = f"{job.place}/{uuid.uuid4().hex}"
    names = _list(folder / "put.tsv", ((f, 0, 255) for f in files))
    placed = json.loads(run(["adopt", "--root", place, "--list", str(names), "--psl", str(psl), "--json"]))["placed"]
    return [dataclasses.replace(file, path=f"{place}/{path}") for file, path in zip(files, placed)]


# ---- the driver ----


def begin(job: Job) -> None:
    if job.is_shared:
        pathlib.Path(job.place).mkdir(parents=True, exist_ok=True)


def abort(job: Job) -> None:
    """What lies in a store is removed by `domaindex gc`, when it is old."""
    if job.is_shared:
        shutil.rmtree(job.place, ignore_errors=True)


def _check_files(files: Iterable[File], verify: bool) -> None:
    for file in files:
        if not is_directory(file.path):
            continue  # `domaindex adopt` asks the store for each
        path = pathlib.Path(file.path)
        if not path.exists() or path.stat().st_size != file.size or (verify and _sha256(path) != file.sha256):
            raise JobError(f"{file.path} is not what its task wrote (is the spool on a file system that driver and executors share?); nothing was committed")


def _check_rejects(job: Job, results: Sequence[Result]) -> None:
    records = sum(r.records for r in results)
    reasons: Dict[str, int] = {}
    for result in results:
        for reason, count in result.rejected.items():
            reasons[reason] = reasons.get(reason, 0) + count
    rejected = sum(reasons.values())
    if records == 0:
        raise JobError("there are no rows; nothing was committed")
    if rejected == records or rejected > records * job.max_rejects:
        raise JobError(f"{rejected} of {records} rows were rejected, and max_rejects is {job.max_rejects:g}; nothing was committed: {reasons}")


def ranges_of(files: Sequence[File]) -> List[Tuple[File, int, int]]:
    """Files in the order of their rows, each with the range of prefixes that its path gets. JobError: two have rows in common.

    Paths sort as rows do, also where one domain is in several files: "3a" would come behind "3a-3f".
    """
    found: List[Tuple[File, int, int]] = []
    for dataset in sorted({f.dataset for f in files}):
        mine = sorted((f for f in files if f.dataset == dataset), key=lambda f: f.first)
        for a, b in zip(mine, mine[1:]):
            if a.last >= b.first:
                raise JobError(f"{a.path} and {b.path} have rows of the same range: the rows were not arranged by domaindex.spark.arrange")
        ranges = [[f.first[0] >> 56, f.last[0] >> 56] for f in mine]
        for i in range(len(ranges) - 2, -1, -1):
            if ranges[i][0] == ranges[i][1] == ranges[i + 1][0]:
                ranges[i][1] = ranges[i + 1][1]
        found += [(f, r[0], r[1]) for f, r in zip(mine, ranges)]
    return found


def _keep_rejects(job: Job, results: Sequence[Result]) -> None:
    text = b"".join(r.rejects for r in results)
    if text and is_directory(job.root):
        target = pathlib.Path(job.root) / "rejects"
        target.mkdir(exist_ok=True)
        (target / f"{PREFIX}{job.name}.tsv").write_bytes(text)


def commit(job: Job, results: Sequence[Result]) -> None:
    """All of it or nothing: by one adopt, or by one ingest."""
    files = [file for result in results for file in result.files]
    _check_rejects(job, results)
    _check_files(files, job.verify)
    waits = ["--wait", str(job.wait_s)] if is_directory(job.root) else []
    replace = ["--replace"] if job.replace else []
    with tempfile.TemporaryDirectory(prefix="domaindex-") as name:
        folder = pathlib.Path(name)
        if job.adopts:
            (folder / "psl.dat").write_bytes(zlib.decompress(job.suffix_list))
            names = _list(folder / "adopt.tsv", ranges_of(files))
            run(["adopt", "--root", job.root, "--list", str(names), "--psl", str(folder / "psl.dat"), *replace, *waits])
        else:
            (folder / "inputs").write_text("".join(f"{file.path}\n" for file in files), encoding="utf-8")
            dataset = ["--dataset", job.dataset] if job.dataset is not None else []
            run(["ingest", "--root", job.root, "--memory", job.driver_memory, "--max-rejects", f"{100 * job.max_rejects:g}%", *job.columns.arguments(), *dataset,
                 *replace, *waits, f"@{folder / 'inputs'}"])
    try:
        _follow(job, results, waits)
    except Exception as error:
        rest = f", run `domaindex publish --root {job.root}{' --iceberg' if job.iceberg else ''}`" if job.publish else ""
        raise JobError(f"the rows are in the lake of {job.root}: do not write them again{rest}. What came after failed: {error}") from error


def _follow(job: Job, results: Sequence[Result], waits: Sequence[str]) -> None:
    """What comes when the rows are in the lake."""
    if job.adopts:
        _keep_rejects(job, results)
    abort(job)  # the rest of the spool
    if job.publish:
        run(["publish", "--root", job.root, "--memory", job.driver_memory, *waits])
        if job.iceberg:
            iceberg.update(job.root)
