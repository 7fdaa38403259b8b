/* SPDX-License-Identifier: Apache-2.0
 * Requests in numbers: random ones of three loops beside plain sums; histograms at their bounds;
 * how many series there can be.
 */
#include "server/observe/record_names.h"
#include "server/observe/request_counts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/fail.h"

#define LOOPS 3

static unsigned failures;
static struct dx_request_counts loops[LOOPS];
static const struct dx_request_counts *const all[LOOPS] = { &loops[0], &loops[1], &loops[2] };
static struct dx_buf text = DX_BUF_INIT(8 << 20);

static void write_all(void)
{
    dx_buf_clear(&text);
    dx_request_counts_write(all, LOOPS, &text);
    dx_buf_u8(&text, '\0');
    CHECK(!text.failed, "too long");
}

/* Of one sample line; -1: there is none. */
static double value_of(const char *sample)
{
    const char *at = (const char *)text.data;
    size_t size = strlen(sample);

    while ((at = strstr(at, sample)) != NULL) {
        if ((at == (const char *)text.data || at[-1] == '\n') && at[size] == ' ')
            return atof(at + size);
        at += size;
    }
    return -1;
}

static size_t series(void)
{
    size_t n = 0;

    for (const char *line = (const char *)text.data; *line != '\0'; line = strchr(line, '\n') + 1)
        n += *line != '#';
    return n;
}

static void is(const char *sample, double want)
{
    CHECK(value_of(sample) == want, "%s: %g, expected %g", sample, value_of(sample), want);
}

static void test_bounds(void)
{
    static const struct {
        int64_t us;
        const char *bucket;
        double upto;
    } rows[] = {
        { -5, "0.0001", 1 },     { 100, "0.0001", 2 },         { 101, "0.00025", 3 },
        { 1000, "0.001", 4 },    { 2500, "0.0025", 5 },        { 10000000, "10.0", 6 },
        { 10000001, "+Inf", 7 }, { INT64_MAX / 4, "+Inf", 8 },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct dx_request_record r = { .route = DX_ROUTE_URLS,
                                       .status = 200,
                                       .stage_us = { 1000000, 0, rows[i].us, 0, 1000000 } };
        char sample[128];

        dx_request_counts_end(&loops[i % LOOPS], &r);
        write_all();
        (void)snprintf(sample, sizeof sample,
                       "domaindex_http_request_duration_seconds_bucket{route=\"urls\",le=\"%s\"}",
                       rows[i].bucket);
        is(sample, rows[i].upto);
        is("domaindex_http_request_duration_seconds_count{route=\"urls\"}", (double)i + 1);
    }
}

/* Alerts look for the first one of these by increase(), which has to have seen the 0 before. */
static void test_there_from_the_start(void)
{
    struct dx_request_record r = { .status = 500, .refusal = "data-damaged" };

    memset(loops, 0, sizeof loops);
    write_all();
    is("domaindex_http_problems_total{slug=\"data-damaged\"}", 0);
    is("domaindex_http_problems_total{slug=\"data-missing\"}", 0);
    is("domaindex_http_problems_total{slug=\"data-replaced\"}", 0);
    dx_request_counts_end(&loops[1], &r);
    dx_request_counts_end(&loops[2], &r);
    write_all();
    is("domaindex_http_problems_total{slug=\"data-damaged\"}", 2);
    CHECK(strstr(strstr((const char *)text.data, "slug=\"data-damaged\"") + 1,
                 "slug=\"data-damaged\"") == NULL,
          "it is written twice");
}

static void test_sums(void)
{
    static const int statuses[] = { 200, 304, 404, 429, 503, 0, 299 };
    static const char *const slugs[] = { "domain-not-found", "overloaded", "rate-limited" };
    static char copies[3][32];
    enum { COUNT = 30000 };
    uint64_t by[DX_COUNTED_ROUTES][4][sizeof statuses / sizeof statuses[0]] = { { { 0 } } };
    uint64_t by_slug[3] = { 0 };
    uint64_t sent[DX_COUNTED_ROUTES] = { 0 };
    char sample[200];

    memset(loops, 0, sizeof loops);
    srand(1);
    for (size_t i = 0; i < 3; i++)
        (void)snprintf(copies[i], sizeof copies[i], "%s", slugs[i]);
    for (unsigned i = 0; i < COUNT; i++) {
        struct dx_request_counts *c = &loops[rand() % LOOPS];
        size_t slug = (size_t)rand() % 3;
        size_t status = (size_t)rand() % (sizeof statuses / sizeof statuses[0]);
        struct dx_request_record r = {
            .route = (enum dx_route_id)(rand() % DX_COUNTED_ROUTES),
            .method = (enum dx_method)(rand() % 4),
            .status = statuses[status],
            .sent_bytes = (uint64_t)(rand() % 5000),
        };

        dx_request_counts_begin(c);
        if (i % 10 == 9)
            continue; /* under way */
        /* the same word may lie at another place, as two files of a program have it */
        r.refusal = i % 2 == 0 ? slugs[slug] : copies[slug];
        dx_request_counts_end(c, &r);
        by[r.route][r.method][status]++;
        by_slug[slug]++;
        sent[r.route] += r.sent_bytes;
    }
    write_all();
    for (size_t route = 0; route < DX_COUNTED_ROUTES; route++) {
        for (size_t method = 0; method < 4; method++)
            for (size_t k = 0; k < sizeof statuses / sizeof statuses[0]; k++) {
                (void)snprintf(
                    sample, sizeof sample,
                    "domaindex_http_requests_total{route=\"%s\",method=\"%s\",code=\"%d\"}",
                    dx_route_name((enum dx_route_id)route), dx_method_name((enum dx_method)method),
                    statuses[k] == 299 ? -1 : statuses[k]);
                is(sample, (double)by[route][method][k]);
            }
        (void)snprintf(sample, sizeof sample, "domaindex_http_response_bytes_total{route=\"%s\"}",
                       dx_route_name((enum dx_route_id)route));
        is(sample, (double)sent[route]);
    }
    for (size_t i = 0; i < 3; i++) {
        (void)snprintf(sample, sizeof sample, "domaindex_http_problems_total{slug=\"%s\"}",
                       slugs[i]);
        is(sample, (double)by_slug[i]);
    }
    is("domaindex_http_requests_in_flight", COUNT / 10);
}

/* More slugs than there is room for, every status, every route: what is written stays bounded. */
static void test_bounded(void)
{
    static char slugs[500][16];

    memset(loops, 0, sizeof loops);
    for (unsigned i = 0; i < 500; i++) {
        (void)snprintf(slugs[i], sizeof slugs[i], "slug-%u", i);
        for (unsigned k = 0; k < LOOPS; k++) {
            struct dx_request_record r = { .route = (enum dx_route_id)(i * 77),
                                           .method = (enum dx_method)(i * 13),
                                           .from = (enum dx_answer_from)i,
                                           .status = (int)i * 7,
                                           .refusal = slugs[i] };

            dx_request_counts_end(&loops[k], &r);
        }
    }
    write_all();
    is("domaindex_http_problems_total{slug=\"slug-0\"}", LOOPS);
    is("domaindex_http_problems_total{slug=\"other\"}", LOOPS * (500 - (DX_COUNTED_SLUGS - 1)));
    CHECK(series() < 2000, "%zu series", series());
}

/* Every route has a word of its own. */
static void test_names(void)
{
    for (int a = 0; a <= DX_ROUTE_COUNT; a++)
        for (int b = 0; b < a; b++)
            CHECK(strcmp(dx_route_name((enum dx_route_id)a), dx_route_name((enum dx_route_id)b)) !=
                      0,
                  "routes %d and %d are both %s", a, b, dx_route_name((enum dx_route_id)a));
}

int main(void)
{
    test_bounds();
    test_there_from_the_start();
    test_sums();
    test_bounded();
    test_names();
    dx_buf_release(&text);
    printf("%u failures\n", failures);
    return failures > 0;
}
