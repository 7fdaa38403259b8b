# SPDX-License-Identifier: Apache-2.0
"""Spark: DataFrames into a root, and rows of a root as DataFrames.

    domaindex.spark.ingest(df, "/mnt/shared/root", dataset="crawl-2026", url_column="page", ts_column="seen")
    df.write.format("domaindex").option("root", root).option("dataset", "crawl-2026").mode("append").save()
    spark.read.format("domaindex").option("root", root).load().where("domain = 'example.com'")

docs/PYTHON.md is the manual, docs/notes/spark.md says why it works so.
"""
from __future__ import annotations

import dataclasses
import datetime
import json
import os
import uuid
import zlib
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from pyspark.sql.datasource import DataSource, DataSourceArrowWriter, DataSourceReader, InputPartition, WriterCommitMessage

from .. import _client
from .._errors import NotFound
from .._types import time_of
from . import _arrange, _profile
from .. import _spark_job as _job
from .._spark_job import JobError, clean

# Those of `domaindex ingest`, by preference (builder/input/records/column_names.c); only `time` and `crawled` it does not look for.
URL_NAMES = ("url", "uri", "u", "metadata.url", "meta.url", "general_metadata.url", "metadata.warc-target-uri",
             "warc_headers.warc-target-uri", "meta.warc_headers.warc-target-uri", "headers.warc-target-uri", "warc-target-uri",
             "target_uri", "page_url", "source_url", "original_url", "original_uri", "document_url", "webpage_url", "web_url",
             "canonical_url", "permalink", "link", "href", "original", "address")
TS_NAMES = ("fetch_time", "date", "timestamp", "ts", "date_download", "crawl_date", "warc_headers.warc-date",
            "meta.warc_headers.warc-date", "metadata.warc-date", "headers.warc-date", "warc-date", "meta.timestamp",
            "metadata.timestamp", "meta.date", "metadata.date", "datetime", "when", "crawled_at", "fetched_at", "time", "crawled")
_ROWS = "domain string, dataset_id int, dataset string, url string, url_id string, ts timestamp, extras string"
_PRESENCE = "domain string, dataset_id int, dataset string, url_count bigint, row_count bigint"


def _column(names: Sequence[str], chosen: Optional[str], usual: Sequence[str]) -> Optional[int]:
    """The number of a column: the one that was named, else the first with one of the usual names."""
    if chosen:
        if chosen not in names:
            raise ValueError(f"there is no column {chosen!r}; there are {', '.join(names)}")
        return list(names).index(chosen)
    lower = [name.lower() for name in names]
    return next((lower.index(name) for name in usual if name in lower), None)


def _columns(names: Sequence[str], options: Mapping[str, str]) -> _job.Columns:
    url = _column(names, options.get("url_column"), URL_NAMES)
    if url is None:
        raise ValueError(f"no column has one of the usual names of a URL ({', '.join(URL_NAMES)}); option url_column names it. Columns: {', '.join(names)}")
    ts = _column(names, options.get("ts_column"), TS_NAMES) if options.get("ts_column") != "" else None
    dataset = _column(names, options.get("dataset_column"), ()) if options.get("dataset_column") else None
    extras = [name.strip() for name in options.get("extra_columns", "").split(",") if name.strip()]
    numbers = [(name, _column(names, name, ())) for name in extras]
    return _job.Columns(url, dataset, ts, tuple((name, number) for name, number in numbers if number is not None))


def _flag(options: Mapping[str, str], name: str, usual: bool) -> bool:
    word = options.get(name, "true" if usual else "false").lower()
    if word not in ("true", "false"):
        raise ValueError(f"option {name} is true or false, not {word!r}")
    return word == "true"


def _job_of(names: Sequence[str], options: Mapping[str, str], overwrite: bool) -> _job.Job:
    root, dataset = options.get("root"), options.get("dataset")
    if not root:
        raise ValueError("option root is missing")
    if options.get("profile"):
        raise ValueError("option profile: datasets of a profile are named by files, and a writer does not see which file a row is from; "
                         "domaindex.spark.ingest(df, root, profile=...) takes it, and --profile of the command")
    if bool(dataset) == bool(options.get("dataset_column")):
        raise ValueError("one of the options dataset and dataset_column is needed")
    root = _job.place_of(root)
    arranged = _flag(options, "arranged", False)
    lake = _job.Lake.of_text(options["lake"]) if options.get("lake") else _job.lake_of(root)
    adopts = _job.can_adopt(lake, dataset, overwrite, arranged)
    spool = _job.place_of(options.get("spool") or f"{root.rstrip('/')}/spool")
    if not adopts and not _job.is_directory(spool):
        raise ValueError(f"the rows of {dataset or 'these datasets'} are compared with rows that {root} has (or they are not arranged), by one ingest on the "
                         "driver: option spool names a directory that driver and executors share; or mode overwrite, with domaindex.spark.ingest")
    return _job.Job(
        name=uuid.uuid4().hex[:12], root=root, spool=spool, dataset=dataset,
        columns=_columns(names, options), replace=overwrite, adopts=adopts, arranged=arranged,
        memory=options.get("memory", "512M"), driver_memory=options.get("driver_memory", "2G"), wait_s=int(options.get("wait", "600")), max_rejects=float(options.get("max_rejects", "0.1")),
        publish=_flag(options, "publish", True), verify=_flag(options, "verify", True), iceberg=_flag(options, "iceberg", False),
        suffix_list=zlib.compress(lake.suffix_list))


@dataclasses.dataclass
class TaskMessage(WriterCommitMessage):
    result: _job.Result


class DomaindexWriter(DataSourceArrowWriter):
    """Tasks write aside; commit makes all of it visible, or nothing."""

    def __init__(self, job: _job.Job) -> None:
        self.job = job
        _job.begin(job)

    def write(self, iterator: Iterator[Any]) -> TaskMessage:
        return TaskMessage(_job.run_task(self.job, iterator))

    def commit(self, messages: List[Optional[WriterCommitMessage]]) -> None:
        _job.commit(self.job, [message.result for message in messages if isinstance(message, TaskMessage)])

    def abort(self, messages: List[Optional[WriterCommitMessage]]) -> None:
        _job.abort(self.job)


# ---- reading ----


@dataclasses.dataclass
class Wanted(InputPartition):
    domain: Optional[str]
    datasets: Tuple[Sequence[Union[int, str]], ...]  # names or ids, of each condition
    times: Tuple[Optional[datetime.datetime], Optional[datetime.datetime]]
    version: str


class DomaindexReader(DataSourceReader):
    """Rows of some domains, or which datasets contain which domains. All partitions are of one version."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._root, self._table = _job.place_of(options.get("root") or ""), options.get("table", "rows")
        self._version, self._cache = options.get("version"), options.get("cache_dir")
        if not self._root or self._table not in ("rows", "presence"):
            raise ValueError("option root is needed; option table is rows or presence")
        self._given = _words(options.get("domain"))
        self._domains = [self._given] if self._given is not None else []  # of the option and of each filter: a domain is wanted by all of them
        self._named = _words(options.get("dataset")) or []
        self._datasets: List[Sequence[Union[int, str]]] = [self._named] if self._named else []  # likewise
        self._times = _Times()

    def pushFilters(self, filters: List[Any]) -> Iterator[Any]:
        """domain = and IN, dataset = and IN (by name), dataset_id = and IN; ts =, IN, <, <=, > and >=. Spark compares all again: a domain may be asked
        for by another spelling."""
        for one in filters:
            kind, column = type(one).__name__, getattr(one, "attribute", ())
            given: List[Any] = list(getattr(one, "value", ())) if kind == "In" else [getattr(one, "value", None)]
            values: List[Any] = [value for value in given if value is not None]
            if kind in ("EqualTo", "In") and column == ("domain",):
                self._domains.append(values)
            elif kind in ("EqualTo", "In") and column in (("dataset",), ("dataset_id",)):
                self._datasets.append(values)
            elif column == ("ts",) and values:
                self._times.narrow(kind, values)
            yield one

    def _open(self, version: Optional[str] = None) -> _client.Index:
        return _client.open_root(self._root, version=version or self._version, cache_dir=self._cache)

    def partitions(self) -> Sequence[InputPartition]:
        with self._open() as index:
            version = index.version
            pinned = index.at(version)
            known = {d.name for d in pinned.datasets()} if self._named else set()
            reduced = [_reduced(pinned, names) for names in self._domains]
            odd = [name for name in self._given or [] if not _reduced(pinned, [name])]
        if odd:
            raise ValueError(f"option domain: {', '.join(odd)} has no domain")
        unknown = [name for name in self._named if name not in known]
        if unknown:
            raise ValueError(f"option dataset: no dataset is called {', '.join(unknown)}")
        if not reduced and self._table == "rows":
            raise ValueError("rows are read by domain: filter by it (where(\"domain = 'example.com'\")) or give the option domain. "
                             "To read all rows, read the Parquet files that `domaindex files` lists")
        if self._times.is_empty:
            return []
        domains: List[Optional[str]] = [d for d in reduced[0] if all(d in others for others in reduced)] if reduced else [None]
        return [Wanted(domain, tuple(self._datasets), (self._times.first, self._times.last), version) for domain in domains]

    def read(self, partition: InputPartition) -> Iterator[Tuple[Any, ...]]:
        if not isinstance(partition, Wanted):  # where there are no partitions PySpark 4.3 asks for one without content
            return
        with self._open(partition.version) as index:
            names = {d.dataset_id: d.name for d in index.datasets()}
            chosen = _chosen(names, partition.datasets)
            yield from _presence(index, names, chosen, partition.domain) if self._table == "presence" else _rows(index, chosen, str(partition.domain), partition.times)


def _words(text: Optional[str]) -> Optional[List[str]]:
    return [word.strip() for word in text.split(",") if word.strip()] if text else None


def _reduced(index: _client.Index, names: Sequence[str]) -> List[str]:
    """The domains of names, each once: the rows of one that is spelled in two ways are there once."""
    return list(dict.fromkeys(domain for domain in (index.normalize(name)["domain"] for name in names) if domain is not None))


def _chosen(names: Mapping[int, str], conditions: Sequence[Sequence[Union[int, str]]]) -> List[int]:
    return [number for number, name in names.items() if all(number in wanted or name in wanted for wanted in conditions)]


class _Times:
    """First and last moment, in whole microseconds as rows have them, that all conditions on ts leave. A row without a time meets none of them."""

    STEP = datetime.timedelta(microseconds=1)

    def __init__(self) -> None:
        self.first: Optional[datetime.datetime] = None
        self.last: Optional[datetime.datetime] = None

    @property
    def is_empty(self) -> bool:
        return self.first is not None and self.last is not None and self.first > self.last

    def narrow(self, kind: str, values: Sequence[Any]) -> None:
        """By a filter of Spark; one of other times than moments, and one at an end of what datetime has, is left to Spark."""
        if kind not in ("EqualTo", "In", "GreaterThan", "GreaterThanOrEqual", "LessThan", "LessThanOrEqual"):
            return
        if not all(isinstance(value, datetime.datetime) and value.tzinfo is not None for value in values):
            return
        try:
            moments = [value.astimezone(datetime.timezone.utc) for value in values]
            first = min(moments) + self.STEP if kind == "GreaterThan" else min(moments)
            last = max(moments) - self.STEP if kind == "LessThan" else max(moments)
        except OverflowError:
            return
        if not kind.startswith("Less"):
            self.first = first if self.first is None else max(first, self.first)
        if not kind.startswith("Greater"):
            self.last = last if self.last is None else min(last, self.last)


def _bound(moment: Optional[datetime.datetime]) -> Optional[str]:
    return None if moment is None else moment.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def _rows(index: _client.Index, chosen: Sequence[int], domain: str,
          times: Tuple[Optional[datetime.datetime], Optional[datetime.datetime]]) -> Iterator[Tuple[Any, ...]]:
    try:
        found = index.domain(domain)
    except NotFound:
        return
    for dataset in found.datasets:
        if dataset.dataset_id in chosen and dataset.kind == "urls":
            for row in index.urls(domain, dataset.dataset_id, page_rows=10000, fields="url,url_id,ts,extras", from_=_bound(times[0]), to=_bound(times[1])):
                extras = json.dumps(row["extras"], ensure_ascii=False, sort_keys=True)
                yield found.domain, dataset.dataset_id, dataset.name, row.url, row["url_id"], _moment(row.ts), extras


def _moment(text: Optional[str]) -> Optional[datetime.datetime]:
    """None for the year 0, which datetime does not have."""
    return None if text is None or text.startswith("0000-") else time_of(text)


def _presence(index: _client.Index, names: Mapping[int, str], chosen: Sequence[int], domain: Optional[str]) -> Iterator[Tuple[Any, ...]]:
    wanted = [domain] if domain is not None else _all_domains(index)
    for name in index.domains(wanted):
        for dataset in name.datasets:
            if dataset["dataset_id"] in chosen and "kind" not in dataset:  # a dataset of counts has pages, and no URLs
                yield name.domain, dataset["dataset_id"], names[dataset["dataset_id"]], dataset["url_count"], dataset["row_count"]


def _all_domains(index: _client.Index) -> Iterator[str]:
    cursor: Optional[str] = None
    while True:
        page = index.get("/v1/domains", limit=10000, cursor=cursor)
        for domain in page["domains"]:
            yield domain["domain"]
        cursor = page["next_cursor"]
        if cursor is None:
            return


class DomaindexSource(DataSource):
    """format("domaindex")"""

    @classmethod
    def name(cls) -> str:
        return "domaindex"

    def schema(self) -> str:
        return _PRESENCE if self.options.get("table") == "presence" else _ROWS

    def reader(self, schema: Any) -> DomaindexReader:
        return DomaindexReader(self.options)

    def writer(self, schema: Any, overwrite: bool) -> DomaindexWriter:
        return DomaindexWriter(_job_of([field.name for field in schema.fields], self.options, overwrite))


# ---- rows in order of domains ----


def _url(names: Sequence[str], url_column: Optional[str]) -> int:
    url = _column(names, url_column, URL_NAMES)
    if url is None:
        raise ValueError(f"no column has one of the usual names of a URL; url_column names it. Columns: {', '.join(names)}")
    return url


def arrange(df: Any, *, root: str, url_column: Optional[str] = None, dataset_column: Optional[str] = None, partitions: Optional[int] = None) -> Any:
    """The rows in partitions by ranges of (domain id, host, path), so that each URL is in one and the domains of most are in one. A domain with
    many rows is spread over several. Canonical forms are made on Arrow batches by libdomaindex."""
    return _arrange.arrange(df, _url(df.columns, url_column), _job.lake_of(root), dataset_column, partitions)


def ingest(df: Any, root: Union[str, "os.PathLike[str]"], *, dataset: Optional[str] = None, dataset_column: Optional[str] = None,
           url_column: Optional[str] = None, ts_column: Optional[str] = None, extra_columns: Sequence[str] = (), mode: str = "append",
           partitions: Optional[int] = None, profile: Optional[str] = None, **options: Any) -> None:
    """Adds the rows of a DataFrame to a root and publishes it. mode "overwrite": they take the place of what the datasets had. Further options are
    those of the data source: spool, memory, driver_memory, wait, max_rejects, publish, verify, iceberg.

    profile: of a public corpus that `domaindex profiles` lists, for a DataFrame that Spark has read from its files; columns and names of datasets
    follow from it, and dataset, if it is given, goes before its names."""
    place = _job.place_of(os.fspath(root))
    if profile is not None:
        if url_column or ts_column or dataset_column or extra_columns:
            raise ValueError("a profile says which columns are what; give one or the other")
        df, extra_columns = _profile.apply(df, profile)
        url_column, ts_column = _profile.URL, _profile.TS if _profile.TS in df.columns else ""
        dataset_column = None if dataset else _profile.DATASET
    url = _url(df.columns, url_column)
    lake = _job.lake_of(place)
    arranged = _arrange.arrange(df, url, lake, dataset_column, partitions)
    given: Dict[str, Any] = {"root": place, "dataset": dataset, "dataset_column": dataset_column, "url_column": url_column, "ts_column": ts_column,
                             "extra_columns": ",".join(extra_columns), "arranged": "true", "lake": lake.text(), **options}
    writer = arranged.write.format("domaindex").mode(mode)
    for name, value in given.items():
        if value is not None:
            writer = writer.option(name, str(value).lower() if isinstance(value, bool) else str(value))
    writer.save()


def register(spark: Any) -> None:
    """Only where Spark does not find the package pyspark_domaindex by itself."""
    spark.dataSource.register(DomaindexSource)


__all__ = ["DomaindexSource", "JobError", "arrange", "clean", "ingest", "register"]
