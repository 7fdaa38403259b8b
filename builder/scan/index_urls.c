/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/scan/index_urls.h"

#include <assert.h>
#include <stdlib.h>

#include "base/few_bytes.h"
#include "builder/lake/lake_file.h"
#include "builder/scan/urls_record.h"
#include "builder/sort/stream_spill.h"
#include "canon/ids.h"

#define LANE_RECORDS 4096 /* under the lock at a time */
#define AHEAD 16          /* of them that a record's place is asked for */
#define URL_TEXT_MAX (DX_LAKE_ROW_BYTES_MAX + sizeof "://") /* what a row may have */

struct dx_index_urls_lane {
    struct dx_index_urls *urls;
    struct dx_buf text; /* of a URL */
    size_t count;
    uint8_t records[LANE_RECORDS * DX_URLS_RECORD];
};

int dx_index_urls_new(struct dx_index_urls **out, const char *tmp_dir, size_t memory_bytes,
                      struct dx_error *err)
{
    struct dx_index_urls *u = calloc(1, sizeof *u);
    int rc;

    *out = u;
    if (u == NULL)
        return dx_no_memory(err, "places of URLs");
    (void)pthread_mutex_init(&u->lock, NULL);
    u->tmp_dir = strdup(tmp_dir);
    rc = u->tmp_dir == NULL
             ? dx_no_memory(err, "places of URLs")
             : dx_stream_spill_new(&u->spool, tmp_dir, DX_URLS_STREAMS, memory_bytes, err);
    if (rc != DX_OK)
        dx_index_urls_free(out);
    return rc;
}

void dx_index_urls_free(struct dx_index_urls **u)
{
    if (*u != NULL) {
        dx_stream_spill_free(&(*u)->spool);
        (void)pthread_mutex_destroy(&(*u)->lock);
        free((*u)->tmp_dir);
    }
    free(*u);
    *u = NULL;
}

/* ---- lanes ---- */

int dx_index_urls_lane_new(struct dx_index_urls_lane **out, struct dx_index_urls *u,
                           struct dx_error *err)
{
    struct dx_index_urls_lane *lane = malloc(sizeof *lane);

    *out = lane;
    if (lane == NULL)
        return dx_no_memory(err, "places of URLs");
    lane->urls = u;
    lane->count = 0;
    dx_buf_init(&lane->text, URL_TEXT_MAX);
    return DX_OK;
}

void dx_index_urls_lane_free(struct dx_index_urls_lane **lane)
{
    if (*lane != NULL)
        dx_buf_release(&(*lane)->text);
    free(*lane);
    *lane = NULL;
}

int dx_index_urls_lane_end(struct dx_index_urls_lane *lane, struct dx_error *err)
{
    int rc = DX_OK;

    (void)pthread_mutex_lock(&lane->urls->lock);
    for (size_t i = 0; rc == DX_OK && i < lane->count; i++) {
        const uint8_t *record = lane->records + i * DX_URLS_RECORD;

        if (i + AHEAD < lane->count)
            dx_stream_spill_expect(lane->urls->spool,
                                   dx_urls_record_stream(record + AHEAD * DX_URLS_RECORD));
        rc = dx_stream_spill_add(lane->urls->spool, dx_urls_record_stream(record),
                                 dx_span_of(record, DX_URLS_RECORD), err);
    }
    (void)pthread_mutex_unlock(&lane->urls->lock);
    lane->count = 0;
    return rc;
}

static int put_record(struct dx_index_urls_lane *lane, const struct dx_urls_record *record,
                      struct dx_error *err)
{
    int rc = lane->count == LANE_RECORDS ? dx_index_urls_lane_end(lane, err) : DX_OK;

    if (rc == DX_OK)
        rc = dx_urls_record_write(record, lane->records + lane->count * DX_URLS_RECORD, err);
    lane->count += rc == DX_OK;
    return rc;
}

static int put_place(struct dx_index_urls_lane *lane, uint32_t file_id,
                     const struct dx_url_run_place *place, struct dx_error *err)
{
    struct dx_url_place kept = { .row = place->row, .rows = place->last - place->first + 1 };
    struct dx_urls_record record = { .id = place->id,
                                     .file_id = file_id,
                                     .row_group = place->row_group };

    dx_url_place_widen(&kept, place->last_group != place->row_group);
    record.row = kept.row;
    record.rows = kept.rows;
    return put_record(lane, &record, err);
}

static int end_requested(struct dx_index_urls_lane *lane, struct dx_url_run *run,
                         struct dx_error *err)
{
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < run->requested_count; i++)
        rc = put_place(lane, run->file_id, &run->requested[i], err);
    run->requested_count = 0;
    return rc;
}

int dx_index_urls_end(struct dx_index_urls_lane *lane, struct dx_url_run *run, struct dx_error *err)
{
    int rc = end_requested(lane, run, err);

    for (size_t i = 0; rc == DX_OK && i < run->count; i++)
        rc = put_place(lane, run->file_id, &run->urls[i].place, err);
    run->count = 0;
    return rc;
}

static struct dx_url_run_place place_at(uint64_t id, const struct dx_url_row *at)
{
    return (struct dx_url_run_place){ .id = id,
                                      .row = at->row_in_group,
                                      .first = at->row_in_file,
                                      .last = at->row_in_file,
                                      .row_group = at->row_group,
                                      .last_group = at->row_group };
}

static void go_on(struct dx_url_run_place *place, const struct dx_url_row *at)
{
    place->last = at->row_in_file;
    place->last_group = at->row_group;
}

static int url_id(struct dx_index_urls_lane *lane, const struct dx_lake_row *row,
                  const struct dx_url_row *at, uint64_t *id, struct dx_error *err)
{
    struct dx_buf *b = &lane->text;

    *id = at->url_id;
    if (*id != 0)
        return DX_OK;
    dx_buf_clear(b);
    dx_buf_append(b, row->scheme.data, row->scheme.size);
    dx_buf_append(b, "://", 3);
    dx_buf_append(b, row->host.data, row->host.size);
    dx_buf_append(b, row->path_query.data, row->path_query.size);
    if (b->failed)
        return dx_buf_fail(b, err, "URL of a row");
    *id = dx_url_id(dx_span_of(b->data, b->size));
    return DX_OK;
}

static int new_url(struct dx_index_urls_lane *lane, struct dx_url_run *run,
                   const struct dx_lake_row *row, const struct dx_url_row *at, struct dx_error *err)
{
    struct dx_url_run_url *url = &run->urls[run->count];
    uint64_t id;
    int rc;

    if (run->count == DX_URL_RUN_SCHEMES || row->scheme.size > sizeof url->scheme)
        return dx_fail(err, DX_E_CORRUPT,
                       "file %lu: row %llu: over 8 schemes for one host and path, or one of over "
                       "32 bytes",
                       (unsigned long)at->file_id, (unsigned long long)at->row_in_file);
    rc = url_id(lane, row, at, &id, err);
    if (rc != DX_OK)
        return rc;
    run->file_id = at->file_id;
    url->place = place_at(dx_url_id_kept(id), at);
    url->scheme_size = (uint32_t)row->scheme.size;
    dx_few_copy(url->scheme, row->scheme.data, row->scheme.size);
    run->count++;
    return DX_OK;
}

/* The row's place under the URL that led to it. Where both ids have the same kept bits the place of
 * the row's own URL is there already. */
static int requested_row(struct dx_index_urls_lane *lane, struct dx_url_run *run,
                         const struct dx_url_row *at, uint64_t own, struct dx_error *err)
{
    uint64_t id = dx_url_id_kept(dx_url_id(at->requested));
    int rc = DX_OK;

    if (id == dx_url_id_kept(own))
        return DX_OK;
    for (size_t i = 0; i < run->requested_count; i++)
        if (run->requested[i].id == id) {
            go_on(&run->requested[i], at);
            return DX_OK;
        }
    if (run->requested_count == DX_URL_RUN_REQUESTED)
        rc = end_requested(lane, run, err);
    run->requested[run->requested_count++] = place_at(id, at);
    return rc;
}

static int own_row(struct dx_index_urls_lane *lane, struct dx_url_run *run,
                   const struct dx_lake_row *row, const struct dx_url_row *at, uint64_t *id,
                   struct dx_error *err)
{
    int rc;

    for (size_t i = 0; i < run->count; i++) {
        struct dx_url_run_url *url = &run->urls[i];

        if (dx_few_equal(dx_span_of(url->scheme, url->scheme_size), row->scheme)) {
            go_on(&url->place, at);
            *id = url->place.id;
            return DX_OK;
        }
    }
    rc = new_url(lane, run, row, at, err);
    *id = rc == DX_OK ? run->urls[run->count - 1].place.id : 0;
    return rc;
}

int dx_index_urls_row(struct dx_index_urls_lane *lane, struct dx_url_run *run,
                      const struct dx_lake_row *row, const struct dx_url_row *at,
                      struct dx_error *err)
{
    int rc = at->same_page ? DX_OK : dx_index_urls_end(lane, run, err);
    uint64_t id = 0;

    assert(run->count == 0 || run->file_id == at->file_id);
    if (rc == DX_OK)
        rc = own_row(lane, run, row, at, &id, err);
    return rc != DX_OK || at->requested.size == 0 ? rc : requested_row(lane, run, at, id, err);
}
