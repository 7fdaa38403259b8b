/* SPDX-License-Identifier: Apache-2.0
 * Times out and in: against the C library's gmtime over the years, by table at the edges.
 */
#include "base/civil_time.h"
#include "tests/support/damage.h"

#include <time.h>

static unsigned failures;

static const struct {
    const char *text;
    bool ok;
    int64_t us;
    const char *back; /* NULL: the same text */
} rows[] = {
    { "1970-01-01T00:00:00Z", true, 0, NULL },
    { "1969-12-31T23:59:59Z", true, -1000000, NULL },
    { "1969-12-31T23:59:59.999999Z", true, -1, NULL },
    { "2024-02-29T23:59:59.5Z", true, 1709251199500000, "2024-02-29T23:59:59.500Z" },
    { "2024-06-14T08:15:30.123456789Z", true, 1718352930123456, "2024-06-14T08:15:30.123456Z" },
    { "2024-06-14", true, 1718323200000000, "2024-06-14T00:00:00Z" },
    { "2024-06-14 10:15", true, 1718360100000000, "2024-06-14T10:15:00Z" },
    { "2024-06-14T10:15:30+02:00", true, 1718352930000000, "2024-06-14T08:15:30Z" },
    { "2024-06-14T10:15:30-0130", true, 1718365530000000, "2024-06-14T11:45:30Z" },
    { "0000-01-01T00:00:00Z", true, -62167219200000000, NULL },
    { "9999-12-31T23:59:59Z", true, 253402300799000000, NULL },
    { "9999-12-31T23:59:59.999999+00:01", true, 253402300739999999, "9999-12-31T23:58:59.999999Z" },
    { "9999-12-31 23:59:59-05:00", false, 0, NULL }, /* the year 10000 in UTC */
    { "0000-01-01T00:00:00+00:01", false, 0, NULL },
    { "2023-02-29", false, 0, NULL },
    { "1900-02-29", false, 0, NULL },
    { "2024-13-01", false, 0, NULL },
    { "2024-00-01", false, 0, NULL },
    { "2024-01-32", false, 0, NULL },
    { "2024-06-14T24:00:00Z", false, 0, NULL },
    { "2024-06-14T23:59:60Z", false, 0, NULL },
    { "2024-06-14T10:15.5Z", false, 0, NULL }, /* half a minute in ISO 8601 */
    { "2024-06-14T10:15:30.Z", false, 0, NULL },
    { "2024-06-14T10:15:30.1234567890Z", false, 0, NULL },
    { "2024-06-14T10:15:30Zx", false, 0, NULL },
    { "2024-06-14T10:15:30+25:00", false, 0, NULL },
    { "2024-6-14", false, 0, NULL },
    { "+024-06-14", false, 0, NULL },
    { "", false, 0, NULL },
};

static void check_table(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[DX_CIVIL_TEXT];
        int64_t us = 0;
        bool ok = dx_civil_parse(dx_span_str(rows[i].text), &us);

        EXPECT(ok == rows[i].ok, "'%s'", rows[i].text);
        if (!ok || !rows[i].ok)
            continue;
        EXPECT(us == rows[i].us, "'%s': %lld", rows[i].text, (long long)us);
        (void)dx_civil_text_us(us, text);
        EXPECT(strcmp(text, rows[i].back == NULL ? rows[i].text : rows[i].back) == 0, "'%s': '%s'",
               rows[i].text, text);
    }
}

/* Each day of two centuries that have a way of their own, and of those beside them, and each second of a day. */
static void check_centuries(void)
{
    for (int64_t i = -30000; i < 50000 + 86400; i++) {
        int64_t seconds = i < 50000 ? i * 86400 + (i * 7919 % 86400 + 86400) % 86400
                                    : INT64_C(1718323200) + i - 50000;
        time_t t = (time_t)seconds;
        struct tm tm;
        char want[64];
        char text[DX_CIVIL_TEXT];
        size_t n = dx_civil_text_us(seconds * 1000000, text);

        (void)gmtime_r(&t, &tm);
        (void)snprintf(want, sizeof want, "%04d-%02d-%02dT%02d:%02d:%02dZ", tm.tm_year + 1900,
                       tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
        EXPECT(n == strlen(want) && strcmp(text, want) == 0, "%lld: '%s', want '%s'",
               (long long)seconds, text, want);
    }
}

/* Some hundred thousand instants over ten thousand years against gmtime_r. */
static void check_gmtime(void)
{
    uint64_t seed = 7;

    for (int i = 0; i < 300000; i++) {
        int64_t seconds = (int64_t)(random_below(&seed, 315569433600)) - 62167219200;
        time_t t = (time_t)seconds;
        struct tm tm;
        char want[64];
        char text[DX_CIVIL_TEXT];
        int64_t back;

        (void)gmtime_r(&t, &tm);
        (void)snprintf(want, sizeof want, "%04d-%02d-%02dT%02d:%02d:%02dZ", tm.tm_year + 1900,
                       tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
        (void)dx_civil_text_us(seconds * 1000000, text);
        EXPECT(strcmp(text, want) == 0, "%lld: '%s', gmtime says '%s'", (long long)seconds, text,
               want);
        EXPECT(dx_civil_parse(dx_span_str(text), &back) && back == seconds * 1000000, "'%s'", text);
        if (failures > 10)
            return;
    }
}

/* Every third day of the years with four digits, which are formatted by other arithmetic than the
 * one that reads them: in order, and none twice. */
static void check_days(void)
{
    char before[DX_CIVIL_TEXT] = "";

    for (int64_t day = -719528; day <= 2932896 && failures < 10; day += 3) {
        char text[DX_CIVIL_TEXT];
        int64_t us;

        (void)dx_civil_text_us(day * 86400000000, text);
        EXPECT(dx_civil_parse(dx_span_str(text), &us) && us == day * 86400000000 &&
                   strcmp(before, text) < 0,
               "day %lld: '%s' behind '%s'", (long long)day, text, before);
        memcpy(before, text, sizeof before);
    }
}

/* The ends of what 64 bits can say come out as some text, within its storage. */
static void check_extremes(void)
{
    char text[DX_CIVIL_TEXT];

    EXPECT(dx_civil_text_us(INT64_MAX, text) < DX_CIVIL_TEXT && strlen(text) < DX_CIVIL_TEXT,
           "max");
    EXPECT(strcmp(text, "294247-01-10T04:00:54.775807Z") == 0, "%s", text);
    EXPECT(dx_civil_text_us(INT64_MIN, text) < DX_CIVIL_TEXT && strlen(text) < DX_CIVIL_TEXT,
           "min");
    EXPECT(strcmp(text, "-290308-12-21T19:59:05.224192Z") == 0, "%s", text);
}

int main(void)
{
    check_table();
    check_centuries();
    check_gmtime();
    check_days();
    check_extremes();
    return failures > 0;
}
