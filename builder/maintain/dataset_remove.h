/* SPDX-License-Identifier: Apache-2.0
 * dataset_remove.h - takes datasets out of a lake.
 *
 *   struct dx_dataset_remove r = { .root = root, .names = names, .count = n };
 *   rc = dx_dataset_remove_run(&r, &err);           all of them or none
 *   r.result[i].dataset_id, .files, .bytes, .unpublished          free(r.result)
 *
 * One write of the registry: the datasets' names go, their ids are marked as removed for ever. No
 * file is touched, so versions that have the datasets go on answering; the next publish leaves them
 * out, and a collector removes files with the last version that names them. A later ingest under
 * the same name begins a new dataset with a new id.
 *
 * DX_E_NOT_FOUND: a name that the registry does not have. Files that no version has stay in the lake,
 * where none takes them and no collector removes them: unpublished. What an
 * unfinished replacement left is removed here. On object storage it waits, as ingest does, for
 * those who add to the datasets.
 */
#ifndef DX_BUILDER_MAINTAIN_DATASET_REMOVE_H
#define DX_BUILDER_MAINTAIN_DATASET_REMOVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct dx_dataset_removed {
    uint32_t dataset_id;
    uint64_t files; /* in the lake, of all versions */
    uint64_t bytes;
    uint64_t unpublished; /* of these files: no version has them */
    char first[256];      /* path of one of those; "": unpublished is 0 */
};

struct dx_dataset_remove {
    const char *root;
    const char *const *names;
    size_t count;
    uint64_t lock_wait_ms;             /* for another run that writes into a directory */
    bool dry_run;                      /* everything but the writes */
    bool (*stopped)(void);             /* may be NULL: true ends a wait */
    void (*say)(const char *);         /* may be NULL: what it waits for */
    bool test_objects;                 /* tests: a directory is written to as a store is */
    struct dx_dataset_removed *result; /* of names[i] */
};

int dx_dataset_remove_run(struct dx_dataset_remove *r, struct dx_error *err);

#endif
