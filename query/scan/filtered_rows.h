/* SPDX-License-Identifier: Apache-2.0
 * filtered_rows.h - the rows of one domain in one dataset that a filter takes, a page at a time,
 * without I/O.
 *
 *   struct dx_filtered_rows f;
 *   rc = dx_filtered_rows_init(&f, v, part, ordinal, dataset_id, &ask, &err);
 *   while ((rc = dx_filtered_rows_step(&f, &err)) == DX_LISTING_WAITS) {
 *       rc = dx_read_batch_perform(dx_filtered_rows_reading(&f), &err);
 *       rc = dx_filtered_rows_fetched(&f, rc, &err);
 *       if (rc < 0) break;
 *   }
 *   if (rc == DX_LISTING_DONE)
 *       ... f.found, f.total, f.next; dx_filtered_rows_each(&f, take, ctx, &err) ...
 *   dx_filtered_rows_release(&f);                also after an init that failed
 *
 * Rows are looked at in their order from `first` on, in what of them the filter needs, until
 * `limit` are taken, the end is there, or enough was looked at for one request
 * (DX_FILTERED_LOOK_MAX rows, DX_LISTING_READ_MAX bytes of pages, DX_REGEX_STEPS_PAGE steps of all that uses these regexes). Then those that were taken are
 * read. `next` is the place to go on at: a page may be short, or empty, and is the last one only if
 * next is the end.
 *
 * With a prefix not all rows are looked at. Files of a version stand in order of (host,
 * path_query), which a publish makes sure of; so where the last row that was looked at lies before
 * the prefix or behind it, the next one that may be within is searched for, first in growing steps
 * and then by halving: a page of URLs for each try, and nothing of those between.
 *
 * A tag is not looked for in its column: tags.dxt says which places have it (query/scan/tag_places.h), and only these are
 * looked at, with up to NEAR_ROWS rows between two. Where the filter is a tag alone, they are taken without a look, and nothing is
 * read but what of them is wanted.
 *
 * A chunk whose pages are more than a listing may read is halved. What is looked at depends on the
 * version and the question alone, not on what is cached. The version, and what ask.hidden points
 * to, must stay until release. One thread at a time.
 */
#ifndef DX_QUERY_SCAN_FILTERED_ROWS_H
#define DX_QUERY_SCAN_FILTERED_ROWS_H

#include "base/buf.h"
#include "query/rows/listing.h"
#include "query/rows/row_filter.h"
#include "query/scan/tag_places.h"

#define DX_FILTERED_LOOK_MAX 65536 /* rows: some 10 ms, with pages cached */

struct dx_suppression_pair;

struct dx_filtered_ask {
    struct dx_row_filter filter;              /* at least one; its texts are copied */
    uint64_t first, end;                      /* places; end may lie behind the last row */
    uint64_t limit;                           /* rows, at least 1 */
    unsigned fields;                          /* of rows that are given */
    const struct dx_suppression_pair *hidden; /* rows that are not taken; NULL: none */
    bool nothing;         /* it is known that no row matches: none is looked at */
    uint64_t deadline_ms; /* as of dx_listing_init */
};

/* Taken rows that lie near each other: read as one. */
struct dx_filtered_run {
    uint64_t place, rows;
};

struct dx_filtered_rows {
    bool found;     /* the pair exists */
    uint64_t total; /* its rows, hidden ones too */
    uint64_t next;  /* place */
    uint64_t end;   /* of what was asked for: ask.end, or total */
    /* What was looked at: rows, and pages of the lake with their bytes as they are stored. */
    uint64_t rows_seen, pages_seen, bytes_seen;

    /* private */
    struct dx_version *version;
    struct dx_filtered_ask ask;
    uint8_t text[DX_ROW_FILTER_MAX];
    unsigned state;
    struct dx_listing listing; /* where rows are; then those that are looked at; then those taken */

    struct dx_run *runs; /* of the pair, from `first` on */
    uint64_t *run_places;
    size_t run_count;
    uint64_t known_end; /* of the runs */

    uint64_t chunk; /* rows to look at, next */
    uint64_t chunk_end;
    uint64_t place; /* of the row that comes */
    enum dx_row_side side;
    struct dx_buf host; /* of the row that was looked at last */
    struct dx_buf scratch;
    uint64_t low, high, stride; /* the search: low is known to be none, high to be one or the end */
    bool closing;               /* halving */
    bool reached;               /* what the try said */
    uint64_t looked, read_bytes;
    struct dx_span extras[DX_ROW_FILTER_EXTRAS]; /* that the filter looks at */
    size_t extra_count;

    bool by_tag; /* the filter was of one that is indexed; f->ask.filter has it no more */
    struct dx_tag_places tags;
    uint64_t
        tag_next; /* the first place with it, from that of the row that comes on; known_end: none */

    uint64_t *taken; /* places */
    size_t taken_count, taken_capacity;
    struct dx_filtered_run *near;
    size_t near_count, near_capacity;
};

int dx_filtered_rows_init(struct dx_filtered_rows *f, struct dx_version *v,
                          const struct dx_part *part, uint64_t ordinal, uint32_t dataset_id,
                          const struct dx_filtered_ask *ask, struct dx_error *err);
int dx_filtered_rows_step(struct dx_filtered_rows *f, struct dx_error *err);
struct dx_read_batch *dx_filtered_rows_reading(struct dx_filtered_rows *f);
int dx_filtered_rows_fetched(struct dx_filtered_rows *f, int rc, struct dx_error *err);
void dx_filtered_rows_release(struct dx_filtered_rows *f);

/* Once it is done: the rows that were taken, in order. */
typedef int dx_filtered_take(void *ctx, const struct dx_listing_row *row, struct dx_error *err);
int dx_filtered_rows_each(struct dx_filtered_rows *f, dx_filtered_take *take, void *ctx,
                          struct dx_error *err);

#endif
