/* SPDX-License-Identifier: Apache-2.0 */
#include "fetch/fetch_limits.h"

#include <time.h>

void dx_fetch_limits_init(struct dx_fetch_limits *limits, unsigned in_flight_max)
{
    pthread_condattr_t monotonic;

    memset(limits, 0, sizeof *limits);
    atomic_init(&limits->budget.tokens, DX_RETRY_BUDGET_FULL);
    limits->in_flight_max = in_flight_max > 0 ? in_flight_max : 1;
    (void)pthread_mutex_init(&limits->lock, NULL);
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&limits->left, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
}

void dx_fetch_limits_release(struct dx_fetch_limits *limits)
{
    (void)pthread_cond_destroy(&limits->left);
    (void)pthread_mutex_destroy(&limits->lock);
}

bool dx_fetch_limits_enter(struct dx_fetch_limits *limits)
{
    bool entered;

    (void)pthread_mutex_lock(&limits->lock);
    entered = limits->in_flight < limits->in_flight_max;
    limits->in_flight += entered;
    if (limits->in_flight > limits->in_flight_high)
        limits->in_flight_high = limits->in_flight;
    (void)pthread_mutex_unlock(&limits->lock);
    return entered;
}

void dx_fetch_limits_leave(struct dx_fetch_limits *limits)
{
    (void)pthread_mutex_lock(&limits->lock);
    limits->in_flight--;
    (void)pthread_cond_signal(&limits->left);
    (void)pthread_mutex_unlock(&limits->lock);
}

void dx_fetch_limits_wait(struct dx_fetch_limits *limits, unsigned ms)
{
    struct timespec until;

    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += ms / 1000;
    until.tv_nsec += (long)(ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    (void)pthread_mutex_lock(&limits->lock);
    if (limits->in_flight >= limits->in_flight_max)
        (void)pthread_cond_timedwait(&limits->left, &limits->lock, &until);
    (void)pthread_mutex_unlock(&limits->lock);
}

static struct dx_fetch_limits process_limits;

static void init_process_limits(void)
{
    dx_fetch_limits_init(&process_limits, DX_FETCH_IN_FLIGHT);
}

struct dx_fetch_limits *dx_fetch_limits_shared(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once(&once, init_process_limits);
    return &process_limits;
}
