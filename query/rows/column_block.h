/* SPDX-License-Identifier: Apache-2.0
 * column_block.h - one decoded page of one column as a single block of memory, so that the
 * page cache can hold it.
 *
 *   uint8_t *bytes = dx_column_block_make(&values, type, &size, &err);     malloc'ed
 *   struct dx_column_block b = dx_column_block_of(span);
 *   dx_column_block_text(&b, row)      data == NULL: null
 *   dx_column_block_int(&b, row, &v)   false: null
 *
 * Made only from pages that were verified; lives only in memory, in native byte order.
 * Rows are those of the page, from 0; the caller keeps them below row_count. INT96 rows
 * count as text of 12 bytes. Read-only: threads may share it.
 */
#ifndef DX_QUERY_ROWS_COLUMN_BLOCK_H
#define DX_QUERY_ROWS_COLUMN_BLOCK_H

#include "base/bytes.h"
#include "base/error.h"

struct dx_pq_values;

struct dx_column_block {
    uint32_t row_count;
    const uint8_t *valid;    /* a byte a row, 0 is null; NULL: no nulls */
    const int64_t *ints;     /* or */
    const uint32_t *offsets; /* row_count + 1, into text */
    const uint8_t *text;     /* DX_COLUMN_BLOCK_PAD bytes may be read behind the last one */
    bool plain;              /* text: JSON needs no escape in all of it (base/plain_text.h) */
};

#define DX_COLUMN_BLOCK_PAD 16 /* so that texts can be copied in whole vectors */

/* type: enum dx_pq_type of the column, which says what array of values is filled. */
uint8_t *dx_column_block_make(const struct dx_pq_values *values, unsigned type, size_t *size,
                              struct dx_error *err);
struct dx_column_block dx_column_block_of(struct dx_span bytes);

static inline bool dx_column_block_null(const struct dx_column_block *b, uint32_t row)
{
    return b->valid != NULL && b->valid[row] == 0;
}

static inline struct dx_span dx_column_block_text(const struct dx_column_block *b, uint32_t row)
{
    if (b->offsets == NULL || dx_column_block_null(b, row))
        return dx_span_of(NULL, 0);
    return dx_span_of(b->text + b->offsets[row], b->offsets[row + 1] - b->offsets[row]);
}

static inline bool dx_column_block_int(const struct dx_column_block *b, uint32_t row, int64_t *v)
{
    if (b->ints == NULL || dx_column_block_null(b, row))
        return false;
    *v = b->ints[row];
    return true;
}

#endif
