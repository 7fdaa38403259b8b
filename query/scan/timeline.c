/* SPDX-License-Identifier: Apache-2.0 */
#include "query/scan/timeline.h"

#include "base/array.h"
#include "base/civil_time.h"
#include "loader/part.h"
#include "query/suppression/suppression_view.h"

#include <assert.h>
#include <stdlib.h>

#define US_PER_DAY INT64_C(86400000000)
#define WINDOW_ROWS (1u << 18) /* 2 MB of times */

static int64_t day_of(int64_t us)
{
    return us / US_PER_DAY - (us % US_PER_DAY < 0);
}

void dx_timeline_init(struct dx_timeline *t, struct dx_version *v, const struct dx_part *part,
                      uint64_t ordinal, uint64_t deadline_ms)
{
    *t = (struct dx_timeline){ .rows_max = DX_TIMELINE_ROWS,
                               .pages_max = DX_TIMELINE_PAGES,
                               .window_rows = WINDOW_ROWS };
    dx_domain_rows_init(&t->pairs, v, part, ordinal, DX_FIELD_TS, deadline_ms);
}

void dx_timeline_release(struct dx_timeline *t)
{
    dx_domain_rows_release(&t->pairs);
    free(t->times);
    free(t->rows);
    t->times = NULL;
    t->rows = NULL;
}

/* ---- pairs ---- */

static int keep_time(struct dx_timeline *t, int64_t us, struct dx_error *err)
{
    int64_t *to = dx_array_room(t->times, t->time_count, &t->time_capacity, sizeof *to);

    if (to == NULL)
        return dx_no_memory(err, "timeline");
    t->times = to;
    t->times[t->time_count++] = us;
    return DX_OK;
}

static void widen(struct dx_timeline *t, const struct dx_pair_count *visible)
{
    t->row_count += visible->row_count;
    if (!visible->has_ts)
        return;
    if (!t->has_ts || visible->first_us < t->first_us)
        t->first_us = visible->first_us;
    if (!t->has_ts || visible->last_us > t->last_us)
        t->last_us = visible->last_us;
    t->has_ts = true;
}

/* Two rows at different times both have one; two at the same time may be one row with it and one without. */
static bool is_known(const struct dx_pair_count *visible)
{
    return !visible->has_ts || visible->row_count == 1 ||
           (visible->row_count == 2 && visible->first_us != visible->last_us);
}

int dx_timeline_add(struct dx_timeline *t, uint32_t dataset_id, const struct dx_pair_count *counts,
                    const struct dx_suppression_pair *hidden, struct dx_error *err)
{
    const struct dx_pair_count *visible = hidden == NULL ? counts : &hidden->visible;
    int rc = DX_OK;

    assert(t->rows == NULL); /* not begun: the days are not laid out */
    if (visible->has_ts &&
        (visible->first_us > visible->last_us || !dx_civil_is_stored(visible->first_us) ||
         !dx_civil_is_stored(visible->last_us)))
        return dx_fail(err, DX_E_CORRUPT,
                       "%s: domain %llu has rows in dataset %u from %lld to %lld us by its "
                       "counts, which no row can have",
                       t->pairs.part->directory, (unsigned long long)t->pairs.ordinal,
                       (unsigned)dataset_id, (long long)visible->first_us,
                       (long long)visible->last_us);
    widen(t, visible);
    if (!is_known(visible))
        return dx_domain_rows_add(&t->pairs, dataset_id, counts, hidden, err);
    if (!visible->has_ts) {
        t->untimed += visible->row_count;
        return DX_OK;
    }
    rc = keep_time(t, visible->first_us, err);
    return rc == DX_OK && visible->row_count == 2 ? keep_time(t, visible->last_us, err) : rc;
}

int dx_timeline_begin(struct dx_timeline *t, struct dx_error *err)
{
    uint64_t to_read = dx_domain_rows_total(&t->pairs);

    if (to_read > t->rows_max)
        return dx_fail(err, DX_E_LIMIT,
                       "the times of %llu rows would have to be read, of at most %llu",
                       (unsigned long long)to_read, (unsigned long long)t->rows_max);
    if (!t->has_ts)
        return DX_OK;
    t->first_day = day_of(t->first_us);
    t->days = (size_t)(day_of(t->last_us) - t->first_day) + 1;
    t->rows = calloc(t->days, sizeof *t->rows);
    if (t->rows == NULL)
        return dx_no_memory(err, "timeline");
    for (size_t i = 0; i < t->time_count; i++)
        t->rows[day_of(t->times[i]) - t->first_day]++;
    return DX_OK;
}

/* ---- rows ---- */

static bool is_as_counted(const struct dx_domain_rows_pair *p, const struct dx_pair_count *seen)
{
    const struct dx_pair_count all = {
        .row_count = p->rows, .has_ts = p->has_ts, .first_us = p->first_us, .last_us = p->last_us
    };
    const struct dx_pair_count *want = p->hidden == NULL ? &all : &p->hidden->visible;

    return seen->row_count == want->row_count && seen->has_ts == want->has_ts &&
           (!want->has_ts || (seen->first_us == want->first_us && seen->last_us == want->last_us));
}

/* All rows of the pair were given. */
static int end_pair(struct dx_timeline *t, struct dx_error *err)
{
    const struct dx_domain_rows_pair *p = t->pair;

    t->pair = NULL;
    if (p == NULL || is_as_counted(p, &t->seen))
        return DX_OK;
    return dx_fail(err, DX_E_CORRUPT,
                   "%s: the rows of domain %llu in dataset %u have other times than its "
                   "counts say",
                   t->pairs.part->directory, (unsigned long long)t->pairs.ordinal,
                   (unsigned)p->dataset_id);
}

static void note_dataset(void *ctx, uint32_t dataset_id)
{
    struct dx_timeline *t = ctx;

    t->dataset_id = dataset_id;
}

static int enter_pair(struct dx_timeline *t, struct dx_error *err)
{
    const struct dx_domain_rows_pair *p = t->pair == NULL ? t->pairs.pairs : t->pair;
    int rc = end_pair(t, err);

    while (p->dataset_id != t->dataset_id) /* they ascend, and it is one of them */
        p++;
    t->pair = p;
    t->seen = (struct dx_pair_count){ .row_count = 0 };
    return rc;
}

static int take_time(struct dx_timeline *t, int64_t us, struct dx_error *err)
{
    struct dx_pair_count *seen = &t->seen;

    if (us < t->first_us || us > t->last_us)
        return dx_fail(err, DX_E_CORRUPT,
                       "%s: domain %llu has a row in dataset %u at %lld us, outside of the "
                       "times in its counts",
                       t->pairs.part->directory, (unsigned long long)t->pairs.ordinal,
                       (unsigned)t->pair->dataset_id, (long long)us);
    if (!seen->has_ts || us < seen->first_us)
        seen->first_us = us;
    if (!seen->has_ts || us > seen->last_us)
        seen->last_us = us;
    seen->has_ts = true;
    t->rows[day_of(us) - t->first_day]++;
    return DX_OK;
}

static int take_row(void *ctx, const struct dx_listing_row *row, struct dx_error *err)
{
    struct dx_timeline *t = ctx;
    int rc = DX_OK;

    if (t->pair == NULL || t->pair->dataset_id != t->dataset_id)
        rc = enter_pair(t, err);
    t->seen.row_count++;
    if (rc == DX_OK && row->has_ts)
        return take_time(t, row->ts_us, err);
    t->untimed++;
    return rc;
}

/* ---- windows ---- */

static int open_window(struct dx_timeline *t, struct dx_error *err)
{
    dx_domain_rows_rewind(&t->pairs);
    t->pairs.plan_only = !t->planned;
    t->open = true;
    return dx_domain_rows_begin(&t->pairs, t->next, t->window_rows, err);
}

/* Where one window is all, it goes on with what it planned. */
static int add_plan(struct dx_timeline *t, struct dx_error *err)
{
    bool is_first = t->next == 0;

    t->next += t->pairs.row_count;
    t->pages_read += t->pairs.listing.reads;
    t->bytes_read += t->pairs.listing.read_bytes;
    t->planned = t->next == dx_domain_rows_total(&t->pairs);
    t->open = t->planned && is_first;
    t->pairs.plan_only = false;
    if (t->planned)
        t->next = 0;
    if (t->pages_read <= t->pages_max && t->bytes_read <= DX_TIMELINE_BYTES)
        return DX_OK;
    return dx_fail(err, DX_E_LIMIT,
                   "the times of the rows lie on over %llu pages of the lake, or %llu MiB of them",
                   (unsigned long long)t->pages_max, (unsigned long long)(DX_TIMELINE_BYTES >> 20));
}

static int take_window(struct dx_timeline *t, struct dx_error *err)
{
    const struct dx_domain_rows_taker taker = { .ctx = t,
                                                .dataset = note_dataset,
                                                .row = take_row };

    t->next += t->pairs.row_count;
    t->rows_read += t->pairs.listing.row_count;
    t->open = false;
    return dx_domain_rows_each(&t->pairs, &taker, err);
}

int dx_timeline_step(struct dx_timeline *t, struct dx_error *err)
{
    int rc = DX_LISTING_DONE;

    while (rc == DX_LISTING_DONE && (t->open || t->next < dx_domain_rows_total(&t->pairs))) {
        if (!t->open)
            rc = open_window(t, err);
        if (rc == DX_LISTING_DONE)
            rc = dx_domain_rows_step(&t->pairs, err);
        if (rc == DX_LISTING_DONE)
            rc = t->planned ? take_window(t, err) : add_plan(t, err);
    }
    return rc == DX_LISTING_DONE ? end_pair(t, err) : rc;
}

struct dx_read_batch *dx_timeline_reading(struct dx_timeline *t)
{
    return dx_domain_rows_reading(&t->pairs);
}

int dx_timeline_fetched(struct dx_timeline *t, int rc, struct dx_error *err)
{
    return dx_domain_rows_fetched(&t->pairs, rc, err);
}
