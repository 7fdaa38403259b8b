#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes canon/idna_table.h: what UTS #46 needs to know of each code point.

    python3 -m venv v && v/bin/pip install idna==3.13 unicodedata2==17.0.0
    v/bin/python canon/make_idna_table.py > canon/idna_table.h

Both packages must carry the same Unicode version: it is part of the canonical form, so a
newer one is a new DX_CANON_VERSION. Only stdout is written.
"""
import sys

import idna.idnadata
import idna.uts46data
import unicodedata2 as ud

VERSION = ud.unidata_version
LAST = 0x110000
# Order of enum values in idna.c. Classes that rule nothing in RFC 5893 are one: OTHER.
BIDI = ["OTHER", "L", "R", "AL", "AN", "EN", "ES", "CS", "ET", "ON", "BN", "NSM"]
joining_types = idna.idnadata.joining_types()
JOINING = ["U", "L", "R", "D", "T"]
STATUS = {"V": 0, "I": 1, "M": 2, "X": 3}
COLUMNS = 96


def statuses():
    """(status, mapping) of every code point; deviations are valid (non-transitional)."""
    data = idna.uts46data.uts46data
    rows = [(row[0], "V" if row[1] == "D" else row[1], row[2] if len(row) > 2 else "") for row in data]
    assert {status for _, status, _ in rows} <= set(STATUS), "an unknown status"
    for (first, status, text), after in zip(rows, rows[1:] + [(LAST, "", "")]):
        for cp in range(first, after[0]):
            yield cp, STATUS[status], text


def joining(cp):
    value = joining_types.get(cp)
    text = chr(value) if value is not None else "U"
    return JOINING.index(text) if text in JOINING else 0


def numbers(name, kind, values):
    print(f"static const {kind} {name}[] = {{")
    line = "   "
    for value in values:
        piece = f" {value:#x},"
        if len(line) + len(piece) > COLUMNS:
            print(line)
            line = "   "
        line += piece
    print(line)
    print("};\n")


def main():
    assert idna.uts46data.__version__ == VERSION == idna.idnadata.__version__, "versions differ"
    assert len(VERSION.split(".")) == 3
    kinds, ranges, mapped, pool = {}, [], [], []
    known = {}
    for cp, status, text in statuses():
        surrogate = 0xD800 <= cp < 0xE000
        c = chr(cp)
        bidi = ud.bidirectional(c)
        key = (3 if surrogate else status,
               BIDI.index(bidi) if bidi in BIDI else 0,
               joining(cp),
               int(ud.category(c).startswith("M")),
               ud.combining(c))
        kind = kinds.setdefault(key, len(kinds))
        if not ranges or ranges[-1][1] != kind:
            ranges.append((cp, kind))
        if status == STATUS["M"]:
            if text not in known:
                known[text] = len(pool)
                pool.extend(ord(t) for t in text)
            mapped.append((cp, known[text], len(text)))
    assert len(kinds) <= 256 and len(pool) < 1 << 16 and max(n for _, _, n in mapped) < 32

    splits = []
    for cp in range(LAST):
        field = "" if 0xAC00 <= cp < 0xD7A4 else ud.decomposition(chr(cp))
        if field and not field.startswith("<"):
            parts = [int(p, 16) for p in field.split()]
            splits.append((cp, parts[0], parts[1] if len(parts) > 1 else 0))
    joins = sorted((a, b, cp) for cp, a, b in splits
                   if b and ud.normalize("NFC", chr(cp)) == chr(cp))

    print("/* SPDX-License-Identifier: Apache-2.0 AND Unicode-3.0")
    print(" * idna_table.h - UTS #46 and Unicode properties for canon/idna.c.")
    print(" *")
    print(f" * Written by canon/make_idna_table.py from Unicode {VERSION}; do not edit.")
    print(" */")
    print("/* clang-format off */")
    print("#ifndef DX_CANON_IDNA_TABLE_H\n#define DX_CANON_IDNA_TABLE_H\n")
    print("#include <stdint.h>\n")
    print(f'#define DX_IDNA_UNICODE "{VERSION}"\n')
    print("/* status, bidi class, joining type, mark, combining class */")
    print("static const struct { uint8_t status, bidi, joining, mark, ccc; } idna_kinds[] = {")
    for key in kinds:
        print("    { %d, %d, %d, %d, %d }," % key)
    print("};\n")
    print("/* first code point << 8 | index in idna_kinds, up to the next entry */")
    numbers("idna_ranges", "uint32_t", [cp << 8 | kind for cp, kind in ranges])
    print("/* mapped code points; their targets: offset in idna_pool << 5 | count */")
    numbers("idna_mapped", "uint32_t", [cp for cp, _, _ in mapped])
    numbers("idna_targets", "uint32_t", [at << 5 | n for _, at, n in mapped])
    numbers("idna_pool", "uint32_t", pool)
    print("/* canonical decompositions: code point, first, second (0: none); without Hangul */")
    numbers("idna_splits", "uint32_t", [v for row in splits for v in row])
    print("/* canonical compositions, sorted: first, second, code point */")
    numbers("idna_joins", "uint32_t", [v for row in joins for v in row])
    print("#endif")


if __name__ == "__main__":
    sys.exit(main())
