/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_out.h"
#include "loader/domain64_live.h"
#include "loader/version.h"
#include "query/answers/answer_end.h"
#include "query/answers/item_text.h"
#include "query/answers/range_rows.h"
#include "query/answers/task_kind.h"
#include "query/rows/cursor.h"

#include <stdlib.h>

#define ITEMS_MAX ((size_t)64 << 20)   /* bytes of the items of a page */
#define ITEMS_ENOUGH ((size_t)8 << 20) /* a page that comes to it ends */

struct range_task {
    struct dx_task task;
    struct dx_view view;
    struct dx_range_ask ask;
    struct dx_cursor from; /* of ask */
    struct dx_domain64_registry *numbers;
    struct dx_range_rows rows;
    struct dx_buf items;
    struct dx_json json; /* into items */
    struct dx_item_text text;
};

/* ---- items ---- */

static int take_row(void *ctx, const struct dx_range_row *row, struct dx_error *err)
{
    struct range_task *task = ctx;
    struct dx_json *j = &task->json;
    int rc;

    dx_json_object(j);
    rc = dx_item_text_members(&task->text, row->row, err);
    dx_json_key(j, "domain64");
    dx_json_hex64(j, row->number);
    dx_json_key(j, "domain");
    dx_json_text(j, row->domain);
    dx_json_key(j, "dataset_id");
    dx_json_u64(j, row->dataset->dataset_id);
    dx_json_end(j);
    if (rc == DX_OK && task->items.failed)
        rc = dx_buf_fail(&task->items, err, "answer");
    return rc < 0 ? rc : task->items.size >= ITEMS_ENOUGH;
}

/* ---- the answer ---- */

static int write_cursor(const struct range_task *task, struct dx_json *j, struct dx_error *err)
{
    const struct dx_range_ask *ask = &task->ask;
    struct dx_cursor c = {
        .kind = DX_CURSOR_RANGE,
        .build = task->view.version->entry.build,
        .began_s = ask->paging.from != NULL ? ask->paging.from->began_s : ask->paging.began_s,
        .limit = (uint32_t)ask->limit,
        .numbers = dx_domain64_registry_state(task->numbers),
        .first = ask->first,
        .end = ask->end,
        .one_dataset = ask->one_dataset,
        .dataset_id = ask->one_dataset ? ask->dataset_id : 0,
        .fields = ask->fields,
        .next_number = task->rows.next.number,
        .next_dataset = task->rows.next.dataset_id,
        .next_row = task->rows.next.row,
    };
    char text[DX_CURSOR_TEXT];
    int rc;

    memcpy(c.version, task->view.version->entry.version, sizeof c.version);
    rc = dx_cursor_write(&c, ask->paging.cursors, ask->paging.principal, text, err);
    if (rc == DX_OK)
        dx_json_str(j, text);
    return rc;
}

static int write_answer(struct range_task *task, struct dx_buf *body, struct dx_error *err)
{
    const struct dx_range_ask *ask = &task->ask;
    struct dx_json j;
    int rc = DX_OK;

    dx_json_end(&task->json);
    dx_json_open(&j, body);
    dx_json_object(&j);
    if (ask->one_dataset) { /* first of all: what the log of requests tells */
        dx_json_key(&j, "dataset_id");
        dx_json_u64(&j, ask->dataset_id);
    }
    dx_json_key(&j, "from");
    dx_json_hex64(&j, ask->first);
    dx_json_key(&j, "to");
    if (ask->end != 0)
        dx_json_hex64(&j, ask->end);
    else
        dx_json_str(&j, "0x10000000000000000");
    dx_json_key(&j, "layout");
    dx_json_str(&j, dx_domain64_layout_name(task->numbers->layout));
    dx_json_key(&j, "items");
    dx_json_number(&j, dx_span_of(task->items.data, task->items.size));
    dx_json_key(&j, "next_cursor");
    if (task->rows.more)
        rc = write_cursor(task, &j, err);
    else
        dx_json_null(&j);
    dx_answer_end(&j, task->view.version);
    if (task->items.failed)
        return dx_buf_fail(&task->items, err, "answer");
    return rc == DX_OK && body->failed ? dx_buf_fail(body, err, "answer") : rc;
}

/* ---- the task ---- */

static int step(struct dx_task *of, struct dx_buf *body, struct dx_problem *problem)
{
    struct range_task *task = (struct range_task *)of;
    struct dx_error err = DX_ERROR_INIT;
    int rc = dx_range_rows_step(&task->rows, problem);

    if (rc != 1)
        return rc;
    rc = dx_domain64_registry_intact(task->numbers, &err);
    if (rc == DX_OK)
        rc = write_answer(task, body, &err);
    if (rc == DX_OK)
        return 1;
    dx_buf_clear(body);
    return dx_problem_of_error(problem, &err);
}

static int fetched(struct dx_task *of, int rc, struct dx_error *err)
{
    return dx_range_rows_fetched(&((struct range_task *)of)->rows, rc, err);
}

static struct dx_read_batch *reading(struct dx_task *of)
{
    return dx_range_rows_reading(&((struct range_task *)of)->rows);
}

static void release(struct dx_task *of)
{
    struct range_task *task = (struct range_task *)of;

    dx_range_rows_release(&task->rows);
    dx_item_text_release(&task->text);
    dx_buf_release(&task->items);
    dx_domain64_registry_close(&task->numbers);
    free(task);
}

static const struct dx_task_kind kind = { step, fetched, reading, release };

/* ---- before it ---- */

static int pin_numbers(const struct dx_range_ask *ask, struct dx_domain64_registry **numbers,
                       struct dx_problem *problem)
{
    struct dx_error err = DX_ERROR_INIT;
    int rc = dx_domain64_live_pin(
        ask->numbers, ask->paging.from == NULL ? NULL : &ask->paging.from->numbers, numbers, &err);

    if (rc < 0)
        return dx_problem_of_error(problem, &err);
    if (rc == 1)
        return 1;
    if (ask->paging.from != NULL)
        return dx_problem_set(problem, DX_PROBLEM_GONE, "numbers-gone",
                              "More has been numbered since",
                              "this server does not have the registry any more, or not yet, as it "
                              "was when this listing began; begin again without the cursor");
    return dx_problem_set(problem, DX_PROBLEM_NOT_FOUND, "no-registry",
                          "There is no domain64 registry",
                          "the names of this index have no domain64; `domaindex domain64 init` and "
                          "`fill` give them numbers");
}

static int may_list(const struct dx_view *view, const struct dx_range_ask *ask,
                    struct dx_problem *problem)
{
    const struct dx_view urls = dx_view_urls(view);
    const struct dx_dataset *dataset;

    /* Numbers are assigned in order of names: visible ones would reveal how many hidden names there
     * are. */
    if (dx_view_restricted(view))
        return dx_problem_set(problem, DX_PROBLEM_FORBIDDEN, "restricted",
                              "Not for restricted callers",
                              "numbers reveal all names that have been indexed, so only callers "
                              "that may see every dataset can list ranges");
    return ask->one_dataset ? dx_lookup_dataset(&urls, ask->dataset_id, &dataset, problem) : 1;
}

static void begin(struct range_task *task)
{
    const struct dx_range_what what = { .range = { task->ask.first, task->ask.end },
                                        .one_dataset = task->ask.one_dataset,
                                        .dataset_id = task->ask.dataset_id,
                                        .fields = task->ask.fields,
                                        .limit = task->ask.limit,
                                        .look_max = task->ask.look_max };

    task->task.kind = &kind;
    dx_buf_init(&task->items, ITEMS_MAX);
    dx_json_open(&task->json, &task->items);
    dx_json_array(&task->json);
    dx_item_text_init(&task->text, &task->json, task->ask.fields, task->view.version);
    dx_range_rows_init(&task->rows, &task->view, task->numbers, &what, take_row, task,
                       task->ask.deadline_ms);
    if (task->ask.paging.from != NULL)
        task->rows.next = (struct dx_range_place){ task->from.next_number, task->from.next_dataset,
                                                   task->from.next_row };
    else if (task->ask.first == task->ask.end && task->ask.end != 0)
        task->rows.next.number = task->ask.end; /* an empty range: nothing is looked at */
}

int dx_task_range(const struct dx_view *view, const struct dx_range_ask *ask, struct dx_task **out,
                  struct dx_buf *body, struct dx_problem *problem)
{
    struct dx_domain64_registry *numbers = NULL;
    struct range_task *task;
    int rc = may_list(view, ask, problem);

    *out = NULL;
    if (rc == 1)
        rc = dx_cursor_of_version(ask->paging.from, &view->version->entry, problem);
    if (rc == 1)
        rc = pin_numbers(ask, &numbers, problem);
    if (rc <= 0)
        return rc;
    task = calloc(1, sizeof *task);
    if (task == NULL) {
        dx_domain64_registry_close(&numbers);
        return dx_task_no_memory(problem);
    }
    task->view = *view;
    task->numbers = numbers;
    task->ask = *ask;
    if (ask->paging.from != NULL) {
        task->from = *ask->paging.from;
        task->ask.paging.from = &task->from;
    }
    begin(task);
    rc = step(&task->task, body, problem);
    return dx_task_begun(&task->task, rc, out);
}
