/* SPDX-License-Identifier: Apache-2.0
 * test_cdx_scope.c - which hosts a CDX question may be about.
 */
#include "query/cdx/cdx_scope.h"

#include "tests/support/damage.h"

static unsigned failures;

static const struct {
    const char *wanted;
    const char *host;
    bool same, below; /* of the host alone, and with what is below it */
} rows[] = {
    { "example.com", "example.com", true, true },
    { "example.com", "example.com:8080", true, true },
    { "example.com", "www.example.com", true, true },
    { "example.com", "www2.example.com:8080", true, true },
    { "example.com", "a.example.com", false, true },
    { "example.com", "b.a.example.com", false, true },
    { "example.com", "www.a.example.com", false, true },
    { "example.com", "notexample.com", false, false },
    { "example.com", "aexample.com.example", false, false },
    { "example.com", "b.examplE.com", false, false },
    { "example.com", "a.example.org", false, false }, /* of one length, a dot where it must be */
    { "example.com", "com", false, false },
    { "example.com", "", false, false },
    { "a.example.com", "example.com", false, false },
    { "a.example.com", "b.example.com", false, false },
    { "a.example.com", "b.a.example.com", false, true },
};

int main(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct dx_cdx_scope s = { .below = false };
        struct dx_span host = dx_span_str(rows[i].host);

        dx_buf_init(&s.host, 256);
        dx_buf_str(&s.host, rows[i].wanted);
        EXPECT(dx_cdx_scope_may_have(&s, host) == rows[i].same, "%s of %s", rows[i].host,
               rows[i].wanted);
        s.below = true;
        EXPECT(dx_cdx_scope_may_have(&s, host) == rows[i].below, "%s below %s", rows[i].host,
               rows[i].wanted);
        dx_buf_release(&s.host);
    }
    return failures > 0;
}
