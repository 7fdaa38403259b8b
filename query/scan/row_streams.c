/* SPDX-License-Identifier: Apache-2.0 */
#include "query/scan/row_streams.h"

#include "base/array.h"
#include "loader/version.h"

#include <assert.h>
#include <stdlib.h>

/* A batch that has so much planned is full: the next plan may be as large again. */
#define PAGES_ENOUGH 1024
#define BYTES_ENOUGH (16u << 20)

#define LEAF 2048 /* so many rows lie on a page or two: all of them are looked at */
#define FEW_STREAMS 16
#define TRIES 7 /* of each of a few streams at once: three times fewer waits than by halving */

static void init_listing(struct dx_row_streams *s)
{
    dx_listing_init(&s->listing, s->rows->version, NULL, 0, 0, (struct dx_page_of){ 0, 0 },
                    s->fields, s->rows->deadline_ms);
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
    dx_listing_release(&s->listing);
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

/* ---- rows ---- */

bool dx_row_streams_full(const struct dx_row_streams *s)
{
    return dx_listing_planned_over(&s->listing, PAGES_ENOUGH, BYTES_ENOUGH);
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

static int note_wanted(struct dx_row_streams *s, size_t stream, uint64_t place, uint64_t rows,
                       struct dx_error *err)
{
    struct dx_row_streams_wanted *to = dx_array_room(s->wanted, s->wanted_count,
                                                     &s->wanted_capacity, sizeof *to);

    if (to == NULL)
        return dx_no_memory(err, "listing");
    s->wanted = to;
    s->wanted[s->wanted_count++] = (struct dx_row_streams_wanted){ stream, place, rows };
    return DX_OK;
}

int dx_row_streams_want(struct dx_row_streams *s, size_t stream, uint64_t place, uint64_t count,
                        struct dx_error *err)
{
    const struct dx_row_stream *st = &s->streams[stream];
    uint64_t end = place + count;
    int rc;

    assert(count > 0 && place >= st->first && end <= st->end);
    if (s->wanted_count == 0)
        init_listing(s);
    rc = note_wanted(s, stream, place, count, err);
    for (size_t i = run_of(s, st, place); rc == DX_OK && place < end; i++) {
        struct dx_run run = s->rows->runs[i];
        uint64_t skip = place - s->run_places[i];

        run.first_row += skip;
        run.row_count -= skip;
        if (run.row_count > end - place)
            run.row_count = end - place;
        rc = dx_listing_run(&s->listing, &run, err);
        place += run.row_count;
    }
    return rc;
}

int dx_row_streams_read(struct dx_row_streams *s, struct dx_error *err)
{
    int rc = s->wanted_count == 0 ? DX_LISTING_DONE : dx_listing_step(&s->listing, err);

    if (rc == DX_LISTING_DONE && s->wanted_count > 0) {
        s->rows_seen += s->listing.row_count;
        s->pages_seen += s->listing.reads;
        s->bytes_seen += s->listing.read_bytes;
    }
    return rc;
}

void dx_row_streams_done(struct dx_row_streams *s)
{
    dx_listing_release(&s->listing);
    s->wanted_count = 0;
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
    return dx_listing_rows(&s->listing, &(struct dx_listing_taker){ &g, give, NULL }, err);
}

/* ---- the search ---- */

void dx_row_streams_search(struct dx_row_streams *s, const struct dx_row_streams_question *question)
{
    s->question = *question;
    s->fields = question->fields;
    s->extras = NULL;
    s->extra_count = 0;
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

static int take_side(void *ctx, size_t stream, uint64_t place, const struct dx_listing_row *row,
                     struct dx_error *err)
{
    struct dx_row_streams *s = ctx;
    struct dx_row_stream *st = &s->streams[stream];
    int side = s->question.side(s->question.ctx, stream, place, row);

    if (side < 0 && place >= st->low_from)
        st->low_from = place + 1;
    if (side >= 0 && place < st->low_to)
        st->low_to = place;
    if (side <= 0 && place >= st->high_from)
        st->high_from = place + 1;
    if (side > 0 && place < st->high_to)
        st->high_to = place;
    if (st->low_from <= st->low_to && st->high_from <= st->high_to)
        return DX_OK;
    return dx_row_streams_disorder(s, stream, err);
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
    const struct dx_row_streams_taker taker = { s, take_side };
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
    return rc;
}
