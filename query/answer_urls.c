/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_out.h"
#include "canon/ids.h"
#include "canon/url.h"
#include "loader/version.h"
#include "query/answer.h"
#include "query/listing.h"
#include "query/lookup.h"
#include "query/task.h"

#include <stdlib.h>

struct item_writer {
    struct dx_json *json;
    struct dx_buf url; /* scratch: the canonical URL of the row */
    unsigned fields;
};

static void write_extras(struct dx_json *j, const struct dx_listing_row *row)
{
    dx_json_key(j, "extras");
    dx_json_object(j);
    for (size_t i = 0; i < row->extra_count; i++) {
        if (row->extra[i].value.data == NULL)
            continue;
        dx_json_key_span(j, row->extra[i].name);
        dx_json_text(j, row->extra[i].value);
    }
    dx_json_end(j);
}

static int write_item(void *ctx, const struct dx_listing_row *row, struct dx_error *err)
{
    struct item_writer *w = ctx;
    struct dx_json *j = w->json;
    struct dx_span url;

    dx_buf_clear(&w->url);
    dx_buf_append(&w->url, row->scheme.data, row->scheme.size);
    dx_buf_append(&w->url, "://", 3);
    dx_buf_append(&w->url, row->host.data, row->host.size);
    dx_buf_append(&w->url, row->path_query.data, row->path_query.size);
    if (w->url.failed)
        return dx_buf_fail(&w->url, err, "URL of a row");
    url = dx_span_of(w->url.data, w->url.size);
    dx_json_object(j);
    if (w->fields & DX_FIELD_URL_ID) {
        dx_json_key(j, "url_id");
        dx_json_hex64(j, dx_url_id(url));
    }
    if (w->fields & DX_FIELD_URL) {
        dx_json_key(j, "url");
        dx_json_text(j, url);
    }
    if (w->fields & DX_FIELD_TS) {
        dx_json_key(j, "ts");
        row->has_ts ? dx_json_time_us(j, row->ts_us) : dx_json_null(j);
    }
    if (w->fields & DX_FIELD_RAW_URL) {
        dx_json_key(j, "raw_url");
        row->raw_url.data != NULL ? dx_json_text(j, row->raw_url) : dx_json_null(j);
    }
    if (w->fields & DX_FIELD_EXTRAS)
        write_extras(j, row);
    dx_json_end(j);
    return j->buf->failed ? dx_buf_fail(j->buf, err, "answer") : DX_OK;
}

static int write_answer(struct dx_listing *l, const struct dx_found *found,
                        const struct dx_dataset *dataset, struct dx_buf *body, struct dx_error *err)
{
    uint64_t end = l->window.offset + l->row_count;
    struct dx_json j;
    struct item_writer items = { .json = &j, .fields = l->fields };
    int rc;

    dx_buf_init(&items.url, 4 * DX_URL_MAX);
    dx_json_open(&j, body);
    dx_json_object(&j);
    dx_json_key(&j, "domain");
    dx_json_text(&j, dx_span_of(found->domain, found->domain_size));
    dx_json_key(&j, "domain_id");
    dx_json_hex64(&j, found->domain_id);
    dx_json_key(&j, "dataset_id");
    dx_json_u64(&j, dataset->dataset_id);
    dx_json_key(&j, "dataset");
    dx_json_str(&j, dataset->name);
    dx_json_key(&j, "total");
    dx_json_u64(&j, l->total);
    dx_json_key(&j, "total_est");
    dx_json_u64(&j, l->total);
    dx_json_key(&j, "offset");
    dx_json_u64(&j, l->window.offset);
    dx_json_key(&j, "items");
    dx_json_array(&j);
    rc = dx_listing_rows(l, write_item, &items, err);
    dx_buf_release(&items.url);
    if (rc < 0)
        return rc;
    dx_json_end(&j);
    dx_json_key(&j, "next_offset");
    l->row_count > 0 && end < l->total ? dx_json_u64(&j, end) : dx_json_null(&j);
    dx_json_key(&j, "version");
    dx_json_str(&j, l->version->entry.version);
    dx_json_key(&j, "complete");
    dx_json_bool(&j, true);
    dx_json_end(&j);
    return body->failed ? dx_buf_fail(body, err, "answer") : DX_OK;
}

/* The dataset is asked of the domain's set first: membership and postings must agree. */
static int in_dataset(struct dx_version *v, uint64_t ordinal, uint32_t dataset_id,
                      struct dx_error *err)
{
    struct dx_dataset_set set;
    uint32_t rank;
    int rc = dx_membership_get(&v->membership, ordinal, &set, err);

    return rc < 0 ? rc : dx_dataset_set_rank(&set, dataset_id, &rank);
}

struct dx_task {
    struct dx_listing listing;
    struct dx_found found;
    const struct dx_dataset *dataset;
};

static int absent(const struct dx_version *v, const struct dx_found *found, uint32_t dataset_id,
                  struct dx_problem *problem)
{
    return dx_problem_set(problem, DX_PROBLEM_NOT_FOUND, "domain-not-in-dataset",
                          "This dataset does not contain this domain",
                          "%.*s is not in dataset %u of version %s. /v1/domain/%.*s lists the "
                          "datasets that contain it.",
                          (int)found->domain_size, (const char *)found->domain,
                          (unsigned)dataset_id, v->entry.version, (int)found->domain_size,
                          (const char *)found->domain);
}

/* Steps until something is waited for, or the answer is written. */
static int go_on(struct dx_task *task, struct dx_buf *body, struct dx_problem *problem)
{
    struct dx_listing *l = &task->listing;
    struct dx_error err = DX_ERROR_INIT;
    int rc = dx_listing_step(l, &err);

    if (rc == DX_LISTING_WAITS)
        return DX_TASK_WAITS;
    if (rc == DX_LISTING_DONE && !l->found)
        rc = dx_fail(&err, DX_E_CORRUPT,
                     "%s: domain 0x%016llx is in dataset %u by its set, but has no posting",
                     l->version->directory, (unsigned long long)l->domain_id,
                     (unsigned)l->dataset_id);
    if (rc == DX_OK)
        rc = write_answer(l, &task->found, task->dataset, body, &err);
    if (rc < 0) {
        dx_buf_clear(body);
        return dx_problem_of_error(problem, &err);
    }
    return 1;
}

int dx_task_urls(struct dx_version *v, struct dx_canon *canon, struct dx_span asked,
                 uint32_t dataset_id, struct dx_page_of page, unsigned fields, uint64_t deadline_ms,
                 struct dx_task **out, struct dx_buf *body, struct dx_problem *problem)
{
    struct dx_error err = DX_ERROR_INIT;
    const struct dx_dataset *dataset;
    struct dx_task *task;
    struct dx_found found;
    int rc = dx_lookup_domain(v, canon, asked, &found, problem);

    *out = NULL;
    if (rc == 1)
        rc = dx_lookup_dataset(v, dataset_id, &dataset, problem);
    if (rc <= 0)
        return rc;
    rc = in_dataset(v, found.ordinal, dataset_id, &err);
    if (rc == 0)
        return absent(v, &found, dataset_id, problem);
    task = rc < 0 ? NULL : malloc(sizeof *task);
    if (rc >= 0 && task == NULL)
        rc = dx_fail(&err, DX_E_NOMEM, "answer: out of memory");
    if (rc < 0)
        return dx_problem_of_error(problem, &err);
    task->found = found;
    task->dataset = dataset;
    dx_listing_init(&task->listing, v, found.domain_id, dataset_id, page, fields, deadline_ms);
    rc = go_on(task, body, problem);
    if (rc == DX_TASK_WAITS)
        *out = task;
    else
        dx_task_free(&task);
    return rc;
}

int dx_task_resume(struct dx_task *task, int rc, struct dx_error *err, struct dx_buf *body,
                   struct dx_problem *problem)
{
    rc = dx_listing_fetched(&task->listing, rc, err);
    return rc < 0 ? dx_problem_of_error(problem, err) : go_on(task, body, problem);
}

struct dx_reading *dx_task_reading(struct dx_task *task)
{
    return &task->listing.reading;
}

void dx_task_free(struct dx_task **task)
{
    if (*task != NULL)
        dx_listing_release(&(*task)->listing);
    free(*task);
    *task = NULL;
}

int dx_answer_urls(struct dx_version *v, struct dx_canon *canon, struct dx_span asked,
                   uint32_t dataset_id, struct dx_page_of page, unsigned fields,
                   struct dx_buf *body, struct dx_problem *problem)
{
    struct dx_task *task;
    int rc = dx_task_urls(v, canon, asked, dataset_id, page, fields, 0, &task, body, problem);

    while (rc == DX_TASK_WAITS) {
        struct dx_error err = DX_ERROR_INIT;

        rc = dx_reading_perform(dx_task_reading(task), &err);
        rc = dx_task_resume(task, rc, &err, body, problem);
    }
    dx_task_free(&task);
    return rc;
}

bool dx_fields_parse(struct dx_span text, unsigned *fields, struct dx_span *bad)
{
    static const struct {
        const char *name;
        unsigned field;
    } rows[] = { { "url_id", DX_FIELD_URL_ID },
                 { "url", DX_FIELD_URL },
                 { "ts", DX_FIELD_TS },
                 { "raw_url", DX_FIELD_RAW_URL },
                 { "extras", DX_FIELD_EXTRAS } };
    size_t at = 0;

    *fields = 0;
    while (at <= text.size) {
        const uint8_t *begin = text.data + at;
        const uint8_t *comma = at < text.size ? memchr(begin, ',', text.size - at) : NULL;
        struct dx_span word = { begin, comma == NULL ? text.size - at : (size_t)(comma - begin) };
        size_t i = 0;

        while (i < sizeof rows / sizeof rows[0] && !dx_span_equal(word, dx_span_str(rows[i].name)))
            i++;
        if (i == sizeof rows / sizeof rows[0]) {
            *bad = word;
            return false;
        }
        *fields |= rows[i].field;
        at += word.size + 1;
    }
    return true;
}
