/* SPDX-License-Identifier: Apache-2.0
 * One page, with or without a dictionary page before it. The first bytes choose the column:
 * type, codec, levels and type length, then u16 size of the dictionary page. The CRC of
 * the page is not part of the play: inputs that carry one seldom get past it.
 */
#include "parquet/page.h"
#include "parquet/page_write.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool has_spans(unsigned type)
{
    return type == DX_PQ_BYTE_ARRAY || type == DX_PQ_FIXED || type == DX_PQ_INT96;
}

/* What was decoded can be written and decodes to the same. */
static void write_back(struct dx_pq_column c, const struct dx_pq_values *v,
                       const struct dx_pq_limits *limits)
{
    struct dx_pq_page_writer w = DX_PQ_PAGE_WRITER_INIT(1);
    struct dx_pq_values again = DX_PQ_VALUES_INIT;
    struct dx_buf page = DX_BUF_INIT(1 << 24);
    struct dx_pq_page_info info;
    unsigned encoding = c.type == DX_PQ_BYTE_ARRAY                       ? DX_PQ_DELTA_BYTE_ARRAY
                        : c.type == DX_PQ_INT32 || c.type == DX_PQ_INT64 ? DX_PQ_DELTA_BINARY_PACKED
                                                                         : DX_PQ_PLAIN;
    int rc;

    c.codec = DX_PQ_UNCOMPRESSED;
    rc = dx_pq_page_write(&w, &c, encoding, v, &page, &info, NULL);
    if (rc == DX_OK)
        rc = dx_pq_page_decode(&c, dx_span_of(page.data, page.size), NULL, limits, &again, NULL);
    if (rc == DX_OK) {
        if (again.row_count != v->row_count || again.null_count != v->null_count)
            abort();
        for (uint32_t i = 0; i < v->row_count; i++)
            if (dx_pq_is_null(v, i) != dx_pq_is_null(&again, i) ||
                (has_spans(c.type) ? !dx_span_equal(v->spans[i], again.spans[i])
                                   : v->ints[i] != again.ints[i]))
                abort();
    } else if (rc == DX_E_CORRUPT || rc == DX_E_TRUNCATED) {
        abort();
    }
    dx_pq_page_writer_release(&w);
    dx_pq_values_release(&again);
    dx_buf_release(&page);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct dx_pq_limits limits = { 1 << 16, 1 << 14 };
    struct dx_pq_dictionary d = DX_PQ_DICTIONARY_INIT;
    struct dx_pq_values v = DX_PQ_VALUES_INIT;
    struct dx_bytes r = dx_bytes_of(dx_span_of(data, size));
    struct dx_pq_column c = { .type = dx_bytes_u8(&r) % 8, .codec = dx_bytes_u8(&r) % 8 };
    struct dx_span dictionary;

    c.max_def = dx_bytes_u8(&r) % 2;
    c.type_length = c.type == DX_PQ_FIXED ? dx_bytes_u8(&r) % 32u : dx_bytes_u8(&r) & 0u;
    c.is_unsigned = c.type_length % 2 == 1;
    dictionary = dx_bytes_take(&r, dx_bytes_u16(&r));
    if (r.failed)
        return 0;
    if (dictionary.size > 0)
        (void)dx_pq_dictionary_decode(&c, dictionary, &limits, &d, NULL);
    if (dx_pq_page_decode(&c, dx_span_of(r.at, dx_bytes_left(&r)), &d, &limits, &v, NULL) ==
            DX_OK &&
        c.type != DX_PQ_BOOLEAN)
        write_back(c, &v, &limits);
    dx_pq_dictionary_release(&d);
    dx_pq_values_release(&v);
    return 0;
}
