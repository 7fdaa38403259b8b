/* SPDX-License-Identifier: Apache-2.0
 * row_writer.h - the rows of JSON answers, page by page, as one text or file of another format.
 *
 *   rc = dx_row_writer_new(&w, DX_ROWS_CSV, columns, count, &err);
 *   rc = dx_row_writer_page(w, body, "items", rows_max, &out, &page, &err);    for each answer
 *   rc = dx_row_writer_end(w, &out, &err);
 *   dx_row_writer_free(&w);
 *
 * The outputs one behind the other are the whole. rows_max: rows of the page behind it are left out.
 * `page` says how many rows came, and where the answer goes on; its spans lie in body. A row that
 * cannot be written is an error, never left out. What is held between pages: of Parquet a row group,
 * else nothing. One thread at a time.
 */
#ifndef DX_QUERY_FORMATS_ROW_WRITER_H
#define DX_QUERY_FORMATS_ROW_WRITER_H

#include "query/formats/json_rows.h"
#include "query/formats/row_columns.h"
#include "query/formats/row_format.h"

struct dx_row_writer;

struct dx_row_page {
    uint64_t row_count;
    struct dx_json_next next;
};

int dx_row_writer_new(struct dx_row_writer **w, enum dx_row_format format,
                      const struct dx_row_column *columns, size_t count, struct dx_error *err);
int dx_row_writer_page(struct dx_row_writer *w, struct dx_span body, const char *member,
                       uint64_t rows_max, struct dx_buf *out, struct dx_row_page *page,
                       struct dx_error *err);
int dx_row_writer_end(struct dx_row_writer *w, struct dx_buf *out, struct dx_error *err);
void dx_row_writer_free(struct dx_row_writer **w);

#endif
