# SPDX-License-Identifier: Apache-2.0
"""The index as an object, the same over HTTP and over files."""
from __future__ import annotations

import json
import numbers
import operator
import os
import ssl
import urllib.parse
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple, Union, cast

from ._errors import BadRequest, Incomplete, NotFound
from ._listing import Listing, Names
from ._transport import Http, Library, Transport
from ._types import Dataset, Domain, Name, Version

Progress = Callable[[int, Optional[int]], None]
DatasetName = Union[int, str]

# A server answers while it reads: what is sent before the first read must fit the buffers of a socket.
_LIST_BYTES = 32768
_LIST_NAMES = 1000

_OF_NO_VERSION = ("/v1/versions", "/v1/changes", "/healthz", "/readyz", "/openapi.json", "/receipt-key", "/docs")


def target_of(path: str, params: Mapping[str, Any]) -> str:
    """
    >>> target_of("/v1/domains", {"suffix": "co.uk", "limit": 5, "cursor": None})
    '/v1/domains?suffix=co.uk&limit=5'
    >>> target_of("/v1/suffix/org/urls", {"filter": ["status:200", "!mime:text/html"], "fields": ("url", "ts")})
    '/v1/suffix/org/urls?filter=status%3A200&filter=%21mime%3Atext%2Fhtml&fields=url%2Cts'
    >>> target_of("/v1/domain/a.com/urls", {"reverse": True}), target_of("/index", {"showNumPages": True})
    ('/v1/domain/a.com/urls?reverse=yes', '/index?showNumPages=true')
    >>> target_of("/cdx?url=x", {"limit": 5})
    '/cdx?url=x&limit=5'
    """
    said = {True: "yes", False: "no"} if path.startswith("/v1/") else {True: "true", False: "false"}
    words = [f"{name}={urllib.parse.quote(text, safe='')}" for name, value in params.items() if value is not None
             for text in _texts(name, said[value] if isinstance(value, bool) else value)]
    return path + (("&" if "?" in path else "?") + "&".join(words) if words else "")


def _texts(name: str, value: Any) -> List[str]:
    """Of a list: `filter` is given once for each, others separate by commas."""
    if not isinstance(value, (list, tuple)):
        return [str(value)]
    return [str(one) for one in value] if name == "filter" else [",".join(map(str, value))]


def _segment(text: str) -> str:
    return urllib.parse.quote(text, safe="")


class Index:
    """What a server, or a root, knows. Made by domaindex.connect and domaindex.open; safe from several threads.

    `version` is the version that all answers come from, or None: the current one at each question.
    """

    def __init__(self, transport: Transport, version: Optional[str] = None) -> None:
        self._transport, self._version = transport, version

    def __enter__(self) -> "Index":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._transport.close()

    def refresh(self) -> bool:
        """Looks for a newer version, of an index that was opened from files. True: answers may be others from now on."""
        return self._transport.refresh()

    def at(self, version: str) -> "Index":
        """The same index, of this version for all answers. They share connections."""
        return Index(self._transport, version)

    # ---- any resource ----

    def get(self, path: str, **params: Any) -> Any:
        """The JSON of any resource of docs/API.md: get("/v1/complete", q="exa"). Parameters that Python reserves end in `_`: from_."""
        answer = self._ask(path, {name.rstrip("_"): value for name, value in params.items()})
        try:
            return json.loads(answer)
        except ValueError:
            raise ValueError(f"{path}: the answer is not JSON, and get() reads JSON only ({answer[:60]!r})") from None

    def _ask(self, path: str, params: Mapping[str, Any]) -> bytes:
        resource, _, query = path.partition("?")
        name = "to" if resource.endswith(("/diff", "/changes")) else "version"
        given = {name for name, value in params.items() if value is not None} | set(urllib.parse.parse_qs(query, keep_blank_values=True))
        if self._version is not None and not {name, "cursor"} & given and resource not in _OF_NO_VERSION:
            params = {**params, name: self._version}
        return self._transport.ask(target_of(path, params))

    # ---- domains ----

    def domain(self, name: str) -> Domain:
        """Which datasets contain the domain of a name, host or URL. NotFound, Withheld: no dataset does, or may say so."""
        return Domain.of(self.get(f"/v1/domain/{_segment(name)}"))

    def __contains__(self, name: object) -> bool:
        try:
            self.domain(str(name))
        except NotFound:
            return False
        return True

    def urls(self, domain: str, dataset: Union[None, DatasetName, Sequence[DatasetName]] = None, *, limit: Optional[int] = None,
             page_rows: int = 1000, fields: Union[None, str, Sequence[str]] = None, **filters: Any) -> Listing:
        """The rows of a domain: of one dataset (its id or name), of several, or of all. `limit` rows at most; `fields` and filters
        as in docs/API.md (fields="url,title", prefix="/news/", from_="2024", filter=["status:200", "!lang:en"])."""
        params: Dict[str, Any] = {name.rstrip("_"): value for name, value in filters.items() if value is not None}
        if fields is not None:
            params["fields"] = fields if isinstance(fields, str) else ",".join(fields)
        path = f"/v1/domain/{_segment(domain)}"
        if isinstance(dataset, (str, numbers.Integral)):  # numbers of NumPy too
            path += f"/datasets/{self._dataset_id(cast(DatasetName, dataset))}"
        elif dataset is not None:
            params["dataset"] = ",".join(f"id:{self._dataset_id(d)}" for d in cast(Sequence[DatasetName], dataset))
        if self._version is not None:
            params["version"] = self._version
        return Listing(self._transport.ask, path + "/urls", params, limit, page_rows)

    def domains(self, names: Iterable[str], *, progress: Optional[Progress] = None, total: Optional[int] = None) -> Names:
        """What is known of each name of a list, of any length, in its order; all of one version. progress(done, total) is called after
        each batch; `total` is the length of the list where that has one."""
        if isinstance(names, (str, bytes)):
            raise TypeError(f"expected a list of names, got the text {names[:60]!r}")
        if total is None and isinstance(names, (list, tuple, set, frozenset, dict)):
            total = len(names)
        return Names(self._names(names, progress, total))

    def _names(self, names: Iterable[str], progress: Optional[Progress], total: Optional[int]) -> Iterator[Name]:
        version, done = self._version, 0
        for batch in _batches(names):
            answers, version = self._list(batch, version)
            yield from answers
            done += len(batch)
            if progress is not None:
                progress(done, total)

    def _list(self, batch: Sequence[str], version: Optional[str]) -> Tuple[List[Name], str]:
        body = "".join(name + "\n" for name in batch).encode("utf-8", "surrogateescape")
        target = target_of("/v1/domains", {"format": "ndjson", "version": version})
        lines = [json.loads(line) for line in self._transport.ask(target, body).split(b"\n") if line]
        last: Mapping[str, Any] = lines.pop() if lines else {}
        if last.get("complete") is not True or len(lines) != len(batch) or [j["line"] for j in lines] != list(range(1, len(batch) + 1)):
            raise Incomplete(f"{len(lines)} answers to {len(batch)} names; the last line is {str(last)[:300]}")
        return [Name.of(j, name, last["version"]) for j, name in zip(lines, batch)], last["version"]

    # ---- the rest ----

    def datasets(self) -> List[Dataset]:
        """All datasets, of one version."""
        found: List[Dataset] = []
        offset: Optional[int] = 0
        version: Optional[str] = self._version
        while offset is not None:
            page = self.at(version).get("/v1/datasets", offset=offset) if version else self.get("/v1/datasets", offset=offset)
            found += map(Dataset.of, page["datasets"])
            offset, version = page["next_offset"], page["version"]
        return found

    def dataset(self, dataset: DatasetName) -> Dataset:
        return Dataset.of(self.get(f"/v1/datasets/{self._dataset_id(dataset)}"))

    def _dataset_id(self, dataset: DatasetName) -> int:
        if isinstance(dataset, bool):
            raise TypeError(f"expected the id or the name of a dataset, got {dataset!r}")
        if not isinstance(dataset, str):
            return operator.index(dataset)
        for known in self.datasets():
            if known.name == dataset:
                return known.dataset_id
        raise NotFound(404, {"type": "urn:domaindex:problem:dataset-not-found", "detail": f"no dataset is called {dataset!r}"}, "/v1/datasets")

    def versions(self) -> List[Version]:
        """The versions that are kept, the oldest first."""
        return [Version.of(j) for j in self.get("/v1/versions")["versions"]]

    @property
    def version(self) -> str:
        """The name of the version that answers: that of `at`, else the current one."""
        if self._version is not None and not self._version.isdigit():
            return self._version
        answer = json.loads(self._transport.ask("/v1/versions"))
        if self._version is None:
            return str(answer["current_version"])
        return next((str(v["version"]) for v in answer["versions"] if int(v["version"][:6]) == int(self._version)), self._version)

    def url(self, url: str, **params: Any) -> Mapping[str, Any]:
        """Where one URL stands, in all datasets: the JSON of GET /v1/url."""
        answer: Mapping[str, Any] = self.get("/v1/url", u=url, **params)
        return answer

    def normalize(self, text: str) -> Mapping[str, Any]:
        """What a URL, host or name is reduced to, or why not: the JSON of GET /v1/normalize."""
        answer: Mapping[str, Any] = self.get("/v1/normalize", q=text)
        return answer


def _batches(names: Iterable[str]) -> Iterator[List[str]]:
    batch: List[str] = []
    size = 0
    for number, name in enumerate(names):
        if not isinstance(name, str):
            raise TypeError(f"name {number} of the list, {name!r:.60}, is not a string")
        if not name.strip() or "\n" in name or "\r" in name:
            raise ValueError(f"name {number} of the list, {name[:60]!r}, is empty or has a line end")
        length = len(name.encode("utf-8", "surrogateescape")) + 1
        if batch and (size + length > _LIST_BYTES or len(batch) == _LIST_NAMES):
            yield batch
            batch, size = [], 0
        batch.append(name)
        size += length
    if batch:
        yield batch


def connect(url: str, *, version: Optional[str] = None, token: Optional[str] = None, headers: Optional[Mapping[str, str]] = None,
            timeout: float = 60.0, patience: float = 30.0, ssl_context: Optional[ssl.SSLContext] = None) -> Index:
    """The index of a server: connect("http://127.0.0.1:8080"). Nothing is asked before the first question.

    token: of its access control. timeout: seconds that one reply may take. patience: seconds that a question may wait in all where
    the server asks for that (429 and 503 with Retry-After); 0: Busy at once.
    """
    return Index(Http(url, token, headers, timeout, patience, ssl_context), version)


def open_root(root: Union[str, "os.PathLike[str]"], *, version: Optional[str] = None, cache_dir: Union[None, str, "os.PathLike[str]"] = None,
              verify: bool = False, patience: float = 30.0) -> Index:
    """The index of a root, without a server: a directory, s3://bucket/prefix or http(s)://. Needs libdomaindex.

    The small part of a remote index is copied to cache_dir (default: ~/.cache/domaindex) and used again. It answers
    from the version that is current now until refresh() is called. verify: hash all local files of the index first.
    """
    place = os.fspath(root)
    library = Library(place, version, os.fspath(cache_dir) if cache_dir is not None else None, verify, patience)
    return Index(library, version)


__all__ = ["BadRequest", "Index", "connect", "open_root", "target_of"]
