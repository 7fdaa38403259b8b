#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: short plain
"""Answers for others to rely on. Caches: how long they may keep an answer of a version that is named. Receipts: what `receipt=1` adds, checked by openssl and by `domaindex receipt verify`; changed receipts, bodies and keys are refused."""
import base64
import hashlib
import json
import re
import subprocess
import time

import dxtest
from dxtest import check, equal

URLS = "".join(f"https://example.com/{i}\n" for i in range(300)) + "https://other.example.org/\n"


def unpack(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def by_openssl(tmp, public, token):
    """True if openssl says that the key signed it."""
    head, payload, signature = token.split(".")
    (tmp / "signed").write_bytes(f"{head}.{payload}".encode())
    (tmp / "signature").write_bytes(unpack(signature))
    done = subprocess.run(["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", public, "-rawin", "-in", tmp / "signed", "-sigfile", tmp / "signature"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    return done.returncode == 0


def verify(tmp, key, receipt, body, expect=0):
    (tmp / "receipt").write_bytes(receipt.encode())
    (tmp / "body").write_bytes(body)
    return dxtest.domaindex("receipt", "verify", "--key", key, tmp / "receipt", tmp / "body", expect=expect)


def answers(server, tmp, public):
    for number, (target, status) in enumerate((("/v1/domain/example.com?receipt=1", 200), ("/v1/domain/example.com/datasets/1/urls?receipt=1&limit=200", 200),
                           ("/v1/domain/absent.example.net?receipt=1", 404), ("/v1/domain/example.com/changes?format=atom&receipt=1", 200),
                           ("/v1/url?u=https://example.com/7&receipt=1", 200), ("/cdx?url=example.com/*&receipt=1&showUntimed=1&limit=2", 200), ("/index?url=example.com/x&receipt=1", 404),
                           ("/collinfo.json?unknown=1&receipt=1", 200), (f"/cdx?url=example.com/1&junk={'a' * 7900}&receipt=1", 200), ("/cdx?url=example.com/1&junk=" + '"' * 7900 + "&receipt=1", 200))):
        plain = server.get(target.replace("receipt=1&", "").replace("&receipt=1", "").replace("?receipt=1", ""))
        check("domaindex-receipt" not in plain.headers, f"{target}: no receipt that is not asked for")
        for turn, headers in enumerate(({}, {"Accept-Encoding": "gzip, zstd"}, {"If-None-Match": plain.headers.get("etag", '"x"')})):
            reply = server.get(target, headers=headers)
            equal((reply.status, reply.body), (status, plain.body), f"{target[:99]} {headers}")
            token = reply.headers["domaindex-receipt"]
            said = json.loads(unpack(token.split(".")[1]))
            want = {"iss": "domaindex", "iat": said["iat"], "method": "GET", "target": target, "status": status, "version": reply.headers["x-domaindex-version"],
                    "build": said["build"], "size": len(reply.body), "sha256": hashlib.sha256(reply.body).hexdigest()}
            equal(said, want, f"{target}: the statement")
            check(abs(said["iat"] - time.time()) < 60 and len(said["build"]) == 32, f"{target}: time and build: {said}")
            check(by_openssl(tmp, public, token), f"{target}: openssl verifies it")
            if dxtest.WHOLE or (number + turn) % 3 == 0:
                equal(json.loads(verify(tmp, public, token, reply.body).stdout), said, f"{target}: domaindex verifies it")
    return server.get("/v1/domain/example.com?receipt=1")


def changed(tmp, public, reply):
    token = reply.headers["domaindex-receipt"]
    head, payload, signature = token.split(".")
    other = json.loads(unpack(payload))
    other["status"] = 404
    forged = base64.urlsafe_b64encode(json.dumps(other).encode()).decode().rstrip("=")
    none = base64.urlsafe_b64encode(b'{"alg":"none"}').decode().rstrip("=")
    for receipt, body, words in ((f"{head}.{forged}.{signature}", reply.body, b"did not sign"), (f"{none}.{payload}.", reply.body, b"JWS"),
                                 (f"{none}.{payload}.{signature}", reply.body, b"did not sign"), (token[:-1], reply.body, b"JWS"), ("", reply.body, b"JWS"),
                                 (token, reply.body + b" ", b"not the body"), (token, reply.body.replace(b"1", b"2"), b"not the body"), (token, b"", b"not the body")):
        done = verify(tmp, public, receipt, body, expect=1)
        check(words in done.stderr and done.stdout == b"", f"{receipt[:40]}: {done.stderr!r}")
    for at in range(0, len(token), 7 if dxtest.WHOLE else 61):
        one = token[:at] + ("A" if token[at] != "A" else "B") + token[at + 1:]
        verify(tmp, public, one, reply.body, expect=1)
    by_pipe = dxtest.domaindex("receipt", "verify", "--key", public, "-", tmp / "body", input=token.encode())
    equal(by_pipe.stdout, verify(tmp, public, token, reply.body).stdout, "the receipt as standard input")
    equal(dxtest.domaindex("receipt", "verify", "--key", public, tmp / "receipt", "-", input=reply.body).stdout, by_pipe.stdout, "the body as standard input")
    dxtest.domaindex("receipt", "verify", "--key", public, "-", "-", input=b"", expect=2)
    dump = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nDomaindex-Receipt: " + token + "\r\nConnection: close\r\n\r\n"
    verify(tmp, public, dump, reply.body)
    dxtest.run("openssl", "genpkey", "-algorithm", "ed25519", "-out", tmp / "other.pem")
    check(b"did not sign" in verify(tmp, tmp / "other.pem", token, reply.body, expect=1).stderr, "another key")
    dxtest.run("openssl", "genpkey", "-algorithm", "x25519", "-out", tmp / "x.pem")
    check(b"Ed25519" in verify(tmp, tmp / "x.pem", token, reply.body, expect=1).stderr, "a key of another kind")
    dxtest.domaindex("receipt", "verify", tmp / "receipt", expect=2)


def refused(server):
    for target in ("/v1/domain/example.com/urls?receipt=1&format=ndjson", "/v1/domain/example.com?receipt=2", "/v1/domain/example.com?receipt=",
                   f"/v1/domain/{'a' * 8000}.com?receipt=1", "/cdx?url=example.com/1&receipt=2", "/index?url=example.com/1&receipt="):
        equal((server.get(target).status, "domaindex-receipt" in server.get(target).headers), (400, False), target[:60])
    equal(server.get("/v1/domain/example.com?receipt=0").status, 200, "receipt=0")


def cached(server):
    """Cache-Control of requests that name their version, whole, kept and 304; of no others."""
    older, version = (v["version"] for v in server.get("/v1/versions").json["versions"])
    long = "public, max-age=3600, immutable"
    for target in (f"diff?to={version}&from={older}", f"datasets/1/urls?version={version}&limit=200&offset=200", f"hosts?version={version}"):
        equal(server.get(f"/v1/domain/example.com/{target}").headers["cache-control"], long, target)
    # They depend on versions that are kept, on time (cursors end), or on files beside the version.
    for target in (f"/v1/domain/example.com/changes?to={version}", f"/v1/domain/example.com/diff?to={version}", f"/v1/keys?url=example.com/1&version={version}",
                   f"/v1/domain/example.com/urls?limit=200&version={version}", f"/v1/domain/example.com/urls?plan=2&version={version}", f"/v1/domains?limit=1&version={version}",
                   f"/cdx?url=example.com/*&showUntimed=1&showResumeKey=true&version={version}"):
        for _ in range(3):
            equal(server.get(target).headers["cache-control"], "no-cache", target)
            equal(server.get(target, headers={"Accept-Encoding": "gzip"}).headers["cache-control"], "no-cache", f"{target}: gzip")
    equal(server.get(f"/cdx?url=example.com/*&showUntimed=1&version={version}").headers["cache-control"], long, "CDX")
    for path in ("/v1/domain/example.com?", "/v1/domain/example.com/datasets/1/urls?limit=400&"):
        for _ in range(3):
            named, plain = server.get(f"{path}version={version}"), server.get(path[:-1])
            equal((named.headers["cache-control"], plain.headers["cache-control"]), (long, "no-cache"), path)
            same = server.get(f"{path}version={version}", headers={"If-None-Match": named.headers["etag"]})
            equal((same.status, same.headers["cache-control"]), (304, long), f"{path}: 304")
    equal(server.get(f"/v1/domain/example.com?version={version}&receipt=1").headers["cache-control"], "no-cache", "with a receipt")
    equal(server.get(f"/v1/domain/absent.example.net?version={version}").headers["cache-control"], "no-store", "a problem")


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        root, key, public = tmp / "root", tmp / "key.pem", tmp / "public.pem"
        dxtest.domaindex("ingest", "--root", root, "--dataset", "a", "--format", "list", "-", input=URLS.encode())
        dxtest.domaindex("publish", "--root", root)
        dxtest.domaindex("ingest", "--root", root, "--dataset", "b", "--format", "list", "-", input=b"https://example.org/\n")
        dxtest.domaindex("publish", "--root", root)
        with dxtest.Server(root) as server:
            for target, status in (("/v1/domain/example.com?receipt=1", 400), ("/receipt-key", 404)):
                reply = server.get(target)
                equal((reply.status, reply.json["type"].rsplit(":", 1)[-1]), (status, "no-receipts"), target)
        dxtest.run("openssl", "genpkey", "-algorithm", "ed25519", "-out", key)
        dxtest.run("openssl", "pkey", "-in", key, "-pubout", "-out", public)
        for bad in (public, root / "index" / "manifest.json", tmp / "absent"):
            done = dxtest.run(dxtest.DOMAINDEXD, "--root", root, "--listen", "127.0.0.1:0", "--receipt-key-file", bad, expect=None, timeout=20)
            check(done.returncode != 0 and b"receipt-key-file" in done.stderr, f"{bad}: {done.stderr!r}")
        with dxtest.Server(root, "--receipt-key-file", key, "--version-max-age", 3600, "--cors-origin", "*") as server:
            cached(server)
            own = set(re.findall(r"\b((?:X-)?Domaindex-[A-Za-z-]+): ", (dxtest.SOURCE / "server/http/reply.c").read_text()))
            shown = server.get("/v1/domain/example.com").headers["access-control-expose-headers"].split(", ")
            check(len(own) >= 5 and own <= set(shown), f"scripts may read {shown}, of {own}")
            equal(server.get("/receipt-key").body, public.read_bytes(), "the public key")
            changed(tmp, public, answers(server, tmp, public))
            refused(server)
    dxtest.finish()


if __name__ == "__main__":
    main()
