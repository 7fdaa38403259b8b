/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "server/routes/answers.h"
#include "server/routes/route.h"

static void restart(const struct dx_ask *ask, struct dx_buf *b)
{
    dx_buf_fmt(b, "/v1/tlds?limit=%llu", (unsigned long long)dx_restart_limit(ask));
    dx_restart_dataset(ask, b);
}

static int answer(const struct dx_answering *a)
{
    const struct dx_tlds_ask tlds = { .one_dataset = a->ask->one_dataset,
                                      .dataset_id = a->ask->dataset_id,
                                      .limit = a->ask->page.limit,
                                      .paging = dx_answering_paging(a) };

    return dx_answer_tlds(a->view, a->canon, &tlds, a->body, a->problem);
}

static const struct dx_route_words tlds_words = {
    .operation = "getTlds",
    .group = "datasets",
    .summary = "Domains, URLs and rows of each top-level domain",
    .text = "The TLD is the last label. A page may be short, even empty,"
            " and still not be the last: only next_cursor marks the end.",
    .answer = "TldsAnswer",
    .absent = "dataset-not-found",
};

const struct dx_route dx_route_tlds = {
    .name = "tlds",
    .pattern = "tlds",
    .words = &tlds_words,
    .params = DX_PARAMS(&dx_param_limit, &dx_param_cursor, &dx_param_version, &dx_param_dataset,
                        &dx_param_format),
    .limit = { DX_LIMIT_DEFAULT, DX_LIMIT_MAX },
    .rows = DX_ROWS(.member = "tlds",
                    DX_ROW_COLUMNS({ "tld", DX_COLUMN_TEXT }, { "domain_count", DX_COLUMN_U64 },
                                   { "url_count", DX_COLUMN_U64 }, { "row_count", DX_COLUMN_U64 },
                                   { "page_count", DX_COLUMN_U64 },
                                   { "tld_unicode", DX_COLUMN_TEXT })),
    .cost = { .base = 20, .rows_a_unit = 100 },
    .pages = "TLDs",
    .cursor = DX_CURSOR_TLDS,
    .take_cursor = dx_take_dataset,
    .canon = true,
    .restart = restart,
    .answer = answer,
};
