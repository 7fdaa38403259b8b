# SPDX-License-Identifier: Apache-2.0
"""Two Iceberg tables beside the lake: ROOT/iceberg/rows and ROOT/iceberg/presence.

    python -m domaindex.iceberg ROOT               or domaindex publish --iceberg, or domaindex.iceberg.update(ROOT)

`rows` has the lake's own files. Of a file of another writer that not every engine reads the same, it has a copy of what an answer would show: one with
columns that are not text, with numbers of columns, or with two names of one column; and of one with the URL by which a row was requested where suppressions
hide that URL and not the row, a copy with null there. Each version that the root lists is a snapshot with a tag of its name, and the branch main is
the current one, also after a rollback. Rows that suppressions hide have positional deletes in each snapshot. `presence` has the counts of each
(domain, dataset) of the current version as the server answers them. Datasets of counts are in neither. docs/PYTHON.md is the manual.
"""
from __future__ import annotations

import argparse
import contextlib
import datetime
import hashlib
import json
import os
import subprocess
import sys
import uuid
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Set, Tuple, Union

from . import _client, _iceberg_avro as avro, _iceberg_hidden as hidden, _native
from ._iceberg_table import Column, Files, Overtaken, Table
from .canonical import Canonicaliser

FOLDER = "iceberg"
_FIXED: Sequence[Column] = (("dataset_id", "int", False), ("domain", "string", True), ("scheme", "string", True), ("host", "string", True),
                            ("path_query", "string", True), ("raw_url", "string", False), ("ts", "timestamptz", False))
_PRESENCE: Sequence[Column] = (("domain", "string", True), ("dataset_id", "int", True), ("dataset", "string", True), ("url_count", "long", True),
                               ("row_count", "long", True))
_LEFT = ("domain_id", "url_id")  # without sign in the lake, which Iceberg has no type for
# dataset_id is not required, as PyIceberg takes a required column from files alone, and not from the partition.
_PRESENCE_ROWS = 1 << 20
_FIXED_TYPES = {**{name: kind for name, kind, _ in _FIXED}, **{name: "ulong" for name in _LEFT}}
_COLUMNS_MAX = 1000  # of the table of rows; a file of the lake has at most 48 of its own
_TRIES = 5
_NAME_MAX = 255  # bytes of the name of an extra column
_UNREADABLE = (OSError, ValueError, TypeError, OverflowError, NotImplementedError, MemoryError)  # what pyarrow raises of a file
_TS_MIN, _TS_MAX = -62167219200000000, 253402300799999999  # the years 0000 to 9999
_PATH, _POSITION = 2147483546, 2147483545


class IcebergError(RuntimeError):
    """The message says what the tables lack and why: single files, or else they stay as they were."""


def _json(root: str, command: str, *arguments: str) -> Any:
    done = subprocess.run([_native.program(), *command.split(), "--root", root, "--json", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        raise IcebergError(f"domaindex {command}: {done.stderr.decode('utf-8', 'replace').strip()}")
    return json.loads(done.stdout)


@contextlib.contextmanager
def _lock(files: Files) -> Iterator[None]:
    """One at a time in a directory. On object storage the slower one begins again."""
    if not files.local:
        yield
        return
    import fcntl

    files.make(FOLDER)
    with open(f"{files.base}/{FOLDER}/.lock", "w", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


# ---- a file of the lake ----


def _bound(value: Any, kind: str) -> Optional[bytes]:
    if value is None:
        return None
    if kind == "string":
        return value.encode("utf-8", "surrogateescape") if isinstance(value, str) else bytes(value)
    if isinstance(value, datetime.datetime):
        moment = value if value.tzinfo else value.replace(tzinfo=datetime.timezone.utc)
        value = (moment - datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)) // datetime.timedelta(microseconds=1)
    return int(value).to_bytes(4 if kind == "int" else 8, "little", signed=True)


def _measures(parquet: Any, kinds: Mapping[str, Tuple[int, str]]) -> Dict[str, Any]:
    """Sizes, counts and bounds of columns from the footer: a bound that a row group lacks is left out."""
    sizes: Dict[int, int] = {}
    values: Dict[int, int] = {}
    nulls: Dict[int, int] = {}
    lows: Dict[int, Any] = {}
    highs: Dict[int, Any] = {}
    unknown: Set[int] = set()
    offsets = []
    for number in range(parquet.num_row_groups):
        group = parquet.row_group(number)
        offsets.append(min(group.column(i).dictionary_page_offset or group.column(i).data_page_offset for i in range(group.num_columns)))
        for i in range(group.num_columns):
            column = group.column(i)
            if column.path_in_schema not in kinds:
                continue
            key, kind = kinds[column.path_in_schema]
            sizes[key] = sizes.get(key, 0) + column.total_compressed_size
            values[key] = values.get(key, 0) + column.num_values
            statistics = column.statistics
            count = statistics.null_count if statistics is not None and statistics.has_null_count else None
            if count is None:
                unknown.add(-key)
            else:
                nulls[key] = nulls.get(key, 0) + count
            if count is not None and count == column.num_values:
                continue
            try:
                low, high = (_bound(statistics.min, kind), _bound(statistics.max, kind)) if statistics is not None and statistics.has_min_max else (None, None)
            except (OverflowError, ValueError):  # a time that Python has no datetime for
                low = high = None
            if low is None or high is None:
                unknown.add(key)
                continue
            order = (lambda text: text) if kind == "string" else (lambda text: int.from_bytes(text, "little", signed=True))
            lows[key] = min(lows.get(key, low), low, key=order)
            highs[key] = max(highs.get(key, high), high, key=order)
    return {"column_sizes": avro.pairs(sizes), "value_counts": avro.pairs(values),
            "null_value_counts": avro.pairs({k: v for k, v in nulls.items() if -k not in unknown}),
            "lower_bounds": avro.pairs({k: v for k, v in lows.items() if k not in unknown}),
            "upper_bounds": avro.pairs({k: v for k, v in highs.items() if k not in unknown}), "split_offsets": sorted(offsets)}


def _data_file(uri: str, size: int, parquet: Any, kinds: Mapping[str, Tuple[int, str]], partition: Mapping[str, int], order: Optional[int]) -> Dict[str, Any]:
    return {"content": avro.DATA, "file_path": uri, "file_format": "PARQUET", "partition": dict(partition), "record_count": parquet.num_rows,
            "file_size_in_bytes": size, "sort_order_id": order, **_measures(parquet, kinds)}


def _is_text(column: Any) -> bool:
    return column.physical_type == "BYTE_ARRAY" and column.max_repetition_level == 0 and column.max_definition_level <= 1 and 0 < len(column.name.encode()) <= _NAME_MAX \
        and column.logical_type.type in ("NONE", "STRING", "ENUM", "JSON")


def _plain_column(column: Any, kind: Any) -> Any:
    import pyarrow

    if pyarrow.types.is_string(kind) and not pyarrow.types.is_string(column.type):
        column = column.cast(pyarrow.binary())
        return pyarrow.array([None if value is None else value.decode("utf-8", "replace") for value in column.to_pylist()], kind)
    if pyarrow.types.is_timestamp(kind):  # as the server has it: whole microseconds, null outside of the years 0000 to 9999
        unit = {"s": 10**6, "ms": 10**3, "us": 1, "ns": -1000}[column.type.unit]
        moments = (None if value is None else value * unit if unit > 0 else value // -unit for value in column.cast(pyarrow.int64()).to_pylist())
        return pyarrow.array([value if value is not None and _TS_MIN <= value <= _TS_MAX else None for value in moments], pyarrow.int64()).cast(kind)
    return column.cast(kind, safe=False)


def _emptied(column: Any, first: int, positions: Set[int]) -> Any:
    """The column of rows from `first` on, with null at positions."""
    import pyarrow
    import pyarrow.compute

    mask = pyarrow.array([first + at in positions for at in range(len(column))], pyarrow.bool_())
    return pyarrow.compute.if_else(mask, pyarrow.scalar(None, column.type), column)


class _Lake:
    """Files of versions, each footer read once."""

    def __init__(self, files: Files, root: str, folder: str) -> None:
        self.files, self.root, self.folder = files, root, folder
        self._footers: Dict[str, Any] = {}
        self._emptied: Set[str] = set()
        self.unread: Dict[str, str] = {}  # why, by file

    def of(self, version: str, known: Set[str]) -> Dict[str, Mapping[str, Any]]:
        """By what the table has of each: the file itself, or its copy; `known`: what it has already."""
        answer = _json(self.root, "files", "--version", version)
        found = {}
        for file in (one for one in answer["files"] if "kind" not in one):  # rows of datasets of counts are hosts
            uri = self.files.prefix + file["path"] if self.files.local else file["path"]
            copy = self.files.uri(f"{self.folder}/data/plain-{hashlib.sha256(uri.encode()).hexdigest()}.parquet")
            at = copy if copy in known else uri if uri in known else self._shown(uri, copy)
            if at is not None:
                found[at] = file
        return found

    def _shown(self, uri: str, copy: str) -> Optional[str]:
        """None: it cannot be read. It is left out, so that the rows of other datasets are there all the same."""
        try:
            if self._is_plain(uri):
                return uri
            self._copy(uri, copy)
            return copy
        except _UNREADABLE as error:
            self.leave_out(uri, error)
            return None

    def leave_out(self, uri: str, error: BaseException) -> None:
        self.unread[uri] = f"{type(error).__name__}: {error}"

    def _is_plain(self, uri: str) -> bool:
        """A file that every engine reads by the names of columns alone, and as the server does."""
        schema = self.footer(uri).schema
        columns = [schema.column(i) for i in range(len(schema))]
        names = [column.name for column in columns]
        fields = schema.to_arrow_schema()
        return (all(column.path == column.name and (column.name in _FIXED_TYPES or _is_text(column)) for column in columns) and
                len({name.casefold() for name in names}) == len(names) and
                not any(field.metadata and b"PARQUET:field_id" in field.metadata for field in fields) and
                all(_is_text(column) for column in columns if _FIXED_TYPES.get(column.name) == "string") and
                all(column.physical_type == "INT32" for column in columns if column.name == "dataset_id") and
                all(str(fields.field(column.name).type).startswith(("timestamp[ms", "timestamp[us")) for column in columns if column.name == "ts"))

    def _copy(self, uri: str, copy: str, empty: Optional[Mapping[str, Set[int]]] = None) -> None:
        """empty: by column, the positions of rows that have null there."""
        import pyarrow
        import pyarrow.parquet

        schema = self.footer(uri).schema
        arrow = schema.to_arrow_schema()
        taken: Set[str] = set()
        wanted: Dict[str, Any] = {}
        for i in range(len(schema)):
            column = schema.column(i)
            kind = _FIXED_TYPES.get(column.name)
            if column.path != column.name or column.name in taken or not (kind or _is_text(column)) or arrow.names.count(column.name) > 1:
                continue
            taken.add(column.name)
            wanted[column.name] = {"int": pyarrow.int32(), "ulong": pyarrow.uint64(), "timestamptz": pyarrow.timestamp("us", "UTC")}.get(kind or "", pyarrow.string())
        twice = {name for name, _, required in _FIXED if required} - set(wanted)
        if twice:
            raise ValueError(f"two columns {min(twice)}")
        sink, first = pyarrow.BufferOutputStream(), 0
        plain = pyarrow.schema([pyarrow.field(name, kind) for name, kind in wanted.items()])
        with pyarrow.parquet.ParquetFile(self.files.path(uri), filesystem=self.files.fs, metadata=self.footer(uri)) as file, pyarrow.parquet.ParquetWriter(sink, plain, compression="zstd") as out:
            for number in range(file.num_row_groups):
                table = file.read_row_group(number, columns=list(wanted))
                columns = {name: _plain_column(table.column(name), kind) for name, kind in wanted.items()}
                columns.update({name: _emptied(columns[name], first, positions) for name, positions in (empty or {}).items() if name in columns})
                out.write_table(pyarrow.table(columns, schema=plain))
                first += table.num_rows
        self.files.replace(self.files.name(copy), sink.getvalue().to_pybytes())

    def footer(self, uri: str) -> Any:
        import pyarrow.parquet

        if uri not in self._footers:
            self._footers[uri] = pyarrow.parquet.read_metadata(self.files.path(uri), filesystem=self.files.fs)
        return self._footers[uri]

    def left_out(self, uri: str, rules: hidden.Rules, canon: Optional[Canonicaliser]) -> Tuple[List[int], Dict[str, Set[int]]]:
        """Positions of rows that are not visible, and by column those of texts that are not, of other rows."""
        import pyarrow.parquet

        with pyarrow.parquet.ParquetFile(self.files.path(uri), filesystem=self.files.fs, metadata=self.footer(uri)) as file:
            rows = hidden.left_out(file, rules, canon)
            texts = hidden.hidden_texts(file, rules) if rules else {}
        return rows, {name: left for name, left in ((name, at.difference(rows)) for name, at in texts.items()) if left}

    def emptied(self, uri: str, texts: Mapping[str, Set[int]], known: Set[str]) -> str:
        """A copy of the file with null in the place of these texts: one that is `known`, or a new one. Its name begins with the hash of
        file and texts, so no other copy has it."""
        what = hashlib.sha256(json.dumps([uri, {name: sorted(texts[name]) for name in sorted(texts)}]).encode()).hexdigest()
        begin = self.files.uri(f"{self.folder}/data/shown-{what}-")
        found = next((path for path in sorted(known | self._emptied) if path.startswith(begin)), None)
        if found is None:
            found = f"{begin}{uuid.uuid4()}.parquet"
            self._copy(uri, found, texts)
            self._emptied.add(found)
        return found


def _columns_of(lake: _Lake, wanted: Dict[str, Any], uris: Sequence[str], table: Table) -> List[Column]:
    """Those of the files. One with which the table would have over _COLUMNS_MAX is taken from `wanted`: a column stays for ever, and each metadata file has all."""
    fixed = {*_LEFT, *(name for name, _, _ in _FIXED)}
    names = dict.fromkeys(name for name in (table.file_columns if table.meta["schemas"] else ()) if name not in fixed)
    for uri in uris:
        more = [name for name in lake.footer(uri).schema.names if name not in fixed and name not in names]
        if len(_FIXED) + len(names) + len(more) > _COLUMNS_MAX and more:
            lake.leave_out(uri, ValueError(f"with its {len(more)} new columns the table would have over {_COLUMNS_MAX}; name them as those of other files, or leave them out"))
            del wanted[uri]
            continue
        names.update(dict.fromkeys(more))
    return [*_FIXED, *((name, "string", False) for name in names)]


# ---- rows ----


def _delete_file(files: Files, folder: str, dataset: int, positions: Mapping[str, List[int]]) -> Dict[str, Any]:
    """The rows of a dataset's files that are not visible."""
    import pyarrow
    import pyarrow.parquet

    uris = [uri for uri in sorted(positions) for _ in positions[uri]]
    schema = pyarrow.schema([pyarrow.field("file_path", pyarrow.string(), False, {b"PARQUET:field_id": str(_PATH).encode()}),
                             pyarrow.field("pos", pyarrow.int64(), False, {b"PARQUET:field_id": str(_POSITION).encode()})])
    table = pyarrow.table([pyarrow.array(uris, pyarrow.string()), pyarrow.array([at for uri in sorted(positions) for at in positions[uri]], pyarrow.int64())], schema=schema)
    name = f"{folder}/data/{uuid.uuid4()}-deletes.parquet"
    sink = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(table, sink, compression="zstd")
    data = sink.getvalue().to_pybytes()
    files.write(name, data)
    return {"content": avro.POSITION_DELETES, "file_path": files.uri(name), "file_format": "PARQUET", "partition": {"dataset_id": dataset},
            "record_count": len(uris), "file_size_in_bytes": len(data), "sort_order_id": None,
            "lower_bounds": avro.pairs({_PATH: uris[0].encode()}), "upper_bounds": avro.pairs({_PATH: uris[-1].encode()})}


def _suffix_list(files: Files, version: str) -> bytes:
    """psl.dat.zst of a version (psl.dat of an older one), by itself or in its pack (docs/FORMAT.md 11.2, 11.6)."""
    import pyarrow

    entries = json.loads(files.read("index/manifest.json"))["versions"]
    entry = next(one for one in entries if one["version"] == version)
    at = 0
    for name, file in entry["files"].items():
        at += -at % 64
        if name in ("psl.dat", "psl.dat.zst"):
            data = files.read(f"index/{version}/part.pack")[at:at + file["size"]] if "pack" in entry else files.read(f"index/{version}/{name}")
            return pyarrow.CompressedInputStream(pyarrow.BufferReader(data), "zstd").read() if name.endswith(".zst") else data
        at += file["size"]
    raise ValueError(f"version {version} lists no psl.dat.zst")


def _moment(text: str) -> int:
    return int(datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() * 1000)


def _mark(log: Sequence[Mapping[str, Any]]) -> str:
    """Of what the log says, not of its length alone: one that was lost and accepted as it is may have as many lines again."""
    return f"{len(log)}-{hashlib.sha256(json.dumps(log, sort_keys=True).encode()).hexdigest()[:16]}"


def _update_rows(files: Files, root: str, versions: Sequence[Mapping[str, Any]], log: Sequence[Mapping[str, Any]]) -> Tuple[bool, Dict[str, str]]:
    """Whether the table has changed, and which files it lacks."""
    table = Table(files, f"{FOLDER}/rows", ["dataset_id"], [("domain", "nulls-last"), ("host", "nulls-last"), ("path_query", "nulls-last"), ("ts", "nulls-first")], _LEFT)
    table.load()
    lake = _Lake(files, root, table.folder)
    mark = _mark(log)
    known = {s["summary"]["domaindex.version"]: s for s in table.snapshots}
    canon: Dict[str, Canonicaliser] = {}
    keep: List[Dict[str, Any]] = []
    tags: Dict[str, Dict[str, Any]] = {}
    parent: Optional[Dict[str, Any]] = None
    for version in versions:
        name = str(version["version"])
        snapshot = known.get(name)
        if snapshot is None or snapshot["summary"]["domaindex.suppressions"] != mark:
            had = table.paths(snapshot or parent)
            wanted = lake.of(name, had)
            table.columns(_columns_of(lake, wanted, sorted(set(wanted) - had if table.meta["schemas"] else wanted), table))
            canon = canon or {"": Canonicaliser(suffix_list=_suffix_list(files, name))}
            rules = hidden.rules_of(log, int(version["cleansed"]), canon[""])
            faulty = Canonicaliser(suffix_list=_suffix_list(files, name)) if version["rows_left_out"] else None
            positions: Dict[int, Dict[str, List[int]]] = {}
            for uri in sorted(wanted) if rules or faulty else ():
                try:
                    found, texts = lake.left_out(uri, rules, faulty)
                    shown = lake.emptied(uri, texts, had) if texts else uri
                except _UNREADABLE as error:
                    lake.leave_out(uri, error)
                    del wanted[uri]
                    continue
                wanted[shown] = wanted.pop(uri)
                if found:
                    positions.setdefault(int(wanted[shown]["dataset_id"]), {})[shown] = found
            deletes = [_delete_file(files, table.folder, dataset, positions[dataset]) for dataset in sorted(positions)]

            def describe(uri: str, wanted: Mapping[str, Mapping[str, Any]] = wanted) -> Dict[str, Any]:
                file = wanted[uri]
                size = files.size(files.name(uri)) if uri.startswith(files.uri(table.folder)) else int(file["bytes"])
                return _data_file(uri, size, lake.footer(uri), table.file_columns, {"dataset_id": int(file["dataset_id"])}, 1)

            summary = {"domaindex.version": name, "domaindex.suppressions": mark}
            moment = _moment(str(version["published"])) if snapshot is None else int(datetime.datetime.now().timestamp() * 1000)
            snapshot = table.add(snapshot or parent, summary, set(wanted), describe, deletes, moment)
        keep.append(snapshot)
        tags[name] = snapshot
        parent = snapshot
    current = next(snapshot for version, snapshot in zip(versions, keep) if version["current"])
    return table.commit(keep, current, tags), lake.unread


# ---- presence ----


def _pairs(root: str, version: str, cache_dir: Optional[str]) -> Iterator[Mapping[str, Any]]:
    with _client.open_root(root, version=version, cache_dir=cache_dir) as index:
        names = {d.dataset_id: d.name for d in index.datasets()}

        def domains() -> Iterator[str]:
            cursor: Optional[str] = None
            while True:
                page = index.get("/v1/domains", limit=10000, cursor=cursor)
                yield from (str(domain["domain"]) for domain in page["domains"])
                cursor = page["next_cursor"]
                if cursor is None:
                    return

        for name in index.domains(domains()):
            for dataset in (one for one in name.datasets if "kind" not in one):
                yield {"domain": name.domain, "dataset_id": dataset["dataset_id"], "dataset": names[dataset["dataset_id"]], "url_count": dataset["url_count"],
                       "row_count": dataset["row_count"]}


def _update_presence(files: Files, root: str, version: Mapping[str, Any], mark: str, cache_dir: Optional[str]) -> bool:
    import pyarrow
    import pyarrow.parquet

    table = Table(files, f"{FOLDER}/presence", [], [("domain", "nulls-last"), ("dataset_id", "nulls-last")])
    table.load()
    table.columns(_PRESENCE)
    name = str(version["version"])
    kinds = {"string": pyarrow.string(), "int": pyarrow.int32(), "long": pyarrow.int64()}
    schema = pyarrow.schema([pyarrow.field(column, kinds[kind], not required, {b"PARQUET:field_id": str(table.ids[column]).encode()})
                             for column, kind, required in _PRESENCE])
    found = [s for s in table.snapshots if s["summary"]["domaindex.suppressions"] == mark]
    snapshot = next((s for s in found if s["summary"]["domaindex.version"] == name), None)
    if snapshot is None:
        described: Dict[str, Dict[str, Any]] = {}

        def flush(rows: List[Mapping[str, Any]]) -> None:
            arrays = [pyarrow.array([row[c] for row in rows], kinds[k]) for c, k, _ in _PRESENCE]
            sink = pyarrow.BufferOutputStream()
            pyarrow.parquet.write_table(pyarrow.table(arrays, schema=schema), sink, compression="zstd", row_group_size=1 << 17)
            data = sink.getvalue()
            file = f"{table.folder}/data/{uuid.uuid4()}.parquet"
            files.write(file, data.to_pybytes())
            described[files.uri(file)] = _data_file(files.uri(file), data.size, pyarrow.parquet.read_metadata(pyarrow.BufferReader(data)), table.file_columns, {}, 1)

        rows: List[Mapping[str, Any]] = []
        for row in _pairs(root, name, cache_dir):
            rows.append(row)
            if len(rows) == _PRESENCE_ROWS:
                flush(rows)
                rows = []
        if rows or not described:
            flush(rows)
        parent = max(table.snapshots, key=lambda s: int(s["sequence-number"]), default=None)
        summary = {"domaindex.version": name, "domaindex.suppressions": mark}
        snapshot = table.add(parent, summary, set(described), described.__getitem__, (), _moment(str(version["published"])))
        found.append(snapshot)
    listed = {v["version"] for v in _json(root, "versions")["versions"]}
    keep = [s for s in found if s["summary"]["domaindex.version"] in listed]
    return table.commit(keep, snapshot, {s["summary"]["domaindex.version"]: s for s in keep})


# ---- both ----


def update(root: Union[str, "os.PathLike[str]"], *, presence: bool = True, cache_dir: Optional[str] = None) -> bool:
    """Makes the tables say what the root's versions and suppressions say now. False: they did so already."""
    for _ in range(_TRIES):
        with contextlib.suppress(Overtaken):
            return _update(root, presence, cache_dir)
    raise IcebergError(f"{os.fspath(root)}: {_TRIES} times another update of the tables was faster; the tables have what the last of them saw")


def _update(root: Union[str, "os.PathLike[str]"], presence: bool, cache_dir: Optional[str]) -> bool:
    place = os.fspath(root).rstrip("/")
    files = Files(place)
    with _lock(files):
        answer = _json(place, "versions")
        versions = [v for v in answer["versions"] if v["state"] == "listed"]
        if not versions:
            raise IcebergError(f"{place}: nothing is published")
        log = _json(place, "suppress list")["suppressions"]
        changed, unread = _update_rows(files, place, versions, log)
        if presence:
            current = next(v for v in versions if v["current"])
            changed = _update_presence(files, place, current, _mark(log), cache_dir) or changed
    if unread:
        first = min(unread)
        raise IcebergError(f"{len(unread)} lake files were left out of iceberg/rows, the others are there. The first: {first}: {unread[first]}")
    return changed


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m domaindex.iceberg", description="Iceberg tables of a root's versions, in ROOT/iceberg.")
    parser.add_argument("root", metavar="ROOT", help="a directory or s3://bucket/prefix")
    parser.add_argument("--no-presence", action="store_true", help="only the table of rows: the one of presence reads all domains")
    parser.add_argument("--cache-dir", help="for the local copy of a remote index")
    a = parser.parse_args(arguments)
    try:
        update(a.root, presence=not a.no_presence, cache_dir=a.cache_dir)
    except (IcebergError, OSError, ValueError) as error:
        print(f"domaindex.iceberg: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
