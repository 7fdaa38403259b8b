/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/policy/access_expiry.h"

#include "base/civil_time.h"
#include "base/command/options.h"

#include <string.h>

#define LAST_S INT64_C(253402300799) /* 9999-12-31T23:59:59Z */
#define SECOND_US 1000000

/* With a unit: a number alone could be a year. */
static bool is_duration(const char *text, uint64_t *seconds)
{
    size_t n = strlen(text);

    return n > 0 && (text[n - 1] < '0' || text[n - 1] > '9') && dx_seconds_parse(text, seconds);
}

int dx_access_expiry(const char *text, int64_t now_s, int64_t *expires_s, struct dx_error *err)
{
    uint64_t seconds = 0;
    int64_t v = 0;

    if (is_duration(text, &seconds))
        *expires_s = seconds > LAST_S ? LAST_S + 1 : now_s + (int64_t)seconds;
    else if (dx_civil_parse(dx_span_str(text), &v))
        *expires_s = v / SECOND_US;
    else
        return dx_fail(err, DX_E_INVALID,
                       "--expires: '%.60s' is not a time: 90d, 12h, 30m, 2027-01-31 or "
                       "2027-01-31T12:00:00Z",
                       text);
    if (*expires_s <= now_s || *expires_s > LAST_S)
        return dx_fail(err, DX_E_INVALID, "--expires: '%.60s' is over already, or too far away",
                       text);
    return DX_OK;
}
