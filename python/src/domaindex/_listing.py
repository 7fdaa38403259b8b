# SPDX-License-Identifier: Apache-2.0
"""Listings: pages by cursor, rows one by one, and tables."""
from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Callable, Dict, Generic, Iterator, List, Mapping, Optional, Sequence, TypeVar

from ._errors import Incomplete
from ._types import Name, Url, id_of, micros_of

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

Row = TypeVar("Row")


class Table(Generic[Row]):
    """Something that can be read through once more, as rows or as a table."""

    def __iter__(self) -> Iterator[Row]:
        raise NotImplementedError

    def to_arrow(self) -> "pyarrow.Table":
        raise NotImplementedError

    def to_pandas(self) -> "pandas.DataFrame":
        return self.to_arrow().to_pandas()

    def to_polars(self) -> "polars.DataFrame":
        import polars

        frame = polars.from_arrow(self.to_arrow())
        assert isinstance(frame, polars.DataFrame)
        return frame


class Listing(Table[Url]):
    """The rows of a domain in one dataset or several. Each iteration asks again from the first page; a page follows the other by
    its cursor, so that all are of one version, whatever is published meanwhile."""

    def __init__(self, ask: Callable[[str], bytes], path: str, params: Mapping[str, Any], limit: Optional[int], page_rows: int) -> None:
        if page_rows < 1 or (limit is not None and limit < 0):
            raise ValueError(f"limit is 0 or more and page_rows 1 or more, not {limit} and {page_rows}")
        self._ask, self._path, self._params = ask, path, dict(params)
        self._limit, self._page_rows = limit, page_rows

    def __repr__(self) -> str:
        return f"<Listing {self._path}>"

    def pages(self) -> Iterator[Mapping[str, Any]]:
        """The pages as their JSON. The last one may be cut to `limit` rows."""
        from ._client import target_of

        left = self._limit
        params = dict(self._params)
        while left is None or left > 0:
            params["limit"] = str(self._page_rows if left is None else min(left, self._page_rows))
            page = json.loads(self._ask(target_of(self._path, params)))
            if page.get("complete") is not True:
                raise Incomplete(f"a page does not say that it is complete ({self._path})")
            yield page
            if left is not None:
                left -= len(page["items"])
            if page["next_cursor"] is None:
                return
            params = {"cursor": page["next_cursor"]}

    def __iter__(self) -> Iterator[Url]:
        for page in self.pages():
            for item in page["items"]:
                yield Url.of(item, page.get("dataset_id", 0))

    def to_arrow(self) -> "pyarrow.Table":
        """Columns: dataset_id, and the fields of the listing; extras as JSON text."""
        import pyarrow

        fields = self._params.get("fields", "url_id,url,ts").split(",")
        types = {"url_id": pyarrow.uint64(), "ts": pyarrow.timestamp("us", tz="UTC"), "tags": pyarrow.list_(pyarrow.string())}
        schema = pyarrow.schema([("dataset_id", pyarrow.uint32()), *((f, types.get(f, pyarrow.string())) for f in fields)])
        batches = [_batch(page, fields, schema) for page in self.pages()]
        return pyarrow.Table.from_batches(batches, schema)


def _batch(page: Mapping[str, Any], fields: Sequence[str], schema: Any) -> Any:
    import pyarrow

    items = page["items"]
    columns: Dict[str, List[Any]] = {"dataset_id": [item.get("dataset_id", page.get("dataset_id")) for item in items]}
    for field in fields:
        values: List[Any] = [item[field] for item in items]
        if field == "url_id":
            values = [id_of(value) for value in values]
        elif field == "ts":
            values = [micros_of(value) for value in values]
        elif field == "extras":
            values = [json.dumps(value, ensure_ascii=False, sort_keys=True) for value in values]
        columns[field] = values
    return pyarrow.record_batch([pyarrow.array(columns[f.name], f.type) for f in schema], schema=schema)


class Names(Table[Name]):
    """What is known of each name of a list, in its order. It is read through once."""

    def __init__(self, rows: Iterator[Name]) -> None:
        self._rows = rows

    def __iter__(self) -> Iterator[Name]:
        return self._rows

    def to_arrow(self) -> "pyarrow.Table":
        """A row for each name; `datasets` is the list of their ids."""
        import pyarrow

        rows = list(self)
        texts = {f: pyarrow.array([getattr(r, f) for r in rows], pyarrow.string()) for f in ("asked", "domain", "reason", "version")}
        numbers = {f: pyarrow.array([getattr(r, f) for r in rows], pyarrow.uint64()) for f in ("dataset_count", "url_count", "row_count")}
        return pyarrow.table({
            "asked": texts["asked"], "domain": texts["domain"], "found": pyarrow.array([r.found for r in rows], pyarrow.bool_()),
            "reason": texts["reason"], **numbers,
            "datasets": pyarrow.array([[d["dataset_id"] for d in r.datasets] for r in rows], pyarrow.list_(pyarrow.uint32())),
            "version": texts["version"]})
