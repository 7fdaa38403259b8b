/* SPDX-License-Identifier: Apache-2.0
 * row_slice.h - some rows that lie one behind the other in a row group, URL and time of each, as one block of the page cache: a
 * merge that needs a few rows of each of a thousand files finds them by one lookup a file.
 *
 *   dx_row_slice_key(&key, &build, &file_hash, row_group, first_row, count);
 *   if (!dx_row_slice_find(&slice, cache, &key))
 *       rc = dx_row_slice_add(&maker, &row, &err);                            count times, in order
 *       rc = dx_row_slice_make(&maker, cache, &key, pages, bytes, &slice, &err);     maker is empty again
 *   slice.rows[i], slice.text                 query/scan/merged_window.h; `place` of a row is i
 *   dx_row_slice_put(&slice, cache);          both end with it
 *   dx_row_slice_maker_release(&maker);
 *
 * A key names the part that says where the columns lie (its build), the bytes of the file and the rows, so a slice is never of other
 * rows. Made only of rows that were read and checked; in native byte order. `pages` and `bytes` are what the rows take to be
 * read: an answer counts them whether the slice was kept or not.
 *
 * A maker: one thread at a time. Slices may be found by any thread.
 */
#ifndef DX_QUERY_SCAN_ROW_SLICE_H
#define DX_QUERY_SCAN_ROW_SLICE_H

#include "base/hash.h"
#include "cache/page_cache.h"
#include "query/scan/merged_window.h"

#define DX_ROW_SLICE_ROWS 1024u /* at most: 70 kB of the usual URLs */

struct dx_row_slice {
    const struct dx_merged_row *rows;
    const uint8_t *text;
    uint32_t count;
    bool ordered; /* by host, path_query and time */
    uint32_t pages;
    uint64_t bytes;

    struct dx_cached *block; /* private */
};

struct dx_row_slice_maker {
    struct dx_merged_window rows;
};

void dx_row_slice_key(struct dx_cache_key *key, const struct dx_build_id *build,
                      const struct dx_hash128 *file_hash, uint32_t row_group, uint64_t first_row,
                      uint32_t count);
bool dx_row_slice_find(struct dx_row_slice *slice, struct dx_page_cache *cache,
                       const struct dx_cache_key *key);

int dx_row_slice_add(struct dx_row_slice_maker *maker, const struct dx_listing_row *row,
                     struct dx_error *err);
int dx_row_slice_make(struct dx_row_slice_maker *maker, struct dx_page_cache *cache,
                      const struct dx_cache_key *key, uint32_t pages, uint64_t bytes,
                      struct dx_row_slice *slice, struct dx_error *err);
void dx_row_slice_put(struct dx_row_slice *slice, struct dx_page_cache *cache);
void dx_row_slice_maker_release(struct dx_row_slice_maker *maker);

#endif
