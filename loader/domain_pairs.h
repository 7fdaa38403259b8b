/* SPDX-License-Identifier: Apache-2.0
 * domain_pairs.h - the datasets of a domain, its counts in each, and where postings have them.
 *
 *   struct dx_domain_pairs p = DX_DOMAIN_PAIRS_INIT;
 *   dx_domain_pairs_prefetch(part, ordinal, step);       many domains: step 0 of one some reads ahead, then step 1
 *   rc = dx_domain_pairs_read(&p, part, ordinal, &err);  p.ids[i], p.counts[i], i < p.count
 *   dx_domain_pairs_release(&p);                         once, behind the last read
 *
 *   rc = dx_pair_place(part, ordinal, dataset_id, &place, &err);     1; 0: it is not in the dataset
 *
 *   struct dx_pair_places places = { 0 };                the same for many of its datasets
 *   rc = dx_pair_places_open(&places, part, ordinal, &err);
 *   rc = dx_pair_places_find(&places, dataset_id, &place);           1 or 0
 *   rc = dx_pair_places_dataset(&places, place.dataset, &dataset_id);    the way back
 *   dx_pair_places_close(&places);                       safe at any time
 *
 * Postings of version 1 (by_ids) know pairs by their ids, and there any dataset_id has a place.
 * Each read takes the place of the one before; room only grows. It is bounded by how many datasets have a domain in
 * the part: a set that claims more is DX_E_CORRUPT. One thread at a time.
 */
#ifndef DX_LOADER_DOMAIN_PAIRS_H
#define DX_LOADER_DOMAIN_PAIRS_H

#include "format/core/counts.h"
#include "format/version/postings.h"

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

void dx_domain_pairs_prefetch(const struct dx_part *part, uint64_t ordinal, unsigned step);
/* After an error count is 0. */
int dx_domain_pairs_read(struct dx_domain_pairs *p, const struct dx_part *part, uint64_t ordinal,
                         struct dx_error *err);
void dx_domain_pairs_release(struct dx_domain_pairs *p);

int dx_pair_place(const struct dx_part *part, uint64_t ordinal, uint32_t dataset_id,
                  struct dx_pair_place *place, struct dx_error *err);

/* All private. */
struct dx_pair_places {
    bool open;
    bool by_ids;
    uint64_t domain;
    uint32_t *ids;
    size_t count;
};

int dx_pair_places_open(struct dx_pair_places *p, const struct dx_part *part, uint64_t ordinal,
                        struct dx_error *err);
int dx_pair_places_find(const struct dx_pair_places *p, uint32_t dataset_id,
                        struct dx_pair_place *place);
int dx_pair_places_dataset(const struct dx_pair_places *p, uint32_t number, uint32_t *dataset_id);
void dx_pair_places_close(struct dx_pair_places *p);

#endif
