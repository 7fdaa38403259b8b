/* SPDX-License-Identifier: Apache-2.0
 * range_join.h - near ranges of one object become one GET.
 *
 *   struct dx_join joins[n];  size_t order[n];
 *   count = dx_range_join(reads, pins, n, joins, order);
 *   for (j = 0; j < count; j++)
 *       ... one GET of joins[j].offset, joins[j].size gives the reads
 *           order[joins[j].first] ... order[joins[j].first + joins[j].count - 1] ...
 *   dx_range_join_hand_out(reads, order, &joins[j], bytes);      copies them to each `to`
 *
 * The rule: the reads of one object (with equal pins: what is demanded of the reply is the same)
 * are sorted by offset; the next one joins if the gap before it is at most DX_JOIN_GAP and the
 * joined range is at most DX_JOIN_MAX, or no larger than it was. So reads that touch, overlap or
 * are equal are joined too. Reads of no byte are in no join.
 *
 * The reason: all GETs of a batch run at the same time, so joining saves requests (money, a
 * signature, some 0.1 ms of the store's processor, perhaps a connection), not round trips. What it
 * costs are the bytes of the gap, and that they come one behind the other over one connection. One
 * stream of a store gives 50 to 100 MB/s: a gap of 16 KiB takes 0.2 to 0.3 ms, about what the
 * saved request costs, and 1 MiB takes 10 to 20 ms, no longer than the store's first byte; beyond
 * that two streams are faster than one. In lakes that we write the pages of a row group that one
 * answer needs lie hundreds of kilobytes apart and are not joined; a page beside its neighbour or
 * its dictionary page is.
 *
 * Pure. Any thread.
 */
#ifndef DX_FETCH_RANGE_JOIN_H
#define DX_FETCH_RANGE_JOIN_H

#include "fetch/source.h"

#define DX_JOIN_GAP (16u << 10)
#define DX_JOIN_MAX (1u << 20)

struct dx_join {
    uint64_t offset;
    size_t size;
    size_t first; /* in order */
    size_t count; /* 1: the read as it is */
};

/* joins and order have room for count entries, the ends of the ranges lie below 2^64; the number
 * of joins. pins may be NULL. Joins are in the order of objects' names, then of offsets. */
size_t dx_range_join(const struct dx_read *reads, const struct dx_pin *pins, size_t count,
                     struct dx_join *joins, size_t *order);

void dx_range_join_hand_out(const struct dx_read *reads, const size_t *order,
                            const struct dx_join *join, const uint8_t *bytes);

#endif
