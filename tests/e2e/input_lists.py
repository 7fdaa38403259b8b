#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: plain
"""What INPUT of ingest may name beside files: cluster indexes, lists that are remote or compressed, the cache of Hugging Face, patterns of a store.

1. A cluster index stands for its shards, beside it or where FILE.loc says; a folder with one must have all of them. A shard that lacks a block,
   one that is missing, an index with a gap, one that leads out of its folder: refused, and nothing is stored. The real one of pywb gives the
   rows that its shard gives.
2. Lists: gzip, behind http, with --base; one behind http cannot name local files.
3. refs/, blobs/ and snapshots/ of Hugging Face's cache: each file once; two revisions are refused.
4. s3://bucket/PATTERN as glob(7) matches paths.

Records are counted by the summary of a dry run. Exit 77: skipped.
"""
import gzip
import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dxtest   # noqa: E402
import stores   # noqa: E402

SAMPLE = dxtest.shared_data("conformance/cdx-pywb/sample_archive/zipcdx/zipnum-sample.idx")


def summary(*arguments, expect=0):
    """(the summary of a run into nowhere, what it printed)"""
    done = dxtest.domaindex("ingest", "--root", "/nonexistent/root", "--dry-run", "--json", "--dataset", "d", *arguments, expect=expect)
    return json.loads(done.stdout) if done.stdout.strip() else {}, done.stderr.decode()


def accepted(*arguments):
    return summary(*arguments)[0]["accepted"]


def refused(words, *arguments):
    _, said = summary(*arguments, expect=1)
    text = said
    dxtest.check(words in text, f"{arguments}: {words!r} is not in {text[-600:]!r}")


def blocks(shard, count, lines=30):
    """(gzip members of a shard, lines of its index)"""
    data, index = b"", []
    for b in range(count):
        keys = [f"com,site{shard}x{b:03}x{i:02})/p 20240101000000" for i in range(lines)]
        text = "".join(f'{k} {{"url": "http://www.{k[4:].split(")")[0]}.com/p", "status": "200"}}\n' for k in keys)
        member = gzip.compress(text.encode())
        index.append((keys[0], len(data), len(member)))
        data += member
    return data, index


def make_collection(folder, shards=3, count=4):
    folder.mkdir(parents=True)
    lines, sizes = [], []
    for s in range(shards):
        data, index = blocks(s, count)
        (folder / f"cdx-{s:05}.gz").write_bytes(data)
        sizes.append([length for _, _, length in index])
        lines += [f"{key}\tcdx-{s:05}.gz\t{at}\t{length}\t{len(lines) + n + 1}\n" for n, (key, at, length) in enumerate(index)]
    (folder / "cluster.idx").write_text("".join(lines))
    return lines, sizes


def cluster_indexes(tmp):
    folder = tmp / "indexes"
    lines, sizes = make_collection(folder)
    rows = 3 * 4 * 30
    dxtest.equal(accepted(folder / "cluster.idx"), rows, "a cluster index stands for its shards")
    dxtest.equal(accepted("--profile", "cdxj", folder), rows, "a folder with one is taken as one")
    dxtest.equal(accepted(folder / "cdx-00001.gz"), rows // 3, "a shard by its own name")
    whole = (folder / "cdx-00001.gz").read_bytes()
    (folder / "cdx-00001.gz").write_bytes(whole[:-sizes[1][-1]])       # sound gzip, and a block is gone
    dxtest.equal(accepted(folder / "cdx-00001.gz"), rows // 3 - 30, "gzip does not see what is gone")
    refused("cdx-00001.gz: has ", folder / "cluster.idx")
    refused(f"has {len(whole) - sizes[1][-1]} bytes, and its cluster index has blocks of {len(whole)}", folder)
    (folder / "cdx-00001.gz").unlink()
    refused("the shard cdx-00001.gz is not there", folder / "cluster.idx")
    refused("cdx-00001.gz is not there", folder)
    (folder / "cdx-00001.gz").write_bytes(whole)
    for name, text, words in (("gap", lines[:5] + lines[6:], "line 6: a block of cdx-00001.gz begins at offset"),
                              ("apart", lines[:4] + lines[8:] + lines[4:8] + [lines[0]], "do not stand together"),
                              ("out", [lines[0].replace("cdx-00000.gz", "../cdx-00000.gz")], "is not a relative path below the index"),
                              ("number", [lines[0].replace("\t0\t", "\t-1\t")], "is not a number")):
        (folder / f"{name}.idx").write_text("".join(text))
        refused(words, folder / f"{name}.idx")
        (folder / f"{name}.idx").unlink()
    (tmp / "urls.idx").write_text("http://a.com/1\nhttp://b.com/2\n")
    dxtest.equal(accepted("--format", "list", tmp / "urls.idx"), 2, "a file of another kind under that name")
    if SAMPLE:
        dxtest.equal(accepted("--max-rejects", "100%", SAMPLE), accepted("--max-rejects", "100%", SAMPLE.parent / "zipnum-sample.cdx.gz"),
                     "the index of pywb, by its .loc")
        dxtest.check(accepted("--max-rejects", "100%", SAMPLE) > 50, "the index of pywb has rows")
        refused("line 2: a block of bar begins at offset 275", SAMPLE.parent / "zipnum-bad.idx")
    if stores.find("nginx"):
        with stores.Nginx(folder) as server:
            dxtest.equal(accepted(f"{server.url}/cluster.idx"), rows, "a cluster index over http")
            (folder / "cdx-00002.gz").write_bytes((folder / "cdx-00002.gz").read_bytes()[:-sizes[2][-1]])
            refused("and its cluster index has blocks of", f"{server.url}/cluster.idx")


def lists(tmp):
    folder = tmp / "lists"
    (folder / "crawl-data").mkdir(parents=True)
    for i in range(3):
        (folder / "crawl-data" / f"{i}.txt").write_text("".join(f"http://site{i}.com/{n}\n" for n in range(10)))
    names = "".join(f"crawl-data/{i}.txt\n" for i in range(3))
    (folder / "paths.gz").write_bytes(gzip.compress(("# of a crawl\n\n" + names).encode()))
    dxtest.equal(accepted("--base", folder, f"@{folder}/paths.gz"), 30, "a compressed list below --base")
    (folder / "spaced").write_bytes(b"\xef\xbb\xbf# made by hand\r\n\r\n \t \r\n" + names.replace("\n", " \t\r\n").replace("crawl", "\t crawl", 1).encode() + b"  # the end")
    dxtest.equal(accepted("--base", folder, f"@{folder}/spaced"), 30, "a list with CRLF, blanks around names, lines of blanks, comments behind blanks")
    (folder / "twice").write_text(f"@{folder}/paths.gz\n")
    refused("a list cannot name a list", f"@{folder}/twice")
    (folder / "long").write_text("x" * 9000 + "\n")
    refused("line 1: a line of more than 8192 bytes", f"@{folder}/long")
    refused("hf:// is not read", "hf://datasets/a/b")
    if not stores.find("nginx"):
        return
    with stores.Nginx(folder) as server:
        dxtest.equal(accepted("--base", f"{server.url}/", f"@{server.url}/paths.gz"), 30, "a list over http with --base")
        (folder / "addresses").write_text("".join(f"{server.url}/crawl-data/{i}.txt\n" for i in range(2)))
        dxtest.equal(accepted(f"@{server.url}/addresses"), 20, "a list over http of addresses")
        refused("--base ADDRESS says where relative paths are", f"@{server.url}/paths.gz")
        (folder / "evil").write_text(f"{folder}/crawl-data/0.txt\n")
        refused("a remote list names addresses", f"@{server.url}/evil")
        (folder / "evil").write_text("../lists/crawl-data/0.txt\n")
        refused("a remote list cannot have '..'", "--base", folder / "crawl-data", f"@{server.url}/evil")


def hub(tmp):
    """As huggingface_hub keeps a data set."""
    top = tmp / "datasets--org--name"
    for part in ("blobs", "refs", "snapshots/aaa/en"):
        (top / part).mkdir(parents=True)
    (top / "refs" / "main").write_text("aaa")
    for i in range(2):
        (top / "blobs" / f"{i:040x}").write_bytes(gzip.compress(b"".join(b'{"url": "http://site%d.com/%d", "text": "x"}\n' % (i, n) for n in range(10))))
        (top / "snapshots/aaa/en" / f"c4-{i}.json.gz").symlink_to(f"../../../blobs/{i:040x}")
    (top / "snapshots/aaa" / "README.md").write_text("# card\n")
    got = accepted(top / "snapshots/aaa")
    dxtest.equal(got, 20, "a snapshot")
    (top / "snapshots/bbb").mkdir()
    (top / "snapshots/bbb/c4-0.json.gz").symlink_to(f"../../blobs/{0:040x}")
    refused("has several revisions", top)
    (top / "snapshots/bbb/c4-0.json.gz").unlink()
    (top / "snapshots/bbb").rmdir()
    dxtest.equal(accepted(top), 20, "the folder of a data set: each file once")


def store_patterns(tmp):
    for kind in stores.kinds()[:1]:
        with kind() as store, stores.environment({**store.env, "TMPDIR": os.environ.get("TMPDIR", "/tmp")}):
            store.bucket("inputs")
            for crawl in ("2023-50", "2024-10", "2024-18"):
                for name in ("a.txt", "b.csv", "deep/c.txt", "README.md"):
                    store.put("inputs", f"t/crawl={crawl}/{name}", b"".join(b"http://site%d.com/%s\n" % (n, crawl.encode()) for n in range(5)))
            dxtest.equal(accepted("s3://inputs/t/crawl=2024-*/*.txt"), 10, "a pattern of objects: a star is not a slash")
            dxtest.equal(accepted("--include", "*.txt", "s3://inputs/t/crawl=2024-1[0-9]"), 20, "a pattern of prefixes is all below, with the filter")
            dxtest.equal(accepted("s3://inputs/*/crawl=2023-50/a.txt"), 5, "a star in front")
            refused("no object has that name or matches it", "s3://inputs/t/crawl=2025-*")
            refused("a bucket has no pattern", "s3://in*/t")


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        cluster_indexes(tmp)
        lists(tmp)
        hub(tmp)
        store_patterns(tmp)
    dxtest.finish()


if __name__ == "__main__":
    main()
