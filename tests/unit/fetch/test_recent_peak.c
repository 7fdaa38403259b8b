/* SPDX-License-Identifier: Apache-2.0
 * The most at once is remembered for a minute, and forgotten after two.
 */
#include "fetch/recent_peak.h"
#include "tests/support/damage.h"

static unsigned failures;

static const struct {
    uint64_t at_ms;
    size_t n, most;
} rows[] = {
    { 1000, 3, 3 },    { 1001, 40, 40 }, { 1002, 2, 40 },  { 60999, 2, 40 }, /* the same period */
    { 61000, 2, 40 },                    /* the next one: that before still counts */
    { 120000, 5, 40 }, { 121000, 1, 5 }, /* 40 is two periods ago */
    { 121500, 0, 5 },  { 181001, 7, 7 }, { 600000, 1, 1 }, /* nothing was noted for long */
    { 600001, 0, 1 },
};

int main(void)
{
    struct dx_recent_peak peak = { 0 };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        size_t most = dx_recent_peak_note(&peak, rows[i].n, rows[i].at_ms);

        EXPECT(most == rows[i].most, "row %zu: %zu", i, most);
    }
    return failures > 0;
}
