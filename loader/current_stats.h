/* SPDX-License-Identifier: Apache-2.0
 * current_stats.h - what a process that follows a root has done and has (loader/current.h).
 */
#ifndef DX_LOADER_CURRENT_STATS_H
#define DX_LOADER_CURRENT_STATS_H

#include "format/version/manifest.h"
#include "loader/current_options.h"
#include "loader/open_versions.h"

/* Where a reload can end; the last is the sum of all prepares. */
enum dx_reload_step {
    DX_RELOAD_OK,
    DX_RELOAD_MANIFEST, /* could not be read, or went back */
    DX_RELOAD_LEASE,
    DX_RELOAD_MEMORY,
    DX_RELOAD_LOAD,
    DX_RELOAD_WARM,
    DX_RELOAD_PREPARE,
    DX_RELOAD_STEPS
};

struct dx_current_stats {
    uint64_t sequence; /* of the manifest */
    /* The same where the version that it names is the served one, as after a rollback or a gc; else
     * the lower number that the served version was published with. */
    uint64_t served_sequence;
    uint64_t look_age_ms; /* since the last look at it ended */
    int64_t published_us;
    uint64_t rows_left_out; /* faulty rows of the lake files of the served version */
    uint64_t missing_files; /* of the lake, that the served version lacks by permission */
    int64_t loaded_us;      /* when the current version was swapped in */
    uint64_t objects_broken;
    uint64_t reloads[DX_RELOAD_STEPS]; /* by where they ended; OK: flips */
    uint64_t fetched;                  /* versions opened by name */
    uint64_t fetch_failures;
    /* Of the last load that came to the end of the phase, in seconds. */
    /* until the lease of the current version ends; 0: it has, or there is none */
    uint64_t lease_ms;
    bool leased;
    double load_s, warm_s;
    double prepare_s[DX_PREPARES_MAX];
    const char *prepare_name[DX_PREPARES_MAX];
    size_t prepare_count;
    /* of all versions that are open, resident or only pinned; what they share counts once */
    uint64_t mapped_bytes;
    uint64_t mapped_versions;
    size_t resident_count; /* the first is the current one */
    char resident[DX_RESIDENT_MAX + 1][DX_VERSION_NAME];
};

#endif
