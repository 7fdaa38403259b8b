/* SPDX-License-Identifier: Apache-2.0
 * number_walk.h - a set of domains of a version in order of keys, from their numbers.
 *
 *   rc = dx_number_walk_begin(&w, v, numbers, place, &err);     place: 0 all; else 1 + the number to begin with
 *   while (w.has) {
 *       ... w.number ...
 *       rc = dx_number_walk_next(&w, &err);
 *   }
 *
 * Numbers (loader/version_parts.h) are those of live domains. The set is a Roaring bitmap that stays
 * as it is until the end. With one part the order of numbers is that of keys, and no key is read; else
 * one is for each number. One thread.
 */
#ifndef DX_QUERY_VIEW_NUMBER_WALK_H
#define DX_QUERY_VIEW_NUMBER_WALK_H

#include "format/core/dictionary.h"
#include "format/version/manifest.h"

#include <roaring/roaring.h>

struct dx_version;

struct dx_number_walk {
    bool has;
    uint32_t number;

    /* private */
    const struct dx_version *version;
    size_t part; /* that has the number */
    struct dx_number_walk_at {
        bool has;
        roaring_uint32_iterator_t it;
        struct dx_span key;
        struct dx_dictionary_cursor keys;
    } at[DX_PARTS_MAX];
};

int dx_number_walk_begin(struct dx_number_walk *w, const struct dx_version *v,
                         const roaring_bitmap_t *numbers, uint64_t place, struct dx_error *err);
int dx_number_walk_next(struct dx_number_walk *w, struct dx_error *err);

#endif
