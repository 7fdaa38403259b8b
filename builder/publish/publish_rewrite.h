/* SPDX-License-Identifier: Apache-2.0
 * publish_rewrite.h - a publish that changes the lake first: for compaction.
 *
 *   static int rewrite(void *ctx, const struct dx_rewrite_in *in, struct dx_rewrite_out *out,
 *                      struct dx_error *err);
 *   struct dx_publish_rewrite rewrite = { &mine, rewrite };
 *   options.rewrite = &rewrite;                        builder/publish/publish.h; rc = dx_publish(...)
 *
 * `run` looks at the files that the next version would have, reads those that it wants to replace,
 * and writes others in their place: into in->out_dir, an empty folder, under the paths that they
 * will have in the lake. It says in out->goes[i] which files the version leaves out, and adds the
 * new ones with dx_rewrite_out_add. Nothing of the root is touched by it. A file that no version
 * names yet may not go: the next publish would take it for new rows again.
 *
 * What dx_publish does around it, and what is there between any two steps:
 *
 *   the version's name is taken (on object storage by its claim), `run` writes into the work folder
 *   index/claims/VERSION.lake names the new files, synced       no new file is in the lake yet
 *   the new files are put in the lake, each under a free name they do not count as new rows
 *   the whole lake, as it will be, is scanned; the version is built, put in place, checked
 *   the flip                                                    from here files.tsv names them
 *
 * A run that fails before the flip removes the new files, then the list. A run that dies leaves
 * both: the files belong to no version (builder/lake/lake_membership.h), and a collector removes
 * them. The version is a full one (entry->base is empty). If `run` changes nothing and the
 * current version is such a one already, nothing is published and result.unchanged is set.
 *
 * Where a file of the current version cannot be read, the version is merged with that one instead, and the file's
 * dataset is as it was, frozen (publish_lake.h); result.damaged names the file. It is one that is not there
 * (options.allow.freezes: files[i].frozen of its dataset), that `run` has put into out->faults, or that the scan refuses.
 * If the scan refuses a file of a dataset of which `run` has taken files, each file that it refuses goes to `refuse`,
 * nothing is published (DX_E_CORRUPT), and the caller should run it again, without those datasets. What a store, or the
 * way to it, may be to blame for is an error, and so is a lake of which all datasets would be frozen.
 */
#ifndef DX_BUILDER_PUBLISH_PUBLISH_REWRITE_H
#define DX_BUILDER_PUBLISH_PUBLISH_REWRITE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/error.h"
#include "builder/scan/scan_faults.h"

struct dx_index_fetch;
struct dx_index_file;
struct dx_registry;
struct dx_rules;

struct dx_rewrite_in {
    const char *lake_dir; /* files[i] is at lake_dir/files[i].path, or is fetched there */
    /* by path; sizes are set, rows are not; one that is frozen may not go, and need not be there */
    const struct dx_index_file *files;
    size_t file_count;
    const struct dx_index_fetch *fetch; /* of object storage: before a file is read; else NULL */
    const struct dx_registry *registry; /* the datasets, with `next_part` of each */
    const char *out_dir;                /* empty; for new files, under their paths */
    const char *tmp_dir;
    size_t memory;
    unsigned threads;
    _Atomic uint64_t *rows_done;  /* for progress; may be NULL */
    const struct dx_rules *rules; /* suppressions whose rows are left out; may be NULL */
    uint64_t rules_last;          /* number of the last of them; 0: none */
    bool skip_rows;               /* faulty rows (builder/lake/row_fault.h) are left out */
    struct dx_span psl_text;
};

/* Of files[i]: goes[i]. */
struct dx_rewrite_out {
    bool *goes;   /* in->file_count, false; from dx_publish */
    char **paths; /* of the new files, relative as files[i].path; ascending or not */
    size_t path_count;
    size_t path_capacity;
    /* no row of what the version has is hit by suppressions up to this number; of frozen datasets
     * nothing is said: for these the current version speaks */
    uint64_t cleansed;
    struct dx_scan_faults faults; /* file_id: of in->files; no file of their datasets goes */
};

struct dx_publish_rewrite {
    void *ctx;
    int (*run)(void *ctx, const struct dx_rewrite_in *in, struct dx_rewrite_out *out,
               struct dx_error *err);
    /* The files that run made, and that are still in in->out_dir, get other names, into out. */
    int (*rename)(void *ctx, const struct dx_rewrite_in *in, struct dx_rewrite_out *out,
                  struct dx_error *err);
    int (*refuse)(void *ctx, const char *path, const struct dx_error *fault, struct dx_error *err);
};

/* path is copied. Once a file; DX_E_INVALID: not a path of our layout
 * (builder/lake/lake_layout.h). */
int dx_rewrite_out_add(struct dx_rewrite_out *out, const char *path, struct dx_error *err);

#endif
