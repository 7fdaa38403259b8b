/* SPDX-License-Identifier: Apache-2.0
 * version_walk.h - the domains of a version, one after the other, with their datasets and counts.
 *
 *   struct dx_version_walk w;
 *   dx_version_walk_begin(&w, v, ordinal);              from the domain with that ordinal on; 0: all
 *   while ((rc = dx_version_walk_next(&w, &err)) == 1) {
 *       ... w.key, w.ordinal ...                        in order of keys; borrowed until the next one
 *       rc = dx_version_walk_pairs(&w, &err);           where they are wanted
 *       ... w.pairs ...                                 loader/domain_pairs.h
 *   }
 *   dx_version_walk_end(&w);                            1 a domain, 0 behind the last, <0 error
 *
 * Memory: what the datasets of one domain need. The version stays pinned by the caller. A begin
 * behind the last domain is an end, not an error. One thread at a time; several walks may go over
 * one version.
 */
#ifndef DX_LOADER_VERSION_WALK_H
#define DX_LOADER_VERSION_WALK_H

#include "format/core/dictionary.h"
#include "loader/domain_pairs.h"

struct dx_version;

struct dx_version_walk {
    struct dx_version *version;
    const struct dx_part *part; /* of the domain at hand */
    struct dx_span key;         /* as format/core/surt.h */
    uint64_t ordinal;           /* of the domain at hand */

    struct dx_domain_pairs pairs;

    /* private */
    struct dx_dictionary_cursor keys;
};

void dx_version_walk_begin(struct dx_version_walk *w, struct dx_version *v, uint64_t ordinal);
int dx_version_walk_next(struct dx_version_walk *w, struct dx_error *err);
int dx_version_walk_pairs(struct dx_version_walk *w, struct dx_error *err);
void dx_version_walk_end(struct dx_version_walk *w);

#endif
