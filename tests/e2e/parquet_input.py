#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: peers
"""Parquet files as input of ingest, against pyarrow: columns of all kinds, nested, remote, damaged.

The public corpus (in the gate every third file): each column that pyarrow can read, nested and repeated ones too, gives the rows and texts
that follow from pyarrow's values (test_parquet_rows --each). Then files in the schemas that people have: what a
listing shows is what was written. Folders, patterns, lists, Hive folders, http and S3, and what is refused.
$DX_PEERS_PYTHON names the python that has pyarrow. Exit 77: skipped.
"""
import base64
import datetime
import decimal
import json
import math
import os
import pathlib
import struct
import subprocess
import sys
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dxtest  # noqa: E402
import lake  # noqa: E402
import parquet_by_hand as hand  # noqa: E402
import stores  # noqa: E402

try:
    import duckdb
    import pyarrow as pa
    import pyarrow.parquet as pq
    import pyarrow.parquet.encryption as encryption
except ImportError:
    print(f"SKIPPED: no pyarrow in {sys.executable}; set DX_PEERS_PYTHON")
    sys.exit(77)

CORPUS = pathlib.Path(os.environ.get("DX_SHARED_DATA", dxtest.SOURCE.parent / "shared" / "data")) / "parquet"
DRIVER = dxtest.BIN / "tests" / "test_parquet_rows"
VALUES_MOST = 5_000 if dxtest.WHOLE else 200     # of a column: the reader of each value is Python
EPOCH = datetime.datetime(1970, 1, 1)


# ------------------------------------------------------------------------------------- the corpus

def dump(path, *columns):
    """Of each column [(row, text or None)] of the first rows, and the refusal."""
    rows = []
    first = f'"$0" --each "$@" | LC_ALL=C awk -F "\\t" \'$1 == "E" || $1 + 0 <= {VALUES_MOST}\''    # of a million lines some thousand are wanted
    with subprocess.Popen(["bash", "-c", f"set -o pipefail; {first}", DRIVER, path, *columns], stdout=subprocess.PIPE) as process:
        for line in process.stdout:
            if line.startswith(b"E\t"):
                _, code, words = line.rstrip(b"\n").decode(errors="surrogateescape").split("\t")[:3]
                yield rows, words if code != "0" else None
                rows = []
            elif line != b"\n":
                row, _, text = line.rstrip(b"\n").partition(b"\t")
                rows.append((int(row), None if text == b"N" else bytes.fromhex(text[1:].decode())))
    dxtest.equal(process.returncode, 0, f"test_parquet_rows --each {path}")


def dump_one(path, column):
    (one,) = dump(path, column)
    return one


def children(kind):
    """The types below one: their leaves stand in this order in the file."""
    if pa.types.is_struct(kind):
        return [kind.field(i).type for i in range(kind.num_fields)]
    if pa.types.is_map(kind):
        return [kind.key_type, kind.item_type]
    return [kind.value_type]


def leaf_count(kind):
    return sum(map(leaf_count, children(kind))) if pa.types.is_nested(kind) else 1


def below(kind, leaf):
    """Which child has the n-th leaf, and which of its own it is."""
    for i, child in enumerate(children(kind)):
        if leaf < leaf_count(child):
            return i, child, leaf
        leaf -= leaf_count(child)
    raise IndexError(leaf)


def route_to(kind, leaf):
    """Functions that lead from a value to its n-th leaf, each from one value to those below it; and the leaf's type."""
    route = []
    while pa.types.is_nested(kind):
        i, child, leaf = below(kind, leaf)
        if pa.types.is_struct(kind):
            route.append(lambda value, name=kind.field(i).name: [value and value[name]])
        elif pa.types.is_map(kind):
            route.append(lambda value, i=i: [pair[i] for pair in value or ()])
        else:
            route.append(lambda value: value or ())
        kind = child
    return route, kind


def flatten(value, route, at=0):
    """The values of a leaf of a value, an element each; a missing struct is one None, an empty list none."""
    if at == len(route):
        yield value
        return
    for element in route[at](value):
        yield from flatten(element, route, at + 1)


def same(value, text, kind):
    if value is None or text is None:
        return value is None and text is None
    text = text.decode(errors="surrogateescape") if not isinstance(value, bytes) else text
    if isinstance(value, bool):
        return text == ("true" if value else "false")
    if isinstance(value, float):
        exact = struct.unpack("f", struct.pack("f", float(text)))[0] if pa.types.is_float32(kind) else float(text)
        return math.isnan(value) and text == "nan" or exact == value
    if isinstance(value, int) and not pa.types.is_timestamp(kind) and not pa.types.is_duration(kind):
        return text == str(value)
    if isinstance(value, decimal.Decimal):
        return decimal.Decimal(text) == value
    if isinstance(value, datetime.datetime):
        got = datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).replace(tzinfo=None)
        if value.tzinfo is not None:
            value = value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
        if pa.types.is_timestamp(kind) and kind.unit == "ns":    # pandas' class; ours are microseconds
            value = value.floor("us").to_pydatetime() if hasattr(value, "floor") else value
        return got == value
    if isinstance(value, datetime.date):
        return text == value.isoformat()
    if isinstance(value, datetime.time):
        return datetime.time.fromisoformat(text) == value.replace(tzinfo=None)
    if isinstance(value, bytes) and pa.types.is_fixed_size_binary(kind):
        return text in (value.rstrip(b"\0 "), str(uuid.UUID(bytes=value)).encode() if len(value) == 16 else None)
    if isinstance(value, bytes):
        return text == value
    return text == (value if isinstance(value, str) else str(value))


class Corpus:
    """A file as pyarrow reads it; of a top column with several leaves the values are made once."""

    def __init__(self, path):
        self.file, self.top, self.read = pq.ParquetFile(path), None, None

    def column(self, top):
        """Its type and its first values."""
        if top != self.top:
            self.top, self.read = top, None
            column = self.file.read([top]).column(top)
            self.read = column.type, column[:VALUES_MOST].to_pylist()
        if self.read is None:
            raise ValueError("as its leaf before")
        return self.read


def compare_column(file, name, path, leaf, counts, told):
    """Words on a difference, or None. leaf: which one of its top column; told: what dump() says of it."""
    written = ".".join(path)
    try:
        top, values = file.column(path[0])
        route, kind = route_to(top, leaf)
        if pa.types.is_null(kind) or isinstance(kind, pa.BaseExtensionType) or pa.types.is_dictionary(kind):
            return None
        want = []
        for row, value in enumerate(values, 1):
            want += [(row, v) for v in flatten(value, route)]
    except (pa.ArrowException, OSError, ValueError, KeyError, OverflowError, IndexError, TypeError) as why:
        counts["not by pyarrow"] += 1
        print(f"     {name}: {written}: pyarrow: {str(why)[:90]}")
        return None
    got, refusal = told
    if refusal is not None:
        counts["refused"] += 1
        print(f"     {name}: {written}: {refusal.split(': ', 1)[-1][:150]}")
        return None
    counts["columns"] += 1
    counts["nested"] += len(path) > 1
    counts["values"] += len(got)
    if len(got) != len(want):
        return f"{len(got)} values, pyarrow {len(want)}"
    for ours, theirs in zip(got, want):
        if ours[0] != theirs[0] or not same(theirs[1], ours[1], kind):
            return f"row {theirs[0]}: {ours} pyarrow {theirs[1]!r} ({kind})"
    return None


def steps(path, tops):
    """The names on the way to a leaf; that of a top column may have dots."""
    top = max((name for name in tops if path == name or path.startswith(name + ".")), key=len, default=path.split(".")[0])
    return [top, *path[len(top) + 1:].split(".")] if len(path) > len(top) else [path]


def corpus():
    if not CORPUS.exists():
        print("SKIPPED in part: no Parquet corpus in DX_SHARED_DATA")
        return
    counts = {"files": 0, "columns": 0, "nested": 0, "values": 0, "refused": 0, "not by pyarrow": 0}
    lines = (CORPUS / "MANIFEST.tsv").read_text().splitlines()[1:]
    for number, line in enumerate(lines):
        name, expect = line.split("\t")[:2]
        if expect not in ("READ", "NESTED") or not (dxtest.WHOLE or number % 3 == 0):
            continue
        try:
            file = Corpus(CORPUS / name)
            schema, tops = file.file.schema, set(file.file.schema_arrow.names)
            paths = [steps(c.path, tops) for c in map(schema.column, range(len(schema)))]
        except (pa.ArrowException, OSError, ValueError) as why:
            print(f"     {name}: pyarrow: {str(why)[:100]}")
            continue
        counts["files"] += 1
        if len(set(map(tuple, paths))) < len(paths):
            continue   # two columns of one name
        chosen = [(sum(1 for before in paths[:i] if before[0] == path[0]), path) for i, path in enumerate(paths)
                  if path[0] in tops and (dxtest.WHOLE or i < 6 and (len(paths) < 3 or i % 3 == number // 3 % 3))]
        for (leaf, path), dumped in zip(chosen, dump(CORPUS / name, *(".".join(path) for _, path in chosen)) if chosen else (), strict=True):
            words = compare_column(file, name, path, leaf, counts, dumped)
            dxtest.check(words is None, f"{name}: {'.'.join(path)}: {words}")
    print(counts, flush=True)
    dxtest.check(counts["columns"] > (500 if dxtest.WHOLE else 100) and counts["nested"] > (100 if dxtest.WHOLE else 25), f"too little was compared: {counts}")


# ------------------------------------------------------------------------- what people have

def compact(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def urls(count, words="p"):
    return [f"https://www.site{i % 37}.com/{words}/{i}?q={i * 7}" for i in range(count)]


def times(count):
    return [datetime.datetime(2020, 1, 1) + datetime.timedelta(seconds=61 * i) for i in range(count)]


def files(folder, count=1500 if dxtest.WHOLE else 800):
    """name: (arguments of ingest, rows as {(url, time, extras…)})."""
    u, t = urls(count), times(count)
    made = {}

    def put(name, table, arguments, rows, **options):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table(table), path, **options)
        made[name] = (arguments, rows)

    put("fineweb.parquet", {"text": ["x" * (i % 400) for i in range(count)], "url": u, "date": list(map(lake.iso, t)),
                            "language": ["en" if i % 3 else None for i in range(count)]},
        ["--extra-column", "language"], {(a, lake.iso(b), "en" if i % 3 else None) for i, (a, b) in enumerate(zip(u, t))},
        row_group_size=400, data_page_size=3000)
    put("redpajama.parquet", {"meta": [{"url": a, "timestamp": b} for a, b in zip(u, t)]}, [],
        {(a, lake.iso(b)) for a, b in zip(u, t)}, compression="zstd", data_page_version="2.0")
    put("laion.parquet", {"SAMPLE_ID": list(range(count)), "URL": u, "similarity": [i / 8 for i in range(count)]},
        ["--extra-column", "similarity"], {(a, None, f"{i / 8:g}") for i, a in enumerate(u)}, compression="brotli",
        use_dictionary=False, column_encoding={"URL": "DELTA_BYTE_ARRAY"})
    put("int96.parquet", {"url": u, "fetch_time": t}, [], {(a, lake.iso(b)) for a, b in zip(u, t)}, compression="gzip",
        use_deprecated_int96_timestamps=True)
    put("obelics.parquet", {"general_metadata": [json.dumps({"url": a, "n": i}) for i, a in enumerate(u)]},
        ["--extra-column", "general_metadata.n"], {(a, None, str(i)) for i, a in enumerate(u)}, compression="lz4")
    put("crawlpt.parquet", {"meta": [{"warc_headers": {"warc-target-uri": a, "warc-date": lake.iso(b)}} for a, b in zip(u, t)]}, [],
        {(a, lake.iso(b)) for a, b in zip(u, t)})
    put("images.parquet", {"date": t, "langs": [["en", "de"][:i % 3] for i in range(count)],
                           "images": [[{"url": f"{a}&w={k}", "w": k} for k in range(i % 4)] if i % 5 else None
                                      for i, a in enumerate(u)]},
        ["--url-column", "images.url", "--extra-column", "images.w", "--extra-column", "langs"],
        {(f"{a}&w={k}", lake.iso(b), str(k), compact(["en", "de"][:i % 3]))
         for i, (a, b) in enumerate(zip(u, t)) if i % 5 for k in range(i % 4)}, row_group_size=333)
    put("links.parquet", {"links": [u[i:i + i // 3 % 3] for i in range(0, count, 3)]}, ["--url-column", "links"],
        {(a, None) for i in range(0, count, 3) for a in u[i:i + i // 3 % 3]})
    put("crawl=CC-MAIN-2024-10/subset=a%2Fb/part-0.parquet", {"url": u, "fetch_time": pa.array(t, pa.timestamp("ms"))},
        ["--extra-column", "crawl", "--extra-column", "subset"], {(a, lake.iso(b), "CC-MAIN-2024-10", "a/b") for a, b in zip(u, t)})
    # Which of the usual names JSON has is seen row by row, in the order of the names; a URL is a text.
    put("meta_json.parquet", {"meta": [json.dumps({("url" if i % 2 else "Url"): a, ("timestamp", "date")[i % 3 == 0]: lake.iso(b), "n": i})
                                       for i, (a, b) in enumerate(zip(u, t))]}, [], {(a, lake.iso(b)) for a, b in zip(u, t)})
    put("metadata_json.parquet", {"metadata": [json.dumps({"url": 5, "WARC-Target-URI": a, "WARC-Date": None, "timestamp": lake.iso(b)}) for a, b in zip(u, t)]}, [],
        {(a, lake.iso(b)) for a, b in zip(u, t)})
    # A folder is a column: the usual names of times are found there too, behind those of the file.
    for folders, day in (("date=2024-03-05", "2024-03-05T00:00:00Z"), ("timestamp=2024-03-05%2006%3A07%3A08", "2024-03-05T06:07:08Z"), ("date=2023", "2023-01-01T00:00:00Z"),
                         ("ts=1709618828", "2024-03-05T06:07:08Z"), ("date=__HIVE_DEFAULT_PARTITION__", None)):
        put(f"{folders}/part-0.parquet", {"url": u}, [], {(a, day) for a in u})
    put("year=2023/month=7/part-0.parquet", {"url": u}, ["--ts-column", "year"], {(a, "2023-01-01T00:00:00Z") for a in u})
    put("date=2001-01-01/both.parquet", {"url": u, "when": list(map(lake.iso, t))}, [], {(a, lake.iso(b)) for a, b in zip(u, t)})
    return made


def ingest(root, *arguments, expect=0, **options):
    return dxtest.domaindex("ingest", "--root", root, "--memory", "256M", *arguments, expect=expect, **options)


def compare_stored(root, dataset, want, words):
    got = lake.stored(root, dataset)
    dxtest.equal(len(got), len(set(got)), f"{words}: rows that are there twice")
    missing, extra = want - set(got), set(got) - want
    dxtest.check(not missing and not extra, f"{words}: missing {sorted(missing, key=str)[:2]}, extra {sorted(extra, key=str)[:2]}")


def schemas(tmp, made):
    root = tmp / "root"
    for name, (arguments, want) in made.items():
        dataset = name.split(".")[0].replace("/", "-").replace("=", "-").replace("%", "-")[:40]
        ingest(root, "--dataset", dataset, *arguments, tmp / "in" / name)
        compare_stored(root, dataset, want, name)
    dxtest.domaindex("publish", "--root", root)
    dxtest.domaindex("verify", "--root", root)


def ways_to_name(tmp, made):
    """A folder, a pattern, a list; each takes the same rows."""
    folder = tmp / "hub"
    for i in range(3):
        (folder / "data" / f"part={i}").mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"url": urls(200, f"w{i}")}), folder / "data" / f"part={i}" / "0000.parquet")
    (folder / "README.md").write_text("# no data\n")
    (folder / "data" / "_SUCCESS").write_text("")
    (folder / "data" / "notes.txt").write_text("https://not.example.com/\n")
    want = {(u, None) for i in range(3) for u in urls(200, f"w{i}")}
    (tmp / "list").write_text(f"# all of them\n\n{folder / 'data'}\n")
    root = tmp / "named"
    for dataset, name in (("folder", f"{folder}/"), ("pattern", f"{folder}/data/part=*/*.parquet"), ("list", f"@{tmp / 'list'}")):
        done = ingest(root, "--dataset", dataset, name)
        compare_stored(root, dataset, want, dataset)
        if dataset == "folder":
            dxtest.check(b"3 files taken, 3 files and folders left out; " + bytes(folder / "data/notes.txt") + b": its name is not" in done.stderr, f"a folder: {done.stderr[:200]}")
    (folder / "data" / "more").symlink_to(tmp)
    (folder / "data" / "notes.txt").unlink()
    done = ingest(root, "--dataset", "link", f"{folder}/")
    dxtest.check(bytes(folder / "data/more") + b": a link to something else" in done.stderr, f"a link to a folder: {done.stderr[:300]}")
    (tmp / "empty").mkdir()
    for name, words in ((tmp / "empty", b"without a file"), (f"{tmp}/no*", b"no file has that name or matches it"),
                        (f"@{tmp}/none", b"cannot open")):
        done = ingest(root, "--dataset", "x", name, expect=1)
        dxtest.check(words in done.stderr, f"{name}: {done.stderr[:200]}")


def remote(tmp, made):
    """Over http and S3, by ranges, a prefix of a store too."""
    want = made["fineweb.parquet"][1]
    root = tmp / "remote"
    if stores.find("nginx"):
        with stores.Nginx(tmp / "in") as server:
            ingest(root, "--dataset", "http", "--extra-column", "language", f"{server.url}/fineweb.parquet")
        compare_stored(root, "http", want, "over http")
    for kind in stores.kinds():
        with kind() as store, stores.environment({**store.env, "TMPDIR": os.environ.get("TMPDIR", "/tmp")}):
            store.bucket("inputs")
            store.put("inputs", "c4/a.parquet", (tmp / "in/fineweb.parquet").read_bytes())
            store.put("inputs", "c4/README.md", b"# no data")
            store.put("inputs", "c4/deep/b.parquet", (tmp / "in/fineweb.parquet").read_bytes())
            ingest(root, "--dataset", "s3", "--extra-column", "language", "s3://inputs/c4/a.parquet")
            done = ingest(root, "--dataset", "prefix", "--extra-column", "language", "s3://inputs/c4/")
            dxtest.check(b"2 files taken, 1 file or folder left out" in done.stderr, f"a prefix: {done.stderr[:200]}")
        compare_stored(root, "s3", want, f"from {kind.program}")
        compare_stored(root, "prefix", want, f"a prefix of {kind.program}")


def refused(tmp, made):
    path = tmp / "in" / "fineweb.parquet"
    whole = path.read_bytes()
    cut, bent, tail = tmp / "cut.parquet", tmp / "bent.parquet", tmp / "tail.parquet"
    cut.write_bytes(whole[:len(whole) // 2])
    tail.write_bytes(whole[:-6])
    chunk = pq.ParquetFile(path).metadata.row_group(0).column(1)
    page = bytearray(whole)
    for i in range(chunk.dictionary_page_offset or chunk.data_page_offset, chunk.data_page_offset + 2000):
        page[i] ^= 0x55
    bent.write_bytes(page)
    root = tmp / "refused"
    rows = [(cut, [], b"cut.parquet"), (tail, [], b"tail.parquet"), (bent, [], b"row group 0, column"),
            (path, ["--url-column", "nothing"], b"there is no column 'nothing'; the file has: text, url, date"),
            (tmp / "in" / "images.parquet", ["--url-column", "images.url", "--ts-column", "langs"],
             b"is repeated, and not in one list with the URL"),
            (tmp / "in" / "obelics.parquet", ["--url-column", "general_metadata.nothing"], b"")]
    for file, arguments, words in rows:
        done = ingest(root, "--dataset", "r", *arguments, file, expect=1)
        dxtest.check(words in done.stderr, f"{file.name} {arguments}: {done.stderr[:300]}")
    none = tmp / "none.parquet"
    pq.write_table(pa.table({"url": pa.array([None], pa.null()), "n": [1]}), none)
    done = ingest(root, "--dataset", "r", none, expect=1)
    dxtest.check(b"column 'url' is not of text" in done.stderr and b"the file has: url, n" in done.stderr, f"a url of no text: {done.stderr[:300]}")
    twins = tmp / "twins.parquet"
    pq.write_table(pa.table([pa.array(["https://a.com/1"]), pa.array([1]), pa.array(["https://b.com/2"]), pa.array([2])], ["url", "n", "URL", "n"]), twins)
    for arguments, words in (([], b"columns 1 and 3 are both called 'url': give one by its number, as in --url-column 1"),
                             (["--url-column", "URL", "--extra-column", "n"], b"columns 2 and 4 are both called 'n'")):
        done = ingest(root, "--dataset", "r", *arguments, twins, expect=1)
        dxtest.check(words in done.stderr, f"columns of one name, {arguments}: {done.stderr[:300]}")
    ingest(tmp / "twins", "--dataset", "r", "--url-column", "3", twins)
    dxtest.check([row[0] for row in lake.stored(tmp / "twins", "r")] == ["https://b.com/2"], "one of two columns by its number")
    hosts = tmp / "hosts.parquet"
    pq.write_table(pa.table({"surt_host_name": ["org,commoncrawl"], "fetch_200": [17]}), hosts)
    done = ingest(root, "--dataset", "r", hosts, expect=1)
    dxtest.check(b"is a host index: " in done.stderr and b"give --profile host-index" in done.stderr, f"a host index: {done.stderr[:300]}")
    done = dxtest.domaindex("ingest", "--detect", hosts)
    dxtest.check(b"--profile host-index" in done.stdout, f"a host index, --detect: {done.stdout}")
    dxtest.check(not list(root.glob("urls/dataset_id=*/*")), "a refused file left rows")
    done = ingest(root, "--dataset", "r", "-", input=path.read_bytes(), expect=1)
    dxtest.check(b"name that file" in done.stderr, f"standard input: {done.stderr[:300]}")


class Kms(encryption.KmsClient):
    """A key server without secrets: it wraps a key by writing its name in front."""
    def wrap_key(self, key, master):
        return base64.b64encode(master.encode() + b":" + key)

    def unwrap_key(self, wrapped, master):
        return base64.b64decode(wrapped).partition(b":")[2]


def encrypted(tmp):
    """Parquet modular encryption, written by pyarrow: a column that is needed must be readable, others need not."""
    u, t = urls(900), times(900)
    table = pa.table({"url": u, "date": list(map(lake.iso, t)), "text": ["secret"] * 900, "meta": [{"id": i, "key": str(i)} for i in range(900)]})
    factory = encryption.CryptoFactory(lambda config: Kms())

    def write(name, plaintext_footer, **keys):
        setup = encryption.EncryptionConfiguration(footer_key="footer", plaintext_footer=plaintext_footer, data_key_length_bits=128, **keys)
        properties = factory.file_encryption_properties(encryption.KmsConnectionConfig(), setup)
        with pq.ParquetWriter(tmp / name, table.schema, encryption_properties=properties) as writer:
            writer.write_table(table, row_group_size=400)
        return tmp / name

    root = tmp / "encrypted"
    rows = [(write("footer.parquet", False, column_keys={"key": ["text"]}), [], b"footer.parquet: is a Parquet file whose footer is encrypted"),
            (write("all.parquet", True, column_keys={"key": ["url", "date", "text", "meta.id", "meta.key"]}), [], b"all.parquet: row group 0, column url: column url is encrypted"),
            (write("url.parquet", True, column_keys={"key": ["url"]}), [], b"url.parquet: row group 0, column url: column url is encrypted"),
            (write("date.parquet", True, column_keys={"key": ["date"]}), [], b"date.parquet: row group 0, column date: column date is encrypted"),
            (write("text.parquet", True, column_keys={"key": ["text", "meta.key"]}), ["--extra-column", "text"], b"column text is encrypted"),
            (tmp / "text.parquet", ["--extra-column", "meta.key"], b"column meta.key is encrypted")]
    for path, arguments, words in rows:
        dxtest.equal(path.read_bytes()[-4:], b"PARE" if path.name == "footer.parquet" else b"PAR1", f"{path.name}: its last bytes")
        done = ingest(root, "--dataset", "r", *arguments, path, expect=1)
        dxtest.check(words in done.stderr, f"{path.name} {arguments}: {done.stderr[:300]}")
    dxtest.check(not list(root.glob("urls/dataset_id=*/*")), "a refused file left rows")
    done = dxtest.domaindex("ingest", "--detect", tmp / "text.parquet")
    dxtest.check(done.stdout.count(b"STRING, encrypted") == 2, f"--detect does not name what is encrypted: {done.stdout}")
    ingest(root, "--dataset", "text", "--extra-column", "meta.id", tmp / "text.parquet")
    compare_stored(root, "text", {(a, lake.iso(b), str(i)) for i, (a, b) in enumerate(zip(u, t))}, "columns beside an encrypted one")
    ingest(root, "--dataset", "date", "--no-ts", tmp / "date.parquet")
    compare_stored(root, "date", {(a, None) for a in u}, "an encrypted time that is not wanted")
    done = dxtest.domaindex("fetch-record", "--base", tmp, "text.parquet#row=0:1", expect=1)
    dxtest.check(b"column text is encrypted" in done.stderr, f"fetch-record of an encrypted column: {done.stderr[:300]}")


def lists(tmp):
    """Lists of URLs in JSON lines give the rows that the same values give as Parquet, and those that DuckDB unnests."""
    count = 3000 if dxtest.WHOLE else 1000
    u = urls(4 * count)
    values = []
    for i in range(count):
        mine = [u[4 * i + k] for k in range(i % 4)]
        values.append({"id": f"i{i}", "date": "2024-01-02T03:04:05Z", "links": None if i % 7 == 0 else mine,
                       "langs": [{"code": c} for c in ["en", "d\u00e9", "fr"][:i % 3]],
                       "images": [{"url": None if k == 2 and i % 5 == 0 else f"{a}&w={k}", "w": k, "seen": f"2024-02-0{k + 1}", "alt": f"\\x{k}"} for k, a in enumerate(mine)]})
    lines = "".join(json.dumps(v, ensure_ascii=i % 2 == 0).replace("/", "\\/" if i % 3 else "/") + "\n" for i, v in enumerate(values))
    (tmp / "lists.jsonl").write_text(lines, encoding="utf-8")
    pq.write_table(pa.Table.from_pylist(values), tmp / "lists.parquet", row_group_size=700)
    questions = [
        ("links", ["--url-column", "links", "--extra-column", "id", "--extra-column", "langs.code"],
         "select l, date, id, langs from (select unnest(links) l, date, id, to_json([x.code for x in langs])::varchar langs from read_json('{}', columns={{id: 'varchar', date: 'varchar', links: 'varchar[]', langs: 'struct(code varchar)[]'}})) where l is not null"),
        ("images", ["--url-column", "images.url", "--ts-column", "images.seen", "--extra-column", "images.w", "--extra-column", "images.alt", "--extra-column", "id"],
         "select i.url, i.seen || 'T00:00:00Z', i.w::varchar, i.alt, id from (select unnest(images) i, id from read_json('{}', columns={{id: 'varchar', images: 'struct(url varchar, w int, seen varchar, alt varchar)[]'}})) where i.url is not null"),
    ]
    for dataset, arguments, question in questions:
        for kind in ("jsonl", "parquet"):
            done = ingest(tmp / "lists", "--dataset", f"{dataset}-{kind}", "--max-rejects", "50%", *arguments, tmp / f"lists.{kind}")
            if dataset == "images":
                dxtest.check(b"column_missing" in done.stderr, f"elements without a URL are counted: {kind}: {done.stderr}")
        theirs = set(duckdb.sql(question.format(tmp / "lists.jsonl")).fetchall())
        compare_stored(tmp / "lists", f"{dataset}-jsonl", theirs, f"{dataset}: JSON lines against DuckDB")
        compare_stored(tmp / "lists", f"{dataset}-parquet", theirs, f"{dataset}: Parquet against DuckDB")
    nested_lists(tmp)
    # arrays in arrays, elements of other kinds, empty lists, a list under a usual name
    odd = [{"url": [["http://a.com/1"], [], ["http://a.com/2", 7, {"x": 1}, "no url"]]}, {"url": []}, {"url": "http://a.com/3"}, {"url": [None]}]
    (tmp / "odd.jsonl").write_text("".join(json.dumps(v) + "\n" for v in odd))
    done = ingest(tmp / "lists", "--dataset", "odd", "--max-rejects", "90%", "--json", tmp / "odd.jsonl")
    said = json.loads(done.stdout)
    dxtest.equal((said["records"], said["accepted"], {r["reason"]: r["count"] for r in said["rejected"]["reasons"]}), (7, 3, {"column_missing": 3, "host_invalid": 1}), "odd lists")
    compare_stored(tmp / "lists", "odd", {(f"http://a.com/{i}", None) for i in (1, 2, 3)}, "odd lists")


def nested_lists(tmp):
    """Lists that are extras keep what is in them: as DuckDB's JSON of the values, of Parquet and JSON lines alike; rows that differ in them stay apart."""
    values = [["x", "y"], ["x,y"], ["x", None, "y"], [], None, [""], [None], ['q"\\\u00e9\u2603\n']]
    kinds = [{"url": "https://a.com/1", "tags": v, "n": v and [1, None, -2.5][:len(v)], "deep": v and [v, [], None, v], "days": [datetime.date(2024, 1, 2)],
              "in": {"er": v}, "meta": v if v is None else [{"c": x, "d": [x]} for x in v], "bin": v and [x and x.encode() + b"\xff" for x in v]} for v in values]
    schema = pa.schema([("url", pa.string()), ("tags", pa.list_(pa.string())), ("n", pa.list_(pa.float64())), ("deep", pa.list_(pa.list_(pa.string()))),
                        ("days", pa.list_(pa.date32())), ("in", pa.struct([("er", pa.list_(pa.string()))])),
                        ("meta", pa.list_(pa.struct([("c", pa.string()), ("d", pa.list_(pa.string()))]))), ("bin", pa.large_list(pa.binary()))])
    path = tmp / "nested.parquet"
    pq.write_table(pa.Table.from_pylist(kinds, schema), path, data_page_size=8, row_group_size=3)
    columns = {"tags": "tags", "n": "n", "deep": "deep", "days": "days", "in.er": '"in".er', "meta.c": "[m.c for m in meta]", "meta.d": "[m.d for m in meta]",
               "bin": "[lower(hex(b)) for b in bin]"}
    theirs = duckdb.sql("select 'https://a.com/1', null, " + ", ".join(f"to_json({c.replace('when', chr(34) + 'when' + chr(34))})::varchar" for c in columns.values())
                        + f" from '{path}'").fetchall()
    numbers = [tuple(v if k != 3 or v is None else v.replace(".0", "") for k, v in enumerate(row)) for row in theirs]   # 1.0 is written 1
    extras = [a for c in columns for a in ("--extra-column", c)]
    ingest(tmp / "nested", "--dataset", "d", *extras, path)
    compare_stored(tmp / "nested", "d", set(numbers), "lists as extras, against DuckDB")
    dxtest.equal(len(lake.stored(tmp / "nested", "d")), len(values), "rows that differ in a list alone")
    # the same bytes as of JSON lines without blanks
    (tmp / "nested.jsonl").write_text("".join(compact({k: v for k, v in row.items() if k not in ("days", "bin")}) + "\n" for row in kinds))
    names = [c for c in columns if c not in ("days", "bin", "n")]
    for kind in ("jsonl", "parquet"):
        ingest(tmp / "nested", "--dataset", kind, *[a for c in names for a in ("--extra-column", c)], tmp / f"nested.{kind}")
    compare_stored(tmp / "nested", "jsonl", set(lake.stored(tmp / "nested", "parquet")), "lists of JSON lines and of Parquet")
    # lists within the list of the URLs: each URL has its own
    images = [[{"url": f"https://a.com/{i}-{k}", "alt": [f"{i}", f"{k}"][:(i + k) % 3]} for k in range(i)] for i in range(4)]
    pq.write_table(pa.table({"images": images}), tmp / "within.parquet")
    (tmp / "within.jsonl").write_text("".join(compact({"images": i}) + "\n" for i in images))
    for kind in ("parquet", "jsonl"):
        ingest(tmp / "nested", "--dataset", f"within-{kind}", "--url-column", "images.url", "--extra-column", "images.alt", tmp / f"within.{kind}")
        compare_stored(tmp / "nested", f"within-{kind}", {(x["url"], None, compact(x["alt"])) for row in images for x in row}, f"lists within the URLs' list, {kind}")


def json_in_strings(tmp):
    """A path goes on in a string that is a JSON object: JSON lines give the rows of the same values in Parquet."""
    count = 300
    u, t = urls(count), times(count)
    inner = [json.dumps({"url": a, "timestamp": lake.iso(b), "n": i, "tags": ["x", i], "title": "q\"\u00e9\\n", "o": {"p": str(i)}}) for i, (a, b) in enumerate(zip(u, t))]
    rows = [{"id": f"i{i}", "meta": text} for i, text in enumerate(inner)]
    bad = [{"id": "b", "meta": "{"}, {"id": "c", "meta": "{'url': 'https://a.com/1'}"}, {"id": "d", "meta": "{\"url\": \"https://a.com/1\"} x"}, {"id": "e", "meta": ""}, {"id": "f", "meta": None}]
    (tmp / "inside.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows + bad))
    pq.write_table(pa.Table.from_pylist(rows + bad), tmp / "inside.parquet")
    want = {(a, lake.iso(b), str(i), compact(["x", i]), "q\"\u00e9\\n", str(i), f"i{i}") for i, (a, b) in enumerate(zip(u, t))}
    extras = [x for c in ("meta.n", "meta.tags", "meta.title", "meta.o.p", "id") for x in ("--extra-column", c)]
    for kind in ("jsonl", "parquet"):
        for number, options in enumerate(([], ["--url-column", "meta.url", "--ts-column", "meta.timestamp"])):
            ingest(tmp / "inside", "--dataset", f"{kind}{number}", "--max-rejects", "10%", *options, *extras, tmp / f"inside.{kind}")
            got = {tuple(v.replace(", ", ",") if k == 3 else v for k, v in enumerate(row)) for row in lake.stored(tmp / "inside", f"{kind}{number}")}
            dxtest.check(got == want, f"JSON in strings, {kind} {options}: {sorted(got ^ want, key=str)[:3]}")
        done = ingest(tmp / "inside", "--dataset", "none", "--max-rejects", "10%", "--ts-column", "meta.timestmp", tmp / f"inside.{kind}", expect=1)
        dxtest.check(b"no record has the time column 'meta.timestmp'" in done.stderr, f"a member that no row has, {kind}: {done.stderr.decode()}")
        ingest(tmp / "inside", "--profile", "redpajama", "--dataset", f"p{kind}", "--max-rejects", "10%", tmp / f"inside.{kind}")
        dxtest.equal({r[:2] for r in lake.stored(tmp / "inside", f"p{kind}")}, {w[:2] for w in want}, f"JSON in strings by a profile, {kind}")
    said = dxtest.domaindex("ingest", "--detect", tmp / "inside.jsonl").stdout.decode()
    dxtest.check("meta.url" in said and "  url        meta.url" in said, f"--detect of JSON in strings: {said}")


def maps(tmp):
    """A step of a path into a map is the value of that key, as DuckDB's map[key]: of equal keys the first, without one null."""
    count = 1500 if dxtest.WHOLE else 900
    u, t = urls(count), times(count)
    rows = []
    for i, (a, b) in enumerate(zip(u, t)):
        entries = [("warc-target-uri", a), ("warc-date", lake.iso(b)), ("lang", f"l{i % 5}"), ("lang", "second"), ("a.b", None if i % 4 == 0 else "dot")][i % 2 * 2 - 2 if i % 2 else 0:]
        rows.append([("warc-target-uri", a), ("warc-date", lake.iso(b)), *entries] if i % 7 else [("x", "y")] * 3 + [("warc-date", lake.iso(b)), ("warc-target-uri", a)])
    rows[5], rows[6], rows[9] = None, [], [("warc-date", "2024-01-01")]
    words = pa.map_(pa.string(), pa.string())
    table = pa.table({"id": [f"i{i}" for i in range(count)], "warc_headers": pa.array(rows, words), "text": ["x"] * count,
                      "n": pa.array([[("k", i), ("z", 1)] for i in range(count)], pa.map_(pa.string(), pa.int64())),
                      "s": pa.array([[("k", {"c": f"c{i}", "d": i})] for i in range(count)], pa.map_(pa.string(), pa.struct([("c", pa.string()), ("d", pa.int32())])))})
    path = tmp / "maps.parquet"
    pq.write_table(table, path, row_group_size=400, data_page_size=500)
    got = ["warc_headers['warc-target-uri']", "warc_headers['warc-date']", "warc_headers['lang']", "warc_headers['a.b']", "n['k']::varchar", "s['k'].c", "s['k'].d::varchar", "id"]
    theirs = {tuple(r) for r in duckdb.sql(f"select {', '.join(got)} from '{path}' where warc_headers['warc-target-uri'] is not null").fetchall()}
    names = ['warc_headers."lang"', "warc_headers.a.b", "n.k", "s.k.c", "s.k.d", "id"]
    for number, options in enumerate((["--url-column", 'warc_headers."warc-target-uri"', "--ts-column", "warc_headers.warc-date"], [])):
        for threads in ("1", "3"):
            root = tmp / f"maps{number}{threads}"
            ingest(root, "--dataset", "d", "--threads", threads, "--max-rejects", "10%", *options, *[a for n in names for a in ("--extra-column", n)], path)
            compare_stored(root, "d", theirs, f"keys of maps, {options}, {threads} threads")
    ingest(tmp / "maps", "--dataset-column", "warc_headers.lang", "--url-column", "warc_headers.warc-target-uri", "--no-ts", "--max-rejects", "90%", path)
    compare_stored(tmp / "maps", "l3", {(r[0], None) for r in theirs if r[2] == "l3"}, "a dataset by a map")
    ingest(tmp / "profile", "--profile", "oscar-23", "--dataset", "d", "--max-rejects", "10%", path)
    compare_stored(tmp / "profile", "d", {(r[0], r[1], None) for r in theirs} if len(lake.stored(tmp / "profile", "d")[0]) == 3 else {r[:2] for r in theirs}, "a profile by a map")
    said = dxtest.domaindex("ingest", "--detect", path).stdout
    dxtest.check(b"--profile oscar-23" in said, f"--detect of a map: {said.decode()}")
    done = ingest(tmp / "maps", "--dataset", "d", "--url-column", "warc_headers.nothing", path, expect=1)
    dxtest.check(b"records were rejected" in done.stderr, f"a key that no row has: {done.stderr.decode()}")
    done = ingest(tmp / "maps", "--dataset", "d", "--max-rejects", "10%", "--ts-column", "warc_headers.warc-dat", path, expect=1)
    dxtest.check(b"no record has the time column 'warc_headers.warc-dat'" in done.stderr, f"a time by a key that no row has: {done.stderr.decode()}")
    # A row of two keys and two values; then the chunk of one has less than the other's.
    nodes = [hand.node("schema", children=2), hand.node("url", hand.BYTES), hand.node("m", children=1, converted=1),
             hand.node("key_value", repetition=hand.REPEATED, children=2), hand.node("key", hand.BYTES), hand.node("value", hand.BYTES)]
    for keys, values in ((2, 2), (1, 2), (2, 1)):
        columns = [(hand.BYTES, hand.page(hand.strings(list(texts)[:n]), n, hand.runs(*[0, 1][:n]) + hand.runs(*[1] * n)), n)
                   for texts, n in (((b"k", b"l"), keys), ((b"v", b"w"), values))]
        path.write_bytes(hand.build(nodes, [(hand.BYTES, hand.page(hand.strings([b"https://a.com/"]), 1), 1), *columns], 1))
        root = tmp / f"entries{keys}{values}"
        done = ingest(root, "--dataset", "d", "--no-ts", "--extra-column", "m.k", path, expect=0 if keys == values else 1)
        if keys == values:
            compare_stored(root, "d", {("https://a.com/", None, "v")}, "a map by hand")
        else:
            dxtest.check(b"the keys of a map are not those of its values" in done.stderr, f"{keys} keys, {values} values: {done.stderr.decode()}")


def bytes_as_text(tmp):
    """Bytes without a logical type are text where they are a URL, a time or a dataset; as extras in hexadecimal where they are no text."""
    width = 30
    u = ["https://a.com/1", "https://b.com/22"]
    table = pa.table({"url": pa.array([a.encode().ljust(width, p) for a, p in zip(u, (b"\0", b" "))], pa.binary(width)),
                      "date": pa.array([b"2024-01-02"] * 2, pa.binary(10)), "set": pa.array([b"d1\0", b"d2 "], pa.binary(3)),
                      "digest": pa.array([b"\x1c\xff", b"ab"], pa.binary(2)), "bytes": pa.array([b"\x1c\xff", b"ab"], pa.binary())})
    path = tmp / "fixed.parquet"
    pq.write_table(table, path)
    for arguments in ([], ["--url-column", "url", "--ts-column", "date"]):
        root = tmp / f"fixed{len(arguments)}"
        done = ingest(root, "--dataset-column", "set", "--extra-column", "digest", "--extra-column", "bytes", *arguments, path)
        compare_stored(root, "d1", {(u[0], "2024-01-02T00:00:00Z", "1cff", "1cff")}, "bytes of a fixed length")
        compare_stored(root, "d2", {(u[1], "2024-01-02T00:00:00Z", "6162", "ab")}, "bytes of a fixed length")
        dxtest.check(b"not UTF-8" not in done.stderr, f"{done.stderr}")
    row = json.loads(dxtest.domaindex("fetch-record", "--base", tmp, "fixed.parquet#row=0:0").stdout)
    dxtest.equal((row["digest"], row["bytes"]), ("1cff", "1cff"), "bytes in a row as JSON")


def lacking(tmp):
    """A column that is in some files, whole or below a struct, or in some folders' names; with row groups read in parallel."""
    third = 20_000 if dxtest.WHOLE else 2_000
    u, t = urls(5 * third // 2), times(5 * third // 2)
    folder = tmp / "lacking"
    (folder / "lang=de").mkdir(parents=True)
    pq.write_table(pa.table({"url": u[:third], "date": t[:third], "title": [f"t{i}" for i in range(third)]}), folder / "a.parquet", row_group_size=third // 4)
    pq.write_table(pa.table({"url": u[third:2 * third], "date": t[third:2 * third], "meta": [{"n": i} for i in range(third)]}), folder / "b.parquet", row_group_size=third // 4)
    pq.write_table(pa.table({"url": u[2 * third:], "date": t[2 * third:]}), folder / "lang=de" / "c.parquet")
    want = {(a, lake.iso(b), f"t{i}" if i < third else None, str(i - third) if third <= i < 2 * third else None, "de" if i >= 2 * third else None)
            for i, (a, b) in enumerate(zip(u, t))}
    columns = ["--extra-column", "title", "--extra-column", "meta.n", "--extra-column", "lang"]
    for threads in ("1", "3"):
        done = ingest(tmp / f"lacking{threads}", "--dataset", "d", "--threads", threads, *columns, f"{folder}/")
        compare_stored(tmp / f"lacking{threads}", "d", want, f"files without a column, {threads} threads")
        for column, inputs, records in (("title", 2, 3 * third // 2), ("meta.n", 2, 3 * third // 2), ("lang", 2, 2 * third)):
            dxtest.check(f"column '{column}' is null in {records:,} records: inputs without it: {inputs} of 3".encode() in done.stderr, f"{column}: {done.stderr}")
    done = ingest(tmp / "none", "--dataset", "d", "--extra-column", "meta.m", f"{folder}/", expect=1)
    dxtest.check(b"none of 3 inputs has a column 'meta.m'; nothing was added" in done.stderr, f"{done.stderr}")


def rejects(tmp):
    """Rows that are no URL are shown with their columns, and counted at their row."""
    path = tmp / "in" / "rejects.parquet"
    pq.write_table(pa.table({"url": ["https://a.com/1", "no url", None, "https://b.com/2"], "date": ["2020-01-01"] * 4}), path)
    done = ingest(tmp / "rejects", "--dataset", "r", "--max-rejects", "0.9", path)
    compare_stored(tmp / "rejects", "r", {("https://a.com/1", "2020-01-01T00:00:00Z"), ("https://b.com/2", "2020-01-01T00:00:00Z")},
                   "with rejects")
    dxtest.check(b"rejects.parquet:2:" in done.stderr and b"no url" in done.stderr, f"{done.stderr}")


def seldom(tmp):
    """What old and odd writers wrote: as rows, and as the JSON of a row."""
    u = [b"https://a.com/1", b"https://b.com/2"]
    url = (hand.BYTES, hand.page(hand.strings(u), 2), 2)
    text = hand.node("url", hand.BYTES, converted=0)
    narrow = [(name, converted, want) for name, converted, want in
              (("i8", 15, [-1, 44]), ("u8", 11, [255, 44]), ("i16", 16, [-1, 300]), ("u16", 12, [65535, 300]), ("u32", 13, [4294967295, 300]))]
    ints = hand.page(struct.pack("<ii", -1, 300), 2)
    unknown = hand.fields((11, hand.STRUCT, hand.fields()))
    interval = struct.pack("<III", 14, 3, 4005) + struct.pack("<III", 0, 0, 2 ** 32 - 1)
    intervals = ["P14M3DT4.005S", "P0M0DT4294967.295S"]
    groups = [hand.node(f"g{i}", repetition=hand.OPTIONAL, children=0) for i in range(9)]
    rows = [
        # groups without columns, in each other too, lead to no value of another column
        ("groups", [hand.node("schema", children=11), hand.node("s", children=1), hand.node("e", children=0), *groups, text], [url],
         [], [{"url": a.decode()} for a in u]),
        ("narrow", [hand.node("schema", children=6), text, *(hand.node(n, hand.INT32, converted=c) for n, c, _ in narrow)],
         [url, *[(hand.INT32, ints, 2)] * 5], [(n, w) for n, _, w in narrow], [{"url": u[i].decode(), **{n: w[i] for n, _, w in narrow}} for i in (0, 1)]),
        ("kinds", [hand.node("schema", children=4), text, hand.node("span", hand.FIXED, length=12, converted=21),
                   hand.node("bson", hand.BYTES, converted=20), hand.node("nothing", hand.INT32, logical=unknown)],
         [url, (hand.FIXED, hand.page(interval, 2), 2), (hand.BYTES, hand.page(hand.strings([b"{", b"}"]), 2), 2), (hand.INT32, ints, 2)],
         [("span", intervals), ("bson", ["{", "}"]), ("nothing", [None, None])],
         [{"url": u[i].decode(), "span": intervals[i], "bson": "{}"[i], "nothing": None} for i in (0, 1)]),
        # BIT_PACKED levels: 0, then 1 as by Impala
        ("impala", [hand.node("schema", children=2), text, hand.node("n", hand.INT32, hand.OPTIONAL)],
         [url, (hand.INT32, hand.page(struct.pack("<i", 7), 2, b"\x02", hand.BIT_PACKED), 2)], [("n", [None, "7"])],
         [{"url": u[0].decode(), "n": None}, {"url": u[1].decode(), "n": 7}]),
        ("parquet-mr", [hand.node("schema", children=2), text, hand.node("n", hand.INT32, hand.OPTIONAL)],
         [url, (hand.INT32, hand.page(struct.pack("<i", 7), 2, b"\x40", hand.BIT_PACKED), 2)], [("n", [None, "7"])],
         [{"url": u[0].decode(), "n": None}, {"url": u[1].decode(), "n": 7}]),
        ("tuple", [hand.node("schema", children=2), text, hand.node("l", children=1, converted=3),
                   hand.node("l_tuple", repetition=hand.REPEATED, children=1), hand.node("x", hand.BYTES)],
         [url, (hand.BYTES, hand.page(hand.strings([b"1", b"2"]), 2, hand.runs(0, 0) + hand.runs(1, 1)), 2)], [("l.l_tuple.x", ["1", "2"])],
         [{"url": u[i].decode(), "l": [{"x": "12"[i]}]} for i in (0, 1)]),
    ]
    for name, nodes, chunks, columns, want in rows:
        path = tmp / f"{name}.parquet"
        path.write_bytes(hand.build(nodes, chunks, 2, created_by=name.encode()))
        for column, values in [("url", [a.decode() for a in u]), *columns]:
            got, refusal = dump_one(path, column)
            dxtest.equal([None if v is None else v.decode() for _, v in got], [v if v is None else str(v) for v in values],
                         f"{name}: {column}, {refusal}")
        got = [json.loads(dxtest.domaindex("fetch-record", "--base", tmp, f"{path.name}#row=0:{i}").stdout) for i in (0, 1)]
        dxtest.equal(got, want, f"{name}: rows as JSON")
    path = tmp / "dots.parquet"
    pq.write_table(pa.table({"s": [{"f": "f", "f.one": "f.one", "f.one.x": "x"}], "s.f": ["s.f"]}), path)
    for column, want in (("s.f.one", b"f.one"), ("s.f.one.x", b"x"), ('"s.f"', b"s.f"), ('s."f"', b"f")):
        dxtest.equal(dump_one(path, column)[0], [(1, want)], f"column {column}")
    dxtest.check("'s.f' is in columns 2 and 1: write" in str(dump_one(path, "s.f")[1]), f"one path, two columns: {dump_one(path, 's.f')}")
    pq.write_table(pa.table({"meta": [{"url": "https://a.com/"}], "meta.url": ["https://b.com/"]}), tmp / "both.parquet")
    done = ingest(tmp / "both", "--dataset", "d", tmp / "both.parquet", expect=1)
    dxtest.check(b"'meta.url' is in columns 1 and 2" in done.stderr, f"{done.stderr}")
    # a number means the column there, whatever others are called
    path = tmp / "twice.parquet"
    pq.write_table(pa.Table.from_arrays([pa.array([f"https://{k}.com/"]) for k in "abc"], names=["url", "x", "url"]), path)
    for number, want in (("1", b"https://a.com/"), ("3", b"https://c.com/")):
        dxtest.equal(dump_one(path, number)[0], [(1, want)], f"column {number} of two with one name")


def large_footer(tmp):
    """240,000 column chunks are a footer of 11 MB, and 48 MB of memory: more than half of the least budget."""
    path = tmp / "wide.parquet"
    column = (hand.BYTES, hand.page(hand.strings([b"https://a.com/"]), 1), 1)
    nodes = [hand.node("schema", children=4000), hand.node("url", hand.BYTES), *[hand.node("c", hand.BYTES)] * 3999]
    path.write_bytes(hand.build(nodes, [column] * 4000, 1, groups=60))
    done = dxtest.domaindex("ingest", "--root", tmp / "wide", "--memory", "64M", "--dataset", "d", path, expect=1)
    dxtest.check(b"wide.parquet (a footer may have half of --memory): parquet footer: 240000 column chunks take" in done.stderr,
                 f"a footer over half of --memory: {done.stderr[:300]}")
    dxtest.domaindex("ingest", "--root", tmp / "wide", "--memory", "128M", "--dataset", "d", path)
    compare_stored(tmp / "wide", "d", {("https://a.com/", None)}, "a large footer")


def main():
    dxtest.need_programs()
    if not DRIVER.exists():
        sys.exit(f"{DRIVER} is not built")
    with dxtest.tempdir() as tmp:
        (tmp / "in").mkdir()
        made = files(tmp / "in")
        schemas(tmp, made)
        ways_to_name(tmp, made)
        rejects(tmp)
        refused(tmp, made)
        encrypted(tmp)
        lacking(tmp)
        lists(tmp)
        maps(tmp)
        json_in_strings(tmp)
        bytes_as_text(tmp)
        seldom(tmp)
        large_footer(tmp)
        remote(tmp, made)
    corpus()
    dxtest.finish()


if __name__ == "__main__":
    main()
