/* SPDX-License-Identifier: Apache-2.0 */
#include "query/scan/row_streams.h"

#include "base/array.h"
#include "loader/version.h"
#include "loader/version_parts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A batch that has so much planned is full: the next plan may be as large again. */
#define PAGES_ENOUGH 1024
#define BYTES_ENOUGH (16u << 20)

#define LEAF 2048 /* so many rows lie on a page or two: all of them are looked at */
#define FEW_STREAMS 16
#define WANTED_MAX 4096 /* slices of a batch */
#define TRIES 7 /* of each of a few streams at once: three times fewer waits than by halving */

#define SLICE_FIELDS ((unsigned)(DX_FIELD_URL | DX_FIELD_URL_ID | DX_FIELD_TS))

bool dx_row_streams_sliceable(unsigned fields, size_t extra_count)
{
    return (fields & ~SLICE_FIELDS) == 0 && extra_count == 0;
}

static struct dx_page_cache *slices_of(const struct dx_row_streams *s)
{
    return s->rows->version->caches->pages;
}

static void init_listing(struct dx_row_streams *s)
{
    dx_listing_init(&s->listing, s->rows->version, NULL, 0, 0, (struct dx_page_of){ 0, 0 },
                    s->by_slices ? SLICE_FIELDS : s->fields, s->rows->deadline_ms);
    s->listing.extras = s->extras;
    s->listing.extra_count = s->extra_count;
}

void dx_row_streams_init(struct dx_row_streams *s, struct dx_domain_rows *rows)
{
    *s = (struct dx_row_streams){ .rows = rows };
    init_listing(s);
}

void dx_row_streams_release(struct dx_row_streams *s)
{
    dx_row_streams_done(s);
    dx_row_slice_maker_release(&s->maker);
    free(s->streams);
    free(s->run_places);
    free(s->wanted);
    s->streams = NULL;
    s->run_places = NULL;
    s->wanted = NULL;
    s->count = s->wanted_count = s->wanted_capacity = 0;
}

struct dx_read_batch *dx_row_streams_reading(struct dx_row_streams *s)
{
    return s->open ? &s->listing.reading : dx_domain_rows_reading(s->rows);
}

int dx_row_streams_fetched(struct dx_row_streams *s, int rc, struct dx_error *err)
{
    return s->open ? dx_listing_fetched(&s->listing, rc, err)
                   : dx_domain_rows_fetched(s->rows, rc, err);
}

/* ---- which files ---- */

static void begin_stream(struct dx_row_streams *s, size_t pair, size_t run, uint64_t place)
{
    s->streams[s->count++] = (struct dx_row_stream){
        .pair = pair, .first_run = run, .first = place, .end = place
    };
}

/* What of the stream counts. */
static void bound_stream(struct dx_row_stream *st, const struct dx_domain_rows_pair *pair)
{
    st->low = st->first > pair->first ? st->first : pair->first;
    st->high = st->end < pair->end ? st->end : pair->end;
    if (st->low > st->high)
        st->low = st->high;
}

static void cut_pair(struct dx_row_streams *s, const struct dx_domain_rows_segment *of)
{
    const struct dx_domain_rows *r = s->rows;
    size_t first = s->count;
    uint64_t place = 0;

    for (size_t i = of->first_run; i < of->first_run + of->run_count; i++) {
        if (i == of->first_run || r->runs[i].file_id != r->runs[i - 1].file_id)
            begin_stream(s, of->pair, i, place);
        s->run_places[i] = place;
        place += r->runs[i].row_count;
        s->streams[s->count - 1].run_count++;
        s->streams[s->count - 1].end = place;
    }
    for (size_t i = first; i < s->count; i++)
        bound_stream(&s->streams[i], &r->pairs[of->pair]);
}

static size_t count_streams(const struct dx_domain_rows *r)
{
    size_t n = 0;

    for (size_t k = 0; k < r->segment_count; k++)
        for (size_t i = 0; i < r->segments[k].run_count; i++) {
            const struct dx_run *run = &r->runs[r->segments[k].first_run + i];

            n += i == 0 || run->file_id != run[-1].file_id;
        }
    return n;
}

static int cut_streams(struct dx_row_streams *s, struct dx_error *err)
{
    const struct dx_domain_rows *r = s->rows;
    size_t n = count_streams(r);

    if (n > DX_ROW_STREAMS_MAX)
        return dx_fail(err, DX_E_LIMIT, "these rows lie in %zu files, and at most %u are merged", n,
                       DX_ROW_STREAMS_MAX);
    s->streams = calloc(n + 1, sizeof *s->streams);
    s->run_places = calloc(r->run_count + 1, sizeof *s->run_places);
    if (s->streams == NULL || s->run_places == NULL)
        return dx_no_memory(err, "listing");
    for (size_t k = 0; k < r->segment_count; k++)
        cut_pair(s, &r->segments[k]);
    return DX_OK;
}

int dx_row_streams_open(struct dx_row_streams *s, struct dx_error *err)
{
    int rc = s->open ? DX_LISTING_DONE : dx_domain_rows_step(s->rows, err);

    if (rc != DX_LISTING_DONE || s->open)
        return rc;
    rc = cut_streams(s, err);
    s->open = true;
    return rc;
}

size_t dx_row_streams_with(const struct dx_row_streams *s, const struct dx_domain_rows_place *place)
{
    size_t low = 0;
    size_t high = s->count;

    while (low < high) { /* the first that ends behind the place */
        size_t middle = low + (high - low) / 2;
        uint32_t id = dx_row_streams_dataset(s, middle);

        if (id < place->dataset_id ||
            (id == place->dataset_id && s->streams[middle].end <= place->row))
            low = middle + 1;
        else
            high = middle;
    }
    return low < s->count && dx_row_streams_dataset(s, low) == place->dataset_id ? low : s->count;
}

/* ---- rows whose keys stray ---- */

static bool is_before(const struct dx_page_stray *stray, const struct dx_run *run)
{
    return stray->row_group < run->row_group ||
           (stray->row_group == run->row_group && stray->row < run->first_row);
}

static bool is_behind(const struct dx_page_stray *stray, const struct dx_run *run)
{
    return stray->row_group > run->row_group ||
           (stray->row_group == run->row_group && stray->row - run->first_row >= run->row_count);
}

/* The first record of the file that is not before the run. */
static int strays_from(const struct dx_pages *p, const struct dx_run *run, uint64_t *at,
                       uint64_t end, struct dx_error *err)
{
    while (*at < end) {
        uint64_t middle = *at + (end - *at) / 2;
        struct dx_page_stray stray;
        int rc = dx_pages_stray(p, middle, &stray, err);

        if (rc < 0)
            return rc;
        if (is_before(&stray, run))
            *at = middle + 1;
        else
            end = middle;
    }
    return DX_OK;
}

/* Both the runs of a file and its records ascend. */
int dx_row_streams_strays(const struct dx_row_streams *s, size_t stream, uint64_t *places,
                          size_t room, size_t *count, struct dx_error *err)
{
    const struct dx_row_stream *st = &s->streams[stream];
    const struct dx_run *runs = s->rows->runs;
    const struct dx_part *part = dx_version_part_of_file(s->rows->version,
                                                         runs[st->first_run].file_id);
    uint64_t at, records;
    int rc = part == NULL
                 ? 0
                 : dx_pages_strays(&part->pages, runs[st->first_run].file_id, &at, &records, err);

    assert(s->open && stream < s->count);
    *count = 0;
    if (rc != 1 || records == 0)
        return rc;
    records += at;
    for (size_t i = st->first_run; i < st->first_run + st->run_count && at < records; i++) {
        struct dx_page_stray stray;

        rc = strays_from(&part->pages, &runs[i], &at, records, err);
        while (rc >= 0 && at < records &&
               (rc = dx_pages_stray(&part->pages, at, &stray, err)) >= 0 &&
               !is_behind(&stray, &runs[i])) {
            if (*count == room)
                return 0;
            places[(*count)++] = s->run_places[i] + (stray.row - runs[i].first_row);
            at++;
        }
        if (rc < 0)
            return rc;
    }
    return 1;
}

/* ---- rows ---- */

bool dx_row_streams_full(const struct dx_row_streams *s)
{
    return dx_listing_planned_over(&s->listing, PAGES_ENOUGH, BYTES_ENOUGH) ||
           s->slice_bytes >= BYTES_ENOUGH || (s->by_slices && s->wanted_count >= WANTED_MAX);
}

/* The run of the stream that has the place. */
static size_t run_of(const struct dx_row_streams *s, const struct dx_row_stream *st, uint64_t place)
{
    size_t low = st->first_run;
    size_t high = st->first_run + st->run_count;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (s->run_places[middle] <= place)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static struct dx_row_streams_wanted *add_wanted(struct dx_row_streams *s, size_t stream,
                                                uint64_t place, uint64_t rows, struct dx_error *err)
{
    struct dx_row_streams_wanted *to = dx_array_room(s->wanted, s->wanted_count,
                                                     &s->wanted_capacity, sizeof *to);

    if (to == NULL) {
        (void)dx_no_memory(err, "listing");
        return NULL;
    }
    s->wanted = to;
    to = &s->wanted[s->wanted_count++];
    *to = (struct dx_row_streams_wanted){ .stream = stream, .place = place, .rows = rows };
    return to;
}

/* ---- by slices ---- */

static int know_file(struct dx_row_streams *s, struct dx_row_stream *st, struct dx_error *err)
{
    uint32_t file_id = s->rows->runs[st->first_run].file_id;
    struct dx_pages_file file;
    int rc = st->has_hash ? 1 : dx_version_file(s->rows->version, file_id, &st->part, &file, err);

    if (rc == 0)
        rc = dx_fail(err, DX_E_CORRUPT, "posting of file %u: not in pages.dxp", (unsigned)file_id);
    if (rc < 0)
        return rc;
    if (!st->has_hash)
        st->hash = file.hash;
    st->has_hash = true;
    return DX_OK;
}

static bool is_same_slice(const struct dx_row_streams_wanted *a,
                          const struct dx_row_streams_wanted *b)
{
    return a->stream == b->stream && memcmp(&a->key, &b->key, sizeof a->key) == 0;
}

/* Rows of one slice; run: the rows of that, which are slice_rows. */
static int want_slice(struct dx_row_streams *s, struct dx_row_streams_wanted *w,
                      const struct dx_run *run, struct dx_error *err)
{
    const struct dx_row_stream *st = &s->streams[w->stream];
    int rc = DX_OK;

    w->slice_rows = (uint32_t)run->row_count;
    dx_row_slice_key(&w->key, &st->part->entry.build, &st->hash, run->row_group, run->first_row,
                     w->slice_rows);
    w->same = w > s->wanted && is_same_slice(w - 1, w);
    if (w->same)
        return DX_OK;
    if (dx_row_slice_find(&w->slice, slices_of(s), &w->key)) {
        s->slice_bytes += w->slice.block->bytes.size;
        return DX_OK;
    }
    rc = dx_listing_run(&s->listing, run, err);
    w->planned = true;
    w->pages = s->listing.run_reads;
    w->bytes = s->listing.run_bytes;
    s->planned_count++;
    return rc;
}

/* Rows of one run, from the skip-th on. */
static int want_of_run(struct dx_row_streams *s, size_t stream, const struct dx_run *run,
                       uint64_t skip, uint64_t place, uint64_t count, struct dx_error *err)
{
    int rc = DX_OK;

    while (rc == DX_OK && count > 0) {
        uint64_t first = skip / DX_ROW_SLICE_ROWS * DX_ROW_SLICE_ROWS;
        struct dx_run of = *run;
        struct dx_row_streams_wanted *w;
        uint64_t rows;

        of.first_row += first;
        of.row_count = run->row_count - first < DX_ROW_SLICE_ROWS ? run->row_count - first
                                                                  : DX_ROW_SLICE_ROWS;
        rows = of.row_count - (skip - first) < count ? of.row_count - (skip - first) : count;
        w = add_wanted(s, stream, place, rows, err);
        if (w == NULL)
            return DX_E_NOMEM;
        w->first = (uint32_t)(skip - first);
        rc = want_slice(s, w, &of, err);
        skip += rows;
        place += rows;
        count -= rows;
    }
    return rc;
}

static int make_slice_row(void *ctx, const struct dx_listing_row *row, struct dx_error *err)
{
    struct dx_row_streams *s = ctx;
    struct dx_row_streams_wanted *w;
    int rc = dx_row_slice_add(&s->maker, row, err);

    while (!s->wanted[s->making].planned)
        s->making++;
    w = &s->wanted[s->making];
    if (rc < 0 || s->maker.rows.count < w->slice_rows)
        return rc;
    s->making++;
    return dx_row_slice_make(&s->maker, slices_of(s), &w->key, w->pages, w->bytes, &w->slice, err);
}

static int read_slices(struct dx_row_streams *s, struct dx_error *err)
{
    int rc = s->planned_count == 0 ? DX_LISTING_DONE : dx_listing_step(&s->listing, err);

    if (rc == DX_LISTING_DONE && s->planned_count > 0) {
        s->making = 0;
        rc = dx_listing_rows(&s->listing, &(struct dx_listing_taker){ s, make_slice_row, NULL },
                             err);
    }
    for (size_t i = 0; rc == DX_LISTING_DONE && i < s->wanted_count; i++) {
        s->pages_seen += s->wanted[i].slice.pages;
        s->bytes_seen += s->wanted[i].slice.bytes;
    }
    return rc;
}

static int give_slice(struct dx_row_streams *s, const struct dx_row_streams_wanted *w,
                      const struct dx_row_slice *slice, const struct dx_row_streams_taker *taker,
                      struct dx_error *err)
{
    int rc = taker->slice == NULL ? 0
                                  : taker->slice(taker->ctx, w->stream, w->place, slice, w->first,
                                                 (uint32_t)w->rows, err);

    if (rc != 0)
        return rc < 0 ? rc : DX_OK;
    s->rows_seen += w->rows;
    for (uint32_t i = 0; rc == 0 && i < w->rows; i++) {
        dx_merged_row_get(&slice->rows[w->first + i], slice->text, &s->row);
        rc = taker->row(taker->ctx, w->stream, w->place + i, &s->row, err);
    }
    return rc < 0 ? rc : DX_OK;
}

static int each_slice(struct dx_row_streams *s, const struct dx_row_streams_taker *taker,
                      struct dx_error *err)
{
    const struct dx_row_slice *slice = NULL;
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < s->wanted_count; i++) {
        if (!s->wanted[i].same)
            slice = &s->wanted[i].slice;
        rc = give_slice(s, &s->wanted[i], slice, taker, err);
    }
    return rc;
}

/* ---- of either kind ---- */

static int want_run(struct dx_row_streams *s, size_t stream, struct dx_run run, uint64_t skip,
                    uint64_t place, uint64_t count, struct dx_error *err)
{
    if (s->by_slices)
        return want_of_run(s, stream, &run, skip, place, count, err);
    run.first_row += skip;
    run.row_count = count;
    return dx_listing_run(&s->listing, &run, err);
}

int dx_row_streams_want(struct dx_row_streams *s, size_t stream, uint64_t place, uint64_t count,
                        struct dx_error *err)
{
    struct dx_row_stream *st = &s->streams[stream];
    uint64_t end = place + count;
    int rc = DX_OK;

    assert(stream < s->count);
    assert(count > 0 && place >= st->first && end <= st->end);
    if (s->wanted_count == 0)
        init_listing(s);
    if (s->by_slices)
        rc = know_file(s, st, err);
    else if (add_wanted(s, stream, place, count, err) == NULL)
        rc = DX_E_NOMEM;
    for (size_t i = run_of(s, st, place); rc == DX_OK && place < end; i++) {
        const struct dx_run *run = &s->rows->runs[i];
        uint64_t skip = place - s->run_places[i];
        uint64_t rows = run->row_count - skip < end - place ? run->row_count - skip : end - place;

        rc = want_run(s, stream, *run, skip, place, rows, err);
        place += rows;
    }
    return rc;
}

int dx_row_streams_read(struct dx_row_streams *s, struct dx_error *err)
{
    int rc;

    if (s->wanted_count == 0)
        return DX_LISTING_DONE;
    if (s->by_slices)
        return read_slices(s, err);
    rc = dx_listing_step(&s->listing, err);
    if (rc == DX_LISTING_DONE) {
        s->rows_seen += s->listing.row_count;
        s->pages_seen += s->listing.reads;
        s->bytes_seen += s->listing.read_bytes;
    }
    return rc;
}

void dx_row_streams_done(struct dx_row_streams *s)
{
    for (size_t i = 0; i < s->wanted_count; i++)
        dx_row_slice_put(&s->wanted[i].slice, slices_of(s));
    dx_listing_release(&s->listing);
    s->wanted_count = s->planned_count = 0;
    s->slice_bytes = 0;
}

struct giver {
    const struct dx_row_streams *s;
    const struct dx_row_streams_taker *taker;
    size_t wanted;
    uint64_t row; /* of it */
    bool enough;
};

static int give(void *ctx, const struct dx_listing_row *row, struct dx_error *err)
{
    struct giver *g = ctx;
    const struct dx_row_streams_wanted *w = &g->s->wanted[g->wanted];
    int rc = DX_OK;

    if (!g->enough)
        rc = g->taker->row(g->taker->ctx, w->stream, w->place + g->row, row, err);
    g->enough = rc == 1;
    if (++g->row == w->rows) {
        g->wanted++;
        g->row = 0;
        g->enough = false;
    }
    return rc < 0 ? rc : DX_OK;
}

int dx_row_streams_each(struct dx_row_streams *s, const struct dx_row_streams_taker *taker,
                        struct dx_error *err)
{
    struct giver g = { .s = s, .taker = taker };

    if (s->wanted_count == 0)
        return DX_OK;
    if (s->by_slices)
        return each_slice(s, taker, err);
    return dx_listing_rows(&s->listing, &(struct dx_listing_taker){ &g, give, NULL }, err);
}

/* ---- the search ---- */

void dx_row_streams_search(struct dx_row_streams *s, const struct dx_row_streams_question *question)
{
    assert(s->open);
    s->question = *question;
    s->by_slices = true;
    s->at = 0;
    s->unsettled = s->asked = false;
    for (size_t i = 0; i < s->count; i++) {
        struct dx_row_stream *st = &s->streams[i];

        st->low_from = st->high_from = st->low;
        st->low_to = st->high_to = st->high;
        if (question->low_stays)
            st->low_to = st->low;
        if (question->high_stays)
            st->high_from = st->high;
    }
}

/* The rows among which the next one to be asked is; false: nothing is left to ask. */
static bool open_part(const struct dx_row_stream *st, uint64_t *from, uint64_t *to)
{
    bool low = st->low_from < st->low_to;

    *from = low ? st->low_from : st->high_from;
    *to = low ? st->low_to : st->high_to;
    return *from < *to;
}

static int ask_stream(struct dx_row_streams *s, size_t stream, struct dx_error *err)
{
    uint64_t tries = s->count <= FEW_STREAMS ? TRIES : 1;
    uint64_t from;
    uint64_t to;
    int rc = DX_OK;

    if (!open_part(&s->streams[stream], &from, &to))
        return DX_OK;
    s->unsettled = true;
    if (to - from <= LEAF)
        return dx_row_streams_want(s, stream, from, to - from, err);
    for (uint64_t i = 1; rc == DX_OK && i <= tries; i++)
        rc = dx_row_streams_want(s, stream, from + (to - from) / (tries + 1) * i, 1, err);
    return rc;
}

int dx_row_streams_disorder(const struct dx_row_streams *s, size_t stream, struct dx_error *err)
{
    return dx_fail(err, DX_E_UNSUPPORTED,
                   "a file of dataset %u has rows that are not in order of host, path_query and "
                   "time: ingest them again to have them listed in this way",
                   (unsigned)dx_row_streams_dataset(s, stream));
}

struct sides {
    struct dx_row_streams *s;
    size_t stream;
    uint64_t place; /* of the first row */
    const struct dx_row_slice *slice;
    uint32_t first, count;
};

static int side_at(const struct sides *of, uint64_t place)
{
    const struct dx_merged_row *r = &of->slice->rows[of->first + (place - of->place)];
    struct dx_row_streams *s = of->s;

    s->rows_seen++;
    dx_merged_row_get(r, of->slice->text, &s->row);
    return s->question.side(s->question.ctx, of->stream, place, &s->row);
}

/* Narrows [*from, *to], where the first row lies whose side is at least `bound`. Rows beyond are asked for their nearest one, which
 * must not contradict: false. */
static bool narrow_range(const struct sides *of, int bound, uint64_t *from, uint64_t *to)
{
    uint64_t end = of->place + of->count;
    uint64_t low = *from > of->place ? *from : of->place;
    uint64_t high = *to < end ? *to : end;
    uint64_t low_was = low;
    uint64_t high_was = high;

    if (end <= *from)
        return side_at(of, end - 1) < bound;
    if (of->place >= *to)
        return side_at(of, of->place) >= bound;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;

        if (side_at(of, middle) < bound)
            low = middle + 1;
        else
            high = middle;
    }
    if (low > low_was)
        *from = low;
    if (low < high_was)
        *to = low;
    return true;
}

static int take_sides(void *ctx, size_t stream, uint64_t place, const struct dx_row_slice *slice,
                      uint32_t first, uint32_t count, struct dx_error *err)
{
    struct dx_row_streams *s = ctx;
    struct dx_row_stream *st = &s->streams[stream];
    const struct sides of = { s, stream, place, slice, first, count };

    if (!slice->ordered ||
        (st->low_from < st->low_to && !narrow_range(&of, 0, &st->low_from, &st->low_to)) ||
        (st->high_from < st->high_to && !narrow_range(&of, 1, &st->high_from, &st->high_to)))
        return dx_row_streams_disorder(s, stream, err);
    return 1;
}

/* The next batch; false: every stream is settled. */
static int ask_more(struct dx_row_streams *s, bool *any, struct dx_error *err)
{
    int rc = DX_OK;

    if (s->at == s->count && s->unsettled) {
        s->at = 0;
        s->unsettled = false;
    }
    while (rc == DX_OK && s->at < s->count && !dx_row_streams_full(s))
        rc = ask_stream(s, s->at++, err);
    *any = s->wanted_count > 0;
    if (rc == DX_OK && !*any && s->unsettled && s->at == s->count)
        return ask_more(s, any, err);
    return rc;
}

int dx_row_streams_find(struct dx_row_streams *s, struct dx_error *err)
{
    const struct dx_row_streams_taker taker = { s, NULL, take_sides };
    bool any = true;
    int rc = DX_OK;

    while (rc == DX_OK && any) {
        if (!s->asked)
            rc = ask_more(s, &any, err);
        if (rc < 0 || !any)
            break;
        s->asked = true;
        rc = dx_row_streams_read(s, err);
        if (rc == DX_LISTING_DONE)
            rc = dx_row_streams_each(s, &taker, err);
        if (rc == DX_OK) {
            dx_row_streams_done(s);
            s->asked = false;
        }
    }
    for (size_t i = 0; rc == DX_OK && i < s->count; i++) {
        s->streams[i].low = s->streams[i].low_from;
        s->streams[i].high = s->streams[i].high_from;
    }
    if (rc == DX_OK)
        s->by_slices = false;
    return rc;
}
