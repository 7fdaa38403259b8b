/* SPDX-License-Identifier: Apache-2.0 */
#include "server/routes/route.h"

#include "base/buf.h"
#include "base/decimal.h"
#include "base/hex.h"
#include "fetch/object_url.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TAIL_BYTES ((size_t)2 * DX_CURSOR_TEXT)

#define ROW(number, name) [DX_ROUTE_##number] = &dx_route_##name,
const struct dx_route *const dx_routes[DX_ROUTE_COUNT] = { DX_ROUTES(ROW) };

const char *dx_route_name(enum dx_route_id route)
{
    return (size_t)route < DX_ROUTE_COUNT ? dx_routes[route]->name : "none";
}

int dx_route_refuse(struct dx_problem *problem, const char *fmt, ...)
{
    char text[sizeof problem->detail];
    va_list arguments;

    va_start(arguments, fmt);
    (void)vsnprintf(text, sizeof text, fmt, arguments);
    va_end(arguments);
    return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "bad-parameter", "Bad parameter", "%s",
                          text);
}

int dx_route_mismatch(struct dx_problem *problem, const char *what)
{
    return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "cursor-mismatch",
                          "The cursor is of another question",
                          "%s; a cursor goes with the path that it came from, and needs no "
                          "parameter but limit",
                          what);
}

bool dx_route_always(const struct dx_ask *ask)
{
    (void)ask;
    return true;
}

bool dx_route_never(const struct dx_ask *ask)
{
    (void)ask;
    return false;
}

/* A cursor holds the time of the first page, and is of no use some minutes later. Members behind the rows are short, and no text
 * inside a JSON string looks like this. */
static bool has_cursor(struct dx_span body)
{
    static const char member[] = "\"next_cursor\":\"";
    size_t size = body.size < TAIL_BYTES ? body.size : TAIL_BYTES;

    return size > 0 &&
           memmem(body.data + body.size - size, size, member, sizeof member - 1) != NULL;
}

bool dx_route_answer_lasts(const struct dx_ask *ask, struct dx_span body)
{
    const struct dx_route *route = dx_routes[ask->route];

    return ask->plan == 0 && (route->lasts == NULL || route->lasts(ask)) &&
           (route->cursor == 0 || !has_cursor(body));
}

/* ---- text ---- */

static bool unescape_text(struct dx_ask *ask, struct dx_span raw, struct dx_span *out)
{
    uint8_t *to = ask->text + ask->text_size;
    size_t n = 0;

    *out = raw;
    if (raw.size == 0 || memchr(raw.data, '%', raw.size) == NULL)
        return true;
    if (raw.size > sizeof ask->text - ask->text_size)
        return false; /* cannot happen for targets the head parser let pass */
    for (size_t i = 0; i < raw.size; i++) {
        int c = dx_hex_escape(raw.data + i, raw.data + raw.size);

        if (raw.data[i] == '%' && c < 0)
            return false;
        to[n++] = c < 0 ? raw.data[i] : (uint8_t)c;
        i += c < 0 ? 0 : 2;
    }
    ask->text_size += n;
    *out = (struct dx_span){ to, n };
    return true;
}

int dx_ask_decode(struct dx_ask *ask, struct dx_span raw, struct dx_span *out,
                  struct dx_problem *problem)
{
    if (unescape_text(ask, raw, out))
        return 1;
    return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "bad-percent-encoding",
                          "Malformed percent-encoding",
                          "a '%%' in the request is not followed by two hexadecimal digits; "
                          "write a literal percent sign as %%25");
}

/* "{dataset}", "{a}" and "{b}" of a pattern. */
static bool is_dataset(const char *name)
{
    return strncmp(name, "{dataset}", 9) == 0 || strncmp(name, "{a}", 3) == 0 ||
           strncmp(name, "{b}", 3) == 0;
}

static bool is_digits(struct dx_span text)
{
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
    return true;
}

/* A dataset's id, or its name, which is left in *name: text of digits is an id; "id:7" and "name:7" say
 * which is meant. */
static int read_dataset(struct dx_span text, uint32_t *id, struct dx_span *name,
                        struct dx_problem *problem)
{
    uint64_t v;

    if (!is_digits(text)) {
        *name = text;
        return 1;
    }
    if (!dx_decimal(text, UINT32_MAX, &v))
        return dx_problem_set(
            problem, DX_PROBLEM_BAD_REQUEST, "bad-dataset-id", "Bad dataset id",
            "dataset id '%.*s' is not a whole number from 0 to 4294967295; a name of "
            "digits is written name:%.*s; /v1/datasets lists ids and names",
            dx_shown(text), (const char *)text.data, dx_shown(text), (const char *)text.data);
    *id = (uint32_t)v;
    return 1;
}

static int capture_dataset(bool is_other, struct dx_span captured, struct dx_ask *ask,
                           struct dx_problem *problem)
{
    struct dx_span text;

    if (dx_ask_decode(ask, captured, &text, problem) == 0)
        return 0;
    return is_other ? read_dataset(text, &ask->other_id, &ask->other_name, problem)
                    : read_dataset(text, &ask->dataset_id, &ask->dataset_name, problem);
}

int dx_route_capture(const char *name, struct dx_span captured, struct dx_ask *ask,
                     struct dx_problem *problem)
{
    const struct dx_route *route = dx_routes[ask->route];

    if (route->capture != NULL)
        return route->capture(captured, ask, problem);
    if (is_dataset(name))
        return capture_dataset(name[1] == 'b', captured, ask, problem);
    return dx_ask_decode(ask, captured, &ask->asked, problem);
}

/* ---- cursors ---- */

bool dx_cursor_has_dataset(const struct dx_ask *ask)
{
    const struct dx_cursor *c = &ask->from;

    return !ask->one_dataset ||
           (c->one_dataset && (ask->dataset_name.data != NULL || c->dataset_id == ask->dataset_id));
}

int dx_take_dataset(struct dx_ask *ask, struct dx_problem *problem)
{
    const struct dx_cursor *c = &ask->from;

    if (!dx_cursor_has_dataset(ask))
        return dx_route_mismatch(problem, "this cursor is of another dataset, or of all of them");
    ask->one_dataset = c->one_dataset;
    ask->dataset_id = c->dataset_id;
    return 1;
}

/* ---- parameters of several routes ---- */

static const struct dx_param receipt = {
    .name = "receipt",
    .words = { "0", "1" },
    .member = offsetof(struct dx_ask, receipt),
    .text = "With a signed statement of question, answer, version and time in the field "
            "Domaindex-Receipt.",
};

const struct dx_param *dx_route_param(const struct dx_route *route, size_t i)
{
    size_t own = 0;

    while (route->params != NULL && own < i && route->params[own] != NULL)
        own++;
    if (route->params != NULL && route->params[own] != NULL)
        return route->params[own];
    return i == own && !route->own && !route->admin && !route->post ? &receipt : NULL;
}

static int limit_too_large(const struct dx_route *route, uint64_t limit, struct dx_problem *problem)
{
    if (route->limit_why != NULL)
        return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "limit-too-large", "Limit too large",
                              "limit %" PRIu64 " is over the cap of %" PRIu64 ": %s", limit,
                              route->limit.max, route->limit_why);
    return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "limit-too-large", "Limit too large",
                          "limit %" PRIu64 " is over the cap of %" PRIu64
                          "; ask for pages of at most %" PRIu64 " and go on with %s",
                          limit, route->limit.max, route->limit.max,
                          route->cursor != 0 ? "next_cursor" : "next_offset");
}

int dx_route_check_limit(const struct dx_ask *ask, struct dx_problem *problem)
{
    const struct dx_route *route = dx_routes[ask->route];

    return ask->page.limit <= route->limit.max ? 1
                                               : limit_too_large(route, ask->page.limit, problem);
}

/* Of rows, whether there is a cap follows from the format, which may come later. */
static int set_limit(struct dx_span value, struct dx_ask *ask, struct dx_problem *problem)
{
    const struct dx_route *route = dx_routes[ask->route];
    uint64_t v;

    if (!dx_decimal(value, route->rows != NULL ? INT64_MAX : UINT64_MAX, &v) || v == 0)
        return dx_route_refuse(problem, "limit '%.*s' is not a whole number from 1 to %" PRIu64,
                               dx_shown(value), (const char *)value.data, route->limit.max);
    ask->page.limit = v;
    ask->limit_given = true;
    return route->rows != NULL ? 1 : dx_route_check_limit(ask, problem);
}

static int set_offset(struct dx_span value, struct dx_ask *ask, struct dx_problem *problem)
{
    /* Clients in other languages hold it in an int64. */
    bool ok = dx_decimal(value, INT64_MAX, &ask->page.offset);

    /* 0 says what holds without it, and generated clients send it with everything. */
    ask->offset_given = ok && ask->page.offset > 0;
    if (ok)
        return 1;
    return dx_route_refuse(problem,
                           "offset '%.*s' is not a whole number from 0 to 9223372036854775807",
                           dx_shown(value), (const char *)value.data);
}

static int set_dataset(struct dx_span value, struct dx_ask *ask, struct dx_problem *problem)
{
    ask->one_dataset = true;
    return read_dataset(value, &ask->dataset_id, &ask->dataset_name, problem);
}

const struct dx_route_rows *dx_route_rows_of(const struct dx_ask *ask)
{
    const struct dx_route *route = dx_routes[ask->route];

    return ask->of_urls && route->url_rows != NULL ? route->url_rows : route->rows;
}

bool dx_route_gives(const struct dx_route *route, enum dx_row_format format)
{
    return !dx_row_formats[format].of_urls || route->rows->urls ||
           (route->url_rows != NULL && route->url_rows->urls);
}

static int set_format(struct dx_span value, struct dx_ask *ask, struct dx_problem *problem)
{
    const struct dx_route *route = dx_routes[ask->route];

    if (!dx_row_format_parse(value, &ask->row_format) || !dx_route_gives(route, ask->row_format))
        return dx_route_refuse(problem,
                               "format '%.*s' is none of json, ndjson, csv, %sarrow and parquet",
                               dx_shown(value), (const char *)value.data,
                               dx_route_gives(route, DX_ROWS_URLS) ? "cdx, cdxj, urls, " : "");
    ask->row_format_given = true;
    return 1;
}

static int set_plan(struct dx_span value, struct dx_ask *ask, struct dx_problem *problem)
{
    uint64_t v;

    if (!dx_decimal(value, DX_PLAN_MAX, &v) || v == 0)
        return dx_route_refuse(problem, "plan '%.*s' is not a whole number from 1 to %d",
                               dx_shown(value), (const char *)value.data, DX_PLAN_MAX);
    ask->plan = (unsigned)v;
    return 1;
}

const struct dx_param dx_param_offset = {
    .name = "offset",
    .set = set_offset,
    .schema = "\"type\":\"integer\",\"minimum\":0,\"maximum\":9223372036854775807,\"default\":0",
    .text = "Items to skip."
};
const struct dx_param dx_param_limit = { .name = "limit", .set = set_limit };
const struct dx_param dx_param_fields = { .name = "fields",
                                          .member = offsetof(struct dx_ask, fields) };
const struct dx_param dx_param_cursor = {
    .name = "cursor",
    .member = offsetof(struct dx_ask, cursor),
    .schema = "\"type\":\"string\",\"minLength\":1",
    .text = "`next_cursor` of the page before: continues that listing, in its version."
};
const struct dx_param dx_param_version = {
    .name = "version",
    .member = offsetof(struct dx_ask, version),
    .schema = DX_VERSION_SCHEMA,
    .text = "Answer from this kept version, by name or number, instead of the current one."
};
const struct dx_param dx_param_dataset = {
    .name = "dataset",
    .set = set_dataset,
    .schema = "\"type\":\"string\",\"minLength\":1",
    .text = "Only this dataset: its id or its name. A word of digits is "
            "an id; id:3 and name:3 say which it is."
};

const struct dx_param dx_param_datasets = {
    .name = "dataset",
    .member = offsetof(struct dx_ask, datasets),
    .schema = "\"type\":\"string\",\"pattern\":\"^[^,]+(,[^,]+){0,63}$\"",
    .text = "Only these datasets: at most 64 ids or names, separated by "
            "commas. A word of digits is an id; id:3 and name:3 say which it is.",
};

const struct dx_param dx_param_plan = {
    .name = "plan",
    .set = set_plan,
    .schema = "\"type\":\"integer\",\"minimum\":1,\"maximum\":64",
    .text = "Return this many cursors of disjoint parts instead of rows; "
            "together they are the whole listing.",
};

const struct dx_param dx_param_format = { .name = "format", .set = set_format };

const struct dx_param dx_param_tag = {
    .name = "tag",
    .member = offsetof(struct dx_ask, filter.tag),
    .schema = "\"type\":\"string\",\"minLength\":1,\"maxLength\":500,\"pattern\":\"^[^\\"
              "\\u0000-\\\\u001f\\\\u007f]+$\"",
    .text = "Only rows with this tag: one of the strings of their `tags`,"
            " byte by byte.",
};

const struct dx_param dx_param_mime = {
    .name = "mime",
    .member = offsetof(struct dx_ask, filter.mime),
    .schema = "\"type\":\"string\",\"maxLength\":500,\"pattern\":\"^[A-Za-z0-9!#$&^_.+-"
              "]+/(\\\\*|[A-Za-z0-9!#$&^_.+-]+)$\"",
    .text = "Only rows of this media type, ignoring case and parameters; "
            "`text/*` matches all of that kind.",
};

const struct dx_param dx_param_prefix = {
    .name = "prefix",
    .member = offsetof(struct dx_ask, filter.prefix),
    .schema = "\"type\":\"string\",\"maxLength\":500,\"pattern\":\"^/\"",
    .text = "Only rows whose canonical path and query begin with this text,"
            " byte by byte.",
};

const struct dx_param dx_param_from = {
    .name = "from",
    .member = offsetof(struct dx_ask, filter.from),
    .schema = DX_TIME_SCHEMA,
    .text = "Only rows from this time on: 2019, 2019-07, 2019-07-04, "
            "2019-07-04T10:20:30Z, or 4 to 14 digits as in CDX files.",
    .example = "2019-07",
};

const struct dx_param dx_param_to = {
    .name = "to",
    .member = offsetof(struct dx_ask, filter.to),
    .schema = DX_TIME_SCHEMA,
    .text = "Only rows up to this time, and all of it: 2019 includes the whole "
            "year. Forms as of `from`.",
    .example = "2019-07",
};

const struct dx_param dx_param_status = {
    .name = "status",
    .member = offsetof(struct dx_ask, filter.status),
    .schema = "\"type\":\"string\",\"minLength\":1,\"maxLength\":500",
    .text = "Only rows whose `status` is this text.",
};

const struct dx_param dx_param_lang = {
    .name = "lang",
    .member = offsetof(struct dx_ask, filter.lang),
    .schema = "\"type\":\"string\",\"minLength\":1,\"maxLength\":500",
    .text = "Only rows whose `language` is this text, or one of their "
            "`languages`, ignoring case.",
};

static int set_filter(struct dx_span value, struct dx_ask *ask, struct dx_problem *problem)
{
    size_t n = 0;

    while (n < DX_ROW_FILTER_TERMS && ask->filter.terms[n].data != NULL)
        n++;
    if (n == DX_ROW_FILTER_TERMS)
        return dx_route_refuse(problem, "filter is given more than %d times", DX_ROW_FILTER_TERMS);
    ask->filter.terms[n] = value;
    return 1;
}

const struct dx_param dx_param_filter = {
    .name = "filter",
    .set = set_filter,
    .times = DX_ROW_FILTER_TERMS,
    .schema = "\"type\":\"array\",\"maxItems\":4,\"items\":{\"type\":\"string\",\"maxLength\":500,"
              "\"pattern\":\"^!?([=~][^:]+|[^!=~:][^:]*):\"}",
    .text = "Only rows whose extra has this value: name:value. =field:value is the same of url, "
            "host, path, ts, mime, lang "
            "or an extra; ~field:regex of a regular expression that matches somewhere in it. ! "
            "before: all but those. "
            "Given up to four times: all must hold.",
};

const struct dx_route_fields dx_row_fields = { dx_fields_parse, DX_ROW_FIELDS_WORDS,
                                               DX_FIELDS_DEFAULT, dx_field_names, DX_FIELD_COUNT };

/* ---- questions to begin with again ---- */

static void put_dataset(struct dx_span name, uint32_t id, struct dx_buf *b)
{
    if (name.data != NULL)
        dx_url_encode_span(b, name, false);
    else
        dx_buf_fmt(b, "%u", (unsigned)id);
}

void dx_route_fill(const char *at, const struct dx_ask *ask, struct dx_buf *b)
{
    for (; *at != '\0'; at++) {
        if (*at != '{') {
            dx_buf_u8(b, (uint8_t)*at);
            continue;
        }
        if (is_dataset(at))
            put_dataset(at[1] == 'b' ? ask->other_name : ask->dataset_name,
                        at[1] == 'b' ? ask->other_id : ask->dataset_id, b);
        else
            dx_url_encode_span(b, ask->asked, false);
        at = strchr(at, '}');
    }
}

void dx_restart_path(const struct dx_ask *ask, struct dx_buf *b)
{
    dx_buf_str(b, "/v1/");
    dx_route_fill(dx_routes[ask->route]->pattern, ask, b);
}

uint64_t dx_restart_limit(const struct dx_ask *ask)
{
    if (ask->row_format != DX_ROWS_JSON)
        return ask->row_limit;
    return ask->limit_given || ask->from.limit == 0 ? ask->page.limit : ask->from.limit;
}

void dx_restart_limited(const struct dx_ask *ask, struct dx_buf *b)
{
    dx_restart_path(ask, b);
    if (ask->limit_given)
        dx_buf_fmt(b, "?limit=%llu", (unsigned long long)dx_restart_limit(ask));
}

void dx_restart_plan(const struct dx_ask *ask, struct dx_buf *b)
{
    if (ask->plan > 0)
        dx_buf_fmt(b, "&plan=%u", ask->plan);
}

void dx_restart_param(const char *name, struct dx_span value, struct dx_buf *b)
{
    if (value.data == NULL)
        return;
    dx_buf_fmt(b, "&%s=", name);
    dx_url_encode_span(b, value, true);
}

void dx_restart_filter(const struct dx_row_filter *f, struct dx_buf *b)
{
    dx_restart_param("tag", f->tag, b);
    dx_restart_param("mime", f->mime, b);
    dx_restart_param("prefix", f->prefix, b);
    dx_restart_param("from", f->from, b);
    dx_restart_param("to", f->to, b);
    dx_restart_param("status", f->status, b);
    dx_restart_param("lang", f->lang, b);
    for (size_t i = 0; i < DX_ROW_FILTER_TERMS; i++)
        dx_restart_param("filter", f->terms[i], b);
}

void dx_restart_fields(unsigned bits, unsigned usual, struct dx_buf *b)
{
    for (unsigned f = 0, n = 0; bits != usual && f < DX_FIELD_COUNT; f++)
        if ((bits >> f & 1) != 0)
            dx_buf_fmt(b, "%s%s", n++ == 0 ? "&fields=" : ",", dx_field_names[f]);
}

void dx_restart_dataset(const struct dx_ask *ask, struct dx_buf *b)
{
    if (!ask->one_dataset)
        return;
    dx_buf_str(b, "&dataset=");
    put_dataset(ask->dataset_name, ask->dataset_id, b);
}
