/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "query/range/answer_suffix.h"
#include "server/routes/answers.h"
#include "server/routes/route.h"

#include <inttypes.h>

/* Where not all may be seen, sketches may have to be read. */
static bool is_scoped(const struct dx_ask *ask)
{
    return ask->scope != NULL && !ask->view_icann;
}

static bool is_whole(const struct dx_ask *ask)
{
    return ask->scope == NULL && !ask->view_icann;
}

static int set_sort(struct dx_span value, struct dx_ask *ask, struct dx_problem *problem)
{
    for (unsigned f = 0; f < DX_DOMAIN_FIELD_COUNT; f++)
        if (dx_span_equal(value, dx_span_str(dx_domain_field_names[f]))) {
            ask->datasets_by = 1U << f;
            return 1;
        }
    return dx_route_refuse(problem,
                           "sort '%.*s' is not one of the members of an item, dataset_id, "
                           "url_count, share and such",
                           dx_shown(value), (const char *)value.data);
}

static int resolve(struct dx_ask *ask, struct dx_problem *problem)
{
    if (!ask->view_icann || ask->datasets_by != DX_DOMAIN_FIELD_RANK)
        return 1;
    return dx_route_refuse(problem,
                           "view=icann has no ranks to sort by: a rank is of one domain of the "
                           "index; use sort=share or sort=url_count");
}

static void write_restart(const struct dx_ask *ask, struct dx_buf *b)
{
    char mark = '?';

    dx_restart_path(ask, b);
    for (unsigned f = 0, n = 0;
         ask->field_bits != DX_DOMAIN_FIELDS_ALL && f < DX_DOMAIN_FIELD_COUNT; f++)
        if ((ask->field_bits >> f & 1) != 0) {
            dx_buf_fmt(b, "%s%s", n++ == 0 ? "?fields=" : ",", dx_domain_field_names[f]);
            mark = '&';
        }
    for (unsigned f = 0; f < DX_DOMAIN_FIELD_COUNT; f++)
        if (ask->datasets_by == 1U << f) {
            dx_buf_fmt(b, "%csort=%s", mark, dx_domain_field_names[f]);
            mark = '&';
        }
    if (ask->datasets_reverse) {
        dx_buf_fmt(b, "%creverse=yes", mark);
        mark = '&';
    }
    if (ask->limit_given && ask->row_format == DX_ROWS_JSON) {
        dx_buf_fmt(b, "%climit=%" PRIu64, mark, ask->page.limit);
        mark = '&';
    }
    if (ask->view_icann)
        dx_buf_fmt(b, "%cview=icann", mark);
}

static int answer(const struct dx_answering *a)
{
    const struct dx_domain_ask domain = { .asked = a->ask->asked,
                                          .fields = a->ask->field_bits,
                                          .order = { .by = a->ask->datasets_by,
                                                     .reverse = a->ask->datasets_reverse,
                                                     .page = a->ask->page },
                                          .brief = a->ask->brief,
                                          .deadline_ms = a->deadline_ms };

    if (a->ask->view_icann)
        return dx_answer_icann(
            a->view, a->canon,
            &(struct dx_icann_ask){ a->ask->asked, a->ask->field_bits, domain.order }, a->summary,
            a->body, a->problem);
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
    .too_much = "a domain of over a million others with view=icann; ask for it as a suffix",
    .absent = "domain-not-found",
    .withheld = true,
};

static const struct dx_param domain_sort = {
    .name = "sort",
    .set = set_sort,
    .schema =
        "\"type\":\"string\",\"enum\":[\"dataset_id\",\"name\",\"url_count\",\"url_count_est\","
        "\"row_count\",\"first_ts\",\"last_ts\",\"share\",\"rank\"],\"default\":\"dataset_id\"",
    .text =
        "Member by which the datasets are ordered; those that agree, by id, and those without a "
        "time last.",
};

static const struct dx_param domain_reverse = {
    .name = "reverse",
    .words = { "no", "yes" },
    .member = offsetof(struct dx_ask, datasets_reverse),
    .text = "The largest first.",
};

static const struct dx_param domain_view = {
    .name = "view",
    .words = { "private", "icann" },
    .member = offsetof(struct dx_ask, view_icann),
    .text =
        "By which rules of the Public Suffix List a name is reduced to its domain: all of them, or "
        "ICANN's alone. Of "
        "that domain counts are sums over all domains that private rules make of names below it.",
};

const struct dx_route dx_route_domain = {
    .name = "domain",
    .pattern = "domain/{domain}",
    .words = &domain_words,
    .params = DX_PARAMS(&dx_param_offset, &dx_param_limit, &dx_param_fields, &domain_sort,
                        &domain_reverse, &domain_view, &dx_param_version, &dx_param_format),
    .limit = { 0, 10000 }, /* without one: all */
    .fields = &fields,
    .rows = DX_ROWS(.member = "datasets",
                    DX_ROW_COLUMNS({ "dataset_id", DX_COLUMN_U64 }, { "name", DX_COLUMN_TEXT },
                                   { "url_count", DX_COLUMN_U64 },
                                   { "url_count_est", DX_COLUMN_U64 },
                                   { "row_count", DX_COLUMN_U64 }, { "first_ts", DX_COLUMN_TIME },
                                   { "last_ts", DX_COLUMN_TIME }, { "share", DX_COLUMN_F64 },
                                   { "rank", DX_COLUMN_U64 }, { "withheld_rows", DX_COLUMN_U64 },
                                   { "kind", DX_COLUMN_TEXT }, { "page_count", DX_COLUMN_U64 },
                                   { "domain_count", DX_COLUMN_U64 }),
                    .page = "site/{domain}"),
    .cost = { .base = 1 },
    .on_loop = is_whole,
    .may_be_brief = is_scoped,
    .resolve = resolve,
    .canon = true,
    .keeps_replies = true,
    .restart = write_restart,
    .answer = answer,
};
