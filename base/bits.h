/* SPDX-License-Identifier: Apache-2.0
 * bits.h - numbers of any width, one behind the other: bit i of a row is bit i mod 8 of byte i / 8.
 *
 *   v = dx_bits_at(row, at, width);                 any place, width 0..64
 *
 *   struct dx_bits r = dx_bits_of(row);
 *   v = dx_bits_take(&r, width);  v = dx_bits_rice(&r, k);  v = dx_bits_gamma(&r);
 *   if (r.failed || !dx_bits_done(&r))  ...         one check after many reads, as in bytes.h
 *
 *   struct dx_bits_out w = { .to = &buf };
 *   dx_bits_put(&w, v, width);  dx_bits_put_rice(&w, v, k);  dx_bits_put_gamma(&w, v);
 *   dx_bits_flush(&w);                              zeros up to a whole byte; buf.failed says it all
 *
 * Until flush up to 63 bits of what was put are not in the buffer; after a multiple of 64 bits all are.
 *
 * Bits of dx_bits_at beyond the row are 0: the caller checks that they lie inside. A Rice code
 * with k (0..63) is v >> k ones, a zero, and the low k bits of v; where there would be 32 ones or
 * more it is 32 ones and the 64 bits of v. So no code is over 96 bits, whatever the bytes are.
 * A gamma code is of v >= 1, which has n + 1 bits: n ones, a zero, and the low n bits of v; for
 * counts, most of which are 1 and some of which are millions.
 * Any thread; a cursor and a writer are for one at a time.
 */
#ifndef DX_BASE_BITS_H
#define DX_BASE_BITS_H

#include "base/buf.h"
#include "base/bytes.h"

#define DX_BITS_RICE_ONES 32
#define DX_BITS_LOAD 56 /* bits that 8 bytes have from any of the first's on, at least */

static inline uint64_t dx_bits_mask(unsigned width)
{
    return width == 0 ? 0 : UINT64_MAX >> (64 - width);
}

static inline uint64_t dx_bits_at(struct dx_span row, uint64_t at, unsigned width)
{
    size_t byte = (size_t)(at >> 3);
    unsigned shift = at & 7;
    uint8_t copy[9] = { 0 };
    const uint8_t *p;
    uint64_t v;

    if (row.size >= sizeof copy && byte <= row.size - sizeof copy) {
        p = row.data + byte;
    } else {
        if (byte < row.size)
            memcpy(copy, row.data + byte,
                   row.size - byte < sizeof copy ? row.size - byte : sizeof copy);
        p = copy;
    }
    v = dx_load_u64(p) >> shift;
    if (shift != 0)
        v |= (uint64_t)p[8] << (64 - shift);
    return v & dx_bits_mask(width);
}

struct dx_bits {
    struct dx_span row;
    uint64_t at; /* bits */
    bool failed;
};

static inline struct dx_bits dx_bits_of(struct dx_span row)
{
    return (struct dx_bits){ row, 0, false };
}

static inline uint64_t dx_bits_take(struct dx_bits *r, unsigned width)
{
    uint64_t at = r->at;

    if (r->failed || (uint64_t)r->row.size * 8 - at < width) {
        r->failed = true;
        return 0;
    }
    r->at += width;
    return dx_bits_at(r->row, at, width);
}

/* Anywhere, and of any length. */
static inline uint64_t dx_bits_rice_any(struct dx_bits *r, unsigned k)
{
    uint64_t ahead = ~dx_bits_at(r->row, r->at, DX_BITS_RICE_ONES) &
                     dx_bits_mask(DX_BITS_RICE_ONES);
    unsigned ones;

    if (ahead == 0) {
        (void)dx_bits_take(r, DX_BITS_RICE_ONES);
        return dx_bits_take(r, 64);
    }
    ones = (unsigned)__builtin_ctzll(ahead);
    (void)dx_bits_take(r, ones + 1);
    if (k > 0 && (uint64_t)ones > UINT64_MAX >> k)
        r->failed = true;
    return r->failed ? 0 : (uint64_t)ones << k | dx_bits_take(r, k);
}

/* Nearly all codes: both halves are read by one load each, which no end of the row is near. */
static inline uint64_t dx_bits_rice(struct dx_bits *r, unsigned k)
{
    size_t byte = (size_t)(r->at >> 3);
    uint64_t ahead, v;
    unsigned ones;

    if (r->failed || k > DX_BITS_LOAD || r->row.size < 16 || byte > r->row.size - 16)
        return dx_bits_rice_any(r, k);
    ahead = ~(dx_load_u64(r->row.data + byte) >> (r->at & 7)) & dx_bits_mask(DX_BITS_RICE_ONES);
    if (ahead == 0)
        return dx_bits_rice_any(r, k);
    ones = (unsigned)__builtin_ctzll(ahead);
    r->at += ones + 1;
    v = dx_load_u64(r->row.data + (r->at >> 3)) >> (r->at & 7) & dx_bits_mask(k);
    r->at += k;
    return (uint64_t)ones << k | v;
}

static inline uint64_t dx_bits_gamma(struct dx_bits *r)
{
    uint64_t ahead = ~dx_bits_at(r->row, r->at, 64);
    unsigned ones = ahead == 0 ? 64 : (unsigned)__builtin_ctzll(ahead);

    if (ones > 63)
        r->failed = true;
    (void)dx_bits_take(r, ones + 1 > 64 ? 64 : ones + 1);
    return r->failed ? 0 : UINT64_C(1) << ones | dx_bits_take(r, ones);
}

/* What is left is less than a byte, and zero. */
static inline bool dx_bits_done(const struct dx_bits *r)
{
    uint64_t left = (uint64_t)r->row.size * 8 - r->at;

    return !r->failed && left < 8 && dx_bits_at(r->row, r->at, (unsigned)left) == 0;
}

struct dx_bits_out {
    struct dx_buf *to;
    uint64_t pending; /* bits that do not fill a word yet */
    unsigned count;   /* of them: below 64 */
};

static inline void dx_bits_put(struct dx_bits_out *w, uint64_t v, unsigned width)
{
    unsigned before = w->count;
    uint8_t *to;

    v &= dx_bits_mask(width);
    w->pending |= v << before;
    w->count += width;
    if (w->count < 64)
        return;
    to = dx_buf_reserve(w->to, sizeof w->pending);
    if (to != NULL) {
        dx_store_u64(to, w->pending);
        w->to->size += sizeof w->pending;
    }
    w->count -= 64;
    w->pending = before == 0 ? 0 : v >> (64 - before);
}

static inline void dx_bits_flush(struct dx_bits_out *w)
{
    uint8_t bytes[8];

    dx_store_u64(bytes, w->pending);
    dx_buf_append(w->to, bytes, (w->count + 7) / 8);
    w->pending = 0;
    w->count = 0;
}

static inline unsigned dx_bits_rice_size(uint64_t v, unsigned k)
{
    return v >> k < DX_BITS_RICE_ONES ? (unsigned)(v >> k) + 1 + k : DX_BITS_RICE_ONES + 64;
}

static inline void dx_bits_put_rice(struct dx_bits_out *w, uint64_t v, unsigned k)
{
    if (v >> k >= DX_BITS_RICE_ONES) {
        dx_bits_put(w, UINT64_MAX, DX_BITS_RICE_ONES);
        dx_bits_put(w, v, 64);
        return;
    }
    dx_bits_put(w, dx_bits_mask((unsigned)(v >> k)), (unsigned)(v >> k) + 1);
    dx_bits_put(w, v, k);
}

/* How many bits v needs: 0 for 0. */
static inline unsigned dx_bits_of_number(uint64_t v)
{
    return v == 0 ? 0 : 64 - (unsigned)__builtin_clzll(v);
}

static inline void dx_bits_put_gamma(struct dx_bits_out *w, uint64_t v)
{
    unsigned ones = dx_bits_of_number(v) - 1;

    dx_bits_put(w, dx_bits_mask(ones), ones + 1);
    dx_bits_put(w, v, ones);
}

#endif
