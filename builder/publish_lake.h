/* SPDX-License-Identifier: Apache-2.0
 * publish_lake.h - the lake of a root as the scan wants it: files by path, and datasets.
 *
 *   rc = dx_publish_lake_open(&lake, root, &lake_bytes, &err);            of a directory
 *   rc = dx_publish_lake_open_remote(&lake, &remote, root, dir, &lake_bytes, &err);
 *                    of object storage: the files will be brought to dir, with sizes and ETags
 *   lake.lake        files, root and registry of builder/index_scan.h
 *   dx_publish_lake_close(&lake);
 *
 * An empty lake is DX_E_NOT_FOUND with words. Files of other writers, whose folders say no
 * domain_prefix of ours, count as 00-ff.
 */
#ifndef DX_BUILDER_PUBLISH_LAKE_H
#define DX_BUILDER_PUBLISH_LAKE_H

#include "builder/index_scan.h"
#include "builder/remote_root.h"
#include "format/registry_json.h"

#define DX_PUBLISH_PARQUET_ROOT "urls/"

struct dx_publish_lake {
    struct dx_index_lake lake;
    struct dx_registry registry;
    char *root; /* ROOT/urls, or dir */
};

int dx_publish_lake_open(struct dx_publish_lake *l, const char *root, uint64_t *lake_bytes,
                         struct dx_error *err);
int dx_publish_lake_open_remote(struct dx_publish_lake *l, const struct dx_remote_root *remote,
                                const char *root, const char *dir, uint64_t *lake_bytes,
                                struct dx_error *err);
void dx_publish_lake_close(struct dx_publish_lake *l);

#endif
