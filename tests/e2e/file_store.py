#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: peers
"""File stores: a made-up one with damages of each kind, read against a reader of its own, written and read again.

In detail: a file store of 1,000 pages, in the gate of 200: into the lake and out again, the same bytes twice, a reader of its own
beside; damaged lines of each kind, storage files cut, broken, exchanged, huge, links and pipes, set aside or
not; links out of the store.
"""
import gzip
import hashlib
import json
import os
import random
import re
import zlib

import dxtest
import inject

try:
    import pyarrow.parquet
except ImportError:
    dxtest.skip("no module pyarrow (tests/e2e/requirements.txt)")

SEP = ",!,"
PAGES = 1000 if dxtest.WHOLE else 80
BOMB = 300     # MiB of zeros in a few hundred KiB
WORDS = ["zebra", "Über", "x,y", "a:b", "tab\there", "日本", "", "'q\"", "tail "]
TAGS = ["news", "sport", "с тегом", "a,b", "c\"d", "e\\f"]


def digest(key):
    return hashlib.sha256(key.encode()).hexdigest()


def storage_path(store, key):
    h = digest(key)
    return store / "store" / h[:2] / h[2:4] / h


def headers(key, kind, title, hash_=None):
    return (f"KEY:{key}\nHASH:{hash_ or digest(key)}\nDOMAIN:{key.split('/')[2]}\nPATH:/x\nFILE:x\n"
            f"CONTENTTYPE:{kind}\nTITLE:{title}\n\n").encode()


def put_storage(store, key, data):
    path = storage_path(store, key)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def payload(number):
    return json.dumps({"n": number, "date": 1700000000 + number, "body": ["x\ny"]}, indent=1).encode()


def make(store, seed=1):
    """A sound store: {key: (type, title, tags)}."""
    r = random.Random(seed)
    store.mkdir()
    pages = {}
    for i in range(PAGES):
        key = f"https://{r.choice(['www', 'b.c', 'x'])}.site{i % 37}.example/p{i}?q={r.randrange(9)}"
        if i % 50 == 0:
            key = f"HTTP://Site{i}.Example:80/a/../é{i}"
        pages[key] = (r.choice(["text/html", "image/png", "application/pdf; q=1"]),
                      " ".join(r.choice(WORDS) for _ in range(3)).rstrip("\r"),
                      sorted({r.choice(TAGS) for _ in range(r.randrange(4))}, key=str.encode))
    for i, (key, (kind, title, _)) in enumerate(pages.items()):
        put_storage(store, key, gzip.compress(headers(key, kind, title) + payload(i), 1))
    return pages


def write_lists(store, pages, extra_lines=(), tombs=(), tag_lines=()):
    lines = [SEP.join([k, digest(k), t, n]) for k, (t, n, _) in pages.items()] + list(extra_lines)
    (store / "index").write_bytes("".join(line + "\n" for line in lines).encode())
    if tombs:
        (store / "index.tomb").write_text("".join(t + "\n" for t in tombs))
    by_tag = {}
    for key, (_, _, tags) in pages.items():
        for tag in tags:
            by_tag.setdefault(tag, []).append(key)
    text = "".join(f"{tag}!#!{json.dumps(keys)}\n" for tag, keys in by_tag.items()) + "".join(tag_lines)
    (store / "tags").write_bytes(gzip.compress(text.encode()))


def read_as_the_text_has_it(store):
    """As the description of the original has it: tags, then the tombstone, then the index line by line."""
    tags = {}
    with gzip.open(store / "tags", "rt", newline="\n") as lines:
        for line in lines:
            tag, keys = line.rstrip("\n").split("!#!", 1)
            for key in json.loads(keys):
                tags.setdefault(key, []).append(tag)
    tomb = store / "index.tomb"
    gone = set(tomb.read_text().split("\n")) if tomb.exists() else set()
    pages = {}
    for line in (store / "index").read_bytes().decode().split("\n"):
        fields = line.split(SEP)
        if len(fields) >= 4 and fields[0] not in gone:
            pages[fields[0]] = (fields[2], fields[3], sorted(tags.get(fields[0], []), key=str.encode))
    return pages


def ingest(root, store, *more, expect=0):
    done = dxtest.domaindex("ingest", "--root", root, "--dataset", "store", "--from", "file-store", *more, store,
                            expect=expect)
    words = done.stderr.decode(errors="replace")
    return {name.strip(): int(count.replace(",", ""))
            for name, count in re.findall(r"^ +(\D+?) +([\d,]+)$", words, re.M)}, words


def rows(root):
    """{key as it was given: (type, title, tags)} of the lake."""
    found = {}
    for path in sorted((root / "urls").glob("dataset_id=*/**/*.parquet")):
        for row in pyarrow.parquet.ParquetFile(path).read().to_pylist():
            key = row["raw_url"] or f"{row['scheme']}://{row['host']}{row['path_query']}"
            dxtest.check(key not in found, f"{key}: twice in the lake")
            found[key] = (row.get("content_type") or "", row.get("title") or "", json.loads(row.get("tags") or "[]"))
    return found


def same_pages(got, want, words):
    dxtest.equal(len(got), len(want), f"{words}: pages")
    wrong = [(k, got.get(k), want[k]) for k in want if got.get(k) != want[k]]
    dxtest.equal(wrong[:3], [], f"{words}: pages that differ")


def tree(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def check_sound(tmp):
    pages = make(tmp / "sound")
    write_lists(tmp / "sound", pages)
    counts, _ = ingest(tmp / "root", tmp / "sound", "--extra-column", "payload.n", "--ts-column", "payload.date")
    dxtest.equal([counts["pages"], counts["rows stored"], counts["storage files corrupt"],
                  counts["storage files missing"], counts["rejected"]], [PAGES, PAGES, 0, 0, 0], "counts of a sound store")
    same_pages(rows(tmp / "root"), pages, "a sound store")
    same_pages(read_as_the_text_has_it(tmp / "sound"), pages, "the reader of this test")
    files = list((tmp / "root" / "urls").glob("dataset_id=*/**/*.parquet"))
    numbers = [r["payload.n"] for f in files for r in pyarrow.parquet.ParquetFile(f).read().to_pylist()]
    dxtest.equal(sorted(map(int, numbers)), list(range(PAGES)), "payload.n")
    counts, _ = ingest(tmp / "root", tmp / "sound", "--extra-column", "payload.n", "--ts-column", "payload.date")
    dxtest.equal(counts["rows stored"], 0, "rows stored the second time")
    return pages


def export(root, to, expect=0):
    return dxtest.domaindex("export", "--root", root, "--file-store", to, expect=expect).stderr.decode()


def check_round_trip(tmp, pages):
    dxtest.domaindex("publish", "--root", tmp / "root")
    export(tmp / "root", tmp / "out")
    same_pages(read_as_the_text_has_it(tmp / "out"), pages, "the store written, by the reader of this test")
    for key in list(pages)[:20]:
        text = gzip.decompress(storage_path(tmp / "out", key).read_bytes()).decode()
        head, _, rest = text.partition("\n\n")
        fields = dict(line.split(":", 1) for line in head.split("\n"))
        dxtest.equal([fields["KEY"], fields["HASH"], fields["CONTENTTYPE"], fields["TITLE"], json.loads(rest)],
                     [key, digest(key), pages[key][0], pages[key][1], {}], "headers of a storage file written")
    counts, _ = ingest(tmp / "root2", tmp / "out")
    dxtest.equal([counts["pages"], counts["storage files corrupt"], counts["storage files missing"]],
                 [PAGES, 0, 0], "counts of the store written")
    same_pages(rows(tmp / "root2"), pages, "the store written and read")
    dxtest.domaindex("publish", "--root", tmp / "root2")
    export(tmp / "root2", tmp / "out2")
    dxtest.check(tree(tmp / "out") == tree(tmp / "out2"), "a store of the same rows has other bytes")
    dxtest.check("not empty" in export(tmp / "root2", tmp / "out2", expect=1), "a folder with files is written to")
    check_unfinished(tmp, tree(tmp / "out"))


def check_unfinished(tmp, whole):
    """What a killed export left is replaced; a folder that has something else, or is not known to be that, is refused as it is."""
    for name, extra, refused in (("killed", (), False), ("other", ("notes.txt",), True), ("finished", ("index",), True), ("unknown", (), True)):
        folder = tmp / name
        (folder / "store" / "aa").mkdir(parents=True)
        for file in ("store/aa/x", "tags", *extra, *(("index.new",) if name != "unknown" else ())):
            (folder / file).write_bytes(b"half")
        before = tree(folder)
        done = export(tmp / "root2", folder, expect=1 if refused else 0)
        dxtest.check("not empty" in done or not refused, f"{name}: {done}")
        dxtest.check(tree(folder) == (before if refused else whole), f"{name}: what is there then")


def check_suppressed(tmp, pages):
    gone = next(k for k in pages if k.startswith("https://"))
    dxtest.domaindex("suppress", "add", "--root", tmp / "root2", "--url", gone, "--reason", "asked")
    export(tmp / "root2", tmp / "out3")
    same_pages(read_as_the_text_has_it(tmp / "out3"), {k: v for k, v in pages.items() if k != gone},
               "the store written with a rule")


def check_damaged_lines(tmp):
    store = tmp / "lines"
    pages = make(store, 2)
    keys = list(pages)
    title = "one,!,two,!,three"
    pages[keys[5]] = (pages[keys[5]][0], title, pages[keys[5]][2])
    hash_ = digest(keys[6])
    extra = ["no fields", "a,!,b", f"https://k,!,ey.example/,!,{digest('https://k,!,ey.example/')},!,text/html,!,x",
             f"https://upper.example/,!,{digest('https://upper.example/').upper()},!,text/html,!,x",
             f"https://other.example/,!,{hash_},!,text/html,!,not its hash", f"\x01https://c.example/,!,{hash_},!,a,!,b",
             "https://long.example/" + "y" * (2 << 20) + f",!,{hash_},!,a,!,b", "",
             f"{keys[7]},!,{digest(keys[7])},!,text/new,!,the later line",
             f"{keys[8]},!,{digest(keys[8])},!,text/again,!,after its tombstone"]
    tag_lines = ['no array\n', 'half!#!["https://x.example/", \n', 'numbers!#![1]\n', '!#!["x"]\n', 'not list!#!{}\n',
                 'ok!#![]\n', f'esc!#!["{keys[9].replace("/", chr(92) + "/")}", "https://nothing.example/\\u00e9"]\n']
    write_lists(store, pages, extra, [keys[8], keys[10], "https://never.example/"], tag_lines)
    pages[keys[7]] = ("text/new", "the later line", pages[keys[7]][2])
    pages[keys[9]] = (*pages[keys[9]][:2], sorted(pages[keys[9]][2] + ["esc"], key=str.encode))
    for key in (keys[8], keys[10]):
        del pages[key]
    counts, words = ingest(tmp / "root3", store)
    names = ["pages", "in the tombstone", "duplicate lines", "malformed lines", "hashes not the key's",
             "keys not in the index"]
    dxtest.equal([counts[n] for n in names], [len(pages), 2, 1, 6, 1, 1], "counts of damaged lines")
    dxtest.equal(words.count("tags, line "), 5, "damaged lines of tags told")
    same_pages(rows(tmp / "root3"), pages, "a store with damaged lines")
    ours = {k: v for k, v in read_as_the_text_has_it_lenient(store, tag_lines).items() if k in pages}
    pages[keys[5]] = (pages[keys[5]][0], "one", pages[keys[5]][2])  # the original cuts such a title
    same_pages(ours, pages, "damaged lines as the text has them")


def read_as_the_text_has_it_lenient(store, bad):
    """The same without the lines that it fails on."""
    text = gzip.decompress((store / "tags").read_bytes()).decode()
    for line in bad[:5]:
        text = text.replace(line, "")
    (store / "tags").write_bytes(gzip.compress(text.encode()))
    return read_as_the_text_has_it(store)


def bomb(head):
    """gzip of head and BOMB MiB of zeros. Each MiB is the same bytes: it is compressed once."""
    packer, zeros = zlib.compressobj(1, zlib.DEFLATED, -zlib.MAX_WBITS), bytes(1 << 20)
    begin = packer.compress(head) + packer.flush(zlib.Z_FULL_FLUSH)
    once = packer.compress(zeros) + packer.flush(zlib.Z_FULL_FLUSH)
    sum_ = zlib.crc32(head)
    for _ in range(BOMB):
        sum_ = zlib.crc32(zeros, sum_)
    size = len(head) + BOMB * len(zeros)
    return b"\x1f\x8b\x08\0\0\0\0\0\4\xff" + begin + once * BOMB + packer.flush() + sum_.to_bytes(4, "little") + size.to_bytes(4, "little")


def damage_storage(tmp, store, keys):
    """One of each kind; the keys that are corrupt."""
    path = [storage_path(store, k) for k in keys]
    whole = path[0].read_bytes()
    path[0].write_bytes(whole[:len(whole) // 2])
    path[1].write_bytes(b"KEY:not gzip\n\n")
    put_storage(store, keys[2], gzip.compress(headers("https://another.example/", "a", "b", digest(keys[2]))))
    put_storage(store, keys[3], gzip.compress(headers(keys[3], "a", "b", digest("other"))))
    put_storage(store, keys[4], gzip.compress(b"TITLE:no key\n\n{}"))
    put_storage(store, keys[5], gzip.compress(headers(keys[5], "a", "b")[:-1]))
    broken = bytearray(path[6].read_bytes())
    broken[-6] ^= 1  # its checksum
    path[6].write_bytes(broken)
    secret = tmp / "secret"
    secret.write_bytes(gzip.compress(headers(keys[7], "a", "b")))
    path[7].unlink()
    path[7].symlink_to(secret)
    path[8].unlink()
    os.mkfifo(path[8])
    path[9].write_bytes(bomb(headers(keys[9], "a", "b")))
    path[10].write_bytes(b"")
    return keys[:11]


def check_damaged_storage(tmp):
    store = tmp / "storage"
    pages = make(store, 3)
    write_lists(store, pages)
    keys = list(pages)
    corrupt = damage_storage(tmp, store, keys)
    storage_path(store, keys[20]).unlink()
    counts, _ = ingest(tmp / "root4", store)
    dxtest.equal([counts["pages"], counts["storage files corrupt"], counts["set aside"],
                  counts["storage files missing"]], [PAGES, 11, 0, 1], "counts of damaged storage files")
    dxtest.check(all(os.path.lexists(storage_path(store, k)) for k in corrupt), "a file went without --set-aside")
    same_pages(rows(tmp / "root4"), pages, "a store with damaged storage files")
    counts, words = ingest(tmp / "root4", store, "--set-aside")
    dxtest.equal([counts["storage files corrupt"], counts["set aside"], counts["rows stored"]], [11, 11, 0], "set aside")
    dxtest.equal(words.count("store: "), 11 + words.count("file store: "), "corrupt files told")
    for key in corrupt:
        path = storage_path(store, key)
        dxtest.check(not os.path.lexists(path) and os.path.lexists(f"{path}.invalid"), f"{path}: not set aside")
    dxtest.equal(sum(p.name.endswith(".invalid") for p in store.rglob("*")), 11, "files set aside in all")
    dxtest.check((tmp / "secret").exists(), "what a link pointed to went")
    counts, _ = ingest(tmp / "root4", store)
    dxtest.equal([counts["storage files corrupt"], counts["storage files missing"]], [0, 12], "afterwards")


def check_kept_invalid(tmp):
    """What was set aside before is not overwritten."""
    store, key = tmp / "kept", "https://kept.example/"
    store.mkdir()
    write_lists(store, {key: ("text/html", "t", [])})
    path = put_storage(store, key, b"no gzip")
    before = path.with_name(path.name + ".invalid")
    before.write_bytes(b"of an earlier run")
    counts, words = ingest(tmp / "root7", store, "--set-aside")
    dxtest.equal([counts["storage files corrupt"], counts["set aside"]], [1, 0], "a file that was set aside before")
    dxtest.check("cannot be renamed" in words and before.read_bytes() == b"of an earlier run" and path.exists(), words)


def check_unreadable(tmp):
    """A file that the disk does not give is not corrupt for that: it keeps its name."""
    if not inject.can_trace():
        print("no strace here, or no right to trace: no unreadable file", flush=True)
        return
    store = tmp / "unreadable"
    pages = make(store)
    write_lists(store, pages)
    path = storage_path(store, sorted(pages)[5])
    done = dxtest.run("strace", "-f", "-o", tmp / "trace", "-P", path, "-e", "trace=read", "-e", "inject=read:error=EIO",
                      dxtest.DOMAINDEX, "ingest", "--root", tmp / "root-unread", "--dataset", "d", "--from", "file-store", "--set-aside",
                      store, env={"ASAN_OPTIONS": "detect_leaks=0"})
    words = done.stderr.decode()
    dxtest.check("EIO" in (tmp / "trace").read_text(), "the disk failed")
    dxtest.check(f"{path.name}: read: " in words, f"it is said: {words}")
    dxtest.check(path.exists() and not list(store.rglob("*.invalid")), "a file that may be sound was renamed")


def check_tags_and_titles(tmp):
    """A tag that two lines give a page is one; what no line can hold is left out, or mended, and counted."""
    store, key = tmp / "twice", "https://twice.example/"
    store.mkdir()
    write_lists(store, {key: ("text/html", "t", ["news"])}, tag_lines=[f'news!#!["{key}", "{key}"]\n', f'a!#!["{key}"]\n'])
    ingest(tmp / "root8", store)
    same_pages(rows(tmp / "root8"), {key: ("text/html", "t", ["a", "news"])}, "tags that are given twice")
    lines = tmp / "odd.csv"
    lines.write_text('url,title,tags\nhttps://odd.example/,"one\ntwo","[""x!#!y"",""good""]"\n')
    dxtest.domaindex("ingest", "--root", tmp / "root9", "--dataset", "odd", "--extra-column", "title", "--extra-column", "tags", lines)
    dxtest.domaindex("publish", "--root", tmp / "root9")
    said = export(tmp / "root9", tmp / "odd")
    found = read_as_the_text_has_it(tmp / "odd")
    dxtest.equal(found, {"https://odd.example/": ("", "one two", ["good"])}, "a title of two lines, a tag with the separator")
    for name in ("tags dropped", "titles mended"):
        dxtest.check(re.search(rf"{name} +1\n", said), f"{name}: {said}")


def refused(tmp, store, part, words):
    root = tmp / "root5"
    _, said = ingest(root, store, expect=1)
    dxtest.check(part in said, f"{words}: said {said!r}")
    dxtest.check(not list(root.glob("urls/dataset_id=*")), f"{words}: something was added")


def check_refused(tmp):
    store = tmp / "refused"
    pages = make(store, 4)
    write_lists(store, pages)
    tags = (store / "tags").read_bytes()
    (store / "tags").write_bytes(tags[:-20])
    refused(tmp, store, "tags: behind", "tags cut off")
    (store / "tags").write_bytes(b"plain!#![]\n")
    refused(tmp, store, "tags: not gzip", "tags in plain text")
    (store / "tags").unlink()
    (store / "index").rename(tmp / "elsewhere")
    refused(tmp, store, "has no file 'index'", "no index")
    (store / "index").symlink_to(tmp / "elsewhere")
    refused(tmp, store, "index: not a plain file", "an index that is a link")
    (store / "index").unlink()
    os.mkfifo(store / "index")
    refused(tmp, store, "not a plain file", "an index that is a pipe")
    outside = tmp / "outside"
    (store / "store").rename(outside)
    (store / "store").symlink_to(outside)
    (store / "index").unlink()
    (tmp / "elsewhere").rename(store / "index")
    counts, _ = ingest(tmp / "root6", store, "--set-aside")
    dxtest.equal([counts["storage files corrupt"], counts["set aside"], counts["pages"]], [PAGES, 0, PAGES],
                 "a folder that is a link")
    dxtest.check(not list(outside.rglob("*.invalid")), "a file outside of the store was renamed")


def main():
    dxtest.need_programs()
    # A store has two folders for each page, and these stores are removed again: on some disks that takes longer than the rest.
    with dxtest.tempdir("/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as tmp:
        pages = check_sound(tmp)
        check_round_trip(tmp, pages)
        check_suppressed(tmp, pages)
        check_damaged_lines(tmp)
        check_damaged_storage(tmp)
        check_kept_invalid(tmp)
        check_unreadable(tmp)
        check_tags_and_titles(tmp)
        check_refused(tmp)
    dxtest.finish()


main()
