#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: peers
"""The lake as Iceberg tables: PyIceberg reads the rows that the model has, by the name of a dataset and by the name of a version.

Made-up rows (tests/support/corpus.py), with a column more in the second ingest. After a publish, a second one, the removal of a dataset,
suppressions of four kinds and a rollback: the rows of the current snapshot and of the tag of each version, and the table of presence, against the
model; an update that has nothing to do writes nothing, and what a version no longer needs is removed. Files of another writer with odd columns,
numbers of columns and false bounds. Two updates at once; metadata that was cut, and a folder that was moved, are errors. With DuckDB's extension at hand (tests/e2e/requirements-iceberg.txt) it reads the same. The same
root on an S3 server.

Without DX_WHOLE=1 the made-up rows in a directory alone; files of other writers, too many columns, hidden texts and the S3 server with it.
"""
import collections
import contextlib
import importlib
import importlib.util
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys

import corpus
import dxtest
import hostile_lake
import no_pandas  # noqa: F401
import oracle
import stores
from dxtest import check, equal

ROWS = 6000 if dxtest.WHOLE else 400
ENVIRONMENT = {"PYTHONPATH": f"{dxtest.SOURCE / 'python' / 'src'}", "DOMAINDEX_PROGRAM": str(dxtest.DOMAINDEX), "DOMAINDEX_LIBRARY": str(dxtest.BIN / "libdomaindex.so.1")}


def update(root, **options):
    return importlib.import_module("domaindex.iceberg").update(root, **options)


def command(root, *arguments, expect=0):
    return dxtest.run(sys.executable, "-m", "domaindex.iceberg", root, *arguments, expect=expect, env=ENVIRONMENT)


def in_process(root):
    """The exit code of the command and its standard error, without the half second of a start."""
    with contextlib.redirect_stderr(io.StringIO()) as stderr:
        code = importlib.import_module("domaindex.iceberg").main([str(root)])
    return code, stderr.getvalue()


class World:
    """A root with its model: rows[dataset name] = set of (url, ts seconds or None, extra); states by version."""

    def __init__(self, root, tmp):
        self.root, self.tmp, self.rows, self.states, self.known = root, tmp, collections.defaultdict(set), {}, {}

    def ingest(self, seed, count, *more):
        with open(self.tmp / "rows.tsv", "w", encoding="utf-8") as out:
            for raw, want in corpus.rows(seed=seed, count=count):
                dataset = raw[0] if dxtest.WHOLE else f"set-{int(raw[0][4:]) % 6}"     # a file each, which its readers open in Python
                print(dataset, *raw[1:], "x", sep="\t", file=out)
                if want is not None:
                    _, _, url, ts, extra = want
                    self.rows[dataset].add((url, ts, extra if "4" in map(str, more) else "x"))
        dxtest.domaindex("ingest", "--root", self.root, "--format", "tsv", "--dataset-column", 1, "--ts-column", 2, "--url-column", 3, "--no-header", *more,
                         self.tmp / "rows.tsv")

    def publish(self, *more, **options):
        version = dxtest.domaindex("publish", "--root", self.root, "--memory", "64M", "--threads", 1, *more, **options).stdout.decode().split()[0]
        self.states[version] = {name: set(rows) for name, rows in self.rows.items() if rows}
        self.names()
        return version

    def names(self):
        answer = json.loads(dxtest.domaindex("datasets", "--root", self.root, "--json").stdout)
        self.known.update({d["dataset_id"]: d["name"] for d in answer["datasets"]})
        return self.known      # of older versions too


def metadata_of(folder):
    """The newest metadata file of a table in a directory."""
    return f"{folder}/metadata/v{pathlib.Path(folder, 'metadata', 'version-hint.text').read_text()}.metadata.json"


def rows_of(arrow, names):
    found = collections.defaultdict(collections.Counter)
    for row in arrow.select(["dataset_id", "scheme", "host", "path_query", "ts"]).to_pylist():
        found[names[row["dataset_id"]]][f"{row['scheme']}://{row['host']}{row['path_query']}", row["ts"] and int(row["ts"].timestamp())] += 1
    return found


def same(got, want, words):
    """Counts of (url, ts): rows that differ in an extra column alone are several."""
    equal(sorted(got), sorted(want), f"{words}: datasets")
    for name, rows in want.items():
        have, counts = got.get(name, collections.Counter()), collections.Counter(row[:2] for row in rows)
        check(have == counts, f"{words}: rows of {name}: {sum(have.values())}, not {len(rows)}; e.g. {list((have - counts) + (counts - have))[:2]}")


def table_at(metadata, properties=None):
    from pyiceberg.table import StaticTable
    return StaticTable.from_metadata(metadata, properties or {})


def compare(world, metadata, current, versions, properties=None, whole=dxtest.WHOLE):
    """whole: the rows of each tag too."""
    table, names = table_at(metadata, properties), world.names()
    same(rows_of(table.scan().to_arrow(), names), world.states[current], "the current snapshot")
    tags = {name for name, ref in table.metadata.refs.items() if ref.snapshot_ref_type == "tag"}
    equal(tags, set(versions), "a tag for each version")
    for version in versions if whole else ():
        at = table.snapshot_by_name(version).snapshot_id
        same(rows_of(table.scan(snapshot_id=at).to_arrow(), names), world.states[version], f"the tag of {version}")
    name = sorted(world.states[current])[0]
    number = max(n for n, text in names.items() if text == name)
    some = table.scan(row_filter=f"dataset_id = {number}")
    check(len(list(some.plan_files())) < len(list(table.scan().plan_files())) or len(names) == 1, "a filter by dataset leaves files out")
    same(rows_of(some.to_arrow(), names), {name: world.states[current][name]}, "a filter by dataset")


def with_duckdb(world, metadata, current):
    """By the extension that PyPI has for one version of DuckDB."""
    if not all(importlib.util.find_spec(f"duckdb_extension_{name}") for name in ("avro", "iceberg")):
        return False
    import duckdb
    db = duckdb.connect(config={"extension_directory": str(world.tmp / "extensions")})
    for name in ("avro", "iceberg"):
        folder = pathlib.Path(importlib.import_module(f"duckdb_extension_{name}").__file__).parent
        db.execute(f"INSTALL '{folder}/extensions/v{duckdb.__version__}/{name}.duckdb_extension'; LOAD {name}")
    db.execute("SET TimeZone = 'UTC'")
    got = collections.defaultdict(collections.Counter)
    for dataset, url, ts in db.execute(f"SELECT dataset_id, scheme || '://' || host || path_query, epoch_us(ts) FROM iceberg_scan('{metadata}')").fetchall():
        got[dataset][url, ts and ts // 1000000] += 1
    names = world.names()
    same({names[n]: rows for n, rows in got.items()}, world.states[current], "DuckDB")
    return True


def presence(world, metadata, current):
    """Against the answers of a server, which other tests compare with the model."""
    got = collections.defaultdict(dict)
    for row in table_at(metadata).scan().to_arrow().to_pylist():
        got[row["domain"]][row["dataset"]] = (row["url_count"], row["row_count"])
    with dxtest.Server(world.root) as server:
        equal(sorted(got), sorted(d["domain"] for d in server.get("/v1/domains?limit=10000").json["domains"]), "domains of the presence table")
        for domain in sorted(got)[::7]:
            answer = server.get(f"/v1/domain/{domain}").json
            equal(answer["version"], current, "the version that is served")
            equal(got[domain], {d["name"]: (d["url_count"], d["row_count"]) for d in answer["datasets"]}, f"presence of {domain}")


def files_of(folder):
    return sorted(str(p.relative_to(folder)) for p in pathlib.Path(folder).rglob("*") if p.is_file())


def hide(world):
    """Rules of each kind: what they hit goes from every state."""
    urls = sorted({row[0] for rows in world.rows.values() for row in rows})
    parts = [url.partition("://")[2].partition("/") for url in urls]
    host = parts[len(parts) // 3][0]
    with_path = next(p for p in parts[len(parts) // 2:] if p[2].count("/") >= 1 and p[0] != host)
    prefix = f"{with_path[0]}/{with_path[2].split('/')[0]}/"
    one = next(u for u in urls[::-1] if u.partition("://")[2].partition("/")[0] not in (host, with_path[0]))
    domain = next(p[0] for p in parts[len(parts) // 4:] if p[0].count(".") == 1 and p[0].endswith(".com"))
    for kind, value in (("host", host), ("prefix", f"http://{prefix}"), ("url", one), ("domain", domain)):
        dxtest.domaindex("suppress", "add", "--root", world.root, f"--{kind}", value)

    def hidden(url):
        name, slash, path = url.partition("://")[2].partition("/")
        bare = name.rsplit(":", 1)[0]
        return name == host or (name + slash + path).startswith(prefix) or url == one or bare == domain or bare.endswith("." + domain)

    count = 0
    for state in [*world.states.values(), world.rows]:
        for name in list(state):
            count += sum(1 for row in state[name] if hidden(row[0]))
            state[name] = {row for row in state[name] if not hidden(row[0])}
            if not state[name]:
                del state[name]
    check(count > 20, f"{count} rows are hidden")


def in_a_directory(tmp):
    world = World(tmp / "root", tmp)
    rows, counts = world.root / "iceberg" / "rows", world.root / "iceberg" / "presence"
    code, stderr = in_process(world.root)
    check(code == 1 and ("nothing is published" in stderr or "manifest" in stderr), f"{code} {stderr}")
    world.ingest(1, ROWS, "--extra-column", 4)
    first = world.publish("--iceberg", env={**ENVIRONMENT, "DOMAINDEX_PYTHON": sys.executable})
    without = dxtest.domaindex("publish", "--root", world.root, "--iceberg", env={"DOMAINDEX_PYTHON": "/nonexistent/python"}, expect=1)
    check(b"/nonexistent/python" in without.stderr and without.stdout.split() == [first.encode()], f"without a Python: {without}")
    compare(world, metadata_of(rows), first, [first])
    if dxtest.WHOLE:
        presence(world, metadata_of(counts), first)
    before = files_of(world.root / "iceberg")
    equal(update(world.root), False, "whether the tables changed")
    equal(files_of(world.root / "iceberg"), before, "an update that has nothing to do")

    world.ingest(2, ROWS // 10, "--extra-column", 5)     # a column that the first files do not have
    second = world.publish()
    update(world.root)
    if dxtest.WHOLE:    # else the third one has its tag
        compare(world, metadata_of(rows), second, [first, second])
    gone = sorted(world.rows)[1]
    dxtest.domaindex("remove", "--root", world.root, "--dataset", gone)
    del world.rows[gone]
    third = world.publish()
    hide(world)
    both = "import no_pandas, sys, domaindex.iceberg as tables; sys.exit(tables.main(sys.argv[1:]))"
    env = {**os.environ, **ENVIRONMENT, "PYTHONPATH": f"{ENVIRONMENT['PYTHONPATH']}:{dxtest.SOURCE / 'tests' / 'support'}"}
    running = [subprocess.Popen([sys.executable, "-c", both, str(world.root)], env=env) for _ in range(2)]
    equal([process.wait(timeout=120) for process in running], [0, 0], "two updates at once")
    compare(world, metadata_of(rows), third, [first, second, third], whole=True)
    presence(world, metadata_of(counts), third)
    duckdb = with_duckdb(world, metadata_of(rows), third)
    dxtest.domaindex("rollback", "--root", world.root, first)
    update(world.root)
    if dxtest.WHOLE:    # else with the versions that gc leaves
        compare(world, metadata_of(rows), first, [first, second, third])
    dxtest.domaindex("gc", "--root", world.root, "--keep", 1, "--keep-for", "0s", "--lease-ttl", "0s", "--cursor-life", "0s", "--max-share", 100, "--delete")
    kept = [v["version"] for v in json.loads(dxtest.domaindex("versions", "--root", world.root, "--json").stdout)["versions"] if v["state"] == "listed"]
    update(world.root)
    compare(world, metadata_of(rows), first, kept)

    moved = tmp / "moved"
    shutil.copytree(world.root, moved)
    code, stderr = in_process(moved)
    check(code == 1 and "are absolute" in stderr, f"a folder that was moved: {code} {stderr}")
    newest = pathlib.Path(metadata_of(rows))
    newest.write_bytes(newest.read_bytes()[:1000])
    code, stderr = in_process(world.root)
    check(code == 1 and str(newest) in stderr, f"metadata that was cut: {code} {stderr}")
    print(f"{len(world.states)} versions, {sum(map(len, world.states[first].values()))} rows; {'' if duckdb else 'no '}DuckDB extension")


def on_a_store(tmp):
    with stores.kinds()[0]() as store, stores.environment(store.env):
        store.bucket("lake")
        world = World(store.root("lake", "a/root"), tmp)
        world.ingest(3, ROWS // 5, "--extra-column", 4)
        first = world.publish()
        update(world.root)
        world.ingest(4, ROWS // 10, "--extra-column", 5)
        second = world.publish()
        update(world.root, presence=False)
        number = store.get("lake", "a/root/iceberg/rows/metadata/version-hint.text").decode()
        properties = {"s3.endpoint": store.env["AWS_ENDPOINT_URL_S3"], "s3.access-key-id": stores.KEY_ID, "s3.secret-access-key": stores.SECRET, "s3.region": stores.REGION,
                      "py-io-impl": "pyiceberg.io.pyarrow.PyArrowFileIO"}
        compare(world, f"s3://lake/a/root/iceberg/rows/metadata/v{number}.metadata.json", second, [first, second], properties)
        overtaken(world, store, tmp, [first, second], properties)


def overtaken(world, store, tmp, versions, properties):
    """Of two updates on a store the slower one begins again, and removes nothing of the faster one; a metadata file that is there stays."""
    module = importlib.import_module("domaindex._iceberg_table")
    world.ingest(5, ROWS // 10, "--extra-column", 4)
    versions.append(world.publish())
    put, faster = module.Table._put_metadata, []

    def put_late(table, data):
        if not faster:
            faster.append(command(world.root, "--no-presence"))
        put(table, data)

    module.Table._put_metadata = put_late
    try:
        check(not update(world.root, presence=False), "the slower update has nothing to do in the end")
    finally:
        module.Table._put_metadata = put
    check(len(faster) == 1, "another update was faster")
    hint = "a/root/iceberg/rows/metadata/version-hint.text"
    number = store.get("lake", hint).decode()
    (tmp / "metadata").write_text("{}")
    for late in (1, int(number)):
        refused = dxtest.domaindex("commit-table", "--root", world.root, "--table", "rows", "--number", late, tmp / "metadata", expect=None)
        check(late == 1 or (refused.returncode == 1 and b"another update was faster" in refused.stderr), f"metadata file {late}: {refused}")
        equal(store.get("lake", hint).decode(), number, f"the hint after metadata file {late}")
    compare(world, f"s3://lake/a/root/iceberg/rows/metadata/v{number}.metadata.json", versions[-1], versions, properties)
    half = tmp / "half"     # where the hint cannot be written the update counts all the same
    (half / "iceberg/rows/metadata/version-hint.text").mkdir(parents=True)
    said = dxtest.domaindex("commit-table", "--root", half, "--table", "rows", "--number", 1, tmp / "metadata", expect=1).stderr
    check(b"v1.metadata.json is the newest metadata, but its number is not in the hint" in said, f"no hint: {said}")
    check((half / "iceberg/rows/metadata/v1.metadata.json").is_file(), "metadata without a hint")



def prepare():
    sys.path.insert(0, ENVIRONMENT["PYTHONPATH"])
    os.environ.update({name: value for name, value in ENVIRONMENT.items() if name != "PYTHONPATH"})


def lying(folder):
    """A row of secret.com in a file whose bounds are those of another domain."""
    hostile_lake.write(folder / "lying.parquet", hostile_lake.table(domain="secret.com", host="secret.com"))
    data = (folder / "lying.parquet").read_bytes()
    begin = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    footer = data[begin:].replace(b"secret.com", b"zzzzzz.com")
    check(footer != data[begin:], "the footer has bounds")
    (folder / "lying.parquet").write_bytes(data[:begin] + footer)


def odd_files():
    """What another writer may put into its dataset: columns that are taken as they are, and others that no answer shows."""
    import pyarrow as pa
    table, plain = hostile_lake.table, hostile_lake.plain
    number = pa.schema([pa.field(f.name, f.type, metadata={b"PARQUET:field_id": str(9 - i).encode()}) for i, f in enumerate(table().schema)])
    yield "text", plain(table(extras={"Domain": pa.array(["x"]), "_file": pa.array(["y"])})), {"Domain_": "x", "_file_": "y"}
    yield "numbers", plain(table(extras={"big": pa.array([2**40]), "share": pa.array([1.5]), "title": pa.array(["t"])})), {"title": "t"}
    yield "nested", plain(table(extras={"list": pa.array([["a"]]), "pair": pa.array([{"a": 1}]), "none": pa.nulls(1)})), {}
    yield "two of one name", plain(table(extras={"Lang": pa.array(["en"]), "lang": pa.array(["de"])})), {"Lang": "en", "lang_": "de"}
    yield "numbers of columns", plain(table().cast(number)), {}
    yield "nanoseconds", plain(table(ts=1700000000 * 10**9, ts_type=pa.timestamp("ns"))), {}


def other_writers(tmp):
    """Files of one dataset do not stop the tables, show what is suppressed, or hide the rows of others."""
    lake, paths = hostile_lake.Lake(tmp), 0
    for words, put, extras in odd_files():
        lake.add_news()
        put(lake.place())
        lake.publish(0)
        update(lake.root, presence=False)
        rows = table_at(metadata_of(f"{lake.root}/iceberg/rows")).scan().to_arrow().to_pylist()
        paths += 1
        equal(sorted(r["domain"] for r in rows), sorted(["one.org", "two.org"] * (lake.news + 1) + ["three.org"] + ["example.com"] * paths), f"{words}: domains")
        for name, value in extras.items():
            equal([r[name] for r in rows if r.get(name) is not None], [value], f"{words}: {name}")
        check(all(r["ts"] is None or r["ts"].timestamp() == 1700000000 for r in rows), f"{words}: times")
    check(not update(lake.root, presence=False), "nothing more to do")
    lying(lake.place())
    lake.publish(0)
    dxtest.domaindex("suppress", "add", "--root", lake.root, "--domain", "secret.com", "--policy", "absent")
    update(lake.root, presence=False)
    rows = table_at(metadata_of(f"{lake.root}/iceberg/rows")).scan().to_arrow().to_pylist()
    check(len(rows) > paths and all(r["domain"] != "secret.com" for r in rows), "a suppressed row of a file with false bounds")


def answered(root, *domains):
    """(url, raw_url, requested_url, locator) of all rows of the domains, as `lookup` answers them."""
    lines = dxtest.domaindex("lookup", "--root", root, "--all-urls", "--fields", "url,raw_url,extras,locator", *domains, expect=None).stdout.splitlines()
    items = [item for line in lines for item in json.loads(line).get("items", [])]
    return sorted(((i["url"], i["raw_url"], i["extras"].get("requested_url"), i["locator"]) for i in items), key=str)


def emptied_texts(tmp):
    """Of a row whose requested URL is suppressed and whose own is not, the table has what answers have: the row, with null in the columns that tell
    it; in a tag of an older version too. Once the rule is lifted it is the lake's own file again."""
    root, domains = tmp / "emptied", [f"d{i}.com" for i in range(1, 10)]
    lines = [("http://d1.com/asked", "http://d2.com/canon"), ("HTTP://D1.com:80/Other", "http://d3.com/canon"), ("http://d4.com/asked", "http://d5.com/canon"),
             ("http://d1.com/own", ""), ("http://WWW.d6.com:80/a", ""), ("http://d7.com/asked", "http://d1.com/gone")]
    (tmp / "asked.tsv").write_text("url\tcanon\n" + "".join(f"{url}\t{canon}\n" for url, canon in lines))
    dxtest.domaindex("ingest", "--root", root, "--dataset", "one", "--format", "tsv", "--url-column", "url", "--canonical-column", "canon", "--locators", tmp / "asked.tsv")
    dxtest.domaindex("publish", "--root", root)
    dxtest.domaindex("ingest", "--root", root, "--dataset", "two", "--format", "list", "-", input=b"http://d8.com/\n")
    dxtest.domaindex("publish", "--root", root)
    names = [v["version"] for v in json.loads(dxtest.domaindex("versions", "--root", root, "--json").stdout)["versions"]]

    def have(snapshot=None):
        rows = table_at(metadata_of(f"{root}/iceberg/rows")).scan(snapshot_id=snapshot).to_arrow().to_pylist()
        return sorted(((f"{r['scheme']}://{r['host']}{r['path_query']}", r["raw_url"], r["requested_url"], r["locator"]) for r in rows), key=str)

    def copies():
        return [name for name in files_of(root / "iceberg") if "/shown-" in name]

    update(root, presence=False)
    before = answered(root, *domains)
    equal(have(), before, "before there is a rule")
    dxtest.domaindex("suppress", "add", "--root", root, "--domain", "d1.com")
    update(root, presence=False)
    want = answered(root, *domains)
    check(("http://d2.com/canon", None, None, None) in want and ("http://d3.com/canon", None, None, None) in want, f"answers: {want}")
    equal(have(), want, "where the requested URL is suppressed")
    metadata = table_at(metadata_of(f"{root}/iceberg/rows"))
    for name in names:
        equal(have(metadata.snapshot_by_name(name).snapshot_id), [row for row in want if name != min(names) or "d8.com" not in row[0]], f"the tag of {name}")
    equal(len(copies()), 1, "one copy for both versions")
    first = copies()
    dxtest.domaindex("suppress", "add", "--root", root, "--domain", "d9.com")
    update(root, presence=False)
    equal(copies(), first, "a rule that changes nothing in it: the same copy")
    dxtest.domaindex("suppress", "lift", "--root", root, 1)
    update(root, presence=False)
    equal(have(), before, "the rule is lifted")
    for change in (("lift", "--root", root, 2), ("add", "--root", root, "--domain", "d9.com")):
        dxtest.domaindex("suppress", *change)
        update(root, presence=False)
    equal(copies(), [], "copies that no snapshot has")


def hidden_texts(tmp):
    """The table leaves out the rows that answers hide: below a suppressed domain which has public suffixes below it, and by a new log that has as many
    lines as the lost one before it. A suppressed requested_url in another spelling empties that column alone."""
    root, lines = tmp / "texts", [{"url": "http://shown.com/c", "requested_url": "HTTP://WWW.Hidden.com:80/x"}, {"url": "http://shown.com/d"}]
    dxtest.domaindex("ingest", "--root", root, "--dataset", "one", "--format", "jsonl", "--extra-column", "requested_url", "-",
                     input="".join(json.dumps(line) + "\n" for line in lines).encode())
    for dataset, url in (("two", "http://amazonaws.com/a"), ("three", "http://bucket.s3.amazonaws.com/b")):
        dxtest.domaindex("ingest", "--root", root, "--dataset", dataset, "--format", "list", "-", input=f"{url}\n".encode())
    dxtest.domaindex("publish", "--root", root)

    def paths():
        update(root, presence=False)
        return sorted(r["path_query"] for r in table_at(metadata_of(f"{root}/iceberg/rows")).scan().to_arrow().to_pylist())

    equal(paths(), ["/a", "/b", "/c", "/d"], "before")
    for kind, value in (("domain", "amazonaws.com"), ("url", "http://www.hidden.com/x")):
        dxtest.domaindex("suppress", "add", "--root", root, f"--{kind}", value)
    equal(paths(), ["/c", "/d"], "what rules of names and URLs hide")
    equal(set(table_at(metadata_of(f"{root}/iceberg/rows")).scan().to_arrow().column("requested_url").to_pylist()), {None}, "a suppressed requested URL")
    (root / "index" / "suppressions.log").unlink()
    dxtest.domaindex("suppress", "accept", "--root", root)
    for value in ("shown.com", "other.com"):
        dxtest.domaindex("suppress", "add", "--root", root, "--domain", value)
    equal(paths(), ["/a", "/b"], "another log of as many lines")


def bounded_columns(tmp):
    """A file with which the table would have too many columns is left out by name; the rows of the others are there, and no column of it."""
    import pyarrow as pa
    module, lake = importlib.import_module("domaindex.iceberg"), hostile_lake.Lake(tmp)
    lake.add_news()
    hostile_lake.plain(hostile_lake.table(extras={f"many{i}": pa.array(["v"]) for i in range(8)}))(lake.place())
    lake.publish(0)
    most, module._COLUMNS_MAX = module._COLUMNS_MAX, 12
    try:
        update(lake.root, presence=False)
        check(False, "a file with too many columns")
    except module.IcebergError as error:
        check("1 lake files were left out" in str(error) and "over 12" in str(error), f"a file with too many columns: {error}")
    table = table_at(metadata_of(f"{lake.root}/iceberg/rows"))
    check(not [c for c in table.scan().to_arrow().column_names if c.startswith("many")], "no column of it")
    equal(sorted(r["domain"] for r in table.scan().to_arrow().to_pylist()), sorted(["one.org", "two.org"] * (lake.news + 1) + ["three.org"]), "rows of the others")
    module._COLUMNS_MAX = most
    lake.add_news()
    lake.publish(0)
    check(update(lake.root, presence=False), "the next version, and there is room for it")
    found = [r.get("many7") for r in table_at(metadata_of(f"{lake.root}/iceberg/rows")).scan().to_arrow().to_pylist()]
    check(found.count("v") == 1, "then its row is there, with its columns")


def main():
    dxtest.need_programs()
    for module in ("pyiceberg", "fastavro", "pyarrow"):
        try:
            importlib.import_module(module)
        except ImportError:
            dxtest.skip(f"{module} (tests/e2e/requirements.txt)")
    prepare()
    with dxtest.tempdir() as tmp:
        in_a_directory(tmp)
    if not dxtest.WHOLE:
        dxtest.finish()
        return
    with dxtest.tempdir() as tmp:
        other_writers(tmp)
    with dxtest.tempdir() as tmp:
        bounded_columns(tmp)
        hidden_texts(tmp)
        emptied_texts(tmp)
    stores.need("versitygw")
    with dxtest.tempdir() as tmp:
        on_a_store(tmp)
    dxtest.finish()


if __name__ == "__main__":
    main()
