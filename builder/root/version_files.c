/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/root/version_files.h"

#include "builder/root/parallel.h"

struct fetching {
    const struct dx_version_files *f;
    struct dx_error *found;
};

static int fetch(const struct dx_version_files *f, const struct dx_manifest_file *file,
                 char path[4096], struct dx_error *err)
{
    char object[DX_MANIFEST_FILE_PATH];
    struct dx_mirror_want want = { object, file->size, file->hash, NULL };

    dx_manifest_file_path(f->entry, file, object);
    return dx_mirror_fetch(f->mirror, f->source, &want, path, err);
}

static void count(_Atomic uint64_t *counter, uint64_t n)
{
    if (counter != NULL)
        atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

static int fetch_one(void *ctx, size_t i, struct dx_error *err)
{
    const struct fetching *b = ctx;
    const struct dx_manifest_file *file = &b->f->entry->files[i];
    char path[4096];
    int rc;

    rc = fetch(b->f, file, path, err);
    count(b->f->bytes, file->size);
    count(b->f->items, 1);
    if (rc == DX_OK || b->found == NULL || rc == DX_E_NOMEM)
        return rc;
    b->found[i] = *err;
    return DX_OK;
}

int dx_version_files_fetch(const struct dx_version_files *f, struct dx_error *found,
                           struct dx_error *err)
{
    struct fetching b = { f, found };

    return dx_parallel(f->threads, f->entry->file_count, fetch_one, &b, err);
}

int dx_version_files_path(const struct dx_version_files *f, const char *name, char path[4096],
                          struct dx_error *err)
{
    const struct dx_manifest_file *file = dx_manifest_file(f->entry, name);

    return file == NULL ? dx_fail(err, DX_E_CORRUPT, "manifest: version %s lists no %s",
                                  f->entry->version, name)
                        : fetch(f, file, path, err);
}
