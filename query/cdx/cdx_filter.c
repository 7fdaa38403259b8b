/* SPDX-License-Identifier: Apache-2.0 */
#include "query/cdx/cdx_filter.h"

#include "query/cdx/cdx_text.h"
#include "query/view/problem.h"
#include "query/view/regex.h"

#define LINE_MAX_BYTES (1u << 20)

void dx_cdx_filters_release(struct dx_cdx_filters *f)
{
    for (size_t i = 0; i < f->count; i++)
        dx_regex_free(&f->list[i].regex);
    f->count = 0;
    dx_buf_release(&f->line);
}

static bool take_sign(struct dx_span *s, char sign)
{
    bool there = s->size > 0 && s->data[0] == (uint8_t)sign;

    if (there)
        *s = dx_span_of(s->data + 1, s->size - 1);
    return there;
}

static int refuse(struct dx_problem *problem, struct dx_span filter, const char *why)
{
    return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "bad-parameter", "Bad parameter",
                          "filter '%.*s' %s", filter.size > 100 ? 100 : (int)filter.size,
                          (const char *)filter.data, why);
}

/* The field before the ':'. */
static int take_field(struct dx_cdx_filter *one, enum dx_cdx_dialect dialect, struct dx_span filter,
                      struct dx_problem *problem)
{
    const uint8_t *colon = one->text.size == 0 ? NULL : memchr(one->text.data, ':', one->text.size);
    size_t size = colon == NULL ? 0 : (size_t)(colon - one->text.data);

    one->whole_line = colon == NULL;
    if (colon == NULL)
        return dialect == DX_CDX_PYWB ? 1
                                      : refuse(problem, filter, "has no ':' behind a field's name");
    one->column = dx_cdx_filter_column(dx_span_of(one->text.data, size), dialect);
    if (one->column == DX_CDX_NONE && dialect == DX_CDX_WAYBACK)
        return refuse(problem, filter,
                      "names no field; there are urlkey, timestamp, original, mimetype, "
                      "statuscode, digest, length, offset, filename, redirect, robotflags and "
                      "dataset");
    one->text = dx_span_of(colon + 1, one->text.size - size - 1);
    return 1;
}

static int parse_filter(struct dx_cdx_filters *f, struct dx_cdx_filter *one, struct dx_span filter,
                        struct dx_problem *problem)
{
    enum dx_cdx_dialect dialect = f->ask->dialect;
    bool equals;
    bool tilde;
    int rc;

    *one = (struct dx_cdx_filter){ .text = filter };
    one->inverted = take_sign(&one->text, '!');
    equals = take_sign(&one->text, '=');
    tilde = !equals && take_sign(&one->text, '~');
    if (dialect == DX_CDX_WAYBACK && !one->inverted)
        one->inverted = take_sign(&one->text, '!');
    rc = take_field(one, dialect, filter, problem);
    if (rc != 1 || equals)
        return rc;
    one->contains = tilde == (dialect == DX_CDX_WAYBACK);
    if (one->contains)
        return 1;
    return dx_regex_new(&one->regex, one->text,
                        DX_REGEX_BEGIN | (dialect == DX_CDX_WAYBACK ? DX_REGEX_END : 0), &f->work,
                        problem);
}

int dx_cdx_filters_init(struct dx_cdx_filters *f, const struct dx_cdx_ask *ask,
                        struct dx_problem *problem)
{
    int rc = 1;

    f->ask = ask;
    f->count = 0;
    f->work = (struct dx_regex_work){ .most = DX_CDX_REGEX_STEPS };
    dx_buf_init(&f->line, LINE_MAX_BYTES);
    for (size_t i = 0; rc == 1 && i < ask->filter_count; i++)
        rc = parse_filter(f, &f->list[f->count++], ask->filters[i], problem);
    return rc;
}

static int matches(const struct dx_cdx_filter *one, struct dx_span value, struct dx_error *err)
{
    if (one->regex != NULL)
        return dx_regex_matches(one->regex, value, err);
    if (!one->contains)
        return dx_span_equal(value, one->text);
    return one->text.size == 0 || (value.size > 0 && memmem(value.data, value.size, one->text.data,
                                                            one->text.size) != NULL);
}

int dx_cdx_filters_take(struct dx_cdx_filters *f, const struct dx_span *columns,
                        struct dx_error *err)
{
    for (size_t i = 0; i < f->count; i++) {
        const struct dx_cdx_filter *one = &f->list[i];
        struct dx_span value = { NULL, 0 };
        int rc;

        if (one->whole_line) {
            dx_buf_clear(&f->line);
            dx_cdx_text_line(f->ask, columns, &f->line);
            if (f->line.failed)
                return dx_buf_fail(&f->line, err, "line of a row");
            value = dx_span_of(f->line.data, f->line.size);
        } else if (one->column != DX_CDX_NONE) {
            value = columns[one->column];
        }
        if (value.data == NULL)
            value = dx_span_str(f->ask->dialect == DX_CDX_WAYBACK ? "-" : "");
        rc = matches(one, value, err);
        if (rc < 0)
            return rc;
        if ((rc == 1) == one->inverted)
            return 0;
    }
    return 1;
}
