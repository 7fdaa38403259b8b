# SPDX-License-Identifier: Apache-2.0
"""Answers as values. Names and meanings are those of docs/API.md; ids are integers; `ts` is the text of the answer and
`time` the moment that it names."""
from __future__ import annotations

import dataclasses
import datetime
from typing import Any, Mapping, Optional, Tuple

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


def time_of(text: Optional[str]) -> Optional[datetime.datetime]:
    """"2024-06-14T08:15:30.5Z" as a moment.

    >>> time_of("2024-06-14T08:15:30.500Z")
    datetime.datetime(2024, 6, 14, 8, 15, 30, 500000, tzinfo=datetime.timezone.utc)
    """
    if text is None:
        return None
    whole, _, fraction = text.rstrip("Z").partition(".")
    moment = datetime.datetime.strptime(whole, "%Y-%m-%dT%H:%M:%S").replace(tzinfo=datetime.timezone.utc)
    return moment + datetime.timedelta(microseconds=int(fraction.ljust(6, "0")[:6])) if fraction else moment


def micros_of(text: Optional[str]) -> Optional[int]:
    """The same as microseconds since 1970; of the year 0 too, which datetime does not have.

    >>> micros_of("1970-01-02T00:00:00Z"), micros_of("0000-01-01T00:00:00Z")
    (86400000000, -62167219200000000)
    """
    if text is None:
        return None
    shift = 0
    if text.startswith("0000"):  # years repeat after 400, which are 146,097 days
        text, shift = "0400" + text[4:], 146097 * 86400 * 1000000
    moment = time_of(text)
    assert moment is not None
    return (moment - _EPOCH) // datetime.timedelta(microseconds=1) - shift


def id_of(text: Any) -> int:
    """"0x8b66107e8045bb73" as a number."""
    return int(text, 16)


@dataclasses.dataclass(frozen=True)
class DatasetOfDomain:
    """A dataset that contains the domain. One of counts (kind "counts") has pages of its hosts, and no URLs: url_count and row_count are None."""

    dataset_id: int
    name: str
    url_count: Optional[int]
    row_count: Optional[int]
    first_ts: Optional[str]
    last_ts: Optional[str]
    share: Optional[float]
    rank: Optional[int]
    withheld_rows: int
    kind: str = "urls"
    page_count: Optional[int] = None

    @classmethod
    def of(cls, j: Mapping[str, Any]) -> "DatasetOfDomain":
        return cls(j["dataset_id"], j["name"], j["url_count"], j["row_count"], j["first_ts"], j["last_ts"], j.get("share"), j.get("rank"),
                   j.get("withheld_rows", 0), j.get("kind", "urls"), j.get("page_count"))


@dataclasses.dataclass(frozen=True)
class Domain:
    """GET /v1/domain/{domain}. `raw` is the answer's JSON as it came."""

    domain: str
    domain_id: int
    dataset_count: int
    url_count: int
    row_count: int
    distinct_url_count: int
    distinct_error: float
    first_ts: Optional[str]
    last_ts: Optional[str]
    datasets: Tuple[DatasetOfDomain, ...]
    withheld_rows: int
    version: str
    raw: Mapping[str, Any] = dataclasses.field(repr=False, compare=False)

    @classmethod
    def of(cls, j: Mapping[str, Any]) -> "Domain":
        return cls(j["domain"], id_of(j["domain_id"]), j["dataset_count"], j["url_count"], j["row_count"], j["distinct_url_count"],
                   j["distinct_error"], j["first_ts"], j["last_ts"], tuple(map(DatasetOfDomain.of, j["datasets"])), j.get("withheld_rows", 0),
                   j["version"], j)


@dataclasses.dataclass(frozen=True)
class Url:
    """A row of a listing. Members that were not among `fields` are None."""

    dataset_id: int
    url: Optional[str]
    url_id: Optional[int]
    ts: Optional[str]
    raw: Mapping[str, Any] = dataclasses.field(repr=False, compare=False)

    @property
    def time(self) -> Optional[datetime.datetime]:
        return time_of(self.ts)

    def __getitem__(self, field: str) -> Any:
        """A member of the row by its name in the answer: row["extras"], row["title"]."""
        return self.raw[field]

    @classmethod
    def of(cls, j: Mapping[str, Any], dataset_id: int) -> "Url":
        return cls(j.get("dataset_id", dataset_id), j.get("url"), id_of(j["url_id"]) if "url_id" in j else None, j.get("ts"), j)


@dataclasses.dataclass(frozen=True)
class Dataset:
    """An item of GET /v1/datasets. One of counts (kind "counts") has pages, and no URLs: url_count and row_count are None."""

    dataset_id: int
    name: str
    domain_count: int
    url_count: Optional[int]
    row_count: Optional[int]
    first_ts: Optional[str]
    last_ts: Optional[str]
    metadata: Mapping[str, Any]
    kind: str = "urls"
    page_count: Optional[int] = None

    @classmethod
    def of(cls, j: Mapping[str, Any]) -> "Dataset":
        return cls(j["dataset_id"], j["name"], j["domain_count"], j["url_count"], j["row_count"], j["first_ts"], j["last_ts"],
                   j.get("metadata") or {}, j.get("kind", "urls"), j.get("page_count"))


@dataclasses.dataclass(frozen=True)
class Version:
    """An item of GET /v1/versions."""

    version: str
    sequence: int
    published: str
    current: bool
    raw: Mapping[str, Any] = dataclasses.field(repr=False, compare=False)

    @classmethod
    def of(cls, j: Mapping[str, Any]) -> "Version":
        return cls(j["version"], j["sequence"], j["published"], j["current"], j)


@dataclasses.dataclass(frozen=True)
class Name:
    """What is known of one name of a list. `reason` says why `found` is false: "absent", "withheld", or why it is not a name."""

    asked: str
    domain: Optional[str]
    found: bool
    reason: Optional[str]
    dataset_count: int
    url_count: int
    row_count: int
    datasets: Tuple[Mapping[str, Any], ...]
    version: str

    @classmethod
    def of(cls, j: Mapping[str, Any], asked: str, version: str) -> "Name":
        return cls(asked, j.get("domain"), j["found"], j.get("reason"), j.get("dataset_count", 0), j.get("url_count", 0), j.get("row_count", 0),
                   tuple(j.get("datasets", ())), version)
