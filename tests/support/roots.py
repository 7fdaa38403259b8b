# SPDX-License-Identifier: Apache-2.0
"""Roots of made-up records, for tests that need answers and not their truth.

    root = roots.make(tmp, seed=3, count=20_000)      tmp/root, ingested and published
    names = roots.domains(root)                       of its newest version, in order
    roots.dataset_of(path)                            dataset_id of a lake file
    tokens = roots.principals(root, {"auditor": None, "one": ["b"]})     headers of each; None: sees all datasets
"""
import json
import struct
import subprocess

import corpus
import dxtest


def make(tmp, seed, count):
    root = tmp / "root"
    with open(tmp / "rows.tsv", "w", encoding="utf-8") as out:
        for raw, _ in corpus.rows(seed=seed, count=count):
            print(*raw, sep="\t", file=out)
    dxtest.domaindex("ingest", "--root", root, "--format", "tsv", "--dataset-column", 1,
                     "--ts-column", 2, "--url-column", 3, "--extra-column", 4, "--no-header",
                     tmp / "rows.tsv")
    dxtest.domaindex("publish", "--root", root)
    return root


def principals(root, sees):
    """A new access table with these principals, and the headers that each asks with."""
    def access(*words):
        return dxtest.domaindex("access", *words, "--root", root).stdout.decode().strip()
    access("init")
    for who, names in sees.items():
        access("principal", "add", who, *(["--all"] if names is None else []))
        if names:
            access("grant", *names, "--to", who)
    return {who: {"Authorization": f"Bearer {access('token', 'new', who)}"} for who in sees}


def dataset_of(path):
    return int(str(path).split("dataset_id=")[1].split("/")[0])


def lake_lines(root, version):
    """Fields of files.tsv of all parts of a version, without the holes."""
    manifest = json.loads((root / "index" / "manifest.json").read_text(encoding="utf-8"))
    entry = next(v for v in manifest["versions"] if v["version"] == version)
    lines = []
    for part in (*entry.get("parts", ()), version):
        text = subprocess.run(["zstd", "-dc", str(root / "index" / part / "files.tsv.zst")], stdout=subprocess.PIPE, check=True).stdout
        lines += [line.split("\t") for line in text.decode().splitlines()]
    if "gone_files" in entry:  # of older parts, whose lists have them
        files = dxtest.domaindex("files", "--root", root, "--version", version, "--json").stdout
        there = {file["path"].split("/urls/", 1)[1] for file in json.loads(files)["files"]}
        lines = [fields for fields in lines if fields[3] in there]
    return [fields for fields in lines if fields[3] != "-"]


def key(domain):
    """By which domains are ordered: labels reversed; an address is its own."""
    labels = domain.split(".")
    return domain if domain.startswith("[") or labels[-1].isdigit() else " ".join(reversed(labels))


def names_of(folder):
    """Domains of a part by their ordinals, out of its dictionary (docs/FORMAT.md, section 4)."""
    data = (folder / "domains.dict").read_bytes()
    names, at, text = [], 64, b""
    for i in range(struct.unpack_from("<Q", data, 8)[0]):
        shared, own = data[at] >> 4, data[at] & 15
        at += 1
        if shared == 15:
            shared, at = shared + data[at], at + 1
        if own == 15:
            own, at = own + data[at], at + 1
        text = (text[:shared] if i % 16 else b"") + data[at:at + own]
        at += own
        names.append(".".join(reversed(text.decode().split(" "))))
    return names


def domains(root):
    """Of all parts of the current version."""
    manifest = json.loads((root / "index" / "manifest.json").read_text(encoding="utf-8"))
    current = next(v for v in manifest["versions"] if v["version"] == manifest["current_version"])
    names = set()
    for part in (*current.get("parts", ()), current["version"]):
        names |= set(names_of(root / "index" / part))
    return sorted(names, key=key)
