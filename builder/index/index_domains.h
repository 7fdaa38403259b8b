/* SPDX-License-Identifier: Apache-2.0
 * index_domains.h - dataset_domains.dxt of a version in the making: pairs come by domain, and are
 * wanted by dataset.
 *
 *   rc = dx_index_domains_new(&x, lake, tmp_dir, memory_bytes, &err);
 *   rc = dx_index_domains_add(x, ordinal, ids, counts, n, &err);        each domain, ascending
 *   rc = dx_index_domains_write(x, domains, &build, sink, ctx, &err);
 *   dx_index_domains_free(&x);
 *
 * A pair is 2 to 4 bytes in its dataset's stream (builder/sort/stream_spill.h); write plays each
 * stream into the file, and that of a long list twice. ids are of datasets that have files in the
 * lake. Memory: that of the spool, 16 bytes a dataset, and that of the writer. One thread.
 */
#ifndef DX_BUILDER_INDEX_INDEX_DOMAINS_H
#define DX_BUILDER_INDEX_INDEX_DOMAINS_H

#include "format/core/counts.h"
#include "format/version/dataset_domains.h"

struct dx_index_domains;
struct dx_index_lake;

int dx_index_domains_new(struct dx_index_domains **x, const struct dx_index_lake *lake,
                         const char *tmp_dir, size_t memory_bytes, struct dx_error *err);
int dx_index_domains_add(struct dx_index_domains *x, uint64_t ordinal, const uint32_t *ids,
                         const struct dx_pair_count *counts, size_t n, struct dx_error *err);
int dx_index_domains_write(struct dx_index_domains *x, uint64_t domains,
                           const struct dx_build_id *build,
                           int (*sink)(void *ctx, struct dx_span bytes, struct dx_error *err),
                           void *ctx, struct dx_error *err);
void dx_index_domains_free(struct dx_index_domains **x);

#endif
