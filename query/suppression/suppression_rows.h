/* SPDX-License-Identifier: Apache-2.0
 * suppression_rows.h - reads all rows of a domain and finds those that suppressions hide.
 *
 *   struct dx_suppression_rows h;
 *   rc = dx_suppression_rows_read(v, &found, &of, &stop, &h, &err);
 *   ... h.pairs[0 .. h.count) ...                by dataset_id; those of which nothing is hidden
 *                                                are left out
 *   dx_suppression_rows_sums(&h, scope, &sums);       over the pairs that a scope shows: as of an index that
 *                                                has no others. Any thread
 *   dx_suppression_rows_release(&h);
 *
 * Blocks: it reads the lake, a window at a time. `stop` may be set by another thread, and ends it
 * before the next window with DX_E_TIMEOUT. Mapped files that were changed meanwhile are
 * DX_E_CONFLICT. v is pinned and `of` is of rules that stay.
 *
 * A rule hits a URL, so rows of one URL are hidden or shown together; the visible number of URLs is
 * that of the index less the distinct ones that are hidden. Memory: 16 bytes for each of those, 24
 * for each run of hidden rows and for each dataset of the domain; of a pair while it is read, the
 * text of its visible rows up to the caps of query/rows/row_tally.h, for the facts of those pairs
 * that have hidden ones.
 */
#ifndef DX_QUERY_SUPPRESSION_SUPPRESSION_ROWS_H
#define DX_QUERY_SUPPRESSION_SUPPRESSION_ROWS_H

#include "base/bytes.h"
#include "base/error.h"
#include "format/core/counts.h"

#include <stdatomic.h>

struct dx_found;
struct dx_rules_of;
struct dx_scope;
struct dx_version;

/* Positions [first, end). */
struct dx_suppression_range {
    uint64_t first, end;
    uint64_t hidden; /* rows that are hidden before this range */
};

struct dx_suppression_pair {
    uint32_t dataset_id;
    struct dx_pair_count visible; /* exact; no row: all is 0 */
    uint64_t row_count;           /* physical; of a dataset of counts, as all counts here, pages */
    uint64_t url_count;           /* physical */
    uint64_t withheld_rows;       /* hidden and said to be: policy "withheld" */
    struct dx_suppression_range *ranges; /* ascending, apart from each other, at least one */
    size_t range_count;
    struct dx_span sketch; /* of the visible URLs (format/version/url_sketch.h); empty: no row is */
    /* of the visible rows (format/version/facts.h); empty: they are over the caps of
     * query/rows/row_tally.h. Paths are in it if row_count is over DX_FACTS_ROWS */
    struct dx_span facts;
};

struct dx_hidden_sums {
    uint64_t visible_rows;
    uint64_t withheld_rows;
};

/* Any pair of the domain, also one of which nothing is hidden. */
struct dx_shown_pair {
    uint32_t dataset_id;
    uint64_t visible_rows;
    uint64_t withheld_rows;
};

struct dx_suppression_rows {
    struct dx_suppression_pair *pairs;
    size_t count;
    struct dx_shown_pair *shown; /* by dataset_id */
    size_t shown_count;
    struct dx_hidden_sums all;   /* of the domain, in all its datasets */
    uint64_t distinct_url_count; /* of the visible rows of all pairs, as publish counts it */
    bool distinct_dense;
    size_t bytes; /* that this holds */
};

int dx_suppression_rows_read(struct dx_version *v, const struct dx_found *found,
                             const struct dx_rules_of *of, const _Atomic bool *stop,
                             struct dx_suppression_rows *out, struct dx_error *err);
void dx_suppression_rows_sums(const struct dx_suppression_rows *h, const struct dx_scope *scope,
                              struct dx_hidden_sums *sums);
void dx_suppression_rows_release(struct dx_suppression_rows *h);

#endif
