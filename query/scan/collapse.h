/* SPDX-License-Identifier: Apache-2.0
 * collapse.h - of rows in order that have the same value the first one is taken: what that value is, and that of the row taken last.
 *
 *   dx_collapse_parse(text, &kind, &digits)      "url", "host", "digest", "time:8"; false: neither
 *   dx_collapse_value(kind, digits, host, path_query, has_ts ? &ts_us : NULL, digest, &value)
 *                                                 appends; false: the row has none, and is like no other
 *   dx_collapse_sum(value, sum)                what a cursor says of it; false: out of memory
 *
 *   dx_collapse_last_init(&last, bytes_max);                       no row was taken yet, and none is like it; or
 *   dx_collapse_last_go_on(&last, sum);                            the page before took one, of which its cursor has the sum
 *   rc = dx_collapse_last_like(&last, has_value, value, &err);     1 if a row is like the one that was taken last, 0, <0
 *   rc = dx_collapse_last_take(&last, has_value, value, &err);     it is taken
 *   rc = dx_collapse_last_put(&last, &position, &err);             what a cursor behind it says
 *   dx_collapse_last_release(&last);
 *
 * Any thread; a dx_collapse_last: one at a time.
 */
#ifndef DX_QUERY_SCAN_COLLAPSE_H
#define DX_QUERY_SCAN_COLLAPSE_H

#include "base/buf.h"
#include "base/bytes.h"
#include "query/rows/cursor.h"

enum dx_collapse {
    DX_COLLAPSE_NONE,
    DX_COLLAPSE_URL,    /* host and path_query; the scheme does not count */
    DX_COLLAPSE_HOST,   /* with its port */
    DX_COLLAPSE_DIGEST, /* the extra of this name */
    DX_COLLAPSE_TIME,   /* the first digits of YYYYMMDDhhmmss, UTC */
    DX_COLLAPSE_COUNT
};

#define DX_COLLAPSE_DIGITS_MIN 4
#define DX_COLLAPSE_DIGITS_MAX 14

struct dx_collapse_of {
    struct dx_span host, path_query;
    const int64_t *ts_us;  /* NULL: no time */
    struct dx_span digest; /* data NULL: none */
};

bool dx_collapse_parse(struct dx_span text, enum dx_collapse *kind, unsigned *digits);
bool dx_collapse_value(enum dx_collapse kind, unsigned digits, const struct dx_collapse_of *row,
                       struct dx_buf *value);
bool dx_collapse_sum(struct dx_span value, uint8_t sum[DX_CURSOR_VALUE]);

struct dx_collapse_last {
    bool has_value;
    bool is_sum; /* of the value, as cursors have it */
    struct dx_buf value;
};

void dx_collapse_last_init(struct dx_collapse_last *l, size_t bytes_max);
void dx_collapse_last_go_on(struct dx_collapse_last *l, const uint8_t sum[DX_CURSOR_VALUE]);
int dx_collapse_last_like(const struct dx_collapse_last *l, bool has_value, struct dx_span value,
                          struct dx_error *err);
int dx_collapse_last_take(struct dx_collapse_last *l, bool has_value, struct dx_span value,
                          struct dx_error *err);
int dx_collapse_last_put(const struct dx_collapse_last *l, struct dx_cursor_position *p,
                         struct dx_error *err);
void dx_collapse_last_release(struct dx_collapse_last *l);

#endif
