#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: short plain
"""ingest --from file-store --suppress-tombstones: what a store has deleted disappears from a server that runs, and what is
there again comes back; the same run again changes nothing; rules of others stay."""
import gzip
import hashlib
import json
import re
import urllib.parse

import dxtest

SITE = "https://www.site.example"
KEYS = [f"{SITE}/p{i}" for i in range(40)] + ["HTTP://Site.Example:80/a/../x", f"{SITE}/twin", f"{SITE}:443/twin", f"{SITE}./dot"]


def write(store, keys, tombs):
    store.mkdir(exist_ok=True)
    lines = [",!,".join([k, hashlib.sha256(k.encode()).hexdigest(), "text/html", f"title {i}"]) for i, k in enumerate(keys)]
    (store / "index").write_text("".join(line + "\n" for line in lines))
    (store / "index.tomb").write_text("".join(t + "\n" for t in tombs))
    (store / "tags").write_bytes(gzip.compress(b"".join(b"t!#!%s\n" % json.dumps(keys).encode() for _ in "1")))


def ingest(root, store, *more, dataset="store", expect=0):
    words = dxtest.domaindex("ingest", "--root", root, "--dataset", dataset, "--from", "file-store", *more, store,
                             expect=expect).stderr.decode()
    found = re.findall(r"^ +(rules added|there already|lifted|pages there again|no URLs|in the tombstone) +([\d,]+)$", words, re.M)
    return {name: int(n.replace(",", "")) for name, n in found}, words


def counts(got):
    return [got.get(n) for n in ("rules added", "there already", "lifted", "pages there again", "no URLs")]


def rules(root):
    listed = json.loads(dxtest.domaindex("suppress", "list", "--root", root, "--json").stdout)
    return listed if isinstance(listed, list) else next(v for v in listed.values() if isinstance(v, list))


def shown(server, dataset=1):
    reply = server.get(f"/v1/domain/site.example/datasets/{dataset}/urls?fields=url&limit=1000")
    return sorted({i["url"] for i in reply.json["items"]}) if reply.status == 200 else None


def wait_for(server, want, words, dataset=1):
    """Servers look for rules by themselves; how soon is the machine's affair."""
    dxtest.wait_until(lambda: shown(server, dataset) == want)
    dxtest.equal(shown(server, dataset), want, words)


def canonical(keys):
    return sorted({"http://site.example/x" if k.startswith("HTTP") else k.replace(":443", "") for k in keys})


def check(root, store, server):
    rest = KEYS[5:]
    wait_for(server, canonical(KEYS), "before")
    gone = KEYS[:5] + [KEYS[40], KEYS[41], KEYS[43], "no url", "https://never.example/"]
    write(store, KEYS, gone)
    plain, _ = ingest(root, store)
    dxtest.equal((plain["in the tombstone"], rules(root)), (8, []), "a run without the option makes no rules")
    got, _ = ingest(root, store, "--suppress-tombstones")
    dxtest.equal(counts(got), [8, 0, 0, 1, 1], "rules of a tombstone")
    rest = [k for k in KEYS if k not in gone]
    wait_for(server, canonical(rest), "what is in the tombstone is hidden, without a publish")
    dxtest.equal(server.get("/v1/url?u=" + urllib.parse.quote(KEYS[0], safe="")).status, 404, "its URL")
    wait_for(server, None, "in all datasets", dataset=2)
    listed = rules(root)
    dxtest.check(all("store" in json.dumps(r) and "deleted" in json.dumps(r) for r in listed) and len(listed) == 8,
                 f"reasons of rules: {listed[:1]}")
    before = (root / "index" / "suppressions.log").read_bytes()
    got, _ = ingest(root, store, "--suppress-tombstones")
    dxtest.equal(counts(got), [0, 8, 0, 1, 1], "the same again")
    dxtest.check((root / "index" / "suppressions.log").read_bytes() == before, "the same run again writes to the log")
    return rest


def check_back(root, store, server, rest):
    """The tombstone is begun anew: what is in the index is back; what is in neither stays hidden."""
    dxtest.domaindex("suppress", "add", "--root", root, "--url", KEYS[1], "--policy", "absent", "--reason", "by hand")
    write(store, KEYS[2:], [KEYS[4]])
    got, _ = ingest(root, store, "--suppress-tombstones")
    dxtest.equal(counts(got), [0, 1, 4, 0, 0], "pages that are there again")
    wait_for(server, canonical([*rest, KEYS[2], KEYS[3], KEYS[40], KEYS[43]]), "pages that are there again are shown")
    got, _ = ingest(root, store, "--suppress-tombstones", dataset="other")
    dxtest.equal(counts(got)[2], 0, "another dataset lifts nothing of this one")
    write(store, KEYS[1:], [])
    got, _ = ingest(root, store, "--suppress-tombstones")
    dxtest.equal(counts(got)[:3], [0, 0, 2], "rules lifted at last")
    dxtest.domaindex("suppress", "add", "--root", root, "--url", KEYS[1], "--policy", "absent", "--reason", "by hand")
    ingest(root, store, "--suppress-tombstones")
    wait_for(server, canonical(KEYS[2:]), "a rule made by hand stays")
    dxtest.domaindex("suppress", "add", "--root", root, "--url", KEYS[41], "--policy", "absent", "--reason", "by hand")
    write(store, KEYS[1:], [KEYS[41]])
    got, _ = ingest(root, store, "--suppress-tombstones")
    dxtest.equal(counts(got)[:4], [0, 0, 0, 1], "a rule made by hand for a page that is there under another key")
    write(store, KEYS[1:], [])


def check_export(root, tmp):
    dxtest.domaindex("export", "--root", root, "--file-store", tmp / "out", "--dataset", "store")
    keys = {line.split(",!,")[0] for line in (tmp / "out" / "index").read_text().splitlines()}
    dxtest.check(KEYS[0] not in keys and KEYS[1] not in keys and KEYS[2] in keys, "suppressed pages are exported")
    dxtest.check(not (tmp / "out" / "index.tomb").exists(), "an exported store has a tombstone")


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        root, store = tmp / "root", tmp / "crawl"
        write(store, KEYS, [])
        ingest(root, store)
        (tmp / "one.csv").write_text(f"url\n{KEYS[0]}\n")
        dxtest.domaindex("ingest", "--root", root, "--dataset", "other", tmp / "one.csv")
        dxtest.domaindex("publish", "--root", root)
        with dxtest.Server(root) as server:
            rest = check(root, store, server)
            check_back(root, store, server, rest)
        check_export(root, tmp)
        _, words = ingest(tmp / "r2", tmp / "one.csv", "--suppress-tombstones", expect=1)
        dxtest.check("one.csv" in words, words)
        dxtest.domaindex("ingest", "--root", tmp / "r3", "--dataset", "x", "--suppress-tombstones", tmp / "one.csv", expect=2)
        write(store, KEYS[:2], KEYS[:2])
        got, _ = ingest(tmp / "r4", store, "--suppress-tombstones")
        dxtest.equal(counts(got), [0, 0, 0, 0, 0], "a lake in which nothing was ever stored has nothing to hide")
        got, _ = ingest(root, store, "--suppress-tombstones")
        dxtest.equal(counts(got)[:3], [0, 2, 0], "a store of which all is deleted")
    dxtest.finish()


main()
