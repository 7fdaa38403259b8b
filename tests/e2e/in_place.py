#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: peers
"""A lake of other writers, indexed where it lies (`ingest --in-place`): every answer is what DuckDB says of its files.

Lakes that pyarrow, Polars and DuckDB wrote, with their compressions, dictionaries and folders; with DX_WHOLE=1 also those of ClickHouse
(chdb) and Spark (scripts/spark_peers.sh). Each row's locator is the place where pyarrow finds the URL, and says what the file was. Listings, hosts,
prefix, filter, single URLs, all kinds of suppressions, added, replaced and removed data, compaction, backup, web servers and S3; files that
are gone, cut, replaced by others of the same size, or lie elsewhere. The lake's own bytes never change. Exit 77: skipped.
"""
import functools
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import urllib.parse
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dxtest  # noqa: E402
import no_pandas  # noqa: E402, F401
import stores  # noqa: E402

try:
    import duckdb
    import polars
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError as missing:
    print(f"SKIPPED: {missing} in {sys.executable}; set DX_PEERS_PYTHON")
    sys.exit(77)

warnings.simplefilter("ignore")
ROWS = 6_000 if dxtest.WHOLE else 900
SPARK = dxtest.SOURCE / "build" / "spark-peers" / "bin" / "python"
LOCATOR = re.compile(r"(.+)#was=(\d+)-([0-9a-f]{16}),row=(\d+):(\d+)$")
WITH_SPARK = """
import sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.driver.bindAddress", "127.0.0.1").getOrCreate()
table = spark.read.parquet(sys.argv[1])
table.repartition(3).sortWithinPartitions("lang").write.partitionBy("part").parquet(sys.argv[2])
"""


def table():
    """Rows of 23 domains and their hosts; each URL at up to three times, some without one; the same row now and then in two files."""
    rows = []
    for i in range(ROWS):
        d, k = i * 7 % 23, i * 13 % 400
        host = ("", "www.", "a.b.", "shop.")[i % 4] + f"site{d}." + ("com", "co.uk", "org")[d % 3]
        rows.append({"text": f"page {i} " * (i % 90), "url": f"https://{host}/{('p', 'news', 'x/y')[k % 3]}/{k}?q={k % 5}", "ts": None if i % 50 == 0 else
                     1_700_000_000 + i % 3 * 86_400, "lang": ("en", "de", None)[k % 3], "part": i % 2, "tags": [f"t{i % 5}"] * (i % 3)})
    rows += rows[:40]
    kinds = pa.schema([("text", pa.string()), ("url", pa.string()), ("ts", pa.int64()), ("lang", pa.string()), ("part", pa.int32()), ("tags", pa.list_(pa.string()))])
    return pa.Table.from_pylist(rows, schema=kinds)


# ------------------------------------------------------------------------------------- lakes

def by_pyarrow(rows, lake):
    for i, codec in enumerate(("snappy", "zstd", "none")):
        pq.write_table(rows.slice(i * ROWS // 3, ROWS // 3 + (i == 2) * 80), lake / f"part-{i}.parquet", compression=codec, row_group_size=170, data_page_size=2048,
                       data_page_version=("1.0", "2.0")[i % 2], write_page_index=i == 1, use_dictionary=i != 2)


def by_polars(rows, lake):
    frame = polars.from_arrow(rows)
    frame.sort("text").write_parquet(lake / "all.parquet", row_group_size=300, compression="lz4")


def by_duckdb(rows, lake):
    """Sorted by reversed host, in folders of a partition."""
    session = duckdb.connect()
    session.register("rows", rows)
    session.execute("SET preserve_insertion_order=true")
    session.execute(f"COPY (SELECT *, reverse(split_part(url, '/', 3)) AS r FROM rows ORDER BY r, url) TO '{lake}/sorted' "
                    "(FORMAT parquet, PARTITION_BY (part), ROW_GROUP_SIZE 2048, COMPRESSION gzip)")


def by_clickhouse(rows, lake):
    import chdb
    pq.write_table(rows, lake.parent / "given.parquet")
    chdb.query(f"INSERT INTO FUNCTION file('{lake}/ch.parquet', Parquet) SELECT * FROM file('{lake.parent}/given.parquet', Parquet) ORDER BY cityHash64(url) "
               "SETTINGS output_format_parquet_row_group_size=500, output_format_parquet_compression_method='brotli'")


def by_spark(rows, lake):
    pq.write_table(rows, lake.parent / "given.parquet")
    (lake.parent / "spark.py").write_text(WITH_SPARK)
    dxtest.run(SPARK, lake.parent / "spark.py", lake.parent / "given.parquet", lake / "spark", env={"PYTHONPATH": "", "PYSPARK_PYTHON": str(SPARK), "SPARK_LOCAL_IP": "127.0.0.1"})


# ------------------------------------------------------------------------------------- what DuckDB says

def files_of(lake):
    return sorted(p for p in lake.rglob("*.parquet") if p.is_file())


def sums(lake):
    return {str(p.relative_to(lake)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files_of(lake)}


def domain_of(url):
    host = url.split("/")[2].split(".")
    return ".".join(host[-3 if host[-1] == "uk" else -2:])


def foreign(lake, where="true", argument=None):
    """{(URL, time)} of the files, by DuckDB."""
    found = duckdb.execute(f"SELECT DISTINCT url, ts FROM read_parquet('{lake}/**/*.parquet', hive_partitioning=false) WHERE {where}",
                           [argument] if argument is not None else []).fetchall()
    return set(found)


def seconds(text):
    return text and int(duckdb.execute("SELECT epoch(?::TIMESTAMPTZ)", [text]).fetchone()[0])


seconds = functools.cache(seconds)


def pairs(items):
    return sorted(((item["url"], seconds(item["ts"])) for item in items), key=str)


def said(rows):
    return sorted(rows, key=str)


# ------------------------------------------------------------------------------------- ours

def ingest_to(root, *arguments, **options):
    return dxtest.domaindex("ingest", "--root", root, *dxtest.short_psl(root.parent, "com", "org", "co.uk", "uk", "example"), *arguments, **options)


def ingest(root, lake, *arguments, inputs=None, **options):
    return ingest_to(root, "--in-place", "--dataset", "lake", "--ts-column", "ts", *arguments, *(inputs or ["."]), cwd=lake, **options)


def publish(root):
    dxtest.domaindex("publish", "--root", root)


def listing(root, domain):
    done = dxtest.domaindex("lookup", "--root", root, "--dataset", "lake", "--limit", "10000", "--fields", "url,ts,locator", domain, expect=None)
    return json.loads(done.stdout).get("items", []) if done.stdout else []     # nothing: no such dataset


def verify(root, base, *words, expect=3):
    """Words of the damages, all of them in lines of their own; returns those lines."""
    done = dxtest.domaindex("verify", "--root", root, "--base", base, expect=expect if words else 0)
    lines = [line for line in done.stdout.decode().splitlines() if line.startswith("damage: ")]
    dxtest.equal(len(lines), len(words), f"damages: {lines}")
    for file, reason in words:
        dxtest.check(any(file in line and reason in line for line in lines), f"no damage with {file!r} and {reason!r}: {lines}")
    return done


def check_locators(lake, items, what):
    """Each leads to the row that has its URL, and says the file's size."""
    urls, places = {}, {}
    for item in items:
        match = LOCATOR.match(item["locator"] or "")
        if not dxtest.check(match, f"{what}: locator {item['locator']}"):
            return
        name, size, _, group, row = match.groups()
        if (name, group) not in urls:
            file = pq.ParquetFile(lake / name)
            urls[name, group] = file.read_row_group(int(group), columns=["url"]).column(0).to_pylist()
            places[name] = (lake / name).stat().st_size
        if urls[name, group][int(row)] != item["url"] or int(size) != places[name]:
            dxtest.check(False, f"{what}: {item} leads to {urls[name, group][int(row)]} in a file of {places[name]} bytes")
            return
    dxtest.check(bool(urls), f"{what}: locators that lead to rows")


def check_lake(root, lake, what, domains=None):
    want = foreign(lake)
    items = []
    for domain in domains or sorted({domain_of(url) for url, _ in want}):
        got = listing(root, domain)
        dxtest.equal(pairs(got), said(row for row in want if domain_of(row[0]) == domain), f"{what}: {domain}: URLs and times")
        items += got
    check_locators(lake, items, what)
    return items


def written_lakes(tmp, rows):
    """One domain of each, all locators of it, the records at some of them."""
    writers = [by_polars, by_duckdb]
    if dxtest.WHOLE:
        writers.append(by_clickhouse)
    if dxtest.WHOLE and SPARK.exists():
        writers.append(by_spark)
    elif dxtest.WHOLE:
        print("SKIPPED in part: there is no Spark; scripts/spark_peers.sh makes build/spark-peers")
    for writer in writers:
        home = tmp / writer.__name__
        lake, root = home / "lake", home / "root"
        lake.mkdir(parents=True)
        writer(rows, lake)
        before = sums(lake)
        ingest(root, lake)
        publish(root)
        items = check_lake(root, lake, writer.__name__, None if dxtest.WHOLE else ["site3.com", "site4.co.uk"])
        item = items[len(items) // 2]
        done = dxtest.domaindex("fetch-record", "--base", lake, "--url", item["url"], item["locator"])
        dxtest.equal(json.loads(done.stdout)["url"], item["url"], f"{writer.__name__}: the row at a locator")
        with dxtest.Server(root, "--foreign", lake) as server:
            reply = server.get("/v1/domain/site3.com/datasets/1/rows?limit=1000")
            rows_of = {i["locator"]: i["row"] for i in reply.json["items"]} if dxtest.equal(reply.status, 200, f"{writer.__name__}: rows: {reply.body[:300]}") else {}
        for locator, row in rows_of.items():
            name, _, _, group, at = LOCATOR.match(locator).groups()
            dxtest.equal(row, pq.ParquetFile(lake / name).read_row_group(int(group)).slice(int(at), 1).to_pylist()[0], f"{writer.__name__}: the row at {locator}")
        verify(root, lake)
        dxtest.equal(sums(lake), before, f"{writer.__name__}: its files")


# ------------------------------------------------------------------------------------- the answers

def served(root, lake):
    """Answers of a server, over DuckDB's; then with rules of each kind."""
    where = "regexp_extract(url, '^https://(?:[^/]*\\.)?(site3\\.com)/', 1) = 'site3.com'"
    mine = foreign(lake, where)
    urls = {url for url, _ in mine}
    with dxtest.Server(root, "--foreign", lake) as server:
        def ask(target, status=200):
            replies = []
            dxtest.wait_until(lambda: replies.append(server.get(target)) or replies[-1].status != 503)
            dxtest.equal(replies[-1].status, status, f"{target}: {replies[-1].body[:300]}")
            return replies[-1].json

        site = "/v1/domain/site3.com"
        data = ask(site)["datasets"][0]
        dxtest.equal((data["url_count"], data["row_count"]), (len(urls), len(mine)), "counts of the domain")
        for target in (f"{site}/datasets/1/urls?limit=10000", f"{site}/urls?limit=10000"):
            dxtest.equal(pairs(ask(target)["items"]), said(mine), target)
        hosts = {}
        for url in urls:
            hosts[url.split("/")[2]] = hosts.get(url.split("/")[2], 0) + 1
        dxtest.equal({h["host"]: h["url_count"] for h in ask(f"{site}/hosts")["hosts"]}, hosts, "hosts")
        dxtest.equal(pairs(ask(f"{site}/datasets/1/urls?limit=10000&prefix=/news/")["items"]), said(row for row in mine if "/news/" in row[0]), "a prefix")
        dxtest.equal(pairs(ask(f"{site}/datasets/1/urls?limit=10000&from=2023-11-15")["items"]), said(foreign(lake, f"{where} AND ts >= 1700006400")), "times from a day on")
        dxtest.equal(pairs(ask(f"{site}/datasets/1/urls?limit=10000&filter=lang:de")["items"]), said(foreign(lake, f"{where} AND lang = 'de'")), "an extra column that was asked for")
        foreign_rows(lake, ask, site, where, mine)
        one = min(urls)
        rows = ask(f"/v1/url?u={urllib.parse.quote(one, safe='')}")["datasets"][0]["rows"]
        dxtest.equal(sorted((seconds(row["ts"]) for row in rows), key=str), sorted((ts for url, ts in mine if url == one), key=str), "a single URL")
        hidden = set()
        for kind, value, hits in (("--url", one, lambda url: url == one), ("--prefix", "https://www.site3.com/news/", lambda url: "//www.site3.com/news/" in url),
                                  ("--host", "shop.site3.com", lambda url: "//shop." in url)):
            dxtest.domaindex("suppress", "add", "--root", root, kind, value)
            hidden |= {url for url in urls if hits(url)}
            left = said(row for row in mine if row[0] not in hidden)
            dxtest.wait_until(lambda: pairs(ask(f"{site}/datasets/1/urls?limit=10000")["items"]) == left)
            for target in (f"{site}/datasets/1/urls?limit=10000&fields=url,ts,locator", f"{site}/urls?limit=10000", f"{site}/datasets/1/rows?limit=1000&columns=lang"):
                dxtest.equal(pairs(ask(target)["items"])[:1000], left[:1000], f"{target} after suppress {kind}")
        dxtest.check(0 < len(hidden) < len(urls), "rules hide some URLs")
        dxtest.domaindex("suppress", "add", "--root", root, "--domain", "site4.co.uk", "--policy", "absent")
        dxtest.wait_until(lambda: server.get("/v1/domain/site4.co.uk").status == 404)
    for rule in ("1", "2", "3", "4"):
        dxtest.domaindex("suppress", "lift", "--root", root, rule)


def followed(ask, target):
    """The items of all pages by cursors; a page has no more than its limit."""
    path, query = target.split("?")
    again, items, cursor = "&".join(x for x in query.split("&") if x.startswith(("limit", "columns"))), [], None
    while True:
        page = ask(target if cursor is None else f"{path}?{again}&cursor={cursor}")
        items += page["items"]
        cursor = page["next_cursor"]
        if cursor is None:
            return items


def foreign_rows(lake, ask, site, where, mine):
    """Rows of the files themselves, by what a listing leads to: those that DuckDB finds at the locators, page by page, all columns or some."""
    want = {}
    for name, group in {LOCATOR.match(item["locator"]).group(1, 4) for item in ask(f"{site}/datasets/1/urls?limit=10000&fields=locator")["items"]}:
        for i, row in enumerate(pq.ParquetFile(lake / name).read_row_group(int(group)).to_pylist()):
            want[name, int(group), i] = row
    got, offset = [], 0
    while offset is not None:
        answer = ask(f"{site}/datasets/1/rows?limit=37&offset={offset}")
        dxtest.equal((answer["total"], answer["offset"], answer["cost"]["rows"]), (len(mine), offset, len(answer["items"])), "a page of rows")
        got += answer["items"]
        offset = answer["next_offset"]
    dxtest.equal(pairs(got), said(mine), "URLs and times of rows")
    for item in got:
        name, _, _, group, row = LOCATOR.match(item["locator"]).groups()
        dxtest.equal(item["row"], want[name, int(group), int(row)], f"the row at {item['locator']}")
        dxtest.equal(item["row"]["url"], item["url"], "its URL")
    some = ask(f"{site}/datasets/1/rows?limit=1000&columns=tags,text")["items"]
    dxtest.equal([i["row"] for i in some], [{"text": i["row"]["text"], "tags": i["row"]["tags"]} for i in got[:1000]], "two columns, in the order of the file")
    dxtest.check(ask(f"{site}/datasets/1/rows?limit=20&columns=lang")["cost"]["bytes"] < ask(f"{site}/datasets/1/rows?limit=20")["cost"]["bytes"], "fewer columns cost less")
    dxtest.check("there are text, url, ts" in ask(f"{site}/datasets/1/rows?columns=txt", 400)["detail"], "a column that is not there")
    pages = followed(ask, f"{site}/datasets/1/rows?limit=37&columns=text")
    dxtest.equal([(i["url"], i["row"]) for i in pages], [(i["url"], {"text": i["row"]["text"]}) for i in got], "rows by cursors")
    for query in ("filter=lang:de", "from=2023-11-15", "prefix=/news/", "filter=lang:nowhere"):
        want = followed(ask, f"{site}/datasets/1/urls?limit=100&fields=url,ts,locator&{query}")
        pages = followed(ask, f"{site}/datasets/1/rows?limit=37&columns=text&{query}")
        dxtest.equal([(i["url"], i["locator"]) for i in pages], [(i["url"], i["locator"]) for i in want], f"rows with {query}")
    first = ask(f"{site}/datasets/1/rows?limit=1")
    # A cursor belongs to its path: a listing's may have a limit that rows do not take, and other fields.
    for path, other in (("rows", ask(f"{site}/datasets/1/urls?limit=1&filter=lang:de")), ("urls", first)):
        slug = ask(f"{site}/datasets/1/{path}?cursor={other['next_cursor']}", 400)["type"]
        dxtest.check(slug.endswith(":cursor-mismatch"), f"another path's cursor at {path}: {slug}")
    ask(f"{site}/datasets/1/rows?filter=lang:de&cursor={first['next_cursor']}", 400)
    for bad in ("columns=", "columns=a,,b", "columns=" + ",".join("a" * 65), "limit=1001", "format=csv", "cursor=x", "fields=url"):
        ask(f"{site}/datasets/1/rows?{bad}", 400)
    ask("/v1/domain/nowhere.example/datasets/1/rows", 404)


def rows_of_many_urls(tmp):
    """A row with a list of URLs is of all of them: if a rule hides one, the row is shown with none of the others. Texts that only mention it are not it."""
    lake, root = tmp / "many-lake", tmp / "many-root"
    lake.mkdir()
    rows = [{"urls": [f"https://one.com/{i}", f"HTTPS://Two.com:443/{i}", f"https://three.com/{i}"], "text": f"see https://two.com/{i}", "more": {"at": f"https://four.com/{i}"}} for i in range(6)]
    pq.write_table(pa.Table.from_pylist(rows), lake / "many.parquet", row_group_size=4)
    ingest_to(root, "--in-place", "--dataset", "many", "--url-column", "urls", "many.parquet", cwd=lake)
    publish(root)

    def shown(server, more=""):
        return [(i["url"][-1], i["row"]) for i in server.get(f"/v1/domain/one.com/datasets/1/rows{more}").json["items"]]

    with dxtest.Server(root, "--foreign", lake) as server:
        want = {str(i): row for i, row in enumerate(rows)}
        dxtest.equal(dict(shown(server)), want, "rows of several URLs")
        for rule, hit in ((("--url", "https://two.com/3"), "3"), (("--prefix", "https://three.com/1"), "1"), (("--url", "https://four.com/5", "--policy", "absent"), "5"),
                          (("--domain", "two.com", "--policy", "absent"), "024")):
            dxtest.domaindex("suppress", "add", "--root", root, *rule)
            want.update((i, None) for i in hit)
            dxtest.wait_until(lambda: dict(shown(server)) == want, 20)
            dxtest.equal(dict(shown(server)), want, f"rows once a rule hides one of their URLs: {rule}")
            dxtest.equal({i: row["text"] for i, row in shown(server, "?columns=text")}, {str(i): row["text"] for i, row in enumerate(rows)}, "columns without URLs")


def not_served(tmp, root, lake):
    """What a server may not read, and what is not any more what it was: a problem that names the file, never fewer rows."""
    def ask(server, status, slug, *words):
        replies = []
        dxtest.wait_until(lambda: replies.append(server.get("/v1/domain/site3.com/datasets/1/rows?columns=lang&limit=1000")) or replies[-1].status != 503)
        dxtest.equal((replies[-1].status, replies[-1].json.get("type", "").rsplit(":", 1)[-1]), (status, slug), f"{replies[-1].body[:300]}")
        for word in words:
            dxtest.check(word in replies[-1].json["detail"], f"{replies[-1].json['detail']!r} lacks {word!r}")

    part = lake / "part-1.parquet"
    data = part.read_bytes()
    with dxtest.Server(root) as server:
        ask(server, 403, "foreign-not-served", "fetch-record")
    with dxtest.Server(root, "--foreign", lake) as server:
        ask(server, 200, "")
        part.rename(lake / "away")
        ask(server, 500, "data-missing", "part-1.parquet")
        part.write_bytes(data + b"x")
        ask(server, 500, "data-replaced", "part-1.parquet", f"it has {len(data) + 1} bytes, and had {len(data)}")
        part.write_bytes(data.replace(b"parquet-cpp", b"parquet-hpp"))
        ask(server, 500, "data-replaced", "part-1.parquet", "another footer")
        part.write_bytes(bytes(len(data)))
        ask(server, 500, "data-replaced", "part-1.parquet")
        part.unlink()
        part.symlink_to("away")
        ask(server, 200, "")                    # a link that stays in the folder
        (lake / "away").rename(tmp / "outside")
        part.unlink()
        part.symlink_to(tmp / "outside")
        ask(server, 403, "foreign-not-served", "part-1.parquet", "outside")
        part.unlink()
        os.mkfifo(part)
        ask(server, 403, "foreign-not-served", "regular")
        part.unlink()
        (tmp / "outside").rename(part)
        ask(server, 200, "")
    # Absolute names, and a server that may read another folder, or one that has a longer name.
    absolute = tmp / "absolute"
    ingest(absolute, lake, inputs=[lake / "part-0.parquet", lake / "part-1.parquet"])
    publish(absolute)
    (tmp / "la").mkdir()
    for folder, status in ((lake, 200), (f"{lake}//", 200), (tmp, 200), (tmp / "la", 403), (lake / "..", 403)):
        with dxtest.Server(absolute, "--foreign", folder) as server:
            ask(server, status, "" if status == 200 else "foreign-not-served")


def same_footer(tmp):
    """Bytes of a page that are others while size and footer stay: found where the writer gave pages checksums, or where the row is not of the URL any more; of some
    columns a server cannot tell. Else the row is what the file has now. Nothing else of the answer comes from the file."""
    lake, root = tmp / "same-lake", tmp / "same-root"
    lake.mkdir()
    rows = [{"url": f"https://same{i}.com/page", "text": f"text number {i:04}"} for i in range(40)]
    for name, has_sums in (("bare", False), ("sums", True)):
        pq.write_table(pa.Table.from_pylist(rows), lake / f"{name}.parquet", compression="NONE", use_dictionary=False, write_page_checksum=has_sums)
        ingest_to(root, "--in-place", "--dataset", name, "--url-column", "url", f"{name}.parquet", cwd=lake)
    publish(root)
    whole = {name: (lake / f"{name}.parquet").read_bytes() for name in ("bare", "sums")}

    def change(before, after):
        for name, data in whole.items():
            footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
            dxtest.check(data.count(before, 0, footer) == 1 and before not in data[footer:], f"{name}: {before} is in a page alone")
            (lake / f"{name}.parquet").write_bytes(data.replace(before, after))

    def fetch(name, domain):
        return dxtest.domaindex("fetch-record", "--root", root, "--dataset", name, "--base", lake, f"https://{domain}/page", expect=None)

    with dxtest.Server(root, "--foreign", lake) as server:
        def ask(dataset, domain, more=""):
            return server.get(f"/v1/domain/{domain}/datasets/{dataset}/rows{more}")

        dxtest.equal([ask(d, "same7.com").json["items"][0]["row"] for d in (1, 2)], [rows[7]] * 2, "before")
        change(b"text number 0007", b"text NUMBER 0007")
        dxtest.equal(ask(1, "same7.com").json["items"][0]["row"], {"url": rows[7]["url"], "text": "text NUMBER 0007"}, "a page without a checksum: what the file has now")
        dxtest.equal(fetch("bare", "same7.com").returncode, 0, "fetch-record: it is of the URL")
        for more in ("", "?columns=text"):
            reply = ask(2, "same7.com", more)
            dxtest.check(reply.status == 500 and "sums.parquet" in reply.json["detail"] and "wrong CRC" in reply.json["detail"], f"a page with one: {reply.body[:400]}")
        dxtest.equal(ask(2, "same7.com", "?columns=url").json["items"][0]["row"], {"url": rows[7]["url"]}, "pages that are sound")
        done = fetch("sums", "same7.com")
        dxtest.check(done.returncode == 1 and b"wrong CRC" in done.stderr, f"fetch-record: {done.stderr!r}")
        change(b"https://same7.com/page", b"https://xame7.com/page")
        reply = ask(1, "same7.com")
        dxtest.check(reply.status == 500 and reply.json["type"].endswith("data-replaced") and "bare.parquet" in reply.json["detail"] and
                     "https://same7.com/page" in reply.json["detail"], f"a row of another URL: {reply.body[:400]}")
        dxtest.equal(ask(1, "same7.com", "?columns=text").status, 200, "of a column without the URL nothing can be said")
        dxtest.equal(ask(1, "same8.com").json["items"][0]["row"], rows[8], "another row of the file")
        dxtest.equal(fetch("bare", "same7.com").returncode, 1, "fetch-record: not of the URL")
        verified = dxtest.domaindex("verify", "--root", root, "--base", lake, expect=None)
        dxtest.equal(verified.returncode, 0, f"verify --base compares sizes and footers: {verified.stdout!r}")


def urls_in_json(tmp):
    """A URL in a string of JSON, with escapes and not in canonical form, is the row's: for servers and fetch-record."""
    lake, root = tmp / "json-lake", tmp / "json-root"
    lake.mkdir()
    rows = [{"id": i, "meta": json.dumps({"a": ["b"], "url": f"HTTPS://Json{i}.com:443/x?a=1&b=2"}).replace("/", "\\/")} for i in range(5)]
    pq.write_table(pa.Table.from_pylist(rows), lake / "json.parquet")
    ingest_to(root, "--in-place", "--dataset", "json", "--url-column", "meta.url", "json.parquet", cwd=lake)
    publish(root)
    done = dxtest.domaindex("fetch-record", "--root", root, "--base", lake, "https://json3.com/x?a=1&b=2", expect=None)
    dxtest.equal((done.returncode, json.loads(done.stdout or b"null")), (0, rows[3]), f"fetch-record: {done.stderr!r}")
    with dxtest.Server(root, "--foreign", lake) as server:
        dxtest.equal(server.get("/v1/domain/json3.com/datasets/1/rows").json["items"][0]["row"], rows[3], "from a server")


def urls_of_all_kinds(tmp):
    """URLs in JSON with escapes, blanks and commas, and those of a folder's name, are their rows'; a rule for one of a row's URLs hides the row."""
    lake, root = tmp / "kinds-lake", tmp / "kinds-root"
    (lake / "host=folder.example.org").mkdir(parents=True)
    made = ["https://kinds.com/\u4e2d\U0001f600", "HTTPS://Kinds.com/a,b", "https://kinds.com/a b", "https://kinds.com/\"q\"", "https://kinds.com/plain"]
    rows = [{"id": i, "meta": (" " if i % 2 else "") + json.dumps({"text": "see https://gone.com/, x", "url": url})} for i, url in enumerate(made)]
    pq.write_table(pa.Table.from_pylist(rows), lake / "kinds.parquet")
    listed = [{"id": 7, "urls": [json.dumps({"url": f"https://{name}.com/7"}) for name in ("listed", "hidden")]}]
    pq.write_table(pa.Table.from_pylist(listed), lake / "listed.parquet")
    pq.write_table(pa.Table.from_pylist([{"id": 8}]), lake / "host=folder.example.org/a.parquet")
    for column, name in (("meta.url", "kinds.parquet"), ("urls.url", "listed.parquet"), ("host", "host=folder.example.org/a.parquet")):
        ingest_to(root, "--in-place", "--dataset", "kinds", "--no-ts", "--url-column", column, name, cwd=lake)
    publish(root)
    (lake / "lines.jsonl").write_text("".join(row["meta"] + "\n" for row in rows))
    ingest_to(tmp / "lines-root", "--locators", "--dataset", "lines", "--no-ts", "lines.jsonl", cwd=lake)
    publish(tmp / "lines-root")
    for i, url in enumerate(made):
        for where, want in ((root, rows[i]), (tmp / "lines-root", json.loads(rows[i]["meta"]))):
            done = dxtest.domaindex("fetch-record", "--root", where, "--base", lake, url, expect=None)
            dxtest.equal((done.returncode, json.loads(done.stdout or b"null")), (0, want), f"fetch-record {url}: {done.stderr!r}")
    with dxtest.Server(root, "--foreign", lake) as server:
        def shown(domain):
            return sorted((item["row"] or {"id": None})["id"] for item in server.get(f"/v1/domain/{domain}/datasets/1/rows").json["items"])

        dxtest.equal([shown(d) for d in ("kinds.com", "listed.com", "hidden.com", "example.org")], [[0, 1, 2, 3, 4], [7], [7], [8]], "rows")
        dxtest.domaindex("suppress", "add", "--root", root, "--domain", "hidden.com", "--policy", "absent")
        dxtest.wait_until(lambda: server.get("/v1/domain/hidden.com").status == 404, 20)
        dxtest.equal(server.get("/v1/domain/listed.com/datasets/1/rows").json["items"][0]["row"], None, "a row that also has a hidden URL, in JSON")
        dxtest.equal(shown("kinds.com"), [0, 1, 2, 3, 4], "rows with other URLs")


def too_much(tmp):
    """Rows that lie in over 64 MiB of column chunks, or over 64 files, are 422 before one is read."""
    lake, root = tmp / "large", tmp / "large-root"
    lake.mkdir()
    rows = [{"url": f"https://big.example/{i:04}", "blob": f"{i:04}" * 175_000, "small": i} for i in range(100)]
    pq.write_table(pa.Table.from_pylist(rows), lake / "blobs.parquet", row_group_size=10, compression="none", use_dictionary=False)
    for i in range(70):
        pq.write_table(pa.Table.from_pylist([{"url": f"https://many.example/{i:04}", "small": i}]), lake / f"{i}.parquet")
    ingest_to(root, "--in-place", "--no-ts", "--dataset", "lake", ".", cwd=lake)
    publish(root)
    with dxtest.Server(root, "--foreign", lake) as server:
        def ask(target, status):
            reply = server.get(f"/v1/domain/{target}")
            dxtest.equal(reply.status, status, f"{target}: {reply.body[:300]}")
            return reply.json

        dxtest.check("over 64 MiB" in ask("big.example/datasets/1/rows?limit=100", 422)["detail"], "too many bytes")
        dxtest.equal(len(ask("big.example/datasets/1/rows?limit=80", 200)["items"]), 80, "so many that fit")
        dxtest.equal([i["row"] for i in ask("big.example/datasets/1/rows?limit=100&columns=small", 200)["items"]], [{"small": i} for i in range(100)], "a column that fits")
        dxtest.check("over 64 foreign files" in ask("many.example/datasets/1/rows?limit=65", 422)["detail"], "too many files")
        dxtest.equal([i["row"]["small"] for i in ask("many.example/datasets/1/rows?limit=64", 200)["items"]], list(range(64)), "as many as may be")


def added_and_replaced(tmp, rows, root, lake):
    """More files, in a part of their own; compaction; files that were rewritten, with --replace; a removed dataset. The lake is never touched."""
    more = rows.slice(0, 90).set_column(1, "url", pa.array([f"https://new{i % 3}.site3.com/n/{i}" for i in range(90)]))
    (lake / "2024").mkdir()
    pq.write_table(more, lake / "2024" / "more.parquet", row_group_size=40)
    ingest(root, lake, "--extra-column", "lang", inputs=["2024"])
    publish(root)
    check_lake(root, lake, "with files that were added")
    dxtest.domaindex("compact", "--root", root)
    kept = check_lake(root, lake, "after compact", ["site3.com", "site5.org"])
    dxtest.domaindex("verify", "--root", root, "--deep", "--base", lake)
    again = ingest(root, lake, "--extra-column", "lang")
    dxtest.check("rows stored                         0" in again.stderr.decode(), "the same lake again adds nothing")
    dxtest.domaindex("backup", "--root", root, "--to", tmp / "copy")
    dxtest.equal([i for d in ("site3.com", "site5.org") for i in listing(tmp / "copy", d)], kept, "a backup leads to the same files")
    verify(tmp / "copy", lake)
    changed_files(root, lake)
    pq.write_table(rows.slice(100, 700), lake / "part-0.parquet", row_group_size=64)
    before = sums(lake)
    verify(root, lake, ("part-0.parquet", "was replaced since it was indexed"))
    ingest(root, lake, "--replace")
    publish(root)
    check_lake(root, lake, "after --replace")
    verify(root, lake)
    dxtest.domaindex("remove", "--root", root, "--dataset", "lake")
    publish(root)
    for _ in range(2):
        dxtest.domaindex("gc", "--root", root, "--keep", 1, "--keep-for", "0s", "--lease-ttl", "0s", "--cursor-life", "0s", "--longest-request", "0s", "--skew", "0s",
                         "--max-share", 100, "--delete")
    dxtest.equal(listing(root, "site3.com"), [], "a removed dataset")
    dxtest.equal(sums(lake), before, "files of the lake after remove and gc")


def changed_files(root, lake):
    """Gone, cut, of another content and the same size, behind a link, elsewhere: each is named with the reason."""
    paths = {name: lake / name for name in ("part-0.parquet", "part-1.parquet", "part-2.parquet", "2024/more.parquet")}
    data = {name: path.read_bytes() for name, path in paths.items()}
    item = next(i for i in listing(root, "site3.com") if i["locator"].startswith("part-2"))
    paths["part-0.parquet"].rename(lake / "away")
    paths["part-1.parquet"].write_bytes(data["part-1.parquet"][:-1])
    footer = int.from_bytes(data["part-2.parquet"][-8:-4], "little")
    changed = bytearray(data["part-2.parquet"])
    changed[-8 - footer // 2] ^= 1
    paths["part-2.parquet"].write_bytes(changed)
    verify(root, lake, ("part-0.parquet", "No such file"), ("part-1.parquet", f"it has {len(data['part-1.parquet']) - 1} bytes, and had {len(data['part-1.parquet'])}"),
           ("part-2.parquet", ""))
    done = dxtest.domaindex("fetch-record", "--base", lake, item["locator"], expect=1)
    dxtest.equal(done.stdout, b"", "a row of a file that was replaced")
    # Other rows of the same size: the writer's text of the version is exchanged for one of the same length.
    whole = data["part-2.parquet"].replace(b"parquet-cpp", b"parquet-hpp")
    paths["part-2.parquet"].write_bytes(whole)
    (lake / "away").rename(lake.parent / "outside.parquet")
    paths["part-0.parquet"].symlink_to(lake.parent / "outside.parquet")
    paths["part-1.parquet"].write_bytes(data["part-1.parquet"])
    verify(root, lake, ("part-0.parquet", "below"), ("part-2.parquet", "it has as many bytes, and another footer"))
    done = dxtest.domaindex("fetch-record", "--base", lake, item["locator"], expect=1)
    dxtest.check(b"was replaced since it was indexed" in done.stderr, f"fetch-record: {done.stderr!r}")
    paths["part-0.parquet"].unlink()
    (lake.parent / "outside.parquet").rename(paths["part-0.parquet"])
    paths["part-2.parquet"].write_bytes(data["part-2.parquet"])
    verify(root, lake)
    verify(root, lake.parent, *((name, "No such file") for name in paths))
    done = dxtest.domaindex("verify", "--root", root, "--base", "http://127.0.0.1:1/", expect=1)
    dxtest.check(b"127.0.0.1:1" in done.stderr, f"a server that is not there: {done.stderr!r}")


def remote(tmp, lake):
    """Lakes behind http:// and s3://: ingested by address and by pattern, verified below it."""
    name = "part-1.parquet"
    want = duckdb.execute(f"SELECT DISTINCT url, ts FROM read_parquet('{lake / name}')").fetchall()
    mine = said(row for row in want if domain_of(row[0]) == "site3.com")
    if stores.find("nginx"):
        with stores.Nginx(lake) as server:
            ingest(tmp / "http-root", lake, inputs=[f"{server.url}/{name}"])
            publish(tmp / "http-root")
            items = listing(tmp / "http-root", "site3.com")
            dxtest.equal(pairs(items), mine, "over HTTP")
            dxtest.check(items[0]["locator"].startswith(f"{server.url}/{name}#was="), f"over HTTP: {items[0]['locator']}")
            verify(tmp / "http-root", server.url)
            (lake / name).rename(lake / "away")
            verify(tmp / "http-root", server.url, (name, "404"))
            (lake / "away").rename(lake / name)
    else:
        print("SKIPPED in part: no nginx")
    for kind in stores.kinds()[:1]:
        with kind() as store, stores.environment(store.env):
            store.bucket("lake")
            store.put("lake", f"x/{name}", (lake / name).read_bytes())
            ingest(tmp / "s3-root", lake, inputs=["s3://lake/x/part-*.parquet"])
            publish(tmp / "s3-root")
            items = listing(tmp / "s3-root", "site3.com")
            dxtest.equal(pairs(items), mine, "over S3")
            verify(tmp / "s3-root", "s3://lake/x")
            store.put("lake", f"x/{name}", (lake / "part-0.parquet").read_bytes())
            verify(tmp / "s3-root", "s3://lake/x", (name, "was replaced since it was indexed"))


def refused(tmp, lake):
    (tmp / "lines.tsv").write_text("url\nhttp://example.com/\n")
    for words, arguments in ((b"indexes Parquet files alone", ["."] + [str(tmp / "lines.tsv")]), (b"Parquet files alone", ["-"])):
        done = ingest(tmp / "refused", lake, inputs=arguments, expect=None, input=b"http://example.com/\n")
        dxtest.check(done.returncode != 0 and words in done.stderr, f"{arguments}: {done.returncode} {done.stderr!r}")
    done = dxtest.domaindex("ingest", "--root", tmp / "refused", "--in-place", "--from", "amqp://127.0.0.1/?queue=q", "--dataset", "d", expect=2)
    dxtest.check(b"--in-place and --from" in done.stderr, f"a queue: {done.stderr!r}")
    dxtest.check(not list((tmp / "refused").glob("urls/*")), "nothing was added")


def main():
    dxtest.need_programs()
    rows = table()
    with dxtest.tempdir() as tmp:
        lake, root = tmp / "lake", tmp / "root"
        lake.mkdir()
        by_pyarrow(rows, lake)
        before = sums(lake)
        ingest(root, lake, "--extra-column", "lang")
        publish(root)
        check_lake(root, lake, "pyarrow")
        served(root, lake)
        not_served(tmp, root, lake)
        rows_of_many_urls(tmp)
        same_footer(tmp)
        urls_in_json(tmp)
        urls_of_all_kinds(tmp)
        too_much(tmp)
        dxtest.equal(sums(lake), before, "files of the lake")
        remote(tmp, lake)
        refused(tmp, lake)
        written_lakes(tmp, rows)
        added_and_replaced(tmp, rows, root, lake)
    dxtest.finish()


if __name__ == "__main__":
    main()
