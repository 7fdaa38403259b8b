/* SPDX-License-Identifier: Apache-2.0 */
#include "query/suffix/answer_suffix.h"

#include <stdlib.h>

#include "base/id_hash.h"
#include "base/json_out.h"
#include "loader/version.h"
#include "query/answers/answer_end.h"
#include "query/answers/item_text.h"
#include "query/answers/tag_page.h"
#include "query/answers/task_kind.h"
#include "query/suffix/suffix_name.h"
#include "query/suffix/suffix_rows.h"

#define ITEMS_MAX ((size_t)64 << 20)   /* bytes of the items of a page */
#define ITEMS_ENOUGH ((size_t)8 << 20) /* a page that comes to it ends */

struct suffix_task {
    struct dx_task task;
    struct dx_tag_page of; /* the question */
    struct dx_suffix_urls_ask ask;
    struct dx_suffix_name name;
    uint16_t filter_size; /* packed, for cursors; 0: none */
    uint8_t filter[DX_ROW_FILTER_MAX];
    struct dx_row_regexes regexes; /* of it */
    struct dx_suffix_rows rows;
    struct dx_buf items;
    struct dx_json json; /* into items */
    struct dx_item_text text;
};

/* ---- items ---- */

static int take_row(void *ctx, const struct dx_suffix_row *row, struct dx_error *err)
{
    struct suffix_task *task = ctx;
    struct dx_json *j = &task->json;
    int rc;

    dx_json_object(j);
    rc = dx_item_text_members(&task->text, row->row, err);
    dx_json_key(j, "domain");
    dx_json_text(j, row->domain);
    dx_json_key_u64(j, "dataset_id", row->dataset_id);
    dx_json_end(j);
    if (rc == DX_OK && task->items.failed)
        rc = dx_buf_fail(&task->items, err, "answer");
    return rc < 0 ? rc : task->items.size >= ITEMS_ENOUGH;
}

/* ---- the answer ---- */

static int write_cursor(const struct suffix_task *task, struct dx_json *j, struct dx_error *err)
{
    struct dx_cursor c = { .kind = DX_CURSOR_SUFFIX_URLS,
                           .began_s = task->ask.paging.began_s,
                           .limit = (uint32_t)task->ask.limit,
                           .fields = task->ask.fields,
                           .tag_hash = dx_id64(task->name.suffix),
                           .next_number = task->rows.next.number,
                           .next_dataset = task->rows.next.at.dataset_id,
                           .next_row = task->rows.next.at.row,
                           .filter_size = task->filter_size };

    memcpy(c.filter, task->filter, task->filter_size);
    dx_tag_page_place(&task->of, &c);
    return dx_tag_page_cursor(&c, task->ask.paging.cursors, task->ask.paging.principal, j, err);
}

static int write_answer(struct suffix_task *task, struct dx_buf *body, struct dx_error *err)
{
    const struct dx_suffix_rows *rows = &task->rows;
    struct dx_json j;
    int rc = DX_OK;

    dx_json_end(&task->json);
    dx_json_open(&j, body);
    dx_json_object(&j);
    dx_suffix_name_json(&task->name, &j);
    dx_tag_page_head(&task->of, &j);
    dx_json_key(&j, "items");
    dx_json_number(&j, dx_span_of(task->items.data, task->items.size));
    if (task->filter_size > 0)
        dx_answer_cost(&j, task->of.view.version, rows->rows_seen, rows->pages_seen,
                       rows->bytes_seen);
    dx_json_key(&j, "next_cursor");
    if (rows->more)
        rc = write_cursor(task, &j, err);
    else
        dx_json_null(&j);
    dx_answer_end(&j, task->of.view.version);
    if (task->items.failed)
        return dx_buf_fail(&task->items, err, "answer");
    return rc == DX_OK && body->failed ? dx_buf_fail(body, err, "answer") : rc;
}

/* ---- the task ---- */

static int step(struct dx_task *of, struct dx_buf *body, struct dx_problem *problem)
{
    struct suffix_task *task = (struct suffix_task *)of;
    struct dx_error err = DX_ERROR_INIT;
    int rc = dx_suffix_rows_step(&task->rows, problem);

    if (rc != 1 || write_answer(task, body, &err) == DX_OK)
        return rc;
    dx_buf_clear(body);
    return dx_problem_of_error(problem, &err);
}

static int fetched(struct dx_task *of, int rc, struct dx_error *err)
{
    return dx_suffix_rows_fetched(&((struct suffix_task *)of)->rows, rc, err);
}

static struct dx_read_batch *reading(struct dx_task *of)
{
    return dx_suffix_rows_reading(&((struct suffix_task *)of)->rows);
}

static void release(struct dx_task *of)
{
    struct suffix_task *task = (struct suffix_task *)of;

    dx_suffix_rows_release(&task->rows);
    dx_item_text_release(&task->text);
    dx_buf_release(&task->items);
    dx_row_regexes_release(&task->regexes);
    free(task);
}

static const struct dx_task_kind kind = { step, fetched, reading, release };

/* ---- before it ---- */

static int begin(struct suffix_task *task, const struct dx_view *view, struct dx_problem *problem)
{
    const struct dx_cursor *from = &task->of.from;
    const struct dx_suffix_what what = { .suffix = task->name.suffix,
                                         .dataset = task->of.dataset,
                                         .filter = task->ask.filter,
                                         .fields = task->ask.fields,
                                         .limit = task->ask.limit,
                                         .look_max = task->ask.look_max,
                                         .deadline_ms = task->ask.deadline_ms };
    struct dx_error err = DX_ERROR_INIT;

    if (task->of.goes_on && (from->tag_hash != dx_id64(task->name.suffix) ||
                             from->next_number >= view->version->numbers))
        return dx_tag_page_mismatch("another suffix", problem);
    if (dx_suffix_rows_init(&task->rows, view, &what, take_row, task, &err) < 0)
        return dx_problem_of_error(problem, &err);
    task->rows.goes_on = task->of.goes_on;
    task->rows.next = (struct dx_suffix_place){ from->next_number,
                                                { from->next_dataset, from->next_row } };
    return 1;
}

int dx_task_suffix_urls(const struct dx_view *view, struct dx_canon *canon,
                        const struct dx_suffix_urls_ask *ask, struct dx_task **out,
                        struct dx_buf *body, struct dx_problem *problem)
{
    const struct dx_view urls = dx_view_urls(view);
    struct suffix_task *task = calloc(1, sizeof *task);
    int rc;

    *out = NULL;
    if (task == NULL)
        return dx_task_no_memory(problem);
    task->task.kind = &kind;
    task->ask = *ask;
    dx_buf_init(&task->items, ITEMS_MAX);
    dx_json_open(&task->json, &task->items);
    dx_json_array(&task->json);
    dx_item_text_init(&task->text, &task->json, ask->fields, view->version);
    /* The ask's own texts end with the first step. */
    task->filter_size = (uint16_t)dx_row_filter_pack(&ask->filter, task->filter);
    (void)dx_row_filter_unpack(dx_span_of(task->filter, task->filter_size), &task->ask.filter);
    rc = dx_row_filter_compile(&task->ask.filter, &task->regexes, problem);
    if (rc == 1)
        rc = dx_tag_page_begin(&task->of, &urls, ask->paging.from, ask->one_dataset,
                               ask->dataset_id, problem);
    if (rc == 1)
        rc = dx_suffix_name_read(&task->name, canon, ask->asked, problem);
    if (rc == 1)
        rc = begin(task, &urls, problem);
    if (rc == 1)
        rc = step(&task->task, body, problem);
    return dx_task_begun(&task->task, rc, out);
}
