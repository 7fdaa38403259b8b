/* SPDX-License-Identifier: Apache-2.0
 * What two datasets share while rules hide a domain, or some of its rows in one of the datasets: as a recount by the
 * rule of small_root.h has it.
 */
#include "query/answers/overlap.h"

#include "builder/policy/suppress.h"
#include "format/root/rules.h"
#include "query/view/view.h"
#include "tests/support/asker.h"
#include "tests/support/damage.h"
#include "tests/support/small_root.h"

#define DOMAINS 30
#define DATASETS 4
#define WITHHELD 4 /* the domain that is hidden whole */
#define PARTLY 7   /* the domain whose first row in dataset 1 is hidden */

static unsigned failures;

static int say(void *ctx, struct dx_suppressions *log, struct dx_error *err)
{
    uint64_t number;
    int rc = dx_suppressions_add(log, ctx, &number, err);

    return rc < 0 ? rc : 1;
}

static void suppress(const struct dx_test_root *r, enum dx_suppress_kind kind, const char *value)
{
    struct dx_suppress_rule rule = { .kind = kind,
                                     .policy = DX_SUPPRESS_WITHHELD,
                                     .value = dx_span_str(value) };
    struct dx_error err = DX_ERROR_INIT;

    EXPECT(dx_suppress_change(r->path, say, &rule, &err) == 1, "%s", err.text);
}

/* Each row has a URL of its own. */
static uint64_t urls_of(unsigned i, unsigned dataset, bool ruled)
{
    uint64_t rows = dx_test_root_member(i, dataset) ? dx_test_root_rows(i, dataset) : 0;

    if (ruled && i == WITHHELD)
        return 0;
    return ruled && i == PARTLY && dataset == 1 ? rows - 1 : rows;
}

static struct dx_overlap_sums recount(unsigned a, unsigned b, bool ruled)
{
    struct dx_overlap_sums s = { .shared = 0 };

    for (unsigned i = 0; i < DOMAINS; i++) {
        const uint64_t urls[2] = { urls_of(i, a, ruled), urls_of(i, b, ruled) };

        for (int k = 0; k < 2; k++) {
            s.domains[k] += urls[k] > 0;
            s.urls[k] += urls[k];
            s.shared_urls[k] += urls[0] > 0 && urls[1] > 0 ? urls[k] : 0;
        }
        s.shared += urls[0] > 0 && urls[1] > 0;
        s.min += urls[0] < urls[1] ? urls[0] : urls[1];
    }
    return s;
}

static void check_pair(const struct asker *asker, unsigned a, unsigned b, bool ruled)
{
    const struct dx_view view = { asker->v, NULL, false };
    const struct dx_overlap_sums want = recount(a, b, ruled);
    struct dx_overlap *o = NULL;
    struct dx_problem problem;
    int rc = dx_overlap_new(&o, &view, asker->canon, a, b, &problem);

    EXPECT(rc == 1, "%u and %u: %d: %s", a, b, rc, problem.detail);
    for (rc = rc == 1 ? 0 : rc; rc == 0;)
        rc = dx_overlap_step(o, &problem);
    EXPECT(rc == 1, "%u and %u: %d: %s", a, b, rc, problem.detail);
    if (rc == 1)
        EXPECT(memcmp(dx_overlap_sums_of(o), &want, sizeof want) == 0,
               "%u and %u: %llu shared with %llu and %llu URLs, not %llu with %llu and %llu", a, b,
               (unsigned long long)dx_overlap_sums_of(o)->shared,
               (unsigned long long)dx_overlap_sums_of(o)->shared_urls[0],
               (unsigned long long)dx_overlap_sums_of(o)->shared_urls[1],
               (unsigned long long)want.shared, (unsigned long long)want.shared_urls[0],
               (unsigned long long)want.shared_urls[1]);
    dx_overlap_free(&o);
}

static void check_pairs(const struct dx_test_root *r, bool ruled)
{
    struct asker a;

    open_asker_with_rules(&a, r->path, DX_SUPPRESSIONS_LIVE_WAIT);
    for (unsigned d = 1; d <= DATASETS; d++)
        for (unsigned e = 1; e <= DATASETS; e++)
            check_pair(&a, d, e, ruled);
    close_asker(&a);
}

int main(void)
{
    struct dx_test_root r;
    char name[64];
    char url[128];

    dx_test_root_make(&r, DOMAINS, DATASETS);
    check_pairs(&r, false);
    dx_test_root_domain(WITHHELD, name);
    suppress(&r, DX_SUPPRESS_DOMAIN, name);
    dx_test_root_url(PARTLY, 1, 0, url);
    suppress(&r, DX_SUPPRESS_URL, url);
    EXPECT(dx_test_root_rows(PARTLY, 1) > 1 && dx_test_root_member(WITHHELD, 1), "too few rows");
    check_pairs(&r, true);
    dx_test_root_remove(&r);
    return failures > 0;
}
