/* SPDX-License-Identifier: Apache-2.0
 * job_wait.h - a request that waits for a worker's answer.
 *
 *   ok = dx_job_wait_begin(c, &want);     loop->ask goes to a worker, and the version with it
 *   dx_job_wait_refuse(c, &want.task);    where that is false: there is no room, and the reply says so
 *   dx_job_wait_end(c, job);              it came back: the version is the connection's again
 *   dx_job_wait_cancel(c);                nobody waits any more; again is fine
 *
 * A job that is cancelled goes on by itself, with its pin, and finds nobody. Of the loop's thread.
 */
#ifndef DX_SERVER_JOB_WAIT_H
#define DX_SERVER_JOB_WAIT_H

#include "server/connection.h"

struct dx_job_want {
    bool cold;            /* its version must be brought */
    struct dx_task *task; /* begun here already; NULL: not */
    /* NULL: the answer is none that is kept; without memory for a copy it is none either. */
    const struct dx_answer_key *key;
    uint64_t deadline_ms;
    double paid; /* by who asks, who is charged for the rest when it is known; 0: nothing is */
    struct dx_span match;
};

/* When an answer is due that is asked for now. */
uint64_t dx_job_wait_deadline_ms(const struct dx_loop *loop);

bool dx_job_wait_begin(struct dx_connection *c, const struct dx_job_want *want);
void dx_job_wait_refuse(struct dx_connection *c, struct dx_task **task);
void dx_job_wait_end(struct dx_connection *c, struct dx_job *job);
void dx_job_wait_cancel(struct dx_connection *c);

#endif
