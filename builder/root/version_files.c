/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/root/version_files.h"

#include <assert.h>

#include "builder/root/parallel.h"
#include "format/core/zseek_whole.h"

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
    const struct dx_manifest_file *file = dx_manifest_object(b->f->entry, i);
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

    return dx_parallel(f->threads, dx_manifest_object_count(f->entry), fetch_one, &b, err);
}

static const struct dx_manifest_file *listed(const struct dx_manifest_version *entry,
                                             const char *name, struct dx_error *err)
{
    const struct dx_manifest_file *file = dx_manifest_file(entry, name);

    if (file == NULL)
        (void)dx_fail(err, DX_E_CORRUPT, "manifest: version %s lists no %s", entry->version, name);
    return file;
}

int dx_version_files_map(const struct dx_version_files *f, const char *name, struct dx_map *map,
                         struct dx_error *err)
{
    const struct dx_manifest_file *file = listed(f->entry, name, err);
    bool packed = dx_manifest_packed(f->entry);
    struct dx_manifest_place place;
    struct dx_map_range range;
    char path[4096];
    int rc;

    *map = (struct dx_map)DX_MAP_INIT;
    if (file == NULL)
        return DX_E_CORRUPT;
    dx_manifest_place(f->entry, file, &place);
    range = (struct dx_map_range){ place.at, file->size, place.total };
    rc = fetch(f, packed ? &f->entry->pack : file, path, err);
    return rc == DX_OK
               ? dx_map_open_range(map, path, packed ? &range : NULL, DX_MAP_SEQUENTIAL, err)
               : rc;
}

int dx_version_file_check(const struct dx_manifest_file *file, struct dx_span bytes,
                          const char *object, struct dx_error *err)
{
    struct dx_hash128 hash = dx_hash128_of(bytes);

    return bytes.size == file->size && dx_hash128_equal(&hash, &file->hash)
               ? DX_OK
               : dx_fail(err, DX_E_CORRUPT, "%s: the bytes of %s are not those that were published",
                         object, file->name);
}

int dx_version_file_read(struct dx_source *source, const struct dx_manifest_version *entry,
                         const char *name, size_t cap, struct dx_buf *out, struct dx_error *err)
{
    const struct dx_manifest_file *file = listed(entry, name, err);
    struct dx_manifest_place place;
    struct dx_read read;
    int rc = DX_OK;

    if (file == NULL)
        return DX_E_CORRUPT;
    dx_manifest_place(entry, file, &place);
    if (file->size > cap)
        return dx_fail(err, DX_E_LIMIT, "%s: %s has %llu bytes, at most %zu are read", place.object,
                       name, (unsigned long long)file->size, cap);
    read = (struct dx_read){ place.object, place.at, (size_t)file->size,
                             dx_buf_reserve(out, (size_t)file->size) };
    if (out->failed)
        return dx_buf_fail(out, err, place.object);
    if (file->size > 0)
        rc = dx_source_read(source, &read, 1, err);
    if (rc != DX_OK)
        return rc;
    rc = dx_version_file_check(file, dx_span_of(read.to, read.size), place.object, err);
    if (rc == DX_OK)
        out->size += read.size;
    return rc;
}

int dx_version_text_read(struct dx_source *source, const struct dx_manifest_version *entry,
                         const char *name, size_t cap, struct dx_buf *out, struct dx_error *err)
{
    int rc;

    assert(out->size == 0);
    rc = dx_version_file_read(source, entry, name, cap, out, err);
    return rc == DX_OK && dx_zseek_named(dx_manifest_file(entry, name)->name)
               ? dx_zseek_expand(out, name, cap, err)
               : rc;
}
