/* SPDX-License-Identifier: Apache-2.0
 * backup_end.h - one end of a backup: the root that is read or the root that is written, of any
 * kind.
 *
 *   rc = dx_backup_end_open(&e, "s3://bucket/prefix", DX_ROOT_READ, &err);
 *   rc = dx_backup_end_copy(&from, &to, &object, work, &err);     whole and of that hash, or an error
 *   rc = dx_backup_end_has(&to, &object, work, &err);             reads it: 1 it is that one, 0 not
 *   dx_backup_end_close(&e);
 *
 * work: a name for a temporary file that no other thread uses; large objects of a store go through
 * it. Objects up to 4 MiB go through memory. copy and has are safe from several threads.
 */
#ifndef DX_BUILDER_MAINTAIN_BACKUP_END_H
#define DX_BUILDER_MAINTAIN_BACKUP_END_H

#include "builder/maintain/backup_list.h"
#include "builder/root/root.h"

struct dx_backup_end {
    const char *root;
    char *id; /* the same for all ways to write this root */
    struct dx_root r;
};

int dx_backup_end_open(struct dx_backup_end *e, const char *root, enum dx_root_use use,
                       struct dx_error *err);
void dx_backup_end_close(struct dx_backup_end *e);

int dx_backup_end_copy(const struct dx_backup_end *from, const struct dx_backup_end *to,
                       const struct dx_backup_object *object, const char *work,
                       struct dx_error *err);
int dx_backup_end_has(const struct dx_backup_end *e, const struct dx_backup_object *object,
                      const char *work, struct dx_error *err);

/* A small object that changes, put only if it is another one: bytes, or what `then` has. */
int dx_backup_end_write(const struct dx_backup_end *to, const char *name, struct dx_span bytes,
                        struct dx_span then, struct dx_error *err);

#endif
