/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/index/index_postings.h"

#include <pthread.h>
#include <stdlib.h>

#include "builder/index/index_out.h"
#include "builder/lake/lake_files.h"
#include "builder/scan/base_postings.h"
#include "builder/scan/index_pair.h"
#include "builder/sort/spill_file.h"
#include "builder/sort/spill_sort.h"
#include "format/version/postings.h"
#include "loader/version.h"

#define THREADS_MAX 16
#define SLOTS_A_THREAD 4 /* pages that wait: enough for who is slow with one */
#define RING_MAX (SLOTS_A_THREAD * (THREADS_MAX + 1))
#define LEVEL \
    3 /* of zstd: entries are bits, and runs at 9 are 1 % smaller for four times the work */
#define RUNS_MAX (512u << 20)
#define RECORDS_MAX (64u << 10) /* bytes of page records that wait for the temporary file */

enum slot_state { SLOT_FREE, SLOT_READY, SLOT_TAKEN, SLOT_DONE };

/* One page between the pairs and the disk. */
struct slot {
    enum slot_state state;
    uint64_t number;
    struct dx_postings_draft draft;
    struct dx_error err;
};

struct work {
    struct dx_index_postings *job;
    struct dx_base_postings known[DX_PARTS_MAX]; /* of the parts of the base; closed until needed */
    struct slot ring[RING_MAX];
    size_t ring_size;
    uint64_t reap;        /* number of the next page to reap */
    uint64_t fill;        /* of the one that is filled */
    size_t waiting;       /* bytes of pages from reap to fill */
    pthread_mutex_t lock; /* of states */
    pthread_cond_t change;
    bool end;
    pthread_t threads[THREADS_MAX];
    size_t thread_count;
    struct dx_zstd_encoder *encoder; /* the calling thread's */

    /* The sorter's next record: have says whether there is one. */
    bool have;
    uint64_t domain_id;
    uint32_t dataset_id;
    int known_part; /* that has its payload; -1: value has its runs */
    struct dx_span value;
    struct dx_buf runs;
    struct dx_buf payload;

    struct dx_index_out idx;
    struct dx_index_out dat;
    struct dx_postings_files files;
    struct dx_spill_file *records;
};

void dx_index_postings_key(uint64_t domain_id, uint32_t dataset_id,
                           uint8_t key[DX_INDEX_POSTINGS_KEY])
{
    for (size_t i = 0; i < 8; i++)
        key[i] = (uint8_t)(domain_id >> (56 - 8 * i));
    for (size_t i = 0; i < 4; i++)
        key[8 + i] = (uint8_t)(dataset_id >> (24 - 8 * i));
}

static int next_record(struct work *w, struct dx_error *err)
{
    struct dx_span key;
    int rc = dx_spill_sort_next(w->job->sorted, &key, &w->value, err);

    w->have = rc == 1;
    if (rc <= 0)
        return rc;
    w->known_part = -1;
    if (key.size == DX_INDEX_POSTINGS_KEY + 1)
        w->known_part = key.data[--key.size];
    if (key.size != DX_INDEX_POSTINGS_KEY || w->known_part >= DX_PARTS_MAX)
        return dx_fail(err, DX_E_CORRUPT, "postings: a key of %zu bytes", key.size);
    w->domain_id = 0;
    w->dataset_id = 0;
    for (size_t i = 0; i < 8; i++)
        w->domain_id = w->domain_id << 8 | key.data[i];
    for (size_t i = 8; i < 12; i++)
        w->dataset_id = w->dataset_id << 8 | key.data[i];
    return DX_OK;
}

/* ---- the ring of pages ---- */

static void encode(struct work *w, struct slot *s, struct dx_zstd_encoder *encoder)
{
    s->err = (struct dx_error)DX_ERROR_INIT;
    (void)dx_postings_draft_encode(&s->draft, s->number, w->job->pairs, &w->job->build, encoder,
                                   &s->err);
}

/* The oldest page that no thread has taken; NULL: none. Under the lock. */
static struct slot *take_slot(struct work *w)
{
    for (uint64_t i = w->reap; i < w->fill; i++) {
        struct slot *s = &w->ring[i % w->ring_size];

        if (s->state == SLOT_READY) {
            s->state = SLOT_TAKEN;
            return s;
        }
    }
    return NULL;
}

static void encode_slot(struct work *w, struct slot *s, struct dx_zstd_encoder *encoder)
{
    (void)pthread_mutex_unlock(&w->lock);
    encode(w, s, encoder);
    (void)pthread_mutex_lock(&w->lock);
    s->state = SLOT_DONE;
    (void)pthread_cond_broadcast(&w->change);
}

static void *worker(void *ctx)
{
    struct work *w = ctx;
    struct dx_zstd_encoder *encoder = NULL;
    struct dx_error err = DX_ERROR_INIT;
    int rc = dx_zstd_encoder_new(&encoder, LEVEL, &err);

    (void)pthread_mutex_lock(&w->lock);
    while (rc == DX_OK && !w->end) { /* without memory for an encoder the others do its work */
        struct slot *s = take_slot(w);

        if (s != NULL)
            encode_slot(w, s, encoder);
        else
            (void)pthread_cond_wait(&w->change, &w->lock);
    }
    (void)pthread_mutex_unlock(&w->lock);
    dx_zstd_encoder_free(&encoder);
    return NULL;
}

static int save_records(struct work *w, struct dx_error *err)
{
    struct dx_buf *records = &w->files.records;
    int rc = dx_spill_file_append(w->records, dx_span_of(records->data, records->size), err);

    dx_buf_clear(records);
    return rc;
}

/* Waits for the oldest page, compressing what no thread has taken, and writes it. */
static int reap_slot(struct work *w, struct dx_error *err)
{
    struct slot *s = &w->ring[w->reap % w->ring_size];
    int rc;

    (void)pthread_mutex_lock(&w->lock);
    while (s->state != SLOT_DONE) {
        struct slot *free = take_slot(w);

        if (free != NULL)
            encode_slot(w, free, w->encoder);
        else
            (void)pthread_cond_wait(&w->change, &w->lock);
    }
    s->state = SLOT_FREE;
    w->reap++;
    (void)pthread_mutex_unlock(&w->lock);
    w->waiting -= s->draft.payloads.size;
    rc = s->err.code;
    if (rc != DX_OK && err != NULL)
        *err = s->err;
    if (rc == DX_OK)
        rc = dx_postings_files_page(&w->files, &s->draft, err);
    if (rc == DX_OK && w->files.records.size >= RECORDS_MAX)
        rc = save_records(w, err);
    dx_postings_draft_clear(&s->draft);
    return rc;
}

/* The page that is filled is whole: on to the next one. */
static int end_page(struct work *w, struct dx_error *err)
{
    struct slot *s = &w->ring[w->fill % w->ring_size];
    int rc = DX_OK;

    s->number = w->fill;
    w->waiting += s->draft.payloads.size;
    (void)pthread_mutex_lock(&w->lock);
    s->state = SLOT_READY;
    w->fill++;
    (void)pthread_cond_signal(&w->change);
    (void)pthread_mutex_unlock(&w->lock);
    while (rc == DX_OK && w->reap < w->fill &&
           (w->fill - w->reap == w->ring_size || w->waiting > w->job->memory_bytes))
        rc = reap_slot(w, err);
    return rc;
}

/* ---- the pairs ---- */

static int add_pair(struct work *w, uint64_t domain_id, uint32_t dataset_id, struct dx_span payload,
                    struct dx_error *err)
{
    int rc = DX_OK;

    if (dx_postings_draft_full(&w->ring[w->fill % w->ring_size].draft, payload.size))
        rc = end_page(w, err);
    w->job->written++;
    return rc == DX_OK ? dx_postings_draft_add(&w->ring[w->fill % w->ring_size].draft, domain_id,
                                               dataset_id, payload, err)
                       : rc;
}

static int add_record(struct work *w, struct dx_error *err)
{
    int rc;

    dx_buf_clear(&w->runs);
    dx_buf_clear(&w->payload);
    rc = dx_index_pair_runs(w->value, &w->runs, err);
    if (rc == DX_OK)
        rc = dx_payload_encode((const struct dx_run *)(const void *)w->runs.data,
                               w->runs.size / sizeof(struct dx_run), &w->payload, err);
    return rc == DX_OK ? add_pair(w, w->domain_id, w->dataset_id,
                                  dx_span_of(w->payload.data, w->payload.size), err)
                       : rc;
}

/* The bytes of the base as they are: nothing in them depends on the version. */
static int add_known(struct work *w, struct dx_error *err)
{
    const struct dx_part *part = w->job->lake->base->parts[w->known_part].part;
    struct dx_base_postings *b = &w->known[w->known_part];
    struct dx_payload payload;
    struct dx_span bytes;
    int rc = b->part != NULL ? DX_OK : dx_base_postings_open(b, part, err);

    if (rc == DX_OK)
        rc = dx_base_postings_find(b, w->domain_id, w->dataset_id, &bytes, err);
    if (rc == 0)
        rc = dx_fail(err, DX_E_CORRUPT,
                     "%s: domain 0x%016llx has no posting in dataset %lu: `domaindex verify` tells "
                     "more",
                     part->directory, (unsigned long long)w->domain_id,
                     (unsigned long)w->dataset_id);
    if (rc == 1)
        rc = dx_payload_open(&payload, w->domain_id, w->dataset_id, bytes, "postings", err);
    w->job->kept++;
    return rc == DX_OK ? add_pair(w, w->domain_id, w->dataset_id, bytes, err) : rc;
}

static int add_all(struct work *w, struct dx_error *err)
{
    int rc = next_record(w, err);

    while (rc == DX_OK && w->have) {
        rc = w->known_part >= 0 ? add_known(w, err) : add_record(w, err);
        if (rc == DX_OK)
            rc = next_record(w, err);
    }
    for (size_t i = 0; i < DX_PARTS_MAX; i++)
        dx_base_postings_close(&w->known[i]);
    if (rc == DX_OK && w->ring[w->fill % w->ring_size].draft.page.entries > 0)
        rc = end_page(w, err);
    while (rc == DX_OK && w->reap < w->fill)
        rc = reap_slot(w, err);
    return rc;
}

/* ---- the files ---- */

static int write_files(struct work *w, struct dx_error *err)
{
    int rc = dx_index_out_open(&w->idx, w->job->dir, DX_FILE_POSTINGS_IDX, w->job->sync, err);

    if (rc == DX_OK)
        rc = dx_index_out_open(&w->dat, w->job->dir, DX_FILE_POSTINGS_DAT, w->job->sync, err);
    if (rc == DX_OK)
        rc = dx_postings_files_begin(&w->files, w->job->pairs, dx_index_out_sink, &w->idx,
                                     dx_index_out_sink, &w->dat, err);
    if (rc == DX_OK)
        rc = add_all(w, err);
    if (rc == DX_OK)
        rc = dx_postings_files_end(&w->files, err);
    if (rc == DX_OK)
        rc = save_records(w, err);
    if (rc == DX_OK)
        rc = dx_index_out_commit(&w->idx, w->job->entry, err);
    return rc == DX_OK ? dx_index_out_commit(&w->dat, w->job->entry, err) : rc;
}

static int add_records(void *ctx, struct dx_span piece, struct dx_error *err)
{
    return dx_postings_writer_pages(ctx, piece, err);
}

static int write_directory(struct work *w, struct dx_error *err)
{
    struct dx_index_out out = DX_INDEX_OUT_INIT;
    struct dx_postings_writer to = { 0 };
    int rc = dx_index_out_open(&out, w->job->dir, DX_FILE_POSTINGS_DIR, w->job->sync, err);

    if (rc != DX_OK)
        return rc;
    rc = dx_postings_writer_begin(&to, &w->files.totals, &w->job->build, dx_index_out_sink, &out,
                                  err);
    if (rc == DX_OK)
        rc = dx_spill_file_replay(w->records, add_records, &to, err);
    if (rc == DX_OK)
        rc = dx_postings_writer_end(&to, err);
    dx_postings_writer_release(&to);
    if (rc == DX_OK)
        rc = dx_index_out_commit(&out, w->job->entry, err);
    dx_index_out_abort(&out);
    return rc;
}

static int start(struct work *w, struct dx_error *err)
{
    size_t threads = w->job->threads < THREADS_MAX ? w->job->threads : THREADS_MAX;

    w->idx = w->dat = (struct dx_index_out)DX_INDEX_OUT_INIT;
    dx_buf_init(&w->runs, RUNS_MAX);
    dx_buf_init(&w->payload, DX_PAYLOAD_MAX);
    w->ring_size = SLOTS_A_THREAD * (threads + 1);
    for (size_t i = 0; i < w->ring_size; i++)
        dx_postings_draft_init(&w->ring[i].draft);
    while (threads > 1 && w->thread_count < threads &&
           pthread_create(&w->threads[w->thread_count], NULL, worker, w) == 0)
        w->thread_count++;
    return dx_zstd_encoder_new(&w->encoder, LEVEL, err);
}

static void stop(struct work *w)
{
    (void)pthread_mutex_lock(&w->lock);
    w->end = true;
    (void)pthread_cond_broadcast(&w->change);
    (void)pthread_mutex_unlock(&w->lock);
    for (size_t i = 0; i < w->thread_count; i++)
        (void)pthread_join(w->threads[i], NULL);
    for (size_t i = 0; i < w->ring_size; i++)
        dx_postings_draft_release(&w->ring[i].draft);
    dx_zstd_encoder_free(&w->encoder);
    dx_buf_release(&w->runs);
    dx_buf_release(&w->payload);
}

int dx_index_postings_write(struct dx_index_postings *job, struct dx_error *err)
{
    struct work *w = calloc(1, sizeof *w);
    int rc;

    if (w == NULL)
        return dx_no_memory(err, "postings");
    w->job = job;
    job->written = job->kept = 0;
    (void)pthread_mutex_init(&w->lock, NULL);
    (void)pthread_cond_init(&w->change, NULL);
    rc = start(w, err);
    if (rc == DX_OK)
        rc = dx_spill_file_new(&w->records, job->tmp_dir, err);
    if (rc == DX_OK)
        rc = write_files(w, err);
    stop(w); /* no thread works on after an error */
    if (rc == DX_OK)
        rc = write_directory(w, err);
    dx_postings_files_release(&w->files);
    dx_index_out_abort(&w->idx);
    dx_index_out_abort(&w->dat);
    dx_spill_file_free(&w->records);
    (void)pthread_cond_destroy(&w->change);
    (void)pthread_mutex_destroy(&w->lock);
    free(w);
    return rc;
}
