/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/ingest/ingest_read.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "builder/input/archive/warc_rows.h"
#include "builder/input/bytes/input.h"
#include "builder/input/parquet/parquet_rows.h"
#include "builder/input/records/input_format.h"
#include "builder/input/records/locator_name.h"
#include "builder/root/progress.h"
#include "builder/root/root.h"
#include "builder/sort/spill_sort.h"

#define REJECTS_MAX ((size_t)1 << 30)
#define SAMPLE_MAX 100 /* records that tell the columns */
#define TEXT_MAX 4096
#define REJECTS_HELD (4u << 20) /* of a part, until those before are written */
#define SHARED_PART \
    8 /* of the memory, for the pages of shared files: what one file may take else */

enum slot_state { SLOT_FREE, SLOT_DONE };

/* A file that workers read by parts. */
struct shared_file {
    struct dx_parquet_split split;
    const char *path;
    struct shared_file *next;
};

/* One batch on its way, or one part of a file. Slots [tail, next_take) are with workers or done, [next_take,
 * next_fill) wait for one; the reader owns slot next_fill. */
struct slot {
    enum slot_state state;
    struct dx_batch batch;
    size_t first; /* record: 1 behind a header */
    const struct dx_ingest_origin *from;
    const struct shared_file *file; /* NULL: batch is filled */
    size_t part;
    uint64_t number; /* of the slot, in the order of the input */
    struct dx_buf rejects;
    struct dx_ingest_samples samples;
};

struct resolved {
    struct dx_columns cols;
    struct dx_ingest_origin from;
    char name[DX_LOCATOR_NAME_MAX + 1];
    struct dx_buf text; /* describes them */
    _Atomic uint64_t records;
    _Atomic uint64_t untimed;
    _Atomic uint64_t seen;
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
    uint64_t rejected;
    struct shared_file *files; /* the reader's */
    uint64_t reserved;         /* bytes of pages that handles on shared files may take */
};

struct thread {
    pthread_t id;
    bool started;
    struct ring *ring;
    struct dx_ingest_worker worker;
    const struct shared_file *file; /* that rows is a handle on */
    struct dx_parquet_rows *rows;
};

static void fail(struct ring *r, const struct dx_error *err)
{
    (void)pthread_mutex_lock(&r->lock);
    if (r->err.code == DX_OK)
        r->err = *err;
    (void)pthread_cond_broadcast(&r->changed);
    (void)pthread_mutex_unlock(&r->lock);
}

/* With the lock held. */
static void close_file(struct thread *t)
{
    if (t->file == NULL)
        return;
    dx_parquet_rows_close(&t->rows);
    t->ring->reserved -= t->file->split.bytes;
    t->file = NULL;
    (void)pthread_cond_broadcast(&t->ring->changed);
}

/* The next batch, or NULL at the end of the input or after a thread failed. Before a thread waits, it
 * closes its file, because other threads may need the file's share of the memory. */
static struct slot *take(struct thread *t)
{
    struct ring *r = t->ring;
    struct slot *s = NULL;

    (void)pthread_mutex_lock(&r->lock);
    while (r->err.code == DX_OK && r->next_take == r->next_fill && !r->ended) {
        close_file(t);
        (void)pthread_cond_wait(&r->changed, &r->lock);
    }
    if (r->err.code == DX_OK && r->next_take < r->next_fill)
        s = &r->slot[r->next_take++ % r->slot_count];
    if (s == NULL || s->file != t->file)
        close_file(t);
    (void)pthread_mutex_unlock(&r->lock);
    return s;
}

/* Of the rows that a worker was through with. */
static void count_rows(struct ring *r, uint64_t records, uint64_t accepted)
{
    (void)pthread_mutex_lock(&r->lock);
    r->accepted += accepted;
    r->rejected += records - accepted;
    (void)pthread_mutex_unlock(&r->lock);
}

/* Marks s done, and retires what is done at the tail: rejects leave in input order. */
static int retire_slot(struct ring *r, struct slot *s, struct dx_error *err)
{
    int rc = DX_OK;

    (void)pthread_mutex_lock(&r->lock);
    assert(s->state == SLOT_FREE && s->number >= r->tail);
    s->state = SLOT_DONE;
    while (rc == DX_OK && r->tail < r->next_take &&
           r->slot[r->tail % r->slot_count].state == SLOT_DONE) {
        struct slot *t = &r->slot[r->tail % r->slot_count];

        if (r->read->rejects != NULL)
            rc = dx_rejects_write(r->read->rejects, dx_span_of(t->rejects.data, t->rejects.size),
                                  err);
        dx_buf_release(&t->rejects);
        dx_ingest_samples_add(&r->read->stats->samples, &t->samples);
        if (t->batch.capacity > 2 * DX_BATCH_SIZE)
            dx_batch_release(&t->batch);
        t->state = SLOT_FREE;
        r->tail++;
    }
    (void)pthread_cond_broadcast(&r->changed);
    (void)pthread_mutex_unlock(&r->lock);
    return rc;
}

static int fail_interrupted(struct dx_error *err)
{
    return dx_fail(err, DX_E_IO, "interrupted; nothing was added to the lake");
}

/* Until all slots before this one are retired; false: a thread failed. One slot has its turn at a time, so
 * what only it may do needs no other lock. */
static bool wait_for_turn(struct ring *r, const struct slot *s)
{
    bool ok;

    (void)pthread_mutex_lock(&r->lock);
    while (r->err.code == DX_OK && r->tail != s->number)
        (void)pthread_cond_wait(&r->changed, &r->lock);
    ok = r->err.code == DX_OK;
    (void)pthread_mutex_unlock(&r->lock);
    return ok;
}

/* Rejects of a part that fill a buffer. */
static int flush_rejects(struct ring *r, struct slot *s, struct dx_error *err)
{
    int rc = DX_OK;

    if (wait_for_turn(r, s) && r->read->rejects != NULL)
        rc = dx_rejects_write(r->read->rejects, dx_span_of(s->rejects.data, s->rejects.size), err);
    dx_buf_clear(&s->rejects);
    return rc;
}

static int parse_batch(struct thread *t, struct slot *s, size_t first, struct dx_error *err)
{
    uint64_t records = t->worker.records, accepted = t->worker.accepted;
    int rc = dx_ingest_worker_batch(&t->worker, &s->batch, first, s->from, &s->rejects, &s->samples,
                                    err);

    count_rows(t->ring, t->worker.records - records, t->worker.accepted - accepted);
    return rc == DX_OK && s->rejects.size > REJECTS_HELD ? flush_rejects(t->ring, s, err) : rc;
}

/* A handle on the file of the part. The slot whose turn it is never waits for memory: others may wait
 * for it. 0: another thread failed. */
static int open_file(struct thread *t, const struct slot *s, struct dx_error *err)
{
    struct dx_ingest_options *o = t->ring->read->options;
    const struct shared_file *file = s->file;
    struct ring *r = t->ring;
    int rc;

    assert(t->file == NULL); /* a thread has one handle, for which others may wait */
    (void)pthread_mutex_lock(&r->lock);
    while (r->err.code == DX_OK && r->tail != s->number &&
           r->reserved + file->split.bytes > o->memory_bytes / SHARED_PART)
        (void)pthread_cond_wait(&r->changed, &r->lock);
    rc = r->err.code == DX_OK;
    if (rc > 0) {
        r->reserved += file->split.bytes;
        t->file = file;
    }
    (void)pthread_mutex_unlock(&r->lock);
    if (rc > 0 && dx_parquet_rows_open(&t->rows, file->path, &o->want, o->memory_bytes, err) < 0)
        rc = (int)err->code;
    return rc;
}

static bool has_failed(struct ring *r)
{
    bool failed;

    (void)pthread_mutex_lock(&r->lock);
    failed = r->err.code != DX_OK;
    (void)pthread_mutex_unlock(&r->lock);
    return failed;
}

/* A batch of the part, as dx_parquet_rows_fill; one at a time of all threads is larger than normal. */
static int fill_part(struct thread *t, struct slot *s, struct dx_error *err)
{
    int rc = dx_parquet_rows_fill(t->rows, &s->batch, err);

    while (rc == DX_RECORDS_GROW)
        rc = wait_for_turn(t->ring, s) ? dx_parquet_rows_fill(t->rows, &s->batch, err) : 0;
    return rc;
}

/* The rows of a part but the first `skip` of them; *given: those that were parsed, and those. After a failure of
 * another thread it ends early. */
static int parse_part(struct thread *t, struct slot *s, uint64_t skip, uint64_t *given,
                      struct dx_error *err)
{
    const struct dx_ingest_options *o = t->ring->read->options;
    uint64_t at = 0;
    int rc = 1;

    while (rc > 0 && !has_failed(t->ring)) {
        if (o->stopped != NULL && o->stopped())
            return fail_interrupted(err);
        rc = fill_part(t, s, err);
        if (rc > 0) {
            size_t first = skip <= at                   ? 0
                           : skip - at < s->batch.count ? (size_t)(skip - at)
                                                        : s->batch.count;

            at += s->batch.count;
            if (first < s->batch.count && parse_batch(t, s, first, err) < 0)
                rc = (int)err->code;
            *given = at > *given ? at : *given;
        }
    }
    return rc < 0 ? rc : DX_OK;
}

/* Where pages are larger than the footer says: as of a file that is not shared, one thread at a time. */
static int parse_large_part(struct thread *t, struct slot *s, uint64_t given, struct dx_error *err)
{
    int rc;

    if (!wait_for_turn(t->ring, s))
        return DX_OK;
    rc = dx_parquet_rows_only(t->rows, &s->file->split, s->part, true, err);
    return rc < 0 ? rc : parse_part(t, s, given, &given, err);
}

static int work_part(struct thread *t, struct slot *s, struct dx_error *err)
{
    uint64_t given = 0;
    int rc = t->file == NULL ? open_file(t, s, err) : 1;

    if (rc > 0) {
        rc = dx_parquet_rows_only(t->rows, &s->file->split, s->part, false, err);
        if (rc == DX_OK)
            rc = parse_part(t, s, 0, &given, err);
        if (rc == DX_E_LIMIT)
            rc = parse_large_part(t, s, given, err);
    }
    return rc;
}

static void *run_worker(void *arg)
{
    struct thread *t = arg;
    struct dx_error err = DX_ERROR_INIT;
    struct slot *s;
    int rc = DX_OK;

    while (rc == DX_OK && (s = take(t)) != NULL) {
        rc = s->file != NULL ? work_part(t, s, &err) : parse_batch(t, s, s->first, &err);
        if (rc == DX_OK)
            rc = retire_slot(t->ring, s, &err);
    }
    (void)pthread_mutex_lock(&t->ring->lock);
    close_file(t);
    (void)pthread_mutex_unlock(&t->ring->lock);
    if (rc == DX_OK && t->ring->read->shared->sort != NULL)
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
    assert(r->next_fill - r->tail < r->slot_count); /* wait_for_room */
    r->slot[r->next_fill % r->slot_count].number = r->next_fill;
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
    r->read->options->progress->rejected = r->rejected;
    (void)pthread_mutex_unlock(&r->lock);
    dx_progress_at(r->read->options->progress, bytes, accepted);
}

/* What an input is read by: text is cut into records; Parquet files and WARCs give rows. */
struct feed {
    struct dx_parquet_rows *rows; /* or */
    struct dx_input *in;          /* with */
    struct dx_warc_rows *warc;    /* or */
    struct dx_records *records;
    enum dx_record_format format;
    bool is_array;    /* of JSON: its elements have no lines of their own */
    const char *said; /* its name in messages */
};

static int feed_fill(const struct feed *f, struct dx_batch *batch, struct dx_error *err)
{
    return f->rows != NULL   ? dx_parquet_rows_fill(f->rows, batch, err)
           : f->warc != NULL ? dx_warc_rows_fill(f->warc, batch, err)
                             : dx_records_fill(f->records, batch, err);
}

static uint64_t feed_consumed(const struct feed *f)
{
    return f->rows != NULL ? dx_parquet_rows_consumed(f->rows) : dx_input_consumed(f->in);
}

static uint64_t feed_size(const struct feed *f)
{
    return f->rows != NULL ? dx_parquet_rows_size(f->rows)
           : f->in != NULL ? dx_input_file_size(f->in)
                           : 0;
}

/* Says which columns are read, if they are others than before. */
static void announce(const struct ring *r, const char *name, struct resolved *fresh)
{
    const struct dx_ingest_options *o = r->read->options;
    const struct resolved *before = fresh->next;

    dx_buf_init(&fresh->text, TEXT_MAX);
    dx_columns_describe(&fresh->cols, &o->want, &fresh->text);
    dx_buf_u8(&fresh->text, 0);
    if (o->columns != NULL && !fresh->text.failed &&
        (before == NULL || fresh->text.size != before->text.size ||
         memcmp(fresh->text.data, before->text.data, before->text.size) != 0))
        o->columns(name, (const char *)fresh->text.data);
}

static enum dx_locator_kind located(const struct feed *f)
{
    if (f->rows != NULL)
        return DX_LOCATOR_ROW;
    if (f->warc != NULL)
        return DX_LOCATOR_WARC;
    if (f->is_array)
        return DX_LOCATOR_NONE;
    return dx_input_is_plain(f->in) ? DX_LOCATOR_TEXT : DX_LOCATOR_LINE;
}

/* What its records say of where they came from. */
static int name_origin(const struct ring *r, const struct feed *f, const char *input,
                       struct resolved *fresh, struct dx_error *err)
{
    bool in_place = r->read->options->in_place;

    assert(!in_place || f->rows != NULL); /* open_feed refused all else */
    fresh->from = (struct dx_ingest_origin){ .input = input,
                                             .cols = &fresh->cols,
                                             .located = located(f),
                                             .records = &fresh->records,
                                             .seen = &fresh->seen,
                                             .untimed = &fresh->untimed };
    fresh->from.name = dx_span_of(fresh->name, dx_locator_name(input, fresh->name));
    if (in_place && fresh->from.name.size == 0)
        return dx_fail(err, DX_E_INVALID,
                       "%s: a locator cannot hold this path or address (docs/FORMAT.md, 12.2), so "
                       "no row could lead back to it: leave out --in-place",
                       f->said);
    if (in_place)
        dx_parquet_rows_known(f->rows, &fresh->from.was_size, &fresh->from.was_hash);
    return DX_OK;
}

/* Columns of an input, of text from its first records. */
static int find_columns(struct ring *r, const struct feed *f, const struct slot *s,
                        const char *input, struct resolved **list, struct dx_error *err)
{
    struct resolved *fresh = calloc(1, sizeof *fresh);
    struct dx_span record[SAMPLE_MAX];
    struct dx_columns_sample sample = { .record = record };
    int rc = DX_OK;

    if (fresh == NULL)
        return dx_no_memory(err, "%s", f->said);
    fresh->next = *list;
    *list = fresh;
    while (f->records != NULL && sample.count < SAMPLE_MAX && sample.count < s->batch.count) {
        record[sample.count] = dx_batch_record(&s->batch, sample.count);
        sample.count++;
    }
    if (f->records != NULL)
        sample.header = dx_records_header(f->records);
    if (f->rows != NULL)
        fresh->cols = *dx_parquet_rows_columns(f->rows);
    else if (f->warc != NULL)
        fresh->cols = *dx_warc_rows_columns(f->warc);
    else
        rc = dx_columns_resolve(&fresh->cols, &r->read->options->want, f->format, &sample, f->said,
                                err);
    if (rc == DX_OK)
        announce(r, f->said, fresh);
    return rc < 0 ? rc : name_origin(r, f, input, fresh, err);
}

static bool wants_columns(const struct dx_columns_want *want)
{
    return want->url != NULL || want->ts != NULL || want->dataset != NULL || want->extra_count > 0;
}

static int set_format(struct ring *r, struct feed *f, struct dx_error *err)
{
    struct dx_input_head head = { .name = f->said }; /* as messages say it */
    int rc = dx_records_head(f->records, &head.bytes, &head.whole, err);

    if (rc == DX_OK)
        rc = dx_input_format_find(&head, r->read->options->format,
                                  wants_columns(&r->read->options->want), &f->format, err);
    f->is_array = rc == DX_OK && dx_record_is_wrapped(f->format, head.bytes);
    if (f->is_array)
        rc = dx_records_unwrap(f->records, err);
    dx_records_set_format(f->records, f->format);
    return rc;
}

static struct slot *next_slot(struct ring *r)
{
    struct slot *s = &r->slot[r->next_fill % r->slot_count];

    s->first = 0;
    s->file = NULL;
    return s;
}

static void ready(struct ring *r, struct slot *s, const struct resolved *mine)
{
    s->from = &mine->from;
    dx_buf_init(&s->rejects, REJECTS_MAX);
    dx_ingest_samples_clear(&s->samples);
    submit(r);
}

/* The row groups of a Parquet file are read by all workers: 1 done so, 0 not worth it. */
static int share_parts(struct ring *r, const struct feed *f, uint64_t bytes_before,
                       const char *name, struct resolved **list, struct dx_error *err)
{
    const struct dx_ingest_options *o = r->read->options;
    struct shared_file *file = NULL;
    int rc = 0;

    if (f->rows == NULL || o->threads < 2 || (file = calloc(1, sizeof *file)) == NULL)
        return f->rows == NULL || o->threads < 2 ? 0 : dx_no_memory(err, "%s", name);
    rc = dx_parquet_rows_split(f->rows, o->memory_bytes / SHARED_PART, &file->split, err);
    if (rc <= 0) {
        free(file);
        return rc;
    }
    file->path = name;
    file->next = r->files;
    r->files = file;
    rc = find_columns(r, f, NULL, name, list, err);
    for (size_t i = 0; rc == DX_OK && i < file->split.count; i++) {
        struct slot *s;

        if (o->stopped != NULL && o->stopped())
            return fail_interrupted(err);
        if (wait_for_room(r, r->slot_count - 1) < 0)
            return 1; /* a worker failed and has said why */
        s = next_slot(r);
        s->file = file;
        s->part = i;
        ready(r, s, *list);
        show(r, bytes_before + feed_size(f) * (i + 1) / file->split.count);
    }
    return rc < 0 ? rc : 1;
}

static void note_empty(struct ring *r, const char *name)
{
    struct dx_ingest_stats *stats = r->read->stats;

    if (stats->empty++ == 0)
        stats->empty_input = name;
}

static int read_records(struct ring *r, const struct feed *f, uint64_t bytes_before,
                        const char *name, struct resolved **list, struct dx_error *err)
{
    struct resolved *mine = NULL;
    bool has_record = false; /* beside a header */
    int rc;

    if (f->rows != NULL && dx_parquet_rows_columns(f->rows)->no_url)
        return find_columns(r, f, NULL, name, list, err);
    rc = share_parts(r, f, bytes_before, name, list, err);
    if (rc != 0)
        return rc < 0 ? rc : DX_OK;
    while (rc >= 0) {
        struct slot *s;

        if (r->read->options->stopped != NULL && r->read->options->stopped())
            return fail_interrupted(err);
        if (wait_for_room(r, r->slot_count - 1) < 0)
            return DX_OK; /* a worker failed and has said why */
        s = next_slot(r);
        rc = feed_fill(f, &s->batch, err);
        /* A long record: only one batch at a time may be larger than normal. */
        while (rc == DX_RECORDS_GROW) {
            if (wait_for_room(r, 0) < 0)
                return DX_OK;
            rc = feed_fill(f, &s->batch, err);
        }
        if (rc == 0 && !has_record)
            note_empty(r, name);
        if (rc <= 0)
            break;
        if (mine == NULL) {
            rc = find_columns(r, f, s, name, list, err);
            mine = *list;
            s->first = rc == DX_OK && mine->cols.header ? 1 : 0;
        }
        if (rc < 0 || mine->cols.no_url)
            break;
        has_record = has_record || s->batch.count > s->first;
        ready(r, s, mine);
        show(r, bytes_before + feed_consumed(f));
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

/* Is the size of every input from the first on a number, once it is open? */
static bool have_sizes(const struct dx_ingest_options *o, size_t first)
{
    for (size_t i = first; i < o->input_count; i++)
        if (strcmp(o->input[i], "-") == 0)
            return false;
    return true;
}

/* How long an object is, is known once it is open: until the last of them is, those behind are taken
 * to be like those before. */
static void learn_total(const struct ring *r, const struct feed *f, size_t i, uint64_t before)
{
    struct dx_progress *progress = r->read->options->progress;
    uint64_t total = before + feed_size(f);
    uint64_t known = total;

    if (progress == NULL || feed_size(f) == 0 ||
        (progress->total_bytes > 0 && !progress->is_estimate))
        return;
    if (total_size(r->read->options, i + 1, &total))
        dx_progress_total(progress, total, false);
    else if (have_sizes(r->read->options, i + 1))
        dx_progress_total(
            progress,
            (uint64_t)((double)known / (double)(i + 1) * (double)r->read->options->input_count),
            true);
}

/* must_be: its size; 0: any. */
static int open_feed(struct ring *r, const char *path, uint64_t must_be, struct feed *f,
                     struct dx_error *err)
{
    struct dx_ingest_options *o = r->read->options;
    bool parquet = o->format == DX_RECORD_PARQUET;
    char shown[DX_ROOT_SHOWN];
    int rc = DX_OK;

    *f = (struct feed){ .format = DX_RECORD_PARQUET, .said = path };
    if (o->format == DX_RECORD_AUTO) {
        rc = dx_parquet_rows_is(path, err);
        parquet = rc > 0;
    }
    if (rc < 0)
        return rc;
    if (parquet)
        return dx_parquet_rows_open(&f->rows, path, &o->want, o->memory_bytes, err);
    if (o->in_place)
        return dx_fail(err, DX_E_INVALID,
                       "%s: --in-place indexes Parquet files alone; leave it out",
                       dx_root_shown(path, shown));
    rc = dx_input_open(&f->in, path, r->read->window_max, err);
    if (rc == DX_OK)
        f->said = dx_input_name(f->in);
    if (rc == DX_OK && must_be != 0 && dx_input_file_size(f->in) != must_be)
        rc = dx_fail(err, DX_E_TRUNCATED,
                     "%s: has %llu bytes, and its cluster index has blocks of %llu; fetch both "
                     "again, or name the file itself to read it without the index",
                     f->said, (unsigned long long)dx_input_file_size(f->in),
                     (unsigned long long)must_be);
    if (rc == DX_OK)
        rc = dx_warc_rows_is(f->in, o->format, err);
    if (rc > 0)
        return dx_warc_rows_open(&f->warc, f->in, (enum dx_record_format)rc, &o->want, err);
    if (rc == DX_OK && o->format == DX_RECORD_WARC)
        return dx_fail(err, DX_E_INVALID, "%s: no WARC record begins it; leave out --format",
                       f->said);
    if (rc == DX_OK)
        rc = dx_records_new(&f->records, f->in, DX_LINE_MAX, err);
    if (rc < 0)
        return rc;
    f->format = DX_RECORD_LIST;
    return set_format(r, f, err);
}

static void close_feed(struct feed *f)
{
    dx_parquet_rows_close(&f->rows);
    dx_warc_rows_close(&f->warc);
    dx_records_free(&f->records);
    dx_input_close(&f->in);
}

static int read_inputs(struct ring *r, struct resolved **list, struct dx_error *err)
{
    struct dx_ingest_options *o = r->read->options;
    uint64_t bytes = 0;
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < o->input_count; i++) {
        struct feed f;

        rc = open_feed(r, o->input[i], o->input_size == NULL ? 0 : o->input_size[i], &f, err);
        if (rc == DX_OK) {
            learn_total(r, &f, i, bytes);
            rc = read_records(r, &f, bytes, o->input[i], list, err);
        }
        bytes += feed_size(&f);
        close_feed(&f);
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
            int e = pthread_create(&threads[i].id, NULL, run_worker, &threads[i]);

            threads[i].started = e == 0;
            if (e != 0)
                rc = dx_fail_errno(err, e, "cannot start thread %u", i);
        }
    }
    return rc;
}

static void join_workers(struct ring *r, struct thread *threads, unsigned count)
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
        stats->with_blanks += threads[i].worker.with_blanks;
        stats->ts_dropped += threads[i].worker.ts_dropped;
        stats->unlocated += threads[i].worker.unlocated;
        stats->canonical_refused += threads[i].worker.canonical_refused;
        for (int why = 0; why < DX_ROW_REJECT_COUNT; why++) {
            stats->rejected[why] += threads[i].worker.rejected[why];
            stats->rejected_total += threads[i].worker.rejected[why];
        }
        dx_ingest_worker_release(&threads[i].worker);
    }
}

/* An input before those that were counted. */
static void add_without_urls(struct dx_ingest_stats *stats, const char *input)
{
    size_t last = DX_INGEST_INPUTS_NAMED - 1;

    memmove(stats->without_urls_input + 1, stats->without_urls_input,
            last * sizeof *stats->without_urls_input);
    stats->without_urls_input[0] = input;
    stats->without_urls++;
}

/* What an input has of a column, by the column's bit. */
static void count_column(struct dx_ingest_lacking *e, const struct resolved *in, uint64_t column)
{
    bool by_record = (in->cols.by_record & column) != 0;
    bool absent = (in->cols.lacking & column) != 0;
    bool has_value = (in->seen & column) != 0;
    bool may_be_null = column != DX_COLUMNS_TS || (in->seen & DX_SEEN_TS_NULL) != 0;

    e->has_value |= has_value;
    e->is_there |= !absent && (!by_record || has_value || may_be_null);
    if (!absent && (!by_record || has_value || (in->seen & DX_SEEN_ROW) == 0))
        return;
    e->inputs++;
    e->records += in->records;
    e->first = in->from.input;
}

/* Which inputs were without which columns, the last one first; all threads have ended. */
static void count_lacking(const struct resolved *list, const struct dx_columns_want *want,
                          struct dx_ingest_stats *stats)
{
    for (; list != NULL; list = list->next) {
        if (list->cols.no_url) {
            add_without_urls(stats, list->from.input);
            continue;
        }
        stats->inputs++;
        stats->untimed += list->untimed;
        if (list->untimed > 0)
            stats->untimed_input = list->from.input;
        if (list->cols.lacks[0] != '\0')
            memcpy(stats->lacks, list->cols.lacks, sizeof stats->lacks);
        if (want->ts != NULL)
            count_column(&stats->time, list, DX_COLUMNS_TS);
        for (size_t i = 0; i < list->cols.extra_count; i++)
            count_column(&stats->extra[i], list, UINT64_C(1) << i);
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

    assert(count > 0); /* else no batch would ever be taken */
    if (read->options->input_count < 2 && !read->options->in_steps)
        read->options->want.url_may_lack = false; /* its columns are named, then */
    r.slot = calloc(r.slot_count, sizeof *r.slot);
    if (r.slot == NULL || threads == NULL) {
        free(r.slot);
        free(threads);
        return dx_no_memory(err, "ingest");
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
    join_workers(&r, threads, count);
    count_lacking(list, &read->options->want, read->stats);
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

        dx_buf_release(&list->text);
        free(list);
        list = next;
    }
    while (r.files != NULL) {
        struct shared_file *next = r.files->next;

        dx_parquet_split_release(&r.files->split);
        free(r.files);
        r.files = next;
    }
    (void)pthread_cond_destroy(&r.changed);
    (void)pthread_mutex_destroy(&r.lock);
    free(r.slot);
    free(threads);
    if (read->options->progress != NULL)
        dx_progress_end(read->options->progress);
    return rc;
}
