/* SPDX-License-Identifier: Apache-2.0
 * bytes.h - spans and the bounded cursor that reads all bytes from outside.
 *
 *   struct dx_span s = { data, size };
 *   struct dx_bytes r = dx_bytes_of(s);
 *   uint32_t v = dx_bytes_u32(&r);  uint64_t n = dx_bytes_varint(&r);
 *   struct dx_span name = dx_bytes_take(&r, n);
 *   if (r.failed)                     one check after many reads
 *       return dx_fail(err, DX_E_TRUNCATED, "%s: at offset %zu", path, dx_bytes_at(&r));
 *
 * A read past the end, or a varint over 64 bits, sets `failed`, returns 0 and
 * leaves the cursor where it was; every later read returns 0 too. Numbers are
 * little-endian, read byte by byte: no alignment is needed. Nothing is owned. A cursor is for one thread at a time.
 */
#ifndef DX_BASE_BYTES_H
#define DX_BASE_BYTES_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

/* For a local buffer that is written before it is read: the hardened build zeroes all others, and
 * a call that zeroes 256 bytes for a name of 15 takes longer than what it does with them. */
#if defined(__has_attribute)
#if __has_attribute(uninitialized)
#define DX_UNINITIALIZED __attribute__((uninitialized))
#endif
#endif
#ifndef DX_UNINITIALIZED
#define DX_UNINITIALIZED
#endif

struct dx_span {
    const uint8_t *data;
    size_t size;
};

static inline struct dx_span dx_span_of(const void *data, size_t size)
{
    return (struct dx_span){ (const uint8_t *)data, size };
}

static inline struct dx_span dx_span_str(const char *s)
{
    return (struct dx_span){ (const uint8_t *)s, strlen(s) };
}

/* Without its first n bytes. */
static inline struct dx_span dx_span_from(struct dx_span s, size_t n)
{
    return n == 0 ? s : (struct dx_span){ s.data + n, s.size - n };
}

static inline bool dx_span_equal(struct dx_span a, struct dx_span b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

/* The word in ASCII, whatever the case of its letters: names and values of HTTP. */
static inline bool dx_span_is_word(struct dx_span s, const char *word)
{
    return s.size == strlen(word) && strncasecmp((const char *)s.data, word, s.size) == 0;
}

/* Without the spaces and tabs around it. */
static inline struct dx_span dx_span_trimmed(struct dx_span s)
{
    while (s.size > 0 && (s.data[0] == ' ' || s.data[0] == '\t'))
        s = (struct dx_span){ s.data + 1, s.size - 1 };
    while (s.size > 0 && (s.data[s.size - 1] == ' ' || s.data[s.size - 1] == '\t'))
        s.size--;
    return s;
}

/* Byte order; a prefix comes before what it is a prefix of. */
static inline int dx_span_compare(struct dx_span a, struct dx_span b)
{
    size_t n = a.size < b.size ? a.size : b.size;
    int c = n == 0 ? 0 : memcmp(a.data, b.data, n);

    return c != 0 ? c : (a.size > b.size) - (a.size < b.size);
}

/* [offset, offset+size) of s, in *out; false if it does not lie inside. */
static inline bool dx_span_slice(struct dx_span s, uint64_t offset, uint64_t size,
                                 struct dx_span *out)
{
    if (offset > s.size || size > s.size - offset)
        return false;
    *out = (struct dx_span){ s.data + offset, (size_t)size };
    return true;
}

static inline uint16_t dx_load_u16(const uint8_t *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static inline uint32_t dx_load_u32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t dx_load_u64(const uint8_t *p)
{
    return (uint64_t)dx_load_u32(p) | (uint64_t)dx_load_u32(p + 4) << 32;
}

/* Of bytes one by one GCC 12 makes so many stores, and of a copy one. */
static inline void dx_store_u32(uint8_t *p, uint32_t v)
{
    v = htole32(v);
    memcpy(p, &v, sizeof v);
}

static inline void dx_store_u64(uint8_t *p, uint64_t v)
{
    v = htole64(v);
    memcpy(p, &v, sizeof v);
}

struct dx_bytes {
    const uint8_t *begin;
    const uint8_t *at;
    const uint8_t *end;
    bool failed;
};

static inline struct dx_bytes dx_bytes_of(struct dx_span s)
{
    return (struct dx_bytes){ s.data, s.data, s.data == NULL ? NULL : s.data + s.size, false };
}

static inline size_t dx_bytes_left(const struct dx_bytes *r)
{
    return (size_t)(r->end - r->at);
}

/* Offset of the cursor from where it began. */
static inline size_t dx_bytes_at(const struct dx_bytes *r)
{
    return (size_t)(r->at - r->begin);
}

static inline bool dx_bytes_need(struct dx_bytes *r, size_t n)
{
    if (r->failed || dx_bytes_left(r) < n) {
        r->failed = true;
        return false;
    }
    return true;
}

static inline uint8_t dx_bytes_u8(struct dx_bytes *r)
{
    return dx_bytes_need(r, 1) ? *r->at++ : 0;
}

static inline uint16_t dx_bytes_u16(struct dx_bytes *r)
{
    if (!dx_bytes_need(r, 2))
        return 0;
    r->at += 2;
    return dx_load_u16(r->at - 2);
}

static inline uint32_t dx_bytes_u32(struct dx_bytes *r)
{
    if (!dx_bytes_need(r, 4))
        return 0;
    r->at += 4;
    return dx_load_u32(r->at - 4);
}

static inline uint64_t dx_bytes_u64(struct dx_bytes *r)
{
    if (!dx_bytes_need(r, 8))
        return 0;
    r->at += 8;
    return dx_load_u64(r->at - 8);
}

/* LEB128; the tenth byte may only be 0 or 1, so every value fits 64 bits. Most are one byte. */
static inline uint64_t dx_bytes_varint(struct dx_bytes *r)
{
    const uint8_t *p = r->at;
    uint64_t v = 0;

    if (r->failed)
        return 0;
    if (p < r->end && *p < 0x80) {
        r->at = p + 1;
        return *p;
    }
    for (unsigned shift = 0; p < r->end && shift < 70; shift += 7) {
        uint8_t b = *p++;

        if (shift == 63 && b > 1)
            break;
        v |= (uint64_t)(b & 0x7f) << shift;
        if (b < 0x80) {
            r->at = p;
            return v;
        }
    }
    r->failed = true;
    return 0;
}

static inline struct dx_span dx_bytes_take(struct dx_bytes *r, uint64_t n)
{
    if (r->failed || n > dx_bytes_left(r)) {
        r->failed = true;
        return (struct dx_span){ NULL, 0 };
    }
    r->at += n;
    return (struct dx_span){ r->at - n, (size_t)n };
}

#endif
