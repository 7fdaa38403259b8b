/* SPDX-License-Identifier: Apache-2.0
 * spill_sort.h - sorts any number of byte records within a memory budget.
 *
 *   struct dx_spill_sort_options o = { .dir = tmp, .memory_bytes = n, .lanes = 1 };
 *   rc = dx_spill_sort_new(&s, &o, &err);
 *   rc = dx_spill_sort_add(s, lane, key, value, &err);     many times; one thread a lane
 *   rc = dx_spill_sort_end(s, lane, &err);                 optional: sorts what the lane holds,
 *                                                          in that thread; may be added to again
 *   rc = dx_spill_sort_each(s, fn, ctx, &err);             optional: every record, any order
 *   rc = dx_spill_sort_finish(s, &err);                    no lane in use; a thread a lane ends them;
 *                                                          from here on one thread
 *   while ((rc = dx_spill_sort_next(s, &key, &value, &err)) == 1)
 *       ...                                                borrowed until the next call
 *   rc = dx_spill_sort_rewind(s, &err);                    the same records once more
 *   dx_spill_sort_free(&s);
 *
 * Order: bytes of the key (memcmp, a prefix first). Equal keys: with `distinct` only the one
 * with the smallest value comes out (bytes, a prefix first), so what comes out depends on the
 * set of records alone, not on lanes, order or memory. Else all come, in the order of adding;
 * that has a meaning for one lane only, so lanes must be 1, unless keys are `unique`.
 *
 * Each lane fills its share of memory_bytes; when that is full it goes, sorted, as a run
 * (spill_run.h) to the lane's temporary file in `dir`. These files have no names: nothing is
 * left of them after free, or after a crash. If there are runs, finish writes out the rest,
 * gives the memory back and merges within what it was; more runs than fit are merged in
 * passes first, which need the space of what they merge once more.
 *
 * A record is at most a quarter of a lane (DX_E_LIMIT). Several sorts may work at once.
 */
#ifndef DX_BUILDER_SORT_SPILL_SORT_H
#define DX_BUILDER_SORT_SPILL_SORT_H

#include "base/bytes.h"
#include "base/error.h"

#define DX_SPILL_LANE_MIN 1024 /* for tests; real budgets are megabytes */

struct dx_spill_sort;

struct dx_spill_sort_options {
    const char *dir; /* exists */
    size_t memory_bytes;
    unsigned lanes;
    bool distinct;
    bool unique;     /* no two keys are equal, by the caller's word: any number of lanes */
    unsigned fan_in; /* runs merged at a time, at least 2; 0: as memory allows */
};

struct dx_spill_sort_stats {
    uint64_t runs;   /* from lanes */
    uint64_t passes; /* merges of runs into longer runs */
    uint64_t spilled_bytes;
};

int dx_spill_sort_new(struct dx_spill_sort **s, const struct dx_spill_sort_options *options,
                      struct dx_error *err);
void dx_spill_sort_free(struct dx_spill_sort **s);

int dx_spill_sort_add(struct dx_spill_sort *s, unsigned lane, struct dx_span key,
                      struct dx_span value, struct dx_error *err);
int dx_spill_sort_end(struct dx_spill_sort *s, unsigned lane, struct dx_error *err);
int dx_spill_sort_each(struct dx_spill_sort *s,
                       int (*fn)(void *ctx, struct dx_span key, struct dx_span value,
                                 struct dx_error *err),
                       void *ctx, struct dx_error *err);
int dx_spill_sort_finish(struct dx_spill_sort *s, struct dx_error *err);
int dx_spill_sort_next(struct dx_spill_sort *s, struct dx_span *key, struct dx_span *value,
                       struct dx_error *err);
int dx_spill_sort_rewind(struct dx_spill_sort *s, struct dx_error *err);

/* Finished: whether all records lie in memory, where what next gives stays valid until free. */
bool dx_spill_sort_in_memory(const struct dx_spill_sort *s);

uint64_t dx_spill_sort_count(const struct dx_spill_sort *s); /* records added */
void dx_spill_sort_get_stats(const struct dx_spill_sort *s, struct dx_spill_sort_stats *stats);

#endif
