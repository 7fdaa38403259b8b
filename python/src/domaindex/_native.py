# SPDX-License-Identifier: Apache-2.0
"""libdomaindex by ctypes. The library is that of DOMAINDEX_LIBRARY, else the wheel's, else the system's."""
from __future__ import annotations

import contextlib
import ctypes
import os
import pathlib
import threading
from typing import Any, Iterator, List, Optional, Tuple

from ._errors import LibraryError

ABI = 1
NAME = "libdomaindex.so.1"
FOLDER = pathlib.Path(__file__).parent / "_native"

_p, _size, _text = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p


class Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int32), ("text", ctypes.c_char * 1020)]

    def raised(self) -> LibraryError:
        return LibraryError(self.text.decode("utf-8", "replace"), self.code)


class Options(ctypes.Structure):
    _fields_ = [("size", _size), ("version", _text), ("cache_dir", _text), ("cache_bytes", ctypes.c_uint64), ("verify", ctypes.c_int)]


class Text(ctypes.Structure):
    _fields_ = [("data", _p), ("size", _size)]

    def decode(self) -> str:
        return ctypes.string_at(self.data, self.size).decode("utf-8") if self.size else ""


class Url(ctypes.Structure):
    _fields_ = [("url", Text), ("domain", Text), ("scheme", Text), ("host", Text), ("path_query", Text),
                ("domain_id", ctypes.c_uint64), ("url_id", ctypes.c_uint64), ("reject", ctypes.c_int)]


class Strings(ctypes.Structure):
    _fields_ = [("count", _size), ("offset", _p), ("data", _p), ("data_size", _size)]


_SIGNATURES = {
    "version": (_text, []),
    "abi": (ctypes.c_int, []),
    "open": (ctypes.c_int, [ctypes.POINTER(_p), _text, ctypes.POINTER(Options), ctypes.POINTER(Error)]),
    "close": (None, [ctypes.POINTER(_p)]),
    "refresh": (ctypes.c_int, [_p, ctypes.POINTER(Error)]),
    "get": (ctypes.c_int, [_p, _text, ctypes.POINTER(_p), ctypes.POINTER(Error)]),
    "post": (ctypes.c_int, [_p, _text, _text, _size, ctypes.POINTER(_p), ctypes.POINTER(Error)]),
    "answer_status": (ctypes.c_int, [_p]),
    "answer_retry_s": (ctypes.c_uint, [_p]),
    "answer_body": (_p, [_p, ctypes.POINTER(_size)]),
    "answer_free": (None, [ctypes.POINTER(_p)]),
    "canon_new": (ctypes.c_int, [ctypes.POINTER(_p), _text, _size, ctypes.POINTER(Error)]),
    "canon_of": (ctypes.c_int, [_p, ctypes.POINTER(_p), ctypes.POINTER(Error)]),
    "canon_free": (None, [ctypes.POINTER(_p)]),
    "canon_rules": (ctypes.c_int, []),
    "canon_url": (ctypes.c_int, [_p, _text, _size, ctypes.POINTER(Url), ctypes.POINTER(Error)]),
    "canon_batch": (ctypes.c_int, [_p, ctypes.POINTER(Strings), ctypes.POINTER(_p), ctypes.POINTER(Error)]),
    "reject_name": (_text, [ctypes.c_int]),
    "batch_count": (_size, [_p]),
    "batch_rejected": (_size, [_p]),
    "batch_strings": (ctypes.c_int, [_p, ctypes.c_int, ctypes.POINTER(Strings)]),
    "batch_domain_ids": (_p, [_p]),
    "batch_url_ids": (_p, [_p]),
    "batch_rejects": (_p, [_p]),
    "batch_free": (None, [ctypes.POINTER(_p)]),
}

_lock = threading.Lock()
_loaded: Any = None


def _candidates() -> List[str]:
    given = os.environ.get("DOMAINDEX_LIBRARY")
    if given:
        return [given]
    own = FOLDER / NAME
    return [str(own)] if own.exists() else [NAME]


def load() -> Any:
    """The library, once a process."""
    global _loaded
    with _lock:
        if _loaded is None:
            _loaded = _load()
        return _loaded


def _load() -> Any:
    path = _candidates()[0]
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise LibraryError(f"{path} cannot be loaded ({error}); `pip install ./python` in a clone of domaindex builds it, "
                           "DOMAINDEX_LIBRARY names another one") from error
    for name, (result, arguments) in _SIGNATURES.items():
        try:
            function = getattr(library, "domaindex_" + name)
        except AttributeError as error:
            raise LibraryError(f"{path} has no domaindex_{name}: it is another library, or an older one") from error
        function.restype, function.argtypes = result, arguments
    if library.domaindex_abi() != ABI:
        raise LibraryError(f"{path} has ABI {library.domaindex_abi()}, and this package needs {ABI}")
    return library


def program() -> str:
    """The program domaindex: that of DOMAINDEX_PROGRAM, else the wheel's, else the one in PATH."""
    own = FOLDER / "domaindex"
    return os.environ.get("DOMAINDEX_PROGRAM") or (str(own) if own.exists() else "domaindex")


class Root:
    """A root that is open, for the process that opened it. Safe from several threads: close() waits for none of them, and the last question frees it."""

    def __init__(self, name: str, version: Optional[str], cache_dir: Optional[str], verify: bool) -> None:
        self._handle = _p()
        self._pid = os.getpid()
        self._lock = threading.RLock()
        self._users, self._closed = 0, False
        self._library = load()
        options = Options(ctypes.sizeof(Options), version.encode() if version else None, os.fsencode(cache_dir) if cache_dir else None, 0, int(verify))
        error = Error()
        if self._library.domaindex_open(ctypes.byref(self._handle), os.fsencode(name), ctypes.byref(options), ctypes.byref(error)) < 0:
            raise error.raised()

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        if self._pid == os.getpid():  # else it is the parent's, and a thread of the parent may hold the lock
            with self._lock:
                self._closed = True
                self._free()

    def _free(self) -> None:
        if self._closed and self._users == 0 and self._handle:
            self._library.domaindex_close(ctypes.byref(self._handle))

    @contextlib.contextmanager
    def use(self) -> Iterator[Any]:
        """The handle, which stays as long as it is used."""
        if self._pid != os.getpid():
            raise LibraryError("the root was opened by another process, before os.fork(): open it in this one")
        with self._lock:
            if self._closed:
                raise LibraryError("the root is closed")
            self._users += 1
        try:
            yield self._handle
        finally:
            with self._lock:
                self._users -= 1
                self._free()

    def refresh(self) -> bool:
        error = Error()
        with self.use() as handle:
            changed = self._library.domaindex_refresh(handle, ctypes.byref(error))
        if changed < 0:
            raise error.raised()
        return bool(changed)

    def ask(self, target: str, body: Optional[bytes]) -> Tuple[int, float, bytes]:
        """Status, seconds after which to try again, and the body."""
        answer, error, size = _p(), Error(), _size()
        with self.use() as handle:
            if body is None:
                rc = self._library.domaindex_get(handle, target.encode("ascii"), ctypes.byref(answer), ctypes.byref(error))
            else:
                rc = self._library.domaindex_post(handle, target.encode("ascii"), body, len(body), ctypes.byref(answer), ctypes.byref(error))
        if rc < 0:
            raise error.raised()
        try:
            data = self._library.domaindex_answer_body(answer, ctypes.byref(size))
            return self._library.domaindex_answer_status(answer), float(self._library.domaindex_answer_retry_s(answer)), ctypes.string_at(data, size.value)
        finally:
            self._library.domaindex_answer_free(ctypes.byref(answer))
