#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: peers
"""A WARC or ARC record that was cut at any of its bytes, with the next record behind it: a crawler died, and began again in the same file.

Each byte of head, content and closing line ends; WARC 1.0 and 1.1, WAT, WET, ARC 1 and 2; plain, a gzip member or zstd frame a record, one
gzip stream. In the gate every fifth byte, and each one near the ends of head, content and record. Wanted: a record whose content is not
whole is counted once, and every other one is stored at its own offset. Which records the uncut file has, warcio says. $DX_PEERS_PYTHON names the python that has warcio. Exit 77: skipped.
"""
import collections
import gzip
import io
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dxtest  # noqa: E402

try:
    import lake
    import zstandard
    from warcio.archiveiterator import ArchiveIterator
except ImportError as missing:
    print(f"SKIPPED: {missing} in {sys.executable}; set DX_PEERS_PYTHON")
    sys.exit(77)

CUT = 3     # the record that is cut


def url(i):
    return f"http://www.cut.com/00000/{i}"


def of_file(data, cut):
    """Each file has URLs of its own: rows that are equal are stored once."""
    return data.replace(b"cut.com/00000/", b"cut.com/%05d/" % cut)


def warc(i, kind, content, version="1.0", order="type first", content_type="application/http; msgtype=response", target=None):
    fields = [("WARC-Type", kind), ("WARC-Record-ID", f"<urn:uuid:00000000-0000-0000-0000-{i:012}>"), ("WARC-Date", f"2024-01-0{i + 1}T00:00:00Z")]
    if kind != "warcinfo":
        fields += [("WARC-Target-URI", target or url(i)), ("WARC-IP-Address", f"1.2.3.{i}"), ("WARC-Payload-Digest", f"sha1:D{i}")]
    fields += [("Content-Type", content_type), ("Content-Length", str(len(content)))]
    if order == "URL first":
        fields.sort(key=lambda f: (f[0] != "WARC-Target-URI", f[0] != "WARC-IP-Address"))
    return f"WARC/{version}\r\n".encode() + b"".join(f"{n}: {v}\r\n".encode() for n, v in fields) + b"\r\n", content, b"\r\n\r\n"


def page(i, size):
    return b"HTTP/1.1 200 OK\r\nServer: x\r\nContent-Type: text/html\r\n\r\n<p>\n\n" + f"{i} ".encode() * size + b"\n"


def described(i, size):
    return (f'{{"Envelope": {{"WARC-Header-Metadata": {{"WARC-Type": "response", "WARC-Target-URI": "{url(i)}", "WARC-Date": "2024-01-0{i + 1}T00:00:00Z"}}, '
            f'"Padding": "{"x" * size}"}}}}').encode()


def arc(i, content, version, target=None):
    more = f" 200 c{i} - 0 a.arc" if version == 2 else ""
    return f"{target or url(i)} 1.2.3.{i} 2024010{i + 1}000000 text/html{more} {len(content)}\n".encode(), content, b"\n"


def files():
    """Name and records (head, content, line ends) of each kind of file; the one behind the cut one is longer than that."""
    for version in ("1.0", "1.1"):
        for order in ("type first", "URL first"):
            for behind in ("response", "warcinfo", "request", "metadata"):
                if behind != "response" and version == "1.1":
                    continue
                yield f"{version}, {order}, {behind} behind", "warc", [
                    warc(0, "warcinfo", b"software: x\r\n", version, order, "application/warc-fields"),
                    *(warc(i, "response", page(i, 20), version, order) for i in (1, 2, CUT)),
                    warc(4, behind, page(4, 400), version, order),
                    *(warc(i, "response", page(i, 20), version, order) for i in (5, 6))]
    yield "a URL that ends so", "warc", [warc(i, "response", page(i, 400 if i == 4 else 20), "1.0", "type first", target=f"{url(i)}/WARC/1.0") for i in range(6)]
    yield "WAT", "warc.wat", [warc(i, "metadata", described(i, 900 if i == 4 else 20), content_type="application/json") for i in range(6)]
    yield "WET", "warc.wet", [warc(i, "conversion", b"text\n\n" * (300 if i == 4 else 5), content_type="text/plain") for i in range(6)]
    for version in (1, 2):
        header = b"1 1 InternetArchive\nURL IP-address Archive-date Content-type Archive-length\n"
        yield f"ARC {version}", "arc", [arc(0, header, version, "filedesc://a.arc"), *(arc(i, page(i, 400 if i == 4 else 20), version) for i in range(1, 7))]


def captures(name, records):
    """[(offset, URL)] as warcio reads the uncut file; as it was written of ARC 2, which warcio does not read."""
    data = b"".join(b"".join(r) for r in records)
    if name == "ARC 2":
        return [(len(b"".join(b"".join(r) for r in records[:n])), url(n)) for n in range(1, len(records))]
    found = []
    it = ArchiveIterator(io.BytesIO(data), arc2warc=True)
    for r in it:
        r.content_stream().read()
        target = r.rec_headers.get_header("WARC-Target-URI")
        if r.rec_type in ("response", "conversion") or name == "WAT":
            found.append((it.get_record_offset(), target))
    return found




def is_undecided(name, record, cut):
    """ARC: a URL may have another one inside, so that a record cut inside its own, or at the blank behind it, is none to any reader."""
    return name.startswith("ARC") and 0 < cut <= record[0].index(b" ") + 1


def sweep(tmp, name, ending, records, container):
    pack = {"": lambda b: b, ".gz": lambda b: gzip.compress(b, mtime=0), ".zst": zstandard.ZstdCompressor(write_checksum=True).compress}[container]
    taken = {target: offset for offset, target in captures(name, records)}
    urls = []     # of each record, None if it is no capture
    at = 0
    for r in records:
        urls.append(next((u for u, offset in taken.items() if offset == at), None))
        at += len(b"".join(r))
    dxtest.equal(len([u for u in urls if u]), len(taken), f"{name}: what warcio reads")
    folder = tmp / "files"
    folder.mkdir()
    ends = [0, len(records[CUT][0]), len(records[CUT][0] + records[CUT][1]), len(pack(of_file(b"".join(records[CUT]), 0)))]
    first = len(name + container) % 5
    cuts, wanted = -1, {}
    while True:
        cuts += 1
        if not (dxtest.WHOLE or cuts % 5 == first or any(abs(cuts - end) < 3 for end in ends)):
            continue
        packed = [pack(of_file(b"".join(r), cuts)) for r in records]
        if cuts > len(packed[CUT]):
            break
        whole_from = len(packed[CUT]) if container else len(records[CUT][0]) + len(records[CUT][1])
        parts = packed[:CUT] + [packed[CUT][:cuts]] + packed[CUT + 1:]
        (folder / f"{cuts:05}.{ending}{container}").write_bytes(b"".join(parts))
        at = [sum(len(p) for p in parts[:n]) for n in range(len(parts))]
        wanted[cuts] = (int(0 < cuts < whole_from), [(of_file(u.encode(), cuts).decode(), at[n]) for n, u in enumerate(urls) if u and (n != CUT or cuts >= whole_from)])
    root = tmp / "root"
    dxtest.domaindex("ingest", "--root", root, "--dataset", "d", "--locators", "--max-rejects", "100%", "--rejects", tmp / "rejects.tsv", folder, timeout=100)
    rows = collections.defaultdict(list)
    for target, _, locator in lake.stored(root, "d"):
        file, _, place = locator.rpartition("#")
        rows[int(pathlib.Path(file).name[:5])].append((target, int(place.split("=")[1].split("+")[0])))
    rejected = collections.Counter()
    last = None
    for line in (tmp / "rejects.tsv").read_text().splitlines():
        last = line.split("\t")[0] or last
        rejected[int(pathlib.Path(last).name[:5])] += 1
    wrong = [(cut, rejected[cut], sorted(set(want) ^ set(rows[cut]))) for cut, (flaws, want) in wanted.items()
             if not is_undecided(name, records[CUT], cut) and (sorted(rows[cut]) != sorted(want) or rejected[cut] != flaws)]
    dxtest.check(len(wanted) > ends[-1] // 5, f"{name}, {container or 'plain'}: {len(wanted)} cuts")
    dxtest.check(not wrong, f"{name}, {container or 'plain'}: {len(wrong)} of {len(wanted)} cuts: (cut, rejects, rows that differ) {wrong[:6]}")
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    (tmp / "rejects.tsv").unlink()


def main():
    dxtest.need_programs()
    for name, ending, records in files():
        for container in ("", ".gz", ".zst"):
            if container == "" or name in ("1.0, type first, response behind", "WAT", "ARC 1"):
                with dxtest.tempdir() as tmp:
                    sweep(tmp, name, ending, records, container)
    dxtest.finish()


if __name__ == "__main__":
    main()
