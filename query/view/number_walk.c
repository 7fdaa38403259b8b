/* SPDX-License-Identifier: Apache-2.0 */
#include "query/view/number_walk.h"

#include <assert.h>

#include "loader/version_parts.h"

static uint64_t end_of(const struct dx_version *v, size_t i)
{
    return i + 1 < v->part_count ? v->parts[i + 1].first : v->numbers;
}

/* The key of the number at hand of parts[i], if it has one. */
static int look(struct dx_number_walk *w, size_t i, struct dx_error *err)
{
    const struct dx_version *v = w->version;
    struct dx_number_walk_at *at = &w->at[i];
    int rc;

    at->has = at->it.has_value && at->it.current_value < end_of(v, i);
    if (!at->has || v->part_count == 1)
        return DX_OK;
    dx_dictionary_seek(&at->keys, &v->parts[i].part->dictionary,
                       at->it.current_value - v->parts[i].first);
    rc = dx_dictionary_next(&at->keys, &at->key, err);
    return rc != 0 ? (rc < 0 ? rc : DX_OK)
                   : dx_fail(err, DX_E_CORRUPT, "%s: there is no domain %llu",
                             v->parts[i].part->directory,
                             (unsigned long long)(at->it.current_value - v->parts[i].first));
}

static void take_least(struct dx_number_walk *w)
{
    w->has = false;
    for (size_t i = 0; i < w->version->part_count; i++)
        if (w->at[i].has && (!w->has || dx_span_compare(w->at[i].key, w->at[w->part].key) < 0)) {
            w->has = true;
            w->part = i;
        }
    if (w->has)
        w->number = w->at[w->part].it.current_value;
}

/* The number that parts[i] goes on with: behind all keys below that of the place. */
static int first_of(const struct dx_version *v, size_t i, uint64_t place, struct dx_span key,
                    uint64_t *first, struct dx_error *err)
{
    uint64_t ordinal = 0;
    int rc = DX_OK;

    if (place > 0 && dx_version_part_at(v, place - 1) == i)
        ordinal = place - 1 - v->parts[i].first;
    else if (place > 0)
        rc = dx_dictionary_lower_bound(&v->parts[i].part->dictionary, key, &ordinal, err);
    *first = v->parts[i].first + ordinal;
    return rc < 0 ? rc : DX_OK;
}

int dx_number_walk_begin(struct dx_number_walk *w, const struct dx_version *v,
                         const roaring_bitmap_t *numbers, uint64_t place, struct dx_error *err)
{
    struct dx_span key = { NULL, 0 };
    struct dx_dictionary_cursor c;
    int rc = DX_OK;

    w->version = v;
    w->has = false;
    w->part = 0;
    if (place > v->numbers)
        return DX_OK;
    if (place > 0 && v->part_count > 1) {
        const struct dx_version_part *p = &v->parts[dx_version_part_at(v, place - 1)];

        dx_dictionary_seek(&c, &p->part->dictionary, place - 1 - p->first);
        rc = dx_dictionary_next(&c, &key, err);
    }
    for (size_t i = 0; rc >= 0 && i < v->part_count; i++) {
        uint64_t first;

        rc = first_of(v, i, place, key, &first, err);
        roaring_init_iterator(numbers, &w->at[i].it);
        if (rc == DX_OK)
            (void)roaring_move_uint32_iterator_equalorlarger(&w->at[i].it, (uint32_t)first);
        if (rc == DX_OK)
            rc = look(w, i, err);
    }
    if (rc >= 0)
        take_least(w);
    return rc < 0 ? rc : DX_OK;
}

int dx_number_walk_next(struct dx_number_walk *w, struct dx_error *err)
{
    int rc;

    assert(w->has);
    (void)roaring_advance_uint32_iterator(&w->at[w->part].it);
    rc = look(w, w->part, err);
    w->has = false;
    if (rc == DX_OK)
        take_least(w);
    return rc;
}
