/* SPDX-License-Identifier: Apache-2.0
 * gc_plan.h - what becomes of each version, from what the manifest says. Pure.
 *
 *   struct dx_gc_planned planned[m->version_count];
 *   dx_gc_plan(&m, &options, now_us, planned);
 *   changed = dx_gc_plan_mark(&m, planned, now_us);     condemns and drops; then put m
 *
 * A version whose files are a part of another one (dx_manifest_has_part) stays as long as that one: it is kept
 * with it, and is dropped not before it.
 *
 * now_us is the store's. Times of the manifest are whole seconds, so a wait that is not 0 is a
 * second longer. Any thread.
 */
#ifndef DX_BUILDER_MAINTAIN_GC_PLAN_H
#define DX_BUILDER_MAINTAIN_GC_PLAN_H

#include "builder/maintain/gc_options.h"
#include "format/version/manifest.h"

enum dx_gc_step {
    DX_GC_KEEP,
    DX_GC_CONDEMN,
    DX_GC_WAIT, /* it is condemned, until due_us */
    DX_GC_DROP,
    DX_GC_REMOVE /* it is dropped: unless a lease names it */
};

struct dx_gc_planned {
    enum dx_gc_step step;
    int64_t due_us;
    const char *why; /* of DX_GC_KEEP, and of DX_GC_WAIT for another version; or NULL */
    const char *of; /* why: the version that it is a part of; borrowed from the manifest; or NULL */
};

/* How long a version is condemned before it is dropped. */
uint64_t dx_gc_wait_s(const struct dx_gc_options *o);

void dx_gc_plan(const struct dx_manifest *m, const struct dx_gc_options *o, int64_t now_us,
                struct dx_gc_planned *planned);

/* The number of versions that are other than before. */
size_t dx_gc_plan_mark(struct dx_manifest *m, const struct dx_gc_planned *planned, int64_t now_us);

#endif
