/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "query/foreign/foreign_rows.h"
#include "server/routes/answers.h"
#include "server/routes/route.h"

static int answer(const struct dx_answering *a)
{
    const struct dx_foreign_ask rows = {
        .folder = a->answers->foreign,
        .urls = { .asked = a->ask->asked,
                  .dataset_id = a->ask->dataset_id,
                  .page = a->ask->page,
                  .filter = a->ask->filter,
                  .paging = dx_answering_paging(a),
                  .deadline_ms = a->deadline_ms },
        .columns = a->ask->columns,
    };

    return dx_task_foreign_rows(a->view, a->canon, &rows, a->task, a->summary, a->body, a->problem);
}

static void restart(const struct dx_ask *ask, struct dx_buf *b)
{
    dx_restart_path(ask, b);
    dx_buf_fmt(b, "?limit=%llu", (unsigned long long)dx_restart_limit(ask));
    dx_restart_param("columns", ask->columns, b);
    dx_restart_filter(&ask->filter, b);
}

static const struct dx_param foreign_columns = {
    .name = "columns",
    .member = offsetof(struct dx_ask, columns),
    .schema = "\"type\":\"string\"",
    .text = "Names of top-level columns of the files, separated by commas; all if not given.",
    .example = "text,language",
};

static const struct dx_route_words foreign_rows_words = {
    .operation = "getForeignRows",
    .group = "domains",
    .summary = "Rows of files that were indexed in place",
    .text =
        "A page of the listing, and of each item the row of the Parquet file that its locator "
        "leads to, where the server may read it (--foreign). Pages by cursor (next_cursor) stay "
        "on one version; next to a cursor give columns again.",
    .answer = "ForeignRowsAnswer",
    .refused = "not-a-domain, no-such-column",
    .forbidden = true,
    .absent = "domain-not-found, dataset-not-found, domain-not-in-dataset",
    .too_much = "use a smaller limit, or fewer columns",
    .withheld = true,
    .counts_only = true,
};

const struct dx_route dx_route_foreign_rows = {
    .name = "foreign_rows",
    .pattern = "domain/{domain}/datasets/{dataset}/rows",
    .words = &foreign_rows_words,
    .params = DX_PARAMS(&dx_param_offset, &dx_param_limit, &foreign_columns, &dx_param_cursor,
                        &dx_param_version, DX_FILTER_PARAMS),
    .limit = { DX_FOREIGN_LIMIT_DEFAULT, DX_FOREIGN_LIMIT_MAX },
    /* A row may be a page of a file, and the pages before it in its row group. */
    .cost = { .base = 10, .rows_a_unit = 1 },
    .cursor = DX_CURSOR_FOREIGN,
    .lasts = dx_route_never, /* it reads files that are not the index's */
    .take_cursor = dx_listing_take_cursor,
    .canon = true,
    .restart = restart,
    .answer = answer,
};
