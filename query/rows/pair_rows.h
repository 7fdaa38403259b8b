/* SPDX-License-Identifier: Apache-2.0
 * pair_rows.h - all rows of one domain in one dataset, URL and time of each, as one block of the page cache: a listing of a domain
 * with a few rows in each of a hundred datasets finds them by a lookup a dataset, and not by a posting list and four pages.
 *
 *   if (dx_pair_rows_find(&p, v, part, ordinal, dataset_id) == 1)
 *       ... p.rows[place] ...; dx_pair_rows_get(&p, place, &row);              as a listing gives it
 *       dx_pair_rows_put(&p, v);
 *   dx_pair_rows_keep(v, part, ordinal, dataset_id);                           once rows of the pair were read
 *
 * Kept are pairs of at most DX_PAIR_ROWS_MAX rows in DX_PAIR_ROWS_RUNS runs, of which each column lies on one page. Keeping reads
 * nothing: where a page of the pair is not in the cache, nothing is kept. So is a pair that cannot be kept, as such, so that it is
 * not tried again: find is 0 for it, as for one that was not tried, which is -1.
 *
 * What an answer says it has looked at does not depend on what is kept: p.runs has the pages that the rows lie on. The key names
 * the part and the pair. Made only of rows that were read and checked; in native byte order. Any thread.
 */
#ifndef DX_QUERY_ROWS_PAIR_ROWS_H
#define DX_QUERY_ROWS_PAIR_ROWS_H

#include "query/rows/listing.h"

#define DX_PAIR_ROWS_MAX 1024u /* 130 kB of the usual URLs */
#define DX_PAIR_ROWS_RUNS 8u
#define DX_PAIR_ROWS_BYTES ((uint64_t)8 << 20) /* of their pages */
#define DX_PAIR_ROWS_FIELDS ((unsigned)(DX_FIELD_URL | DX_FIELD_URL_ID | DX_FIELD_TS))

struct dx_pair_row {
    int64_t ts_us;
    uint32_t at;                       /* of scheme, host and path_query, one behind the other */
    uint32_t scheme, host, path_query; /* bytes */
    bool has_ts;
};

struct dx_pair_rows_run {
    uint64_t end; /* place behind its last row */
    uint64_t url_bytes, ts_bytes;
    uint32_t url_pages, ts_pages;
};

struct dx_pair_rows {
    const struct dx_pair_row *rows;
    uint32_t row_count;
    const struct dx_pair_rows_run *runs;
    uint32_t run_count;
    const uint8_t *text;

    struct dx_cached *block; /* private; NULL: not found */
};

int dx_pair_rows_find(struct dx_pair_rows *p, const struct dx_version *v,
                      const struct dx_part *part, uint64_t ordinal, uint32_t dataset_id);
void dx_pair_rows_put(struct dx_pair_rows *p, const struct dx_version *v);
void dx_pair_rows_keep(struct dx_version *v, const struct dx_part *part, uint64_t ordinal,
                       uint32_t dataset_id);

/* Pages with these fields that reading rows [first, end) takes, and their bytes as they are stored; added. */
void dx_pair_rows_count(const struct dx_pair_rows *p, unsigned fields, uint64_t first, uint64_t end,
                        uint64_t *pages, uint64_t *bytes);

static inline void dx_pair_rows_get(const struct dx_pair_rows *p, uint64_t place,
                                    struct dx_listing_row *row)
{
    const struct dx_pair_row *r = &p->rows[place];

    row->scheme = dx_span_of(p->text + r->at, r->scheme);
    row->host = dx_span_of(row->scheme.data + r->scheme, r->host);
    row->path_query = dx_span_of(row->host.data + r->host, r->path_query);
    row->raw_url = dx_span_of(NULL, 0);
    row->has_ts = r->has_ts;
    row->ts_us = r->ts_us;
    row->extra_count = 0;
}

/* Bytes of the URLs of rows [first, end). */
static inline uint64_t dx_pair_rows_text_bytes(const struct dx_pair_rows *p, uint64_t first,
                                               uint64_t end)
{
    const struct dx_pair_row *last = &p->rows[end > 0 ? end - 1 : 0];

    return first >= end
               ? 0
               : last->at + last->scheme + last->host + last->path_query - p->rows[first].at;
}

#endif
