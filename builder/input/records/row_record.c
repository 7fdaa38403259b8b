/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/input/records/row_record.h"

#include <assert.h>

#define LENGTH_SIZE 4
#define IS_NULL UINT32_MAX

size_t dx_row_record_size(const struct dx_span *field, size_t n)
{
    size_t size = n * LENGTH_SIZE;

    for (size_t i = 0; i < n; i++)
        size += field[i].size;
    return size;
}

void dx_row_record_put(const struct dx_span *field, size_t n, uint8_t *to)
{
    for (size_t i = 0; i < n; i++) {
        assert(field[i].size < IS_NULL);
        dx_store_u32(to, field[i].data == NULL ? IS_NULL : (uint32_t)field[i].size);
        to += LENGTH_SIZE;
        if (field[i].size > 0)
            memcpy(to, field[i].data, field[i].size);
        to += field[i].size;
    }
}

static struct dx_span next(struct dx_bytes *r)
{
    uint32_t size = dx_bytes_u32(r);

    return size == IS_NULL ? (struct dx_span){ NULL, 0 } : dx_bytes_take(r, size);
}

bool dx_row_record_get(struct dx_span record, struct dx_span *field, size_t n)
{
    struct dx_bytes r = dx_bytes_of(record);

    for (size_t i = 0; i < n; i++)
        field[i] = next(&r);
    return !r.failed && dx_bytes_left(&r) == 0;
}

void dx_row_record_text(struct dx_span record, struct dx_buf *out)
{
    struct dx_bytes r = dx_bytes_of(record);
    size_t begin = out->size;

    while (!r.failed && dx_bytes_left(&r) > 0) {
        struct dx_span field = next(&r);

        if (out->size > begin)
            dx_buf_u8(out, '\t');
        dx_buf_append(out, field.data, field.size);
    }
}
