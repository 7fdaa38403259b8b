/* SPDX-License-Identifier: Apache-2.0
 * Rows in an order: pages of any size, each behind the last row of the one before, are together all rows as a plain sort puts them, in
 * each order and its reverse, whatever order they come in; the total is that of all rows on each page.
 */
#include "query/range/range_order.h"
#include "tests/support/damage.h"
#include "tests/support/sample.h"

#include <stdio.h>
#include <stdlib.h>

#define ROWS_MAX 3000
#define ROWS (unsigned)dx_sample(ROWS_MAX, 1000)
#define MIDDLE 1700000000000000

static unsigned failures;

struct one {
    char host[16], path[24];
    bool has_ts;
    int64_t ts_us;
    struct dx_range_order_at of;
};

static struct one rows[ROWS_MAX];
static struct dx_url_order order;
static uint64_t seed = 88172645463325252;

static unsigned any(unsigned below)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (unsigned)(seed % below);
}

/* Few hosts, paths and times: many are alike but for the place. */
static void make_rows(void)
{
    for (unsigned i = 0; i < ROWS; i++) {
        struct one *r = &rows[i];

        (void)snprintf(r->host, sizeof r->host, "%c.example", 'a' + (int)any(4));
        (void)snprintf(r->path, sizeof r->path, "/%.*s", (int)any(4), "xyz");
        r->has_ts = any(4) > 0;
        r->ts_us = r->has_ts ? MIDDLE + (int64_t)any(9) - 4 : 0;
        if (any(50) == 0 && r->has_ts)
            r->ts_us = any(2) == 0 ? INT64_MIN : INT64_MAX;
        r->of = (struct dx_range_order_at){ 1 + any(3), i, 7 * i, 11 * i };
    }
}

static int by_time(const struct one *a, const struct one *b)
{
    if (a->has_ts != b->has_ts)
        return a->has_ts ? 1 : -1;
    return (a->ts_us > b->ts_us) - (a->ts_us < b->ts_us);
}

static int by_nearness(const struct one *a, const struct one *b)
{
    __int128 x = (__int128)a->ts_us - order.closest_us;
    __int128 y = (__int128)b->ts_us - order.closest_us;

    if (!a->has_ts || !b->has_ts)
        return (int)b->has_ts - (int)a->has_ts;
    if ((x < 0 ? -x : x) != (y < 0 ? -y : y))
        return (x < 0 ? -x : x) < (y < 0 ? -y : y) ? -1 : 1;
    return (x > y) - (x < y);
}

static int by_order(const void *p, const void *q)
{
    const struct one *a = p;
    const struct one *b = q;
    int c = 0;

    if (order.sort == DX_CURSOR_SORT_TIME)
        c = by_time(a, b);
    if (order.sort == DX_CURSOR_SORT_CLOSEST)
        c = by_nearness(a, b);
    if (c == 0)
        c = strcmp(a->host, b->host);
    if (c == 0)
        c = strcmp(a->path, b->path);
    if (c == 0)
        c = by_time(a, b);
    if (c == 0)
        c = (a->of.dataset_id > b->of.dataset_id) - (a->of.dataset_id < b->of.dataset_id);
    if (c == 0)
        c = a->of.row < b->of.row ? -1 : 1;
    return order.reverse ? -c : c;
}

static struct dx_listing_row row_of(const struct one *r)
{
    return (struct dx_listing_row){ .scheme = dx_span_str("https"),
                                    .host = dx_span_str(r->host),
                                    .path_query = dx_span_str(r->path),
                                    .has_ts = r->has_ts,
                                    .ts_us = r->ts_us };
}

static const struct dx_range_order_at *row_of_page(const struct dx_range_order *o, size_t i,
                                                   struct dx_listing_row *row)
{
    dx_kept_rows_get(&o->rows, o->entries[o->first + i].at, row);
    return &o->entries[o->first + i].of;
}

static void check_page(const struct dx_range_order *o, const struct one *want, size_t left,
                       size_t limit)
{
    size_t count = left < limit ? left : limit;
    struct dx_listing_row row;

    EXPECT(o->total == ROWS && o->count == count && o->more == (left > limit),
           "%llu rows, %zu of %zu, more %d", (unsigned long long)o->total, o->count, count,
           o->more);
    for (size_t i = 0; i < o->count && i < count; i++) {
        const struct dx_range_order_at *of = row_of_page(o, i, &row);

        EXPECT(memcmp(of, &want[i].of, sizeof *of) == 0 &&
                   dx_span_equal(row.host, dx_span_str(want[i].host)) &&
                   dx_span_equal(row.path_query, dx_span_str(want[i].path)),
               "row %zu is the one at %llu, not %llu", i, (unsigned long long)of->row,
               (unsigned long long)want[i].of.row);
    }
}

static void check(size_t limit)
{
    static struct one given[ROWS_MAX];
    size_t first = 0;

    memcpy(given, rows, sizeof given);
    qsort(rows, ROWS, sizeof *rows, by_order);
    for (unsigned i = ROWS; i-- > 1;) { /* in any order */
        unsigned k = any(i + 1);
        struct one x = given[i];

        given[i] = given[k];
        given[k] = x;
    }
    for (; first < ROWS; first += limit) {
        struct dx_range_order o;
        struct dx_error err = DX_ERROR_INIT;
        int rc = DX_OK;

        dx_range_order_init(&o, &order, limit);
        if (first > 0) {
            struct dx_listing_row after = row_of(&rows[first - 1]);

            rc = dx_range_order_begin(&o, &after, &rows[first - 1].of, &err);
        }
        for (size_t i = 0; rc == DX_OK && i < ROWS; i++) {
            struct dx_listing_row row = row_of(&given[i]);

            rc = dx_range_order_add(&o, &row, &given[i].of, &err);
        }
        EXPECT(rc == DX_OK, "%s", err.text);
        dx_range_order_end(&o);
        EXPECT(dx_range_order_page(&o, &err) == DX_OK, "%s", err.text);
        check_page(&o, &rows[first], ROWS - first, limit);
        dx_range_order_release(&o);
    }
}

/* ---- rows that collapse ---- */

static bool are_alike(const struct one *a, const struct one *b)
{
    if (order.collapse == DX_COLLAPSE_URL)
        return strcmp(a->host, b->host) == 0 && strcmp(a->path, b->path) == 0;
    if (order.collapse == DX_COLLAPSE_HOST)
        return strcmp(a->host, b->host) == 0;
    return a->has_ts && b->has_ts && a->ts_us / 1000000 == b->ts_us / 1000000;
}

/* One page behind the row `after` of `rows`, which are in order; -1: the first. */
static int fill_page(struct dx_range_order *o, size_t limit, int after,
                     const struct dx_cursor_position *position)
{
    struct dx_error err = DX_ERROR_INIT;
    int rc = DX_OK;

    dx_range_order_init(o, &order, limit);
    if (after >= 0) {
        struct dx_listing_row row = row_of(&rows[after]);

        rc = dx_range_order_begin(o, &row, &rows[after].of, &err);
    }
    if (position->has_value)
        dx_range_order_like(o, position->value);
    for (size_t i = 0; rc == DX_OK && i < ROWS; i++) {
        struct dx_listing_row row = row_of(&rows[(i * 7 + 5) % ROWS]);

        rc = dx_range_order_add(o, &row, &rows[(i * 7 + 5) % ROWS].of, &err);
    }
    dx_range_order_end(o);
    if (rc == DX_OK)
        rc = dx_range_order_page(o, &err);
    EXPECT(rc == DX_OK, "%s", err.text);
    return rc;
}

static int index_of(const struct dx_range_order_at *of)
{
    int i = 0;

    while (memcmp(&rows[i].of, of, sizeof *of) != 0)
        i++;
    return i;
}

static void check_collapsed(size_t limit)
{
    struct dx_cursor_position position = { .has_value = false };
    struct dx_listing_row row;
    int want = 0;
    int after = -1;
    bool more = true;

    qsort(rows, ROWS, sizeof *rows, by_order);
    while (more) {
        struct dx_error err = DX_ERROR_INIT;
        struct dx_range_order o;

        if (fill_page(&o, limit, after, &position) < 0)
            break;
        for (size_t i = 0; i < o.count; i++) {
            while (want > 0 && (unsigned)want < ROWS && are_alike(&rows[want - 1], &rows[want]))
                want++;
            EXPECT(index_of(row_of_page(&o, i, &row)) == want, "row %d", want);
            want++;
        }
        more = o.more;
        EXPECT(!more || o.count == limit, "%zu rows", o.count);
        if (more) {
            after = index_of(dx_range_order_last(&o, &row));
            EXPECT(dx_range_order_value(&o, &row, &position, &err) == DX_OK, "%s", err.text);
        }
        dx_range_order_release(&o);
    }
    while ((unsigned)want < ROWS && are_alike(&rows[want - 1], &rows[want]))
        want++;
    EXPECT((unsigned)want == ROWS, "%d rows", want);
}

/* Pages that follow the first one without reading again are those that reading again gives. */
static void check_following(size_t limit)
{
    struct dx_cursor_position position = { .has_value = false };
    struct dx_range_order o;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_listing_row row;
    int after;

    if (fill_page(&o, limit, -1, &position) < 0)
        return;
    while (o.more && o.whole) {
        struct dx_range_order again;

        after = index_of(dx_range_order_last(&o, &row));
        EXPECT(dx_range_order_value(&o, &row, &position, &err) == DX_OK &&
                   dx_range_order_page(&o, &err) == DX_OK,
               "%s", err.text);
        position.has_value = position.has_value && order.collapse != DX_COLLAPSE_NONE;
        if (fill_page(&again, limit, after, &position) < 0)
            break;
        EXPECT(!o.whole || (o.count == again.count && o.more == again.more), "%zu of %zu rows",
               o.count, again.count);
        EXPECT(again.met, "the row before it");
        for (size_t i = 0; i < o.count; i++)
            EXPECT(index_of(row_of_page(&o, i, &row)) == index_of(row_of_page(&again, i, &row)),
                   "row %zu", i);
        dx_range_order_release(&again);
        position.value[0] ^= 1; /* made up */
        if (fill_page(&again, limit, after, &position) < 0)
            break;
        EXPECT(again.met == !position.has_value, "another value");
        dx_range_order_release(&again);
    }
    dx_range_order_release(&o);
}

/* Rows of which two pages do not fit: the first ones stay, and fewer than were wanted. */
static void check_long(void)
{
    enum { SIZE = 1 << 20, COUNT = 100 };
    uint8_t *path = malloc(SIZE);
    struct dx_range_order o;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_listing_row row = { .host = dx_span_str("a.example"), .has_ts = true };
    int rc = DX_OK;

    memset(path, 'x', SIZE);
    order = (struct dx_url_order){ .sort = DX_CURSOR_SORT_TIME, .reverse = true };
    dx_range_order_init(&o, &order, 1000);
    for (unsigned i = 0; rc == DX_OK && i < COUNT; i++) {
        row.path_query = dx_span_of(path, SIZE);
        row.ts_us = (int64_t)i * 37 % COUNT;
        rc = dx_range_order_add(&o, &row, &(struct dx_range_order_at){ 1, i, 0, 0 }, &err);
    }
    EXPECT(rc == DX_OK, "%s", err.text);
    dx_range_order_end(&o);
    EXPECT(dx_range_order_page(&o, &err) == DX_OK, "%s", err.text);
    EXPECT(o.total == COUNT && o.more && o.count > 8 && o.count < 40, "%zu rows", o.count);
    for (size_t i = 0; i < o.count; i++) {
        (void)row_of_page(&o, i, &row);
        EXPECT(row.ts_us == COUNT - 1 - (int64_t)i, "row %zu: %lld", i, (long long)row.ts_us);
    }
    dx_range_order_release(&o);
    free(path);
}

int main(void)
{
    const size_t limits[] = { 90, 700, ROWS - 1, ROWS, 5000 };
    static const enum dx_cursor_sort sorts[] = { DX_CURSOR_SORT_URL, DX_CURSOR_SORT_TIME,
                                                 DX_CURSOR_SORT_CLOSEST };

    make_rows();
    for (size_t i = 0; i < 3; i++)
        for (unsigned reverse = 0; reverse < (i < 2 ? 2 : 1); reverse++)
            for (size_t k = 0; k < sizeof limits / sizeof *limits; k++) {
                order = (struct dx_url_order){ .sort = sorts[i],
                                               .reverse = reverse > 0,
                                               .closest_us = k == 2 ? INT64_MIN : MIDDLE };
                check(limits[k]);
            }
    order = (struct dx_url_order){ .sort = DX_CURSOR_SORT_TIME };
    qsort(rows, ROWS, sizeof *rows, by_order);
    check_following(300);
    for (size_t i = 0; i < 3; i++)
        for (unsigned k = DX_COLLAPSE_URL; k < DX_COLLAPSE_COUNT; k++) {
            order = (struct dx_url_order){ .sort = sorts[i],
                                           .reverse = i == 1,
                                           .closest_us = MIDDLE,
                                           .collapse = k,
                                           .digits = 14 };
            if (k != DX_COLLAPSE_DIGEST)
                check_collapsed(k == DX_COLLAPSE_HOST && i == 0 ? 1 : 150);
            if (k != DX_COLLAPSE_DIGEST)
                check_following(k == DX_COLLAPSE_HOST && i == 0 ? 1 : 150);
        }
    check_long();
    return failures > 0;
}
