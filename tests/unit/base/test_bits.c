/* SPDX-License-Identifier: Apache-2.0
 * Numbers of any width, Rice and gamma codes: what was put is taken, at each place and width; rows
 * that end too early, and rows of nothing but ones, are refused without a byte behind them being
 * read.
 */
#include "base/bits.h"
#include "tests/support/damage.h"

#define NUMBERS 3000

static int failures;

struct number {
    uint64_t v;
    unsigned width; /* or k */
    bool rice;
};

static uint64_t any_number(uint64_t *seed)
{
    return random_next(seed) >> random_below(seed, 64);
}

static void put(struct dx_bits_out *w, const struct number *n)
{
    if (n->rice)
        dx_bits_put_rice(w, n->v, n->width);
    else
        dx_bits_put(w, n->v, n->width);
}

static void test_round_trip(void)
{
    static struct number numbers[NUMBERS];
    struct dx_buf buf = DX_BUF_INIT(1 << 20);
    struct dx_bits_out w = { .to = &buf };
    uint64_t seed = 3;
    uint64_t bits = 0;
    struct damaged d;
    struct dx_bits r;

    for (size_t i = 0; i < NUMBERS; i++) {
        struct number *n = &numbers[i];

        *n = (struct number){ any_number(&seed), (unsigned)random_below(&seed, 64), i % 2 == 0 };
        if (!n->rice) {
            n->width += i % 3 == 0; /* 64 too */
            n->v &= dx_bits_mask(n->width);
        }
        bits += n->rice ? dx_bits_rice_size(n->v, n->width) : n->width;
        put(&w, n);
    }
    dx_bits_flush(&w);
    EXPECT(!buf.failed && buf.size == (bits + 7) / 8, "%zu bytes", buf.size);
    d = damaged_copy(dx_span_of(buf.data, buf.size));
    r = dx_bits_of(dx_span_of(d.bytes, d.size));
    for (size_t i = 0; i < NUMBERS; i++) {
        const struct number *n = &numbers[i];
        uint64_t v = n->rice ? dx_bits_rice(&r, n->width) : dx_bits_take(&r, n->width);

        EXPECT(v == n->v, "number %zu, width %u", i, n->width);
    }
    EXPECT(dx_bits_done(&r) && r.at == bits, "all of it");
    damaged_free(&d);
    dx_buf_release(&buf);
}

static const uint64_t extremes[] = { 0, 1, 31, 32, 33, UINT64_MAX / 2, UINT64_MAX - 1, UINT64_MAX };

/* Each k, and each row that is shorter than the code. */
static void test_rice(void)
{
    for (unsigned k = 0; k < 64; k++)
        for (size_t i = 0; i < sizeof extremes / sizeof *extremes; i++) {
            struct dx_buf buf = DX_BUF_INIT(64);
            struct dx_bits_out w = { .to = &buf };
            struct dx_bits r;

            dx_bits_put_rice(&w, extremes[i], k);
            dx_bits_flush(&w);
            EXPECT(buf.size <= 12, "%zu bytes", buf.size);
            for (size_t n = 0; n <= buf.size; n++) {
                struct damaged d = damaged_copy(dx_span_of(buf.data, n));
                uint64_t v;

                r = dx_bits_of(dx_span_of(d.bytes, n));
                v = dx_bits_rice(&r, k);
                EXPECT(n < buf.size ? r.failed : v == extremes[i] && dx_bits_done(&r),
                       "k %u, %zu of %zu bytes of number %zu", k, n, buf.size, i);
                damaged_free(&d);
            }
            dx_buf_release(&buf);
        }
}

/* Any bytes: two loads are what the way for all codes says, wherever the row ends. */
static void test_fast_rice(void)
{
    uint64_t seed = 3;
    unsigned fast = 0;

    for (unsigned i = 0; i < 20000; i++) {
        uint8_t bytes[40];
        size_t size = (size_t)random_below(&seed, sizeof bytes + 1);
        unsigned k = (unsigned)random_below(&seed, 64);
        struct damaged d;
        struct dx_bits a, b;

        for (size_t at = 0; at < sizeof bytes; at++)
            bytes[at] = random_below(&seed, 4) == 0 ? 0xff : (uint8_t)random_below(&seed, 256);
        d = damaged_copy(dx_span_of(bytes, size));
        a = dx_bits_of(dx_span_of(d.bytes, size));
        a.at = random_below(&seed, 8 * size + 1);
        for (b = a; !b.failed;) {
            uint64_t v = dx_bits_rice(&a, k);

            fast += a.at + 8 * 16 < 8 * size;
            EXPECT(v == dx_bits_rice_any(&b, k) && a.failed == b.failed &&
                       (b.failed || a.at == b.at),
                   "k %u, %zu bytes: %llu", k, size, (unsigned long long)v);
        }
        damaged_free(&d);
    }
    EXPECT(fast > 1000, "only %u codes far from the end", fast);
}

/* A code has an end: 96 ones are the number of 64 ones, whatever k is, and fewer are cut. */
static void test_only_ones(void)
{
    for (unsigned k = 0; k < 64; k++)
        for (size_t size = 0; size < 40; size++) {
            uint8_t ones[40];
            struct damaged d;
            struct dx_bits r;

            memset(ones, 0xff, sizeof ones);
            d = damaged_copy(dx_span_of(ones, size));
            r = dx_bits_of(dx_span_of(d.bytes, size));
            for (size_t n = 0; n < size / 12; n++)
                EXPECT(dx_bits_rice(&r, k) == UINT64_MAX && !r.failed, "k %u, code %zu", k, n);
            EXPECT(dx_bits_rice(&r, k) == 0 && r.failed && !dx_bits_done(&r), "k %u, %zu bytes", k,
                   size);
            EXPECT(dx_bits_take(&r, 0) == 0 && r.failed, "failed for good");
            damaged_free(&d);
        }
}

/* 31 ones, a zero and a large k would be over 64 bits. */
static void test_over_64_bits(void)
{
    static const uint8_t row[12] = { 0xff, 0xff, 0xff, 0x7f };
    struct dx_bits r = dx_bits_of(dx_span_of(row, sizeof row));

    EXPECT(dx_bits_rice(&r, 59) == UINT64_C(31) << 59 && !r.failed, "k 59");
    r = dx_bits_of(dx_span_of(row, sizeof row));
    EXPECT(dx_bits_rice(&r, 60) == 0 && r.failed, "k 60");
}

/* Each number of one bit more, its neighbours, and each row that is shorter than the code. */
static void test_gamma(void)
{
    for (unsigned bit = 0; bit < 64; bit++)
        for (int off = -1; off < 2; off++) {
            uint64_t v = (UINT64_C(1) << bit) + (uint64_t)(int64_t)off;
            struct dx_buf buf = DX_BUF_INIT(64);
            struct dx_bits_out w = { .to = &buf };
            struct dx_bits r;

            if (v == 0)
                continue;
            dx_bits_put(&w, 1, 3); /* not from a whole byte */
            dx_bits_put_gamma(&w, v);
            dx_bits_flush(&w);
            EXPECT(buf.size == (3 + 2 * dx_bits_of_number(v) - 1 + 7) / 8, "%zu bytes", buf.size);
            for (size_t size = 0; size <= buf.size; size++) {
                struct damaged d = damaged_copy(dx_span_of(buf.data, size));
                uint64_t got;

                r = dx_bits_of(dx_span_of(d.bytes, size));
                (void)dx_bits_take(&r, 3);
                got = dx_bits_gamma(&r);
                EXPECT(size < buf.size ? r.failed : got == v && dx_bits_done(&r),
                       "2^%u%+d of %zu bytes: %llu", bit, off, size, (unsigned long long)got);
                damaged_free(&d);
            }
            dx_buf_release(&buf);
        }
}

static void test_gamma_of_ones(void)
{
    uint8_t ones[17];
    struct dx_bits r = dx_bits_of(dx_span_of(ones, sizeof ones));

    memset(ones, 0xff, sizeof ones);
    EXPECT(dx_bits_gamma(&r) == 0 && r.failed, "64 ones");
}

int main(void)
{
    test_round_trip();
    test_rice();
    test_fast_rice();
    test_gamma();
    test_gamma_of_ones();
    test_only_ones();
    test_over_64_bits();
    return failures > 0;
}
