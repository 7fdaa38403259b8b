/* SPDX-License-Identifier: Apache-2.0
 * cdx_select.h - the first rows in order of (urlkey, timestamp) of any number that come in any order.
 *
 *   struct dx_cdx_select s;
 *   dx_cdx_select_init(&s, keep, DX_CDX_SELECT_BYTES);                 so many rows at most
 *   dx_cdx_select_from(&s, &key);                                      only those that are not before those like the row of the key
 *   dx_cdx_select_is_behind(&s, urlkey)                                whether no row with this key or a later one would be kept
 *   dx_cdx_select_is_before(&s, urlkey)                                whether no row with an earlier key would be
 *   rc = dx_cdx_select_add(&s, columns, timestamp, number, &err);      columns: DX_CDX_STORED of them, copied
 *   rc = dx_cdx_select_trim(&s, &err);                                 at any time: it keeps no more than it has to, and is_behind knows
 *   rc = dx_cdx_select_end(&s, &err);                                  sorts
 *   for (i = 0; i < s.count; i++)                                      in order; columns are borrowed
 *       timestamp = dx_cdx_select_row(&s, i, columns);
 *   s.cut                                                              there are more behind the last one
 *   rc = dx_cdx_select_again(&s, &err);                                what comes now lies behind the last one
 *   rc = dx_cdx_select_behind(&s, bound, &err);                        or has keys behind this, which no row has
 *   dx_cdx_select_release(&s);
 *
 * s.group may be set between rows, to a number not below the one before: it comes before all else in the order.
 *
 * Rows of one (urlkey, timestamp) are in order of their other columns, then of their number, which is another for each row. Memory: what is kept,
 * at most DX_CDX_SELECT_BYTES, and half of it more while it is cut: then the first ones are kept, and `cut` says that there
 * are others. One thread at a time.
 */
#ifndef DX_QUERY_CDX_CDX_SELECT_H
#define DX_QUERY_CDX_CDX_SELECT_H

#include "base/buf.h"
#include "query/cdx/cdx_key.h"

#define DX_CDX_SELECT_BYTES ((size_t)32 << 20)

struct dx_cdx_entry {
    uint64_t group;
    uint64_t timestamp;
    uint64_t number;
    size_t at; /* in text: ends of its columns, then their bytes */
};

struct dx_cdx_select {
    size_t count;
    bool cut;
    uint64_t group; /* of rows that come */
    uint64_t keep;

    /* private */
    size_t bytes_max;
    struct dx_cdx_entry *entries;
    size_t capacity;
    size_t
        bound; /* the number of those that were sorted last, if something was cut then; 0: nothing was */
    struct dx_buf text;
    /* what lies before is not taken */
    bool from_set, after_row, from_rest;
    struct dx_buf from_key,
        from_text;      /* of the whole row, after_row: as in text; from_rest: of the key */
    struct dx_buf rest; /* of the row at hand */
    uint64_t from_timestamp, from_number, from_group;
};

void dx_cdx_select_init(struct dx_cdx_select *s, uint64_t keep, size_t bytes_max);
void dx_cdx_select_from(struct dx_cdx_select *s, const struct dx_cdx_key *key);
bool dx_cdx_select_is_behind(const struct dx_cdx_select *s, struct dx_span urlkey);
bool dx_cdx_select_is_before(const struct dx_cdx_select *s, struct dx_span urlkey);
int dx_cdx_select_add(struct dx_cdx_select *s, const struct dx_span *columns, uint64_t timestamp,
                      uint64_t number, struct dx_error *err);
int dx_cdx_select_trim(struct dx_cdx_select *s, struct dx_error *err);
int dx_cdx_select_end(struct dx_cdx_select *s, struct dx_error *err);
uint64_t dx_cdx_select_row(const struct dx_cdx_select *s, size_t i, struct dx_span *columns);
int dx_cdx_select_again(struct dx_cdx_select *s, struct dx_error *err);
int dx_cdx_select_behind(struct dx_cdx_select *s, struct dx_span bound, struct dx_error *err);
void dx_cdx_select_release(struct dx_cdx_select *s);

#endif
