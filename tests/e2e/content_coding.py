#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: peers
"""gzip and zstd of answers against zlib, zstandard and curl, with ETag, 304, HEAD and Vary of each representation; the same
through an nginx that caches; and CORS. Not where an access table is in force, unless --compress yes.
"""
import http.client
import json
import os
import shutil
import subprocess
import zlib

import zstandard

import dxtest
import front
import stores
from dxtest import check, equal

DOMAIN = "/v1/domain/example.com"
LISTING = "/v1/domain/example.com/datasets/1/urls"
SMALL = "/v1/domain/other.example.net"
DECODE = {None: bytes, "gzip": lambda body: zlib.decompress(body, 31),
          "zstd": lambda body: zstandard.ZstdDecompressor().decompress(body, max_output_size=1 << 26)}
# Accept-Encoding, and what comes of it.
FIELDS = (("gzip", "gzip"), ("zstd", "zstd"), ("gzip, zstd", "zstd"), ("gzip;q=1, zstd;q=0.5", "gzip"), ("GZIP;Q=0.3", "gzip"), ("x-gzip", "gzip"),
          ("*", "zstd"), ("*;q=0.1, zstd;q=0", "gzip"), ("br, deflate", None), ("identity", None), ("gzip;q=0", None), ("gzip;q=0, *", "zstd"),
          ("identity;q=1, gzip;q=0.5", None), ("identity;q=0", None), ("identity;q=0, gzip", "gzip"), ("", None), ("gzip;q=2", None), ("gzip;level=9", None),
          ("gzip;q=0.0001", None), (",,gzip , ", "gzip"), ("*;q=0", None), ("gzip ; q=0.5", "gzip"))


def make_root(tmp):
    (tmp / "rows.tsv").write_text("".join(f"d{i % 40}\thttps://example.com/path/{i}\n" for i in range(4000)) +
                                  "".join(f"d0\thttps://example.com/more/{i}\n" for i in range(2000)) + "d1\thttps://other.example.net/\n")
    dxtest.domaindex("ingest", "--root", tmp / "root", "--format", "tsv", "--dataset-column", 1, "--url-column", 2, tmp / "rows.tsv")
    dxtest.domaindex("publish", "--root", tmp / "root")
    return tmp / "root"


def representations(server):
    """Each question often enough that its answer is kept; all representations are of one body, with a tag of their own."""
    for target in (DOMAIN, LISTING, LISTING + "?limit=2000", "/v1/datasets", "/openapi.json", "/docs"):
        plain = server.get(target)
        vary = "Accept, Accept-Encoding" if target.startswith("/v1/") else "Accept-Encoding"
        equal((plain.headers.get("content-encoding"), plain.headers["vary"]), (None, vary), target)
        tags = {None: plain.headers["etag"]}
        for again in range(4):
            for field, want in FIELDS if again == 0 else FIELDS[:3] + (("identity", None),):
                reply = server.get(target, headers={"Accept-Encoding": field})
                coding = reply.headers.get("content-encoding")
                equal((reply.status, coding, reply.headers["vary"]), (200, want, vary), f"{target}: {field}")
                check(DECODE[coding](reply.body) == plain.body, f"{target}: {field}: the same bytes")
                check(coding is None or len(reply.body) < len(plain.body) / 2, f"{target}: {field}: smaller")
                equal(tags.setdefault(coding, reply.headers["etag"]), reply.headers["etag"], f"{target}: {field}: tag")
                head = server.get(target, method="HEAD", headers={"Accept-Encoding": field})
                equal([head.headers.get(name) for name in ("content-length", "etag", "content-encoding")],
                      [reply.headers.get(name) for name in ("content-length", "etag", "content-encoding")], f"{target}: HEAD {field}")
        equal(len(set(tags.values())), 3, f"{target}: a tag for each representation")
        for coding, tag in tags.items():
            for asked, other in tags.items():
                reply = server.get(target, headers={"Accept-Encoding": asked or "identity", "If-None-Match": f"W/{tag}"})
                equal((reply.status, reply.headers["etag"], reply.headers["vary"]), (304 if asked == coding else 200, other, vary),
                      f"{target}: {tag} of {asked}")


def left_alone(server):
    """Small answers, problems, and lists over two lines."""
    for target in (SMALL, "/healthz", "/v1/domain/nobody.example", "/v1/nothing", DOMAIN + "?nobody=1"):
        reply = server.get(target, headers={"Accept-Encoding": "gzip"})
        check("content-encoding" not in reply.headers and len(reply.body) < 1024, f"{target} as it is")
        json.loads(reply.body)


def curl(port):
    if shutil.which("curl") is None:
        print("curl is not here")
        return
    def body(*arguments):
        return subprocess.run(["curl", "-sS", "--fail", *arguments, f"http://127.0.0.1:{port}{LISTING}"], stdout=subprocess.PIPE, check=True).stdout
    equal(body("--compressed") == body(), True, "curl --compressed")
    equal(len(body("-H", "Accept-Encoding: gzip")) < len(body()) / 2, True, "curl without --compressed gets what it asked for")


def ask(port, target, headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", target, headers=headers)
        reply = connection.getresponse()
        return reply, reply.read()
    except OSError:
        return None
    finally:
        connection.close()


def behind_nginx(tmp, server):
    program = front.find("nginx")
    if program is None:
        print("nginx is not here")
        return
    port = stores.free_port()
    user = "user root; " if os.geteuid() == 0 else ""  # else its workers would be another user, who may not enter the folder
    (tmp / "nginx.conf").write_text(f"""{user}daemon off; worker_processes 1; pid {tmp}/nginx.pid; error_log {tmp}/nginx.log;
events {{}}
http {{ access_log off; client_body_temp_path {tmp}/b; proxy_temp_path {tmp}/p; fastcgi_temp_path {tmp}/f; uwsgi_temp_path {tmp}/u; scgi_temp_path {tmp}/s;
proxy_cache_path {tmp}/cache keys_zone=z:1m;
server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://127.0.0.1:{server.port}; proxy_http_version 1.1; proxy_set_header Connection "";
proxy_cache z; proxy_cache_valid 200 1m; proxy_ignore_headers Cache-Control; add_header X-Cache $upstream_cache_status; }} }} }}
""")
    process = subprocess.Popen([program, "-p", str(tmp), "-c", str(tmp / "nginx.conf")], stderr=subprocess.DEVNULL)
    try:
        check(dxtest.wait_until(lambda: ask(port, "/healthz", {})), "nginx answers")
        plain = server.get(LISTING).body
        seen = set()
        for _ in range(3):
            for coding in (None, "gzip", "zstd"):
                reply, body = ask(port, LISTING, {"Accept-Encoding": coding or "identity"})
                seen.add(reply.headers["x-cache"])
                equal(reply.headers.get("content-encoding"), coding, "through nginx")
                check(DECODE[coding](body) == plain, f"through nginx: {coding}")
        equal(seen, {"MISS", "HIT"}, "nginx keeps each representation")
    finally:
        process.terminate()
        process.wait()


def scripts_of_others(root):
    with dxtest.Server(root) as server:
        reply = server.get(DOMAIN, headers={"Origin": "https://a.example"})
        check(not any(name.startswith("access-control") for name in reply.headers), "no CORS unless it is asked for")
        equal(server.get(DOMAIN, method="OPTIONS").status, 405, "no preflight either")
    for origin in ("*", "https://a.example:8443"):
        with dxtest.Server(root, "--cors-origin", origin) as server:
            for target, status in ((DOMAIN, 200), (DOMAIN, 200), (DOMAIN, 200), (LISTING, 200), ("/v1/nothing", 404), ("/docs", 200)):
                for sent in ("https://a.example:8443", "https://evil.example", None):
                    reply = server.get(target, headers={"Origin": sent} if sent else {})
                    equal((reply.status, reply.headers["access-control-allow-origin"]), (status, origin), f"{target} of {sent}")
                    check("access-control-allow-credentials" not in reply.headers, "no credentials")
            for target, methods in ((DOMAIN, "GET, HEAD"), ("/v1/domains", "GET, HEAD, POST")):
                reply = server.get(target, method="OPTIONS", headers={"Origin": "https://evil.example", "Access-Control-Request-Method": "GET",
                                                                      "Access-Control-Request-Headers": "authorization"})
                equal((reply.status, reply.body, reply.headers["access-control-allow-methods"], reply.headers["access-control-allow-origin"]),
                      (204, b"", methods, origin), f"OPTIONS {target}")
                check("Authorization" in reply.headers["access-control-allow-headers"], "a token may be sent")
            equal(server.get("/v1/nothing", method="OPTIONS").status, 404, "OPTIONS of nothing")
            reply = server.get("/v1/domains", method="POST", body=b"example.com\n")
            equal(reply.headers["access-control-allow-origin"], origin, "a list of names")
    for wrong in ("https://a.example/", "a.example", "null", "https://A.example", "https://", "https://a b", "https://a.example\r\nX: y"):
        done = dxtest.run(dxtest.DOMAINDEXD, "--root", root, "--cors-origin", wrong, "--check", expect=None)
        check(done.returncode != 0 and b"is not an origin" in done.stdout + done.stderr, f"--cors-origin {wrong!r} is refused")


def under_a_table(root):
    dxtest.domaindex("access", "init", "--root", root)
    dxtest.domaindex("access", "grant", "d1", "--to", "*", "--root", root)
    for compress, want, vary in (("auto", None, "Authorization"), ("yes", "gzip", "Accept-Encoding, Authorization")):
        with dxtest.Server(root, "--compress", compress) as server:
            for target in (DOMAIN, DOMAIN, DOMAIN, LISTING.replace("/1/", "/2/"), "/openapi.json"):
                plain, reply = (server.get(target, headers={"Accept-Encoding": field}) for field in ("identity", "gzip"))
                if len(plain.body) >= 1024:
                    equal((reply.headers.get("content-encoding"), reply.headers["vary"]), (want, "Accept, " * target.startswith("/v1/") + vary), f"--compress {compress}: {target}")
                check(DECODE[reply.headers.get("content-encoding")](reply.body) == plain.body, f"--compress {compress}: {target}: the same bytes")


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        root = make_root(tmp)
        with dxtest.Server(root) as server:
            representations(server)
            left_alone(server)
            curl(server.port)
            behind_nginx(tmp, server)
        with dxtest.Server(root, "--compress", "no") as server:
            reply = server.get(DOMAIN, headers={"Accept-Encoding": "gzip"})
            check("content-encoding" not in reply.headers and reply.headers["vary"] == "Accept", "--compress no")
        scripts_of_others(root)
        under_a_table(root)
    dxtest.finish()


if __name__ == "__main__":
    main()
