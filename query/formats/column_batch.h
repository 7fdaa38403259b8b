/* SPDX-License-Identifier: Apache-2.0
 * column_batch.h - rows by column, as values rather than text: what columnar formats are made of.
 *
 *   dx_column_batch_init(&b, columns, count);
 *   rc = dx_column_batch_add(&b, values, &err);       one row, as dx_row_bind leaves it
 *   ... b.row_count, b.column[i] ...
 *   dx_column_batch_clear(&b);                        keeps its storage
 *   dx_column_batch_release(&b);
 *
 * Numbers are in `ints`: HEX64 and U64 as they are, F64 by its bits, TIME in microseconds. Texts lie
 * one behind the other in `text`, and `ends` says where each ends. A null has 0, or no bytes. One
 * thread at a time.
 */
#ifndef DX_QUERY_FORMATS_COLUMN_BATCH_H
#define DX_QUERY_FORMATS_COLUMN_BATCH_H

#include "base/buf.h"
#include "query/formats/row_columns.h"

#define DX_COLUMN_TEXT_MAX ((size_t)256 << 20) /* bytes of the texts of one column */

struct dx_batch_column {
    const char *name;
    enum dx_column_type type;
    struct dx_buf valid; /* a byte a row; 0: null */
    struct dx_buf ints;  /* int64_t each */
    struct dx_buf text;
    struct dx_buf ends; /* uint32_t each */
    uint32_t null_count;
};

struct dx_column_batch {
    size_t column_count;
    uint32_t row_count;
    struct dx_batch_column column[DX_ROW_COLUMNS_MAX];
};

static inline bool dx_column_is_text(enum dx_column_type type)
{
    return type == DX_COLUMN_TEXT || type == DX_COLUMN_JSON;
}

void dx_column_batch_init(struct dx_column_batch *b, const struct dx_row_column *columns,
                          size_t count);
void dx_column_batch_release(struct dx_column_batch *b);
void dx_column_batch_clear(struct dx_column_batch *b);
int dx_column_batch_add(struct dx_column_batch *b, const struct dx_span *values,
                        struct dx_error *err);

#endif
