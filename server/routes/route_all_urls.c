/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "server/routes/answers.h"
#include "server/routes/route.h"
#include "server/routes/url_order.h"

/* Of a cursor its own datasets. */
static void restart(const struct dx_ask *ask, struct dx_buf *b)
{
    dx_restart_path(ask, b);
    dx_buf_fmt(b, "?limit=%llu", (unsigned long long)dx_restart_limit(ask));
    dx_restart_plan(ask, b);
    dx_restart_fields(ask->field_bits, DX_FIELDS_DEFAULT, b);
    dx_restart_filter(&ask->filter, b);
    dx_url_order_restart(ask, b);
    if (ask->subdomains)
        dx_buf_str(b, "&subdomains=yes");
    if (ask->from.kind == 0)
        dx_restart_param("dataset", ask->datasets, b);
    for (unsigned i = 0; ask->from.kind != 0 && i < ask->from.dataset_count; i++)
        dx_buf_fmt(b, "%s%u", i == 0 ? "&dataset=" : ",", (unsigned)ask->from.datasets[i]);
}

/* Where all its rows are kept (query/rows/pair_rows.h) the loop answers it. */
static bool may_be_brief(const struct dx_ask *ask)
{
    return ask->page.limit <= DX_LIMIT_DEFAULT && ask->order.sort == DX_CURSOR_SORT_NONE &&
           (!dx_row_filter_any(&ask->filter) || dx_row_filter_is_times(&ask->filter));
}

static int answer_all_urls(const struct dx_answering *a)
{
    const struct dx_all_urls_ask urls = {
        .asked = a->ask->asked,
        .datasets = a->ask->datasets,
        .of_host = a->ask->of_host,
        .subdomains = a->ask->subdomains,
        .order = a->ask->order,
        .page = a->ask->page,
        .fields = a->ask->field_bits,
        .filter = a->ask->filter,
        .plan = a->ask->plan,
        .paging = dx_answering_paging(a),
        .brief = a->ask->brief,
        .deadline_ms = a->deadline_ms,
    };

    return dx_task_all_urls(a->view, a->canon, &urls, a->task, a->summary, a->body, a->problem);
}

static int take_host_cursor(struct dx_ask *ask, struct dx_problem *problem)
{
    if (ask->subdomains && !ask->from.subdomains)
        return dx_route_mismatch(problem, "this cursor is of a listing without subdomains");
    ask->subdomains = ask->from.subdomains;
    return dx_url_order_take(ask, problem);
}

static int check_host(struct dx_ask *ask, struct dx_problem *problem)
{
    ask->of_host = true;
    if (ask->subdomains && ask->offset_given && ask->cursor.data == NULL)
        return dx_route_refuse(problem, "a listing with subdomains=yes takes no offset: go on with "
                                        "next_cursor");
    return dx_url_order_check(ask, problem);
}

static const struct dx_route_words all_urls_words = {
    .operation = "getAllUrls",
    .group = "domains",
    .summary = "URLs of a domain in all datasets",
    .text = "Rows by dataset_id, then in the order of that dataset's listing; or of all datasets "
            "by sort. "
            "A page may be short and still not be the last: only next_cursor "
            "or next_offset marks the end. Next to a cursor only limit is "
            "useful; other parameters must be those of its first page.",
    .answer = "AllUrlsAnswer",
    .refused = "not-a-domain",
    .absent = "domain-not-found, dataset-not-found, domain-not-in-dataset",
    .too_much = "use a smaller limit",
    .withheld = true,
    .counts_only = true,
};

const struct dx_route dx_route_all_urls = {
    .name = "all_urls",
    .pattern = "domain/{domain}/urls",
    .words = &all_urls_words,
    .params = DX_PARAMS(&dx_param_offset, &dx_param_limit, &dx_param_fields, &dx_param_cursor,
                        &dx_param_plan, &dx_param_version, &dx_param_datasets, DX_FILTER_PARAMS,
                        DX_ORDER_PARAMS, &dx_param_format),
    .limit = { DX_LIMIT_DEFAULT, DX_LIMIT_MAX },
    .fields = &dx_row_fields,
    .rows = DX_ROWS(.member = "items", .urls = true,
                    DX_ROW_COLUMNS({ "dataset_id", DX_COLUMN_U64 }), .page = "site/{domain}"),
    .cost = { .base = 10, .rows_a_unit = 50 },
    .cursor = DX_CURSOR_ALL_URLS,
    .check = dx_url_order_check,
    .take_cursor = dx_url_order_take,
    .may_be_brief = may_be_brief,
    .listing = true,
    .canon = true,
    .restart = restart,
    .answer = answer_all_urls,
};

static const struct dx_route_words host_urls_words = {
    .operation = "getHostUrls",
    .group = "domains",
    .summary = "URLs of a host in all datasets",
    .text = "As the URLs of its domain, of one host, or with subdomains=yes of the host and all "
            "below it. With "
            "prefix the rows of one host that begin so are found by a search, and counted.",
    .answer = "HostUrlsAnswer",
    .refused = "not-a-domain, not-a-url",
    .absent = "domain-not-found, host-not-found, dataset-not-found, domain-not-in-dataset",
    .too_much = "use a smaller limit",
    .withheld = true,
    .counts_only = true,
};

static const struct dx_param host_subdomains = {
    .name = "subdomains",
    .words = { "no", "yes" },
    .member = offsetof(struct dx_ask, subdomains),
    .text = "Also the rows of hosts below this one, and of all its ports.",
};

const struct dx_route dx_route_host_urls = {
    .name = "host_urls",
    .pattern = "host/{host}/urls",
    .words = &host_urls_words,
    .params = DX_PARAMS(&dx_param_offset, &dx_param_limit, &dx_param_fields, &dx_param_cursor,
                        &dx_param_plan, &dx_param_version, &dx_param_datasets, DX_FILTER_PARAMS,
                        DX_ORDER_PARAMS, &host_subdomains, &dx_param_format),
    .limit = { DX_LIMIT_DEFAULT, DX_LIMIT_MAX },
    .fields = &dx_row_fields,
    .rows = DX_ROWS(.member = "items", .urls = true,
                    DX_ROW_COLUMNS({ "dataset_id", DX_COLUMN_U64 }), .page = "site/{host}"),
    .cost = { .base = 20, .rows_a_unit = 50 },
    .cursor = DX_CURSOR_ALL_URLS,
    .check = check_host,
    .take_cursor = take_host_cursor,
    .canon = true,
    .restart = restart,
    .answer = answer_all_urls,
};
