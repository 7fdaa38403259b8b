# SPDX-License-Identifier: Apache-2.0
"""How questions get to an index: over HTTP, or into libdomaindex. Both give the bytes that a server sends."""
from __future__ import annotations

import gzip
import http.client
import json
import os
import ssl
import threading
import time
import urllib.parse
import zlib
from typing import Callable, Mapping, Optional, Tuple

from . import _native
from ._errors import Busy, Incomplete, TransportError, problem_of

MAX_WAIT_S = 60.0


class Transport:
    """Questions with their retries: a 429 or 503 is asked again after its Retry-After, as long as that fits into `patience_s`."""

    def __init__(self, patience_s: float, sleep: Callable[[float], None] = time.sleep) -> None:
        self.patience_s = patience_s
        self._sleep = sleep

    def send(self, target: str, body: Optional[bytes]) -> Tuple[int, Optional[float], bytes]:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError

    def refresh(self) -> bool:
        """True: other answers may come from now on. A server sees to that itself."""
        return False

    def ask(self, target: str, body: Optional[bytes] = None) -> bytes:
        """The body of a 200; every other status is an error of its type."""
        left = self.patience_s
        while True:
            status, retry_after, data = self.send(target, body)
            if status == 200:
                return data
            try:
                document: Mapping[str, object] = json.loads(data)
            except ValueError:
                document = {}
            if not str(document.get("type", "")).startswith("urn:domaindex:problem:"):
                raise TransportError(f"status {status} without a problem document of domaindexd: {data[:200]!r} ({target})")
            error = problem_of(status, document, target, retry_after)
            wait = max(retry_after or 0.0, 0.05)
            if not isinstance(error, Busy) or wait > left:
                raise error
            self._sleep(min(wait, MAX_WAIT_S))
            left -= wait


class Http(Transport):
    """One kept connection for each thread, of this process."""

    def __init__(self, url: str, token: Optional[str], headers: Optional[Mapping[str, str]], timeout_s: float, patience_s: float,
                 context: Optional[ssl.SSLContext]) -> None:
        super().__init__(patience_s)
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or parts.username:
            raise ValueError(f"{url!r}: http://host:port or https://host/path is expected; a root is opened with domaindex.open")
        self._parts, self._timeout_s, self._context = parts, timeout_s, context
        self._prefix = parts.path.rstrip("/")
        self._headers = {"Accept-Encoding": "gzip", "User-Agent": "domaindex-python", **(headers or {})}
        if token is not None:
            self._headers["Authorization"] = f"Bearer {token}"
        self._kept = threading.local()

    def _connect(self) -> http.client.HTTPConnection:
        host, port = self._parts.hostname or "", self._parts.port
        if self._parts.scheme == "https":
            return http.client.HTTPSConnection(host, port, timeout=self._timeout_s, context=self._context or ssl.create_default_context())
        return http.client.HTTPConnection(host, port, timeout=self._timeout_s)

    def _keep(self, connection: Optional[http.client.HTTPConnection]) -> None:
        self._kept.connection, self._kept.pid = connection, os.getpid()

    def _own(self) -> Optional[http.client.HTTPConnection]:
        """The kept connection. One that came by os.fork() is the parent's, and each would read replies to the other: its descriptor is closed here."""
        connection: Optional[http.client.HTTPConnection] = getattr(self._kept, "connection", None)
        if connection is not None and self._kept.pid != os.getpid():
            self.close()
            return None
        return connection

    def close(self) -> None:
        connection = getattr(self._kept, "connection", None)
        self._keep(None)
        if connection is not None:
            connection.close()

    def send(self, target: str, body: Optional[bytes]) -> Tuple[int, Optional[float], bytes]:
        while True:
            kept = self._own()
            connection = kept or self._connect()
            try:
                return self._exchange(connection, target, body)
            except http.client.IncompleteRead as error:
                raise Incomplete(f"the reply ended after {len(error.partial)} bytes ({target})") from error
            except (OSError, http.client.HTTPException) as error:
                # A server may close an idle connection at any moment; of a new one that says something.
                if kept is None or not isinstance(error, (ConnectionError, http.client.BadStatusLine)):
                    raise TransportError(f"{self._parts.netloc}: {type(error).__name__}: {error} ({target})") from error

    def _exchange(self, connection: http.client.HTTPConnection, target: str, body: Optional[bytes]) -> Tuple[int, Optional[float], bytes]:
        headers = dict(self._headers, **({"Content-Type": "text/plain"} if body is not None else {}))
        try:
            connection.request("GET" if body is None else "POST", self._prefix + target, body=body, headers=headers)
            reply = connection.getresponse()
            data = reply.read()
        except BaseException:  # Ctrl-C too: the next question must not find the rest of this one
            self._keep(connection)
            self.close()
            raise
        self._keep(connection)
        if reply.getheader("Content-Encoding") == "gzip":
            try:
                data = gzip.decompress(data)
            except (OSError, EOFError, zlib.error) as error:
                raise Incomplete(f"the compressed reply is damaged: {error} ({target})") from error
        if reply.will_close:
            self.close()
        try:
            retry_after: Optional[float] = float(reply.getheader("Retry-After") or "")
        except ValueError:
            retry_after = None
        return reply.status, retry_after, data


class Library(Transport):
    """libdomaindex on a root: a directory, http(s):// or s3://."""

    def __init__(self, root: str, version: Optional[str], cache_dir: Optional[str], verify: bool, patience_s: float) -> None:
        super().__init__(patience_s)
        self.root = _native.Root(root, version, cache_dir, verify)

    def send(self, target: str, body: Optional[bytes]) -> Tuple[int, Optional[float], bytes]:
        return self.root.ask(target, body)

    def refresh(self) -> bool:
        return self.root.refresh()

    def close(self) -> None:
        self.root.close()
