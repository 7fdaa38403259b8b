/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/publish_lake.h"

#include <stdio.h>
#include <stdlib.h>

#include "builder/lake_layout.h"
#include "builder/registry.h"

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct dx_index_file *)a)->path, ((const struct dx_index_file *)b)->path);
}

static int take_file(struct dx_index_file *to, const struct dx_lake_entry *from,
                     struct dx_error *err)
{
    struct dx_lake_path path;
    bool ours = dx_lake_path_parse(dx_span_str(from->path), &path);
    char prefix[8] = "00-ff";

    if (strncmp(from->path, DX_PUBLISH_PARQUET_ROOT, strlen(DX_PUBLISH_PARQUET_ROOT)) != 0)
        return dx_fail(err, DX_E_CORRUPT, "%s: outside of " DX_PUBLISH_PARQUET_ROOT, from->path);
    if (ours && path.first == path.last)
        (void)snprintf(prefix, sizeof prefix, "%02x", path.first);
    else if (ours)
        (void)snprintf(prefix, sizeof prefix, "%02x-%02x", path.first, path.last);
    *to = (struct dx_index_file){ .path = strdup(from->path + strlen(DX_PUBLISH_PARQUET_ROOT)),
                                  .prefix = strdup(prefix),
                                  .dataset_id = from->dataset_id,
                                  .prefix_first = ours ? path.first : 0,
                                  .prefix_last = ours ? path.last : 255 };
    return to->path == NULL || to->prefix == NULL
               ? dx_fail(err, DX_E_NOMEM, "%s: out of memory", from->path)
               : DX_OK;
}

static int take_files(struct dx_index_lake *lake, const struct dx_lake_list *list,
                      struct dx_error *err)
{
    int rc = DX_OK;

    if (list->count > UINT32_MAX)
        return dx_fail(err, DX_E_LIMIT, "over 2^32 lake files");
    lake->files = calloc(list->count, sizeof *lake->files);
    if (lake->files == NULL)
        return dx_fail(err, DX_E_NOMEM, "lake: out of memory");
    for (size_t i = 0; rc == DX_OK && i < list->count; i++) {
        rc = take_file(&lake->files[i], &list->file[i], err);
        lake->file_count = i + 1;
    }
    if (rc == DX_OK)
        qsort(lake->files, lake->file_count, sizeof *lake->files, by_path);
    return rc;
}

int dx_publish_lake_open(struct dx_publish_lake *l, const char *root, uint64_t *lake_bytes,
                         struct dx_error *err)
{
    struct dx_lake_list list = { 0 };
    struct dx_roster *roster = NULL;
    int rc;

    *l = (struct dx_publish_lake){ .registry = DX_REGISTRY_INIT };
    *lake_bytes = 0;
    rc = dx_lake_list(&list, root, err);
    if (rc == DX_E_NOT_FOUND || (rc == DX_OK && list.count == 0))
        rc = dx_fail(err, DX_E_NOT_FOUND,
                     "nothing to publish: %s/urls holds no Parquet file; run "
                     "`domaindex ingest --root %s ...` first",
                     root, root);
    if (rc == DX_OK && asprintf(&l->root, "%s/" DX_LAKE_DIR, root) < 0) {
        l->root = NULL;
        rc = dx_fail(err, DX_E_NOMEM, "lake: out of memory");
    }
    for (size_t i = 0; i < list.count; i++)
        *lake_bytes += list.file[i].size;
    if (rc == DX_OK)
        rc = take_files(&l->lake, &list, err);
    if (rc == DX_OK)
        rc = dx_roster_open(&roster, root, err);
    if (rc == DX_OK)
        dx_roster_take(&roster, &l->registry);
    l->lake.root = l->root;
    l->lake.registry = &l->registry;
    dx_roster_free(&roster);
    dx_lake_list_release(&list);
    if (rc != DX_OK)
        dx_publish_lake_close(l);
    return rc;
}

void dx_publish_lake_close(struct dx_publish_lake *l)
{
    dx_index_lake_release(&l->lake);
    for (size_t i = 0; i < l->lake.file_count; i++) {
        free(l->lake.files[i].path);
        free(l->lake.files[i].prefix);
    }
    free(l->lake.files);
    l->lake.files = NULL;
    l->lake.file_count = 0;
    dx_registry_release(&l->registry);
    free(l->root);
    l->root = NULL;
}
