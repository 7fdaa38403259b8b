/* SPDX-License-Identifier: Apache-2.0 */
#include "query/range/range_task.h"

#include <stdlib.h>

#include "loader/version.h"
#include "query/answers/answer_end.h"
#include "query/view/lookup.h"

#define ITEMS_MAX ((size_t)64 << 20)   /* bytes of the items of a page */
#define ITEMS_ENOUGH ((size_t)8 << 20) /* a page that comes to it ends */

/* ---- items ---- */

static int take_row(void *ctx, const struct dx_range_row *row, struct dx_error *err)
{
    struct dx_range_task *task = ctx;
    struct dx_json *j = &task->json;
    int rc;

    dx_json_object(j);
    rc = dx_item_text_members(&task->text, row->row, err);
    if (task->what.numbers != NULL) {
        dx_json_key(j, "domain64");
        dx_json_hex64(j, row->number);
    }
    dx_json_key(j, "domain");
    dx_json_text(j, row->domain);
    dx_json_key_u64(j, "dataset_id", row->dataset_id);
    dx_json_end(j);
    if (rc == DX_OK && task->items.failed)
        rc = dx_buf_fail(&task->items, err, "answer");
    return rc < 0 ? rc : task->items.size >= ITEMS_ENOUGH;
}

/* ---- cursors ---- */

/* What all cursors of the question have. */
static struct dx_cursor cursor_of(const struct dx_range_task *task)
{
    struct dx_cursor c = { .kind = task->question->cursor,
                           .began_s = task->ask.paging.began_s,
                           .limit = (uint32_t)task->ask.limit,
                           .fields = task->ask.fields,
                           .filter_size = task->filter_size };

    memcpy(c.filter, task->filter, task->filter_size);
    dx_tag_page_place(&task->page, &c);
    task->question->put(task, &c);
    return c;
}

static int write_cursor(const struct dx_range_task *task, const struct dx_cursor *c,
                        struct dx_json *j, struct dx_error *err)
{
    return dx_tag_page_cursor(c, task->ask.paging.cursors, task->ask.paging.principal, j, err);
}

static int write_next(const struct dx_range_task *task, struct dx_json *j, struct dx_error *err)
{
    const struct dx_range_place *next = &task->rows.next;
    struct dx_cursor c = cursor_of(task);

    c.next_number = next->number;
    c.next_dataset = next->at.dataset_id;
    c.next_row = next->at.row;
    return write_cursor(task, &c, j, err);
}

static int write_plan(struct dx_range_task *task, struct dx_json *j, struct dx_error *err)
{
    uint64_t bounds[DX_PLAN_MAX + 1];
    struct dx_cursor c = cursor_of(task);
    int rc = task->question->split(task, bounds, err);

    dx_json_key(j, "cursors");
    dx_json_array(j);
    for (unsigned k = 0; k < task->ask.plan && rc >= 0; k++) {
        task->question->part(&c, bounds[k], bounds[k + 1]);
        rc = write_cursor(task, &c, j, err);
    }
    dx_json_end(j);
    return rc < 0 ? rc : DX_OK;
}

/* ---- the answer ---- */

static int write_rows(struct dx_range_task *task, struct dx_json *j, struct dx_error *err)
{
    const struct dx_range_rows *rows = &task->rows;

    dx_json_end(&task->json);
    dx_json_key(j, "items");
    dx_json_number(j, dx_span_of(task->items.data, task->items.size));
    if (task->filter_size > 0 || task->what.numbers != NULL)
        dx_answer_cost(j, task->page.view.version, rows->rows_seen, rows->pages_seen,
                       rows->bytes_seen);
    dx_json_key(j, "next_cursor");
    if (rows->more)
        return write_next(task, j, err);
    dx_json_null(j);
    return DX_OK;
}

static int write_answer(struct dx_range_task *task, struct dx_buf *body, struct dx_error *err)
{
    struct dx_json j;
    int rc;

    dx_json_open(&j, body);
    dx_json_object(&j);
    task->question->head(task, &j);
    rc = task->ask.plan > 0 ? write_plan(task, &j, err) : write_rows(task, &j, err);
    dx_answer_end(&j, task->page.view.version);
    if (task->items.failed)
        return dx_buf_fail(&task->items, err, "answer");
    return rc == DX_OK && body->failed ? dx_buf_fail(body, err, "answer") : rc;
}

/* ---- the task ---- */

static int step(struct dx_task *of, struct dx_buf *body, struct dx_problem *problem)
{
    struct dx_range_task *task = (struct dx_range_task *)of;
    struct dx_error err = DX_ERROR_INIT;
    int rc = task->ask.plan > 0 ? 1 : dx_range_rows_step(&task->rows, problem);

    if (rc != 1)
        return rc;
    if (task->question->check != NULL)
        rc = task->question->check(task, &err);
    if (rc >= 0)
        rc = write_answer(task, body, &err);
    if (rc == DX_OK)
        return 1;
    dx_buf_clear(body);
    return dx_problem_of_error(problem, &err);
}

static int fetched(struct dx_task *of, int rc, struct dx_error *err)
{
    return dx_range_rows_fetched(&((struct dx_range_task *)of)->rows, rc, err);
}

static struct dx_read_batch *reading(struct dx_task *of)
{
    return dx_range_rows_reading(&((struct dx_range_task *)of)->rows);
}

static void release(struct dx_task *of)
{
    struct dx_range_task *task = (struct dx_range_task *)of;

    dx_range_rows_release(&task->rows);
    dx_item_text_release(&task->text);
    dx_buf_release(&task->items);
    dx_row_regexes_release(&task->regexes);
    if (task->question->release != NULL)
        task->question->release(task);
    free(task);
}

static const struct dx_task_kind kind = { step, fetched, reading, release };

/* ---- before it ---- */

int dx_range_task_init(struct dx_range_task *task, const struct dx_range_question *question,
                       const struct dx_view *view, const struct dx_range_ask *ask,
                       struct dx_problem *problem)
{
    const struct dx_view urls = dx_view_urls(view);
    int rc;

    task->task.kind = &kind;
    task->question = question;
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
        rc = dx_tag_page_begin(&task->page, &urls, ask->paging.from, ask->one_dataset,
                               ask->dataset_id, problem);
    task->what = (struct dx_range_what){ .dataset = task->page.dataset,
                                         .filter = task->ask.filter,
                                         .fields = ask->fields,
                                         .limit = ask->limit,
                                         .offset = ask->offset,
                                         .look_max = ask->look_max,
                                         .deadline_ms = ask->deadline_ms };
    return rc;
}

int dx_range_task_begin(struct dx_range_task *task, struct dx_buf *body, struct dx_problem *problem)
{
    const struct dx_cursor *from = &task->page.from;
    const struct dx_range_place place = { from->next_number,
                                          { from->next_dataset, from->next_row } };
    struct dx_error err = DX_ERROR_INIT;
    int rc = dx_range_rows_init(&task->rows, &task->page.view, &task->what, take_row, task, &err);

    if (rc == DX_OK && task->page.goes_on)
        rc = dx_range_rows_begin(&task->rows, &place, from->has_end ? &from->end : NULL, &err);
    return rc < 0 ? dx_problem_of_error(problem, &err) : step(&task->task, body, problem);
}
