/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/publish/publish_upload.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/path.h"
#include "builder/root/parallel.h"

struct dx_publish_uploaded {
    char name[DX_MANIFEST_FILE_NAME];
    char etag[DX_SOURCE_ETAG];
    bool tried; /* there may be such an object, and it is ours */
};

int dx_publish_upload_claim(struct dx_store *store, const char *version, struct dx_error *err)
{
    char etag[DX_SOURCE_ETAG];
    char object[DX_MANIFEST_FILE_PATH];
    struct dx_put put = { .object = object,
                          .bytes = dx_span_str("a publisher has taken this name\n"),
                          .if_absent = true };

    (void)snprintf(object, sizeof object, DX_LAKE_CLAIMS "%s", version);
    return dx_store_put(store, &put, etag, err);
}

static int put_file(struct dx_publish_upload *u, struct dx_publish_uploaded *file,
                    struct dx_error *err)
{
    char path[PATH_MAX];
    char object[DX_MANIFEST_FILE_PATH];
    struct dx_put put = { .object = object, .path = path, .if_absent = true };
    uint64_t size = 0;
    int rc = dx_path_format(path, sizeof path, err, "%s/%s", u->dir, file->name);

    if (rc == DX_OK)
        rc = dx_file_size(path, &size, err);
    if (rc != DX_OK)
        return rc;
    dx_name_of_version(object, u->entry->version, file->name);
    file->tried = true;
    rc = dx_store_put(u->store, &put, file->etag, err);
    if (rc == DX_E_EXISTS) {
        file->tried = false;
        rc = dx_fail(err, DX_E_CONFLICT,
                     "%s: there is such an object already, though this publish has taken the "
                     "version's name: what else writes there?",
                     object);
    }
    if (u->bytes != NULL)
        atomic_fetch_add_explicit(u->bytes, size, memory_order_relaxed);
    if (u->items != NULL)
        atomic_fetch_add_explicit(u->items, 1, memory_order_relaxed);
    return rc;
}

static int put_one(void *ctx, size_t i, struct dx_error *err)
{
    struct dx_publish_upload *u = ctx;

    return put_file(u, &u->files[i], err);
}

int dx_publish_upload_files(struct dx_publish_upload *u, struct dx_error *err)
{
    size_t count = dx_manifest_object_count(u->entry);

    u->files = calloc(count + 1, sizeof *u->files);
    if (u->files == NULL)
        return dx_no_memory(err, "upload");
    for (size_t i = 0; i < count; i++)
        memcpy(u->files[u->file_count++].name, dx_manifest_object(u->entry, i)->name,
               sizeof u->files->name);
    return dx_parallel(u->threads, u->file_count, put_one, u, err);
}

const char *dx_publish_upload_etag(const struct dx_publish_upload *u, const char *name)
{
    for (size_t i = 0; i < u->file_count; i++)
        if (strcmp(u->files[i].name, name) == 0)
            return u->files[i].etag;
    return "";
}

int dx_publish_upload_one(struct dx_publish_upload *u, const char *name, struct dx_error *err)
{
    struct dx_publish_uploaded *file = &u->files[u->file_count++];
    int rc = dx_path_format(file->name, sizeof file->name, err, "%s", name);

    assert(u->file_count <= dx_manifest_object_count(u->entry));
    return rc == DX_OK ? put_file(u, file, err) : rc;
}

static int remove_one(void *ctx, size_t i, struct dx_error *err)
{
    const struct dx_publish_upload *u = ctx;
    char object[DX_MANIFEST_FILE_PATH];

    (void)err;
    dx_name_of_version(object, u->entry->version, u->files[i].name);
    if (u->files[i].tried)
        (void)dx_store_remove(u->store, object, NULL);
    return DX_OK;
}

void dx_publish_upload_undo(struct dx_publish_upload *u)
{
    (void)dx_parallel(u->threads, u->file_count, remove_one, u, NULL);
}

void dx_publish_upload_release(struct dx_publish_upload *u)
{
    free(u->files);
    u->files = NULL;
    u->file_count = 0;
}
