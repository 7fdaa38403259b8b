/* SPDX-License-Identifier: Apache-2.0
 * listed_files.h - the lake files that a version has, from its files.tsv.zst, and those that it
 * lacks by permission, from its missing.tsv.zst.
 *
 *   rc = dx_listed_files_all(source, NULL, &manifest, entry, each, ctx, &err);
 *   rc = dx_listed_files(source, NULL, entry, each, ctx, &err);       those of its own part alone
 *   rc = dx_listed_gone(source, NULL, entry, &gone, &err);            file_ids of older parts that it does not have
 *   rc = dx_listed_missing(source, NULL, entry, each, ctx, &err);     nothing, if it has no such file
 *
 * `each` is called for every file in the order of file_ids, not for the holes that files left; its
 * first negative result ends it. A row's path is relative to entry->parquet_root and borrowed
 * during the call. source: of the root, of any kind (fetch/source.h). Instead of NULL: copies (loader/mirror.h), which the
 * lists are read from, and come to. The list is read whole and
 * held against size and hash in the entry before the first call; in memory it takes its plain size.
 * Files of older parts that left are none of the version's: dx_listed_files_all passes over them. Their numbers are a
 * Roaring bitmap, the caller's; NULL: none left.
 * A version that is dropped may have parts that went before it: their files are not listed. It has its own list until its entry goes (docs/model/README.md, collector step
 * 7). No state; `each` is called on the caller's thread.
 */
#ifndef DX_BUILDER_LAKE_LISTED_FILES_H
#define DX_BUILDER_LAKE_LISTED_FILES_H

#include "fetch/source.h"
#include "format/version/files_tsv.h"
#include "format/version/manifest.h"

struct dx_mirror;
struct roaring_bitmap_s;

typedef int dx_listed_file(void *ctx, const struct dx_files_row *row, struct dx_error *err);

int dx_listed_files_all(struct dx_source *source, struct dx_mirror *copies,
                        const struct dx_manifest *m, const struct dx_manifest_version *entry,
                        dx_listed_file *each, void *ctx, struct dx_error *err);
int dx_listed_files(struct dx_source *source, struct dx_mirror *copies,
                    const struct dx_manifest_version *entry, dx_listed_file *each, void *ctx,
                    struct dx_error *err);
int dx_listed_gone(struct dx_source *source, struct dx_mirror *copies,
                   const struct dx_manifest_version *entry, struct roaring_bitmap_s **gone,
                   struct dx_error *err);
int dx_listed_missing(struct dx_source *source, struct dx_mirror *copies,
                      const struct dx_manifest_version *entry, dx_listed_file *each, void *ctx,
                      struct dx_error *err);

#endif
