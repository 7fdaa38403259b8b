/* SPDX-License-Identifier: Apache-2.0 */
#include "query/scan/domain_rows.h"

#include "base/array.h"
#include "format/core/zseek.h"
#include "loader/version.h"
#include "query/suppression/suppression_view.h"

#include <assert.h>
#include <stdlib.h>

#define BATCH 256     /* posting lists that are read at once */
#define KEEP_PAIRS 64 /* of a window: 3 us each */

/* A window that has so much planned ends before the next dataset. */
#define PAGES_ENOUGH (DX_LISTING_PAGES_MAX / 2)
#define BYTES_ENOUGH (DX_LISTING_READ_MAX / 2)

enum { DONE, READ_POSTINGS, READ_PAGES };

static void init_listing(struct dx_domain_rows *r)
{
    dx_listing_init(&r->listing, r->version, NULL, 0, 0, (struct dx_page_of){ 0, 0 }, r->fields,
                    r->deadline_ms);
}

void dx_domain_rows_init(struct dx_domain_rows *r, struct dx_version *v, const struct dx_part *part,
                         uint64_t ordinal, unsigned fields, uint64_t deadline_ms)
{
    *r = (struct dx_domain_rows){ .version = v,
                                  .part = part,
                                  .ordinal = ordinal,
                                  .fields = fields,
                                  .deadline_ms = deadline_ms,
                                  .state = DONE };
    init_listing(r);
    dx_read_batch_begin(&r->reading, v, NULL, deadline_ms);
}

static void release_frames(struct dx_domain_rows *r)
{
    for (size_t i = 0; i < r->frame_count; i++)
        dx_posting_frames_release(&r->frames[i]);
    free(r->frames);
    free(r->frame_of);
    r->frames = NULL;
    r->frame_of = NULL;
    r->frame_count = 0;
}

static void put_kept(struct dx_domain_rows *r)
{
    for (size_t i = 0; i < r->segment_count; i++)
        dx_pair_rows_put(&r->segments[i].kept, r->version);
    r->kept_pages = r->kept_bytes = 0;
    r->waited = false;
}

void dx_domain_rows_rewind(struct dx_domain_rows *r)
{
    put_kept(r);
    release_frames(r);
    dx_listing_release(&r->listing);
    init_listing(r);
    r->segment_count = r->run_count = 0;
    r->first = r->end = 0;
    r->row_count = 0;
    r->runs_only = false;
    r->state = DONE;
}

void dx_domain_rows_release(struct dx_domain_rows *r)
{
    put_kept(r);
    release_frames(r);
    dx_pair_places_close(&r->places);
    dx_zstd_decoder_free(&r->decoder);
    dx_read_batch_release(&r->reading);
    dx_listing_release(&r->listing);
    free(r->pairs);
    free(r->segments);
    free(r->runs);
    r->pairs = NULL;
    r->segments = NULL;
    r->runs = NULL;
    r->pair_count = r->segment_count = r->run_count = 0;
    r->state = DONE;
}

/* ---- places ---- */

static uint64_t visible_between(const struct dx_domain_rows_pair *p, uint64_t first, uint64_t end)
{
    return dx_suppression_view_visible_before(p->hidden, end) -
           dx_suppression_view_visible_before(p->hidden, first);
}

static uint64_t visible_of(const struct dx_domain_rows_pair *p)
{
    return visible_between(p, p->first, p->end);
}

/* Where `limit` visible rows of the pair lie, from the skip-th that counts on. */
static struct dx_page_of window_of(const struct dx_domain_rows_pair *p, uint64_t skip,
                                   uint64_t limit)
{
    return dx_suppression_view_window(
        p->hidden, dx_suppression_view_visible_before(p->hidden, p->first) + skip, limit);
}

int dx_domain_rows_add(struct dx_domain_rows *r, uint32_t dataset_id,
                       const struct dx_pair_count *counts, const struct dx_suppression_pair *hidden,
                       struct dx_error *err)
{
    uint64_t rows = counts->row_count;
    struct dx_domain_rows_pair *to;

    assert(r->pair_count == 0 || r->pairs[r->pair_count - 1].dataset_id < dataset_id);
    if (rows > INT64_MAX - r->total || (hidden != NULL && hidden->row_count != rows))
        return dx_fail(err, DX_E_CORRUPT,
                       "%s: domain %llu has %llu rows in dataset %u by its counts, and other "
                       "files of the index say otherwise",
                       r->part->directory, (unsigned long long)r->ordinal, (unsigned long long)rows,
                       (unsigned)dataset_id);
    to = dx_array_room(r->pairs, r->pair_count, &r->pair_capacity, sizeof *to);
    if (to == NULL)
        return dx_no_memory(err, "listing");
    r->pairs = to;
    to = &r->pairs[r->pair_count++];
    *to = (struct dx_domain_rows_pair){ .dataset_id = dataset_id,
                                        .rows = rows,
                                        .end = rows,
                                        .before = r->total,
                                        .hidden = hidden,
                                        .has_ts = counts->has_ts,
                                        .first_us = counts->first_us,
                                        .last_us = counts->last_us };
    r->total += visible_of(to);
    return DX_OK;
}

uint64_t dx_domain_rows_datasets(const struct dx_domain_rows *r)
{
    const struct dx_domain_rows_pair *last = NULL;
    uint64_t n = 0;

    for (size_t i = 0; i < r->pair_count; i++) {
        if (visible_of(&r->pairs[i]) == 0)
            continue;
        n += last == NULL || r->pairs[i].dataset_id != last->dataset_id;
        last = &r->pairs[i];
    }
    return n;
}

/* The pair with the n-th visible row, n < total. */
static size_t pair_of(const struct dx_domain_rows *r, uint64_t n)
{
    size_t low = 0;
    size_t high = r->pair_count;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (r->pairs[middle].before <= n)
            low = middle;
        else
            high = middle;
    }
    return low;
}

struct dx_domain_rows_place dx_domain_rows_place(const struct dx_domain_rows *r, uint64_t n)
{
    const struct dx_domain_rows_pair *p;

    if (r->pair_count == 0)
        return (struct dx_domain_rows_place){ 0, 0 };
    if (n >= r->total) {
        p = &r->pairs[r->pair_count - 1];
        return (struct dx_domain_rows_place){ p->dataset_id, p->end };
    }
    p = &r->pairs[pair_of(r, n)];
    return (struct dx_domain_rows_place){ p->dataset_id, window_of(p, n - p->before, 1).offset };
}

/* Whether the pair ends before the place. */
static bool is_before(const struct dx_domain_rows_pair *p, const struct dx_domain_rows_place *place)
{
    return p->dataset_id < place->dataset_id ||
           (p->dataset_id == place->dataset_id && p->end < place->row);
}

bool dx_domain_rows_before(const struct dx_domain_rows *r, const struct dx_domain_rows_place *place,
                           uint64_t *n)
{
    size_t low = 0;
    size_t high = r->pair_count;
    const struct dx_domain_rows_pair *p;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (is_before(&r->pairs[middle], place))
            low = middle + 1;
        else
            high = middle;
    }
    p = &r->pairs[low];
    *n = low == r->pair_count ? r->total : p->before;
    if (low < r->pair_count && p->dataset_id == place->dataset_id && place->row > p->first)
        *n += visible_between(p, p->first, place->row);
    return low == 0 || p[-1].dataset_id != place->dataset_id || place->row <= p[-1].rows;
}

int dx_domain_rows_narrow(struct dx_domain_rows *r, const struct dx_domain_rows_range *ranges,
                          size_t count, struct dx_error *err)
{
    struct dx_domain_rows_pair *pairs = malloc((count + 1) * sizeof *pairs);
    size_t n = 0;

    assert(r->segment_count == 0);
    if (pairs == NULL)
        return dx_no_memory(err, "listing");
    r->total = 0;
    for (size_t i = 0; i < count; i++) {
        struct dx_domain_rows_pair *to = &pairs[n];

        assert(ranges[i].pair < r->pair_count);
        *to = r->pairs[ranges[i].pair];
        to->first = ranges[i].first;
        to->end = ranges[i].end;
        to->before = r->total;
        assert(to->first <= to->end && to->end <= to->rows);
        r->total += visible_of(to);
        n += visible_of(to) > 0;
    }
    free(r->pairs);
    r->pairs = pairs;
    r->pair_count = n;
    r->pair_capacity = count + 1;
    return DX_OK;
}

/* ---- the window ---- */

static uint64_t visible_in(const struct dx_domain_rows *r, const struct dx_domain_rows_segment *s)
{
    return visible_between(&r->pairs[s->pair], s->window.offset,
                           s->window.offset + s->window.limit);
}

static struct dx_domain_rows_segment *add_segment(struct dx_domain_rows *r, size_t pair,
                                                  struct dx_page_of window, struct dx_error *err)
{
    struct dx_domain_rows_segment *to = dx_array_room(r->segments, r->segment_count,
                                                      &r->segment_capacity, sizeof *to);

    if (to == NULL) {
        (void)dx_no_memory(err, "listing");
        return NULL;
    }
    r->segments = to;
    to = &r->segments[r->segment_count++];
    *to = (struct dx_domain_rows_segment){ .pair = pair, .window = window };
    return to;
}

int dx_domain_rows_begin_runs(struct dx_domain_rows *r, struct dx_error *err)
{
    assert(r->segment_count == 0);
    if (r->pair_count > DX_DOMAIN_ROWS_RUNS)
        return dx_fail(err, DX_E_LIMIT, "more than %u datasets have this domain",
                       DX_DOMAIN_ROWS_RUNS);
    for (size_t i = 0; i < r->pair_count; i++)
        if (add_segment(r, i, (struct dx_page_of){ 0, r->pairs[i].rows }, err) == NULL)
            return DX_E_NOMEM;
    r->runs_only = true;
    r->state = r->segment_count > 0 ? READ_POSTINGS : DONE;
    return DX_OK;
}

static void find_kept(const struct dx_domain_rows *r, struct dx_domain_rows_segment *s)
{
    const struct dx_domain_rows_pair *p = &r->pairs[s->pair];
    int rc;

    if (!r->keeps || p->rows > DX_PAIR_ROWS_MAX)
        return;
    rc = dx_pair_rows_find(&s->kept, r->version, r->part, r->ordinal, p->dataset_id);
    s->may_keep = rc < 0;
    if (rc == 1 && s->kept.row_count != p->rows) /* reading says what is wrong */
        dx_pair_rows_put(&s->kept, r->version);
}

bool dx_domain_rows_all_kept(const struct dx_domain_rows *r)
{
    bool all = true;

    for (size_t i = 0; i < r->segment_count; i++)
        all = all && r->segments[i].kept.block != NULL;
    return all;
}

int dx_domain_rows_begin(struct dx_domain_rows *r, uint64_t offset, uint64_t limit,
                         struct dx_error *err)
{
    uint64_t left = offset >= r->total ? 0 : limit;
    bool cut = false;

    assert(r->segment_count == 0); /* rewound, if a window was open */
    r->next = dx_domain_rows_place(r, offset);
    for (size_t i = left == 0 ? r->pair_count : pair_of(r, offset);
         i < r->pair_count && left > 0 && !cut && r->segment_count < DX_DOMAIN_ROWS_PAIRS; i++) {
        const struct dx_domain_rows_pair *p = &r->pairs[i];
        uint64_t skip = offset > p->before ? offset - p->before : 0;
        uint64_t wanted = visible_of(p) - skip < left ? visible_of(p) - skip : left;
        struct dx_domain_rows_segment *to;

        if (wanted == 0)
            continue;
        to = add_segment(r, i, window_of(p, skip, wanted), err);
        if (to == NULL)
            return DX_E_NOMEM;
        find_kept(r, to);
        cut = visible_in(r, to) < wanted;
        left -= visible_in(r, to);
    }
    r->state = r->segment_count > 0 ? READ_POSTINGS : DONE;
    return DX_OK;
}

/* ---- postings ---- */

/* 1, 0: no page can have it. */
static int find_frame(struct dx_domain_rows *r, size_t segment, struct dx_error *err)
{
    uint32_t dataset_id = r->pairs[r->segments[segment].pair].dataset_id;
    struct dx_posting_frames *f = &r->frames[r->frame_count];
    struct dx_pair_place place;
    int rc = r->places.open ? DX_OK : dx_pair_places_open(&r->places, r->part, r->ordinal, err);
    int had;

    if (rc < 0)
        return rc;
    rc = dx_pair_places_find(&r->places, dataset_id, &place);
    had = rc == 1 && r->frame_count > 0 ? dx_posting_frames_have(f - 1, place, err) : 0;

    if (had < 0)
        return had;
    if (rc == 1 && had == 0) {
        dx_posting_frames_init(f, r->part, r->version->caches);
        r->frame_count++;
        rc = dx_posting_frames_find(f, place, err);
    }
    r->frame_of[segment - r->first] = r->frame_count - 1;
    if (rc == 0)
        rc = dx_fail(err, DX_E_CORRUPT,
                     "%s: domain %llu is in dataset %u by its set, but has no posting",
                     r->part->directory, (unsigned long long)r->ordinal, (unsigned)dataset_id);
    return rc;
}

/* Of the next ones, those that are kept need none. */
static int begin_batch(struct dx_domain_rows *r, struct dx_error *err)
{
    size_t n = r->segment_count - r->end < BATCH ? r->segment_count - r->end : BATCH;
    size_t wanted = 0;
    int rc = 1;

    for (size_t i = 0; i < n; i++)
        wanted += r->segments[r->end + i].kept.block == NULL;
    r->frames = calloc(wanted + 1, sizeof *r->frames);
    r->frame_of = calloc(n, sizeof *r->frame_of);
    if (r->frames == NULL || r->frame_of == NULL)
        return dx_no_memory(err, "listing");
    r->first = r->end;
    for (size_t i = 0; rc == 1 && i < n; i++, r->end++)
        if (r->segments[r->end].kept.block == NULL)
            rc = find_frame(r, r->end, err);
    return rc < 0 ? rc : DX_OK;
}

static int keep_run(struct dx_domain_rows *r, const struct dx_run *run, struct dx_error *err)
{
    struct dx_run *to = dx_array_room(r->runs, r->run_count, &r->run_capacity, sizeof *to);

    if (to == NULL)
        return dx_no_memory(err, "listing");
    r->runs = to;
    r->runs[r->run_count++] = *run;
    if (r->runs_only && r->run_count > DX_DOMAIN_ROWS_RUNS)
        return dx_fail(err, DX_E_LIMIT, "these rows lie scattered over more than %u places",
                       DX_DOMAIN_ROWS_RUNS);
    return DX_OK;
}

/* The parts of runs that are in the segment's window. */
static int cut_runs(struct dx_domain_rows *r, struct dx_domain_rows_segment *s,
                    struct dx_payload *payload, struct dx_error *err)
{
    uint64_t skip = s->window.offset;
    uint64_t left = s->window.limit;
    struct dx_run run;
    int rc = DX_OK;

    s->first_run = r->run_count;
    while (rc == DX_OK && left > 0 && dx_payload_next(payload, &run) == 1) {
        if (skip >= run.row_count) {
            skip -= run.row_count;
            continue;
        }
        run.first_row += skip;
        run.row_count -= skip;
        if (run.row_count > left)
            run.row_count = left;
        left -= run.row_count;
        skip = 0;
        rc = keep_run(r, &run, err);
    }
    s->run_count = r->run_count - s->first_run;
    return rc;
}

static int take_posting(struct dx_domain_rows *r, struct dx_domain_rows_segment *s,
                        struct dx_posting_frames *f, struct dx_error *err)
{
    const struct dx_domain_rows_pair *pair = &r->pairs[s->pair];
    struct dx_payload payload = { .rows = 0 };
    struct dx_pair_place place;
    struct dx_span bytes;
    int rc = dx_pair_places_find(&r->places, pair->dataset_id, &place);

    if (rc == 1)
        rc = dx_posting_frames_payload(f, place, &bytes, err);
    if (rc == 1)
        rc = dx_postings_list(&r->part->postings, r->ordinal, pair->dataset_id, bytes,
                              f->dat_object, &payload, err);
    if (rc >= 0 && payload.rows != pair->rows)
        rc = dx_fail(err, DX_E_CORRUPT,
                     "%s: domain %llu has %llu rows in dataset %u by its posting, and %llu by "
                     "its counts",
                     r->part->directory, (unsigned long long)r->ordinal,
                     (unsigned long long)payload.rows, (unsigned)pair->dataset_id,
                     (unsigned long long)pair->rows);
    return rc < 0 ? rc : cut_runs(r, s, &payload, err);
}

static int read_batch(struct dx_domain_rows *r, struct dx_error *err)
{
    int rc = r->frames == NULL ? begin_batch(r, err) : DX_OK;

    dx_read_batch_begin(&r->reading, r->version, r->part->paged, r->deadline_ms);
    for (size_t i = 0; rc == DX_OK && i < r->frame_count; i++)
        rc = dx_posting_frames_advance(&r->frames[i], &r->reading, &r->decoder, err);
    if (rc < 0)
        return rc;
    if (dx_read_batch_state(&r->reading) != DX_READ_BATCH_DONE)
        return DX_LISTING_WAITS;
    for (size_t i = r->first; rc == DX_OK && i < r->end; i++)
        if (r->segments[i].kept.block == NULL)
            rc = take_posting(r, &r->segments[i], &r->frames[r->frame_of[i - r->first]], err);
    release_frames(r);
    return rc;
}

/* ---- pages ---- */

/* Whether so much is planned, with the pages of pairs that are kept. */
static bool is_over(const struct dx_domain_rows *r, uint64_t pages, uint64_t bytes)
{
    return r->listing.reads + r->kept_pages >= pages ||
           r->listing.read_bytes + r->kept_bytes >= bytes;
}

static int plan_segment(struct dx_domain_rows *r, const struct dx_domain_rows_segment *s,
                        struct dx_error *err)
{
    int rc = DX_OK;

    if (s->kept.block != NULL)
        dx_pair_rows_count(&s->kept, r->fields, s->window.offset,
                           s->window.offset + s->window.limit, &r->kept_pages, &r->kept_bytes);
    for (size_t i = 0; rc == DX_OK && i < s->run_count; i++)
        rc = dx_listing_run(&r->listing, &r->runs[s->first_run + i], err);
    if (rc == DX_OK && is_over(r, DX_LISTING_PAGES_MAX + 1, (uint64_t)DX_LISTING_READ_MAX + 1))
        rc = dx_fail(err, DX_E_LIMIT, "these rows lie scattered over too many pages");
    return rc;
}

/* Plans the pages of the first segments; *count: those that fit into one listing. */
static int plan_pages(struct dx_domain_rows *r, size_t *count, struct dx_error *err)
{
    size_t want = *count;
    int rc = DX_OK;

    r->kept_pages = r->kept_bytes = 0;
    for (*count = 0; rc == DX_OK && *count < want; ++*count) {
        if (is_over(r, PAGES_ENOUGH, BYTES_ENOUGH))
            break;
        rc = plan_segment(r, &r->segments[*count], err);
        if (rc < 0)
            break;
    }
    return rc;
}

static int begin_pages(struct dx_domain_rows *r, struct dx_error *err)
{
    size_t count = r->segment_count;
    int rc = plan_pages(r, &count, err);

    if (rc == DX_E_LIMIT && count > 0) { /* without the one that was too much */
        dx_listing_release(&r->listing);
        init_listing(r);
        rc = plan_pages(r, &count, err);
    }
    if (rc < 0)
        return rc;
    for (size_t i = count; i < r->segment_count; i++)
        dx_pair_rows_put(&r->segments[i].kept, r->version);
    r->segment_count = count;
    for (size_t i = 0; i < count; i++)
        r->row_count += visible_in(r, &r->segments[i]);
    r->next.dataset_id = r->pairs[r->segments[count - 1].pair].dataset_id;
    r->next.row = r->segments[count - 1].window.offset + r->segments[count - 1].window.limit;
    r->state = READ_PAGES;
    return DX_OK;
}

static void keep_pairs(const struct dx_domain_rows *r)
{
    for (size_t i = 0, n = 0; i < r->segment_count && n < KEEP_PAIRS; i++) {
        const struct dx_domain_rows_segment *s = &r->segments[i];

        if (!s->may_keep)
            continue;
        dx_pair_rows_keep(r->version, r->part, r->ordinal, r->pairs[s->pair].dataset_id);
        n++;
    }
}

static int read_pages(struct dx_domain_rows *r, struct dx_error *err)
{
    int rc = r->listing.piece_count == 0 ? DX_LISTING_DONE : dx_listing_step(&r->listing, err);

    if (rc != DX_LISTING_DONE)
        return rc;
    if (r->keeps && !r->waited)
        keep_pairs(r);
    r->state = DONE;
    return rc;
}

int dx_domain_rows_step(struct dx_domain_rows *r, struct dx_error *err)
{
    int rc = DX_LISTING_DONE;

    while (rc == DX_LISTING_DONE && r->state == READ_POSTINGS) {
        rc = read_batch(r, err);
        if (rc == DX_LISTING_DONE && r->end == r->segment_count && r->runs_only)
            r->state = DONE;
        else if (rc == DX_LISTING_DONE && r->end == r->segment_count)
            rc = begin_pages(r, err);
    }
    if (rc == DX_LISTING_DONE && r->state == READ_PAGES && !r->plan_only)
        rc = read_pages(r, err);
    r->waited = r->waited || rc == DX_LISTING_WAITS;
    return rc;
}

struct dx_read_batch *dx_domain_rows_reading(struct dx_domain_rows *r)
{
    return r->state == READ_POSTINGS ? &r->reading : &r->listing.reading;
}

int dx_domain_rows_fetched(struct dx_domain_rows *r, int rc, struct dx_error *err)
{
    if (r->state != READ_POSTINGS)
        return dx_listing_fetched(&r->listing, rc, err);
    rc = dx_read_batch_fetched(&r->reading, rc, err);
    if (rc < 0)
        dx_block_request_failed(&r->reading, err);
    return rc;
}

/* ---- its rows ---- */

struct giver {
    const struct dx_domain_rows *rows;
    const struct dx_domain_rows_taker *to;
    size_t segments;                          /* begun */
    uint64_t place, end;                      /* physical, in the last of them */
    const struct dx_suppression_pair *hidden; /* of it */
};

static void enter(struct giver *g)
{
    const struct dx_domain_rows_segment *s;

    if (g->place < g->end)
        return;
    s = &g->rows->segments[g->segments++];
    g->place = s->window.offset;
    g->end = s->window.offset + s->window.limit;
    g->hidden = g->rows->pairs[s->pair].hidden;
    g->to->dataset(g->to->ctx, g->rows->pairs[s->pair].dataset_id);
}

static int give_row(void *ctx, const struct dx_listing_row *row, struct dx_error *err)
{
    struct giver *g = ctx;

    enter(g);
    return dx_suppression_view_hidden(g->hidden, g->place++) ? DX_OK
                                                             : g->to->row(g->to->ctx, row, err);
}

/* A stretch is of one run, so of one dataset. */
static int give_stretch(void *ctx, const struct dx_listing_stretch *s, struct dx_error *err)
{
    struct giver *g = ctx;
    int rc = 0;

    enter(g);
    if (g->hidden == NULL && g->to->stretch != NULL)
        rc = g->to->stretch(g->to->ctx, s, err);
    g->place += rc == 1 ? s->row_count : 0;
    return rc;
}

static int give_kept(struct giver *g, const struct dx_domain_rows_segment *s, struct dx_error *err)
{
    uint64_t end = s->window.offset + s->window.limit;
    struct dx_listing_row row;
    int rc = DX_OK;

    for (uint64_t i = s->window.offset; rc == DX_OK && i < end; i++) {
        dx_pair_rows_get(&s->kept, i, &row);
        rc = give_row(g, &row, err);
    }
    return rc;
}

int dx_domain_rows_each(struct dx_domain_rows *r, const struct dx_domain_rows_taker *taker,
                        struct dx_error *err)
{
    struct giver g = { .rows = r, .to = taker };
    const struct dx_listing_taker of = { &g, give_row, give_stretch };
    int rc = DX_OK;

    assert(r->state == DONE);
    for (size_t i = 0; rc == DX_OK && i < r->segment_count; i++) {
        const struct dx_domain_rows_segment *s = &r->segments[i];

        rc = s->kept.block != NULL
                 ? give_kept(&g, s, err)
                 : dx_listing_rows_of(&r->listing, s->first_run, s->run_count, &of, err);
    }
    return rc;
}

uint64_t dx_domain_rows_text_bytes(const struct dx_domain_rows *r)
{
    uint64_t bytes = dx_listing_text_bytes(&r->listing);

    for (size_t i = 0; i < r->segment_count; i++) {
        const struct dx_domain_rows_segment *s = &r->segments[i];

        if (s->kept.block != NULL)
            bytes += dx_pair_rows_text_bytes(&s->kept, s->window.offset,
                                             s->window.offset + s->window.limit);
    }
    return bytes;
}

static int by_place(const void *left, const void *right)
{
    const struct dx_domain_rows_range *a = left;
    const struct dx_domain_rows_range *b = right;

    if (a->pair != b->pair)
        return a->pair < b->pair ? -1 : 1;
    return (a->first > b->first) - (a->first < b->first);
}

void dx_domain_rows_sort(struct dx_domain_rows_range *ranges, size_t count)
{
    if (count > 1)
        qsort(ranges, count, sizeof *ranges, by_place);
}
