/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/index/index_postings.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#include "builder/index/index_out.h"
#include "builder/lake/lake_files.h"
#include "builder/scan/index_pair.h"
#include "builder/scan/part_postings.h"
#include "builder/sort/spill_file.h"
#include "loader/version.h"

#define THREADS_MAX 16
#define SLOTS_A_THREAD 4 /* pages that wait: enough for a thread that is slow with one */
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

/* The first lake file that the version has of a dataset; from there its lists count. */
struct first_file {
    uint32_t file_id;
    bool has_pair;
};

struct dx_index_postings {
    struct dx_index_postings_job *job;
    struct first_file *first_files;              /* of the datasets of the registry, in its order */
    struct dx_part_postings known[DX_PARTS_MAX]; /* of the parts of the base; closed until needed */
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

    struct dx_buf runs;
    struct dx_buf payload;

    struct dx_index_out idx;
    struct dx_index_out dat;
    struct dx_postings_files files;
    struct dx_spill_file *records;
};

/* ---- the ring of pages ---- */

static void encode(struct dx_index_postings *w, struct slot *s, struct dx_zstd_encoder *encoder)
{
    s->err = (struct dx_error)DX_ERROR_INIT;
    (void)dx_postings_draft_encode(&s->draft, s->number, w->job->pairs, &w->job->build, encoder,
                                   &s->err);
}

/* The oldest page that no thread has taken; NULL: none. Under the lock. */
static struct slot *take_slot(struct dx_index_postings *w)
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

static void encode_slot(struct dx_index_postings *w, struct slot *s,
                        struct dx_zstd_encoder *encoder)
{
    (void)pthread_mutex_unlock(&w->lock);
    encode(w, s, encoder);
    (void)pthread_mutex_lock(&w->lock);
    s->state = SLOT_DONE;
    (void)pthread_cond_broadcast(&w->change);
}

static void *run_worker(void *ctx)
{
    struct dx_index_postings *w = ctx;
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

static int save_records(struct dx_index_postings *w, struct dx_error *err)
{
    struct dx_buf *records = &w->files.records;
    int rc = dx_spill_file_append(w->records, dx_span_of(records->data, records->size), err);

    dx_buf_clear(records);
    return rc;
}

/* Waits for the oldest page, compressing what no thread has taken, and writes it. */
static int reap_slot(struct dx_index_postings *w, struct dx_error *err)
{
    struct slot *s = &w->ring[w->reap % w->ring_size];
    int rc;

    assert(w->reap < w->fill);
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
static int end_page(struct dx_index_postings *w, struct dx_error *err)
{
    struct slot *s = &w->ring[w->fill % w->ring_size];
    int rc = DX_OK;

    assert(w->fill - w->reap < w->ring_size);
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

static int add_pair(struct dx_index_postings *w, struct dx_pair_place place, struct dx_span payload,
                    struct dx_error *err)
{
    int rc = DX_OK;

    if (dx_postings_draft_full(&w->ring[w->fill % w->ring_size].draft, payload.size))
        rc = end_page(w, err);
    w->job->written++;
    return rc == DX_OK
               ? dx_postings_draft_add(&w->ring[w->fill % w->ring_size].draft, place, payload, err)
               : rc;
}

static int find_first_files(struct dx_index_postings *w, struct dx_error *err)
{
    const struct dx_index_lake *lake = w->job->lake;

    w->first_files = calloc(lake->registry->count + 1, sizeof *w->first_files);
    if (w->first_files == NULL)
        return dx_no_memory(err, "postings");
    for (size_t i = lake->file_count; i-- > 0;) {
        const struct dx_dataset *d = lake->files[i].path == NULL
                                         ? NULL
                                         : dx_registry_by_id(lake->registry,
                                                             lake->files[i].dataset_id);

        if (d != NULL)
            w->first_files[d - lake->registry->datasets].file_id = (uint32_t)i;
    }
    return DX_OK;
}

/* The pair of this dataset comes. */
static int note_dataset(struct dx_index_postings *w, uint32_t dataset_id, uint32_t *first_file,
                        struct dx_error *err)
{
    const struct dx_registry *registry = w->job->lake->registry;
    const struct dx_dataset *d = dx_registry_by_id(registry, dataset_id);
    struct first_file *first = d == NULL ? NULL : &w->first_files[d - registry->datasets];

    if (first == NULL)
        return dx_fail(err, DX_E_INVALID, "postings of dataset %lu, which is not registered",
                       (unsigned long)dataset_id);
    w->files.totals.datasets += !first->has_pair;
    first->has_pair = true;
    *first_file = first->file_id;
    return DX_OK;
}

int dx_index_postings_add(struct dx_index_postings *w, struct dx_pair_place place,
                          uint32_t dataset_id, struct dx_span runs, struct dx_error *err)
{
    uint32_t first_file;
    int rc = note_dataset(w, dataset_id, &first_file, err);

    dx_buf_clear(&w->runs);
    dx_buf_clear(&w->payload);
    if (rc == DX_OK)
        rc = dx_index_pair_runs(runs, &w->runs, err);
    if (rc == DX_OK)
        rc = dx_payload_encode((const struct dx_run *)(const void *)w->runs.data,
                               w->runs.size / sizeof(struct dx_run), first_file, &w->payload, err);
    return rc == DX_OK ? add_pair(w, place, dx_span_of(w->payload.data, w->payload.size), err) : rc;
}

/* The bytes of the base, counted from another file. */
int dx_index_postings_keep(struct dx_index_postings *w, struct dx_pair_place place,
                           uint32_t dataset_id, size_t part, const struct dx_pair_place *known,
                           struct dx_error *err)
{
    const struct dx_part *from = w->job->lake->base->parts[part].part;
    struct dx_part_postings *b = &w->known[part];
    struct dx_payload payload;
    struct dx_span bytes;
    uint32_t first_file;
    int rc = note_dataset(w, dataset_id, &first_file, err);

    if (rc == DX_OK && b->part == NULL)
        rc = dx_part_postings_open(b, from, err);
    if (rc == DX_OK)
        rc = dx_part_postings_find(b, *known, &bytes, err);
    if (rc == 0)
        rc = dx_fail(err, DX_E_CORRUPT,
                     "%s: domain %llu has no posting of its dataset %lu: `domaindex verify` tells "
                     "more",
                     from->directory, (unsigned long long)known->domain,
                     (unsigned long)known->dataset);
    dx_buf_clear(&w->payload);
    if (rc == 1)
        rc = dx_postings_list(&from->postings, known->domain, dataset_id, bytes, "postings",
                              &payload, err);
    if (rc == DX_OK)
        rc = dx_payload_rebase(bytes, payload.first_file, first_file, &w->payload, err);
    w->job->kept++;
    return rc == DX_OK ? add_pair(w, place, dx_span_of(w->payload.data, w->payload.size), err) : rc;
}

static int write_rest(struct dx_index_postings *w, struct dx_error *err)
{
    int rc = DX_OK;

    for (size_t i = 0; i < DX_PARTS_MAX; i++)
        dx_part_postings_close(&w->known[i]);
    if (w->ring[w->fill % w->ring_size].draft.page.entries > 0)
        rc = end_page(w, err);
    while (rc == DX_OK && w->reap < w->fill)
        rc = reap_slot(w, err);
    return rc;
}

/* ---- the files ---- */

static int begin_files(struct dx_index_postings *w, struct dx_error *err)
{
    int rc = dx_index_out_open(&w->idx, w->job->dir, DX_FILE_POSTINGS_IDX, w->job->sync, err);

    if (rc == DX_OK)
        rc = dx_index_out_open(&w->dat, w->job->dir, DX_FILE_POSTINGS_DAT, w->job->sync, err);
    return rc == DX_OK ? dx_postings_files_begin(&w->files, w->job->pairs, dx_index_out_sink,
                                                 &w->idx, dx_index_out_sink, &w->dat, err)
                       : rc;
}

static int end_files(struct dx_index_postings *w, struct dx_error *err)
{
    int rc = dx_postings_files_end(&w->files, err);

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

static void list_first_files(const struct dx_index_postings *w, struct dx_buf *out)
{
    const struct dx_registry *registry = w->job->lake->registry;

    for (size_t i = 0; i < registry->count; i++) {
        if (!w->first_files[i].has_pair)
            continue;
        dx_buf_u32(out, registry->datasets[i].dataset_id);
        dx_buf_u32(out, w->first_files[i].file_id);
    }
}

static int write_directory(struct dx_index_postings *w, struct dx_error *err)
{
    struct dx_index_out out = DX_INDEX_OUT_INIT;
    struct dx_buf first_files = DX_BUF_INIT(SIZE_MAX / 2);
    struct dx_postings_writer to = { 0 };
    int rc = dx_index_out_open(&out, w->job->dir, DX_FILE_POSTINGS_DIR, w->job->sync, err);

    if (rc != DX_OK)
        return rc;
    rc = dx_postings_writer_begin(&to, &w->files.totals, &w->job->build, dx_index_out_sink, &out,
                                  err);
    if (rc == DX_OK)
        rc = dx_spill_file_replay(w->records, add_records, &to, err);
    list_first_files(w, &first_files);
    if (rc == DX_OK && first_files.failed)
        rc = dx_buf_fail(&first_files, err, "postings");
    if (rc == DX_OK)
        rc = dx_postings_writer_end(&to, dx_span_of(first_files.data, first_files.size), err);
    dx_buf_release(&first_files);
    dx_postings_writer_release(&to);
    if (rc == DX_OK)
        rc = dx_index_out_commit(&out, w->job->entry, err);
    dx_index_out_abort(&out);
    return rc;
}

static int start(struct dx_index_postings *w, struct dx_error *err)
{
    size_t threads = w->job->threads < THREADS_MAX ? w->job->threads : THREADS_MAX;

    w->idx = w->dat = (struct dx_index_out)DX_INDEX_OUT_INIT;
    dx_buf_init(&w->runs, RUNS_MAX);
    dx_buf_init(&w->payload, DX_PAYLOAD_MAX);
    w->ring_size = SLOTS_A_THREAD * (threads + 1);
    for (size_t i = 0; i < w->ring_size; i++)
        dx_postings_draft_init(&w->ring[i].draft);
    while (threads > 1 && w->thread_count < threads &&
           pthread_create(&w->threads[w->thread_count], NULL, run_worker, w) == 0)
        w->thread_count++;
    return dx_zstd_encoder_new(&w->encoder, LEVEL, err);
}

static void stop(struct dx_index_postings *w)
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
    free(w->first_files);
}

int dx_index_postings_new(struct dx_index_postings **out, struct dx_index_postings_job *job,
                          struct dx_error *err)
{
    struct dx_index_postings *w = calloc(1, sizeof *w);
    int rc;

    *out = w;
    if (w == NULL)
        return dx_no_memory(err, "postings");
    w->job = job;
    job->written = job->kept = 0;
    (void)pthread_mutex_init(&w->lock, NULL);
    (void)pthread_cond_init(&w->change, NULL);
    rc = start(w, err);
    if (rc == DX_OK)
        rc = find_first_files(w, err);
    if (rc == DX_OK)
        rc = dx_spill_file_new(&w->records, job->tmp_dir, err);
    return rc == DX_OK ? begin_files(w, err) : rc;
}

int dx_index_postings_end(struct dx_index_postings *w, struct dx_error *err)
{
    int rc = write_rest(w, err);

    if (rc == DX_OK)
        rc = end_files(w, err);
    return rc == DX_OK ? write_directory(w, err) : rc;
}

void dx_index_postings_free(struct dx_index_postings **p)
{
    struct dx_index_postings *w = *p;

    if (w == NULL)
        return;
    stop(w);
    for (size_t i = 0; i < DX_PARTS_MAX; i++)
        dx_part_postings_close(&w->known[i]);
    dx_postings_files_release(&w->files);
    dx_index_out_abort(&w->idx);
    dx_index_out_abort(&w->dat);
    dx_spill_file_free(&w->records);
    (void)pthread_cond_destroy(&w->change);
    (void)pthread_mutex_destroy(&w->lock);
    free(w);
    *p = NULL;
}
