/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/ticker.h"

#include "base/clock.h"
#include "builder/quiet_thread.h"

/* Waits so long or until the stop: true. */
static bool stopping_within(struct dx_ticker *t, uint64_t ms)
{
    uint64_t until_ms = dx_clock_ms() + ms;
    bool stopping;

    (void)pthread_mutex_lock(&t->lock);
    while (!t->stopping && dx_cond_wait_until(&t->stopped, &t->lock, until_ms))
        ;
    stopping = t->stopping;
    (void)pthread_mutex_unlock(&t->lock);
    return stopping;
}

static void *run(void *arg)
{
    struct dx_ticker *t = arg;
    uint64_t wait_ms = t->first_ms;

    while (wait_ms > 0 && !stopping_within(t, wait_ms))
        wait_ms = t->tick(t->ctx);
    return NULL;
}

static void release(struct dx_ticker *t)
{
    (void)pthread_cond_destroy(&t->stopped);
    (void)pthread_mutex_destroy(&t->lock);
    t->started = false;
}

int dx_ticker_start(struct dx_ticker *t, uint64_t first_ms, dx_ticker_tick *tick, void *ctx,
                    struct dx_error *err)
{
    int e;

    *t = (struct dx_ticker){ .first_ms = first_ms, .tick = tick, .ctx = ctx };
    (void)pthread_mutex_init(&t->lock, NULL);
    dx_cond_init(&t->stopped);
    e = dx_quiet_thread(&t->thread, run, t);
    t->started = e == 0;
    if (e == 0)
        return DX_OK;
    release(t);
    return dx_fail_errno(err, e, "cannot start a thread");
}

void dx_ticker_stop(struct dx_ticker *t)
{
    if (!t->started)
        return;
    (void)pthread_mutex_lock(&t->lock);
    t->stopping = true;
    (void)pthread_cond_broadcast(&t->stopped);
    (void)pthread_mutex_unlock(&t->lock);
    (void)pthread_join(t->thread, NULL);
    release(t);
}
