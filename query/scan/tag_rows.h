/* SPDX-License-Identifier: Apache-2.0
 * tag_rows.h - a page of the rows that have a tag, without I/O.
 *
 *   dx_tag_rows_init(&r, &sets, hidden, fields, deadline_ms);          hidden: NULL, or what was taken out of sets
 *   rc = dx_tag_rows_begin(&r, file, row, limit, &err);                from that row of sets.files[file] on
 *   while ((rc = dx_tag_rows_step(&r, &err)) == DX_LISTING_WAITS) {
 *       rc = dx_read_batch_perform(&r.listing.reading, &err);
 *       rc = dx_listing_fetched(&r.listing, rc, &err);
 *       if (rc < 0) break;
 *   }
 *   if (rc == DX_LISTING_DONE)
 *       rc = dx_tag_rows_each(&r, each, ctx, &err);                    each(ctx, file of sets, row)
 *   r.more, r.next_file, r.next_row                                    where the next page begins
 *   dx_tag_rows_release(&r);
 *
 * Rows stand as the files of sets do, and in them by number. Read are the pages of the wanted
 * columns that have rows of the page, and no others: where rows lie a few others apart they are
 * read as one stretch. A page that comes to a bound of what it may read is shorter, but never empty
 * while there are rows. sets and hidden are held until release. One thread at a time.
 */
#ifndef DX_QUERY_SCAN_TAG_ROWS_H
#define DX_QUERY_SCAN_TAG_ROWS_H

#include "query/rows/listing.h"
#include "query/scan/tag_sets.h"

struct dx_tag_row {
    uint32_t file; /* in sets->files */
    uint32_t row;  /* in the file */
};

struct dx_tag_rows {
    struct dx_listing listing;
    bool more;
    uint32_t next_file; /* in sets->files */
    uint64_t next_row;

    /* private */
    const struct dx_tag_sets *sets;
    const struct dx_suppression_tags *hidden;
    struct dx_tag_row *rows;
    size_t row_count;
    struct dx_tag_row *first; /* of each run of the listing */
    size_t run_count;
};

void dx_tag_rows_init(struct dx_tag_rows *r, const struct dx_tag_sets *sets,
                      const struct dx_suppression_tags *hidden, unsigned fields,
                      uint64_t deadline_ms);
int dx_tag_rows_begin(struct dx_tag_rows *r, size_t file, uint64_t row, uint64_t limit,
                      struct dx_error *err);
int dx_tag_rows_step(struct dx_tag_rows *r, struct dx_error *err);

typedef int dx_tag_rows_take(void *ctx, const struct dx_tag_set_file *file,
                             const struct dx_listing_row *row, struct dx_error *err);
int dx_tag_rows_each(struct dx_tag_rows *r, dx_tag_rows_take *take, void *ctx,
                     struct dx_error *err);
void dx_tag_rows_release(struct dx_tag_rows *r);

#endif
