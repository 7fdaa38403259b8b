/* SPDX-License-Identifier: Apache-2.0 */
#include "server/target.h"

#include "canon/key_number.h"

#include <stdio.h>
#include <string.h>

enum {
    PARAM_OFFSET,
    PARAM_LIMIT,
    PARAM_FIELDS,
    PARAM_CURSOR,
    PARAM_PLAN,
    PARAM_VERSION,
    PARAM_FROM,
    PARAM_TO,
    PARAM_SINCE,
    PARAM_Q,
    PARAM_U,
    PARAM_SHARE,
    PARAM_FORMAT,
    PARAM_DATASETS,
    PARAM_ORDER,
    PARAM_DATASET,
    PARAM_BY,
    PARAM_TAG,
    PARAM_MIME,
    PARAM_PREFIX,
    PARAM_OF,
    PARAM_URL,
    PARAM_COUNT
};

static const char *const param_names[PARAM_COUNT] = {
    "offset", "limit", "fields", "cursor", "plan",   "version",  "from",  "to",
    "since",  "q",     "u",      "share",  "format", "datasets", "order", "dataset",
    "by",     "tag",   "mime",   "prefix", "of",     "url"
};

#define BIT(param) (1u << (param))

#define URLS_PARAMS                                                                 \
    (BIT(PARAM_OFFSET) | BIT(PARAM_LIMIT) | BIT(PARAM_FIELDS) | BIT(PARAM_CURSOR) | \
     BIT(PARAM_PLAN) | BIT(PARAM_VERSION) | BIT(PARAM_TAG) | BIT(PARAM_MIME) | BIT(PARAM_PREFIX))

/* A path is matched segment by segment; "*" takes any one into the next capture. */
static const struct route {
    enum dx_route route;
    const char *pattern[6]; /* NULL-terminated */
    unsigned params;        /* bits of those taken */
    unsigned needed;        /* bits of those that must be there */
    uint64_t limit_default;
    uint64_t limit_max;
} routes[] = {
    { DX_ROUTE_DOMAIN, { "domain", "*" }, BIT(PARAM_FIELDS) | BIT(PARAM_VERSION), 0, 0, 0 },
    { DX_ROUTE_DIFF, { "domain", "*", "diff" }, BIT(PARAM_FROM) | BIT(PARAM_TO), 0, 0, 0 },
    { DX_ROUTE_HOSTS,
      { "domain", "*", "hosts" },
      BIT(PARAM_ORDER) | BIT(PARAM_DATASET) | BIT(PARAM_OFFSET) | BIT(PARAM_LIMIT) |
          BIT(PARAM_VERSION),
      0,
      DX_LIMIT_DEFAULT,
      DX_LIMIT_MAX },
    { DX_ROUTE_PATHS,
      { "domain", "*", "datasets", "*", "paths" },
      BIT(PARAM_BY) | BIT(PARAM_LIMIT) | BIT(PARAM_VERSION),
      0,
      DX_PATHS_LIMIT_DEFAULT,
      DX_PATHS_LIMIT_MAX },
    { DX_ROUTE_CHANGES,
      { "changes" },
      BIT(PARAM_SINCE) | BIT(PARAM_LIMIT) | BIT(PARAM_CURSOR),
      0,
      DX_LIMIT_DEFAULT,
      DX_LIMIT_MAX },
    { DX_ROUTE_URLS,
      { "domain", "*", "datasets", "*", "urls" },
      URLS_PARAMS,
      0,
      DX_LIMIT_DEFAULT,
      DX_LIMIT_MAX },
    { DX_ROUTE_URLS,
      { "domain", "*", "dataset", "*", "urls" },
      URLS_PARAMS,
      0,
      DX_LIMIT_DEFAULT,
      DX_LIMIT_MAX },
    { DX_ROUTE_DATASETS,
      { "datasets" },
      BIT(PARAM_OFFSET) | BIT(PARAM_LIMIT) | BIT(PARAM_VERSION),
      0,
      DX_DATASETS_LIMIT_DEFAULT,
      DX_DATASETS_LIMIT_MAX },
    { DX_ROUTE_DATASET, { "datasets", "*" }, BIT(PARAM_VERSION), 0, 0, 0 },
    { DX_ROUTE_TOP_DOMAINS,
      { "datasets", "*", "top-domains" },
      BIT(PARAM_SHARE) | BIT(PARAM_LIMIT) | BIT(PARAM_OFFSET) | BIT(PARAM_FORMAT) |
          BIT(PARAM_VERSION),
      0,
      DX_LIMIT_DEFAULT,
      DX_CSV_LIMIT },
    { DX_ROUTE_OVERLAP, { "datasets", "*", "overlap", "*" }, BIT(PARAM_VERSION), 0, 0, 0 },
    { DX_ROUTE_NORMALIZE, { "normalize" }, BIT(PARAM_Q) | BIT(PARAM_VERSION), BIT(PARAM_Q), 0, 0 },
    { DX_ROUTE_NAMES,
      { "domains" },
      BIT(PARAM_FORMAT) | BIT(PARAM_DATASETS) | BIT(PARAM_VERSION),
      0,
      0,
      0 },
    { DX_ROUTE_URL,
      { "url" },
      BIT(PARAM_U) | BIT(PARAM_LIMIT) | BIT(PARAM_VERSION),
      BIT(PARAM_U),
      DX_URL_LIMIT_DEFAULT,
      DX_URL_LIMIT_MAX },
    { DX_ROUTE_URLID, { "urlid", "*" }, BIT(PARAM_VERSION), 0, 0, 0 },
    { DX_ROUTE_TAGS,
      { "tags" },
      BIT(PARAM_DATASET) | BIT(PARAM_PREFIX) | BIT(PARAM_LIMIT) | BIT(PARAM_CURSOR) |
          BIT(PARAM_VERSION),
      0,
      DX_TAGS_LIMIT_DEFAULT,
      DX_TAGS_LIMIT_MAX },
    { DX_ROUTE_TAG,
      { "tags", "*" },
      BIT(PARAM_OF) | BIT(PARAM_DATASET) | BIT(PARAM_FIELDS) | BIT(PARAM_LIMIT) |
          BIT(PARAM_CURSOR) | BIT(PARAM_VERSION),
      0,
      DX_TAGS_LIMIT_DEFAULT,
      DX_TAGS_LIMIT_MAX },
    { DX_ROUTE_KEYS, { "keys" }, BIT(PARAM_URL) | BIT(PARAM_VERSION), BIT(PARAM_URL), 0, 0 },
    { DX_ROUTE_RANGE,
      { "range" },
      BIT(PARAM_FROM) | BIT(PARAM_TO) | BIT(PARAM_DATASET) | BIT(PARAM_LIMIT) | BIT(PARAM_FIELDS) |
          BIT(PARAM_CURSOR) | BIT(PARAM_VERSION),
      0,
      DX_LIMIT_DEFAULT,
      DX_LIMIT_MAX },
    { DX_ROUTE_VERSIONS, { "versions" }, 0, 0, 0, 0 },
    { DX_ROUTE_HEALTHZ, { "healthz" }, 0, 0, 0, 0 },
    { DX_ROUTE_READYZ, { "readyz" }, 0, 0, 0, 0 },
};

#define SEGMENTS_MAX 6

static const char endpoints[] =
    "/v1/domain/{d}, /v1/domain/{d}/datasets/{id}/urls, /v1/domain/{d}/datasets/{id}/paths, "
    "/v1/domain/{d}/hosts, /v1/domain/{d}/diff, /v1/datasets, /v1/datasets/{id}, "
    "/v1/datasets/{id}/top-domains, /v1/datasets/{a}/overlap/{b}, /v1/url?u=, /v1/urlid/{id}, "
    "/v1/keys?url=, /v1/range?from=&to=, /v1/normalize?q=, /v1/tags, /v1/tags/{tag}, /v1/versions, "
    "/v1/changes?since=, POST "
    "/v1/domains, /healthz, /readyz";

static int hex(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* raw itself when it holds no escape; else its decoded bytes in ask->text. */
static bool decode(struct dx_ask *ask, struct dx_span raw, struct dx_span *out)
{
    uint8_t *to = ask->text + ask->text_size;
    size_t n = 0;

    *out = raw;
    if (raw.size == 0 || memchr(raw.data, '%', raw.size) == NULL)
        return true;
    if (raw.size > sizeof ask->text - ask->text_size)
        return false; /* cannot happen for targets the head parser let pass */
    for (size_t i = 0; i < raw.size; i++) {
        uint8_t c = raw.data[i];

        if (c == '%') {
            int high = i + 2 < raw.size ? hex(raw.data[i + 1]) : -1;
            int low = i + 2 < raw.size ? hex(raw.data[i + 2]) : -1;

            if (high < 0 || low < 0)
                return false;
            c = (uint8_t)(high << 4 | low);
            i += 2;
        }
        to[n++] = c;
    }
    ask->text_size += n;
    *out = (struct dx_span){ to, n };
    return true;
}

/* share=10% is what people type and browsers send on; its sign stands at the end, where it begins no
 * escape. */
static bool decode_value(struct dx_ask *ask, struct dx_span name, struct dx_span raw,
                         struct dx_span *out)
{
    if (dx_span_equal(name, dx_span_str(param_names[PARAM_SHARE])) && raw.size > 0 &&
        memchr(raw.data, '%', raw.size) == raw.data + raw.size - 1) {
        *out = raw;
        return true;
    }
    return decode(ask, raw, out);
}

static int bad_escape(struct dx_problem *problem)
{
    return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "bad-percent-encoding",
                          "Malformed percent-encoding",
                          "a '%%' in the request is not followed by two hexadecimal digits; "
                          "write a literal percent sign as %%25");
}

/* Splits at '/'; the first byte is one. Returns the count, or SEGMENTS_MAX + 1 if more. */
static size_t split_path(struct dx_span path, struct dx_span segments[SEGMENTS_MAX])
{
    size_t n = 0;
    size_t begin = 1;

    if (path.size == 0 || path.data[0] != '/')
        return 0;
    for (size_t i = 1; i <= path.size; i++) {
        if (i < path.size && path.data[i] != '/')
            continue;
        if (n == SEGMENTS_MAX)
            return SEGMENTS_MAX + 1;
        segments[n++] = (struct dx_span){ path.data + begin, i - begin };
        begin = i + 1;
    }
    return n;
}

/* The route whose pattern the segments fit, with up to two captures; NULL if none. */
static const struct route *find_route(const struct dx_span *segments, size_t count,
                                      struct dx_span captures[2])
{
    for (size_t r = 0; r < sizeof routes / sizeof *routes; r++) {
        const char *const *pattern = routes[r].pattern;
        size_t captured = 0;
        size_t i = 0;

        while (i < count && pattern[i] != NULL) {
            if (strcmp(pattern[i], "*") == 0)
                captures[captured++] = segments[i];
            else if (!dx_span_equal(segments[i], dx_span_str(pattern[i])))
                break;
            i++;
        }
        if (i == count && pattern[i] == NULL)
            return &routes[r];
    }
    return NULL;
}

/* Decimal digits only; false on anything else and above max. */
static bool parse_number(struct dx_span s, uint64_t max, uint64_t *value)
{
    uint64_t v = 0;

    if (s.size == 0)
        return false;
    for (size_t i = 0; i < s.size; i++) {
        if (s.data[i] < '0' || s.data[i] > '9')
            return false;
        if (__builtin_mul_overflow(v, 10, &v) ||
            __builtin_add_overflow(v, (uint64_t)(s.data[i] - '0'), &v))
            return false;
    }
    *value = v;
    return v <= max;
}

/* Shown in details: enough to recognise, never the whole of a long value. */
static int shown(struct dx_span s)
{
    return s.size > 60 ? 60 : (int)s.size;
}

static int set_limit(const struct route *route, struct dx_span value, struct dx_ask *ask,
                     struct dx_problem *problem)
{
    uint64_t v;

    if (!parse_number(value, UINT64_MAX, &v) || v == 0)
        return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "bad-parameter", "Bad parameter",
                              "limit '%.*s' is not a whole number from 1 to %llu", shown(value),
                              (const char *)value.data, (unsigned long long)route->limit_max);
    if (v > route->limit_max && route->route == DX_ROUTE_PATHS)
        return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "limit-too-large", "Limit too large",
                              "limit %llu is over the cap of %llu: what lies behind the first so "
                              "many paths is told in sum only",
                              (unsigned long long)v, (unsigned long long)route->limit_max);
    if (v > route->limit_max && route->route == DX_ROUTE_URL)
        return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "limit-too-large", "Limit too large",
                              "limit %llu is over the cap of %llu: row_count tells of all rows",
                              (unsigned long long)v, (unsigned long long)route->limit_max);
    if (v > route->limit_max)
        return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "limit-too-large", "Limit too large",
                              "limit %llu is over the cap of %llu; ask for pages of at most %llu "
                              "and go on with %s",
                              (unsigned long long)v, (unsigned long long)route->limit_max,
                              (unsigned long long)route->limit_max,
                              (route->params & BIT(PARAM_CURSOR)) != 0 ? "next_cursor"
                                                                       : "next_offset");
    ask->page.limit = v;
    ask->limit_given = true;
    return 1;
}

/* Of JSON fewer rows are given than of CSV, whichever of the two parameters comes first. */
static int set_top_limit(struct dx_ask *ask, struct dx_problem *problem)
{
    if (ask->csv && !ask->limit_given)
        ask->page.limit = DX_CSV_LIMIT;
    if (ask->csv || ask->page.limit <= DX_LIMIT_MAX)
        return 1;
    return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "limit-too-large", "Limit too large",
                          "limit %llu is over the cap of %d; ask for pages of at most %d and go on "
                          "with next_offset, or for format=csv",
                          (unsigned long long)ask->page.limit, DX_LIMIT_MAX, DX_LIMIT_MAX);
}

static int set_csv(struct dx_span value, struct dx_ask *ask, struct dx_problem *problem)
{
    ask->csv = dx_span_equal(value, dx_span_str("csv"));
    if (ask->csv || dx_span_equal(value, dx_span_str("json")))
        return 1;
    return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "bad-parameter", "Bad parameter",
                          "format '%.*s' is neither json nor csv", shown(value),
                          (const char *)value.data);
}

static int set_plan(struct dx_span value, struct dx_ask *ask, struct dx_problem *problem)
{
    uint64_t v;

    if (!parse_number(value, DX_PLAN_MAX, &v) || v == 0)
        return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "bad-parameter", "Bad parameter",
                              "plan '%.*s' is not a whole number from 1 to %d", shown(value),
                              (const char *)value.data, DX_PLAN_MAX);
    ask->plan = (unsigned)v;
    return 1;
}

static int set_offset(struct dx_span value, struct dx_ask *ask, struct dx_problem *problem)
{
    ask->offset_given = true;
    /* Clients in other languages hold it in an int64. */
    if (parse_number(value, INT64_MAX, &ask->page.offset))
        return 1;
    return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "bad-parameter", "Bad parameter",
                          "offset '%.*s' is not a whole number from 0 to 9223372036854775807",
                          shown(value), (const char *)value.data);
}

static int take_dataset_id(struct dx_span text, uint32_t *id, struct dx_problem *problem)
{
    uint64_t v;

    if (!parse_number(text, UINT32_MAX, &v))
        return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "bad-dataset-id", "Bad dataset id",
                              "dataset id '%.*s' is not a whole number from 0 to 4294967295; "
                              "/v1/datasets lists ids and names",
                              shown(text), (const char *)text.data);
    *id = (uint32_t)v;
    return 1;
}

/* One of two words; *second: it is the latter. */
static int set_word(const char *name, struct dx_span value, const char *const words[2],
                    bool *second, struct dx_problem *problem)
{
    *second = dx_span_equal(value, dx_span_str(words[1]));
    if (*second || dx_span_equal(value, dx_span_str(words[0])))
        return 1;
    return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "bad-parameter", "Bad parameter",
                          "%s '%.*s' is neither %s nor %s", name, shown(value),
                          (const char *)value.data, words[0], words[1]);
}

static int no_key(const char *name, struct dx_span value, struct dx_problem *problem)
{
    return dx_problem_set(
        problem, DX_PROBLEM_BAD_REQUEST, "bad-parameter", "Bad parameter",
        "%s '%.*s' is no number of 64 bits: 0x and hexadecimal digits, or decimal "
        "ones, with '-' before them if it is a bigint",
        name, shown(value), (const char *)value.data);
}

static int set_range_first(struct dx_span value, struct dx_ask *ask, struct dx_problem *problem)
{
    ask->range_from = value;
    return dx_key_number(value, &ask->range_first) ? 1 : no_key("from", value, problem);
}

static int set_range_end(struct dx_span value, struct dx_ask *ask, struct dx_problem *problem)
{
    ask->range_to = value;
    return dx_key_number_end(value, &ask->range_end) ? 1 : no_key("to", value, problem);
}

/* Whichever of the two comes first. A cursor says both. */
static int check_range(const struct dx_ask *ask, struct dx_problem *problem)
{
    if (ask->range_from.data == NULL && ask->cursor.data == NULL)
        return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "missing-parameter",
                              "Parameter missing", "this resource needs the parameter from");
    if (ask->range_end == 0 || ask->range_from.data == NULL || ask->range_first <= ask->range_end)
        return 1;
    return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "bad-parameter", "Bad parameter",
                          "from '%.*s' is above to '%.*s'; as bigints negative numbers come after "
                          "the others",
                          shown(ask->range_from), (const char *)ask->range_from.data,
                          shown(ask->range_to), (const char *)ask->range_to.data);
}

static int set_param(const struct route *route, unsigned param, struct dx_span value,
                     struct dx_ask *ask, struct dx_problem *problem)
{
    switch (param) {
    case PARAM_OFFSET:
        return set_offset(value, ask, problem);
    case PARAM_LIMIT:
        return set_limit(route, value, ask, problem);
    case PARAM_PLAN:
        return set_plan(value, ask, problem);
    case PARAM_SHARE:
        ask->share = value;
        return 1;
    case PARAM_ORDER:
        return set_word("order", value, (const char *const[]){ "urls", "name" }, &ask->by_name,
                        problem);
    case PARAM_BY:
        return set_word("by", value, (const char *const[]){ "path", "section" }, &ask->sections,
                        problem);
    case PARAM_DATASET:
        ask->one_dataset = true;
        return take_dataset_id(value, &ask->dataset_id, problem);
    case PARAM_OF:
        ask->of_given = true;
        return set_word("of", value, (const char *const[]){ "domains", "urls" }, &ask->of_urls,
                        problem);
    case PARAM_FIELDS:
        ask->fields = value;
        return 1;
    case PARAM_CURSOR:
        ask->cursor = value;
        return 1;
    case PARAM_FORMAT:
        ask->format = value;
        return route->route == DX_ROUTE_TOP_DOMAINS ? set_csv(value, ask, problem) : 1;
    case PARAM_DATASETS:
        ask->datasets = value;
        return 1;
    case PARAM_TAG:
        ask->filter.tag = value;
        return 1;
    case PARAM_MIME:
        ask->filter.mime = value;
        return 1;
    case PARAM_PREFIX: /* of a tag, or of a path */
        *(route->route == DX_ROUTE_TAGS ? &ask->prefix : &ask->filter.prefix) = value;
        return 1;
    case PARAM_TO:
        if (route->route == DX_ROUTE_RANGE)
            return set_range_end(value, ask, problem);
        ask->version = value;
        return 1;
    case PARAM_VERSION:
        ask->version = value;
        return 1;
    case PARAM_FROM:
        if (route->route == DX_ROUTE_RANGE)
            return set_range_first(value, ask, problem);
        ask->before = value;
        return 1;
    case PARAM_SINCE:
        ask->before = value;
        return 1;
    default:
        ask->asked = value;
        return 1;
    }
}

static void list_params(unsigned params, char *out, size_t size)
{
    size_t n = 0;

    out[0] = '\0';
    for (unsigned p = 0; p < PARAM_COUNT; p++)
        if ((params & BIT(p)) != 0 && n < size)
            n += (size_t)snprintf(out + n, size - n, "%s%s", n == 0 ? "" : ", ", param_names[p]);
}

static int unknown_param(const struct route *route, struct dx_span name, struct dx_problem *problem)
{
    char known[120];

    list_params(route->params, known, sizeof known);
    return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "unknown-parameter", "Unknown parameter",
                          "'%.*s' is no parameter of this resource; %s%s", shown(name),
                          (const char *)name.data,
                          route->params == 0 ? "it takes none" : "it takes ", known);
}

/* One "name=value". */
static int take_pair(const struct route *route, struct dx_span pair, unsigned *seen,
                     struct dx_ask *ask, struct dx_problem *problem)
{
    const uint8_t *equals = pair.size == 0 ? NULL : memchr(pair.data, '=', pair.size);
    size_t n = equals == NULL ? pair.size : (size_t)(equals - pair.data);
    struct dx_span raw_value = { pair.data + n, 0 };
    struct dx_span name;
    struct dx_span value;
    unsigned param = 0;

    if (equals != NULL)
        raw_value = (struct dx_span){ equals + 1, pair.size - n - 1 };
    if (!decode(ask, (struct dx_span){ pair.data, n }, &name) ||
        !decode_value(ask, name, raw_value, &value))
        return bad_escape(problem);
    while (param < PARAM_COUNT && !dx_span_equal(name, dx_span_str(param_names[param])))
        param++;
    if (param == PARAM_COUNT || (route->params & BIT(param)) == 0)
        return unknown_param(route, name, problem);
    if ((*seen & BIT(param)) != 0)
        return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "duplicate-parameter",
                              "Parameter given twice", "%s is given more than once",
                              param_names[param]);
    *seen |= BIT(param);
    return set_param(route, param, value, ask, problem);
}

static int take_query(const struct route *route, struct dx_span query, struct dx_ask *ask,
                      struct dx_problem *problem)
{
    unsigned seen = 0;
    size_t begin = 0;

    for (size_t i = 0; query.size > 0 && i <= query.size; i++) {
        if (i < query.size && query.data[i] != '&')
            continue;
        if (take_pair(route, (struct dx_span){ query.data + begin, i - begin }, &seen, ask,
                      problem) == 0)
            return 0;
        begin = i + 1;
    }
    if ((seen & route->needed) != route->needed) {
        char missing[120];

        list_params(route->needed & ~seen, missing, sizeof missing);
        return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "missing-parameter",
                              "Parameter missing", "this resource needs the parameter %s", missing);
    }
    return 1;
}

/* As answers write it: 0x and 16 digits. */
static int take_url_id(struct dx_span text, struct dx_ask *ask, struct dx_problem *problem)
{
    bool ok = text.size == 18 && text.data[0] == '0' && (text.data[1] | 0x20) == 'x';

    for (size_t i = 2; ok && i < text.size; i++) {
        int digit = hex(text.data[i]);

        ok = digit >= 0;
        ask->url_id = ask->url_id << 4 | (unsigned)(digit & 15);
    }
    if (ok)
        return 1;
    return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "bad-url-id", "Bad URL id",
                          "url id '%.*s' is not 0x and 16 hexadecimal digits; /v1/normalize?q= and "
                          "listings give the id of a URL",
                          shown(text), (const char *)text.data);
}

static int take_captures(const struct route *route, const struct dx_span captures[2],
                         struct dx_ask *ask, struct dx_problem *problem)
{
    switch (route->route) {
    case DX_ROUTE_URLID:
        return take_url_id(captures[0], ask, problem);
    case DX_ROUTE_DOMAIN:
    case DX_ROUTE_DIFF:
    case DX_ROUTE_HOSTS:
    case DX_ROUTE_URLS:
    case DX_ROUTE_PATHS:
        if (!decode(ask, captures[0], &ask->asked))
            return bad_escape(problem);
        return route->route != DX_ROUTE_URLS && route->route != DX_ROUTE_PATHS
                   ? 1
                   : take_dataset_id(captures[1], &ask->dataset_id, problem);
    case DX_ROUTE_TAG:
        return decode(ask, captures[0], &ask->asked) ? 1 : bad_escape(problem);
    case DX_ROUTE_OVERLAP:
        if (take_dataset_id(captures[1], &ask->other_id, problem) == 0)
            return 0;
        return take_dataset_id(captures[0], &ask->dataset_id, problem);
    case DX_ROUTE_DATASET:
    case DX_ROUTE_TOP_DOMAINS:
        return take_dataset_id(captures[0], &ask->dataset_id, problem);
    default:
        return 1;
    }
}

static void forget(struct dx_ask *ask)
{
    const struct dx_span none = { NULL, 0 };

    ask->asked = ask->fields = ask->version = ask->before = ask->cursor = ask->share = none;
    ask->format = ask->datasets = ask->prefix = ask->range_from = ask->range_to = none;
    ask->range_first = ask->range_end = 0;
    ask->filter = (struct dx_row_filter){ none, none, none };
    ask->dataset_id = 0;
    ask->other_id = 0;
    ask->url_id = 0;
    ask->offset_given = ask->limit_given = false;
    ask->by_name = ask->one_dataset = ask->sections = false;
    ask->of_given = ask->of_urls = false;
    ask->plan = 0;
    ask->csv = false;
    ask->principal = NULL;
    ask->scope = NULL;
    ask->route = DX_ROUTE_COUNT;
    ask->field_bits = DX_FIELDS_DEFAULT;
    ask->wanted[0] = ask->compared[0] = '\0';
    ask->from = (struct dx_cursor){ .limit = 0 };
    ask->now_s = 0;
    ask->text_size = 0;
}

int dx_target_parse(struct dx_span target, struct dx_ask *ask, struct dx_problem *problem)
{
    const uint8_t *mark = target.size == 0 ? NULL : memchr(target.data, '?', target.size);
    size_t path_size = mark == NULL ? target.size : (size_t)(mark - target.data);
    struct dx_span path = { target.data, path_size };
    struct dx_span query = { NULL, 0 };
    struct dx_span segments[SEGMENTS_MAX];
    struct dx_span captures[2] = { { NULL, 0 }, { NULL, 0 } };
    const struct route *route = NULL;
    size_t count = split_path(path, segments);
    size_t first = count > 1 && dx_span_equal(segments[0], dx_span_str("v1")) ? 1 : 0;

    if (mark != NULL)
        query = (struct dx_span){ mark + 1, target.size - path_size - 1 };
    forget(ask);
    if (count <= SEGMENTS_MAX)
        route = find_route(segments + first, count - first, captures);
    if (route == NULL)
        return dx_problem_set(
            problem, DX_PROBLEM_NOT_FOUND, "no-such-resource", "No such resource",
            "this server has %s; a '/' inside a domain, URL or tag is written %%2F", endpoints);
    ask->route = route->route;
    ask->page = (struct dx_page_of){ 0, route->limit_default };
    if (take_captures(route, captures, ask, problem) == 0)
        return 0;
    if (take_query(route, query, ask, problem) == 0)
        return 0;
    if (ask->route == DX_ROUTE_RANGE)
        return check_range(ask, problem);
    return ask->route == DX_ROUTE_TOP_DOMAINS ? set_top_limit(ask, problem) : 1;
}
