/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/ingest/ingest_replace.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/path.h"
#include "builder/ingest/ingest_datasets.h"
#include "builder/lake/dataset_registry.h"
#include "builder/lake/ingest_claim.h"
#include "builder/lake/lake_snapshot.h"
#include "builder/root/root.h"
#include "fetch/store/store.h"

/* ---- what is refused ---- */

static int check_plain(const struct dx_ingest_dataset *set, const struct dx_dataset *d,
                       struct dx_error *err)
{
    if (d->replacing == 0)
        return DX_OK;
    return dx_fail(err, DX_E_INVALID,
                   "dataset '%s': replacing it was begun and is not finished, so what is added now "
                   "would not count; run that replacement again (ingest --replace), or remove the "
                   "dataset (domaindex remove)",
                   set->name);
}

static int check_replacing(const struct dx_ingest_replace *r, struct dx_ingest_dataset *set,
                           const struct dx_dataset_registry *registry, struct dx_error *err)
{
    uint32_t listed = dx_lake_snapshot_next_part(r->now, set->id);
    int rc = dx_lake_snapshot_check_published(r->now, set->id, set->name, err);

    if (rc < 0)
        return rc;
    /* Not 0: that means no mark. */
    set->first_part = dx_dataset_registry_next_part(registry, set->id, listed == 0 ? 1 : listed);
    return DX_OK;
}

int dx_ingest_replace_check(struct dx_ingest_replace *r, const struct dx_dataset_registry *registry,
                            struct dx_error *err)
{
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < dx_ingest_datasets_count(r->datasets); i++) {
        struct dx_ingest_dataset *set = dx_ingest_datasets_at(r->datasets, i);
        const struct dx_dataset *d = dx_dataset_registry_get(registry, set->id);

        if (set->rows == 0)
            continue;
        if (d == NULL)
            return dx_fail(err, DX_E_CONFLICT,
                           "dataset '%s' was removed while this run was at work; run it again",
                           set->name);
        rc = r->options->replace ? check_replacing(r, set, registry, err)
                                 : check_plain(set, d, err);
    }
    return rc;
}

/* ---- the two writes of the registry ---- */

/* The paths of what earlier attempts to replace these datasets left. */
static int list_leftovers(const struct dx_ingest_replace *r, const char ***paths, size_t *count,
                          struct dx_error *err)
{
    const struct dx_lake_snapshot *now = r->now;

    *count = 0;
    *paths = calloc(now->leftover_count + 1, sizeof **paths);
    if (*paths == NULL)
        return dx_no_memory(err, "ingest");
    for (size_t i = 0; i < now->leftover_count; i++) {
        const struct dx_lake_entry *file = &now->named.list.file[now->leftover[i]];

        for (size_t k = 0; k < dx_ingest_datasets_count(r->datasets); k++) {
            const struct dx_ingest_dataset *set = dx_ingest_datasets_at(r->datasets, k);

            if (set->rows > 0 && set->id == file->dataset_id) {
                (*paths)[(*count)++] = file->path;
                break;
            }
        }
    }
    return DX_OK;
}

struct edit {
    struct dx_ingest_replace *r;
    const char **paths;
    size_t count;
};

static int edit_begin(void *ctx, struct dx_dataset_registry *registry, struct dx_error *err)
{
    const struct edit *e = ctx;
    int rc = DX_OK;

    dx_dataset_registry_raise(registry, e->paths, e->count);
    for (size_t i = 0; rc == DX_OK && i < dx_ingest_datasets_count(e->r->datasets); i++) {
        const struct dx_ingest_dataset *set = dx_ingest_datasets_at(e->r->datasets, i);

        if (set->rows > 0)
            rc = dx_dataset_registry_replace(registry, set->id, set->first_part, err);
    }
    return rc;
}

static int edit_end(void *ctx, struct dx_dataset_registry *registry, struct dx_error *err)
{
    const struct edit *e = ctx;
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < dx_ingest_datasets_count(e->r->datasets); i++) {
        const struct dx_ingest_dataset *set = dx_ingest_datasets_at(e->r->datasets, i);

        if (set->rows == 0)
            continue;
        assert(set->end_part > 0); /* its files have their names */
        rc = dx_dataset_registry_replaced(registry, set->id, set->first_part, set->end_part, err);
    }
    return rc;
}

static int remove_leftover(const struct dx_ingest_replace *r, const char *path,
                           struct dx_error *err)
{
    int rc = r->claim == NULL ? DX_OK : dx_ingest_claim_check(r->claim, err);

    return rc < 0 ? rc : dx_store_remove(r->root->store, path, err);
}

int dx_ingest_replace_begin(struct dx_ingest_replace *r, struct dx_dataset_registry **registry,
                            struct dx_error *err)
{
    struct edit e = { .r = r };
    const struct dx_dataset_registry_change change = { .edit = edit_begin,
                                                       .ctx = &e,
                                                       .must_exist = true };
    int rc = list_leftovers(r, &e.paths, &e.count, err);

    assert(r->options->replace);
    if (rc == DX_OK)
        rc = dx_dataset_registry_change(r->root, &change, registry, err);
    for (size_t i = 0; rc == DX_OK && i < e.count; i++)
        rc = remove_leftover(r, e.paths[i], err);
    free(e.paths);
    return rc;
}

int dx_ingest_replace_end(struct dx_ingest_replace *r, struct dx_dataset_registry **registry,
                          struct dx_error *err)
{
    struct edit e = { .r = r };
    const struct dx_dataset_registry_change change = { .edit = edit_end,
                                                       .ctx = &e,
                                                       .must_exist = true };
    int rc = dx_dataset_registry_change(r->root, &change, registry, err);

    return rc < 0 ? dx_fail_in(err, "the old rows still count; run it again") : DX_OK;
}
