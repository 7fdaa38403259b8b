/* SPDX-License-Identifier: Apache-2.0
 * spill_ahead.h - reads a sorter in a thread of its own, a few batches ahead of the caller.
 *
 *   rc = dx_spill_ahead_new(&a, sort, &err);                   finished, and before its first record
 *   while ((rc = dx_spill_ahead_next(a, &key, &value, &err)) == 1)
 *       ...                                                    borrowed until the next call
 *   dx_spill_ahead_free(&a);                                   at any time; NULL is accepted
 *
 * The same records, and the same error at the same place, as from dx_spill_sort_next. Until free
 * the sorter is the thread's; after it the sorter stands anywhere: rewind it. Where no thread can
 * be had records are read as they are asked for. Memory: some 2 MiB, more if a record is larger.
 * Of a sorter that has all in memory the places of records are handed on, without copies.
 */
#ifndef DX_BUILDER_SORT_SPILL_AHEAD_H
#define DX_BUILDER_SORT_SPILL_AHEAD_H

#include "base/bytes.h"
#include "base/error.h"

struct dx_spill_ahead;
struct dx_spill_sort;

int dx_spill_ahead_new(struct dx_spill_ahead **a, struct dx_spill_sort *sort, struct dx_error *err);
int dx_spill_ahead_next(struct dx_spill_ahead *a, struct dx_span *key, struct dx_span *value,
                        struct dx_error *err);
void dx_spill_ahead_free(struct dx_spill_ahead **a);

#endif
