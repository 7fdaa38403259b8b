# SPDX-License-Identifier: Apache-2.0
"""A write of domaindex.spark: what its tasks do, and what the driver commits. It knows nothing of Spark.

Rows that were arranged (domaindex.spark.arrange) are written as lake files by the tasks: each runs `domaindex ingest` into a folder of its
own below SPOOL, and the driver moves the files of all into the lake by `domaindex adopt`. Other rows, those of roots on object storage, and those
that are added to a dataset that has rows, are put aside by the tasks and ingested by the driver, which compares them with what is there.
"""
from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import time
import uuid
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple

from . import _native, iceberg

Key = Tuple[int, str, str]
PREFIX = "spark-"
SUFFIX_LIST = "/usr/share/publicsuffix/public_suffix_list.dat"


class JobError(RuntimeError):
    """A write that ended with nothing committed; the message says why."""


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
    memory: str
    wait_s: int
    max_rejects: float
    publish: bool
    verify: bool
    iceberg: bool = False

    @property
    def folder(self) -> pathlib.Path:
        return pathlib.Path(self.spool) / (PREFIX + self.name)

    @property
    def suffix_list(self) -> pathlib.Path:
        return self.folder / "psl.dat"


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
    rejects: Optional[str] = None


def run(arguments: Sequence[str]) -> str:
    """The program; its standard output. JobError: it refused, with its own words."""
    done = subprocess.run([_native.program(), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        raise JobError(f"domaindex {arguments[0]}: exit {done.returncode}: {done.stderr.decode('utf-8', 'replace').strip()[-2000:]}")
    return done.stdout.decode("utf-8")


def is_directory(root: str) -> bool:
    return "://" not in root


def registry_of(root: str) -> Dict[str, int]:
    """Datasets of the lake in a directory, by name."""
    path = pathlib.Path(root) / "registry.json"
    if not path.exists():
        return {}
    return {d["name"]: d["dataset_id"] for d in json.loads(path.read_text(encoding="utf-8"))["datasets"]}


def has_rows(root: str, dataset_id: int) -> bool:
    return any((pathlib.Path(root) / "urls" / f"dataset_id={dataset_id}").rglob("*.parquet"))


def suffix_list_of(root: str) -> bytes:
    """The lake's, or for a new lake the system's."""
    own = pathlib.Path(root) / "psl.dat" if is_directory(root) else None
    path = own if own is not None and own.exists() else pathlib.Path(SUFFIX_LIST)
    if not path.exists():
        raise JobError(f"{path} is missing (Debian: package publicsuffix)")
    return path.read_bytes()


def can_adopt(root: str, dataset: Optional[str], replace: bool, arranged: bool) -> bool:
    if not arranged or not is_directory(root):
        return False
    known = registry_of(root)
    if replace or not known:
        return True
    return dataset is not None and (dataset not in known or not has_rows(root, known[dataset]))


def clean(spool: str, older_than_s: float) -> List[str]:
    """Removes what jobs left whose driver was killed; its names. A job that is under way changes its folder with each task."""
    removed = []
    for folder in sorted(pathlib.Path(spool).glob(PREFIX + "*")):
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
            writer = pyarrow.parquet.ParquetWriter(path, batch.schema, compression="zstd")
        writer.write_batch(batch)
        count += batch.num_rows
    if writer is not None:
        writer.close()
    return count


def _edges(path: pathlib.Path) -> Tuple[Key, Key]:
    """Least and largest (domain_id, host, path_query) of a lake file."""
    import pyarrow.compute
    import pyarrow.parquet

    ids = pyarrow.parquet.ParquetFile(path).read(["domain_id"]).column(0)
    edge = pyarrow.compute.min_max(ids).as_py()
    keys = []
    for number, choose in ((edge["min"], min), (edge["max"], max)):
        rows = pyarrow.parquet.ParquetFile(path).read(["domain_id", "host", "path_query"])
        rows = rows.filter(pyarrow.compute.equal(rows.column("domain_id"), pyarrow.scalar(number, pyarrow.uint64())))
        keys.append((number, *choose(zip(rows.column("host").to_pylist(), rows.column("path_query").to_pylist()))))
    return keys[0], keys[1]


def run_task(job: Job, batches: Iterator[Any]) -> Result:
    """What a task does, in a folder that no other attempt has: names of attempts that fail are never in a commit."""
    folder = job.folder / uuid.uuid4().hex
    folder.mkdir(parents=True)
    rows = folder / "rows.parquet"
    count = _write_rows(rows, batches)
    if count == 0:
        shutil.rmtree(folder, ignore_errors=True)
        return Result(())
    if not job.adopts:
        _sync(rows)
        _sync(folder)
        return Result((File(str(rows), rows.stat().st_size, _sha256(rows)),), count)
    lake = folder / "lake"
    arguments = ["ingest", "--root", str(lake), "--psl", str(job.suffix_list), "--memory", job.memory, "--threads", "1", "--max-rejects", "100%",
                 "--rejects", str(folder / "rejects.tsv"), "--json", *job.columns.arguments()]
    arguments += ["--dataset", job.dataset] if job.dataset is not None else []
    summary = json.loads(run([*arguments, str(rows)]))
    rows.unlink()
    names = {number: name for name, number in registry_of(str(lake)).items()}
    files = []
    for path in sorted(lake.rglob("*.parquet")):
        first, last = _edges(path)
        files.append(File(str(path), path.stat().st_size, _sha256(path), names[int(path.parent.parent.name.split("=")[1])], first, last))
    rejected = {reason["reason"]: int(reason["count"]) for reason in summary["rejected"]["reasons"]}
    return Result(tuple(files), int(summary["records"]), rejected, str(folder / "rejects.tsv") if rejected else None)


# ---- the driver ----


def begin(job: Job) -> None:
    job.folder.mkdir(parents=True, exist_ok=True)
    job.suffix_list.write_bytes(suffix_list_of(job.root))


def abort(job: Job) -> None:
    shutil.rmtree(job.folder, ignore_errors=True)


def _check_files(files: Iterable[File], verify: bool) -> None:
    for file in files:
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
    names = [r.rejects for r in results if r.rejects and os.path.exists(r.rejects)]
    if names and is_directory(job.root):
        target = pathlib.Path(job.root) / "rejects"
        target.mkdir(exist_ok=True)
        with open(target / f"{PREFIX}{job.name}.tsv", "wb") as out:
            for name in names:
                with open(name, "rb") as file:
                    shutil.copyfileobj(file, out)


def commit(job: Job, results: Sequence[Result]) -> None:
    """All of it or nothing: by one adopt, or by one ingest."""
    files = [file for result in results for file in result.files]
    _check_rejects(job, results)
    _check_files(files, job.verify)
    waits = ["--wait", str(job.wait_s)] if is_directory(job.root) else []
    replace = ["--replace"] if job.replace else []
    if job.adopts:
        text = "".join(f"{f.size}\t{first:02x}{'' if first == last else f'-{last:02x}'}\t{f.dataset}\t{f.path}\n" for f, first, last in ranges_of(files))
        names = job.folder / "adopt.tsv"
        names.write_text(text, encoding="utf-8")
        run(["adopt", "--root", job.root, "--list", str(names), "--psl", str(job.suffix_list), *replace, *waits])
        _keep_rejects(job, results)
    else:
        names = job.folder / "inputs"
        names.write_text("".join(f"{file.path}\n" for file in files), encoding="utf-8")
        dataset = ["--dataset", job.dataset] if job.dataset is not None else []
        run(["ingest", "--root", job.root, "--memory", job.memory, "--max-rejects", f"{100 * job.max_rejects:g}%", *job.columns.arguments(), *dataset,
             *replace, *waits, f"@{names}"])
    shutil.rmtree(job.folder, ignore_errors=True)
    if job.publish:
        run(["publish", "--root", job.root, "--memory", job.memory, *waits])
        if job.iceberg:
            iceberg.update(job.root)
