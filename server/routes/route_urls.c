/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "server/routes/answers.h"
#include "server/routes/route.h"

static bool may_be_brief(const struct dx_ask *ask)
{
    return ask->page.limit <= DX_LIMIT_DEFAULT && !dx_row_filter_any(&ask->filter);
}

int dx_listing_take_cursor(struct dx_ask *ask, struct dx_problem *problem)
{
    if (ask->dataset_name.data == NULL && ask->dataset_id != ask->from.dataset_id)
        return dx_route_mismatch(problem, "this cursor goes on with a listing of another dataset");
    ask->dataset_id = ask->from.dataset_id;
    return 1;
}

static void restart(const struct dx_ask *ask, struct dx_buf *b)
{
    dx_restart_path(ask, b);
    dx_buf_fmt(b, "?limit=%llu", (unsigned long long)dx_restart_limit(ask));
    dx_restart_plan(ask, b);
    dx_restart_fields(ask->field_bits, DX_FIELDS_DEFAULT, b);
    dx_restart_filter(&ask->filter, b);
}

static int answer(const struct dx_answering *a)
{
    const struct dx_urls_ask urls = {
        .asked = a->ask->asked,
        .dataset_id = a->ask->dataset_id,
        .page = a->ask->page,
        .fields = a->ask->field_bits,
        .filter = a->ask->filter,
        .plan = a->ask->plan,
        .paging = dx_answering_paging(a),
        .brief = a->ask->brief,
        .deadline_ms = a->deadline_ms,
    };

    return dx_task_urls(a->view, a->canon, &urls, a->task, a->summary, a->body, a->problem);
}

static const struct dx_route_words urls_words = {
    .operation = "getUrls",
    .group = "domains",
    .summary = "URLs of a domain in one dataset",
    .text = "Pages by cursor (next_cursor) stay on one version; pages by "
            "offset do not. offset=0 always means no offset. Next to a "
            "cursor only limit is useful; other parameters must be those "
            "of its first page.",
    .answer = "UrlsAnswer",
    .refused = "not-a-domain",
    .absent = "domain-not-found, dataset-not-found, domain-not-in-dataset",
    .too_much = "use a smaller limit",
    .withheld = true,
    .counts_only = true,
};

const struct dx_route dx_route_urls = {
    .name = "urls",
    .pattern = "domain/{domain}/datasets/{dataset}/urls",
    .words = &urls_words,
    .alias = "domain/{domain}/dataset/{dataset}/urls",
    .params = DX_PARAMS(&dx_param_offset, &dx_param_limit, &dx_param_fields, &dx_param_cursor,
                        &dx_param_plan, &dx_param_version, DX_FILTER_PARAMS, &dx_param_format),
    .limit = { DX_LIMIT_DEFAULT, DX_LIMIT_MAX },
    .fields = &dx_row_fields,
    .rows = DX_ROWS(.member = "items", .urls = true, .page = "urls/{domain}/{dataset}"),
    .cost = { .base = 5, .rows_a_unit = 50 },
    .cursor = DX_CURSOR_LISTING,
    .take_cursor = dx_listing_take_cursor,
    .may_be_brief = may_be_brief,
    .listing = true,
    .canon = true,
    .keeps_bodies = true,
    .restart = restart,
    .answer = answer,
};
