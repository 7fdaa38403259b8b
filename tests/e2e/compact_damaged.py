# SPDX-License-Identifier: Apache-2.0
# labels: slow
"""A lake file of one dataset is damaged or lost: compact leaves that dataset as it is, names the file, does the rest and exits with 1.

In a directory and on an S3 server: a byte is flipped, a file is cut, a file is gone; in a directory, a page of it cannot be read
(a bad sector; tests/starve/unreadable.c). The damaged dataset answers as before, byte for byte,
and is listed whole when the file is back; the others are merged, and their suppressed rows are gone from the files. Later publishes,
compactions, verify and rollbacks work. Damage in a file that is not merged, in several datasets, in all of them (nothing is changed);
`publish --allow-missing` beside a damaged file; a faulty replacement that waits. In the gate on a store a file that is cut, and damage in
several datasets, of each kind; with DX_WHOLE=1 all that is tried in a directory. In the gate later publishes and a rollback in a directory, beside a file that is cut
and one that is gone.
"""
import json
import os
import shutil

import dxtest
import remains
import stores

SMALL = ("--memory", "64M", "--threads", 2)
NAMES = ("alpha", "beta", "gamma")
DOMAINS = ("alpha.com", "beta.com", "gamma.com", "shared.com", "hidden.com")
FLIP, CUT, LOST, UNREADABLE = "a byte is flipped", "the file is cut", "the file is gone", "a page cannot be read"


def run(there, command, *arguments, expect=0, text=""):
    return dxtest.domaindex(*command.split(), "--root", there.root, *arguments, expect=expect, input=text.encode())


def urls_of(name, n):
    return [f"http://{name}.com/{n}/{i}" for i in range(40)] + [f"http://shared.com/{name}/{n}/{i}" for i in range(5)] + [f"http://hidden.com/{name}/{n}"]


def ingest(there, name, n, *arguments):
    run(there, "ingest", "--dataset", name, "--format", "list", *arguments, "-", text="\n".join(urls_of(name, n)) + "\n")


def publish(there, *arguments, expect=0):
    done = run(there, "publish", *SMALL, *arguments, expect=expect)
    return done.stdout.decode().strip(), done.stderr.decode()


def compact(there, expect=0):
    return json.loads(run(there, "compact", *SMALL, "--json", expect=expect).stdout)


def make(there, *words):
    """Three files of each dataset; no rows twice."""
    for n in range(3):
        run(there, "ingest", *words, "--format", "tsv", "--dataset-column", 1, "--url-column", 2, "--no-header", "-",
            text="".join(f"{name}\t{url}\n" for name in NAMES for url in urls_of(name, n)))
        publish(there)


def copy(made, there):
    """made: bytes of each object of a root, which there becomes."""
    for name, body in made.items():
        there.put(name, body)


def bytes_of(there):
    return {name: there.get(name) for name in there.names()}


def plain(reply):
    """An answer without what is of the version or the request alone."""
    found = reply.json if reply.body else {}
    for key in ("version", "request_id", "instance", "published", "detail"):
        found.pop(key, None)
    return reply.status, found


def answers(there):
    """{dataset: {domain: facts and listing}}."""
    found = {n: {} for n in range(1, len(NAMES) + 1)}
    with dxtest.Server(there.root) as server:
        for domain in DOMAINS:
            whole = plain(server.get(f"/v1/domain/{domain}"))
            for n, of in found.items():
                facts = [d for d in whole[1].get("datasets", ()) if d["dataset_id"] == n]
                of[domain] = whole[0], facts, plain(server.get(f"/v1/domain/{domain}/datasets/{n}/urls?limit=1000&fields=url,raw_url"))
    return found


def as_sets(of):
    """Rows of a listing may be in another order after a compaction, and shares have the hidden rows before it."""
    return json.dumps({domain: (status, [{**d, "share": 0} for d in facts], listing[0], sorted(map(json.dumps, listing[1].get("items", ()))))
                       for domain, (status, facts, listing) in of.items()}, sort_keys=True)


def lake(there, dataset):
    """Names of the lake files of the current version; all parts together."""
    manifest = there.manifest()
    entry = next(v for v in manifest["versions"] if v["version"] == manifest["current_version"])
    return sorted(n for n in remains.lake_of(there, entry) if n.startswith(f"urls/dataset_id={dataset}/"))


def current(there):
    manifest = there.manifest()
    return next(v for v in manifest["versions"] if v["version"] == manifest["current_version"])


def damage(there, name, how):
    body = there.get(name)
    if how == LOST:
        there.remove(name)
    elif how == UNREADABLE:
        os.environ.update(LD_PRELOAD=str(dxtest.BIN / "tests/libunreadable.so"), DX_UNREADABLE=name)
    else:
        there.put(name, body[:60] + bytes([body[60] ^ 0xff]) + body[61:] if how == FLIP else body[:len(body) // 2])
    return body


def restore(there, name, body):
    for word in ("LD_PRELOAD", "DX_UNREADABLE"):
        os.environ.pop(word, None)
    there.put(name, body)


def one(there, made, how, words, further=False):
    copy(made, there)
    run(there, "suppress add", "--domain", "hidden.com")
    first, before = there.manifest()["current_version"], answers(there)
    files = lake(there, 1)
    body = damage(there, files[1], how)
    broken = answers(there)
    done = compact(there, expect=1)
    dxtest.equal((done["files_damaged"], done["publish"]["complete"], done["files_taken"], done["files_made"], done["rows_suppressed"]), (1, False, 6, 2, 6),
                 f"{words}: {done}")
    dxtest.check(files[1] in done["damaged"][0] and len(done["damaged"][0]) > len(files[1]) + 10, f"{words}: named, with a reason: {done['damaged']}")
    dxtest.equal((lake(there, 1), len(lake(there, 2)), len(lake(there, 3))), (files, 1, 1), f"{words}: files")
    dxtest.equal(current(there).get("cleansed", 0), 0, f"{words}: cleansed, while rows were not read")
    after = answers(there)
    dxtest.equal(after[1], broken[1], f"{words}: the damaged dataset")
    for n in (2, 3):
        dxtest.equal(as_sets(after[n]), as_sets(before[n]), f"{words}: dataset {n}")
    again = compact(there, expect=1)
    dxtest.equal((again["publish"]["unchanged"], again["files_damaged"]), (True, 1), f"{words}: again")
    said = run(there, "verify", "--deep", *SMALL, expect=3).stdout.decode()
    dxtest.check(files[1].removeprefix("urls/") in said, f"{words}: verify names it: {said}")
    restore(there, files[1], body)
    dxtest.equal(answers(there)[1], before[1], f"{words}: the file is back")
    run(there, "verify", "--deep", *SMALL)
    if not (dxtest.WHOLE or further):
        return
    damage(there, files[1], how)
    goes_on(there, how, words, files[1], body)
    run(there, "rollback", first)
    dxtest.equal(answers(there), before, f"{words}: rolled back")
    publish(there)
    compact(there)
    run(there, "verify", "--deep", *SMALL)


def goes_on(there, how, words, name, body):
    """Publishes beside the damage, and a compaction when it is over. What was hidden can be seen where it was not erased alone."""
    ingest(there, "beta", 7)
    publish(there, expect=None)      # refused if a file is gone; done in part where it sees that a file is another one
    done = compact(there, expect=1)
    dxtest.equal((done["files_damaged"], done["files_taken"]), (1, 0 if how == LOST else 2), f"{words}: more rows: {done}")
    restore(there, name, body)
    publish(there)
    run(there, "suppress lift", 1)
    seen = answers(there)
    dxtest.equal([len(seen[n]["hidden.com"][2][1].get("items", ())) for n in (1, 2, 3)], [3, int(how == LOST), 0], f"{words}: the rule is lifted")
    run(there, "suppress add", "--domain", "hidden.com")
    done = compact(there)
    dxtest.equal((done["files_damaged"], len(lake(there, 1)), current(there)["base"]), (0, 1, None), f"{words}: restored: {done}")
    dxtest.check(current(there).get("cleansed", 0) > 0, f"{words}: cleansed at last")
    run(there, "verify", "--deep", *SMALL)


def beside_the_plan(there, _):
    """A file of another program is not merged: that it is damaged is found when files of its dataset were."""
    ingest(there, "alpha", 9)
    name = next(n for n in there.names() if n.startswith("urls/dataset_id=1/"))
    theirs = "urls/dataset_id=1/theirs.parquet"
    there.put(theirs, there.get(name))
    there.remove(name)
    publish(there)
    make(there)
    before, files = answers(there), lake(there, 1)
    body = damage(there, theirs, CUT)
    done = compact(there, expect=1)
    dxtest.equal((done["files_damaged"], done["files_taken"], lake(there, 1), len(lake(there, 2))), (1, 6, files, 1), f"not merged: {done}")
    names = [n for n in there.names() if n.startswith("urls/dataset_id=1/")]
    dxtest.equal(sorted(names), files, "what was merged of it is gone again")
    there.put(theirs, body)
    dxtest.equal(answers(there)[1], before[1], "not merged: restored")
    dxtest.equal(compact(there)["files_damaged"], 0, "not merged: compacted")
    dxtest.equal(as_sets(answers(there)[1]), as_sets(before[1]), "not merged: compacted")


def several(there, made):
    copy(made, there)
    before, files = answers(there), [lake(there, n) for n in (1, 2, 3)]
    bodies = {files[0][0]: damage(there, files[0][0], CUT), files[0][2]: damage(there, files[0][2], LOST), files[1][1]: damage(there, files[1][1], FLIP)}
    done = compact(there, expect=1)
    dxtest.check(all(any(name in line for line in done["damaged"]) for name in (files[0][2], files[1][1])), f"several: named: {done['damaged']}")
    dxtest.equal([lake(there, 1), lake(there, 2), len(lake(there, 3))], [*files[:2], 1], "several: files")
    manifest = there.get("index/manifest.json")
    merged = lake(there, 3)[0]
    bodies[merged] = damage(there, merged, CUT)
    dxtest.check("nothing was merged" in compact(there, expect=1)["error"], "no dataset is sound")
    dxtest.equal(there.get("index/manifest.json"), manifest, "no dataset is sound: the manifest")
    there.remove(files[0][0])
    there.remove(files[1][0])
    there.remove(merged)
    dxtest.check("'alpha' (2)" in compact(there, expect=1)["error"], "the lake is not there")
    dxtest.equal(there.get("index/manifest.json"), manifest, "the lake is not there: the manifest")
    for name, body in bodies.items():
        there.put(name, body)
    there.put(files[1][0], b"")
    dxtest.equal(compact(there, expect=1)["files_damaged"], 1, "one is empty")


def allowed(there, made):
    """One file of a dataset is lost and may be missing, another one is damaged: the dataset stays, and the others are published."""
    copy(made, there)
    files = lake(there, 1)
    bodies = {files[0]: damage(there, files[0], LOST), files[1]: damage(there, files[1], CUT)}
    broken = answers(there)[1]
    ingest(there, "beta", 5)
    ingest(there, "gamma", 5)
    said = publish(there, "--allow-missing", "alpha", expect=1)[1]
    dxtest.check(files[0] in said and files[1] in said, f"allowed: both are named: {said}")
    after = answers(there)
    dxtest.equal(as_sets(after[1]), as_sets(broken), "allowed: the dataset stays")      # which of both files a listing meets first is open
    dxtest.equal(after[2]["beta.com"][1][0]["row_count"], 160, "allowed: others are published")
    for name, body in bodies.items():
        there.put(name, body)
    publish(there)
    dxtest.equal(answers(there)[1]["alpha.com"][1][0]["row_count"], 120, "allowed: all is back")
    run(there, "verify", "--deep", *SMALL)


def replaced(there, made):
    """A replacement of which a file is faulty waits; a compaction does not take it, nor what it would replace."""
    copy(made, there)
    before = answers(there)
    ingest(there, "alpha", 6, "--replace")
    new = next(n for n in there.names() if n.startswith("urls/dataset_id=1/") and n not in lake(there, 1))
    body = damage(there, new, CUT)
    publish(there, expect=1)
    compact(there, expect=1)
    dxtest.equal(as_sets(answers(there)[1]), as_sets(before[1]), "a replacement waits: the rows")
    there.put(new, body)
    publish(there)
    dxtest.equal(answers(there)[1]["alpha.com"][1][0]["row_count"], 40, "and is published")


def main():
    dxtest.need_programs()
    kinds = stores.kinds()
    with dxtest.tempdir() as tmp:
        short = dxtest.short_psl(tmp, "com")
        make(remains.Folder(tmp / "made"), *short)
        made = bytes_of(remains.Folder(tmp / "made"))
        for i, how in enumerate((FLIP, CUT, LOST, UNREADABLE)):
            one(remains.Folder(tmp / f"one{i}"), made, how, f"a directory: {how}", how != FLIP)
        for case in (beside_the_plan, several, allowed, replaced):
            case(remains.Folder(tmp / case.__name__), made)
            shutil.rmtree(tmp / case.__name__)
        os.environ["XDG_CACHE_HOME"] = str(tmp / "cache")
        for kind in kinds:
            with kind() as store, stores.environment({**store.env, "TMPDIR": str(tmp)}):
                store.bucket("lake")
                make(remains.Bucket(store, "lake", "made"), *short)
                made = bytes_of(remains.Bucket(store, "lake", "made"))
                for how in (FLIP, CUT, LOST) if dxtest.WHOLE else (CUT,):
                    one(remains.Bucket(store, "lake", how.replace(" ", "-")), made, how, f"{kind.program}: {how}")
                for case in (beside_the_plan, several, allowed) if dxtest.WHOLE else (several,):
                    case(remains.Bucket(store, "lake", case.__name__), made)
    dxtest.finish(None if kinds else "no S3 server is here: directories alone were tried")


if __name__ == "__main__":
    main()
