/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/page_cache.h"

#include "base/hash.h"
#include "cache/flight_table.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define SEGMENTS 16     /* more than the threads of a server on a big machine that meet here */
#define FIRST_CHAINS 64 /* hash chains of an empty segment; doubled as it fills */

struct block {
    struct dx_cached cached; /* first: a dx_cached is a block */
    struct dx_cache_key key;
    uint64_t hash;
    struct block *chain;
    struct block *newer, *older; /* eviction order */
    unsigned users;
    bool listed; /* still found by get */
    bool visited;
};

struct segment {
    pthread_mutex_t lock;
    struct block **chains;
    size_t chain_count; /* a power of two */
    struct block *newest, *oldest, *hand;
    struct dx_page_cache_stats stats;
};

struct dx_page_cache {
    uint64_t segment_budget;
    enum dx_evict evict;
    struct dx_flights *flights;
    struct segment segments[SEGMENTS];
};

int dx_page_cache_new(struct dx_page_cache **cache, uint64_t budget_bytes, enum dx_evict evict,
                      struct dx_error *err)
{
    struct dx_page_cache *c = calloc(1, sizeof *c);

    *cache = NULL;
    if (c == NULL)
        return dx_no_memory(err, "page cache");
    c->segment_budget = budget_bytes / SEGMENTS;
    c->evict = evict;
    for (size_t i = 0; i < SEGMENTS; i++) {
        struct segment *s = &c->segments[i];

        (void)pthread_mutex_init(&s->lock, NULL);
        s->chain_count = FIRST_CHAINS;
        s->chains = calloc(s->chain_count, sizeof *s->chains);
        if (s->chains == NULL) {
            dx_page_cache_free(&c);
            return dx_no_memory(err, "page cache");
        }
    }
    if (dx_flights_new(&c->flights, err) < 0) {
        dx_page_cache_free(&c);
        return DX_E_NOMEM;
    }
    *cache = c;
    return DX_OK;
}

static void block_free(struct block *b)
{
    free((void *)(uintptr_t)b->cached.bytes.data);
    free(b);
}

void dx_page_cache_free(struct dx_page_cache **cache)
{
    struct dx_page_cache *c = *cache;

    *cache = NULL;
    if (c == NULL)
        return;
    dx_flights_free(&c->flights);
    for (size_t i = 0; i < SEGMENTS; i++) {
        struct segment *s = &c->segments[i];

        while (s->oldest != NULL) {
            struct block *b = s->oldest;

            assert(b->users == 0);
            s->oldest = b->newer;
            block_free(b);
        }
        free(s->chains);
        (void)pthread_mutex_destroy(&s->lock);
    }
    free(c);
}

static uint64_t key_hash(const struct dx_cache_key *key)
{
    return dx_hash64(dx_span_of(key, sizeof *key));
}

static bool key_equal(const struct dx_cache_key *a, const struct dx_cache_key *b)
{
    return memcmp(a->object, b->object, sizeof a->object) == 0 && a->part == b->part &&
           a->kind == b->kind && a->more == b->more;
}

static struct segment *segment_of(struct dx_page_cache *c, uint64_t hash)
{
    return &c->segments[hash >> 60]; /* SEGMENTS is 16 */
}

static struct block **chain_of(struct segment *s, uint64_t hash)
{
    return &s->chains[hash & (s->chain_count - 1)];
}

static struct block *find(struct segment *s, uint64_t hash, const struct dx_cache_key *key)
{
    struct block *b = *chain_of(s, hash);

    while (b != NULL && (b->hash != hash || !key_equal(&b->key, key)))
        b = b->chain;
    return b;
}

static void order_remove(struct segment *s, struct block *b)
{
    if (s->hand == b)
        s->hand = b->newer;
    *(b->newer != NULL ? &b->newer->older : &s->newest) = b->older;
    *(b->older != NULL ? &b->older->newer : &s->oldest) = b->newer;
    b->newer = b->older = NULL;
}

static void order_add_newest(struct segment *s, struct block *b)
{
    b->older = s->newest;
    b->newer = NULL;
    *(s->newest != NULL ? &s->newest->newer : &s->oldest) = b;
    s->newest = b;
}

static uint64_t cost_of(const struct block *b)
{
    return b->cached.bytes.size + sizeof *b;
}

/* Takes b out of the table and the order; the last user frees it. */
static void unlist(struct segment *s, struct block *b)
{
    struct block **at = chain_of(s, b->hash);

    while (*at != b)
        at = &(*at)->chain;
    *at = b->chain;
    order_remove(s, b);
    b->listed = false;
    s->stats.bytes -= cost_of(b);
    s->stats.blocks--;
    if (b->users == 0)
        block_free(b);
}

static struct block *victim(const struct dx_page_cache *c, struct segment *s)
{
    struct block *b = s->hand != NULL ? s->hand : s->oldest;

    if (c->evict == DX_EVICT_LRU)
        return s->oldest;
    while (b->visited) {
        b->visited = false;
        b = b->newer != NULL ? b->newer : s->oldest;
    }
    s->hand = b->newer; /* NULL: begin at the oldest again */
    return b;
}

static struct dx_cached *get_cached(struct dx_page_cache *c, const struct dx_cache_key *key,
                                    unsigned miss)
{
    uint64_t hash = key_hash(key);
    struct segment *s = segment_of(c, hash);
    struct block *b;

    (void)pthread_mutex_lock(&s->lock);
    b = find(s, hash, key);
    if (b == NULL) {
        s->stats.misses += miss;
    } else {
        s->stats.hits++;
        b->users++;
        b->visited = true;
        if (c->evict == DX_EVICT_LRU && s->newest != b) {
            order_remove(s, b);
            order_add_newest(s, b);
        }
    }
    (void)pthread_mutex_unlock(&s->lock);
    return b == NULL ? NULL : &b->cached;
}

struct dx_cached *dx_page_cache_get(struct dx_page_cache *c, const struct dx_cache_key *key)
{
    return get_cached(c, key, 1);
}

struct dx_cached *dx_page_cache_get_again(struct dx_page_cache *c, const struct dx_cache_key *key)
{
    return get_cached(c, key, 0);
}

/* Longer chains only cost time, so failing to grow is not an error. */
static void grow_chains(struct segment *s)
{
    size_t count = s->chain_count * 2;
    struct block **chains = calloc(count, sizeof *chains);

    if (chains == NULL)
        return;
    for (size_t i = 0; i < s->chain_count; i++) {
        while (s->chains[i] != NULL) {
            struct block *b = s->chains[i];

            s->chains[i] = b->chain;
            b->chain = chains[b->hash & (count - 1)];
            chains[b->hash & (count - 1)] = b;
        }
    }
    free(s->chains);
    s->chains = chains;
    s->chain_count = count;
}

struct dx_cached *dx_page_cache_add(struct dx_page_cache *c, const struct dx_cache_key *key,
                                    uint8_t *bytes, size_t size)
{
    uint64_t hash = key_hash(key);
    struct segment *s = segment_of(c, hash);
    struct block *b = calloc(1, sizeof *b);
    struct block *there;

    if (b == NULL) {
        free(bytes);
        return NULL;
    }
    b->cached.bytes = dx_span_of(bytes, size);
    b->key = *key;
    b->hash = hash;
    b->users = 1;
    (void)pthread_mutex_lock(&s->lock);
    there = find(s, hash, key);
    if (there != NULL) {
        there->users++;
        (void)pthread_mutex_unlock(&s->lock);
        block_free(b);
        return &there->cached;
    }
    if (cost_of(b) <= c->segment_budget) {
        while (s->stats.bytes + cost_of(b) > c->segment_budget) {
            unlist(s, victim(c, s));
            s->stats.evictions++;
        }
        if (s->stats.blocks >= s->chain_count)
            grow_chains(s);
        b->listed = true;
        b->chain = *chain_of(s, hash);
        *chain_of(s, hash) = b;
        order_add_newest(s, b);
        s->stats.bytes += cost_of(b);
        s->stats.blocks++;
    }
    (void)pthread_mutex_unlock(&s->lock);
    return &b->cached;
}

struct dx_cached *dx_page_cache_join(struct dx_page_cache *c, const struct dx_cache_key *key,
                                     const struct dx_span *pieces, size_t count)
{
    size_t size = 0;
    uint8_t *bytes;

    for (size_t i = 0; i < count; i++)
        size += pieces[i].size;
    bytes = malloc(size > 0 ? size : 1);
    if (bytes == NULL)
        return NULL;
    size = 0;
    for (size_t i = 0; i < count; i++) {
        if (pieces[i].size > 0)
            memcpy(bytes + size, pieces[i].data, pieces[i].size);
        size += pieces[i].size;
    }
    return dx_page_cache_add(c, key, bytes, size);
}

void dx_page_cache_put(struct dx_page_cache *c, struct dx_cached **page)
{
    struct block *b = (struct block *)*page;
    struct segment *s;
    bool last;

    *page = NULL;
    if (b == NULL)
        return;
    s = segment_of(c, b->hash);
    (void)pthread_mutex_lock(&s->lock);
    assert(b->users > 0);
    last = --b->users == 0 && !b->listed;
    (void)pthread_mutex_unlock(&s->lock);
    if (last)
        block_free(b);
}

struct dx_flights *dx_page_cache_flights(struct dx_page_cache *c)
{
    return c->flights;
}

struct dx_cached *dx_page_cache_again(struct dx_page_cache *c, struct dx_cached *page)
{
    struct block *b = (struct block *)page;
    struct segment *s = segment_of(c, b->hash);

    (void)pthread_mutex_lock(&s->lock);
    assert(b->users > 0);
    b->users++;
    (void)pthread_mutex_unlock(&s->lock);
    return page;
}

size_t dx_page_cache_drop(struct dx_page_cache *c, const uint8_t object[16], uint64_t first,
                          uint64_t last)
{
    size_t dropped = 0;

    for (size_t i = 0; i < SEGMENTS; i++) {
        struct segment *s = &c->segments[i];
        struct block *next;

        (void)pthread_mutex_lock(&s->lock);
        for (struct block *b = s->oldest; b != NULL; b = next) {
            next = b->newer;
            if (memcmp(b->key.object, object, sizeof b->key.object) != 0 || b->key.part < first ||
                b->key.part > last)
                continue;
            unlist(s, b);
            dropped++;
        }
        (void)pthread_mutex_unlock(&s->lock);
    }
    return dropped;
}

void dx_page_cache_stats(struct dx_page_cache *c, struct dx_page_cache_stats *out)
{
    *out = (struct dx_page_cache_stats){ 0 };
    for (size_t i = 0; i < SEGMENTS; i++) {
        struct segment *s = &c->segments[i];

        (void)pthread_mutex_lock(&s->lock);
        out->hits += s->stats.hits;
        out->misses += s->stats.misses;
        out->evictions += s->stats.evictions;
        out->bytes += s->stats.bytes;
        out->blocks += s->stats.blocks;
        (void)pthread_mutex_unlock(&s->lock);
    }
}
