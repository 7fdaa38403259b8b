/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "server/routes/answers.h"
#include "server/routes/route.h"

/* Of a cursor its own datasets. */
static void restart(const struct dx_ask *ask, struct dx_buf *b)
{
    dx_restart_path(ask, b);
    dx_buf_fmt(b, "?limit=%llu", (unsigned long long)dx_restart_limit(ask));
    if (ask->plan > 0)
        dx_buf_fmt(b, "&plan=%u", ask->plan);
    dx_restart_fields(ask->field_bits, DX_FIELDS_DEFAULT, b);
    dx_restart_filter(&ask->filter, b);
    if (ask->from.kind == 0)
        dx_restart_param("dataset", ask->datasets, b);
    for (unsigned i = 0; ask->from.kind != 0 && i < ask->from.dataset_count; i++)
        dx_buf_fmt(b, "%s%u", i == 0 ? "&dataset=" : ",", (unsigned)ask->from.datasets[i]);
}

static int answer(const struct dx_answering *a)
{
    const struct dx_all_urls_ask urls = {
        .asked = a->ask->asked,
        .datasets = a->ask->datasets,
        .page = a->ask->page,
        .fields = a->ask->field_bits,
        .filter = a->ask->filter,
        .plan = a->ask->plan,
        .paging = dx_answering_paging(a),
        .deadline_ms = a->deadline_ms,
    };

    return dx_task_all_urls(a->view, a->canon, &urls, a->task, a->summary, a->body, a->problem);
}

static const struct dx_route_words all_urls_words = {
    .operation = "getAllUrls",
    .group = "domains",
    .summary = "URLs of a domain in all datasets",
    .text = "Rows by dataset_id, then in the order of that dataset's listing. "
            "A page may be short and still not be the last: only next_cursor "
            "or next_offset marks the end. Next to a cursor only limit is "
            "useful; other parameters must be those of its first page.",
    .answer = "AllUrlsAnswer",
    .refused = "not-a-domain",
    .absent = "domain-not-found, dataset-not-found, domain-not-in-dataset",
    .too_much = "use a smaller limit",
    .withheld = true,
};

const struct dx_route dx_route_all_urls = {
    .name = "all_urls",
    .pattern = "domain/{domain}/urls",
    .words = &all_urls_words,
    .params = DX_PARAMS(&dx_param_offset, &dx_param_limit, &dx_param_fields, &dx_param_cursor,
                        &dx_param_plan, &dx_param_version, &dx_param_datasets, DX_FILTER_PARAMS),
    .limit = { DX_LIMIT_DEFAULT, DX_LIMIT_MAX },
    .fields = &dx_row_fields,
    .cost = { .base = 10, .rows_a_unit = 50 },
    .cursor = DX_CURSOR_ALL_URLS,
    .canon = true,
    .restart = restart,
    .answer = answer,
};
