/* SPDX-License-Identifier: Apache-2.0 */
#include "query/scan/row_slice.h"

#include "query/rows/listing.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define KIND_SLICE DX_KIND('S', 'L', 'C', 'E')
#define COUNT_BITS 11 /* of a key: how many rows */

_Static_assert(DX_ROW_SLICE_ROWS < 1u << COUNT_BITS, "a key says how many rows");

/* In memory: this header, the rows, their text. */
struct header {
    uint32_t count, pages;
    uint64_t bytes;
    uint64_t ordered;
};

void dx_row_slice_key(struct dx_cache_key *key, const struct dx_build_id *build,
                      const struct dx_hash128 *file_hash, uint32_t row_group, uint64_t first_row,
                      uint32_t count)
{
    uint8_t names[sizeof build->bytes + sizeof file_hash->bytes];
    struct dx_hash128 hash;

    assert(count > 0 && count <= DX_ROW_SLICE_ROWS);
    memcpy(names, build->bytes, sizeof build->bytes);
    memcpy(names + sizeof build->bytes, file_hash->bytes, sizeof file_hash->bytes);
    hash = dx_hash128_of(dx_span_of(names, sizeof names));
    *key = (struct dx_cache_key){ .part = first_row << COUNT_BITS | count,
                                  .kind = KIND_SLICE,
                                  .more = row_group };
    memcpy(key->object, hash.bytes, sizeof key->object);
}

static void open_block(struct dx_row_slice *slice, struct dx_cached *block)
{
    struct header h;

    memcpy(&h, block->bytes.data, sizeof h);
    slice->rows = (const void *)(block->bytes.data + sizeof h);
    slice->text = (const uint8_t *)(slice->rows + h.count);
    slice->count = h.count;
    slice->ordered = h.ordered != 0;
    slice->pages = h.pages;
    slice->bytes = h.bytes;
    slice->block = block;
}

bool dx_row_slice_find(struct dx_row_slice *slice, struct dx_page_cache *cache,
                       const struct dx_cache_key *key)
{
    struct dx_cached *block = dx_page_cache_get(cache, key);

    if (block != NULL)
        open_block(slice, block);
    return block != NULL;
}

int dx_row_slice_add(struct dx_row_slice_maker *maker, const struct dx_listing_row *row,
                     struct dx_error *err)
{
    const struct dx_span none = { NULL, 0 };

    return dx_merged_window_add(&maker->rows, row, maker->rows.count, &none, err);
}

static bool is_ordered(const struct dx_merged_window *w)
{
    for (size_t i = 1; i < w->count; i++)
        if (dx_merged_row_compare(&w->rows[i - 1], w->text.data, &w->rows[i], w->text.data) > 0)
            return false;
    return true;
}

int dx_row_slice_make(struct dx_row_slice_maker *maker, struct dx_page_cache *cache,
                      const struct dx_cache_key *key, uint32_t pages, uint64_t bytes,
                      struct dx_row_slice *slice, struct dx_error *err)
{
    struct dx_merged_window *w = &maker->rows;
    const struct header h = { (uint32_t)w->count, pages, bytes, is_ordered(w) };
    const struct dx_span pieces[] = {
        { (const uint8_t *)&h, sizeof h },
        { (const uint8_t *)w->rows, w->count * sizeof *w->rows },
        { w->text.data, w->text.size },
    };
    struct dx_cached *cached = dx_page_cache_join(cache, key, pieces, 3);

    assert(w->count > 0 && w->count <= DX_ROW_SLICE_ROWS);
    dx_merged_window_clear(w);
    if (cached == NULL)
        return dx_no_memory(err, "rows of a listing");
    open_block(slice, cached);
    return DX_OK;
}

void dx_row_slice_put(struct dx_row_slice *slice, struct dx_page_cache *cache)
{
    if (slice->block != NULL)
        dx_page_cache_put(cache, &slice->block);
    *slice = (struct dx_row_slice){ .rows = NULL };
}

void dx_row_slice_maker_release(struct dx_row_slice_maker *maker)
{
    dx_merged_window_release(&maker->rows);
}
