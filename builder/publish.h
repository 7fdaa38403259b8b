/* SPDX-License-Identifier: Apache-2.0
 * publish.h - a new index version of what is in the lake, all or nothing.
 *
 *   struct dx_publish_options o = { .root = root, .memory = 1 << 30, .threads = 2, .now_us = t };
 *   struct dx_publish_result r;
 *   rc = dx_publish(&o, &r, &err);          DX_OK: r.version is current now
 *   dx_publish_result_release(&r);
 *
 * In a directory everything is made in ROOT/index/.tmp-PID/, synced, renamed to
 * ROOT/index/VERSION/, opened by the loader with every byte checked, and only then named by
 * manifest.json, which is replaced by rename. A reader sees the old version until that rename and
 * the new one after it; a crash anywhere before it leaves the old manifest with the old files. What
 * a dead publish left behind is removed by the next one.
 *
 * On object storage (s3://) the lake's files are brought to a work folder, read and dropped, the
 * version is made there and uploaded, each object under a name that was free; it is read back
 * whole and opened by the loader from the store; and only then manifest.json is put on the
 * condition that nobody has changed it but collectors. Who comes second gets DX_E_CONFLICT, and
 * takes his objects away. There is no lock: see publish_remote.h.
 *
 * Disk on object storage: the work folder holds the index twice (as it was made, and as it was
 * read back), the sort's files, and of the lake the files that are being read: those of one
 * dataset whose prefixes overlap together, and of others as many as there are threads and room.
 *
 * The version is merged with the current one (builder/index_base.h) if that can be: only new files are
 * read, and shards of the index that did not change are shared with it. result.incremental, and
 * result.why, say which it was. Which files the version has: builder/lake_named.h.
 *
 * If the lake gives the build id of the current version, nothing is written and
 * r.unchanged is set (not with `force`; nor if objects of a store have been restored or copied since
 * and have other ETags than the version says: r.other_etags, publish_etags.h). On error nothing stays but the old state, but for
 * DX_E_UNKNOWN: nobody could tell whether the last put arrived.
 */
#ifndef DX_BUILDER_PUBLISH_H
#define DX_BUILDER_PUBLISH_H

#include <stdatomic.h>
#include <stdbool.h>

#include "builder/index_build.h"
#include "fetch/source.h"
#include "format/manifest.h"

struct dx_publish_rewrite;
struct dx_rules;

enum dx_publish_phase {
    DX_PUBLISH_LIST,
    DX_PUBLISH_SCAN,
    DX_PUBLISH_BUILD,
    DX_PUBLISH_UPLOAD, /* object storage only */
    DX_PUBLISH_CHECK,
    DX_PUBLISH_PHASES
};

struct dx_publish_progress { /* written while dx_publish runs, for another thread to read */
    _Atomic int phase;
    _Atomic uint64_t items; /* of the phase: rows, files */
    _Atomic uint64_t bytes;
    _Atomic uint64_t bytes_total; /* 0: not known */
};

struct dx_publish_options {
    const char *root;
    const char *work_dir; /* on object storage: where a work folder is made; NULL: TMPDIR, /tmp */
    bool through_store;   /* tests: a directory too is written as object storage is */
    const char *psl_path; /* NULL: the lake's own list, or the system's */
    size_t memory;        /* at least DX_PUBLISH_MEMORY_MIN */
    unsigned threads;
    bool force;
    bool full; /* read the whole lake though the current version could be merged with */
    const struct dx_publish_rewrite *rewrite; /* publish_rewrite.h; NULL: the lake as it is */
    const struct dx_rules *rules;             /* for the rewrite; may be NULL */
    uint64_t rules_last;                      /* number of the last of them */
    int64_t now_us;                           /* the time in the version's name */
    bool fixed_time; /* and in the manifest, when the version before stopped being current: for
                      * bytes that can be repeated; else the store's clock, or this machine's */
    struct dx_publish_progress *progress; /* may be NULL */
};

struct dx_publish_result {
    bool unchanged;
    bool incremental; /* merged with the version that was current */
    char why[160];    /* the whole lake was read: why */
    uint64_t files_scanned;
    uint64_t rows_scanned;
    uint64_t files_out;  /* of the lake: taken out by removal, compaction or rollback */
    uint64_t files_gone; /* that the version before had and the lake has not */
    char version[DX_VERSION_NAME];
    char psl_path[256]; /* cut; which list was taken */
    bool psl_own;       /* it is the lake's */
    uint64_t leftovers; /* versions that no manifest names, over a day old, on object storage */
    char leftover[DX_VERSION_NAME]; /* the first of them */
    uint64_t other_etags; /* objects of an unchanged lake and its version with ETags of their own */
    char other_etag[DX_OBJECT_NAME_MAX + 1]; /* one of them */
    struct dx_manifest manifest;
    uint64_t lake_bytes;
    uint64_t skipped_columns;
    char skipped[128];
    uint64_t spilled_bytes;
    double seconds[DX_PUBLISH_PHASES];
    double cpu_s[DX_PUBLISH_PHASES]; /* of all threads */
    struct dx_index_stats index;
};

#define DX_PUBLISH_MEMORY_MIN (64u << 20)
#define DX_PUBLISH_PSL_SYSTEM "/usr/share/publicsuffix/public_suffix_list.dat"

int dx_publish(const struct dx_publish_options *options, struct dx_publish_result *result,
               struct dx_error *err);
void dx_publish_result_release(struct dx_publish_result *result);

#endif
