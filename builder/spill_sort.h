/* SPDX-License-Identifier: Apache-2.0
 * spill_sort.h - sorts any number of byte records within a memory budget.
 *
 *   rc = dx_spill_sort_new(&s, dir, memory_bytes, &err);
 *   rc = dx_spill_sort_add(s, key, value, &err);           many times
 *   rc = dx_spill_sort_finish(s, &err);
 *   while ((rc = dx_spill_sort_next(s, &key, &value, &err)) == 1)
 *       ...                                                borrowed until the next call
 *   rc = dx_spill_sort_rewind(s, &err);                    the same records once more
 *   dx_spill_sort_free(&s);
 *
 * Order: bytes of the key (memcmp, a prefix first); equal keys in the order of adding.
 * Records beyond the budget go as sorted runs (zstd 1, each block with a checksum) to
 * unnamed files in `dir` and are merged, in several passes if there are many. A record
 * is at most an eighth of the budget. One thread at a time; several sorters may work at
 * the same time.
 */
#ifndef DX_BUILDER_SPILL_SORT_H
#define DX_BUILDER_SPILL_SORT_H

#include "base/bytes.h"
#include "base/error.h"

#define DX_SPILL_SORT_MEMORY_MIN (64 * 1024) /* tests use it; real budgets are megabytes */

struct dx_spill_sort;

int dx_spill_sort_new(struct dx_spill_sort **s, const char *dir, size_t memory_bytes,
                      struct dx_error *err);
int dx_spill_sort_add(struct dx_spill_sort *s, struct dx_span key, struct dx_span value,
                      struct dx_error *err);
int dx_spill_sort_finish(struct dx_spill_sort *s, struct dx_error *err);
int dx_spill_sort_next(struct dx_spill_sort *s, struct dx_span *key, struct dx_span *value,
                       struct dx_error *err);
int dx_spill_sort_rewind(struct dx_spill_sort *s, struct dx_error *err);
uint64_t dx_spill_sort_count(const struct dx_spill_sort *s);   /* records added */
uint64_t dx_spill_sort_spilled(const struct dx_spill_sort *s); /* bytes written to disk so far */
void dx_spill_sort_free(struct dx_spill_sort **s);

#endif
