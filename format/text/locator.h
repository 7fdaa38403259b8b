/* SPDX-License-Identifier: Apache-2.0
 * locator.h - where a row of the lake came from: a file, and the place in it, as text.
 *
 *   NAME#warc=OFFSET+LENGTH    a WARC record: bytes of the file as it is stored
 *   NAME#warc=OFFSET           the same where nothing says how long it is
 *   NAME#row=GROUP:ROW         a row of a Parquet file: row group, and row in it, both from 0
 *   NAME#was=SIZE-HASH,row=GROUP:ROW     the same, and what the file was when its rows were indexed
 *   NAME#text=OFFSET+LENGTH    a record of plain text: its bytes without the line end
 *   NAME#line=NUMBER           a record of compressed text, by its first line, from 1
 *
 *   n = dx_locator_put(&locator, text);               room for DX_LOCATOR_MAX bytes; 0: it has no text
 *   ok = dx_locator_parse(text, &locator);            name points into the text
 *   ok = dx_locator_name_valid(name);
 *
 * NAME is a path or an address, 1 to DX_LOCATOR_NAME_MAX bytes of UTF-8 without control characters; it
 * may hold '#', so the place begins behind the last one. Numbers are decimal without leading zeros and
 * below 2^63, as is OFFSET + LENGTH; LENGTH and SIZE are at least 1. HASH is 16 hex digits in lower case: XXH3 of
 * the file's footer (its metadata, without size and mark). There is one text for a locator, and one
 * locator for a text (docs/FORMAT.md, 12.2). Says nothing about whether the name may be opened. Any
 * thread.
 */
#ifndef DX_FORMAT_TEXT_LOCATOR_H
#define DX_FORMAT_TEXT_LOCATOR_H

#include "base/bytes.h"

#define DX_LOCATOR_COLUMN "locator" /* of the lake */
#define DX_LOCATOR_NAME_MAX 1024
#define DX_LOCATOR_MAX (DX_LOCATOR_NAME_MAX + 96)

enum dx_locator_kind {
    DX_LOCATOR_NONE,
    DX_LOCATOR_WARC, /* place: offset, length; length 0: unknown */
    DX_LOCATOR_ROW,  /* row group, row */
    DX_LOCATOR_TEXT, /* offset, length */
    DX_LOCATOR_LINE  /* number */
};

struct dx_locator {
    enum dx_locator_kind kind;
    struct dx_span name;
    uint64_t place[2];
    uint64_t was_size; /* of the file, only with a row; 0: not known */
    uint64_t was_hash; /* of its footer, if was_size is known */
};

bool dx_locator_name_valid(struct dx_span name);
size_t dx_locator_put(const struct dx_locator *locator, uint8_t *text);
bool dx_locator_parse(struct dx_span text, struct dx_locator *locator);

#endif
