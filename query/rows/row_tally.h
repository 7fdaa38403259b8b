/* SPDX-License-Identifier: Apache-2.0
 * row_tally.h - hosts and paths of rows that come in any order: those of an answer, not of a
 * publish.
 *
 *   dx_row_tally_init(&t);
 *   rc = dx_row_tally_add(&t, &row, &err);          copied; DX_E_LIMIT beyond the caps below
 *   rc = dx_row_tally_end(&t, domain, all_paths, &facts, &url_count, &err);   as dx_pair_tally_end
 *   dx_row_tally_release(&t);
 *
 * A listing goes file by file, and a tally wants rows by (host, path and query), so they are kept
 * and sorted: 32 bytes and the text of each, twice the first while they are sorted. One thread at a
 * time.
 */
#ifndef DX_QUERY_ROWS_ROW_TALLY_H
#define DX_QUERY_ROWS_ROW_TALLY_H

#include "base/buf.h"
#include "base/bytes.h"

#include <stdint.h>

struct dx_listing_row;
struct dx_tallied_row;

/* What it takes at most: a hundred MB, and a second of sorting. */
#define DX_ROW_TALLY_ROWS (1u << 19)
#define DX_ROW_TALLY_BYTES (64u << 20)

struct dx_row_tally {
    struct dx_tallied_row *rows;
    size_t count, capacity;
    struct dx_buf text;
    bool of_counts; /* set after init: rows are hosts with their pages (format/text/host_pages.h) */
};

void dx_row_tally_init(struct dx_row_tally *t);
int dx_row_tally_add(struct dx_row_tally *t, const struct dx_listing_row *row,
                     struct dx_error *err);
int dx_row_tally_end(struct dx_row_tally *t, struct dx_span domain, bool all_paths,
                     struct dx_buf *facts, uint64_t *url_count, struct dx_error *err);
void dx_row_tally_release(struct dx_row_tally *t);

#endif
