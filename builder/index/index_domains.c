/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/index/index_domains.h"

#include <stdlib.h>

#include "base/put.h"
#include "builder/lake/lake_files.h"
#include "builder/sort/stream_spill.h"

#define RECORD_MAX 20 /* two varints: ordinals since the stream's last one, URLs */

struct stream {
    uint32_t dataset_id;
    uint64_t next; /* the ordinal behind its last one */
};

struct dx_index_domains {
    struct stream *streams; /* by dataset_id */
    size_t count;
    uint64_t pairs;
    struct dx_stream_spill *spool;
};

static int by_id(const void *a, const void *b)
{
    uint32_t x = ((const struct stream *)a)->dataset_id;
    uint32_t y = ((const struct stream *)b)->dataset_id;

    return (x > y) - (x < y);
}

static void collect_ids(struct dx_index_domains *x, const struct dx_index_lake *lake)
{
    size_t n = 0;

    for (size_t i = 0; i < lake->file_count; i++)
        if (lake->files[i].path != NULL &&
            (n == 0 || x->streams[n - 1].dataset_id != lake->files[i].dataset_id))
            x->streams[n++].dataset_id = lake->files[i].dataset_id;
    qsort(x->streams, n, sizeof *x->streams, by_id);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || x->streams[i].dataset_id != x->streams[x->count - 1].dataset_id)
            x->streams[x->count++].dataset_id = x->streams[i].dataset_id;
}

int dx_index_domains_new(struct dx_index_domains **out, const struct dx_index_lake *lake,
                         const char *tmp_dir, size_t memory_bytes, struct dx_error *err)
{
    struct dx_index_domains *x = calloc(1, sizeof *x);
    int rc;

    *out = x;
    if (x != NULL)
        x->streams = calloc(lake->file_count + 1, sizeof *x->streams);
    if (x == NULL || x->streams == NULL) {
        dx_index_domains_free(out);
        return dx_no_memory(err, "domains of datasets");
    }
    collect_ids(x, lake);
    rc = dx_stream_spill_new(&x->spool, tmp_dir, x->count, memory_bytes, err);
    if (rc < 0)
        dx_index_domains_free(out);
    return rc;
}

/* Ids mostly follow each other, so the first look is where it would be then. */
static size_t stream_of(const struct dx_index_domains *x, uint32_t dataset_id)
{
    size_t low = 0;
    size_t high = x->count;

    if (x->count > 0 && dataset_id >= x->streams[0].dataset_id) {
        size_t guess = dataset_id - x->streams[0].dataset_id;

        if (guess < x->count && x->streams[guess].dataset_id == dataset_id)
            return guess;
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (x->streams[middle].dataset_id < dataset_id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < x->count && x->streams[low].dataset_id == dataset_id ? low : x->count;
}

int dx_index_domains_add(struct dx_index_domains *x, uint64_t ordinal, const uint32_t *ids,
                         const struct dx_pair_count *counts, size_t n, struct dx_error *err)
{
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < n; i++) {
        size_t at = stream_of(x, ids[i]);
        uint8_t record[RECORD_MAX];
        uint8_t *p;

        if (at == x->count || ordinal < x->streams[at].next)
            return dx_fail(err, DX_E_CORRUPT,
                           "domains of datasets: domain %llu of dataset %lu, which %s",
                           (unsigned long long)ordinal, (unsigned long)ids[i],
                           at == x->count ? "has no file" : "had a later one");
        p = dx_put_varint(record, ordinal - x->streams[at].next);
        p = dx_put_varint(p, counts[i].url_count);
        x->streams[at].next = ordinal + 1;
        x->pairs++;
        rc = dx_stream_spill_add(x->spool, at, dx_span_of(record, (size_t)(p - record)), err);
    }
    return rc;
}

/* A stream on its way into the file. */
struct play {
    struct dx_dataset_domains_writer *w;
    int (*take)(struct dx_dataset_domains_writer *w, uint64_t ordinal, uint64_t url_count,
                struct dx_error *err);
    uint64_t next;
    size_t kept; /* bytes of a record that goes on in the next piece */
    uint8_t part[RECORD_MAX];
};

/* 1 a record, 0 it does not end within r, which is then where it was. */
static int take_record(struct play *play, struct dx_bytes *r, struct dx_error *err)
{
    struct dx_bytes ahead = *r;
    uint64_t ordinal = play->next + dx_bytes_varint(&ahead);
    uint64_t url_count = dx_bytes_varint(&ahead);
    int rc;

    if (ahead.failed)
        return 0;
    *r = ahead;
    play->next = ordinal + 1;
    rc = play->take(play->w, ordinal, url_count, err);
    return rc < 0 ? rc : 1;
}

/* The record that the piece before began, with what this one has of it. */
static int take_kept(struct play *play, struct dx_bytes *r, struct dx_error *err)
{
    size_t room = RECORD_MAX - play->kept;
    size_t more = dx_bytes_left(r) < room ? dx_bytes_left(r) : room;
    struct dx_bytes whole;
    int rc;

    memcpy(play->part + play->kept, r->at, more);
    whole = dx_bytes_of(dx_span_of(play->part, play->kept + more));
    rc = take_record(play, &whole, err);
    if (rc == 0) {
        play->kept += more;
        (void)dx_bytes_take(r, more);
        if (play->kept == RECORD_MAX)
            return dx_fail(err, DX_E_CORRUPT, "domains of datasets: a damaged stream");
    } else if (rc == 1) {
        (void)dx_bytes_take(r, dx_bytes_at(&whole) - play->kept);
        play->kept = 0;
    }
    return rc;
}

static int take_piece(void *ctx, struct dx_span piece, struct dx_error *err)
{
    struct play *play = ctx;
    struct dx_bytes r = dx_bytes_of(piece);
    int rc = play->kept == 0 ? 1 : take_kept(play, &r, err);

    while (rc == 1 && dx_bytes_left(&r) > 0)
        rc = take_record(play, &r, err);
    if (rc < 0)
        return rc;
    if (dx_bytes_left(&r) >= RECORD_MAX)
        return dx_fail(err, DX_E_CORRUPT, "domains of datasets: a damaged stream");
    if (dx_bytes_left(&r) > 0) {
        play->kept = dx_bytes_left(&r);
        memcpy(play->part, r.at, play->kept);
    }
    return DX_OK;
}

static int play_stream(struct dx_index_domains *x, size_t stream, struct play *play,
                       struct dx_error *err)
{
    int rc;

    play->next = 0;
    play->kept = 0;
    rc = dx_stream_spill_replay(x->spool, stream, take_piece, play, err);
    if (rc == DX_OK && play->kept > 0)
        rc = dx_fail(err, DX_E_CORRUPT, "domains of datasets: a stream ends within a record");
    return rc;
}

int dx_index_domains_write(struct dx_index_domains *x, uint64_t domains,
                           const struct dx_build_id *build,
                           int (*sink)(void *ctx, struct dx_span bytes, struct dx_error *err),
                           void *ctx, struct dx_error *err)
{
    struct dx_dataset_domains_writer w;
    struct play play = { .w = &w };
    int rc = dx_dataset_domains_writer_begin(&w, domains, x->pairs, build, sink, ctx, err);

    if (rc >= 0)
        rc = dx_stream_spill_finish(x->spool, err);
    for (size_t i = 0; rc >= 0 && i < x->count; i++) {
        rc = dx_dataset_domains_writer_dataset(&w, x->streams[i].dataset_id, err);
        play.take = dx_dataset_domains_writer_add;
        if (rc >= 0)
            rc = play_stream(x, i, &play, err);
        if (rc >= 0)
            rc = dx_dataset_domains_writer_counted(&w, err);
        play.take = dx_dataset_domains_writer_rank;
        if (rc == 1)
            rc = play_stream(x, i, &play, err);
    }
    if (rc >= 0)
        rc = dx_dataset_domains_writer_end(&w, err);
    dx_dataset_domains_writer_release(&w);
    return rc;
}

void dx_index_domains_free(struct dx_index_domains **domains)
{
    struct dx_index_domains *x = *domains;

    if (x == NULL)
        return;
    dx_stream_spill_free(&x->spool);
    free(x->streams);
    free(x);
    *domains = NULL;
}
