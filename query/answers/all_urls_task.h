/* SPDX-License-Identifier: Apache-2.0
 * all_urls_task.h - the task of a listing of a domain or host over its datasets; for answer_all_urls.c, which lists them as they are
 * stored, and merged_urls.c, which lists them in another order.
 *
 *   rc = dx_merged_urls_begin(task, &err);                      MERGED: once
 *   rc = dx_merged_urls_page(task, &j, &err);                   the members of its page
 *   dx_all_urls_dataset(task, dataset_id, &j);                  a dataset of the page, as an object
 *   rc = dx_all_urls_cursor(task, next, end, has_kept, position, &j, &err);    a cursor, as a text
 *
 *   WINDOW     rows by number: any offset
 *   FILTERED   rows that a filter takes, found one after the other
 *   MERGED     rows in another order
 *
 * Rows of one host are found before: `rows` then has the places of that host alone. A task is for one thread at a time.
 */
#ifndef DX_QUERY_ANSWERS_ALL_URLS_TASK_H
#define DX_QUERY_ANSWERS_ALL_URLS_TASK_H

#include "base/json_out.h"
#include "query/answers/host_range.h"
#include "query/answers/item_text.h"
#include "query/answers/task_kind.h"
#include "query/scan/filtered_domain.h"
#include "query/scan/merged_page.h"
#include "query/scan/row_bounds.h"
#include "query/suppression/suppression_view.h"
#include "query/view/dataset_list.h"
#include "query/view/view.h"

enum all_urls_mode { ALL_URLS_WINDOW, ALL_URLS_FILTERED, ALL_URLS_MERGED };

struct all_urls_task {
    struct dx_task task;
    enum all_urls_mode mode;
    bool bounding, searching; /* which rows the range has is being looked for */
    struct dx_view view;
    struct dx_found found;
    struct dx_all_urls_ask ask;
    struct dx_cursor from; /* of ask */
    struct dx_suppression_view withheld;
    struct dx_dataset_list only; /* count 0: all datasets */
    struct dx_domain_rows rows;
    uint64_t withheld_rows;
    uint64_t counts_only; /* datasets that are left out, as they have counts only */
    struct dx_host_range host;
    struct dx_url_range range;
    uint64_t range_hash;           /* 0: all of the domain */
    struct dx_row_filter rest;     /* of the filter: what the range does not say */
    struct dx_row_regexes regexes; /* of the filter */
    struct dx_cache_key bounds;    /* of what it finds */
    uint64_t offset, end;          /* visible rows */
    uint16_t filter_size;          /* packed, for cursors: all of it; 0: none */
    uint8_t filter[DX_ROW_FILTER_MAX];

    /* What follows is large, of one way of answering alone, and not zeroed before that begins. */
    struct dx_row_streams streams; /* of bounding */
    struct dx_merged_page merged;  /* of a page in another order */

    /* Of a filtered page, whose items are written as they are found. */
    struct dx_filtered_domain filtered;
    struct dx_buf items, datasets;
    struct dx_json items_json, datasets_json; /* into them */
    struct dx_item_text text;
};

/* Of answer_all_urls.c. position: of an order; else NULL. */
int dx_all_urls_cursor(const struct all_urls_task *task, struct dx_domain_rows_place next,
                       struct dx_domain_rows_place end, bool has_kept,
                       const struct dx_cursor_position *position, struct dx_json *j,
                       struct dx_error *err);
void dx_all_urls_dataset(const struct all_urls_task *task, uint32_t dataset_id, struct dx_json *j);

/* Of merged_urls.c. */
int dx_merged_urls_begin(struct all_urls_task *task, struct dx_error *err);
int dx_merged_urls_page(struct all_urls_task *task, struct dx_json *j, struct dx_error *err);

#endif
