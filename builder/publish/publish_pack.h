/* SPDX-License-Identifier: Apache-2.0
 * publish_pack.h - the files of a new version as one (docs/FORMAT.md 11.6).
 *
 *   if (dx_publish_packs(entry, options->pack_max, usual))
 *       rc = dx_publish_pack(entry, dir, sync, &err);     dir has part.pack alone, and entry says so
 *
 * On object storage each file costs a request to put it and one to read it back, and each server a
 * request to fetch it: of a small version they cost more than its bytes. A large one keeps its
 * files: joined they would be written twice, and servers would fetch what they read by range.
 * One thread at a time.
 */
#ifndef DX_BUILDER_PUBLISH_PUBLISH_PACK_H
#define DX_BUILDER_PUBLISH_PUBLISH_PACK_H

#include <stdbool.h>

#include "base/file.h"
#include "format/version/manifest.h"

/* max: 0 stands for `usual`. */
bool dx_publish_packs(const struct dx_manifest_version *entry, uint64_t max, uint64_t usual);

/* A file that is not what the entry says is DX_E_CORRUPT. After an error dir may have both. */
int dx_publish_pack(struct dx_manifest_version *entry, const char *dir, enum dx_sync sync,
                    struct dx_error *err);

#endif
