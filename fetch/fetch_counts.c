/* SPDX-License-Identifier: Apache-2.0 */
#include "fetch/fetch_counts.h"

#include "fetch/fetch_limits.h"

#include <stdatomic.h>

static _Atomic uint64_t numbers[DX_FETCH_COUNT_COUNT];
static _Atomic uint64_t refused[DX_REFUSAL_COUNT];

void dx_fetch_count(enum dx_fetch_count which, uint64_t n)
{
    (void)atomic_fetch_add_explicit(&numbers[which], n, memory_order_relaxed);
}

void dx_fetch_count_refused(enum dx_refusal refusal)
{
    (void)atomic_fetch_add_explicit(&refused[refusal], 1, memory_order_relaxed);
}

static uint64_t number(enum dx_fetch_count which)
{
    return atomic_load_explicit(&numbers[which], memory_order_relaxed);
}

void dx_fetch_counts_read(struct dx_fetch_counts *counts)
{
    struct dx_fetch_limits *limits = dx_fetch_limits_shared();

    *counts = (struct dx_fetch_counts){
        .batches = number(DX_COUNT_BATCHES),
        .reads = number(DX_COUNT_READS),
        .joined_reads = number(DX_COUNT_JOINED_READS),
        .joined_bytes = number(DX_COUNT_JOINED_BYTES),
        .requests = number(DX_COUNT_REQUESTS),
        .received_bytes = number(DX_COUNT_RECEIVED_BYTES),
        .accepted = number(DX_COUNT_ACCEPTED),
        .retries = number(DX_COUNT_RETRIES),
        .hedges = number(DX_COUNT_HEDGES),
        .hedges_won = number(DX_COUNT_HEDGES_WON),
        .signed_again = number(DX_COUNT_SIGNED_AGAIN),
        .broken = number(DX_COUNT_BROKEN),
        .too_slow = number(DX_COUNT_TOO_SLOW),
        .deadlines_missed = number(DX_COUNT_DEADLINES_MISSED),
        .conflicts = number(DX_COUNT_CONFLICTS),
        .ranges_impossible = number(DX_COUNT_RANGES_IMPOSSIBLE),
        .retries_denied = number(DX_COUNT_RETRIES_DENIED),
    };
    for (size_t i = 0; i < DX_REFUSAL_COUNT; i++)
        counts->refused[i] = atomic_load_explicit(&refused[i], memory_order_relaxed);
    dx_fetch_limits_look(limits, &counts->in_flight, &counts->in_flight_high);
    counts->retry_tokens = (uint64_t)atomic_load_explicit(&limits->budget.tokens,
                                                          memory_order_relaxed);
}
