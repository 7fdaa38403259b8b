/* SPDX-License-Identifier: Apache-2.0
 * lake_now.h - the lake as somebody finds it who is about to write to it: its files, what versions
 * say of them, and the registry.
 *
 *   struct dx_lake_now now = DX_LAKE_NOW_INIT;
 *   rc = dx_lake_now_open(&now, root, remote, &err);      remote NULL: a directory, under its lock
 *   now.named.list.file[i], now.named.naming[i]           as dx_lake_named_apply leaves them
 *   now.roster
 *   if (dx_lake_now_is_unpublished(&now, id)) ...         files that count and that no version names
 *   part = dx_lake_now_next_part(&now, id);               above all numbers of the dataset's files
 *   now.leftover[0 .. now.leftover_count)                 indexes: files of replacements that died
 *   dx_lake_now_close(&now);
 *
 * The registry is read last. On object storage it may say more than the lists for datasets that
 * others write to: ask only for those that the caller has claimed (ingest_claim.h).
 */
#ifndef DX_BUILDER_LAKE_NOW_H
#define DX_BUILDER_LAKE_NOW_H

#include "builder/lake_named.h"

struct dx_remote_root;
struct dx_roster;

struct dx_lake_now {
    struct dx_lake_named named;
    struct dx_roster *roster; /* may be taken: then NULL it */
    size_t *leftover;         /* indexes of named.list; no version can ever have named them */
    size_t leftover_count;
};

#define DX_LAKE_NOW_INIT                  \
    {                                     \
        DX_LAKE_NAMED_INIT, NULL, NULL, 0 \
    }

int dx_lake_now_open(struct dx_lake_now *now, const char *root, const struct dx_remote_root *remote,
                     struct dx_error *err);
void dx_lake_now_close(struct dx_lake_now *now);

bool dx_lake_now_is_unpublished(const struct dx_lake_now *now, uint32_t dataset_id);

/* 0: it has no files with names of ours. */
uint32_t dx_lake_now_next_part(const struct dx_lake_now *now, uint32_t dataset_id);

#endif
