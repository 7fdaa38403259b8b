/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/dataset_remove.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "builder/ingest_claim.h"
#include "builder/lake_now.h"
#include "builder/registry.h"
#include "builder/remote_root.h"
#include "builder/root_lock.h"
#include "fetch/store.h"

struct removing {
    struct dx_dataset_remove *r;
    const struct dx_remote_root *remote; /* NULL: a directory */
    struct dx_ingest_claim *claim;
    struct dx_lake_now now;
    const char **leftovers; /* of the datasets; into now */
    size_t leftover_count;
};

static int find_ids(struct removing *m, const struct dx_roster *registry, struct dx_error *err)
{
    struct dx_dataset_remove *r = m->r;

    for (size_t i = 0; i < r->count; i++) {
        uint32_t id = dx_roster_find(registry, dx_span_str(r->names[i]));

        if (id == 0)
            return dx_fail(err, DX_E_NOT_FOUND,
                           "%s: no dataset is named '%s' (removed already?); nothing was removed",
                           r->root, r->names[i]);
        for (size_t k = 0; k < i; k++)
            if (r->result[k].dataset_id == id)
                return dx_fail(err, DX_E_INVALID, "dataset '%s' is given twice", r->names[i]);
        r->result[i].dataset_id = id;
    }
    return DX_OK;
}

static int claim_ids(struct removing *m, struct dx_error *err)
{
    const struct dx_ingest_claim_options options = {
        .remote = m->remote, .root = m->r->root, .stopped = m->r->stopped, .say = m->r->say
    };
    uint32_t *ids = calloc(m->r->count, sizeof *ids);
    int rc;

    if (ids == NULL)
        return dx_fail(err, DX_E_NOMEM, "remove: out of memory");
    for (size_t i = 0; i < m->r->count; i++)
        ids[i] = m->r->result[i].dataset_id;
    rc = dx_ingest_claim_take(&m->claim, &options, ids, m->r->count, err);
    free(ids);
    return rc;
}

static int count_files(struct removing *m, struct dx_error *err)
{
    const struct dx_lake_list *list = &m->now.named.list;

    for (size_t i = 0; i < m->r->count; i++) {
        struct dx_dataset_removed *to = &m->r->result[i];

        if (dx_lake_now_is_unpublished(&m->now, to->dataset_id))
            return dx_fail(err, DX_E_INVALID,
                           "dataset '%s' has files that no version has yet, which nobody would "
                           "ever collect; publish first, then remove it. Nothing was removed",
                           m->r->names[i]);
        for (size_t k = dx_lake_list_find(list, to->dataset_id);
             k < list->count && list->file[k].dataset_id == to->dataset_id; k++) {
            to->files++;
            to->bytes += list->file[k].size;
        }
    }
    return DX_OK;
}

static int find_leftovers(struct removing *m, struct dx_error *err)
{
    m->leftovers = calloc(m->now.leftover_count + 1, sizeof *m->leftovers);
    if (m->leftovers == NULL)
        return dx_fail(err, DX_E_NOMEM, "remove: out of memory");
    for (size_t i = 0; i < m->now.leftover_count; i++) {
        const struct dx_lake_entry *file = &m->now.named.list.file[m->now.leftover[i]];

        for (size_t k = 0; k < m->r->count; k++)
            if (m->r->result[k].dataset_id == file->dataset_id) {
                m->leftovers[m->leftover_count++] = file->path;
                m->r->result[k].files--;
                m->r->result[k].bytes -= file->size;
            }
    }
    return DX_OK;
}

static int edit(void *ctx, struct dx_roster *registry, struct dx_error *err)
{
    const struct removing *m = ctx;
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < m->r->count; i++)
        if (dx_roster_get(registry, m->r->result[i].dataset_id) != NULL)
            rc = dx_roster_remove(registry, m->r->result[i].dataset_id, err);
    return rc;
}

static int write_registry(struct removing *m, struct dx_error *err)
{
    const struct dx_roster_change change = {
        .edit = edit, .ctx = m, .must_exist = true, .stopped = m->r->stopped
    };
    int rc;

    if (m->remote != NULL) {
        rc = dx_ingest_claim_check(m->claim, err);
        return rc < 0 ? rc : dx_roster_change(m->remote, &change, &m->now.roster, err);
    }
    rc = edit(m, m->now.roster, err);
    return rc < 0 ? rc : dx_roster_save(m->now.roster, m->r->root, err);
}

/* No number can be given again: those of a removed dataset are not given at all. */
static int remove_leftovers(const struct removing *m, struct dx_error *err)
{
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < m->leftover_count; i++) {
        char path[PATH_MAX];

        (void)snprintf(path, sizeof path, "%s/%s", m->r->root, m->leftovers[i]);
        if (m->remote != NULL)
            rc = dx_store_remove(m->remote->store, m->leftovers[i], err);
        else if (unlink(path) < 0 && errno != ENOENT)
            rc = dx_fail_errno(err, errno, "%s: cannot remove", path);
    }
    return rc < 0 ? dx_fail_in(err, "the datasets are removed, but not all that an unfinished "
                                    "replacement of them left")
                  : DX_OK;
}

static int run(struct removing *m, struct dx_error *err)
{
    struct dx_roster *registry = NULL;
    char etag[DX_SOURCE_ETAG];
    int rc = m->remote == NULL ? dx_roster_open(&registry, m->r->root, err)
                               : dx_roster_read(&registry, m->remote, etag, err);

    if (rc >= 0)
        rc = find_ids(m, registry, err);
    dx_roster_free(&registry);
    if (rc == DX_OK && m->remote != NULL)
        rc = claim_ids(m, err);
    if (rc == DX_OK)
        rc = dx_lake_now_open(&m->now, m->r->root, m->remote, err);
    if (rc == DX_OK)
        rc = find_ids(m, m->now.roster, err); /* as they are now that nobody else writes to them */
    if (rc == DX_OK)
        rc = count_files(m, err);
    if (rc == DX_OK)
        rc = find_leftovers(m, err);
    if (rc == DX_OK)
        rc = write_registry(m, err);
    return rc == DX_OK ? remove_leftovers(m, err) : rc;
}

int dx_dataset_remove_run(struct dx_dataset_remove *r, struct dx_error *err)
{
    struct dx_remote_root remote = DX_REMOTE_ROOT_INIT;
    struct dx_root_lock lock = DX_ROOT_LOCK_INIT;
    struct removing m = { .r = r, .now = DX_LAKE_NOW_INIT };
    int rc = DX_OK;

    r->result = calloc(r->count + 1, sizeof *r->result);
    if (r->result == NULL)
        return dx_fail(err, DX_E_NOMEM, "remove: out of memory");
    if (r->test_objects || strstr(r->root, "://") != NULL) {
        rc = dx_remote_root_open(&remote, r->root, DX_REMOTE_WRITE, err);
        m.remote = &remote;
    } else if (access(r->root, F_OK) < 0) {
        rc = dx_fail_errno(err, errno, "%s: cannot open", r->root); /* the lock would make it */
    } else {
        rc = dx_root_lock_take(&lock, r->root, err);
    }
    if (rc == DX_OK)
        rc = run(&m, err);
    free(m.leftovers);
    dx_lake_now_close(&m.now);
    dx_ingest_claim_drop(&m.claim);
    dx_remote_root_close(&remote);
    dx_root_lock_drop(&lock);
    if (rc < 0) {
        free(r->result);
        r->result = NULL;
    }
    return rc;
}
