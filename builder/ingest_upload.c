/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/ingest_upload.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "builder/ingest_claim.h"
#include "builder/progress.h"
#include "builder/remote_root.h"
#include "fetch/store.h"

#define SHOW_EVERY_MS 200

struct uploading {
    struct dx_ingest_upload *u;
    pthread_mutex_t lock; /* everything below, and u->done */
    pthread_cond_t changed;
    uint32_t *part;  /* a made file: the next free number of its folder, at the folder's first */
    size_t *first;   /* a made file: the first of its folder */
    size_t next;     /* file to begin */
    unsigned active; /* threads */
    uint64_t bytes;
    bool stopping;
    struct dx_error err; /* the first */
};

void dx_ingest_made_name(const char *dir, uint64_t number, char path[PATH_MAX])
{
    (void)snprintf(path, PATH_MAX, "%s/file-%08llu", dir, (unsigned long long)number);
}

/* ---- numbers ---- */

/* The first file of the dataset in a sorted list, or the end. */
static size_t lower_bound(const struct dx_lake_list *lake, uint32_t dataset_id)
{
    size_t low = 0;
    size_t high = lake->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (lake->file[middle].dataset_id < dataset_id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool same_folder(const struct dx_lake_path *a, const struct dx_lake_path *b)
{
    return a->dataset_id == b->dataset_id && a->first == b->first && a->last == b->last;
}

/* One more than the largest part number in the folder. */
static uint32_t next_part(const struct dx_lake_list *lake, const struct dx_lake_path *path)
{
    uint32_t next = 0;

    for (size_t i = lower_bound(lake, path->dataset_id);
         i < lake->count && lake->file[i].dataset_id == path->dataset_id; i++) {
        struct dx_lake_path there;

        if (dx_lake_path_parse(dx_span_str(lake->file[i].path), &there) &&
            same_folder(&there, path) && there.part >= next)
            next = there.part + 1;
    }
    return next;
}

static int take_part(struct uploading *up, size_t i, struct dx_error *err)
{
    uint32_t *next = &up->part[up->first[i]];

    if (*next > DX_LAKE_PART_MAX)
        return dx_fail(err, DX_E_LIMIT, "dataset %u: part numbers are used up",
                       up->u->made[i].path.dataset_id);
    up->u->made[i].path.part = (*next)++;
    return DX_OK;
}

/* In order, so that names do not depend on which thread is faster. */
static int number_all(struct uploading *up, struct dx_error *err)
{
    struct dx_ingest_upload *u = up->u;
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < u->made_count; i++) {
        if (i > 0 && same_folder(&u->made[i].path, &u->made[i - 1].path)) {
            up->first[i] = up->first[i - 1];
        } else {
            up->first[i] = i;
            up->part[i] = next_part(u->lake, &u->made[i].path);
        }
        rc = take_part(up, i, err);
    }
    return rc;
}

/* ---- putting ---- */

static int put_one(struct uploading *up, size_t i, struct dx_error *err)
{
    struct dx_ingest_made *made = &up->u->made[i];
    char object[DX_LAKE_PATH_MAX];
    char path[PATH_MAX];
    struct dx_put put = { .object = object, .path = path, .if_absent = true };
    char etag[DX_SOURCE_ETAG];
    int rc;

    dx_ingest_made_name(up->u->dir, made->number, path);
    for (;;) {
        rc = up->u->claim != NULL ? dx_ingest_claim_check(up->u->claim, err) : DX_OK;
        if (rc < 0)
            return rc;
        (void)dx_lake_path_format(&made->path, object);
        rc = dx_store_put(up->u->remote->store, &put, etag, err);
        if (rc != DX_E_EXISTS)
            break;
        (void)pthread_mutex_lock(&up->lock);
        rc = take_part(up, i, err);
        (void)pthread_mutex_unlock(&up->lock);
        if (rc < 0)
            return rc;
    }
    if (rc == DX_OK)
        (void)unlink(path); /* room on the disk; the folder goes at the end anyway */
    return rc;
}

static bool begin(struct uploading *up, size_t *i)
{
    bool more;

    (void)pthread_mutex_lock(&up->lock);
    more = !up->stopping && up->err.code == DX_OK && up->next < up->u->made_count;
    if (more)
        *i = up->next++;
    (void)pthread_mutex_unlock(&up->lock);
    return more;
}

static void end(struct uploading *up, size_t i, const struct dx_error *err)
{
    (void)pthread_mutex_lock(&up->lock);
    if (err == NULL) {
        up->bytes += up->u->made[i].size;
        up->u->done++;
    } else if (up->err.code == DX_OK) {
        up->err = *err;
    }
    (void)pthread_mutex_unlock(&up->lock);
}

static void *work(void *arg)
{
    struct uploading *up = arg;
    size_t i;

    while (begin(up, &i)) {
        struct dx_error err = DX_ERROR_INIT;

        end(up, i, put_one(up, i, &err) < 0 ? &err : NULL);
    }
    (void)pthread_mutex_lock(&up->lock);
    up->active--;
    (void)pthread_cond_broadcast(&up->changed);
    (void)pthread_mutex_unlock(&up->lock);
    return NULL;
}

/* ---- the whole ---- */

static void after_ms(struct timespec *t, long ms)
{
    (void)clock_gettime(CLOCK_MONOTONIC, t);
    t->tv_nsec += ms * 1000000;
    t->tv_sec += t->tv_nsec / 1000000000;
    t->tv_nsec %= 1000000000;
}

/* Shows how far it is until the last thread has ended. */
static void watch(struct uploading *up)
{
    struct dx_ingest_upload *u = up->u;

    (void)pthread_mutex_lock(&up->lock);
    while (up->active > 0) {
        uint64_t bytes = up->bytes;
        struct timespec until;

        (void)pthread_mutex_unlock(&up->lock);
        if (u->progress != NULL)
            dx_progress_at(u->progress, bytes, bytes >> 10);
        after_ms(&until, SHOW_EVERY_MS);
        (void)pthread_mutex_lock(&up->lock);
        up->stopping = up->stopping || (u->stopped != NULL && u->stopped());
        if (up->active > 0)
            (void)pthread_cond_timedwait(&up->changed, &up->lock, &until);
    }
    (void)pthread_mutex_unlock(&up->lock);
}

static void run_threads(struct uploading *up)
{
    pthread_t thread[DX_INGEST_UPLOADS];
    size_t want = up->u->made_count < DX_INGEST_UPLOADS ? up->u->made_count : DX_INGEST_UPLOADS;
    size_t started = 0;
    sigset_t all;
    sigset_t before;

    /* Signals are for the thread that reads. */
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    up->active = (unsigned)want;
    for (; started < want; started++) {
        int e = pthread_create(&thread[started], NULL, work, up);

        if (e == 0)
            continue;
        (void)pthread_mutex_lock(&up->lock);
        up->active -= (unsigned)(want - started);
        if (started == 0)
            (void)dx_fail_errno(&up->err, e, "cannot start a thread");
        (void)pthread_mutex_unlock(&up->lock);
        break;
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    watch(up);
    for (size_t i = 0; i < started; i++)
        (void)pthread_join(thread[i], NULL);
}

static int verdict(struct uploading *up, struct dx_error *err)
{
    struct dx_ingest_upload *u = up->u;

    if (up->err.code == DX_OK && u->done < u->made_count)
        (void)dx_fail(&up->err, DX_E_IO, "interrupted");
    if (up->err.code == DX_OK)
        return DX_OK;
    if (err != NULL)
        *err = up->err;
    (void)dx_fail_in(err, "%zu of %zu files are in the lake, the same run again adds the rest",
                     u->done, u->made_count);
    return (int)up->err.code;
}

int dx_ingest_upload_run(struct dx_ingest_upload *u, struct dx_error *err)
{
    struct uploading up = { .u = u, .err = DX_ERROR_INIT };
    pthread_condattr_t attr;
    uint64_t total = 0;
    int rc;

    u->done = 0;
    if (u->made_count == 0)
        return DX_OK;
    up.part = calloc(u->made_count, sizeof *up.part);
    up.first = calloc(u->made_count, sizeof *up.first);
    if (up.part == NULL || up.first == NULL) {
        free(up.part);
        free(up.first);
        return dx_fail(err, DX_E_NOMEM, "ingest: out of memory for %zu files", u->made_count);
    }
    (void)pthread_mutex_init(&up.lock, NULL);
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&up.changed, &attr);
    (void)pthread_condattr_destroy(&attr);
    for (size_t i = 0; i < u->made_count; i++)
        total += u->made[i].size;
    rc = number_all(&up, err);
    if (rc == DX_OK) {
        if (u->progress != NULL)
            dx_progress_phase(u->progress, "uploading", "KiB", total);
        up.stopping = u->stopped != NULL && u->stopped();
        run_threads(&up);
        if (u->progress != NULL)
            dx_progress_end(u->progress);
        rc = verdict(&up, err);
    }
    (void)pthread_cond_destroy(&up.changed);
    (void)pthread_mutex_destroy(&up.lock);
    free(up.part);
    free(up.first);
    return rc;
}
