/* SPDX-License-Identifier: Apache-2.0 */
#include "query/rows/row_filter.h"

#include "base/buf.h"
#include "format/version/tag_list.h"
#include "format/version/tags.h"
#include "query/rows/listing.h"
#include "query/rows/row_number.h"
#include "query/rows/row_term.h"
#include "query/rows/time_words.h"
#include "query/view/fields.h"
#include "query/view/problem.h"

#include <assert.h>

enum {
    PARTS_FIXED = 7,
    PARTS = PARTS_FIXED + DX_ROW_FILTER_TERMS,
    PARTS_ALWAYS = 3
}; /* in the order in which they are packed */

#define COLUMN_STATUS "status"
#define COLUMN_LANGUAGE "language"
#define COLUMN_LANGUAGES "languages"

static void parts_of(const struct dx_row_filter *f, struct dx_span parts[PARTS])
{
    const struct dx_span all[PARTS_FIXED] = { f->tag, f->mime,   f->prefix, f->from,
                                              f->to,  f->status, f->lang };

    memcpy(parts, all, sizeof all);
    memcpy(parts + PARTS_FIXED, f->terms, sizeof f->terms);
}

bool dx_row_filter_any(const struct dx_row_filter *f)
{
    return f->tag.data != NULL || f->mime.data != NULL || f->prefix.data != NULL ||
           dx_row_filter_times(f) || f->status.data != NULL || f->lang.data != NULL ||
           f->terms[0].data != NULL;
}

bool dx_row_filter_is_times(const struct dx_row_filter *f)
{
    struct dx_row_filter rest = *f;

    rest.from = rest.to = dx_span_of(NULL, 0);
    return dx_row_filter_times(f) && !dx_row_filter_any(&rest) && f->below.data == NULL &&
           f->numbers == NULL;
}

/* ---- what may be asked ---- */

static int refused(struct dx_problem *problem, const char *name, const char *why)
{
    return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "bad-parameter", "Bad parameter",
                          "%s: %s", name, why);
}

static bool is_word_character(uint8_t c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c != '\0' && strchr("!#$&-^_.+", c) != NULL);
}

/* Characters of a name as RFC 6838 has them. */
static bool is_word(struct dx_span s)
{
    for (size_t i = 0; i < s.size; i++)
        if (!is_word_character(s.data[i]))
            return false;
    return s.size > 0;
}

static struct dx_span before_slash(struct dx_span type)
{
    const uint8_t *slash = type.size == 0 ? NULL : memchr(type.data, '/', type.size);

    return dx_span_of(type.data, slash == NULL ? type.size : (size_t)(slash - type.data));
}

static struct dx_span behind_slash(struct dx_span type)
{
    size_t n = before_slash(type).size;

    return n == type.size ? dx_span_of(NULL, 0) : dx_span_of(type.data + n + 1, type.size - n - 1);
}

static bool is_mime(struct dx_span s)
{
    struct dx_span sub = behind_slash(s);

    return is_word(before_slash(s)) && (dx_span_equal(sub, dx_span_str("*")) || is_word(sub));
}

/* Of the times and the terms: NULL, or what is wrong, and with which. */
static const char *compile_terms(struct dx_row_filter *f, const char **which)
{
    struct dx_row_term term;
    const char *why = NULL;
    int64_t other;

    f->from_us = INT64_MIN;
    f->to_us = INT64_MAX;
    *which = "from";
    if (f->from.data != NULL && !dx_time_words(f->from, &f->from_us, &other))
        return "not a time, as 2019, 2019-07, 2019-07-04T10:20:30Z or 20190704102030";
    *which = "to";
    if (f->to.data != NULL && !dx_time_words(f->to, &other, &f->to_us))
        return "not a time, as 2019, 2019-07, 2019-07-04T10:20:30Z or 20190704102030";
    *which = "filter";
    for (size_t i = 0; why == NULL && i < DX_ROW_FILTER_TERMS && f->terms[i].data != NULL; i++)
        why = dx_row_term_parse(f->terms[i], &term);
    return why;
}

static bool is_empty(struct dx_span s)
{
    return s.data != NULL && s.size == 0;
}

int dx_row_filter_compile(struct dx_row_filter *f, struct dx_row_regexes *r,
                          struct dx_problem *problem)
{
    struct dx_row_term term;
    int rc = 1;

    *r = (struct dx_row_regexes){ .work.most = DX_REGEX_STEPS_ANSWER };
    f->regexes = r;
    for (size_t i = 0; rc == 1 && i < DX_ROW_FILTER_TERMS && f->terms[i].data != NULL; i++)
        if (dx_row_term_parse(f->terms[i], &term) == NULL && term.is_regex)
            rc = dx_regex_new(&r->of[i], term.value, 0, &r->work, problem);
    return rc;
}

void dx_row_regexes_release(struct dx_row_regexes *r)
{
    for (size_t i = 0; i < DX_ROW_FILTER_TERMS; i++)
        dx_regex_free(&r->of[i]);
}

static int check_regexes(const struct dx_row_filter *f, struct dx_problem *problem)
{
    struct dx_row_filter other = *f;
    struct dx_row_regexes r;
    int rc = dx_row_filter_compile(&other, &r, problem);

    dx_row_regexes_release(&r);
    return rc;
}

int dx_row_filter_check(struct dx_row_filter *f, struct dx_problem *problem)
{
    struct dx_span parts[PARTS];
    const char *which;
    const char *why = compile_terms(f, &which);
    size_t bytes = 0;

    if (f->tag.data != NULL && !dx_tag_fits(f->tag))
        return refused(problem, "tag",
                       "a tag is a text in UTF-8 without control characters, and not empty");
    if (f->mime.data != NULL && !is_mime(f->mime))
        return refused(
            problem, "mime",
            "a media type is two names with a slash between, as text/html, or text/* for "
            "all of that kind; it has no parameters");
    if (f->prefix.data != NULL && (f->prefix.size == 0 || f->prefix.data[0] != '/'))
        return refused(problem, "prefix", "a path begins with a slash");
    if (why != NULL)
        return refused(problem, which, why);
    if (f->from.data != NULL && f->to.data != NULL && f->from_us >= f->to_us)
        return refused(problem, "from", "it lies behind `to`: no time is in between");
    if (is_empty(f->status))
        return refused(problem, "status", "it is empty");
    if (is_empty(f->lang))
        return refused(problem, "lang", "it is empty");
    parts_of(f, parts);
    for (unsigned i = 0; i < PARTS; i++)
        bytes += parts[i].size;
    if (bytes > DX_ROW_FILTER_TEXT)
        return refused(problem, "tag, mime, prefix, from, to, status, lang, filter",
                       "together they have over 500 bytes");
    return check_regexes(f, problem);
}

/* ---- what a row is ---- */

static unsigned fields_of_terms(const struct dx_row_filter *f)
{
    struct dx_row_term term;
    unsigned fields = 0;

    for (size_t i = 0; i < DX_ROW_FILTER_TERMS && f->terms[i].data != NULL; i++)
        if (dx_row_term_parse(f->terms[i], &term) == NULL && term.field != DX_ROW_TERM_EXTRA)
            fields |= term.field == DX_ROW_TERM_TS ? DX_FIELD_TS : DX_FIELD_URL;
    return fields;
}

unsigned dx_row_filter_fields(const struct dx_row_filter *f)
{
    return fields_of_terms(f) | (f->tag.data != NULL ? DX_FIELD_TAGS : 0u) |
           (f->mime.data != NULL ? DX_FIELD_CONTENT_TYPE : 0u) |
           (dx_row_filter_skips(f) || f->numbers != NULL ? DX_FIELD_URL : 0u) |
           (dx_row_filter_times(f) ? DX_FIELD_TS : 0u);
}

size_t dx_row_filter_extras(const struct dx_row_filter *f,
                            struct dx_span names[DX_ROW_FILTER_EXTRAS])
{
    struct dx_row_term term;
    size_t n = 0;

    if (f->status.data != NULL)
        names[n++] = dx_span_str(COLUMN_STATUS);
    if (f->lang.data != NULL) {
        names[n++] = dx_span_str(COLUMN_LANGUAGE);
        names[n++] = dx_span_str(COLUMN_LANGUAGES);
    }
    for (size_t i = 0; i < DX_ROW_FILTER_TERMS && f->terms[i].data != NULL; i++)
        if (dx_row_term_parse(f->terms[i], &term) == NULL && term.field == DX_ROW_TERM_EXTRA)
            names[n++] = term.name;
    return n;
}

bool dx_row_filter_may_take(const struct dx_row_filter *f, bool has_ts, int64_t first_us,
                            int64_t last_us)
{
    return !dx_row_filter_times(f) || (has_ts && last_us >= f->from_us && first_us < f->to_us);
}

static struct dx_span extra(const struct dx_listing_row *row, const char *name)
{
    return dx_listing_extra(row, dx_span_str(name));
}

static bool has_tag(struct dx_span tags, struct dx_span tag, struct dx_buf *scratch)
{
    struct dx_tag_list all;
    bool found = false;
    int rc;

    /* Without escapes a tag that is there stands there as it is. */
    if (tags.size == 0 || (memchr(tags.data, '\\', tags.size) == NULL &&
                           memmem(tags.data, tags.size, tag.data, tag.size) == NULL))
        return false;
    dx_tag_list_begin(&all, tags);
    while ((rc = dx_tag_list_next(&all, scratch)) == 1)
        found = found || dx_span_equal(dx_span_of(scratch->data, scratch->size), tag);
    return rc == 0 && found;
}

static bool is_space(uint8_t c)
{
    return c == ' ' || c == '\t';
}

static struct dx_span without_parameters(struct dx_span type)
{
    const uint8_t *semicolon = type.size == 0 ? NULL : memchr(type.data, ';', type.size);

    if (semicolon != NULL)
        type.size = (size_t)(semicolon - type.data);
    while (type.size > 0 && is_space(type.data[type.size - 1]))
        type.size--;
    while (type.size > 0 && is_space(type.data[0]))
        type = dx_span_of(type.data + 1, type.size - 1);
    return type;
}

static uint8_t lower(uint8_t c)
{
    return c >= 'A' && c <= 'Z' ? (uint8_t)(c | 0x20) : c;
}

static bool same_word(struct dx_span a, struct dx_span b)
{
    size_t i = 0;

    while (a.size == b.size && i < a.size && lower(a.data[i]) == lower(b.data[i]))
        i++;
    return a.size == b.size && i == a.size;
}

static bool is_of_type(struct dx_span type, struct dx_span mime)
{
    if (type.data == NULL)
        return false;
    type = without_parameters(type);
    if (!dx_span_equal(behind_slash(mime), dx_span_str("*")))
        return same_word(type, mime);
    return behind_slash(type).size > 0 && same_word(before_slash(type), before_slash(mime));
}

/* Without the port, which an IPv6 address has behind its bracket. */
static struct dx_span name_of(struct dx_span host)
{
    size_t n = host.size;

    while (n > 0 && host.data[n - 1] >= '0' && host.data[n - 1] <= '9')
        n--;
    return n > 0 && host.data[n - 1] == ':' ? dx_span_of(host.data, n - 1) : host;
}

bool dx_host_below(struct dx_span host, struct dx_span of)
{
    host = name_of(host);
    if (host.size == of.size)
        return dx_span_equal(host, of);
    return host.size > of.size && host.data[host.size - of.size - 1] == '.' &&
           memcmp(host.data + (host.size - of.size), of.data, of.size) == 0;
}

enum dx_row_side dx_row_filter_side(const struct dx_row_filter *f, struct dx_span host,
                                    struct dx_span path_query)
{
    size_t n = f->prefix.size < path_query.size ? f->prefix.size : path_query.size;
    int order = n == 0 ? 0 : memcmp(path_query.data, f->prefix.data, n);

    if (f->below.data != NULL && !dx_host_below(host, f->below))
        return DX_ROW_BEHIND;
    if (order == 0)
        return n == f->prefix.size ? DX_ROW_WITHIN : DX_ROW_BEFORE;
    return order < 0 ? DX_ROW_BEFORE : DX_ROW_BEHIND;
}

/* Codes of languages have no escapes: of an array of JSON they are what stands between these. */
static struct dx_span without_marks(struct dx_span s)
{
    while (s.size > 0 && strchr(" [\"]", s.data[0]) != NULL && s.data[0] != 0)
        s = dx_span_of(s.data + 1, s.size - 1);
    while (s.size > 0 && strchr(" [\"]", s.data[s.size - 1]) != NULL && s.data[s.size - 1] != 0)
        s.size--;
    return s;
}

/* "eng,deu" or ["eng","deu"]: one of them. */
static bool has_word(struct dx_span list, struct dx_span word)
{
    while (list.size > 0) {
        const uint8_t *comma = memchr(list.data, ',', list.size);
        size_t n = comma == NULL ? list.size : (size_t)(comma - list.data);

        if (same_word(without_marks(without_parameters(dx_span_of(list.data, n))), word))
            return true;
        list = comma == NULL ? dx_span_of(NULL, 0) : dx_span_of(comma + 1, list.size - n - 1);
    }
    return false;
}

static bool is_language(const struct dx_listing_row *row, struct dx_span lang)
{
    struct dx_span one = extra(row, COLUMN_LANGUAGE);

    return one.data != NULL ? same_word(one, lang) : has_word(extra(row, COLUMN_LANGUAGES), lang);
}

static int takes_term(const struct dx_row_filter *f, size_t i, const struct dx_listing_row *row,
                      struct dx_buf *scratch, struct dx_error *err)
{
    struct dx_row_term term;
    struct dx_span value = { NULL, 0 };
    int rc;

    if (dx_row_term_parse(f->terms[i], &term) != NULL)
        return 0;
    if (!dx_row_term_value(&term, row, scratch, &value))
        return term.is_not;
    if (scratch->failed) /* half of it would be another value, which is taken or not */
        return dx_buf_fail(scratch, err, "a value of a row");
    if (!term.is_regex)
        return dx_span_equal(value, term.value) != term.is_not;
    assert(f->regexes != NULL && f->regexes->of[i] != NULL);
    rc = dx_regex_matches(f->regexes->of[i], value, err);
    return rc < 0 ? rc : (rc == 1) != term.is_not;
}

static int takes_terms(const struct dx_row_filter *f, const struct dx_listing_row *row,
                       struct dx_buf *scratch, struct dx_error *err)
{
    int rc = 1;

    for (size_t i = 0; rc == 1 && i < DX_ROW_FILTER_TERMS && f->terms[i].data != NULL; i++)
        rc = takes_term(f, i, row, scratch, err);
    return rc;
}

static bool takes_rest(const struct dx_row_filter *f, const struct dx_listing_row *row)
{
    struct dx_span status = f->status.data == NULL ? f->status : extra(row, COLUMN_STATUS);

    return (f->status.data == NULL || (status.data != NULL && dx_span_equal(status, f->status))) &&
           (f->lang.data == NULL || is_language(row, f->lang));
}

int dx_row_filter_takes(const struct dx_row_filter *f, const struct dx_listing_row *row,
                        struct dx_buf *scratch, struct dx_error *err)
{
    bool taken;
    int rc;

    dx_buf_clear(scratch);
    taken = (!dx_row_filter_skips(f) ||
             dx_row_filter_side(f, row->host, row->path_query) == DX_ROW_WITHIN) &&
            (f->mime.data == NULL || is_of_type(extra(row, "content_type"), f->mime)) &&
            (!dx_row_filter_times(f) || dx_row_filter_has_time(f, row->has_ts, row->ts_us)) &&
            takes_rest(f, row) &&
            (f->tag.data == NULL || has_tag(extra(row, DX_TAGS_COLUMN), f->tag, scratch));

    if (scratch->no_memory)
        return dx_no_memory(err, "tags of a row");
    rc = taken && f->terms[0].data != NULL ? takes_terms(f, row, scratch, err) : taken;
    return rc == 1 && f->numbers != NULL ? dx_row_number_within(f->numbers, row, err) : rc;
}

/* ---- packed: u16 size of each, 0 if it is not asked, and its bytes; the first three, and of the others those up to the
 * last one that is asked ---- */

size_t dx_row_filter_pack(const struct dx_row_filter *f, uint8_t out[DX_ROW_FILTER_MAX])
{
    struct dx_span parts[PARTS];
    unsigned count = PARTS;
    size_t n = 0;

    if (!dx_row_filter_any(f))
        return 0;
    parts_of(f, parts);
    while (count > PARTS_ALWAYS && parts[count - 1].data == NULL)
        count--;
    for (unsigned i = 0; i < count; i++) {
        out[n++] = (uint8_t)(parts[i].size & 0xff);
        out[n++] = (uint8_t)(parts[i].size >> 8);
        if (parts[i].size > 0)
            memcpy(out + n, parts[i].data, parts[i].size);
        n += parts[i].size;
    }
    return n;
}

static bool has_no_gap(const struct dx_row_filter *f)
{
    for (size_t i = 1; i < DX_ROW_FILTER_TERMS; i++)
        if (f->terms[i].data != NULL && f->terms[i - 1].data == NULL)
            return false;
    return true;
}

bool dx_row_filter_unpack(struct dx_span packed, struct dx_row_filter *f)
{
    struct dx_span *const parts[PARTS] = { &f->tag,      &f->mime,     &f->prefix,  &f->from,
                                           &f->to,       &f->status,   &f->lang,    &f->terms[0],
                                           &f->terms[1], &f->terms[2], &f->terms[3] };
    struct dx_bytes r = dx_bytes_of(packed);
    const char *which;
    unsigned i;

    *f = (struct dx_row_filter){ .tag = { NULL, 0 } };
    for (i = 0; i < PARTS && (i < PARTS_ALWAYS ? packed.size > 0 : dx_bytes_left(&r) > 0); i++) {
        uint16_t size = dx_bytes_u16(&r);
        struct dx_span part = dx_bytes_take(&r, size);

        if (size > 0)
            *parts[i] = part;
    }
    return !r.failed && dx_bytes_left(&r) == 0 &&
           (i <= PARTS_ALWAYS || parts[i - 1]->data != NULL) && has_no_gap(f) &&
           compile_terms(f, &which) == NULL;
}
