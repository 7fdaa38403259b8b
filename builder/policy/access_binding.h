/* SPDX-License-Identifier: Apache-2.0
 * access_binding.h - what the manifest of a root says of its access table.
 *
 *   least = dx_access_least(root);                      generation that the table has at least; before it is read
 *   rc = dx_access_table_read(root, &j, &err);          the table as it is; generation 0: it is missing
 *   changed = dx_access_bind(root, &manifest);          before a put of it
 *   dx_access_bind_root(root);                          behind a change of the table
 *   rc = dx_access_accept(root, &accept, &err);         the table as it is now is the newest one
 *
 * If index/access.json is missing, nothing is hidden, so the table cannot say by itself that it was
 * lost, or is an older copy. The manifest of a root whose table is in force says which generation it
 * has at least (format/version/manifest.h), and is written behind the table. Binding raises that to
 * the table that is there, and takes the member away if the table was put out of force. A table that
 * is behind what the manifest says, or cannot be read, changes nothing.
 *
 * The manifest is read before the table, each time that it is put. So the writer that changed the
 * table last leaves a manifest that is right, or one that says less. One thread at a time.
 */
#ifndef DX_BUILDER_POLICY_ACCESS_BINDING_H
#define DX_BUILDER_POLICY_ACCESS_BINDING_H

#include "format/root/access_json.h"

struct dx_manifest;

/* 0: it says nothing, or it is missing. A manifest that cannot be read says nothing either: a token that leaked
 * can be revoked all the same, and servers of such a root do not start. */
uint64_t dx_access_least(const char *root);
int dx_access_table_read(const char *root, struct dx_access_json *j, struct dx_error *err);

bool dx_access_bind(const char *root, struct dx_manifest *m);
/* Unless another command holds the lock of the root: then its publish does it, or the next change. */
void dx_access_bind_root(const char *root);

struct dx_access_accept {
    bool dry_run;
    bool shows_all;      /* also if no table is in force, and everybody sees all from then on */
    uint64_t generation; /* that the manifest says afterwards; 0: it says nothing of a table */
};

/* 1 the manifest was changed, or would be; 0 it was right. */
int dx_access_accept(const char *root, struct dx_access_accept *a, struct dx_error *err);

#endif
