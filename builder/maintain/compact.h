/* SPDX-License-Identifier: Apache-2.0
 * compact.h - small lake files into full-sized ones, suppressed rows out of them, as a new version.
 *
 *   struct dx_compact_options o = { .publish = { .root = root, .memory = m, ... } };
 *   struct dx_compact_result r;
 *   rc = dx_compact(&o, &r, &err);
 *   dx_compact_result_release(&r);
 *
 * Files that no version names yet are published first, so that all that is taken out is named by
 * the version before. Then a full version is published of a lake in which merged files take the
 * place of those that compact_plan.h chooses, without the rows that index/suppressions.log hits
 * (publish_rewrite.h says what there is at each step, and what a compaction that dies leaves). The
 * old files stay for the older versions and go with them. Answers are the same as before, but for
 * the rows that are left out, and the order of rows within a listing.
 *
 * A file of a version that cannot be read, or is not there, or has rows to be left out and cannot be rewritten, stops
 * the compaction of its dataset alone: that dataset is as the current version has it, publish.damaged names the file,
 * the rest is done, and `cleansed` stays what it was (publish_rewrite.h). The caller should say that it was done in
 * part. While files are not there, new ones are not published first and not merged: new_wait.
 *
 * With dry_run nothing is written, and nothing is read but lists: which files suppressions would
 * add is not known then. One thread calls it; publish.threads work.
 */
#ifndef DX_BUILDER_MAINTAIN_COMPACT_H
#define DX_BUILDER_MAINTAIN_COMPACT_H

#include "builder/maintain/compact_plan.h"
#include "builder/publish/publish.h"

struct dx_compact_options {
    struct dx_publish_options publish; /* rewrite and rules are set by the run */
    bool dry_run;
    bool (*stopped)(void); /* may be NULL: true ends the merging soon, nothing changed */
    uint64_t test_scale;   /* tests: row counts count this many times; 0: once */
};

/* Files that were to be merged and were not, but for those of them that rules hit: these are rewritten alone. */
struct dx_compact_left {
    size_t groups;
    char why[256]; /* of the first */
};

struct dx_compact_result {
    struct dx_publish_result publish; /* not of a dry run */
    struct dx_left_out left_out;      /* new files that the publish before it did not take */
    char published[DX_VERSION_NAME];  /* the version that new files went into before; "": none */
    struct dx_compact_plan plan;
    uint64_t files_taken; /* merged or rewritten */
    uint64_t bytes_taken;
    uint64_t files_new; /* that no version names; of a dry run: that would be published before */
    bool new_wait;      /* they were not, as a publish refuses while files are missing */
    uint64_t files_made;
    uint64_t bytes_made;
    uint64_t rows_left_out;
    uint64_t rows_equal;
    uint64_t rules_last; /* of the log; 0: there is none */
    struct dx_compact_left left;
};

int dx_compact(const struct dx_compact_options *options, struct dx_compact_result *result,
               struct dx_error *err);
void dx_compact_result_release(struct dx_compact_result *result);

#endif
