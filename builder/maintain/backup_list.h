/* SPDX-License-Identifier: Apache-2.0
 * backup_list.h - the immutable objects that versions of a root have, each with its size and hash.
 *
 *   struct dx_backup_list l = DX_BACKUP_LIST_INIT;
 *   rc = dx_backup_list_read(&l, source, entry, &err);     adds index and lake files of a version
 *   o = dx_backup_list_find(&l, "urls/...");               NULL: no version has it
 *   dx_backup_list_release(&l);
 *
 * Sizes and hashes are those of the manifest and of files.tsv, which is checked against the
 * manifest. Each name stands once, in byte order; one name with two contents is DX_E_CORRUPT.
 * Memory: some 100 bytes an object. One thread at a time.
 */
#ifndef DX_BUILDER_MAINTAIN_BACKUP_LIST_H
#define DX_BUILDER_MAINTAIN_BACKUP_LIST_H

#include "fetch/source.h"
#include "format/version/manifest.h"

struct dx_backup_object {
    char *name; /* from the root */
    uint64_t size;
    struct dx_hash128 hash;
    bool lake;
    bool there; /* for the caller: the destination has one of this name and size */
};

struct dx_backup_list {
    struct dx_backup_object *object;
    size_t count, room;
};

#define DX_BACKUP_LIST_INIT \
    {                       \
        NULL, 0, 0          \
    }

int dx_backup_list_read(struct dx_backup_list *l, struct dx_source *source,
                        const struct dx_manifest_version *entry, struct dx_error *err);
struct dx_backup_object *dx_backup_list_find(const struct dx_backup_list *l, const char *name);
bool dx_backup_object_same(const struct dx_backup_object *a, const struct dx_backup_object *b);
void dx_backup_list_release(struct dx_backup_list *l);

#endif
