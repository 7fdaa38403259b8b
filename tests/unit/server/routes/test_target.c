/* SPDX-License-Identifier: Apache-2.0
 * A copy of a question, which goes to another thread, borrows nothing of the one it was copied from:
 * each parameter of each route is given, and no word of the copy may point into the target, or into
 * the first question. */
#include "server/routes/target.h"

#include "server/routes/route.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/fail.h"

static int failures;

static struct dx_ask ask, copy;

static bool within(const void *p, const void *begin, size_t size)
{
    return (uintptr_t)p >= (uintptr_t)begin && (uintptr_t)p < (uintptr_t)begin + size;
}

static void check_copy(const char *what, struct dx_span value)
{
    dx_ask_copy(&copy, &ask);
    for (size_t at = 0; at + sizeof(void *) <= offsetof(struct dx_ask, text);
         at += sizeof(void *)) {
        const void *word;

        memcpy(&word, (const uint8_t *)&copy + at, sizeof word);
        CHECK(!within(word, &ask, sizeof ask) && !within(word, value.data, value.size),
              "%s: byte %zu of the copy points into the question", what, at);
    }
}

/* Of each kind some values, one of which the parameter takes; what it refuses does not matter. */
static size_t give(const struct dx_param *param, struct dx_span value)
{
    struct dx_problem problem;

    if (param->set != NULL)
        return param->set(value, &ask, &problem) == 1;
    if (param->words[0] != NULL || param->member == 0) /* a bool, or read by the route itself */
        return 0;
    memcpy((uint8_t *)&ask + param->member, &value, sizeof value);
    return 1;
}

static void test_params(void)
{
    static const char *const values[] = { "some-name", "name:some", "=status:200",
                                          "2020",      "7",         "url" };
    size_t given = 0;

    for (unsigned r = 0; r < DX_ROUTE_COUNT; r++) {
        const struct dx_route *route = dx_routes[r];
        const struct dx_param *param;

        if (route == NULL)
            continue;
        for (size_t p = 0; (param = dx_route_param(route, p)) != NULL; p++) {
            for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
                struct dx_span value = dx_span_str(strdup(values[v]));

                memset(&ask, 0, sizeof ask);
                ask.route = (enum dx_route_id)r;
                given += give(param, value);
                check_copy(param->name, value);
                free((void *)(uintptr_t)value.data);
            }
        }
    }
    CHECK(given > 100, "%zu values were taken", given);
}

/* What goes by the path and by the host of the request. */
static void test_parsed(void)
{
    static const char *const targets[] = {
        "/v1/domain/a%2Ecom/datasets/x/rows?columns=a,b",
        ("/v1/domain/a.com/datasets/x/urls?filter=a:b&filter=c:d&tag=x&prefix=/"
         "&from=2020&status=200"),
        "/v1/datasets/x/overlap/y?format=csv&version=000001-20260101T000000Z",
        "/v1/range?from=0&to=7",
        "/cdx?url=a.com/*&filter=a:b",
        "/v1/tags/x%2Fy?of=urls",
    };
    struct dx_problem problem;

    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        struct dx_span target = dx_span_str(strdup(targets[i]));

        CHECK(dx_target_parse(target, false, &ask, &problem) == 1, "%s: %s", targets[i],
              problem.detail);
        check_copy(targets[i], target);
        free((void *)(uintptr_t)target.data);
    }
}

int main(void)
{
    test_params();
    test_parsed();
    return failures != 0;
}
