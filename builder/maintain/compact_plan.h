/* SPDX-License-Identifier: Apache-2.0
 * compact_plan.h - which lake files a compaction merges. Pure.
 *
 *   struct dx_compact_file f[] = { { .dataset_id, .first, .last, .rows, .ours, .hit, .fixed }, ... };
 *   rc = dx_compact_plan(&plan, f, count, 1, &err);      those of a dataset together
 *   f[i].group           number of the group that takes it in, from 1; 0: it stays
 *   plan.group[g - 1]    dataset, ranges that it is written in, files, rows
 *   dx_compact_plan_release(&plan);
 *
 * A dataset's files are looked at in the ranges of prefixes that ingest would choose for all its
 * rows. Files that reach into the same range belong together, and through a wide file so do the
 * ranges it covers. What belongs together is merged if it has more files than full-sized ones would
 * be; else only the files with rows to be left out are rewritten. So a compaction of what a
 * compaction has made finds nothing to do. Files of other writers are taken only for rows to be
 * left out. Any thread.
 */
#ifndef DX_BUILDER_MAINTAIN_COMPACT_PLAN_H
#define DX_BUILDER_MAINTAIN_COMPACT_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct dx_compact_file {
    uint32_t dataset_id;
    uint8_t first; /* range of prefixes, both ends included */
    uint8_t last;
    bool ours;   /* has a name of ours */
    bool fixed;  /* may not go: no version names it yet, or frozen */
    bool frozen; /* its dataset stays as it is: it is not read */
    bool hit;    /* has rows to be left out */
    uint64_t rows;
    uint32_t group; /* set by the plan */
};

struct dx_compact_group {
    uint32_t dataset_id;
    unsigned ranges; /* of the dataset: 1, 16 or 256 */
    size_t files;    /* 0: none was taken after all */
    uint64_t rows;
};

struct dx_compact_plan {
    struct dx_compact_group *group;
    size_t count;
    size_t capacity;
};

/* scale: rows count so many times; for tests, else 1. */
int dx_compact_plan(struct dx_compact_plan *plan, struct dx_compact_file *file, size_t count,
                    uint64_t scale, struct dx_error *err);
void dx_compact_plan_release(struct dx_compact_plan *plan);

#endif
