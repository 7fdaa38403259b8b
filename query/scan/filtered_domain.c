/* SPDX-License-Identifier: Apache-2.0 */
#include "query/scan/filtered_domain.h"

#include <assert.h>

#include "base/clock.h"
#include "loader/version.h"
#include "query/suppression/suppression_view.h"

enum { GO_ON = 0, ENDED = 3, NOT_KEPT = 4 }; /* beside DX_LISTING_WAITS and errors */

void dx_filtered_domain_init(struct dx_filtered_domain *f, const struct dx_domain_rows *rows,
                             const struct dx_filtered_domain_ask *ask,
                             const struct dx_domain_rows_taker *taker)
{
    uint64_t now_ms = dx_clock_ms();
    size_t size;

    *f = (struct dx_filtered_domain){
        .rows = rows, .ask = *ask, .taker = *taker, .next = ask->first
    };
    size = dx_row_filter_pack(&ask->filter, f->text);
    (void)dx_row_filter_unpack(dx_span_of(f->text, size), &f->ask.filter);
    dx_row_filter_lend(&f->ask.filter, &ask->filter);
    f->half_ms = rows->deadline_ms > now_ms ? now_ms + (rows->deadline_ms - now_ms) / 2
                                            : rows->deadline_ms;
    dx_read_batch_begin(&f->nothing, rows->version, NULL, 0);
    while (f->at < rows->pair_count && rows->pairs[f->at].dataset_id < ask->first.dataset_id)
        f->at++;
}

void dx_filtered_domain_release(struct dx_filtered_domain *f)
{
    if (f->busy)
        dx_filtered_rows_release(&f->pair);
    f->busy = false;
    dx_read_batch_release(&f->nothing);
}

static bool is_enough(const struct dx_filtered_domain *f)
{
    return f->full || f->count >= f->ask.limit || f->rows_seen >= DX_FILTERED_LOOK_MAX ||
           f->bytes_seen >= DX_LISTING_READ_MAX || f->pairs >= DX_FILTERED_DOMAIN_PAIRS ||
           dx_row_filter_is_enough(&f->ask.filter) ||
           (f->pairs > 0 && f->half_ms != 0 && dx_clock_ms() >= f->half_ms);
}

/* A pair may be of places before those that are asked for: next does not go back. */
static void leave_pair(struct dx_filtered_domain *f)
{
    const struct dx_domain_rows_pair *p = &f->rows->pairs[f->at++];

    if (p->dataset_id != f->next.dataset_id || p->end > f->next.row)
        f->next = (struct dx_domain_rows_place){ p->dataset_id, p->end };
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static int give_row(void *ctx, const struct dx_listing_row *row, struct dx_error *err)
{
    struct dx_filtered_domain *f = ctx;
    int rc;

    f->named_dataset = f->rows->pairs[f->at].dataset_id;
    if (!f->named)
        f->taker.dataset(f->taker.ctx, f->named_dataset);
    f->named = true;
    f->count++;
    rc = f->taker.row(f->taker.ctx, row, err);
    f->full = f->full || rc == 1;
    return rc < 0 ? rc : DX_OK;
}

/* ---- a pair that is kept ---- */

/* As dx_filtered_rows looks at a pair of so few rows: at the times of all, then at those that were taken. *next: where to go on. */
static int look_at_kept(struct dx_filtered_domain *f, const struct dx_pair_rows *kept,
                        const struct dx_filtered_ask *ask, uint64_t *next, struct dx_error *err)
{
    uint64_t counted = 0; /* pages up to this place */
    uint64_t taken = 0;
    uint32_t run = 0;
    struct dx_listing_row row;
    int rc = DX_OK;

    f->rows_seen += ask->end - ask->first;
    dx_pair_rows_count(kept, DX_FIELD_TS, ask->first, ask->end, &f->pages_seen, &f->bytes_seen);
    for (*next = ask->first; rc == DX_OK && *next < ask->end && taken < ask->limit; ++*next) {
        const struct dx_pair_row *r = &kept->rows[*next];

        if (!dx_row_filter_has_time(&ask->filter, r->has_ts, r->ts_us) ||
            dx_suppression_view_hidden(ask->hidden, *next))
            continue;
        while (kept->runs[run].end <= *next)
            run++;
        if (counted <= *next)
            dx_pair_rows_count(kept, f->rows->fields, *next, *next + 1, &f->pages_seen,
                               &f->bytes_seen);
        counted = kept->runs[run].end;
        taken++;
        dx_pair_rows_get(kept, *next, &row);
        rc = give_row(f, &row, err);
    }
    return rc;
}

/* GO_ON and ENDED as finish_pair; NOT_KEPT: it is to be read. */
static int take_kept(struct dx_filtered_domain *f, const struct dx_filtered_ask *ask,
                     struct dx_error *err)
{
    const struct dx_domain_rows *r = f->rows;
    const struct dx_domain_rows_pair *p = &r->pairs[f->at];
    struct dx_filtered_ask of = *ask;
    struct dx_pair_rows kept;
    uint64_t next;
    int rc = dx_pair_rows_find(&kept, r->version, r->part, r->ordinal, p->dataset_id);

    f->may_keep = rc < 0;
    if (rc != 1 || kept.row_count != p->rows || f->hold) {
        dx_pair_rows_put(&kept, r->version);
        return NOT_KEPT;
    }
    of.end = smaller(ask->end, p->rows);
    rc = look_at_kept(f, &kept, &of, &next, err);
    dx_pair_rows_put(&kept, r->version);
    if (rc < 0)
        return rc;
    f->next = (struct dx_domain_rows_place){ p->dataset_id, next };
    if (next < of.end)
        return ENDED; /* in the middle of it */
    leave_pair(f);
    return GO_ON;
}

/* Begins with the pair at hand, or goes on behind it. */
static int enter_pair(struct dx_filtered_domain *f, struct dx_error *err)
{
    const struct dx_domain_rows *r = f->rows;
    const struct dx_domain_rows_pair *p = &r->pairs[f->at];
    struct dx_filtered_ask ask = {
        .filter = f->ask.filter,
        .first = p->dataset_id == f->ask.first.dataset_id ? larger(f->ask.first.row, p->first)
                                                          : p->first,
        .end = p->dataset_id == f->ask.end.dataset_id ? smaller(f->ask.end.row, p->end) : p->end,
        .limit = f->ask.limit - f->count,
        .fields = r->fields,
        .hidden = p->hidden,
        .deadline_ms = r->deadline_ms,
    };
    int rc;

    if (p->dataset_id > f->ask.end.dataset_id)
        return ENDED;
    if (ask.first >= ask.end ||
        !dx_row_filter_may_take(&f->ask.filter, p->has_ts, p->first_us, p->last_us)) {
        leave_pair(f);
        return GO_ON;
    }
    if (is_enough(f))
        return ENDED;
    f->named = f->named && p->dataset_id == f->named_dataset;
    f->may_keep = false;
    rc = r->keeps && p->rows <= DX_PAIR_ROWS_MAX && dx_row_filter_is_times(&f->ask.filter)
             ? take_kept(f, &ask, err)
             : NOT_KEPT;
    if (rc == NOT_KEPT && f->brief) {
        f->brief = false;
        return DX_LISTING_WAITS;
    }
    f->pairs++;
    if (rc != NOT_KEPT)
        return rc;
    f->busy = true;
    return dx_filtered_rows_init(&f->pair, r->version, r->part, r->ordinal, p->dataset_id, &ask,
                                 err);
}

static int finish_pair(struct dx_filtered_domain *f, struct dx_error *err)
{
    const struct dx_domain_rows_pair *p = &f->rows->pairs[f->at];
    int rc = DX_OK;

    if (!f->pair.found || f->pair.total != p->rows)
        rc = dx_fail(err, DX_E_CORRUPT,
                     "%s: domain %llu has %llu rows in dataset %u by its posting, and %llu by "
                     "its counts",
                     f->rows->part->directory, (unsigned long long)f->rows->ordinal,
                     (unsigned long long)f->pair.total, (unsigned)p->dataset_id,
                     (unsigned long long)p->rows);
    if (rc == DX_OK)
        rc = dx_filtered_rows_each(&f->pair, give_row, f, err);
    f->rows_seen += f->pair.rows_seen;
    f->pages_seen += f->pair.pages_seen;
    f->bytes_seen += f->pair.bytes_seen;
    f->next = (struct dx_domain_rows_place){ p->dataset_id, f->pair.next };
    if (rc == DX_OK && f->pair.next < f->pair.end)
        rc = ENDED; /* in the middle of it */
    dx_filtered_rows_release(&f->pair);
    f->busy = false;
    if (f->may_keep && rc >= 0)
        dx_pair_rows_keep(f->rows->version, f->rows->part, f->rows->ordinal, p->dataset_id);
    if (rc == DX_OK)
        leave_pair(f);
    return rc;
}

int dx_filtered_domain_step(struct dx_filtered_domain *f, struct dx_error *err)
{
    int rc = GO_ON;

    while (rc == GO_ON) {
        if (!f->busy) {
            rc = f->at < f->rows->pair_count ? enter_pair(f, err) : ENDED;
            continue;
        }
        rc = dx_filtered_rows_step(&f->pair, err);
        f->may_keep = f->may_keep && rc != DX_LISTING_WAITS;
        if (rc == DX_LISTING_DONE && f->hold)
            return DX_LISTING_DONE;
        if (rc == DX_LISTING_DONE)
            rc = finish_pair(f, err);
    }
    return rc == ENDED ? DX_LISTING_DONE : rc;
}

bool dx_filtered_domain_limit(struct dx_filtered_domain *f, uint64_t limit)
{
    assert(f->hold); /* none of its rows was given yet */
    if (f->busy && f->pair.taken_count > limit)
        return false;
    f->ask.limit = limit < f->ask.limit ? limit : f->ask.limit;
    return true;
}

struct dx_read_batch *dx_filtered_domain_reading(struct dx_filtered_domain *f)
{
    return f->busy ? dx_filtered_rows_reading(&f->pair) : &f->nothing;
}

int dx_filtered_domain_fetched(struct dx_filtered_domain *f, int rc, struct dx_error *err)
{
    return f->busy ? dx_filtered_rows_fetched(&f->pair, rc, err) : rc;
}
