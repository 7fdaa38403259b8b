# SPDX-License-Identifier: Apache-2.0
"""physical - pyarrow's columns turned back to what stands in the file.

    as_physical(column, "INT32")        the values; ("decimal", integers); None: for this type that is not known
"""
import decimal

import pyarrow as pa

decimal.getcontext().prec = 100     # a decimal of 38 digits does not fit the default


def as_physical(column, physical):
    """pyarrow's column as the physical values, or None for a type of which they are not known."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if pa.types.is_decimal(kind):
        scale = kind.scale
        values = [None if v is None else int(v.scaleb(scale)) for v in column.to_pylist()]
        return values if physical in ("INT32", "INT64") else ("decimal", values)
    if pa.types.is_boolean(kind):
        return [None if v is None else int(v) for v in column.to_pylist()]
    if pa.types.is_floating(kind):
        if pa.types.is_float16(kind):
            return None
        bits = pa.int32() if pa.types.is_float32(kind) else pa.int64()
        out = []
        for chunk in column.chunks:
            ints = pa.Array.from_buffers(bits, len(chunk), chunk.buffers(), offset=chunk.offset)
            out += [None if v is None else (v & 0xffffffff if bits == pa.int32() else v) for v in ints.to_pylist()]
        return out
    if pa.types.is_timestamp(kind) and physical == "INT96":
        return [None if v is None else v // 1000 for v in column.cast(pa.timestamp("ns", kind.tz)).cast(pa.int64()).to_pylist()]
    if pa.types.is_timestamp(kind) or pa.types.is_time64(kind):
        return column.cast(pa.int64()).to_pylist()
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        return column.cast(pa.int32()).to_pylist()
    if pa.types.is_integer(kind):
        return column.to_pylist()
    if pa.types.is_null(kind):
        return [None] * len(column)
    if isinstance(kind, pa.ExtensionType):
        column = column.cast(kind.storage_type)
    if pa.types.is_string(column.type) or pa.types.is_binary(column.type) or pa.types.is_fixed_size_binary(column.type) \
            or pa.types.is_large_binary(column.type) or pa.types.is_large_string(column.type):
        return column.cast(pa.binary()).to_pylist()
    return None
