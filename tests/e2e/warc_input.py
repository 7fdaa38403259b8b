#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: peers
"""WARC, WAT and WET as input of ingest, against warcio, which writes the files and reads them too.

Rows are those that warcio's reader gives: URL, time, status, MIME type, digest, offset and length of the record; of WARC 1.0 and
1.1, plain, with a gzip member or zstd frame a record (with a dictionary in front too), as one gzip stream, from a file and a pipe.
Damaged records are counted, and all sound ones are stored. $DX_PEERS_PYTHON names the python that has warcio. Exit 77: skipped.
"""
import bz2
import gzip
import http.server
import io
import json
import lzma
import os
import pathlib
import random
import re
import sys
import threading
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dxtest  # noqa: E402
import gzip_repeated  # noqa: E402
import no_pandas  # noqa: E402, F401

try:
    import lake
    import zstandard
    from warcio.archiveiterator import ArchiveIterator
    from warcio.statusandheaders import StatusAndHeaders
    from warcio.warcwriter import WARCWriter
except ImportError as missing:
    print(f"SKIPPED: {missing} in {sys.executable}; set DX_PEERS_PYTHON")
    sys.exit(77)

SAMPLES = pathlib.Path(os.environ.get("DX_SHARED_DATA", dxtest.SOURCE.parent / "shared" / "data")) / "conformance/cdx-whirlwind"
EXTRAS = ("status", "mime", "digest", "type", "offset", "length")
CAPTURES = ("response", "resource", "revisit", "conversion")
PAGES = 100 if dxtest.WHOLE else 50     # of files that are damaged
rng = random.Random(19)


def date(i):
    return f"2024-01-{i % 28 + 1:02}T{i % 24:02}:30:{i % 60:02}Z"


def made(count, version="WARC/1.0", compressed=False, size=400):
    """A WARC as crawlers write them: warcinfo, then for each page request, response and metadata; some of other types."""
    out = io.BytesIO()
    w = WARCWriter(out, gzip=compressed, warc_version=version)
    w.write_record(w.create_warcinfo_record("a.warc", {"software": "test"}))

    def put(kind, i, payload, content_type=None, http=None, url=None):
        headers = StatusAndHeaders(http[0], http[1], protocol="HTTP/1.1") if http else None
        w.write_record(w.create_warc_record(url or f"http://www.site{i}.com/p?q={i}", kind, payload=io.BytesIO(payload), http_headers=headers,
                                            warc_content_type=content_type or "", warc_headers_dict={"WARC-Date": date(i)}))

    for i in range(count):
        body = rng.randbytes(size // 2 + i % 7).hex().replace("a", "\n").encode()
        put("request", i, b"", http=("GET / HTTP/1.1", [("Host", "www.site.com")]))
        if i % 10 == 3:
            put("resource", i, body, "image/png")
        elif i % 10 == 5:
            put("conversion", i, body, "text/plain")
        elif i % 10 == 7:
            put("revisit", i, b"", http=("304 Not Modified", [("Content-Type", "text/html")]))
        else:
            put("response", i, body, http=(f"{200 + i % 5} OK", [("Server", "x"), ("content-type", f"text/html; charset={i}")] if i % 3 else [("Server", "y")]))
        put("metadata", i, b"fetchTimeMs: 1\r\n", "application/warc-fields")
        if i % 20 == 9:
            put("response", i, b"20240101000000\n1.2.3.4\n", "text/dns", url=f"dns:www.site{i}.com")
    return out.getvalue()


def records(data):
    """[(begin, end, is a capture, row)] as warcio reads them."""
    found = []
    it = ArchiveIterator(io.BytesIO(data), arc2warc=False)
    for r in it:
        r.content_stream().read()
        kind, url = r.rec_type, r.rec_headers.get_header("WARC-Target-URI")
        begin, size = it.get_record_offset(), it.get_record_length()
        mime = r.http_headers.get_header("Content-Type") if r.http_headers else r.rec_headers.get_header("Content-Type")
        digest = r.rec_headers.get_header("WARC-Payload-Digest")
        row = (url, r.rec_headers.get_header("WARC-Date"), r.http_headers.get_statuscode() if r.http_headers else None, mime and mime.split(";")[0],
               digest and digest.removeprefix("sha1:"), kind, str(begin), str(size))
        found.append((begin, begin + size, kind in CAPTURES and url.startswith("http"), row))
    return found


def rows_of(data):
    return [row for _, _, capture, row in records(data) if capture]


def by_text(rows):
    return sorted(rows, key=lambda r: tuple("" if v is None else v for v in r))


def without_place(rows):
    return [(*r[:-2], None, None) for r in rows]


def ingest(root, source, *options, expect=0, **more):
    extras = [word for name in EXTRAS for word in ("--extra-column", name)]
    return dxtest.domaindex("ingest", "--root", root, "--dataset", "d", *extras, *options, source, expect=expect, **more).stderr.decode()


def check(root, want, what):
    dxtest.equal(by_text(lake.stored(root, "d")), by_text(want), what)


def zstd_members(data, dictionary=None):
    """Each record of a plain WARC a frame, as .warc.zst files have them; (bytes, [(offset, length)] of the captures)."""
    compressor = zstandard.ZstdCompressor(level=3, write_checksum=True, dict_data=dictionary) if dictionary else zstandard.ZstdCompressor(write_checksum=True)
    out, places = b"", []
    if dictionary:
        packed = zstandard.ZstdCompressor().compress(dictionary.as_bytes())
        out = bytes.fromhex("5d2a4d18") + len(packed).to_bytes(4, "little") + packed
    for begin, end, capture, _ in records(data):
        frame = compressor.compress(data[begin:end])
        if capture:
            places.append((str(len(out)), str(len(frame))))
        out += frame
    return out, places


def containers(tmp):
    for version in ("WARC/1.0", "WARC/1.1"):
        plain = made(60, version)
        gz = made(60, version, compressed=True)
        (tmp / "a.warc").write_bytes(plain)
        (tmp / "a.warc.gz").write_bytes(gz)
        for name, data in (("a.warc", plain), ("a.warc.gz", gz)):
            root = tmp / f"{version[-1]}-{name}"
            said = ingest(root, tmp / name)
            dxtest.check("warc; url column: WARC-Target-URI; time column: WARC-Date" in said, f"what was recognised: {said}")
            check(root, rows_of(data), f"{version}, {name}")
        if version == "WARC/1.1" and not dxtest.WHOLE:
            break
        for begin, end, capture, row in records(gz):     # one range read yields one record
            dxtest.check(row[0] is None or row[0].encode() in gzip.decompress(gz[begin:end]), f"{row}: its range")
        ingest(tmp / f"{version[-1]}-pipe", "-", input=gz)
        check(tmp / f"{version[-1]}-pipe", rows_of(gz), f"{version} from a pipe")
        dxtest.domaindex("ingest", "--root", tmp / f"{version[-1]}-located", "--dataset", "d", "--locators", tmp / "a.warc.gz")
        want = [(row[0], row[1], f"{tmp / 'a.warc.gz'}#warc={row[-2]}+{row[-1]}") for row in rows_of(gz)]
        check(tmp / f"{version[-1]}-located", want, f"{version}: locators")
        whole = gzip.compress(plain)
        (tmp / "whole.gz").write_bytes(whole)
        ingest(tmp / f"{version[-1]}-whole", tmp / "whole.gz")
        check(tmp / f"{version[-1]}-whole", without_place(rows_of(plain)), f"{version}, one gzip stream: no places")
        samples = [plain[b:e] for b, e, _, _ in records(made(300 if dxtest.WHOLE else 120, version))]
        for words, dictionary in (("none", None), ("dictionary", zstandard.train_dictionary(20000, samples))):
            data, places = zstd_members(plain, dictionary)
            (tmp / "a.warc.zst").write_bytes(data)
            ingest(tmp / f"{version[-1]}-zst-{words}", tmp / "a.warc.zst")
            want = [(*row[:-2], *place) for row, place in zip(rows_of(plain), places)]
            check(tmp / f"{version[-1]}-zst-{words}", want, f"{version}, zstd, dictionary: {words}")
    for name, pack in (("a.warc.bz2", bz2.compress), ("a.warc.xz", lzma.compress)):     # a stream a record: each has its place
        data, want = b"", []
        for begin, end, capture, row in records(plain):
            stream = pack(plain[begin:end])
            if capture:
                want.append((*row[:-2], str(len(data)), str(len(stream))))
            data += stream
        (tmp / name).write_bytes(data)
        ingest(tmp / f"packed-{name}", tmp / name)
        check(tmp / f"packed-{name}", want, name)
        dxtest.domaindex("ingest", "--root", tmp / f"at-{name}", "--dataset", "d", "--locators", tmp / name)
        url, at, size = want[3][0], want[3][-2], want[3][-1]
        said = dxtest.domaindex("fetch-record", "--decompress", "--base", tmp, f"{name}#warc={at}+{size}").stdout
        dxtest.check(url.encode() in said and said.startswith(b"WARC/"), f"{name}: the record at {at}: {said[:200]}")
    said = ingest(tmp / "none", tmp / "a.warc", "--extra-column", "colour", expect=1)
    dxtest.check("the records of a WARC have no 'colour'; they have url, timestamp" in said, f"a column that is not there: {said}")
    said = ingest(tmp / "none", "-", "--format", "warc", input=b"http://a.com/\n", expect=1)
    dxtest.check("no WARC record begins it" in said, f"a list as a WARC: {said}")


def wat(tmp):
    """Of a WAT the rows are of the responses that it describes, not of the requests."""
    out = io.BytesIO()
    w = WARCWriter(out, gzip=True)
    want = []
    for i in range(40):
        kind = ("request", "response", "metadata")[i % 3]
        headers = {"WARC-Type": kind, "WARC-Date": date(i), "WARC-Target-URI": f"http://www.wat{i}.com/", "WARC-Payload-Digest": f"sha1:D{i}"}
        reply = {"Response-Message": {"Status": "200"}, "Headers": {"content-type": "text/html; x"}}
        doc = {"Container": {"Filename": "a.warc.gz", "Offset": str(1000 + i), "Gzip-Metadata": {"Deflate-Length": str(i)}},
               "Envelope": {"Payload-Metadata": {"HTTP-Response-Metadata": reply}, "WARC-Header-Metadata": headers, "Padding": "x" * (i * 9000)}}
        w.write_record(w.create_warc_record(f"http://www.wat{i}.com/", "metadata", payload=io.BytesIO(json.dumps(doc).encode()),
                                            warc_content_type="application/json", warc_headers_dict={"WARC-Date": "2025-01-01T00:00:00Z"}))
        if kind == "response":
            want.append((f"http://www.wat{i}.com/", date(i), "200", "text/html", f"D{i}", "response", str(1000 + i), str(i)))
    (tmp / "a.wat.gz").write_bytes(out.getvalue())
    ingest(tmp / "wat", tmp / "a.wat.gz")
    check(tmp / "wat", want, "WAT")
    wat_profile(tmp, out.getvalue(), want)


def wat_profile(tmp, data, want):
    """`--profile wat` over a folder as Common Crawl has it: the crawl of the path, three extras, no other files; columns by other names."""
    folder = tmp / "CC-MAIN-2024-10" / "segments" / "1" / "wat"
    folder.mkdir(parents=True)
    (folder / "CC-MAIN-20240220211055-00000.warc.wat.gz").write_bytes(data)
    (folder / "CC-MAIN-20240220211055-00000.warc.gz").write_bytes(made(3, compressed=True))
    said = dxtest.domaindex("ingest", "--detect", folder / "CC-MAIN-20240220211055-00000.warc.wat.gz").stdout.decode()
    dxtest.check("  profile    wat" in said, f"--detect of a WAT: {said}")
    dxtest.domaindex("ingest", "--root", tmp / "wat-profile", "--profile", "wat", "--max-rejects", "0", tmp / "CC-MAIN-2024-10")
    by_name = [(url, time, mime, status, digest) for url, time, status, mime, digest, *_ in want]
    dxtest.equal(by_text(lake.stored(tmp / "wat-profile", "CC-MAIN-2024-10")), by_text(by_name), "the profile of WAT")
    more = ("Container.Filename", 'Envelope."WARC-Header-Metadata"."WARC-Payload-Digest"', "http.Content-Type")
    dxtest.domaindex("ingest", "--root", tmp / "wat-paths", "--dataset", "d", *(w for name in more for w in ("--extra-column", name)), folder / "CC-MAIN-20240220211055-00000.warc.wat.gz")
    by_path = [(url, time, "a.warc.gz", f"sha1:{digest}", "text/html; x") for url, time, _, _, digest, *_ in want]
    dxtest.equal(by_text(lake.stored(tmp / "wat-paths", "d")), by_text(by_path), "columns of a WAT by their paths")


def real(tmp):
    for path in (SAMPLES / "whirlwind.warc", SAMPLES / "whirlwind.warc.gz"):
        if not path.exists():
            print("SKIPPED in part: no WARC samples in DX_SHARED_DATA")
            return
        ingest(tmp / path.name, path)
        check(tmp / path.name, rows_of(path.read_bytes()), path.name)


def same_bytes(sound, hurt):
    try:
        return bz2.decompress(hurt) == bz2.decompress(sound)
    except (OSError, ValueError, EOFError):
        return False


def damaged(tmp):
    def run(name, data, want, rejects):
        (tmp / "bad").write_bytes(data)
        said = ingest(tmp / f"bad-{name}", tmp / "bad", "--max-rejects", "100%", "--rejects", tmp / "rejects.tsv")
        dxtest.equal({r[0] for r in lake.stored(tmp / f"bad-{name}", "d")}, {r[0] for r in want}, f"{name}: sound records")
        count = int(said.split("  rejected")[1].split()[0].replace(",", ""))
        dxtest.equal(count, rejects, f"{name}: rejects")
        if rejects:
            dxtest.check("record at offset " in (tmp / "rejects.tsv").read_text(), f"{name}: offset and reason")

    for kind in ("gz", "zst", "bz2"):
        plain = made(PAGES, size=2000)
        if kind == "gz":
            data = bytearray(made(PAGES, compressed=True, size=2000))
            places = records(data)
        else:
            data = b""
            places = []
            for b, e, capture, row in records(plain):
                frame = bz2.compress(plain[b:e]) if kind == "bz2" else zstandard.ZstdCompressor(write_checksum=True).compress(plain[b:e])
                places.append((len(data), len(data) + len(frame), capture, row))
                data += frame
            data = bytearray(data)
        first_begin, first_end, _, first = places[0]    # what it is is found in the second one
        # A damaged block of bzip2 yields bytes in another order before its checksum tells.
        ats = (first_begin + 20, (first_begin + first_end) // 2, first_end - 3)
        for at in ats if dxtest.WHOLE else ats[{"gz": 0, "zst": 1, "bz2": 2}[kind]:][:1]:
            first_hurt = bytearray(data)
            first_hurt[at] ^= 0xff
            run(f"{kind}-first-{at}", bytes(first_hurt), [row for _, _, capture, row in places if capture and row != first], 1)
        for begin, end, _, _ in places[:5]:
            first_hurt[(begin + end) // 2] ^= 0x55
        run(f"{kind}-first-five", bytes(first_hurt), [row for _, _, capture, row in places[5:] if capture], 5)
        hurt = set(range(7, len(places), 13))
        for n in hurt:
            begin, end, _, _ = places[n]
            sound, flips = bytes(data[begin:end]), 1 + n % 3
            while flips > 0 or (kind == "bz2" and same_bytes(sound, bytes(data[begin:end]))):     # some bits of bzip2 say nothing
                data[rng.randrange(begin + 20, end)] ^= 1 << rng.randrange(8)     # behind the member's head, so that it is a member still
                flips -= 1
        want = [row for n, (_, _, capture, row) in enumerate(places) if capture and n not in hurt]
        run(f"{kind}-flips", bytes(data), want, len(hurt))
        last = places[-1]
        run(f"{kind}-cut", bytes(data[: last[1] - 5]), [r for r in want if r != last[3]], len(hurt) + 1)
        begin = places[22][1]
        run(f"{kind}-junk", bytes(data[:begin]) + b"junk between members" + bytes(data[begin:]), want, len(hurt) + 1)
        begin, end, _, row = places[30]
        run(f"{kind}-hole", bytes(data[: begin + 10]) + bytes(data[end - 3:]), [r for r in want if r != row], len(hurt) + (30 not in hurt))
    data = made(100, size=300)
    places = records(data)
    begin, end, _, row = places[31]
    others = [r for _, _, capture, r in places if capture and r != row]
    head = data[begin:end].split(b"\r\n\r\n")[0]
    run("plain-dropped", data[: begin + len(head) + 10] + data[begin + len(head) + 50:], others, 1)
    run("plain-added", data[: begin + len(head) + 10] + b"more" + data[begin + len(head) + 10:], others, 1)
    run("plain-length", data[:begin] + data[begin:].replace(b"Content-Length: ", b"Content-Length: 9", 1), others, 1)
    run("plain-no-length", data[:begin] + data[begin:].replace(b"Content-Length: ", b"Content-Size: ", 1), others, 1)
    run("plain-version", data[:begin] + b"XARC" + data[begin + 4:], others, 1)
    run("plain-cut", data[: end - 30], [r for b, _, capture, r in places if capture and b < begin], 1)
    run("plain-huge", data[:begin] + data[begin:].replace(b"Content-Length: ", b"Content-Length: 99999999999", 1), others, 1)
    (tmp / "bad").write_bytes(bytes(bytearray(gzip.compress(data))[:-2000]))
    said = ingest(tmp / "bad-whole", tmp / "bad", "--max-rejects", "100%", expect=1)
    dxtest.check("inside a gzip member; fetch it again" in said, f"one stream of many records that is cut: {said}")


def beyond(tmp):
    """Lengths that lead beyond records: those behind are found again, or the file is refused; they are not missing without a word."""
    def hurt(data, numbers):
        for begin, end, _, _ in reversed([places[n] for n in numbers]):
            data = data[:begin] + data[begin:end].replace(b"Content-Length: ", b"Content-Length: 9999999", 1) + data[end:]
        return data

    data = made(1000, size=30_000) if dxtest.WHOLE else made(400, size=75_000)
    places = records(data)
    bad = [n for n in range(30, len(places), 300) if places[n][2]]
    bad += [n + 1 for n in range(35, 1000, 300) if places[n + 1][2]]
    dxtest.check(len(bad) > 2 and len(data) > 25 << 20, f"{len(bad)} records of {len(data)} bytes: more than may be gone back over")
    want = {row[0] for n, (_, _, capture, row) in enumerate(places) if capture and n not in bad}
    (tmp / "plain.warc").write_bytes(hurt(data, sorted(bad)))
    ingest(tmp / "beyond", tmp / "plain.warc")
    dxtest.equal({r[0] for r in lake.stored(tmp / "beyond", "d")}, want, "plain: all that are sound")
    said = ingest(tmp / "none", "-", input=(tmp / "plain.warc").read_bytes(), expect=1)
    dxtest.check("others cannot be found: give it as a file" in said, f"a pipe: {said}")
    (tmp / "one.warc.gz").write_bytes(gzip.compress(hurt(data, bad[:1]), 0))
    said = ingest(tmp / "none", tmp / "one.warc.gz", expect=1)
    dxtest.check("others cannot be found: unpack it" in said, f"one gzip stream: {said}")
    half = places[len(places) // 2][0]
    packer = zlib.compressobj(1, wbits=31)
    two = packer.compress(data[:half // 2]) + packer.flush(zlib.Z_FULL_FLUSH)
    two += b"\7" + packer.compress(data[half // 2:half]) + packer.flush()     # of no kind of block: damage that cannot be taken for contents
    (tmp / "two.warc.gz").write_bytes(two + gzip.compress(data[half:], 1))
    said = ingest(tmp / "none", tmp / "two.warc.gz", expect=1)
    dxtest.check("damaged at offset" in said, f"two gzip members with many records each: {said}")
    dxtest.check(not (tmp / "none" / "urls").exists(), "what is refused leaves no row")
    packed = made(20 if dxtest.WHOLE else 12, compressed=True, size=400_000)     # a member for each: nothing of it is lost but that record
    behind = records(packed)
    begin, end, _, row = next(p for p in behind if p[2] and p[1] - p[0] > 100_000)
    one = gzip.compress(gzip.decompress(packed[begin:end]).replace(b"Content-Length: ", b"Content-Length: 9", 1), 1)
    (tmp / "each.warc.gz").write_bytes(packed[:begin] + one + packed[end:])
    ingest(tmp / "each", tmp / "each.warc.gz")
    dxtest.equal({r[0] for r in lake.stored(tmp / "each", "d")}, {r[0] for _, _, capture, r in behind if capture and r != row}, "a member for each record")


class Faulty(http.server.BaseHTTPRequestHandler):
    """Gives the ranges that are asked for up to FAULTY_FROM; those behind are said to be of other bytes."""
    data = b""
    FAULTY_FROM = 17 << 20     # behind what is read at once

    def do_GET(self):
        span = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        first, last = (int(n) for n in span.groups()) if span else (0, len(self.data) - 1)
        part = self.data[first:last + 1]
        self.send_response(206 if span else 200)
        self.send_header("ETag", '"one"')
        self.send_header("Content-Length", str(len(part)))
        if span:
            shift = int(first >= self.FAULTY_FROM)
            self.send_header("Content-Range", f"bytes {first + shift}-{last + shift}/{len(self.data)}")
        self.end_headers()
        try:
            self.wfile.write(part)
        except OSError:
            self.close_connection = True

    def log_message(self, *_):
        pass


def unread(tmp):
    """A store that fails to give bytes of a file is a failed read, not damage of the file: nothing is stored. Ingest read such a file from its beginning without end."""
    Faulty.data = made(60, size=400_000)
    dxtest.check(len(Faulty.data) > Faulty.FAULTY_FROM + 1000, "large enough")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Faulty)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/a.warc"
    said = ingest(tmp / "unread", address, expect=1)
    dxtest.check(not (tmp / "unread" / "urls").exists(), f"half of an object is stored: {said}")
    Faulty.FAULTY_FROM = 1 << 60
    ingest(tmp / "unread", address)
    check(tmp / "unread", rows_of(Faulty.data), "the object, once it is given")
    server.shutdown()


def large(tmp):
    """Contents are passed over: 200 MB of them (100 in the gate) take no memory."""
    size = 200 if dxtest.WHOLE else 100
    head = (f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Date: {date(1)}\r\nWARC-Target-URI: <http://big.com/>\r\nContent-Type: application/http; "
            f"msgtype=response\r\nContent-Length: {size}000000\r\n\r\n").encode()
    (tmp / "big.warc.gz").write_bytes(gzip_repeated.member(head, bytes(1_000_000), size, b"\r\n\r\n"))
    said = ingest(tmp / "big", tmp / "big.warc.gz", "--memory", "64M")
    dxtest.equal([r[0] for r in lake.stored(tmp / "big", "d")], ["http://big.com/"], "a large content")
    peak = float(said.split("peak memory")[1].split()[0])     # that of this script too, which is not large
    dxtest.check("MiB" in said.split("peak memory")[1] and (peak < (250 if dxtest.WHOLE else 100) or dxtest.SANITIZED), f"memory: {peak} MiB")


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        containers(tmp)
        wat(tmp)
        real(tmp)
        damaged(tmp)
        beyond(tmp)
        unread(tmp)
        large(tmp)
    dxtest.finish()


if __name__ == "__main__":
    main()
