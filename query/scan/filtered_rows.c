/* SPDX-License-Identifier: Apache-2.0 */
#include "query/scan/filtered_rows.h"

#include "base/array.h"
#include "loader/version.h"
#include "query/suppression/suppression_view.h"

#include <assert.h>
#include <stdlib.h>

/* Of one page: each run is some pages of its own where rows lie scattered over many files. */
#define RUNS_MAX 4096
#define CHUNK_RUNS_MAX 256
#define CHUNK_FIRST 1024
#define CHUNK_MAX 16384
#define TRY_COUNTS 128 /* rows that a try of the search counts as, of DX_FILTERED_LOOK_MAX */
#define NEAR_ROWS 256  /* so many rows between two that were taken are read with them */
#define SCRATCH_MAX (64u << 20) /* of a tag: as large as a page of the lake may be */
/* Where rows that were taken end a page. */
#define PAGES_ENOUGH (DX_LISTING_PAGES_MAX / 2)
#define BYTES_ENOUGH (DX_LISTING_READ_MAX / 2)
#define HOST_MAX 4096 /* longer than any: a lake of others may say anything */

enum { FIND_RUNS, BEGIN_CHUNK, LOOK, BEGIN_TRY, TRY, BEGIN_TAKE, TAKE, DONE };

static void listing_of_runs(struct dx_filtered_rows *f, unsigned fields)
{
    dx_listing_release(&f->listing);
    dx_listing_init(&f->listing, f->version, NULL, 0, 0, (struct dx_page_of){ 0, 0 }, fields,
                    f->ask.deadline_ms);
}

int dx_filtered_rows_init(struct dx_filtered_rows *f, struct dx_version *v,
                          const struct dx_part *part, uint64_t ordinal, uint32_t dataset_id,
                          const struct dx_filtered_ask *ask, struct dx_error *err)
{
    struct dx_page_of window = { ask->first, INT64_MAX - ask->first };
    size_t size;

    *f = (struct dx_filtered_rows){
        .version = v, .ask = *ask, .next = ask->first, .place = ask->first, .chunk = CHUNK_FIRST
    };
    dx_buf_init(&f->host, HOST_MAX);
    dx_buf_init(&f->scratch, SCRATCH_MAX);
    dx_listing_init(&f->listing, v, part, ordinal, dataset_id, window, 0, ask->deadline_ms);
    f->listing.runs_max = RUNS_MAX;
    if (ask->first > ask->end || ask->end > INT64_MAX)
        return dx_fail(err, DX_E_INVALID, "filtered listing: no such places");
    size = dx_row_filter_pack(&ask->filter, f->text);
    (void)dx_row_filter_unpack(dx_span_of(f->text, size), &f->ask.filter);
    dx_row_filter_lend(&f->ask.filter, &ask->filter);
    f->by_tag = f->ask.filter.tag.data != NULL && dx_tag_fits(f->ask.filter.tag);
    if (f->by_tag) {
        dx_tag_places_init(&f->tags, v, f->ask.filter.tag);
        f->ask.filter.tag = dx_span_of(NULL, 0);
    }
    f->extra_count = dx_row_filter_extras(&f->ask.filter, f->extras);
    return DX_OK;
}

void dx_filtered_rows_release(struct dx_filtered_rows *f)
{
    dx_listing_release(&f->listing);
    dx_buf_release(&f->host);
    dx_buf_release(&f->scratch);
    if (f->by_tag)
        dx_tag_places_release(&f->tags);
    free(f->runs);
    free(f->run_places);
    free(f->taken);
    free(f->near);
    f->runs = NULL;
    f->run_places = f->taken = NULL;
    f->near = NULL;
    f->state = DONE;
}

struct dx_read_batch *dx_filtered_rows_reading(struct dx_filtered_rows *f)
{
    return &f->listing.reading;
}

int dx_filtered_rows_fetched(struct dx_filtered_rows *f, int rc, struct dx_error *err)
{
    return dx_listing_fetched(&f->listing, rc, err);
}

/* ---- where the rows are ---- */

static int find_runs(struct dx_filtered_rows *f, struct dx_error *err)
{
    uint64_t place = f->ask.first;
    int rc = dx_listing_step(&f->listing, err);

    if (rc != DX_LISTING_DONE)
        return rc;
    f->found = f->listing.found;
    f->total = f->listing.total;
    f->end = f->ask.end < f->total ? f->ask.end : f->total;
    f->runs = f->listing.runs;
    f->run_count = f->listing.run_count;
    f->listing.runs = NULL;
    f->run_places = malloc((f->run_count + 1) * sizeof *f->run_places);
    if (f->run_places == NULL)
        return dx_no_memory(err, "filtered listing");
    for (size_t i = 0; i < f->run_count; i++) {
        f->run_places[i] = place;
        place += f->runs[i].row_count;
    }
    f->known_end = place < f->end ? place : f->end;
    if (f->ask.nothing)
        f->next = f->known_end = f->end;
    f->state = BEGIN_CHUNK;
    return DX_LISTING_DONE;
}

/* Of a place that is known. */
static size_t run_of(const struct dx_filtered_rows *f, uint64_t place)
{
    size_t low = 0;
    size_t high = f->run_count;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (f->run_places[middle] <= place)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The end of the rows from place on that are of one file, so in order. */
static uint64_t end_of_file(const struct dx_filtered_rows *f, uint64_t place)
{
    size_t i = run_of(f, place);
    uint32_t file = f->runs[i].file_id;

    while (i < f->run_count && f->runs[i].file_id == file)
        i++;
    return i < f->run_count && f->run_places[i] < f->known_end ? f->run_places[i] : f->known_end;
}

/* Plans the listing for rows [first, end), as far as CHUNK_RUNS_MAX runs go; *end is where they
 * end. */
static int plan_rows(struct dx_filtered_rows *f, uint64_t first, uint64_t *end,
                     struct dx_error *err)
{
    uint64_t place = first;
    int rc = DX_OK;

    for (size_t i = run_of(f, first), n = 0; rc == DX_OK && place < *end && n < CHUNK_RUNS_MAX;
         i++, n++) {
        struct dx_run run = f->runs[i];
        uint64_t skip = place - f->run_places[i];
        uint64_t left = run.row_count - skip;

        run.first_row += skip;
        run.row_count = left < *end - place ? left : *end - place;
        rc = dx_listing_run(&f->listing, &run, err);
        place += run.row_count;
    }
    *end = place;
    return rc;
}

/* ---- which of them have a tag ---- */

/* The first place with it from this one on, or the end of what is known. */
static int find_tag(struct dx_filtered_rows *f, uint64_t from, struct dx_error *err)
{
    int rc = from >= f->known_end ? 0
                                  : dx_tag_places_next(&f->tags, f->runs, f->run_places,
                                                       f->run_count, from, &f->tag_next, err);

    if (rc == 0 || (rc == 1 && f->tag_next > f->known_end))
        f->tag_next = f->known_end;
    return rc < 0 ? rc : DX_OK;
}

/* How far places with it follow each other closely, from the next one on: at most `most` rows. */
static int find_cluster(struct dx_filtered_rows *f, uint64_t most, uint64_t *end,
                        struct dx_error *err)
{
    int rc = DX_OK;

    *end = f->next + 1;
    while (rc == DX_OK) {
        rc = find_tag(f, *end, err);
        if (rc < 0 || f->tag_next >= f->known_end || f->tag_next - *end > NEAR_ROWS ||
            f->tag_next - f->next >= most)
            break;
        *end = f->tag_next + 1;
    }
    f->tag_next = f->next;
    return rc;
}

/* ---- looking at rows ---- */

static bool enough(const struct dx_filtered_rows *f)
{
    return f->taken_count == f->ask.limit || f->next >= f->known_end ||
           f->looked >= DX_FILTERED_LOOK_MAX || f->read_bytes >= DX_LISTING_READ_MAX ||
           dx_row_filter_is_enough(&f->ask.filter);
}

static int take_place(struct dx_filtered_rows *f, uint64_t place, struct dx_error *err)
{
    uint64_t *to = dx_array_room(f->taken, f->taken_count, &f->taken_capacity, sizeof *to);

    if (to == NULL)
        return dx_no_memory(err, "filtered listing");
    f->taken = to;
    f->taken[f->taken_count++] = place;
    return DX_OK;
}

static bool is_tag_alone(const struct dx_filtered_rows *f)
{
    return f->by_tag && f->ask.filter.numbers == NULL && !dx_row_filter_any(&f->ask.filter) &&
           !dx_row_filter_skips(&f->ask.filter);
}

/* All that have the tag, as many as are wanted. */
static int take_tagged(struct dx_filtered_rows *f, struct dx_error *err)
{
    int rc = DX_OK;

    while (rc == DX_OK && !enough(f)) {
        if (!dx_suppression_view_hidden(f->ask.hidden, f->next))
            rc = take_place(f, f->next, err);
        f->looked++;
        if (rc == DX_OK)
            rc = find_tag(f, f->next + 1, err);
        f->next = f->tag_next;
    }
    return rc;
}

static int begin_chunk(struct dx_filtered_rows *f, struct dx_error *err)
{
    uint64_t last = f->known_end;
    int rc = DX_OK;

    if (f->by_tag && !enough(f)) {
        rc = find_tag(f, f->next, err);
        f->next = rc < 0 ? f->next : f->tag_next;
    }
    if (rc == DX_OK && is_tag_alone(f))
        rc = take_tagged(f, err);
    if (rc == DX_OK && f->by_tag && !enough(f)) {
        f->looked += TRY_COUNTS; /* each is a read of its own */
        rc = find_cluster(f, f->chunk, &last, err);
    }
    if (rc < 0)
        return rc;
    if (enough(f)) {
        f->state = BEGIN_TAKE;
        return DX_OK;
    }
    do {
        f->chunk_end = last - f->next < f->chunk ? last : f->next + f->chunk;
        listing_of_runs(f, dx_row_filter_fields(&f->ask.filter));
        f->listing.extras = f->extras;
        f->listing.extra_count = f->extra_count;
        rc = plan_rows(f, f->next, &f->chunk_end, err);
        f->chunk = rc == DX_E_LIMIT ? f->chunk / 2 : f->chunk;
    } while (rc == DX_E_LIMIT && f->chunk > 0);
    f->place = f->next;
    f->state = LOOK;
    return rc;
}

/* Of the row that comes: 1, 0, <0. */
static int has_tag(struct dx_filtered_rows *f, struct dx_error *err)
{
    int rc = DX_OK;

    if (!f->by_tag)
        return 1;
    if (f->tag_next < f->place)
        rc = find_tag(f, f->place, err);
    return rc < 0 ? rc : f->tag_next == f->place;
}

static int look_at(void *ctx, const struct dx_listing_row *row, struct dx_error *err)
{
    struct dx_filtered_rows *f = ctx;
    int rc = DX_OK;

    if (f->taken_count < f->ask.limit && !dx_row_filter_is_enough(&f->ask.filter)) {
        if (!dx_suppression_view_hidden(f->ask.hidden, f->place))
            rc = has_tag(f, err);
        if (rc == 1)
            rc = dx_row_filter_takes(&f->ask.filter, row, &f->scratch, err);
        if (rc == 1)
            rc = take_place(f, f->place, err);
        f->next = f->place + 1;
    }
    if (++f->place == f->chunk_end && dx_row_filter_skips(&f->ask.filter)) {
        f->side = dx_row_filter_side(&f->ask.filter, row->host, row->path_query);
        dx_buf_clear(&f->host);
        dx_buf_append(&f->host, row->host.data, row->host.size);
        if (f->host.failed)
            return dx_buf_fail(&f->host, err, "host of a row");
    }
    return rc;
}

static void begin_search(struct dx_filtered_rows *f)
{
    assert(f->next > 0);
    f->low = f->next - 1;
    f->high = end_of_file(f, f->low);
    f->stride = CHUNK_FIRST;
    f->closing = false;
    f->state = BEGIN_TRY;
}

static void note_seen(struct dx_filtered_rows *f)
{
    f->read_bytes += f->listing.read_bytes;
    f->rows_seen += f->listing.row_count;
    f->pages_seen += f->listing.reads;
    f->bytes_seen += f->listing.read_bytes;
}

static int look_at_chunk(struct dx_filtered_rows *f, struct dx_error *err)
{
    const struct dx_listing_taker taker = { .ctx = f, .row = look_at };
    int rc = dx_listing_step(&f->listing, err);

    if (rc != DX_LISTING_DONE)
        return rc;
    rc = dx_listing_rows(&f->listing, &taker, err);
    if (rc < 0)
        return rc;
    f->looked += f->listing.row_count;
    note_seen(f);
    if (f->chunk < CHUNK_MAX)
        f->chunk = f->chunk == 0 ? 1 : 2 * f->chunk;
    f->state = BEGIN_CHUNK;
    if (dx_row_filter_skips(&f->ask.filter) && f->side != DX_ROW_WITHIN && !enough(f) &&
        f->next < end_of_file(f, f->next - 1))
        begin_search(f);
    return DX_OK;
}

/* ---- the search ---- */

static int try_row(void *ctx, const struct dx_listing_row *row, struct dx_error *err)
{
    struct dx_filtered_rows *f = ctx;
    int order = dx_span_compare(row->host, dx_span_of(f->host.data, f->host.size));

    (void)err;
    f->reached = order > 0 ||
                 (order == 0 && f->side == DX_ROW_BEFORE &&
                  dx_row_filter_side(&f->ask.filter, row->host, row->path_query) != DX_ROW_BEFORE);
    return DX_OK;
}

/* Rows up to low do not match. */
static void end_search(struct dx_filtered_rows *f)
{
    f->next = f->low + 1;
    f->chunk = CHUNK_FIRST;
    f->state = BEGIN_CHUNK;
}

static int begin_try(struct dx_filtered_rows *f, struct dx_error *err)
{
    uint64_t apart = f->high - f->low;
    uint64_t end;

    /* What is left lies on a page or two: it is looked at row by row. */
    if ((f->closing && apart <= CHUNK_FIRST) || apart <= 1 || f->looked >= DX_FILTERED_LOOK_MAX ||
        f->read_bytes >= DX_LISTING_READ_MAX) {
        end_search(f);
        return DX_OK;
    }
    if (f->closing)
        f->place = f->low + apart / 2;
    else
        f->place = apart - 1 < f->stride ? f->high - 1 : f->low + f->stride;
    end = f->place + 1;
    f->state = TRY;
    listing_of_runs(f, DX_FIELD_URL);
    return plan_rows(f, f->place, &end, err);
}

static int try_place(struct dx_filtered_rows *f, struct dx_error *err)
{
    const struct dx_listing_taker taker = { .ctx = f, .row = try_row };
    int rc = dx_listing_step(&f->listing, err);

    if (rc != DX_LISTING_DONE)
        return rc;
    rc = dx_listing_rows(&f->listing, &taker, err);
    if (rc < 0)
        return rc;
    f->looked += TRY_COUNTS;
    note_seen(f);
    if (f->reached) {
        f->high = f->place;
        f->closing = true;
    } else {
        f->low = f->place;
        f->stride = f->stride > INT64_MAX / 4 ? f->stride : 4 * f->stride;
    }
    f->state = BEGIN_TRY;
    return DX_OK;
}

/* ---- the rows that were taken ---- */

static int add_near(struct dx_filtered_rows *f, uint64_t place, struct dx_error *err)
{
    struct dx_filtered_run *last = f->near_count > 0 ? &f->near[f->near_count - 1] : NULL;
    struct dx_filtered_run *to;

    if (last != NULL && place - (last->place + last->rows) < NEAR_ROWS &&
        place - last->place < CHUNK_MAX && run_of(f, place) == run_of(f, last->place)) {
        last->rows = place + 1 - last->place;
        return DX_OK;
    }
    to = dx_array_room(f->near, f->near_count, &f->near_capacity, sizeof *to);
    if (to == NULL)
        return dx_no_memory(err, "filtered listing");
    f->near = to;
    f->near[f->near_count++] = (struct dx_filtered_run){ .place = place, .rows = 1 };
    return DX_OK;
}

/* The page ends before those that lie too far apart to be read with the others. */
static void cut_taken(struct dx_filtered_rows *f, size_t near)
{
    f->next = f->near[near].place;
    f->near_count = near;
    while (f->taken[f->taken_count - 1] >= f->next)
        f->taken_count--;
}

static int plan_taken(struct dx_filtered_rows *f, struct dx_error *err)
{
    int rc = DX_OK;

    listing_of_runs(f, f->ask.fields);
    f->near_count = 0;
    for (size_t i = 0; rc == DX_OK && i < f->taken_count; i++)
        rc = add_near(f, f->taken[i], err);
    for (size_t i = 0; rc == DX_OK && i < f->near_count; i++) {
        struct dx_run run = f->runs[run_of(f, f->near[i].place)];

        if (i > 0 && dx_listing_planned_over(&f->listing, PAGES_ENOUGH, BYTES_ENOUGH)) {
            cut_taken(f, i);
            break;
        }
        run.first_row += f->near[i].place - f->run_places[run_of(f, f->near[i].place)];
        run.row_count = f->near[i].rows;
        rc = dx_listing_run(&f->listing, &run, err);
    }
    return rc;
}

static int begin_take(struct dx_filtered_rows *f, struct dx_error *err)
{
    int rc = plan_taken(f, err);

    /* Near each other, but on more pages than a listing may read. */
    while (rc == DX_E_LIMIT && f->taken_count > 1) {
        f->taken_count /= 2;
        f->next = f->taken[f->taken_count];
        rc = plan_taken(f, err);
    }
    f->state = f->taken_count > 0 ? TAKE : DONE;
    return rc;
}

static int take(struct dx_filtered_rows *f, struct dx_error *err)
{
    int rc = dx_listing_step(&f->listing, err);

    if (rc == DX_LISTING_DONE) {
        f->rows_seen += is_tag_alone(f) ? f->listing.row_count : 0;
        f->pages_seen += f->listing.reads;
        f->bytes_seen += f->listing.read_bytes;
        f->state = DONE;
    }
    return rc;
}

int dx_filtered_rows_step(struct dx_filtered_rows *f, struct dx_error *err)
{
    static int (*const steps[DONE])(struct dx_filtered_rows *,
                                    struct dx_error *) = { [FIND_RUNS] = find_runs,
                                                           [BEGIN_CHUNK] = begin_chunk,
                                                           [LOOK] = look_at_chunk,
                                                           [BEGIN_TRY] = begin_try,
                                                           [TRY] = try_place,
                                                           [BEGIN_TAKE] = begin_take,
                                                           [TAKE] = take };
    int rc = DX_LISTING_DONE;

    while (rc == DX_LISTING_DONE && f->state != DONE)
        rc = steps[f->state](f, err);
    return rc;
}

struct giver {
    const struct dx_filtered_rows *f;
    dx_filtered_take *take;
    void *ctx;
    size_t near, taken;
    uint64_t row; /* of near */
};

static int give(void *ctx, const struct dx_listing_row *row, struct dx_error *err)
{
    struct giver *g = ctx;
    const struct dx_filtered_rows *f = g->f;
    uint64_t place = f->near[g->near].place + g->row++;

    if (g->row == f->near[g->near].rows) {
        g->near++;
        g->row = 0;
    }
    if (g->taken == f->taken_count || place != f->taken[g->taken])
        return DX_OK;
    g->taken++;
    return g->take(g->ctx, row, err);
}

int dx_filtered_rows_each(struct dx_filtered_rows *f, dx_filtered_take *give_to, void *ctx,
                          struct dx_error *err)
{
    struct giver g = { .f = f, .take = give_to, .ctx = ctx };

    if (f->taken_count == 0)
        return DX_OK;
    return dx_listing_rows(&f->listing, &(struct dx_listing_taker){ &g, give, NULL }, err);
}
