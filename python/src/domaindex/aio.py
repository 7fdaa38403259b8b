# SPDX-License-Identifier: Apache-2.0
"""The same for asyncio: each question runs in a thread of a small pool, so that a loop asks many at once.

    async with domaindex.aio.connect("http://127.0.0.1:8080") as index:
        answers = await asyncio.gather(*(index.domain(name) for name in names))
        async for row in index.urls("example.com"):
            ...
"""
from __future__ import annotations

import asyncio
import concurrent.futures
import functools
from typing import Any, AsyncIterator, Callable, Iterable, Iterator, List, Mapping, Optional, TypeVar

from . import _client
from ._listing import Listing, Names, Table
from ._types import Dataset, Domain, Name, Url, Version

T = TypeVar("T")
_END: Any = object()


class AsyncTable(AsyncIterator[T]):
    """Rows by `async for`; `await table.to_arrow()` and the like for all of them. Each `async for` over a listing asks again."""

    def __init__(self, run: Callable[..., Any], table: Table[T]) -> None:
        self._run, self._table = run, table
        self._rows: Optional[Iterator[T]] = None
        self._ready: List[T] = []
        self._coming: Optional["asyncio.Future[List[T]]"] = None

    def __aiter__(self) -> "AsyncTable[T]":
        return self if isinstance(self._table, Names) else AsyncTable(self._run, self._table)

    def _fetch(self) -> List[T]:
        """Some rows at once: a turn of the pool for each would cost more than the row."""
        if self._rows is None:
            self._rows = iter(self._table)
        rows: List[T] = []
        for row in self._rows:
            rows.append(row)
            if len(rows) == 500:
                break
        return rows[::-1]

    async def __anext__(self) -> T:
        if not self._ready:
            if self._coming is None:
                self._coming = asyncio.ensure_future(self._run(self._fetch))
            self._ready = await asyncio.shield(self._coming)  # who is cancelled here leaves the rows for the next
            self._coming = None
        if not self._ready:
            raise StopAsyncIteration
        return self._ready.pop()

    async def to_arrow(self) -> Any:
        return await self._run(self._table.to_arrow)

    async def to_pandas(self) -> Any:
        return await self._run(self._table.to_pandas)

    async def to_polars(self) -> Any:
        return await self._run(self._table.to_polars)


class AsyncIndex:
    """domaindex.Index with coroutines; see there. `at_once`: questions that are under way at a time."""

    def __init__(self, index: _client.Index, at_once: int = 8, pool: Optional[concurrent.futures.ThreadPoolExecutor] = None) -> None:
        self._index = index
        self._pool = pool or concurrent.futures.ThreadPoolExecutor(at_once, "domaindex")

    async def __aenter__(self) -> "AsyncIndex":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._run(self._index.close)
        self._pool.shutdown(wait=False)

    async def _run(self, function: Callable[..., T], *arguments: Any, **options: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._pool, functools.partial(function, *arguments, **options))

    def at(self, version: str) -> "AsyncIndex":
        return AsyncIndex(self._index.at(version), pool=self._pool)

    async def refresh(self) -> bool:
        return await self._run(self._index.refresh)

    async def get(self, path: str, **params: Any) -> Any:
        return await self._run(self._index.get, path, **params)

    async def domain(self, name: str) -> Domain:
        return await self._run(self._index.domain, name)

    def urls(self, domain: str, dataset: Any = None, **options: Any) -> AsyncTable[Url]:
        """`dataset` by its id, or a list of them: a name would have to be looked up first."""
        if isinstance(dataset, str):
            return AsyncTable(self._run, _Later(lambda: self._index.urls(domain, dataset, **options)))
        return AsyncTable(self._run, self._index.urls(domain, dataset, **options))

    def domains(self, names: Iterable[str], **options: Any) -> AsyncTable[Name]:
        return AsyncTable(self._run, self._index.domains(names, **options))

    async def datasets(self) -> List[Dataset]:
        return await self._run(self._index.datasets)

    async def versions(self) -> List[Version]:
        return await self._run(self._index.versions)

    async def url(self, url: str, **params: Any) -> Mapping[str, Any]:
        return await self._run(self._index.url, url, **params)

    async def normalize(self, text: str) -> Mapping[str, Any]:
        return await self._run(self._index.normalize, text)


class _Later(Table[Url]):
    """A listing that is made in the pool, as making it asks for the dataset."""

    def __init__(self, make: Callable[[], Listing]) -> None:
        self._make = make

    def __iter__(self) -> Iterator[Url]:
        return iter(self._make())

    def to_arrow(self) -> Any:
        return self._make().to_arrow()


def connect(url: str, *, at_once: int = 8, **options: Any) -> AsyncIndex:
    """domaindex.connect for asyncio."""
    return AsyncIndex(_client.connect(url, **options), at_once)


async def open(root: str, *, at_once: int = 8, **options: Any) -> AsyncIndex:  # noqa: A001
    """domaindex.open for asyncio."""
    index = await asyncio.get_running_loop().run_in_executor(None, functools.partial(_client.open_root, root, **options))
    return AsyncIndex(index, at_once)
