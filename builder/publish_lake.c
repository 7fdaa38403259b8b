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
                                  .etag = strdup(from->etag),
                                  .size = from->size,
                                  .dataset_id = from->dataset_id,
                                  .prefix_first = ours ? path.first : 0,
                                  .prefix_last = ours ? path.last : 255 };
    return to->path == NULL || to->prefix == NULL || to->etag == NULL
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

static int take_list(struct dx_publish_lake *l, const struct dx_lake_list *list, const char *root,
                     uint64_t *lake_bytes, struct dx_error *err)
{
    if (list->count == 0)
        return dx_fail(err, DX_E_NOT_FOUND,
                       "nothing to publish: %s/urls holds no Parquet file; run "
                       "`domaindex ingest --root %s ...` first",
                       root, root);
    *lake_bytes = 0;
    for (size_t i = 0; i < list->count; i++)
        *lake_bytes += list->file[i].size;
    return take_files(&l->lake, list, err);
}

static int end_open(struct dx_publish_lake *l, struct dx_roster **roster, int rc)
{
    if (rc == DX_OK)
        dx_roster_take(roster, &l->registry);
    dx_roster_free(roster);
    l->lake.root = l->root;
    l->lake.registry = &l->registry;
    if (rc != DX_OK)
        dx_publish_lake_close(l);
    return rc;
}

int dx_publish_lake_open(struct dx_publish_lake *l, const char *root, uint64_t *lake_bytes,
                         struct dx_error *err)
{
    struct dx_lake_list list = { 0 };
    struct dx_roster *roster = NULL;
    int rc;

    *l = (struct dx_publish_lake){ .registry = DX_REGISTRY_INIT };
    rc = dx_lake_list(&list, root, err);
    if (rc == DX_OK || rc == DX_E_NOT_FOUND)
        rc = take_list(l, &list, root, lake_bytes, err);
    if (rc == DX_OK && asprintf(&l->root, "%s/" DX_LAKE_DIR, root) < 0) {
        l->root = NULL;
        rc = dx_fail(err, DX_E_NOMEM, "lake: out of memory");
    }
    if (rc == DX_OK)
        rc = dx_roster_open(&roster, root, err);
    dx_lake_list_release(&list);
    return end_open(l, &roster, rc);
}

static int read_roster(struct dx_roster **roster, const struct dx_remote_root *remote,
                       const char *root, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(DX_REGISTRY_MAX);
    char etag[DX_SOURCE_ETAG];
    int rc = dx_remote_root_get(remote, DX_ROSTER_FILE, DX_REGISTRY_MAX, &text, etag, err);

    if (rc == 0)
        rc = dx_fail(err, DX_E_NOT_FOUND,
                     "%s/" DX_ROSTER_FILE ": is not there, so nobody knows the names of the "
                     "datasets; was the lake copied without it?",
                     root);
    if (rc == 1)
        rc = dx_roster_parse(roster, dx_span_of(text.data, text.size), DX_ROSTER_FILE, err);
    dx_buf_release(&text);
    return rc;
}

int dx_publish_lake_open_remote(struct dx_publish_lake *l, const struct dx_remote_root *remote,
                                const char *root, const char *dir, uint64_t *lake_bytes,
                                struct dx_error *err)
{
    struct dx_lake_list list = { 0 };
    struct dx_roster *roster = NULL;
    int rc;

    *l = (struct dx_publish_lake){ .registry = DX_REGISTRY_INIT };
    rc = dx_lake_list_store(&list, remote->store, err);
    if (rc == DX_OK)
        rc = take_list(l, &list, root, lake_bytes, err);
    l->root = strdup(dir);
    if (rc == DX_OK && l->root == NULL)
        rc = dx_fail(err, DX_E_NOMEM, "lake: out of memory");
    if (rc == DX_OK)
        rc = read_roster(&roster, remote, root, err);
    dx_lake_list_release(&list);
    return end_open(l, &roster, rc);
}

void dx_publish_lake_close(struct dx_publish_lake *l)
{
    dx_index_lake_release(&l->lake);
    for (size_t i = 0; i < l->lake.file_count; i++) {
        free(l->lake.files[i].path);
        free(l->lake.files[i].prefix);
        free(l->lake.files[i].etag);
    }
    free(l->lake.files);
    l->lake.files = NULL;
    l->lake.file_count = 0;
    dx_registry_release(&l->registry);
    free(l->root);
    l->root = NULL;
}
