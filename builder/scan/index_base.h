/* SPDX-License-Identifier: Apache-2.0
 * index_base.h - a new version as the merge of an older one with what changed in the lake.
 *
 *   rc = dx_index_rebase(&lake, base, why, &err);   before the scan; base: an open version
 *     1   lake is that of an incremental version of base
 *     0   it cannot be: `why` has the reason ("the base has ..."), lake is as it was
 *     <0  DX_E_CORRUPT: a file of the base is another one now ("replaced in place": lake.replaced); ...
 *   rc = dx_index_scan(&lake, ...);
 *   rc = dx_index_retain(&lake, &policy, merge, &err);   which parts of the base stay; not called: none does
 *   rc = dx_index_identity(&lake, ...);
 *   rc = dx_index_build(&lake, ...);
 *     DX_INDEX_FULL   two domains have one domain_id, which a merge does not do: empty the folder, take the entry
 *                     out of the manifest, and build of a lake without a base
 *   dx_index_lake_release(&lake);
 *
 * Given are the files that the new version shall have, by path (publish_lake.h), with their sizes,
 * and with ETags where the store tells them. After a rebase lake.files are by file_id: a file that
 * the base has keeps its number and has what the base knows of it; files that went leave holes
 * (path NULL, all zero); new ones follow in order of their paths. lake.base stays borrowed, and
 * base must be open (pinned) until the lake is released.
 *
 * What is read then, by dataset (docs/notes/versions.md): of one whose files are all known nothing;
 * of one that grew the new files, and of the known ones the rows of the domains that the new ones
 * have too, by the base's postings and page sums, through the base's source (which may be remote);
 * of one that lost a file, or is new, all; of known files for the pairs alone. The base's index files are streamed.
 *
 * The caller sees to it that the suffix list is the base's; canon_version and collisions are looked
 * at here. One thread.
 */
#ifndef DX_BUILDER_SCAN_INDEX_BASE_H
#define DX_BUILDER_SCAN_INDEX_BASE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DX_INDEX_WHY 160

struct dx_index_lake;
struct dx_parts_policy;
struct dx_version;

/* What became of a dataset since the base. */
enum dx_index_change {
    DX_INDEX_SAME,   /* all files known, none gone */
    DX_INDEX_NEW,    /* the base has no file of it */
    DX_INDEX_GROWN,  /* new files beside all known ones */
    DX_INDEX_REDONE, /* some file is gone, or lake.rescan_grown: all its pairs are rebuilt */
    DX_INDEX_GONE    /* all files are gone */
};

/* Of one dataset; lake.changes has one for each dataset with files, by dataset_id. */
struct dx_index_dataset {
    uint32_t dataset_id;
    enum dx_index_change change;
    uint64_t known, fresh, lost; /* files */
};

int dx_index_rebase(struct dx_index_lake *lake, struct dx_version *base, char why[DX_INDEX_WHY],
                    struct dx_error *err);

/* After the scan of a lake with a base: the new version has its own part, for what the scan found
 * and the domains that it is of, and the older parts of the base that are not merged into it: which,
 * parts_policy.h says, and by merge whether of a publish or of a merge beside it, for which nothing
 * is new. The new part also takes over the domains of datasets that went, or of which no known file
 * is left, or of which all files are read again. */
int dx_index_retain(struct dx_index_lake *lake, const struct dx_parts_policy *policy, bool merge,
                    struct dx_error *err);

/* Whether the base knows file i (no hole) and it need not be scanned. */
bool dx_index_stays(const struct dx_index_lake *lake, size_t i);
/* Whether row groups, tags and places of URLs of file i are what the base says, though its rows may be
 * scanned again for the pairs. */
bool dx_index_is_known(const struct dx_index_lake *lake, size_t i);

/* DX_INDEX_NEW for a dataset that has no files, and without a base. */
enum dx_index_change dx_index_change_of(const struct dx_index_lake *lake, uint32_t dataset_id);

#endif
