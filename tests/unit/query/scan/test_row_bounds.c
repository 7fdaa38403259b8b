/* SPDX-License-Identifier: Apache-2.0
 * Kept bounds: what was put in comes out, under its key alone, which is not that of a stretch. */
#include "query/scan/row_bounds.h"

#include "loader/version.h"
#include "query/scan/row_stretch.h"
#include "tests/support/damage.h"

#include <stdlib.h>

static unsigned failures;

static bool has(struct dx_page_cache *cache, const struct dx_domain_rows *rows,
                const struct dx_url_range *range, size_t count)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_row_bounds b;
    struct dx_cache_key key;
    bool found;

    EXPECT(dx_row_bounds_key(&key, rows, range, &err) == DX_OK, "row bounds");
    found = dx_row_bounds_find(&b, cache, &key);
    if (found)
        EXPECT(b.count == count && (count == 0 || (b.ranges[1].pair == 1 && b.ranges[1].end == 9)),
               "row bounds");
    dx_row_bounds_put(&b, cache);
    return found;
}

int main(void)
{
    static const struct dx_domain_rows_range ranges[] = { { 0, 2, 5 }, { 1, 0, 9 } };
    const struct dx_url_range host = { DX_URL_RANGE_HOST, dx_span_str("a.com"), { NULL, 0 } };
    const struct dx_url_range path = { DX_URL_RANGE_PREFIX, dx_span_str("a.com"),
                                       dx_span_str("/p") };
    struct dx_domain_rows_pair pairs[2] = { { .dataset_id = 3 }, { .dataset_id = 8 } };
    struct dx_version *version = calloc(1, sizeof *version);
    const struct dx_part part = { .entry = { .build = { { 5 } } } };
    struct dx_domain_rows rows = {
        .pairs = pairs, .pair_count = 2, .version = version, .part = &part
    };
    const struct dx_row_stretch_question q = { .rows = &rows, .range = host };
    struct dx_error err = DX_ERROR_INIT;
    struct dx_page_cache *cache;
    struct dx_cache_key key;
    struct dx_row_stretch s;

    EXPECT(version != NULL, "memory");
    EXPECT(dx_page_cache_new(&cache, 1 << 20, DX_EVICT_SIEVE, &err) == DX_OK, "row bounds");
    EXPECT(!has(cache, &rows, &host, 2), "row bounds: nothing is there yet");
    EXPECT(dx_row_bounds_key(&key, &rows, &host, &err) == DX_OK &&
               dx_row_bounds_keep(cache, &key, ranges, 2, &err) == DX_OK,
           "row bounds");
    EXPECT(has(cache, &rows, &host, 2) && !has(cache, &rows, &path, 2), "row bounds: range");
    EXPECT(dx_row_stretch_key(&key, &q, NULL, &err) == DX_OK &&
               !dx_row_stretch_find(&s, cache, &key),
           "row bounds: not a stretch");
    pairs[0].dataset_id = 4;
    EXPECT(!has(cache, &rows, &host, 2), "row bounds: another dataset");
    pairs[0].dataset_id = 3;
    EXPECT(dx_row_bounds_key(&key, &rows, &path, &err) == DX_OK &&
               dx_row_bounds_keep(cache, &key, NULL, 0, &err) == DX_OK &&
               has(cache, &rows, &path, 0),
           "row bounds: no rows at all");
    dx_page_cache_free(&cache);
    free(version);
    return failures > 0;
}
