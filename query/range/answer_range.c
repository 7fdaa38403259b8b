/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "loader/followed/domain64_live.h"
#include "loader/version.h"
#include "query/range/range_task.h"
#include "query/view/lookup.h"

#define TLDS 256 /* numbers of them, the highest byte; then 24 bits of a domain, in each layout */
#define DOMAINS (UINT64_C(1) << 24)

struct numbers_task {
    struct dx_range_task of;
    struct dx_domain64_registry *numbers;
};

static void head(const struct dx_range_task *task, struct dx_json *j)
{
    const struct dx_domain64_range *range = &task->what.range;

    dx_tag_page_head(&task->page, j); /* first of all: what the log of requests tells */
    dx_json_key(j, "from");
    dx_json_hex64(j, range->from);
    dx_json_key(j, "to");
    if (range->to != 0)
        dx_json_hex64(j, range->to);
    else
        dx_json_str(j, "0x10000000000000000");
    dx_json_key(j, "layout");
    dx_json_str(j, dx_domain64_layout_name(task->what.numbers->layout));
}

static void put(const struct dx_range_task *task, struct dx_cursor *c)
{
    c->numbers = dx_domain64_registry_state(task->what.numbers);
    c->first = task->what.range.from;
    c->end = task->what.range.to;
}

static int check(const struct dx_range_task *task, struct dx_error *err)
{
    return dx_domain64_registry_intact(task->what.numbers, err);
}

static void release(struct dx_range_task *task)
{
    dx_domain64_registry_close(&((struct numbers_task *)task)->numbers);
}

/* ---- a plan ---- */

/* Domains of a TLD that are in the range: their numbers are given one after the other from 1 on. */
struct stretch {
    uint64_t first, count; /* first: a number without the fields below domains */
};

static int find_stretch(const struct dx_range_task *task, uint64_t tld, struct stretch *s,
                        struct dx_error *err)
{
    const struct dx_domain64_range *range = &task->what.range;
    uint64_t first = range->from >> 32;
    uint64_t end = range->to == 0 ? UINT64_MAX : (range->to - 1) >> 32; /* the last one */
    uint64_t found = 0;
    int rc;

    *s = (struct stretch){ tld * DOMAINS + 1, 0 };
    if (tld == TLDS - 1)
        rc = dx_domain64_registry_before(task->what.numbers, UINT64_MAX, &found, err);
    else
        rc = dx_domain64_registry_before(task->what.numbers, (tld + 1) << 56, &found, err);
    found >>= 32;
    if (s->first < first)
        s->first = first;
    if (found > end)
        found = end;
    if (rc == 1 && found >= s->first)
        s->count = found + 1 - s->first;
    return rc;
}

/* Parts with about as many domains of the registry each. */
static int split_range(struct dx_range_task *task, uint64_t bounds[DX_PLAN_MAX + 1],
                       struct dx_error *err)
{
    struct stretch all[TLDS];
    const struct dx_domain64_range *range = &task->what.range;
    unsigned parts = task->ask.plan;
    uint64_t total = 0;
    uint64_t before = 0; /* domains of TLDs before `tld` */
    uint64_t tld = 0;
    int rc = DX_OK;

    for (uint64_t i = 0; rc >= 0 && i < TLDS; i++) {
        rc = find_stretch(task, i, &all[i], err);
        total += all[i].count;
    }
    bounds[0] = range->from;
    for (unsigned k = 1; rc >= 0 && k < parts; k++) {
        uint64_t n = total / parts * k + total % parts * k / parts;

        while (tld < TLDS - 1 && before + all[tld].count <= n)
            before += all[tld++].count;
        bounds[k] = n == 0 ? bounds[0] : (all[tld].first + (n - before)) << 32;
        if (bounds[k] <= range->from) /* no part ends at 0, which means beyond all */
            bounds[k] = range->from > 0 ? range->from : 1;
        if (range->to != 0 && bounds[k] > range->to)
            bounds[k] = range->to;
    }
    bounds[parts] = range->to;
    return rc;
}

/* Cursors of parts are those of ranges of their own. */
static void part(struct dx_cursor *c, uint64_t first, uint64_t end)
{
    c->first = first;
    c->end = end;
    c->next_number = first & ~(uint64_t)UINT32_MAX;
}

static const struct dx_range_question question = { .cursor = DX_CURSOR_RANGE,
                                                   .head = head,
                                                   .put = put,
                                                   .split = split_range,
                                                   .part = part,
                                                   .check = check,
                                                   .release = release };

/* ---- before it ---- */

static int pin_numbers(const struct dx_numbers_ask *ask, struct dx_domain64_registry **numbers,
                       struct dx_problem *problem)
{
    const struct dx_cursor *from = ask->page.paging.from;
    struct dx_error err = DX_ERROR_INIT;
    int rc = dx_domain64_live_pin(ask->numbers, from == NULL ? NULL : &from->numbers, numbers,
                                  &err);

    if (rc < 0)
        return dx_problem_of_error(problem, &err);
    if (rc == 1)
        return 1;
    if (from != NULL)
        return dx_problem_set(problem, DX_PROBLEM_GONE, "numbers-gone",
                              "More has been numbered since",
                              "this server does not have the registry any more, or not yet, as it "
                              "was when this listing began; begin again without the cursor");
    return dx_problem_set(problem, DX_PROBLEM_NOT_FOUND, "no-registry",
                          "There is no domain64 registry",
                          "the names of this index have no domain64; `domaindex domain64 init` and "
                          "`fill` give them numbers");
}

/* Numbers are assigned in order of names: visible ones would reveal how many hidden names there are. */
static int check_scope(const struct dx_view *view, struct dx_problem *problem)
{
    if (!dx_view_restricted(view))
        return 1;
    return dx_problem_set(problem, DX_PROBLEM_FORBIDDEN, "restricted", "Not for restricted callers",
                          "numbers reveal all names that have been indexed, so only callers "
                          "that may see every dataset can list ranges");
}

int dx_task_numbers(const struct dx_view *view, const struct dx_numbers_ask *ask,
                    struct dx_task **out, struct dx_buf *body, struct dx_problem *problem)
{
    struct numbers_task *task;
    int rc = check_scope(view, problem);

    *out = NULL;
    if (rc != 1)
        return rc;
    task = calloc(1, sizeof *task);
    if (task == NULL)
        return dx_task_no_memory(problem);
    rc = dx_range_task_init(&task->of, &question, view, &ask->page, problem);
    if (rc == 1)
        rc = pin_numbers(ask, &task->numbers, problem);
    task->of.what.numbers = task->numbers;
    task->of.what.range = (struct dx_domain64_range){ ask->first, ask->end };
    if (rc == 1)
        rc = dx_range_task_begin(&task->of, body, problem);
    return dx_task_begun(&task->of.task, rc, out);
}
