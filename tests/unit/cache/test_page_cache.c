/* SPDX-License-Identifier: Apache-2.0
 * The page cache: budget held at every step, blocks alive while in use, hits tell the
 * bytes that were put in, both orders of eviction, several threads.
 */
#include "cache/page_cache.h"

#include "base/hash.h"
#include "tests/support/damage.h"
#include "tests/support/sample.h"

#include <pthread.h>

enum { ROUNDS = DX_ROUNDS(50000, 12000) };

static unsigned failures;

static struct dx_cache_key key_of(uint64_t i)
{
    struct dx_cache_key key = { .part = i, .kind = 7 };

    key.object[0] = (uint8_t)(i % 3); /* the same part of several objects */
    return key;
}

/* The content of block i: its number over and over, so that a mixed-up block shows. */
static uint8_t *content(uint64_t i, size_t size)
{
    uint8_t *bytes = malloc(size);

    if (bytes == NULL)
        abort();
    for (size_t at = 0; at < size; at++)
        bytes[at] = (uint8_t)(i * 131 + at);
    return bytes;
}

#define COUNTED 256 /* bytes after which they come again */

static bool is_content(const struct dx_cached *page, uint64_t i)
{
    static uint8_t counted[2 * COUNTED]; /* set once, before there are threads */
    size_t size = page->bytes.size;
    bool same = true;

    if (counted[1] == 0)
        for (size_t at = 0; at < sizeof counted; at++)
            counted[at] = (uint8_t)at;
    for (size_t at = 0; same && at < size; at += COUNTED)
        same = memcmp(page->bytes.data + at, counted + (uint8_t)(i * 131),
                      size - at < COUNTED ? size - at : COUNTED) == 0;
    return same;
}

static struct dx_cached *fetch(struct dx_page_cache *c, uint64_t i, size_t size, bool *hit)
{
    struct dx_cache_key key = key_of(i);
    struct dx_cached *page = dx_page_cache_get(c, &key);

    *hit = page != NULL;
    return *hit ? page : dx_page_cache_add(c, &key, content(i, size), size);
}

static void check_budget(enum dx_evict evict)
{
    const uint64_t budget = 1 << 20;
    struct dx_page_cache_stats s;
    struct dx_page_cache *c;
    struct dx_error err = DX_ERROR_INIT;
    uint64_t seed = 3;
    uint64_t hits = 0;

    EXPECT(dx_page_cache_new(&c, budget, evict, &err) == DX_OK, "%s", err.text);
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t i = random_below(&seed, round % 4 == 0 ? 100000 : 50);
        bool hit;
        struct dx_cached *page = fetch(c, i, 100 + i % 900, &hit);

        hits += hit;
        EXPECT(page != NULL && page->bytes.size == 100 + i % 900 && is_content(page, i),
               "block %llu", (unsigned long long)i);
        dx_page_cache_put(c, &page);
        dx_page_cache_stats(c, &s);
        EXPECT(s.bytes <= budget, "%llu bytes", (unsigned long long)s.bytes);
        if (failures > 5)
            return;
    }
    EXPECT(s.hits == hits && s.hits + s.misses == ROUNDS, "counted");
    EXPECT(hits > ROUNDS * 3 / 5, "the hot blocks stay: %llu hits", (unsigned long long)hits);
    EXPECT(s.evictions > 0, "evicted");
    dx_page_cache_free(&c);
}

/* A block in use outlives its eviction; one over the budget is handed back uncached. */
static void check_in_use(enum dx_evict evict)
{
    struct dx_page_cache *c;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_cached *held;
    struct dx_cached *big;
    bool hit;

    EXPECT(dx_page_cache_new(&c, 1 << 16, evict, &err) == DX_OK, "%s", err.text);
    held = fetch(c, 1, 3000, &hit);
    for (uint64_t i = 2; i < 3000; i++) {
        struct dx_cached *page = fetch(c, i, 1000, &hit);

        dx_page_cache_put(c, &page);
    }
    EXPECT(is_content(held, 1), "held");
    dx_page_cache_put(c, &held);
    EXPECT(held == NULL, "put nulls");
    big = fetch(c, 999999, 1 << 17, &hit);
    EXPECT(big != NULL && is_content(big, 999999), "big");
    dx_page_cache_put(c, &big);
    big = fetch(c, 999999, 1 << 17, &hit);
    EXPECT(!hit, "too big to be cached");
    dx_page_cache_put(c, &big);
    dx_page_cache_free(&c);
}

/* What is asked again and again survives a scan: always with SIEVE, and that is why. */
static void check_order(void)
{
    struct dx_page_cache *c;
    struct dx_error err = DX_ERROR_INIT;
    bool hit;
    unsigned kept = 0;

    EXPECT(dx_page_cache_new(&c, 1 << 20, DX_EVICT_SIEVE, &err) == DX_OK, "%s", err.text);
    for (int round = 0; round < 3; round++)
        for (uint64_t i = 0; i < 100; i++) {
            struct dx_cached *page = fetch(c, i, 1000, &hit);

            dx_page_cache_put(c, &page);
        }
    for (uint64_t i = 1000; i < 1900; i++) {
        struct dx_cached *page = fetch(c, i, 1000, &hit);

        dx_page_cache_put(c, &page);
    }
    for (uint64_t i = 0; i < 100; i++) {
        struct dx_cache_key key = key_of(i);
        struct dx_cached *page = dx_page_cache_get(c, &key);

        kept += page != NULL;
        dx_page_cache_put(c, &page);
    }
    EXPECT(kept >= 90, "%u of 100 hot blocks kept", kept);
    dx_page_cache_free(&c);
}

static struct dx_page_cache *shared;

static void *work(void *arg)
{
    uint64_t seed = (uint64_t)(uintptr_t)arg;
    size_t bad = 0;

    for (int round = 0; round < ROUNDS; round++) {
        uint64_t i = random_below(&seed, 400);
        bool hit;
        struct dx_cached *page = fetch(shared, i, 500, &hit);

        bad += !is_content(page, i);
        dx_page_cache_put(shared, &page);
    }
    return (void *)bad;
}

static void check_threads(enum dx_evict evict)
{
    struct dx_error err = DX_ERROR_INIT;
    pthread_t threads[4];

    EXPECT(dx_page_cache_new(&shared, 100000, evict, &err) == DX_OK, "%s", err.text);
    for (uintptr_t i = 0; i < 4; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)(i + 1)) != 0)
            abort();
    for (int i = 0; i < 4; i++) {
        void *bad;

        (void)pthread_join(threads[i], &bad);
        EXPECT(bad == NULL, "wrong bytes");
    }
    dx_page_cache_free(&shared);
}

int main(void)
{
    for (int evict = DX_EVICT_LRU; evict <= DX_EVICT_SIEVE; evict++) {
        check_budget((enum dx_evict)evict);
        check_in_use((enum dx_evict)evict);
        check_threads((enum dx_evict)evict);
    }
    check_order();
    return failures > 0;
}
