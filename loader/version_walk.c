/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/version_walk.h"

#include "loader/version.h"

#include <stdlib.h>

void dx_version_walk_begin(struct dx_version_walk *w, struct dx_version *v, uint64_t ordinal)
{
    *w = (struct dx_version_walk){ .version = v };
    dx_dictionary_seek(&w->keys, &v->dictionary,
                       ordinal < v->entry.domains ? ordinal : v->entry.domains);
}

int dx_version_walk_next(struct dx_version_walk *w, struct dx_error *err)
{
    w->count = 0;
    w->ordinal = w->keys.ordinal;
    return dx_dictionary_next(&w->keys, &w->key, err);
}

/* A set of a sound version is no larger than its registry, which is what bounds the memory. */
static int reserve(struct dx_version_walk *w, size_t count, struct dx_error *err)
{
    uint32_t *ids;
    struct dx_pair_count *pairs;

    if (count > w->version->registry.count)
        return dx_fail(err, DX_E_CORRUPT, "%s: a domain has %zu datasets of %zu",
                       w->version->directory, count, w->version->registry.count);
    if (count <= w->capacity)
        return DX_OK;
    ids = realloc(w->ids, count * sizeof *ids);
    if (ids != NULL)
        w->ids = ids;
    pairs = realloc(w->pairs, count * sizeof *pairs);
    if (pairs != NULL)
        w->pairs = pairs;
    if (ids == NULL || pairs == NULL)
        return dx_fail(err, DX_E_NOMEM, "%s: out of memory", w->version->directory);
    w->capacity = count;
    return DX_OK;
}

int dx_version_walk_pairs(struct dx_version_walk *w, struct dx_error *err)
{
    struct dx_dataset_set set;
    size_t count;
    int rc = dx_membership_get(&w->version->membership, w->ordinal, &set, err);

    if (rc < 0)
        return rc;
    count = dx_dataset_set_count(&set);
    rc = reserve(w, count, err);
    if (rc < 0)
        return rc;
    (void)dx_dataset_set_ids(&set, w->ids, count);
    rc = dx_counts_get(&w->version->counts, w->ordinal, (uint32_t)count, w->pairs, err);
    if (rc < 0)
        return rc;
    w->count = count;
    return DX_OK;
}

void dx_version_walk_end(struct dx_version_walk *w)
{
    free(w->ids);
    free(w->pairs);
    *w = (struct dx_version_walk){ .version = NULL };
}
