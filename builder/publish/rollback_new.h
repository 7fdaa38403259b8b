/* SPDX-License-Identifier: Apache-2.0
 * rollback_new.h - lake files that no version has, where a version is about to become current that
 * they were not compared with.
 *
 *   rc = dx_rollback_new_check(&now, source, &manifest, to, root, &err);
 *
 * ingest leaves out rows that its dataset has: in the current version, and in files that no version
 * has yet. If the current version becomes one with other files of that dataset, the next publish
 * would have both, and a row of both twice. DX_E_EXISTS, and the message says what to do. Where
 * `to` has only files that the current version has too, nothing stands twice; rows that were left
 * out then are the caller's to say (rollback's description).
 *
 * now: as the lake is, opened after the manifest was read. Memory: 16 bytes a lake file of the
 * current version in such datasets.
 */
#ifndef DX_BUILDER_PUBLISH_ROLLBACK_NEW_H
#define DX_BUILDER_PUBLISH_ROLLBACK_NEW_H

#include "base/error.h"

struct dx_lake_snapshot;
struct dx_manifest;
struct dx_manifest_version;
struct dx_source;

int dx_rollback_new_check(const struct dx_lake_snapshot *now, struct dx_source *source,
                          const struct dx_manifest *manifest, const struct dx_manifest_version *to,
                          const char *root, struct dx_error *err);

#endif
