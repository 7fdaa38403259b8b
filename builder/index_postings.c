/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/index_postings.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "builder/base_shard.h"
#include "builder/index_base.h"
#include "builder/index_out.h"
#include "builder/index_pair.h"
#include "builder/index_scan.h"
#include "builder/spill_file.h"
#include "builder/spill_sort.h"
#include "loader/version.h"

#define RING_MAX 32
#define LEVEL \
    3 /* of zstd: entries are bits, and runs at 9 are 1 % smaller for four times the work */
/* A small shard costs three fsync and next to no work: many at a time share the journal's
 * commits. Each writer holds two compressors of some 4 MiB. (Not synced one by one but flushed
 * together, two thousand small files took longer on ext4: what is saved on commits, making them
 * costs more.) */
#define WRITERS_MAX 16
#define WRITER_MEMORY (2u << 20) /* of memory_bytes, which are an eighth of the budget */
#define RECORD_HEAD 16           /* u64 domain_id, u32 dataset_id, u32 size of the runs */
#define RUNS_MAX (512u << 20)
#define PAGES_MAX (1u << 30)

enum slot_state { SLOT_FREE, SLOT_READY, SLOT_TAKEN, SLOT_DONE };

/* One shard between the sorter and the disk. */
struct slot {
    enum slot_state state;
    uint32_t shard;
    bool shared; /* with the base: its record and pages are there, and nothing was written */
    struct dx_buf records;
    struct dx_buf runs;
    struct dx_buf payload;
    struct dx_buf pages; /* PAGE records */
    struct dx_index_out idx;
    struct dx_index_out dat;
    struct dx_postings_shard record;
    struct dx_error err;
};

struct work {
    struct dx_index_postings *job;
    struct dx_version *base; /* NULL: none */
    struct slot ring[RING_MAX];
    size_t ring_size;
    size_t reap;          /* number of the next slot to reap, counting on */
    size_t fill;          /* of the next to fill */
    pthread_mutex_t lock; /* of states */
    pthread_cond_t change;
    bool end;
    pthread_t threads[RING_MAX];
    size_t thread_count;

    /* The sorter's next record, looked at but not taken. */
    bool have;
    uint64_t domain_id;
    uint32_t dataset_id;
    struct dx_span value;

    struct dx_postings_shard *records; /* of all shards */
    struct dx_spill_file *pages;
};

void dx_index_postings_key(uint64_t domain_id, uint32_t dataset_id,
                           uint8_t key[DX_INDEX_POSTINGS_KEY])
{
    for (size_t i = 0; i < 8; i++)
        key[i] = (uint8_t)(domain_id >> (56 - 8 * i));
    for (size_t i = 0; i < 4; i++)
        key[8 + i] = (uint8_t)(dataset_id >> (24 - 8 * i));
}

/* The next record of the sorter in w: w->have says whether there is one. */
static int look(struct work *w, struct dx_error *err)
{
    struct dx_span key;
    int rc = dx_spill_sort_next(w->job->sorted, &key, &w->value, err);

    w->have = rc == 1;
    if (rc <= 0)
        return rc;
    if (key.size != DX_INDEX_POSTINGS_KEY)
        return dx_fail(err, DX_E_CORRUPT, "postings: a key of %zu bytes", key.size);
    w->domain_id = 0;
    w->dataset_id = 0;
    for (size_t i = 0; i < 8; i++)
        w->domain_id = w->domain_id << 8 | key.data[i];
    for (size_t i = 8; i < 12; i++)
        w->dataset_id = w->dataset_id << 8 | key.data[i];
    return DX_OK;
}

/* ---- one shard ---- */

static int add_pair(struct slot *s, struct dx_shard_writer *to, uint64_t domain_id,
                    uint32_t dataset_id, struct dx_span runs, struct dx_error *err)
{
    int rc;

    dx_buf_clear(&s->runs);
    dx_buf_clear(&s->payload);
    rc = dx_index_pair_runs(runs, &s->runs, err);
    if (rc == DX_OK)
        rc = dx_payload_encode((const struct dx_run *)(const void *)s->runs.data,
                               s->runs.size / sizeof(struct dx_run), &s->payload, err);
    return rc == DX_OK ? dx_shard_writer_add(to, domain_id, dataset_id,
                                             dx_span_of(s->payload.data, s->payload.size), err)
                       : rc;
}

/* The records of a shard: those in the slot, and then from the sorter what did not fit into it. */
struct records {
    struct work *w;
    struct slot *s;
    struct dx_bytes waiting;
    bool with_rest;
    bool taken; /* from the sorter, and not moved on */
    bool have;
    uint64_t domain_id;
    uint32_t dataset_id;
    struct dx_span runs;
};

static int next_record(struct records *r, struct dx_error *err)
{
    struct work *w = r->w;
    int rc = DX_OK;

    r->have = dx_bytes_left(&r->waiting) > 0;
    if (r->have) {
        r->domain_id = dx_bytes_u64(&r->waiting);
        r->dataset_id = dx_bytes_u32(&r->waiting);
        r->runs = dx_bytes_take(&r->waiting, dx_bytes_u32(&r->waiting));
        return DX_OK;
    }
    if (!r->with_rest)
        return DX_OK;
    if (r->taken)
        rc = look(w, err);
    r->taken = rc == DX_OK && w->have && dx_postings_shard_of(w->domain_id) == r->s->shard;
    r->have = r->taken;
    r->domain_id = w->domain_id;
    r->dataset_id = w->dataset_id;
    r->runs = w->value;
    return rc;
}

/* What the base has of the shard. */
struct known {
    struct dx_base_shard shard;
    bool have;
    struct dx_posting posting;
    struct dx_span payload;
};

/* The next pair that stays, as far as datasets say it. */
static int next_known(const struct work *w, struct known *k, struct dx_error *err)
{
    int rc = 1;

    k->have = false;
    while (!k->have && rc == 1) {
        enum dx_index_change change;

        rc = dx_base_shard_next(&k->shard, &k->posting, &k->payload, err);
        if (rc != 1)
            break;
        change = dx_index_change_of(w->job->lake, k->posting.dataset_id);
        k->have = change == DX_INDEX_SAME || change == DX_INDEX_GROWN;
    }
    return rc < 0 ? rc : DX_OK;
}

static int open_known(const struct work *w, uint32_t shard, struct known *k, struct dx_error *err)
{
    int rc = w->base == NULL ? 0 : dx_base_shard_open(&k->shard, w->base, shard, err);

    return rc == 1 ? next_known(w, k, err) : rc;
}

/* Its bytes as they are: nothing in them depends on the version. */
static int add_known(struct dx_shard_writer *to, const struct known *k, struct dx_error *err)
{
    const struct dx_posting *p = &k->posting;
    struct dx_payload payload;
    int rc = dx_payload_open(&payload, p->domain_id, p->dataset_id, k->payload, "postings", err);

    return rc == DX_OK ? dx_shard_writer_add(to, p->domain_id, p->dataset_id, k->payload, err) : rc;
}

/* Below 0: the base's pair comes first; 0: the record takes its place; above: the record's. */
static int compare(const struct known *k, const struct records *r)
{
    if (!k->have || !r->have)
        return k->have ? -1 : 1;
    if (k->posting.domain_id != r->domain_id)
        return k->posting.domain_id < r->domain_id ? -1 : 1;
    if (k->posting.dataset_id != r->dataset_id)
        return k->posting.dataset_id < r->dataset_id ? -1 : 1;
    return 0;
}

static int add_all(struct work *w, struct slot *s, bool with_rest, struct dx_shard_writer *to,
                   struct dx_error *err)
{
    struct records r = { .w = w,
                         .s = s,
                         .waiting = dx_bytes_of(dx_span_of(s->records.data, s->records.size)),
                         .with_rest = with_rest };
    struct known k = { .have = false };
    int rc = open_known(w, s->shard, &k, err);

    if (rc == DX_OK)
        rc = next_record(&r, err);
    while (rc == DX_OK && (k.have || r.have)) {
        int order = compare(&k, &r);

        rc = order < 0 ? add_known(to, &k, err)
                       : add_pair(s, to, r.domain_id, r.dataset_id, r.runs, err);
        if (rc == DX_OK && order >= 0)
            rc = next_record(&r, err);
        if (rc == DX_OK && order <= 0)
            rc = next_known(w, &k, err);
    }
    dx_base_shard_close(&k.shard);
    return rc;
}

static int write_shard(struct work *w, struct slot *s, bool with_rest, struct dx_error *err)
{
    const struct dx_index_postings *job = w->job;
    struct dx_shard_writer to = { 0 };
    char shard[DX_POSTINGS_SHARD_NAME];
    char name[DX_MANIFEST_FILE_NAME];
    char dir[PATH_MAX];
    int rc;

    dx_postings_shard_name(s->shard, shard);
    (void)snprintf(dir, sizeof dir, "%s/postings/%s", job->dir, shard);
    rc = dx_dir_make(dir, err);
    (void)snprintf(name, sizeof name, "postings/%s/postings.idx.zst", shard);
    if (rc == DX_OK)
        rc = dx_index_out_open(&s->idx, job->dir, name, job->sync, err);
    (void)snprintf(name, sizeof name, "postings/%s/postings.dat.zst", shard);
    if (rc == DX_OK)
        rc = dx_index_out_open(&s->dat, job->dir, name, job->sync, err);
    if (rc != DX_OK)
        return rc;
    rc = dx_shard_writer_init(&to, s->shard, job->shard_pairs[s->shard], &job->build, LEVEL,
                              dx_index_out_sink, &s->idx, dx_index_out_sink, &s->dat, &s->pages,
                              err);
    if (rc == DX_OK)
        rc = add_all(w, s, with_rest, &to, err);
    if (rc == DX_OK)
        rc = dx_shard_writer_finish(&to, &s->record, err);
    dx_shard_writer_release(&to);
    if (rc == DX_OK)
        rc = dx_index_out_close(&s->idx, err);
    if (rc == DX_OK)
        rc = dx_index_out_close(&s->dat, err);
    return rc == DX_OK && job->sync == DX_SYNC_NOW ? dx_dir_sync(dir, err) : rc;
}

static void run_slot(struct work *w, struct slot *s, bool with_rest)
{
    s->err = (struct dx_error)DX_ERROR_INIT;
    (void)write_shard(w, s, with_rest, &s->err);
    dx_index_out_abort(&s->idx);
    dx_index_out_abort(&s->dat);
}

/* ---- the ring ---- */

static void *worker(void *ctx)
{
    struct work *w = ctx;

    (void)pthread_mutex_lock(&w->lock);
    while (!w->end) {
        struct slot *s = NULL;

        for (size_t i = w->reap; i < w->fill && s == NULL; i++)
            if (w->ring[i % w->ring_size].state == SLOT_READY)
                s = &w->ring[i % w->ring_size];
        if (s == NULL) {
            (void)pthread_cond_wait(&w->change, &w->lock);
            continue;
        }
        s->state = SLOT_TAKEN;
        (void)pthread_mutex_unlock(&w->lock);
        run_slot(w, s, false);
        (void)pthread_mutex_lock(&w->lock);
        s->state = SLOT_DONE;
        (void)pthread_cond_broadcast(&w->change);
    }
    (void)pthread_mutex_unlock(&w->lock);
    return NULL;
}

/* The two files of a shard that is the base's: it may have them of an older version itself. */
static int refer(struct work *w, uint32_t shard, struct dx_error *err)
{
    static const char *const endings[] = { "idx", "dat" };
    const struct dx_manifest_version *base = &w->base->entry;
    char name[DX_MANIFEST_FILE_NAME];
    char folder[DX_POSTINGS_SHARD_NAME];
    int rc = DX_OK;

    dx_postings_shard_name(shard, folder);
    for (size_t i = 0; rc == DX_OK && i < 2; i++) {
        const struct dx_manifest_file *f;

        (void)snprintf(name, sizeof name, "postings/%s/postings.%s.zst", folder, endings[i]);
        f = dx_manifest_file(base, name);
        if (f == NULL)
            return dx_fail(err, DX_E_CORRUPT, "manifest: version %s lists no %s", base->version,
                           name);
        rc = dx_manifest_file_refer(w->job->entry, name, f->size, &f->hash,
                                    f->in[0] != '\0' ? f->in : base->version, err);
    }
    w->job->shared++;
    return rc;
}

/* The oldest slot is free again; its results stand in w and in the manifest. */
static int reap_slot(struct work *w, struct dx_error *err)
{
    struct slot *s = &w->ring[w->reap % w->ring_size];
    int rc;

    (void)pthread_mutex_lock(&w->lock);
    while (s->state != SLOT_DONE)
        (void)pthread_cond_wait(&w->change, &w->lock);
    s->state = SLOT_FREE;
    w->reap++;
    (void)pthread_mutex_unlock(&w->lock);
    rc = s->err.code;
    if (rc != DX_OK && err != NULL)
        *err = s->err;
    if (rc == DX_OK) {
        w->records[s->shard] = s->record;
        rc = dx_spill_file_append(w->pages, dx_span_of(s->pages.data, s->pages.size), err);
    }
    if (rc == DX_OK && s->shared)
        return refer(w, s->shard, err);
    if (rc == DX_OK)
        rc = dx_manifest_file_add(w->job->entry, s->idx.name, s->idx.size, &s->idx.hash, err);
    if (rc == DX_OK)
        rc = dx_manifest_file_add(w->job->entry, s->dat.name, s->dat.size, &s->dat.hash, err);
    w->job->written++;
    return rc;
}

static int reap_all(struct work *w, struct dx_error *err)
{
    int rc = DX_OK;

    while (w->reap < w->fill) {
        int one = reap_slot(w, rc == DX_OK ? err : NULL);

        rc = rc == DX_OK ? one : rc;
    }
    return rc;
}

static void hand_over(struct work *w, struct slot *s)
{
    if (w->thread_count == 0)
        run_slot(w, s, false);
    (void)pthread_mutex_lock(&w->lock);
    s->state = w->thread_count == 0 ? SLOT_DONE : SLOT_READY;
    w->fill++;
    (void)pthread_cond_broadcast(&w->change);
    (void)pthread_mutex_unlock(&w->lock);
}

/* Records of the shard, up to the slot's room: 1 all of them, 0 there are more. */
static int fill_slot(struct work *w, struct slot *s, uint32_t shard, size_t room,
                     struct dx_error *err)
{
    s->shard = shard;
    s->shared = false;
    dx_buf_clear(&s->records);
    dx_buf_clear(&s->pages);
    while (w->have && dx_postings_shard_of(w->domain_id) == s->shard) {
        int rc;

        if (s->records.size + RECORD_HEAD + w->value.size > room)
            return 0;
        dx_buf_u64(&s->records, w->domain_id);
        dx_buf_u32(&s->records, w->dataset_id);
        dx_buf_u32(&s->records, (uint32_t)w->value.size);
        dx_buf_append(&s->records, w->value.data, w->value.size);
        if (s->records.failed)
            return dx_buf_fail(&s->records, err, "postings of a shard");
        rc = look(w, err);
        if (rc < 0)
            return rc;
    }
    return 1;
}

static void hand_over_done(struct work *w, struct slot *s)
{
    (void)pthread_mutex_lock(&w->lock);
    s->state = SLOT_DONE;
    w->fill++;
    (void)pthread_mutex_unlock(&w->lock);
}

/* Nothing changed in it: what the base's directory says of it is true of the new version. */
static int share_shard(struct work *w, struct slot *s, uint32_t shard, struct dx_error *err)
{
    const struct dx_postings *p = &w->base->postings;
    int rc = dx_postings_shard_get(p, shard, &s->record, err);

    s->shard = shard;
    s->shared = true;
    s->err = (struct dx_error)DX_ERROR_INIT;
    dx_buf_clear(&s->pages);
    if (rc == 1 && s->record.entries != w->job->shard_pairs[shard])
        rc = dx_fail(err, DX_E_CORRUPT,
                     "version %s: postings shard %03x has %llu pairs, by the sets it has %llu: "
                     "`domaindex verify` tells more",
                     dx_version_name(w->base), (unsigned)shard,
                     (unsigned long long)s->record.entries,
                     (unsigned long long)w->job->shard_pairs[shard]);
    else if (rc == 0)
        rc = dx_fail(err, DX_E_CORRUPT, "version %s: postings shard %03x is empty",
                     dx_version_name(w->base), (unsigned)shard);
    if (rc == 1)
        rc = dx_postings_page_records(p, shard, &s->pages, err);
    if (rc == DX_OK)
        hand_over_done(w, s);
    return rc;
}

static int write_one(struct work *w, struct slot *s, uint32_t shard, size_t room,
                     struct dx_error *err)
{
    int rc = fill_slot(w, s, shard, room, err);

    if (rc == 1) {
        hand_over(w, s);
        return DX_OK;
    }
    /* Pages are collected in order of shards, so the ones before must be done. */
    if (rc == 0)
        rc = reap_all(w, err);
    if (rc != DX_OK)
        return rc;
    run_slot(w, s, true);
    hand_over_done(w, s);
    return DX_OK;
}

static int write_shards(struct work *w, struct dx_error *err)
{
    size_t room = w->job->memory_bytes / w->ring_size;
    int rc = look(w, err);

    for (uint32_t shard = 0; rc == DX_OK && shard < DX_POSTINGS_SHARDS; shard++) {
        struct slot *s = &w->ring[w->fill % w->ring_size];

        if (w->job->shard_pairs[shard] == 0)
            continue;
        if (w->fill - w->reap == w->ring_size)
            rc = reap_slot(w, err);
        if (rc == DX_OK)
            rc = w->base == NULL || w->job->touched[shard] ? write_one(w, s, shard, room, err)
                                                           : share_shard(w, s, shard, err);
    }
    if (rc == DX_OK && w->have)
        rc = dx_fail(err, DX_E_INVALID, "postings: shard %03x has more pairs than were announced",
                     (unsigned)dx_postings_shard_of(w->domain_id));
    if (rc == DX_OK)
        return reap_all(w, err);
    (void)reap_all(w, NULL); /* nobody may write into the directory after the error */
    return rc;
}

static int add_pages(void *ctx, struct dx_span piece, struct dx_error *err)
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
    rc = dx_postings_writer_begin(&to, w->records, &w->job->build, dx_index_out_sink, &out, err);
    if (rc == DX_OK)
        rc = dx_spill_file_replay(w->pages, add_pages, &to, err);
    if (rc == DX_OK)
        rc = dx_postings_writer_end(&to, err);
    dx_postings_writer_release(&to);
    if (rc == DX_OK)
        rc = dx_index_out_commit(&out, w->job->entry, err);
    dx_index_out_abort(&out);
    return rc;
}

static void start(struct work *w)
{
    size_t writers = w->job->memory_bytes / WRITER_MEMORY;
    size_t threads = w->job->threads;

    if (writers > threads)
        threads = writers;
    if (threads > WRITERS_MAX)
        threads = WRITERS_MAX;
    w->ring_size = threads < 2 ? 2 : 2 * threads;
    for (size_t i = 0; i < w->ring_size; i++) {
        struct slot *s = &w->ring[i];

        dx_buf_init(&s->records, w->job->memory_bytes);
        dx_buf_init(&s->runs, RUNS_MAX);
        dx_buf_init(&s->payload, DX_PAYLOAD_MAX);
        dx_buf_init(&s->pages, PAGES_MAX);
        s->idx = s->dat = (struct dx_index_out)DX_INDEX_OUT_INIT;
    }
    while (threads > 1 && w->thread_count < threads &&
           pthread_create(&w->threads[w->thread_count], NULL, worker, w) == 0)
        w->thread_count++;
}

static void stop(struct work *w)
{
    (void)pthread_mutex_lock(&w->lock);
    w->end = true;
    (void)pthread_cond_broadcast(&w->change);
    (void)pthread_mutex_unlock(&w->lock);
    for (size_t i = 0; i < w->thread_count; i++)
        (void)pthread_join(w->threads[i], NULL);
    for (size_t i = 0; i < w->ring_size; i++) {
        dx_buf_release(&w->ring[i].records);
        dx_buf_release(&w->ring[i].runs);
        dx_buf_release(&w->ring[i].payload);
        dx_buf_release(&w->ring[i].pages);
    }
}

int dx_index_postings_write(struct dx_index_postings *job, struct dx_error *err)
{
    struct work *w = calloc(1, sizeof *w);
    char dir[PATH_MAX];
    int rc;

    if (w == NULL)
        return dx_fail(err, DX_E_NOMEM, "postings: out of memory");
    w->job = job;
    w->base = job->lake == NULL ? NULL : job->lake->base;
    job->written = job->shared = 0;
    (void)pthread_mutex_init(&w->lock, NULL);
    (void)pthread_cond_init(&w->change, NULL);
    (void)snprintf(dir, sizeof dir, "%s/postings", job->dir);
    w->records = calloc(DX_POSTINGS_SHARDS, sizeof *w->records);
    rc = w->records == NULL ? dx_fail(err, DX_E_NOMEM, "postings: out of memory")
                            : dx_spill_file_new(&w->pages, job->tmp_dir, err);
    if (rc == DX_OK)
        rc = dx_dir_make(dir, err);
    if (rc == DX_OK) {
        start(w);
        rc = write_shards(w, err);
        stop(w);
    }
    if (rc == DX_OK && job->sync == DX_SYNC_NOW)
        rc = dx_dir_sync(dir, err);
    if (rc == DX_OK)
        rc = write_directory(w, err);
    dx_spill_file_free(&w->pages);
    free(w->records);
    (void)pthread_cond_destroy(&w->change);
    (void)pthread_mutex_destroy(&w->lock);
    free(w);
    return rc;
}
