/* SPDX-License-Identifier: Apache-2.0
 * lake_bring.h - files of a lake on object storage, brought for the scan and dropped after it.
 *
 *   struct dx_lake_bring b = { .source = src, .lake = &lake, .parquet_root = "urls/" };
 *   struct dx_index_bring bring = { &b, disk_bytes, dx_lake_bring_file, dx_lake_bring_drop };
 *   options.bring = &bring;                                     builder/index_scan.h
 *
 * Each file is asked for with the size and the ETag that lake.files says: one that was replaced
 * since it was listed is DX_E_CONFLICT with words. Safe from several threads.
 */
#ifndef DX_BUILDER_LAKE_BRING_H
#define DX_BUILDER_LAKE_BRING_H

#include "builder/index_scan.h"
#include "fetch/source.h"

struct dx_lake_bring {
    struct dx_source *source;
    const struct dx_index_lake *lake;
    const char *parquet_root;
    _Atomic uint64_t *bytes; /* += what came; may be NULL */
};

int dx_lake_bring_file(void *bring, uint32_t file_id, const char *path, struct dx_error *err);
void dx_lake_bring_drop(void *bring, uint32_t file_id, const char *path);

#endif
