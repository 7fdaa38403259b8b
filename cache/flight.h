/* SPDX-License-Identifier: Apache-2.0
 * flight.h - one fetch for all who want the same block of a cache.
 *
 *   switch (dx_flight_claim(cache, &key, who, &block, &flight)) {
 *   case DX_CLAIM_HIT:     block is pinned for the caller, as by dx_page_cache_get
 *   case DX_CLAIM_LEAD:    the caller fetches, checks, adds to the cache, and then
 *       dx_flight_land(&flight, block);                  or
 *       dx_flight_fail(&flight, &err);                   or, if it stops without a reason that
 *       dx_flight_abandon(&flight);                      would hold for others too
 *   case DX_CLAIM_WAIT:    another caller does
 *       if (dx_flight_watch(flight, &watch))  watch.call(watch.ctx) will be called, once
 *       dx_flight_wait(flight, deadline);     or block; false: the time is over
 *       rc = dx_flight_result(flight, who, &block, &err);
 *           1 block is pinned for the caller; 0 claim again; <0 the leader's error
 *       dx_flight_leave(&flight);
 *   }
 *
 * A leader ends its flight on every path, or those who wait would do so for ever. A leader never
 * waits for other flights while it leads, so there is no circle of waits. A failed flight is
 * forgotten at once: the next claim leads again.
 *
 * `who` is whose error it would be: what the leader knows of the object that it reads may be wrong
 * for others (another version names and pins it otherwise), who then claim again.
 *
 * When memory for the bookkeeping is lacking the claim is DX_CLAIM_LEAD without a flight (NULL);
 * land, fail, abandon and leave do nothing then. Thread-safe; watch.call runs in the thread that
 * ends the flight, without a lock held.
 */
#ifndef DX_CACHE_FLIGHT_H
#define DX_CACHE_FLIGHT_H

#include "cache/flight_table.h"
#include "cache/page_cache.h"

struct dx_flight;

enum dx_claim { DX_CLAIM_HIT, DX_CLAIM_LEAD, DX_CLAIM_WAIT };

struct dx_flight_watch {
    void (*call)(void *ctx);
    void *ctx;
    struct dx_flight_watch *next; /* private; the watch stays where it is until it is called */
};

enum dx_claim dx_flight_claim(struct dx_page_cache *cache, const struct dx_cache_key *key,
                              const void *who, struct dx_cached **block, struct dx_flight **flight);

/* For the leader. block stays the caller's; it need not have found room in the cache. */
void dx_flight_land(struct dx_flight **flight, struct dx_cached *block);
void dx_flight_fail(struct dx_flight **flight, const struct dx_error *err);
void dx_flight_abandon(struct dx_flight **flight);

/* For those who wait. watch: false if it has ended already, and nothing will be called. */
bool dx_flight_watch(struct dx_flight *flight, struct dx_flight_watch *watch);
bool dx_flight_wait(struct dx_flight *flight, uint64_t deadline_ms); /* dx_clock_ms */
bool dx_flight_ended(struct dx_flight *flight);
int dx_flight_result(struct dx_flight *flight, const void *who, struct dx_cached **block,
                     struct dx_error *err);
void dx_flight_leave(struct dx_flight **flight);

void dx_flights_counts(struct dx_page_cache *cache, struct dx_flights_counts *out);

#endif
