/* SPDX-License-Identifier: Apache-2.0
 * workers.h - a few threads for the answers that may wait for a disk.
 *
 *   rc = dx_workers_start(&w, count, queue_max, &answers, &err);
 *   job = dx_job_new(&ask);  job->version = ... (pinned, now the job's);  job->done = ...;
 *   if (!dx_workers_submit(w, job))            false: the queue is full; the job is still yours
 *   atomic_store(&job->cancelled, true);       nobody waits: skip it if it has not begun
 *   dx_workers_wake(w);                        let go of canonicalisers of old versions
 *   clean = dx_workers_stop(&w, deadline);     queued jobs complete as cancelled
 *
 * job->done is called exactly once for each submitted job, in the worker's thread (or in the
 * one that stops the pool), and owns the job from then on.
 */
#ifndef DX_SERVER_WORKERS_H
#define DX_SERVER_WORKERS_H

#include "server/answers.h"

#include <stdatomic.h>
#include <time.h>

/* Bytes of one body. A page of DX_LIMIT_MAX usual URLs is 1 MB; one of the longest is refused. */
#define DX_BODY_MAX ((size_t)64 << 20)

struct dx_workers;

struct dx_job {
    struct dx_job *next;
    struct dx_version *version;
    struct dx_ask ask; /* its spans point into ask.text */
    void (*done)(struct dx_job *job);
    void *loop;       /* for done */
    void *connection; /* only for the loop's thread; NULL: gone */
    _Atomic bool cancelled;

    int rc; /* as query/answer.h */
    struct dx_buf body;
    struct dx_problem problem;
};

struct dx_job *dx_job_new(const struct dx_ask *ask); /* NULL: out of memory */
void dx_job_free(struct dx_job **job);               /* not its version */

int dx_workers_start(struct dx_workers **workers, unsigned count, unsigned queue_max,
                     const struct dx_answers *answers, struct dx_error *err);
bool dx_workers_submit(struct dx_workers *w, struct dx_job *job);
void dx_workers_wake(struct dx_workers *w);
bool dx_workers_stop(struct dx_workers **workers, const struct timespec *deadline); /* realtime */

#endif
