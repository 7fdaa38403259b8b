/* SPDX-License-Identifier: Apache-2.0
 * When a token ends: durations and dates that are taken, and what is refused.
 */
#include "builder/policy/access_expiry.h"

#include "tests/support/damage.h"

static unsigned failures;

#define NOW INT64_C(1700000000) /* 2023-11-14T22:13:20Z */

static const struct {
    const char *text;
    int64_t want; /* 0: refused */
} rows[] = {
    { "90d", NOW + 90 * 86400 },
    { "12h", NOW + 12 * 3600 },
    { "30m", NOW + 30 * 60 },
    { "1s", NOW + 1 },
    { "2027-01-31", 1801353600 },
    { "2027-01-31T12:00:00Z", 1801396800 },
    { "90", 0 },
    { "0s", 0 },
    { "-1d", 0 },
    { "d", 0 },
    { "", 0 },
    { "1w", 0 },
    { "1dd", 0 },
    { "2020-01-31", 0 },
    { "99999999999d", 0 },
    { "999999999999999999999999999d", 0 },
    { "253402300799s", 0 },
};

int main(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct dx_error err = DX_ERROR_INIT;
        int64_t at = 0;
        int rc = dx_access_expiry(rows[i].text, NOW, &at, &err);

        EXPECT(rows[i].want == 0 ? rc == DX_E_INVALID && strstr(err.text, "--expires") != NULL
                                 : rc == DX_OK && at == rows[i].want,
               "'%s': %d, %lld, '%s'", rows[i].text, rc, (long long)at, err.text);
    }
    return failures > 0;
}
