#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: peers slow
"""A second reader of an index version, written from docs/FORMAT.md alone.

    format_reader.py                a small lake of its own, with DX_WHOLE=1 a larger one and the real corpus:
                                    reads every byte, compares all answers with `domaindex lookup`
    format_reader.py --self-test    flips a byte in copies of each file; each must be complained of
    format_reader.py ROOT           reads the current version of a lake and says what it found

Nothing here shares code with the product, and what it checks is named by the section of FORMAT.md.
Needs xxhash and zstandard (tests/e2e/requirements.txt); exit 77 without them.

In detail: a second reader of an index version, written from FORMAT.md alone: every byte, every answer, every
damage; also of a version that was merged three times, of versions of several parts, and of packs.
"""
import bisect
import collections
import datetime
import itertools
import json
import math
import os
import pathlib
import random
import re
import struct
import sys
import zlib


def with_packages():
    """Runs this again in the environment that has them."""
    try:
        import xxhash  # noqa: F401
        import zstandard  # noqa: F401
    except ImportError as missing:
        python = os.environ.get("DX_PEERS_PYTHON") or str(
            pathlib.Path(__file__).resolve().parents[2] / "build/peers/bin/python")
        if os.environ.get("DX_FORMAT_READER_AGAIN") or not os.path.exists(python):
            print(f"SKIPPED: no {missing.name} in {sys.executable} (scripts/peers.sh makes an "
                  "environment that has it, DX_PEERS_PYTHON names one)", flush=True)
            sys.exit(77)
        os.environ["DX_FORMAT_READER_AGAIN"] = "1"
        os.execv(python, [python, *sys.argv])


with_packages()
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dxtest  # noqa: E402
import oracle  # noqa: E402
import posts  # noqa: E402
import xxhash  # noqa: E402
import zstandard  # noqa: E402

M64 = 2**64 - 1
ID_MASK = M64 << 64 - dxtest.id_bits() & M64  # programs built for tests keep some bits of an id


class Complaint(Exception):
    """The bytes are not what FORMAT.md says."""


def need(true, words):
    if not true:
        raise Complaint(words)


def hash128(data):
    return xxhash.xxh3_128_digest(data)  # canonical order: big-endian


def checksum(build_id, kind, key, data):
    """Section 2: the checksum with identity."""
    seed = xxhash.xxh3_64_intdigest(build_id + kind + struct.pack("<IQQ", 0, key, len(data)))
    return xxhash.xxh3_64_intdigest(data, seed=seed)


def id64(data, seed=0):
    """Section 1: what ids are."""
    return xxhash.xxh3_64_intdigest(data, seed=seed) & ID_MASK


def mphf_hash(domain, seed):
    """5.2: with seed 0 the domain_id."""
    return xxhash.xxh3_64_intdigest(domain, seed=seed) if seed else id64(domain)


class Bytes:
    """A cursor; running over the end is a complaint."""

    def __init__(self, data, at=0, end=None):
        self.data, self.at, self.end = data, at, len(data) if end is None else end

    def left(self):
        return self.end - self.at

    def take(self, size):
        at, end = self.at, self.at + size
        if not at <= end <= self.end:  # not need(), which formats its message at each call
            raise Complaint(f"{size} bytes wanted, {self.left()} left")
        self.at = end
        return bytes(self.data[at:end])

    def u8(self):
        at = self.at
        if at >= self.end:
            raise Complaint("a byte wanted, none left")
        self.at = at + 1
        return self.data[at]

    def u16(self):
        return int.from_bytes(self.take(2), "little")

    def u32(self):
        return int.from_bytes(self.take(4), "little")

    def varint(self):
        value, data, at = 0, self.data, self.at
        if at < self.end and data[at] < 128:    # nearly all are short
            self.at = at + 1
            return data[at]
        for shift in range(0, 70, 7):
            need(at < self.end, "a varint is cut")
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            if byte < 128:
                need(value <= M64 and (byte or not shift), "a varint over 64 bits, or longer than it need be")
                self.at = at
                return value
        raise Complaint("a varint of more than 10 bytes")

    def done(self, what):
        need(self.at == self.end, f"{what}: {self.left()} bytes left over")


class Envelope:
    """Section 2."""

    def __init__(self, name, data, magic, version, build_id, tags):
        self.name, self.data = name, data
        need(len(data) >= 72, f"{name}: too short for a trailer")
        trailer = data[-72:]
        (bid, tmagic, tversion, count, log2, body_size, file_size, table_sum, trailer_sum,
         foot) = struct.unpack("<16s4sIIIQQQQ8s", trailer)
        need(foot == b"DXTAIL01", f"{name}: foot {foot}")
        need(tmagic == magic and data[:4] == magic, f"{name}: magic {tmagic} {data[:4]}")
        need(tversion == version == struct.unpack_from("<I", data, 4)[0], f"{name}: version {tversion}")
        need(bid == build_id, f"{name}: build id {bid.hex()}, the version's is {build_id.hex()}")
        need(log2 == 12 and count <= 64, f"{name}: block size 2^{log2}, {count} sections")
        need(file_size == len(data), f"{name}: {file_size} bytes by the trailer, has {len(data)}")
        need(checksum(bid, magic, M64, trailer[:56]) == trailer_sum, f"{name}: checksum of the trailer")
        blocks = -(-body_size // 4096)
        need(body_size % 8 == 0 and body_size + blocks * 8 + count * 24 + 72 == len(data),
             f"{name}: body {body_size}, tables and trailer do not add up to {len(data)}")
        tables = data[body_size:-72]
        need(checksum(bid, magic, M64 - 1, tables) == table_sum, f"{name}: checksum of the tables")
        for block, want in enumerate(struct.unpack_from(f"<{blocks}Q", tables)):
            piece = data[block * 4096:min(block * 4096 + 4096, body_size)]
            need(checksum(bid, magic, block, piece) == want, f"{name}: checksum of block {block}")
        self.sections, end, got = {}, None, []
        for i in range(count):
            tag, zero, offset, size = struct.unpack_from("<4sIQQ", tables, blocks * 8 + i * 24)
            need(zero == 0 and tag not in self.sections, f"{name}: section {tag}")
            need(end is None or offset == -(-end // 64) * 64, f"{name}: {tag} begins at {offset}, not behind {end}")
            need(offset % 64 == 0 and offset + size <= body_size, f"{name}: {tag} lies outside")
            need(end is None or not any(data[end:offset]), f"{name}: gap before {tag} is not zero")
            self.sections[tag], end = data[offset:offset + size], offset + size
            self.first = offset if i == 0 else self.first
            got.append(tag)
        need(sorted(got) == sorted(tags), f"{name}: sections {got}, want {tags}")
        need(body_size == -(-end // 8) * 8 and not any(data[end:body_size]), f"{name}: end of the body")
        self.offsets = {t: struct.unpack_from("<Q", tables, blocks * 8 + i * 24 + 8)[0] for i, t in enumerate(got)}

    def header(self, layout, size=64):
        """The header's fields; its end is the first section's begin."""
        need(self.first == size, f"{self.name}: first section at {self.first}, not behind a header of {size}")
        return struct.unpack_from(layout, self.data)

    def __getitem__(self, tag):
        return self.sections[tag]


class Seekable:
    """Section 2.1: frames as (offset, compressed size, plain size, checksum)."""

    def __init__(self, name, data):
        self.name, self.data, self.frames, self.plain_at = name, data, [], []
        need(len(data) >= 17, f"{name}: too short for a seek table")
        count, descriptor, magic = struct.unpack("<IBI", data[-9:])
        need(magic == 0x8F92EAB1 and descriptor == 0x80, f"{name}: foot {magic:#x} {descriptor:#x}")
        begin = len(data) - 17 - 12 * count
        need(begin >= 0, f"{name}: {count} frames")
        skip, size = struct.unpack_from("<II", data, begin)
        need(skip == 0x184D2A5E and size == 12 * count + 9, f"{name}: skippable frame {skip:#x} of {size}")
        at = plain_at = 0
        for i in range(count):
            compressed, plain, low = struct.unpack_from("<III", data, begin + 8 + 12 * i)
            need(0 < plain <= 1 << 20, f"{name}: frame of {plain} bytes")
            self.frames.append((at, compressed, plain, low))
            self.plain_at.append(plain_at)
            at, plain_at = at + compressed, plain_at + plain
        need(at == begin, f"{name}: frames end at {at}, the table begins at {begin}")
        self.plain_size = plain_at

    def frame(self, i):
        at, compressed, plain, low = self.frames[i]
        return self.decode(self.data[at:at + compressed], plain, low)

    def decode(self, piece, plain, low):
        need(len(piece) >= 9 and piece[:4] == b"\x28\xb5\x2f\xfd", f"{self.name}: not a frame")
        need(piece[4] & 0x3F == 0x24, f"{self.name}: frame header descriptor {piece[4]:#x}")
        try:
            params = zstandard.get_frame_parameters(piece)
            need(params.content_size == plain, f"{self.name}: content size {params.content_size}, not {plain}")
            inner = zstandard.ZstdDecompressor().decompressobj()
            out = inner.decompress(piece)
            need(inner.eof and not inner.unused_data, f"{self.name}: more or less than one frame")
        except zstandard.ZstdError as error:
            raise Complaint(f"{self.name}: {error}") from error
        need(len(out) == plain, f"{self.name}: {len(out)} bytes, not {plain}")
        need(xxhash.xxh64_intdigest(out) & 0xFFFFFFFF == low, f"{self.name}: XXH64 of a frame")
        need(struct.unpack("<I", piece[-4:])[0] == low, f"{self.name}: content checksum of a frame")
        return out

    def all(self):
        return b"".join(self.frame(i) for i in range(len(self.frames)))

    def lines(self):
        """The plain text; frames are cut as section 9 says."""
        texts = [self.frame(i) for i in range(len(self.frames))]
        for i, text in enumerate(texts):
            need(text.endswith(b"\n") and len(text) <= 65536, f"{self.name}: frame {i} is not whole lines up to 64 KiB")
            if i + 1 < len(texts):
                follows = texts[i + 1].index(b"\n") + 1
                need(len(text) + follows > 65536, f"{self.name}: frame {i} has room for one line more")
        return b"".join(texts)


# ---------------------------------------------------------------- sections 1, 4, 5

def key_of(domain):
    """Section 1."""
    labels = domain.split(b".")
    if domain.startswith(b"[") or labels[-1].isdigit():
        return domain
    return b" ".join(reversed(labels))


class Dictionary:
    """Section 4."""

    def __init__(self, envelope):
        self.data, self.anchors, self.offsets = envelope[b"DATA"], envelope[b"ANCH"], envelope[b"OFFS"]
        _, _, self.n, a_bucket, longest, self.sum128, zero = envelope.header("<4sIQII16s24s")
        need(a_bucket == 16 and not any(zero) and self.n <= 2**32 - 2, "domains.dict: header")
        self.buckets = -(-self.n // 16)
        groups = -(-self.buckets // 16)
        need(len(self.anchors) == 8 * (groups + 1), "domains.dict: size of ANCH")
        need(len(self.offsets) == 2 * self.buckets, "domains.dict: size of OFFS")
        need(self.anchor(groups) == len(self.data), "domains.dict: last anchor")
        self.keys, previous = [], b""
        for bucket in range(self.buckets):
            for i, (shared, own) in enumerate(self.entries(bucket)):
                common = len(os.path.commonprefix((previous, (previous[:shared] + own))))
                need(shared == (0 if i == 0 else common), f"domains.dict: shared length in bucket {bucket}")
                key = previous[:shared] + own
                need(key > previous, f"domains.dict: {key} behind {previous}")
                self.keys.append(key)
                previous = key
        need(len(self.keys) == self.n, f"domains.dict: {len(self.keys)} keys of {self.n}")
        need(max(map(len, self.keys), default=0) == longest, "domains.dict: longest key")
        self.domains = [b".".join(reversed(key.split(b" "))) for key in self.keys]
        need([key_of(d) for d in self.domains] == self.keys, "domains.dict: a key of no domain")
        need(all(0 < len(d) <= 253 and d.isascii() and d == d.lower() for d in self.domains), "domains.dict: a name")
        need(self.sum128 == hash128(b"".join(d + b"\n" for d in self.domains)), "domains.dict: hash of the list of domains")

    def anchor(self, i):
        return struct.unpack_from("<Q", self.anchors, 8 * i)[0]

    def start(self, bucket):
        if bucket == self.buckets:
            return len(self.data)
        return self.anchor(bucket // 16) + struct.unpack_from("<H", self.offsets, 2 * bucket)[0]

    def entries(self, bucket):
        """(shared, own bytes) of a bucket; its bytes are filled exactly."""
        begin, end = self.start(bucket), self.start(bucket + 1)
        need(bucket % 16 or begin == self.anchor(bucket // 16), f"domains.dict: bucket {bucket} is not at its anchor")
        need(begin <= end <= len(self.data), f"domains.dict: bucket {bucket}")
        cursor, out = Bytes(self.data, begin, end), []
        for _ in range(min(16, self.n - bucket * 16)):
            lengths = cursor.u8()
            shared, own = lengths >> 4, lengths & 15
            shared += cursor.u8() if shared == 15 else 0
            own += cursor.u8() if own == 15 else 0
            out.append((shared, cursor.take(own)))
        cursor.done(f"domains.dict: bucket {bucket}")
        return out

    def find(self, bucket, key):
        """The ordinal of a key that is in this bucket, or None; from the bytes alone."""
        text = b""
        for i, (shared, own) in enumerate(self.entries(bucket)):
            text = text[:shared] + own
            if text == key:
                return bucket * 16 + i
        return None


class Mphf:
    """Section 5."""

    def __init__(self, envelope, dictionary, domains):
        self.dictionary = dictionary
        (_, _, self.n, self.seed, self.parts, self.buckets, self.slots, self.f, collisions,
         sum128) = envelope.header("<4sIQQIIIIQ16s")
        self.pilots, self.table = envelope[b"PILO"], envelope[b"SLOT"]
        need(self.n == len(domains) and sum128 == dictionary.sum128, "domains.mphf: not of this dictionary")
        self.has_ordinals = self.n < 2**24
        self.full = self.n if self.has_ordinals else -(-self.n // 16)
        self.size = 3 if self.n < 2**16 else 4
        need(self.f == min(16, 8 * self.size - self.full.bit_length()), f"domains.mphf: {self.f} bits of fingerprint")
        need(len(self.pilots) == self.parts * self.buckets, "domains.mphf: size of PILO")
        need(len(self.table) == self.size * self.parts * self.slots, "domains.mphf: size of SLOT")
        need(self.n or self.parts == self.buckets == self.slots == 0, "domains.mphf: empty, but has parts")
        need(self.parts * self.slots >= self.n, "domains.mphf: fewer slots than domains")
        self._shape_of_ours(domains)
        self._ids(envelope[b"COLL"], collisions, domains)
        taken = sum(self._slot(i) >> self.f != self.full for i in range(self.parts * self.slots))
        need(taken == self.n, f"domains.mphf: {taken} slots taken")

    def _slot(self, i):
        return int.from_bytes(self.table[self.size * i:self.size * (i + 1)], "little")

    def _shape_of_ours(self, domains):
        """5.2: how our builder chooses P, B and S."""
        if not self.n:
            return
        need(self.parts == -(-self.n // 2**18), f"domains.mphf: {self.parts} parts")
        in_part = collections.Counter(mphf_hash(d, self.seed) * self.parts >> 64 for d in domains)
        mean, most = -(-self.n // self.parts), max(in_part.values())
        need(self.buckets == (2 * mean + 6) // 7 + 1, f"domains.mphf: {self.buckets} buckets a part")
        need(self.slots == max(100 * mean // 99 + 8, 1000 * most // 996 + 8), f"domains.mphf: {self.slots} slots a part")

    def _ids(self, bytes_, count, domains):
        """domain_id of each ordinal (sections 1 and 5.3)."""
        need(len(bytes_) == 16 * count, "domains.mphf: size of COLL")
        told, last = {}, -1
        for i in range(count):
            ordinal, domain_id = struct.unpack_from("<QQ", bytes_, 16 * i)
            need(last < ordinal < self.n, "domains.mphf: collisions do not ascend")
            told[ordinal] = domain_id
            last = ordinal
        hashes = [id64(d) for d in domains]
        groups = collections.defaultdict(list)
        for ordinal, value in enumerate(hashes):
            groups[value].append(ordinal)
        expected, taken = {}, set(groups)
        later = [o for same in groups.values() for o in sorted(same, key=lambda o: domains[o])[1:]]
        for ordinal in sorted(later, key=lambda o: domains[o]):
            seed = 1
            while id64(domains[ordinal], seed) in taken:
                seed += 1
            expected[ordinal] = id64(domains[ordinal], seed)
            taken.add(expected[ordinal])
        need(told == expected, f"domains.mphf: collisions {told}, want {expected}")
        self.ids = [told.get(ordinal, value) for ordinal, value in enumerate(hashes)]
        need(len(set(self.ids)) == self.n, "domains.mphf: two domains share an id")

    def find(self, domain):
        """5.2: the ordinal, or None; counts how far strangers come."""
        if not self.n:
            return None
        h = mphf_hash(domain, self.seed)
        part, x = h * self.parts >> 64, h * self.parts & M64
        y = (x * x >> 64) * (2**63 + (x >> 1)) >> 64
        b = (y - (y >> 4) + (x >> 4)) * self.buckets >> 64
        pilot = self.pilots[part * self.buckets + b]
        s = (((h ^ (pilot * 0xD1B54A32D192ED03 & M64)) * 0x9E3779B97F4A7C15) & M64) * self.slots >> 64
        v = self._slot(part * self.slots + s)
        mask = (1 << self.f) - 1
        if (v & mask) != (h & mask) or v >> self.f == self.full:
            return None
        number = v >> self.f
        need(number < self.full, f"domains.mphf: a slot of {number}")
        if not self.has_ordinals:
            return self.dictionary.find(number, key_of(domain))
        return number if self.dictionary.find(number // 16, key_of(domain)) == number else None


# ---------------------------------------------------------------- sections 6, 7

def roaring(data):
    """The portable Roaring format, as strictly as section 6 reads it."""
    cursor = Bytes(data)
    cookie = cursor.u32()
    if cookie & 0xFFFF == 12347:
        count = (cookie >> 16) + 1
        runs = cursor.take((count + 7) // 8)
        is_run = [runs[i // 8] >> (i % 8) & 1 for i in range(len(runs) * 8)]
        need(not any(is_run[count:]), "roaring: run flags beyond the last container")
    else:
        need(cookie == 12346, f"roaring: cookie {cookie}")
        count = cursor.u32()
        is_run = [0] * count
    need(0 < count <= 65536, "roaring: no container")
    heads = [(cursor.u16(), cursor.u16() + 1) for _ in range(count)]
    need(all(a[0] < b[0] for a, b in zip(heads, heads[1:])), "roaring: keys do not ascend")
    offsets = None
    if cookie == 12346 or count >= 4:
        offsets = [cursor.u32() for _ in range(count)]
    out = []
    for i, (key, cardinality) in enumerate(heads):
        need(offsets is None or offsets[i] == cursor.at, "roaring: offset header")
        if is_run[i]:
            low, end = [], -1
            for _ in range(cursor.u16()):
                start, more = cursor.u16(), cursor.u16()
                need(start > end + 1 or end < 0, "roaring: runs touch")
                need(start + more < 65536, "roaring: run over the end")
                low.extend(range(start, start + more + 1))
                end = start + more
        elif cardinality <= 4096:
            low = [cursor.u16() for _ in range(cardinality)]
        else:
            bits = f"{int.from_bytes(cursor.take(8192), 'little'):065536b}"
            low = [j for j, bit in enumerate(reversed(bits)) if bit == "1"]
        need(len(low) == cardinality, "roaring: cardinality")
        need(all(a < b for a, b in zip(low, low[1:])), "roaring: values do not ascend")
        out.extend(key << 16 | value for value in low)
    cursor.done("roaring")
    return out


class Bits:
    """Numbers of any width, from the lowest bit of the first byte on; running over the end is a complaint."""

    def __init__(self, data):
        self.value, self.left = int.from_bytes(data, "little"), 8 * len(data)

    def take(self, width):
        if width > self.left:
            raise Complaint(f"{width} bits wanted, {self.left} left")
        self.left -= width
        value, self.value = self.value & ((1 << width) - 1), self.value >> width
        return value

    def done(self, what):
        need(self.left < 8 and self.value == 0, f"{what}: {self.left} bits left over")


class Membership:
    """Section 6: sets[ordinal] is a tuple of dataset ids."""

    def __init__(self, envelope, n):
        _, _, domains, index, stored, pairs, width, zero = envelope.header("<4sIQQQQB23s")
        need(domains == n and not any(zero), "domain_to_datasets.roar: header")
        need(index == envelope.offsets[b"INDX"], "domain_to_datasets.roar: index_offset")
        need(stored <= n and stored < 2**31, "domain_to_datasets.roar: number of sets")
        sets, indx = envelope[b"SETS"], envelope[b"INDX"]
        need(3 <= width <= 5 and len(indx) == width * n, "domain_to_datasets.roar: sizes")
        self.kinds, by_place, cursor = collections.Counter(), {}, Bytes(sets)
        while cursor.left():
            place = cursor.at
            by_place[place] = self._set(cursor)
        need(len(by_place) == stored, "domain_to_datasets.roar: number of stored sets")
        need(len(set(by_place.values())) == stored, "domain_to_datasets.roar: a set is stored twice")
        places, top, single = list(by_place), 1 << (8 * width - 1), 0
        self.stored, self.sets, used = list(by_place.values()), [], 0
        for i in range(n):
            value = int.from_bytes(indx[width * i:width * i + width], "little")
            if value & top:
                need(value ^ top in by_place, "domain_to_datasets.roar: no set begins there")
                number = bisect.bisect_left(places, value ^ top)
                need(number <= used, "domain_to_datasets.roar: not in order of first use")
                used = max(used, number + 1)
                self.sets.append(by_place[value ^ top])
            else:
                need(value < 2**31, "domain_to_datasets.roar: an id that is to be stored")
                single = max(single, value)
                self.sets.append((value,))
        need(used == stored, "domain_to_datasets.roar: a set nobody uses")
        fits = next(w for w in (3, 4, 5) if single < 1 << (8 * w - 1) and len(sets) <= 1 << (8 * w - 1))
        need(width == fits, f"domain_to_datasets.roar: entries of {width} bytes, {fits} would do")
        self.pairs = sum(map(len, self.sets))
        need(self.pairs == pairs, f"domain_to_datasets.roar: {self.pairs} pairs, header {pairs}")

    def _set(self, cursor):
        head = cursor.varint()
        data, kind = cursor.take(head >> 1), 2 if head & 1 else 1
        need(data, "a set without bytes")
        self.kinds[kind] += 1
        if kind == 1:
            inner = Bytes(data)
            ids = [inner.varint()]
            while inner.left():
                ids.append(ids[-1] + 1 + inner.varint())
        else:
            ids = roaring(data)
            need(len(ids) > 32, "Roaring for a small set")
        need(ids[-1] < 2**32 and not (len(ids) == 1 and ids[0] < 2**31), "a set that is none")
        return tuple(ids)


def stored_set(cursor):
    """Section 6: the next stored set, of any size."""
    head = cursor.varint()
    data = cursor.take(head >> 1)
    need(data, "a set without bytes")
    if head & 1:
        ids = roaring(data)
        need(len(ids) > 32, "Roaring for a small set")
        return tuple(sorted(ids))
    inner = Bytes(data)
    ids = [inner.varint()]
    while inner.left():
        ids.append(ids[-1] + 1 + inner.varint())
    need(ids[-1] < 2**32, "an id over 32 bits")
    return tuple(ids)


class Tags:
    """Section 7.2: sets[tag, file_id] is (rows, ordinals); left[file_id] is (rows, tags). File_ids are first_file
    up to files, of the part alone (11.4); the header counts the numbers from 0 on."""

    def __init__(self, envelope, domains, first_file, files):
        _, _, count, entries, rows, n, lines, left, zero = envelope.header("<4sIQQQQQQ8s")
        need((n, lines) == (domains, files) and not any(zero), "tags: header")
        table, names, of_file, sets, over = (envelope[t] for t in (b"TAGS", b"NAME", b"FILE", b"SETS", b"LEFT"))
        need((len(table), len(of_file), len(over)) == (16 * count, 20 * entries, 24 * left), "tags: sizes")
        self.sets, self.left = {}, {}
        begins = [*struct.iter_unpack("<QQ", table), (len(names), entries)]
        records = [*struct.iter_unpack("<QIII", of_file), (len(sets), 0, 0, 0)]
        need(begins[0] == (0, 0) and records[0][0] == 0, "tags: something before the first")
        last = b""
        for (name, first), (name_end, end) in zip(begins, begins[1:]):
            tag = names[name:name_end]
            need(last < tag and is_tag(tag) and first < end <= entries, f"tags: {tag}")
            last, file_before = tag, first_file - 1
            for number in range(first, end):
                at, file_id, row_count, domain_count = records[number]
                cursor = Bytes(sets, at, records[number + 1][0])
                pair = stored_set(cursor), stored_set(cursor)
                cursor.done(f"tags: sets of {tag}")
                need(file_before < file_id < files and tuple(map(len, pair)) == (row_count, domain_count), f"tags: {tag} in {file_id}")
                need(pair[1][-1] < domains, f"tags: {tag}: a domain")
                self.sets[tag, file_id], file_before = pair, file_id
        need(rows == sum(len(r) for r, _ in self.sets.values()), "tags: rows in the header")
        for file_id, zero, no_list, no_tag in struct.iter_unpack("<IIQQ", over):
            need(not zero and (no_list or no_tag) and max(self.left, default=first_file - 1) < file_id < files, "tags: LEFT")
            self.left[file_id] = no_list, no_tag


def is_tag(text):
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return 0 < len(text) <= 1024 and not any(c < 32 or c == 127 for c in text)


def tags_of(value):
    """The members of a value of the column, or None: no array of strings."""
    if not value:
        return []
    try:
        found = json.loads(value.decode())
    except ValueError:
        return None
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        return None
    return [one.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode() for one in found]


Counts = collections.namedtuple("Counts", "urls rows first last")


class CountsFile:
    """Section 7: by_pair[ordinal, dataset_id] is a Counts; times in microseconds or None.
    distinct[ordinal] is (distinct URLs over all datasets, whether that is an estimate)."""

    def __init__(self, envelope, membership):
        (_, _, n, pairs, self.base, self.unit, rows, urls, self.times, self.first_bits, self.last_bits,
         zero) = envelope.header("<4sIQQqQQQBBB5s")
        data, anch = envelope[b"DATA"], envelope[b"ANCH"]
        need(n == len(membership.sets) and pairs == membership.pairs and self.unit >= 1 and not any(zero), "counts: header")
        groups = -(-n // 32)
        need(len(anch) == 5 * (groups + 1), "counts: size of ANCH")
        anchors = [int.from_bytes(anch[5 * i:5 * i + 5], "little") for i in range(groups + 1)]
        need(anchors[0] == 0 and anchors[-1] == len(data) and anchors == sorted(anchors), "counts: anchors")
        self.by_pair = {}
        self.distinct = {}
        for group in range(groups):
            sets = membership.sets[32 * group:32 * group + 32]
            self._group(Bytes(data, anchors[group], anchors[group + 1]), 32 * group, sets)
        counts = self.by_pair.values()
        self.rows, self.urls = sum(c.rows for c in counts), sum(c.urls for c in counts)
        need((self.rows, self.urls) == (rows, urls), "counts: sums")
        self._shape_of_ours(counts)

    def _group(self, cursor, ordinal, sets):
        where = f"counts: group of {ordinal}"
        pairs = [(ordinal + i, dataset_id) for i, ids in enumerate(sets) for dataset_id in ids]
        m, lasts, size = cursor.varint(), cursor.varint(), cursor.varint()
        need(m == len(pairs), f"{where}: {m} pairs, its sets have {len(pairs)}")
        column = Bits(cursor.take(-(-m // 8)))
        ends = [column.take(1) for _ in range(m)]
        column.done(where)
        need(ends == [int(i + 1 == len(ids)) for ids in sets for i in range(len(ids))], f"{where}: ends")
        column = Bits(cursor.take(-(-m // 2)))
        codes = [column.take(4) for _ in range(m)]
        column.done(where)
        timed = [self.times] * m
        if self.times == 2:
            column = Bits(cursor.take(-(-m // 8)))
            timed = [column.take(1) for _ in range(m)]
            column.done(where)
        column = Bits(cursor.take(-(-(sum(timed) * self.first_bits + lasts * self.last_bits) // 8)))
        counts = []
        for code in codes:
            urls = code + 1 if code < 15 else cursor.varint() + 1
            rows = urls if code < 15 else urls + cursor.varint()
            need(code < 15 or urls > 15 or rows > urls, f"{where}: code 15 where another would do")
            counts.append((urls, rows))
        need(cursor.left() == size, f"{where}: {size} bytes of distinct URLs, {cursor.left()} are left")
        self._distinct(cursor, pairs, [urls for urls, _ in counts])
        cursor.done(where)
        firsts = [self.base + column.take(self.first_bits) * self.unit if has else None for has in timed]
        for pair, (urls, rows), first in zip(pairs, counts, firsts):
            last = first
            if first is not None and rows > 1:
                last = first + column.take(self.last_bits) * self.unit
                lasts -= 1
            self.by_pair[pair] = Counts(urls, rows, first, last)
        need(lasts == 0, f"{where}: number of last times")
        column.done(where)

    def _distinct(self, cursor, pairs, urls):
        of_domain = collections.defaultdict(list)
        for (ordinal, _), n in zip(pairs, urls):
            of_domain[ordinal].append(n)
        for ordinal, counts in of_domain.items():
            less, estimate = divmod(cursor.varint(), 2) if len(counts) > 1 else (0, 0)
            need(less <= sum(counts) - max(counts), f"counts: domain {ordinal}: {counts} and {less} less")
            self.distinct[ordinal] = (sum(counts) - less, bool(estimate))

    def _shape_of_ours(self, counts):
        """What section 7 says that writers choose."""
        firsts = [c.first for c in counts if c.first is not None]
        spans = [c.last - c.first for c in counts if c.first is not None]
        steps = [t - self.base for t in firsts] + spans
        need(self.base == min(firsts, default=0), "counts: ts_base is not the smallest time")
        need(self.unit == (math.gcd(*steps) or 1), f"counts: ts_unit {self.unit}")
        need(self.times == (0 if not firsts else 1 if len(firsts) == len(counts) else 2), f"counts: kind of times {self.times}")
        need(self.first_bits == ((max(firsts, default=0) - self.base) // self.unit).bit_length(), "counts: bits of a first time")
        need(self.last_bits == (max(spans, default=0) // self.unit).bit_length(), "counts: bits of a last time")


# ---------------------------------------------------------------- section 8

class Postings:
    """Section 8: runs[ordinal, dataset_id] is a list of (file_id, row_group, first_row, row_count); sets: of each domain, ascending."""

    def __init__(self, envelope, read, build_id, sets):
        _, _, a_page, datasets, pages, pairs, idx_size, dat_size, domains, more = envelope.header("<4sIIIQQQQQ8s")
        need(a_page == 512 and not any(more) and domains == len(sets), "postings.dxp: header")
        records, files = envelope[b"PAGE"], envelope[b"FILE"]
        need(len(records) == 64 * pages and len(files) == 8 * datasets, "postings.dxp: sizes")
        self.first_files = dict(struct.iter_unpack("<II", files))
        need(list(self.first_files) == sorted({d for ids in sets for d in ids}), "postings.dxp: datasets of FILE")
        self.pairs = [(ordinal, dataset_id) for ordinal, ids in enumerate(sets) for dataset_id in ids]
        self.places = [(ordinal, number) for ordinal, ids in enumerate(sets) for number in range(len(ids))]
        self.runs, self.first, self.entries = {}, [], []
        idx, dat = read("postings.idx.zst"), read("postings.dat.zst")
        need((len(idx), len(dat)) == (idx_size, dat_size), "postings: sizes")
        self._pages(build_id, Seekable("postings.idx.zst", idx), Seekable("postings.dat.zst", dat), pairs,
                    [struct.unpack_from("<QIIQQIIIIQQ", records, 64 * i) for i in range(pages)])
        need(len(self.runs) == pairs == len(self.pairs), "postings.dxp: pairs")

    def _pages(self, bid, idx, dat, entries, places):
        where = "postings"
        need(len(idx.frames) == len(places), f"{where}: {len(idx.frames)} idx frames, {len(places)} pages")
        frames, n = [idx.frame(i) for i in range(len(idx.frames))], entries
        if frames:
            magic, version, n = struct.unpack_from("<4sIQ", frames[0])
            need((magic, version, n) == (b"PDX1", 3, entries), f"{where}: idx header")
            frames[0] = frames[0][16:]
        pages = [self._page(where, frame) for frame in frames]
        rows = [row for page in pages for row in page]
        need(len(rows) == n, f"{where}: {len(rows)} entries of {n}")
        need([row[:2] for row in rows] == self.places, f"{where}: other entries than the sets")
        done = plain_at = idx_at = dat_at = frame = 0
        for number, (ordinal, rank, count, idx_off, dat_off, idx_c, idx_p, dat_c, dat_p, idx_sum,
                     dat_sum) in enumerate(places):
            mine, key = rows[done:done + count], number
            need(0 < count <= 512 and mine[0][:2] == (ordinal, rank), f"{where}: first entry of page {number}")
            need((idx_off, dat_off) == (idx_at, dat_at), f"{where}: page {number} does not follow")
            need(count == len(pages[number]), f"{where}: entries of page {number}")
            need(idx.frames[number][:3] == (idx_off, idx_c, idx_p), f"{where}: idx frame {number}")
            need(idx_c <= 2 * idx_p + 4096 and dat_c <= 2 * dat_p + 4096, f"{where}: page {number} takes more bytes than its plain size can")
            need(checksum(bid, b"PIDX", key, idx.data[idx_off:idx_off + idx_c]) == idx_sum, f"{where}: sum of idx {number}")
            need(checksum(bid, b"PDAT", key, dat.data[dat_off:dat_off + dat_c]) == dat_sum, f"{where}: sum of dat {number}")
            sizes = [row[2] for row in mine]
            need(sum(sizes) == dat_p, f"{where}: plain size of dat page {number}")
            need(count == 1 or dat_p <= 256 << 10, f"{where}: page {number} is too large")
            if done + count < n and count < 512:
                need(dat_p + rows[done + count][2] > 256 << 10, f"{where}: page {number} has room")
            payloads, compressed = b"", 0
            while len(payloads) < dat_p:
                piece = dat.frame(frame)
                need(len(piece) == min(1 << 20, dat_p - len(payloads)), f"{where}: dat frame {frame}")
                payloads, compressed, frame = payloads + piece, compressed + dat.frames[frame][1], frame + 1
            need(compressed == dat_c, f"{where}: compressed size of dat page {number}")
            at = 0
            for pair, (_, _, size) in zip(self.pairs[done:], mine):
                self.runs[pair] = self.payload(payloads[at:at + size], self.first_files[pair[1]])
                at += size
            done, plain_at, idx_at, dat_at = done + count, plain_at + dat_p, idx_at + idx_c, dat_at + dat_c
            self.first.append(mine[0][:2])
            self.entries.append(set(self.pairs[done - count:done]))
        need(done == n and frame == len(dat.frames) and plain_at == dat.plain_size, f"{where}: left over")

    @staticmethod
    def _page(where, data):
        """8.1: (ordinal, number, payload_len) of each entry."""
        count, ordinal, number, k = struct.unpack_from("<HQIB", data)
        bits, rows, values = Bits(data[15:]), [], []
        need(k <= 63, f"{where}: a code of {k}")

        def rice():
            ones = 0
            while ones < 32 and bits.take(1):
                ones += 1
            value = bits.take(64) if ones == 32 else ones << k | bits.take(k)
            need(ones < 32 or value >> k >= 32, f"{where}: a code that is longer than it need be")
            values.append(value)
            return value
        for i in range(count):
            if i > 0:
                ordinal, number = (ordinal, number + 1) if bits.take(1) else (ordinal + 1, 0)
            rows.append((ordinal, number, 3 + rice()))
        bits.done(f"{where}: a page")
        middle = (sum(values) // len(values)).bit_length()  # what section 8.1 says that writers choose
        sizes = [sum((v >> x) + 1 + x if v >> x < 32 else 96 for v in values) for x in range(max(middle - 3, 0), min(middle, 63) + 1)]
        need(k == max(middle - 3, 0) + sizes.index(min(sizes)), f"{where}: code {k} for {count} lengths")
        return rows

    @staticmethod
    def payload(data, first_file):  # that files stand in order of paths is seen later
        need(2 < len(data) <= 64 << 20, "payload: size")
        cursor, runs, files = Bytes(data), [], []
        while cursor.left():
            head = cursor.varint()
            code, further = head >> 1, head & 1
            if not runs:
                file_id = first_file + code
            else:
                need(code != 1, "payload: a sign without a number")
                file_id = runs[-1][0] + (-(code >> 1) if code & 1 else code >> 1)
            same = runs and runs[-1][0] == file_id
            group = (runs[-1][1] if same else 0) + (1 + cursor.varint() if further else 0)
            first = cursor.varint() + (runs[-1][2] + runs[-1][3] if same and group == runs[-1][1] else 0)
            count = 1 + cursor.varint()
            need(0 <= file_id < 2**32 and group < 2**32 and first + count <= M64, "payload: run")
            files += [] if same else [file_id]
            runs.append((file_id, group, first, count))
        need(len(set(files)) == len(files), "payload: a file comes back")
        return runs

    def has(self, ordinal, number, dataset_id):
        """8.3: the last page whose first entry is not behind the pair has it."""
        page = bisect.bisect_right(self.first, (ordinal, number)) - 1
        return page >= 0 and (ordinal, dataset_id) in self.entries[page]


# ---------------------------------------------------------------- sections 9, 10

PATH = re.compile(r"^[A-Za-z0-9_][A-Za-z0-9._=-]*(/[A-Za-z0-9_][A-Za-z0-9._=-]*)*$")
NUMBER = re.compile(r"^(0|[1-9][0-9]{0,18})$")
File = collections.namedtuple("File", "dataset_id prefix path size etag rows")


def number(text, below=2**63):
    need(NUMBER.match(text) and int(text) < below, f"{text!r} is no number here")
    return int(text)


def files_tsv(text, first_file):
    """Section 9; the first line of a part is that of its first_file (11.4)."""
    out = []
    for i, line in enumerate(text.decode("ascii").split("\n")[:-1], first_file):
        fields = line.split("\t")
        need(len(fields) == 7 and fields[0] == str(i), f"files.tsv: line {i}")
        _, dataset_id, prefix, path, size, etag, rows = fields
        if dataset_id == "0":  # a file that went
            need(fields[2:] == ["-", "-", "0", "-", "0"], f"files.tsv: line {i}: a hole")
            out.append(None)
            continue
        need(re.match(r"^[0-9a-f]{2}(-[0-9a-f]{2})?$", prefix), f"files.tsv: domain_prefix {prefix}")
        need(PATH.match(path) and len(path) <= 512, f"files.tsv: path {path}")
        need(re.match(r"^[!-~]{1,128}$", etag), f"files.tsv: etag {etag}")
        out.append(File(number(dataset_id, 2**32), prefix, path, number(size), etag, number(rows)))
        need(out[-1].dataset_id >= 1, "files.tsv: dataset 0")
    paths = [file.path for file in out if file]
    need(len(set(paths)) == len(paths), "files.tsv: a path twice")
    return out


Column = collections.namedtuple("Column", "role name type codec levels unit length dictionary pages")
Page = collections.namedtuple("Page", "offset length rows sum")
Group = collections.namedtuple("Group", "rows columns")
ROLES = {"scheme": 1, "host": 2, "path_query": 3, "raw_url": 4, "ts": 5}


class Pages:
    """Section 10: groups[i] is a list of Group, sums[i] the hash of the file; i counts from the part's first file."""

    def __init__(self, envelope, files):
        _, _, count, groups, rows, has_strays, zero = envelope.header("<4sIQQQQ24s")
        need(count == len(files) and has_strays == 1 and not any(zero), "pages.dxp: header")
        records, paths, grpx, grpd = (envelope[t] for t in (b"FILE", b"PATH", b"GRPX", b"GRPD"))
        need(len(records) == 64 * count and len(grpx) == 8 * (groups + 1), "pages.dxp: sizes")
        ends = struct.unpack(f"<{groups + 1}Q", grpx)
        need(ends[0] == 0 and ends[-1] == len(grpd) and list(ends) == sorted(ends), "pages.dxp: GRPX")
        self.groups, self.sums, next_group, path_at, total = [], [], 0, 0, 0
        for i, file in enumerate(files):
            if file is None:
                need(not any(records[64 * i:64 * i + 64]), f"pages.dxp: file {i}: a hole")
                self.groups.append([])
                self.sums.append(None)
                continue
            (dataset_id, n, first, file_rows, size, offset, length, zero,
             sum128) = struct.unpack_from("<IIQQQQII16s", records, 64 * i)
            need((dataset_id, file_rows, size) == (file.dataset_id, file.rows, file.size), f"pages.dxp: file {i}")
            need(first == next_group and zero == 0 and offset == path_at, f"pages.dxp: file {i}: places")
            need(paths[offset:offset + length] == file.path.encode(), f"pages.dxp: file {i}: path")
            need(first + n <= groups, f"pages.dxp: file {i}: row groups")
            mine = [self._group(Bytes(grpd, ends[g], ends[g + 1]), size) for g in range(first, first + n)]
            need(sum(g.rows for g in mine) == file_rows, f"pages.dxp: file {i}: rows")
            self.groups.append(mine)
            self.sums.append(sum128)
            next_group, path_at, total = first + n, path_at + length, total + file_rows
        need((next_group, path_at, total) == (groups, len(paths), rows), "pages.dxp: totals")
        self.strays = [self._stray(envelope[b"STRY"], at) for at in range(0, len(envelope[b"STRY"]), 16)]
        need(self.strays == sorted(set(self.strays)), "pages.dxp: STRY")

    def _stray(self, section, at):
        """(file, row group, row)"""
        need(at + 16 <= len(section), "pages.dxp: STRY is cut")
        file, group, row = struct.unpack_from("<IIQ", section, at)
        need(file < len(self.groups) and group < len(self.groups[file]) and row < self.groups[file][group].rows, "pages.dxp: STRY: no such row")
        return file, group, row

    @staticmethod
    def _group(cursor, file_size):
        rows, count, columns = cursor.varint(), cursor.varint(), []
        need(count <= 64, "pages.dxp: columns")
        for _ in range(count):
            role, name = cursor.u8(), cursor.take(cursor.varint()).decode()
            need(1 <= role <= 6 and 1 <= len(name.encode()) <= 255, f"pages.dxp: column {name!r} of role {role}")
            type_, codec, levels, unit, length = (cursor.u8(), cursor.u8(), cursor.u8(), cursor.u8(), cursor.varint())
            need(levels <= 1 and unit <= 4 and length < 2**31, f"pages.dxp: column {name}")
            dictionary = None
            size = cursor.varint()
            if size:
                offset = cursor.varint()
                dictionary = Page(offset, size, 0, cursor.u32())
                need(offset + size <= file_size, "pages.dxp: dictionary outside of the file")
            at, pages = cursor.varint(), []
            for i in range(cursor.varint()):
                gap, size = cursor.varint(), cursor.varint()
                need((i or gap == 0) and 1 <= size < 2**32, "pages.dxp: a page")
                pages.append(Page(at + gap, size, cursor.varint(), cursor.u32()))
                at += gap + size
            need(at <= file_size and sum(p.rows for p in pages) == rows, f"pages.dxp: pages of {name}")
            columns.append(Column(role, name, type_, codec, levels, unit, length, dictionary, pages))
        cursor.done("pages.dxp: a row group")
        return Group(rows, columns)


# ---------------------------------------------------------------- sections 7.1, 10.1, 14

class Codes:
    """Bits as in section 7.1, with its Rice and gamma codes, read in place."""

    def __init__(self, data, at=0):
        self.data, self.at = data, 8 * at

    def take(self, width):
        begin, self.at = self.at, self.at + width
        need(self.at <= 8 * len(self.data), "bits are cut")
        piece = int.from_bytes(self.data[begin >> 3:(self.at + 7) >> 3], "little")
        return piece >> (begin & 7) & ((1 << width) - 1)

    def ones(self, most):
        n, data, at = 0, self.data, self.at
        while n < most:
            need(at < 8 * len(data), "bits are cut")
            bit = data[at >> 3] >> (at & 7) & 1
            at += 1
            if not bit:
                break
            n += 1
        self.at = at
        return n

    def rice(self, k):
        high = self.ones(32)
        value = self.take(64) if high == 32 else high << k | self.take(k)
        need(high < 32 or value >> k >= 32, "a long Rice code of a short number")
        return value

    def gamma(self):
        m = self.ones(64)
        need(m < 64, "a gamma code of 64 ones")
        return 1 << m | self.take(m)

    def to_byte(self):
        need(self.take(-self.at % 8) == 0, "bits behind the last one are not zero")
        return self.at // 8


class DatasetDomains:
    """Section 7.1: lists[dataset_id] is {ordinal: url_count}; ranking and head are checked against it."""

    def __init__(self, envelope):
        _, _, self.n, self.pairs, zero = envelope.header("<4sIQQ40s")
        self.list, table = envelope[b"LIST"], envelope[b"DSET"]
        need(not any(zero) and len(table) % 40 == 0, "dataset_domains: header, DSET")
        self.lists, self.at, last = {}, 0, 0
        for i in range(0, len(table), 40):
            dataset_id, n, urls, at, size, head, d_and_c = struct.unpack_from("<IIQQQII", table, i)
            need(dataset_id > last and at == self.at and n >= 1, f"dataset_domains: dataset {dataset_id}")
            last = dataset_id
            counts = self._list(f"dataset_domains: dataset {dataset_id}", n, size, head, d_and_c & 0xFFFFFF, d_and_c >> 24)
            need(sum(counts.values()) == urls, f"dataset_domains: dataset {dataset_id}: sum of its URLs")
            self.lists[dataset_id] = counts
        need(self.at == len(self.list), "dataset_domains: bytes behind the last list")
        need(sum(map(len, self.lists.values())) == self.pairs, "dataset_domains: pairs")

    def _list(self, where, n, size, head, different, count_bits):
        o, r, s = (self.n - 1).bit_length(), n.bit_length(), size.bit_length()
        begin, codes, counts, firsts = self.at, Codes(self.list, self.at + size), {}, []
        for _ in range(-(-n // 128)):
            firsts.append((codes.take(o), codes.take(s)))
        codes.to_byte()
        ranking = [(codes.take(count_bits), codes.take(r)) for _ in range(different)]
        codes.to_byte()
        best = [codes.take(o) for _ in range(head)]
        self.at = codes.to_byte()
        last, block = -1, Codes(self.list, begin)
        for number, (ordinal, place) in enumerate(firsts):
            need(block.at == 8 * (begin + place), f"{where}: block {number} begins elsewhere")
            k = block.take(8)
            need(k <= 32 and ordinal > last, f"{where}: block {number}")
            counts[ordinal] = block.gamma()
            for _ in range(min(128, n - 128 * number) - 1):
                ordinal += block.rice(k) + 1
                counts[ordinal] = block.gamma()
            block.to_byte()
            last = ordinal
        need(block.at == 8 * (begin + size) and last < self.n and len(counts) == n, f"{where}: blocks")
        order_of = sorted(counts, key=lambda ordinal: (-counts[ordinal], ordinal))
        at_least = {counts[ordinal]: i + 1 for i, ordinal in enumerate(order_of)}
        need(ranking == sorted(at_least.items(), reverse=True), f"{where}: ranking")
        need(count_bits == ranking[0][0].bit_length(), f"{where}: bits of the largest count")
        need(best == order_of[:head], f"{where}: head of the ranking")
        need(head == (0 if n <= 1024 else min(1 << 22, max(1000, -(-n // 10)))), f"{where}: a head of {head}")
        return counts


Host = collections.namedtuple("Host", "urls rows")
Fact = collections.namedtuple("Fact", "hosts paths")  # hosts None: too many; paths None, or (number, [(host, path, urls, rows)]) twice


class Cold:
    """Section 14: facts[ordinal, dataset_id], sketches[ordinal, dataset_id] (a list of hashes or registers
    as bytes), places as (id, row group, first row of the unit, rows; 0: those of the unit)."""

    FILES = (("facts.dat.zst", b"FACT"), ("sketches.dat.zst", b"SKTC"), ("url_ids.dat.zst", b"UIDS"))

    def __init__(self, envelope, read, build_id, domains, counts):
        head = envelope.header("<4sIIIQQQQQQ")
        need(head[2:4] == (3, 40), "cold.dxp: header")
        pages = []
        for i, (name, tag) in enumerate(self.FILES):
            size, entries = head[4 + 2 * i:6 + 2 * i]
            data = read(name)
            need(len(data) == size, f"cold.dxp: size of {name}")
            pages.append(self._pages(name, tag, envelope[tag], data, build_id))
            need(sum(page[2] for page in pages[-1]) == entries, f"cold.dxp: entries of {name}")
        need(head[5] == head[7] == len(counts), "cold.dxp: pairs")
        self.facts, self.sketches = {}, {}
        datasets = collections.defaultdict(list)  # of each domain, by rank
        for ordinal, dataset_id in sorted(counts):
            datasets[ordinal].append(dataset_id)
        for pair, data in self._entries("facts.dat.zst", pages[0], datasets):
            self.facts[pair] = self._fact(Bytes(data), domains[pair[0]], counts[pair])
        for pair, data in self._entries("sketches.dat.zst", pages[1], datasets):
            self.sketches[pair] = self._sketch(data)
        need(list(self.facts) == list(self.sketches) == sorted(counts), "facts or sketches: other pairs than the counts")
        self.places = list(self._places(pages[2], envelope[b"UIDX"]))

    @staticmethod
    def _pages(name, tag, records, data, build_id):
        """[(key, sub, entries, plain bytes)]; every frame belongs to one page."""
        file, out, at, frame, last = Seekable(name, data), [], 0, 0, (-1, 0)
        for number in range(len(records) // 40):
            key, sub, entries, offset, size, plain, want = struct.unpack_from("<QIIQIIQ", records, 40 * number)
            need((key, sub) > last and offset == at and 1 <= entries and 1 <= plain <= 64 << 20, f"{name}: page {number}")
            need(entries <= (1 << 14 if tag == b"UIDS" else plain), f"{name}: entries of page {number}")
            need(size <= 2 * plain + 4096, f"{name}: page {number} takes more bytes than its plain size can")
            last = (key, sub)
            need(checksum(build_id, tag, number, data[at:at + size]) == want, f"{name}: sum of page {number}")
            text, at = b"", at + size
            while frame < len(file.frames) and file.frames[frame][0] < at:
                text += file.frame(frame)
                need(len(text) == plain or len(text) % (1 << 20) == 0, f"{name}: frames of page {number}")
                frame += 1
            need(len(text) == plain, f"{name}: page {number} has {len(text)} bytes")
            out.append((key, sub, entries, text))
        need(frame == len(file.frames) and len(records) % 40 == 0, f"{name}: frames of no page")
        return out

    @staticmethod
    def _entries(name, pages, datasets):
        """14.2: ((ordinal, dataset_id), bytes), ascending."""
        before = (-1, 0)
        for number, (key, sub, entries, text) in enumerate(pages):
            cursor = Bytes(text)
            sizes = [cursor.varint() for _ in range(2)]
            ordinals, lengths = (Bytes(cursor.take(size)) for size in sizes)
            ordinal, rank, total = key, sub, 0
            for i in range(entries):
                step = ordinals.varint()
                need(i or step == 0, f"{name}: page {number}: its first ordinal")
                ordinal += step
                rank = rank if i == 0 else rank + 1 if step == 0 else 0
                need((ordinal, rank) == (before[0], before[1] + 1) or (ordinal > before[0] and rank == 0), f"{name}: page {number}: entry {i}")
                need(rank < len(datasets.get(ordinal, ())), f"{name}: page {number}: pair {rank} of domain {ordinal}")
                before = (ordinal, rank)
                length = lengths.varint() + 1
                total += length
                yield (ordinal, datasets[ordinal][rank]), cursor.take(length)
            for part in (ordinals, lengths, cursor):
                part.done(f"{name}: page {number}")
            need(len(text) <= 65536 or entries == 1, f"{name}: page {number} has {len(text)} bytes")

    @staticmethod
    def _name(cursor, domain, before):
        size, kind = divmod(cursor.varint(), 4)
        text = cursor.take(size)
        if kind == 3:
            need(size == 0 and before is not None, "facts: a host that is like none")
            return before
        if kind == 1:
            return text + domain + cursor.take(cursor.varint())
        return text if kind == 2 else text + domain

    def _fact(self, cursor, domain, counts):
        shape = cursor.u8()
        need(shape & 7 <= 4 and shape < 16, f"facts: shape {shape}")
        hosts, left = {}, [counts.urls, counts.rows]

        def host(name, urls, rows):
            need(urls >= 1 and rows >= urls and (not hosts or name > next(reversed(hosts))), f"facts: host {name}")
            hosts[name] = Host(urls, rows)
            left[0], left[1] = left[0] - urls, left[1] - rows

        def two(of):
            urls = of.varint() + 1
            return urls, urls + of.varint()

        if shape & 7 == 2:
            first, second = sorted((domain, b"www." + domain))
            host(first, *two(cursor))
            host(second, *left)
        elif shape & 7 == 3:
            n = cursor.varint()
            part = Bytes(cursor.take(cursor.varint()))
            for i in range(n):
                name = self._name(part, domain, None)
                host(name, *(two(part) if i + 1 < n else left))
            part.done("facts: hosts")
        elif shape & 7 == 4:
            cursor.varint()
            hosts = None
        else:
            host(domain if shape & 7 == 0 else b"www." + domain, *left)
        need(hosts is None or left == [0, 0], f"facts: hosts of {domain} leave {left}")
        paths = None
        if shape & 8:
            paths = [self._paths(cursor, domain) for _ in range(2)]
        cursor.done(f"facts of {domain}")
        return Fact(hosts, paths)

    def _paths(self, cursor, domain):
        number, listed = cursor.varint(), cursor.varint()
        part, out, name, urls = Bytes(cursor.take(cursor.varint())), [], None, None
        need(listed == min(number, 256), f"facts of {domain}: {listed} paths of {number}")
        for _ in range(listed):
            name = self._name(part, domain, name)
            path = part.take(part.varint())
            urls = part.varint() + 1 if urls is None else urls - part.varint()
            need(urls >= 1, f"facts of {domain}: a path without URLs")
            out.append((name, path, urls, urls + part.varint()))
        part.done(f"facts of {domain}: paths")
        return number, out

    @staticmethod
    def _registers(data):
        """14.3: in which the most frequent value takes no bits."""
        codes = Codes(data, 1)
        values = [codes.take(5) for _ in range(codes.take(5))]
        k, others = codes.take(4), codes.take(12)
        need(values and max(values) <= 29, "sketch: values")
        registers, at = bytearray([values[0]]) * 4096, 0
        for _ in range(others):
            at += codes.rice(k)
            need(at < 4096, "sketch: a register behind the last")
            registers[at] = values[codes.rice(0) + 1]
            at += 1
        end = codes.to_byte()
        need(len(data) == max(end, 16) and not any(data[end:]), "sketch: bytes behind registers")
        count, gaps, gap = collections.Counter(registers), [], 0
        need(values == sorted(count, key=lambda v: (-count[v], v)), "sketch: order of values")
        for one in registers:
            gaps, gap = (gaps, gap + 1) if one == values[0] else (gaps + [gap], 0)
        size = [sum((g >> i) + 1 + i if g >> i < 32 else 96 for g in gaps) for i in range(12)]
        need(k == size.index(min(size)), "sketch: k of registers")
        return bytes(registers)

    @classmethod
    def _sketch(cls, data):
        if len(data) in (5, 10, 15):
            hashes = [int.from_bytes(data[i:i + 5], "little") for i in range(0, len(data), 5)]
            need(hashes == sorted(set(hashes)), "sketch: hashes")
            return hashes
        if data[0] == 0:
            return cls._registers(data)
        cursor = Bytes(data)
        n = cursor.varint()
        need(4 <= n <= 512, f"sketch: {n} hashes")
        codes, hashes = Codes(data, cursor.at), []
        for _ in range(n):
            hashes.append(codes.rice(40 - n.bit_length()) + (hashes[-1] + 1 if hashes else 0))
        need(codes.to_byte() == len(data) and hashes == sorted(set(hashes)) and hashes[-1] < 1 << 40, "sketch: hashes")
        return hashes

    @staticmethod
    def _ids(section, key, n):
        """10.1: the list of a page, and where it ends."""
        first, at = key >> 32, 8 * (key & 0xffffffff)
        last, zero = struct.unpack_from("<II", section, at)
        need(zero == 0 and last >= first, f"cold.dxp: list of {first:#x}")
        low = max(0, ((last - first) // n).bit_length() - 1)
        buckets = ((last - first) >> low) + 1
        begins = (buckets - 1) // 256
        begin = at + 8 + (begins + 3) // 4 * 8
        middle = begin + (n + buckets + 63) // 64 * 8
        end = middle + (n * low + 63) // 64 * 8
        need(end <= len(section), "cold.dxp: UIDX is cut")
        high, lows = (int.from_bytes(section[a:b], "little") for a, b in ((begin, middle), (middle, end)))
        need(high >> n + buckets == 0 and lows >> n * low == 0, f"cold.dxp: bits behind the list of {first:#x}")
        ids, bucket, begins_at = [], 0, []
        for bit, one in enumerate(f"{high:0{n + buckets}b}"[::-1], 1):
            if one == "0":
                bucket += 1
                begins_at += [bit] if bucket % 256 == 0 and bucket < buckets else []
            else:
                ids.append(first + (bucket << low | lows >> len(ids) * low & (1 << low) - 1))
        need(bucket == buckets and len(ids) == n and (ids[0], ids[-1]) == (first, last), f"cold.dxp: list of {first:#x}")
        need(section[at + 8:begin] == struct.pack(f"<{begins}H", *begins_at) + bytes(-begins % 4 * 2), f"cold.dxp: buckets of {first:#x}")
        return ids, end

    @classmethod
    def _places(cls, pages, section):
        last, end = (-1, 0, 0, 0), 0
        for key, sub, entries, text in pages:
            cursor = Bytes(text)
            n, g, r, s, zero, more = cursor.u32(), cursor.u8(), cursor.u8(), cursor.u8(), cursor.u8(), cursor.u32()
            need(n == entries and zero == sub == 0 and end == 8 * (key & 0xffffffff), f"url_ids: page of {key:#x}")
            ids, end = cls._ids(section, key, n)
            codes = Codes(text, 12)
            where = [(codes.take(g), 256 * codes.take(r)) for _ in range(n)]
            codes.to_byte()
            longer = [(codes.take((n - 1).bit_length()), codes.take(s) + 2) for _ in range(more)]
            need(codes.to_byte() == len(text), "url_ids: bytes behind a page")
            rows = dict(longer)
            need(list(rows) == sorted(rows) and len(rows) == more and all(i < n for i in rows), "url_ids: places of more rows")
            for i, (one, place) in enumerate(zip(ids, where)):
                need((one, *place, rows.get(i, 0)) >= last, "url_ids: entries do not ascend")
                last = (one, *place, rows.get(i, 0))
                yield last
        need(end == len(section), "cold.dxp: bytes of UIDX behind its lists")


def h40(scheme, host, path_query):
    """14.3: the hash of a URL."""
    seed = xxhash.xxh3_64_intdigest(scheme, seed=0x736b657463683438)
    return xxhash.xxh3_64_intdigest(path_query, seed=xxhash.xxh3_64_intdigest(host, seed=seed)) >> 24


def path_of(path_query):
    return path_query.split(b"?", 1)[0]


def section_of(path_query):
    path = path_of(path_query)
    second = path.find(b"/", 1)
    return path[:second + 1] if path[:1] == b"/" and second > 0 else b"/"


def check_tallies(part, pair, urls):
    """Facts and sketch of a pair made anew; urls: {(scheme, host, path_query): rows}."""
    fact, sketch, where = part.cold.facts[pair], part.cold.sketches[pair], f"{part.domains[pair[0]]}, {pair[1]}"

    def tally(key_of_url):
        out = collections.defaultdict(lambda: [0, 0])
        for (_, host, path_query), rows in urls.items():
            one = out[key_of_url(host, path_query)]
            one[0], one[1] = one[0] + 1, one[1] + rows
        return out

    want = {host: Host(*two) for host, two in sorted(tally(lambda host, _: host).items())}
    need(fact.hosts == want, f"{where}: hosts {fact.hosts}, the rows say {want}")
    need((fact.paths is not None) == (sum(urls.values()) > 4096), f"{where}: paths, or none")
    for told, cut in zip(fact.paths or (), (path_of, section_of)):
        best = sorted(((host, path, *two) for (host, path), two in tally(lambda host, p, cut=cut: (host, cut(p))).items()),
                      key=lambda one: (-one[2], -one[3], *one[:2]))
        need(told == (len(best), best[:256]), f"{where}: paths {told[0]}, the rows say {len(best)}")
    hashes = sorted({h40(*url) for url in urls})
    if len(hashes) > 512:
        registers = bytearray(4096)
        for value in hashes:
            rest = value & (1 << 28) - 1
            registers[value >> 28] = max(registers[value >> 28], 29 - rest.bit_length())
        hashes = bytes(registers)
    need(sketch == hashes, f"{where}: sketch")


# ---------------------------------------------------------------- section 11

class Dead:
    """Section 11.5: parts is a list of (build id, domains, ordinals, {(dataset_id, url_count): domains}); files: those
    that left."""

    def __init__(self, envelope):
        _, _, count, records, files, zero = envelope.header("<4sIQQQ32s")
        table, sets, rank = (envelope[t] for t in (b"PART", b"SETS", b"RANK"))
        need((len(table), len(rank)) == (64 * count, 20 * records) and not any(zero), "dead.dxb: header, sizes")
        self.parts, at, first = [], 0, 0
        for number, (build_id, domains, taken, offset, size, begin, n) in enumerate(struct.iter_unpack("<16sQQQQQQ", table)):
            where = f"dead.dxb: part {number}"
            need((offset, begin) == (at, first) and offset + size <= len(sets) and begin + n <= records, f"{where}: places")
            cursor, at, first = Bytes(sets, offset, offset + size), offset + size, begin + n
            ordinals = stored_set(cursor) if size else ()
            cursor.done(where)
            need(len(ordinals) == taken and max(ordinals, default=-1) < domains, f"{where}: {taken} domains of {domains}")
            counts, last = {}, (0, 0)
            for dataset_id, urls, how_many in struct.iter_unpack("<IQQ", rank[20 * begin:20 * first]):
                need(last < (dataset_id, urls) and dataset_id and urls and 1 <= how_many <= taken, f"{where}: RANK")
                last = (dataset_id, urls)
                counts[last] = how_many
            self.parts.append((build_id, domains, ordinals, counts))
        need((at, first) == (len(sets), records), "dead.dxb: bytes of no part")
        self.files = ()
        if files:
            cursor = Bytes(envelope[b"GONE"])
            self.files = stored_set(cursor)
            cursor.done("dead.dxb: GONE")
        need(len(self.files) == files, f"dead.dxb: {len(self.files)} files left, not {files}")


def strict_json(text, what):
    def members(pairs):
        need(len(dict(pairs)) == len(pairs), f"{what}: a member twice")
        return dict(pairs)
    try:
        return json.loads(text.decode(), object_pairs_hook=members)
    except ValueError as error:
        raise Complaint(f"{what}: {error}") from error


TIME = re.compile(r"^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d{3}|\.\d{6})?Z$")


def micros(text, what):
    match = TIME.match(text)
    need(match, f"{what}: time {text}")
    fraction = (match.group(2) or ".")[1:]
    need(not fraction.endswith("000") and fraction != "000000", f"{what}: {text} has digits too many")
    whole = datetime.datetime.strptime(match.group(1), "%Y-%m-%dT%H:%M:%S") - datetime.datetime(1970, 1, 1)
    return (whole.days * 86400 + whole.seconds) * 10**6 + int(fraction.ljust(6, "0") or 0)


def iso(us):
    """The text of a time; None stays None."""
    if us is None:
        return None
    seconds, rest = divmod(us, 10**6)
    when = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=seconds)
    digits = "" if not rest else f".{rest // 1000:03d}" if rest % 1000 == 0 else f".{rest:06d}"
    return when.strftime("%Y-%m-%dT%H:%M:%S") + digits + "Z"


DATASET_MEMBERS = ["dataset_id", "name", "metadata", "files", "rows", "urls", "domains", "first_ts", "last_ts"]


def datasets_json(data):
    """Section 11.1: datasets by id."""
    need(len(data) <= 256 << 20, "datasets.json: size")
    whole, out, names = strict_json(data, "datasets.json"), {}, set()
    need(list(whole) == ["datasets"], "datasets.json: members")
    for one in whole["datasets"]:
        need(list(one) == DATASET_MEMBERS[:2] + ["kind"] * ("kind" in one) + DATASET_MEMBERS[2:], f"datasets.json: members {list(one)}")
        need(one.get("kind", "counts") == "counts", f"datasets.json: kind {one.get('kind')}")
        need(max(out, default=0) < one["dataset_id"] < 2**32, "datasets.json: ids do not ascend")
        for text in (one["name"], *one["metadata"]):
            need(1 <= len(text.encode()) <= 255, f"datasets.json: {text!r}")
        for text in (one["name"], *one["metadata"], *one["metadata"].values()):
            need(not re.search("[\0-\x1f\x7f-\x9f]", text), f"datasets.json: {text!r}")
        need(one["name"] not in names and len(one["metadata"]) <= 64, f"datasets.json: {one['name']}")
        need(list(one["metadata"]) == sorted(one["metadata"], key=str.encode), "datasets.json: order of metadata")
        need(all(0 <= one[k] < 2**63 for k in ("files", "rows", "urls", "domains")), "datasets.json: totals")
        need((one["first_ts"] is None) == (one["last_ts"] is None), "datasets.json: one time")
        for key in ("first_ts", "last_ts"):
            if one[key] is not None:
                one[key] = micros(one[key], "datasets.json")
        names.add(one["name"])
        out[one["dataset_id"]] = one
    # 11.1 shows the text itself: a line a dataset, its members in the order of the table
    lines = [json.dumps(one, ensure_ascii=False, separators=(",", ":")) for one in
             json.loads(data)["datasets"]]
    text = '{"datasets":[' + "".join("\n" + line + ("," if i + 1 < len(lines) else "")
                                     for i, line in enumerate(lines)) + "\n]}\n"
    need(text.encode() == data, "datasets.json: another text than 11.1 shows")
    return out


VERSION = re.compile(r"^[0-9]{6}-[0-9]{8}T[0-9]{6}Z$")


def motion(version):
    """11.3: what may happen to a version once it is published."""
    state, times = version["state"], [version["condemned"], version["superseded"]]
    need(state in ("listed", "condemned", "dropped") and (times[0] is None) == (state == "listed"), "manifest: state")
    need(all(t is None or micros(t, "manifest") % 10**6 == 0 for t in times), "manifest: times of a state")
    need(version["base"] is None or (VERSION.match(version["base"]) and version["base"] < version["version"]), "manifest: base")
    need(version["lake_files"] <= version["file_ids"] and version["cleansed"] >= 0, "manifest: file_ids, cleansed")


def manifest_json(data):
    """Section 11.3: the entries by name, and the name of the current one."""
    need(len(data) <= 64 << 20, "manifest: size")
    match = re.search(rb'"checksum": "([0-9a-f]{32})"\n}\n$', data)
    need(match and data.count(b'"checksum"') == 1, "manifest: it does not end as it should")
    need(hash128(data[:match.start()]).hex() == match.group(1).decode(), "manifest: checksum")
    whole = strict_json(data, "manifest")
    need(list(whole) == ["format", "format_version", "sequence", "current_version",
                         *["suppressions", "suppressions_hash"] * ("suppressions" in whole), *["access"] * ("access" in whole), "versions", "checksum"],
         "manifest: members")
    need(type(whole.get("access", 1)) is int and 1 <= whole.get("access", 1) < 1 << 63, "manifest: access")
    need((whole["format"], whole["format_version"]) == ("domaindex-index", 2), "manifest: format")
    versions = whole["versions"]
    need(versions and [v["sequence"] for v in versions] == sorted({v["sequence"] for v in versions}), "manifest: sequences")
    need(whole["sequence"] >= versions[-1]["sequence"] >= 1, "manifest: sequence")
    for version in versions:
        name = version["version"]
        need(VERSION.match(name) and int(name[:6]) == version["sequence"], f"manifest: {name}")
        datetime.datetime.strptime(name[7:], "%Y%m%dT%H%M%SZ")
        need(micros(version["published"], "manifest") % 10**6 == 0, "manifest: published")
        for member, path in PLACES.items():
            need(version[member] == f"index/{name}/{path}", f"manifest: {member} is {version[member]}")
        need(list(version) == ["version", "sequence", "published", "state", "condemned", "superseded", "base", "cleansed",
                               "file_ids", "build_id", "canon_version", "domains", "datasets",
                               "pairs", "rows", "urls", "lake_files", *["gone_files"] * ("gone_files" in version),
                               *["page_count"] * ("page_count" in version), *PART_MEMBERS * ("parts" in version), *PLACES,
                               "psl_hash", "parquet_root", *["pack"] * ("pack" in version), "files"],
             f"manifest: members {list(version)}")
        motion(version)
        root = version["parquet_root"]
        need(root.endswith("/") and PATH.match(root[:-1]), f"manifest: parquet_root {root}")
        files = version["files"]
        need(list(files) == sorted(files), "manifest: files are not in byte order")
        there = {*PLACES.values(), *["dead.dxb"] * ("parts" in version)}
        need(set(files) - {"tags.dxt"} == there, f"manifest: files {sorted(files)}")
        need(re.match("^[0-9a-f]{32}$", version.get("pack", "0" * 32)), "manifest: pack")
        for path, facts in files.items():
            need(list(facts) == ["size", "hash"] and re.match("^[0-9a-f]{32}$", facts["hash"]), f"manifest: {path}")
    entries = {version["version"]: version for version in versions}
    need(entries[whole["current_version"]]["state"] == "listed", "manifest: the current version is to go")
    for version in versions:
        stack(version, entries)
    return entries, whole["current_version"]


def stack(version, entries):
    """11.4: what the manifest says of a version of several parts."""
    names, before = version.get("parts", []), 0
    need("parts" not in version or (1 <= len(names) <= 7 and names == sorted(set(names)) and names[-1] < version["version"]),
         f"manifest: {version['version']}: parts {names}")
    if version["state"] == "dropped":  # its parts may be gone
        return
    for i, name in enumerate(names):
        need(name in entries and entries[name]["state"] != "dropped", f"manifest: part {name}")
        need(entries[name].get("parts", []) == names[:i], f"manifest: {version['version']}: part {name} stands on others")
        before = entries[name]["file_ids"]
    for member in ("domains", "pairs", "rows", "urls"):
        own = version.get(f"part_{member}", version[member])
        whole = own + sum(entries[name].get(f"part_{member}", entries[name][member]) for name in names)
        need(0 <= own <= version[member] <= whole, f"manifest: {version['version']}: part_{member} {own}")
    need(version.get("first_file", 0) == before <= version["file_ids"], f"manifest: {version['version']}: first_file")


PART_MEMBERS = ["parts", "part_domains", "part_pairs", "part_rows", "part_urls", "first_file"]


PLACES = {
    "domains_mphf": "domains.mphf", "domains_dict": "domains.dict",
    "d2d_roar": "domain_to_datasets.roar", "domain_counts": "domain_counts.dxc",
    "postings_idx": "postings.idx.zst", "postings_dat": "postings.dat.zst",
    "postings_dir": "postings.dxp", "files_tsv": "files.tsv.zst", "pages": "pages.dxp",
    "datasets_json": "datasets.json.zst", "psl": "psl.dat.zst",
    "dataset_domains": "dataset_domains.dxt", "cold_dir": "cold.dxp", "facts": "facts.dat.zst",
    "sketches": "sketches.dat.zst", "url_ids": "url_ids.dat.zst",
}


def pack_files(entry, data, hashes=True):
    """11.6: the files of a pack, by name."""
    need(not hashes or hash128(data).hex() == entry["pack"], "part.pack: hash in the manifest")
    need(len(data) <= 1 << 30, "part.pack: size")
    found, at = {}, 0
    for name, facts in entry["files"].items():
        gap = data[at:at + -at % 64]
        at += len(gap)
        need(at % 64 == 0 and not any(gap), f"part.pack: before {name}")
        found[name] = data[at:at + facts["size"]]
        at += facts["size"]
    need(at == len(data), f"part.pack: {len(data)} bytes, its files have {at}")
    return found


class Part:
    """The files in the folder of one version, read and checked; `older`: the parts before it (11.4)."""

    def __init__(self, root, entry, older, hashes):
        self.manifest, self.older, self.hashes, self.number = entry, older, hashes, len(older)
        self.folder = root / "index" / entry["version"]
        here = {str(p.relative_to(self.folder)) for p in self.folder.rglob("*") if p.is_file()}
        listed = {"part.pack"} if "pack" in entry else set(entry["files"])
        need(here == listed, f"files of the folder {self.folder.name}: {sorted(here ^ listed)[:5]}")
        self.pack = pack_files(entry, (self.folder / "part.pack").read_bytes(), hashes) if "pack" in entry else {}
        self.first_file = entry.get("first_file", 0)
        self.build_id = bytes.fromhex(entry["build_id"])  # until it is made again
        gone = entry.get("gone_files")
        need(gone is None or (older and gone > 0), "manifest: gone_files")
        self.dead, self.gone = [], frozenset()
        if older:
            dead = Dead(self.envelope("dead.dxb", b"DXDE", 1, b"PART", b"SETS", b"RANK", *[b"GONE"] * (gone is not None)))
            self.dead, self.gone = dead.parts, frozenset(dead.files)
            need(len(self.gone) == (gone or 0) and max(self.gone, default=-1) < self.first_file, "dead.dxb: files of older parts")
        self._names()
        self._lists()
        self._agree()
        if older:
            self.check_dead(self.dead)

    def read(self, path):
        facts = self.manifest["files"][path]
        data = self.pack[path] if self.pack else (self.folder / path).read_bytes()
        need(len(data) == facts["size"], f"{path}: {len(data)} bytes, the manifest says {facts['size']}")
        need(not self.hashes or hash128(data).hex() == facts["hash"], f"{path}: hash in the manifest")
        return data

    def text(self, path, most):
        """11.1, 11.2."""
        file = Seekable(path, self.read(path))
        need(file.plain_size <= most, f"{path}: {file.plain_size} bytes plain")
        need(all(frame[2] == 1 << 20 for frame in file.frames[:-1]), f"{path}: a frame that is not the last is short")
        return file.all()

    def envelope(self, path, magic, version, *tags):
        return Envelope(path, self.read(path), magic, version, self.build_id, list(tags))

    def _names(self):
        """What the build id is made of, then the names."""
        psl, datasets = self.text("psl.dat.zst", 16 << 20), self.text("datasets.json.zst", 256 << 20)
        self.files_text = Seekable("files.tsv.zst", self.read("files.tsv.zst")).lines()
        need(hash128(psl).hex() == self.manifest["psl_hash"], "psl_hash")
        files = b"".join(part.lines_without(self.gone) for part in [*self.older, self])
        self.build_id = hash128(b"domaindex-build-9\n%d\n%s\n" % (self.manifest["canon_version"], hash128(psl).hex().encode())
                                + datasets + b"\n" + files)
        if self.older:  # 11.4
            self.build_id = hash128(b"domaindex-parts-1\n" + self.build_id + b"".join(part.build_id for part in self.older)
                                    + struct.pack("<Q", self.first_file))
        need(self.build_id.hex() == self.manifest["build_id"], "build id")
        self.datasets, self.files = datasets_json(datasets), files_tsv(self.files_text, self.first_file)
        self.of_counts = {d for d, one in self.datasets.items() if "kind" in one}.union(*(part.of_counts for part in self.older))  # 12.5
        self.file_ids = range(self.first_file, self.first_file + len(self.files))
        need(self.first_file == (self.older[-1].file_ids.stop if self.older else 0), "first_file: not behind the part before")
        paths = [file.path if file else "" for file in self.files]
        need(self.manifest["base"] or paths == sorted(set(paths) - {""}), "files.tsv: holes or disorder in a whole version")
        self.dictionary = Dictionary(self.envelope("domains.dict", b"DXDD", 1, b"DATA", b"ANCH", b"OFFS"))
        self.domains = self.dictionary.domains
        self.ordinals = {domain: ordinal for ordinal, domain in enumerate(self.domains)}
        self.mphf = Mphf(self.envelope("domains.mphf", b"DXMP", 2, b"PILO", b"SLOT", b"COLL"), self.dictionary, self.domains)

    def lines_without(self, gone):
        """files.tsv with holes for files that left."""
        lines = self.files_text.splitlines(keepends=True)
        return b"".join(b"%d\t0\t-\t-\t0\t-\t0\n" % i if i in gone else line for i, line in enumerate(lines, self.first_file))

    def _lists(self):
        self.membership = Membership(self.envelope("domain_to_datasets.roar", b"DTDR", 2, b"SETS", b"INDX"),
                                     len(self.domains))
        self.counts = CountsFile(self.envelope("domain_counts.dxc", b"DXDC", 1, b"DATA", b"ANCH"), self.membership)
        for (ordinal, dataset_id), count in self.counts.by_pair.items():
            if dataset_id in self.of_counts:  # pages are no URLs
                distinct, estimate = self.counts.distinct[ordinal]
                self.counts.distinct[ordinal] = distinct - count.urls, estimate
        self.postings = Postings(self.envelope("postings.dxp", b"DXPD", 3, b"PAGE", b"FILE"), self.read, self.build_id, self.membership.sets)
        self.pages = Pages(self.envelope("pages.dxp", b"DXPG", 1, b"GRPD", b"STRY", b"GRPX", b"FILE", b"PATH"), self.files)
        lists = DatasetDomains(self.envelope("dataset_domains.dxt", b"DXTD", 1, b"LIST", b"DSET"))
        need(lists.n == len(self.domains), "dataset_domains: number of domains")
        self.lists, self.tags = lists.lists, None
        if "tags.dxt" in self.manifest["files"]:
            self.tags = Tags(self.envelope("tags.dxt", b"DXTG", 1, b"SETS", b"FILE", b"NAME", b"TAGS", b"LEFT"),
                             len(self.domains), self.first_file, self.file_ids.stop)
        self.cold = Cold(self.envelope("cold.dxp", b"DXCP", 5, *(tag for _, tag in Cold.FILES), b"UIDX"), self.read,
                         self.build_id, self.domains, self.counts.by_pair)

    def _agree(self):
        """What two files of the part both tell, of dead domains too."""
        counts = self.counts.by_pair
        own = {"domains": len(self.domains), "pairs": len(counts), "rows": self.counts.rows, "urls": self.counts.urls}
        need(all(self.manifest.get(f"part_{k}", self.manifest[k]) == v for k, v in own.items()),
             f"manifest: totals of the part are not {own}")
        need({(o, d): n for d, domains in self.lists.items() for o, n in domains.items()} ==
             {pair: c.urls for pair, c in counts.items()}, "dataset_domains: other pairs or URLs than the counts")
        need(self.postings.runs.keys() == counts.keys(), "postings: other pairs than membership")
        files = [file for part in [*self.older, self] for file in part.files]
        for (ordinal, dataset_id), count in counts.items():
            runs = self.postings.runs[ordinal, dataset_id]
            named = sum(r[3] for r in runs)
            need(named <= count.rows == count.urls if dataset_id in self.of_counts else named == count.rows,
                 f"{self.domains[ordinal]}, {dataset_id}: rows of postings and counts")
            need(all(files[r[0]] and files[r[0]].dataset_id == dataset_id for r in runs), "postings: a file of another dataset")
            need(not any(r[0] in self.gone for r in runs), "postings: a file that left")
            places = [(files[r[0]].path, *r[1:]) for r in runs]
            need(all((*a[:2], a[2] + a[3]) <= b[:3] for a, b in zip(places, places[1:])), "postings: runs out of order of paths")

    def has_any(self, ordinal, files):
        """Whether one of the domain's rows is in one of the files."""
        return bool(files) and any(run[0] in files for d in self.membership.sets[ordinal]
                                   for run in self.postings.runs[ordinal, d])

    def check_dead(self, dead):
        """11.5: what the live domains of an older part that this one has too, or of which a file left, say there."""
        for file_id in self.gone:
            need(any(file_id in part.file_ids and part.files[file_id - part.first_file] for part in self.older), "dead.dxb: GONE")
        need(len(dead) == len(self.older), f"dead.dxb: {len(dead)} parts")
        for part, (build_id, domains, ordinals, rank) in zip(self.older, dead):
            where = f"dead.dxb: part {part.number}"
            need((build_id, domains) == (part.build_id, len(part.domains)), f"{where}: build id or domains of another")
            before = {ordinal for one in self.older[part.number + 1:] for ordinal in one.dead[part.number][2]}
            taken = tuple(ordinal for ordinal, name in enumerate(part.domains)
                          if ordinal not in before and (name in self.ordinals or part.has_any(ordinal, self.gone)))
            need(ordinals == taken, f"{where}: takes over {ordinals[:5]}, the names say {taken[:5]}")
            want = collections.Counter((d, part.counts.by_pair[o, d].urls) for o in taken for d in part.membership.sets[o])
            need(rank == want, f"{where}: RANK is not that of {len(taken)} domains")


class Version:
    """A whole version, read and checked: its parts, oldest first, and the domains that are live, each with the part
    that has it. hashes=False: as if the manifest had no hashes of files."""

    def __init__(self, root, hashes=True):
        self.root, self.hashes, self.parts = pathlib.Path(root), hashes, []
        entries, current = manifest_json((self.root / "index/manifest.json").read_bytes())
        self.manifest = entries[current]
        self.lake = self.root / self.manifest["parquet_root"]
        self.owner, self.listed, self.files, self.groups, self.sums = {}, [], [], [], []
        self.dead = collections.defaultdict(set)  # ordinals, by the number of the part
        for name in [*self.manifest.get("parts", []), current]:
            self._add(Part(self.root, entries[name], list(self.parts), hashes))
        self.domains = sorted(self.owner, key=key_of)
        self.datasets, self.text = self.parts[-1].datasets, self.parts[-1].text
        self.pairs = {(name, d): part.counts.by_pair[o, d] for name in self.domains for part in (self.owner[name],)
                      for o in (part.ordinals[name],) for d in part.membership.sets[o]}
        self.by_dataset = {}  # URL counts of its domains, when somebody asks

    def _add(self, part):
        """One part more makes a version, which is checked as one (of all but the last: an older version)."""
        self.parts.append(part)
        self.owner.update(dict.fromkeys(part.domains, part))  # the newest part that has it
        for older, (_, _, ordinals, _) in zip(part.older, part.dead):
            self.dead[older.number].update(ordinals)
            for name in (older.domains[ordinal] for ordinal in ordinals):
                if self.owner[name] is older:  # it went
                    del self.owner[name]
        self.listed += part.files
        self.files = [None if i in part.gone else file for i, file in enumerate(self.listed)]
        self.groups += part.pages.groups
        self.sums += part.pages.sums
        of_id = {}
        for one in self.parts if len(self.parts) > 1 else ():
            for name, domain_id in zip(one.domains, one.mphf.ids):
                need(domain_id == id64(name), f"{name}: a collision in a version of several parts")
                need(of_id.setdefault(domain_id, name) == name, f"{name}, {of_id[domain_id]}: both have {domain_id:#x}")
        entry, first = part.manifest, self.parts[0].manifest
        for member in ("canon_version", "psl_hash", "parquet_root"):
            need(entry[member] == first[member], f"{entry['version']}: {member} is not that of its first part")
        paths = [file.path for file in self.files if file]
        need(len(set(paths)) == len(paths), "files.tsv: a path twice in a version")
        self._facts(entry, part.datasets)

    def _facts(self, entry, datasets):
        """What the manifest, datasets.json, files.tsv and pages.dxp say of all live pairs together."""
        pairs = [(o, d, part, part.counts.by_pair[o, d])
                 for name, part in self.owner.items() for o in (part.ordinals[name],) for d in part.membership.sets[o]]
        counts = [count for *_, count in pairs]
        want = {"domains": len(self.owner), "datasets": len(datasets), "pairs": len(pairs),
                "rows": sum(c.rows for c in counts), "urls": sum(c.urls for c in counts),
                "lake_files": sum(file is not None for file in self.files), "file_ids": len(self.files)}
        need(all(entry[k] == v for k, v in want.items()), f"manifest: totals of {entry['version']} are not {want}")
        groups_there = [groups if file else [] for file, groups in zip(self.files, self.groups)]
        pages = sum(one["rows"] for one in datasets.values() if "kind" in one)
        need(entry.get("page_count", 0) == pages and pages + ("page_count" not in entry) > 0, f"{entry['version']}: page_count")
        need(sum(g.rows for file, groups in zip(self.files, groups_there) for g in groups if "kind" not in datasets[file.dataset_id]) ==
             want["rows"] - pages, f"{entry['version']}: rows of pages.dxp")
        totals, times = collections.defaultdict(collections.Counter), collections.defaultdict(list)
        ends = collections.defaultdict(list)
        for ordinal, dataset_id, part, count in pairs:
            totals[dataset_id].update(rows=count.rows, urls=count.urls, domains=1)
            times[dataset_id] += [t for t in (count.first, count.last) if t is not None]
            for file_id, group, first, rows in part.postings.runs[ordinal, dataset_id]:
                ends[file_id, group].append((first, rows))
        for file in filter(None, self.files):
            totals[file.dataset_id]["files"] += 1
        for dataset_id, one in datasets.items():
            need(all(one[k] == totals[dataset_id][k] for k in ("files", "rows", "urls", "domains")), f"dataset {dataset_id}: totals")
            span = (min(times[dataset_id]), max(times[dataset_id])) if times[dataset_id] else (None, None)
            need((one["first_ts"], one["last_ts"]) == span, f"dataset {dataset_id}: times")
        need(totals.keys() <= datasets.keys(), "a dataset that datasets.json does not have")
        for file_id, groups in enumerate(groups_there):
            for number, group in enumerate(groups):
                at = 0
                for first, count in sorted(ends.pop((file_id, number), [])):
                    need(first == at, f"file {file_id}, row group {number}: rows {at} to {first} are in no pair, or in two")
                    at += count
                need(at == group.rows, f"file {file_id}, row group {number}: {at} rows in pairs, {group.rows} in all")
        need(not ends, "postings: a row group that is not there")

    # ------------------------------------------------------------ answers

    def find(self, name):
        """11.4: the newest part that has the domain, asked first, and its ordinal there; or None twice."""
        for part in reversed(self.parts):
            ordinal = part.mphf.find(name)
            if ordinal is not None:
                return (None, None) if ordinal in self.dead[part.number] else (part, ordinal)
        return None, None

    def place(self, dataset_id, urls):
        """Share and rank of a domain with so many URLs in a dataset, by the counts of all its domains."""
        if not self.by_dataset:
            for (_, dataset), counts in self.pairs.items():
                self.by_dataset.setdefault(dataset, []).append(counts.urls)
            for counts in self.by_dataset.values():
                counts.sort()
        counts = self.by_dataset[dataset_id]
        return {"share": dxtest.fraction(urls, sum(counts)), "rank": 1 + len(counts) - bisect.bisect_right(counts, urls)}

    def domain(self, name):
        """What GET /v1/domain/{name} answers, or None."""
        part, ordinal = self.find(name)
        if part is None:
            return None
        pairs = [(d, self.pairs[name, d]) for d in part.membership.sets[ordinal]]
        firsts = [c.first for _, c in pairs if c.first is not None]
        lasts = [c.last for _, c in pairs if c.last is not None]
        of_urls = [(d, c) for d, c in pairs if "kind" not in self.datasets[d]]
        urls = sum(c.urls for _, c in of_urls)

        def counted(d, c):
            if "kind" in self.datasets[d]:
                return {"kind": "counts", "page_count": c.rows, "url_count": None, "url_count_est": None, "row_count": None}
            return {"url_count": c.urls, "url_count_est": c.urls, "row_count": c.rows}
        distinct, estimate = part.counts.distinct.get(ordinal, (urls, False))
        return {
            "domain": name.decode(), "domain_id": f"0x{part.mphf.ids[ordinal]:016x}", "dataset_count": len(pairs),
            "url_count": urls, "row_count": sum(c.rows for _, c in of_urls),
            "distinct_url_count": distinct, "distinct_error": 0.01625 if estimate else 0,
            "first_ts": iso(min(firsts, default=None)), "last_ts": iso(max(lasts, default=None)),
            **({"counts_only_datasets": len(pairs) - len(of_urls)} if len(pairs) > len(of_urls) else {}),
            "datasets": [{"dataset_id": d, "name": self.datasets[d]["name"], **counted(d, c), "first_ts": iso(c.first), "last_ts": iso(c.last),
                          **self.place(d, c.urls)} for d, c in pairs],
            "version": self.manifest["version"], "complete": True}


# ---------------------------------------------------------------- section 12: the lake's Parquet

class Thrift:
    """Thrift's compact protocol as plain values: a struct is a dict by field number."""

    def __init__(self, data, at=0):
        self.cursor = Bytes(data, at)

    def zigzag(self):
        value = self.cursor.varint()
        return value >> 1 ^ -(value & 1)

    def value(self, kind, depth):
        need(depth < 20, "thrift: too deep")
        if kind in (1, 2):
            return kind == 1
        if kind == 3:
            return self.cursor.u8()
        if kind in (4, 5, 6):
            return self.zigzag()
        if kind == 8:
            return self.cursor.take(self.cursor.varint())
        if kind == 9:
            head = self.cursor.u8()
            count, inner = head >> 4, head & 15
            count = self.cursor.varint() if count == 15 else count
            need(count <= self.cursor.left(), "thrift: a list of more than there are bytes")
            if inner in (1, 2):  # in a list a boolean is a byte
                return [self.cursor.u8() == 1 for _ in range(count)]
            return [self.value(inner, depth + 1) for _ in range(count)]
        need(kind == 12, f"thrift: type {kind}")
        return self.struct(depth + 1)

    def struct(self, depth=0):
        out, field, cursor = {}, 0, self.cursor
        while True:
            head = cursor.u8()
            if head == 0:
                return out
            kind, step = head & 15, head >> 4
            field = field + step if step else self.zigzag()
            if kind in (5, 6):      # most of them, so here
                value = cursor.varint()
                out[field] = value >> 1 ^ -(value & 1)
            else:
                out[field] = self.value(kind, depth)


def hybrid_bits(data, count):
    """Levels of one bit: RLE and bit-packed runs."""
    cursor, out = Bytes(data), []
    while len(out) < count:
        head = cursor.varint()
        if head & 1:
            for byte in cursor.take(head >> 1):
                out.extend(byte >> i & 1 for i in range(8))
        else:
            need(head >> 1 <= count - len(out), "levels: a run too long")
            out.extend([cursor.u8()] * (head >> 1))
    return out[:count]


def delta(cursor, bits):
    """DELTA_BINARY_PACKED; the cursor stands behind it afterwards."""
    zigzag = lambda: (lambda v: v >> 1 ^ -(v & 1))(cursor.varint())  # noqa: E731
    block, minis, count, value = cursor.varint(), cursor.varint(), cursor.varint(), zigzag()
    need(block and minis and block % minis == 0 and count <= 1 << 24, "delta: header")
    each, out, wrap, half = block // minis, [], 1 << bits, 1 << (bits - 1)
    if count:
        out.append(value)
    while len(out) < count:
        least, widths = zigzag(), cursor.take(minis)
        for width in widths:
            if len(out) >= count:
                break
            number, mask = int.from_bytes(cursor.take(each * width // 8), "little"), (1 << width) - 1
            text, step = (number, width)
            for _ in range(min(each, count - len(out))):
                value = (value + least + (text & mask) + half) % wrap - half
                text >>= step
                out.append(value)
    return out


def plain_strings(cursor, count):
    out, data, at, end = [], cursor.data, cursor.at, cursor.end
    for _ in range(count):
        need(at + 4 <= end, "strings: cut")
        size = int.from_bytes(data[at:at + 4], "little")
        at += 4 + size
        need(at <= end, "strings: cut")
        out.append(data[at - size:at])
    cursor.at = at
    return out


INT32, INT64, BYTE_ARRAY = 1, 2, 6
PLAIN, DELTA_BINARY_PACKED, DELTA_LENGTH_BYTE_ARRAY, DELTA_BYTE_ARRAY, RLE, ZSTD = 0, 5, 6, 7, 3, 6


def page_values(data, type_, nullable):
    """Values of one page (header and body) and its encoding; null is None."""
    thrift = Thrift(data)
    header = thrift.struct()
    body = data[thrift.cursor.at:]
    need(header[1] == 0 and header[3] == len(body), "page: not a v1 data page of this size")
    need(zlib.crc32(body) == header[4] & 0xFFFFFFFF, "page: CRC")
    try:
        plain = zstandard.ZstdDecompressor().decompress(body, max_output_size=header[2])
    except zstandard.ZstdError as error:
        raise Complaint(f"page: {error}") from error
    need(len(plain) == header[2], "page: plain size")
    info, cursor, levels = header[5], Bytes(plain), None
    count = rows = info[1]
    need(info[3] == info[4] == RLE, "page: encoding of levels")
    if nullable:
        levels = hybrid_bits(cursor.take(cursor.u32()), rows)
        count = sum(levels)
    encoding = info[2]
    if type_ == BYTE_ARRAY and encoding == PLAIN:
        values = plain_strings(cursor, count)
    elif type_ == BYTE_ARRAY and encoding == DELTA_BYTE_ARRAY:
        shared, own, values, last = delta(cursor, 32), delta(cursor, 32), [], b""
        need(len(shared) == len(own) == count, "page: number of lengths")
        text = cursor.take(cursor.left())
        at = 0
        for a, b in zip(shared, own):
            need(0 <= a <= len(last) and 0 <= b <= len(text) - at, "page: a shared or own length")
            last = last[:a] + text[at:at + b]
            at += b
            values.append(last)
        need(at == len(text), "page: bytes left over")
    elif type_ == BYTE_ARRAY and encoding == DELTA_LENGTH_BYTE_ARRAY:
        own = delta(cursor, 32)
        need(len(own) == count and min(own, default=0) >= 0, "page: lengths")
        values = [cursor.take(n) for n in own]
    elif encoding == DELTA_BINARY_PACKED and type_ in (INT32, INT64):
        values = delta(cursor, 32 if type_ == INT32 else 64)
    else:
        need(encoding == PLAIN and type_ == INT64, f"page: encoding {encoding} of type {type_}")
        values = list(struct.unpack(f"<{count}Q", cursor.take(8 * count)))
    cursor.done("page")
    need(len(values) == count, "page: number of values")
    if levels is not None and count < rows:
        rest = iter(values)
        values = [next(rest) if level else None for level in levels]
    return values, encoding


FIXED = [  # name, physical type, nullable, encoding
    ("domain", BYTE_ARRAY, False, DELTA_BYTE_ARRAY), ("domain_id", INT64, False, PLAIN), ("scheme", BYTE_ARRAY, False, PLAIN),
    ("host", BYTE_ARRAY, False, DELTA_LENGTH_BYTE_ARRAY),
    ("path_query", BYTE_ARRAY, False, DELTA_BYTE_ARRAY), ("raw_url", BYTE_ARRAY, True, PLAIN),
    ("ts", INT64, True, DELTA_BINARY_PACKED)]
URL_ID = ("url_id", INT64, False, PLAIN)
STRING, TIMESTAMP, INTEGER = 1, 8, 10  # members of the union LogicalType


class LakeFile:
    """One file, whole: .columns by name, .groups with what pages.dxp should say."""

    def __init__(self, name, data):
        self.name, self.data = name, data
        need(len(data) > 12 and data[:4] == data[-4:] == b"PAR1", f"{name}: no Parquet file")
        size = struct.unpack("<I", data[-8:-4])[0]
        need(size <= len(data) - 12, f"{name}: footer of {size}")
        footer = data[-8 - size:-8]
        thrift = Thrift(footer)
        meta = thrift.struct()
        thrift.cursor.done(f"{name}: footer")
        self.keys = {pair[1].decode(): pair[2] for pair in meta[5]}
        self._sum(footer)
        self._schema(meta)
        self.values = {column[0]: [] for column in self.columns}
        self.groups, at, indexes = [], 4, []
        for group in meta[4]:
            at = self._group(group, at, indexes)
        need(sum(g.rows for g in self.groups) == meta[3], f"{name}: rows")
        # behind the pages: all column indexes, all offset indexes, the footer, nothing else
        for get in (lambda i: i[2], lambda i: i[1]):
            for index in indexes:
                offset, length = get(index)
                need(offset == at or offset is None, f"{name}: an index at {offset}, not {at}")
                at += length or 0
        need(at == len(data) - 8 - size, f"{name}: {len(data) - 8 - size - at} bytes before the footer")
        for pages, offset_index, column_index, type_, values in indexes:
            self._offset_index(pages, data[offset_index[0]:sum(offset_index)])
            if column_index[0] is not None:
                self._column_index(pages, data[column_index[0]:sum(column_index)], type_, values)

    def _sum(self, footer):
        told = self.keys["domaindex.footer_xxh3"]
        need(len(told) == 16 and footer.count(told) == 1, f"{self.name}: checksum of the footer")
        zeroed = footer.replace(told, b"0" * 16)
        need(b"%016x" % xxhash.xxh3_64_intdigest(zeroed) == told, f"{self.name}: checksum of the footer")

    def _schema(self, meta):
        root, leaves = meta[2][0], meta[2][1:]
        names = [leaf[4].decode() for leaf in leaves]
        need(root[5] == len(leaves) and names[:7] == [f[0] for f in FIXED] and names[-1] == "url_id"
             and len(set(names)) == len(names) <= 56, f"{self.name}: columns {names}")
        self.extras = names[7:-1]
        self.columns = FIXED + [(n, BYTE_ARRAY, True, PLAIN) for n in self.extras] + [URL_ID]
        self.unit = None
        for leaf, (column, type_, nullable, _) in zip(leaves, self.columns):
            need((leaf[1], leaf[3]) == (type_, int(nullable)), f"{self.name}: type of {column}")
            logical = leaf.get(10, {})
            if column == "ts":
                need(logical[TIMESTAMP][1] is True, f"{self.name}: ts is not UTC")
                self.unit = next(iter(logical[TIMESTAMP][2]))
                need(self.unit in (1, 2), f"{self.name}: unit of ts")
            elif type_ == INT64:
                need(logical[INTEGER] == {1: 64, 2: False}, f"{self.name}: {column} is not UINT_64")
            elif type_ == BYTE_ARRAY:
                need(list(logical) in ([STRING], []), f"{self.name}: {column} is no string")
        need(meta[6].startswith(b"domaindex version "), f"{self.name}: created_by")
        need(self.keys["domaindex.canon_version"] == b"1", f"{self.name}: canon_version")

    def _group(self, group, at, indexes):
        columns, cuts = [], set()
        keys = [(s[1], s[2], s[3]) for s in group[4]]
        need(keys == [(0, False, False), (3, False, False), (4, False, False), (6, False, True)], f"{self.name}: sorting_columns {keys}")
        for chunk, (name, type_, nullable, encoding) in zip(group[1], self.columns, strict=True):
            meta, pages, rows = chunk[3], [], []
            need((meta[1], meta[4], meta[9], meta[3]) == (type_, ZSTD, at, [name.encode()]) and 11 not in meta, f"{self.name}: chunk of {name}")
            end = at + meta[7]
            while at < end:
                thrift = Thrift(self.data, at)
                header = thrift.struct()
                length = thrift.cursor.at - at + header[3]
                need(at + length <= end, f"{self.name}: a page of {name}")
                values, used = page_values(self.data[at:at + length], type_, nullable)
                repeats = sum(a == b for a, b in zip(values, values[1:])) if name in ("domain", "host") else 0
                need(used == (PLAIN if repeats > len(values) // 2 else encoding), f"{self.name}: {name} is encoded as {used}")
                pages.append((at, length, len(values)))
                rows.extend(values)
                at += length
            need(len(rows) == group[3] == meta[5], f"{self.name}: rows of {name}")
            cuts.add(tuple(p[2] for p in pages))
            self.values[name].extend(rows)
            columns.append((name, type_, nullable, pages))
            kind = (type_, name in ("domain_id", "url_id"))
            indexes.append((pages, (chunk[4], chunk[5]), (chunk.get(6), chunk.get(7, 0)), kind, rows))
        need(len(cuts) == 1, f"{self.name}: pages are cut at different rows")
        self.groups.append(Group(group[3], columns))
        return at

    def _offset_index(self, pages, data):
        first, want = 0, []
        for offset, length, rows in pages:
            want.append({1: offset, 2: length, 3: first})
            first += rows
        need(Thrift(data).struct()[1] == want, f"{self.name}: offset index")

    def _column_index(self, pages, data, kind, values):
        """Bounds hold for each page, null counts are exact."""
        index, first = Thrift(data).struct(), 0
        for i, (_, _, count) in enumerate(pages):
            real = [v for v in values[first:first + count] if v is not None]
            need(index[1][i] == (not real) and index[5][i] == count - len(real), f"{self.name}: nulls in the column index")
            if real:
                low, high = index[2][i], index[3][i]
                if kind[0] != BYTE_ARRAY:
                    low, high = (int.from_bytes(v, "little", signed=not kind[1]) for v in (low, high))
                    need((low, high) == (min(real), max(real)), f"{self.name}: bounds in the column index")
                need(low <= min(real) and max(real) <= high, f"{self.name}: bounds in the column index")
                need(kind[0] != BYTE_ARRAY or len(low) <= 64 >= len(high), f"{self.name}: long bounds")
            first += count

    def rows(self):
        """Rows as (domain, host, path_query, ts in microseconds, scheme, extras), which is their order."""
        v, scale = self.values, 1000 if self.unit == 1 else 1
        times = [None if t is None else t * scale for t in v["ts"]]
        extras = list(zip(*(v[name] for name in self.extras))) if self.extras else [()] * len(times)
        return list(zip(v["domain"], v["host"], v["path_query"], times, v["scheme"], extras))


def order(row):
    """Nulls first."""
    return (*row[:3], (row[3] is not None, row[3] or 0), row[4], tuple((x is not None, x or b"") for x in row[5]))


PREFIX = re.compile(r"^dataset_id=([1-9][0-9]*)/domain_prefix=([0-9a-f]{2})(?:-([0-9a-f]{2}))?/part-([0-9]{5,8})\.parquet$")


def check_lake(version):
    """Section 12: every byte of every file, also of those that left since; counts, postings, pages.dxp and distinct URLs
    of each part made anew, of the files that its version had."""
    registry(version)
    for part in version.parts:
        part.tagged, part.here, part.places, part.everywhere = {}, set(), [], collections.defaultdict(set)
    by_dataset = collections.defaultdict(list)
    for file_id, file in sorted(enumerate(version.listed), key=lambda one: one[1].path if one[1] else ""):
        if file:
            by_dataset[file.dataset_id].append(file_id)
    for dataset_id, file_ids in by_dataset.items():
        of_file = {}
        for file_id in file_ids:
            part = next(one for one in version.parts if file_id in one.file_ids)
            of_file[file_id] = found = collections.defaultdict(new_pair)
            places = check_file(version, part, file_id, found)
            part.places += [] if dataset_id in part.of_counts else places  # 10.1: URLs alone
            part.here.update(found)
        for part in version.parts:
            check_pairs(part, dataset_id, {i: found for i, found in of_file.items() if i < part.file_ids.stop and i not in part.gone})
    for part in version.parts:
        need(part.here <= set(part.domains), f"{part.folder.name}: it lacks domains that its own lake files have")
        need(sorted(part.places) == part.cold.places, "url_ids: other places than the rows have")
        check_tags(part)
        for ordinal, urls in part.everywhere.items():
            got, estimate = part.counts.distinct[ordinal]
            off = 0.1 * len(urls) if estimate else 0  # six standard errors
            need(abs(got - len(urls)) <= off, f"{part.domains[ordinal]}: {got} distinct URLs, the rows say {len(urls)}")


def check_hosts(part, pair, urls):
    """12.5: each row is a host and its pages. Returns the counts; facts and sketch are checked."""
    fact, where, hosts = part.cold.facts[pair], f"{part.domains[pair[0]]}, {pair[1]}", collections.Counter()
    for (scheme, host, path_query), rows in urls.items():
        match = re.fullmatch(rb"/\?pages=([1-9][0-9]{0,12})", path_query)
        need(scheme == b"http" and match and int(match[1]) <= 1 << 40, f"{where}: a row {path_query}")
        hosts[host] += rows * int(match[1])
    need(fact.hosts == {host: Host(n, n) for host, n in sorted(hosts.items())} and fact.paths is None, f"{where}: hosts {fact.hosts}")
    need(part.cold.sketches[pair] == [0], f"{where}: sketch")
    return Counts(hosts.total(), hosts.total(), None, None)


def new_pair():
    """What the rows of a pair say: {(scheme, host, path_query): rows}, number of rows, times, runs."""
    return [{}, 0, [], []]


def check_pairs(part, dataset_id, of_file):
    """The pairs of a dataset in a part, dead ones too: of its domains all rows of the files there were when it was made."""
    whole = collections.defaultdict(new_pair)
    for found in of_file.values():  # in order of paths
        for domain in found.keys() & part.ordinals.keys():
            into, (urls, rows, times, runs) = whole[domain], found[domain]
            for url, count in urls.items():
                into[0][url] = into[0].get(url, 0) + count
            into[1] += rows
            into[2] += times
            into[3] += runs
    need({part.ordinals[name] for name in whole} == part.lists.get(dataset_id, {}).keys(),
         f"{part.folder.name}, dataset {dataset_id}: rows, but no pair, or a pair without rows")
    for domain, (urls, rows, times, runs) in whole.items():
        ordinal = part.ordinals[domain]
        want = Counts(len(urls), rows, min(times, default=None), max(times, default=None))
        got = part.counts.by_pair[ordinal, dataset_id]
        if dataset_id in part.of_counts:
            want = check_hosts(part, (ordinal, dataset_id), urls)
        else:
            part.everywhere[ordinal].update(map(hash, urls))
            check_tallies(part, (ordinal, dataset_id), urls)
        need(got == want, f"{domain}, {dataset_id}: counts {got}, the rows say {want}")
        got = part.postings.runs[ordinal, dataset_id]
        need(got == runs, f"{domain}, {dataset_id}: postings, the rows say {runs[:3]}")


def check_tags(part):
    """Section 7.2, from what check_file kept of the column."""
    need((part.tags is None) == (not part.tagged), "tags.dxt: there without the column, or missing")
    want, left = collections.defaultdict(lambda: (set(), set())), {}
    for file_id, rows in part.tagged.items():
        no_list = no_tag = 0
        for at, (domain, value) in enumerate(rows):
            members = tags_of(value)
            no_list += members is None
            no_tag += sum(not is_tag(one) for one in members or ())
            for one in filter(is_tag, members or ()):
                want[one, file_id][0].add(at)
                want[one, file_id][1].add(part.ordinals[domain])
        if no_list or no_tag:
            left[file_id] = no_list, no_tag
    if part.tags:
        need(part.tags.sets == {k: (tuple(sorted(r)), tuple(sorted(d))) for k, (r, d) in want.items()},
             "tags.dxt: other rows or domains than the lake has")
        need(part.tags.left == left, f"tags.dxt: LEFT is {part.tags.left}, the rows say {left}")


def registry(version):
    data = (version.root / "registry.json").read_bytes()
    whole = strict_json(data, "registry.json")
    gone = whole.get("removed", [])
    need(list(whole) == ["format", "version", "next_dataset_id"] + ["removed"] * bool(gone) + ["datasets"],
         "registry.json: members")
    need((whole["format"], whole["version"]) == ("domaindex-registry", 1), "registry.json: format")
    ids = [one["dataset_id"] for one in whole["datasets"]]
    need(ids == sorted(set(ids)) and all(0 < i < whole["next_dataset_id"] for i in ids + gone), "registry.json: ids")
    need(gone == sorted(set(gone) - set(ids)), "registry.json: removed ids")
    lines = [json.dumps(one, ensure_ascii=False, separators=(",", ":")) for one in whole["datasets"]]
    text = ('{"format":"domaindex-registry","version":%d,"next_dataset_id":%d,' % (whole["version"], whole["next_dataset_id"])
            + ('"removed":[%s],' % ",".join(map(str, gone)) if gone else "") + '"datasets":['
            + ",".join("\n" + line for line in lines) + "\n]}\n")
    need(text.encode() == data, "registry.json: another text than 12 shows")
    known = {one["dataset_id"]: (one["name"], one.get("metadata", {}), one.get("kind")) for one in whole["datasets"]}
    for dataset_id, one in version.datasets.items():
        need(known.get(dataset_id) == (one["name"], one["metadata"], one.get("kind")), f"registry.json: dataset {dataset_id}")
    need((version.root / "psl.dat").read_bytes() == version.text("psl.dat.zst", 16 << 20), "psl.dat of the lake")


def unit(url_id, group, row, first, last, last_group):
    """10.1: the place of a URL whose rows are first to last of the file."""
    begin = row // 256 * 256
    rows = row - begin + last - first + 1
    return url_id, group, begin, 0 if group == last_group and rows <= 256 else rows


def strays(path_query):
    """10: whether escapes hide a segment ".." in the path."""
    path, before = path_query.split(b"?", 1)[0], None
    if b"%" not in path:
        return False
    while path != before:
        before, path = path, re.sub(rb"%([0-9A-Fa-f]{2})", lambda m: bytes([int(m[1], 16)]), path)
    return b".." in path.split(b"/")


def check_file(version, part, file_id, found):
    """A file of a part; returns its places, whose row groups are counted within the part (11.4)."""
    facts, sum128 = version.listed[file_id], version.sums[file_id]
    data = (version.lake / facts.path).read_bytes()
    need(len(data) == facts.size and facts.etag == sum128.hex(), f"{facts.path}: size or etag")
    need(hash128(data) == sum128 or not version.hashes, f"{facts.path}: hash")
    match = PREFIX.match(facts.path)
    need(match and int(match[1]) == facts.dataset_id, f"{facts.path}: no path of ours")
    low, high = int(match[2], 16), int(match[3] or match[2], 16)
    need(facts.prefix == match[2] + (f"-{match[3]}" if match[3] else ""), f"{facts.path}: domain_prefix {facts.prefix}")
    need(match[3] is None or low < high, f"{facts.path}: range")
    lake_file = LakeFile(facts.path, data)
    need(lake_file.keys["domaindex.dataset"].decode() == part.datasets[facts.dataset_id]["name"], f"{facts.path}: name of the dataset")
    check_pages(lake_file, version.groups[file_id], sum128)
    rows = lake_file.rows()
    keys = list(map(order, rows))
    need(len(rows) == facts.rows and all(a < b for a, b in zip(keys, keys[1:])), f"{facts.path}: rows are out of order, or twice")
    columns = zip(lake_file.values["domain_id"], lake_file.values["url_id"], lake_file.values["raw_url"])
    group, first, at, before = 0, 0, 0, None
    groups_before = sum(map(len, version.groups[part.first_file:file_id]))
    places = {}  # of each URL: id, row group, row, first and last row in the file, row group of the last one
    led, page, slots = [], None, {}  # the same of URLs that led to rows: up to 8 of a page at a time
    if "tags" in lake_file.values:
        part.tagged[file_id] = list(zip(lake_file.values["domain"], lake_file.values["tags"]))
    requested = lake_file.values.get("requested_url") or [None] * len(rows)
    ends = list(itertools.accumulate(g.rows for g in lake_file.groups))
    astray = [i for i, row in enumerate(rows) if strays(row[2]) and facts.dataset_id not in part.of_counts]
    need([(g, ends[g] - lake_file.groups[g].rows + row) for f, g, row in part.pages.strays if f == file_id - part.first_file]
         == [(bisect.bisect_right(ends, i), i) for i in astray], f"{facts.path}: rows whose keys stray")
    for (domain, host, path_query, ts, scheme, _), (domain_id, url_id, raw_url) in zip(rows, columns):
        url = scheme + b"://" + host + path_query
        if url_id != id64(url) or raw_url == url:  # not need(), which formats its message at each call
            raise Complaint(f"{facts.path}: url_id or raw_url of {url}")
        while at - first == lake_file.groups[group].rows:  # a run ends with its row group
            group, first, before = group + 1, at, None
        if domain != before:
            need(domain_id == id64(domain) and low <= domain_id >> 56 <= high, f"{facts.path}: domain_id of {domain}")
            runs = found[domain][3]  # of the pair
            runs.append((file_id, group, at - first, 0))
            before, before_id = domain, domain_id
            pair = found[domain]
        if domain_id != before_id:
            raise Complaint(f"{facts.path}: domain_id of {domain}")
        key = (scheme, host, path_query)
        pair[0][key] = pair[0].get(key, 0) + 1
        places.setdefault(key, [url_id >> 32, groups_before + group, at - first, at, 0, 0])[4:] = at, groups_before + group
        if page != (host, path_query):
            led, page, slots = led + list(slots.values()), (host, path_query), {}
        if requested[at]:
            one = id64(requested[at]) >> 32
            if one != url_id >> 32 and one not in slots and len(slots) == 8:
                led, slots = led + list(slots.values()), {}
            if one != url_id >> 32:
                slots.setdefault(one, [one, groups_before + group, at - first, at, 0, 0])[4:] = at, groups_before + group
        pair[1] += 1
        if ts is not None:
            pair[2].append(ts)
        runs[-1] = (*runs[-1][:3], runs[-1][3] + 1)
        at += 1
    return [unit(*place) for place in [*places.values(), *led, *slots.values()]]


def check_pages(lake_file, told, sum128):
    """pages.dxp against the file: the same pages, and their sums."""
    need(len(told) == len(lake_file.groups), f"{lake_file.name}: row groups in pages.dxp")
    for got, want in zip(told, lake_file.groups):
        wanted = [c for c in want.columns if c[0] not in ("domain", "domain_id", "url_id")]
        need([c.name for c in got.columns] == [c[0] for c in wanted] and got.rows == want.rows, f"{lake_file.name}: columns in pages.dxp")
        for column, (name, type_, nullable, pages) in zip(got.columns, wanted):
            need((column.role, column.type, column.codec, column.levels, column.length, column.dictionary) ==
                 (ROLES.get(name, 6), type_, ZSTD, int(nullable), 0, None), f"{lake_file.name}: pages.dxp: {name}")
            need(column.unit == (lake_file.unit if name == "ts" else 0), f"{lake_file.name}: pages.dxp: unit of {name}")
            need([p[:3] for p in column.pages] == pages, f"{lake_file.name}: pages.dxp: pages of {name}")
            for page in column.pages:
                got_sum = checksum(sum128, b"PAGE", page.offset, lake_file.data[page.offset:page.offset + page.length])
                need(got_sum & 0xFFFFFFFF == page.sum, f"{lake_file.name}: page sum at {page.offset}")


class Lister:
    """Listings from postings and pages.dxp alone: no footer is read."""

    def __init__(self, version):
        self.version, self.cache = version, {}

    def values(self, file_id, column, page):
        key = file_id, page.offset
        if key not in self.cache:
            with open(self.version.lake / self.version.files[file_id].path, "rb") as file:
                file.seek(page.offset)
                data = file.read(page.length)
            want = checksum(self.version.sums[file_id], b"PAGE", page.offset, data)
            need(len(data) == page.length and want & 0xFFFFFFFF == page.sum, f"page sum at {page.offset}")
            self.cache[key] = page_values(data, column.type, column.levels == 1)[0]
        return self.cache[key]

    def urls(self, name, dataset_id):
        """The items of GET /v1/domain/{name}/datasets/{dataset_id}/urls with all fields, whole."""
        version, out = self.version, []
        part, ordinal = version.find(name)
        for file_id, number, first, count in part.postings.runs[ordinal, dataset_id]:
            columns = {}
            for column in version.groups[file_id][number].columns:
                got, at = [], 0
                for page in column.pages:
                    if at < first + count and first < at + page.rows:
                        values = self.values(file_id, column, page)
                        need(len(values) == page.rows, "page: rows")
                        got.extend(values[max(0, first - at):first + count - at])
                    at += page.rows
                columns[column.name] = column, got
            scale = 1000 if columns["ts"][0].unit == 1 else 1
            extras = [(n, got) for n, (column, got) in columns.items() if column.role == 6]
            for i in range(count):
                url = b"".join((columns["scheme"][1][i], b"://", columns["host"][1][i], columns["path_query"][1][i]))
                ts, raw = columns["ts"][1][i], columns["raw_url"][1][i]
                out.append({"url_id": f"0x{id64(url):016x}", "url": url.decode(),
                            "ts": None if ts is None else iso(ts * scale), "raw_url": None if raw is None else raw.decode(),
                            "extras": {n: got[i].decode() for n, got in extras if got[i] is not None}})
        return out


# ---------------------------------------------------------------- the test

def ingest(root, rows, *more):
    """Rows of (dataset, ts, url, further columns) with a header line."""
    text = "\n".join("\t".join(row) for row in rows) + "\n"
    dxtest.domaindex("ingest", "--root", root, "--format", "tsv", "--header", "--dataset-column", "dataset",
                     "--ts-column", "ts", "--url-column", "url", *more, "-", input=text.encode())


def small_lake(root, scale=1, parts=1):
    """What the real corpus does not have: parts, row groups, several extras, microseconds, Roaring runs."""
    rng = random.Random(1)

    def publish():
        dxtest.domaindex("publish", "--root", root, "--parts", parts)
    head = ("dataset", "ts", "url", "title", "lang", "tags")
    extra = ("--extra-column", "title", "--extra-column", "lang", "--extra-column", "tags")
    tags = ("", "[]", '["news"]', '["news","a b","news"]', '["\\u00fc/?","\\ud83d"]', "news, sport", '["",1]', '["","x\\u0000"]')
    words = ["", "a", "news", "über", "x y", "%E4%BD%A0", "q?b=2&a=1", "index.html", "x/..%2Fy", "z/%252e.%2f%20"]
    hosts = ["example.com", "www.example.com", "a.b.example.co.uk", "192.0.2.7", "[2001:db8::1]:8080", "bücher.example",
             "example.com:8443", "my_host.example.org.", *(f"h{i}.site{i % 211}.net" for i in range(900 * scale // 2 + 20))]

    def row(dataset, i, ts):
        return (dataset, ts, f"{rng.choice(('http', 'https', 'ftp'))}://{rng.choice(hosts)}/{rng.choice(words)}/{i % 97}",
                rng.choice(("", "title", f"t{i % 5}")), rng.choice(("", "de", "en")),
                rng.choice(tags) if i % 8 else f'["rare {i % 400}"]')
    sets = [f"set {i:02d}" for i in range(70)]
    ingest(root, [head, *(row(rng.choice(sets[:60 if dxtest.WHOLE or parts > 1 else 25]), i, str(1400000000 + i % 1000)) for i in range((4000 if dxtest.WHOLE else 400 * (1 + (parts > 1))) * scale))], *extra,
           "--dataset-meta", "licence=CC0", "--dataset-meta", "größe=\"1\\2\"")
    if scale > 1:  # what follows is merged with this: new datasets, and rows for known ones
        publish()
    # everywhere: sets that are worth a Roaring bitmap, of ids in one run and of others
    ingest(root, [head, *((s, "", f"https://example.com/{s}", "", "", '["everywhere"]') for s in sets),
                  *((s, "", "https://every-second.example.net/", "", "", "") for s in sets[::2]),
                  *((s, "", "https://few.example.net/", "", "", "") for s in sets[5:9])], *extra)
    # no bound of at most 64 bytes ends in an ASCII byte: this chunk has no column index
    ingest(root, [head, ("no bounds", "", "https://example.net/", "\u00ff" * 100, "", "")], *extra)
    if scale > 1:
        publish()
    # a second part of files that are there, in microseconds and before 1970; rows without a time
    ingest(root, [head, *(row(rng.choice(sets[:6]), i, rng.choice(("", "2014-05-13T16:53:20.123456Z", "1969-12-31T23:59:59.5Z",
                                                                    str(1500000000 + i)))) for i in range((1500 if dxtest.WHOLE else 150) * scale))], *extra)
    if scale > 1:  # one domain over several row groups, and others; in the gate by fewer and longer rows, and not in parts too
        hot, noise = (160000, 0) if dxtest.WHOLE else (4700, 2000) if parts == 1 else (2500, 0)
        ingest(root, [("dataset", "ts", "url"), *(("hot", str(1300000000 + i // 3),
               f"https://{'hot.example' if i % 20 else f's{i % 4001}.example.net'}/page/{i * 7919 % 100003}{rng.randbytes(noise).hex()}") for i in range(hot))])
    publish()
    if scale > 1:  # a few rows more: most pairs stay as they are
        ingest(root, [head, *(("set 01", str(1600000000 + i), f"https://{rng.choice(hosts[:3])}/{i % 7}", "", "de", '["late","news"]') for i in range(20))], *extra)
        ingest(root, [head, ("a late one", "", "https://example.com/late", "", "", "")], *extra)
        publish()


def tiny_lake(root):
    """A dozen domains in four datasets: quick to read some hundred times."""
    rows = [(f"set {i % 3}", str(1400000000 + i) if i % 4 else "", f"https://h{i % 5}.site{i % 12}.com/p/{i}", f"t{i % 3}",
             ('["news"]', '["news","t%d"]' % (i % 9), "", "none")[i % 4]) for i in range(150)]
    ingest(root, [("dataset", "ts", "url", "title", "tags"), *rows], "--extra-column", "title", "--extra-column", "tags",
           "--dataset-meta", "licence=CC0")
    ingest(root, [("dataset", "ts", "url"), ("one more", "", "http://192.0.2.1/")])
    dxtest.domaindex("publish", "--root", root)


def parts_lake(root, scale=1, publish=None, pack="0"):
    """Versions of several parts (11.4): new domains, known ones again in the same and in other datasets, one that goes
    from part to part, a part without tags, and a publish that merges the newest parts. -> number of parts of each version."""
    head, extra, parts = ("dataset", "ts", "url", "tags"), ("--extra-column", "tags"), []
    often = ("", '["news"]', '["news","a b"]', '["late"]', "none", '["",1]')
    rng, sites = random.Random(5), 70 * scale * (scale if dxtest.WHOLE else 1)

    def more(*rows, tags=True):
        lines = [(f"set {dataset}", ts, url, often[i % 6])[:3 + tags] for i, (dataset, ts, url) in enumerate(rows)]
        ingest(root, [head[:3 + tags], *lines], *(extra if tags else ()))

    def done():
        dxtest.domaindex("publish", "--root", root, "--parts", 8, "--pack", pack)
        entries, current = manifest_json((root / "index/manifest.json").read_bytes())
        parts.append(1 + len(entries[current].get("parts", [])))
        if publish and (dxtest.WHOLE or len(parts) % 2 == 0):
            publish()

    def at(i):
        return str(1400000000 + i * 7)

    # the oldest: a domain of more than 15 URLs, domains in up to five datasets, rows without a time
    more(*((rng.randrange(5), at(i) if i % 6 else "", f"https://h{i % 3}.site{rng.randrange(sites)}.com/p/{i % 401}")
           for i in range(5 * sites)),
         *((0, at(i), f"https://much.example/{i % 30}/{i}") for i in range(40)),
         *((1, "", f"https://moves.example/{i}") for i in range(3)))
    done()
    # new domains; known ones in their datasets and in a new one; two ingests, so two files of a dataset in a part
    more(*((i % 2, at(i), f"https://h{i % 3}.new{i % (4 * scale)}.org/{i}") for i in range(12 * scale)),
         *((7, at(i), f"http://site{i % (3 * scale)}.com/{i}") for i in range(6 * scale)))
    more((1, at(9), "https://moves.example/2"), (7, "", "https://moves.example/0"),
         (0, "1969-12-31T23:59:59Z", "https://much.example/y"), (0, "2024-06-14T08:15:30.000001Z", "https://much.example/x"),
         (0, at(3), "https://much.example/x/..%2Fy"), (0, at(4), "https://much.example/x/..%2Fy"))
    done()
    # takes over domains of both, one of which the second had taken over; no file of this part has the column tags
    more((2, at(1), "https://moves.example/3"), (1, "", "https://new1.org/z"), (3, at(2), "https://site69.com/z"), tags=False)
    done()
    if scale > 1:  # merges the newest; then parts beside what was merged
        more(*((i % 4, at(i), f"https://site{i % 9}.com/merge/{i}") for i in range(20)), (4, "", "https://new1.org/q"))
        done()
        more((2, "", "https://moves.example/4"), (8, at(3), "https://the-last.example/"), (0, at(5), "https://much.example/z"))
        done()
        more((8, at(4), "https://www.the-last.example/"))
        done()
    return parts


def removed_lake(root):
    """A lake of several parts from which datasets go: one while all parts stay, one and most parts are merged; then a
    part beside that, then all made anew. -> (parts, holes) of the versions."""
    out = []

    def done(*more):
        dxtest.domaindex("publish", "--root", root, *more)
        version = Version(root)
        check_lake(version)
        out.append((len(version.parts), version.files.count(None)))
        return version

    dxtest.domaindex("remove", "--root", root, "--dataset", "set 3")
    dxtest.check(done("--merge-max", 1, "--no-merge").parts[-1].gone, "files of older parts that left")
    dxtest.domaindex("remove", "--root", root, "--dataset", "set 2")
    done()
    ingest(root, [("dataset", "ts", "url"), ("set 2", "", "https://moves.example/7"), ("set 8", "", "https://after.example/")])
    done()
    wrong = wrong_domains(done("--parts", 8, "--force"))  # nothing is new: a part without files and domains
    dxtest.equal(wrong, [], "domains with another answer once a dataset was removed")
    done("--parts", 1, "--force")
    done("--full", "--force")
    return out


def jsonl(*arguments, input=None):
    done = dxtest.domaindex("lookup", *arguments, "-", input=input, expect=None)
    return [json.loads(line) for line in done.stdout.splitlines()]


def wrong_domains(version):
    """Names whose answer is not that of lookup."""
    answers = jsonl("--root", version.root, input=b"\n".join(version.domains) + b"\n")
    wrong = []
    for name, answer in zip(version.domains, answers, strict=True):
        text = answer.pop("domain_unicode", name.decode())  # a reading of the name, beside what the files say
        if answer != version.domain(name) or (text != name.decode() and text.encode("idna") != name):
            wrong.append(name)
    return wrong


def compare_domains(version, clock):
    wrong = wrong_domains(version)
    for name in wrong[:3]:
        dxtest.check(False, f"{name}: lookup and the bytes differ: {version.domain(name)}")
    dxtest.equal(len(wrong), 0, "domains with another answer")
    clock(f"{len(version.domains)} domains as lookup says")


def compare_absent(version, clock, count=5000 if dxtest.WHOLE else 1000):
    rng, present, names = random.Random(2), set(version.domains), []
    while len(names) < count:
        known = rng.choice(version.domains)
        name = rng.choice((b"x%d.com" % rng.getrandbits(40), b"n" + known, known[1:]))
        if re.match(rb"^[a-z0-9]+\.(com|org|net|de)$", name) and name not in present:
            names.append(name)
    dxtest.equal([n for n in names if version.domain(n) is not None], [], "strangers that are found")
    answers = jsonl("--root", version.root, input=b"\n".join(names) + b"\n")
    dxtest.equal([a for a in answers if "problem" not in a], [], "strangers that lookup finds")
    clock(f"{count} strangers absent")


ALL_FIELDS = ("--fields", "url_id,url,ts,raw_url,extras")


def wrong_listing(version, name, dataset_id, items, answer, page):
    """Words where lookup, whose first page is `answer`, lists something else than items; or None."""
    offset, command = 0, ("--root", version.root, "--dataset", dataset_id, "--limit", page, *ALL_FIELDS)
    while True:
        end = min(len(items), offset + page)
        want = {"domain": name.decode(), "domain_id": version.domain(name)["domain_id"], "dataset_id": dataset_id,
                "dataset": version.datasets[dataset_id]["name"], "total": len(items), "total_est": len(items),
                "offset": offset, "items": items[offset:end], "next_offset": end if end < len(items) else None,
                "version": version.manifest["version"], "complete": True}
        text = answer.pop("domain_unicode", name.decode())  # a reading of the name, beside what the files say
        if answer != want or (text != name.decode() and text.encode("idna") != name):
            both = [(a, b) for a, b in zip(answer.get("items", []), want["items"]) if a != b]
            return f"{name}, {dataset_id}, offset {offset}: lookup and the bytes differ: {both[:1]}"
        if end == len(items):
            return None
        offset = end
        answer = jsonl(*command, "--offset", offset, input=name + b"\n")[0]


def wrong_listings(version, pairs, page=10000, change=None):
    """pairs: (domain, dataset_id). All differences in words, and the number of rows."""
    by_dataset, wrong, rows = collections.defaultdict(list), [], 0
    for name, dataset_id in pairs:
        by_dataset[dataset_id].append(name)
    for dataset_id, names in by_dataset.items():
        lister = Lister(version)
        firsts = jsonl("--root", version.root, "--dataset", dataset_id, "--limit", page, *ALL_FIELDS,
                       input=b"\n".join(names) + b"\n")
        for name, first in zip(names, firsts, strict=True):
            items = lister.urls(name, dataset_id)
            if change:
                change(items)
            wrong.append(wrong_listing(version, name, dataset_id, items, first, page))
            rows += len(items)
    return list(filter(None, wrong)), rows


def compare_listings(version, pairs, clock):
    wrong, rows = wrong_listings(version, pairs)
    for words in wrong[:3]:
        dxtest.check(False, words)
    dxtest.equal(len(wrong), 0, "listings that differ")
    clock(f"{len(pairs)} listings, {rows} rows as lookup says")


def read_whole(root, clock):
    version = Version(root)
    kinds = sum((part.membership.kinds for part in version.parts), collections.Counter())
    clock(f"{root}: {len(version.domains)} domains, {len(version.pairs)} pairs, {len(version.files)} files, sets {dict(kinds)}, "
          f"{len(version.parts)} parts")
    for name in version.domains:
        want = version.owner[name]
        if version.find(name) != (want, want.ordinals[name]):
            dxtest.check(False, f"{name}: not found in the newest part that has it")
    for part in version.parts:
        for ordinal, name in enumerate(part.domains):
            if part.mphf.find(name) != ordinal:
                dxtest.check(False, f"{name}: the hash gives {part.mphf.find(name)}, not {ordinal}")
            for number, dataset_id in enumerate(part.membership.sets[ordinal]):
                if not part.postings.has(ordinal, number, dataset_id):
                    dxtest.check(False, f"{name}, {dataset_id}: not in the page that the directory names")
    clock("every domain found by the hash, every pair by the directory")
    check_lake(version)
    clock(f"{sum(c.rows for c in version.pairs.values())} rows of the lake: counts and postings made anew")
    return version


def compare(root, clock, pairs):
    version = read_whole(root, clock)
    compare_domains(version, clock)
    compare_absent(version, clock)
    every = sorted(version.pairs, key=lambda p: (-version.pairs[p].rows, p))
    rng = random.Random(3)
    datasets = set(rng.sample(sorted(version.datasets), min(150 if dxtest.WHOLE else 10, len(version.datasets))))  # a lookup for each
    rest = [p for p in every[20:] if p[1] in datasets]
    every = every[:20] + rng.sample(rest, min(pairs, len(rest)))
    compare_listings(version, every, clock)
    return version


def corpus(folder, clock):
    path = posts.some(folder.parent, 4)
    if path is None:
        print("SKIPPED in part: the reddit corpus is not here (DX_SHARED_DATA)", flush=True)
        return
    dxtest.domaindex("ingest", "--root", folder, "--format", "tsv", "--dataset-column", 1, "--ts-column", 2,
                     "--url-column", 3, "--extra-column", 4, path)
    dxtest.domaindex("publish", "--root", folder)
    clock("corpus published")
    compare(folder, clock, pairs=2000)


# ---------------------------------------------------------------- self-test

ERRORS = (Complaint, KeyError, IndexError, TypeError, ValueError, struct.error, StopIteration, OSError)


def complaint(root, hashes):
    try:
        check_lake(Version(root, hashes))
    except ERRORS as error:
        return error
    return None


def same_plain(name, before, after, root):
    """Section 2.1: a flipped bit may leave what a frame says as it was."""
    if name == "part.pack":
        entries, _ = manifest_json((root / "index/manifest.json").read_bytes())
        entry = next(e for e in entries.values() if e.get("pack") == hash128(before).hex())
        a, b = pack_files(entry, before), pack_files(entry, after, False)
        return all(a[n] == b[n] or same_plain(n, a[n], b[n], root) for n in a)
    return name.endswith(".zst") and Seekable(name, before).all() == Seekable(name, after).all()


def places_of(data, rng, some, most):
    """Both ends, and some between; in the gate at most so many of these."""
    end = len(data)
    places = {0, 5, end - 1, end - 9, end // 2, *(rng.randrange(end) for _ in range(some))}
    places = sorted(p for p in places if 0 <= p < end)
    return places if dxtest.WHOLE else rng.sample(places, min(len(places), most))


def self_test(root, clock, some=12, kinds=19, only="*", most=1, step=0):
    """Flips a byte in some places of each file, those of older parts too; kinds: names of files there are at least. That hashes find it
    is looked at for each flip, in the gate for every seventh. step: in the gate one name in so many, of one part after the
    other."""
    rng, flips, hashed, quiet = random.Random(4), collections.Counter(), 0, 0
    dxtest.equal(complaint(root, True), None, "complaints about a sound version")
    dxtest.equal(complaint(root, False), None, "complaints about a sound version without hashes")
    files = sorted(p for p in root.rglob(only) if p.is_file() and "rejects" not in p.parts and p.name != ".lock")
    files = [p for p in files if not (p.suffix == ".parquet" and "dataset_id=1" not in str(p))]
    if step and not dxtest.WHOLE:
        of_name = collections.defaultdict(list)
        for path in files:
            of_name[path.name].append(path)
        files = [paths[number % len(paths)] for number, paths in enumerate(list(of_name.values())[::step])]
        kinds = -(-kinds // step)
    for path in files:
        name, sound = path.name, path.read_bytes()
        for place in places_of(sound, rng, some, most):
            damaged = bytearray(sound)
            damaged[place] ^= 1 << rng.randrange(8)
            path.write_bytes(damaged)
            for hashes in (False, True) if dxtest.WHOLE or flips.total() % 7 == 0 else (False,):
                flips[name] += not hashes
                hashed += hashes
                if complaint(root, hashes):
                    continue
                if not hashes and (same_plain(name, sound, bytes(damaged), root) or in_index(path, sound, place)):
                    quiet += 1
                    continue
                dxtest.check(False, f"{path.relative_to(root)}: byte {place} of {len(sound)} flipped, hashes {hashes}: no complaint")
        path.write_bytes(sound)
    dxtest.check(len(flips) >= kinds, f"files that were damaged: {sorted(flips)}")
    folders = {part.folder for part in Version(root).parts}
    dxtest.check(folders <= {path.parent for path in files}, f"folders that were damaged, of {folders}")
    dxtest.equal(complaint(root, True), None, "complaints at the end")
    dxtest.check(hashed, "no flip was looked for by hashes")
    clock(f"{flips.total()} flipped bytes in {len(files)} files complained of, {hashed} by hashes, "
          f"but for {quiet} that change nothing or only the page index when hashes are left out")


def comparison_can_fail(root):
    """A wrong count and a wrong row must not be answers of lookup."""
    version = Version(root)
    pairs = sorted(version.pairs)
    dxtest.equal((wrong_domains(version), wrong_listings(version, pairs)[0]), ([], []), "differences before")

    def swap(items):
        items[0], items[-1] = items[-1], items[0]
    some = [p for p in pairs if version.pairs[p].rows > 1]
    if not dxtest.WHOLE:    # a lookup for each dataset
        kept = sorted({p[1] for p in some})[::3]
        some = [p for p in some if p[1] in kept]
    for words, change in (("a row less", list.pop), ("two rows swapped", swap),
                          ("another time", lambda items: items[0].update(ts="2000-01-01T00:00:00Z")),
                          ("an extra more", lambda items: items[-1]["extras"].update(more=""))):
        for page, pairs_of in ((10000, some), (2, some if dxtest.WHOLE else some[::7])):  # a lookup for each page
            dxtest.equal(len(wrong_listings(version, pairs_of, page, change)[0]), len(pairs_of), f"listings that differ by {words}")
    before = version.pairs[pairs[0]]
    for member in ("urls", "rows"):
        version.pairs[pairs[0]] = before._replace(**{member: getattr(before, member) + 1})
        dxtest.equal(len(wrong_domains(version)), 1, f"domains with another number of {member}")


def complains(what, *arguments):
    try:
        what(*arguments)
    except Complaint:
        return True
    return False


def parts_can_fail(root):
    """What dead.dxb and the manifest say wrongly of parts, under sums that are right."""
    version = Version(root)
    entries, current = manifest_json((version.root / "index/manifest.json").read_bytes())
    part, names = version.parts[-1], entries[current].get("parts", [])
    if ID_MASK != M64 and not names:
        return
    dxtest.check(not complains(part.check_dead, part.dead), "complaints about a sound dead.dxb")
    dxtest.check(not complains(stack, entries[current], entries), "complaints about a sound manifest")
    build_id, domains, ordinals, rank = part.dead[-1]
    (dataset_id, urls), count = next(iter(rank.items()))
    dxtest.check(ordinals and part.dead[0][2], "no domain of both older parts was taken over")
    for wrong in ((bytes(16), domains, ordinals, rank), (build_id, domains + 1, ordinals, rank),
                  (build_id, domains, ordinals[1:], rank), (build_id, domains, tuple(range(domains)), rank),
                  (build_id, domains, ordinals, {}),
                  (build_id, domains, ordinals, {**rank, (dataset_id, urls): count + 1}),
                  (build_id, domains, ordinals, {**rank, (dataset_id, urls + 1): 1})):
        dxtest.check(complains(part.check_dead, [*part.dead[:-1], wrong]), f"dead.dxb may say {wrong}")
    dxtest.check(complains(part.check_dead, part.dead[1:]), "dead.dxb may leave out a part")
    again = (*part.dead[0][:2], tuple(range(part.dead[0][1])), part.dead[0][3])  # what the second took over already
    dxtest.check(complains(part.check_dead, [again, *part.dead[1:]]), "dead.dxb may name a domain again")
    for wrong in ({"parts": []}, {"parts": names[1:]}, {"parts": names[::-1]}, {"parts": [*names, current]},
                  {"parts": ["000000" + names[0][6:]]}, {"first_file": 0}, {"first_file": entries[current]["file_ids"] + 1},
                  {"part_domains": 10**6}, {"part_rows": 10**6}):
        dxtest.check(complains(stack, {**entries[current], **wrong}, entries), f"the manifest may say {wrong}")
    gone = {**entries, names[0]: {**entries[names[0]], "state": "dropped"}}
    dxtest.check(complains(stack, entries[current], gone), "a part may be dropped")


def roaring_files():
    """The format's own examples: 32-bit values with known content, with runs and without."""
    want = sorted({k * 1000 for k in range(100)} | {3 * k for k in range(100000, 200000)} | set(range(700000, 800000)))
    for name in ("bitmapwithruns.bin", "bitmapwithoutruns.bin"):
        path = dxtest.shared_data(f"conformance/roaring-spec/testdata/{name}")
        if path is None:
            print(f"SKIPPED in part: {name} is not here (DX_SHARED_DATA)", flush=True)
            continue
        dxtest.check(roaring(path.read_bytes()) == want, f"{name} has other values")


def in_index(path, data, place):
    """In the page index of a Parquet file, which nobody here reads: the hash of the file stands guard for it."""
    if path.suffix != ".parquet":
        return False
    size = struct.unpack("<I", data[-8:-4])[0]
    groups = Thrift(data[-8 - size:-8]).struct()[4]
    return any(c[at] <= place < c[at] + c[at + 1] for g in groups for c in g[1] for at in (4, 6))


def main():
    clock = oracle.Clock()
    arguments = sys.argv[1:]
    if arguments and arguments[0] != "--self-test":
        try:
            read_whole(pathlib.Path(arguments[0]), clock)
            dxtest.check(True, "read")
        except Complaint as error:
            dxtest.check(False, error)
        dxtest.finish()
    if not dxtest.DOMAINDEX.exists():
        sys.exit(f"{dxtest.DOMAINDEX} is not built")
    with dxtest.tempdir() as tmp:
        tiny_lake(tmp / "tiny")
        self_test(tmp / "tiny", clock)
        comparison_can_fail(tmp / "tiny")
        several = parts_lake(tmp / "tiny parts")
        dxtest.check(several == [1, 2, 3] or ID_MASK != M64, f"parts of the versions of a tiny lake: {several}")
        self_test(tmp / "tiny parts", clock, 3, 20 if ID_MASK == M64 else 19, step=3)
        comparison_can_fail(tmp / "tiny parts")
        parts_can_fail(tmp / "tiny parts")
        parts_lake(tmp / "tiny packs", pack="1M")
        entries, _ = manifest_json((tmp / "tiny packs/index/manifest.json").read_bytes())
        dxtest.check(all("pack" in entry for entry in entries.values()), "versions of packs")
        self_test(tmp / "tiny packs", clock, 6, 1, "part.pack")
        dxtest.domaindex("access", "init", "--root", tmp / "tiny packs")
        bound = (tmp / "tiny packs/index/manifest.json").read_bytes()
        manifest_json(bound)
        dxtest.equal(json.loads(bound).get("access"), json.loads((tmp / "tiny packs/index/access.json").read_bytes())["generation"],
                     "the manifest names the generation of the access table")
        roaring_files()
        clock("wrong answers noticed")
        if not arguments:
            several = parts_lake(tmp / "parts", 2, lambda: check_lake(Version(tmp / "parts")))
            dxtest.check(several == [1, 2, 3, 2, 3, 4] or ID_MASK != M64, f"parts of the versions of a lake: {several}")
            clock("versions of several parts published")
            compare(tmp / "parts", clock, pairs=800 if dxtest.WHOLE else 60)
            compare(tmp / "tiny packs", clock, pairs=100 if dxtest.WHOLE else 20)
            removed = removed_lake(tmp / "parts")
            counts, holes = zip(*removed)
            dxtest.check(ID_MASK != M64 or (counts == (4, 1, 2, 3, 1, 1) and holes[0] and not holes[-1]),
                         f"parts and holes once a dataset was removed: {removed}")
            for parts in (1, 8):
                small = tmp / f"small {parts}"
                small_lake(small, 4 if dxtest.WHOLE else 2, parts)
                entries, current = manifest_json((small / "index/manifest.json").read_bytes())
                several = 1 + len(entries[current].get("parts", []))
                dxtest.check(entries[current]["base"] or ID_MASK != M64, "the small lake's version was not merged")
                dxtest.check(several == min(parts, 3) or ID_MASK != M64, f"the small lake's version has {several} parts")
                clock(f"small lake published, merged three times or in parts: {several}")
                version = compare(small, clock, pairs=3000 if dxtest.WHOLE else 60)
                dxtest.check(parts > 1 or max(map(len, version.groups)) > 1, "a domain over several row groups")
            if dxtest.WHOLE:
                corpus(tmp / "corpus", clock)
    dxtest.finish()


if __name__ == "__main__":
    main()
