/* SPDX-License-Identifier: Apache-2.0
 * What questions cost, and that no route was forgotten. */
#include "server/routes/cost.h"

#include <stdio.h>

#include "tests/support/fail.h"

static int failures;

static struct dx_ask ask;

static double cost_of(const char *target)
{
    struct dx_problem problem;

    if (dx_target_parse(dx_span_str(target), false, &ask, &problem) != 1) {
        printf("%s: %s\n", target, problem.detail);
        failures++;
        return -1;
    }
    return dx_cost_of_ask(&ask);
}

static void test_asks(void)
{
    static const struct {
        const char *target;
        double cost;
    } rows[] = {
        { "/v1/domain/a.com", 1 },
        { "/v1/domain/a.com/datasets/1/urls?limit=100&tag=x&prefix=/", 32 },
        { "/v1/domain/a.com?fields=rank", 1 },
        { "/v1/domain/a.com?view=icann", 21 },
        { "/v1/keys?url=http://a.com/", 2 },
        { "/v1/range?from=0", 70 },
        { "/v1/range?from=0&limit=20", 21 },
        { "/v1/normalize?q=a.com", 1 },
        { "/v1/datasets", 51 },
        { "/v1/datasets?limit=100", 1.5 },
        { "/v1/datasets?limit=100000", 501 },
        { "/v1/datasets/1", 1 },
        { "/v1/datasets/1/top-domains", 15 },
        { "/v1/datasets/1/overlap/2", 10 },
        { "/v1/domain/a.com/datasets/1/urls", 25 },
        { "/v1/domain/a.com/datasets/1/urls?limit=1", 5.02 },
        { "/v1/domain/a.com/datasets/1/urls?limit=10000&offset=9000000", 205 },
        { "/v1/domain/a.com/datasets/1/urls?plan=64", 25 },
        { "/v1/domain/a.com/datasets/1/rows", 110 },
        { "/v1/domain/a.com/datasets/1/rows?limit=1000&columns=text&offset=7", 1010 },
        { "/v1/domain/a.com/urls", 30 },
        { "/v1/domain/a.com/urls?limit=10000&dataset=1,two", 210 },
        { "/v1/domain/a.com/urls?plan=2", 30 },
        { "/v1/domain/a.com/hosts?limit=10000", 110 },
        { "/v1/domain/a.com/datasets/1/paths?limit=256", 20 },
        { "/v1/domain/a.com/timeline?by=day&dataset=two", 20 },
        { "/v1/domain/a.com/diff", 10 },
        { "/v1/domain/a.com/changes", 110 },
        { "/v1/domain/a.com/changes?limit=1&format=atom", 20 },
        { "/v1/url?u=http://a.com/", 12 },
        { "/v1/urlid/0x0123456789abcdef", 10 },
        { "/v1/tags", 20 },
        { "/v1/tags?limit=1000", 110 },
        { "/v1/tags/a%2Fb", 120 },
        { "/v1/tags/a?of=urls&limit=1000", 70 },
        { "/v1/tlds", 30 },
        { "/v1/suffix/co.uk", 30 },
        { "/v1/complete?q=a", 5.5 },
        { "/v1/versions", 1 },
        { "/v1/changes", 600 },
        { "/v1/changes?limit=10000", 1500 },
        { "/v1/domains", 40 },
        { "/v1/domains?limit=50&tld=com&prefix=a", 21 },
        { "/v1/domains?limit=50&match=*a*", 121 },
        { "/v1/domains?plan=8", 40 },
        { "/healthz", 0 },
        { "/readyz", 0 },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double cost = cost_of(rows[i].target);

        CHECK(cost == rows[i].cost, "%s: %g, not %g", rows[i].target, cost, rows[i].cost);
    }
}

/* A route that is added needs a row: what costs nothing is never refused. */
static void test_every_route(void)
{
    for (int route = 0; route < DX_ROUTE_HEALTHZ; route++) {
        ask = (struct dx_ask){ .route = (enum dx_route_id)route };
        CHECK(dx_cost_of_ask(&ask) >= 1, "route %d costs nothing", route);
    }
}

static void test_more(void)
{
    static const struct {
        const char *what;
        double paid;
        struct dx_cost_seen seen;
        double more;
    } rows[] = {
        { "nothing was read, all is paid", 25, { .body_bytes = 100000, .answer_us = 400 }, 0 },
        { "a long answer", 1, { .body_bytes = 163840 }, 9 },
        { "reads come on top", 25, { .requests = 3, .bytes = 655360, .body_bytes = 1000 }, 13 },
        { "short computing is not looked at", 1, { .answer_us = 2000 }, 0 },
        { "long computing is", 10, { .answer_us = 2000000 }, 99990 },
        { "the dearer of time and bytes", 10, { .answer_us = 4000, .body_bytes = 16384000 }, 990 },
        { "the server's own routes are free", 0, { .body_bytes = 1000000, .answer_us = 9000 }, 0 },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double more = dx_cost_more(rows[i].paid, &rows[i].seen);

        CHECK(more == rows[i].more, "%s: %g, not %g", rows[i].what, more, rows[i].more);
    }
    CHECK(dx_cost_of_names(1000) == 125, "names: %g", dx_cost_of_names(1000));
}

int main(void)
{
    test_asks();
    test_every_route();
    test_more();
    return failures > 0;
}
