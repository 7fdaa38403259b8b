/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/delta.h"

#include "base/bits.h"
#include "parquet/hybrid.h"

#include <inttypes.h>

#define BLOCK 128 /* what we write, and everybody else too */
#define MINIBLOCK 32
#define MINIBLOCKS_MAX 512 /* of a block that we read */
#define BLOCK_MAX (1u << 16)

static int64_t unzigzag(uint64_t v)
{
    return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

static int64_t wrap(uint64_t v, unsigned type_bits)
{
    return type_bits == 32 ? (int64_t)(int32_t)(uint32_t)v : (int64_t)v;
}

static int fail(struct dx_error *err, const struct dx_bytes *b, const char *what)
{
    return dx_fail(err, DX_E_CORRUPT, "DELTA_BINARY_PACKED: %s, at byte %zu", what, dx_bytes_at(b));
}

/* One miniblock: n of its `size` values are wanted. The last one of a page may be cut short
 * behind them by some writers; in the middle of a page it always has its full length. */
static bool read_miniblock(struct dx_bytes *b, unsigned width, uint32_t size, uint32_t n,
                           struct dx_span *packed)
{
    uint64_t full = (uint64_t)size / 8 * width;
    uint64_t need = ((uint64_t)n * width + 7) / 8;

    if (full > dx_bytes_left(b) && n < size)
        full = dx_bytes_left(b);
    *packed = dx_bytes_take(b, full);
    return !b->failed && need <= full;
}

/* n differences, added up from *value on. What is behind the miniblock may be read, up to `end`. */
static void add_up(struct dx_span packed, const uint8_t *end, unsigned width, uint64_t min,
                   unsigned type_bits, uint32_t n, uint64_t *value, int64_t *out)
{
    const uint64_t mask = width == 0 ? 0 : UINT64_MAX >> (64 - width);
    uint64_t sum = *value;
    uint64_t bit = 0;
    uint32_t i = 0;

    for (; i < n && width <= 56 && (size_t)(end - packed.data) >= bit / 8 + 8; i++, bit += width) {
        sum += min + (dx_load_u64(packed.data + bit / 8) >> bit % 8 & mask);
        out[i] = wrap(sum, type_bits);
    }
    for (; i < n; i++, bit += width) {
        sum += min + dx_pq_bits(packed, bit, width);
        out[i] = wrap(sum, type_bits);
    }
    *value = sum;
}

int dx_pq_delta_read(struct dx_bytes *b, unsigned type_bits, uint32_t count, int64_t *out,
                     struct dx_error *err)
{
    uint64_t block = dx_bytes_varint(b);
    uint64_t minis = dx_bytes_varint(b);
    uint64_t total = dx_bytes_varint(b);
    uint64_t value = (uint64_t)unzigzag(dx_bytes_varint(b));
    uint32_t mini, done = 0;

    if (b->failed)
        return fail(err, b, "broken head");
    if (block == 0 || block % 128 != 0 || block > BLOCK_MAX || minis == 0 ||
        minis > MINIBLOCKS_MAX || block % minis != 0 || block / minis % 32 != 0)
        return fail(err, b, "impossible block size");
    if (total != count)
        return dx_fail(err, DX_E_CORRUPT,
                       "DELTA_BINARY_PACKED: %" PRIu64 " values, the page has %u", total, count);
    mini = (uint32_t)(block / minis);
    if (count > 0)
        out[done++] = wrap(value, type_bits);
    while (done < count) {
        uint64_t min = (uint64_t)unzigzag(dx_bytes_varint(b));
        struct dx_span widths = dx_bytes_take(b, minis);

        if (b->failed)
            return fail(err, b, "broken block");
        /* Miniblocks behind the last value have a width, which may be anything, but no body. */
        for (uint64_t m = 0; m < minis && done < count; m++) {
            uint32_t n = count - done < mini ? count - done : mini;
            unsigned width = widths.data[m];
            struct dx_span packed;

            if (width > type_bits)
                return fail(err, b, "bit width over that of the type");
            if (!read_miniblock(b, width, mini, n, &packed))
                return fail(err, b, "miniblock ends early");
            add_up(packed, b->at + dx_bytes_left(b), width, min, type_bits, n, &value, out + done);
            done += n;
        }
    }
    return DX_OK;
}

static void put_zigzag(struct dx_buf *out, int64_t v)
{
    dx_buf_varint(out, (uint64_t)v << 1 ^ (uint64_t)(v >> 63));
}

static void put_packed(struct dx_buf *out, const uint64_t *values, unsigned width)
{
    uint8_t *to = dx_buf_reserve(out, MINIBLOCK / 8 * width);
    uint64_t pending = 0;
    unsigned bits = 0;

    if (to == NULL)
        return;
    for (int i = 0; i < MINIBLOCK; i++) {
        pending |= values[i] << bits;
        if (bits + width < 64) {
            bits += width;
            continue;
        }
        dx_store_u64(to, pending);
        to += 8;
        pending = bits == 0 ? 0 : values[i] >> (64 - bits);
        bits = bits + width - 64;
    }
    /* 32 values fill whole groups of 4 bytes. */
    if (bits > 0)
        dx_store_u32(to, (uint32_t)pending);
    out->size += MINIBLOCK / 8 * width;
}

/* Takes the smallest difference off those of a miniblock; the bits that the largest has then. */
static unsigned take_off(uint64_t *delta, uint64_t min, unsigned type_bits)
{
    const uint64_t mask = dx_bits_mask(type_bits);
    uint64_t bits = 0;

    for (int i = 0; i < MINIBLOCK; i++) {
        delta[i] = (delta[i] - min) & mask;
        bits |= delta[i];
    }
    return dx_bits_of_number(bits);
}

static void put_block(struct dx_buf *out, unsigned type_bits, const int64_t *values, size_t n)
{
    DX_UNINITIALIZED uint64_t delta[BLOCK];
    uint8_t widths[BLOCK / MINIBLOCK];
    int64_t min = INT64_MAX;

    for (size_t i = 0; i < n; i++) {
        int64_t d = wrap((uint64_t)values[i] - (uint64_t)values[(ptrdiff_t)i - 1], type_bits);

        min = d < min ? d : min;
        delta[i] = (uint64_t)d;
    }
    for (size_t i = n; i < BLOCK; i++)
        delta[i] = (uint64_t)min; /* which is stored as 0 */
    for (size_t m = 0; m < BLOCK / MINIBLOCK; m++)
        widths[m] = (uint8_t)take_off(delta + m * MINIBLOCK, (uint64_t)min, type_bits);
    put_zigzag(out, min);
    dx_buf_append(out, widths, sizeof(widths));
    for (size_t m = 0; m * MINIBLOCK < n; m++)
        put_packed(out, delta + m * MINIBLOCK, widths[m]);
}

void dx_pq_delta_write(struct dx_buf *out, unsigned type_bits, const int64_t *values, size_t count)
{
    dx_buf_varint(out, BLOCK);
    dx_buf_varint(out, BLOCK / MINIBLOCK);
    dx_buf_varint(out, count);
    put_zigzag(out, count > 0 ? wrap((uint64_t)values[0], type_bits) : 0);
    for (size_t i = 1; i < count; i += BLOCK)
        put_block(out, type_bits, values + i, count - i < BLOCK ? count - i : BLOCK);
}
