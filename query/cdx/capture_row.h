/* SPDX-License-Identifier: Apache-2.0
 * capture_row.h - the columns of a row of the lake, as a CDX file would have them.
 *
 *   struct dx_capture_row r;
 *   dx_capture_row_init(&r, v);                                    v: whose suppressions hold
 *   dx_capture_row_dataset(&r, name);                              of the rows that come; borrowed
 *   rc = dx_capture_row_make(&r, &row, urlkey, &err);              a row with the extras of dx_capture_row_extras
 *   ... r.column[DX_CDX_MIME] ...                              data NULL: it has none. Until the next row
 *   dx_capture_row_release(&r);
 *
 * original     the URL as it was ingested, if a rule of suppression does not hide that and it has no bytes outside of graphic ASCII; else
 *              the canonical one
 * timestamp    14 digits, UTC; "-" without a time. Fractions of a second are cut
 * mimetype     `content_type`, `mime` or `mimetype` without parameters; "warc/revisit" where `type` is "revisit"
 * statuscode   `status` or `statuscode`
 * length, offset, filename   of the locator of a WARC record, else the extras of these names
 * digest, redirect, robotflags   the extras of these names
 *
 * Bytes outside of graphic ASCII are percent-encoded. One thread at a time.
 */
#ifndef DX_QUERY_CDX_CAPTURE_ROW_H
#define DX_QUERY_CDX_CAPTURE_ROW_H

#include "query/cdx/cdx_ask.h"
#include "query/suppression/shown_request.h"

#include "base/buf.h"

struct dx_listing_row;

#define DX_CAPTURE_ROW_FIELDS (DX_FIELD_URL | DX_FIELD_TS | DX_FIELD_RAW_URL | DX_FIELD_LOCATOR)

/* Names of extras that are read. */
extern const struct dx_span *const dx_capture_row_extras;
extern const size_t dx_capture_row_extra_count;

struct dx_capture_row {
    struct dx_span column[DX_CDX_COLUMNS];
    uint64_t timestamp; /* 0: none */

    /* private */
    struct dx_shown_request shown;
    struct dx_span dataset;
    struct dx_buf text;
    uint32_t ends[DX_CDX_COLUMNS]; /* in text; 0: no value */
};

void dx_capture_row_init(struct dx_capture_row *r, struct dx_version *v);
void dx_capture_row_dataset(struct dx_capture_row *r, struct dx_span name);
int dx_capture_row_make(struct dx_capture_row *r, const struct dx_listing_row *row,
                        struct dx_span urlkey, struct dx_error *err);
void dx_capture_row_release(struct dx_capture_row *r);

/* 14 digits as a number; 0: it is not a time that a row can have. */
uint64_t dx_cdx_timestamp(int64_t us);

#endif
