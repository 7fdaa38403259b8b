/* SPDX-License-Identifier: Apache-2.0 */
#include "format/root/scope.h"

#include <assert.h>
#include <roaring/roaring.h>

#include <stdatomic.h>
#include <stdlib.h>

struct dx_scope {
    roaring_bitmap_t *ids;
    uint64_t key;
    uint64_t hash; /* a sum over the ids: the order in which they came does not matter */
    atomic_ulong holds;
};

static atomic_uint_fast64_t last_key;

static uint64_t mixed(uint32_t id)
{
    uint64_t h = (id + UINT64_C(1)) * UINT64_C(0x9e3779b97f4a7c15);

    h = (h ^ (h >> 29)) * UINT64_C(0xbf58476d1ce4e5b9);
    return h ^ (h >> 32);
}

uint64_t dx_scope_key(const struct dx_scope *scope)
{
    return scope == NULL ? 0 : scope->key;
}

uint64_t dx_scope_hash(const struct dx_scope *scope)
{
    assert(scope != NULL); /* which means everything, and is in no table of scopes */
    return scope->hash;
}

size_t dx_scope_bytes(const struct dx_scope *scope)
{
    return sizeof *scope + roaring_bitmap_portable_size_in_bytes(scope->ids);
}

uint64_t dx_scope_count(const struct dx_scope *scope)
{
    return roaring_bitmap_get_cardinality(scope->ids);
}

bool dx_scope_has(const struct dx_scope *scope, uint32_t dataset_id)
{
    return scope == NULL || roaring_bitmap_contains(scope->ids, dataset_id);
}

int dx_scope_more(struct dx_scope **out, const struct dx_scope *base, const uint32_t *ids,
                  size_t count, struct dx_error *err)
{
    struct dx_scope *s = calloc(1, sizeof *s);

    *out = NULL;
    if (s != NULL)
        s->ids = base == NULL ? roaring_bitmap_create() : roaring_bitmap_copy(base->ids);
    if (s == NULL || s->ids == NULL) {
        free(s);
        return dx_no_memory(err, "set of %zu datasets", count);
    }
    s->hash = base == NULL ? 0 : base->hash;
    for (size_t i = 0; i < count; i++)
        if (roaring_bitmap_add_checked(s->ids, ids[i]))
            s->hash += mixed(ids[i]);
    (void)roaring_bitmap_run_optimize(s->ids);
    s->key = atomic_fetch_add_explicit(&last_key, 1, memory_order_relaxed) + 1;
    atomic_init(&s->holds, 1);
    *out = s;
    return DX_OK;
}

bool dx_scope_equal(const struct dx_scope *a, const struct dx_scope *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    return a == b || (a->hash == b->hash && roaring_bitmap_equals(a->ids, b->ids));
}

bool dx_scope_within(const struct dx_scope *a, const struct dx_scope *b)
{
    return b == NULL || a == b || (a != NULL && roaring_bitmap_is_subset(a->ids, b->ids));
}

const struct dx_scope *dx_scope_hold(const struct dx_scope *scope)
{
    /* The count is not of what a scope says: a reader of a scope may hold it. */
    if (scope != NULL)
        (void)atomic_fetch_add_explicit(&((struct dx_scope *)scope)->holds, 1,
                                        memory_order_relaxed);
    return scope;
}

void dx_scope_drop(const struct dx_scope **scope)
{
    struct dx_scope *s = (struct dx_scope *)*scope;

    *scope = NULL;
    if (s == NULL || atomic_fetch_sub_explicit(&s->holds, 1, memory_order_acq_rel) > 1)
        return;
    roaring_bitmap_free(s->ids);
    free(s);
}
