/* SPDX-License-Identifier: Apache-2.0 */
#include "query/rows/column_block.h"

#include "base/plain_text.h"
#include "parquet/page.h"

#include <stdlib.h>

/* In memory: this header; ints, or offsets; a byte a row if there are nulls; text. */
struct header {
    uint32_t row_count;
    uint8_t has_ints;
    uint8_t has_nulls;
    uint8_t plain;
    uint8_t zero;
};

uint8_t *dx_column_block_make(const struct dx_pq_values *values, unsigned type, size_t *size,
                              struct dx_error *err)
{
    uint32_t rows = values->row_count;
    bool has_ints = type != DX_PQ_BYTE_ARRAY && type != DX_PQ_FIXED && type != DX_PQ_INT96;
    struct header h = { rows, has_ints, values->valid != NULL, 0, 0 };
    size_t fixed = sizeof h + (has_ints ? sizeof(int64_t) * rows : sizeof(uint32_t) * (rows + 1ul));
    size_t text_size = 0;
    uint8_t *bytes;
    uint8_t *at;

    for (uint32_t i = 0; !has_ints && i < rows; i++)
        text_size += values->spans[i].size;
    if (text_size > UINT32_MAX) {
        (void)dx_fail(err, DX_E_LIMIT, "page with %zu bytes of text", text_size);
        return NULL;
    }
    *size = fixed + (h.has_nulls ? rows : 0) + text_size + DX_COLUMN_BLOCK_PAD;
    bytes = malloc(*size);
    if (bytes == NULL) {
        (void)dx_no_memory(err, "decoded page of %zu bytes", *size);
        return NULL;
    }
    at = bytes + fixed;
    if (h.has_nulls) {
        memcpy(at, values->valid, rows);
        at += rows;
    }
    if (has_ints) {
        if (rows > 0)
            memcpy(bytes + sizeof h, values->ints, sizeof(int64_t) * rows);
        memset(at, 0, DX_COLUMN_BLOCK_PAD);
        memcpy(bytes, &h, sizeof h);
        return bytes;
    }
    uint32_t *offsets = (uint32_t *)(void *)(bytes + sizeof h);
    uint32_t offset = 0;
    for (uint32_t i = 0; i < rows; i++) {
        offsets[i] = offset;
        if (values->spans[i].size > 0)
            memcpy(at + offset, values->spans[i].data, values->spans[i].size);
        offset += (uint32_t)values->spans[i].size;
    }
    offsets[rows] = offset;
    memset(at + offset, 0, DX_COLUMN_BLOCK_PAD);
    h.plain = dx_plain_prefix(at, offset) == offset;
    memcpy(bytes, &h, sizeof h);
    return bytes;
}

struct dx_column_block dx_column_block_of(struct dx_span bytes)
{
    struct dx_column_block b = { 0 };
    const void *values = bytes.data + sizeof(struct header);
    struct header h;
    const uint8_t *at;

    memcpy(&h, bytes.data, sizeof h);
    b.row_count = h.row_count;
    if (h.has_ints) {
        b.ints = values;
        at = (const uint8_t *)(b.ints + h.row_count);
    } else {
        b.offsets = values;
        at = (const uint8_t *)(b.offsets + h.row_count + 1);
    }
    if (h.has_nulls) {
        b.valid = at;
        at += h.row_count;
    }
    b.text = at;
    b.plain = h.plain != 0;
    return b;
}
