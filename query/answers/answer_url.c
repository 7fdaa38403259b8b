/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_out.h"
#include "canon/ids.h"
#include "canon/url.h"
#include "loader/version.h"
#include "query/answers/answer.h"
#include "query/answers/answer_end.h"
#include "query/answers/item_text.h"
#include "query/answers/task_kind.h"
#include "query/answers/url_problem.h"
#include "query/rows/url_rows.h"
#include "query/suppression/suppression_view.h"
#include "query/view/domain_json.h"
#include "query/view/lookup.h"
#include "query/view/view.h"

#include <stdlib.h>

#define STEPS_MAX \
    8 /* from URL to canonical URL: pages that say of each other who they are do it in one */
#define ROW_FIELDS (DX_FIELD_TS | DX_FIELD_RAW_URL | DX_FIELD_EXTRAS)

struct url_task {
    struct dx_task task;
    struct dx_url_rows rows;
    struct dx_url url; /* what is shown and compared: in text */
    struct dx_span asked;
    uint64_t url_id;
    uint64_t limit;
    uint8_t *text;
    uint64_t deadline_ms;
    /* what led here: chain[0] is what was asked, in canonical form */
    struct dx_canon *canon;
    struct dx_buf chain[STEPS_MAX];
    size_t steps;
    const char *chain_end; /* NULL: it may lead on */
    struct dx_buf next;    /* where a row leads to; "": nowhere */
    /* of each place, what is of this URL */
    struct dx_pair_count *counts;
};

/* ---- rows ---- */

static bool is_url(const struct url_task *task, const struct dx_listing_row *row)
{
    return dx_span_equal(row->path_query, task->url.path_query) &&
           dx_span_equal(row->host, task->url.host) && dx_span_equal(row->scheme, task->url.scheme);
}

static int count_row(void *ctx, size_t place, const struct dx_listing_row *row,
                     struct dx_error *err)
{
    struct url_task *task = ctx;
    const struct dx_pair_count one = {
        .row_count = 1, .has_ts = row->has_ts, .first_us = row->ts_us, .last_us = row->ts_us
    };

    (void)err;
    if (is_url(task, row))
        dx_pair_count_add(&task->counts[place], &one);
    return DX_OK;
}

/* Places [first, end) are of one dataset; its sum. */
static size_t dataset_end(const struct url_task *task, size_t first, struct dx_pair_count *sum)
{
    const struct dx_url_rows_place *p = task->rows.places;
    size_t end = first;

    *sum = (struct dx_pair_count){ 0 };
    for (; end < task->rows.place_count && p[end].file.dataset_id == p[first].file.dataset_id;
         end++)
        dx_pair_count_add(sum, &task->counts[end]);
    return end;
}

struct row_writer {
    struct url_task *task;
    struct dx_item_text text;
    struct dx_json *j;
    size_t end;     /* of the places of the dataset at hand */
    bool open;      /* its rows are being written */
    uint64_t shown; /* of it */
};

static void write_times(struct dx_json *j, const struct dx_pair_count *count)
{
    dx_json_key(j, "first_ts");
    count->has_ts ? dx_json_time_us(j, count->first_us) : dx_json_null(j);
    dx_json_key(j, "last_ts");
    count->has_ts ? dx_json_time_us(j, count->last_us) : dx_json_null(j);
}

static void end_dataset(struct row_writer *w)
{
    if (w->open) {
        dx_json_end(w->j);
        dx_json_end(w->j);
    }
    w->open = false;
}

static int begin_dataset(struct row_writer *w, size_t place, struct dx_error *err)
{
    struct dx_pair_count sum;
    uint32_t id = w->task->rows.places[place].file.dataset_id;
    const struct dx_dataset *dataset = dx_registry_by_id(&w->task->rows.view.version->registry, id);

    end_dataset(w);
    w->end = dataset_end(w->task, place, &sum);
    if (dataset == NULL)
        return dx_fail(err, DX_E_CORRUPT, "%.*s is of dataset %lu, which is not registered",
                       (int)w->task->rows.places[place].file.path.size,
                       (const char *)w->task->rows.places[place].file.path.data, (unsigned long)id);
    w->shown = 0;
    w->open = true;
    dx_json_object(w->j);
    dx_json_key(w->j, "dataset_id");
    dx_json_u64(w->j, id);
    dx_json_key(w->j, "name");
    dx_json_str(w->j, dataset->name);
    dx_json_key(w->j, "row_count");
    dx_json_u64(w->j, sum.row_count);
    write_times(w->j, &sum);
    dx_json_key(w->j, "rows");
    dx_json_array(w->j);
    return DX_OK;
}

/* A dataset begins with the first of its rows that is of the URL: one without has none. */
static int write_row(void *ctx, size_t place, const struct dx_listing_row *row,
                     struct dx_error *err)
{
    struct row_writer *w = ctx;
    int rc = DX_OK;

    if (!is_url(w->task, row))
        return DX_OK;
    if (!w->open || place >= w->end)
        rc = begin_dataset(w, place, err);
    if (rc == DX_OK && w->shown++ < w->task->limit)
        rc = dx_item_text_write(&w->text, row, err);
    return rc;
}

/* ---- the answer ---- */

static void write_head(const struct url_task *task, uint64_t domain_id, uint64_t datasets,
                       const struct dx_pair_count *sum, struct dx_json *j)
{
    dx_answer_summarize(task->task.summary, (struct dx_answer_summary){ .domain_id = domain_id,
                                                                        .has_domain_id = true,
                                                                        .datasets = datasets,
                                                                        .rows = sum->row_count });
    dx_json_object(j);
    dx_json_key(j, "asked");
    dx_json_text(j, task->asked);
    dx_json_key(j, "url");
    dx_json_text(j, task->url.url);
    dx_json_key(j, "url_id");
    dx_json_hex64(j, task->url_id);
    dx_domain_json(j, task->url.domain);
    dx_json_key(j, "domain_id");
    dx_json_hex64(j, domain_id);
    dx_json_key(j, "dataset_count");
    dx_json_u64(j, datasets);
    dx_json_key(j, "row_count");
    dx_json_u64(j, sum->row_count);
    write_times(j, sum);
    if (task->steps == 0)
        return;
    dx_json_key(j, "requested_url");
    dx_json_text(j, dx_span_of(task->chain[0].data, task->chain[0].size));
    dx_json_key(j, "original_url");
    dx_json_text(j, task->asked);
    dx_json_key(j, "chain");
    dx_json_array(j);
    for (size_t i = 0; i < task->steps; i++)
        dx_json_text(j, dx_span_of(task->chain[i].data, task->chain[i].size));
    dx_json_text(j, task->url.url);
    dx_json_end(j);
    dx_json_key(j, "chain_end");
    dx_json_str(j, task->chain_end);
}

static int write_answer(struct url_task *task, uint64_t datasets, const struct dx_pair_count *sum,
                        struct dx_buf *body, struct dx_error *err)
{
    struct dx_version *v = task->rows.view.version;
    struct dx_json j;
    struct row_writer w = { .task = task, .j = &j };
    const struct dx_part *part;
    uint64_t ordinal;
    uint64_t domain_id;
    int rc = dx_version_find(v, task->url.domain, &part, &ordinal, &domain_id, err);

    if (rc < 0)
        return rc;
    if (rc == 0) /* of a foreign lake that puts it under another domain */
        domain_id = dx_domain_id(task->url.domain);
    dx_json_open(&j, body);
    write_head(task, domain_id, datasets, sum, &j);
    dx_json_key(&j, "datasets");
    dx_json_array(&j);
    dx_item_text_init(&w.text, &j, ROW_FIELDS, v);
    rc = dx_url_rows_each(&task->rows, write_row, &w, err);
    dx_item_text_release(&w.text);
    if (rc < 0)
        return rc;
    end_dataset(&w);
    dx_json_end(&j);
    dx_answer_end(&j, v);
    return body->failed ? dx_buf_fail(body, err, "answer") : DX_OK;
}

static int count_rows(struct url_task *task, uint64_t *datasets, struct dx_pair_count *sum,
                      struct dx_error *err)
{
    int rc;

    *datasets = 0;
    *sum = (struct dx_pair_count){ 0 };
    task->counts = calloc(task->rows.place_count + 1, sizeof *task->counts);
    if (task->counts == NULL)
        return dx_no_memory(err, "answer");
    rc = dx_url_rows_each(&task->rows, count_row, task, err);
    for (size_t i = 0; rc == DX_OK && i < task->rows.place_count;) {
        struct dx_pair_count one;

        i = dataset_end(task, i, &one);
        *datasets += one.row_count > 0;
        dx_pair_count_add(sum, &one);
    }
    return rc;
}

/* ---- canonical URLs ---- */

/* The canonicaliser's text lasts until its next use only. The domain need not lie in the URL. asked
 * may lie in the text that this one replaces. */
static uint8_t *take_text(struct url_task *task, const struct dx_url *url, struct dx_span asked)
{
    uint8_t *text = malloc(url->url.size + url->domain.size + asked.size + 1);
    uint8_t *begin = text;

    if (text == NULL)
        return NULL;
    memcpy(text, url->url.data, url->url.size);
    task->url.url = dx_span_of(text, url->url.size);
    task->url.scheme = dx_span_of(text, url->scheme.size);
    task->url.host = dx_span_of(text + url->scheme.size + 3, url->host.size);
    task->url.path_query = dx_span_of(text + url->scheme.size + 3 + url->host.size,
                                      url->path_query.size);
    text += url->url.size;
    memcpy(text, url->domain.data, url->domain.size);
    task->url.domain = dx_span_of(text, url->domain.size);
    text += url->domain.size;
    memcpy(text, asked.data, asked.size);
    task->asked = dx_span_of(text, asked.size);
    task->url_id = dx_url_id(task->url.url);
    free(task->text);
    task->text = begin;
    return begin;
}

/* The asked one as the row's requested_url: the row's own URL is where it leads, if that may be
 * shown. */
static int take_next_url(void *ctx, size_t place, const struct dx_listing_row *row,
                         struct dx_error *err)
{
    struct url_task *task = ctx;
    enum dx_reject reject = DX_REJECT_NONE;
    struct dx_problem hidden;
    struct dx_url url;
    struct dx_span asked = dx_listing_extra(row, dx_span_str(DX_REQUESTED_URL));

    (void)place;
    if (asked.data == NULL || !dx_span_equal(asked, task->url.url) || task->next.size > 0 ||
        is_url(task, row))
        return DX_OK;
    if (task->canon == NULL && dx_version_canon_new(task->rows.view.version, &task->canon, err) < 0)
        return (int)err->code;
    dx_buf_append(&task->next, row->scheme.data, row->scheme.size);
    dx_buf_str(&task->next, "://");
    dx_buf_append(&task->next, row->host.data, row->host.size);
    dx_buf_append(&task->next, row->path_query.data, row->path_query.size);
    if (task->next.failed ||
        dx_canon_url(task->canon, dx_span_of(task->next.data, task->next.size), &url, &reject) !=
            1 ||
        !dx_span_equal(url.url, dx_span_of(task->next.data, task->next.size)) ||
        dx_url_may_show(&task->rows.view, &url, &hidden) != 1)
        dx_buf_clear(&task->next);
    return DX_OK;
}

static bool was_there(const struct url_task *task, struct dx_span url)
{
    for (size_t i = 0; i < task->steps; i++)
        if (dx_span_equal(dx_span_of(task->chain[i].data, task->chain[i].size), url))
            return true;
    return false;
}

/* The task is of task->next from here on. */
static int go_on(struct url_task *task, struct dx_error *err)
{
    const struct dx_view view = task->rows.view;
    enum dx_reject reject = DX_REJECT_NONE;
    uint8_t *text;
    struct dx_url url;

    if (dx_canon_url(task->canon, dx_span_of(task->next.data, task->next.size), &url, &reject) != 1)
        return dx_fail(err, DX_E_CORRUPT, "a URL of the lake is not canonical");
    dx_buf_append(&task->chain[task->steps], task->url.url.data, task->url.url.size);
    if (task->chain[task->steps].failed)
        return dx_buf_fail(&task->chain[task->steps], err, "answer");
    task->steps++;
    text = take_text(task, &url, task->asked);
    if (text == NULL)
        return dx_no_memory(err, "answer");
    if (was_there(task, task->url.url))
        task->chain_end = "loop";
    dx_url_rows_release(&task->rows);
    dx_url_rows_init(&task->rows, &view, task->url_id, DX_FIELD_URL | ROW_FIELDS,
                     task->deadline_ms);
    task->rows.url = &task->url;
    return DX_OK;
}

/* 1: there are other rows to be read; 0: the answer is of these; <0. */
static int lead_on(struct url_task *task, struct dx_error *err)
{
    int rc;

    if (task->chain_end != NULL)
        return 0;
    dx_buf_clear(&task->next);
    rc = dx_url_rows_each(&task->rows, take_next_url, task, err);
    if (rc < 0)
        return rc;
    task->chain_end = task->next.size == 0       ? "canonical"
                      : task->steps == STEPS_MAX ? "limit"
                                                 : NULL;
    if (task->chain_end != NULL)
        return 0;
    rc = go_on(task, err);
    return rc < 0 ? rc : 1;
}

static int step_task(struct dx_task *of, struct dx_buf *body, struct dx_problem *problem)
{
    struct url_task *task = (struct url_task *)of;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_pair_count sum;
    uint64_t datasets;
    int rc = 1;

    while (rc == 1) {
        rc = dx_url_rows_step(&task->rows, &err);
        if (rc == DX_LISTING_WAITS)
            return DX_TASK_WAITS;
        if (rc == DX_LISTING_DONE)
            rc = lead_on(task, &err);
    }
    if (rc == DX_OK)
        rc = count_rows(task, &datasets, &sum, &err);
    if (rc == DX_OK && sum.row_count == 0)
        return dx_url_not_found(&task->rows.view, task->url.url, problem);
    if (rc == DX_OK)
        rc = write_answer(task, datasets, &sum, body, &err);
    if (rc < 0) {
        dx_buf_clear(body);
        return dx_problem_of_error(problem, &err);
    }
    return 1;
}

/* ---- the task ---- */

static int fetched(struct dx_task *of, int rc, struct dx_error *err)
{
    return dx_url_rows_fetched(&((struct url_task *)of)->rows, rc, err);
}

static struct dx_read_batch *reading(struct dx_task *of)
{
    return dx_url_rows_reading(&((struct url_task *)of)->rows);
}

static void release_task(struct dx_task *of)
{
    struct url_task *task = (struct url_task *)of;

    dx_url_rows_release(&task->rows);
    dx_canon_free(&task->canon);
    for (size_t i = 0; i < STEPS_MAX; i++)
        dx_buf_release(&task->chain[i]);
    dx_buf_release(&task->next);
    free(task->counts);
    free(task->text);
    free(task);
}

static const struct dx_task_kind kind = { step_task, fetched, reading, release_task };

static struct url_task *new_task(const struct dx_url *url, const struct dx_url_ask *ask)
{
    struct url_task *task = calloc(1, sizeof *task);

    if (task == NULL || take_text(task, url, ask->asked) == NULL) {
        free(task);
        return NULL;
    }
    task->task.kind = &kind;
    task->limit = ask->limit;
    task->deadline_ms = ask->deadline_ms;
    dx_buf_init(&task->next, DX_URL_MAX);
    for (size_t i = 0; i < STEPS_MAX; i++)
        dx_buf_init(&task->chain[i], DX_URL_MAX);
    return task;
}

int dx_task_url(const struct dx_view *view, struct dx_canon *canon, const struct dx_url_ask *ask,
                struct dx_task **out, struct dx_answer_summary *summary, struct dx_buf *body,
                struct dx_problem *problem)
{
    struct url_task *task;
    struct dx_url url;
    int rc = dx_lookup_url(canon, ask->asked, &url, problem);

    *out = NULL;
    if (rc == 1)
        rc = dx_url_may_show(view, &url, problem);
    if (rc <= 0)
        return rc;
    task = new_task(&url, ask);
    if (task == NULL)
        return dx_task_no_memory(problem);
    dx_url_rows_init(&task->rows, view, task->url_id, DX_FIELD_URL | ROW_FIELDS, ask->deadline_ms);
    task->rows.url = &task->url;
    task->rows.brief = ask->brief;
    task->task.summary = summary;
    rc = step_task(&task->task, body, problem);
    return dx_task_begun(&task->task, rc, out);
}

int dx_answer_url(const struct dx_view *view, struct dx_canon *canon, struct dx_span asked,
                  uint64_t limit, struct dx_buf *body, struct dx_problem *problem)
{
    const struct dx_url_ask ask = { .asked = asked, .limit = limit };
    struct dx_task *task;
    int rc = dx_task_url(view, canon, &ask, &task, NULL, body, problem);

    return dx_task_finish(&task, rc, body, problem);
}
