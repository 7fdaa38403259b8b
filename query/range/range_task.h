/* SPDX-License-Identifier: Apache-2.0
 * range_task.h - what GET /v1/suffix/{suffix}/urls and GET /v1/range have in common: a page of the rows of a range as JSON, or a plan.
 *
 *   struct suffix_task { struct dx_range_task of; ... };                        the first member of the task of a question
 *   rc = dx_range_task_init(&task->of, &question, &view, &ask, &problem);       1; before all else: release may follow from then on
 *   task->of.what.suffix = ...;                                                 or .numbers and .range; the rest of `what` is set
 *   rc = dx_range_task_begin(&task->of, body, &problem);                        as a step
 *   return dx_task_begun(&task->of.task, rc, out);
 *
 * The filter of ask is copied. Where a cursor goes on, and before which domain it ends, is what it says. One thread at a time.
 */
#ifndef DX_QUERY_RANGE_RANGE_TASK_H
#define DX_QUERY_RANGE_RANGE_TASK_H

#include "base/json_out.h"
#include "query/answers/item_text.h"
#include "query/answers/tag_page.h"
#include "query/answers/task_kind.h"
#include "query/range/order_page.h"
#include "query/range/range_ask.h"
#include "query/range/range_price.h"
#include "query/range/range_row.h"

struct dx_range_task;

/* What the two questions have of their own. */
struct dx_range_question {
    enum dx_cursor_kind cursor;
    /* Members of the answer before its rows. */
    void (*head)(const struct dx_range_task *task, struct dx_json *j);
    /* What a cursor of the question has beside what is set already. */
    void (*put)(const struct dx_range_task *task, struct dx_cursor *c);
    /* Of a plan: where its ask.plan parts begin, and where the last one ends. */
    int (*split)(struct dx_range_task *task, uint64_t bounds[DX_PLAN_MAX + 1],
                 struct dx_error *err);
    /* Makes a cursor that of the part between two of these. */
    void (*part)(struct dx_cursor *c, uint64_t first, uint64_t end);
    /* Whether what was read may be believed; NULL: yes. */
    int (*check)(const struct dx_range_task *task, struct dx_error *err);
    /* What it holds beside the task, which it frees; NULL: nothing. */
    void (*release)(struct dx_range_task *task);
};

struct dx_range_task {
    struct dx_task task;
    const struct dx_range_question *question;
    struct dx_tag_page page;
    struct dx_range_ask ask;
    struct dx_range_what what;

    /* private */
    unsigned state;
    uint64_t line; /* of suppressions, that all rows were read by */
    uint64_t turn; /* of them likewise, where pages in an order are kept; odd: none are */
    uint8_t names[DX_SHA256_SIZE]; /* the question of such pages */
    struct dx_order_page ordered;  /* the page */
    struct dx_range_price price;   /* where all are read: before */
    struct dx_range_row_at after;  /* then the row that an order goes on behind */
    struct dx_range_order order;
    uint64_t total;                       /* where all are read */
    bool has_next;                        /* with an offset: of the row behind the page */
    struct dx_range_place next;           /* its place; or */
    const struct dx_range_order_at *last; /* of the page in an order; NULL: no rows follow it */
    uint64_t written;                     /* rows of that page that the answer has */
    struct dx_listing_row row;            /* 2 kB that are not on a stack */
    uint16_t filter_size;                 /* packed, for cursors; 0: none */
    uint8_t filter[DX_ROW_FILTER_MAX];
    struct dx_row_regexes regexes; /* of it */
    struct dx_range_rows rows;
    struct dx_buf items;
    struct dx_json json; /* into items */
    struct dx_item_text text;
};

int dx_range_task_init(struct dx_range_task *task, const struct dx_range_question *question,
                       const struct dx_view *view, const struct dx_range_ask *ask,
                       struct dx_problem *problem);
int dx_range_task_begin(struct dx_range_task *task, struct dx_buf *body,
                        struct dx_problem *problem);

#endif
