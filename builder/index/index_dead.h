/* SPDX-License-Identifier: Apache-2.0
 * index_dead.h - which domains of the parts that stay a new part takes over or takes out, and which of their lake files
 * left: dead.dxb.
 *
 *   rc = dx_index_dead_new(&d, lake, &err);            takes what the merged parts say of them
 *   rc = dx_index_dead_add(d, part, ordinal, pairs, &err);       a domain, with what the part has of it
 *   rc = dx_index_dead_write(d, &build, sink, ctx, &gone, &err);  files that left
 *   dx_index_dead_free(&d);
 *
 * A domain may be added several times in a row. Memory: the sets, and 24 bytes a pair of a domain
 * that is added. One thread.
 */
#ifndef DX_BUILDER_INDEX_INDEX_DEAD_H
#define DX_BUILDER_INDEX_INDEX_DEAD_H

#include "base/error.h"
#include "base/hash.h"
#include "loader/domain_pairs.h"

struct dx_index_dead;
struct dx_index_lake;

int dx_index_dead_new(struct dx_index_dead **d, const struct dx_index_lake *lake,
                      struct dx_error *err);
int dx_index_dead_add(struct dx_index_dead *d, size_t part, uint64_t ordinal,
                      const struct dx_domain_pairs *pairs, struct dx_error *err);
int dx_index_dead_write(struct dx_index_dead *d, const struct dx_build_id *build,
                        int (*sink)(void *ctx, struct dx_span bytes, struct dx_error *err),
                        void *ctx, uint64_t *gone, struct dx_error *err);
void dx_index_dead_free(struct dx_index_dead **d);

#endif
