/* SPDX-License-Identifier: Apache-2.0
 * plain_text.h - how much of a text stands in JSON as it is.
 *
 *   n = dx_plain_prefix(p, size);     the first n bytes are printable ASCII without '"' and '\'
 *
 * What follows them may be well-formed UTF-8 and need no escape either: that is for base/json_out.h
 * to find out. 16 bytes at a time where the machine has SSE2, which every x86-64 has; else 8 at a
 * time (dx_plain_prefix_words, which is there on every machine so that it is tested on every one).
 * Reads no byte outside of [p, p + size). Any thread.
 */
#ifndef DX_BASE_PLAIN_TEXT_H
#define DX_BASE_PLAIN_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

static inline bool dx_plain_byte(uint8_t c)
{
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* Those bytes of w that are not plain have their high bit set, as far as the lowest of them; above
 * it a borrow may have set others. */
static inline uint64_t dx_plain_word(uint64_t w)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t quote = w ^ ones * '"';
    uint64_t backslash = w ^ ones * '\\';
    uint64_t rubout = w ^ ones * 0x7f;

    return ((w - ones * 0x20) | (quote - ones) | (backslash - ones) | (rubout - ones) | w) &
           ones * 0x80;
}

static inline size_t dx_plain_prefix_words(const uint8_t *p, size_t size)
{
    size_t i = 0;
    uint64_t w;

    for (; size - i >= sizeof w; i += sizeof w) {
        memcpy(&w, p + i, sizeof w);
        if (dx_plain_word(w) != 0)
            break;
    }
    if (size >= sizeof w && size - i < sizeof w) { /* the end, with some that were seen */
        memcpy(&w, p + size - sizeof w, sizeof w);
        if (dx_plain_word(w) == 0)
            return size;
    }
    while (i < size && dx_plain_byte(p[i]))
        i++;
    return i;
}

#ifdef __SSE2__
/* A bit for each of 16 bytes. */
static inline unsigned dx_plain_block(const uint8_t *p)
{
    const __m128i low = _mm_set1_epi8(0x1f); /* signed: from 0x80 on they are below it */
    const __m128i quote = _mm_set1_epi8('"');
    const __m128i backslash = _mm_set1_epi8('\\');
    const __m128i rubout = _mm_set1_epi8(0x7f);
    __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
    __m128i bad = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(v, quote), _mm_cmpeq_epi8(v, backslash)),
                               _mm_cmpeq_epi8(v, rubout));

    return (unsigned)_mm_movemask_epi8(_mm_andnot_si128(bad, _mm_cmpgt_epi8(v, low)));
}

static inline size_t dx_plain_prefix(const uint8_t *p, size_t size)
{
    unsigned plain = 0xffff;
    size_t i = 0;

    if (size < 16)
        return dx_plain_prefix_words(p, size);
    for (; plain == 0xffff && size - i >= 16; i += 16)
        plain = dx_plain_block(p + i);
    if (plain == 0xffff && i < size) { /* the end, with some that were seen */
        i = size;
        plain = dx_plain_block(p + i - 16);
    }
    return plain == 0xffff ? size : i - 16 + (size_t)__builtin_ctz(~plain);
}
#else
static inline size_t dx_plain_prefix(const uint8_t *p, size_t size)
{
    return dx_plain_prefix_words(p, size);
}
#endif

#endif
