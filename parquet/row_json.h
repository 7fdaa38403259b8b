/* SPDX-License-Identifier: Apache-2.0
 * row_json.h - some rows of a row group of a Parquet file, as JSON.
 *
 *   struct dx_pq_rows rows = DX_PQ_ROWS_INIT;
 *   rc = dx_pq_rows_columns(&rows, &footer, names, count, &err);    top-level columns; count 0: all of them
 *   n = dx_pq_rows_stored(&rows, group, &pages);                    bytes of their chunks, before one is read
 *   rc = dx_pq_rows_read(&rows, &fetch, group, row, count, &limits, &err);
 *   rc = dx_pq_rows_json(&rows, i, &json, seen, ctx, &err);         row[i] as an object, once
 *   dx_pq_rows_release(&rows);                                      safe at any time
 *
 * Of each column the pages of the row group up to that of the last row are read, once. Structs become objects,
 * lists and repeated columns arrays, maps arrays of {"key", "value"}; numbers and booleans stay what they are where
 * JSON can hold them, everything else is text as value_text.h has it, bytes that are not UTF-8 in hexadecimal. seen(ctx, text) gets each string of the row;
 * it may be NULL. row: ascending strictly, numbers in the group.
 *
 * A name that the file does not have is DX_E_NOT_FOUND and lists those it has; a group or row that it does not have,
 * and a column that cannot be decoded, are errors that name them, not the file. `limits` bound a page,
 * rows.text_max the text of all values together (DX_E_LIMIT). The footer is borrowed. One thread at a time.
 */
#ifndef DX_PARQUET_ROW_JSON_H
#define DX_PARQUET_ROW_JSON_H

#include "base/buf.h"
#include "parquet/footer.h"

struct dx_json;
struct dx_pq_fetch;
struct dx_pq_limits;
struct dx_pq_row_leaf;

struct dx_pq_rows {
    size_t text_max; /* set before read; DX_PQ_ROWS_INIT: 64 MiB */

    /* private */
    const struct dx_pq_footer *footer;
    bool *wanted; /* by child of the root */
    struct dx_pq_row_leaf *leaf;
    struct dx_buf text; /* of all values */
    struct dx_json *json;
    void (*seen)(void *ctx, struct dx_span text);
    void *ctx;
};

#define DX_PQ_ROWS_INIT                    \
    {                                      \
        .text_max = (size_t)64 << 20, NULL \
    }

int dx_pq_rows_columns(struct dx_pq_rows *r, const struct dx_pq_footer *footer,
                       const struct dx_span *name, size_t count, struct dx_error *err);
uint64_t dx_pq_rows_stored(const struct dx_pq_rows *r, uint32_t group, unsigned *chunks);
int dx_pq_rows_read(struct dx_pq_rows *r, const struct dx_pq_fetch *fetch, uint64_t group,
                    const uint64_t *row, size_t count, const struct dx_pq_limits *limits,
                    struct dx_error *err);
int dx_pq_rows_json(struct dx_pq_rows *r, size_t i, struct dx_json *json,
                    void (*seen)(void *ctx, struct dx_span text), void *ctx, struct dx_error *err);
void dx_pq_rows_release(struct dx_pq_rows *r);

#endif
