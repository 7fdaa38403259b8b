/* SPDX-License-Identifier: Apache-2.0 */
#include "query/answers/all_urls_task.h"
#include "query/answers/answer_end.h"

#include <stdlib.h>

static enum dx_merged_order order_of(enum dx_cursor_sort sort)
{
    return sort == DX_CURSOR_SORT_TIME      ? DX_MERGED_TIME
           : sort == DX_CURSOR_SORT_CLOSEST ? DX_MERGED_CLOSEST
                                            : DX_MERGED_URL;
}

int dx_merged_urls_begin(struct all_urls_task *task, struct dx_error *err)
{
    const struct dx_url_order *o = &task->ask.order;
    const struct dx_cursor *from = task->ask.paging.from;
    struct dx_merged_ask ask = {
        .order = order_of(o->sort),
        .reverse = o->reverse,
        .closest_us = o->closest_us,
        .collapse = (enum dx_collapse)o->collapse,
        .collapse_digits = o->digits,
        .range = task->range,
        .filter = task->rest,
        .limit = task->ask.page.limit,
        .fields = task->ask.fields,
    };

    ask.filter.below = dx_span_of(NULL, 0); /* the range says it */
    if (from != NULL) {
        ask.goes_on = true;
        ask.has_kept = from->has_kept;
        ask.after = (struct dx_domain_rows_place){ from->next_dataset, from->next_row };
        ask.kept = (struct dx_domain_rows_place){ from->end_dataset, from->end_row };
        ask.position = &from->position;
    }
    task->mode = ALL_URLS_MERGED;
    return dx_merged_page_init(&task->merged, &task->rows, &ask, err);
}

/* Id and name of the datasets that the items of the page are of. */
static int write_datasets(const struct all_urls_task *task, struct dx_json *j, struct dx_error *err)
{
    const struct dx_domain_rows *rows = &task->rows;
    bool *has = calloc(rows->pair_count + 1, sizeof *has);

    if (has == NULL)
        return dx_no_memory(err, "answer");
    dx_merged_page_pairs(&task->merged, has);
    dx_json_key(j, "datasets");
    dx_json_array(j);
    for (size_t i = 0; i < rows->pair_count; i++)
        if (has[i])
            dx_all_urls_dataset(task, rows->pairs[i].dataset_id, j);
    dx_json_end(j);
    free(has);
    return DX_OK;
}

struct writer {
    struct dx_item_text items;
    bool any;
    uint32_t dataset_id;
};

static int write_row(void *ctx, uint32_t dataset_id, const struct dx_listing_row *row,
                     struct dx_error *err)
{
    struct writer *w = ctx;

    if (!w->any || w->dataset_id != dataset_id)
        dx_item_text_dataset(&w->items, dataset_id);
    w->any = true;
    w->dataset_id = dataset_id;
    return dx_item_text_write(&w->items, row, err);
}

int dx_merged_urls_page(struct all_urls_task *task, struct dx_json *j, struct dx_error *err)
{
    const struct dx_merged_found *m = &task->merged.found;
    struct dx_cursor_position position;
    struct writer w = { .any = false };
    int rc = write_datasets(task, j, err);

    if (rc < 0)
        return rc;
    dx_json_key(j, "items");
    dx_json_array(j);
    dx_item_text_init(&w.items, j, task->ask.fields, task->view.version);
    rc = dx_merged_page_each(&task->merged, write_row, &w, err);
    dx_item_text_release(&w.items);
    dx_json_end(j);
    dx_answer_cost(j, task->view.version, m->rows_seen, m->pages_seen, m->bytes_seen);
    dx_json_key(j, "next_cursor");
    if (rc == DX_OK && m->more)
        rc = dx_merged_page_position(&task->merged, &position, err);
    if (rc == DX_OK && m->more)
        return dx_all_urls_cursor(task, m->last, m->kept, m->has_kept, &position, j, err);
    dx_json_null(j);
    return rc;
}
