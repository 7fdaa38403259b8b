/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include "base/bytes.h"
#include "base/utf8.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void dx_buf_init(struct dx_buf *b, size_t max_bytes)
{
    *b = (struct dx_buf)DX_BUF_INIT(max_bytes);
}

void dx_buf_release(struct dx_buf *b)
{
    size_t max = b->max;

    free(b->data);
    dx_buf_init(b, max);
}

void dx_buf_clear(struct dx_buf *b)
{
    b->size = 0;
    b->failed = b->no_memory = false;
}

uint8_t *dx_buf_grow(struct dx_buf *b, size_t n)
{
    size_t capacity;
    uint8_t *data;

    if (b->failed || n > b->max || b->size > b->max - n) {
        b->failed = true;
        return NULL;
    }
    if (b->size + n <= b->capacity && b->data != NULL)
        return b->data + b->size;
    /* The first one who knows how much it will be gets that: twice as much may be a mapping of its own (base/command/process.h). */
    capacity = b->data == NULL && n > 64 ? n : b->capacity < 64 ? 64 : b->capacity;
    while (capacity < b->size + n)
        capacity = capacity > b->max / 2 ? b->max : capacity * 2;
    if (capacity > b->max)
        capacity = b->max; /* so that what fits into it is never over the cap */
    data = realloc(b->data, capacity > 0 ? capacity : 1);
    if (data == NULL) {
        b->failed = b->no_memory = true;
        return NULL;
    }
    b->data = data;
    b->capacity = capacity;
    return data + b->size;
}

void dx_buf_fmt(struct dx_buf *b, const char *fmt, ...)
{
    char small[256];
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(small, sizeof small, fmt, ap);
    va_end(ap);
    if (n < 0) {
        b->failed = true;
        return;
    }
    if ((size_t)n < sizeof small) {
        dx_buf_append(b, small, (size_t)n);
        return;
    }
    uint8_t *to = dx_buf_reserve(b, (size_t)n + 1);
    if (to == NULL)
        return;
    va_start(ap, fmt);
    (void)vsnprintf((char *)to, (size_t)n + 1, fmt, ap);
    va_end(ap);
    b->size += (size_t)n;
}

void dx_buf_printable(struct dx_buf *b, const char *text, size_t size)
{
    const uint8_t *p = (const uint8_t *)text;

    for (size_t at = 0; at < size;) {
        size_t n = dx_utf8_printable_size(p + at, size - at);

        if (n > 0)
            dx_buf_append(b, p + at, n);
        else
            dx_buf_fmt(b, "\\x%02x", p[at]);
        at += n > 0 ? n : 1;
    }
}

void dx_buf_u16(struct dx_buf *b, uint16_t v)
{
    const uint8_t bytes[2] = { (uint8_t)v, (uint8_t)(v >> 8) };

    dx_buf_append(b, bytes, sizeof bytes);
}

void dx_buf_u32(struct dx_buf *b, uint32_t v)
{
    uint8_t bytes[4];

    dx_store_u32(bytes, v);
    dx_buf_append(b, bytes, sizeof bytes);
}

void dx_buf_u64(struct dx_buf *b, uint64_t v)
{
    uint8_t bytes[8];

    dx_store_u64(bytes, v);
    dx_buf_append(b, bytes, sizeof bytes);
}

void dx_buf_long_varint(struct dx_buf *b, uint64_t v)
{
    uint8_t bytes[10];
    size_t n = 0;

    while (v >= 0x80) {
        bytes[n++] = (uint8_t)(v | 0x80);
        v >>= 7;
    }
    bytes[n++] = (uint8_t)v;
    dx_buf_append(b, bytes, n);
}

void dx_buf_zero(struct dx_buf *b, size_t n)
{
    uint8_t *to = dx_buf_reserve(b, n);

    if (to != NULL && n > 0) {
        memset(to, 0, n);
        b->size += n;
    }
}

void dx_buf_align(struct dx_buf *b, size_t align)
{
    assert(align != 0 && (align & (align - 1)) == 0);
    dx_buf_zero(b, (align - (b->size & (align - 1))) & (align - 1));
}

int dx_buf_fail(const struct dx_buf *b, struct dx_error *err, const char *what)
{
    if (!b->no_memory && b->size >= b->max / 2 && b->max < SIZE_MAX / 2)
        return dx_fail(err, DX_E_LIMIT, "%s: larger than its cap of %zu bytes", what, b->max);
    return dx_no_memory(err, "%s: %zu bytes", what, b->size);
}
