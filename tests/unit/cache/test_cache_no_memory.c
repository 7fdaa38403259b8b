/* SPDX-License-Identifier: Apache-2.0
 * A cache that cannot have memory holds less; what it was given is freed, and what it has stays
 * right.
 */
#include "cache/page_cache.h"

#include <stdlib.h>
#include <string.h>

#include "tests/runner/fail_alloc.h"

#define BLOCKS 40

static int add(struct dx_page_cache *cache, uint64_t part, struct dx_error *err)
{
    const struct dx_cache_key key = { .object = { 1 }, .part = part, .kind = 2 };
    uint8_t *bytes = malloc(1000);
    struct dx_cached *page;

    if (bytes == NULL)
        return dx_no_memory(err, "block");
    memset(bytes, (int)part, 1000);
    page = dx_page_cache_add(cache, &key, bytes, 1000);
    if (page == NULL)
        return dx_no_memory(err, "cache");
    dx_page_cache_put(cache, &page);
    page = dx_page_cache_get(cache, &key);
    if (page != NULL && (page->bytes.size != 1000 || page->bytes.data[999] != (uint8_t)part))
        return dx_fail(err, DX_E_CORRUPT, "block %llu", (unsigned long long)part);
    if (page != NULL)
        dx_page_cache_put(cache, &page);
    return DX_OK;
}

/* A block that could not be added leaves a cache that goes on. */
static int blocks(void *ctx, struct dx_error *err)
{
    struct dx_page_cache *cache = NULL;
    int rc = dx_page_cache_new(&cache, 100 << 10, *(const enum dx_evict *)ctx, err);
    int first = rc;

    for (uint64_t i = 0; cache != NULL && i < BLOCKS; i++) {
        struct dx_error why = DX_ERROR_INIT;

        rc = add(cache, i % (BLOCKS / 2), &why);
        if (rc < 0 && first == DX_OK) {
            first = rc;
            *err = why;
        }
    }
    dx_page_cache_free(&cache);
    return first;
}

int main(void)
{
    enum dx_evict lru = DX_EVICT_LRU, sieve = DX_EVICT_SIEVE;

    return fail_alloc_each("LRU", 0, blocks, &lru) + fail_alloc_each("SIEVE", 0, blocks, &sieve) >
           0;
}
