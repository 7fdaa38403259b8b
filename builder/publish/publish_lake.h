/* SPDX-License-Identifier: Apache-2.0
 * publish_lake.h - the lake of a root as the scan wants it: files by path, and datasets.
 *
 *   rc = dx_publish_lake_open(&lake, &root, &manifest, &allow, dir, &err);
 *                    of object storage: the files will be fetched to dir, with sizes and ETags
 *   lake.lake        files, root and registry of builder/lake/lake_files.h
 *   lake.bytes       of all of them; lake.bytes_new: of those that the current version has not
 *   rc = dx_publish_lake_again(&lake, &err);        as it was opened, after a scan or a rebase
 *   rc = dx_publish_lake_change(&lake, goes, added, count, &err);         and with other files
 *   dx_publish_lake_close(&lake);
 *
 *   rc = dx_publish_lake_of(&lake, &root, version, dir, &err);   instead of open: the files and datasets
 *                    of an open version, whatever became of the lake since; nothing is listed
 *
 * The files are those of builder/lake/lake_membership.h that the next version has: the current
 * version's and new ones. No file and no version is DX_E_NOT_FOUND; where all files were taken out,
 * the next version is empty. Files of other writers, whose folders say no domain_prefix of ours,
 * count as 00-ff. A file of the current version that is not there is DX_E_NOT_FOUND, but for those
 * of datasets that `allow` names (publish_missing.h); named.missing and named.lacked then say which
 * files the next version lacks.
 *
 * Of a frozen dataset the next version has what the one has that it is merged with, its files that are not there
 * included: these are in the list, and noted in lost. One thread at a time.
 */
#ifndef DX_BUILDER_PUBLISH_PUBLISH_LAKE_H
#define DX_BUILDER_PUBLISH_PUBLISH_LAKE_H

#include "builder/lake/lake_files.h"
#include "builder/lake/lake_membership.h"
#include "builder/publish/publish_missing.h"
#include "builder/root/root.h"
#include "builder/scan/index_scan.h"
#include "format/root/registry_json.h"
#include "format/version/names.h"

struct dx_version;

struct dx_publish_lake {
    struct dx_index_lake lake;
    struct dx_registry registry;
    char *root;                      /* ROOT/urls, or dir */
    struct dx_lake_membership named; /* list: by path, as lake.files were when it was opened */
    uint64_t bytes;
    uint64_t bytes_new;
    uint32_t *frozen; /* datasets that stay as the version has it that is merged with */
    size_t frozen_count, frozen_capacity;
    struct dx_left_out lost; /* files of these that are not there */
};

int dx_publish_lake_open(struct dx_publish_lake *l, const struct dx_root *root,
                         const struct dx_manifest *manifest, const struct dx_publish_allow *allow,
                         const char *dir, struct dx_error *err);
int dx_publish_lake_of(struct dx_publish_lake *l, const struct dx_root *root,
                       const struct dx_version *version, const char *dir, struct dx_error *err);
int dx_publish_lake_again(struct dx_publish_lake *l, struct dx_error *err);

/* goes: of named.list.file[i], or NULL. added: paths relative to ROOT, sizes and ETags; copied. */
int dx_publish_lake_change(struct dx_publish_lake *l, const bool *goes,
                           const struct dx_lake_entry *added, size_t count, struct dx_error *err);
/* From the next change on: files of the dataset may differ from what the current version says, or not be there. */
int dx_publish_lake_freeze(struct dx_publish_lake *l, uint32_t dataset_id, struct dx_error *err);
/* It has files, and all are of frozen datasets. */
bool dx_publish_lake_is_frozen(const struct dx_publish_lake *l);
/* Replacements that are pending are not taken: the datasets' files of the current version come back (dx_lake_membership_hold). */
int dx_publish_lake_hold(struct dx_publish_lake *l, const uint32_t *dataset_ids, size_t count,
                         struct dx_error *err);
void dx_publish_lake_close(struct dx_publish_lake *l);

#endif
