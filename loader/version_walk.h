/* SPDX-License-Identifier: Apache-2.0
 * version_walk.h - the domains of a version, one after the other, with their datasets and counts.
 *
 *   struct dx_version_walk w;
 *   dx_version_walk_begin(&w, v, place);                0: all; else from where w.place was
 *   while ((rc = dx_version_walk_next(&w, &err)) == 1) {
 *       ... w.key, w.part, w.ordinal, w.place ...       in order of keys; borrowed until the next one
 *       rc = dx_version_walk_pairs(&w, &err);           where they are wanted
 *       ... w.pairs ...                                 loader/domain_pairs.h
 *   }
 *   dx_version_walk_end(&w);                            1 a domain, 0 behind the last, <0 error
 *
 * Dead domains of older parts are left out. The place of a domain is 1 + its number
 * (loader/version_parts.h); behind the last domain it is 1 + v->numbers, and a begin there, or
 * beyond, is an end, not an error. dx_version_walk_parts goes over the domains of the parts from parts[first] on, and of
 * older ones over those whose ordinals only[i] has (NULL: none); the bitmaps are borrowed.
 *
 * Memory: what the datasets of one domain need, and a key a part. The version stays pinned by the
 * caller. One thread at a time; several walks may go over one version.
 */
#ifndef DX_LOADER_VERSION_WALK_H
#define DX_LOADER_VERSION_WALK_H

#include "format/core/dictionary.h"
#include "format/version/manifest.h"
#include "loader/domain_pairs.h"

#include <roaring/roaring.h>

struct dx_version;

/* The place in one part. */
struct dx_version_walk_at {
    bool has;
    struct dx_span key;
    uint64_t ordinal;
    struct dx_dictionary_cursor keys;
    roaring_uint32_iterator_t only; /* of a part below first_part */
};

struct dx_version_walk {
    struct dx_version *version;
    const struct dx_part *part; /* of the domain at hand */
    struct dx_span key;         /* as format/core/surt.h */
    uint64_t ordinal;           /* in the part */
    uint64_t place;             /* in the version */

    struct dx_domain_pairs pairs;

    /* private */
    size_t first_part, part_at;
    roaring_bitmap_t *const *only;
    uint64_t from;
    bool begun;
    struct dx_version_walk_at at[DX_PARTS_MAX];
};

void dx_version_walk_begin(struct dx_version_walk *w, struct dx_version *v, uint64_t place);
void dx_version_walk_parts(struct dx_version_walk *w, struct dx_version *v, size_t first_part,
                           roaring_bitmap_t *const only[DX_PARTS_MAX]);
int dx_version_walk_next(struct dx_version_walk *w, struct dx_error *err);
int dx_version_walk_pairs(struct dx_version_walk *w, struct dx_error *err);
void dx_version_walk_end(struct dx_version_walk *w);

#endif
