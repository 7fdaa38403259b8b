/* SPDX-License-Identifier: Apache-2.0
 * index_pass.h - the pairs of a version in the making, gone over once, domain by domain.
 *
 *   struct dx_index_pass p = { .b = b, .pair = ..., .domain = ..., .ctx = ... };
 *   rc = dx_index_pass_run(&p, &err);
 *
 * Of each domain: `pair` for each of its pairs, which is borrowed until it returns; then `domain`,
 * with all of them in b's ids and counts, and the key in b; its text too if `texts` is set, which
 * costs as much as all else. Both may fail, which ends the pass.
 * `pair` may be NULL; it also sees pairs of the base that the new version does not have, which
 * belong to no domain. p.ordinal is that of the domain at hand, in either. Any number of passes,
 * one thread.
 */
#ifndef DX_BUILDER_INDEX_INDEX_PASS_H
#define DX_BUILDER_INDEX_INDEX_PASS_H

#include "builder/index/index_state.h"

struct dx_index_pass {
    struct dx_index_state *b;
    int (*pair)(struct dx_index_pass *p, const struct dx_index_pair *pair,
                enum dx_index_origin origin, struct dx_error *err);
    int (*domain)(struct dx_index_pass *p, uint64_t ordinal, struct dx_error *err);
    void *ctx;
    bool texts;
    uint64_t ordinal; /* of the domain at hand; of a dropped pair it says nothing */
};

int dx_index_pass_run(struct dx_index_pass *p, struct dx_error *err);

/* What is at hand while `domain` runs. */
struct dx_span dx_index_pass_domain(const struct dx_index_state *b); /* with `texts` */
struct dx_span dx_index_pass_key(const struct dx_index_state *b);
const uint32_t *dx_index_pass_ids(const struct dx_index_state *b, size_t *count);
const struct dx_pair_count *dx_index_pass_counts(const struct dx_index_state *b, size_t *count);

#endif
