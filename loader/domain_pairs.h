/* SPDX-License-Identifier: Apache-2.0
 * domain_pairs.h - the datasets of a domain and its counts in each.
 *
 *   struct dx_domain_pairs p = DX_DOMAIN_PAIRS_INIT;
 *   rc = dx_domain_pairs_read(&p, part, ordinal, &err);  p.ids[i], p.counts[i], i < p.count
 *   dx_domain_pairs_release(&p);                         once, behind the last read
 *
 * Each read takes the place of the one before; room only grows. It is bounded by how many datasets have a domain in
 * the part: a set that claims more is DX_E_CORRUPT. One thread at a time.
 */
#ifndef DX_LOADER_DOMAIN_PAIRS_H
#define DX_LOADER_DOMAIN_PAIRS_H

#include "format/core/counts.h"

struct dx_part;

struct dx_domain_pairs {
    uint32_t *ids; /* ascending; in the same allocation, behind the counts */
    struct dx_pair_count *counts;
    size_t count;
    size_t capacity;
};

#define DX_DOMAIN_PAIRS_INIT \
    {                        \
        NULL, NULL, 0, 0     \
    }

/* After an error count is 0. */
int dx_domain_pairs_read(struct dx_domain_pairs *p, const struct dx_part *part, uint64_t ordinal,
                         struct dx_error *err);
void dx_domain_pairs_release(struct dx_domain_pairs *p);

#endif
