/* SPDX-License-Identifier: Apache-2.0
 * row_sort.h - sorts any number of records within a memory budget, from several threads.
 *
 *   rc = dx_row_sort_new(&s, &options, &err);
 *   rc = dx_row_sort_add(s, lane, key, value, &err);    one thread a lane
 *   rc = dx_row_sort_lane_end(s, lane, &err);           sorts what is left, in that thread
 *   rc = dx_row_sort_each(s, fn, ctx, &err);            optional: every record, any order
 *   rc = dx_row_sort_merge(s, &err);                    all lanes ended; then one thread
 *   while ((rc = dx_row_sort_next(s, &key, &value, &err)) == 1) ...
 *   dx_row_sort_free(&s);
 *
 * Order: bytes of key, then bytes of value. Of records with one key only the first (the
 * smallest value) comes out: the sort is where duplicates end. What comes out depends on
 * the set of records alone, not on lanes, order or memory.
 *
 * Keys must be prefix-free: none may be the beginning of another (a record is compared as
 * key and value in one).
 *
 * Each lane fills its share of memory_bytes and writes a sorted run (row_run.h) into `dir`
 * when that is full; more than fan_in runs are merged in passes. After lane_end a lane may
 * be added to again and ended again. each: between the last end and merge. Runs are
 * removed by free.
 */
#ifndef DX_BUILDER_ROW_SORT_H
#define DX_BUILDER_ROW_SORT_H

#include "base/bytes.h"
#include "base/error.h"

struct dx_row_sort;

struct dx_row_sort_options {
    const char *dir; /* exists; borrowed until free */
    size_t memory_bytes;
    unsigned lanes;
    unsigned fan_in; /* runs open at a time, at least 2 */
};

struct dx_row_sort_stats {
    uint64_t added;
    uint64_t runs;
    uint64_t passes; /* merges of runs into longer runs */
    uint64_t spilled_bytes;
};

int dx_row_sort_new(struct dx_row_sort **s, const struct dx_row_sort_options *options,
                    struct dx_error *err);
void dx_row_sort_free(struct dx_row_sort **s);

int dx_row_sort_add(struct dx_row_sort *s, unsigned lane, struct dx_span key, struct dx_span value,
                    struct dx_error *err);
int dx_row_sort_lane_end(struct dx_row_sort *s, unsigned lane, struct dx_error *err);
int dx_row_sort_each(struct dx_row_sort *s,
                     int (*fn)(void *ctx, struct dx_span key, struct dx_span value,
                               struct dx_error *err),
                     void *ctx, struct dx_error *err);
int dx_row_sort_merge(struct dx_row_sort *s, struct dx_error *err);
int dx_row_sort_next(struct dx_row_sort *s, struct dx_span *key, struct dx_span *value,
                     struct dx_error *err);
void dx_row_sort_get_stats(const struct dx_row_sort *s, struct dx_row_sort_stats *stats);

#endif
