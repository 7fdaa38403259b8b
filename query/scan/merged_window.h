/* SPDX-License-Identifier: Apache-2.0
 * merged_window.h - some rows of one file, held while files are merged by URL.
 *
 *   rc = dx_merged_window_add(&w, &row, place, digest, &err);      texts are copied
 *   rc = dx_merged_window_add_rows(&w, rows, text, count, place, &err);
 *   c = dx_merged_row_compare(&a, a_text, &b, b_text);             host, path_query, time; null before all
 *   dx_merged_window_clear(&w);  dx_merged_window_release(&w);
 *
 * One thread at a time.
 */
#ifndef DX_QUERY_SCAN_MERGED_WINDOW_H
#define DX_QUERY_SCAN_MERGED_WINDOW_H

#include "base/buf.h"
#include "base/bytes.h"
#include "query/rows/listing.h"

struct dx_merged_row {
    size_t at; /* of scheme, host, path_query and digest, one behind the other */
    uint32_t scheme, host, path_query, digest; /* bytes */
    bool has_ts, has_digest;
    int64_t ts_us;
    uint64_t place;
};

struct dx_merged_window {
    struct dx_merged_row *rows; /* in order of places */
    size_t count, capacity;
    size_t next; /* so many of them are used up, from the end that is merged first */
    struct dx_buf text;
    uint64_t chunk; /* rows to look at, next */

    /* The row that was looked at last, whether it is in rows or not. */
    bool looked;
    bool edge_in_rows; /* the last one of them, in the direction of the merge */
    struct dx_merged_row edge;
    struct dx_buf edge_text;
};

int dx_merged_row_copy(struct dx_merged_row *to, struct dx_buf *text,
                       const struct dx_listing_row *row, uint64_t place,
                       const struct dx_span *digest, struct dx_error *err);
int dx_merged_row_compare(const struct dx_merged_row *a, const uint8_t *a_text,
                          const struct dx_merged_row *b, const uint8_t *b_text);

int dx_merged_window_add(struct dx_merged_window *w, const struct dx_listing_row *row,
                         uint64_t place, const struct dx_span *digest, struct dx_error *err);
/* Rows of a text that has theirs one behind the other, the first of them at `place`. */
int dx_merged_window_add_rows(struct dx_merged_window *w, const struct dx_merged_row *rows,
                              const uint8_t *text, size_t count, uint64_t place,
                              struct dx_error *err);
void dx_merged_window_clear(struct dx_merged_window *w);
void dx_merged_window_release(struct dx_merged_window *w);

static inline struct dx_span dx_merged_row_host(const struct dx_merged_row *r, const uint8_t *text)
{
    return dx_span_of(text + r->at + r->scheme, r->host);
}

static inline struct dx_span dx_merged_row_path(const struct dx_merged_row *r, const uint8_t *text)
{
    return dx_span_of(text + r->at + r->scheme + r->host, r->path_query);
}

/* As rows of a listing are: no extras, no raw_url. */
static inline void dx_merged_row_get(const struct dx_merged_row *r, const uint8_t *text,
                                     struct dx_listing_row *row)
{
    row->scheme = dx_span_of(text + r->at, r->scheme);
    row->host = dx_merged_row_host(r, text);
    row->path_query = dx_merged_row_path(r, text);
    row->raw_url = dx_span_of(NULL, 0);
    row->has_ts = r->has_ts;
    row->ts_us = r->ts_us;
    row->extra_count = 0;
}

#endif
