/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/fraction.h"
#include "base/json_out.h"
#include "loader/version.h"
#include "query/answers/answer.h"
#include "query/answers/answer_end.h"
#include "query/answers/overlap.h"
#include "query/answers/task_kind.h"
#include "query/view/counts_json.h"
#include "query/view/view.h"

struct overlap_task {
    struct dx_task task; /* first */
    struct dx_version *v;
    struct dx_overlap *overlap;
    bool table;
    struct dx_read_batch nothing;
};

static void write_side(struct dx_json *j, const struct dx_overlap *o, int which)
{
    const struct dx_overlap_sums *s = dx_overlap_sums_of(o);
    const struct dx_dataset *dataset = dx_overlap_dataset(o, which);

    dx_json_key(j, which == 0 ? "a" : "b");
    dx_json_object(j);
    dx_json_key_u64(j, "dataset_id", dataset->dataset_id);
    dx_json_key(j, "name");
    dx_json_str(j, dataset->name);
    dx_counts_json_kind(j, dataset);
    dx_json_key_u64(j, "domain_count", s->domains[which]);
    dx_json_key(j, "url_count");
    dx_counts_json_pages(dataset) ? dx_json_null(j) : dx_json_u64(j, s->urls[which]);
    if (dx_counts_json_pages(dataset))
        dx_json_key_u64(j, "page_count", s->urls[which]);
    dx_json_end(j);
}

static void write_jaccard(struct dx_json *j, uint64_t common, uint64_t all)
{
    dx_json_key(j, "jaccard");
    dx_json_fraction(j, common, all);
    dx_json_end(j);
}

/* Pages of a dataset of counts cannot be compared with URLs. */
static bool of_urls(const struct dx_overlap *o)
{
    return !dx_counts_json_pages(dx_overlap_dataset(o, 0)) &&
           !dx_counts_json_pages(dx_overlap_dataset(o, 1));
}

static void write_urls(struct dx_json *j, const struct dx_overlap *o)
{
    const struct dx_overlap_sums *s = dx_overlap_sums_of(o);
    uint64_t max = s->urls[0] - s->min + s->urls[1];

    dx_json_key(j, "urls");
    if (!of_urls(o)) {
        dx_json_null(j);
        return;
    }
    dx_json_object(j);
    dx_json_key_u64(j, "shared_a", s->shared_urls[0]);
    dx_json_key_u64(j, "shared_b", s->shared_urls[1]);
    dx_json_key_u64(j, "only_a", s->urls[0] - s->shared_urls[0]);
    dx_json_key_u64(j, "only_b", s->urls[1] - s->shared_urls[1]);
    dx_json_key_u64(j, "min", s->min);
    dx_json_key_u64(j, "max", max);
    write_jaccard(j, s->min, max);
}

static void write_sides(struct dx_json *j, const struct dx_overlap *o)
{
    const struct dx_overlap_sums *s = dx_overlap_sums_of(o);

    write_side(j, o, 0);
    write_side(j, o, 1);
    dx_json_key(j, "domains");
    dx_json_object(j);
    dx_json_key_u64(j, "shared", s->shared);
    dx_json_key_u64(j, "only_a", s->domains[0] - s->shared);
    dx_json_key_u64(j, "only_b", s->domains[1] - s->shared);
    write_jaccard(j, s->shared, s->domains[0] - s->shared + s->domains[1]);
    write_urls(j, o);
}

/* a, b: of each. */
static void write_measure(struct dx_json *j, const char *name, const uint64_t of[2],
                          const uint64_t shared[2], uint64_t min)
{
    dx_json_object(j);
    dx_json_key(j, "measure");
    dx_json_str(j, name);
    dx_json_key_u64(j, "a", of[0]);
    dx_json_key_u64(j, "b", of[1]);
    dx_json_key_u64(j, "shared_a", shared[0]);
    dx_json_key_u64(j, "shared_b", shared[1]);
    dx_json_key_u64(j, "only_a", of[0] - shared[0]);
    dx_json_key_u64(j, "only_b", of[1] - shared[1]);
    dx_json_key_u64(j, "min", min);
    dx_json_key_u64(j, "max", of[0] - min + of[1]);
    write_jaccard(j, min, of[0] - min + of[1]);
}

static void write_table(struct dx_json *j, const struct dx_overlap *o)
{
    const struct dx_overlap_sums *s = dx_overlap_sums_of(o);

    dx_json_key(j, "measures");
    dx_json_array(j);
    write_measure(j, "domains", s->domains, (const uint64_t[]){ s->shared, s->shared }, s->shared);
    if (of_urls(o))
        write_measure(j, "urls", s->urls, s->shared_urls, s->min);
    dx_json_end(j);
}

static int write_answer(const struct dx_version *v, const struct dx_overlap *o, bool table,
                        struct dx_buf *body, struct dx_problem *problem)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_json j;
    int rc;

    dx_json_open(&j, body);
    dx_json_object(&j);
    table ? write_table(&j, o) : write_sides(&j, o);
    dx_answer_end(&j, v);
    if (!body->failed)
        return 1;
    rc = dx_buf_fail(body, &err, "answer");
    dx_buf_clear(body);
    (void)dx_problem_of_error(problem, &err);
    return rc;
}

static int step_task(struct dx_task *task, struct dx_buf *body, struct dx_problem *problem)
{
    struct overlap_task *t = (struct overlap_task *)task;
    int rc = dx_overlap_step(t->overlap, problem);

    if (rc == 0)
        return DX_TASK_WAITS;
    return rc == 1 ? write_answer(t->v, t->overlap, t->table, body, problem) : rc;
}

static struct dx_read_batch *reading(struct dx_task *task)
{
    return &((struct overlap_task *)task)->nothing;
}

static void release_task(struct dx_task *task)
{
    struct overlap_task *t = (struct overlap_task *)task;

    dx_overlap_free(&t->overlap);
    free(t);
}

int dx_task_overlap(const struct dx_view *view, struct dx_canon *canon, uint32_t a, uint32_t b,
                    bool table, struct dx_task **task, struct dx_buf *body,
                    struct dx_problem *problem)
{
    static const struct dx_task_kind kind = { step_task, NULL, reading, release_task };
    struct overlap_task *t = calloc(1, sizeof *t);
    int rc;

    *task = NULL;
    if (t == NULL)
        return dx_task_no_memory(problem);
    t->task.kind = &kind;
    t->v = view->version;
    t->table = table;
    dx_read_batch_begin(&t->nothing, view->version, NULL, 0);
    rc = dx_overlap_new(&t->overlap, view, canon, a, b, problem);
    if (rc == 1)
        rc = step_task(&t->task, body, problem);
    return dx_task_begun(&t->task, rc, task);
}

int dx_answer_overlap(const struct dx_view *view, struct dx_canon *canon, uint32_t a, uint32_t b,
                      struct dx_buf *body, struct dx_problem *problem)
{
    struct dx_overlap *o;
    int rc = dx_overlap_new(&o, view, canon, a, b, problem);

    if (rc != 1)
        return rc;
    do
        rc = dx_overlap_step(o, problem);
    while (rc == 0);
    if (rc == 1)
        rc = write_answer(view->version, o, false, body, problem);
    dx_overlap_free(&o);
    return rc;
}
