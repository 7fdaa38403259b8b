/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/ingest/ingest_parse.h"

#include <assert.h>
#include <stdlib.h>

#include "base/civil_time.h"
#include "base/decimal.h"
#include "base/utf8.h"
#include "builder/input/records/host_record.h"
#include "builder/input/records/list_line.h"
#include "builder/input/records/row_record.h"
#include "builder/lake/dataset_registry.h"
#include "builder/lake/ingest_row.h"
#include "builder/sort/spill_sort.h"
#include "canon/url.h"

int dx_ingest_worker_init(struct dx_ingest_worker *w, const struct dx_ingest_shared *shared,
                          unsigned lane, struct dx_error *err)
{
    int rc;

    *w = (struct dx_ingest_worker){ .shared = shared, .lane = lane };
    dx_buf_init(&w->key, 1u << 20);
    dx_buf_init(&w->value, 1u << 20);
    dx_buf_init(&w->repair, 1u << 20);
    dx_buf_init(&w->requested, 1u << 20);
    dx_buf_init(&w->shown, 2u * DX_LINE_MAX);
    dx_buf_init(&w->host, 2u * DX_LINE_MAX);
    rc = dx_fields_init(&w->fields, err);
    if (rc == DX_OK)
        rc = dx_canon_new(&w->canon, shared->psl, err);
    if (rc == DX_OK && (w->cache = calloc(1, sizeof *w->cache)) == NULL)
        rc = dx_no_memory(err, "ingest");
    if (rc < 0)
        dx_ingest_worker_release(w);
    return rc;
}

void dx_ingest_worker_release(struct dx_ingest_worker *w)
{
    dx_canon_free(&w->canon);
    dx_fields_release(&w->fields);
    dx_buf_release(&w->key);
    dx_buf_release(&w->value);
    dx_buf_release(&w->repair);
    dx_buf_release(&w->requested);
    dx_buf_release(&w->shown);
    dx_buf_release(&w->host);
    free(w->cache);
    w->cache = NULL;
}

/* Parquet strings are UTF-8, raw bytes need not be: U+FFFD for each byte that fits no
 * character, counted so that the summary can say it. */
static struct dx_span repair_text(struct dx_ingest_worker *w, struct dx_span s)
{
    size_t mark = w->repair.size;

    if (s.data == NULL || dx_utf8_is_valid(s))
        return s;
    assert(w->repair.capacity - mark >= 3 * s.size); /* no text of the row moves: repair_row */
    for (size_t i = 0; i < s.size;) {
        size_t n = dx_utf8_size(s.data + i, s.size - i);

        if (n > 0)
            dx_buf_append(&w->repair, s.data + i, n);
        else
            dx_buf_str(&w->repair, "\xEF\xBF\xBD");
        i += n > 0 ? n : 1;
    }
    w->repaired++;
    return dx_buf_from(&w->repair, mark);
}

/* The name a row's dataset has, and the dataset where that is known; 0 or the reason against it. */
static int dataset_name(const struct dx_ingest_worker *w, struct dx_span *name,
                        struct dx_ingest_dataset **set)
{
    *set = w->shared->dataset;
    if (*set != NULL)
        return 0;
    *name = w->fields.dataset;
    if (name->size == 0)
        return DX_ROW_DATASET_MISSING;
    *set = dx_ingest_datasets_cached(w->cache, *name);
    if (*set != NULL) /* its name was found valid when it came first */
        return 0;
    return dx_dataset_registry_name_valid(*name) ? 0 : DX_ROW_DATASET_INVALID;
}

static int extras(struct dx_ingest_worker *w, size_t count, struct dx_ingest_row *row)
{
    size_t bytes = 0;

    for (size_t i = 0; i < count; i++) {
        if (w->fields.extra[i].size == 0)
            w->fields.extra[i].data = NULL;
        else
            w->seen |= UINT64_C(1) << i;
        bytes += w->fields.extra[i].size;
    }
    if (bytes > DX_EXTRAS_BYTES_MAX)
        return DX_ROW_EXTRA_TOO_LONG;
    row->extra = w->fields.extra;
    return 0;
}

/* Where the record says which URL it is: that one in *url, and what was requested as the extra. 0
 * or DX_E_NOMEM. */
static int lead_to_canonical(struct dx_ingest_worker *w, const struct dx_columns *cols,
                             struct dx_url *url)
{
    struct dx_span *extra = &w->fields.extra[cols->canonical - 1];
    enum dx_reject reject = DX_REJECT_NONE;
    struct dx_span said = *extra;

    *extra = (struct dx_span){ NULL, 0 };
    if (said.data == NULL)
        return 0;
    dx_buf_clear(&w->requested); /* the canonicaliser's text lasts until its next use only */
    dx_buf_append(&w->requested, url->url.data, url->url.size);
    if (w->requested.failed)
        return DX_E_NOMEM;
    if (dx_canon_url(w->canon, said, url, &reject) != 1) {
        w->canonical_refused++;
        (void)dx_canon_url(w->canon, w->fields.url, url, &reject);
        return 0;
    }
    if (!dx_span_equal(url->url, dx_span_of(w->requested.data, w->requested.size)))
        *extra = dx_span_of(w->requested.data, w->requested.size);
    return 0;
}

/* The record of a host: it stands for its pages. */
static int parse_host(struct dx_ingest_worker *w, struct dx_ingest_row *row)
{
    enum dx_reject reject = DX_REJECT_NONE;
    struct dx_span asked;
    struct dx_url url;
    uint64_t pages;
    int why = dx_host_record_count(w->fields.extra[0], &pages);

    if (why != 0)
        return why;
    w->seen |= 1;
    if (w->fields.url.size == 0)
        return DX_REJECT_EMPTY;
    asked = dx_host_record_url(w->fields.url, &w->host);
    if (w->host.failed)
        return DX_E_NOMEM;
    if (dx_canon_url(w->canon, asked, &url, &reject) != 1)
        return (int)reject;
    row->domain = url.domain;
    row->host = url.host;
    row->scheme = dx_span_str(DX_HOST_PAGES_SCHEME);
    row->path_query = dx_span_of(w->pages, dx_host_pages_put(pages, w->pages));
    return 0;
}

/* Everything about the record but its dataset; 0, the reason against it, or DX_E_NOMEM. */
static int parse_url(struct dx_ingest_worker *w, const struct dx_columns *cols,
                     struct dx_ingest_row *row)
{
    enum dx_reject reject = DX_REJECT_NONE;
    DX_UNINITIALIZED struct dx_url url; /* dx_canon_url clears it */
    int why = extras(w, cols->extra_count, row);

    if (why != 0)
        return why;
    if (dx_canon_url(w->canon, w->fields.url, &url, &reject) != 1)
        return (int)reject;
    why = cols->canonical > 0 ? lead_to_canonical(w, cols, &url) : 0;
    if (why != 0)
        return why;
    row->has_ts = w->fields.ts.size > 0 &&
                  dx_input_time(w->fields.ts, dx_columns_ts_unit(cols, w->shared->ts_unit),
                                &row->ts_us);
    if (!row->has_ts && w->shared->require_ts)
        return w->fields.ts.size > 0 ? DX_ROW_TS_INVALID : DX_ROW_TS_MISSING;
    row->domain = url.domain;
    row->host = url.host;
    row->path_query = url.path_query;
    row->scheme = url.scheme;
    row->raw_url = dx_span_equal(w->fields.url, url.url) ? (struct dx_span){ NULL, 0 }
                                                         : w->fields.url;
    return 0;
}

static int repair_row(struct dx_ingest_worker *w, size_t extra_count, struct dx_ingest_row *row,
                      struct dx_error *err)
{
    dx_buf_clear(&w->repair);
    if (dx_buf_reserve(&w->repair, 3 * ((size_t)DX_EXTRAS_BYTES_MAX + DX_URL_MAX)) == NULL)
        return dx_buf_fail(&w->repair, err, "ingest");
    row->raw_url = repair_text(w, row->raw_url);
    for (size_t i = 0; i < extra_count; i++)
        w->fields.extra[i] = repair_text(w, w->fields.extra[i]);
    return DX_OK;
}

static void settle_count(struct dx_ingest_worker *w)
{
    assert(w->counted == 0 || w->counting != NULL);
    if (w->counted > 0)
        atomic_fetch_add_explicit(&w->counting->rows, w->counted, memory_order_relaxed);
    w->counted = 0;
}

/* Records of a dataset come together mostly: the count that all threads share is written once a
 * run of them. */
static void count_row(struct dx_ingest_worker *w, struct dx_ingest_dataset *set)
{
    if (w->counting != set) {
        settle_count(w);
        w->counting = set;
    }
    w->counted++;
}

/* Of the WARC record that a line of CDX is about; false: the line does not say it. */
static bool locate_warc(const struct dx_fields *f, struct dx_locator *l)
{
    const struct dx_span *place = f->place;

    if (place[DX_PLACE_FILE].size == 0 ||
        !dx_decimal(place[DX_PLACE_OFFSET], INT64_MAX, &l->place[0]))
        return false;
    if (!dx_decimal(place[DX_PLACE_LENGTH], INT64_MAX, &l->place[1]))
        l->place[1] = 0;
    l->kind = DX_LOCATOR_WARC;
    l->name = place[DX_PLACE_FILE];
    return dx_locator_name_valid(l->name);
}

/* Where the record came from, as text in w->locator; data == NULL: nothing can say it. */
static struct dx_span put_locator(struct dx_ingest_worker *w, const struct dx_ingest_origin *from,
                                  const struct dx_record *record)
{
    struct dx_locator l = { .kind = DX_LOCATOR_NONE };
    size_t n;

    if (!from->cols->places || !locate_warc(&w->fields, &l)) {
        l.kind = from->located;
        l.name = from->name;
        l.was_size = from->was_size;
        l.was_hash = from->was_hash;
        l.place[0] = l.kind == DX_LOCATOR_LINE ? record->line : (uint64_t)record->place;
        l.place[1] = l.kind == DX_LOCATOR_LINE ? 0 : (uint64_t)record->place_size;
    }
    n = dx_locator_put(&l, w->locator);
    w->unlocated += n == 0;
    return n == 0 ? (struct dx_span){ NULL, 0 } : dx_span_of(w->locator, n);
}

/* set: NULL if it has to be asked for by its name. */
static int keep_row(struct dx_ingest_worker *w, const struct dx_columns *cols, struct dx_span name,
                    struct dx_ingest_dataset *set, struct dx_ingest_row *row, struct dx_error *err)
{
    size_t extra_count = w->shared->hosts != NULL ? 0 : cols->extra_count;
    int rc = repair_row(w, extra_count, row, err);

    if (rc == DX_OK && set == NULL)
        rc = dx_ingest_datasets_get(w->shared->datasets, w->cache, name, &set, err);
    if (rc < 0)
        return rc;
    row->dataset = set->number;
    count_row(w, set);
    if (row->has_ts && row->ts_us % 1000 != 0)
        atomic_store_explicit(&set->ts_micros, true, memory_order_relaxed);
    if (w->shared->sort == NULL) {
        w->accepted++;
        return DX_OK;
    }
    if (w->shared->hosts != NULL) {
        row->has_ts = true;
        row->ts_us = (int64_t)atomic_fetch_add_explicit(w->shared->hosts, 1, memory_order_relaxed);
    }
    dx_ingest_row_put(&w->key, &w->value, row, extra_count);
    if (w->key.failed || w->value.failed)
        return dx_buf_fail(&w->key, err, "ingest: a row");
    w->accepted++;
    return dx_spill_sort_add(w->shared->sort, w->lane, dx_span_of(w->key.data, w->key.size),
                             dx_span_of(w->value.data, w->value.size), err);
}

/* A row as a dry run shows it: time, the dataset where a record tells it, URL, extras. */
static void show_row(const struct dx_ingest_worker *w, struct dx_ingest_samples *samples,
                     const struct dx_ingest_row *row, struct dx_span dataset, size_t extra_count)
{
    struct dx_buf text = DX_BUF_INIT(2 * (DX_URL_MAX + DX_EXTRAS_BYTES_MAX));
    char ts[DX_CIVIL_TEXT] = "no time";

    if (samples->row_count == DX_SAMPLE_ROWS)
        return;
    if (row->has_ts)
        (void)dx_civil_text_us(row->ts_us, ts);
    dx_buf_fmt(&text, "%s  ", ts);
    if (dataset.size > 0) {
        dx_buf_append(&text, dataset.data, dataset.size);
        dx_buf_str(&text, "  ");
    }
    dx_buf_append(&text, row->scheme.data, row->scheme.size);
    dx_buf_str(&text, "://");
    dx_buf_append(&text, row->host.data, row->host.size);
    dx_buf_append(&text, row->path_query.data, row->path_query.size);
    for (size_t i = 0; i < extra_count; i++)
        if (row->extra[i].size > 0) {
            dx_buf_fmt(&text, "  %s=", w->shared->extra_name[i]);
            dx_buf_append(&text, row->extra[i].data, row->extra[i].size);
        }
    dx_ingest_samples_row(samples, dx_span_of(text.data, text.size));
    dx_buf_release(&text);
}

/* A record as people read it. */
static struct dx_span shown(struct dx_ingest_worker *w, const struct dx_columns *cols,
                            struct dx_span record)
{
    if (!dx_record_format_has_rows(cols->format))
        return record;
    dx_buf_clear(&w->shown);
    dx_row_record_text(record, &w->shown);
    return dx_span_of(w->shown.data, w->shown.size);
}

/* A record that is accepted without a time: it has none, or an invalid one. */
static void note_untimed(struct dx_ingest_worker *w, const struct dx_ingest_origin *from,
                         uint64_t line, struct dx_span record, struct dx_ingest_samples *samples)
{
    w->untimed += w->shared->hosts == NULL;
    if (w->fields.ts.data != NULL)
        w->seen |= DX_SEEN_TS_NULL;
    if (w->fields.ts.size == 0)
        return;
    w->ts_dropped++;
    dx_ingest_samples_reject(samples, DX_ROW_TS_INVALID, from->input, line,
                             shown(w, from->cols, record));
}

/* One row of a record; why: the reason against it, or 0. */
static int take_row(struct dx_ingest_worker *w, const struct dx_batch *batch, size_t i, int why,
                    const struct dx_ingest_origin *from, struct dx_buf *rejects,
                    struct dx_ingest_samples *samples, struct dx_error *err)
{
    struct dx_span record = w->fields.list.is_open ? w->fields.list.element
                                                   : dx_batch_record(batch, i);
    const struct dx_columns *cols = from->cols;
    struct dx_ingest_row row = { 0 };
    struct dx_span name = { NULL, 0 };
    struct dx_ingest_dataset *set = NULL;

    w->records++;
    if (why == 0)
        why = w->shared->hosts != NULL ? parse_host(w, &row) : parse_url(w, cols, &row);
    if (why == 0)
        why = dataset_name(w, &name, &set);
    if (why < 0)
        return dx_no_memory(err, "ingest: a record of %zu bytes", record.size);
    if (why > 0) {
        w->rejected[why]++;
        record = shown(w, cols, record);
        dx_ingest_samples_reject(samples, why, from->input, batch->records[i].line, record);
        dx_rejects_line(rejects, from->input, batch->records[i].line, why, record);
        return rejects->failed ? dx_buf_fail(rejects, err, "ingest: rejects") : DX_OK;
    }
    if (!row.has_ts)
        note_untimed(w, from, batch->records[i].line, record, samples);
    if (cols->format == DX_RECORD_LIST)
        w->with_blanks += dx_list_line_has_blank(record);
    if (w->shared->sort == NULL)
        show_row(w, samples, &row, w->shared->dataset == NULL ? name : (struct dx_span){ NULL, 0 },
                 w->shared->hosts != NULL ? 0 : cols->extra_count);
    if (w->shared->locators)
        row.locator = put_locator(w, from, &batch->records[i]);
    return keep_row(w, cols, name, set, &row, err);
}

int dx_ingest_worker_batch(struct dx_ingest_worker *w, const struct dx_batch *batch, size_t first,
                           const struct dx_ingest_origin *from, struct dx_buf *rejects,
                           struct dx_ingest_samples *samples, struct dx_error *err)
{
    static const int flaws[] = { [DX_FLAW_NONE] = 0,
                                 [DX_FLAW_TOO_LONG] = DX_ROW_LINE_TOO_LONG,
                                 [DX_FLAW_MALFORMED] = DX_ROW_RECORD_MALFORMED };
    uint64_t records = w->records, accepted = w->accepted;
    uint64_t untimed = w->untimed, dropped = w->ts_dropped;
    int rc = DX_OK;

    for (size_t i = first; rc == DX_OK && i < batch->count; i++) {
        int why = flaws[batch->records[i].flaw];

        w->fields.list.is_open = false;
        if (why == 0)
            why = dx_columns_pick(from->cols, dx_batch_record(batch, i), &w->fields);
        while (rc == DX_OK && why != DX_COLUMNS_END) {
            rc = take_row(w, batch, i, why, from, rejects, samples, err);
            why = dx_columns_more(from->cols, &w->fields);
        }
    }
    settle_count(w);
    if (w->accepted > accepted)
        w->seen |= DX_SEEN_ROW;
    if (w->accepted - accepted > w->untimed - untimed || w->ts_dropped > dropped)
        w->seen |= DX_SEEN_TS;
    atomic_fetch_or_explicit(from->seen, w->seen, memory_order_relaxed);
    w->seen = 0;
    atomic_fetch_add_explicit(from->untimed, w->untimed - untimed, memory_order_relaxed);
    atomic_fetch_add_explicit(from->records, w->records - records, memory_order_relaxed);
    return rc;
}
