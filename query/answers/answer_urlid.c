/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "base/json_out.h"
#include "canon/ids.h"
#include "canon/url.h"
#include "loader/version.h"
#include "query/answers/answer_end.h"
#include "query/answers/task_kind.h"
#include "query/answers/url_problem.h"
#include "query/rows/url_rows.h"
#include "query/suppression/suppression_view.h"
#include "query/view/suppressed.h"
#include "query/view/view.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#define TEXT_MAX ((size_t)64 << 20) /* of all URLs of an answer, and the scratch */

/* A URL of a place that has the id; its text is in `text`. */
struct said {
    struct dx_span scheme, host, path_query; /* borrowed from the listing */
    bool hit;                                /* it may be shown */
    size_t place;
    size_t text, size;     /* of the URL, in text */
    struct dx_span domain; /* borrowed likewise */
    uint64_t row_count;
    uint32_t dataset_id;
};

struct urlid_task {
    struct dx_task task;
    struct dx_url_rows rows;
    uint64_t url_id;
    struct said *said;
    size_t said_count, said_capacity;
    struct dx_buf text;
    bool withheld; /* something is, and said to be */
    /* the row before: where its text begins behind that of those said, and how long its scheme and host are */
    struct dx_span scheme, host;
    size_t text_at, host_end;
};

/* ---- rows ---- */

/* The URL of a row behind the others in text. Rows of one host lie side by side. */
static int put_url(struct urlid_task *task, const struct dx_listing_row *row, struct dx_error *err)
{
    struct dx_buf *b = &task->text;

    if (task->host_end > 0 && dx_span_equal(row->host, task->host) &&
        dx_span_equal(row->scheme, task->scheme)) {
        b->size = task->host_end;
    } else {
        b->size = task->text_at;
        dx_buf_append(b, row->scheme.data, row->scheme.size);
        dx_buf_append(b, "://", 3);
        dx_buf_append(b, row->host.data, row->host.size);
        task->host_end = b->size;
    }
    task->scheme = row->scheme;
    task->host = row->host;
    dx_buf_append(b, row->path_query.data, row->path_query.size);
    return b->failed ? dx_buf_fail(b, err, "URLs of an id") : DX_OK;
}

static bool is_row_of(const struct said *s, const struct dx_listing_row *row)
{
    return dx_span_equal(row->path_query, s->path_query) && dx_span_equal(row->host, s->host) &&
           dx_span_equal(row->scheme, s->scheme);
}

/* The URL that put_url left in text: whether it is shown. */
static int say_url(struct urlid_task *task, size_t place, const struct dx_listing_row *row,
                   struct dx_error *err)
{
    struct dx_version *v = task->rows.view.version;
    struct said *s = dx_array_room(task->said, task->said_count, &task->said_capacity, sizeof *s);
    enum dx_effect effect;

    if (s == NULL)
        return dx_no_memory(err, "answer");
    task->said = s;
    s = &task->said[task->said_count++];
    *s = (struct said){ .scheme = row->scheme,
                        .host = row->host,
                        .path_query = row->path_query,
                        .place = place,
                        .text = task->text_at,
                        .size = task->text.size - task->text_at,
                        .row_count = 1,
                        .dataset_id = task->rows.places[place].file.dataset_id };
    task->text_at = task->text.size;
    task->host_end = 0;
    if (dx_canon_host_domain(v->psl, row->host, &s->domain) == 0)
        s->domain = row->host;
    effect = dx_suppressed_url(v, s->domain, row->scheme, row->host, row->path_query);
    task->withheld = task->withheld || effect == DX_EFFECT_WITHHELD;
    s->hit = effect == DX_EFFECT_NONE;
    return DX_OK;
}

static int take_row(void *ctx, size_t place, const struct dx_listing_row *row, struct dx_error *err)
{
    struct urlid_task *task = ctx;
    int rc;

    for (size_t i = task->said_count; i > 0 && task->said[i - 1].place == place; i--)
        if (is_row_of(&task->said[i - 1], row)) {
            task->said[i - 1].row_count++;
            return dx_url_rows_are_known(&task->rows, place, err);
        }
    rc = put_url(task, row, err);
    if (rc != DX_OK || dx_url_id(dx_span_of(task->text.data + task->text_at,
                                            task->text.size - task->text_at)) != task->url_id)
        return rc;
    return say_url(task, place, row, err);
}

/* By URL, then as the places stand. */
static int by_url(const void *a, const void *b, void *ctx)
{
    const struct urlid_task *task = ctx;
    const struct said *x = a;
    const struct said *y = b;
    int c;

    if (x->hit != y->hit)
        return x->hit ? -1 : 1;
    c = dx_span_compare(dx_span_of(task->text.data + x->text, x->size),
                        dx_span_of(task->text.data + y->text, y->size));
    if (c == 0 && x->dataset_id != y->dataset_id)
        c = x->dataset_id < y->dataset_id ? -1 : 1;
    return c;
}

static struct dx_span url_of(const struct urlid_task *task, size_t i)
{
    return dx_span_of(task->text.data + task->said[i].text, task->said[i].size);
}

/* The end of the places that are of the same URL, and of the same dataset if that is asked. */
static size_t same_until(const struct urlid_task *task, size_t first, size_t count, bool dataset)
{
    size_t end = first + 1;

    assert(first < count);
    while (end < count && dx_span_equal(url_of(task, first), url_of(task, end)) &&
           (!dataset || task->said[first].dataset_id == task->said[end].dataset_id))
        end++;
    return end;
}

static uint64_t rows_of(const struct urlid_task *task, size_t first, size_t end)
{
    uint64_t rows = 0;

    assert(first <= end);
    for (size_t i = first; i < end; i++)
        rows += task->said[i].row_count;
    return rows;
}

/* ---- the answer ---- */

static int write_datasets(const struct urlid_task *task, size_t first, size_t end,
                          struct dx_json *j, struct dx_error *err)
{
    dx_json_key(j, "datasets");
    dx_json_array(j);
    for (size_t i = first; i < end;) {
        size_t next = same_until(task, i, end, true);
        const struct dx_dataset *dataset = dx_registry_by_id(&task->rows.view.version->registry,
                                                             task->said[i].dataset_id);

        if (dataset == NULL)
            return dx_fail(err, DX_E_CORRUPT,
                           "a lake file is of dataset %lu, which is not registered",
                           (unsigned long)task->said[i].dataset_id);
        dx_json_object(j);
        dx_json_key(j, "dataset_id");
        dx_json_u64(j, dataset->dataset_id);
        dx_json_key(j, "name");
        dx_json_str(j, dataset->name);
        dx_json_key(j, "row_count");
        dx_json_u64(j, rows_of(task, i, next));
        dx_json_end(j);
        i = next;
    }
    dx_json_end(j);
    return DX_OK;
}

static int write_url(const struct urlid_task *task, size_t first, size_t end, struct dx_json *j,
                     struct dx_error *err)
{
    uint64_t datasets = 0;
    int rc;

    for (size_t i = first; i < end; i = same_until(task, i, end, true))
        datasets++;
    dx_json_object(j);
    dx_json_key(j, "url");
    dx_json_text(j, url_of(task, first));
    dx_json_key(j, "domain");
    dx_json_text(j, task->said[first].domain);
    dx_json_key(j, "dataset_count");
    dx_json_u64(j, datasets);
    dx_json_key(j, "row_count");
    dx_json_u64(j, rows_of(task, first, end));
    rc = write_datasets(task, first, end, j, err);
    dx_json_end(j);
    return rc;
}

static int write_answer(const struct urlid_task *task, size_t count, struct dx_buf *body,
                        struct dx_error *err)
{
    struct dx_json j;
    uint64_t urls = 0;
    int rc = DX_OK;

    for (size_t i = 0; i < count; i = same_until(task, i, count, false))
        urls++;
    dx_json_open(&j, body);
    dx_json_object(&j);
    dx_json_key(&j, "url_id");
    dx_json_hex64(&j, task->url_id);
    dx_json_key(&j, "url_count");
    dx_json_u64(&j, urls);
    dx_json_key(&j, "urls");
    dx_json_array(&j);
    for (size_t i = 0; rc == DX_OK && i < count;) {
        size_t end = same_until(task, i, count, false);

        rc = write_url(task, i, end, &j, err);
        i = end;
    }
    dx_json_end(&j);
    dx_answer_end(&j, task->rows.view.version);
    return rc == DX_OK && body->failed ? dx_buf_fail(body, err, "answer") : rc;
}

static int take_rows(struct urlid_task *task, size_t *count, struct dx_error *err)
{
    int rc = dx_url_rows_each(&task->rows, take_row, task, err);

    *count = 0;
    if (rc == DX_OK && task->said_count > 0)
        qsort_r(task->said, task->said_count, sizeof *task->said, by_url, task);
    while (rc == DX_OK && *count < task->said_count && task->said[*count].hit)
        ++*count;
    return rc;
}

static int nothing(const struct urlid_task *task, struct dx_problem *problem)
{
    char name[32];
    int n = snprintf(name, sizeof name, "url_id 0x%016llx", (unsigned long long)task->url_id);

    return task->withheld ? dx_url_withheld(dx_span_of((const uint8_t *)name, (size_t)n), problem)
                          : dx_url_not_found(&task->rows.view,
                                             dx_span_of((const uint8_t *)name, (size_t)n), problem);
}

static int step_task(struct dx_task *of, struct dx_buf *body, struct dx_problem *problem)
{
    struct urlid_task *task = (struct urlid_task *)of;
    struct dx_error err = DX_ERROR_INIT;
    size_t count = 0;
    int rc = dx_url_rows_step(&task->rows, &err);

    if (rc == DX_LISTING_WAITS)
        return DX_TASK_WAITS;
    if (rc == DX_LISTING_DONE)
        rc = take_rows(task, &count, &err);
    if (rc == DX_OK && count == 0)
        return nothing(task, problem);
    if (rc == DX_OK)
        rc = write_answer(task, count, body, &err);
    if (rc < 0) {
        dx_buf_clear(body);
        return dx_problem_of_error(problem, &err);
    }
    return 1;
}

/* ---- the task ---- */

static int fetched(struct dx_task *of, int rc, struct dx_error *err)
{
    return dx_url_rows_fetched(&((struct urlid_task *)of)->rows, rc, err);
}

static struct dx_read_batch *reading(struct dx_task *of)
{
    return dx_url_rows_reading(&((struct urlid_task *)of)->rows);
}

static void release_task(struct dx_task *of)
{
    struct urlid_task *task = (struct urlid_task *)of;

    dx_url_rows_release(&task->rows);
    dx_buf_release(&task->text);
    free(task->said);
    free(task);
}

static const struct dx_task_kind kind = { step_task, fetched, reading, release_task };

int dx_task_urlid(const struct dx_view *view, uint64_t url_id, uint64_t deadline_ms,
                  struct dx_task **out, struct dx_buf *body, struct dx_problem *problem)
{
    struct urlid_task *task = calloc(1, sizeof *task);
    int rc;

    *out = NULL;
    if (task == NULL)
        return dx_task_no_memory(problem);
    task->task.kind = &kind;
    task->url_id = url_id;
    dx_buf_init(&task->text, TEXT_MAX);
    dx_url_rows_init(&task->rows, view, url_id, DX_FIELD_URL, deadline_ms);
    rc = step_task(&task->task, body, problem);
    return dx_task_begun(&task->task, rc, out);
}
