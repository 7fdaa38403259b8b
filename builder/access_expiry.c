/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/access_expiry.h"

#include "base/civil_time.h"

#include <string.h>

#define LAST_S INT64_C(253402300799) /* 9999-12-31T23:59:59Z */
#define SECOND_US 1000000

/* 0: the letter is no unit. */
static int64_t unit_of(char letter)
{
    switch (letter) {
    case 's':
        return 1;
    case 'm':
        return 60;
    case 'h':
        return 3600;
    case 'd':
        return 86400;
    default:
        return 0;
    }
}

static bool duration(const char *text, int64_t *seconds)
{
    size_t n = strlen(text);
    int64_t unit = n == 0 ? 0 : unit_of(text[n - 1]);

    *seconds = 0;
    if (unit == 0 || n < 2 || n > 12)
        return false;
    for (size_t i = 0; i + 1 < n; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        *seconds = *seconds * 10 + (text[i] - '0');
    }
    *seconds *= unit;
    return true;
}

int dx_access_expiry(const char *text, int64_t now_s, int64_t *expires_s, struct dx_error *err)
{
    int64_t v = 0;

    if (duration(text, &v))
        *expires_s = now_s + v;
    else if (dx_civil_parse(dx_span_str(text), &v))
        *expires_s = v / SECOND_US;
    else
        return dx_fail(err, DX_E_INVALID,
                       "--expires: '%.60s' is no time: 90d, 12h, 30m, 2027-01-31 or "
                       "2027-01-31T12:00:00Z",
                       text);
    if (*expires_s <= now_s || *expires_s > LAST_S)
        return dx_fail(err, DX_E_INVALID, "--expires: '%.60s' is over already, or too far away",
                       text);
    return DX_OK;
}
