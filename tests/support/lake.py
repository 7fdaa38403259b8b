# SPDX-License-Identifier: Apache-2.0
"""What a lake holds, as pyarrow reads it: for tests that know which rows should be there.

    lake.stored(root, "dataset")     [(url, time or None, extras…)], files in order of their names
    lake.iso(moment)                 "2024-01-02T03:04:05Z"
"""
import json

import pyarrow.parquet as pq

OURS = ("domain", "domain_id", "url_id", "scheme", "host", "path_query", "raw_url", "ts", "dataset_id", "domain_prefix")


def iso(moment):
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def stored(root, dataset):
    """What a lake has of a dataset, as another program reads it."""
    number = next(d["dataset_id"] for d in json.loads((root / "registry.json").read_text())["datasets"] if d["name"] == dataset)
    rows = []
    for path in sorted(root.glob(f"urls/dataset_id={number}/**/*.parquet")):
        table = pq.ParquetFile(path).read()
        names = [n for n in table.column_names if n not in OURS]
        for r in table.to_pylist():
            url = f"{r['scheme']}://{r['host']}{r['path_query']}"
            ts = r.get("ts")
            rows.append((url, None if ts is None else iso(ts.replace(tzinfo=None)), *(r[n] for n in names)))
    return rows
