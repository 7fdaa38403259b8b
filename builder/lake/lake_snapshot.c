/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/lake/lake_snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "builder/lake/dataset_registry.h"
#include "builder/root/root.h"
#include "loader/version.h"

/* No manifest: nothing was published yet. */
static int read_manifest(const struct dx_root *root, struct dx_manifest *m,
                         char etag[DX_SOURCE_ETAG], struct dx_error *err)
{
    struct dx_error why = DX_ERROR_INIT;
    int rc = dx_version_manifest_get(root->source, root->name, NULL, etag, m, &why);

    if (rc == DX_E_NOT_FOUND) {
        etag[0] = '\0';
        return DX_OK;
    }
    if (rc < 0 && err != NULL)
        *err = why;
    return rc < 0 ? rc : DX_OK;
}

/* Of one moment: a version's list goes after its entry, when a collector removes it. A list that is
 * missing of the same manifest is missing. */
static int read_named(struct dx_lake_snapshot *now, const struct dx_root *root,
                      struct dx_error *err)
{
    char before[DX_SOURCE_ETAG] = "";

    for (;;) {
        struct dx_manifest m = DX_MANIFEST_INIT;
        char etag[DX_SOURCE_ETAG] = "";
        int rc = read_manifest(root, &m, etag, err);

        if (rc == DX_OK)
            rc = dx_lake_membership_open(&now->named, root, &m, err);
        dx_manifest_release(&m);
        memcpy(now->manifest_etag, etag, sizeof etag);
        if (rc != DX_E_NOT_FOUND || strcmp(before, etag) == 0)
            return rc;
        memcpy(before, etag, sizeof before);
    }
}

/* New files that the registry rules out. Before it is applied: afterwards they are like those that
 * another version names. */
static int find_leftovers(struct dx_lake_snapshot *now, struct dx_error *err)
{
    const struct dx_lake_list *list = &now->named.list;

    now->leftover = calloc(list->count + 1, sizeof *now->leftover);
    if (now->leftover == NULL)
        return dx_no_memory(err, "lake");
    for (size_t i = 0; i < list->count; i++) {
        enum dx_lake_standing standing = dx_dataset_registry_standing(now->dataset_registry,
                                                                      list->file[i].path);

        if (now->named.naming[i] == DX_LAKE_NEW &&
            (standing == DX_LAKE_MAKING || standing == DX_LAKE_REPLACED))
            now->leftover[now->leftover_count++] = i;
    }
    return DX_OK;
}

int dx_lake_snapshot_open(struct dx_lake_snapshot *now, const struct dx_root *root,
                          struct dx_error *err)
{
    int rc;

    *now = (struct dx_lake_snapshot)DX_LAKE_SNAPSHOT_INIT;
    rc = read_named(now, root, err);
    if (rc == DX_OK)
        rc = dx_dataset_registry_read(&now->dataset_registry, root, err);
    if (rc == 0 && now->named.list.count > 0)
        rc = dx_fail(err, DX_E_CORRUPT,
                     "%s/" DX_DATASET_REGISTRY_FILE
                     ": missing, and urls/ has files; restore it: without it the ids of datasets "
                     "would be given twice",
                     root->name);
    rc = rc > 0 ? DX_OK : rc;
    if (rc == DX_OK)
        rc = find_leftovers(now, err);
    if (rc == DX_OK)
        rc = dx_lake_membership_apply(&now->named,
                                      dx_dataset_registry_registry(now->dataset_registry), err);
    if (rc < 0)
        dx_lake_snapshot_close(now);
    return rc;
}

void dx_lake_snapshot_close(struct dx_lake_snapshot *now)
{
    dx_lake_membership_close(&now->named);
    dx_dataset_registry_free(&now->dataset_registry);
    free(now->leftover);
    *now = (struct dx_lake_snapshot)DX_LAKE_SNAPSHOT_INIT;
}

bool dx_lake_snapshot_has_rows(const struct dx_lake_snapshot *now, uint32_t dataset_id)
{
    const struct dx_lake_list *list = &now->named.list;

    for (size_t i = dx_lake_list_find(list, dataset_id);
         i < list->count && list->file[i].dataset_id == dataset_id; i++)
        if (now->named.naming[i] != DX_LAKE_OUT)
            return true;
    return false;
}

static size_t count_unpublished(const struct dx_lake_snapshot *now, uint32_t dataset_id,
                                const char **first)
{
    const struct dx_lake_list *list = &now->named.list;
    size_t count = 0;

    for (size_t i = dx_lake_list_find(list, dataset_id);
         i < list->count && list->file[i].dataset_id == dataset_id; i++)
        if (now->named.naming[i] == DX_LAKE_NEW && count++ == 0)
            *first = list->file[i].path;
    return count;
}

bool dx_lake_snapshot_is_unpublished(const struct dx_lake_snapshot *now, uint32_t dataset_id)
{
    const char *first;

    return count_unpublished(now, dataset_id, &first) > 0;
}

int dx_lake_snapshot_check_published(const struct dx_lake_snapshot *now, uint32_t dataset_id,
                                     const char *name, struct dx_error *err)
{
    const char *first = NULL;
    size_t count = count_unpublished(now, dataset_id, &first);

    return count == 0
               ? DX_OK
               : dx_fail(err, DX_E_INVALID,
                         "dataset '%.100s' has %zu file%s that no version has yet, to count beside "
                         "the new ones; first: %.200s; publish first, then replace it (what "
                         "publish leaves out: delete it)",
                         name, count, dx_plural(count), first);
}

/* Files that are not there may come back, under their names. */
uint32_t dx_lake_snapshot_next_part(const struct dx_lake_snapshot *now, uint32_t dataset_id)
{
    uint32_t next = dx_lake_list_next_part_of(&now->named.list, dataset_id, 0);

    next = dx_lake_list_next_part_of(&now->named.missing, dataset_id, next);
    return dx_lake_list_next_part_of(&now->named.lacked, dataset_id, next);
}
