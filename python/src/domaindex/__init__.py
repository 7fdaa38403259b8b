# SPDX-License-Identifier: Apache-2.0
"""domaindex: which datasets contain this site, and which of its pages?

    index = domaindex.connect("http://127.0.0.1:8080")      a server
    index = domaindex.open("s3://bucket/prefix")            or its files, without one

    index.domain("example.com").datasets
    for row in index.urls("example.com", "news"): ...
    index.urls("example.com").to_pandas()
    index.domains(names).to_arrow()

Both kinds of index give the same answers. domaindex.aio has them for asyncio, domaindex.canonical the canonical form of URLs.
"""
from ._client import Index, connect
from ._client import open_root as open  # noqa: A004
from ._errors import (BadRequest, Busy, CursorExpired, Damaged, DomaindexError, Forbidden, Gone, Incomplete, LibraryError, NotFound, Problem,
                      TooMuch, TransportError, Unauthorized, VersionGone, Withheld)
from ._listing import Listing, Names
from ._types import Dataset, DatasetOfDomain, Domain, Name, Url, Version

__version__ = "1.0.0rc1"  # as CMakeLists.txt says: setup.py refuses another one

__all__ = ["BadRequest", "Busy", "CursorExpired", "Damaged", "Dataset", "DatasetOfDomain", "Domain", "DomaindexError", "Forbidden", "Gone",
           "Incomplete", "Index", "LibraryError", "Listing", "Name", "Names", "NotFound", "Problem", "TooMuch", "TransportError", "Unauthorized",
           "Url", "Version", "VersionGone", "Withheld", "connect", "open"]
