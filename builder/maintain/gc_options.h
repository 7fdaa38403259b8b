/* SPDX-License-Identifier: Apache-2.0
 * gc_options.h - what a collection is asked for: gc.h.
 */
#ifndef DX_BUILDER_MAINTAIN_GC_OPTIONS_H
#define DX_BUILDER_MAINTAIN_GC_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct dx_gc_options {
    const char *root;
    unsigned keep; /* the newest, at least 1 */
    uint64_t keep_for_s;
    bool remove;    /* false: says what would go */
    uint32_t ttl_s; /* of leases */
    uint32_t cursor_life_s;
    uint32_t request_s;
    uint32_t skew_s;
    unsigned max_share;    /* percent of the bytes that versions have */
    uint64_t lock_wait_ms; /* in a directory: for another command that writes there */
    uint64_t spool_s;      /* what jobs left below spool/ stays so long */
    unsigned threads;      /* for removing */
    void (*say)(void *ctx, const char *line); /* what is found and done, line by line; or NULL */
    void *say_ctx;
};

#define DX_GC_OPTIONS_INIT                                                                       \
    {                                                                                            \
        .keep = 5, .keep_for_s = 86400, .ttl_s = 600, .cursor_life_s = 900, .request_s = 60,     \
        .skew_s = 60, .max_share = 50, .spool_s = 7 * 86400, .threads = 8, .lock_wait_ms = 10000 \
    }

#endif
