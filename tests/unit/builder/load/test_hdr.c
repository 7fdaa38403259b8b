/* SPDX-License-Identifier: Apache-2.0
 * The histogram of the load generator beside the sorted values themselves.
 */
#include "builder/load/hdr.h"

#include "tests/support/damage.h"
#include "tests/support/fail.h"

#include <math.h>

static unsigned failures;

static const double percentiles[] = { 0,  0.01, 1,    10,   25,    50,     75,      90,
                                      95, 99,   99.5, 99.9, 99.99, 99.999, 99.9999, 100 };

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static uint64_t exact(const uint64_t *sorted, size_t count, double p)
{
    double rank = ceil(p / 100 * (double)count);

    return rank < 1 ? sorted[0] : sorted[(size_t)rank - 1];
}

/* Never below the exact value, at most 1/256 above it. */
static void compare(const char *what, uint64_t *values, size_t count)
{
    struct dx_hdr all;

    if (dx_hdr_init(&all, NULL) < 0)
        abort();
    for (size_t i = 0; i < count; i++)
        dx_hdr_add(&all, values[i]);
    qsort(values, count, sizeof(*values), by_value);
    for (size_t i = 0; i < sizeof(percentiles) / sizeof(percentiles[0]); i++) {
        uint64_t want = exact(values, count, percentiles[i]);
        uint64_t got = dx_hdr_percentile(&all, percentiles[i]);

        if (got < want || got - want > want / 256)
            FAIL("%s: p%g is %llu, not %llu", what, percentiles[i], (unsigned long long)got,
                 (unsigned long long)want);
    }
    if (all.count != count || all.min != values[0] || all.max != values[count - 1])
        FAIL("%s: %llu values from %llu to %llu", what, (unsigned long long)all.count,
             (unsigned long long)all.min, (unsigned long long)all.max);
    dx_hdr_release(&all);
}

static void compare_laws(void)
{
    enum { COUNT = 40000 };
    static uint64_t values[COUNT];
    uint64_t random = 7;

    for (unsigned bits = 1; bits <= DX_HDR_VALUE_BITS; bits++) {
        for (size_t i = 0; i < COUNT; i++)
            values[i] = random_next(&random) >> (64 - bits);
        compare("uniform", values, COUNT);
    }
    for (size_t i = 0; i < COUNT; i++)
        values[i] = random_next(&random) >> (24 + random_below(&random, 40));
    compare("all magnitudes", values, COUNT);
    for (size_t i = 0; i < COUNT; i++)
        values[i] = i < COUNT - 5 ? 30000 : 900000000;
    compare("five outliers", values, COUNT);
    for (size_t n = 1; n < 12; n++) {
        for (size_t i = 0; i < n; i++)
            values[i] = random_below(&random, 2000);
        compare("few", values, n);
    }
}

/* Each edge of a bucket on both sides, by itself: what was put in comes out within the bound. */
static void check_edges(void)
{
    for (unsigned bits = 0; bits < 42; bits++)
        for (int64_t off = -2; off <= 2; off++) {
            uint64_t v = (UINT64_C(1) << bits) + (uint64_t)off, kept;
            struct dx_hdr h;

            if (off < 0 && v > UINT64_C(1) << bits)
                continue;
            kept = v > DX_HDR_VALUE_MAX ? DX_HDR_VALUE_MAX : v;
            if (dx_hdr_init(&h, NULL) < 0)
                abort();
            dx_hdr_add(&h, v);
            dx_hdr_add(&h, DX_HDR_VALUE_MAX); /* or else the greatest value would tell it */
            if (dx_hdr_percentile(&h, 50) < kept || dx_hdr_percentile(&h, 50) > kept + kept / 256)
                FAIL("%llu came out as %llu", (unsigned long long)v,
                     (unsigned long long)dx_hdr_percentile(&h, 50));
            dx_hdr_release(&h);
        }
}

static void check_empty(void)
{
    struct dx_hdr h;

    if (dx_hdr_init(&h, NULL) < 0)
        abort();
    if (dx_hdr_percentile(&h, 50) != 0 || dx_hdr_mean(&h) != 0)
        FAIL("no values: p50 %llu", (unsigned long long)dx_hdr_percentile(&h, 50));
    dx_hdr_release(&h);
}

int main(void)
{
    compare_laws();
    check_edges();
    check_empty();
    return failures != 0;
}
