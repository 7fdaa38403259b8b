# SPDX-License-Identifier: Apache-2.0
# labels: peers
"""What others may put into one dataset's folder of a lake: none of it stops the publishes of the other datasets, is
shown, or keeps a server from starting. Each case is one foreign file (or what looks like one) beside two sound
datasets that have news: the publish leaves that file out with its name and a reason and exits with 1, or takes it; the
news are there; a server that runs takes the version, and one that starts serves it. Of files to be left out a publish
meets fourteen, with DX_WHOLE=1 one; of the files that are taken every eleventh is followed by verify --deep and by a publish
without it, with DX_WHOLE=1 each.

In detail: what a stranger may put into one dataset's folder, 75 kinds (rows not in canonical form, wrong ids,
times at the ends of each unit, damaged and empty files, FIFOs, links, odd names, columns and tags, 64 MiB
dictionaries): each is left out by name or taken, the news of other datasets are published, servers take the
version and start.
"""
import json
import os
import pathlib
import random
import subprocess
import sys

import dxtest

try:
    import pyarrow as pa
    import pyarrow.parquet as pq
    import xxhash
except ImportError:
    dxtest.skip("pyarrow and xxhash are not here (tests/e2e/requirements.txt)")

DOMAIN, HOST = "example.com", "www.example.com"
GROUPS = 3000 if dxtest.WHOLE else 600


def hash64(text):
    raw = text if isinstance(text, bytes) else text.encode()
    return xxhash.xxh3_64_intdigest(raw)


def table(rows=1, dataset=3, domain=DOMAIN, domain_id=None, scheme="https", host=HOST, path="/p", ts=None,
          ts_type=None, extras=None, drop=(), **more):
    """Rows as docs/FORMAT.md wants them; `path` may be a list."""
    paths = path if isinstance(path, list) else [path] * rows
    n = len(paths)

    def text(value):
        return pa.array([value] * n, pa.binary() if isinstance(value, bytes) else pa.string())

    columns = {
        "dataset_id": pa.array([dataset] * n, pa.int32()),
        "domain": text(domain),
        "domain_id": pa.array([hash64(domain or "") if domain_id is None else domain_id] * n, pa.uint64()),
        "scheme": text(scheme),
        "host": text(host),
        "path_query": pa.array(paths, pa.binary() if isinstance(paths[0], bytes) else pa.string()),
    }
    if ts_type is not None:
        columns["ts"] = pa.array([ts] * n, ts_type)
    columns.update(extras or {})
    columns.update(more)
    for name in drop:
        columns.pop(name)
    return pa.table(columns)


class Lake:
    """Two sound datasets, and the folder of the third, which a stranger may write."""

    def __init__(self, tmp):
        self.root = tmp / "root"
        self.news = 0
        self.root.parent.mkdir(exist_ok=True)
        for name in ("one", "two", "three"):
            self.ingest(name, f"http://{name}.org/first\n")
        self.folder = self.root / "urls" / "dataset_id=3"
        self.publish(0)

    def ingest(self, name, lines):
        dxtest.domaindex("ingest", "--root", self.root, "--dataset", name, "--format", "list", "-",
                         input=lines.encode())

    def add_news(self):
        self.news += 1
        dxtest.domaindex("ingest", "--root", self.root, "--format", "tsv", "--dataset-column", 1, "--url-column", 2, "--no-header", "-",
                         input="".join(f"{name}\thttp://{name}.org/news{self.news}\n" for name in ("one", "two")).encode())

    def place(self, more=""):
        """A folder for foreign files. A name that a version once had and no longer has is never taken again."""
        return self.folder / f"case{self.news}{more}"

    def publish(self, expect, *options):
        return dxtest.domaindex("publish", "--root", self.root, "--quiet", *options, expect=expect, timeout=120)



def write(at, data, **options):
    at.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(data, at, **options)


def plain(data, **options):
    """A file of the rows."""
    def put(folder):
        write(folder / "foreign.parquet", data, **options)
    return put


def raw(content, name="foreign.parquet"):
    def put(folder):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return put


def other(act, name="foreign.parquet"):
    """act(path) makes something else of that name."""
    def put(folder):
        folder.mkdir(parents=True, exist_ok=True)
        act(folder / name)
    return put


def good_bytes(tmp):
    write(tmp / "good.parquet", table())
    return (tmp / "good.parquet").read_bytes()


def many_groups(folder):
    at = folder / "foreign.parquet"
    at.parent.mkdir(parents=True, exist_ok=True)
    paths = [f"/{i:06}" for i in range(GROUPS)]
    write(at, table(path=paths), row_group_size=1)


def big_dictionary(folder):
    """Strings of 1 MiB, each in the dictionary: a reader of one row needs them all."""
    rng = random.Random(7)
    count, text = 160 if dxtest.WHOLE else 80, rng.randbytes(1 << 19).hex()
    texts = [f"{i:08}{text[8:]}" for i in range(count)]
    write(folder / "foreign.parquet", table(path=[f"/{i:03}" for i in range(count)], note=pa.array(texts)),
          dictionary_pagesize_limit=1 << 30, compression="none", row_group_size=1000)


# What is left out, and a word of the reason.
def refused(tmp):
    good = good_bytes(tmp)
    yield "host in upper case", plain(table(host="WWW.example.com")), "column host"
    yield "user in host", plain(table(host="a@www.example.com")), "column host"
    yield "default port", plain(table(scheme="http", host=HOST + ":80")), "column host"
    yield "empty host", plain(table(host="")), "column host"
    yield "path in host", plain(table(host=HOST + "/x")), "column host"
    yield "line end in host", plain(table(host=HOST + "\r\n")), "column host"
    yield "NUL in host", plain(table(host=HOST + "\0")), "column host"
    yield "host of another site", plain(table(host="www.nytimes.com")), "column domain"
    yield "suffix of another name", plain(table(host="badexample.com")), "column domain"
    yield "host as domain", plain(table(domain=HOST)), "column domain"
    yield "public suffix as domain", plain(table(domain="com", host="com")), "column domain"
    yield "empty domain", plain(table(domain="", host="")), "domain"
    yield "control characters in domain", plain(table(domain="exa\x1b[31mmple.com")), "domain"
    yield "escaped path", plain(table(path="/%70rivate/x")), "path_query"
    yield "dots in path", plain(table(path="/a/../private")), "path_query"
    yield "line ends in path", plain(table(path="/a\r\nX: y")), "path_query"
    yield "NUL in path", plain(table(path="/a\0b")), "path_query"
    yield "not UTF-8", plain(table(path=b"/\xff")), "path_query"
    yield "empty path", plain(table(path="")), "path_query"
    yield "no slash", plain(table(path="private")), "path_query"
    yield "javascript", plain(table(scheme="javascript")), "scheme"
    yield "empty scheme", plain(table(scheme="")), "scheme"
    yield "long scheme", plain(table(scheme="a" * 1000)), "scheme"
    yield "URL too long", plain(table(path="/" + "a" * 9000)), "too long"
    yield "huge path", plain(table(path="/" + "a" * (20 << 20))), "foreign.parquet"
    yield "huge domain", plain(table(domain="a" * 300 + ".com", host="a" * 300 + ".com")), "domain"
    yield "url_id of another URL", plain(table(url_id=pa.array([17], pa.uint64()))), "url_id"
    yield "domain_id of another domain", plain(table(domain_id=5)), "domain_id"
    yield "dataset_id of another dataset", plain(table(dataset=1)), "dataset_id"
    yield "negative dataset_id", plain(table(dataset=-1)), "dataset_id"
    yield "not sorted", plain(table(path=["/b", "/a"])), "order"
    yield "null host", plain(table(host=None)), "null"
    yield "no host column", plain(table(drop=["host"])), "host"
    yield "numbers for hosts", plain(table(drop=["host"], extras={"host": pa.array([1])})), "host"
    yield "list of hosts", plain(table(drop=["host"], extras={"host": pa.array([["a"]])})), "host"
    yield "text for ts", plain(table(ts="2024-01-01", ts_type=pa.string())), "ts"
    yield "dictionary over 64 MiB", big_dictionary, "MiB"
    yield "not Parquet", raw(b"PAR1 nothing PAR1"), "foreign.parquet"
    yield "empty file", raw(b""), "foreign.parquet"
    yield "one byte", raw(b"P"), "foreign.parquet"
    yield "cut", raw(good[: len(good) // 2]), "foreign.parquet"
    yield "garbage between", raw(good[:4] + random.Random(1).randbytes(500) + good[504:]), "foreign.parquet"
    yield "name with a line end", raw(good, "a\nb.parquet"), "the path of this"
    yield "name with a space", raw(good, "a b.parquet"), "the path of this"
    yield "name that is not UTF-8", other(lambda at: open(os.fsencode(at.parent) + b"/\xff.parquet", "wb").write(good)), "the path of this"
    yield "symbolic link", other(lambda at: at.symlink_to("/etc/passwd")), "symbolic link"
    for name, text in (("huge", "http://" + "a" * (1 << 22)), ("script", "javascript:alert(1)"), ("another's", "https://www.example.org/p")):
        yield f"raw_url: {name}", plain(table(raw_url=pa.array([text]))), "column raw_url is not the row's URL as it was given"
    yield "symbolic link to nothing", other(lambda at: at.symlink_to("/nothing")), "symbolic link"
    yield "symbolic link of a folder", other(lambda at: at.symlink_to("/"), "sub"), "symbolic link"
    yield "FIFO", other(os.mkfifo), "not a regular file"
    yield "too deep", other(lambda at: deep(at.parent, good)), "deep"
    if os.geteuid() != 0:
        yield "unreadable file", other(lambda at: (at.write_bytes(good), at.chmod(0))), "ermission"
        yield "unreadable folder", other(lambda at: (at.mkdir(), at.chmod(0)), "closed"), "ermission"


def deep(folder, content):
    for name in "abcdefghijklmnopqr":
        folder = folder / name
    folder.mkdir(parents=True)
    (folder / "x.parquet").write_bytes(content)


# What is taken, with the URLs that must then be there, and their times.
def taken():
    far = 253402318799  # 9999-12-31 23:59:59-05:00
    page = "https://www.example.com/p"
    yield "year 10000 in seconds", plain(table(ts=far * 1000, ts_type=pa.timestamp("ms"))), [page], None
    ends = (("ms", 2**63 - 1), ("us", -2**63 + 1), ("us", 2**63 - 1), ("ms", -2**63 + 1))
    for unit, most in ends if dxtest.WHOLE else ends[:2]:
        yield f"{most} {unit}", plain(table(ts=most, ts_type=pa.timestamp(unit))), [page], None
    yield "the last time", plain(table(ts=253402300799999, ts_type=pa.timestamp("ms"))), [page], "9999-12-31T23:59:59.999Z"
    yield "the first time", plain(table(ts=-62167219200000, ts_type=pa.timestamp("ms"))), [page], "0000-01-01T00:00:00Z"
    yield "nanoseconds at the end", plain(table(ts=2**63 - 1, ts_type=pa.timestamp("ns"))), [page], "2262-04-11T23:47:16.854775Z"
    yield "INT96", plain(table(ts=10**18, ts_type=pa.timestamp("ns")), use_deprecated_int96_timestamps=True), [page], "2001-09-09T01:46:40Z"
    yield "null ts", plain(table(ts=None, ts_type=pa.timestamp("ms"))), [page], None
    yield "no rows", plain(table().slice(0, 0)), [], None
    yield "many row groups", many_groups, None, None
    yield "odd extras", plain(table(extras={
        "": pa.array(["no name"]), "a\x1b[31m": pa.array(["colour"]), "x" * 5000: pa.array(["long name"]),
        "tags": pa.array(["[\"a\", 1, {}]"]), "number": pa.array([1.5]), "list": pa.array([[1]]),
        "mime": pa.array(["text/html\r\nX: y"]), "requested_url": pa.array(["javascript:alert(1)"])})), [page], None
    yield "tags that are text", plain(table(tags=pa.array(["not JSON"]))), [page], None
    yield "tags that are huge", plain(table(tags=pa.array(["[\"" + "t" * (1 << 20) + "\"]"]))), [page], None
    yield "tags that are a list", plain(table(tags=pa.array([["a"]]))), [page], None
    yield "column twice", plain(pa.Table.from_arrays([*table().columns, pa.array(["a"]), pa.array(["b"])],
                                                     names=[*table().column_names, "x", "x"])), [page], None
    yield "200 extras", plain(table(extras={f"c{i}": pa.array(["v"]) for i in range(200)})), [page], None
    yield "folder named as a file", other(lambda at: write(at / "x.parquet", table()), "part-00000.parquet"), [page], None
    yield "other names", raw(b"anything", "_SUCCESS"), [], None


def clean(folder):
    for at in sorted(folder.rglob("*"), key=lambda p: -len(p.parts)):
        if at.is_symlink() or not at.is_dir():
            if "domain_prefix" not in str(at):
                at.unlink()
        elif "domain_prefix" not in at.name:
            at.chmod(0o700)
            if not any(at.iterdir()):
                at.rmdir()


def news_are_there(lake, server, words):
    version = json.loads((lake.root / "index" / "manifest.json").read_text())["current_version"]
    dxtest.check(dxtest.wait_until(lambda: server.get("/readyz").json.get("version") == version),
                 f"{words}: the server takes version {version}: {server.get('/readyz').body} {server.words()[-400:]}")
    for number, name in ((1, "one"), (2, "two")):
        reply = server.get(f"/v1/domain/{name}.org/datasets/{number}/urls?limit=1000").json
        urls = [item["url"] for item in reply["items"]]
        dxtest.check(f"http://{name}.org/news{lake.news}" in urls, f"{words}: news of {name}: {urls[-2:]}")


def check_refused(lake, server, tmp):
    cases = list(refused(tmp))
    size = 1 if dxtest.WHOLE else 14
    for at in range(0, len(cases), size):
        some = cases[at:at + size]
        words = " | ".join(case[0] for case in some)
        lake.add_news()
        for i, case in enumerate(some):
            case[1](lake.place(f"-{i}"))
        done = lake.publish(1)
        said = done.stderr.decode("utf-8", "replace")
        for i, (name, _, reason) in enumerate(some):
            lines = [line for line in said.splitlines() if f"left out: urls/dataset_id=3/case{lake.news}-{i}/" in line]
            dxtest.check(lines and reason in lines[0], f"{name}: '{reason}' in {lines} of {said}")
        dxtest.check(all(c == "\n" or " " <= c <= "~" for c in said), f"{words}: control characters in {said!r}")
        news_are_there(lake, server, words)
        status = server.get("/v1/domain/example.com").status
        dxtest.equal(status, 404, f"{words}: nothing of it is shown")
        clean(lake.folder)
    lake.publish(0)


def check_taken(lake, server):
    for at, (words, put, want, ts) in enumerate(taken()):
        lake.add_news()
        put(lake.place())
        done = lake.publish(None)
        dxtest.equal(done.returncode, 0, f"{words}: {done.stderr.decode('utf-8', 'replace')}")
        news_are_there(lake, server, words)
        reply = server.get("/v1/domain/example.com/datasets/3/urls?limit=100")
        rows = reply.json["items"] if reply.status == 200 else []
        if want is None:
            dxtest.equal((len(rows), reply.json["total_est"]), (100, GROUPS), words)
        else:
            dxtest.equal([row["url"] for row in rows], want, words)
        if rows and want is not None:
            dxtest.equal(rows[0]["ts"], ts, f"{words}: its time")
            counts = server.get("/v1/domain/example.com").json["datasets"][0]
            dxtest.equal((counts["first_ts"], counts["last_ts"]), (ts, ts), f"{words}: times of the pair")
        if dxtest.WHOLE or at % 11 == 0:
            dxtest.domaindex("verify", "--root", lake.root, "--deep")
        # The file goes as files do: the dataset is replaced, and what is gone is not missed.
        dxtest.domaindex("ingest", "--root", lake.root, "--dataset", "three", "--replace", "--format", "list", "-",
                         input=b"http://three.org/first\n")
        if dxtest.WHOLE or at % 11 == 0: # else with the news of the next case
            lake.publish(0)
        clean(lake.folder)
    lake.publish(0)


def check_start(lake, tmp):
    """A server that starts with a version beside which faulty files lie, and one whose file was damaged since."""
    lake.add_news()
    plain(table(host=""))(lake.place())
    lake.publish(1)
    with dxtest.Server(lake.root) as server:
        dxtest.equal(server.get("/v1/domain/one.org").status, 200, "a server starts")
    clean(lake.folder)
    file = lake.place() / "foreign.parquet"
    plain(table())(file.parent)
    lake.publish(0)
    sound = file.read_bytes()
    file.write_bytes(b"\0" * len(sound))
    with dxtest.Server(lake.root) as server:
        dxtest.equal(server.get("/v1/domain/one.org/datasets/1/urls").status, 200, "others are answered")
        dxtest.check(server.get("/v1/domain/example.com/datasets/3/urls").status >= 500, "damaged rows are not")
    # Replaced in place: the dataset stays as the current version has it, and the news of others are published.
    lake.add_news()
    file.write_bytes(sound)
    lake.ingest("three", "http://three.org/later\n")
    file.write_bytes(b"no Parquet at all")
    said = lake.publish(1).stderr.decode()
    dxtest.check("foreign.parquet" in said and "stays as the current version has it" in said, said)
    with dxtest.Server(lake.root) as server:
        news_are_there(lake, server, "beside a replaced file")
        dxtest.equal(server.get("/v1/domain/three.org/datasets/3/urls").json["total_est"], 1, "the new file waits")
    said = lake.publish(1, "--full").stderr.decode()
    dxtest.check("foreign.parquet" in said, f"the whole lake cannot be read: {said}")


def check_older(tmp):
    """Rows that were canonical when they were published and no longer are (here: by another suffix list), as those are that
    were published before rows were checked: a plain publish fails and names them, --full leaves them out."""
    lake = Lake(tmp / "older")
    (lake.root / "psl.dat").unlink()
    old, new = tmp / "old.dat", tmp / "new.dat"
    old.write_text("com\norg\n")
    new.write_text("com\norg\nexample.com\n")
    plain(table())(lake.place())
    lake.publish(0, "--psl", old)
    listed = (lake.root / "index" / "manifest.json").read_bytes()
    said = lake.publish(1, "--psl", new).stderr.decode()
    dxtest.check("case0/foreign.parquet" in said and "column domain" in said, f"names the file: {said}")
    dxtest.equal((lake.root / "index" / "manifest.json").read_bytes(), listed, "nothing changed")
    said = lake.publish(1, "--psl", new, "--full").stderr.decode()
    dxtest.check("left out: urls/dataset_id=3/case0/foreign.parquet: row 0: column domain" in said, said)
    with dxtest.Server(lake.root) as server:
        dxtest.equal(server.get("/v1/domain/www.example.com").status, 404, "it is not shown")
        dxtest.equal(server.get("/v1/domain/three.org").status, 200, "the rest of its dataset is")
    lake.publish(0, "--psl", new)
    dxtest.domaindex("verify", "--root", lake.root, "--deep")


def check_times(tmp):
    """A time that is in year 10000 once its offset is applied, and others that no answer could write."""
    root = tmp / "times"
    lines = "".join(f"http://far.org/{i}\t{ts}\n" for i, ts in enumerate((
        "9999-12-31 23:59:59-05:00", "0000-01-01T00:00:00+00:01", "-62167219201", "99991231235959",
        "2024-01-01")))
    dxtest.domaindex("ingest", "--root", root, "--dataset", "far", "--format", "tsv", "--url-column", "1",
                     "--ts-column", "2", "--max-rejects", "100%", "-", input=lines.encode())
    dxtest.domaindex("publish", "--root", root)
    far = json.loads(dxtest.domaindex("lookup", "--root", root, "far.org").stdout)
    dxtest.equal((far["first_ts"], far["last_ts"]), ("2024-01-01T00:00:00Z", "2024-01-01T00:00:00Z"), "times of a pair")


def check_first(tmp):
    root = tmp / "first"
    dxtest.domaindex("ingest", "--root", root, "--dataset", "three", "--format", "list", "-", input=b"http://a.org/\n")
    for at in root.rglob("*.parquet"):
        at.write_bytes(b"no Parquet at all")
    done = dxtest.domaindex("publish", "--root", root, expect=1)
    dxtest.check(b"no file of the lake can be taken (1)" in done.stderr, f"a lake of which nothing can be taken: {done.stderr}")


def main():
    dxtest.need_programs()
    if dxtest.id_bits() != 64:
        dxtest.skip("ids are cut")
    with dxtest.tempdir() as tmp:
        lake = Lake(tmp)
        with dxtest.Server(lake.root) as server:
            check_refused(lake, server, tmp)
            check_taken(lake, server)
        check_start(lake, tmp)
        check_older(tmp)
        check_times(tmp)
        check_first(tmp)
    dxtest.finish()


if __name__ == "__main__":
    main()
