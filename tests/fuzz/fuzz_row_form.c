/* SPDX-License-Identifier: Apache-2.0
 * fuzz_row_form.c - four lines as domain, scheme, host and path of a row: what counts as canonical
 * is what the canonicaliser makes of the URL, and what it makes of any URL counts as canonical.
 */
#include "canon/row_form.h"

#include "canon/url.h"

#include <stdio.h>
#include <stdlib.h>

static const char list[] = "com\norg\nuk\nco.uk\n*.ck\n!www.ck\ngithub.io\nio\n";

static struct dx_psl *psl;
static struct dx_canon *canon;
static struct dx_row_form *form;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "broken: %s\n", what);
    abort();
}

static struct dx_span take_line(struct dx_span *rest)
{
    const uint8_t *end = rest->size == 0 ? NULL : memchr(rest->data, '\n', rest->size);
    struct dx_span line = end == NULL ? *rest : dx_span_of(rest->data, (size_t)(end - rest->data));
    size_t taken = line.size + (end != NULL);

    *rest = dx_span_of(rest->data + taken, rest->size - taken);
    return line;
}

static size_t put(uint8_t *to, size_t at, struct dx_span text)
{
    if (text.size > 0)
        memcpy(to + at, text.data, text.size);
    return at + text.size;
}

static void check_canonical(const struct dx_row_columns *row, const uint8_t *text, size_t size)
{
    enum dx_reject why;
    struct dx_url url;

    require(size <= DX_URL_MAX && dx_canon_url(canon, dx_span_of(text, size), &url, &why) == 1,
            "a canonical row is a URL");
    require(dx_span_equal(url.url, dx_span_of(text, size)) && dx_span_equal(url.host, row->host) &&
                dx_span_equal(url.scheme, row->scheme) &&
                dx_span_equal(url.path_query, row->path_query),
            "and the same one");
    require(dx_span_equal(url.domain, row->domain), "of that domain");
    require(dx_span_equal(dx_row_form_url(form, row), dx_span_of(text, size)), "its text");
}

static void check_any(const uint8_t *text, size_t size)
{
    enum dx_reject why;
    struct dx_url url;

    if (dx_canon_url(canon, dx_span_of(text, size), &url, &why) == 1)
        require(dx_row_form_check(form, &(struct dx_row_columns){ url.domain, url.scheme, url.host,
                                                                  url.path_query }) ==
                    DX_ROW_CANONICAL,
                "what the canonicaliser makes is canonical");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dx_span rest = dx_span_of(data, size);
    struct dx_row_columns row;
    uint8_t *text;
    size_t n;

    if (form == NULL)
        require(dx_psl_new(&psl, dx_span_str(list), NULL) == 0 &&
                    dx_canon_new(&canon, psl, NULL) == 0 && dx_row_form_new(&form, psl, NULL) == 0,
                "start");
    row.domain = take_line(&rest);
    row.scheme = take_line(&rest);
    row.host = take_line(&rest);
    row.path_query = rest;
    text = malloc(size + 8);
    require(text != NULL, "memory");
    n = put(text, 0, row.scheme);
    n = put(text, n, dx_span_str("://"));
    n = put(text, n, row.host);
    n = put(text, n, row.path_query);
    if (dx_row_form_check(form, &row) == DX_ROW_CANONICAL)
        check_canonical(&row, text, n);
    check_any(text, n);
    free(text);
    return 0;
}
