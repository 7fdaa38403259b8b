# SPDX-License-Identifier: Apache-2.0
# labels: slow long
"""Many publishes of one row each, one after the other, with a server that follows and a collector.

What a root and a server hold must depend on what the lake has, not on how often it was published: versions and bytes of the
manifest, files below index/, parts of the version, and of the server descriptors, mappings and memory of its own are
measured half way and at the end, each time behind a collection, and may not grow. Every tenth version is asked by the
server for all rows so far. Then: publish --merge-max --no-merge keeps a part that is larger beside the new one, and a publish that may merge
more merges them. And a dataset over known domains of two parts and new ones says of each what it had and has. 24 publishes, 3,000 with DX_WHOLE.
"""
import json
import os
import pathlib
import re
import time

import dxtest

PUBLISHES = 3000 if dxtest.WHOLE else 24
COLLECT_EVERY = 12
NO_WAIT = ("--keep", 1, "--keep-for", "0s", "--lease-ttl", "0s", "--cursor-life", "0s", "--max-share", 100, "--delete")


def manifest(root):
    return json.loads((root / "index/manifest.json").read_text(encoding="utf-8"))


def entry(root):
    m = manifest(root)
    return next(v for v in m["versions"] if v["version"] == m["current_version"])


def add(root, name, urls):
    dxtest.domaindex("ingest", "--root", root, "--dataset", name, "--format", "list", "-", input="".join(f"{u}\n" for u in urls).encode())


def held(root, server):
    """{what: number}."""
    process = pathlib.Path(f"/proc/{server.process.pid}")
    own = re.search(r"RssAnon:\s+(\d+)", (process / "status").read_text())
    m = manifest(root)
    return {"versions": len(m["versions"]), "bytes of the manifest": (root / "index/manifest.json").stat().st_size,
            "files below index/": sum(p.is_file() for p in (root / "index").rglob("*")),
            "parts": 1 + len(entry(root).get("parts", ())), "descriptors": len(os.listdir(process / "fd")),
            "mappings": len((process / "maps").read_text().splitlines()), "KiB of memory": int(own[1])}


# What may be more at the end than half way: how full the levels are is not the same, and allocators keep some.
SLACK = {"versions": 4, "bytes of the manifest": 40000, "files below index/": 100, "parts": 8, "descriptors": 100, "mappings": 100,
         "KiB of memory": 8192}


def wait_for(server, root):
    want, end = manifest(root)["current_version"], time.monotonic() + 60
    while server.get("/v1/datasets").json["version"] != want:
        if time.monotonic() > end:
            return dxtest.check(False, f"the server does not follow to {want}")
        time.sleep(0.01)
    return True


def collect(root, server):
    wait_for(server, root)
    dxtest.domaindex("gc", "--root", root, *NO_WAIT)
    return held(root, server)


def run(root):
    add(root, "crawl", [f"https://site{i}.com/" for i in range(2000)])
    dxtest.domaindex("publish", "--root", root)
    seen = []
    with dxtest.Server(root, "--poll-ms", 20, "--lease", "no", "--cursor-life", 1) as server:
        for i in range(PUBLISHES):
            add(root, "crawl", [f"https://new{i}.org/page"])
            dxtest.domaindex("publish", "--root", root)
            dxtest.check(len(entry(root).get("parts", ())) < 8, f"publish {i}: more than eight parts")
            if i % 10 == 9 and wait_for(server, root):
                for k in range(max(0, i - 30), i + 1):
                    dxtest.equal(server.get(f"/v1/domain/new{k}.org").status, 200, f"new{k}.org after publish {i}")
                dxtest.equal(server.get(f"/v1/domain/new{i + 1}.org").status, 404, "a domain that is not there yet")
            if i % COLLECT_EVERY == COLLECT_EVERY - 1:
                seen.append(collect(root, server))
        time.sleep(1.5)     # a cursor's life: what it may need is let go
        end = collect(root, server)
    middle = seen[len(seen) // 2 - 1]
    print(f"half way {middle}, at the end {end}", flush=True)
    for what, slack in SLACK.items():
        dxtest.check(end[what] <= middle[what] + slack, f"{what}: {middle[what]} half way, {end[what]} at the end")
    dxtest.equal(entry(root)["domains"], 2000 + PUBLISHES, "domains")
    dxtest.domaindex("verify", "--root", root)


def merge_max(root):
    add(root, "crawl", [f"https://some{i}.net/" for i in range(300)])
    dxtest.domaindex("publish", "--root", root, "--parts", 1)
    for count, more, parts in ((200, ("--merge-max", 100), 2), (90, ("--merge-max", 100), 3), (90, ("--merge-max", 1000), 2)):
        add(root, "crawl", [f"https://x{count}-{parts}-{i}.net/" for i in range(count)])
        dxtest.domaindex("publish", "--root", root, "--no-merge", *more)
        dxtest.equal(1 + len(entry(root).get("parts", ())), parts, f"parts after {count} domains with {more}")
    dxtest.domaindex("verify", "--root", root)


def known_domains(root):
    """A dataset over domains of two older parts and new ones, in one order of keys; more than are looked up together."""
    want = {}
    for dataset_id, sites in ((1, [f"site{i}.com" for i in range(2000)]), (2, [f"other{i}.net" for i in range(700)]),
                              (3, [f"site{i}.com" for i in range(0, 2000, 3)] + [f"other{i}.net" for i in range(0, 700, 2)]
                               + [f"site{i}.net" for i in range(300)])):
        add(root, f"d{dataset_id}", [f"https://{site}/{page}" for site in sites for page in range(dataset_id)])
        dxtest.domaindex("publish", "--root", root, "--merge-max", 1, "--no-merge")
        for site in sites:
            want.setdefault(site, {})[dataset_id] = dataset_id     # so many URLs
    dxtest.equal((1 + len(entry(root).get("parts", ())), entry(root)["domains"]), (3, len(want)), "parts and domains")
    with dxtest.Server(root) as server:
        names = [*want, "site2001.com", "other700.net"]
        lines = [line for at in range(0, len(names), 100)
                 for line in server.get("/v1/domains?format=ndjson", "POST", {"Content-Type": "text/plain"},
                                        "\n".join(names[at:at + 100]).encode()).body.splitlines()]
    answers = [answer for answer in map(json.loads, lines) if answer.get("datasets")]
    seen = {answer["domain"]: {d["dataset_id"]: d["url_count"] for d in answer["datasets"]} for answer in answers}
    dxtest.check(seen == want, f"{sum(seen.get(site) != has for site, has in want.items())} of {len(want)} domains are answered otherwise")
    dxtest.domaindex("verify", "--root", root)


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        run(tmp / "root")
        merge_max(tmp / "root")
        known_domains(tmp / "known")
    dxtest.finish()


if __name__ == "__main__":
    main()
