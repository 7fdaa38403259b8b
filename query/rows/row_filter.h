/* SPDX-License-Identifier: Apache-2.0
 * row_filter.h - which rows of a URL listing are asked for: by tag, media type, path, time, status, language, an extra.
 *
 *   struct dx_row_filter f = { .tag = dx_span_str("news"), .mime = dx_span_str("text/" "*") };
 *   rc = dx_row_filter_check(&f, &problem);                1; 0: a value that can be none. Also sets what is private
 *   rc = dx_row_filter_compile(&f, &regexes, &problem);    1; before rows are looked at
 *   rc = dx_row_filter_takes(&f, &row, &scratch, &err)     1, 0, <0: of a row with dx_row_filter_fields(&f) and _extras
 *   dx_row_filter_side(&f, host, path_query)               where a path stands to the prefix
 *
 *   tag      one of the strings of the row's `tags`, a JSON array; equal byte by byte
 *   mime     the row's `content_type` without parameters; ASCII case does not count; "text/" and a star
 *            takes all of that type
 *   prefix   what the row's canonical path and query begin with, byte by byte
 *   from, to the row's time: not before the first moment of `from`, not behind the last one of `to`
 *            (query/rows/time_words.h)
 *   status   the row's `status`, byte by byte
 *   lang     the row's `language`, or one of those of `languages` with commas between; ASCII case does not count
 *   terms    up to DX_ROW_FILTER_TERMS, as query/rows/row_term.h has them
 *
 * All that are given must hold. A row without the column, or with a null in it, does not match but where said otherwise; nor
 * does one whose tags are not an array of strings. What rules may hide in a row that is shown (requested_url, locator) cannot
 * be filtered by. Spans are borrowed.
 *
 *   n = dx_row_filter_pack(&f, bytes);                     0: no filter. One text for each filter
 *   ok = dx_row_filter_unpack(span, &f);                   f borrows from it, and is checked; false: not packed by us
 *
 * Pure; any thread.
 */
#ifndef DX_QUERY_ROWS_ROW_FILTER_H
#define DX_QUERY_ROWS_ROW_FILTER_H

#include "base/bytes.h"
#include "query/view/regex.h"

#define DX_ROW_FILTER_TERMS 4
#define DX_ROW_FILTER_MAX 528  /* bytes, packed: a cursor holds them */
#define DX_ROW_FILTER_TEXT 500 /* bytes of all its values, as docs/API.md says */

struct dx_buf;
struct dx_listing_row;
struct dx_error;
struct dx_problem;
struct dx_row_number;

struct dx_row_regexes {
    struct dx_regex_work work;                /* of all */
    struct dx_regex *of[DX_ROW_FILTER_TERMS]; /* NULL: a plain term */
};

struct dx_row_filter {
    struct dx_span tag, mime, prefix; /* data NULL: not asked */
    struct dx_span from, to, status, lang;
    struct dx_span terms[DX_ROW_FILTER_TERMS]; /* those that are asked come first */

    /* Only rows of this host, with whatever port, or of one below it. Not packed: the caller that unpacks sets it again. */
    struct dx_span below;
    /* Likewise: borrowed, of dx_row_filter_compile. One thread at a time. */
    const struct dx_row_regexes *regexes;
    /* Only rows with a number in its range (query/rows/row_number.h); NULL: all. Likewise. */
    struct dx_row_number *numbers;

    /* private */
    int64_t from_us, to_us; /* times [from_us, to_us) */
};

#define DX_ROW_FILTER_EXTRAS (3 + DX_ROW_FILTER_TERMS) /* that one may look at */

bool dx_row_filter_any(const struct dx_row_filter *f);
/* Sets what is not packed, of one that was packed. */
static inline void dx_row_filter_lend(struct dx_row_filter *f, const struct dx_row_filter *packed)
{
    f->below = packed->below;
    f->regexes = packed->regexes;
    f->numbers = packed->numbers;
}
static inline bool dx_row_filter_times(const struct dx_row_filter *f)
{
    return f->from.data != NULL || f->to.data != NULL;
}

/* Whether it asks for times, and for nothing else. */
bool dx_row_filter_is_times(const struct dx_row_filter *f);
static inline bool dx_row_filter_has_time(const struct dx_row_filter *f, bool has_ts, int64_t ts_us)
{
    return has_ts && ts_us >= f->from_us && ts_us < f->to_us;
}

int dx_row_filter_check(struct dx_row_filter *f, struct dx_problem *problem);

/* 1, 0: one cannot be compiled, <0. Sets f->regexes; to be released in each case. */
int dx_row_filter_compile(struct dx_row_filter *f, struct dx_row_regexes *r,
                          struct dx_problem *problem);
void dx_row_regexes_release(struct dx_row_regexes *r);

/* DX_FIELD_..., that it looks at. */
unsigned dx_row_filter_fields(const struct dx_row_filter *f);
/* Names of extras that it looks at besides; borrowed from it. How many. */
size_t dx_row_filter_extras(const struct dx_row_filter *f,
                            struct dx_span names[DX_ROW_FILTER_EXTRAS]);
/* Whether rows of which the first and the last time are these may match. */
bool dx_row_filter_may_take(const struct dx_row_filter *f, bool has_ts, int64_t first_us,
                            int64_t last_us);

/* scratch: has room for the longest string of a row's tags, else the row is taken for one without
 * an array of strings; what is in it goes. <0: the expressions take too much. */
int dx_row_filter_takes(const struct dx_row_filter *f, const struct dx_listing_row *row,
                        struct dx_buf *scratch, struct dx_error *err);

/* Whether its expressions have taken so many steps that a page ends. */
static inline bool dx_row_filter_is_enough(const struct dx_row_filter *f)
{
    return f->regexes != NULL && dx_regex_work_is_enough(&f->regexes->work);
}

/* Paths of a host in byte order: some before the prefix, then those with it, then some behind.
 * Without a prefix all are within. Of a host that is not below f->below all are behind. */
enum dx_row_side { DX_ROW_BEFORE = -1, DX_ROW_WITHIN = 0, DX_ROW_BEHIND = 1 };

enum dx_row_side dx_row_filter_side(const struct dx_row_filter *f, struct dx_span host,
                                    struct dx_span path_query);
/* Whether some rows of a host, or all of one, are outside: a search goes on behind them. */
static inline bool dx_row_filter_skips(const struct dx_row_filter *f)
{
    return f->prefix.data != NULL || f->below.data != NULL;
}

/* Whether the host, less its port, is `of` or below it. */
bool dx_host_below(struct dx_span host, struct dx_span of);

size_t dx_row_filter_pack(const struct dx_row_filter *f, uint8_t out[DX_ROW_FILTER_MAX]);
bool dx_row_filter_unpack(struct dx_span packed, struct dx_row_filter *f);

#endif
