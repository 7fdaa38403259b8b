#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The files of the web page: bytes of web/dist, both forms, validators, methods, policy; nothing of them with --web no; for everybody."""
import gzip
import re

import dxtest
from dxtest import check, equal

DIST = dxtest.SOURCE / "web" / "dist"


def files():
    yield "/", DIST / "index.html", "no-cache"
    for path in sorted((DIST / "assets").iterdir()):
        if path.suffix != ".gz":
            yield f"/assets/{path.name}", path, "public, max-age=31536000, immutable"


def served(server):
    total = 0
    for target, path, caching in files():
        plain, packed = path.read_bytes(), (path.parent / f"{path.name}.gz").read_bytes()
        total += len(packed)
        equal(gzip.decompress(packed), plain, f"{path.name} and its gzip")
        tags = set()
        for coding, body in (("", plain), ("gzip", packed), ("zstd, gzip", packed), ("zstd", plain), ("gzip;q=0", plain)):
            reply = server.get(target, headers={"Accept-Encoding": coding} if coding else None)
            what = f"{target} as '{coding}'"
            equal((reply.status, reply.body, reply.headers.get("content-encoding")), (200, body, "gzip" if body is packed else None), what)
            equal((reply.headers["cache-control"], "Accept-Encoding" in reply.headers["vary"]), (caching, True), what)
            check("unsafe" not in reply.headers["content-security-policy"] and "default-src 'none'" in reply.headers["content-security-policy"], what)
            equal(reply.headers["x-content-type-options"], "nosniff", what)
            again = server.get(target, headers={"If-None-Match": reply.headers["etag"], **({"Accept-Encoding": coding} if coding else {})})
            equal((again.status, again.body, again.headers["etag"], again.headers["cache-control"]), (304, b"", reply.headers["etag"], caching), what)
            tags.add(reply.headers["etag"])
        equal(len(tags), 2, f"{target}: a tag for each form")
        for method in ("POST", "PUT", "DELETE", "OPTIONS"):
            reply = server.get(target, method=method, body=b"")
            equal((reply.status, reply.headers["allow"]), (405, "GET, HEAD"), f"{method} {target}")
    check(total <= 200 * 1024, f"{total} bytes of gzip")


def page():
    text = (DIST / "index.html").read_text(encoding="utf-8")
    named = set(re.findall(r'(?:src|href)="(/assets/[^"]*)"', text))
    equal(named, {target for target, _, _ in files() if target != "/"}, "files that the page names")
    equal(re.findall(r"<script(?![^>]*src=)|style=|\son\w+=|https?://", text), [], "the page runs nothing inline and names no other host")


def others(server):
    for target in ("/assets/", "/assets", "/assets/app.js", "/assets/..", "/assets/%2e%2e/index.html", "/index.html", "//", "/a"):
        equal(server.get(target).status, 404, target)


def main():
    dxtest.need_programs()
    page()
    with dxtest.tempdir() as tmp:
        root = tmp / "root"
        dxtest.domaindex("ingest", "--root", root, "--dataset", "d", "-", input=b"https://example.com/\n")
        dxtest.domaindex("publish", "--root", root)
        with dxtest.Server(root, "--web", "yes") as server:
            served(server)
            others(server)
            equal(server.get("/v1/domain/example.com").status, 200, "the API beside it")
        with dxtest.Server(root) as server:
            for target, _, _ in files():
                equal(server.get(target).status, 404, f"{target} without --web")
        dxtest.domaindex("access", "init", "--root", root)
        with dxtest.Server(root, "--web", "yes") as server:
            served(server)
            equal(server.get("/v1/domain/example.com").status, 401, "the API asks for a token")
    dxtest.finish()


if __name__ == "__main__":
    main()
