/* SPDX-License-Identifier: Apache-2.0
 * fetch_counts.h - what all sources of this process have asked, got and refused so far.
 *
 *   struct dx_fetch_counts c;
 *   dx_fetch_counts_read(&c);             for metrics: numbers since the process began
 *   for (r = 0; r < DX_REFUSAL_COUNT; r++)
 *       ... dx_refusal_name(r), c.refused[r] ...
 *
 *   dx_fetch_count(DX_COUNT_RETRIES, 1);  by the caller that does it
 *
 * Every number but the last block grows only. They are added to without an order between them, so
 * two of them read together may be off by what is under way. Any thread.
 *
 * Names for metrics: a member is the metric domaindex_fetch_<member>_total, refused with the label
 * reason=dx_refusal_name; the last block has no _total.
 */
#ifndef DX_FETCH_FETCH_COUNTS_H
#define DX_FETCH_FETCH_COUNTS_H

#include "fetch/range_reply.h"

enum dx_fetch_count {
    DX_COUNT_BATCHES,
    DX_COUNT_READS,
    DX_COUNT_JOINED_READS,
    DX_COUNT_JOINED_BYTES,
    DX_COUNT_REQUESTS,
    DX_COUNT_RECEIVED_BYTES,
    DX_COUNT_ACCEPTED,
    DX_COUNT_RETRIES,
    DX_COUNT_HEDGES,
    DX_COUNT_HEDGES_WON,
    DX_COUNT_SIGNED_AGAIN,
    DX_COUNT_BROKEN,
    DX_COUNT_TOO_SLOW,
    DX_COUNT_DEADLINES_MISSED,
    DX_COUNT_CONFLICTS,
    DX_COUNT_RANGES_IMPOSSIBLE,
    DX_COUNT_RETRIES_DENIED,
    DX_FETCH_COUNT_COUNT
};

struct dx_fetch_counts {
    uint64_t batches;           /* of reads, and gets of whole objects */
    uint64_t reads;             /* ranges that were asked for, before joining */
    uint64_t joined_reads;      /* of them: requests saved, since they came with another's GET */
    uint64_t joined_bytes;      /* fetched for nothing, in the gaps between joined reads */
    uint64_t requests;          /* GETs sent: first attempts, retries, hedges */
    uint64_t received_bytes;    /* of bodies, of refused replies too */
    uint64_t accepted;          /* replies */
    uint64_t retries;           /* attempts after the first */
    uint64_t hedges;            /* second GETs sent because the first one was late */
    uint64_t hedges_won;        /* of them: came first */
    uint64_t signed_again;      /* one more attempt with other credentials or another clock */
    uint64_t broken;            /* attempts that ended without a reply: DNS, connect, TLS, reset */
    uint64_t too_slow;          /* attempts given up by first_byte_ms, stall_ms, bytes_per_s_min */
    uint64_t deadlines_missed;  /* batches */
    uint64_t conflicts;         /* batches: the object is another one (412, ETag, size) */
    uint64_t ranges_impossible; /* batches: the object ends before the range (416) */
    uint64_t retries_denied;    /* by the retry budget */
    uint64_t refused[DX_REFUSAL_COUNT]; /* replies, by reason */
    /* now, of the limits that dx_fetch_limits_shared gives */
    uint64_t in_flight;
    uint64_t in_flight_high; /* the most there were */
    uint64_t retry_tokens;   /* 0: no retries; full: DX_RETRY_BUDGET_FULL */
};

void dx_fetch_count(enum dx_fetch_count which, uint64_t n);
void dx_fetch_count_refused(enum dx_refusal refusal);
void dx_fetch_counts_read(struct dx_fetch_counts *counts);

#endif
