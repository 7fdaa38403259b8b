# SPDX-License-Identifier: Apache-2.0
# labels: slow long
"""gc beside real servers on versitygw: DX_SERVERS_S seconds (30) of publishes, rollbacks and two
collectors that keep one version, with leases of nine seconds.

Two servers are asked all the time; a listing of the version that is served reads its postings and lake
files from the store. Every 200 is the listing of the version that it names, row for row the
same from both, and as many as the manifest says. No answer
finds anything missing or damaged. One server is stopped (SIGSTOP) for longer than its lease and a
collector's wait: when it goes on it says 503 or the truth.

In detail: two servers asked all the time beside publishes, rollbacks and two collectors (`DX_SERVERS_S`
seconds), one of them stopped for longer than its lease: no answer finds anything missing, each is that of the
version it names.
"""
import collections
import http.client
import os
import random
import signal
import threading
import time
import traceback

import dxtest
import remains
import stores

SECONDS = float(os.environ.get("DX_SERVERS_S", "30"))
TIMES = ["--lease-ttl", "9", "--cursor-life", "1", "--head-timeout-ms", "500", "--job-timeout-ms",
         "1500", "--poll-ms", "200", "--cache-idx", "1M", "--cache-payload", "1M", "--cache-pages",
         "1M"]
WAITS = ["--lease-ttl", "9s", "--cursor-life", "1s", "--longest-request", "3s", "--skew", "1s"]
NEVER = ("data-missing", "data-damaged", "data-replaced")
STOPPED_AT_S, STOPPED_S = 6, 17


class World:
    def __init__(self, there):
        self.there, self.until = there, 0
        self.rows = {}     # version -> rows, as its manifest said
        self.first = {}    # version -> URLs of the first answer
        self.batch = 0
        self.counts = collections.Counter()
        self.versions_answered = set()

    def run(self, command, *arguments, expect=None, **options):
        done = dxtest.domaindex(command, "--root", self.there.root, *arguments, expect=expect,
                                **options)
        self.counts[command if done.returncode == 0 else command + " told"] += 1
        return done

    def publish(self):
        """Each version has the rows of the one before it, and those that no version had. An ingest may report that a rollback
        came between (rows that no version had stand once all the same), or that the store was late."""
        self.batch += 1
        done = self.run("ingest", "--dataset", "d", "--format", "list", "-",
                        input=f"http://www.example.com/{self.batch:05}\n".encode())
        dxtest.check(done.returncode == 0 or b"a rollback during this run" in done.stderr or b"the deadline came first" in done.stderr,
                     f"ingest: {done.returncode} {done.stderr[-400:]}")
        done = self.run("publish", "--memory", "64M", "--threads", "1")
        if done.returncode == 0:
            version = done.stdout.decode().strip()
            entry = [v for v in self.there.manifest()["versions"] if v["version"] == version]
            self.rows.setdefault(version, entry[0]["rows"] if entry else None)

    def publisher(self):
        while time.monotonic() < self.until:
            self.publish()
            time.sleep(0.5)

    def roller(self):
        chance = random.Random(1)
        while time.monotonic() < self.until:
            time.sleep(4)
            names = [v["version"] for v in self.there.manifest()["versions"]
                     if v["state"] != "dropped"]
            self.run("rollback", chance.choice(names))

    def collector(self):
        while time.monotonic() < self.until:
            done = self.run("gc", "--keep", "1", "--keep-for", "0s", "--max-share", "100", *WAITS,
                            "--delete")
            dxtest.equal(done.returncode, 0, f"gc: {done.stderr[-300:]}")
            self.counts["removed"] += int(done.stdout.decode().split("removed ")[1].split(",")[0])
            time.sleep(0.5)

    def look_at(self, reply, name):
        if reply.status != 200:
            problem = reply.json["type"].rpartition(":")[2] if reply.body else str(reply.status)
            self.counts[f"{name} {reply.status} {problem}"] += 1
            dxtest.check(reply.status == 503 and problem not in NEVER,
                         f"{name}: {reply.status} {reply.body[:400]}")
            return
        self.counts[f"{name} 200"] += 1
        version, urls = reply.json["version"], [row["url"] for row in reply.json["items"]]
        self.versions_answered.add(version)
        self.first.setdefault(version, urls)
        dxtest.equal(urls, self.first[version], f"{name}: rows of {version}, as they were")
        dxtest.check(urls == sorted(set(urls)), f"{name}: rows of {version} in order: {urls}")
        dxtest.check(self.rows.get(version) in (None, len(urls)),
                     f"{name}: {len(urls)} rows of {version}, which has {self.rows.get(version)}")

    def client(self, server, name):
        while time.monotonic() < self.until:
            try:
                self.look_at(server.get("/v1/domain/example.com/datasets/1/urls?limit=1000"), name)
            except (OSError, http.client.HTTPException):
                self.counts[f"{name} cut"] += 1  # while it stands still
            time.sleep(0.02)

    def stopper(self, server):
        time.sleep(STOPPED_AT_S)
        server.process.send_signal(signal.SIGSTOP)
        time.sleep(STOPPED_S)
        server.process.send_signal(signal.SIGCONT)

    def job(self, job):
        try:
            job()
        except Exception:  # or nobody would hear of it
            dxtest.check(False, traceback.format_exc())


def together(world, first, second):
    world.until = time.monotonic() + SECONDS
    threads = [threading.Thread(target=world.job, args=(job,)) for job in (
        world.publisher, world.roller, world.collector, world.collector,
        lambda: world.client(first, "server"), lambda: world.client(second, "sleeper"),
        lambda: world.stopper(second))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def main():
    dxtest.need_programs()
    stores.need("versitygw")
    with dxtest.tempdir() as tmp, stores.Versitygw() as store:
        store.bucket("lake")
        there = remains.Bucket(store, "lake", "a/root")
        with stores.environment({**store.env, "DOMAINDEX_DEADLINE_MS": "1000"}):
            world = World(there)
            world.publish()
            with dxtest.Server(there.root, *TIMES, "--server-name", "first", "--cache-dir",
                               tmp / "first") as first, \
                    dxtest.Server(there.root, *TIMES, "--server-name", "second", "--cache-dir",
                                  tmp / "second") as second:
                together(world, first, second)
                end = time.monotonic() + 20
                dxtest.wait_until(lambda: second.get("/readyz").status == 200)
                for server, name in ((first, "server"), (second, "sleeper")):
                    reply = server.get("/v1/domain/example.com/datasets/1/urls?limit=1000")
                    dxtest.equal(reply.status, 200, f"{name} in the end: {reply.body[:300]}")
                    world.look_at(reply, name)
            remains.whole(there, "in the end")
    print(f"{dict(sorted(world.counts.items()))}, answers from {len(world.versions_answered)} "
          f"versions", flush=True)
    dxtest.check(world.counts["removed"] > 0, "versions were removed")
    dxtest.check(world.counts["server 200"] > 100 and len(world.versions_answered) > 2, "answers")
    dxtest.finish()


if __name__ == "__main__":
    main()
