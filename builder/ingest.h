/* SPDX-License-Identifier: Apache-2.0
 * ingest.h - raw records into the lake.
 *
 *   struct dx_ingest_options o = { .root = "...", .dataset = "crawl", ... };
 *   rc = dx_ingest_run(&o, &stats, &err);
 *
 * One run: reads all inputs with `threads` workers into an external sort (spill_sort.h),
 * compares with what the lake has of the same datasets, and writes the rows that are new
 * as sorted Parquet files. A row is a distinct (canonical URL, time, extras) of one
 * dataset; of several raw spellings the smallest in byte order is kept. The lake's bytes
 * depend on the records alone: not on order, threads or memory.
 *
 * All or nothing up to the last step, and safe at every point of it. The order is
 *   1. files complete and synced under ROOT/tmp-ingest-PID
 *   2. psl.dat, then the registry with the new names
 *   3. files renamed into place, folders synced
 * so no name in the lake is older than its bytes on the disk (how: base/file.h, DX_SYNC_LATER).
 * The registry comes first because a dataset without files harms nobody, while a file
 * whose id is not in the registry would belong to the next dataset that gets that id. A
 * run that dies in step 3 leaves some files; running it again adds the rest, because rows
 * that are there are not added twice. Bad records never end a run; damaged input, a full
 * disk or a taken lock do, and then nothing was added.
 *
 * A root on object storage (s3://) has no lock, no rename and no folders to sync. There the order is
 *   1. psl.dat and the registry, each by a conditional put: ids are known and nobody else's
 *   2. the claim to the datasets of the run (ingest_claim.h), and what the lake has of them
 *   3. files complete in a local folder, then put under names that are free, some at a time
 * with the same promise: a run that dies leaves whole files and names in the registry, and the
 * same run again adds what is missing. Its Parquet bytes are those of a local run.
 *
 * With `replace` each dataset that has rows in the run gets these and loses those it had, with the
 * next publish; the two writes of the registry that make it all or nothing are in ingest_replace.h.
 *
 * Memory: memory_bytes for sort, batches, filter and merge, and besides a constant: the
 * Parquet writer (about 16 MiB, and 6 a thread for the first 16; more with wide extras), code and
 * buffers of libraries.
 */
#ifndef DX_BUILDER_INGEST_H
#define DX_BUILDER_INGEST_H

#include <limits.h>

#include "base/error.h"
#include "builder/input_columns.h"
#include "builder/input_time.h"
#include "builder/rejects.h"

struct dx_progress;

#define DX_INGEST_MEMORY_MIN (64u << 20)
#define DX_INGEST_THREADS_MAX 256
#define DX_PSL_DEFAULT "/usr/share/publicsuffix/public_suffix_list.dat"

struct dx_ingest_options {
    const char *root;
    const char *dataset;         /* name of all rows, or NULL: want.dataset tells */
    struct dx_columns_want want; /* checked; extra_name belongs to the run afterwards */
    enum dx_record_format format;
    const char *rejects_path; /* NULL: ROOT/rejects/NNNNN.tsv; dx_ingest_rejects_dir */
    const char *work_dir;     /* for a root on object storage; NULL: TMPDIR, /tmp */
    const char *psl_path;     /* NULL: the lake's list, else the system's */
    uint64_t memory_bytes;
    unsigned threads;
    enum dx_ts_unit ts_unit;
    const char *const *meta; /* "KEY=VALUE" for each dataset of the run */
    size_t meta_count;
    bool replace; /* the rows of the run take the place of all that its datasets had */
    const char *const *input;
    size_t input_count;
    struct dx_progress *progress; /* may be NULL */
    bool (*stopped)(void);        /* may be NULL: true ends the run soon, nothing added */
    void (*say)(const char *);    /* may be NULL: what the run waits for */
    bool test_objects;            /* tests: a directory is written to as a store is */
    unsigned test_lease_ms;       /* tests: of claims, which then need not settle; else 0 */
    uint64_t test_scale;          /* tests: row counts count this many times; else 1 */
    size_t test_sort_bytes;       /* tests: memory of the sort, else 0 */
    unsigned test_fan_in;         /* tests: runs merged at a time, else 0 */
};

struct dx_ingest_stats {
    uint64_t records;
    uint64_t accepted; /* records - rejects */
    uint64_t stored;   /* rows added to the lake */
    uint64_t known;    /* distinct rows of this run that the lake had */
    uint64_t rejected[DX_ROW_REJECT_COUNT];
    uint64_t rejected_total;
    uint64_t repaired;          /* raw URLs and extras that were no UTF-8: U+FFFD put in */
    uint64_t canonical_refused; /* canonical URLs that are none: the row is of what was requested */
    uint64_t datasets;          /* with accepted rows */
    uint64_t datasets_new;
    uint64_t datasets_total; /* in the registry afterwards */
    uint64_t files;
    uint64_t file_bytes;
    uint64_t runs;
    uint64_t spilled_bytes;
    double read_seconds;
    double total_seconds;
    char *rejects_path; /* NULL: no rejects; free it */
};

/* Where the rejects file is made if rejects_path is NULL: ROOT/rejects, or a folder of the user's in
 * work_dir. */
void dx_ingest_rejects_dir(const struct dx_ingest_options *o, char path[PATH_MAX]);

int dx_ingest_run(struct dx_ingest_options *o, struct dx_ingest_stats *stats, struct dx_error *err);

#endif
