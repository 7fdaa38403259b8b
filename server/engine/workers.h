/* SPDX-License-Identifier: Apache-2.0
 * workers.h - a few threads for the answers that have to read first.
 *
 *   rc = dx_workers_start(&w, &options, &answers, &err);
 *   job = dx_job_new(&ask);  job->version = ... (pinned, now the job's);  job->done = ...;
 *   if (dx_workers_lend(w, job))               of a task that the loop has begun: the pool counts the job, and the
 *       ...                                    caller performs its first read batch, as job->fetch would
 *   else if (!dx_workers_submit(w, job))       false: too many; the job is still yours
 *   atomic_store(&job->cancelled, true);       no client waits: skip it if it has not begun
 *   dx_workers_expire(w);                      now and then: ends those that have waited too long
 *   dx_workers_wake(w);                        let go of canonicalisers of old versions
 *   clean = dx_workers_stop(&w, deadline);     queued jobs complete as cancelled
 *
 * A worker computes, and it reads from a disk. What is to be read over a network it hands to
 * job->fetch, which performs the batch of dx_job_reading(job) and gives the job back:
 *   job->fetch(job);                           called by the worker, who forgets the job
 *   job->read_rc = ...; job->read_err = ...;
 *   dx_workers_resume(w, job);                 from any thread
 * Half of the workers at most are with jobs that may have to open a version first, so that requests
 * for old ones do not delay listings of those that are open.
 *
 * A job that has waited queue_timeout_ms for its first worker is answered 503: such a late answer
 * is useless, and keeps others waiting. While the oldest has waited half of that, the newest job
 * goes first: some are then answered in time, where in the order of coming all would be late. A
 * long queue alone says nothing: it may be a short wait. Those that went on before, whose pages are
 * here, keep their turn.
 *
 * A batch may take storage_timeout_ms, and no longer than the job's deadline.
 *
 * A job that waits for another one's block occupies no thread either. queue_max counts all jobs
 * that have not been answered, but for those that a worker has at hand.
 *
 * A job may come with a task that a loop has begun (job->begun): it goes on with what that waits
 * for. The task is the pool's once the job is taken. dx_workers_lend saves such a job the way to a
 * worker and back: true if its first batch is to be read over a network, the bytes may be held and
 * the workers keep up.
 *
 * job->done is called exactly once for each submitted job, in a worker's thread (or in the
 * one that stops the pool), and owns the job from then on.
 */
#ifndef DX_SERVER_ENGINE_WORKERS_H
#define DX_SERVER_ENGINE_WORKERS_H

#include "cache/flight.h"
#include "server/engine/encoding.h"
#include "server/policy/identity.h"
#include "server/routes/answers.h"

#include <sys/queue.h>

#include <stdatomic.h>
#include <time.h>

/* Bytes of one body. A page of DX_LIMIT_MAX usual URLs is 1 MB; one of the longest is refused. */
#define DX_BODY_MAX ((size_t)64 << 20)

struct dx_access_table;
struct dx_row_reply;
struct dx_workers;

/* What a job took, for the record of its request: done with when it is. */
struct dx_job_spent {
    int64_t since_us; /* on the clock of dx_clock_us: what came later is in none of the three yet */
    int64_t queue_us; /* waiting for a worker */
    int64_t answer_us;
    int64_t storage_us; /* waiting for batches, and for blocks that others read */
    uint32_t storage_requests, storage_retries;
    uint64_t storage_bytes;
    uint32_t disk_reads;
    uint64_t disk_bytes;
};

struct dx_job {
    struct dx_job *next; /* of lists of the loop */
    struct dx_version *version;
    bool cold; /* another version is wanted, and must be fetched: it takes the place of `version` */
    uint64_t deadline_ms; /* on the clock of dx_clock_ms: for what it waits for */
    /* pinned, that ask.scope and ask.principal are of; NULL: none */
    const struct dx_access_table *access;
    void (*done)(struct dx_job *job);
    void (*fetch)(struct dx_job *job);
    void *loop;       /* for done and fetch */
    void *connection; /* only for the loop's thread; NULL: gone */
    _Atomic bool cancelled;

    struct dx_workers *workers; /* since it was submitted */
    TAILQ_ENTRY(dx_job) queue;
    uint64_t turn;        /* in order of coming to the queue */
    uint64_t queued_ms;   /* on the clock of dx_clock_ms: when it was submitted */
    bool had;             /* a worker has had it */
    struct dx_task *task; /* NULL: not begun */
    bool begun;           /* task is set by the submitter of the job, and waits for its reading */
    struct dx_flight_watch watch;
    struct dx_fetch *under_way; /* of the loop's thread */
    TAILQ_ENTRY(dx_job) fetching;
    int read_rc;
    struct dx_error read_err;
    uint64_t holds; /* bytes of its batches */
    struct dx_job_spent spent;

    void *about;               /* the caller's; freed with the job */
    struct dx_row_reply *rows; /* the caller's: that the answer is a page of; NULL: of none */
    struct dx_who who;         /* the caller; its principal is of `access` */
    double paid;               /* by the caller; 0: the job costs nothing beyond that */
    size_t held;               /* the loop's: bytes of the body that count until it is delivered */
    bool dropped; /* the loop's: the body is gone, as too many wait for their clients */
    int rc;       /* as query/answers/answer.h */
    struct dx_answer_summary summary;
    struct dx_buf body;
    struct dx_encoding encoding; /* of it, once it is made */
    struct dx_problem problem;
    struct dx_ask ask; /* its spans point into ask.text; the last member: it is large */
};

struct dx_job *dx_job_new(const struct dx_ask *ask); /* NULL: out of memory */
void dx_job_free(struct dx_job **job);               /* with its access, not its version */

struct dx_workers_options {
    unsigned count;     /* threads */
    unsigned queue_max; /* jobs that have not been answered, but for those at hand */
    uint64_t hold_max;  /* bytes that the batches of all jobs may fetch, until each job ends */
    unsigned queue_timeout_ms;   /* 0: none */
    unsigned storage_timeout_ms; /* 0: none */
};

int dx_workers_start(struct dx_workers **workers, const struct dx_workers_options *options,
                     const struct dx_answers *answers, struct dx_error *err);
struct dx_workers_counts {
    unsigned waiting; /* for a worker */
    unsigned away;    /* with the store, or waiting for another job's block */
    uint64_t held;    /* bytes */
    uint64_t expired; /* jobs so far that waited too long */
};

bool dx_workers_submit(struct dx_workers *w, struct dx_job *job);
bool dx_workers_lend(struct dx_workers *w, struct dx_job *job);
void dx_workers_resume(struct dx_workers *w, struct dx_job *job);
struct dx_read_batch *dx_job_reading(const struct dx_job *job);
void dx_workers_expire(struct dx_workers *w);
void dx_workers_wake(struct dx_workers *w);

/* For how long the one that took its job last has been at it; 0: some worker has none. Those that
 * fetch a version do not count: a store may make them wait. */
uint64_t dx_workers_busy_ms(const struct dx_workers *w);
struct dx_workers_counts dx_workers_counts_of(struct dx_workers *w);
bool dx_workers_stop(struct dx_workers **workers, const struct timespec *deadline); /* realtime */

#endif
