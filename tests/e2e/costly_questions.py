#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: slow timed
"""The most expensive questions there are, on a lake made for them: what each reads and computes has an end.

Random questions over long URLs that do not compress, a URL in more datasets than one answer reads, domains
with very many hosts, versions that differ everywhere: what a question read and how long it computed is taken from the
server's log of requests. Caches are so small that nothing is there twice. DX_COSTLY_QUESTIONS (40; 200 with DX_WHOLE=1), DX_COSTLY_SEED.

In detail: the dearest questions there are, on a lake made for them: bytes and reads below the caps of API.md,
and, with DX_TIMED, computing below a second, for each. `DX_COSTLY_QUESTIONS=5000`.
"""
import base64
import json
import os
import random

import dxtest
from dxtest import check

QUESTIONS = int(os.environ.get("DX_COSTLY_QUESTIONS") or (200 if dxtest.WHOLE else 40))
SEED = int(os.environ.get("DX_COSTLY_SEED", "7"))
READ_MAX = (64 << 20) + (8 << 20)  # pages of the lake as they are stored, and what leads to them
READS_MAX = 4096 + 64              # the same, in reads
REFUSED_MAX = 8 << 20              # what may be read of the index before a question is refused
ANSWER_S = 1.0                     # of computing, on a machine of its own
LONG_ROWS, LONG_BYTES, PLACES, OFTEN, HOSTS, DOMAINS = 11000, 7000 if dxtest.WHOLE else 1500, 4200, 700, *((40000, 30000) if dxtest.WHOLE else (13000, 10000))


def rows(path, rng, more):
    with open(path, "w", encoding="ascii") as out:
        for i in range(DOMAINS + (500 if more else 0)):
            print(f"wide{i % 3}", f"https://d{i}.example/{int(more and i % 2)}", sep="\t", file=out)
        if more:
            return path
        for i in range(LONG_ROWS):
            text = base64.urlsafe_b64encode(rng.randbytes(LONG_BYTES * 3 // 4)).decode()
            print("long", f"HTTPS://long.example/{i:06d}{text}", sep="\t", file=out)  # so that the raw one is kept, too
        for i in range(PLACES):
            print(f"place{i}", "https://everywhere.example/", sep="\t", file=out)
            if i < OFTEN:
                print(f"place{i}", "https://often.example/", sep="\t", file=out)
        for i in range(HOSTS):
            print(f"wide{i % 3}", f"https://{rng.getrandbits(64):016x}.hosts.example/{i % 7}", sep="\t", file=out)
            print("wide0", f"https://paths.example/{rng.getrandbits(64):016x}/{i % 5}", sep="\t", file=out)
    return path


def make_root(tmp):
    rng = random.Random(SEED)
    root = tmp / "root"
    for more in (False, True):
        dxtest.domaindex("ingest", "--root", root, "--format", "tsv", "--no-header", "--dataset-column", 1,
                         "--url-column", 2, rows(tmp / "rows.tsv", rng, more))
        dxtest.domaindex("publish", "--root", root)
        os.unlink(tmp / "rows.tsv")
    return root


class Asker:
    """Questions as dear as they get."""

    def __init__(self, server):
        self.rng = random.Random(SEED)
        self.ids = {d["name"]: d["dataset_id"] for d in server.get("/v1/datasets?limit=100000").json["datasets"]}
        self.wide = [self.ids[f"wide{i}"] for i in range(3)]

    def urls(self):
        name, dataset, total = self.rng.choice([("long.example", "long", LONG_ROWS), ("paths.example", "wide0", HOSTS),
                                                ("hosts.example", "wide1", HOSTS // 3)])
        limit = self.rng.choice([1, 100, 1000, 5000, 9000, 9500, 10000])
        fields = self.rng.choice(["", "&fields=url,ts,raw_url,extras,url_id", "&plan=64"])
        where = "" if "plan" in fields else f"&offset={self.rng.randrange(total + 10)}"
        return f"/v1/domain/{name}/datasets/{self.ids[dataset]}/urls?limit={limit}{where}{fields}"

    def url(self):
        name = self.rng.choice(["everywhere", "often"])
        return f"/v1/url?u=https://{name}.example/&limit={self.rng.choice([1, 100, 1000])}"

    def hosts(self):
        return (f"/v1/domain/hosts.example/hosts?limit=10000&offset={self.rng.randrange(HOSTS)}"
                f"&order={self.rng.choice(['urls', 'name'])}")

    def timeline(self):
        return f"/v1/domain/{self.rng.choice(['everywhere', 'often', 'hosts'])}.example/timeline?by={self.rng.choice(['year', 'day'])}"

    def paths(self):
        name, dataset = self.rng.choice([("paths", "wide0"), ("long", "long"), ("hosts", "wide2")])
        return f"/v1/domain/{name}.example/datasets/{self.ids[dataset]}/paths?limit=256&by={self.rng.choice(['path', 'section'])}"

    def overlap(self):
        a, b = self.rng.sample(self.wide, 2)
        return f"/v1/datasets/{a}/overlap/{b}"

    def top(self):
        return (f"/v1/datasets/{self.rng.choice(self.wide)}/top-domains?"
                f"{self.rng.choice(['limit=10000', 'format=csv'])}&offset={self.rng.randrange(DOMAINS * 2 // 3)}")

    def changes(self):
        return f"/v1/changes?limit={self.rng.choice([1000, 10000])}"

    def domain(self):
        return f"/v1/domain/{self.rng.choice(['everywhere', 'often', 'hosts'])}.example"

    def diff(self):
        return f"/v1/domain/{self.rng.choice(['everywhere', 'hosts', 'd7'])}.example/diff"

    def datasets(self):
        return "/v1/datasets?limit=100000"

    def any(self):
        return self.rng.choice([self.urls, self.urls, self.urls, self.url, self.url, self.hosts, self.timeline, self.paths, self.overlap,
                                self.top, self.changes, self.domain, self.diff, self.datasets])()


def judge(asked, told):
    """Of each question what the log says; returns the worst of each route."""
    worst = {}
    for target, line in zip(asked, told):
        read = line.get("storage_bytes", 0) + line.get("disk_bytes", 0)
        reads = line.get("storage_requests", 0) + line.get("disk_reads", 0)
        answer_s = line["answer_us"] / 1e6
        route = line["route"]
        check(line["target"] == target, f"the log says {line['target']}, asked was {target}")
        check(line["status"] in (200, 422), f"{target}: {line['status']}")
        check(read <= (READ_MAX if line["status"] == 200 else REFUSED_MAX), f"{target}: {line['status']}, {read:,} bytes were read")
        check(reads <= READS_MAX, f"{target}: {reads:,} reads")
        dxtest.in_time(answer_s, ANSWER_S, f"{target}: computing")
        was = worst.get(route, (0, 0, 0, set()))
        worst[route] = (max(was[0], read), max(was[1], reads), max(was[2], answer_s), was[3] | {line["status"]})
    return worst


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        root = make_root(tmp)
        log = tmp / "requests"
        with dxtest.Server(root, "--cache-pages", "1M", "--cache-payload", "1M", "--cache-idx", "1M", "--cache-answers", 0,
                           "--cache-domains", 0, "--log-requests", log, "--log-targets", "yes") as server:
            asker = Asker(server)
            asked = [asker.any() for _ in range(QUESTIONS)]
            for target in asked:
                server.get(target)
        lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
        told = [line for line in lines if line["route"] not in ("readyz", "healthz")][1:]
        check(len(told) == len(asked), f"{len(told)} lines of {len(asked)} questions")
        for route, (read, reads, answer_s, statuses) in sorted(judge(asked, told).items()):
            print(f"{route:12} {read:12,} bytes {reads:6,} reads {answer_s * 1000:8.1f} ms of computing {sorted(statuses)}")
        check(any(line["status"] == 422 for line in told), "nothing was refused: the lake is not dear enough")
    dxtest.finish()


if __name__ == "__main__":
    main()
