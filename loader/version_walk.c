/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/version_walk.h"

#include "loader/version.h"

void dx_version_walk_begin(struct dx_version_walk *w, struct dx_version *v, uint64_t ordinal)
{
    *w = (struct dx_version_walk){ .version = v, .part = v->part };
    dx_dictionary_seek(&w->keys, &v->part->dictionary,
                       ordinal < v->entry.domains ? ordinal : v->entry.domains);
}

int dx_version_walk_next(struct dx_version_walk *w, struct dx_error *err)
{
    w->pairs.count = 0;
    w->ordinal = w->keys.ordinal;
    return dx_dictionary_next(&w->keys, &w->key, err);
}

int dx_version_walk_pairs(struct dx_version_walk *w, struct dx_error *err)
{
    return dx_domain_pairs_read(&w->pairs, w->part, w->version->registry.count, w->ordinal, err);
}

void dx_version_walk_end(struct dx_version_walk *w)
{
    dx_domain_pairs_release(&w->pairs);
    w->version = NULL;
}
