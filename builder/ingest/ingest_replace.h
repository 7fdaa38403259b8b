/* SPDX-License-Identifier: Apache-2.0
 * ingest_replace.h - a run whose rows take the place of all that its datasets had.
 *
 *   struct dx_ingest_replace r = { .options = o, .datasets = d, .now = &now, .root = &root };
 *   rc = dx_ingest_replace_check(&r, &err);             ids are known; of plain runs too
 *   rc = dx_ingest_replace_begin(&r, &registry, &err);  before the first file is in the lake
 *   ... the files, with numbers from the registry that begin has left; set->end_part is set ...
 *   rc = dx_ingest_replace_end(&r, &registry, &err);    after the last one is durable
 *
 * check refuses what would make old and new rows count together: a plain run while a replacement is
 * unfinished, and a replacement while the dataset has files that no version names.
 *
 * begin writes `replacing` into the registry: files of higher numbers do not count while it stands.
 * end takes it away and says which files are the replacement, in one write: whatever happens
 * between leaves the old rows, and the same run starts again. What an earlier attempt left is
 * removed by begin; no version can have named it.
 *
 * The caller holds the lock of the directory, or else the claim to the datasets.
 * One thread at a time.
 */
#ifndef DX_BUILDER_INGEST_INGEST_REPLACE_H
#define DX_BUILDER_INGEST_INGEST_REPLACE_H

#include "builder/ingest/ingest_options.h"

struct dx_ingest_claim;
struct dx_ingest_datasets;
struct dx_lake_snapshot;
struct dx_root;
struct dx_dataset_registry;

struct dx_ingest_replace {
    const struct dx_ingest_options *options;
    struct dx_ingest_datasets *datasets;
    const struct dx_lake_snapshot *now;
    const struct dx_root *root;
    const struct dx_ingest_claim *claim; /* of object storage */
};

/* registry: as it was read after the lake was listed. */
int dx_ingest_replace_check(struct dx_ingest_replace *r, const struct dx_dataset_registry *registry,
                            struct dx_error *err);
int dx_ingest_replace_begin(struct dx_ingest_replace *r, struct dx_dataset_registry **registry,
                            struct dx_error *err);
int dx_ingest_replace_end(struct dx_ingest_replace *r, struct dx_dataset_registry **registry,
                          struct dx_error *err);

#endif
