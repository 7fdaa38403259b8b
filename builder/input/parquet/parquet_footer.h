/* SPDX-License-Identifier: Apache-2.0
 * parquet_footer.h - the footer of a Parquet file that is read by ranges.
 *
 *   struct dx_buf metadata;  dx_buf_init(&metadata, DX_PQ_FOOTER_MAX);
 *   rc = dx_parquet_footer_read(&footer, ranges, &metadata, memory, &err);   borrows from metadata
 *   rc = dx_parquet_footer_same(ranges, &metadata, &locator, &err);
 *   struct dx_pq_fetch from = { dx_parquet_footer_fetch, ranges, window };      for parquet/chunk.h
 *
 * dx_parquet_footer_same: DX_E_CORRUPT, with the reason, if the locator says what the file was (its size and the hash
 * of its footer) and that is not what it is now.
 *
 * `memory`: for metadata and footer; a footer that takes more is DX_E_LIMIT.
 *
 * Errors do not name the file. One thread at a time for `ranges`.
 */
#ifndef DX_BUILDER_INPUT_PARQUET_PARQUET_FOOTER_H
#define DX_BUILDER_INPUT_PARQUET_PARQUET_FOOTER_H

#include "base/buf.h"
#include "base/error.h"

struct dx_input_ranges;
struct dx_locator;
struct dx_pq_footer;

int dx_parquet_footer_read(struct dx_pq_footer *footer, struct dx_input_ranges *ranges,
                           struct dx_buf *metadata, uint64_t memory, struct dx_error *err);

int dx_parquet_footer_same(const struct dx_input_ranges *ranges, const struct dx_buf *metadata,
                           const struct dx_locator *locator, struct dx_error *err);

/* ranges: a struct dx_input_ranges. */
int dx_parquet_footer_fetch(void *ranges, uint64_t offset, size_t size, uint8_t *to,
                            struct dx_error *err);

#endif
