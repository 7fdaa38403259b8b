/* SPDX-License-Identifier: Apache-2.0 */
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

/* What a place is of: a URL in `text`. */
struct said {
    struct dx_span scheme, host, path_query; /* of its first row, borrowed from the listing */
    bool begun, hit;                         /* hit: the URL has the id, and may be shown */
    size_t text, size;                       /* of the URL, in text */
    struct dx_span domain;                   /* borrowed likewise */
    uint64_t row_count;
    uint32_t dataset_id;
};

struct urlid_task {
    struct dx_task task;
    struct dx_url_rows rows;
    uint64_t url_id;
    struct said *said; /* a place each */
    struct dx_buf text;
    bool withheld; /* something is, and said to be */
};

/* ---- rows ---- */

/* The first row of a place: which URL it is, and whether it is shown. */
static int begin_place(struct urlid_task *task, struct said *s, const struct dx_listing_row *row,
                       struct dx_error *err)
{
    struct dx_version *v = task->rows.view.version;
    struct dx_buf *b = &task->text;
    enum dx_effect effect;

    s->begun = true;
    s->scheme = row->scheme;
    s->host = row->host;
    s->path_query = row->path_query;
    s->text = b->size;
    dx_buf_append(b, row->scheme.data, row->scheme.size);
    dx_buf_append(b, "://", 3);
    dx_buf_append(b, row->host.data, row->host.size);
    dx_buf_append(b, row->path_query.data, row->path_query.size);
    if (b->failed)
        return dx_buf_fail(b, err, "URLs of an id");
    s->size = b->size - s->text;
    if (dx_url_id(dx_span_of(b->data + s->text, s->size)) != task->url_id) {
        b->size = s->text; /* only the kept bits are the same */
        return DX_OK;
    }
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
    struct said *s = &task->said[place];
    int rc = s->begun ? DX_OK : begin_place(task, s, row, err);

    if (rc == DX_OK && s->hit && dx_span_equal(row->scheme, s->scheme) &&
        dx_span_equal(row->path_query, s->path_query) && dx_span_equal(row->host, s->host))
        s->row_count++;
    return rc;
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
    size_t places = task->rows.place_count;
    int rc;

    *count = 0;
    task->said = calloc(places + 1, sizeof *task->said);
    if (task->said == NULL)
        return dx_no_memory(err, "answer");
    for (size_t i = 0; i < places; i++)
        task->said[i].dataset_id = task->rows.places[i].file.dataset_id;
    rc = dx_url_rows_each(&task->rows, take_row, task, err);
    if (rc == DX_OK && places > 0)
        qsort_r(task->said, places, sizeof *task->said, by_url, task);
    while (rc == DX_OK && *count < places && task->said[*count].hit)
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

static int step(struct dx_task *of, struct dx_buf *body, struct dx_problem *problem)
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

static void release(struct dx_task *of)
{
    struct urlid_task *task = (struct urlid_task *)of;

    dx_url_rows_release(&task->rows);
    dx_buf_release(&task->text);
    free(task->said);
    free(task);
}

static const struct dx_task_kind kind = { step, fetched, reading, release };

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
    rc = step(&task->task, body, problem);
    return dx_task_begun(&task->task, rc, out);
}
