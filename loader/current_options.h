/* SPDX-License-Identifier: Apache-2.0
 * current_options.h - how a process follows a root (loader/current.h).
 *
 *   struct dx_current_options options = DX_CURRENT_OPTIONS_INIT;
 */
#ifndef DX_LOADER_CURRENT_OPTIONS_H
#define DX_LOADER_CURRENT_OPTIONS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dx_lease;
struct dx_version;
struct dx_version_options;

/* Runs on a version before it serves; a negative result refuses it. In
 * the owner's thread, or, of a version that is fetched, in that of the fetching thread. */
struct dx_prepare {
    const char *name; /* one word, for logs and metrics; not copied */
    int (*run)(void *ctx, struct dx_version *v, struct dx_error *err);
    void *ctx;
};

#define DX_PREPARES_MAX 8

#define DX_RESIDENT_VERSIONS 8
#define DX_CURSOR_LIFE_MS (900u * 1000)

struct dx_current_options {
    const struct dx_version_options *version;
    uint64_t cursor_life_ms;    /* a superseded version stays for so long */
    uint64_t resident_bytes;    /* of mapped files; 0: no cap of its own */
    unsigned resident_versions; /* DX_RESIDENT_MIN .. DX_RESIDENT_MAX */
    struct dx_lease *lease;     /* borrowed; NULL: none. Its locking is ours */
    uint64_t request_ms;        /* with a lease: no request takes longer */
    /* an answer that needs suppressed rows reads them itself (DX_SUPPRESSIONS_LIVE_WAIT), as nothing
     * else of the process does */
    bool waits_for_suppressions;
    bool warm; /* read the mapped files before a swap, if they fit into MemAvailable; else refuse */
    struct dx_prepare prepare[DX_PREPARES_MAX];
    size_t prepare_count;
};

#define DX_CURRENT_OPTIONS_INIT                                                              \
    {                                                                                        \
        NULL, DX_CURSOR_LIFE_MS, 0, DX_RESIDENT_VERSIONS, NULL, 0, false, true, { { 0 } }, 0 \
    }

#endif
