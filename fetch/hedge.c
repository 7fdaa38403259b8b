/* SPDX-License-Identifier: Apache-2.0 */
#include "fetch/hedge.h"

void dx_hedge_init(struct dx_hedge *h)
{
    for (size_t i = 0; i < DX_HEDGE_BUCKETS; i++)
        atomic_init(&h->samples[i], 0);
    atomic_init(&h->count, 0);
    atomic_init(&h->tokens, 0);
}

void dx_hedge_offer(struct dx_hedge *h)
{
    int tokens = atomic_load_explicit(&h->tokens, memory_order_relaxed);

    while (tokens <= DX_HEDGE_BURST * DX_HEDGE_COST - DX_HEDGE_PER_REQUEST)
        if (atomic_compare_exchange_weak_explicit(&h->tokens, &tokens,
                                                  tokens + DX_HEDGE_PER_REQUEST,
                                                  memory_order_relaxed, memory_order_relaxed))
            return;
}

bool dx_hedge_take(struct dx_hedge *h, const struct dx_retry_budget *budget)
{
    int tokens = atomic_load_explicit(&h->tokens, memory_order_relaxed);

    if (atomic_load_explicit(&budget->tokens, memory_order_relaxed) < DX_RETRY_BUDGET_FULL / 2)
        return false;
    while (tokens >= DX_HEDGE_COST)
        if (atomic_compare_exchange_weak_explicit(&h->tokens, &tokens, tokens - DX_HEDGE_COST,
                                                  memory_order_relaxed, memory_order_relaxed))
            return true;
    return false;
}

/* 4 e + q for times from (1 + q/4) 2^e on. */
static size_t bucket_of(uint64_t ms)
{
    unsigned e = ms < 2 ? 0 : 63u - (unsigned)__builtin_clzll(ms);
    size_t bucket = ms == 0 ? 0 : 4 * e + (size_t)((ms << 2 >> e) & 3);

    return bucket < DX_HEDGE_BUCKETS ? bucket : DX_HEDGE_BUCKETS - 1;
}

static uint64_t bucket_end_ms(size_t bucket)
{
    size_t next = bucket + 1;

    return (4 + (next & 3)) << (next / 4) >> 2;
}

void dx_hedge_note(struct dx_hedge *h, uint64_t ms)
{
    (void)atomic_fetch_add_explicit(&h->samples[bucket_of(ms)], 1, memory_order_relaxed);
    if (atomic_fetch_add_explicit(&h->count, 1, memory_order_relaxed) + 1 != DX_HEDGE_SAMPLES)
        return;
    /* One thread comes by here; what others add meanwhile may be lost. */
    (void)atomic_fetch_sub_explicit(&h->count, DX_HEDGE_SAMPLES / 2, memory_order_relaxed);
    for (size_t i = 0; i < DX_HEDGE_BUCKETS; i++) {
        uint32_t n = atomic_load_explicit(&h->samples[i], memory_order_relaxed);

        atomic_store_explicit(&h->samples[i], n / 2, memory_order_relaxed);
    }
}

uint64_t dx_hedge_after_ms(const struct dx_hedge *h)
{
    uint64_t counts[DX_HEDGE_BUCKETS];
    uint64_t all = 0;
    uint64_t below = 0;
    size_t bucket = 0;
    uint64_t ms;

    for (size_t i = 0; i < DX_HEDGE_BUCKETS; i++) {
        counts[i] = atomic_load_explicit(&h->samples[i], memory_order_relaxed);
        all += counts[i];
    }
    if (all < DX_HEDGE_SAMPLES_MIN)
        return UINT64_MAX;
    for (; bucket < DX_HEDGE_BUCKETS - 1; bucket++) {
        below += counts[bucket];
        if (below * 100 >= all * 95)
            break;
    }
    ms = bucket_end_ms(bucket);
    return ms < DX_HEDGE_FLOOR_MS ? DX_HEDGE_FLOOR_MS : ms > DX_HEDGE_CAP_MS ? DX_HEDGE_CAP_MS : ms;
}
