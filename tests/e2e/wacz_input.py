#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: peers
"""WACZ as input of ingest: the WARC files in it, against warcio on the same files, in archives that Python's zipfile writes.

Rows have the places that their records have in the WACZ, and `fetch-record` reads them there, with one request where the WACZ is behind an
address. zip64, members without compression of their own, damaged and cut ones; what is refused. Real files: $DX_WACZ_SAMPLES, a folder.
$DX_PEERS_PYTHON names the python that has warcio. Exit 77: skipped.
"""
import gzip
import io
import os
import pathlib
import sys
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dxtest  # noqa: E402
import gzip_repeated  # noqa: E402
import no_pandas  # noqa: E402, F401

try:
    import lake
    import stores
    from warcio.archiveiterator import ArchiveIterator
    from warcio.statusandheaders import StatusAndHeaders
    from warcio.warcwriter import WARCWriter
except ImportError as missing:
    print(f"SKIPPED: {missing} in {sys.executable}; set DX_PEERS_PYTHON")
    sys.exit(77)

EXTRAS = ("status", "mime", "offset", "length")


def made(name, count, compressed=True):
    out = io.BytesIO()
    w = WARCWriter(out, gzip=compressed)
    w.write_record(w.create_warcinfo_record(f"{name}.warc", {"software": "test"}))
    for i in range(count):
        headers = StatusAndHeaders(f"{200 + i % 5} OK", [("Content-Type", "text/html")], protocol="HTTP/1.1")
        w.write_record(w.create_warc_record(f"http://www.{name}{i}.com/", "response", payload=io.BytesIO(b"page\n" * (i * 20)), http_headers=headers,
                                            warc_headers_dict={"WARC-Date": f"2024-01-{i % 28 + 1:02}T00:00:00Z"}))
    return out.getvalue()


def peer(data, at):
    """The captures of a WARC file that begins at offset `at`."""
    found = []
    it = ArchiveIterator(io.BytesIO(data))
    for r in it:
        r.content_stream().read()
        url, offset, size = r.rec_headers.get_header("WARC-Target-URI"), it.get_record_offset(), it.get_record_length()
        if r.rec_type == "response" and url.startswith("http"):
            found.append((url, r.rec_headers.get_header("WARC-Date"), r.http_headers.get_statuscode(), r.http_headers.get_header("Content-Type").split(";")[0], str(at + offset), str(size)))
    return found


def pack(path, members, method=zipfile.ZIP_STORED, limit=None):
    """Writes a WACZ with indexes and pages as crawlers do; limit: sizes and offsets above are zip64's."""
    before = zipfile.ZIP64_LIMIT
    zipfile.ZIP64_LIMIT = limit or before
    try:
        with zipfile.ZipFile(path, "w") as z:
            z.writestr("indexes/index.cdx.gz", gzip.compress(b"com,a)/ 20240101000000 {}\n"))
            for name, data in members.items():
                z.writestr(zipfile.ZipInfo(name), data, method)
            z.writestr("archive/", b"")
            z.writestr("pages/pages.jsonl", b'{"format": "json-pages-1.0"}\n' * 9, zipfile.ZIP_DEFLATED)
            z.writestr("datapackage.json", b'{"profile": "data-package"}', zipfile.ZIP_DEFLATED)
            z.comment = b"a comment"
    finally:
        zipfile.ZIP64_LIMIT = before


def places(path):
    """{name: where its data begin}, by zipfile's own reading of the local header."""
    found = {}
    with zipfile.ZipFile(path) as z:
        for info in z.infolist():
            with z.open(info) as f:
                found[info.filename] = f._orig_compress_start
    return found


def rows_of(path):
    rows = []
    with zipfile.ZipFile(path) as z:
        for name, at in places(path).items():
            if name.startswith("archive/") and name.endswith((".warc", ".warc.gz")):
                rows += peer(z.read(name), at)
    return rows


def ingest(root, source, *options, expect=0, **more):
    extras = [word for name in EXTRAS for word in ("--extra-column", name)]
    return dxtest.domaindex("ingest", "--root", root, "--dataset", "d", *extras, *options, source, expect=expect, **more).stderr.decode()


def check(root, want, what):
    dxtest.equal(sorted(map(repr, lake.stored(root, "d"))), sorted(map(repr, want)), what)


MEMBERS = {"archive/b.warc.gz": made("b", 40), "archive/a.warc": made("a", 20, False), "archive/empty.warc.gz": b"", "archive/c.warc.gz": made("c", 30),
           "archive/notes.txt": b"http://not-a-warc.com/\n", "other/d.warc.gz": made("d", 3)}


def archives(tmp):
    for name, limit in (("a.wacz", None), ("zip64.wacz", 100)):
        pack(tmp / name, MEMBERS, limit=limit)
        dxtest.equal(b"PK\x06\x06" in (tmp / name).read_bytes(), limit is not None, f"{name}: zip64")
        want = rows_of(tmp / name)
        dxtest.equal(len(want), 90, f"{name}: captures that warcio finds")
        said = ingest(tmp / f"root-{name}", tmp / name)
        dxtest.check("warc; url column: WARC-Target-URI" in said, f"what was recognised: {said}")
        check(tmp / f"root-{name}", want, name)
    said = dxtest.domaindex("ingest", "--detect", tmp / "a.wacz").stdout.decode()
    dxtest.check("warc, WACZ" in said and "  profile    warc" in said, f"--detect: {said}")
    folder = tmp / "CC-MAIN-2024-10"
    folder.mkdir()
    pack(folder / "x.wacz", {"archive/x.warc.gz": made("x", 5)})
    dxtest.domaindex("ingest", "--root", tmp / "profile", "--profile", "warc", "--max-rejects", "0", folder)
    dxtest.equal(len(lake.stored(tmp / "profile", "CC-MAIN-2024-10")), 5, "the profile takes a folder of WACZ")


def located(tmp):
    """The locator is of the WACZ, so one range of it is the record."""
    data, root = (tmp / "a.wacz").read_bytes(), tmp / "located"
    dxtest.domaindex("ingest", "--root", root, "--dataset", "d", "--locators", tmp / "a.wacz")
    dxtest.domaindex("publish", "--quiet", "--root", root)
    want = rows_of(tmp / "a.wacz")
    check(root, [(row[0], row[1], f"{tmp / 'a.wacz'}#warc={row[-2]}+{row[-1]}") for row in want], "locators")
    for url, _, _, _, at, size in want[::7]:
        record = dxtest.domaindex("fetch-record", "--root", root, "--base", "/", url).stdout
        dxtest.equal(record, data[int(at):int(at) + int(size)], f"the record of {url}")


def remote(tmp):
    if not stores.find("nginx"):
        print("SKIPPED in part: no nginx")
        return
    pack(tmp / "large.wacz", {"archive/first.warc.gz": made("first", 4), "archive/z.warc": made("z", 600, False), "archive/last.warc.gz": made("last", 4)})
    dxtest.check((tmp / "large.wacz").stat().st_size > 5 << 20, "more than one request has")
    with stores.Nginx(tmp) as server:
        for name in ("a.wacz", "large.wacz"):
            address = f"http://127.0.0.1:{server.port}/{name}"
            ingest(tmp / f"remote-{name}", address)
            want = rows_of(tmp / name)
            check(tmp / f"remote-{name}", want, f"{name} over HTTP")
            url, _, _, _, at, size = want[-1]
            record = dxtest.domaindex("fetch-record", "--base", f"http://127.0.0.1:{server.port}/", "--url", url, f"{address}#warc={at}+{size}").stdout
            dxtest.equal(record, (tmp / name).read_bytes()[int(at):int(at) + int(size)], f"{name}: a record over HTTP")


def damaged(tmp):
    """In one of the WARC files: the others are read; the end of one is not the beginning of the next."""
    data, at = bytearray((tmp / "a.wacz").read_bytes()), places(tmp / "a.wacz")
    want = rows_of(tmp / "a.wacz")

    def run(name, data, lost, rejects):
        (tmp / "bad.wacz").write_bytes(data)
        said = ingest(tmp / f"bad-{name}", tmp / "bad.wacz", "--max-rejects", "100%")
        check(tmp / f"bad-{name}", [r for r in want if r[0] not in lost], f"{name}: sound records")
        dxtest.equal(int(said.split("  rejected")[1].split()[0]), rejects, f"{name}: rejects")

    hurt = bytearray(data)
    row = next(r for r in want if r[0] == "http://www.b39.com/")     # the last of its file
    hurt[int(row[-2]) + int(row[-1]) // 2] ^= 0xff
    run("last", hurt, {row[0]}, 1)
    hurt = bytearray(data)
    hurt[at["archive/b.warc.gz"] + 20] ^= 0xff     # the first one, by which the format is found
    run("first", hurt, set(), 1)
    row = next(r for r in want if r[0] == "http://www.a19.com/")     # plain: its length leads out of its file
    begin = int(row[-2])
    hurt = bytearray(data[:begin] + data[begin:].replace(b"Content-Length: 1", b"Content-Length: 9", 1))
    run("plain", hurt, {row[0]}, 1)


def refused(tmp):
    def no(name, data, words, *more):
        (tmp / name).write_bytes(data)
        said = ingest(tmp / "none", tmp / name, *more, expect=1)
        dxtest.check(words in said, f"{name}: {said}")

    data = (tmp / "a.wacz").read_bytes()
    no("cut.wacz", data[:-5000], "does not end with a directory; fetch it again")
    no("front.wacz", data[:200] + data[5000:], "damaged or cut")
    said = ingest(tmp / "none", "-", input=data, expect=1)
    dxtest.check("from a disk or an address, not from a pipe" in said, f"from a pipe: {said}")
    pack(tmp / "deflated.wacz", {"archive/a.warc.gz": made("a", 3)}, zipfile.ZIP_DEFLATED)
    no("deflated.wacz", (tmp / "deflated.wacz").read_bytes(), "unzip -p FILE 'archive/*'")
    pack(tmp / "none.zip", {"a/a.csv": b"url\nhttp://a.com/\n"})
    no("none.zip", (tmp / "none.zip").read_bytes(), "is a zip archive, which ingest does not read")
    # Two entries of one member: of many such a small file would become a large one.
    pack(tmp / "twice.wacz", {"archive/a.warc.gz": made("a", 3), "archive/b.warc.gz": made("b", 3)})
    twice = (tmp / "twice.wacz").read_bytes()
    with zipfile.ZipFile(tmp / "twice.wacz") as z:
        first, second = (z.getinfo(f"archive/{name}.warc.gz").header_offset for name in "ab")
    entry = twice.index(b"archive/b.warc.gz", twice.index(b"PK\x01\x02")) - 46
    no("twice.wacz", twice[:entry + 42] + first.to_bytes(4, "little") + twice[entry + 46:], "members overlap")
    dxtest.equal(twice[entry + 42:entry + 46], second.to_bytes(4, "little"), "where the offset stands")
    no("outside.wacz", twice[:entry + 42] + b"\xf0\xff\xff\xff" + twice[entry + 46:], "a member lies outside of it")
    dxtest.check(not (tmp / "none" / "urls").exists(), "what is refused leaves no row")


def lies(tmp):
    """What an archive says of itself is not true: it is refused as a whole before a row is stored, or the rows that are stored are those of WARC
    records that are whole. Nothing is read outside of the archive, and what is said to be huge takes no memory."""
    pack(tmp / "sound.wacz", {"archive/a.warc.gz": made("a", 30), "archive/b.warc.gz": made("b", 30)})
    data, want = (tmp / "sound.wacz").read_bytes(), rows_of(tmp / "sound.wacz")
    directory = data.index(b"PK\x01\x02")
    end = data.rindex(b"PK\x05\x06")
    entry = data.index(b"archive/b.warc.gz", directory) - 46
    with zipfile.ZipFile(tmp / "sound.wacz") as z:
        local, size = z.getinfo("archive/b.warc.gz").header_offset, z.getinfo("archive/b.warc.gz").compress_size

    def put(changes, of=data):
        out = bytearray(of)
        for at, value, width in changes:
            out[at:at + width] = value.to_bytes(width, "little")
        return bytes(out)

    def run(name, bytes_, lost=(), refused=None, rejects=0):
        (tmp / "lies.wacz").write_bytes(bytes_)
        root = tmp / f"lies-{name}"
        said = ingest(root, tmp / "lies.wacz", "--max-rejects", "100%", expect=1 if refused else 0)
        if refused:
            dxtest.check(any(words in said for words in refused), f"{name}: {said}")
            dxtest.check(not list(root.glob("urls/*/*/*")), f"{name}: what is refused leaves no row")
            return
        check(root, [r for r in want if r[0] not in lost], name)
        dxtest.equal(int(said.split("  rejected")[1].split()[0]), rejects, f"{name}: rejects")

    of_b = {r[0] for r in want if ".b" in r[0]}
    run("sound", data)
    # The CRC of a member is of the whole file: records have checksums of their own (gzip), and these count.
    run("crc", put([(entry + 16, 0x12345678, 4), (local + 14, 0x12345678, 4)]))
    # Cut anywhere: without its directory nothing is known. (Each 1/40 of it.)
    for i in range(1, 40, 1 if dxtest.WHOLE else 5):
        run(f"cut-{i}", data[:len(data) * i // 40], refused=("does not end with a directory", "damaged or cut", "empty", "cannot tell", "no records", "not a"))
    # The directory: elsewhere, longer, shorter, with another count of entries.
    run("directory-elsewhere", put([(end + 16, directory + 7, 4)]), refused=("damaged or cut", "does not end with a directory"))
    run("directory-outside", put([(end + 16, 0xfffffff0, 4)]), refused=("damaged or cut", "does not end with a directory"))
    run("directory-long", put([(end + 12, 0x7fffffff, 4)]), refused=("damaged or cut", "does not end with a directory"))
    # A member: longer than it is, into the next ones or out of the archive; shorter: its last record is cut.
    run("member-into-next", put([(entry + 20, size + 100, 4), (entry + 24, size + 100, 4)]), rejects=1)     # the next bytes are not WARC records
    entry_a = data.index(b"archive/a.warc.gz", directory) - 46
    run("member-into-warc", put([(entry_a + 20, size + 100, 4), (entry_a + 24, size + 100, 4)]), refused=("members overlap",))
    run("member-outside", put([(entry + 20, 0xfffffff0, 4), (entry + 24, 0xfffffff0, 4)]), refused=("lies outside", "members overlap", "damaged or cut"))
    last = max((r for r in want if r[0] in of_b), key=lambda r: int(r[-2]))
    run("member-short", put([(entry + 20, size - 9, 4), (entry + 24, size - 9, 4)]), {last[0]}, rejects=1)
    # zip64 that lies: records say that sizes are elsewhere, and there is nothing, or 2^63.
    pack(tmp / "sound64.wacz", {"archive/a.warc.gz": made("a", 30), "archive/b.warc.gz": made("b", 30)}, limit=100)
    data64 = (tmp / "sound64.wacz").read_bytes()
    want = rows_of(tmp / "sound64.wacz")
    run("zip64", data64)
    end = data64.rindex(b"PK\x05\x06")     # Python writes the true numbers there too; with these the record of zip64 counts
    data64 = put([(end + 12, 0xffffffff, 4), (end + 16, 0xffffffff, 4)], data64)
    run("zip64-alone", data64)
    end64, at64 = data64.rindex(b"PK\x06\x06"), data64.rindex(b"PK\x06\x07")
    for name, change in (("offset", (end64 + 48, 1 << 62, 8)), ("size", (end64 + 40, (1 << 64) - 1, 8)), ("locator", (at64 + 8, 1 << 63, 8))):
        run(f"zip64-{name}", put([change], data64), refused=("damaged or cut", "does not end with a directory"))
    entry64 = data64.index(b"archive/b.warc.gz", data64.index(b"PK\x01\x02"))
    extra = entry64 + len(b"archive/b.warc.gz")
    dxtest.equal(data64[extra:extra + 2], b"\x01\x00", "the zip64 extra of a member")
    run("zip64-member", put([(extra + 4, 1 << 62, 8), (extra + 12, 1 << 62, 8)], data64), refused=("lies outside", "members overlap", "damaged or cut"))
    run("zip64-no-extra", put([(extra, 0x7777, 2)], data64), refused=("lies outside", "members overlap", "damaged or cut"))
    # A bomb: a record of 256 MiB in 256 KiB. Its row is stored or rejected, in bounded memory and time.
    bomb = gzip_repeated.member(b"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://bomb.com/\r\nWARC-Date: 2024-01-01T00:00:00Z\r\nWARC-Record-ID: <urn:uuid:1>\r\n"
                         b"Content-Type: application/http; msgtype=response\r\nContent-Length: 268435456\r\n\r\nHTTP/1.1 200 OK\r\nX: ", b"a" * (1 << 20), 255, b"a" * ((1 << 20) - 20) + b"\r\n\r\n\r\n\r\n")
    pack(tmp / "bomb.wacz", {"archive/a.warc.gz": made("a", 30), "archive/bomb.warc.gz": bomb, "archive/c.warc.gz": made("c", 3)})
    said = dxtest.run("bash", "-c", f"ulimit -v 1500000; exec {dxtest.BIN / 'domaindex'} ingest --root {tmp / 'bomb'} --dataset d --memory 64M --max-rejects 100% {tmp / 'bomb.wacz'}", expect=None)
    dxtest.equal(said.returncode, 0, f"a bomb: {said.stderr[-400:]!r}")
    stored = {row[0] for row in lake.stored(tmp / "bomb", "d")}
    dxtest.equal(stored - {"http://bomb.com/"}, {f"http://www.a{i}.com/" for i in range(30)} | {f"http://www.c{i}.com/" for i in range(3)}, "beside a bomb")


def real(tmp):
    folder = os.environ.get("DX_WACZ_SAMPLES")
    for number, path in enumerate(sorted(pathlib.Path(folder).rglob("*.wacz")) if folder else []):
        want = rows_of(path)
        ingest(tmp / f"real{number}", path, expect=0 if want else 1)
        if want:
            check(tmp / f"real{number}", want, str(path))
        print(f"{path}: {len(want)} rows")


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        archives(tmp)
        located(tmp)
        remote(tmp)
        damaged(tmp)
        refused(tmp)
        lies(tmp)
        real(tmp)
    dxtest.finish()


if __name__ == "__main__":
    main()
