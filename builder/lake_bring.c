/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/lake_bring.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "fetch/download.h"

static int make_folder(const char *path, struct dx_error *err)
{
    char folder[PATH_MAX];
    const char *end = strrchr(path, '/');

    (void)snprintf(folder, sizeof folder, "%.*s", (int)(end - path), path);
    return dx_dir_make(folder, err);
}

int dx_lake_bring_file(void *bring, uint32_t file_id, const char *path, struct dx_error *err)
{
    const struct dx_lake_bring *b = bring;
    const struct dx_index_file *file = &b->lake->files[file_id];
    char object[DX_OBJECT_NAME_MAX + 1];
    bool has_etag = file->etag != NULL && file->etag[0] != '\0';
    struct dx_download d = { .source = b->source,
                             .object = object,
                             .size = file->size,
                             .pin = { file->size, has_etag ? file->etag : NULL },
                             .bytes = b->bytes };
    int n = snprintf(object, sizeof object, "%s%s", b->parquet_root, file->path);
    int rc = n < 0 || (size_t)n >= sizeof object
                 ? dx_fail(err, DX_E_LIMIT, "%s: the name of the object is too long", file->path)
                 : make_folder(path, err);

    if (rc == DX_OK)
        rc = dx_download_run(&d, path, err);
    if (rc == DX_E_CONFLICT || rc == DX_E_NOT_FOUND)
        rc = dx_fail_in(err, "a file of the lake was replaced or removed meanwhile");
    return rc;
}

void dx_lake_bring_drop(void *bring, uint32_t file_id, const char *path)
{
    (void)bring;
    (void)file_id;
    (void)unlink(path); /* what stays goes with the work folder */
}
