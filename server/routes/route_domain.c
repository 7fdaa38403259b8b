/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "server/routes/answers.h"
#include "server/routes/route.h"

/* Where not all may be seen, sketches may have to be read. */
static bool is_scoped(const struct dx_ask *ask)
{
    return ask->scope != NULL;
}

static bool is_whole(const struct dx_ask *ask)
{
    return ask->scope == NULL;
}

static void restart(const struct dx_ask *ask, struct dx_buf *b)
{
    dx_restart_path(ask, b);
    for (unsigned f = 0, n = 0;
         ask->field_bits != DX_DOMAIN_FIELDS_ALL && f < DX_DOMAIN_FIELD_COUNT; f++)
        if ((ask->field_bits >> f & 1) != 0)
            dx_buf_fmt(b, "%s%s", n++ == 0 ? "?fields=" : ",", dx_domain_field_names[f]);
}

static int answer(const struct dx_answering *a)
{
    const struct dx_domain_ask domain = { .asked = a->ask->asked,
                                          .fields = a->ask->field_bits,
                                          .brief = a->ask->brief,
                                          .deadline_ms = a->deadline_ms };

    return dx_task_domain(a->view, a->canon, &domain, a->task, a->summary, a->body, a->problem);
}

static const struct dx_route_fields fields = {
    dx_domain_fields_parse,
    "is not a field; there are dataset_id, name, url_count, url_count_est, row_count, first_ts, "
    "last_ts, share and rank, separated by commas",
    DX_DOMAIN_FIELDS_ALL,
    dx_domain_field_names,
    DX_DOMAIN_FIELD_COUNT,
};

static const struct dx_route_words domain_words = {
    .operation = "getDomain",
    .group = "domains",
    .summary = "Datasets that contain a domain",
    .text = "A name of any form is reduced to its registered domain. 404 "
            "domain-not-found: no visible dataset contains it.",
    .answer = "DomainAnswer",
    .refused = "not-a-domain",
    .absent = "domain-not-found",
    .withheld = true,
};

const struct dx_route dx_route_domain = {
    .name = "domain",
    .pattern = "domain/{domain}",
    .words = &domain_words,
    .params = DX_PARAMS(&dx_param_fields, &dx_param_version, &dx_param_format),
    .fields = &fields,
    .rows = DX_ROWS(.member = "datasets",
                    DX_ROW_COLUMNS({ "dataset_id", DX_COLUMN_U64 }, { "name", DX_COLUMN_TEXT },
                                   { "url_count", DX_COLUMN_U64 },
                                   { "url_count_est", DX_COLUMN_U64 },
                                   { "row_count", DX_COLUMN_U64 }, { "first_ts", DX_COLUMN_TIME },
                                   { "last_ts", DX_COLUMN_TIME }, { "share", DX_COLUMN_F64 },
                                   { "rank", DX_COLUMN_U64 }, { "withheld_rows", DX_COLUMN_U64 }),
                    .page = "site/{domain}"),
    .cost = { .base = 1 },
    .on_loop = is_whole,
    .may_be_brief = is_scoped,
    .canon = true,
    .keeps_replies = true,
    .restart = restart,
    .answer = answer,
};
