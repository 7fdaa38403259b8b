/* SPDX-License-Identifier: Apache-2.0
 * row_bounds.h - where the rows of a range of URLs lie in the datasets of a domain, kept as one block of the page cache: what a search in
 * each of a thousand files found.
 *
 *   rc = dx_row_bounds_key(&key, &rows, &range, &err);                rows: with its pairs, not narrowed
 *   if (!dx_row_bounds_find(&bounds, cache, &key))
 *       rc = dx_row_bounds_keep(cache, &key, ranges, count, &err);    after the search
 *   bounds.ranges, bounds.count                                       for dx_domain_rows_narrow
 *   dx_row_bounds_put(&bounds, cache);
 *
 * A key names the version, the domain, its pairs and the range. Places are physical: which rows are hidden does not change
 * them. Any thread.
 */
#ifndef DX_QUERY_SCAN_ROW_BOUNDS_H
#define DX_QUERY_SCAN_ROW_BOUNDS_H

#include "cache/page_cache.h"
#include "query/scan/domain_rows.h"
#include "query/scan/url_range.h"

struct dx_row_bounds {
    const struct dx_domain_rows_range *ranges;
    size_t count;

    struct dx_cached *block; /* private */
};

int dx_row_bounds_key(struct dx_cache_key *key, const struct dx_domain_rows *rows,
                      const struct dx_url_range *range, struct dx_error *err);
bool dx_row_bounds_find(struct dx_row_bounds *b, struct dx_page_cache *cache,
                        const struct dx_cache_key *key);
int dx_row_bounds_keep(struct dx_page_cache *cache, const struct dx_cache_key *key,
                       const struct dx_domain_rows_range *ranges, size_t count,
                       struct dx_error *err);
void dx_row_bounds_put(struct dx_row_bounds *b, struct dx_page_cache *cache);

#endif
