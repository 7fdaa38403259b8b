/* SPDX-License-Identifier: Apache-2.0
 * index_facts.h - facts.dat.zst and sketches.dat.zst of a version in the making, and how many
 * distinct URLs a domain has over its datasets.
 *
 *   rc = dx_index_facts_new(&f, b, &err);
 *   rc = dx_index_facts_pair(f, pair, origin, ordinal, &err);      each pair of a pass but those dropped
 *   rc = dx_index_facts_distinct(f, ids, counts, n, &less, &dense, &err);       behind the last of a domain:
 *                                                                  as counts.h has it
 *   rc = dx_index_facts_end(f, &err);                              both files are complete
 *   dx_index_facts_free(&f);
 *
 * A pair that the scan found fetches its facts and its sketch; one that stays has them in the files
 * of the base, which are walked beside the pass: DX_E_CORRUPT if they lack it. Their bytes are
 * copied, so a merge says what a version from the whole lake would. Memory: a page of each file and
 * of each of the base's, the facts of one pair, the sketches of one domain. One thread.
 */
#ifndef DX_BUILDER_INDEX_INDEX_FACTS_H
#define DX_BUILDER_INDEX_INDEX_FACTS_H

#include "builder/index/index_merge.h"
#include "format/core/counts.h"

struct dx_index_facts;
struct dx_index_state;

int dx_index_facts_new(struct dx_index_facts **f, struct dx_index_state *b, struct dx_error *err);
int dx_index_facts_pair(struct dx_index_facts *f, const struct dx_index_pair *pair,
                        enum dx_index_origin origin, uint64_t ordinal, struct dx_error *err);
int dx_index_facts_distinct(struct dx_index_facts *f, const uint32_t *ids,
                            const struct dx_pair_count *counts, size_t n, uint64_t *less,
                            bool *dense, struct dx_error *err);
int dx_index_facts_end(struct dx_index_facts *f, struct dx_error *err);
void dx_index_facts_free(struct dx_index_facts **f);

#endif
