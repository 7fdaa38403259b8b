/* SPDX-License-Identifier: Apache-2.0
 * buf.h - a growing byte buffer with a cap.
 *
 *   struct dx_buf b = DX_BUF_INIT(max_bytes);
 *   dx_buf_str(&b, "GET ");  dx_buf_u32(&b, 17);  dx_buf_varint(&b, n);
 *   if (b.failed)                    one check after many appends
 *       return dx_buf_fail(&b, err, "what");
 *   dx_buf_release(&b);
 *
 * Appends never write past max: the first that does not fit sets `failed` and
 * that and all later ones do nothing, so a caller checks once at the end.
 * Numbers are little-endian. data stays valid until the next append or release.
 * One thread at a time.
 */
#ifndef DX_BASE_BUF_H
#define DX_BASE_BUF_H

#include "base/bytes.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct dx_buf {
    uint8_t *data;
    size_t size;
    size_t capacity;
    size_t max;
    bool failed;
    bool no_memory; /* why, if it failed: not the cap */
};

#define DX_BUF_INIT(max_bytes)                \
    {                                         \
        NULL, 0, 0, (max_bytes), false, false \
    }

/* What was written behind its first n bytes. */
static inline struct dx_span dx_buf_from(const struct dx_buf *b, size_t n)
{
    return dx_span_from(dx_span_of(b->data, b->size), n);
}

void dx_buf_init(struct dx_buf *b, size_t max_bytes);
void dx_buf_release(struct dx_buf *b);

/* Forgets the content and `failed`, keeps the storage. */
void dx_buf_clear(struct dx_buf *b);

uint8_t *dx_buf_grow(struct dx_buf *b, size_t n); /* dx_buf_reserve where there is no room yet */

/* Room for n more bytes; NULL (and failed) if that is over max. Does not change size. In line like
 * the next ones: most pieces are short and fit, and a literal's bytes are stores then. */
static inline uint8_t *dx_buf_reserve(struct dx_buf *b, size_t n)
{
    /* Without storage the capacity is 0. */
    if (n >= b->capacity - b->size || b->size + n > b->max || b->failed)
        return dx_buf_grow(b, n);
    return b->data + b->size;
}

static inline void dx_buf_append(struct dx_buf *b, const void *data, size_t n)
{
    uint8_t *to = dx_buf_reserve(b, n);

    if (to != NULL && n > 0) {
        memcpy(to, data, n);
        b->size += n;
    }
}

static inline void dx_buf_u8(struct dx_buf *b, uint8_t v)
{
    uint8_t *to = dx_buf_reserve(b, 1);

    if (to != NULL) {
        *to = v;
        b->size++;
    }
}

static inline void dx_buf_str(struct dx_buf *b, const char *s)
{
    dx_buf_append(b, s, strlen(s));
}

void dx_buf_long_varint(struct dx_buf *b, uint64_t v); /* dx_buf_varint of more than a byte */

/* LEB128, 1..10 bytes. Most numbers are one byte, and that is a store. */
static inline void dx_buf_varint(struct dx_buf *b, uint64_t v)
{
    if (v < 0x80)
        dx_buf_u8(b, (uint8_t)v);
    else
        dx_buf_long_varint(b, v);
}

void dx_buf_fmt(struct dx_buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Text from outside for people: what is not printable (utf8.h) as \xNN. */
void dx_buf_printable(struct dx_buf *b, const char *text, size_t size);
void dx_buf_u16(struct dx_buf *b, uint16_t v);
void dx_buf_u32(struct dx_buf *b, uint32_t v);
void dx_buf_u64(struct dx_buf *b, uint64_t v);
void dx_buf_zero(struct dx_buf *b, size_t n);

/* Zero bytes up to a multiple of align (a power of two). */
void dx_buf_align(struct dx_buf *b, size_t align);

/* The error for a failed buffer: over its cap, or out of memory. */
int dx_buf_fail(const struct dx_buf *b, struct dx_error *err, const char *what);

#endif
