/* SPDX-License-Identifier: Apache-2.0
 * Snappy blocks against libsnappy: what it compresses, and each of them with bytes changed, cut and added.
 */
#include "parquet/snappy.h"
#include "tests/support/damage.h"
#include "tests/support/sample.h"

#include <snappy-c.h>

static int failures;

/* Both accept it and give the same bytes, or both refuse it. */
static bool same(struct dx_span block, size_t *plain_size)
{
    struct damaged d = damaged_copy(block);
    struct damaged ours;
    size_t said = 0;
    size_t size = 0;
    bool their_size = snappy_uncompressed_length((const char *)block.data, block.size, &said) ==
                      SNAPPY_OK;
    bool our_size = dx_snappy_size(dx_span_of(d.bytes, d.size), &size);
    bool theirs_ok;
    bool ours_ok;
    bool equal;
    char *theirs;

    *plain_size = 0;
    if (!their_size || !our_size || said != size || size > 1 << 20) {
        damaged_free(&d);
        return their_size == our_size && (!our_size || said == size);
    }
    theirs = calloc(size + 1, 1);
    if (theirs == NULL)
        abort();
    ours = damaged_copy(dx_span_of(theirs, size)); /* a guard page behind it */
    theirs_ok = snappy_uncompress((const char *)block.data, block.size, theirs, &said) == SNAPPY_OK;
    ours_ok = dx_snappy_decode(dx_span_of(d.bytes, d.size), ours.bytes, size);
    equal = theirs_ok == ours_ok && (!ours_ok || memcmp(theirs, ours.bytes, size) == 0);
    *plain_size = ours_ok ? size : 0;
    damaged_free(&ours);
    damaged_free(&d);
    free(theirs);
    return equal;
}

static void check(struct dx_span block, const char *what, size_t at)
{
    size_t size;

    EXPECT(same(block, &size), "%s %zu", what, at);
}

/* Words that come again, near and far, with runs and noise between. */
static size_t make_plain(uint8_t *to, size_t size, uint64_t *seed)
{
    size_t n = 0;

    while (n < size) {
        size_t left = size - n;
        size_t take = 1 + random_below(seed, 90);
        size_t back = n == 0
                          ? 0
                          : 1 + random_below(seed, random_below(seed, 2) == 0 && n > 20 ? 20 : n);
        bool again = back > 0 && random_below(seed, 3) > 0;

        take = take > left ? left : take;
        for (size_t i = 0; i < take; i++)
            to[n + i] = again ? to[n + i - back] : (uint8_t)random_next(seed);
        n += take;
    }
    return n;
}

static void test_compressed(void)
{
    enum { PLAIN_MAX = 70000 };
    static uint8_t plain[PLAIN_MAX];
    uint64_t seed = 5;

    for (size_t i = 0; i < 300; i += dx_sample(1, 3)) {
        size_t n = make_plain(plain, i < 100 ? i : random_below(&seed, i < 290 ? 2000 : PLAIN_MAX),
                              &seed);
        size_t room = snappy_max_compressed_length(n);
        uint8_t *block = malloc(room);
        size_t size;

        if (block == NULL ||
            snappy_compress((const char *)plain, n, (char *)block, &room) != SNAPPY_OK)
            abort();
        EXPECT(same(dx_span_of(block, room), &size) && size == n, "%zu: %zu of %zu bytes", i, size,
               n);
        for (size_t k = 0; k < dx_sample(200, 29) && room > 0; k++) {
            size_t at = random_below(&seed, room);
            uint8_t was = block[at];

            block[at] = (uint8_t)random_next(&seed);
            check(dx_span_of(block, room), "changed", i);
            block[at] = was;
            check(dx_span_of(block, random_below(&seed, room)), "cut", i);
        }
        free(block);
    }
}

static void put_number(struct dx_buf *b, uint64_t v, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        dx_buf_u8(b, (uint8_t)(v >> (8 * i)));
}

static void put_literal(struct dx_buf *b, size_t size, uint64_t *seed)
{
    unsigned bytes = size <= 60 ? 0
                                : (unsigned)(size > 256 ? 2 + random_below(seed, 3)
                                                        : 1 + random_below(seed, 4));

    dx_buf_u8(b, (uint8_t)((bytes == 0 ? size - 1 : 59 + bytes) << 2));
    put_number(b, size - 1, bytes);
    for (size_t i = 0; i < size; i++)
        dx_buf_u8(b, (uint8_t)random_next(seed));
}

/* A copy of every form, whose distance is there but now and then. */
static size_t put_copy(struct dx_buf *b, size_t done, uint64_t *seed)
{
    size_t most = random_below(seed, 2) == 0 ? 24 : done + (random_below(seed, 40) == 0);
    bool there = done > 0 && random_below(seed, 40) > 0;
    size_t distance = 1 + random_below(seed, there && most > done ? done : most + (most == 0));
    size_t size = 1 + random_below(seed, 64);
    unsigned form = 1 + (unsigned)random_below(seed, 3);

    distance -= random_below(seed, 200) == 0 ? distance : 0;
    if (form == 1 && distance < 2048) {
        size = 4 + size % 8;
        dx_buf_u8(b, (uint8_t)(1 | (size - 4) << 2 | distance >> 8 << 5));
        dx_buf_u8(b, (uint8_t)distance);
    } else {
        dx_buf_u8(b, (uint8_t)((form == 3 ? 3 : 2) | (size - 1) << 2));
        put_number(b, distance, form == 3 ? 4 : 2);
    }
    return size;
}

/* What no compressor writes: elements in any order, with sizes that are right, one more or one less. */
static void test_elements(void)
{
    uint64_t seed = 9;
    const size_t rounds = dx_sample(30000, 3000);
    size_t accepted = 0;

    for (size_t i = 0; i < rounds; i++) {
        struct dx_buf body = DX_BUF_INIT(1 << 20);
        struct dx_buf block = DX_BUF_INIT(1 << 20);
        size_t count = 1 + random_below(&seed, 12);
        size_t done = 0;
        size_t size;

        for (size_t k = 0; k < count; k++) {
            bool first = done == 0 && random_below(&seed, 50) > 0;
            size_t n = 1 + random_below(&seed, random_below(&seed, 8) == 0 ? 700 : 70);

            if (first || random_below(&seed, 3) == 0) {
                put_literal(&body, n, &seed);
                done += n;
            } else {
                done += put_copy(&body, done, &seed);
            }
        }
        done += i % 5 == 0 ? random_below(&seed, 3) - 1 : 0;
        for (; done >= 0x80; done >>= 7)
            dx_buf_u8(&block, (uint8_t)(done | 0x80));
        dx_buf_u8(&block, (uint8_t)done);
        dx_buf_append(&block, body.data, body.size);
        EXPECT(same(dx_span_of(block.data, block.size), &size), "elements %zu", i);
        accepted += size > 0;
        dx_buf_release(&body);
        dx_buf_release(&block);
    }
    EXPECT(accepted > rounds / 3 && accepted < rounds / 30 * 29, "%zu accepted", accepted);
}

static void test_sizes(void)
{
    static const char *const blocks[] = { "",
                                          "\x80",
                                          "\xff\xff\xff\xff\x0f",
                                          "\xff\xff\xff\xff\x1f",
                                          "\xff\xff\xff\xff\xff",
                                          "\x80\x80\x80\x80\x80\x01",
                                          "\x01" };
    struct {
        uint8_t none;
    } nothing = { 0 };

    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        check(dx_span_str(blocks[i]), "size", i);
    check(dx_span_of(&nothing, 1), "of nothing", 0);
}

int main(void)
{
    test_sizes();
    test_compressed();
    test_elements();
    return failures > 0;
}
