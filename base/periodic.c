/* SPDX-License-Identifier: Apache-2.0 */
#include "base/periodic.h"

#include "base/clock.h"
#include "base/quiet_thread.h"

#include <stdlib.h>
#include <time.h>

#define STOP_SOON_S 1

struct dx_periodic {
    dx_periodic_work *work;
    void *ctx;
    uint64_t rest_ms; /* of the thread alone */
    pthread_t thread;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    bool asked;
    bool stopping;
};

/* With the lock: until something is asked for, or it is time. */
static void rest(struct dx_periodic *p)
{
    uint64_t until_ms = dx_clock_ms() + p->rest_ms;

    if (p->rest_ms == DX_PERIODIC_NEVER) {
        while (!p->asked && !p->stopping)
            (void)pthread_cond_wait(&p->changed, &p->lock);
        return;
    }
    while (!p->asked && !p->stopping && dx_cond_wait_until(&p->changed, &p->lock, until_ms))
        ;
}

static void *run_periodic(void *argument)
{
    struct dx_periodic *p = argument;

    (void)pthread_mutex_lock(&p->lock);
    for (;;) {
        bool asked;

        rest(p);
        if (p->stopping)
            break;
        asked = p->asked;
        p->asked = false;
        (void)pthread_mutex_unlock(&p->lock);
        p->rest_ms = p->work(p->ctx, asked);
        (void)pthread_mutex_lock(&p->lock);
    }
    (void)pthread_mutex_unlock(&p->lock);
    return NULL;
}

static void release(struct dx_periodic **p)
{
    (void)pthread_cond_destroy(&(*p)->changed);
    (void)pthread_mutex_destroy(&(*p)->lock);
    free(*p);
    *p = NULL;
}

int dx_periodic_start(struct dx_periodic **out, const char *what, uint64_t first_ms,
                      dx_periodic_work *work, void *ctx, struct dx_error *err)
{
    struct dx_periodic *p = calloc(1, sizeof *p);
    int e;

    *out = NULL;
    if (p == NULL)
        return dx_no_memory(err, "%s", what);
    p->work = work;
    p->ctx = ctx;
    p->rest_ms = first_ms;
    (void)pthread_mutex_init(&p->lock, NULL);
    dx_cond_init(&p->changed);
    e = dx_quiet_thread(&p->thread, run_periodic, p);
    if (e != 0) {
        release(&p);
        return dx_fail_errno(err, e, "%s: cannot start a thread", what);
    }
    *out = p;
    return DX_OK;
}

void dx_periodic_ask(struct dx_periodic *p)
{
    (void)pthread_mutex_lock(&p->lock);
    p->asked = true;
    (void)pthread_cond_signal(&p->changed);
    (void)pthread_mutex_unlock(&p->lock);
}

static void ask_to_stop(struct dx_periodic *p)
{
    (void)pthread_mutex_lock(&p->lock);
    p->stopping = true;
    (void)pthread_cond_signal(&p->changed);
    (void)pthread_mutex_unlock(&p->lock);
}

void dx_periodic_stop(struct dx_periodic **p)
{
    if (*p == NULL)
        return;
    ask_to_stop(*p);
    (void)pthread_join((*p)->thread, NULL);
    release(p);
}

bool dx_periodic_stop_soon(struct dx_periodic **p)
{
    struct timespec until;

    if (*p == NULL)
        return true;
    ask_to_stop(*p);
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += STOP_SOON_S;
    if (pthread_timedjoin_np((*p)->thread, NULL, &until) != 0)
        return false;
    release(p);
    return true;
}

void dx_period_begin(struct dx_period *period, unsigned ms)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    period->ms = ms;
    period->random = (uint64_t)now.tv_nsec ^ (uint64_t)(uintptr_t)period;
}

uint64_t dx_period_next(struct dx_period *period)
{
    if (period->ms == 0)
        return DX_PERIODIC_NEVER;
    period->random = period->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return period->ms - period->ms / 4 + (period->random >> 33) % (period->ms / 2 + 1);
}
