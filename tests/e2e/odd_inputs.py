#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: peers short
"""What stands for inputs and is none, or is more than one: ** in patterns, braces, empty files, files that are compressed twice or cut short.

Which files a pattern with ** takes, Python's glob says. $DX_PEERS_PYTHON names the python that has pyarrow. Exit 77: skipped.
"""
import glob
import gzip
import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dxtest  # noqa: E402

try:
    import lake
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError as missing:
    print(f"SKIPPED: {missing} in {sys.executable}; set DX_PEERS_PYTHON")
    sys.exit(77)


def ingest(tmp, *inputs, expect=0, **more):
    root = tmp / f"root-{len(os.listdir(tmp))}"
    done = dxtest.domaindex("ingest", "--root", root, "--dataset", "d", "--locators", "--json", *inputs, expect=expect, cwd=tmp, **more)
    return done.stderr.decode() if expect else (root, json.loads(done.stdout))


def url_of(path):
    return f"http://www.f.com/{path}"


def patterns(tmp):
    paths = ["g/x.parquet", "g/a/x.parquet", "g/a/b/x.parquet", "g/a/b/y.parquet", "g/b.d/x.parquet", "g/.hidden/x.parquet", "g/c/d/e/f/x.parquet"]
    for path in paths:
        (tmp / path).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"url": [url_of(path)]}), tmp / path)
    wanted = {}     # before there is a loop: Python follows it until a name is too long
    for pattern in ("g/**/*.parquet", "g/**/x.parquet", "**/x.parquet", "g/a/**/x.parquet", "g/**/b/*.parquet", "g/**/a/**/x.parquet", "g/**/d/**/f/x.parquet",
                    "g/*/**/y.parquet", "g/**/[xy].parquet", f"{tmp}/g/**/*.parquet", "g/**x.parquet", "g/**.parquet", "g/**/**/x.parquet"):
        wanted[pattern] = {os.path.relpath(p, tmp) for p in glob.glob(str(tmp / pattern), recursive=True)}
    (tmp / "g/a/loop").symlink_to(tmp / "g")
    for pattern, want in wanted.items():
        root, said = ingest(tmp, pattern)
        dxtest.equal({url for url, *_ in lake.stored(root, "d")}, {url_of(p) for p in want}, pattern)
        dxtest.equal(said["inputs"], len(want), f"{pattern}: each file once")
    root, said = ingest(tmp, "g/**")
    dxtest.equal(said["inputs"], len(paths) - 1, "a folder by **")
    (tmp / "link").symlink_to("g")
    for name in ("link", "link/", "lin*"):
        dxtest.equal(ingest(tmp, name)[1]["inputs"], len(paths) - 1, f"{name}: a link to a folder")
    root, said = ingest(tmp, "g/**/b")
    dxtest.equal({url for url, *_ in lake.stored(root, "d")}, {url_of("g/a/b/x.parquet"), url_of("g/a/b/y.parquet")}, "a folder below **")
    dxtest.check("no file has that name or matches it" in ingest(tmp, "g/**/nothing", expect=1), "nothing matches")
    dxtest.check("braces are for a shell" in ingest(tmp, "g/{a,c}/*.parquet", expect=1), "braces")
    dxtest.check("braces are for a shell" in ingest(tmp, "s3://bucket/{a,c}/*.parquet", expect=1), "braces in a store")
    (tmp / "{p,q}.txt").write_text("http://brace.com/\n")
    dxtest.equal(ingest(tmp, "{p,q}.txt")[1]["records"], 1, "a file of that very name")


def empties(tmp):
    (tmp / "some.txt").write_text("http://some.com/\n")
    for name in ("b.parquet", "c.warc.gz", "d.TSV.GZ", "e.zst", "f.xz", "g.bz2", "h.wacz", "i.warc", "j.arc"):
        (tmp / name).touch()
        said = ingest(tmp, "some.txt", name, expect=1)
        dxtest.check(f"{name}: has no byte" in said and "fetch it again" in said, f"{name}: {said}")
    (tmp / "empty").mkdir()
    (tmp / "empty" / "z.parquet").touch()
    dxtest.check("z.parquet: has no byte" in ingest(tmp, "empty", expect=1), "in a folder")
    (tmp / "none.txt").touch()
    (tmp / "none.gz").write_bytes(gzip.compress(b""))
    (tmp / "head.csv").write_text("url,date\n")
    said = ingest(tmp, "some.txt", "none.txt", "none.gz", "head.csv")[1]
    dxtest.equal((said["empty_inputs"], said["first_empty"], said["records"]), (3, "none.txt", 1), "empty texts are counted")


def packed(tmp):
    plain = (tmp / "g/x.parquet").read_bytes()
    (tmp / "p.parquet.gz").write_bytes(gzip.compress(plain))
    (tmp / "twice.txt.gz").write_bytes(gzip.compress(gzip.compress(b"http://a.com/\n")))
    (tmp / "i.cdxj").write_text('com,a)/ 2024-01-02T03:04:05Z {"url": "http://a.com/"}\n')
    (tmp / "cut.parquet").write_bytes(plain[:-20])
    for name, want in (("p.parquet.gz", "unpack it (gunzip"), ("twice.txt.gz", "is compressed twice"), ("i.cdxj", "second field is a date with dashes"),
                       ("cut.parquet", "fetch it again")):
        said = ingest(tmp, name, expect=1)
        dxtest.check(f"{name}: " in said and want in said, f"{name}: {said}")
    dxtest.check("or save it" in ingest(tmp, "-", expect=1, input=plain), "Parquet in a stream")


def replaced(tmp):
    """A file that was replaced since it was indexed in place."""
    def write(word):
        pq.write_table(pa.table({"url": [url_of(f"{word}{i}") for i in range(50)]}), tmp / "live.parquet")

    def again(*options, expect=0):
        return dxtest.domaindex("ingest", "--root", tmp / "live", "--dataset", "d", "--in-place", "live.parquet", *options, expect=expect, cwd=tmp).stderr.decode()

    write("a")
    again()
    dxtest.domaindex("publish", "--root", tmp / "live")
    again()     # the same file: nothing new
    write("bb")
    said = again(expect=1)
    dxtest.check("live.parquet: the file was replaced since it was indexed" in said and "give --replace" in said, f"replaced: {said}")
    dxtest.equal(len(lake.stored(tmp / "live", "d")), 50, "nothing was added")
    again("--replace")
    dxtest.domaindex("publish", "--root", tmp / "live")
    again()


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        patterns(tmp)
        empties(tmp)
        packed(tmp)
        replaced(tmp)
    dxtest.finish()


if __name__ == "__main__":
    main()
