/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "canon/key_number.h"
#include "server/routes/answers.h"
#include "server/routes/route.h"

static int no_key(const char *name, struct dx_span value, struct dx_problem *problem)
{
    return dx_route_refuse(problem,
                           "%s '%.*s' is not a number of 64 bits: 0x and hexadecimal digits, or "
                           "decimal ones, with '-' before them if it is a bigint",
                           name, dx_shown(value), (const char *)value.data);
}

static int set_from(struct dx_span value, struct dx_ask *ask, struct dx_problem *problem)
{
    ask->range_from = value;
    return dx_key_number(value, &ask->range_first) ? 1 : no_key("from", value, problem);
}

static int set_to(struct dx_span value, struct dx_ask *ask, struct dx_problem *problem)
{
    ask->range_to = value;
    return dx_key_number_end(value, &ask->range_end) ? 1 : no_key("to", value, problem);
}

/* Whichever of the two comes first. A cursor says both. */
static int check(struct dx_ask *ask, struct dx_problem *problem)
{
    if (ask->range_from.data == NULL && ask->cursor.data == NULL)
        return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "missing-parameter",
                              "Parameter missing", "this resource needs the parameter from");
    if (ask->range_end == 0 || ask->range_from.data == NULL || ask->range_first <= ask->range_end)
        return 1;
    return dx_route_refuse(problem,
                           "from '%.*s' is above to '%.*s'; as bigints negative numbers come after "
                           "the others",
                           dx_shown(ask->range_from), (const char *)ask->range_from.data,
                           dx_shown(ask->range_to), (const char *)ask->range_to.data);
}

static int take_cursor(struct dx_ask *ask, struct dx_problem *problem)
{
    const struct dx_cursor *c = &ask->from;

    if ((ask->range_from.data != NULL && ask->range_first != c->first) ||
        (ask->range_to.data != NULL && ask->range_end != c->end) || !dx_cursor_has_dataset(ask))
        return dx_route_mismatch(problem, "this cursor goes on with another range");
    ask->range_first = c->first;
    ask->range_end = c->end;
    ask->one_dataset = c->one_dataset;
    ask->dataset_id = c->dataset_id;
    return 1;
}

static void restart(const struct dx_ask *ask, struct dx_buf *b)
{
    dx_buf_fmt(b, "/v1/range?from=0x%016llx", (unsigned long long)ask->range_first);
    if (ask->range_end != 0)
        dx_buf_fmt(b, "&to=0x%016llx", (unsigned long long)ask->range_end);
    dx_restart_dataset(ask, b);
    dx_buf_fmt(b, "&limit=%llu", (unsigned long long)dx_restart_limit(ask));
    dx_restart_fields(ask->field_bits, DX_FIELDS_DEFAULT, b);
}

static int answer(const struct dx_answering *a)
{
    const struct dx_range_ask range = {
        .first = a->ask->range_first,
        .end = a->ask->range_end,
        .one_dataset = a->ask->one_dataset,
        .dataset_id = a->ask->dataset_id,
        .limit = a->ask->page.limit,
        .fields = a->ask->field_bits,
        .numbers = a->answers->numbers,
        .paging = dx_answering_paging(a),
        .deadline_ms = a->deadline_ms,
    };

    return dx_task_range(a->view, &range, a->task, a->body, a->problem);
}

static const struct dx_route_words range_words = {
    .operation = "getRange",
    .group = "urls",
    .summary = "Rows whose domain64 is in a range",
    .text = "Rows in order of domain64. `from` is required without a cursor. "
            "403 restricted: the caller may not see every dataset.",
    .answer = "RangeAnswer",
    .refused = "missing-parameter",
    .forbidden = true,
    .absent = "no-registry, dataset-not-found",
    .too_much = "use a smaller limit",
    .counts_only = true,
};

static const struct dx_param range_from = {
    .name = "from",
    .set = set_from,
    .schema = "\"type\":\"string\",\"pattern\":\"^(0x[0-9a-fA-F]{1,16}|-?[0-9]{1,"
              "18})$\"",
    .text = "The first number: 0x and hexadecimal digits, or decimal, also "
            "signed as a bigint. Required without a cursor. Decimal numbers "
            "of 19 and 20 digits are accepted too, up to 64 bits.",
};

static const struct dx_param range_to = {
    .name = "to",
    .set = set_to,
    .schema = "\"type\":\"string\",\"pattern\":\"^(0x[0-9a-fA-F]{1,16}|-?[0-9]{1,"
              "18}|MAXVALUE)$\"",
    .text = "The first number behind the range; 0 or none: no end; MAXVALUE: "
            "2^63. Decimal numbers of 19 and 20 digits are accepted too,"
            " up to 64 bits.",
};

const struct dx_route dx_route_range = {
    .name = "range",
    .pattern = "range",
    .words = &range_words,
    .params = DX_PARAMS(&dx_param_limit, &dx_param_fields, &dx_param_cursor, &dx_param_version,
                        &range_from, &range_to, &dx_param_dataset, &dx_param_format),
    .limit = { DX_LIMIT_DEFAULT, DX_LIMIT_MAX },
    .fields = &dx_row_fields,
    .check = check,
    .rows = DX_ROWS(.member = "items", .urls = true,
                    DX_ROW_COLUMNS({ "domain64", DX_COLUMN_TEXT }, { "domain", DX_COLUMN_TEXT },
                                   { "dataset_id", DX_COLUMN_U64 })),
    .cost = { .base = 20, .rows_a_unit = 20 },
    .pages = "ranges",
    .cursor = DX_CURSOR_RANGE,
    .take_cursor = take_cursor,
    .restart = restart,
    .answer = answer,
};
