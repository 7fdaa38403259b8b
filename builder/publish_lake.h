/* SPDX-License-Identifier: Apache-2.0
 * publish_lake.h - the lake of a root as the scan wants it: files by path, and datasets.
 *
 *   rc = dx_publish_lake_open(&lake, root, &manifest, &err);              of a directory
 *   rc = dx_publish_lake_open_remote(&lake, &remote, root, &manifest, dir, &err);
 *                    of object storage: the files will be brought to dir, with sizes and ETags
 *   lake.lake        files, root and registry of builder/index_scan.h
 *   lake.bytes       of all of them; lake.bytes_new: of those that the current version has not
 *   rc = dx_publish_lake_again(&lake, &err);        as it was opened, after a scan or a rebase
 *   rc = dx_publish_lake_change(&lake, goes, added, count, &err);         and with other files
 *   dx_publish_lake_close(&lake);
 *
 * The files are those of builder/lake_named.h that the next version has: the current version's
 * and new ones. No file and no version is DX_E_NOT_FOUND with words; where all files were taken
 * out, the next version is empty. Files of other writers, whose folders say
 * no domain_prefix of ours, count as 00-ff.
 */
#ifndef DX_BUILDER_PUBLISH_LAKE_H
#define DX_BUILDER_PUBLISH_LAKE_H

#include "builder/index_scan.h"
#include "builder/lake_named.h"
#include "builder/remote_root.h"
#include "format/registry_json.h"

#define DX_PUBLISH_PARQUET_ROOT "urls/"

struct dx_publish_lake {
    struct dx_index_lake lake;
    struct dx_registry registry;
    char *root;                 /* ROOT/urls, or dir */
    struct dx_lake_named named; /* list: by path, as lake.files were when it was opened */
    uint64_t bytes;
    uint64_t bytes_new;
};

int dx_publish_lake_open(struct dx_publish_lake *l, const char *root,
                         const struct dx_manifest *manifest, struct dx_error *err);
int dx_publish_lake_open_remote(struct dx_publish_lake *l, const struct dx_remote_root *remote,
                                const char *root, const struct dx_manifest *manifest,
                                const char *dir, struct dx_error *err);
int dx_publish_lake_again(struct dx_publish_lake *l, struct dx_error *err);

/* goes: of named.list.file[i], or NULL. added: paths relative to ROOT, sizes and ETags; copied. */
int dx_publish_lake_change(struct dx_publish_lake *l, const bool *goes,
                           const struct dx_lake_entry *added, size_t count, struct dx_error *err);
void dx_publish_lake_close(struct dx_publish_lake *l);

#endif
