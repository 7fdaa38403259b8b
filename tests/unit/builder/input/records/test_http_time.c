/* SPDX-License-Identifier: Apache-2.0
 * test_http_time.c - times of HTTP, mail and asctime: by table, and as the C library writes them over 9,000 years.
 */
#include "builder/input/records/http_time.h"
#include "builder/input/records/input_time.h"
#include "tests/support/damage.h"

#include <time.h>

static unsigned failures;

#define NO INT64_MIN
#define AT_10 INT64_C(1795946400) /* 2026-11-29T10:00:00Z */

static const struct {
    const char *text;
    int64_t seconds;
} rows[] = {
    { "Sun, 29 Nov 2026 10:00:00 GMT", AT_10 },
    { "Tue, 29 Nov 2026 10:00:00 GMT", AT_10 }, /* it was a Sunday */
    { "29 Nov 2026 10:00:00 GMT", AT_10 },
    { "29 Nov 2026 10:00 UT", AT_10 },
    { "Sun, 29 Nov 2026 10:00:00 UTC", AT_10 },
    { "Sun, 29 Nov 2026 10:00:00 Z", AT_10 },
    { "Sun, 29 Nov 2026 12:30:00 +0230", AT_10 },
    { "Sun, 29 Nov 2026 02:00:00 -0800", AT_10 },
    { "Sun, 29 Nov 2026 10:00:00 -0000", AT_10 },
    { "Sun Nov 29 10:00:00 2026", AT_10 },
    { "Sun Nov 29 10:00:00 UTC 2026", AT_10 },
    { "Sun Nov 29 10:00:00 GMT 2026", AT_10 },
    { "Sun Nov 29 10:00:00 +0000 2026", AT_10 },
    { "Sun Nov 29 11:00:00 +0100 2026", AT_10 },
    { "Sun, 06 Nov 1994 08:49:37 GMT", 784111777 },
    { "Sun, 6 Nov 1994 08:49:37 GMT", 784111777 },
    { "Sun Nov  6 08:49:37 1994", 784111777 },
    { "Sun Nov 6 08:49:37 1994", 784111777 },
    { "Thu, 29 Feb 2024 23:59:59 GMT", 1709251199 },
    { "Mon, 01 Jan 0001 00:00:00 GMT", INT64_C(-62135596800) },
    { "Fri, 31 Dec 9999 23:59:59 GMT", INT64_C(253402300799) },
    { "Fri, 31 Dec 9999 23:59:59 -0100", NO },
    { "Sunday, 06-Nov-94 08:49:37 GMT", NO }, /* which century? */
    { "Sun, 06 Nov 94 08:49:37 GMT", NO },
    { "Sun, 29 Nov 2026 10:00:00 EST", NO },
    { "Sun, 29 Nov 2026 10:00:00 A", NO },
    { "Sun, 29 Nov 2026 10:00:00", NO },
    { "Sun, 29 Nov 2026 10:00:00 +01:00", NO },
    { "Sun, 29 Nov 2026 10:00:00 +2400", NO },
    { "Sun, 29 Nov 2026 10:00:00 0000", NO },
    { "Sun, 29 Nov 2026 10:00:00 GMT x", NO },
    { "Sun, 29 Nov 2026 10:00:00 GMT x y", NO },
    { "Sun 29 Nov 2026 10:00:00 GMT", NO },
    { "Xyz, 29 Nov 2026 10:00:00 GMT", NO },
    { "sun, 29 nov 2026 10:00:00 gmt", NO },
    { "Sun, 29 Now 2026 10:00:00 GMT", NO },
    { "Sun, 29 November 2026 10:00:00 GMT", NO },
    { "Sun, 31 Nov 2026 10:00:00 GMT", NO },
    { "Wed, 29 Feb 2023 10:00:00 GMT", NO },
    { "Sun, 00 Nov 2026 10:00:00 GMT", NO },
    { "Sun, 0 Nov 2026 10:00:00 GMT", NO },
    { "Sun, 029 Nov 2026 10:00:00 GMT", NO },
    { "Sun, x Nov 2026 10:00:00 GMT", NO },
    { "Sun, 29 Nov 02026 10:00:00 GMT", NO },
    { "Sun, 29 Nov 2026 24:00:00 GMT", NO },
    { "Sun, 29 Nov 2026 10:00:60 GMT", NO },
    { "Sun, 29 Nov 2026 10:60:00 GMT", NO },
    { "Sun, 29 Nov 2026 10:00.25 GMT", NO },
    { "Sun, 29 Nov 2026 10:00+01 GMT", NO },
    { "Sun, 29 Nov 2026 1:00:00 GMT", NO },
    { "Sun, 29 Nov 2026 10.00.00 GMT", NO },
    { "Sun, 29 Nov 2026 10.00 GMT", NO },
    { "Sun, 29 Nov 2026 10.00:00 GMT", NO },
    { "Sun Nov 29 10:00:00 GMT 2026 GMT", NO },
    { "Nov 29 10:00:00 2026", NO },
    { "Sun, Nov 29 10:00:00 2026", NO },
    { "Sun Nov 29 10:00:00 EST 2026", NO },
    { "Sun Nov 29 10:00:00 26", NO },
    { "Sun Nov 29 2026 10:00:00", NO },
    { "Sun Nov 29 2026", NO },
    { "       ", NO },
    { "", NO },
};

static void check_table(void)
{
    static const enum dx_ts_unit units[] = { DX_TS_AUTO, DX_TS_SECONDS, DX_TS_MILLIS, DX_TS_MICROS,
                                             DX_TS_ARCHIVE };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct dx_span text = dx_span_str(rows[i].text);
        bool want = rows[i].seconds != NO;
        int64_t us = 0;

        EXPECT(dx_http_time(text, &us) == want, "'%s'", rows[i].text);
        EXPECT(!want || us == rows[i].seconds * 1000000, "'%s': %lld", rows[i].text, (long long)us);
        for (size_t k = 0; k < sizeof units / sizeof units[0]; k++)
            EXPECT(dx_input_time(text, units[k], &us) == want &&
                       (!want || us == rows[i].seconds * 1000000),
                   "'%s', unit %d", rows[i].text, (int)units[k]);
    }
}

static void check_written(const char *text, int64_t seconds)
{
    int64_t us = 0;

    EXPECT(dx_http_time(dx_span_str(text), &us) && us == seconds * 1000000, "'%s': %lld", text,
           (long long)us);
}

/* Each 1,000th hour and some seconds from the year 1000 to 9999. */
static void check_years(void)
{
    for (int64_t s = INT64_C(-30610224000); s < INT64_C(253402300800); s += 3600 * 1000 + 61) {
        time_t t = (time_t)s;
        char text[64];
        struct tm tm;

        (void)gmtime_r(&t, &tm);
        (void)strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &tm);
        check_written(text, s);
        (void)strftime(text, sizeof text, "%e %b %Y %H:%M:%S +0000", &tm);
        check_written(text, s);
        (void)strftime(text, sizeof text, "%a %b %e %H:%M:%S %Y", &tm);
        check_written(text, s);
        (void)strftime(text, sizeof text, "%a %b %d %H:%M:%S UTC %Y", &tm);
        check_written(text, s);
    }
}

int main(void)
{
    check_table();
    check_years();
    return failures > 0;
}
