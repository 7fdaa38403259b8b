# SPDX-License-Identifier: Apache-2.0
# labels: peers
"""The lake as other programs read it: `domaindex files` names exactly the rows of a version (DuckDB), and they are those of
the index but for what suppressions hide; pandas, pyarrow, DuckDB and Polars read the folder `urls/`; a root whose lake has
the names of before is refused with the command to run."""
import collections
import json
import shutil
import subprocess

import dxtest

DOMAINS = [f"d{i}.com" for i in range(12)]
SMALL = ["--memory", "64M", "--threads", "1"]


def ingest(root, dataset, number, *more):
    lines = "".join(f"http://{h}{name}/{number}/{i}\n" for name in DOMAINS for h in ("", "www.") for i in range(3))
    dxtest.domaindex("ingest", "--root", root, "--dataset", dataset, "--format", "list", *more, "-", input=lines.encode())


def publish(root):
    return dxtest.domaindex("publish", "--root", root, *SMALL).stdout.decode().strip()


def files(root, *more):
    return dxtest.domaindex("files", "--root", root, *more).stdout.decode().splitlines()


def rows_of(paths):
    import duckdb
    if not paths:
        return collections.Counter()
    sql = f"select dataset_id, scheme || '://' || host || path_query from read_parquet({paths!r})"
    return collections.Counter(duckdb.sql(sql).fetchall())


def rows_of_index(root):
    found = collections.Counter()
    with dxtest.Server(root) as server:
        for name in DOMAINS:
            reply = server.get(f"/v1/domain/{name}")
            for dataset in reply.json.get("datasets", []) if reply.status == 200 else []:
                of = dataset["dataset_id"]
                page = server.get(f"/v1/domain/{name}/datasets/{of}/urls?limit=1000&fields=url")
                if page.status == 200:
                    dxtest.equal(page.json["next_offset"], None, "one page")
                    found.update((of, item["url"]) for item in page.json["items"])
    return found


def hidden(row, rules):
    url = row[1].split("://")[1]
    for rule in rules:
        kind, value = rule["kind"], rule["value"]
        host = url.split("/")[0]
        if kind == "domain" and (host == value or host.endswith("." + value)) or kind == "host" and host == value \
                or kind == "prefix" and url.startswith(value) or kind == "url" and row[1] == value:
            return True
    return False


def make(root):
    """Rows of a removed dataset, replaced rows, rows not published yet, files of before a compaction."""
    versions = []
    for number in range(3):
        ingest(root, "kept", number)
        ingest(root, f"other{number}", number)
        versions.append(publish(root))
    dxtest.domaindex("remove", "--root", root, "--dataset", "other0")
    ingest(root, "other1", 7, "--replace")
    versions.append(publish(root))
    dxtest.domaindex("compact", "--root", root, *SMALL)
    ingest(root, "other2", 8)
    versions.append(publish(root))
    ingest(root, "later", 9)
    dxtest.domaindex("suppress", "add", "--root", root, "--domain", "d1.com", "--host", "www.d2.com", "--prefix", "http://d3.com/1",
                     "--url", "http://d4.com/0/1")
    return versions


def check_files(root, versions):
    rules = [r for r in json.loads(dxtest.domaindex("suppress", "list", "--root", root, "--json").stdout)["suppressions"]]
    listed = files(root)
    want = collections.Counter({row: n for row, n in rows_of(listed).items() if not hidden(row, rules)})
    dxtest.equal(rows_of_index(root), want, "rows of the list without what rules hide, and rows of the index")
    dxtest.check(sum(rows_of(listed).values()) > sum(want.values()), "the rules hide nothing")
    every = [str(p) for p in root.resolve().glob("urls/**/*.parquet")]
    dxtest.check(set(listed) < set(every), f"the folder has more than the version: {len(listed)}, {len(every)}")
    dxtest.check(all(p.startswith("/") for p in listed), f"absolute paths: {listed[0]}")
    shown = json.loads(dxtest.domaindex("files", "--root", root, "--json").stdout)
    dxtest.equal(([f["path"] for f in shown["files"]], shown["version"]), (listed, versions[-1]), "--json")
    ids = {f["dataset"]: f["dataset_id"] for f in shown["files"]}
    dxtest.equal(sorted(ids), ["kept", "other1", "other2"], "datasets of the version")
    one = files(root, "--dataset", "other2")
    dxtest.equal({row[0] for row in rows_of(one)}, {ids["other2"]}, "--dataset")
    dxtest.equal(sorted(one + files(root, "--dataset", "kept", "--dataset", str(ids["other1"]))), sorted(listed), "by id, and several")
    dxtest.check(files(root, "--version", versions[0]) != listed, "--version")
    dxtest.domaindex("files", "--root", root, "--dataset", "other0", expect=1)
    dxtest.domaindex("files", "--root", root, "--version", "000099-20260101T000000Z", expect=1)
    dxtest.domaindex("files", "--root", root, "x", expect=2)


def check_folder(root):
    """Without options, each program reads all that is there."""
    import duckdb
    import pandas
    import polars
    import pyarrow.dataset
    import pyarrow.parquet
    lake = str(root / "urls")
    want = sum(rows_of([str(p) for p in root.glob("urls/**/*.parquet")]).values())
    frame, table = pandas.read_parquet(lake), pyarrow.parquet.read_table(lake)
    hive, rows = pyarrow.dataset.dataset(lake, partitioning="hive").to_table(), polars.read_parquet(lake)
    dxtest.equal(len(frame), want, "pandas")
    dxtest.equal(table.num_rows, want, "pyarrow.parquet")
    dxtest.equal(pyarrow.dataset.dataset(lake).count_rows(), want, "pyarrow.dataset")
    dxtest.equal(hive.num_rows, want, "pyarrow.dataset, hive")
    dxtest.equal(len(rows), want, "Polars")
    dxtest.equal(duckdb.sql(f"select count(*) from '{lake}/**/*.parquet'").fetchall(), [(want,)], "DuckDB")
    ids = {int(p.name.split("=")[1]) for p in (root / "urls").iterdir() if "=" in p.name}
    for name, got in (("pandas", frame["dataset_id"].unique()),
                      ("pyarrow", table["dataset_id"].unique().to_pylist()),
                      ("pyarrow.dataset, hive", hive["dataset_id"].unique().to_pylist()),
                      ("Polars", rows["dataset_id"].unique()),
                      ("DuckDB", [r[0] for r in duckdb.sql(f"select distinct dataset_id from '{lake}/**/*.parquet'").fetchall()])):
        dxtest.equal({int(i) for i in got}, ids, f"{name}: dataset_id")


def check_foreign(root, tmp):
    """Files with a column dataset_id, as others write them: that of the path, or refused."""
    import pyarrow
    import pyarrow.parquet
    copy = tmp / "foreign"
    shutil.copytree(root, copy)
    source = next((copy / "urls").glob("dataset_id=1/*/*.parquet"))
    table = pyarrow.parquet.ParquetFile(source).read().replace_schema_metadata(None)
    for given, want in ((2, 1), (1, 0)):
        column = pyarrow.array([given] * table.num_rows, pyarrow.int32())
        host = pyarrow.array([f"x.{h}" for h in table["host"].to_pylist()])
        rows = table.set_column(table.schema.get_field_index("host"), "host", host).drop_columns(["url_id"])
        pyarrow.parquet.write_table(rows.add_column(0, "dataset_id", column), source.parent / "foreign-7.parquet")
        done = dxtest.domaindex("publish", "--root", copy, *SMALL, expect=None)
        dxtest.check(done.returncode == want and (b"dataset_id is 2" in done.stderr) == (want == 1), f"{given}: {done.stderr[-300:]}")


def check_old_names(root, tmp):
    old = tmp / "old"
    shutil.copytree(root, old)
    for name in ("psl.dat", "registry.json"):
        (old / name).rename(old / "urls" / name)
    said = ""
    for command in (["publish", *SMALL], ["suppress", "add", "--domain", "x.com"], ["remove", "--dataset", "kept"],
                    ["ingest", "--dataset", "kept", "--format", "list", "-"]):
        said = dxtest.domaindex(*command, "--root", old, input=b"x.com\n", expect=None)
        dxtest.check(said.returncode == 1 and b"run: mv " in said.stderr, f"{command[0]}: {said.returncode} {said.stderr[-300:]}")
    subprocess.run(["sh", "-ec", said.stderr.decode().split("run: ")[1]], check=True)
    publish(old)


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        root = tmp / "root"
        versions = make(root)
        check_files(root, versions)
        check_foreign(root, tmp)
        check_old_names(root, tmp)
        check_folder(root)
    dxtest.finish()


main()
