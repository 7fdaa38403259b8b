/* SPDX-License-Identifier: Apache-2.0
 * ingest_remote.h - what a run does otherwise when its root is on object storage.
 *
 *   struct dx_ingest_remote r = { .o = options, .root = &root };       entered (root.h)
 *   rc = dx_ingest_remote_begin(&r, &dataset_registry, &err);          before reading: what is there
 *   rc = dx_suffix_list_begin(&root, text, &err);            after it: writes the list that is missing,
 *   rc = dx_ingest_remote_names(&r, change, ctx, &dataset_registry, &err);   the names,
 *   rc = dx_ingest_remote_claim(&r, ids, count, &err);       and the right to add to them
 *   rc = dx_lake_snapshot_open(&now, &root, &err);        what the lake has, from now on by us
 *   ... r.claim: ingest_existing.h, ingest_upload.h ...
 *   rc = dx_ingest_remote_confirm(&r, &now, ids, count, &err);     it was so to the end
 *   dx_ingest_claim_drop(&r.claim);                          gives it back
 *
 * Nothing is locked. Ids are given by a conditional put of the registry, so none is given twice; a
 * name that another run has added meanwhile keeps the id it got. The registry is put before any
 * file is written, because a row carries its id: a run that ends after it leaves names without
 * files, which do no harm. One thread at a time.
 */
#ifndef DX_BUILDER_INGEST_INGEST_REMOTE_H
#define DX_BUILDER_INGEST_INGEST_REMOTE_H

#include "base/bytes.h"
#include "builder/ingest/ingest_options.h"
#include "builder/root/root.h"

struct dx_ingest_claim;
struct dx_dataset_registry;
struct dx_lake_snapshot;

struct dx_ingest_remote {
    const struct dx_ingest_options *o;
    const struct dx_root *root;
    bool had_registry;
    struct dx_ingest_claim *claim; /* NULL: none */
};

/* Ids and metadata into the registry as it is now; called again if another writer was faster. */
typedef int dx_ingest_names(void *ctx, struct dx_dataset_registry *dataset_registry,
                            struct dx_error *err);

/* The registry. */
int dx_ingest_remote_begin(struct dx_ingest_remote *r,
                           struct dx_dataset_registry **dataset_registry, struct dx_error *err);

/* dataset_registry is replaced by what is in the store now. */
int dx_ingest_remote_names(struct dx_ingest_remote *r, dx_ingest_names *change, void *ctx,
                           struct dx_dataset_registry **dataset_registry, struct dx_error *err);
int dx_ingest_remote_claim(struct dx_ingest_remote *r, uint32_t *ids, size_t count,
                           struct dx_error *err);

/* After the last file: whether the run's rows were compared with all that count beside them now.
 * then: what the lake had when they were compared. DX_E_CONFLICT: a rollback since has made others
 * current. */
int dx_ingest_remote_confirm(const struct dx_ingest_remote *r, const struct dx_lake_snapshot *then,
                             const uint32_t *ids, size_t count, struct dx_error *err);

#endif
