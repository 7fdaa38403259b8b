#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bytes.py - what an index costs, by file and section: a domain, a (domain, dataset) pair, a URL.

    bench/bytes.py [--write] [--json FILE]     the reddit corpus: ingest and publish below a minute
    bench/bytes.py --root ROOT                 the current version of a root that is there
    bench/bytes.py --root ROOT --tsv FILE      its content as text, for programs that hold the same

Line by line, by order of the index: domain, dataset_id, url_count, row_count, first and last time
in microseconds since 1970 (- where no row has one). bytes.dump and bytes.content give the same to a
script. Sizes do not depend on the machine, and no figure here is a time.
"""
import argparse
import datetime
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "support"))
sys.path.insert(0, str(HERE.parent / "tests" / "support"))
import dxtest  # noqa: E402
import machine  # noqa: E402
import roots  # noqa: E402
from result import Result  # noqa: E402

CORPUS = "lists/reddit-top-2.5-million/posts-A.tsv.zst"
TRAILER = 72
TIMES = "domain_counts.dxc times"
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
# What is asked, in bytes: files and sections, of what, at most.
ASKED = (("domain to ordinal, exact (dictionary, hash)", ("domains.dict", "domains.mphf"), "domain", 13),
         ("sets and counts", ("domain_to_datasets.roar", "domain_counts.dxc"), "pair", 4),
         ("postings", ("postings.idx.zst", "postings.dat.zst", "postings.dxp"), "pair", 12))


# ---------------------------------------------------------------- content

def micros(text):
    if text is None:
        return "-"
    return (datetime.datetime.fromisoformat(text.replace("Z", "+00:00")) - EPOCH) // datetime.timedelta(microseconds=1)


def content(root):
    """(domain, [(dataset_id, url_count, row_count, first_us, last_us), ...]) of each domain; "-": no time."""
    with tempfile.TemporaryFile() as names, tempfile.TemporaryFile() as answers:
        names.writelines(f"{name}\n".encode() for name in roots.domains(pathlib.Path(root)))
        names.seek(0)
        subprocess.run([machine.BIN / "domaindex", "lookup", "--root", root, "-"], stdin=names, stdout=answers,
                       stderr=subprocess.DEVNULL, check=True)
        answers.seek(0)
        for line in answers:
            answer = json.loads(line)
            yield answer["domain"], [(d["dataset_id"], d["url_count"], d["row_count"], micros(d["first_ts"]),
                                      micros(d["last_ts"])) for d in answer["datasets"]]


def dump(root, path):
    """The content as TSV, a line a pair; the number of lines."""
    lines = 0
    with open(path, "w", encoding="ascii") as out:
        for domain, datasets in content(root):
            for one in datasets:
                out.write("\t".join(map(str, (domain, *one))) + "\n")
                lines += 1
    return lines


# ---------------------------------------------------------------- sizes

def current(root):
    """The current version's entry in the manifest, and its folder."""
    manifest = json.loads((pathlib.Path(root) / "index/manifest.json").read_text(encoding="utf-8"))
    name = manifest["current_version"]
    return (next(v for v in manifest["versions"] if v["version"] == name),
            pathlib.Path(root) / "index" / name)


def sections(path):
    """(tag, bytes) of a file with an envelope (docs/FORMAT.md, section 2), or nothing."""
    data = path.read_bytes()
    if path.suffix == ".zst" or len(data) < TRAILER or data[-8:] != b"DXTAIL01":
        return []
    count = struct.unpack_from("<I", data, len(data) - TRAILER + 24)[0]
    table = len(data) - TRAILER - 24 * count
    return [(tag.decode(), size) for tag, _, _, size in
            (struct.unpack_from("<4sIQQ", data, table + 24 * i) for i in range(count))]


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return value, at


def time_bytes(path):
    """Bytes of the first and last times in domain_counts.dxc (docs/FORMAT.md, section 7)."""
    data, places = path.read_bytes(), {}
    table = len(data) - TRAILER - 24 * struct.unpack_from("<I", data, len(data) - TRAILER + 24)[0]
    while table < len(data) - TRAILER:
        tag, _, offset, size = struct.unpack_from("<4sIQQ", data, table)
        places[tag], table = (offset, size), table + 24
    kind, first_bits, last_bits = data[56:59]
    (begin, _), (anchors, size) = places[b"DATA"], places[b"ANCH"]
    total = 0
    for at in range(anchors, anchors + size - 5, 5):
        pairs, place = varint(data, begin + int.from_bytes(data[at:at + 5], "little"))
        lasts, place = varint(data, place)
        timed = pairs if kind == 1 else 0
        if kind == 2:
            place += -(-pairs // 8) + -(-pairs // 2)
            timed = int.from_bytes(data[place:place + -(-pairs // 8)], "little").bit_count()
        total += -(-(timed * first_bits + lasts * last_bits) // 8)
    return total


def sizes(root):
    """Bytes by file, and by section: "file TAG"."""
    entry, folder = current(root)
    files, parts = {}, {}
    for name, about in entry["files"].items():
        files[name] = about["size"]
        if (folder / name).is_file():
            parts.update({f"{name} {tag}": size for tag, size in sections(folder / name)})
    if (folder / "domain_counts.dxc").is_file():
        parts[TIMES] = time_bytes(folder / "domain_counts.dxc")
    return entry, files, parts


def table(entry, files, parts):
    domains, pairs, urls = entry["domains"], entry["pairs"], entry["urls"]

    def row(name, size):
        return f"| {name} | {size:,} | {size / domains:.2f} | {size / pairs:.2f} | {size / urls:.2f} |"
    yield "| | bytes | B/domain | B/pair | B/URL |"
    yield "| --- | --: | --: | --: | --: |"
    for name in files:
        yield row(name, files[name])
        for part in parts:
            if part.startswith(f"{name} "):
                yield row(f"&nbsp; {'of it ' if part == TIMES else ''}{part.split()[1]}", parts[part])
    yield row("**index**", sum(files.values()))


def measure(root, data):
    entry, files, parts = sizes(root)
    result = Result("bytes", f"{data}: {entry['domains']:,} domains, {entry['pairs']:,} pairs, {entry['urls']:,} URLs")
    times = parts.get(TIMES, 0)
    for name, size in (*files.items(), *parts.items()):
        for unit, count in (("domain", entry["domains"]), ("pair", entry["pairs"])):
            result.add("index", name, f"B/{unit}", [size / count], more=False)
    for what, names, unit, most in ASKED:
        size = sum(files[n] for n in names) - (times if what == "sets and counts" else 0)
        per = size / entry[f"{unit}s"]
        result.add("asked", what, f"B/{unit}", [per], more=False)
        result.expect(f"{what}, B/{unit}", f"<= {most}", f"{per:.2f}",
                      f"first and last times apart: {times / entry['pairs']:.2f} B/pair"
                      if what == "sets and counts" and times else "")
    if times:
        result.add("asked", "first and last times", "B/pair", [times / entry["pairs"]], more=False)
    return result, [*result.expectations(), "", *table(entry, files, parts)]


def build(folder):
    source = dxtest.shared_data(CORPUS)
    if not source:
        dxtest.skip(f"{CORPUS} is not here (DX_SHARED_DATA)")
    for words in (["ingest", "--format", "tsv", "--dataset-column", "1", "--ts-column", "2", "--url-column", "3",
                   "--extra-column", "4", source], ["publish"]):
        subprocess.run([machine.BIN / "domaindex", words[0], "--root", folder, "--memory", "1G", *words[1:]],
                       stdout=subprocess.DEVNULL, check=True)
    return pathlib.Path(source).name


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("--root", type=pathlib.Path, help="a root with a published version")
    parser.add_argument("--tsv", metavar="FILE", help="write the content of the root, measure nothing")
    parser.add_argument("--write", action="store_true", help="keep it in bench/RESULTS.md")
    parser.add_argument("--json", metavar="FILE", help="figures for a program")
    options = parser.parse_args()
    if not (machine.BIN / "domaindex").exists():
        sys.exit("bytes.py: build first: cmake --preset release && cmake --build --preset release")
    with tempfile.TemporaryDirectory() as folder:
        root, data = options.root or pathlib.Path(folder) / "root", str(options.root)
        if not options.root:
            data = build(root)
        if options.tsv:
            print(f"{dump(root, options.tsv):,} lines")
            return
        result, lines = measure(root, data)
        print("\n".join(lines))
        result.save(options.json)
        if options.write:
            result.keep("Bytes of an index", lines)


if __name__ == "__main__":
    main()
