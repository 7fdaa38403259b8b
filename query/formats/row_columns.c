/* SPDX-License-Identifier: Apache-2.0 */
#include "query/formats/row_columns.h"

#include "query/formats/json_rows.h"

/* Rows have their members in the order of the columns, so the next one is looked at first. */
static size_t find_column(const struct dx_row_column *columns, size_t count, size_t guess,
                          struct dx_span name)
{
    size_t i = 0;

    if (guess < count && dx_span_equal(name, dx_span_str(columns[guess].name)))
        return guess;
    while (i < count && !dx_span_equal(name, dx_span_str(columns[i].name)))
        i++;
    return i;
}

int dx_row_bind(const struct dx_row_column *columns, size_t count, struct dx_span row,
                struct dx_span values[DX_ROW_COLUMNS_MAX], struct dx_error *err)
{
    struct dx_json_members m;
    struct dx_span name;
    struct dx_span value;
    size_t guess = 0;
    int rc;

    for (size_t i = 0; i < count; i++)
        values[i] = dx_span_of(NULL, 0);
    dx_json_members_begin(&m, row);
    while ((rc = dx_json_members_next(&m, &name, &value, err)) == 1) {
        size_t i = find_column(columns, count, guess, name);

        if (i == count)
            return dx_fail(err, DX_E_INVALID,
                           "answer: rows have a member '%.*s', which is none of the columns",
                           (int)(name.size > 60 ? 60 : name.size), (const char *)name.data);
        if (!dx_span_equal(value, dx_span_str("null")))
            values[i] = value;
        guess = i + 1;
    }
    return rc;
}
