/* SPDX-License-Identifier: Apache-2.0
 * fuzz_cdx_query.c - any bytes as the parameters of a CDX request, in both dialects: a question or a problem, and its filters too.
 */
#include "query/cdx/cdx_query.h"

#include <stdlib.h>

#include "query/cdx/cdx_sequence.h"
#include "query/view/problem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool lies_in(const struct dx_buf *text, struct dx_span s)
{
    return s.size == 0 || (s.data >= text->data && s.data + s.size <= text->data + text->size);
}

static void ask_filters(const struct dx_cdx_ask *ask)
{
    static struct dx_cdx_sequence q;
    struct dx_span columns[DX_CDX_COLUMNS] = { { NULL, 0 } };
    struct dx_problem problem = { 0 };
    struct dx_error err = DX_ERROR_INIT;
    int rc = dx_cdx_sequence_init(&q, ask, &problem);

    columns[DX_CDX_URLKEY] = dx_span_str("com,example)/");
    columns[DX_CDX_TIMESTAMP] = dx_span_str("20150102030405");
    columns[DX_CDX_ORIGINAL] = dx_span_str("http://example.com/");
    columns[DX_CDX_STATUS] = dx_span_str("200");
    if (rc == 0 && problem.slug == NULL)
        abort();
    for (unsigned i = 0; rc == 1 && i < 3; i++)
        (void)dx_cdx_sequence_row(&q, columns, UINT64_C(20150102030405), &err);
    dx_cdx_sequence_release(&q);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (unsigned d = 0; d < 2 && size <= 8448; d++) {
        struct dx_buf text = DX_BUF_INIT(size + 1);
        struct dx_problem problem = { 0 };
        struct dx_cdx_ask ask;
        int rc = dx_cdx_query_parse(dx_span_of(data, size), (enum dx_cdx_dialect)d, &text, &ask,
                                    &problem);

        if (rc < 0 || (rc == 0) != (problem.slug != NULL))
            abort();
        if (rc == 1 &&
            (ask.url.size == 0 || !lies_in(&text, ask.url) || ask.match > DX_CDX_DOMAIN ||
             ask.limit == 0 || ask.page_size == 0 || !lies_in(&text, ask.resume_key)))
            abort();
        if (rc == 1)
            ask_filters(&ask);
        dx_buf_release(&text);
    }
    return 0;
}
