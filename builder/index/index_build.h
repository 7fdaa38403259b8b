/* SPDX-License-Identifier: Apache-2.0
 * index_build.h - all files of an index version from a scanned lake.
 *
 *   rc = dx_index_scan(&lake, ...);  rc = dx_index_identity(&lake, psl, &id, ...);
 *   rc = dx_index_build(&lake, &id, &options, entry, &stats, &err);
 *
 * Writes into options.dir (exists, empty) and adds each file with size and hash to the
 * manifest entry, together with the totals and the build id. With DX_SYNC_NOW every file and every
 * folder in it is synced when this returns; the folder itself and its parent are the caller's.
 * Same lake, same bytes, whatever memory and threads. lake's sorters are used up.
 *
 * With lake.base the index is merged from that of the base, or is a part beside those of its parts
 * that stay (dx_index_retain), whose names the entry gets. entry.base is the caller's. DX_INDEX_FULL:
 * builder/scan/index_base.h says what to do.
 *
 * Memory: options.memory, of which 8 bytes a domain for the perfect hash may be at most a
 * half: DX_E_LIMIT says what is needed.
 */
#ifndef DX_BUILDER_INDEX_INDEX_BUILD_H
#define DX_BUILDER_INDEX_INDEX_BUILD_H

#include "base/error.h"
#include "builder/index/index_options.h"

struct dx_index_identity;
struct dx_index_lake;
struct dx_manifest_version;

/* "names", "counts"... */
const char *dx_index_phase_name(enum dx_index_phase phase);

int dx_index_build(struct dx_index_lake *lake, const struct dx_index_identity *id,
                   const struct dx_index_options *options, struct dx_manifest_version *entry,
                   struct dx_index_stats *stats, struct dx_error *err);

#endif
