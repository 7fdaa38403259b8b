/* SPDX-License-Identifier: Apache-2.0 */
#include "base/civil_time.h"
#include "base/json_out.h"
#include "loader/domain_pairs.h"
#include "loader/version.h"
#include "query/answers/answer_end.h"
#include "query/answers/task_kind.h"
#include "query/scan/timeline.h"
#include "query/suppression/counts_only.h"
#include "query/suppression/suppression_view.h"
#include "query/view/dataset_list.h"
#include "query/view/domain_json.h"
#include "query/view/lookup.h"
#include "query/view/view.h"

#include <stdlib.h>

#define US_PER_DAY INT64_C(86400000000)
#define ADVICE "Ask for some of the datasets with dataset=."

struct timeline_task {
    struct dx_task task;
    struct dx_view view;
    struct dx_found found;
    enum dx_timeline_by by;
    struct dx_suppression_view withheld;
    struct dx_dataset_list only; /* count 0: all datasets */
    struct dx_timeline timeline;
    size_t dataset_count;
    uint64_t withheld_rows;
    uint64_t counts_only; /* datasets that are left out */
};

/* ---- the answer ---- */

static const char *by_word(enum dx_timeline_by by)
{
    return by == DX_TIMELINE_YEAR ? "year" : by == DX_TIMELINE_MONTH ? "month" : "day";
}

/* "2019", "2019-07" or "2019-07-04": what the text of a time begins with. */
static size_t period_size(enum dx_timeline_by by)
{
    return by == DX_TIMELINE_YEAR ? 4 : by == DX_TIMELINE_MONTH ? 7 : 10;
}

static void write_period(const char *text, size_t size, uint64_t rows, struct dx_json *j)
{
    if (rows == 0)
        return;
    dx_json_object(j);
    dx_json_key(j, "period");
    dx_json_text(j, dx_span_of(text, size));
    dx_json_key_u64(j, "row_count", rows);
    dx_json_end(j);
}

static void write_periods(const struct timeline_task *t, struct dx_json *j)
{
    const struct dx_timeline *line = &t->timeline;
    size_t size = period_size(t->by);
    char period[DX_CIVIL_TEXT] = "";
    uint64_t rows = 0;

    dx_json_key(j, "periods");
    dx_json_array(j);
    for (size_t i = 0; i < line->days; i++) {
        char text[DX_CIVIL_TEXT];

        if (line->rows[i] == 0)
            continue;
        (void)dx_civil_text_us((line->first_day + (int64_t)i) * US_PER_DAY, text);
        if (memcmp(text, period, size) != 0) {
            write_period(period, size, rows, j);
            memcpy(period, text, sizeof period);
            rows = 0;
        }
        rows += line->rows[i];
    }
    write_period(period, size, rows, j);
    dx_json_end(j);
}

static void write_time(const char *key, bool has, int64_t us, struct dx_json *j)
{
    dx_json_key(j, key);
    has ? dx_json_time_us(j, us) : dx_json_null(j);
}

static int write_answer(const struct timeline_task *t, struct dx_buf *body, struct dx_error *err)
{
    const struct dx_timeline *line = &t->timeline;
    struct dx_json j;

    dx_answer_summarize(t->task.summary,
                        (struct dx_answer_summary){ .domain_id = t->found.domain_id,
                                                    .has_domain_id = true,
                                                    .datasets = t->dataset_count,
                                                    .rows = line->row_count });
    dx_json_open(&j, body);
    dx_json_object(&j);
    dx_domain_json(&j, dx_span_of(t->found.domain, t->found.domain_size));
    dx_json_key(&j, "domain_id");
    dx_json_hex64(&j, t->found.domain_id);
    dx_json_key(&j, "by");
    dx_json_str(&j, by_word(t->by));
    dx_json_key_u64(&j, "dataset_count", t->dataset_count);
    dx_json_key_u64(&j, "row_count", line->row_count);
    dx_json_key_u64(&j, "untimed_row_count", line->untimed);
    if (t->withheld_rows > 0)
        dx_json_key_u64(&j, "withheld_rows", t->withheld_rows);
    if (t->counts_only > 0)
        dx_json_key_u64(&j, "counts_only_datasets", t->counts_only);
    write_time("first_ts", line->has_ts, line->first_us, &j);
    write_time("last_ts", line->has_ts, line->last_us, &j);
    write_periods(t, &j);
    dx_answer_cost(&j, t->view.version, line->rows_read, line->pages_read, line->bytes_read);
    dx_answer_end(&j, t->view.version);
    return body->failed ? dx_buf_fail(body, err, "answer") : DX_OK;
}

/* ---- the task ---- */

static int step_task(struct dx_task *of, struct dx_buf *body, struct dx_problem *problem)
{
    struct timeline_task *t = (struct timeline_task *)of;
    struct dx_error err = DX_ERROR_INIT;
    int rc = dx_timeline_step(&t->timeline, &err);

    if (rc == DX_LISTING_WAITS)
        return DX_TASK_WAITS;
    if (rc == DX_LISTING_DONE)
        rc = write_answer(t, body, &err);
    if (rc >= 0)
        return 1;
    dx_buf_clear(body);
    return dx_problem_advised(problem, &err, ADVICE);
}

static int fetched(struct dx_task *of, int rc, struct dx_error *err)
{
    return dx_timeline_fetched(&((struct timeline_task *)of)->timeline, rc, err);
}

static struct dx_read_batch *reading(struct dx_task *of)
{
    return dx_timeline_reading(&((struct timeline_task *)of)->timeline);
}

static void release_task(struct dx_task *of)
{
    struct timeline_task *t = (struct timeline_task *)of;

    dx_timeline_release(&t->timeline);
    dx_suppression_view_release(&t->withheld);
    free(t);
}

static const struct dx_task_kind kind = { step_task, fetched, reading, release_task };

/* ---- before it ---- */

/* Of a pair that is shown and asked for; *all_hidden: the first without a visible row. */
static int add_pair(struct timeline_task *t, uint32_t dataset_id,
                    const struct dx_pair_count *counts,
                    const struct dx_suppression_pair **all_hidden, struct dx_error *err)
{
    const struct dx_suppression_pair *hidden = dx_suppression_view_pair(&t->withheld, dataset_id);

    if (hidden != NULL)
        t->withheld_rows += hidden->withheld_rows;
    if (hidden != NULL && hidden->visible.row_count == 0) {
        *all_hidden = *all_hidden == NULL ? hidden : *all_hidden;
        return DX_OK;
    }
    t->dataset_count++;
    return dx_timeline_add(&t->timeline, dataset_id, counts, hidden, err);
}

static int add_pairs(struct timeline_task *t, struct dx_problem *problem)
{
    const struct dx_suppression_pair *all_hidden = NULL;
    struct dx_domain_pairs pairs = DX_DOMAIN_PAIRS_INIT;
    struct dx_error err = DX_ERROR_INIT;
    int rc = dx_view_pairs(&pairs, &t->view, t->found.part, t->found.ordinal, &err);

    for (size_t i = 0; rc >= 0 && i < pairs.count; i++)
        if (t->only.count == 0 || dx_dataset_list_has(&t->only, pairs.ids[i]))
            rc = add_pair(t, pairs.ids[i], &pairs.counts[i], &all_hidden, &err);
    dx_domain_pairs_release(&pairs);
    if (rc >= 0 && t->only.count == 0)
        rc = dx_counts_only_datasets(&t->view, &t->found, &t->withheld, &t->counts_only, &err);
    if (rc >= 0 && t->dataset_count > 0)
        rc = dx_timeline_begin(&t->timeline, &err);
    if (rc < 0)
        return dx_problem_advised(problem, &err, ADVICE);
    if (t->dataset_count > 0)
        return 1;
    if (t->counts_only > 0)
        return dx_lookup_counts_only("Each dataset with this domain", problem);
    if (all_hidden != NULL)
        return dx_suppression_view_no_pair(&t->view, &t->found, all_hidden, problem);
    return t->only.count > 0
               ? dx_lookup_no_pair(&t->view, &t->found, t->only.ids[0], problem)
               : dx_lookup_no_domain(&t->view, dx_span_of(t->found.domain, t->found.domain_size),
                                     problem);
}

int dx_task_timeline(const struct dx_view *view, struct dx_canon *canon,
                     const struct dx_timeline_ask *ask, struct dx_task **out,
                     struct dx_answer_summary *summary, struct dx_buf *body,
                     struct dx_problem *problem)
{
    struct timeline_task *t = calloc(1, sizeof *t);
    int rc;

    *out = NULL;
    if (t == NULL)
        return dx_task_no_memory(problem);
    t->task.kind = &kind;
    t->task.summary = summary;
    t->view = dx_view_urls(view);
    t->by = ask->by;
    rc = dx_lookup_domain(view, canon, ask->asked, &t->found, problem);
    dx_timeline_init(&t->timeline, view->version, t->found.part, t->found.ordinal,
                     ask->deadline_ms);
    if (rc == 1) /* before all that would tell a hidden domain from one that is not there */
        rc = dx_suppression_view_of(view, &t->found, &t->withheld, problem);
    if (rc == 1 && ask->datasets.data != NULL)
        rc = dx_dataset_list_parse(&t->only, &t->view, ask->datasets, problem);
    if (rc == 1)
        rc = add_pairs(t, problem);
    if (rc == 1)
        rc = step_task(&t->task, body, problem);
    return dx_task_begun(&t->task, rc, out);
}
