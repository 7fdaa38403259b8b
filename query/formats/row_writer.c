/* SPDX-License-Identifier: Apache-2.0 */
#include "query/formats/row_writer.h"

#include "base/csv_out.h"
#include "query/formats/arrow_stream.h"
#include "query/formats/cdx_row.h"
#include "query/formats/column_batch.h"
#include "query/formats/parquet_stream.h"

#include <assert.h>
#include <stdlib.h>

#define SCRATCH_MAX ((size_t)64 << 20)

struct dx_row_writer {
    enum dx_row_format format;
    bool begun;
    size_t column_count;
    struct dx_row_column column[DX_ROW_COLUMNS_MAX];
    struct dx_buf scratch; /* texts of a row without their escapes */
    struct dx_cdx_row cdx;
    struct dx_column_batch batch;
    struct dx_parquet_stream *parquet;
};

int dx_row_writer_new(struct dx_row_writer **out, enum dx_row_format format,
                      const struct dx_row_column *columns, size_t count, struct dx_error *err)
{
    struct dx_row_writer *w = calloc(1, sizeof *w);
    int rc = DX_OK;

    assert(count <= DX_ROW_COLUMNS_MAX && format != DX_ROWS_JSON);
    *out = w;
    if (w == NULL)
        return dx_no_memory(err, "rows");
    w->format = format;
    w->column_count = count;
    memcpy(w->column, columns, count * sizeof *columns);
    dx_buf_init(&w->scratch, SCRATCH_MAX);
    dx_cdx_row_init(&w->cdx);
    dx_column_batch_init(&w->batch, w->column, count);
    if (format == DX_ROWS_PARQUET)
        rc = dx_parquet_stream_new(&w->parquet, w->column, count, err);
    return rc;
}

void dx_row_writer_free(struct dx_row_writer **w)
{
    if (*w == NULL)
        return;
    dx_buf_release(&(*w)->scratch);
    dx_cdx_row_release(&(*w)->cdx);
    dx_column_batch_release(&(*w)->batch);
    dx_parquet_stream_free(&(*w)->parquet);
    free(*w);
    *w = NULL;
}

/* ---- text ---- */

static void put_csv_head(struct dx_row_writer *w, struct dx_buf *out)
{
    for (size_t i = 0; i < w->column_count; i++) {
        if (i > 0)
            dx_buf_u8(out, ',');
        dx_csv_text(out, dx_span_str(w->column[i].name));
    }
    dx_csv_end(out);
}

/* The text of a string, and JSON of all else; of nothing, nothing. */
static bool plain_text(struct dx_row_writer *w, struct dx_span value, struct dx_span *text)
{
    *text = value;
    return value.data == NULL || value.data[0] != '"' || dx_json_plain(value, &w->scratch, text);
}

static int bad_text(const char *name, struct dx_error *err)
{
    return dx_fail(err, DX_E_CORRUPT, "answer: '%s' of a row is not a JSON text", name);
}

static int put_csv(struct dx_row_writer *w, const struct dx_span *values, struct dx_buf *out,
                   struct dx_error *err)
{
    for (size_t i = 0; i < w->column_count; i++) {
        struct dx_span text;

        if (!plain_text(w, values[i], &text))
            return bad_text(w->column[i].name, err);
        if (i > 0)
            dx_buf_u8(out, ',');
        dx_csv_text(out, text);
    }
    dx_csv_end(out);
    return DX_OK;
}

static int put_url(struct dx_row_writer *w, const struct dx_span *values, struct dx_buf *out,
                   struct dx_error *err)
{
    struct dx_span text = { NULL, 0 };

    for (size_t i = 0; i < w->column_count; i++)
        if (strcmp(w->column[i].name, "url") == 0 && !plain_text(w, values[i], &text))
            return bad_text("url", err);
    dx_buf_append(out, text.data, text.size);
    dx_buf_u8(out, '\n');
    return DX_OK;
}

static int put_cdx(struct dx_row_writer *w, const struct dx_span *values, struct dx_buf *out,
                   struct dx_error *err)
{
    int rc = dx_cdx_row_set(&w->cdx, w->column, w->column_count, values, err);

    if (rc == DX_OK && w->format == DX_ROWS_CDX)
        dx_cdx_row_put(&w->cdx, out);
    else if (rc == DX_OK)
        dx_cdx_row_put_json(&w->cdx, out);
    return rc;
}

/* ---- rows and pages ---- */

static int put_row(struct dx_row_writer *w, struct dx_span row, struct dx_buf *out,
                   struct dx_error *err)
{
    struct dx_span values[DX_ROW_COLUMNS_MAX];
    int rc;

    if (w->format == DX_ROWS_NDJSON) {
        dx_buf_append(out, row.data, row.size);
        dx_buf_u8(out, '\n');
        return DX_OK;
    }
    /* No text is longer than its row, so that spans into scratch stay where they are. */
    dx_buf_clear(&w->scratch);
    if (dx_buf_reserve(&w->scratch, row.size) == NULL)
        return dx_buf_fail(&w->scratch, err, "a row");
    rc = dx_row_bind(w->column, w->column_count, row, values, err);
    if (rc < 0)
        return rc;
    switch (w->format) {
    case DX_ROWS_CSV:
        return put_csv(w, values, out, err);
    case DX_ROWS_CDX:
    case DX_ROWS_CDXJ:
        return put_cdx(w, values, out, err);
    case DX_ROWS_URLS:
        return put_url(w, values, out, err);
    default:
        return dx_column_batch_add(&w->batch, values, err);
    }
}

static int put_batch(struct dx_row_writer *w, struct dx_buf *out, struct dx_error *err)
{
    int rc = DX_OK;

    if (w->format == DX_ROWS_PARQUET)
        rc = dx_parquet_stream_add(w->parquet, &w->batch, out, err);
    else if (w->format == DX_ROWS_ARROW && w->batch.row_count > 0)
        dx_arrow_batch(&w->batch, out);
    dx_column_batch_clear(&w->batch);
    return rc;
}

static void begin(struct dx_row_writer *w, struct dx_buf *out)
{
    if (w->begun)
        return;
    w->begun = true;
    if (w->format == DX_ROWS_CSV)
        put_csv_head(w, out);
    else if (w->format == DX_ROWS_CDX)
        dx_buf_str(out, DX_CDX_HEADER);
    else if (w->format == DX_ROWS_ARROW)
        dx_arrow_schema(&w->batch, out);
}

/* Room for all lines of a page: they are no longer than its JSON. */
static void reserve_lines(const struct dx_row_writer *w, size_t size, struct dx_buf *out)
{
    if (w->format == DX_ROWS_NDJSON && !out->failed && size <= out->max - out->size)
        (void)dx_buf_reserve(out, size);
}

int dx_row_writer_page(struct dx_row_writer *w, struct dx_span body, const char *member,
                       uint64_t rows_max, struct dx_buf *out, struct dx_row_page *page,
                       struct dx_error *err)
{
    struct dx_json_rows rows;
    struct dx_span row;
    int rc;

    *page = (struct dx_row_page){ .row_count = 0 };
    begin(w, out);
    reserve_lines(w, body.size, out);
    rc = dx_json_rows_open(&rows, body, member, err);
    if (rc < 0)
        return rc;
    while ((rc = dx_json_rows_next(&rows, &row, err)) == 1) {
        if (page->row_count == rows_max)
            continue;
        rc = put_row(w, row, out, err);
        if (rc < 0)
            return rc;
        page->row_count++;
    }
    if (rc == 0)
        rc = put_batch(w, out, err);
    if (rc == DX_OK)
        rc = dx_json_rows_end(&rows, &page->next, err);
    return rc == DX_OK && out->failed ? dx_buf_fail(out, err, "rows of an answer") : rc;
}

int dx_row_writer_end(struct dx_row_writer *w, struct dx_buf *out, struct dx_error *err)
{
    int rc = DX_OK;

    begin(w, out);
    if (w->format == DX_ROWS_ARROW)
        dx_arrow_end(out);
    else if (w->format == DX_ROWS_PARQUET)
        rc = dx_parquet_stream_end(w->parquet, out, err);
    return rc == DX_OK && out->failed ? dx_buf_fail(out, err, "rows of an answer") : rc;
}
