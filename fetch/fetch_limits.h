/* SPDX-License-Identifier: Apache-2.0
 * fetch_limits.h - what all sources of a process share: retry budget, requests in flight.
 *
 *   struct dx_fetch_limits limits;
 *   dx_fetch_limits_init(&limits, 64);
 *   if (dx_fetch_limits_enter(&limits))  ... one request ...  dx_fetch_limits_leave(&limits);
 *   dx_fetch_limits_wait(&limits, ms);        until one leaves, or ms are over
 *   dx_fetch_limits_release(&limits);
 *
 * Nobody who has a place waits for another one, so the gate cannot deadlock. Any thread. The lock
 * is a leaf: nothing is called under it.
 */
#ifndef DX_FETCH_FETCH_LIMITS_H
#define DX_FETCH_FETCH_LIMITS_H

#include "fetch/retry.h"

#include <pthread.h>

/* Of the process: more than a hundred requests at 20 ms saturate a 10 Gbit/s line with pages of
 * 50 kB twice over, and a store that has slowed down is spared the rest. */
#define DX_FETCH_IN_FLIGHT 128

struct dx_fetch_limits {
    struct dx_retry_budget budget;
    pthread_mutex_t lock;
    pthread_cond_t left;
    unsigned in_flight;
    unsigned in_flight_max;
    unsigned in_flight_high; /* the most there were, for tests and metrics */
};

void dx_fetch_limits_init(struct dx_fetch_limits *limits, unsigned in_flight_max);
void dx_fetch_limits_release(struct dx_fetch_limits *limits);
bool dx_fetch_limits_enter(struct dx_fetch_limits *limits);
void dx_fetch_limits_leave(struct dx_fetch_limits *limits);
void dx_fetch_limits_wait(struct dx_fetch_limits *limits, unsigned ms);

/* The one of the process; never released. */
struct dx_fetch_limits *dx_fetch_limits_shared(void);

#endif
