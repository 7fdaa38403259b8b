/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/index/index_out.h"

#include <assert.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>

#include "base/path.h"
#include "format/core/zseek_whole.h"

int dx_index_out_open(struct dx_index_out *out, const char *dir, const char *name,
                      enum dx_sync sync, struct dx_error *err)
{
    char path[PATH_MAX];
    int rc = dx_path_format(path, sizeof path, err, "%s/%s", dir, name);

    assert(!out->is_open);
    if (rc == DX_OK)
        rc = dx_path_format(out->name, sizeof out->name, err, "%s", name);
    out->sync = sync;
    if (rc == DX_OK)
        rc = dx_file_out_open(&out->file, path, err);
    out->is_open = rc == DX_OK;
    if (rc == DX_OK && !dx_zseek_named(name)) /* those are read by page, the others mapped */
        rc = dx_file_out_mapped(&out->file, err);
    if (rc != DX_OK)
        dx_index_out_abort(out);
    return rc;
}

int dx_index_out_sink(void *ctx, struct dx_span bytes, struct dx_error *err)
{
    struct dx_index_out *out = ctx;

    return dx_file_out_write(&out->file, bytes, err);
}

int dx_index_out_close(struct dx_index_out *out, struct dx_error *err)
{
    int rc;

    assert(out->is_open);
    rc = dx_file_out_close(&out->file, out->sync, err);
    out->is_open = false;
    out->size = out->file.size;
    out->hash = out->file.hash;
    return rc;
}

void dx_index_out_abort(struct dx_index_out *out)
{
    if (out->is_open)
        dx_file_out_abort(&out->file);
    out->is_open = false;
}

int dx_index_out_commit(struct dx_index_out *out, struct dx_manifest_version *entry,
                        struct dx_error *err)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the lists of entries */
    int rc = dx_index_out_close(out, err);

    if (rc != DX_OK)
        return rc;
    (void)pthread_mutex_lock(&lock);
    rc = dx_manifest_file_add(entry, out->name, out->size, &out->hash, err);
    (void)pthread_mutex_unlock(&lock);
    return rc;
}
