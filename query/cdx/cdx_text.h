/* SPDX-License-Identifier: Apache-2.0
 * cdx_text.h - rows as text, in the form that a client of a CDX server expects.
 *
 *   dx_cdx_text_begin(&t, ask, out);
 *   dx_cdx_text_row(&t, columns);            DX_CDX_COLUMNS of them; data NULL: none
 *   dx_cdx_text_piece(&t, span);             one that was written to another buffer, with `rows` 1
 *   dx_cdx_text_end(&t, key);                key: of dx_cdx_key_write, size 0: none
 *   dx_cdx_text_line(ask, columns, out)      what pywb's filters without a field look at: the line of a CDXJ file
 *   dx_cdx_text_pages(ask, rows, out)        the answer to showNumPages
 *   dx_cdx_text_type(ask)                    Content-Type; static
 *
 *   dialect, output    a row
 *   Wayback, text      values with spaces between them, "-" for none
 *   Wayback, json      an array of texts; the first one has the names
 *   pywb, text         the line of a CDXJ file; with fields or resolveRevisits values with spaces between them
 *   pywb, json         an object on a line
 *   cdxj               urlkey, timestamp, and an object of the others
 *   pywb, link         a link of a TimeMap (RFC 7089), with a comma between two
 *
 * The caller looks at out->failed. Pure. A text is for one thread at a time.
 */
#ifndef DX_QUERY_CDX_CDX_TEXT_H
#define DX_QUERY_CDX_CDX_TEXT_H

#include "base/buf.h"
#include "query/cdx/cdx_ask.h"

struct dx_cdx_text {
    const struct dx_cdx_ask *ask;
    struct dx_buf *out;
    uint64_t rows;
};

void dx_cdx_text_begin(struct dx_cdx_text *t, const struct dx_cdx_ask *ask, struct dx_buf *out);
void dx_cdx_text_row(struct dx_cdx_text *t, const struct dx_span *columns);
void dx_cdx_text_piece(struct dx_cdx_text *t, struct dx_span row);
void dx_cdx_text_end(struct dx_cdx_text *t, struct dx_span key);
void dx_cdx_text_line(const struct dx_cdx_ask *ask, const struct dx_span *columns,
                      struct dx_buf *out);
uint64_t dx_cdx_pages(const struct dx_cdx_ask *ask, uint64_t rows);
void dx_cdx_text_pages(const struct dx_cdx_ask *ask, uint64_t rows, struct dx_buf *out);
const char *dx_cdx_text_type(const struct dx_cdx_ask *ask);

#endif
