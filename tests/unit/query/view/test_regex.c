/* SPDX-License-Identifier: Apache-2.0
 * test_regex.c - what matches, what is refused, and that hostile expressions take little time.
 */
#include "query/view/regex.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "query/view/problem.h"

static int failures;

#define WHOLE (DX_REGEX_BEGIN | DX_REGEX_END)

/* want: 1, 0; 2: the expression is refused. */
static const struct {
    const char *pattern;
    unsigned flags;
    const char *text;
    int want;
} rows[] = {
    { "2..", WHOLE, "200", 1 },
    { "2", WHOLE, "200", 0 },
    { "2", DX_REGEX_BEGIN, "200", 1 },
    { "2", DX_REGEX_BEGIN, "120", 0 },
    { "2", 0, "120", 1 },
    { "a|ab", WHOLE, "ab", 1 },
    { "ab|a", WHOLE, "a", 1 },
    { "TEXT/.*", WHOLE | DX_REGEX_CASELESS, "text/html", 1 },
    { "TEXT/.*", WHOLE, "text/html", 0 },
    { "(?:a|b)+c?", WHOLE, "abab", 1 },
    { "(a|b){2,3}", WHOLE, "aba", 1 },
    { "(a|b){2,3}", WHOLE, "abab", 0 },
    { "[^]a]*", WHOLE, "bcd", 1 },
    { "[(?=]+", WHOLE, "(?=", 1 },
    { "\\(\\?=", 0, "x(?=", 1 },
    { "", WHOLE, "", 1 },
    { "", WHOLE, "a", 0 },
    { "\\d+$", 0, "a12", 1 },
    { "(?i)ABC", WHOLE, "abc", 1 },
    { "caf.", WHOLE, "caf\303\251", 0 }, /* bytes */
    { "caf..", WHOLE, "caf\303\251", 1 },
    { "(ab)++c", WHOLE, "ababc", 1 },
    { "(a)\\1", WHOLE, "aa", 2 },
    { "(?=a)a", WHOLE, "a", 2 },
    { "(?<!a)b", 0, "b", 2 },
    { "(?R)", 0, "b", 2 },
    { "(?>a+)b", 0, "ab", 2 },
    { "(*MARK:a)b", 0, "ab", 2 },
    { "(?(R)a|b)", 0, "ab", 2 },
    { "(?C1)a", 0, "a", 2 },
    { "(", 0, "a", 2 },
    { "[a", 0, "a", 2 },
    { "*", 0, "a", 2 },
    { "((((((((((((((((((((((a))))))))))))))))))))))", 0, "a", 2 },
    { "(?x)a", 0, "a", 2 },
    { "a)|(b", WHOLE, "a", 2 },
    { "a|b", DX_REGEX_END, "ac", 0 },
    { "a|c", DX_REGEX_END, "ac", 1 },
    { "a+|c", DX_REGEX_END, "aca", 1 },
};

static void check_rows(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct dx_error err = DX_ERROR_INIT;
        struct dx_problem problem = { 0 };
        struct dx_regex *r = NULL;
        int rc = dx_regex_new(&r, dx_span_str(rows[i].pattern), rows[i].flags, &problem);
        int got = rc == 0 ? 2 : rc < 0 ? rc : dx_regex_matches(r, dx_span_str(rows[i].text), &err);

        if (got != rows[i].want) {
            (void)printf("/%s/ on '%s': %d, not %d; %s%s\n", rows[i].pattern, rows[i].text, got,
                         rows[i].want, problem.detail, err.text);
            failures++;
        }
        dx_regex_free(&r);
    }
}

/* Each would take a backtracking matcher longer than the universe is old. */
static void check_hostile(void)
{
    static const char *const patterns[] = { "(a+)+b",       "(a|a)*b",
                                            "(a*)*b",       "(a|aa)+$b",
                                            "(.*a){20}b",   "(a?){30}a{30}b",
                                            "(x+x+)+y|a*b", "^(([a-z])+.)+[A-Z]([a-z])+$" };
    static char text[8192];
    uint64_t began_ms = dx_clock_ms();

    memset(text, 'a', sizeof text);
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        struct dx_error err = DX_ERROR_INIT;
        struct dx_problem problem = { 0 };
        struct dx_regex *r = NULL;
        int rc = dx_regex_new(&r, dx_span_str(patterns[i]), 0, &problem);

        if (rc == 1)
            rc = dx_regex_matches(r, dx_span_of(text, sizeof text), &err);
        if (rc != 0 && rc != DX_E_LIMIT) {
            (void)printf("/%s/ matches: %d\n", patterns[i], rc);
            failures++;
        }
        dx_regex_free(&r);
    }
    if (dx_clock_ms() - began_ms > 20000) {
        (void)printf("hostile expressions took %llu ms\n",
                     (unsigned long long)(dx_clock_ms() - began_ms));
        failures++;
    }
}

static void check_long(void)
{
    struct dx_problem problem = { 0 };
    struct dx_regex *r = NULL;
    char pattern[DX_REGEX_MAX + 2];

    memset(pattern, 'a', sizeof pattern);
    if (dx_regex_new(&r, dx_span_of(pattern, DX_REGEX_MAX + 1), 0, &problem) != 0 ||
        dx_regex_new(&r, dx_span_of(pattern, DX_REGEX_MAX), 0, &problem) != 1) {
        (void)printf("the bound of a pattern\n");
        failures++;
    }
    dx_regex_free(&r);
}

int main(void)
{
    check_rows();
    check_hostile();
    check_long();
    return failures != 0;
}
