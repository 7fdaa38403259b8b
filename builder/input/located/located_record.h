/* SPDX-License-Identifier: Apache-2.0
 * located_record.h - the record that a locator leads to.
 *
 *   struct dx_located_ask ask = { .locator = &l, .base = ".", .max_bytes = 64 << 20 };
 *   rc = dx_located_record_read(&ask, &out, &err);
 *
 * out gets the bytes of a WARC record as its file stores them, or decompressed; a row of a Parquet file
 * as a line of JSON; a record of text with a line end. The file lies below the base
 * (located_path.h). Of a WARC record and of plain text one range is read, of Parquet the footer and the
 * pages up to the row (parquet_row.h); compressed text is read from its beginning.
 *
 * What is there must be what the locator says: one whole WARC record of that length, a row that the
 * file has, a line. With `wants` it must be of this URL too: one of `url` is, in canonical form or as it
 * stands, its WARC-Target-URI, or stands in the row or line. Else DX_E_CORRUPT: the file has changed
 * since. At most max_bytes of each of what is read and what it becomes (DX_E_LIMIT). Any thread.
 */
#ifndef DX_BUILDER_INPUT_LOCATED_LOCATED_RECORD_H
#define DX_BUILDER_INPUT_LOCATED_LOCATED_RECORD_H

#include "base/buf.h"
#include "base/error.h"
#include "format/text/locator.h"

#define DX_LOCATED_URLS_MAX 3

struct dx_canon;

struct dx_located_ask {
    const struct dx_locator *locator;
    const char *base;
    size_t max_bytes;
    bool decompress;
    struct dx_canon *canon; /* NULL: URLs must be equal as they stand */
    struct dx_span url[DX_LOCATED_URLS_MAX];
    size_t url_count; /* 0: whatever is there */
};

int dx_located_record_read(const struct dx_located_ask *ask, struct dx_buf *out,
                           struct dx_error *err);

#endif
