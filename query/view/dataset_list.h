/* SPDX-License-Identifier: Apache-2.0
 * dataset_list.h - the datasets that a parameter names: "3,crawl-2024,name:7".
 *
 *   rc = dx_dataset_list_parse(&list, &view, text, &problem);     1; 0: a word names no dataset
 *   dx_dataset_list_has(&list, dataset_id)
 *
 * Ids or names with commas between them. A word of digits is an id; "id:3" and "name:7" say which is meant. A dataset
 * whose name has a comma is named by its id. Kept are the ids, ascending, each once. One that the view does not show is
 * answered like one that does not exist. Plain value; any thread.
 */
#ifndef DX_QUERY_VIEW_DATASET_LIST_H
#define DX_QUERY_VIEW_DATASET_LIST_H

#include "base/bytes.h"

#define DX_DATASET_LIST_MAX 64 /* a cursor holds them */

struct dx_problem;
struct dx_view;

struct dx_dataset_list {
    uint32_t ids[DX_DATASET_LIST_MAX];
    size_t count;
};

int dx_dataset_list_parse(struct dx_dataset_list *list, const struct dx_view *view,
                          struct dx_span text, struct dx_problem *problem);
/* The next word of a list; *rest moves behind the comma that follows, and has no data when none does. */
struct dx_span dx_dataset_list_word(struct dx_span *rest);
/* One word of a list: 1 with its id, or 0 with the problem; listed: there are others, so that a comma may be one of a name. */
int dx_dataset_list_find(const struct dx_view *view, struct dx_span word, bool listed, uint32_t *id,
                         struct dx_problem *problem);
/* The same of one that stands alone. */
int dx_dataset_find(const struct dx_view *view, struct dx_span word, uint32_t *id,
                    struct dx_problem *problem);
bool dx_dataset_list_has(const struct dx_dataset_list *list, uint32_t dataset_id);

#endif
