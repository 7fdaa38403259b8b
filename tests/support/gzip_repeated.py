# SPDX-License-Identifier: Apache-2.0
"""gzip_repeated - a gzip member whose content repeats a piece many times: the piece is compressed once.

    gzip_repeated.member(head, piece, times, tail)      head + times * piece + tail
"""
import struct
import zlib


def member(head, piece, times, tail=b""):
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)

    def whole(data):
        """Blocks that refer to nothing before them, from a byte to a byte."""
        return deflate.compress(data) + deflate.flush(zlib.Z_FULL_FLUSH)
    begin, middle = whole(head), whole(piece)
    end = deflate.compress(tail) + deflate.flush()
    crc = zlib.crc32(head)
    for _ in range(times):
        crc = zlib.crc32(piece, crc)
    size = len(head) + times * len(piece) + len(tail)
    return b"\x1f\x8b\x08" + bytes(6) + b"\xff" + begin + times * middle + end + struct.pack("<II", zlib.crc32(tail, crc), size & 0xffffffff)
