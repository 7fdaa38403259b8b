# SPDX-License-Identifier: Apache-2.0
"""What can be wrong, as types: absent, withheld, forbidden, busy, gone and failed are different."""
from __future__ import annotations

from typing import Any, Mapping, Optional


class DomaindexError(Exception):
    """Base of all errors of this package."""


class TransportError(DomaindexError):
    """No reply came, or what came was not a reply of domaindexd."""


class LibraryError(DomaindexError):
    """libdomaindex could not be loaded, or failed. `code` is that of domaindex.h; 0: it could not be loaded."""

    def __init__(self, text: str, code: int = 0) -> None:
        super().__init__(text)
        self.code = code


class Incomplete(DomaindexError):
    """An answer ended before its end. Nothing of it may be used."""


class Problem(DomaindexError):
    """A problem document: `status`, `slug` ("domain-not-found"), `title`, `detail`, and `restart` of a 410.

    docs/API.md lists the slugs.
    """

    def __init__(self, status: int, document: Mapping[str, Any], target: str, retry_after: Optional[float] = None) -> None:
        self.status = status
        self.slug = str(document.get("type", "")).rsplit(":", 1)[-1]
        self.title = str(document.get("title", ""))
        self.detail = str(document.get("detail", ""))
        self.restart: Optional[str] = document.get("restart")
        self.target = target
        self.retry_after = retry_after
        super().__init__(f"{status} {self.slug}: {self.detail or self.title} ({target})")


class BadRequest(Problem, ValueError):
    """400: the question cannot be answered as it was asked."""


class Unauthorized(Problem):
    """401: no token, or an invalid one."""


class Forbidden(Problem):
    """403: the caller may not have this."""


class NotFound(Problem, LookupError):
    """404: it is in none of the datasets of the version, or of those that the caller may see."""


class Gone(Problem):
    """410: it was there, and will not be again. `restart` is the same question from its beginning."""


class VersionGone(Gone):
    """The version was removed, or never existed."""


class CursorExpired(Gone):
    """The first page of the listing was too long ago."""


class TooMuch(Problem):
    """422: over a limit of one request; ask for less."""


class Withheld(Problem):
    """451: a suppression hides everything that datasets may contain of it, and says so."""


class Busy(Problem):
    """429 or 503, after the retries: `retry_after` seconds may help."""


class Damaged(Problem):
    """500: stored bytes are missing, or contradict their checksum or layout."""


_BY_STATUS = {400: BadRequest, 401: Unauthorized, 403: Forbidden, 404: NotFound, 422: TooMuch, 429: Busy, 451: Withheld, 500: Damaged, 503: Busy}
_BY_SLUG = {"version-gone": VersionGone, "cursor-expired": CursorExpired}


def problem_of(status: int, document: Mapping[str, Any], target: str, retry_after: Optional[float] = None) -> Problem:
    """The error of a problem document."""
    slug = str(document.get("type", "")).rsplit(":", 1)[-1]
    kind = _BY_SLUG.get(slug) or _BY_STATUS.get(status) or (Gone if status == 410 else Problem)
    return kind(status, document, target, retry_after)
