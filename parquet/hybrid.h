/* SPDX-License-Identifier: Apache-2.0
 * hybrid.h - the run-length / bit-packed hybrid of levels, dictionary indices, booleans.
 *
 *   struct dx_pq_hybrid h = dx_pq_hybrid_of(span, width);      span without length prefix
 *   ok = dx_pq_hybrid_read(&h, out, n);                        the next n values
 *
 *   dx_pq_hybrid_write_bits(&buf, bytes, n);                   width 1, from one byte each
 *
 * Reading is bounded by n, not by the runs: real files pad the last one or cut it short
 * behind the last value. False: the bytes end before the values, a run of length 0, or a
 * width over 32. Width 0 needs no bytes. Nothing is owned. A reader is for one thread at a time.
 */
#ifndef DX_PARQUET_HYBRID_H
#define DX_PARQUET_HYBRID_H

#include "base/buf.h"
#include "base/bytes.h"

struct dx_pq_hybrid {
    struct dx_bytes bytes;
    unsigned width;
    bool is_packed;
    uint64_t left;         /* values left in the run */
    uint32_t value;        /* of a repeated run */
    struct dx_span packed; /* of a packed run */
    uint64_t bit;          /* position in it */
};

static inline struct dx_pq_hybrid dx_pq_hybrid_of(struct dx_span s, unsigned width)
{
    return (struct dx_pq_hybrid){ .bytes = dx_bytes_of(s), .width = width };
}

bool dx_pq_hybrid_read(struct dx_pq_hybrid *h, uint32_t *out, size_t n);

void dx_pq_hybrid_write_bits(struct dx_buf *out, const uint8_t *bits, size_t n);

/* `width` bits (0..64) at bit position `bit`, least significant first. The caller has
 * checked that they lie in s. */
uint64_t dx_pq_bits(struct dx_span s, uint64_t bit, unsigned width);

#endif
