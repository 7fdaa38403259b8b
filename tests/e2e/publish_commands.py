# SPDX-License-Identifier: Apache-2.0
# labels: short plain
"""What `domaindex publish` and `versions` print and refuse: the contract that scripts rely on."""
import fcntl
import json

import dxtest


def ingest(root, name, urls):
    dxtest.domaindex("ingest", "--root", root, "--dataset", name, "--format", "list", "-",
                     input="".join(f"http://{u}\n" for u in urls).encode())


def publish(root, *arguments, expect=0, epoch=None):
    done = dxtest.domaindex("publish", "--root", root, "--memory", "64M", *arguments,
                            expect=expect, env={"SOURCE_DATE_EPOCH": str(epoch)} if epoch else None)
    return done.stdout.decode(), done.stderr.decode()


def versions(root):
    return json.loads(dxtest.domaindex("versions", "--root", root, "--json").stdout)


def refused(root, words, *arguments, stays=""):
    """stays: the version that goes on being current, where a file was left out and nothing is new."""
    out, err = publish(root, *arguments, expect=1)
    dxtest.equal(out, stays and stays + "\n", f"{words}: standard output of a refusal")
    return err


def cleansed(root):
    """An increment says of suppressions what its base said, unless a new row is hit."""
    ingest(root, "one", ["a.com/1", "b.org/1"])
    publish(root, "--quiet")
    dxtest.domaindex("suppress", "add", "--root", root, "--domain", "a.com")
    dxtest.domaindex("compact", "--root", root)
    for url, want in ((None, 1), ("c.net/1", 1), ("a.com/2", 0), ("d.de/1", 0)):
        if url:
            ingest(root, "one", [url])
            publish(root, "--quiet")
        newest = versions(root)["versions"][0]
        dxtest.equal((newest["cleansed"], newest["base"] is None), (want, url is None),
                     f"with {url}: cleansed, whole")


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        cleansed(tmp / "root")
    with dxtest.tempdir() as tmp:
        root = tmp / "root"
        err = refused(root, "empty root")
        dxtest.check("nothing to publish" in err and "ingest" in err, f"empty root: {err}")
        dxtest.domaindex("publish", expect=2)
        dxtest.domaindex("publish", "--root", root, "--memory", "1M", expect=2)
        dxtest.domaindex("publish", "--root", root, "--memroy", "1G", expect=2)
        dxtest.domaindex("publish", "--root", root, "--memory", "64M", expect=2,
                         env={"SOURCE_DATE_EPOCH": "yesterday"})

        ingest(root, "one", ["example.com/a", "example.com/b", "b.example.co.uk/"])
        out, err = publish(root, epoch=1704067200)
        dxtest.equal(out, "000001-20240101T000000Z\n", "the version, alone on a line")
        for words in ("domains 2", "datasets 1", "pairs 2", "rows 3", "URLs 3", "domains.dict",
                      "postings.idx.zst", "B/URL", "peak memory", "seconds:"):
            dxtest.check(words in err, f"the summary says {words!r}: {err}")
        out, err = publish(root)
        dxtest.equal(out, "000001-20240101T000000Z\n", "an unchanged lake: the current version")
        dxtest.check("nothing new to publish" in err, f"an unchanged lake: {err}")
        dxtest.equal(len(versions(root)["versions"]), 1, "versions of an unchanged lake")

        ingest(root, "two", ["example.com/a", "c.org/"])
        out, err = publish(root, epoch=1704153600)
        dxtest.equal(out, "000002-20240102T000000Z\n", "the second version")
        dxtest.check("merged with version 000001-20240101T000000Z; read: files 1, rows 2;" in err,
                     f"only what is new was read: {err}")
        listed = versions(root)
        dxtest.equal([v["base"] for v in listed["versions"]], ["000001-20240101T000000Z", None],
                     "what each was made from")
        dxtest.equal([v["version"] for v in listed["versions"]],
                     ["000002-20240102T000000Z", "000001-20240101T000000Z"], "versions, newest first")
        dxtest.equal([v["current"] for v in listed["versions"]], [True, False], "current")
        dxtest.equal([listed["versions"][0][k] for k in ("domains", "datasets", "pairs", "rows", "urls",
                                                         "lake_files")], [3, 2, 4, 5, 5, 2], "totals")
        table = dxtest.domaindex("versions", "--root", root).stdout.decode().splitlines()
        dxtest.check(table[1].startswith("* 000002-") and table[2].startswith("  000001-"),
                     f"the table: {table}")

        with open(root / ".lock", "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            refused(root, "locked root", "--force")

        part = next((root / "urls").rglob("part-*.parquet"))
        sound = part.read_bytes()
        for words, damaged in (("cut", sound[:-7]), ("empty", b""), ("no Parquet", b"PAR0" * 30),
                               ("page", sound[:40] + bytes(64) + sound[104:])):
            part.write_bytes(damaged)
            # A byte of the same number is not looked for in files that the current version has.
            whole = words == "page"
            err = refused(root, words, *(["--full"] if whole else []),
                          stays="" if whole else "000002-20240102T000000Z")
            dxtest.check(part.name in err, f"{words}: names the file: {err}")
            dxtest.equal(versions(root), listed, f"{words}: the old version stays")
        part.write_bytes(sound)
        dxtest.equal(sorted(p.name for p in (root / "index").iterdir()),
                     ["000001-20240101T000000Z", "000002-20240102T000000Z", "manifest.json"],
                     "nothing is left over")
        manifest = root / "index" / "manifest.json"
        text = manifest.read_text()
        manifest.write_text(text.replace('"rows": 5', '"rows": 6'))
        refused(root, "damaged manifest")
        manifest.write_text(text)
        _, err = publish(root, "--full")
        dxtest.check("from the whole lake: it was asked for; read: files 2, rows 5" in err,
                     f"the whole lake was read: {err}")
        dxtest.equal(versions(root)["versions"][0]["base"], None, "and merged with nothing")
        out, err = publish(root, "--full")
        dxtest.check("nothing new" in err, f"once is enough: {err}")
        part.rename(part.with_suffix(".gone"))
        refused(root, "--allow-missing")
        _, err = publish(root, "--allow-missing", "two")
        dxtest.check("lacks 1 lake file by permission" in err, f"a file that is gone, by permission: {err}")
        dxtest.equal(versions(root)["versions"][0]["lake_files"], 1, "the version is without it")
        part.with_suffix(".gone").rename(part)
        out, err = publish(root)
        dxtest.equal(versions(root)["versions"][0]["lake_files"], 2, "and has it when it is back")
        dxtest.domaindex("versions", "--root", tmp / "nowhere", expect=1)
        dxtest.domaindex("verify", "--root", root, "--deep")
    dxtest.finish()


main()
