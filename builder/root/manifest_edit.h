/* SPDX-License-Identifier: Apache-2.0
 * manifest_edit.h - manifest.json of a root: read, changed, and put in place of the one that was
 * read.
 *
 *   struct dx_manifest_edit e = { .root = &root };      open for writing (root.h)
 *   rc = dx_manifest_edit_read(&e, &err);     1: e.manifest, e.etag, e.now_us, of one moment; 0: there is none
 *   rc = dx_manifest_edit_run(&e, &change, &err);     read, change, put, until no other writer was faster
 *   rc = dx_manifest_edit_put(&e, &err);      one put of e.manifest, as dx_store_put ends
 *   rc = dx_manifest_edit_root(name, &change, lock_ms, &err);
 *                                             one change beside flips, of a root that is not open
 *   dx_manifest_edit_release(&e);
 *
 * Every writer of the manifest goes through here. A put has the condition that the manifest is
 * still the one that was read, in a directory too; there a writer also holds the root's lock
 * (root_lock.h): for its whole run, or for each put (put_lock_ms). A reader sees the old manifest
 * or the new one.
 *
 * dx_manifest_edit_run puts again on what a collector has left (docs/model/README.md, step 7) and
 * ends when another flip came first. After a put whose outcome the store does not know, the
 * manifest is read:
 *
 *   1                 written: change.is_ours is true of what is there
 *   0                 change.edit had nothing to write
 *   DX_E_CONFLICT     another flip came first: nothing of ours is there, or will be
 *   DX_E_UNKNOWN      the write may have been applied, or may still be
 *   another error     nothing was written; but see e.may_be_there
 *
 * e.may_be_there: the manifest may have what edit made, now or later, so its files must stay. One
 * thread.
 */
#ifndef DX_BUILDER_ROOT_MANIFEST_EDIT_H
#define DX_BUILDER_ROOT_MANIFEST_EDIT_H

#include <stdbool.h>

#include "builder/root/root.h"
#include "format/version/manifest.h"

struct dx_manifest_edit {
    const struct dx_root *root;
    /* Of a directory whose lock the caller does not hold: each put waits so long for it. */
    uint64_t put_lock_ms;
    struct dx_manifest manifest;
    char etag[DX_SOURCE_ETAG]; /* "": there was none */
    int64_t now_us; /* by the store's clock, when it was read; 0: the store tells no times */
    bool may_be_there;
};

struct dx_manifest_change {
    /* Changes e->manifest, read at e->now_us: 1; 0: nothing to write. Called again if a put was
     * refused. */
    int (*edit)(void *ctx, struct dx_manifest_edit *e, struct dx_error *err);
    /* m is what edit made, or comes from it. */
    bool (*is_ours)(void *ctx, const struct dx_manifest *m);
    void *ctx;
    const char *version; /* that becomes current */
    /* The manifest's when the caller began, NULL if that is the first read; others: a flip came
     * first. */
    const char *current;
    uint64_t sequence;
};

int dx_manifest_edit_read(struct dx_manifest_edit *e, struct dx_error *err);
int dx_manifest_edit_put(struct dx_manifest_edit *e, struct dx_error *err);
int dx_manifest_edit_run(struct dx_manifest_edit *e, const struct dx_manifest_change *change,
                         struct dx_error *err);
void dx_manifest_edit_release(struct dx_manifest_edit *e);

/* As dx_manifest_edit_run, for a caller without the root's lock: the put waits lock_ms for it, at least 1.
 * A flip that comes first does not matter: the change is made on top of it. */
int dx_manifest_edit_root(const char *name, const struct dx_manifest_change *change,
                          uint64_t lock_ms, struct dx_error *err);

#endif
