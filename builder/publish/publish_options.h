/* SPDX-License-Identifier: Apache-2.0
 * publish_options.h - what a publish is asked for, what it tells while it runs, and what came of
 * it: publish.h.
 */
#ifndef DX_BUILDER_PUBLISH_PUBLISH_OPTIONS_H
#define DX_BUILDER_PUBLISH_PUBLISH_OPTIONS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "builder/index/index_build.h"
#include "builder/lake/left_out.h"
#include "builder/publish/publish_missing.h"
#include "fetch/source.h"
#include "format/version/manifest.h"

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

/* Rows of lake files that are faulty (builder/lake/row_fault.h). */
enum dx_foreign_rows {
    /* left out if the current version leaves rows out, and has the same suffix list */
    DX_FOREIGN_AS_BEFORE,
    DX_FOREIGN_REFUSE, /* their file is left out */
    DX_FOREIGN_SKIP    /* the rows are left out */
};

struct dx_publish_options {
    const char *root;
    const char *work_dir; /* on object storage: where a work folder is made; NULL: TMPDIR, /tmp */
    /* on object storage: where copies of the index stay from one publish to the next; NULL: as
     * loader/mirror.h says, or the work folder, if that cannot be written to */
    const char *cache_dir;
    bool through_store;   /* tests: a directory too is written as object storage is */
    const char *psl_path; /* NULL: the lake's own list, or the system's */
    size_t memory;        /* at least DX_PUBLISH_MEMORY_MIN */
    unsigned threads;
    bool force;
    uint64_t lock_wait_ms;         /* for another run that writes into a directory */
    struct dx_publish_allow allow; /* datasets that may lack files; none: publish_missing.h */
    enum dx_foreign_rows foreign_rows;
    /* of the version, its own included: DX_PARTS_MAX; 0 or 1: all is merged into one */
    unsigned parts_max;
    /* while it has fewer, at most so many pairs of older parts are merged before the version is
     * current; 0: no limit (builder/scan/parts_policy.h) */
    uint64_t merge_max;
    /* nothing new: what the current version has in fewer parts, if some should be merged */
    bool merge;
    bool (*stopped)(void); /* of a merge: true ends it soon, nothing changed; may be NULL */
    /* the files of a version become one object where they have at most so many bytes; 1: never; 0:
     * DX_PUBLISH_PACK_STORE on object storage, never in a directory */
    uint64_t pack_max;
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
    uint64_t files_out;     /* of the lake: taken out by removal, compaction or rollback */
    uint64_t files_missing; /* that it lacks: allowed now, or by the version before */
    /* rows more than there should be, of files that may never have been compared */
    uint64_t rows_twice;
    char twice[200];         /* URL of the first of them */
    uint64_t files_unlisted; /* that are there, though the listing of the store lacks them */
    char version[DX_VERSION_NAME];
    const char *psl_path; /* the list that was taken; NULL: the lake's own */
    uint64_t
        leftovers; /* versions that no manifest names, on object storage; over a day old where there was a manifest */
    char leftover[DX_VERSION_NAME]; /* the first of them */
    uint64_t other_etags; /* objects of an unchanged lake and its version with ETags of their own */
    char other_etag[DX_OBJECT_NAME_MAX + 1]; /* one of them */
    struct dx_manifest manifest;
    uint64_t lake_bytes;
    struct dx_left_out left_out; /* faulty files: publish_refuse.h */
    struct dx_left_out damaged;  /* of a rewrite: files whose datasets stay as they were */
    uint64_t rows_left_out;     /* of all files of the version: faulty rows that it does not have */
    uint64_t rows_left_out_now; /* of the files that were read */
    char first_left_out[700];   /* the first of these, with its file */
    uint64_t times_left_out;    /* rows read whose time is outside of years 0000..9999 */
    uint64_t skipped_columns;
    char skipped[128];
    uint64_t spilled_bytes;
    double seconds[DX_PUBLISH_PHASES];
    double cpu_s[DX_PUBLISH_PHASES]; /* of all threads */
    struct dx_index_stats index;
};

#define DX_PUBLISH_MEMORY_MIN (64u << 20)
#define DX_PUBLISH_PACK_STORE (8u << 20)
#define DX_PUBLISH_PACK_MAX (512u << 20)

#endif
