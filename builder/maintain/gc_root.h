/* SPDX-License-Identifier: Apache-2.0
 * gc_root.h - a root of either kind, as gc sees it: a manifest that is put on condition, and a
 * clock.
 *
 *   rc = dx_gc_root_open(&g, root, may_write, wait_ms, &err);
 *   rc = dx_gc_root_read(&g, &err);          g.edit (manifest_edit.h), all of one moment
 *   ... change g.edit.manifest ...
 *   rc = dx_gc_root_put(&g, &err);           1 it is there; 0 it was another one, or unknown: read again
 *   rc = dx_gc_root_raise(&g, paths, n, &err);   numbers of lake files: never given again
 *   rc = dx_gc_root_tidy(&g, "000003-...", &err);    empty folders, where there are such
 *   rc = dx_gc_root_sweep(&g, &err);         files in urls/ that puts left when they were killed, or could not remove
 *   dx_gc_root_close(&g);
 *
 * In a directory a put, a raise and a sweep
 * take the root's lock for that moment; another who holds it is waited for wait_ms, then it is
 * DX_E_BUSY. A sweep does not wait, and leaves the files to the next one. One thread, but for g.root.store and .source.
 */
#ifndef DX_BUILDER_MAINTAIN_GC_ROOT_H
#define DX_BUILDER_MAINTAIN_GC_ROOT_H

#include "builder/maintain/gc_objects.h"
#include "builder/root/manifest_edit.h"
#include "builder/root/root.h"

struct dx_gc_root {
    struct dx_root root;
    uint64_t lock_wait_ms;
    struct dx_manifest_edit edit; /* the manifest, its ETag, and the store's clock then */
    struct dx_gc_objects leases;  /* all that any listing of this run had: gc_leases.h */
};

int dx_gc_root_open(struct dx_gc_root *g, const char *root, bool may_write, uint64_t wait_ms,
                    struct dx_error *err);
void dx_gc_root_close(struct dx_gc_root *g);
int dx_gc_root_read(struct dx_gc_root *g, struct dx_error *err);
int dx_gc_root_put(struct dx_gc_root *g, struct dx_error *err);
int dx_gc_root_raise(const struct dx_gc_root *g, const char *const *paths, size_t count,
                     struct dx_error *err);
int dx_gc_root_sweep(const struct dx_gc_root *g, struct dx_error *err);
int dx_gc_root_tidy(const struct dx_gc_root *g, const char *version, struct dx_error *err);

#endif
