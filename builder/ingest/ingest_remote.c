/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/ingest/ingest_remote.h"

#include <stdlib.h>
#include <string.h>

#include "builder/lake/dataset_registry.h"
#include "builder/lake/ingest_claim.h"
#include "builder/lake/lake_layout.h"
#include "builder/lake/lake_snapshot.h"
#include "fetch/store/store.h"
#include "loader/version.h"

int dx_ingest_remote_begin(struct dx_ingest_remote *r,
                           struct dx_dataset_registry **dataset_registry, struct dx_error *err)
{
    struct dx_lake_snapshot now = DX_LAKE_SNAPSHOT_INIT;
    int rc = dx_dataset_registry_read(dataset_registry, r->root, err);

    r->had_registry = rc > 0;
    if (rc == 0)
        rc = dx_lake_snapshot_open(&now, r->root, err);
    dx_lake_snapshot_close(&now);
    return rc < 0 ? dx_fail_in(err, "%s", r->o->root) : DX_OK;
}

int dx_ingest_remote_names(struct dx_ingest_remote *r, dx_ingest_names *edit, void *ctx,
                           struct dx_dataset_registry **dataset_registry, struct dx_error *err)
{
    const struct dx_dataset_registry_change change = {
        .edit = edit, .ctx = ctx, .must_exist = r->had_registry, .stopped = r->o->stopped
    };
    int rc = dx_dataset_registry_change(r->root, &change, dataset_registry, err);

    if (rc < 0)
        return dx_fail_in(err, "%s: no row was added to the lake", r->o->root);
    r->had_registry = true;
    return DX_OK;
}

int dx_ingest_remote_claim(struct dx_ingest_remote *r, uint32_t *ids, size_t count,
                           struct dx_error *err)
{
    struct dx_ingest_claim_options options = {
        .remote = r->root,
        .root = r->o->root,
        .stopped = r->o->stopped,
        .say = r->o->say,
        .lease_ms = r->o->test_lease_ms,
    };

    return dx_ingest_claim_take(&r->claim, &options, ids, count, err);
}

/* ---- a rollback meanwhile ---- */

/* The first file of the dataset that is current now and was out then, though a version had it;
 * NULL if no file was. What a compaction was putting then has rows that were compared. */
static const char *find_uncompared(const struct dx_lake_membership *then,
                                   const struct dx_lake_membership *now, uint32_t id)
{
    size_t k = dx_lake_list_find(&then->list, id);

    for (size_t i = dx_lake_list_find(&now->list, id);
         i < now->list.count && now->list.file[i].dataset_id == id; i++) {
        const char *path = now->list.file[i].path;

        while (k < then->list.count && then->list.file[k].dataset_id == id &&
               strcmp(then->list.file[k].path, path) < 0)
            k++;
        if (now->naming[i] == DX_LAKE_CURRENT && k < then->list.count &&
            strcmp(then->list.file[k].path, path) == 0 && then->naming[k] == DX_LAKE_OUT &&
            then->by_version[k])
            return path;
    }
    return NULL;
}

int dx_ingest_remote_confirm(const struct dx_ingest_remote *r, const struct dx_lake_snapshot *then,
                             const uint32_t *ids, size_t count, struct dx_error *err)
{
    struct dx_manifest m = DX_MANIFEST_INIT;
    struct dx_lake_snapshot now = DX_LAKE_SNAPSHOT_INIT;
    char etag[DX_SOURCE_ETAG] = "";
    int rc = dx_version_manifest_get(r->root->source, r->root->name, NULL, etag, &m, err);

    dx_manifest_release(&m);
    if (rc == DX_E_NOT_FOUND || (rc == 1 && strcmp(etag, then->manifest_etag) == 0))
        return DX_OK;
    if (rc >= 0)
        rc = dx_lake_snapshot_open(&now, r->root, err);
    for (size_t i = 0; rc == DX_OK && i < count; i++) {
        const char *path = find_uncompared(&then->named, &now.named, ids[i]);

        if (path != NULL)
            rc = dx_fail(
                err, DX_E_CONFLICT,
                "%s: a rollback during this run made %s current, which its rows were not "
                "compared with: they are in the lake, and rows may stand twice in the next "
                "version; publish, and if it says so, run domaindex compact",
                r->root->name, path);
    }
    dx_lake_snapshot_close(&now);
    return rc;
}
