/* SPDX-License-Identifier: Apache-2.0
 * range_order.h - of rows that come in any order, those that are first in one order, behind some row.
 *
 *   struct dx_range_order o;
 *   dx_range_order_init(&o, &order, limit);                         order.sort: not NONE
 *   rc = dx_range_order_begin(&o, &row, &of, &err);                 unless it begins with the first: behind this one
 *   dx_range_order_like(&o, value);                                 and, where rows collapse, of the value of the last one that was taken
 *   rc = dx_range_order_add(&o, &row, &of, &err);                   each row, once
 *   dx_range_order_end(&o);
 *   rc = dx_range_order_page(&o, &err);                             the first page; then the next one, ...
 *                                                                   o.entries from o.first on, o.count of them; rows: kept_rows.h
 *   o.total, o.more                                                 rows that were added; whether some come behind these, and
 *   of = dx_range_order_last(&o, &row);                             behind which one to go on: of a whole page its last
 *   o.whole                                                         false: more rows would have to be looked at for all of the page
 *   dx_range_order_release(&o);
 *
 * Orders, each without ties (a row without a time comes before those with one):
 *
 *   URL        host, path_query, time, dataset_id, place in the listing of the dataset
 *   TIME       time, host, path_query, dataset_id, place
 *   CLOSEST    nearest to closest_us first, of two as near the earlier one; those without a time last; then as by TIME
 *
 * and `reverse` of the first two. The host of a row says of which domain it is. With a collapse (query/scan/collapse.h) rows that are like the
 * one before them are left out: their digest is the extra of this name.
 *
 * Held are up to twice the rows of DX_RANGE_ORDER_PAGES pages, or of a page behind the first or with a collapse twice DX_RANGE_ORDER_ROWS, and
 * some: whenever there are so many, or DX_RANGE_ORDER_BYTES of them, those that come last are let go. Where rows are long, or so many are
 * alike, a page is not whole: `count` is below `limit`, even 0, and `more` true. One thread at a time.
 */
#ifndef DX_QUERY_RANGE_RANGE_ORDER_H
#define DX_QUERY_RANGE_RANGE_ORDER_H

#include "query/answers/task.h"
#include "query/scan/collapse.h"
#include "query/scan/kept_rows.h"

#define DX_RANGE_ORDER_BYTES ((size_t)16 << 20) /* that stay: twice what a page may have */
#define DX_RANGE_ORDER_ROWS 65536
#define DX_RANGE_ORDER_PAGES 4 /* readers of the first page seldom read all */

/* Whose row it is. */
struct dx_range_order_at {
    uint32_t dataset_id;
    uint64_t row;            /* its place in the listing */
    uint64_t domain, number; /* the caller's */
};

struct dx_range_order_entry {
    uint64_t rank[2]; /* by time, before the URL */
    uint64_t time[2]; /* behind it */
    struct dx_range_order_at of;
    size_t at; /* in rows */
};

struct dx_range_order {
    uint64_t total;
    size_t count; /* of the page */
    bool more, whole;
    bool met; /* the row that it begins behind was added, and it is as was said */

    /* private */
    struct dx_url_order order;
    size_t limit;
    size_t wanted; /* rows that stay */
    struct dx_range_order_entry *entries;
    size_t held, capacity;
    bool cut;                         /* rows come behind those that are held */
    size_t first, next;               /* of the page; of those that were not looked at yet */
    struct dx_range_order_entry last; /* of the page, or of those that were looked at */
    struct dx_collapse_last taken_last;
    struct dx_buf value; /* of the row at hand */
    struct dx_kept_rows rows;
    size_t kept; /* entries left when rows behind the last of them were let go; 0: all are held */
    bool goes_on;
    struct dx_range_order_entry after;
    struct dx_kept_rows after_row;
};

void dx_range_order_init(struct dx_range_order *o, const struct dx_url_order *order, size_t limit);
int dx_range_order_begin(struct dx_range_order *o, const struct dx_listing_row *row,
                         const struct dx_range_order_at *of, struct dx_error *err);
int dx_range_order_add(struct dx_range_order *o, const struct dx_listing_row *row,
                       const struct dx_range_order_at *of, struct dx_error *err);
void dx_range_order_like(struct dx_range_order *o, const uint8_t value[DX_CURSOR_VALUE]);
void dx_range_order_end(struct dx_range_order *o);
int dx_range_order_page(struct dx_range_order *o, struct dx_error *err);
const struct dx_range_order_at *dx_range_order_last(const struct dx_range_order *o,
                                                    struct dx_listing_row *row);
/* Of a row what a cursor behind it says of its value. */
int dx_range_order_value(const struct dx_range_order *o, const struct dx_listing_row *row,
                         struct dx_cursor_position *to, struct dx_error *err);
void dx_range_order_release(struct dx_range_order *o);

#endif
