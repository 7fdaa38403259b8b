#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: threads short
"""How domaindexd comes to another version: noticed, asked for, refused, kept for a while, held by a lease.

In detail: how a server comes to another version: noticed, by SIGHUP, refused and said so, kept for cursors,
brought by name, no room, a lease that is lost and found.
"""
import json
import os
import pathlib
import re
import signal
import time

import dxtest
import manifests
from dxtest import check, equal


def wait_until(condition, seconds=60):
    """As dxtest's, ten times a second: a look at a server under a sanitizer costs more than what it looks for."""
    return dxtest.wait_until(lambda: condition() or time.sleep(0.1), seconds)


def publish(root, tmp, rows):
    (tmp / "rows.tsv").write_text("".join(f"d\thttps://example.com/{n}\n" for n in range(rows)))
    dxtest.domaindex("ingest", "--root", root, "--format", "tsv", "--dataset-column", 1, "--url-column", 2,
                     tmp / "rows.tsv")
    dxtest.domaindex("publish", "--root", root)
    return manifests.Manifest(root).current


def flip(root, name):
    manifest = manifests.Manifest(root)
    manifest.flip(name)
    manifest.put(root)


def serves(server, name, seconds=60):
    return wait_until(lambda: server.get("/readyz").json.get("version") == name, seconds)


def metrics(server):
    lines = server.admin("/metrics").body.decode().splitlines()
    return {k: float(v) for k, v in (line.rsplit(" ", 1) for line in lines if line[0] != "#")}


def open_versions(server):
    """Of which files are mapped."""
    text = pathlib.Path(f"/proc/{server.process.pid}/maps").read_text(encoding="utf-8")
    return set(re.findall(r"/index/(\d{6}-\w+)/", text))


def notice(root, names):
    with dxtest.Server(root, "--poll-ms", "3600000") as server:
        for name in (*names, names[0]):
            flip(root, name)
            check(serves(server, name), f"noticed without polling: {name}")
        (root / "index").rename(root / "elsewhere")     # the directory that was watched is another one now
        (root / "index").mkdir()
        for path in (root / "elsewhere").iterdir():
            path.rename(root / "index" / path.name)
        (root / "elsewhere").rmdir()
        flip(root, names[1])
        check(serves(server, names[1]), "and in a directory that took its place")
    with dxtest.Server(root, "--poll-ms", "0") as server:
        flip(root, names[0])
        check(not serves(server, names[0], 0.5), "not unless asked")
        server.process.send_signal(signal.SIGHUP)
        check(serves(server, names[0]), "SIGHUP")


def refuse(root, names):
    """A candidate that is damaged: the old version stays, and all say why."""
    with dxtest.Server(root, "--poll-ms", "200") as server:
        check(serves(server, names[0]), "the old one")
        victim = root / "index" / names[1] / "domains.mphf"
        good = victim.read_bytes()
        victim.chmod(0o644)
        victim.unlink()
        victim.write_bytes(good[:-1])
        flip(root, names[1])
        check(wait_until(lambda: server.get("/readyz").json["state"] == "degraded"), "degraded")
        ready = server.get("/readyz")
        equal((ready.status, ready.json["version"]), (200, names[0]), "ready with the old one")
        check("the last reload failed" in ready.json["detail"] and "domains.mphf" in ready.json["detail"],
              ready.json["detail"])
        time.sleep(1)
        seen = metrics(server)
        check(seen["domaindex_index_served_seq"] < seen["domaindex_index_seq"], "it is behind the manifest")
        equal(metrics(server)['domaindex_index_flips_total{result="load"}'], 1, "tried once, not at each poll")
        equal(server.words().count("kept the old version"), 1, "logged once")
        equal(server.get("/v1/domain/example.com").json["version"], names[0], "answers")
        victim.unlink()
        victim.write_bytes(good)
        server.process.send_signal(signal.SIGHUP)
        check(serves(server, names[1]), "SIGHUP tries again")
        check(wait_until(lambda: server.get("/readyz").json["state"] == "sound"), "all is well")
        seen = metrics(server)
        equal(seen[f'domaindex_index_info{{version="{names[1]}"}}'], 1, "info")
        equal(seen["domaindex_index_seq"], manifests.Manifest(root).json["sequence"], "sequence")
        manifest = root / "index" / "manifest.json"
        newest = manifest.read_bytes()
        flip(root, names[0])
        check(serves(server, names[0]), "rolled back")
        seen = metrics(server)
        equal(seen["domaindex_index_served_seq"], seen["domaindex_index_seq"], "rolled back, it is not behind: no alert")
        manifest.with_suffix(".old").write_bytes(newest)
        manifest.with_suffix(".old").rename(manifest)
        check(wait_until(lambda: "went back" in server.get("/readyz").json.get("detail", "")), "an older manifest")
        equal(server.get("/v1/domain/example.com").json["version"], names[0], "is not believed")
    flip(root, names[0])


def stay(root, names):
    """A superseded version stays for a cursor's life; what a request names is opened; then all go."""
    with dxtest.Server(root, "--cursor-life", "5") as server:
        equal(open_versions(server), {names[0]}, "one")
        flip(root, names[1])
        check(serves(server, names[1]), "flipped")
        equal(open_versions(server), {names[0], names[1]}, "the old one stays")
        reply = server.get(f"/v1/domain/example.com?version={names[2]}")
        equal((reply.status, reply.json.get("version")), (200, names[2]), "one that was not open")
        equal(open_versions(server), set(names), "three")
        seen = metrics(server)
        equal((seen["domaindex_index_resident"], seen['domaindex_index_fetched_total{result="ok"}']), (3, 1), "counted")
        check(wait_until(lambda: open_versions(server) == {names[1]}), f"gone after a while: {open_versions(server)}")
        equal(metrics(server)["domaindex_index_open"], 1, "counted")
    flip(root, names[0])
    with dxtest.Server(root, "--cursor-life", "2", "--poll-ms", "0") as server:
        equal(server.get(f"/v1/domain/example.com?version={names[2]}").status, 200, "opened for a request")
        check(wait_until(lambda: open_versions(server) == {names[0]}), "the server closes it without polling")


def room(root, names):
    size = sum(manifests.Manifest(root).entry(names[0])["files"][f]["size"] for f in (
        "domains.dict", "domains.mphf", "domain_to_datasets.roar", "domain_counts.dxc", "postings.dxp", "pages.dxp",
        "dataset_domains.dxt", "cold.dxp"))
    with dxtest.Server(root, "--resident-max", size + size // 2) as server:
        flip(root, names[1])
        check(wait_until(lambda: "resident-max" in server.get("/readyz").json.get("detail", "")), "no room for two")
        equal(server.get("/v1/domain/example.com").json["version"], names[0], "the old one answers")
        equal(metrics(server)['domaindex_index_flips_total{result="memory"}'], 1, "counted")
    flip(root, names[0])


def lease(root, names):
    path = root / "leases" / "one.json"
    options = ("--server-name", "one", "--lease-ttl", "7", "--job-timeout-ms", "500", "--head-timeout-ms", "500")

    def held():
        return set(re.findall(r"\d{6}-\d{8}T\d{6}Z", path.read_text(encoding="utf-8"))) if path.exists() else None

    with dxtest.Server(root, *options) as server:
        equal(held(), {names[0]}, "held before it is served")
        flip(root, names[1])
        check(serves(server, names[1]), "flipped")
        equal(held(), {names[0], names[1]}, "both are open")
        check(0 < metrics(server)["domaindex_lease_expiry_timestamp_seconds"] - time.time() <= 7, "seconds left")
        first = json.loads(path.read_text(encoding="utf-8"))["serial"]
        check(wait_until(lambda: json.loads(path.read_text(encoding="utf-8"))["serial"] > first), "renewed")
        (root / "leases").rename(root / "leases-away")      # no lease can be written
        (root / "leases").write_text("")
        check(wait_until(lambda: server.get("/v1/domain/example.com").status == 503), "nothing is answered without")
        reply = server.get("/v1/domain/example.com")
        equal((reply.json["type"], reply.headers.get("retry-after")), ("urn:domaindex:problem:lease-lost", "1"), "why")
        equal((server.get("/readyz").status, server.get("/healthz").status), (503, 200), "alive, not ready")
        equal(server.get(f"/v1/domain/example.com?version={names[0]}").status, 503, "no other either")
        (root / "leases").unlink()
        (root / "leases-away").rename(root / "leases")
        check(wait_until(lambda: server.get("/v1/domain/example.com").status == 200), "renewed again")
        check(wait_until(lambda: "renewed again" in server.words()), server.words())
    check(not path.exists() or not held(), "taken back at the end")
    if os.geteuid() != 0:
        (root / "leases").chmod(0o555)
        with dxtest.Server(root, *options) as server:
            check("no lease" in server.words(), "says that it goes on without")
        dxtest.run(dxtest.DOMAINDEXD, "--root", root, "--lease", "yes", "--listen", "127.0.0.1:0", expect=1)
        (root / "leases").chmod(0o755)
    done = dxtest.run(dxtest.DOMAINDEXD, "--root", root, "--lease-ttl", "60", expect=2)
    check(b"three times the longest request" in done.stderr, done.stderr)
    flip(root, names[0])


def main():
    with dxtest.tempdir() as tmp:
        root = tmp / "root"
        names = [publish(root, tmp, 50 * (n + 1)) for n in range(3)]
        flip(root, names[0])
        notice(root, names)
        refuse(root, names)
        stay(root, names)
        room(root, names)
        lease(root, names)
    dxtest.finish()


if __name__ == "__main__":
    main()
