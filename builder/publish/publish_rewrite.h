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
 * them. The version is always a full one (entry->base is empty). If `run` changes nothing and the
 * current version is such a one already, nothing is published and result.unchanged is set.
 */
#ifndef DX_BUILDER_PUBLISH_PUBLISH_REWRITE_H
#define DX_BUILDER_PUBLISH_PUBLISH_REWRITE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/error.h"

struct dx_index_fetch;
struct dx_index_file;
struct dx_registry;
struct dx_rules;

struct dx_rewrite_in {
    const char *lake_dir; /* files[i] is at lake_dir/files[i].path, or is fetched there */
    const struct dx_index_file *files; /* by path; sizes are set, rows are not */
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
    uint64_t cleansed; /* no row of what the version has is hit by suppressions up to this number */
};

struct dx_publish_rewrite {
    void *ctx;
    int (*run)(void *ctx, const struct dx_rewrite_in *in, struct dx_rewrite_out *out,
               struct dx_error *err);
    /* The files that run made, and that are still in in->out_dir, get other names, into out. */
    int (*rename)(void *ctx, const struct dx_rewrite_in *in, struct dx_rewrite_out *out,
                  struct dx_error *err);
};

/* path is copied. Once a file; DX_E_INVALID: not a path of our layout
 * (builder/lake/lake_layout.h). */
int dx_rewrite_out_add(struct dx_rewrite_out *out, const char *path, struct dx_error *err);

#endif
