/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "canon/key_number.h"
#include "query/range/range_ask.h"
#include "query/rows/time_words.h"
#include "server/routes/answers.h"
#include "server/routes/route.h"
#include "server/routes/url_order.h"

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

/* `from` and `to` are numbers here. */
static int set_time(const char *name, struct dx_span value, struct dx_span *to,
                    struct dx_problem *problem)
{
    int64_t first_us;
    int64_t end_us;

    *to = value;
    return dx_time_words(value, &first_us, &end_us)
               ? 1
               : dx_route_refuse(problem,
                                 "%s '%.*s' is not a time, as 2019, 2019-07, 2019-07-04T10:20:30Z "
                                 "or 20190704102030",
                                 name, dx_shown(value), (const char *)value.data);
}

static int set_from_ts(struct dx_span value, struct dx_ask *ask, struct dx_problem *problem)
{
    return set_time("from_ts", value, &ask->filter.from, problem);
}

static int set_to_ts(struct dx_span value, struct dx_ask *ask, struct dx_problem *problem)
{
    return set_time("to_ts", value, &ask->filter.to, problem);
}

static bool is_backwards(const struct dx_row_filter *f)
{
    int64_t first[2];
    int64_t end[2];

    return f->from.data != NULL && f->to.data != NULL &&
           dx_time_words(f->from, &first[0], &end[0]) && dx_time_words(f->to, &first[1], &end[1]) &&
           first[0] >= end[1];
}

/* Whichever of the two comes first. A cursor says both. */
static int check(struct dx_ask *ask, struct dx_problem *problem)
{
    if (is_backwards(&ask->filter))
        return dx_route_refuse(problem, "from_ts lies behind to_ts: no time is in between");
    if (ask->range_from.data == NULL && ask->cursor.data == NULL)
        return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "missing-parameter",
                              "Parameter missing", "this resource needs the parameter from");
    if (ask->range_end == 0 || ask->range_from.data == NULL || ask->range_first <= ask->range_end)
        return dx_url_order_check(ask, problem);
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
    return dx_url_order_take(ask, problem);
}

static void restart(const struct dx_ask *ask, struct dx_buf *b)
{
    struct dx_row_filter rest = ask->filter;

    dx_buf_fmt(b, "/v1/range?from=0x%016llx", (unsigned long long)ask->range_first);
    if (ask->range_end != 0)
        dx_buf_fmt(b, "&to=0x%016llx", (unsigned long long)ask->range_end);
    dx_restart_dataset(ask, b);
    dx_buf_fmt(b, "&limit=%llu", (unsigned long long)dx_restart_limit(ask));
    dx_restart_plan(ask, b);
    dx_restart_fields(ask->field_bits, DX_FIELDS_DEFAULT, b);
    rest.from = rest.to = dx_span_of(NULL, 0);
    dx_restart_filter(&rest, b);
    dx_restart_param("from_ts", ask->filter.from, b);
    dx_restart_param("to_ts", ask->filter.to, b);
    dx_url_order_restart(ask, b);
}

static int answer(const struct dx_answering *a)
{
    const struct dx_numbers_ask range = { .first = a->ask->range_first,
                                          .end = a->ask->range_end,
                                          .numbers = a->answers->numbers,
                                          .page = dx_answering_range(a) };

    return dx_task_numbers(a->view, &range, a->task, a->body, a->problem);
}

static const struct dx_route_words range_words = {
    .operation = "getRange",
    .group = "urls",
    .summary = "Rows whose domain64 is in a range",
    .text = "Rows in order of the domain64 of their domains, then by dataset_id, then as in "
            "listings; or by sort. With a sort or an offset all rows are read, which is refused "
            "where they are "
            "too many. `from` is required without a cursor. A page may be short, even empty, and "
            "still not be the last: only next_cursor marks the end. "
            "403 restricted: the caller may not see every dataset.",
    .answer = "RangeAnswer",
    .refused = "missing-parameter",
    .forbidden = true,
    .absent = "no-registry, dataset-not-found",
    .too_much = "use a smaller limit, or a smaller range with a sort or an offset",
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

static const struct dx_param range_from_ts = {
    .name = "from_ts",
    .set = set_from_ts,
    .schema = DX_TIME_SCHEMA,
    .text = "Only rows from this time on, as `from` of other listings.",
    .example = "2019-07",
};

static const struct dx_param range_to_ts = {
    .name = "to_ts",
    .set = set_to_ts,
    .schema = DX_TIME_SCHEMA,
    .text = "Only rows up to this time, and all of it, as `to` of other listings.",
    .example = "2019-07",
};

const struct dx_route dx_route_range = {
    .name = "range",
    .pattern = "range",
    .words = &range_words,
    .params = DX_PARAMS(&dx_param_offset, &dx_param_limit, &dx_param_fields, &dx_param_cursor,
                        &dx_param_version, &range_from, &range_to, &dx_param_dataset,
                        &dx_param_plan, &dx_param_tag, &dx_param_mime, &dx_param_prefix,
                        &range_from_ts, &range_to_ts, &dx_param_status, &dx_param_lang,
                        &dx_param_filter, DX_ORDER_PARAMS, &dx_param_format),
    .limit = { DX_LIMIT_DEFAULT, DX_LIMIT_MAX },
    .fields = &dx_row_fields,
    .check = check,
    .rows = DX_ROWS(.member = "items", .urls = true,
                    DX_ROW_COLUMNS({ "domain64", DX_COLUMN_TEXT }, { "domain", DX_COLUMN_TEXT },
                                   { "dataset_id", DX_COLUMN_U64 })),
    .cost = { .base = 20, .rows_a_unit = 20 },
    .pages = "ranges",
    .cursor = DX_CURSOR_RANGE,
    .lasts = dx_route_never, /* names are numbered after a version is made, too */
    .take_cursor = take_cursor,
    .restart = restart,
    .answer = answer,
};
