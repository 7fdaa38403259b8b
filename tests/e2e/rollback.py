# SPDX-License-Identifier: Apache-2.0
# labels: slow
"""rollback and versions, in a directory and on versitygw.

1. A version comes back under a new sequence; what later ones had more stays out of the next
   publish, and comes back when it is ingested again. Unknown and dropped versions are refused with
   the names of those that are there. `versions` tells states, and what was current until when.
2. On a store, where another process changes the manifest between the read of a rollback, or a publish, and its put: beside gc the
   command succeeds, and what gc did stays; beside another flip it fails, and says so. With DX_WHOLE=1 the first part there too.
"""
import fcntl
import json
import sys

import dxtest
import faultproxy
import stores

BUCKET = "lake"
# Condemns; to remove it would wait.
GC = ("gc", "--delete", "--keep-for", "0s", "--max-share", "100", "--quiet")
AT_ONCE = ("--lease-ttl", "0s", "--cursor-life", "0s")


def ingest(root, dataset, *urls):
    dxtest.domaindex("ingest", "--root", root, "--dataset", dataset, "--format", "list", "-",
                     input="".join(f"http://{u}\n" for u in urls).encode())


def publish(root, *arguments, **options):
    done = dxtest.domaindex("publish", "--root", root, "--memory", "64M", *arguments, **options)
    return done.stdout.decode().strip()


def rollback(root, version, **options):
    return dxtest.domaindex("rollback", "--root", root, version, **options)


def versions(root):
    return json.loads(dxtest.domaindex("versions", "--root", root, "--json").stdout)


def current_of(root):
    told = versions(root)
    return next(v for v in told["versions"] if v["version"] == told["current"])


def refused(done, words, *says):
    dxtest.equal(done.returncode, 1, words)
    for part in says:
        dxtest.check(part.encode() in done.stderr, f"{words}: says {part}: {done.stderr[-400:]}")


def there_and_back(root, words):
    ingest(root, "one", "a.com/1", "b.org/1")
    first = publish(root)
    ingest(root, "one", "a.com/2", "c.net/1")
    second = publish(root)
    done = rollback(root, first)
    again = dxtest.domaindex("rollback", "--root", root, "--to", first)
    dxtest.check(b"is current already" in again.stderr, f"--to names it too: {again.stderr}")
    dxtest.equal(done.stdout.decode().strip(), first, f"{words}: rollback prints")
    told = versions(root)
    dxtest.equal((told["current"], told["sequence"]), (first, 3), f"{words}: current, sequence")
    newest, oldest = told["versions"]
    dxtest.equal((newest["superseded"] is None, oldest["superseded"]), (False, None),
                 f"{words}: the other one was superseded")
    dxtest.equal({v["state"] for v in told["versions"]}, {"listed"}, f"{words}: states")
    done = rollback(root, "1")
    dxtest.check(b"current already" in done.stderr, f"{words}: again, by number: {done.stderr}")
    dxtest.equal(versions(root)["sequence"], 3, f"{words}: nothing was changed")

    third = publish(root, "--force")
    dxtest.equal(current_of(root)["rows"], 2, f"{words}: what was taken out stays out")
    dxtest.equal(third[:6], "000004", f"{words}: no number is given twice")
    ingest(root, "one", "a.com/2", "c.net/1")
    publish(root)
    dxtest.equal(current_of(root)["rows"], 4, f"{words}: ingested again, it is there again")
    rollback(root, "2")
    dxtest.equal(current_of(root)["version"], second, f"{words}: and the second")
    dxtest.domaindex("verify", "--root", root, "--deep")

    refused(rollback(root, "77", expect=None), f"{words}: unknown", "not in the manifest", first,
            f"{second} (current)")
    dxtest.domaindex(*GC, "--keep", "1", "--root", root)       # condemned
    condemned = next(v for v in versions(root)["versions"] if v["state"] == "condemned")
    dxtest.check(condemned["condemned"] is not None, f"{words}: since when")
    rollback(root, condemned["version"])
    dxtest.equal((current_of(root)["version"], current_of(root)["state"]),
                 (condemned["version"], "listed"), f"{words}: condemned no more")
    dxtest.domaindex(*GC, *AT_ONCE, "--keep", "1", "--root", root)
    refused(rollback(root, second, expect=None), f"{words}: removed", condemned["version"])
    publish(root, "--force")


def of_a_directory(tmp):
    root = tmp / "root"
    there_and_back(root, "a directory")
    with open(root / ".lock", "rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        before = (root / "index" / "manifest.json").read_bytes()
        refused(rollback(root, "1", expect=None), "locked", "is locked")
        dxtest.equal((root / "index" / "manifest.json").read_bytes(), before, "locked: no change")
    refused(rollback(tmp / "nowhere", "1", expect=None), "no root", "nothing was published here")
    dxtest.check(not (tmp / "nowhere").exists(), "no root is made")
    dxtest.equal(dxtest.domaindex("rollback", "--root", root, expect=None).returncode, 2, "usage")
    damaged = current_of(root)["version"]
    rollback(root, next(v["version"] for v in versions(root)["versions"]
                        if v["version"] != damaged and v["state"] != "dropped"))
    path = root / "index" / damaged / "domains.dict"
    path.write_bytes(path.read_bytes()[:-8])
    refused(rollback(root, damaged, expect=None), "damaged", "does not open")


class Meanwhile:
    """Runs something when the manifest is about to be put the first time."""

    def __init__(self, proxy, work):
        self.proxy, self.work, self.done = proxy, work, False

    def __enter__(self):
        self.proxy.set()
        self.proxy.record = True
        self.proxy.watch(self.see)
        return self

    def __exit__(self, kind, value, trace):
        self.proxy.watch(None)
        dxtest.check(self.done, "the manifest was put")

    def see(self, number, when):
        method, target, _ = self.proxy.seen[number - 1]
        if when == "before" and method == "PUT" and "manifest.json" in target and not self.done:
            self.done = True
            try:
                self.work()
            except SystemExit:       # it has said why, and the proxy must go on
                dxtest.check(False, "what was to happen meanwhile")
        return False


def beaten(root, proxy, env):
    """A collector is no competitor; another flip is."""
    through = {**env, "AWS_ENDPOINT_URL_S3": proxy.url}
    for name, act in (("rollback", lambda to, **o: dxtest.domaindex(
                          "rollback", "--root", root, "--force", to, env=through, **o)),
                      ("publish", lambda to, **o: dxtest.domaindex(
                          "publish", "--root", root, "--memory", "64M", env=through, **o))):
        for number in range(3 if name == "rollback" else 1):    # publish finds those of rollback
            ingest(root, "more", f"{name}.com/{number}")
            publish(root)
        ingest(root, "more", f"{name}.com/new")
        with Meanwhile(proxy, lambda: dxtest.domaindex(*GC, "--keep", "2", "--root", root)):
            done = act("1")
        told = versions(root)
        dxtest.equal(told["current"], done.stdout.decode().strip(), f"{name}, gc between: current")
        dxtest.check("condemned" in {v["state"] for v in told["versions"]},
                     f"{name}, gc between: what it did stays")
        ingest(root, "more", f"{name}.com/newer")
        between = []
        with Meanwhile(proxy, lambda: between.append(publish(root, "--force"))):
            done = act("2", expect=None)
        refused(done, f"{name}, another flip between", "first", between[0])
        told = versions(root)
        dxtest.equal(told["current"], between[0], f"{name}: the other's is current")
        dxtest.domaindex("verify", "--root", root)
        publish(root, "--force")


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        of_a_directory(tmp)
    if not stores.find("versitygw"):
        print("SKIP versitygw: not here")
        dxtest.finish()
    with dxtest.tempdir() as tmp, stores.Versitygw() as store, stores.environment(
            {**store.env, "TMPDIR": str(tmp)}):
        store.bucket(BUCKET)
        if dxtest.WHOLE:
            there_and_back(store.root(BUCKET, "a"), "versitygw")
        with faultproxy.Proxy(store.url) as proxy:
            ingest(store.root(BUCKET, "b"), "one", "a.com/1")
            publish(store.root(BUCKET, "b"))
            beaten(store.root(BUCKET, "b"), proxy, store.env)
    dxtest.finish()


if __name__ == "__main__":
    sys.exit(main())
