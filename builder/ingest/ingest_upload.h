/* SPDX-License-Identifier: Apache-2.0
 * ingest_upload.h - finished lake files into a root on object storage, several at a time.
 *
 *   struct dx_ingest_upload u = { .remote = &remote, .lake = &list, .registry = registry,
 *                                 .dir = dir, .made = made, .made_count = n };
 *   rc = dx_ingest_upload_run(&u, &err);          u.done: files that are there
 *
 * Each file gets the number behind those in `lake` and of its own folder, and no lower than the
 * registry allows, as a local run would give it, and is put if nothing has that name; a name that
 * is taken nevertheless is left alone, and the next one tried. What is there is removed from dir.
 * An error ends the run, once the files that are on their way have come or failed: those that are
 * there stay, each of them whole. One thread calls; several put files meanwhile.
 */
#ifndef DX_BUILDER_INGEST_INGEST_UPLOAD_H
#define DX_BUILDER_INGEST_INGEST_UPLOAD_H

#include "builder/lake/lake_layout.h"

#include <limits.h>

#define DX_INGEST_UPLOADS 8 /* at once: hides the delay of a request behind others */

struct dx_ingest_claim;
struct dx_ingest_dataset;
struct dx_progress;
struct dx_root;
struct dx_dataset_registry;

/* A finished file that waits for its name. */
struct dx_ingest_made {
    uint64_t number; /* of the temporary name */
    uint64_t size;
    struct dx_lake_path path; /* the part is set by the run */
    struct dx_ingest_dataset *set;
};

struct dx_ingest_upload {
    const struct dx_root *remote;
    struct dx_ingest_claim *claim; /* asked before each attempt, and at the end; may be NULL */
    const struct dx_lake_list *lake;
    const struct dx_dataset_registry *registry; /* read after lake was listed */
    const char *dir;
    struct dx_ingest_made *made; /* files of one folder stand together */
    size_t made_count;
    struct dx_progress *progress; /* may be NULL */
    bool (*stopped)(void);        /* may be NULL */
    size_t done;
};

/* dir/file-NNNNNNNN */
int dx_ingest_made_name(const char *dir, uint64_t number, char path[PATH_MAX],
                        struct dx_error *err);

int dx_ingest_upload_run(struct dx_ingest_upload *u, struct dx_error *err);

#endif
