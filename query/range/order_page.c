/* SPDX-License-Identifier: Apache-2.0 */
#include "query/range/order_page.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define KIND_ORDER DX_KIND('O', 'R', 'D', 'P')

/* In memory: the head, the entries, their rows. */

int dx_order_page_key(struct dx_cache_key *key, const uint8_t question[DX_SHA256_SIZE],
                      const struct dx_range_order_at *of, struct dx_error *err)
{
    struct dx_buf name = DX_BUF_INIT(2 * DX_SHA256_SIZE);
    uint8_t sum[DX_SHA256_SIZE];
    bool ok;

    *key = (struct dx_cache_key){ .kind = KIND_ORDER, .part = UINT64_MAX, .more = UINT32_MAX };
    dx_buf_append(&name, question, DX_SHA256_SIZE);
    if (of != NULL) {
        dx_buf_u64(&name, of->domain);
        key->part = of->row;
        key->more = of->dataset_id;
    }
    ok = !name.failed && dx_sha256(dx_span_of(name.data, name.size), sum);
    dx_buf_release(&name);
    if (!ok)
        return dx_no_memory(err, "rows of a listing");
    memcpy(key->object, sum, sizeof key->object);
    return DX_OK;
}

static void open_block(struct dx_order_page *p, struct dx_cached *block)
{
    uint8_t *at = (uint8_t *)(uintptr_t)block->bytes.data; /* never written to */
    size_t before;

    memcpy(&p->head, at, sizeof p->head);
    before = sizeof p->head + (size_t)p->head.count * sizeof *p->entries;
    p->entries = (const void *)(at + sizeof p->head);
    dx_kept_rows_init(&p->rows);
    p->rows.bytes.data = at + before;
    p->rows.bytes.size = block->bytes.size - before;
    p->block = block;
}

bool dx_order_page_find(struct dx_order_page *p, struct dx_page_cache *cache,
                        const struct dx_cache_key *key)
{
    struct dx_cached *block = dx_page_cache_get(cache, key);

    if (block != NULL)
        open_block(p, block);
    return block != NULL;
}

struct dx_order_page dx_order_page_of(const struct dx_range_order *o,
                                      const struct dx_order_page_head *seen)
{
    struct dx_order_page p = { .head = *seen,
                               .entries = o->count == 0 ? NULL : &o->entries[o->first],
                               .rows = o->rows };

    p.head.count = o->count;
    p.head.total = o->total;
    p.head.more = o->more;
    return p;
}

struct dx_order_page dx_order_page_rest(const struct dx_order_page *p, uint64_t n)
{
    struct dx_order_page rest = *p;

    assert(n <= p->head.count);
    rest.head.count -= n;
    rest.entries += n;
    rest.block = NULL;
    return rest;
}

/* Of the page alone, with their numbers in `rows`. NULL: no memory. */
static struct dx_range_order_entry *copy_rows(const struct dx_order_page *p,
                                              struct dx_kept_rows *rows)
{
    size_t count = (size_t)p->head.count;
    struct dx_range_order_entry *entries = calloc(count + 1, sizeof *entries);
    struct dx_listing_row *row = malloc(sizeof *row); /* 2 kB that are not on a stack */
    struct dx_error err = DX_ERROR_INIT;
    bool ok = entries != NULL && row != NULL;

    for (size_t i = 0; ok && i < count; i++) {
        entries[i] = p->entries[i];
        dx_kept_rows_get(&p->rows, p->entries[i].at, row);
        ok = dx_kept_rows_add(rows, row, &entries[i].at, &err) == DX_OK;
    }
    free(row);
    if (ok)
        return entries;
    free(entries);
    return NULL;
}

void dx_order_page_keep(const struct dx_order_page *p, struct dx_page_cache *cache,
                        const struct dx_cache_key *key)
{
    struct dx_range_order_entry *entries;
    struct dx_cached *block = NULL;
    struct dx_kept_rows rows;

    dx_kept_rows_init(&rows);
    entries = copy_rows(p, &rows);
    if (entries != NULL) {
        const struct dx_span pieces[] = {
            { (const uint8_t *)&p->head, sizeof p->head },
            { (const uint8_t *)entries, (size_t)p->head.count * sizeof *entries },
            { rows.bytes.data, rows.bytes.size },
        };

        block = dx_page_cache_join(cache, key, pieces, 3);
    }
    if (block != NULL)
        dx_page_cache_put(cache, &block);
    free(entries);
    dx_kept_rows_release(&rows);
}

const struct dx_range_order_at *dx_order_page_get(const struct dx_order_page *p, uint64_t i,
                                                  struct dx_listing_row *row)
{
    assert(i < p->head.count);
    dx_kept_rows_get(&p->rows, p->entries[i].at, row);
    return &p->entries[i].of;
}

void dx_order_page_put(struct dx_order_page *p, struct dx_page_cache *cache)
{
    if (p->block != NULL)
        dx_page_cache_put(cache, &p->block);
    *p = (struct dx_order_page){ .block = NULL };
}
