/* SPDX-License-Identifier: Apache-2.0
 * cdx_row.h - a row of a URL listing as a line of a CDX file, or of a CDXJ file.
 *
 *   dx_cdx_row_init(&l);
 *   rc = dx_cdx_row_set(&l, columns, count, values, &err);     values as dx_row_bind leaves them
 *   dx_cdx_row_put(&l, &out);                              N b a m s k r M S V g
 *   dx_cdx_row_put_json(&l, &out);                         urlkey, time, {"url": ..., "mime": ...}
 *   dx_cdx_row_release(&l);
 *
 * From the members url, raw_url, ts, content_type, locator, and of extras: mime, mimetype, status, statuscode,
 * digest, redirect, robotflags. Offset, length and file name are those of a locator of a WARC record. What a
 * row does not have is "-", and left out of CDXJ; spaces and control characters of a column of CDX are
 * percent-encoded. The URL is the one that was requested: raw_url where the row has one. One thread at a time.
 */
#ifndef DX_QUERY_FORMATS_CDX_ROW_H
#define DX_QUERY_FORMATS_CDX_ROW_H

#include "canon/urlkey.h"
#include "query/formats/row_columns.h"

#define DX_CDX_HEADER " CDX N b a m s k r M S V g\n"

struct dx_cdx_row {
    struct dx_span url, raw_url, mime, status, digest, redirect, flags, length, offset, filename;
    char time[15]; /* 14 digits; "-": none */
    struct dx_urlkey key;
    struct dx_buf scratch; /* texts without their escapes */
};

void dx_cdx_row_init(struct dx_cdx_row *l);
void dx_cdx_row_release(struct dx_cdx_row *l);
int dx_cdx_row_set(struct dx_cdx_row *l, const struct dx_row_column *columns, size_t count,
                   const struct dx_span *values, struct dx_error *err);
void dx_cdx_row_put(const struct dx_cdx_row *l, struct dx_buf *out);
void dx_cdx_row_put_json(const struct dx_cdx_row *l, struct dx_buf *out);

#endif
