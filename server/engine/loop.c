/* SPDX-License-Identifier: Apache-2.0 */
#include "server/engine/loop.h"

#include "base/clock.h"
#include "fetch/fetch_loop.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINGER_MS 2000 /* as long as it takes to read a short reply over a bad line */
#define LATER_MS 50

int64_t dx_monotonic_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* A loop that a second begins in also looks how far apart the clocks are. */
static void begin_second(struct dx_loop *loop, time_t second)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    loop->epoch_us = (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000 - loop->now_us;
    loop->date_second = second;
    dx_http_date(second, loop->date);
}

void dx_loop_clock(struct dx_loop *loop)
{
    struct timespec now;

    loop->now_us = dx_clock_us();
    loop->now_ms = loop->now_us / 1000;
    (void)clock_gettime(CLOCK_REALTIME_COARSE, &now);
    if (now.tv_sec != loop->date_second)
        begin_second(loop, now.tv_sec);
}

int64_t dx_loop_timeout_ms(const struct dx_loop *loop, enum dx_wait wait)
{
    const struct dx_server_options *o = &loop->serving->options;

    switch (wait) {
    case DX_WAIT_HEAD:
        return o->head_timeout_ms;
    case DX_WAIT_IDLE:
        return o->idle_timeout_ms;
    case DX_WAIT_JOB:
        return o->job_timeout_ms;
    case DX_WAIT_WRITE:
    case DX_WAIT_BODY:
        return o->write_timeout_ms;
    case DX_WAIT_LATER:
        return LATER_MS;
    default:
        return LINGER_MS;
    }
}

/* ---- from other threads ---- */

static void wake(struct dx_loop *loop)
{
    uint64_t one = 1;

    /* Fails only when the counter is full, and then the loop wakes anyway. */
    if (write(loop->wake_fd, &one, sizeof one) < 0)
        return;
}

void dx_loop_give(struct dx_loop *loop, const struct dx_guest *guest)
{
    bool taken = true;

    (void)pthread_mutex_lock(&loop->lock);
    if (loop->given_count == loop->given_room) {
        size_t room = loop->given_room == 0 ? 64 : loop->given_room * 2;
        struct dx_guest *given = realloc(loop->given, room * sizeof *given);

        taken = given != NULL;
        if (taken) {
            loop->given = given;
            loop->given_room = room;
        }
    }
    if (taken)
        loop->given[loop->given_count++] = *guest;
    (void)pthread_mutex_unlock(&loop->lock);
    if (taken) {
        wake(loop);
        return;
    }
    (void)close(guest->fd);
    dx_serving_gone(loop->serving, &guest->peer);
}

void dx_loop_job_done(struct dx_job *job)
{
    struct dx_loop *loop = job->loop;

    (void)pthread_mutex_lock(&loop->lock);
    job->next = loop->done;
    loop->done = job;
    (void)pthread_mutex_unlock(&loop->lock);
    wake(loop);
}

static void end_unread(struct dx_loop *loop, struct dx_job *job)
{
    job->read_rc = dx_fail(&job->read_err, DX_E_TIMEOUT, "the server stops");
    atomic_store(&job->cancelled, true);
    dx_workers_resume(loop->serving->workers, job);
}

void dx_loop_job_fetch(struct dx_job *job)
{
    struct dx_loop *loop = job->loop;
    bool ended;

    (void)pthread_mutex_lock(&loop->lock);
    ended = loop->ended;
    if (!ended) {
        job->next = loop->to_fetch;
        loop->to_fetch = job;
    }
    (void)pthread_mutex_unlock(&loop->lock);
    if (!ended) {
        wake(loop);
        return;
    }
    end_unread(loop, job);
}

void dx_loop_tell(struct dx_loop *loop, unsigned what)
{
    (void)pthread_mutex_lock(&loop->lock);
    loop->commands |= what;
    (void)pthread_mutex_unlock(&loop->lock);
    wake(loop);
}

void dx_loops_tell(struct dx_serving *serving, unsigned what)
{
    for (unsigned i = 0; i < serving->loop_count; i++)
        dx_loop_tell(serving->loops[i], what);
}

void dx_serving_gone(struct dx_serving *serving, const struct dx_address *peer)
{
    if (peer != NULL)
        dx_admission_gone(serving->admission, peer);
    atomic_fetch_sub(&serving->connections, 1);
}

/* ---- reads of jobs ---- */

static void on_fetched(void *ctx, int rc, const struct dx_error *err)
{
    struct dx_job *job = ctx;
    struct dx_loop *loop = job->loop;

    job->read_rc = rc;
    if (rc < 0)
        job->read_err = *err;
    TAILQ_REMOVE(&loop->fetching, job, fetching);
    dx_workers_resume(loop->serving->workers, job);
}

void dx_loop_read(struct dx_loop *loop, struct dx_job *job)
{
    struct dx_read_batch *reading = dx_job_reading(job);

    job->read_rc = atomic_load(&job->cancelled)
                       ? dx_fail(&job->read_err, DX_E_TIMEOUT, "no client waits for the answer")
                       : dx_fetch_begin(loop->fetch, reading->source, &reading->batch, on_fetched,
                                        job, &job->under_way, &job->read_err);
    if (job->read_rc < 0)
        dx_workers_resume(loop->serving->workers, job);
    else
        TAILQ_INSERT_TAIL(&loop->fetching, job, fetching);
}

/* The loop ends: what is under way is broken off, and its jobs end as cancelled. */
void dx_loop_end_fetches(struct dx_loop *loop)
{
    struct dx_job *waiting;
    struct dx_job *job;

    (void)pthread_mutex_lock(&loop->lock);
    loop->ended = true;
    waiting = loop->to_fetch;
    loop->to_fetch = NULL;
    (void)pthread_mutex_unlock(&loop->lock);
    while ((job = TAILQ_FIRST(&loop->fetching)) != NULL) {
        TAILQ_REMOVE(&loop->fetching, job, fetching);
        dx_fetch_cancel(&job->under_way);
        job->next = waiting;
        waiting = job;
    }
    while ((job = waiting) != NULL) {
        waiting = job->next;
        end_unread(loop, job);
    }
}

void dx_loop_want_turn(struct dx_loop *loop)
{
    /* By a timer that is due: an event that is made active runs before any socket is looked at, so
     * connections that always have more to do would keep all others out. */
    static const struct timeval now = { 0, 0 };

    /* To add it again would take it back from where it waits to run. */
    if (!event_pending(&loop->turn_event, EV_TIMEOUT, NULL))
        (void)event_add(&loop->turn_event, &now);
}

struct dx_server_counts dx_serving_counts(const struct dx_serving *serving)
{
    struct dx_server_counts sum = { .open = atomic_load(&serving->connections),
                                    .expired = dx_workers_counts_of(serving->workers).expired };

    dx_admission_counts_read(serving->admission, &sum.admission);
    for (unsigned i = 0; i < serving->loop_count; i++) {
        const struct dx_loop_counts *c = &serving->loops[i]->counts;

        sum.accepted += atomic_load(&c->accepted);
        sum.requests += atomic_load(&c->requests);
        sum.begun += atomic_load(&serving->loops[i]->requests.begun);
        sum.ended += atomic_load(&serving->loops[i]->requests.ended);
        sum.rejected += atomic_load(&c->rejected);
        sum.timeouts += atomic_load(&c->timeouts);
        sum.shed += atomic_load(&c->shed);
        sum.overloaded += atomic_load(&c->overloaded);
        sum.accept_pauses += atomic_load(&c->accept_pauses);
        for (unsigned e = 0; e < DX_HANDSHAKES; e++)
            sum.handshakes[e] += atomic_load(&c->handshakes[e]);
        sum.hot_hits += atomic_load(&c->hot_hits);
        sum.hot_bytes += atomic_load(&c->hot_bytes);
    }
    return sum;
}
