/* SPDX-License-Identifier: Apache-2.0
 * Rests are about the period, spread over half of it, and never where there is none.
 */
#include "server/pace.h"
#include "tests/support/fail.h"

#include <stddef.h>

#define ROUNDS 10000

static int failures;

static void test_spread(uint64_t period_ms)
{
    struct dx_pace pace;
    uint64_t least = UINT64_MAX;
    uint64_t most = 0;
    uint64_t sum = 0;

    dx_pace_begin(&pace, (unsigned)period_ms);
    for (unsigned i = 0; i < ROUNDS; i++) {
        uint64_t rest = dx_pace_next(&pace);

        least = rest < least ? rest : least;
        most = rest > most ? rest : most;
        sum += rest;
    }
    if (least < period_ms - period_ms / 4 || most > period_ms + period_ms / 4 + 1)
        FAIL("%llu ms: rests of %llu to %llu", (unsigned long long)period_ms,
             (unsigned long long)least, (unsigned long long)most);
    if (period_ms >= 100 && (most - least) * 10 < period_ms * 4)
        FAIL("%llu ms: rests of only %llu to %llu", (unsigned long long)period_ms,
             (unsigned long long)least, (unsigned long long)most);
    if (sum / ROUNDS + 1 + period_ms / 50 < period_ms || sum / ROUNDS > period_ms + period_ms / 50)
        FAIL("%llu ms: %llu on average", (unsigned long long)period_ms,
             (unsigned long long)(sum / ROUNDS));
}

int main(void)
{
    static const unsigned periods[] = { 1, 2, 3, 250, 2000, 3600000, 4294967295u };
    struct dx_pace never;

    for (size_t i = 0; i < sizeof periods / sizeof periods[0]; i++)
        test_spread(periods[i]);
    dx_pace_begin(&never, 0);
    if (dx_pace_next(&never) != DX_PACE_NEVER)
        FAIL("a rest where there is no period");
    return failures > 0;
}
