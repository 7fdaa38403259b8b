# SPDX-License-Identifier: Apache-2.0
"""A table of Iceberg v2 in a folder: snapshots are added, dropped and made current, and one new metadata file says so.

    table = Table(files, "iceberg/rows", spec_fields, sort_fields)
    table.load()
    table.columns([("domain", "string", True), ...])          known names keep their numbers; others are added
    snapshot = table.add(parent, summary, data_files, deletes)
    table.commit(keep, current, tags)                          snapshots that are not kept go, with the files that only they have

The folder is laid out as a Hadoop catalog does it: metadata/vN.metadata.json, the newest of which counts, and metadata/version-hint.text. The metadata
file is put by `domaindex commit-table`, on the condition that none of that number is there: of two updates at once the slower one is Overtaken, and
has changed nothing. What it, or a crash, leaves is named by no metadata file, and the next commit removes it: only what was there when that one
loaded the table, since what came later may be of an update that is under way.
"""
from __future__ import annotations

import json
import random
import subprocess
import tempfile
import time
import uuid
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Set, Tuple

from . import _iceberg_avro as avro, _native

Column = Tuple[str, str, bool]  # name, type, required
MANIFESTS_MAX = 64
# Names that engines have for columns of their own (Iceberg, "Reserved Field IDs"; Spark).
ENGINES_OWN = ("_file", "_pos", "_deleted", "_spec_id", "_partition", "_change_type", "_change_ordinal", "_commit_snapshot_id", "_row_id", "_last_updated_sequence_number")


class Overtaken(RuntimeError):
    """Another update made the metadata file of this number."""


class Files:
    """Files below a root, by pyarrow: a directory or s3://bucket/prefix."""

    def __init__(self, root: str) -> None:
        import os

        from pyarrow import fs

        if root.startswith("s3://"):
            endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
            scheme, _, place = endpoint.partition("://") if endpoint else ("https", "", None)
            self.fs: Any = fs.S3FileSystem(endpoint_override=place.rstrip("/") if place else None, scheme=scheme, region=os.environ.get("AWS_REGION", "us-east-1"))
            self.base, self.prefix = root[len("s3://"):].rstrip("/"), "s3://"
        elif "://" in root:
            raise ValueError(f"{root}: tables are written beside the lake: ROOT is a directory or s3://bucket/prefix")
        else:
            self.fs, self.base, self.prefix = fs.LocalFileSystem(), os.path.realpath(root), "file://"

    @property
    def local(self) -> bool:
        return self.prefix == "file://"

    def uri(self, name: str) -> str:
        return f"{self.prefix}{self.base}/{name}"

    def name(self, uri: str) -> str:
        return uri[len(self.prefix) + len(self.base) + 1:]

    def path(self, uri: str) -> str:
        return uri[len(self.prefix):]

    def read(self, name: str) -> bytes:
        with self.fs.open_input_stream(f"{self.base}/{name}", compression=None) as file:
            return bytes(file.read())

    def write(self, name: str, data: bytes) -> None:
        import os

        with self.fs.open_output_stream(f"{self.base}/{name}", compression=None) as file:
            file.write(data)
        if self.local:
            handle = os.open(f"{self.base}/{name}", os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)

    def replace(self, name: str, data: bytes) -> None:
        """A reader sees the old bytes or the new ones: by rename, or by one put."""
        if self.local:
            self.write(name + ".new", data)
            self.fs.move(f"{self.base}/{name}.new", f"{self.base}/{name}")
        else:
            self.write(name, data)

    def size(self, name: str) -> int:
        return int(self.fs.get_file_info(f"{self.base}/{name}").size)

    def list(self, folder: str) -> List[str]:
        from pyarrow import fs

        found = self.fs.get_file_info(fs.FileSelector(f"{self.base}/{folder}", allow_not_found=True, recursive=True))
        return [info.path[len(self.base) + 1:] for info in found if info.is_file]

    def make(self, folder: str) -> None:
        if self.local:
            self.fs.create_dir(f"{self.base}/{folder}", recursive=True)

    def remove(self, name: str) -> None:
        self.fs.delete_file(f"{self.base}/{name}")


class Table:
    def __init__(self, files: Files, folder: str, partition: Sequence[str], order: Sequence[Tuple[str, str]], reserved: Sequence[str] = ()) -> None:
        """reserved: columns of data files that the table does not have; theirs are the first numbers."""
        self.files, self.folder, self._partition, self._order = files, folder, partition, order
        self._reserved = {name: 1 + i for i, name in enumerate(reserved)}
        self.number = 0
        self.meta: Dict[str, Any] = {}
        self.snapshots: List[Dict[str, Any]] = []
        self._before: Optional[Dict[str, Any]] = None
        self._there: List[str] = []

    # ---- what is there ----

    def load(self) -> None:
        self.files.make(f"{self.folder}/metadata")
        self.files.make(f"{self.folder}/data")
        self._there = self.files.list(self.folder)
        numbers = [int(name.rsplit("/v", 1)[1].split(".")[0]) for name in self._there if name.startswith(f"{self.folder}/metadata/v") and name.endswith(".metadata.json")]
        self.number = max(numbers, default=0)
        if self.number:
            try:
                self.meta = json.loads(self.files.read(self._metadata(self.number)))
                self.meta["snapshots"], self.meta["schemas"]
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(f"{self.files.path(self.files.uri(self._metadata(self.number)))}: not the metadata of such a table ({error}). "
                                 f"Remove {self.files.uri(self.folder)}, and make it again") from error
            self._before = json.loads(json.dumps(self.meta))
            self.snapshots = list(self.meta["snapshots"])
        else:
            self.meta = {"format-version": 2, "table-uuid": str(uuid.uuid4()), "last-sequence-number": 0, "last-column-id": len(self._reserved), "schemas": [], "snapshot-log": [],
                         "metadata-log": [], "properties": {}}
        location = self.files.uri(self.folder)
        if self.meta.setdefault("location", location) != location:
            raise ValueError(f"{location}: its metadata is of {self.meta['location']}: paths in it are absolute. Remove {location}, and make it again")

    def _metadata(self, number: int) -> str:
        return f"{self.folder}/metadata/v{number}.metadata.json"

    @property
    def schema(self) -> Dict[str, Any]:
        found: Dict[str, Any] = next(s for s in self.meta["schemas"] if s["schema-id"] == self.meta["current-schema-id"])
        return found

    @property
    def ids(self) -> Dict[str, int]:
        return {field["name"]: field["id"] for field in self.schema["fields"]}

    @property
    def spec(self) -> Dict[str, Any]:
        return {"spec-id": 0, "fields": [{"name": name, "transform": "identity", "source-id": self.ids[name], "field-id": 1000 + i}
                                         for i, name in enumerate(self._partition)]}

    @property
    def file_columns(self) -> Dict[str, Tuple[int, str]]:
        """Number and type by the name that data files have."""
        kinds = {field["id"]: field["type"] for field in self.schema["fields"]}
        mapping = json.loads(self.meta["properties"]["schema.name-mapping.default"])
        return {name: (entry["field-id"], kinds[entry["field-id"]]) for entry in mapping for name in entry["names"] if entry["field-id"] in kinds}

    def columns(self, wanted: Sequence[Column]) -> None:
        """A column that no file has any more stays: readers of older snapshots know it. One that engines would take for another, as most ignore
        case, has an underscore at the end of its name."""
        fields = list(self.schema["fields"]) if self.meta["schemas"] else []
        numbers = {**self._reserved, **({name: number for name, (number, _) in self.file_columns.items()} if fields else {})}
        taken = {*ENGINES_OWN, *(name.casefold() for name in self._reserved), *(field["name"].casefold() for field in fields)}
        count = len(fields)
        for name, kind, required in wanted:
            if name not in numbers:
                shown = name
                while shown.casefold() in taken:
                    shown += "_"
                taken.add(shown.casefold())
                self.meta["last-column-id"] += 1
                numbers[name] = self.meta["last-column-id"]
                fields.append({"id": numbers[name], "name": shown, "required": required, "type": kind})
        if not self.meta["schemas"] or len(fields) != count:
            number = len(self.meta["schemas"])
            self.meta["schemas"] = [*self.meta["schemas"], {"type": "struct", "schema-id": number, "fields": fields}]
            self.meta["current-schema-id"] = number
        # PyIceberg and DuckDB want to know all columns of a file, also those that the table has not.
        mapping = [{"field-id": number, "names": [name]} for name, number in sorted(numbers.items(), key=lambda item: item[1])]
        self.meta["properties"]["schema.name-mapping.default"] = json.dumps(mapping)
        self.meta.update({
            "default-spec-id": 0, "partition-specs": [self.spec], "last-partition-id": 999 + len(self._partition), "default-sort-order-id": 1,
            "sort-orders": [{"order-id": 1, "fields": [{"transform": "identity", "source-id": self.ids[name], "direction": "asc", "null-order": nulls}
                                                       for name, nulls in self._order]}]})

    # ---- snapshots ----

    def _manifests(self, snapshot: Optional[Mapping[str, Any]]) -> List[Tuple[Dict[str, Any], List[Dict[str, Any]]]]:
        """Those of data, with their living entries, whose numbers are their own then."""
        found = []
        for line in avro.records(self.files.read(self.files.name(snapshot["manifest-list"]))) if snapshot else ():
            if line["content"] == avro.DATA:
                entries = avro.records(self.files.read(self.files.name(line["manifest_path"])))
                for entry in entries:
                    for number in ("sequence_number", "file_sequence_number"):
                        entry[number] = line["sequence_number"] if entry[number] is None else entry[number]
                    entry["snapshot_id"] = line["added_snapshot_id"] if entry["snapshot_id"] is None else entry["snapshot_id"]
                found.append((line, [entry for entry in entries if entry["status"] != avro.DELETED]))
        return found

    def paths(self, snapshot: Optional[Mapping[str, Any]]) -> Set[str]:
        return {entry["data_file"]["file_path"] for _, entries in self._manifests(snapshot) for entry in entries}

    def _write_manifest(self, entries: List[Dict[str, Any]], content: int, snapshot: int, sequence: int) -> Dict[str, Any]:
        name = f"{self.folder}/metadata/{uuid.uuid4()}-m.avro"
        data = avro.manifest_bytes(entries, content, self.schema, self.spec)
        self.files.write(name, data)
        return avro.manifest_line(self.files.uri(name), len(data), entries, content, snapshot, sequence)

    def add(self, parent: Optional[Mapping[str, Any]], summary: Mapping[str, str], wanted: Set[str], describe: Any,
            deletes: Sequence[Mapping[str, Any]], moment_ms: int) -> Dict[str, Any]:
        """A snapshot of the files `wanted`: those of `parent` that are among them, and others, which describe(path) gives as Iceberg's data_file."""
        number = random.SystemRandom().randrange(1, 2**62)
        sequence = self.meta["last-sequence-number"] = self.meta["last-sequence-number"] + 1
        lines: List[Dict[str, Any]] = []
        had: Set[str] = set()
        gone: List[Dict[str, Any]] = []
        manifests = self._manifests(parent)
        if len(manifests) > MANIFESTS_MAX:
            manifests = [({}, [entry for _, entries in manifests for entry in entries])]
        for line, entries in manifests:
            paths = {entry["data_file"]["file_path"] for entry in entries}
            had |= paths
            if line and paths <= wanted and line["deleted_files_count"] == 0:
                lines.append(line)
                continue
            for entry in entries:
                stays = entry["data_file"]["file_path"] in wanted
                entry["status"] = avro.EXISTING if stays else avro.DELETED
                entry["snapshot_id"] = entry["snapshot_id"] if stays else number
            gone += [entry["data_file"] for entry in entries if entry["status"] == avro.DELETED]
            if entries:
                lines.append(self._write_manifest(entries, avro.DATA, number, sequence))

        def added(files: Iterable[Mapping[str, Any]]) -> List[Dict[str, Any]]:
            return [{"status": avro.ADDED, "snapshot_id": number, "sequence_number": sequence, "file_sequence_number": sequence, "data_file": file} for file in files]

        new = added(describe(path) for path in sorted(wanted - had))
        hidden = added(deletes)
        lines += [self._write_manifest(entries, content, number, sequence) for entries, content in ((new, avro.DATA), (hidden, avro.POSITION_DELETES)) if entries]
        name = f"{self.folder}/metadata/snap-{number}-{uuid.uuid4()}.avro"
        parent_id = parent["snapshot-id"] if parent else None
        self.files.write(name, avro.list_bytes(lines, number, parent_id, sequence))
        data_lines = [line for line in lines if line["content"] == avro.DATA]
        snapshot: Dict[str, Any] = {
            "snapshot-id": number, "sequence-number": sequence, "timestamp-ms": moment_ms, "manifest-list": self.files.uri(name), "schema-id": self.schema["schema-id"],
            "summary": {
                "operation": "overwrite" if gone else "append", **summary, "added-data-files": str(len(new)), "deleted-data-files": str(len(gone)),
                "added-records": str(sum(e["data_file"]["record_count"] for e in new)), "deleted-records": str(sum(f["record_count"] for f in gone)),
                "total-data-files": str(sum(line["added_files_count"] + line["existing_files_count"] for line in data_lines)),
                "total-records": str(sum(line["added_rows_count"] + line["existing_rows_count"] for line in data_lines)),
                "total-delete-files": str(len(hidden)), "total-position-deletes": str(sum(f["record_count"] for f in deletes)), "total-equality-deletes": "0"}}
        if parent_id is not None:
            snapshot["parent-snapshot-id"] = parent_id
        self.snapshots.append(snapshot)
        return snapshot

    # ---- one step ----

    def commit(self, keep: Sequence[Dict[str, Any]], current: Mapping[str, Any], tags: Mapping[str, Mapping[str, Any]]) -> bool:
        """False: the table says that already."""
        kept = {snapshot["snapshot-id"] for snapshot in keep}
        meta = self.meta
        for snapshot in keep:
            if snapshot.get("parent-snapshot-id") not in kept:
                snapshot.pop("parent-snapshot-id", None)
        meta["snapshots"] = sorted(keep, key=lambda snapshot: int(snapshot["sequence-number"]))
        meta["refs"] = {"main": {"snapshot-id": current["snapshot-id"], "type": "branch"},
                        **{name: {"snapshot-id": snapshot["snapshot-id"], "type": "tag"} for name, snapshot in sorted(tags.items())}}
        log = [entry for entry in meta["snapshot-log"] if entry["snapshot-id"] in kept]
        now = max(int(time.time() * 1000), int(meta.get("last-updated-ms", 0)) + 1, *(int(s["timestamp-ms"]) for s in keep))
        if not log or log[-1]["snapshot-id"] != current["snapshot-id"]:
            log.append({"snapshot-id": current["snapshot-id"], "timestamp-ms": now})
        meta["snapshot-log"] = log
        meta["current-snapshot-id"] = current["snapshot-id"]
        if self._before == meta:
            return False
        meta["last-updated-ms"] = now
        if self._before is not None:
            meta["metadata-log"] = [{"metadata-file": self.files.uri(self._metadata(self.number)), "timestamp-ms": self._before["last-updated-ms"]}]
        self.number += 1
        self._put_metadata(json.dumps(meta, indent=1).encode())
        self._sweep()
        return True

    def _put_metadata(self, data: bytes) -> None:
        with tempfile.NamedTemporaryFile(prefix="domaindex-") as file:
            file.write(data)
            file.flush()
            root = self.files.base if self.files.local else f"{self.files.prefix}{self.files.base}"
            done = subprocess.run([_native.program(), "commit-table", "--root", root, "--table", self.folder.rsplit("/", 1)[1], "--number", str(self.number), file.name],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        if done.returncode != 0:
            words = done.stderr.decode("utf-8", "replace").strip()
            raise Overtaken(words) if "another update was faster" in words else OSError(words)

    def _sweep(self) -> None:
        """What neither this metadata file nor the one before names, of what was there at first. Copies of lake files have the same name whoever makes
        them, so that on a store, where updates do not wait for each other, another one may have made it again since: they stay."""
        named = {f"{self.folder}/metadata/version-hint.text", self._metadata(self.number), self._metadata(self.number - 1)}
        for meta in (self.meta, self._before or {"snapshots": []}):
            for snapshot in meta["snapshots"]:
                name = self.files.name(snapshot["manifest-list"])
                named.add(name)
                for line in avro.records(self.files.read(name)):
                    manifest = self.files.name(line["manifest_path"])
                    if manifest not in named:
                        named.add(manifest)
                        named.update(self.files.name(entry["data_file"]["file_path"]) for entry in avro.records(self.files.read(manifest)))
        for name in self._there:
            if name not in named and (self.files.local or not name.startswith(f"{self.folder}/data/plain-")):
                self.files.remove(name)
