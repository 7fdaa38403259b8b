/* SPDX-License-Identifier: Apache-2.0
 * Rows by day: those that the rule of small_root.h gives, in windows of every size; counts that say other times than the
 * rows have, too many rows, no memory.
 */
#include "query/scan/timeline.h"

#include "loader/domain_pairs.h"
#include "query/view/lookup.h"
#include "query/view/view.h"
#include "tests/runner/fail_alloc.h"
#include "tests/support/asker.h"
#include "tests/support/damage.h"
#include "tests/support/small_root.h"

#define DOMAINS 70
#define DATASETS 5
#define US_PER_DAY INT64_C(86400000000)

static unsigned failures;

struct question {
    const struct asker *asker;
    unsigned domain;
    uint64_t window_rows, rows_max, pages_max; /* 0: the usual ones */
    int64_t first_off_us; /* added to what the counts say of the first time, where rows are read */
};

/* The rule of small_root.c. */
static bool time_of(unsigned i, unsigned row, int64_t *us)
{
    *us = (int64_t)(1300000000 + i * 1000 + row) * 1000000;
    return row % 4 != 3;
}

static int add_pairs(const struct question *q, struct dx_timeline *t, const struct dx_found *found,
                     struct dx_error *err)
{
    struct dx_domain_pairs pairs = DX_DOMAIN_PAIRS_INIT;
    int rc = dx_view_pairs(&pairs, DX_VIEW_ALL(q->asker->v), found->part, found->ordinal, err);

    for (size_t i = 0; rc >= 0 && i < pairs.count; i++) {
        struct dx_pair_count counts = pairs.counts[i];

        if (counts.row_count > 2)
            counts.first_us += q->first_off_us;
        rc = dx_timeline_add(t, pairs.ids[i], &counts, NULL, err);
    }
    dx_domain_pairs_release(&pairs);
    return rc;
}

static int count(const struct question *q, struct dx_timeline *t, struct dx_error *err)
{
    struct dx_problem problem;
    struct dx_found found;
    char name[64];
    int rc;

    dx_test_root_domain(q->domain, name);
    EXPECT(dx_lookup_domain(DX_VIEW_ALL(q->asker->v), q->asker->canon, dx_span_str(name), &found,
                            &problem) == 1,
           "%s", problem.detail);
    dx_timeline_init(t, q->asker->v, found.part, found.ordinal, 0);
    if (q->window_rows > 0)
        t->window_rows = q->window_rows;
    if (q->pages_max > 0)
        t->pages_max = q->pages_max;
    if (q->rows_max > 0)
        t->rows_max = q->rows_max;
    rc = add_pairs(q, t, &found, err);
    if (rc >= 0)
        rc = dx_timeline_begin(t, err);
    if (rc >= 0)
        rc = dx_timeline_step(t, err);
    while (rc == DX_LISTING_WAITS) {
        rc = dx_read_batch_perform(dx_timeline_reading(t), err);
        rc = dx_timeline_fetched(t, rc, err);
        if (rc >= 0)
            rc = dx_timeline_step(t, err);
    }
    return rc;
}

static uint64_t rows_of_day(const struct dx_timeline *t, int64_t day)
{
    return day < t->first_day || day >= t->first_day + (int64_t)t->days
               ? 0
               : t->rows[day - t->first_day];
}

static void check_counts(const struct question *q)
{
    struct dx_error err = DX_ERROR_INIT;
    uint64_t rows = 0;
    uint64_t timed = 0;
    struct dx_timeline t;
    int64_t us;
    int rc = count(q, &t, &err);

    (void)time_of(q->domain, 0, &us);
    for (unsigned d = 1; d <= DATASETS; d++)
        for (unsigned n = 0;
             dx_test_root_member(q->domain, d) && n < dx_test_root_rows(q->domain, d); n++) {
            int64_t at;

            rows++;
            timed += time_of(q->domain, n, &at);
        }
    EXPECT(rc == DX_LISTING_DONE, "domain %u: %s", q->domain, err.text);
    EXPECT(t.row_count == rows && t.untimed == rows - timed &&
               rows_of_day(&t, us / US_PER_DAY) == timed,
           "domain %u: %llu rows, %llu without time, %llu on their day; not %llu, %llu", q->domain,
           (unsigned long long)t.row_count, (unsigned long long)t.untimed,
           (unsigned long long)rows_of_day(&t, us / US_PER_DAY), (unsigned long long)rows,
           (unsigned long long)timed);
    dx_timeline_release(&t);
}

static void check_refused(const struct question *q, int code, const char *words)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_timeline t;
    int rc = count(q, &t, &err);

    EXPECT(rc == code && strstr(err.text, words) != NULL, "domain %u: %d %s", q->domain, rc,
           err.text);
    dx_timeline_release(&t);
}

static int without_memory(void *ctx, struct dx_error *err)
{
    struct dx_timeline t;
    int rc = count(ctx, &t, err);

    dx_timeline_release(&t);
    return rc < 0 ? rc : DX_OK;
}

int main(void)
{
    struct dx_test_root root;
    struct asker a;

    dx_test_root_make(&root, DOMAINS, DATASETS);
    open_asker(&a, root.path);
    for (unsigned i = 0; i < DOMAINS; i++)
        for (uint64_t window = 0; window < 5; window++)
            check_counts(&(struct question){ &a, i, .window_rows = window });
    for (unsigned i = 0; i < 3; i++) {
        unsigned many = 0;

        while (dx_test_root_rows(many, 1) < 3 + i)
            many++;
        check_refused(&(struct question){ &a, many, .first_off_us = -1 }, DX_E_CORRUPT,
                      "other times");
        check_refused(&(struct question){ &a, many, .first_off_us = 1 }, DX_E_CORRUPT, "times");
        check_refused(&(struct question){ &a, many, .first_off_us = INT64_MAX / 2 }, DX_E_CORRUPT,
                      "which no row can have");
        check_refused(&(struct question){ &a, many, .window_rows = 1, .pages_max = 1 }, DX_E_LIMIT,
                      "on over 1 pages");
        check_refused(&(struct question){ &a, many, .rows_max = 2 }, DX_E_LIMIT, "at most 2");
    }
    failures += fail_alloc_each("timeline", FAIL_ALLOC_GOES_ON | 200, without_memory,
                                &(struct question){ &a, 3, .window_rows = 2 }) > 0;
    close_asker(&a);
    dx_test_root_remove(&root);
    return failures > 0;
}
