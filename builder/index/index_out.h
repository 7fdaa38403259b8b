/* SPDX-License-Identifier: Apache-2.0
 * index_out.h - one file of a version in the making.
 *
 *   struct dx_index_out out = DX_INDEX_OUT_INIT;
 *   rc = dx_index_out_open(&out, dir, DX_FILE_COUNTS, DX_SYNC_NOW, &err);
 *   ... give dx_index_out_sink and &out to a writer of format/ ...
 *   rc = dx_index_out_close(&out, &err);               on disk; out.size and out.hash valid
 *   rc = dx_manifest_file_add(entry, out.name, out.size, &out.hash, &err);
 *   dx_index_out_abort(&out);                          safe at any time
 *
 * DX_SYNC_LATER for files that need not outlive the machine: they will be uploaded.
 */
#ifndef DX_BUILDER_INDEX_INDEX_OUT_H
#define DX_BUILDER_INDEX_INDEX_OUT_H

#include "base/file.h"
#include "format/version/manifest.h"

struct dx_index_out {
    struct dx_file_out file;
    char name[DX_MANIFEST_FILE_NAME];
    enum dx_sync sync;
    uint64_t size;
    struct dx_hash128 hash;
    bool is_open;
};

#define DX_INDEX_OUT_INIT     \
    {                         \
        .file = { .fd = -1 }, \
    }

int dx_index_out_open(struct dx_index_out *out, const char *dir, const char *name,
                      enum dx_sync sync, struct dx_error *err);
int dx_index_out_sink(void *out, struct dx_span bytes, struct dx_error *err);
int dx_index_out_close(struct dx_index_out *out, struct dx_error *err);
void dx_index_out_abort(struct dx_index_out *out);

/* close, and its line in the manifest: threads may commit files of one entry at once. */
int dx_index_out_commit(struct dx_index_out *out, struct dx_manifest_version *entry,
                        struct dx_error *err);

#endif
