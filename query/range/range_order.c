/* SPDX-License-Identifier: Apache-2.0 */
#include "query/range/range_order.h"

#include "base/array.h"

#include <assert.h>
#include <stdlib.h>

#define ROOM 1024 /* rows beside twice those that are wanted */
#define VALUE_MAX ((size_t)64 << 20)

void dx_range_order_init(struct dx_range_order *o, const struct dx_url_order *order, size_t limit)
{
    assert(order->sort != DX_CURSOR_SORT_NONE && limit > 0);
    *o = (struct dx_range_order){ .order = *order,
                                  .limit = limit,
                                  .wanted = limit * DX_RANGE_ORDER_PAGES };
    if (order->collapse != DX_COLLAPSE_NONE && o->wanted < DX_RANGE_ORDER_ROWS)
        o->wanted = DX_RANGE_ORDER_ROWS;
    dx_collapse_last_init(&o->taken_last, VALUE_MAX);
    dx_buf_init(&o->value, VALUE_MAX);
    dx_kept_rows_init(&o->rows);
    dx_kept_rows_init(&o->after_row);
}

void dx_range_order_release(struct dx_range_order *o)
{
    dx_kept_rows_release(&o->rows);
    dx_kept_rows_release(&o->after_row);
    dx_collapse_last_release(&o->taken_last);
    dx_buf_release(&o->value);
    free(o->entries);
    o->entries = NULL;
    o->count = o->held = o->capacity = 0;
}

/* ---- the order ---- */

static struct dx_range_order_entry entry_of(const struct dx_range_order *o,
                                            const struct dx_listing_row *row,
                                            const struct dx_range_order_at *of)
{
    struct dx_range_order_entry e = { .of = *of };
    uint64_t *by = o->order.sort == DX_CURSOR_SORT_URL ? e.time : e.rank;
    int64_t near = o->order.closest_us;

    if (o->order.sort != DX_CURSOR_SORT_CLOSEST) {
        by[0] = row->has_ts;
        by[1] = row->has_ts ? (uint64_t)row->ts_us ^ (UINT64_C(1) << 63) : 0;
        return e;
    }
    by[0] = !row->has_ts        ? UINT64_MAX
            : row->ts_us < near ? (uint64_t)near - (uint64_t)row->ts_us
                                : (uint64_t)row->ts_us - (uint64_t)near;
    by[1] = row->has_ts ? row->ts_us > near : 2;
    return e;
}

static int compare_pairs(const uint64_t a[2], const uint64_t b[2])
{
    return a[0] != b[0] ? (a[0] > b[0]) - (a[0] < b[0]) : (a[1] > b[1]) - (a[1] < b[1]);
}

static int compare_places(const struct dx_range_order_at *a, const struct dx_range_order_at *b)
{
    if (a->dataset_id != b->dataset_id)
        return a->dataset_id < b->dataset_id ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

/* An entry and its URL with one that is kept in `rows`. */
static int compare_kept(const struct dx_range_order *o, const struct dx_range_order_entry *a,
                        struct dx_span host, struct dx_span path,
                        const struct dx_range_order_entry *b, const struct dx_kept_rows *rows)
{
    struct dx_span other_host;
    struct dx_span other_path;
    int c = compare_pairs(a->rank, b->rank);

    if (c == 0) {
        dx_kept_rows_url(rows, b->at, &other_host, &other_path);
        c = dx_span_compare(host, other_host);
        if (c == 0)
            c = dx_span_compare(path, other_path);
    }
    if (c == 0)
        c = compare_pairs(a->time, b->time);
    if (c == 0)
        c = compare_places(&a->of, &b->of);
    return o->order.reverse ? -c : c;
}

static int compare_entries(const void *a, const void *b, void *ctx)
{
    const struct dx_range_order *o = ctx;
    const struct dx_range_order_entry *x = a;
    struct dx_span host;
    struct dx_span path;

    dx_kept_rows_url(&o->rows, x->at, &host, &path);
    return compare_kept(o, x, host, path, b, &o->rows);
}

static void sort(struct dx_range_order *o)
{
    if (o->held > 1)
        qsort_r(o->entries, o->held, sizeof *o->entries, compare_entries, o);
}

/* ---- which stay ---- */

/* In order, so many as are wanted, and of long ones fewer. */
static int let_go(struct dx_range_order *o, struct dx_error *err)
{
    struct dx_kept_rows rows;
    struct dx_listing_row row;
    size_t n = 0;
    int rc = DX_OK;

    sort(o);
    dx_kept_rows_init(&rows);
    for (; rc == DX_OK && n < o->held && n < o->wanted &&
           (n == 0 || rows.bytes.size < DX_RANGE_ORDER_BYTES);
         n++) {
        dx_kept_rows_get(&o->rows, o->entries[n].at, &row);
        rc = dx_kept_rows_add(&rows, &row, &o->entries[n].at, err);
    }
    dx_kept_rows_release(&o->rows);
    o->rows = rows;
    o->cut = o->cut || n < o->held;
    o->held = n;
    o->kept = o->cut ? n : 0;
    return rc;
}

int dx_range_order_begin(struct dx_range_order *o, const struct dx_listing_row *row,
                         const struct dx_range_order_at *of, struct dx_error *err)
{
    assert(o->total == 0); /* before rows are added */
    o->goes_on = true;
    if (o->wanted < DX_RANGE_ORDER_ROWS)
        o->wanted = DX_RANGE_ORDER_ROWS;
    o->after = entry_of(o, row, of);
    return dx_kept_rows_add(&o->after_row, row, &o->after.at, err);
}

/* ---- which are taken ---- */

static bool value_of(const struct dx_range_order *o, const struct dx_listing_row *row,
                     struct dx_buf *value)
{
    const struct dx_collapse_of of = { row->host, row->path_query, row->has_ts ? &row->ts_us : NULL,
                                       dx_listing_extra(row, dx_span_str("digest")) };

    dx_buf_clear(value);
    return dx_collapse_value((enum dx_collapse)o->order.collapse, o->order.digits, &of, value);
}

static struct dx_span text_of(const struct dx_buf *b)
{
    return dx_span_of(b->data, b->size);
}

int dx_range_order_value(const struct dx_range_order *o, const struct dx_listing_row *row,
                         struct dx_cursor_position *to, struct dx_error *err)
{
    struct dx_buf value = DX_BUF_INIT(VALUE_MAX);
    int rc = DX_OK;

    to->has_value = value_of(o, row, &value);
    if (value.failed || (to->has_value && !dx_collapse_sum(text_of(&value), to->value)))
        rc = dx_no_memory(err, "cursor");
    dx_buf_release(&value);
    return rc;
}

/* The row that it begins behind. */
static int meet(struct dx_range_order *o, const struct dx_listing_row *row,
                const struct dx_range_order_at *of, struct dx_error *err)
{
    struct dx_cursor_position own = { .has_value = false };
    int rc = o->order.collapse == DX_COLLAPSE_NONE ? DX_OK
                                                   : dx_range_order_value(o, row, &own, err);

    o->met = rc == DX_OK && of->domain == o->after.of.domain &&
             own.has_value == o->taken_last.has_value &&
             (!own.has_value || dx_span_equal(dx_span_of(own.value, sizeof own.value),
                                              text_of(&o->taken_last.value)));
    return rc;
}

void dx_range_order_like(struct dx_range_order *o, const uint8_t value[DX_CURSOR_VALUE])
{
    assert(o->total == 0);
    dx_collapse_last_go_on(&o->taken_last, value);
}

/* Whether it is like the row before it; else, unless only that is asked, it is the one to compare with. */
static int is_like(struct dx_range_order *o, const struct dx_listing_row *row, bool ask_only,
                   struct dx_error *err)
{
    bool has_value = value_of(o, row, &o->value);
    int rc;

    if (o->value.failed)
        return dx_no_memory(err, "listing");
    rc = dx_collapse_last_like(&o->taken_last, has_value, text_of(&o->value), err);
    return rc == 0 && !ask_only
               ? dx_collapse_last_take(&o->taken_last, has_value, text_of(&o->value), err)
               : rc;
}

int dx_range_order_add(struct dx_range_order *o, const struct dx_listing_row *row,
                       const struct dx_range_order_at *of, struct dx_error *err)
{
    struct dx_range_order_entry e = entry_of(o, row, of);
    struct dx_range_order_entry *to;
    int c = o->goes_on ? compare_kept(o, &e, row->host, row->path_query, &o->after, &o->after_row)
                       : 1;
    int rc;

    o->total++;
    if (c == 0)
        return meet(o, row, of, err);
    if (c < 0)
        return DX_OK;
    if (o->kept > 0 &&
        compare_kept(o, &e, row->host, row->path_query, &o->entries[o->kept - 1], &o->rows) > 0)
        return DX_OK;
    if (o->held >= 2 * o->wanted + ROOM || o->rows.bytes.size >= 2 * DX_RANGE_ORDER_BYTES) {
        rc = let_go(o, err);
        if (rc < 0)
            return rc;
    }
    to = dx_array_room(o->entries, o->held, &o->capacity, sizeof *to);
    if (to == NULL)
        return dx_no_memory(err, "listing");
    o->entries = to;
    rc = dx_kept_rows_add(&o->rows, row, &e.at, err);
    if (rc == DX_OK)
        o->entries[o->held++] = e;
    return rc;
}

void dx_range_order_end(struct dx_range_order *o)
{
    sort(o);
    if (o->kept > 0 && o->held > o->kept)
        o->held = o->kept;
}

/* The next of those that are held is in the page, unless it is like the one before: 1; 0: it is the first of another page. */
static int take_next(struct dx_range_order *o, struct dx_listing_row *row, struct dx_error *err)
{
    const struct dx_range_order_entry *e = &o->entries[o->next];
    int like = 0;

    if (o->order.collapse != DX_COLLAPSE_NONE) {
        dx_kept_rows_get(&o->rows, e->at, row);
        like = is_like(o, row, o->count == o->limit, err);
    }
    if (like < 0 || (like == 0 && o->count == o->limit))
        return like;
    o->last = *e;
    if (like == 0)
        o->entries[o->first + o->count++] =
            *e; /* of one that was looked at: pages lie one behind the other */
    o->next++;
    return 1;
}

int dx_range_order_page(struct dx_range_order *o, struct dx_error *err)
{
    struct dx_listing_row *row = malloc(sizeof *row); /* 2 kB that are not on a stack */
    int rc = row == NULL ? dx_no_memory(err, "listing") : 1;

    o->first += o->count;
    o->count = 0;
    while (rc == 1 && o->next < o->held)
        rc = take_next(o, row, err);
    o->more = o->next < o->held || o->cut;
    o->whole = o->next < o->held || !o->cut;
    if (o->whole &&
        o->count > 0) /* what is like it comes behind it, whether it was looked at or not */
        o->last = o->entries[o->first + o->count - 1];
    free(row);
    return rc < 0 ? rc : DX_OK;
}

const struct dx_range_order_at *dx_range_order_last(const struct dx_range_order *o,
                                                    struct dx_listing_row *row)
{
    dx_kept_rows_get(&o->rows, o->last.at, row);
    return &o->last.of;
}
