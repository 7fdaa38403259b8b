/* SPDX-License-Identifier: Apache-2.0
 * labels: threads
 * Single flight: one leader a key, all others answered whatever becomes of it, and no block or
 * flight left over.
 */
#include "cache/flight.h"

#include "base/clock.h"
#include "tests/support/damage.h"
#include "tests/support/sample.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define BUDGET (1u << 20)

static unsigned failures;

static struct dx_page_cache *new_cache(uint64_t budget)
{
    struct dx_page_cache *c;
    struct dx_error err;

    if (dx_page_cache_new(&c, budget, DX_EVICT_LRU, &err) < 0)
        abort();
    return c;
}

static struct dx_cached *add(struct dx_page_cache *c, const struct dx_cache_key *key, size_t size)
{
    uint8_t *bytes = malloc(size);

    if (bytes == NULL)
        abort();
    memset(bytes, (int)key->part, size);
    return dx_page_cache_add(c, key, bytes, size);
}

static void counted(void *ctx)
{
    atomic_fetch_add((_Atomic int *)ctx, 1);
}

/* One leader, three who wait in three ways; `how`: 1 lands, 0 abandons, else the error's code. */
static void one_round(int how, size_t size, bool cached)
{
    struct dx_page_cache *c = new_cache(BUDGET);
    struct dx_cache_key key = { .part = 7, .kind = 1 };
    struct dx_flight *leader, *waits[3], *late = NULL;
    struct dx_cached *block = NULL;
    struct dx_error err = DX_ERROR_INIT;
    _Atomic int calls = 0;
    struct dx_flight_watch watch = { counted, &calls, NULL };
    struct dx_flights_counts counts;

    EXPECT(dx_flight_claim(c, &key, NULL, &block, &leader) == DX_CLAIM_LEAD && leader != NULL,
           "leads");
    for (int i = 0; i < 3; i++)
        EXPECT(dx_flight_claim(c, &key, NULL, &block, &waits[i]) == DX_CLAIM_WAIT && block == NULL,
               "waits");
    EXPECT(dx_flight_watch(waits[0], &watch), "under way");
    EXPECT(!dx_flight_ended(waits[1]), "under way");
    EXPECT(!dx_flight_wait(waits[2], dx_clock_ms() + 20), "waited in vain");
    dx_flight_leave(&waits[2]); /* its deadline came first */
    if (how == 1) {
        block = add(c, &key, size);
        dx_flight_land(&leader, block);
        dx_page_cache_put(c, &block);
    } else if (how == 0) {
        dx_flight_abandon(&leader);
    } else {
        (void)dx_fail(&err, (enum dx_code)how, "the store said no");
        dx_flight_fail(&leader, &err);
    }
    EXPECT(leader == NULL && calls == 1, "%d calls", calls);
    EXPECT(!dx_flight_watch(waits[1], &watch) && calls == 1, "it is over");
    EXPECT(dx_flight_wait(waits[1], 0), "no wait for what is over");
    for (int i = 0; i < 2; i++) {
        struct dx_error reported = DX_ERROR_INIT;
        int rc = dx_flight_result(waits[i], NULL, &block, &reported);

        if (how == 1)
            EXPECT(rc == 1 && block->bytes.size == size && block->bytes.data[size - 1] == 7, "%d",
                   rc);
        else if (how == 0)
            EXPECT(rc == 0, "%d", rc);
        else
            EXPECT(rc == how && strcmp(reported.text, "the store said no") == 0, "%s",
                   reported.text);
        if (rc == 1)
            dx_page_cache_put(c, &block);
    }
    dx_flight_leave(&waits[0]);
    /* While one still holds the end of it, a new claim is a hit or leads again. */
    EXPECT(dx_flight_claim(c, &key, NULL, &block, &late) ==
               (how == 1 && cached ? DX_CLAIM_HIT : DX_CLAIM_LEAD),
           "after the end");
    dx_flight_abandon(&late);
    dx_page_cache_put(c, &block);
    dx_flight_leave(&waits[1]);
    dx_flights_counts(c, &counts);
    EXPECT(counts.now == 0 && counts.joined == 3 && counts.led == (how == 1 && cached ? 1 : 2),
           "counted: led %llu", (unsigned long long)counts.led);
    dx_page_cache_free(&c);
}

/* ---- many threads ---- */

#define KEYS 5
#define THREADS 8
#define ROUNDS DX_ROUNDS(4000, 1500)

struct crowd {
    struct dx_page_cache *cache;
    _Atomic int leading[ROUNDS / 50][KEYS]; /* never above one */
    _Atomic uint64_t fetched;
    _Atomic uint64_t wrong;
};

static void lead(struct crowd *k, struct dx_cache_key *key, struct dx_flight **flight,
                 unsigned dice)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_cached *block;

    if (atomic_fetch_add(&k->leading[key->kind][key->part], 1) != 0)
        atomic_fetch_add(&k->wrong, 1);
    atomic_fetch_add(&k->fetched, 1);
    if (dice % 16 == 0)
        (void)sched_yield();
    (void)dx_fail(&err, DX_E_IO, "%u", dice);
    block = dice % 3 == 0 ? NULL : add(k->cache, key, dice % 2 == 0 ? 100 : BUDGET);
    atomic_fetch_sub(&k->leading[key->kind][key->part], 1);
    if (block != NULL)
        dx_flight_land(flight, block);
    else if (dice % 2 == 0)
        dx_flight_fail(flight, &err);
    else
        dx_flight_abandon(flight);
    dx_page_cache_put(k->cache, &block);
}

static void *in_crowd(void *argument)
{
    struct crowd *k = argument;
    uint64_t seed = (uint64_t)(uintptr_t)&seed;

    for (unsigned i = 0; i < ROUNDS; i++) {
        struct dx_cache_key key = { .part = random_below(&seed, KEYS), .kind = i / 50 };
        struct dx_flight *flight;
        struct dx_cached *block;
        struct dx_error err;
        enum dx_claim claim = dx_flight_claim(k->cache, &key, NULL, &block, &flight);

        if (claim == DX_CLAIM_LEAD) {
            lead(k, &key, &flight, (unsigned)random_below(&seed, 1000));
            continue;
        }
        if (claim == DX_CLAIM_WAIT) {
            if (!dx_flight_wait(flight, dx_clock_ms() + 10000))
                atomic_fetch_add(&k->wrong, 1);
            if (dx_flight_result(flight, NULL, &block, &err) != 1)
                block = NULL;
            dx_flight_leave(&flight);
        }
        if (block != NULL && block->bytes.data[0] != key.part)
            atomic_fetch_add(&k->wrong, 1);
        dx_page_cache_put(k->cache, &block);
    }
    return NULL;
}

static void check_crowd(void)
{
    struct crowd k = { .cache = new_cache(16 * BUDGET) };
    pthread_t threads[THREADS];
    struct dx_flights_counts counts;

    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, in_crowd, &k) != 0)
            abort();
    for (int i = 0; i < THREADS; i++)
        (void)pthread_join(threads[i], NULL);
    dx_flights_counts(k.cache, &counts);
    EXPECT(counts.now == 0, "%llu left over", (unsigned long long)counts.now);
    EXPECT(counts.led == k.fetched, "%llu led", (unsigned long long)counts.led);
    EXPECT(k.wrong == 0, "%llu wrong", (unsigned long long)k.wrong);
    dx_page_cache_free(&k.cache);
}

static void check_drop(void)
{
    struct dx_page_cache *c = new_cache(BUDGET);
    struct dx_cached *held = NULL;
    struct dx_cached *block;

    for (uint64_t i = 0; i < 60; i++) {
        struct dx_cache_key key = { .part = i % 20, .kind = 1 };

        key.object[3] = (uint8_t)(i / 20);
        block = add(c, &key, 64);
        if (i == 25)
            held = block;
        else
            dx_page_cache_put(c, &block);
    }
    EXPECT(dx_page_cache_drop(c, (const uint8_t[16]){ 0, 0, 0, 1 }, 5, 14) == 10, "ten of them");
    EXPECT(held->bytes.data[63] == 5, "in use: still there");
    for (uint64_t i = 0; i < 60; i++) {
        struct dx_cache_key key = { .part = i % 20, .kind = 1 };

        key.object[3] = (uint8_t)(i / 20);
        block = dx_page_cache_get(c, &key);
        EXPECT((block == NULL) == (i >= 25 && i < 35), "block %llu", (unsigned long long)i);
        dx_page_cache_put(c, &block);
    }
    dx_page_cache_put(c, &held);
    dx_page_cache_free(&c);
}

int main(void)
{
    one_round(1, 100, true);
    one_round(1, BUDGET, false); /* too large to be kept: those who wait have it all the same */
    one_round(0, 0, false);
    one_round(DX_E_IO, 0, false);
    one_round(DX_E_NOT_FOUND, 0, false);
    one_round(DX_E_TIMEOUT, 0, false);
    check_crowd();
    check_drop();
    if (failures == 0)
        printf("flight: ok\n");
    return failures != 0;
}
