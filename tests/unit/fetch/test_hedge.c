/* SPDX-License-Identifier: Apache-2.0
 * What is late, and how many hedges there may be.
 */
#include "fetch/hedge.h"
#include "tests/support/damage.h"

static unsigned failures;

/* 94 of 100 in time, 6 late: the percentile lies among the late ones; 95 and 5: among the
 * others. */
static const struct {
    uint64_t fast, slow, least, most;
    unsigned fast_of_100;
} rows[] = {
    { 30, 500, 500, 640, 94 },
    { 30, 500, 31, 40, 96 },
    { 0, 0, 20, 20, 50 },
    { 1, 3, 20, 20, 50 },
    { 5000, 9000, 1000, 1000, 50 },
    { 100, 101, 101, 128, 50 },
    { UINT64_MAX, UINT64_MAX, 1000, 1000, 50 },
};

static void check_percentile(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct dx_hedge h;
        uint64_t ms;

        dx_hedge_init(&h);
        for (unsigned n = 0; n < 5000; n++) {
            if (n < DX_HEDGE_SAMPLES_MIN)
                EXPECT(dx_hedge_after_ms(&h) == UINT64_MAX, "after %u samples", n);
            dx_hedge_note(&h, n % 100 < rows[i].fast_of_100 ? rows[i].fast : rows[i].slow);
        }
        ms = dx_hedge_after_ms(&h);
        EXPECT(ms >= rows[i].least && ms <= rows[i].most, "row %zu: %llu ms", i,
               (unsigned long long)ms);
    }
}

/* Of as few samples as suffice, the last one decides. */
static void check_few(void)
{
    for (unsigned late = DX_HEDGE_SAMPLES_MIN / 20; late <= DX_HEDGE_SAMPLES_MIN / 20 + 1; late++) {
        struct dx_hedge h;

        dx_hedge_init(&h);
        for (unsigned n = 0; n < DX_HEDGE_SAMPLES_MIN; n++)
            dx_hedge_note(&h, n < late ? 500 : 30);
        EXPECT((dx_hedge_after_ms(&h) >= 500) == (late > DX_HEDGE_SAMPLES_MIN / 20),
               "%u of %d late: %llu ms", late, DX_HEDGE_SAMPLES_MIN,
               (unsigned long long)dx_hedge_after_ms(&h));
    }
}

/* What was long ago is forgotten. */
static void check_recent(void)
{
    struct dx_hedge h;

    dx_hedge_init(&h);
    for (unsigned n = 0; n < 100000; n++)
        dx_hedge_note(&h, 400);
    EXPECT(dx_hedge_after_ms(&h) > 400, "slow");
    for (unsigned n = 0; n < 5 * DX_HEDGE_SAMPLES; n++)
        dx_hedge_note(&h, 40);
    EXPECT(dx_hedge_after_ms(&h) < 60, "%llu ms", (unsigned long long)dx_hedge_after_ms(&h));
}

static void check_tokens(void)
{
    struct dx_retry_budget budget = DX_RETRY_BUDGET_INIT;
    struct dx_hedge h;
    unsigned hedges = 0;

    dx_hedge_init(&h);
    EXPECT(!dx_hedge_take(&h, &budget), "none at first");
    for (unsigned n = 0; n < 10000; n++) {
        dx_hedge_offer(&h);
        hedges += dx_hedge_take(&h, &budget);
    }
    EXPECT(hedges == 200, "%u hedges of 10000 requests that are all late", hedges);
    for (unsigned n = 0; n < 10000; n++)
        dx_hedge_offer(&h);
    for (hedges = 0; dx_hedge_take(&h, &budget);)
        hedges++;
    EXPECT(hedges == DX_HEDGE_BURST, "%u hedges saved up", hedges);
    for (unsigned n = 0; n < 100; n++)
        dx_hedge_offer(&h);
    atomic_store(&budget.tokens, DX_RETRY_BUDGET_FULL / 2 - 1);
    EXPECT(!dx_hedge_take(&h, &budget), "the retry budget is low");
    atomic_store(&budget.tokens, DX_RETRY_BUDGET_FULL / 2);
    EXPECT(dx_hedge_take(&h, &budget), "the retry budget is healthy");
}

int main(void)
{
    check_percentile();
    check_few();
    check_recent();
    check_tokens();
    return failures > 0;
}
