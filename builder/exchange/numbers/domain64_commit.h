/* SPDX-License-Identifier: Apache-2.0
 * domain64_commit.h - changes of the domain64 registry, in a directory or on object storage.
 *
 *   rc = dx_domain64_init(root, remote, layout, &list, &err);       1 made, 0 there is one (in list)
 *   rc = dx_domain64_init_look(remote, layout, &list, &err);        the same answer; nothing is written
 *   struct dx_domain64_commit c = { .root = root, .remote = remote, .etag = etag, .list = &list, ... };
 *   rc = dx_domain64_commit(&c, &err);     DX_E_CONFLICT: another one was first; read it and begin again
 *
 * A commit puts the book at `path` (NULL: none), which is the last of the list, under a name that
 * says its bytes, then the list, on condition that it is still the one with `etag`. What a reader
 * sees in between is the old registry, and after a crash a book that no list names. Those go with
 * the next commit: books that no list can name any more. So books that were merged go, and readers
 * that were about to open one read the list again (loader/followed/domain64_registry.h).
 *
 * DX_E_UNKNOWN: it may have happened; the list says. A directory has no condition that two
 * processes cannot pass at once, so there a commit is made under a lock, ROOT/index/domain64/.lock.
 * One thread of a process at a time, whatever the root.
 */
#ifndef DX_BUILDER_EXCHANGE_NUMBERS_DOMAIN64_COMMIT_H
#define DX_BUILDER_EXCHANGE_NUMBERS_DOMAIN64_COMMIT_H

#include "builder/root/root.h"
#include "canon/domain64.h"
#include "format/root/domain64_manifest.h"

struct dx_domain64_commit {
    const char *root;
    const struct dx_root *remote; /* of a directory too */
    const char *etag;
    const struct dx_domain64_manifest *before; /* that was read, with etag */
    const struct dx_domain64_manifest *list;
    const char *path;
};

int dx_domain64_init(const char *root, struct dx_root *remote, enum dx_domain64_layout layout,
                     struct dx_domain64_manifest *list, struct dx_error *err);
int dx_domain64_init_look(const struct dx_root *remote, enum dx_domain64_layout layout,
                          struct dx_domain64_manifest *list, struct dx_error *err);
int dx_domain64_commit(const struct dx_domain64_commit *c, struct dx_error *err);

#endif
