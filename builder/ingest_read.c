/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/ingest_read.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "builder/input.h"
#include "builder/progress.h"
#include "builder/spill_sort.h"

#define REJECTS_MAX ((size_t)1 << 30)

enum slot_state { SLOT_FREE, SLOT_DONE };

/* One batch on its way. Slots [tail, next_take) are with workers or done, [next_take,
 * next_fill) wait for one; the reader owns slot next_fill. */
struct slot {
    enum slot_state state;
    struct dx_batch batch;
    size_t first; /* record: 1 behind a header */
    const struct dx_columns *cols;
    const char *input;
    struct dx_buf rejects;
};

struct resolved {
    struct dx_columns cols;
    struct resolved *next;
};

struct ring {
    struct dx_ingest_read *read;
    pthread_mutex_t lock; /* everything below */
    pthread_cond_t changed;
    struct slot *slot;
    size_t slot_count;
    uint64_t tail;
    uint64_t next_take;
    uint64_t next_fill;
    bool ended;          /* no more batches will come */
    struct dx_error err; /* the first that any thread had */
    uint64_t accepted;   /* for progress */
};

struct thread {
    pthread_t id;
    bool started;
    struct ring *ring;
    struct dx_ingest_worker worker;
};

static void fail(struct ring *r, const struct dx_error *err)
{
    (void)pthread_mutex_lock(&r->lock);
    if (r->err.code == DX_OK)
        r->err = *err;
    (void)pthread_cond_broadcast(&r->changed);
    (void)pthread_mutex_unlock(&r->lock);
}

/* The next batch, or NULL when there are no more or somebody failed. */
static struct slot *take(struct ring *r)
{
    struct slot *s = NULL;

    (void)pthread_mutex_lock(&r->lock);
    while (r->err.code == DX_OK && r->next_take == r->next_fill && !r->ended)
        (void)pthread_cond_wait(&r->changed, &r->lock);
    if (r->err.code == DX_OK && r->next_take < r->next_fill)
        s = &r->slot[r->next_take++ % r->slot_count];
    (void)pthread_mutex_unlock(&r->lock);
    return s;
}

/* Marks s done, and retires what is done at the tail: rejects leave in input order. */
static int retire(struct ring *r, struct slot *s, uint64_t accepted, struct dx_error *err)
{
    int rc = DX_OK;

    (void)pthread_mutex_lock(&r->lock);
    s->state = SLOT_DONE;
    r->accepted += accepted;
    while (rc == DX_OK && r->tail < r->next_take &&
           r->slot[r->tail % r->slot_count].state == SLOT_DONE) {
        struct slot *t = &r->slot[r->tail % r->slot_count];

        rc = dx_rejects_write(r->read->rejects, dx_span_of(t->rejects.data, t->rejects.size), err);
        dx_buf_release(&t->rejects);
        if (t->batch.capacity > 2 * DX_BATCH_SIZE)
            dx_batch_release(&t->batch);
        t->state = SLOT_FREE;
        r->tail++;
    }
    (void)pthread_cond_broadcast(&r->changed);
    (void)pthread_mutex_unlock(&r->lock);
    return rc;
}

static void *work(void *arg)
{
    struct thread *t = arg;
    struct dx_error err = DX_ERROR_INIT;
    struct slot *s;
    int rc = DX_OK;

    while (rc == DX_OK && (s = take(t->ring)) != NULL) {
        uint64_t before = t->worker.accepted;

        rc = dx_ingest_worker_batch(&t->worker, &s->batch, s->first, s->cols, s->input, &s->rejects,
                                    &err);
        if (rc == DX_OK)
            rc = retire(t->ring, s, t->worker.accepted - before, &err);
    }
    if (rc == DX_OK)
        rc = dx_spill_sort_end(t->ring->read->shared->sort, t->worker.lane, &err);
    if (rc < 0)
        fail(t->ring, &err);
    return NULL;
}

/* Waits until at most `busy` batches are in flight. */
static int wait_for_room(struct ring *r, uint64_t busy)
{
    int rc;

    (void)pthread_mutex_lock(&r->lock);
    while (r->err.code == DX_OK && r->next_fill - r->tail > busy)
        (void)pthread_cond_wait(&r->changed, &r->lock);
    rc = (int)r->err.code;
    (void)pthread_mutex_unlock(&r->lock);
    return rc;
}

static void submit(struct ring *r)
{
    (void)pthread_mutex_lock(&r->lock);
    r->next_fill++;
    (void)pthread_cond_broadcast(&r->changed);
    (void)pthread_mutex_unlock(&r->lock);
}

static void show(struct ring *r, uint64_t bytes)
{
    uint64_t accepted;

    if (r->read->options->progress == NULL)
        return;
    (void)pthread_mutex_lock(&r->lock);
    accepted = r->accepted;
    (void)pthread_mutex_unlock(&r->lock);
    dx_progress_at(r->read->options->progress, bytes, accepted);
}

/* Columns of an input, from its first record. */
static int resolve(struct ring *r, const char *name, const struct slot *s,
                   enum dx_record_format format, struct resolved **list, struct dx_error *err)
{
    struct resolved *fresh = calloc(1, sizeof *fresh);

    if (fresh == NULL)
        return dx_fail(err, DX_E_NOMEM, "%s: out of memory", name);
    fresh->next = *list;
    *list = fresh;
    return dx_columns_resolve(&fresh->cols, &r->read->options->want, format,
                              dx_batch_record(&s->batch, 0), name, err);
}

static bool wants_columns(const struct dx_columns_want *want)
{
    return want->url != NULL || want->ts != NULL || want->dataset != NULL || want->extra_count > 0;
}

static int set_format(struct ring *r, struct dx_records *records, const char *name,
                      enum dx_record_format *format, struct dx_error *err)
{
    struct dx_span head;
    int rc = dx_records_head(records, &head, err);

    if (rc < 0)
        return rc;
    *format = r->read->options->format;
    if (*format == DX_RECORD_AUTO)
        *format = dx_record_format_guess(name, head, wants_columns(&r->read->options->want));
    if (*format == DX_RECORD_JSONL && dx_record_is_array(head))
        rc = dx_records_unwrap(records, err);
    dx_records_set_format(records, *format);
    return rc;
}

static int read_records(struct ring *r, struct dx_input *in, struct dx_records *records,
                        uint64_t bytes_before, const char *name, struct resolved **list,
                        struct dx_error *err)
{
    enum dx_record_format format = DX_RECORD_LIST;
    struct resolved *mine = NULL;
    int rc = set_format(r, records, name, &format, err);

    while (rc >= 0) {
        struct slot *s;

        if (r->read->options->stopped != NULL && r->read->options->stopped())
            return dx_fail(err, DX_E_IO, "interrupted; nothing was added to the lake");
        if (wait_for_room(r, r->slot_count - 1) < 0)
            return DX_OK; /* a worker failed and has said why */
        s = &r->slot[r->next_fill % r->slot_count];
        rc = dx_records_fill(records, &s->batch, err);
        /* A long record: only one batch at a time may be larger than normal. */
        while (rc == DX_RECORDS_GROW) {
            if (wait_for_room(r, 0) < 0)
                return DX_OK;
            rc = dx_records_fill(records, &s->batch, err);
        }
        if (rc <= 0)
            break;
        s->first = 0;
        if (mine == NULL) {
            rc = resolve(r, name, s, format, list, err);
            mine = *list;
            s->first = rc == DX_OK && mine->cols.header ? 1 : 0;
        }
        if (rc < 0)
            break;
        s->cols = &mine->cols;
        s->input = name;
        dx_buf_init(&s->rejects, REJECTS_MAX);
        submit(r);
        show(r, bytes_before + dx_input_consumed(in));
    }
    return rc;
}

/* Adds the bytes of the inputs from the first on; false if one is a pipe or an object. */
static bool total_size(const struct dx_ingest_options *o, size_t first, uint64_t *total)
{
    for (size_t i = first; i < o->input_count; i++) {
        struct stat st;

        if (stat(o->input[i], &st) < 0 || !S_ISREG(st.st_mode))
            return false;
        *total += (uint64_t)st.st_size;
    }
    return true;
}

/* How long an object is, is known once it is open: that of the last of them makes the total known.
 */
static void learn_total(const struct ring *r, const struct dx_input *in, size_t i, uint64_t before)
{
    struct dx_progress *progress = r->read->options->progress;
    uint64_t total = before + dx_input_file_size(in);

    if (progress != NULL && progress->total_bytes == 0 && dx_input_file_size(in) > 0 &&
        total_size(r->read->options, i + 1, &total))
        dx_progress_total(progress, total);
}

static int read_inputs(struct ring *r, struct resolved **list, struct dx_error *err)
{
    struct dx_ingest_options *o = r->read->options;
    uint64_t bytes = 0;
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < o->input_count; i++) {
        struct dx_records *records = NULL;
        struct dx_input *in = NULL;

        rc = dx_input_open(&in, o->input[i], r->read->window_max, err);
        if (rc == DX_OK)
            learn_total(r, in, i, bytes);
        if (rc == DX_OK)
            rc = dx_records_new(&records, in, DX_LINE_MAX, err);
        if (rc == DX_OK)
            rc = read_records(r, in, records, bytes, o->input[i], list, err);
        if (in != NULL)
            bytes += dx_input_file_size(in);
        dx_records_free(&records);
        dx_input_close(&in);
    }
    return rc;
}

static int start(struct ring *r, struct thread *threads, unsigned count, struct dx_error *err)
{
    int rc = DX_OK;

    for (unsigned i = 0; rc == DX_OK && i < count; i++) {
        threads[i].ring = r;
        rc = dx_ingest_worker_init(&threads[i].worker, r->read->shared, i, err);
        if (rc == DX_OK) {
            int e = pthread_create(&threads[i].id, NULL, work, &threads[i]);

            threads[i].started = e == 0;
            if (e != 0)
                rc = dx_fail_errno(err, e, "cannot start thread %u", i);
        }
    }
    return rc;
}

static void join(struct ring *r, struct thread *threads, unsigned count)
{
    struct dx_ingest_stats *stats = r->read->stats;

    for (unsigned i = 0; i < count; i++) {
        if (threads[i].started)
            (void)pthread_join(threads[i].id, NULL);
        if (threads[i].worker.shared == NULL)
            continue;
        stats->records += threads[i].worker.records;
        stats->accepted += threads[i].worker.accepted;
        stats->repaired += threads[i].worker.repaired;
        stats->canonical_refused += threads[i].worker.canonical_refused;
        for (int why = 0; why < DX_ROW_REJECT_COUNT; why++) {
            stats->rejected[why] += threads[i].worker.rejected[why];
            stats->rejected_total += threads[i].worker.rejected[why];
        }
        dx_ingest_worker_release(&threads[i].worker);
    }
}

int dx_ingest_read(struct dx_ingest_read *read, struct dx_error *err)
{
    unsigned count = read->options->threads;
    struct ring r = { .read = read, .slot_count = (size_t)count * 2 + 2, .err = DX_ERROR_INIT };
    struct thread *threads = calloc(count, sizeof *threads);
    struct resolved *list = NULL;
    uint64_t total = 0;
    int rc;

    r.slot = calloc(r.slot_count, sizeof *r.slot);
    if (r.slot == NULL || threads == NULL) {
        free(r.slot);
        free(threads);
        return dx_fail(err, DX_E_NOMEM, "ingest: out of memory");
    }
    (void)pthread_mutex_init(&r.lock, NULL);
    (void)pthread_cond_init(&r.changed, NULL);
    if (read->options->progress != NULL)
        dx_progress_phase(read->options->progress, "reading", "rows",
                          total_size(read->options, 0, &total) ? total : 0);
    rc = start(&r, threads, count, err);
    if (rc == DX_OK)
        rc = read_inputs(&r, &list, err);
    if (rc < 0)
        fail(&r, err);
    (void)pthread_mutex_lock(&r.lock);
    r.ended = true;
    (void)pthread_cond_broadcast(&r.changed);
    (void)pthread_mutex_unlock(&r.lock);
    join(&r, threads, count);
    if (r.err.code != DX_OK) {
        if (err != NULL)
            *err = r.err;
        rc = (int)r.err.code;
    }
    for (size_t i = 0; i < r.slot_count; i++) {
        dx_batch_release(&r.slot[i].batch);
        dx_buf_release(&r.slot[i].rejects);
    }
    while (list != NULL) {
        struct resolved *next = list->next;

        free(list);
        list = next;
    }
    (void)pthread_cond_destroy(&r.changed);
    (void)pthread_mutex_destroy(&r.lock);
    free(r.slot);
    free(threads);
    if (read->options->progress != NULL)
        dx_progress_end(read->options->progress);
    return rc;
}
