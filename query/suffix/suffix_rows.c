/* SPDX-License-Identifier: Apache-2.0 */
#include "query/suffix/suffix_rows.h"

#include "base/clock.h"
#include "loader/version.h"
#include "query/answers/task.h"

#define STEP_US 500

enum { FIND_DOMAIN, FIND_ROWS, WINDOW, FILTERED };

/* Beside DX_TASK_WAITS, problems and errors. */
enum { ENDED = 1, GO_ON = 3 };

int dx_suffix_rows_init(struct dx_suffix_rows *r, const struct dx_view *view,
                        const struct dx_suffix_what *what, dx_suffix_take *take, void *take_ctx,
                        struct dx_error *err)
{
    const struct dx_view urls = dx_view_urls(view);
    uint64_t now_ms = dx_clock_ms();

    *r = (struct dx_suffix_rows){
        .what = *what, .take = take, .take_ctx = take_ctx, .state = FIND_DOMAIN
    };
    r->half_ms = what->deadline_ms > now_ms ? now_ms + (what->deadline_ms - now_ms) / 2
                                            : what->deadline_ms;
    if (what->look_max == 0)
        r->what.look_max = DX_SUFFIX_DOMAINS;
    dx_read_batch_begin(&r->nothing, view->version, NULL, 0);
    return dx_domain_walk_init(&r->walk, &urls, what->dataset, what->suffix, err);
}

static bool has_filter(const struct dx_suffix_rows *r)
{
    return dx_row_filter_any(&r->what.filter);
}

static void leave_domain(struct dx_suffix_rows *r)
{
    if (r->state == FIND_DOMAIN)
        return;
    if (r->state == FILTERED)
        dx_filtered_domain_release(&r->filtered);
    dx_domain_rows_release(&r->rows);
    r->state = FIND_DOMAIN;
}

void dx_suffix_rows_release(struct dx_suffix_rows *r)
{
    leave_domain(r);
    dx_domain_walk_release(&r->walk);
    dx_read_batch_release(&r->nothing);
}

static bool is_late(const struct dx_suffix_rows *r)
{
    return r->passed > 1 && r->what.deadline_ms != 0 && dx_clock_ms() >= r->half_ms;
}

static bool is_enough(const struct dx_suffix_rows *r)
{
    return r->full || r->looked >= r->what.look_max || r->batches >= DX_SUFFIX_BATCHES ||
           r->rows_seen >= DX_FILTERED_LOOK_MAX || r->bytes_seen >= DX_LISTING_READ_MAX ||
           dx_row_filter_is_enough(&r->what.filter) || is_late(r);
}

static int end_before(struct dx_suffix_rows *r, uint64_t number, struct dx_domain_rows_place at)
{
    r->more = true;
    r->next = (struct dx_suffix_place){ number, at };
    return ENDED;
}

/* ---- domains ---- */

static int add_pairs(struct dx_suffix_rows *r, struct dx_error *err)
{
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < r->walk.pairs.count; i++) {
        uint32_t id = r->walk.pairs.ids[i];
        const struct dx_suppression_pair *hidden = dx_suppression_view_pair(&r->walk.withheld, id);

        if ((r->what.dataset != NULL && id != r->what.dataset->dataset_id) ||
            (hidden != NULL && hidden->visible.row_count == 0))
            continue;
        if (dx_view_dataset(&r->walk.view, r->walk.found.part, id, err) == NULL)
            return (int)err->code;
        rc = dx_domain_rows_add(&r->rows, id, &r->walk.pairs.counts[i], hidden, err);
    }
    return rc;
}

/* 1: r->rows has the visible rows of the domain that the walk came to, 0: there are none. */
static int enter_domain(struct dx_suffix_rows *r, struct dx_problem *problem)
{
    const struct dx_found *found = &r->walk.found;
    struct dx_error err = DX_ERROR_INIT;

    if (r->walk.pairs.count == 0)
        return 0;
    dx_domain_rows_init(&r->rows, r->walk.view.version, found->part, found->domain_id,
                        r->what.fields | DX_FIELD_URL, r->what.deadline_ms);
    r->state = FIND_ROWS;
    if (add_pairs(r, &err) < 0)
        return dx_problem_of_error(problem, &err);
    if (dx_domain_rows_total(&r->rows) > 0)
        return 1;
    leave_domain(r);
    return 0;
}

static int find_domain(struct dx_suffix_rows *r, struct dx_problem *problem)
{
    struct dx_domain_rows_place at = { 0, 0 };
    struct dx_error err = DX_ERROR_INIT;
    uint64_t number;
    int rc = DX_OK;

    if (r->goes_on && r->passed == 0)
        rc = dx_domain_walk_from(&r->walk, r->next.number, &err);
    if (rc < 0)
        return dx_problem_of_error(problem, &err);
    rc = dx_domain_walk_next(&r->walk, problem);
    if (rc == 0)
        return ENDED;
    number = r->walk.number;
    if (r->goes_on && r->passed == 0 && number == r->next.number)
        at = r->next.at;
    r->passed++;
    if (rc == DX_E_BUSY && r->passed > 1) /* the next page may know */
        return end_before(r, number, at);
    if (rc == 1)
        rc = enter_domain(r, problem);
    if (rc < 0)
        return rc;
    if (rc == 0)
        return is_late(r) ? end_before(r, number, at) : GO_ON;
    if (is_enough(r))
        return end_before(r, number, at);
    r->looked++;
    r->next = (struct dx_suffix_place){ number, at };
    return GO_ON;
}

/* ---- rows ---- */

static void begin_dataset(void *ctx, uint32_t dataset_id)
{
    struct dx_suffix_rows *r = ctx;

    r->dataset_id = dataset_id;
}

static int take_row(void *ctx, const struct dx_listing_row *row, struct dx_error *err)
{
    struct dx_suffix_rows *r = ctx;
    const struct dx_suffix_row out = { row,
                                       dx_span_of(r->walk.found.domain, r->walk.found.domain_size),
                                       r->dataset_id };
    int rc = r->take(r->take_ctx, &out, err);

    r->full = ++r->count >= r->what.limit || rc == 1 || r->full;
    return rc < 0 ? rc : (r->state == FILTERED && rc == 1);
}

static int astray(struct dx_problem *problem)
{
    return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "bad-cursor", "Bad cursor",
                          "this cursor names rows behind the end of a dataset");
}

/* What is left of the domain at hand, or the next one. */
static int find_rows(struct dx_suffix_rows *r, struct dx_problem *problem)
{
    const struct dx_domain_rows_taker taker = { .ctx = r,
                                                .dataset = begin_dataset,
                                                .row = take_row };
    struct dx_filtered_domain_ask ask = { .filter = r->what.filter,
                                          .first = r->next.at,
                                          .limit = r->what.limit - r->count };
    struct dx_error err = DX_ERROR_INIT;
    uint64_t total = dx_domain_rows_total(&r->rows);
    uint64_t offset = 0;

    if (!dx_domain_rows_before(&r->rows, &r->next.at, &offset))
        return astray(problem);
    if (offset >= total) {
        leave_domain(r);
        return GO_ON;
    }
    if (is_enough(r) && (r->full || r->count > 0 || r->rows_seen > 0 || r->batches > 0))
        return end_before(r, r->next.number, r->next.at);
    if (has_filter(r)) {
        ask.end = dx_domain_rows_place(&r->rows, total);
        dx_filtered_domain_init(&r->filtered, &r->rows, &ask, &taker);
        r->state = FILTERED;
        return GO_ON;
    }
    if (dx_domain_rows_begin(&r->rows, offset,
                             ask.limit < total - offset ? ask.limit : total - offset, &err) < 0)
        return dx_problem_of_error(problem, &err);
    r->state = WINDOW;
    return GO_ON;
}

static int advance(struct dx_suffix_rows *r, struct dx_error *err)
{
    const struct dx_domain_rows_taker taker = { .ctx = r,
                                                .dataset = begin_dataset,
                                                .row = take_row };
    int rc;

    if (r->state == FILTERED) {
        rc = dx_filtered_domain_step(&r->filtered, err);
        if (rc != DX_LISTING_DONE)
            return rc;
        r->next.at = r->filtered.next;
        r->rows_seen += r->filtered.rows_seen;
        r->pages_seen += r->filtered.pages_seen;
        r->bytes_seen += r->filtered.bytes_seen;
        dx_filtered_domain_release(&r->filtered);
    } else {
        rc = dx_domain_rows_step(&r->rows, err);
        if (rc == DX_LISTING_DONE)
            rc = dx_domain_rows_each(&r->rows, &taker, err) < 0 ? err->code : DX_LISTING_DONE;
        if (rc != DX_LISTING_DONE)
            return rc;
        r->next.at = r->rows.next;
        dx_domain_rows_rewind(&r->rows);
    }
    r->state = FIND_ROWS;
    return DX_LISTING_DONE;
}

/* ---- steps ---- */

static int read_rows(struct dx_suffix_rows *r, struct dx_problem *problem)
{
    struct dx_error err = DX_ERROR_INIT;
    int rc = advance(r, &err);

    if (rc == DX_LISTING_WAITS) {
        r->batches += dx_read_batch_state(dx_suffix_rows_reading(r)) == DX_READ_BATCH_READ;
        return DX_TASK_WAITS;
    }
    return rc == DX_LISTING_DONE
               ? GO_ON
               : dx_problem_advised(problem, &err, "Ask for fewer rows with a smaller limit.");
}

int dx_suffix_rows_step(struct dx_suffix_rows *r, struct dx_problem *problem)
{
    int64_t until_us = dx_clock_us() + STEP_US;
    int rc = GO_ON;

    while (rc == GO_ON) {
        bool reads = r->state == WINDOW || r->state == FILTERED;

        /* For nothing: others have their turn. */
        if (!reads && dx_clock_us() >= until_us)
            return DX_TASK_WAITS;
        rc = reads                     ? read_rows(r, problem)
             : r->state == FIND_DOMAIN ? find_domain(r, problem)
                                       : find_rows(r, problem);
    }
    return rc;
}

struct dx_read_batch *dx_suffix_rows_reading(struct dx_suffix_rows *r)
{
    return r->state == WINDOW     ? dx_domain_rows_reading(&r->rows)
           : r->state == FILTERED ? dx_filtered_domain_reading(&r->filtered)
                                  : &r->nothing;
}

int dx_suffix_rows_fetched(struct dx_suffix_rows *r, int rc, struct dx_error *err)
{
    return r->state == WINDOW     ? dx_domain_rows_fetched(&r->rows, rc, err)
           : r->state == FILTERED ? dx_filtered_domain_fetched(&r->filtered, rc, err)
                                  : rc;
}
