/* SPDX-License-Identifier: Apache-2.0
 * Rows of an answer in each format, and the field Accept: the first byte says which, the rest is the JSON of the
 * answer, or the field. What is written is the same however often, and never more than the answer explains. */
#include "query/formats/row_writer.h"
#include "server/routes/row_ask.h"

#include <stdlib.h>

#define OUT_MAX ((size_t)1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct dx_row_column columns[] = {
    { "url_id", DX_COLUMN_HEX64 }, { "url", DX_COLUMN_TEXT },
    { "ts", DX_COLUMN_TIME },      { "raw_url", DX_COLUMN_TEXT },
    { "extras", DX_COLUMN_JSON },  { "content_type", DX_COLUMN_TEXT },
    { "tags", DX_COLUMN_JSON },    { "locator", DX_COLUMN_TEXT },
    { "share", DX_COLUMN_F64 },    { "count", DX_COLUMN_U64 },
};

static void write_rows(enum dx_row_format format, struct dx_span body, struct dx_buf *out)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_row_writer *w;
    struct dx_row_page page;
    int rc = dx_row_writer_new(&w, format, columns, sizeof columns / sizeof *columns, &err);

    for (unsigned again = 0; rc == DX_OK && again < 2; again++)
        rc = dx_row_writer_page(w, body, "items", 100, out, &page, &err);
    if (rc == DX_OK && page.row_count > 100)
        abort();
    if (rc == DX_OK)
        rc = dx_row_writer_end(w, out, &err);
    if (rc > 0)
        abort();
    dx_row_writer_free(&w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dx_buf out = DX_BUF_INIT(OUT_MAX);
    struct dx_buf again = DX_BUF_INIT(OUT_MAX);
    enum dx_row_format format;

    if (size == 0)
        return 0;
    format = (enum dx_row_format)(data[0] % DX_ROW_FORMAT_COUNT);
    if (format == DX_ROWS_JSON) {
        (void)dx_row_accept_is_plain(dx_span_of(data + 1, size - 1));
        return 0;
    }
    write_rows(format, dx_span_of(data + 1, size - 1), &out);
    write_rows(format, dx_span_of(data + 1, size - 1), &again);
    if (out.size != again.size || (out.size > 0 && memcmp(out.data, again.data, out.size) != 0))
        abort();
    dx_buf_release(&out);
    dx_buf_release(&again);
    return 0;
}
