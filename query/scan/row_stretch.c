/* SPDX-License-Identifier: Apache-2.0 */
#include "query/scan/row_stretch.h"

#include "base/array.h"
#include "loader/version.h"

#include <stdlib.h>
#include <string.h>

#define KIND_STRETCH DX_KIND('S', 'T', 'R', 'E')
#define NAMES_MAX \
    ((size_t)2 << 20) /* a pair has four bytes, and a host and path are of one request */

/* In memory: the head, the rows, their text. */

static void put_text(struct dx_buf *b, struct dx_span text)
{
    dx_buf_u64(b, text.size);
    if (text.size > 0)
        dx_buf_append(b, text.data, text.size);
}

int dx_row_stretch_key(struct dx_cache_key *key, const struct dx_row_stretch_question *of,
                       const struct dx_domain_rows_place *start, struct dx_error *err)
{
    const struct dx_domain_rows *r = of->rows;
    const struct dx_build_id *build = &r->version->entry.build;
    struct dx_hash128 hash;
    struct dx_buf names;
    bool whole = of->range.kind == DX_URL_RANGE_DOMAIN;
    int rc = DX_OK;

    dx_buf_init(&names, NAMES_MAX);
    dx_buf_append(&names, build->bytes, sizeof build->bytes);
    dx_buf_append(&names, r->part->entry.build.bytes, sizeof r->part->entry.build.bytes);
    dx_buf_u64(&names, r->ordinal);
    dx_buf_u64(&names, of->limit);
    dx_buf_u8(&names, of->reverse);
    dx_buf_u8(&names, (uint8_t)of->range.kind);
    put_text(&names, whole ? dx_span_of(NULL, 0) : of->range.host);
    put_text(&names, whole ? dx_span_of(NULL, 0) : of->range.path);
    for (size_t i = 0; i < r->pair_count; i++)
        dx_buf_u32(&names, r->pairs[i].dataset_id);
    hash = dx_hash128_of(dx_span_of(names.data, names.size));
    if (names.failed)
        rc = dx_buf_fail(&names, err, "rows of a listing");
    dx_buf_release(&names);
    *key = (struct dx_cache_key){ .part = start == NULL ? UINT64_MAX : start->row,
                                  .kind = KIND_STRETCH,
                                  .more = start == NULL ? UINT32_MAX : start->dataset_id };
    memcpy(key->object, hash.bytes, sizeof key->object);
    return rc;
}

static void open_block(struct dx_row_stretch *s, struct dx_cached *block)
{
    memcpy(&s->head, block->bytes.data, sizeof s->head);
    s->rows = (const void *)(block->bytes.data + sizeof s->head);
    s->text = (const uint8_t *)(s->rows + s->head.count);
    s->block = block;
}

bool dx_row_stretch_find(struct dx_row_stretch *s, struct dx_page_cache *cache,
                         const struct dx_cache_key *key)
{
    struct dx_cached *block = dx_page_cache_get(cache, key);

    if (block != NULL)
        open_block(s, block);
    return block != NULL;
}

int dx_row_stretch_add(struct dx_row_stretch_maker *maker, size_t pair, uint64_t place,
                       const struct dx_listing_row *row, struct dx_error *err)
{
    const struct dx_span none = { NULL, 0 };
    struct dx_stretch_row *to = dx_array_room(maker->rows, maker->count, &maker->capacity,
                                              sizeof *to);

    if (to == NULL)
        return dx_no_memory(err, "rows of a listing");
    maker->rows = to;
    to = &maker->rows[maker->count++];
    to->pair = pair;
    return dx_merged_row_copy(&to->row, &maker->text, row, place, &none, err);
}

int dx_row_stretch_make(struct dx_row_stretch_maker *maker, const struct dx_row_stretch_head *head,
                        struct dx_page_cache *cache, const struct dx_cache_key *key,
                        struct dx_row_stretch *s, struct dx_error *err)
{
    struct dx_row_stretch_head h = *head;
    const struct dx_span pieces[] = {
        { (const uint8_t *)&h, sizeof h },
        { (const uint8_t *)maker->rows, maker->count * sizeof *maker->rows },
        { maker->text.data, maker->text.size },
    };
    struct dx_cached *cached;

    h.count = maker->count;
    cached = dx_page_cache_join(cache, key, pieces, 3);
    maker->count = 0;
    dx_buf_clear(&maker->text);
    if (cached == NULL)
        return dx_no_memory(err, "rows of a listing");
    open_block(s, cached);
    return DX_OK;
}

void dx_row_stretch_put(struct dx_row_stretch *s, struct dx_page_cache *cache)
{
    if (s->block != NULL)
        dx_page_cache_put(cache, &s->block);
    *s = (struct dx_row_stretch){ .rows = NULL };
}

void dx_row_stretch_maker_release(struct dx_row_stretch_maker *maker)
{
    free(maker->rows);
    dx_buf_release(&maker->text);
    *maker = (struct dx_row_stretch_maker){ .rows = NULL };
}
