/* SPDX-License-Identifier: Apache-2.0 */
#include "server/engine/workers.h"

#include "base/clock.h"
#include "fetch/fetch_loop.h"
#include "loader/followed/access.h"
#include "server/engine/row_part.h"
#include "server/http/reply.h"
#include "server/routes/route.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

TAILQ_HEAD(dx_job_queue, dx_job);

#define BRINGS UINT64_MAX /* a version, for as long as a store likes */

struct dx_workers {
    const struct dx_answers *answers;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct dx_job_queue fresh; /* no worker has had them; oldest first */
    struct dx_job_queue had;   /* they go on */
    uint64_t turns;
    unsigned waiting; /* in both */
    unsigned away;    /* with a loop, or waiting for another job's block */
    unsigned queue_max;
    unsigned queue_timeout_ms;
    unsigned storage_timeout_ms;
    uint64_t expired;
    unsigned fetching; /* jobs at hand that may open a version first */
    unsigned fetching_max;
    uint64_t hold_max; /* stored bytes that tasks under way may hold */
    _Atomic uint64_t held;
    unsigned generation; /* of wakes */
    bool stopping;
    unsigned thread_count;
    struct dx_worker {
        struct dx_workers *workers;
        pthread_t thread;
        /* that it has its job, on the clock of dx_clock_ms; 0: none; BRINGS */
        _Atomic uint64_t since_ms;
    } threads[];
};

struct dx_job *dx_job_new(const struct dx_ask *ask)
{
    struct dx_job *job = malloc(sizeof *job);

    if (job == NULL)
        return NULL;
    memset(job, 0, offsetof(struct dx_job, ask));
    dx_ask_copy(&job->ask, ask);
    job->ask.brief = false;
    job->read_rc = DX_E_TIMEOUT; /* nothing has been read */
    job->spent.since_us = dx_clock_us();
    dx_buf_init(&job->body, DX_BODY_MAX);
    return job;
}

void dx_job_free(struct dx_job **job)
{
    if (*job == NULL)
        return;
    dx_buf_release(&(*job)->body);
    free((*job)->about);
    dx_row_part_free(&(*job)->rows);
    dx_access_unpin((*job)->access);
    free(*job);
    *job = NULL;
}

static int set_cancelled(struct dx_job *job)
{
    return dx_problem_set(&job->problem, DX_PROBLEM_UNAVAILABLE, "stopping", "Server is stopping",
                          "the server stops; ask another one or try again");
}

/* Whether a version may have to be opened for it, which can take as long as a store likes. */
static bool may_fetch(const struct dx_job *job)
{
    return job->cold || dx_routes[job->ask.route]->compares;
}

static struct dx_job_queue *queue_of(struct dx_workers *w, const struct dx_job *job)
{
    return job->had ? &w->had : &w->fresh;
}

static void append(struct dx_workers *w, struct dx_job *job)
{
    job->turn = w->turns++;
    TAILQ_INSERT_TAIL(queue_of(w, job), job, queue);
    w->waiting++;
    (void)pthread_cond_signal(&w->changed);
}

static void unqueue(struct dx_workers *w, struct dx_job *job)
{
    TAILQ_REMOVE(queue_of(w, job), job, queue);
    w->waiting--;
}

/* In order of coming all would be late. */
static bool is_behind(const struct dx_workers *w)
{
    const struct dx_job *oldest = TAILQ_FIRST(&w->fresh);

    return oldest != NULL && w->queue_timeout_ms > 0 &&
           dx_clock_ms() - oldest->queued_ms > w->queue_timeout_ms / 2;
}

static struct dx_job *first_that_may(struct dx_job *job, bool fetch)
{
    while (job != NULL && !fetch && may_fetch(job))
        job = TAILQ_NEXT(job, queue);
    return job;
}

static struct dx_job *last_that_may(struct dx_job *job, bool fetch)
{
    while (job != NULL && !fetch && may_fetch(job))
        job = TAILQ_PREV(job, dx_job_queue, queue);
    return job;
}

/* The job that has the next turn; but unless `all`, when enough workers open versions, one that opens none.
 * Some workers are left for the listings of versions that are there, whatever strangers ask for. */
static struct dx_job *pop(struct dx_workers *w, bool all)
{
    bool fetch = all || w->fetching < w->fetching_max;
    bool behind = !all && is_behind(w);
    struct dx_job *had = first_that_may(TAILQ_FIRST(&w->had), fetch);
    struct dx_job *fresh = behind ? last_that_may(TAILQ_LAST(&w->fresh, dx_job_queue), fetch)
                                  : first_that_may(TAILQ_FIRST(&w->fresh), fetch);
    bool go_on = had != NULL && (fresh == NULL || behind || had->turn < fresh->turn);
    struct dx_job *job = go_on ? had : fresh;

    if (job == NULL)
        return NULL;
    unqueue(w, job);
    job->had = true;
    return job;
}

/* All since the last time went into this. */
static void spend(struct dx_job *job, int64_t *what_us)
{
    int64_t now_us = dx_clock_us();

    *what_us += now_us - job->spent.since_us;
    job->spent.since_us = now_us;
}

/* What the batch that is over took from where it came. */
static void count_batch(struct dx_job *job)
{
    const struct dx_read_batch *reading = dx_job_reading(job);
    const struct dx_source_batch_report *report = reading->batch.report;
    struct dx_job_spent *spent = &job->spent;

    if (dx_read_batch_state(reading) != DX_READ_BATCH_READ || report == NULL)
        return;
    if (dx_source_on_loop(reading->source)) {
        spent->storage_requests += report->requests;
        spent->storage_retries += report->retries;
        spent->storage_bytes += report->bytes;
    } else {
        spent->disk_reads += report->requests;
        spent->disk_bytes += report->bytes;
    }
}

static void move_away(struct dx_workers *w)
{
    (void)pthread_mutex_lock(&w->lock);
    w->away++;
    (void)pthread_mutex_unlock(&w->lock);
}

void dx_workers_resume(struct dx_workers *w, struct dx_job *job)
{
    spend(job, &job->spent.storage_us);
    (void)pthread_mutex_lock(&w->lock);
    w->away--;
    job->queued_ms =
        dx_clock_ms(); /* for one that the loop began, it waits for its first worker from here */
    append(w, job);
    (void)pthread_mutex_unlock(&w->lock);
}

static void on_block(void *ctx)
{
    struct dx_job *job = ctx;

    job->read_rc = DX_OK;
    dx_workers_resume(job->workers, job);
}

struct dx_read_batch *dx_job_reading(const struct dx_job *job)
{
    return dx_task_reading(job->task);
}

/* What all batches of a job fetch is held until it ends. One that alone is over the cap goes when it
 * is alone. */
static bool may_hold(struct dx_workers *w, struct dx_job *job, uint64_t bytes)
{
    uint64_t before = atomic_fetch_add(&w->held, bytes);

    job->holds += bytes;
    return before == job->holds - bytes || before + bytes <= w->hold_max;
}

static void limit_batch(const struct dx_workers *w, struct dx_read_batch *reading)
{
    uint64_t until_ms = dx_clock_ms() + w->storage_timeout_ms;

    if (w->storage_timeout_ms > 0 &&
        (reading->batch.deadline_ms == 0 || reading->batch.deadline_ms > until_ms))
        reading->batch.deadline_ms = until_ms;
}

static bool take_place(struct dx_workers *w, struct dx_job *job)
{
    bool taken;

    (void)pthread_mutex_lock(&w->lock);
    taken = w->waiting + w->away < w->queue_max && !w->stopping && !is_behind(w);
    w->away += taken;
    (void)pthread_mutex_unlock(&w->lock);
    job->workers = w;
    return taken;
}

bool dx_workers_lend(struct dx_workers *w, struct dx_job *job)
{
    struct dx_read_batch *reading = dx_task_reading(job->task);
    uint64_t bytes = dx_read_batch_bytes(reading);

    assert(job->begun);
    if (dx_read_batch_state(reading) != DX_READ_BATCH_READ || !dx_source_on_loop(reading->source) ||
        !take_place(w, job))
        return false;
    if (!may_hold(w, job, bytes)) {
        atomic_fetch_sub(&w->held, bytes);
        job->holds -= bytes;
        (void)pthread_mutex_lock(&w->lock);
        w->away--;
        (void)pthread_mutex_unlock(&w->lock);
        return false;
    }
    limit_batch(w, reading);
    job->begun = false;
    spend(job, &job->spent.answer_us);
    return true;
}

/* True: the job is away and no longer ours. False: what it waited for is there, or failed. */
static bool send_away(struct dx_workers *w, struct dx_job *job)
{
    struct dx_read_batch *reading = dx_job_reading(job);
    enum dx_read_batch_state state = dx_read_batch_state(reading);
    bool waits = state == DX_READ_BATCH_WAIT;

    if (state == DX_READ_BATCH_DONE) { /* a loop left it for its length */
        job->read_rc = DX_OK;
        return false;
    }
    if (!waits && !may_hold(w, job, dx_read_batch_bytes(reading))) {
        job->read_rc = dx_fail(&job->read_err, DX_E_BUSY,
                               "listings under way hold as much of the store's bytes as they may");
        return false;
    }
    if (!waits)
        limit_batch(w, reading);
    if (!waits && !dx_source_on_loop(reading->source)) {
        spend(job, &job->spent.answer_us);
        job->read_rc = dx_read_batch_perform(reading, &job->read_err);
        spend(job, &job->spent.storage_us);
        return false;
    }
    spend(job, &job->spent.answer_us);
    move_away(w); /* before it is: it may come back at once */
    if (!waits) {
        job->fetch(job);
        return true;
    }
    job->watch = (struct dx_flight_watch){ .call = on_block, .ctx = job };
    if (dx_flight_watch(reading->flight, &job->watch))
        return true;
    (void)pthread_mutex_lock(&w->lock);
    w->away--;
    (void)pthread_mutex_unlock(&w->lock);
    job->read_rc = DX_OK;
    return false;
}

static void finish(struct dx_workers *w, struct dx_job *job)
{
    if (job->task != NULL)
        dx_task_free(&job->task);
    atomic_fetch_sub(&w->held, job->holds);
    job->holds = 0;
    spend(job, &job->spent.answer_us);
    job->done(job);
}

/* A task that waits for nothing has ended a step of computing: it goes behind the jobs that wait,
 * if any do. True: it is in the queue and no longer ours. */
static bool give_way(struct dx_workers *w, struct dx_job *job)
{
    bool others;

    if (dx_read_batch_state(dx_job_reading(job)) != DX_READ_BATCH_DONE)
        return false;
    job->read_rc = DX_OK;
    spend(job, &job->spent.answer_us);
    (void)pthread_mutex_lock(&w->lock);
    others = w->waiting > 0;
    if (others)
        append(w, job);
    (void)pthread_mutex_unlock(&w->lock);
    return others;
}

static int resume(struct dx_job *job)
{
    count_batch(job);
    return dx_task_resume(job->task, job->read_rc, &job->read_err, &job->summary, &job->body,
                          &job->problem);
}

/* No client waits for the answer, but other requests may wait for the blocks that it has read. */
static int end_cancelled(struct dx_job *job)
{
    if (job->task != NULL && job->read_rc == DX_OK &&
        dx_read_batch_state(dx_task_reading(job->task)) == DX_READ_BATCH_READ)
        (void)resume(job);
    return set_cancelled(job);
}

static int begin(const struct dx_answers *answers, struct dx_canon_slot *slot, struct dx_job *job)
{
    if (job->cold) {
        int rc = dx_ask_fetch(answers, &job->ask, &job->version, &job->problem);

        if (rc != 1)
            return rc;
        job->cold = false;
    }
    return dx_ask_answer(answers, slot, job->version,
                         &(struct dx_answering){ .ask = &job->ask,
                                                 .deadline_ms = job->deadline_ms,
                                                 .task = &job->task,
                                                 .summary = &job->summary,
                                                 .body = &job->body,
                                                 .problem = &job->problem });
}

static void serve_job(struct dx_workers *w, struct dx_canon_slot *slot, struct dx_job *job)
{
    const struct dx_answers *answers = w->answers;

    spend(job, &job->spent.queue_us);
    if (job->begun) {
        job->begun = false;
        if (!atomic_load(&job->cancelled) && send_away(w, job))
            return;
    }
    do {
        if (atomic_load(&job->cancelled))
            job->rc = end_cancelled(job);
        else if (job->task == NULL)
            job->rc = begin(answers, slot, job);
        else
            job->rc = resume(job);
        if (job->rc == DX_TASK_WAITS && (give_way(w, job) || send_away(w, job)))
            return;
    } while (job->rc == DX_TASK_WAITS);
    finish(w, job);
}

static void *run_worker(void *argument)
{
    struct dx_worker *self = argument;
    struct dx_workers *w = self->workers;
    struct dx_canon_slot slot = { NULL, NULL };
    unsigned seen = 0;

    (void)pthread_setname_np(pthread_self(), "dx-worker");
    (void)pthread_mutex_lock(&w->lock);
    while (!w->stopping) {
        struct dx_job *job = pop(w, false);
        bool fetches = job != NULL && may_fetch(job);

        if (job == NULL && w->generation == seen) {
            (void)pthread_cond_wait(&w->changed, &w->lock);
            continue;
        }
        seen = w->generation;
        w->fetching += fetches;
        (void)pthread_mutex_unlock(&w->lock);
        dx_canon_slot_refresh(&slot, w->answers);
        if (job != NULL) {
            atomic_store_explicit(&self->since_ms, fetches ? BRINGS : dx_clock_ms(),
                                  memory_order_relaxed);
            serve_job(w, &slot, job);
            atomic_store_explicit(&self->since_ms, 0, memory_order_relaxed);
        }
        (void)pthread_mutex_lock(&w->lock);
        w->fetching -= fetches; /* this thread takes the next that waited for that */
    }
    (void)pthread_mutex_unlock(&w->lock);
    dx_canon_slot_release(&slot, w->answers);
    return NULL;
}

int dx_workers_start(struct dx_workers **workers, const struct dx_workers_options *options,
                     const struct dx_answers *answers, struct dx_error *err)
{
    struct dx_workers *w = calloc(1, sizeof *w + options->count * sizeof *w->threads);

    *workers = NULL;
    if (w == NULL)
        return dx_no_memory(err, "workers");
    w->answers = answers;
    w->queue_max = options->queue_max;
    w->fetching_max = options->count > 1 ? options->count / 2 : 1;
    w->hold_max = options->hold_max;
    w->queue_timeout_ms = options->queue_timeout_ms;
    w->storage_timeout_ms = options->storage_timeout_ms;
    TAILQ_INIT(&w->fresh);
    TAILQ_INIT(&w->had);
    (void)pthread_mutex_init(&w->lock, NULL);
    (void)pthread_cond_init(&w->changed, NULL);
    *workers = w;
    while (w->thread_count < options->count) {
        struct dx_worker *worker = &w->threads[w->thread_count];
        int rc;

        worker->workers = w;
        rc = pthread_create(&worker->thread, NULL, run_worker, worker);

        if (rc != 0) {
            struct timespec never = { INT32_MAX, 0 };

            (void)dx_workers_stop(workers, &never);
            return dx_fail_errno(err, rc, "workers: cannot start a thread");
        }
        w->thread_count++;
    }
    return DX_OK;
}

bool dx_workers_submit(struct dx_workers *w, struct dx_job *job)
{
    bool taken;

    (void)pthread_mutex_lock(&w->lock);
    taken = w->waiting + w->away < w->queue_max && !w->stopping;
    job->workers = w;
    job->queued_ms = dx_clock_ms();
    if (taken)
        append(w, job);
    (void)pthread_mutex_unlock(&w->lock);
    return taken;
}

struct dx_workers_counts dx_workers_counts_of(struct dx_workers *w)
{
    struct dx_workers_counts counts;

    (void)pthread_mutex_lock(&w->lock);
    counts = (struct dx_workers_counts){ w->waiting, w->away, atomic_load(&w->held), w->expired };
    (void)pthread_mutex_unlock(&w->lock);
    return counts;
}

static int set_expired(struct dx_job *job)
{
    return dx_problem_set(&job->problem, DX_PROBLEM_UNAVAILABLE, "overloaded",
                          "Server is overloaded",
                          "too many listings wait for a worker; try again in a moment");
}

/* Takes from the queue those that have waited too long for their first worker. */
static void take_late(struct dx_workers *w, struct dx_job_queue *late)
{
    struct dx_job *job;
    uint64_t now_ms;

    (void)pthread_mutex_lock(&w->lock);
    now_ms = dx_clock_ms(); /* no job came later, as its time is taken under the lock too */
    while ((job = TAILQ_FIRST(&w->fresh)) != NULL &&
           now_ms - job->queued_ms >= w->queue_timeout_ms) {
        unqueue(w, job);
        TAILQ_INSERT_TAIL(late, job, queue);
        w->expired++;
    }
    (void)pthread_mutex_unlock(&w->lock);
}

void dx_workers_expire(struct dx_workers *w)
{
    struct dx_job_queue late = TAILQ_HEAD_INITIALIZER(late);
    struct dx_job *job;

    if (w->queue_timeout_ms == 0)
        return;
    take_late(w, &late);
    while ((job = TAILQ_FIRST(&late)) != NULL) {
        TAILQ_REMOVE(&late, job, queue);
        spend(job, &job->spent.queue_us);
        job->rc = set_expired(job);
        job->problem.retry_s = dx_retry_spread_s(job->turn);
        finish(w, job);
    }
}

uint64_t dx_workers_busy_ms(const struct dx_workers *w)
{
    uint64_t latest = 0;
    uint64_t now = dx_clock_ms();

    for (unsigned i = 0; i < w->thread_count; i++) {
        uint64_t since = atomic_load_explicit(&w->threads[i].since_ms, memory_order_relaxed);

        if (since == 0)
            return 0;
        if (since != BRINGS && since > latest)
            latest = since;
    }
    return latest != 0 && now > latest ? now - latest : 0;
}

void dx_workers_wake(struct dx_workers *w)
{
    (void)pthread_mutex_lock(&w->lock);
    w->generation++;
    (void)pthread_cond_broadcast(&w->changed);
    (void)pthread_mutex_unlock(&w->lock);
}

bool dx_workers_stop(struct dx_workers **workers, const struct timespec *deadline)
{
    struct dx_workers *w = *workers;
    struct dx_job *job;
    bool clean = true;

    if (w == NULL)
        return true;
    (void)pthread_mutex_lock(&w->lock);
    w->stopping = true;
    (void)pthread_cond_broadcast(&w->changed);
    (void)pthread_mutex_unlock(&w->lock);
    for (unsigned i = 0; i < w->thread_count; i++)
        if (pthread_timedjoin_np(w->threads[i].thread, NULL, deadline) != 0)
            clean = false;
    if (!clean)
        return false;
    /* Tasks that end here may hand blocks, or the want of them, to others that come back. */
    while ((job = pop(w, true)) != NULL) {
        job->rc = set_cancelled(job);
        finish(w, job);
    }
    (void)pthread_cond_destroy(&w->changed);
    (void)pthread_mutex_destroy(&w->lock);
    free(w);
    *workers = NULL;
    return true;
}
