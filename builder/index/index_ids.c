/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/index/index_ids.h"

#include <assert.h>
#include <stdlib.h>

#define SLICES 16 /* find sorts a sixteenth of the hashes at a time */
#define NAMES_MAX (256u << 20)
#define SEEDS_MAX 100000 /* tests with few bits; with 64 bits the first seed does */

struct named {
    uint64_t hash;
    uint64_t ordinal;
    size_t text;
    size_t size;
    uint64_t id;
};

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

static bool listed(const struct dx_buf *sorted, uint64_t v)
{
    return sorted->size > 0 && bsearch(&v, sorted->data, sorted->size / 8, 8, compare_u64) != NULL;
}

/* Into its place: sorting again each time would take minutes where most ids collide. */
static void insert(struct dx_buf *sorted, uint64_t v)
{
    uint64_t *list;
    size_t at;

    dx_buf_append(sorted, &v, sizeof v);
    if (sorted->failed)
        return;
    list = (uint64_t *)(void *)sorted->data;
    at = sorted->size / sizeof v - 1;
    for (; at > 0 && list[at - 1] > v; at--)
        list[at] = list[at - 1];
    list[at] = v;
}

void dx_index_ids_distinct(struct dx_index_ids *ids, uint64_t n)
{
    *ids = (struct dx_index_ids){ .n = n, .mask = UINT64_MAX };
}

int dx_index_ids_find(struct dx_index_ids *ids, const uint64_t *hashes, uint64_t n,
                      unsigned hash_bits, struct dx_error *err)
{
    struct dx_buf slice;

    *ids = (struct dx_index_ids){ .n = n };
    ids->mask = hash_bits == 0 || hash_bits >= 64 ? UINT64_MAX : ~(UINT64_MAX >> hash_bits);
    dx_buf_init(&ids->twice, NAMES_MAX);
    dx_buf_init(&ids->named, NAMES_MAX);
    dx_buf_init(&ids->text, NAMES_MAX);
    dx_buf_init(&ids->collisions, NAMES_MAX);
    dx_buf_init(&slice, (size_t)n * 8 + 8);
    for (uint64_t s = 0; s < SLICES; s++) {
        const uint64_t *sorted;

        dx_buf_clear(&slice);
        for (uint64_t i = 0; i < n; i++) {
            uint64_t h = hashes[i] & ids->mask;

            if (h >> 60 == s)
                dx_buf_append(&slice, &h, sizeof h);
        }
        if (slice.size == 0)
            continue;
        qsort(slice.data, slice.size / 8, 8, compare_u64);
        sorted = (const uint64_t *)(const void *)slice.data;
        for (size_t i = 1; i < slice.size / 8; i++)
            if (sorted[i] == sorted[i - 1] && (i == 1 || sorted[i] != sorted[i - 2]))
                dx_buf_append(&ids->twice, &sorted[i], 8);
        if (slice.failed)
            break;
    }
    ids->needs_names = ids->twice.size > 0 || ids->mask != UINT64_MAX;
    int rc = slice.failed        ? dx_buf_fail(&slice, err, "domain hashes")
             : ids->twice.failed ? dx_buf_fail(&ids->twice, err, "equal domain hashes")
                                 : DX_OK;
    dx_buf_release(&slice);
    return rc;
}

int dx_index_ids_name(struct dx_index_ids *ids, struct dx_span domain, uint64_t ordinal,
                      struct dx_error *err)
{
    struct named named = { .hash = dx_id64(domain) & ids->mask,
                           .ordinal = ordinal,
                           .text = ids->text.size,
                           .size = domain.size };

    assert(ids->needs_names);
    if (!listed(&ids->twice, named.hash))
        return DX_OK;
    dx_buf_append(&ids->text, domain.data, domain.size);
    dx_buf_append(&ids->named, &named, sizeof named);
    if (ids->text.failed)
        return dx_buf_fail(&ids->text, err, "domains with equal hashes");
    return ids->named.failed ? dx_buf_fail(&ids->named, err, "domains with equal hashes") : DX_OK;
}

static struct dx_span text_of(const struct dx_index_ids *ids, const struct named *n)
{
    return dx_span_of(ids->text.data + n->text, n->size);
}

static int compare_domain(const void *a, const void *b, void *ctx)
{
    const struct dx_index_ids *ids = ctx;

    return dx_span_compare(text_of(ids, a), text_of(ids, b));
}

static int compare_ordinal(const void *a, const void *b)
{
    const struct named *x = a;
    const struct named *y = b;

    return x->ordinal < y->ordinal ? -1 : x->ordinal > y->ordinal;
}

/* Does any domain have this hash, or did a collision take it? `taken` is sorted. */
static bool occupied(const struct dx_index_ids *ids, const uint64_t *hashes,
                     const struct dx_buf *taken, uint64_t id)
{
    for (uint64_t i = 0; i < ids->n; i++)
        if ((hashes[i] & ids->mask) == id)
            return true;
    return listed(taken, id);
}

static int assign(const struct dx_index_ids *ids, const uint64_t *hashes, struct named *named,
                  struct dx_buf *taken, struct dx_error *err)
{
    for (uint64_t seed = 1; seed < SEEDS_MAX; seed++) {
        named->id = dx_id64_seeded(text_of(ids, named), seed) & ids->mask;
        if (occupied(ids, hashes, taken, named->id))
            continue;
        insert(taken, named->id);
        return taken->failed ? dx_buf_fail(taken, err, "domain ids") : DX_OK;
    }
    return dx_fail(err, DX_E_LIMIT, "no free id for \"%.*s\" with %d seeds", (int)named->size,
                   (const char *)text_of(ids, named).data, SEEDS_MAX);
}

int dx_index_ids_resolve(struct dx_index_ids *ids, const uint64_t *hashes, struct dx_error *err)
{
    struct named *named = (struct named *)(void *)ids->named.data;
    size_t count = ids->named.size / sizeof *named;
    struct dx_buf taken = DX_BUF_INIT(NAMES_MAX);
    struct dx_buf kept = DX_BUF_INIT(NAMES_MAX); /* hashes whose first domain was seen */
    int rc = DX_OK;

    if (count > 0)
        qsort_r(named, count, sizeof *named, compare_domain, ids);
    for (size_t i = 0; rc == DX_OK && i < count; i++) {
        named[i].id = named[i].hash;
        if (listed(&kept, named[i].hash)) {
            rc = assign(ids, hashes, &named[i], &taken, err);
            continue;
        }
        insert(&kept, named[i].hash);
        if (kept.failed)
            rc = dx_buf_fail(&kept, err, "domain ids");
    }
    if (count > 0)
        qsort(named, count, sizeof *named, compare_ordinal);
    for (uint64_t i = 0, k = 0; rc == DX_OK && i < ids->n; i++) {
        struct dx_collision c = { i, hashes[i] & ids->mask };

        if (k < count && named[k].ordinal == i)
            c.domain_id = named[k++].id;
        if (c.domain_id == hashes[i])
            continue;
        dx_buf_append(&ids->collisions, &c, sizeof c);
        if (ids->collisions.failed)
            rc = dx_buf_fail(&ids->collisions, err, "collisions");
    }
    dx_buf_release(&taken);
    dx_buf_release(&kept);
    return rc;
}

void dx_index_ids_release(struct dx_index_ids *ids)
{
    dx_buf_release(&ids->twice);
    dx_buf_release(&ids->named);
    dx_buf_release(&ids->text);
    dx_buf_release(&ids->collisions);
}
