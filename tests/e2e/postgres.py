#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: peers
"""Export to a PostgreSQL of the test's own: its rows against the lake as pyarrow reads it, both layouts, TLDs beyond 0x80,
ranges and their plans, partitions at their bounds, runs that are killed, interrupted, cut off and repeated, tables and
connection strings that do not fit.

In detail: `export --postgres` to a PostgreSQL of the test's own: its rows against the lake as pyarrow reads
it, both layouts, 255 TLDs and more; each TLD, domain and subdomain by its range, plans that read their
partitions alone, partitions at their bounds; runs killed, interrupted, whose server was killed, two at once,
each row once after all; suppressions, datasets that come and go, tables made by `ddl`, tables that do not
fit, names to be quoted, passwords that no word repeats. In the gate a dry run before every third export alone, tables made by `ddl` down to
each subdomain alone, 20 plans of a layout; with DX_WHOLE=1 before every export, also down to TLDs and domains, 60 plans.
"""
import collections
import functools
import itertools
import json
import random
import re
import signal
import socket
import subprocess

import dxtest
import pgcluster
import roots
from dxtest import check, domaindex, equal

try:
    import pyarrow.parquet
except ImportError:
    dxtest.skip("no module pyarrow (tests/e2e/requirements.txt)")

LAYOUTS = {"8-24-8-24": 270, "8-24-24-8": 12}  # TLDs besides those of whole_urls: 255 is the most
BIG = 40  # --partition-rows
HELD = "zz"  # a TLD that only the dataset `held` has
SECRET = "q7Secret%s" % random.randrange(10**9)
TITLES = ["plain", "Über 日本", "a\\b'c\"d", "zero \0 byte", "\0", "", "tab\tand\x01\n", "\\N", "{1,2}", "\U0001f600"]


def whole_urls():
    r = random.Random(8)
    for _ in range(700):
        host = r.choice(["", "www.", "a.b.", f"s{r.randrange(12)}."]) + f"d{int(12 * r.random() ** 2)}."
        path = r.choice(["", "a", "b/c?x=%C3%A4", f"p{r.randrange(60)}", "it's", "a%00b"])
        yield f"{r.choice(['http', 'https'])}://{host}{r.choice(['com', 'org', 'co.uk', 'uk'])}{r.choice(['', ':8080'])}/{path}"
    yield from ("http://192.0.2.7/x", "http://[2001:db8::1]:81/", "http://example.com./dot")


def tld_urls(count):
    return [f"http://{sub}n{i % 3}.t{i:03}/{i}" for i in range(count) for sub in ("", "www.")]


def ingest(root, name, urls, titles=None):
    if titles is None:
        domaindex("ingest", "--root", root, "--dataset", name, "--format", "list", "-",
                  input="".join(u + "\n" for u in urls).encode())
    else:
        lines = []
        for i, u in enumerate(urls):
            row = {"url": u, "title": titles[i % len(titles)]}
            if i % 3:
                row["ts"] = ["2021-03-04T05:06:07.123456Z", "1960-01-01T00:00:00Z"][i % 3 - 1]
            lines.append(json.dumps(row) + "\n")
        domaindex("ingest", "--root", root, "--dataset", name, "--format", "jsonl", "--extra-column", "title", "-",
                  input="".join(lines).encode())


def make_root(root, layout):
    ingest(root, "one", list(whole_urls()), TITLES)
    domaindex("publish", "--root", root, "--memory", "64M")
    domaindex("domain64", "init", "--root", root, "--layout", layout)
    domaindex("domain64", "fill", "--root", root)
    ingest(root, "tlds", tld_urls(LAYOUTS[layout]))  # of 270 some find no number left
    domaindex("publish", "--root", root, "--memory", "64M")
    domaindex("domain64", "fill", "--root", root)


def export(root, pg, *more, expect=0, env=None):
    return domaindex("export", "--root", root, "--postgres", pg.dsn, "--partition-rows", BIG, *more, expect=expect,
                     env=env).stderr.decode(errors="replace")


def counts(words):
    return {name.strip(): int(n) for name, n in re.findall(r"^  (\S[^\n]*?) +(\d+)$", words, re.M)}


exports = itertools.count()


def both(root, pg, *more):
    """The words of an export, and of a dry run before it: that says the same, and the server has not changed."""
    if next(exports) % 3 and not dxtest.WHOLE:
        return export(root, pg, *more)

    def state():
        there = pg.sql("SELECT count(*) FROM pg_class WHERE relname LIKE 'urls%'")
        return there, pg.many(["SELECT count(*) FROM urls", "SELECT * FROM urls_datasets ORDER BY 1"]) if there != [["0"]] else []
    before = state()
    dry = export(root, pg, *more, "--dry-run")
    check("dry run: nothing is written" in dry and state() == before, f"a dry run writes nothing: {dry}")
    words = export(root, pg, *more)
    equal(counts(dry), counts(words), f"a dry run of {more} says what the export does")
    return words


# ---- what the lake has ----

@functools.cache
def rows_of(path):
    """(dataset, url, microseconds or None, title or None) of every row of a file."""
    file = pyarrow.parquet.ParquetFile(path)
    table = file.read(columns=[name for name in ("scheme", "host", "path_query", "ts", "title") if name in file.schema_arrow.names])
    none = [None] * table.num_rows
    ts = table.column("ts").cast(pyarrow.timestamp("us", "UTC")).cast(pyarrow.int64()).to_pylist() if "ts" in table.column_names else none
    titles = table.column("title").to_pylist() if "title" in table.column_names else none
    urls = zip(*(table.column(name).to_pylist() for name in ("scheme", "host", "path_query")))
    return [(roots.dataset_of(path), f"{scheme}://{host}{rest}", us, None if title is None else title.replace("\0", "\ufffd"))
            for (scheme, host, rest), us, title in zip(urls, ts, titles)]


def lake(root):
    """rows_of all files."""
    return [row for path in sorted((root / "urls").glob("dataset_id=*/**/*.parquet")) for row in rows_of(path)]


def keys(root, urls):
    """{url: number as SQL has it}, without those that have none."""
    return keys_by(root, (root / "index" / "domain64" / "registry.tsv").read_bytes(), frozenset(urls))


@functools.cache
def keys_by(root, _, urls):
    """The numbers are those of the registry, whose bytes are _."""
    urls = sorted(urls)
    done = domaindex("key", "--scheme", "domain64", "--root", root, "--format", "bigint",
                     input="".join(u + "\n" for u in urls).encode(), expect=None)
    got = [line.split("\t")[0] for line in done.stdout.decode().splitlines()]
    return {u: int(k) for u, k in zip(urls, got) if not k.startswith("!")}


def bare(url):
    host = url.split("://")[1].split("/")[0]
    host = re.sub(r":\d+$", "", host) if not host.endswith("]") else host
    return host.rstrip(".")


# ---- what the table has ----

def same_rows(root, pg, words, without=lambda url: False, table="urls", title=True):
    """All that have a number, each as often as it is there; the rows of the lake are the answer."""
    rows = [r for r in lake(root) if not without(r[1])]
    number = keys(root, [r[1] for r in rows])
    want = collections.Counter((number[u], d, u, us, t if title else None) for d, u, us, t in rows if u in number)
    got = collections.Counter(
        (int(k), int(d), u, None if us is None else int(us), t) for k, d, u, us, t in pg.sql(
            f"SELECT domain64, dataset_id, url, (extract(epoch FROM ts) * 1000000)::bigint, {'title' if title else 'NULL'} "
            f'FROM "{table}"'))
    equal(sum(got.values()), sum(want.values()), f"{words}: rows")
    check(got == want, f"{words}: {list((got - want).items())[:2]} are too many, {list((want - got).items())[:2]} are missing")
    return rows, number


def ranges(root, names):
    lines = domaindex("domain64", "ranges", "--root", root, "--format", "bigint", *names, expect=None).stdout.decode()
    return {line.split("\t")[0]: line.split("\t")[1:] for line in lines.splitlines() if "!unknown" not in line}


def where(bounds):
    low, high = bounds
    return f"domain64 >= {low}" + ("" if high == "MAXVALUE" else f" AND domain64 < {high}")


def check_ranges(root, pg, rows, number, layout):
    """TLDs, domains and subdomains by numeric range: their rows, no others, from their partitions alone."""
    hosts = {bare(u) for _, u, _, _ in rows if u in number and not bare(u)[-1].isdigit() and "[" not in u}
    want = collections.defaultdict(set)
    for d, u, us, t in rows:
        if u not in number or bare(u) not in hosts:
            continue
        labels = bare(u).split(".")
        n = 2 if bare(u).endswith(".co.uk") else 1
        for depth in {n, n + 1, len(labels)}:
            want[".".join(reversed(labels[-depth:])), depth - n].add((d, u, us))
    names = sorted(want)
    # a host without a subdomain is its domain, whose range has the others too
    bounds = ranges(root, [name for name, _ in names])
    chosen = [n for n in names if n[0] in bounds]
    equal(len(chosen), len(names), f"{layout}: ranges known")
    parts = []
    for i, (name, _) in enumerate(chosen):
        parts.append(f"SELECT {i}, dataset_id, url, (extract(epoch FROM ts) * 1000000)::bigint FROM urls "
                     f"WHERE {where(bounds[name])}")
    got = collections.defaultdict(set)
    for at in range(0, len(parts), 100):
        for i, d, u, us in pg.sql(" UNION ALL ".join(parts[at:at + 100])):
            got[chosen[int(i)]].add((int(d), u, None if us is None else int(us)))
    wrong = [n for n in chosen if got[n] != want[n]]
    equal(wrong, [], f"{layout}: ranges with other rows")
    check_plans(root, pg, chosen, bounds, layout)
    return len(chosen)


def scanned(pg, queries):
    """Of each query the partitions in its plan, and the plan."""
    plans = pg.many(["EXPLAIN (COSTS OFF) " + q for q in queries])
    for rows in plans:
        plan = "\n".join(row[0] for row in rows)
        yield set(re.findall(r" on (urls_[0-9a-z_]+?)(?:_domain64_idx)?(?: urls(?:_\d+)?)?$", plan, re.M)), plan


def check_plans(root, pg, chosen, bounds, layout):
    own = {host: name for name, host in pg.sql(
        "SELECT c.relname, obj_description(c.oid) FROM pg_inherits JOIN pg_class c ON c.oid = inhrelid "
        "WHERE obj_description(c.oid) IS NOT NULL AND c.relname ~ '^urls_'")}
    leaves = {name for name, in pg.sql("SELECT relid::regclass FROM pg_partition_tree('urls') WHERE isleaf")}
    seen = collections.Counter()
    names = random.Random(1).sample(chosen, 60 if dxtest.WHOLE else 20) + [c for c in chosen if c[1] == 0][:2] + [c for c in chosen if c[1] == 1 and c[0].split(".")[-1] == "d0"]
    plans = scanned(pg, [f"SELECT url FROM urls WHERE {where(bounds[name])}" for name, _ in names])
    for (name, depth), (got, plan) in zip(names, plans):
        labels = name.split(".")
        tlds = 2 if name.startswith("uk.co.") or name == "uk.co" else 1
        tld = own[".".join(reversed(labels[:tlds]))]
        domain = own.get(".".join(reversed(labels[:tlds + 1]))) if depth else None
        want = {domain} if domain else {tld + "_rest"}
        if depth == 0:
            want = {leaf for leaf in leaves if leaf.startswith(tld + "_")}
        check(got == want, f"{layout}: {name} is looked for in {sorted(got)}, not in {sorted(want)}: {plan[:400]}")
        seen[depth == 0, domain is not None] += 1
    check(len(seen) == 3, f"{layout}: plans of TLDs, of domains with a partition and of others were seen: {seen}")


def check_bounds(pg, layout):
    """The last number of a range lies in its partition and the next one does not; 0x7f and 0xff end where bigint does."""
    domain = pg.sql("SELECT c.relname FROM pg_class c WHERE relname ~ '^urls_[0-9a-f]{2}_[0-9a-f]{6}$' ORDER BY 1 LIMIT 1")
    tld, number = domain[0][0].split("_")[1:]
    first = (int(tld, 16) << 56) + (int(number, 16) << 32)
    cases = [(first, domain[0][0]), (first + 2**32 - 1, domain[0][0]), (first - 1, f"urls_{tld}_rest"),
             (2**56 - 1, "urls_rest"), (2**56, "urls_01_rest")]
    last = int(pg.sql("SELECT count(*) FROM pg_inherits WHERE inhparent = 'urls'::regclass")[0][0]) - 1
    if last == 255:
        cases += [(0x7f << 56, "urls_7f_rest"), (2**63 - 1, "urls_7f_rest"), (0x80 << 56, "urls_80_rest"),
                  (0xff << 56, "urls_ff_rest"), (2**64 - 1, "urls_ff_rest")]
        got = pg.sql("SELECT count(*) FROM urls WHERE domain64 < 0")
        check(int(got[0][0]) > 100, f"{layout}: rows of TLDs beyond 0x80: {got}")
    else:
        cases += [((last + 1 << 56) - 1, f"urls_{last:02x}_rest"), (last + 1 << 56, "urls_rest")]
    signed = [key - 2**64 if key >= 2**63 else key for key, _ in cases]
    got = pg.many(["BEGIN", *(f"INSERT INTO urls VALUES ({s}, 0, 'http://last.of/it') RETURNING tableoid::regclass"
                              for s in signed), "ROLLBACK"])[1:-1]
    equal([(hex(key), rows[0][0]) for (key, _), rows in zip(cases, got)], [(hex(key), want) for key, want in cases],
          f"{layout}: where numbers go")


def check_first(root, pg, layout):
    words = both(root, pg, "--extra-column", "title")
    said = counts(words)
    rows, number = same_rows(root, pg, f"{layout}: first export")
    out, tlds = sum(u not in number for _, u, _, _ in rows), LAYOUTS[layout]
    check((out >= 2) == (tlds > 255), f"{layout}: some TLDs have no number if they are many: {out}")
    equal([said["datasets loaded"], said["rows loaded"], said["left out: TLD unknown"], said["texts mended"]],
          [2, len(rows) - out, out, sum("\ufffd" in (t or "") for _, _, _, t in rows)], f"{layout}: counts: {words}")
    equal(pg.sql("SELECT dataset_id, name, row_count, left_out FROM urls_datasets ORDER BY 1"),
          [["1", "one", str(said["rows loaded"] - (2 * tlds - out)), "0"], ["2", "tlds", str(2 * tlds - out), str(out)]],
          f"{layout}: what the datasets are")
    said = counts(both(root, pg, "--extra-column", "title"))
    equal([said["partitions made"], said["datasets loaded"], said["datasets as before"]], [0, 0, 2], f"{layout}: once more")
    same_rows(root, pg, f"{layout}: once more")
    check_ranges(root, pg, rows, number, layout)
    check_bounds(pg, layout)
    equal(pg.sql("SELECT count(*) FROM urls JOIN urls_datasets USING (dataset_id) WHERE name = 'tlds'"),
          [[str(2 * tlds - out)]], f"{layout}: by the name of a dataset")


def check_strict(root, pg):
    more = ("--table", "ends", "--strict")
    ingest(root, "later", ["http://nobody.numbered.this/"])
    domaindex("publish", "--root", root, "--memory", "64M")
    words = export(root, pg, *more, expect=1)
    check("dataset 4 (later): --strict: 'http://nobody.numbered.this/' has no number for its TLD" in words
          and counts(words)["datasets as before"] == 3, f"strict says what: {words}")
    equal(pg.sql("SELECT max(dataset_id) FROM ends_datasets"), [["3"]], "nothing of the refused dataset")
    said = counts(export(root, pg, "--table", "ends"))
    equal([said["datasets loaded"], said["rows loaded"], said["left out: TLD unknown"]], [1, 0, 1], "not so strict")
    export(root, pg, *more, expect=1)  # what was left out before is refused too
    domaindex("domain64", "fill", "--root", root)
    said = counts(export(root, pg, *more))
    equal([said["datasets loaded"], said["rows loaded"], said["partitions made"]], [1, 1, 1], "numbered now")


def check_changes(root, pg):
    """A suppression, one dataset alone, a dataset without numbers yet, an older version."""
    more = ("--extra-column", "title")
    first = pg.sql("SELECT DISTINCT version FROM urls_datasets")[0][0]
    domaindex("suppress", "add", "--root", root, "--domain", "d0.com", "--reason", "asked")
    said = counts(both(root, pg, *more, "--dataset", "one"))
    check(said["left out: suppressed"] > 10 and said["datasets loaded"] == 1, f"what is suppressed is left out: {said}")

    def hidden(url):
        return bare(url) == "d0.com" or bare(url).endswith(".d0.com")

    same_rows(root, pg, "with a suppression", hidden)
    ingest(root, "held", [f"http://w{i % 50}.{HELD}/{i}" for i in range(300)])
    domaindex("publish", "--root", root, "--memory", "64M")
    said = counts(both(root, pg, *more))
    equal([said["datasets loaded"], said["datasets as before"], said["left out: TLD unknown"]], [2, 1, 300],
          "a new dataset before the filling; tlds is read again for the suppression")
    domaindex("domain64", "fill", "--root", root)
    said = counts(both(root, pg, *more))
    equal([said["datasets loaded"], said["datasets as before"], said["rows loaded"]], [1, 2, 300], "after the filling")
    same_rows(root, pg, "with a dataset more", hidden)
    # A log of as many lines with another rule, as a copy that was restored may come to.
    log = root / "index" / "suppressions.log"
    copy = log.read_bytes()
    domaindex("suppress", "add", "--root", root, "--domain", "d1.com", "--reason", "asked")
    export(root, pg, *more)
    log.write_bytes(copy)
    domaindex("suppress", "accept", "--root", root)
    domaindex("suppress", "add", "--root", root, "--domain", "d2.com", "--reason", "asked")
    said = counts(both(root, pg, *more))
    equal(said["datasets as before"], 0, "as many lines and another rule")
    same_rows(root, pg, "with another rule",
              lambda url: any(bare(url) == f"d{i}.com" or bare(url).endswith(f".d{i}.com") for i in (0, 2)))
    log.write_bytes(copy)
    domaindex("suppress", "accept", "--root", root)
    equal(counts(both(root, pg, *more))["datasets as before"], 0, "without the second rule")
    same_rows(root, pg, "with the first rule again", hidden)
    said = counts(both(root, pg, *more, "--version", first))
    equal([said["datasets removed"], said["datasets as before"]], [1, 2], "an older version")
    equal(pg.sql("SELECT DISTINCT version FROM urls_datasets"), [[first]], "an older version")


def start(root, pg, *more):
    return subprocess.Popen([dxtest.DOMAINDEX, "export", "--root", root, "--postgres", pg.dsn, *more],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def check_ends(root, pg):
    """Ended while the second dataset is loaded: what the first one fetched is there, what the second one fetched is not."""
    waits = ("SELECT EXISTS (SELECT FROM pg_stat_activity WHERE application_name = 'domaindex' AND wait_event_type = 'Lock' "
             "AND query LIKE 'COPY%')")
    more = ("--table", "ends")
    export(root, pg, *more, "--dataset", "held")
    pg.sql("DELETE FROM ends; DELETE FROM ends_datasets")
    tld = pg.sql(f"SELECT relname FROM pg_class WHERE obj_description(oid) = '{HELD}' AND relname LIKE 'ends%'")[0][0]
    for end in ("SIGKILL", "SIGINT", "server"):
        with pg.session() as session:
            session.send(f"BEGIN; LOCK TABLE {tld} IN SHARE MODE")  # who reads may, who writes waits
            run = start(root, pg, *more)
            pg.wait_for(waits, f"{end}: an export that waits for a lock", run)
            if end == "server":
                pg.kill()
            else:
                run.send_signal(getattr(signal, end))
            words = run.communicate(timeout=120)[1].decode()
        if end == "server":
            equal(run.returncode, 1, f"exit when the server goes: {words}")
            check(re.search(r"dataset 3 \(held\): PostgreSQL: \S", words) and "connection" in words, f"the server went: {words}")
            refused = export(root, pg, expect=1)
            check("refused" in refused and str(pg.port) in refused, f"no server: {refused}")
            pg.start()
        elif end == "SIGINT":
            equal(run.returncode, 1, f"exit after SIGINT: {words}")
            check("dataset 3 (held): interrupted" in words and counts(words).get("datasets as before") == 2,
                  f"SIGINT says what was committed: {words}")
        pg.wait_for("SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE application_name = 'domaindex')", f"{end}: nobody")
        equal(pg.sql("SELECT DISTINCT dataset_id FROM ends ORDER BY 1"), [["1"], ["2"]], f"{end}: datasets that are there")
    said = counts(export(root, pg, *more))
    equal([said["datasets loaded"], said["datasets as before"]], [1, 2], "the run after")


def check_dropped(root, pg):
    """The server reports no error for rows that a trigger of the table drops; the export does."""
    more = ("--table", "dropped", "--dataset", "held")
    export(root, pg, *more)
    pg.sql("DELETE FROM dropped; DELETE FROM dropped_datasets")
    pg.sql("CREATE FUNCTION drop_some() RETURNS trigger LANGUAGE plpgsql AS "
           "'BEGIN RETURN CASE WHEN NEW.url LIKE ''%7'' THEN NULL ELSE NEW END; END'")
    pg.sql("CREATE TRIGGER drop_some BEFORE INSERT ON dropped FOR EACH ROW EXECUTE FUNCTION drop_some()")
    words = export(root, pg, *more, expect=1)
    found = re.search(r"dataset 3 \(held\): PostgreSQL: the table took (\d+) of (\d+) rows", words)
    check(found and 0 < int(found[1]) < int(found[2]), f"rows that a trigger drops: {words}")
    equal(pg.sql("SELECT count(*) FROM dropped_datasets"), [["0"]], "a dataset that was not taken whole")
    pg.sql("DROP TABLE dropped CASCADE; DROP TABLE dropped_datasets; DROP FUNCTION drop_some() CASCADE")


def check_together(root, pg):
    """Two at once: one waits, and finds all of it done."""
    runs = [start(root, pg, "--table", "both") for _ in range(2)]
    ended = [(r.communicate(timeout=300)[1].decode(), r.returncode) for r in runs]
    for words, code in ended:
        check(code == 0 or "another export is loading it" in words, f"two at once: {words}")
    check(any(code == 0 for _, code in ended), "two at once: one did it")


def check_unlocked(root, pg):
    """Two at once where the lock holds nobody back, as behind a pooler: both load, and each row is there once."""
    pg.sql("CREATE SCHEMA first; CREATE FUNCTION first.pg_try_advisory_lock(int, int) RETURNS boolean LANGUAGE sql AS "
           "'SELECT true'")
    more = (f"{pg.dsn}?options=-csearch_path%3Dfirst,pg_catalog,public", "--table", "pooled")

    def begin():
        return subprocess.Popen([dxtest.DOMAINDEX, "export", "--root", root, "--postgres", *more],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    equal(begin().wait(120), 0, "the table is made")
    pg.sql("DELETE FROM first.pooled; DELETE FROM first.pooled_datasets")
    with pg.session() as session:
        session.send("BEGIN; LOCK TABLE first.pooled_01 IN SHARE MODE")
        runs = [begin() for _ in range(2)]
        pg.wait_for("SELECT count(*) = 2 FROM pg_stat_activity WHERE application_name = 'domaindex' AND wait_event_type = "
                    "'Lock'", "two exports that wait")
    ended = [(r.communicate(timeout=300)[1].decode(), r.returncode) for r in runs]
    equal([code for _, code in ended], [0, 0], f"both go on: {ended}")
    equal(sorted(counts(words)["datasets loaded"] + counts(words)["datasets as before"] for words, _ in ended), [3, 3], "three each")
    same_rows(root, pg, "two at once without a lock", table='first"."pooled', title=False)


def check_tables(tmp, root, pg):
    pg.sql("CREATE TABLE plain (a int); CREATE TABLE other (domain64 int, dataset_id int, url text, ts timestamptz) "
           "PARTITION BY RANGE (domain64); CREATE TABLE few (domain64 bigint, dataset_id int) PARTITION BY RANGE (domain64); "
           "CREATE TABLE mine_datasets (id int); CREATE VIEW seen AS SELECT 1 AS x; CREATE TABLE inway_01 (x int)")
    for table, why in (("plain", "not partitioned by RANGE"), ("other", "domain64 is integer, not bigint"),
                       ("few", 'no column "url"'), ("mine", 'no column "dataset_id"'), ("seen", "not partitioned"), ("urls_01", "a partition of another"),
                       ("inway", 'relation "inway_01" already exists')):
        words = export(root, pg, "--table", table, expect=1)
        check(why in words, f"table {table}: {words}")
    equal(pg.sql("SELECT count(*) FROM plain"), [["0"]], "nothing was done to it")
    other = tmp / "other-root"
    ingest(other, "x", ["http://x.com/"])
    domaindex("publish", "--root", other, "--memory", "64M")
    check("init" in export(other, pg, expect=1), "no registry: what to do is said")
    domaindex("domain64", "init", "--root", other)
    domaindex("domain64", "fill", "--root", other)
    check("another registry" in export(other, pg, expect=1), "numbers of two registries are not mixed")
    pg.sql("DELETE FROM urls_datasets")
    check("does not say of what" in export(other, pg, expect=1), "rows of nobody")
    for table in ('We"ird; DROP TABLE urls; --', "%s#%%'$1\\", "é日本 \\\"", "a" * 46):
        quoted = '"' + table.replace('"', '""') + '"'
        for loaded in (1, 0):
            equal(counts(export(other, pg, "--table", table))["datasets loaded"], loaded, f"table {table}")
        equal(pg.sql(f"SELECT url FROM {quoted}"), [["http://x.com/"]], f"table {table}")
    check("NULL" not in export(other, pg, "--table", "empty", "--dataset", "x"), "one dataset")
    pg.sql("TRUNCATE empty")
    equal(counts(export(other, pg, "--table", "empty"))["rows loaded"], 1, "a table that was emptied is loaded")
    pg.sql("DROP TABLE empty")
    equal(counts(export(other, pg, "--table", "empty"))["rows loaded"], 1, "and one that was dropped")
    for wrong in (("--table", "a" * 47), ("--table", ""), ("--table", "a\nb"), ("--extra-column", "url"),
                  ("--partition-rows", "x"), ("--memory", "64M"), ("--extra-column", "a", "--extra-column", "a")):
        export(other, pg, *wrong, expect=2)
    domaindex("export", "--root", other, "--file-store", tmp / "fs", "--strict", expect=2)
    return other


def check_removed(other, pg):
    ingest(other, "y", ["http://y.com/"])
    domaindex("publish", "--root", other, "--memory", "64M")
    domaindex("domain64", "fill", "--root", other)
    said = counts(export(other, pg, "--table", "empty"))
    equal([said["datasets loaded"], said["datasets as before"]], [1, 1], "a dataset more")
    domaindex("remove", "--root", other, "--dataset", "x")
    domaindex("publish", "--root", other, "--memory", "64M")
    said = counts(export(other, pg, "--table", "empty"))
    equal([said["datasets removed"], said["datasets as before"]], [1, 1], "a dataset less")
    equal(pg.sql("SELECT url FROM empty"), [["http://y.com/"]], "its rows went")


def check_ddl(root, pg):
    for part in ("tld", "domain", "subdomain") if dxtest.WHOLE else ("subdomain",):
        table = f"d_{part}"
        pg.sql(domaindex("domain64", "ddl", "--root", root, "--table", table, "--partitions", part).stdout.decode())
        said = counts(export(root, pg, "--table", table))
        equal(said["partitions made"], 0, f"ddl made all partitions, down to each {part}")
        same_rows(root, pg, f"loaded into what ddl made, down to each {part}", table=table, title=False)
        equal(pg.sql(f"SELECT count(*) FROM {table}_rest"), [["0"]], "nothing is beside the TLDs")


def check_passwords(root, pg):
    pg.sql("CREATE ROLE locked LOGIN PASSWORD 'right'; GRANT ALL ON SCHEMA public TO locked; "
           "CREATE ROLE poor LOGIN; REVOKE ALL ON SCHEMA public FROM PUBLIC; "
           "GRANT USAGE ON SCHEMA public TO poor")
    at = f"127.0.0.1:{pg.port}"
    place = f"host=127.0.0.1 port={pg.port} dbname=dxtest"
    for dsn, exit_code, want in (
            (f"postgresql://locked:{SECRET}@{at}/dxtest", 1, "password authentication failed"),
            (f"{place} user=locked password={SECRET}", 1, "password authentication failed"),
            (f"{place} user=poor", 1, "permission denied"),
            (f"postgresql://locked:a/{SECRET}@{at}/dxtest", 2, "%2F"),
            (f"postgresql://locked:1/{SECRET}@{at}/dxtest", 2, "%2F"),
            (f"postgresql://locked:a@{SECRET}@{at}/dxtest", 2, "%40"),
            (f"postgresql://locked:%zz{SECRET}@{at}/dxtest", 2, "connection string"),
            (f"{place} user=locked password='{SECRET}", 2, "connection string"),
            (f"{place} user=locked password=a {SECRET}", 2, "connection string"),
            (f"postgres//locked:{SECRET}@{at}/dxtest", 2, "connection string")):
        done = domaindex("export", "--root", root, "--postgres", dsn, expect=exit_code)
        words = (done.stdout + done.stderr).decode()
        check(want in words and SECRET not in words and "right" not in words, f"{dsn}: {words}")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        done = domaindex("export", "--root", root, "--postgres",
                         f"host=127.0.0.1 port={silent.getsockname()[1]} dbname=x connect_timeout=1", expect=1)
        check(b"127.0.0.1 does not answer in time" in done.stderr, f"a silent server: {done.stderr}")
    done = domaindex("export", "--root", root, "--postgres", "", "--table", "by_password",
                     env={"PGHOST": "127.0.0.1", "PGPORT": str(pg.port), "PGUSER": "locked", "PGPASSWORD": "right",
                          "PGDATABASE": "dxtest"})
    check(counts(done.stderr.decode())["datasets loaded"] == 1, "with the environment's password")
    pg.sql("GRANT ALL ON SCHEMA public TO PUBLIC")


def make_ends(root):
    ingest(root, "one", list(whole_urls())[:100])
    ingest(root, "two", ["http://x.com/", "http://y.org/"])
    ingest(root, "held", [f"http://w{i % 7}.{HELD}/{i}" for i in range(3000)])
    domaindex("publish", "--root", root, "--memory", "64M")
    domaindex("domain64", "init", "--root", root)
    domaindex("domain64", "fill", "--root", root)


def check_requested(root, pg):
    """What was requested, and is hidden, is null in the table as it is in answers."""
    lines = [{"url": "http://shown.com/a", "requested_url": "HTTP://Hidden.com:80/x"}, {"url": "http://shown.com/b", "requested_url": "http://other.com/y"}]
    domaindex("ingest", "--root", root, "--dataset", "one", "--format", "jsonl", "--extra-column", "requested_url", "-",
              input="".join(json.dumps(line) + "\n" for line in lines).encode())
    domaindex("publish", "--root", root, "--memory", "64M")
    domaindex("domain64", "init", "--root", root)
    domaindex("domain64", "fill", "--root", root)
    domaindex("suppress", "add", "--root", root, "--url", "http://hidden.com/x")
    export(root, pg, "--table", "asked", "--extra-column", "requested_url")
    equal(pg.sql("SELECT url, requested_url FROM asked ORDER BY 1"), [["http://shown.com/a", None], ["http://shown.com/b", "http://other.com/y"]],
          "requested_url of a hidden URL")


def check_json(root, pg):
    """The numbers of an export as JSON: more rows than between two looks at how far it is, one of them hidden, one without a number."""
    ingest(root, "many", [f"http://many.com/{i}" for i in range(5000)])
    domaindex("publish", "--root", root, "--memory", "64M")
    domaindex("domain64", "fill", "--root", root)
    ingest(root, "late", ["http://late.com/"])
    domaindex("publish", "--root", root, "--memory", "64M")
    domaindex("suppress", "add", "--root", root, "--url", "http://many.com/17")
    done = domaindex("export", "--root", root, "--postgres", pg.dsn, "--table", "as_json", "--json")
    said = json.loads(done.stdout)
    equal({name: said[name] for name in ("table", "complete", "datasets_loaded", "rows", "rows_suppressed", "dry_run")},
          {"table": "as_json", "complete": True, "datasets_loaded": 3, "rows": 5001, "rows_suppressed": 1, "dry_run": False}, "--json")
    equal(said["rows_without_number"], {"tld": 0, "domain": 1, "subdomain": 0, "path": 0}, "--json: without a number")
    equal(pg.sql("SELECT count(*) FROM as_json"), [["5001"]], "the rows that it says")


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp, pgcluster.Cluster() as pg:
        make_ends(tmp / "ends")
        check_ends(tmp / "ends", pg)
        same_rows(tmp / "ends", pg, "after all ends", table="ends", title=False)
        check_dropped(tmp / "ends", pg)
        check_together(tmp / "ends", pg)
        same_rows(tmp / "ends", pg, "two at once", table="both", title=False)
        check_unlocked(tmp / "ends", pg)
        check_ddl(tmp / "ends", pg)
        check_strict(tmp / "ends", pg)
        for layout in LAYOUTS:
            pg.sql("DROP TABLE IF EXISTS urls, urls_datasets")
            make_root(tmp / layout, layout)
            check_first(tmp / layout, pg, layout)
        check_changes(tmp / layout, pg)
        other = check_tables(tmp, tmp / layout, pg)
        check_removed(other, pg)
        check_passwords(other, pg)
        check_requested(tmp / "requested", pg)
        check_json(tmp / "requested", pg)
    dxtest.finish()


if __name__ == "__main__":
    main()
