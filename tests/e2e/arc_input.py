#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: peers
"""ARC as input of ingest, against warcio, which reads such files as WARC.

Rows are those of warcio's reader: URL, time, status, MIME type, offset and length of the record; plain, with a gzip member a record,
as one gzip stream, from a file and a pipe; of version 2, which warcio does not read, against what was written. Damaged records are
counted, and all sound ones are stored. Real files: $DX_ARC_SAMPLES, a folder. $DX_PEERS_PYTHON names the python that has warcio. Exit 77:
skipped.
"""
import collections
import gzip
import io
import os
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dxtest  # noqa: E402
import gzip_repeated  # noqa: E402
import no_pandas  # noqa: E402, F401

try:
    import lake
    from warcio.archiveiterator import ArchiveIterator
except ImportError as missing:
    print(f"SKIPPED: {missing} in {sys.executable}; set DX_PEERS_PYTHON")
    sys.exit(77)

EXTRAS = ("status", "mime", "digest", "type", "offset", "length")
FIELDS = {1: b"1 1 InternetArchive\nURL IP-address Archive-date Content-type Archive-length\n",
          2: b"2 0 Alexa Internet\nURL IP-address Archive-date Content-type Result-code Checksum Location Offset Filename Archive-length\n"}
SPACED = tuple(f"?q={i}" for i in range(4, 1000, 9))
rng = random.Random(19)


def iso(i):
    return f"2004-01-{i % 28 + 1:02}T{i % 24:02}:30:{i % 60:02}Z"


def digits(i):
    return "".join(c for c in iso(i) if c.isdigit())


def pages(count, size=400):
    """(url, MIME type of the line, status, MIME type of the capture, content) of each record."""
    for i in range(count):
        body = rng.randbytes(size // 2 + i % 7).hex().replace("a", "\n").encode()
        url = f"http://www.arc{i}.com/a b?q={i}" if i % 6 == 1 else f"http://www.arc{i}.com/p?q={i}"
        reply = f"HTTP/1.{i % 2} {200 + i % 5} OK\r\nServer: x\r\nContent-Type: text/html; charset={i}\r\n\r\n".encode()
        yield url, "text/html; charset=x y" if url.endswith(SPACED) else "text/html", str(200 + i % 5), "text/html", reply + body
        if i % 10 == 3:
            yield f"ftp://www.arc{i}.com/f", "image/png", None, "image/png", body
        if i % 10 == 7:
            yield f"dns:www.arc{i}.com", "text/dns", None, None, b"20040101000000\n1.2.3.4\n"


def made(count, version=1, compressed=False, size=400):
    """(the bytes, [(begin, end, row, or None if it is not a capture)]) as crawlers wrote them: filedesc, then the records."""
    out, found = b"", []

    def put(url, mime, code, content, row):
        nonlocal out
        i = len(found)
        more = f" {code or '-'} c{i} - {len(out)} a.arc" if version == 2 else ""
        record = f"{url} 1.2.3.{i % 256} {digits(i)} {mime}{more} {len(content)}\n".encode() + content + b"\n"
        data = gzip.compress(record, 6) if compressed else record
        size = len(data) - (0 if compressed else 1)
        found.append((len(out), len(out) + len(data), row and (url.replace(" ", "%20"), iso(i), *row, f"c{i}" if version == 2 else None, "response", str(len(out)), str(size))))
        out += data

    put("filedesc://a.arc", "text/plain", "200", FIELDS[version], None)
    for url, mime, code, kind, content in pages(count, size):
        put(url, mime, code, content, (code, kind) if kind else None)
    return out, found


def peer(data):
    """The captures as warcio reads them."""
    found = []
    it = ArchiveIterator(io.BytesIO(data), arc2warc=True)
    for r in it:
        r.content_stream().read()
        url = r.rec_headers.get_header("WARC-Target-URI")
        begin, size = it.get_record_offset(), it.get_record_length()
        mime = r.http_headers.get_header("Content-Type") if r.http_headers else r.rec_headers.get_header("Content-Type")
        if url and url.startswith(("http", "ftp")):
            found.append((url.replace(" ", "%20"), r.rec_headers.get_header("WARC-Date"), r.http_headers.get_statuscode() if r.http_headers else None,
                          mime and mime.split(";")[0], None, r.rec_type, str(begin), str(size)))
    return found


def alike(rows):
    """Without type and the MIME type of ftp, which warcio makes up, and without the rows whose MIME type has spaces, of which it takes a part for the URL."""
    return [(*r[:3], None if r[0].startswith("ftp") else r[3], r[4], *r[6:]) for r in rows if "%201.2.3." not in r[0] and not r[0].endswith(SPACED)]


def rows_of(found):
    return [row for _, _, row in found if row]


def by_text(rows):
    return sorted(rows, key=lambda r: tuple("" if v is None else v for v in r))


def ingest(root, source, *options, expect=0, **more):
    extras = [word for name in EXTRAS for word in ("--extra-column", name)]
    return dxtest.domaindex("ingest", "--root", root, "--dataset", "d", *extras, *options, source, expect=expect, **more).stderr.decode()


def check(root, want, what):
    dxtest.equal(by_text(lake.stored(root, "d")), by_text(want), what)


def containers(tmp):
    for version in (1, 2):
        for name, compressed in (("a.arc", False), ("a.arc.gz", True)):
            data, found = made(60, version, compressed)
            want = rows_of(found)
            if version == 1:
                dxtest.equal(alike(peer(data)), alike(want), f"{name}: what warcio reads is what was written")
            (tmp / name).write_bytes(data)
            said = ingest(tmp / f"{version}-{name}", tmp / name)
            dxtest.check("arc; url column: WARC-Target-URI; time column: WARC-Date" in said, f"what was recognised: {said}")
            check(tmp / f"{version}-{name}", want, f"version {version}, {name}")
            ingest(tmp / f"{version}-pipe-{name}", "-", input=data)
            check(tmp / f"{version}-pipe-{name}", want, f"version {version}, {name} from a pipe")
            (tmp / "part").write_bytes(data[found[3][0]:])     # a file without its first records is one if the option says so
            ingest(tmp / f"{version}-part-{name}", tmp / "part", "--format", "arc")
            check(tmp / f"{version}-part-{name}", [(*r[:-2], str(int(r[-2]) - found[3][0]), r[-1]) for r in rows_of(found[3:])], f"version {version}, {name}, --format arc")
        whole = gzip.compress(made(60, version)[0])
        (tmp / "whole.gz").write_bytes(whole)
        ingest(tmp / f"{version}-whole", tmp / "whole.gz")
        dxtest.equal({r[-2:] for r in lake.stored(tmp / f"{version}-whole", "d")}, {(None, None)}, "one gzip stream: no places")
        dxtest.equal(len(lake.stored(tmp / f"{version}-whole", "d")), len(want), "one gzip stream: rows")
    said = ingest(tmp / "none", "-", "--format", "arc", input=b"http://a.com/\n", expect=1)
    dxtest.check("no ARC record begins there" in said, f"a list as an ARC: {said}")


def located(tmp):
    """From a URL to its record, with one range; what is recognised; the profile over a folder."""
    folder = tmp / "IA-2004" / "arcs"
    folder.mkdir(parents=True)
    for name, compressed in (("a.arc", False), ("b.arc.gz", True)):
        data, found = made(20, compressed=compressed)
        (folder / name).write_bytes(data)
        dxtest.domaindex("ingest", "--root", tmp / f"at-{name}", "--dataset", "d", "--locators", folder / name)
        want = [(row[0], row[1], f"{folder / name}#warc={row[-2]}+{row[-1]}") for row in rows_of(found)]
        check(tmp / f"at-{name}", want, f"{name}: locators")
        dxtest.domaindex("publish", "--quiet", "--root", tmp / f"at-{name}")
        for url, _, locator in want[::5]:
            record = dxtest.domaindex("fetch-record", "--root", tmp / f"at-{name}", "--base", "/", url).stdout
            at, size = map(int, locator.split("=")[-1].split("+"))
            dxtest.equal(record, data[at:at + size], f"{name}: the record of {url}")
            line = dxtest.domaindex("fetch-record", "--base", "/", "--url", url, "--decompress", locator).stdout.split(b"\n")[0].decode()
            dxtest.check(line.replace(" ", "%20").startswith(url + "%201.2.3."), f"{name}: {url}: {line}")
        open_end = dxtest.domaindex("fetch-record", "--base", "/", "--url", want[3][0], want[3][2].split("+")[0]).stdout
        dxtest.check(open_end[:200] == data[int(want[3][2].split("=")[-1].split("+")[0]):][:200], f"{name}: a locator without a length")
        said = dxtest.domaindex("fetch-record", "--base", "/", "--url", want[3][0], want[4][2], expect=1).stderr.decode()
        dxtest.check("not of" in said, f"{name}: another record: {said}")
        said = dxtest.domaindex("ingest", "--detect", folder / name).stdout.decode()
        dxtest.check("  profile    arc" in said and want[0][0] in said, f"--detect: {said}")
    (folder / "c.txt").write_text("not an ARC\n")
    dxtest.domaindex("ingest", "--root", tmp / "profile", "--profile", "arc", "--max-rejects", "0", tmp / "IA-2004")
    dxtest.equal(len(lake.stored(tmp / "profile", "arcs")), len(want), "the profile: the folder is the dataset, and both files have the same rows")


def damaged(tmp):
    def run(name, data, want, rejects, file="bad.arc.gz"):
        (tmp / file).write_bytes(data)
        said = ingest(tmp / f"bad-{name}", tmp / file, "--max-rejects", "100%", "--rejects", tmp / "rejects.tsv")
        dxtest.equal({r[0] for r in lake.stored(tmp / f"bad-{name}", "d")}, {r[0] for r in want if r}, f"{name}: sound records")
        count = int(said.split("  rejected")[1].split()[0].replace(",", ""))
        dxtest.equal(count, rejects, f"{name}: rejects")
        dxtest.check("record at offset " in (tmp / "rejects.tsv").read_text(), f"{name}: offset and reason")

    sound, found = made(100, compressed=True, size=2000)
    data = bytearray(sound)
    rows = [row for _, _, row in found]
    for at in (20, found[0][1] // 2, found[0][1] - 3):
        first_hurt = bytearray(data)
        first_hurt[at] ^= 0xff
        run(f"first-{at}", bytes(first_hurt), rows[1:], 1)
    hurt = set(range(7, len(found), 13))
    for n in hurt:
        begin, end, _ = found[n]
        for _ in range(1 + n % 3):
            data[rng.randrange(begin + 20, end)] ^= 1 << rng.randrange(8)
    want = [row for n, row in enumerate(rows) if n not in hurt]
    run("flips", bytes(data), want, len(hurt))
    run("cut", bytes(data[: found[-1][1] - 5]), [r for r in want if r != rows[-1]], len(hurt) + 1)
    run("junk", bytes(data[: found[22][1]]) + b"junk between members" + bytes(data[found[22][1]:]), want, len(hurt) + 1)

    data, found = made(100, size=300)
    n = 31
    begin, end, row = found[n]
    others = [r for i, (_, _, r) in enumerate(found) if i != n]
    line = data[begin:end].split(b"\n")[0]
    run("plain-dropped", data[: begin + len(line) + 10] + data[begin + len(line) + 50:], others, 1, "bad.arc")
    run("plain-added", data[: begin + len(line) + 10] + b"more" + data[begin + len(line) + 10:], others, 1, "bad.arc")
    run("plain-no-length", data[:begin] + line.rsplit(b" ", 1)[0] + b" -1" + data[begin + len(line):], others, 1, "bad.arc")
    run("plain-line", data[:begin] + b"x" + data[begin + 12:], others, 1, "bad.arc")
    run("plain-huge", data[:begin] + line + b"9999999" + data[begin + len(line):], others, 1, "bad.arc")
    run("plain-cut", data[: end - 30], [r for _, _, r in found[:n]], 1, "bad.arc")
    run("plain-long-line", data[:begin] + b"http://long.com/" + b"x" * 200000 + data[begin:], [r for _, _, r in found], 1, "bad.arc")     # found at its end


def large(tmp):
    """Contents and lines without an end are passed over: hundreds of MB of them (100 each in the gate) take no memory."""
    size = 200 if dxtest.WHOLE else 100
    head = b"filedesc://big.arc 0 20040101000000 text/plain 0\n\nhttp://big.com/ 1.2.3.4 20040101000000 text/html " + b"%d000000\n" % size
    (tmp / "big.arc.gz").write_bytes(gzip_repeated.member(head, bytes(1_000_000), size, b"\n") + gzip_repeated.member(b"", b"http:" + b"x" * 1_000_000, size))
    said = ingest(tmp / "big", tmp / "big.arc.gz", "--memory", "64M", "--max-rejects", "100%")
    dxtest.equal([r[0] for r in lake.stored(tmp / "big", "d")], ["http://big.com/"], "a large content")
    peak = float(said.split("peak memory")[1].split()[0])
    dxtest.check("MiB" in said.split("peak memory")[1] and (peak < (250 if dxtest.WHOLE else 100) or dxtest.SANITIZED), f"memory: {peak} MiB")


def real(tmp):
    """All of a row but the URL, which is canonical here; what is missing is rejected."""
    folder = os.environ.get("DX_ARC_SAMPLES")
    for number, path in enumerate(sorted(pathlib.Path(folder).rglob("*.arc*")) if folder else []):
        try:
            want = collections.Counter((row[1], row[2], row[-2], row[-1]) for row in peer(path.read_bytes()))
        except Exception as failure:  # noqa: BLE001: warcio ends at damage
            print(f"{path}: {failure!r}")
            continue
        root = tmp / f"real{number}"
        said = ingest(root, path, "--max-rejects", "100%", expect=None)
        got = collections.Counter((row[1], row[2], row[-2], row[-1]) for row in (lake.stored(root, "d") if (root / "urls").exists() else []))
        rejected = int(said.split("  rejected")[1].split()[0])
        print(f"{path}: {want.total()} rows, {rejected} rejected")
        dxtest.equal(got - want, collections.Counter(), f"{path}: rows that warcio does not have")
        dxtest.check((want - got).total() <= rejected, f"{path}: rows of warcio that are missing: {want - got}")


def main():
    dxtest.need_programs()
    with dxtest.tempdir() as tmp:
        containers(tmp)
        located(tmp)
        damaged(tmp)
        large(tmp)
        real(tmp)
    dxtest.finish()


if __name__ == "__main__":
    main()
