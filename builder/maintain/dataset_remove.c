/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/maintain/dataset_remove.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "builder/lake/dataset_registry.h"
#include "builder/lake/ingest_claim.h"
#include "builder/lake/lake_snapshot.h"
#include "builder/root/root.h"
#include "fetch/store/store.h"

struct removing {
    struct dx_dataset_remove *r;
    struct dx_root root;
    struct dx_ingest_claim *claim;
    struct dx_lake_snapshot now;
    const char **leftovers; /* of the datasets; into now */
    size_t leftover_count;
};

static int find_ids(struct removing *m, const struct dx_dataset_registry *registry,
                    struct dx_error *err)
{
    struct dx_dataset_remove *r = m->r;

    for (size_t i = 0; i < r->count; i++) {
        uint32_t id = dx_dataset_registry_find(registry, dx_span_str(r->names[i]));

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
        .remote = &m->root, .root = m->r->root, .stopped = m->r->stopped, .say = m->r->say
    };
    uint32_t *ids = calloc(m->r->count, sizeof *ids);
    int rc;

    if (ids == NULL)
        return dx_no_memory(err, "remove");
    for (size_t i = 0; i < m->r->count; i++)
        ids[i] = m->r->result[i].dataset_id;
    rc = dx_ingest_claim_take(&m->claim, &options, ids, m->r->count, err);
    free(ids);
    return rc;
}

static void count_files(struct removing *m)
{
    const struct dx_lake_list *list = &m->now.named.list;

    for (size_t i = 0; i < m->r->count; i++) {
        struct dx_dataset_removed *to = &m->r->result[i];

        for (size_t k = dx_lake_list_find(list, to->dataset_id);
             k < list->count && list->file[k].dataset_id == to->dataset_id; k++) {
            to->files++;
            to->bytes += list->file[k].size;
            if (m->now.named.naming[k] == DX_LAKE_NEW && to->unpublished++ == 0)
                (void)snprintf(to->first, sizeof to->first, "%s", list->file[k].path);
        }
    }
}

static int find_leftovers(struct removing *m, struct dx_error *err)
{
    m->leftovers = calloc(m->now.leftover_count + 1, sizeof *m->leftovers);
    if (m->leftovers == NULL)
        return dx_no_memory(err, "remove");
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

static int edit(void *ctx, struct dx_dataset_registry *registry, struct dx_error *err)
{
    const struct removing *m = ctx;
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < m->r->count; i++)
        if (dx_dataset_registry_get(registry, m->r->result[i].dataset_id) != NULL)
            rc = dx_dataset_registry_remove(registry, m->r->result[i].dataset_id, err);
    return rc;
}

static int write_registry(struct removing *m, struct dx_error *err)
{
    const struct dx_dataset_registry_change change = {
        .edit = edit, .ctx = m, .must_exist = true, .stopped = m->r->stopped
    };
    int rc = m->root.in_place ? DX_OK : dx_ingest_claim_check(m->claim, err);

    assert(m->root.in_place == (m->claim == NULL));
    return rc < 0 ? rc
                  : dx_dataset_registry_change(&m->root, &change, &m->now.dataset_registry, err);
}

/* No number can be given again: those of a removed dataset are not given at all. */
static int remove_leftovers(const struct removing *m, struct dx_error *err)
{
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < m->leftover_count; i++)
        rc = dx_store_remove(m->root.store, m->leftovers[i], err);
    return rc < 0 ? dx_fail_in(err, "the datasets are removed, but not all that an unfinished "
                                    "replacement of them left")
                  : DX_OK;
}

static int remove_datasets(struct removing *m, struct dx_error *err)
{
    struct dx_dataset_registry *registry = NULL;
    int rc = dx_dataset_registry_read(&registry, &m->root, err);

    if (rc >= 0)
        rc = find_ids(m, registry, err);
    dx_dataset_registry_free(&registry);
    if (rc == DX_OK && !m->root.in_place && !m->r->dry_run)
        rc = claim_ids(m, err);
    if (rc == DX_OK)
        rc = dx_lake_snapshot_open(&m->now, &m->root, err);
    if (rc == DX_OK)
        rc = find_ids(m, m->now.dataset_registry,
                      err); /* as they are now that no other process writes to them */
    if (rc == DX_OK)
        count_files(m);
    if (rc == DX_OK)
        rc = find_leftovers(m, err);
    if (rc < 0 || m->r->dry_run)
        return rc;
    rc = write_registry(m, err);
    return rc == DX_OK ? remove_leftovers(m, err) : rc;
}

int dx_dataset_remove_run(struct dx_dataset_remove *r, struct dx_error *err)
{
    struct removing m = { .r = r, .root = DX_ROOT_INIT, .now = DX_LAKE_SNAPSHOT_INIT };
    int rc = DX_OK;

    r->result = calloc(r->count + 1, sizeof *r->result);
    if (r->result == NULL)
        return dx_no_memory(err, "remove");
    if (dx_root_in_place(r->root) && access(r->root, F_OK) < 0)
        rc = dx_fail_errno(err, errno, "%s: cannot open", r->root); /* the lock would make it */
    if (rc == DX_OK)
        rc = dx_root_open(&m.root, r->root, DX_ROOT_WRITE, err);
    m.root.in_place = m.root.in_place && !r->test_objects;
    if (rc == DX_OK && m.root.in_place)
        rc = dx_root_enter(&m.root, r->lock_wait_ms, 0, err);
    if (rc == DX_OK)
        rc = remove_datasets(&m, err);
    free(m.leftovers);
    dx_lake_snapshot_close(&m.now);
    dx_ingest_claim_drop(&m.claim);
    dx_root_close(&m.root);
    if (rc < 0) {
        free(r->result);
        r->result = NULL;
    }
    return rc;
}
