/* SPDX-License-Identifier: Apache-2.0
 * When an open loop's requests are due: the rate, and the law of the gaps.
 */
#include "builder/load/schedule.h"

#include "tests/support/damage.h"
#include "tests/support/fail.h"

#include <math.h>

static unsigned failures;

static void check_constant(void)
{
    struct dx_schedule s = dx_schedule_of(3, DX_ARRIVALS_CONSTANT, 1);

    for (uint64_t i = 0; i < 3000000; i++) {
        uint64_t at = dx_schedule_next(&s), want = i * 1000000000 / 3;

        if (at > want + 1 || at + 1 < want) {
            FAIL("arrival %llu of 3/s at %llu ns", (unsigned long long)i, (unsigned long long)at);
            return;
        }
    }
}

/* Gaps: mean 1/rate, P(gap > x) = exp(-x rate), and the next does not know of the last. */
static void check_poisson(void)
{
    enum { COUNT = 1000000 };
    struct dx_schedule s = dx_schedule_of(50000, DX_ARRIVALS_POISSON, 9);
    uint64_t last = 0, first = 0;
    unsigned longer[5] = { 0 };
    double before = 0, product = 0, gap = 0;

    for (int i = 0; i < COUNT; i++) {
        uint64_t at = dx_schedule_next(&s);

        if (at < last)
            abort();
        gap = (double)(at - last) / 20000;
        for (int x = 0; x < 5; x++)
            longer[x] += gap > x;
        product += (gap - 1) * (before - 1);
        before = gap;
        last = at;
        first = i == 0 ? at : first;
    }
    if (fabs((double)last / COUNT / 20000 - 1) > 0.005)
        FAIL("mean gap %.1f ns, not 20000", (double)last / COUNT);
    for (int x = 1; x < 5; x++) {
        double want = exp(-x) * COUNT;

        if (fabs(longer[x] - want) > 6 * sqrt(want) + 50) /* times are whole nanoseconds */
            FAIL("%u gaps above %d means, not %.0f", longer[x], x, want);
    }
    if (fabs(product / COUNT) > 0.01)
        FAIL("gaps go together: %.4f", product / COUNT);
}

int main(void)
{
    check_constant();
    check_poisson();
    return failures != 0;
}
