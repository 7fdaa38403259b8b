/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/hybrid.h"

#include <endian.h>

uint64_t dx_pq_bits(struct dx_span s, uint64_t bit, unsigned width)
{
    const uint8_t *p = s.data + bit / 8;
    size_t left = s.size - (size_t)(bit / 8);
    unsigned shift = (unsigned)(bit % 8);
    uint64_t v = 0;

    if (width == 0)
        return 0;
    if (left >= 8) {
        memcpy(&v, p, 8);
        v = le64toh(v);
    } else {
        for (size_t i = 0; i < left; i++)
            v |= (uint64_t)p[i] << (8 * i);
    }
    v >>= shift;
    if (shift + width > 64)
        v |= (uint64_t)p[8] << (64 - shift);
    return width == 64 ? v : v & ((UINT64_C(1) << width) - 1);
}

static bool next_run(struct dx_pq_hybrid *h)
{
    uint64_t head = dx_bytes_varint(&h->bytes);
    uint64_t count = head >> 1;

    if (h->bytes.failed || count == 0 || count > UINT32_MAX)
        return false;
    h->is_packed = (head & 1) != 0;
    if (h->is_packed) {
        uint64_t size = count * h->width; /* groups of 8 values of width bits */

        h->left = count * 8;
        if (size > dx_bytes_left(&h->bytes))
            size = dx_bytes_left(&h->bytes);
        h->packed = dx_bytes_take(&h->bytes, size);
        h->bit = 0;
    } else {
        h->left = count;
        h->value = 0;
        for (unsigned i = 0; i < (h->width + 7) / 8; i++)
            h->value |= (uint32_t)dx_bytes_u8(&h->bytes) << (8 * i);
    }
    return !h->bytes.failed;
}

/* k numbers that are there. */
static void read_packed(struct dx_pq_hybrid *h, uint32_t *out, size_t k)
{
    const uint64_t mask = UINT64_MAX >> (64 - h->width);
    uint64_t bit = h->bit;
    size_t i = 0;

    for (; i < k && h->packed.size >= bit / 8 + 8; i++, bit += h->width)
        out[i] = (uint32_t)(dx_load_u64(h->packed.data + bit / 8) >> bit % 8 & mask);
    for (; i < k; i++, bit += h->width)
        out[i] = (uint32_t)dx_pq_bits(h->packed, bit, h->width);
    h->bit = bit;
}

bool dx_pq_hybrid_read(struct dx_pq_hybrid *h, uint32_t *out, size_t n)
{
    if (h->width > 32)
        return false;
    if (h->width == 0) {
        memset(out, 0, n * sizeof(*out));
        return true;
    }
    while (n > 0) {
        size_t k;

        if (h->left == 0 && !next_run(h))
            return false;
        k = h->left < n ? (size_t)h->left : n;
        if (h->is_packed) {
            if (k > (h->packed.size * 8 - h->bit) / h->width)
                return false;
            read_packed(h, out, k);
        } else {
            for (size_t i = 0; i < k; i++)
                out[i] = h->value;
        }
        h->left -= k;
        out += k;
        n -= k;
    }
    return true;
}

static size_t run_length(const uint8_t *bits, size_t n)
{
    size_t k = 1;

    while (k < n && bits[k] == bits[0])
        k++;
    return k;
}

/* Whole groups of 8; only the last of all may be filled up with zeros. */
static void put_packed(struct dx_buf *out, const uint8_t *bits, size_t n)
{
    dx_buf_varint(out, (n + 7) / 8 << 1 | 1);
    for (size_t i = 0; i < n; i += 8) {
        uint8_t byte = 0;

        for (size_t k = 0; k < 8 && i + k < n; k++)
            byte |= (uint8_t)(bits[i + k] << k);
        dx_buf_u8(out, byte);
    }
}

void dx_pq_hybrid_write_bits(struct dx_buf *out, const uint8_t *bits, size_t n)
{
    size_t at = 0, begin = 0; /* [begin, at): waits to be packed, a multiple of 8 */

    while (at < n) {
        size_t run = run_length(bits + at, n - at);

        /* Two groups or more: shorter runs are not worth the heads around them. */
        if (run >= 16 || (run == n - at && at == begin)) {
            if (at > begin)
                put_packed(out, bits + begin, at - begin);
            dx_buf_varint(out, (uint64_t)run << 1);
            dx_buf_u8(out, bits[at]);
            at += run;
            begin = at;
        } else {
            at += n - at < 8 ? n - at : 8;
        }
    }
    if (at > begin)
        put_packed(out, bits + begin, at - begin);
}
