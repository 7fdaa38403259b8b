/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/ingest_replace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "builder/ingest_claim.h"
#include "builder/ingest_datasets.h"
#include "builder/lake_now.h"
#include "builder/registry.h"
#include "builder/remote_root.h"
#include "fetch/store.h"

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
                           const struct dx_roster *registry, struct dx_error *err)
{
    uint32_t listed = dx_lake_now_next_part(r->now, set->id);

    if (dx_lake_now_is_unpublished(r->now, set->id))
        return dx_fail(err, DX_E_INVALID,
                       "dataset '%s' has files that no version has yet, and they would count "
                       "beside the new ones; publish first, then replace it",
                       set->name);
    /* Not 0: there it would be no mark. */
    set->first_part = dx_roster_next_part(registry, set->id, listed == 0 ? 1 : listed);
    return DX_OK;
}

int dx_ingest_replace_check(struct dx_ingest_replace *r, const struct dx_roster *registry,
                            struct dx_error *err)
{
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < dx_ingest_datasets_count(r->datasets); i++) {
        struct dx_ingest_dataset *set = dx_ingest_datasets_at(r->datasets, i);
        const struct dx_dataset *d = dx_roster_get(registry, set->id);

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
static int leftovers(const struct dx_ingest_replace *r, const char ***paths, size_t *count,
                     struct dx_error *err)
{
    const struct dx_lake_now *now = r->now;

    *count = 0;
    *paths = calloc(now->leftover_count + 1, sizeof **paths);
    if (*paths == NULL)
        return dx_fail(err, DX_E_NOMEM, "ingest: out of memory");
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

static int edit_begin(void *ctx, struct dx_roster *registry, struct dx_error *err)
{
    const struct edit *e = ctx;
    int rc = DX_OK;

    dx_roster_raise(registry, e->paths, e->count);
    for (size_t i = 0; rc == DX_OK && i < dx_ingest_datasets_count(e->r->datasets); i++) {
        const struct dx_ingest_dataset *set = dx_ingest_datasets_at(e->r->datasets, i);

        if (set->rows > 0)
            rc = dx_roster_replace(registry, set->id, set->first_part, err);
    }
    return rc;
}

static int edit_end(void *ctx, struct dx_roster *registry, struct dx_error *err)
{
    const struct edit *e = ctx;
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < dx_ingest_datasets_count(e->r->datasets); i++) {
        const struct dx_ingest_dataset *set = dx_ingest_datasets_at(e->r->datasets, i);

        if (set->rows > 0)
            rc = dx_roster_replaced(registry, set->id, set->first_part, set->end_part, err);
    }
    return rc;
}

static int write_registry(struct dx_ingest_replace *r, struct dx_roster_change *change,
                          struct dx_roster **registry, struct dx_error *err)
{
    int rc;

    if (r->remote != NULL) {
        change->must_exist = true;
        return dx_roster_change(r->remote, change, registry, err);
    }
    rc = change->edit(change->ctx, *registry, err);
    return rc < 0 ? rc : dx_roster_save(*registry, r->options->root, err);
}

static int remove_leftover(const struct dx_ingest_replace *r, const char *path,
                           struct dx_error *err)
{
    char file[PATH_MAX];
    int rc;

    if (r->remote != NULL) {
        rc = r->claim == NULL ? DX_OK : dx_ingest_claim_check(r->claim, err);
        return rc < 0 ? rc : dx_store_remove(r->remote->store, path, err);
    }
    (void)snprintf(file, sizeof file, "%s/%s", r->options->root, path);
    return unlink(file) < 0 && errno != ENOENT
               ? dx_fail_errno(err, errno, "%s: cannot remove what an earlier attempt left", file)
               : DX_OK;
}

int dx_ingest_replace_begin(struct dx_ingest_replace *r, struct dx_roster **registry,
                            struct dx_error *err)
{
    struct edit e = { .r = r };
    struct dx_roster_change change = { .edit = edit_begin, .ctx = &e };
    int rc = leftovers(r, &e.paths, &e.count, err);

    if (rc == DX_OK)
        rc = write_registry(r, &change, registry, err);
    for (size_t i = 0; rc == DX_OK && i < e.count; i++)
        rc = remove_leftover(r, e.paths[i], err);
    free(e.paths);
    return rc;
}

int dx_ingest_replace_end(struct dx_ingest_replace *r, struct dx_roster **registry,
                          struct dx_error *err)
{
    struct edit e = { .r = r };
    struct dx_roster_change change = { .edit = edit_end, .ctx = &e };
    int rc = write_registry(r, &change, registry, err);

    return rc < 0 ? dx_fail_in(err, "the old rows still count; run it again") : DX_OK;
}
