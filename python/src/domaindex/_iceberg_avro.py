# SPDX-License-Identifier: Apache-2.0
"""Manifests and manifest lists of Iceberg v2, by fastavro. Field numbers are those of the Iceberg specification."""
from __future__ import annotations

import io
import json
from typing import Any, Dict, Iterable, List, Mapping, Optional

EXISTING, ADDED, DELETED = 0, 1, 2
DATA, POSITION_DELETES = 0, 1


def _field(name: str, number: int, kind: Any, optional: bool = False) -> Dict[str, Any]:
    if optional:
        return {"name": name, "type": ["null", kind], "default": None, "field-id": number}
    return {"name": name, "type": kind, "field-id": number}


def _map(key: int, value: int, kind: str) -> Dict[str, Any]:
    """Avro's own maps have strings as keys: Iceberg's are arrays of pairs."""
    pair = {"type": "record", "name": f"k{key}_v{value}", "fields": [_field("key", key, "int"), _field("value", value, kind)]}
    return {"type": "array", "logicalType": "map", "items": pair}


def _list(element: int, kind: str) -> Dict[str, Any]:
    return {"type": "array", "items": kind, "element-id": element}


def _entry_schema(partition: List[Dict[str, Any]]) -> Dict[str, Any]:
    data_file = {"type": "record", "name": "r2", "fields": [
        _field("content", 134, "int"),
        _field("file_path", 100, "string"),
        _field("file_format", 101, "string"),
        _field("partition", 102, {"type": "record", "name": "r102", "fields": partition}),
        _field("record_count", 103, "long"),
        _field("file_size_in_bytes", 104, "long"),
        _field("column_sizes", 108, _map(117, 118, "long"), True),
        _field("value_counts", 109, _map(119, 120, "long"), True),
        _field("null_value_counts", 110, _map(121, 122, "long"), True),
        _field("lower_bounds", 125, _map(126, 127, "bytes"), True),
        _field("upper_bounds", 128, _map(129, 130, "bytes"), True),
        _field("split_offsets", 132, _list(133, "long"), True),
        _field("sort_order_id", 140, "int", True),
    ]}
    return {"type": "record", "name": "manifest_entry", "fields": [
        _field("status", 0, "int"),
        _field("snapshot_id", 1, "long", True),
        _field("sequence_number", 3, "long", True),
        _field("file_sequence_number", 4, "long", True),
        _field("data_file", 2, data_file),
    ]}


_SUMMARY = {"type": "record", "name": "r508", "fields": [
    _field("contains_null", 509, "boolean"), _field("lower_bound", 510, "bytes", True), _field("upper_bound", 511, "bytes", True)]}
_LIST_SCHEMA = {"type": "record", "name": "manifest_file", "fields": [
    _field("manifest_path", 500, "string"),
    _field("manifest_length", 501, "long"),
    _field("partition_spec_id", 502, "int"),
    _field("content", 517, "int"),
    _field("sequence_number", 515, "long"),
    _field("min_sequence_number", 516, "long"),
    _field("added_snapshot_id", 503, "long"),
    _field("added_files_count", 504, "int"),
    _field("existing_files_count", 505, "int"),
    _field("deleted_files_count", 506, "int"),
    _field("added_rows_count", 512, "long"),
    _field("existing_rows_count", 513, "long"),
    _field("deleted_rows_count", 514, "long"),
    _field("partitions", 507, {"type": "array", "items": _SUMMARY, "element-id": 508}, True),
]}


def pairs(values: Mapping[int, Any]) -> List[Dict[str, Any]]:
    return [{"key": key, "value": values[key]} for key in sorted(values)]


def _bytes(schema: Mapping[str, Any], records: Iterable[Mapping[str, Any]], metadata: Mapping[str, str]) -> bytes:
    import fastavro

    out = io.BytesIO()
    fastavro.writer(out, schema, records, codec="deflate", metadata=dict(metadata))
    return out.getvalue()


def manifest_bytes(entries: List[Dict[str, Any]], content: int, schema: Mapping[str, Any], spec: Mapping[str, Any]) -> bytes:
    fields = [_field(field["name"], field["field-id"], "int", True) for field in spec["fields"]]
    return _bytes(_entry_schema(fields), entries, {
        "schema": json.dumps(schema), "schema-id": str(schema["schema-id"]), "partition-spec": json.dumps(spec["fields"]),
        "partition-spec-id": str(spec["spec-id"]), "format-version": "2", "content": "deletes" if content else "data"})


def manifest_line(path: str, length: int, entries: List[Dict[str, Any]], content: int, snapshot: int, sequence: int) -> Dict[str, Any]:
    """What the list says of a manifest that was written with these entries."""
    count = {status: [e["data_file"]["record_count"] for e in entries if e["status"] == status] for status in (ADDED, EXISTING, DELETED)}
    alive = [e["sequence_number"] for e in entries if e["status"] != DELETED]
    line: Dict[str, Any] = {"manifest_path": path, "manifest_length": length, "partition_spec_id": 0, "content": content, "sequence_number": sequence,
            "min_sequence_number": min(alive, default=sequence), "added_snapshot_id": snapshot, "partitions": []}
    for status, name in ((ADDED, "added"), (EXISTING, "existing"), (DELETED, "deleted")):
        line[f"{name}_files_count"], line[f"{name}_rows_count"] = len(count[status]), sum(count[status])
    ids = [e["data_file"]["partition"]["dataset_id"] for e in entries if "dataset_id" in e["data_file"]["partition"]]
    if ids:
        line["partitions"] = [{"contains_null": False, "lower_bound": min(ids).to_bytes(4, "little"), "upper_bound": max(ids).to_bytes(4, "little")}]
    return line


def list_bytes(lines: List[Dict[str, Any]], snapshot: int, parent: Optional[int], sequence: int) -> bytes:
    return _bytes(_LIST_SCHEMA, lines, {"snapshot-id": str(snapshot), "parent-snapshot-id": "null" if parent is None else str(parent),
                                        "sequence-number": str(sequence), "format-version": "2"})


def records(data: bytes) -> List[Dict[str, Any]]:
    import fastavro

    return list(fastavro.reader(io.BytesIO(data)))
