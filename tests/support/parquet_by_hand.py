# SPDX-License-Identifier: Apache-2.0
"""Parquet files with what the writers of today do not write, byte by byte: PLAIN, no codec.

    path.write_bytes(build([node("schema", children=1), node("url", BYTES)], [(BYTES, page(strings([b"a"]), 1), 1)], 1))

Fields of a struct are (number, kind, value); None leaves one out. Chunks are (type, page, values) in the order of the leaves.
"""
import struct

INT32, BYTES, FIXED = 1, 6, 7
I32, I64, BINARY, LIST, STRUCT, BOOL, I8 = 5, 6, 8, 9, 12, 1, 3
REQUIRED, OPTIONAL, REPEATED = 0, 1, 2
PLAIN, RLE, BIT_PACKED = 0, 3, 4


def varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def encode(kind, value):
    if kind in (I32, I64):
        return varint(value << 1 if value >= 0 else (-value << 1) - 1)
    if kind == I8:
        return bytes([value])
    if kind == BINARY:
        return varint(len(value)) + value
    if kind == STRUCT:
        return value
    element, items = value    # a list
    head = bytes([len(items) << 4 | element]) if len(items) < 15 else bytes([0xf0 | element]) + varint(len(items))
    return head + b"".join(encode(element, item) for item in items)


def fields(*members):
    out, last = [], 0
    for number, kind, value in members:
        if value is not None:
            out.append(bytes([number - last << 4 | (2 - value if kind == BOOL else kind)]) + (b"" if kind == BOOL else encode(kind, value)))
            last = number
    return b"".join(out) + b"\0"


def node(name, kind=None, repetition=REQUIRED, children=None, length=None, converted=None, logical=None):
    return fields((1, I32, kind), (2, I32, length), (3, I32, repetition), (4, BINARY, name.encode()), (5, I32, children),
                  (6, I32, converted), (10, STRUCT, logical))


def page(values, count, levels=b"", encoding=RLE):
    """levels: as they stand in the page, repetition before definition."""
    body = levels + values
    return fields((1, I32, 0), (2, I32, len(body)), (3, I32, len(body)),
                  (5, STRUCT, fields((1, I32, count), (2, I32, PLAIN), (3, I32, encoding), (4, I32, encoding)))) + body


def runs(*levels):
    """Levels in RLE, each a run of its own."""
    out = b"".join(bytes([2, level]) for level in levels)
    return struct.pack("<I", len(out)) + out


def strings(values):
    return b"".join(struct.pack("<I", len(value)) + value for value in values)


def build(nodes, chunks, rows, created_by=b"by hand", groups=1):
    """groups: so many row groups, all of the same bytes."""
    out, columns, at = [b"PAR1"], [], 4
    for kind, data, count in chunks:
        columns.append(fields((2, I64, at), (3, STRUCT, fields(
            (1, I32, kind), (2, LIST, (I32, [PLAIN])), (3, LIST, (BINARY, [])), (4, I32, 0), (5, I64, count),
            (6, I64, len(data)), (7, I64, len(data)), (9, I64, at)))))
        out.append(data)
        at += len(data)
    group = fields((1, LIST, (STRUCT, columns)), (2, I64, at - 4), (3, I64, rows))
    footer = fields((1, I32, 1), (2, LIST, (STRUCT, nodes)), (3, I64, rows * groups), (4, LIST, (STRUCT, [group] * groups)), (6, BINARY, created_by))
    return b"".join([*out, footer, struct.pack("<I", len(footer)), b"PAR1"])
