/* SPDX-License-Identifier: Apache-2.0
 * publish_missing.h - lake files that the current version has and that are not there.
 *
 *   struct dx_publish_allow allow = { names, count, say, say_ctx };       say may be NULL
 *   rc = dx_publish_missing_check(&named, &registry, &allow, root, version, &err);
 *            DX_E_NOT_FOUND: some are of datasets that are not allowed to lack files; each goes to `say` (at most DX_PUBLISH_MISSING_SAID), the error names the datasets
 *   rc = dx_publish_missing_write(&named, dir, sync, entry, &err);
 *            missing.tsv.zst of a version in the making, if it lacks files
 *
 * named: of builder/lake/lake_membership.h, applied. What the new version lacks is what its base
 * lacked and is still not there, and what was allowed. It is written down so that the files stay
 * when older versions are collected, and so that a publish takes them when they are back.
 * One thread at a time.
 */
#ifndef DX_BUILDER_PUBLISH_PUBLISH_MISSING_H
#define DX_BUILDER_PUBLISH_PUBLISH_MISSING_H

#include "base/file.h"
#include "builder/lake/lake_membership.h"
#include "format/version/manifest.h"

#define DX_PUBLISH_MISSING_SAID 20

struct dx_root;

struct dx_publish_allow {
    const char *const *dataset; /* names */
    size_t count;
    void (*say)(void *ctx, const char *line);
    void *say_ctx;
    /* not refused: a dataset that lacks files is frozen, unless all do (publish_lake.h) */
    bool freezes;
};

int dx_publish_missing_check(const struct dx_lake_membership *n, const struct dx_registry *r,
                             const struct dx_publish_allow *allow, const char *root,
                             const char *version, struct dx_error *err);
/* Their numbers are not given again: they may come back. Before the flip; of a directory, under its
 * lock. */
int dx_publish_missing_raise(const struct dx_lake_membership *n, const struct dx_root *root,
                             struct dx_error *err);
int dx_publish_missing_write(const struct dx_lake_membership *n, const char *dir, enum dx_sync sync,
                             struct dx_manifest_version *entry, struct dx_error *err);

#endif
