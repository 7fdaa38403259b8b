/* SPDX-License-Identifier: Apache-2.0 */
#include "query/range/answer_suffix.h"

#include <stdlib.h>

#include "base/id_hash.h"
#include "loader/version.h"
#include "query/range/range_task.h"
#include "query/range/suffix_name.h"
#include "query/range/suffix_sums.h"
#include "query/scan/domain_split.h"
#include "query/view/suppressed.h"

#define SUM_DOMAINS (1u << 20) /* that are counted for an offset: some 0.2 s */

struct suffix_task {
    struct dx_range_task of;
    struct dx_suffix_name name;
    uint64_t total; /* with an offset; by the rules of `line` */
    uint64_t line;
};

static const struct dx_suffix_name *name_of(const struct dx_range_task *task)
{
    return &((const struct suffix_task *)task)->name;
}

static void head(const struct dx_range_task *task, struct dx_json *j)
{
    dx_suffix_name_json(name_of(task), j);
    dx_tag_page_head(&task->page, j);
    if (task->ask.offset == 0)
        return;
    dx_json_key_u64(j, "total", ((const struct suffix_task *)task)->total);
    dx_json_key_u64(j, "offset", task->ask.offset);
}

static void put(const struct dx_range_task *task, struct dx_cursor *c)
{
    c->tag_hash = dx_id64(name_of(task)->suffix);
    c->has_end = task->page.goes_on && task->page.from.has_end;
    c->end = c->has_end ? task->page.from.end : 0;
}

static void part(struct dx_cursor *c, uint64_t first, uint64_t end)
{
    c->next_number = first;
    c->has_end = true;
    c->end = end;
}

static int split(struct dx_range_task *task, uint64_t bounds[DX_PLAN_MAX + 1], struct dx_error *err)
{
    const struct dx_view *view = &task->page.view;
    uint64_t max = task->ask.look_max > 0 ? task->ask.look_max : DX_DOMAIN_SPLIT_MAX;
    struct dx_domain_set set;
    int rc = dx_domain_set_init(&set, view, task->page.dataset, task->what.suffix, err);

    if (rc == DX_OK)
        rc = dx_domain_set_count(&set, max, err);
    if (rc >= 0)
        rc = dx_domain_split(&set, view->version->numbers, task->ask.plan, bounds, err);
    dx_domain_set_release(&set);
    return rc;
}

/* Rows were counted twice: all of them, and those before the page. */
static int check(const struct dx_range_task *task, struct dx_error *err)
{
    const struct dx_version *v = task->page.view.version;

    if (task->ask.offset == 0 || ((const struct suffix_task *)task)->line == dx_suppressed_line(v))
        return DX_OK;
    return dx_fail(err, DX_E_BUSY, "%s: suppressions changed while rows were counted",
                   v->entry.version);
}

static const struct dx_range_question question = { .cursor = DX_CURSOR_SUFFIX_URLS,
                                                   .head = head,
                                                   .put = put,
                                                   .split = split,
                                                   .part = part,
                                                   .check = check };

/* All rows of the suffix: 1, or the problem. */
static int count_rows(struct suffix_task *task, struct dx_canon *canon, struct dx_problem *problem)
{
    uint64_t max = task->of.ask.look_max > 0 ? task->of.ask.look_max : SUM_DOMAINS;
    struct dx_suffix_sum sum = { .domains = 0 };
    struct dx_suffix_sums sums;
    uint64_t place = 0;
    int rc = dx_suffix_sums_begin(&sums, &task->of.page.view, canon, task->name.suffix, max,
                                  problem);

    if (rc == 1)
        rc = dx_suffix_sums_add(&sums, task->of.page.dataset, &place, &sum, NULL, problem);
    task->total = sum.counts.row_count;
    task->line = sums.line;
    dx_suffix_sums_release(&sums);
    if (rc != 0)
        return rc;
    return dx_problem_set(
        problem, DX_PROBLEM_TOO_MUCH, "too-much", "The answer is over a limit",
        "an offset is counted over all domains of %.*s, and at most %llu may be "
        "counted: ask for a name below it or one dataset, go on with next_cursor, "
        "or ask for a plan",
        (int)task->name.suffix.size, (const char *)task->name.suffix.data, (unsigned long long)max);
}

static int begin_task(struct suffix_task *task, struct dx_canon *canon, struct dx_buf *body,
                      struct dx_problem *problem)
{
    const struct dx_cursor *from = &task->of.page.from;
    uint64_t numbers = task->of.page.view.version->numbers;

    task->of.what.suffix = task->name.suffix;
    /* An empty part of a plan may begin where all domains end. */
    if (task->of.page.goes_on &&
        (from->tag_hash != dx_id64(task->name.suffix) || from->next_number > numbers ||
         (from->next_number == numbers && !from->has_end) ||
         (from->has_end && from->end > numbers)))
        return dx_tag_page_mismatch("another suffix", problem);
    if (task->of.ask.offset > 0) {
        int rc = count_rows(task, canon, problem);

        if (rc != 1)
            return rc;
    }
    return dx_range_task_begin(&task->of, body, problem);
}

int dx_task_suffix_urls(const struct dx_view *view, struct dx_canon *canon,
                        const struct dx_suffix_urls_ask *ask, struct dx_task **out,
                        struct dx_buf *body, struct dx_problem *problem)
{
    struct suffix_task *task = calloc(1, sizeof *task);
    int rc;

    *out = NULL;
    if (task == NULL)
        return dx_task_no_memory(problem);
    rc = dx_range_task_init(&task->of, &question, view, &ask->page, problem);
    if (rc == 1)
        rc = dx_suffix_name_read(&task->name, canon, ask->asked, problem);
    if (rc == 1)
        rc = begin_task(task, canon, body, problem);
    return dx_task_begun(&task->of.task, rc, out);
}
