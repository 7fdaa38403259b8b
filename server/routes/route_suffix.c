/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "query/range/answer_suffix.h"
#include "server/routes/answers.h"
#include "server/routes/route.h"
#include "server/routes/url_order.h"

static void restart(const struct dx_ask *ask, struct dx_buf *b)
{
    dx_restart_path(ask, b);
    dx_buf_fmt(b, "?limit=%llu", (unsigned long long)dx_restart_limit(ask));
    dx_restart_dataset(ask, b);
}

static int answer(const struct dx_answering *a)
{
    const struct dx_suffix_ask suffix = { .asked = a->ask->asked,
                                          .one_dataset = a->ask->one_dataset,
                                          .dataset_id = a->ask->dataset_id,
                                          .limit = a->ask->page.limit,
                                          .paging = dx_answering_paging(a) };

    return dx_answer_suffix(a->view, a->canon, &suffix, a->body, a->problem);
}

static const struct dx_route_words suffix_words = {
    .operation = "getSuffix",
    .group = "domains",
    .summary = "Datasets of all domains of a suffix",
    .text = "Of a TLD, a public suffix, or any name: all domains below it, and itself. A page may "
            "be short, "
            "even empty, and still not be the last: only next_cursor marks the end.",
    .answer = "SuffixAnswer",
    .refused = "not-a-name",
    .absent = "dataset-not-found",
};

const struct dx_route dx_route_suffix = {
    .name = "suffix",
    .pattern = "suffix/{suffix}",
    .words = &suffix_words,
    .params = DX_PARAMS(&dx_param_limit, &dx_param_cursor, &dx_param_version, &dx_param_dataset,
                        &dx_param_format),
    .limit = { DX_LIMIT_DEFAULT, DX_LIMIT_MAX },
    .rows = DX_ROWS(.member = "datasets",
                    DX_ROW_COLUMNS({ "dataset_id", DX_COLUMN_U64 }, { "name", DX_COLUMN_TEXT },
                                   { "domain_count", DX_COLUMN_U64 },
                                   { "url_count", DX_COLUMN_U64 }, { "row_count", DX_COLUMN_U64 },
                                   { "first_ts", DX_COLUMN_TIME }, { "last_ts", DX_COLUMN_TIME },
                                   { "kind", DX_COLUMN_TEXT }, { "page_count", DX_COLUMN_U64 })),
    .cost = { .base = 20, .rows_a_unit = 100 },
    .pages = "datasets of a suffix",
    .cursor = DX_CURSOR_SUFFIX,
    .take_cursor = dx_take_dataset,
    .canon = true,
    .restart = restart,
    .answer = answer,
};

/* ---- its rows ---- */

static void restart_urls(const struct dx_ask *ask, struct dx_buf *b)
{
    restart(ask, b);
    dx_restart_plan(ask, b);
    dx_restart_fields(ask->field_bits, DX_FIELDS_DEFAULT, b);
    dx_restart_filter(&ask->filter, b);
    dx_url_order_restart(ask, b);
}

static int take_urls_cursor(struct dx_ask *ask, struct dx_problem *problem)
{
    int rc = dx_take_dataset(ask, problem);

    return rc == 1 ? dx_url_order_take(ask, problem) : rc;
}

static int answer_urls(const struct dx_answering *a)
{
    const struct dx_suffix_urls_ask urls = { .asked = a->ask->asked,
                                             .page = dx_answering_range(a) };

    return dx_task_suffix_urls(a->view, a->canon, &urls, a->task, a->body, a->problem);
}

static const struct dx_route_words urls_words = {
    .operation = "getSuffixUrls",
    .group = "domains",
    .summary = "URLs of all domains of a suffix",
    .text = "Rows in order of the reversed names of their domains, then by dataset_id, then as in "
            "listings; or by sort: then all rows are read, which is refused where they are too "
            "many. A page may be "
            "short, even empty, and still not be the last: only next_cursor marks the end.",
    .answer = "SuffixUrlsAnswer",
    .refused = "not-a-name",
    .absent = "dataset-not-found",
    .too_much = "use a smaller limit, cursors instead of an offset, or a name below it with a sort",
    .counts_only = true,
};

const struct dx_route dx_route_suffix_urls = {
    .name = "suffix_urls",
    .pattern = "suffix/{suffix}/urls",
    .words = &urls_words,
    .params = DX_PARAMS(&dx_param_offset, &dx_param_limit, &dx_param_fields, &dx_param_cursor,
                        &dx_param_version, &dx_param_dataset, &dx_param_plan, DX_FILTER_PARAMS,
                        DX_ORDER_PARAMS, &dx_param_format),
    .limit = { DX_LIMIT_DEFAULT, DX_LIMIT_MAX },
    .fields = &dx_row_fields,
    .rows = DX_ROWS(.member = "items", .urls = true,
                    DX_ROW_COLUMNS({ "domain", DX_COLUMN_TEXT }, { "dataset_id", DX_COLUMN_U64 })),
    .cost = { .base = 20, .rows_a_unit = 20 },
    .pages = "rows of a suffix",
    .cursor = DX_CURSOR_SUFFIX_URLS,
    .check = dx_url_order_check,
    .take_cursor = take_urls_cursor,
    .canon = true,
    .restart = restart_urls,
    .answer = answer_urls,
};
