/* SPDX-License-Identifier: Apache-2.0
 * tag_page.h - what the two answers about tags have in common, and that about TLDs: their questions
 * and their cursors.
 *
 *   rc = dx_tag_page_begin(&p, &view, from, one_dataset, dataset_id, &problem);      1, or as query/answers/answer.h
 *   dx_tag_page_place(&p, &cursor);                                            puts in what the two have in common
 *   rc = dx_tag_page_cursor(&cursor, cursors, principal, &j, &err);            a value
 *
 * cursor: kind, tag_hash, rows, fields, limit, began_s, next_row, end_row and next_file; the rest
 * is put in. A page is for one thread at a time.
 */
#ifndef DX_QUERY_ANSWERS_TAG_PAGE_H
#define DX_QUERY_ANSWERS_TAG_PAGE_H

#include "query/rows/cursor.h"
#include "query/view/view.h"

struct dx_dataset;
struct dx_json;

struct dx_tag_page {
    struct dx_view view;
    const struct dx_dataset *dataset; /* that alone; NULL: all that the view shows */
    bool goes_on;
    struct dx_cursor from; /* if it goes on */
};

int dx_tag_page_begin(struct dx_tag_page *p, const struct dx_view *view,
                      const struct dx_cursor *from, bool one_dataset, uint32_t dataset_id,
                      struct dx_problem *problem);
void dx_tag_page_place(const struct dx_tag_page *p, struct dx_cursor *cursor);
int dx_tag_page_cursor(const struct dx_cursor *cursor, const struct dx_cursor_key *cursors,
                       const char *principal, struct dx_json *j, struct dx_error *err);

/* "dataset_id" and "dataset", if it is of one. */
void dx_tag_page_head(const struct dx_tag_page *p, struct dx_json *j);
/* NULL: the dataset of a file is not registered: DX_E_CORRUPT. */
const struct dx_dataset *dx_tag_page_dataset(const struct dx_tag_page *p, uint32_t dataset_id,
                                             struct dx_error *err);
int dx_tag_page_mismatch(const char *what, struct dx_problem *problem); /* 0 */

#endif
