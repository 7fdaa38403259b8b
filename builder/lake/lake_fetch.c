/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/lake/lake_fetch.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/path.h"
#include "fetch/download.h"

static int make_folder(const char *path, struct dx_error *err)
{
    char folder[PATH_MAX];
    const char *end = strrchr(path, '/');
    int rc = dx_path_format(folder, sizeof folder, err, "%.*s", (int)(end - path), path);

    return rc == DX_OK ? dx_dir_make(folder, err) : rc;
}

int dx_lake_fetch_file(void *fetch, uint32_t file_id, const char *path, struct dx_error *err)
{
    const struct dx_lake_fetch *b = fetch;
    const struct dx_index_file *file = &b->lake->files[file_id];
    char object[DX_OBJECT_NAME_MAX + 1];
    bool has_etag = file->etag != NULL && file->etag[0] != '\0';
    struct dx_download d = { .source = b->source,
                             .object = object,
                             .size = file->size,
                             .pin = { file->size, has_etag ? file->etag : NULL },
                             .bytes = b->bytes };
    int rc = dx_path_format(object, sizeof object, err, "%s%s", b->parquet_root, file->path);

    assert(file_id < b->lake->file_count);
    if (rc == DX_OK)
        rc = make_folder(path, err);
    if (rc == DX_OK)
        rc = dx_download_run(&d, path, err);
    if (rc == DX_E_CONFLICT || rc == DX_E_NOT_FOUND)
        rc = dx_fail_in(err, "a file of the lake was replaced or removed meanwhile");
    return rc;
}

void dx_lake_fetch_drop(void *fetch, uint32_t file_id, const char *path)
{
    (void)fetch;
    (void)file_id;
    (void)unlink(path); /* what stays goes with the work folder */
}
