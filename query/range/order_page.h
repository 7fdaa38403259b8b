/* SPDX-License-Identifier: Apache-2.0
 * order_page.h - a page of rows in an order as one block of the page cache: all rows of a range are read for a page, and the pages that come
 * next are at hand then.
 *
 *   struct dx_order_page p;
 *   rc = dx_order_page_key(&key, question, of, &err);        of: of the row that it begins behind; NULL: the first page
 *   if (!dx_order_page_find(&p, cache, &key)) {
 *       ... rows into an order (query/range/range_order.h) ...
 *       p = dx_order_page_of(&order, &seen);                 borrows the rows of its page
 *       dx_order_page_keep(&p, cache, &key);                 or does not, without memory; p stays as it is
 *   }
 *   p.head; of = dx_order_page_get(&p, i, &row);
 *   dx_order_page_put(&p, cache);
 *
 * question: the SHA-256 of all that the rows and their order depend on: the version, the state of the suppressions, what the caller may see,
 * the range, filter, fields, order and limit. So a flip or a rule need not drop anything: what is outdated is not found again, and gives way in
 * time, like all that the cache has. The name of a page is the row that the one before ended with, and it was read: a client that makes up a cursor with
 * another position finds this page, and makes none.
 *
 * A page: one thread at a time. Pages may be found by any thread.
 */
#ifndef DX_QUERY_RANGE_ORDER_PAGE_H
#define DX_QUERY_RANGE_ORDER_PAGE_H

#include "base/crypto/sha256.h"
#include "cache/page_cache.h"
#include "query/range/range_order.h"

struct dx_order_page_head {
    uint64_t count, total;
    uint64_t rows_seen, pages_seen, bytes_seen; /* to read all */
    bool more;
};

struct dx_order_page {
    struct dx_order_page_head head;

    /* private */
    const struct dx_range_order_entry *entries;
    struct dx_kept_rows rows; /* borrowed */
    struct dx_cached *block;
};

int dx_order_page_key(struct dx_cache_key *key, const uint8_t question[DX_SHA256_SIZE],
                      const struct dx_range_order_at *of, struct dx_error *err);
bool dx_order_page_find(struct dx_order_page *p, struct dx_page_cache *cache,
                        const struct dx_cache_key *key);
/* seen: rows_seen, pages_seen and bytes_seen of it. */
struct dx_order_page dx_order_page_of(const struct dx_range_order *o,
                                      const struct dx_order_page_head *seen);
/* The page without its first n rows: what comes behind the last of these. It borrows from p. */
struct dx_order_page dx_order_page_rest(const struct dx_order_page *p, uint64_t n);
void dx_order_page_keep(const struct dx_order_page *p, struct dx_page_cache *cache,
                        const struct dx_cache_key *key);
const struct dx_range_order_at *dx_order_page_get(const struct dx_order_page *p, uint64_t i,
                                                  struct dx_listing_row *row);
void dx_order_page_put(struct dx_order_page *p, struct dx_page_cache *cache);

#endif
