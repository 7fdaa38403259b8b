# SPDX-License-Identifier: Apache-2.0
# labels: plain long
"""Rows that a rollback could bring together with equal ones (#16): publish 1, publish 2, rollback 1, ingest what 2 had, and
rollback 2 is refused until the new files are published; each row is then there once. With --force they stand twice, verify
--deep says so (exit 3), the publish that brings them together too (exit 1), and compact is the way out. The same for a
rollback during an ingest on a store. A rollback to a version whose files the current one has too is never
refused. In a directory, and on versitygw if it is here (--force there with DX_WHOLE=1). A publish beside a compaction, whose listings lack the
compaction's list, does not take the merged file for new rows."""
import asyncio
import json
import re

import dxtest
import faultproxy
import stores

URLS = [f"http://site{i % 3}.example.com/{i}" for i in range(12)]


class Root:
    def __init__(self, root, env=None):
        self.root, self.env = root, env or {}

    def run(self, command, *arguments, **more):
        return dxtest.domaindex(command, "--root", self.root, *arguments, env=self.env, **more)

    def ingest(self, urls):
        self.run("ingest", "--dataset", "d", "--format", "list", "-", input="".join(u + "\n" for u in urls).encode())

    def publish(self):
        return self.run("publish", "--memory", "64M").stdout.decode().strip()

    def publish_twins(self, words):
        said = self.run("publish", "--memory", "64M", expect=1).stderr.decode()
        dxtest.check("6 rows twice, the first of http://site" in said and "compact" in said, f"{words}: publish: {said}")

    def counts(self):
        done = self.run("lookup", "example.com")
        answer = json.loads(done.stdout)
        return answer["row_count"], answer["url_count"]


def refused(root, words):
    """Versions 1 and 2, of a root that has both and rows of none of them twice."""
    root.ingest(URLS[:6])
    one = root.publish()
    root.ingest(URLS[6:])
    two = root.publish()
    root.ingest(["http://example.com/new"])
    said = root.run("rollback", one).stderr.decode()
    dxtest.check("1 lake file in no version" in said, f"{words}: back to fewer files is done: {said}")
    root.ingest(URLS[6:])
    for version in (two, two[:6]):
        said = root.run("rollback", version, expect=1).stderr.decode()
        dxtest.check("dataset 'd' has lake files that no version has" in said and "Publish first" in said, f"{words}: {said}")
    root.publish()
    dxtest.equal(root.counts(), (13, 13), f"{words}: rows of the first version and all that came since")
    root.run("rollback", two)
    root.publish()
    dxtest.equal(root.counts(), (12, 12), f"{words}: rows of the second version")
    root.run("verify", "--deep")
    return one, two


def twice(root, words):
    one, two = refused(root, words)
    # The same, against the words of the command.
    root.run("rollback", one)
    root.ingest([*URLS[6:], "http://site0.example.com/more"])     # the same bytes as a file would be left out
    root.run("rollback", "--force", two)
    root.publish_twins(words)
    dxtest.equal(root.counts(), (19, 13), f"{words}: forced")
    said = root.run("verify", "--deep", expect=3).stdout.decode()
    dxtest.check("6 rows twice" in said and "first: http://site" in said and "compact" in said, f"{words}: verify: {said}")
    root.run("verify")      # what every byte of the index says is so
    root.run("compact")
    dxtest.equal(root.counts(), (13, 13), f"{words}: compacted")
    root.run("verify", "--deep")


class Between(faultproxy.Proxy):
    """Lets a rollback, and perhaps a publish, come between what an ingest has compared and its first file."""

    def __init__(self, root, version, publishes):
        super().__init__(root.env["AWS_ENDPOINT_URL_S3"])
        self.root, self.version, self.publishes, self.done = root, version, publishes, False

    def act(self):
        self.root.run("rollback", self.version)
        if self.publishes:
            self.root.run("ingest", "--dataset", "other", "--format", "list", "-", input=b"http://other.example/\n")
            self.root.publish()

    async def answer(self, request):
        if request.method == "PUT" and "/urls/" in request.target and not self.done:
            self.done = True
            await asyncio.to_thread(self.act)
        return await super().answer(request)


def during(root, publishes):
    """A rollback while an ingest is at work: neither stops the other. The ingest says so when it ends, and the publish that
    brings equal rows together, unless another publish came between."""
    words = f"a rollback during an ingest, then {'a' if publishes else 'no'} publish"
    root.ingest(URLS[:6])
    one = root.publish()
    root.ingest(URLS[6:])
    two = root.publish()
    root.run("rollback", one)
    with Between(root, two, publishes) as proxy:
        through = Root(root.root, {**root.env, "AWS_ENDPOINT_URL_S3": proxy.url})
        said = through.run("ingest", "--dataset", "d", "--format", "list", "-", expect=1,
                           input="".join(u + "\n" for u in URLS[6:]).encode()).stderr.decode()
    dxtest.check(proxy.done and "a rollback during this run made urls/dataset_id=1/" in said, f"{words}: ingest: {said}")
    if publishes:
        root.publish()
    else:
        root.publish_twins(words)
    root.run("compact")
    dxtest.equal(root.counts(), (12, 12), f"{words}: compacted")
    root.run("verify", "--deep")


class Beside(faultproxy.Proxy):
    """Publishes, seeing no list of a compaction, as soon as the compaction has put its file and begins to put its version."""

    def __init__(self, root):
        super().__init__(root.env["AWS_ENDPOINT_URL_S3"])
        self.root, self.done = root, False

    def act(self):
        with faultproxy.Proxy(self.root.env["AWS_ENDPOINT_URL_S3"]) as store:
            store.hide = re.compile(r"\.lake$")
            blind = Root(self.root.root, {**self.root.env, "AWS_ENDPOINT_URL_S3": store.url})
            self.root.run("ingest", "--dataset", "other", "--format", "list", "-", input=b"http://other.example/\n")
            blind.publish()

    async def answer(self, request):
        if request.method == "PUT" and re.search(r"/index/\d{6}-\w+/", request.target) and not self.done:
            self.done = True
            await asyncio.to_thread(self.act)
        return await super().answer(request)


def beside_compact(root):
    words = "a publish beside a compaction that does not see its list"
    for urls in (URLS[:4], URLS[4:8], URLS[8:]):
        root.ingest(urls)
        root.publish()
    with Beside(root) as proxy:
        through = Root(root.root, {**root.env, "AWS_ENDPOINT_URL_S3": proxy.url})
        through.run("compact", "--memory", "64M")
    dxtest.check(proxy.done, f"{words}: the publish came between")
    dxtest.equal(root.counts(), (12, 12), words)
    root.run("verify", "--deep")
    root.run("gc", "--keep", "1", "--keep-for", "0", "--max-share", "100")
    dxtest.equal(root.counts(), (12, 12), f"{words}: and a collection")
    root.run("verify", "--deep")


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        twice(Root(tmp / "root"), "a directory")
        if stores.find("versitygw"):
            with stores.Versitygw() as store:
                store.bucket("lake")
                env = {**store.env, "TMPDIR": str(tmp), "CACHE_DIRECTORY": str(tmp / "cache")}
                (twice if dxtest.WHOLE else refused)(Root(store.root("lake", "p"), env), "versitygw")
                during(Root(store.root("lake", "q"), env), False)
                during(Root(store.root("lake", "r"), env), True)
                beside_compact(Root(store.root("lake", "s"), env))
    dxtest.finish(None if stores.find("versitygw") else "versitygw is not here")


if __name__ == "__main__":
    main()
