# SPDX-License-Identifier: Apache-2.0
"""The canonical form of docs/CANON.md, by libdomaindex: one URL, or Arrow arrays at some million URLs a second and core."""
from __future__ import annotations

import ctypes
import dataclasses
import os
from typing import TYPE_CHECKING, Any, Optional, Union

from . import _native
from ._client import Index
from ._errors import LibraryError
from ._transport import Library

if TYPE_CHECKING:
    import pyarrow

_COLUMNS = ("url", "domain", "scheme", "host", "path_query")


@dataclasses.dataclass(frozen=True)
class Canonical:
    """A URL in canonical form. `reject`: why it has none; then all else is empty."""

    url: str
    domain: str
    scheme: str
    host: str
    path_query: str
    domain_id: int
    url_id: int
    reject: Optional[str]


class Canonicaliser:
    """With the suffix list of an index, of a text, or of the system. One thread at a time.

    >>> canonical = Canonicaliser(suffix_list="com\\nco.uk\\n").url("HTTP://WWW.Example.co.uk:80/a/../b?z=1&a=2#top")
    >>> canonical.url, canonical.domain
    ('http://www.example.co.uk/b?a=2&z=1', 'example.co.uk')
    >>> Canonicaliser(suffix_list="com\\n").url("mailto:x@example.com").reject
    'scheme'
    """

    def __init__(self, *, index: Optional[Index] = None, suffix_list: Union[None, str, bytes, "os.PathLike[str]"] = None) -> None:
        self._library = _native.load()
        self._handle = ctypes.c_void_p()
        error = _native.Error()
        if index is not None:
            if not isinstance(index._transport, Library):
                raise ValueError("a suffix list can be had of an index that domaindex.open opened, not of a connection")
            with index._transport.root.use() as root:
                rc = self._library.domaindex_canon_of(root, ctypes.byref(self._handle), ctypes.byref(error))
        else:
            if isinstance(suffix_list, os.PathLike):
                with open(suffix_list, "rb") as file:
                    suffix_list = file.read()
            text = suffix_list.encode() if isinstance(suffix_list, str) else suffix_list
            rc = self._library.domaindex_canon_new(ctypes.byref(self._handle), text, len(text or b""), ctypes.byref(error))
        if rc < 0:
            raise error.raised()

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self._library.domaindex_canon_free(ctypes.byref(self._handle))

    def url(self, text: Union[str, bytes]) -> Canonical:
        raw = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
        url, error = _native.Url(), _native.Error()
        rc = self._library.domaindex_canon_url(self._handle, raw, len(raw), ctypes.byref(url), ctypes.byref(error))
        if rc < 0:
            raise error.raised()
        reject = None if rc == 1 else self._library.domaindex_reject_name(url.reject).decode()
        return Canonical(url.url.decode(), url.domain.decode(), url.scheme.decode(), url.host.decode(), url.path_query.decode(),
                         url.domain_id, url.url_id, reject)

    def batch(self, urls: "pyarrow.Array[Any]") -> "pyarrow.RecordBatch":
        """Of an array of strings: columns url, domain, scheme, host, path_query, domain_id, url_id and reject. Where `reject` is
        set, all others are null. A null is rejected as `empty`."""
        import pyarrow
        import pyarrow.compute

        if urls.null_count:
            urls = pyarrow.compute.fill_null(urls, "")
        if urls.type not in (pyarrow.string(), pyarrow.binary()):
            urls = urls.cast(pyarrow.string())
        if len(urls) == 0 or urls.buffers()[1] is None:
            urls = pyarrow.array([""] * len(urls), pyarrow.string())
        return self._columns(_Batch(self._library, self._handle, urls))

    def _columns(self, batch: "_Batch") -> "pyarrow.RecordBatch":
        import pyarrow

        count, rejects = batch.count, batch.numbers("rejects", pyarrow.uint8())
        names = pyarrow.array([self._library.domaindex_reject_name(i) and self._library.domaindex_reject_name(i).decode() for i in range(16)])
        ok = pyarrow.compute.equal(rejects, 0)
        taken = pyarrow.compute.take(names, rejects) if count else pyarrow.array([], pyarrow.string())
        words = pyarrow.compute.if_else(ok, pyarrow.scalar(None, pyarrow.string()), taken)
        columns = [*(batch.strings(i) for i in range(len(_COLUMNS))), batch.numbers("domain_ids", pyarrow.uint64()), batch.numbers("url_ids", pyarrow.uint64())]
        if batch.rejected:
            columns = [pyarrow.compute.if_else(ok, column, pyarrow.scalar(None, column.type)) for column in columns]
        return pyarrow.record_batch([*columns, words], names=[*_COLUMNS, "domain_id", "url_id", "reject"])


class _Batch:
    """Buffers of the library, which live as long as an array that looks at them."""

    def __init__(self, library: Any, canon: Any, urls: Any) -> None:
        _, offsets, data = urls.buffers()
        at = offsets.address + 4 * urls.offset
        strings = _native.Strings(len(urls), at, data.address if data else None, data.size if data else 0)
        error = _native.Error()
        self._library, self._handle = library, ctypes.c_void_p()
        if library.domaindex_canon_batch(canon, ctypes.byref(strings), ctypes.byref(self._handle), ctypes.byref(error)) < 0:
            raise error.raised()
        self.count: int = library.domaindex_batch_count(self._handle)
        self.rejected: int = library.domaindex_batch_rejected(self._handle)

    def __del__(self) -> None:
        if self._handle:
            self._library.domaindex_batch_free(ctypes.byref(self._handle))

    def _buffer(self, address: Optional[int], size: int) -> Any:
        import pyarrow

        return pyarrow.foreign_buffer(address, size, self) if address else pyarrow.py_buffer(b"")

    def strings(self, column: int) -> Any:
        import pyarrow

        s = _native.Strings()
        if self._library.domaindex_batch_strings(self._handle, column, ctypes.byref(s)) < 0:
            raise LibraryError(f"no column {column}")
        return pyarrow.Array.from_buffers(pyarrow.string(), self.count,
                                          [None, self._buffer(s.offset, 4 * (self.count + 1)), self._buffer(s.data, s.data_size)])

    def numbers(self, name: str, kind: Any) -> Any:
        import pyarrow

        address = getattr(self._library, "domaindex_batch_" + name)(self._handle)
        return pyarrow.Array.from_buffers(kind, self.count, [None, self._buffer(address, self.count * kind.bit_width // 8)])
