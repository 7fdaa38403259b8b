/* SPDX-License-Identifier: Apache-2.0
 * cdx_sequence.h - which of the rows that come in order go into a CDX answer: by page, resumeKey, revisits, filters, time, collapse.
 *
 *   rc = dx_cdx_sequence_init(&q, ask, &problem);          1; 0: a filter or resumeKey that cannot be; <0
 *   dx_cdx_sequence_takes_early(&q)                        whether filters and times may be looked at before rows are in order
 *   rc = dx_cdx_sequence_early(&q, columns, timestamp, &err);          then: 1 it may be in the answer, 0
 *   rc = dx_cdx_sequence_row(&q, columns, timestamp, &err);            each of the others, in order: 1 goes into the answer, 0
 *   q.place                                                 of the row that came last: for resumeKey
 *   dx_cdx_sequence_release(&q);                            also after a failure
 *
 * As pywb does it: revisits first, then filters, then times, then collapse, each by what is left. A page is a stretch of the rows of the
 * scope, before all that. One thread at a time.
 */
#ifndef DX_QUERY_CDX_CDX_SEQUENCE_H
#define DX_QUERY_CDX_CDX_SEQUENCE_H

#include "query/cdx/cdx_filter.h"
#include "query/cdx/cdx_key.h"
#include "query/cdx/cdx_revisits.h"

/* What the row before had; bytes are of no use while `any` is false. */
struct dx_cdx_token {
    bool any;
    struct dx_buf bytes;
};

struct dx_cdx_place {
    struct dx_buf urlkey;
    uint64_t timestamp;
    struct dx_buf rest; /* of its other columns, as a resumeKey has it */
    uint64_t count;     /* rows of this key, timestamp and rest so far */
};

struct dx_cdx_sequence {
    struct dx_cdx_place place;

    /* private */
    const struct dx_cdx_ask *ask;
    struct dx_cdx_filters filters;
    struct dx_cdx_revisits revisits;
    struct dx_cdx_token tokens[DX_CDX_COLLAPSES_MAX + 1]; /* the last one is collapseTime's */
    struct dx_cdx_key resume;
    uint64_t resumed;   /* rows so far that are like the one that resume names */
    struct dx_buf rest; /* of the row at hand */
    uint64_t rank;      /* rows so far */
};

int dx_cdx_sequence_init(struct dx_cdx_sequence *q, const struct dx_cdx_ask *ask,
                         struct dx_problem *problem);
bool dx_cdx_sequence_takes_early(const struct dx_cdx_sequence *q);
int dx_cdx_sequence_early(struct dx_cdx_sequence *q, const struct dx_span *columns,
                          uint64_t timestamp, struct dx_error *err);
int dx_cdx_sequence_row(struct dx_cdx_sequence *q, struct dx_span *columns, uint64_t timestamp,
                        struct dx_error *err);
void dx_cdx_sequence_release(struct dx_cdx_sequence *q);

#endif
