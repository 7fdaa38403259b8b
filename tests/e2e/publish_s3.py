# SPDX-License-Identifier: Apache-2.0
# labels: slow
"""publish, verify and inspect on object storage, against versitygw or MinIO, and with DX_WHOLE=1 both (those that are here).

1. The same lake published in a directory and on a store: the same build id and the same bytes of
   every file but etags.tsv.zst; verify finds both sound, also over HTTP behind nginx.
2. Damage: a flipped byte, a missing object, a replaced one, in the index and in the lake: exit 3. The same of a pack. In the gate a byte of
   two files is flipped and one is missing and short; with DX_WHOLE=1 of seven and three.
3. Two publishers at once, DX_PUBLISH_ROUNDS times (2; 6 with DX_WHOLE=1): one succeeds, the other
   fails with a conflict and leaves nothing, or they come one after the other.
4. publish is killed at DX_PUBLISH_KILLS random moments (2; 8 with DX_WHOLE=1): the old version or the new one is
   current and whole, and the next publish works.
5. When the store refuses the put of the manifest, publish prints the store's message and leaves nothing; objects
   with other ETags (restored, copied) are read and published again.
6. A store that ignores or inverts a condition is refused; writes whose reply is lost are not (a publish of each kind; three with DX_WHOLE=1).
"""
import json
import os
import random
import shutil
import signal
import subprocess
import time

import dxtest
import faultproxy
import manifests
import remains
import stores

ROUNDS = int(os.environ.get("DX_PUBLISH_ROUNDS") or (6 if dxtest.WHOLE else 2))
KILLS = int(os.environ.get("DX_PUBLISH_KILLS") or (8 if dxtest.WHOLE else 2))
BUCKET, PREFIX = "lake", "a/root"
EPOCH = 1704067200
LOST = 3 if dxtest.WHOLE else 1     # publishes of which replies are lost


def ingest(root, dataset, urls):
    rows = "".join(f'http://{u}\t["t{i % 7}","{dataset}"]\n' for i, u in enumerate(urls))
    dxtest.domaindex("ingest", *dxtest.short_psl(root.parent, "com", "uk", "co.uk", "de"), "--root", root, "--dataset", dataset, "--format", "tsv", "--header", "--url-column", "url",
                     "--extra-column", "tags", "-", input=("url\ttags\n" + rows).encode())


def some_urls(seed, count=400):
    chance = random.Random(seed)
    return [f"www.site{chance.randrange(8)}.{chance.choice(['com', 'co.uk', 'de'])}"
            f"/{chance.randrange(1000)}?q={chance.randrange(9)}" for _ in range(count)]


class Root:
    """A prefix of a bucket, and the directory its lake is made in."""

    def __init__(self, store, folder, prefix=PREFIX):
        self.store, self.folder, self.prefix = store, folder, prefix
        self.url = store.root(BUCKET, prefix)

    def name(self, name):
        return f"{self.prefix}/{name}"

    def get(self, name):
        return self.store.get(BUCKET, self.name(name))

    def put(self, name, body):
        return self.store.put(BUCKET, self.name(name), body)

    def remove(self, name):
        self.store.remove(BUCKET, self.name(name))

    def upload(self):
        for name in ("psl.dat", "registry.json"):
            self.put(name, (self.folder / name).read_bytes())
        return self.store.upload(BUCKET, self.prefix + "/urls", self.folder / "urls")

    def manifest(self):
        """None if there is none."""
        status, _, body = self.store.ask("GET", self.store.target(BUCKET,
                                                                  self.name("index/manifest.json")))
        if status == 404:
            return None
        dxtest.equal(status, 200, "GET of the manifest")
        return json.loads(body)

    def names(self, below):
        """Every object below, by listing."""
        import urllib.parse
        import xml.etree.ElementTree as xml
        found, after = [], ""
        while True:
            query = {"list-type": "2", "prefix": self.name(below), "start-after": after}
            text = "&".join(f"{k}={urllib.parse.quote(v, safe='')}" for k, v in sorted(query.items()))
            _, body = self.store.demand("GET", f"/{BUCKET}?{text}")
            tree = xml.fromstring(body)
            space = tree.tag.partition("}")[0] + "}"
            page = [key.text for key in tree.iter(space + "Key")]
            found += [key[len(self.prefix) + 1:] for key in page]
            if tree.findtext(space + "IsTruncated") != "true":
                return found
            after = page[-1]

    def versions_there(self):
        return {name.split("/")[1] for name in self.names("index/")
                if name.count("/") > 1 and name.split("/")[1] != "claims"}


def publish(root, *arguments, epoch=EPOCH, expect=0, env=None):
    return dxtest.domaindex("publish", "--memory", "64M", "--threads", "2", "--root",
                            getattr(root, "url", root), *arguments, expect=expect,
                            env={"SOURCE_DATE_EPOCH": str(epoch), **(env or {})})


def verify(root, words, *arguments, expect=0, says=None):
    done = dxtest.domaindex("verify", "--root", getattr(root, "url", root), *arguments, expect=None)
    text = done.stdout.decode() + done.stderr.decode()
    dxtest.equal(done.returncode, expect, f"{words}: verify {' '.join(arguments)}: {text[-600:]}")
    if says:
        dxtest.check(says in text, f"{words}: verify says '{says}': {text[-600:]}")
    return done.stdout.decode()


# 1 ---------------------------------------------------------------------------------- same bytes

def same_bytes(root, work):
    local = work / "local"
    shutil.copytree(root.folder, local)
    want = publish(local).stdout
    before = set(os.listdir(work))
    done = publish(root, "--work-dir", str(work), "--pack", "0")
    dxtest.equal(done.stdout, want, "the version's name, alone on a line")
    dxtest.equal(set(os.listdir(work)), before, "the work folder is gone")
    version = want.decode().strip()
    here, there = (json.loads((local / "index/manifest.json").read_text()), root.manifest())
    a, b = here["versions"][0], there["versions"][0]
    dxtest.equal(b["build_id"], a["build_id"], "build id")
    extra = set(b["files"]) - set(a["files"])
    dxtest.equal(extra, {"etags.tsv.zst"}, "files of the store's version alone")
    for name, file in a["files"].items():
        dxtest.equal(b["files"][name], file, f"{name} in the manifests")
        dxtest.equal(root.get(f"index/{version}/{name}"),
                     (local / "index" / version / name).read_bytes(), f"bytes of {name}")
    dxtest.equal(sorted(root.names(f"index/{version}/")),
                 sorted(f"index/{version}/{name}" for name in b["files"]), "objects of the version")
    dxtest.check(b"nothing new" in publish(root).stderr, "an unchanged lake gives no new version")
    for arguments in ((), ("--deep",)):
        verify(root, "published", *arguments, says="sound")
    cache = work / "cache"
    for _ in range(2):
        verify(root, "with a cache", "--cache-dir", str(cache), says="sound")
    inspect(root, version)
    return version, local


def inspect(root, version):
    for url, kind in ((root.url, "manifest"),
                      (f"{root.url}/index/{version}/domains.dict", "dictionary"),
                      (f"{root.url}/index/manifest.json", "manifest"),
                      (f"{root.url}/index/{version}/etags.tsv.zst", "zstd seekable"),
                      (f"{root.url}/{root.names('urls/dataset_id=1/')[0]}", "Parquet")):
        done = dxtest.domaindex("inspect", "--json", "--deep", url, expect=None)
        dxtest.equal(done.returncode, 0, f"inspect {url}: {done.stderr.decode()[-300:]}")
        if done.returncode == 0:
            dxtest.check(kind in json.loads(done.stdout)["kind"], f"inspect {url}: {kind}")
    dxtest.domaindex("inspect", f"{root.url}/nothing.json", expect=1)


def over_http(local):
    if not stores.find("nginx"):
        print("SKIP over HTTP: no nginx here")
        return
    with stores.Nginx(local) as web:
        verify(web.url, "over HTTP", says="sound")
        verify(web.url, "over HTTP", "--deep", says="sound")
        done = publish(web.url, expect=1)
        dxtest.check(b"http" in done.stderr, f"an http:// root is refused: {done.stderr[-300:]}")
        file = next((local / "urls").rglob("*.parquet"))
        dxtest.domaindex("inspect", f"{web.url}/{str(file.relative_to(local)).replace('=', '%3D')}")
        file.rename(file.with_suffix(".gone"))
        verify(web.url, "over HTTP, a file of the lake is missing", expect=3)
        file.with_suffix(".gone").rename(file)


# 2 -------------------------------------------------------------------------------------- damage

def damage(root, version):
    base = f"index/{version}/"
    postings = base + "postings.idx.zst"
    part = root.names("urls/dataset_id=1/")[0]
    for name in (base + "domains.dict", base + "files.tsv.zst",
                 base + "psl.dat.zst", base + "etags.tsv.zst", base + "pages.dxp", postings,
                 "index/manifest.json")[::1 if dxtest.WHOLE else 6]:
        body = root.get(name)
        at = random.randrange(len(body))
        root.put(name, body[:at] + bytes([body[at] ^ 1 << random.randrange(8)]) + body[at + 1:])
        verify(root, f"{name}, a bit of byte {at}", expect=3)
        root.put(name, body)
    for name in (base + "domains.mphf", postings, base + "datasets.json.zst")[::1 if dxtest.WHOLE else 3]:
        body = root.get(name)
        root.remove(name)
        verify(root, f"{name} is missing", expect=3)
        root.put(name, body[:-1])
        verify(root, f"{name} is short", expect=3)
        root.put(name, body)
    body = root.get(part)
    root.remove(part)
    verify(root, "a file of the lake is missing", expect=3, says="is not there")
    root.put(part, body[:-1])
    verify(root, "a file of the lake is short", expect=3)
    root.put(part, body[:9] + bytes([body[9] ^ 1]) + body[10:])
    verify(root, "a file of the lake was replaced by one of its size", expect=3, says="replaced")
    verify(root, "the same", "--deep", expect=3)
    root.put(part, body)
    verify(root, "all is back", "--deep", says="sound")
    dxtest.domaindex("verify", "--root", root.url, "--version", "000009-20240101T000000Z", expect=1)
    dxtest.domaindex("verify", "--root", root.store.root("no-such-bucket", "x"), expect=1)


def packed(root, local):
    """The same files in one object; it is damaged, short, or missing."""
    publish(local, "--pack", "1M", "--force", epoch=EPOCH + 30)
    version = publish(root, "--force", epoch=EPOCH + 30).stdout.decode().strip()
    here, there = (json.loads((local / "index/manifest.json").read_text())["versions"][-1], root.manifest()["versions"][-1])
    dxtest.equal((root.names(f"index/{version}/"), os.listdir(local / "index" / here["version"])), ([f"index/{version}/part.pack"], ["part.pack"]), "objects")
    dxtest.equal({**there["files"], "etags.tsv.zst": None}, {**here["files"], "etags.tsv.zst": None}, "files of the packs")
    name, body, at, begin = f"index/{version}/part.pack", root.get(f"index/{version}/part.pack"), 0, {}
    for file, facts in there["files"].items():
        at += -at % 64
        begin[file] = at
        if file in here["files"]:
            dxtest.equal(body[at:at + facts["size"]], remains.file_of(lambda one: (local / one).read_bytes(), here, file), f"{file} in both packs")
        at += facts["size"]
    dxtest.equal((at, manifests.hash128(body)), (len(body), there["pack"]), "size and hash of the pack")
    verify(root, "a pack", "--deep", says="sound")
    verify(local, "a pack in a directory", "--deep", says="sound")
    largest = max(begin, key=lambda file: there["files"][file]["size"])
    bit = begin[largest] + there["files"][largest]["size"] // 2
    for words, bad in ((f"a bit of {largest}", body[:bit] + bytes([body[bit] ^ 1]) + body[bit + 1:]), ("short", body[:-1]), ("missing", None)):
        if bad is None:
            root.remove(name)
        else:
            root.put(name, bad)
        verify(root, f"a pack, {words}", expect=3)
        root.put(name, body)


# 3 ------------------------------------------------------------------------------ two publishers

def start(root, epoch):
    return subprocess.Popen([str(dxtest.DOMAINDEX), "publish", "--memory", "64M", "--threads", "1",
                             "--root", root.url], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            env={**os.environ, "SOURCE_DATE_EPOCH": str(epoch)})


def is_current(manifest, version):
    """The version, or the merge of its parts that followed it: the same lake files."""
    entries = {v["version"]: v for v in manifest["versions"]}
    current = entries[manifest["current_version"]]
    return version == current["version"] or (version == current["base"] and current["lake_files"] == entries[version]["lake_files"])


def two_at_once(root):
    conflicts = 0
    for number in range(ROUNDS):
        words = f"round {number}"
        epoch = EPOCH + 60 * (number + 1)
        ingest(root.folder, f"round {number}", some_urls(1000 + number, 50))
        root.upload()
        # In the same second both choose the same name; else the same number.
        both = [start(root, epoch), start(root, epoch + number % 2)]
        ends = []
        for process in both:
            out, err = process.communicate(timeout=120)
            ends.append((process.returncode, out.decode().strip(), err.decode()))
        codes = sorted(code for code, _, _ in ends)
        manifest = root.manifest()
        if codes == [0, 1]:
            conflicts += 1
            loser = next(err for code, _, err in ends if code == 1)
            dxtest.check("another publish or rollback was first" in loser, f"{words}: the loser: {loser[-400:]}")
        else:  # the second began when the first had ended: the lake is as it was
            dxtest.equal(codes, [0, 0], f"{words}: exits: {[e[2][-300:] for e in ends]}")
            dxtest.equal(ends[0][1], ends[1][1], f"{words}: one after the other")
        winner = next(out for code, out, _ in ends if code == 0)
        dxtest.check(is_current(manifest, winner), f"{words}: current: {manifest['current_version']}, the winner: {winner}")
        dxtest.equal(root.versions_there(), {v["version"] for v in manifest["versions"]},
                     f"{words}: the loser's objects are gone")
        if dxtest.WHOLE or number == ROUNDS - 1:
            verify(root, words, says="sound")
    print(f"two at once: {conflicts} of {ROUNDS} rounds had a loser")
    dxtest.check(conflicts >= ROUNDS // 2, f"{conflicts} of {ROUNDS} rounds had a loser")


# 4 --------------------------------------------------------------------------------------- kills

def killed(root):
    outcomes = {}
    for number in range(KILLS):
        words = f"kill {number}"
        epoch = EPOCH + 3600 + 60 * number
        ingest(root.folder, f"kill {number}", some_urls(2000 + number, 30))
        root.upload()
        before = root.manifest()
        if number == 0:
            begin = time.monotonic()
            publish(root, epoch=epoch)
            took = time.monotonic() - begin
            continue
        process = start(root, epoch)
        time.sleep(random.random() * took * 1.2)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        after = root.manifest()
        new = after["current_version"] != before["current_version"]
        outcomes["new" if new else "old"] = outcomes.get("new" if new else "old", 0) + 1
        more = len(after["versions"]) - len(before["versions"])
        dxtest.check(after == before or more == 1 or (more == 2 and is_current(after, after["versions"][-2]["version"])),
                     f"{words}: the manifest is the old one or has one more version, and its merge")
        if number % 4 == 1 or new:
            verify(root, words, says="sound")
        done = publish(root, epoch=epoch)
        manifest = root.manifest()
        dxtest.check(is_current(manifest, done.stdout.decode().strip()), f"{words}: the next publish: {done.stdout}, {manifest['current_version']}")
        dxtest.equal(is_current(manifest, after["current_version"]), new, f"{words}: the next publish is new")
    verify(root, "after all kills", "--deep", says="sound")
    manifest = root.manifest()
    left = root.versions_there() - {v["version"] for v in manifest["versions"]}
    print(f"killed {KILLS - 1} times: {outcomes}; versions that no manifest names: {len(left)}")
    day = EPOCH + 86400 * 30
    ingest(root.folder, "a month later", some_urls(3000, 5))
    root.upload()
    done = publish(root, epoch=day)
    if left:
        dxtest.check(f"{len(left)} version{'s' * (len(left) != 1)} that the manifest does not name".encode() in done.stderr,
                     f"leftovers are told: {done.stderr[-400:]}")
    dxtest.check(left <= root.versions_there(), "leftovers are not removed")
    dxtest.equal([name for name in os.listdir(os.environ["TMPDIR"])
                  if name.startswith("domaindex-publish-")], [], "work folders of the dead")


# 5, 6 ---------------------------------------------------------------------- stores that misbehave

def misbehaving(store, folder):
    credentials = (stores.KEY_ID, stores.SECRET, stores.REGION)
    for number, fault in enumerate(("put_inm_ignored", "put_inm_inverted", "put_im_on_missing")):
        root = Root(store, folder, f"probe{number}")
        root.upload()
        with faultproxy.Proxy(store.url, faults=[fault], percent=100,
                              credentials=credentials) as proxy:
            done = publish(root, expect=1, env={"AWS_ENDPOINT_URL_S3": proxy.url})
        dxtest.check(b"condition" in done.stderr or b"If-" in done.stderr,
                     f"{fault}: refused with words: {done.stderr[-300:]}")
        dxtest.equal(root.manifest(), None, f"{fault}: nothing is published")
        dxtest.check("index/store.json" not in root.names("index/"), f"{fault}: not remembered")
        if dxtest.WHOLE or number == 0:
            publish(root)
    # Each write is applied and each reply is lost: what is there says so. One that was not applied
    # is tried again, a few times; if that does not help, the old version stays.
    for number, (fault, percent) in enumerate((("put_applied_dropped", 100),
                                               ("put_applied_500", 100), ("put_200_error", 20))):
        root = Root(store, folder, f"lost{number}")
        root.upload()
        with faultproxy.Proxy(store.url, seed=number, credentials=credentials) as proxy:
            # With every reply lost a store cannot be tried: a refusal is lost, too.
            current = publish(root, epoch=EPOCH - 1, env={"AWS_ENDPOINT_URL_S3": proxy.url}
                              ).stdout.decode().strip()
            proxy.set([fault], percent)
            for round_ in range(LOST):
                done = publish(root, "--force", "--full", epoch=EPOCH + round_, expect=None,
                               env={"AWS_ENDPOINT_URL_S3": proxy.url})
                words = f"{fault}: {done.stderr.decode()[-400:]}"
                if percent == 100:
                    dxtest.equal(done.returncode, 0, words)
                if done.returncode == 0:
                    current = done.stdout.decode().strip()
                manifest = root.manifest()
                dxtest.equal(manifest and manifest["current_version"], current, words)
                dxtest.equal(root.versions_there(),
                             {v["version"] for v in manifest["versions"]} if manifest else set(),
                             f"{words}: versions that are there")
            dxtest.check(sum(proxy.injected.values()) > percent * LOST // 75, f"{fault}: {proxy.injected}")
        if dxtest.WHOLE or number == 2:
            publish(root, "--force", epoch=EPOCH + 9)
        verify(root, fault, says="sound")


class NoFlip(faultproxy.Proxy):
    """Refuses the put of the manifest, and nothing else."""

    async def answer(self, request):
        if request.method == "PUT" and request.target.endswith("/index/manifest.json"):
            reply = faultproxy.Reply(200, "OK", [], b"")
            reply.error(403, "Forbidden", "AccessDenied")
            return reply
        return await super().answer(request)


def refused_flip(root):
    """What the store refuses has not happened: its error is told, and nothing stays."""
    before = root.manifest(), root.versions_there()
    with NoFlip(root.store.url) as proxy:
        done = publish(root, "--force", epoch=EPOCH + 86400 * 40, expect=1,
                       env={"AWS_ENDPOINT_URL_S3": proxy.url})
    dxtest.check(b"AccessDenied" in done.stderr and b"outcome unknown" not in done.stderr,
                 f"the store's words: {done.stderr[-500:]}")
    dxtest.equal((root.manifest(), root.versions_there()), before, "nothing stays")


def restored(root):
    """The same bytes under other ETags: a new version with these. A store whose ETags come from the
    bytes gives the old ones, but for an upload in parts."""
    name = root.names("urls/dataset_id=1/")[0]
    body = root.get(name)
    target = root.store.target(BUCKET, root.name(name))
    _, text = root.store.demand("POST", target + "?uploads=")
    upload = text.decode().partition("<UploadId>")[2].partition("</UploadId>")[0]
    fields, _ = root.store.demand("PUT", f"{target}?partNumber=1&uploadId={upload}", body)
    etag = fields["etag"]
    root.store.demand("POST", f"{target}?uploadId={upload}",
                      (f"<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>{etag}</ETag>"
                       "</Part></CompleteMultipartUpload>").encode())
    dxtest.equal(root.get(name), body, "the bytes after an upload in parts")
    verify(root, "an object was restored", expect=3)
    done = publish(root, epoch=EPOCH + 86400 * 41)
    dxtest.check(b"other ETags" in done.stderr and
                 name.removeprefix("urls/").encode() in done.stderr,
                 f"restored: {done.stderr}")
    verify(root, "published anew", says="sound")
    dxtest.check(b"nothing new" in publish(root, epoch=EPOCH + 86400 * 42).stderr, "and only once")


def timed(part, *arguments):
    begin = time.monotonic()
    result = part(*arguments)
    print(f"{part.__name__}: {time.monotonic() - begin:.1f} s", flush=True)
    return result


def all_of(store, tmp):
    folder = tmp / "lake"
    ingest(folder, "one", some_urls(1))
    ingest(folder, "two", some_urls(2))
    ingest(folder, "one", some_urls(3))  # a second file with the same range: read together
    store.bucket(BUCKET)
    root = Root(store, folder)
    done = publish(root, expect=1)
    dxtest.check(b"nothing to publish" in done.stderr, f"an empty root: {done.stderr[-300:]}")
    root.upload()
    version, local = timed(same_bytes, root, tmp)
    timed(over_http, local)
    timed(damage, root, version)
    timed(packed, root, local)
    timed(two_at_once, root)
    timed(killed, root)
    timed(refused_flip, root)
    timed(restored, root)
    timed(misbehaving, store, local)


def main():
    dxtest.need_programs()
    there = stores.kinds()
    if not there:
        stores.need("versitygw", "minio")
    for kind in there:
        begin = time.monotonic()
        with dxtest.tempdir() as tmp, kind() as store, stores.environment(
                {**store.env, "TMPDIR": str(tmp)}):
            all_of(store, tmp)
        print(f"{kind.program}: {time.monotonic() - begin:.0f} s")
    dxtest.finish()


if __name__ == "__main__":
    main()
