/* SPDX-License-Identifier: Apache-2.0 */
#include "server/engine/job_wait.h"

#include "base/clock.h"
#include "loader/followed/access.h"
#include "server/engine/delivery.h"
#include "server/engine/row_part.h"
#include "server/routes/route.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Reads end so long before the answer is due, so that the answer says which read it was. */
#define SLACK_MS 50

uint64_t dx_job_wait_deadline_ms(const struct dx_loop *loop)
{
    return dx_clock_ms() + loop->serving->options.job_timeout_ms - SLACK_MS;
}

static void *copy_of(const struct dx_body_key *key)
{
    void *copy = key == NULL ? NULL : malloc(sizeof *key);

    if (copy != NULL)
        memcpy(copy, key, sizeof *key);
    return copy;
}

static void keep_match(struct dx_connection *c, struct dx_span match)
{
    c->match_size = match.size <= sizeof c->match ? match.size : 0;
    if (c->match_size > 0)
        memcpy(c->match, match.data, c->match_size);
}

static void on_done(struct dx_job *job)
{
    struct dx_loop *loop = job->loop;

    if (job->rows != NULL && !atomic_load(&job->cancelled))
        job->rc = dx_row_part_make(job->rows, job->version, &job->ask, job->rc, &job->body,
                                   &job->problem);
    else if (job->rc == 1 && !job->body.failed && !atomic_load(&job->cancelled) &&
             !dx_routes[job->ask.route]->post)
        dx_encoding_make(&job->encoding, &job->ask, true, &job->body);
    dx_delivery_hold(loop->serving, job);
    dx_loop_job_done(job);
}

bool dx_job_wait_begin(const struct dx_exchange *x)
{
    struct dx_connection *c = x->c;
    struct dx_loop *loop = c->stream.loop;
    struct dx_job *job = dx_job_new(x->ask);
    bool handed;

    dx_exchange_own_pin(c);
    dx_exchange_mark(c, DX_STAGE_ANSWER);
    if (job != NULL) {
        job->version = c->version;
        job->access = dx_access_hold(c->table);
        job->cold = x->cold;
        job->about = copy_of(x->key);
        job->who = c->who;
        job->paid = x->paid;
        job->task = x->task;
        job->begun = x->task != NULL;
        job->deadline_ms = x->deadline_ms;
        job->done = on_done;
        job->fetch = dx_loop_job_fetch;
        job->loop = loop;
        job->connection = c;
        job->rows = c->rows;
        keep_match(c, x->match);
        /* From here the worker may touch it, so all is set before. */
        handed = job->begun && dx_workers_lend(loop->serving->workers, job);
        if (handed || dx_workers_submit(loop->serving->workers, job)) {
            c->version = NULL;
            c->rows = NULL;
            c->job = job;
            dx_stream_wait(&c->stream, DX_WAIT_JOB);
            if (handed)
                dx_loop_read(loop, job);
            return true;
        }
    }
    if (job != NULL)
        job->rows = NULL;
    dx_job_free(&job);
    return false;
}

void dx_job_wait_refuse(struct dx_exchange *x)
{
    dx_task_free(&x->task);
    dx_deliver_overloaded(x->c, "too many listings are being read");
}

static void count_spent(struct dx_connection *c, const struct dx_job_spent *spent)
{
    struct dx_request_record *r = &c->record;

    r->stage_us[DX_STAGE_QUEUE] += spent->queue_us;
    r->stage_us[DX_STAGE_ANSWER] += spent->answer_us;
    r->stage_us[DX_STAGE_STORAGE] += spent->storage_us;
    r->storage_requests += spent->storage_requests;
    r->storage_retries += spent->storage_retries;
    r->storage_bytes += spent->storage_bytes;
    r->disk_reads += spent->disk_reads;
    r->disk_bytes += spent->disk_bytes;
    c->marked_us = spent->since_us;
    dx_exchange_mark(c, DX_STAGE_QUEUE); /* until the loop had time */
}

void dx_job_wait_end(struct dx_connection *c, struct dx_job *job)
{
    assert(c->job == job && c->stream.wait == DX_WAIT_JOB);
    c->job = NULL;
    c->version = job->version;
    count_spent(c, &job->spent);
    c->closing = c->closing || c->stream.loop->draining;
}

void dx_job_wait_cancel(struct dx_connection *c)
{
    if (c->job == NULL)
        return;
    dx_exchange_mark(c, DX_STAGE_QUEUE); /* for all that is known */
    atomic_store(&c->job->cancelled, true);
    c->job->connection = NULL;
    c->job = NULL;
}
