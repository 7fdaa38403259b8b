/* SPDX-License-Identifier: Apache-2.0 */
#include "query/scan/merged_rows.h"

#include "base/array.h"
#include "base/limits.h"
#include "format/version/tags.h"
#include "query/scan/filtered_rows.h"
#include "query/suppression/suppression_view.h"

#include <assert.h>
#include <stdlib.h>

#define SCRATCH_MAX (64u << 20) /* of a tag: as large as a page of the lake may be */
#define VALUES_MAX ((size_t)64 << 20)
#define WINDOWS_BYTES ((uint64_t)128 << 20)
#define CHUNK_MAX 8192 /* rows of a file */
#define NEAR_ROWS 256  /* so many rows between two that were taken are read with them */

#define DIGEST "digest"

enum { OPEN, RANGE, AFTER, RESUME, FILL, MERGE, GATHER, TAKE, DONE };

/* ---- what is asked ---- */

static bool by_url(const struct dx_merged_rows *m)
{
    return m->ask.order == DX_MERGED_URL;
}

/* What the filter, the collapse and the order look at. */
static void set_look(struct dx_merged_rows *m)
{
    const struct dx_merged_ask *a = &m->ask;
    bool digest = a->collapse == DX_COLLAPSE_DIGEST;
    bool url = by_url(m) || a->range.kind == DX_URL_RANGE_SUBDOMAINS ||
               a->collapse == DX_COLLAPSE_URL || a->collapse == DX_COLLAPSE_HOST;

    m->look_fields = DX_FIELD_TS | (url ? DX_FIELD_URL : 0u) | dx_row_filter_fields(&a->filter);
    m->extra_count = dx_row_filter_extras(&a->filter, m->extras);
    if (digest)
        m->extras[m->extra_count++] = dx_span_str(DIGEST);
}

static int check_rows(const struct dx_merged_rows *m, uint64_t rows, struct dx_error *err)
{
    if (by_url(m) || rows <= DX_MERGED_SORT_MAX)
        return DX_OK;
    return dx_fail(err, DX_E_LIMIT,
                   "%llu rows would be read to put them in order of time, and at most %u are",
                   (unsigned long long)rows, DX_MERGED_SORT_MAX);
}

/* Rows of pairs whose times may match. */
static uint64_t rows_of_pairs(const struct dx_merged_rows *m)
{
    uint64_t n = 0;

    for (size_t i = 0; i < m->rows->pair_count; i++) {
        const struct dx_domain_rows_pair *p = &m->rows->pairs[i];

        if (dx_row_filter_may_take(&m->ask.filter, p->has_ts, p->first_us, p->last_us))
            n += p->end - p->first;
    }
    return n;
}

int dx_merged_rows_init(struct dx_merged_rows *m, struct dx_domain_rows *rows,
                        const struct dx_merged_ask *ask, struct dx_error *err)
{
    bool whole = ask->range.kind == DX_URL_RANGE_DOMAIN ||
                 ask->range.kind == DX_URL_RANGE_SUBDOMAINS;
    int rc = DX_OK;

    assert(ask->limit > 0);
    *m = (struct dx_merged_rows){ .rows = rows, .ask = *ask };
    m->found.has_kept = ask->has_kept;
    m->found.last = ask->after;
    m->found.range_rows = dx_domain_rows_total(rows);
    m->found.range_datasets = dx_domain_rows_datasets(rows);
    m->found.kept = ask->kept;
    dx_buf_init(&m->scratch, SCRATCH_MAX);
    dx_collapse_last_init(&m->taken_last, VALUES_MAX);
    dx_buf_init(&m->values, VALUES_MAX);
    dx_kept_rows_init(&m->kept_rows);
    dx_row_streams_init(&m->streams, rows);
    m->by_tag = ask->filter.tag.data != NULL && dx_tag_fits(ask->filter.tag);
    if (m->by_tag) {
        dx_tag_places_init(&m->tags, rows->version, ask->filter.tag);
        m->ask.filter.tag = dx_span_of(NULL, 0);
    }
    set_look(m);
    if (whole)
        rc = check_rows(m, rows_of_pairs(m), err);
    return rc < 0 ? rc : dx_domain_rows_begin_runs(rows, err);
}

void dx_merged_rows_release(struct dx_merged_rows *m)
{
    for (size_t i = 0; m->windows != NULL && i < m->streams.count; i++)
        dx_merged_window_release(&m->windows[i]);
    dx_row_streams_release(&m->streams);
    if (m->by_tag)
        dx_tag_places_release(&m->tags);
    dx_kept_rows_release(&m->kept_rows);
    dx_buf_release(&m->scratch);
    dx_collapse_last_release(&m->taken_last);
    dx_buf_release(&m->values);
    dx_buf_release(&m->after_text);
    dx_buf_release(&m->before_text);
    free(m->windows);
    free(m->heap);
    free(m->entries);
    free(m->taken);
    free(m->order);
    m->windows = NULL;
    m->heap = m->order = NULL;
    m->entries = NULL;
    m->taken = NULL;
    m->found.row_count = 0;
    m->state = DONE;
}

struct dx_read_batch *dx_merged_rows_reading(struct dx_merged_rows *m)
{
    return dx_row_streams_reading(&m->streams);
}

int dx_merged_rows_fetched(struct dx_merged_rows *m, int rc, struct dx_error *err)
{
    return dx_row_streams_fetched(&m->streams, rc, err);
}

static struct dx_span digest_of(const struct dx_merged_rows *m, const struct dx_listing_row *row)
{
    return m->ask.collapse == DX_COLLAPSE_DIGEST ? dx_listing_extra(row, dx_span_str(DIGEST))
                                                 : dx_span_of(NULL, 0);
}

/* ---- which rows come next ---- */

static int side_of_range(void *ctx, size_t stream, uint64_t place, const struct dx_listing_row *row)
{
    const struct dx_merged_rows *m = ctx;

    (void)stream;
    (void)place;
    return dx_url_range_side(&m->ask.range, row->host, row->path_query);
}

static int open_streams(struct dx_merged_rows *m, struct dx_error *err)
{
    int rc = dx_row_streams_open(&m->streams, err);
    bool find = m->ask.range.kind != DX_URL_RANGE_DOMAIN && dx_url_range_contiguous(&m->ask.range);

    if (rc != DX_LISTING_DONE)
        return rc;
    for (size_t i = 0; i < m->streams.count; i++) {
        struct dx_row_stream *s = &m->streams.streams[i];
        const struct dx_domain_rows_pair *p = &m->rows->pairs[s->pair];

        if (!dx_row_filter_may_take(&m->ask.filter, p->has_ts, p->first_us, p->last_us))
            s->low = s->high;
    }
    if (find)
        dx_row_streams_search(&m->streams,
                              &(struct dx_row_streams_question){ .ctx = m, .side = side_of_range });
    m->state = find ? RANGE : AFTER;
    return DX_OK;
}

static void count_range(struct dx_merged_rows *m)
{
    uint32_t last = 0;

    m->found.range_rows = m->found.range_datasets = 0;
    for (size_t i = 0; i < m->streams.count; i++) {
        const struct dx_row_stream *s = &m->streams.streams[i];
        const struct dx_suppression_pair *hidden = m->rows->pairs[s->pair].hidden;
        uint64_t rows = dx_suppression_view_visible_before(hidden, s->high) -
                        dx_suppression_view_visible_before(hidden, s->low);
        uint32_t id = dx_row_streams_dataset(&m->streams, i);

        if (rows > 0 && (m->found.range_datasets == 0 || id != last)) {
            m->found.range_datasets++;
            last = id;
        }
        m->found.range_rows += rows;
    }
}

static int find_range(struct dx_merged_rows *m, struct dx_error *err)
{
    int rc = dx_row_streams_find(&m->streams, err);
    uint64_t rows = 0;

    if (rc != DX_LISTING_DONE)
        return rc;
    for (size_t i = 0; i < m->streams.count; i++)
        rows += m->streams.streams[i].high - m->streams.streams[i].low;
    count_range(m);
    m->state = AFTER;
    return check_rows(m, rows, err);
}

/* The collapse's value of a row into `value`. */
static bool value_of(const struct dx_merged_rows *m, const struct dx_collapse_of *row,
                     struct dx_buf *value)
{
    return dx_collapse_value(m->ask.collapse, m->ask.collapse_digits, row, value);
}

static int take_after(void *ctx, size_t stream, uint64_t place, const struct dx_listing_row *row,
                      struct dx_error *err)
{
    struct dx_merged_rows *m = ctx;
    const struct dx_span none = { NULL, 0 };

    (void)stream;
    dx_buf_clear(&m->after_text);
    return dx_merged_row_copy(&m->after, &m->after_text, row, place, &none, err);
}

static int take_position(struct dx_merged_rows *m, const struct dx_cursor_position *p,
                         struct dx_error *err)
{
    m->after = (struct dx_merged_row){ .host = p->host,
                                       .path_query = p->path_query,
                                       .has_ts = p->has_ts,
                                       .ts_us = p->ts_us,
                                       .place = m->ask.after.row };
    m->after_text.max = sizeof p->url;
    dx_buf_append(&m->after_text, p->url, (size_t)p->host + p->path_query);
    return m->after_text.failed ? dx_buf_fail(&m->after_text, err, "row") : DX_OK;
}

/* Only a cursor that another program sealed can say so. */
static int want_place(struct dx_merged_rows *m, const struct dx_domain_rows_place *place,
                      struct dx_error *err)
{
    size_t stream = dx_row_streams_with(&m->streams, place);

    if (stream == m->streams.count)
        return dx_fail(err, DX_E_INVALID, "listing: dataset %u has no row %llu",
                       (unsigned)place->dataset_id, (unsigned long long)place->row);
    return dx_row_streams_want(&m->streams, stream, place->row, 1, err);
}

static void look_at_rows(struct dx_merged_rows *m)
{
    m->streams.fields = m->look_fields;
    m->streams.extras = m->extras;
    m->streams.extra_count = m->extra_count;
    m->streams.by_slices = by_url(m) && dx_row_streams_sliceable(m->look_fields, m->extra_count);
}

/* So many rows of each file that few files have to be asked again. */
static uint64_t first_chunk(size_t streams, uint64_t limit)
{
    uint64_t fair = 2 * limit / (streams + 1) + 8;
    uint64_t most = DX_FILTERED_LOOK_MAX / 2 / (streams + 1) + 8;

    return fair < most ? fair : most;
}

static int begin_rows(struct dx_merged_rows *m, struct dx_error *err)
{
    size_t n = m->streams.count;

    m->asked = false;
    look_at_rows(m);
    m->state = by_url(m) ? FILL : GATHER;
    if (!by_url(m))
        return DX_OK;
    m->windows = calloc(n + 1, sizeof *m->windows);
    m->heap = calloc(n + 1, sizeof *m->heap);
    m->chunk = first_chunk(n, m->ask.limit);
    return m->windows == NULL || m->heap == NULL ? dx_no_memory(err, "listing") : DX_OK;
}

/* Dataset and place with those of `after`. */
static int compare_place(const struct dx_merged_rows *m, size_t stream, uint64_t place)
{
    uint32_t id = dx_row_streams_dataset(&m->streams, stream);
    const struct dx_domain_rows_place *after = &m->ask.after;

    if (id != after->dataset_id)
        return id < after->dataset_id ? -1 : 1;
    return (place > after->row) - (place < after->row);
}

/* Of the rows of a page before, and `after` itself, nothing is looked at again. */
static int side_of_after(void *ctx, size_t stream, uint64_t place, const struct dx_listing_row *row)
{
    const struct dx_merged_rows *m = ctx;
    const uint8_t *text = m->after_text.data;
    int c = dx_span_compare(row->host, dx_merged_row_host(&m->after, text));

    if (c == 0)
        c = dx_span_compare(row->path_query, dx_merged_row_path(&m->after, text));
    if (c == 0)
        c = (int)row->has_ts - (int)m->after.has_ts;
    if (c == 0 && row->has_ts)
        c = (row->ts_us > m->after.ts_us) - (row->ts_us < m->after.ts_us);
    if (c == 0)
        c = compare_place(m, stream, place);
    if (m->ask.reverse)
        return c < 0 ? DX_URL_WITHIN : DX_URL_BEHIND;
    return c > 0 ? DX_URL_WITHIN : DX_URL_BEFORE;
}

/* Where the row is that is gone on behind, of which no position is given. */
static int read_after(struct dx_merged_rows *m, struct dx_error *err)
{
    const struct dx_row_streams_taker taker = { m, take_after, NULL };
    int rc = DX_OK;

    if (m->streams.wanted_count == 0) {
        look_at_rows(m);
        rc = want_place(m, &m->ask.after, err);
    }
    if (rc == DX_OK)
        rc = dx_row_streams_read(&m->streams, err);
    if (rc == DX_LISTING_DONE)
        rc = dx_row_streams_each(&m->streams, &taker, err);
    if (rc == DX_OK)
        dx_row_streams_done(&m->streams);
    return rc;
}

/* With the row that is gone on behind: where it stands in the order. */
static int find_after(struct dx_merged_rows *m, struct dx_error *err)
{
    const struct dx_cursor_position *p = m->ask.position;
    int rc;

    if (!m->ask.goes_on)
        return begin_rows(m, err);
    if (p != NULL && p->has_value)
        dx_collapse_last_go_on(&m->taken_last, p->value);
    rc = p != NULL && p->given ? take_position(m, p, err) : read_after(m, err);
    if (rc != DX_OK)
        return rc;
    if (!by_url(m))
        return begin_rows(m, err);
    dx_row_streams_search(&m->streams,
                          &(struct dx_row_streams_question){ .ctx = m,
                                                             .side = side_of_after,
                                                             .low_stays = m->ask.reverse,
                                                             .high_stays = !m->ask.reverse });
    m->state = RESUME;
    return DX_OK;
}

static int resume(struct dx_merged_rows *m, struct dx_error *err)
{
    int rc = dx_row_streams_find(&m->streams, err);

    return rc != DX_LISTING_DONE ? rc : begin_rows(m, err);
}

/* ---- which of them have the tag ---- */

/* The first place of [from, end) with it: 1; 0: none. */
static int find_tag(struct dx_merged_rows *m, size_t stream, uint64_t from, uint64_t end,
                    uint64_t *place, struct dx_error *err)
{
    const struct dx_row_stream *s = &m->streams.streams[stream];
    int rc = from >= end ? 0
                         : dx_tag_places_next(&m->tags, &m->rows->runs[s->first_run],
                                              &m->streams.run_places[s->first_run], s->run_count,
                                              from, place, err);

    return rc == 1 && *place >= end ? 0 : rc;
}

/* From *place on, how far places with the tag follow each other closely: *rows, at most `most`; 0: none has it. */
static int find_cluster(struct dx_merged_rows *m, size_t stream, uint64_t most, uint64_t *place,
                        uint64_t *rows, struct dx_error *err)
{
    uint64_t end = m->streams.streams[stream].high;
    int rc = find_tag(m, stream, *place, end, place, err);
    uint64_t next = *place;

    for (*rows = rc == 1 ? 1 : 0; rc == 1; *rows = next + 1 - *place) {
        rc = find_tag(m, stream, *place + *rows, end, &next, err);
        if (rc != 1 || next - *place - *rows >= NEAR_ROWS || next - *place >= most)
            break;
    }
    return rc < 0 ? rc : DX_OK;
}

/* ---- which of them are visible: a stretch of rows that are looked at ends with such a row, which a cursor may name ---- */

static uint64_t visible_from(const struct dx_merged_rows *m, size_t stream, uint64_t place)
{
    const struct dx_suppression_pair *hidden =
        m->rows->pairs[m->streams.streams[stream].pair].hidden;

    return dx_suppression_view_window(hidden, dx_suppression_view_visible_before(hidden, place), 1)
        .offset;
}

/* The place behind the last visible row of [first, end); first if none of them is visible. */
static uint64_t visible_end(const struct dx_merged_rows *m, size_t stream, uint64_t first,
                            uint64_t end)
{
    const struct dx_suppression_pair *hidden =
        m->rows->pairs[m->streams.streams[stream].pair].hidden;
    uint64_t n = dx_suppression_view_visible_before(hidden, end);

    return n == dx_suppression_view_visible_before(hidden, first)
               ? first
               : dx_suppression_view_window(hidden, n - 1, 1).offset + 1;
}

/* Rows of a stream that are looked at next: at most `most` from *place on, or behind it. *rows 0: there are none. */
static int next_rows(struct dx_merged_rows *m, size_t stream, uint64_t most, uint64_t *place,
                     uint64_t *rows, struct dx_error *err)
{
    uint64_t high = m->streams.streams[stream].high;

    for (;; *place += *rows) {
        uint64_t end;
        int rc = DX_OK;

        *place = visible_from(m, stream, *place);
        *rows = *place >= high ? 0 : high - *place < most ? high - *place : most;
        if (m->by_tag && *rows > 0)
            rc = find_cluster(m, stream, most, place, rows, err);
        if (rc < 0 || *rows == 0)
            return rc;
        end = visible_end(m, stream, *place, *place + *rows);
        if (end > *place) {
            *rows = end - *place;
            return DX_OK;
        }
    }
}

/* ---- taking rows ---- */

static int note_taken(struct dx_merged_rows *m, size_t stream, uint64_t place, struct dx_error *err)
{
    struct dx_merged_taken *to = dx_array_room(m->taken, m->found.row_count, &m->taken_capacity,
                                               sizeof *to);

    if (to == NULL)
        return dx_no_memory(err, "listing");
    m->taken = to;
    m->taken[m->found.row_count++] = (struct dx_merged_taken){ .stream = stream, .place = place };
    m->found.has_kept = true;
    m->found.kept = (struct dx_domain_rows_place){ dx_row_streams_dataset(&m->streams, stream),
                                                   place };
    return DX_OK;
}

/* Whether the row with this value comes behind one that is like it; else it is the one to compare with. */
static int is_like(struct dx_merged_rows *m, bool has_value, struct dx_span value,
                   struct dx_error *err)
{
    int rc;

    if (m->ask.collapse == DX_COLLAPSE_NONE)
        return 0;
    rc = dx_collapse_last_like(&m->taken_last, has_value, value, err);
    return rc == 0 ? dx_collapse_last_take(&m->taken_last, has_value, value, err) : rc;
}

/* 1, 0, <0. */
static int is_taken(struct dx_merged_rows *m, size_t stream, uint64_t place,
                    const struct dx_listing_row *row, struct dx_error *err)
{
    const struct dx_domain_rows_pair *p = &m->rows->pairs[m->streams.streams[stream].pair];
    uint64_t at;
    int rc = m->by_tag ? find_tag(m, stream, place, place + 1, &at, err) : 1;

    if (rc != 1)
        return rc;
    if (dx_suppression_view_hidden(p->hidden, place) ||
        (m->ask.range.kind == DX_URL_RANGE_SUBDOMAINS &&
         !dx_url_range_has(&m->ask.range, row->host, row->path_query)))
        return 0;
    return !dx_row_filter_any(&m->ask.filter)
               ? 1
               : dx_row_filter_takes(&m->ask.filter, row, &m->scratch, err);
}

/* ---- by URL: some rows of each file ---- */

static bool is_used_up(const struct dx_merged_window *w)
{
    return w->next == w->count;
}

static bool is_at_end(const struct dx_merged_rows *m, size_t stream)
{
    const struct dx_row_stream *s = &m->streams.streams[stream];

    return is_used_up(&m->windows[stream]) && s->low == s->high;
}

static int want_last(struct dx_merged_rows *m, size_t stream, uint64_t most, struct dx_error *err)
{
    struct dx_row_stream *s = &m->streams.streams[stream];
    uint64_t end = visible_end(m, stream, s->low, s->high);
    uint64_t at;
    int rc = end == s->low ? 0 : m->by_tag ? find_tag(m, stream, s->low, end, &at, err) : 1;

    if (rc != 1) {
        s->high = s->low;
        return rc;
    }
    s->high = visible_from(m, stream, end - s->low < most ? s->low : end - most);
    return dx_row_streams_want(&m->streams, stream, s->high, end - s->high, err);
}

/* With a tag, several stretches that have it: what has few rows with it far apart need not be asked for each. */
static int want_first(struct dx_merged_rows *m, size_t stream, uint64_t most, struct dx_error *err)
{
    struct dx_row_stream *s = &m->streams.streams[stream];
    int rc = DX_OK;

    while (rc == DX_OK && most > 0 && s->low < s->high) {
        uint64_t place = s->low;
        uint64_t rows;

        rc = next_rows(m, stream, most, &place, &rows, err);
        if (rc == DX_OK && rows > 0)
            rc = dx_row_streams_want(&m->streams, stream, place, rows, err);
        s->low = rows == 0 ? s->high : place + rows;
        most -= rows;
        if (dx_row_streams_full(&m->streams))
            break;
    }
    return rc;
}

static int want_chunk(struct dx_merged_rows *m, size_t stream, struct dx_error *err)
{
    struct dx_merged_window *w = &m->windows[stream];

    w->chunk = w->chunk == 0 ? m->chunk : w->chunk < CHUNK_MAX ? 2 * w->chunk : w->chunk;
    m->text_bytes -= w->text.size;
    dx_merged_window_clear(w);
    return m->ask.reverse ? want_last(m, stream, w->chunk, err)
                          : want_first(m, stream, w->chunk, err);
}

/* The edge of a chunk is its last row, in the direction of the merge. */
static int note_edge(struct dx_merged_rows *m, size_t stream, uint64_t place,
                     const struct dx_listing_row *row, struct dx_error *err)
{
    const struct dx_row_stream *s = &m->streams.streams[stream];
    const struct dx_span none = { NULL, 0 };
    struct dx_merged_window *w = &m->windows[stream];

    if (place != (m->ask.reverse ? s->high : s->low - 1))
        return DX_OK;
    dx_buf_clear(&w->edge_text);
    return dx_merged_row_copy(&w->edge, &w->edge_text, row, place, &none, err);
}

static int check_text(const struct dx_merged_rows *m, struct dx_error *err)
{
    return m->text_bytes <= WINDOWS_BYTES
               ? DX_OK
               : dx_fail(err, DX_E_LIMIT, "the URLs of these rows are too long to be merged");
}

static int look_at_row(void *ctx, size_t stream, uint64_t place, const struct dx_listing_row *row,
                       struct dx_error *err)
{
    struct dx_merged_rows *m = ctx;
    struct dx_merged_window *w = &m->windows[stream];
    size_t before = w->text.size;
    int rc = note_edge(m, stream, place, row, err);

    if (rc == DX_OK)
        rc = is_taken(m, stream, place, row, err);
    if (rc == 1) {
        const struct dx_span digest = digest_of(m, row);

        rc = dx_merged_window_add(w, row, place, &digest, err);
        m->text_bytes += w->text.size - before;
    }
    return rc == DX_OK ? check_text(m, err) : rc;
}

/* All rows of a slice that are wanted, where none can be left out. */
static int look_at_slice(void *ctx, size_t stream, uint64_t place, const struct dx_row_slice *slice,
                         uint32_t first, uint32_t count, struct dx_error *err)
{
    struct dx_merged_rows *m = ctx;
    const struct dx_row_stream *s = &m->streams.streams[stream];
    struct dx_merged_window *w = &m->windows[stream];
    uint64_t edge = m->ask.reverse ? s->high : s->low - 1;
    size_t before = w->text.size;
    int rc;

    if (m->rows->pairs[s->pair].hidden != NULL || m->by_tag || dx_row_filter_any(&m->ask.filter) ||
        m->ask.range.kind == DX_URL_RANGE_SUBDOMAINS)
        return 0;
    rc = dx_merged_window_add_rows(w, &slice->rows[first], slice->text, count, place, err);
    m->streams.rows_seen += count;
    m->text_bytes += w->text.size - before;
    w->edge_in_rows = w->edge_in_rows || (edge >= place && edge < place + count);
    if (rc == DX_OK)
        rc = check_text(m, err);
    return rc < 0 ? rc : 1;
}

static int fill_windows(struct dx_merged_rows *m, struct dx_error *err)
{
    const struct dx_row_streams_taker taker = { m, look_at_row, look_at_slice };
    int rc = DX_OK;

    while (rc == DX_OK && (m->asked || m->filling < m->streams.count)) {
        for (; rc == DX_OK && !m->asked && m->filling < m->streams.count &&
               !dx_row_streams_full(&m->streams);
             m->filling++)
            if (is_used_up(&m->windows[m->filling]) && !is_at_end(m, m->filling))
                rc = want_chunk(m, m->filling, err);
        m->asked = true;
        if (rc == DX_OK)
            rc = dx_row_streams_read(&m->streams, err);
        if (rc == DX_LISTING_DONE)
            rc = dx_row_streams_each(&m->streams, &taker, err);
        if (rc == DX_OK) {
            dx_row_streams_done(&m->streams);
            m->asked = false;
        }
    }
    if (rc == DX_OK)
        m->state = MERGE;
    return rc;
}

/* ---- by URL: the merge ---- */

/* The row that comes next, or, where none is at hand, the edge: what comes is behind it. */
static const struct dx_merged_row *head_of(const struct dx_merged_rows *m, size_t stream,
                                           const uint8_t **text)
{
    const struct dx_merged_window *w = &m->windows[stream];

    size_t next = is_used_up(w) ? w->count - 1 : w->next;

    *text = w->text.data;
    if (!is_used_up(w) || w->edge_in_rows)
        return &w->rows[m->ask.reverse ? w->count - 1 - next : next];
    *text = w->edge_text.data;
    return &w->edge;
}

static bool comes_before(const struct dx_merged_rows *m, size_t a, size_t b)
{
    const uint8_t *a_text;
    const uint8_t *b_text;
    const struct dx_merged_row *x = head_of(m, a, &a_text);
    const struct dx_merged_row *y = head_of(m, b, &b_text);
    int c = dx_merged_row_compare(x, a_text, y, b_text);

    if (c == 0)
        c = a < b ? -1 : 1;
    return m->ask.reverse ? c > 0 : c < 0;
}

/* To the bottom, then up to where it belongs: the next row of a file seldom is the next one of a thousand files, and a level
 * takes one comparison so instead of two. */
static void sift_down(struct dx_merged_rows *m, size_t top)
{
    size_t stream = m->heap[top];
    size_t i = top;
    size_t child;

    while ((child = 2 * i + 1) < m->heap_count) {
        if (child + 1 < m->heap_count && comes_before(m, m->heap[child + 1], m->heap[child]))
            child++;
        m->heap[i] = m->heap[child];
        i = child;
    }
    while (i > top && comes_before(m, stream, m->heap[(i - 1) / 2])) {
        m->heap[i] = m->heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    m->heap[i] = stream;
}

static void build_heap(struct dx_merged_rows *m)
{
    m->heap_count = 0;
    for (size_t i = 0; i < m->streams.count; i++)
        if (!is_at_end(m, i))
            m->heap[m->heap_count++] = i;
    for (size_t i = m->heap_count / 2; i-- > 0;)
        sift_down(m, i);
}

static int copy_before(struct dx_merged_rows *m, const struct dx_merged_row *row,
                       const uint8_t *text, struct dx_error *err)
{
    m->before = *row;
    m->before.at = 0;
    dx_buf_clear(&m->before_text);
    m->before_text.max = SCRATCH_MAX;
    dx_buf_append(&m->before_text, text + row->at, row->scheme + row->host + row->path_query);
    return m->before_text.failed ? dx_buf_fail(&m->before_text, err, "row") : DX_OK;
}

static int check_order(struct dx_merged_rows *m, size_t stream, struct dx_error *err)
{
    const uint8_t *text;
    const struct dx_merged_row *row = head_of(m, stream, &text);
    int c = m->any ? dx_merged_row_compare(row, text, &m->before, m->before_text.data) : 0;

    if (m->ask.reverse ? c > 0 : c < 0)
        return dx_row_streams_disorder(&m->streams, stream, err);
    m->any = true;
    return copy_before(m, row, text, err);
}

/* Fields that a window has not are read afterwards. */
static bool has_all_fields(const struct dx_merged_rows *m)
{
    return by_url(m) && m->ask.extra_count == 0 &&
           (m->ask.fields & ~(unsigned)(DX_FIELD_URL_ID | DX_FIELD_URL | DX_FIELD_TS)) == 0;
}

static int keep_row(struct dx_merged_rows *m, const struct dx_merged_row *r, const uint8_t *text,
                    struct dx_error *err)
{
    struct dx_listing_row *row = &m->row;

    dx_merged_row_get(r, text, row);
    return dx_kept_rows_add(&m->kept_rows, row, &m->taken[m->found.row_count - 1].at, err);
}

static int merge_row(struct dx_merged_rows *m, size_t stream, struct dx_error *err)
{
    const uint8_t *text;
    const struct dx_merged_row *r = head_of(m, stream, &text);
    const struct dx_collapse_of of = {
        dx_merged_row_host(r, text), dx_merged_row_path(r, text), r->has_ts ? &r->ts_us : NULL,
        r->has_digest ? dx_span_of(text + r->at + r->scheme + r->host + r->path_query, r->digest)
                      : dx_span_of(NULL, 0)
    };
    bool has_value;
    int rc;

    dx_buf_clear(&m->values);
    has_value = m->ask.collapse != DX_COLLAPSE_NONE && value_of(m, &of, &m->values);
    if (m->values.failed)
        return dx_buf_fail(&m->values, err, "row");
    rc = is_like(m, has_value, dx_span_of(m->values.data, m->values.size), err);
    if (rc == 0)
        rc = note_taken(m, stream, r->place, err);
    else if (rc == 1)
        return DX_OK;
    return rc == DX_OK && has_all_fields(m) ? keep_row(m, r, text, err) : rc;
}

static void note_last(struct dx_merged_rows *m, size_t stream, uint64_t place)
{
    m->found.last = (struct dx_domain_rows_place){ dx_row_streams_dataset(&m->streams, stream),
                                                   place };
}

static bool is_enough(const struct dx_merged_rows *m)
{
    return m->streams.rows_seen >= DX_FILTERED_LOOK_MAX ||
           m->streams.bytes_seen >= DX_LISTING_READ_MAX || dx_row_filter_is_enough(&m->ask.filter);
}

static void pop_row(struct dx_merged_rows *m)
{
    size_t stream = m->heap[0];

    m->windows[stream].next++;
    if (is_at_end(m, stream))
        m->heap[0] = m->heap[--m->heap_count];
    if (m->heap_count > 0)
        sift_down(m, 0);
}

static int merge_windows(struct dx_merged_rows *m, struct dx_error *err)
{
    int rc = DX_OK;

    build_heap(m);
    while (rc == DX_OK && m->heap_count > 0 && m->found.row_count < m->ask.limit) {
        size_t stream = m->heap[0];
        struct dx_merged_window *w = &m->windows[stream];
        const uint8_t *text;

        if (is_used_up(w)) {
            const struct dx_merged_row *edge = head_of(m, stream, &text);

            note_last(m, stream, edge->place);
            if (is_enough(m)) {
                rc = copy_before(m, edge, text, err);
                break;
            }
            m->filling = 0;
            m->state = FILL;
            return DX_OK;
        }
        rc = check_order(m, stream, err);
        if (rc == DX_OK)
            rc = merge_row(m, stream, err);
        if (rc == DX_OK) {
            note_last(m, stream, head_of(m, stream, &text)->place);
            pop_row(m);
        }
    }
    m->found.more = m->heap_count > 0;
    m->state = has_all_fields(m) ? DONE : TAKE;
    return rc;
}

/* ---- by time ---- */

static struct dx_merged_entry rank_of(const struct dx_merged_rows *m, bool has_ts, int64_t ts_us)
{
    struct dx_merged_entry e = { .rank = has_ts ? 1 : 0 };

    if (has_ts && m->ask.order == DX_MERGED_TIME)
        e.rank_2 = (uint64_t)ts_us ^ (UINT64_C(1) << 63);
    if (m->ask.order == DX_MERGED_CLOSEST) {
        int64_t t = m->ask.closest_us;

        e.rank = !has_ts     ? UINT64_MAX
                 : ts_us < t ? (uint64_t)t - (uint64_t)ts_us
                             : (uint64_t)ts_us - (uint64_t)t;
        e.rank_2 = has_ts && ts_us > t;
    }
    return e;
}

static int compare_entries(const void *a, const void *b, void *ctx)
{
    const struct dx_merged_rows *m = ctx;
    const struct dx_merged_entry *x = a;
    const struct dx_merged_entry *y = b;
    int c = (x->rank > y->rank) - (x->rank < y->rank);

    if (c == 0)
        c = (x->rank_2 > y->rank_2) - (x->rank_2 < y->rank_2);
    if (c == 0)
        c = (x->stream > y->stream) - (x->stream < y->stream);
    if (c == 0)
        c = (x->place > y->place) - (x->place < y->place);
    return m->ask.reverse ? -c : c;
}

/* The same, with the row that is gone on behind. */
static int compare_after(const struct dx_merged_rows *m, const struct dx_merged_entry *e)
{
    const struct dx_merged_entry after = rank_of(m, m->after.has_ts, m->after.ts_us);
    int c = (e->rank > after.rank) - (e->rank < after.rank);

    if (c == 0)
        c = (e->rank_2 > after.rank_2) - (e->rank_2 < after.rank_2);
    if (c == 0)
        c = compare_place(m, e->stream, e->place);
    return m->ask.reverse ? -c : c;
}

static void sort_entries(struct dx_merged_rows *m)
{
    if (m->entry_count > 1)
        qsort_r(m->entries, m->entry_count, sizeof *m->entries, compare_entries, m);
}

static int gather_row(void *ctx, size_t stream, uint64_t place, const struct dx_listing_row *row,
                      struct dx_error *err)
{
    struct dx_merged_rows *m = ctx;
    struct dx_merged_entry e = rank_of(m, row->has_ts, row->ts_us);
    const struct dx_collapse_of of = { row->host, row->path_query, row->has_ts ? &row->ts_us : NULL,
                                       digest_of(m, row) };
    struct dx_merged_entry *to;
    int rc = 0;

    e.stream = stream;
    e.place = place;
    if (!m->ask.goes_on || compare_after(m, &e) > 0)
        rc = is_taken(m, stream, place, row, err);
    if (rc != 1)
        return rc;
    to = dx_array_room(m->entries, m->entry_count, &m->entry_capacity, sizeof *to);
    if (to == NULL)
        return dx_no_memory(err, "listing");
    m->entries = to;
    e.value_at = m->values.size;
    e.has_value = m->ask.collapse != DX_COLLAPSE_NONE && value_of(m, &of, &m->values);
    e.value_size = m->values.size - e.value_at;
    m->entries[m->entry_count++] = e;
    if (m->values.no_memory)
        return dx_no_memory(err, "listing");
    if (m->values.failed)
        return dx_fail(err, DX_E_LIMIT, "the rows to be put in order have over %zu MiB of text",
                       VALUES_MAX >> 20);
    if (m->ask.collapse == DX_COLLAPSE_NONE && m->entry_count >= 2 * m->ask.limit + CHUNK_MAX) {
        sort_entries(m);
        m->entry_count = m->ask.limit;
        m->cut = true;
    }
    return DX_OK;
}

static int take_entries(struct dx_merged_rows *m, struct dx_error *err)
{
    size_t i;
    int rc = DX_OK;

    sort_entries(m);
    for (i = 0; rc == DX_OK && i < m->entry_count && m->found.row_count < m->ask.limit; i++) {
        const struct dx_merged_entry *e = &m->entries[i];

        rc = is_like(
            m, e->has_value,
            dx_span_of(m->values.size == 0 ? NULL : m->values.data + e->value_at, e->value_size),
            err);
        if (rc == 0)
            rc = note_taken(m, e->stream, e->place, err);
        else if (rc == 1)
            rc = DX_OK;
        note_last(m, e->stream, e->place);
        m->last_entry = *e;
    }
    m->found.more = i < m->entry_count || m->cut;
    m->state = TAKE;
    return rc;
}

/* Plans what a stream has from *place on, as much as one batch takes. */
static int plan_batch(struct dx_merged_rows *m, size_t stream, uint64_t *place,
                      struct dx_error *err)
{
    uint64_t high = m->streams.streams[stream].high;
    int rc = DX_OK;

    while (rc == DX_OK && *place < high && !dx_row_streams_full(&m->streams)) {
        uint64_t rows;

        rc = next_rows(m, stream, CHUNK_MAX, place, &rows, err);
        if (rc == DX_OK && rows > 0)
            rc = dx_row_streams_want(&m->streams, stream, *place, rows, err);
        *place = rows == 0 ? high : *place + rows;
    }
    return rc;
}

/* What reading all rows takes, before any is read. */
static int plan_gather(struct dx_merged_rows *m, struct dx_error *err)
{
    struct dx_row_streams *s = &m->streams;
    uint64_t pages = 0;
    uint64_t bytes = 0;
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < s->count; i++)
        for (uint64_t place = s->streams[i].low; rc == DX_OK && place < s->streams[i].high;) {
            rc = plan_batch(m, i, &place, err);
            pages += s->wanted_count > 0 ? s->listing.reads : 0;
            bytes += s->wanted_count > 0 ? s->listing.read_bytes : 0;
            dx_row_streams_done(s);
        }
    if (rc < 0 || (pages <= DX_MERGED_SORT_PAGES && bytes <= DX_MERGED_SORT_BYTES))
        return rc;
    return dx_fail(err, DX_E_LIMIT,
                   "the rows to be put in order of time lie on %llu pages of the lake of %llu MiB, "
                   "and at most %d of %llu MiB are read",
                   (unsigned long long)pages, (unsigned long long)(bytes >> 20),
                   DX_MERGED_SORT_PAGES, (unsigned long long)(DX_MERGED_SORT_BYTES >> 20));
}

static int gather_rows(struct dx_merged_rows *m, struct dx_error *err)
{
    const struct dx_row_streams_taker taker = { m, gather_row, NULL };
    int rc = DX_OK;

    if (!m->planned)
        rc = plan_gather(m, err);
    m->planned = true;
    while (rc == DX_OK && (m->asked || m->filling < m->streams.count)) {
        while (rc == DX_OK && !m->asked && m->filling < m->streams.count &&
               !dx_row_streams_full(&m->streams)) {
            struct dx_row_stream *s = &m->streams.streams[m->filling];

            rc = want_first(m, m->filling, CHUNK_MAX, err);
            m->filling += s->low == s->high;
        }
        m->asked = true;
        if (rc == DX_OK)
            rc = dx_row_streams_read(&m->streams, err);
        if (rc == DX_LISTING_DONE)
            rc = dx_row_streams_each(&m->streams, &taker, err);
        if (rc == DX_OK) {
            dx_row_streams_done(&m->streams);
            m->asked = false;
        }
    }
    return rc == DX_OK ? take_entries(m, err) : rc;
}

/* ---- the rows that were taken ---- */

static int by_place(const void *a, const void *b, void *ctx)
{
    const struct dx_merged_rows *m = ctx;
    const struct dx_merged_taken *x = &m->taken[*(const size_t *)a];
    const struct dx_merged_taken *y = &m->taken[*(const size_t *)b];

    if (x->stream != y->stream)
        return x->stream < y->stream ? -1 : 1;
    return x->place < y->place ? -1 : 1;
}

static int order_taken(struct dx_merged_rows *m, struct dx_error *err)
{
    m->order = calloc(m->found.row_count + 1, sizeof *m->order);
    if (m->order == NULL)
        return dx_no_memory(err, "listing");
    for (size_t i = 0; i < m->found.row_count; i++)
        m->order[i] = i;
    if (m->found.row_count > 1)
        qsort_r(m->order, m->found.row_count, sizeof *m->order, by_place, m);
    m->streams.by_slices = false;
    m->streams.fields = m->ask.fields | DX_FIELD_URL;
    m->streams.extras = m->ask.extras;
    m->streams.extra_count = m->ask.extra_count;
    return DX_OK;
}

/* Rows near each other are wanted as one stretch. */
static int want_near(struct dx_merged_rows *m, struct dx_error *err)
{
    const struct dx_merged_taken *first = &m->taken[m->order[m->read]];
    uint64_t end = first->place + 1;

    for (m->read++; m->read < m->found.row_count; m->read++) {
        const struct dx_merged_taken *t = &m->taken[m->order[m->read]];

        if (t->stream != first->stream || t->place - end >= NEAR_ROWS ||
            t->place - first->place >= CHUNK_MAX)
            break;
        end = t->place + 1;
    }
    return dx_row_streams_want(&m->streams, first->stream, first->place, end - first->place, err);
}

static int take_row(void *ctx, size_t stream, uint64_t place, const struct dx_listing_row *row,
                    struct dx_error *err)
{
    struct dx_merged_rows *m = ctx;
    struct dx_merged_taken *t = m->given < m->found.row_count ? &m->taken[m->order[m->given]]
                                                              : NULL;

    if (t == NULL || t->stream != stream || t->place != place)
        return DX_OK;
    m->given++;
    return dx_kept_rows_add(&m->kept_rows, row, &t->at, err);
}

static int read_found_rows(struct dx_merged_rows *m, struct dx_error *err)
{
    const struct dx_row_streams_taker taker = { m, take_row, NULL };
    int rc = m->order == NULL ? order_taken(m, err) : DX_OK;

    while (rc == DX_OK && (m->asked || m->read < m->found.row_count)) {
        while (rc == DX_OK && !m->asked && m->read < m->found.row_count &&
               !dx_row_streams_full(&m->streams))
            rc = want_near(m, err);
        m->asked = true;
        if (rc == DX_OK)
            rc = dx_row_streams_read(&m->streams, err);
        if (rc == DX_LISTING_DONE)
            rc = dx_row_streams_each(&m->streams, &taker, err);
        if (rc == DX_OK) {
            dx_row_streams_done(&m->streams);
            m->asked = false;
        }
    }
    if (rc == DX_OK) {
        assert(m->given == m->found.row_count);
        m->state = DONE;
    }
    return rc;
}

int dx_merged_rows_step(struct dx_merged_rows *m, struct dx_error *err)
{
    static int (*const steps[DONE])(struct dx_merged_rows *, struct dx_error *) = {
        [OPEN] = open_streams,  [RANGE] = find_range,    [AFTER] = find_after,
        [RESUME] = resume,      [FILL] = fill_windows,   [MERGE] = merge_windows,
        [GATHER] = gather_rows, [TAKE] = read_found_rows
    };
    int rc = DX_LISTING_DONE;

    while (rc == DX_LISTING_DONE && m->state != DONE)
        rc = steps[m->state](m, err);
    m->found.rows_seen = m->streams.rows_seen;
    m->found.pages_seen = m->streams.pages_seen;
    m->found.bytes_seen = m->streams.bytes_seen;
    return rc;
}

/* The time that an entry has its ranks of. */
static bool time_of(const struct dx_merged_rows *m, const struct dx_merged_entry *e, int64_t *us)
{
    uint64_t t = (uint64_t)m->ask.closest_us;

    if (m->ask.order == DX_MERGED_TIME) {
        *us = (int64_t)(e->rank_2 ^ (UINT64_C(1) << 63));
        return e->rank != 0;
    }
    *us = (int64_t)(e->rank_2 > 0 ? t + e->rank : t - e->rank);
    return e->rank != UINT64_MAX || e->rank_2 > 0;
}

static int set_value(const struct dx_merged_rows *m, struct dx_cursor_position *p,
                     struct dx_error *err)
{
    p->has_value = false;
    return m->ask.collapse == DX_COLLAPSE_NONE ? DX_OK
                                               : dx_collapse_last_put(&m->taken_last, p, err);
}

int dx_merged_rows_position(const struct dx_merged_rows *m, struct dx_cursor_position *p,
                            struct dx_error *err)
{
    const struct dx_merged_row *last = &m->before;
    const struct dx_span none = { NULL, 0 };
    const uint8_t *text = m->before_text.data;
    int64_t us;
    bool has_ts;

    if (by_url(m)) {
        dx_cursor_position_set(p, last->has_ts, last->ts_us, dx_merged_row_host(last, text),
                               dx_merged_row_path(last, text));
        return set_value(m, p, err);
    }
    has_ts = time_of(m, &m->last_entry, &us);
    dx_cursor_position_set(p, has_ts, us, none, none);
    return set_value(m, p, err);
}

int dx_merged_rows_each(struct dx_merged_rows *m, dx_merged_take *take_it, void *ctx,
                        struct dx_error *err)
{
    int rc = DX_OK;

    for (size_t i = 0; rc >= 0 && i < m->found.row_count; i++) {
        dx_kept_rows_get(&m->kept_rows, m->taken[i].at, &m->row);
        rc = take_it(ctx, m->streams.streams[m->taken[i].stream].pair, m->taken[i].place, &m->row,
                     err);
    }
    return rc < 0 ? rc : DX_OK;
}
