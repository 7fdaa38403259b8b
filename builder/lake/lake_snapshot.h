/* SPDX-License-Identifier: Apache-2.0
 * lake_snapshot.h - the lake as a writer finds it before it writes: its files, what versions
 * say of them, and the registry.
 *
 *   struct dx_lake_snapshot now = DX_LAKE_SNAPSHOT_INIT;
 *   rc = dx_lake_snapshot_open(&now, &root, &err);      a directory: under its lock
 *   now.named.list.file[i], now.named.naming[i]           as dx_lake_membership_apply leaves them
 *   now.dataset_registry
 *   if (dx_lake_snapshot_is_unpublished(&now, id)) ...         files that count and that no version names
 *   rc = dx_lake_snapshot_check_published(&now, id, name, &err);    DX_E_INVALID, and the first of them
 *   part = dx_lake_snapshot_next_part(&now, id);               above all numbers of the dataset's files
 *   now.leftover[0 .. now.leftover_count)                 indexes: files of replacements that died
 *   dx_lake_snapshot_close(&now);
 *
 * The registry is read last. On object storage it may say more than the lists for datasets that
 * others write to: ask only for those that the caller has claimed (ingest_claim.h).
 * One thread at a time.
 */
#ifndef DX_BUILDER_LAKE_LAKE_SNAPSHOT_H
#define DX_BUILDER_LAKE_LAKE_SNAPSHOT_H

#include "builder/lake/lake_membership.h"
#include "fetch/source.h"

struct dx_dataset_registry;

struct dx_lake_snapshot {
    struct dx_lake_membership named;
    struct dx_dataset_registry *dataset_registry; /* may be taken: then NULL it */
    char manifest_etag
        [DX_SOURCE_ETAG]; /* of the manifest that it was read with; "": there was none */
    size_t *leftover;     /* indexes of named.list; no version can ever have named them */
    size_t leftover_count;
};

#define DX_LAKE_SNAPSHOT_INIT                      \
    {                                              \
        DX_LAKE_MEMBERSHIP_INIT, NULL, "", NULL, 0 \
    }

int dx_lake_snapshot_open(struct dx_lake_snapshot *now, const struct dx_root *root,
                          struct dx_error *err);
void dx_lake_snapshot_close(struct dx_lake_snapshot *now);

/* Whether the dataset has a file that counts, or would without a replacement in the making. */
bool dx_lake_snapshot_has_rows(const struct dx_lake_snapshot *now, uint32_t dataset_id);
bool dx_lake_snapshot_is_unpublished(const struct dx_lake_snapshot *now, uint32_t dataset_id);
/* Before the dataset is replaced. */
int dx_lake_snapshot_check_published(const struct dx_lake_snapshot *now, uint32_t dataset_id,
                                     const char *name, struct dx_error *err);

/* 0: it has no files with names of ours. */
uint32_t dx_lake_snapshot_next_part(const struct dx_lake_snapshot *now, uint32_t dataset_id);

#endif
