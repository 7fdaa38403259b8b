# SPDX-License-Identifier: Apache-2.0
# labels: slow peers
"""compact changes no answer, and makes the index that a new lake of just its files would have.

Random records in several ingests with different columns beside the URL, published now and then;
then for each domain and dataset the answer and the whole listing with all fields, before and after
(rows of a listing compared as a set: their order may change). The bytes of lake and index do not
depend on --threads and --memory; DuckDB counts the same rows in the new files; a second compaction
finds nothing to do; a dry run changes nothing; after a rollback the files can be merged again.

In detail: random lakes of several ingests (`DX_SEEDS`): every answer and listing with all fields before and
after `compact`; the index byte for byte that of a new root with just its files; DuckDB's counts; same bytes
with other memory and threads.
"""
import hashlib
import json
import os
import random
import shutil
import sys

import corpus
import dxtest
import no_pandas  # noqa: F401
import roots

FIELDS = "url_id,url,ts,raw_url,extras"
SEEDS = tuple(map(int, os.environ.get("DX_SEEDS", "1").split()))
ROWS = 1000 if dxtest.WHOLE else 200    # of 300 datasets, in the gate of 30: each has a file for each ingest


def ingest(root, tmp, rng, rows):
    """One run: of the same records twice, in time or not, with one of several sets of columns."""
    source = tmp / "rows.tsv"
    with open(source, "w", encoding="utf-8") as out:
        for dataset, ts, url, extra in rows:
            print(dataset, ts, url, extra, rng.choice(("", "x", extra)), sep="\t", file=out)
    columns = rng.choice(((), (4,), (5,), (4, 5), (5, 4)))
    dxtest.domaindex("ingest", "--root", root, "--format", "tsv", "--dataset-column", 1,
                     "--no-ts" if rng.random() < 0.2 else "--ts-column=2", "--url-column", 3,
                     "--no-header", *(f"--extra-column={c}" for c in columns), source)


def make(root, tmp, seed):
    rng = random.Random(seed)
    rows = [raw if dxtest.WHOLE else (raw[0][:-1], *raw[1:]) for raw, _ in corpus.rows(seed=seed, count=ROWS)]
    for i in range(rng.randint(4, 7)):
        ingest(root, tmp, rng, rng.sample(rows, rng.randint(50, ROWS)))
        if i == 1 or rng.random() < 0.4:
            dxtest.domaindex("publish", "--root", root, "--quiet")


def manifest(root):
    return json.loads((root / "index" / "manifest.json").read_text())


def answers(root):
    """{(domain, dataset): facts and rows}; rows sorted."""
    found = {}
    with dxtest.Server(root) as server:
        for domain in roots.domains(root):
            whole = server.get(f"/v1/domain/{domain}").json
            for key in ("version", "request_id"):
                whole.pop(key, None)
            found[domain] = whole
            for one in whole["datasets"]:
                rows, offset = [], 0
                while True:
                    page = server.get(f"/v1/domain/{domain}/datasets/{one['dataset_id']}/urls"
                                      f"?fields={FIELDS}&limit=1000&offset={offset}").json
                    rows += [json.dumps(row, sort_keys=True) for row in page["items"]]
                    offset += len(page["items"])
                    if offset >= page["total"] or not page["items"]:
                        break
                dxtest.equal(len(rows), one["row_count"], f"{domain}, {one['name']}: rows listed")
                found[domain, one["dataset_id"]] = sorted(rows)
    return found


def tree(folder, but=()):
    return {str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest()
            for p in sorted(folder.rglob("*")) if p.is_file() and p.name not in but}


def current(root):
    whole = manifest(root)
    return next(v for v in whole["versions"] if v["version"] == whole["current_version"])


def lake_files(root):
    return [fields[3] for fields in roots.lake_lines(root, current(root)["version"])]


def check_fresh(root, tmp, words):
    """A root of just these files, published whole: the same index, byte for byte."""
    fresh = tmp / "fresh"
    shutil.rmtree(fresh, ignore_errors=True)
    for path in lake_files(root):
        to = fresh / "urls" / path
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / "urls" / path, to)
    for name in ("registry.json", "psl.dat"):
        shutil.copy(root / name, fresh / name)
    dxtest.domaindex("publish", "--root", fresh, "--full", "--quiet")
    dxtest.equal(tree(root / "index" / current(root)["version"]),
                 tree(fresh / "index" / current(fresh)["version"]), f"{words}: bytes of the index")


def count_by_duckdb(root):
    import duckdb
    files = [str(root / "urls" / path) for path in lake_files(root)]
    return duckdb.sql(
        "select dataset_id, domain, count(*), count(raw_url), count(ts), "
        "count(distinct scheme || '://' || host || path_query) "
        "from read_parquet(?, union_by_name=true) group by 1, 2 order by 1, 2",
        params=[files]).fetchall()


def check_counts(root, before, words):
    rows = count_by_duckdb(root)
    got = {(domain, dataset): n for dataset, domain, n, *_ in rows}
    want = {key: len(rows) for key, rows in before.items() if isinstance(key, tuple)}
    dxtest.equal(got, want, f"{words}: rows that DuckDB counts")


def one(seed, tmp):
    root, words = tmp / "root", f"seed {seed}"
    make(root, tmp, seed)
    dxtest.domaindex("publish", "--root", root, "--quiet")
    before, first = answers(root), current(root)["version"]
    check_counts(root, before, words)
    was = tree(root)
    dxtest.domaindex("compact", "--root", root, "--dry-run")
    dxtest.equal(tree(root), was, f"{words}: a dry run changes nothing")
    trees = []
    for memory, threads in (("64M", 1), ("256M", 3)):
        copy = tmp / f"copy-{threads}"
        shutil.copytree(root, copy)
        dxtest.domaindex("compact", "--root", copy, "--memory", memory, "--threads", threads,
                         env={"SOURCE_DATE_EPOCH": "1893456000"})
        trees.append(tree(copy, but=(".lock",)))
        shutil.rmtree(copy)
    dxtest.equal(trees[1], trees[0], f"{words}: bytes with other memory and threads")
    dxtest.domaindex("compact", "--root", root)
    after = answers(root)
    dxtest.equal(sorted(map(str, after)), sorted(map(str, before)), f"{words}: domains and datasets")
    for key, want in before.items():
        dxtest.equal(after.get(key), want, f"{words}: {key}")
    dxtest.check(len(lake_files(root)) == len({key[1] for key in after if isinstance(key, tuple)}),
                 f"{words}: a file a dataset: {lake_files(root)}")
    check_counts(root, before, words)
    check_fresh(root, tmp, words)
    dxtest.domaindex("verify", "--root", root)
    second = current(root)["version"]
    done = dxtest.domaindex("compact", "--root", root)
    dxtest.equal((done.stdout.decode().strip(), b"nothing to do" in done.stderr), (second, True),
                 f"{words}: a second compaction")
    dxtest.domaindex("rollback", "--root", root, first)
    dxtest.domaindex("compact", "--root", root)
    again = answers(root)
    dxtest.equal(again, after, f"{words}: answers after a rollback and a compaction")
    print(f"{words}: {len(before)} answers, {len(before) - len(roots.domains(root))} listings", flush=True)


def main():
    dxtest.need_programs()
    try:
        import duckdb  # noqa: F401
    except ImportError:
        dxtest.skip("no duckdb for this Python")
    for seed in SEEDS:
        with dxtest.tempdir() as tmp:
            one(seed, tmp)
    dxtest.finish()


if __name__ == "__main__":
    sys.exit(main())
