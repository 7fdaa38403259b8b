/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/publish/publish_pack.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <unistd.h>

#include "base/path.h"
#include "builder/index/index_out.h"
#include "builder/publish/publish_job.h"

bool dx_publish_packs(const struct dx_manifest_version *entry, uint64_t max, uint64_t usual)
{
    return dx_manifest_pack_size(entry) <= (max == 0 ? usual : max);
}

/* Where the next file begins. */
static int pad(struct dx_index_out *out, struct dx_error *err)
{
    static const uint8_t zeros[DX_PACK_ALIGN];
    size_t over = (size_t)(out->file.size % DX_PACK_ALIGN);

    return over == 0 ? DX_OK : dx_index_out_sink(out, dx_span_of(zeros, sizeof zeros - over), err);
}

static int add_file(struct dx_index_out *out, const char *dir, const struct dx_manifest_file *file,
                    struct dx_error *err)
{
    struct dx_map map;
    int rc = dx_publish_job_file(&map, dir, file, err);

    if (rc == DX_OK)
        rc = pad(out, err);
    if (rc == DX_OK)
        rc = dx_index_out_sink(out, map.bytes, err);
    dx_map_close(&map);
    return rc;
}

static int remove_files(const struct dx_manifest_version *entry, const char *dir,
                        struct dx_error *err)
{
    for (size_t i = 0; i < entry->file_count; i++) {
        char path[PATH_MAX];
        int rc = dx_path_format(path, sizeof path, err, "%s/%s", dir, entry->files[i].name);

        if (rc < 0)
            return rc;
        if (unlink(path) < 0)
            return dx_fail_errno(err, errno, "%s: cannot remove", path);
    }
    return DX_OK;
}

int dx_publish_pack(struct dx_manifest_version *entry, const char *dir, enum dx_sync sync,
                    struct dx_error *err)
{
    struct dx_index_out out = DX_INDEX_OUT_INIT;
    int rc = dx_index_out_open(&out, dir, DX_FILE_PACK, sync, err);

    assert(!dx_manifest_packed(entry));
    for (size_t i = 0; rc == DX_OK && i < entry->file_count; i++)
        rc = add_file(&out, dir, &entry->files[i], err);
    if (rc == DX_OK)
        rc = dx_index_out_close(&out, err);
    dx_index_out_abort(&out);
    if (rc == DX_OK)
        rc = dx_manifest_pack_set(entry, &out.hash, err);
    return rc == DX_OK ? remove_files(entry, dir, err) : rc;
}
