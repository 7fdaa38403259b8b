/* SPDX-License-Identifier: Apache-2.0
 * Times at every precision: where the stretch that one names begins and ends; texts that name none.
 */
#include "query/rows/time_words.h"

#include "base/civil_time.h"
#include "tests/support/damage.h"

static unsigned failures;

static const struct {
    const char *text, *first, *end; /* NULL: none */
} rows[] = {
    { "2019", "2019-01-01", "2020-01-01" },
    { "2019-07", "2019-07-01", "2019-08-01" },
    { "2019-12", "2019-12-01", "2020-01-01" },
    { "2020-02-29", "2020-02-29", "2020-03-01" },
    { "2019-12-31", "2019-12-31", "2020-01-01" },
    { "2019-07-04T10", "2019-07-04T10:00:00Z", "2019-07-04T11:00:00Z" },
    { "2019-07-04T10Z", "2019-07-04T10:00:00Z", "2019-07-04T11:00:00Z" },
    { "2019-07-04T23:59", "2019-07-04T23:59:00Z", "2019-07-05" },
    { "2019-07-04 10:20:30", "2019-07-04T10:20:30Z", "2019-07-04T10:20:31Z" },
    { "2019-07-04T10:20:30Z", "2019-07-04T10:20:30Z", "2019-07-04T10:20:31Z" },
    { "2019-07-04T10:20:30.5Z", "2019-07-04T10:20:30.5Z", "2019-07-04T10:20:30.6Z" },
    { "2019-07-04T10:20:30.999999", "2019-07-04T10:20:30.999999Z", "2019-07-04T10:20:31Z" },
    { "201907", "2019-07-01", "2019-08-01" },
    { "20190704", "2019-07-04", "2019-07-05" },
    { "2019070410", "2019-07-04T10:00:00Z", "2019-07-04T11:00:00Z" },
    { "201907041020", "2019-07-04T10:20:00Z", "2019-07-04T10:21:00Z" },
    { "20190704102030", "2019-07-04T10:20:30Z", "2019-07-04T10:20:31Z" },
    { "0000", "0000-01-01", "0001-01-01" },
    { "", NULL, NULL },
    { "201", NULL, NULL },
    { "20191", NULL, NULL },
    { "2019-", NULL, NULL },
    { "2019-7", NULL, NULL },
    { "2019-00", NULL, NULL },
    { "2019-13", NULL, NULL },
    { "2019-02-29", NULL, NULL },
    { "2019-0704", NULL, NULL },
    { "201907-04", NULL, NULL },
    { "2019-07Z", NULL, NULL },
    { "2019Z", NULL, NULL },
    { "20190704102030Z", NULL, NULL },
    { "2019-07-04T", NULL, NULL },
    { "2019-07-04T24", NULL, NULL },
    { "2019-07-04T10:60", NULL, NULL },
    { "2019-07-04T10:20:60", NULL, NULL },
    { "2019-07-04T10:20:30.", NULL, NULL },
    { "2019-07-04T10:20:30.1234567", NULL, NULL },
    { "2019-07-04T10:20:30+01:00", NULL, NULL },
    { "2019070410203", NULL, NULL },
    { "201907041020301", NULL, NULL },
    { " 2019", NULL, NULL },
    { "2019 ", NULL, NULL },
};

int main(void)
{
    int64_t first, end, want_first, want_end;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bool ok = dx_time_words(dx_span_str(rows[i].text), &first, &end);

        EXPECT(ok == (rows[i].first != NULL), "'%s'", rows[i].text);
        if (!ok || rows[i].first == NULL)
            continue;
        EXPECT(dx_civil_parse(dx_span_str(rows[i].first), &want_first) &&
                   dx_civil_parse(dx_span_str(rows[i].end), &want_end),
               "row %zu", i);
        EXPECT(first == want_first && end == want_end, "'%s': %lld to %lld", rows[i].text,
               (long long)first, (long long)end);
    }
    for (const char *const *text =
             (const char *const[]){ "9999", "9999-12", "9999-12-31", "99991231235959", NULL };
         *text != NULL; text++)
        EXPECT(dx_time_words(dx_span_str(*text), &first, &end) && end == DX_CIVIL_LAST_US + 1, "%s",
               *text);
    return failures > 0;
}
