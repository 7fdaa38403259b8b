/* SPDX-License-Identifier: Apache-2.0 */
#include "query/range/range_row.h"

#include "loader/version_parts.h"
#include "query/suppression/suppression_view.h"

static int astray(struct dx_problem *problem)
{
    return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "bad-cursor", "Bad cursor",
                          "this cursor names a row that there is not");
}

static int is_hidden_now(struct dx_problem *problem)
{
    return dx_problem_set(problem, DX_PROBLEM_GONE, "cursor-expired", "The cursor is too old",
                          "the last row of the page before is not visible any more, and its URL is "
                          "too long to be in a cursor; begin again without the cursor");
}

/* Finds the pair among those that the view shows: 1; 0: the view has no such pair; <0: error. */
static int find_pair(const struct dx_view *view, const struct dx_range_order_at *of,
                     struct dx_found *found, uint64_t *rows, struct dx_error *err)
{
    struct dx_domain_pairs pairs = DX_DOMAIN_PAIRS_INIT;
    const struct dx_version *v = view->version;
    const struct dx_version_part *part = &v->parts[dx_version_part_at(v, of->domain)];
    int rc;

    *found = (struct dx_found){ .part = part->part, .ordinal = of->domain - part->first };
    *rows = 0;
    rc = dx_version_domain(v, of->domain, found->domain, &found->domain_size, err);
    if (rc == 1)
        rc = dx_mphf_domain_id(&found->part->mphf, found->ordinal,
                               dx_span_of(found->domain, found->domain_size), &found->domain_id,
                               err);
    if (rc < 0)
        return rc;
    rc = dx_view_pairs(&pairs, view, found->part, found->ordinal, err);
    for (size_t i = 0; rc == 1 && i < pairs.count; i++)
        if (pairs.ids[i] == of->dataset_id)
            *rows = pairs.counts[i].row_count;
    dx_domain_pairs_release(&pairs);
    return rc < 0 ? rc : *rows > 0;
}

/* 1, 0 the problem, <0. */
static int check_shown(const struct dx_view *view, const struct dx_range_order_at *of,
                       const struct dx_found *found, struct dx_problem *problem)
{
    struct dx_suppression_view withheld;
    int rc = dx_suppression_view_of(view, found, &withheld, problem);

    if (rc < 0)
        return dx_suppression_view_unknown(rc, problem);
    if (rc == 0)
        return is_hidden_now(problem);
    if (dx_suppression_view_hidden(dx_suppression_view_pair(&withheld, of->dataset_id), of->row))
        rc = is_hidden_now(problem);
    dx_suppression_view_release(&withheld);
    return rc;
}

int dx_range_row_begin(struct dx_range_row_at *r, const struct dx_view *view,
                       const struct dx_range_order_at *of, uint64_t deadline_ms,
                       struct dx_problem *problem)
{
    const struct dx_page_of window = { of->row, 1 };
    struct dx_error err = DX_ERROR_INIT;
    struct dx_found found;
    uint64_t rows;
    int rc;

    r->begun = false;
    if (of->domain >= view->version->numbers || !dx_version_is_live(view->version, of->domain))
        return is_hidden_now(problem);
    rc = find_pair(view, of, &found, &rows, &err);
    if (rc < 0)
        return dx_problem_of_error(problem, &err);
    if (rc == 0)
        return is_hidden_now(problem);
    if (of->row >= rows)
        return astray(problem);
    rc = check_shown(view, of, &found, problem);
    if (rc != 1)
        return rc;
    dx_listing_init(&r->listing, view->version, found.part, found.ordinal, of->dataset_id, window,
                    DX_FIELD_URL | DX_FIELD_TS, deadline_ms);
    r->begun = true;
    return 1;
}

void dx_range_row_release(struct dx_range_row_at *r)
{
    if (r->begun)
        dx_listing_release(&r->listing);
    r->begun = false;
}
