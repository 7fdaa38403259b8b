/* SPDX-License-Identifier: Apache-2.0 */
#include "format/exchange/pg_copy.h"

#include "base/utf8.h"

#include <assert.h>

#define EPOCH_US INT64_C(946684800000000) /* 2000-01-01, where its times begin */
#define TIME_MIN_US \
    INT64_C(-211813488000000000) /* 4713 BC, from there; its last one is beyond int64 */

static void big_endian(struct dx_buf *out, uint64_t v, unsigned bytes)
{
    uint8_t *to = dx_buf_reserve(out, bytes);

    if (to == NULL)
        return;
    for (unsigned i = 0; i < bytes; i++)
        to[i] = (uint8_t)(v >> (8 * (bytes - 1 - i)));
    out->size += bytes;
    assert(out->size <= out->capacity);
}

void dx_pg_copy_begin(struct dx_buf *out)
{
    static const char signature[11] = { 'P', 'G', 'C', 'O', 'P', 'Y', '\n', '\377', '\r', '\n', 0 };

    dx_buf_append(out, signature, sizeof signature);
    dx_buf_zero(out, 8); /* flags, size of an extension */
}

void dx_pg_copy_end(struct dx_buf *out)
{
    big_endian(out, UINT16_MAX, 2);
}

void dx_pg_copy_row(struct dx_buf *out, uint16_t fields)
{
    big_endian(out, fields, 2);
}

void dx_pg_copy_null(struct dx_buf *out)
{
    big_endian(out, UINT32_MAX, 4);
}

void dx_pg_copy_i32(struct dx_buf *out, int32_t v)
{
    big_endian(out, 4, 4);
    big_endian(out, (uint32_t)v, 4);
}

void dx_pg_copy_i64(struct dx_buf *out, int64_t v)
{
    big_endian(out, 8, 4);
    big_endian(out, (uint64_t)v, 8);
}

bool dx_pg_copy_time(struct dx_buf *out, int64_t unix_us)
{
    if (unix_us < TIME_MIN_US + EPOCH_US) {
        dx_pg_copy_null(out);
        return false;
    }
    dx_pg_copy_i64(out, unix_us - EPOCH_US);
    return true;
}

bool dx_pg_copy_is_text(struct dx_span s)
{
    return s.size == 0 || (memchr(s.data, 0, s.size) == NULL && dx_utf8_is_valid(s));
}

static void mend(struct dx_buf *out, struct dx_span s)
{
    for (size_t i = 0; i < s.size;) {
        size_t n = s.data[i] == 0 ? 0 : dx_utf8_size(s.data + i, s.size - i);

        if (n == 0)
            dx_buf_append(out, "\xEF\xBF\xBD", 3);
        else
            dx_buf_append(out, s.data + i, n);
        i += n == 0 ? 1 : n;
    }
}

bool dx_pg_copy_text(struct dx_buf *out, struct dx_span s)
{
    size_t at = out->size;

    if (s.data == NULL) {
        dx_pg_copy_null(out);
        return false;
    }
    big_endian(out, s.size, 4);
    if (dx_pg_copy_is_text(s)) {
        dx_buf_append(out, s.data, s.size);
        return false;
    }
    mend(out, s);
    if (!out->failed) { /* the size is known now */
        size_t end = out->size;

        out->size = at;
        big_endian(out, end - at - 4, 4);
        out->size = end;
    }
    return true;
}
