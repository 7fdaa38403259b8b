/* SPDX-License-Identifier: Apache-2.0
 * If-None-Match against a tag: lists, weak tags, a star, and what only looks like it.
 */
#include "server/http/reply.h"

#include "tests/support/fail.h"

static unsigned failures;

static const struct {
    const char *field;
    bool matches; /* "abc" */
} rows[] = {
    { "\"abc\"", true },
    { "W/\"abc\"", true },
    { "*", true },
    { "\"x\", \"abc\"", true },
    { "\"x\" ,W/\"abc\",", true },
    { "\"x\",*", true },
    { "", false },
    { "abc", false },
    { "\"abcd\"", false },
    { "w/\"abc\"", false },
    { "W\"abc\"", false },
    { "W/", false },
    { "W", false },
    { "WW/\"abc\"", false },
    { "a", false },
    { "**", false },
    { "\"a,bc\"", false },
};

int main(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        CHECK(dx_reply_etag_matches(dx_span_str(rows[i].field), "\"abc\"") == rows[i].matches, "%s",
              rows[i].field);
    return failures > 0;
}
