/* SPDX-License-Identifier: Apache-2.0
 * put.h - text written straight into room that the caller has made sure of.
 *
 *   uint8_t *begin = dx_buf_reserve(&b, DX_PUT_SIZE("{\"n\":") + DX_PUT_U64_MAX + name.size);
 *   uint8_t *p = DX_PUT(begin, "{\"n\":");
 *   p = dx_put_u64(p, n);  p = dx_put_span(p, name);
 *   b.size += (size_t)(p - begin);
 *
 * Each returns the place behind what it wrote. Nothing is checked here: one reservation for the
 * longest text that a row of values can make stands for a check at every piece. Any thread.
 */
#ifndef DX_BASE_PUT_H
#define DX_BASE_PUT_H

#include "base/bytes.h"

#define DX_PUT_U64_MAX 20 /* digits of 2^64 - 1 */
#define DX_PUT_HEX64_SIZE 16
#define DX_PUT_REAL_MAX 32 /* characters of a real number of 17 digits, and NUL */

#define DX_PUT_SIZE(literal) (sizeof(literal) - 1)
#define DX_PUT(p, literal) dx_put((p), (literal), DX_PUT_SIZE(literal))

static inline uint8_t *dx_put(uint8_t *p, const void *bytes, size_t size)
{
    if (size > 0)
        memcpy(p, bytes, size);
    return p + size;
}

/* As dx_bytes_varint reads it: at most ten bytes. */
static inline uint8_t *dx_put_varint(uint8_t *p, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        *p++ = (uint8_t)(v | 0x80);
    *p = (uint8_t)v;
    return p + 1;
}

static inline uint8_t *dx_put_span(uint8_t *p, struct dx_span s)
{
    return dx_put(p, s.data, s.size);
}

extern const char dx_put_pairs[200]; /* "00" to "99" */

/* v below 100: two digits. */
static inline uint8_t *dx_put_two(uint8_t *p, uint32_t v)
{
    return dx_put(p, dx_put_pairs + 2 * (size_t)v, 2);
}

/* v below 10,000: four. */
static inline uint8_t *dx_put_four(uint8_t *p, uint32_t v)
{
    uint32_t high = v / 100;

    return dx_put_two(dx_put_two(p, high), v - 100 * high);
}

uint8_t *dx_put_long_u64(uint8_t *p, uint64_t v); /* of any size */

/* As printf's %.*g of at most 17 digits and as strtod, with a point in every locale: libdomaindex works in programs that have one. */
uint8_t *dx_put_real(uint8_t *p, int digits, double v); /* DX_PUT_REAL_MAX bytes of room */
double dx_real_read(const char *text, char **end);
float dx_real_read_float(const char *text);

static inline uint8_t *dx_put_u64(uint8_t *p, uint64_t v)
{
    if (v < 10) { /* most counts of most sites */
        *p = (uint8_t)('0' + v);
        return p + 1;
    }
    return dx_put_long_u64(p, v);
}

/* Eight digits at once, the highest in the lowest byte: nibbles are spread to bytes, and those
 * above 9 moved up to the letters. No table, no loads. */
static inline uint64_t dx_put_hex_word(uint32_t v)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t x = v;
    uint64_t letters;

    x = (x << 16 | x) & UINT64_C(0x0000ffff0000ffff);
    x = (x << 8 | x) & UINT64_C(0x00ff00ff00ff00ff);
    x = (x << 4 | x) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    letters = ((x + ones * 6) >> 4) & ones;
    return __builtin_bswap64(x + ones * '0' + letters * ('a' - '0' - 10));
}

/* 16 lower-case digits. */
static inline uint8_t *dx_put_hex64(uint8_t *p, uint64_t v)
{
    uint64_t words[2] = { dx_put_hex_word((uint32_t)(v >> 32)), dx_put_hex_word((uint32_t)v) };

    if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) {
        words[0] = __builtin_bswap64(words[0]);
        words[1] = __builtin_bswap64(words[1]);
    }
    return dx_put(p, words, sizeof words);
}

#endif
