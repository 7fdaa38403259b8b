/* SPDX-License-Identifier: Apache-2.0 */
#include "query/cdx/cdx_query.h"

#include "base/civil_time.h"
#include "base/decimal.h"
#include "base/hex.h"
#include "query/view/problem.h"

#include <stdio.h>

static int refuse(struct dx_problem *problem, const char *name, struct dx_span value,
                  const char *why)
{
    return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "bad-parameter", "Bad parameter",
                          "%s '%.*s' %s", name, value.size > 60 ? 60 : (int)value.size,
                          (const char *)value.data, why);
}

/* ---- values ---- */

static bool is_true(struct dx_span s)
{
    return s.size > 0 && !dx_span_is_word(s, "0") && !dx_span_is_word(s, "false") &&
           !dx_span_is_word(s, "f") && !dx_span_is_word(s, "off");
}

/* 1 to 14 digits, more are cut; filled up with those of `rest`. */
static bool timestamp(struct dx_span s, const char rest[15], uint64_t *value)
{
    char text[15];
    size_t size = s.size > 14 ? 14 : s.size;

    memcpy(text, rest, sizeof text);
    memcpy(text, s.data, size);
    return s.size > 0 && dx_decimal(dx_span_of(text, 14), DX_CDX_TIMESTAMP_MAX, value);
}

static const unsigned month_days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };

static unsigned clamp(unsigned value, unsigned min, unsigned max)
{
    return value < min ? min : value > max ? max : value;
}

static unsigned digits_at(struct dx_span s, size_t at, size_t count, unsigned min, unsigned max)
{
    uint64_t value;

    if (s.size < at + count || !dx_decimal(dx_span_of(s.data + at, count), 9999, &value))
        return max;
    return clamp((unsigned)value, min, max);
}

/* As warcio's timestamp_to_sec: what is missing or out of range is the last there is. */
static bool closest_second(struct dx_span s, int64_t *second)
{
    static const uint8_t rest[] = "299912";
    uint8_t text[14] = { 0 };
    struct dx_span full = { text, s.size > 14 ? 14 : s.size };
    char iso[40];
    unsigned year;
    unsigned month;
    unsigned days;
    int64_t us;

    for (size_t i = 0; i < s.size; i++)
        if (s.data[i] < '0' || s.data[i] > '9')
            return false;
    memcpy(text, s.data, full.size);
    for (; full.size < 6; full.size++)
        text[full.size] = rest[full.size];
    year = digits_at(full, 0, 4, 1900, 2999);
    month = digits_at(full, 4, 2, 1, 12);
    days = month_days[month - 1] +
           (month == 2 && year % 4 == 0 && (year % 100 != 0 || year % 400 == 0));
    (void)snprintf(iso, sizeof iso, "%04u-%02u-%02uT%02u:%02u:%02uZ", year, month,
                   digits_at(full, 6, 2, 1, days), digits_at(full, 8, 2, 0, 23),
                   digits_at(full, 10, 2, 0, 59), digits_at(full, 12, 2, 0, 59));
    if (!dx_civil_parse(dx_span_str(iso), &us))
        return false;
    *second = us / 1000000;
    return true;
}

/* The text before the next comma, which goes. */
static struct dx_span next_word(struct dx_span *s)
{
    const uint8_t *comma = s->size == 0 ? NULL : memchr(s->data, ',', s->size);
    size_t size = comma == NULL ? s->size : (size_t)(comma - s->data);
    struct dx_span word = { s->data, size };

    size += comma != NULL;
    *s = dx_span_from(*s, size);
    return word;
}

/* ---- parameters ---- */

typedef int set_param(struct dx_cdx_ask *ask, struct dx_span v, struct dx_problem *problem);

static int set_url(struct dx_cdx_ask *ask, struct dx_span v, struct dx_problem *problem)
{
    (void)problem;
    ask->url = ask->shown = v;
    return 1;
}

struct match_word {
    const char *word;
    enum dx_cdx_match match;
};

static const struct match_word match_words[] = { { "exact", DX_CDX_EXACT },
                                                 { "prefix", DX_CDX_PREFIX },
                                                 { "host", DX_CDX_HOST },
                                                 { "domain", DX_CDX_DOMAIN } };

#define NO_MATCH ((enum dx_cdx_match)9) /* until it is known */

static int set_match(struct dx_cdx_ask *ask, struct dx_span v, struct dx_problem *problem)
{
    for (size_t i = 0; i < sizeof match_words / sizeof *match_words; i++)
        if (dx_span_equal(v, dx_span_str(match_words[i].word))) {
            ask->match = match_words[i].match;
            return 1;
        }
    return refuse(problem, "matchType", v, "is none of exact, prefix, host and domain");
}

static int set_from(struct dx_cdx_ask *ask, struct dx_span v, struct dx_problem *problem)
{
    return timestamp(v, "10000101000000", &ask->from)
               ? 1
               : refuse(problem, "from", v, "is not a timestamp of 1 to 14 digits");
}

static int set_to(struct dx_cdx_ask *ask, struct dx_span v, struct dx_problem *problem)
{
    return timestamp(v, "29991231235959", &ask->to)
               ? 1
               : refuse(problem, "to", v, "is not a timestamp of 1 to 14 digits");
}

static int set_filter(struct dx_cdx_ask *ask, struct dx_span v, struct dx_problem *problem)
{
    if (ask->filter_count == DX_CDX_FILTERS_MAX)
        return refuse(problem, "filter", v, "is the 17th; at most 16 are possible");
    ask->filters[ask->filter_count++] = v;
    return 1;
}

static int set_fields(struct dx_cdx_ask *ask, struct dx_span v, struct dx_problem *problem)
{
    ask->field_count = 0;
    while (v.size > 0) {
        struct dx_span word = next_word(&v);
        enum dx_cdx_column column = dx_cdx_column_of(word);

        if (column == DX_CDX_NONE && ask->dialect == DX_CDX_WAYBACK)
            return refuse(problem, "fl", word,
                          "is not a field; there are urlkey, timestamp, original, mimetype, "
                          "statuscode, digest, length, offset, filename, redirect, robotflags and "
                          "dataset");
        if (ask->field_count == DX_CDX_FIELDS_MAX)
            return refuse(problem, "fl", word, "is the 33rd field; at most 32 are possible");
        ask->fields[ask->field_count++] = (struct dx_cdx_field){ column, word };
    }
    return 1;
}

static int set_collapse(struct dx_cdx_ask *ask, struct dx_span v, struct dx_problem *problem)
{
    const uint8_t *colon = v.size == 0 ? NULL : memchr(v.data, ':', v.size);
    size_t size = colon == NULL ? v.size : (size_t)(colon - v.data);
    enum dx_cdx_column column = dx_cdx_column_of(dx_span_of(v.data, size));
    uint64_t characters = 0;

    if (column >= DX_CDX_STORED ||
        (colon != NULL &&
         !dx_decimal(dx_span_of(colon + 1, v.size - size - 1), UINT32_MAX, &characters)))
        return refuse(problem, "collapse", v, "is not a field, or a field, ':' and a number");
    if (ask->collapse_count == DX_CDX_COLLAPSES_MAX)
        return refuse(problem, "collapse", v, "is the 9th; at most 8 are possible");
    ask->collapses[ask->collapse_count++] = (struct dx_cdx_collapse){ column,
                                                                      (uint32_t)characters };
    return 1;
}

static int set_collapse_time(struct dx_cdx_ask *ask, struct dx_span v, struct dx_problem *problem)
{
    uint64_t digits;

    if (!dx_decimal(v, 14, &digits))
        return refuse(problem, "collapseTime", v, "is not a number of digits from 0 to 14");
    ask->collapse_time = (unsigned)digits;
    return 1;
}

static int set_sort(struct dx_cdx_ask *ask, struct dx_span v, struct dx_problem *problem)
{
    ask->reverse = ask->reverse || dx_span_is_word(v, "reverse");
    if (ask->reverse || dx_span_is_word(v, "closest") || dx_span_is_word(v, "default"))
        return 1;
    return refuse(problem, "sort", v, "is none of default, reverse and closest");
}

static int set_reverse(struct dx_cdx_ask *ask, struct dx_span v, struct dx_problem *problem)
{
    (void)problem;
    ask->reverse = ask->reverse || is_true(v);
    return 1;
}

static int set_closest(struct dx_cdx_ask *ask, struct dx_span v, struct dx_problem *problem)
{
    ask->has_closest = closest_second(v, &ask->closest_s);
    return ask->has_closest ? 1 : refuse(problem, "closest", v, "is not a timestamp of digits");
}

static int set_limit(struct dx_cdx_ask *ask, struct dx_span v, struct dx_problem *problem)
{
    struct dx_span digits = v;
    uint64_t limit;

    if (v.data[0] == '-')
        digits = dx_span_of(v.data + 1, v.size - 1);
    if (!dx_decimal(digits, INT64_MAX, &limit))
        return refuse(problem, "limit", v, "is not a whole number");
    ask->last = v.data[0] == '-' && limit > 0;
    if (limit > 0)
        ask->limit = limit;
    return 1;
}

static int set_offset(struct dx_cdx_ask *ask, struct dx_span v, struct dx_problem *problem)
{
    return dx_decimal(v, INT64_MAX, &ask->offset) ? 1
                                                  : refuse(problem, "offset", v, "is not a number");
}

static int set_page(struct dx_cdx_ask *ask, struct dx_span v, struct dx_problem *problem)
{
    ask->paged = true;
    return dx_decimal(v, UINT32_MAX, &ask->page)
               ? 1
               : refuse(problem, "page", v, "is not the number of a page, from 0");
}

static int set_page_size(struct dx_cdx_ask *ask, struct dx_span v, struct dx_problem *problem)
{
    uint64_t blocks;

    if (!dx_decimal(v, DX_CDX_PAGE_SIZE_MAX, &blocks) || blocks == 0)
        return refuse(problem, "pageSize", v, "is not a number of blocks from 1 to 50");
    ask->page_size = (unsigned)blocks;
    return 1;
}

static int set_count_pages(struct dx_cdx_ask *ask, struct dx_span v, struct dx_problem *problem)
{
    (void)problem;
    ask->count_pages = is_true(v);
    return 1;
}

static int set_paged_index(struct dx_cdx_ask *ask, struct dx_span v, struct dx_problem *problem)
{
    (void)ask;
    return is_true(v) ? refuse(problem, "showPagedIndex", v,
                               "is not possible: there is no secondary index")
                      : 1;
}

static int set_show_key(struct dx_cdx_ask *ask, struct dx_span v, struct dx_problem *problem)
{
    (void)problem;
    ask->show_resume_key = is_true(v);
    return 1;
}

static int set_key(struct dx_cdx_ask *ask, struct dx_span v, struct dx_problem *problem)
{
    (void)problem;
    ask->resume_key = v;
    return 1;
}

static int set_output(struct dx_cdx_ask *ask, struct dx_span v, struct dx_problem *problem)
{
    static const char *const words[] = {
        [DX_CDX_TEXT] = "text",
        [DX_CDX_JSON] = "json",
        [DX_CDX_CDXJ] = "cdxj",
        [DX_CDX_LINK] = "link",
    };

    for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
        if (dx_span_equal(v, dx_span_str(words[i]))) {
            ask->output = (enum dx_cdx_output)i;
            return 1;
        }
    return refuse(problem, "output", v, "is none of text, json, cdxj and link");
}

static int set_resolve(struct dx_cdx_ask *ask, struct dx_span v, struct dx_problem *problem)
{
    (void)problem;
    ask->resolve_revisits = is_true(v);
    return 1;
}

static int set_untimed(struct dx_cdx_ask *ask, struct dx_span v, struct dx_problem *problem)
{
    (void)problem;
    ask->show_untimed = is_true(v);
    return 1;
}

static int set_datasets(struct dx_cdx_ask *ask, struct dx_span v, struct dx_problem *problem)
{
    (void)problem;
    ask->datasets = v;
    return 1;
}

static const struct {
    const char *name;
    set_param *set;
} params[] = {
    { "url", set_url },
    { "matchType", set_match },
    { "from", set_from },
    { "from_ts", set_from },
    { "to", set_to },
    { "filter", set_filter },
    { "fl", set_fields },
    { "fields", set_fields },
    { "collapse", set_collapse },
    { "collapseTime", set_collapse_time },
    { "sort", set_sort },
    { "reverse", set_reverse },
    { "closest", set_closest },
    { "limit", set_limit },
    { "offset", set_offset },
    { "page", set_page },
    { "pageSize", set_page_size },
    { "showNumPages", set_count_pages },
    { "showPagedIndex", set_paged_index },
    { "showResumeKey", set_show_key },
    { "resumeKey", set_key },
    { "output", set_output },
    { "resolveRevisits", set_resolve },
    { "showUntimed", set_untimed },
    { "dataset", set_datasets },
};

/* ---- the text ---- */

/* Decoded into text, which has room. What is not an escape stays as it is. */
static struct dx_span decode(struct dx_span raw, struct dx_buf *text)
{
    size_t begin = text->size;

    for (size_t i = 0; i < raw.size; i++) {
        int c = dx_hex_escape(raw.data + i, raw.data + raw.size);

        dx_buf_u8(text, c >= 0 ? (uint8_t)c : raw.data[i] == '+' ? ' ' : raw.data[i]);
        i += c < 0 ? 0 : 2;
    }
    return dx_buf_from(text, begin);
}

/* The next "name=value", which goes. */
static struct dx_span next_pair(struct dx_span *query, struct dx_span *name)
{
    const uint8_t *end = query->size == 0 ? NULL : memchr(query->data, '&', query->size);
    size_t size = end == NULL ? query->size : (size_t)(end - query->data);
    const uint8_t *equals = size == 0 ? NULL : memchr(query->data, '=', size);
    size_t head = equals == NULL ? size : (size_t)(equals - query->data);
    struct dx_span value = { query->data + head + (equals != NULL),
                             size - head - (equals != NULL) };

    *name = dx_span_of(query->data, head);
    size += end != NULL;
    *query = dx_span_from(*query, size);
    return value;
}

struct dx_span dx_cdx_query_value(struct dx_span query, const char *name)
{
    struct dx_span found = { NULL, 0 };

    while (query.size > 0) {
        struct dx_span at;
        struct dx_span value = next_pair(&query, &at);

        if (dx_span_equal(at, dx_span_str(name)))
            found = value;
    }
    return found;
}

/* A star at either end says how much is meant, unless matchType does. */
static void take_stars(struct dx_cdx_ask *ask)
{
    struct dx_span url = ask->url;

    if (ask->match != NO_MATCH)
        return;
    ask->match = DX_CDX_EXACT;
    if (url.size >= 2 && url.data[0] == '*' && url.data[1] == '.') {
        ask->match = DX_CDX_DOMAIN;
        url = dx_span_of(url.data + 2, url.size - 2);
        if (url.size > 0 && url.data[url.size - 1] == '*')
            url.size--;
    } else if (url.size > 0 && url.data[url.size - 1] == '*') {
        ask->match = DX_CDX_PREFIX;
        url.size--;
    }
    ask->url = url;
}

static int check(struct dx_cdx_ask *ask, struct dx_problem *problem)
{
    take_stars(ask);
    if (ask->url.size == 0 && ask->shown.size > 0)
        return refuse(problem, "url", ask->shown,
                      "names no site: write *.example.com, or *.org for all of a suffix");
    if (ask->url.size == 0)
        return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "missing-parameter",
                              "Parameter missing", "The \"url\" param is required");
    if (ask->paged && ask->resume_key.data != NULL)
        return refuse(problem, "resumeKey", ask->resume_key, "and page both say where to begin");
    if (ask->resume_key.data != NULL && (ask->reverse || ask->has_closest || ask->last))
        return refuse(problem, "resumeKey", ask->resume_key,
                      "goes with the usual order alone: not with sort=reverse, closest or a "
                      "negative limit");
    return 1;
}

int dx_cdx_query_parse(struct dx_span query, enum dx_cdx_dialect dialect, struct dx_buf *text,
                       struct dx_cdx_ask *ask, struct dx_problem *problem)
{
    struct dx_error err = DX_ERROR_INIT;
    int rc = 1;

    *ask = (struct dx_cdx_ask){
        .dialect = dialect,
        .match = NO_MATCH,
        .to = DX_CDX_TIMESTAMP_MAX,
        .limit = dialect == DX_CDX_WAYBACK ? DX_CDX_LIMIT_WAYBACK : DX_CDX_LIMIT_PYWB,
        .page_size = dialect == DX_CDX_WAYBACK ? 50 : 5,
    };
    if (dx_buf_reserve(text, query.size + 1) == NULL) { /* at once: spans point into it */
        (void)dx_no_memory(&err, "CDX question");
        return dx_problem_of_error(problem, &err);
    }
    while (rc == 1 && query.size > 0) {
        struct dx_span name;
        struct dx_span raw = next_pair(&query, &name);

        for (size_t i = 0; rc == 1 && raw.size > 0 && i < sizeof params / sizeof *params; i++)
            if (dx_span_equal(name, dx_span_str(params[i].name)))
                rc = params[i].set(ask, decode(raw, text), problem);
    }
    return rc == 1 ? check(ask, problem) : rc;
}
