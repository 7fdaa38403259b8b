/* SPDX-License-Identifier: Apache-2.0
 * Rows of a domain in an order, of those that an expression takes: the expression may take too much at any of them, which is an
 * error in each order, and not a row that is left out.
 */
#include "query/scan/merged_rows.h"

#include "query/view/lookup.h"
#include "query/view/view.h"
#include "tests/support/asker.h"
#include "tests/support/damage.h"
#include "tests/support/small_root.h"

#define DATASETS 3
#define DOMAIN 1 /* it has rows in all of them but the second */

static unsigned failures;

static const struct {
    enum dx_merged_order order;
    bool reverse;
} orders[] = {
    { DX_MERGED_URL, false },
    { DX_MERGED_URL, true },
    { DX_MERGED_TIME, false },
    { DX_MERGED_CLOSEST, false },
};

static int count_row(void *ctx, size_t pair, uint64_t place, const struct dx_listing_row *row,
                     struct dx_error *err)
{
    (void)pair;
    (void)place;
    (void)row;
    (void)err;
    ++*(uint64_t *)ctx;
    return DX_OK;
}

static int run(struct dx_merged_rows *m, uint64_t *rows, struct dx_error *err)
{
    int rc = DX_OK;

    while (rc >= 0 && (rc = dx_merged_rows_step(m, err)) == DX_LISTING_WAITS) {
        rc = dx_read_batch_perform(dx_merged_rows_reading(m), err);
        rc = dx_merged_rows_fetched(m, rc, err);
    }
    return rc == DX_LISTING_DONE ? dx_merged_rows_each(m, count_row, rows, err) : rc;
}

/* The rows that the expression takes by so many steps; *steps: what it took. */
static int merge(const struct asker *a, size_t order, uint64_t most, uint64_t *rows,
                 uint64_t *steps, struct dx_error *err)
{
    struct dx_merged_ask ask = { .order = orders[order].order,
                                 .reverse = orders[order].reverse,
                                 .filter.terms = { dx_span_str("~url:0[0-9]") },
                                 .limit = 1000,
                                 .fields = DX_FIELD_URL };
    struct dx_domain_pairs pairs = DX_DOMAIN_PAIRS_INIT;
    struct dx_row_regexes regexes;
    struct dx_domain_rows of;
    struct dx_merged_rows m;
    struct dx_problem problem;
    struct dx_found found;
    char name[64];
    int rc;

    dx_test_root_domain(DOMAIN, name);
    EXPECT(dx_lookup_domain(DX_VIEW_ALL(a->v), a->canon, dx_span_str(name), &found, &problem) ==
                   1 &&
               dx_row_filter_check(&ask.filter, &problem) == 1 &&
               dx_row_filter_compile(&ask.filter, &regexes, &problem) == 1,
           "%s", problem.detail);
    dx_domain_rows_init(&of, a->v, found.part, found.ordinal, DX_FIELD_URL | DX_FIELD_TS, 0);
    rc = dx_view_pairs(&pairs, DX_VIEW_ALL(a->v), found.part, found.ordinal, err);
    for (size_t i = 0; rc >= 0 && i < pairs.count; i++)
        rc = dx_domain_rows_add(&of, pairs.ids[i], &pairs.counts[i], NULL, err);
    dx_domain_pairs_release(&pairs);
    EXPECT(rc >= 0, "%s", err->text);
    *rows = 0;
    regexes.work = (struct dx_regex_work){ .most = most };
    rc = dx_merged_rows_init(&m, &of, &ask, err);
    if (rc >= 0)
        rc = run(&m, rows, err);
    *steps = regexes.work.steps;
    dx_merged_rows_release(&m);
    dx_domain_rows_release(&of);
    dx_row_regexes_release(&regexes);
    return rc;
}

static void check_order(const struct asker *a, size_t order)
{
    struct dx_error err = DX_ERROR_INIT;
    uint64_t want = 0;
    uint64_t rows, steps, again;

    for (unsigned d = 1; d <= DATASETS; d++)
        want += dx_test_root_member(DOMAIN, d) ? dx_test_root_rows(DOMAIN, d) : 0;
    EXPECT(merge(a, order, UINT64_MAX, &rows, &steps, &err) >= 0 && rows == want && steps > want,
           "order %zu: %llu rows by %llu steps, %s", order, (unsigned long long)rows,
           (unsigned long long)steps, err.text);
    for (uint64_t most = 1; most < steps; most++)
        EXPECT(merge(a, order, most, &rows, &again, &err) == DX_E_LIMIT &&
                   strstr(err.text, "regular expressions") != NULL,
               "order %zu, %llu of %llu steps: %s", order, (unsigned long long)most,
               (unsigned long long)steps, err.text);
    EXPECT(merge(a, order, steps, &rows, &again, &err) >= 0 && rows == want, "order %zu: %s", order,
           err.text);
}

int main(void)
{
    struct dx_test_root root;
    struct asker a;

    dx_test_root_make(&root, 3, DATASETS);
    open_asker(&a, root.path);
    for (size_t order = 0; order < sizeof orders / sizeof orders[0]; order++)
        check_order(&a, order);
    close_asker(&a);
    dx_test_root_remove(&root);
    return failures > 0;
}
