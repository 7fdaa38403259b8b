/* SPDX-License-Identifier: Apache-2.0
 * few_bytes.h - copies and compares what is mostly short, in line.
 *
 *   dx_few_copy(to, from, n);            as memcpy; n may be 0
 *   dx_few_equal(a, b)                   as dx_span_equal
 *   dx_few_compare(a, b)                 as dx_span_compare
 *   dx_few_append(&buf, span);           as dx_buf_append
 *
 * Names, hosts and paths have 5 to 30 bytes, and a publish copies some 60 and compares 15 for each
 * domain: the calls of memcpy and memcmp, which choose a way by size, took a tenth of its time. Here
 * a piece is two words that overlap. For loops over rows and pairs alone: each use is some hundred
 * bytes of code. Not for a piece of a small array, of which GCC thinks that it is read behind its end.
 * No state; any thread.
 */
#ifndef DX_BASE_FEW_BYTES_H
#define DX_BASE_FEW_BYTES_H

#include "base/buf.h"
#include "base/bytes.h"

#define DX_FEW_BYTES 32 /* more are a call */

struct dx_few_word16 {
    uint64_t low, high;
};

static inline void dx_few_copy(uint8_t *to, const uint8_t *from, size_t n)
{
    if (n > DX_FEW_BYTES) {
        memcpy(to, from, n);
    } else if (n >= 16) {
        struct dx_few_word16 first, last;

        memcpy(&first, from, 16);
        memcpy(&last, from + n - 16, 16);
        memcpy(to, &first, 16);
        memcpy(to + n - 16, &last, 16);
    } else if (n >= 8) {
        uint64_t first = dx_load_u64(from);
        uint64_t last = dx_load_u64(from + n - 8);

        dx_store_u64(to, first);
        dx_store_u64(to + n - 8, last);
    } else if (n >= 4) {
        uint32_t first = dx_load_u32(from);
        uint32_t last = dx_load_u32(from + n - 4);

        dx_store_u32(to, first);
        dx_store_u32(to + n - 4, last);
    } else if (n > 0) { /* all of at most three are one of these */
        uint8_t middle = from[n / 2];
        uint8_t last = from[n - 1];

        to[0] = from[0];
        to[n / 2] = middle;
        to[n - 1] = last;
    }
}

static inline bool dx_few_equal(struct dx_span a, struct dx_span b)
{
    size_t n = a.size;

    if (n != b.size)
        return false;
    if (n > DX_FEW_BYTES)
        return memcmp(a.data, b.data, n) == 0;
    if (n >= 8) {
        for (size_t i = 0; i + 8 < n; i += 8)
            if (dx_load_u64(a.data + i) != dx_load_u64(b.data + i))
                return false;
        return dx_load_u64(a.data + n - 8) == dx_load_u64(b.data + n - 8);
    }
    if (n >= 4)
        return dx_load_u32(a.data) == dx_load_u32(b.data) &&
               dx_load_u32(a.data + n - 4) == dx_load_u32(b.data + n - 4);
    return n == 0 || (a.data[0] == b.data[0] && a.data[n / 2] == b.data[n / 2] &&
                      a.data[n - 1] == b.data[n - 1]);
}

static inline int dx_few_compare(struct dx_span a, struct dx_span b)
{
    size_t n = a.size < b.size ? a.size : b.size;
    size_t i = 0;

    for (; n - i >= 8; i += 8) {
        uint64_t x = dx_load_u64(a.data + i);
        uint64_t y = dx_load_u64(b.data + i);

        if (x != y)
            return __builtin_bswap64(x) < __builtin_bswap64(y) ? -1 : 1;
    }
    for (; i < n; i++)
        if (a.data[i] != b.data[i])
            return a.data[i] < b.data[i] ? -1 : 1;
    return (a.size > b.size) - (a.size < b.size);
}

static inline void dx_few_append(struct dx_buf *b, struct dx_span bytes)
{
    uint8_t *to = dx_buf_reserve(b, bytes.size);

    if (to != NULL) {
        dx_few_copy(to, bytes.data, bytes.size);
        b->size += bytes.size;
    }
}

#endif
