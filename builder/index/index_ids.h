/* SPDX-License-Identifier: Apache-2.0
 * index_ids.h - the domain_id of each domain, also where two have the same hash.
 *
 *   rc = dx_index_ids_find(&ids, hashes, n, hash_bits, &err);       which hashes occur twice
 *   if (ids.needs_names)
 *       rc = dx_index_ids_name(&ids, domain, ordinal, &err);        every domain, by ordinal
 *   rc = dx_index_ids_resolve(&ids, hashes, &err);                  ids.collisions
 *   dx_index_ids_release(&ids);
 *
 *   dx_index_ids_distinct(&ids, n);         instead of the first three: no two hashes are equal
 *
 * hashes[ordinal] is XXH3 of the domain. With hash_bits below 64 (tests) ids keep only
 * that many leading bits of the hash, so that collisions are everywhere; ids.collisions
 * then lists every domain whose id is not its XXH3, which keeps all answers exact.
 * Memory of find: n / 2 bytes; of the rest: what collides. One thread at a time.
 */
#ifndef DX_BUILDER_INDEX_INDEX_IDS_H
#define DX_BUILDER_INDEX_INDEX_IDS_H

#include "base/buf.h"
#include "format/core/mphf.h"

struct dx_index_ids {
    uint64_t n;
    uint64_t mask;
    bool needs_names;
    struct dx_buf twice;      /* u64: hashes that several domains have, ascending */
    struct dx_buf named;      /* struct of index_ids.c */
    struct dx_buf text;       /* of the named */
    struct dx_buf collisions; /* struct dx_collision, by ordinal */
};

void dx_index_ids_distinct(struct dx_index_ids *ids, uint64_t n);
int dx_index_ids_find(struct dx_index_ids *ids, const uint64_t *hashes, uint64_t n,
                      unsigned hash_bits, struct dx_error *err);
int dx_index_ids_name(struct dx_index_ids *ids, struct dx_span domain, uint64_t ordinal,
                      struct dx_error *err);
int dx_index_ids_resolve(struct dx_index_ids *ids, const uint64_t *hashes, struct dx_error *err);
void dx_index_ids_release(struct dx_index_ids *ids);

#endif
