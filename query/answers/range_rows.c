/* SPDX-License-Identifier: Apache-2.0 */
#include "query/answers/range_rows.h"

#include "base/clock.h"
#include "loader/version.h"
#include "query/answers/task.h"

#define STEP_US 500
#define CHUNK_ROWS \
    1000 /* where not all rows of a domain are in the range, so many are read at least */
#define DOMAIN_NUMBERS (UINT64_C(1) << 32) /* in both layouts */

enum { FIND_DOMAIN, FIND_PAIR, READ_ROWS };

enum { GO_ON = 0, ENDED = 1 };

void dx_range_rows_init(struct dx_range_rows *r, const struct dx_view *view,
                        const struct dx_domain64_registry *numbers,
                        const struct dx_range_what *what, dx_range_take *take, void *take_ctx,
                        uint64_t deadline_ms)
{
    uint64_t now_ms = dx_clock_ms();

    *r = (struct dx_range_rows){ .view = dx_view_urls(view),
                                 .numbers = numbers,
                                 .what = *what,
                                 .take = take,
                                 .take_ctx = take_ctx,
                                 .deadline_ms = deadline_ms,
                                 .state = FIND_DOMAIN,
                                 .pairs = DX_DOMAIN_PAIRS_INIT };
    r->half_ms = deadline_ms > now_ms ? now_ms + (deadline_ms - now_ms) / 2 : deadline_ms;
    if (what->look_max == 0)
        r->what.look_max = DX_RANGE_DOMAINS;
    r->next.number = what->range.from & ~(DOMAIN_NUMBERS - 1);
    dx_read_batch_begin(&r->nothing, view->version, NULL, 0);
    dx_listing_init(&r->listing, view->version, NULL, 0, 0, (struct dx_page_of){ 0, 0 }, 0, 0);
    dx_row_number_begin(&r->row_number, numbers, dx_span_of(NULL, 0), 0);
}

static void leave_domain(struct dx_range_rows *r)
{
    dx_suppression_view_release(&r->withheld);
    dx_row_number_end(&r->row_number);
    r->withheld = (struct dx_suppression_view){ .entry = NULL };
}

void dx_range_rows_release(struct dx_range_rows *r)
{
    leave_domain(r);
    dx_domain_pairs_release(&r->pairs);
    dx_listing_release(&r->listing);
    dx_read_batch_release(&r->nothing);
}

static int ended(struct dx_range_rows *r, bool more)
{
    r->more = more;
    return ENDED;
}

/* ---- domains ---- */

static bool is_over(const struct dx_range_rows *r, uint64_t number)
{
    return r->what.range.to != 0 && number >= r->what.range.to;
}

/* Behind the domain at hand. */
static int next_domain(struct dx_range_rows *r)
{
    uint64_t end = r->next.number + DOMAIN_NUMBERS;

    r->state = FIND_DOMAIN;
    r->next = (struct dx_range_place){ .number = end };
    return end == 0 || is_over(r, end) ? ended(r, false) : GO_ON;
}

/* "jadud.com" of the number of a domain: 1, or 0 of a number that nothing has. */
static int name_of(const struct dx_range_rows *r, uint64_t number, struct dx_found *found,
                   struct dx_error *err)
{
    struct dx_buf name = DX_BUF_INIT(2 * DX_NUMBER_NAME_MAX);
    int rc = dx_domain64_registry_names(r->numbers, number, &name, err);

    found->domain_size = name.size > 0 ? name.size - 1 : 0; /* without the '/' */
    if (rc == 1 && found->domain_size <= sizeof found->domain)
        memcpy(found->domain, name.data, found->domain_size);
    else if (rc == 1)
        rc = 0; /* no version has so long a domain */
    dx_buf_release(&name);
    return rc;
}

/* 1: the domain at hand has rows that may be shown, 0, or <0. */
static int enter_domain(struct dx_range_rows *r, struct dx_problem *problem)
{
    struct dx_version *v = r->view.version;
    struct dx_found *found = &r->found;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_span name;
    int rc = name_of(r, r->next.number, found, &err);

    name = dx_span_of(found->domain, found->domain_size);
    if (rc == 1)
        rc = dx_version_find(v, name, &found->part, &found->ordinal, &found->domain_id, &err);
    if (rc == 1)
        rc = dx_view_pairs(&r->pairs, &r->view, found->part, found->ordinal, &err);
    if (rc < 0)
        return dx_problem_of_error(problem, &err);
    if (rc == 1) {
        rc = dx_suppression_view_of(&r->view, found, &r->withheld, problem);
        if (rc < 0) /* the message would name a domain that was not requested */
            return dx_suppression_view_unknown(rc, problem);
    }
    if (rc == 1)
        dx_row_number_begin(&r->row_number, r->numbers, name, r->next.number);
    return rc;
}

static bool is_enough(const struct dx_range_rows *r)
{
    bool some = r->looked + r->rows > 0;

    return r->full || r->looked >= r->what.look_max || r->rows >= DX_RANGE_ROWS ||
           r->batches >= DX_RANGE_BATCHES ||
           (some && r->deadline_ms != 0 && dx_clock_ms() >= r->half_ms);
}

static int find_domain(struct dx_range_rows *r, struct dx_problem *problem)
{
    struct dx_error err = DX_ERROR_INIT;
    uint64_t number = 0;
    int rc;

    rc = dx_domain64_registry_domain(r->numbers, r->next.number, &number, &err);
    if (rc < 0)
        return dx_problem_of_error(problem, &err);
    if (rc == 0 || is_over(r, number))
        return ended(r, false);
    if (is_enough(r))
        return ended(r, true);
    if (number != r->next.number)
        r->next = (struct dx_range_place){ .number = number };
    rc = enter_domain(r, problem);
    if (rc == DX_E_BUSY && r->looked > 0)
        return ended(r, true); /* before it: the next page may know */
    if (rc < 0)
        return rc;
    r->looked++;
    if (rc == 0)
        return next_domain(r);
    r->state = FIND_PAIR;
    return GO_ON;
}

/* ---- pairs ---- */

static int next_pair(struct dx_range_rows *r)
{
    r->state = FIND_PAIR;
    r->next.row = 0;
    if (r->next.dataset_id++ < UINT32_MAX)
        return GO_ON;
    leave_domain(r);
    return next_domain(r);
}

/* The first from r->next on that may be listed; NULL: none. */
static const uint32_t *pair_of(const struct dx_range_rows *r)
{
    for (size_t i = 0; i < r->pairs.count; i++)
        if (r->pairs.ids[i] >= r->next.dataset_id &&
            (!r->what.one_dataset || r->pairs.ids[i] == r->what.dataset_id))
            return &r->pairs.ids[i];
    return NULL;
}

static bool is_whole(const struct dx_range_rows *r)
{
    uint64_t end = r->next.number + DOMAIN_NUMBERS;

    return r->next.number >= r->what.range.from &&
           (r->what.range.to == 0 || (end != 0 && end <= r->what.range.to));
}

static uint64_t chunk_of(const struct dx_range_rows *r)
{
    uint64_t rows = r->what.limit - r->count;

    if (!is_whole(r) && rows < CHUNK_ROWS)
        rows = CHUNK_ROWS;
    return rows < DX_RANGE_ROWS - r->rows ? rows : DX_RANGE_ROWS - r->rows;
}

static int find_pair(struct dx_range_rows *r, struct dx_problem *problem)
{
    const uint32_t *id = pair_of(r);
    struct dx_error err = DX_ERROR_INIT;

    if (id == NULL) {
        leave_domain(r);
        return next_domain(r);
    }
    if (*id != r->next.dataset_id)
        r->next = (struct dx_range_place){ .number = r->next.number, .dataset_id = *id };
    r->hidden = dx_suppression_view_pair(&r->withheld, *id);
    if (r->hidden != NULL && r->hidden->visible.row_count == 0)
        return next_pair(r);
    if (is_enough(r) && r->looked > 0 && (r->full || r->rows > 0 || r->batches > 0))
        return ended(r, true);
    r->dataset = dx_view_dataset(&r->view, r->found.part, *id, &err);
    if (r->dataset == NULL)
        return dx_problem_of_error(problem, &err);
    dx_listing_init(&r->listing, r->view.version, r->found.part, r->found.ordinal, *id,
                    (struct dx_page_of){ r->next.row, chunk_of(r) }, r->what.fields | DX_FIELD_URL,
                    r->deadline_ms);
    r->place = r->next.row;
    r->state = READ_ROWS;
    return GO_ON;
}

/* ---- rows ---- */

static int take_row(void *ctx, const struct dx_listing_row *row, struct dx_error *err)
{
    struct dx_range_rows *r = ctx;
    uint64_t place = r->place++;
    struct dx_range_row out = { .row = row, .dataset = r->dataset };
    int rc;

    if (r->full)
        return DX_OK;
    r->next.row = place + 1;
    if (dx_suppression_view_hidden(r->hidden, place))
        return DX_OK;
    rc = dx_row_number_of(&r->row_number, row, &out.number, err);
    if (rc != 1 || !dx_domain64_in(&r->what.range, out.number))
        return rc < 0 ? rc : DX_OK;
    out.domain = r->row_number.domain;
    rc = r->take(r->take_ctx, &out, err);
    r->full = ++r->count == r->what.limit || rc == 1;
    return rc < 0 ? rc : DX_OK;
}

static int check_pair(const struct dx_range_rows *r, struct dx_error *err)
{
    const struct dx_listing *l = &r->listing;

    if (l->found && (r->hidden == NULL || r->hidden->row_count == l->total))
        return DX_OK;
    return dx_fail(err, DX_E_CORRUPT,
                   "%s: domain 0x%016llx has %llu rows in dataset %u by its posting, and other "
                   "files of the index say otherwise",
                   r->found.part->directory, (unsigned long long)r->found.domain_id,
                   (unsigned long long)l->total, (unsigned)l->dataset_id);
}

static int read_rows(struct dx_range_rows *r, struct dx_problem *problem)
{
    const struct dx_listing_taker taker = { r, take_row, NULL };
    struct dx_error err = DX_ERROR_INIT;
    int rc = dx_listing_step(&r->listing, &err);
    bool last;

    if (rc == DX_LISTING_WAITS) {
        r->batches += dx_read_batch_state(&r->listing.reading) == DX_READ_BATCH_READ;
        return DX_TASK_WAITS;
    }
    if (rc == DX_LISTING_DONE)
        rc = check_pair(r, &err);
    if (rc == DX_OK)
        rc = dx_listing_rows(&r->listing, &taker, &err);
    if (rc < 0)
        return dx_problem_advised(problem, &err, "Ask for fewer rows with a smaller limit.");
    r->rows += r->listing.row_count;
    last = r->listing.row_count == 0 || r->next.row >= r->listing.total;
    dx_listing_release(&r->listing);
    r->state = FIND_PAIR;
    return last ? next_pair(r) : GO_ON;
}

/* ---- steps ---- */

int dx_range_rows_step(struct dx_range_rows *r, struct dx_problem *problem)
{
    int64_t until_us = dx_clock_us() + STEP_US;
    int rc = GO_ON;

    while (rc == GO_ON) {
        if (r->state == FIND_DOMAIN)
            rc = find_domain(r, problem);
        else if (r->state == FIND_PAIR)
            rc = find_pair(r, problem);
        else
            rc = read_rows(r, problem);
        /* For nothing: others have their turn. A listing that has not begun has nothing to wait
         * for. */
        if (rc == GO_ON && r->state != READ_ROWS && dx_clock_us() >= until_us)
            return DX_TASK_WAITS;
    }
    return rc;
}

struct dx_read_batch *dx_range_rows_reading(struct dx_range_rows *r)
{
    return r->state == READ_ROWS ? &r->listing.reading : &r->nothing;
}

int dx_range_rows_fetched(struct dx_range_rows *r, int rc, struct dx_error *err)
{
    return r->state == READ_ROWS ? dx_listing_fetched(&r->listing, rc, err) : rc;
}
