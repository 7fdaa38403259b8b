/* SPDX-License-Identifier: Apache-2.0
 * Short copies and comparisons do what memcpy and memcmp do, of each size, with no byte read or written
 * behind the end, where a guard page is.
 */
#include "base/few_bytes.h"
#include "tests/support/damage.h"

#define SIZES 80

static int failures;

static int sign(int c)
{
    return (c > 0) - (c < 0);
}

static void fill(uint8_t *to, size_t n, uint64_t *seed)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (uint8_t)random_below(seed, 256);
}

static void test_copies(uint64_t *seed)
{
    for (size_t n = 0; n < SIZES; n++) {
        uint8_t text[SIZES], before[SIZES];
        struct damaged from, to;

        fill(text, n, seed);
        fill(before, n, seed);
        from = damaged_copy(dx_span_of(text, n));
        to = damaged_copy(dx_span_of(before, n));
        dx_few_copy(to.bytes, from.bytes, n);
        EXPECT(memcmp(to.bytes, text, n) == 0, "a copy of %zu bytes", n);
        damaged_free(&from);
        damaged_free(&to);
    }
}

static void test_appends(uint64_t *seed)
{
    uint8_t text[SIZES], all[SIZES * SIZES / 2];
    struct dx_buf b = DX_BUF_INIT(sizeof all);
    size_t size = 0;

    for (size_t n = 0; n < SIZES; n++) {
        fill(text, n, seed);
        memcpy(all + size, text, n);
        size += n;
        dx_few_append(&b, dx_span_of(text, n));
    }
    EXPECT(!b.failed && b.size == size && memcmp(b.data, all, size) == 0, "%zu bytes", b.size);
    dx_few_append(&b, dx_span_of(all, sizeof all));
    EXPECT(b.failed && b.size == size, "over the cap");
    dx_buf_release(&b);
}

static void compare(struct dx_span a, struct dx_span b)
{
    EXPECT(dx_few_equal(a, b) == dx_span_equal(a, b), "%zu and %zu bytes", a.size, b.size);
    EXPECT(sign(dx_few_compare(a, b)) == sign(dx_span_compare(a, b)), "%zu and %zu bytes", a.size,
           b.size);
}

/* Equal, of another size, and with each byte once higher and once lower. */
static void test_comparisons(uint64_t *seed)
{
    for (size_t n = 0; n < SIZES; n++) {
        uint8_t text[SIZES];
        struct damaged a, b;

        fill(text, n, seed);
        a = damaged_copy(dx_span_of(text, n));
        b = damaged_copy(dx_span_of(text, n));
        for (size_t m = 0; m <= n; m++)
            compare(dx_span_of(a.bytes, n), dx_span_of(b.bytes, m));
        for (size_t i = 0; i < n; i++)
            for (int step = -1; step <= 1; step += 2) {
                b.bytes[i] = (uint8_t)(text[i] + step);
                compare(dx_span_of(a.bytes, n), dx_span_of(b.bytes, n));
                b.bytes[i] = text[i];
            }
        damaged_free(&a);
        damaged_free(&b);
    }
}

int main(void)
{
    uint64_t seed = 20261129;

    test_copies(&seed);
    test_appends(&seed);
    test_comparisons(&seed);
    compare(dx_span_of(NULL, 0), dx_span_of(NULL, 0));
    return failures > 0;
}
