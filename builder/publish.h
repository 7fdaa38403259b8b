/* SPDX-License-Identifier: Apache-2.0
 * publish.h - a new index version of what is in the lake, all or nothing.
 *
 *   struct dx_publish_options o = { .root = root, .memory = 1 << 30, .threads = 2, .now_us = t };
 *   struct dx_publish_result r;
 *   rc = dx_publish(&o, &r, &err);          DX_OK: r.version is current now
 *   dx_publish_result_release(&r);
 *
 * Everything is made in ROOT/index/.tmp-PID/, synced, renamed to ROOT/index/VERSION/, opened
 * by the loader with every byte checked, and only then named by manifest.json, which is
 * replaced by rename. A reader sees the old version until that rename and the new one
 * after it; a crash anywhere before it leaves the old manifest with the old files. What a
 * dead publish left behind is removed by the next one.
 *
 * If the lake gives the build id of the current version, nothing is written and
 * r.unchanged is set (not with `force`). On error nothing stays but the old state.
 */
#ifndef DX_BUILDER_PUBLISH_H
#define DX_BUILDER_PUBLISH_H

#include <stdatomic.h>

#include "builder/index_build.h"
#include "format/manifest.h"

enum dx_publish_phase {
    DX_PUBLISH_LIST,
    DX_PUBLISH_SCAN,
    DX_PUBLISH_BUILD,
    DX_PUBLISH_CHECK,
    DX_PUBLISH_PHASES
};

struct dx_publish_progress { /* written while dx_publish runs, for another thread to read */
    _Atomic int phase;
    _Atomic uint64_t rows;
};

struct dx_publish_options {
    const char *root;
    const char *psl_path; /* NULL: the lake's own list, or the system's */
    size_t memory;        /* at least DX_PUBLISH_MEMORY_MIN */
    unsigned threads;
    bool force;
    int64_t now_us;
    struct dx_publish_progress *progress; /* may be NULL */
};

struct dx_publish_result {
    bool unchanged;
    char version[DX_VERSION_NAME];
    char psl_path[256]; /* cut; which list was taken */
    struct dx_manifest manifest;
    uint64_t lake_bytes;
    uint64_t skipped_columns;
    char skipped[128];
    uint64_t spilled_bytes;
    double seconds[DX_PUBLISH_PHASES];
    struct dx_index_stats index;
};

#define DX_PUBLISH_MEMORY_MIN (64u << 20)
#define DX_PUBLISH_PSL_SYSTEM "/usr/share/publicsuffix/public_suffix_list.dat"

int dx_publish(const struct dx_publish_options *options, struct dx_publish_result *result,
               struct dx_error *err);
void dx_publish_result_release(struct dx_publish_result *result);

#endif
