/* SPDX-License-Identifier: Apache-2.0
 * test_regex.c - what matches, what is refused, and that hostile expressions take little time.
 */
#include "query/view/regex.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "query/view/problem.h"
#include "tests/support/sample.h"

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
        struct dx_regex_work work = { .most = DX_REGEX_STEPS_ANSWER };
        struct dx_regex *r = NULL;
        int rc = dx_regex_new(&r, dx_span_str(rows[i].pattern), rows[i].flags, &work, &problem);
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
        struct dx_regex_work work = { .most = DX_REGEX_STEPS_ANSWER };
        struct dx_regex *r = NULL;
        int rc = dx_regex_new(&r, dx_span_str(patterns[i]), 0, &work, &problem);

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

static uint64_t cpu_ms(void)
{
    struct timespec at;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &at);
    return (uint64_t)at.tv_sec * 1000 + (uint64_t)at.tv_nsec / 1000000;
}

/* `times` of `piece`, and an end that no start of the matcher can look for. */
static void repeat(const char *piece, unsigned times, char out[DX_REGEX_MAX + 1])
{
    out[0] = '\0';
    for (unsigned i = 0; i < times; i++)
        (void)snprintf(out + strlen(out), DX_REGEX_MAX + 1 - strlen(out), "%s", piece);
    (void)snprintf(out + strlen(out), DX_REGEX_MAX + 1 - strlen(out), "[XY]");
}

/* Steps follow the matcher's work: a page's are spent in a second by whatever takes most. */
static void check_steps(void)
{
    static const struct {
        const char *piece;
        unsigned times;
    } dear[] = { { "[a-z]*[0-9]*", 30 },
                 { "\\p{L}*\\p{N}*", 30 },
                 { "[a-z]*", 40 },
                 { "(?:[a-z]*|[a-y]*)*", 8 },
                 { "[a-z]?", 40 },
                 { ".{1,9}", 6 },
                 { "(((((([a-z]*)*)*)*)*)*)*", 3 },
                 { "(a|b|c|[a-z])+", 8 } };
    static char text[8192];

    memset(text, 'a', sizeof text);
    for (size_t i = 0; i < sizeof dear / sizeof *dear; i++) {
        struct dx_regex_work work = { .most = DX_REGEX_STEPS_PAGE / dx_sample(1, 16) };
        struct dx_error err = DX_ERROR_INIT;
        struct dx_problem problem = { 0 };
        struct dx_regex *r = NULL;
        char pattern[DX_REGEX_MAX + 1];
        uint64_t began_ms = cpu_ms();
        int rc;

        repeat(dear[i].piece, dear[i].times, pattern);
        rc = dx_regex_new(&r, dx_span_str(pattern), 0, &work, &problem);
        for (unsigned k = 0; rc == 1 && k < 1000; k++)
            rc = 1 + dx_regex_matches(r, dx_span_of(text, sizeof text), &err);
        (void)printf("%s %u times: %llu steps, %llu ms; %s%s\n", dear[i].piece, dear[i].times,
                     (unsigned long long)work.steps, (unsigned long long)(cpu_ms() - began_ms),
                     err.text, problem.detail);
        if (rc > 0 || work.steps > work.most + 1 || cpu_ms() - began_ms > 10000) {
            (void)printf("that is not bounded\n");
            failures++;
        }
        dx_regex_free(&r);
    }
}

/* A text of any length that a URL has, where nothing says where a match may begin. */
static void check_long_text(void)
{
    static char text[8192];
    struct dx_regex_work work = { .most = DX_REGEX_STEPS_ANSWER };
    struct dx_error err = DX_ERROR_INIT;
    struct dx_problem problem = { 0 };
    struct dx_regex *r = NULL;

    memset(text, 'a', sizeof text);
    if (dx_regex_new(&r, dx_span_str("[a-z][0-9]$"), 0, &work, &problem) != 1 ||
        dx_regex_matches(r, dx_span_of(text, sizeof text), &err) != 0) {
        (void)printf("a long text: %s%s\n", problem.detail, err.text);
        failures++;
    }
    dx_regex_free(&r);
}

/* One answer's expressions share their steps. */
static void check_shared(void)
{
    struct dx_regex_work work = { .most = 100 };
    struct dx_error err = DX_ERROR_INIT;
    struct dx_problem problem = { 0 };
    struct dx_regex *a = NULL;
    struct dx_regex *b = NULL;
    struct dx_span text = dx_span_str("abcdefghij");

    if (dx_regex_new(&a, dx_span_str("[a-z]*1|2"), 0, &work, &problem) != 1 ||
        dx_regex_new(&b, dx_span_str("[a-i]+[XY]"), 0, &work, &problem) != 1 ||
        dx_regex_matches(a, text, &err) != 0 || work.steps < 10) {
        (void)printf("steps: %llu\n", (unsigned long long)work.steps);
        failures++;
    } else {
        work.steps = work.most;
        if (dx_regex_matches(b, text, &err) != DX_E_LIMIT ||
            strstr(err.text, "100 steps") == NULL) {
            (void)printf("the second has steps of its own: %s\n", err.text);
            failures++;
        }
    }
    dx_regex_free(&a);
    dx_regex_free(&b);
}

static void check_long(void)
{
    struct dx_problem problem = { 0 };
    struct dx_regex_work work = { .most = DX_REGEX_STEPS_ANSWER };
    struct dx_regex *r = NULL;
    char pattern[DX_REGEX_MAX + 2];

    memset(pattern, 'a', sizeof pattern);
    if (dx_regex_new(&r, dx_span_of(pattern, DX_REGEX_MAX + 1), 0, &work, &problem) != 0 ||
        dx_regex_new(&r, dx_span_of(pattern, DX_REGEX_MAX), 0, &work, &problem) != 1) {
        (void)printf("the bound of a pattern\n");
        failures++;
    }
    dx_regex_free(&r);
}

int main(void)
{
    check_rows();
    check_hostile();
    check_steps();
    check_shared();
    check_long_text();
    check_long();
    return failures != 0;
}
