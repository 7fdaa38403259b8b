# SPDX-License-Identifier: Apache-2.0
"""arrow_child - what pyarrow reads in a Parquet file, in a process of its own: on a damaged file it may crash, hang or take all memory.

    with ArrowChild() as arrow:
        arrow.ask(data)     {"rows": …, "columns": [("values", […]) or ("refused", why) or ("other form", type)]}, one for each leaf;
                            or {"refused": why}; why is "crash" or "time" where the process did not answer, and is started again
"""
import os
import pickle
import resource
import select
import signal
import struct

SECONDS = 20
MEMORY = 3 << 30
VALUES_MAX = 300_000


class ArrowChild:
    def __init__(self):
        self.pid = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *trace):
        self.end()

    def start(self):
        to_child, from_child = os.pipe(), os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(to_child[1])
            os.close(from_child[0])
            try:
                serve(to_child[0], from_child[1])
            finally:
                os._exit(0)
        os.close(to_child[0])
        os.close(from_child[1])
        self.to, self.by = to_child[1], from_child[0]

    def end(self):
        os.close(self.to)
        os.close(self.by)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)

    def ask(self, data):
        answer = "crash"
        try:
            write(self.to, data)
            answer = read(self.by, SECONDS)
        except BrokenPipeError:
            pass
        if isinstance(answer, bytes):
            return pickle.loads(answer)
        self.end()
        self.start()
        return {"refused": answer}


def write(fd, data):
    data = struct.pack("<I", len(data)) + data
    while data:
        data = data[os.write(fd, data):]


def read(fd, seconds=None):
    """The next message; "crash" at the end, "time" if it does not come."""
    data, size = b"", 4
    while len(data) < size:
        if seconds and not select.select([fd], [], [], seconds)[0]:
            return "time"
        piece = os.read(fd, min(1 << 20, size - len(data)))
        if not piece:
            return "crash"
        data += piece
        if size == 4 and len(data) == 4:
            size += struct.unpack("<I", data)[0]
    return data[4:]


def serve(by, to):
    import pyarrow as pa
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)    # what it prints while it crashes
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    pa.set_cpu_count(1)
    pa.set_memory_pool(pa.system_memory_pool())
    while isinstance(data := read(by), bytes):
        write(to, pickle.dumps(look(data)))


def words(error):
    return f"{type(error).__name__}: {str(error)[:200]}"


def leaves(column, pa, pc):
    """Of a nested column the values that are there, in their order."""
    while True:
        kind = column.type
        if pa.types.is_struct(kind):
            column = pc.struct_field(pc.drop_null(column), [0])
        elif pa.types.is_map(kind):
            parts = [chunk.drop_null() for chunk in column.chunks]
            return "map", parts
        elif pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
            column = pc.list_flatten(column)
        else:
            return "leaf", pc.drop_null(column)


def look(data):
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq
    from physical import as_physical

    try:
        file = pq.ParquetFile(pa.BufferReader(data), arrow_extensions_enabled=False, page_checksum_verification=True)
        meta, schema = file.metadata, file.schema
        out = {"rows": meta.num_rows, "columns": []}
        count = meta.num_columns
    except Exception as error:   # noqa: BLE001: whatever a damaged file leads to
        return {"refused": words(error)}
    for i in range(count):
        try:
            leaf = schema.column(i)
            column = file.reader.read_all(column_indices=[i], use_threads=False).column(0)
            column.validate(full=True)
            if leaf.max_repetition_level > 0 or leaf.max_definition_level > 1:
                kind, column = leaves(column, pa, pc)
                if kind == "map":
                    out["columns"].append(("other form", "map"))
                    continue
            if len(column) > VALUES_MAX:
                out["columns"].append(("other form", "too many values"))
                continue
            values = as_physical(column, leaf.physical_type)
            out["columns"].append(("other form", str(column.type)) if values is None else ("values", values))
        except Exception as error:   # noqa: BLE001
            out["columns"].append(("refused", words(error)))
    return out
