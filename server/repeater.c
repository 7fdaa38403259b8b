/* SPDX-License-Identifier: Apache-2.0 */
#include "server/repeater.h"

#include "base/clock.h"
#include "server/pace.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#define STOP_WAIT_S 1

struct dx_repeater {
    dx_repeater_work *work;
    void *context;
    uint64_t rest_ms; /* of the thread alone */
    pthread_t thread;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    bool asked;
    bool stopping;
};

/* With the lock: until something is asked for, or it is time. */
static void rest(struct dx_repeater *r)
{
    uint64_t until_ms = dx_clock_ms() + r->rest_ms;

    if (r->rest_ms == DX_PACE_NEVER) {
        while (!r->asked && !r->stopping)
            (void)pthread_cond_wait(&r->changed, &r->lock);
        return;
    }
    while (!r->asked && !r->stopping && dx_cond_wait_until(&r->changed, &r->lock, until_ms))
        ;
}

static void *run(void *argument)
{
    struct dx_repeater *r = argument;

    (void)pthread_mutex_lock(&r->lock);
    for (;;) {
        bool asked;

        rest(r);
        if (r->stopping)
            break;
        asked = r->asked;
        r->asked = false;
        (void)pthread_mutex_unlock(&r->lock);
        r->rest_ms = r->work(r->context, asked);
        (void)pthread_mutex_lock(&r->lock);
    }
    (void)pthread_mutex_unlock(&r->lock);
    return NULL;
}

int dx_repeater_start(struct dx_repeater **out, const char *what, uint64_t first_ms,
                      dx_repeater_work *work, void *context, struct dx_error *err)
{
    struct dx_repeater *r = calloc(1, sizeof *r);
    int rc;

    *out = NULL;
    if (r == NULL)
        return dx_fail(err, DX_E_NOMEM, "%s: out of memory", what);
    r->work = work;
    r->context = context;
    r->rest_ms = first_ms;
    (void)pthread_mutex_init(&r->lock, NULL);
    dx_cond_init(&r->changed);
    rc = pthread_create(&r->thread, NULL, run, r);
    if (rc != 0) {
        free(r);
        return dx_fail_errno(err, rc, "%s: cannot start a thread", what);
    }
    *out = r;
    return DX_OK;
}

void dx_repeater_ask(struct dx_repeater *r)
{
    (void)pthread_mutex_lock(&r->lock);
    r->asked = true;
    (void)pthread_cond_signal(&r->changed);
    (void)pthread_mutex_unlock(&r->lock);
}

bool dx_repeater_stop(struct dx_repeater **out)
{
    struct dx_repeater *r = *out;
    struct timespec until;

    if (r == NULL)
        return true;
    (void)pthread_mutex_lock(&r->lock);
    r->stopping = true;
    (void)pthread_cond_signal(&r->changed);
    (void)pthread_mutex_unlock(&r->lock);
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += STOP_WAIT_S;
    if (pthread_timedjoin_np(r->thread, NULL, &until) != 0)
        return false;
    (void)pthread_cond_destroy(&r->changed);
    (void)pthread_mutex_destroy(&r->lock);
    free(r);
    *out = NULL;
    return true;
}
