/* SPDX-License-Identifier: Apache-2.0
 * lake_adopt.h - finished lake files that other processes wrote become files of a lake, all of them or none.
 *
 *   struct dx_lake_adopt a = { .root = root, .files = &list, .psl_path = path };
 *   rc = dx_lake_adopt_run(&a, &err);          a.files_moved, a.datasets, a.placed
 *   free(a.placed);
 *
 * Into a directory files are moved by rename, so they must lie on its file system; into object
 * storage they are put, or copied by the store from below its spool/ (adopt_files.h). Their rows must
 * be distinct, which is checked (adopt_rows.h), and, of one dataset, in the order of the list: a program that
 * writes them in parallel gives each writer a range of domains (python/src/domaindex/spark). Names and the form
 * of rows are checked by the next publish, as those of any other new file. A file of the lake itself, and one that stands twice in the
 * list, are refused (DX_E_INVALID) before anything is moved.
 *
 * All or none: the registry first marks the datasets as being replaced, so that no file counts while
 * files are moved; then one write of it makes all of them count (docs/FORMAT.md 12.3). A run that
 * dies between leaves the datasets as they were; what it moved is removed by the next run or by
 * `ingest --replace`.
 *
 * A dataset that has rows is refused without `replace` (DX_E_EXISTS): nothing here compares new rows
 * with old ones. DX_E_INVALID: the suffix list is not the lake's. Takes the root's lock, or on a store
 * the right to write to these datasets (ingest_claim.h), and waits for it. One thread.
 */
#ifndef DX_BUILDER_LAKE_LAKE_ADOPT_H
#define DX_BUILDER_LAKE_LAKE_ADOPT_H

#include "base/error.h"
#include "builder/lake/lake_layout.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dx_adopt_list;

struct dx_lake_adopt {
    const char *root;
    const struct dx_adopt_list *files;
    const char *psl_path; /* the suffix list that the rows came from; NULL: the system's */
    bool replace;         /* the files take the place of all that their datasets had */
    bool dry_run;         /* check all that can refuse it, and change nothing; no lock is taken */
    uint64_t lock_wait_ms;
    bool (*stopped)(void);         /* may be NULL: asked before the first change */
    void (*say)(const char *text); /* may be NULL: a line on whom it waits for */

    size_t files_moved; /* of a dry run: that would be */
    size_t datasets;
    char (*placed)[DX_LAKE_PATH_MAX]; /* one a file, in their order: its path below the root */
};

int dx_lake_adopt_run(struct dx_lake_adopt *a, struct dx_error *err);

#endif
