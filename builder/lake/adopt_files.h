/* SPDX-License-Identifier: Apache-2.0
 * adopt_files.h - the files that an adopt makes part of a lake: where they lie, and how they get their names.
 *
 *   struct dx_adopt_files f = { .root = &root, .list = &list };
 *   rc = dx_adopt_files_check(&f, &err);           each is there, once, and has the size of the list
 *   f.to[i] = ...; f.claim = claim;                the path of each; of a store: the right to write
 *   rc = dx_adopt_files_place(&f, &err);           they have these paths
 *   dx_adopt_files_discard(&f);                    once they count: what was copied goes from where it lay
 *   dx_adopt_files_release(&f);
 *
 * Of a root in a directory a file is moved, by rename: it must be on the root's file system. Of a
 * root on object storage it is a file of this machine, which is put, or an object of the root below
 * spool/ by its address (s3://bucket/prefix/spool/...), which the store copies; several at a time.
 * Nothing else can be named: not an object that the lake or a version has.
 *
 * A place is given by one writer only: the registry has reserved the numbers (lake_adopt.c).
 * One thread at a time.
 */
#ifndef DX_BUILDER_LAKE_ADOPT_FILES_H
#define DX_BUILDER_LAKE_ADOPT_FILES_H

#include "base/error.h"
#include "builder/lake/lake_layout.h"
#include "fetch/source.h"

#include <stdbool.h>

struct dx_adopt_list;
struct dx_ingest_claim;
struct dx_root;

struct dx_adopt_files {
    const struct dx_root *root;
    const struct dx_adopt_list *list;
    struct dx_ingest_claim *claim; /* of a store */
    struct dx_lake_path *to;       /* one a file, made by check */
    char (*etag)[DX_SOURCE_ETAG];  /* one a file, of objects */
    uint64_t *inode;               /* one a file, of this machine; 0: an object */
};

/* The object of a file that is one: below spool/ of the root; NULL: it is a file of this machine. */
const char *dx_adopt_files_object(const struct dx_adopt_files *f, size_t i);
int dx_adopt_files_check(struct dx_adopt_files *f, struct dx_error *err);
/* In place: the files of the list are durable. */
int dx_adopt_files_sync(const struct dx_adopt_files *f, struct dx_error *err);
int dx_adopt_files_place(struct dx_adopt_files *f, struct dx_error *err);
/* After a failure `gc` removes what is left. */
void dx_adopt_files_discard(const struct dx_adopt_files *f);
void dx_adopt_files_release(struct dx_adopt_files *f);

#endif
