/* SPDX-License-Identifier: Apache-2.0
 * compact_merge.h - several lake files of one dataset into full-sized sorted ones.
 *
 *   struct dx_compact_merge m = { .in = in, .file = indexes, .file_count = n, .ranges = 16,
 *                                 .dataset_id = id, .dataset_name = name, .rows_a_file = rows };
 *   rc = dx_compact_merge_columns(&m, &err);      1 can be done; 0 not, and m.why says why
 *   rc = dx_compact_merge_run(&m, made, ctx, &err);   made(ctx, path, &where, &err): each new file
 *   m.rows_read, .rows_left_out, .rows_equal
 *   dx_compact_merge_release(&m);
 *
 * All rows of the files, with all columns, but for those that in->rules hit, and without what led
 * to a row where that is hit (rule_redirects.h). Columns beyond ours are those of all files
 * together, in the order in which the files by path fetch them, null where a file has none; times
 * are microseconds if any file has finer ones than milliseconds. Of rows that are equal but for
 * raw_url one is kept, as ingest does.
 *
 * Rows go through an external sort (spill_sort.h) within in->memory: files may have different
 * columns, and other writers' files need not be in our order of times and schemes. The bytes of the
 * result depend on the rows and the order of the files alone, not on memory or threads.
 *
 * new files are made in in->tmp_dir; `made` moves them. Files of object storage are there together
 * while they are read; more than in->fetch->disk_bytes of them is DX_E_LIMIT.
 */
#ifndef DX_BUILDER_MAINTAIN_COMPACT_MERGE_H
#define DX_BUILDER_MAINTAIN_COMPACT_MERGE_H

#include "builder/lake/lake_layout.h"
#include "builder/lake/lake_parts.h"
#include "builder/publish/publish_rewrite.h"
#include "builder/scan/scan_faults.h"

typedef int dx_compact_made(void *ctx, const char *path, const struct dx_lake_path *where,
                            struct dx_error *err);

struct dx_compact_merge {
    const struct dx_rewrite_in *in;
    const uint32_t *file; /* indexes of in->files, ascending */
    size_t file_count;
    uint32_t dataset_id;
    const char *dataset_name;
    unsigned ranges;
    uint64_t rows_a_file;
    bool (*stopped)(void); /* may be NULL */

    /* what columns and run found */
    char why[200];
    uint64_t rows_read;
    uint64_t rows_left_out;
    uint64_t rows_equal;
    /* if they failed: files that could not be read, by their indexes; none: it was not for a file */
    struct dx_scan_faults faults;

    /* private */
    bool ts_micros;
    char *extra[DX_LAKE_EXTRA_MAX];
    size_t extra_count;
    bool has_locator; /* the last of them */
    bool fetched;
};

int dx_compact_merge_columns(struct dx_compact_merge *m, struct dx_error *err);
int dx_compact_merge_run(struct dx_compact_merge *m, dx_compact_made *made, void *ctx,
                         struct dx_error *err);
void dx_compact_merge_release(struct dx_compact_merge *m);

/* The lowest number of a rule that hits a row of in->files[file], or what led to one; 0: none.
 * first: any will do. */
int dx_compact_hit(const struct dx_rewrite_in *in, uint32_t file, bool first, uint64_t *number,
                   struct dx_error *err);

#endif
