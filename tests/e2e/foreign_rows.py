# SPDX-License-Identifier: Apache-2.0
# labels: peers
"""`publish --foreign-rows skip`: of files that pyarrow and DuckDB wrote, exactly the sound rows are shown, and everything
that reads the lake leaves out the same ones.

Faulty rows of many kinds, of which one half are so by raw_url alone, stand between sound ones, at the ends of pages, row groups and files, also between two rows of
one URL, and make up a whole file. Listings, single URLs, tags, counts, `verify --deep`, `versions`, `inspect`, export, `domain64`,
ingest of a record that only a faulty row has, increments, `compact` (also beside a file that cannot be rewritten), `--foreign-rows refuse`, another suffix list.
"""
import collections
import json
import random

import dxtest

try:
    import duckdb
    import pyarrow as pa
    import pyarrow.parquet as pq
    import xxhash
except ImportError:
    dxtest.skip("duckdb, pyarrow and xxhash are not here (tests/e2e/requirements.txt)")

SMALL = ["--memory", "64M", "--threads", "2"]
COLUMNS = ("domain", "domain_id", "scheme", "host", "path_query", "url_id", "tags", "raw_url", "requested_url")
TYPES = (pa.string(), pa.uint64(), pa.string(), pa.string(), pa.string(), pa.uint64(), pa.string(), pa.string(), pa.string())


def hash64(text):
    return xxhash.xxh3_64_intdigest(text.encode())


def row(domain, host, path, scheme="https", domain_id=None, url_id=None, tag="sound", more=(), raw=None, requested=None):
    return (domain, hash64(domain) if domain_id is None else domain_id, scheme, host, path,
            hash64(f"{scheme}://{host}{path}") if url_id is None else url_id, json.dumps([tag, *more]), raw, requested)


def faulty(domain, n):
    """FAULTS kinds; all of them sort among the rows of the domain."""
    www = f"www.{domain}"
    url = f"https://{www}/{n:04}"
    given = [(raw, None) for raw in ("javascript:alert(1)", "https://www.elsewhere.org/", "", f"{url}x", f"{url}\0x", f"{url}#" + "x" * 9000, f"http://{www}/{n:04}")]
    given += [(f"https://{www}/q", f"https://{www}/r/{n}"), ("javascript:alert(1)", "javascript:alert(1)")]
    return [row(domain, f"WWW.{domain}", f"/{n}", tag="faulty"), row(domain, www, f"/%70rivate/{n}", tag="faulty"),
            row(domain, f"{www}:443", f"/{n}", tag="faulty"), row(domain, f"a@{www}", f"/{n}", tag="faulty"),
            row(domain, "www.elsewhere.org", f"/{n}", tag="faulty"), row(domain, www, f"/{n:04}", scheme="javascript", tag="faulty"),
            row(domain, www, f"/{n:04}", domain_id=n + 1, tag="faulty"), row(domain, www, f"/{n:04}", url_id=n + 7, tag="faulty"),
            row(domain, www, f"/a\r\nb{n}", tag="faulty")] + [
        row(domain, www, f"/{n:04}", tag="faulty", raw=raw, requested=requested) for raw, requested in given]


FAULTS = len(faulty("d.com", 0))


def as_given(domain, n):
    """(raw_url, requested_url) of a sound row."""
    www, raw = f"www.{domain}", f"https://www.{domain}/{n:04}"
    return [(None, None), (raw, None), (f"HTTPS://WWW.{domain}:443/x/../{n:04}#top", None), (f" {raw[:-2]}\r\n{raw[-2:]}", None), (f"https://{www}/\ufffd", None),
            (None, f"https://{www}/r/{n}"), (raw, f"https://{www}/r/{n}"), (raw, "any text"), (f"https://{www}/r/./{n}", f"https://{www}/r/{n}")]


def make(rng, domains, rows_each, salt):
    good, bad = [], []
    for domain in domains:
        for n in range(rows_each):
            for k in range(rng.choice((1, 1, 2, 3))):
                raw, requested = rng.choice(as_given(domain, n))
                good.append(row(domain, f"www.{domain}", f"/{n:04}", more=[f"{salt}{k}"], raw=raw, requested=requested))
            bad += rng.sample(faulty(domain, n), rng.choice((0, 0, 1, 2)))
    rows = good + bad
    order = {id(r): rng.random() for r in rows}
    rows.sort(key=lambda r: (r[0].encode(), r[3].encode(), r[4].encode(), order[id(r)]))
    return rows, good, bad


def table(rows):
    return pa.table({name: pa.array([r[i] for r in rows], TYPES[i]) for i, name in enumerate(COLUMNS)})


def by_pyarrow(at, rows):
    at.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table(rows), at, row_group_size=50, data_page_size=200, write_batch_size=7)


def by_duckdb(at, rows):
    at.parent.mkdir(parents=True, exist_ok=True)
    with duckdb.connect() as db:
        db.register("t", table(rows))
        db.sql("set threads to 1")
        db.sql(f"copy (select * from t) to '{at}' (format parquet, row_group_size 2048)")


def publish(root, *more, expect=0):
    return dxtest.domaindex("publish", "--root", root, *SMALL, *more, expect=expect).stderr.decode()


def current(root):
    found = json.loads(dxtest.domaindex("versions", "--root", root, "--json").stdout)
    return next(v for v in found["versions"] if v["current"])


def urls(rows):
    return collections.Counter(f"{r[2]}://{r[3]}{r[4]}" for r in rows)


def check(root, good, left_out, words):
    """What is shown are the sound rows, by each way that leads to rows."""
    want = urls(good)
    found, tagged, refused = collections.Counter(), collections.Counter(), {}
    domains = sorted({r[0] for r in good})
    with dxtest.Server(root) as server:
        dxtest.equal(server.metrics()["domaindex_index_rows_left_out"], left_out, f"{words}: the gauge")
        for domain in domains:
            of = next(d for d in server.get(f"/v1/domain/{domain}").json["datasets"] if d["dataset_id"] == 1)
            mine = [r for r in good if r[0] == domain]
            dxtest.equal((of["row_count"], of["url_count"]), (len(mine), len(urls(mine))), f"{words}: counts of {domain}")
            for into, more in ((found, ""), (tagged, "&tag=sound")):
                page = server.get(f"/v1/domain/{domain}/datasets/1/urls?limit=10000&fields=url,raw_url{more}").json
                dxtest.check("alert(" not in json.dumps(page), f"{words}: a raw_url that is no URL is shown")
                into.update(item["url"] for item in page["items"])
            dxtest.equal(server.get(f"/v1/domain/{domain}/datasets/1/urls?tag=faulty").json["items"], [], f"{words}: tag of faulty rows")
        dxtest.equal(server.get("/v1/domain/elsewhere.org").status, 404, f"{words}: a domain that only faulty rows have")
        for url in random.Random(3).sample(sorted(want), 20):
            reply = server.get(f"/v1/url?u={url}")
            got = reply.json
            if reply.status == 422:  # a faulty row may have the same text
                dxtest.check("left out" in got["detail"] and left_out > 0, f"{words}: {url}: {got}")
                refused[url] = reply
                continue
            dxtest.equal(sum(len(d["rows"]) if "rows" in d else d["row_count"] for d in got["datasets"]), want[url], f"{words}: {url}: {got}")
    dxtest.check(len(refused) < 20, f"{words}: all URLs are refused")
    dxtest.equal(found, want, f"{words}: listings")
    dxtest.equal(tagged, want, f"{words}: listings by tag")
    done = dxtest.domaindex("verify", "--root", root, "--deep", *SMALL, expect=None)
    dxtest.equal(done.returncode, 0, f"{words}: verify: {done.stdout[-500:]} {done.stderr[-500:]}")
    dxtest.check(f"--foreign-rows skip): {left_out}\n".encode() in done.stdout + done.stderr, f"{words}: verify says how many: {done.stdout[-500:]}")


def exported(root, to):
    dxtest.domaindex("export", "--root", root, "--file-store", to)
    return {line.split(",!,")[0] for line in (to / "index").read_text("utf-8").splitlines() if "://" in line}


def stuck(tmp):
    """A file with a column that no file of ours can have keeps its suppressed rows; those of another dataset go."""
    root = tmp / "stuck"
    for name, urls in (("one", b"https://www.own.org/\n"), ("two", b"https://www.hidden.com/b\nhttps://two.org/\n")):
        dxtest.domaindex("ingest", "--root", root, "--dataset", name, "--format", "list", "-", input=urls)
    at = root / "urls" / "dataset_id=1" / "scores.parquet"
    pq.write_table(table([row("hidden.com", "www.hidden.com", "/a")]).append_column("score", pa.array([7], pa.int64())), at)
    publish(root)
    dxtest.domaindex("suppress", "add", "--root", root, "--domain", "hidden.com")
    said = dxtest.domaindex("compact", "--root", root, *SMALL, expect=1).stderr.decode()
    dxtest.check("scores.parquet" in said and "cannot be rewritten" in said and "score" in said, f"a column that is no text: {said}")
    dxtest.domaindex("suppress", "lift", "--root", root, 1)
    found = json.loads(dxtest.domaindex("lookup", "--root", root, "hidden.com").stdout)
    dxtest.equal([d["dataset_id"] for d in found["datasets"]], [1], "the suppressed rows of the other dataset are gone")


def main():
    dxtest.need_programs()
    rng = random.Random(18)
    with dxtest.tempdir() as tmp:
        stuck(tmp)
        root = tmp / "root"
        folder = root / "urls" / "dataset_id=1" / "others"
        dxtest.domaindex("ingest", "--root", root, "--dataset", "one", "--format", "list", "-", input=b"https://www.own.org/\n")
        dxtest.domaindex("ingest", "--root", root, "--dataset", "two", "--format", "list", "-", input=b"https://two.org/\n")
        own = [row("own.org", "www.own.org", "/"), row("two.org", "two.org", "/")]
        publish(root)

        first, good, bad = make(rng, [f"d{i}.com" for i in range(6)], 40, "a")
        by_pyarrow(folder / "arrow.parquet", first)
        said = publish(root, expect=1)
        dxtest.check("left out: urls/dataset_id=1/others/arrow.parquet: row" in said, f"the file is left out: {said}")
        dxtest.equal(current(root)["rows_left_out"], 0, "a version without it")
        said = publish(root, "--foreign-rows", "skip")
        dxtest.check(f"left out: {len(bad)}, of which read now: {len(bad)}" in said and "first row left out: dataset_id=1/others/arrow.parquet: row" in said,
                     f"how many: {said}")
        check_mine(root, good, own, len(bad), "pyarrow's file")

        # An increment, without the option; among its files one of faulty rows alone.
        second, more, worse = make(rng, [f"e{i}.com" for i in range(4)] + ["d1.com"], 300, "b")
        by_duckdb(folder / "duck.parquet", second)
        by_duckdb(folder / "none.parquet", sorted(faulty("d9.com", 5), key=lambda r: (r[3].encode(), r[4].encode())))
        good, bad = good + more, bad + worse + faulty("d9.com", 5)
        said = publish(root)
        dxtest.check(f"left out: {len(bad)}, of which read now: {len(worse) + FAULTS}" in said, f"an increment: {said}")
        check_mine(root, good, own, len(bad), "DuckDB's files merged")
        publish(root, "--full", "--force")
        check_mine(root, good, own, len(bad), "the whole lake")

        keys = {f"{r[2]}://{r[3]}{r[4]}" if r[7] is None or "\r" in r[7] else r[7] for r in good}
        dxtest.equal(exported(root, tmp / "store"), keys | {"https://www.own.org/", "https://two.org/"}, "export")
        dxtest.domaindex("domain64", "init", "--root", root)
        said = dxtest.domaindex("domain64", "fill", "--root", root).stdout.decode()
        dxtest.check(f": rows {len(good) + len(own)}, " in said, f"domain64: {said}")
        manifest = json.loads(dxtest.domaindex("inspect", "--json", root / "index" / "manifest.json").stdout)
        dxtest.equal(manifest["versions"][-1]["rows_left_out"], len(bad), "inspect")

        # A record that only a faulty row (with another url_id) has is not in the lake yet.
        lonely = row("f.com", "www.f.com", "/lonely", url_id=5, tag="faulty")
        by_pyarrow(folder / "lonely.parquet", [lonely, row("f.com", "www.f.com", "/there")])
        publish(root)
        done = dxtest.domaindex("ingest", "--root", root, "--dataset", "one", "--format", "csv", "--url-column", "url", "--extra-column", "tags", "-",
                                input=b'url,tags\nhttps://www.f.com/lonely,"[""faulty""]"\nhttps://www.f.com/there,"[""sound""]"\n')
        publish(root)
        with dxtest.Server(root) as server:
            page = server.get("/v1/domain/f.com/datasets/1/urls?fields=url").json
        dxtest.equal(sorted(i["url"] for i in page["items"]), ["https://www.f.com/lonely", "https://www.f.com/there"], f"ingest: {done.stderr[-300:]}")

        # Another suffix list makes other rows faulty: they are not left out unasked.
        listed = (root / "index" / "manifest.json").read_bytes()
        list_of = root / "psl.dat"
        text = list_of.read_bytes()
        list_of.write_bytes(text + b"\nd1.com\n")
        dxtest.check("column" in publish(root, expect=1), "another suffix list")
        dxtest.equal((root / "index" / "manifest.json").read_bytes(), listed, "nothing changed")
        list_of.write_bytes(text)

        # Files that a compaction writes have no faulty rows: those of other writers it takes for suppressed rows.
        dxtest.domaindex("suppress", "add", "--root", root, "--domain", "d1.com")
        dxtest.domaindex("compact", "--root", root, *SMALL)
        good = [r for r in good if r[0] != "d1.com"]
        check_mine(root, good, [*own, *own], FAULTS + 1, "after a compaction")  # of none.parquet and lonely.parquet; f.com has two rows

        # Refused again, as whole files.
        said = publish(root, "--foreign-rows", "refuse", "--full", expect=1)
        dxtest.check("left out: urls/dataset_id=1/others/lonely.parquet: row 0: column url_id" in said, f"--full and refuse: {said}")
        dxtest.equal(current(root)["rows_left_out"], 0, "without the files")
        by_pyarrow(folder / "again.parquet", first)
        dxtest.check("again.parquet: row" in publish(root, expect=1), "refuse is the rule where no row is left out")
        publish(root, "--foreign-rows", "skip")
        dxtest.check(current(root)["rows_left_out"] > 0, "taken")
        dxtest.check(b"neither refuse nor skip" in dxtest.domaindex("publish", "--root", root, "--foreign-rows", "x", expect=2).stderr, "a usage error")
    dxtest.finish()


def check_mine(root, good, own, left_out, words):
    """good: of the foreign files; the version has the rows `own` beside them."""
    found = current(root)
    dxtest.equal((found["rows"], found["rows_left_out"]), (len(good) + len(own), left_out), f"{words}: rows of the version")
    check(root, good, left_out, words)


if __name__ == "__main__":
    main()
