/* SPDX-License-Identifier: Apache-2.0
 * flight_table.h - the flights of a cache that are under way; for cache/flight.c, which makes them.
 *
 *   rc = dx_flights_new(&flights, &err);       each cache makes and frees its own
 *   dx_flights_free(&flights);                 none is under way
 *
 * What is under way is safe from every thread; new and free are not.
 */
#ifndef DX_CACHE_FLIGHT_TABLE_H
#define DX_CACHE_FLIGHT_TABLE_H

#include "base/error.h"

#include <pthread.h>
#include <stdint.h>

#define DX_FLIGHT_CHAINS 1024 /* of keys under way: as many as requests in flight, a few hundred */

struct dx_flight;

struct dx_flights_counts {
    uint64_t led;
    uint64_t joined;
    uint64_t failed;    /* flights, not those who waited */
    uint64_t abandoned; /* the same */
    uint64_t now;       /* under way */
};

struct dx_flights {
    pthread_mutex_t lock; /* locks of a cache are taken under it, never the other way round */
    pthread_cond_t ended;
    struct dx_flights_counts counts;
    struct dx_flight *chains[DX_FLIGHT_CHAINS];
};

int dx_flights_new(struct dx_flights **flights, struct dx_error *err);
void dx_flights_free(struct dx_flights **flights);

#endif
