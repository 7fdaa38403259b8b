/* SPDX-License-Identifier: Apache-2.0
 * fuzz_row_filter.c - values of the filter parameters, a line each, in the order in which they are packed: what is accepted is packed, is read back
 * as it was, and says the same of a row; and any bytes as a packed filter.
 */
#include "query/rows/row_filter.h"

#include "base/buf.h"
#include "query/rows/listing.h"
#include "query/view/problem.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool true_, const char *what)
{
    (void)what;
    if (!true_)
        abort();
}

/* Up to a line end; data NULL where the line is empty. */
static struct dx_span next_line(struct dx_span *rest)
{
    const uint8_t *end = rest->size == 0 ? NULL : memchr(rest->data, '\n', rest->size);
    size_t n = end == NULL ? rest->size : (size_t)(end - rest->data);
    struct dx_span line = dx_span_of(n == 0 ? NULL : rest->data, n);

    *rest = end == NULL ? dx_span_of(NULL, 0) : dx_span_of(end + 1, rest->size - n - 1);
    return line;
}

static int takes(struct dx_row_filter *f, const struct dx_listing_row *row)
{
    struct dx_buf scratch = DX_BUF_INIT(1000);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_row_regexes regexes;
    struct dx_problem problem;
    int rc = dx_row_filter_compile(f, &regexes, &problem);

    if (rc == 1)
        rc = dx_row_filter_takes(f, row, &scratch, &err);
    else
        rc = 2;
    dx_row_regexes_release(&regexes);
    dx_buf_release(&scratch);
    return rc;
}

static void check_packed(struct dx_span packed, const struct dx_listing_row *row)
{
    uint8_t again[DX_ROW_FILTER_MAX];
    struct dx_span names[DX_ROW_FILTER_EXTRAS];
    struct dx_row_filter f;

    if (packed.size > DX_ROW_FILTER_MAX || !dx_row_filter_unpack(packed, &f))
        return;
    (void)takes(&f, row);
    (void)dx_row_filter_fields(&f);
    must(dx_row_filter_extras(&f, names) <= DX_ROW_FILTER_EXTRAS, "extras");
    must(dx_row_filter_pack(&f, again) <= sizeof again, "size");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct dx_listing_row row;
    struct dx_row_filter f = { .tag = { NULL, 0 } };
    struct dx_row_filter back;
    struct dx_problem problem;
    uint8_t packed[DX_ROW_FILTER_MAX];
    struct dx_span rest = dx_span_of(data, size);
    struct dx_span *const parts[] = { &f.tag,      &f.mime,     &f.prefix,  &f.from,
                                      &f.to,       &f.status,   &f.lang,    &f.terms[0],
                                      &f.terms[1], &f.terms[2], &f.terms[3] };
    size_t n;

    row.scheme = dx_span_str("https");
    row.host = dx_span_str("www.example.com");
    row.path_query = dx_span_str("/a/b.pdf?x=1");
    row.has_ts = true;
    row.ts_us = 1562235630000000;
    row.extra_count = 2;
    row.extra[0].name = dx_span_str("status");
    row.extra[0].value = dx_span_str("200");
    row.extra[1].name = dx_span_str("tags");
    row.extra[1].value = dx_span_str("[\"news\"]");
    check_packed(rest, &row);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        *parts[i] = next_line(&rest);
    for (size_t i = 1; i < DX_ROW_FILTER_TERMS; i++)
        if (f.terms[i - 1].data == NULL)
            f.terms[i] = dx_span_of(NULL, 0);
    if (dx_row_filter_check(&f, &problem) != 1)
        return 0;
    n = dx_row_filter_pack(&f, packed);
    must(dx_row_filter_unpack(dx_span_of(packed, n), &back), "read back");
    must(takes(&f, &row) == takes(&back, &row), "the same");
    return 0;
}
