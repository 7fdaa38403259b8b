/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/publish_lake.h"

#include <stdio.h>
#include <stdlib.h>

#include "builder/lake_layout.h"
#include "builder/registry.h"

#define LOOKS_MAX \
    10 /* a replacement ends in a moment, and another one takes far longer than a look */
#include "format/manifest.h"

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct dx_lake_entry *)a)->path, ((const struct dx_lake_entry *)b)->path);
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

static void release_files(struct dx_publish_lake *l)
{
    dx_index_lake_release(&l->lake);
    for (size_t i = 0; i < l->lake.file_count; i++) {
        free(l->lake.files[i].path);
        free(l->lake.files[i].prefix);
        free(l->lake.files[i].etag);
    }
    free(l->lake.files);
    l->lake = (struct dx_index_lake){ .root = l->root, .registry = &l->registry };
}

/* The totals of a version are the scan's. */
static void clear_totals(struct dx_registry *r)
{
    for (size_t i = 0; i < r->count; i++) {
        struct dx_dataset *d = &r->datasets[i];

        d->files = d->rows = d->urls = d->domains = 0;
        d->has_ts = false;
        d->first_us = d->last_us = 0;
    }
}

int dx_publish_lake_again(struct dx_publish_lake *l, struct dx_error *err)
{
    const struct dx_lake_list *list = &l->named.list;
    int rc = DX_OK;

    release_files(l);
    clear_totals(&l->registry);
    l->bytes = 0;
    if (list->count > UINT32_MAX)
        return dx_fail(err, DX_E_LIMIT, "over 2^32 lake files");
    l->lake.files = calloc(list->count + 1, sizeof *l->lake.files);
    if (l->lake.files == NULL)
        return dx_fail(err, DX_E_NOMEM, "lake: out of memory");
    for (size_t i = 0; rc == DX_OK && i < list->count; i++) {
        rc = take_file(&l->lake.files[i], &list->file[i], err);
        l->lake.file_count = i + 1;
        l->bytes += list->file[i].size;
    }
    return rc;
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

static int take_list(struct dx_publish_lake *l, struct dx_error *err)
{
    struct dx_lake_named *n = &l->named;
    int rc = dx_lake_named_apply(n, &l->registry, err);

    if (rc != DX_OK)
        return rc;
    dx_lake_named_keep(n);
    for (size_t i = 0; i < n->list.count; i++)
        if (n->naming[i] == DX_LAKE_NEW)
            l->bytes_new += n->list.file[i].size;
    qsort(n->list.file, n->list.count, sizeof *n->list.file, by_path);
    return dx_publish_lake_again(l, err);
}

/* The names are read behind the files: a dataset has its name before it has files. remote: NULL for
 * a directory. */
static int look(struct dx_publish_lake *l, const struct dx_lake_named_from *from,
                const struct dx_remote_root *remote, struct dx_error *err)
{
    struct dx_roster *roster = NULL;
    int rc = dx_lake_named_open(&l->named, from, err);

    if (rc == DX_OK && l->named.list.count == 0 && from->manifest->version_count == 0)
        rc = dx_fail(err, DX_E_NOT_FOUND,
                     "nothing to publish: %s/urls holds no Parquet file; run "
                     "`domaindex ingest --root %s ...` first",
                     from->root, from->root);
    if (rc == DX_OK)
        rc = remote == NULL ? dx_roster_open(&roster, from->root, err)
                            : read_roster(&roster, remote, from->root, err);
    if (rc == DX_OK)
        dx_roster_take(&roster, &l->registry);
    dx_roster_free(&roster);
    return rc;
}

/* 1: the registry, read before and after, says the same of all files; 0: not, look again. A
 * replacement that ends in between would else be seen with neither the old files nor the new. */
static int look_twice(struct dx_publish_lake *l, const struct dx_lake_named_from *from,
                      const struct dx_remote_root *remote, struct dx_error *err)
{
    struct dx_registry before = DX_REGISTRY_INIT;
    struct dx_roster *roster = NULL;
    char etag[DX_SOURCE_ETAG];
    int rc = dx_roster_read(&roster, remote, etag, err);

    if (rc < 0)
        return rc;
    dx_roster_take(&roster, &before);
    rc = look(l, from, remote, err);
    if (rc == DX_OK && dx_registry_same_standing(&before, &l->registry)) {
        rc = 1;
    } else if (rc == DX_OK) {
        dx_lake_named_close(&l->named);
        dx_registry_release(&l->registry);
    }
    dx_registry_release(&before);
    return rc;
}

static int open_lake(struct dx_publish_lake *l, const struct dx_lake_named_from *from,
                     const struct dx_remote_root *remote, struct dx_error *err)
{
    int rc = remote == NULL ? look(l, from, NULL, err) : 0;

    for (int i = 0; remote != NULL && rc == 0 && i < LOOKS_MAX; i++)
        rc = look_twice(l, from, remote, err);
    if (remote != NULL && rc == 0)
        rc = dx_fail(err, DX_E_BUSY,
                     "%s: each of %d times that the lake was listed, datasets were replaced or "
                     "removed meanwhile; publish again",
                     from->root, LOOKS_MAX);
    if (rc >= 0)
        rc = take_list(l, err);
    if (rc != DX_OK)
        dx_publish_lake_close(l);
    return rc;
}

int dx_publish_lake_open(struct dx_publish_lake *l, const char *root,
                         const struct dx_manifest *manifest, struct dx_error *err)
{
    struct dx_lake_named_from from = { .root = root, .manifest = manifest };

    *l = (struct dx_publish_lake){ .registry = DX_REGISTRY_INIT, .named = DX_LAKE_NAMED_INIT };
    if (asprintf(&l->root, "%s/" DX_LAKE_DIR, root) < 0) {
        l->root = NULL;
        return dx_fail(err, DX_E_NOMEM, "lake: out of memory");
    }
    return open_lake(l, &from, NULL, err);
}

int dx_publish_lake_open_remote(struct dx_publish_lake *l, const struct dx_remote_root *remote,
                                const char *root, const struct dx_manifest *manifest,
                                const char *dir, struct dx_error *err)
{
    struct dx_lake_named_from from = {
        .root = root, .manifest = manifest, .source = remote->source, .store = remote->store
    };

    *l = (struct dx_publish_lake){ .registry = DX_REGISTRY_INIT, .named = DX_LAKE_NAMED_INIT };
    l->root = strdup(dir);
    if (l->root == NULL)
        return dx_fail(err, DX_E_NOMEM, "lake: out of memory");
    return open_lake(l, &from, remote, err);
}

static void remove_files(struct dx_lake_list *list, const bool *goes)
{
    size_t kept = 0;

    for (size_t i = 0; i < list->count; i++) {
        if (goes[i]) {
            free(list->file[i].path);
            free(list->file[i].etag);
        } else {
            list->file[kept++] = list->file[i];
        }
    }
    list->count = kept;
}

int dx_publish_lake_change(struct dx_publish_lake *l, const bool *goes,
                           const struct dx_lake_entry *added, size_t count, struct dx_error *err)
{
    struct dx_lake_list *list = &l->named.list;
    int rc = 1;

    if (goes != NULL)
        remove_files(list, goes);
    for (size_t i = 0; rc == 1 && i < count; i++) {
        rc = dx_lake_list_add(list, added[i].path, added[i].size, added[i].etag, err);
        if (rc == 0)
            rc = dx_fail(err, DX_E_INVALID, "%s: is no name of a lake file", added[i].path);
    }
    if (rc < 0)
        return rc;
    qsort(list->file, list->count, sizeof *list->file, by_path);
    return dx_publish_lake_again(l, err);
}

void dx_publish_lake_close(struct dx_publish_lake *l)
{
    release_files(l);
    dx_lake_named_close(&l->named);
    dx_registry_release(&l->registry);
    free(l->root);
    l->root = NULL;
    l->lake.root = NULL;
}
