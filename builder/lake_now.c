/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/lake_now.h"

#include <stdlib.h>
#include <string.h>

#include "builder/ingest_remote.h"
#include "builder/registry.h"
#include "builder/remote_root.h"
#include "loader/version.h"

/* No manifest: nothing was published yet. */
static int read_manifest(const char *root, const struct dx_remote_root *remote,
                         struct dx_manifest *m, char etag[DX_SOURCE_ETAG], struct dx_error *err)
{
    struct dx_error why = DX_ERROR_INIT;
    struct dx_source *own = NULL;
    int rc = DX_OK;

    etag[0] = '\0';
    if (remote == NULL)
        rc = dx_source_open_local(&own, root, err);
    if (rc < 0)
        return rc;
    rc = dx_version_manifest_get(remote == NULL ? own : remote->source, root, NULL, etag, m, &why);
    dx_source_close(&own);
    if (rc == DX_E_NOT_FOUND)
        return DX_OK;
    if (rc < 0 && err != NULL)
        *err = why;
    return rc < 0 ? rc : DX_OK;
}

/* Of one moment: a version's list goes after its entry, when a collector removes it. A list that is
 * missing of the same manifest is missing. */
static int read_named(struct dx_lake_now *now, const char *root,
                      const struct dx_remote_root *remote, struct dx_error *err)
{
    char before[DX_SOURCE_ETAG] = "";

    for (;;) {
        struct dx_manifest m = DX_MANIFEST_INIT;
        struct dx_lake_named_from from = { .root = root, .manifest = &m };
        char etag[DX_SOURCE_ETAG];
        int rc = read_manifest(root, remote, &m, etag, err);

        if (remote != NULL) {
            from.source = remote->source;
            from.store = remote->store;
        }
        if (rc == DX_OK)
            rc = dx_lake_named_open(&now->named, &from, err);
        dx_manifest_release(&m);
        if (rc != DX_E_NOT_FOUND || strcmp(before, etag) == 0)
            return rc;
        memcpy(before, etag, sizeof before);
    }
}

static int read_roster(struct dx_lake_now *now, const char *root,
                       const struct dx_remote_root *remote, struct dx_error *err)
{
    char etag[DX_SOURCE_ETAG];
    int rc = remote == NULL ? dx_roster_open(&now->roster, root, err)
                            : dx_roster_read(&now->roster, remote, etag, err);

    return rc < 0 ? rc : DX_OK;
}

/* New files that the registry rules out. Before it is applied: afterwards they are like those that
 * another version names. */
static int find_leftovers(struct dx_lake_now *now, struct dx_error *err)
{
    const struct dx_lake_list *list = &now->named.list;

    now->leftover = calloc(list->count + 1, sizeof *now->leftover);
    if (now->leftover == NULL)
        return dx_fail(err, DX_E_NOMEM, "lake: out of memory");
    for (size_t i = 0; i < list->count; i++) {
        enum dx_lake_standing standing = dx_roster_standing(now->roster, list->file[i].path);

        if (now->named.naming[i] == DX_LAKE_NEW &&
            (standing == DX_LAKE_MAKING || standing == DX_LAKE_REPLACED))
            now->leftover[now->leftover_count++] = i;
    }
    return DX_OK;
}

int dx_lake_now_open(struct dx_lake_now *now, const char *root, const struct dx_remote_root *remote,
                     struct dx_error *err)
{
    int rc;

    *now = (struct dx_lake_now)DX_LAKE_NOW_INIT;
    rc = read_named(now, root, remote, err);
    if (rc == DX_OK)
        rc = read_roster(now, root, remote, err);
    if (rc == DX_OK)
        rc = dx_ingest_check_lake(root, &now->named.list, now->roster, err);
    if (rc == DX_OK)
        rc = find_leftovers(now, err);
    if (rc == DX_OK)
        rc = dx_lake_named_apply(&now->named, dx_roster_registry(now->roster), err);
    if (rc < 0)
        dx_lake_now_close(now);
    return rc;
}

void dx_lake_now_close(struct dx_lake_now *now)
{
    dx_lake_named_close(&now->named);
    dx_roster_free(&now->roster);
    free(now->leftover);
    *now = (struct dx_lake_now)DX_LAKE_NOW_INIT;
}

bool dx_lake_now_is_unpublished(const struct dx_lake_now *now, uint32_t dataset_id)
{
    const struct dx_lake_list *list = &now->named.list;

    for (size_t i = dx_lake_list_find(list, dataset_id);
         i < list->count && list->file[i].dataset_id == dataset_id; i++)
        if (now->named.naming[i] == DX_LAKE_NEW)
            return true;
    return false;
}

uint32_t dx_lake_now_next_part(const struct dx_lake_now *now, uint32_t dataset_id)
{
    const struct dx_lake_list *list = &now->named.list;
    uint32_t next = 0;

    for (size_t i = dx_lake_list_find(list, dataset_id);
         i < list->count && list->file[i].dataset_id == dataset_id; i++) {
        struct dx_lake_path path;

        if (dx_lake_path_parse(dx_span_str(list->file[i].path), &path) && path.part >= next)
            next = path.part + 1;
    }
    return next;
}
