/* SPDX-License-Identifier: Apache-2.0
 * lake_fetch.h - files of a lake on object storage, fetched for the scan and dropped after it.
 *
 *   struct dx_lake_fetch b = { .source = src, .lake = &lake, .parquet_root = "urls/" };
 *   struct dx_index_fetch fetch = { &b, disk_bytes, dx_lake_fetch_file, dx_lake_fetch_drop };
 *   options.fetch = &fetch;                                     builder/lake/lake_files.h
 *
 * Each file is asked for with the size and the ETag that lake.files says: one that was replaced
 * since it was listed is DX_E_CONFLICT. Safe from several threads.
 */
#ifndef DX_BUILDER_LAKE_LAKE_FETCH_H
#define DX_BUILDER_LAKE_LAKE_FETCH_H

#include "builder/lake/lake_files.h"
#include "fetch/source.h"

struct dx_lake_fetch {
    struct dx_source *source;
    const struct dx_index_lake *lake;
    const char *parquet_root;
    _Atomic uint64_t *bytes; /* += what came; may be NULL */
};

int dx_lake_fetch_file(void *fetch, uint32_t file_id, const char *path, struct dx_error *err);
void dx_lake_fetch_drop(void *fetch, uint32_t file_id, const char *path);

#endif
