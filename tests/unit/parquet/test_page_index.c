/* SPDX-License-Identifier: Apache-2.0
 * Bounds of pages and of chunks: of each type, cut strings, pages without values, their order.
 */
#include "parquet/page_index.h"
#include "tests/support/damage.h"

static unsigned failures;

static const struct dx_pq_column text = { .type = DX_PQ_BYTE_ARRAY };

static struct dx_pq_bounds of_ints(const struct dx_pq_column *c, int64_t a, int64_t b)
{
    int64_t n[2] = { a, b };
    const struct dx_pq_values v = { .row_count = 2, .ints = n };

    return dx_pq_bounds_of(c, &v);
}

static struct dx_pq_bounds of_texts(struct dx_span a, struct dx_span b)
{
    struct dx_span s[2] = { a, b };
    const struct dx_pq_values v = { .row_count = 2, .spans = s };

    return dx_pq_bounds_of(&text, &v);
}

/* Each type in its own order, merged: -1 is the largest number without a sign. */
static void check_ints(void)
{
    static const struct dx_pq_column columns[] = {
        { .type = DX_PQ_INT32 },
        { .type = DX_PQ_INT32, .is_unsigned = true },
        { .type = DX_PQ_INT64 },
        { .type = DX_PQ_INT64, .is_unsigned = true },
    };

    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        const struct dx_pq_column *c = &columns[i];
        /* as they are decoded: INT32 extended by its sign, or by zeros */
        int64_t minus = c->type == DX_PQ_INT32 && c->is_unsigned ? INT64_C(0xffffffff) : -1;
        struct dx_pq_bounds low = of_ints(c, 3, 2);
        struct dx_pq_bounds high = of_ints(c, minus, 5);
        uint8_t five[8] = { 5 }, two[8] = { 2 }, ones[8];
        const uint8_t *min = c->is_unsigned ? two : ones;
        const uint8_t *max = c->is_unsigned ? ones : five;

        memset(ones, 0xff, sizeof ones);
        dx_pq_bounds_merge(c, &low, &high);
        EXPECT(low.min_size == (c->type == DX_PQ_INT32 ? 4 : 8) && low.max_size == low.min_size &&
                   memcmp(low.min, min, low.min_size) == 0 &&
                   memcmp(low.max, max, low.max_size) == 0 && low.min_is_exact && low.max_is_exact,
               "column %zu", i);
    }
}

static void check_nulls(void)
{
    uint8_t valid[2] = { 0, 0 };
    int64_t n[2] = { 1, 2 };
    struct dx_span s[2] = { { NULL, 0 }, { NULL, 0 } };
    const struct dx_pq_column c = { .type = DX_PQ_INT64 };
    const struct dx_pq_values ints = { .row_count = 2, .ints = n, .valid = valid };
    const struct dx_pq_values texts = { .row_count = 2, .spans = s, .valid = valid };
    struct dx_pq_bounds some = of_ints(&c, 1, 2), none = dx_pq_bounds_of(&c, &ints);

    EXPECT(!none.has_min && !none.has_max, "a page of nulls");
    EXPECT(!dx_pq_bounds_of(&text, &texts).has_min, "a page of null strings");
    dx_pq_bounds_merge(&c, &some, &none);
    EXPECT(some.has_min && some.min[0] == 1 && some.max[0] == 2, "nulls add nothing");
    dx_pq_bounds_merge(&c, &none, &some);
    EXPECT(none.has_min && none.min[0] == 1 && none.max[0] == 2, "the first page with values");
}

static void check_cuts(void)
{
    uint8_t a[80], z[80], high[80], middle[80];
    struct dx_pq_bounds b, from;

    memset(a, 'a', sizeof a);
    memset(z, 'z', sizeof z);
    memset(high, 0xbf, sizeof high);
    memset(middle, 'm', sizeof middle);
    b = of_texts(dx_span_of(a, DX_PQ_BOUND_MAX), dx_span_of(z, DX_PQ_BOUND_MAX));
    EXPECT(b.min_is_exact && b.max_is_exact && b.min_size == DX_PQ_BOUND_MAX, "the longest");
    b = of_texts(dx_span_of(a, sizeof a), dx_span_of(z, sizeof z));
    EXPECT(!b.min_is_exact && !b.max_is_exact && b.has_max &&
               b.max[DX_PQ_BOUND_MAX - 1] == 'z' + 1 && b.min_size == DX_PQ_BOUND_MAX,
           "cut");
    memcpy(a + DX_PQ_BOUND_MAX - 1, "\xc3\xbc", 2);
    b = of_texts(dx_span_of(a, sizeof a), dx_span_of(z, 1));
    EXPECT(b.min_size == DX_PQ_BOUND_MAX - 1, "not within a character: %u", b.min_size);
    b = of_texts(dx_span_of(high, sizeof high), dx_span_of(high, sizeof high));
    EXPECT(b.has_min && b.min_size == 0 && !b.has_max, "bytes that are no text: %u", b.min_size);
    /* A chunk has no maximum if one of its pages has none. */
    from = of_texts(dx_span_of(z, 3), dx_span_of(z, 4));
    dx_pq_bounds_merge(&text, &b, &from);
    EXPECT(b.has_min && !b.has_max, "the first has none");
    dx_pq_bounds_merge(&text, &from, &b);
    EXPECT(from.has_min && from.min_size == 0 && !from.has_max, "the second has none");
    /* The same bound, once exact and once cut: a page has just this value. */
    b = of_texts(dx_span_of(middle, sizeof middle), dx_span_of(middle, sizeof middle));
    from = of_texts(dx_span_of(middle, DX_PQ_BOUND_MAX), dx_span_of(middle, DX_PQ_BOUND_MAX));
    dx_pq_bounds_merge(&text, &b, &from);
    EXPECT(b.min_is_exact && !b.max_is_exact, "exact");
    /* One value again and again, as a dictionary gives it. */
    b = of_texts(dx_span_of(z, 3), dx_span_of(z, 3));
    EXPECT(b.min_size == 3 && b.max_size == 3 && b.min_is_exact, "one value");
    b = of_texts(dx_span_of(z, 3), dx_span_of(z, 2));
    EXPECT(b.min_size == 2 && b.max_size == 3, "a beginning of the value before");
}

/* The order in field 4 as Thrift writes it: the zigzag of 1 is 2. */
static int order_in(const struct dx_buf *b)
{
    return b->size < 2 ? -1 : b->data[b->size - 1];
}

static int order_of(const struct dx_pq_column *c, const struct dx_pq_bounds *b, uint32_t count)
{
    struct dx_pq_page_entry pages[4];
    struct dx_buf with = DX_BUF_INIT(4096), to = DX_BUF_INIT(4096);
    int order = -1;

    memset(pages, 0, sizeof pages);
    for (uint32_t i = 0; i < count; i++)
        pages[i].bounds = b[i];
    if (dx_pq_column_index_write(c, pages, count, &with)) {
        /* field 4 is an i32 (0x15) before field 5, the list of null counts */
        size_t tail = 3 + count;

        EXPECT(with.size > tail + 2 && with.data[with.size - tail - 2] == 0x15, "%zu bytes",
               with.size);
        dx_buf_append(&to, with.data, with.size - tail);
        order = order_in(&to);
    }
    dx_buf_release(&with);
    dx_buf_release(&to);
    return order;
}

static void check_order(void)
{
    const struct dx_pq_column c = { .type = DX_PQ_INT64 };
    struct dx_pq_bounds up[3] = { of_ints(&c, 1, 2), { 0 }, of_ints(&c, 2, 3) };
    struct dx_pq_bounds down[2] = { of_ints(&c, 2, 3), of_ints(&c, 1, 3) };
    struct dx_pq_bounds none[2] = { of_ints(&c, 2, 3), of_ints(&c, 1, 4) };
    struct dx_pq_bounds odd[2] = { of_ints(&c, 2, 3), of_ints(&c, 3, 4) };

    EXPECT(order_of(&c, up, 3) == 2, "ascending, around a page of nulls: %d", order_of(&c, up, 3));
    EXPECT(order_of(&c, down, 2) == 4, "descending: %d", order_of(&c, down, 2));
    EXPECT(order_of(&c, none, 2) == 0, "in no order: %d", order_of(&c, none, 2));
    odd[1].has_max = false;
    EXPECT(order_of(&c, odd, 2) == -1, "no index where a page has no maximum");
}

int main(void)
{
    check_ints();
    check_nulls();
    check_cuts();
    check_order();
    return failures != 0;
}
