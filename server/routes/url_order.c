/* SPDX-License-Identifier: Apache-2.0 */
#include "server/routes/url_order.h"

#include "base/buf.h"
#include "base/civil_time.h"
#include "query/rows/time_words.h"
#include "query/scan/collapse.h"

static const char *const collapse_words[] = { [DX_COLLAPSE_URL] = "url",
                                              [DX_COLLAPSE_HOST] = "host",
                                              [DX_COLLAPSE_DIGEST] = "digest",
                                              [DX_COLLAPSE_TIME] = "time" };

static int set_sort(struct dx_span value, struct dx_ask *ask, struct dx_problem *problem)
{
    ask->order.sort = dx_span_equal(value, dx_span_str("url"))    ? DX_CURSOR_SORT_URL
                      : dx_span_equal(value, dx_span_str("time")) ? DX_CURSOR_SORT_TIME
                                                                  : DX_CURSOR_SORT_NONE;
    if (ask->order.sort != DX_CURSOR_SORT_NONE)
        return 1;
    return dx_route_refuse(problem, "sort '%.*s' is neither url nor time", dx_shown(value),
                           (const char *)value.data);
}

static int set_closest(struct dx_span value, struct dx_ask *ask, struct dx_problem *problem)
{
    int64_t end_us;

    ask->closest_given = dx_time_words(value, &ask->order.closest_us, &end_us);
    if (ask->closest_given)
        return 1;
    return dx_route_refuse(problem,
                           "closest '%.*s' is not a time, as 2019, 2019-07, 2019-07-04T10:20:30Z "
                           "or 20190704102030",
                           dx_shown(value), (const char *)value.data);
}

static int set_collapse(struct dx_span value, struct dx_ask *ask, struct dx_problem *problem)
{
    enum dx_collapse kind;

    if (dx_collapse_parse(value, &kind, &ask->order.digits)) {
        ask->order.collapse = kind;
        return 1;
    }
    return dx_route_refuse(
        problem, "collapse '%.*s' is none of url, host, digest and time:N, N from 4 to 14",
        dx_shown(value), (const char *)value.data);
}

const struct dx_param dx_param_sort = {
    .name = "sort",
    .set = set_sort,
    .schema = "\"type\":\"string\",\"enum\":[\"url\",\"time\"]",
    .text = "Merge the datasets: by host, path, time and dataset, or by time. Without it rows come "
            "dataset "
            "by dataset.",
};

const struct dx_param dx_param_reverse = {
    .name = "reverse",
    .words = { "no", "yes" },
    .member = offsetof(struct dx_ask, order.reverse),
    .text = "The last rows first. Implies `sort=url` without a `sort`.",
};

const struct dx_param dx_param_closest = {
    .name = "closest",
    .set = set_closest,
    .schema = DX_TIME_SCHEMA,
    .text = "The rows nearest to the first moment of this time first; those without a time last. "
            "Forms as of "
            "`from`. Takes no `sort` and no `reverse`.",
    .example = "2019-07",
};

const struct dx_param dx_param_collapse = {
    .name = "collapse",
    .set = set_collapse,
    .schema = "\"type\":\"string\",\"pattern\":\"^(url|host|digest|time:([4-9]|1[0-4]))$\"",
    .text = "Of rows that follow each other and have the same URL (whatever the scheme), host, "
            "`digest`, or first N digits "
            "of YYYYMMDDhhmmss, only the first. Implies `sort=url` without a `sort` or `closest`.",
    .example = "url",
};

int dx_url_order_check(struct dx_ask *ask, struct dx_problem *problem)
{
    struct dx_url_order *o = &ask->order;

    if (ask->closest_given && (o->sort != DX_CURSOR_SORT_NONE || o->reverse))
        return dx_route_refuse(problem, "closest is an order of its own: it takes no sort and no "
                                        "reverse=yes");
    if (ask->closest_given)
        o->sort = DX_CURSOR_SORT_CLOSEST;
    else if (o->sort == DX_CURSOR_SORT_NONE && (o->reverse || o->collapse != DX_COLLAPSE_NONE))
        o->sort = DX_CURSOR_SORT_URL;
    if (o->sort == DX_CURSOR_SORT_NONE || ask->cursor.data != NULL)
        return 1;
    if (ask->offset_given)
        return dx_route_refuse(problem, "a listing by sort, reverse, closest or collapse takes no "
                                        "offset: go on with next_cursor");
    if (ask->plan > 0)
        return dx_route_refuse(problem, "a plan is made of rows as they are stored: it takes no "
                                        "sort, reverse, closest or collapse");
    return 1;
}

int dx_url_order_take(struct dx_ask *ask, struct dx_problem *problem)
{
    const struct dx_cursor *c = &ask->from;
    const struct dx_url_order own = { .sort = (enum dx_cursor_sort)c->sort,
                                      .reverse = c->reverse,
                                      .closest_us = c->closest_us,
                                      .collapse = c->collapse,
                                      .digits = c->collapse_digits };
    const struct dx_url_order *o = &ask->order;

    if (o->sort != DX_CURSOR_SORT_NONE &&
        (o->sort != own.sort || o->reverse != own.reverse || o->closest_us != own.closest_us ||
         o->collapse != own.collapse || o->digits != own.digits))
        return dx_route_mismatch(problem, "this cursor is of a listing in another order");
    if (c->collapse >= DX_COLLAPSE_COUNT)
        return dx_route_mismatch(problem, "this cursor is of a listing in an unknown order");
    ask->order = own;
    return 1;
}

void dx_url_order_restart(const struct dx_ask *ask, struct dx_buf *b)
{
    const struct dx_url_order *o = &ask->order;
    char time[DX_CIVIL_TEXT];

    if (o->sort == DX_CURSOR_SORT_CLOSEST) {
        size_t n = dx_civil_text_us(o->closest_us, time);

        dx_restart_param("closest", dx_span_of(time, n), b);
    } else if (o->sort != DX_CURSOR_SORT_NONE) {
        dx_buf_fmt(b, "&sort=%s%s", o->sort == DX_CURSOR_SORT_TIME ? "time" : "url",
                   o->reverse ? "&reverse=yes" : "");
    }
    if (o->collapse != DX_COLLAPSE_NONE)
        dx_buf_fmt(b, "&collapse=%s", collapse_words[o->collapse]);
    if (o->collapse == DX_COLLAPSE_TIME)
        dx_buf_fmt(b, ":%u", o->digits);
}
