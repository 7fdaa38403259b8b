/* SPDX-License-Identifier: Apache-2.0 */
#include "query/scan/row_bounds.h"

#include "query/scan/row_stretch.h"

#define KIND_BOUNDS DX_KIND('B', 'N', 'D', 'S')

int dx_row_bounds_key(struct dx_cache_key *key, const struct dx_domain_rows *rows,
                      const struct dx_url_range *range, struct dx_error *err)
{
    const struct dx_row_stretch_question question = { .rows = rows, .range = *range };
    int rc = dx_row_stretch_key(key, &question, NULL, err);

    key->kind = KIND_BOUNDS;
    return rc;
}

bool dx_row_bounds_find(struct dx_row_bounds *b, struct dx_page_cache *cache,
                        const struct dx_cache_key *key)
{
    struct dx_cached *block = dx_page_cache_get(cache, key);

    *b = (struct dx_row_bounds){ .block = block };
    if (block == NULL)
        return false;
    b->ranges = (const void *)block->bytes.data;
    b->count = block->bytes.size / sizeof *b->ranges;
    return true;
}

int dx_row_bounds_keep(struct dx_page_cache *cache, const struct dx_cache_key *key,
                       const struct dx_domain_rows_range *ranges, size_t count,
                       struct dx_error *err)
{
    const struct dx_span all = dx_span_of(ranges, count * sizeof *ranges);
    struct dx_cached *cached = dx_page_cache_join(cache, key, &all, 1);

    if (cached == NULL)
        return dx_no_memory(err, "listing");
    dx_page_cache_put(cache, &cached);
    return DX_OK;
}

void dx_row_bounds_put(struct dx_row_bounds *b, struct dx_page_cache *cache)
{
    if (b->block != NULL)
        dx_page_cache_put(cache, &b->block);
    *b = (struct dx_row_bounds){ .ranges = NULL };
}
