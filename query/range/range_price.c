/* SPDX-License-Identifier: Apache-2.0 */
#include "query/range/range_price.h"

#include "loader/version.h"

#define STEP_DOMAINS 256 /* some hundred microseconds */

int dx_range_price_init(struct dx_range_price *p, const struct dx_view *view,
                        const struct dx_range_what *what, struct dx_error *err)
{
    const struct dx_view urls = dx_view_urls(view);

    *p = (struct dx_range_price){ .what = what };
    if (what->numbers == NULL)
        return dx_domain_walk_init(&p->walk, &urls, what->dataset, what->suffix, err);
    dx_domain_walk_numbers(&p->walk, &urls, what->numbers, &what->range);
    return DX_OK;
}

void dx_range_price_release(struct dx_range_price *p)
{
    dx_domain_walk_release(&p->walk);
}

/* The domain that the walk came to. */
static void add_domain(struct dx_range_price *p)
{
    const struct dx_domain_pairs *pairs = &p->walk.pairs;
    bool any = p->what->numbers != NULL;

    for (size_t i = 0; i < pairs->count; i++) {
        uint64_t rows = dx_range_rows_of_pair(p->what, pairs, i, &p->walk.withheld);

        any = any || rows > 0;
        p->pairs += rows > 0;
        p->rows += rows;
    }
    p->domains += any;
}

static int check_price(const struct dx_range_price *p, struct dx_problem *problem)
{
    static const char *const of[] = { "domains", "domains of datasets", "rows" };
    const uint64_t have[] = { p->domains, p->pairs, p->rows };
    const uint64_t most[] = { p->what->look_max > 0 ? p->what->look_max : DX_RANGE_SORT_DOMAINS,
                              DX_RANGE_SORT_PAIRS, DX_RANGE_SORT_ROWS };
    struct dx_error err = DX_ERROR_INIT;

    for (size_t i = 0; i < 3; i++)
        if (have[i] > most[i]) {
            (void)dx_fail(&err, DX_E_LIMIT,
                          "another order and an offset take all rows that are asked for, which "
                          "are of over %llu %s",
                          (unsigned long long)most[i], of[i]);
            return dx_problem_advised(problem, &err,
                                      p->what->numbers != NULL
                                          ? "Ask for a smaller range, one dataset or a time."
                                          : "Ask for a name below it, one dataset or a time.");
        }
    return DX_OK;
}

int dx_range_price_step(struct dx_range_price *p, struct dx_problem *problem)
{
    int rc = 1;

    for (unsigned n = 0; n < STEP_DOMAINS; n++) {
        rc = dx_domain_walk_next(&p->walk, problem);
        if (rc != 1)
            return rc < 0 ? rc : 1;
        add_domain(p);
        rc = check_price(p, problem);
        if (rc < 0)
            return rc;
    }
    return 0;
}
