/* SPDX-License-Identifier: Apache-2.0
 * page_cache.h - immutable blocks of bytes under a byte budget.
 *
 *   dx_page_cache_new(&cache, 64 << 20, DX_EVICT_SIEVE, &err);
 *   struct dx_cached *page = dx_page_cache_get(cache, &key);        NULL: not there
 *   if (page == NULL)
 *       page = dx_page_cache_add(cache, &key, bytes, size);         takes over malloc'ed bytes
 *   ... page->bytes ...
 *   dx_page_cache_put(cache, &page);
 *   dx_page_cache_free(&cache);                                     after the last put
 *
 * A key begins with the identity of the object that the block was made from (its build
 * id or content hash), so a new version of an object never meets old blocks and a
 * reload needs no flush. Only verified bytes may be added. A block in use is not
 * evicted from under its user: it leaves the cache and is freed at the last put. A
 * block that alone is over the budget of its segment is handed back uncached.
 *
 * Thread-safe: keys are spread over segments with a lock each; a hit holds it for a
 * table probe. `add` of a key that another thread added meanwhile returns that block.
 * Budget counts the bytes and the bookkeeping of each block.
 */
#ifndef DX_CACHE_PAGE_CACHE_H
#define DX_CACHE_PAGE_CACHE_H

#include "base/bytes.h"
#include "base/error.h"

enum dx_evict {
    DX_EVICT_LRU,  /* the least recently used goes first */
    DX_EVICT_SIEVE /* a hit sets one bit; a hand sweeps from old to new (NSDI 2024) */
};

struct dx_cache_key {
    uint8_t object[16];
    uint64_t part; /* offset, or page number */
    uint32_t kind; /* what the bytes are, as DX_KIND(...) */
    uint32_t more; /* rest of the name, 0 if unused */
};

struct dx_cached {
    struct dx_span bytes;
};

struct dx_page_cache_stats {
    uint64_t hits, misses, evictions;
    uint64_t bytes, blocks;
};

struct dx_page_cache;
struct dx_flights;

int dx_page_cache_new(struct dx_page_cache **cache, uint64_t budget_bytes, enum dx_evict evict,
                      struct dx_error *err);
void dx_page_cache_free(struct dx_page_cache **cache);

struct dx_cached *dx_page_cache_get(struct dx_page_cache *cache, const struct dx_cache_key *key);

/* The same, for a caller that has asked already: a miss is not counted again. */
struct dx_cached *dx_page_cache_get_again(struct dx_page_cache *cache,
                                          const struct dx_cache_key *key);

/* NULL (and bytes freed) only when out of memory. */
struct dx_cached *dx_page_cache_add(struct dx_page_cache *cache, const struct dx_cache_key *key,
                                    uint8_t *bytes, size_t size);
/* The same with a copy of so many pieces, one behind the other. */
struct dx_cached *dx_page_cache_join(struct dx_page_cache *cache, const struct dx_cache_key *key,
                                     const struct dx_span *pieces, size_t count);
void dx_page_cache_put(struct dx_page_cache *cache, struct dx_cached **page);

/* One more pin on a block that the caller, or one that the caller relies on, has pinned. */
struct dx_cached *dx_page_cache_again(struct dx_page_cache *cache, struct dx_cached *page);

/* Forgets the blocks of an object with parts in [first, last]; those in use live until their last
 * put. Looks at every block: for what goes wrong, not for every day. Returns how many there
 * were. */
size_t dx_page_cache_drop(struct dx_page_cache *cache, const uint8_t object[16], uint64_t first,
                          uint64_t last);

/* Blocks that are being fetched for it: cache/flight.h. */
struct dx_flights *dx_page_cache_flights(struct dx_page_cache *cache);
void dx_page_cache_stats(struct dx_page_cache *cache, struct dx_page_cache_stats *out);

#endif
