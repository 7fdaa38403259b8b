/* SPDX-License-Identifier: Apache-2.0
 * publish_placed.h - the files that a rewrite made, put in the lake, and taken back.
 *
 *   rc = dx_publish_placed_put(&placed, store, version, dir, paths, count, threads, &err);
 *                         index/claims/VERSION.lake first, then each file if its name is free
 *   placed.file[i]        path relative to the root, size, ETag
 *   dx_publish_placed_undo(&placed);      the files first, then the list: none counts as new
 *   dx_publish_placed_release(&placed);
 *
 * dir/paths[i] becomes urls/paths[i]. A name that is not free is DX_E_CONFLICT. What undo cannot
 * take away stays named by the list, and so does all of it if a put's fate is not known: a file
 * that comes late would be new rows without it. store: of a directory or of object storage; each
 * put is durable when it returns.
 */
#ifndef DX_BUILDER_PUBLISH_PUBLISH_PLACED_H
#define DX_BUILDER_PUBLISH_PUBLISH_PLACED_H

#include <stdatomic.h>

#include "builder/lake/lake_layout.h"

struct dx_store;

struct dx_publish_placed {
    struct dx_store *store;
    const char *dir; /* while they are put */
    char list[64];   /* the object; "": none */
    struct dx_lake_entry *file;
    bool *tried; /* of file[i]: it may be there, and is ours */
    size_t count;
    unsigned threads;
    atomic_bool may_come; /* a file may still arrive, after it was removed */
};

int dx_publish_placed_put(struct dx_publish_placed *p, struct dx_store *store, const char *version,
                          const char *dir, char *const *paths, size_t count, unsigned threads,
                          struct dx_error *err);
void dx_publish_placed_undo(struct dx_publish_placed *p);
void dx_publish_placed_release(struct dx_publish_placed *p);

#endif
