/* SPDX-License-Identifier: Apache-2.0
 * row_stretch.h - rows of a domain's datasets that follow each other in one order, URL and time of each, as one block of the page
 * cache: a page of a thousand files that were merged before is one lookup.
 *
 *   dx_row_stretch_key(&key, &of, &start);           of: the question; start: the row that they stand behind, NULL: the first
 *   if (!dx_row_stretch_find(&stretch, cache, &key)) {
 *       dx_row_stretch_add(&maker, pair, place, &row, &err)         in order
 *       rc = dx_row_stretch_make(&maker, &head, cache, &key, &stretch, &err);      maker is empty again
 *   }
 *   stretch.head, stretch.rows[i].row, stretch.text     query/scan/merged_window.h
 *   dx_row_stretch_put(&stretch, cache);
 *   dx_row_stretch_maker_release(&maker);
 *
 * A key names the version, the domain, its pairs, the range, the order and how many rows it may have: whatever changes which rows are
 * visible changes the pairs or the version. Pairs with rows that are hidden one by one have no stretches. Made only of rows that were
 * read and checked; in native byte order. The head has what finding these rows took, which an answer counts whether the
 * stretch was kept or not.
 *
 * A maker: one thread at a time. Stretches may be found by any thread.
 */
#ifndef DX_QUERY_SCAN_ROW_STRETCH_H
#define DX_QUERY_SCAN_ROW_STRETCH_H

#include "cache/page_cache.h"
#include "query/scan/domain_rows.h"
#include "query/scan/merged_window.h"
#include "query/scan/url_range.h"

struct dx_row_stretch_question {
    const struct dx_domain_rows *rows; /* its version, domain and pairs */
    struct dx_url_range range;
    bool reverse;
    uint64_t limit; /* rows of a stretch */
};

struct dx_row_stretch_head {
    uint64_t count;
    bool more;                        /* others stand behind them: */
    struct dx_domain_rows_place last; /* behind this row */
    uint64_t range_datasets, range_rows;
    uint64_t rows_seen, pages_seen, bytes_seen;
};

struct dx_stretch_row {
    struct dx_merged_row row;
    size_t pair; /* of the question's rows */
};

struct dx_row_stretch {
    struct dx_row_stretch_head head;
    const struct dx_stretch_row *rows;
    const uint8_t *text;

    struct dx_cached *block; /* private */
};

struct dx_row_stretch_maker {
    struct dx_stretch_row *rows;
    size_t count, capacity;
    struct dx_buf text;
};

int dx_row_stretch_key(struct dx_cache_key *key, const struct dx_row_stretch_question *of,
                       const struct dx_domain_rows_place *start, struct dx_error *err);
bool dx_row_stretch_find(struct dx_row_stretch *s, struct dx_page_cache *cache,
                         const struct dx_cache_key *key);

int dx_row_stretch_add(struct dx_row_stretch_maker *maker, size_t pair, uint64_t place,
                       const struct dx_listing_row *row, struct dx_error *err);
/* head.count is set here. */
int dx_row_stretch_make(struct dx_row_stretch_maker *maker, const struct dx_row_stretch_head *head,
                        struct dx_page_cache *cache, const struct dx_cache_key *key,
                        struct dx_row_stretch *s, struct dx_error *err);
void dx_row_stretch_put(struct dx_row_stretch *s, struct dx_page_cache *cache);
void dx_row_stretch_maker_release(struct dx_row_stretch_maker *maker);

#endif
