/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/version_walk.h"

#include "loader/version_parts.h"

#define SEEK_FROM 32 /* keys */

static void walk_from(struct dx_version_walk *w, struct dx_version *v, size_t first_part,
                      uint64_t place)
{
    w->version = v;
    w->part = NULL;
    w->pairs = (struct dx_domain_pairs)DX_DOMAIN_PAIRS_INIT;
    w->first_part = first_part;
    w->only = NULL;
    w->from = place;
    w->begun = false;
}

void dx_version_walk_begin(struct dx_version_walk *w, struct dx_version *v, uint64_t place)
{
    walk_from(w, v, 0, place);
}

void dx_version_walk_parts(struct dx_version_walk *w, struct dx_version *v, size_t first_part,
                           roaring_bitmap_t *const only[DX_PARTS_MAX])
{
    walk_from(w, v, first_part, 0);
    w->only = only;
}

/* To the next ordinal that is asked for of a part below first_part: false, there is none. */
static bool next_only(struct dx_version_walk *w, size_t i)
{
    struct dx_version_walk_at *at = &w->at[i];

    if (!at->only.has_value)
        return false;
    dx_dictionary_seek(&at->keys, &w->version->parts[i].part->dictionary, at->only.current_value);
    (void)roaring_advance_uint32_iterator(&at->only);
    return true;
}

/* The next live key of parts[i], if there is one. Dead keys before it are read, or passed by a seek where that costs less. */
static int next_key(struct dx_version_walk *w, size_t i, struct dx_error *err)
{
    struct dx_version_walk_at *at = &w->at[i];
    uint64_t live = 0;
    int rc = 1;

    at->has = false;
    if (i >= w->first_part) {
        live = dx_version_next_live(w->version, i, at->keys.ordinal);
        if (live - at->keys.ordinal > SEEK_FROM)
            dx_dictionary_seek(&at->keys, &w->version->parts[i].part->dictionary, live);
    }
    do {
        if (i < w->first_part && !next_only(w, i))
            return DX_OK;
        at->ordinal = at->keys.ordinal;
        rc = dx_dictionary_next(&at->keys, &at->key, err);
    } while (rc == 1 && (i < w->first_part ? dx_version_is_dead(w->version, i, at->ordinal)
                                           : at->ordinal < live));
    at->has = rc == 1;
    return rc < 0 ? rc : DX_OK;
}

/* Where a part goes on: at the key of the place, or where it would stand. */
static int first_of(const struct dx_version_walk *w, size_t i, struct dx_span key,
                    uint64_t *ordinal, struct dx_error *err)
{
    const struct dx_version *v = w->version;
    const struct dx_dictionary *d = &v->parts[i].part->dictionary;

    *ordinal = 0;
    if (w->from > v->numbers)
        *ordinal = d->info.n;
    else if (w->from > 0 && dx_version_part_at(v, w->from - 1) == i)
        *ordinal = w->from - 1 - v->parts[i].first;
    else if (w->from > 0)
        return dx_dictionary_lower_bound(d, key, ordinal, err);
    return DX_OK;
}

static int begin_walk(struct dx_version_walk *w, struct dx_error *err)
{
    struct dx_version *v = w->version;
    struct dx_dictionary_cursor c;
    struct dx_span key = { NULL, 0 };
    int rc = DX_OK;

    w->begun = true;
    if (w->from > 0 && w->from <= v->numbers) {
        const struct dx_version_part *p = &v->parts[dx_version_part_at(v, w->from - 1)];

        dx_dictionary_seek(&c, &p->part->dictionary, w->from - 1 - p->first);
        rc = dx_dictionary_next(&c, &key, err);
    }
    for (size_t i = 0; rc >= 0 && i < w->first_part; i++) {
        w->at[i].has = w->only != NULL && w->only[i] != NULL;
        if (!w->at[i].has)
            continue;
        roaring_init_iterator(w->only[i], &w->at[i].only);
        rc = next_key(w, i, err);
    }
    for (size_t i = w->first_part; rc >= 0 && i < v->part_count; i++) {
        uint64_t ordinal;

        rc = first_of(w, i, key, &ordinal, err);
        dx_dictionary_seek(&w->at[i].keys, &v->parts[i].part->dictionary, ordinal);
        if (rc >= 0)
            rc = next_key(w, i, err);
    }
    return rc < 0 ? rc : DX_OK;
}

int dx_version_walk_next(struct dx_version_walk *w, struct dx_error *err)
{
    size_t least = w->version->part_count;
    int rc = DX_OK;

    w->pairs.count = 0;
    if (!w->begun)
        rc = begin_walk(w, err);
    else if (w->part != NULL)
        rc = next_key(w, w->part_at, err);
    for (size_t i = 0; rc == DX_OK && i < w->version->part_count; i++)
        if (w->at[i].has && (least == w->version->part_count ||
                             dx_span_compare(w->at[i].key, w->at[least].key) < 0))
            least = i;
    w->part = NULL;
    if (rc < 0 || least == w->version->part_count) {
        w->place = 1 + w->version->numbers;
        return rc < 0 ? rc : 0;
    }
    w->part_at = least;
    w->part = w->version->parts[least].part;
    w->key = w->at[least].key;
    w->ordinal = w->at[least].ordinal;
    w->place = 1 + w->version->parts[least].first + w->ordinal;
    return 1;
}

int dx_version_walk_pairs(struct dx_version_walk *w, struct dx_error *err)
{
    return dx_domain_pairs_read(&w->pairs, w->part, w->ordinal, err);
}

void dx_version_walk_end(struct dx_version_walk *w)
{
    dx_domain_pairs_release(&w->pairs);
    w->version = NULL;
}
