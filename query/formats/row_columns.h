/* SPDX-License-Identifier: Apache-2.0
 * row_columns.h - the members of a row as columns of a table.
 *
 *   static const struct dx_row_column columns[] = { { "domain", DX_COLUMN_TEXT }, ... };
 *
 *   rc = dx_row_bind(columns, count, row, values, &err);    values[i]: JSON text of columns[i]
 *
 * data of a value is NULL where the row has none, or null. A member without a column is
 * DX_E_INVALID: the declaration is incomplete, and the value would be lost. Any thread.
 */
#ifndef DX_QUERY_FORMATS_ROW_COLUMNS_H
#define DX_QUERY_FORMATS_ROW_COLUMNS_H

#include "base/bytes.h"
#include "base/error.h"

#define DX_ROW_COLUMNS_MAX 24

enum dx_column_type {
    DX_COLUMN_TEXT,
    DX_COLUMN_HEX64, /* "0x0123456789abcdef": a number of 64 bits without sign */
    DX_COLUMN_U64,
    DX_COLUMN_F64,
    DX_COLUMN_TIME, /* text as of base/civil_time.h: microseconds since 1970 */
    DX_COLUMN_JSON  /* a list or an object: its JSON text */
};

struct dx_row_column {
    const char *name;
    enum dx_column_type type;
};

int dx_row_bind(const struct dx_row_column *columns, size_t count, struct dx_span row,
                struct dx_span values[DX_ROW_COLUMNS_MAX], struct dx_error *err);

#endif
