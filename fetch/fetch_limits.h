/* SPDX-License-Identifier: Apache-2.0
 * fetch_limits.h - what all sources of a process share: retry budget, watch, hedges, requests in flight.
 *
 *   struct dx_fetch_limits limits;
 *   dx_fetch_limits_init(&limits, 64);        tests only; a process has dx_fetch_limits_shared, which is never released
 *   if (dx_fetch_limits_enter(&limits))  ... one request ...  dx_fetch_limits_leave(&limits);
 *   dx_fetch_limits_wait(&limits, ms);        until one leaves, or ms are over
 *
 *   struct dx_fetch_waiter w = { .fd = an eventfd that is watched };
 *   if (!dx_fetch_limits_enter_as(&limits, &w))  ... now in the queue: when fd says so, again ...
 *   dx_fetch_limits_unqueue(&limits, &w);     it wants no place any more
 *   dx_fetch_limits_release(&limits);
 *
 * A holder of a place never waits for another one, so the gate cannot deadlock. Places go round the
 * waiters: one that finds the gate full stands in a queue, and a free place is kept for each that stands
 * before - so a loop with much in flight cannot take each place that it frees itself, and one that
 * is slow to come for its place holds up no more than that one place. A caller without a waiter
 * stands behind all of them. Any thread. The lock is a leaf: nothing is called under it but the
 * write that wakes.
 */
#ifndef DX_FETCH_FETCH_LIMITS_H
#define DX_FETCH_FETCH_LIMITS_H

#include "fetch/hedge.h"
#include "fetch/retry.h"

#include <pthread.h>

/* Of the process: more than a hundred requests at 20 ms saturate a 10 Gbit/s line with pages of
 * 50 kB twice over, and a store that has slowed down is spared the rest. */
#define DX_FETCH_IN_FLIGHT 128

/* One a thread that waits without sleeping here: an event loop, or a libcurl multi. */
struct dx_fetch_waiter {
    struct dx_fetch_waiter *next;
    bool queued;
    int fd; /* an eventfd, not blocking: 1 is added when a place may be free */
};

struct dx_fetch_limits {
    struct dx_retry_budget budget;
    struct dx_retry_watch watch;
    struct dx_hedge hedge;
    pthread_mutex_t lock;
    pthread_cond_t left;
    struct dx_fetch_waiter *queue;
    unsigned in_flight;
    unsigned in_flight_max;
    unsigned in_flight_high; /* the most there were, for tests and metrics */
};

void dx_fetch_limits_init(struct dx_fetch_limits *limits, unsigned in_flight_max);
void dx_fetch_limits_release(struct dx_fetch_limits *limits);
bool dx_fetch_limits_enter(struct dx_fetch_limits *limits);
void dx_fetch_limits_leave(struct dx_fetch_limits *limits);
void dx_fetch_limits_wait(struct dx_fetch_limits *limits, unsigned ms);

/* false: the waiter stands in the queue now; it may have been woken for nothing. */
bool dx_fetch_limits_enter_as(struct dx_fetch_limits *limits, struct dx_fetch_waiter *waiter);
void dx_fetch_limits_unqueue(struct dx_fetch_limits *limits, struct dx_fetch_waiter *waiter);

void dx_fetch_limits_look(struct dx_fetch_limits *limits, uint64_t *in_flight,
                          uint64_t *in_flight_high);

/* The one of the process; never released. */
struct dx_fetch_limits *dx_fetch_limits_shared(void);

#endif
