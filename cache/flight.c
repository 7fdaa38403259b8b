/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/flight.h"

#include "base/clock.h"
#include "base/hash.h"
#include "cache/flight_table.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

enum state { FLYING, LANDED, FAILED, ABANDONED };

struct dx_flight {
    struct dx_flights *flights;
    struct dx_page_cache *cache;
    struct dx_cache_key key;
    struct dx_flight *chain;
    struct dx_flight_watch *watches;
    const void *who;         /* of the leader; compared only */
    struct dx_cached *block; /* pinned from landing to the last leave */
    struct dx_error err;
    enum state state;
    unsigned users; /* the leader while it leads, and each who waits */
};

static struct dx_flight **chain_of(struct dx_flights *f, const struct dx_cache_key *key)
{
    return &f->chains[dx_hash64(dx_span_of(key, sizeof *key)) % DX_FLIGHT_CHAINS];
}

static struct dx_flight *find(struct dx_flights *f, const struct dx_cache_key *key)
{
    struct dx_flight *at = *chain_of(f, key);

    while (at != NULL && memcmp(&at->key, key, sizeof *key) != 0)
        at = at->chain;
    return at;
}

/* Under the lock, with the key neither in the cache nor on its way. */
static struct dx_flight *take_off(struct dx_flights *f, struct dx_page_cache *cache,
                                  const struct dx_cache_key *key, const void *who)
{
    struct dx_flight **chain = chain_of(f, key);
    struct dx_flight *flight = calloc(1, sizeof *flight);

    f->counts.led++;
    if (flight == NULL)
        return NULL;
    flight->flights = f;
    flight->cache = cache;
    flight->key = *key;
    flight->who = who;
    flight->users = 1;
    flight->chain = *chain;
    *chain = flight;
    f->counts.now++;
    return flight;
}

enum dx_claim dx_flight_claim(struct dx_page_cache *cache, const struct dx_cache_key *key,
                              const void *who, struct dx_cached **block, struct dx_flight **flight)
{
    struct dx_flights *f = dx_page_cache_flights(cache);
    enum dx_claim claim = DX_CLAIM_WAIT;

    *flight = NULL;
    *block = dx_page_cache_get(cache, key);
    if (*block != NULL)
        return DX_CLAIM_HIT;
    (void)pthread_mutex_lock(&f->lock);
    *flight = find(f, key);
    if (*flight != NULL) {
        (*flight)->users++;
        f->counts.joined++;
    } else {
        /* A leader adds to the cache before its flight ends: this look misses nothing. */
        *block = dx_page_cache_get_again(cache, key);
        claim = *block != NULL ? DX_CLAIM_HIT : DX_CLAIM_LEAD;
        if (*block == NULL)
            *flight = take_off(f, cache, key, who);
    }
    (void)pthread_mutex_unlock(&f->lock);
    return claim;
}

static void unlist(struct dx_flights *f, struct dx_flight *flight)
{
    struct dx_flight **at = chain_of(f, &flight->key);

    while (*at != flight)
        at = &(*at)->chain;
    *at = flight->chain;
    f->counts.now--;
}

/* The last user frees it. Under the lock; what is to be freed is handed out of it. */
static bool drop(struct dx_flight *flight)
{
    assert(flight->users > 0);
    return --flight->users == 0;
}

static void destroy(struct dx_flight *flight)
{
    dx_page_cache_put(flight->cache, &flight->block);
    free(flight);
}

static void end_flight(struct dx_flight **out, enum state state, struct dx_cached *block,
                       const struct dx_error *err)
{
    struct dx_flight *flight = *out;
    struct dx_flight_watch *watch;
    struct dx_flight_watch *next;
    struct dx_flights *f;
    bool last;

    *out = NULL;
    if (flight == NULL)
        return;
    f = flight->flights;
    (void)pthread_mutex_lock(&f->lock);
    assert(flight->state == FLYING);
    unlist(f, flight);
    flight->state = state;
    if (err != NULL)
        flight->err = *err;
    if (block != NULL && flight->users > 1)
        flight->block = dx_page_cache_again(flight->cache, block);
    f->counts.failed += state == FAILED;
    f->counts.abandoned += state == ABANDONED;
    watch = flight->watches;
    flight->watches = NULL;
    last = drop(flight);
    (void)pthread_cond_broadcast(&f->ended);
    (void)pthread_mutex_unlock(&f->lock);
    for (; watch != NULL; watch = next) {
        next = watch->next; /* the call may free it */
        watch->call(watch->ctx);
    }
    if (last)
        destroy(flight);
}

void dx_flight_land(struct dx_flight **flight, struct dx_cached *block)
{
    end_flight(flight, LANDED, block, NULL);
}

void dx_flight_fail(struct dx_flight **flight, const struct dx_error *err)
{
    end_flight(flight, FAILED, NULL, err);
}

void dx_flight_abandon(struct dx_flight **flight)
{
    end_flight(flight, ABANDONED, NULL, NULL);
}

bool dx_flight_watch(struct dx_flight *flight, struct dx_flight_watch *watch)
{
    struct dx_flights *f = flight->flights;
    bool flying;

    (void)pthread_mutex_lock(&f->lock);
    flying = flight->state == FLYING;
    if (flying) {
        watch->next = flight->watches;
        flight->watches = watch;
    }
    (void)pthread_mutex_unlock(&f->lock);
    return flying;
}

bool dx_flight_wait(struct dx_flight *flight, uint64_t deadline_ms)
{
    struct dx_flights *f = flight->flights;
    bool ended;

    (void)pthread_mutex_lock(&f->lock);
    while (flight->state == FLYING && dx_cond_wait_until(&f->ended, &f->lock, deadline_ms))
        ;
    ended = flight->state != FLYING;
    (void)pthread_mutex_unlock(&f->lock);
    return ended;
}

bool dx_flight_ended(struct dx_flight *flight)
{
    bool ended;

    (void)pthread_mutex_lock(&flight->flights->lock);
    ended = flight->state != FLYING;
    (void)pthread_mutex_unlock(&flight->flights->lock);
    return ended;
}

int dx_flight_result(struct dx_flight *flight, const void *who, struct dx_cached **block,
                     struct dx_error *err)
{
    /* Written before the state under the lock, and not any more after it. */
    assert(dx_flight_ended(flight));
    if (flight->state == LANDED) {
        *block = dx_page_cache_again(flight->cache, flight->block);
        return 1;
    }
    if (flight->state == FAILED && flight->who == who)
        return dx_fail(err, flight->err.code, "%s", flight->err.text);
    return 0;
}

void dx_flight_leave(struct dx_flight **out)
{
    struct dx_flight *flight = *out;
    bool last;

    *out = NULL;
    if (flight == NULL)
        return;
    (void)pthread_mutex_lock(&flight->flights->lock);
    last = drop(flight);
    (void)pthread_mutex_unlock(&flight->flights->lock);
    if (last)
        destroy(flight);
}

void dx_flights_counts(struct dx_page_cache *cache, struct dx_flights_counts *out)
{
    struct dx_flights *f = dx_page_cache_flights(cache);

    (void)pthread_mutex_lock(&f->lock);
    *out = f->counts;
    (void)pthread_mutex_unlock(&f->lock);
}
