/* SPDX-License-Identifier: Apache-2.0 */
#include "query/range/range_rows.h"

#include "base/clock.h"
#include "loader/version_parts.h"
#include "query/answers/task.h"

#include <assert.h>

#define STEP_US 500

enum { FIND, READ }; /* the next group of domains; the rows of its first one */

/* Beside DX_TASK_WAITS, problems and errors. */
enum { ENDED = 1, GO_ON = 3, NOTHING = 4 };

/* With a filter it is not known how many domains a page needs: each group is twice the one before. */
#define FIRST_GROUP 4
/* Of a domain with so few rows all are read, and then looked at: a tag, and the place of a prefix, are looked up in the index where there are more. */
#define FEW_ROWS 2048
/* Of a domain that is only in part in a range of numbers so many rows are read at least: few of them may be of it. */
#define CHUNK_ROWS 1024
/* Where all rows are taken, so many of a domain are read at once. */
#define WHOLE_ROWS 8192
#define DOMAIN_NUMBERS (UINT64_C(1) << 32) /* of a domain and all below it, in each layout */
#define SCRATCH_MAX (64u << 20)            /* of a tag: as large as a page of the lake may be */

int dx_range_rows_init(struct dx_range_rows *r, const struct dx_view *view,
                       const struct dx_range_what *what, dx_range_take *take, void *take_ctx,
                       struct dx_error *err)
{
    const struct dx_view urls = dx_view_urls(view);
    uint64_t now_ms = dx_clock_ms();

    assert(what->limit > 0 || what->whole);
    assert(what->whole || !what->with_digest);
    *r = (struct dx_range_rows){
        .what = *what, .take = take, .take_ctx = take_ctx, .skip = what->offset
    };
    r->half_ms = what->deadline_ms > now_ms ? now_ms + (what->deadline_ms - now_ms) / 2
                                            : what->deadline_ms;
    if (what->whole)
        r->what.limit = UINT64_MAX;
    if (what->look_max == 0)
        r->what.look_max = DX_RANGE_DOMAINS;
    r->most = dx_row_filter_any(&what->filter) && !what->whole ? FIRST_GROUP : DX_AHEAD_DOMAINS;
    r->extra_count = dx_row_filter_extras(&r->what.filter, r->extras);
    if (what->with_digest)
        r->extras[r->extra_count++] = dx_span_str("digest");
    dx_buf_init(&r->scratch, SCRATCH_MAX);
    dx_domains_ahead_init(&r->ahead, view->version, what->deadline_ms);
    if (what->numbers == NULL)
        return dx_domain_walk_init(&r->walk, &urls, what->dataset, what->suffix, err);
    dx_domain_walk_numbers(&r->walk, &urls, what->numbers, &r->what.range);
    return DX_OK;
}

int dx_range_rows_begin(struct dx_range_rows *r, const struct dx_range_place *from,
                        const uint64_t *end, struct dx_error *err)
{
    int rc = dx_domain_walk_from(&r->walk, from->number, err);

    assert(r->passed == 0 && (end == NULL || r->what.numbers == NULL));
    r->goes_on = true;
    r->next = *from;
    return rc == DX_OK && end != NULL ? dx_domain_walk_to(&r->walk, *end, err) : rc;
}

static bool has_filter(const struct dx_range_rows *r)
{
    return dx_row_filter_any(&r->what.filter);
}

/* Whether rows are looked at one by one, and some are left out. */
static bool is_choosy(const struct dx_range_rows *r)
{
    return has_filter(r) || r->what.numbers != NULL || r->what.whole;
}

void dx_range_rows_release(struct dx_range_rows *r)
{
    dx_domains_ahead_release(&r->ahead);
    dx_buf_release(&r->scratch);
    dx_domain_walk_release(&r->walk);
}

static bool is_late(const struct dx_range_rows *r)
{
    return r->passed > 1 && r->what.deadline_ms != 0 && dx_clock_ms() >= r->half_ms;
}

static bool is_enough(const struct dx_range_rows *r)
{
    return !r->what.whole &&
           (r->full || r->looked >= r->what.look_max || r->batches >= DX_RANGE_BATCHES ||
            r->rows_seen >= DX_FILTERED_LOOK_MAX || r->bytes_seen >= DX_LISTING_READ_MAX ||
            dx_row_filter_is_enough(&r->what.filter) || is_late(r));
}

static int end_before(struct dx_range_rows *r, struct dx_range_place place)
{
    r->more = true;
    r->next = place;
    return ENDED;
}

/* ---- a group of domains ---- */

uint64_t dx_range_rows_of_pair(const struct dx_range_what *what,
                               const struct dx_domain_pairs *pairs, size_t i,
                               const struct dx_suppression_view *withheld)
{
    const struct dx_pair_count *c = &pairs->counts[i];
    const struct dx_suppression_pair *hidden = dx_suppression_view_pair(withheld, pairs->ids[i]);

    assert(i < pairs->count);
    if ((what->dataset != NULL && pairs->ids[i] != what->dataset->dataset_id) ||
        !dx_row_filter_may_take(&what->filter, c->has_ts, c->first_us, c->last_us))
        return 0;
    return hidden != NULL ? hidden->visible.row_count : c->row_count;
}

static int add_pairs(struct dx_range_rows *r, struct dx_ahead_domain *s, struct dx_error *err)
{
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < r->walk.pairs.count; i++) {
        uint32_t id = r->walk.pairs.ids[i];
        const struct dx_pair_count *c = &r->walk.pairs.counts[i];
        const struct dx_suppression_pair *hidden = dx_suppression_view_pair(&s->withheld, id);

        if (dx_range_rows_of_pair(&r->what, &r->walk.pairs, i, &s->withheld) == 0)
            continue;
        if (dx_view_dataset(&r->walk.view, s->found.part, id, err) == NULL)
            return (int)err->code;
        rc = dx_domain_rows_add(&s->rows, id, c, hidden, err);
    }
    return rc;
}

/* The domain that the walk came to, with its visible rows: 1, 0: there are none; <0. */
static int add_domain(struct dx_range_rows *r, struct dx_error *err)
{
    struct dx_ahead_domain *s;
    int rc;

    if (r->walk.pairs.count == 0)
        return 0;
    s = dx_domains_ahead_add(&r->ahead, &r->walk.found,
                             r->what.fields | DX_FIELD_URL |
                                 (has_filter(r) ? dx_row_filter_fields(&r->what.filter) : 0),
                             err);
    if (s == NULL)
        return (int)err->code;
    s->number = r->walk.number;
    if (r->what.numbers != NULL) {
        dx_row_number_begin(&s->numbers, r->what.numbers,
                            dx_span_of(s->found.domain, s->found.domain_size), s->number);
        s->numbers.within = &r->what.range;
    }
    dx_domain_walk_keep(&r->walk, &s->withheld);
    rc = add_pairs(r, s, err);
    if (rc == DX_OK && dx_domain_rows_total(&s->rows) > 0)
        return 1;
    dx_domains_ahead_drop(&r->ahead);
    return rc;
}

static void begin_dataset(void *ctx, uint32_t dataset_id)
{
    struct dx_range_rows *r = ctx;

    r->dataset_id = dataset_id;
}

static uint64_t number_in_version(const struct dx_range_rows *r, const struct dx_ahead_domain *s)
{
    const struct dx_version *v = r->walk.view.version;
    size_t i = 0;

    while (v->parts[i].part != s->found.part)
        i++;
    return v->parts[i].first + s->found.ordinal;
}

static int take_row(void *ctx, const struct dx_listing_row *row, struct dx_error *err)
{
    struct dx_range_rows *r = ctx;
    struct dx_ahead_domain *s = dx_domains_ahead_first(&r->ahead);
    struct dx_range_row out = { .row = row,
                                .domain = dx_span_of(s->found.domain, s->found.domain_size),
                                .dataset_id = r->dataset_id };
    int rc = DX_OK;

    if (r->what.numbers != NULL && s->is_filtered) /* others were looked at since */
        rc = dx_row_number_within(&s->numbers, row, err);
    if (rc < 0)
        return rc;
    out.number = s->numbers.key;
    if (r->what.whole)
        out.place = (struct dx_range_place){ s->number,
                                             dx_domain_rows_place(&s->rows, r->place - 1) };
    if (r->what.whole)
        out.version_number = number_in_version(r, s);
    rc = r->take(r->take_ctx, &out, err);
    r->full = ++r->count >= r->what.limit || rc == 1 || r->full;
    return rc < 0 ? rc : (s->is_filtered && rc == 1);
}

/* What rows of the domain are looked at by. */
static struct dx_row_filter filter_of(const struct dx_range_rows *r, struct dx_ahead_domain *s)
{
    struct dx_row_filter filter = r->what.filter;

    if (r->what.numbers != NULL)
        filter.numbers = &s->numbers;
    return filter;
}

/* Of a domain with few rows, or without a filter: those that are taken, as long as the page goes on. */
static int look_at_row(void *ctx, const struct dx_listing_row *row, struct dx_error *err)
{
    struct dx_range_rows *r = ctx;
    int rc;

    if (r->full || (!r->what.whole && dx_row_filter_is_enough(&r->what.filter)))
        return DX_OK;
    r->place++;
    rc = dx_row_filter_takes(&r->look, row, &r->scratch, err);
    return rc == 1 ? take_row(ctx, row, err) : rc;
}

static int astray(struct dx_problem *problem)
{
    return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "bad-cursor", "Bad cursor",
                          "this cursor names rows behind the end of a dataset");
}

/* Whether all numbers of the domain are in the range. */
static bool is_whole(const struct dx_range_rows *r, const struct dx_ahead_domain *s)
{
    uint64_t end = s->number + DOMAIN_NUMBERS;

    return s->number >= r->what.range.from &&
           (r->what.range.to == 0 || (end != 0 && end <= r->what.range.to));
}

/* How many rows of it are read at once, of those that there are. */
static uint64_t rows_wanted(const struct dx_range_rows *r, const struct dx_ahead_domain *s,
                            uint64_t there)
{
    uint64_t left = r->what.limit - r->count;
    uint64_t wanted = left > r->wanted ? left - r->wanted : 1;

    if (r->what.whole)
        return there < WHOLE_ROWS ? there : WHOLE_ROWS;
    if (r->what.numbers != NULL && wanted < CHUNK_ROWS && !is_whole(r, s))
        wanted = CHUNK_ROWS;
    return has_filter(r) || wanted > there ? there : wanted;
}

/* What is wanted of a domain from a place on: GO_ON, NOTHING is behind it, or the problem. */
static int begin_rows(struct dx_range_rows *r, struct dx_ahead_domain *s,
                      struct dx_domain_rows_place at, struct dx_problem *problem)
{
    const struct dx_domain_rows_taker taker = { .ctx = r,
                                                .dataset = begin_dataset,
                                                .row = take_row };
    struct dx_filtered_domain_ask ask = { .filter = filter_of(r, s),
                                          .first = at,
                                          .limit = r->what.limit - r->count };
    struct dx_error err = DX_ERROR_INIT;
    uint64_t total = dx_domain_rows_total(&s->rows);
    uint64_t offset = 0;

    if (!dx_domain_rows_before(&s->rows, &at, &offset))
        return astray(problem);
    if (offset >= total)
        return NOTHING;
    if (has_filter(r) && !r->what.whole && (total > FEW_ROWS || r->what.filter.tag.data != NULL)) {
        ask.end = dx_domain_rows_place(&s->rows, total);
        dx_ahead_domain_filter(s, &ask, &taker);
        return GO_ON;
    }
    s->first = offset;
    s->wanted = rows_wanted(r, s, total - offset);
    r->wanted += s->wanted;
    s->rows.listing.extras = r->extras;
    s->rows.listing.extra_count = r->extra_count;
    return dx_domain_rows_begin(&s->rows, offset, s->wanted, &err) < 0
               ? dx_problem_of_error(problem, &err)
               : GO_ON;
}

/* The page ends there, behind the group at hand. */
static int stop_at(struct dx_range_rows *r, uint64_t number, struct dx_domain_rows_place at)
{
    r->stops = true;
    r->stop = (struct dx_range_place){ number, at };
    return GO_ON;
}

/* ---- rows that are left out ---- */

/* Visible ones of the domain that the walk came to. */
static uint64_t count_rows(const struct dx_range_rows *r)
{
    uint64_t rows = 0;

    for (size_t i = 0; i < r->walk.pairs.count; i++) {
        uint32_t id = r->walk.pairs.ids[i];
        const struct dx_suppression_pair *hidden = dx_suppression_view_pair(&r->walk.withheld, id);

        if (r->what.dataset == NULL || id == r->what.dataset->dataset_id)
            rows += hidden != NULL ? hidden->visible.row_count : r->walk.pairs.counts[i].row_count;
    }
    return rows;
}

/* Whether the domain is left out as a whole. */
static bool skips(struct dx_range_rows *r)
{
    uint64_t rows = r->skip > 0 ? count_rows(r) : 0;

    if (r->skip == 0 || rows > r->skip)
        return false;
    r->skip -= rows;
    return true;
}

static int skip_domain(const struct dx_range_rows *r, struct dx_problem *problem)
{
    struct dx_error err = DX_ERROR_INIT;

    if (!is_late(r))
        return GO_ON;
    (void)dx_fail(&err, DX_E_LIMIT, "this takes longer than a request may: %llu domains in",
                  (unsigned long long)r->passed);
    return dx_problem_advised(problem, &err, "Go on with next_cursor, or ask for a plan.");
}

/* The domain that the walk came to becomes the last one of the group, unless it has no rows or the page ends before it. */
static int enter_domain(struct dx_range_rows *r, struct dx_domain_rows_place at,
                        struct dx_problem *problem)
{
    struct dx_error err = DX_ERROR_INIT;
    int rc = add_domain(r, &err);

    if (rc < 0)
        return dx_problem_of_error(problem, &err);
    if (rc == 0 && r->what.numbers != NULL)
        r->looked++;
    if (rc == 0)
        return (is_late(r) && !r->what.whole) ||
                       (r->what.numbers != NULL && r->passed > 1 && is_enough(r))
                   ? stop_at(r, r->walk.number, at)
                   : GO_ON;
    if (r->skip > 0) {
        at = dx_domain_rows_place(&r->ahead.domains[r->ahead.count - 1]->rows, r->skip);
        r->skip = 0;
    }
    if (is_enough(r))
        rc = stop_at(r, r->walk.number, at);
    else {
        r->looked++;
        rc = begin_rows(r, r->ahead.domains[r->ahead.count - 1], at, problem);
        if (rc == GO_ON)
            return rc;
    }
    dx_domains_ahead_drop(&r->ahead);
    return rc == NOTHING ? GO_ON : rc;
}

static int find_domain(struct dx_range_rows *r, struct dx_problem *problem)
{
    struct dx_domain_rows_place at = DX_DOMAIN_ROWS_FIRST;
    int rc = dx_domain_walk_next(&r->walk, problem);

    r->ends = rc == 0;
    if (r->goes_on && r->passed == 0 && r->walk.number == r->next.number)
        at = r->next.at;
    r->passed += rc != 0;
    if (rc == DX_E_BUSY && r->passed > 1 && r->skip == 0 &&
        !r->what.whole) /* the next page may know */
        return stop_at(r, r->walk.number, at);
    if (rc == 1)
        return skips(r) ? skip_domain(r, problem) : enter_domain(r, at, problem);
    return rc < 0 ? rc : GO_ON;
}

static bool has_group(const struct dx_range_rows *r)
{
    return r->ahead.count > 0 &&
           (r->ahead.count >= r->most || !dx_domains_ahead_has_room(&r->ahead) || r->stops ||
            r->ends || (!has_filter(r) && r->wanted >= r->what.limit - r->count));
}

static int find_group(struct dx_range_rows *r, struct dx_problem *problem)
{
    if (has_group(r)) {
        r->state = READ;
        if (r->most < DX_AHEAD_DOMAINS)
            r->most *= 2;
        return GO_ON;
    }
    if (r->stops)
        return end_before(r, r->stop);
    return r->ends ? ENDED : find_domain(r, problem);
}

/* ---- rows ---- */

/* What was read ahead may be more than is wanted by now: it is examined again then, by what is cached. */
static int give_held(struct dx_range_rows *r, struct dx_ahead_domain *s, struct dx_problem *problem)
{
    struct dx_domain_rows_place at = s->filtered.next;

    if (dx_filtered_domain_limit(&s->filtered, r->what.limit - r->count)) {
        dx_ahead_domain_give(s);
        return GO_ON;
    }
    dx_ahead_domain_again(s);
    return begin_rows(r, s, at, problem);
}

static int give_window(struct dx_range_rows *r, struct dx_ahead_domain *s, struct dx_error *err)
{
    const struct dx_domain_rows_taker taker = { .ctx = r,
                                                .dataset = begin_dataset,
                                                .row = is_choosy(r) ? look_at_row : take_row };
    int rc;

    r->place = s->first;
    r->look = filter_of(r, s);
    rc = dx_domain_rows_each(&s->rows, &taker, err);
    r->next.at = s->rows.next;
    if (!is_choosy(r))
        return rc;
    r->rows_seen += s->rows.row_count;
    r->pages_seen += s->rows.listing.reads;
    r->bytes_seen += s->rows.listing.read_bytes;
    if (r->place < s->first + s->rows.row_count)
        r->next.at = dx_domain_rows_place(&s->rows, r->place);
    return rc;
}

/* What is only known once it was read. */
static int check_whole(const struct dx_range_rows *r, struct dx_error *err)
{
    if (!r->what.whole ||
        (r->pages_seen <= DX_RANGE_WHOLE_PAGES && r->bytes_seen <= DX_RANGE_WHOLE_BYTES))
        return DX_OK;
    return dx_fail(err, DX_E_LIMIT,
                   "the rows to be put in order lie on over %u pages of the lake, or over %llu MiB",
                   DX_RANGE_WHOLE_PAGES, (unsigned long long)(DX_RANGE_WHOLE_BYTES >> 20));
}

static int give_rows(struct dx_range_rows *r, struct dx_ahead_domain *s, struct dx_error *err)
{
    int rc = DX_OK;

    r->next.number = s->number;
    if (s->is_filtered) {
        r->next.at = s->filtered.next;
        r->rows_seen += s->filtered.rows_seen;
        r->pages_seen += s->filtered.pages_seen;
        r->bytes_seen += s->filtered.bytes_seen;
    } else {
        rc = give_window(r, s, err);
        r->wanted -= s->wanted;
        rc = rc < 0 ? rc : check_whole(r, err);
    }
    dx_ahead_domain_again(s);
    return rc;
}

/* Behind rows of the first domain: the rest of it, the next one, or the end of the page. */
static int go_on(struct dx_range_rows *r, struct dx_ahead_domain *s, struct dx_problem *problem)
{
    uint64_t offset = 0;

    (void)dx_domain_rows_before(&s->rows, &r->next.at, &offset);
    if (offset < dx_domain_rows_total(&s->rows))
        return is_enough(r) ? end_before(r, r->next) : begin_rows(r, s, r->next.at, problem);
    dx_domains_ahead_pop(&r->ahead);
    s = dx_domains_ahead_first(&r->ahead);
    if (s == NULL)
        r->state = FIND;
    else if (r->full)
        return end_before(r, (struct dx_range_place){ s->number, DX_DOMAIN_ROWS_FIRST });
    return GO_ON;
}

/* ---- steps ---- */

static int read_rows(struct dx_range_rows *r, struct dx_problem *problem)
{
    struct dx_ahead_domain *s = dx_domains_ahead_first(&r->ahead);
    struct dx_error err = DX_ERROR_INIT;
    int rc = dx_domains_ahead_step(&r->ahead, &err);

    if (rc == DX_LISTING_WAITS) {
        r->batches += dx_read_batch_state(dx_range_rows_reading(r)) == DX_READ_BATCH_READ;
        return DX_TASK_WAITS;
    }
    if (rc == DX_LISTING_DONE && s->is_filtered && s->filtered.hold)
        return give_held(r, s, problem);
    if (rc == DX_LISTING_DONE)
        rc = give_rows(r, s, &err);
    return rc == DX_LISTING_DONE
               ? go_on(r, s, problem)
               : dx_problem_advised(problem, &err,
                                    r->what.whole
                                        ? "Ask for less: a smaller range, one dataset, a time."
                                        : "Ask for fewer rows with a smaller limit.");
}

int dx_range_rows_step(struct dx_range_rows *r, struct dx_problem *problem)
{
    int64_t until_us = dx_clock_us() + STEP_US;
    int rc = GO_ON;

    while (rc == GO_ON) {
        /* For nothing: others have their turn. */
        if (r->state == FIND && dx_clock_us() >= until_us) {
            dx_domains_ahead_wait_for_nothing(&r->ahead);
            return DX_TASK_WAITS;
        }
        rc = r->state == FIND ? find_group(r, problem) : read_rows(r, problem);
    }
    return rc;
}

struct dx_read_batch *dx_range_rows_reading(struct dx_range_rows *r)
{
    return dx_domains_ahead_reading(&r->ahead);
}

int dx_range_rows_fetched(struct dx_range_rows *r, int rc, struct dx_error *err)
{
    return dx_domains_ahead_fetched(&r->ahead, rc, err);
}
