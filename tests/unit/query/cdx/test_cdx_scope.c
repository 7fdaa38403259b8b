/* SPDX-License-Identifier: Apache-2.0
 * test_cdx_scope.c - which hosts a CDX question may be about.
 */
#include "query/cdx/cdx_scope.h"

#include <stdlib.h>

#include "canon/psl.h"
#include "canon/url.h"
#include "query/view/problem.h"
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

/* Questions: what is refused and why, and the keys that are searched. */
static const struct {
    const char *url;
    enum dx_cdx_match match;
    const char *start, *end; /* NULL: refused, with the words in `end` */
} questions[] = {
    { "https://www.example.com/a?b", DX_CDX_EXACT, "com,example)/a?b", "com,example)/a?b!" },
    { "example.com/a/", DX_CDX_PREFIX, "com,example)/a/", "com,example)/a0" },
    { "example.com/a?", DX_CDX_PREFIX, "com,example)/a?", "com,example)/a@" },
    { "example.com/", DX_CDX_PREFIX, "com,example)/", "com,example)0" },
    { "a.example.com/b", DX_CDX_HOST, "com,example,a)/", "com,example,a*" },
    { "a.example.com/b", DX_CDX_DOMAIN, "com,example,a)/", "com,example,a-" },
    { "com", DX_CDX_DOMAIN, "com)/", "com-" },
    { "com", DX_CDX_EXACT, NULL, "with '*.' before it" },
    { "*.ck", DX_CDX_EXACT, NULL, "its '*' is a character" },
    { "c", DX_CDX_EXACT, NULL, "is a public suffix, or a name without one" },
    { "http://", DX_CDX_EXACT, NULL, "is not a URL" },
    { "http://", DX_CDX_DOMAIN, NULL, "is not a URL" },
};

static void check_questions(void)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_canon *canon = NULL;
    struct dx_psl *psl = NULL;

    if (dx_psl_new(&psl, dx_span_str("com\n*.ck\n"), &err) < 0 ||
        dx_canon_new(&canon, psl, &err) < 0)
        abort();
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
        const struct dx_cdx_ask ask = { .url = dx_span_str(questions[i].url),
                                        .shown = dx_span_str(questions[i].url),
                                        .match = questions[i].match };
        struct dx_problem problem = { .kind = DX_PROBLEM_GONE };
        struct dx_cdx_scope s;
        struct dx_cdx_keys keys;
        int rc = dx_cdx_scope_init(&s, canon, &ask, &problem);

        EXPECT(rc == (questions[i].start != NULL), "%s: %d %s", questions[i].url, rc,
               problem.detail);
        if (rc != 1) {
            EXPECT(problem.kind == DX_PROBLEM_BAD_REQUEST &&
                       strstr(problem.detail, questions[i].end) != NULL,
                   "%s: %s", questions[i].url, problem.detail);
        } else {
            keys = dx_cdx_scope_keys(&s);
            EXPECT(dx_cdx_keys_has(&keys, dx_span_str(questions[i].start)), "%s", questions[i].url);
            EXPECT(dx_span_equal(keys.low, dx_span_str(questions[i].start)) &&
                       dx_span_equal(keys.high, dx_span_str(questions[i].end)),
                   "%s: '%.*s' to '%.*s'", questions[i].url, (int)keys.low.size,
                   (const char *)keys.low.data, (int)keys.high.size, (const char *)keys.high.data);
        }
        dx_cdx_scope_release(&s);
    }
    dx_canon_free(&canon);
    dx_psl_free(&psl);
}

/* Of a long address its beginning is shown. */
static void check_long(void)
{
    static char text[400];
    struct dx_problem problem;
    struct dx_cdx_scope s;
    struct dx_cdx_ask ask = { .match = DX_CDX_EXACT };
    struct dx_error err = DX_ERROR_INIT;
    struct dx_canon *canon = NULL;
    struct dx_psl *psl = NULL;

    memset(text, 'x', sizeof text - 1);
    ask.url = ask.shown = dx_span_str(text);
    if (dx_psl_new(&psl, dx_span_str("com\n*.ck\n"), &err) < 0 ||
        dx_canon_new(&canon, psl, &err) < 0)
        abort();
    EXPECT(dx_cdx_scope_init(&s, canon, &ask, &problem) == 0 && strlen(problem.detail) < 400 &&
               strstr(problem.detail, "xxx' is ") != NULL,
           "%s", problem.detail);
    dx_cdx_scope_release(&s);
    dx_canon_free(&canon);
    dx_psl_free(&psl);
}

int main(void)
{
    check_questions();
    check_long();
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
