/* SPDX-License-Identifier: Apache-2.0
 * cdx_filter.h - filter=[!][=~]field:text of a CDX server.
 *
 *   rc = dx_cdx_filters_init(&f, ask, &problem);      1; 0: one that cannot be, and why; <0
 *   rc = dx_cdx_filters_take(&f, columns, &err);      all of them take the row: 1, 0; <0: an expression takes too much
 *   dx_cdx_filters_release(&f);                       also after a failure
 *
 *            Wayback                                pywb
 *   text     a regular expression of the whole value  the value contains it
 *   =text    the value equals it                    the same
 *   ~text    the value contains it                  a regular expression that matches from the beginning
 *   !        in front: those that do not match      the same
 *   no ':'   refused                                of the whole line of a CDXJ file
 *
 * Wayback's has "~!" too. Of a row without a value it is "-" for Wayback, and empty for pywb. One thread at a time.
 */
#ifndef DX_QUERY_CDX_CDX_FILTER_H
#define DX_QUERY_CDX_CDX_FILTER_H

#include "base/buf.h"
#include "query/cdx/cdx_ask.h"
#include "query/view/regex.h"

/* Of the regexes of a question, which looks at up to DX_CDX_LOOK_MAX rows: 5 s, and half of a request's time if they are slow. */
#define DX_CDX_REGEX_STEPS (256u << 20)

struct dx_problem;

struct dx_cdx_filter {
    bool inverted, contains;
    bool whole_line;
    enum dx_cdx_column column;
    struct dx_span text;
    struct dx_regex *regex; /* NULL: text is compared */
};

struct dx_cdx_filters {
    const struct dx_cdx_ask *ask;
    struct dx_cdx_filter list[DX_CDX_FILTERS_MAX];
    size_t count;
    struct dx_regex_work work; /* of all regexes: it stays where it is */
    struct dx_buf line;
};

int dx_cdx_filters_init(struct dx_cdx_filters *f, const struct dx_cdx_ask *ask,
                        struct dx_problem *problem);
int dx_cdx_filters_take(struct dx_cdx_filters *f, const struct dx_span *columns,
                        struct dx_error *err);
void dx_cdx_filters_release(struct dx_cdx_filters *f);

#endif
