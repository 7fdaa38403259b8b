# SPDX-License-Identifier: Apache-2.0
# labels: plain long
"""A publish flips while compact is at work on a store (#16): what compact has merged is kept if it still holds. Once (with DX_WHOLE=1) and
twice, the version of compact then has the other publish's rows too, the merged files under names that a collector of the
lost ones does not know, and nothing stays of the lost version. Where the other took out what was merged (remove), or
always comes first, compact ends with 1 and nothing of it stays. So where a file of another dataset is damaged. verify --deep after each.
On versitygw."""
import asyncio
import json

import dxtest
import faultproxy
import remains
import stores

FILES = 3 if dxtest.WHOLE else 2     # of a dataset, to be merged


class Root:
    def __init__(self, there, env):
        self.there, self.env, self.number = there, env, 0

    def run(self, command, *arguments, expect=0, **more):
        done = dxtest.domaindex(command, "--root", self.there.root, *arguments, expect=expect, env={**self.env, **more.pop("env", {})}, **more)
        return done.stdout.decode(), done.stderr.decode()

    def news(self, dataset="d", expect=0):
        """A file more, published."""
        self.number += 1
        self.run("ingest", "--dataset", dataset, "--format", "list", "-", input=f"http://example.com/{dataset}/{self.number}\n".encode())
        return self.run("publish", "--memory", "64M", expect=expect)[0].strip()

    def rows(self):
        return json.loads(self.run("lookup", "example.com")[0])["row_count"]

    def lake(self):
        return {n for n in self.there.names() if n.startswith("urls/")}

    def current(self):
        manifest = self.there.manifest()
        return next(v for v in manifest["versions"] if v["version"] == manifest["current_version"])


class First(faultproxy.Proxy):
    """Whenever compact puts the manifest, another command puts it first."""

    def __init__(self, url, act, times):
        super().__init__(url)
        self.act, self.times, self.done = act, times, 0

    async def answer(self, request):
        if request.method == "PUT" and request.target.endswith("/index/manifest.json") and self.done < self.times:
            self.done += 1
            await asyncio.to_thread(self.act)
        return await super().answer(request)


def compact(root, url, act, times, expect=0):
    with First(url, act, times) as proxy:
        said = root.run("compact", "--memory", "64M", "--threads", 2, expect=expect, env={"AWS_ENDPOINT_URL_S3": proxy.url})
    return proxy.done, said


def kept(root, url):
    for times in (1, 2) if dxtest.WHOLE else (2,):
        for _ in range(FILES + 1):
            root.news()
        before, rows = root.lake(), root.rows()
        done, said = compact(root, url, root.news, times)
        words = f"{times} flips of others: {said[1][-300:]}"
        dxtest.equal(done, times, f"{words}: came first")
        dxtest.equal(root.current()["version"], said[0].strip(), f"{words}: the version of compact")
        dxtest.equal(root.rows(), rows + times, f"{words}: rows of all")
        dxtest.equal(root.current()["lake_files"], 1 + times, f"{words}: merged, and what came first")
        dxtest.equal(len(root.lake() - before), 1 + times, f"{words}: new lake files; those of lost versions are gone")
        remains.whole(root.there, words)
        root.run("gc", "--keep", 1, "--keep-for", "0s", "--lease-ttl", "0s", "--cursor-life", "0s", "--max-share", 100, "--delete", "--quiet")
        root.run("verify", "--deep")
        root.run("compact", "--memory", "64M")


def void(root, url):
    def take_out():
        root.run("remove", "--dataset", "gone")
        root.run("publish", "--memory", "64M")

    for _ in range(FILES):
        root.news()
        root.news("gone")
    before = root.lake()
    done, said = compact(root, url, take_out, 1, expect=1)
    dxtest.check(done == 1 and "another publish or rollback was first" in said[1], f"what was merged was removed: {said[1]}")
    dxtest.equal(root.lake(), before, "nothing of it stays")
    root.run("verify", "--deep")
    for _ in range(FILES):
        root.news()
    rows, before = root.rows(), root.lake()
    done, said = compact(root, url, root.news, 9, expect=1)
    dxtest.check("another publish or rollback was first" in said[1], f"others always come first: {said[1]}")
    dxtest.equal(root.rows(), rows + done, "their rows")
    dxtest.equal(len(root.lake() - before), done, "and their files alone")
    root.run("verify", "--deep")


def hurt(root, url):
    """A dataset with a damaged file stays as it is in the version that is made again."""
    for _ in range(FILES):
        root.news()
        root.news("hurt")
    files = sorted(n for n in root.lake() if n.startswith("urls/dataset_id=2/"))
    body, rows = root.there.get(files[0]), root.rows()
    root.there.put(files[0], body[:len(body) // 2])
    done, said = compact(root, url, lambda: root.news(expect=1), 1, expect=1)
    words = f"a damaged dataset: {said[1][-300:]}"
    dxtest.equal((done, root.current()["version"], root.rows()), (1, said[0].strip(), rows + 1), f"{words}: the version of compact")
    dxtest.equal(remains.lake_of(root.there, root.current()) & {*files}, {*files}, f"{words}: its files")
    dxtest.equal((root.current()["lake_files"], files[0] in said[1]), (FILES + 2, True), f"{words}: merged, and what came first")
    root.there.put(files[0], body)
    root.run("verify", "--deep")
    root.run("compact", "--memory", "64M")
    dxtest.equal(root.rows(), rows + 1, f"{words}: compacted when it is restored")


def main():
    dxtest.need_programs()
    if not stores.find("versitygw"):
        dxtest.finish("versitygw is not here")
        return
    with dxtest.tempdir() as tmp, stores.Versitygw() as store:
        store.bucket("lake")
        env = {**store.env, "TMPDIR": str(tmp), "CACHE_DIRECTORY": str(tmp / "cache")}
        hurt(Root(remains.Bucket(store, "lake", "hurt"), env), store.url)
        kept(Root(remains.Bucket(store, "lake", "kept"), env), store.url)
        void(Root(remains.Bucket(store, "lake", "void"), env), store.url)
    dxtest.finish(None)


if __name__ == "__main__":
    main()
