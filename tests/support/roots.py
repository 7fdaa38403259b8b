# SPDX-License-Identifier: Apache-2.0
"""Roots of made-up records, for tests that need answers and not their truth.

    root = roots.make(tmp, seed=3, count=20_000)      tmp/root, ingested and published
    names = roots.domains(root)                       of its newest version, in order
    roots.dataset_of(path)                            dataset_id of a lake file
"""
import json
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


def dataset_of(path):
    return int(str(path).split("dataset_id=")[1].split("/")[0])


def domains(root):
    manifest = json.loads((root / "index" / "manifest.json").read_text(encoding="utf-8"))
    name = manifest["current_version"]
    text = subprocess.run(["zstd", "-dc", str(root / "index" / name / "domains.txt.zst")],
                          stdout=subprocess.PIPE, check=True).stdout
    return text.decode().split()
