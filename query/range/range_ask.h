/* SPDX-License-Identifier: Apache-2.0
 * range_ask.h - what the questions about the rows of many domains have in common; and GET /v1/range.
 *
 *   rc = dx_task_numbers(&view, &ask, &task, &body, &problem);         as query/answers/task.h
 *
 * /v1/range: the rows whose domain64 is in [first, end), by number of their domain, then dataset, then as listings go. A page may be
 * short, and even empty, and go on all the same: what a request may look at is bounded.
 *
 * With an order, and of /v1/range with an offset, all rows are read for each page (query/range/range_price.h), and counted: the answer has
 * their total.
 */
#ifndef DX_QUERY_RANGE_RANGE_ASK_H
#define DX_QUERY_RANGE_RANGE_ASK_H

#include "query/answers/task.h"

struct dx_range_ask {
    bool one_dataset; /* of dataset_id alone */
    uint32_t dataset_id;
    uint64_t limit;
    uint64_t offset;           /* rows to leave out; not with a filter or an order */
    struct dx_url_order order; /* of a cursor: its own */
    unsigned fields;
    unsigned plan;               /* so many cursors instead of rows; 0: rows */
    struct dx_row_filter filter; /* of a cursor: its own */
    struct dx_paging paging;
    uint64_t look_max;    /* domains that it may examine; 0: the usual cap */
    uint64_t deadline_ms; /* as in query/answers/task.h */
};

struct dx_numbers_ask {
    uint64_t first;                   /* of a cursor: its own */
    uint64_t end;                     /* 0: beyond all */
    struct dx_domain64_live *numbers; /* NULL: there are none. Until free */
    struct dx_range_ask page;
};

int dx_task_numbers(const struct dx_view *view, const struct dx_numbers_ask *ask,
                    struct dx_task **task, struct dx_buf *body, struct dx_problem *problem);

#endif
