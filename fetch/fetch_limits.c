/* SPDX-License-Identifier: Apache-2.0 */
#include "fetch/fetch_limits.h"

#include "base/clock.h"

#include <unistd.h>

void dx_fetch_limits_init(struct dx_fetch_limits *limits, unsigned in_flight_max)
{
    memset(limits, 0, sizeof *limits);
    atomic_init(&limits->budget.tokens, DX_RETRY_BUDGET_FULL);
    dx_hedge_init(&limits->hedge);
    limits->in_flight_max = in_flight_max > 0 ? in_flight_max : 1;
    (void)pthread_mutex_init(&limits->lock, NULL);
    dx_cond_init(&limits->left);
}

void dx_fetch_limits_release(struct dx_fetch_limits *limits)
{
    (void)pthread_cond_destroy(&limits->left);
    (void)pthread_mutex_destroy(&limits->lock);
}

/* Waiters before `waiter`; all of them if it does not stand in the queue. */
static unsigned before(const struct dx_fetch_limits *limits, const struct dx_fetch_waiter *waiter)
{
    unsigned n = 0;

    for (const struct dx_fetch_waiter *w = limits->queue; w != NULL && w != waiter; w = w->next)
        n++;
    return n;
}

static bool place_free(const struct dx_fetch_limits *limits, const struct dx_fetch_waiter *waiter)
{
    return limits->in_flight_max - limits->in_flight > before(limits, waiter);
}

static bool take_place(struct dx_fetch_limits *limits, const struct dx_fetch_waiter *waiter)
{
    if (!place_free(limits, waiter))
        return false;
    limits->in_flight++;
    if (limits->in_flight > limits->in_flight_high)
        limits->in_flight_high = limits->in_flight;
    return true;
}

/* Wakes the last one of those for whom a place is free: the others have been woken before. */
static void wake_one(struct dx_fetch_limits *limits)
{
    static const uint64_t one = 1;
    unsigned nth = limits->in_flight_max - limits->in_flight;
    const struct dx_fetch_waiter *w = limits->queue;

    while (w != NULL && nth > 1) {
        w = w->next;
        nth--;
    }
    /* A full counter says already what the write would. */
    if (w != NULL && nth == 1 && write(w->fd, &one, sizeof one) < 0)
        return;
}

static void remove_from_queue(struct dx_fetch_limits *limits, struct dx_fetch_waiter *waiter)
{
    struct dx_fetch_waiter **at = &limits->queue;

    if (!waiter->queued)
        return;
    while (*at != waiter)
        at = &(*at)->next;
    *at = waiter->next;
    waiter->next = NULL;
    waiter->queued = false;
}

static void add_to_queue(struct dx_fetch_limits *limits, struct dx_fetch_waiter *waiter)
{
    struct dx_fetch_waiter **at = &limits->queue;

    if (waiter->queued)
        return;
    while (*at != NULL)
        at = &(*at)->next;
    *at = waiter;
    waiter->next = NULL;
    waiter->queued = true;
}

bool dx_fetch_limits_enter(struct dx_fetch_limits *limits)
{
    bool entered;

    (void)pthread_mutex_lock(&limits->lock);
    entered = take_place(limits, NULL);
    (void)pthread_mutex_unlock(&limits->lock);
    return entered;
}

bool dx_fetch_limits_enter_as(struct dx_fetch_limits *limits, struct dx_fetch_waiter *waiter)
{
    bool entered;

    (void)pthread_mutex_lock(&limits->lock);
    entered = take_place(limits, waiter);
    if (entered)
        remove_from_queue(limits, waiter);
    else
        add_to_queue(limits, waiter);
    (void)pthread_mutex_unlock(&limits->lock);
    return entered;
}

void dx_fetch_limits_unqueue(struct dx_fetch_limits *limits, struct dx_fetch_waiter *waiter)
{
    (void)pthread_mutex_lock(&limits->lock);
    if (waiter->queued) {
        remove_from_queue(limits, waiter);
        wake_one(limits); /* the place that was kept for it is the next one's */
        (void)pthread_cond_signal(&limits->left);
    }
    (void)pthread_mutex_unlock(&limits->lock);
}

void dx_fetch_limits_leave(struct dx_fetch_limits *limits)
{
    (void)pthread_mutex_lock(&limits->lock);
    limits->in_flight--;
    wake_one(limits);
    (void)pthread_cond_signal(&limits->left);
    (void)pthread_mutex_unlock(&limits->lock);
}

void dx_fetch_limits_look(struct dx_fetch_limits *limits, uint64_t *in_flight,
                          uint64_t *in_flight_high)
{
    (void)pthread_mutex_lock(&limits->lock);
    *in_flight = limits->in_flight;
    *in_flight_high = limits->in_flight_high;
    (void)pthread_mutex_unlock(&limits->lock);
}

void dx_fetch_limits_wait(struct dx_fetch_limits *limits, unsigned ms)
{
    uint64_t until_ms = dx_clock_ms() + ms;

    (void)pthread_mutex_lock(&limits->lock);
    if (!place_free(limits, NULL))
        (void)dx_cond_wait_until(&limits->left, &limits->lock, until_ms);
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
