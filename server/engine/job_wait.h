/* SPDX-License-Identifier: Apache-2.0
 * job_wait.h - a request that waits for a worker's answer.
 *
 *   ok = dx_job_wait_begin(&x);           x.ask goes to a worker, and the version with it
 *   dx_job_wait_refuse(&x);               where that is false: there is no room, and the reply says so
 *   dx_job_wait_end(c, job);              it came back: the version is the connection's again
 *   dx_job_wait_cancel(c);                the client no longer waits; again is fine
 *
 * A cancelled job goes on by itself, with its pin, and its result is dropped. Of the loop's thread.
 */
#ifndef DX_SERVER_ENGINE_JOB_WAIT_H
#define DX_SERVER_ENGINE_JOB_WAIT_H

#include "server/engine/exchange.h"

struct dx_exchange;

/* When an answer is due that is asked for now. */
uint64_t dx_job_wait_deadline_ms(const struct dx_loop *loop);

/* c->rows goes with it. Without memory for a copy of x->key the answer is not cached. */
bool dx_job_wait_begin(const struct dx_exchange *x);
void dx_job_wait_refuse(struct dx_exchange *x);
void dx_job_wait_end(struct dx_connection *c, struct dx_job *job);
void dx_job_wait_cancel(struct dx_connection *c);

#endif
