/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/page_index.h"

#include "parquet/thrift.h"

#include <assert.h>

enum { ORDER_NONE = 0, ORDER_ASCENDING = 1, ORDER_DESCENDING = 2 };

static int compare_ints(const struct dx_pq_column *c, int64_t a, int64_t b)
{
    if (c->is_unsigned)
        return ((uint64_t)a > (uint64_t)b) - ((uint64_t)a < (uint64_t)b);
    return (a > b) - (a < b);
}

static int64_t load_int(const struct dx_pq_column *c, struct dx_span s)
{
    if (c->type == DX_PQ_INT64)
        return (int64_t)dx_load_u64(s.data);
    return c->is_unsigned ? (int64_t)dx_load_u32(s.data) : (int32_t)dx_load_u32(s.data);
}

static int compare(const struct dx_pq_column *c, struct dx_span a, struct dx_span b)
{
    if (c->type == DX_PQ_BYTE_ARRAY)
        return dx_span_compare(a, b);
    return compare_ints(c, load_int(c, a), load_int(c, b));
}

static struct dx_span min_of(const struct dx_pq_bounds *b)
{
    return dx_span_of(b->min, b->min_size);
}

static struct dx_span max_of(const struct dx_pq_bounds *b)
{
    return dx_span_of(b->max, b->max_size);
}

static uint8_t store_int(const struct dx_pq_column *c, int64_t v, uint8_t *to)
{
    if (c->type == DX_PQ_INT32) {
        dx_store_u32(to, (uint32_t)v);
        return 4;
    }
    dx_store_u64(to, (uint64_t)v);
    return 8;
}

static void bound_ints(const struct dx_pq_column *c, const struct dx_pq_values *v,
                       struct dx_pq_bounds *b)
{
    const uint64_t flip = c->is_unsigned ? UINT64_C(1) << 63 : 0; /* to signed ones of that order */
    int64_t min = INT64_MAX, max = INT64_MIN;
    bool any = false;

    for (uint32_t i = 0; i < v->row_count; i++) {
        int64_t n = (int64_t)((uint64_t)v->ints[i] ^ flip);

        if (dx_pq_is_null(v, i))
            continue;
        min = n < min ? n : min;
        max = n > max ? n : max;
        any = true;
    }
    if (!any)
        return;
    b->min_size = store_int(c, (int64_t)((uint64_t)min ^ flip), b->min);
    b->max_size = store_int(c, (int64_t)((uint64_t)max ^ flip), b->max);
    b->has_min = b->has_max = b->min_is_exact = b->max_is_exact = true;
}

static void cut_min(struct dx_span s, struct dx_pq_bounds *b)
{
    size_t n = s.size < DX_PQ_BOUND_MAX ? s.size : DX_PQ_BOUND_MAX;

    b->has_min = true;
    b->min_is_exact = n == s.size;
    if (n < s.size)
        while (n > 0 && (s.data[n] & 0xc0) == 0x80) /* not within a UTF-8 character */
            n--;
    if (n > 0)
        memcpy(b->min, s.data, n);
    b->min_size = (uint8_t)n;
}

static void cut_max(struct dx_span s, struct dx_pq_bounds *b)
{
    size_t n = s.size < DX_PQ_BOUND_MAX ? s.size : DX_PQ_BOUND_MAX;

    b->max_is_exact = n == s.size;
    if (n < s.size)
        while (n > 0 && s.data[n - 1] >= 0x7f)
            n--;
    b->has_max = n > 0 || s.size == 0;
    if (n > 0)
        memcpy(b->max, s.data, n);
    if (n > 0 && !b->max_is_exact)
        b->max[n - 1]++;
    b->max_size = (uint8_t)n;
}

/* The first bytes as a number: where two differ, they tell the order. */
static uint64_t head_of(struct dx_span s)
{
    uint64_t v = 0;

    if (s.size >= 8)
        return __builtin_bswap64(dx_load_u64(s.data));
    for (size_t i = 0; i < 8; i++)
        v = v << 8 | (i < s.size ? s.data[i] : 0);
    return v;
}

static void bound_strings(const struct dx_pq_values *v, struct dx_pq_bounds *b)
{
    const struct dx_span *min = NULL, *max = NULL;
    uint64_t least = 0, most = 0; /* their heads */

    for (uint32_t i = 0; i < v->row_count; i++) {
        const struct dx_span *s = &v->spans[i];
        uint64_t head;

        if (dx_pq_is_null(v, i) || (i > 0 && s->data == s[-1].data && s->size == s[-1].size))
            continue; /* the very value of the row before */
        head = head_of(*s);
        if (min == NULL || head < least || (head == least && dx_span_compare(*s, *min) < 0)) {
            min = s;
            least = head;
        }
        if (max == NULL || head > most || (head == most && dx_span_compare(*s, *max) > 0)) {
            max = s;
            most = head;
        }
    }
    if (min == NULL)
        return;
    cut_min(*min, b);
    cut_max(*max, b);
}

struct dx_pq_bounds dx_pq_bounds_of(const struct dx_pq_column *c, const struct dx_pq_values *v)
{
    struct dx_pq_bounds b = { .has_min = false };

    assert(c->type == DX_PQ_INT32 || c->type == DX_PQ_INT64 || c->type == DX_PQ_BYTE_ARRAY);
    if (c->type == DX_PQ_BYTE_ARRAY)
        bound_strings(v, &b);
    else
        bound_ints(c, v, &b);
    return b;
}

static void take_min(struct dx_pq_bounds *into, const struct dx_pq_bounds *from)
{
    memcpy(into->min, from->min, sizeof(into->min));
    into->min_size = from->min_size;
    into->min_is_exact = from->min_is_exact;
}

static void take_max(struct dx_pq_bounds *into, const struct dx_pq_bounds *from)
{
    memcpy(into->max, from->max, sizeof(into->max));
    into->max_size = from->max_size;
    into->max_is_exact = from->max_is_exact;
    into->has_max = from->has_max;
}

void dx_pq_bounds_merge(const struct dx_pq_column *c, struct dx_pq_bounds *into,
                        const struct dx_pq_bounds *from)
{
    int order;

    if (!from->has_min)
        return;
    if (!into->has_min) {
        *into = *from;
        return;
    }
    order = compare(c, min_of(from), min_of(into));
    if (order < 0)
        take_min(into, from);
    else if (order == 0) /* one page has just this value: it is the smallest of all */
        into->min_is_exact |= from->min_is_exact;
    if (!from->has_max || !into->has_max) {
        into->has_max = false;
        return;
    }
    order = compare(c, max_of(from), max_of(into));
    if (order > 0)
        take_max(into, from);
    else if (order == 0)
        into->max_is_exact |= from->max_is_exact;
}

static int order_of(const struct dx_pq_column *c, const struct dx_pq_page_entry *page,
                    uint32_t count)
{
    const struct dx_pq_bounds *before = NULL;
    bool up = true, down = true;

    for (uint32_t i = 0; i < count; i++) {
        const struct dx_pq_bounds *b = &page[i].bounds;

        if (!b->has_min)
            continue;
        if (before != NULL) {
            int min = compare(c, min_of(b), min_of(before));
            int max = compare(c, max_of(b), max_of(before));

            up = up && min >= 0 && max >= 0;
            down = down && min <= 0 && max <= 0;
        }
        before = b;
    }
    return up ? ORDER_ASCENDING : down ? ORDER_DESCENDING : ORDER_NONE;
}

bool dx_pq_column_index_write(const struct dx_pq_column *c, const struct dx_pq_page_entry *page,
                              uint32_t count, struct dx_buf *out)
{
    struct dx_thrift_out o = dx_thrift_out_to(out);

    for (uint32_t i = 0; i < count; i++)
        if (page[i].bounds.has_min && !page[i].bounds.has_max)
            return false;
    dx_thrift_put_begin(&o, 0);
    dx_thrift_put_list(&o, 1, DX_THRIFT_TRUE, count);
    for (uint32_t i = 0; i < count; i++)
        dx_thrift_put_element_bool(&o, !page[i].bounds.has_min);
    dx_thrift_put_list(&o, 2, DX_THRIFT_BINARY, count);
    for (uint32_t i = 0; i < count; i++)
        dx_thrift_put_element_binary(&o, min_of(&page[i].bounds));
    dx_thrift_put_list(&o, 3, DX_THRIFT_BINARY, count);
    for (uint32_t i = 0; i < count; i++)
        dx_thrift_put_element_binary(&o, max_of(&page[i].bounds));
    dx_thrift_put_i32(&o, 4, order_of(c, page, count));
    dx_thrift_put_list(&o, 5, DX_THRIFT_I64, count);
    for (uint32_t i = 0; i < count; i++)
        dx_thrift_put_element_int(&o, page[i].null_count);
    dx_thrift_put_end(&o);
    return true;
}

void dx_pq_offset_index_write(const struct dx_pq_page_entry *page, uint32_t count,
                              struct dx_buf *out)
{
    struct dx_thrift_out o = dx_thrift_out_to(out);

    dx_thrift_put_begin(&o, 0);
    dx_thrift_put_list(&o, 1, DX_THRIFT_STRUCT, count);
    for (uint32_t i = 0; i < count; i++) {
        dx_thrift_put_begin(&o, 0);
        dx_thrift_put_i64(&o, 1, (int64_t)page[i].offset);
        dx_thrift_put_i32(&o, 2, (int32_t)page[i].size);
        dx_thrift_put_i64(&o, 3, (int64_t)page[i].first_row);
        dx_thrift_put_end(&o);
    }
    dx_thrift_put_end(&o);
}
