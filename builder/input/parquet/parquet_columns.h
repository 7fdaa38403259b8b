/* SPDX-License-Identifier: Apache-2.0
 * parquet_columns.h - which columns of a Parquet file are the URL, the time, the dataset, an extra.
 *
 *   rc = dx_parquet_columns_find(&columns, &footer, &want, path, &err);
 *   columns.column[DX_ROW_URL].from ... .found.leaf ... .json[]
 *   dx_parquet_columns_release(&columns);
 *
 * The rules are in parquet_rows.h. A column that is not there is an error that lists those there
 * are. The footer is borrowed. No I/O. One thread at a time.
 */
#ifndef DX_BUILDER_INPUT_PARQUET_PARQUET_COLUMNS_H
#define DX_BUILDER_INPUT_PARQUET_PARQUET_COLUMNS_H

#include "builder/input/records/input_columns.h"
#include "builder/input/records/row_record.h"
#include "parquet/column_path.h"

#define DX_PARQUET_JSON_MAX 6

enum dx_parquet_from { DX_PARQUET_ABSENT, DX_PARQUET_FROM_LEAF, DX_PARQUET_FROM_PATH };

struct dx_parquet_column {
    enum dx_parquet_from from;
    struct dx_pq_column_found found; /* FROM_LEAF */
    /* Of JSON in the leaf's text the first of these that it has; none: the text is the value. */
    struct dx_json_path json[DX_PARQUET_JSON_MAX];
    size_t json_count;
    /* Of the entries of a map the value of the first of these keys that a row has; is_map: the leaf is that of the values. */
    bool is_map, any_case;
    uint32_t key_leaf;
    struct dx_span key[DX_PARQUET_JSON_MAX];
    size_t key_count;
    /* Repeated, but not with the URL: arrays of JSON. Repetition levels up to `apart` are the URL's: an array for each element. */
    bool is_array;
    uint8_t apart;
    bool
        is_fixed_text; /* FIXED that is the URL, time or dataset: text without the NULs and blanks at its end */
    bool may_be_hex;         /* an extra of bytes: in hexadecimal where they are not UTF-8 */
    struct dx_span constant; /* FROM_PATH: the same for all rows; data == NULL: null */
};

struct dx_parquet_columns {
    struct dx_parquet_column column[DX_ROW_EXTRA + DX_EXTRA_COLUMNS_MAX];
    size_t extra_count;
    struct dx_column_labels labels;
    char *owned[DX_ROW_EXTRA + DX_EXTRA_COLUMNS_MAX]; /* texts that spans of column[] point into */
};

int dx_parquet_columns_find(struct dx_parquet_columns *c, const struct dx_pq_footer *f,
                            const struct dx_columns_want *want, const char *path,
                            struct dx_error *err);
void dx_parquet_columns_release(struct dx_parquet_columns *c);

#endif
